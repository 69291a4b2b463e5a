"""Hooks that wait for somebody's trust, and are passed over in silence until then."""

from __future__ import annotations

import os

from fairlead import documents
from fairlead.doctor import facts
from fairlead.doctor.finding import OURSELVES, Finding
from fairlead.errors import ConfigError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Any

    from fairlead.dialects import Places
    from fairlead.doctor.scene import Entry, Scene
    from fairlead.trust.reviewing import Seen

_OF_PROJECT = ("project", "local")


def check(scene: Scene) -> Iterator[Finding]:
    for agent, look in _LOOKS.items():
        entries = scene.of(agent) if agent in scene.agents else []
        if entries:
            yield from look(entries, scene.places)
    yield from _ours(scene)


def _parents(path: str) -> list[str]:
    """A folder and those around it, also behind symbolic links."""
    found: list[str] = []
    for folder in (os.path.abspath(path), os.path.realpath(path)):
        here = folder
        while here not in found:
            found.append(here)
            here = os.path.dirname(here)
    return found


def _load(path: str, *, toml: bool = False) -> dict[str, Any]:
    """What a file of the agent's own says; empty where it cannot be read."""
    from fairlead.dialects import _comments
    from fairlead.installing import tomlsettings

    try:
        text = documents.read_text(path) or ""
        data = tomlsettings.parse(text) if toml else _comments.parse(text or "{}")
    except ConfigError:
        return {}
    return data if isinstance(data, dict) else {}


def _inside(data: object, *names: str) -> Any:
    for name in names:
        data = data.get(name) if isinstance(data, dict) else None
    return data


# --- Claude Code -------------------------------------------------------------------------------------


def _claude_code(entries: list[Entry], places: Places) -> Iterator[Finding]:
    folder = places.environ.get("CLAUDE_CONFIG_DIR") or places.home
    projects = _load(os.path.join(folder, ".claude.json")).get("projects")
    if any(_inside(projects, parent, "hasTrustDialogAccepted") is True for parent in _parents(places.project)):
        return
    if any(entry.file.layer != "managed" for entry in entries):
        what = (
            f"you have not trusted {places.project} in Claude Code: until then it runs no hooks there, not even yours"
        )
        fix = "start `claude` there once and accept the folder (with -p it asks nobody, and runs them)"
        yield Finding(level="warning", agent="claude-code", check="trust", message=what, fix=fix)


# --- Codex -------------------------------------------------------------------------------------------


def _codex(entries: list[Entry], places: Places) -> Iterator[Finding]:
    home = places.environ.get("CODEX_HOME") or os.path.join(places.home, ".codex")
    config = os.path.join(home, "config.toml")
    data = _load(config, toml=True)
    of_project = [entry for entry in entries if entry.file.layer in _OF_PROJECT]
    if of_project and not _codex_trusts(data, places):
        what = f"Codex does not trust {places.project}: it reads none of the hooks in it, and does not say so"
        fix = f'start `codex` there and trust the folder; it then writes trust_level = "trusted" into {config}'
        yield of_project[0].file.found("trust", "error", ("hooks",), what, fix)
    yield from _codex_hooks(entries, _inside(data, "hooks", "state"))


def _codex_hooks(entries: list[Entry], state: object) -> Iterator[Finding]:
    """One finding for each file: who has forgotten one has forgotten all."""
    skipped: dict[tuple[str, str], list[Entry]] = {}
    for entry in entries:
        why = _why_skipped(entry, state)
        if why:
            skipped.setdefault((entry.file.path, why), []).append(entry)
    for (_, why), found in skipped.items():
        level, message, fix = _SKIPPED[why]
        what = message.format(hooks="a hook is" if len(found) == 1 else f"{len(found)} hooks are")
        events = ", ".join(dict.fromkeys(entry.event for entry in found))
        yield found[0].found("trust", level, f"{what} ({events})", fix)


_SKIPPED = {
    "off": ("note", "{hooks} switched off in Codex", "type /hooks in Codex to have it back"),
    "changed": ("error", "{hooks} not as you have trusted it: Codex skips such hooks without a word",
                "start `codex`, type /hooks and look at each"),
    "untrusted": ("error", "{hooks} not trusted: Codex skips such hooks without a word",
                  "start `codex`, choose “Trust all” where it says that hooks need review, or type /hooks"),
}  # fmt: skip


def _codex_trusts(data: dict[str, Any], places: Places) -> bool:
    return any(_inside(data, "projects", one, "trust_level") == "trusted" for one in _parents(places.project))


def _why_skipped(entry: Entry, state: object) -> str:
    is_in_group = len(entry.path) == 5 and isinstance(entry.path[2], int)  # hooks, event, group, hooks, index
    if not is_in_group or entry.kind != "command" or entry.file.layer in ("managed", "plugin"):
        return ""
    known = _inside(state, codex_key(entry))
    if _inside(known, "enabled") is False:
        return "off"
    trusted = _inside(known, "trusted_hash")
    return "" if trusted == codex_hash(entry) else "changed" if trusted else "untrusted"


def codex_key(entry: Entry) -> str:
    from fairlead.installing.codextrust import snake_case

    return f"{os.path.abspath(entry.file.path)}:{snake_case(entry.event)}:{entry.path[2]}:{entry.path[4]}"


def codex_hash(entry: Entry) -> str:
    """As `installing.codextrust` has it for our own hooks."""
    from fairlead.installing.codextrust import hook_hash, snake_case

    group = {} if entry.matcher is None else {"matcher": entry.matcher}
    return hook_hash(entry.event, snake_case(entry.event), group, dict(entry.handler))


# --- Gemini CLI and Qwen Code ------------------------------------------------------------------------


def _gemini(entries: list[Entry], places: Places) -> Iterator[Finding]:
    home = os.path.join(places.environ.get("GEMINI_CLI_HOME") or places.home, ".gemini")
    if places.environ.get("GEMINI_CLI_TRUST_WORKSPACE") != "true":
        yield from _folder_trust(entries, places, home, default=True)


def _qwen(entries: list[Entry], places: Places) -> Iterator[Finding]:
    of_project = [entry for entry in entries if entry.file.layer in _OF_PROJECT]
    if of_project:
        home = places.environ.get("QWEN_HOME") or os.path.join(places.home, ".qwen")
        yield from _folder_trust(of_project, places, home, default=False)


def _folder_trust(entries: list[Entry], places: Places, home: str, *, default: bool) -> Iterator[Finding]:
    enabled = _inside(_load(os.path.join(home, "settings.json")), "security", "folderTrust", "enabled")
    if enabled is False or (enabled is None and not default):
        return
    word = _trusted_word(_load(os.path.join(home, "trustedFolders.json")), places.project)
    agent, title = entries[0].agent, facts.title(entries[0].agent)
    scope = "all hooks" if default else "the project's hooks"
    fix = f"start {agent} in it and trust the folder, or see /permissions"
    if word == "DO_NOT_TRUST":
        what = f"you have told {title} not to trust {places.project}: {scope} are off there"
        yield Finding(level="error", agent=agent, check="trust", message=what, fix=fix)
    elif not word:
        what = f"{title} has not been told to trust {places.project}: in an untrusted folder {scope} are off"
        yield Finding(level="warning", agent=agent, check="trust", message=what, fix=fix)


def _trusted_word(folders: dict[str, Any], project: str) -> str:
    """What is said about the nearest folder around the project."""
    for parent in _parents(project):
        if parent in folders:
            return str(folders[parent])
        below = [folder for folder, word in folders.items() if word == "TRUST_PARENT"]
        if any(os.path.dirname(folder) == parent for folder in below):
            return "TRUST_PARENT"
    return ""


# --- Grok --------------------------------------------------------------------------------------------


def _grok(entries: list[Entry], places: Places) -> Iterator[Finding]:
    of_project = [entry for entry in entries if entry.file.layer in _OF_PROJECT]
    path = os.path.join(places.home, ".grok", "trusted_folders.toml")
    try:
        text = documents.read_text(path) or ""
    except ConfigError:
        text = ""
    if of_project and not any(f'"{one}"' in text for one in _parents(places.project) if one != "/"):
        what = f"Grok Build does not trust {places.project}: it skips the hooks in it"
        yield of_project[0].file.found("trust", "error", ("hooks",), what, "type /hooks-trust in it, there")


_LOOKS = {"claude-code": _claude_code, "codex": _codex, "gemini": _gemini, "qwen": _qwen, "grok": _grok}


# --- ours --------------------------------------------------------------------------------------------


def _ours(scene: Scene) -> Iterator[Finding]:
    """Hooks of the project that Fairlead leaves out, because nobody has looked at them, or not since they changed."""
    from fairlead.installing import commands
    from fairlead.trust.reviewing import review

    calls = [call for entry in scene.entries if (call := commands.known(entry.handler))]
    if all(call.trust_project for call in calls):  # or nobody calls us
        return
    found = review(scene.places)
    if found.lost:
        what = f"nobody can say which hooks of {found.project} you have trusted"
        yield Finding(level="error", agent=OURSELVES, check="trust", message=what, fix=found.lost)
    for seen in found.waiting if not found.refused else ():
        yield _waiting(seen)
    for one in found.gone if not found.refused else ():
        what = f"the hook {one.name} in {one.file}, which you have trusted, is not there any more"
        yield Finding(level="error", agent=OURSELVES, check="trust", message=what, fix="`fairlead trust` accepts that")


def _waiting(seen: Seen) -> Finding:
    origin = seen.hook.origin
    changed = seen.state == "changed"
    refused = "is not what you have trusted, and what it guards is refused"
    state = refused if changed else "does not run: nobody has trusted it"
    return Finding(
        level="error" if changed else "warning",
        agent=OURSELVES,
        check="trust",
        message=f"the project's hook {seen.hook.name} {state}",
        fix="look at it, and say whether it may run: `fairlead trust`",
        file=origin.file,
        line=origin.line,
        column=1,
    )
