"""Events of the journal as cases: what was decided then is what should be decided from now on."""

from __future__ import annotations

import os

from fairlead import documents, wire
from fairlead._record import Record
from fairlead.errors import ConfigError, InputError, UsageError
from fairlead.testing.cases import Case, Where
from fairlead.testing.judging import ELSEWHERE

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping
    from typing import Any

    from fairlead.events import Event
    from fairlead.journal.reading import Entry

_INCIDENTAL = frozenset(
    "hook_event_name session_id transcript_path cwd permission_mode prompt_id timestamp tool_use_id agent_id".split()
)
"""Of that one moment; no hook should decide by it."""
_OWN = ("project", "local")
"""The layers whose hooks a test has."""
_LONG_ENOUGH = 8
"""Characters of what is of the moment, to be known again in a sentence."""
_HEADER = "# What the hooks of this project have to decide; `fairlead test` tries it.\n"


class Recorded(Record):
    """A case, ready to be written."""

    fields: dict[str, Any]
    secrets: tuple[str, ...] = ()
    """What in it looks like a credential, as it may be named."""
    decided_by: tuple[str, ...] = ()
    """Hooks that are not the project's: without them it may come out otherwise."""


def case_of(entry: Entry, *, keeps_secrets: bool = False) -> Recorded:
    """With a stand-in for each secret, of the same form and length: what looks for the form decides as it did."""
    from fairlead.masking import Masker, stand_in

    details = entry.get("details", {})
    if not details.get("payload"):
        raise UsageError(f"event {entry['n']} was kept without its payload", hint="it cannot become a case")
    if details.get("cut"):
        raise UsageError(f"event {entry['n']} was too long to be kept whole", hint="it cannot become a case")
    where = Where(project=details.get("project", ""), home=os.path.expanduser("~"))
    fields = where.hidden({**_event(entry, where), **_said_elsewhere(details.get("hooks", ())), **_decided(entry)})
    masker = Masker(instead=stand_in)
    masked = masker.value(fields)
    return Recorded(
        fields=_plain(fields if keeps_secrets else masked), secrets=masker.found, decided_by=_decided_elsewhere(entry)
    )


def _decided_elsewhere(entry: Entry) -> tuple[str, ...]:
    if entry["decision"] in ("none", "allow"):
        return ()
    hooks = entry["details"].get("hooks", ())
    deciding = [hook for hook in hooks if "verdict" in hook and _decides(hook, entry["decision"])]
    if any(hook["layer"] in _OWN for hook in deciding):
        return ()
    return tuple(dict.fromkeys(hook["name"] for hook in deciding))


def _decides(hook: Mapping[str, Any], decision: str) -> bool:
    """What the agent was told may be the nearest to what a hook has said."""
    return bool(hook["verdict"] == decision or hook["verdict"] in ("deny", "ask", "defer"))


def _event(entry: Entry, where: Where) -> dict[str, Any]:
    from fairlead.replaying import event_of

    agent = {} if entry["agent"] == "claude-code" else {"agent": entry["agent"]}
    simple = _in_our_words(entry)
    if simple is not None and _is_the_same(simple, entry["agent"], event_of(entry), where):
        return {"event": entry["event"], **agent, **simple}
    sent = _sent(entry)
    named = {} if "hook_event_name" in sent else {"event": entry["event"]}
    return {**named, **agent, "payload": sent}


def _in_our_words(entry: Entry) -> dict[str, Any] | None:
    """As a person would write it; None where that would leave something out."""
    payload = {key: value for key, value in entry["details"]["payload"].items() if key not in _INCIDENTAL}
    if set(payload) <= {"tool_name", "tool_input"} and payload.get("tool_name"):
        return {"tool": payload["tool_name"], "input": payload.get("tool_input", {})}
    if set(payload) == {"prompt"}:
        return {"prompt": payload["prompt"]}
    return {"input": payload} if "tool_name" not in payload else None


def _is_the_same(simple: dict[str, Any], agent: str, event: Event, where: Where) -> bool:
    given = simple.get("input", {"prompt": simple.get("prompt")})
    case = Case(event=event.name, tool=simple.get("tool", ""), given=given, agent=agent)
    try:
        built = case.build(where)
    except InputError:
        return False
    return bool(_essence(built) == _essence(event))


def _essence(event: Event) -> Any:
    spoken = getattr(event, "spoken", None)
    own = (spoken.tool_name, spoken.tool_input) if spoken is not None else None
    return {key: value for key, value in event.payload().items() if key not in _INCIDENTAL}, own


def _sent(entry: Entry) -> dict[str, Any]:
    """As the agent has sent it, without what it says of the moment."""
    details = entry["details"]
    try:
        sent = wire.decode_object(details["sent"]) if details.get("sent") else details["payload"]
    except InputError:
        sent = details["payload"]
    dropped = _INCIDENTAL - {"hook_event_name"}
    return {key: value for key, value in sent.items() if key not in dropped}


def _said_elsewhere(hooks: Iterable[Mapping[str, Any]]) -> dict[str, Any]:
    """What people, models and servers have said to hooks of the project: nobody asks them again."""
    own = [hook for hook in hooks if "verdict" in hook and hook["layer"] in _OWN]
    says = {hook["name"]: _given(hook) for hook in own if hook["handler"] in ELSEWHERE}
    agreed = any(hook["handler"] == "approval" and hook["verdict"] == "allow" for hook in own)
    return {**({"approval": "allow"} if agreed else {}), **({"says": says} if says else {})}


def _given(hook: Mapping[str, Any]) -> dict[str, str]:
    return {key: text for key, text in (("decision", hook["verdict"]), ("reason", hook["reason"])) if text}


def _decided(entry: Entry) -> dict[str, Any]:
    details = entry["details"]
    found: dict[str, Any] = {"decision": entry["decision"]}
    first = _lasting(details.get("reason", "").strip().partition("\n")[0], details["payload"])
    if first and entry["decision"] in ("deny", "ask", "defer"):
        found["reason"] = first
    if details.get("updated_input") and entry["decision"] != "deny" and not details.get("sent"):
        found["rewrite"] = details["updated_input"]
    failed = [hook["name"] for hook in details.get("hooks", ()) if hook.get("error") and hook["layer"] in _OWN]
    return {**found, "fails": list(dict.fromkeys(failed))} if failed else found


def _lasting(reason: str, payload: Mapping[str, Any]) -> str:
    """As far as it says nothing of that one moment."""
    values = [value for key, value in payload.items() if key in _INCIDENTAL - {"hook_event_name", "cwd"}]
    known = [value for value in values if isinstance(value, str) and len(value) >= _LONG_ENOUGH and value in reason]
    return reason[: min(map(reason.index, known))].rstrip() if known else reason


def _plain(value: Any) -> Any:
    """Only what TOML can say: no null, no half characters."""
    if isinstance(value, str):
        return wire.mended(value)
    if isinstance(value, dict):
        return {_plain(key): _plain(item) for key, item in value.items() if item is not None}
    if isinstance(value, (list, tuple)):
        return [_plain(item) for item in value if item is not None]
    return value


# --- the file ----------------------------------------------------------------------------------------


def append(path: str, recorded: list[Recorded]) -> None:
    """At the end; what stands there already stays as it is, with its comments."""
    text = documents.read_text(path)
    before = _parsed(text or "", path)
    newline = "\r\n" if text and "\r\n" in text else "\n"
    start = _HEADER if not text else text if text.endswith("\n") else text + newline
    tables = [_table(one.fields) for one in recorded]
    changed = start + "".join(newline + table.replace("\n", newline) for table in tables)
    _verify(before, changed, [one.fields for one in recorded], path)
    _write(os.path.realpath(path), changed)


def _parsed(text: str, path: str) -> dict[str, Any]:
    try:
        return documents.parse_toml(text, {})
    except documents.BadDocument as error:
        raise ConfigError(f"{path}:{error.line}:{error.column}: {error}", hint="nothing was written") from None


def _verify(before: dict[str, Any], changed: str, fields: list[dict[str, Any]], path: str) -> None:
    try:
        after = documents.parse_toml(changed, {})
    except documents.BadDocument:
        after = {}
    cases = before.get("case", [])
    if after != {**before, "case": [*(cases if isinstance(cases, list) else ()), *fields]}:
        hint = "write its cases as [[case]] tables; nothing was written"
        raise ConfigError(f"{path}: a case cannot be added to this file as it is", hint=hint)


def _table(fields: dict[str, Any]) -> str:
    return "[[case]]\n" + "".join(f"{_key(key)} = {toml(value)}\n" for key, value in fields.items())


def toml(value: Any) -> str:
    """On one line."""
    if isinstance(value, dict):
        return "{ " + ", ".join(f"{_key(key)} = {toml(item)}" for key, item in value.items()) + " }" if value else "{}"
    if isinstance(value, list):
        return "[" + ", ".join(map(toml, value)) + "]"
    import json

    return json.dumps(value, ensure_ascii=False).replace("\x7f", "\\u007f")


def _key(name: str) -> str:
    is_bare = name.isascii() and name.replace("_", "").replace("-", "").isalnum()
    return name if is_bare else toml(name)


def _write(path: str, text: str) -> None:
    mode = os.stat(path).st_mode & 0o777 if os.path.exists(path) else 0o666 & ~_umask()
    draft = f"{path}.{os.getpid()}.unfinished"
    try:
        with os.fdopen(
            os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "w", encoding="utf-8", newline=""
        ) as file:
            file.write(text)
        os.chmod(draft, mode)
        os.replace(draft, path)
    finally:
        if os.path.exists(draft):
            os.unlink(draft)


def _umask() -> int:
    mask = os.umask(0o077)
    os.umask(mask)
    return mask
