"""find and its relatives: what they pass on, run and delete."""

from __future__ import annotations

import re

from fairlead.guard._lazy import lazy
from fairlead.guard.effects import OPAQUE, Stream
from fairlead.guard.options import options
from fairlead.guard.programs import program
from fairlead.guard.programs.files import touch
from fairlead.guard.shell.nodes import STAR, UNKNOWN, shown

TYPE_CHECKING = False
if TYPE_CHECKING:
    from fairlead.guard.shell.run import Call

_RUNNING = frozenset({"-exec", "-execdir", "-ok", "-okdir"})
_WITH_VALUE = frozenset(
    [
        "-name",
        "-iname",
        "-path",
        "-ipath",
        "-wholename",
        "-iwholename",
        "-regex",
        "-iregex",
        "-type",
        "-xtype",
        "-size",
        "-mtime",
        "-atime",
        "-ctime",
        "-mmin",
        "-amin",
        "-cmin",
        "-newer",
        "-anewer",
        "-cnewer",
        "-user",
        "-group",
        "-uid",
        "-gid",
        "-perm",
        "-maxdepth",
        "-mindepth",
        "-samefile",
        "-inum",
        "-links",
        "-fstype",
        "-printf",
        "-lname",
        "-ilname",
        "-regextype",
        "-used",
        "-context",
        "-D",
        "-newermt",
    ]
)
_WRITING = frozenset({"-fprint", "-fprint0", "-fls", "-fprintf"})
_SELECTING = frozenset(
    {"-name", "-iname", "-path", "-ipath", "-regex", "-iregex", "-wholename", "-lname", "-samefile", "-inum"}
)
_RESULTS = 64
_PLACE = lazy(r"\{(?:[./#%]*|\d+[./]*)\}")


class _Find:
    """The parts of one find command line."""

    def __init__(self, args: list[str]) -> None:
        self.roots: list[str] = []
        self.names: list[str] = []
        self.commands: list[list[str]] = []
        self.outputs: list[str] = []
        self.deletes = False
        self.narrow = False
        self.excludes = False
        self.empty = False
        self._read(args)

    def _read(self, args: list[str]) -> None:
        index = 0
        while index < len(args) and args[index] in ("-H", "-L", "-P", "-E", "-X", "-d", "-s", "-x", "-f"):
            index += 1
        while index < len(args) and not args[index].startswith(("-", "(", "!")):
            self.roots.append(args[index])
            index += 1
        negated = False
        while index < len(args):
            index, negated = self._test(args, index, negated=negated)
        self.roots = self.roots or ["."]

    def _test(self, args: list[str], index: int, *, negated: bool) -> tuple[int, bool]:
        arg = args[index]
        if arg in _RUNNING:
            return self._command(args, index + 1), False
        if arg == "-delete":
            self.deletes = True
        elif arg in ("!", "-not"):
            return index + 1, True
        elif arg in _WRITING:
            self.outputs += args[index + 1 : index + 2]
            return index + 2 + (arg == "-fprintf"), False
        elif arg in _WITH_VALUE:
            self._value(arg, "".join(args[index + 1 : index + 2]), negated=negated)
            return index + 2, False
        elif arg == "-empty":
            self.narrow = self.empty = True
        return index + 1, False

    def _value(self, option: str, value: str, *, negated: bool) -> None:
        if option in _SELECTING and not negated:
            self.names.append(value)
            self.narrow = self.narrow or value.strip("*" + STAR + UNKNOWN + "./") != ""
        elif negated and option in _SELECTING:
            self.excludes = True

    def _command(self, args: list[str], index: int) -> int:
        end = index
        while end < len(args) and args[end] != ";" and not (args[end] == "+" and args[end - 1] == "{}"):
            end += 1
        self.commands.append(args[index:end])
        return end + 1

    def results(self) -> list[str]:
        """Return what the names that it finds look like."""
        if not self.narrow:
            return list(self.roots) + [f"{root}/{STAR}" for root in self.roots]
        last = list(dict.fromkeys(_tail(name) for name in self.names)) or [UNKNOWN]
        if len(last) * len(self.roots) > _RESULTS:
            last = [*last[:4], UNKNOWN]
        return [f"{root}/{UNKNOWN}/{name}" for root in self.roots for name in last]


def _tail(pattern: str) -> str:
    """Return the last part of a name pattern as a path with an unknown beginning."""
    tail = pattern.rstrip("*" + STAR).rpartition("/")[2] or pattern.rstrip("/*" + STAR).rpartition("/")[2]
    return tail.replace("*", UNKNOWN).replace(STAR, UNKNOWN).replace("?", UNKNOWN) or UNKNOWN


@program("find", "gfind", "bfs")
def find(call: Call) -> Stream:
    parts = _Find(call.args)
    results = parts.results()
    if parts.deletes and not parts.empty:
        for result in results:
            touch(call, "delete", result, many=True, note="find")
    for output in parts.outputs:
        touch(call, "write", output)
    for command in parts.commands:
        run_for_each(call, command, results)
    if parts.commands:
        return OPAQUE
    return call.stdin.through("".join(f"{result}\n" for result in results))


def run_for_each(call: Call, command: list[str], values: list[str], mark: str = "{}") -> None:
    """Run a command once for each kind of name that stands for the mark."""
    if not command:
        return
    call.shell.record.steps.append(f"runs {shown(' '.join(command))[:200]!r} for each result")
    for value in values:
        argv = [word.replace(mark, value) if mark in word else word for word in command]
        call.shell.call(call.again(argv, fed=True))


@program("fd", "fdfind")
def fd(call: Call) -> Stream:
    args, command = _cut(call.args, ("-x", "-X", "--exec", "--exec-batch"))
    opts = options(args, short="deEtScjof", long=("max-depth", "extension", "exclude", "type", "size", "color",
    "threads",
                                                 "min-depth", "owner", "base-directory", "changed-within"))  # fmt: skip
    roots = opts.operands[1:] or [opts.value("base-directory") or "."]
    narrow = bool(opts.operands[:1] and re.search(r"\w", opts.operands[0])) or opts.has("e", "extension")
    tail = opts.value("e", "extension") or (opts.operands[0] if narrow and opts.operands else "")
    results = [f"{root}/{UNKNOWN}/{UNKNOWN}{tail}" if narrow else f"{root}/{STAR}" for root in roots]
    if command:
        if not any("{" in word for word in command):
            command = [*command, "{}"]
        run_for_each(call, command, results)
        return OPAQUE
    return Stream("".join(f"{result}\n" for result in results))


def _cut(args: list[str], marks: tuple[str, ...]) -> tuple[list[str], list[str]]:
    for index, arg in enumerate(args):
        if arg in marks:
            command = args[index + 1 :]
            return args[:index], command[: command.index(";")] if ";" in command else command
    return args, []


@program("xargs", "gxargs")
def xargs(call: Call) -> Stream:
    opts = options(
        call.args, short="aEILPnsdJSR", posix=True,
        long=("arg-file", "delimiter", "max-args", "max-chars", "max-lines", "max-procs", "process-slot-var"),
    )  # fmt: skip
    mark = opts.value("I", "J", "replace") or ("{}" if opts.has("i", "replace") else "")
    command = opts.operands or ["echo"]
    values = _lines(call.stdin, split=not mark)
    if mark:
        run_for_each(call, command, values, mark)
    else:
        call.shell.call(call.again([*command, *values], fed=True))
    return OPAQUE


def _lines(stdin: Stream, *, split: bool) -> list[str]:
    text = stdin.text
    if text is None or not text.strip():
        return [UNKNOWN]
    pieces = text.split() if split else text.strip("\n").split("\n")
    return pieces[:500] + ([UNKNOWN] if len(pieces) > 500 else [])


@program("parallel")
def parallel(call: Call) -> Stream:
    opts = options(
        call.args, short="jNLnSaIdCEsP", posix=True,
        long=("jobs", "max-args", "sshlogin", "arg-file", "colsep", "delimiter", "joblog", "results", "tmpdir",
              "timeout", "retries", "load", "memfree", "workdir", "halt", "delay", "tagstring", "env", "basefile"),
    )  # fmt: skip
    words = opts.operands
    command, values = words, _lines(call.stdin, split=False)
    for index, word in enumerate(words):
        if re.match(r":::?:?\+?\Z", word):
            command, values = words[:index], [w for w in words[index:] if not re.match(r":::?:?\+?\Z", w)]
            break
    text = " ".join(command)
    if not re.search(r"\{[^\s{}]*\}", text) and values:
        command = [*command, "{}"]
    for value in list(dict.fromkeys(values))[:64] or [UNKNOWN]:
        argv = [_placed(word, value) for word in command]
        # GNU parallel hands the joined words to a shell, other builds start them directly.
        call.shell.child().run_text(" ".join(argv))
        if len(argv) > 1:
            call.shell.child().call(call.again(argv, fed=True))
    return OPAQUE


def _placed(word: str, value: str) -> str:
    return _PLACE.sub(lambda _: value, word)
