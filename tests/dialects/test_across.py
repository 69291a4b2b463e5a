"""A hook of any system, called by any agent: the agent gets the verdict in its own way."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pytest

from fairlead.dialects import Reply
from tests.conftest import Home, Ran
from tests.dialects.conftest import Agents

Json = dict[str, Any]

AGENTS = ("claude-code", "code-agent", "codemie", "amcp", "claude-agent", "m")
HOOKS = ("claude-code", "code-agent", "codemie", "amcp", "claude-agent")

NEW_INPUT = {"command": "ls -l"}
SCRIPTS: dict[str, dict[str, str]] = {
    "claude-code": {
        "block": "echo no >&2; exit 2",
        "allow": "exit 0",
        "rewrite": json.dumps({"hookSpecificOutput": {"hookEventName": "PreToolUse", "updatedInput": NEW_INPUT}}),
        "context": json.dumps({"hookSpecificOutput": {"hookEventName": "PreToolUse", "additionalContext": "look"}}),
    },
    "code-agent": {"block": "echo no >&2; exit 1", "allow": "exit 0"},
    "codemie": {
        "block": json.dumps({"decision": "deny", "reason": "no"}),
        "allow": json.dumps({"decision": "allow"}),
        "rewrite": json.dumps({"updatedInput": NEW_INPUT}),
        "context": json.dumps({"additionalContext": "look"}),
    },
    "amcp": {
        "block": "echo no >&2; exit 2",
        "allow": "exit 0",
        "rewrite": json.dumps({"hookSpecificOutput": {"hookEventName": "PreToolUse", "updatedInput": NEW_INPUT}}),
        "context": "echo look",
    },
    "claude-agent": {
        "block": json.dumps({"continue_execution": False, "stop_reason": "no"}),
        "allow": "exit 0",
        "rewrite": json.dumps({"updated_input": NEW_INPUT}),
        "context": json.dumps({"additional_context": "look"}),
    },
}


def install(dialect: str, place: Home, behaviour: str) -> None:
    """The hook in a file that no other system runs by itself."""
    body = SCRIPTS[dialect][behaviour]
    command = str(place.script("~/hook.sh", f"echo '{body}'" if body.startswith("{") else body))
    group = [{"hooks": [{"type": "command", "command": command}]}]
    if dialect == "claude-code":
        managed = place.root / "etc/claude-code/managed-settings.json"
        managed.parent.mkdir(parents=True)
        managed.write_text(json.dumps({"hooks": {"PreToolUse": group}}))
    elif dialect == "code-agent":
        place.write("~/.claude/settings.json", {"hooks": {"PreToolUse": group}})
        place.write("~/.config/fairlead/fairlead.toml", '[files]\n"~/.claude/settings.json" = "code-agent"\n')
    elif dialect == "codemie":
        profiles = {"default": {"hooks": {"PreToolUse": group}}}
        place.write("~/.codemie/codemie-cli.config.json", {"activeProfile": "default", "profiles": profiles})
    elif dialect == "amcp":
        place.write("~/.config/amcp/hooks.json", {"hooks": {"PreToolUse": {"handlers": [{"command": command}]}}})
    else:
        place.write("~/.claude/settings.json", {"hooks": {"preToolUse": {"hook": command}}})


TOOL = {"tool_name": "Bash", "tool_input": {"command": "ls"}}
EVENTS: dict[str, Json] = {
    "claude-code": {"hook_event_name": "PreToolUse", "session_id": "s", **TOOL},
    "code-agent": {"type": "PreToolUse", "sessionId": "s", "payload": {"toolName": "Bash", "input": {"command": "ls"}}},
    "codemie": {"hook_event_name": "PreToolUse", "session_id": "s", **TOOL},
    "amcp": {"hook_event_name": "PreToolUse", "session_id": "s", **TOOL},
    "claude-agent": {"event": "pre_tool_use", "session_id": "s", **TOOL},
    "m": {"tool": "Bash", "input": {"command": "ls"}},
}


def cannot_rewrite(agent: str) -> str:
    wanted = '{"command":"ls -l"}'
    return f"a hook wants another input, and {agent} cannot change it; call the tool again with: {wanted}"


def specific(**fields: Any) -> Json:
    return {"hookSpecificOutput": {"hookEventName": "PreToolUse", **fields}}


REPLIES: dict[str, dict[str, tuple[int, Json | str | None]]] = {
    "claude-code": {
        "block": (0, specific(permissionDecision="deny", permissionDecisionReason="no")),
        "allow": (0, None),
        "rewrite": (0, specific(updatedInput=NEW_INPUT)),
        "context": (0, specific(additionalContext="look")),
    },
    "code-agent": {
        "block": (1, "no\n"),
        "allow": (0, None),
        "rewrite": (1, cannot_rewrite("code-agent") + "\n"),
        "context": (0, None),
    },
    "codemie": {
        "block": (0, {"decision": "deny", "reason": "no"}),
        "allow": (0, {"decision": "allow"}),
        "rewrite": (0, {"decision": "allow", "updatedInput": NEW_INPUT}),
        "context": (0, {"decision": "allow", "additionalContext": "look"}),
    },
    "amcp": {
        "block": (0, {"continue": True, **specific(permissionDecision="deny", permissionDecisionReason="no")}),
        "allow": (0, {"continue": True}),
        "rewrite": (0, {"continue": True, **specific(updatedInput=NEW_INPUT)}),
        "context": (0, {"continue": True, "feedback": "look"}),
    },
    "claude-agent": {
        "block": (0, {"continue_execution": False, "stop_reason": "no"}),
        "allow": (0, None),
        "rewrite": (0, {"continue_execution": True, "updated_input": NEW_INPUT}),
        "context": (0, {"continue_execution": True, "additional_context": "look"}),
    },
    "m": {
        "block": (0, {"decision": "block", "message": "no"}),
        "allow": (0, {"decision": "allow"}),
        "rewrite": (0, {"decision": "block", "message": cannot_rewrite("m")}),
        "context": (0, {"decision": "allow"}),
    },
}

SHARED_SETTINGS = {("code-agent", "claude-code"), ("code-agent", "claude-agent")}
"""Hooks in settings that the agent runs by itself: it would run them twice."""


def simplified(agent: str, reply: Reply) -> tuple[int, Json | str | None]:
    """Exit code, and what stands on stdout; an explicit "allow" is as good as silence."""
    if not reply.stdout:
        return reply.exit_code, None
    if agent == "code-agent":
        return reply.exit_code, reply.stdout.decode()
    answer = json.loads(reply.stdout)
    inner = answer.get("hookSpecificOutput", {})
    if inner.get("permissionDecision") == "allow":
        del inner["permissionDecision"]
        inner.pop("permissionDecisionReason", None)
        if set(inner) == {"hookEventName"}:
            del answer["hookSpecificOutput"]
    if agent == "codemie" and answer["decision"] in ("block", "approve"):
        answer["decision"] = {"block": "deny", "approve": "allow"}[answer["decision"]]
    return reply.exit_code, answer or None


def test_the_table_is_complete() -> None:
    assert set(REPLIES) == set(EVENTS) == set(AGENTS)
    assert set(SCRIPTS) == set(HOOKS)


@pytest.mark.parametrize("agent", AGENTS)
@pytest.mark.parametrize(
    ("dialect", "behaviour"), [(dialect, behaviour) for dialect in HOOKS for behaviour in SCRIPTS[dialect]]
)
def test_a_hook_of_one_system_answers_the_agent_of_another(
    dialect: str, behaviour: str, agent: str, place: Home, agents: Agents
) -> None:
    install(dialect, place, behaviour)

    answer = agents.hook(agent, EVENTS[agent], trust_project=False)

    runs = agent != dialect and (dialect, agent) not in SHARED_SETTINGS
    code, reply = REPLIES[agent][behaviour if runs else "allow"]
    assert simplified(agent, answer.reply) == (code, reply)


@pytest.mark.parametrize("agent", AGENTS)
@pytest.mark.parametrize("dialect", HOOKS)
def test_an_agent_runs_its_own_hooks_and_no_others(dialect: str, agent: str, place: Home, agents: Agents) -> None:
    install(dialect, place, "block")
    if agent == dialect == "code-agent":
        (place.home / ".config/fairlead/fairlead.toml").unlink()

    answer = agents.engine(agent, EVENTS[agent]).answer

    means: dict[str, Callable[[Json], bool]] = {
        "claude-code": lambda a: "hookSpecificOutput" in a,
        "code-agent": lambda a: not a["allowed"],
        "codemie": lambda a: a["decision"] != "allow",
        "amcp": lambda a: "hookSpecificOutput" in a,
        "claude-agent": lambda a: not a["continue_execution"],
        "m": lambda a: a["decision"] == "block",
    }
    blocked = means[agent](answer)
    groups_are_read_too = {("code-agent", "claude-agent")}
    assert blocked is (agent == dialect or (dialect, agent) in groups_are_read_too)


@pytest.mark.parametrize("agent", [agent for agent in AGENTS if agent != "codemie"])
def test_the_program_replies(agent: str, place: Home, fairlead: Callable[..., Ran]) -> None:
    install("codemie", place, "block")

    ran = fairlead("hook", "--agent", agent, stdin=EVENTS[agent])

    assert simplified(agent, Reply(stdout=ran.out, exit_code=ran.code)) == REPLIES[agent]["block"]


@pytest.mark.parametrize("agent", AGENTS)
@pytest.mark.parametrize("dialect", HOOKS)
def test_no_word_of_one_system_leaks_into_another(dialect: str, agent: str, place: Home, agents: Agents) -> None:
    """Every key of a reply is one that the agent's own document knows."""
    install(dialect, place, "block")
    known = {
        "claude-code": {"hookSpecificOutput", "hookEventName", "permissionDecision", "permissionDecisionReason"},
        "codemie": {"decision", "reason"},
        "amcp": {"continue", "hookSpecificOutput", "hookEventName", "permissionDecision", "permissionDecisionReason"},
        "claude-agent": {"continue_execution", "stop_reason"},
        "m": {"decision", "message"},
        "code-agent": set[str](),
    }[agent]

    reply = agents.hook(agent, EVENTS[agent], trust_project=False).reply

    answer = json.loads(reply.stdout) if reply.stdout.startswith(b"{") else {}
    keys = {*answer, *answer.get("hookSpecificOutput", {})}
    assert keys <= known


def test_a_blocked_start_of_a_session_does_not_leak_its_feedback_as_a_key(place: Home, agents: Agents) -> None:
    group = [{"hooks": [{"type": "command", "command": "echo fix it >&2; exit 2"}]}]
    profiles = {"default": {"hooks": {"SessionStart": group}, "maxHookRetries": 0}}
    place.write("~/.codemie/codemie-cli.config.json", {"activeProfile": "default", "profiles": profiles})

    answer = agents.hook("claude-code", {"hook_event_name": "SessionStart", "session_id": "s", "source": "startup"})

    assert json.loads(answer.reply.stdout)["hookSpecificOutput"] == {
        "hookEventName": "SessionStart",
        "additionalContext": "fix it",
    }


@pytest.mark.parametrize("agent", AGENTS)
def test_an_untrusted_project_is_named_and_nothing_of_it_runs(agent: str, place: Home, agents: Agents) -> None:
    place.write("fairlead.toml", '[[hook]]\non = "PreToolUse"\nrun = "exit 1"\nname = "theirs"\n')

    answer = agents.hook(agent, EVENTS[agent], trust_project=False)

    assert any("not trusted: theirs (" in note for note in answer.notes)
    shown = b"not trusted: theirs (" in answer.reply.stdout
    assert shown is (agent in ("claude-code", "amcp")), "where the agent shows its user a message"
    assert answer.reply.exit_code == 0


@pytest.mark.parametrize("agent", ["claude-code", "code-agent", "m", "amcp", "codemie"])
def test_named_maps_run_under_agents_that_cannot_read_them(agent: str, place: Home, agents: Agents) -> None:
    place.write("~/.claude/settings.json", {"hooks": {"PreToolUse": {"check": "echo no >&2; exit 1"}}})

    reply = agents.hook(agent, EVENTS[agent]).reply

    assert b"no" in reply.stdout
    assert reply.exit_code == (1 if agent == "code-agent" else 0)


@pytest.mark.parametrize("agent", ["claude-code", "code-agent", "claude-agent"])
def test_groups_in_shared_settings_are_left_to_the_agent(agent: str, place: Home, agents: Agents) -> None:
    group = [{"hooks": [{"type": "command", "command": "exit 2"}]}]
    place.write("~/.claude/settings.json", {"hooks": {"PreToolUse": group}})

    reply = agents.hook(agent, EVENTS[agent]).reply

    assert (reply.stdout, reply.exit_code) == (b"", 0)


@pytest.mark.parametrize(("agent", "ran"), [("code-agent", True), ("claude-agent", True), ("claude-code", False)])
def test_a_variable_of_claude_code_does_not_hide_the_settings_of_others(
    agent: str, ran: bool, place: Home, agents: Agents
) -> None:
    group = [{"hooks": [{"type": "command", "command": 'touch "$HOME/ran"'}]}]
    place.write("~/.claude/settings.json", {"hooks": {"PreToolUse": group}})

    agents.engine(agent, EVENTS[agent], env={"CLAUDE_CONFIG_DIR": str(place.root / "elsewhere")})

    assert (place.home / "ran").exists() is ran


MUCH = "head -c 3000000 /dev/zero | tr '\\0' x"


@pytest.mark.parametrize("dialect", HOOKS)
def test_output_without_end_does_not_cost_the_verdict(dialect: str, place: Home, agents: Agents) -> None:
    """Three million bytes on both streams, and then an exit code that refuses."""
    install(dialect, place, "block")
    code = 2 if dialect in ("claude-code", "codemie", "amcp") else 1
    place.script("~/hook.sh", f"cat > /dev/null; {MUCH}; {MUCH} >&2; exit {code}")

    assert b'"block"' in agents.hook("m", EVENTS["m"]).reply.stdout


@pytest.mark.parametrize("dialect", ["code-agent", "codemie", "amcp", "claude-agent"])
def test_an_answer_that_is_too_long_may_have_been_a_refusal(dialect: str, place: Home, agents: Agents) -> None:
    install(dialect, place, "block")
    place.script(
        "~/hook.sh", f"""cat > /dev/null; printf '{{"additionalContext":"'; {MUCH}; echo '","decision":"block"}}'"""
    )

    reply = agents.hook("m", EVENTS["m"]).reply

    assert b"too long to be read" in reply.stdout
    assert b'"block"' in reply.stdout
