"""What has to change on this machine to put Fairlead into an agent. Nothing is written here."""

from __future__ import annotations

from fairlead.dialects import AGENT_HALVES
from fairlead.errors import ConfigError
from fairlead.installing import (
    adopting,
    entries,
    files,
    jsonc,
    jsonsettings,
    ownfiles,
    records,
    restoring,
    specs,
    versions,
    ways,
)
from fairlead.installing.edits import by_line
from fairlead.installing.entries import Wishes
from fairlead.installing.plans import EDITORS, Change, Elsewhere, Plan, check_writable, failed, finder

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from fairlead.installing.entries import Wanted
    from fairlead.installing.plans import Machine
    from fairlead.installing.records import Installed
    from fairlead.installing.specs import Install


def to_install(spec: Install, scope: str, asked: Mapping[str, bool | str | None], machine: Machine) -> Plan:
    """A plan; where the agent's files do not allow one, a plan that says why."""
    shown = specs.settings_file(spec, scope, home=machine.home, project=machine.project, environ=machine.environ)
    plan = Plan(agent=spec.name, scope=scope)
    if spec.name not in AGENT_HALVES:
        return plan.but(problem=f"this version of Fairlead does not speak with {spec.title} yet")
    if not shown:
        return plan.but(problem=f"{spec.title} reads no hooks from a project", hint="use --scope user")
    try:
        record = records.load(machine.record_path(spec.name, scope))
        plan = plan.but(wishes=_wishes(record, asked, spec), record=record)
        spec, age = versions.fitted(spec, machine)
        plan = plan.but(way=ways.chosen(spec, scope, plan.wishes, machine, shown))
        plan = _with_settings(spec, shown, plan, machine) if spec.format in EDITORS else _own(spec, shown, plan)
        plan = plan.but(changes=(*_shared(plan, machine), *plan.changes), notes=(*plan.way.notes, *plan.notes))
        check_writable(plan.changes)
    except ConfigError as error:
        return failed(plan, shown, error)
    return plan.but(notes=(*plan.notes, *filter(None, [age]), *_remarks(spec, scope, machine)))


def _remarks(spec: Install, scope: str, machine: Machine) -> Iterator[str]:
    other = "user" if scope == "project" else "project"
    if files.look(machine.record_path(spec.name, other)).content is not None:
        whose = "for your user" if other == "user" else "in this project"
        yield f"it is installed {whose} too: every hook runs twice; `fairlead uninstall --scope {other}`"


def _wishes(record: Installed | None, asked: Mapping[str, bool | str | None], spec: Install) -> Wishes:
    """What is not asked for stays as it was: a second `init` must not switch a guard off."""
    before = record.wishes if record else Wishes()
    wishes = before.but(**{name: value for name, value in asked.items() if value is not None})
    return wishes.but(adopt=wishes.adopt and spec.adopts)


def _shared(plan: Plan, machine: Machine) -> Iterator[Change]:
    for kind, path, content, mode in ways.shared_files(plan.way, machine):
        present = files.look(path)
        kept = content if kind != "key" or present.content is None else present.content
        yield Change(
            path=present.path, shown=path, kind=kind, before=present.content, after=kept, mode=mode,
            mode_now=present.mode,
        )  # fmt: skip


# --- settings that others have entries in too --------------------------------------------------------


def _with_settings(spec: Install, shown: str, plan: Plan, machine: Machine) -> Plan:
    present = files.look(shown)
    original = restoring.original(spec, present, plan.record)
    text = _starting_text(present, original, plan)
    shim = None
    if spec.form == "shim":
        shim = _own_change(*ownfiles.shim(spec, shown, plan.wishes, plan.way.before), plan.record)
    is_mine = finder(spec, shim.path if shim else "")
    _refuse_others(spec, text)
    wants = _wants(spec, text, plan, shim)
    taken = adopting.taken_over(spec, text, wants, is_mine, plan, machine)
    changed, edits = EDITORS[spec.format].installed(taken.text, wants, spec, is_mine)
    before = files.text_of(original or b"")
    settings = Change(
        path=present.path,
        shown=shown,
        kind="settings",
        before=present.content,
        after=changed.encode(),
        mode=_mode_before(present, plan.record),
        mode_now=present.mode,
        is_private=bool(plan.way.key),
        original=original,
        edits=tuple(edits if before == taken.text else by_line(before, changed)),
    )
    changes = (*([shim] if shim else []), *taken.changes, settings)
    return plan.but(changes=changes, notes=(*_made_private(settings), *_switched_off(spec, text), *taken.notes))


def _mode_before(present: files.Present, record: Installed | None) -> int | None:
    """We may have made it private ourselves, before."""
    kept = record.kept(present.path) if record else None
    return kept.mode if kept is not None and kept.mode is not None and present.mode == 0o600 else present.mode


def _made_private(settings: Change) -> Iterator[str]:
    if settings.is_private and settings.mode_now is not None and settings.mode_now & 0o077:
        yield "this file will hold a key: from now on only you can read it (mode 0600)"


def _starting_text(present: files.Present, original: bytes | None, plan: Plan) -> str:
    """As it is; but hooks that we are to look after no longer go back first."""
    gives_back = adopting.kept(plan.record) is not None and not plan.wishes.adopt
    return files.text_of((original if gives_back else present.content) or b"")


def _wants(spec: Install, text: str, plan: Plan, shim: Change | None) -> list[Wanted]:
    """With the options that somebody has added to our entries by hand."""
    profile, path = _profile(spec, text), shim.shown if shim else ""
    first = entries.wanted(spec, plan.scope, plan.wishes, way=plan.way, profile=profile, shim=path)
    known = EDITORS[spec.format].known_calls(text, first, finder(spec, path))
    return entries.wanted(spec, plan.scope, plan.wishes, way=plan.way, profile=profile, shim=path, known=known)


def _profile(spec: Install, text: str) -> str:
    """CodeMie keeps its hooks below the profile that is active."""
    if "{profile}" not in spec.path:
        return ""
    if jsonc.is_blank(text):
        raise ConfigError("does not exist or is empty", hint="set CodeMie up first: its hooks belong to a profile")
    data = jsonsettings.document(text).value
    name, profiles = data.get("activeProfile", "default"), data.get("profiles")
    if not isinstance(name, str) or not isinstance(profiles, dict) or name not in profiles:
        raise ConfigError(f"has no profile {name!r}", hint="choose a profile in CodeMie first")
    return name


def _refuse_others(spec: Install, text: str) -> None:
    """Of two agents that read one file, each would call us for the other, in words that we do not expect."""
    if not spec.shares_with or jsonc.is_blank(text):
        return
    root = jsonsettings.document(text)
    for rival in spec.shares_with:
        if jsonsettings.ours(root, finder(specs.SPECS[rival])):
            message = f"already calls Fairlead for {specs.SPECS[rival].title}, which reads the same file"
            raise ConfigError(message, hint=f"`fairlead uninstall --agent {rival}` first")


def _switched_off(spec: Install, text: str) -> list[str]:
    if spec.format != "json" or jsonc.is_blank(text):
        return []
    data = jsonsettings.document(text).value
    config = data.get("hooksConfig")
    if data.get("disableAllHooks") is True:
        return ["disableAllHooks is true in this file: no hook runs until you take it out"]
    if isinstance(config, dict) and config.get("enabled") is False:
        return ["hooksConfig.enabled is false in this file: no hook runs until you change it"]
    return []


# --- files that are ours alone -----------------------------------------------------------------------


def _own(spec: Install, shown: str, plan: Plan) -> Plan:
    made = [_own_change(*one, plan.record) for one in ownfiles.contents(spec, shown, plan.wishes, plan.way.before)]
    wanted = {change.path for change in made}
    for kept in plan.record.of_kind("own") if plan.record else ():
        if kept.path not in wanted:
            before = files.look(kept.path).content
            made.append(Change(path=kept.path, shown=kept.path, kind="own", before=before, after=None))
    return plan.but(changes=tuple(made))


def _own_change(path: str, content: bytes, mode: int, record: Installed | None) -> Change:
    present = files.look(path)
    kept = record.kept(present.path) if record else None
    if present.content is not None and kept is None and not ownfiles.is_ours(present.content):
        hint = "it was not written by Fairlead; move it away, or call Fairlead from it"
        raise Elsewhere(path, "is there already", hint)
    return Change(path=present.path, shown=path, kind="own", before=present.content, after=content, mode=mode)
