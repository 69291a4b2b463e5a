"""AMCP's hooks: TOML or JSON handlers, one after the other; exit 2 or a permission decision to deny."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pytest

from fairlead import PreToolUse, deny
from fairlead.dialects import amcp
from tests.conftest import Home, Ran
from tests.dialects.conftest import BIG, Agents, Recorder

Json = dict[str, Any]
USER, PROJECT = "~/.config/amcp/hooks.json", ".amcp/hooks.json"
FALSY: tuple[object, ...] = ("", False, 0, [], {})

EVENTS: dict[str, Json] = {
    "PreToolUse": {"tool_name": "write_file", "tool_input": {"path": "/f.py"}, "tool_use_id": "toolu_01"},
    "PostToolUse": {"tool_name": "write_file", "tool_input": {"path": "/f.py"}, "tool_response": "old"},
    "UserPromptSubmit": {"prompt": "hello"},
    "SessionStart": {},
    "SessionEnd": {},
    "Stop": {},
    "PreCompact": {"metadata": {"compact_type": "auto"}},
    "Notification": {"message": "m", "notification_type": "idle"},
}


def event(name: str, place: Home, **more: Any) -> Json:
    return {"session_id": "abc123", "hook_event_name": name, "cwd": str(place.project), **EVENTS[name], **more}


def handlers(name: str, *entries: str | Json, matcher: str | None = None) -> Json:
    listed: list[Json] = [{"command": each} if isinstance(each, str) else each for each in entries]
    if matcher is not None:
        listed = [{"matcher": matcher, **each} for each in listed]
    return {"hooks": {name: {"handlers": listed}}}


def says(answer: object) -> str:
    return f"echo '{json.dumps(answer)}'"


def specific(name: str = "PreToolUse", **fields: Any) -> Json:
    return {"hookSpecificOutput": {"hookEventName": name, **fields}}


# --- what a hook gets --------------------------------------------------------------------------------


@pytest.mark.parametrize("name", EVENTS)
def test_a_hook_gets_its_input_on_stdin_and_its_variables(
    name: str, place: Home, agents: Agents, recorder: Recorder
) -> None:
    place.write(USER, handlers(name, recorder.script("hook")))
    deeper = place.project / "deeper"
    deeper.mkdir()

    agents.engine("amcp", event(name, place, cwd=str(deeper)), env={"AMCP_TOOL_NAME": "of somebody else"})

    assert recorder.stdin("hook") == event(name, place, cwd=str(deeper))
    seen = {key: value for key, value in recorder.env("hook").items() if key.startswith("AMCP_")}
    tool = {"AMCP_TOOL_NAME": "write_file"} if "tool_name" in EVENTS[name] else {}
    assert seen == {
        "AMCP_PROJECT_DIR": str(place.project), "AMCP_SESSION_ID": "abc123", "AMCP_HOOK_EVENT": name, **tool,
    }  # fmt: skip
    assert recorder.env("hook")["PWD"] == str(place.project)


def test_it_has_the_events_of_its_document() -> None:
    assert set(amcp.EVENTS) == set(EVENTS)


@pytest.mark.parametrize(
    "text", ["x" * 4 * BIG, "a\0b", "\ud800", "\N{PILE OF POO}"], ids=["big", "nul", "half", "poo"]
)
@pytest.mark.parametrize("name", ["PreToolUse", "UserPromptSubmit"])
def test_any_text_arrives_as_it_was(name: str, text: str, place: Home, agents: Agents, recorder: Recorder) -> None:
    place.write(USER, handlers(name, recorder.script("hook")))
    more = {"prompt": text} if name == "UserPromptSubmit" else {"tool_input": {"content": text}}

    assert agents.engine("amcp", event(name, place, **more)).answer == {"continue": True}

    assert {key: recorder.stdin("hook")[key] for key in more} == more


# --- how it answers ----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("name", "then", "answer"),
    [
        pytest.param("PreToolUse", "true", {"continue": True}, id="silence"),
        pytest.param("PreToolUse", "echo hm", {"continue": True, "feedback": "hm"}, id="text is feedback"),
        pytest.param("PreToolUse", "echo '[1]'", {"continue": True, "feedback": "[1]"}, id="a list is text"),
        pytest.param("PreToolUse", "echo '{\"a\"'", {"continue": True, "feedback": '{"a"'}, id="half of JSON is text"),
        pytest.param(
            "PreToolUse",
            "echo no >&2; exit 2",
            {"continue": True, **specific(permissionDecision="deny", permissionDecisionReason="no")},
            id="exit 2 denies",
        ),
        pytest.param(
            "PreToolUse",
            f"{says(specific(permissionDecision='allow'))}; echo no >&2; exit 2",
            {"continue": True, **specific(permissionDecision="deny", permissionDecisionReason="no")},
            id="exit 2 counts more than JSON",
        ),
        pytest.param(
            "PreToolUse",
            "exit 2",
            {
                "continue": True,
                **specific(permissionDecision="deny", permissionDecisionReason="Hook returned blocking error"),
            },
            id="exit 2 in silence",
        ),
        *(
            pytest.param(
                "PreToolUse",
                says(specific(permissionDecision=word, permissionDecisionReason="r")),
                {"continue": True, **specific(permissionDecision=word.lower(), permissionDecisionReason="r")},
                id=word,
            )
            for word in ("allow", "deny", "ask", "DENY")
        ),
        pytest.param(
            "PreToolUse",
            says(specific(permissionDecision="perhaps")),
            {
                "continue": True,
                **specific(permissionDecision="deny", permissionDecisionReason="unknown permissionDecision 'perhaps'"),
            },
            id="an unknown word denies",
        ),
        pytest.param(
            "PreToolUse",
            says({"hookSpecificOutput": {"permissionDecision": "deny"}}),
            {"continue": True, **specific(permissionDecision="deny")},
            id="a denial without the event's name",
        ),
        pytest.param(
            "PreToolUse",
            says(specific(updatedInput={"path": "/g.py"})),
            {"continue": True, **specific(updatedInput={"path": "/g.py"})},
            id="another input",
        ),
        pytest.param(
            "PreToolUse",
            says({"continue": False, "stopReason": "s"}),
            {"continue": False, "stopReason": "s"},
            id="the end of the turn",
        ),
        pytest.param(
            "PreToolUse",
            says({"feedback": "f", "systemMessage": "m", "suppressOutput": True}),
            {"continue": True, "feedback": "f", "systemMessage": "m", "suppressOutput": True},
            id="messages",
        ),
        pytest.param(
            "PostToolUse",
            says(specific("PostToolUse", updatedResponse="new")),
            {"continue": True, **specific("PostToolUse", updatedResponse="new")},
            id="another response",
        ),
        *(
            pytest.param(
                "PostToolUse",
                says(specific("PostToolUse", updatedResponse=value)),
                {"continue": True, **specific("PostToolUse", updatedResponse=value)},
                id=f"the response {value!r}",
            )
            for value in FALSY
        ),
        pytest.param(
            "PostToolUse",
            says({"updatedResponse": ""}),
            {"continue": True, **specific("PostToolUse", updatedResponse="")},
            id="another response at the top",
        ),
        pytest.param(
            "PostToolUse",
            says({"updatedResponse": "top", **specific("PostToolUse", updatedResponse=None)}),
            {"continue": True, **specific("PostToolUse", updatedResponse="top")},
            id="null is no response",
        ),
        pytest.param(
            "PostToolUse",
            "echo bad >&2; exit 2",
            {"continue": True, "decision": "block", "reason": "bad", "feedback": "bad"},
            id="exit 2 after a tool",
        ),
        pytest.param(
            "PostToolUse",
            says(specific("PostToolUse", updatedInput={"a": 1})),
            {"continue": True},
            id="input, too late",
        ),
        pytest.param(
            "UserPromptSubmit",
            "echo no >&2; exit 2",
            {
                "continue": False,
                "stopReason": "no",
                **specific("UserPromptSubmit", permissionDecision="deny", permissionDecisionReason="no"),
            },
            id="exit 2 on a prompt blocks it",
        ),
        pytest.param(
            "UserPromptSubmit", "echo context", {"continue": True, "feedback": "context"}, id="text on a prompt"
        ),
        pytest.param(
            "Stop", says({"continue": False, "stopReason": "s"}), {"continue": False, "stopReason": "s"}, id="stop"
        ),
        pytest.param(
            "Stop",
            says({"decision": "block", "reason": "go on"}),
            {"continue": True, "decision": "block", "reason": "go on"},
            id="go on",
        ),
        pytest.param(
            "Stop",
            says(specific("Stop", decision="block", reason="go on")),
            {"continue": True, "decision": "block", "reason": "go on"},
            id="go on, said inside",
        ),
        pytest.param(
            "Stop",
            "echo go on >&2; exit 2",
            {"continue": True, "decision": "block", "reason": "go on"},
            id="go on by exit 2",
        ),
        pytest.param(
            "SessionStart", says({"systemMessage": "hi"}), {"continue": True, "systemMessage": "hi"}, id="a session"
        ),
    ],
)
def test_a_hook_answers(name: str, then: str, answer: Json, place: Home, agents: Agents, recorder: Recorder) -> None:
    place.write(USER, handlers(name, recorder.script("hook", then)))

    result = agents.engine("amcp", event(name, place))

    assert result.answer == answer
    assert result.notes == ()


@pytest.mark.parametrize(
    ("entry", "error"),
    [
        pytest.param({"command": "exit 1"}, "exit 1", id="exit 1"),
        pytest.param({"command": "echo why >&2; exit 3"}, "exit 3: why", id="exit 3"),
        pytest.param({"command": "kill -9 $$"}, "killed by signal 9", id="a crash"),
        pytest.param({"command": "sleep 60", "timeout": 0.1}, "timed out after 0.1 s", id="a timeout"),
        pytest.param({"type": "python", "script": "gone.py"}, "no such script: ", id="no script"),
        pytest.param({"type": "python", "function": "no.such.thing"}, "cannot import no.such.thing", id="no function"),
    ],
)
@pytest.mark.parametrize("name", ["PreToolUse", "UserPromptSubmit", "Stop"])
def test_a_hook_that_fails_is_reported_and_the_next_one_runs(
    name: str, entry: Json, error: str, place: Home, agents: Agents
) -> None:
    place.write(USER, handlers(name, entry, "echo next"))

    result = agents.engine("amcp", event(name, place))

    assert result.answer == {"continue": True, "feedback": "next"}
    (note,) = result.notes
    assert error in note


# --- several hooks -----------------------------------------------------------------------------------


def test_updates_are_laid_over_the_input_and_the_next_hook_sees_them(
    place: Home, agents: Agents, recorder: Recorder
) -> None:
    one = says(specific(updatedInput={"path": "/one", "new": 1}))
    two = recorder.script("two", says(specific(updatedInput={"new": 2})))
    place.write(USER, handlers("PreToolUse", one, two, recorder.script("three")))

    answer = agents.engine("amcp", event("PreToolUse", place, tool_input={"path": "/f", "content": "c"})).answer

    assert recorder.stdin("two")["tool_input"] == {"path": "/one", "content": "c", "new": 1}
    assert recorder.stdin("three")["tool_input"] == {"path": "/one", "content": "c", "new": 2}
    assert answer["hookSpecificOutput"]["updatedInput"] == {"path": "/one", "new": 2}


@pytest.mark.parametrize(
    ("last", "order"),
    [
        pytest.param("exit 2", ["first"], id="a denial ends the row"),
        pytest.param(says({"continue": False}), ["first"], id="the end of the turn ends it"),
        pytest.param(says(specific(permissionDecision="ask")), ["first", "second"], id="a question does not"),
        pytest.param(says(specific(permissionDecision="allow")), ["first", "second"], id="allowing does not"),
    ],
)
def test_what_ends_the_row(last: str, order: list[str], place: Home, agents: Agents, recorder: Recorder) -> None:
    place.write(USER, handlers("PreToolUse", recorder.script("first", last), recorder.script("second")))

    agents.engine("amcp", event("PreToolUse", place))

    assert recorder.order == order


@pytest.mark.parametrize(
    ("words", "strongest"),
    [(("allow", "ask"), "ask"), (("ask", "allow"), "ask"), (("ask", "deny"), "deny"), (("allow", "deny"), "deny")],
)
def test_the_strongest_word_counts(words: tuple[str, ...], strongest: str, place: Home, agents: Agents) -> None:
    commands = [says(specific(permissionDecision=word, permissionDecisionReason=f"{word}!")) for word in words]
    place.write(USER, handlers("PreToolUse", *commands))

    answer = agents.engine("amcp", event("PreToolUse", place)).answer["hookSpecificOutput"]

    assert (answer["permissionDecision"], answer["permissionDecisionReason"]) == (strongest, f"{strongest}!")


def test_feedback_is_joined_and_hooks_are_not_deduplicated(place: Home, agents: Agents) -> None:
    place.write(USER, handlers("PostToolUse", "echo a", "echo b", "echo a"))

    assert agents.engine("amcp", event("PostToolUse", place)).answer["feedback"] == "a\nb\na"


def test_the_last_response_stands(place: Home, agents: Agents) -> None:
    place.write(USER, handlers("PostToolUse", says({"updatedResponse": "a"}), says({"updatedResponse": ""})))

    answer = agents.engine("amcp", event("PostToolUse", place)).answer

    assert answer["hookSpecificOutput"]["updatedResponse"] == ""


@pytest.mark.parametrize(
    ("matcher", "tool", "runs"),
    [
        ("write_file", "write_file", True),
        ("write_file", "write_file_2", False),
        ("write_file|apply_patch", "apply_patch", True),
        (r"mcp\..*", "mcp.search", True),
        (r"mcp\..*", "mcp_search", False),
        ("*", "anything", True),
        ("", "anything", True),
        (None, "anything", True),
        ("(", "anything", True),
        ("bash", "bash\n", False),
    ],
)
def test_matchers(matcher: str | None, tool: str, runs: bool, place: Home, agents: Agents) -> None:
    place.write(USER, handlers("PreToolUse", "echo ran", matcher=matcher))

    answer = agents.engine("amcp", event("PreToolUse", place, tool_name=tool)).answer

    assert ("feedback" in answer) is runs


# --- files -------------------------------------------------------------------------------------------

TOML = """
[hooks.PreToolUse]
[[hooks.PreToolUse.handlers]]
matcher = "write_file"
type = "command"
command = "echo {}"
timeout = 30
enabled = true
"""


def test_all_four_files_are_read_toml_first_and_the_project_before_the_user(place: Home, agents: Agents) -> None:
    place.write("~/.config/amcp/hooks.toml", TOML.format("ut").replace("write_file", "write_.*"))
    place.write(USER, handlers("PreToolUse", "echo uj"))
    place.write(".amcp/hooks.toml", TOML.format("pt"))
    place.write(PROJECT, handlers("PreToolUse", "echo pj", matcher="w.*"))

    assert agents.engine("amcp", event("PreToolUse", place)).answer["feedback"].split() == ["pt", "pj", "ut", "uj"]


@pytest.mark.parametrize(("value", "expected"), [("/xdg", "xdg"), ("", "home"), ("relative", "home")])
def test_the_users_folder_follows_xdg(value: str, expected: str, place: Home, agents: Agents) -> None:
    place.write("~/.config/amcp/hooks.json", handlers("PreToolUse", "echo home"))
    place.write("~/xdg/amcp/hooks.json", handlers("PreToolUse", "echo xdg"))
    value = f"{place.home}{value}" if value.startswith("/") else value

    answer = agents.engine("amcp", event("PreToolUse", place), env={"XDG_CONFIG_HOME": value}).answer

    assert answer["feedback"] == expected


@pytest.mark.parametrize(
    ("user", "project", "trusted", "ran"),
    [
        pytest.param("write_file", "write_file", True, ["project"], id="the same matcher is replaced"),
        pytest.param("write_file", "write_file", False, ["user"], id="but not by an untrusted project"),
        pytest.param("write_file", "write_.*", True, ["project", "user"], id="another matcher is another hook"),
        pytest.param("*", "", True, ["project"], id="all is all"),
        pytest.param("*", None, True, ["project"], id="and so is nothing"),
    ],
)
def test_a_trusted_project_replaces_what_the_user_says_of_the_same(
    user: str, project: str | None, trusted: bool, ran: list[str], place: Home, agents: Agents
) -> None:
    place.write(USER, handlers("PreToolUse", "echo user", matcher=user))
    place.write(PROJECT, handlers("PreToolUse", "echo project", matcher=project))

    result = agents.engine("amcp", event("PreToolUse", place), trust_project=trusted)

    assert result.answer["feedback"].split() == ran


def test_other_events_of_the_user_are_not_replaced(place: Home, agents: Agents) -> None:
    place.write(USER, handlers("PostToolUse", "echo user"))
    place.write(PROJECT, handlers("PreToolUse", "echo project"))

    assert agents.engine("amcp", event("PostToolUse", place)).answer["feedback"] == "user"


def test_a_switched_off_handler_neither_runs_nor_replaces(place: Home, agents: Agents) -> None:
    off = {"command": "echo off", "enabled": False}
    place.write(USER, handlers("PreToolUse", "echo user", off))
    place.write(PROJECT, handlers("PreToolUse", off))

    assert agents.engine("amcp", event("PreToolUse", place)).answer["feedback"] == "user"


def test_an_untrusted_project_is_named_to_the_user(place: Home, agents: Agents, fairlead: Callable[..., Ran]) -> None:
    place.write(PROJECT, handlers("PreToolUse", "./scripts/guard.sh"))

    ran = fairlead("fire", "--agent", "amcp", stdin=event("PreToolUse", place))

    message = f"not run, because this project is not trusted: guard.sh ({place.project}/.amcp/hooks.json)"
    message += "; look at them with `fairlead trust`"
    assert (ran.code, ran.json) == (0, {"continue": True, "systemMessage": message})
    assert message in ran.err


def test_commands_run_in_the_project(place: Home, agents: Agents) -> None:
    place.script("scripts/validate.sh", "pwd")
    place.script("scripts/lint.sh", "echo lint")
    place.write(PROJECT, handlers("PreToolUse", "./scripts/validate.sh", "$AMCP_PROJECT_DIR/scripts/lint.sh"))

    answer = agents.engine("amcp", event("PreToolUse", place, cwd="/"), project=str(place.project)).answer

    assert answer["feedback"].split() == [str(place.project), "lint"]


@pytest.mark.parametrize(
    "command",
    [
        "$AMCP_PROJECT_DIR/lint.sh",
        "${AMCP_PROJECT_DIR}/lint.sh",
        '"$AMCP_PROJECT_DIR/lint.sh"',
        "'./lint.sh'",
    ],
)
def test_a_project_with_a_space_in_its_path_loses_no_hook(command: str, place: Home, agents: Agents) -> None:
    place.script("my project/lint.sh", "echo lint")
    project = place.project / "my project"
    place.write(USER, handlers("PreToolUse", command))

    answer = agents.engine("amcp", event("PreToolUse", place), project=str(project)).answer

    assert answer["feedback"] == "lint"


# --- python ------------------------------------------------------------------------------------------


@pytest.mark.parametrize("where", [".amcp/scripts/check.py", "scripts/check.py"])
def test_a_script_is_looked_for_beside_the_configuration_and_then_in_the_project(
    where: str, place: Home, agents: Agents
) -> None:
    script = "import json, os, sys\nprint(json.load(sys.stdin)['tool_name'], os.path.basename(os.getcwd()))"
    place.write("scripts/check.py", "print('not this one')")
    place.write(where, script)
    place.write(PROJECT, handlers("PreToolUse", {"type": "python", "script": "./scripts/check.py"}))

    assert agents.engine("amcp", event("PreToolUse", place)).answer["feedback"] == "write_file project"


def test_a_script_that_exits_with_2_denies(place: Home, agents: Agents) -> None:
    place.write("~/.config/amcp/check.py", "import sys\nprint('no', file=sys.stderr)\nsys.exit(2)")
    place.write(USER, handlers("PreToolUse", {"type": "python", "script": "check.py"}))

    answer = agents.engine("amcp", event("PreToolUse", place)).answer

    assert answer["hookSpecificOutput"]["permissionDecisionReason"] == "no"


FUNCTIONS = """
import asyncio, sys, time

DENIAL = {"hookSpecificOutput": {"hookEventName": "PreToolUse", "permissionDecision": "deny",
                                 "permissionDecisionReason": "no"}}

def denies(given):
    assert given["hook_event_name"] == "PreToolUse"
    return DENIAL if given["tool_input"]["path"] == "/f.py" else None

async def denies_later(given):
    await asyncio.sleep(0)
    return denies(given)

def comments(given):
    print("on stdout, which is not our answer")
    return f"saw {given['tool_name']}"

def nothing(given):
    return None

def fails(given):
    raise ValueError("broken")

async def fails_later(given):
    raise ValueError("broken")

def leaves(given):
    sys.exit(2)

def never_ends(given):
    time.sleep(600)

async def never_ends_later(given):
    await asyncio.sleep(600)

def rewrites_badly(given):
    return {"hookSpecificOutput": {"hookEventName": "PreToolUse", "updatedInput": {"path": object()}}}

def denies_badly(given):
    DENIAL["hookSpecificOutput"]["updatedInput"] = {"path": {1, 2}}
    return DENIAL

not_a_function = 5
"""


@pytest.mark.parametrize(
    ("function", "answer", "note"),
    [
        pytest.param("denies", specific(permissionDecision="deny", permissionDecisionReason="no"), "", id="a dict"),
        pytest.param(
            "denies_later", specific(permissionDecision="deny", permissionDecisionReason="no"), "", id="async"
        ),
        pytest.param("comments", {"feedback": "saw write_file"}, "", id="a string"),
        pytest.param("nothing", {}, "", id="nothing"),
        pytest.param("fails", {}, "ValueError: broken", id="an exception"),
        pytest.param("fails_later", {}, "ValueError: broken", id="an exception, async"),
        pytest.param("leaves", {}, "SystemExit: 2", id="an exit"),
        pytest.param("never_ends", {}, "timed out after 0.3 s", id="a timeout"),
        pytest.param("never_ends_later", {}, "timed out after 0.3 s", id="a timeout, async"),
        pytest.param("rewrites_badly", {}, "object cannot be written as JSON", id="not JSON"),
        pytest.param(
            "denies_badly", specific(permissionDecision="deny", permissionDecisionReason="no"), "", id="a denial stands"
        ),
        pytest.param("not_a_function", {}, "is not a function", id="not a function"),
        pytest.param("missing", {}, "cannot import", id="a missing name"),
    ],
)
def test_functions(function: str, answer: Json, note: str, place: Home, fairlead: Callable[..., Ran]) -> None:
    place.write("~/lib/mypackage/__init__.py", "")
    place.write("~/lib/mypackage/hooks.py", FUNCTIONS)
    entry = {"type": "python", "function": f"mypackage.hooks.{function}", "timeout": 0.3 if "never" in function else 30}
    place.write(USER, handlers("PreToolUse", entry))

    ran = fairlead(
        "fire", "--agent", "amcp", stdin=event("PreToolUse", place), env={"PYTHONPATH": str(place.home / "lib")}
    )

    assert (ran.code, ran.json) == (0, {"continue": True, **answer})
    assert note in ran.err
    assert "Traceback" not in ran.err


def test_a_function_may_return_a_verdict() -> None:
    hook: Any = None
    assert amcp.read_value(hook, PreToolUse(tool_name="t"), deny("no")) == deny("no")


# --- as one of its hooks -----------------------------------------------------------------------------


@pytest.fixture
def guarded(place: Home) -> None:
    """A hook of another system: `rm` is blocked, a question is asked, the turn is ended, as the path says."""
    script = """
case "$(cat)" in
  *'/rm"'*) echo no rm >&2; exit 2;;
  *'/ask"'*) echo '{"hookSpecificOutput":{"hookEventName":"PreToolUse","permissionDecision":"ask"}}';;
  *'/end"'*) echo '{"continue":false,"stopReason":"enough"}';;
esac"""
    command = str(place.script("~/guard.sh", script))
    hooks = {
        name: [{"hooks": [{"type": "command", "command": command}]}] for name in ("PreToolUse", "UserPromptSubmit")
    }
    place.write("~/.claude/settings.json", {"hooks": hooks})


@pytest.mark.parametrize(
    ("path", "answer"),
    [
        ("ls", {"continue": True}),
        ("rm", {"continue": True, **specific(permissionDecision="deny", permissionDecisionReason="no rm")}),
        ("ask", {"continue": True, **specific(permissionDecision="ask")}),
        (
            "end",
            {
                "continue": False,
                "stopReason": "enough",
                **specific(permissionDecision="deny", permissionDecisionReason="enough"),
            },
        ),
    ],
)
@pytest.mark.usefixtures("guarded")
def test_it_is_answered_in_json(path: str, answer: Json, place: Home, fairlead: Callable[..., Ran]) -> None:
    ran = fairlead("hook", "--agent", "amcp", stdin=event("PreToolUse", place, tool_input={"path": path}))

    assert (ran.code, ran.json) == (0, answer)


@pytest.mark.parametrize("sent", [b"", b"{", b"[]", b'{"hook_event_name":"PreToolUse"}', b"{}"])
def test_an_event_that_cannot_be_read_is_blocked(sent: bytes, fairlead: Callable[..., Ran]) -> None:
    ran = fairlead("hook", "--agent", "amcp", stdin=sent)
    assert (ran.code, ran.out) == (2, b"")
    assert ran.err.startswith("Fairlead: ")

    fired = fairlead("fire", "--agent", "amcp", stdin=sent).json
    assert fired["hookSpecificOutput"]["permissionDecision"] == "deny"


# --- mistakes ----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("wrong", "problem"),
    [
        pytest.param("[hooks.PreTool]", "1:1 unknown event 'PreTool' (did you mean 'PreToolUse'?)", id="event"),
        pytest.param(
            '[[hooks.Stop]]\ncommand = "x"',
            '1:1 Stop is a list (its handlers belong under "handlers"; they are taken from here)',
            id="no handlers",
        ),
        pytest.param("[hooks]\nStop = 5", "2:1 Stop must be a table, not a number", id="no table"),
        pytest.param(
            "[hooks.Stop]\nhandlers = 5", "2:1 handlers must be a list, not a number", id="handlers must be a list"
        ),
        pytest.param("[[hooks.Stop.handlers]]", "1:1 command is missing", id="no command"),
        pytest.param(
            '[[hooks.Stop.handlers]]\ntype = "pyton"',
            "2:1 unknown type 'pyton' (one of: command, python)",
            id="type",
        ),
        pytest.param(
            '[[hooks.Stop.handlers]]\ntype = "python"',
            "1:1 a python handler needs `script` or `function`",
            id="no script",
        ),
        pytest.param(
            '[[hooks.Stop.handlers]]\ncommand = "x"\ntimeout = "30s"',
            "3:1 timeout must be a number, not a string",
            id="timeout",
        ),
        pytest.param(
            '[[hooks.Stop.handlers]]\ncommand = "x"\ntimeout = nan',
            "3:1 timeout must be more than 0 (30 s is used)",
            id="not a number",
        ),
        pytest.param(
            '[[hooks.Stop.handlers]]\ncommand = "x"\nenabled = "no"',
            "3:1 enabled must be true or false, not a string (it is on)",
            id="enabled",
        ),
        pytest.param(
            '[[hooks.Stop.handlers]]\ncommand = "x"\nmatchers = "a"',
            "3:1 unknown key 'matchers' (did you mean 'matcher'?)",
            id="a slip",
        ),
        pytest.param(
            '[[hooks.PostToolUse.handlers]]\nmatcher = ["a"]\ncommand = "x"',
            "2:1 matcher must be a string, not a list (until then it matches everything)",
            id="matcher",
        ),
    ],
)
def test_a_mistake_is_reported_with_its_place_and_the_rest_stays(
    wrong: str, problem: str, place: Home, agents: Agents, problems: Callable[..., list[str]]
) -> None:
    good = '[[hooks.PreToolUse.handlers]]\ncommand = "exit 2"\n'

    assert problems("amcp", "~/.config/amcp/hooks.toml", f"{wrong}\n{good}") == [problem]

    answer = agents.engine("amcp", event("PreToolUse", place)).answer
    assert answer["hookSpecificOutput"]["permissionDecision"] == "deny"


def test_the_matcher_of_the_manual_works_in_toml_and_in_json(
    place: Home, agents: Agents, problems: Callable[..., list[str]]
) -> None:
    text = '[[hooks.PreToolUse.handlers]]\nmatcher = "mcp\\..*"  # "all\\.\ncommand = "echo \\"t\\""\n'
    (problem,) = problems("amcp", "~/.config/amcp/hooks.toml", text)
    assert problem.startswith("2:")
    assert problem.endswith("(write it in single quotes; until then each backslash is taken as it stands)")
    place.write(USER, '{"hooks": {"PreToolUse": {"handlers": [{"matcher": "mcp\\\\..*", "command": "echo j"}]}}}')

    seen = agents.engine("amcp", event("PreToolUse", place, tool_name="mcp.search")).answer
    other = agents.engine("amcp", event("PreToolUse", place, tool_name="mcp_search")).answer

    assert seen["feedback"] == "t\nj"
    assert "feedback" not in other


@pytest.mark.parametrize(
    ("file", "text", "problem"),
    [
        pytest.param("hooks.toml", 'a = "b\n', "1:", id="not TOML"),
        pytest.param("hooks.json", "{", "1:2 not JSON", id="not JSON"),
        pytest.param("hooks.json", "[]", "1:1 the configuration must be an object, not a list", id="a list"),
        pytest.param("hooks.json", '{"hooks": []}', "1:2 hooks must be a table of events, not a list", id="no events"),
    ],
)
def test_a_file_that_cannot_be_used_is_reported(
    file: str, text: str, problem: str, place: Home, agents: Agents, problems: Callable[..., list[str]]
) -> None:
    (found,) = problems("amcp", f"~/.config/amcp/{file}", text)
    assert found.startswith(problem)

    assert any(found.split(" ", 1)[1] in note for note in agents.engine("amcp", event("Stop", place)).notes)
