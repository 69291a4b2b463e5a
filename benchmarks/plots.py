"""Plots as SVG, without a library. They follow the reader's light or dark colours."""

from __future__ import annotations

import math
from collections.abc import Sequence
from html import escape
from typing import Any

WIDTH = 860
_LEFT, _RIGHT, _ROW, _TOP = 400, 120, 26, 46
_HEIGHT = 300
_COLOURS = ("#0969da", "#bf5700", "#1a7f37", "#8250df")
_DARK = ("#58a6ff", "#f0883e", "#3fb950", "#bc8cff")
_OURS = ("fairlead", "warm", "relay", "library", "guard, all", "append", "memory")
Rows = Sequence[dict[str, Any]]
"""Of each figure: `name`, `median`, `quartiles`, in the unit that is shown."""


def drawing(title: str, unit: str, rows: Rows, kind: str) -> str:
    return lines(title, unit, rows) if kind == "lines" else bars(title, unit, rows)


def bars(title: str, unit: str, rows: Rows) -> str:
    """A bar for each, with a line from quartile to quartile. The scale is of powers of ten where they differ much."""
    values = [row["median"] for row in rows]
    scale = _Scale(values + [row["quartiles"][1] for row in rows], WIDTH - _LEFT - _RIGHT)
    parts = []
    for number, row in enumerate(rows):
        y = _TOP + number * _ROW
        kind = "ours" if row["name"].startswith(_OURS) else "theirs"
        first, third = (_LEFT + scale(value) for value in row["quartiles"])
        end = _LEFT + scale(row["median"])
        parts += [
            f'<text x="{_LEFT - 8}" y="{y + 14}" text-anchor="end">{escape(row["name"])}</text>',
            f'<rect class="{kind}" x="{_LEFT}" y="{y + 3}" width="{max(1.0, end - _LEFT):.1f}" height="15" rx="2"/>',
            f'<path class="spread" d="M{first:.1f} {y + 10.5}H{third:.1f}"/>',
            f'<text x="{max(end, third) + 6:.1f}" y="{y + 14}">{_number(row["median"])} {unit}</text>',
        ]
    note = "scale: powers of ten" if scale.is_logarithmic else ""
    return _page(title, note, _TOP + len(rows) * _ROW + 10, parts)


def lines(title: str, unit: str, rows: Rows) -> str:
    """Figures are named `LINE: STEP`; steps stand at equal distances, for each is a multiple of the one before."""
    steps = list(dict.fromkeys(row["name"].rpartition(": ")[2] for row in rows))
    names = list(dict.fromkeys(row["name"].rpartition(": ")[0] for row in rows))
    left, right, bottom = 70, 270, _TOP + _HEIGHT
    scale = _Scale([row["median"] for row in rows], _HEIGHT - 20)
    places = {
        step: left + number * (WIDTH - left - right) / max(1, len(steps) - 1) for number, step in enumerate(steps)
    }
    parts = [f'<path class="axis" d="M{left} {_TOP}V{bottom}H{WIDTH - right}"/>']
    parts += [f'<text x="{x:.1f}" y="{bottom + 18}" text-anchor="middle">{step}</text>' for step, x in places.items()]
    for value in scale.ticks():
        y = bottom - scale(value)
        parts.append(f'<path class="grid" d="M{left} {y:.1f}H{WIDTH - right}"/>')
        parts.append(f'<text x="{left - 6}" y="{y + 4:.1f}" text-anchor="end">{_number(value)}</text>')
    taken: list[float] = []
    for number, name in enumerate(names):
        own = [row for row in rows if row["name"].rpartition(": ")[0] == name]
        points = [(places[row["name"].rpartition(": ")[2]], bottom - scale(row["median"])) for row in own]
        path = "L".join(f"{x:.1f} {y:.1f}" for x, y in points)
        y = _free(points[-1][1], taken)
        parts.append(f'<path class="line c{number}" d="M{path}"/>')
        parts += [f'<circle class="dot c{number}" cx="{x:.1f}" cy="{y:.1f}" r="3"/>' for x, y in points]
        parts.append(f'<text class="name c{number}" x="{WIDTH - right + 10}" y="{y + 4:.1f}">{escape(name)}</text>')
    return _page(title, unit, bottom + 34, parts)


def _free(wanted: float, taken: list[float]) -> float:
    """Names of lines that end together stand below each other."""
    while any(abs(wanted - other) < 15 for other in taken):
        wanted += 3
    taken.append(wanted)
    return wanted


class _Scale:
    def __init__(self, values: Sequence[float], length: float) -> None:
        self._most = max(values)
        least = min(value for value in values if value > 0)
        self.is_logarithmic = self._most / least > 30
        self._low = math.log10(least) - 0.3 if self.is_logarithmic else 0.0
        self._length = length

    def __call__(self, value: float) -> float:
        if not self.is_logarithmic:
            return value / self._most * self._length
        return max(
            0.0, (math.log10(max(value, 1e-12)) - self._low) / (math.log10(self._most) - self._low) * self._length
        )

    def ticks(self) -> list[float]:
        if not self.is_logarithmic:
            return [self._most * part / 4 for part in range(1, 5)]
        return [10.0**power for power in range(math.ceil(self._low), math.floor(math.log10(self._most)) + 1)]


def _number(value: float) -> str:
    return f"{value:,.0f}" if value >= 100 else f"{value:.3g}"


def _page(title: str, note: str, height: float, parts: Sequence[str]) -> str:
    light = "".join(f".c{n}{{--c:{colour}}}" for n, colour in enumerate(_COLOURS))
    dark = "".join(f".c{n}{{--c:{colour}}}" for n, colour in enumerate(_DARK))
    style = (
        "text{font:13px system-ui,sans-serif;fill:#1f2328}.title{font-weight:600;font-size:15px}"
        ".ours{fill:#0969da}.theirs{fill:#8c959f}.spread,.axis{stroke:#1f2328;fill:none}.grid{stroke:#d0d7de}"
        ".line{stroke:var(--c);fill:none;stroke-width:2}.dot,.name{fill:var(--c)}"
        + light
        + "@media(prefers-color-scheme:dark)"
        "{text{fill:#e6edf3}.ours{fill:#58a6ff}.theirs{fill:#6e7681}.spread,.axis{stroke:#e6edf3}.grid{stroke:#30363d}"
        ".dot,.name{fill:var(--c)}" + dark + "}"
    )
    head = (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {height:.0f}" role="img" '
        f'aria-label="{escape(title)}">\n<style>{style}</style>\n'
        f'<text class="title" x="10" y="22">{escape(title)}</text>'
        f'<text x="{WIDTH - 10}" y="22" text-anchor="end">{escape(note)}</text>\n'
    )
    return head + "\n".join(parts) + "\n</svg>\n"
