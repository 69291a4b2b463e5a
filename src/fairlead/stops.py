"""Stop cannot loop for ever: how often in a row a session was kept going, and when that is enough."""

from __future__ import annotations

import os

from fairlead.folders import state_folder
from fairlead.verdicts import unique_lines

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping

    from fairlead.events import Event
    from fairlead.verdicts import Decision

CAP = 8
STOPS = frozenset({"Stop", "SubagentStop"})
WORK = frozenset({"PreToolUse", "PostToolUse", "PostToolUseFailure"})
_COUNTED = STOPS | WORK


class Stops:
    """Counts in memory, for one process."""

    def __init__(self, cap: int = CAP) -> None:
        self.cap = cap
        self._counts: dict[str, int] = {}

    def settle(self, event: Event, decision: Decision) -> Decision:
        """The decision, or the end of a row of refusals to stop."""
        name = event.name
        if name not in _COUNTED:
            return decision
        key = f"{event.session_id}/{event.agent_id}"
        if name in WORK or not decision.denies:
            self.reset(key)
            return decision
        if self.add(key) <= self.cap:
            return decision
        self.reset(key)
        note = f"kept going {self.cap} times in a row without a tool call: allowed to stop now ({decision.reason})"
        return decision.but(
            decision="none",
            said="",
            user_message=unique_lines((decision.user_message, note)),
            notes=(*decision.notes, note),
            context="",
            feedback="",
        )

    def add(self, key: str) -> int:
        self._counts[key] = self._counts.get(key, 0) + 1
        return self._counts[key]

    def reset(self, key: str) -> None:
        self._counts.pop(key, None)


class StopFiles(Stops):
    """Counts in the user's state directory, for agents that start us anew for every event."""

    def __init__(self, environ: Mapping[str, str], cap: int = CAP) -> None:
        super().__init__(cap)
        temporary = os.path.join(environ.get("TMPDIR") or "/tmp", f"fairlead-{os.getuid()}")  # noqa: S108  # 0700, ours
        self._folders = (f"{state_folder(environ)}/stops", temporary)

    def add(self, key: str) -> int:
        """One byte for each time: appending is safe with two processes at once."""
        for folder in self._folders:
            try:
                return _add_byte(folder, _file_name(key))
            except OSError:
                continue
        return self.cap + 1  # what cannot be counted must not go on for ever

    def reset(self, key: str) -> None:
        """Most users never have such a folder, and need no name for what is not in it."""
        for folder in self._folders:
            if os.access(folder, os.F_OK):
                _delete(f"{folder}/{_file_name(key)}")


def _delete(path: str) -> None:
    try:
        os.unlink(path)
    except OSError:
        pass


def _add_byte(folder: str, name: str) -> int:
    os.makedirs(folder, mode=0o700, exist_ok=True)
    about = os.lstat(folder)
    if about.st_uid != os.getuid() or about.st_mode & 0o022:
        raise PermissionError(folder)
    descriptor = os.open(os.path.join(folder, name), os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_NOFOLLOW, 0o600)
    with os.fdopen(descriptor, "ab") as file:
        file.write(b".")
        return os.fstat(descriptor).st_size + 1


def _file_name(key: str) -> str:
    import zlib

    return f"{zlib.crc32(key.encode('utf-8', 'surrogatepass')):08x}"
