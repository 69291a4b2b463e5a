"""What no agent should send: a clear refusal, never a crash, never a hang, never a call let through."""

from __future__ import annotations

import codecs
import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from fairlead.wire import DEPTH
from tests.conftest import Home, Ran
from tests.input.conftest import AGENTS, payload, refuses, told

Run = Callable[..., Ran]


def _inside(agent: str, text: str) -> bytes:
    """A valid event with `text` as one more value in its tool input."""
    return json.dumps(payload(agent, {"command": "ls", "x": "HERE"})).replace('"HERE"', text).encode()


def _not_an_event(agent: str) -> Iterator[tuple[str, bytes]]:
    """Bytes that are no JSON object at all."""
    whole = json.dumps(payload(agent)).encode()
    yield "empty", b""
    yield "blank", b" \n\t "
    yield "a mark and nothing", codecs.BOM_UTF8
    yield "not JSON", b"hello"
    yield "NUL bytes", b"\0" * 64
    yield "array", b"[" + whole + b"]"
    yield "string", json.dumps(whole.decode()).encode()
    yield "number", b"42"
    yield "null", b"null"
    yield "true", b"true"
    yield "invalid UTF-8", whole.replace(b'"ls"', b'"\xff\xfe\xfa"')
    yield "overlong UTF-8", whole.replace(b'"ls"', b'"\xc0\xaf"')
    yield "UTF-8 surrogate", whole.replace(b'"ls"', b'"\xed\xa0\x80"')
    yield "half a UTF-16 character", whole.decode().encode("utf-16")[:-1]
    yield "Latin-1", whole.replace(b'"ls"', b'"\xe4"')
    yield "raw control character", whole.replace(b'"ls"', b'"l\0s"')
    yield "single quotes", whole.replace(b'"', b"'")
    yield "comment", b"// hi\n" + whole
    yield "trailing comma", whole[:-1] + b",}"
    yield "trailing garbage", whole + b" x"
    yield "two documents", whole + b"\n" + whole
    yield "gzip", b"\x1f\x8b\x08\x00" + whole
    for length in {1, 2, len(whole) // 2, len(whole) - 1}:
        yield f"cut after {length}", whole[:length]


def _unusable_values(agent: str) -> Iterator[tuple[str, bytes]]:
    """Events with a value that two readers may take for different things."""
    whole = json.dumps(payload(agent))
    yield "NaN", _inside(agent, "NaN")
    yield "Infinity", _inside(agent, "Infinity")
    yield "-Infinity", _inside(agent, "-Infinity")
    yield "1e999", _inside(agent, "1e999")
    yield "-1e999", _inside(agent, "-1e999")
    yield "5,000 digits", _inside(agent, "9" * 5000)
    yield "nested 100,000 lists", _inside(agent, "[" * 100_000 + "]" * 100_000)
    yield "nested 100,000 objects", _inside(agent, '{"a":' * 100_000 + "1" + "}" * 100_000)
    yield "nested 100,000 lists, cut", _inside(agent, "[" * 100_000)
    yield "nested 900 lists", _inside(agent, "[" * 900 + "]" * 900)
    yield f"nested {DEPTH} lists", _inside(agent, "[" * DEPTH + "]" * DEPTH)
    yield "key twice", (whole[:-1] + f", {whole[1:]}").encode()
    yield "key twice, inside", _inside(agent, '{"a": 1, "b": {"c": 1, "c": 2}}')
    yield "tool twice", whole.replace('"Bash"', '"Read"').encode()[:-1] + b"," + whole.encode()[1:]


WRONG: tuple[Any, ...] = (5, 1.5, True, ["PreToolUse"], {"a": 1}, "", None)


def _wrong_types(agent: str) -> Iterator[tuple[str, bytes]]:
    """Each field that matters, with each kind of value that it must not have."""
    names = {
        "code-agent": ("type", "toolName", "input", "payload"),
        "claude-agent": ("event", "tool_name", "tool_input"),
        "m": ("tool", "input"),
    }.get(agent, ("hook_event_name", "tool_name", "tool_input"))
    for name in names:
        for value in WRONG:
            event = payload(agent)
            where = event["payload"] if name in event.get("payload", {}) else event
            if _is_fine(name, value):
                continue
            where[name] = value
            yield f"{name} = {value!r}", json.dumps(event).encode()
    wanted = {"payload"} if agent == "code-agent" else {names[-2]}
    for name in wanted:
        event = payload(agent)
        del event[name]
        yield f"without {name}", json.dumps(event).encode()


def _is_fine(name: str, value: Any) -> bool:
    if name in ("input", "tool_input"):  # nothing at all is an empty input
        return value is None or isinstance(value, dict) or (not value and name == "input")
    if name == "payload":
        return isinstance(value, dict)
    return False


def _all(agent: str) -> dict[str, bytes]:
    return {**dict(_not_an_event(agent)), **dict(_unusable_values(agent)), **dict(_wrong_types(agent))}


@pytest.mark.parametrize("agent", AGENTS)
@pytest.mark.parametrize("command", ["fire", "hook"])
def test_what_cannot_be_understood_is_refused_in_the_words_of_the_agent(
    tmp_path: Path, agent: str, command: str
) -> None:
    answers = {name: told(command, agent, raw, tmp_path) for name, raw in _all(agent).items()}
    assert [name for name, answer in answers.items() if not refuses(agent, command, answer)] == []


SOME = ("empty", "not JSON", "array", "invalid UTF-8", "nested 100,000 lists", "NaN", "5,000 digits", "key twice")


@pytest.mark.parametrize("agent", AGENTS)
@pytest.mark.parametrize("command", ["fire", "hook"])
def test_a_refusal_is_clean_bytes_and_a_clean_exit(fairlead: Run, agent: str, command: str) -> None:
    wrong = {}
    for name, raw in _all(agent).items():
        if name not in SOME and agent != "claude-code":
            continue
        ran = fairlead(command, "--agent", agent, stdin=raw)
        clean = "Traceback" not in ran.err and len(ran.err) < 3000
        if not (clean and refuses(agent, command, ran)):
            wrong[name] = (ran.code, ran.out, ran.err[-600:])
    assert wrong == {}


@pytest.mark.parametrize("command", ["fire", "hook"])
@pytest.mark.parametrize("agent", ["claude-code", "m"])
def test_more_than_the_limit_is_refused(fairlead: Run, agent: str, command: str) -> None:
    ran = fairlead(command, "--agent", agent, stdin=_inside(agent, '"' + "x" * (65 << 20) + '"'))
    assert refuses(agent, command, ran)
    assert "67,108,864" in ran.err + ran.out.decode()


HOOK = """
[[hook]]
on = "PreToolUse"
name = "keep"
run = "cat > seen.json"

[[hook]]
on = "PreToolUse"
name = "guard"
run = "exit 2"
"""

ODD: dict[str, Any] = {
    "NUL": "a\0b",
    "lone surrogate": "\ud800 and \udfff",
    "half of a pair": "\udc80",
    "astral": "\U0001f3f4\u200d\u2620\ufe0f",
    "right to left": "\u202e",
    "controls": "".join(map(chr, range(32))),
    "line separators": "\u2028\u2029\x85",
    "no character": "\uffff\ufffe",
    "a mark inside": "\ufeff",
    "long number": 10**300,
    "4,300 digits": int("9" * 4300),
    "float": 1e-300,
    "negative zero": -0.0,
    "nested": json.loads("[" * 150 + "]" * 150),
    "empty key": {"": {"": ""}},
    "key with NUL": {"\0": 1},
    "odd keys": {"__proto__": {}, "constructor": 1},
}


@pytest.mark.parametrize("agent", AGENTS)
@pytest.mark.parametrize("command", ["fire", "hook"])
def test_odd_values_reach_the_hook_whole_and_its_refusal_reaches_the_agent(
    fairlead: Run, place: Home, agent: str, command: str
) -> None:
    place.write("~/.config/fairlead/fairlead.toml", HOOK)
    ran = fairlead(command, "--agent", agent, "--project", str(place.project), stdin=payload(agent, ODD))
    assert "Traceback" not in ran.err
    assert json.loads((place.project / "seen.json").read_bytes())["tool_input"] == ODD
    assert refuses(agent, command, ran)


ENCODINGS: dict[str, Callable[[str], bytes]] = {
    "UTF-8 with a mark": lambda text: codecs.BOM_UTF8 + text.encode(),
    "UTF-16 LE": lambda text: text.encode("utf-16-le"),
    "UTF-16 BE": lambda text: text.encode("utf-16-be"),
    "UTF-16 LE with a mark": lambda text: codecs.BOM_UTF16_LE + text.encode("utf-16-le"),
    "UTF-16 BE with a mark": lambda text: codecs.BOM_UTF16_BE + text.encode("utf-16-be"),
    "UTF-32 LE": lambda text: text.encode("utf-32-le"),
    "UTF-32 BE with a mark": lambda text: codecs.BOM_UTF32_BE + text.encode("utf-32-be"),
    "blanks around": lambda text: f"\n\t {text} \r\n\n".encode(),
}


@pytest.mark.parametrize("agent", AGENTS)
@pytest.mark.parametrize("command", ["fire", "hook"])
def test_every_encoding_of_json_is_read(fairlead: Run, place: Home, agent: str, command: str) -> None:
    place.write("~/.config/fairlead/fairlead.toml", HOOK)
    tool_input = {"command": "ls ä 🏴"}
    for name, encode in ENCODINGS.items():
        raw = encode(json.dumps(payload(agent, tool_input), ensure_ascii=False))
        ran = fairlead(command, "--agent", agent, "--project", str(place.project), stdin=raw)
        seen = place.project / "seen.json"
        assert json.loads(seen.read_bytes())["tool_input"] == tool_input, name
        assert refuses(agent, command, ran), name
        seen.unlink()


@pytest.mark.parametrize("agent", AGENTS)
@pytest.mark.parametrize("size", [131_071, 131_072, 131_073, 16 << 20])
def test_a_large_event_reaches_the_hook_whole_and_its_refusal_reaches_the_agent(
    fairlead: Run, place: Home, agent: str, size: int
) -> None:
    place.write("~/.config/fairlead/fairlead.toml", HOOK)
    tool_input = {"command": "x" * size}
    ran = fairlead("fire", "--agent", agent, "--project", str(place.project), stdin=payload(agent, tool_input))
    assert json.loads((place.project / "seen.json").read_bytes())["tool_input"] == tool_input
    assert refuses(agent, "fire", ran)


def test_a_reason_may_hold_anything(fairlead: Run, place: Home) -> None:
    """Half a character in a reason must not cost the refusal: not on stderr, not on stdout."""
    place.write("reason", r'{"decision": "block", "reason": "\ud800 \u0000 ü"}')
    place.write("~/.config/fairlead/fairlead.toml", '[[hook]]\non = "PreToolUse"\nrun = "cat reason"\n')
    for agent in AGENTS:
        for command in ("fire", "hook"):
            ran = fairlead(command, "--agent", agent, stdin=payload(agent), env={"LC_ALL": "C", "PYTHONUTF8": "0"})
            assert refuses(agent, command, ran), (agent, command, ran.code, ran.out, ran.err)
            assert "Traceback" not in ran.err
