"""The guard: one question, one finding."""

from __future__ import annotations

import os

from fairlead.guard._lazy import lazy
from fairlead.guard.finding import RANK, Finding
from fairlead.guard.packs import PACKS

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from fairlead.guard.effects import Effect
    from fairlead.guard.engine import Judge
    from fairlead.guard.paths import Places
    from fairlead.guard.rules import Rule
    from fairlead.guard.shell.run import Record, Shell

    Hit = tuple[str, str, str, str]

NOTHING = Finding()
_CMDLET = lazy(r"-[A-Z]")
READ_ONLY = "read-only"
_HARMLESS = frozenset("echo printf cat grep rg ls head tail wc less sort find pwd cd".split())
_ALWAYS = frozenset({"guard"})
# The most particular pack speaks first about a path.
_ORDER = ("self", "git", "secrets", "network", "filesystem")


class Guard:
    """Says whether a command, an edit or another tool call is dangerous.

    :param packs: the packs that are on; "all" for every one
    :param rules: rules of the user; they are asked before the packs
    :param auto_allow: ``("read-only",)`` answers "allow" to what provably only reads the project
    :param project: the directory that the agent works on; the working directory if not given
    :param home: the home directory of the user
    """

    def __init__(
        self,
        packs: Iterable[str] | str = ("filesystem", "git", "secrets"),
        rules: Iterable[Rule] = (),
        auto_allow: Iterable[str] = (),
        project: str | None = None,
        home: str | None = None,
    ) -> None:
        self.packs = tuple(PACKS) if packs == "all" else (packs,) if isinstance(packs, str) else tuple(packs)
        self.rules = tuple(rules)
        self.auto_allow = tuple(auto_allow)
        self.project = os.path.abspath(project or os.getcwd())
        self.home = os.path.abspath(home or os.path.expanduser("~"))
        self._places: Places | None = None
        self._loaded = False
        self._judges: tuple[Judge, ...] = ()
        self._validate()

    def _validate(self) -> None:
        for pack in self.packs:
            if pack not in PACKS:
                raise ValueError(f"no pack is called {pack!r}; there are {', '.join(PACKS)}")
        for name in self.auto_allow:
            if name != READ_ONLY:
                raise ValueError(f"auto_allow: {name!r} is unknown; there is {READ_ONLY!r}")
        for rule in self.rules:
            rule.bind(self.project, self.home)

    def command(self, command: str, cwd: str | None = None) -> Finding:
        """Judge a shell command."""
        try:
            return self._command(command, cwd or self.project)
        except Exception as error:  # noqa: BLE001  a guard that fails must not let pass
            return unreadable(command, error)

    def tool(self, name: str, tool_input: Mapping[str, object], cwd: str | None = None) -> Finding:
        """Judge a tool call, by the names of tools and inputs of any agent."""
        from fairlead.guard.tools import judge_tool

        try:
            return judge_tool(self, name, tool_input, cwd or self.project)
        except Exception as error:  # noqa: BLE001  a guard that fails must not let pass
            return unreadable(name, error)

    @property
    def places(self) -> Places:
        if self._places is None:
            from fairlead.guard.paths import Places

            self._places = Places(self.project, self.home)
        return self._places

    def _command(self, command: str, cwd: str) -> Finding:
        self.places.forget()
        from fairlead.guard.shell.record import TooMuchError

        shell = self.shell(cwd)
        record = shell.record
        try:
            read(shell, _cleaned(command))
        except TooMuchError as error:  # what was read so far may be enough for a no
            found = self.judged(record)
            return self._with_steps(found, record) if found.decision == "deny" else unreadable(command, error)
        if record.files:
            from fairlead.guard.later import read_written

            read_written(shell, self._judge)
        finding = self.judged(record)
        if finding is NOTHING and record.broken:
            finding = _broken(command, record)
        if finding is NOTHING and self.auto_allow:
            from fairlead.guard.readonly import read_only

            if self.places.inside(self.places.resolve("/", cwd)) and read_only(record, self.places, command):
                finding = Finding(
                    "allow",
                    rule="guard.read-only",
                    reason="every part of the command only reads the project",
                    words=command,
                )
        return finding if finding is NOTHING else self._with_steps(finding, record)

    def shell(self, cwd: str) -> Shell:
        """Return a fresh shell for one reading."""
        from fairlead.guard.engine import load, met
        from fairlead.guard.shell.run import Record, Shell

        if not self._loaded:
            # A rule of the user may be about any effect.
            load(PACKS if self.rules else self.packs)
            self._loaded = True
        return Shell(Record(met), cwd, self.home)

    def runs_later(self, shell: Shell, tool: str, path: str, text: str) -> None:
        """Report what a text will do, where it is written into a file that runs later."""
        from fairlead.guard.later import read_text

        read_text(shell, self._judge, tool, path, text)

    def judged(self, record: Record) -> Finding:
        """Return the strictest finding over all effects, the first of equals."""
        best = NOTHING
        for effect in record.effects:
            finding = self._judge(effect, record)
            if finding is not None and RANK[finding.decision] > RANK[best.decision]:
                best = finding
                if best.decision == "deny":
                    break
        return best

    def _judge(self, effect: Effect, record: Record) -> Finding | None:
        hits = self._hits(effect)
        path = self.places.resolve("/", effect.path) if effect.path.startswith("/") and self.rules else effect.path
        for rule in self.rules:
            built_in = hits[0][0] if hits else effect.rule
            if rule.covers(effect, path, built_in):
                return self._by_rule(rule, effect, record)
        if not hits:
            return None
        rule_id, decision, reason, suggestion = max(hits, key=lambda hit: RANK[hit[1]])
        record.steps.append(f"{effect.kind} {effect.path or effect.host or effect.words}: {rule_id} says {decision}")
        return Finding(decision, rule=rule_id, reason=reason, words=effect.words, suggestion=suggestion)

    def _hits(self, effect: Effect) -> list[Hit]:
        from fairlead.guard.engine import JUDGES

        if effect.rule:
            pack = effect.rule.partition(".")[0]
            on = pack in self.packs or pack in _ALWAYS
            return [(effect.rule, effect.decision, effect.reason, effect.suggestion)] if on else []
        if not self._judges:
            self._judges = tuple(JUDGES[pack] for pack in _ORDER if pack in self.packs)
        places = self.places
        return [hit for judge in self._judges if (hit := judge(effect, places)) is not None]

    @staticmethod
    def _by_rule(rule: Rule, effect: Effect, record: Record) -> Finding | None:
        name = rule.name or f"{rule.decision}-{effect.kind}"
        record.steps.append(
            f"{effect.kind} {effect.path or effect.host or effect.words}: your rule {name} says {rule.decision}"
        )
        if rule.decision == "allow":
            return None
        reason = rule.reason or f"`{effect.words}` {_verb(effect)} {effect.path or effect.host}".rstrip()
        return Finding(rule.decision, rule=f"rule.{name}", reason=reason, words=effect.words, suggestion=rule.suggest)

    @staticmethod
    def _with_steps(finding: Finding, record: Record) -> Finding:
        return Finding(
            finding.decision, rule=finding.rule, reason=finding.reason, words=finding.words,
            suggestion=finding.suggestion, steps=tuple(record.steps),
        )  # fmt: skip

    def explain(self, command: str, cwd: str | None = None) -> tuple[Finding, tuple[str, ...]]:
        """Judge a command and return how it was read, also when nothing is against it."""
        shell = self.shell(cwd or self.project)
        finding = self.command(command, cwd)
        try:
            read(shell, _cleaned(command))
            self.judged(shell.record)
        except Exception as error:  # noqa: BLE001  what was read so far is still worth showing
            shell.record.steps.append(f"stopped reading: {type(error).__name__}")
        return finding, (*_described(shell.record), *shell.record.steps)


def read(shell: Shell, command: str) -> None:
    """Read a command as the shell would, and as PowerShell where it is written for that."""
    if _may_be_powershell(command):
        from fairlead.guard import powershell

        if powershell.looks_like(command):
            powershell.run(shell.child(), command)
    shell.run_text(command)


def _may_be_powershell(command: str) -> bool:
    """Ask cheaply for what every sign of PowerShell has in it."""
    if "-" in command and (_CMDLET.search(command) or "iwr" in command or "irm" in command):
        return True
    return "ie" in command or ("$" in command and ("=" in command or "i" in command or "env:" in command))


def _cleaned(command: str) -> str:
    """Bash drops NUL; the other characters that mark words must not come from outside."""
    return command.replace("\0", "").replace("\1", "\ufffd").replace("\2", "\ufffd")


def _described(record: Record) -> list[str]:
    calls = [f"runs {call.words!r} in {call.shell.cwd}" for call in record.calls]
    effects = [f"{effect.kind}: {effect.path or effect.host or effect.words}" for effect in record.effects]
    from fairlead.guard.shell.nodes import shown

    return [shown(line) for line in calls + effects]


def _verb(effect: Effect) -> str:
    from fairlead.guard.effects import KINDS

    return KINDS.get(effect.kind, effect.kind)


def unreadable(text: str, error: Exception) -> Finding:
    """Return the answer to what the guard could not read to the end."""
    return Finding(
        "ask",
        rule="guard.unreadable",
        reason=f"the command cannot be read to its end ({type(error).__name__}), so its effect is not known",
        words=text[:200],
        suggestion="split it into simple commands",
    )


def _broken(command: str, record: Record) -> Finding:
    """Ask about what bash would refuse, unless all that is there only prints."""
    one_line = "\n" not in command.strip()
    if one_line and record.calls and record.substitutions == 0 and all(call.name in _HARMLESS for call in record.calls):
        return NOTHING
    return Finding(
        "ask",
        rule="guard.unreadable",
        reason="the command is not complete shell syntax, so its effect is not known",
        words=command[:200],
        suggestion="check the quotes and parentheses",
    )
