"""What a handler asks for: a process to run, or a function to call."""

from __future__ import annotations

from fairlead._record import Record

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from typing import Any

    from fairlead.confining import Limits, Walls
    from fairlead.hooks import Cancellation


class Run(Record):
    """What to start."""

    argv: tuple[str, ...]
    cwd: str
    env: dict[str, str]
    program: str = ""
    """The file to start, where `argv[0]` is only its name."""
    otherwise: tuple[str, ...] = ()
    """The same for a shell, which also runs what the kernel cannot."""
    stdin: bytes = b""
    timeout: float | None = None
    input_file: str = ""
    """A private file with the same bytes as stdin, for what did not fit into the environment."""
    script: str = ""
    """The Python script that `argv` starts, for who can do so without an interpreter's start."""
    left_out: tuple[str, ...] = ()
    """Variables that did not fit."""
    binds: tuple[tuple[str, str], ...] = ()
    """Files and folders that a sandbox must show, each with where."""
    limits: Limits | None = None
    sandbox: Walls | None = None
    no_new_privs: bool = False
    scratch: str = ""
    """A temporary folder that comes and goes with it."""
    facts: Mapping[str, str | int | float] = {}  # never changed: records are frozen
    """What is worth knowing about it, beside its result."""

    @property
    def bounded(self) -> bool:
        """Whether it may not be started in just any way."""
        return self.no_new_privs or self.limits is not None or self.sandbox is not None

    @property
    def behind_another(self) -> bool:
        """Whether what we start is a program that waits for the hook, and hands its exit code on."""
        return self.sandbox is not None and self.sandbox.by != "landlock"


class Result(Record):
    """How it ended. `error` says why it could not be started at all."""

    exit_code: int = 0
    signal: int = 0
    stdout: bytes = b""
    stderr: bytes = b""
    tail: bytes = b""
    """The end of stdout, also where stdout itself was cut."""
    truncated: bool = False
    fed: bool = True
    """Whether all of stdin was taken: beyond the 64 KiB of a pipe, somebody has read it."""
    timed_out: bool = False
    cancelled: bool = False
    error: str = ""


class Call:
    """Work that is a function call in this process."""

    __slots__ = ("arguments", "cancellation", "function", "in_thread", "is_instant", "timeout")

    def __init__(
        self,
        function: Callable[..., Any],
        arguments: tuple[Any, ...],
        *,
        timeout: float | None = None,
        in_thread: bool = False,
        is_instant: bool = False,
        cancellation: Cancellation | None = None,
    ) -> None:
        self.function = function
        self.arguments = arguments
        self.timeout = timeout
        self.in_thread = in_thread
        """For a blocking function whose time is limited: it cannot be ended, only left behind."""
        self.is_instant = is_instant
        """For one of ours that waits for nothing: it needs no event loop, which takes longer to import than it does."""
        self.cancellation = cancellation
        """To be set when nobody waits for the function any more."""
