"""What the scripted model does: a list of turns, each some tool calls or some text."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

Body = dict[str, Any]


@dataclass(frozen=True)
class Call:
    """A tool call in the agent's own words; `text` instead of `input` for tools that take no JSON."""

    tool: str
    input: Body
    text: str | None = None

    @property
    def arguments(self) -> str:
        return json.dumps(self.input)


@dataclass(frozen=True)
class Turn:
    """One answer of the model. `number` counts the answers of a run, so that no two are the same."""

    number: int
    calls: tuple[Call, ...] = ()
    text: str = ""

    def named_calls(self) -> Iterator[tuple[str, Call]]:
        for index, call in enumerate(self.calls):
            yield f"call_{self.number:03}{index}", call


@dataclass(frozen=True)
class Answer:
    """What goes over the wire."""

    content_type: str
    content: bytes


def as_json(body: object) -> Answer:
    return Answer("application/json", json.dumps(body).encode())


def as_events(events: list[Body], *, named: bool = False, last: str = "") -> Answer:
    """Server-sent events; `named` repeats the event's type in a line of its own."""
    lines = [(f"event: {event['type']}\n" if named else "") + f"data: {json.dumps(event)}\n\n" for event in events]
    return Answer("text/event-stream", ("".join(lines) + last).encode())


def strings(value: object) -> Iterator[str]:
    """Every text in a body, wherever it stands."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict):
        for inner in value.values():
            yield from strings(inner)
    elif isinstance(value, list):
        for inner in value:
            yield from strings(inner)


def text_of(value: object) -> str:
    return "\n".join(strings(value))
