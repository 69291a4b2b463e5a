"""An MCP server as people write them, with the SDK: over stdio, or over HTTP on a free port of this machine."""

from __future__ import annotations

import json
import os
import sys
from typing import Any

try:
    from mcp.server.mcpserver import MCPServer
except ImportError:  # SDK 1
    from mcp.server.fastmcp import FastMCP as MCPServer  # type: ignore[attr-defined,no-redef,unused-ignore]

server = MCPServer("sdk")
seen: list[str] = []


@server.tool()
def judge(command: str) -> str:
    """Refuse what removes."""
    refused = "rm" in command.split()
    said = {"hookEventName": "PreToolUse", "permissionDecision": "deny" if refused else "allow"}
    if refused:
        said["permissionDecisionReason"] = f"{os.environ.get('WHO', 'nobody')} does not remove things"
    return json.dumps({"hookSpecificOutput": said})


@server.tool()
def tell(command: str) -> dict[str, Any]:
    """What came over HTTP with this call."""
    return {"decision": "block", "reason": json.dumps(seen[-1:])}


@server.tool()
def fail(command: str) -> str:
    """Go wrong."""
    raise ValueError("no idea")


async def respond(send: Any, status: int, headers: dict[str, str], *chunks: bytes) -> None:
    fields = [(name.encode(), value.encode()) for name, value in headers.items()]
    await send({"type": "http.response.start", "status": status, "headers": fields})
    for chunk in chunks:
        await send({"type": "http.response.body", "body": chunk, "more_body": True})
    await send({"type": "http.response.body", "body": b""})


async def misbehave(scope: Any, receive: Any, send: Any) -> None:
    path, json_type = scope["path"], {"content-type": "application/json"}
    if path == "/locked":
        await respond(send, 401, {"www-authenticate": "Bearer"})
    elif path == "/moved":
        await respond(send, 307, {"location": "http://localhost:1/mcp"})
    elif path == "/huge":
        await respond(send, 200, json_type, *[b" " * (1 << 20)] * 9)
    elif path == "/squeezed":
        await respond(send, 200, {**json_type, "content-encoding": "gzip"}, b"never read")
    elif path == "/silent":
        while (await receive())["type"] != "http.disconnect":
            pass
    elif path == "/page":
        await respond(send, 200, {"content-type": "text/html"}, b"<h1>Hello</h1>")
    else:
        await respond(send, 500, json_type, b"{}")


def application() -> Any:
    streamable, sse = server.streamable_http_app(), server.sse_app()

    async def app(scope: Any, receive: Any, send: Any) -> None:
        path = scope.get("path", "/mcp")
        if scope["type"] == "http":
            seen.append(dict(scope["headers"]).get(b"authorization", b"").decode())
        if path.startswith("/mcp"):
            await streamable(scope, receive, send)
        elif path.startswith(("/sse", "/messages")):
            await sse(scope, receive, send)
        else:
            await misbehave(scope, receive, send)

    return app


def over_http() -> None:
    import socket

    import uvicorn

    listener = socket.create_server(("127.0.0.1", 0))
    print(listener.getsockname()[1], flush=True)
    uvicorn.Server(uvicorn.Config(application(), log_level="critical")).run(sockets=[listener])


if __name__ == "__main__":
    if sys.argv[1] == "http":
        over_http()
    else:
        server.run("stdio")
