"""The settings, hooks and trust files of Fairlead and of every agent."""

from __future__ import annotations

import re

from fairlead.guard._lazy import lazy
from fairlead.guard.packs import act, reads
from fairlead.guard.paths import Places, folded
from fairlead.guard.shell.nodes import STAR, UNKNOWN, shown

TYPE_CHECKING = False
if TYPE_CHECKING:
    from fairlead.guard.effects import Effect
    from fairlead.guard.shell.run import Call

    Hit = tuple[str, str, str, str]

_SETTINGS = lazy(
    r"/(?:\.claude/(?:settings[\w.-]*\.json|hooks(?:/.*)?|hooks\.json|plugins/.*|\.credentials\.json"
    r"|managed[\w-]*\.json|claude\.md|commands/.*|agents/.*|skills/.*|statusline[\w.-]*|keybindings\.json)"
    r"|\.claude\.json|\.claude|\.codex(?:/(?:config\.toml|hooks(?:/.*|\.json)?|auth\.json|rules/.*|prompts/.*"
    r"|agents\.md|trust[\w.-]*))?"
    r"|\.gemini(?:/(?:settings\.json|hooks(?:/.*)?|trusted[\w.-]*|extensions/.*|\.env|policies/.*"
    r"|oauth_creds\.json))?|\.qwen(?:/(?:settings\.json|hooks/.*|trusted[\w.-]*))?"
    r"|\.cursor(?:/(?:hooks(?:\.json|/.*)?|mcp\.json|rules/.*|settings\.json|cli[\w-]*\.json|permissions\.json"
    r"|environment\.json))?|\.cursorrules|\.cursorignore"
    r"|\.github/(?:hooks(?:/.*)?|copilot(?:/.*)?)|\.copilot(?:/.*)?"
    r"|\.config/(?:code(?: - insiders)?/user/(?:settings|mcp|tasks|keybindings)\.json"
    r"|vscodium/user/settings\.json|gemini|fairlead|github-copilot|opencode"
    r"|goose|crush|amp|kilo|devin|zed|claude|codex|kiro|openhands)(?:/.*)?"
    r"|\.vscode/(?:settings|mcp|tasks|launch)\.json|\.idea/(?:workspace|externaldependencies)\.xml"
    r"|\.windsurf(?:/.*)?|\.codeium(?:/.*)?|\.devin(?:/.*)?|\.cline(?:/.*)?|\.clinerules(?:/.*)?|\.roo(?:/.*)?"
    r"|\.factory(?:/.*)?|\.droid(?:/.*)?|\.kiro(?:/(?:settings|hooks|agents)(?:/.*)?)?|\.augment(?:/.*)?"
    r"|\.goose(?:/.*)?|\.goosehints|\.crush(?:/.*)?|crush\.json|\.kimi(?:/.*)?|\.junie(?:/.*)?|\.grok(?:/.*)?"
    r"|\.openhands(?:/.*)?|\.hermes(?:/.*)?|\.vibe(?:/.*)?|\.antigravity(?:/.*)?|\.opencode(?:/.*)?|opencode\.jsonc?"
    r"|\.kilocode(?:/.*)?|\.kilo(?:/.*)?|\.amp(?:/.*)?|\.amcp(?:/.*)?|\.codemie(?:/.*)?|\.code-agent(?:/.*)?"
    r"|\.claude-agent(?:/.*)?|\.aider[\w.-]*|\.continue(?:/.*)?|\.mcp\.json|mcp\.json|fairlead(?:\.tests)?\.toml"
    r"|\.fairlead(?:/.*)?"
    r"|etc/(?:fairlead|claude-code|codex)(?:/.*)?|\.local/(?:share|state)/fairlead(?:/.*)?|library/application "
    r"support/(?:claude|claudecode|cursor|code/user|fairlead)(?:/.*)?"
    r"|\.git/hooks(?:/.*)?|\.husky(?:/.*)?|\.pre-commit-config\.yaml|lefthook\.ya?ml|\.lefthook(?:/.*)?|\.envrc)\Z"
)
# Most paths have nothing of this in them, and the long pattern need not be asked.
_HINT = lazy(r"/\.|fairlead|mcp\.json|lefthook|crush\.json|opencode\.json|application support|etc/c")
_SAMPLE = lazy(r"/\.git/hooks/[\w-]+\.sample\Z")
_HOOK_TOOLS = lazy(
    r"/(?:\.husky(?:/.*)?|\.pre-commit-config\.yaml|lefthook\.ya?ml|\.lefthook(?:/.*)?|\.envrc|\.vscode/(?:settings"
    r"|launch)\.json|\.aider[\w.-]*|\.idea/.*)\Z"
)
_PRODUCTS = lazy(r"(?:fairlead|claude|codex|gemini|qwen|cursor-agent|copilot|droid|goose|amp|opencode|crush|kimi)\Z")


def is_settings(plain: str) -> bool:
    """Say whether a folded path guards or drives an agent."""
    return _HINT.search(plain) is not None and _SETTINGS.search(plain) is not None and not _SAMPLE.search(plain)


def judge(effect: Effect, places: Places) -> Hit | None:
    """Return the verdict on changing what guards or drives an agent."""
    if (
        effect.kind not in ("write", "delete", "move", "permission", "link", "unpack")
        or not effect.path
        or effect.rule
        or effect.place
    ):
        return None
    for path in (effect.path, places.resolve("/", effect.path)):
        plain = folded(path).replace(STAR, "x").replace(UNKNOWN, "x")
        if is_settings(plain):
            return _changed(effect, path, plain)
    return None


def _changed(effect: Effect, path: str, plain: str) -> Hit | None:
    if effect.kind == "link" or (effect.kind == "permission" and not re.search(r"/(?:hooks|fairlead)", plain)):
        return None
    if _HOOK_TOOLS.search(plain):
        return (
            None
            if effect.kind in {"write", "permission"}
            else ("self.hook-tools", "ask", f"`{effect.words}` removes {shown(path)}, which guards commits", "")
        )
    rule = "self.git-hooks" if ".git/hooks" in plain else "self.settings"
    verb = {
        "write": "changes",
        "delete": "deletes",
        "move": "moves",
        "permission": "changes the rights of",
        "unpack": "unpacks over",
    }[effect.kind]
    decision = "deny" if "fairlead" in plain else "ask"
    return (
        rule,
        decision,
        f"`{effect.words}` {verb} {shown(path)}, which guards or drives an agent",
        "change it by hand, outside the agent",
    )


@reads("fairlead")
def _fairlead(call: Call) -> None:
    words = [arg for arg in call.args if not arg.startswith("-")]
    if words[:1] in (["uninstall"], ["trust"], ["init"]) or (words[:1] == ["serve"] and "--stop" in call.args):
        act(
            call,
            "settings",
            "self.fairlead",
            "changes whether and how Fairlead guards this project",
            "run it by hand, outside the agent",
            decision="deny",
        )


@reads(
    "claude",
    "codex",
    "gemini",
    "qwen",
    "copilot",
    "cursor-agent",
    "droid",
    "goose",
    "amp",
    "opencode",
    "crush",
    "aider",
    "kimi",
    "cline",
    "kilo",
    "agent",
)
def _agents(call: Call) -> None:
    text = " ".join(call.args)
    if re.search(
        r"--dangerously|--yolo|-y\b|bypassPermissions|--full-auto|--skip-permissions|--allow-all|--no-sandbox"
        r"|danger-full-access|--trust-all|--yes-always|approval_policy\W*never|sandbox_mode\W*danger|--auto-approve|--force",
        text,
    ):
        act(call, "settings", "self.unguarded-agent", "starts an agent that asks nobody")
    elif re.match(
        r"(?:config set|mcp (?:add|remove)|plugin(?:s)? (?:install|add|remove)|hooks|extensions? (?:install|uninstall"
        r"|disable)|update-settings)",
        text,
    ):
        act(call, "settings", "self.settings", "changes the settings of an agent")


@reads("pre-commit", "husky", "lefthook")
def _hook_tools(call: Call) -> None:
    if call.args[:1] == ["uninstall"]:
        act(call, "settings", "self.hook-tools", "removes the hooks that guard commits")


@reads("pkill", "killall", "kill")
def _kill(call: Call) -> None:
    if call.name == "pkill" and any(re.search(r"\b(?:guard|hooks?|tool-use)\b", arg) for arg in call.args):
        act(call, "settings", "self.fairlead", "stops what watches over the agent")
    if any(_PRODUCTS.match(arg) for arg in call.args) and "fairlead" in call.args:
        act(call, "settings", "self.fairlead", "stops Fairlead", decision="deny")
