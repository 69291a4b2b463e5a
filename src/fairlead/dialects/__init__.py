"""One file for each system: how it writes its configuration, its events and its answers.

A dialect is a module. Its hook half runs hooks that were written for that system; its agent half
speaks with that system when it calls us. `HookHalf` and `AgentHalf` say which names a module has to
define. Modules are imported when they are needed, by `hook_half` and `agent_half`.
"""

from __future__ import annotations

from fairlead import wire
from fairlead._record import Record
from fairlead.errors import UsageError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence
    from typing import Any, Protocol

    from fairlead.errors import Problem
    from fairlead.events import Event
    from fairlead.hooks import Hook, Report, Setting
    from fairlead.tools import Vocabulary
    from fairlead.verdicts import Decision, Verdict
    from fairlead.work import Result

HOOK_HALVES = (
    "claude-code", "codex", "gemini", "qwen", "cursor", "copilot", "code-agent", "codemie", "amcp", "claude-agent",
    "fairlead",
)  # fmt: skip
"""Dialects that hooks can be written in, in the order in which their groups run. Fairlead's own come
last: its guards must see what really runs, after everybody's rewrites."""

AGENT_HALVES = (
    "claude-code", "codex", "gemini", "qwen", "cursor", "copilot", "vscode", "windsurf", "devin", "cline", "droid",
    "kiro", "augment", "goose", "crush", "kimi", "junie", "grok", "openhands", "hermes", "vibe", "antigravity",
    "opencode", "kilo", "amp", "m", "code-agent", "codemie", "amcp", "claude-agent",
)  # fmt: skip
"""Agents that can call us."""

SIGNS: Mapping[str, tuple[str, ...]] = {
    "claude-code": ("~/.claude", ".claude", "/claude-code", "$CLAUDE_CONFIG_DIR"),
    "codex": ("~/.codex", ".codex", "/codex", "$CODEX_HOME"),
    "gemini": ("~/.gemini", ".gemini", "/gemini-cli", "$GEMINI_CLI_HOME"),
    "qwen": ("~/.qwen", ".qwen", "/qwen-code", "$QWEN_HOME"),
    "cursor": ("~/.cursor", ".cursor", "/cursor"),
    "copilot": ("~/.copilot", ".github", "/github-copilot", "$COPILOT_HOME"),
    "code-agent": ("~/.claude", ".claude", "$CLAUDE_CONFIG_DIR"),
    "codemie": ("~/.codemie",),
    "amcp": ("~/.config/amcp", ".amcp"),
    "claude-agent": ("~/.claude", ".claude", "$CLAUDE_CONFIG_DIR"),
}
"""Folders that hold every file in which a dialect's hooks may be: of the user (`~/`), of the project, of the
machine (`/`, below /etc), or where a variable says. Looking for them is a hundred times cheaper than an import."""

PROJECTS: Mapping[str, str] = {
    "claude-code": "CLAUDE_PROJECT_DIR",
    "codex": ".",
    "gemini": "GEMINI_PROJECT_DIR",
    "qwen": "QWEN_PROJECT_DIR",
    "cursor": "CURSOR_PROJECT_DIR",
    "copilot": "COPILOT_PROJECT_DIR",
    "devin": "DEVIN_PROJECT_DIR",
    "droid": "FACTORY_PROJECT_DIR",
    "augment": "AUGMENT_PROJECT_DIR",
    "crush": "CRUSH_PROJECT_DIR",
    "grok": "GROK_WORKSPACE_ROOT",
    "openhands": "OPENHANDS_PROJECT_DIR",
    "amcp": "AMCP_PROJECT_DIR",
}
"""Where an agent tells its hooks which project it works on: in a variable of its own, or by starting them there (`.`).
Its event's `cwd` follows each `cd`, which would lead it out of the project's hooks."""


class Source(Record):
    """A file that may hold hooks."""

    path: str
    layer: str
    owner: str
    """`managed`, `user` or `project`: whose word it is. A project's hooks need trust."""
    format: str = ""
    """For dialects that read several kinds of file."""


class Places(Record):
    """Where configuration is looked for."""

    home: str
    project: str
    environ: Mapping[str, str]
    managed: str = "/etc"
    active: tuple[str, ...] = ()
    """Skills and subagents whose hooks are switched on by name."""

    @property
    def config(self) -> str:
        """Where the user's configuration is."""
        given = self.environ.get("XDG_CONFIG_HOME", "")
        return given if given.startswith("/") else f"{self.home}/.config"


class Reading(Record):
    """What one file had to say."""

    hooks: tuple[Hook, ...] = ()
    problems: tuple[Problem, ...] = ()
    settings: Mapping[str, Any] = {}  # never changed: records are frozen


class HookInput(Record):
    """What a hook's process is given beside the ordinary environment."""

    stdin: bytes
    env: dict[str, str]
    carries_input: tuple[str, ...] = ()
    """The variables that a hook of this dialect may rely on to see the tool's input."""
    absent: tuple[str, ...] = ()
    """Variables of this dialect that say nothing for this event, and must not be inherited from anywhere."""


class Reply(Record):
    """What an agent gets to see of us."""

    stdout: bytes = b""
    stderr: str = ""
    exit_code: int = 0


if TYPE_CHECKING:

    class HookHalf(Protocol):
        NAME: str
        EVENTS: Mapping[str, str]
        """Event names in this dialect's files, and the canonical ones."""
        TOOLS: Vocabulary | None
        """Its names for tools; None for those who use ours, which are Claude Code's."""

        def sources(self, places: Places) -> Sequence[Source]:
            """The files where this system keeps its hooks, whether they exist or not."""

        def read(self, source: Source, text: str, places: Places) -> Reading:
            """The hooks of one file. Never runs, imports or connects to anything."""

        def arrange(self, hooks: Sequence[Hook], readings: Sequence[tuple[Source, Reading]]) -> Sequence[Hook]:
            """All hooks of this dialect in their order, overridden ones left out."""

        def batches(self, event: Event, hooks: Sequence[Hook]) -> Sequence[Sequence[Hook]]:
            """Hooks that run side by side, one batch after the other; identical ones once."""

        def hook_input(self, hook: Hook, event: Event, setting: Setting) -> HookInput: ...

        def read_verdict(self, hook: Hook, event: Event, result: Result) -> Verdict:
            """From a process that has exited by itself; raises HookFailed."""

        def read_value(self, hook: Hook, event: Event, value: object) -> Verdict:
            """From what a Python function returned; raises HookFailed."""

        def on_failure(self, event: Event) -> str:
            """`allow` or `deny`: where a hook without a verdict leads to."""

        def ends_row(self, event: Event, verdict: Verdict) -> bool:
            """Whether later hooks are left out after this verdict."""

        def rewritten(self, tool_input: dict[str, Any], update: dict[str, Any]) -> dict[str, Any]:
            """The whole tool input after a hook's rewrite."""

        def merge(self, event: Event, verdicts: Sequence[Verdict]) -> Verdict: ...

        def again(self, event: Event, verdict: Verdict, hooks: Sequence[Hook], attempt: int) -> Event | None:
            """The event for another attempt, where this system tries again."""

        log: Callable[[Report, Setting], None] | None
        """Called for each hook that ran, where this system keeps a log of its own."""

    class AgentHalf(Protocol):
        NAME: str
        TOOLS: Vocabulary | None
        CAN: Mapping[str, frozenset[str]]
        """What the agent carries out, by event; `*` is every other event. See `degrade`."""
        DEADLINES: Mapping[str, float]
        """Seconds after which the agent gives a hook up; `*` is every other event."""
        CAPS_STOPS: bool
        """Whether the agent itself ends a row of refusals to stop."""
        INPUT_VARIABLE: str
        """Where an agent that leaves stdin open puts its event; empty for the others."""

        def read_event(self, raw: bytes, event_name: str, environ: Mapping[str, str]) -> Event: ...

        def write_reply(self, event: Event, decision: Decision) -> Reply:
            """As one hook of that agent."""

        def write_result(self, event: Event, decision: Decision) -> dict[str, Any]:
            """As that agent's own engine."""

        def write_failure(self, event_name: str, message: str) -> Reply:
            """For an event that could not be read: block, if the event may be one that can be."""


def module_name(name: str) -> str:
    return "native" if name == "fairlead" else name.replace("-", "_")


def signs(name: str, places: Places) -> Iterator[str]:
    """Where a dialect's files would be."""
    for sign in SIGNS.get(name, ()):
        if sign.startswith("~/.config/"):
            yield f"{places.config}/{sign[10:]}"
        elif sign.startswith("~/"):
            yield f"{places.home}/{sign[2:]}"
        elif sign.startswith("$"):
            yield places.environ.get(sign[1:], "")
        else:
            yield f"{places.managed if sign.startswith('/') else places.project + '/'}{sign}"


_AGENTS: dict[str, Any] = {}
_HALVES: dict[str, Any] = {}
"""Modules that were asked for: an import statement costs 2 µs, and each hook needs its dialect twice."""


def hook_half(name: str) -> HookHalf:
    half: HookHalf = _HALVES.get(name) or _load(name, HOOK_HALVES)
    return half


def read_verdict(hook: Hook, event: Event, result: Result) -> Verdict:
    """What a hook has said, as its own system reads it. Raises HookFailed."""
    half = hook_half(hook.origin.dialect)
    answer = result.stdout.strip() or result.stderr
    if answer.count(b"{") + answer.count(b"[") <= wire.DEPTH:
        return half.read_verdict(hook, event, result)
    from fairlead.dialects._answers import read_deep

    return read_deep(half, hook, event, result)


def agent_half(name: str) -> AgentHalf:
    half: AgentHalf = _AGENTS.get(name) or _load(name, AGENT_HALVES)
    return half


def _load(name: str, known: tuple[str, ...]) -> Any:
    if name not in known:
        raise UsageError(f"unknown agent {name!r}", hint=f"one of: {', '.join(sorted(known))}")
    module = __import__(f"fairlead.dialects.{module_name(name)}", fromlist=["NAME"])
    (_HALVES if known is HOOK_HALVES else _AGENTS)[name] = module
    return module
