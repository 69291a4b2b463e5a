"""Questions in the three wire formats, and what comes back."""

from __future__ import annotations

import json
from types import ModuleType
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fairlead.models import anthropic, google, openai
from fairlead.models.records import ModelFailed, Profile, Question, Reply, Tool, ToolCall, Usage
from tests.models.provider import KEY, WIRES, stream, whole

MODULES: dict[str, ModuleType] = {"openai": openai, "anthropic": anthropic, "google": google}
ADDRESSES = {"openai": openai.BASE_URL, "anthropic": anthropic.BASE_URL, "google": google.BASE_URL}
SCHEMA = {"type": "object", "properties": {"ok": {"type": "boolean"}}, "required": ["ok"]}
H = "http://h"
CLOSED = {"additionalProperties": False, **SCHEMA}
LOOK = Tool(
    name="read",
    description="a file",
    parameters={"type": "object", "properties": {"path": {"type": "string"}}, "additionalProperties": False},
)
PLAIN = Question(system="be strict", messages=({"role": "user", "content": "judge this"},))
Json = dict[str, Any]


def profile(wire: str, **fields: Any) -> Profile:
    about: Json = {"name": "models.x", "provider": wire, "model": "m-1", "base_url": ADDRESSES[wire], "api_key": KEY}
    return Profile(**{**about, **fields})


def body(wire: str, question: Question = PLAIN, **fields: Any) -> Json:
    found: Json = MODULES[wire].request(profile(wire, **fields), question).body
    return found


def decoded(events: list[bytes]) -> list[Any]:
    lines = [line for event in events for line in event.decode().splitlines() if line.startswith("data: {")]
    return [json.loads(line[6:]) for line in lines]


class TestAsking:
    def test_openai(self) -> None:
        assert body("openai", PLAIN.but(schema=SCHEMA)) == {
            "model": "m-1",
            "messages": [{"role": "system", "content": "be strict"}, {"role": "user", "content": "judge this"}],
            "max_completion_tokens": 1024,
            "temperature": 0,
            "response_format": {
                "type": "json_schema",
                "json_schema": {"name": "answer", "strict": True, "schema": CLOSED},
            },
        }

    def test_anthropic(self) -> None:
        assert body("anthropic", PLAIN.but(schema=SCHEMA)) == {
            "model": "m-1",
            "max_tokens": 1024,
            "messages": [{"role": "user", "content": "judge this"}],
            "system": "be strict",
            "temperature": 0,
            "output_config": {"format": {"type": "json_schema", "schema": CLOSED}},
        }

    def test_google(self) -> None:
        assert body("google", PLAIN.but(schema=CLOSED)) == {
            "contents": [{"role": "user", "parts": [{"text": "judge this"}]}],
            "systemInstruction": {"parts": [{"text": "be strict"}]},
            "generationConfig": {
                "temperature": 0,
                "maxOutputTokens": 1024,
                "responseMimeType": "application/json",
                "responseSchema": {
                    "type": "OBJECT",
                    "properties": {"ok": {"type": "BOOLEAN"}},
                    "propertyOrdering": ["ok"],
                    "required": ["ok"],
                },
            },
        }

    @pytest.mark.parametrize(
        ("wire", "fields", "url", "header"),
        [
            ("openai", {}, "https://api.openai.com/v1/chat/completions", ("Authorization", f"Bearer {KEY}")),
            ("openai", {"base_url": "http://127.0.0.1:1/v1/"}, "http://127.0.0.1:1/v1/chat/completions", None),
            ("openai", {"base_url": "http://h/v1/chat/completions"}, "http://h/v1/chat/completions", None),
            ("openai", {"base_url": "http://h/v1?api-version=2"}, "http://h/v1/chat/completions?api-version=2", None),
            ("anthropic", {}, "https://api.anthropic.com/v1/messages", ("x-api-key", KEY)),
            ("anthropic", {"base_url": "http://h/v1"}, "http://h/v1/messages", None),
            (
                "anthropic",
                {"bearer": True},
                "https://api.anthropic.com/v1/messages",
                ("Authorization", f"Bearer {KEY}"),
            ),
            (
                "google",
                {},
                "https://generativelanguage.googleapis.com/v1beta/models/m-1:generateContent",
                ("x-goog-api-key", KEY),
            ),
            ("google", {"base_url": "http://h/v1beta"}, "http://h/v1beta/models/m-1:generateContent", None),
            (
                "google",
                {"base_url": "http://h", "model": "models/a/../b?c#d"},
                "http://h/v1beta/models/a%2F..%2Fb%3Fc%23d:generateContent",
                None,
            ),
        ],
    )
    def test_where_and_with_which_key(self, wire: str, fields: Json, url: str, header: tuple[str, str] | None) -> None:
        request = MODULES[wire].request(profile(wire, **fields), PLAIN)
        assert request.url == url
        assert KEY not in request.url
        if header:
            assert request.headers[header[0]] == header[1]

    @pytest.mark.parametrize("wire", WIRES)
    def test_without_a_key_none_is_sent(self, wire: str) -> None:
        headers = MODULES[wire].request(profile(wire, api_key=""), PLAIN).headers
        assert set(headers) <= {"anthropic-version"}

    @pytest.mark.parametrize("wire", WIRES)
    def test_the_key_is_in_no_body(self, wire: str) -> None:
        assert KEY not in json.dumps(body(wire, PLAIN.but(schema=SCHEMA, tools=(LOOK,))))

    @pytest.mark.parametrize(
        ("wire", "model"),
        [
            ("openai", "gpt-5.4-mini"),
            ("openai", "o3"),
            ("anthropic", "claude-haiku-5-5"),
            ("anthropic", "claude-opus-4-8"),
        ],
    )
    def test_models_that_take_no_temperature_get_none(self, wire: str, model: str) -> None:
        assert "temperature" not in body(wire, model=model)

    def test_compatible_servers_get_the_old_name_of_the_cap(self) -> None:
        assert body("openai", base_url="http://127.0.0.1:1/v1", max_tokens=9)["max_tokens"] == 9

    def test_a_schema_with_optional_properties_is_not_strict(self) -> None:
        loose = {"type": "object", "properties": {"ok": {"type": "boolean"}, "why": {"type": "string"}}}
        shape = body("openai", PLAIN.but(schema={**loose, "required": ["ok"]}))["response_format"]["json_schema"]
        assert shape["strict"] is False

    def test_google_gets_only_what_it_knows_of_a_schema(self) -> None:
        schema = {
            "$schema": "x",
            "type": "object",
            "additionalProperties": False,
            "properties": {
                "why": {"type": ["string", "null"], "maxLength": 5, "description": "d"},
                "what": {"type": "array", "items": {"type": "string", "enum": ["a", "b"]}},
            },
        }
        assert body("google", PLAIN.but(schema=schema))["generationConfig"]["responseSchema"] == {
            "type": "OBJECT",
            "propertyOrdering": ["why", "what"],
            "properties": {
                "why": {"type": "STRING", "nullable": True, "description": "d"},
                "what": {"type": "ARRAY", "items": {"type": "STRING", "enum": ["a", "b"]}},
            },
        }


TALK = Question(
    system="s",
    tools=(LOOK,),
    messages=(
        {"role": "user", "content": "look"},
        {
            "role": "assistant",
            "content": "one moment",
            "calls": [
                ToolCall(id="a", name="read", arguments={"path": "x"}),
                ToolCall(id="b", name="read", arguments={"path": "y"}),
            ],
        },
        {"role": "tool", "id": "a", "name": "read", "content": "of x"},
        {"role": "tool", "id": "b", "name": "read", "content": "of y"},
        {"role": "user", "content": "well?"},
    ),
)


class TestTools:
    def test_openai(self) -> None:
        found = body("openai", TALK)
        assert found["tools"] == [
            {"type": "function", "function": {"name": "read", "description": "a file", "parameters": LOOK.parameters}}
        ]
        assert found["messages"][2:] == [
            {
                "role": "assistant",
                "content": "one moment",
                "tool_calls": [
                    {"id": "a", "type": "function", "function": {"name": "read", "arguments": '{"path":"x"}'}},
                    {"id": "b", "type": "function", "function": {"name": "read", "arguments": '{"path":"y"}'}},
                ],
            },
            {"role": "tool", "tool_call_id": "a", "content": "of x"},
            {"role": "tool", "tool_call_id": "b", "content": "of y"},
            {"role": "user", "content": "well?"},
        ]

    def test_anthropic_gets_the_results_of_a_turn_in_one_message(self) -> None:
        found = body("anthropic", TALK)
        assert found["tools"] == [{"name": "read", "description": "a file", "input_schema": LOOK.parameters}]
        assert found["messages"][1:] == [
            {
                "role": "assistant",
                "content": [
                    {"type": "text", "text": "one moment"},
                    {"type": "tool_use", "id": "a", "name": "read", "input": {"path": "x"}},
                    {"type": "tool_use", "id": "b", "name": "read", "input": {"path": "y"}},
                ],
            },
            {
                "role": "user",
                "content": [
                    {"type": "tool_result", "tool_use_id": "a", "content": "of x"},
                    {"type": "tool_result", "tool_use_id": "b", "content": "of y"},
                ],
            },
            {"role": "user", "content": "well?"},
        ]

    def test_google_gets_the_results_of_a_turn_in_one_message(self) -> None:
        found = body("google", TALK.but(schema=SCHEMA))
        assert "responseSchema" not in found["generationConfig"]
        assert found["tools"] == [
            {
                "functionDeclarations": [
                    {
                        "name": "read",
                        "description": "a file",
                        "parameters": {
                            "type": "OBJECT",
                            "properties": {"path": {"type": "STRING"}},
                            "propertyOrdering": ["path"],
                        },
                    }
                ]
            }
        ]
        assert found["contents"][1:] == [
            {
                "role": "model",
                "parts": [
                    {"text": "one moment"},
                    {"functionCall": {"name": "read", "args": {"path": "x"}, "id": "a"}},
                    {"functionCall": {"name": "read", "args": {"path": "y"}, "id": "b"}},
                ],
            },
            {
                "role": "user",
                "parts": [
                    {"functionResponse": {"name": "read", "response": {"result": "of x"}, "id": "a"}},
                    {"functionResponse": {"name": "read", "response": {"result": "of y"}, "id": "b"}},
                ],
            },
            {"role": "user", "parts": [{"text": "well?"}]},
        ]

    @pytest.mark.parametrize(
        ("wire", "answer"),
        [
            (
                "anthropic",
                {
                    "content": [
                        {"type": "thinking", "thinking": "hm", "signature": "s1"},
                        {"type": "tool_use", "id": "t", "name": "read", "input": {"path": "x"}},
                    ],
                    "stop_reason": "tool_use",
                },
            ),
            (
                "google",
                {
                    "candidates": [
                        {
                            "content": {
                                "parts": [{"functionCall": {"name": "read", "args": {}}, "thoughtSignature": "s1"}]
                            },
                            "finishReason": "STOP",
                        }
                    ]
                },
            ),
            (
                "openai",
                {
                    "choices": [
                        {
                            "message": {
                                "reasoning_content": "s1",
                                "tool_calls": [
                                    {
                                        "id": "t",
                                        "function": {"name": "read", "arguments": "{}"},
                                        "extra_content": {"google": {"thought_signature": "s2"}},
                                    }
                                ],
                            },
                            "finish_reason": "tool_calls",
                        }
                    ]
                },
            ),
        ],
        ids=["anthropic", "google", "openai"],
    )
    def test_what_a_model_thought_before_a_call_goes_back_with_it(self, wire: str, answer: Json) -> None:
        reply: Reply = MODULES[wire].read(answer)
        assert reply.finished
        turn = {"role": "assistant", "content": reply.text, "calls": list(reply.calls)}
        written = json.dumps(body(wire, PLAIN.but(messages=(*PLAIN.messages, turn))))
        assert "s1" in written
        assert ("s2" in written) == (wire == "openai")

    def test_a_call_that_got_its_name_from_us_is_not_given_back_with_it(self) -> None:
        reply = google.read(whole("google", "", (("read", {}),)))
        turn = {"role": "assistant", "content": "", "calls": list(reply.calls)}
        result = {"role": "tool", "id": reply.calls[0].id, "name": "read", "content": "x"}
        assert "fairlead" not in json.dumps(body("google", PLAIN.but(messages=(turn, result))))


class TestReading:
    @pytest.mark.parametrize("wire", WIRES)
    def test_a_whole_answer(self, wire: str) -> None:
        assert MODULES[wire].read(whole(wire, "fine")) == Reply(
            text="fine", usage=Usage(input_tokens=11, output_tokens=7), model="test-model-2026"
        )

    @pytest.mark.parametrize("wire", WIRES)
    @pytest.mark.parametrize("end", ["length", "refusal"])
    def test_a_cut_answer_and_a_refusal_are_not_finished(self, wire: str, end: str) -> None:
        reply = MODULES[wire].read(whole(wire, "ALLOW", end=end))
        assert (reply.text, reply.finished) == ("ALLOW", False)

    @pytest.mark.parametrize("wire", WIRES)
    def test_calls(self, wire: str) -> None:
        reply = MODULES[wire].read(whole(wire, "so", (("read", {"path": "x"}), ("list", {}))))
        assert [(call.name, call.arguments) for call in reply.calls] == [("read", {"path": "x"}), ("list", {})]
        assert len({call.id for call in reply.calls}) == 2
        assert reply.finished

    @pytest.mark.parametrize("wire", WIRES)
    @given(text=st.text())
    def test_a_stream_says_the_same_as_a_whole_answer(self, wire: str, text: str) -> None:
        module, wanted = MODULES[wire], (("read", {"path": text}),)
        streamed = module.read(module.joined(decoded(stream(wire, text, wanted))))
        assert streamed.but(calls=()) == module.read(whole(wire, text, wanted)).but(calls=())
        assert streamed.calls[0].arguments == {"path": text}

    @pytest.mark.parametrize("wire", WIRES)
    def test_half_a_stream_is_not_finished(self, wire: str) -> None:
        module = MODULES[wire]
        events = decoded(stream(wire, "ALLOW, and more of it"))
        for count in range(2, len(events) - 1):
            try:
                assert not module.read(module.joined(events[:count])).finished
            except ModelFailed:
                pass

    @pytest.mark.parametrize(
        ("body", "text", "finished"),
        [
            ({"blockReason": "SAFETY"}, "SAFETY", False),
            ({"blockReason": "PROHIBITED_CONTENT"}, "PROHIBITED_CONTENT", False),
        ],
    )
    def test_google_may_refuse_the_question_itself(self, body: Json, text: str, finished: bool) -> None:
        reply = google.read({"promptFeedback": body})
        assert (reply.text, reply.finished) == (text, finished)

    @pytest.mark.parametrize(
        ("said", "text", "finished"),
        [
            ("<think>shall I? ALLOW</think>\nBLOCK", "BLOCK", True),
            ("\n<think></think>BLOCK", "BLOCK", True),
            ("<think>ALLOW", "", False),
            ("I <think> so", "I <think> so", True),
        ],
    )
    def test_what_a_local_model_thinks_aloud_is_no_answer(self, said: str, text: str, finished: bool) -> None:
        reply = openai.read(whole("openai", said))
        assert (reply.text, reply.finished) == (text, finished)

    @pytest.mark.parametrize(
        "reason", [None, "", "length", "content_filter", "max_tokens", "MAX_TOKENS", "error", 5, ["stop"]]
    )
    def test_an_end_that_nobody_knows_is_none(self, reason: Any) -> None:
        choice = {"message": {"content": "ALLOW"}, "finish_reason": reason}
        assert not openai.read({"choices": [choice]}).finished
        assert not anthropic.read({"content": [{"type": "text", "text": "ALLOW"}], "stop_reason": str(reason)}).finished

    def test_thoughts_of_google_are_no_answer(self) -> None:
        parts = [{"text": "ALLOW", "thought": True}, {"text": "BLOCK"}]
        found = google.read({"candidates": [{"content": {"parts": parts}, "finishReason": "STOP"}]})
        assert found.text == "BLOCK"

    def test_arguments_that_are_no_json_are_none(self) -> None:
        call = {"id": "a", "function": {"name": "read", "arguments": "{oops"}}
        choice = {"message": {"tool_calls": [call]}, "finish_reason": "tool_calls"}
        assert openai.read({"choices": [choice]}).calls == (ToolCall(id="a", name="read", arguments={}),)

    def test_content_in_parts_is_joined(self) -> None:
        parts = [{"type": "text", "text": "AL"}, {"type": "text", "text": "LOW"}]
        assert openai.read({"choices": [{"message": {"content": parts}, "finish_reason": "stop"}]}).text == "ALLOW"


KEYS = [
    "choices", "message", "delta", "content", "refusal", "tool_calls", "function", "name", "arguments", "index", "type",
    "finish_reason", "stop_reason", "usage", "prompt_tokens", "text", "input", "content_block", "candidates", "parts",
    "functionCall", "args", "usageMetadata", "promptFeedback", "blockReason", "finishReason", "error", "id",
]  # fmt: skip
LEAVES = st.none() | st.booleans() | st.integers() | st.sampled_from([*KEYS, "message_start", "content_block_delta"])
ANYTHING = st.recursive(
    LEAVES,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.sampled_from(KEYS), inner, max_size=5),
    max_leaves=30,
)


@pytest.mark.parametrize("wire", WIRES)
@given(value=ANYTHING)
def test_whatever_a_server_sends_is_an_answer_or_an_error_for_people(wire: str, value: Any) -> None:
    module = MODULES[wire]
    for body in (value, module.joined(value if isinstance(value, list) else [value])):
        try:
            assert isinstance(module.read(body), Reply)
        except ModelFailed:
            pass


class TestSimpler:
    """A server that does not know something is asked without it."""

    @pytest.mark.parametrize(
        ("wire", "complaint", "gone"),
        [
            ("openai", "Unsupported value: 'temperature' does not support 0", "temperature"),
            ("openai", "'response_format.type' must be 'text' or 'json_object'", "response_format"),
            ("openai", "this model does not support structured outputs", "response_format"),
            ("openai", "failed to parse grammar", "response_format"),
            ("anthropic", "`temperature` is deprecated for this model.", "temperature"),
            ("anthropic", "output_config: Extra inputs are not permitted", "output_config"),
        ],
    )
    def test_without_what_it_names(self, wire: str, complaint: str, gone: str) -> None:
        before = body(wire, PLAIN.but(schema=SCHEMA))
        assert MODULES[wire].simpler(before, complaint) == {k: v for k, v in before.items() if k != gone}

    @pytest.mark.parametrize(
        ("complaint", "gone"),
        [
            ("Unknown name temperature", {"temperature"}),
            ("mime type is unsupported", {"responseMimeType", "responseSchema"}),
        ],
    )
    def test_google(self, complaint: str, gone: set[str]) -> None:
        before = body("google", PLAIN.but(schema=SCHEMA))
        after = google.simpler(before, complaint)
        assert after is not None
        assert before["generationConfig"].keys() - after["generationConfig"].keys() == gone

    @pytest.mark.parametrize(
        ("base_url", "new"), [(openai.BASE_URL, "max_tokens"), ("http://h", "max_completion_tokens")]
    )
    def test_the_cap_has_two_names(self, base_url: str, new: str) -> None:
        after = openai.simpler(
            body("openai", base_url=base_url), "'max_tokens' is not supported: 'max_completion_tokens'"
        )
        assert after is not None
        assert after[new] == 1024

    @pytest.mark.parametrize("wire", WIRES)
    def test_nothing_of_ours_is_left_out_for_another_complaint(self, wire: str) -> None:
        assert MODULES[wire].simpler(body(wire, PLAIN.but(schema=SCHEMA)), "you have no credit") is None

    @pytest.mark.parametrize("wire", WIRES)
    def test_what_is_not_there_cannot_be_left_out(self, wire: str) -> None:
        assert MODULES[wire].simpler(body(wire), "schema") is None


def test_a_profile_and_a_request_do_not_show_the_key() -> None:
    shown = profile("openai", base_url=f"http://h/v1?key={KEY}")
    request = openai.request(shown, PLAIN)
    for text in (repr(shown), str(shown), f"{shown!r}{request!r}{request}", repr([shown, request])):
        assert KEY not in text


@pytest.mark.parametrize(
    ("prices", "cost"), [((None, None), None), ((3.0, None), None), ((3.0, 15.0), (11 * 3.0 + 7 * 15.0) / 1e6)]
)
def test_what_an_answer_costs(prices: tuple[float | None, float | None], cost: float | None) -> None:
    found = profile("openai", input_price=prices[0], output_price=prices[1])
    assert found.cost(Usage(input_tokens=11, output_tokens=7)) == cost
