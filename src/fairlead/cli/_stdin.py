"""The event on stdin, also from agents that never close it."""

from __future__ import annotations

import os
import select
import time

SILENCE = 1.0
"""Seconds after which what has come is taken for all, if it is a whole document."""


def read_event(patience: float, fd: int = 0) -> bytes:
    """Everything up to the end of the stream, within the agent's patience."""
    poll = select.poll()
    poll.register(fd, select.POLLIN)
    ends = time.monotonic() + patience
    data = bytearray()
    while (left := ends - time.monotonic()) > 0:
        if poll.poll(min(left, SILENCE) * 1000):
            chunk = os.read(fd, 1 << 20)
            if not chunk:
                break
            data += chunk
        elif _is_whole(bytes(data)):
            break
    return bytes(data)


def _is_whole(data: bytes) -> bool:
    from fairlead import wire
    from fairlead.errors import InputError

    try:
        wire.decode(data)
    except InputError:
        return False
    return True
