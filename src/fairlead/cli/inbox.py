"""What waits for an answer, and answering it: fairlead inbox [allow ID | block ID] [OPTION…]

On a terminal with the extra `tui` a screen opens, for everything at once; else what waits is listed.
ID is the beginning of one of the listed ids. `--link` prints a link that opens the inbox page once; with `--as NAME`
for somebody else, who then decides in that name. `--people` lists who is logged in, `--log-out NAME` ends that.
"""

from __future__ import annotations

import os
import sys
import time

from fairlead import people
from fairlead.cli import _show
from fairlead.errors import FairleadError, UsageError

TYPE_CHECKING = False
if TYPE_CHECKING:
    import argparse
    from collections.abc import Mapping
    from typing import Any

    Item = dict[str, Any]

_SHORT = 8
_GONE = "the server does not answer"


def main(words: list[str]) -> int:
    return _show.ending(_main, "inbox", words)


def _main(words: list[str]) -> int:
    options = _parser().parse_args(words)
    _check(options)
    if options.action or options.link or options.people or options.log_out:
        _refuse_agents(os.environ)
    server = Server(os.environ)
    if options.link:
        return _link(server, options)
    if options.people:
        return _people(server, options)
    if options.log_out:
        return _log_out(server, options)
    if options.action:
        return _answer(server, options)
    if not os.environ.get("M_RUN_ID") and _wants_screen(options) and (code := _screen(server)) is not None:
        return code
    return _list(server, options)


def _parser() -> _show.Parser:
    parser = _show.parser("inbox", __doc__ or "")
    parser.add_argument("action", nargs="?", choices=["allow", "block"], help="what you say to it")
    parser.add_argument("id", nargs="?", default="", metavar="ID", help="to what; its beginning is enough")
    parser.add_argument("--reason", default="", help="said to the agent; with block it should not be missing")
    parser.add_argument("--answer", action="append", default=[], metavar="TEXT",
                        help="with allow: your answer to a question; once for each of several")  # fmt: skip
    parser.add_argument("--input", default="", metavar="JSON", help="with allow: what the tool is given instead")
    parser.add_argument("--link", action="store_true", help="print a link that opens the inbox page once")
    parser.add_argument("--as", dest="name", default="", metavar="NAME", help="with --link: for this person")
    parser.add_argument("--people", action="store_true", help="list who is logged in")
    parser.add_argument("--log-out", default="", metavar="NAME", help="end every login of this person, at once")
    parser.add_argument("--done", action="store_true", help="list what was answered instead")
    parser.add_argument("--text", default="", help="list only what holds this text")
    parser.add_argument("--plain", action="store_true", help="list it, also on a terminal")
    return parser


def _check(options: argparse.Namespace) -> None:
    if options.action and not options.id:
        raise UsageError(f"{options.action} needs an ID", hint="`fairlead inbox --plain` lists them")
    for name in filter(None, (options.name, options.log_out)):
        if not people.name_of(name):
            raise UsageError(f"{name!r} is no name", hint=f"a name is {people.WHAT} characters")
    if options.name and not options.link:
        raise UsageError("--as goes with --link", hint="your own name is on every answer that you give here")
    if (options.answer or options.input) and options.action != "allow":
        raise UsageError("--answer and --input go with allow")


# --- the server --------------------------------------------------------------------------------------


def _refuse_agents(environ: Mapping[str, str]) -> None:
    """No wall, since an agent runs as its user and can take the variable out; but none answers itself by the way."""
    if environ.get("M_RUN_ID"):
        raise UsageError(
            "this is inside a supervised run: an agent can ask, and never decide", hint="use another terminal"
        )


class Server:
    """The approval service, for the person whose files these are."""

    def __init__(self, environ: Mapping[str, str]) -> None:
        from fairlead import approvals

        self.address = (environ.get("FAIRLEAD_SERVER") or approvals.announced(environ)).rstrip("/")
        if not self.address:
            raise FairleadError("no server is running", hint=approvals.START)
        try:
            self.key = approvals.users_key(environ, self.address)
        except approvals.NoAnswer as error:
            raise FairleadError(str(error)) from None

    def get(self, path: str, **query: str) -> dict[str, Any]:
        from urllib.parse import urlencode

        return self._call("GET", f"{path}?{urlencode(query)}" if query else path)

    def post(self, path: str, fields: Mapping[str, Any]) -> dict[str, Any]:
        return self._call("POST", path, fields)

    def delete(self, path: str) -> dict[str, Any]:
        return self._call("DELETE", path)

    def _call(self, method: str, path: str, fields: Mapping[str, Any] | None = None) -> dict[str, Any]:
        from fairlead import approvals

        try:
            status, found = approvals.call(self.address, method, path, self.key, fields)
        except (approvals.Trouble, approvals.NoAnswer) as error:
            raise FairleadError(f"{_GONE}: {error}", hint=approvals.START) from None
        if status >= 300:
            raise FairleadError(approvals.complaint(status, found))
        return found

    def items(self, *, done: bool = False, text: str = "") -> list[Item]:
        """The beginning of each."""
        query = {"state": "done" if done else "pending", **({"text": text} if text else {})}
        found: list[Item] = self.get("/api/interactions", **query)["interactions"]
        return found

    def whole(self, row: Item) -> Item:
        return self.get(f"/api/interactions/{row['id']}")

    def find(self, start: str) -> Item:
        """By the beginning of its id: among what waits, then among what came too late for an answer in time."""
        for done in (False, True):
            found = [item for item in self.items(done=done) if item["id"].startswith(start)]
            if len(found) == 1:
                return self.whole(found[0])
            if found:
                raise UsageError(f"{start!r} is the beginning of {len(found)} ids", hint="write more of it")
        raise FairleadError(f"there is no question {start!r}", hint="`fairlead inbox --plain` lists what waits")


# --- what it does ------------------------------------------------------------------------------------


def _link(server: Server, options: argparse.Namespace) -> int:
    made = server.post("/api/login-link", {"name": options.name})
    link = f"{server.address}/#k={made['key']}"
    if options.json:
        _show.print_json({"link": link, "name": made["name"]})
    else:
        print(link)
    return 0


def _people(server: Server, options: argparse.Namespace) -> int:
    logins = server.get("/api/people")["logins"]
    if options.json:
        _show.print_json({"logins": logins})
        return 0
    page, now = _show.Page(), time.time()
    if not logins:
        page.line("Nobody is logged in with a browser. `fairlead inbox --link --as NAME` makes a link for somebody.")
    for one in logins:
        since, left = _span(now - one["created_at"]), _span(one["expires_at"] - now)
        page.line([(one["name"], "title"), (f"  logged in {since} ago, for {left} more", "dim")])
    if logins:
        page.line(("`fairlead inbox --log-out NAME` ends every login of a person, at once.", "dim"))
    return 0


def _log_out(server: Server, options: argparse.Namespace) -> int:
    from urllib.parse import quote

    found = server.delete(f"/api/people/{quote(options.log_out, safe='')}")
    if options.json:
        _show.print_json(found)
    else:
        print(f"{found['name']} is logged out everywhere ({_show.counted(found['ended'], 'login or link')}).")
    return 0


def _answer(server: Server, options: argparse.Namespace) -> int:
    item = server.find(options.id)
    said: dict[str, Any] = {"decision": options.action, "digest": item["digest"], "message": options.reason}
    if options.input:
        said["updated_input"] = _object(options.input)
    if options.answer:
        said["response"] = _response(item, options.answer)
    elif options.action == "allow" and item["kind"] == "input":
        raise UsageError("this is a question: allow alone does not answer it", hint="say --answer TEXT")
    after = server.post(f"/api/interactions/{item['id']}/answer", said)
    if options.json:
        _show.print_json(after)
    else:
        _show.Page().line([(_outcome(after), "title"), (f"  {after['tool']}  {after['id'][:_SHORT]}", "")])
    return 0


def _object(text: str) -> dict[str, Any]:
    from fairlead import wire
    from fairlead.errors import InputError

    try:
        return wire.decode_object(text, "--input")
    except InputError as error:
        raise UsageError(f"--input cannot be used: {error}") from None


def _response(item: Item, answers: list[str]) -> str | dict[str, str]:
    keys = [part["key"] for part in item["parts"] if "key" in part]
    if len(answers) == 1 and len(keys) < 2:
        return answers[0]
    if len(answers) != len(keys):
        raise UsageError(f"{_show.counted(len(keys), 'question')}, {_show.counted(len(answers), 'answer')}")
    return dict(zip(keys, answers, strict=True))


def _wants_screen(options: argparse.Namespace) -> bool:
    return sys.stdout.isatty() and sys.stdin.isatty() and not (
        options.json or options.plain or options.done or options.text
    )  # fmt: skip


def _screen(server: Server) -> int | None:
    """None where the extra is missing."""
    try:
        from fairlead.cli import _inbox_screen  # type: ignore[attr-defined,unused-ignore]
    except ImportError:
        return None
    return int(_inbox_screen.show(server.address, server.key))


def _list(server: Server, options: argparse.Namespace) -> int:
    items = [server.whole(row) for row in server.items(done=options.done, text=options.text)]
    if options.json:
        _show.print_json({"interactions": items})
        return 0
    page = _show.Page()
    if not items:
        page.line(
            "Nothing matches." if options.text else "Nothing was asked yet." if options.done else "Nothing waits."
        )
    for item in items:
        _print_item(page, item)
    if items and not options.done:
        page.line(("`fairlead inbox allow ID` or `fairlead inbox block ID --reason …` answers one.", "dim"))
    return 0


def _print_item(page: _show.Page, item: Item) -> None:
    run = item["run"]
    where = " · ".join(part for part in (run["agent"], run["project"]) if part)
    page.line([(item["id"][:_SHORT], "title"), (f"  {item['tool']}", "title"), (f"  {where}  {_when(item)}", "dim")])
    for line in _about(item):
        page.line(line, indent=2)
    for part in item["parts"]:
        for line in _lines(part):
            page.line(line, indent=2)
    for warning in item["warnings"]:
        page.line((warning, "warning"), indent=2)
    page.line()


def _about(item: Item) -> list[Any]:
    """Why it is asked, where, and of whom."""
    found: list[Any] = [(item["why"], "title")] if item["why"] else []
    if item["cwd"] and item["cwd"] != item["run"]["project"]:
        found.append((f"in {item['cwd']}", "dim"))
    if item["state"] == "pending" and item["deciders"]:
        found.append((f"for {', '.join(item['deciders'])} to decide", "dim" if item["yours"] else "warning"))
    if item["state"] == "pending" and item["escalated"]:
        found.append((f"escalated to {', '.join(item['escalate_to'])}", "warning"))
    return found


def _lines(part: Item) -> list[Any]:
    if "diff" in part:
        styles = {"-": "deny", "+": "allow"}
        return [(f"{mark} {line}", styles.get(mark, "")) for mark, line in part["diff"]]
    if "question" in part:
        options = [f"  {option['label']}  {option['description']}".rstrip() for option in part["options"]]
        return [(part["question"], "title"), *options]
    note = [(part["note"], "warning")] if part.get("note") else []
    return [*part.get("text", "").split("\n"), *note]


def _when(item: Item) -> str:
    if item["state"] != "pending":
        return _outcome(item)
    now = time.time()
    agreed = f", {len(item['agreed'])} of {item['people']} agree" if item["people"] > 1 else ""
    return f"{_span(now - item['created_at'])} ago, {_span(item['expires_at'] - now)} left{agreed}"


def _outcome(item: Item) -> str:
    if item["allow"] is None:
        return "waits for others to agree" if item["state"] == "pending" else "nobody answered"
    word = "allowed" if item["allow"] else "refused"
    return f"{word} by {item['decided_by']}{', late: kept for the next try' if item['late'] else ''}"


def _span(seconds: float) -> str:
    seconds = max(seconds, 0)
    for size, name in ((86400, "d"), (3600, "h"), (60, "min")):
        if seconds >= size:
            return f"{seconds / size:.0f} {name}"
    return f"{seconds:.0f} s"
