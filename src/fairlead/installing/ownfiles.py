"""Files that are ours alone: a program for each event, a plugin, a shim."""

from __future__ import annotations

import json
import os

from fairlead.errors import plain
from fairlead.installing import commands, specs
from fairlead.installing.commands import Call

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from fairlead.installing.entries import Wishes
    from fairlead.installing.specs import Install

MARK = "Written by `fairlead init`; `fairlead uninstall` removes it."
_EXECUTABLE, _PLAIN = 0o755, 0o644


def is_ours(content: bytes) -> bool:
    return MARK.encode() in content


def contents(spec: Install, shown: str, wishes: Wishes, before: Sequence[str] = ()) -> Iterator[tuple[str, bytes, int]]:
    """Path, content and mode of each; `before` are the words of the relay."""
    if spec.format == "plugin":
        yield shown, _plugin(spec, wishes, before), _PLAIN
        return
    for event in specs.events(spec, every=wishes.all_events):
        call = Call(agent=spec.name, event=event, guard=wishes.guard, trust_project=wishes.trust_project)
        yield os.path.join(shown, event), _script(call, specs.timeout(spec, event), before), _EXECUTABLE


def _script(call: Call, timeout: float, before: Sequence[str]) -> bytes:
    command = commands.line(commands.words(call, timeout, before))
    return f"#!/bin/sh\n# {MARK}\nexec {command}\n".encode()


def shim_path(settings: str) -> str:
    return os.path.join(os.path.dirname(settings), "fairlead-hook.sh")


def shim(spec: Install, shown: str, wishes: Wishes, before: Sequence[str] = ()) -> tuple[str, bytes, int]:
    call = Call(agent=spec.name, guard=wishes.guard, trust_project=wishes.trust_project)
    return shim_path(shown), _script(call, spec.timeout, before), _EXECUTABLE


def _plugin(spec: Install, wishes: Wishes, before: Sequence[str]) -> bytes:
    """The template with the command in it, as a JavaScript array."""
    path = os.path.join(os.path.dirname(__file__), "plugins", spec.template)
    with open(path, encoding="utf-8") as file:
        template = file.read()
    called = Call(agent=spec.name, guard=wishes.guard, trust_project=wishes.trust_project)
    call = commands.words(called, spec.timeout, before)
    filled = {
        "__MARK__": MARK,
        '["__COMMAND__"]': json.dumps(call, ensure_ascii=False),
        "__SECONDS__": plain(spec.timeout),
    }
    for name, value in filled.items():
        template = template.replace(name, value)
    return template.encode()
