"""What an organisation keeps for itself: keys of `fairlead.toml` for which a user's word does not count."""

from __future__ import annotations

import os

from fairlead import documents
from fairlead.errors import ConfigError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping

LOCKABLE = (
    "models", "mcp_servers", "allowed_http_urls", "approvers", "notify", "notify_after", "journal", "telemetry",
    "trust", "auto_allow", "files",
)  # fmt: skip


def managed_file(managed: str) -> str:
    return os.path.join(managed, "fairlead", "fairlead.toml")


def locked(managed: str, environ: Mapping[str, str]) -> frozenset[str]:
    """As `lock` in the managed file says; all that there is, while that cannot be read."""
    try:
        text = documents.read_text(managed_file(managed))
        table = documents.parse_toml(text, environ).get("policy", {}) if text and "lock" in text else {}
    except ConfigError:
        return frozenset(LOCKABLE)
    wanted = table.get("lock", []) if isinstance(table, dict) else None
    if not isinstance(wanted, list):
        return frozenset(LOCKABLE)
    keys = {key for key in wanted if key in LOCKABLE}
    return frozenset({*keys, "notify_after"} if "notify" in keys else keys)
