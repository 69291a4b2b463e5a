"""`http`: a web server is asked, with the JSON that a command would get on stdin."""

from __future__ import annotations

import time

from fairlead import dialects, wire
from fairlead._record import Record
from fairlead._version import __version__
from fairlead.errors import plain
from fairlead.hooks import HookFailed
from fairlead.outgoing import HangUp, NoAnswer, Sending, basic, post
from fairlead.targets import addresses_in, is_listed, parse, shown
from fairlead.verdicts import NONE
from fairlead.work import Call, Result

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence
    from typing import Any, ClassVar

    from fairlead.events import Event
    from fairlead.hooks import Hook, Setting
    from fairlead.outgoing import Answer
    from fairlead.targets import Target
    from fairlead.verdicts import Verdict

TIMEOUT = 600.0
"""Seconds, if nobody says anything about the time."""
MOST_REDIRECTS = 3
LONGEST_REASON = 4_000
LONGEST_CONTEXT = 64 * 1024
OURS = frozenset(
    {"host", "content-length", "transfer-encoding", "connection", "keep-alive", "upgrade", "expect", "te", "trailer",
     "proxy-authorization", "proxy-connection"}
)  # fmt: skip
"""Headers that say how a request is sent; a hook's own are left out."""

_NAME = frozenset("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_")
_TOKEN = _NAME | frozenset("!#$%&'*+-.^`|~")
_DEFAULTS = {
    "Content-Type": b"application/json",
    "Accept": b"application/json",
    "Accept-Encoding": b"identity",
    "User-Agent": f"fairlead/{__version__}".encode(),
}


class Http(Record):
    url: str
    headers: dict[str, str] = {}  # noqa: RUF012  # never changed: records are frozen
    """Their values may use `$NAME` and `${NAME}`."""
    allowed_env: tuple[str, ...] = ()
    """The variables that may be used there; any other is empty."""
    allowed_urls: tuple[str, ...] | None = None
    """Patterns of which one must fit; None for every URL."""

    kind: ClassVar[str] = "http"

    def start(self, hook: Hook, event: Event, setting: Setting) -> Call:
        target = self._target()
        limit = setting.limit(hook.timeout)
        # A little less than we have: so the reason names the server, and the connection is closed by its own thread.
        seconds = TIMEOUT if limit is None else max(limit - 0.25, limit * 0.9)
        hang_up = HangUp()
        sending = Sending(
            headers=self._headers(target, setting.environ) | _traced(setting),
            body=dialects.hook_half(hook.origin.dialect).hook_input(hook, event, setting).stdin,
            environ=setting.environ,
            ends=time.monotonic() + seconds,
            hang_up=hang_up,
            named=addresses_in(self.allowed_urls or ()),
        )
        return Call(self._ask, (target, sending, limit), timeout=limit, in_thread=True, cancellation=hang_up)

    def _target(self) -> Target:
        try:
            target = parse(self.url)
        except ValueError as error:
            raise HookFailed(f"{shown(self.url)} cannot be called: {error}") from None
        self._check_list(target, shown(self.url))
        return target

    def _check_list(self, target: Target, url: str) -> None:
        if self.allowed_urls is not None and not is_listed(target, self.allowed_urls):
            raise HookFailed(f"{url} is not called: it is not in the list of allowed URLs for http hooks")

    def _headers(self, target: Target, environ: Mapping[str, str]) -> dict[str, bytes]:
        own = {
            name: _value(name, expanded(text, self.allowed_env, environ))
            for name, text in self.headers.items()
            if name.lower() not in OURS
        }
        given = {name.lower() for name in own}
        ours = {**_DEFAULTS, **({"Authorization": basic(target.user)} if target.user else {})}
        return {name: value for name, value in ours.items() if name.lower() not in given} | own

    def _ask(self, target: Target, sending: Sending, limit: float | None) -> Answer:
        url = self.url
        try:
            answer = post(target, sending)
            for _ in range(MOST_REDIRECTS):
                if answer.status not in (307, 308) or not answer.location:
                    break
                url, target = self._elsewhere(url, target, answer)
                answer = post(target, sending)
        except NoAnswer as error:
            raise HookFailed(f"POST {shown(url)}: {error}") from None
        except TimeoutError:
            after = "" if limit is None else f" after {plain(limit)} s"
            raise HookFailed(f"POST {shown(url)}: timed out{after}") from None
        return answer

    def _elsewhere(self, url: str, target: Target, answer: Answer) -> tuple[str, Target]:
        """The same server, or nobody: what we send is not for others."""
        from urllib.parse import urljoin

        try:
            wanted = urljoin(url, answer.location)
            found = parse(wanted)
        except ValueError:
            raise NoAnswer(f"{_status(answer.status)} to a place that cannot be understood") from None
        if found.origin != target.origin:
            place = f"{found.scheme}://{found.authorities[0]}"
            raise NoAnswer(f"{_status(answer.status)} to {place}, which is another server and is not called")
        self._check_list(found, shown(wanted))
        return wanted, found

    def conclude(self, hook: Hook, event: Event, _work: Call, outcome: Answer) -> Verdict:
        try:
            return _bounded(_verdict(hook, event, outcome))
        except HookFailed as failed:
            raise HookFailed(f"POST {shown(self.url)}: {failed}") from None

    def describe(self) -> str:
        return shown(self.url)

    def identity(self) -> tuple[object, ...]:
        return (self.kind, self.url, tuple(sorted(self.headers.items())), self.allowed_env, self.allowed_urls)

    def __repr__(self) -> str:
        return f"Http(url={shown(self.url)!r}, headers={list(self.headers)!r}, allowed_env={self.allowed_env!r})"


def _traced(setting: Setting) -> dict[str, bytes]:
    if setting.trace is None:
        return {}
    from fairlead.telemetry.tracing import headers

    return headers(setting)


# --- headers -----------------------------------------------------------------------------------------


def expanded(text: str, allowed: Sequence[str], environ: Mapping[str, str]) -> str:
    """With the values of `$NAME` and `${NAME}`, in one pass: what a variable holds is never looked at again."""
    return "".join(_pieces(text, allowed, environ))


def _pieces(text: str, allowed: Sequence[str], environ: Mapping[str, str]) -> Iterator[str]:
    while text:
        before, dollar, after = text.partition("$")
        yield before
        name, text = _variable(after)
        if name:
            yield environ.get(name, "") if name in allowed else ""
        else:
            yield dollar


def _variable(text: str) -> tuple[str, str]:
    """The name behind a dollar, and what comes after it; no name where it is just a dollar."""
    if text.startswith("{"):
        name, end, rest = text[1:].partition("}")
        return (name, rest) if end and _is_name(name) else ("", text)
    length = next((place for place, sign in enumerate(text) if sign not in _NAME), len(text))
    return (text[:length], text[length:]) if _is_name(text[:length]) else ("", text)


def _is_name(text: str) -> bool:
    return bool(text) and _NAME.issuperset(text) and not text[0].isdigit()


def _value(name: str, text: str) -> bytes:
    """What a header says. Line breaks would begin another header, and are an error; the value is never shown."""
    if not name or not _TOKEN.issuperset(name):
        raise HookFailed(f"{wire.mended(name)[:60]!r} is no name of a header")
    text = text.strip(" \t\r\n")
    if any((sign < " " and sign != "\t") or sign == "\x7f" for sign in text):
        raise HookFailed(f"the header {name} holds a line break or another control character")
    try:
        return text.encode()
    except UnicodeEncodeError:
        raise HookFailed(f"the header {name} holds half a character") from None


# --- answers -----------------------------------------------------------------------------------------


def _verdict(hook: Hook, event: Event, answer: Answer) -> Verdict:
    """Only a JSON object can say anything, as in Claude Code: a page that some proxy shows is no answer."""
    if not 200 <= answer.status < 300:
        leads_away = "; the hook needs the address that it leads to" if 300 <= answer.status < 400 else ""
        raise HookFailed(f"{_status(answer.status)}{leads_away}")
    value = None if answer.problem else _object(answer.body)
    if value is not None or not (answer.problem or answer.body.strip()):
        stdout = b"" if value is None else wire.encode(value)
        return dialects.read_verdict(hook, event, Result(stdout=stdout))
    return _restraint(hook, event, answer)


def _restraint(hook: Hook, event: Event, answer: Answer) -> Verdict:
    """What has been refused stays refused, though something is wrong around it; nothing else counts then."""
    try:
        verdict = dialects.read_verdict(hook, event, Result(stdout=answer.body))
    except HookFailed:
        verdict = NONE
    if verdict.decision in ("deny", "ask", "defer") or verdict.stop:
        return verdict.but(updated_input=None, updated_output=None, context="")
    raise HookFailed(answer.problem or f"{_status(answer.status)}, and no JSON object in it")


def _object(body: bytes) -> dict[str, Any] | None:
    from fairlead.dialects._common import loose_json, text_of
    from fairlead.errors import InputError

    try:
        value = wire.decode(body)
    except InputError:
        value = loose_json(text_of(body))
    return value if isinstance(value, dict) else None


def _status(status: int) -> str:
    from http.client import responses

    return f"{status} {responses.get(status, '')}".rstrip()


def _bounded(verdict: Verdict) -> Verdict:
    limits = dict.fromkeys(("reason", "stop_reason", "user_message"), LONGEST_REASON)
    limits |= dict.fromkeys(("context", "feedback", "system_message"), LONGEST_CONTEXT)
    long = {name: getattr(verdict, name) for name, most in limits.items() if len(getattr(verdict, name)) > most}
    return verdict.but(**{name: f"{text[: limits[name] - 1]}…" for name, text in long.items()}) if long else verdict


# --- for `check` and the lists -----------------------------------------------------------------------


def allowed(url: str, patterns: Sequence[str]) -> bool:
    """Whether a list of patterns allows a URL; one that cannot be understood is in none."""
    try:
        return is_listed(parse(url), patterns)
    except ValueError:
        return False


def problem(url: str) -> str:
    """What a person should know about a URL; empty where it is fine."""
    try:
        target = parse(url)
    except ValueError as error:
        return f"{shown(url)} cannot be called: {error}"
    if target.scheme == "http" and not target.is_loopback:
        return f"{shown(url)} goes over the network unencrypted: others can read what the agent does, and the headers"
    return ""


def header_problems(headers: Mapping[str, str]) -> list[str]:
    """The same for headers; their values are not repeated."""
    found = []
    for name, text in headers.items():
        try:
            _value(name, text)
        except HookFailed as error:
            found.append(str(error))
        else:
            found += [f"the header {name} is Fairlead's own and is left out"] if name.lower() in OURS else []
    return found
