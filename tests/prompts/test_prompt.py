"""The handler, with a real server that plays the model."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

import pytest

from fairlead import Hooks
from fairlead.events import Event, PreToolUse, Stop, UserPromptSubmit
from fairlead.handlers._judging import Judged
from fairlead.handlers.prompt import Prompt
from fairlead.hooks import Hook, Origin, Report
from fairlead.models.framing import LARGEST
from fairlead.verdicts import Decision
from tests.conftest import Home
from tests.models import provider as model
from tests.models.provider import KEY, WIRES, Provider, Step, says

BASH = PreToolUse(session_id="s1", cwd="/work", tool_name="Bash", tool_input={"command": "rm -rf backups"})
NO = {"ok": False, "reason": "it deletes the backups"}
PROMPT = "Is this safe? $COMMAND"


def judged_by(
    provider: Provider,
    place: Home,
    event: Event = BASH,
    dialect: str = "claude-code",
    *,
    timeout: float | None = 100.0,
    on_error: str = "",
    wire: str = "anthropic",
    env: Mapping[str, str] | None = None,
    **handler: Any,
) -> Decision:
    environ = {**place.environ, **(provider.environ(wire) if env is None else env)}
    hooks = Hooks.load(place.project, home=place.home, environ=environ, managed=str(place.root / "etc"))
    hooks.register(
        Hook(
            name="judge",
            events=("*",),
            handler=Prompt(**{"prompt": PROMPT, **handler}),
            origin=Origin(dialect=dialect, layer="user"),
            timeout=timeout,
            on_error=on_error,
        )
    )
    return hooks.fire_sync(event)


def facts(decision: Decision) -> dict[str, Any]:
    outcome = the_report(decision).outcome
    assert isinstance(outcome, Judged)
    return outcome.facts


def the_report(decision: Decision) -> Report:
    (report,) = decision.reports
    return report


@pytest.mark.parametrize("wire", WIRES)
def test_a_yes_lets_the_agent_go_on_as_it_would(provider: Provider, place: Home, wire: str) -> None:
    decision = judged_by(provider, place, wire=wire)
    assert (decision.decision, decision.notes) == ("none", ())
    assert json.loads(provider.asked[0].user[0])["COMMAND"] == "rm -rf backups"


@pytest.mark.parametrize("wire", WIRES)
def test_a_no_refuses_with_the_models_reason(provider: Provider, place: Home, wire: str) -> None:
    provider.script(says(NO))
    decision = judged_by(provider, place, wire=wire)
    assert (decision.decision, decision.reason, decision.stop) == ("deny", "it deletes the backups", True)


@pytest.mark.parametrize("wire", WIRES)
def test_the_answers_form_is_asked_for_where_the_provider_can(provider: Provider, place: Home, wire: str) -> None:
    judged_by(provider, place, wire=wire)
    schema = provider.asked[0].schema
    assert schema is not None
    assert set(schema["properties"]) == {"ok", "reason"}


def test_a_refusal_does_not_end_the_turn_where_the_owner_says_so(provider: Provider, place: Home) -> None:
    provider.script(says(NO))
    decision = judged_by(provider, place, continue_on_block=True)
    assert (decision.decision, decision.stop) == ("deny", False)


def test_claude_code_gives_the_whole_event_with_every_prompt(provider: Provider, place: Home) -> None:
    judged_by(provider, place)
    data = json.loads(provider.asked[0].user[0])
    assert data["ARGUMENTS"]["tool_input"] == {"command": "rm -rf backups"}


def test_what_is_given_whole_is_what_the_hooks_own_system_would_give(provider: Provider, place: Home) -> None:
    provider.script(says("ALLOW"))
    judged_by(provider, place, dialect="code-agent", style="word", prompt="Safe? $ARGUMENTS")
    whole = json.loads(provider.asked[0].user[0])["ARGUMENTS"]
    assert (whole["type"], whole["payload"]["toolName"]) == ("PreToolUse", "Bash")


STYLES = {
    "word, allow": ("code-agent", "word", "ALLOW: fine", "none", "none"),
    "word, block": ("code-agent", "word", "block - no", "deny", "deny"),
    "word, continue": ("code-agent", "word", "CONTINUE: look at it", "none", "continue"),
    "decision, allow": ("codemie", "decision", '{"decision": "allow", "reason": "fine"}', "none", "allow"),
    "decision, approve": ("codemie", "decision", '{"decision": "approve"}', "none", "allow"),
    "decision, deny": ("codemie", "decision", '{"decision": "deny", "reason": "no"}', "deny", "deny"),
    "decision, block": ("codemie", "decision", '```json\n{"decision": "block", "reason": "no"}\n```', "deny", "deny"),
    "ok, fairlead": ("fairlead", "ok", '{"ok": false, "reason": "no"}', "deny", "deny"),
}


@pytest.mark.parametrize(("dialect", "style", "reply", "decision", "word"), STYLES.values(), ids=STYLES)
def test_each_style_is_asked_for_and_understood(
    provider: Provider, place: Home, dialect: str, style: str, reply: str, decision: str, word: str
) -> None:
    provider.script(says(reply))
    found = judged_by(provider, place, dialect=dialect, style=style)
    said = the_report(found).verdict
    assert said is not None
    assert (found.decision, said.decision) == (decision, decision)
    assert said.word == word


def test_at_stop_a_no_is_the_next_instruction(provider: Provider, place: Home) -> None:
    provider.script(says({"reason": "run the tests first", "ok": False, "impossible": False}))
    decision = judged_by(provider, place, Stop(session_id="s1"))
    assert (decision.word, decision.reason, decision.stop) == ("block", "run the tests first", False)
    assert set((provider.asked[0].schema or {})["properties"]) == {"ok", "reason", "impossible"}


# --- no judgement ------------------------------------------------------------------------------------

NO_JUDGEMENT: dict[str, tuple[Step, str]] = {
    "chat": (says("Looks fine to me!"), "was unclear: Looks fine to me!"),
    "empty": (says(""), "empty"),
    "two verdicts": (says('{"ok": true} or {"ok": false}'), "unclear"),
    "cut off": (model.cut({"ok": True}), "cut off"),
    "refused": (model.refuses(), "refused to give one"),
    "too long for the model": (model.fails(400, "maximum context length exceeded"), "does not take the question"),
    "too long for the server": (model.fails(413, "too large"), "HTTP 413"),
}


@pytest.mark.parametrize("dialect", ["claude-code", "codemie", "code-agent", "fairlead"])
@pytest.mark.parametrize(("step", "why"), NO_JUDGEMENT.values(), ids=NO_JUDGEMENT)
def test_a_guard_without_a_judgement_refuses_in_every_system(
    provider: Provider, place: Home, step: Step, why: str, dialect: str
) -> None:
    provider.script(step)
    for event in (BASH, UserPromptSubmit(session_id="s1", prompt="Delete them")):
        decision = judged_by(provider, place, event, dialect)
        assert decision.denies
        assert why in decision.reason


@pytest.mark.parametrize(("step", "why"), NO_JUDGEMENT.values(), ids=NO_JUDGEMENT)
def test_who_wants_to_go_on_without_a_judgement_has_to_say_so(
    provider: Provider, place: Home, step: Step, why: str
) -> None:
    provider.script(step)
    decision = judged_by(provider, place, on_error="allow")
    assert decision.decision == "none"
    assert [note for note in decision.notes if why in note]


def test_what_is_too_large_is_asked_of_nobody_and_refused(provider: Provider, place: Home) -> None:
    decision = judged_by(provider, place, BASH.but(tool_input={"command": "ls #" + "x" * LARGEST}))
    assert decision.denies
    assert "too large to be judged" in decision.reason
    assert provider.asked == []


def test_an_event_that_cannot_be_written_down_is_refused(provider: Provider, place: Home) -> None:
    decision = judged_by(provider, place, BASH.but(tool_input={"command": object()}))
    assert decision.denies
    assert "cannot be put to a model" in decision.reason
    assert provider.asked == []


LONG = BASH.but(tool_input={"command": "ls " + "some ordinary words " * 1000})


def test_a_server_that_throws_away_what_it_has_no_room_for_has_not_judged(provider: Provider, place: Home) -> None:
    """Ollama reads the last 2,050 tokens of a question that is longer than 4,096, and says nothing."""
    provider.script(says({"ok": True}, tokens=(2050, 7)))
    decision = judged_by(provider, place, LONG, wire="openai")
    assert decision.denies
    assert "has read only 2,050 tokens" in decision.reason


@pytest.mark.parametrize(("tokens", "event"), [(9000, LONG), (0, LONG), (300, BASH)], ids=["all", "unknown", "short"])
def test_a_server_that_has_read_everything_has_judged(
    provider: Provider, place: Home, tokens: int, event: Event
) -> None:
    provider.script(says({"ok": True}, tokens=(tokens, 7)))
    assert judged_by(provider, place, event, wire="openai").decision == "none"


DIRECTIONS = [("claude-code", "", "none"), ("claude-code", "deny", "deny"), ("codemie", "", "none"),
              ("code-agent", "", "deny"), ("code-agent", "allow", "none"), ("fairlead", "", "deny")]  # fmt: skip


@pytest.mark.parametrize(("dialect", "on_error", "expected"), DIRECTIONS, ids=[" ".join(row) for row in DIRECTIONS])
def test_a_server_that_is_no_use_is_a_failure_like_any_other(
    provider: Provider, place: Home, dialect: str, on_error: str, expected: str
) -> None:
    provider.script(model.fails(401, "no", echo_key=True))
    decision = judged_by(provider, place, dialect=dialect, on_error=on_error)
    assert decision.decision == expected
    (note,) = decision.notes
    assert note.startswith("hook judge failed: ")
    assert KEY not in repr((decision, the_report(decision).outcome))


def test_a_server_that_never_answers_costs_no_more_than_the_hooks_time(provider: Provider, place: Home) -> None:
    provider.script(model.never_answers())
    decision = judged_by(provider, place, dialect="fairlead", timeout=1.0)
    assert decision.denies
    assert "did not answer within" in decision.reason or "timed out" in decision.reason


def test_without_a_model_the_failure_says_what_to_write(provider: Provider, place: Home) -> None:
    decision = judged_by(provider, place, dialect="fairlead", env={})
    assert decision.denies
    assert "ANTHROPIC_API_KEY" in decision.reason
    assert provider.asked == []


# --- facts and the cache -----------------------------------------------------------------------------


def profile(provider: Provider, place: Home, **more: Any) -> None:
    """A `[models.fast]` of the user."""
    fields = {"provider": "openai", "model": "tiny", "base_url": provider.base_url("openai"), "api_key": KEY, **more}
    lines = [f"{name} = {json.dumps(value)}" for name, value in fields.items()]
    place.write("~/.config/fairlead/fairlead.toml", "\n".join(["[models.fast]", *lines, ""])).chmod(0o600)


def test_the_report_knows_what_it_took(provider: Provider, place: Home) -> None:
    provider.script(says({"ok": True}, tokens=(1000, 100)))
    profile(provider, place, input_price=1.0, output_price=5.0)
    found = facts(judged_by(provider, place, env={}, model="fast"))
    assert found == {
        "model": "test-model-2026", "input_tokens": 1000, "output_tokens": 100, "attempts": 1,
        "cost": pytest.approx(0.0015),
    }  # fmt: skip


def test_without_prices_there_is_no_cost(provider: Provider, place: Home) -> None:
    assert "cost" not in facts(judged_by(provider, place))


def test_what_an_unclear_answer_took_is_known_too(provider: Provider, place: Home) -> None:
    provider.script(says("hm", tokens=(3, 2)))
    assert facts(judged_by(provider, place))["input_tokens"] == 3


@pytest.mark.parametrize(("cache", "times"), [(True, 1), (False, 2)])
def test_the_same_question_is_asked_once_where_the_owner_says_so(
    provider: Provider, place: Home, cache: bool, times: int
) -> None:
    provider.script(says(NO))
    found = [judged_by(provider, place, dialect="fairlead", cache=cache) for _ in range(2)]
    assert [decision.reason for decision in found] == ["it deletes the backups"] * 2
    assert len(provider.asked) == times
    assert facts(found[1]).get("cached", 0) == (1 if cache else 0)


def test_who_wants_a_fresh_answer_does_not_get_one_that_another_hook_has_kept(provider: Provider, place: Home) -> None:
    judged_by(provider, place, dialect="fairlead", cache=True)
    judged_by(provider, place, dialect="fairlead", cache=False)
    assert len(provider.asked) == 2


OTHERS = {
    "another session": {"event": BASH.but(session_id="s2")},
    "no session": {"event": BASH.but(session_id="")},
    "another command": {"event": BASH.but(tool_input={"command": "ls"})},
    "another prompt": {"prompt": "Is this wise? $COMMAND"},
}


@pytest.mark.parametrize("other", OTHERS.values(), ids=OTHERS)
def test_another_question_is_asked_again(provider: Provider, place: Home, other: dict[str, Any]) -> None:
    judged_by(provider, place, dialect="fairlead", cache=True)
    judged_by(provider, place, dialect="fairlead", cache=True, **other)
    assert len(provider.asked) == 2


def test_an_unclear_answer_is_not_kept(provider: Provider, place: Home) -> None:
    provider.script(says("hm"), says({"ok": True}))
    assert judged_by(provider, place, dialect="fairlead", cache=True).denies
    assert judged_by(provider, place, dialect="fairlead", cache=True).decision == "none"


# --- for people --------------------------------------------------------------------------------------


def test_it_describes_itself_in_one_line() -> None:
    assert Prompt(prompt="Is this\n  safe?").describe() == "prompt: Is this safe?"
    assert Prompt(prompt="Safe?", model="haiku").describe() == "prompt to haiku: Safe?"
    assert len(Prompt(prompt="x" * 1000).describe()) < 220


def test_prompts_that_do_the_same_are_the_same() -> None:
    one = Prompt(prompt="Safe?", model="fast")
    assert one.identity() == Prompt(prompt="Safe?", model="fast").identity()
    others = ({"prompt": "Safe"}, {"model": ""}, {"style": "word"}, {"continue_on_block": True}, {"cache": True})
    assert all(one.identity() != one.but(**change).identity() for change in others)
