"""The inbox as a screen in the terminal (Textual): what waits, all of it in sight, answered with one key.

Whatever an agent wrote is shown as the server made it visible, and once more what a terminal could reorder: no
character that moves, hides or colours anything comes from a tool.
"""

from __future__ import annotations

import http.client
import json
import threading
import time
from contextlib import suppress
from typing import TYPE_CHECKING, Any, ClassVar
from urllib.parse import quote

from rich.text import Text
from textual import work
from textual.app import App, ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Horizontal, Vertical, VerticalScroll
from textual.css.query import NoMatches
from textual.screen import ModalScreen
from textual.widgets import Footer, Input, Label, OptionList, SelectionList, Static, TextArea
from textual.widgets.option_list import Option
from textual.widgets.selection_list import Selection

from fairlead.cli._inbox_client import Client, Gone
from fairlead.cli._inbox_text import change, detail_of, editable, line_of, meant, outcome, safe, standing
from fairlead.server.visible import shown

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    Item = dict[str, Any]

ARMED_AFTER = 0.4
"""Seconds that a question must stand still before a key answers it: nobody decides about what has just moved."""
_BACK = 1.0
"""Seconds until the next try when the server is away."""
_CHANGES = ("state", "allow", "agreed", "used", "decided_by", "decided_at", "late", "escalated", "deciders", "yours")
"""What may become of a question while somebody looks at it."""


def show(address: str, key: str) -> int:
    """Until the person leaves."""
    InboxScreen(Client(address, key)).run()
    return 0


_LEAVE: list[BindingType] = [Binding("escape", "leave", "Back")]


class Dialog(ModalScreen[Any]):
    AUTO_FOCUS = "SelectionList, Input, TextArea"
    BINDINGS: ClassVar[list[BindingType]] = _LEAVE
    DEFAULT_CSS = """
    Dialog { align: center middle; }
    Dialog > Vertical { width: 90%; max-width: 120; height: auto; max-height: 90%; border: round $primary;
        background: $surface; padding: 0 1; }
    Dialog TextArea { height: 16; }
    Dialog VerticalScroll { height: auto; max-height: 30; }
    Dialog SelectionList { height: auto; max-height: 12; }
    """

    def action_leave(self) -> None:
        self.dismiss(None)


class Asking(Dialog):
    """One line of text."""

    def __init__(self, title: str, value: str = "") -> None:
        super().__init__()
        self._title, self._value = title, value

    def compose(self) -> ComposeResult:
        with Vertical():
            yield Label(Text(self._title))
            yield Input(self._value, id="line")
            yield Label(Text("Enter sends, Escape goes back", "dim"))

    def on_input_submitted(self, event: Input.Submitted) -> None:
        self.dismiss(event.value)


class Editing(Dialog):
    """The text of a call, with every character in sight."""

    BINDINGS: ClassVar[list[BindingType]] = [*_LEAVE, Binding("ctrl+s", "done", "Look at the change", priority=True)]

    def __init__(self, title: str, text: str) -> None:
        super().__init__()
        self._title, self._text = title, text

    def compose(self) -> ComposeResult:
        with Vertical():
            yield Label(Text(self._title))
            yield TextArea(self._text, id="text")
            yield Label(Text("Ctrl+S shows the change before it is sent, Escape goes back", "dim"), id="hint")

    def action_done(self) -> None:
        try:
            self.dismiss(meant(self.query_one(TextArea).text))
        except ValueError as error:
            self.query_one("#hint", Label).update(Text(safe(error), "bold red"))


class Confirming(Dialog):
    """Something to read, and a yes."""

    BINDINGS: ClassVar[list[BindingType]] = [*_LEAVE, Binding("a", "yes", "Allow")]

    def __init__(self, title: str, text: Text, keys: str = "a allows this, Escape goes back") -> None:
        super().__init__()
        self._title, self._text, self._keys = title, text, keys

    def compose(self) -> ComposeResult:
        with Vertical():
            yield Label(Text(self._title, "bold"))
            with VerticalScroll():
                yield Static(self._text)
            yield Label(Text(self._keys, "dim"))

    def action_yes(self) -> None:
        self.dismiss(True)


class Answering(Dialog):
    """The questions of an agent, with their options and room for words of one's own."""

    BINDINGS: ClassVar[list[BindingType]] = [*_LEAVE, Binding("ctrl+s", "done", "Answer", priority=True)]

    def __init__(self, item: Item) -> None:
        super().__init__()
        self._questions = [part for part in item["parts"] if "question" in part]

    def compose(self) -> ComposeResult:
        with Vertical(), VerticalScroll():
            for number, part in enumerate(self._questions):
                yield Label(Text(safe(part["question"]), "bold"))
                if part["options"]:
                    yield SelectionList[str](*self._options(part), id=f"options{number}")
                yield Input(placeholder="an answer of your own", id=f"own{number}")
            if not self._questions:
                yield Input(placeholder="your answer", id="own")
            yield Label(Text("Space chooses, Tab goes on, Ctrl+S answers, Escape goes back", "dim"), id="hint")

    def _options(self, part: Mapping[str, Any]) -> list[Selection[str]]:
        return [
            Selection(
                Text.assemble(safe(option["label"]), (f"  {safe(option['description'])}", "dim")), option["value"]
            )
            for option in part["options"]
        ]

    def on_selection_list_selection_toggled(self, event: SelectionList.SelectionToggled[str]) -> None:
        """Where one answer is wanted, the last choice stands."""
        chosen = event.selection_list
        part = self._questions[int((chosen.id or "options0").removeprefix("options"))]
        if not part["multiple"]:
            for value in chosen.selected:
                if value != event.selection.value:
                    chosen.deselect(value)

    def action_done(self) -> None:
        given = self._one() if not self._questions else self._all()
        if given:
            self.dismiss(given)
        else:
            self.query_one("#hint", Label).update(Text("every question needs an answer", "bold red"))

    def _one(self) -> str:
        return self.query_one("#own", Input).value.strip()

    def _all(self) -> dict[str, str]:
        found = {part["key"]: self._given(number, part) for number, part in enumerate(self._questions)}
        return found if all(found.values()) else {}

    def _given(self, number: int, part: Mapping[str, Any]) -> str:
        own = self.query_one(f"#own{number}", Input).value.strip()
        chosen = self.query_one(f"#options{number}", SelectionList).selected if part["options"] else []
        return ", ".join([*chosen, *([own] if own else [])])


# --- the screen --------------------------------------------------------------------------------------------

HELP = """\
j, k, ↓, ↑     the next question, the one before
a              allow
e              change it, look at the change, and allow that
d              refuse, with a reason
enter          answer the agent's questions
w              always allow: make a rule from this question
r              the rules in force; take one back
x, X           choose this one, or all that are alike, to answer them together; escape undoes it
h              history, and back to what waits
/              search
page up, down  read on
q              leave

A question that nobody answers is refused when its time is over. An answer that comes later is
kept, and the agent's next try takes it."""


class Rows(OptionList, inherit_bindings=False):
    """What waits. Page up and down are for the text beside it."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("down", "cursor_down", show=False),
        Binding("up", "cursor_up", show=False),
        Binding("home", "first", show=False),
        Binding("end", "last", show=False),
        Binding("enter", "select", show=False),
    ]


class Reading(VerticalScroll):
    """Knows whether somebody has come to the end of what it shows."""

    _came_to_the_end = False

    def begin(self) -> None:
        self._came_to_the_end = False
        self.scroll_home(animate=False)

    def watch_scroll_y(self, old_value: float, new_value: float) -> None:
        super().watch_scroll_y(old_value, new_value)
        self._came_to_the_end = self.was_read

    @property
    def was_read(self) -> bool:
        return self._came_to_the_end or (self.size.area > 0 and self.scroll_offset.y >= self.max_scroll_y)


class InboxScreen(App[None]):
    TITLE = "Fairlead"
    ENABLE_COMMAND_PALETTE = False
    CSS = """
    #state { height: 1; background: $panel; padding: 0 1; }
    #list { width: 42; height: 1fr; border: none; border-right: tall $panel; }
    #scroll { height: 1fr; padding: 0 1; }
    .-narrow #both { layout: vertical; }
    .-narrow #list { width: 1fr; height: auto; max-height: 35%; border-right: none; border-bottom: tall $panel; }
    """
    HORIZONTAL_BREAKPOINTS = [(0, "-narrow"), (76, "-wide")]  # noqa: RUF012  # as Textual declares it
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("a", "allow", "Allow"),
        Binding("e", "edit", "Change"),
        Binding("d", "refuse", "Refuse"),
        Binding("enter", "answer", "Answer", priority=False),
        Binding("w", "always", "Always"),
        Binding("r", "rules", "Rules"),
        Binding("h", "history", "History"),
        Binding("slash", "search", "Search"),
        Binding("question_mark", "help", "Help"),
        Binding("q", "quit", "Leave"),
        Binding("x", "mark", "Choose", show=False),
        Binding("X", "mark_alike", show=False),
        Binding("escape", "unmark", show=False),
        Binding("j", "step(1)", show=False),
        Binding("k", "step(-1)", show=False),
        Binding("pagedown", "page(1)", show=False),
        Binding("pageup", "page(-1)", show=False),
    ]

    def __init__(self, client: Client) -> None:
        super().__init__()
        self._client = client
        self.items: list[Item] = []
        self.connected = False
        self._trouble = "connecting"
        self._done, self._text = False, ""
        self._shown, self._since = "", 0.0
        self._wholes: dict[str, tuple[str, Item]] = {}
        """What somebody looks at, with what the list said when it was fetched."""
        self._fetching: set[str] = set()
        self.marked: set[str] = set()
        self._left = threading.Event()

    def compose(self) -> ComposeResult:
        yield Static(id="state")
        with Horizontal(id="both"):
            yield Rows(id="list")
            with Reading(id="scroll"):
                yield Static(id="detail")
        yield Footer()

    def on_mount(self) -> None:
        self.query_one("#list").focus()
        self.set_interval(1, self._on_time)
        self._follow()

    def on_unmount(self) -> None:
        self._left.set()
        self._client.hang_up()

    # --- what the server says ------------------------------------------------------------------------

    @work(thread=True, group="follow")
    def _follow(self) -> None:
        while not self._left.is_set():
            try:
                for _ in self._client.changes():
                    self._load_here()
                self._in_app(self._lost, "the server has ended")
            except Gone as error:
                self._in_app(self._lost, str(error))
            self._left.wait(_BACK)

    def _load_here(self) -> None:
        path = f"/api/interactions?state={'done' if self._done else 'pending'}&text={quote(self._text)}"
        self._in_app(self._show, self._got(path)["interactions"])

    def _got(self, path: str) -> dict[str, Any]:
        """Raises Gone for whatever is no answer."""
        status, found = self._client.call("GET", path)
        if status != http.client.OK:
            raise Gone(found["error"]["message"])
        return dict(found)

    @work(thread=True, group="load", exclusive=True)
    def _reload(self) -> None:
        try:
            self._load_here()
        except Gone as error:
            self._in_app(self._lost, str(error))

    def _in_app(self, action: Callable[..., Any], *values: Any, **named: Any) -> None:
        """From another thread, unless the person has left."""
        if not self._left.is_set():
            with suppress(RuntimeError, NoMatches):
                self.call_from_thread(action, *values, **named)

    def _lost(self, why: str) -> None:
        self.connected, self._trouble = False, why
        self._tick()

    def _show(self, items: list[Item]) -> None:
        """The chosen question stays the chosen one, wherever it stands now."""
        self.connected = True
        chosen, before = self.chosen, self._row()
        self.items = items
        listed = self.query_one("#list", OptionList)
        now = time.time()
        self.marked &= {item["id"] for item in items if item["state"] == "pending"}
        listed.clear_options()
        marked = self.marked
        listed.add_options([Option(line_of(one, now, chosen=one["id"] in marked), id=one["id"]) for one in items])
        ids = [item["id"] for item in items]
        if items:
            here = chosen is not None and chosen["id"] in ids
            listed.highlighted = ids.index(chosen["id"]) if chosen and here else min(before or 0, len(ids) - 1)
        self._tick()

    @property
    def chosen(self) -> Item | None:
        row = self._row()
        return self.items[row] if row is not None and row < len(self.items) else None

    def _row(self) -> int | None:
        return self.query_one("#list", OptionList).highlighted

    def _on_time(self) -> None:
        with suppress(NoMatches):  # the person is leaving
            self._tick()

    def _tick(self) -> None:
        state = self.query_one("#state", Static)
        what = "history" if self._done else f"{len(self.items)} waiting"
        search = f" · search: {safe(shown(self._text))}" if self._text else ""
        line = "live" if self.connected else f"not connected, trying again ({safe(shown(self._trouble))})"
        state.update(Text(f"Fairlead · {what}{search} · {line}", "" if self.connected else "bold red"))
        self._draw()

    def on_option_list_option_highlighted(self, _event: OptionList.OptionHighlighted) -> None:
        self._draw()

    def _draw(self) -> None:
        rows, now = self._looked_at(), time.time()
        detail = self.query_one("#detail", Static)
        items = [whole for row in rows if (whole := self.whole(row)) is not None]
        if not rows or len(items) < len(rows):
            detail.update(Text("Fetching all of it…" if rows else self._nothing(), "dim"))
            self._shown = ""
            return
        detail.update(Text("\n\n").join(detail_of(item, now) for item in items))
        shows = " ".join(f"{item['id']} {item['state']}" for item in items)
        if self._shown != shows:
            self._shown, self._since = shows, time.monotonic()
            self.query_one("#scroll", Reading).begin()

    def _nothing(self) -> str:
        return "Nothing was asked yet." if self._done else "Nothing waits. New questions appear here by themselves."

    def _looked_at(self) -> list[Item]:
        """The chosen one, or all that are marked."""
        marked = [item for item in self.items if item["id"] in self.marked]
        return marked if len(marked) > 1 else [self.chosen] if self.chosen is not None else []

    # --- all of it -----------------------------------------------------------------------------------

    def whole(self, row: Item) -> Item | None:
        """Once it has come: only what can be read to its end can be answered."""
        wanted = _stamp(row)
        stamp, item = self._wholes.get(row["id"], ("", None))
        if stamp != wanted and row["id"] not in self._fetching:
            self._fetching.add(row["id"])
            self._fetch(row["id"], wanted)
        if item is None or item["digest"] != row["digest"]:
            return None
        return {**item, **{name: row[name] for name in _CHANGES}}

    @work(thread=True, group="whole")
    def _fetch(self, name: str, stamp: str) -> None:
        try:
            found = self._got(f"/api/interactions/{name}")
        except Gone as error:
            self._in_app(self._lost, str(error))
        else:
            self._in_app(self._fetched, name, stamp, found)
        finally:
            self._fetching.discard(name)

    def _fetched(self, name: str, stamp: str, item: Item) -> None:
        listed = {row["id"] for row in self.items}
        self._wholes = {known: whole for known, whole in self._wholes.items() if known in listed}
        self._wholes[name] = stamp, item
        self._draw()

    @property
    def armed(self) -> bool:
        """Whether what is chosen has stood still long enough to be answered."""
        return bool(self._shown) and time.monotonic() - self._since >= ARMED_AFTER

    # --- what the person says ------------------------------------------------------------------------

    def _ask(self, dialog: Dialog, then: Callable[[Any], None]) -> None:
        def given(value: Any) -> None:
            if value is not None:
                then(value)

        self.push_screen(dialog, given)

    def _to_answer(self) -> Item | None:
        row = self.chosen
        if row is None or row["allow"] is not None:
            self.bell()
            return None
        if not row["yours"]:
            self.notify(f"{' or '.join(map(safe, row['deciders']))} may decide this.", timeout=4, markup=False)
            return None
        item = self.whole(row)
        if item is None or not self.armed:
            self.notify("This has just appeared. Read it, then press the key again.", timeout=2, markup=False)
            return None
        return item

    # --- several ---------------------------------------------------------------------------------------

    def action_mark(self) -> None:
        row = self.chosen
        if row is None or not _can_be_marked(row) or not all(_alike(row, other) for other in self._marked_rows()):
            self.bell()
            return
        self.marked ^= {row["id"]}
        self._show(self.items)

    def action_mark_alike(self) -> None:
        row = self.chosen
        if row is not None and _can_be_marked(row):
            self.marked = {one["id"] for one in self.items if _can_be_marked(one) and _alike(row, one)}
            self._show(self.items)

    def action_unmark(self) -> None:
        self.marked = set()
        self._show(self.items)

    def _marked_rows(self) -> list[Item]:
        return [item for item in self.items if item["id"] in self.marked]

    def _several(self, word: str, then: Callable[[list[Item]], None]) -> bool:
        """Whether several are meant: then they are shown once more, and confirmed."""
        rows = self._marked_rows()
        if len(rows) < 2:
            return False
        items = [whole for row in rows if (whole := self.whole(row)) is not None]
        if len(items) < len(rows) or not self.armed:
            self.notify("They have just appeared. Read them, then press the key again.", timeout=2, markup=False)
            return True
        if word == "Allow" and not self._was_read():
            return True
        text = Text("\n\n").join(detail_of(item, time.time()) for item in items)
        title = f"{word} these {len(items)} together?"
        self._ask(Confirming(title, text, f"a: {word.lower()} all of them; Escape goes back"), lambda _: then(items))
        return True

    def _send_several(self, items: list[Item], said: dict[str, Any]) -> None:
        answers = [{"id": item["id"], "digest": item["digest"], **said} for item in items]
        self._post("/api/answers", {"answers": answers}, self._sent_several)

    def _sent_several(self, found: dict[str, Any]) -> None:
        refused = [one["error"]["message"] for one in found["answers"] if "error" in one]
        good = f"{len(found['answers']) - len(refused)} answered"
        said = f"{good}, {len(refused)} not: {safe(shown(refused[0]))}" if refused else good
        self.marked = set()
        self.notify(said, severity="warning" if refused else "information", timeout=4, markup=False)

    # --- one -------------------------------------------------------------------------------------------

    def action_allow(self) -> None:
        if self._several("Allow", lambda items: self._send_several(items, {"decision": "allow"})):
            return
        item = self._to_answer()
        if item is None:
            return
        if item["kind"] == "input":
            self.action_answer()
        elif self._was_read():
            self._send(item, {"decision": "allow"})

    def _was_read(self) -> bool:
        """To its end: what nobody has seen is not allowed."""
        read = self.query_one("#scroll", Reading).was_read
        if not read:
            self.notify("There is more below: page down to its end, then allow it.", timeout=4, markup=False)
        return read

    def action_refuse(self) -> None:
        if self._several("Refuse", self._refuse_several):
            return
        item = self._to_answer()
        if item is not None:
            self._ask(
                Asking(f"Refuse {safe(item['tool'])}. The reason, for the agent:"),
                lambda said: self._send(item, {"decision": "block", "message": said}),
            )

    def _refuse_several(self, items: list[Item]) -> None:
        self._ask(
            Asking(f"Refuse these {len(items)}. The reason, for the agent:"),
            lambda said: self._send_several(items, {"decision": "block", "message": said}),
        )

    def action_answer(self) -> None:
        item = self._to_answer()
        if item is not None and item["kind"] == "input":
            self._ask(Answering(item), lambda given: self._send(item, {"decision": "allow", "response": given}))

    def on_option_list_option_selected(self, _event: OptionList.OptionSelected) -> None:
        self.action_answer()

    def action_edit(self) -> None:
        item = self._to_answer()
        if item is None:
            return
        field = item["edits"]
        text = editable(item["payload"][field]) if field else json.dumps(item["payload"], indent=2)
        title = f"Change {field or 'the whole input, as JSON'} of {safe(item['tool'])}"
        self._ask(Editing(title, text), lambda new: self._edited(item, new))

    def _edited(self, item: Item, new: str) -> None:
        field = item["edits"]
        try:
            update = {**item["payload"], field: new} if field else json.loads(new)
        except ValueError as error:
            self.notify(f"This is no JSON: {error}", severity="error", markup=False)
            return
        old = item["payload"][field] if field else json.dumps(item["payload"], indent=2)
        self._ask(
            Confirming("This is what will run instead:", change(old, new)),
            lambda _: self._send(item, {"decision": "allow", "updated_input": update}),
        )

    def action_always(self) -> None:
        item = self._to_answer()
        if item is None:
            return
        command = item["payload"].get("command")
        name = "command" if isinstance(command, str) else "path"
        value = (
            command if name == "command" else item["payload"].get("file_path", item["payload"].get("notebook_path", ""))
        )
        title = (
            f"Always allow this {name} in this session; begin with project: or user: for more. `git log *`, `/p/src/**`"
        )
        self._ask(Asking(title, editable(str(value))), lambda said: self._ruled(item, name, said))

    def _ruled(self, item: Item, name: str, said: str) -> None:
        scope, _, rest = said.partition(":")
        wide = scope in ("project", "user")
        rule = {"scope": scope if wide else "session", name: rest.strip() if wide else said}
        try:
            rule[name] = meant(rule[name])
        except ValueError as error:
            self.notify(str(error), severity="error", markup=False)
            return
        self._post(f"/api/interactions/{item['id']}/rule", rule, lambda _: self._send(item, {"decision": "allow"}))

    @work(thread=True, group="rules")
    def action_rules(self) -> None:
        try:
            rules = self._client.call("GET", "/api/rules")[1]["rules"]
        except Gone as error:
            self._in_app(self._lost, str(error))
            return
        lines = "\n".join(
            f"{number}  {rule['scope']}: {safe(shown(rule['tool']))} {safe(shown(rule['command'] or rule['path']))}"
            f"{' in ' + safe(shown(rule['folder'])) if rule['folder'] else ''}"
            for number, rule in enumerate(rules, 1)
        )
        title = f"{lines or 'No rules are in force.'}\n\nThe number of the one to take back:"
        self._in_app(self._ask, Asking(title), lambda said: self._take_back(rules, said))

    def _take_back(self, rules: list[dict[str, Any]], said: str) -> None:
        if said.isdecimal() and 0 < int(said) <= len(rules):
            self._post(f"/api/rules/{rules[int(said) - 1]['id']}", None, lambda _: None, method="DELETE")

    def action_history(self) -> None:
        self._done = not self._done
        self._reload()

    def action_search(self) -> None:
        self._ask(Asking("Search in all that was asked:", self._text), self._search)

    def _search(self, said: str) -> None:
        self._text = said
        self._reload()

    def action_help(self) -> None:
        self.push_screen(Confirming("Keys", Text(HELP), "Escape goes back"))

    def action_step(self, by: int) -> None:
        listed = self.query_one("#list", OptionList)
        (listed.action_cursor_down if by > 0 else listed.action_cursor_up)()

    def action_page(self, by: int) -> None:
        scroll = self.query_one("#scroll", VerticalScroll)
        (scroll.scroll_page_down if by > 0 else scroll.scroll_page_up)()

    def _send(self, item: Item, said: dict[str, Any]) -> None:
        path = f"/api/interactions/{item['id']}/answer"
        self._post(path, {**said, "digest": item["digest"]}, self._sent)

    def _sent(self, item: Item) -> None:
        waits = item["state"] == "pending"
        self.notify(
            standing(item, time.time()).strip() if waits else outcome(item).capitalize(), timeout=3, markup=False
        )

    @work(thread=True, group="send")
    def _post(self, path: str, fields: dict[str, Any] | None, then: Callable[[Any], Any], method: str = "POST") -> None:
        try:
            status, found = self._client.call(method, path, fields)
        except Gone as error:
            self._in_app(self.notify, f"Not sent: {error}", severity="error", markup=False)
            return
        if status < http.client.BAD_REQUEST:
            self._in_app(then, found)
        else:
            self._in_app(self._refused, found)
        self._reload()

    def _refused(self, found: dict[str, Any]) -> None:
        stands = found.get("interaction")
        instead = f" It was {outcome(stands)}." if stands and stands["allow"] is not None else ""
        self.notify(f"{safe(shown(found['error']['message']))}.{instead}", severity="warning", markup=False)


def _stamp(row: Item) -> str:
    return json.dumps([row["digest"], *(row[name] for name in _CHANGES)])


def _can_be_marked(row: Item) -> bool:
    return bool(row["state"] == "pending" and row["kind"] == "approval" and row["yours"])


def _alike(row: Item, other: Item) -> bool:
    return bool(row["tool"] == other["tool"] and row["kind"] == other["kind"])
