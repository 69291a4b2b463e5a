"""What a person is shown of a question: the real command, a proper diff, every character visible."""

from __future__ import annotations

import difflib
import json
import os
from collections import Counter
from typing import TYPE_CHECKING, Any

from fairlead import patches, wire
from fairlead.server.rules import is_here
from fairlead.server.visible import CLOSE, OPEN, shown, suspicious

if TYPE_CHECKING:
    from fairlead.server.records import Interaction, Run

    Part = dict[str, Any]
    Step = tuple[str, int, int, int, int]

_LONGEST_PATH = 4096
_MOST_COMPARED = 4_000_000
_MOST_ALIKE = 50_000
"""Pairs of lines: an agent must not keep the server busy with a diff."""
_COMMANDS = {"Bash": "command", "PowerShell": "command", "run_shell_command": "command"}


def item(interaction: Interaction, run: Run | None, name: str = "") -> dict[str, Any]:
    """All that a page or a terminal needs for one question, for the person of this name."""
    asked = wire.decode_object(interaction.body)
    payload = asked.get("payload", {})
    cwd = asked.get("cwd") if isinstance(asked.get("cwd"), str) else ""
    folder = cwd or (run.project if run else "")
    text = asked.get("text")
    return {
        **_row(interaction, name),
        "whole": True,
        "tool": shown(interaction.tool),
        "run": _run(interaction.run_id, run),
        "why": shown(text) if isinstance(text, str) else "",
        "cwd": shown(folder),
        "parts": parts_of(interaction.tool, payload, folder, here=is_here(run)),
        "payload": payload,
        "edits": _editable(interaction.tool, payload),
        "warnings": _warnings(payload),
        "message": shown(interaction.message),
        "response": interaction.response,
        "updated_input": interaction.updated_input,
    }


def summary(interaction: Interaction, run: Run | None, name: str = "") -> dict[str, Any]:
    """What a list needs: a few kilobytes, whatever was asked. It is no ground for a decision."""
    about = _run(interaction.run_id, run)
    return {
        **_row(interaction, name),
        "whole": False,
        "tool": _beginning(interaction.tool),
        "run": {key: _cut(value) if isinstance(value, str) else value for key, value in about.items()},
        "message": _beginning(interaction.message),
        "changed": interaction.updated_input is not None,
    }


def _row(interaction: Interaction, name: str) -> dict[str, Any]:
    return {
        "id": interaction.id,
        "kind": interaction.kind,
        "digest": interaction.digest,
        "size": interaction.size,
        "line": interaction.line,
        "created_at": interaction.created_at,
        "expires_at": interaction.expires_at,
        "people": interaction.people,
        "agreed": list(interaction.agreed),
        "deciders": list(interaction.deciders),
        "yours": interaction.may_be_decided_by(name),
        "concerns": interaction.concerns(name),
        "escalated": interaction.escalated,
        "escalate_at": interaction.escalate_at,
        "escalate_to": list(interaction.escalate_to),
        "state": interaction.state,
        "allow": interaction.allow,
        "decided_by": interaction.decided_by,
        "decided_at": interaction.decided_at,
        "late": interaction.late,
        "used": interaction.used,
    }


def _run(run_id: str, run: Run | None) -> dict[str, Any]:
    if run is None:
        return {"id": run_id, "agent": "", "project": "", "title": "", "active": False}
    return {
        "id": run.id,
        "agent": shown(run.agent),
        "project": shown(run.project),
        "title": shown(run.title),
        "active": run.active,
    }


_LONGEST_LINE = 200
"""Characters; an invisible one becomes nine."""


def line(tool: str, payload: dict[str, Any]) -> str:
    """The beginning of what is asked, on one line; it ends with … where there is more."""
    return _beginning(_first_text(tool, payload))


def _first_text(tool: str, payload: dict[str, Any]) -> str:
    questions = payload.get("questions")
    if tool == "AskUserQuestion" and isinstance(questions, list) and questions:
        first = questions[0]
        return str(first.get("question", "") if isinstance(first, dict) else first)[: 2 * _LONGEST_LINE]
    for name in ("command", "file_path", "notebook_path"):
        if isinstance(payload.get(name), str):
            return str(payload[name])
    some = {key[:_LONGEST_LINE]: _short(payload[key]) for key in list(payload)[:10]}
    return ", ".join(f"{key}: {value}" for key, value in some.items())


def _short(value: Any) -> str:
    if isinstance(value, str):
        return value[:_LONGEST_LINE]
    if isinstance(value, (dict, list)):
        return f"{len(value)} {'fields' if isinstance(value, dict) else 'entries'}"
    return str(value)[:_LONGEST_LINE]


def _beginning(text: str) -> str:
    start = text[: 8 * _LONGEST_LINE]
    found = next((one for one in start.split("\n") if one.strip()), "")
    cut = found[:_LONGEST_LINE]
    return shown(cut) + ("" if cut == text else "…")


def _cut(text: str) -> str:
    """Of what is visible already."""
    return text if len(text) <= _LONGEST_LINE else text[:_LONGEST_LINE] + "…"


def parts_of(tool: str, payload: dict[str, Any], cwd: str, *, here: bool = True) -> list[Part]:
    """In the order in which a person reads: what it is, where, what changes. Paths are followed `here` alone."""
    if tool == "AskUserQuestion" and isinstance(payload.get("questions"), list):
        return [*(_question(question) for question in payload["questions"]), *_rest(payload, ("questions",))]
    command = payload.get(_COMMANDS.get(tool, "command"))
    if tool == "apply_patch" and isinstance(command, str):
        calls = patches.calls(command, cwd)
        changes = [part for name, given in calls for part in parts_of(name, given, cwd, here=here)]
        return [*changes, _text("patch", command), *_rest(payload, ("command",))]
    if isinstance(command, str) and tool in _COMMANDS:
        return [_text("command", command), *_rest(payload, ("command",))]
    if tool == "Write" and isinstance(payload.get("content"), str):
        content = _text("content", payload["content"])
        return [_path(payload, cwd, here=here), content, *_rest(payload, ("file_path", "content"))]
    if tool in ("Edit", "MultiEdit") and isinstance(payload.get("file_path"), str):
        return [
            _path(payload, cwd, here=here),
            *_diffs(payload),
            *_rest(payload, ("file_path", *_shown_as_diff(payload))),
        ]
    return [_text("input", _pretty(payload))]


def _text(label: str, text: str) -> Part:
    return {
        "label": label,
        "text": shown(text),
        "lines": text.count("\n") + 1,
        "bytes": len(text.encode("utf-8", "replace")),
    }


def _pretty(value: object) -> str:
    return json.dumps(value, indent=2, ensure_ascii=False)


def _rest(payload: dict[str, Any], known: tuple[str, ...]) -> list[Part]:
    """Nothing that the tool is given stays out of sight."""
    rest = {key: value for key, value in payload.items() if key not in known}
    return [_text("more", _pretty(rest))] if rest else []


def _path(payload: dict[str, Any], cwd: str, *, here: bool) -> Part:
    path = str(payload.get("file_path", ""))
    part: Part = {"label": "file", "text": shown(path)}
    note = _really(os.path.join(cwd, path), here=here)
    return {**part, "note": note} if note else part


def _really(whole: str, *, here: bool) -> str:
    """Where a path leads behind links and dots, if that is another place than it says."""
    if len(whole) > _LONGEST_PATH:
        return "no system opens a path as long as this"
    if not here:
        return "it is on another machine, and what .. leads to cannot be seen here" if ".." in whole.split("/") else ""
    try:
        real = os.path.realpath(whole)
    except (ValueError, OSError):  # a NUL, half a character, a loop
        return "no system opens a path like this"
    return f"really {shown(real)}" if os.path.isabs(whole) and real != os.path.normpath(whole) else ""


def _diffs(payload: dict[str, Any]) -> list[Part]:
    if not _is_list_of_edits(payload.get("edits")):
        return [_diff(payload)]
    return [part for edit in payload["edits"] for part in (_diff(edit), *_rest(edit, _EDIT))]


_EDIT = ("old_string", "new_string", "replace_all")


def _shown_as_diff(payload: dict[str, Any]) -> tuple[str, ...]:
    return ("edits",) if _is_list_of_edits(payload.get("edits")) else _EDIT


def _is_list_of_edits(value: object) -> bool:
    return isinstance(value, list) and all(isinstance(edit, dict) for edit in value)


def _diff(edit: dict[str, Any]) -> Part:
    if edit.get("deleted") and not edit.get("old_string") and not edit.get("new_string"):
        return {"label": "change", "text": "the file is deleted"}
    old, new = (str(edit.get(key, "")).split("\n") for key in ("old_string", "new_string"))
    return {"label": "change", "diff": diff_lines(old, new), "everywhere": bool(edit.get("replace_all"))}


def diff_lines(old: list[str], new: list[str]) -> list[tuple[str, str]]:
    """Whole lines with `-`, `+` or a blank before them. What did not change is shown too: it is part of the edit."""
    found: list[tuple[str, str]] = []
    for word, i1, i2, j1, j2 in _steps(old, new):
        if word == "equal":
            found += [(" ", shown(line)) for line in old[i1:i2]]
        else:
            found += [("-", shown(line)) for line in old[i1:i2]]
            found += [("+", shown(line)) for line in new[j1:j2]]
    return found


def _steps(old: list[str], new: list[str]) -> list[Step]:
    """How one becomes the other; what is the same at both ends need not be compared."""
    first = _same_at_first(old, new)
    last = _same_at_first(old[first:][::-1], new[first:][::-1])
    within = _compared(old[first : len(old) - last], new[first : len(new) - last])
    found = [("equal", 0, first, 0, first)] if first else []
    found += [(word, i1 + first, i2 + first, j1 + first, j2 + first) for word, i1, i2, j1, j2 in within]
    return [*found, ("equal", len(old) - last, len(old), len(new) - last, len(new))] if last else found


def _same_at_first(old: list[str], new: list[str]) -> int:
    pairs = zip(old, new, strict=False)
    return next((number for number, (one, other) in enumerate(pairs) if one != other), min(len(old), len(new)))


def _compared(old: list[str], new: list[str]) -> list[Step]:
    """Where finding the shortest way would take long, all of it away and all of it new."""
    counts = Counter(new)
    alike = sum(counts[line] for line in old)
    if len(old) * len(new) > _MOST_COMPARED or alike > _MOST_ALIKE:
        return [("replace", 0, len(old), 0, len(new))]
    return list(difflib.SequenceMatcher(None, old, new, autojunk=False).get_opcodes())


def _question(question: Any) -> Part:
    if not isinstance(question, dict):
        return _text("question", str(question))
    options = question.get("options")
    return {
        "label": "question",
        "question": shown(str(question.get("question", ""))),
        "key": str(question.get("question", "")),
        "header": shown(str(question.get("header", ""))),
        "multiple": bool(question.get("multiSelect")),
        "options": [_option(option) for option in options] if isinstance(options, list) else [],
    }


def _option(option: Any) -> dict[str, str]:
    if not isinstance(option, dict):
        return {"label": shown(str(option)), "value": str(option), "description": ""}
    label = str(option.get("label", ""))
    return {"label": shown(label), "value": label, "description": shown(str(option.get("description", "")))}


def _editable(tool: str, payload: dict[str, Any]) -> str:
    """The field that "allow with changes" offers first; empty for the whole input."""
    for names, key in ((_COMMANDS, "command"), (("Write",), "content"), (("Edit",), "new_string")):
        if tool in names and isinstance(payload.get(key), str):
            return key
    return ""


def _warnings(payload: dict[str, Any]) -> list[str]:
    words = suspicious("\n".join(_strings(payload)))
    return [f"looks like another word: {shown(word)}, written {_spelled(word)}" for word in words]


def _spelled(word: str) -> str:
    return "".join(letter if letter.isascii() else f"{OPEN}U+{ord(letter):04X}{CLOSE}" for letter in word)


def _strings(value: Any) -> list[str]:
    """Every text of it as it is: an escape of JSON would hide a letter, or put one beside it."""
    if isinstance(value, str):
        return [value]
    if isinstance(value, dict):
        return [text for pair in value.items() for one in pair for text in _strings(one)]
    return [text for one in value for text in _strings(one)] if isinstance(value, list) else []
