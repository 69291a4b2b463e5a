"""Clients that mean no good: half of them send their request byte by byte, half never read what they are told."""

from __future__ import annotations

import asyncio
import json
import socket
import sys

AT_ONCE = 100
EACH_SECOND = 1.0


async def main(port: int, run: str, key: str, count: int) -> None:
    turn = asyncio.Semaphore(AT_ONCE)
    opened = await asyncio.gather(*(_connect(turn, port) for _ in range(count)))
    slow, deaf = opened[: count // 2], opened[count // 2 :]
    loop = asyncio.get_running_loop()
    for number, one in enumerate(deaf):
        await loop.sock_sendall(one, _request(port, run, key, number))
    print("ready", flush=True)
    text = b"POST /api/internal/interaction-request HTTP/1.1\r\nX-Slow: " + b"x" * 100_000
    for byte in text:
        for one in slow:
            try:
                await loop.sock_sendall(one, bytes([byte]))
            except OSError:
                continue
        await asyncio.sleep(EACH_SECOND)


async def _connect(turn: asyncio.Semaphore, port: int) -> socket.socket:
    async with turn:
        found = socket.socket()
        found.setblocking(False)
        found.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 2048)
        await asyncio.get_running_loop().sock_connect(found, ("127.0.0.1", port))
        return found


def _request(port: int, run: str, key: str, number: int) -> bytes:
    """Ten questions on one line, before the answer to the first."""
    requests = b""
    for place in range(10):
        asked = {"run_id": run, "type": "approval", "tool": "Bash", "request_id": f"deaf {number} {place}"}
        body = json.dumps({**asked, "payload": {"command": "x" * 200}}).encode()
        head = (
            f"POST /api/internal/interaction-request HTTP/1.1\r\nHost: 127.0.0.1:{port}\r\n"
            f"Authorization: Bearer {key}\r\nContent-Type: application/json\r\nContent-Length: {len(body)}\r\n\r\n"
        )
        requests += head.encode() + body
    return requests


asyncio.run(main(int(sys.argv[1]), sys.argv[2], sys.argv[3], int(sys.argv[4])))
