"""Project M: its document's script against our server, and `fairlead hook --agent m` as complete as the document."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.approvals.conftest import Json, Server, Start
from tests.conftest import SHARED, Home, Ran, needs_shared

EDIT = {"tool": "Edit", "input": {"file_path": "/p/a", "old_string": "1", "new_string": "2"}}
WHICH = {"tool": "AskUserQuestion", "input": {"questions": [{"question": "Which?", "options": ["A", "B"]}]}}
Fairlead = Callable[..., Ran]


def documents_script(folder: Path) -> str:
    """The document's own hook, as it is written there."""
    text = next(SHARED.joinpath("seeds").glob("000*")).read_text()
    script = folder / "documents-hook.sh"
    script.write_text(text.partition("```bash\n")[2].partition("\n```\n")[0] + "\n")
    script.chmod(0o755)
    return str(script)


def our_script(_folder: Path) -> str:
    return str(Path(__file__).with_name("asks.sh"))


SCRIPTS = [
    pytest.param(documents_script, id="the document's script", marks=needs_shared("seeds")),
    pytest.param(our_script, id="a script of our own"),
]
CURL = pytest.mark.skipif(not (shutil.which("curl") and shutil.which("jq")), reason="needs curl and jq")

ANSWERS: dict[str, tuple[Json, str, Json, Json]] = {
    "allowed": (EDIT, "allow", {}, {"decision": "allow"}),
    "refused": (EDIT, "block", {"message": "no"}, {"decision": "block", "message": "User rejected: no"}),
    "refused without a reason": (EDIT, "block", {}, {"decision": "block", "message": "User rejected"}),
    "answered": ({**WHICH, "kind": "input"}, "allow", {"response": "B"}, {"decision": "allow", "response": "B"}),
}


@CURL
@pytest.mark.parametrize("script", SCRIPTS)
@pytest.mark.parametrize("case", ANSWERS)
def test_a_script_hears_what_a_person_says(
    case: str, script: Callable[[Path], str], place: Home, server: Server, start: Start
) -> None:
    event, decision, more, expected = ANSWERS[case]
    hook = start("/bin/bash", script(place.root), stdin=event, env=server.new_run())
    server.answer(server.question(), decision, **more)
    ran = hook.end()
    assert (ran.code, ran.json) == (0, expected)


@pytest.mark.parametrize("case", ANSWERS)
def test_our_own_hook_hears_the_same(case: str, server: Server, start: Start) -> None:
    event, decision, more, expected = ANSWERS[case]
    hook = start("hook", "--agent", "m", stdin={k: v for k, v in event.items() if k != "kind"}, env=server.new_run())
    item = server.question()
    assert item["kind"] == ("input" if "kind" in event else "approval")
    server.answer(item, decision, **more)
    ran = hook.end()
    assert (ran.code, ran.json) == (0, expected)


# --- which tools -------------------------------------------------------------------------------------

NOT_ASKED: dict[str, tuple[str, dict[str, str]]] = {
    "a tool in no list": ("Read", {}),
    "another case": ("bash", {}),
    "a part of a name": ("BashOutput", {}),
    "a list of one's own": ("Bash", {"M_APPROVAL_TOOLS": "Deploy Publish"}),
    "a list of blanks": ("Bash", {"M_APPROVAL_TOOLS": "  "}),
    "other questions": ("AskUserQuestion", {"M_INPUT_TOOLS": "Elicit"}),
}


@pytest.mark.parametrize("case", NOT_ASKED)
def test_nobody_is_asked_about_other_tools(case: str, fairlead: Fairlead) -> None:
    tool, env = NOT_ASKED[case]
    ran = fairlead("hook", "--agent", "m", stdin={"tool": tool, "input": {}}, env=env)
    assert (ran.code, ran.json) == (0, {"decision": "allow"})


ASKED: dict[str, tuple[str, dict[str, str], str]] = {
    **{tool: (tool, {}, "approval") for tool in ("Edit", "Write", "Bash", "NotebookEdit")},
    "AskUserQuestion": ("AskUserQuestion", {}, "input"),
    "an empty list is the default": ("Bash", {"M_APPROVAL_TOOLS": "", "M_INPUT_TOOLS": ""}, "approval"),
    "a list of one's own": ("Deploy", {"M_APPROVAL_TOOLS": "Publish\tDeploy"}, "approval"),
    "questions of one's own": ("Elicit", {"M_INPUT_TOOLS": "Elicit"}, "input"),
    "in both lists": ("Bash", {"M_INPUT_TOOLS": "Bash"}, "approval"),
}


@pytest.mark.parametrize("case", ASKED)
def test_a_person_is_asked_about_the_tools_of_the_lists(case: str, server: Server, start: Start) -> None:
    tool, env, kind = ASKED[case]
    hook = start("hook", "--agent", "m", stdin={"tool": tool, "input": {"x": 1}}, env={**server.new_run(), **env})
    item = server.question()
    assert (item["tool"], item["kind"], item["payload"]) == (tool, kind, {"x": 1})
    server.answer(item, "block", message="no")
    assert hook.end().json["decision"] == "block"


# --- the payload that Claude Code really sends --------------------------------------------------------

REAL: Json = {
    "session_id": "s", "transcript_path": "/t.jsonl", "cwd": "/p", "permission_mode": "default",
    "hook_event_name": "PreToolUse", "tool_name": "Bash", "tool_input": {"command": "make"}, "tool_use_id": "t1",
}  # fmt: skip
INSIDE = {"CLAUDE_PROJECT_DIR": "/p"}
"""What Claude Code gives its hooks."""


@pytest.mark.parametrize("event", [REAL, {"tool_name": "Bash", "tool_input": {"command": "make"}}], ids=["all", "some"])
def test_claude_codes_own_payload_is_asked_about_too(event: Json, server: Server, start: Start) -> None:
    hook = start("hook", "--agent", "m", stdin=event, env=server.new_run())
    item = server.question("make")
    assert (item["tool"], item["payload"]) == ("Bash", {"command": "make"})
    server.answer(item, "allow")
    assert hook.end().json == {"decision": "allow"}


def test_claude_code_itself_understands_the_refusal(server: Server, start: Start) -> None:
    hook = start("hook", "--agent", "m", stdin=REAL, env={**server.new_run(), **INSIDE})
    server.answer(server.question("make"), "block", message="no")
    answer = hook.end().json
    assert (answer["decision"], answer["message"]) == ("block", "User rejected: no")
    assert answer["hookSpecificOutput"]["permissionDecision"] == "deny"


def test_claude_code_itself_understands_the_allow(server: Server, start: Start) -> None:
    """It discards an answer with the decision `allow`, which is no word of its own."""
    hook = start("hook", "--agent", "m", stdin=REAL, env={**server.new_run(), **INSIDE})
    server.answer(server.question("make"), "allow")
    expected = {"hookEventName": "PreToolUse", "permissionDecision": "allow"}
    assert hook.end().json == {"hookSpecificOutput": expected}


def test_claude_code_itself_gets_the_answers_to_its_questions(server: Server, start: Start) -> None:
    event = {**REAL, "tool_name": "AskUserQuestion", "tool_input": WHICH["input"]}
    hook = start("hook", "--agent", "m", stdin=event, env={**server.new_run(), **INSIDE})
    server.answer(server.question("Which?"), "allow", response="B")
    assert hook.end().json["hookSpecificOutput"]["updatedInput"]["answers"] == {"Which?": "B"}


# --- when no answer can be had ------------------------------------------------------------------------

RUN = {"M_RUN_ID": "r", "M_API_KEY": "k"}
NO_ANSWER: dict[str, dict[str, str]] = {
    "nothing is set": {},
    "nobody listens there": {**RUN, "M_SERVER_URL": "http://127.0.0.1:9"},
    "no run": {"M_API_KEY": "k", "M_SERVER_URL": "http://127.0.0.1:9"},
    "no key": {"M_RUN_ID": "r", "M_SERVER_URL": "http://127.0.0.1:9"},
    "no address": RUN,
}


@pytest.mark.parametrize("case", NO_ANSWER)
def test_without_an_answer_it_blocks(case: str, fairlead: Fairlead) -> None:
    ran = fairlead("hook", "--agent", "m", stdin=EDIT, env={**NO_ANSWER[case], "M_HOOK_TIMEOUT": "2"})
    assert (ran.code, ran.json["decision"]) == (0, "block")
    assert ran.json["message"]


def test_a_wrong_key_blocks_at_once(server: Server, fairlead: Fairlead) -> None:
    ran = fairlead("hook", "--agent", "m", stdin=EDIT, env={**server.new_run(), "M_API_KEY": "wrong"})
    assert ran.json["decision"] == "block"
    assert "401" in ran.json["message"]


def test_the_timeout_is_the_documents(server: Server, fairlead: Fairlead) -> None:
    ran = fairlead("hook", "--agent", "m", stdin=EDIT, env={**server.new_run(), "M_HOOK_TIMEOUT": "2"})
    assert ran.json["decision"] == "block"
    assert "nobody answered" in ran.json["message"]


@pytest.mark.parametrize("debug", ["1", "0", "", "true"])
def test_debugging_goes_to_stderr_and_holds_no_key(debug: str, server: Server, start: Start) -> None:
    env = {**server.new_run(), "M_HOOK_DEBUG": debug}
    hook = start("hook", "--agent", "m", stdin=EDIT, env=env)
    server.answer(server.question(), "allow")
    ran = hook.end()
    assert ran.json == {"decision": "allow"}
    assert ("[M_HOOK] " in ran.err) is (debug == "1")
    assert env["M_API_KEY"] not in ran.err


def test_fairleads_own_hooks_come_first(place: Home, server: Server, fairlead: Fairlead) -> None:
    place.write("~/.config/fairlead/fairlead.toml", '[[hook]]\non = "PreToolUse"\nrun = "echo house rules; exit 1"\n')
    ran = fairlead("hook", "--agent", "m", stdin=EDIT, env=server.new_run())
    assert ran.json == {"decision": "block", "message": "house rules"}
    assert server.waiting() == []


def test_a_change_by_the_approver_is_not_lost_on_m(server: Server, start: Start) -> None:
    """Its answers know no other input: it is told to make the changed call instead."""
    hook = start("hook", "--agent", "m", stdin={"tool": "Bash", "input": {"command": "make"}}, env=server.new_run())
    server.answer(server.question("make"), "allow", updated_input={"command": "make test"})
    answer: Any = hook.end().json
    assert answer["decision"] == "block"
    assert json.dumps({"command": "make test"}, separators=(",", ":")) in answer["message"]
