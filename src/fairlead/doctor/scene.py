"""The agents of this machine, the files in which their hooks stand, and the hooks in them."""

from __future__ import annotations

import glob
import os

from fairlead import dialects, documents
from fairlead._record import Record
from fairlead.dialects import HOOK_HALVES, Source
from fairlead.doctor.finding import Finding
from fairlead.errors import ConfigError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from typing import Any

    from fairlead.dialects import Places

    Path = tuple[str | int, ...]

SEEDS = ("m", "code-agent", "codemie", "amcp", "claude-agent")
"""Whose files only their own readers read; see `configured`."""
_WRITTEN_BY_US = ("opencode", "kilo", "amp")
"""Whose hooks are programs in another language: only whether ours is there can be seen."""

_ALSO: Mapping[str, tuple[str, ...]] = {
    "windsurf": ("~/.codeium/hooks.json", ".devin/hooks.json", "/windsurf/hooks.json"),
    "devin": (".devin/config.json",),
    "droid": ("~/.factory/settings.json", ".factory/settings.json"),
    "kiro": ("~/.kiro/hooks/*.json", ".kiro/hooks/*.json"),
    "augment": (".augment/settings.local.json", "/augment/settings.json"),
    "goose": ("~/.agents/plugins/*/hooks/hooks.json", ".agents/plugins/*/hooks/hooks.json"),
    "crush": (".crush.json",),
    "kimi": ("~/.kimi/config.toml",),
    "grok": ("~/.grok/hooks/*.json", ".grok/hooks/*.json"),
    "cline": ("~/.cline/hooks", ".cline/hooks"),
}
"""Files besides the one that `init` writes: of the user, of the project, of the machine."""


class File(Record):
    agent: str
    path: str
    layer: str
    owner: str
    """`managed`, `user` or `project`: whose word it is."""
    form: str = ""
    """As the dialects have it: `plugin`, `settings`, `front-matter`; or `script`."""
    text: str = ""
    data: Any = None
    """None where it cannot be understood at all."""
    is_strict: bool = True
    """Whether the agent itself can read it as it stands."""
    problem: tuple[str, str, int, int] | None = None
    """What is wrong with its text: message, hint, line and column."""

    @property
    def is_own(self) -> bool:
        """Whether the user or the machine has written it: nothing that a project or a plugin names is ever started."""
        return self.owner != "project" and self.layer in ("user", "managed")

    def place(self, path: Path) -> tuple[int, int]:
        from fairlead.locate import position_in

        if not self.text or self.form == "script":
            return 0, 0
        if self.path.endswith((".yaml", ".yml")):
            line, column = position_in(f"---\n{self.text}", path)
            return max(line - 1, 1), column
        return position_in(self.text, path, toml=self.path.endswith(".toml"))

    def found(self, check: str, level: str, path: Path, message: str, fix: str) -> Finding:
        line, column = self.place(path)
        return Finding(
            level=level, agent=self.agent, check=check, message=message, fix=fix, file=self.path, line=line,
            column=column,
        )  # fmt: skip


class Entry(Record):
    """One handler as it stands in a file."""

    file: File
    event: str
    event_path: Path
    path: Path
    handler: Mapping[str, Any]
    matcher: Any = None
    matcher_path: Path = ()

    @property
    def agent(self) -> str:
        return self.file.agent

    @property
    def kind(self) -> Any:
        return self.handler.get("type", "command")

    @property
    def command(self) -> str:
        """The line for a shell, or the program where there are `args`."""
        keys = ("command", "bash", "exec", "linux", "osx")
        return next((value for key in keys if isinstance(value := self.handler.get(key), str)), "")

    @property
    def args(self) -> list[str] | None:
        value = self.handler.get("args")
        return [str(word) for word in value] if isinstance(value, list) else None

    @property
    def is_ours(self) -> bool:
        """Whether Fairlead is called here, by itself or by the program that it has put beside the settings."""
        from fairlead.installing import entries, ownfiles

        shim = os.path.basename(ownfiles.shim_path(self.file.path))
        return entries.is_ours(self.handler) or os.path.basename(self.command.strip("'\"")) == shim

    def found(self, check: str, level: str, message: str, fix: str, key: str = "") -> Finding:
        return self.file.found(check, level, (*self.path, key) if key else self.path, message, fix)


class Scene(Record):
    places: Places
    agents: tuple[str, ...]
    files: tuple[File, ...]
    entries: tuple[Entry, ...]
    misshapen: tuple[Finding, ...]

    def of(self, agent: str) -> list[Entry]:
        return [entry for entry in self.entries if entry.agent == agent]

    def files_of(self, agent: str) -> list[File]:
        return [file for file in self.files if file.agent == agent]


def look(places: Places, wanted: tuple[str, ...] = ()) -> Scene:
    from fairlead.doctor import shapes
    from fairlead.installing.specs import SPECS

    files = [file for agent in wanted or SPECS for file in _files(agent, places)]
    agents = wanted or _present(places, files)
    entries: list[Entry] = []
    misshapen: list[Finding] = []
    for file in files:
        if file.data is not None:
            shapes.read(file, entries, misshapen)
    return Scene(
        places=places, agents=tuple(agents), files=tuple(files), entries=tuple(entries), misshapen=tuple(misshapen)
    )


def _present(places: Places, files: list[File]) -> list[str]:
    from fairlead.installing import finding
    from fairlead.installing.plans import Machine
    from fairlead.installing.specs import SPECS

    machine = Machine(home=places.home, project=places.project, environ=places.environ)
    found = {one.agent for one in finding.agents(machine)} | {file.agent for file in files}
    return [name for name in SPECS if name in found]


def _files(agent: str, places: Places) -> Iterator[File]:
    if agent in SEEDS or agent in _WRITTEN_BY_US:
        return
    for source in _sources(agent, places):
        if agent == "cline":
            yield from _scripts(source)
        elif os.path.lexists(source.path):
            yield _read(agent, source)


def _sources(agent: str, places: Places) -> list[Source]:
    if agent in HOOK_HALVES:
        found = dialects.hook_half(agent).sources(places)
        if agent == "copilot":  # VS Code's own, in the same folder
            found = [source for source in found if not source.path.endswith("/fairlead-vscode.json")]
    else:
        found = [*_installed(agent, places), *_others(agent, places)]
    return list({source.path: source for source in found}.values())


def _installed(agent: str, places: Places) -> Iterator[Source]:
    from fairlead.installing.specs import SPECS, settings_file

    for scope in ("user", "project"):
        path = settings_file(SPECS[agent], scope, home=places.home, project=places.project, environ=places.environ)
        if path:
            yield Source(path=path, layer=scope, owner=scope)


def _others(agent: str, places: Places) -> Iterator[Source]:
    for pattern in _ALSO.get(agent, ()):
        if pattern.startswith("~/"):
            layer, base, rest = "user", places.home, pattern[2:]
        elif pattern.startswith("/"):
            layer, base, rest = "managed", places.managed, pattern[1:]
        else:
            layer, base, rest = "project", places.project, pattern
        for path in sorted(glob.glob(os.path.join(glob.escape(base), rest))):
            yield Source(path=path, layer=layer, owner=layer)


def _scripts(source: Source) -> Iterator[File]:
    """Cline has no settings: each program in a folder is a hook."""
    try:
        names = sorted(os.listdir(source.path))
    except OSError:
        return
    for name in names:
        path = os.path.join(source.path, name)
        if os.path.isfile(path) and not name.startswith("."):
            yield File(agent="cline", path=path, layer=source.layer, owner=source.owner, form="script", data={})


# --- reading -----------------------------------------------------------------------------------------


def _read(agent: str, source: Source) -> File:
    file = File(agent=agent, path=source.path, layer=source.layer, owner=source.owner, form=source.format)
    try:
        text = documents.read_text(source.path)
        if text is None:
            return _broken(file, "a symbolic link that leads nowhere", "remove it, or make it lead somewhere")
        file = file.but(text=text)
        return _parsed(file)
    except documents.BadDocument as error:
        return _broken(file, str(error), error.hint, error.line, error.column)
    except ConfigError as error:
        return _broken(file, str(error), error.hint)


def _broken(file: File, message: str, hint: str, line: int = 0, column: int = 0) -> File:
    return file.but(is_strict=False, problem=(message, hint, line, column))


def _parsed(file: File) -> File:
    from fairlead.installing import tomlsettings, yamlsettings

    if file.form == "front-matter":
        return file.but(data=documents.parse_front_matter(file.text))
    if file.path.endswith(".toml"):
        return file.but(data=tomlsettings.parse(file.text))
    if file.path.endswith((".yaml", ".yml")):
        return file.but(data=yamlsettings.parse(file.text))
    return _parsed_json(file)


def _parsed_json(file: File) -> File:
    """As the agent reads it; or else as one would who means well, so that the rest can be looked at."""
    from fairlead.dialects import _comments
    from fairlead.doctor import facts
    from fairlead.installing import jsonc

    if jsonc.is_blank(file.text):
        return file.but(data={})
    try:
        parse = _comments.parse if facts.of(file.agent).comments else documents.parse_json
        return file.but(data=parse(file.text))
    except documents.BadDocument as error:
        broken = _broken(file, str(error), error.hint, error.line, error.column)
    try:
        return broken.but(data=jsonc.parse(file.text).value)
    except documents.BadDocument:
        return broken
