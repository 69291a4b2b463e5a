"""For tests in Python: what should come of an event. A failure says which hooks ran, and what each of them said."""

from __future__ import annotations

from fairlead.errors import UsageError
from fairlead.events import Event, ToolEvent, event_class
from fairlead.testing.cases import DECISIONS, Case, Expected, Where, event_name, titled
from fairlead.testing.expecting import account, failures, sentence
from fairlead.testing.judging import judge

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from typing import Any

    from fairlead.api import Hooks
    from fairlead.testing.expecting import Failure
    from fairlead.testing.judging import Judgement
    from fairlead.verdicts import Decision, Verdict


def assert_denied(hooks: Hooks, what: str | Event = "", /, **more: Any) -> Decision:
    """The call is refused.

    `what` is a tool, or an event that you have made; other keywords are the tool's input. See `assert_decided`.
    """
    __tracebackhide__ = True
    return assert_decided(hooks, what, decision="deny", **more)


def assert_allowed(hooks: Hooks, what: str | Event = "", /, **more: Any) -> Decision:
    """Nobody refuses it, and nobody has to be asked."""
    __tracebackhide__ = True
    return assert_decided(hooks, what, decision="allowed", **more)


def assert_asked(hooks: Hooks, what: str | Event = "", /, **more: Any) -> Decision:
    """The agent has to ask its user."""
    __tracebackhide__ = True
    return assert_decided(hooks, what, decision="ask", **more)


def assert_rewritten(hooks: Hooks, what: str | Event = "", /, *, to: Mapping[str, Any], **more: Any) -> Decision:
    """The call goes on with another input: `to`, the whole of it."""
    __tracebackhide__ = True
    return assert_decided(hooks, what, rewrite=dict(to), **more)


def assert_decided(
    hooks: Hooks,
    what: str | Event = "",
    /,
    *,
    decision: str | Sequence[str] = (),
    reason: str | Sequence[str] = (),
    context: str | Sequence[str] = (),
    rewrite: dict[str, Any] | bool | None = None,
    ran: str | Sequence[str] = (),
    fails: str | Sequence[str] | bool = (),
    event: str = "",
    input: Mapping[str, Any] | None = None,  # noqa: A002  # what it is called in a case, too
    agent: str = "",
    approval: str = "refuse",
    says: Mapping[str, Verdict] | None = None,
    online: bool = False,
    **given: Any,
) -> Decision:
    """Everything that a case of `fairlead.tests.toml` can say, in one call.

    `what` is a tool or an event; `given` and `input` are the tool's input, or the fields of the event named `event`.
    `ran` are hooks that must have run; the other names are those of a case. Returns what the agent is told.
    """
    __tracebackhide__ = True
    given = {**(input or {}), **given}
    case = Case(
        event="" if isinstance(what, Event) else _event(what, event, given),
        tool=what if isinstance(what, str) else "",
        given=given,
        agent=agent,
        approval=_one_of(approval, ("allow", "refuse"), "approval"),
        says=dict(says or {}),
        expected=Expected(
            decision=tuple(
                word for name in _several(decision) for word in DECISIONS[_one_of(name, DECISIONS, "decision")]
            ),
            reason=_several(reason),
            context=_several(context),
            rewrite=rewrite,
            hooks=_several(ran),
            fails=fails if isinstance(fails, bool) else _several(fails),
        ),
    )
    where = Where(project=hooks.setting.project, home=hooks.setting.home)
    judged = judge(hooks, _owned(what, where) if isinstance(what, Event) else case.build(where), case, online=online)
    wrong = failures(case.expected, judged, where)
    if wrong:
        raise AssertionError(_explained(case, judged, wrong, where))
    return judged.told


def _event(tool: str, name: str, given: Mapping[str, Any]) -> str:
    name = event_name(name) if name else ("UserPromptSubmit" if not tool and "prompt" in given else "PreToolUse")
    if issubclass(event_class(name), ToolEvent) and not tool:
        raise UsageError(f"{name} is about a tool", hint='name it: assert_denied(hooks, "Bash", command="ls")')
    return name


def _owned(event: Event, where: Where) -> Event:
    return event if event.cwd else event.but(cwd=where.project)


def _several(value: str | Sequence[str]) -> tuple[str, ...]:
    return (value,) if isinstance(value, str) else tuple(value)


def _one_of(word: str, known: Any, what: str) -> str:
    from fairlead.dialects._common import did_you_mean

    if word not in known:
        raise UsageError(f"unknown {what} {word!r}", hint=did_you_mean(word, known))
    return word


def _explained(case: Case, judged: Judgement, wrong: Sequence[Failure], where: Where) -> str:
    about = titled(case) if case.given else judged.event.name
    lines = [f"{about}, asked by {judged.agent}"]
    lines += [f"  {one.what}: expected {one.expected}; came {one.came}" for one in wrong]
    found = account(judged, where)
    lines += ["hooks:" if found else "no hook looked at it", *(f"  {sentence(entry)}" for entry in found)]
    lines += [f"note: {where.hidden(note)}" for note in judged.told.notes]
    return "\n".join(lines)
