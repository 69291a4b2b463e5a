"""Codex runs a hook only after its user has trusted it, and says nothing about the others.

Trust is a hash for each hook in Codex's config.toml. It is the user's to give: we only look.
"""

from __future__ import annotations

import hashlib
import json
import os

from fairlead.errors import ConfigError
from fairlead.installing import files, jsonsettings, tomlsettings
from fairlead.installing.entries import is_ours

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Any

_DEFAULT, _SHORT = 600, {"SessionEnd": 1, "Interrupt": 1}


def untrusted(hooks_file: str, config_file: str) -> list[str]:
    """The events whose hooks of ours Codex would skip. Raises ConfigError for files that cannot be read."""
    content = files.look(hooks_file).content
    if content is None:
        return []
    trusted = _trusted(config_file)
    wanted = _hashes(os.path.abspath(hooks_file), jsonsettings.document(files.text_of(content)).value)
    return [event for event, key, value in wanted if trusted.get(key) != value]


def _trusted(config_file: str) -> dict[str, str]:
    content = files.look(config_file).content
    data = tomlsettings.parse(files.text_of(content)) if content is not None else {}
    hooks = data.get("hooks")
    state = hooks.get("state") if isinstance(hooks, dict) else None
    if not isinstance(state, dict):
        return {}
    return {
        key: str(entry.get("trusted_hash", ""))
        for key, entry in state.items()
        if isinstance(entry, dict) and entry.get("enabled") is not False
    }


def _hashes(file: str, data: dict[str, Any]) -> Iterator[tuple[str, str, str]]:
    """Event, key and hash of each of our hooks."""
    hooks = data.get("hooks")
    if not isinstance(hooks, dict):
        raise ConfigError("holds no hooks")
    for event, groups in hooks.items():
        for number, group in enumerate(groups if isinstance(groups, list) else []):
            for index, handler in enumerate(group.get("hooks", []) if isinstance(group, dict) else []):
                if is_ours(handler, "codex"):
                    snake = snake_case(event)
                    yield event, f"{file}:{snake}:{number}:{index}", hook_hash(event, snake, group, handler)


def hook_hash(event: str, snake: str, group: dict[str, Any], handler: dict[str, Any]) -> str:
    one = {
        "type": "command",
        "command": handler.get("command"),
        "async": bool(handler.get("async", False)),
        "timeout": handler.get("timeout", _SHORT.get(event, _DEFAULT)),
    }
    identity: dict[str, Any] = {"event_name": snake, "hooks": [one]}
    if group.get("matcher") is not None:
        identity["matcher"] = group["matcher"]
    text = json.dumps(identity, sort_keys=True, separators=(",", ":"), ensure_ascii=False)
    return "sha256:" + hashlib.sha256(text.encode()).hexdigest()


def snake_case(event: str) -> str:
    return "".join(f"_{letter.lower()}" if letter.isupper() else letter for letter in event).lstrip("_")
