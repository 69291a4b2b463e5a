"""Carrying a plan out: the record first, then file by file, and all of it or nothing."""

from __future__ import annotations

import os

from fairlead.errors import ConfigError
from fairlead.installing import files, records
from fairlead.installing.records import Installed, Kept

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

    from fairlead.installing.plans import Change, Machine, Plan


def install(plan: Plan, machine: Machine) -> None:
    """Raises ConfigError or OSError; then everything is as it was."""
    path = machine.record_path(plan.agent, plan.scope)
    with files.Lock(machine.records()):
        _refuse_if_stale(plan)
        records.save(path, _record(plan, machine))
        try:
            _carry_out(plan.needed, {change.path: files.missing_folders(change.path) for change in plan.changes})
        except BaseException:
            _put_record_back(path, plan.record)
            raise
        _remove_unused_relay(plan, machine)


def uninstall(plan: Plan, machine: Machine) -> None:
    path = machine.record_path(plan.agent, plan.scope)
    folders = {kept.path: list(kept.folders) for kept in (plan.record.files if plan.record else ())}
    with files.Lock(machine.records()):
        _refuse_if_stale(plan)
        _carry_out(plan.needed, folders)
        files.remove(path)
        _remove_unused_relay(plan, machine)


def _remove_unused_relay(plan: Plan, machine: Machine) -> None:
    """What this agent had of the relay before, and no agent has any more."""
    mine = plan.record.of_kind("relay") if plan.record else []
    used = records.paths_in_use(machine.records(), "relay") if mine else set()
    for kept in mine:
        if kept.path not in used:
            files.remove_compiled(kept.path)
            files.remove(kept.path, [os.path.dirname(kept.path)])


def _refuse_if_stale(plan: Plan) -> None:
    for change in plan.changes:
        found = files.look(change.path).content
        if found != change.before and not (change.is_shared and found == change.after):
            raise ConfigError(
                f"{change.shown} was changed in the meantime", hint="run this again to see the new change"
            )


def _put_record_back(path: str, record: Installed | None) -> None:
    if record is None:
        files.remove(path)
    else:
        records.save(path, record)


def _record(plan: Plan, machine: Machine) -> Installed:
    stays = [change for change in plan.changes if change.after is not None or _is_moved_away(change)]
    stays = [change for change in stays if change.kind != "key"]
    touched = {change.path for change in plan.changes}
    before = [kept for kept in (plan.record.files if plan.record else ()) if kept.kind != "relay"]
    elsewhere = [kept for kept in before if kept.path not in touched]
    return Installed(
        agent=plan.agent,
        scope=plan.scope,
        project=machine.project if plan.scope == "project" else "",
        wishes=plan.wishes,
        # Where the agent's settings have moved since, we are still in the old ones.
        files=(*elsewhere, *(_kept(change, plan.record) for change in stays)),
    )


def _is_moved_away(change: Change) -> bool:
    return change.kind == "moved" and change.after is None


def _kept(change: Change, record: Installed | None) -> Kept:
    before = record.kept(change.path) if record else None
    folders = files.missing_folders(change.path) or (before.folders if before else ())
    return Kept(
        path=change.path,
        kind=change.kind,
        original=change.original,
        written="" if change.after is None else records.digest(change.after),
        edits=change.edits,
        folders=tuple(folders),
        mode=change.mode,
    )


def _carry_out(changes: Sequence[Change], folders: dict[str, list[str]]) -> None:
    done: list[Change] = []
    try:
        for change in changes:
            done.append(change)
            if change.is_shared:
                files.make_folders(change.path, 0o700)
            _write(change.path, change.after, change.wanted_mode, folders.get(change.path, []))
    except BaseException:
        done = [change for change in done if not change.is_shared]  # which others may use by now
        for change in reversed(done):
            if files.look(change.path).content != change.before:
                _write(change.path, change.before, change.mode, folders.get(change.path, []))
        for change in reversed(done):
            if change.before is None:
                files.remove(change.path, folders.get(change.path, []))
        raise


def _write(path: str, content: bytes | None, mode: int | None, folders: list[str]) -> None:
    if content is None:
        files.remove(path, folders)
    else:
        files.make_folders(path)
        files.replace(path, content, mode)
