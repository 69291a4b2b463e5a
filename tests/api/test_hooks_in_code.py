"""Hooks in code: every kind of callable, every option, and what is refused at registration."""

from __future__ import annotations

import functools
import re
from collections.abc import Callable
from typing import Any

import pytest

from fairlead import (
    Event,
    Hook,
    HookContext,
    HookProtocol,
    Hooks,
    Origin,
    PreToolUse,
    SessionStart,
    Stop,
    SubagentStart,
    UsageError,
    UserPromptSubmit,
    Verdict,
    allow,
    ask,
    context,
    deny,
    rewrite,
)
from fairlead.handlers.command import Command


def bash(command: str = "ls", **more: Any) -> PreToolUse:
    return PreToolUse(session_id="s1", tool_name="Bash", tool_input={"command": command}, **more)


def refuse(event: Event) -> Verdict:
    return deny(f"no {event.name}")


async def refuse_later(event: Event) -> Verdict:
    return deny(f"no {event.name}")


class Rules:
    def method(self, event: Event) -> Verdict:
        return refuse(event)

    async def async_method(self, event: Event) -> Verdict:
        return refuse(event)

    @classmethod
    def class_method(cls, event: Event) -> Verdict:
        return refuse(event)

    @staticmethod
    def static_method(event: Event) -> Verdict:
        return refuse(event)


class Callee:
    def __call__(self, event: Event) -> Verdict:
        return refuse(event)


class AsyncCallee:
    async def __call__(self, event: Event) -> Verdict:
        return refuse(event)


class Heir(AsyncCallee):
    pass


class CalleeWithContext:
    def __call__(self, event: Event, context: HookContext) -> Verdict:
        assert context.session_id == event.session_id
        return refuse(event)


def with_extra(extra: str, event: Event) -> Verdict:
    return deny(f"no {event.name}")


async def async_with_extra(event: Event, *, extra: str) -> Verdict:
    return deny(f"no {event.name}")


def with_context(event: Event, context: HookContext) -> Verdict:
    assert context.session_id == event.session_id
    return refuse(event)


def with_named_context(event: Event, ctx: HookContext | None = None) -> Verdict:
    assert ctx is not None
    return refuse(event)


def with_default(event: Event, strict: bool = True) -> Verdict:
    assert strict is True
    return refuse(event)


def with_rest(*everything: Any) -> Verdict:
    return refuse(everything[0])


def logged(function: Callable[..., Any]) -> Callable[..., Any]:
    @functools.wraps(function)
    def wrapper(*words: Any, **named: Any) -> Any:
        return function(*words, **named)

    return wrapper


CALLABLES = {
    "function": refuse,
    "async function": refuse_later,
    "lambda": lambda event: deny(f"no {event.name}"),
    "method": Rules().method,
    "async method": Rules().async_method,
    "class method": Rules.class_method,
    "static method": Rules.static_method,
    "callable object": Callee(),
    "async callable object": AsyncCallee(),
    "inherited async callable": Heir(),
    "callable object with context": CalleeWithContext(),
    "partial": functools.partial(with_extra, "x"),
    "partial of an async function": functools.partial(async_with_extra, extra="x"),
    "partial of a partial": functools.partial(functools.partial(with_extra, "x")),
    "with a context": with_context,
    "with a context that has a default": with_named_context,
    "with another default": with_default,
    "with *args": with_rest,
    "wrapped function": logged(refuse),
    "wrapped async function": logged(refuse_later),
    "wrapped function with a context": logged(with_context),
}


@pytest.mark.parametrize("limit", [None, 60], ids=["no timeout", "timeout"])
@pytest.mark.parametrize("function", CALLABLES.values(), ids=CALLABLES.keys())
async def test_every_kind_of_callable_can_be_a_hook(function: Any, limit: float | None) -> None:
    hooks = Hooks()
    assert hooks.on("PreToolUse", timeout=limit)(function) is function
    decision = await hooks.fire(bash())
    assert (decision.decision, decision.reason) == ("deny", "no PreToolUse")
    assert decision.notes == ()


@pytest.mark.parametrize("limit", [None, 60], ids=["no timeout", "timeout"])
@pytest.mark.parametrize("function", CALLABLES.values(), ids=CALLABLES.keys())
def test_every_kind_of_callable_answers_without_a_loop_too(function: Any, limit: float | None) -> None:
    hooks = Hooks()
    hooks.on("PreToolUse", timeout=limit)(function)
    assert hooks.fire_sync(bash()).reason == "no PreToolUse"


RETURNED = {
    "nothing": (None, {"decision": "none"}),
    "a verdict": (ask("sure?"), {"decision": "ask", "reason": "sure?"}),
    "a string": ("remember", {"decision": "none", "context": "remember"}),
    "a dict that denies": ({"decision": "deny", "reason": "r"}, {"decision": "deny", "reason": "r"}),
    "a dict with a permission decision": (
        {"hookSpecificOutput": {"permissionDecision": "ask", "permissionDecisionReason": "r"}},
        {"decision": "ask", "reason": "r"},
    ),
    "a dict with a rewrite": (
        {"hookSpecificOutput": {"updatedInput": {"command": "ls -l"}}},
        {"decision": "none", "updated_input": {"command": "ls -l"}},
    ),
    "a dict that ends the turn": ({"continue": False, "stopReason": "enough"}, {"stop": True, "stop_reason": "enough"}),
}


@pytest.mark.parametrize(("value", "expected"), RETURNED.values(), ids=RETURNED.keys())
async def test_what_a_function_returns_becomes_the_decision(value: Any, expected: dict[str, Any]) -> None:
    hooks = Hooks()
    hooks.on("PreToolUse")(lambda event: value)
    decision = await hooks.fire(bash())
    assert {name: getattr(decision, name) for name in expected} == expected
    assert decision.notes == ()


NONSENSE = {
    "a bool": False,
    "a number": 1,
    "a list": ["deny"],
    "an unknown decision": {"decision": "reject"},
    "an unknown permission decision": {"hookSpecificOutput": {"permissionDecision": "no"}},
    "a decision in the wrong place": {"permissionDecision": "deny"},
    "specific output that is no object": {"hookSpecificOutput": "deny"},
}


@pytest.mark.parametrize("value", NONSENSE.values(), ids=NONSENSE.keys())
@pytest.mark.parametrize(
    ("event", "direction"),
    [(bash(), "deny"), (UserPromptSubmit(prompt="x"), "deny"), (Stop(), "none")],
    ids=["PreToolUse", "UserPromptSubmit", "Stop"],
)
async def test_an_answer_that_cannot_be_understood_is_a_failure_and_never_a_yes(
    value: Any, event: Event, direction: str
) -> None:
    hooks = Hooks()
    hooks.on()(lambda event: value)
    decision = await hooks.fire(event)
    assert decision.decision == direction
    assert len(decision.notes) == 1


@pytest.mark.parametrize("error", [ValueError("boom"), SystemExit(0), SystemExit(2), RecursionError("deep")], ids=repr)
@pytest.mark.parametrize("is_async", [False, True], ids=["sync", "async"])
@pytest.mark.parametrize("limit", [None, 60], ids=["no timeout", "timeout"])
@pytest.mark.parametrize(
    ("on_error", "expected"), [("", "deny"), ("deny", "deny"), ("allow", "none")], ids=["default", "deny", "allow"]
)
async def test_what_a_hook_raises_leads_where_on_error_says(
    error: BaseException, is_async: bool, limit: float | None, on_error: str, expected: str
) -> None:
    hooks = Hooks()

    def fail(event: Event) -> None:
        raise error

    async def fail_later(event: Event) -> None:
        raise error

    hooks.on("PreToolUse", timeout=limit, on_error=on_error)(fail_later if is_async else fail)
    decision = await hooks.fire(bash())
    assert decision.decision == expected
    assert type(error).__name__ in decision.notes[0]
    if expected == "deny":
        assert "failed" in decision.reason


async def test_a_failing_hook_does_not_keep_the_others_from_running() -> None:
    hooks = Hooks()

    @hooks.on("PostToolUse", "PreToolUse", on_error="allow")
    def broken(event: Event) -> None:
        raise ValueError("boom")

    hooks.on("PreToolUse")(refuse)
    assert (await hooks.fire(bash())).reason == "no PreToolUse"


MISTAKES: dict[str, tuple[Callable[[Hooks], Any], str]] = {
    "a misspelt event": (lambda h: h.on("PreTooluse"), "PreToolUse"),
    "snake case": (lambda h: h.on("pre_tool_use"), "PreToolUse"),
    "a near miss": (lambda h: h.on("PostToolUseFailed"), "PostToolUseFailure"),
    "no brackets": (lambda h: h.on(refuse), "@hooks.on"),  # type: ignore[arg-type]
    "not callable": (lambda h: h.on("Stop")("x"), "callable"),  # type: ignore[type-var]
    "no argument": (lambda h: h.on("Stop")(lambda: None), "the event"),
    "three arguments": (lambda h: h.on("Stop")(lambda a, b, c: None), "the event"),
    "a keyword that nobody gives": (lambda h: h.on("Stop")(async_with_extra), "the event"),
    "an unknown on_error": (lambda h: h.on("Stop", on_error="block")(refuse), "deny"),
    "a timeout of nothing": (lambda h: h.on("Stop", timeout=0)(refuse), "timeout"),
    "a timeout without end": (lambda h: h.on("Stop", timeout=float("inf"))(refuse), "None"),
    "a timeout in words": (lambda h: h.on("Stop", timeout="5s")(refuse), "timeout"),  # type: ignore[arg-type]
    "a priority in words": (lambda h: h.on("Stop", priority="high")(refuse), "priority"),  # type: ignore[arg-type]
    "a broken pattern": (lambda h: h.on("Stop", tool="(")(refuse), "regular expression"),
    "a look-ahead": (lambda h: h.on("Stop", tool="(?=x)")(refuse), "look-ahead"),
    "an event without a function": (lambda h: h.register("Stop"), "function"),
    "an object without execute": (lambda h: h.register(object()), "execute"),  # type: ignore[arg-type]
    "no id": (lambda h: h.unregister(), "id"),
    "something else than an event": (lambda h: h.fire_sync({"hook_event_name": "Stop"}), "from_payload"),  # type: ignore[arg-type]
}


@pytest.mark.parametrize(("do", "said"), MISTAKES.values(), ids=MISTAKES.keys())
def test_a_mistake_is_refused_when_it_is_made(do: Callable[[Hooks], Any], said: str) -> None:
    hooks = Hooks()
    with pytest.raises(UsageError) as caught:
        do(hooks)
    assert said in f"{caught.value} {caught.value.hint}"
    assert len(hooks) == 0


async def test_an_event_that_nobody_knows_can_be_hooked() -> None:
    hooks = Hooks()
    hooks.on("Quux")(refuse)
    assert (await hooks.fire(Event.from_payload({"hook_event_name": "Quux"}))).reason == "no Quux"


async def test_event_classes_are_names_too() -> None:
    hooks = Hooks()
    hooks.on(PreToolUse)(refuse)
    identity = hooks.register(Stop, refuse)
    assert (await hooks.fire(bash())).denies
    assert (await hooks.fire(Stop())).denies
    assert hooks.unregister("Stop", identity)
    assert not (await hooks.fire(Stop())).denies


NAMES = ["Bash", "BashOutput", "Edit", "mcp__x__y"]
TOOLS = {
    "everything": ("", NAMES),
    "star": ("*", NAMES),
    "an empty list": ([], NAMES),
    "a name": ("Bash", ["Bash"]),
    "names": ("Bash|Edit", ["Bash", "Edit"]),
    "a list": (["Bash", "mcp__x__y"], ["Bash", "mcp__x__y"]),
    "a pattern": ("mcp__.*", ["mcp__x__y"]),
    "a pattern for a part of the name": ("B.", []),
    "a compiled pattern": (re.compile("bash", re.IGNORECASE), ["Bash"]),
}


@pytest.mark.parametrize(("tool", "expected"), TOOLS.values(), ids=TOOLS.keys())
async def test_tool_says_for_which_tools_a_hook_is(tool: Any, expected: list[str]) -> None:
    hooks = Hooks()
    hooks.on("PreToolUse", tool=tool)(refuse)
    assert [name for name in NAMES if (await hooks.fire(PreToolUse(tool_name=name))).denies] == expected


@pytest.mark.parametrize(
    "event", [SessionStart(source="startup"), SubagentStart(agent_type="Explore"), Stop()], ids=lambda event: event.name
)
async def test_an_event_that_is_not_about_a_tool_does_not_heed_the_tool(event: Event) -> None:
    hooks = Hooks()
    hooks.on(tool="Bash")(refuse)
    assert (await hooks.fire(event)).denies
    assert not (await hooks.fire(PreToolUse(tool_name="Edit"))).denies


async def test_higher_priority_runs_first_and_equal_ones_in_order() -> None:
    hooks = Hooks()
    seen: list[str] = []
    for name, priority in (("a", 0), ("b", 5), ("c", 0), ("d", -1), ("e", 5)):
        hooks.on("PreToolUse", priority=priority, name=name)(lambda event, name=name: seen.append(name))
    await hooks.fire(bash())
    assert seen == ["b", "e", "a", "c", "d"]


class Object:
    name = "object"
    events = ("PreToolUse", "Stop")
    tool_matcher = "Bash"
    timeout = 5
    priority = 7

    async def execute(self, event: Event, context: HookContext) -> Verdict:
        return deny(f"{context.session_id} {context.cwd}")


class Methods:
    def name(self) -> str:
        return "methods"

    def events(self) -> list[str]:
        return ["PreToolUse", "Stop"]

    def tool_matcher(self) -> re.Pattern[str]:
        return re.compile("Bash")

    def timeout_secs(self) -> int:
        return 5

    def priority(self) -> int:
        return 7

    def execute(self, event: Event, context: HookContext) -> Verdict:
        return deny(f"{context.session_id} {context.cwd}")


class Minimal:
    events = "PreToolUse"

    def execute(self, event: Event) -> Verdict:
        return refuse(event)


@pytest.mark.parametrize("hook", [Object(), Methods()], ids=["attributes", "methods"])
async def test_an_object_says_what_it_is_in_attributes_or_methods(hook: HookProtocol) -> None:
    hooks = Hooks()
    identity = hooks.register(hook)
    (kept,) = hooks
    assert identity == kept.name == type(hook).__name__.lower()
    assert (kept.timeout, kept.priority, kept.events) == (5, 7, ("PreToolUse", "Stop"))
    assert (await hooks.fire(bash(cwd="/x"))).reason == "s1 /x"
    assert (await hooks.fire(Stop(session_id="s2", cwd="/y"))).reason == "s2 /y"
    assert not (await hooks.fire(PreToolUse(tool_name="Edit"))).denies


async def test_an_object_that_says_little_gets_a_minute() -> None:
    hooks = Hooks()
    assert hooks.register(Minimal()) == "Minimal"  # type: ignore[arg-type]  # the second argument may be missing
    (kept,) = hooks
    assert (kept.timeout, kept.priority) == (60, 0)
    assert (await hooks.fire(bash())).reason == "no PreToolUse"


async def test_ids_are_unique_and_take_a_hook_out_again() -> None:
    hooks = Hooks()
    first, second, third = (hooks.register("PreToolUse", refuse) for _ in range(3))
    assert len({first, second, third}) == 3
    assert hooks.unregister(second)
    assert not hooks.unregister(second)
    assert [hook.name for hook in hooks] == [first, third]
    assert hooks.register("Stop", refuse) not in (first, third)


async def test_unregistering_for_one_event_leaves_the_others() -> None:
    hooks = Hooks()
    hooks.on("PreToolUse", "Stop", name="both")(refuse)
    assert not hooks.unregister("SessionStart", "both")
    assert hooks.unregister("PreToolUse", "both")
    assert not (await hooks.fire(bash())).denies
    assert (await hooks.fire(Stop())).denies
    assert hooks.unregister("Stop", "both")
    assert len(hooks) == 0


async def test_a_hook_may_register_and_unregister_while_an_event_is_fired() -> None:
    hooks = Hooks()

    @hooks.on("PreToolUse", priority=1, name="once")
    def once(event: Event) -> None:
        hooks.unregister("once")
        hooks.register("PreToolUse", refuse)

    assert not (await hooks.fire(bash())).denies
    assert (await hooks.fire(bash())).denies
    assert len(hooks) == 1


async def test_a_hook_record_of_any_handler_can_be_registered() -> None:
    hooks = Hooks()
    origin = Origin(dialect="fairlead", layer="code")
    hook = Hook(name="cmd", events=("PreToolUse",), handler=Command(command="echo no; exit 1"), origin=origin)
    assert hooks.register(hook) == "cmd"
    assert (await hooks.fire(bash())).reason == "no"
    assert hooks.unregister("cmd")


async def test_every_field_of_a_verdict_reaches_the_decision() -> None:
    hooks = Hooks()
    said = allow(
        "r",
        context="c",
        feedback="f",
        system_message="s",
        user_message="u",
        updated_input={"command": "x"},
        updated_output="o",
        stop=True,
        stop_reason="sr",
        suppress_output=True,
        extra={"k": 1},
    )
    hooks.on("PreToolUse")(lambda event: said)
    decision = await hooks.fire(bash())
    for name, value in said.as_dict().items():
        assert getattr(decision, name) == value, name
    assert decision.allowed
    assert decision.for_model == "s\nc\nf"


async def test_builders_add_to_a_verdict_without_changing_it() -> None:
    plain = deny("no")
    built = (
        plain.with_context("a")
        .with_context("b")
        .with_input({"x": 1})
        .with_output("o")
        .with_system_message("s")
        .with_user_message("u")
        .without_logging()
    )
    assert plain == deny("no")
    assert built.as_dict() == {
        "decision": "deny",
        "reason": "no",
        "context": "a\nb",
        "system_message": "s",
        "user_message": "u",
        "updated_input": {"x": 1},
        "updated_output": "o",
        "suppress_output": True,
    }


async def test_rewrites_chain_and_a_guard_sees_what_really_runs() -> None:
    hooks = Hooks()
    hooks.on("PreToolUse", priority=2)(lambda event: rewrite({"command": event.command + " a"}))
    hooks.on("PreToolUse", priority=1)(lambda event: rewrite({"command": event.command + " b"}))
    hooks.on("PreToolUse")(lambda event: context(event.command))
    decision = await hooks.fire(bash("x"))
    assert decision.updated_input == {"command": "x a b"}
    assert decision.context == "x a b"


def test_the_protocol_is_a_class_that_can_be_inherited() -> None:
    class Own(HookProtocol):
        events = ("Stop",)

        def execute(self, event: Event, context: HookContext, /) -> Verdict:
            return refuse(event)

    hooks = Hooks()
    hooks.register(Own())
    assert hooks.fire_sync(Stop()).denies
