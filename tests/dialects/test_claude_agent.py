"""claude-agent's hooks: named commands, one after the other, the first block ends the row."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fairlead import Event, Hooks, PreToolUse, Verdict, block
from fairlead.dialects import claude_agent
from fairlead.verdicts import NONE
from tests.conftest import Home, Ran
from tests.dialects.conftest import BIG, Agents, Recorder

Json = dict[str, Any]
USER, PROJECT, LOCAL = "~/.claude/settings.json", ".claude/settings.json", ".claude/settings.local.json"

EVENTS: dict[str, tuple[str, bool, Json]] = {
    "PreToolUse": ("pre_tool_use", True, {"tool_name": "Bash", "tool_input": {"command": "ls"}}),
    "PostToolUse": ("post_tool_use", False, {"tool_name": "Bash", "tool_result": {"output": "x"}}),
    "PostToolUseFailure": ("post_tool_use_failure", False, {"tool_name": "Bash", "error": "exit 1"}),
    "UserPromptSubmit": ("user_prompt_submit", True, {"prompt": "hello"}),
    "Stop": ("stop", False, {}),
    "SubagentStart": (
        "subagent_start",
        True,
        {"subagent_id": "a1", "subagent_type": "explore", "description": "look around"},
    ),
    "SubagentStop": ("subagent_stop", False, {"subagent_id": "a1", "success": False, "error": "lost"}),
    "PreCompact": ("pre_compact", False, {}),
    "SessionStart": ("session_start", True, {}),
    "SessionEnd": ("session_end", False, {}),
}
FORMS = [name for event in EVENTS for name in (event, event[0].lower() + event[1:])]


def event(name: str, **more: Any) -> Json:
    own, _, fields = EVENTS[name]
    return {"event": own, "session_id": "abc-123", **fields, **more}


def output(**fields: Any) -> Json:
    """A HookOutput, all of its fields."""
    return {
        "continue_execution": True,
        "stop_reason": None,
        "suppress_logging": False,
        "system_message": None,
        "updated_input": None,
        "additional_context": None,
        **fields,
    }


def says(answer: object) -> str:
    return f"echo '{json.dumps(answer)}'"


def named(name: str, **hooks: str | Json) -> Json:
    return {"hooks": {name: hooks}}


# --- what a hook gets --------------------------------------------------------------------------------


def test_it_has_the_events_of_its_document_in_both_forms() -> None:
    assert set(claude_agent.EVENTS) == set(FORMS)
    assert {name for name, (_, can_block, _) in EVENTS.items() if can_block} == claude_agent.BLOCKABLE


@pytest.mark.parametrize("form", FORMS)
def test_a_hook_gets_its_event_on_stdin(form: str, place: Home, agents: Agents, recorder: Recorder) -> None:
    name = claude_agent.EVENTS[form]
    place.write(USER, named(form, hook=recorder.script("hook")))

    assert agents.engine("claude-agent", event(name)).answer == output()

    assert recorder.stdin("hook") == event(name)
    assert recorder.env("hook")["EVENT"] == EVENTS[name][0]


@pytest.mark.parametrize(
    ("sent", "fields"),
    [
        pytest.param(
            {"hook_event_name": "SubagentStop", "agent_id": "a", "agent_type": "explore"},
            {
                "event": "subagent_stop",
                "session_id": "",
                "subagent_id": "a",
                "subagent_type": "explore",
                "success": True,
                "error": None,
            },
            id="the end of a subagent",
        ),
        pytest.param(
            {"hook_event_name": "SubagentStart"},
            {
                "event": "subagent_start",
                "session_id": "",
                "subagent_id": "",
                "subagent_type": "",
                "description": "",
            },
            id="its start",
        ),
        pytest.param(
            {"hook_event_name": "PostToolUse", "tool_name": "T", "tool_input": {"a": 1}, "tool_response": 5},
            {"event": "post_tool_use", "session_id": "", "tool_name": "T", "tool_input": {"a": 1}, "tool_result": 5},
            id="a result",
        ),
    ],
)
def test_a_hook_gets_every_field_of_its_event_under_any_agent(
    sent: Json, fields: Json, place: Home, agents: Agents, recorder: Recorder
) -> None:
    place.write(USER, named(sent["hook_event_name"], hook=recorder.script("hook")))

    hooks = Hooks.load(place.project, environ=place.environ, dialects=["claude-agent"], agent="claude-agent")
    hooks.fire_sync(Event.from_payload(sent))

    assert recorder.stdin("hook") == fields


@pytest.mark.parametrize("text", ["x" * 4 * BIG, "a\0b", "\ud800"], ids=["big", "nul", "half"])
@pytest.mark.parametrize("name", ["PreToolUse", "UserPromptSubmit"])
@pytest.mark.parametrize("reads", [True, False], ids=["read", "unread"])
def test_any_text_arrives_and_a_hook_need_not_read_it(
    reads: bool, name: str, text: str, place: Home, agents: Agents, recorder: Recorder
) -> None:
    place.write(USER, named(name, hook=recorder.script("hook", "exit 0" if reads else ": ; exit 0")))
    more = {"prompt": text} if name == "UserPromptSubmit" else {"tool_input": {"command": text}}

    assert agents.engine("claude-agent", event(name, **more)).answer == output()

    assert not reads or {key: recorder.stdin("hook")[key] for key in more} == more


# --- how it answers ----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("then", "answer"),
    [
        pytest.param("true", {}, id="silence"),
        pytest.param("echo", {}, id="an empty line"),
        pytest.param(says({}), {}, id="an empty object"),
        pytest.param("echo just text", {"additional_context": "just text"}, id="text is kept"),
        pytest.param("echo '{\"continue_execution\"'", {"additional_context": '{"continue_execution"'}, id="half"),
        pytest.param(
            says({"continue_execution": False, "stop_reason": "Dangerous", "updated_input": None}),
            {"continue_execution": False, "stop_reason": "Dangerous"},
            id="block",
        ),
        pytest.param(
            says({"continue_execution": False}),
            {"continue_execution": False, "stop_reason": "blocked by a hook"},
            id="block without a reason",
        ),
        pytest.param(
            says({"continue_execution": True, "stop_reason": "kept"}), {"stop_reason": "kept"}, id="a reason alone"
        ),
        pytest.param(says({"updated_input": {"a": 1}}), {"updated_input": {"a": 1}}, id="another input"),
        pytest.param(says({"updated_input": {}}), {"updated_input": {}}, id="an empty input"),
        pytest.param(
            says({"suppress_logging": True, "system_message": "m", "additional_context": "c"}),
            {"suppress_logging": True, "system_message": "m", "additional_context": "c"},
            id="the rest",
        ),
    ],
)
def test_a_hook_answers(then: str, answer: Json, place: Home, agents: Agents) -> None:
    place.write(USER, named("preToolUse", hook=then))

    assert agents.engine("claude-agent", event("PreToolUse")).answer == output(**answer)


@pytest.mark.parametrize("name", EVENTS)
@pytest.mark.parametrize(
    ("hook", "reason"),
    [
        pytest.param(says({"continue_execution": False, "stop_reason": "no"}), "no", id="it says so"),
        pytest.param("echo no >&2; exit 1", "exit code 1: no", id="exit 1"),
        pytest.param("exit 2", "exit code 2", id="exit 2"),
        pytest.param("./missing.sh", "exit code 127", id="not found"),
        pytest.param("kill -9 $$", "killed by signal 9", id="a crash"),
        pytest.param({"command": "sleep 60", "timeout_secs": 0.2}, "timed out after 0.2 s", id="a timeout"),
        pytest.param(says({"continue_execution": 0}), "continue_execution must be true or false", id="nonsense"),
    ],
)
def test_a_refusal_and_a_failure_block_where_the_event_can_be_blocked(
    hook: str | Json, reason: str, name: str, place: Home, agents: Agents, recorder: Recorder
) -> None:
    place.write(USER, named(name, first=hook, second=recorder.script("second")))

    result = agents.engine("claude-agent", event(name))

    can_block = EVENTS[name][1]
    assert result.answer["continue_execution"] is not can_block
    assert recorder.order == ([] if can_block else ["second"])
    if can_block:
        assert reason in result.answer["stop_reason"]
    else:
        assert any(reason in note for note in result.notes)


@pytest.mark.parametrize(
    ("entry", "seconds"),
    [
        pytest.param("x", 60, id="default"),
        pytest.param({"command": "x", "timeout_secs": 30}, 30, id="timeout_secs"),
        pytest.param({"command": "x", "timeout": 10}, 10, id="timeout"),
        pytest.param({"command": "x", "timeout_secs": 600}, 600, id="no cap"),
    ],
)
def test_timeouts_are_seconds(entry: str | Json, seconds: float, place: Home, agents: Agents) -> None:
    place.write(USER, named("Stop", hook=entry))

    assert [hook.timeout for hook in agents.load("claude-agent")] == [seconds]


@pytest.mark.parametrize(
    ("matcher", "tool", "runs"),
    [
        ("Bash|Write", "Write", True),
        ("Bash", "BashOutput", False),
        ("mcp__.*", "mcp__a", True),
        ("*", "anything", True),
        ("", "anything", True),
        (None, "anything", True),
        ("(", "anything", True),
    ],
)
def test_matchers(matcher: str | None, tool: str, runs: bool, place: Home, agents: Agents) -> None:
    entry: Json = {"command": "exit 1"} if matcher is None else {"command": "exit 1", "matcher": matcher}
    place.write(USER, named("preToolUse", hook=entry))

    answer = agents.engine("claude-agent", event("PreToolUse", tool_name=tool)).answer

    assert answer["continue_execution"] is not runs


# --- merging -----------------------------------------------------------------------------------------


def test_outputs_merge_by_the_table_of_the_document(place: Home, agents: Agents, recorder: Recorder) -> None:
    first = {
        "stop_reason": "r1",
        "suppress_logging": True,
        "system_message": "m1",
        "updated_input": {"a": 1},
        "additional_context": "c1",
    }
    second = {"system_message": "m2", "updated_input": {"b": 2}, "additional_context": "c2"}
    third = {"continue_execution": False, "stop_reason": "r3", "additional_context": "c3"}
    hooks = {"a": says(first), "b": says(second), "c": says(third), "d": recorder.script("d")}
    place.write(USER, named("preToolUse", **hooks))

    answer = agents.engine("claude-agent", event("PreToolUse")).answer

    assert answer == {
        "continue_execution": False,
        "stop_reason": "r3",
        "suppress_logging": True,
        "system_message": "m2",
        "updated_input": {"b": 2},
        "additional_context": "c1\nc2\nc3",
    }
    assert recorder.order == [], "the first block ends the row"


@pytest.mark.parametrize("name", ["UserPromptSubmit", "PostToolUse", "SessionEnd"])
def test_they_merge_the_same_on_every_event(name: str, place: Home, agents: Agents) -> None:
    hooks = {
        "a": says({"additional_context": "c1", "system_message": "m1", "suppress_logging": True}),
        "b": says({"additional_context": "c2"}),
        "c": says({"system_message": "m3"}),
    }
    place.write(USER, named(name, **hooks))

    answer = agents.engine("claude-agent", event(name)).answer

    assert answer == output(suppress_logging=True, system_message="m3", additional_context="c1\nc2")


def test_an_update_replaces_the_input_and_the_next_hook_sees_it(
    place: Home, agents: Agents, recorder: Recorder
) -> None:
    hooks = {"a": says({"updated_input": {"command": "pwd"}}), "b": recorder.script("b")}
    place.write(USER, named("preToolUse", **hooks))

    answer = agents.engine("claude-agent", event("PreToolUse", tool_input={"command": "ls", "x": 1})).answer

    assert recorder.stdin("b")["tool_input"] == {"command": "pwd"}
    assert answer["updated_input"] == {"command": "pwd"}


TEXT = st.sampled_from(["", "a", "b"])
OUTPUTS = st.lists(
    st.fixed_dictionaries(
        {},
        optional={
            "continue_execution": st.booleans(),
            "stop_reason": TEXT,
            "suppress_logging": st.booleans(),
            "system_message": TEXT,
            "updated_input": st.sampled_from([None, {}, {"a": 1}, {"b": 2}]),
            "additional_context": TEXT,
        },
    ),
    max_size=5,
)


@given(OUTPUTS)
def test_merging_is_and_latest_or_and_concatenation(outputs: list[Json]) -> None:
    hook: Any = None
    call = PreToolUse(tool_name="Bash")
    said = [claude_agent.read_value(hook, call, each) for each in outputs]

    merged = claude_agent.merge(call, [verdict for verdict in said if verdict is not NONE])

    def given_in(key: str) -> list[Any]:
        return [each[key] for each in outputs if each.get(key) not in (None, "")]

    assert merged.denies is any(each.get("continue_execution") is False for each in outputs)
    assert merged.suppress_output is any(each.get("suppress_logging") for each in outputs)
    assert merged.system_message == (given_in("system_message") or [""])[-1]
    assert merged.updated_input == (given_in("updated_input") or [None])[-1]
    assert merged.context == "\n".join(given_in("additional_context"))
    reasons = [
        each.get("stop_reason") or ("blocked by a hook" if each.get("continue_execution") is False else "")
        for each in outputs
    ]
    assert merged.stop_reason == ([reason for reason in reasons if reason] or [""])[-1]


# --- order and priority ------------------------------------------------------------------------------


def test_the_order_is_that_of_definition(place: Home, agents: Agents) -> None:
    place.write(USER, named("preToolUse", z="echo z", a="echo a", m="echo m"))

    assert agents.engine("claude-agent", event("PreToolUse")).answer["additional_context"] == "z\na\nm"


def test_hooks_in_code_run_by_priority_and_equal_ones_in_their_order() -> None:
    hooks, order = Hooks(), []
    for name, priority in (("low", -1), ("first", 0), ("second", 0), ("high", 100)):

        def note(event: PreToolUse, name: str = name) -> None:
            order.append(name)

        hooks.on("PreToolUse", priority=priority, name=name)(note)

    hooks.fire_sync(PreToolUse(tool_name="Bash"))

    assert order == ["high", "first", "second", "low"]


class SecurityHook:
    """As in the document's example."""

    def __init__(self, *patterns: str) -> None:
        self.patterns = patterns

    def name(self) -> str:
        return "security-hook"

    def events(self) -> list[str]:
        return ["PreToolUse"]

    def priority(self) -> int:
        return 100

    async def execute(self, event: PreToolUse, context: Any) -> Verdict:
        for pattern in self.patterns:
            if event.tool_name == "Bash" and pattern in event.command:
                return block(f"Blocked: contains '{pattern}'")
        return NONE


@pytest.mark.parametrize(
    ("command", "reason"),
    [("rm -rf /", "Blocked: contains 'rm -rf'"), ("sudo x", "Blocked: contains 'sudo'"), ("ls", "")],
)
async def test_the_security_hook_of_the_document(command: str, reason: str) -> None:
    hooks = Hooks()
    hooks.register(SecurityHook("rm -rf", "sudo"))

    decision = await hooks.fire(Event.pre_tool_use("session-1", "Bash", {"command": command}))

    assert (decision.denies, decision.reason) == (bool(reason), reason)


# --- files -------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "value",
    [
        pytest.param({"check": "echo ran"}, id="a name with a command"),
        pytest.param(
            {"check": {"command": "echo ran", "timeout_secs": 30, "matcher": "Bash"}}, id="a name with fields"
        ),
        pytest.param(["echo ran"], id="a list of commands"),
        pytest.param([{"command": "echo ran", "matcher": "Bash"}], id="a list of objects"),
        pytest.param([{"matcher": "Bash", "hooks": [{"type": "command", "command": "echo ran"}]}], id="groups"),
        pytest.param("echo ran", id="a command alone"),
    ],
)
@pytest.mark.parametrize("form", ["preToolUse", "PreToolUse"])
def test_every_shape_is_read(form: str, value: Any, place: Home, agents: Agents) -> None:
    place.write(USER, {"hooks": {form: value}})

    result = agents.engine("claude-agent", event("PreToolUse"))

    assert result.answer == output(additional_context="ran")
    assert result.notes == ()


def test_levels_add_and_the_nearer_name_replaces_the_other(place: Home, agents: Agents) -> None:
    place.write(USER, named("preToolUse", check="echo user", mine="echo mine"))
    place.write(PROJECT, named("PreToolUse", check="echo project", ours="echo ours"))
    place.write(LOCAL, named("preToolUse", ours="echo local"))

    trusted = agents.engine("claude-agent", event("PreToolUse"))
    untrusted = agents.engine("claude-agent", event("PreToolUse"), trust_project=False)

    assert trusted.answer["additional_context"].split() == ["mine", "project", "local"]
    assert untrusted.answer["additional_context"].split() == ["user", "mine"]
    assert any("not trusted: check (" in note for note in untrusted.notes)


def test_the_same_name_on_another_event_is_another_hook(place: Home, agents: Agents) -> None:
    place.write(USER, named("preToolUse", check="echo user"))
    place.write(PROJECT, named("postToolUse", check="echo project"))

    assert agents.engine("claude-agent", event("PreToolUse")).answer["additional_context"] == "user"


def test_elements_of_lists_have_no_names_to_replace(place: Home, agents: Agents) -> None:
    place.write(USER, {"hooks": {"sessionStart": ["echo user"]}})
    place.write(PROJECT, {"hooks": {"sessionStart": ["echo project"]}})

    assert agents.engine("claude-agent", event("SessionStart")).answer["additional_context"] == "user\nproject"


GROUPED = {"hooks": {"PreToolUse": [{"matcher": "Bash", "hooks": [{"type": "command", "command": "echo grouped"}]}]}}
FLAT = {"PreToolUse": ["echo flat", {"command": "echo $(basename ${CLAUDE_PLUGIN_ROOT})", "matcher": "Bash"}]}


@pytest.mark.parametrize(
    ("content", "said"), [pytest.param(GROUPED, "grouped", id="grouped"), pytest.param(FLAT, "flat\nfmt", id="flat")]
)
@pytest.mark.parametrize("base", ["~/.claude", ".claude"])
def test_plugins(base: str, content: Json, said: str, place: Home, agents: Agents) -> None:
    place.write(f"{base}/plugins/fmt/hooks/hooks.json", content)

    answer = agents.engine("claude-agent", event("PreToolUse")).answer

    assert answer["additional_context"] == said
    assert [hook.name.split(":")[0] for hook in agents.load("claude-agent")] == ["fmt"] * len(said.split())


FRONT_MATTER = """---
name: {name}
hooks:
  PreToolUse:
    - matcher: "Write|Edit"
      hooks:
        - type: command
          command: scripts/format.sh
          timeout: 10
---
Text.
"""


@pytest.mark.parametrize(
    ("path", "more", "words", "runs"),
    [
        pytest.param("skills/tidy/SKILL.md", {}, (), False, id="a skill that is not on"),
        pytest.param("skills/tidy/SKILL.md", {"skill": "tidy"}, (), True, id="the event names it"),
        pytest.param("skills/tidy/SKILL.md", {"skill": "other"}, (), False, id="the event names another"),
        pytest.param("skills/tidy/SKILL.md", {}, ("tidy",), True, id="switched on"),
        pytest.param("agents/tidy.md", {}, (), False, id="a subagent that does not run"),
        pytest.param("agents/tidy.md", {"subagent_type": "tidy"}, (), True, id="the event is the subagent's"),
        pytest.param("agents/tidy.md", {}, ("tidy",), True, id="the subagent is switched on"),
    ],
)
@pytest.mark.parametrize("base", ["~/.claude", ".claude"])
def test_front_matter(
    base: str, path: str, more: Json, words: tuple[str, ...], runs: bool, place: Home, agents: Agents
) -> None:
    place.script("scripts/format.sh", "echo formatted")
    place.write(f"{base}/{path}", FRONT_MATTER.format(name="tidy"))

    answer = agents.engine("claude-agent", event("PreToolUse", tool_name="Write", **more), active=words).answer

    assert answer["additional_context"] == ("formatted" if runs else None)


def test_the_program_fires_with_a_skill(place: Home, fairlead: Callable[..., Ran]) -> None:
    place.script("scripts/format.sh", "exit 1")
    place.write("~/.claude/skills/tidy/SKILL.md", FRONT_MATTER.format(name="tidy"))
    sent = event("PreToolUse", tool_name="Write")

    assert fairlead("fire", "--agent", "claude-agent", stdin=sent).json["continue_execution"] is True
    ran = fairlead("fire", "--agent", "claude-agent", "--with", "tidy", stdin=sent)
    assert (ran.code, ran.json["continue_execution"]) == (0, False)


@pytest.mark.parametrize("form", ["pre_tool_use", "PreToolUse"])
def test_the_event_can_be_named_beside_the_payload(form: str, place: Home, agents: Agents, recorder: Recorder) -> None:
    place.write(USER, named("preToolUse", hook=recorder.script("hook")))
    sent = {key: value for key, value in event("PreToolUse").items() if key != "event"}

    agents.engine("claude-agent", sent, event_name=form)

    assert recorder.stdin("hook") == event("PreToolUse")


# --- as one of its hooks -----------------------------------------------------------------------------


@pytest.fixture
def guarded(place: Home) -> None:
    """A hook of another system, which blocks `rm` and comments on `ls`."""
    command = "case $(cat) in *'\"rm'*) echo no rm >&2; exit 2;; *'\"ls'*) echo careful;; esac"
    hooks = {"PreToolUse": {"handlers": [{"command": command}]}}
    place.write("~/.config/amcp/hooks.json", {"hooks": hooks})


@pytest.mark.parametrize(
    ("command", "answer"),
    [
        ("rm x", {"continue_execution": False, "stop_reason": "no rm"}),
        ("ls", {"continue_execution": True, "additional_context": "careful"}),
        ("pwd", None),
    ],
)
@pytest.mark.usefixtures("guarded")
def test_it_is_answered_in_json(command: str, answer: Json | None, fairlead: Callable[..., Ran]) -> None:
    ran = fairlead("hook", "--agent", "claude-agent", stdin=event("PreToolUse", tool_input={"command": command}))

    assert ran.code == 0
    assert (json.loads(ran.out) if ran.out else None) == answer


@pytest.mark.parametrize("sent", [b"", b"{", b"[]", b'{"event":"pre_tool_use"}', b'{"event":5}', b"{}"])
def test_an_event_that_cannot_be_read_is_blocked(sent: bytes, fairlead: Callable[..., Ran]) -> None:
    for command in ("hook", "fire"):
        ran = fairlead(command, "--agent", "claude-agent", stdin=sent)
        assert (ran.code, ran.json["continue_execution"]) == (0, False)
        assert ran.json["stop_reason"]


# --- mistakes ----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("wrong", "problem"),
    [
        pytest.param('"preToolUs": {},', "3:2 unknown event 'preToolUs' (did you mean 'preToolUse'?)", id="event"),
        pytest.param('"stop": 5,', "3:2 stop must be a map of names, or a list, not a number", id="no map"),
        pytest.param('"stop": {"a": 5},', "3:11 a hook must be a command or an object, not a number", id="no hook"),
        pytest.param('"stop": {"a": {}},', "3:11 command is missing", id="no command"),
        pytest.param('"stop": {"a": ""},', "3:11 command is missing", id="an empty command"),
        pytest.param(
            '"stop": {"a": {"type": "prompt", "prompt": "x"}},',
            "3:17 unknown type 'prompt' (only command hooks exist here)",
            id="type",
        ),
        pytest.param(
            '"stop": {"a": {"command": "x", "timeout_secs": "30"}},',
            "3:33 timeout_secs must be a number, not a string",
            id="timeout",
        ),
        pytest.param(
            '"stop": {"a": {"command": "x", "timeout_sec": 30}},',
            "3:33 unknown key 'timeout_sec' (did you mean 'timeout_secs'?)",
            id="a slip",
        ),
        pytest.param(
            '"stop": {"a": {"command": "x", "matcher": 5}},',
            "3:33 matcher must be a string, not a number (until then it matches everything)",
            id="matcher",
        ),
        pytest.param(
            '"stop": {"command": "x", "matcher": "y"},',
            '3:2 a hook stands where names are needed (write {"a-name": { … }}; until then it is taken as it is)',
            id="no name",
        ),
    ],
)
def test_a_mistake_is_reported_with_its_place_and_the_rest_stays(
    wrong: str, problem: str, agents: Agents, problems: Callable[..., list[str]]
) -> None:
    text = f'{{"hooks":\n{{\n {wrong}\n "preToolUse": {{"good": "exit 1"}}\n}}}}\n'

    assert problems("claude-agent", USER, text) == [problem]

    assert agents.engine("claude-agent", event("PreToolUse")).answer["continue_execution"] is False


@pytest.mark.parametrize(
    ("path", "text", "problem"),
    [
        pytest.param(USER, "{", "1:2 not JSON", id="not JSON"),
        pytest.param(USER, "5", "1:1 the file must be an object, not a number", id="a number"),
        pytest.param(USER, '{"hooks": []}', "1:2 hooks must be an object, not a list", id="no events"),
        pytest.param("~/.claude/agents/x.md", "---\na: [\n---\n", "", id="not YAML"),
        pytest.param(
            "~/.claude/agents/x.md", "---\nhooks:\n  1: []\n---\n", "2:1 unknown event 1", id="a number for an event"
        ),
        pytest.param(
            "~/.claude/agents/x.md",
            "---\nhooks:\n  PreToolUse:\n    - hooks:\n        - type: command\n---\n",
            "5:11 command is missing",
            id="no command in front matter",
        ),
    ],
)
def test_a_file_that_cannot_be_used_is_reported(
    path: str, text: str, problem: str, problems: Callable[..., list[str]]
) -> None:
    assert problems("claude-agent", path, text)[0].startswith(problem)


@pytest.mark.parametrize(("switch", "runs"), [(False, False), (True, True), (None, True)])
def test_a_plugin_that_is_switched_off_does_not_run(place: Home, switch: bool | None, runs: bool) -> None:
    place.write(".claude/plugins/q/hooks/hooks.json", {"PreToolUse": ["echo no; exit 1"]})
    place.write("~/.claude/settings.json", {} if switch is None else {"enabledPlugins": {"q@market": switch}})
    hooks = Hooks.load(
        place.project,
        home=place.home,
        environ=place.environ,
        managed=str(place.root),
        agent="claude-agent",
        dialects=["claude-agent"],
        trust_project=True,
    )
    assert hooks.fire_sync(PreToolUse(tool_name="Bash", tool_input={})).denies is runs
