"""`command`: a program, with or without a shell; and `python` scripts, which are programs too."""

from __future__ import annotations

import os

from fairlead import dialects
from fairlead._record import Record
from fairlead.hooks import HookFailed
from fairlead.process import Result, Run
from fairlead.verdicts import Verdict, deny

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import ClassVar

    from fairlead.dialects import HookInput
    from fairlead.events import Event
    from fairlead.hooks import Hook, Setting

VARIABLE_LIMIT = 131_072
"""Bytes in one `NAME=value` string with its final NUL; Linux refuses to start a program with more."""
INPUT_FILE = "FAIRLEAD_INPUT_FILE"

_SIMPLE = frozenset("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_./:@%+,- ")
_SHELL_WORDS = frozenset(
    [
        ".",
        ":",
        "[",
        "alias",
        "bg",
        "break",
        "case",
        "cd",
        "command",
        "continue",
        "do",
        "done",
        "echo",
        "elif",
        "else",
        "esac",
        "eval",
        "exec",
        "exit",
        "export",
        "false",
        "fc",
        "fg",
        "fi",
        "for",
        "getopts",
        "hash",
        "if",
        "jobs",
        "kill",
        "local",
        "newgrp",
        "printf",
        "pwd",
        "read",
        "readonly",
        "return",
        "set",
        "shift",
        "source",
        "test",
        "then",
        "time",
        "times",
        "trap",
        "true",
        "type",
        "ulimit",
        "umask",
        "unalias",
        "unset",
        "until",
        "wait",
        "while",
    ]
)


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
        env, left_out = _environment(given, {**setting.environ, **self.env})
        input_file = ""
        if left_out:
            input_file = env[INPUT_FILE] = _input_file(given.stdin)
        cwd = _existing(self.cwd, event.cwd, setting.project, setting.home)
        return Run(
            argv=self.argv(cwd, env.get("PATH", os.defpath)),
            cwd=cwd,
            env=env,
            stdin=given.stdin,
            timeout=setting.limit(hook.timeout),
            input_file=input_file,
            left_out=tuple(name for name in left_out if name in given.carries_input),
        )

    def argv(self, cwd: str, path: str) -> tuple[str, ...]:
        if self.args is not None:
            return (self.command, *self.args)
        words = _words_without_shell(self.command, cwd, path)
        return words or (self.shell, "-c", self.command)

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

        return Command(command=sys.executable, args=(self.find(),), cwd=self.cwd).start(hook, event, setting)

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
    if outcome.timed_out:
        raise HookFailed(f"timed out after {_seconds(hook.timeout)}")
    if outcome.signal:
        raise HookFailed(f"killed by signal {outcome.signal}")
    verdict = dialects.hook_half(hook.origin.dialect).read_verdict(hook, event, outcome)
    if work.left_out and event.blockable and verdict.decision in ("none", "allow"):
        return verdict if _has_seen(hook, work, outcome) else deny(_unseen(hook, work))
    return verdict


def _has_seen(hook: Hook, work: Run, outcome: Result) -> bool:
    """Whether the hook can have read what its variables could not hold."""
    if hook.options.get("reads") == "stdin" or outcome.fed:
        return True
    try:
        return os.stat(work.input_file).st_atime_ns > 0  # set to 0 when it was written
    except OSError:
        return False


def _unseen(hook: Hook, work: Run) -> str:
    return (
        f"hook {hook.name} could not see this call: its input is larger than the {VARIABLE_LIMIT:,} bytes that "
        f"fit into {' and '.join(work.left_out)}. It is on stdin and in the file {INPUT_FILE}; "
        f'a hook that reads it there says "reads": "stdin".'
    )


def _seconds(timeout: float | None) -> str:
    return "our own deadline" if timeout is None else f"{timeout:g} s"


def _existing(*folders: str) -> str:
    return next((folder for folder in folders if folder and os.path.isdir(folder)), "/")


def _words_without_shell(command: str, cwd: str, path: str) -> tuple[str, ...]:
    """The program and its arguments, where a shell would do nothing but start it."""
    if not _SIMPLE.issuperset(command):
        return ()
    words = command.split()
    if not words or words[0] in _SHELL_WORDS:
        return ()
    program = words[0] if "/" in words[0] else _which(words[0], path)
    if not program or not _is_program(os.path.join(cwd, program)):
        return ()
    return (program, *words[1:])


def _which(name: str, path: str) -> str:
    for folder in path.split(os.pathsep):
        candidate = os.path.join(folder or ".", name)
        if os.access(candidate, os.X_OK) and os.path.isfile(candidate):
            return candidate
    return ""


def _is_program(path: str) -> bool:
    """Whether the kernel can start it: a shell would also run a text file without a `#!` line."""
    try:
        with open(path, "rb") as file:
            return file.read(4).startswith((b"#!", b"\x7fELF", b"\xcf\xfa\xed\xfe", b"\xca\xfe\xba\xbe"))
    except OSError:
        return False


def _environment(given: HookInput, base: dict[str, str]) -> tuple[dict[str, str], list[str]]:
    env = {name: value for name, value in base.items() if name != INPUT_FILE}
    left_out = []
    for name, value in given.env.items():
        if _fits(name, value):
            env[name] = value
        else:
            env.pop(name, None)
            left_out.append(name)
    return env, left_out


def _fits(name: str, value: str) -> bool:
    try:
        size = len(name) + len(os.fsencode(value)) + 2
    except UnicodeEncodeError:  # a lone surrogate cannot stand in an environment
        return False
    return size <= VARIABLE_LIMIT and "\0" not in value


def _input_file(stdin: bytes) -> str:
    import tempfile

    descriptor, path = tempfile.mkstemp(prefix="fairlead-input-", suffix=".json")
    with os.fdopen(descriptor, "wb") as file:
        file.write(stdin)
    os.utime(path, ns=(0, os.stat(path).st_mtime_ns))  # so that the first reader moves the time of access
    return path
