"""What waits to be sent: a file that many append to and one exporter takes away. Bounded, and never waited for."""

from __future__ import annotations

import os
import time

from fairlead import wire
from fairlead.folders import state_folder

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any

    from fairlead.hooks import Setting

LARGEST = 8 << 20
"""Bytes that wait, beside as many that are being sent."""
SETTINGS = "FAIRLEAD_OTEL_SETTINGS"
"""Carries `[telemetry]` to the exporter."""
WAITING = "waiting"
SENDING = "sending"
DROPPED = "dropped"
PAUSED = "paused"
EXPORTER = "exporter"
_PATIENCE = 0.02
"""Seconds for whoever takes the file away; that is one `rename`."""
_RUNNER = "import sys; sys.path.insert(0, sys.argv[1]); from fairlead.telemetry.exporter import main; main()"


def folder(said: Mapping[str, Any], setting: Setting) -> str:
    """One for each destination: what is meant for one collector never goes to another."""
    from fairlead.journal.writing import sha256

    standard = sorted((name, value) for name, value in setting.environ.items() if name.startswith("OTEL_"))
    key = sha256(wire.encode([standard, dict(said)]))[:16]
    return os.path.join(parent_folder(setting.environ, setting.home), key)


def parent_folder(environ: Mapping[str, str], home: str) -> str:
    return os.path.join(state_folder(environ, home), "telemetry")


class Spool:
    def __init__(self, folder: str) -> None:
        self.folder = folder

    def path(self, name: str) -> str:
        return os.path.join(self.folder, name)

    def add(self, line: bytes) -> None:
        os.makedirs(self.folder, mode=0o700, exist_ok=True)
        end = time.monotonic() + _PATIENCE
        while not self._added(line):
            if time.monotonic() > end:
                self.drop()
                return
            time.sleep(0.0005)

    def _added(self, line: bytes) -> bool:
        """False where somebody is just taking the file away."""
        import fcntl

        file = self._open(WAITING, os.O_APPEND)
        try:
            fcntl.flock(file, fcntl.LOCK_SH | fcntl.LOCK_NB)
            if not _is_at(file, self.path(WAITING)):
                return False
            if os.fstat(file).st_size + len(line) > LARGEST:
                self.drop()
            else:
                os.write(file, line)  # at once: lines of others are never inside it
        except BlockingIOError:
            return False
        finally:
            os.close(file)
        return True

    def drop(self) -> None:
        """Count what is lost: the size of a file is a counter that needs no lock."""
        file = self._open(DROPPED, os.O_APPEND)
        try:
            os.write(file, b".")
        finally:
            os.close(file)

    def _open(self, name: str, flags: int = 0) -> int:
        return os.open(self.path(name), os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW | flags, 0o600)

    def pause_left(self) -> float:
        """Seconds until the collector may be asked again; the file's time is that moment."""
        try:
            return max(0.0, os.stat(self.path(PAUSED)).st_mtime - time.time())
        except FileNotFoundError:
            return 0.0

    def wake(self, said: Mapping[str, Any], environ: Mapping[str, str]) -> None:
        """Start an exporter where there is none. It gets the lock with the descriptor: there is never a second."""
        import fcntl

        if self.pause_left() > 0:
            return
        lock = self._open(EXPORTER)
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            os.ftruncate(lock, 0)  # whose it was
            self._start(lock, said, environ)
        except BlockingIOError:
            pass
        finally:
            os.close(lock)

    def _start(self, lock: int, said: Mapping[str, Any], environ: Mapping[str, str]) -> None:
        import sys

        from fairlead.process import MARK, collect_later
        from fairlead.spawning import spawn

        source = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
        argv = (sys.executable, "-I", "-c", _RUNNER, source, self.folder)
        env = {name: value for name, value in environ.items() if name != MARK}
        env[SETTINGS] = wire.encode_text(dict(said))
        nowhere = os.open(os.devnull, os.O_WRONLY | os.O_CLOEXEC)
        try:
            collect_later(spawn(argv, sys.executable, "/", env, (lock, nowhere, nowhere)))
        finally:
            os.close(nowhere)

    # --- for the exporter, which is alone -------------------------------------------------------------

    def is_empty(self) -> bool:
        return not self.size(WAITING) and not os.path.exists(self.path(SENDING))

    def size(self, name: str) -> int:
        try:
            return os.stat(self.path(name)).st_size
        except FileNotFoundError:
            return 0

    def take(self) -> None:
        """From now on others write into a new file."""
        import fcntl

        file = self._open(WAITING)
        try:
            fcntl.flock(file, fcntl.LOCK_EX)
            os.rename(self.path(WAITING), self.path(SENDING))
        finally:
            os.close(file)

    def lines(self, offset: int, most: int) -> tuple[list[bytes], int]:
        """Some of what is being sent, and where the next begin."""
        with open(self.path(SENDING), "rb") as file:
            file.seek(offset)
            found = [line for _, line in zip(range(most), file, strict=False)]
            return found, offset + sum(map(len, found))

    def discard(self) -> None:
        os.unlink(self.path(SENDING))

    def take_dropped(self) -> int:
        """How many were lost since the last time."""
        if not self.size(DROPPED):
            return 0
        mine = self.path(f"{DROPPED}-counted")
        os.rename(self.path(DROPPED), mine)
        count = os.stat(mine).st_size
        os.unlink(mine)
        return count

    def pause(self, seconds: float) -> None:
        until = time.time() + seconds
        os.close(self._open(PAUSED))
        os.utime(self.path(PAUSED), (until, until))

    def go_on(self) -> None:
        try:
            os.unlink(self.path(PAUSED))
        except FileNotFoundError:
            pass


def _is_at(file: int, path: str) -> bool:
    try:
        return os.path.samestat(os.fstat(file), os.stat(path))
    except FileNotFoundError:
        return False
