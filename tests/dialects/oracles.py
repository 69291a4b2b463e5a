"""What each agent does with a hook's answer before a tool call: from watching the agents, not from our halves.

`outcome(agent, reply)` is `runs`, `asks` or `blocked`; with `runs` comes the input that the tool gets.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

from fairlead.dialects import Reply

Json = dict[str, Any]
BLOCKED, RUNS, ASKS = "blocked", "runs", "asks"


class Outcome:
    def __init__(self, what: str, tool_input: Json | None = None, reason: str = "") -> None:
        self.what = what
        self.tool_input = tool_input
        self.reason = reason

    def __repr__(self) -> str:
        return f"Outcome({self.what}, {self.tool_input}, {self.reason!r})"


def outcome(agent: str, reply: Reply) -> Outcome:
    return _AGENTS[agent](reply)


def _json(reply: Reply) -> Json | None:
    """One JSON object and nothing else; None for empty or other output."""
    try:
        found = json.loads(reply.stdout)
    except ValueError:
        return None
    return found if isinstance(found, dict) else None


def _by_exit_2(reply: Reply) -> Outcome | None:
    if reply.exit_code == 2 and reply.stderr.strip():
        return Outcome(BLOCKED, reason=reply.stderr.strip())
    return None


def _claude(
    reply: Reply, *, asks: bool = True, rewrites: bool = True, needs_name: bool = True, needs_reason: bool = False
) -> Outcome:
    blocked = _by_exit_2(reply)
    found = _json(reply) or {}
    specific = found.get("hookSpecificOutput") or {}
    if needs_name and specific and specific.get("hookEventName") != "PreToolUse":
        return blocked or Outcome(RUNS)
    word, reason = specific.get("permissionDecision"), str(specific.get("permissionDecisionReason") or "")
    if blocked or (word == "deny" and (reason.strip() or not needs_reason)):
        return blocked or Outcome(BLOCKED, reason=reason)
    if word == "ask":
        return Outcome(ASKS if asks else RUNS, reason=reason)
    return Outcome(RUNS, specific.get("updatedInput") if rewrites else None)


_CODEX_TOP = {"hookSpecificOutput", "systemMessage", "decision", "reason"}
_CODEX_INNER = {"hookEventName", "permissionDecision", "permissionDecisionReason", "updatedInput", "additionalContext"}


def _codex(reply: Reply) -> Outcome:
    found = _json(reply) or {}
    specific = found.get("hookSpecificOutput") or {}
    if set(found) - _CODEX_TOP or set(specific) - _CODEX_INNER:
        return Outcome(RUNS)  # one foreign key, and the hook has failed
    word, update = specific.get("permissionDecision"), specific.get("updatedInput")
    if word not in (None, "deny", "allow") or (word == "allow") != (update is not None):
        return Outcome(RUNS)
    if update is not None and not isinstance(update.get("command", ""), str):
        return Outcome(RUNS)
    return _claude(reply, needs_reason=True)


def _gemini(reply: Reply) -> Outcome:
    found = _json(reply)
    if found is None:
        return Outcome(BLOCKED, reason=reply.stderr) if reply.exit_code >= 2 and reply.stderr.strip() else Outcome(RUNS)
    if found.get("continue") is False or found.get("decision") in ("deny", "block"):
        return Outcome(BLOCKED, reason=str(found.get("reason") or found.get("stopReason") or ""))
    if found.get("decision") == "ask":
        return Outcome("the program ends without a word")
    return Outcome(RUNS, (found.get("hookSpecificOutput") or {}).get("tool_input"))


def _copilot(reply: Reply) -> Outcome:
    if reply.exit_code:
        return Outcome(BLOCKED)
    found = _json(reply) or {}
    inner = found.get("hookSpecificOutput") or found
    word, reason = inner.get("permissionDecision"), str(inner.get("permissionDecisionReason") or "")
    if word == "deny" and reason.strip():
        return Outcome(BLOCKED, reason=reason)
    if word == "ask":
        return Outcome(ASKS, reason=reason)
    return Outcome(RUNS, inner.get("updatedInput", inner.get("modifiedArgs")))


def _cursor(reply: Reply) -> Outcome:
    found = _json(reply)
    if reply.exit_code == 2:
        return Outcome(BLOCKED, reason=reply.stderr)
    if found is None or found.get("permission") not in ("allow", "deny"):
        return Outcome("an answer that Cursor calls invalid")
    if found["permission"] == "deny":
        return Outcome(BLOCKED, reason=str(found.get("agent_message") or ""))
    return Outcome(RUNS, found.get("updated_input"))


def _only_exit_2(reply: Reply) -> Outcome:
    return _by_exit_2(reply) or Outcome(RUNS)


def _top(
    *, keys: tuple[str, ...] = (), update: str = "", exit_2: bool = True, asks: bool = False
) -> Callable[[Reply], Outcome]:
    """Agents that read a `decision` at the top."""

    def read(reply: Reply) -> Outcome:
        found = _json(reply) or {}
        if exit_2 and _by_exit_2(reply):
            return Outcome(BLOCKED, reason=reply.stderr.strip())
        if reply.exit_code:
            return Outcome(RUNS)
        if found.get("decision") in (keys or ("deny", "block")):
            return Outcome(BLOCKED, reason=str(found.get("reason") or ""))
        if asks and found.get("decision") == "ask":
            return Outcome(ASKS, reason=str(found.get("reason") or ""))
        value: Any = found
        for part in update.split(".") if update else ():
            value = (value or {}).get(part)
        return Outcome(RUNS, value if update else None)

    return read


def _cline(reply: Reply) -> Outcome:
    found = _json(reply) or {}
    if found.get("cancel") is True:
        return Outcome(BLOCKED, reason=str(found.get("errorMessage") or ""))
    return Outcome(RUNS, found.get("overrideInput"))


def _droid(reply: Reply) -> Outcome:
    return _claude(reply, asks=False, needs_name=False)


def _crush(reply: Reply) -> Outcome:
    if reply.exit_code == 49:
        return Outcome(BLOCKED, reason=reply.stderr)
    found = _json(reply) or {}
    if found.get("halt") is True:
        return Outcome(BLOCKED, reason=str(found.get("reason") or ""))
    return _top(update="updated_input")(reply)


def _hermes(reply: Reply) -> Outcome:
    found = _json(reply) or {}
    if _by_exit_2(reply):
        return Outcome(BLOCKED, reason=reply.stderr.strip())
    if found.get("action") == "block" or found.get("decision") == "block":
        return Outcome(BLOCKED, reason=str(found.get("message") or found.get("reason") or ""))
    if found.get("action") == "approve":
        return Outcome(ASKS, reason=str(found.get("message") or ""))
    changed = found.get("args") if found.get("action") == "modify" else None
    return Outcome(RUNS, changed)


def _antigravity(reply: Reply) -> Outcome:
    found = _json(reply) or {}
    word = found.get("decision")
    if word == "deny":
        return Outcome(BLOCKED, reason=str(found.get("reason") or ""))
    if word in ("ask", "force_ask", "deny_unless_prior_grant"):
        return Outcome(ASKS, reason=str(found.get("reason") or ""))
    return Outcome(RUNS) if word == "allow" else Outcome("nobody knows")


def _plugin(reply: Reply) -> Outcome:
    found = _json(reply)
    if reply.exit_code or found is None or found.get("decision") not in ("none", "allow", "ask", "deny"):
        return Outcome(BLOCKED, reason="no valid answer")
    if found["decision"] == "deny":
        return Outcome(BLOCKED, reason=str(found.get("reason") or ""))
    return Outcome(ASKS if found["decision"] == "ask" else RUNS, found.get("input"))


def _code_agent(reply: Reply) -> Outcome:
    return Outcome(BLOCKED, reason=reply.stderr or reply.stdout.decode()) if reply.exit_code else Outcome(RUNS)


def _claude_agent(reply: Reply) -> Outcome:
    found = _json(reply)
    if reply.exit_code:
        return Outcome(BLOCKED, reason=reply.stderr)
    if found is not None and found.get("continue_execution") is False:
        return Outcome(BLOCKED, reason=str(found.get("stop_reason") or ""))
    return Outcome(RUNS, (found or {}).get("updated_input"))


def _m(reply: Reply) -> Outcome:
    found = _json(reply) or {}
    if found.get("decision") == "block":
        return Outcome(BLOCKED, reason=str(found.get("message") or ""))
    return Outcome(RUNS)


_AGENTS: dict[str, Callable[[Reply], Outcome]] = {
    "claude-code": _claude,
    "codex": _codex,
    "gemini": _gemini,
    "qwen": lambda reply: _claude(reply, rewrites=False, needs_name=False),
    "cursor": _cursor,
    "copilot": _copilot,
    "vscode": _claude,
    "windsurf": _only_exit_2,
    "devin": _top(),
    "cline": _cline,
    "droid": _droid,
    "kiro": _only_exit_2,
    "augment": lambda reply: _claude(reply, asks=False, needs_name=False),
    "goose": _top(keys=("block",)),
    "crush": _crush,
    "kimi": lambda reply: _claude(reply, asks=False, rewrites=False, needs_name=False),
    "junie": _top(update="updatedInput", asks=True),
    "grok": _top(keys=("deny",), update="hookSpecificOutput.updatedInput"),
    "openhands": _top(keys=("deny",)),
    "hermes": _hermes,
    "vibe": _top(keys=("deny",), update="hook_specific_output.tool_input", exit_2=False),
    "antigravity": _antigravity,
    "opencode": _plugin,
    "kilo": _plugin,
    "amp": _plugin,
    "m": _m,
    "code-agent": _code_agent,
    "codemie": _top(update="updatedInput", asks=True),
    "amcp": lambda reply: _claude(reply, needs_name=False),
    "claude-agent": _claude_agent,
}
