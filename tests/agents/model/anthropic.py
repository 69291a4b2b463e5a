"""Anthropic Messages, streamed and whole."""

from __future__ import annotations

import re

from tests.agents.model.script import Answer, Body, Turn, as_events, as_json, text_of

PATH = re.compile(r"/v1/messages$")
USAGE = {"input_tokens": 100, "output_tokens": 10, "cache_creation_input_tokens": 0, "cache_read_input_tokens": 0}


def is_turn(body: Body) -> bool:
    return bool(body.get("tools"))


def answer(_path: str, body: Body, turn: Turn) -> Answer:
    return as_events(_events(body, turn), named=True) if body.get("stream") else as_json(_message(body, turn))


def results(body: Body) -> list[str]:
    blocks = [
        block for message in body["messages"] if isinstance(message["content"], list) for block in message["content"]
    ]
    return [text_of(block.get("content")) for block in blocks if block.get("type") == "tool_result"]


def _message(body: Body, turn: Turn) -> Body:
    return {
        "id": f"msg_{turn.number:03}",
        "type": "message",
        "role": "assistant",
        "model": body.get("model", "model"),
        "content": _blocks(turn),
        "stop_reason": _stop_reason(turn),
        "stop_sequence": None,
        "usage": USAGE,
    }


def _blocks(turn: Turn) -> list[Body]:
    text = [{"type": "text", "text": turn.text}] if turn.text else []
    calls = [
        {"type": "tool_use", "id": f"toolu_{name}", "name": call.tool, "input": call.input}
        for name, call in turn.named_calls()
    ]
    return [*text, *calls]


def _stop_reason(turn: Turn) -> str:
    return "tool_use" if turn.calls else "end_turn"


def _events(body: Body, turn: Turn) -> list[Body]:
    empty = {**_message(body, turn), "content": [], "stop_reason": None}
    middle = [event for index, block in enumerate(_blocks(turn)) for event in _block_events(index, block, turn)]
    end = {"type": "message_delta", "delta": {"stop_reason": _stop_reason(turn), "stop_sequence": None}, "usage": USAGE}
    return [{"type": "message_start", "message": empty}, *middle, end, {"type": "message_stop"}]


def _block_events(index: int, block: Body, turn: Turn) -> list[Body]:
    if block["type"] == "text":
        start, delta = {**block, "text": ""}, {"type": "text_delta", "text": block["text"]}
    else:
        arguments = {f"toolu_{name}": call.arguments for name, call in turn.named_calls()}[block["id"]]
        start, delta = {**block, "input": {}}, {"type": "input_json_delta", "partial_json": arguments}
    return [
        {"type": "content_block_start", "index": index, "content_block": start},
        {"type": "content_block_delta", "index": index, "delta": delta},
        {"type": "content_block_stop", "index": index},
    ]
