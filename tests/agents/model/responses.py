"""OpenAI Responses, streamed."""

from __future__ import annotations

import re

from tests.agents.model.script import Answer, Body, Call, Turn, as_events, text_of

PATH = re.compile(r"/v1/responses$")
USAGE = {
    "input_tokens": 100,
    "input_tokens_details": {"cached_tokens": 0},
    "output_tokens": 10,
    "output_tokens_details": {"reasoning_tokens": 0},
    "total_tokens": 110,
}
_RESULTS = ("function_call_output", "custom_tool_call_output")


def is_turn(body: Body) -> bool:
    """Some models are told of their tools in the conversation itself."""
    return bool(body.get("tools")) or any(item.get("type") == "additional_tools" for item in body["input"])


def answer(_path: str, _body: Body, turn: Turn) -> Answer:
    done = [{"type": "response.output_item.done", "output_index": i, "item": x} for i, x in enumerate(_items(turn))]
    response: Body = {"id": f"resp_{turn.number:03}", "object": "response", "output": [], "usage": None}
    completed = {**response, "status": "completed", "output": _items(turn), "usage": USAGE}
    return as_events(
        [
            {"type": "response.created", "response": {**response, "status": "in_progress"}},
            *done,
            {"type": "response.completed", "response": completed},
        ],
        named=True,
    )


def results(body: Body) -> list[str]:
    return [text_of(item.get("output")) for item in body["input"] if item.get("type") in _RESULTS]


def _items(turn: Turn) -> list[Body]:
    text = [_text(turn)] if turn.text else []
    return [*text, *(_call(name, call) for name, call in turn.named_calls())]


def _text(turn: Turn) -> Body:
    content = [{"type": "output_text", "text": turn.text, "annotations": []}]
    return {"type": "message", "id": f"msg_{turn.number:03}", "role": "assistant", "content": content}


def _call(name: str, call: Call) -> Body:
    if call.text is not None:
        return {"type": "custom_tool_call", "id": f"ctc_{name}", "call_id": name, "name": call.tool, "input": call.text}
    return {
        "type": "function_call",
        "id": f"fc_{name}",
        "call_id": name,
        "name": call.tool,
        "arguments": call.arguments,
    }
