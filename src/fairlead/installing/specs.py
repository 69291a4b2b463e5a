"""Where each agent wants its hooks, and in which form.

One `Install` for each agent; what is written for all of them is in `planning`.
"""

from __future__ import annotations

import os

from fairlead._record import Record

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any


class Install(Record):
    name: str
    title: str
    user: str = ""
    """Its file for all projects; for `scripts` and `plugin` the folder or the file that we write."""
    project: str = ""
    """The same for one project; empty where the agent reads none."""
    moved_by: tuple[str, str] = ("", "")
    """A variable that moves a folder of the user's, and that folder."""
    programs: tuple[str, ...] = ()
    signs: tuple[str, ...] = ()
    """Files and folders that show that it is used: `~/x` in the home, anything else in the project."""

    format: str = "json"
    """`json`, `toml`, `yaml`, `scripts` (one program for each event), or `plugin` (a program in its language)."""
    shape: str = "groups"
    """How an event's entries look: `groups`, `flat`, `named`, `triggers`, `handlers`; see `entries`."""
    path: tuple[str, ...] = ("hooks", "{event}")
    user_path: tuple[str, ...] = ()
    """Where the user's file keeps them in another place than the project's."""
    root: Mapping[str, Any] = {}
    """What a file that we make needs besides."""
    form: str = "shell"
    """`shell`: one command line. `args`: a program and its arguments. `exec`: the same, in Copilot's words.
    `systems`: a line for each operating system. `shim`: a program of our own, beside the settings."""

    events: tuple[str, ...]
    more_events: tuple[str, ...] = ()
    """Frequent ones, and those that nobody can answer: only where they are asked for."""
    first_events: tuple[str, ...] = ()
    all_since: tuple[int, ...] = ()
    """Versions before this one know `first_events` only, and may discard a file that names others."""
    exec_since: tuple[int, ...] = ()
    """Versions before this one know no other form than a command line, and would not run our program, or without
    its arguments. Where the version cannot be seen, it gets a command line too."""
    shell_key: str = "command"
    names_event: bool = True
    """Whether the payload says which event it is."""
    timeout: float = 60
    timeouts: Mapping[str, float] = {}
    timeout_key: str = "timeout"
    """Empty where the agent's own limit cannot be changed."""
    unit: float = 1
    """How many of the agent's units make a second."""

    enforce: Mapping[str, Any] = {}
    enforce_on: tuple[str, ...] = ()
    enforced_anyway: bool = False

    http: tuple[str, ...] = ()
    """Events that it can send straight to a server, with a key."""
    http_since: tuple[int, ...] = ()
    """Versions before this one cannot be told to refuse where the server does not answer."""
    http_fails_closed: bool = False
    """Whether the version that is here can; see `versions`."""

    adopts: bool = False
    """Whether Fairlead can run the hooks that were written for it."""
    shares_with: tuple[str, ...] = ()
    """Other agents that read the same file."""
    template: str = ""
    next_steps: tuple[str, ...] = ()
    """What its user still has to do."""
    project_steps: tuple[str, ...] = ()
    """The same, for hooks in a project."""


def _words(text: str) -> tuple[str, ...]:
    return tuple(text.split())


_RESTART = "restart it: its hooks are read at the start"

_ALL = [
    Install(
        name="claude-code",
        title="Claude Code",
        user="~/.claude/settings.json",
        project=".claude/settings.json",
        moved_by=("CLAUDE_CONFIG_DIR", "~/.claude"),
        programs=("claude",),
        signs=("~/.claude", ".claude"),
        form="args",
        events=_words(
            "SessionStart UserPromptSubmit UserPromptExpansion PreToolUse PermissionRequest PostToolUse "
            "PostToolUseFailure Notification SubagentStart SubagentStop TaskCreated TaskCompleted TeammateIdle Stop "
            "ConfigChange PreCompact PreModelSwitch SessionEnd"
        ),
        # Never WorktreeCreate and WorktreeRemove: a hook there takes the place of git's own work.
        # Never FileChanged: its matcher is the list of files to watch.
        more_events=_words(
            "Setup InstructionsLoaded MessageDisplay PermissionDenied PostToolBatch StopFailure CwdChanged "
            "DirectoryAdded PostCompact PostModelSwitch Elicitation ElicitationResult"
        ),
        first_events=_words(
            "SessionStart UserPromptSubmit PreToolUse PermissionRequest PostToolUse PostToolUseFailure Notification "
            "SubagentStart SubagentStop Stop PreCompact SessionEnd"
        ),
        all_since=(2, 1, 251),
        exec_since=(2, 1, 139),
        timeout=600,
        timeouts={
            "UserPromptSubmit": 60, "UserPromptExpansion": 60, "PreModelSwitch": 60, "PostModelSwitch": 30,
            "MessageDisplay": 10, "SessionEnd": 10,
        },
        enforce={"onFailure": "block"},
        enforce_on=_words("PreToolUse PermissionRequest UserPromptSubmit UserPromptExpansion"),
        http=_words(
            "UserPromptSubmit UserPromptExpansion PreToolUse PermissionRequest PostToolUse PostToolUseFailure "
            "Notification SubagentStart SubagentStop TaskCreated TaskCompleted TeammateIdle Stop ConfigChange "
            "PreCompact PreModelSwitch SessionEnd"
        ),
        http_since=(2, 1, 295),
        adopts=True,
        shares_with=("code-agent", "claude-agent"),
        next_steps=("it asks once whether you trust a folder; until then it runs no hooks there",),
    ),
    Install(
        name="codex",
        title="Codex",
        user="~/.codex/hooks.json",
        project=".codex/hooks.json",
        moved_by=("CODEX_HOME", "~/.codex"),
        programs=("codex",),
        signs=("~/.codex", ".codex"),
        events=_words(
            "SessionStart UserPromptSubmit PreToolUse PermissionRequest PostToolUse PreCompact SubagentStart "
            "SubagentStop Stop SessionEnd"
        ),
        more_events=_words("PostCompact Interrupt PreModelRequest PostModelRequest"),
        timeout=600,
        timeouts={"SessionEnd": 3, "Interrupt": 3},
        adopts=True,
        next_steps=(
            "it skips every hook that you have not trusted, without a word",
            "start `codex`, choose “Trust all” where it says that hooks need review, or type /hooks and trust each",
        ),
    ),
    Install(
        name="gemini",
        title="Gemini CLI",
        user="~/.gemini/settings.json",
        project=".gemini/settings.json",
        programs=("gemini",),
        signs=("~/.gemini/settings.json", ".gemini"),
        events=_words("SessionStart BeforeAgent BeforeTool AfterTool AfterAgent Notification SessionEnd"),
        more_events=_words("BeforeModel BeforeToolSelection AfterModel PreCompress"),
        timeout=600,
        timeouts={"SessionEnd": 10},
        unit=1000,
        adopts=True,
        next_steps=("in a folder that you have not trusted it runs no hooks at all",),
    ),
    Install(
        name="qwen",
        title="Qwen Code",
        user="~/.qwen/settings.json",
        project=".qwen/settings.json",
        programs=("qwen",),
        signs=("~/.qwen", ".qwen"),
        events=_words(
            "SessionStart UserPromptSubmit PreToolUse PermissionRequest PostToolUse PostToolUseFailure Notification "
            "SubagentStart SubagentStop Stop PreCompact SessionEnd"
        ),
        more_events=_words(
            "InstructionsLoaded UserPromptExpansion MessageDisplay PermissionDenied PostToolBatch StopFailure "
            "TodoCreated TodoCompleted PostCompact SessionDelete"
        ),
        timeout=600,
        timeouts={"SessionEnd": 10},
        unit=1000,  # it takes 1000 and more for milliseconds, whatever its version says of smaller ones
        adopts=True,
        project_steps=("it runs a project's hooks only in a folder that you have trusted",),
    ),
    Install(
        name="cursor",
        title="Cursor",
        user="~/.cursor/hooks.json",
        project=".cursor/hooks.json",
        programs=("cursor", "cursor-agent"),
        signs=("~/.cursor", ".cursor"),
        shape="flat",
        root={"version": 1},
        events=_words(
            "sessionStart beforeSubmitPrompt preToolUse beforeShellExecution beforeMCPExecution beforeReadFile "
            "postToolUse postToolUseFailure subagentStart subagentStop preCompact stop sessionEnd"
        ),
        more_events=_words(
            "afterShellExecution afterMCPExecution afterFileEdit afterAgentResponse afterAgentThought "
            "beforeTabFileRead afterTabFileEdit"
        ),
        timeouts={"sessionEnd": 10},
        enforce={"failClosed": True},
        enforce_on=_words(
            "beforeSubmitPrompt preToolUse beforeShellExecution beforeMCPExecution beforeReadFile subagentStart"
        ),
        adopts=True,
    ),
    Install(
        name="copilot",
        title="GitHub Copilot CLI",
        user="~/.copilot/hooks/fairlead.json",
        project=".github/hooks/fairlead.json",
        moved_by=("COPILOT_HOME", "~/.copilot"),
        programs=("copilot",),
        signs=("~/.copilot",),
        shape="flat",
        root={"version": 1},
        form="exec",
        exec_since=(1, 0, 102),
        shell_key="bash",
        events=_words(
            "SessionStart UserPromptSubmit PreToolUse PermissionRequest PostToolUse PostToolUseFailure Notification "
            "SubagentStop Stop PreCompact SessionEnd"
        ),
        more_events=("ErrorOccurred",),
        timeout=600,
        timeouts={"SessionEnd": 10},
        timeout_key="timeoutSec",
        enforced_anyway=True,
        adopts=True,
        next_steps=(_RESTART,),
        project_steps=("its cloud agent reads this file too and cannot run it: keep it out of the repository",),
    ),
    Install(
        name="vscode",
        title="VS Code",
        user="~/.copilot/hooks/fairlead-vscode.json",
        project=".github/hooks/fairlead-vscode.json",
        programs=("code", "code-insiders"),
        signs=("~/.config/Code", "~/Library/Application Support/Code"),
        shape="flat",
        form="systems",  # which Copilot CLI, in the same folder, passes over
        events=_words(
            "SessionStart UserPromptSubmit PreToolUse PostToolUse PreCompact SubagentStart SubagentStop Stop"
        ),
        next_steps=("in its settings, chat.useHooks must be on",),
    ),
    Install(
        name="windsurf",
        title="Windsurf",
        user="~/.codeium/windsurf/hooks.json",
        project=".windsurf/hooks.json",
        programs=("windsurf",),
        signs=("~/.codeium/windsurf", ".windsurf"),
        shape="flat",
        events=_words(
            "pre_user_prompt pre_read_code pre_write_code pre_run_command pre_mcp_tool_use post_read_code "
            "post_write_code post_run_command post_mcp_tool_use post_cascade_response"
        ),
        more_events=_words("post_cascade_response_with_transcript post_setup_worktree"),
        timeout_key="",
    ),
    Install(
        name="devin",
        title="Devin CLI",
        user="~/.config/devin/config.json",
        project=".devin/hooks.v1.json",
        moved_by=("XDG_CONFIG_HOME", "~/.config"),
        programs=("devin",),
        signs=("~/.config/devin", ".devin"),
        path=("{event}",),
        user_path=("hooks", "{event}"),
        events=_words(
            "SessionStart UserPromptSubmit PreToolUse PermissionRequest PostToolUse Stop PostCompaction SessionEnd"
        ),
    ),
    Install(
        name="cline",
        title="Cline",
        user="~/Documents/Cline/Hooks",
        project=".clinerules/hooks",
        programs=("cline",),
        signs=("~/Documents/Cline", "~/.cline", ".clinerules"),
        format="scripts",
        events=_words("TaskStart TaskResume UserPromptSubmit PreToolUse PostToolUse PreCompact TaskComplete"),
        more_events=_words("TaskCancel Notification"),
        timeout=30,
        timeout_key="",
        next_steps=("in its settings, Features, “Enable Hooks” must be on",),
    ),
    Install(
        name="droid",
        title="Factory Droid",
        user="~/.factory/hooks.json",
        project=".factory/hooks.json",
        programs=("droid",),
        signs=("~/.factory", ".factory"),
        events=_words(
            "SessionStart UserPromptSubmit PreToolUse PostToolUse Notification SubagentStop Stop PreCompact SessionEnd"
        ),
        timeout=600,
        timeouts={"SessionEnd": 10},
        next_steps=(_RESTART,),
    ),
    Install(
        name="kiro",
        title="Kiro",
        user="~/.kiro/hooks/fairlead.json",
        project=".kiro/hooks/fairlead.json",
        programs=("kiro", "kiro-cli"),
        signs=("~/.kiro", ".kiro"),
        shape="triggers",
        path=("hooks",),
        root={"version": "v1"},
        events=_words("SessionStart UserPromptSubmit PreToolUse PostToolUse Stop SessionEnd"),
        more_events=_words("PreTaskExec PostTaskExec"),
        timeouts={"SessionEnd": 10},
    ),
    Install(
        name="augment",
        title="Augment",
        user="~/.augment/settings.json",
        project=".augment/settings.json",
        programs=("auggie",),
        signs=("~/.augment", ".augment"),
        form="shim",
        events=_words("SessionStart PromptSubmit PreToolUse PostToolUse Notification Stop SessionEnd"),
        unit=1000,
    ),
    Install(
        name="goose",
        title="Goose",
        user="~/.agents/plugins/fairlead/hooks/hooks.json",
        project=".agents/plugins/fairlead/hooks/hooks.json",
        programs=("goose",),
        signs=("~/.config/goose",),
        events=_words("SessionStart UserPromptSubmit PreToolUse PostToolUse PostToolUseFailure Stop SessionEnd"),
        more_events=_words("BeforeReadFile AfterFileEdit BeforeShellExecution AfterShellExecution"),
        timeouts={"SessionEnd": 10},
    ),
    Install(
        name="crush",
        title="Crush",
        user="~/.config/crush/crush.json",
        project="crush.json",
        moved_by=("XDG_CONFIG_HOME", "~/.config"),
        programs=("crush",),
        signs=("~/.config/crush", "crush.json", ".crush.json", ".crush"),
        shape="flat",
        events=("PreToolUse",),
        timeout=600,
    ),
    Install(
        name="kimi",
        title="Kimi Code",
        user="~/.kimi-code/config.toml",
        programs=("kimi",),
        signs=("~/.kimi-code", "~/.kimi"),
        format="toml",
        shape="flat",
        events=_words(
            "SessionStart UserPromptSubmit PreToolUse PermissionRequest PostToolUse PostToolUseFailure Notification "
            "SubagentStart SubagentStop Stop PreCompact SessionEnd"
        ),
        more_events=_words(
            "UserPromptQueued TurnStarted PermissionResult TaskStarted StopFailure Interrupt PostCompact"
        ),
        timeout=600,
        timeouts={"SessionEnd": 10},
        next_steps=(_RESTART,),
    ),
    Install(
        name="junie",
        title="Junie CLI",
        user="~/.junie/config.json",
        programs=("junie",),
        signs=("~/.junie", ".junie"),
        events=_words("SessionStart UserPromptSubmit PreToolUse PermissionRequest Stop SessionEnd"),
        more_events=("StopFailure",),
        timeouts={"SessionEnd": 5, "Stop": 600},
        enforce={"blockOnError": True},
        enforce_on=("Stop",),
    ),
    Install(
        name="grok",
        title="Grok Build",
        user="~/.grok/hooks/fairlead.json",
        project=".grok/hooks/fairlead.json",
        programs=("grok",),
        signs=("~/.grok", ".grok"),
        events=_words(
            "SessionStart UserPromptSubmit PreToolUse PostToolUse PostToolUseFailure Notification SubagentStart "
            "SubagentStop Stop PreCompact SessionEnd"
        ),
        more_events=_words("PermissionDenied StopFailure StopCancelled PostCompact"),
        timeouts={"SessionEnd": 5},
        project_steps=("type /hooks-trust in it once: until then it skips the project's hooks",),
    ),
    Install(
        name="openhands",
        title="OpenHands",
        user="~/.openhands/hooks.json",
        project=".openhands/hooks.json",
        programs=("openhands",),
        signs=("~/.openhands", ".openhands"),
        events=_words("SessionStart UserPromptSubmit PreToolUse PostToolUse Stop SessionEnd"),
        next_steps=("a project with an .openhands/hooks.json of its own does not read the user's",),
    ),
    Install(
        name="hermes",
        title="Hermes Agent",
        user="~/.hermes/config.yaml",
        moved_by=("HERMES_HOME", "~/.hermes"),
        programs=("hermes",),
        signs=("~/.hermes",),
        format="yaml",
        shape="flat",
        events=_words(
            "on_session_start pre_llm_call pre_tool_call post_tool_call subagent_start subagent_stop pre_verify "
            "on_session_end"
        ),
        more_events=_words("pre_api_request post_api_request"),
        timeout=300,
        timeouts={"on_session_end": 10},
        enforce={"fail_closed": True},
        enforce_on=("pre_tool_call",),
        next_steps=("it asks for your consent to each command at its next start: say yes",),
    ),
    Install(
        name="vibe",
        title="Mistral Vibe",
        user="~/.vibe/hooks.toml",
        project=".vibe/hooks.toml",
        moved_by=("VIBE_HOME", "~/.vibe"),
        programs=("vibe",),
        signs=("~/.vibe", ".vibe"),
        format="toml",
        shape="named",
        events=_words("pre_tool post_tool post_agent"),
        enforce={"strict": True},
        enforce_on=("pre_tool",),
    ),
    Install(
        name="antigravity",
        title="Antigravity",
        user="~/.gemini/config/hooks.json",
        project=".agents/hooks.json",
        programs=("agy", "antigravity"),
        signs=("~/.gemini/antigravity-cli", "~/.gemini/antigravity", "~/.antigravity"),
        path=("fairlead", "{event}"),
        events=_words("PreInvocation PreToolUse PostToolUse Stop"),
        more_events=("PostInvocation",),
        names_event=False,
    ),
    Install(
        name="opencode",
        title="OpenCode",
        user="~/.config/opencode/plugins/fairlead.js",
        project=".opencode/plugins/fairlead.js",
        moved_by=("XDG_CONFIG_HOME", "~/.config"),
        programs=("opencode",),
        signs=("~/.config/opencode", ".opencode", "opencode.json"),
        format="plugin",
        template="opencode.js",
        events=_words(
            "session.created chat.message tool.execute.before tool.execute.after experimental.session.compacting "
            "session.idle"
        ),
        timeout=600,
        enforced_anyway=True,
        next_steps=(_RESTART,),
    ),
    Install(
        name="kilo",
        title="Kilo",
        user="~/.config/kilo/plugins/fairlead.js",
        project=".kilo/plugins/fairlead.js",
        moved_by=("XDG_CONFIG_HOME", "~/.config"),
        programs=("kilo", "kilocode"),
        signs=("~/.config/kilo", ".kilo", ".kilocode"),
        format="plugin",
        template="opencode.js",
        events=_words(
            "session.created chat.message tool.execute.before tool.execute.after experimental.session.compacting "
            "session.idle"
        ),
        timeout=600,
        enforced_anyway=True,
        next_steps=(_RESTART,),
    ),
    Install(
        name="amp",
        title="Amp",
        user="~/.config/amp/plugins/fairlead.ts",
        project=".amp/plugins/fairlead.ts",
        moved_by=("XDG_CONFIG_HOME", "~/.config"),
        programs=("amp",),
        signs=("~/.config/amp", ".amp"),
        format="plugin",
        template="amp.ts",
        events=_words("session.start agent.start tool.call tool.result agent.end"),
        timeout=600,
        enforced_anyway=True,
        next_steps=(_RESTART,),
    ),
    Install(
        name="code-agent",
        title="Code Agent",
        user="~/.claude/settings.json",
        project=".claude/settings.json",
        programs=("code-agent",),
        events=_words(
            "SessionStart UserPromptSubmit PreToolUse PostToolUse PostToolUseFailure Notification SubagentStop Stop "
            "PreCompact SessionEnd"
        ),
        more_events=("Setup",),
        timeout=600,
        unit=1000,
        adopts=True,
        shares_with=("claude-code", "claude-agent"),
    ),
    Install(
        name="codemie",
        title="CodeMie",
        user="~/.codemie/codemie-cli.config.json",
        programs=("codemie", "codemie-code"),
        signs=("~/.codemie",),
        path=("profiles", "{profile}", "hooks", "{event}"),
        events=_words(
            "SessionStart UserPromptSubmit PreToolUse PostToolUse SubagentStop Stop SessionEnd"
        ),
        timeout=600,
        unit=1000,
        adopts=True,
    ),
    Install(
        name="amcp",
        title="AMCP",
        user="~/.config/amcp/hooks.json",
        project=".amcp/hooks.json",
        moved_by=("XDG_CONFIG_HOME", "~/.config"),
        programs=("amcp",),
        signs=("~/.config/amcp", ".amcp"),
        shape="handlers",
        path=("hooks", "{event}", "handlers"),
        events=_words("SessionStart UserPromptSubmit PreToolUse PostToolUse Notification Stop PreCompact SessionEnd"),
        timeout=600,
        adopts=True,
    ),
    Install(
        name="claude-agent",
        title="claude-agent",
        user="~/.claude/settings.json",
        project=".claude/settings.json",
        programs=("claude-agent",),
        shape="named",
        events=_words(
            "sessionStart userPromptSubmit preToolUse postToolUse postToolUseFailure subagentStart subagentStop stop "
            "preCompact sessionEnd"
        ),
        timeout=600,
        timeout_key="timeout_secs",
        adopts=True,
        shares_with=("claude-code", "code-agent"),
    ),
]  # fmt: skip

SPECS: dict[str, Install] = {spec.name: spec for spec in _ALL}


def settings_file(spec: Install, scope: str, *, home: str, project: str, environ: Mapping[str, str]) -> str:
    """The absolute path; empty where the agent has none for that scope."""
    if scope == "project":
        return os.path.join(project, spec.project) if spec.project else ""
    variable, folder = spec.moved_by
    moved = environ.get(variable, "") if variable else ""
    if os.path.isabs(moved) and spec.user.startswith(folder):
        return moved.rstrip("/") + spec.user[len(folder) :]
    return in_home(_user_path(spec, home), home)


def _user_path(spec: Install, home: str) -> str:
    """Cline's program and its extension look in different folders; each reads the other's where it is there."""
    if spec.name == "cline" and not os.path.isdir(in_home("~/Documents/Cline", home)):
        return "~/.cline/hooks"
    if (
        spec.name == "kimi"
        and not os.path.isdir(in_home("~/.kimi-code", home))
        and os.path.isdir(in_home("~/.kimi", home))
    ):
        return "~/.kimi/config.toml"
    return spec.user


def in_home(path: str, home: str) -> str:
    return os.path.join(home, path[2:]) if path.startswith("~/") else path


def events(spec: Install, *, every: bool) -> tuple[str, ...]:
    return (*spec.events, *spec.more_events) if every else spec.events


def timeout(spec: Install, event: str) -> float:
    return spec.timeouts.get(event, spec.timeout)
