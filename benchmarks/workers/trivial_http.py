"""A trivial handler on the HTTP server that `fairlead serve` uses: as it comes or, with the word `door`, as it is used
there. Prints its port; ends with its stdin."""

from __future__ import annotations

import socket
import sys
import threading
from typing import Any

import uvicorn

from fairlead.server.doors import Door

BODY = b'{"decision": "allow"}\n'
HEADERS = [(b"content-type", b"application/json"), (b"content-length", str(len(BODY)).encode())]


async def app(_scope: Any, receive: Any, send: Any) -> None:
    while (await receive()).get("more_body"):
        pass
    await send({"type": "http.response.start", "status": 200, "headers": HEADERS})
    await send({"type": "http.response.body", "body": BODY})


def main() -> None:
    listening = socket.socket(socket.AF_INET, socket.SOCK_STREAM, socket.IPPROTO_TCP)  # else no TCP_NODELAY
    listening.bind(("127.0.0.1", 0))
    listening.listen(1024)
    print(listening.getsockname()[1], flush=True)
    config = uvicorn.Config(
        app, http=Door if "door" in sys.argv[1:] else "httptools", log_level="critical", access_log=False,
        server_header=False, lifespan="off", ws="none", timeout_keep_alive=30,
    )  # fmt: skip
    server = uvicorn.Server(config)
    threading.Thread(target=_until_nobody_listens, args=(server,), daemon=True).start()
    server.run(sockets=[listening])


def _until_nobody_listens(server: uvicorn.Server) -> None:
    sys.stdin.read()
    server.should_exit = True


main()
