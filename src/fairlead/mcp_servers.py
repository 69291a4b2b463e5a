"""Which MCP server a hook means: found by name in the files of whoever wrote the hook.

A server of the project is code of the project. So the user's own definitions come first, a project's never
takes the place of one, and a hook of the user's never starts what only the project defines.
"""

from __future__ import annotations

import os
import re

from fairlead._record import Record
from fairlead.documents import BadDocument, parse_json, read_text
from fairlead.errors import ConfigError
from fairlead.folders import lies_in
from fairlead.hooks import HookFailed
from fairlead.locks import locked
from fairlead.process import MARK
from fairlead.targets import parse, shown

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping
    from typing import Any

    from fairlead.hooks import Hook, Setting

    Fill = Callable[[str], str]

INHERITED = ("HOME", "LOGNAME", "PATH", "SHELL", "TERM", "USER", MARK)
"""All that a server gets of our own environment: keys are given to it by name, or not at all."""
_PROJECTS = frozenset({"project", "local"})
_CARRIED = frozenset({"plugin", "skill", "subagent"})
_TRANSPORTS = {
    "stdio": "stdio",
    "http": "http",
    "streamable-http": "http",
    "streamable_http": "http",
    "streamableHttp": "http",
    "sse": "sse",
}


class Server(Record):
    name: str
    file: str
    """Where it is defined."""
    transport: str
    """`stdio`, `http` (streamable) or `sse`"""
    command: str = ""
    args: tuple[str, ...] = ()
    env: Mapping[str, str] = {}
    """All of its environment."""
    cwd: str = ""
    url: str = ""
    is_here: bool = False
    """Whether that is this machine."""
    headers: Mapping[str, str] = {}
    secrets: tuple[str, ...] = ()
    """What must not be shown to anybody, should it turn up in what the server says."""

    def __repr__(self) -> str:
        return f"Server({self.name!r}, {self.file!r})"

    def without_secrets(self, text: str) -> str:
        if self.url:
            text = text.replace(self.url, self.address)
        for secret in sorted(self.secrets, key=len, reverse=True):
            text = text.replace(secret, "***")
        return text

    @property
    def address(self) -> str:
        """Its URL as far as it can be shown."""
        return shown(self.url)


class _Entry(Record):
    """A place where servers may be defined, and how entries are read there."""

    file: str
    table: tuple[str, ...]
    """The way to the servers inside the file; empty where the file holds nothing else."""
    style: str
    """`fairlead`, `claude` or `codex`"""
    projects: bool = False
    root: str = ""
    """The folder of the plugin that it belongs to."""


def find(name: str, hook: Hook, setting: Setting, managed: str = "/etc") -> Server:
    """Raises HookFailed where there is none that this hook may use."""
    wanted = name.rpartition(":")[2] if name.startswith("plugin:") else name
    only_projects = ""
    places = list(_places(name, hook, setting, managed))
    for place in places:
        definition = _definition(place, wanted)
        if definition is None:
            continue
        if place.projects and not belongs_to_project(hook, setting):
            only_projects = only_projects or place.file
            continue
        _refuse_if_rejected(place, wanted, setting)
        return _Reading(name, definition, place, setting).server()
    raise HookFailed(_not_found(name, only_projects, places, setting))


def belongs_to_project(hook: Hook, setting: Setting) -> bool:
    owner, origin = hook.options.get("owner", ""), hook.origin
    if owner or origin.layer not in _CARRIED:
        return owner == "project" or (not owner and origin.layer in _PROJECTS)
    return origin.file.startswith(setting.project.rstrip(os.sep) + os.sep)


def _not_found(name: str, only_projects: str, places: list[_Entry], setting: Setting) -> str:
    own = f"[mcp_servers.{name}] in {_user_config(setting)}"
    if only_projects:
        return (
            f"the MCP server {name!r} is defined only by the project, in {only_projects}, and this hook is not the "
            f"project's: it must not start what a project brings along; define your own as {own}"
        )
    looked = ", ".join(dict.fromkeys(place.file for place in places))
    return f"the MCP server {name!r} is not configured (looked in {looked}); define it as {own}"


# --- where to look -----------------------------------------------------------------------------------


def _places(name: str, hook: Hook, setting: Setting, managed: str) -> Iterator[_Entry]:
    """The user's own before the project's."""
    if name.startswith("plugin:"):
        yield from _of_plugin(name.split(":")[1], hook, setting)
        return
    own = () if "mcp_servers" in locked(managed, setting.environ) else (_user_config(setting),)
    for file in (os.path.join(managed, "fairlead", "fairlead.toml"), *own):
        yield _Entry(file=file, table=("mcp_servers",), style="fairlead")
    if hook.origin.dialect == "claude-code":
        yield from _of_claude_code(setting, managed)
    elif hook.origin.dialect == "codex":
        yield from _of_codex(setting, managed)


def _user_config(setting: Setting) -> str:
    given = setting.environ.get("XDG_CONFIG_HOME", "")
    return os.path.join(given if given.startswith("/") else f"{setting.home}/.config", "fairlead", "fairlead.toml")


def _of_claude_code(setting: Setting, managed: str) -> Iterator[_Entry]:
    own = _claude_state(setting)
    yield _Entry(file=os.path.join(managed, "claude-code", "managed-mcp.json"), table=("mcpServers",), style="claude")
    for project in dict.fromkeys((setting.project, os.path.realpath(setting.project))):
        yield _Entry(file=own, table=("projects", project, "mcpServers"), style="claude")
    yield _Entry(file=own, table=("mcpServers",), style="claude")
    file = os.path.join(setting.project, ".mcp.json")
    yield _Entry(file=file, table=("mcpServers",), style="claude", projects=True)


def _moved(setting: Setting, variable: str) -> str:
    """Where the user keeps an agent's files; nothing that a repository brings along is the user's."""
    folder = setting.environ.get(variable, "")
    return folder if folder.startswith("/") and not lies_in(folder, setting.project) else ""


def _claude_state(setting: Setting) -> str:
    return os.path.join(_moved(setting, "CLAUDE_CONFIG_DIR") or setting.home, ".claude.json")


def _of_codex(setting: Setting, managed: str) -> Iterator[_Entry]:
    home = _moved(setting, "CODEX_HOME") or os.path.join(setting.home, ".codex")
    for folder, projects in ((f"{managed}/codex", False), (home, False), (f"{setting.project}/.codex", True)):
        file = os.path.join(folder, "config.toml")
        yield _Entry(file=file, table=("mcp_servers",), style="codex", projects=projects)


def _of_plugin(plugin: str, hook: Hook, setting: Setting) -> Iterator[_Entry]:
    """A hook of the same plugin means its own; others name one by its folder."""
    projects = belongs_to_project(hook, setting)
    if hook.options.get("plugin") == plugin and hook.options.get("root"):
        yield from _in_plugin(hook.options["root"], projects=projects)
    if not plugin or os.sep in plugin or plugin in (".", ".."):
        return
    user = _moved(setting, "CLAUDE_CONFIG_DIR") or os.path.join(setting.home, ".claude")
    yield from _in_plugin(os.path.join(user, "plugins", plugin), projects=False)
    yield from _in_plugin(os.path.join(setting.project, ".claude", "plugins", plugin), projects=True)


def _in_plugin(root: str, *, projects: bool) -> Iterator[_Entry]:
    own, manifest = os.path.join(root, ".mcp.json"), os.path.join(root, ".claude-plugin", "plugin.json")
    yield _Entry(file=own, table=("mcpServers",), style="claude", projects=projects, root=root)
    yield _Entry(file=own, table=(), style="claude", projects=projects, root=root)
    yield _Entry(file=manifest, table=("mcpServers",), style="claude", projects=projects, root=root)


def _definition(place: _Entry, name: str) -> Any:
    found = _document(place.file)
    for key in (*place.table, name):
        found = found.get(key) if isinstance(found, dict) else None
    return found


def _document(file: str) -> Any:
    """What cannot be read stops the search: nobody knows whether the server is defined in it."""
    try:
        text = read_text(file)
        if text is None:
            return {}
        return _toml(text) if file.endswith(".toml") else parse_json(text)
    except BadDocument as error:
        raise HookFailed(f"{file}:{error.line}:{error.column}: {error}; MCP servers are looked for in it") from None
    except ConfigError as error:
        raise HookFailed(f"{file} {error}; MCP servers are looked for in it") from None


def _toml(text: str) -> Any:
    """Not through the cache of parsed files: keys of servers must not be written down a second time."""
    import tomllib

    try:
        return tomllib.loads(text)
    except (ValueError, RecursionError) as error:
        raise ConfigError(f"is not TOML: {error}") from None


def _refuse_if_rejected(place: _Entry, name: str, setting: Setting) -> None:
    """What the user has said no to in Claude Code."""
    if not place.projects or place.style != "claude":
        return
    state = _Entry(file=_claude_state(setting), table=("projects",), style="claude")
    for project in (setting.project, os.path.realpath(setting.project)):
        known = _definition(state, project)
        rejected = known.get("disabledMcpjsonServers") if isinstance(known, dict) else None
        if isinstance(rejected, list) and name in rejected:
            raise HookFailed(f"the MCP server {name!r} of {place.file} was rejected by the user, see {state.file}")


# --- reading one definition --------------------------------------------------------------------------

_VARIABLE = re.compile(r"\$\{(\w+)(?::-([^}]*))?\}|\$(\w+)")
_PRINTABLE = re.compile(r"[\x20-\x7e\t]*")
_HEADER_NAME = re.compile(r"[A-Za-z0-9!#$%&'*+.^_`|~-]+")


class _Reading:
    """One definition, with what it was put together from for the errors."""

    def __init__(self, name: str, definition: Any, place: _Entry, setting: Setting) -> None:
        self._name, self._place, self._setting = name, place, setting
        self._definition = definition
        self._used: dict[str, None] = {}
        if not isinstance(definition, dict):
            raise self._bad("must be an object")
        if definition.get("enabled") is False or definition.get("disabled") is True:
            raise self._bad("is switched off")

    def server(self) -> Server:
        transport = self._transport()
        if transport == "stdio":
            return self._program()
        url = self._filled(self._text("url"))
        try:
            target = parse(url)
        except ValueError as error:
            raise self._bad(f"has a url that cannot be used: {error}") from None
        self._used[target.user.partition(":")[2]] = None
        return self._made(transport=transport, url=url, is_here=target.is_loopback, headers=self._headers())

    def _program(self) -> Server:
        args = tuple(self._filled(word) for word in self._list("args"))
        own = {key: self._filled(value) for key, value in self._table("env").items()}
        passed_on = {key: self._variable(key) for key in self._list("env_vars")}
        inherited = {key: self._setting.environ[key] for key in INHERITED if key in self._setting.environ}
        inherited = {key: value for key, value in inherited.items() if not value.startswith("()")}
        root = {"CLAUDE_PLUGIN_ROOT": self._place.root} if self._place.root else {}
        return self._made(
            transport="stdio",
            command=self._filled(self._text("command")),
            args=args,
            env={**inherited, **root, **passed_on, **own},
            cwd=self._folder(),
        )

    def _made(self, **fields: Any) -> Server:
        own = self._table("env")
        given = [fields["env"][key] for key in own if "env" in fields]
        headers = fields.get("headers", {}).values()
        hidden = [*self._used, *given, *headers, *(value.rpartition(" ")[2] for value in headers)]
        secrets = tuple(value for value in dict.fromkeys(hidden) if len(value) >= 6 and not value.startswith("/"))
        return Server(name=self._name, file=self._place.file, secrets=secrets, **fields)

    def _transport(self) -> str:
        named = self._definition.get("type") or self._definition.get("transport")
        if named is None:
            has = [key for key in ("command", "url") if self._definition.get(key)]
            if len(has) != 1:
                raise self._bad("must have either a command or a url")
            return "stdio" if has == ["command"] else "http"
        if not isinstance(named, str) or named not in _TRANSPORTS:
            raise self._bad(f"is of type {named!r}; Fairlead speaks with stdio, http and sse")
        return _TRANSPORTS[named]

    def _headers(self) -> dict[str, str]:
        headers = {**self._table("headers"), **self._table("http_headers")}
        headers = {key: self._filled(value) for key, value in headers.items()}
        headers |= {key: self._variable(name) for key, name in self._table("env_http_headers").items()}
        token = self._definition.get("bearer_token_env_var")
        if isinstance(token, str) and token:
            headers["Authorization"] = f"Bearer {self._variable(token)}"
        for key, value in headers.items():
            if not _HEADER_NAME.fullmatch(key) or not _PRINTABLE.fullmatch(value):
                raise self._bad(f"has a header {key!r} that cannot be sent: it holds more than printable ASCII")
        return headers

    def _folder(self) -> str:
        given = self._definition.get("cwd")
        if given is None:
            return self._setting.project
        if not isinstance(given, str):
            raise self._bad("has a cwd that is not a string")
        filled = self._filled(given)
        if filled == "~" or filled.startswith("~/"):
            filled = self._setting.home + filled[1:]
        return os.path.join(self._setting.project, filled)

    def _filled(self, text: str) -> str:
        """With variables in their places, where this kind of file has them; in one pass."""
        if self._place.style == "codex":
            return text
        return _VARIABLE.sub(self._value, text)

    def _value(self, match: re.Match[str]) -> str:
        name, default, bare = match.groups()
        if bare and bare not in self._allowed():  # Claude Code knows the form with braces alone
            return match.group()
        if self._place.style == "fairlead":
            return self._named(name or bare, default)
        if name == "CLAUDE_PLUGIN_ROOT" and self._place.root:
            return self._place.root
        if name == "CLAUDE_PROJECT_DIR":
            return self._setting.project
        return self._variable(name, default)

    def _allowed(self) -> list[str]:
        return self._list("allowed_env") if self._place.style == "fairlead" else []

    def _named(self, name: str, default: str | None) -> str:
        if name not in self._allowed():
            raise self._bad(f"uses the variable {name}, which is not in its allowed_env")
        return self._variable(name, default)

    def _variable(self, name: str, default: str | None = None) -> str:
        value = self._setting.environ.get(name, "")
        if value:
            self._used[value] = None
            return value
        if default is None:
            raise self._bad(f"needs the environment variable {name}, which is not set")
        return default

    def _text(self, key: str) -> str:
        value = self._definition.get(key)
        if not isinstance(value, str) or not value:
            raise self._bad(f"has no {key}" if value is None or value == "" else f"has a {key} that is not a string")
        return value

    def _list(self, key: str) -> list[str]:
        value = self._definition.get(key)
        value = [] if value is None else value
        if not isinstance(value, list) or not all(isinstance(word, str) for word in value):
            raise self._bad(f"has {key} that are not a list of strings")
        return value

    def _table(self, key: str) -> dict[str, str]:
        value = self._definition.get(key)
        value = {} if value is None else value
        if not isinstance(value, dict) or not all(isinstance(inner, str) for inner in value.values()):
            raise self._bad(f"has {key} that are not names with strings")
        return value

    def _bad(self, what: str) -> HookFailed:
        return HookFailed(f"the MCP server {self._name!r} in {self._place.file} {what}")
