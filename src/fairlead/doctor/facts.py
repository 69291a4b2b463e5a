"""What has to be known of each agent to tell whether a hook of it runs."""

from __future__ import annotations

from fairlead._record import Record

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping


class Facts(Record):
    regex: str = ""
    """Whose regular expressions its matchers are: `javascript`, `linear` (Rust's and Go's) or `python`."""
    exact: bool = False
    """Whether a matcher of plain letters is compared with the whole name."""
    comments: bool = False
    """Whether its reader takes comments in JSON."""
    sets: tuple[str, ...] | None = None
    """The variables with which it tells a hook where the project is; None where that is not known."""
    in_project: bool = False
    """Whether its hooks always start in the root of the project."""
    once: str = ""
    """Where it runs equal hooks once: `everywhere`, or in `settings` but not in plugins; empty: nowhere."""
    missing_refuses: bool = False
    """Whether a hook whose program is missing refuses the call."""
    types: tuple[str, ...] = ("command",)
    rejects_types: bool = False
    """Whether one unknown type costs the whole file."""
    bad_event: str = "never calls it"
    """What it does with a hook for an event that it does not know."""
    flat_costs_file: bool = False
    """Whether one entry of the wrong shape costs the whole file."""
    keys: tuple[str, ...] = ()
    """All that an entry may have, where one more makes it refuse the configuration."""
    root_keys: tuple[str, ...] = ()
    """The same for the root of a file of hooks."""
    longest: float = 0
    """The highest timeout in seconds that it takes; 0 where there is none."""


_UNKNOWN = Facts()
_ALL: Mapping[str, Facts] = {
    "claude-code": Facts(
        regex="javascript", exact=True, sets=("CLAUDE_PROJECT_DIR",), once="settings", rejects_types=True,
        types=("command", "http", "mcp_tool", "prompt", "agent"), flat_costs_file=True,
    ),
    "codex": Facts(
        regex="linear", exact=True, sets=(), types=("command", "mcp_tool", "prompt", "agent"), rejects_types=True,
        root_keys=("description", "hooks"), bad_event="ignores it",
    ),
    "gemini": Facts(
        regex="javascript", comments=True, sets=("GEMINI_PROJECT_DIR", "GEMINI_CWD", "CLAUDE_PROJECT_DIR"),
        once="everywhere", missing_refuses=True, bad_event="rejects it",
    ),
    "qwen": Facts(
        regex="javascript", comments=True, once="everywhere", types=("command", "http", "prompt"),
        sets=("QWEN_PROJECT_DIR", "GEMINI_PROJECT_DIR", "CLAUDE_PROJECT_DIR"),
    ),
    "cursor": Facts(
        regex="javascript", sets=("CURSOR_PROJECT_DIR", "CLAUDE_PROJECT_DIR"), in_project=True,
        types=("command", "prompt"),
    ),
    "copilot": Facts(
        regex="javascript", sets=("COPILOT_PROJECT_DIR", "CLAUDE_PROJECT_DIR"), in_project=True, missing_refuses=True,
        types=("command", "http", "prompt"), bad_event="drops it without a word",
    ),
    "vscode": Facts(in_project=True),
    "windsurf": Facts(in_project=True),
    "devin": Facts(sets=("DEVIN_PROJECT_DIR",), types=("command", "prompt")),
    "droid": Facts(sets=("FACTORY_PROJECT_DIR", "DROID_PROJECT_DIR", "CLAUDE_PROJECT_DIR"), exact=True),
    "kiro": Facts(types=("command", "agent"), in_project=True),
    "augment": Facts(sets=("AUGMENT_PROJECT_DIR",)),
    "goose": Facts(regex="linear"),
    "crush": Facts(regex="linear", sets=("CRUSH_PROJECT_DIR",), once="everywhere"),
    "kimi": Facts(sets=(), once="everywhere", keys=("event", "matcher", "command", "timeout"), longest=600),
    "grok": Facts(types=("command", "http")),
    "openhands": Facts(regex="python", sets=("OPENHANDS_PROJECT_DIR",), bad_event="refuses the whole file"),
    "hermes": Facts(regex="python", longest=300),
}  # fmt: skip


def of(agent: str) -> Facts:
    return _ALL.get(agent, _UNKNOWN)


def one_costs_all(agent: str, form: str) -> bool:
    """Whether one bad entry costs all hooks of the file: Copilot is strict in its settings, not in files of hooks."""
    return of(agent).rejects_types or (agent == "copilot" and form == "settings")


def title(agent: str) -> str:
    from fairlead.installing.specs import SPECS

    return SPECS[agent].title if agent in SPECS else "Fairlead"


def events(agent: str) -> Mapping[str, str]:
    """The agent's own names, and ours for the same."""
    from fairlead.dialects import AGENT_HALVES, module_name

    if agent not in AGENT_HALVES:
        return {}
    module = __import__(f"fairlead.dialects.{module_name(agent)}", fromlist=["EVENTS"])
    found: Mapping[str, str] = getattr(module, "EVENTS", {})
    return found


def spelled(agent: str, event: str) -> str:
    """An event as the agent writes it, where it takes several spellings."""
    if agent == "openhands" and event.islower():
        return "".join(part.capitalize() for part in event.split("_"))
    if agent == "crush" and event.lower().replace("_", "") == "pretooluse":
        return "PreToolUse"
    return event


def canonical(agent: str, event: str) -> str:
    """Our name for an event of this agent."""
    return events(agent).get(spelled(agent, event), event)


def can_refuse(agent: str, event: str) -> bool:
    from fairlead.explaining import sample

    return sample(canonical(agent, event)).blockable
