"""`mcp_tool`: a tool of an MCP server answers; its text is read like the stdout of a command that exited with 0."""

from __future__ import annotations

import re
import time

from fairlead import dialects, wire
from fairlead._record import Record
from fairlead.hooks import HookFailed
from fairlead.work import Call, Result

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, ClassVar

    from fairlead.events import Event
    from fairlead.hooks import Hook, Setting
    from fairlead.mcp_calls import Answer
    from fairlead.verdicts import Verdict

TIMEOUT = 600.0
"""Seconds, if a hook says nothing about its time."""
TEXT_LIMIT = 64 << 10
_REASON_LIMIT = 4000


class McpTool(Record):
    server: str
    tool: str
    input: dict[str, Any] = {}  # noqa: RUF012  # never changed: records are frozen

    kind: ClassVar[str] = "mcp_tool"

    def start(self, hook: Hook, event: Event, setting: Setting) -> Call:
        from fairlead.mcp_calls import Question, ask
        from fairlead.mcp_process import Ending
        from fairlead.mcp_servers import find

        limit = setting.limit(hook.timeout)
        seconds = TIMEOUT if limit is None else max(limit - 0.5, limit * 0.8)  # the rest is to end the server in
        deadline = time.monotonic() + seconds
        filled = self._filled(hook, event, setting)
        question = Question(
            server=find(self.server, hook, setting),
            tool=self.tool,
            arguments=filled.arguments,
            seconds=round(seconds, 3),
            deadline=deadline,
        )
        ending = Ending()
        return _Asking(ask, (question, ending), filled.missing, timeout=limit, cancellation=ending)

    def _filled(self, hook: Hook, event: Event, setting: Setting) -> Filled:
        dialect = hook.origin.dialect
        given = wire.decode(dialects.hook_half(dialect).hook_input(hook, event, setting).stdin)
        return Filled(self.input, given, keeps_types=dialect in ("codex", "fairlead"))

    def conclude(self, hook: Hook, event: Event, work: Call, outcome: Answer) -> Verdict:
        text = outcome.text
        if outcome.is_error:
            said = f": {text[:_REASON_LIMIT]}" if text else ""
            raise HookFailed(f"the tool {self.tool!r} of the MCP server {self.server!r} reports an error{said}")
        if not text.strip() and outcome.structured is not None:
            text = wire.encode_text(outcome.structured)
        verdict = dialects.read_verdict(hook, event, _as_stdout(text))
        if verdict.decision == "allow" and isinstance(work, _Asking) and work.missing:
            return verdict.but(decision="none", said="")  # who has seen nothing cannot say yes
        return verdict

    def describe(self) -> str:
        return f"mcp_tool {self.server}/{self.tool}"

    def identity(self) -> tuple[object, ...]:
        return (self.kind, self.server, self.tool, wire.encode_text(self.input))


class _Asking(Call):
    __slots__ = ("missing",)

    def __init__(self, function: Any, arguments: tuple[Any, ...], missing: tuple[str, ...], **options: Any) -> None:
        super().__init__(function, arguments, in_thread=True, **options)
        self.missing = missing
        """What the tool was to be told and the event does not have."""


def _as_stdout(text: str) -> Result:
    raw = text.encode("utf-8", "replace")
    return Result(stdout=raw[:TEXT_LIMIT], tail=raw[-TEXT_LIMIT:], truncated=len(raw) > TEXT_LIMIT)


# --- ${path.to.field} ----------------------------------------------------------------------------------

_PLACE = re.compile(r"\$\{([\w.]+)\}", re.ASCII)
_WIDE_PLACE = re.compile(r"\$\{([^{}]+)\}")
_NOTHING = object()


class Filled:
    """A hook's `input` with the values of an event in the places of `${path.to.field}`, in one pass: what a value
    holds is never looked at again.

    `keeps_types`, as in Codex: a string that is one place and nothing else becomes the value itself, and a field that
    is not there is a failure. Otherwise, as in Claude Code: everything becomes text, and what is not there is empty.
    """

    def __init__(self, template: dict[str, Any], given: Any, *, keeps_types: bool) -> None:
        self._given = given
        self._keeps_types = keeps_types
        self._missing: dict[str, None] = {}
        self.arguments: dict[str, Any] = _mended(self._value(template))
        self.missing = tuple(self._missing)

    def _value(self, value: Any) -> Any:
        if isinstance(value, str):
            return self._text(value)
        if isinstance(value, dict):
            return {key: self._value(inner) for key, inner in value.items()}
        if isinstance(value, list):
            return [self._value(inner) for inner in value]
        return value

    def _text(self, text: str) -> Any:
        places = _WIDE_PLACE if self._keeps_types else _PLACE
        whole = places.fullmatch(text)
        if whole and self._keeps_types:
            return self._found(whole[1])
        return places.sub(lambda match: _as_text(self._found(match[1])), text)

    def _found(self, path: str) -> Any:
        value = self._given
        for name in path.split("."):
            value = _inside(value, name)
        if value is not _NOTHING and (value is not None or self._keeps_types):
            return value
        if self._keeps_types:
            raise HookFailed(
                f"its input asks for ${{{path}}}, which this event does not have; name a field that is always there"
            )
        self._missing[path] = None
        return ""


def _inside(value: Any, name: str) -> Any:
    if isinstance(value, dict):
        return value.get(name, _NOTHING)
    if isinstance(value, list) and name.isascii() and name.isdecimal() and int(name) < len(value):
        return value[int(name)]
    return _NOTHING


def _as_text(value: Any) -> str:
    if isinstance(value, str):
        return value
    import json

    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))


def _mended(value: Any) -> Any:
    """Halves of characters cannot be sent as UTF-8, and must not keep a tool from seeing the rest."""
    if isinstance(value, str):
        return wire.mended(value)
    if isinstance(value, dict):
        return {wire.mended(key) if isinstance(key, str) else str(key): _mended(inner) for key, inner in value.items()}
    if isinstance(value, list):
        return [_mended(inner) for inner in value]
    return value
