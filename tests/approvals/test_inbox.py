"""`fairlead inbox` without a screen: what waits, and answering it."""

from __future__ import annotations

import json
import urllib.request
from collections.abc import Callable
from typing import Any

import pytest

from fairlead import approvals
from tests.approvals.conftest import Server, Start, eventually
from tests.conftest import Home, Ran

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


# --- several people --------------------------------------------------------------------------------


def test_somebody_is_let_in_listed_and_shut_out(server: Server, fairlead: Fairlead) -> None:
    assert b"Nobody is logged in" in fairlead("inbox", "--people").out
    made = fairlead("inbox", "--link", "--as", "Anna", "--json").json
    assert made["name"] == "anna"
    assert _login(server, made["link"].partition("#k=")[2]) == 200
    assert fairlead("inbox", "--people").out.startswith(b"anna  logged in ")
    assert [one["name"] for one in fairlead("inbox", "--people", "--json").json["logins"]] == ["anna"]
    assert b"anna is logged out everywhere" in fairlead("inbox", "--log-out", "anna").out
    assert fairlead("inbox", "--people", "--json").json == {"logins": []}
    again = fairlead("inbox", "--log-out", "anna")
    assert (again.code, "not logged in anywhere" in again.err) == (1, True)


@pytest.mark.parametrize(
    ("words", "code", "said"),
    [
        (("--as", "anna"), 64, "--as goes with --link"),
        (("--link", "--as", "a b"), 64, "is no name"),
        (("--log-out", "a/../b"), 64, "is no name"),
    ],
    ids=["as alone", "no name", "a path"],
)
def test_a_slip_with_names_is_said(
    words: tuple[str, ...], code: int, said: str, server: Server, fairlead: Fairlead
) -> None:
    ran = fairlead("inbox", *words)
    assert ran.code == code
    assert said in ran.err


@pytest.mark.parametrize(
    "words", [("--link",), ("--link", "--as", "eve"), ("--people",), ("--log-out", "anna")], ids=str
)
def test_inside_a_run_nobody_is_let_in_or_shut_out(words: tuple[str, ...], server: Server, fairlead: Fairlead) -> None:
    ran = fairlead("inbox", *words, env={"M_RUN_ID": "r1"})
    assert ran.code == 64
    assert "an agent can ask, and never decide" in ran.err


def test_why_and_of_whom_it_is_asked_is_listed_and_others_cannot_answer(
    place: Home, server: Server, start: Start, fairlead: Fairlead
) -> None:
    place.write(
        "~/.config/fairlead/fairlead.toml",
        '[[hook]]\non = "PreToolUse"\ntool = "Bash"\napproval = "Let someone look at it"\napprovers = ["anna"]\n'
        'escalate = { after = "100ms", to = ["ben"] }\n',
    )
    event = {"hook_event_name": "PreToolUse", "session_id": "s", "cwd": "/p", "tool_name": "Bash",
             "tool_input": {"command": "make"}, "tool_use_id": "t"}  # fmt: skip
    hook = start("hook", "--agent", "claude-code", stdin=event)
    item = server.question("make")
    eventually(lambda: server.question("make")["escalated"], "the escalation")
    listed = fairlead("inbox").out.decode()
    for line in ("  Let someone look at it\n", "  for anna, ben to decide\n", "  escalated to ben\n"):
        assert line in listed
    refused = fairlead("inbox", "allow", item["id"])
    assert (refused.code, "anna or ben may decide this" in refused.err) == (1, True)
    hook.kill()
