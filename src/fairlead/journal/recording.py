"""An event and what became of it, as an entry of the journal."""

from __future__ import annotations

from fairlead import wire
from fairlead.errors import InputError
from fairlead.journal.writing import WHOLE

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any

    from fairlead.dialects import Reply
    from fairlead.events import Event
    from fairlead.hooks import Report
    from fairlead.verdicts import Decision

LONGEST = 4000
"""Characters of one text by a hook."""
LARGEST = 256 * 1024
"""Characters of one value of an event that are kept."""


def decided(decision: Decision) -> str:
    """In one word; ending the turn refuses what was asked, whatever else was said."""
    return "stop" if decision.stop and decision.decision in ("none", "allow") else decision.decision


def summary(agent: str, event: Event, decision: Decision, ms: float) -> dict[str, Any]:
    """What one searches for."""
    ran = [report for report in decision.met if report.ran]
    return {
        "agent": agent,
        "session": event.session_id,
        "event": event.name,
        "tool": getattr(event, "tool_name", ""),
        "decision": decided(decision),
        **_each(ran),
        "failed": sum(1 for report in ran if _gave_nothing(report)),
        "ms": round(ms, 2),
    }


def _gave_nothing(report: Report) -> str:
    """Why it has no verdict of its own; a model whose answer could not be understood has none either, though its hook
    refuses then."""
    return report.error or str(getattr(report.outcome, "unclear", ""))


WORDS = ("none", "allow", "defer", "ask", "deny", "failed", "late")
"""What a hook may have said; the later weighs more."""


def _each(ran: list[Report]) -> dict[str, Any]:
    """The hooks by name, how long each took, and what each said where one has said anything."""
    if not ran:
        return {"hooks": [], "times": []}
    times: dict[str, float] = {}
    said: dict[str, str] = {}
    for report in ran:
        verdict = report.verdict.decision if report.verdict else "none"
        name, word = report.hook.name, word_of(verdict, _gave_nothing(report))
        times[name] = max(times.get(name, 0.0), round(report.ms, 2))
        said[name] = max(said.get(name, word), word, key=WORDS.index)
    found: dict[str, Any] = {"hooks": list(times), "times": list(times.values())}
    return {**found, "said": list(said.values())} if any(word != "none" for word in said.values()) else found


def word_of(verdict: str, error: str) -> str:
    if error:
        is_late = error.startswith("timed out") or (error.startswith("POST ") and ": timed out" in error)
        return "late" if is_late else "failed"
    return verdict if verdict in WORDS else "none"


def details(
    event: Event, decision: Decision, reply: Reply | dict[str, Any] | None, project: str, raw: bytes | None
) -> dict[str, Any]:
    """All of it; without the raw event nothing of what the agent has sent."""
    payloads = raw is not None
    met = [report for report in decision.met if _is_worth_it(report)]
    found: dict[str, Any] = {
        "project": project,
        "cwd": event.cwd,
        **(_SILENCE if decision.is_silent else _texts(decision)),
        "hooks": [_hook(report, payloads=payloads) for report in met],
        "others": len(decision.reports) - len(met),
    }
    if payloads:
        found |= _event(event, raw or b"", untouched=not met)
        found["updated_input"] = bounded(decision.updated_input)
        found["reply"] = _reply(reply)
    return found


_SILENCE: Mapping[str, Any] = {"reason": "", "context": "", "user_message": "", "notes": ()}


def _texts(decision: Decision) -> dict[str, Any]:
    return {
        "reason": decision.reason[:LONGEST],
        "context": decision.for_model[:LONGEST],
        "user_message": decision.user_message[:LONGEST],
        "notes": [note[:LONGEST] for note in decision.notes],
    }


def _event(event: Event, raw: bytes, *, untouched: bool) -> dict[str, Any]:
    """In our words; and in the agent's own, where they are others, so that it can be judged again exactly."""
    payload = event.payload()
    if raw and len(raw) <= LARGEST and _is_said(event, raw, untouched=untouched):
        return {"payload": payload}  # nothing in it can be too long, either
    sent = raw.decode("utf-8", "replace") if len(raw) <= LARGEST else ""
    kept = bounded(payload)
    found: dict[str, Any] = {"payload": kept} if kept == payload else {"payload": kept, "cut": True}
    return {**found, "sent": sent} if sent else found


def _is_as_we_write(raw: bytes) -> bool:
    """In one line, each character as we would spell it: entries are searched as bytes. UTF-16 is full of zeros."""
    if not raw.isascii() or b"\n" in raw or b"\r" in raw or b"\0" in raw:
        return False
    return b"\\" not in raw or not (b"\\u" in raw or b"\\/" in raw)


def _is_said(event: Event, raw: bytes, *, untouched: bool) -> bool:
    """Where a hook had the event in its hands it may have changed it, and so what was once read."""
    try:
        return event.says(wire.decoded(raw) if untouched else wire.decode(raw))
    except InputError:
        return False


def unnoticed(
    agent: str, event: Event, decision: Decision, reply: Reply, ms: float, project: str, raw: bytes
) -> tuple[bytes, bytes] | None:
    """An event that no hook has looked at, as at most: the JSON of its `summary`, without braces, and of its `details`,
    at a fifth of the cost. None for any other, and for what the agent has spelled otherwise than we would."""
    if decision.met or not decision.is_silent or len(raw) > LARGEST or not _is_as_we_write(raw):
        return None
    if not _is_said(event, raw, untouched=True):
        return None
    about = agent, event.session_id, event.name, getattr(event, "tool_name", "")
    around = project, event.cwd, len(decision.reports), reply.stdout, reply.stderr, reply.exit_code
    line = _LINES.get(about) or _kept(_LINES, about, summary(agent, event, decision, 0), b"0}")
    whole = _WHOLES.get(around) or _kept(_WHOLES, around, details(event, decision, reply, project, raw), b"}")
    return b"%b%a" % (line[1:], round(ms, 2)), b'%b,"payload":%b}' % (whole, raw)


def _kept(known: dict[tuple[Any, ...], bytes], key: tuple[Any, ...], fields: dict[str, Any], end: bytes) -> bytes:
    """What is the same for the next event, too; `end` is where the rest goes."""
    text = wire.encode({name: value for name, value in fields.items() if name != "payload"}).removesuffix(end)
    if len(known) >= _MOST_KEPT:
        known.clear()
    if len(text) <= LONGEST:
        known[key] = text
    return text


_LINES: dict[tuple[Any, ...], bytes] = {}
_WHOLES: dict[tuple[Any, ...], bytes] = {}
_MOST_KEPT = 256
"""Sessions, and projects, whose words are not encoded again: a server writes the same ones all day."""


def failure(
    agent: str, event: str, reason: str, reply: Reply | dict[str, Any], project: str
) -> tuple[dict[str, Any], dict[str, Any]]:
    """An event that could not be judged at all."""
    short = {
        "agent": agent,
        "session": "",
        "event": event,
        "tool": "",
        "decision": "deny",
        "hooks": [],
        "failed": 1,
        "ms": 0.0,
    }
    return short, {"project": project, "reason": reason[:LONGEST], "notes": [], "hooks": [], "reply": _reply(reply)}


def _is_worth_it(report: Report) -> bool:
    """Hooks for other events and other tools are only counted."""
    return report.ran or report.matched


def _hook(report: Report, *, payloads: bool) -> dict[str, Any]:
    hook, verdict = report.hook, report.verdict
    found: dict[str, Any] = {
        "name": hook.name,
        "handler": hook.handler.kind,
        "runs": hook.handler.describe()[:LONGEST],
        "file": hook.origin.file,
        "place": list(hook.origin.path),
        "layer": hook.origin.layer,
        "dialect": hook.origin.dialect,
    }
    if verdict is None:
        return {**found, "why": report.why}
    found |= {"verdict": verdict.decision, "reason": verdict.reason[:LONGEST], "ms": round(report.ms, 2)}
    if report.error:
        found["error"] = report.error[:LONGEST]
    if report.facts:
        found["facts"] = dict(report.facts)
    if payloads and verdict.updated_input is not None:
        found["updated_input"] = bounded(verdict.updated_input)
    return found


def bounded(value: Any, longest: int = LARGEST) -> Any:
    """Long texts are cut, and say so; what is decided about has its own digest elsewhere."""
    if isinstance(value, str) and len(value) > longest:
        return f"{value[:longest]}… ({len(value) - longest:,} more characters)"
    if isinstance(value, dict):
        return {key: bounded(item, longest) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [bounded(item, longest) for item in value]
    return value


def fitted(details: Mapping[str, Any], size: int) -> dict[str, Any]:
    """What is too long as a whole (`size` in bytes), cut; and it says so."""
    return {**_Room(WHOLE * 3 // 4).fit(dict(details)), "cut": True, "size": size}


class _Room:
    """Bytes that are left. What comes when there are none is only counted, and takes no time."""

    _LONGEST = 16 * 1024

    def __init__(self, left: int) -> None:
        self._left = left

    def fit(self, value: Any) -> Any:
        if isinstance(value, dict):
            return self._table(value)
        if isinstance(value, (list, tuple)):
            return self._list(value)
        kept = bounded(value, self._LONGEST)
        self._left -= len(wire.encode(kept)) + 1
        return kept

    def _table(self, value: dict[str, Any]) -> dict[str, Any]:
        found: dict[str, Any] = {}
        for key, inner in value.items():
            if self._left <= 0:
                return {**found, "…": f"({len(value) - len(found):,} more)"}
            found[self.fit(key[:LONGEST])] = self.fit(inner)
        return found

    def _list(self, value: list[Any] | tuple[Any, ...]) -> list[Any]:
        found: list[Any] = []
        for inner in value:
            if self._left <= 0:
                return [*found, f"… ({len(value) - len(found):,} more)"]
            found.append(self.fit(inner))
        return found


def _reply(reply: Reply | dict[str, Any] | None) -> Any:
    if reply is None or isinstance(reply, dict):
        return bounded(reply)
    stdout = reply.stdout.decode("utf-8", "backslashreplace")
    return {"stdout": bounded(stdout), "stderr": bounded(reply.stderr), "exit_code": reply.exit_code}
