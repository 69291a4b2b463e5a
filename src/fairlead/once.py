"""`once`: a hook that is not run again in a session after its first good run."""

from __future__ import annotations

import os

from fairlead.folders import state_folder

TYPE_CHECKING = False
if TYPE_CHECKING:
    from fairlead.dialects import Places
    from fairlead.events import Event

KEPT = 7 * 24 * 3600.0


class Once:
    """Remembered in a file: the next event may meet another process."""

    __slots__ = ("_folder", "_key")

    def __init__(self, key: tuple[object, ...], places: Places) -> None:
        self._key = key
        self._folder = os.path.join(state_folder(places.environ, places.home), "once")

    def __call__(self, event: Event) -> str:
        if not event.session_id:  # all who do not say which session they are would be one
            return ""
        return "has `once`, and has run in this session" if os.path.exists(self._mark(event)) else ""

    def ran(self, event: Event) -> None:
        if not event.session_id:
            return
        try:
            os.makedirs(self._folder, mode=0o700, exist_ok=True)
            self._sweep()
            os.close(os.open(self._mark(event), os.O_CREAT | os.O_WRONLY | os.O_NOFOLLOW, 0o600))
        except OSError:  # a full disk is no reason to refuse a call: the hook runs once more
            pass

    def _mark(self, event: Event) -> str:
        import hashlib

        text = repr((event.session_id, self._key))
        return os.path.join(self._folder, hashlib.sha256(text.encode("utf-8", "backslashreplace")).hexdigest())

    def _sweep(self) -> None:
        import time

        for entry in os.scandir(self._folder):
            try:
                if time.time() - entry.stat().st_mtime > KEPT:
                    os.unlink(entry.path)
            except OSError:  # another process was faster
                pass
