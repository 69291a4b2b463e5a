"""One event, every way in: what an agent waits for, beside what a machine can do at best and what others do."""

from __future__ import annotations

import json
import re
import shutil
from collections.abc import Callable
from contextlib import ExitStack
from pathlib import Path
from typing import NamedTuple

from benchmarks import warm
from benchmarks.measure import Claim, Figure, Suite, answers, interleave, whole_process
from benchmarks.starting import CONFIG

EVENTS = 20
"""Over one connection, in each turn."""
HTTP_OVER_TRIVIAL = 1.5
WHOLE_OVER_SMALLEST = 3.0
"""With the work of the server; the relay alone is measured in `relay`, and has to stay below 2."""
WARM_SCRIPT_OVER_COLD = 1 / 5
_SPECIFICATION = warm.ROOT.parent / "shared" / "seeds"
_SCRIPT_HOOK = """
[[hook]]
on = "PreToolUse"
tool = "NotebookEdit"
python = "look.py"
"""
_SCRIPT = """\
import json
import sys

event = json.load(sys.stdin)
if "secret" in event["tool_input"].get("notebook_path", ""):
    print(json.dumps({"decision": "deny", "reason": "keep out"}))
"""
_EVENT = "fairlead serve: an event, no hook matches"
_TRIVIAL = "uvicorn: a trivial handler"
_BEHIND_OUR_DOOR = "a trivial handler behind our own connections"
_NO_JOURNAL = '\n[journal]\nmode = "off"\n'
_WITHOUT = f"{_EVENT}, no journal"
_JOURNAL = (
    "The journal is written before the answer: two lines in two files, encoded, hashed and chained, under a lock that "
    'other processes share. `mode = "off"` in `[journal]` does without.'
)
_DOOR = (
    "The trivial handler runs on uvicorn as it comes. `fairlead serve` has a class of its own for connections on the "
    "same server, which does without a new buffer for each request: behind it a trivial handler is faster, too."
)
Turns = dict[str, Callable[[], float]]


def run(rounds: int) -> list[Suite]:
    with ExitStack() as stack:
        home = stack.enter_context(warm.home_with(CONFIG + _SCRIPT_HOOK, {"look.py": _SCRIPT}))
        server = stack.enter_context(warm.server_in(home))
        forgetful = stack.enter_context(warm.server_in(stack.enter_context(warm.home_with(CONFIG + _NO_JOURNAL))))
        trivial, door = Trivial.beside(stack), Trivial.beside(stack, "door")
        line = stack.enter_context(warm.open_line(server.port))
        smallest, _ = stack.enter_context(warm.beside("trivial_server.py", str(home / "s")))
        event = _plain(home)
        asked = {
            _TRIVIAL: Asked(trivial.line, trivial.request(event), trivial.pid),
            _BEHIND_OUR_DOOR: Asked(door.line, door.request(event), door.pid),
            "fairlead serve: GET /api/health": Asked(line, _health(server), server.pid),
            _EVENT: Asked(line, server.post(event), server.pid),
            "fairlead serve: an event, guard": Asked(line, server.post(event, "?guard=1"), server.pid),
            _WITHOUT: Asked(stack.enter_context(warm.open_line(forgetful.port)), forgetful.post(event), forgetful.pid),
        }
        return [
            _over_http(asked, rounds),
            _over_http_by_the_clock(asked, rounds),
            _relayed(home, server, smallest, rounds),
            _ways_in(home, server, line, trivial, rounds),
            _script(home, server, rounds),
        ]


class Asked(NamedTuple):
    """A request over a line that is open, and the server's process."""

    line: warm.Line
    request: bytes
    pid: int


class Trivial(NamedTuple):
    pid: int
    port: int
    line: warm.Line

    @classmethod
    def beside(cls, stack: ExitStack, *words: str) -> Trivial:
        pid, port = stack.enter_context(warm.beside("trivial_http.py", *words))
        return cls(pid, int(port), stack.enter_context(warm.open_line(int(port))))

    def request(self, event: bytes) -> bytes:
        return warm.http_request(self.port, "/api/hooks/claude-code", event, "k" * 43)


def _plain(home: Path) -> bytes:
    return warm.call("Bash", {"command": "ls -la " + "x" * 1800}, home / "project")


# --- over HTTP --------------------------------------------------------------------------------------------


def _health(server: warm.Server) -> bytes:
    return b"GET /api/health" + server.post(b"").partition(b"POST /api/hooks/claude-code")[2]


def _over_http(asked: dict[str, Asked], rounds: int) -> Suite:
    """In processor time of the server: the client's is the same for all, and would only hide what differs."""
    said = asked[_EVENT].line.ask(asked[_EVENT].request)
    assert said == b"", "an event that no hook looks at has an empty answer"
    turns = {name: warm.in_server(*one, EVENTS) for name, one in asked.items()}
    figures = interleave(turns, rounds, warm_up=3)
    title = "an event of 2 KB over HTTP: processor time of the server"
    return Suite(title, 1e6, "µs", list(figures.values()), _http_claims(figures, "processor time"), [_JOURNAL, _DOOR])


def _over_http_by_the_clock(asked: dict[str, Asked], rounds: int) -> Suite:
    turns = {name: warm.by_the_clock(one.line, one.request, EVENTS) for name, one in asked.items()}
    figures = interleave(turns, rounds, warm_up=3)
    title = "an event of 2 KB over HTTP: what the agent waits for"
    return Suite(title, 1e6, "µs", list(figures.values()), _http_claims(figures, "time"))


def _http_claims(figures: dict[str, Figure], what: str) -> list[Claim]:
    floor, ours, without = figures[_TRIVIAL], figures[_EVENT], figures[_WITHOUT]
    return [
        Claim(f"warm http, against a trivial handler on the same server, {what}", ours, floor, HTTP_OVER_TRIVIAL),
        Claim(f"the same without the journal, {what}", without, floor, HTTP_OVER_TRIVIAL),
        Claim(f"warm http, against a trivial handler behind our own connections, {what}",
              ours, figures[_BEHIND_OUR_DOOR], None),
    ]  # fmt: skip


def _relayed(home: Path, server: warm.Server, smallest: int, rounds: int) -> Suite:
    env, event = warm.environment(home), _plain(home)
    floor = [warm.compiled(home, warm.WORKERS / "floor.c"), str(home / "s")]
    relay = [warm.compiled(home, warm.SOURCES / "relay.c"), server.socket, *warm.COLD]
    in_python = [*warm.python_relay(home), server.socket, *warm.COLD]
    turns: Turns = {
        "the smallest client in C, and a trivial server": whole_process(floor, env, event, smallest),
        "warm relay, compiled, and fairlead serve": whole_process(relay, env, event, server.pid),
        "warm relay, Python, and fairlead serve": whole_process(in_python, env, event, server.pid),
    }
    figures = interleave(turns, rounds, warm_up=3)
    ours, least = figures["warm relay, compiled, and fairlead serve"], next(iter(figures.values()))
    claims = [Claim("warm relay and server, against the smallest client and server", ours, least, WHOLE_OVER_SMALLEST)]
    title = "an event of 2 KB through the relay: processor time of client and server"
    return Suite(title, 1e3, "ms", list(figures.values()), claims)


# --- whole processes --------------------------------------------------------------------------------------


def _ways_in(home: Path, server: warm.Server, line: warm.Line, trivial: Trivial, rounds: int) -> Suite:
    env, event = warm.environment(home), _plain(home)
    floor = warm.compiled(home, warm.WORKERS / "floor.c")
    relay = [warm.compiled(home, warm.SOURCES / "relay.c"), server.socket, *warm.COLD]
    in_python = [*warm.python_relay(home), server.socket, *warm.COLD]
    python = shutil.which("python3", path="/usr/bin") or "python3"
    curl = ["curl", "-s", "-H", "Content-Type: application/json", "--data-binary", "@-"]
    address = f"http://127.0.0.1:{trivial.port}"
    turns: Turns = {
        "posix_spawn /bin/true": whole_process(["/bin/true"], env, event),
        "the smallest client in C, to a trivial server": whole_process([floor, str(home / "s")], env, event),
        "warm http, over an open connection": warm.by_the_clock(line, server.post(event), EVENTS),
        "warm relay, compiled": whole_process(relay, env, event),
        "warm relay, compiled, guard": whole_process([*relay, "--guard"], env, event),
        "warm relay, Python": whole_process(in_python, env, event),
        "curl, to a trivial server": whole_process([*curl, address], env, event),
        "python3 -c pass": whole_process([python, "-c", "pass"], env, event),
        "fairlead hook, no server": whole_process(warm.COLD, env, event),
    }
    notes = _add_bash(turns, env, address)
    figures = interleave(turns, rounds, warm_up=3)
    return Suite("one event, every way in", 1e3, "ms", list(figures.values()), _claims(figures), notes)


def _claims(figures: dict[str, Figure]) -> list[Claim]:
    relay = figures["warm relay, compiled"]
    claims = [
        Claim("warm relay and server, against python3 -c pass", relay, figures["python3 -c pass"], 1.0),
        Claim("warm relay and server, against curl", relay, figures["curl, to a trivial server"], 1.0),
    ]
    bash = figures.get(_BASH)
    if bash is not None:
        claims += [
            Claim("warm relay and server, against the hook in Bash", relay, bash, 1.0),
            Claim("fairlead hook, no server, against the hook in Bash", figures["fairlead hook, no server"], bash, 1.0),
        ]
    return claims


_BASH = "Project M's hook in Bash (jq, curl), to a trivial server"


def _add_bash(turns: Turns, env: dict[str, str], address: str) -> list[str]:
    """The script of the document that describes it; what cannot be measured is said."""
    missing = [name for name in ("bash", "jq", "curl") if shutil.which(name) is None]
    documents = sorted(_SPECIFICATION.glob("000*"))
    if missing or not documents:
        return [f"{_BASH}: not measured, {', '.join(missing) or 'its document'} is not here"]
    found = re.search(r"```bash\n(#!/bin/bash.*?)```", documents[0].read_text(), re.DOTALL)
    assert found is not None, documents[0]
    script = Path(env["HOME"]) / "m-hook.sh"
    script.write_text(found[1])
    theirs = {**env, "M_RUN_ID": "r", "M_SERVER_URL": address, "M_API_KEY": "k"}
    event = json.dumps({"tool": "Bash", "input": {"command": "ls -la " + "x" * 1800}}).encode()
    answers(["bash", str(script)], theirs, event, b"allow")
    turns[_BASH] = whole_process(["bash", str(script)], theirs, event)
    return []


# --- a script ---------------------------------------------------------------------------------------------


def _script(home: Path, server: warm.Server, rounds: int) -> Suite:
    env = warm.environment(home)
    event = warm.call("NotebookEdit", {"notebook_path": "/srv/secret.ipynb"}, home / "project")
    relay = [warm.compiled(home, warm.SOURCES / "relay.c"), server.socket, *warm.COLD]
    python = warm.COLD[0]
    turns: Turns = {
        "the script alone": whole_process([python, str(home / ".config/fairlead/look.py")], env, event),
        "warm relay, script from the zygote": whole_process(relay, env, event),
        "fairlead hook, script started": whole_process(warm.COLD, env, event),
    }
    for argv in (relay, warm.COLD):
        answers(argv, env, event, b"keep out")
    figures = interleave(turns, rounds, warm_up=5)
    ours, cold = figures["warm relay, script from the zygote"], figures["fairlead hook, script started"]
    claims = [
        Claim("a script hook: warm, against cold", ours, cold, WARM_SCRIPT_OVER_COLD),
        Claim("a script hook: warm, against the script alone", ours, figures["the script alone"], 1.0),
    ]
    return Suite("a Python script as a hook, from the agent's side", 1e3, "ms", list(figures.values()), claims)
