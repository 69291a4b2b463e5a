"""`command`: a program, with or without a shell; and `python` scripts, which are programs too."""

from __future__ import annotations

import os

from fairlead import dialects
from fairlead._record import Record
from fairlead.errors import plain
from fairlead.hooks import HookFailed
from fairlead.verdicts import NONE, Verdict, block
from fairlead.work import Result, Run

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import ClassVar

    from fairlead.confining import Room
    from fairlead.dialects import HookInput
    from fairlead.events import Event
    from fairlead.hooks import Hook, Setting

VARIABLE_LIMIT = 131_072
"""Bytes in one `NAME=value` string with its final NUL; Linux refuses to start a program with more."""
INPUT_FILE = "FAIRLEAD_INPUT_FILE"
PIPE_SIZE = 65_536
"""What a pipe takes without a reader: beyond it, fed stdin was read by somebody."""

_SIMPLE = frozenset("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_./:@%+,- ")
SHELL_WORDS = frozenset(
    """
    . : [ alias bg bind break builtin caller case cd chdir command compgen complete compopt continue coproc declare
    dirs disown do done echo elif else enable esac eval exec exit export false fc fg fi for function getopts hash help
    history if in jobs kill let local logout mapfile newgrp popd printf pushd pwd read readarray readonly return select
    set shift shopt source suspend test then time times trap true type typeset ulimit umask unalias unset until wait
    while
    """.split()
)
"""What some shell does itself; programs of these names may do it differently."""


class Command(Record):
    command: str
    args: tuple[str, ...] | None = None
    """With arguments, `command` is the program itself and no shell is started."""
    shell: str = "/bin/sh"
    env: dict[str, str] = {}  # noqa: RUF012  # never changed: records are frozen
    cwd: str = ""
    """Empty: where the agent works."""

    kind: ClassVar[str] = "command"

    def start(self, hook: Hook, event: Event, setting: Setting) -> Run:
        given = dialects.hook_half(hook.origin.dialect).hook_input(hook, event, setting)
        room = _room(hook, setting)
        env, left_out = _environment(given, setting.environ if room is None else room.environ, self.env)
        input_file = ""
        if left_out:
            input_file = env[INPUT_FILE] = _input_file(given.stdin, setting.environ)
        cwd = env["PWD"] = _existing(self.cwd, event.cwd, setting.project, setting.home)
        argv, program, otherwise = self.words(cwd, env.get("PATH", ""))
        run = Run(
            argv=argv,
            program=program,
            otherwise=otherwise,
            cwd=cwd,
            env=env,
            stdin=given.stdin,
            timeout=setting.limit(hook.timeout),
            input_file=input_file,
            left_out=tuple(name for name in left_out if name in given.carries_input),
        )
        return run if room is None else room.confine(run)

    def words(self, cwd: str, path: str) -> tuple[tuple[str, ...], str, tuple[str, ...]]:
        """What to start, its file where the first word does not say, and the same for a shell."""
        if self.args is not None:
            return _text_for_shell((self.command, *self.args), cwd, path), "", ()
        in_shell = (self.shell, "-c", self.command)
        words, program = _words_without_shell(self.command, cwd, path)
        return (words, program, in_shell) if words else (in_shell, "", ())

    def conclude(self, hook: Hook, event: Event, work: Run, outcome: Result) -> Verdict:
        return _conclude(hook, event, work, outcome)

    def describe(self) -> str:
        return " ".join((self.command, *(self.args or ())))

    def identity(self) -> tuple[object, ...]:
        return (self.kind, self.command, self.args, self.shell)


class Script(Record):
    """A Python program, run by the interpreter that runs Fairlead."""

    script: str
    roots: tuple[str, ...] = ()
    """Directories where a relative script is looked for, the nearest first."""
    cwd: str = ""

    kind: ClassVar[str] = "python"

    def start(self, hook: Hook, event: Event, setting: Setting) -> Run:
        import sys

        script = self.find()
        work = Command(command=sys.executable, args=(script,), cwd=self.cwd).start(hook, event, setting)
        return work.but(script=script)

    def find(self) -> str:
        places = [os.path.join(root, self.script) for root in self.roots] or [self.script]
        for place in places:
            if os.path.isfile(place):
                return place
        # CPython would exit with 2 for a missing file, and 2 means "deny" to most dialects.
        raise HookFailed(f"no such script: {', '.join(places)}")

    def conclude(self, hook: Hook, event: Event, work: Run, outcome: Result) -> Verdict:
        return _conclude(hook, event, work, outcome)

    def describe(self) -> str:
        return f"python {self.script}"

    def identity(self) -> tuple[object, ...]:
        return (self.kind, self.script)


def _conclude(hook: Hook, event: Event, work: Run, outcome: Result) -> Verdict:
    if outcome.error:
        raise HookFailed(outcome.error)
    if outcome.cancelled:
        raise HookFailed("cancelled")
    if outcome.timed_out or outcome.signal:
        return _refusal(hook, event, work, outcome)
    verdict = dialects.read_verdict(hook, event, outcome)
    if verdict.decision in ("none", "allow") and _must_answer(hook, event) and _is_half_a_verdict(outcome):
        raise HookFailed("its output begins like a verdict and cannot be read")
    if work.left_out and event.blockable and verdict.decision in ("none", "allow"):
        return verdict if _has_seen(hook, work, outcome) else block(_unseen(hook, work))
    return verdict


def _refusal(hook: Hook, event: Event, work: Run, outcome: Result) -> Verdict:
    """What it has refused stays refused, also when it did not end by itself; nothing else counts then."""
    try:
        verdict = dialects.read_verdict(hook, event, outcome.but(exit_code=0))
    except HookFailed:
        verdict = NONE
    if verdict.denies:
        return verdict
    if outcome.timed_out:
        raise HookFailed("timed out" if work.timeout is None else f"timed out after {plain(work.timeout)} s")
    raise HookFailed(f"killed by signal {outcome.signal}")


def _must_answer(hook: Hook, event: Event) -> bool:
    """A guard, by its own word or as Fairlead's own: what it meant to say must not get lost."""
    if hook.origin.dialect == "fairlead":
        return (hook.on_error or dialects.hook_half("fairlead").on_failure(event)) == "deny"
    return hook.on_error == "deny"


def _is_half_a_verdict(outcome: Result) -> bool:
    from fairlead.dialects._common import json_output

    return outcome.stdout.lstrip().startswith(b"{") and json_output(outcome) is None


def _has_seen(hook: Hook, work: Run, outcome: Result) -> bool:
    """Whether the hook can have read what its variables could not hold."""
    if hook.options.get("reads") == "stdin" or (outcome.fed and len(work.stdin) > PIPE_SIZE):
        return True
    try:
        return os.stat(work.input_file).st_atime_ns > 0  # set to 0 when it was written
    except OSError:
        return False


def _unseen(hook: Hook, work: Run) -> str:
    too_large = len(work.stdin) + 64 > VARIABLE_LIMIT  # the longest variable's name, and more
    why = (
        f"is larger than the {VARIABLE_LIMIT:,} bytes that fit into" if too_large else "holds a NUL, which cannot be in"
    )
    return (
        f"hook {hook.name} could not see this call: its input {why} {' and '.join(work.left_out)}. "
        f"It is on stdin and in the file {INPUT_FILE}; "
        f'a hook that reads it there says "reads": "stdin".'
    )


def _room(hook: Hook, setting: Setting) -> Room | None:
    """Only for hooks whose process does not get and may not do everything."""
    if hook.options.get("bounds") is None and not hook.options.get("confined"):
        return None
    from fairlead.confining import Room

    folders = [sign[1:] for signs in dialects.SIGNS.values() for sign in signs if sign.startswith("$")]
    return Room(hook, setting, (*dialects.PROJECTS.values(), *folders))


def _existing(*folders: str) -> str:
    return next((folder for folder in folders if folder and os.path.isdir(folder)), "/")


def _words_without_shell(command: str, cwd: str, path: str) -> tuple[tuple[str, ...], str]:
    """The words, and the program among them, where a shell would do nothing but start it."""
    if not _SIMPLE.issuperset(command):
        return (), ""
    words = tuple(command.split())
    if not words or words[0] in SHELL_WORDS:
        return (), ""
    program = words[0] if "/" in words[0] else _which(words[0], cwd, path)
    return (words, program) if program else ((), "")


def _which(name: str, cwd: str, path: str) -> str:
    """The file that a shell would start; empty where shells differ, or have defaults of their own."""
    for folder in path.split(os.pathsep) if path and "%" not in path else ():
        candidate = os.path.join(folder, name)
        if os.path.lexists(os.path.join(cwd, candidate)):
            return candidate if _is_executable(os.path.join(cwd, candidate)) else ""
    return ""


def _is_executable(path: str) -> bool:
    return os.access(path, os.X_OK) and os.path.isfile(path)


def _text_for_shell(argv: tuple[str, ...], cwd: str, path: str) -> tuple[str, ...]:
    """execvp(3) runs a text without a `#!` line with the shell; the kernel alone refuses it."""
    program = os.path.join(cwd, argv[0] if "/" in argv[0] else _which(argv[0], cwd, path))
    try:
        with open(program, "rb") as file:
            start = file.read(256)
    except OSError:
        return argv
    is_text = bool(start) and b"\0" not in start and not start.startswith(b"#!")
    return ("/bin/sh", program, *argv[1:]) if is_text and _is_executable(program) else argv


def _environment(
    given: HookInput, inherited: Mapping[str, str], own: Mapping[str, str]
) -> tuple[dict[str, str], list[str]]:
    """What the hook gets, and the variables that do not fit."""
    env = {**inherited, **own}
    for name in (INPUT_FILE, *given.absent):
        env.pop(name, None)
    left_out = []
    for name, value in given.env.items():
        value = _encodable(value)  # noqa: PLW2901  # nobody wants the other one
        if _fits(name, value):
            env[name] = value
        else:
            env.pop(name, None)
            left_out.append(name)
    return env, left_out


def _fits(name: str, value: str) -> bool:
    size = len(value) if value.isascii() else len(os.fsencode(value))
    return len(name) + size + 2 <= VARIABLE_LIMIT and "\0" not in value


def _encodable(value: str) -> str:
    """With U+FFFD for lone surrogates, which cannot stand in an environment."""
    if value.isascii():
        return value
    try:
        os.fsencode(value)
    except UnicodeEncodeError:
        return value.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
    return value


def _input_file(stdin: bytes, environ: Mapping[str, str]) -> str:
    import tempfile

    from fairlead.folders import temporary

    descriptor, path = tempfile.mkstemp(prefix="fairlead-input-", suffix=".json", dir=temporary(environ))
    with os.fdopen(descriptor, "wb") as file:
        file.write(stdin)
    os.utime(path, ns=(0, os.stat(path).st_mtime_ns))  # so that the first reader moves the time of access
    return path
