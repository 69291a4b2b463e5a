"""What `init` and `uninstall` share: their options, the diff, the question, and the summary."""

from __future__ import annotations

import argparse
import os
import sys

from fairlead.cli import _show

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence
    from typing import Any

    from fairlead.installing.plans import Change, Machine, Plan


def add_options(to: _show.Parser) -> None:
    to.add_argument("--agent", metavar="NAME", dest="agents", action="append", default=[], type=_agent,
                    help="only this one; may be repeated")  # fmt: skip
    to.add_argument("--scope", choices=("user", "project"), default="user",
                    help="user: all of your projects (default); project: this one")  # fmt: skip
    to.add_argument("--project", metavar="DIR", type=_directory, help="default: the working directory")
    to.add_argument("--yes", "-y", action="store_true", help="do not ask")
    to.add_argument("--dry-run", action="store_true", help="show the change, and write nothing")


def _agent(name: str) -> str:
    from fairlead.dialects._common import did_you_mean
    from fairlead.installing.specs import SPECS

    if name not in SPECS:
        raise argparse.ArgumentTypeError(f"unknown agent {name!r}; {did_you_mean(name, SPECS)}")
    return name


def _directory(path: str) -> str:
    if not os.path.isdir(path):
        raise argparse.ArgumentTypeError(f"there is no directory {path!r}")
    return os.path.abspath(path)


def machine(options: argparse.Namespace) -> Machine:
    from fairlead.installing.plans import Machine

    home = os.path.expanduser("~")
    return Machine(home=home, project=options.project or _show.here(), environ=dict(os.environ))


# --- the diff ----------------------------------------------------------------------------------------


def show_plans(page: _show.Page, plans: Iterable[Plan], titles: Callable[[str], str]) -> None:
    for plan in plans:
        for change in plan.needed:
            if not change.is_shared:
                show_change(page, change, titles(plan.agent))
        for note in plan.notes:
            page.rows([(("note", "warning"), f"{titles(plan.agent)}: {note}")], widths=(8,))
        if plan.notes:
            page.line()


def show_change(page: _show.Page, change: Change, title: str) -> None:
    link = "" if change.path == os.path.abspath(change.shown) else f" → {_show.near(change.path)}"
    page.line([(_show.near(change.shown) + link, "title"), (f"  {title}, {_what(change)}", "dim")])
    lines = [line[:1] + line[1:].expandtabs(4) for line in diff(change)]
    if sys.stdout.isatty():
        page.rows([_row(line) for line in _shorter(lines)], widths=(1,), indent=2)
    else:
        for line in lines:
            page.line(line, indent=2)
    page.line()


def _row(line: str) -> tuple[_show.Span, _show.Span]:
    sign, text = ("", line) if line.startswith("@") else (line[:1], line[1:])
    return (sign, _style(line)), (text, _style(line))


def _shorter(lines: list[str]) -> list[str]:
    """On a screen the long beginning of our command is written out once for each file."""
    from fairlead.installing import commands

    program = [*_relay_in(lines), *commands.program()]
    long = (commands.line(program), ", ".join(f'"{word}"' for word in program[1:]), program[0])
    seen: set[str] = set()
    return [_once(line, long, seen) for line in lines]


def _relay_in(lines: list[str]) -> list[str]:
    """The words of the relay, where these lines call it."""
    from fairlead import relay
    from fairlead.folders import hook_socket

    for kind in ("compiled", "python"):
        words = relay.words(kind, relay.folder(os.environ), hook_socket(os.environ))
        if any(words[-2] in line for line in lines):
            return words
    return []


def _once(line: str, long: Sequence[str], seen: set[str]) -> str:
    for text in long:
        if text in line and text in seen:
            line = line.replace(text, '"…"' if text.startswith('"') else "…")
        elif text in line:
            seen.update(other for other in long if other in line)
            return line
    return line


def _what(change: Change) -> str:
    if change.before is None:
        return "new file"
    return "removed" if change.after is None else "changed"


def diff(change: Change) -> list[str]:
    """A unified diff without its two head lines: the path stands above it."""
    import difflib

    before, after = (_lines(content) for content in (change.before, change.after))
    lines = list(difflib.unified_diff(before, after, lineterm="", n=2))[2:]
    return [_without_keys(line.rstrip("\r\n")) for line in lines]


def _without_keys(line: str) -> str:
    import re

    return re.sub(r"(Bearer )[\w-]{16,}", r"\1…", line)


def _lines(content: bytes | None) -> list[str]:
    return (content or b"").decode("utf-8", "replace").splitlines()


def _style(line: str) -> str:
    return {"+": "allow", "-": "error", "@": "dim"}.get(line[:1], "")


def ask(question: str) -> bool:
    try:
        return input(f"{question} [y/N] ").strip().lower() in ("y", "yes")
    except EOFError:
        print()
        return False


def can_ask() -> bool:
    return sys.stdin is not None and sys.stdin.isatty() and sys.stdout.isatty()


# --- problems and JSON -------------------------------------------------------------------------------


def show_problems(page: _show.Page, plans: Sequence[Plan], titles: Callable[[str], str]) -> None:
    for plan in plans:
        if plan.problem:
            hint: list[_show.Span] = [(f"\n{plan.hint}", "dim")] if plan.hint else []
            said = [(f"{titles(plan.agent)}: {_near(plan.problem)}", ""), *hint]
            page.rows([(("not done", "error"), said)], widths=(8,))


def _near(problem: str) -> str:
    """Problems begin with the path of a file."""
    home = os.path.expanduser("~") + os.sep
    return f"~{os.sep}{problem[len(home) :]}" if problem.startswith(home) else problem


def as_json(plan: Plan, status: str) -> dict[str, Any]:
    return {
        "agent": plan.agent,
        "scope": plan.scope,
        "status": "not done" if plan.problem else status,
        "files": [_change_as_json(change) for change in plan.needed if not change.is_shared],
        "notes": list(plan.notes),
        "problem": plan.problem or None,
        "hint": plan.hint or None,
    }


def _change_as_json(change: Change) -> dict[str, Any]:
    return {"file": change.shown, "what": _what(change), "diff": "\n".join(diff(change))}


def carry_out(plans: Sequence[Plan], do: Callable[[Plan], None]) -> list[Plan]:
    """Each on its own: what fails in one does not stop the others."""
    from fairlead.errors import FairleadError

    done = []
    for plan in plans:
        try:
            if plan.needed and not plan.problem:
                do(plan)
            done.append(plan)
        except FairleadError as error:
            done.append(plan.but(problem=str(error), hint=error.hint))
        except OSError as error:
            where = f"{error.filename}: " if error.filename else ""
            done.append(plan.but(problem=f"{where}{error.strerror or error}", hint="everything is as it was"))
    return done
