"""What happened: the events of coding agents, under Claude Code's names.

An event is a frozen value. Its fields carry the names of Claude Code's JSON, so that `payload()` is
what a hook written for Claude Code expects on stdin. What an agent sent beyond the known fields is
kept in `extra`; an event that nobody knows becomes an `OtherEvent`, never an error.
"""

from __future__ import annotations

from fairlead._record import Record
from fairlead.errors import InputError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any, ClassVar

_NOTHING: dict[str, Any] = {}
_INSIDE = ("extra", "spoken")
"""Fields that are no part of an event's JSON."""
_NOT_READ = (*_INSIDE, "hook_event_name")


GUARDED = frozenset({"PreToolUse", "PermissionRequest", "UserPromptSubmit"})
"""Where nothing has happened yet: a hook of ours without a verdict refuses here, unless it says otherwise."""


class Event(Record):
    session_id: str = ""
    transcript_path: str = ""
    cwd: str = ""
    permission_mode: str = ""
    prompt_id: str = ""
    agent_id: str = ""
    agent_type: str = ""
    timestamp: str | float | None = None
    metadata: Any = None
    extra: dict[str, Any] = _NOTHING

    matches_on: ClassVar[str] = ""
    """The field that a hook's matcher is compared with; empty where matchers say nothing."""
    blockable: ClassVar[bool] = False
    """Whether a hook can keep the thing from happening."""

    name: ClassVar[str] = "Event"

    def __init_subclass__(cls, **options: Any) -> None:
        super().__init_subclass__(**options)
        given: Any = getattr(cls, "name", None)
        if "name" not in vars(cls) and not isinstance(given, property):
            cls.name = cls.__name__  # asked for ten times with each event: a property would cost five times as much

    @property
    def matcher_value(self) -> str:
        return str(getattr(self, self.matches_on)) if self.matches_on else ""

    @property
    def matcher_names(self) -> tuple[str, ...]:
        """All that a matcher may be compared with."""
        return (self.matcher_value,)

    @property
    def subagent_id(self) -> str:
        return self.agent_id

    def payload(self) -> dict[str, Any]:
        """The event as Claude Code's JSON."""
        given = self.as_dict()
        for key in _INSIDE:
            given.pop(key, None)
        return {"hook_event_name": self.name, **self.extra, **given}

    def says(self, payload: Mapping[str, Any]) -> bool:
        """Whether this is its JSON, in whatever order."""
        given = {**self.__dict__}
        for key in _INSIDE:
            given.pop(key, None)
        return {"hook_event_name": self.name, **self.extra, **given} == payload

    @staticmethod
    def from_payload(payload: Mapping[str, Any], name: str = "") -> Event:
        """Read Claude Code's JSON; `name` is for payloads that do not say which event they are."""
        name = name or payload.get("hook_event_name") or ""
        if not isinstance(name, str) or not name:
            raise InputError("the event has no hook_event_name", hint="name it with --event")
        name = canonical_name(name)
        return event_class(name).read(name, payload)

    @classmethod
    def read(cls, name: str, payload: Mapping[str, Any]) -> Event:
        del name
        types = _TYPES_OF.get(cls) or _types_of(cls)
        fields: dict[str, Any] = {}
        extra: dict[str, Any] = {}
        for key, value in payload.items():
            known = types.get(key)
            if known is None:
                if not isinstance(value, Spoken):
                    extra[key] = value
            elif isinstance(value, known):
                fields[key] = value
            elif value is not None and key not in _NOT_READ:
                _refuse_first_misfit(cls, payload)
        missing = [key for key in cls._required if not fields.get(key)]  # an empty name is none
        if missing:
            raise InputError(f"{cls.__name__} without {', '.join(sorted(missing))}")
        return cls(**fields, extra=extra)

    @staticmethod
    def pre_tool_use(session_id: str, tool_name: str, tool_input: dict[str, Any], **more: Any) -> PreToolUse:
        return PreToolUse(session_id=session_id, tool_name=tool_name, tool_input=tool_input, **more)

    @staticmethod
    def post_tool_use(session_id: str, tool_name: str, tool_response: Any, **more: Any) -> PostToolUse:
        return PostToolUse(session_id=session_id, tool_name=tool_name, tool_response=tool_response, **more)

    @staticmethod
    def post_tool_use_failure(session_id: str, tool_name: str, error: str, **more: Any) -> PostToolUseFailure:
        return PostToolUseFailure(session_id=session_id, tool_name=tool_name, error=error, **more)

    @staticmethod
    def user_prompt_submit(session_id: str, prompt: str, **more: Any) -> UserPromptSubmit:
        return UserPromptSubmit(session_id=session_id, prompt=prompt, **more)

    @staticmethod
    def session_start(session_id: str, **more: Any) -> SessionStart:
        return SessionStart(session_id=session_id, **more)

    @staticmethod
    def session_end(session_id: str, **more: Any) -> SessionEnd:
        return SessionEnd(session_id=session_id, **more)

    @staticmethod
    def stop(session_id: str, **more: Any) -> Stop:
        return Stop(session_id=session_id, **more)

    @staticmethod
    def pre_compact(session_id: str, **more: Any) -> PreCompact:
        return PreCompact(session_id=session_id, **more)

    @staticmethod
    def subagent_start(
        session_id: str, agent_id: str, agent_type: str, description: str = "", **more: Any
    ) -> SubagentStart:
        return SubagentStart(
            session_id=session_id, agent_id=agent_id, agent_type=agent_type, description=description, **more
        )

    @staticmethod
    def subagent_stop(
        session_id: str, agent_id: str, success: bool = True, error: str | None = None, **more: Any
    ) -> SubagentStop:
        return SubagentStop(session_id=session_id, agent_id=agent_id, success=success, error=error, **more)


class Spoken(Record):
    """A tool call in the agent's own words."""

    vocabulary: Any
    """The `tools.Vocabulary` that these words are from."""
    tool_name: str
    tool_input: dict[str, Any]
    tool_response: Any = None
    meant: dict[str, Any]
    """The same input in ours, as it was read: another one has been rewritten since."""
    others: tuple[dict[str, Any], ...] = ()
    """What the same call does besides, in our words: it reads several files, or runs several commands."""


class ToolEvent(Event):
    """Something about one tool call."""

    tool_name: str
    tool_input: dict[str, Any] = _NOTHING
    tool_use_id: str = ""
    spoken: Spoken | None = None
    matches_on = "tool_name"

    @property
    def matcher_names(self) -> tuple[str, ...]:
        spoken = self.spoken
        return (self.tool_name,) if spoken is None else (self.tool_name, spoken.tool_name)

    @property
    def command(self) -> str:
        """The shell command, where the tool runs one."""
        value = self.tool_input.get("command")
        return value if isinstance(value, str) else ""

    @property
    def file_path(self) -> str:
        """The file that the tool reads or writes, where it names one."""
        for key in ("file_path", "path", "filePath", "notebook_path"):
            value = self.tool_input.get(key)
            if isinstance(value, str):
                return value
        return ""


class PreToolUse(ToolEvent):
    blockable = True


class PermissionRequest(ToolEvent):
    permission_suggestions: list[Any] | None = None
    blockable = True


class PermissionDenied(ToolEvent):
    reason: str = ""


class PostToolUse(ToolEvent):
    tool_response: Any = None
    duration_ms: float | None = None


class PostToolUseFailure(ToolEvent):
    error: str = ""
    is_interrupt: bool = False
    duration_ms: float | None = None


class PostToolBatch(Event):
    tool_calls: list[Any] = []  # noqa: RUF012  # never changed: records are frozen
    blockable = True


class UserPromptSubmit(Event):
    prompt: str = ""
    session_title: str = ""
    blockable = True


class UserPromptExpansion(Event):
    command_name: str = ""
    command_args: str = ""
    command_source: str = ""
    expansion_type: str = ""
    prompt: str = ""
    matches_on = "command_name"
    blockable = True


class SessionStart(Event):
    source: str = ""
    model: str = ""
    session_title: str = ""
    agent_name: str = ""
    profile_name: str = ""
    matches_on = "source"
    blockable = True


class SessionEnd(Event):
    reason: str = ""
    matches_on = "reason"


class Setup(Event):
    trigger: str = ""
    matches_on = "trigger"


class Stop(Event):
    stop_hook_active: bool = False
    last_assistant_message: str | None = None
    background_tasks: list[Any] | None = None
    session_crons: list[Any] | None = None
    blockable = True


class StopFailure(Event):
    error: str = ""
    error_details: Any = None
    last_assistant_message: str | None = None
    matches_on = "error"


class SubagentStart(Event):
    description: str = ""
    matches_on = "agent_type"
    blockable = True


class SubagentStop(Stop):
    agent_transcript_path: str = ""
    success: bool = True
    error: str | None = None
    matches_on = "agent_type"


class TeammateIdle(Event):
    teammate_name: str = ""
    team_name: str = ""
    blockable = True


class TaskCreated(Event):
    task_id: str = ""
    task_subject: str = ""
    task_description: str = ""
    teammate_name: str = ""
    team_name: str = ""
    blockable = True


class TaskCompleted(TaskCreated):
    pass


class Notification(Event):
    message: str = ""
    title: str = ""
    notification_type: str = ""
    matches_on = "notification_type"


class MessageDisplay(Event):
    turn_id: str = ""
    message_id: str = ""
    index: int | None = None
    final: bool = False
    delta: str = ""


class InstructionsLoaded(Event):
    file_path: str = ""
    memory_type: str = ""
    load_reason: str = ""
    globs: list[Any] | None = None
    trigger_file_path: str = ""
    parent_file_path: str = ""
    matches_on = "load_reason"


class ConfigChange(Event):
    source: str = ""
    file_path: str = ""
    matches_on = "source"
    blockable = True


class CwdChanged(Event):
    old_cwd: str = ""
    new_cwd: str = ""


class DirectoryAdded(Event):
    directory: str = ""
    source: str = ""
    matches_on = "source"


class FileChanged(Event):
    file_path: str = ""
    event: str = ""
    matches_on = "file_path"

    @property
    def matcher_value(self) -> str:
        return self.file_path.replace("\\", "/").rpartition("/")[2]


class WorktreeCreate(Event):
    blockable = True

    @property
    def worktree_name(self) -> str:
        return str(self.extra.get("name", ""))


class WorktreeRemove(Event):
    worktree_path: str = ""


class PreCompact(Event):
    trigger: str = ""
    custom_instructions: str | None = None
    matches_on = "trigger"
    blockable = True


class PostCompact(Event):
    trigger: str = ""
    compact_summary: str = ""
    matches_on = "trigger"


class PreModelSwitch(Event):
    from_model: str = ""
    to_model: str = ""
    requested_model: str = ""
    source: str = ""
    context_tokens: int | None = None
    matches_on = "to_model"
    blockable = True

    @property
    def matcher_value(self) -> str:
        return self.to_model.removesuffix("[1m]")


class PostModelSwitch(PreModelSwitch):
    blockable = False


class Elicitation(Event):
    mcp_server_name: str = ""
    message: str = ""
    mode: str = ""
    url: str = ""
    elicitation_id: str = ""
    requested_schema: dict[str, Any] | None = None
    matches_on = "mcp_server_name"
    blockable = True


class ElicitationResult(Event):
    mcp_server_name: str = ""
    action: str = ""
    content: dict[str, Any] | None = None
    mode: str = ""
    elicitation_id: str = ""
    matches_on = "mcp_server_name"
    blockable = True


class Interrupt(Event):
    """The user stopped the turn (Codex, Kimi)."""

    turn_id: str = ""


class ModelEvent(Event):
    """Around one request to the model (Gemini CLI, Codex)."""

    llm_request: dict[str, Any] | None = None
    llm_response: dict[str, Any] | None = None


class BeforeModel(ModelEvent):
    blockable = True


class AfterModel(ModelEvent):
    blockable = True


class BeforeToolSelection(ModelEvent):
    pass


class PreModelRequest(ModelEvent):
    pass


class PostModelRequest(ModelEvent):
    pass


class OtherEvent(Event):
    """An event that Fairlead does not know: carried as it came."""

    event_name: str

    @property
    def name(self) -> str:  # type: ignore[override]  # the only event that does not know it before
        return self.event_name

    def payload(self) -> dict[str, Any]:
        payload = super().payload()
        del payload["event_name"]
        return payload

    def says(self, payload: Mapping[str, Any]) -> bool:
        return self.payload() == payload

    @classmethod
    def read(cls, name: str, payload: Mapping[str, Any]) -> Event:
        return super().read(name, {**payload, "event_name": name})


_ABSTRACT = (ToolEvent, ModelEvent)


def _leaves(cls: type[Event]) -> list[type[Event]]:
    found = [] if cls in (*_ABSTRACT, Event, OtherEvent) else [cls]
    for child in cls.__subclasses__():
        if child.__module__ == __name__:
            found += _leaves(child)
    return found


EVENTS: dict[str, type[Event]] = {cls.__name__: cls for cls in _leaves(Event)}
"""Every event with fields of its own, by name."""

_TYPES: dict[str, tuple[type, ...]] = {
    "str": (str,),
    "bool": (bool,),
    "int": (int,),
    "float": (int, float),
    "dict": (dict,),
    "list": (list,),
    "Any": (object,),
    "None": (type(None),),
}


_FOLDED = {name.lower(): name for name in EVENTS}


def canonical_name(name: str) -> str:
    """`preToolUse` and `pre_tool_use` are PreToolUse: a slip in the spelling must not pass a guard by."""
    return name if name in EVENTS else _FOLDED.get(folded(name), name)


def folded(name: str) -> str:
    """Its letters alone, in lower case."""
    return "".join(letter for letter in name.lower() if letter.isalpha())


def event_class(name: str) -> type[Event]:
    return EVENTS.get(name, OtherEvent)


_JSON_WORDS = {
    "str": "a string", "dict": "an object", "list": "a list", "bool": "true or false",
    "int": "a number", "float": "a number", "NoneType": "null",
}  # fmt: skip


_TYPES_OF: dict[type[Event], dict[str, tuple[type, ...]]] = {}
"""What may stand in each key of an event's JSON; made when the first such event is read."""


def _types_of(cls: type[Event]) -> dict[str, tuple[type, ...]]:
    """Null where it is one of the field's values; what is not read has none at all."""
    found = {key: tuple(kind for name in _names(said) for kind in _TYPES[name]) for key, said in _read_fields(cls)}
    found |= dict.fromkeys(("extra", "hook_event_name"), ())
    _TYPES_OF[cls] = found | ({"spoken": (Spoken,)} if "spoken" in cls._fields else {})
    return _TYPES_OF[cls]


def _read_fields(cls: type[Event]) -> list[tuple[str, str]]:
    return [(key, annotation) for key, annotation in cls._kinds.items() if key not in _INSIDE]


def _names(annotation: str) -> list[str]:
    return [part.partition("[")[0].strip() for part in annotation.split("|")]


def _refuse_first_misfit(cls: type[Event], payload: Mapping[str, Any]) -> None:
    types = _types_of(cls)
    for key, annotation in _read_fields(cls):
        value = payload.get(key)
        if value is not None and not isinstance(value, types[key]):
            wanted = " or ".join(_JSON_WORDS[name] for name in _names(annotation) if name != "None")
            raise InputError(f"{cls.__name__}: {key} must be {wanted}, not {_JSON_WORDS[type(value).__name__]}")
