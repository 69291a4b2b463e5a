"""What a judge said: a model's reply becomes an answer.

Fences, chat around it and odd capitals are no matter. But what can be read in two ways is `Unclear`: a yes is one only
where nothing in the reply speaks against it.
"""

from __future__ import annotations

import json
import re

from fairlead._record import Record
from fairlead.models.framing import Unclear, visible

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Any, NoReturn

    from fairlead.events import Event
    from fairlead.models.records import Reply

LONGEST_REPLY = 64 << 10
LONGEST_REASON = 4000
STOPS = ("Stop", "SubagentStop")


class Answer(Record):
    word: str
    """`yes`, `no`, or `continue` for no opinion."""
    reason: str = ""
    context: str = ""
    impossible: bool = False
    """What the hook wants can never be had."""


# --- how to answer -----------------------------------------------------------------------------------


class Form(Record):
    """How an answer is asked for."""

    text: str
    schema: dict[str, Any]


_JSON = "Answer with one JSON object and nothing else:"
_OK = f"""\
{_JSON} {{"reason": "…", "ok": true}} if nothing speaks against it by the owner's instructions, otherwise \
{{"reason": "…", "ok": false}}. The reason is one or two sentences."""
_OK_AT_STOP = f"""\
The agent is about to stop. {_JSON} {{"reason": "…", "ok": true, "impossible": false}} if it may, by the owner's \
instructions. If it has to go on, "ok" is false, and the reason says what is still to be done. "impossible" is true \
only where what is wanted can never be reached."""
_WORD = f"""\
{_JSON} {{"reason": "…", "decision": "…"}}. The decision is one word: ALLOW if nothing speaks against it by the \
owner's instructions, BLOCK if it must not happen, CONTINUE if you have no opinion. The reason is one or two \
sentences."""
_DECISION = f"""\
{_JSON} {{"reason": "…", "decision": "…"}}. The decision is "allow" if nothing speaks against it by the owner's \
instructions, otherwise "deny". The reason is one or two sentences."""
_DECISION_AT_STOP = f"""\
The agent is about to stop. {_JSON} {{"reason": "…", "decision": "…"}}. The decision is "allow" if it may, by the \
owner's instructions, and "deny" if it has to go on; the reason then says what is still to be done."""


def form(style: str, event: Event) -> Form:
    """For `ok`, `word` or `decision`."""
    at_stop = event.name in STOPS
    if style == "word":
        return Form(text=_WORD, schema=_schema(decision=_one_of("ALLOW", "BLOCK", "CONTINUE")))
    if style == "decision":
        return Form(text=_DECISION_AT_STOP if at_stop else _DECISION, schema=_schema(decision=_one_of("allow", "deny")))
    if at_stop:
        return Form(text=_OK_AT_STOP, schema=_schema(ok=_BOOLEAN, impossible=_BOOLEAN))
    return Form(text=_OK, schema=_schema(ok=_BOOLEAN))


_BOOLEAN = {"type": "boolean"}


def _one_of(*words: str) -> dict[str, Any]:
    return {"type": "string", "enum": list(words)}


def _schema(**fields: dict[str, Any]) -> dict[str, Any]:
    """All fields required and no others: what the strictest provider takes. The reason comes first: a model that has
    to decide before it has thought decides worse."""
    properties = {"reason": {"type": "string"}, **fields}
    return {"type": "object", "properties": properties, "required": list(properties), "additionalProperties": False}


# --- reading -----------------------------------------------------------------------------------------


def read(reply: Reply, style: str, data: str = "") -> Answer:
    """What a reply says; raises Unclear. `data` is what was judged, to tell a verdict from a quotation."""
    text = _answering(reply)
    found = _in_json(text, data)
    if found is None and style == "word":
        from fairlead.models.words import in_words

        found = in_words(text, data)
    if found is None or (found.word == "continue" and style != "word"):
        _unclear(text)
    return found.but(reason=_cut(found.reason), context=_cut(found.context))


def _answering(reply: Reply) -> str:
    """The text without a local model's thoughts."""
    text = reply.text.strip()
    if not reply.finished:
        raise Unclear(f"the model's answer was cut off, or it refused to give one: {_beginning(text)}")
    if not text:
        raise Unclear("the model's answer was empty")
    if len(text) > LONGEST_REPLY:
        raise Unclear(f"the model's answer was too long: {_beginning(text)}")
    thoughts = _THOUGHTS.match(text)
    if thoughts and not thoughts[2]:
        _unclear(text)
    return text[thoughts.end() :].strip() if thoughts else text


_THOUGHTS = re.compile(r"<(think|thinking|reasoning)>.*?(</\1>|\Z)", re.DOTALL | re.IGNORECASE)


def _unclear(text: str) -> NoReturn:
    raise Unclear(f"the model's answer was unclear: {_beginning(text)}")


def _beginning(text: str) -> str:
    return visible(text[:200]) or "(nothing)"


def _cut(text: str) -> str:
    text = visible(text.strip())
    return text if len(text) <= LONGEST_REASON else text[: LONGEST_REASON - 1] + "…"


_REFUSES = re.compile(
    r"\b(?:block|den[yi]|refus|reject|disallow|forbid|prohibit)"
    r"|\b(?:not|never|cannot|can't|won't|unable to)\s+(?:\w+\s+){0,3}(?:allow|approve|permit|proceed|ok\b)"
    r"|n't\s+(?:\w+\s+){0,3}(?:allow|approve|permit|proceed|ok\b)"
    r"|\b(?:must|should) not\b|\b(?:not safe|unsafe|however|second thought)\b|\bwait\b",
    re.IGNORECASE,
)
"""What no yes stands beside, whoever it is said of."""


_TAKEN_BACK = re.compile(
    r"(?:\b(?:not|no|never|cannot|nor|neither|without|instead of|rather than|refuse to|unable)\b|n't\b)"
    r"[^.!?;\n]{0,80}\Z",
    re.IGNORECASE,
)


def is_taken_back(before: str) -> bool:
    """Whether a sentence says no before it comes to its verdict."""
    return _TAKEN_BACK.search(before.replace("\u2019", "'")) is not None


def refuses(text: str) -> bool:
    return _REFUSES.search(text.replace("\u2019", "'")) is not None


def _strings(value: Any) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict):
        for key, inner in value.items():
            yield key
            yield from _strings(inner)
    elif isinstance(value, list):
        for inner in value:
            yield from _strings(inner)


def stands_in(words: str, data: str) -> bool:
    """Whether what was judged has these words, blanks aside."""
    wanted = "".join(words.split())
    return any(wanted in "".join(text.split()) for text in _strings(json.loads(data or "{}")))


# --- as JSON -----------------------------------------------------------------------------------------

_TRIES = 100


def _in_json(text: str, data: str) -> Answer | None:
    """The verdict in the objects of a reply; None where there is none."""
    found = list(_objects(text))
    answers = [(answer, begin, end) for value, begin, end in found if (answer := _answer(value)) is not None]
    if not answers:
        return None
    words = {answer.word for answer, _, _ in answers}
    answer, begin, end = answers[0]
    rest = FENCES.sub(" ", text[:begin] + " " + text[end:]).strip()
    if len(words) != 1 or "?" in words:
        _unclear(text)
    if answer.word != "no" and rest and (_speaks_against(rest, len(answers)) or is_taken_back(text[:begin])):
        _unclear(text)
    if answer.word != "no" and rest and stands_in(text[begin:end], data):
        _unclear(text)
    return answer


FENCES = re.compile(r"```\w*|~~~\w*")


def _speaks_against(rest: str, objects: int) -> bool:
    """A brace more is half of another answer, or of the one that this one was quoted in."""
    return objects > 1 or "{" in rest or "}" in rest or refuses(rest)


def _objects(text: str) -> Iterator[tuple[dict[str, Any], int, int]]:
    """The outermost JSON objects in a text; where there are none, what was meant as one."""
    at, some = text.find("{"), False
    for _ in range(_TRIES):
        if at < 0:
            break
        value, end = _object_at(text, at)
        if value is not None:
            some = True
            yield value, at, end
        at = text.find("{", end)
    else:
        _unclear(text)
    if not some and (value := _loose(text[text.find("{") : text.rfind("}") + 1])) is not None:
        yield value, text.find("{"), text.rfind("}") + 1


def _object_at(text: str, at: int) -> tuple[dict[str, Any] | None, int]:
    try:
        value, end = _DECODER.raw_decode(text, at)
    except (ValueError, RecursionError):
        return None, at + 1
    return value, end


def _once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    value = {key.strip().lower(): inner for key, inner in pairs}
    if len(value) != len(pairs):
        raise ValueError("a key that is there twice says two things")
    return value


_DECODER = json.JSONDecoder(object_pairs_hook=_once, strict=False)


def _loose(text: str) -> dict[str, Any] | None:
    """With comments, a comma too many, or in Python's words."""
    return _object_at(_TOKENS.sub(_tidied, text), 0)[0] if len(text) <= _LONGEST_LOOSE else None


_LONGEST_LOOSE = 8 << 10
_TOKENS = re.compile(
    r"""("(?:[^"\\]|\\.)*")|'((?:[^'\\]|\\.)*)'|\b(True|False|None)\b|//[^\n]*|/\*.*?\*/|,(?=\s*[}\]])""", re.DOTALL
)
_CONSTANTS = {"True": "true", "False": "false", "None": "null"}


def _tidied(match: re.Match[str]) -> str:
    string, python_string, constant = match.groups()
    if python_string is not None:
        return json.dumps(python_string.replace("\\'", "'"))
    return _CONSTANTS[constant] if constant else string or ""


MEANINGS = {
    "allow": "yes", "allowed": "yes", "approve": "yes", "approved": "yes", "ok": "yes", "yes": "yes", "true": "yes",
    "block": "no", "blocked": "no", "deny": "no", "denied": "no", "reject": "no", "rejected": "no", "no": "no",
    "false": "no", "continue": "continue",
}  # fmt: skip
_OPPOSITE = {"yes": "no", "no": "yes"}
_YES_OR_NO = ("ok", "allow", "allowed", "approve", "approved")
_NO_OR_YES = ("block", "blocked", "deny", "denied")
_DECISIONS = ("decision", "verdict", "permissiondecision")
_REWRITES = ("updatedinput", "updated_input", "modifiedargs")


def _answer(value: dict[str, Any]) -> Answer | None:
    """None for an object that is no verdict; the word is `?` for one that says two things, or none."""
    said = {_meaning(value[key]) for key in (*_YES_OR_NO, *_DECISIONS) if key in value}
    said |= {_OPPOSITE.get(_meaning(value[key]), "?") for key in _NO_OR_YES if key in value}
    if not said and "action" in value:
        said = {_meaning(value["action"])}
    if not said:
        return None
    word = said.pop() if len(said) == 1 else "?"
    if word != "no" and any(value.get(key) is not None for key in _REWRITES):
        word = "?"  # a yes to another call than this one
    return Answer(
        word=word,
        reason=_text(value, "reason") or _text(value, "message") or _text(value, "explanation"),
        context=_text(value, "additionalcontext"),
        impossible=_meaning(value.get("impossible", False)) == "yes",
    )


def _meaning(value: object) -> str:
    return MEANINGS.get(str(value).strip().lower(), "?") if isinstance(value, (str, bool)) else "?"


def _text(value: dict[str, Any], key: str) -> str:
    found = value.get(key)
    return found if isinstance(found, str) else ""
