"""Which files guard or drive an agent: its settings, hooks, plugins and what it trusts."""

from __future__ import annotations

from fairlead.guard._lazy import lazy

_REST = r"(?:/.*)?"
# Of these directories only some files say what an agent may do; the rest is history, caches and notes.
_SOME_FILES = {
    r"\.claude": (
        r"settings[\w.-]*\.json|hooks(?:/.*)?|hooks\.json|plugins/.*|\.credentials\.json|managed[\w-]*\.json|claude\.md"
        r"|commands/.*|agents/.*|skills/.*|statusline[\w.-]*|keybindings\.json"
    ),
    r"\.codex": r"config\.toml|hooks(?:/.*|\.json)?|auth\.json|rules/.*|prompts/.*|agents\.md|trust[\w.-]*|plugins/.*",
    r"\.gemini": (
        r"settings\.json|hooks(?:/.*)?|trusted[\w.-]*|extensions/.*|\.env|policies/.*|oauth_creds\.json|config(?:/.*)?"
        r"|antigravity[\w-]*(?:/.*)?"
    ),
    r"\.qwen": r"settings\.json|hooks(?:/.*)?|trusted[\w.-]*|extensions/.*|policies/.*",
    r"\.cursor": (
        r"hooks(?:\.json|/.*)?|mcp\.json|rules/.*|settings\.json|cli[\w-]*\.json|permissions\.json|environment\.json"
    ),
    r"\.kiro": r"(?:settings|hooks|agents|steering)(?:/.*)?",
    r"\.agents": r"hooks(?:\.json|/.*)?|plugins(?:/.*)?|settings\.json",
    r"\.github": r"hooks(?:/.*)?|copilot(?:/.*)?",
    r"\.vscode": r"(?:settings|mcp|tasks|launch)\.json",
    r"\.idea": r"(?:workspace|externaldependencies)\.xml",
}
_NEVER_WHOLE = frozenset({r"\.github", r"\.vscode", r"\.idea", r"\.agents"})
_DIRECTORIES = (
    "copilot windsurf codeium devin cline clinerules roo factory droid augment goose crush kimi kimi-code junie grok "
    "openhands hermes vibe antigravity opencode kilocode kilo amp amcp codemie code-agent claude-agent continue "
    "abacusai tabnine codex-plugin claude-plugin cursor-plugin fairlead lefthook husky"
).split()
_CONFIGURED = (
    "gemini fairlead github-copilot opencode goose crush amp kilo kilocode devin zed claude codex kiro openhands "
    "hermes vibe qwen kimi junie grok augment factory cursor amcp codemie code-agent claude-agent "
    "windsurf cline continue tabnine"
).split()
_ALONE = (
    r"\.claude\.json|\.cursorrules|\.cursorignore|\.goosehints|\.?crush\.json|\.?opencode\.jsonc?|\.aider[\w.-]*"
    r"|\.mcp\.json|mcp\.json|trusted_(?:hooks\.json|folders\.(?:toml|json))|fairlead(?:\.tests)?\.toml"
    r"|\.pre-commit-config\.yaml|lefthook\.ya?ml|\.envrc|\.windsurfrules|kilo\.jsonc?|\.kilocodemodes|\.roomodes"
)
_ELSEWHERE = (
    r"\.config/(?:code(?: - insiders)?|vscodium|cursor|windsurf|devin)/user/(?:settings|mcp|tasks|keybindings)\.json"
    r"|\.(?:cache|local/share|local/state)/fairlead(?:/.*)?|\.local/share/(?:opencode|goose|crush|amp)/(?:auth|config|mcp)\S*"
    r"|etc/(?:fairlead|claude-code|codex|augment|github-copilot|gemini-cli|qwen-code|cursor|devin|kiro|opencode)(?:/.*)?"
    r"|library/(?:application support|caches)/(?:claude|claudecode|cursor|code/user|fairlead|geminicli|augment)(?:/.*)?"
    r"|program(?:data| files)/(?:claudecode|fairlead|cursor|gemini-cli)(?:/.*)?|\.git/hooks(?:/.*)?"
    r"|documents/cline/(?:hooks|rules)(?:/.*)?"
)


def _source() -> str:
    some = [
        f"{name}/(?:{files})" if name in _NEVER_WHOLE else f"{name}(?:/(?:{files}))?"
        for name, files in _SOME_FILES.items()
    ]
    whole = [rf"\.(?:{'|'.join(_DIRECTORIES)}){_REST}", rf"\.config/(?:{'|'.join(_CONFIGURED)}){_REST}"]
    return rf"/(?:{'|'.join([*some, *whole, _ALONE, _ELSEWHERE])})\Z"


_SETTINGS = lazy(_source())
# Most paths have nothing of this in them, and the long pattern need not be asked.
_HINT = lazy(
    r"/\.|fairlead|mcp\.json|lefthook|crush\.json|opencode\.json|kilo\.json|trusted_|application support|etc/|program"
    r"|library/caches|documents/cline"
)
_SAMPLE = lazy(r"/\.git/hooks/[\w-]+\.sample\Z")
# They are part of the project and edited with it; what is written into them is read instead.
HOOK_TOOLS = lazy(
    r"/(?:\.husky(?:/.*)?|\.pre-commit-config\.yaml|lefthook\.ya?ml|\.lefthook(?:/.*)?|\.envrc|\.vscode/(?:settings"
    r"|launch|tasks)\.json|\.aider[\w.-]*|\.idea/.*)\Z"
)


def settings_part(plain: str) -> str:
    """Return the part of a folded path that names what guards or drives an agent, or ""."""
    if _HINT.search(plain) is None or _SAMPLE.search(plain):
        return ""
    found = _SETTINGS.search(plain)
    return found[0] if found else ""
