"""Anthropic's messages."""

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

BASE_URL = "https://api.anthropic.com"

_VERSION = "2023-06-01"
_FINISHED = frozenset({"end_turn", "stop_sequence", "tool_use"})
_NO_TEMPERATURE = (
    "claude-opus-4-7", "claude-opus-4-8", "claude-haiku-5", "claude-sonnet-5", "claude-opus-5", "claude-fable",
    "claude-mythos",
)  # fmt: skip
_THOUGHTS = ("thinking", "redacted_thinking")
_ABOUT_SCHEMAS = ("output_config", "output_format", "schema", "structured", "format")
_ASKED = ("input_tokens", "cache_creation_input_tokens", "cache_read_input_tokens")


# --- asking ------------------------------------------------------------------------------------------


def request(profile: Profile, question: Question) -> Request:
    headers = {"anthropic-version": _VERSION, **_key(profile)}
    url = address(profile.base_url, "v1/messages", after=("v1",))
    return Request(url=url, headers=headers, body=_body(profile, question))


def _key(profile: Profile) -> dict[str, str]:
    if not profile.api_key:
        return {}
    return {"Authorization": f"Bearer {profile.api_key}"} if profile.bearer else {"x-api-key": profile.api_key}


def _body(profile: Profile, question: Question) -> dict[str, Any]:
    body: dict[str, Any] = {
        "model": profile.model,
        "max_tokens": profile.max_tokens,
        "messages": _messages(question.messages),
    }
    if question.system:
        body["system"] = question.system
    if not profile.model.startswith(_NO_TEMPERATURE):
        body["temperature"] = 0
    if question.schema is not None:
        body["output_config"] = {"format": {"type": "json_schema", "schema": closed(question.schema)}}
    if question.tools:
        body["tools"] = [
            {"name": tool.name, "description": tool.description, "input_schema": tool.parameters}
            for tool in question.tools
        ]
    return body


def _messages(messages: tuple[dict[str, Any], ...]) -> list[dict[str, Any]]:
    """The results of one turn's calls stand together, as the answer of the user."""
    found: list[dict[str, Any]] = []
    for message in messages:
        if message["role"] != "tool":
            found.append({"role": message["role"], "content": _content(message)})
            continue
        result = {"type": "tool_result", "tool_use_id": message["id"], "content": message["content"]}
        if found and found[-1]["role"] == "user" and isinstance(found[-1]["content"], list):
            found[-1]["content"].append(result)
        else:
            found.append({"role": "user", "content": [result]})
    return found


def _content(message: dict[str, Any]) -> str | list[dict[str, Any]]:
    said: str = message["content"]
    calls = message.get("calls") or ()
    if not calls:
        return said
    thoughts = [block for block in items(decoded(calls[0].signature)) if block.get("type") in _THOUGHTS]
    words = [{"type": "text", "text": said}] if said.strip() else []
    return [*thoughts, *words, *map(_call, calls)]


def _call(call: ToolCall) -> dict[str, Any]:
    return {"type": "tool_use", "id": call.id, "name": call.name, "input": call.arguments}


def simpler(body: dict[str, Any], complaint: str) -> dict[str, Any] | None:
    """The same without what a server says that it does not know; None where that is nothing of ours."""
    if "temperature" in body and names_any(complaint, ("temperature",)):
        return without(body, "temperature")
    return without(body, "output_config") if names_any(complaint, _ABOUT_SCHEMAS) else None


# --- the answer --------------------------------------------------------------------------------------


def read(body: Any) -> Reply:
    if not isinstance(body, dict) or not isinstance(body.get("content"), list):
        raise no_answer("content")
    blocks, counts = items(body["content"]), table(body.get("usage"))
    said = "".join(text(block.get("text")) for block in blocks if block.get("type") == "text")
    return Reply(
        text=said or text(table(body.get("stop_details")).get("explanation")),
        calls=_calls(blocks),
        usage=usage([counts.get(name) for name in _ASKED], [counts.get("output_tokens")]),
        model=text(body.get("model")),
        finished=body.get("stop_reason") in _FINISHED,
    )


def _calls(blocks: list[dict[str, Any]]) -> tuple[ToolCall, ...]:
    thoughts = [block for block in blocks if block.get("type") in _THOUGHTS]
    signature = wire.encode_text(thoughts) if thoughts else ""
    return tuple(
        ToolCall(
            id=text(block.get("id")) or f"{OWN_ID}{index}",
            name=text(block.get("name")),
            arguments=arguments(block.get("input")),
            signature="" if index else signature,
        )
        for index, block in enumerate(block for block in blocks if block.get("type") == "tool_use")
    )


# --- a stream that nobody asked for ------------------------------------------------------------------


def joined(parts: list[Any]) -> dict[str, Any]:
    """The answer that a stream tells bit by bit."""
    whole: dict[str, Any] = {"content": [], "usage": {}}
    blocks: dict[Any, dict[str, Any]] = {}
    for part in items(parts):
        kind = part.get("type")
        if kind == "message_start":
            message = table(part.get("message"))
            whole |= {"model": message.get("model"), "usage": dict(table(message.get("usage")))}
        elif kind == "content_block_start":
            blocks[part.get("index")] = dict(table(part.get("content_block")))
        elif kind == "content_block_delta":
            _add(blocks.setdefault(part.get("index"), {"type": "text"}), table(part.get("delta")))
        elif kind == "message_delta":
            whole |= table(part.get("delta"))
            whole["usage"] |= table(part.get("usage"))
        elif kind == "error":
            whole["error"] = part.get("error")
    whole["content"] = list(blocks.values())
    return whole


_BITS = {"text_delta": "text", "thinking_delta": "thinking", "signature_delta": "signature"}


def _add(block: dict[str, Any], delta: dict[str, Any]) -> None:
    key = _BITS.get(text(delta.get("type")), "")
    if key:
        block[key] = text(block.get(key)) + text(delta.get(key))
    elif delta.get("type") == "input_json_delta":
        before = block.get("input")
        block["input"] = (before if isinstance(before, str) else "") + text(delta.get("partial_json"))
