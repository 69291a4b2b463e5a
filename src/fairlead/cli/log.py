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

_LOOK_AGAIN = 0.2


def main(words: list[str]) -> int:
    return _show.ending(_main, "log", words)


def _main(words: list[str]) -> int:
    options = _parser().parse_args(words)
    from fairlead.journal import settings
    from fairlead.journal.reading import Log
    from fairlead.journal.sharing import processors

    log = Log(settings.folder(os.environ), workers=processors())
    if options.verify:
        return _verify(log, as_json=options.json)
    if options.number is not None:
        return _one(log, options.number, as_json=options.json)
    wanted = _journal.wanted(options)
    if options.export:
        from fairlead.journal.exporting import export

        count = export(log, wanted, options.export, _show.concealed)
        print(f"{_show.counted(count, 'event')} in {options.export}")
        return 0
    _list(log, wanted, options)
    return 0


def _parser() -> _show.Parser:
    parser = _show.parser("log", __doc__ or "")
    add = parser.add_argument
    add("number", nargs="?", type=int, metavar="NUMBER", help="one event in full")
    add("-n", "--count", type=int, default=20, metavar="COUNT", help="how many of the latest; default 20")
    add("-f", "--follow", action="store_true", help="go on with what happens from now on")
    _journal.add_filters(parser)
    add("--export", default="", metavar="FILE", help="write all that is wanted to a .jsonl, .csv or .parquet file")
    add("--verify", action="store_true", help="prove that nothing was changed or taken out")
    return parser


# --- many --------------------------------------------------------------------------------------------


def _list(log: Log, wanted: Wanted, options: argparse.Namespace) -> None:
    place = log.end()
    found = log.latest(wanted, max(options.count, 0))
    page = _show.Page()
    for entry in found:
        _show_entry(log, entry, page, as_json=options.json)
    if not found and options.count > 0 and not options.follow and not options.json:
        _nothing(log, page, wanted)
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


def _nothing(log: Log, page: _show.Page, wanted: Wanted) -> None:
    from fairlead.journal.reading import Wanted

    if wanted != Wanted() and log.latest(Wanted(), 1):
        page.line("Nothing in the journal is like that.")
        return
    page.line("The journal is empty: no agent has asked Fairlead anything yet.")
    page.line("`fairlead doctor` says what keeps hooks from running.")


def _show_entry(log: Log, entry: Entry, page: _show.Page, *, as_json: bool) -> None:
    whole = log.whole(entry)
    if as_json:
        import json

        print(json.dumps(_show.concealed(whole), ensure_ascii=True))
        return
    word = entry["decision"]
    tool = f" {entry['tool']}" if entry["tool"] else ""
    failed: list[_show.Span] = [("  a hook failed", "error")] if entry["failed"] else []
    decided: list[_show.Span] = [(f"  {_by(whole)}", "dim")] if word not in ("none", "allow") else []
    page.rows(
        [
            (
                (f"{entry['n']}", "dim"),
                (_journal.clock(entry["t"]), "dim"),
                ("-", "dim") if word == "none" else (word, word),
                [(f"{entry['agent']} ", "dim"), (f"{entry['event']}{tool}  ", ""), (_journal.about(whole), "title"),
                 *decided, *failed],
            )
        ],
        widths=(len(str(entry["n"])), 14, 5),
    )  # fmt: skip


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
        raise UsageError(f"there is no event {number} in the journal", hint="it may have been turned over by age")
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
    page.line([(f"{entry['event']}{tool}", "title"), (f"  asked by {entry['agent']}", "dim")])
    for label, value in (
        ("when", f"{_journal.clock(entry['t'])}, {entry['ms']:.1f} ms"), ("session", entry["session"]),
        ("project", details.get("project", "")), ("input", _input(details)),
        ("kept", f"a part: the whole had {details['size']:,} bytes" if "size" in details else ""),
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


def _verify(log: Log, *, as_json: bool) -> int:
    from fairlead.journal.verifying import verify

    found = verify(log)
    if as_json:
        _show.print_json(found.as_dict())
        return 1 if found.problems else 0
    page = _show.Page()
    for problem in found.problems:
        page.line([("changed  ", "error"), (problem, "")])
    if not found.entries:
        page.line("The journal is empty.")
    elif not found.problems:
        count = f"{found.entries:,} {'entry' if found.entries == 1 else 'entries'}"
        page.line([("whole  ", "allow"), (f"{count}, from {found.first} on", "")])
        page.line((found.chain, "dim"))
        page.prose("Kept somewhere else, this line proves later that nothing before it was changed.")
    return 1 if found.problems else 0
