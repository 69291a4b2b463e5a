"""Agents that ask and people who answer, so many at once: prints the seconds of each question, from ask to answer.

Plain sockets: on a small machine the asking must cost less than the answering.
"""

from __future__ import annotations

import asyncio
import json
import sys
import time

ASK = "/api/internal/interaction-request"


class Line:
    """A connection that is kept open."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter, port: int, key: str) -> None:
        self._reader = reader
        self._writer = writer
        self._head = f"Host: 127.0.0.1:{port}\r\nAuthorization: Bearer {key}\r\nContent-Type: application/json\r\n"

    @classmethod
    async def to(cls, port: int, key: str) -> Line:
        reader, writer = await asyncio.open_connection("127.0.0.1", port)
        return cls(reader, writer, port, key)

    def send(self, method: str, path: str, fields: object) -> None:
        body = json.dumps(fields).encode()
        head = f"{method} {path} HTTP/1.1\r\n{self._head}Content-Length: {len(body)}\r\n\r\n"
        self._writer.write(head.encode() + body)

    async def begin(self) -> bytes:
        """The head of an answer."""
        head = await self._reader.readuntil(b"\r\n\r\n")
        assert head.startswith(b"HTTP/1.1 20"), head
        return head.lower()

    async def rest(self, head: bytes) -> bytes:
        _, found, length = head.partition(b"content-length: ")
        if found:
            return await self._reader.readexactly(int(length.partition(b"\r\n")[0]))
        text = b""
        while size := int(await self._reader.readline(), 16):
            text += (await self._reader.readexactly(size + 2))[:-2]
        await self._reader.readline()
        return text

    async def call(self, method: str, path: str, fields: object = None) -> bytes:
        self.send(method, path, fields or {})
        return await self.rest(await self.begin())

    def close(self) -> None:
        self._writer.close()


async def main(port: int, token: str, at_once: int, each: int) -> None:
    pairs = [await _pair(port, token) for _ in range(at_once)]
    print("ready", flush=True)
    await asyncio.get_running_loop().run_in_executor(None, sys.stdin.readline)
    started = time.monotonic()
    taken = await asyncio.gather(*(_go(*pair, each) for pair in pairs))
    whole = time.monotonic() - started
    print(json.dumps({"whole": whole, "each": [seconds for some in taken for seconds in some]}))


async def _pair(port: int, token: str) -> tuple[Line, Line, str]:
    person = await Line.to(port, token)
    made = json.loads(await person.call("POST", "/api/runs", {"agent": "benchmark"}))
    return await Line.to(port, made["key"]), person, made["run"]["id"]


async def _go(agent: Line, person: Line, run: str, each: int) -> list[float]:
    times = []
    for number in range(each):
        started = time.monotonic()
        fields = {"run_id": run, "type": "approval", "tool": "Bash", "request_id": str(number)}
        agent.send("POST", ASK, {**fields, "payload": {"command": f"make target-{number}"}})
        head = await agent.begin()
        (item,) = json.loads(await person.call("GET", f"/api/interactions?run={run}"))["interactions"]
        said = {"decision": "allow", "digest": item["digest"]}
        await person.call("POST", f"/api/interactions/{item['id']}/answer", said)
        assert b"allow" in await agent.rest(head)
        times.append(time.monotonic() - started)
    for line in (agent, person):
        line.close()
    return times


asyncio.run(main(int(sys.argv[1]), sys.argv[2], int(sys.argv[3]), int(sys.argv[4])))
