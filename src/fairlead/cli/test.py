"""Try the hooks of this project: the cases in fairlead.tests.toml, and whether each comes out as it should.

Hooks really run, as in a test of any other program, in a scratch copy of the project and with a home of their own.
People, models and servers are not asked; a case says what they say. Exit 0: all is as it should be. Exit 1: it is not.
    fairlead test
    fairlead test -k push --junit report.xml
    fairlead test --record 1204 1207
"""

from __future__ import annotations

import os
import sys

from fairlead.cli import _show

TYPE_CHECKING = False
if TYPE_CHECKING:
    import argparse
    from collections.abc import Sequence
    from typing import Any

    from fairlead.errors import Problem
    from fairlead.testing.cases import Case, Where
    from fairlead.testing.reading import Suite
    from fairlead.testing.running import Outcome

_EXAMPLE = """\
Write one, such as:

[[case]]
command = "git push --force"
decision = "deny"
"""
_WIDTH = 8


def main(words: list[str]) -> int:
    return _show.ending(_main, "test", words)


def _main(words: list[str]) -> int:
    options = _parser().parse_args(words)
    options.project = options.project or _show.here()
    if options.record:
        return _record(options)
    try:
        return _Run(options, _suites(options)).run()
    except _NoCase as error:
        print(f"fairlead test: {_show.visible(str(error))}\n{_EXAMPLE}", file=sys.stderr, end="")
        return _show.USAGE


class _NoCase(Exception):  # noqa: N818  # a sentence, and an example of several lines
    pass


def _parser() -> _show.Parser:
    parser = _show.parser("test", __doc__ or "")
    add = parser.add_argument
    add("files", nargs="*", metavar="FILE", help="cases; default: fairlead.tests.toml of the project")
    add("--project", metavar="DIR", type=_show.directory, help="default: the working directory")
    _show.add_agent(parser, "who asks, where a case does not say")
    add("-k", metavar="TEXT", dest="text", default="", help="only cases with this in their name")
    add("--user", action="store_true", help="with your own hooks and this machine's too; they have your real home")
    add("--online", action="store_true", help="really ask models and servers; people are never asked")
    add("--junit", metavar="FILE", default="", help="write a report for build servers")
    add("--record", metavar="NUMBER", type=int, nargs="+", action="extend",
        help="add events of the journal to the cases; `fairlead log` has their numbers")  # fmt: skip
    return parser


def _file(options: argparse.Namespace) -> str:
    from fairlead.testing.reading import FILE

    return os.path.join(options.project, FILE)


# --- trying ------------------------------------------------------------------------------------------


def _suites(options: argparse.Namespace) -> list[Suite]:
    from fairlead.testing.reading import read

    files = [os.path.abspath(file) for file in options.files] or [_file(options)]
    missing = [file for file in files if not os.path.lexists(file)]
    if missing:
        raise _NoCase(f"there is no {_show.near(missing[0])}")
    return [read(file) for file in dict.fromkeys(files)]


def _asked(case: Case, options: argparse.Namespace) -> Case:
    """A whole event is in the words of the agent that the case names."""
    return case if case.agent or case.payload is not None else case.but(agent=options.agent or "")


class _Run:
    def __init__(self, options: argparse.Namespace, suites: Sequence[Suite]) -> None:
        self.options = options
        self.problems: list[Problem] = [problem for suite in suites for problem in suite.problems]
        self.cases = [_asked(case, options) for suite in suites for case in suite.cases if options.text in case.name]
        self.left_out = sum(len(suite.cases) for suite in suites) - len(self.cases)
        self.suites = suites
        self.outcomes: list[Outcome] = []
        self.changed_outside: list[str] = []
        self.page = _show.Page()
        self.marks = _marks()

    def run(self) -> int:
        self._refuse_nothing()
        if not self.options.json:
            self._print_problems()
        if self.cases:
            self._try()
        if self.options.junit:
            from fairlead.testing import junit

            junit.write(os.path.abspath(self.options.junit), self.outcomes, self.problems, self.options.project)
        if self.options.json:
            _show.print_json(self.as_json())
        else:
            self._print_sum()
        return 1 if self.problems or any(not outcome.passed for outcome in self.outcomes) else 0

    def _refuse_nothing(self) -> None:
        from fairlead.errors import UsageError

        if self.cases or self.problems:
            return
        if self.left_out:
            raise UsageError(f"no case has {self.options.text!r} in its name", hint="-k looks for a part of it")
        raise _NoCase(f"there is no case in {_show.near(self.suites[0].file)}")

    def _try(self) -> None:
        from fairlead.testing.running import run
        from fairlead.testing.scratch import Scratch

        copy = [path for suite in self.suites for path in suite.copy]
        leave_out = [path for suite in self.suites for path in suite.leave_out]
        options = self.options
        with Scratch(options.project, user=options.user, online=options.online, copy=copy, leave_out=leave_out) as room:
            out, sys.stdout = sys.stdout, sys.stderr  # what a hook in this process prints is not ours
            try:
                for outcome in run(self.cases, room):
                    self.outcomes.append(outcome)
                    sys.stdout = out
                    if not options.json:
                        self._print(outcome)
                    sys.stdout = sys.stderr
            finally:
                sys.stdout = out
            self.changed_outside = room.changed_outside()

    # --- for programs --------------------------------------------------------------------------------

    def as_json(self) -> dict[str, Any]:
        passed = sum(outcome.passed for outcome in self.outcomes)
        return {
            "passed": passed,
            "failed": len(self.outcomes) - passed,
            "not_tried": self.left_out,
            "problems": [problem.as_dict() for problem in self.problems],
            "cases": [self._described(outcome) for outcome in self.outcomes],
            "changed_outside": self.changed_outside,
        }

    def _described(self, outcome: Outcome) -> dict[str, Any]:
        case = outcome.case
        return {
            "name": case.name,
            "file": case.file,
            "line": case.line,
            "passed": outcome.passed,
            "failures": [failure.as_dict() for failure in outcome.failures],
            "decision": outcome.decision,
            "reason": outcome.reason,
            "hooks": list(outcome.hooks),
            "not_asked": list(outcome.unasked),
            "notes": list(outcome.notes),
            "ms": round(outcome.seconds * 1000, 1),
            "explain": case.command_line(self._here, _show.program(), _show.here()),
        }

    # --- for people ----------------------------------------------------------------------------------

    @property
    def _here(self) -> Where:
        from fairlead.testing.cases import Where

        return Where(project=self.options.project, home=os.path.expanduser("~"))

    def _print_problems(self) -> None:
        for problem in self.problems:
            self.page.line([(self.marks[2], "error"), (f" {problem.but(file=_show.near(problem.file))}", "")])

    def _print(self, outcome: Outcome) -> None:
        mark = (self.marks[0], "allow") if outcome.passed else (self.marks[1], "deny")
        self.page.line([mark, (f" {outcome.case.name}", "" if outcome.passed else "title")])
        if outcome.passed:
            return
        for failure in outcome.failures:
            self._pair(failure.what, [("expected ", "dim"), (failure.expected, "")])
            self._pair("", [("came     ", "dim"), (_show.shortened(failure.came), "")])
        for number, entry in enumerate(outcome.hooks):
            self._pair("" if number else "said", _said(entry))
        if not outcome.hooks:
            self._pair("said", "no hook looked at it")
        for note in outcome.notes:
            if not note.startswith("hook "):  # which stands above
                self._pair("note", note)
        case = outcome.case
        self._pair("case", f"{_show.near(case.file)}:{case.line}")
        self._pair("look", case.command_line(self._here, _show.program(), _show.here()))

    def _pair(self, label: str, cell: _show.Cell) -> None:
        self.page.pair((label, "dim"), cell, width=_WIDTH, indent=2)

    def _print_sum(self) -> None:
        failed = sum(not outcome.passed for outcome in self.outcomes)
        parts = [f"{len(self.outcomes) - failed} passed"]
        parts += [f"{failed} failed"] if failed else []
        parts += [_show.counted(len(self.problems), "error")] if self.problems else []
        parts += [f"{self.left_out} not tried"] if self.left_out else []
        self.page.line()
        self.page.line((", ".join(parts), "error" if failed or self.problems else "title"))
        for name, count in self._unasked().items():
            said = f"{name} was not asked in {_show.counted(count, 'case')}"
            self.page.line((f"{said}: a case can say what it says, --online asks it.", "warning"))

        if self.changed_outside:
            self.page.line((_changed_outside(self.changed_outside), "warning"))
        for problem in dict.fromkeys(note for one in self.outcomes for note in one.notes if ": error: " in note):
            self.page.line((problem, "warning"))

    def _unasked(self) -> dict[str, int]:
        counts: dict[str, int] = {}
        for outcome in self.outcomes:
            for name in outcome.unasked:
                counts[name] = counts.get(name, 0) + 1
        return counts


def _changed_outside(paths: Sequence[str]) -> str:
    named = ", ".join(paths[:_MOST_NAMED]) + (f" and {len(paths) - _MOST_NAMED:,} more" if paths[_MOST_NAMED:] else "")
    hint = "If it was not you, a hook names the project by its whole path, where the scratch copy cannot catch it."
    return f"While the hooks ran, the project itself has changed: {named}. {hint}"


_MOST_NAMED = 5


def _said(entry: dict[str, Any]) -> list[_show.Span]:
    word = entry["verdict"]
    start: _show.Span = ("not run", "dim") if word is None else (word, word)
    said = f"failed: {entry['error']}" if entry["error"] else entry["why"] if word is None else entry["reason"]
    where = (f" {entry['origin']}", "dim")
    return [start, (f" {entry['name']}", ""), where, (f"\n{_show.shortened(said, 400)}" if said else "", "")]


def _marks() -> tuple[str, str, str]:
    try:
        "✓✗".encode(sys.stdout.encoding or "ascii")
    except UnicodeEncodeError:
        return "ok    ", "FAILED", "ERROR "
    return "✓", "✗", "!"


# --- recording ---------------------------------------------------------------------------------------


def _record(options: argparse.Namespace) -> int:
    from fairlead.errors import UsageError
    from fairlead.journal import settings
    from fairlead.journal.reading import Log
    from fairlead.testing import recording

    file = os.path.abspath(options.files[0]) if options.files else _file(options)
    log = Log(settings.folder(os.environ))
    recorded = []
    for number in options.record:
        entry = log.entry(number)
        if entry is None:
            raise UsageError(f"event {number} is not in the journal", hint="`fairlead log` shows which there are")
        recorded.append(recording.case_of(entry, keeps_secrets=not _show.hides_secrets()))
    recording.append(file, recorded)
    _print_recorded(file, recorded, options)
    return 0


def _print_recorded(file: str, recorded: list[Any], options: argparse.Namespace) -> None:
    for number, one in zip(options.record, recorded, strict=True):
        if one.secrets:
            said = f"event {number} holds what looks like a secret ({', '.join(one.secrets)}): {_what_stands(file)}"
            print(f"fairlead test: {_show.visible(said)}", file=sys.stderr)
        if one.decided_by and not options.user:
            said = f"event {number} was decided by {', '.join(one.decided_by)}, which the project does not have"
            hint = "`fairlead test --user` tries it with your own hooks"
            print(f"fairlead test: {_show.visible(said)}: {hint}", file=sys.stderr)
    if options.json:
        _show.print_json({"file": file, "cases": [one.fields for one in recorded]}, as_it_is=True)
        return
    added = f"{_show.counted(len(recorded), 'case')} added to {_show.visible(_show.near(file))}"
    print(f"{added}; try `{_show.program()} test`.")


def _what_stands(file: str) -> str:
    if _show.hides_secrets():
        return f"in {_show.near(file)} stands another one of the same form, and hooks are tried with that"
    return f"look at {_show.near(file)} before you share it"
