"""Hooks whose answer comes from somewhere else: a language model, a web server, a tool of an MCP server."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence
    from typing import Any

    from fairlead.dialects import Reading, Source
    from fairlead.dialects._common import Path, Reader
    from fairlead.hooks import Handler, Hook

URLS = "http_urls"
"""In a reading's settings: for a dialect, or `*` for all of them, which URLs its http hooks may call."""
VARIABLES = "http_variables"
"""Likewise, which variables may stand in their headers."""
KEYS = ("url", "headers", "allowedEnvVars", "server", "tool", "input", "prompt", "model", "continueOnBlock")


def handler(reader: Reader, kind: str, entry: Mapping[str, Any], path: Path) -> Handler | None:
    """One of `prompt`, `agent`, `http`, `mcp_tool`, with the keys that Claude Code has for them."""
    if kind == "http":
        return _http(reader, entry, path)
    if kind == "mcp_tool":
        return _mcp_tool(reader, entry, path)
    text = reader.text_field(entry, "prompt", path)
    model = optional_text(reader, entry, "model", path)
    if not text:
        return None
    if kind == "agent":
        return agent(reader, text, (*path, "prompt"), model=model)
    return prompt(reader, text, path, model=model, continue_on_block=entry.get("continueOnBlock") is True)


def prompt(reader: Reader, text: str, path: Path, *, style: str = "ok", **fields: Any) -> Handler:
    """A question to a language model; `style` is how its system wants it to be answered."""
    from fairlead.handlers.prompt import Prompt

    _check_placeholders(reader, text, (*path, "prompt"))
    return Prompt(prompt=text, style=style, **fields)


def agent(reader: Reader, text: str, path: Path, **fields: Any) -> Handler:
    """A task for a language model that may look around."""
    from fairlead.handlers.agent import Agent

    _check_placeholders(reader, text, path)
    return Agent(prompt=text, **fields)


def _check_placeholders(reader: Reader, text: str, path: Path) -> None:
    from fairlead.models.framing import unknown_placeholders

    for name in unknown_placeholders(text):
        reader.warn(path, f"${name} is no placeholder and stays as it is", r"write \$ for a dollar sign")


def _http(reader: Reader, entry: Mapping[str, Any], path: Path) -> Handler | None:
    url = reader.text_field(entry, "url", path)
    names = words(reader, entry.get("allowedEnvVars"), (*path, "allowedEnvVars"))
    return http(reader, url, (*path, "url"), strings(reader, entry.get("headers"), (*path, "headers")), names)


def http(reader: Reader, url: str, path: Path, headers: dict[str, str], names: tuple[str, ...]) -> Handler | None:
    from fairlead.handlers.http import Http, header_problems, problem

    if not url:
        return None
    wrong = problem(url)
    if wrong:
        reader.warn(path, wrong)
    for wrong in header_problems(headers):
        reader.warn((*path[:-1], "headers"), wrong)
    return Http(url=url, headers=headers, allowed_env=names)


def _mcp_tool(reader: Reader, entry: Mapping[str, Any], path: Path) -> Handler | None:
    server, tool = reader.text_field(entry, "server", path), reader.text_field(entry, "tool", path)
    return mcp_tool(reader, server, tool, entry.get("input"), (*path, "input")) if server and tool else None


def mcp_tool(reader: Reader, server: str, tool: str, value: Any, path: Path) -> Handler:
    from fairlead.handlers.mcp_tool import McpTool

    given = value if value is not None and reader.expect(value, dict, path, "input must be an object") else {}
    return McpTool(server=server, tool=tool, input=given)


def optional_text(reader: Reader, entry: Mapping[str, Any], key: str, path: Path) -> str:
    value = entry.get(key)
    if value is None or not reader.expect(value, str, (*path, key), f"{key} must be a string"):
        return ""
    return str(value)


def words(reader: Reader, value: Any, path: Path) -> tuple[str, ...]:
    """A list of strings; what is none is reported and left out."""
    if value is None or not reader.expect(value, list, path, f"{path[-1]} must be a list"):
        return ()
    said = f"each of {path[-1]} must be a string"
    return tuple(word for index, word in enumerate(value) if reader.expect(word, str, (*path, index), said))


def strings(reader: Reader, value: Any, path: Path) -> dict[str, str]:
    """A table of strings; what is none is reported and left out."""
    if value is None or not reader.expect(value, dict, path, f"{path[-1]} must be an object"):
        return {}
    return {
        key: text for key, text in value.items() if reader.expect(text, str, (*path, key), f"{key} must be a string")
    }


def restricted(hooks: list[Hook], readings: Sequence[tuple[Source, Reading]]) -> list[Hook]:
    """Http hooks within what the settings allow: a URL has to be in each list that there is."""
    return [hook.but(handler=_within(hook.handler, hook.origin.dialect, readings)) for hook in hooks]


def _within(handler: Any, dialect: str, readings: Sequence[tuple[Source, Reading]]) -> Any:
    if handler.kind == "background":
        return handler.but(handler=_within(handler.handler, dialect, readings))
    if handler.kind != "http":
        return handler
    from fairlead.handlers.http import allowed

    for patterns in _lists(URLS, dialect, readings):
        handler = handler.but(allowed_urls=patterns)  # for redirects, too
        if not allowed(handler.url, patterns):
            return handler
    names = handler.allowed_env
    for listed in _lists(VARIABLES, dialect, readings):
        names = tuple(name for name in names if name in listed)
    return handler.but(allowed_env=names)


def _lists(key: str, dialect: str, readings: Sequence[tuple[Source, Reading]]) -> Iterator[tuple[str, ...]]:
    """What managed and user settings of one system list counts together, as there; a project can only narrow it."""
    own: dict[bool, list[str]] = {}
    for source, reading in readings:
        lists = reading.settings.get(key, {})
        if "*" in lists:
            yield lists["*"]
        if dialect in lists:
            own.setdefault(source.owner == "project", []).extend(lists[dialect])
    yield from map(tuple, own.values())
