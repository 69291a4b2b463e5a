"""Who may write what into a fairlead.toml; `[policy]`, the organisation's, and `[trust]`, which is no project's."""

from __future__ import annotations

import os

from fairlead.dialects._common import did_you_mean
from fairlead.locks import LOCKABLE, locked, managed_file

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from typing import Any

    from fairlead.dialects import Places
    from fairlead.dialects._common import Path, Reader

WHY = {
    "models": "a project does not choose where your keys and questions go",
    "mcp_servers": "a project does not choose what is started for your hooks",
    "allowed_http_urls": "a project does not choose where your hooks may call",
    "approvers": "a project does not choose who decides for you",
    "notify": "a project does not choose who hears of your questions",
    "notify_after": "a project does not choose who hears of your questions",
    "journal": "a project does not choose what is recorded",
    "telemetry": "a project does not choose who watches you",
    "trust": "a project does not vouch for itself",
    "auto_allow": "a project can only be stricter than you",
}
"""What no project's word counts for, and why."""
LAYERS = ("user", "project", "local", "plugin", "skill", "subagent")
KINDS = ("command", "python", "prompt", "agent", "http", "mcp_tool", "guard", "approval")
_POLICY_KEYS = ("require", "only_managed_hooks", "forbid", "lock")
_TRUST_KEYS = ("pins", "pass_env")
_PIN = "`fairlead trust` shows it: sha256: and 64 digits"
_HEX = frozenset("0123456789abcdef")
_TABLES = frozenset({"models", "mcp_servers", "journal", "telemetry", "trust", "policy"})
_YOURS = "your own fairlead.toml (~/.config/fairlead/fairlead.toml)"


def heeded(reader: Reader, data: dict[str, Any], places: Places) -> dict[str, Any]:
    """What this file may say; the rest is reported, with who may."""
    ignored = _ignored(reader.source.owner, data, places)
    for key, (whose, hint) in ignored.items():
        reader.warn((key,), f"{_shown(key)} of {whose} is ignored", hint)
    return {key: value for key, value in data.items() if key not in ignored} if ignored else data


def _ignored(owner: str, data: Mapping[str, Any], places: Places) -> dict[str, tuple[str, str]]:
    if owner == "managed":
        return {}
    whose = "a project" if owner == "project" else "a user"
    found = {"policy": (whose, f"it belongs into {managed_file(places.managed)}, which is the organisation's")}
    if owner == "project":
        found |= {key: (whose, f"it belongs into {_YOURS}: {why}") for key, why in WHY.items()}
    else:
        by = f"{managed_file(places.managed)} keeps it for the organisation"
        found |= dict.fromkeys(locked(places.managed, places.environ), (whose, by))
    return {key: said for key, said in found.items() if key in data}


def _shown(key: str) -> str:
    return f"[{key}]" if key in _TABLES else key


# --- [policy] ----------------------------------------------------------------------------------------


def policy(reader: Reader, table: Any) -> dict[str, Any]:
    """What is written wrongly is reported, and said under `broken`: nobody knows what it was to require or forbid."""
    sound = len(reader.problems)
    found = _policy(reader, table) if reader.expect(table, dict, ("policy",), "[policy] must be a table") else {}
    wrong = reader.problems[sound:]
    return {**found, "broken": f"{wrong[0].file}:{wrong[0].line}: {wrong[0].message}"} if wrong else found


def _policy(reader: Reader, table: Mapping[str, Any]) -> dict[str, Any]:
    reader.only(table, _POLICY_KEYS, ("policy",))
    _names(reader, table, "lock", LOCKABLE)  # who reads such a table asks `locked`
    only = table.get("only_managed_hooks", False)
    reader.expect(only, bool, ("policy", "only_managed_hooks"), "only_managed_hooks must be true or false")
    return {
        "require": _names(reader, table, "require"),
        "only_managed_hooks": only is True,
        "forbid": frozenset(_names(reader, table, "forbid", (*KINDS, *LAYERS, *_dialects()))),
    }


def _dialects() -> tuple[str, ...]:
    from fairlead.dialects import HOOK_HALVES

    return HOOK_HALVES


def _names(reader: Reader, table: Mapping[str, Any], key: str, known: tuple[str, ...] = ()) -> tuple[str, ...]:
    path: Path = ("policy", key)
    if not reader.expect(table.get(key, []), list, path, f"{key} must be a list of names"):
        return ()
    found = []
    for name in table.get(key, []):
        if isinstance(name, str) and (name in known if known else name.strip()):
            found.append(name)
        else:
            reader.problem(path, f"{key}: {name!r} is no name", did_you_mean(str(name), known) if known else "")
    return tuple(found)


# --- [trust] -----------------------------------------------------------------------------------------


def trust(reader: Reader, table: Any) -> dict[str, Any]:
    """What is no digest and no name is reported, and vouches for nothing."""
    if not reader.expect(table, dict, ("trust",), "[trust] must be a table"):
        return {}
    reader.only(table, _TRUST_KEYS, ("trust",))
    return {
        "pins": [digest for digest in map(_digest, _texts(reader, table, "pins", _digest, _PIN)) if digest],
        "pass_env": _texts(reader, table, "pass_env", str.strip, 'the name of a variable, such as "GITHUB_TOKEN"'),
    }


def _texts(reader: Reader, table: Mapping[str, Any], key: str, sense: Callable[[str], str], expected: str) -> list[str]:
    """The texts of a list that have a sense."""
    if not reader.expect(table.get(key, []), list, ("trust", key), f"{key} must be a list"):
        return []
    found = []
    for index, text in enumerate(table.get(key, [])):
        if isinstance(text, str) and sense(text):
            found.append(text)
        else:
            reader.problem(("trust", key, index), f"{key}: {text!r} counts for nothing", expected)
    return found


def _digest(text: str) -> str:
    digest = text.strip().lower().removeprefix("sha256:")
    return digest if len(digest) == 64 and _HEX.issuperset(digest) else ""


# --- what a hook of a project may not say ------------------------------------------------------------


def failing(reader: Reader, wish: str, path: Path, *, guards: bool) -> str:
    """`on_error` of one hook; `guards`: whether it would deny if nobody said anything."""
    if wish != "allow" or not guards or reader.source.owner != "project":
        return wish
    said = 'on_error = "allow" of a project is ignored where a failure denies'
    reader.warn(path, said, f"write the hook into {_YOURS} if its failure should let calls through")
    return ""


def outside(reader: Reader, file: str, places: Places) -> bool:
    """Whether a file that `[files]` names is none of the project's that names it."""
    if reader.source.owner != "project":
        return False
    path = os.path.normpath(os.path.join(places.project, file))
    root = places.project.rstrip(os.sep) + os.sep
    own = path.startswith(root) and not file.startswith("~") and not _is_users(path, places)
    if not own:
        said = f"[files] of a project is ignored for {file}, which is not the project's"
        reader.warn(("files", file), said, f"it belongs into {_YOURS}")
    return not own


def _is_users(path: str, places: Places) -> bool:
    """In the home directory itself: the files of the user lie in the project."""
    folders = (os.path.join(places.home, ".claude"), places.config)
    inside = (folder for folder in folders if folder.startswith(places.project.rstrip(os.sep) + os.sep))
    return places.home == places.project and any(path.startswith(folder + os.sep) for folder in inside)
