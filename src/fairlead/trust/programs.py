"""The programs of the project that a handler runs, and the handler that runs their copies instead."""

from __future__ import annotations

import os

from fairlead.errors import ConfigError
from fairlead.handlers.background import Background
from fairlead.handlers.command import Command, Script
from fairlead.handlers.function import Named
from fairlead.trust import naming

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

    from fairlead.hooks import Handler, Hook

_SAFE = frozenset("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_.-+@%,/")


def named(handler: Handler, project: str, root: str = "") -> list[str]:
    """Seen from the project. `root` is the folder of the plugin that it belongs to."""
    if isinstance(handler, Background):
        return named(handler.handler, project, root)
    if isinstance(handler, Command):
        return [*_modules(handler, project), *_in_command(handler, project, root), *_in_variables(handler, project)]
    if isinstance(handler, Script):
        return [path for path in [_script(handler, project)] if path]
    return _module_files(handler, project) if isinstance(handler, Named) else []


def _in_command(handler: Command, project: str, root: str) -> list[str]:
    cwd, looked_for = _cwd(handler, project), naming.in_folders(_text(handler), project, _cwd(handler, project))
    if handler.args is None:
        return [*looked_for, *(one.path for one in naming.in_text(handler.command, project, root, cwd))]
    words = (handler.command, *handler.args)
    return [*looked_for, *(one.path for _, one in naming.in_words(words, project, root, cwd))]


def _in_variables(handler: Command, project: str) -> list[str]:
    """`BASH_ENV`, `NODE_OPTIONS` and their like run what they name."""
    cwd, found = _cwd(handler, project), []
    for name, value in handler.env.items():
        found += [one.path for one in naming.in_text(value.replace(":", " "), project, "", cwd)]
        found += naming.in_folders(f"{name}={value}", project, cwd)
    return found


def started_in(cwd: str, handler: Handler, project: str) -> list[str]:
    """Programs that it finds where the agent works, and would not find in the project's own folder."""
    if not isinstance(handler, Command) or handler.cwd or not cwd.startswith(f"{project}/"):
        return []
    here = os.path.relpath(cwd, project)
    there = naming.in_folders(_text(handler), project, here)
    if handler.args is None:
        return [*there, *(one.path for one in naming.in_text(handler.command, project, root=here))]
    words = (handler.command, *handler.args)
    return [*there, *(one.path for _, one in naming.in_words(words, project, root=here))]


def _text(handler: Command) -> str:
    return " ".join((handler.command, *(handler.args or ())))


def _cwd(handler: Command, project: str) -> str:
    """Where it starts, seen from the project; empty for the project itself, and elsewhere."""
    place = os.path.normpath(os.path.join(project, handler.cwd)) if handler.cwd else project
    return os.path.relpath(place, project) if place.startswith(f"{project}/") else ""


def declared(hook: Hook, project: str) -> list[str]:
    """`files` of the hook: further programs and data that it needs. Patterns as a shell has them."""
    import glob

    found: list[str] = []
    for pattern in hook.options.get("files", ()):
        matches = sorted(glob.glob(pattern, root_dir=project, recursive=True, include_hidden=True))
        inside = [path for path in (naming.inside(project, one) for one in matches) if path]
        if not inside:
            raise ConfigError(f"{hook.name} declares the file {pattern!r}, which is not there")
        found += inside
    return found


def unseen(handler: Handler, project: str, root: str = "") -> list[str]:
    """Programs that it seems to run, and that are not there."""
    if isinstance(handler, Background):
        return unseen(handler.handler, project, root)
    if not isinstance(handler, Command):
        return []
    return naming.unseen(_text(handler), project, root, _cwd(handler, project))


def uncovered(handler: Handler, project: str, root: str = "") -> list[str]:
    """Parts of it that run whatever is found by then."""
    if isinstance(handler, Background):
        return uncovered(handler.handler, project, root)
    if not isinstance(handler, Command):
        return []
    variables = " ".join(f"{name}={value}" for name, value in handler.env.items())
    return naming.uncovered(f"{_text(handler)} ; {variables}", project, root, _cwd(handler, project))


def _modules(handler: Command, project: str) -> list[str]:
    from fairlead.trust.needing import module_files

    variables = " ".join(f"{name}={value}" for name, value in handler.env.items())
    text = _text(handler)
    return [
        path
        for name in naming.modules(text)
        for folder in naming.module_folders(f"{variables} {text}", project, _cwd(handler, project))
        for path in (*module_files(name, folder, project), *module_files(f"{name}.__main__", folder, project))
    ]


def from_copies(handler: Handler, project: str, copies: str, root: str = "") -> Handler:
    """The same, with the copies in the place of the project's own programs."""
    if isinstance(handler, Command):
        if _modules(handler, project):
            handler = handler.but(env=_python_from(copies, handler, project))
        if handler.args is None:
            found = naming.in_text(handler.command, project, root, _cwd(handler, project))
            return handler.but(command=_replaced(handler.command, found, copies))
        return _words_replaced(handler, project, copies, root)
    if isinstance(handler, Script):
        path = _script(handler, project)
        return handler.but(script=os.path.join(copies, path), roots=()) if path else handler
    if isinstance(handler, Named):
        return handler.but(roots=tuple(_moved(root, project, copies) for root in handler.roots), apart=True)
    return handler


def _python_from(copies: str, handler: Command, project: str) -> dict[str, str]:
    """Modules come from the copies of the folders where they were found."""
    folders = naming.module_folders(f"PYTHONPATH={handler.env.get('PYTHONPATH', '')}", project, _cwd(handler, project))
    path = ":".join(os.path.normpath(os.path.join(copies, folder)) for folder in folders)
    return {**handler.env, "PYTHONPATH": path, "PYTHONSAFEPATH": "1"}


def _words_replaced(handler: Command, project: str, copies: str, root: str) -> Command:
    words = [handler.command, *(handler.args or ())]
    by_word: dict[int, list[naming.Named]] = {}
    for index, one in naming.in_words(words, project, root, _cwd(handler, project)):
        by_word.setdefault(index, []).append(one)
    for index, found in by_word.items():
        whole = len(found) == 1 and (found[0].start, found[0].end) == (0, len(words[index]))
        if whole and found[0].runs:
            words[index] = os.path.join(copies, found[0].path)
        elif not whole:
            words[index] = _replaced(words[index], found, copies)
    return handler.but(command=words[0], args=tuple(words[1:]))


def _replaced(text: str, found: Sequence[naming.Named], copies: str) -> str:
    if any(one.runs for one in found) and not all(_SAFE.issuperset(one.path) for one in found if one.runs):
        raise ConfigError("a program with a blank or another odd character in its name cannot be run from its copy")
    if not _SAFE.issuperset(copies):
        raise ConfigError(f"{copies} holds a blank or another odd character")
    for one in reversed(found):
        if one.runs:
            text = text[: one.start] + os.path.join(copies, one.path) + text[one.end :]
    return text


def _script(handler: Script, project: str) -> str:
    places = [os.path.join(root, handler.script) for root in handler.roots] or [handler.script]
    found = next((place for place in places if os.path.isfile(place)), "")
    return naming.inside(project, found) if found else ""


def _module_files(handler: Named, project: str) -> list[str]:
    from fairlead.trust.needing import module_files

    module = handler.target.replace(":", ".").rpartition(".")[0]
    roots = [root for root in handler.roots if root == project or root.startswith(f"{project}/")]
    return [path for root in roots for path in module_files(module, os.path.relpath(root, project), project)]


def _moved(root: str, project: str, copies: str) -> str:
    if root != project and not root.startswith(f"{project}/"):
        return root
    return os.path.normpath(os.path.join(copies, os.path.relpath(root, project)))
