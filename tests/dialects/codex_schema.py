"""What Codex accepts as a hook's answer: the constraints of its output schemas, and what its reader adds to them."""

from __future__ import annotations

import json
import mmap
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

Json = dict[str, Any]

COMMON = {"continue": bool, "stopReason": str, "suppressOutput": bool, "systemMessage": str}
DECIDES = {"decision": {"block"}, "reason": str}
TELLS = {"hookEventName": str, "additionalContext": str}
ANSWERS: dict[str, Json] = {
    "PreToolUse": COMMON | {"decision": {"approve", "block"}, "reason": str, "hookSpecificOutput": dict},
    "PermissionRequest": COMMON | {"hookSpecificOutput": dict},
    "PostToolUse": COMMON | DECIDES | {"hookSpecificOutput": dict},
    "UserPromptSubmit": COMMON | DECIDES | {"hookSpecificOutput": dict},
    "SessionStart": COMMON | {"hookSpecificOutput": dict},
    "SubagentStart": COMMON | {"hookSpecificOutput": dict},
    "Stop": COMMON | DECIDES,
    "SubagentStop": COMMON | DECIDES,
    "PreCompact": COMMON,
    "PostCompact": COMMON,
    "Interrupt": {"systemMessage": str},
}
INSIDE: dict[str, Json] = {
    "PreToolUse": TELLS
    | {"permissionDecision": {"allow", "deny", "ask"}, "permissionDecisionReason": str, "updatedInput": dict},
    "PermissionRequest": {"hookEventName": str, "decision": dict},
    "PostToolUse": TELLS | {"updatedMCPToolOutput": object},
    "UserPromptSubmit": TELLS,
    "SessionStart": TELLS,
    "SubagentStart": TELLS,
}
BEHAVIOUR = {"behavior": {"allow", "deny"}, "message": str}


def problems(event: str, stdout: bytes) -> list[str]:
    """Why Codex would not carry an answer out; silence is an answer, too."""
    if not stdout.strip():
        return []
    answer = json.loads(stdout)
    if re.search("[\ud800-\udfff]", json.dumps(answer, ensure_ascii=False)):
        return ["half a character: its reader gives up"]
    if event not in ANSWERS:
        return ["an answer where none is read"]
    return [*_misfits(answer, ANSWERS[event], "answer"), *_inside(event, answer), *_refused(event, answer)]


def _misfits(fields: Json, known: Json, where: str) -> Iterator[str]:
    for key, value in fields.items():
        if key not in known:
            yield f"{where}: unknown key {key}"
        elif isinstance(known[key], set):
            if value not in known[key]:
                yield f"{where}: {key} is {value!r}"
        elif not isinstance(value, known[key]):
            yield f"{where}: {key} is no {known[key].__name__}"


def _inside(event: str, answer: Json) -> Iterator[str]:
    specific = answer.get("hookSpecificOutput")
    if specific is None:
        return
    yield from _misfits(specific, INSIDE.get(event, {}), "hookSpecificOutput")
    if specific.get("hookEventName") != event:
        yield "hookEventName is another"
    if "decision" in specific:
        yield from _misfits(specific["decision"], BEHAVIOUR, "decision")


def _refused(event: str, answer: Json) -> Iterator[str]:
    """What the schemas allow and the reader does not."""
    specific = answer.get("hookSpecificOutput", {})
    if "decision" in answer and not answer.get("reason", "").strip():
        yield "a block without a reason"
    if event in ("PreToolUse", "PermissionRequest") and answer.keys() & {"continue", "stopReason", "suppressOutput"}:
        yield "cannot end the turn here"
    if event == "PreToolUse":
        word = specific.get("permissionDecision")
        if word == "deny" and not specific.get("permissionDecisionReason", "").strip():
            yield "a refusal without a reason"
        if word == "ask" or (word == "allow") is not ("updatedInput" in specific):
            yield f"{word} is not carried out"
    if specific.get("decision", {}).keys() & {"updatedInput", "updatedPermissions", "interrupt"}:
        yield "is reserved"
    if _depth(answer) > 127:
        yield "nested too deeply"


def _depth(value: Any) -> int:
    inner = value.values() if isinstance(value, dict) else value if isinstance(value, list) else ()
    return 1 + max(map(_depth, inner), default=0) if isinstance(value, (dict, list)) else 0


# --- the schemas that the program itself ships -------------------------------------------------------


def program() -> Path | None:
    """Codex itself, where `make test-agents` has put it."""
    root = Path(__file__).resolve().parents[2] / ".agents" / "codex" / "node_modules" / "@openai"
    return next(iter(root.glob("codex-*/vendor/*/bin/codex")), None)


def shipped(path: Path) -> dict[str, Json]:
    """The output schemas by event, which stand as text in the program."""
    found: dict[str, Json] = {}
    with path.open("rb") as file, mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as data:
        for match in re.finditer(rb'"title": "([a-z-]+)\.command\.output"', data):
            start = data.rfind(b'{\n  "$schema"', 0, match.start())
            text = data[start : match.end() + 200].decode("utf-8", "replace")
            schema, _ = json.JSONDecoder().raw_decode(text)
            name = "".join(word.title() for word in match[1].decode().split("-"))
            found[name] = schema
    return found


def violations(schema: Json, value: Any, root: Json, where: str = "answer") -> Iterator[str]:
    """As much of JSON Schema as these schemas use."""
    if "$ref" in schema:
        yield from violations(root["definitions"][schema["$ref"].rpartition("/")[2]], value, root, where)
    for part in schema.get("allOf", ()):
        yield from violations(part, value, root, where)
    kinds = {"object": dict, "string": str, "boolean": bool}
    if "type" in schema and not isinstance(value, kinds[schema["type"]]):
        yield f"{where} is no {schema['type']}"
    if value not in schema.get("enum", [value]) or value != schema.get("const", value):
        yield f"{where} is {value!r}"
    if isinstance(value, dict) and "properties" in schema:
        yield from (f"{where} lacks {key}" for key in schema.get("required", ()) if key not in value)
        for key, inner in value.items():
            if key in schema["properties"]:
                yield from violations(schema["properties"][key], inner, root, f"{where}.{key}")
            elif schema.get("additionalProperties") is False:
                yield f"{where} has {key}"
