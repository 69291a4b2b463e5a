"""What happened: every event that an agent has asked about, and what it was told.

`fairlead log` shows the latest; a number shows one event in full, hook by hook. Filters can be combined:
    fairlead log --decision deny --since 2h
    fairlead log --hook guard --text push --tool Bash
    fairlead log 1204
"""

from __future__ import annotations

import os

from fairlead.cli import _journal, _show

TYPE_CHECKING = False
if TYPE_CHECKING:
    import argparse
    from typing import Any

    from fairlead.journal.reading import Entry, Log, Wanted
    from fairlead.journal.verifying import Kept, Verified

_LOOK_AGAIN = 0.2


def main(words: list[str]) -> int:
    return _show.ending(_main, "log", words)


def _main(words: list[str]) -> int:
    options = _parser().parse_args(words)
    from fairlead.journal import settings
    from fairlead.journal.reading import Log
    from fairlead.journal.sharing import processors

    log = Log(settings.folder(os.environ), workers=processors())
    _refuse_two_at_once(options)
    if options.verify or options.kept:
        return _verify(log, options)
    if options.number is not None:
        return _one(log, options.number, as_json=options.json)
    wanted = _journal.wanted(options)
    if options.export:
        return _export(log, wanted, options)
    _list(log, wanted, options)
    return 0


def _parser() -> _show.Parser:
    parser = _show.parser("log", __doc__ or "")
    add = parser.add_argument
    add("number", nargs="?", type=int, metavar="NUMBER", help="one event in full")
    add("-n", "--count", type=_journal.count, default=20, metavar="COUNT", help="how many of the latest; default 20")
    add("-f", "--follow", action="store_true", help="go on with what happens from now on")
    _journal.add_filters(parser)
    add("--export", default="", metavar="FILE", help="write all that is wanted to a .jsonl, .csv or .parquet file")
    add("--verify", action="store_true", help="prove that nothing was changed or taken out")
    add("--kept", default="", metavar="LINE", help="the same, against a line that an earlier --verify has printed")
    return parser


def _refuse_two_at_once(options: argparse.Namespace) -> None:
    """Whoever wants two things would get one, and not know it."""
    from fairlead.errors import UsageError

    wishes = {"NUMBER": options.number is not None, "--export": options.export, "--follow": options.follow,
              "--verify": options.verify or options.kept}  # fmt: skip
    named = [name for name, is_wanted in wishes.items() if is_wanted]
    if len(named) > 1:
        raise UsageError(f"{' and '.join(named)} cannot both be done at once", hint="ask for one after the other")


def _export(log: Log, wanted: Wanted, options: argparse.Namespace) -> int:
    from fairlead.journal.exporting import export

    count = export(log, wanted, options.export, _show.concealed)
    if options.json:
        _show.print_json({"file": os.path.abspath(options.export), "events": count})
    else:
        print(f"{_show.counted(count, 'event')} in {_show.visible(options.export)}")
    return 0


# --- many --------------------------------------------------------------------------------------------


def _list(log: Log, wanted: Wanted, options: argparse.Namespace) -> None:
    place = log.end()
    found = log.latest(wanted, options.count)
    page = _show.Page()
    for entry in found:
        _show_entry(log, entry, page, as_json=options.json)
    if not found and options.count > 0 and not options.follow and not options.json:
        for line in _journal.nothing(log, wanted):
            page.line(line)
    if options.follow:
        shown = {entry["n"] for entry in found}  # what came while we looked has been found twice
        _follow(log, wanted, place, page, shown, as_json=options.json)


def _follow(
    log: Log, wanted: Wanted, place: tuple[int, int], page: _show.Page, shown: set[int], *, as_json: bool
) -> None:
    import sys
    import time

    try:
        while True:
            sys.stdout.flush()
            found, place = log.after(place, wanted)
            for entry in found:
                if entry["n"] not in shown:
                    _show_entry(log, entry, page, as_json=as_json)
            shown = set()
            if not found:
                time.sleep(_LOOK_AGAIN)
    except KeyboardInterrupt:
        pass


def _show_entry(log: Log, entry: Entry, page: _show.Page, *, as_json: bool) -> None:
    whole = log.whole(entry)
    if as_json:
        import json

        print(json.dumps(_show.concealed(whole), ensure_ascii=True))
        return
    word = entry["decision"]
    start: list[_show.Span] = [(f"{entry['n']}", "dim"), (_journal.clock(entry["t"]), "dim"),
                               ("-", "dim") if word == "none" else (word, word)]  # fmt: skip
    if page.width < _NARROW:
        page.line([part for span in start for part in (span, ("  ", ""))] + _told_about(whole))
    else:
        page.rows([(*start, _told_about(whole))], widths=(len(str(entry["n"])), 15, 5))


_NARROW = 72
"""Columns below which a table has no room for what matters."""


def _told_about(whole: Entry) -> list[_show.Span]:
    word, tool = whole["decision"], f" {whole['tool']}" if whole["tool"] else ""
    agent: _show.Span = (f"{whole['agent']} ", "dim")
    if not whole["event"]:
        why = _show.shortened(str(whole.get("details", {}).get("reason", "")), 200)
        return [agent, (_UNREADABLE, "error"), (f"  {why}", "dim")]
    decided: list[_show.Span] = [(f"  {_by(whole)}", "dim")] if word not in ("none", "allow") else []
    failed: list[_show.Span] = [("  a hook failed", "error")] if whole["failed"] else []
    return [agent, (f"{whole['event']}{tool}  ", ""), (_journal.about(whole), "title"), *decided, *failed]


_UNREADABLE = "an event that could not be read"


def _by(whole: Entry) -> str:
    names = [
        hook["name"] for hook in whole.get("details", {}).get("hooks", ()) if hook.get("verdict") == whole["decision"]
    ]
    return f"by {', '.join(dict.fromkeys(names))}" if names else ""


# --- one ---------------------------------------------------------------------------------------------


def _one(log: Log, number: int, *, as_json: bool) -> int:
    from fairlead.errors import UsageError

    entry = log.entry(number)
    if not entry:
        hint = "`fairlead log` shows which there are; the oldest go by age and size"
        raise UsageError(f"there is no event {number} in the journal", hint=hint)
    if as_json:
        _show.print_json(entry)
        return 0
    page = _show.Page()
    if "event" not in entry:
        page.line("Here a segment of the journal begins.")
        return 0
    _print_one(entry, page)
    return 0


def _print_one(entry: Entry, page: _show.Page) -> None:
    details = entry.get("details", {})
    tool = f" · {entry['tool']}" if entry["tool"] else ""
    title = f"{entry['event']}{tool}" if entry["event"] else _UNREADABLE.capitalize()
    page.line([(title, "title"), (f"  asked by {entry['agent']}", "dim")])
    for label, value in (
        ("when", f"{_journal.date(entry['t'])}, {entry['ms']:.1f} ms"), ("session", entry["session"]),
        ("project", details.get("project", "")), ("input", _input(details)),
        ("kept", _kept_part(details)),
    ):  # fmt: skip
        if value:
            page.pair((label, "dim"), value, width=9)
    for hook in details.get("hooks", ()):
        page.line()
        _print_hook(hook, page, entry["event"])
    if details.get("others"):
        page.line()
        others = _show.counted(details["others"], "hook")
        page.line((f"{others} for other events or tools; `fairlead explain --entry {entry['n']}` says why", "dim"))
    page.line()
    word = entry["decision"]
    page.line([("decision  ", "dim"), ("nothing to say" if word == "none" else word, word)])
    said = {**details, **details.get("whole", {})}
    for label in ("reason", "context", "user_message"):
        if said.get(label):
            page.pair((label.replace("_", " "), "dim"), _show.shortened(said[label]), width=12)
    for note in details.get("notes", ()):
        page.pair(("note", "dim"), note, width=12)
    if details.get("reply"):
        page.pair(("told", "dim"), _show.shortened(_told(details["reply"])), width=12)


def _kept_part(details: dict[str, Any]) -> str:
    if "size" in details:
        return f"a part: the whole had {details['size']:,} bytes"
    return "a part: what was longer than 256 KiB was cut" if details.get("cut") else ""


def _input(details: dict[str, Any]) -> str:
    payload = details.get("payload")
    if payload is None:
        return "(not kept)"
    value = payload.get("tool_input", payload.get("prompt", ""))
    if isinstance(value, dict) and set(value) == {"command"}:
        value = value["command"]
    return _show.shortened(value if isinstance(value, str) else _compact(value))


def _told(reply: dict[str, Any]) -> str:
    if "exit_code" not in reply:
        return _compact(reply)
    parts = (reply["stdout"].strip(), reply["stderr"].strip(), f"exit {reply['exit_code']}")
    return "\n".join(part for part in parts if part)


def _compact(value: object) -> str:
    import json

    return json.dumps(value, ensure_ascii=False)


def _print_hook(hook: dict[str, Any], page: _show.Page, event: str) -> None:
    word = hook.get("verdict")
    said = "not run" if word is None else ("-" if word == "none" else word)
    spent = f"  {_show.milliseconds(hook.get('ms'))}" if word is not None else ""
    page.line([(f"{said:<8}", word or "warning"), (hook["name"], "title"), (spent, "dim")])
    where = f"{hook['dialect']} · {hook['layer']} · {_show.near(hook['file']) or 'code'}"
    page.line((where, "dim"), indent=8)
    for label, style in (("why", "warning"), ("error", "error"), ("reason", "")):
        if hook.get(label) and not (label == "reason" and hook.get("error")):
            page.line((_show.shortened(hook[label]), style), indent=8)
    hint = _hint(hook, event)
    if hint:
        page.line([("→ ", "dim"), (hint, "")], indent=8)
    if hook.get("facts"):
        page.line((", ".join(f"{name} {value}" for name, value in hook["facts"].items()), "dim"), indent=8)


def _hint(hook: dict[str, Any], event: str) -> str:
    """What would have helped, where the words of the failure tell it."""
    from fairlead.doctor import hints

    if hook.get("why"):
        return hints.of_why(hook["why"])
    if hook.get("verdict") == "deny" or not hook.get("error"):
        return ""
    return hints.of_error(hook["dialect"], event, hook["error"])


# --- proof -------------------------------------------------------------------------------------------


_MOST = 20
"""Problems that a person reads."""


def _verify(log: Log, options: argparse.Namespace) -> int:
    from fairlead.journal.sharing import processors
    from fairlead.journal.verifying import line_to_keep, verify

    found = verify(log, _kept(options.kept), workers=processors())
    if options.json:
        _show.print_json({**found.as_dict(), "line": line_to_keep(found)})
    else:
        _print_verified(found, _show.Page())
    return 1 if found.problems else 0


def _kept(text: str) -> Kept | None:
    from fairlead.errors import UsageError
    from fairlead.journal.verifying import Kept

    kept = Kept.read(text) if text else None
    if text and kept is None:
        hint = "copy the whole line that `fairlead log --verify` has printed: a number, a hyphen and 64 digits"
        raise UsageError(f"--kept {text!r} is no such line", hint=hint)
    return kept


def _print_verified(found: Verified, page: _show.Page) -> None:
    from fairlead.journal.verifying import line_to_keep

    for problem in found.problems[:_MOST]:
        page.line([("changed  ", "error"), (problem, "")])
    rest = len(found.problems) - _MOST + found.more_problems
    if rest > 0:
        page.line((f"… and {rest:,} more", "dim"))
    if found.problems:
        return
    if not found.entries:
        page.line("The journal is empty.")
        return
    count = f"{found.events:,} {'event' if found.events == 1 else 'events'}"
    since = f"; as it was up to {found.kept}, whose line you kept" if found.kept else ""
    page.line([("whole  ", "allow"), (f"{count}, numbers {found.first} to {found.last}{since}", "")])
    page.line((line_to_keep(found), "dim"))
    page.prose("Kept somewhere else, this line proves later that nothing before it was changed: --kept LINE.")
