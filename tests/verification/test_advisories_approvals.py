"""Published weaknesses of approvals, one by one: what is shown is what runs, where it was looked at, and only then."""

from __future__ import annotations

import json
import os
import socket
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from fairlead import Hooks, PreToolUse
from fairlead.server import views
from fairlead.verdicts import Decision
from tests.conftest import Home

ALLOWED = b'HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: 20\r\n\r\n{"decision":"allow"}'


class Service:
    """Answers each question with these bytes, after something has happened, and hangs up."""

    def __init__(self, answer: bytes = ALLOWED, meanwhile: Callable[[], object] = lambda: None) -> None:
        self._answer, self._meanwhile = answer, meanwhile
        self._listening = socket.create_server(("127.0.0.1", 0))
        self._thread = threading.Thread(target=self._serve, daemon=True)
        self._thread.start()
        self.asked = 0

    def _serve(self) -> None:
        while True:
            try:
                line, _ = self._listening.accept()
            except OSError:  # it was closed
                return
            with line, line.makefile("rb") as request:
                self._read(request)
                if not self.asked:
                    self._meanwhile()
                self.asked += 1
                line.sendall(self._answer)

    def _read(self, request: Any) -> None:
        heads = dict(line.lower().split(b":", 1) for line in iter(request.readline, b"\r\n") if b":" in line)
        request.read(int(heads.get(b"content-length", b"0")))

    def environ(self) -> dict[str, str]:
        address = f"http://127.0.0.1:{self._listening.getsockname()[1]}"
        return {"M_SERVER_URL": address, "M_RUN_ID": "r", "M_API_KEY": "k"}

    def close(self) -> None:
        self._listening.shutdown(socket.SHUT_RDWR)
        self._listening.close()
        self._thread.join()


@pytest.fixture
def serve() -> Iterator[Callable[..., Service]]:
    running: list[Service] = []

    def start(*values: Any, **named: Any) -> Service:
        running.append(Service(*values, **named))
        return running[-1]

    yield start
    for one in running:
        one.close()


def judged(
    place: Home, service: Service, cwd: Path, tool: str, tool_input: dict[str, Any], timeout: int = 60
) -> Decision:
    hook = f'[[hook]]\non = "PreToolUse"\napproval = "Look at it"\ntimeout = "{timeout}s"\n'
    place.write("~/.config/fairlead/fairlead.toml", hook)
    hooks = Hooks.load(
        place.project, home=place.home, environ={**place.environ, **service.environ()}, managed="/nowhere"
    )
    return hooks.fire_sync(PreToolUse(session_id="s", cwd=str(cwd), tool_name=tool, tool_input=tool_input))


# --- the place ---------------------------------------------------------------------------------------


def _turned(link: Path, target: Path) -> None:
    link.with_name("draft").symlink_to(target)
    os.replace(link.with_name("draft"), link)


def _replaced(folder: Path) -> None:
    folder.rename(folder.with_name("away"))
    folder.mkdir()


MEANWHILE: dict[str, tuple[str, Callable[[Path], object]]] = {
    "the folder is a link that is turned": ("link", lambda root: _turned(root / "link", root / "other")),
    "another folder has its name": ("real", lambda root: _replaced(root / "real")),
    "it has gone": ("real", lambda root: (root / "real").rename(root / "away")),
    "the link to it has gone": ("link", lambda root: (root / "link").unlink()),
}


@pytest.fixture
def grounds(place: Home) -> Path:
    for name in ("real", "other"):
        (place.root / name).mkdir()
        (place.root / name / "file").write_text(name)
    (place.root / "link").symlink_to(place.root / "real")
    (place.root / "real" / "alias").symlink_to(place.root / "real" / "file")
    return place.root


@pytest.mark.parametrize("case", MEANWHILE)
def test_an_answer_about_a_folder_that_has_become_another_counts_for_nothing(
    place: Home, grounds: Path, serve: Callable[..., Service], case: str
) -> None:
    """OpenClaw 2026.2.26: the working directory was swapped between the approval and the run."""
    cwd, happens = MEANWHILE[case]
    decision = judged(place, serve(meanwhile=lambda: happens(grounds)), grounds / cwd, "Bash", {"command": "make"})
    assert decision.decision == "deny"
    assert "became another one" in decision.reason


def test_an_answer_about_a_link_that_was_turned_counts_for_nothing(
    place: Home, grounds: Path, serve: Callable[..., Service]
) -> None:
    """SymJack, CVE-2026-39861: what was shown was where the link led."""
    service = serve(meanwhile=lambda: _turned(grounds / "real" / "alias", grounds / "other" / "file"))
    decision = judged(place, service, grounds / "real", "Write", {"file_path": "alias", "content": "x"})
    assert decision.decision == "deny"


@pytest.mark.parametrize("name", ["file", "new"])
@pytest.mark.parametrize("cwd", ["real", "link", "not there"])
def test_an_answer_counts_where_everything_is_as_it_was(
    place: Home, grounds: Path, serve: Callable[..., Service], cwd: str, name: str
) -> None:
    """Also where files were written in the meantime: people work on."""
    service = serve(meanwhile=lambda: (grounds / "real" / name).write_text("changed"))
    decision = judged(place, service, grounds / cwd, "Write", {"file_path": name, "content": "x"})
    assert decision.decision == "allow"


@pytest.mark.parametrize("tool", ["Write", "Edit"])
def test_a_link_is_shown_with_what_it_leads_to(grounds: Path, tool: str) -> None:
    """SymJack, CVE-2026-39861: the path in the question was a link, and the kernel follows it."""
    payload = {"file_path": "alias", "content": "x", "old_string": "a", "new_string": "b"}
    first = views.parts_of(tool, payload, str(grounds / "real"))[0]
    assert first["note"] == f"really {grounds.resolve()}/real/file"
    assert "note" not in views.parts_of(tool, {**payload, "file_path": "file"}, str(grounds.resolve() / "real"))[0]


# --- what runs, and what the agent says about it -----------------------------------------------------

LIES = {
    "another command": "Lists files: `ls -la`",
    "a fake end": "ls\n\n[Allow] [Refuse]\n----\ncommand: ls",
    "markup": "<b>ls</b> <button>Allow</button> **safe** [docs](javascript:alert(1))",
    "many lines": "safe\n" * 500,
}


@pytest.mark.parametrize("lie", LIES.values(), ids=LIES.keys())
@pytest.mark.parametrize("order", [1, -1], ids=["as sent", "the other way round"])
def test_what_runs_stands_first_and_what_the_agent_says_is_behind_it_in_quotes(lie: str, order: int) -> None:
    """Lies-in-the-Loop: the question told what the agent had said about a command."""
    payload = dict([("description", lie), ("command", "rm -rf ~")][::order])
    first, more = views.parts_of("Bash", payload, "/")
    assert (first["label"], first["text"]) == ("command", "rm -rf ~")
    assert more["label"] == "more"
    assert more["text"].startswith('{\n  "description": "')
    assert "\n----\n" not in more["text"]


# --- what was not said -------------------------------------------------------------------------------


@pytest.mark.parametrize("sent", [0, 1, 15, 40, len(ALLOWED) - 20, len(ALLOWED) - 8, len(ALLOWED) - 1])
def test_half_an_answer_is_none(place: Home, serve: Callable[..., Service], sent: int) -> None:
    """openclaw#78415: the service went down between two steps, and the command ran."""
    service = serve(ALLOWED[:sent])
    decision = judged(place, service, place.project, "Bash", {"command": "make"}, timeout=1)
    assert service.asked
    assert decision.decision == "deny"


def test_the_same_answer_counts_when_it_is_whole(place: Home, serve: Callable[..., Service]) -> None:
    assert judged(place, serve(), place.project, "Bash", {"command": "make"}).decision == "allow"
    assert json.loads(ALLOWED[-20:]) == {"decision": "allow"}
