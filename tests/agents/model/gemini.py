"""Gemini generateContent and streamGenerateContent."""

from __future__ import annotations

import re

from tests.agents.model.script import Answer, Body, Turn, as_events, as_json, text_of

PATH = re.compile(r"/models/[^/:]+:(generateContent|streamGenerateContent)$")
USAGE = {"promptTokenCount": 100, "candidatesTokenCount": 10, "totalTokenCount": 110}


def is_turn(body: Body) -> bool:
    return bool(body.get("tools"))


def answer(path: str, _body: Body, turn: Turn) -> Answer:
    whole = {
        "candidates": [{"index": 0, "content": {"role": "model", "parts": _parts(turn)}, "finishReason": "STOP"}],
        "usageMetadata": USAGE,
    }
    return as_events([whole]) if path.endswith(":streamGenerateContent") else as_json(whole)


def results(body: Body) -> list[str]:
    parts = [part for content in body["contents"] for part in content.get("parts", ())]
    return [text_of(part["functionResponse"]["response"]) for part in parts if "functionResponse" in part]


def _parts(turn: Turn) -> list[Body]:
    text = [{"text": turn.text}] if turn.text else []
    calls = [{"functionCall": {"id": name, "name": call.tool, "args": call.input}} for name, call in turn.named_calls()]
    return [*text, *calls]
