"""What one reading meets and finds: the programs that are started, and the effects they have."""

from __future__ import annotations

from functools import lru_cache

from fairlead.guard.effects import EMPTY, Effect, Stream
from fairlead.guard.shell.nodes import shown

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

    from fairlead.guard.shell.run import Shell

    Meet = Callable[["Call"], Stream]

STEPS = 2000
# Characters that expansion may make; arguments of all calls and variables of all subshells together; wrappers
# around one program.
EXPANDED = 150_000
ARGUMENTS = 16_000
WRAPPERS = 40


class TooMuchError(Exception):
    """The command runs more than the budget allows to follow."""


class Call:
    """One program started, as the shell would start it."""

    __slots__ = ("_words", "args", "env", "fed", "name", "privileged", "program", "shell", "stdin")

    def __init__(
        self,
        argv: list[str],
        shell: Shell,
        *,
        stdin: Stream = EMPTY,
        env: dict[str, str] | None = None,
        privileged: bool = False,
    ) -> None:
        self.program = argv[0]
        self.name = program_name(argv[0])
        self.args = argv[1:]
        self.shell = shell
        self.stdin = stdin
        self.env = env or {}
        self.privileged = privileged
        self.fed = False
        self._words = ""

    @property
    def words(self) -> str:
        """Return the call as a person would write it, shortened."""
        if not self._words:
            argv = [self.program, *self.args[:11]]
            self._words = shown(" ".join(argv) + (" ..." if len(self.args) > 11 else ""))[:300]
        return self._words

    def again(self, argv: list[str], **changes: object) -> Call:
        """Return the call of an inner program with what it inherits from this one."""
        inner = Call(argv, self.shell, stdin=self.stdin, env=self.env, privileged=self.privileged)
        inner.fed = self.fed
        for name, value in changes.items():
            setattr(inner, name, value)
        return inner


@lru_cache(1024)
def program_name(program: str) -> str:
    """Return the name by which a program is known: no directory, no case, no ``.exe``."""
    name = program.replace("\\", "/").rsplit("/", 1)[-1].lower()
    return name[:-4] if name.endswith((".exe", ".cmd", ".bat")) else name


class Record:
    """What one reading has found; shared by all shells of it."""

    __slots__ = (
        "arguments", "broken", "budget", "calls", "depth", "effects", "files", "meet", "names", "room", "steps",
        "substituted", "substitutions",
    )  # fmt: skip

    def __init__(self, meet: Meet) -> None:
        self.meet = meet
        self.effects: list[Effect] = []
        self.steps: list[str] = []
        self.files: dict[str, Stream] = {}
        self.broken = False
        self.substitutions = 0
        self.substituted: Stream | None = None
        self.names: list[str] = []
        self.budget = STEPS
        self.room = EXPANDED
        self.arguments = ARGUMENTS
        self.depth = 0
        self.calls: list[Call] = []

    def enter(self, arguments: int) -> None:
        """Count a program that is met: ``sudo sudo …`` is read once for each of its words."""
        self.depth += 1
        if self.depth > WRAPPERS:
            raise TooMuchError
        self.copy(arguments)

    def copy(self, words: int) -> None:
        """Count words that are handed on, each of which costs again."""
        self.arguments -= words
        if self.arguments < 0:
            raise TooMuchError
