"""The inbox in a terminal, driven by keys against a real server."""

from __future__ import annotations

import asyncio
import http.client
import json
import threading
import unicodedata
from collections.abc import AsyncIterator, Callable, Iterator, Mapping
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from textual.pilot import Pilot
from textual.widgets import Input, TextArea

from fairlead.cli._inbox_client import Client
from fairlead.cli._inbox_screen import InboxScreen
from fairlead.cli._inbox_text import detail_of, editable, line_of, meant, safe
from fairlead.server import views
from fairlead.server.records import Interaction
from tests.server.service import Service


@pytest.fixture
def service(tmp_path: Path) -> Iterator[Service]:
    found = Service(tmp_path)
    yield found
    found.close()


class Agent:
    """One that waits."""

    def __init__(self, service: Service) -> None:
        self._service = service
        self._run, self._key = service.new_run()
        self._connections: list[http.client.HTTPConnection] = []

    def ask(self, tool: str, payload: Mapping[str, Any], **more: Any) -> Callable[[], Any]:
        connection = self._service.ask(self._run, self._key, f"q{len(self._connections)}", tool, payload, **more)
        self._connections.append(connection)
        return lambda: json.loads(connection.getresponse().read())

    def close(self) -> None:
        for connection in self._connections:
            connection.close()


@pytest.fixture
def agent(service: Service) -> Iterator[Agent]:
    found = Agent(service)
    yield found
    found.close()


class Person:
    """Looks and presses keys."""

    def __init__(self, app: InboxScreen, pilot: Pilot[None]) -> None:
        self.app = app
        self.pilot = pilot

    async def until(self, condition: Callable[[], object]) -> None:
        async with asyncio.timeout(30):
            while not condition():
                await self.pilot.pause(0.02)

    async def sees(self, *words: str) -> str:
        await self.until(lambda: all(word in self.screen() for word in words))
        return self.screen()

    async def ready(self, count: int = 1) -> None:
        await self.until(lambda: len(self.app.items) == count and self.app.armed)

    async def press(self, *keys: str) -> None:
        await self.pilot.press(*keys)

    def screen(self) -> str:
        """Every character that is on the terminal."""
        strips = self.app.screen._compositor.render_strips()
        return "\n".join("".join(segment.text for segment in strip) for strip in strips)


@asynccontextmanager
async def looking(service: Service, size: tuple[int, int] = (120, 40)) -> AsyncIterator[Person]:
    app = InboxScreen(Client(service.address, service.token))
    async with app.run_test(size=size, notifications=True) as pilot:
        person = Person(app, pilot)
        await person.until(lambda: app.connected)
        yield person


async def answer(wait: Callable[[], Any]) -> Any:
    return await asyncio.to_thread(wait)


async def test_a_question_appears_by_itself_and_one_key_allows_it(service: Service, agent: Agent) -> None:
    async with looking(service) as person:
        await person.sees("Nothing waits")
        wait = agent.ask("Bash", {"command": "npm run build"})
        await person.sees("npm run build", "1 waiting", "claude-code", "left, then the answer is no")
        await person.ready()
        await person.press("a")
        assert await answer(wait) == {"decision": "allow"}
        await person.sees("Nothing waits", "Allowed by")


@pytest.mark.parametrize("size", [(120, 40), (80, 24), (40, 12)], ids=["wide", "usual", "tiny"])
async def test_what_is_longer_than_the_screen_is_allowed_only_after_its_end_was_seen(
    service: Service, agent: Agent, size: tuple[int, int]
) -> None:
    async with looking(service, size) as person:
        wait = agent.ask("Write", {"file_path": "/work/a", "content": "line\n" * 60 + "the end"})
        await person.ready()
        await person.press("a")
        await person.sees("There is more", "below")
        assert len(service.whole()) == 1
        while "the end" not in person.screen():
            await person.press("pagedown")
            await person.pilot.pause()
        await person.press("pagedown", "a")
        assert await answer(wait) == {"decision": "allow"}


async def test_a_tiny_terminal_shows_what_is_asked(service: Service, agent: Agent) -> None:
    async with looking(service, (40, 12)) as person:
        wait = agent.ask("Bash", {"command": "git push --force origin main && rm -rf build"})
        await person.ready()
        await person.sees("rm -rf build")
        await person.press("d", *"no", "enter")
        assert (await answer(wait))["decision"] == "block"


async def test_refusing_tells_the_agent_the_reason(service: Service, agent: Agent) -> None:
    async with looking(service) as person:
        wait = agent.ask("Bash", {"command": "rm -rf build"})
        await person.ready()
        await person.press("d", *"not now", "enter")
        assert await answer(wait) == {"decision": "block", "message": "User rejected: not now"}


async def test_escape_answers_nothing(service: Service, agent: Agent) -> None:
    async with looking(service) as person:
        agent.ask("Bash", {"command": "ls"})
        await person.ready()
        for key in ("d", "e", "w", "question_mark", "slash"):
            await person.press(key, "escape")
        assert service.call("GET", "/api/interactions").json["interactions"][0]["state"] == "pending"


async def test_a_command_is_changed_and_the_change_is_shown_before_it_is_sent(service: Service, agent: Agent) -> None:
    async with looking(service) as person:
        wait = agent.ask("Bash", {"command": "rm -rf ~/x", "timeout": 5})
        await person.ready()
        await person.press("e")
        await person.until(lambda: person.app.screen.query(TextArea))
        person.app.screen.query_one(TextArea).text = "rm -rf ./x"
        await person.press("ctrl+s")
        await person.sees("- rm -rf ~/x", "+ rm -rf ./x")
        await person.press("a")
        told = await answer(wait)
        assert told == {"decision": "allow", "updated_input": {"command": "rm -rf ./x", "timeout": 5}}


async def test_an_edit_is_shown_as_a_diff(service: Service, agent: Agent) -> None:
    async with looking(service) as person:
        agent.ask("Edit", {"file_path": "/p/a.py", "old_string": "a\nb", "new_string": "a\nc", "replace_all": True})
        await person.sees("/p/a.py", "- b", "+ c", "everywhere in the file")


async def test_questions_are_answered_with_an_option_or_with_words(service: Service, agent: Agent) -> None:
    questions = [
        {"question": "Which one?", "options": [{"label": "red", "description": "warm"}, {"label": "blue"}]},
        {"question": "Why?", "options": []},
    ]
    async with looking(service) as person:
        wait = agent.ask("AskUserQuestion", {"questions": questions}, type="input")
        await person.ready()
        await person.press("enter")
        await person.sees("Which one?", "warm", "Why?")
        await person.press("ctrl+s")
        await person.sees("every question needs an answer")
        await person.press("end", "space")
        person.app.screen.query_one("#own1", Input).value = "it is calm"
        await person.press("ctrl+s")
        assert (await answer(wait))["response"] == {"Which one?": "blue", "Why?": "it is calm"}


async def test_somebody_else_was_faster_and_it_says_who(service: Service, agent: Agent) -> None:
    async with looking(service) as person:
        agent.ask("Bash", {"command": "ls"})
        await person.ready()
        item = person.app.items[0]
        refused = {"decision": "block", "digest": item["digest"], "message": "mine"}
        service.call("POST", f"/api/interactions/{item['id']}/answer", refused)
        person.app._send(item, {"decision": "allow"})
        await person.sees("has answered already", "refused by")


async def test_what_has_just_appeared_under_the_finger_is_not_answered(
    service: Service, agent: Agent, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("fairlead.cli._inbox_screen.ARMED_AFTER", 3600)
    async with looking(service) as person:
        agent.ask("Bash", {"command": "ls"})
        await person.until(lambda: person.app.items)
        await person.press("a", "d", "e")
        await person.sees("has just appeared")
        assert service.call("GET", "/api/interactions").json["interactions"][0]["state"] == "pending"


async def test_the_chosen_question_stays_chosen_when_others_come_and_go(service: Service, agent: Agent) -> None:
    async with looking(service) as person:
        agent.ask("Bash", {"command": "first"})
        await person.ready(1)
        agent.ask("Bash", {"command": "second"})
        await person.ready(2)
        await person.press("j")
        await person.until(lambda: (person.app.chosen or {})["line"] == "second")
        agent.ask("Bash", {"command": "third"})
        await person.ready(3)
        assert person.app.chosen is not None
        assert person.app.chosen["line"] == "second"


async def test_several_alike_are_answered_together_and_others_are_left_alone(service: Service, agent: Agent) -> None:
    async with looking(service) as person:
        waits = [agent.ask("Bash", {"command": f"make {number}"}) for number in range(3)]
        agent.ask("Write", {"file_path": "/p/a", "content": "x"})
        await person.ready(4)
        await person.press("X")
        await person.sees("make 0", "make 1", "make 2")
        assert len(person.app.marked) == 3
        await person.until(lambda: person.app.armed)
        await person.press("a")
        await person.sees("Allow these 3 together?")
        await person.press("a")
        assert [await answer(wait) for wait in waits] == [{"decision": "allow"}] * 3
        await person.until(lambda: [item["tool"] for item in person.app.items] == ["Write"])
        assert person.app.marked == set()


async def test_several_are_chosen_one_by_one_and_refused_with_one_reason(service: Service, agent: Agent) -> None:
    async with looking(service) as person:
        waits = [agent.ask("Bash", {"command": f"make {number}"}) for number in range(2)]
        agent.ask("Write", {"file_path": "/p/a", "content": "x"})
        await person.ready(3)
        await person.press("x", "j", "x", "j", "x")
        assert len(person.app.marked) == 2, "another tool is not alike"
        await person.until(lambda: person.app.armed)
        await person.press("d")
        await person.sees("Refuse these 2 together?")
        await person.press("a")
        await person.press(*"not now", "enter")
        refused = {"decision": "block", "message": "User rejected: not now"}
        assert [await answer(wait) for wait in waits] == [refused] * 2


async def test_escape_lets_go_of_what_was_chosen(service: Service, agent: Agent) -> None:
    async with looking(service) as person:
        for number in range(2):
            agent.ask("Bash", {"command": f"make {number}"})
        await person.ready(2)
        await person.press("X", "escape")
        assert person.app.marked == set()
        assert len(service.call("GET", "/api/interactions").json["interactions"]) == 2


async def test_why_where_and_of_whom_it_is_asked_is_said(service: Service, agent: Agent) -> None:
    async with looking(service) as person:
        agent.ask("Bash", {"command": "make"}, text="Let someone look at it", cwd="/p/web", approvers=["anna"])
        await person.sees("Let someone look at it", "in /p/web", "anna may decide")
        await person.until(lambda: person.app.armed)
        await person.press("a")
        await person.sees("anna may decide this.")
        assert service.call("GET", "/api/interactions").json["interactions"][0]["state"] == "pending"


async def test_what_has_not_come_whole_is_not_answered(service: Service, agent: Agent) -> None:
    client = HeldBack(service.address, service.token)
    app = InboxScreen(client)
    async with app.run_test(size=(120, 40), notifications=True) as pilot:
        person = Person(app, pilot)
        agent.ask("Bash", {"command": "make"})
        await person.until(lambda: len(app.items) == 1)
        await person.sees("Fetching all of it")
        await person.press("a")
        await person.sees("This has just appeared")
        assert service.call("GET", "/api/interactions").json["interactions"][0]["state"] == "pending"
        client.gate.set()
        await person.until(lambda: app.armed)


class HeldBack(Client):
    """Gives lists at once, and whole questions when a test lets it."""

    def __init__(self, address: str, key: str) -> None:
        super().__init__(address, key)
        self.gate = threading.Event()

    def call(self, method: str, path: str, fields: Mapping[str, Any] | None = None) -> tuple[int, Any]:
        if method == "GET" and path.startswith("/api/interactions/"):
            assert self.gate.wait(60)
        return super().call(method, path, fields)


async def test_a_rule_is_made_listed_and_taken_back(service: Service, agent: Agent) -> None:
    async with looking(service) as person:
        wait = agent.ask("Bash", {"command": "git status"})
        await person.ready()
        await person.press("w")
        await person.until(lambda: person.app.screen.query(Input))
        person.app.screen.query_one(Input).value = "project: git status *"
        await person.press("enter")
        assert (await answer(wait))["decision"] == "allow"
        assert (await answer(agent.ask("Bash", {"command": "git status -s"})))["decision"] == "allow"
        await person.press("r")
        await person.sees("project: Bash git status *")
        await person.press("1", "enter")
        await person.until(lambda: not service.call("GET", "/api/rules").json["rules"])


async def test_history_and_search(service: Service, agent: Agent) -> None:
    async with looking(service) as person:
        wait = agent.ask("Bash", {"command": "make all"})
        await person.ready()
        await person.press("a")
        await answer(wait)
        await person.press("h")
        await person.sees("history", "make all", "allowed by")
        await person.press("slash", *"nothing like it", "enter")
        await person.sees("search: nothing like it", "Nothing was asked yet")


async def test_help_names_every_key(service: Service) -> None:
    async with looking(service) as person:
        await person.press("question_mark")
        await person.sees("always allow", "refuse, with a reason", "history")


async def test_a_server_that_ends_is_said_and_the_screen_stays(tmp_path: Path) -> None:
    service = Service(tmp_path)
    async with looking(service) as person:
        service.close()
        await person.sees("not connected, trying again")


# --- no character of a tool moves, hides or colours anything -------------------------------------------------

HOSTILE = (
    "\x1b[2J\x1b[31mred", "\x9b31m", "\x07", "\x00", "\r over", "\u202eevil", "\u2066x", "\u200b", "\ufeff", "a\u0300",
    "\x1b]0;title\x07", "\x1b]8;;http://x\x1b\\link", "[bold]x[/bold]", "[link=http://x]y[/link]",
    "[@click=app.quit]x[/]",
    "\u05d0\u05d1 rm", "\u0627\u0644", "\U000e0041", "\x0e\x0f", "\b\b\b", "\x85", "\u2028", "⟨U+0041⟩",
    "a" + " " * 400 + "b",
    "\ud800",
)  # fmt: skip


def is_dangerous(character: str) -> bool:
    hidden = unicodedata.category(character) in {"Cc", "Cf", "Cs", "Co", "Cn", "Zl", "Zp", "Mn", "Me"}
    return hidden or unicodedata.bidirectional(character) in {"R", "AL", "AN"}


async def test_nothing_hostile_reaches_the_terminal(service: Service, agent: Agent) -> None:
    questions = [HOSTILE[start : start + 5] for start in range(0, len(HOSTILE), 5)]  # drawing a screen takes its time
    async with looking(service, size=(160, 60)) as person:
        for texts in questions:
            fields = {text: text for text in texts}
            content = "\n".join(f"before{text}after" for text in texts)
            agent.ask(
                "Write", {"file_path": f"/p/{''.join(texts)}", "content": content, **fields}, agent="".join(texts)
            )
        await person.ready(len(questions))
        for number, texts in enumerate(questions):
            await person.until(lambda: person.app.armed)
            whole = person.app.whole(person.app.items[number])
            assert whole is not None
            assert whole["parts"][1]["text"].count("before") == len(texts)
            for keys in (("e",), ("escape",), ("j",)):
                await person.press(*keys)
                assert not [hex(ord(c)) for c in person.screen() if is_dangerous(c) and c != "\n"]


async def test_markup_of_a_tool_is_text(service: Service, agent: Agent) -> None:
    async with looking(service) as person:
        agent.ask("Bash", {"command": "[bold red]x[/] [@click=app.quit]y[/]"})
        await person.sees("[bold red]x[/] [@click=app.quit]y[/]")


TEXT = st.text(
    st.one_of(st.sampled_from(" \t\n\r\x1b\u202e\u05d0⟨⟩ab"), st.characters(exclude_categories=[])), max_size=40
)


@given(TEXT)
def test_an_edited_text_can_be_read_back(text: str) -> None:
    look = editable(text)
    assert meant(look) == text
    assert not [c for c in look if is_dangerous(c) and c not in "\n\t"]


@pytest.mark.parametrize("text", ["⟨", "⟨x⟩", "⟨U+zz⟩", "⟨U+110000⟩", "⟨3 apples⟩", "⟨U+0041"])
def test_a_name_that_is_none_is_not_sent(text: str) -> None:
    with pytest.raises(ValueError, match=r"."):
        meant(text)


def _screens(texts: list[str]) -> None:
    for text in texts:
        body = json.dumps({"payload": {"command": text, text: text}}).encode()
        asked = Interaction(
            id="1", run_id="r", request_id="q", kind="approval", tool=text or "x", body=body, digest="", created_at=0.0,
            expires_at=1.0,
        )  # fmt: skip
        item = views.item(asked, None)
        for look in (line_of(item, 0.5).plain, detail_of(item, 0.5).plain, safe(text)):
            assert not [hex(ord(c)) for c in look if is_dangerous(c) and c != "\n"]


@given(st.lists(TEXT, max_size=10))
def test_no_question_holds_a_dangerous_character_when_it_is_drawn(texts: list[str]) -> None:
    _screens(texts)
