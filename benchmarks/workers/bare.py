"""An application that lets every request wait, and answers all of them when one asks for `/wake`. Prints its port."""

from __future__ import annotations

import asyncio
import socket
from typing import Any

import uvicorn

wake = asyncio.Event()
HEADERS = [(b"content-type", b"application/json")]


async def app(scope: Any, _receive: Any, send: Any) -> None:
    if scope["type"] != "http":
        return
    await send({"type": "http.response.start", "status": 200, "headers": HEADERS})
    if scope["path"] == "/wake":
        wake.set()
        await send({"type": "http.response.body", "body": b"{}"})
        return
    await send({"type": "http.response.body", "body": b" ", "more_body": True})
    await wake.wait()
    await send({"type": "http.response.body", "body": b'{"decision":"allow"}\n'})


def main() -> None:
    listening = socket.socket()
    listening.bind(("127.0.0.1", 0))
    listening.listen(4096)
    print(listening.getsockname()[1], flush=True)
    config = uvicorn.Config(app, log_level="critical", access_log=False, lifespan="off", timeout_keep_alive=30)
    uvicorn.Server(config).run(sockets=[listening])


main()
