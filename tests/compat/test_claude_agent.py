"""claude-agent's API: factories, accessors, builders, the manager and its merge table."""

from __future__ import annotations

import asyncio
import json
import re
from collections.abc import Callable
from datetime import UTC
from typing import Any

import pytest
from hypothesis import given as given_any
from hypothesis import settings
from hypothesis import strategies as st

from fairlead import UsageError
from fairlead.compat.claude_agent import (
    CancellationToken,
    CommandHook,
    ExecutionContext,
    FnHook,
    Hook,
    HookContext,
    HookEvent,
    HookInput,
    HookManager,
    HookOutput,
)
from tests.conftest import Home

BASH = HookInput.pre_tool_use("session-1", "Bash", {"command": "sudo ls"})
CONTEXT = HookContext("session-1")


class SecurityHook(Hook):
    def __init__(self, *patterns: str) -> None:
        self.patterns = patterns

    def name(self) -> str:
        return "security-hook"

    def events(self) -> list[HookEvent]:
        return [HookEvent.PreToolUse]

    def priority(self) -> int:
        return 100

    async def execute(self, given: HookInput, context: HookContext) -> HookOutput:
        command = (given.tool_input() or {}).get("command", "")
        for pattern in self.patterns:
            if given.tool_name() == "Bash" and pattern in command:
                return HookOutput.block(f"Blocked: contains '{pattern}'")
        return HookOutput.allow()


class Monitor(Hook):
    def __init__(self) -> None:
        self.seen: list[str] = []

    def events(self) -> list[HookEvent]:
        return [HookEvent.SubagentStart, HookEvent.SubagentStop]

    def execute(self, given: HookInput, context: HookContext) -> None:
        self.seen.append(f"{given.event_type()} {given.subagent_id()} {given.session_id}")


async def test_a_security_hook_blocks_what_it_knows() -> None:
    manager = HookManager()
    manager.register(SecurityHook("rm -rf", "sudo"))
    output = await manager.execute(HookEvent.PreToolUse, BASH, CONTEXT)
    assert (output.continue_execution, output.stop_reason) == (False, "Blocked: contains 'sudo'")
    harmless = HookInput.pre_tool_use("session-1", "Bash", {"command": "ls"})
    assert await manager.execute(HookEvent.PreToolUse, harmless, CONTEXT) == HookOutput.allow()


async def test_a_tool_fires_subagent_events() -> None:
    monitor, manager = Monitor(), HookManager()
    manager.register_arc(monitor)
    context = ExecutionContext().hooks(manager, "session-1")
    started = HookInput.subagent_start("session-1", "a1", "explore", "look around")
    assert (await context.fire_hook(HookEvent.SubagentStart, started)).continue_execution
    await context.fire_hook(HookEvent.SubagentStop, HookInput.subagent_stop("session-1", "a1", False, "bad"))
    assert monitor.seen == ["subagent_start a1 session-1", "subagent_stop a1 session-1"]


async def test_without_a_manager_nothing_holds_a_tool_up() -> None:
    assert await ExecutionContext("security").fire_hook(HookEvent.PreToolUse, BASH) == HookOutput.allow()


FACTORIES = {
    HookEvent.PreToolUse: BASH,
    HookEvent.PostToolUse: HookInput.post_tool_use("s", "Bash", {"out": 1}),
    HookEvent.PostToolUseFailure: HookInput.post_tool_use_failure("s", "Bash", "bad"),
    HookEvent.UserPromptSubmit: HookInput.user_prompt_submit("s", "hi"),
    HookEvent.SessionStart: HookInput.session_start("s"),
    HookEvent.SessionEnd: HookInput.session_end("s"),
    HookEvent.Stop: HookInput.stop("s"),
    HookEvent.PreCompact: HookInput.pre_compact("s"),
    HookEvent.SubagentStart: HookInput.subagent_start("s", "a", "t", "d"),
    HookEvent.SubagentStop: HookInput.subagent_stop("s", "a", True),
}


@pytest.mark.parametrize("event", HookEvent, ids=str)
async def test_every_event_has_a_factory_and_reaches_its_hooks(event: HookEvent) -> None:
    given = FACTORIES[event]
    manager = HookManager()
    manager.register(FnHook("block", [event], lambda given, context: HookOutput.block(str(given.event_type()))))
    assert given.event_type() is event
    assert given.timestamp.tzinfo is UTC
    assert given.tool_name() == ("Bash" if "Tool" in event.name else None)
    assert given.subagent_id() == ("a" if "Subagent" in event.name else None)
    output = await manager.execute(event, given, CONTEXT)
    assert (output.continue_execution, output.stop_reason) == (False, event.value)


def test_four_events_can_be_blocked() -> None:
    assert [event.name for event in HookEvent if event.can_block] == [
        "PreToolUse", "UserPromptSubmit", "SubagentStart", "SessionStart",
    ]  # fmt: skip


def test_builders_return_changed_copies() -> None:
    plain = HookOutput.allow()
    built = plain.with_system_message("s").context("c").with_updated_input({"a": 1}).without_logging()
    assert plain == HookOutput()
    assert built == HookOutput(True, None, True, "s", {"a": 1}, "c")


async def test_higher_priority_runs_first_and_a_block_ends_the_row() -> None:
    seen: list[str] = []

    def hook(name: str, priority: int, blocks: bool = False) -> FnHook:
        def execute(given: HookInput, context: HookContext) -> HookOutput:
            seen.append(name)
            return HookOutput.block(name) if blocks else HookOutput.allow()

        return FnHook(name, [HookEvent.PreToolUse], execute, priority=priority)

    manager = HookManager()
    for one in (hook("a", 0), hook("b", 10), hook("c", 10), hook("d", 5, blocks=True), hook("e", 7)):
        manager.register(one)
    assert (await manager.execute(HookEvent.PreToolUse, BASH, CONTEXT)).stop_reason == "d"
    assert seen == ["b", "c", "e", "d"]
    assert manager.hook_names() == ["b", "c", "e", "d", "a"]


_texts = st.one_of(st.none(), st.sampled_from(["x", "y", "z"]))
_outputs = st.builds(
    HookOutput,
    stop_reason=_texts,
    suppress_logging=st.booleans(),
    system_message=_texts,
    updated_input=st.one_of(st.none(), st.sampled_from([{"a": 1}, {"b": 2}])),
    additional_context=_texts,
)


def saying(output: HookOutput) -> Callable[[HookInput, HookContext], HookOutput]:
    return lambda _input, _context: output


def latest(values: list[Any]) -> Any:
    return next((value for value in reversed(values) if value is not None), None)


@settings(max_examples=100, deadline=None)
@given_any(st.lists(_outputs, max_size=4), st.booleans())
def test_outputs_are_merged_as_the_table_says(outputs: list[HookOutput], blocked: bool) -> None:
    if blocked:
        outputs = [*outputs, HookOutput.block("blocked")]
    manager = HookManager()
    for number, output in enumerate(outputs):
        manager.register(FnHook(str(number), [HookEvent.PreToolUse], saying(output)))
    merged = asyncio.run(manager.execute(HookEvent.PreToolUse, BASH, CONTEXT))
    contexts = [o.additional_context for o in outputs if o.additional_context is not None]
    assert merged == HookOutput(
        continue_execution=all(o.continue_execution for o in outputs),
        stop_reason=latest([o.stop_reason for o in outputs]),
        suppress_logging=any(o.suppress_logging for o in outputs),
        system_message=latest([o.system_message for o in outputs]),
        updated_input=latest([o.updated_input for o in outputs]),
        additional_context="\n".join(contexts) if contexts else None,
    )


async def _late(given: HookInput, context: HookContext) -> HookOutput:
    await asyncio.sleep(60)
    return HookOutput.allow()


def _raise(given: HookInput, context: HookContext) -> HookOutput:
    raise ValueError("boom")


FAILING = {
    "raises": FnHook("f", list(HookEvent), _raise),
    "takes too long": FnHook("f", list(HookEvent), _late, timeout_secs=0.02),
    "answers nonsense": FnHook("f", list(HookEvent), lambda given, context: "no"),
    "is a command that fails": CommandHook("f", "exit 3", list(HookEvent)),
}


@pytest.mark.parametrize("event", HookEvent, ids=str)
@pytest.mark.parametrize("hook", FAILING.values(), ids=FAILING.keys())
async def test_a_hook_that_fails_blocks_where_the_event_can_be_blocked(hook: Any, event: HookEvent) -> None:
    manager = HookManager()
    manager.register(hook)
    output = await manager.execute(event, FACTORIES[event], CONTEXT)
    assert output.continue_execution == (not event.can_block)


@pytest.mark.parametrize("pattern", ["Bash|Write", re.compile("Bash")], ids=["text", "compiled"])
async def test_a_tool_matcher_is_for_tools_only(pattern: Any) -> None:
    manager = HookManager()
    manager.register(FnHook("m", list(HookEvent), lambda _i, _c: HookOutput.block("b"), tool_matcher=pattern))
    edit = HookInput.pre_tool_use("s", "Edit", {})
    assert not (await manager.execute(HookEvent.PreToolUse, BASH, CONTEXT)).continue_execution
    assert (await manager.execute(HookEvent.PreToolUse, edit, CONTEXT)).continue_execution
    start = HookEvent.SubagentStart
    assert not (await manager.execute(start, FACTORIES[start], CONTEXT)).continue_execution


async def test_a_command_hook_speaks_json(place: Home) -> None:
    place.script(
        "check.sh", 'cat > seen.json; echo "{\\"continue_execution\\": false, \\"stop_reason\\": \\"$LEVEL\\"}"'
    )
    manager = HookManager()
    manager.register(CommandHook("c", "./check.sh", [HookEvent.PreToolUse], "Bash", extra_env={"LEVEL": "high"}))
    context = HookContext("session-1", cwd=place.project, env={"OTHER": "x"})
    output = await manager.execute(HookEvent.PreToolUse, BASH, context)
    assert (output.continue_execution, output.stop_reason) == (False, "high")
    seen = json.loads((place.project / "seen.json").read_text())
    assert (seen["event"], seen["session_id"], seen["tool_name"]) == ("pre_tool_use", "session-1", "Bash")


async def test_a_hook_gets_the_callers_context_and_the_changed_input() -> None:
    manager = HookManager()
    seen: list[tuple[HookInput, HookContext]] = []
    update = HookOutput.allow().with_updated_input({"command": "ls"})
    manager.register(FnHook("first", [HookEvent.PreToolUse], lambda _i, _c: update, priority=1))
    manager.register(FnHook("second", [HookEvent.PreToolUse], lambda i, c: seen.append((i, c))))
    context = HookContext("session-1", cancellation_token=CancellationToken())
    output = await manager.execute(HookEvent.PreToolUse, BASH, context)
    assert output.updated_input == {"command": "ls"}
    assert seen[0][0].tool_input() == {"command": "ls"}
    assert seen[0][0].timestamp == BASH.timestamp
    assert seen[0][1] is context


async def test_a_token_can_be_cancelled_and_waited_for() -> None:
    token = CancellationToken()
    waiting = asyncio.ensure_future(token.cancelled())
    await asyncio.sleep(0)
    assert not token.is_cancelled()
    token.cancel()
    await asyncio.wait_for(waiting, 60)
    assert token.is_cancelled()


async def test_hooks_go_by_their_name() -> None:
    manager = HookManager()
    manager.register(SecurityHook("sudo"))
    assert manager.unregister("security-hook")
    assert not manager.unregister("security-hook")
    assert (await manager.execute(HookEvent.PreToolUse, BASH, CONTEXT)).continue_execution


async def test_an_input_of_another_event_is_a_mistake() -> None:
    with pytest.raises(UsageError, match="Stop"):
        await HookManager().execute(HookEvent.Stop, BASH, CONTEXT)
