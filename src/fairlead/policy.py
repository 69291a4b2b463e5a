"""What the organisation requires and forbids, and what of a user's word counts for the guards of projects."""

from __future__ import annotations

from fairlead.errors import Problem
from fairlead.events import GUARDED
from fairlead.hooks import Hook, Origin

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence
    from typing import Any

    from fairlead.dialects import Places, Reading, Source

    Readings = Sequence[tuple[Source, Reading]]


def applied(hooks: Iterable[Hook], readings: Readings, _places: Places) -> tuple[list[Hook], list[Problem]]:
    """The hooks as far as they may run, what refuses in the place of those that must be there, and what is wrong."""
    owners = {source.path: source.owner for source, _ in readings}
    found = _with_exceptions(hooks, readings)
    source, policy = _policy(readings)
    if source is None:
        return found, []
    file = source.path
    found = [_permitted(hook, owners.get(hook.origin.file, ""), policy, file) for hook in found]
    unmet = [reason for name in policy.get("require", ()) if (reason := _missing(name, found, file))]
    refusing = [_refusing(reason, file) for reason in (policy.get("broken", ""), *unmet) if reason]
    return _before_our_own(found, refusing), [_unmet(reason, file) for reason in unmet]


def _before_our_own(hooks: list[Hook], refusing: list[Hook]) -> list[Hook]:
    """Nobody has to be asked about what is refused; other systems' hooks still come first."""
    at = next((index for index, hook in enumerate(hooks) if hook.origin.dialect == "fairlead"), len(hooks))
    return [*hooks[:at], *refusing, *hooks[at:]]


def _policy(readings: Readings) -> tuple[Source | None, Mapping[str, Any]]:
    for source, reading in readings:
        if source.owner == "managed" and "policy" in reading.settings:
            return source, reading.settings["policy"]
    return None, {}


# --- forbidden ---------------------------------------------------------------------------------------


def _permitted(hook: Hook, owner: str, policy: Mapping[str, Any], file: str) -> Hook:
    if hook.origin.layer in ("managed", "code") or not hook.enabled:
        return hook
    why = "which lets only managed hooks run" if policy.get("only_managed_hooks") else ""
    forbidden = sorted(_kinds_of(hook, owner) & policy.get("forbid", frozenset()))
    why = why or (f"which forbids {forbidden[0]}" if forbidden else "")
    return (
        hook.but(enabled=False, options={**hook.options, "off": f"is switched off by {file}, {why}"}) if why else hook
    )


def _kinds_of(hook: Hook, owner: str) -> set[str]:
    """Its handler, its layer, its dialect, and whose it is: a plugin of the project is the project's, too."""
    handler = getattr(hook.handler, "handler", hook.handler)  # in the background
    return {handler.kind, hook.origin.layer, hook.origin.dialect, owner}


# --- required ----------------------------------------------------------------------------------------


def _missing(name: str, hooks: Iterable[Hook], file: str) -> str:
    """Why a hook that has to be there is not in force; empty where it is. Only our own files are always read."""
    named = [hook for hook in hooks if hook.name == name and hook.origin.dialect == "fairlead"]
    if any(hook.enabled and hook.trusted for hook in named):
        return ""
    return f"{file} requires the hook {name!r}, which {_why_not(named)}"


def _why_not(named: Sequence[Hook]) -> str:
    if not named:
        return "is not there: write it into a fairlead.toml"
    hook = next((hook for hook in named if hook.enabled), named[0])
    if hook.enabled:
        return f"is not trusted ({hook.origin}): look at it with `fairlead trust`"
    return f"{hook.options.get('off') or 'is switched off'} ({hook.origin}): switch it on"


def _refusing(reason: str, file: str) -> Hook:
    from fairlead.handlers.refusal import Refusal

    origin = Origin(dialect="fairlead", layer="managed", file=file, path=("policy",))
    return Hook(name="policy", events=tuple(sorted(GUARDED)), handler=Refusal(reason=reason), origin=origin)


def _unmet(reason: str, file: str) -> Problem:
    from fairlead.locate import position

    line, column = position(file, ("policy", "require"))
    hint = "until then tool calls, permissions and prompts are refused"
    return Problem(file=file, line=line, column=column, message=reason.partition(f"{file} ")[2], hint=hint)


# --- exceptions --------------------------------------------------------------------------------------


def _with_exceptions(hooks: Iterable[Hook], readings: Readings) -> list[Hook]:
    """What a user lets pass, the guards of projects let pass, too: their own files cannot say so."""
    rules = tuple(rule for _, reading in readings for rule in reading.settings.get("exceptions", ()))
    return [_excepting(hook, rules) if rules and hook.options.get("tightens") else hook for hook in hooks]


def _excepting(hook: Hook, rules: tuple[Any, ...]) -> Hook:
    from fairlead.handlers.guard import Guarded

    guard: Any = hook.handler
    return hook.but(handler=Guarded(guard.packs, (*rules, *guard.rules)))
