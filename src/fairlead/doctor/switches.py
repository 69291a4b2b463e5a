"""Hooks that somebody has switched off."""

from __future__ import annotations

from fairlead.doctor import facts

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Any

    from fairlead.doctor.finding import Finding
    from fairlead.doctor.scene import File, Path, Scene

_STRONGEST = ("managed", "local", "project", "user")
"""Whose word counts where settings disagree."""


def check(scene: Scene) -> Iterator[Finding]:
    for agent in scene.agents:
        files = [file for file in scene.files_of(agent) if isinstance(file.data, dict) and file.form != "script"]
        for names, off, scope in _SWITCHES.get(agent, ()):
            yield from _switched(files, agent, names, off, scope)
        yield from _by_name(files, agent)
    for entry in scene.entries:
        if entry.handler.get("enabled") is False:
            yield entry.found("switches", "note", "this hook is switched off", "remove “enabled”", "enabled")


_SWITCHES: dict[str, tuple[tuple[Path, object, str], ...]] = {
    "claude-code": (
        (("disableAllHooks",), True, "strongest"),
        (("allowManagedHooksOnly",), True, "managed"),
    ),
    "codex": (
        (("features", "hooks"), False, "strongest"),
        (("features", "codex_hooks"), False, "strongest"),
        (("allow_managed_hooks_only",), True, "managed"),
    ),
    "gemini": ((("hooksConfig", "enabled"), False, "strongest"), (("hooks", "enabled"), False, "strongest")),
    "qwen": ((("disableAllHooks",), True, "strongest"), (("hooksConfig", "enabled"), False, "strongest")),
    "copilot": ((("disableAllHooks",), True, "each"),),
    "droid": ((("allowManagedHooksOnly",), True, "managed"),),
}
"""Where the switch is, how it is off, and where it counts: in the strongest file that has it, in the machine's alone,
or in each file for itself."""


def _switched(files: list[File], agent: str, names: Path, off: object, scope: str) -> Iterator[Finding]:
    having = [file for file in files if _value(file.data, names) is not None]
    if scope == "managed":
        having = [file for file in having if file.layer == "managed"]
    elif scope == "strongest":
        having = sorted((file for file in having if file.layer in _STRONGEST), key=_strength)[:1]
    for file in having:
        if _value(file.data, names) is off:
            name = ".".join(map(str, names))
            runs = {"managed": "only the machine's hooks", "each": "no hooks of this file"}.get(
                scope, "no hooks at all"
            )
            what = f"{name} is {str(off).lower()}: {facts.title(agent)} runs {runs}"
            fix = "ask whoever runs this machine" if file.layer == "managed" else f"remove {name}"
            yield file.found("switches", "error", names, what, fix)


def _strength(file: File) -> int:
    return _STRONGEST.index(file.layer)


def _value(data: Any, names: Path) -> object:
    for name in names:
        data = data.get(name) if isinstance(data, dict) else None
    return data


def _by_name(files: list[File], agent: str) -> Iterator[Finding]:
    """Gemini CLI and its kin can switch off single hooks."""
    for file in files:
        for names in (("hooksConfig", "disabled"), ("hooks", "disabled")):
            value = _value(file.data, names)
            if agent in ("gemini", "qwen") and isinstance(value, list) and value:
                what = f"switched off by name: {', '.join(map(str, value))}"
                yield file.found("switches", "note", names, what, "take them out of the list to have them back")
