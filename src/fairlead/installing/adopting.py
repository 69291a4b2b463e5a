"""Taking over the hooks that are in an agent's settings, and giving them back."""

from __future__ import annotations

import json
import os

from fairlead import layers
from fairlead._record import Record
from fairlead.dialects import Places
from fairlead.documents import BadDocument
from fairlead.installing import files, jsonc, jsonsettings, specs, tomlsettings
from fairlead.installing.edits import apply
from fairlead.installing.entries import Wanted
from fairlead.installing.plans import Change, Elsewhere

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from typing import Any

    from fairlead.installing.entries import Finder
    from fairlead.installing.jsonc import Node, Path
    from fairlead.installing.plans import Machine, Plan
    from fairlead.installing.records import Installed, Kept
    from fairlead.installing.specs import Install


def kept(record: Installed | None) -> Kept | None:
    found = record.of_kind("adopted") if record else []
    return found[0] if found else None


def file_for(spec: Install, scope: str, machine: Machine) -> str:
    places = Places(home=machine.home, project=machine.project, environ=machine.environ)
    return next(source.path for source in layers.adopted(spec.name, places) if source.owner == scope)


# --- taking over -------------------------------------------------------------------------------------

_NOTHING = "there are no hooks to adopt"
_NEEDS_TRUST = "the adopted hooks are the project's: Fairlead runs them only for those who trust it (--trust-project)"


class TakenOver(Record):
    text: str
    """The settings without the hooks that we look after."""
    changes: tuple[Change, ...] = ()
    """Other files that change with them."""
    notes: tuple[str, ...] = ()


def taken_over(
    spec: Install, text: str, wants: Sequence[Wanted], is_mine: Finder, plan: Plan, machine: Machine
) -> TakenOver:
    record = plan.record
    if record is not None and kept(record) is not None:
        return TakenOver(text=text, changes=tuple(_looked_after_before(plan, record)))
    if not plan.wishes.adopt:
        return TakenOver(text=text)
    taken = _whole_toml(spec, text, plan, machine) if spec.name == "amcp" else None
    taken = taken or _from_json(spec, text, wants, is_mine, plan, machine)
    needs_trust = plan.scope == "project" and taken.changes
    return taken.but(notes=(*taken.notes, _NEEDS_TRUST)) if needs_trust else taken


def _looked_after_before(plan: Plan, record: Installed) -> Iterator[Change]:
    for one in (*record.of_kind("adopted"), *record.of_kind("moved")):
        content = files.look(one.path).content
        if plan.wishes.adopt:
            yield Change(
                path=one.path, shown=one.path, kind=one.kind, before=content, after=content, original=one.original
            )
        else:
            yield given_back(one, record)


def _from_json(
    spec: Install, text: str, wants: Sequence[Wanted], is_mine: Finder, plan: Plan, machine: Machine
) -> TakenOver:
    if jsonc.is_blank(text):
        return TakenOver(text=text, notes=(_NOTHING,))
    root = jsonsettings.document(text)
    theirs = list(_theirs(text, root, wants, is_mine))
    stays = [note for _, _, _, note in theirs if note] + _other_events(text, root, wants)
    goes = [(path, want, value) for path, want, value, note in theirs if not note]
    if not goes:
        return TakenOver(text=text, notes=(*stays, _NOTHING))
    document = _document(spec, root, [(want, value) for _, want, value in goes])
    content = (json.dumps(document, indent=2, ensure_ascii=False) + "\n").encode()
    changed = apply(text, jsonsettings.pruned(text, root, [path for path, _, _ in goes], frozenset()))
    left = [value for _, _, value, _ in _theirs(changed, jsonsettings.document(changed), wants, is_mine)]
    if left != [value for _, _, value, note in theirs if note]:
        raise BadDocument("its hooks cannot be taken out safely", 1, 1, "please report it; nothing was written")
    return TakenOver(text=changed, changes=(_new_file(spec, plan, machine, content),), notes=tuple(stays))


def _new_file(spec: Install, plan: Plan, machine: Machine, content: bytes) -> Change:
    path = file_for(spec, plan.scope, machine)
    present = files.look(path)
    if present.content is not None:
        raise Elsewhere(path, "is there already", "it holds hooks that were adopted before; move it away first")
    return Change(path=present.path, shown=path, kind="adopted", before=None, after=content, mode=0o600)


def _whole_toml(spec: Install, text: str, plan: Plan, machine: Machine) -> TakenOver:
    """AMCP's TOML file holds nothing but hooks: it moves as it is."""
    source = specs.settings_file(spec, plan.scope, home=machine.home, project=machine.project, environ=machine.environ)
    present = files.look(os.path.join(os.path.dirname(source), "hooks.toml"))
    if present.content is None:
        return TakenOver(text=text, notes=(_NOTHING,))
    if script := _relative_script(tomlsettings.parse(files.text_of(present.content))):
        return TakenOver(text=text, notes=(f"hooks.toml stays where it is: {script!r} is looked for beside it",))
    away = Change(
        path=present.path,
        shown=present.path,
        kind="moved",
        before=present.content,
        after=None,
        original=present.content,
        mode=present.mode,
    )
    return TakenOver(text=text, changes=(_new_file(spec, plan, machine, present.content), away))


def _relative_script(data: dict[str, Any]) -> str:
    for handler in _toml_handlers(data.get("hooks")):
        target = handler.get("script") or handler.get("function")
        if isinstance(target, str) and not os.path.isabs(target):
            return target
    return ""


def _toml_handlers(hooks: object) -> Iterator[dict[str, Any]]:
    for section in hooks.values() if isinstance(hooks, dict) else ():
        handlers = section.get("handlers", []) if isinstance(section, dict) else section
        yield from (handler for handler in handlers if isinstance(handler, dict))


def _theirs(text: str, root: Node, wants: Sequence[Wanted], is_mine: Finder) -> Iterator[tuple[Path, Wanted, Any, str]]:
    """Each handler that is not ours: its path, its event, the entry to keep it in, and why it has to stay."""
    for want in wants:
        node = jsonc.at(text, root, want.path)
        for number, member in enumerate(node.members if node else ()):
            path: Path = (*want.path, member.key if node and node.kind == "object" else number)
            yield from _handlers(path, want, member.node, member.key, is_mine)


def _handlers(
    path: Path, want: Wanted, node: Node, key: str, is_mine: Finder
) -> Iterator[tuple[Path, Wanted, Any, str]]:
    inner = node.value.get("hooks") if isinstance(node.value, dict) else None
    if not isinstance(inner, list):
        if not is_mine(node.value):
            yield path, want.but(key=key), node.value, _why_not(node.value, want.event)
        return
    for number, handler in enumerate(inner):
        if not is_mine(handler):
            group = {**node.value, "hooks": [handler]}
            yield (*path, "hooks", number), want, group, _why_not(handler, want.event)


def _why_not(handler: Any, event: str) -> str:
    """Why we cannot run a handler as its agent does; empty where we can."""
    if isinstance(handler, str):
        return ""
    if not isinstance(handler, dict):
        return f"an entry of {event} stays where it is: it is not understood"
    kind = handler.get("type", "command")
    if kind not in ("command", "python"):
        return f"a hook of {event} stays where it is: Fairlead does not run the type {kind!r} yet"
    for flag in ("async", "asyncRewake", "once"):
        if handler.get(flag):
            return f"a hook of {event} stays where it is: Fairlead does not know {flag!r}"
    if handler.get("shell") not in (None, "bash"):
        return f"a hook of {event} stays where it is: its shell is {handler['shell']!r}"
    return ""


def _other_events(text: str, root: Node, wants: Sequence[Wanted]) -> list[str]:
    """Events that we are not called for: their hooks would never run."""
    parents = {want.path[: want.path.index(want.event)] for want in wants if want.event in want.path}
    known = {want.event for want in wants}
    found = []
    for parent in parents:
        node = jsonc.at(text, root, parent)
        names = [member.key for member in node.members if member.node.members] if node else []
        found += [
            f"hooks of {name} stay where they are: Fairlead is not called for it" for name in names if name not in known
        ]
    return found


def _document(spec: Install, root: Node, goes: Sequence[tuple[Wanted, Any]]) -> dict[str, Any]:
    """In the agent's own format, with nothing but hooks."""
    document: dict[str, Any] = dict(spec.root)
    if "{profile}" in spec.path:
        document["activeProfile"] = root.value.get("activeProfile", "default")
    for want, value in goes:
        place = document
        for step in want.path[:-1]:
            place = place.setdefault(step, {})
        _put(place, want, value)
    return document


def _put(place: dict[str, Any], want: Wanted, value: Any) -> None:
    if want.key:
        place.setdefault(want.path[-1], {})[want.key] = value
        return
    found = place.setdefault(want.path[-1], [])
    if found and _same_group(found[-1], value):
        found[-1]["hooks"] += value["hooks"]
    else:
        found.append(value)


def _same_group(one: Any, other: Any) -> bool:
    if not isinstance(one, dict) or not isinstance(other, dict) or "hooks" not in other:
        return False
    return {**one, "hooks": 0} == {**other, "hooks": 0}


# --- giving back -------------------------------------------------------------------------------------


def given_back(one: Kept, record: Installed) -> Change:
    """A file of ours goes; one whose place we have taken comes back, as it is kept now."""
    content = files.look(one.path).content
    if one.kind != "moved":
        return Change(path=one.path, shown=one.path, kind=one.kind, before=content, after=None)
    home = kept(record)
    ours = files.look(home.path).content if home else None
    if content is not None:
        raise Elsewhere(one.path, "is there again", "it was made after its hooks were adopted; put it out of the way")
    return Change(path=one.path, shown=one.path, kind=one.kind, before=None, after=ours or one.original, mode=one.mode)


class LookedAfter(Record):
    """Hooks that we have taken over, as they are now."""

    entries: tuple[Wanted, ...] = ()
    is_changed: bool = False


def looked_after(record: Installed | None, spec: Install) -> LookedAfter:
    adopted = kept(record)
    content = files.look(adopted.path).content if adopted else None
    if adopted is None or record is None or content is None or record.of_kind("moved"):
        return LookedAfter()  # nothing of it came out of the settings
    value = jsonsettings.document(files.text_of(content)).value
    return LookedAfter(entries=tuple(_entries(spec, value, record.scope)), is_changed=not adopted.is_untouched(content))


def _entries(spec: Install, value: dict[str, Any], scope: str) -> Iterator[Wanted]:
    template = spec.user_path if scope == "user" and spec.user_path else spec.path
    profile = value.get("activeProfile", "default")
    steps = [step.replace("{profile}", str(profile)) for step in template]
    index = steps.index("{event}")
    for step in steps[:index]:
        value = value.get(step) or {}
    for event, below in value.items():
        for step in steps[index + 1 :]:
            below = below.get(step, [])  # noqa: PLW2901  # deeper, as the agent has it
        path = tuple(step.replace("{event}", event) for step in steps)
        pairs = below.items() if isinstance(below, dict) else (("", item) for item in below)
        for key, entry in pairs:
            yield Wanted(event=event, path=path, entry=entry, key=key)


def put_back(text: str, wants: Sequence[Wanted], spec: Install) -> str:
    """The settings with hooks that were taken over, at the end of their events' lists."""
    if jsonc.is_blank(text):
        text = "{}\n"
    return apply(text, jsonsettings.added(text, jsonsettings.document(text), wants, spec))
