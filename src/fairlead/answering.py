"""An agent's bytes in, the answer that it understands out: as one of its hooks, or as its hook engine."""

from __future__ import annotations

import os
import time

from fairlead import dialects, tools, wire
from fairlead._record import Record
from fairlead.api import Hooks, pins_of
from fairlead.degrade import degrade
from fairlead.errors import ConfigError, FairleadError, InputError
from fairlead.events import PreToolUse
from fairlead.hooks import Hook, Origin
from fairlead.journal.keeping import keep, keep_failure
from fairlead.process import MARK
from fairlead.stops import STOPS, StopFiles
from fairlead.verdicts import TEXTS, Decision, unique_lines

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, MutableMapping
    from typing import Any

    from fairlead.dialects import AgentHalf, Places, Reply
    from fairlead.events import Event

    Finding = Callable[["Request", Event], Hooks]


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
    trust: tuple[str, ...] = ()
    """Digests of hooks of the project that may run."""
    guard: bool = False
    """With every pack of the guard, whatever is configured."""
    active: tuple[str, ...] = ()
    environ: Mapping[str, str]
    cwd: str = ""
    """Where it was asked; empty for where this process is."""
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


class Understood(Record):
    """An event that has been read, with its hooks found and none of them started."""

    request: Request
    half: AgentHalf
    hooks: Hooks
    event: Event
    deadline: float

    @property
    def kinds(self) -> frozenset[str]:
        """Of the hooks that look at it."""
        return self.hooks.plan(self.event).kinds

    def answer_now(self) -> Answer:
        """Without an event loop."""
        try:
            return self._answered(self.hooks.fire_sync(self.event, deadline=self.deadline))
        except FairleadError as error:
            return _failed(self.request, self.half, error)

    async def answer(self) -> Answer:
        """The same on the running event loop."""
        try:
            return self._answered(await self.hooks.fire(self.event, deadline=self.deadline))
        except FairleadError as error:
            return _failed(self.request, self.half, error)

    def _answered(self, decision: Decision) -> Answer:
        spoken, decision = told(self.half, self.hooks, self.event, decision)
        reply = self.half.write_reply(spoken, decision)
        problems = _recorded(self.request, self.hooks, self.event, decision, reply)
        return Answer(reply=reply, notes=(*decision.notes, *problems))


def as_hook(request: Request) -> Answer:
    """Be one hook: run Fairlead's and other systems' hooks, not those that the agent runs itself."""
    found = understand(request, _found)
    return found if isinstance(found, Answer) else found.answer_now()


def understand(request: Request, find: Finding) -> Understood | Answer:
    """The first half of `as_hook`, or all of it, where the event cannot be judged. `find` knows the hooks for it."""
    half = dialects.agent_half(request.agent)
    if request.environ.get(MARK, "").count("/") >= DEEPEST:
        return Answer(reply=half.write_failure(request.event_name, "a hook has called Fairlead, which has called it …"))
    try:
        event = half.read_event(request.raw, request.event_name, request.environ)
        project = request.project or _project_of(request)
        hooks = find(request.but(project=project) if project != request.project else request, event)
        deadline = deadline_for(half, event, request.started, request.patience)
    except FairleadError as error:
        other = _who_else(request) if isinstance(error, InputError) else ""
        return understand(request.but(agent=other), find) if other else _failed(request, half, error)
    return Understood(request=request, half=half, hooks=hooks, event=event, deadline=deadline)


def _failed(request: Request, half: AgentHalf, error: FairleadError) -> Answer:
    reply = half.write_failure(request.event_name, _sentence(error))
    return Answer(reply=reply, notes=_failure_recorded(request, _sentence(error), reply))


def _found(request: Request, event: Event) -> Hooks:
    return _load(request, event, own=False)


def printed(answer: Answer) -> str:
    """What a program that gives the answer writes to stderr: the notes, and then what the reply has to say there."""
    reply = answer.reply
    notes = (f"fairlead: {note}\n" for note in answer.notes if note not in reply.stderr)
    return "".join(notes) + reply.stderr


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
    named = _here(request) if where == "." else request.environ.get(where, "")
    if not named:
        return ""
    return named if os.path.isabs(named) and os.path.isdir(named) else ""


def as_engine(request: Request) -> Result:
    """Be the agent's engine: run the hooks that are configured for it."""
    half = dialects.agent_half(request.agent)
    try:
        event: Event = half.read_event(request.raw, request.event_name, request.environ)
        if dialects.PROJECTS.get(request.agent) != ".":  # where we were called says nothing about an event from stdin
            request = request.but(project=request.project or _project_of(request))
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
    ms = (time.monotonic() - (request.started or time.monotonic())) * 1000
    more: dict[str, Any] = {}
    if request.event_name or request.guard or decision.whole:
        asked = {"named": request.event_name, "guard": request.guard, "whole": decision.whole}
        more = {name: value for name, value in asked.items() if value}
    problem = keep(hooks.journal, hooks.setting, request.agent, event, decision, reply, ms, request.raw, more)
    return (problem,) if problem else ()


def _failure_recorded(request: Request, reason: str, reply: Reply | dict[str, Any]) -> tuple[str, ...]:
    try:
        project = project_for(request)
    except ConfigError:  # the journal is the user's: it needs no project
        project = "/"
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


def project_for(request: Request, event: Event | None = None) -> str:
    """Whole paths for whoever asks from elsewhere: what is said there counts from there."""
    named = request.project or (event.cwd if event is not None else "") or _here(request)
    return named if named.startswith("/") or not request.cwd else os.path.join(request.cwd, named)


def _here(request: Request) -> str:
    try:
        return request.cwd or os.getcwd()
    except OSError as error:
        where = "the folder in which the agent called Fairlead has gone, so its hooks cannot be found"
        raise ConfigError(where, hint="start the agent in a folder that is there, or say --project DIR") from error


def _load(request: Request, event: Event, *, own: bool, reads: tuple[str, ...] = dialects.HOOK_HALVES) -> Hooks:
    hooks = Hooks.load(
        project_for(request, event),
        environ=request.environ,
        managed=request.managed,
        agent=request.agent,
        dialects=[name for name in reads if name in dialects.HOOK_HALVES],
        own=own,
        active=request.active,
        trust_project=request.trust_project,
        trust=request.trust,
    )
    add_unwritten(hooks, request, request.environ)
    return heard(hooks, request, event)


def loaded(request: Request, places: Places, last_good: MutableMapping[str, str]) -> Hooks:
    """What `as_hook` loads for a request, for whoever keeps it."""
    pins = {"trust_project": request.trust_project, "pins": pins_of(request.trust)}
    return Hooks.of(places, agent=request.agent, own=False, last_good=last_good, **pins)


def add_unwritten(hooks: Hooks, request: Request, environ: Mapping[str, str]) -> None:
    """Hooks that stand in no file: the caller wants them, or the run that it is part of."""
    hooks.traced = True
    if request.guard:
        hooks.register(whole_guard())
    add_asking(hooks, request.agent, environ)


def heard(hooks: Hooks, request: Request, event: Event, counts: StopFiles | None = None) -> Hooks:
    """With what this agent can be told about this event; `counts` where somebody keeps them."""
    half = dialects.agent_half(request.agent)
    able = half.CAN.get(event.name, half.CAN["*"])
    hooks.hears = frozenset({event.name} if "context" in able else ())
    is_ours = not half.CAPS_STOPS and ("deny" in able or event.name not in STOPS)
    hooks.stops = (counts or StopFiles(hooks.setting.environ)) if is_ours else None
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
    if decision.is_silent and not hooks.problems:
        return tools.for_agent(event, decision)
    untrusted = [note for note in decision.notes if note.startswith("not run, because")]
    problems = tuple(str(problem) for problem in hooks.problems)
    decision = decision.but(
        user_message=unique_lines((decision.user_message, *untrusted)), notes=(*problems, *decision.notes)
    )
    event, decision = tools.for_agent(event, _sayable(decision, hooks))
    return event, _sayable(degrade(event, decision, half.CAN, half.NAME), None)


def _sayable(decision: Decision, hooks: Hooks | None) -> Decision:
    """Of a hook's own words at most so much; what we have put together is as long as it has to be."""
    if not (decision.notes or any(getattr(decision, name) for name in TEXTS)):
        return decision
    from fairlead import said

    if hooks is None:
        return said.sayable(decision, said.clean)
    return said.sayable(
        decision, lambda text: said.for_model(text, _elsewhere(hooks) if len(text) > said.LIMIT else "")
    )


def _elsewhere(hooks: Hooks) -> str:
    """Where all of a long text can be read."""
    from fairlead.journal import settings

    return "" if settings.mode(hooks.journal, hooks.setting.environ) == "off" else "; `fairlead log` has them"


def deadline_for(half: AgentHalf, event: Event, started: float | None = None, patience: float = 0) -> float:
    """Below the agent's own, so that "deny" can still be said in time."""
    patience = patience or half.DEADLINES.get(event.name, half.DEADLINES["*"])
    return (started or time.monotonic()) + max(patience * 0.9 - 1.0, patience * 0.4)


def _sentence(error: FairleadError) -> str:
    """It may quote what an agent or a hook has sent."""
    from fairlead import said

    return said.for_model(f"{error} ({error.hint})" if error.hint else str(error))
