"""Events that no hook looks at are written in a shorter way: the entry is the same, to the byte where that matters."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fairlead import wire
from fairlead.answering import Request, as_hook
from fairlead.api import Hooks
from fairlead.dialects import Reply
from fairlead.events import EVENTS, Event, OtherEvent
from fairlead.journal import keeping, recording, settings
from fairlead.journal.reading import Log, Wanted
from fairlead.journal.verifying import verify
from fairlead.verdicts import Decision
from tests.conftest import Home

EVENT: dict[str, Any] = {
    "session_id": "s",
    "hook_event_name": "PreToolUse",
    "tool_name": "Bash",
    "tool_input": {"command": "ls 'a b' \"c\" \\ \t\n"},
    "cwd": "/somewhere",
}
INCIDENTAL = ("n", "t", "ms", "at", "sum", "chain")


def event_in(raw: bytes) -> Event:
    return Event.from_payload(wire.decode_object(raw))


def short(raw: bytes, reply: Reply | None = None, decision: Decision | None = None) -> tuple[bytes, bytes] | None:
    return recording.unnoticed("an agent", event_in(raw), decision or Decision(), reply or Reply(), 1.25, "/p", raw)


REPLIES = {"silent": Reply(), "some": Reply(stdout=b"{}\n", stderr="é\n", exit_code=0)}


@pytest.mark.parametrize("reply", REPLIES.values(), ids=REPLIES)
def test_it_is_what_the_long_way_would_have_written(reply: Reply) -> None:
    raw = json.dumps(EVENT).encode()
    event, decision = event_in(raw), Decision()
    for _ in range(2):  # also from what is kept
        texts = short(raw, reply)
        assert texts is not None
        assert b"{%b}" % texts[0] == wire.encode(recording.summary("an agent", event, decision, 1.25))
        assert json.loads(texts[1]) == json.loads(wire.encode(recording.details(event, decision, reply, "/p", raw)))


SPELLED: dict[str, bytes] = {
    "in two lines": json.dumps(EVENT, indent=1).encode(),
    "with the end of a line": json.dumps(EVENT).encode() + b"\n",
    "with other letters": json.dumps({**EVENT, "x": "é"}, ensure_ascii=False).encode(),
    "with letters as numbers": json.dumps({**EVENT, "x": "é"}).encode(),
    "with a slash that is escaped": json.dumps({**EVENT, "x": "a/b"}).replace("a/b", "a\\/b").encode(),
    "in UTF-16": json.dumps(EVENT).encode("utf-16-le"),
    "with a mark": b"\xef\xbb\xbf" + json.dumps(EVENT).encode(),
    "too long": json.dumps({**EVENT, "x": "x" * recording.LARGEST}).encode(),
    "with nothing where something is known": json.dumps({**EVENT, "transcript_path": None}).encode(),
    "under another name": json.dumps({**EVENT, "hook_event_name": "preToolUse"}).encode(),
}


@pytest.mark.parametrize("raw", SPELLED.values(), ids=SPELLED)
def test_what_is_spelled_otherwise_goes_the_long_way(place: Home, raw: bytes) -> None:
    assert short(raw) is None
    as_hook(Request(agent="claude-code", raw=raw, environ=place.environ, project=str(place.project)))
    log = Log(settings.folder(place.environ))
    (entry,) = log.all(Wanted())
    assert log.whole(entry)["details"]["payload"]["cwd"] == "/somewhere"
    assert verify(log).problems == ()


def test_what_somebody_has_said_goes_the_long_way() -> None:
    raw = json.dumps(EVENT).encode()
    for decision in (Decision(reason="why"), Decision(notes=("a note",)), Decision(updated_input={})):
        assert short(raw, decision=decision) is None


def test_a_text_in_it_is_found(place: Home) -> None:
    raw = json.dumps(EVENT).encode()
    assert short(raw) is not None
    as_hook(Request(agent="claude-code", raw=raw, environ=place.environ, project=str(place.project)))
    log = Log(settings.folder(place.environ))
    for text in ("'A B' \"c\"", "\\ \t\n", "/SOMEWHERE"):
        assert [entry["event"] for entry in log.latest(Wanted(text=text), 5)] == ["PreToolUse"], text
    assert not log.latest(Wanted(text='tool_input":'), 5)


def test_sessions_without_end_do_not_fill_the_memory() -> None:
    for number in range(3 * recording._MOST_KEPT):
        raw = json.dumps({**EVENT, "session_id": f"s{number}", "cwd": f"/{number}"}).encode()
        assert short(raw) is not None
    assert short(json.dumps({**EVENT, "cwd": "/" + "x" * 100_000}).encode()) is not None
    kept = [*recording._LINES.values(), *recording._WHOLES.values()]
    assert len(kept) <= 2 * recording._MOST_KEPT
    assert max(map(len, kept)) <= recording.LONGEST


# --- an event knows what it says -------------------------------------------------------------------------

_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=6,
)
_names = st.sampled_from([*EVENTS, "SomethingNew"])
_keys = st.sampled_from(["session_id", "cwd", "extra", "spoken", "tool_use_id", "name", "event_name", "x"])


@given(_names, st.dictionaries(_keys, _values, max_size=4), st.dictionaries(_keys, _values, max_size=2))
def test_says_is_the_same_as_to_compare_its_payload(name: str, more: dict[str, Any], others: dict[str, Any]) -> None:
    needed = {"tool_name": "Bash", "tool_input": {}, "prompt": "p", "error": "e", "agent_id": "a", "agent_type": "t"}
    sent = {"hook_event_name": name, **needed, **more}
    try:
        event = Event.from_payload(sent)
    except Exception:  # noqa: BLE001  # what cannot be read is not compared
        return
    for payload in (sent, {**sent, **others}, event.payload(), {}):
        assert event.says(payload) == (event.payload() == payload)


def test_an_event_may_have_a_name_of_its_own() -> None:
    class Mine(Event):
        name = "Custom"

    class Below(OtherEvent):
        pass

    assert Mine().name == "Custom"
    assert Below(event_name="Something").name == "Something"


def test_each_event_knows_its_name() -> None:
    assert {name: cls.name for name, cls in EVENTS.items()} == {name: name for name in EVENTS}
    assert OtherEvent(event_name="Something").name == "Something"


def entries(place: Home) -> list[dict[str, Any]]:
    log = Log(settings.folder(place.environ))
    wholes = (log.whole(entry) for entry in log.all(Wanted()))
    return [{key: value for key, value in one.items() if key not in INCIDENTAL} for one in wholes]


OTHERS: dict[str, tuple[str, dict[str, Any], dict[str, Any]]] = {
    "a field that we call otherwise": (
        "codemie",
        {"hook_event_name": "PostToolUse", "session_id": "s", "tool_name": "Bash", "tool_output": "a b"},
        {"tool_response": "a b"},
    ),
    "a value that we call otherwise": (
        "qwen",
        {**EVENT, "permission_mode": "yolo"},
        {"permission_mode": "bypassPermissions"},
    ),
    "a field that is not ours": ("claude-agent", {**EVENT, "event": "PreToolUse"}, {"tool_name": "Bash"}),
}


@pytest.mark.parametrize("name", OTHERS)
def test_what_an_agent_says_in_its_own_words_is_kept_in_ours_too(place: Home, name: str) -> None:
    """Its dialect may have changed what was read, in its place: then that is no longer what was sent."""
    agent, sent, ours = OTHERS[name]
    raw = json.dumps(sent).encode()
    as_hook(Request(agent=agent, raw=raw, environ=place.environ, project=str(place.project)))
    (entry,) = entries(place)
    found = entry["details"]
    assert json.loads(found["sent"]) == sent
    assert found["payload"].items() >= ours.items()
    assert found["payload"] != sent


def test_without_payloads_nothing_of_the_event_is_written(place: Home) -> None:
    place.write("~/.config/fairlead/fairlead.toml", '[journal]\nmode = "without-payloads"\n')
    raw = json.dumps(EVENT).encode()
    as_hook(Request(agent="claude-code", raw=raw, environ=place.environ, project=str(place.project)))
    (entry,) = entries(place)
    assert "payload" not in entry["details"]
    assert "a b" not in json.dumps(entry)


def test_more_that_was_asked_for_goes_the_long_way(place: Home) -> None:
    hooks = Hooks.load(place.project, home=place.home, environ=place.environ)
    raw = json.dumps(EVENT).encode()
    asked = (hooks.journal, hooks.setting, "claude-code", event_in(raw), Decision(), Reply(), 1.0, raw)
    assert keeping.keep(*asked, {"guard": True}) == ""
    (entry,) = entries(place)
    assert entry["details"]["guard"] is True
