"""Everything that reads what others have written: each takes any bytes, and ends without a surprise."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from fairlead import conditions, documents, locate, masking, matchers, patches, said, wire
from fairlead.dialects import AGENT_HALVES, agent_half
from fairlead.errors import FairleadError
from fairlead.events import Event
from fairlead.guard import Guard
from fairlead.trust import definitions, naming
from fairlead.warm import framing

NOWHERE = {"HOME": "/nonexistent", "XDG_CACHE_HOME": ""}
PROJECT = str(Path(__file__).resolve().parent)
GUARD = Guard(packs="all", project="/home/u/project", home="/home/u")
Target = Callable[[bytes], object]


def text_of(data: bytes) -> str:
    """Also half characters: JSON can hold them."""
    return data.decode("utf-8", "surrogateescape" if data[:1] > b"\x7f" else "replace")


def halves(data: bytes) -> tuple[str, str]:
    first, _, second = text_of(data).partition("\n")
    return first, second


def a_matcher(data: bytes) -> object:
    pattern, value = halves(data)
    return [make(pattern)(value) for make in (matchers.whole_name, matchers.name_list)]


def a_condition(data: bytes) -> object:
    rule, command = halves(data)
    event = Event.from_payload(
        {"hook_event_name": "PreToolUse", "tool_name": "Bash", "tool_input": {"command": command}}
    )
    conditions.problem(rule)
    return conditions.condition(rule, home="/home/u", project="/p")(event)


def a_definition(data: bytes) -> object:
    """The same digest whatever the order; another one for another value."""
    value = wire.decode(data)
    digest = definitions.digest_of(definitions._plain(value, "/p"))
    if isinstance(value, dict):
        turned = dict(reversed(value.items()))
        assert definitions.digest_of(definitions._plain(turned, "/p")) == digest
    return digest


def names_of_programs(data: bytes) -> object:
    text = text_of(data)
    for named in naming.in_text(text, PROJECT):
        assert 0 <= named.start < named.end <= len(text)
    return naming.in_words(text.split(), PROJECT), naming.unseen(text, PROJECT), naming.modules(text)


def words_for_a_model(data: bytes) -> object:
    text = text_of(data)
    cleaned = said.clean(text)
    assert said.clean(cleaned) == cleaned
    assert len(said.for_model(text)) <= said.LIMIT
    return cleaned


def masked_words(data: bytes) -> object:
    return masking.Masker().text(text_of(data))


def masked_values(data: bytes) -> object:
    return masking.Masker({"MY_TOKEN": "s3cr3t-s3cr3t-s3cr3t"}).value(wire.decode(data))


def a_request(data: bytes) -> object:
    """Whole, and byte by byte."""
    whole: object = None
    try:
        whole = framing.Reader().feed(data)
    finally:
        reader = framing.Reader()
        parts = [reader.feed(data[at : at + 1]) for at in range(min(len(data), 512))]
        assert len(data) > 512 or (parts[-1] if parts else None) == whole
    return whole


def events_of_every_agent(data: bytes) -> None:
    for agent in AGENT_HALVES:
        for name in ("", "PreToolUse"):
            try:
                agent_half(agent).read_event(data, name, NOWHERE)
            except FairleadError:
                pass


def positions(data: bytes) -> object:
    text = text_of(data)
    locate.position_in(text, ("hooks", 0, "a"))
    list(locate.json_keys(text))
    return locate.position_in(text, ("hook", 1), toml=True)


TARGETS: dict[str, Target] = {
    "JSON on the wire": wire.decode,
    "JSON of a file": lambda data: documents.parse_json(text_of(data)),
    "keys twice": lambda data: documents.repeated_keys(text_of(data)),
    "TOML": lambda data: documents.parse_toml(text_of(data), NOWHERE),
    "front matter": lambda data: documents.parse_front_matter(f"---\n{text_of(data)}\n---\n"),
    "positions": positions,
    "matchers": a_matcher,
    "conditions": a_condition,
    "the guard's shell": lambda data: GUARD.command(text_of(data)),
    "patches": lambda data: patches.calls(text_of(data)),
    "definitions": a_definition,
    "names of programs": names_of_programs,
    "words for a model": words_for_a_model,
    "masked words": masked_words,
    "masked values": masked_values,
    "requests of the relay": a_request,
    "events of every agent": events_of_every_agent,
}


def attempt(target: Target, data: bytes) -> None:
    """Errors for people are answers; anything else is a surprise."""
    try:
        target(data)
    except (FairleadError, framing.Garbage):
        pass
