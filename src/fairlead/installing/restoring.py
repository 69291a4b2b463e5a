"""What has to change on this machine to take Fairlead out of an agent. Nothing is written here."""

from __future__ import annotations

from fairlead.documents import BadDocument
from fairlead.errors import ConfigError
from fairlead.installing import adopting, files, jsonc, jsonsettings, ownfiles, records, specs
from fairlead.installing.edits import reverted
from fairlead.installing.entries import Wishes
from fairlead.installing.plans import EDITORS, Change, Plan, check_writable, failed, finder

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from typing import Any

    from fairlead.installing.entries import Finder
    from fairlead.installing.plans import Machine
    from fairlead.installing.records import Installed, Kept
    from fairlead.installing.specs import Install


def to_uninstall(spec: Install, scope: str, machine: Machine) -> Plan:
    plan = Plan(agent=spec.name, scope=scope)
    shown = specs.settings_file(spec, scope, home=machine.home, project=machine.project, environ=machine.environ)
    try:
        record = records.load(machine.record_path(spec.name, scope))
        plan = plan.but(record=record, changes=tuple(_changes(spec, shown, record)))
        check_writable(plan.changes)
    except ConfigError as error:
        return failed(plan, shown, error)
    return plan.but(notes=tuple(_changed_by_others(record, plan.changes)))


def _changes(spec: Install, shown: str, record: Installed | None) -> list[Change]:
    """The settings first: then nothing calls what is removed after them."""
    if record is not None:
        adopted = adopting.looked_after(record, spec)
        return [_restored(spec, kept, adopted, record) for kept in reversed(record.files) if kept.kind != "relay"]
    if not shown:
        return []
    return _unrecorded(spec, shown) if spec.format in EDITORS else list(_unrecorded_own(spec, shown))


def _restored(spec: Install, kept: Kept, adopted: adopting.LookedAfter, record: Installed) -> Change:
    if kept.kind != "settings":
        return adopting.given_back(kept, record)
    content = files.look(kept.path).content
    after = None if content is None else without_us(spec, kept, content, adopted)
    return Change(path=kept.path, shown=kept.path, kind=kept.kind, before=content, after=after, mode=kept.mode)


def _changed_by_others(record: Installed | None, changes: Sequence[Change]) -> Iterator[str]:
    for change in changes:
        kept = record.kept(change.path) if record else None
        if kept is not None and change.before is not None and not kept.is_untouched(change.before):
            what = "it goes, whatever is in it" if kept.kind == "own" else "those changes stay, only our part goes"
            yield f"{change.shown} was changed since `fairlead init`; {what}"


# --- what nobody remembers: written by hand, or on another machine -----------------------------------


def _unrecorded(spec: Install, shown: str) -> list[Change]:
    present = files.look(shown)
    if present.content is None:
        return []
    is_mine = finder(spec, ownfiles.shim_path(shown) if spec.form == "shim" else "")
    after = EDITORS[spec.format].removed(files.text_of(present.content), None, is_mine).encode()
    return [Change(path=present.path, shown=shown, kind="settings", before=present.content, after=after)]


def _unrecorded_own(spec: Install, shown: str) -> Iterator[Change]:
    for path, _content, _mode in ownfiles.contents(spec, shown, Wishes(all_events=True)):
        present = files.look(path)
        if present.content is not None and ownfiles.is_ours(present.content):
            yield Change(path=present.path, shown=path, kind="own", before=present.content, after=None)


# --- settings ----------------------------------------------------------------------------------------


def original(spec: Install, present: files.Present, record: Installed | None) -> bytes | None:
    """A settings file as it would be without us."""
    kept = record.kept(present.path) if record else None
    if kept is None or present.content is None:
        return present.content
    return without_us(spec, kept, present.content, adopting.looked_after(record, spec))


def without_us(spec: Install, kept: Kept, content: bytes, adopted: adopting.LookedAfter) -> bytes | None:
    """What was there before, with what others have changed since. None where there was nothing."""
    if kept.is_untouched(content) and not adopted.is_changed:
        return kept.original
    text = files.text_of(content)
    before = None if kept.original is None else kept.original.decode()
    is_mine = finder(spec, ownfiles.shim_path(kept.path) if spec.form == "shim" else "")
    plain: str = EDITORS[spec.format].removed(text, before, is_mine)
    if adopted.entries:
        plain = adopting.put_back(plain, adopted.entries, spec)
    exact = None if adopted.is_changed else reverted(before or "", kept.edits, text)
    if exact is not None and _is_as_good(exact, plain, spec, is_mine):
        plain = exact
    return None if before is None and _holds_nothing(plain, spec) else plain.encode()


def _is_as_good(exact: str, plain: str, spec: Install, is_mine: Finder) -> bool:
    """Whether taking back our edits left a file in order that says the same as the one without our entries."""
    try:
        return set(_leaves(_meaning(exact, spec, is_mine))) == set(_leaves(_meaning(plain, spec, is_mine)))
    except BadDocument:
        return False


def _meaning(text: str, spec: Install, is_mine: Finder) -> Any:
    if spec.format != "json":
        return EDITORS[spec.format].parse(text) or {}
    if jsonc.is_blank(text):
        return {}
    root = jsonsettings.document(text)
    if jsonsettings.ours(root, is_mine):
        raise BadDocument("something of ours is left", 1, 1)
    return {key: value for key, value in root.value.items() if spec.root.get(key) != value}


def _leaves(value: Any, path: tuple[str, ...] = ()) -> Iterator[tuple[tuple[str, ...], str]]:
    """Each value with the keys above it; hooks that were put back may stand in another order."""
    if isinstance(value, dict):
        for key, inner in value.items():
            yield from _leaves(inner, (*path, str(key)))
    elif isinstance(value, list):
        for inner in value:
            yield from _leaves(inner, path)
    elif value is not None:
        yield path, repr(value)


def _holds_nothing(text: str, spec: Install) -> bool:
    if spec.format != "json":
        return not text.strip("\ufeff \t\r\n")
    return jsonc.is_blank(text) or all(
        key in spec.root and inner == spec.root[key] for key, inner in jsonsettings.document(text).value.items()
    )
