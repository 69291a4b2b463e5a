"""`approval`: a person decides, in the inbox of the approval service."""

from __future__ import annotations

import os

from fairlead import surroundings
from fairlead._record import Record
from fairlead.events import ToolEvent
from fairlead.hooks import HookFailed
from fairlead.tools import names, several
from fairlead.verdicts import NONE, Verdict, allow, ask, deny
from fairlead.work import Call

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any, ClassVar

    from fairlead.approvals import NoAnswer, Question
    from fairlead.events import Event
    from fairlead.hooks import Hook, Setting
    from fairlead.outgoing import HangUp

TIMEOUT = 600.0
"""Seconds, if a hook says nothing about its time."""
MOST_PEOPLE = 10
"""Who can be asked for to agree to one thing."""
QUESTIONS = "AskUserQuestion"
"""The tool with which an agent asks its user something."""
_COMMON = frozenset(
    {"hook_event_name", "session_id", "transcript_path", "cwd", "permission_mode", "prompt_id", "timestamp"}
)
"""What every event has, and nobody has to decide about."""


class Approval(Record):
    text: str
    """Why somebody should look at it."""
    people: int = 1
    """How many have to agree."""
    approvers: tuple[str, ...] = ()
    """Who may decide; empty for everybody."""
    escalate_after: float | None = None
    """Seconds after which the others may decide as well, and everybody is told again."""
    escalate_to: tuple[str, ...] = ()
    tools: tuple[str, ...] | None = None
    """Which tools it asks about; None for all that its hook matches."""
    input_tools: tuple[str, ...] = (QUESTIONS,)
    """Which of them want an answer instead of a yes or no."""
    log: Callable[[str], None] | None = None

    kind: ClassVar[str] = "approval"

    def start(self, hook: Hook, event: Event, setting: Setting) -> Call:
        if not self.asks_about(event):
            return Call(_nothing, ())
        if not setting.asks_people:
            return Call(self.describe, ())
        limit = setting.limit(hook.timeout)
        seconds = TIMEOUT if limit is None else max(limit - 0.25, limit * 0.8)
        from fairlead.outgoing import HangUp

        hang_up = HangUp()
        arguments = (self._question(hook, event, setting), setting, seconds, hang_up)
        return Call(self._ask, arguments, timeout=limit, in_thread=True, cancellation=hang_up)

    def asks_about(self, event: Event) -> bool:
        """By any name: a patch is an Edit and a Write too."""
        asked = None if self.tools is None else {*self.tools, *self.input_tools}
        return asked is None or not asked.isdisjoint(names(None, event, everywhere=True))

    def _ask(self, question: Question, setting: Setting, seconds: float, hang_up: HangUp) -> tuple[Any, Question, str]:
        from fairlead import approvals

        ground = _ground(question)
        try:
            log = self.log or _silent
            found: Any = approvals.ask(question, setting.environ, setting.project, seconds, log, hang_up)
            found = found if _ground(question) == ground else _MOVED
        except approvals.NoAnswer as nothing:
            found = nothing
        return found, question, setting.agent

    def _question(self, hook: Hook, event: Event, setting: Setting) -> Question:
        from fairlead.approvals import Question

        own_id = getattr(event, "tool_use_id", "") or _process()
        tool, payload = _about(event)
        return Question(
            kind="input" if tool in self._input_tools() else "approval",
            tool=tool,
            payload=payload,
            text=self.text,
            people=self.people,
            approvers=self.approvers,
            escalate_after=self.escalate_after,
            escalate_to=self.escalate_to,
            agent=setting.agent,
            session_id=event.session_id,
            cwd=event.cwd or setting.project,
            call_id=f"{event.name} {hook.name} {own_id}" if own_id else "",
        )

    def _input_tools(self) -> tuple[str, ...]:
        """A tool in both lists is approved, as the document has it."""
        return tuple(name for name in self.input_tools if name not in (self.tools or ()))

    def conclude(self, hook: Hook, event: Event, _work: Call, outcome: Any) -> Verdict:
        if outcome is None:
            return NONE
        if isinstance(outcome, str):
            return ask(f"would ask a person: {outcome}")
        found, question, agent = outcome
        if not isinstance(found, dict):
            return _unanswered(hook, found)
        return _answered(found, question, agent, event)

    def describe(self) -> str:
        count = f" by {self.people} people" if self.people > 1 else ""
        names = f" of {', '.join(self.approvers)}" if self.approvers and count else ""
        who = f"approval{count}{names}" if count or not self.approvers else f"approval by {' or '.join(self.approvers)}"
        return f"{who}: {self.text}" if self.text else who

    def identity(self) -> tuple[object, ...]:
        others = (self.approvers, self.escalate_after, self.escalate_to)
        return (self.kind, self.text, self.people, self.tools, self.input_tools, *others)


_MOVED = {
    "decision": "block",
    "message": "while somebody was asked, a folder or a link that this call names became another one, so the answer "
    "counts for nothing; make the call again",
}
_PATHS = ("file_path", "notebook_path", "path")


def _ground(question: Question) -> list[tuple[object, ...]]:
    """Where the call takes place, behind all links: what was looked at has to be what it is about."""
    named = [question.payload.get(name) for name in _PATHS]
    paths = [question.cwd, *(os.path.join(question.cwd, path) for path in named if isinstance(path, str))]
    return [_place(path) for path in paths]


def _place(path: str) -> tuple[object, ...]:
    """Files may change meanwhile; another folder of the same name is another one."""
    try:
        real = os.path.realpath(path)
        found = os.stat(real)
    except FileNotFoundError:  # not there yet
        return (real,)
    except (OSError, ValueError):  # no path at all
        return (path,)
    return (real, found.st_dev, found.st_ino) if os.path.isdir(real) else (real,)


def _process() -> str:
    """A server that answers for a relay may be killed: the relay becomes `fairlead hook`, which joins the question."""
    from fairlead.machines import name_of_process

    pid = surroundings.process()
    return name_of_process(pid) if pid else ""


def _nothing() -> None:
    return None


def _silent(_line: str) -> None:
    pass


def _about(event: Event) -> tuple[str, dict[str, Any]]:
    """What somebody decides about: a call that does several things is shown with all of them, as the agent wrote it."""
    if not isinstance(event, ToolEvent):
        return event.name, {key: value for key, value in event.payload().items() if key not in _COMMON}
    if event.spoken is not None and several(event):
        return event.spoken.tool_name, event.spoken.tool_input
    return event.tool_name, event.tool_input


def _unanswered(hook: Hook, why: NoAnswer) -> Verdict:
    """Nobody's answer is a no, in words that the agent can act upon; `on_error` can say otherwise."""
    if why.expired and hook.on_error != "allow":
        return deny(str(why))
    raise HookFailed(str(why))


def _answered(found: dict[str, Any], question: Question, agent: str, event: Event) -> Verdict:
    message = found.get("message")
    message = message if isinstance(message, str) else ""
    if found["decision"] != "allow":
        return deny(message or "a person has refused this")
    response, update = found.get("response"), found.get("updated_input")
    if update is not None and not isinstance(update, dict):
        raise HookFailed("the approval service answered with another input that is none")
    if question.kind == "input" and response is not None:
        return _with_response(question, response, agent, message)
    if update is not None and event.name not in ("PreToolUse", "PermissionRequest"):
        raise HookFailed(f"a person has changed the input, which is too late at {event.name}")
    # The reason of an allow is for people; agents show it beside the call.
    return allow(message, updated_input=update) if update is not None else allow(message)


def _with_response(question: Question, response: Any, agent: str, message: str) -> Verdict:
    """In the agent's own way of taking answers; who has none is told them in the reason of a refusal."""
    if agent == "m":
        return allow(message, extra={"response": response})
    answers = answers_to(question.payload, response)
    if agent in ("", "claude-code") and question.tool == QUESTIONS and answers:
        return allow(message, updated_input={**question.payload, "answers": answers})
    said = "; ".join(f"{asked} {given}" for asked, given in answers.items()) or _text(response)
    return deny(f"do not ask again: the user has answered already. {said}")


def answers_to(payload: dict[str, Any], response: Any) -> dict[str, str]:
    """For each question its answer, as Claude Code takes them; empty where that cannot be said."""
    questions = payload.get("questions")
    asked = [one.get("question") for one in questions if isinstance(one, dict)] if isinstance(questions, list) else []
    names = [name for name in asked if isinstance(name, str) and name]
    if isinstance(response, dict):
        return {name: _text(response[name]) for name in names if name in response}
    return {names[0]: _text(response)} if len(names) == 1 else {}


def _text(value: Any) -> str:
    if isinstance(value, str):
        return value
    if isinstance(value, list):
        return ", ".join(map(_text, value))
    from fairlead import wire

    return wire.encode_text(value)
