"""Noticing the end of a process where the kernel has no pidfd."""

from __future__ import annotations

import os
import select
import threading

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any


def exit_pipe(pid: int) -> int:
    """A descriptor that becomes readable when the process has exited. Does not take its exit code."""
    reading, writing = os.pipe()

    def wait() -> None:
        try:
            _wait_unreaped(pid)
        except OSError:  # it has been reaped already
            pass
        finally:
            os.close(writing)

    threading.Thread(target=wait, daemon=True).start()
    return reading


def _wait_unreaped(pid: int) -> None:
    if hasattr(os, "waitid"):
        os.waitid(os.P_PID, pid, os.WEXITED | os.WNOWAIT)
        return
    bsd: Any = select  # macOS before Python 3.13
    event = bsd.kevent(pid, bsd.KQ_FILTER_PROC, bsd.KQ_EV_ADD, bsd.KQ_NOTE_EXIT)
    bsd.kqueue().control([event], 1)
