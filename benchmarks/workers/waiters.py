"""Agents that wait: opens them all, says `ready`, then one line `NUMBER SECONDS` for each answer, as it comes.

Each is a bare protocol: on a small machine the waiting must cost less than what is measured. With `again` as the last
word each comes back when its line breaks, as the client does, and says `back NUMBER SECONDS` when it waits again.
"""

from __future__ import annotations

import asyncio
import json
import random
import sys
import time

AT_ONCE = 100
SLOWEST = 5.0
"""Seconds: the longest pause between two tries."""


class Agent(asyncio.Protocol):
    def __init__(self, crowd: Crowd, number: int) -> None:
        self._crowd = crowd
        self._number = number
        self._begun = False
        self._answered = False

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        assert isinstance(transport, asyncio.Transport)
        self._transport = transport
        transport.write(self._crowd.request(self._number))

    def data_received(self, data: bytes) -> None:
        if not self._begun:
            self._begun = True
            if not data.startswith((b"HTTP/1.1 200", b"HTTP/1.1 409")):
                self._transport.close()
                return
            self._crowd.waits(self._number)
        if b'"decision"' in data:
            self._answered = True
            self._crowd.say(f"{self._number} {time.monotonic()}")
            self._crowd.answered()
            self._transport.close()

    def connection_lost(self, _error: Exception | None) -> None:
        if not self._answered:
            self._crowd.broken(self._number)


class Crowd:
    def __init__(self, port: int, run: str, key: str, count: int, *, again: bool) -> None:
        self._port, self._run, self._key, self._left = port, run, key, count
        self._again = again
        self._waiting: dict[int, asyncio.Future[None]] = {}
        self._tries = [0] * count
        self._comings: set[asyncio.Task[None]] = set()
        self._said: list[str] = []
        self._done = asyncio.Event()

    async def wait(self) -> None:
        turn = asyncio.Semaphore(AT_ONCE)
        await asyncio.gather(*(self._come(turn, number) for number in range(self._left)))
        self.say("ready")
        await self._done.wait()
        self._flush()

    async def _come(self, turn: asyncio.Semaphore, number: int) -> None:
        async with turn:
            waits = self._waiting[number] = asyncio.get_running_loop().create_future()
            await self._connect(number)
            await waits

    async def _connect(self, number: int) -> None:
        loop = asyncio.get_running_loop()
        await loop.create_connection(lambda: Agent(self, number), "127.0.0.1", self._port)

    def waits(self, number: int) -> None:
        waits = self._waiting.get(number)
        if waits is not None and not waits.done():
            waits.set_result(None)
        elif self._tries[number]:
            self.say(f"back {number} {time.monotonic()}")
        self._tries[number] = 0

    def broken(self, number: int) -> None:
        """Comes again, with pauses that grow and differ."""
        if not self._again:
            self.say(f"error {number} was cut off")
            return
        task = asyncio.get_running_loop().create_task(self._come_again(number))
        self._comings.add(task)
        task.add_done_callback(self._comings.discard)

    async def _come_again(self, number: int) -> None:
        while True:
            longest = min(SLOWEST, 0.1 * 2 ** self._tries[number])
            self._tries[number] += 1
            await asyncio.sleep(random.uniform(0.01, longest))
            try:
                await self._connect(number)
            except OSError:
                continue
            return

    def answered(self) -> None:
        self._left -= 1
        if not self._left:
            self._done.set()

    def say(self, line: str) -> None:
        if not self._said:
            asyncio.get_running_loop().call_soon(self._flush)
        self._said.append(line + "\n")

    def _flush(self) -> None:
        sys.stdout.write("".join(self._said))
        sys.stdout.flush()
        self._said.clear()

    def request(self, number: int) -> bytes:
        payload = {"command": f"make target-{number}"}
        asked = {"run_id": self._run, "type": "approval", "tool": "Bash", "request_id": f"n{number}"}
        body = json.dumps({**asked, "payload": payload}).encode()
        head = (
            f"POST /api/internal/interaction-request HTTP/1.1\r\nHost: 127.0.0.1:{self._port}\r\n"
            f"Authorization: Bearer {self._key}\r\nContent-Type: application/json\r\n"
            f"Content-Length: {len(body)}\r\n\r\n"
        )
        return head.encode() + body


async def main(port: int, run: str, key: str, count: int, *words: str) -> None:
    await Crowd(port, run, key, count, again="again" in words).wait()


asyncio.run(main(int(sys.argv[1]), sys.argv[2], sys.argv[3], int(sys.argv[4]), *sys.argv[5:]))
