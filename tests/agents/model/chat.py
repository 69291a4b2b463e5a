"""OpenAI Chat Completions, streamed and whole."""

from __future__ import annotations

import re

from tests.agents.model.script import Answer, Body, Call, Turn, as_events, as_json, text_of

PATH = re.compile(r"/v1/chat/completions$")
USAGE = {"prompt_tokens": 100, "completion_tokens": 10, "total_tokens": 110}


def is_turn(body: Body) -> bool:
    return bool(body.get("tools"))


def answer(_path: str, body: Body, turn: Turn) -> Answer:
    message: Body = {"role": "assistant", "content": turn.text or None}
    if turn.calls:
        message["tool_calls"] = [_call(i, name, call) for i, (name, call) in enumerate(turn.named_calls())]
    if not body.get("stream"):
        choice = {"index": 0, "message": message, "finish_reason": _finish(turn)}
        return as_json({**_head(body, turn, "chat.completion"), "choices": [choice], "usage": USAGE})
    head = _head(body, turn, "chat.completion.chunk")
    first = {**head, "choices": [{"index": 0, "delta": message, "finish_reason": None}]}
    end = {**head, "choices": [{"index": 0, "delta": {}, "finish_reason": _finish(turn)}], "usage": USAGE}
    return as_events([first, end], last="data: [DONE]\n\n")


def results(body: Body) -> list[str]:
    return [text_of(message.get("content")) for message in body["messages"] if message["role"] == "tool"]


def _head(body: Body, turn: Turn, kind: str) -> Body:
    return {"id": f"chatcmpl-{turn.number:03}", "object": kind, "created": 1, "model": body.get("model", "model")}


def _finish(turn: Turn) -> str:
    return "tool_calls" if turn.calls else "stop"


def _call(index: int, name: str, call: Call) -> Body:
    function = {"name": call.tool, "arguments": call.arguments}
    return {"index": index, "id": name, "type": "function", "function": function}
