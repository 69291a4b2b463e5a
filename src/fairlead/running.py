"""An agent under supervision: a run of its own, a key that ends with it, hooks that it cannot miss, a server.

Everything lies in a private directory that goes with the run; nobody's settings are touched.
"""

from __future__ import annotations

import contextlib
import os

from fairlead import approvals, machines, wire
from fairlead._record import Record
from fairlead.answering import ASKS
from fairlead.errors import InputError, UsageError, plain
from fairlead.folders import state_folder
from fairlead.installing import commands, specs

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping
    from typing import Any

    from fairlead.installing.specs import Install

_SERVER_STARTS = 30.0
_SERVER_ENDS = 5.0
_FOLDER, _OWNER = "fairlead-run-", "owner.json"
_PDEATHSIG = 1
_CODEX_FLAGS = "/<session-flags>/config.toml"
"""Where Codex says that settings on its command line stand."""


class Supervised(Record):
    """How to start the agent."""

    words: tuple[str, ...]
    environ: dict[str, str]
    notes: tuple[str, ...] = ()
    """What its user should know."""


class Service(Record):
    address: str
    link: str = ""
    """Opens the inbox; empty for a server that was there before us."""


def agent_of(program: str) -> str:
    """Which agent a program is, by its name; empty for one that we do not know."""
    name = os.path.basename(program)
    return next((spec.name for spec in specs.SPECS.values() if name in spec.programs), "")


def run(words: list[str], agent: str, environ: Mapping[str, str], project: str, tell: Callable[[str], None]) -> int:
    """The exit code of the agent; 128 and the number of the signal that ended it."""
    program = _program(words[0], environ)
    with (
        _signals_are_ours(),
        service(environ, tell) as found,
        _run_of(found, agent or os.path.basename(words[0]), environ, project, tell) as (run_id, key),
        _private_folder(environ) as folder,
    ):
        given = {"M_RUN_ID": run_id, "M_SERVER_URL": found.address, "M_API_KEY": key, ASKS: "1"}
        supervised = prepare(words, agent, {**environ, **given}, folder, given)
        for note in supervised.notes:
            tell(note)
        pid = _start(program, supervised)
        owner = {"run": machines.this_process(), "agent": machines.process(pid), "host": machines.this_machine()}
        _write_json(folder, _OWNER, owner)
        code = _wait_for(pid)
        if agent in _WAYS and not os.path.exists(_mark_of_hooks(folder)):
            tell(f"{agent} has called no hook: if it has done anything, nobody was asked")
        return code


def _program(word: str, environ: Mapping[str, str]) -> str:
    import shutil

    found = shutil.which(word, path=environ.get("PATH"))
    if found is None:
        raise UsageError(f"there is no program {word!r}", hint="write the agent's command line after --")
    return found


# --- the service -------------------------------------------------------------------------------------


@contextlib.contextmanager
def service(environ: Mapping[str, str], tell: Callable[[str], None]) -> Iterator[Service]:
    """A server that answers: the one that runs, or one of our own. The last run that needs it ends it."""
    import fcntl

    address = environ.get("M_SERVER_URL") or environ.get("FAIRLEAD_SERVER") or ""
    if address:
        yield Service(address=address.rstrip("/"))
        return
    os.makedirs(state_folder(environ), mode=0o700, exist_ok=True)
    needed = _lock_file(environ, "supervised.lock")
    try:
        with _one_at_a_time(environ):
            found = _running(environ) or _started(environ, tell)
            fcntl.flock(needed, fcntl.LOCK_SH)
        yield found
    finally:
        with _one_at_a_time(environ), contextlib.suppress(OSError):  # somebody else still needs it
            fcntl.flock(needed, fcntl.LOCK_EX | fcntl.LOCK_NB)
            _end_ours(environ)
        os.close(needed)


def _lock_file(environ: Mapping[str, str], name: str) -> int:
    path = os.path.join(state_folder(environ), name)
    return os.open(path, os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600)


@contextlib.contextmanager
def _one_at_a_time(environ: Mapping[str, str]) -> Iterator[None]:
    """So that nobody ends the server that another has just found."""
    import fcntl

    lock = _lock_file(environ, "starting.lock")
    try:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield
    finally:
        os.close(lock)


def _running(environ: Mapping[str, str]) -> Service | None:
    address = approvals.announced(environ)
    if not address:
        return None
    try:
        status, _ = approvals.call(address, "GET", "/api/health", "", seconds=5)
    except (approvals.Trouble, approvals.NoAnswer):
        return None
    return Service(address=address) if status == 200 else None


def _mark(environ: Mapping[str, str]) -> str:
    """Says which server was started by a run, and has to end with the last one."""
    return os.path.join(state_folder(environ), "supervised.json")


def _started(environ: Mapping[str, str], tell: Callable[[str], None]) -> Service:
    import subprocess
    import tempfile

    with tempfile.TemporaryFile() as errors:
        process = subprocess.Popen(
            [*commands.program(), "serve", "--port", "0", "--json"],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=errors,
            env=dict(environ),
            start_new_session=True,  # Ctrl-C is for the agent
            preexec_fn=_unblock,  # noqa: PLW1509  # we have one thread
        )
        try:
            ready = _first_object(process)
        except BaseException:
            process.kill()
            raise
        if ready is None:
            errors.seek(0)
            said = errors.read()[-2000:].decode("utf-8", "replace").strip()
            raise UsageError(f"the approval service did not start: {said or 'it said nothing'}")
    approvals.keep_private(_mark(environ), wire.encode({"pid": process.pid}))
    tell(f"The inbox: {ready['link']}")
    return Service(address=str(ready["address"]), link=str(ready["link"]))


def _first_object(process: Any) -> dict[str, Any] | None:
    """What the server prints when it is ready; None where it ends before."""
    import select
    import time

    ends, data = time.monotonic() + _SERVER_STARTS, b""
    with process.stdout as out:
        while time.monotonic() < ends:
            if not select.select([out], [], [], 1.0)[0]:
                continue
            part = os.read(out.fileno(), 1 << 16)
            data += part
            with contextlib.suppress(InputError):
                return wire.decode_object(data)
            if not part:
                break
    process.kill()
    process.wait()
    return None


def _end_ours(environ: Mapping[str, str]) -> None:
    """If a run has started it, and it is the one that runs now."""
    import signal

    try:
        with open(_mark(environ), "rb") as file:
            pid = wire.decode_object(file.read()).get("pid")
        with open(os.path.join(state_folder(environ), "server.json"), "rb") as file:
            runs_now = wire.decode_object(file.read()).get("pid")
    except (OSError, InputError):
        return
    os.unlink(_mark(environ))
    if isinstance(pid, int) and pid > 1 and pid == runs_now:
        with contextlib.suppress(OSError):
            os.kill(pid, signal.SIGTERM)
            if not _gone(pid):
                os.kill(pid, signal.SIGKILL)


def _gone(pid: int) -> bool:
    import time

    ends = time.monotonic() + _SERVER_ENDS
    while time.monotonic() < ends:
        with contextlib.suppress(ChildProcessError):  # another run has started it
            os.waitpid(pid, os.WNOHANG)
        try:
            os.kill(pid, 0)
        except OSError:
            return True
        time.sleep(0.02)
    return False


@contextlib.contextmanager
def _run_of(
    found: Service, agent: str, environ: Mapping[str, str], project: str, tell: Callable[[str], None]
) -> Iterator[tuple[str, str]]:
    """A run with its key, which is worth nothing afterwards."""
    try:
        users = approvals.users_key(environ, found.address)
        run_id, key = approvals.new_run(
            found.address, users, agent=agent, project=project, title="fairlead run", process=machines.this_process()
        )
    except (approvals.NoAnswer, approvals.Trouble) as error:
        raise UsageError(f"no run can be made: {error}", hint=approvals.START) from None
    try:
        yield run_id, key
    finally:
        try:
            approvals.call(found.address, "POST", f"/api/runs/{run_id}/end", users, {})
        except (approvals.NoAnswer, approvals.Trouble) as error:
            tell(f"The run could not be ended: {error}")


# --- the agent's hooks -------------------------------------------------------------------------------


@contextlib.contextmanager
def _private_folder(environ: Mapping[str, str]) -> Iterator[str]:
    import shutil
    import tempfile

    place = place_of_runs(environ)
    sweep(place)
    folder = tempfile.mkdtemp(prefix=_FOLDER, dir=place)
    try:
        yield folder
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def place_of_runs(environ: Mapping[str, str]) -> str:
    import tempfile

    place = environ.get("XDG_RUNTIME_DIR", "")
    return place if os.path.isdir(place) else tempfile.gettempdir()


def sweep(place: str) -> None:
    """Takes away what runs have left that were killed: never the hooks of an agent that may still be there."""
    import shutil

    with contextlib.suppress(OSError), os.scandir(place) as entries:
        for entry in entries:
            if entry.name.startswith(_FOLDER) and entry.is_dir(follow_symlinks=False) and _is_left_behind(entry):
                shutil.rmtree(entry.path, ignore_errors=True)


def _is_left_behind(entry: os.DirEntry[str]) -> bool:
    try:
        if entry.stat(follow_symlinks=False).st_uid != os.getuid():
            return False
        with open(os.path.join(entry.path, _OWNER), "rb") as file:
            owner = wire.decode_object(file.read())
    except (OSError, InputError):
        return False
    here = owner.get("host") == machines.this_machine()
    processes = (owner.get("run"), owner.get("agent"))
    return here and all(isinstance(one, str) and machines.is_over(one) for one in processes)


def prepare(words: list[str], agent: str, environ: dict[str, str], folder: str, given: Mapping[str, str]) -> Supervised:
    """The hooks in `folder`, and the way in which this agent learns of them."""
    _write_script(folder, "PreToolUse.sh", "m", given)
    environ = {**environ, "CLAUDE_HOOKS_DIR": folder}
    passing = _WAYS.get(agent)
    if passing is None:
        name = agent or os.path.basename(words[0])
        note = (
            f"{name} cannot be given hooks when it starts: it has those that `fairlead init` has put into its settings"
        )
        return Supervised(words=tuple(words), environ=environ, notes=(note,))
    script = _write_script(folder, "fairlead-hook", agent, given)
    return passing(words, environ, folder, _hooks(specs.SPECS[agent], script))


def _write_script(folder: str, name: str, agent: str, given: Mapping[str, str]) -> str:
    """With its own variables: some agents keep theirs from their hooks."""
    import shlex

    path = os.path.join(folder, name)
    lines = [f"export {key}={shlex.quote(value)}" for key, value in given.items()]
    call = [*commands.program(), "hook", "--agent", agent]
    python, main, mark = shlex.quote(call[0]), shlex.quote(call[2]), shlex.quote(_mark_of_hooks(folder))
    # 2 is a refusal to most agents, 127 to hardly any: where the program has gone, nothing is let through.
    check = f"[ -x {python} ] && [ -r {main} ] || {{ echo 'Fairlead is not there any more' >&2; exit 2; }}"
    descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o700)
    with os.fdopen(descriptor, "w", encoding="utf-8", errors="surrogateescape") as file:
        file.write("\n".join(("#!/bin/sh", *lines, f": > {mark}", check, f'exec {shlex.join(call)} "$@"', "")))
    return path


def _mark_of_hooks(folder: str) -> str:
    """A file that is there once the agent has called a hook."""
    return os.path.join(folder, "called")


def _hooks(spec: Install, script: str) -> dict[str, Any]:
    """Every event that any version of the agent knows, in its settings' form."""
    import shlex

    found = {}
    for event in spec.first_events or spec.events:
        seconds = specs.timeout(spec, event)
        command = f"{shlex.quote(script)} --timeout {plain(seconds)}"
        limit = seconds * spec.unit
        strict = spec.enforce if event in spec.enforce_on else {}
        handler = {"type": "command", "command": command, "timeout": int(limit), **strict}
        found[event] = [{"hooks": [handler]}]
    return found


def _claude(words: list[str], environ: dict[str, str], folder: str, hooks: dict[str, Any]) -> Supervised:
    """Behind its name. It takes one --settings: what the user gave is carried along."""
    words, own = _without_option(words, "--settings")
    settings = _with_hooks(_settings_in(own) if own else {}, hooks)
    off = settings.pop("disableAllHooks", False) is True
    path = _write_json(folder, "settings.json", settings)
    notes = ("disableAllHooks in --settings was left out: nobody would be asked",) if off else ()
    return Supervised(words=(words[0], "--settings", path, *words[1:]), environ=environ, notes=notes)


def _without_option(words: list[str], name: str) -> tuple[list[str], str]:
    kept, value = [], ""
    rest = iter(words)
    for word in rest:
        if word == name:
            value = next(rest, "")
        elif word.startswith(f"{name}="):
            value = word.partition("=")[2]
        else:
            kept.append(word)
    return kept, value


def _settings_in(value: str) -> dict[str, Any]:
    """A file, or JSON itself."""
    from fairlead import documents

    try:
        if not value.lstrip().startswith("{"):
            with open(value, encoding="utf-8") as file:
                value = file.read()
        found = documents.parse_json(value)
    except (OSError, ValueError, InputError) as error:
        raise UsageError(f"the settings for the agent cannot be read: {error}") from None
    if not isinstance(found, dict):
        raise UsageError("the settings for the agent must be an object")
    return found


def _with_hooks(settings: dict[str, Any], hooks: dict[str, Any]) -> dict[str, Any]:
    own = settings.get("hooks")
    own = own if isinstance(own, dict) else {}
    theirs = {event: groups if isinstance(groups, list) else [] for event, groups in own.items()}
    return {**settings, "hooks": {**own, **{event: [*theirs.get(event, []), *hooks[event]] for event in hooks}}}


def _write_json(folder: str, name: str, value: object) -> str:
    path = os.path.join(folder, name)
    approvals.keep_private(path, wire.encode(value))
    return path


def _codex(words: list[str], environ: dict[str, str], _folder: str, hooks: dict[str, Any]) -> Supervised:
    """As overrides of its configuration, with the trust that only somebody who starts it can give."""
    overrides = [f"hooks.{event}={_toml(groups)}" for event, groups in hooks.items()]
    trusted = {key: {"trusted_hash": value} for key, value in _codex_trust(hooks)}
    overrides.append(f"hooks.state={_toml(trusted)}")
    flags = [word for override in overrides for word in ("-c", override)]
    return Supervised(words=(words[0], *flags, *words[1:]), environ=environ)


def _codex_trust(hooks: dict[str, Any]) -> Iterator[tuple[str, str]]:
    """Key and hash of each hook, as Codex writes them for settings on its command line."""
    from fairlead.installing.codextrust import hook_hash, snake_case

    for event, groups in hooks.items():
        snake = snake_case(event)
        for number, group in enumerate(groups):
            for index, handler in enumerate(group["hooks"]):
                yield f"{_CODEX_FLAGS}:{snake}:{number}:{index}", hook_hash(event, snake, group, handler)


def _toml(value: Any) -> str:
    """A value on one line."""
    if isinstance(value, dict):
        return "{" + ", ".join(f"{wire.encode_text(key)} = {_toml(item)}" for key, item in value.items()) + "}"
    if isinstance(value, list):
        return "[" + ", ".join(map(_toml, value)) + "]"
    return wire.encode_text(value)


def _gemini(words: list[str], environ: dict[str, str], folder: str, hooks: dict[str, Any]) -> Supervised:
    """In a home that is the user's own but for the settings: it takes settings of the machine from root alone."""
    variable = "GEMINI_CLI_HOME"
    before = os.path.join(environ.get(variable) or environ.get("HOME") or os.path.expanduser("~"), ".gemini")
    home = os.path.join(folder, "home")
    os.makedirs(os.path.join(home, ".gemini"), mode=0o700)
    for name in os.listdir(before) if os.path.isdir(before) else ():
        if name != "settings.json":
            os.symlink(os.path.join(before, name), os.path.join(home, ".gemini", name))
    own = os.path.join(before, "settings.json")
    settings = _settings_in(own) if os.path.exists(own) else {}
    _write_json(os.path.join(home, ".gemini"), "settings.json", _with_hooks(settings, hooks))
    return Supervised(words=tuple(words), environ={**environ, variable: home})


def _qwen(words: list[str], environ: dict[str, str], folder: str, hooks: dict[str, Any]) -> Supervised:
    """As settings of the machine, which a variable can move: with what stands there already."""
    variable = "QWEN_CODE_SYSTEM_SETTINGS_PATH"
    before = environ.get(variable) or "/etc/qwen-code/settings.json"
    settings = _settings_in(before) if os.path.exists(before) else {}
    path = _write_json(folder, "settings.json", _with_hooks(settings, hooks))
    return Supervised(words=tuple(words), environ={**environ, variable: path})


_WAYS: Mapping[str, Callable[[list[str], dict[str, str], str, dict[str, Any]], Supervised]] = {
    "claude-code": _claude,
    "codex": _codex,
    "gemini": _gemini,
    "qwen": _qwen,
}
"""How each agent takes hooks for one start."""


# --- the agent's process -----------------------------------------------------------------------------


def _ours() -> set[int]:
    import signal

    return {
        signal.SIGCHLD,
        signal.SIGINT,
        signal.SIGTERM,
        signal.SIGHUP,
        signal.SIGQUIT,
        signal.SIGUSR1,
        signal.SIGUSR2,
    }


@contextlib.contextmanager
def _signals_are_ours() -> Iterator[None]:
    """From here to the end none of them interrupts anything: each is taken when we look for it, and passed on."""
    import signal

    before = signal.pthread_sigmask(signal.SIG_BLOCK, _ours())
    try:
        yield
    finally:
        while signal.sigpending() & _ours():
            signal.sigwait(_ours())
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


def _unblock() -> None:
    import signal

    signal.pthread_sigmask(signal.SIG_UNBLOCK, _ours())


def _start(program: str, supervised: Supervised) -> int:
    """With our terminal, our process group and our files, as if we were not there; but it does not outlive us."""
    import subprocess

    try:
        process = subprocess.Popen(
            supervised.words,
            executable=program,
            env=supervised.environ,
            close_fds=False,
            preexec_fn=_ends_with_us(),  # noqa: PLW1509  # we have one thread
        )
    except OSError as error:
        raise UsageError(f"{program} cannot be started: {error.strerror}") from None
    process.returncode = 0  # collected by us
    return process.pid


def _ends_with_us() -> Callable[[], None]:
    """What the agent's process does before it becomes the agent: Linux then ends it when our one thread is gone,
    however that happens."""
    import signal

    prctl, parent = _prctl(), os.getpid()

    def prepare() -> None:
        if prctl is not None:
            prctl(_PDEATHSIG, int(signal.SIGTERM), 0, 0, 0)
            if os.getppid() != parent:  # gone already
                os._exit(1)
        signal.pthread_sigmask(signal.SIG_SETMASK, ())

    return prepare


def _prctl() -> Callable[..., int] | None:
    import ctypes

    try:
        found: Callable[..., int] = ctypes.CDLL(None).prctl
    except (OSError, AttributeError):  # no Linux
        return None
    return found


def _wait_for(pid: int) -> int:
    import signal

    while True:
        ended, status = os.waitpid(pid, os.WNOHANG)
        if ended:
            code = os.waitstatus_to_exitcode(status)
            return code if code >= 0 else 128 - code
        number, by_terminal = _next_signal()
        if number != signal.SIGCHLD and not by_terminal:
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, number)


def _next_signal() -> tuple[int, bool]:
    """And whether the terminal sent it, which has given it to the agent as well."""
    import signal

    if not hasattr(signal, "sigwaitinfo"):  # macOS
        number = signal.sigwait(_ours())
        return number, number in (signal.SIGINT, signal.SIGQUIT) and os.isatty(0)
    info = signal.sigwaitinfo(_ours())
    return info.si_signo, info.si_code > 0  # from the kernel, not from a process
