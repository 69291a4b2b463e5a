"""`guard`: reads what a tool call does, and refuses or asks where that is dangerous."""

from __future__ import annotations

from fairlead.verdicts import NONE, Verdict, join_lines
from fairlead.work import Call

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any, ClassVar

    from fairlead.events import Event
    from fairlead.guard import Finding, Guard, Rule
    from fairlead.hooks import Hook, Setting


PACKS = (
    "filesystem", "git", "secrets", "network", "databases", "containers", "cloud", "publishing", "system", "self",
)  # fmt: skip
"""Their names, for readers of configuration; `fairlead.guard.PACKS` has the packs themselves."""


EVENTS = ("PreToolUse", "PermissionRequest")
"""Where a guard of its own looks."""


class Guarded:
    """One guard; its packs are read when the first call is judged."""

    kind: ClassVar[str] = "guard"

    def __init__(self, packs: Sequence[str], rules: Sequence[Rule] = (), auto_allow: Sequence[str] = ()) -> None:
        self.packs = tuple(packs)
        self.rules = tuple(rules)
        self.auto_allow = tuple(auto_allow)
        self._guard: Guard | None = None

    def start(self, _hook: Hook, event: Event, setting: Setting) -> Call:
        return Call(self._judge, (event, setting), is_instant=True)

    def _judge(self, event: Event, setting: Setting) -> Finding | None:
        tool_name = getattr(event, "tool_name", "")
        if not tool_name:
            return None
        if self._guard is None:
            from fairlead.guard import Guard

            self._guard = Guard(
                packs=self.packs,
                rules=self.rules,
                auto_allow=self.auto_allow,
                project=setting.project,
                home=setting.home,
            )
        tool_input: dict[str, Any] = getattr(event, "tool_input", {})
        return self._guard.tool(tool_name, tool_input, cwd=event.cwd or setting.project)

    def conclude(self, _hook: Hook, _event: Event, _work: Call, outcome: Finding | None) -> Verdict:
        if outcome is None or outcome.decision == "none":
            return NONE
        instead = f"Instead: {outcome.suggestion}" if outcome.suggestion else ""
        reason = join_lines((f"{outcome.reason} [{outcome.rule}]" if outcome.rule else outcome.reason, instead))
        return Verdict(decision=outcome.decision, reason=reason)

    def describe(self) -> str:
        return f"guard {' '.join(self.packs)}"

    def identity(self) -> tuple[object, ...]:
        return (self.kind, self.packs, self.rules, self.auto_allow)
