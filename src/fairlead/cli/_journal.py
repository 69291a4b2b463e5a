"""What the commands that read the journal share."""

from __future__ import annotations

from fairlead.cli import _show

TYPE_CHECKING = False
if TYPE_CHECKING:
    import argparse

    from fairlead.journal.reading import Entry, Wanted

_UNITS = {"s": 1, "m": 60, "h": 3600, "d": 86400, "w": 604800}


def add_filters(parser: _show.Parser) -> None:
    add = parser.add_argument
    _show.add_agent(parser, "only this agent")
    for name in ("session", "event", "tool", "hook"):
        add(f"--{name}", default="", metavar="NAME", help=f"only this {name}")
    add("--decision", default="", choices=("", "none", "allow", "ask", "defer", "deny", "stop"), metavar="WORD",
        help="none, allow, ask, defer, deny, or stop for the end of a turn")  # fmt: skip
    add("--failed", action="store_true", help="only where a hook has failed")
    add("--since", default="", metavar="WHEN", help="2h, 3d, or a date such as 2026-11-16 or 2026-11-16T12:30")
    add("--until", default="", metavar="WHEN", help="the same")
    add("--text", default="", metavar="TEXT", help="anywhere in it: the command, a file, a reason")


def wanted(options: argparse.Namespace) -> Wanted:
    from fairlead.journal.reading import Wanted

    names = ("session", "event", "tool", "hook", "decision", "failed", "text")
    said = {name: getattr(options, name) for name in names}
    return Wanted(**said, agent=options.agent or "", since=moment(options.since), until=moment(options.until))


def moment(text: str) -> float:
    """A time ago, or a date, in seconds since 1970; 0 for nothing."""
    import datetime as dt
    import time

    from fairlead.errors import UsageError

    if not text:
        return 0.0
    if text[:-1].isdecimal() and text[-1] in _UNITS:
        return time.time() - int(text[:-1]) * _UNITS[text[-1]]
    try:
        return dt.datetime.fromisoformat(text).timestamp()
    except (ValueError, OverflowError):
        raise UsageError(f"{text!r} is no time", hint="write 30m, 2h, 3d, or 2026-11-16T12:30") from None


def clock(seconds: float) -> str:
    import time

    return time.strftime("%d %b %H:%M:%S", time.localtime(seconds))


def about(whole: Entry) -> str:
    """What it was about, in one short line."""
    payload = whole.get("details", {}).get("payload", {})
    given = payload.get("tool_input", {})
    given = given if isinstance(given, dict) else {}
    keys = ("command", "file_path", "path", "url", "pattern", "query", "prompt")
    text = next((given[key] for key in keys if isinstance(given.get(key), str)), "") or payload.get("prompt", "")
    line = " ".join(str(_show.concealed(text)).split())
    return line if len(line) <= 80 else f"{line[:79]}…"
