"""What fairlead.toml says about language models, web servers and MCP servers."""

from __future__ import annotations

import os

from fairlead.dialects import _elsewhere

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from fairlead.dialects._common import Path, Reader
    from fairlead.hooks import Handler

_MOST_TURNS = 200
_MODEL_KEYS = (
    "provider", "model", "base_url", "api_key", "api_key_env", "max_tokens", "input_price", "output_price",
)  # fmt: skip
_SERVER_KEYS = ("command", "args", "env", "cwd", "url", "headers", "allowed_env", "type")


def handler(reader: Reader, entry: dict[str, Any], path: Path) -> Handler | None:
    if "http" in entry:
        url = reader.text_field(entry, "http", path)
        headers = _elsewhere.strings(reader, entry.get("headers"), (*path, "headers"))
        names = _elsewhere.words(reader, entry.get("allowed_env"), (*path, "allowed_env"))
        return _elsewhere.http(reader, url, (*path, "http"), headers, names)
    if "mcp_tool" in entry:
        return _mcp_tool(reader, entry, path)
    kind = "prompt" if "prompt" in entry else "agent"
    text = reader.text_field(entry, kind, path)
    model = _elsewhere.optional_text(reader, entry, "model", path)
    if not text:
        return None
    if kind == "agent":
        turns = _turns(reader, entry.get("turns"), (*path, "turns"))
        return _elsewhere.agent(reader, text, (*path, "agent"), model=model, turns=turns)
    cache = entry.get("cache", False)
    reader.expect(cache, bool, (*path, "cache"), "cache must be true or false")
    return _elsewhere.prompt(reader, text, path, model=model, cache=cache is True)


def _mcp_tool(reader: Reader, entry: dict[str, Any], path: Path) -> Handler | None:
    text = reader.text_field(entry, "mcp_tool", path)
    server, slash, tool = text.partition("/")
    if text and not (slash and server and tool):
        reader.problem((*path, "mcp_tool"), f"{text!r} names no tool of a server", 'write "server/tool"')
        return None
    return _elsewhere.mcp_tool(reader, server, tool, entry.get("input"), (*path, "input")) if text else None


def _turns(reader: Reader, value: Any, path: Path) -> int:
    from fairlead.handlers.agent import TURNS

    if value is None:
        return TURNS
    if isinstance(value, int) and not isinstance(value, bool) and 0 < value <= _MOST_TURNS:
        return value
    reader.problem(path, f"turns is {value!r}", f"a number from 1 to {_MOST_TURNS}; {TURNS} is used")
    return TURNS


def check(reader: Reader, data: dict[str, Any]) -> dict[str, Any]:
    """Reports what is wrong with the tables that others read; returns the settings in them."""
    if "models" in data:
        _check_tables(reader, data["models"], "models", _MODEL_KEYS)
        _check_models(reader, data["models"])
    if "mcp_servers" in data:
        _check_tables(reader, data["mcp_servers"], "mcp_servers", _SERVER_KEYS)
    if "allowed_http_urls" not in data:
        return {}
    urls = _elsewhere.words(reader, data["allowed_http_urls"], ("allowed_http_urls",))
    return {_elsewhere.URLS: {"*": urls}}


def _check_models(reader: Reader, tables: Any) -> None:
    """What would only show when a hook asks."""
    from fairlead.models.profiles import PROVIDERS

    for name, table in tables.items() if isinstance(tables, dict) else ():
        given = table if isinstance(table, dict) else {}
        path, provider = ("models", name), given.get("provider")
        if "provider" in given and provider not in PROVIDERS:
            reader.problem((*path, "provider"), f"unknown provider {provider!r}", f"one of: {', '.join(PROVIDERS)}")
        if "api_key" in given and _others_can_read(reader.source.path):
            reader.problem((*path, "api_key"), "others can read this key", f"chmod 600 {reader.source.path}")


def _others_can_read(path: str) -> bool:
    try:
        return bool(os.stat(path).st_mode & 0o077)
    except OSError:
        return False


def _check_tables(reader: Reader, value: Any, name: str, keys: tuple[str, ...]) -> None:
    if not reader.expect(value, dict, (name,), f"[{name}] must hold tables"):
        return
    for entry, table in value.items():
        path = (name, entry)
        if not reader.expect(table, dict, path, f"[{name}.{entry}] must be a table"):
            continue
        reader.only(table, keys, path)
