"""What each agent can carry out, as a table: `python -m tests.dialects.capabilities` writes it into the docs."""

from __future__ import annotations

from pathlib import Path

from fairlead import dialects
from fairlead.dialects import AGENT_HALVES, HOOK_HALVES

PAGE = Path(__file__).resolve().parents[2] / "docs" / "dialects" / "README.md"
BEGIN, END = "<!-- the table: begin -->", "<!-- the table: end -->"

COLUMNS: tuple[tuple[str, str, tuple[str, ...]], ...] = (
    ("refuse", "PreToolUse", ("deny",)),
    ("ask", "PreToolUse", ("ask",)),
    ("allow", "PreToolUse", ("allow",)),
    ("other input", "PreToolUse", ("rewrite", "rewrite_over", "rewrite_if_allowed")),
    ("context", "PreToolUse", ("context",)),
    ("prompt: refuse", "UserPromptSubmit", ("deny",)),
    ("prompt: context", "UserPromptSubmit", ("context",)),
    ("result: refuse", "PostToolUse", ("deny",)),
    ("result: other", "PostToolUse", ("output",)),
    ("result: context", "PostToolUse", ("context",)),
    ("start: context", "SessionStart", ("context",)),
    ("stop: go on", "Stop", ("deny",)),
)


def table() -> str:
    names = [name for name, _, _ in COLUMNS]
    lines = [
        "| agent | " + " | ".join(names) + " | ends stop loops | waits | its hooks run here |",
        "|---|" + "---|" * (len(names) + 3),
    ]
    lines += [_row(agent) for agent in AGENT_HALVES]
    return "\n".join(lines)


def _row(agent: str) -> str:
    half = dialects.agent_half(agent)
    cells = [_cell(agent, event, words) for _, event, words in COLUMNS]
    last = [
        "itself" if half.CAPS_STOPS else "Fairlead",
        f"{half.DEADLINES['*']:g} s",
        "yes" if agent in HOOK_HALVES else "",
    ]
    return f"| [{agent}]({agent}.md) | " + " | ".join([*cells, *last]) + " |"


def _cell(agent: str, event: str, words: tuple[str, ...]) -> str:
    half = dialects.agent_half(agent)
    known = set(getattr(half, "EVENTS", {}).values())
    if known and event not in known:
        return "-"
    return "yes" if set(words) & half.CAN.get(event, half.CAN["*"]) else ""


def page(text: str) -> str:
    before, _, rest = text.partition(BEGIN)
    _, _, after = rest.partition(END)
    return f"{before}{BEGIN}\n{table()}\n{END}{after}"


if __name__ == "__main__":
    PAGE.write_text(page(PAGE.read_text()))
