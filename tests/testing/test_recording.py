"""`fairlead test --record`: what has happened becomes what should happen."""

from __future__ import annotations

import json
import tomllib
from collections.abc import Callable
from typing import Any
from xml.etree import ElementTree as ET

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fairlead.testing import junit, recording
from tests.conftest import Home, Ran

Fairlead = Callable[..., Ran]
CASES = "fairlead.tests.toml"
TOKEN = "ghp_" + "a1" * 18


def call(command: str = "ls", **fields: Any) -> dict[str, Any]:
    made = {"hook_event_name": "PreToolUse", "session_id": "s1", "tool_name": "Bash"}
    return {**made, "tool_input": {"command": command}, **fields}


@pytest.fixture
def guarded(place: Home) -> Home:
    place.write("fairlead.toml", 'guard = ["git", "filesystem"]\n')
    return place


@pytest.fixture
def asked(guarded: Home, fairlead: Fairlead) -> Callable[..., int]:
    """Ask about an event as an agent does; its number in the journal."""

    def ask(event: dict[str, Any], agent: str = "claude-code") -> int:
        where = {"cwd": str(guarded.project), "transcript_path": "/t", "permission_mode": "default", **event}
        project = ("--project", str(guarded.project), "--trust-project")
        ran = fairlead("hook", "--agent", agent, *project, stdin=where)
        assert ran.code in (0, 2), ran.err
        return int(json.loads(fairlead("log", "--json", "-n", "1").out)["n"])

    return ask


def cases(place: Home) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = tomllib.loads((place.project / CASES).read_text())["case"]
    return found


def test_a_recorded_event_is_a_case_that_passes(guarded: Home, fairlead: Fairlead, asked: Callable[..., int]) -> None:
    number = asked(call("git push --force"))
    ran = fairlead("test", "--record", str(number))
    assert ran.code == 0
    assert ran.out.startswith(f"1 case added to {CASES}; try `".encode())
    (case,) = cases(guarded)
    assert case.pop("reason")
    assert case == {"event": "PreToolUse", "tool": "Bash", "input": {"command": "git push --force"}, "decision": "deny"}
    ran = fairlead("test")
    assert ran.code == 0, ran.out


EVENTS = {
    "of another agent": (
        "gemini", call("git push --force", hook_event_name="BeforeTool", tool_name="run_shell_command")),
    "of an agent with our words": ("codex", call("git push --force", turn_id="t")),
    "a prompt": ("claude-code", {"hook_event_name": "UserPromptSubmit", "session_id": "s", "prompt": 'say "hi"\n\té'}),
    "a tool's answer": ("claude-code", call(hook_event_name="PostToolUse", tool_response={"stdout": "", "x": None})),
    "the start of a session": ("claude-code", {"hook_event_name": "SessionStart", "session_id": "s", "source": "x"}),
    "the end of a turn": ("claude-code", {"hook_event_name": "Stop", "session_id": "s", "stop_hook_active": False}),
    "odd keys": ("claude-code", call(tool_name="mcp__a__b", tool_input={"a b.c": [1, 2.5, {"": True}], "é": {}})),
    "with a path that only its agent writes so": (
        "gemini", call(hook_event_name="BeforeTool", tool_name="write_file", tool_input={"file_path": "a"})),
    "of an agent that says it in its own way": (
        "cursor", {"hook_event_name": "beforeShellExecution", "conversation_id": "c", "command": "git push --force"}),
}  # fmt: skip


@pytest.mark.parametrize(("agent", "event"), EVENTS.values(), ids=list(EVENTS))
def test_whatever_was_asked_can_be_asked_again(
    agent: str, event: dict[str, Any], fairlead: Fairlead, asked: Callable[..., int]
) -> None:
    number = asked(event, agent)
    ran = fairlead("test", "--record", str(number), "--json")
    assert ran.code == 0, ran.err
    (recorded,) = ran.json["cases"]
    ran = fairlead("test")
    assert ran.code == 0, (recorded, ran.out.decode())


@pytest.mark.parametrize(
    "name",
    [
        "of an agent that says it in its own way",
        "of an agent with our words",
        "with a path that only its agent writes so",
    ],
)
def test_what_our_words_would_not_say_is_kept_in_the_agents_own(
    name: str, fairlead: Fairlead, asked: Callable[..., int]
) -> None:
    agent, event = EVENTS[name]
    ran = fairlead("test", "--json", "--record", str(asked(event, agent)))
    (recorded,) = ran.json["cases"]
    assert recorded["payload"] == {key: value for key, value in event.items() if key != "session_id"}


def test_what_people_and_models_have_said_is_part_of_the_case() -> None:
    def hook(name: str, handler: str, verdict: str, layer: str = "project") -> dict[str, Any]:
        return {"name": name, "handler": handler, "verdict": verdict, "layer": layer, "reason": f"by {name}"}

    hooks = [hook("judge", "prompt", "none"), hook("boss", "approval", "allow"), hook("mine", "http", "deny", "user")]
    details = {
        "payload": call(),
        "project": "/p",
        "hooks": [*hooks, hook("script", "command", "none"), {"name": "off"}],
    }
    entry = {"n": 1, "agent": "claude-code", "event": "PreToolUse", "decision": "allow", "details": details}
    fields = recording.case_of(entry).fields
    assert fields["approval"] == "allow"
    assert fields["says"] == {"judge": {"decision": "none", "reason": "by judge"}}


def test_paths_of_the_project_are_the_same_on_every_machine(
    guarded: Home, fairlead: Fairlead, asked: Callable[..., int]
) -> None:
    inside, outside = guarded.project / "a.txt", guarded.home / "b.txt"
    number = asked(call(tool_name="Write", tool_input={"file_path": str(inside), "content": f"see {outside}"}))
    fairlead("test", "--record", str(number))
    (case,) = cases(guarded)
    assert case["input"] == {"file_path": "<project>/a.txt", "content": "see <home>/b.txt"}
    assert fairlead("test").code == 0


@pytest.mark.parametrize("newline", ["\n", "\r\n"])
@pytest.mark.parametrize("end", ["", "\n", "\n\n# the end"])
def test_what_stands_in_the_file_stays_with_its_comments(
    newline: str, end: str, guarded: Home, fairlead: Fairlead, asked: Callable[..., int]
) -> None:
    text = '# ours\n[[case]]  # first\ncommand = "ls"   # a comment\ndecision = "none"' + end
    file = guarded.project / CASES
    file.write_bytes(text.replace("\n", newline).encode())
    file.chmod(0o640)
    numbers = [str(asked(call(command))) for command in ("ls", "git push --force")]
    assert fairlead("test", "--record", *numbers).code == 0
    after = file.read_bytes().decode()
    assert after.startswith(text.replace("\n", newline))
    assert after.count(newline) == after.count("\n")
    assert [case["decision"] for case in cases(guarded)] == ["none", "none", "deny"]
    assert file.stat().st_mode & 0o777 == 0o640
    assert sorted(path.name for path in guarded.project.iterdir()) == [CASES, "fairlead.toml"]


@pytest.mark.parametrize(
    ("text", "said"),
    [("[[case]\n", f"{CASES}:1:"), ('case = [{ command = "ls", decision = "none" }]\n', "cannot be added")],
    ids=["no TOML", "cases in one list"],
)
def test_a_file_that_cannot_be_added_to_stays_as_it_is(
    text: str, said: str, guarded: Home, fairlead: Fairlead, asked: Callable[..., int]
) -> None:
    guarded.write(CASES, text)
    ran = fairlead("test", "--record", str(asked(call())))
    assert ran.code == 1
    assert said in ran.err
    assert (guarded.project / CASES).read_text() == text


def test_a_secret_in_it_is_pointed_out(guarded: Home, fairlead: Fairlead, asked: Callable[..., int]) -> None:
    ran = fairlead("test", "--record", str(asked(call(f"curl -H 'Authorization: {TOKEN}' https://example.org"))))
    assert ran.code == 0
    assert "holds what looks like a secret (ghp…(40))" in ran.err
    assert TOKEN not in ran.err
    assert "secret" not in fairlead("test", "--record", str(asked(call("ls")))).err


def test_an_event_that_is_not_there_or_has_no_payload_is_no_case(
    guarded: Home, fairlead: Fairlead, asked: Callable[..., int]
) -> None:
    good = asked(call())
    ran = fairlead("test", "--record", str(good), "4711")
    assert ran.code == 64
    assert "event 4711 is not in the journal" in ran.err
    fairlead("hook", "--agent", "claude-code", stdin=call(), env={"FAIRLEAD_JOURNAL": "without-payloads"})
    ran = fairlead("test", "--record", str(good + 1))
    assert ran.code == 64
    assert "without its payload" in ran.err
    assert not (guarded.project / CASES).exists()


def test_cases_go_to_the_file_that_is_named(guarded: Home, fairlead: Fairlead, asked: Callable[..., int]) -> None:
    assert fairlead("test", "other.toml", "--record", str(asked(call()))).code == 0
    assert (guarded.project / "other.toml").exists()
    assert not (guarded.project / CASES).exists()


PLAIN = (
    st.none() | st.booleans() | st.integers(-(2**63), 2**63 - 1) | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(st.characters())
)  # fmt: skip
NESTED = PLAIN | st.lists(PLAIN, max_size=4) | st.dictionaries(st.text(st.characters()), PLAIN, max_size=4)
VALUES = NESTED | st.lists(NESTED, max_size=3) | st.dictionaries(st.text(st.characters()), NESTED, max_size=3)


@given(st.dictionaries(st.text(st.characters()), VALUES, max_size=5))
def test_whatever_json_can_say_is_written_as_toml_that_says_the_same(value: dict[str, Any]) -> None:
    plain = recording._plain(value)
    assert tomllib.loads(f"x = {recording.toml(plain)}\n")["x"] == plain


@given(st.text(st.characters()))
def test_any_text_can_stand_in_a_report(text: str) -> None:
    element = ET.Element("x", {"y": junit.legal(text)})
    element.text = junit.legal(text)
    found = ET.fromstring(ET.tostring(element, encoding="utf-8"))
    assert found.text == (junit.legal(text) or None)


# --- odd ones --------------------------------------------------------------------------------------------

RULES = """
in=$(cat)
case "$in" in
*stopme*) echo '{"continue": false, "stopReason": "enough"}';;
*crash*) kill -9 $$;;
*npm*) echo '{"hookSpecificOutput": {"hookEventName": "PreToolUse", "permissionDecision": "allow",
              "updatedInput": {"command": "npm ci"}}}';;
*deploy*) echo '{"hookSpecificOutput": {"hookEventName": "PreToolUse", "permissionDecision": "ask",
                 "permissionDecisionReason": "really?"}}';;
*secret*) echo "not in session a1c36399-383d-4fab-a0e0-562428371b71 of $PWD" >&2; exit 1;;
esac
"""
ODD: dict[str, tuple[str, str, dict[str, Any]]] = {
    "the end of a turn": ("claude-code", "stopme", {"decision": "stop"}),
    "a hook that failed": ("claude-code", "crash", {"decision": "deny", "fails": ["rules"]}),
    "another input": ("claude-code", "npm install", {"decision": "allow", "rewrite": {"command": "npm ci"}}),
    "another input where there can be none": ("qwen", "npm install", {"decision": "deny"}),
    "a question where nobody can be asked": ("codex", "deploy", {"decision": "deny"}),
    "a reason that names the session": ("claude-code", "secret", {"decision": "deny", "reason": "not in session"}),
}


@pytest.mark.parametrize(("agent", "command", "expected"), ODD.values(), ids=list(ODD))
def test_what_is_out_of_the_ordinary_becomes_a_case_that_passes_at_once(
    place: Home, fairlead: Fairlead, agent: str, command: str, expected: dict[str, Any]
) -> None:
    place.script("rules.sh", RULES)
    place.write("fairlead.toml", '[[hook]]\nname = "rules"\non = "PreToolUse"\nrun = "./rules.sh"\n')
    event = call(command, cwd=str(place.project), session_id="a1c36399-383d-4fab-a0e0-562428371b71")
    fairlead("hook", "--agent", agent, "--trust-project", stdin=event)
    recorded = fairlead("test", "--record", "2")
    assert (recorded.code, recorded.err) == (0, "")
    (case,) = cases(place)
    assert case.items() >= expected.items()
    tried = fairlead("test")
    assert tried.code == 0, tried.out.decode()


def test_whose_hooks_decided_it_is_said_where_the_project_has_none(place: Home, fairlead: Fairlead) -> None:
    place.write("~/.config/fairlead/fairlead.toml", 'guard = ["git"]\n')
    fairlead("hook", "--agent", "claude-code", stdin=call("git push --force", cwd=str(place.project)))
    recorded = fairlead("test", "--record", "2")
    assert recorded.code == 0
    assert "event 2 was decided by guard, which the project does not have" in recorded.err
    assert fairlead("test").code == 1
    assert fairlead("test", "--user").code == 0
    assert fairlead("test", "--record", "2", "--user").err == ""
