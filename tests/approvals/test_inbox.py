"""`fairlead inbox` without a screen: what waits, and answering it."""

from __future__ import annotations

import json
import urllib.request
from collections.abc import Callable
from typing import Any

import pytest

from fairlead import approvals
from tests.approvals.conftest import Server, Start
from tests.conftest import Ran

Fairlead = Callable[..., Ran]
BASH = {"tool": "Bash", "input": {"command": "make \x1b[2J all"}}
EDIT = {"tool": "Edit", "input": {"file_path": "/p/a", "old_string": "one\n", "new_string": "two\n"}}
WHICH = {"questions": [{"question": "Which?", "options": [{"label": "A", "description": "the first"}]}]}


def test_nothing_waits(server: Server, fairlead: Fairlead) -> None:
    ran = fairlead("inbox")
    assert (ran.code, ran.out) == (0, b"Nothing waits.\n")
    assert fairlead("inbox", "--json").json == {"interactions": []}


def test_without_a_server_it_says_how_to_start_one(fairlead: Fairlead) -> None:
    ran = fairlead("inbox")
    assert ran.code == 1
    assert "fairlead serve" in ran.err


def test_what_waits_is_listed_with_every_character_visible(server: Server, start: Start, fairlead: Fairlead) -> None:
    hook = start("hook", "--agent", "m", stdin=BASH, env=server.new_run())
    item = server.question()
    listed = fairlead("inbox").out.decode()
    assert item["id"][:8] in listed
    assert "make" in listed
    assert "\x1b" not in listed
    assert fairlead("inbox", "--json").json["interactions"][0]["id"] == item["id"]
    server.answer(item, "allow")
    hook.end()


def test_an_edit_is_listed_as_a_diff(server: Server, start: Start, fairlead: Fairlead) -> None:
    hook = start("hook", "--agent", "m", stdin=EDIT, env=server.new_run())
    item = server.question()
    listed = fairlead("inbox").out.decode()
    assert "- one" in listed
    assert "+ two" in listed
    server.answer(item, "allow")
    hook.end()


ANSWERS: dict[str, tuple[dict[str, Any], tuple[str, ...], dict[str, Any]]] = {
    "allow": (BASH, ("allow",), {"decision": "allow"}),
    "block": (BASH, ("block", "--reason", "no"), {"decision": "block", "message": "User rejected: no"}),
    "answer": (
        {"tool": "AskUserQuestion", "input": WHICH},
        ("allow", "--answer", "A"),
        {"decision": "allow", "response": "A"},
    ),
}


@pytest.mark.parametrize("case", ANSWERS)
def test_the_answer_reaches_the_agent(case: str, server: Server, start: Start, fairlead: Fairlead) -> None:
    event, (action, *options), expected = ANSWERS[case]
    hook = start("hook", "--agent", "m", stdin=event, env=server.new_run())
    ran = fairlead("inbox", action, server.question()["id"][:6], *options)
    assert ran.code == 0, ran.err
    assert hook.end().json == expected
    assert server.done()[0]["state"] == "decided"
    assert fairlead("inbox", "--done").out.decode().count("by ") == 1


def test_allow_with_changes(server: Server, start: Start, fairlead: Fairlead) -> None:
    hook = start("hook", "--agent", "m", stdin=BASH, env=server.new_run())
    changed = json.dumps({"command": "make test"})
    ran = fairlead("inbox", "allow", server.question()["id"], "--input", changed, "--json")
    assert ran.json["updated_input"] == {"command": "make test"}
    assert "make test" in hook.end().json["message"]


SLIPS: dict[str, tuple[tuple[str, ...], int]] = {
    "no id": (("allow",), 64),
    "an unknown id": (("allow", "ffff-unknown"), 1),
    "an unknown word": (("perhaps", "x"), 64),
    "changes to a refusal": (("block", "x", "--input", "{}"), 64),
    "changes that are none": (("allow", "", "--input", "[]"), 64),
}


@pytest.mark.parametrize("case", SLIPS)
def test_a_slip_changes_nothing(case: str, server: Server, start: Start, fairlead: Fairlead) -> None:
    hook = start("hook", "--agent", "m", stdin=BASH, env=server.new_run())
    item = server.question()
    words, code = SLIPS[case]
    ran = fairlead("inbox", *words)
    assert ran.code == code
    assert "Traceback" not in ran.err
    assert [one["id"] for one in server.waiting()] == [item["id"]]
    server.answer(item, "allow")
    hook.end()


def test_a_question_is_not_answered_by_allow_alone(server: Server, start: Start, fairlead: Fairlead) -> None:
    hook = start("hook", "--agent", "m", stdin={"tool": "AskUserQuestion", "input": WHICH}, env=server.new_run())
    item = server.question()
    ran = fairlead("inbox", "allow", item["id"])
    assert ran.code == 64
    assert "--answer" in ran.err
    server.answer(item, "block")
    hook.end()


def test_who_comes_second_is_told_who_was_first(server: Server, start: Start, fairlead: Fairlead) -> None:
    hook = start("hook", "--agent", "m", stdin=BASH, env=server.new_run())
    item = server.question()
    server.answer(item, "block", message="no")
    hook.end()
    ran = fairlead("inbox", "allow", item["id"])
    assert ran.code == 1
    assert "already" in ran.err


def test_the_link_opens_the_inbox_once(server: Server, fairlead: Fairlead) -> None:
    link = fairlead("inbox", "--link").out.decode().strip()
    assert link.startswith(f"{server.address}/#k=")
    assert fairlead("inbox", "--link", "--json").json["link"] != link
    key = link.partition("#k=")[2]
    assert [_login(server, key), _login(server, key)] == [200, 401]


def _login(server: Server, key: str) -> int:
    headers = {"content-type": "application/json", "origin": server.address, "sec-fetch-site": "same-origin"}
    body = json.dumps({"key": key}).encode()
    request = urllib.request.Request(f"{server.address}/api/login", data=body, headers=headers)
    try:
        with urllib.request.urlopen(request, timeout=10) as answer:
            return int(answer.status)
    except urllib.error.HTTPError as error:
        with error:
            return error.code


def test_an_agents_key_is_nobodys(server: Server) -> None:
    run = server.new_run()
    status, _ = approvals.call(server.address, "GET", "/api/interactions", run["M_API_KEY"])
    assert status == 403


def test_an_agent_cannot_answer_itself_by_the_way(fairlead: Callable[..., Ran]) -> None:
    ran = fairlead("inbox", "allow", "x", env={"M_RUN_ID": "r1"})
    assert ran.code == 64
    assert "an agent can ask, and never decide" in ran.err
