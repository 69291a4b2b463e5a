"""Google's generateContent."""

from __future__ import annotations

from fairlead.models._shapes import (
    OWN_ID,
    address,
    arguments,
    items,
    names_any,
    no_answer,
    table,
    text,
    usage,
)
from fairlead.models.records import Reply, Request, ToolCall

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from fairlead.models.records import Profile, Question

BASE_URL = "https://generativelanguage.googleapis.com"

_OF_A_SCHEMA = ("description", "enum", "format", "nullable", "required", "minItems", "maxItems", "minimum", "maximum")
_ABOUT_SCHEMAS = ("schema", "mime")
_STRUCTURED = ("responseMimeType", "responseSchema")


# --- asking ------------------------------------------------------------------------------------------


def request(profile: Profile, question: Question) -> Request:
    from urllib.parse import quote

    model = quote(profile.model.removeprefix("models/"), safe="")
    url = address(profile.base_url, f"v1beta/models/{model}:generateContent", after=("v1beta",))
    # In a header: addresses end up in logs.
    headers = {"x-goog-api-key": profile.api_key} if profile.api_key else {}
    return Request(url=url, headers=headers, body=_body(profile, question))


def _body(profile: Profile, question: Question) -> dict[str, Any]:
    options: dict[str, Any] = {"temperature": 0, "maxOutputTokens": profile.max_tokens}
    body: dict[str, Any] = {"contents": _contents(question.messages), "generationConfig": options}
    if question.system:
        body["systemInstruction"] = {"parts": [{"text": question.system}]}
    if question.tools:
        body["tools"] = [{"functionDeclarations": [_tool(tool.as_dict()) for tool in question.tools]}]
    elif question.schema is not None:  # most models refuse both at once
        options |= {"responseMimeType": "application/json", "responseSchema": _schema(question.schema)}
    return body


def _tool(tool: dict[str, Any]) -> dict[str, Any]:
    shape = _schema(tool["parameters"])
    about = {"name": tool["name"], "description": tool["description"]}
    return about | ({"parameters": shape} if shape.get("properties") else {})


def _schema(schema: Any) -> dict[str, Any]:
    """Google knows a part of JSON Schema, and refuses the rest."""
    schema = table(schema)
    kinds = schema.get("type")
    kinds = kinds if isinstance(kinds, list) else [kinds]
    known = [kind for kind in kinds if isinstance(kind, str) and kind != "null"]
    shape = {key: schema[key] for key in _OF_A_SCHEMA if key in schema}
    if "null" in kinds:
        shape["nullable"] = True
    if known:
        shape["type"] = known[0].upper()
    if isinstance(schema.get("properties"), dict):
        shape["properties"] = {name: _schema(inner) for name, inner in schema["properties"].items()}
        shape["propertyOrdering"] = list(shape["properties"])
    if "items" in schema:
        shape["items"] = _schema(schema["items"])
    if "anyOf" in schema:
        shape["anyOf"] = [_schema(one) for one in items(schema["anyOf"])]
    return shape


def _contents(messages: tuple[dict[str, Any], ...]) -> list[dict[str, Any]]:
    """The results of one turn's calls stand together, as the answer of the user."""
    found: list[dict[str, Any]] = []
    after_result = False
    for message in messages:
        is_result = message["role"] == "tool"
        if is_result and after_result:
            found[-1]["parts"].append(_result(message))
        else:
            role = "model" if message["role"] == "assistant" else "user"
            found.append({"role": role, "parts": [_result(message)] if is_result else _parts(message)})
        after_result = is_result
    return found


def _parts(message: dict[str, Any]) -> list[dict[str, Any]]:
    calls = [_call(call) for call in message.get("calls") or ()]
    return ([{"text": message["content"]}] if message["content"] or not calls else []) + calls


def _call(call: ToolCall) -> dict[str, Any]:
    part: dict[str, Any] = {"functionCall": {"name": call.name, "args": call.arguments, **_id(call.id)}}
    return part | ({"thoughtSignature": call.signature} if call.signature else {})


def _result(message: dict[str, Any]) -> dict[str, Any]:
    answer = {"name": message["name"], "response": {"result": message["content"]}}
    return {"functionResponse": {**answer, **_id(message["id"])}}


def _id(name: str) -> dict[str, str]:
    return {} if name.startswith(OWN_ID) else {"id": name}


def simpler(body: dict[str, Any], complaint: str) -> dict[str, Any] | None:
    """The same without what a server says that it does not know; None where that is nothing of ours."""
    options = body["generationConfig"]
    gone: tuple[str, ...] = ()
    if names_any(complaint, ("temperature",)):
        gone = ("temperature",)
    elif names_any(complaint, _ABOUT_SCHEMAS):
        gone = _STRUCTURED
    if not any(key in options for key in gone):
        return None
    return body | {"generationConfig": {key: value for key, value in options.items() if key not in gone}}


# --- the answer --------------------------------------------------------------------------------------


def read(body: Any) -> Reply:
    body = table(body)
    candidate = next(iter(items(body.get("candidates"))), None)
    blocked = text(table(body.get("promptFeedback")).get("blockReason"))
    if candidate is None and not blocked:
        raise no_answer("candidate")
    candidate = candidate or {}
    parts, counts = items(table(candidate.get("content")).get("parts")), table(body.get("usageMetadata"))
    said = "".join(text(part.get("text")) for part in parts if part.get("thought") is not True)
    return Reply(
        text=said or blocked or text(candidate.get("finishMessage")),
        calls=_calls(parts),
        usage=usage(
            [counts.get("promptTokenCount"), counts.get("toolUsePromptTokenCount")],
            [counts.get("candidatesTokenCount"), counts.get("thoughtsTokenCount")],
        ),
        model=text(body.get("modelVersion")),
        finished=candidate.get("finishReason") == "STOP" and not blocked,
    )


def _calls(parts: list[dict[str, Any]]) -> tuple[ToolCall, ...]:
    return tuple(
        ToolCall(
            id=text(part["functionCall"].get("id")) or f"{OWN_ID}{index}",
            name=text(part["functionCall"].get("name")),
            arguments=arguments(part["functionCall"].get("args")),
            signature=text(part.get("thoughtSignature")),
        )
        for index, part in enumerate(part for part in parts if isinstance(part.get("functionCall"), dict))
    )


# --- a stream that nobody asked for ------------------------------------------------------------------


def joined(parts: list[Any]) -> dict[str, Any]:
    """The answer that a stream tells bit by bit."""
    whole: dict[str, Any] = {}
    bits: list[dict[str, Any]] = []
    candidate: dict[str, Any] = {"content": {"parts": bits}}
    for part in items(parts):
        whole |= {key: part[key] for key in ("modelVersion", "usageMetadata", "promptFeedback", "error") if key in part}
        for one in items(part.get("candidates"))[:1]:
            bits += items(table(one.get("content")).get("parts"))
            candidate |= {key: one[key] for key in ("finishReason", "finishMessage") if key in one}
            whole["candidates"] = [candidate]
    return whole
