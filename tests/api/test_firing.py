"""Firing events: with and without a loop, many at once, from inside a tool, cancelled, and out of time."""

from __future__ import annotations

import asyncio
import contextvars
import json
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from fairlead import (
    Decision,
    Event,
    Hook,
    HookContext,
    Hooks,
    Origin,
    PostToolUse,
    PreToolUse,
    Stop,
    SubagentStart,
    SubagentStop,
    Verdict,
    allow,
    block,
    context,
    deny,
    keep_going,
)
from fairlead.handlers.function import Function
from tests.conftest import Home

LONG = 60.0
"""Seconds that no test may take; the upper bound of a wait."""


def bash(command: str = "ls", **more: Any) -> PreToolUse:
    return PreToolUse(tool_name="Bash", tool_input={"command": command}, **more)


def load(place: Home, **more: Any) -> Hooks:
    return Hooks.load(place.project, environ=place.environ, managed=str(place.root / "etc"), trust_project=True, **more)


async def fire(hooks: Hooks, event: Event) -> Decision:
    return await hooks.fire(event)


async def fire_sync_in_loop(hooks: Hooks, event: Event) -> Decision:
    return hooks.fire_sync(event)


async def fire_sync_in_thread(hooks: Hooks, event: Event) -> Decision:
    return await asyncio.to_thread(hooks.fire_sync, event)


@pytest.mark.parametrize("way", [fire, fire_sync_in_loop, fire_sync_in_thread], ids=lambda way: way.__name__)
async def test_every_way_to_fire_gives_the_same_decision(way: Any, place: Home) -> None:
    place.write("fairlead.toml", '[[hook]]\non = "PreToolUse"\nrun = "echo from the file; exit 1"\npriority = -1\n')
    hooks = load(place)

    @hooks.on("PreToolUse")
    async def later(event: Event) -> Verdict:
        await asyncio.sleep(0)
        return allow(context="later")

    hooks.on("PreToolUse")(lambda event: context("now"))
    decision = await way(hooks, bash())
    assert (decision.decision, decision.reason, decision.context) == ("deny", "from the file", "later\nnow")


def test_fire_sync_needs_no_loop(place: Home) -> None:
    place.write("fairlead.toml", '[[hook]]\non = "PreToolUse"\nrun = "echo no; exit 1"\n')
    assert load(place).fire_sync(bash()).reason == "no"


async def test_a_hook_may_fire_another_event() -> None:
    hooks = Hooks()

    @hooks.on("PreToolUse")
    async def outer(event: PreToolUse) -> Verdict | None:
        inner = await hooks.fire(SubagentStart(agent_id="a", agent_type="Explore"))
        return deny(inner.reason) if inner.denies else None

    @hooks.on("PreToolUse")
    def outer_sync(event: PreToolUse) -> None:
        assert hooks.fire_sync(Stop()).allowed

    hooks.on("SubagentStart")(lambda event: deny("no subagents"))
    assert (await hooks.fire(bash())).reason == "no subagents"


async def test_two_hundred_events_at_once_do_not_mix() -> None:
    hooks = Hooks()
    gate = asyncio.Event()
    started = 0

    @hooks.on("PreToolUse")
    async def echo(event: PreToolUse) -> Verdict:
        nonlocal started
        started += 1
        if started == 200:
            gate.set()
        await gate.wait()
        return context(event.command)

    fired = [hooks.fire(bash(str(number))) for number in range(200)]
    decisions = await asyncio.wait_for(asyncio.gather(*fired), LONG)
    assert [decision.context for decision in decisions] == [str(number) for number in range(200)]


async def test_many_events_with_commands_at_once_do_not_mix(place: Home) -> None:
    place.write("fairlead.toml", '[[hook]]\non = "UserPromptSubmit"\nrun = "cat"\n')
    hooks = load(place)
    fired = [hooks.fire(Event.user_prompt_submit(f"s{number}", f"p{number}")) for number in range(20)]
    decisions = await asyncio.wait_for(asyncio.gather(*fired), LONG)
    assert [d.notes for d in decisions] == [()] * 20
    assert all(d.allowed for d in decisions)


async def test_hooks_that_cannot_rewrite_run_side_by_side() -> None:
    hooks = Hooks()
    meeting = asyncio.Barrier(3)
    for name in ("a", "b", "c"):

        @hooks.on("PostToolUse", name=name)
        async def wait(event: Event, name: str = name) -> str:
            await meeting.wait()
            return name

    decision = await asyncio.wait_for(hooks.fire(PostToolUse(tool_name="Bash")), LONG)
    assert decision.context == "a\nb\nc"


def test_context_variables_reach_a_hook_with_a_timeout() -> None:
    variable: contextvars.ContextVar[str] = contextvars.ContextVar("variable", default="unset")
    hooks = Hooks()
    hooks.on("Stop", timeout=LONG)(lambda event: context(variable.get()))

    async def main() -> Decision:
        variable.set("set")
        return await hooks.fire(Stop())

    assert asyncio.run(main()).context == "set"


# --- time -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("on_error", ["", "allow", "deny"])
@pytest.mark.parametrize("is_async", [True, False], ids=["async", "sync"])
async def test_a_hook_that_takes_too_long_is_left_behind(is_async: bool, on_error: str) -> None:
    hooks = Hooks()
    release = threading.Event()

    async def slow_async(event: Event) -> Verdict:
        await asyncio.sleep(LONG)
        return allow()

    def slow(event: Event) -> Verdict:
        release.wait(LONG)
        return allow()

    hooks.on("PreToolUse", timeout=0.02, on_error=on_error)(slow_async if is_async else slow)
    decision = await asyncio.wait_for(hooks.fire(bash()), LONG / 2)
    release.set()
    assert decision.decision == ("none" if on_error == "allow" else "deny")
    assert "timed out after 0.02 s" in decision.notes[0]


@pytest.mark.parametrize("is_async", [True, False], ids=["async", "sync"])
async def test_the_callers_deadline_holds_for_hooks_without_a_limit(is_async: bool) -> None:
    hooks = Hooks()
    release = threading.Event()

    async def slow_async(event: Event) -> None:
        await asyncio.sleep(LONG)

    hooks.on("PreToolUse")(slow_async if is_async else lambda event: release.wait(LONG) and None)
    decision = await asyncio.wait_for(hooks.fire(bash(), deadline=time.monotonic() + 0.02), LONG / 2)
    release.set()
    assert decision.denies
    assert "timed out" in decision.reason


async def test_the_signal_tells_a_blocking_hook_that_its_time_is_up() -> None:
    hooks = Hooks()
    seen = threading.Event()

    @hooks.on("PreToolUse", timeout=0.02)
    def poll(event: Event, context: HookContext) -> None:
        while not context.cancelled:
            time.sleep(0.001)
        seen.set()

    await hooks.fire(bash())
    assert await asyncio.to_thread(seen.wait, LONG)


@pytest.mark.parametrize("end", ["timeout", "cancel"])
async def test_the_signal_wakes_what_an_async_hook_has_started(end: str) -> None:
    hooks = Hooks()
    waiting, woken = asyncio.Event(), asyncio.Event()
    kept: list[Any] = []

    async def watch(context: HookContext) -> None:
        waiting.set()
        await context.cancellation.wait()
        await context.cancellation.wait()  # also when it is set already
        woken.set()

    @hooks.on("PreToolUse", timeout=0.05 if end == "timeout" else LONG)
    async def slow(event: Event, context: HookContext) -> None:
        kept.append(asyncio.ensure_future(watch(context)))
        await asyncio.sleep(LONG)

    fired = asyncio.ensure_future(hooks.fire(bash()))
    await waiting.wait()
    if end == "cancel":
        fired.cancel()
    await asyncio.wait([fired])
    await asyncio.wait_for(woken.wait(), LONG)
    assert fired.cancelled() == (end == "cancel")


async def test_cancelling_an_event_tells_a_blocking_hook() -> None:
    hooks = Hooks()
    started, seen = asyncio.Event(), threading.Event()
    loop = asyncio.get_running_loop()

    @hooks.on("PreToolUse", timeout=LONG)
    def poll(event: Event, context: HookContext) -> None:
        loop.call_soon_threadsafe(started.set)
        while not context.cancelled:
            time.sleep(0.001)
        seen.set()

    fired = asyncio.ensure_future(hooks.fire(bash()))
    await started.wait()
    fired.cancel()
    with pytest.raises(asyncio.CancelledError):
        await fired
    assert await asyncio.to_thread(seen.wait, LONG)


async def test_the_signal_stays_off_for_a_hook_that_answers_in_time() -> None:
    hooks = Hooks()
    contexts: list[HookContext] = []

    @hooks.on("PreToolUse", timeout=LONG)
    async def quick(event: Event, context: HookContext) -> None:
        contexts.append(context)

    await hooks.fire(bash())
    assert not contexts[0].cancelled


def _is_gone(pid: int) -> bool:
    try:
        return b") Z" in Path(f"/proc/{pid}/stat").read_bytes()
    except OSError:
        return True


async def test_cancelling_an_event_ends_its_commands(place: Home) -> None:
    pids = place.project / "pids"
    body = f'echo $$ >> "{pids}"; (echo $BASHPID >> "{pids}"; exec sleep 600) & echo x >> "{pids}.ready"; sleep 600'
    place.script("slow.sh", body)
    place.write("fairlead.toml", '[[hook]]\non = "PreToolUse"\nrun = "./slow.sh"\n')
    fired = asyncio.ensure_future(load(place).fire(bash(cwd=str(place.project))))
    await asyncio.to_thread(until, lambda: Path(f"{pids}.ready").exists() and len(pids.read_text().split()) == 2)
    fired.cancel()
    with pytest.raises(asyncio.CancelledError):
        await fired
    await asyncio.to_thread(until, lambda: all(_is_gone(int(pid)) for pid in pids.read_text().split()))


def until(happens: Callable[[], bool]) -> None:
    end = time.monotonic() + LONG
    while not happens():
        assert time.monotonic() < end
        time.sleep(0.005)


# --- sessions, subagents, mixtures ----------------------------------------------------------------------------


async def test_a_tool_fires_events_of_its_session() -> None:
    hooks = Hooks()
    seen: list[Event] = []
    hooks.on()(seen.append)
    tool = hooks.session("s1", cwd="/work")
    await tool.fire(SubagentStart(agent_id="a1", agent_type="Explore", description="look"))
    tool.fire_sync(SubagentStop(agent_id="a1", session_id="other", cwd="/elsewhere"))
    await hooks.session("s2").fire(Stop())
    assert [(e.name, e.session_id, e.cwd) for e in seen] == [
        ("SubagentStart", "s1", "/work"),
        ("SubagentStop", "other", "/elsewhere"),
        ("Stop", "s2", ""),
    ]
    assert seen[0].subagent_id == "a1"


async def test_keeping_an_agent_going_ends_after_a_while() -> None:
    hooks = Hooks()
    hooks.on("Stop")(lambda event: keep_going("more"))
    session = hooks.session("s1")
    kept = [(await session.fire(Stop())).denies for _ in range(9)]
    assert kept == [True] * 8 + [False]
    await session.fire(Stop())
    await session.fire(bash())
    assert (await session.fire(Stop())).denies


async def test_hooks_of_all_systems_judge_one_event(place: Home) -> None:
    claude = {"type": "command", "command": "cat > claude.json; echo '{}'"}
    place.write("~/.claude/settings.json", {"hooks": {"PreToolUse": [{"matcher": "Bash", "hooks": [claude]}]}})
    specific = {"hookEventName": "PreToolUse", "updatedInput": {"added": 1}}
    place.write("answer.json", {"hookSpecificOutput": specific})
    handler = {"matcher": "Bash", "type": "command", "command": "cat answer.json"}
    place.write(".amcp/hooks.json", {"hooks": {"PreToolUse": {"handlers": [handler]}}})
    place.write(
        "fairlead.toml", '[[hook]]\non = "PreToolUse"\ntool = "Bash"\nrun = "cat > native.json"\npriority = 1\n'
    )
    hooks = load(place)

    @hooks.on("PreToolUse", priority=2)
    def shout(event: PreToolUse) -> Verdict:
        return allow(updated_input={**event.tool_input, "command": event.command.upper()})

    @hooks.on("PreToolUse")
    def guard(event: PreToolUse) -> Verdict:
        return context(f"{event.tool_input}")

    decision = await hooks.fire(bash("ls", session_id="s", cwd=str(place.project)))
    final = {"command": "LS", "added": 1}
    assert decision.updated_input == final
    assert decision.decision == "allow"
    assert decision.context == str(final)
    assert decision.notes == ()
    assert json.loads((place.project / "claude.json").read_text())["tool_input"] == {"command": "ls"}
    assert json.loads((place.project / "native.json").read_text())["tool_input"] == final
    assert [report.hook.origin.dialect for report in decision.reports] == ["claude-code", "amcp"] + ["fairlead"] * 3


async def test_the_strongest_word_of_all_systems_stands(place: Home) -> None:
    place.write("fairlead.toml", '[[hook]]\non = "PreToolUse"\nrun = "echo file; exit 1"\npriority = -1\n')
    hooks = load(place)
    hooks.on("PreToolUse")(lambda event: allow("fine"))
    hooks.on("PreToolUse")(lambda event: block("code"))
    decision = await hooks.fire(bash())
    assert (decision.word, decision.reason) == ("block", "code")
    assert [report.why for report in decision.reports if not report.ran] == [
        f"{decision.reports[1].hook.name} has decided already"
    ]


# --- constructors and accessors -------------------------------------------------------------------------------

CONSTRUCTORS: dict[str, tuple[Event, dict[str, Any]]] = {
    "pre_tool_use": (Event.pre_tool_use("s", "Bash", {"command": "x"}), {"tool_name": "Bash", "command": "x"}),
    "post_tool_use": (Event.post_tool_use("s", "Bash", {"out": 1}), {"tool_response": {"out": 1}}),
    "post_tool_use_failure": (Event.post_tool_use_failure("s", "Bash", "bad"), {"tool_name": "Bash", "error": "bad"}),
    "user_prompt_submit": (Event.user_prompt_submit("s", "hi"), {"prompt": "hi"}),
    "session_start": (Event.session_start("s"), {"matcher_value": ""}),
    "session_end": (Event.session_end("s"), {}),
    "stop": (Event.stop("s"), {"stop_hook_active": False}),
    "pre_compact": (Event.pre_compact("s"), {}),
    "subagent_start": (
        Event.subagent_start("s", "a1", "Explore", "look"),
        {"subagent_id": "a1", "agent_type": "Explore", "description": "look", "matcher_value": "Explore"},
    ),
    "subagent_stop": (Event.subagent_stop("s", "a1", False, "bad"), {"subagent_id": "a1", "success": False}),
}


@pytest.mark.parametrize(("event", "fields"), CONSTRUCTORS.values(), ids=CONSTRUCTORS.keys())
def test_constructors_fill_the_fields_of_their_event(
    event: Event, fields: dict[str, Any], request: pytest.FixtureRequest
) -> None:
    name = request.node.callspec.id
    assert event.name == "".join(part.capitalize() for part in name.split("_"))
    assert event.session_id == "s"
    for field, value in fields.items():
        assert getattr(event, field) == value
    assert Event.from_payload(event.payload()) == event.but(extra={})


async def test_a_loaded_project_without_files_has_no_hooks_and_no_problems(place: Home) -> None:
    hooks = load(place)
    assert (len(hooks), list(hooks), hooks.problems) == (0, [], ())
    assert (await hooks.fire(bash())).decision == "none"
    assert hooks.setting.project == str(place.project)


async def test_untrusted_project_hooks_do_not_run_and_that_is_said(place: Home) -> None:
    place.write("fairlead.toml", '[[hook]]\nname = "guard"\non = "PreToolUse"\nrun = "touch ran; exit 1"\n')
    hooks = Hooks.load(place.project, environ=place.environ, managed=str(place.root / "etc"))
    decision = await hooks.fire(bash(cwd=str(place.project)))
    assert decision.allowed
    assert "not trusted" in decision.notes[0]
    assert "guard" in decision.notes[0]
    assert not (place.project / "ran").exists()


# --- functions that misbehave -----------------------------------------------------------------------------------


async def _stubborn(event: Event) -> None:
    while True:
        try:
            await asyncio.sleep(LONG)
        except asyncio.CancelledError:  # what a careless retry loop does
            pass


async def _tidy(event: Event) -> None:
    try:
        await asyncio.sleep(LONG)
    finally:
        await asyncio.sleep(0)


@pytest.mark.parametrize("function", [_stubborn, _tidy], ids=["that will not be cancelled", "that tidies up"])
async def test_an_async_hook_is_left_behind_when_its_time_is_up(function: Any) -> None:
    hooks = Hooks()
    hooks.on("PreToolUse", timeout=0.02)(function)
    decision = await asyncio.wait_for(hooks.fire(bash()), LONG / 2)
    assert decision.denies
    assert "timed out" in decision.reason


async def test_an_event_can_be_cancelled_whatever_its_hook_does() -> None:
    hooks = Hooks()
    hooks.on("PreToolUse", timeout=LONG)(_stubborn)
    fired = asyncio.ensure_future(hooks.fire(bash()))
    await asyncio.sleep(0)
    fired.cancel()
    done, _ = await asyncio.wait([fired], timeout=LONG / 2)
    assert done
    assert fired.cancelled()


@pytest.mark.parametrize("kind", ["stubborn", "tidy", "blocking"])
def test_a_deadline_without_a_loop_holds_whatever_a_function_does(kind: str, place: Home) -> None:
    place.write("fairlead.toml", '[[hook]]\non = "PostToolUse"\nrun = "echo no; exit 1"\n')
    hooks = load(place)
    release = threading.Event()

    async def blocking(event: Event) -> None:
        release.wait(LONG)  # what an async function must not do

    hooks.on("PostToolUse", on_error="deny")({"stubborn": _stubborn, "tidy": _tidy, "blocking": blocking}[kind])
    decision = hooks.fire_sync(PostToolUse(tool_name="Bash"), deadline=time.monotonic() + 0.5)
    assert not release.is_set()
    release.set()
    assert "timed out" in decision.reason


@pytest.mark.parametrize("limit", [None, LONG], ids=["no timeout", "timeout"])
@pytest.mark.parametrize("is_async", [True, False], ids=["async", "sync"])
@pytest.mark.parametrize("error", [asyncio.CancelledError(), StopIteration(3), TimeoutError("mine")], ids=repr)
@pytest.mark.parametrize("way", [fire, fire_sync_in_thread], ids=lambda way: way.__name__)
async def test_an_exception_with_a_meaning_of_its_own_is_a_failure_like_any_other(
    way: Any, error: BaseException, is_async: bool, limit: float | None
) -> None:
    hooks = Hooks()

    async def later(event: Event) -> None:
        await asyncio.sleep(0)
        raise error

    def now(event: Event) -> None:
        raise error

    hooks.on("PreToolUse", timeout=limit)(later if is_async else now)
    decision = await asyncio.wait_for(way(hooks, bash()), LONG / 2)
    assert decision.denies
    assert "failed" in decision.reason


async def test_an_async_hook_may_use_timeouts_and_tasks_of_its_own() -> None:
    hooks = Hooks()

    @hooks.on("PreToolUse", timeout=LONG)
    async def busy(event: Event) -> Verdict:
        async with asyncio.timeout(LONG), asyncio.TaskGroup() as group:
            tasks = [group.create_task(asyncio.sleep(0, number)) for number in range(3)]
            await asyncio.sleep(0)
        try:
            async with asyncio.timeout(0.01):
                await asyncio.sleep(LONG)
        except TimeoutError:
            return context(str([task.result() for task in tasks]))
        return deny()

    assert (await hooks.fire(bash())).context == "[0, 1, 2]"


async def test_a_condition_that_raises_is_a_failure_of_its_hook() -> None:
    def broken(event: Event) -> str:
        raise ValueError("boom")

    hooks = Hooks()
    handler = Function.of(lambda event: None)
    origin = Origin(dialect="fairlead", layer="code")
    hooks.register(Hook(name="h", events=("PreToolUse",), handler=handler, origin=origin, condition=broken))
    decision = await hooks.fire(bash())
    assert decision.denies
    assert "boom" in decision.reason
