"""How often, how decided, how slow: the journal in numbers.

By agent, tool, hook and day; the slowest hooks, those that fail, and those that have never matched anything.
    fairlead stats --since 7d
    fairlead stats --by hook --agent codex
    fairlead stats --project . --json
"""

from __future__ import annotations

import os

from fairlead.cli import _journal, _show

TYPE_CHECKING = False
if TYPE_CHECKING:
    import argparse
    from collections.abc import Sequence
    from typing import Any

    from fairlead.api import Hooks
    from fairlead.journal.counting import Counts, Seen

_BY = ("agent", "tool", "hook", "decision", "day", "hour", "project")
_TITLES = {"day": "Days", "hour": "Hours", "agent": "Agents", "tool": "Tools", "hook": "Hooks, the slowest",
           "decision": "Decisions", "project": "Projects"}  # fmt: skip
_SHORT_TIME = 3 * 86400
"""Seconds in which hours say more than days."""
_MOST_LOADED = 50
"""Projects and agents whose hooks are looked at, those with the most events first."""
_NAME, _BAR = 22, 8


def main(words: list[str]) -> int:
    return _show.ending(_main, "stats", words)


def _main(words: list[str]) -> int:
    options = _parser().parse_args(words)
    if options.gently:
        os.nice(15)
    found = _show.concealed(report(options))
    if options.json:
        _show.print_json(found)
    else:
        _print(found, options)
    return 0


def _parser() -> _show.Parser:
    import argparse

    parser = _show.parser("stats", __doc__ or "")
    add = parser.add_argument
    add("--by", default="", choices=("", *_BY), metavar="WHAT", help=f"only this table: {', '.join(_BY)}")
    _journal.add_filters(parser)
    add("--project", metavar="DIR", type=_show.directory, help="only this project")
    add(
        "-n",
        "--count",
        type=_journal.count,
        default=10,
        metavar="COUNT",
        help="how many rows of each table; default 10",
    )
    add("--gently", action="store_true", help=argparse.SUPPRESS)  # for the server, whose other work comes first
    return parser


# --- the numbers -------------------------------------------------------------------------------------


def report(options: argparse.Namespace) -> dict[str, Any]:
    from fairlead.journal import settings
    from fairlead.journal.counting import Counts
    from fairlead.journal.reading import Log

    wanted = _journal.wanted(options)
    of_time_alone = wanted.but(since=0.0, until=0.0) == type(wanted)()
    looks_for_unused = of_time_alone and options.by in ("", "hook")
    counts = Counts(
        Log(settings.folder(os.environ)),
        groups=_groups(options, wanted.since, wanted.until),
        project=options.project or "",
        projects=looks_for_unused,
    )
    counts.count(wanted)
    found = counts.as_dict()
    if looks_for_unused:
        found["unused"], found["projects_left_out"] = _unused(counts, options.project or "")
    return found


def _groups(options: argparse.Namespace, since: float, until: float) -> list[str]:
    import time

    if options.by:
        return [options.by]
    is_short = since and (until or time.time()) - since <= _SHORT_TIME
    return ["day", *(["hour"] if is_short else []), "agent", "tool", "hook"]


def _unused(counts: Counts, project: str) -> tuple[list[dict[str, Any]], int]:
    from fairlead.journal.counting import Seen, Unused

    places = dict(counts.projects)
    if project and not places:
        places[project] = Seen()
    pairs = [(path, agent) for path, seen in _busiest(places) for agent in seen.agents or ("",) if os.path.isdir(path)]
    unused = Unused()
    for path, agent in pairs[:_MOST_LOADED]:
        unused.add(path, places[path], _load(path, agent))
    return list(unused), max(len(pairs) - _MOST_LOADED, 0)


def _busiest(places: dict[str, Seen]) -> list[tuple[str, Seen]]:
    return sorted(places.items(), key=lambda pair: -sum(pair[1].events.values()))


def _load(project: str, agent: str) -> Hooks:
    from fairlead import Hooks

    return Hooks.load(project, agent=agent, own=False)


# --- for people --------------------------------------------------------------------------------------


def _print(found: dict[str, Any], options: argparse.Namespace) -> None:
    page = _show.Page()
    if not found["events"]:
        for line in _found_nothing(options):
            page.line(line)
    else:
        _print_sum(found, page)
        for group, rows in found["by"].items():
            if rows and not (group == "day" and "hour" in found["by"]):
                page.line()
                _print_table(group, rows, options.count, page)
    _print_failing(found["by"].get("hook", ()), options.count, page)
    if "unused" in found:
        _print_unused(found, options.count, page)
    if found["unreadable"]:
        page.line(
            (f"{_show.counted(found['unreadable'], 'line')} could not be read: `fairlead log --verify`", "warning")
        )


def _found_nothing(options: argparse.Namespace) -> list[str]:
    from fairlead.journal import settings
    from fairlead.journal.reading import Log

    return _journal.nothing(Log(settings.folder(os.environ)), _journal.wanted(options))


def _print_sum(found: dict[str, Any], page: _show.Page) -> None:
    events, times = found["events"], found["times"]
    calls = f"{found['calls']:,} tool {'call' if found['calls'] == 1 else 'calls'}"
    when = f"{_journal.clock(found['first'])[:-3]} to {_journal.clock(found['last'])[:-3]}"
    page.line([(f"{events:,} {'event' if events == 1 else 'events'}", "title"), (f", {calls}, {when}", "")])
    said = [f"{word} {count:,}" for word, count in found["decisions"].items() if count and word != "none"]
    parts = [*said, f"{found['failed']:,} with a hook that failed" if found["failed"] else "no hook failed"]
    page.line(", ".join(parts))
    page.line(
        f"answered within {_time(times['p50'])} (half), {_time(times['p95'])} (95 %), {_time(times['p99'])} (99 %)"
    )


def _print_table(group: str, rows: Sequence[dict[str, Any]], most: int, page: _show.Page) -> None:
    is_time = group in ("day", "hour")
    shown = rows[max(len(rows) - most, 0) :] if is_time else rows[:most]
    page.line((_heading(group), "title"))
    highest = max((row["count"] for row in shown), default=0)
    for row in shown:
        page.line(_table_row(group, row, highest), indent=2)
    if len(rows) > most:
        left = f"… and {len(rows) - most:,} {'before' if is_time else 'more'}; -n shows more, --json all of them"
        page.line((left, "dim"), indent=2)


def _heading(group: str) -> str:
    titles = ["runs" if group == "hook" else "events", "refused", "failed", "p50", "p95", "p99"]
    return f"{_TITLES[group]:<{_NAME + 2}}" + "".join(f"{title:>8}" for title in titles)


def _table_row(group: str, row: dict[str, Any], highest: int) -> list[_show.Span]:
    name = _short(_show.near(row["name"]) if group == "project" else row["name"])
    failed = f"{row['failed']:,}"
    times = "".join(f"{_time(row[key]):>8}" for key in ("p50", "p95", "p99"))
    return [
        (f"{name:<{_NAME}}", ""),
        (f"{row['count']:>8,}", ""),
        (f"{row['refused']:>8,}", "deny" if row["refused"] else "dim"),
        (f"{failed:>8}", "error" if row["failed"] else "dim"),
        (times, ""),
        (f" {bar(row['count'], highest, _BAR - 3)}", "dim"),
    ]


def _short(name: str) -> str:
    """The end says more than the middle."""
    name = _show.visible(name)
    return name if len(name) <= _NAME else f"{name[:8]}…{name[-_NAME + 9 :]}"


def _time(ms: float) -> str:
    if ms >= 10_000:
        return f"{ms / 1000:.0f} s"
    if ms >= 1000:
        return f"{ms / 1000:.1f} s"
    return f"{ms:.0f} ms" if ms >= 10 else f"{ms:.1f} ms"


def bar(value: float, highest: float, width: int) -> str:
    """In eighths of a character; what is there at all shows."""
    eighths = max(round(value / highest * width * 8), 1 if value else 0) if highest else 0
    whole, rest = divmod(eighths, 8)
    return "█" * whole + (" ▏▎▍▌▋▊▉"[rest] if rest else "")


def _print_failing(hooks: Sequence[dict[str, Any]], most: int, page: _show.Page) -> None:
    failing = sorted((row for row in hooks if row["failed"]), key=lambda row: -int(row["failed"]))[:most]
    if failing:
        page.line()
        page.line(("Failing", "title"))
    for row in failing:
        late = f", {row['late']:,} timed out" if row["late"] else ""
        said = f"  {row['failed']:,} of {row['count']:,} {'run' if row['count'] == 1 else 'runs'} failed{late}"
        page.line([(row["name"][:40], ""), (said, "error")], indent=2)


def _print_unused(found: dict[str, Any], most: int, page: _show.Page) -> None:
    unused = found["unused"]
    if unused:
        page.line()
        page.line(("Never matched", "title"))
    for hook in unused[:most]:
        page.line([(hook["name"][:40], ""), (f"  {hook['why']}", "warning")], indent=2)
        where = f"{_show.near(hook['file'])}:{hook['line']}" if hook["file"] else "code"
        parts = (", ".join(hook["events"]), hook["matcher"][:40], hook["runs"][:80], where)
        page.line((" · ".join(filter(None, parts)), "dim"), indent=4)
    if len(unused) > most:
        page.line((f"… and {len(unused) - most:,} more; -n shows more", "dim"), indent=2)
    if found["projects_left_out"]:
        page.line((f"The hooks of {found['projects_left_out']:,} more projects were not looked at.", "dim"))
