"""Our own entry in an agent's settings: whether it starts, and says what it should."""

from __future__ import annotations

import os
import sys

from fairlead import relay
from fairlead._version import __version__
from fairlead.dialects import AGENT_HALVES
from fairlead.doctor import commands, facts, timeouts
from fairlead.doctor.finding import Finding
from fairlead.errors import plain
from fairlead.folders import state_folder

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

    from fairlead.doctor.scene import Entry, Scene
    from fairlead.installing.commands import Call

_PATIENCE = 10.0


def check(scene: Scene) -> Iterator[Finding]:
    from fairlead.installing.commands import known

    answers: dict[tuple[str, str], str] = {}
    said = set()
    for entry in scene.entries:
        call = known(entry.handler)
        if call is None:
            continue
        found = [*_start(entry, scene, answers), *_agent(entry, call), *_patience(entry)]
        for one in found:
            if (one.file, one.message) not in said:  # the same in each of its events
                said.add((one.file, one.message))
                yield one
    yield from _not_installed(scene)


# --- does it start? ----------------------------------------------------------------------------------


def _start(entry: Entry, scene: Scene, answers: dict[tuple[str, str], str]) -> Iterator[Finding]:
    start = commands.started(entry, scene.places)
    if start is None:
        return
    start = _behind_the_relay(start)
    message, fix = "", "run `fairlead init` again"
    if not start.found:
        message = f"{start.program}, with which Fairlead is called here, is not there any more"
    elif not os.access(start.found, os.X_OK):
        message, fix = (
            f"{start.found}, with which Fairlead is called here, is not executable",
            f"chmod +x {start.found}",
        )
    else:
        missing = [word for word in start.rest[:2] if word.endswith("__main__.py") and not os.path.exists(word)]
        message = f"Fairlead is not at {missing[0]} any more" if missing else ""
    if message:
        then = "nothing is guarded, or every call is refused" if facts.can_refuse(entry.agent, entry.event) else ""
        yield entry.found("own_entry", "error", "; ".join(filter(None, (message, then))), fix)
    elif may_ask(entry, start.found):
        yield from _version(entry, start.found, start.rest, scene, answers)


def _behind_the_relay(start: commands.Started) -> commands.Started:
    """The command that the relay becomes where no server answers; the relay itself, where that cannot be started."""
    before, words = relay.split([start.program, *start.rest])
    is_there = before and os.access(start.found, os.X_OK) and all(os.path.exists(word) for word in before[3:4])
    if not is_there:
        return start
    found = commands.find(words[0], start.folder, start.path)
    return start.but(program=words[0], found=found, rest=tuple(words[1:]))


def may_ask(entry: Entry, program: str) -> bool:
    """A project could name anything here: of its programs, only the one that runs this very check is started."""
    is_python = os.path.basename(program).startswith(("python", "pypy"))
    return is_python and (entry.file.is_own or os.path.abspath(program) == sys.executable)


def _version(
    entry: Entry, program: str, rest: tuple[str, ...], scene: Scene, answers: dict[tuple[str, str], str]
) -> Iterator[Finding]:
    isolated = "-P" if "-P" in rest[:1] else "-I"
    key = (program, isolated)
    if key not in answers:
        answers[key] = asked(program, isolated, scene)
    answer = answers[key]
    if not answer.startswith("fairlead "):
        what = f"{program} cannot import fairlead: {answer or 'it says nothing'}"
        yield entry.found("own_entry", "error", what, "install Fairlead there, or run `fairlead init` again")
    elif answer != f"fairlead {__version__}":
        what = f"{program} has {answer}, this is {__version__}"
        yield entry.found("own_entry", "warning", what, "run `fairlead init` with the one that you want")


def asked(program: str, isolated: str, scene: Scene) -> str:
    """What an interpreter says when it is asked for its Fairlead; its last line where it fails."""
    import subprocess

    try:
        done = subprocess.run(
            [program, isolated, "-m", "fairlead", "--version"], stdin=subprocess.DEVNULL, capture_output=True,
            timeout=_PATIENCE, check=False, cwd="/", env=dict(scene.places.environ),
        )  # fmt: skip
    except subprocess.TimeoutExpired:
        return f"no answer within {plain(_PATIENCE)} s"
    except OSError as error:
        return error.strerror or str(error)
    text = (done.stdout if done.returncode == 0 else done.stderr).decode("utf-8", "replace").strip()
    return text.splitlines()[-1] if text else ""


# --- does it say what it should? ---------------------------------------------------------------------


def _agent(entry: Entry, call: Call) -> Iterator[Finding]:
    from fairlead.installing.specs import SPECS

    if call.agent not in AGENT_HALVES:
        from fairlead.dialects._common import did_you_mean

        what = (
            f"Fairlead knows no agent {call.agent!r}, and answers nothing that {facts.title(entry.agent)} understands"
        )
        yield entry.found("own_entry", "error", what, did_you_mean(call.agent, AGENT_HALVES))
    elif call.agent not in (entry.agent, *SPECS[entry.agent].shares_with):
        title, other = facts.title(entry.agent), facts.title(call.agent)
        what = f"Fairlead is told that {other} is calling (--agent {call.agent}), so {title} cannot read its answers"
        yield entry.found("own_entry", "error", what, f"write --agent {entry.agent}")


def _patience(entry: Entry) -> Iterator[Finding]:
    from fairlead.installing.specs import SPECS

    promised, key = _promised(entry), SPECS[entry.agent].timeout_key
    value = entry.handler.get(key) if key else None
    if not promised or not isinstance(value, (int, float)) or isinstance(value, bool):
        return
    real = timeouts.seconds(entry, key, value)
    if real < promised:
        what = (
            f"{facts.title(entry.agent)} waits {plain(real)} s, and Fairlead is told {plain(promised)} s: "
            "a late refusal is lost"
        )
        hint = f"write --timeout {plain(real)} in the command, or raise {key}"
        yield entry.found("own_entry", "warning", what, hint, key)


def _promised(entry: Entry) -> float:
    words = entry.args if entry.args is not None else next(iter(commands.simple_commands(entry.command)), [])
    for number, word in enumerate(words):
        name, _, value = word.partition("=")
        if name == "--timeout":
            try:
                return float(value or words[number + 1])
            except (ValueError, IndexError):
                return 0
    return 0


# --- is it there at all? -----------------------------------------------------------------------------


def _not_installed(scene: Scene) -> Iterator[Finding]:
    for agent in scene.agents:
        if is_installed(agent, scene) or agent == "m":
            continue
        lost = _was_installed(agent, scene)
        if lost:
            what = f"Fairlead was installed here, and its entry has gone: {facts.title(agent)} does not ask it any more"
            fix = f"`fairlead init --agent {agent}` puts it back; `fairlead uninstall --agent {agent}` forgets it"
            yield Finding(level="error", agent=agent, check="own_entry", message=what, fix=fix, file=lost)
        else:
            what = f"Fairlead is not installed in {facts.title(agent)}"
            fix = f"`fairlead init --agent {agent}`, if you want it there"
            yield Finding(level="note", agent=agent, check="own_entry", message=what, fix=fix)


def is_installed(agent: str, scene: Scene) -> bool:
    from fairlead.installing.entries import is_ours

    return any(is_ours(entry.handler, agent) for entry in scene.of(agent)) or _has_own_file(agent, scene)


def _was_installed(agent: str, scene: Scene) -> str:
    """The settings that we have once written ourselves into, by the record of it."""
    from fairlead.errors import ConfigError
    from fairlead.installing import records

    where = scene.places
    folder = records.folder(where.home, where.environ)
    for scope in ("user", "project"):
        try:
            installed = records.load(records.path_of(folder, agent, scope, where.project))
        except ConfigError:
            continue
        if installed is not None:
            own = state_folder(where.environ, where.home)  # where the relay lies
            theirs = [file.path for file in installed.files if not file.path.startswith(own + os.sep)]
            if theirs:
                return theirs[0]
    return ""


def _has_own_file(agent: str, scene: Scene) -> bool:
    """Where it is written in another form than an entry: a plugin, a program, the settings of a seed system."""
    from fairlead.installing.specs import SPECS, settings_file

    spec = SPECS.get(agent)
    if spec is None:
        return False
    where = scene.places
    for scope in ("user", "project"):
        path = settings_file(spec, scope, home=where.home, project=where.project, environ=where.environ)
        paths = [os.path.join(path, event) for event in spec.events] if spec.format == "scripts" else [path]
        if any(_names_us(one, agent) for one in paths if path):
            return True
    return False


def _names_us(path: str, agent: str) -> bool:
    if not os.path.isfile(path):  # opening a pipe would wait for ever
        return False
    try:
        with open(path, encoding="utf-8", errors="replace") as file:
            text = file.read(1_000_000)
    except OSError:
        return False
    return "fairlead" in text and agent in text
