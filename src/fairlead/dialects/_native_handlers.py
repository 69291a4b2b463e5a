"""What a hook in `fairlead.toml` does: a program, a function, a question, a guard."""

from __future__ import annotations

import os

from fairlead.dialects import _native_values as values
from fairlead.handlers.command import Command, Script
from fairlead.handlers.function import Named

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    from fairlead.dialects import Places
    from fairlead.dialects._common import Path, Reader
    from fairlead.hooks import Handler

HANDLERS = ("run", "python", "prompt", "agent", "http", "mcp_tool", "guard", "approval")
BELONGS = {
    "args": ("run",), "env": ("run", "python"), "cwd": ("run",), "people": ("approval",), "tools": ("approval",),
    "approvers": ("approval",), "escalate": ("approval",),
    "model": ("prompt", "agent"), "cache": ("prompt",), "turns": ("agent",),
    "headers": ("http",), "allowed_env": ("http",), "input": ("mcp_tool",),
    "set": ("run", "python"), "limits": ("run", "python"), "sandbox": ("run", "python"),
}  # fmt: skip
"""Keys that mean something to some handlers only."""
_CONFINING = frozenset({"set", "limits", "sandbox"})


def handler(reader: Reader, entry: dict[str, Any], path: Path, places: Places, data: dict[str, Any]) -> Handler | None:
    kinds = [key for key in HANDLERS if key in entry]
    if len(kinds) != 1:
        said = f"has {' and '.join(kinds)}" if kinds else "says nothing to do"
        reader.problem(path, f"this hook {said}", f"exactly one of: {', '.join(HANDLERS)}")
        return None
    for key, owners in BELONGS.items():
        if key in entry and kinds[0] not in owners:
            reader.problem((*path, key), f"{key} belongs to {' and '.join(owners)}, not to {kinds[0]}")
    if kinds == ["guard"]:
        from fairlead.dialects._native_guard import guarded

        return guarded(reader, entry, (*path, "guard"), data)
    if kinds == ["approval"]:
        from fairlead.dialects._native_approval import approval

        return approval(reader, entry, path)
    build: Callable[[Reader, dict[str, Any], Path, Places], Handler | None]
    build = {"run": _command, "python": _python}.get(kinds[0], _elsewhere)
    return build(reader, entry, path, places)


def _elsewhere(reader: Reader, entry: dict[str, Any], path: Path, _places: Places) -> Handler | None:
    from fairlead.dialects import _native_elsewhere

    return _native_elsewhere.handler(reader, entry, path)


def _command(reader: Reader, entry: dict[str, Any], path: Path, places: Places) -> Handler | None:
    words = _words(reader, entry, path)
    if words is None:
        return None
    env = {} if isinstance(entry.get("env"), list) else _env(reader, entry.get("env", {}), (*path, "env"))
    folder = values.text(reader, entry, "cwd", path)
    cwd = os.path.join(places.project, folder) if folder else ""
    return Command(command=words[0], args=words[1], env=env, cwd=cwd)


def _words(reader: Reader, entry: dict[str, Any], path: Path) -> tuple[str, tuple[str, ...] | None] | None:
    """The program and its arguments; without arguments of its own, a command line for the shell."""
    run, args = entry["run"], entry.get("args")
    if args is not None and not (isinstance(run, str) and values.is_words(args)):
        reader.problem((*path, "args"), "args must be a list of words, beside a run that is one program")
        return None
    if isinstance(run, str) and run.strip():
        return run, None if args is None else tuple(args)
    if values.is_words(run) and run and run[0]:
        return run[0], tuple(run[1:])
    reader.problem((*path, "run"), "run must be a command line or a list of words")
    return None


def _env(reader: Reader, value: Any, path: Path) -> dict[str, str]:
    if not reader.expect(value, dict, path, "env must be a table, or a list of names"):
        return {}
    return {
        name: text
        for name, text in value.items()
        if reader.expect(text, str, (*path, name), f"{name} must be a string")
    }


def _python(reader: Reader, entry: dict[str, Any], path: Path, places: Places) -> Handler | None:
    target = reader.text_field(entry, "python", path)
    if not target:
        return None
    folder = os.path.dirname(reader.source.path)
    if target.endswith(".py") or "/" in target:
        return Script(script=target, roots=(folder, places.project))
    module, colon, function = target.partition(":")
    if colon and all(part.isidentifier() for part in (*module.split("."), function)):
        return Named(target=target, roots=(folder,), apart=_is_bounded(entry))
    hint = 'write "package.module:function", or the path of a script that ends in .py'
    reader.problem((*path, "python"), f"{target!r} is neither a function nor a script", hint)
    return None


def bounds(reader: Reader, entry: dict[str, Any], path: Path) -> dict[str, Any]:
    """What is said about the hook's process, where it is not the ordinary one."""
    if not _is_bounded(entry):
        return {}
    from fairlead.dialects._native_confine import bounds as read_bounds

    return {"bounds": read_bounds(reader, entry, path)}


def _is_bounded(entry: dict[str, Any]) -> bool:
    env = entry.get("env")
    if "run" not in entry and "python" not in entry:
        return False
    return isinstance(env, list) or not _CONFINING.isdisjoint(entry) or (env is not None and "run" not in entry)
