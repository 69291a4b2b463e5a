"""Judge recorded events again, under the hooks that are in force now, and show what would be decided differently.

Only hooks that cannot change anything are really run (the guard); the others are taken to say what they said then.
Exit 0: nothing differs. Exit 1: something does.
    fairlead replay --since 7d
    fairlead replay --tool Bash --project ../shop
"""

from __future__ import annotations

import os

from fairlead.cli import _journal, _show

TYPE_CHECKING = False
if TYPE_CHECKING:
    import argparse
    from collections.abc import Iterable, Iterator
    from typing import Any

    from fairlead.api import Hooks
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
    add("-n", "--count", type=int, default=50, metavar="COUNT", help="how many differences are shown; default 50")
    options = parser.parse_args(words)
    from fairlead import replaying
    from fairlead.journal import settings
    from fairlead.journal.reading import Log
    from fairlead.journal.sharing import processors

    log = Log(settings.folder(os.environ))
    judged = replaying.replay(
        log,
        log.all(_journal.wanted(options)),
        lambda *key: _load(options, *key),
        run_all=options.run_all,
        workers=processors(),
    )
    found = _Found(_watched(judged, options))
    if options.json:
        _show.print_json(found.as_json())
    else:
        _print(found, options.count)
    return 1 if found.differing else 0


def _load(options: argparse.Namespace, project: str, agent: str) -> Hooks:
    from fairlead import Hooks
    from fairlead.errors import InputError

    where = options.project or project
    if not os.path.isdir(where):
        raise InputError("its project is gone")
    return Hooks.load(where, agent=agent, own=False, trust_project=options.trust_project)


class _Found:
    """What came of it; only differences are kept."""

    def __init__(self, judged: Iterable[Judged]) -> None:
        self.count = 0
        self.differing: list[Judged] = []
        self.problems: dict[str, int] = {}
        self.unasked: dict[str, int] = {}
        for one in judged:
            self.count += 1
            if one.problem:
                self.problems[one.problem] = self.problems.get(one.problem, 0) + 1
            for name in one.unasked:
                self.unasked[name] = self.unasked.get(name, 0) + 1
            if one.differs:
                self.differing.append(one)

    def as_json(self) -> dict[str, Any]:
        differences = [
            {"n": one.entry["n"], "was": one.entry["decision"], "now": one.now, "reason": one.reason,
             "agent": one.entry["agent"], "event": one.entry["event"], "tool": one.entry["tool"],
             "payload": one.entry["details"]["payload"], "updated_input": one.updated_input}
            for one in self.differing
        ]  # fmt: skip
        return {"judged": self.count - sum(self.problems.values()), "differences": differences,
                "not_judged": self.problems, "not_asked": self.unasked}  # fmt: skip


def _print(found: _Found, most: int) -> None:
    page = _show.Page()
    for one in found.differing[:most]:
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
    if len(found.differing) > most:
        page.line((f"… and {len(found.differing) - most:,} more; -n shows more, --json all of them", "dim"))
    if found.differing:
        page.line()
    _print_sum(found, page)


def _print_sum(found: _Found, page: _show.Page) -> None:
    judged = found.count - sum(found.problems.values())
    calls = "event" if judged == 1 else "events"
    if found.differing:
        page.line((f"{len(found.differing):,} of {judged:,} {calls} would now be decided differently.", "title"))
    elif judged:
        page.line(f"{judged:,} {calls}: nothing would be decided differently.")
    elif not found.count:
        page.line("Nothing in the journal is like that.")
    for problem, count in found.problems.items():
        page.line((f"{count:,} not judged: {problem}", "warning"))
    for name, count in found.unasked.items():
        said = f"{name} was not asked about {count:,} of them: it was another then, and may do more than judge."
        page.line((said, "warning"))


def _watched(judged: Iterator[Judged], options: argparse.Namespace) -> Iterator[Judged]:
    """With how many are judged, for who looks on."""
    import sys
    from itertools import chain

    if options.json or not sys.stderr.isatty():
        yield from judged
        return
    from rich.console import Console
    from rich.progress import Progress, SpinnerColumn, TextColumn, TimeElapsedColumn

    columns = (SpinnerColumn(), TextColumn("{task.completed:,.0f} events"), TimeElapsedColumn())
    begun = next(judged, None)  # before there is a thread that draws: with one, no process can be started
    with Progress(*columns, console=Console(stderr=True), transient=True) as progress:
        task = progress.add_task("", total=None)
        for one in chain(() if begun is None else (begun,), judged):
            yield one
            progress.advance(task)
