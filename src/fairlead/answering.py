"""An agent's bytes in, the answer that it understands out: as one of its hooks, or as its hook engine."""

from __future__ import annotations

import os
import time

from fairlead import dialects, tools, wire
from fairlead._record import Record
from fairlead.api import Hooks
from fairlead.degrade import degrade
from fairlead.errors import FairleadError, InputError
from fairlead.events import PreToolUse
from fairlead.hooks import Hook, Origin
from fairlead.process import MARK
from fairlead.stops import STOPS, StopFiles
from fairlead.verdicts import Decision, unique_lines

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any

    from fairlead.dialects import AgentHalf, Reply
    from fairlead.events import Event


ASKS = "FAIRLEAD_APPROVALS"
"""`1` under `fairlead run`: a person is asked about the same tools as under Project M."""
DEEPEST = 5
"""Hooks inside hooks; beyond it something goes round in a circle. Never a reason to say nothing: only to refuse."""


class Request(Record):
    """Who asks, and about which project."""

    agent: str
    raw: bytes
    event_name: str = ""
    project: str = ""
    trust_project: bool = False
    guard: bool = False
    """With every pack of the guard, whatever is configured."""
    active: tuple[str, ...] = ()
    environ: Mapping[str, str]
    managed: str = "/etc"
    started: float | None = None
    """When the agent began to wait, on the monotonic clock."""
    patience: float = 0
    """Seconds that it waits, where its settings say so; else what it is known for."""


class Answer(Record):
    """`notes` are for the person: what was skipped, failed or weakened."""

    reply: Reply
    notes: tuple[str, ...] = ()


class Result(Record):
    answer: dict[str, Any]
    notes: tuple[str, ...] = ()


def as_hook(request: Request) -> Answer:
    """Be one hook: run Fairlead's and other systems' hooks, not those that the agent runs itself."""
    half = dialects.agent_half(request.agent)
    if request.environ.get(MARK, "").count("/") >= DEEPEST:
        return Answer(reply=half.write_failure(request.event_name, "a hook has called Fairlead, which has called it …"))
    try:
        event = half.read_event(request.raw, request.event_name, request.environ)
        hooks = _load(request.but(project=request.project or _project_of(request)), event, own=False)
        deadline = deadline_for(half, event, request.started, request.patience)
        spoken, decision = told(half, hooks, event, hooks.fire_sync(event, deadline=deadline))
        reply = half.write_reply(spoken, decision)
        return Answer(reply=reply, notes=(*decision.notes, *_recorded(request, hooks, event, decision, reply)))
    except FairleadError as error:
        other = _who_else(request) if isinstance(error, InputError) else ""
        if other:
            return as_hook(request.but(agent=other))
        reply = half.write_failure(request.event_name, _sentence(error))
        return Answer(reply=reply, notes=_failure_recorded(request, _sentence(error), reply))


def _who_else(request: Request) -> str:
    """Grok and others also read Claude Code's settings, and call us by its name: whose event it really is."""
    if request.agent != "claude-code" or request.event_name:
        return ""
    from fairlead.recognising import recognise

    try:
        found = recognise(wire.decode_object(request.raw), request.environ)
    except InputError:
        return ""
    return found[0] if len(found) == 1 and found[0] != request.agent else ""


def _project_of(request: Request) -> str:
    """The folder that the agent was started for; empty where it does not say."""
    where = dialects.PROJECTS.get(request.agent, "")
    named = os.getcwd() if where == "." else request.environ.get(where, "")
    return named if os.path.isabs(named) and os.path.isdir(named) else ""


def as_engine(request: Request) -> Result:
    """Be the agent's engine: run the hooks that are configured for it."""
    half = dialects.agent_half(request.agent)
    try:
        event: Event = half.read_event(request.raw, request.event_name, request.environ)
        hooks = _load(request, event, own=True, reads=(request.agent, "fairlead"))
        spoken, decision = told(half, hooks, event, hooks.fire_sync(event))
        answer = half.write_result(spoken, decision)
        return Result(answer=answer, notes=(*decision.notes, *_recorded(request, hooks, event, decision, answer)))
    except FairleadError as error:
        result = refused(request.agent, _sentence(error))
        return result.but(notes=(*result.notes, *_failure_recorded(request, _sentence(error), result.answer)))


def _recorded(
    request: Request, hooks: Hooks, event: Event, decision: Decision, reply: Reply | dict[str, Any]
) -> tuple[str, ...]:
    from fairlead.journal.keeping import keep

    ms = (time.monotonic() - (request.started or time.monotonic())) * 1000
    asked = {"named": request.event_name, "guard": request.guard}
    more = {name: value for name, value in asked.items() if value}
    problem = keep(hooks.journal, hooks.setting, request.agent, event, decision, reply, ms, request.raw, more)
    return (problem,) if problem else ()


def _failure_recorded(request: Request, reason: str, reply: Reply | dict[str, Any]) -> tuple[str, ...]:
    from fairlead.journal.keeping import keep_failure

    project = request.project or os.getcwd()
    hooks = Hooks.load(project, environ=request.environ, managed=request.managed, dialects=("fairlead",))
    problem = keep_failure(hooks.journal, hooks.setting, request.agent, request.event_name, reason, reply)
    hooks.traced = True
    if hooks.traces:
        from fairlead.telemetry.handing import hand_over_failure

        problem = (
            hand_over_failure(hooks.telemetry, hooks.setting, request.agent, request.event_name, reason) or problem
        )
    return (problem,) if problem else ()


def refused(agent: str, reason: str) -> Result:
    """For what cannot be read or judged: it may be a tool call."""
    decision = Decision(decision="deny", said="block", reason=reason, notes=(reason,))
    return Result(answer=dialects.agent_half(agent).write_result(PreToolUse(tool_name=""), decision), notes=(reason,))


def _load(request: Request, event: Event, *, own: bool, reads: tuple[str, ...] = dialects.HOOK_HALVES) -> Hooks:
    hooks = Hooks.load(
        request.project or event.cwd or os.getcwd(),
        environ=request.environ,
        managed=request.managed,
        agent=request.agent,
        dialects=[name for name in reads if name in dialects.HOOK_HALVES],
        own=own,
        active=request.active,
        trust_project=request.trust_project,
    )
    hooks.traced = True
    if request.guard:
        hooks.register(whole_guard())
    half = dialects.agent_half(request.agent)
    add_asking(hooks, request.agent, request.environ)
    able = half.CAN.get(event.name, half.CAN["*"])
    hooks.hears = frozenset({event.name} if "context" in able else ())
    keeps_going = "deny" in able and not half.CAPS_STOPS
    hooks.stops = StopFiles(request.environ) if keeps_going or event.name not in STOPS else None
    return hooks


def whole_guard() -> Hook:
    from fairlead.handlers.guard import EVENTS, PACKS, Guarded

    origin = Origin(dialect="fairlead", layer="code")
    return Hook(name="guard", events=EVENTS, handler=Guarded(PACKS), origin=origin, on_error="deny")


def add_asking(hooks: Hooks, agent: str, environ: Mapping[str, str]) -> None:
    """The hook that asks a person: M's own, and everybody's in a supervised run."""
    if agent == "m" or environ.get(ASKS) == "1":
        from fairlead.dialects import m

        hooks.register(m.own_hook(environ))


def told(half: AgentHalf, hooks: Hooks, event: Event, decision: Decision) -> tuple[Event, Decision]:
    """The event in the agent's words, and the decision as it can carry it out, with what its user should know."""
    untrusted = [note for note in decision.notes if note.startswith("not run, because")]
    problems = tuple(str(problem) for problem in hooks.problems)
    decision = decision.but(
        user_message=unique_lines((decision.user_message, *untrusted)), notes=(*problems, *decision.notes)
    )
    event, decision = tools.for_agent(event, _whole(decision))
    return event, degrade(event, decision, half.CAN, half.NAME)


def _whole(decision: Decision) -> Decision:
    """Half a character in a reason makes some readers of JSON give the whole answer up, and the tool runs."""
    texts = {name: getattr(decision, name) for name in _TEXTS}
    broken = {name: text for name, text in texts.items() if text != wire.mended(text)}
    return decision.but(**{name: wire.mended(text) for name, text in broken.items()}) if broken else decision


_TEXTS = ("reason", "context", "feedback", "system_message", "user_message", "stop_reason")


def deadline_for(half: AgentHalf, event: Event, started: float | None = None, patience: float = 0) -> float:
    """Below the agent's own, so that "deny" can still be said in time."""
    patience = patience or half.DEADLINES.get(event.name, half.DEADLINES["*"])
    return (started or time.monotonic()) + max(patience * 0.9 - 1.0, patience * 0.4)


def _sentence(error: FairleadError) -> str:
    return f"{error} ({error.hint})" if error.hint else str(error)
