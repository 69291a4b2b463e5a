"""Messages to chats: what they say, when they go out, and that no address is ever shown."""

from __future__ import annotations

import asyncio
import json
import subprocess
import sys
import threading
import time
import tomllib
import warnings
from collections.abc import Callable, Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from jsonschema import Draft202012Validator

from fairlead import doctor
from fairlead.dialects import Places, Source, native
from fairlead.errors import UsageError
from fairlead.schema import schema
from fairlead.server import notify
from fairlead.server.desk import Desk
from fairlead.server.notices import Notice
from fairlead.server.records import Run
from fairlead.server.sqlite_store import SqliteStore
from fairlead.server.telling import Settings, Teller
from tests.server.browser import Agent
from tests.server.conftest import answer, asked
from tests.server.service import Service

pytest.importorskip("apprise", reason="messages to chats need the extra notify")

LONG = 90.0
SECRET = "hunter2-do-not-tell"


class Chat:
    """A program that takes JSON, as Apprise sends it."""

    def __init__(self) -> None:
        self.got: list[dict[str, Any]] = []
        self.status = 200
        self.held: threading.Event | None = None
        self.tries = 0
        self._changed = threading.Condition()
        chat = self

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
                chat._take(body, self)

            def log_message(self, *_: Any) -> None:
                """Says nothing."""

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self._server.daemon_threads = True
        self._thread = threading.Thread(target=self._server.serve_forever, kwargs={"poll_interval": 0.05}, daemon=True)
        self._thread.start()
        self.url = f"json://user:{SECRET}@127.0.0.1:{self._server.server_port}/{SECRET}/"

    def _take(self, body: dict[str, Any], handler: BaseHTTPRequestHandler) -> None:
        with self._changed:
            self.tries += 1
            if self.status == 200:
                self.got.append(body)
            self._changed.notify_all()
        if self.held is not None:
            self.held.wait(LONG)
        handler.send_response(self.status)
        handler.send_header("Content-Length", "0")
        handler.end_headers()

    def wait(self, count: int) -> list[dict[str, Any]]:
        with self._changed:
            assert self._changed.wait_for(lambda: len(self.got) >= count, LONG)
            return list(self.got)

    def wait_for_tries(self, count: int) -> None:
        with self._changed:
            assert self._changed.wait_for(lambda: self.tries >= count, LONG)

    def close(self) -> None:
        if self.held is not None:
            self.held.set()
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()


@pytest.fixture
def chat() -> Iterator[Chat]:
    found = Chat()
    yield found
    found.close()


@pytest.fixture
def other() -> Iterator[Chat]:
    found = Chat()
    yield found
    found.close()


Start = Callable[..., Service]


@pytest.fixture
def start(tmp_path: Path) -> Iterator[Start]:
    running: list[Service] = []

    def begin(*options: str) -> Service:
        running.append(Service(tmp_path, *options))
        return running[-1]

    yield begin
    for one in running:
        one.close()


@pytest.fixture
def ask() -> Iterator[Callable[..., Agent]]:
    opened: list[Agent] = []

    def new(service: Service, **about: str) -> Agent:
        opened.append(Agent(service, **{"agent": "claude-code", "project": "/work/shop", **about}))
        return opened[-1]

    yield new
    for one in opened:
        one.close()


New = Callable[..., Agent]


def one(tool: str = "Bash", number: int = 1, where: str = "claude-code in shop") -> Notice:
    return Notice(id=str(number) * 32, digest="d", tool=tool, where=where, expires_at=time.time() + 60)


# --- what is said --------------------------------------------------------------------------------------


def test_one_question_is_named_with_a_link_to_it() -> None:
    title, body = notify.message([one()], "https://inbox.example")
    assert title == "Bash: an answer is needed"
    assert body == f"claude-code in shop\nhttps://inbox.example/#/waiting/{'1' * 32}"


def test_several_questions_are_one_message() -> None:
    title, body = notify.message([one(number=number) for number in range(8)], "https://inbox.example")
    assert title == "8 questions need an answer"
    assert body.count("Bash · claude-code in shop") == 5
    assert body.endswith("and 3 more\nhttps://inbox.example/#/waiting")


ADDRESSES = {
    "ntfy://user:pass@host/topic": "ntfy://…",
    "ntfys://secret-topic": "ntfys://…",
    "slack://TokenA/TokenB/TokenC": "slack://…",
    "JSON://127.0.0.1/x": "json://…",
    "tgram://123456:abcdef/987": "tgram://…",
    "a-secret-without-a-kind": "a target",
    "secret word://x": "a target",
    "": "a target",
}


@pytest.mark.parametrize(("url", "seen"), ADDRESSES.items(), ids=ADDRESSES)
def test_of_an_address_only_its_kind_is_shown(url: str, seen: str) -> None:
    assert notify.masked(url) == seen


@given(st.text(st.characters(codec="utf-8"), min_size=3))
def test_whatever_follows_the_kind_stays_unseen(secret: str) -> None:
    assert secret not in notify.masked(f"ntfy://{secret}").removesuffix("://…").removeprefix("ntfy")


@pytest.mark.filterwarnings("ignore:'imghdr' is deprecated")  # of a plugin of Apprise
@pytest.mark.parametrize("url", [f"bogus://{SECRET}", SECRET, f"slack://{SECRET}", "json://"])
def test_what_apprise_does_not_know_is_refused_without_a_word_of_it(url: str) -> None:
    with pytest.raises(UsageError) as refused:
        notify.targets([url])
    assert SECRET not in f"{refused.value} {refused.value.hint}"


def test_of_what_apprise_logs_only_the_number_is_kept() -> None:
    assert notify._reason(f"Failed to send to {SECRET}: Forbidden, error=403.") == "it answered 403"
    assert SECRET not in notify._reason(f"A Connection error occured sending to {SECRET}")


# --- where it is configured ------------------------------------------------------------------------------


def places(tmp_path: Path) -> Places:
    return Places(
        home=str(tmp_path / "home"), project=str(tmp_path / "project"), environ={}, managed=str(tmp_path / "etc")
    )


def write(tmp_path: Path, where: str, text: str) -> None:
    path = {
        "user": tmp_path / "home" / ".config" / "fairlead" / "fairlead.toml",
        "managed": tmp_path / "etc" / "fairlead" / "fairlead.toml",
        "project": tmp_path / "project" / "fairlead.toml",
        "local": tmp_path / "project" / "fairlead.local.toml",
    }[where]
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)


def test_the_user_and_the_machine_name_chats_and_a_project_never(tmp_path: Path) -> None:
    for where in ("user", "managed", "project", "local"):
        write(tmp_path, where, f'notify = ["json://{where}.example/"]\nnotify_after = "5s"\n')
    found = notify.configured(places(tmp_path))
    assert found.urls == ("json://managed.example/", "json://user.example/")
    assert (found.after, found.problems) == (5.0, ())


def test_nothing_is_configured_where_there_is_no_file(tmp_path: Path) -> None:
    assert notify.configured(places(tmp_path)) == notify.Wanted()


BROKEN = {
    "no list": 'notify = "json://x/"',
    "no text": "notify = [1]",
    "an empty one": 'notify = [""]',
    "no time": 'notify_after = "soon"',
    "less than nothing": "notify_after = -1",
    "more than a day": 'notify_after = "25h"',
    "true": "notify_after = true",
    "no TOML": "notify = [",
}


@pytest.mark.parametrize("text", BROKEN.values(), ids=BROKEN)
def test_what_is_written_wrongly_is_said_and_costs_only_itself(tmp_path: Path, text: str) -> None:
    write(tmp_path, "user", text)
    write(tmp_path, "managed", 'notify = ["json://managed.example/"]')
    found = notify.configured(places(tmp_path))
    assert found.urls == ("json://managed.example/",)
    assert len(found.problems) == 1


def problems(layer: str, text: str) -> list[str]:
    source = Source(path=f"/x/{layer}/fairlead.toml", layer=layer, owner=layer)
    reading = native.read(source, text, Places(home="/home/user", project="/project", environ={}))
    return [problem.message for problem in reading.problems]


GOOD = 'notify = ["ntfy://topic", "json://x/"]\nnotify_after = "90s"\n'


def test_check_accepts_it_in_the_user_s_own_file() -> None:
    assert problems("user", GOOD) == []
    assert problems("managed", "notify = []\nnotify_after = 0\n") == []


def test_check_says_that_a_project_has_no_say() -> None:
    found = problems("project", GOOD)
    assert len(found) == 2
    assert all("of a project is ignored" in problem for problem in found)


def test_the_schema_says_the_same() -> None:
    validator = Draft202012Validator(schema())
    assert validator.is_valid(tomllib.loads(GOOD))
    wrong = {name: text for name, text in BROKEN.items() if name not in ("no TOML", "more than a day")}
    assert [name for name, text in wrong.items() if validator.is_valid(tomllib.loads(text))] == []


@pytest.mark.parametrize("text", [text for name, text in BROKEN.items() if name != "no TOML"])
def test_check_names_what_is_written_wrongly_and_no_address(text: str) -> None:
    assert len(problems("user", text)) == 1
    assert SECRET not in str(problems("user", f'notify = "json://{SECRET}/"'))


# --- a server and a chat ---------------------------------------------------------------------------------


def test_a_question_is_told_with_tool_agent_project_and_link_and_nothing_else(
    chat: Chat, start: Start, ask: New
) -> None:
    service = start("--notify", chat.url)
    ask(service).runs("echo the-command-itself")
    (told,) = chat.wait(1)
    (item,) = service.whole()
    assert told["title"] == "Bash: an answer is needed"
    assert told["message"] == f"claude-code in shop\n{service.address}/#/waiting/{item['id']}"
    assert "the-command-itself" not in json.dumps(told)
    assert item["digest"] not in json.dumps(told)


def test_names_that_look_like_html_stay_text(chat: Chat, start: Start, ask: New) -> None:
    service = start("--notify", f"{chat.url}?format=html", "--notify", chat.url)
    ask(service, agent="<b>x</b>").asks("<script>", {})
    told = sorted(chat.wait(2), key=lambda one: "&lt;" in one["title"] + one["message"])
    assert {one["title"] for one in told} == {"<script>: an answer is needed"}  # a title is text everywhere
    assert told[0]["message"].startswith("<b>x</b> in shop\n")
    assert told[1]["message"].startswith("&lt;b&gt;x&lt;/b&gt;")


def test_the_link_bears_the_name_under_which_people_reach_the_server(chat: Chat, start: Start, ask: New) -> None:
    service = start("--notify", chat.url, "--name", "inbox.example")
    ask(service).runs("ls")
    assert "\nhttps://inbox.example/#/waiting/" in chat.wait(1)[0]["message"]


def test_the_user_s_own_file_names_chats_and_the_project_s_does_not(
    chat: Chat, other: Chat, start: Start, ask: New, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    project = tmp_path / "project"
    project.mkdir()
    (project / "fairlead.toml").write_text(f'notify = ["{other.url}"]\n')
    monkeypatch.chdir(project)
    config = tmp_path / ".config" / "fairlead"
    config.mkdir(parents=True)
    (config / "fairlead.toml").write_text(f'notify = ["{chat.url}"]\n')
    ask(start(), project=str(project)).runs("ls")
    chat.wait(1)
    assert other.got == []


async def test_what_is_answered_in_time_is_not_told(chat: Chat, tmp_path: Path) -> None:
    desk = Desk(SqliteStore(str(tmp_path / "approvals.db")))
    await desk.start()
    await desk.add_run(Run(id="run", created_at=time.time()), "hash")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of the plugins of Apprise
        target = notify.Target(chat.url, 1)
    teller = Teller(desk, Settings(targets=(target,), after=3600.0))
    await teller.start()
    question, _ = await desk.ask(asked())
    await until(lambda: question.id in teller._timers)
    timer = teller._timers[question.id]
    await desk.answer(question.id, answer(question))
    await until(lambda: not teller._timers)
    assert timer.cancelled()
    assert chat.tries == 0
    await teller.stop()
    await desk.stop()


async def until(true: Callable[[], bool]) -> None:
    while not true():  # noqa: ASYNC110
        await asyncio.sleep(0.01)


def test_what_nobody_answers_is_told_after_the_delay(chat: Chat, start: Start, ask: New) -> None:
    ask(start("--notify", chat.url, "--notify-after", "500ms")).runs("ls")
    assert [told["title"] for told in chat.wait(1)] == ["Bash: an answer is needed"]


def test_a_chat_that_never_answers_keeps_nobody_waiting(chat: Chat, other: Chat, start: Start, ask: New) -> None:
    chat.held = threading.Event()
    service = start("--notify", chat.url, "--notify", other.url)
    agent = ask(service)
    waiting = agent.runs("ls")
    other.wait(1)
    chat.wait_for_tries(1)
    (item,) = service.whole()
    allowed = {"decision": "allow", "digest": item["digest"]}
    assert service.call("POST", f"/api/interactions/{item['id']}/answer", allowed).status == 200
    assert waiting.told() == {"decision": "allow"}


def test_a_server_ends_while_a_chat_does_not_answer(chat: Chat, tmp_path: Path) -> None:
    chat.held = threading.Event()
    service = Service(tmp_path, "--notify", f"{chat.url}?rto=300")  # its own patience
    agent = Agent(service)
    agent.runs("ls")
    chat.wait_for_tries(1)
    agent.close()
    service.close()  # waits for the end of the process


def test_trouble_with_a_chat_is_said_everywhere_without_its_address_and_then_it_is_told(
    chat: Chat, start: Start, ask: New
) -> None:
    chat.status = 403
    service = start("--notify", chat.url)
    ask(service).runs("ls")
    chat.wait_for_tries(1)
    said = wait_for(lambda: service.call("GET", "/api/me").json["untold"])
    assert said == "json://… (target 1) was not told: it answered 403"
    assert said in service.log.read_text()
    status = (service.folder / "notifications.json").read_text()
    assert said in json.loads(status)["troubles"]
    for text in (said, status, service.log.read_text(), service.call("GET", "/api/push").body.decode()):
        assert SECRET not in text
        assert chat.url.rpartition(":")[2].partition("/")[0] not in text  # not even its port
    chat.status = 200
    chat.wait(1)
    wait_for(lambda: not service.call("GET", "/api/me").json["untold"])


def wait_for(found: Callable[[], Any]) -> Any:
    """The test's own limit ends it where this never comes."""
    while not (value := found()):
        time.sleep(0.02)
    return value


def test_an_address_on_the_command_line_that_is_none_ends_the_server_without_a_word_of_it(tmp_path: Path) -> None:
    words = [sys.executable, "-m", "fairlead", "serve", "--port", "0", "--notify", f"bogus://{SECRET}"]
    environ = {"HOME": str(tmp_path), "PATH": "/usr/bin:/bin"}
    ended = subprocess.run(words, env=environ, capture_output=True, text=True, timeout=LONG, check=False)
    assert ended.returncode == 64
    assert "bogus://… (target 1)" in ended.stderr
    assert SECRET not in ended.stdout + ended.stderr
    assert "Traceback" not in ended.stderr


def test_an_address_in_a_file_that_is_none_is_said_and_the_server_starts(
    chat: Chat, start: Start, ask: New, tmp_path: Path
) -> None:
    config = tmp_path / ".config" / "fairlead"
    config.mkdir(parents=True)
    (config / "fairlead.toml").write_text(f'notify = ["bogus://{SECRET}", "{chat.url}"]\n')
    service = start()
    ask(service).runs("ls")
    chat.wait(1)
    untold = service.call("GET", "/api/me").json["untold"]
    assert untold.startswith("bogus://… (target 1) is no address")
    assert SECRET not in untold + service.log.read_text()


@pytest.mark.parametrize("text", ["soon", "-1s", "2 days", ""])
def test_a_delay_that_is_none_is_said(tmp_path: Path, text: str) -> None:
    words = [sys.executable, "-m", "fairlead", "serve", "--port", "0", f"--notify-after={text}"]
    environ = {"HOME": str(tmp_path), "PATH": "/usr/bin:/bin"}
    ended = subprocess.run(words, env=environ, capture_output=True, text=True, timeout=LONG, check=False)
    assert ended.returncode == 64
    assert "is not a time" in ended.stderr


def test_without_the_extra_the_server_says_what_to_install(tmp_path: Path) -> None:
    words = [sys.executable, "-c", "import sys; sys.modules['apprise'] = None; from fairlead.cli import main; main()",
             "serve", "--port", "0", "--notify", f"json://{SECRET}/"]  # fmt: skip
    environ = {"HOME": str(tmp_path), "PATH": "/usr/bin:/bin"}
    ended = subprocess.run(words, env=environ, capture_output=True, text=True, timeout=LONG, check=False)
    assert "fairlead[notify]" in ended.stderr
    assert SECRET not in ended.stderr
    assert "Traceback" not in ended.stderr


# --- doctor ------------------------------------------------------------------------------------------


def looks(home: Path) -> list[tuple[str, str]]:
    found = doctor.examine(Places(home=str(home), project=str(home / "project"), environ={}, managed=str(home / "etc")))
    return [(one.level, one.message) for one in found.findings if one.check == "notifications"]


def test_doctor_says_what_the_server_could_not_tell(tmp_path: Path) -> None:
    folder = tmp_path / ".local" / "state" / "fairlead"
    folder.mkdir(parents=True)
    assert looks(tmp_path) == []
    (folder / "notifications.json").write_text('{"troubles": ["json://… (target 1) was not told: it answered 403"]}')
    ((level, message),) = looks(tmp_path)
    assert level == "warning"
    assert "it answered 403" in message
    for broken in ("", "no JSON", "[]", '{"troubles": 1}'):
        (folder / "notifications.json").write_text(broken)
        assert looks(tmp_path) == []


def test_doctor_says_that_others_can_read_the_addresses(tmp_path: Path) -> None:
    path = tmp_path / ".config" / "fairlead" / "fairlead.toml"
    path.parent.mkdir(parents=True)
    path.write_text(f'notify = ["json://{SECRET}/"]\n')
    path.chmod(0o600)
    assert looks(tmp_path) == []
    path.chmod(0o644)
    ((_, message),) = looks(tmp_path)
    assert "other users" in message
    assert SECRET not in message


def test_doctor_says_that_the_extra_is_missing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / ".config" / "fairlead" / "fairlead.toml"
    path.parent.mkdir(parents=True)
    path.write_text('notify = ["json://x/"]\n')
    path.chmod(0o600)
    monkeypatch.setattr("importlib.util.find_spec", lambda _name: None)
    ((_, message),) = looks(tmp_path)
    assert "the extra `notify`" in message
