"""Agents that wait: opens them all, says `ready`, then one line `NUMBER SECONDS` for each answer, as it comes."""

from __future__ import annotations

import asyncio
import json
import sys
import time

AT_ONCE = 100


async def main(port: int, run: str, key: str, count: int) -> None:
    turn = asyncio.Semaphore(AT_ONCE)
    waiting = [asyncio.create_task(_wait(turn, port, _request(run, key, number), number)) for number in range(count)]
    await asyncio.gather(*waiting)
    print("ready", flush=True)
    await asyncio.gather(*(_answered(*task.result()) for task in waiting))


def _request(run: str, key: str, number: int) -> bytes:
    payload = {"command": f"make target-{number}"}
    asked = {"run_id": run, "type": "approval", "tool": "Bash", "request_id": f"n{number}", "payload": payload}
    body = json.dumps(asked).encode()
    head = (
        "POST /api/internal/interaction-request HTTP/1.1\r\nHost: 127.0.0.1:{port}\r\n"
        f"Authorization: Bearer {key}\r\nContent-Type: application/json\r\nContent-Length: {len(body)}\r\n\r\n"
    )
    return head.encode() + body


async def _wait(
    turn: asyncio.Semaphore, port: int, request: bytes, number: int
) -> tuple[int, asyncio.StreamReader, asyncio.StreamWriter]:
    async with turn:
        reader, writer = await asyncio.open_connection("127.0.0.1", port, limit=4096)
        writer.write(request.replace(b"{port}", str(port).encode(), 1))
        await reader.readuntil(b"\r\n\r\n")
    return number, reader, writer


async def _answered(number: int, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    while b"decision" not in await reader.readuntil(b"\n"):
        pass
    print(number, time.monotonic(), flush=True)
    writer.close()


asyncio.run(main(int(sys.argv[1]), sys.argv[2], sys.argv[3], int(sys.argv[4])))
