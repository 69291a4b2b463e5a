"""The `approval` handler: what a person says is what the agent hears; and nobody's silence is a yes."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest

from fairlead import approvals
from fairlead.server import protocol
from fairlead.server.records import EXPIRED, Interaction
from tests.approvals.conftest import Json, Server, Start, eventually
from tests.conftest import Home, Ran

HOOK = (
    '[[hook]]\nname = "look"\non = "PreToolUse"\ntool = "Bash|AskUserQuestion"\napproval = "Let someone look at it"\n'
)
CLAUDE = {"hook_event_name": "PreToolUse", "session_id": "s1", "cwd": "/p", "tool_use_id": "t1"}
MAKE: Json = {**CLAUDE, "tool_name": "Bash", "tool_input": {"command": "make"}}
WHICH = {"questions": [{"question": "Which?", "options": [{"label": "A"}, {"label": "B"}]}]}
ASK: Json = {**CLAUDE, "tool_name": "AskUserQuestion", "tool_input": WHICH}

Fairlead = Callable[..., Ran]


@pytest.fixture
def configured(place: Home) -> Home:
    place.write("~/.config/fairlead/fairlead.toml", HOOK)
    return place


def inside(ran: Ran) -> Json:
    assert ran.code == 0, ran.err
    found: Json = ran.json["hookSpecificOutput"]
    return found


def test_what_a_person_allows_runs(configured: Home, server: Server, start: Start) -> None:
    hook = start("hook", "--agent", "claude-code", stdin=MAKE)
    item = server.question("make")
    assert (item["kind"], item["tool"], item["run"]["agent"]) == ("approval", "Bash", "claude-code")
    server.answer(item, "allow")
    assert inside(hook.end())["permissionDecision"] == "allow"


def test_what_a_person_refuses_does_not_run_and_the_agent_hears_why(
    configured: Home, server: Server, start: Start
) -> None:
    hook = start("hook", "--agent", "claude-code", stdin=MAKE)
    server.answer(server.question("make"), "block", message="not on a Friday")
    answer = inside(hook.end())
    assert (answer["permissionDecision"], answer["permissionDecisionReason"]) == (
        "deny",
        "User rejected: not on a Friday",
    )


def test_what_a_person_changes_is_what_runs(configured: Home, server: Server, start: Start) -> None:
    hook = start("hook", "--agent", "claude-code", stdin=MAKE)
    server.answer(server.question("make"), "allow", updated_input={"command": "make test"})
    answer = inside(hook.end())
    assert (answer["permissionDecision"], answer["updatedInput"]) == ("allow", {"command": "make test"})


def test_an_agent_that_cannot_change_a_call_is_told_to_make_the_changed_one(
    configured: Home, server: Server, start: Start
) -> None:
    hook = start("hook", "--agent", "qwen", stdin={**MAKE, "tool_name": "run_shell_command"})
    server.answer(server.question("make"), "allow", updated_input={"command": "make test"})
    answer = json.dumps(hook.end().json)
    assert "deny" in answer
    assert "make test" in answer


EVERY_AGENT: dict[str, tuple[Json, str]] = {
    "codex": ({**MAKE, "turn_id": "1"}, '"deny"'),
    "gemini": ({**CLAUDE, "hook_event_name": "BeforeTool", "tool_name": "run_shell_command",
                "tool_input": {"command": "make"}}, '"deny"'),
    "amcp": (MAKE, '"deny"'),
    "codemie": (MAKE, '"deny"'),
    "claude-agent": ({"event": "pre_tool_use", "session_id": "s", "tool_name": "Bash",
                      "tool_input": {"command": "make"}}, '"continue_execution":false'),
    "cursor": ({"hook_event_name": "beforeShellExecution", "conversation_id": "c", "generation_id": "g",
                "command": "make", "cwd": "/p"}, '"deny"'),
}  # fmt: skip


@pytest.mark.parametrize("agent", EVERY_AGENT)
def test_every_agent_is_refused_in_its_own_words(agent: str, configured: Home, server: Server, start: Start) -> None:
    event, refusal = EVERY_AGENT[agent]
    hook = start("hook", "--agent", agent, stdin=event)
    server.answer(server.question("make"), "block", message="no")
    assert refusal in hook.end().out.decode()


def test_an_answer_to_a_question_goes_into_claude_codes_own_answers(
    configured: Home, server: Server, start: Start
) -> None:
    hook = start("hook", "--agent", "claude-code", stdin=ASK)
    item = server.question("Which?")
    assert item["kind"] == "input"
    server.answer(item, "allow", response="B")
    answer = inside(hook.end())
    assert answer["permissionDecision"] == "allow"
    assert answer["updatedInput"] == {**WHICH, "answers": {"Which?": "B"}}


def test_other_agents_read_the_answer_in_the_reason(configured: Home, server: Server, start: Start) -> None:
    hook = start("hook", "--agent", "qwen", stdin={**ASK, "tool_name": "ask_user_question"})
    server.answer(server.question("Which?"), "allow", response="B")
    answer = hook.end().out.decode()
    assert '"deny"' in answer
    assert "Which? B" in answer


def test_a_patch_is_one_question_with_all_of_it(place: Home, server: Server, start: Start) -> None:
    place.write("~/.config/fairlead/fairlead.toml", HOOK.replace("Bash|AskUserQuestion", "Edit|Write"))
    patch = "*** Begin Patch\n*** Add File: a\n+1\n*** Add File: b\n+2\n*** End Patch"
    event = {**MAKE, "tool_name": "apply_patch", "tool_input": {"command": patch}}
    hook = start("hook", "--agent", "codex", stdin=event)
    item = server.question("Begin Patch")
    assert len(server.waiting()) == 1
    server.answer(item, "block", message="no")
    assert b'"deny"' in hook.end().out


@pytest.mark.parametrize(("path", "asked"), [("/p/b", True), ("/p/c", False)])
def test_a_condition_that_holds_for_a_part_of_a_patch_asks_about_all_of_it(
    path: str, asked: bool, place: Home, server: Server, start: Start
) -> None:
    toml = HOOK.replace("Bash|AskUserQuestion", "Edit|Write")
    place.write("~/.config/fairlead/fairlead.toml", f'{toml}if = "Edit(/{path})"\n')
    patch = "*** Begin Patch\n*** Add File: /p/a\n+1\n*** Add File: /p/b\n+2\n*** End Patch"
    event = {**MAKE, "tool_name": "apply_patch", "tool_input": {"command": patch}}
    hook = start("hook", "--agent", "codex", stdin=event)
    if asked:
        server.answer(server.question("/p/a"), "block", message="no")
    assert (b'"deny"' in hook.end().out) is asked


def test_a_call_that_does_several_things_is_shown_with_all_of_them(place: Home, server: Server, start: Start) -> None:
    place.write("~/.config/fairlead/fairlead.toml", HOOK.replace("Bash|AskUserQuestion", "Read"))
    operations = [{"mode": "Line", "path": path} for path in ("/p/a", "/p/b")]
    event = {
        **CLAUDE,
        "hook_event_name": "preToolUse",
        "tool_name": "fs_read",
        "tool_input": {"operations": operations},
    }
    hook = start("hook", "--agent", "kiro", stdin=event)
    item = server.question("/p/a")
    assert "/p/b" in json.dumps(item["payload"])
    assert len(server.waiting()) == 1
    server.answer(item, "block", message="no")
    assert hook.end().code == 2


def test_nobody_is_asked_about_what_another_hook_has_refused(place: Home, server: Server, fairlead: Fairlead) -> None:
    place.write("~/.config/fairlead/fairlead.toml", HOOK)
    group = [{"hooks": [{"type": "command", "command": "echo mine >&2; exit 2"}]}]
    place.write("~/.claude/settings.json", {"hooks": {"PreToolUse": group}})
    ran = fairlead("hook", "--agent", "m", stdin={"tool": "Bash", "input": {"command": "make"}})
    assert ran.json == {"decision": "block", "message": "mine"}
    assert server.waiting() == server.done() == []


def test_two_people_have_to_agree_where_the_hook_says_so(place: Home, server: Server, start: Start) -> None:
    place.write("~/.config/fairlead/fairlead.toml", f"{HOOK}people = 2\n")
    hook = start("hook", "--agent", "claude-code", stdin=MAKE)
    item = server.question("make")
    assert item["people"] == 2
    assert server.answer(item, "allow")["state"] == "pending"
    assert hook.is_waiting
    server.answer(item, "block", message="I do not")
    assert inside(hook.end())["permissionDecision"] == "deny"


# --- when it does not go smoothly --------------------------------------------------------------------


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGKILL], ids=["ended", "killed"])
def test_a_wait_outlives_the_server(number: int, configured: Home, server: Server, start: Start) -> None:
    hook = start("hook", "--agent", "claude-code", stdin=MAKE)
    first = server.question("make")
    server.stop(number)
    server.start()
    again = server.question("make")
    assert again["id"] == first["id"]
    assert len(server.waiting()) == 1
    assert hook.is_waiting
    server.answer(again, "allow")
    assert inside(hook.end())["permissionDecision"] == "allow"


def test_an_answer_given_while_the_server_restarts_is_heard(configured: Home, server: Server, start: Start) -> None:
    """The decision is on the disk before the hook comes back."""
    hook = start("hook", "--agent", "claude-code", stdin=MAKE)
    item = server.question("make")
    server.stop()
    server.start()
    server.answer(item, "block", message="no")
    assert inside(hook.end())["permissionDecisionReason"] == "User rejected: no"


def test_two_hooks_that_ask_about_one_call_share_the_question(configured: Home, server: Server, start: Start) -> None:
    hooks = [start("hook", "--agent", "claude-code", stdin=MAKE) for _ in range(2)]
    seen: dict[str, Json] = {}
    while any(hook.is_waiting for hook in hooks):
        for item in server.waiting():  # whichever second they began in
            seen[item["id"]] = item
            server.answer(item, "allow")
    assert [inside(hook.end())["permissionDecision"] for hook in hooks] == ["allow", "allow"]
    assert len({item["run"]["id"] for item in seen.values()}) == 1, "two hooks that begin at once make one run"


def test_two_calls_are_two_questions_with_two_answers(configured: Home, server: Server, start: Start) -> None:
    events = [{**MAKE, "tool_use_id": name, "tool_input": {"command": f"make {name}"}} for name in ("one", "two")]
    one, two = [start("hook", "--agent", "claude-code", stdin=event) for event in events]
    server.answer(server.question("make two"), "block", message="no")
    server.answer(server.question("make one"), "allow")
    assert inside(one.end())["permissionDecision"] == "allow"
    assert inside(two.end())["permissionDecision"] == "deny"


@pytest.mark.parametrize("next_id", ["t1", "t2"], ids=["the same call", "another call"])
def test_who_waits_too_long_is_refused_in_time_and_a_late_answer_counts_for_the_retry(
    next_id: str, configured: Home, server: Server, fairlead: Fairlead
) -> None:
    refused = inside(fairlead("hook", "--agent", "claude-code", "--timeout", "6", stdin=MAKE))
    assert refused["permissionDecision"] == "deny"
    assert "same call again" in refused["permissionDecisionReason"]
    (item,) = eventually(server.done, "the end of the question")
    assert server.answer(item, "allow")["late"]

    retry = {**MAKE, "tool_use_id": next_id}
    allowed = inside(fairlead("hook", "--agent", "claude-code", "--timeout", "6", stdin=retry))
    assert allowed["permissionDecision"] == "allow"

    third = {**MAKE, "tool_use_id": "t3"}
    again = inside(fairlead("hook", "--agent", "claude-code", "--timeout", "6", stdin=third))
    assert again["permissionDecision"] == "deny", "a late answer is used once"


def test_the_service_says_that_nobody_answered_in_the_words_that_we_look_for() -> None:
    fields: Json = {"id": "i", "run_id": "r", "request_id": "q", "kind": "approval", "tool": "Bash", "body": b""}
    silent = Interaction(**fields, digest="", created_at=0, expires_at=0, state=EXPIRED)
    said = [protocol.told(one)["message"] for one in (silent, silent.but(allow=True))]
    assert said == list(approvals.NOBODY)


def test_without_a_server_the_call_is_refused_with_what_to_do(configured: Home, fairlead: Fairlead) -> None:
    answer = inside(fairlead("hook", "--agent", "claude-code", stdin=MAKE))
    assert answer["permissionDecision"] == "deny"
    assert "fairlead serve" in answer["permissionDecisionReason"]


def test_a_server_that_was_killed_is_the_same(configured: Home, server: Server, fairlead: Fairlead) -> None:
    server.stop(signal.SIGKILL)  # its address is still announced
    answer = inside(fairlead("hook", "--agent", "claude-code", stdin=MAKE))
    assert answer["permissionDecision"] == "deny"
    assert "fairlead serve" in answer["permissionDecisionReason"]


def test_on_error_allow_is_heeded_where_somebody_has_written_it(place: Home, fairlead: Fairlead) -> None:
    place.write("~/.config/fairlead/fairlead.toml", f'{HOOK}on_error = "allow"\n')
    ran = fairlead("hook", "--agent", "claude-code", stdin=MAKE)
    assert (ran.code, ran.out) == (0, b"")
    assert "cannot be reached" in ran.err


def test_the_standing_run_of_a_project_lasts_and_is_private(configured: Home, server: Server, start: Start) -> None:
    runs = set()
    for command in ("first", "second"):
        event = {**MAKE, "tool_use_id": command, "tool_input": {"command": command}}
        hook = start("hook", "--agent", "claude-code", stdin=event)
        item = server.question(command)
        runs.add(item["run"]["id"])
        server.answer(item, "allow")
        hook.end()
    assert len(runs) == 1
    folder = Path(configured.environ["XDG_STATE_HOME"]) / "fairlead/runs"
    assert folder.stat().st_mode & 0o777 == 0o700
    assert {file.stat().st_mode & 0o777 for file in folder.iterdir()} == {0o600}


def test_a_standing_run_that_has_ended_is_replaced(configured: Home, server: Server, start: Start) -> None:
    hook = start("hook", "--agent", "claude-code", stdin=MAKE)
    item = server.question("make")
    server.call("POST", f"/api/runs/{item['run']['id']}/end", {})
    assert inside(hook.end())["permissionDecision"] == "deny"

    hook = start("hook", "--agent", "claude-code", stdin={**MAKE, "tool_use_id": "t2"})
    again = server.question("make")
    assert again["run"]["id"] != item["run"]["id"]
    server.answer(again, "allow")
    assert inside(hook.end())["permissionDecision"] == "allow"


# --- services that are not what they should be ----------------------------------------------------------


class Strange(BaseHTTPRequestHandler):
    """Answers every question in the same way."""

    answers: tuple[tuple[int, bytes], ...] = ()
    seen: list[bytes]

    def do_POST(self) -> None:
        self.seen.append(self.rfile.read(int(self.headers["content-length"])))
        status, body = self.answers[min(len(self.seen), len(self.answers)) - 1]
        self.send_response(status)
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_arguments: Any) -> None:
        pass


@pytest.fixture
def strange() -> Iterator[Callable[..., tuple[dict[str, str], list[bytes]]]]:
    """A service that answers with these, one after the other: its variables, and what it was asked."""
    running: list[ThreadingHTTPServer] = []

    def begin(*answers: tuple[int, bytes]) -> tuple[dict[str, str], list[bytes]]:
        seen: list[bytes] = []
        handler = type("Handler", (Strange,), {"answers": answers, "seen": seen})
        running.append(ThreadingHTTPServer(("127.0.0.1", 0), handler))
        threading.Thread(target=running[-1].serve_forever, daemon=True).start()
        address = f"http://127.0.0.1:{running[-1].server_address[1]}"
        return {"M_SERVER_URL": address, "M_RUN_ID": "r", "M_API_KEY": "k"}, seen

    yield begin
    for one in running:
        one.shutdown()
        one.server_close()


ALLOW = (200, b'{"decision":"allow"}')
STRANGE: dict[str, tuple[tuple[tuple[int, bytes], ...], str, int]] = {
    "an answer": ((ALLOW,), "allow", 1),
    "blanks before it": (((200, b" \n \t" + ALLOW[1]),), "allow", 1),
    "a decision that was made before": (((409, ALLOW[1]),), "allow", 1),
    "a moment's trouble": (((503, b""), (500, b"oh"), ALLOW), "allow", 3),
    "half an answer, then a whole one": (((200, b'{"decision":'), ALLOW), "allow", 2),
    "a wrong key": (((401, b'{"error":{"message":"who are you"}}'),), "deny", 1),
    "no such run": (((404, b"{}"),), "deny", 1),
    "a run that has ended": (((409, b'{"error":{"code":"invalid_state","message":"ended"}}'),), "deny", 1),
    "another body": (((422, b"{}"),), "deny", 1),
    "somewhere else": (((302, b""),), "deny", 1),
    "a word that nobody knows": (((200, b'{"decision":"maybe"}'),), "deny", 0),
    "no decision at all": (((200, b"{}"),), "deny", 0),
    "a list": (((200, b"[]"),), "deny", 0),
    "an input that is none": (((200, b'{"decision":"allow","updated_input":[1]}'),), "deny", 1),
}


@pytest.mark.parametrize("case", STRANGE)
def test_only_a_clear_yes_is_one(case: str, configured: Home, fairlead: Fairlead, strange: Any) -> None:
    answers, decision, times = STRANGE[case]
    env, seen = strange(*answers)
    answer = inside(fairlead("hook", "--agent", "claude-code", "--timeout", "5", stdin=MAKE, env=env))
    assert answer["permissionDecision"] == decision
    assert len(set(seen)) == 1, "every try is the same request"
    assert len(seen) == times or not times


def test_the_request_is_the_documents(configured: Home, fairlead: Fairlead, strange: Any) -> None:
    env, seen = strange(ALLOW)
    fairlead("hook", "--agent", "claude-code", stdin=MAKE, env=env)
    asked = json.loads(seen[0])
    assert (asked["run_id"], asked["type"], asked["tool"], asked["payload"]) == (
        "r",
        "approval",
        "Bash",
        {"command": "make"},
    )
    assert asked["request_id"]
    assert (asked["agent"], asked["session_id"], asked["cwd"]) == ("claude-code", "s1", "/p")
    assert asked["text"] == "Let someone look at it"
    assert 0 < asked["expires_in"] <= 600


def test_the_users_own_key_goes_to_no_other_machine(configured: Home, server: Server, fairlead: Fairlead) -> None:
    env = {"FAIRLEAD_SERVER": "http://192.0.2.1:9"}
    answer = inside(fairlead("hook", "--agent", "claude-code", stdin=MAKE, env=env))
    assert answer["permissionDecision"] == "deny"
    assert "M_API_KEY" in answer["permissionDecisionReason"]


@pytest.mark.parametrize("address", ["nonsense", "ftp://127.0.0.1", "http://", "http://[::1", "http://127.0.0.1:99999"])
def test_what_is_no_address_refuses(address: str, configured: Home, fairlead: Fairlead) -> None:
    env = {"M_SERVER_URL": address, "M_RUN_ID": "r", "M_API_KEY": "k"}
    answer = inside(fairlead("hook", "--agent", "claude-code", "--timeout", "3", stdin=MAKE, env=env))
    assert answer["permissionDecision"] == "deny"


def test_a_hook_that_is_ended_leaves_nothing_behind(configured: Home, server: Server, start: Start) -> None:
    hook = start("hook", "--agent", "claude-code", stdin=MAKE)
    server.question("make")
    hook._process.send_signal(signal.SIGTERM)
    assert hook.end().code != 0


def test_asking_imports_no_server(configured: Home) -> None:
    code = "import sys, fairlead.approvals, fairlead.handlers.approval; print(*sys.modules)"
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, env=configured.environ, timeout=60, check=True
    )
    assert not {"http.client", "ssl", "fairlead.server", "starlette"} & set(done.stdout.decode().split())


# --- explaining -------------------------------------------------------------------------------------


def test_an_explanation_says_that_somebody_would_be_asked_and_asks_nobody(
    configured: Home, server: Server, fairlead: Fairlead
) -> None:
    found = fairlead("explain", "--command", "make", "--json").json
    (hook,) = [one for one in found["hooks"] if one["matched"]]
    assert hook["verdict"] == found["decision"] == "ask"
    assert hook["reason"] == "would ask a person: approval: Let someone look at it"
    assert server.waiting() == []
    assert server.done() == []


def test_an_explanation_asks_where_somebody_wants_it_to(configured: Home, server: Server, start: Start) -> None:
    explaining = start("explain", "--command", "make", "--json", "--ask")
    server.answer(server.question("make"), "block", message="no")
    assert explaining.end().json["decision"] == "deny"


def test_an_explanation_needs_no_server(configured: Home, fairlead: Fairlead) -> None:
    assert fairlead("explain", "--command", "make", "--json").json["decision"] == "ask"
