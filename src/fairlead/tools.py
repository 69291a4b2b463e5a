"""What tools are called: each agent has names and keys of its own, and inside there is one word for each thing.

The inner words are Claude Code's: `Bash {command}`, `Write {file_path, content}`, `Edit {file_path, old_string,
new_string}`, `Read`, `Grep`, `Glob`, `WebFetch`, `WebSearch`, `Agent`, `mcp__server__tool`; and `apply_patch
{command}` for a patch that may change many files. An event that came in other words keeps them (`spoken`): the
agent's own hooks see these, and its answer is written in them.
"""

from __future__ import annotations

import os

from fairlead._record import Record
from fairlead.errors import InputError
from fairlead.events import Spoken, ToolEvent
from fairlead.verdicts import deny

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any, TypeVar

    from fairlead.events import Event
    from fairlead.verdicts import Decision, Verdict

    Said = TypeVar("Said", bound=Verdict)

PATCH = "apply_patch"
PATCH_NAMES = (PATCH, "Edit", "Write", "MultiEdit")
"""A patch writes and edits: a matcher for either is about it."""
_PATHS = ("file_path", "notebook_path")


class Tool(Record):
    """One tool of one agent."""

    own: str
    name: str
    """Inside."""
    keys: Mapping[str, str]
    """The agent's keys, and ours for the same things."""
    fixed: Mapping[str, object]
    """For a tool that does several things: what its input holds when it does this one."""


def tool(own: str, name: str, fixed: Mapping[str, object] | None = None, /, **keys: str) -> Tool:
    """`tool("view", "Read", path="file_path")`: their name, ours, and their keys with ours."""
    return Tool(own=own, name=name, keys=keys, fixed=fixed or {})


class Vocabulary:
    """How one system names its tools. Of several entries the first that fits counts."""

    __slots__ = ("mcp", "tools")

    def __init__(self, *tools: Tool, mcp: str = "mcp__{server}__{tool}") -> None:
        self.tools = tools
        self.mcp = mcp
        """How it writes the name of an MCP tool."""

    def entry(self, own: str, tool_input: Mapping[str, Any]) -> Tool | None:
        for known in self.tools:
            if known.own == own and all(tool_input.get(key) == value for key, value in known.fixed.items()):
                return known
        return None

    def entry_for(self, name: str) -> Tool | None:
        return next((known for known in self.tools if known.name == name), None)

    def names_for(self, name: str) -> list[str]:
        """What hooks written for this system may call one of our tools."""
        if name.startswith("mcp__"):
            return [self.mcp_name(name)]
        return [known.own for known in self.tools if known.name == name]

    def mcp_name(self, name: str) -> str:
        server, _, tool_name = name.removeprefix("mcp__").partition("__")
        return self.mcp.format(server=server, tool=tool_name) if tool_name else name

    def read(self, own: str, tool_input: dict[str, Any], cwd: str = "") -> tuple[str, dict[str, Any]]:
        """From this system's words into ours."""
        known = self.entry(own, tool_input)
        if known is None:
            return own, tool_input
        _refuse_two(known, tool_input)
        return known.name, _absolute(_renamed(known, tool_input), cwd)

    def write(self, name: str, tool_input: dict[str, Any], like: Mapping[str, Any]) -> tuple[str, dict[str, Any]]:
        """From our words into this system's; `like` is an input whose keys it used itself."""
        known = self.entry_for(name)
        if known is None:
            return self.mcp_name(name), tool_input
        return known.own, {**_renamed_back(known, tool_input, like), **known.fixed}


def _renamed(known: Tool, tool_input: Mapping[str, Any]) -> dict[str, Any]:
    """What the tool really looks at wins over a key that only looks like ours: it may be there to deceive."""
    real = {known.keys[key] for key in tool_input if key in known.keys}
    return {
        known.keys.get(key, key): value
        for key, value in tool_input.items()
        if (key in known.keys or key not in real) and key not in known.fixed
    }


def _refuse_two(known: Tool, tool_input: Mapping[str, Any]) -> None:
    """Two keys for one thing, with two values: which one the tool takes nobody can say."""
    said: dict[str, str] = {}
    for key in tool_input:
        first = said.setdefault(known.keys.get(key, ""), key) if key in known.keys else key
        if first != key and tool_input[first] != tool_input[key]:
            raise InputError(f"the call says two things, as {first} and as {key}", hint="say it once")


def _renamed_back(known: Tool, tool_input: Mapping[str, Any], like: Mapping[str, Any]) -> dict[str, Any]:
    own: dict[str, str] = {}
    for key, ours in known.keys.items():
        if ours not in own or key in like:
            own[ours] = key
    return {own.get(key, key): value for key, value in tool_input.items()}


def _absolute(tool_input: dict[str, Any], cwd: str) -> dict[str, Any]:
    """Hooks written for Claude Code rely on whole paths."""
    for key in _PATHS:
        path = tool_input.get(key)
        if cwd and isinstance(path, str) and path and not path.startswith(("/", "~")):
            tool_input[key] = os.path.join(cwd, path)
    return tool_input


def read_call(vocabulary: Vocabulary, payload: dict[str, Any], ours: str = "") -> dict[str, Any]:
    """A payload's tool call in our words, with the agent's own beside it. `ours` is for names that only it can read."""
    own, tool_input = payload.get("tool_name"), payload.get("tool_input")
    tool_input = {} if tool_input is None else tool_input
    if not isinstance(own, str) or not isinstance(tool_input, dict):
        return payload  # the event's own reader says what is wrong
    cwd = payload.get("cwd")
    name, meant = (ours, tool_input) if ours else vocabulary.read(own, tool_input, cwd if isinstance(cwd, str) else "")
    response = payload.get("tool_response")
    spoken = Spoken(vocabulary=vocabulary, tool_name=own, tool_input=tool_input, tool_response=response, meant=meant)
    found = {**payload, "tool_name": name, "tool_input": meant, "spoken": spoken}
    if name == "Bash" and isinstance(response, str):
        found["tool_response"] = shell_output(response)
    return found


def shell_output(stdout: str, stderr: str = "") -> dict[str, Any]:
    """What a shell has printed, in our shape."""
    return {"stdout": stdout, "stderr": stderr, "interrupted": False}


def spoken_by(vocabulary: Vocabulary | None, event: Event) -> Event:
    """The event as if an agent with these words had sent it."""
    if not isinstance(event, ToolEvent) or (event.spoken is not None and event.spoken.vocabulary is vocabulary):
        return event
    if vocabulary is None:
        return event.but(spoken=None)
    own, tool_input = vocabulary.write(event.tool_name, event.tool_input, {})
    response = getattr(event, "tool_response", None)
    meant = event.tool_input
    return event.but(
        spoken=Spoken(vocabulary=vocabulary, tool_name=own, tool_input=tool_input, tool_response=response, meant=meant)
    )


# --- what a hook sees --------------------------------------------------------------------------------


def names(vocabulary: Vocabulary | None, event: Event, everywhere: bool = False) -> tuple[str, ...]:
    """The names under which a hook's matcher may know an event's tool: ours, the agent's, its own system's."""
    if not isinstance(event, ToolEvent):
        return (event.matcher_value,)
    found = [event.tool_name]
    if event.spoken is not None:
        found.append(event.spoken.tool_name)
    kinds = PATCH_NAMES if event.tool_name == PATCH else (event.tool_name,)
    if vocabulary is not None:
        found += [own for kind in kinds for own in vocabulary.names_for(kind)]
    if event.tool_name == PATCH:
        found += PATCH_NAMES
    elif vocabulary is not None and event.tool_name in PATCH_NAMES and vocabulary.entry_for(event.tool_name) is None:
        found += (*vocabulary.names_for(PATCH), *PATCH_NAMES)
    if everywhere:
        found += [alias for kind in kinds for alias in ALIASES.get(kind, ())]
    return tuple(dict.fromkeys(found))


ALIASES: Mapping[str, tuple[str, ...]] = {
    "Bash": ("run_shell_command", "bash", "shell", "Shell", "Execute", "execute_bash", "execute_command",
             "launch-process", "developer__shell", "run_command", "run_in_terminal", "runTerminalCommand", "exec",
             "exec_command", "terminal", "local_shell"),
    "Write": ("write_file", "write", "create", "Create", "createFile", "create_file", "write_to_file", "save-file",
              "fs_write"),
    "Edit": ("replace", "edit", "edit_file", "editFiles", "str_replace_editor", "replace_in_file",
             "replace_file_content", "str-replace-editor", "multiedit", "fs_write", "apply_patch"),
    "Read": ("read_file", "read", "view", "view_file", "fs_read"),
    "Grep": ("grep_search", "grep", "rg", "search_files"),
    "Glob": ("glob", "find_by_name", "list_files"),
    "WebFetch": ("web_fetch", "fetch", "webfetch", "FetchUrl", "web-fetch"),
    "WebSearch": ("google_web_search", "web_search"),
    "Agent": ("Task", "task", "agent", "spawn_agent", "invoke_agent", "subagent"),
}  # fmt: skip
"""What our tools are called elsewhere, for hooks that are written for nobody in particular."""


def views(vocabulary: Vocabulary | None, event: Event) -> tuple[Event, ...]:
    """The event in the words of a hook's own system; several, where that system would have made several calls."""
    if not isinstance(event, ToolEvent):
        return (event,)
    spoken = event.spoken
    if spoken is not None and spoken.vocabulary is vocabulary:
        return (in_own_words(event, spoken),)
    if several(event):
        return tuple(view for single in _each(event) for view in views(vocabulary, single))
    if vocabulary is None:
        return _of_patch(event) if event.tool_name == PATCH else (event,)
    if event.tool_name in PATCH_NAMES and vocabulary.entry_for(event.tool_name) is None:
        return _across_patches(vocabulary, event)
    return (_said(event, *vocabulary.write(event.tool_name, event.tool_input, {})),)


def several(event: Event) -> bool:
    """Whether one call does several things."""
    return isinstance(event, ToolEvent) and event.spoken is not None and bool(event.spoken.others)


def _each(event: ToolEvent) -> tuple[ToolEvent, ...]:
    others = event.spoken.others if event.spoken is not None else ()
    return tuple(event.but(tool_input=single, spoken=None) for single in (event.tool_input, *others))


def in_own_words(event: ToolEvent, spoken: Spoken) -> ToolEvent:
    """As the agent said it, but with what hooks have rewritten since."""
    if event.tool_input is spoken.meant:
        seen = _said(event, spoken.tool_name, spoken.tool_input)
    else:
        seen = _said(event, spoken.tool_name, written_back(event, spoken))
    response = getattr(event, "tool_response", None)
    return seen if response is None else seen.but(tool_response=spoken.tool_response)


def written_back(event: ToolEvent, spoken: Spoken) -> dict[str, Any]:
    """A changed input in the agent's own keys, for the tool that it called."""
    known = spoken.vocabulary.entry(spoken.tool_name, spoken.tool_input)
    if known is None:
        return event.tool_input
    return {**_renamed_back(known, event.tool_input, spoken.tool_input), **known.fixed}


def _said(event: ToolEvent, name: str, tool_input: dict[str, Any]) -> ToolEvent:
    return event.but(tool_name=name, tool_input=tool_input)


def _of_patch(event: ToolEvent) -> tuple[Event, ...]:
    from fairlead import patches

    found = patches.calls(event.command, event.cwd)
    return tuple(_said(event, name, tool_input) for name, tool_input in found) or (event,)


def _across_patches(vocabulary: Vocabulary, event: ToolEvent) -> tuple[Event, ...]:
    """Between a system that edits with patches and one that does not."""
    from fairlead import patches

    if event.tool_name == PATCH:
        single = [view for view in _of_patch(event) if isinstance(view, ToolEvent)]
        return tuple(_said(event, *vocabulary.write(view.tool_name, view.tool_input, {})) for view in single)
    patch = patches.of_call(event.tool_name, event.tool_input)
    if not patch or vocabulary.entry_for(PATCH) is None:
        return (_said(event, *vocabulary.write(event.tool_name, event.tool_input, {})),)
    return (_said(event, *vocabulary.write(PATCH, {"command": patch}, {})),)


# --- what a hook says --------------------------------------------------------------------------------


def heard(vocabulary: Vocabulary | None, seen: Event, event: Event, verdict: Verdict, place: int = 0) -> Verdict:
    """A verdict with its rewrite in our words. `seen` is what the hook was shown, as the view number `place`."""
    update = verdict.updated_input
    if update is None or not isinstance(event, ToolEvent) or not isinstance(seen, ToolEvent):
        return verdict
    if vocabulary is None and event.tool_name != PATCH and not several(event):
        return verdict
    meant = None if several(event) else _meant(vocabulary, seen, event, update, place)
    if meant is not None:
        return verdict.but(updated_input=meant)
    from fairlead import wire

    wanted = wire.encode_text(update)
    reason = f"a hook wants another input for {seen.tool_name}, which cannot be put into this call: {wanted}"
    return deny(reason).but(context=verdict.context, user_message=verdict.user_message)


def _meant(
    vocabulary: Vocabulary | None, seen: ToolEvent, event: ToolEvent, update: dict[str, Any], place: int
) -> dict[str, Any] | None:
    if vocabulary is not None:
        known = _entry_of(vocabulary, seen, event)
        name = _name_of(vocabulary, seen, event) if known is None else known.name
        ours = update if known is None else _renamed(known, update)
    else:
        name, ours = seen.tool_name, update
    if name == event.tool_name:
        return ours
    from fairlead import patches

    if event.tool_name == PATCH:
        shown = seen.tool_input if vocabulary is None else vocabulary.read(seen.tool_name, seen.tool_input)[1]
        text = patches.with_call(event.command, place, {**shown, **ours}, event.cwd)
        return {**event.tool_input, "command": text} if text else None
    if name == PATCH and isinstance(ours.get("command"), str):
        return patches.call_of(ours["command"], event.tool_name, event.tool_input)
    return None


def _name_of(vocabulary: Vocabulary, seen: ToolEvent, event: ToolEvent) -> str:
    """Our name for a tool that a vocabulary does not list: an MCP tool's is written in many ways."""
    return event.tool_name if vocabulary.mcp_name(event.tool_name) == seen.tool_name else seen.tool_name


def _entry_of(vocabulary: Vocabulary, seen: ToolEvent, event: ToolEvent) -> Tool | None:
    spoken = event.spoken
    own = spoken if spoken is not None and spoken.vocabulary is vocabulary else seen
    return vocabulary.entry(own.tool_name, own.tool_input)


# --- what the agent is told --------------------------------------------------------------------------


def for_agent(event: Event, decision: Decision) -> tuple[Event, Decision]:
    """An event and what was decided about it in the words of the agent that asked."""
    spoken = event.spoken if isinstance(event, ToolEvent) else None
    if spoken is None or not isinstance(event, ToolEvent):
        return event, decision
    groups = {name: _said_back(event, spoken, verdict) for name, verdict in decision.groups.items()}
    return in_own_words(event, spoken), _said_back(event, spoken, decision).but(groups=groups)


def _said_back(event: ToolEvent, spoken: Spoken, verdict: Said) -> Said:
    if verdict.updated_input is None:
        return verdict
    return verdict.but(updated_input=written_back(event.but(tool_input=verdict.updated_input), spoken))


def output_text(value: object) -> str:
    """A tool's output as text, whoever shaped it."""
    if isinstance(value, str):
        return value
    if isinstance(value, dict):
        parts = [value.get(key) for key in ("stdout", "stderr", "llmContent", "output", "content", "text")]
        texts = [output_text(part) for part in parts if isinstance(part, (str, list)) and part]
        if texts:
            return "\n".join(texts)
    if isinstance(value, list) and value:
        return "\n".join(output_text(part) for part in value)
    from fairlead import wire

    return "" if value is None else wire.encode_text(value)
