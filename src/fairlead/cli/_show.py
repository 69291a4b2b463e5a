"""What the commands for people share: options, a page of text, and an end without tracebacks."""

from __future__ import annotations

import argparse
import os
import sys
import unicodedata

from fairlead.errors import plain

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence
    from typing import Any, NoReturn

    from rich.console import Console
    from rich.text import Text

    from fairlead.api import Hooks
    from fairlead.masking import Masker

    Span = tuple[str, str]
    """Text and the name of its style."""
    Cell = str | Span | Sequence[Span]

USAGE = 64
MASKED = frozenset({"log", "explain", "list", "doctor", "stats", "replay", "test", "check"})
"""Commands that only look on: no secrets, unless --show-secrets. Where a person decides, nothing is hidden."""
_STYLES = {
    "deny": "bold red", "error": "bold red", "ask": "bold magenta", "defer": "bold magenta", "warning": "magenta",
    "stop": "bold red", "allow": "green", "none": "dim", "dim": "dim", "title": "bold", "": "",
}  # fmt: skip


# --- options -----------------------------------------------------------------------------------------


class Parser(argparse.ArgumentParser):
    def error(self, message: str) -> NoReturn:
        self.exit(USAGE, f"{self.prog}: {message}\n`{self.prog} --help` says more.\n")


def parser(name: str, doc: str) -> Parser:
    summary, _, rest = doc.partition("\n\n")
    made = Parser(
        prog=f"fairlead {name}",
        description=summary,
        epilog=rest.strip() or None,
        formatter_class=argparse.RawDescriptionHelpFormatter,
        allow_abbrev=False,
    )
    made.add_argument("--json", action="store_true", help="the same as JSON, for programs")
    if name in MASKED:
        made.add_argument("--show-secrets", action=_Reveal, nargs=0, help="secrets too; else `ghp…(40)` stands for one")
    return made


class _Reveal(argparse.Action):
    def __call__(self, *_words: Any) -> None:
        _MASKERS.clear()


def add_project(to: Parser) -> None:
    to.add_argument("--project", metavar="DIR", type=directory, help="default: the working directory")
    to.add_argument("--trust", metavar="DIGEST", action="append", default=[],
                    help="run the project's hook with this digest (sha256:…); may be repeated")  # fmt: skip
    vouch = "run whatever hooks the project has: you vouch for them"
    to.add_argument("--trust-project", action="store_true", help=vouch)
    to.add_argument("--with", metavar="NAME", dest="active", action="append", default=[],
                    help="a skill or subagent whose hooks are on; may be repeated")  # fmt: skip


def add_agent(to: Parser, text: str, *names: str) -> None:
    to.add_argument("--agent", *names, metavar="NAME", dest="agent", type=_agent, help=text)


def directory(path: str) -> str:
    if not os.path.isdir(path):
        raise argparse.ArgumentTypeError(f"there is no directory {path!r}")
    return os.path.abspath(path)


def _agent(name: str) -> str:
    from fairlead.dialects import AGENT_HALVES
    from fairlead.dialects._common import did_you_mean

    if name not in AGENT_HALVES:
        raise argparse.ArgumentTypeError(f"unknown agent {name!r}; {did_you_mean(name, AGENT_HALVES)}")
    return name


def load(options: argparse.Namespace, **more: Any) -> Hooks:
    from fairlead import Hooks

    return Hooks.load(
        options.project or here(),
        agent=options.agent or "",
        active=options.active,
        trust_project=options.trust_project,
        trust=options.trust,
        **more,
    )


def here() -> str:
    try:
        return os.getcwd()
    except FileNotFoundError:
        from fairlead.errors import UsageError

        raise UsageError("the working directory has gone", hint="go to another one, or say --project DIR") from None


# --- the end -----------------------------------------------------------------------------------------


def ending(command: Callable[[list[str]], int], name: str, words: list[str]) -> int:
    """Run a command; whatever happens, its user reads a sentence."""
    from fairlead import folders
    from fairlead.cli._signals import end_hooks_with_us
    from fairlead.errors import FairleadError, UsageError

    _tolerate_any_text()
    end_hooks_with_us()
    _hide_secrets(name)
    try:
        if name not in _SHOWS_IT:
            folders.check(os.environ, here())
        code = command(words)
        sys.stdout.flush()
    except FairleadError as error:
        _complain(name, f"{error} ({error.hint})" if error.hint else str(error))
        return USAGE if isinstance(error, UsageError) else 1
    except BrokenPipeError:  # `fairlead list | head`: the reader has seen enough
        os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
        return 141
    except OSError as error:
        _complain(name, ": ".join(filter(None, (error.strerror or str(error), error.filename))))
        return 1
    except Exception as error:  # noqa: BLE001  # a traceback is for us, not for them
        _complain(name, f"internal error, please report it: {type(error).__name__}: {error}")
        return 70
    return code


_SHOWS_IT = frozenset({"check", "list", "explain", "doctor", "guard", "demo", "test"})
"""What can be looked at where our folders are not the user's own, and writes nothing into them."""


def _complain(name: str, message: str) -> None:
    print(f"fairlead {name}: {visible(masker().text(message))}", file=sys.stderr)


def _tolerate_any_text() -> None:
    """A terminal that cannot show a character gets its number."""
    for stream in (sys.stdout, sys.stderr):
        if hasattr(stream, "reconfigure"):
            stream.reconfigure(errors="backslashreplace")


# --- secrets -----------------------------------------------------------------------------------------

_MASKERS: list[Masker] = []
"""Of the view that this process shows; none where nothing is to be hidden."""


def _hide_secrets(name: str) -> None:
    _MASKERS[:] = [masker()] if name in MASKED else []


def hides_secrets() -> bool:
    return bool(_MASKERS)


def masker() -> Masker:
    from fairlead.masking import Masker

    return _MASKERS[0] if _MASKERS else Masker(os.environ)


def concealed(value: Any) -> Any:
    """A text, or all that JSON can say, as this view may show it. Before it is cut: half a secret looks like none."""
    return _MASKERS[0].value(value) if _MASKERS else value


# --- text --------------------------------------------------------------------------------------------

_UNSAFE = frozenset({"Cc", "Cf", "Cs", "Co", "Cn", "Zl", "Zp"})


def visible(text: str) -> str:
    """One line that a terminal shows as it is: what would steer it stands there escaped."""
    if text.isascii() and text.isprintable():
        return text
    return "".join(_escape(letter) if unicodedata.category(letter) in _UNSAFE else letter for letter in text)


def _escape(letter: str) -> str:
    return letter.encode("unicode_escape").decode()


def visible_lines(text: str) -> str:
    return "\n".join(visible(line) for line in text.split("\n"))


def shortened(text: str, limit: int = 2000) -> str:
    text = concealed(text)
    rest = len(text) - limit
    return text if rest <= 0 else f"{text[:limit]}… ({rest:,} more characters; --json has all of them)"


def near(path: str, home: str = "") -> str:
    """A path as its user would write it."""
    home = home or os.path.expanduser("~")
    try:
        inside = os.path.relpath(path or ".")
    except OSError:  # the working directory has gone
        inside = ".." + os.sep
    if path and not inside.startswith(".." + os.sep):
        return inside
    return "~" + path[len(home) :] if path.startswith(home + os.sep) else path


def program() -> str:
    """How the user can call us again."""
    import shutil

    if shutil.which("fairlead"):
        return "fairlead"
    called = os.path.abspath(sys.argv[0])
    return "python -m fairlead" if called.endswith("__main__.py") else near(called)


def title(entry: dict[str, Any]) -> str:
    """What a hook runs, with its name where it has one of its own."""
    name, text = entry["name"], entry["handler"]["text"].strip()
    is_derived = not text or os.path.basename(text.split()[0]) == name
    return text or name if is_derived else f"{name}: {text}"


def milliseconds(ms: float | None) -> str:
    if ms is None:
        return ""
    return f"{ms:.0f} ms" if ms >= 1 else "< 1 ms"


def seconds(timeout: float | None) -> str:
    return "no time limit" if timeout is None else f"{plain(timeout)} s"


def counted(number: int, noun: str) -> str:
    return f"{number} {noun}" if number == 1 else f"{number} {noun}s"


def print_json(value: object, *, as_it_is: bool = False) -> None:
    import json

    print(json.dumps(value if as_it_is else concealed(value), indent=2, default=str))


def spaced(text: str) -> str:
    """JSON with room to wrap; any other text as it is."""
    import json

    try:
        return json.dumps(json.loads(text), ensure_ascii=False)
    except (ValueError, RecursionError):
        return text


class Page:
    """Text for a person: wrapped and coloured on a terminal, plain and unwrapped anywhere else."""

    def __init__(self) -> None:
        self._console = _console() if sys.stdout.isatty() else None

    @property
    def width(self) -> int:
        """Columns; as many as one likes where nobody looks on."""
        return self._console.width if self._console else sys.maxsize

    def line(self, cell: Cell = "", indent: int = 0) -> None:
        if self._console is None:
            _plain(_text(cell), indent)
            return
        from rich.padding import Padding

        text = _rich(cell)
        self._console.print(Padding(text, (0, 0, 0, indent), expand=False) if text else "")

    def pair(self, label: Cell, cell: Cell, *, width: int, indent: int = 0) -> None:
        """A label, and text that stays to the right of it."""
        self.rows([(label, cell)], widths=(width,), indent=indent)

    def rows(self, rows: Iterable[Sequence[Cell]], *, widths: Sequence[int] = (), indent: int = 0) -> None:
        """Columns; the last one takes what is left. Without `widths` each is as wide as it needs to be."""
        listed = [list(row) for row in rows]
        widths = list(widths) or _natural(listed)
        if self._console is None:
            for row in listed:
                _plain_row(row, widths, indent)
            return
        from rich.padding import Padding
        from rich.table import Table

        grid = Table.grid(padding=(0, 2, 0, 0))
        for width in widths:
            grid.add_column(width=width, overflow="fold")
        grid.add_column(overflow="fold")
        for row in listed:
            grid.add_row(*map(_rich, row))
        self._console.print(Padding(grid, (0, 0, 0, indent), expand=False))

    def prose(self, text: str, indent: int = 0) -> None:
        """A paragraph of our own words."""
        import textwrap

        width = min(self._console.width if self._console else 80, 88) - indent
        for line in textwrap.wrap(text, width):
            self.line(line, indent)


def _natural(rows: list[list[Cell]]) -> list[int]:
    return [max(len(_text(cell)) for cell in column) for column in list(zip(*rows, strict=True))[:-1]]


def _plain(text: str, indent: int) -> None:
    for line in text.split("\n"):
        print(f"{' ' * indent}{line}".rstrip())


def _plain_row(row: Sequence[Cell], widths: Sequence[int], indent: int) -> None:
    *labels, last = map(_text, row)
    start = "".join(f"{label.replace(chr(10), ' '):<{width}}  " for label, width in zip(labels, widths, strict=True))
    first, *rest = last.split("\n")
    _plain(start + first, indent)
    for line in rest:
        _plain(line, indent + sum(width + 2 for width in widths))


def _spans(cell: Cell) -> Sequence[Span]:
    if isinstance(cell, str):
        return [(cell, "")]
    if isinstance(cell, tuple) and len(cell) == 2 and isinstance(cell[0], str):
        return [cell]
    return cell


def _text(cell: Cell) -> str:
    return "".join(visible_lines(concealed(text)) for text, _ in _spans(cell))


def _rich(cell: Cell) -> Text:
    from rich.text import Text

    text = Text(overflow="fold")
    for part, style in _spans(cell):
        text.append(visible_lines(concealed(part)), style=_STYLES[style])
    return text


def _console() -> Console:
    from rich.console import Console

    return Console(highlight=False, markup=False, emoji=False)
