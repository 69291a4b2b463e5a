"""What does not hold yet with a real agent, and why. A row whose test passes makes the suite fail: delete it then."""

from __future__ import annotations

GAPS: dict[tuple[str, str], str] = {}
