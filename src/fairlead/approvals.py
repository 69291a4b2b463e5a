"""Ask a person through the approval service, and wait for what they say.

A question outlives what happens on the way: a connection that breaks is made again, a server that restarts finds the
question in its store and we join it under the same id, and what is said after we had to leave is kept for the next
try. Only the standard library, and imported when something is asked.
"""

from __future__ import annotations

import os
import time

from fairlead import wire
from fairlead._record import Record
from fairlead.errors import InputError
from fairlead.folders import state_folder

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from http.client import HTTPConnection, HTTPResponse
    from typing import Any

    from fairlead.outgoing import HangUp

ASK = "/api/internal/interaction-request"
NOBODY = ("nobody answered in time", "the answer came too late for this call; make the same call again")
"""What the service says where no person has refused."""
START = "start it with `fairlead serve`"

_SILENCE = 45.0
"""Seconds without a byte: the service sends a blank every 15."""
_CONNECT = 10.0
_UNREACHED = 10.0
"""Seconds in which a service must have been reached once; from then on we wait as long as we may."""
_UNKNOWN = 3.0
"""The same, where no address is known: it may be just restarting."""
_SLOWEST_RETRY = 5.0
_LARGEST_ANSWER = 32 * 1024 * 1024
_MAY_PASS = frozenset({408, 425, 429})
_RUN_IS_GONE = frozenset({401, 404, 409})


class Question(Record):
    kind: str
    """`approval` or `input`"""
    tool: str
    payload: dict[str, Any]
    text: str = ""
    """Why somebody should look at it."""
    people: int = 1
    approvers: tuple[str, ...] = ()
    """Who may decide; empty for everybody."""
    escalate_after: float | None = None
    escalate_to: tuple[str, ...] = ()
    """Who is added after so many seconds."""
    agent: str = ""
    session_id: str = ""
    cwd: str = ""
    call_id: str = ""
    """The agent's own name for the call; two hooks that ask about one call then share one question."""


class Access(Record):
    """Where to ask, and as which run."""

    address: str
    run_id: str
    key: str
    standing: str = ""
    """The file of a run that lasts; empty for one that somebody gave us."""


class NoAnswer(Exception):  # noqa: N818  # a fact about a question
    """Why nobody's word can be had, and what to do."""

    def __init__(self, message: str, *, expired: bool = False) -> None:
        super().__init__(message)
        self.expired = expired
        """The question was there to be answered, and nobody did."""


class Trouble(Exception):  # noqa: N818  # of the moment
    """Something that may pass."""


def ask(
    question: Question,
    environ: Mapping[str, str],
    project: str,
    seconds: float,
    log: Callable[[str], None] = lambda _line: None,
    hang_up: HangUp | None = None,
) -> dict[str, Any]:
    """The answer, as the service gives it: `decision` is `allow` or `block`. Raises NoAnswer.

    `hang_up` ends the waiting: an answer that nobody hears would be taken for one that was given.
    """
    return _Asking(question, environ, project, seconds, log, hang_up).answer()


# --- where -------------------------------------------------------------------------------------------


def announced(environ: Mapping[str, str]) -> str:
    """The address of this user's own server, while it runs; empty if there is none."""
    try:
        with open(os.path.join(state_folder(environ), "server.json"), "rb") as file:
            address = wire.decode_object(file.read()).get("address")
    except (OSError, InputError):
        return ""
    return address if isinstance(address, str) else ""


def address_of(environ: Mapping[str, str]) -> str:
    return (environ.get("M_SERVER_URL") or environ.get("FAIRLEAD_SERVER") or announced(environ)).rstrip("/")


def users_key(environ: Mapping[str, str], address: str) -> str:
    """The key with which this user's programs speak for them.

    Only for their own machine: an address in a variable may have been put there by somebody else.
    """
    if not is_loopback(address) and address != announced(environ):
        raise NoAnswer(f"{address} is another machine's: it needs M_RUN_ID and M_API_KEY, and they are not set")
    path = os.path.join(state_folder(environ), "token")
    try:
        with open(path, encoding="ascii") as file:
            return file.read().strip()
    except (OSError, ValueError):
        raise NoAnswer(f"there is no key in {path}, so nobody could be asked; `fairlead serve` makes it") from None


def is_loopback(address: str) -> bool:
    from urllib.parse import urlsplit

    try:
        host = urlsplit(address).hostname or ""
    except ValueError:
        return False
    return host in ("localhost", "::1") or (host.startswith("127.") and host.replace(".", "").isdecimal())


def find_access(environ: Mapping[str, str], project: str, *, agent: str = "", instead_of: str = "") -> Access:
    """Raises NoAnswer where it will not get better, Trouble where it may. `instead_of` is a run that has ended."""
    run_id, key = environ.get("M_RUN_ID", ""), environ.get("M_API_KEY", "")
    address = address_of(environ)
    given = {"M_RUN_ID": run_id, "M_API_KEY": key}
    missing = [name for name, value in given.items() if not value]
    if len(missing) == 1:
        raise NoAnswer(f"{missing[0]} is not set, so nobody could be asked")
    if not address:
        raise Trouble("no server is running, and neither M_SERVER_URL nor FAIRLEAD_SERVER names one")
    if not missing:
        return Access(address=address, run_id=run_id, key=key)
    return _standing(environ, address, os.path.realpath(project), agent, instead_of)


def _standing(environ: Mapping[str, str], address: str, project: str, agent: str, instead_of: str) -> Access:
    """The run of this user and project: it lasts, so that a later try finds what was said to an earlier one."""
    import fcntl
    import hashlib

    folder = os.path.join(state_folder(environ), "runs")
    os.makedirs(folder, mode=0o700, exist_ok=True)
    path = os.path.join(folder, hashlib.sha256(os.fsencode(project)).hexdigest()[:32] + ".json")
    with open(os.open(f"{path}.lock", os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW, 0o600), "rb") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        run_id, key = _kept(path)
        if not run_id or run_id == instead_of:
            run_id, key = new_run(address, users_key(environ, address), agent=agent, project=project)
            keep_private(path, wire.encode({"run_id": run_id, "key": key, "project": project}))
    return Access(address=address, run_id=run_id, key=key, standing=path)


def _kept(path: str) -> tuple[str, str]:
    try:
        with open(path, "rb") as file:
            found = wire.decode_object(file.read())
    except (OSError, InputError):
        return "", ""
    run_id, key = found.get("run_id"), found.get("key")
    return (run_id, key) if isinstance(run_id, str) and isinstance(key, str) and key else ("", "")


def keep_private(path: str, content: bytes) -> None:
    temporary = f"{path}.{os.getpid()}"
    descriptor = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_NOFOLLOW, 0o600)
    with os.fdopen(descriptor, "wb") as file:
        file.write(content)
    os.replace(temporary, path)


def new_run(
    address: str, users: str, *, agent: str, project: str, title: str = "", process: str = ""
) -> tuple[str, str]:
    """Its id and its key. `process` is what the run ends with, also if nobody says so."""
    from fairlead.machines import this_machine

    where = {"project": os.fsencode(project).decode("utf-8", "replace"), "host": this_machine()}
    wanted = {"agent": agent, "title": title, "process": process, **where}
    status, found = call(address, "POST", "/api/runs", users, wanted)
    run = found.get("run")
    if status == 201 and isinstance(run, dict) and isinstance(run.get("id"), str) and isinstance(found.get("key"), str):
        return run["id"], found["key"]
    if status >= 500:
        raise Trouble(complaint(status, found))
    raise NoAnswer(f"the approval service gives us no run: {complaint(status, found)}")


# --- over the wire -----------------------------------------------------------------------------------


def call(
    address: str, method: str, path: str, key: str, body: Mapping[str, Any] | None = None, *, seconds: float = _CONNECT
) -> tuple[int, dict[str, Any]]:
    """One short request. Raises Trouble where there is no answer."""
    line = _Line(address, time.monotonic() + seconds)
    try:
        response = line.send(method, path, key, b"" if body is None else wire.encode(body))
        return response.status, _read(line, response)
    finally:
        line.close()


def complaint(status: int, found: Mapping[str, Any]) -> str:
    error = found.get("error")
    said = error.get("message") if isinstance(error, dict) else ""
    return f"{said} (HTTP {status})" if isinstance(said, str) and said else f"HTTP {status}"


class _Line:
    """One connection, until a moment on the monotonic clock. Every failure is Trouble."""

    def __init__(self, address: str, ends: float) -> None:
        self._ends = ends
        self._prefix = ""
        self._connection = self._connect(address)

    def _connect(self, address: str) -> HTTPConnection:
        from http.client import HTTPConnection, HTTPSConnection
        from urllib.parse import urlsplit

        try:
            parts = urlsplit(address)
            host, port = parts.hostname or "", parts.port
        except ValueError:
            host, port = "", None
        kinds: dict[str, type[HTTPConnection]] = {"http": HTTPConnection, "https": HTTPSConnection}
        if not host or parts.scheme not in kinds:
            raise NoAnswer(f"{address!r} is no address of a server; it begins with http:// or https://")
        self._prefix = parts.path.rstrip("/")
        connection = kinds[parts.scheme](host, port, timeout=min(_CONNECT, self.left()))
        try:
            connection.connect()
        except (OSError, ValueError) as error:
            connection.close()
            raise Trouble(f"{address}: {_what(error)}") from None
        self._socket = connection.sock
        return connection

    def end_with(self, hang_up: HangUp | None) -> None:
        if hang_up is not None:
            hang_up.watch(self._socket)

    def left(self) -> float:
        """Seconds; never 0, which would mean "do not wait" to a socket."""
        return max(self._ends - time.monotonic(), 0.001)

    def over(self) -> bool:
        return time.monotonic() >= self._ends

    def send(self, method: str, path: str, key: str, body: bytes, **headers: str) -> HTTPResponse:
        from http.client import HTTPException

        named = {name.replace("_", "-"): value for name, value in headers.items()}
        content = {"Content-Type": "application/json"} if body else {}
        try:
            self.patience()
            always = {"Authorization": f"Bearer {key}", "Accept": "application/json"}
            self._connection.request(method, self._prefix + path, body or None, {**always, **content, **named})
            return self._connection.getresponse()
        except (OSError, HTTPException, ValueError) as error:
            raise Trouble(_what(error)) from None

    def patience(self) -> None:
        self._socket.settimeout(min(_SILENCE, self.left()))

    def close(self) -> None:
        self._connection.close()


def _read(line: _Line, response: HTTPResponse) -> dict[str, Any]:
    """The JSON object in an answer, also if it comes after minutes of blanks."""
    from http.client import HTTPException

    data = bytearray()
    try:
        while not line.over():
            line.patience()
            part = response.read1(1 << 16)
            if not part:
                break
            data += part
            if not data.strip():
                data.clear()
            if len(data) > _LARGEST_ANSWER:
                raise Trouble("the answer is too long")
    except (OSError, HTTPException, ValueError) as error:
        raise Trouble(_what(error)) from None
    finally:
        response.close()
    return _object(bytes(data), response.status)


def _object(data: bytes, status: int) -> dict[str, Any]:
    try:
        return wire.decode_object(data, "the answer")
    except InputError as error:
        if status == 200:
            raise Trouble(str(error)) from None
        return {}


def _what(error: Exception) -> str:
    said = getattr(error, "strerror", "") or str(error)
    return said if isinstance(error, OSError) and said else f"{type(error).__name__} {said}".strip()


# --- asking ------------------------------------------------------------------------------------------


class _Asking:
    """One question, until somebody has answered it or the time is over."""

    def __init__(
        self,
        question: Question,
        environ: Mapping[str, str],
        project: str,
        seconds: float,
        log: Callable[[str], None],
        hang_up: HangUp | None,
    ) -> None:
        self._hang_up = hang_up
        self._question = question
        self._environ = environ
        self._project = project
        self._log = log
        self._seconds = seconds
        self._started = time.monotonic()
        self._ends = self._started + seconds
        self._access: Access | None = None
        self._ended_run = ""
        self._salt = question.call_id or _random()
        self._body = b""
        self._request_id = ""
        self._was_received = False

    def answer(self) -> dict[str, Any]:
        attempt = 0
        while True:
            try:
                found = self._once()
            except Trouble as trouble:
                self._log(f"attempt {attempt + 1}: {trouble}")
                self._pause(attempt, str(trouble))
                attempt += 1
            else:
                if found is not None:
                    return found

    def _once(self) -> dict[str, Any] | None:
        """An answer, or None where it has to be asked in another way."""
        access = self._found()
        line = _Line(access.address, self._ends)
        try:
            line.end_with(self._hang_up)
            response = line.send(
                "POST", ASK, access.key, self._written(access), X_M_Hook_Version="1", X_M_Request_ID=self._request_id
            )
            self._was_received = self._was_received or response.status == 200
            found = _read(line, response)
        finally:
            line.close()
        return self._judged(response.status, found, access)

    def _found(self) -> Access:
        access = find_access(self._environ, self._project, agent=self._question.agent, instead_of=self._ended_run)
        if self._access is not None and access.run_id != self._access.run_id:
            self._body = b""
        self._access = access
        return access

    def _written(self, access: Access) -> bytes:
        """Once, when somebody can be reached: the question ends when we have to leave, so that a later answer is
        kept for the next try."""
        if not self._body:
            asked = self._fields(access)
            same = {name: value for name, value in asked.items() if name != "expires_in"}
            self._request_id = asked["request_id"] = _digest([same, self._salt])
            self._body = wire.encode(asked)
            self._log(f"asking for {self._question.kind}: {self._question.tool} (request_id: {self._request_id})")
        return self._body

    def _fields(self, access: Access) -> dict[str, Any]:
        question = self._question
        fields: dict[str, Any] = {
            "run_id": access.run_id,
            "type": question.kind,
            "tool": question.tool,
            "request_id": "",
            "payload": question.payload,
            "expires_in": _whole(self._ends - time.monotonic()),
        }
        more = {name: getattr(question, name) for name in ("cwd", "session_id", "agent", "text")}
        fields |= {name: value for name, value in more.items() if value}
        return fields | ({"people": question.people} if question.people > 1 else {}) | _circle(question)

    def _judged(self, status: int, found: dict[str, Any], access: Access) -> dict[str, Any] | None:
        if status in (200, 409) and found.get("decision") in ("allow", "block"):
            return self._heard(status, found)
        if status == 200:
            raise Trouble("the answer holds no decision")
        if status >= 500 or status in _MAY_PASS:
            raise Trouble(complaint(status, found))
        if status in _RUN_IS_GONE and access.standing and not self._ended_run:
            self._ended_run = access.run_id
            return None
        raise NoAnswer(f"the approval service refuses the question: {complaint(status, found)}")

    def _heard(self, status: int, found: dict[str, Any]) -> dict[str, Any] | None:
        if found["decision"] == "allow" or found.get("message") not in NOBODY:
            return found
        if status == 409 and self._salt == self._question.call_id:  # an earlier try: this one is a question of its own
            self._salt, self._body = _random(), b""
            return None
        raise self._nobody()

    def _nobody(self) -> NoAnswer:
        return NoAnswer(
            f"nobody answered within {self._seconds:.0f} s. The question stays in the inbox: make exactly the same "
            "call again later, and an answer that was given in the meantime counts",
            expired=True,
        )

    def _pause(self, attempt: int, trouble: str) -> None:
        """Raises NoAnswer when it is time to give up."""
        import random

        if self._hang_up is not None and self._hang_up.is_set():
            raise NoAnswer("whoever asked has gone")
        now = time.monotonic()
        if self._was_received and now >= self._ends:
            raise self._nobody()
        patience = _UNREACHED if address_of(self._environ) else _UNKNOWN
        ends = self._ends if self._was_received else min(self._ends, self._started + patience)
        if now >= ends:
            raise NoAnswer(f"the approval service cannot be reached, so nobody could be asked; {START} ({trouble})")
        longest = min(_SLOWEST_RETRY, 0.1 * 2**attempt)
        time.sleep(min(random.uniform(0.01, longest), ends - now))  # noqa: S311  # spreads load, keeps no secret


def _circle(question: Question) -> dict[str, Any]:
    """Who may decide, where not everybody may."""
    found: dict[str, Any] = {"approvers": list(question.approvers)} if question.approvers else {}
    if question.escalate_after is not None:
        found |= {"escalate_after": question.escalate_after, "escalate_to": list(question.escalate_to)}
    return found


def _whole(seconds: float) -> float:
    """A little less than we wait."""
    less = seconds - 0.5
    return float(int(less)) if less >= 2 else max(round(seconds * 0.8, 1), 0.1)


def _digest(value: object) -> str:
    import hashlib

    return hashlib.sha256(wire.encode(value)).hexdigest()[:40]


def _random() -> str:
    return os.urandom(16).hex()
