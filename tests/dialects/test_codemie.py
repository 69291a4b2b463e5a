"""CodeMie's hooks: side by side, failing open; block > deny > approve > allow."""

from __future__ import annotations

import itertools
import json
import os
from collections.abc import Callable
from typing import Any

import pytest

from tests.conftest import Home, Ran
from tests.dialects.conftest import BIG, Agents, Recorder

Json = dict[str, Any]
CONFIG = "~/.codemie/codemie-cli.config.json"

EVENTS: dict[str, Json] = {
    "PreToolUse": {"tool_name": "Bash", "tool_input": {"command": "ls -la"}, "tool_use_id": "unique-id"},
    "PostToolUse": {
        "tool_name": "Write",
        "tool_input": {"file_path": "test.txt"},
        "tool_output": "written",
        "tool_metadata": {"bytesWritten": 100},
    },
    "UserPromptSubmit": {"prompt": "User's prompt"},
    "SessionStart": {"agent_name": "codemie-code", "profile_name": "default"},
    "SessionEnd": {},
    "Stop": {},
    "SubagentStop": {},
}
BLOCKABLE = ("PreToolUse", "UserPromptSubmit", "SessionStart", "Stop", "SubagentStop")


def event(name: str, place: Home, **more: Any) -> Json:
    return {"hook_event_name": name, "session_id": "session-id", "cwd": str(place.project), **EVENTS[name], **more}


def configuration(name: str, *handlers: str | Json, matcher: str | None = None, **profile: Any) -> Json:
    listed = [{"type": "command", "command": each} if isinstance(each, str) else each for each in handlers]
    group: Json = {"hooks": listed} if matcher is None else {"matcher": matcher, "hooks": listed}
    return {"version": 2, "activeProfile": "default", "profiles": {"default": {"hooks": {name: [group]}, **profile}}}


def says(answer: Json) -> str:
    return f"echo '{json.dumps(answer)}'"


# --- what a hook gets --------------------------------------------------------------------------------


@pytest.mark.parametrize("name", EVENTS)
def test_a_hook_gets_the_input_in_its_variable_and_on_stdin(
    name: str, place: Home, agents: Agents, recorder: Recorder
) -> None:
    place.write(CONFIG, configuration(name, recorder.script("hook")))

    agents.engine("codemie", event(name, place, permission_mode="manual"))

    assert recorder.stdin("hook") == event(name, place, permission_mode="manual")
    assert json.loads(recorder.env("hook")["CODEMIE_HOOK_INPUT"]) == recorder.stdin("hook")


@pytest.mark.parametrize(
    ("name", "sent", "variables"),
    [
        pytest.param(
            "PreToolUse",
            {"transcript_path": "/t.jsonl", "permission_mode": "manual", "agent_name": "mine", "profile_name": "work"},
            {
                "CODEMIE_TOOL_NAME": "Bash",
                "CODEMIE_TRANSCRIPT_PATH": "/t.jsonl",
                "CODEMIE_PERMISSION_MODE": "manual",
                "CODEMIE_AGENT_NAME": "mine",
                "CODEMIE_PROFILE_NAME": "work",
            },
            id="as the event says",
        ),
        pytest.param("PreToolUse", {}, {"CODEMIE_TOOL_NAME": "Bash"}, id="defaults"),
        pytest.param("Stop", {}, {}, id="no tool"),
        pytest.param("SessionStart", {"agent_name": None, "profile_name": None}, {}, id="defaults of a session"),
    ],
)
def test_a_hook_gets_all_nine_variables(
    name: str, sent: Json, variables: Json, place: Home, agents: Agents, recorder: Recorder
) -> None:
    place.write(CONFIG, configuration(name, recorder.script("hook")))

    agents.engine("codemie", event(name, place, **sent), env={"CODEMIE_TOOL_NAME": "of somebody else"})

    seen = {key: value for key, value in recorder.env("hook").items() if key.startswith("CODEMIE_")}
    seen.pop("CODEMIE_HOOK_INPUT")
    assert seen == {
        "CODEMIE_PROJECT_DIR": str(place.project),
        "CODEMIE_SESSION_ID": "session-id",
        "CODEMIE_HOOK_EVENT": name,
        "CODEMIE_TOOL_NAME": "",
        "CODEMIE_AGENT_NAME": "codemie-code",
        "CODEMIE_PROFILE_NAME": "default",
        "CODEMIE_TRANSCRIPT_PATH": "",
        "CODEMIE_PERMISSION_MODE": "auto",
        **variables,
    }


def test_the_input_has_what_its_document_always_shows(place: Home, agents: Agents, recorder: Recorder) -> None:
    place.write(CONFIG, configuration("SessionStart", recorder.script("hook")))

    agents.engine("codemie", {"hook_event_name": "SessionStart", "session_id": "s"})

    assert recorder.stdin("hook") == {
        "hook_event_name": "SessionStart",
        "session_id": "s",
        "cwd": str(place.project),
        "agent_name": "codemie-code",
        "profile_name": "default",
        "permission_mode": "auto",
    }


# --- how it answers ----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("then", "answer"),
    [
        pytest.param("exit 0", {"decision": "allow"}, id="silence"),
        pytest.param(says({"decision": "allow"}), {"decision": "allow"}, id="allow"),
        pytest.param(says({"decision": "approve"}), {"decision": "approve"}, id="approve says so"),
        pytest.param(says({"decision": "deny", "reason": "r"}), {"decision": "deny", "reason": "r"}, id="deny"),
        pytest.param(says({"decision": "block", "reason": "r"}), {"decision": "block", "reason": "r"}, id="block"),
        pytest.param(says({"decision": "BLOCK", "reason": "r"}), {"decision": "block", "reason": "r"}, id="loud"),
        pytest.param("echo no >&2; exit 2", {"decision": "block", "reason": "no"}, id="exit 2"),
        pytest.param(
            """echo no >&2; echo '{"decision":"allow"}'; exit 2""",
            {"decision": "block", "reason": "no"},
            id="exit 2 counts more than JSON",
        ),
        pytest.param("echo no; exit 2", {"decision": "block", "reason": "no"}, id="exit 2 with stdout"),
        pytest.param(
            "exit 2",
            {"decision": "block", "reason": "Hook returned blocking error (exit code 2)"},
            id="exit 2 in silence",
        ),
        pytest.param("echo hello", {"decision": "allow", "additionalContext": "hello"}, id="text is context"),
        pytest.param("""echo '{"decision"'""", {"decision": "allow", "additionalContext": '{"decision"'}, id="half"),
        pytest.param(
            says({"updatedInput": {"a": 1}}), {"decision": "allow", "updatedInput": {"a": 1}}, id="another input"
        ),
        pytest.param(
            """printf '{"decision":"block","reason":"two\nlines"}'""",
            {"decision": "block", "reason": "two\nlines"},
            id="a raw newline does not cost the verdict",
        ),
        pytest.param(
            says({"decision": "allow", "reason": 5, "additionalContext": [], "updatedInput": "x"}),
            {"decision": "allow"},
            id="wrong types are left out",
        ),
        pytest.param(
            says({"additionalContext": "c", "suppressOutput": True}),
            {"decision": "allow", "additionalContext": "c", "suppressOutput": True},
            id="context alone",
        ),
    ],
)
def test_a_hook_answers(then: str, answer: Json, place: Home, agents: Agents, recorder: Recorder) -> None:
    place.write(CONFIG, configuration("PreToolUse", recorder.script("hook", then)))

    result = agents.engine("codemie", event("PreToolUse", place))

    assert result.answer == answer
    assert result.notes == ()


@pytest.mark.parametrize(
    ("then", "error"),
    [
        pytest.param("exit 1", "exit 1", id="another exit code"),
        pytest.param("echo why >&2; exit 127", "exit 127: why", id="not found"),
        pytest.param("kill -9 $$", "killed by signal 9", id="a crash"),
        pytest.param(says({"decision": "perhaps"}), "unknown decision 'perhaps'", id="an unknown word"),
        pytest.param(says({"decision": ["block"]}), "unknown decision ['block']", id="no word at all"),
    ],
)
def test_a_hook_that_fails_is_reported_and_allows(
    then: str, error: str, place: Home, agents: Agents, recorder: Recorder
) -> None:
    place.write(CONFIG, configuration("PreToolUse", recorder.script("hook", then)))

    result = agents.engine("codemie", event("PreToolUse", place))

    assert result.answer == {"decision": "allow"}
    assert [note.startswith(f"hook hook failed: {error}") for note in result.notes] == [True]


@pytest.mark.parametrize("name", EVENTS)
@pytest.mark.parametrize("word", ["deny", "block"])
def test_deny_outside_pre_tool_use_means_block(word: str, name: str, place: Home, agents: Agents) -> None:
    place.write(CONFIG, configuration(name, says({"decision": word, "reason": "r"})))

    result = agents.engine("codemie", event(name, place))

    expected = word if name == "PreToolUse" else "block"
    assert result.answer["decision"] == (expected if name in BLOCKABLE else "allow")
    assert name in BLOCKABLE or any(f"cannot block {name}" in note for note in result.notes)


@pytest.mark.parametrize("name", EVENTS)
def test_an_input_is_changed_before_a_tool_and_nowhere_else(name: str, place: Home, agents: Agents) -> None:
    place.write(CONFIG, configuration(name, says({"updatedInput": {"command": "pwd"}})))

    answer = agents.engine("codemie", event(name, place)).answer

    wanted = {"updatedInput": {"command": "pwd"}} if name == "PreToolUse" else {}
    assert answer == {"decision": "allow", **wanted}


@pytest.mark.parametrize(
    ("name", "extra"), [("PreToolUse", {}), ("UserPromptSubmit", {}), ("SessionStart", {}), ("Stop", {})]
)
def test_a_timeout_fails_open(name: str, extra: Json, place: Home, agents: Agents) -> None:
    handler = {"type": "command", "command": "sleep 60", "timeout": 100}
    place.write(CONFIG, configuration(name, handler))

    result = agents.engine("codemie", event(name, place))

    assert result.answer == {"decision": "allow"}
    assert "hook sleep failed: timed out after 0.1 s" in result.notes


def test_timeouts_are_milliseconds(place: Home, agents: Agents) -> None:
    limited = {"type": "command", "command": "x", "timeout": 120000}
    place.write(CONFIG, configuration("Stop", "x", limited))

    assert [hook.timeout for hook in agents.load("codemie")] == [60.0, 120.0]


# --- several hooks -----------------------------------------------------------------------------------

WORDS = ("block", "deny", "approve", "allow")


@pytest.mark.parametrize("words", list(itertools.permutations(WORDS)), ids="-".join)
def test_block_beats_deny_beats_approve_beats_allow(words: tuple[str, ...], place: Home, agents: Agents) -> None:
    for count in range(1, len(words) + 1):
        said = words[:count]
        commands = [says({"decision": word, "reason": f"{word}!"}) for word in said]
        place.write(CONFIG, configuration("PreToolUse", *commands))

        answer = agents.engine("codemie", event("PreToolUse", place)).answer

        strongest = min(said, key=WORDS.index)
        blocking = [word for word in said if word in ("block", "deny")]
        assert answer["decision"] == strongest
        assert answer["reason"] == "\n".join(f"{word}!" for word in blocking or [strongest])


def test_hooks_run_side_by_side(place: Home, agents: Agents) -> None:
    """Each of three hooks waits for another one: one after the other, they would wait for ever."""
    pipes = {name: place.root / name for name in ("ab", "bc", "ca")}
    for pipe in pipes.values():
        os.mkfifo(pipe)
    first = f"echo x > {pipes['ab']}; read -r _ < {pipes['ca']}; {says({'additionalContext': 'first'})}"
    second = f"read -r _ < {pipes['ab']}; echo x > {pipes['bc']}; {says({'additionalContext': 'second'})}"
    third = f"read -r _ < {pipes['bc']}; echo x > {pipes['ca']}; {says({'additionalContext': 'third'})}"
    handlers = [{"type": "command", "command": each, "timeout": 60000} for each in (first, second, third)]
    place.write(CONFIG, configuration("PreToolUse", *handlers))

    result = agents.engine("codemie", event("PreToolUse", place))

    assert result.answer == {"decision": "allow", "additionalContext": "first\nsecond\nthird"}


def test_contexts_and_updates_follow_the_configuration_not_the_clock(place: Home, agents: Agents) -> None:
    pipe = place.root / "pipe"
    os.mkfifo(pipe)
    slow = says({"additionalContext": "slow", "updatedInput": {"a": 1, "b": 1}})
    fast = says({"additionalContext": "fast", "updatedInput": {"b": 2, "c": 2}})
    place.write(CONFIG, configuration("PreToolUse", f"read -r _ < {pipe}; {slow}", f"{fast}; echo x > {pipe}"))

    answer = agents.engine("codemie", event("PreToolUse", place)).answer

    assert answer["additionalContext"] == "slow\nfast"
    assert answer["updatedInput"] == {"a": 1, "b": 2, "c": 2}


def test_all_hooks_run_also_after_a_block(place: Home, agents: Agents, recorder: Recorder) -> None:
    commands = [recorder.script(name, "exit 2") for name in ("one", "two")]
    place.write(CONFIG, configuration("PreToolUse", *commands, "echo third >&2; exit 2"))

    answer = agents.engine("codemie", event("PreToolUse", place)).answer

    assert sorted(recorder.order) == ["one", "two"]
    assert answer["reason"].splitlines()[-1] == "third"


def test_identical_hooks_run_once_for_each_event_and_again_on_the_next(
    place: Home, agents: Agents, recorder: Recorder
) -> None:
    hook = recorder.script("hook", "exit 2")
    config = configuration("PreToolUse", hook, hook, {"type": "command", "command": hook, "timeout": 60000})
    hooks = config["profiles"]["default"]["hooks"]
    hooks["PreToolUse"].append({"matcher": "Bash", "hooks": [{"type": "command", "command": hook}]})
    hooks["Stop"] = [{"hooks": [{"type": "command", "command": hook}]}]
    place.write(CONFIG, config)

    words = [agents.engine("codemie", event("PreToolUse", place)).answer["decision"] for _ in range(3)]
    words.append(agents.engine("codemie", event("Stop", place)).answer["decision"])

    assert words == ["block"] * 4
    assert recorder.order == ["hook"] * 4


def test_one_engine_asks_a_hook_for_every_event(place: Home, agents: Agents, recorder: Recorder) -> None:
    from fairlead import PreToolUse

    place.write(CONFIG, configuration("PreToolUse", recorder.script("hook", "exit 2")))
    hooks = agents.load("codemie")

    call = PreToolUse(tool_name="Bash", tool_input={"command": "rm -rf /"})
    assert [hooks.fire_sync(call).denies for _ in range(3)] == [True] * 3


@pytest.mark.parametrize(
    ("matcher", "tool", "runs"),
    [
        ("*", "anything", True),
        ("", "anything", True),
        (None, "anything", True),
        ("Bash", "Bash", True),
        ("Bash", "BashOutput", False),
        ("Bash|Write", "Write", True),
        ("[BR]ash", "Rash", True),
        ("[BR]ash", "Cash", False),
        ("(Read|Write|Edit)", "Edit", True),
        ("(Read|Write|Edit)", "NotebookEdit", False),
        (".*", "anything", True),
        ("[", "anything", True),
    ],
)
def test_matchers(matcher: str | None, tool: str, runs: bool, place: Home, agents: Agents) -> None:
    place.write(CONFIG, configuration("PreToolUse", "exit 2", matcher=matcher))

    answer = agents.engine("codemie", event("PreToolUse", place, tool_name=tool)).answer

    assert answer["decision"] == ("block" if runs else "allow")


# --- the start of a session --------------------------------------------------------------------------


def counting(recorder: Recorder, good_after: int = 99) -> str:
    """Blocks with its number as feedback, until it has been asked often enough."""
    count = 'echo >> "$HOME/count"; n=$(wc -l < "$HOME/count"); echo "$CODEMIE_HOOK_INPUT" > "$HOME/input.$n"'
    return recorder.script("hook", f'{count}\n[ $n -gt {good_after} ] || {{ echo "try $n" >&2; exit 2; }}')


@pytest.mark.parametrize(
    ("top", "profile", "attempts"),
    [
        pytest.param({}, {}, 6, id="5 by default"),
        pytest.param({}, {"maxHookRetries": 2}, 3, id="of the profile"),
        pytest.param({"maxHookRetries": 1}, {}, 2, id="at the top"),
        pytest.param({"maxHookRetries": 1}, {"maxHookRetries": 3}, 4, id="the profile counts more"),
        pytest.param({}, {"maxHookRetries": 0}, 1, id="0 means no retry"),
        pytest.param({"maxHookRetries": 0}, {}, 1, id="0 at the top"),
        pytest.param({}, {"maxHookRetries": "many"}, 6, id="not a number"),
        pytest.param({}, {"maxHookRetries": True}, 6, id="not a number either"),
        pytest.param({}, {"maxHookRetries": -1}, 6, id="less than nothing"),
    ],
)
def test_a_blocked_session_start_is_tried_again_with_its_feedback(
    top: Json, profile: Json, attempts: int, place: Home, agents: Agents, recorder: Recorder
) -> None:
    place.write(CONFIG, {**configuration("SessionStart", counting(recorder), **profile), **top})

    answer = agents.engine("codemie", event("SessionStart", place)).answer

    assert recorder.order == ["hook"] * attempts
    assert answer == {"decision": "block", "reason": f"try {attempts}", "additionalContext": f"try {attempts}"}
    given = [json.loads((place.home / f"input.{n}").read_text()) for n in range(1, attempts + 1)]
    assert [each.get("previous_feedback") for each in given] == [None, *(f"try {n}" for n in range(1, attempts))]


def test_a_session_starts_when_the_hook_is_content(place: Home, agents: Agents, recorder: Recorder) -> None:
    context = says({"decision": "allow", "additionalContext": "Linux"})
    place.write(CONFIG, configuration("SessionStart", counting(recorder, good_after=2), context))

    answer = agents.engine("codemie", event("SessionStart", place)).answer

    assert recorder.order == ["hook"] * 3
    assert answer == {"decision": "allow", "additionalContext": "Linux\ntry 2"}


def test_the_feedback_of_all_hooks_is_given_back(place: Home, agents: Agents, recorder: Recorder) -> None:
    one, two = recorder.script("one", "echo 1 >&2; exit 2"), recorder.script("two", "echo 2; echo 3 >&2; exit 2")
    place.write(CONFIG, configuration("SessionStart", one, two, maxHookRetries=1))

    answer = agents.engine("codemie", event("SessionStart", place)).answer

    assert recorder.stdin("one")["previous_feedback"] == "1\n3\n2"
    assert answer["additionalContext"] == "1\n3\n2"


@pytest.mark.parametrize(
    "then",
    [
        pytest.param("exit 2", id="no feedback"),
        pytest.param(says({"decision": "block", "reason": "r"}), id="a block that is not exit 2"),
    ],
)
def test_a_session_start_is_not_tried_again_for_nothing(
    then: str, place: Home, agents: Agents, recorder: Recorder
) -> None:
    place.write(CONFIG, configuration("SessionStart", recorder.script("hook", then)))

    assert agents.engine("codemie", event("SessionStart", place)).answer["decision"] == "block"
    assert recorder.order == ["hook"]


@pytest.mark.parametrize("name", ["PreToolUse", "UserPromptSubmit", "Stop"])
def test_other_events_are_not_tried_again(name: str, place: Home, agents: Agents, recorder: Recorder) -> None:
    place.write(CONFIG, configuration(name, recorder.script("hook", "echo f >&2; exit 2")))

    assert agents.engine("codemie", event(name, place)).answer == {"decision": "block", "reason": "f"}
    assert recorder.order == ["hook"]


# --- more than a variable can hold -------------------------------------------------------------------

CHECK_VARIABLE = f""": ; [[ "$CODEMIE_HOOK_INPUT" == *"rm -rf"* ]] && exit 2; {says({"decision": "allow"})}"""


@pytest.mark.parametrize("name", ["PreToolUse", "UserPromptSubmit"])
@pytest.mark.parametrize(
    ("then", "extra", "decision"),
    [
        pytest.param(CHECK_VARIABLE, {}, "block", id="reads only the variable"),
        pytest.param("exit 0", {}, "allow", id="reads stdin"),
        pytest.param(': ; grep -q x "$FAIRLEAD_INPUT_FILE"', {}, "allow", id="reads the file"),
        pytest.param(CHECK_VARIABLE, {"reads": "stdin"}, "allow", id="says that it reads stdin"),
    ],
)
def test_a_hook_that_cannot_have_seen_the_input_does_not_let_it_through(
    name: str, then: str, extra: Json, decision: str, place: Home, agents: Agents, recorder: Recorder
) -> None:
    handler = {"type": "command", "command": recorder.script("hook", then), **extra}
    place.write(CONFIG, configuration(name, handler))
    text = "x" * BIG + "; rm -rf /"
    more = {"prompt": text} if name == "UserPromptSubmit" else {"tool_input": {"command": text}}

    answer = agents.engine("codemie", event(name, place, **more)).answer

    assert answer["decision"] in (decision, "deny" if decision == "block" else decision)
    if decision == "block":
        assert "larger than the 131,072 bytes that fit into CODEMIE_HOOK_INPUT" in answer["reason"]


@pytest.mark.parametrize("text", ["a\0b", "\ud800", "\N{PILE OF POO}"])
@pytest.mark.parametrize("name", ["PreToolUse", "UserPromptSubmit"])
def test_odd_text_arrives_as_it_was(name: str, text: str, place: Home, agents: Agents, recorder: Recorder) -> None:
    place.write(CONFIG, configuration(name, recorder.script("hook")))
    more = {"prompt": text} if name == "UserPromptSubmit" else {"tool_input": {"command": text}}

    assert agents.engine("codemie", event(name, place, **more)).answer == {"decision": "allow"}

    for given in (recorder.stdin("hook"), json.loads(recorder.env("hook")["CODEMIE_HOOK_INPUT"])):
        assert {key: given[key] for key in more} == more


# --- profiles and the log ----------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("active", "decision"), [("strict", "block"), ("loose", "allow"), (None, "allow")], ids=["strict", "loose", "none"]
)
def test_only_the_active_profile_counts(active: str | None, decision: str, place: Home, agents: Agents) -> None:
    profiles = {
        "default": {"hooks": {}},
        "loose": {"model": "gpt-4"},
        "strict": configuration("PreToolUse", "exit 2")["profiles"]["default"],
    }
    named = {} if active is None else {"activeProfile": active}
    place.write(CONFIG, {"version": 2, **named, "profiles": profiles})

    result = agents.engine("codemie", event("PreToolUse", place))

    assert result.answer["decision"] == decision
    assert result.notes == ()


def test_debug_writes_a_log_of_the_day(place: Home, agents: Agents) -> None:
    place.write(CONFIG, configuration("PreToolUse", "exit 2", "exit 1", says({"decision": "approve"}), debug=True))

    agents.engine("codemie", event("PreToolUse", place))

    (log,) = (place.home / ".codemie/logs").iterdir()
    lines = [json.loads(line) for line in log.read_text().splitlines()]
    assert log.match("debug-????-??-??.log")
    assert [line["decision"] for line in lines] == ["block", "none", "approve"]
    assert [line["error"] for line in lines] == ["", "exit 1", ""]
    assert {line["event"] for line in lines} == {"PreToolUse"}
    assert log.stat().st_mode & 0o077 == 0


def test_without_debug_there_is_no_log(place: Home, agents: Agents) -> None:
    place.write(CONFIG, configuration("PreToolUse", "exit 2"))

    agents.engine("codemie", event("PreToolUse", place))

    assert not (place.home / ".codemie/logs").exists()


def test_a_log_that_cannot_be_written_changes_no_verdict(place: Home, agents: Agents) -> None:
    place.write("~/.codemie/logs", "a file, not a folder")
    place.write(CONFIG, configuration("PreToolUse", "exit 2", debug=True))

    result = agents.engine("codemie", event("PreToolUse", place))

    assert result.answer["decision"] == "block"
    assert "cannot write the debug log" in "\n".join(result.notes)


def test_the_program_fires(place: Home, fairlead: Callable[..., Ran]) -> None:
    place.write(CONFIG, configuration("Stop", says({"decision": "block", "reason": "Tests are failing."})))

    ran = fairlead("fire", "--agent", "codemie", stdin=event("Stop", place))

    assert (ran.code, ran.json) == (0, {"decision": "block", "reason": "Tests are failing."})


# --- as one of its hooks -----------------------------------------------------------------------------


@pytest.fixture
def guarded(place: Home) -> None:
    """A hook of another system, which denies `rm`."""
    command = "grep -q rm && { echo no rm >&2; exit 2; }; exit 0"
    place.write("~/.config/amcp/hooks.toml", f'[[hooks.PreToolUse.handlers]]\ncommand = "{command}"\n')


@pytest.mark.parametrize("by", ["variable", "stdin"])
@pytest.mark.parametrize(
    ("command", "answer"),
    [("rm x", {"decision": "deny", "reason": "no rm"}), ("ls", {"decision": "allow"})],
    ids=["denied", "allowed"],
)
@pytest.mark.usefixtures("guarded")
def test_it_is_answered_in_json(by: str, command: str, answer: Json, place: Home, fairlead: Callable[..., Ran]) -> None:
    sent = json.dumps(event("PreToolUse", place, tool_input={"command": command}))
    env = {"CODEMIE_HOOK_INPUT": sent, "CODEMIE_HOOK_EVENT": "PreToolUse"} if by == "variable" else {}

    ran = fairlead("hook", "--agent", "codemie", stdin=sent if by == "stdin" else b"", env=env)

    assert (ran.code, ran.json) == (0, answer)


@pytest.mark.parametrize("sent", [b"", b"{", b"[]", b'{"hook_event_name":"PreToolUse","tool_name":5}'])
def test_an_event_that_cannot_be_read_is_blocked(sent: bytes, fairlead: Callable[..., Ran]) -> None:
    ran = fairlead("hook", "--agent", "codemie", stdin=sent)
    assert (ran.code, ran.out) == (2, b"")
    assert ran.err.startswith("Fairlead: ")

    assert fairlead("fire", "--agent", "codemie", stdin=sent).json["decision"] == "block"


# --- mistakes ----------------------------------------------------------------------------------------

GOOD = '"PreToolUse": [{"hooks": [{"type": "command", "command": "exit 2"}]}]'


@pytest.mark.parametrize(
    ("wrong", "problem"),
    [
        pytest.param('"PreTool": [],', "4:2 unknown event 'PreTool' (did you mean 'PreToolUse'?)", id="event"),
        pytest.param('"Stop": 5,', "4:2 Stop must be a list, not a number", id="no list"),
        pytest.param('"Stop": [5],', "4:11 each of Stop must be an object, not a number", id="no group"),
        pytest.param(
            '"Stop": [{"hooks": {"type": "command"}}],', "4:12 hooks must be a list, not an object", id="no hooks"
        ),
        pytest.param(
            '"Stop": [{"hooks": [{"type": "http"}]}],',
            "4:23 unknown type 'http' (one of: command, prompt)",
            id="type",
        ),
        pytest.param('"Stop": [{"hooks": [{"type": "prompt"}]}],', "4:22 prompt is missing", id="no prompt"),
        pytest.param(
            '"Stop": [{"hooks": [{"type": "command", "command": "x", "timeout": -1}]}],',
            "4:58 timeout must be more than 0 (60 s is used)",
            id="timeout",
        ),
    ],
)
def test_a_mistake_is_reported_with_its_place_and_the_rest_stays(
    wrong: str, problem: str, place: Home, agents: Agents, problems: Callable[..., list[str]]
) -> None:
    text = f'{{"activeProfile": "p",\n "profiles": {{"p": {{\n "hooks": {{\n {wrong}\n {GOOD}\n}}}}}}}}\n'

    assert problems("codemie", CONFIG, text) == [problem]

    assert agents.engine("codemie", event("PreToolUse", place)).answer["decision"] == "block"


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        pytest.param('{"profiles": {}', "1:16 not JSON", id="not JSON"),
        pytest.param("5", "1:1 the configuration must be an object, not a number", id="a number"),
        pytest.param('{"profiles": []}', "1:2 profiles must be an object, not a list", id="profiles"),
        pytest.param(
            '{\n"activeProfile": "prod",\n"profiles": {"prd": {}}}',
            "2:1 there is no profile 'prod' (did you mean 'prd'?)",
            id="no such profile",
        ),
        pytest.param('{"activeProfile": []}', "1:2 activeProfile must be a string, not a list", id="active"),
        pytest.param(
            '{"activeProfile": "a", "profiles": {"a": 5}}',
            "1:37 a profile must be an object, not a number",
            id="profile",
        ),
        pytest.param(
            '{"profiles": {"default": {"hooks": [],\n "maxHookRetries": -1}}}',
            "2:2 maxHookRetries must be 0 or more (5 is used)",
            id="retries",
        ),
    ],
)
def test_a_file_that_cannot_be_used_is_reported(text: str, problem: str, problems: Callable[..., list[str]]) -> None:
    assert problems("codemie", CONFIG, text)[0].startswith(problem)
