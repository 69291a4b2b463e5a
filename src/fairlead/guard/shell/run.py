"""An abstract run of a command: everything is read, nothing is executed.

``Shell`` carries what a real shell would carry (directory, variables, functions) and meets every
program as a ``Call``. What programs do is not known here; ``meet`` is told by the caller.
"""

from __future__ import annotations

import re

from fairlead.guard._lazy import lazy
from fairlead.guard.effects import EMPTY, OPAQUE, Effect, Stream, together
from fairlead.guard.paths import join
from fairlead.guard.shell import expand
from fairlead.guard.shell.nodes import (
    ANY,
    STAR,
    UNKNOWN,
    Branches,
    Function,
    Group,
    Loop,
    Pipeline,
    Sequence,
    Simple,
    Substitution,
    Test,
    shown,
)
from fairlead.guard.shell.parse import parse
from fairlead.guard.shell.record import Call, Record, TooMuchError, program_name

__all__ = ["Call", "Record", "Shell", "TooMuchError", "program_name"]

TYPE_CHECKING = False
if TYPE_CHECKING:
    from fairlead.guard.shell.nodes import Assignment, Node, Redirect


EFFECTS = 1000
NESTING = 24
_LOOP_ITEMS = 64
# What a field costs more than its characters.
_FIELD = 24
_ENDLESS = frozenset({"/dev/zero", "/dev/urandom", "/dev/random", "/dev/full", "endless"})
_DECLARING = frozenset({"declare", "typeset", "export", "readonly", "local"})
_TOOLS = {
    "PYTHON": "python", "PYTHON3": "python3", "NODE": "node", "CC": "cc", "CXX": "c++", "MAKE": "make",
    "EDITOR": "vi", "VISUAL": "vi", "SHELL": "sh", "BASH": "bash", "PAGER": "less", "GO": "go",
    "CARGO": "cargo", "NPM": "npm", "PIP": "pip", "JAVA": "java", "GIT": "git", "CMAKE": "cmake",
}  # fmt: skip


# By convention these hold a path that ``mktemp`` made.
_TEMPORARY = lazy(r"(?:runner_)?(?:tmp|temp)(?:_?(?:dir|file|path|out|log))?\Z", re.IGNORECASE)


class Shell:
    """The state of one shell, and how it runs each kind of node."""

    def __init__(self, record: Record, cwd: str, home: str) -> None:
        self.record = record
        self.cwd = cwd
        self.previous = UNKNOWN
        self.home = home
        self.place = ""
        self.variables: dict[str, str | list[str]] = {}
        self.functions: dict[str, Node] = {}
        self.aliases: dict[str, str] = {}
        self.positional: list[str] = []
        self.script = "sh"
        self.nesting = 0
        self.texts = 0
        self.active: tuple[str, ...] = ()
        self.in_pipe = False
        self.piped = False

    def child(self) -> Shell:
        """Return a subshell: it starts equal and changes nothing here."""
        other = Shell.__new__(Shell)
        other.__dict__.update(self.__dict__)
        other.variables = self.variables.copy()
        other.functions = self.functions.copy()
        self.record.copy((len(self.variables) + len(self.functions)) // 4)
        other.nesting = self.nesting + 1
        return other

    def run_text(self, text: str, stdin: Stream = EMPTY) -> Stream:
        """Run a command that is given as text: ``eval``, ``sh -c``, a decoded script."""
        self._descend(f"reads {shown(text[:200])!r}")
        sequence, parser = parse(text)
        self.record.broken = self.record.broken or parser.broken
        self.record.substitutions += parser.substitutions
        self.texts += 1
        out = self.run(sequence, stdin)
        self.texts -= 1
        self.nesting -= 1
        return out

    def _descend(self, step: str) -> None:
        self.record.steps.append(step)
        self.nesting += 1
        if self.nesting > NESTING:
            raise TooMuchError

    def run(self, node: Node, stdin: Stream = EMPTY) -> Stream:
        """Run one node and return what it writes to its output."""
        if isinstance(node, Simple):
            return self._simple(node, stdin)
        if isinstance(node, Sequence):
            return self._sequence(node, stdin)
        if isinstance(node, Pipeline):
            return self._pipeline(node, stdin)
        if isinstance(node, Function):
            self.functions[node.name] = node.body
            return EMPTY
        return self._compound(node, stdin)

    def _sequence(self, node: Sequence, stdin: Stream) -> Stream:
        written: list[Stream] = []
        for operator, item in node.items:
            if operator == "||":
                shell = self.child()
                shell.nesting = self.nesting
                written.append(shell.run(item, stdin))
                self._merge([shell])
                if shell.cwd != self.cwd:
                    self.cwd = UNKNOWN
            else:
                written.append(self.run(item, stdin))
        return together(written)

    def _merge(self, branches: list[Shell]) -> None:
        """Keep of several possible outcomes what all agree on; the rest is unknown."""
        for shell in branches:
            for name, value in shell.variables.items():
                mine = self.variables.get(name, value)
                if mine is not value or name not in self.variables:
                    self.variables[name] = value if mine == value else UNKNOWN
            self.functions.update(shell.functions)

    def _pipeline(self, node: Pipeline, stdin: Stream) -> Stream:
        for stage in node.stages:
            shell = self.child()
            shell.in_pipe = True
            shell.piped = self.piped or stage is not node.stages[-1]
            shell.nesting = self.nesting
            stdin = shell.run(stage, stdin)
        return stdin

    def _compound(self, node: Group | Loop | Branches | Test, stdin: Stream) -> Stream:
        shell = self.child() if isinstance(node, Group) and node.subshell else self
        shell.nesting = self.nesting
        stdin, targets = shell.redirected(node.redirects, stdin)
        if isinstance(node, Group):
            out = shell.run(node.body, stdin)
        elif isinstance(node, Loop):
            out = self._loop(node, stdin)
        elif isinstance(node, Branches):
            out = self._branches(node, stdin)
        else:
            expand.fields(self, node.words)
            out = EMPTY
        return self.written(targets, out)

    def _loop(self, node: Loop, stdin: Stream) -> Stream:
        if node.condition is not None:
            return self._while(node, node.condition, stdin)
        words = expand.fields(self, node.words) if node.words is not None else self.values("@")
        written: list[Stream] = []
        for word in _loop_values(words):
            self.variables[node.variable] = word
            written.append(self.run(node.body, stdin))
        return together(written)

    def _while(self, node: Loop, condition: Sequence, stdin: Stream) -> Stream:
        effects, calls = len(self.record.effects), len(self.record.calls)
        self.run(condition, stdin)
        first = [call.name for call in self.record.calls[calls:]]
        calls = len(self.record.calls)
        out = self.run(node.body, stdin)
        endless = first in (["true"], [":"], ["["], ["yes"]) or stdin.origin == "endless" or not first
        names = (
            self._foreground(node.body) if node.body.background else {call.name for call in self.record.calls[calls:]}
        )
        grows = any(effect.kind in ("write", "create") for effect in self.record.effects[effects:])
        if endless and not names & _PAUSING and (node.body.background or (grows and first in (["true"], [":"]))):
            self.record.effects.append(_endless_loop(background=bool(node.body.background)))
        return out

    @staticmethod
    def _foreground(body: Sequence) -> set[str]:
        """Return the programs that the loop itself waits for."""
        waited = [node for number, (_, node) in enumerate(body.items) if number not in body.background]
        return {word for node in waited if isinstance(node, Simple) for word in node.words[:1] if isinstance(word, str)}

    def _branches(self, node: Branches, stdin: Stream) -> Stream:
        expand.fields(self, node.words)
        for condition in node.conditions:
            self.run(condition, stdin)
        written: list[Stream] = []
        branches: list[Shell] = []
        for body in node.bodies:
            self._spend()
            shell = self.child()
            shell.nesting = self.nesting
            branches.append(shell)
            written.append(shell.run(body, stdin))
        if branches:
            self._merge(branches)
            self.cwd = branches[0].cwd if len({shell.cwd for shell in branches}) == 1 else self.cwd
        return together(written)

    def pay(self, values: list[str]) -> list[str]:
        """Count text that expansion made: ``a=$a$a`` doubles it with every step."""
        self.record.room -= sum(map(len, values)) + _FIELD * len(values)
        if self.record.room < 0:
            raise TooMuchError
        return values

    def _spend(self) -> None:
        self.record.budget -= 1
        if self.record.budget < 0:
            raise TooMuchError

    def _simple(self, node: Simple, stdin: Stream) -> Stream:
        self._spend()
        self.record.substituted = None
        self.record.names = []
        argv = expand.fields(self, node.words)
        targets: list[str] = []
        if node.redirects:
            stdin, targets = self.redirected(node.redirects, stdin)
        env: dict[str, str] = {}
        if node.assignments:
            env = self._assign(node.assignments, keep=not argv or argv[0] in _DECLARING)
        if not argv:
            return self.written(targets, stdin if node.redirects and not node.assignments else EMPTY)
        if argv[0] == UNKNOWN:
            argv[0] = self._tool(node) or UNKNOWN
        out = self.call(Call(argv, self, stdin=stdin, env=env))
        return self.written(targets, out) if targets else out

    @staticmethod
    def _tool(node: Simple) -> str:
        """Return the usual meaning of ``$PYTHON``, ``$EDITOR`` and their like in command place."""
        parts = getattr(node.words[0], "parts", [])
        names = [name for part in parts if (name := getattr(part, "name", ""))]
        return _TOOLS.get(names[0], "") if len(names) == 1 else ""

    def call(self, call: Call) -> Stream:
        """Meet one program: a function or alias of this command, or a real one."""
        name = call.program
        if name in self.functions and name not in self.active:
            return self._function(name, call)
        if name in self.aliases and name not in self.active:
            return self._alias(name, call)
        if name in self.active and self.in_pipe:
            self.record.effects.append(_fork_bomb(call))
            return OPAQUE
        self.record.calls.append(call)
        self.record.enter(len(call.args))
        out = self.record.meet(call)
        self.record.depth -= 1
        return out

    def _function(self, name: str, call: Call) -> Stream:
        self._descend(f"calls the function {shown(name)}")
        saved = self.positional, self.active
        self.positional, self.active = call.args, (*self.active, name)
        out = self.run(self.functions[name], call.stdin)
        self.positional, self.active = saved
        self.nesting -= 1
        return out

    def _alias(self, name: str, call: Call) -> Stream:
        saved, self.active = self.active, (*self.active, name)
        rest = " ".join(_quoted(arg) for arg in call.args)
        out = self.run_text(f"{self.aliases[name]} {rest}", call.stdin)
        self.active = saved
        return out

    def _assign(self, assignments: list[Assignment], *, keep: bool) -> dict[str, str]:
        env: dict[str, str] = {}
        for item in assignments:
            if isinstance(item.value, list):
                value: str | list[str] = expand.fields(self, item.value)
            else:
                value = expand.joined(self, item.value)
            if keep and item.append:
                value = self._appended(item.name, value)
            if keep:
                self.variables[item.name] = value
            env[item.name] = value if isinstance(value, str) else " ".join(value)
        return env

    def _appended(self, name: str, value: str | list[str]) -> str | list[str]:
        old = self.variables.get(name, "")
        if isinstance(old, list) or isinstance(value, list):
            return self.pay(
                [
                    *([old] if isinstance(old, str) else old),
                    *([value] if isinstance(value, str) else value),
                ]
            )
        return self.pay([old + value])[0]

    def values(self, name: str, *, every: bool = False) -> list[str]:
        """Return the values of a variable; the unknown value if this command does not say."""
        if name in self.variables:
            value = self.variables[name]
            if isinstance(value, str):
                return [value]
            return value if every else value[:1] or [""]
        if name in ("@", "*"):
            return list(self.positional)
        if name.isdigit():
            return [self._position(int(name[:4]))]
        self.record.names.append(name)
        return [self._outer(name)]

    def _outer(self, name: str) -> str:
        """Return what a variable holds that this command does not set."""
        if name in ("HOME", "PWD", "OLDPWD"):
            return self.home if name == "HOME" else self.cwd if name == "PWD" else self.previous
        if name == "IFS":
            return " \t\n"
        return f"/tmp/{UNKNOWN}" if _TEMPORARY.match(name) else UNKNOWN  # noqa: S108  by convention

    def _position(self, number: int) -> str:
        if number == 0:
            return self.script
        return self.positional[number - 1] if number <= len(self.positional) else ""

    def prompt(self, value: str) -> str:
        """Expand as a prompt, which runs the substitutions in the value."""
        self.child().run_text(f'echo "{value}"')
        return UNKNOWN

    def substitute(self, part: Substitution) -> str:
        shell = self.child()
        if shell.nesting > NESTING:
            raise TooMuchError
        out = shell.run(part.body, EMPTY if part.kind != ">" else OPAQUE)
        if part.kind == "$":
            self._remember(out)
            return UNKNOWN if out.text is None else out.text.rstrip("\n")
        path = f"/dev/fd/{63 + len(self.record.files)}"
        self.record.files[path] = out
        return path

    def _remember(self, out: Stream) -> None:
        """Keep where substituted text came from; programs that run or send text look here."""
        if out.hosts or out.secrets or out.origin:
            self.record.substituted = out

    def redirected(self, redirects: list[Redirect], stdin: Stream) -> tuple[Stream, list[str]]:
        """Apply redirections; return the new standard input and the files that output goes to."""
        targets: list[str] = []
        for item in redirects:
            if item.operator in ("<<", "<<-", "<<<"):
                stdin = Stream(expand.joined(self, item.target))
                continue
            for target in expand.word_fields(self, item.target)[:1]:
                if item.operator == "<":
                    stdin = self._input(target)
                elif not (item.operator in (">&", "<&") and target.rstrip("-").isdigit()) and target != "-":
                    self._output_to(item, target, targets)
        return stdin, targets

    def _input(self, target: str) -> Stream:
        path = join(self.cwd, target)
        self.effect("read", f"< {target}", path=path)
        return self.record.files.get(path) or Stream(None, origin=path)

    def _output_to(self, item: Redirect, target: str, targets: list[str]) -> None:
        path = join(self.cwd, target)
        if path.startswith("/dev/fd/"):
            return
        note = "append" if ">>" in item.operator else ""
        self.effect("write", f"{item.operator} {target}", path=path, note=note)
        if item.descriptor in ("", "1"):
            targets.append(path)

    def written(self, targets: list[str], out: Stream) -> Stream:
        for path in targets:
            self.record.files[path] = out
            if out.origin in _ENDLESS and not path.startswith("/dev/"):
                self.effect(
                    "system", f"> {path}", rule="system.exhaust", reason=f"`> {path}` is written to without end"
                )
            elif out is EMPTY and (STAR in path or path.endswith("/" + UNKNOWN)):
                self.effect("write", f"> {path}", path=path, note="empty")
        return EMPTY if targets else out

    def effect(self, kind: str, words: str, **fields: object) -> None:
        if UNKNOWN in words or STAR in words or ANY in words:
            words = shown(words)
        effect = Effect(kind, words, place=self.place, **fields)  # type: ignore[arg-type]
        if len(self.record.effects) >= EFFECTS:
            raise TooMuchError
        self.record.effects.append(effect)

    def change_directory(self, target: str) -> None:
        if target == "-":
            self.cwd, self.previous = self.previous, self.cwd
            return
        self.previous = self.cwd
        self.cwd = join(self.cwd, target) if target != UNKNOWN else UNKNOWN


def _loop_values(words: list[str]) -> list[str]:
    unique = list(dict.fromkeys(words))
    return unique if len(unique) <= _LOOP_ITEMS else [*unique[:_LOOP_ITEMS], UNKNOWN]


def _quoted(text: str) -> str:
    return "'" + text.replace("'", "'\\''") + "'"


# A loop with one of these waits, or ends.
_PAUSING = frozenset(
    "sleep usleep break exit return wait read inotifywait fswatch entr kill curl wget make npm cargo pytest git".split()
)


def _endless_loop(*, background: bool) -> Effect:
    text = "starts programs without end" if background else "writes without end"
    return Effect(
        "system", "while …", rule="system.exhaust", decision="ask", reason=f"the loop {text} and never waits",
        suggestion="give the loop an end, or a `sleep`",
    )  # fmt: skip


def _fork_bomb(call: Call) -> Effect:
    return Effect(
        "system",
        call.words,
        rule="system.fork-bomb",
        decision="deny",
        reason=f"`{call.words}` calls itself through a pipe without end and takes the machine down",
    )
