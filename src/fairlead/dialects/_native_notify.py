"""`notify` and `notify_after` in `fairlead.toml`: where the server tells people that a question waits."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any

    from fairlead.dialects._common import Reader

LONGEST = 24 * 3600.0
"""Seconds that chats may be kept waiting."""


def check_notify(reader: Reader, data: Mapping[str, Any]) -> None:
    """For `fairlead check`; the server reads them by itself."""
    for key, problem in read_fields(data)[2]:
        reader.problem((key,), problem, "it is not heeded")


def read_fields(data: Mapping[str, Any]) -> tuple[tuple[str, ...], float, list[tuple[str, str]]]:
    """What they mean, and by key what is wrong with them. No address is repeated: it is a password."""
    problems = []
    urls, after = data.get("notify", []), data.get("notify_after", 0)
    if not isinstance(urls, list) or not all(isinstance(url, str) and url.strip() for url in urls):
        problems.append(("notify", 'notify must be a list of addresses, such as ["ntfy://…"]'))
        urls = []
    seconds = waiting_seconds(after)
    if seconds is None:
        problems.append(("notify_after", 'notify_after must be a time of up to a day, such as "30s"'))
    return tuple(urls), seconds or 0.0, problems


def waiting_seconds(value: object) -> float | None:
    """A number of seconds, or a number and its unit; 0 is at once, None for what is no such time."""
    from fairlead.dialects._native_values import seconds_in

    if value == 0 and not isinstance(value, bool):
        return 0.0
    seconds = seconds_in(value)
    return seconds if seconds is not None and seconds <= LONGEST else None
