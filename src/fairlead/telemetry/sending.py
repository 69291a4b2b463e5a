"""One message to the collector: where to, with which headers, and what its answer means."""

from __future__ import annotations

import contextlib
import gzip
import signal
import ssl
import time
import urllib.error
import urllib.request
from email.utils import parsedate_to_datetime
from urllib.parse import unquote, urlsplit

from fairlead._record import Record
from fairlead._version import __version__

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from typing import Any

DEFAULT = "http://localhost:4318"
RETRYABLE = frozenset({408, 429, 502, 503, 504})
LONGEST_ANSWER = 64 * 1024
_LONGEST_TEXT = 200


class Outcome(Record):
    done: bool
    """Whether it need not, or must not, be sent again."""
    refused: bool = False
    problem: str = ""
    wait: float = 0.0
    """Seconds that the collector asks for."""


class Destination:
    """Of one kind of message, by the standard variables; what `[telemetry]` says comes first."""

    def __init__(self, kind: str, said: Mapping[str, Any], environ: Mapping[str, str]) -> None:
        self._kind = kind
        self._environ = environ
        self.url = self._url(str(said.get("endpoint", "")))
        self.headers = {
            "Content-Type": "application/x-protobuf",
            "User-Agent": f"fairlead/{__version__}",
            **_pairs(self._variable("HEADERS")),
            **{str(name): str(value) for name, value in said.get("headers", {}).items()},
        }
        self.timeout = _seconds(self._variable("TIMEOUT"), 10.0)
        self.compress = self._variable("COMPRESSION") == "gzip"

    @property
    def is_off(self) -> bool:
        return self._environ.get(f"OTEL_{self._kind.upper()}_EXPORTER", "otlp") == "none"

    def context(self) -> ssl.SSLContext:
        context = ssl.create_default_context(cafile=self._variable("CERTIFICATE") or None)
        certificate = self._variable("CLIENT_CERTIFICATE")
        if certificate:
            context.load_cert_chain(certificate, self._variable("CLIENT_KEY") or None)
        return context

    def _url(self, endpoint: str) -> str:
        own = self._environ.get(f"OTEL_EXPORTER_OTLP_{self._kind.upper()}_ENDPOINT", "")
        if own and not endpoint:
            return own
        base = endpoint or self._environ.get("OTEL_EXPORTER_OTLP_ENDPOINT", "") or DEFAULT
        return f"{base.rstrip('/')}/v1/{self._kind}"

    def _variable(self, name: str) -> str:
        own = self._environ.get(f"OTEL_EXPORTER_OTLP_{self._kind.upper()}_{name}", "")
        return own or self._environ.get(f"OTEL_EXPORTER_OTLP_{name}", "")

    @property
    def speaks_grpc(self) -> bool:
        return self._variable("PROTOCOL") == "grpc"


class _NoRedirects(urllib.request.HTTPRedirectHandler):
    """What we send is for the collector that was named."""

    def redirect_request(self, *_what: Any) -> None:
        return None


def send(body: bytes, to: Destination, response: Any) -> Outcome:
    """`response` is the class of the answer."""
    try:
        request, opener = _prepared(body, to)
        with _at_most(to.timeout), opener.open(request, timeout=to.timeout) as answer:
            return _understood(to, answer.headers.get_content_type(), answer.read(LONGEST_ANSWER), response)
    except urllib.error.HTTPError as error:
        with error:
            return _refusal(to, error)
    except (OSError, ValueError, ssl.SSLError) as error:
        reason = getattr(error, "reason", error)
        return Outcome(done=False, problem=_problem(to, str(reason) or type(reason).__name__))
    except Exception as error:  # noqa: BLE001  # http.client has many names for an answer that is none
        return Outcome(done=False, problem=_problem(to, f"{type(error).__name__}: {error}"))


def _prepared(body: bytes, to: Destination) -> tuple[urllib.request.Request, urllib.request.OpenerDirector]:
    """All that takes time before the collector's own begins: reading the machine's certificates is slow."""
    scheme = urlsplit(to.url).scheme
    if scheme not in ("http", "https"):
        raise ValueError("the address must begin with http:// or https://")
    headers = {**to.headers, "Content-Encoding": "gzip"} if to.compress else to.headers
    data = gzip.compress(body) if to.compress else body
    handlers = [urllib.request.HTTPSHandler(context=to.context())] if scheme == "https" else []
    request = urllib.request.Request(to.url, data=data, headers=headers, method="POST")  # noqa: S310  # checked above
    return request, urllib.request.build_opener(_NoRedirects, *handlers)


def _understood(to: Destination, kind: str, body: bytes, response: Any) -> Outcome:
    """A page of some proxy is no receipt."""
    if not body or kind == "application/json":
        return Outcome(done=True)
    try:
        partial = response.FromString(body).partial_success
    except Exception:  # noqa: BLE001  # protobuf has an error of its own for each implementation
        return Outcome(done=False, problem=_problem(to, f"its answer ({kind}) is not that of a collector"))
    return Outcome(done=True, problem=_problem(to, partial.error_message) if partial.error_message else "")


def _refusal(to: Destination, error: urllib.error.HTTPError) -> Outcome:
    problem = _problem(to, f"{error.code} {error.reason}".strip())
    if error.code in RETRYABLE:
        return Outcome(done=False, problem=problem, wait=_retry_after(error.headers.get("Retry-After", "")))
    return Outcome(done=True, refused=True, problem=problem)


def _retry_after(text: str) -> float:
    with contextlib.suppress(ValueError, TypeError):
        return max(0.0, float(text))
    with contextlib.suppress(ValueError, TypeError):
        return max(0.0, parsedate_to_datetime(text).timestamp() - time.time())
    return 0.0


def _problem(to: Destination, text: str) -> str:
    hint = "; OTEL_EXPORTER_OTLP_PROTOCOL is grpc, and Fairlead speaks http/protobuf alone" if to.speaks_grpc else ""
    parts = urlsplit(to.url)
    where = f"{parts.scheme}://{parts.hostname}{f':{parts.port}' if parts.port else ''}{parts.path}"
    return f"{where}: {text[:_LONGEST_TEXT]}{hint}"


def _pairs(text: str) -> dict[str, str]:
    """`a=b,c=d`, percent-encoded."""
    pairs = (part.partition("=") for part in text.split(",") if "=" in part)
    return {unquote(name).strip(): unquote(value).strip() for name, _, value in pairs}


def resource(environ: Mapping[str, str], instance: str) -> dict[str, str]:
    """Who sends; the standard variables over our own words."""
    ours = {
        "service.name": "fairlead",
        "service.version": __version__,
        "service.instance.id": instance,
        "telemetry.sdk.name": "fairlead",
        "telemetry.sdk.language": "python",
        "telemetry.sdk.version": __version__,
    }
    named = environ.get("OTEL_SERVICE_NAME", "")
    return {**ours, **_pairs(environ.get("OTEL_RESOURCE_ATTRIBUTES", "")), **({"service.name": named} if named else {})}


def _seconds(milliseconds: str, default: float) -> float:
    try:
        value = float(milliseconds) / 1000
    except ValueError:
        return default
    return value if 0 < value < 3600 else default


def delay(environ: Mapping[str, str]) -> float:
    """Seconds between two looks at what waits."""
    return _seconds(environ.get("OTEL_BSP_SCHEDULE_DELAY", ""), 5.0)


@contextlib.contextmanager
def _at_most(seconds: float) -> Iterator[None]:
    """For the whole exchange: a timeout of sockets begins anew with each byte."""

    def ring(_number: int, _frame: object) -> None:
        raise TimeoutError("timed out")

    before = signal.signal(signal.SIGALRM, ring)
    signal.setitimer(signal.ITIMER_REAL, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)
