"""`fairlead explain`: each hook, whether it applied and why not, what it said, and what the agent is told."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pytest

from tests.conftest import Home, Ran

PUSH = {
    "hook_event_name": "PreToolUse",
    "session_id": "s",
    "tool_name": "Bash",
    "tool_input": {"command": "git push --force"},
}


def by_name(ran: Ran) -> dict[str, dict[str, Any]]:
    assert ran.code == 0, ran.err
    return {hook["name"]: hook for hook in ran.json["hooks"]}


@pytest.fixture
def explain(fairlead: Callable[..., Ran]) -> Callable[..., Ran]:
    return lambda *words, **more: fairlead("explain", "--json", "--trust-project", *words, **more)


def test_an_event_on_stdin_is_judged_hook_by_hook(mixed: Home, explain: Callable[..., Ran]) -> None:
    ran = explain(stdin=PUSH)
    found = ran.json
    assert (found["event"], found["decision"], found["reason"]) == ("PreToolUse", "deny", "never force")
    assert found["reply"]["hookSpecificOutput"]["permissionDecision"] == "deny"
    hook = by_name(ran)["no-force.sh"]
    assert (hook["matched"], hook["why"], hook["verdict"], hook["order"]) == (True, "", "deny", 1)
    assert hook["ms"] > 0
    assert hook["origin"] == {
        "file": str(mixed.project / ".claude/settings.json"),
        "line": 7,
        "layer": "project",
        "dialect": "code-agent",
    }


def test_those_that_do_not_run_say_why(mixed: Home, explain: Callable[..., Ran]) -> None:
    hooks = by_name(explain("--tool", "Edit", "--input", "{}"))
    assert (hooks["no-sudo"]["matched"], hooks["no-sudo"]["verdict"]) == (False, None)
    assert hooks["no-sudo"]["why"] == "its matcher 'Bash' does not match 'Edit'"
    assert hooks["off"]["why"] == "is switched off"
    assert hooks["fairlead.toml#2"]["why"] == "is for Stop"


def test_without_trust_the_projects_hooks_do_not_run(mixed: Home, fairlead: Callable[..., Ran]) -> None:
    ran = fairlead("explain", "--json", stdin=PUSH)
    hook = by_name(ran)["no-force.sh"]
    assert (hook["matched"], hook["verdict"]) == (True, None)
    assert "not trusted" in hook["why"]
    assert any("not trusted" in note for note in ran.json["notes"])


def test_a_later_hook_sees_what_an_earlier_one_rewrote(mixed: Home, explain: Callable[..., Ran]) -> None:
    ran = explain("--command", "npm install")
    hooks = by_name(ran)
    assert hooks["echo"]["said"]["updated_input"] == {"command": "npm ci"}
    assert hooks["no-force.sh"]["input"] is None
    assert hooks["no-sudo"]["input"] == {"command": "npm ci"}
    assert ran.json["merged"]["updated_input"] == {"command": "npm ci"}


@pytest.mark.parametrize(
    ("words", "event", "payload"),
    [
        (["--command", "ls -la"], "PreToolUse", {"tool_name": "Bash", "tool_input": {"command": "ls -la"}}),
        (["--tool", "Write", "--input", '{"a": 1}'], "PreToolUse", {"tool_name": "Write", "tool_input": {"a": 1}}),
        (["--prompt", "hello"], "UserPromptSubmit", {"prompt": "hello"}),
        (["--event", "Stop"], "Stop", {}),
        (["--event", "SessionStart", "--input", '{"source": "clear"}'], "SessionStart", {"source": "clear"}),
        (["--event", "PostToolUse", "--tool", "Read"], "PostToolUse", {"tool_name": "Read"}),
        (["--event", "Newfangled"], "Newfangled", {}),
    ],
    ids=["command", "tool", "prompt", "stop", "fields", "after", "unknown"],
)  # fmt: skip
def test_an_event_can_be_made_up(
    explain: Callable[..., Ran], words: list[str], event: str, payload: dict[str, Any]
) -> None:
    found = explain(*words).json
    assert found["event"] == event
    assert found["payload"].items() >= payload.items()


EVENTS = {
    "m": {"tool": "Bash", "input": {"command": "git push --force"}},
    "code-agent": {
        "type": "PreToolUse",
        "sessionId": "s",
        "payload": {"toolName": "Bash", "input": PUSH["tool_input"]},
    },
    "claude-agent": {"event": "pre_tool_use", "session_id": "s", "tool_name": "Bash", "tool_input": PUSH["tool_input"]},
    "codemie": PUSH,
    "amcp": PUSH,
    "claude-code": PUSH,
}


@pytest.mark.parametrize("option", ["--agent", "--as"])
@pytest.mark.parametrize("agent", EVENTS)
def test_the_reply_is_in_the_words_of_who_asks(
    mixed: Home, explain: Callable[..., Ran], agent: str, option: str
) -> None:
    mixed.write("fairlead.toml", '[[hook]]\non = "PreToolUse"\nrun = "echo never; exit 1"\n')
    found = explain(option, agent, stdin=EVENTS[agent]).json
    assert (found["agent"], found["decision"]) == (agent, "deny")
    assert "never" in json.dumps(found["reply"])


@pytest.mark.parametrize("agent", EVENTS)
def test_like_fire_it_shows_what_fire_answers(
    mixed: Home, explain: Callable[..., Ran], fire: Callable[..., Any], agent: str
) -> None:
    found = explain("--agent", agent, "--like", "fire", "--ask", stdin=EVENTS[agent]).json
    assert found["reply"] == fire(agent, EVENTS[agent])
    assert {hook["origin"]["dialect"] for hook in found["hooks"]} <= {agent, "fairlead"}


@pytest.mark.parametrize("agent", ["m", "amcp", "codemie", "claude-agent", "claude-code"])
def test_like_hook_it_shows_what_hook_answers(
    mixed: Home, explain: Callable[..., Ran], fairlead: Callable[..., Ran], agent: str
) -> None:
    found = explain("--agent", agent, "--like", "hook", "--ask", stdin=EVENTS[agent]).json
    ran = fairlead("hook", "--agent", agent, "--trust-project", stdin=EVENTS[agent])
    assert (found["as_hook"]["stdout"], found["as_hook"]["exit_code"]) == (ran.out.decode(), ran.code)


def test_what_the_agent_cannot_do_is_told_with_what_was_meant(place: Home, explain: Callable[..., Ran]) -> None:
    place.write("fairlead.toml", """\
[[hook]]
on = "PreToolUse"
run = "echo '{\\"hookSpecificOutput\\": {\\"permissionDecision\\": \\"ask\\"}}'"
""")  # fmt: skip
    found = explain("--agent", "m", "--command", "ls").json
    assert (found["merged"]["decision"], found["decision"]) == ("ask", "deny")
    assert any("m cannot ask" in note for note in found["notes"])


def test_a_hook_that_failed_says_how(place: Home, explain: Callable[..., Ran]) -> None:
    place.write("fairlead.toml", '[[hook]]\nname = "slow"\non = "PreToolUse"\nrun = "sleep 60"\ntimeout = "100ms"\n')
    hook = by_name(explain("--command", "ls"))["slow"]
    assert hook["verdict"] == "deny"
    assert hook["error"] == "timed out after 0.1 s"


def test_the_same_hook_twice_runs_once_and_says_so(place: Home, explain: Callable[..., Ran]) -> None:
    entry = {"hooks": {"Stop": [{"hooks": [{"type": "command", "command": "true"}]}]}}
    place.write("~/.claude/settings.json", entry)
    place.write(".claude/settings.json", entry)
    ran, left_out = explain("--event", "Stop").json["hooks"]
    assert ran["order"] == 1
    assert left_out["order"] is None
    assert "is the same as true" in left_out["why"]


def test_a_hook_that_a_nearer_file_replaces_is_not_passed_over(place: Home, explain: Callable[..., Ran]) -> None:
    entry = '[[hooks.Stop.handlers]]\nmatcher = "*"\ncommand = "true"\n'
    place.write("~/.config/amcp/hooks.toml", entry)
    place.write(".amcp/hooks.toml", entry)
    hooks = explain("--event", "Stop").json["hooks"]
    assert [(hook["origin"]["layer"], hook["order"]) for hook in hooks] == [("project", 1), ("user", None)]
    assert hooks[1]["why"] == "is replaced by a hook in a nearer file"


def test_a_dry_run_runs_nothing(place: Home, explain: Callable[..., Ran]) -> None:
    place.write("fairlead.toml", '[[hook]]\non = "Stop"\nrun = "touch ran"\n')
    found = explain("--event", "Stop", "--dry-run").json
    assert not (place.project / "ran").exists()
    assert [(hook["order"], hook["matched"], hook["verdict"]) for hook in found["hooks"]] == [(1, True, None)]
    assert (found["decision"], found["reply"]) == (None, None)


def test_without_dry_run_it_really_runs_them(place: Home, explain: Callable[..., Ran]) -> None:
    place.write("fairlead.toml", '[[hook]]\non = "Stop"\nrun = "touch ran"\n')
    explain("--event", "Stop")
    assert (place.project / "ran").exists()


def test_explaining_is_not_another_round_of_a_stop(place: Home, explain: Callable[..., Ran]) -> None:
    place.write("fairlead.toml", '[[hook]]\non = "Stop"\nrun = "exit 1"\n')
    assert explain("--agent", "codemie", "--event", "Stop").json["decision"] == "deny"
    assert not (place.home / ".local").exists()


def test_what_a_function_prints_does_not_spoil_the_json(place: Home, explain: Callable[..., Ran]) -> None:
    place.write("noisy.py", "def hook(event):\n    print('hello')\n    return 'fine'\n")
    place.write("fairlead.toml", '[[hook]]\non = "Stop"\npython = "noisy:hook"\n')
    ran = explain("--event", "Stop", env={"PYTHONPATH": str(place.project)})
    assert ran.json["merged"]["context"] == "fine"
    assert "hello" in ran.err


def test_the_events_own_directory_is_the_project(mixed: Home, explain: Callable[..., Ran]) -> None:
    other = mixed.root / "other"
    other.mkdir()
    assert explain(stdin={**PUSH, "cwd": str(other)}).json["project"] == str(other)
    assert explain("--project", str(mixed.project), stdin={**PUSH, "cwd": str(other)}).json["decision"] == "deny"


@pytest.mark.parametrize(
    ("words", "stdin", "message"),
    [
        ([], b"", "there is no event"),
        ([], b"[]", "must be a JSON object"),
        ([], b"{", "not JSON"),
        ([], b"{}", "no hook_event_name"),
        (["--input", "{", "--tool", "Bash"], b"", "not JSON"),
        (["--input", "3"], b"", "--input must be a JSON object"),
        (["--agent", "m"], b"{}", "names no tool"),
        (["--event", "PreToolUse"], b'{"tool_name": 3}', "must be a string"),
        (["--event", "Stop", "--tool", "Bash"], b"", "Stop is not about a tool"),
    ],
    ids=["empty", "list", "half", "nameless", "bad-input", "number", "agent", "types", "no-tool"],
)
def test_what_cannot_be_read_is_a_sentence(
    fairlead: Callable[..., Ran], words: list[str], stdin: bytes, message: str
) -> None:
    ran = fairlead("explain", *words, stdin=stdin)
    assert ran.code != 0
    assert ran.out == b""
    assert ran.err.startswith("fairlead explain: ")
    assert message in ran.err
    assert "Traceback" not in ran.err


def test_a_person_reads_order_verdict_reason_and_reply(mixed: Home, fairlead: Callable[..., Ran]) -> None:
    text = fairlead("explain", "--trust-project", "--command", "sudo git push --force").out.decode()
    assert "PreToolUse · Bash  asked by claude-code" in text
    assert "1.   deny" in text
    assert "reason: never force" in text
    assert "Not run\n -   off: true\n     is switched off" in text
    assert "1 hook for other events." in text
    assert "decision   deny" in text
    assert '"permissionDecision": "deny"' in text


def test_a_person_reads_that_a_denied_stop_goes_on(mixed: Home, fairlead: Callable[..., Ran]) -> None:
    text = fairlead("explain", "--trust-project", "--event", "Stop").out.decode()
    assert "the agent goes on" in text


def test_a_person_reads_what_fairlead_hook_would_print(place: Home, fairlead: Callable[..., Ran]) -> None:
    place.write("fairlead.toml", '[[hook]]\non = "PreToolUse"\nrun = "echo no sudo here; exit 1"\n')
    ran = fairlead("explain", "--trust-project", "--like", "hook", "--as", "code-agent", "--command", "sudo ls")
    text = ran.out.decode()
    assert "stdout     no sudo here" in text
    assert "exit code  1" in text


def test_a_person_reads_what_could_not_be_said_to_this_agent(mixed: Home, fairlead: Callable[..., Ran]) -> None:
    ask = {"hookSpecificOutput": {"permissionDecision": "ask", "permissionDecisionReason": "who knows"}}
    mixed.write("ask.json", ask)
    mixed.write("fairlead.toml", '[[hook]]\non = "PreToolUse"\nrun = "cat ask.json"\n')
    text = fairlead("explain", "--trust-project", "--as", "m", "--tool", "Edit").out.decode()
    assert "decision   deny  the hooks said ask; m cannot do that here" in text
    assert "note       a person has to agree to this" in text
