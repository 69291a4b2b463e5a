"""Judge recorded events again, under the hooks that are in force now, and show what would be decided differently.

Only hooks that cannot change anything are really run (the guard); the others are taken to say what they said then.
Exit 0: nothing differs. Exit 1: something does, or nothing could be judged.
    fairlead replay --since 7d
    fairlead replay --tool Bash --project ../shop
"""

from __future__ import annotations

import os
import sys

from fairlead.cli import _journal, _show

TYPE_CHECKING = False
if TYPE_CHECKING:
    import argparse
    from collections.abc import Iterable, Iterator, Sequence
    from typing import Any

    from fairlead.api import Hooks
    from fairlead.journal.reading import Log, Wanted
    from fairlead.replaying import Judged


def main(words: list[str]) -> int:
    return _show.ending(_main, "replay", words)


def _main(words: list[str]) -> int:
    parser = _show.parser("replay", __doc__ or "")
    _journal.add_filters(parser)
    add = parser.add_argument
    add(
        "--project", metavar="DIR", type=_show.directory, help="with the hooks of this project, not of each event's own"
    )
    add("--trust-project", action="store_true", help="with the project's hooks too: you vouch for them")
    add("--run-all", action="store_true", help="really run every hook, whatever it does")
    add(
        "-n",
        "--count",
        type=_journal.count,
        default=50,
        metavar="COUNT",
        help="how many differences are shown; default 50",
    )
    options = parser.parse_args(words)
    from fairlead import replaying
    from fairlead.journal import settings
    from fairlead.journal.reading import Log
    from fairlead.journal.sharing import processors

    log, wanted = Log(settings.folder(os.environ)), _journal.wanted(options)
    judged = replaying.replay(
        log,
        log.all(wanted),
        lambda *key: _load(options, *key),
        run_all=options.run_all,
        workers=processors(),
    )
    found = _Found(_watched(judged, log, wanted, options), sys.maxsize if options.json else options.count)
    if options.json:
        _show.print_json(found.as_json())
    else:
        _print(found, [] if found.count else _journal.nothing(log, wanted))
    return 1 if found.differing or (found.count and not found.judged) else 0


def _load(options: argparse.Namespace, project: str, agent: str) -> Hooks:
    from fairlead import Hooks
    from fairlead.errors import InputError

    where = options.project or project
    if not os.path.isdir(where):
        raise InputError("its project is gone")
    return Hooks.load(where, agent=agent, own=False, trust_project=options.trust_project)


class _Found:
    """What came of it; only differences are kept, and only as many as are shown."""

    def __init__(self, judged: Iterable[Judged], most: int) -> None:
        self.count = 0
        self.differing = 0
        self.shown: list[Judged] = []
        self.problems: dict[str, int] = {}
        self.unasked: dict[str, int] = {}
        for one in judged:
            self.count += 1
            if one.problem:
                self.problems[one.problem] = self.problems.get(one.problem, 0) + 1
            for name in one.unasked:
                self.unasked[name] = self.unasked.get(name, 0) + 1
            self.differing += one.differs
            if one.differs and len(self.shown) < most:
                self.shown.append(one)

    @property
    def judged(self) -> int:
        return self.count - sum(self.problems.values())

    def as_json(self) -> dict[str, Any]:
        differences = [
            {"n": one.entry["n"], "was": one.entry["decision"], "now": one.now, "reason": one.reason,
             "agent": one.entry["agent"], "event": one.entry["event"], "tool": one.entry["tool"],
             "payload": one.entry["details"]["payload"], "updated_input": one.updated_input}
            for one in self.shown
        ]  # fmt: skip
        return {"judged": self.judged, "differences": differences,
                "not_judged": self.problems, "not_asked": self.unasked}  # fmt: skip


def _print(found: _Found, nothing: Sequence[str]) -> None:
    page = _show.Page()
    for one in found.shown:
        entry = one.entry
        changed = "other input" if one.now == entry["decision"] else one.now
        tool = f" {entry['tool']}" if entry["tool"] else ""
        page.rows(
            [
                (
                    (str(entry["n"]), "dim"),
                    [(entry["decision"], entry["decision"]), (" → ", "dim"), (changed, one.now)],
                    [(f"{entry['agent']} {entry['event']}{tool}  ", "dim"), (_journal.about(entry), "title"),
                     (f"\n{_show.shortened(one.reason, 300)}" if one.reason else "", "")],
                )
            ],
            widths=(len(str(entry["n"])), 13),
        )  # fmt: skip
    if found.differing > len(found.shown):
        page.line((f"… and {found.differing - len(found.shown):,} more; -n shows more, --json all of them", "dim"))
    if found.differing:
        page.line()
    for line in nothing:
        page.line(line)
    _print_sum(found, page)


def _print_sum(found: _Found, page: _show.Page) -> None:
    judged = found.judged
    calls = "event" if judged == 1 else "events"
    if found.differing:
        page.line((f"{found.differing:,} of {judged:,} {calls} would now be decided differently.", "title"))
    elif judged:
        page.line(f"{judged:,} {calls}: nothing would be decided differently.")
    elif found.count:
        page.line(("None of them could be judged again, so this proves nothing.", "error"))
    for problem, count in found.problems.items():
        page.line((f"{count:,} not judged: {problem}", "warning"))
    for name, count in found.unasked.items():
        said = f"{name} was not asked about {count:,} of them: it was another then, and may do more than judge."
        page.line((said, "warning"))


def _watched(judged: Iterator[Judged], log: Log, wanted: Wanted, options: argparse.Namespace) -> Iterator[Judged]:
    """With how many are judged, for who looks on."""
    from itertools import chain

    if options.json or not sys.stderr.isatty():
        yield from judged
        return
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TimeRemainingColumn

    total = sum(1 for _ in log.all(wanted))  # which takes a hundredth of the time that judging them does
    begun = next(judged, None)  # before there is a thread that draws: with one, no process can be started
    columns = (BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
    with Progress(*columns, console=Console(stderr=True), transient=True) as progress:
        task = progress.add_task("", total=total)
        for one in chain(() if begun is None else (begun,), judged):
            yield one
            progress.advance(task)
