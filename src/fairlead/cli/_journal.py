"""What the commands that read the journal share."""

from __future__ import annotations

from fairlead.cli import _show

TYPE_CHECKING = False
if TYPE_CHECKING:
    import argparse
    from collections.abc import Iterator

    from fairlead.journal.reading import Entry, Log, Wanted

_UNITS = {"s": 1, "m": 60, "h": 3600, "d": 86400, "w": 604800}


def add_filters(parser: _show.Parser) -> None:
    add = parser.add_argument
    _show.add_agent(parser, "only this agent")
    for name in ("session", "event", "tool", "hook"):
        add(f"--{name}", default="", metavar="NAME", help=f"only this {name}")
    add("--decision", default="", choices=("", "none", "allow", "ask", "defer", "deny", "stop"), metavar="WORD",
        help="none, allow, ask, defer, deny, or stop for the end of a turn")  # fmt: skip
    add("--failed", action="store_true", help="only where a hook has failed")
    add("--since", default="", metavar="WHEN",
        help="30m, 2h, 3d, 1h30m ago; today, yesterday, 12:30; or a date: 2026-11-16, 2026-11-16T12:30")  # fmt: skip
    add("--until", default="", metavar="WHEN", help="the same")
    add("--text", default="", metavar="TEXT", help="anywhere in it: the command, a file, a reason")


def wanted(options: argparse.Namespace) -> Wanted:
    from fairlead.errors import UsageError
    from fairlead.journal.reading import Wanted

    names = ("session", "event", "tool", "hook", "decision", "failed", "text")
    said = {name: getattr(options, name) for name in names}
    since, until = moment(options.since), moment(options.until)
    if until and since >= until:
        raise UsageError(f"--since {options.since} is not before --until {options.until}", hint="so nothing can be")
    return Wanted(**said, agent=options.agent or "", since=since, until=until)


def count(text: str) -> int:
    """How many of something are shown."""
    import argparse

    if not text.isdecimal():
        raise argparse.ArgumentTypeError(f"{text!r} is not a number of them; write 0 or more")
    return int(text)


def moment(text: str) -> float:
    """A time ago, a time of today, or a date, in seconds since 1970; 0 for nothing."""
    import time

    from fairlead.errors import UsageError

    if not text:
        return 0.0
    try:
        ago = _ago(text.lower())
        return time.time() - ago if ago is not None else _date(text)
    except (ValueError, OverflowError):
        hint = "write 30m, 2h, 3d, 1h30m, today, yesterday, 12:30, 2026-11-16 or 2026-11-16T12:30"
        raise UsageError(f"{text!r} is no time", hint=hint) from None


def _ago(text: str) -> float | None:
    """In seconds; None for what is no length of time."""
    import re

    if not re.fullmatch(r"(?:[0-9]+(?:\.[0-9]+)?[smhdw])+", text):
        return None
    return sum(float(number) * _UNITS[unit] for number, unit in re.findall(r"([0-9.]+)([smhdw])", text))


def _date(text: str) -> float:
    import datetime as dt

    today = dt.date.today()  # noqa: DTZ011  # where the person is
    days = {"today": today, "yesterday": today - dt.timedelta(days=1)}
    named = days.get(text.lower())
    if named is not None:
        return dt.datetime.combine(named, dt.time()).timestamp()
    if ":" in text and "-" not in text[:5]:
        return dt.datetime.combine(today, dt.time.fromisoformat(text)).timestamp()
    return dt.datetime.fromisoformat(text).timestamp()


# --- nothing found -----------------------------------------------------------------------------------

_LOOKED_AT = 1000
"""Of the latest events, where somebody has asked for a name that is nowhere."""


def nothing(log: Log, wanted: Wanted) -> list[str]:
    """What to tell whoever has found nothing."""
    from fairlead.journal.reading import Wanted

    latest = log.latest(Wanted(), _LOOKED_AT)
    if not latest:
        empty = "The journal is empty: no agent has asked Fairlead anything yet."
        return [empty, "`fairlead doctor` says what keeps hooks from running."]
    return ["Nothing in the journal is like that.", *_unknown_names(wanted, latest)]


def _unknown_names(wanted: Wanted, latest: list[Entry]) -> Iterator[str]:
    from fairlead.dialects._common import did_you_mean

    of = "event" if len(latest) == 1 else f"{len(latest):,} events"
    for field in ("agent", "event", "tool", "hook"):
        name = getattr(wanted, field)
        known = {one for entry in latest for one in _names(entry, field)}
        if name and known and name not in known:
            yield f"No {field} {name!r} is in the latest {of}; {did_you_mean(name, known)}"


def _names(entry: Entry, field: str) -> list[str]:
    found = entry.get("hooks", []) if field == "hook" else [entry.get(field, "")]
    return [name for name in found if name]


# --- texts -------------------------------------------------------------------------------------------


def clock(seconds: float) -> str:
    import time

    return time.strftime("%d %b %H:%M:%S", time.localtime(seconds))


def date(seconds: float) -> str:
    import time

    return time.strftime("%Y-%m-%d %H:%M:%S %Z", time.localtime(seconds)).strip()


def about(whole: Entry) -> str:
    """What it was about, in one short line."""
    payload = whole.get("details", {}).get("payload", {})
    given = payload.get("tool_input", {})
    given = given if isinstance(given, dict) else {}
    keys = ("command", "file_path", "path", "url", "pattern", "query", "prompt")
    text = next((given[key] for key in keys if isinstance(given.get(key), str)), "") or payload.get("prompt", "")
    line = " ".join(str(_show.concealed(text)).split())
    return line if len(line) <= 80 else f"{line[:79]}…"
