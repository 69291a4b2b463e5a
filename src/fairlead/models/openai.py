"""OpenAI's chat completions, which many servers speak: Ollama, vLLM, llama.cpp, gateways."""

from __future__ import annotations

from fairlead import wire
from fairlead.models._shapes import (
    OWN_ID,
    address,
    arguments,
    closed,
    decoded,
    items,
    names_any,
    no_answer,
    table,
    text,
    usage,
    without,
)
from fairlead.models.records import Reply, Request, ToolCall

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from fairlead.models.records import Profile, Question

BASE_URL = "https://api.openai.com/v1"

_FINISHED = frozenset({"stop", "tool_calls", "function_call", "end_turn", "stop_sequence", "tool_use", "eos"})
_THINKING = ("o1", "o3", "o4", "gpt-5", "gpt-6")
"""Models that take no temperature."""
_KEPT = ("reasoning_content", "reasoning_details")
"""What some servers want back beside the calls that it led to."""
_CAPS = ("max_tokens", "max_completion_tokens")
_ABOUT_SCHEMAS = ("response_format", "json_schema", "schema", "structured", "grammar", "guided")


# --- asking ------------------------------------------------------------------------------------------


def request(profile: Profile, question: Question) -> Request:
    headers = {"Authorization": f"Bearer {profile.api_key}"} if profile.api_key else {}
    url = address(profile.base_url.removesuffix("/chat/completions"), "chat/completions")
    return Request(url=url, headers=headers, body=_body(profile, question))


def _body(profile: Profile, question: Question) -> dict[str, Any]:
    body: dict[str, Any] = {"model": profile.model, "messages": _messages(question)}
    # Compatible servers know the old name only, and OpenAI's own models the new one.
    body[_CAPS[profile.base_url.startswith(BASE_URL)]] = profile.max_tokens
    if not profile.model.startswith(_THINKING):
        body["temperature"] = 0
    if question.schema is not None:
        body["response_format"] = {"type": "json_schema", "json_schema": _schema(question.schema)}
    if question.tools:
        body["tools"] = [{"type": "function", "function": tool.as_dict()} for tool in question.tools]
    return body


def _schema(schema: dict[str, Any]) -> dict[str, Any]:
    shape = closed(schema)
    return {"name": "answer", "strict": _can_be_strict(shape), "schema": shape}


def _can_be_strict(schema: Any) -> bool:
    """OpenAI refuses a strict schema with properties that may be absent."""
    if isinstance(schema, list):
        return all(map(_can_be_strict, schema))
    if not isinstance(schema, dict):
        return True
    properties = schema.get("properties", {})
    return set(properties) <= set(schema.get("required", ())) and all(map(_can_be_strict, schema.values()))


def _messages(question: Question) -> list[dict[str, Any]]:
    system = [{"role": "system", "content": question.system}] if question.system else []
    return [*system, *map(_message, question.messages)]


def _message(message: dict[str, Any]) -> dict[str, Any]:
    if message["role"] == "tool":
        return {"role": "tool", "tool_call_id": message["id"], "content": message["content"]}
    calls = message.get("calls") or ()
    if not calls:
        return {"role": message["role"], "content": message["content"]}
    kept = table(decoded(calls[0].signature))
    beside = {key: kept[key] for key in _KEPT if key in kept}
    return {"role": "assistant", "content": message["content"] or None, "tool_calls": list(map(_call, calls)), **beside}


def _call(call: ToolCall) -> dict[str, Any]:
    function = {"name": call.name, "arguments": wire.encode_text(call.arguments)}
    extra = table(table(decoded(call.signature)).get("extra_content"))
    return {"id": call.id, "type": "function", "function": function, **({"extra_content": extra} if extra else {})}


def simpler(body: dict[str, Any], complaint: str) -> dict[str, Any] | None:
    """The same without what a server says that it does not know; None where that is nothing of ours."""
    if "temperature" in body and names_any(complaint, ("temperature",)):
        return without(body, "temperature")
    if names_any(complaint, _CAPS):
        return _with_other_cap(body)
    return without(body, "response_format") if names_any(complaint, _ABOUT_SCHEMAS) else None


def _with_other_cap(body: dict[str, Any]) -> dict[str, Any]:
    old = _CAPS["max_tokens" not in body]
    return {_CAPS[1 - _CAPS.index(key)] if key == old else key: value for key, value in body.items()}


# --- the answer --------------------------------------------------------------------------------------


def read(body: Any) -> Reply:
    choice = next(iter(items(table(body).get("choices"))), None)
    if choice is None or not isinstance(choice.get("message"), dict):
        raise no_answer("message")
    message, counts = choice["message"], table(body.get("usage"))
    refusal = text(message.get("refusal"))
    said, thought_to_the_end = _without_thoughts(_said(message.get("content")))
    return Reply(
        text=refusal or said,
        calls=_calls(message),
        usage=usage([counts.get("prompt_tokens")], [counts.get("completion_tokens")]),
        model=text(body.get("model")),
        finished=text(choice.get("finish_reason")).lower() in _FINISHED and not refusal and thought_to_the_end,
    )


def _said(content: Any) -> str:
    return content if isinstance(content, str) else "".join(text(part.get("text")) for part in items(content))


def _without_thoughts(said: str) -> tuple[str, bool]:
    """Local models think aloud before they answer; whether they came to an end with it."""
    start = said.lstrip()
    if not start.startswith("<think>"):
        return said, True
    _, end, answer = start.partition("</think>")
    return answer.lstrip(), bool(end)


def _calls(message: dict[str, Any]) -> tuple[ToolCall, ...]:
    kept = {key: message[key] for key in _KEPT if message.get(key)}
    return tuple(
        ToolCall(
            id=text(one.get("id")) or f"{OWN_ID}{index}",
            name=text(table(one.get("function")).get("name")),
            arguments=arguments(table(one.get("function")).get("arguments")),
            signature=_signature(one, kept if index == 0 else {}),
        )
        for index, one in enumerate(items(message.get("tool_calls")))
    )


def _signature(call: dict[str, Any], kept: dict[str, Any]) -> str:
    extra = {"extra_content": call["extra_content"]} if isinstance(call.get("extra_content"), dict) else {}
    return wire.encode_text(kept | extra) if kept or extra else ""


# --- a stream that nobody asked for ------------------------------------------------------------------


def joined(parts: list[Any]) -> dict[str, Any]:
    """The answer that a stream tells bit by bit."""
    message: dict[str, Any] = {"content": "", "refusal": "", "tool_calls": []}
    whole: dict[str, Any] = {"choices": [{"message": message, "finish_reason": None}]}
    for part in items(parts):
        whole |= {key: part[key] for key in ("model", "usage", "error") if part.get(key)}
        for choice in items(part.get("choices"))[:1]:
            _add(message, table(choice.get("delta") or choice.get("message")))
            whole["choices"][0]["finish_reason"] = choice.get("finish_reason") or whole["choices"][0]["finish_reason"]
    return whole


def _add(message: dict[str, Any], delta: dict[str, Any]) -> None:
    for key in ("content", "refusal", "reasoning_content"):
        if isinstance(delta.get(key), str):
            message[key] = text(message.get(key)) + delta[key]
    for one in items(delta.get("tool_calls")):
        _add_call(message["tool_calls"], one)


def _add_call(calls: list[dict[str, Any]], bit: dict[str, Any]) -> None:
    index = bit.get("index")
    found = next((call for call in calls if call["index"] == index), None) if isinstance(index, int) else None
    if found is None:
        found = {"index": index, "function": {"name": "", "arguments": ""}}
        calls.append(found)
    found |= {key: bit[key] for key in ("id", "extra_content") if bit.get(key)}
    function = table(bit.get("function"))
    found["function"]["name"] = text(function.get("name")) or found["function"]["name"]
    found["function"]["arguments"] += text(function.get("arguments"))
