"""Hooks that run on after their event: started in a process of their own, heard with a later event of the session.

The job goes to that process in a file that has no name, since it holds the environment; what came of it lies in the
state folder until somebody asks.
"""

from __future__ import annotations

import os
import time

from fairlead.folders import state_folder

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Any

    from fairlead.events import Event
    from fairlead.hooks import Hook, Setting
    from fairlead.verdicts import Decision

KEPT = 24 * 3600.0
"""Seconds after which nobody wants to hear it any more."""
MOST = 64
"""Answers that one session can have waiting."""
LONGEST = 10_000
"""Characters of one answer."""
_RUNNER = "import sys; sys.path.insert(0, sys.argv[1]); from fairlead.left_running import main; main()"


def launch(hook: Hook, event: Event, setting: Setting) -> int:
    """The process that runs the hook now; it outlives us."""
    import pickle
    import sys
    import tempfile

    from fairlead.matchers import everything
    from fairlead.process import MARK, collect_later
    from fairlead.spawning import spawn

    bare = hook.but(matcher=everything(), condition=None, options={**hook.options, "once": None})
    environ = {**setting.environ, MARK: os.environ.get(MARK, setting.environ.get(MARK, ""))}
    argv = (sys.executable, "-I", "-c", _RUNNER, os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
    with tempfile.TemporaryFile() as job, open(os.devnull, "wb") as nowhere:
        pickle.dump((bare, event, setting.but(deadline=None, environ=environ)), job)
        job.flush()
        job.seek(0)
        pid = spawn(argv, sys.executable, "/", environ, (job.fileno(), nowhere.fileno(), nowhere.fileno()))
    collect_later(pid)
    return pid


def folder(setting: Setting, session_id: str) -> str:
    import hashlib

    name = hashlib.sha256(session_id.encode("utf-8", "surrogatepass")).hexdigest()[:32]
    return os.path.join(state_folder(setting.environ, setting.home), "background", name)


def leave(news: dict[str, Any], folder: str) -> None:
    import tempfile

    from fairlead import wire

    _make_private(folder)
    _sweep(os.path.dirname(folder))
    _make_room(folder)
    descriptor, path = tempfile.mkstemp(dir=folder, prefix=".")
    with os.fdopen(descriptor, "wb") as file:
        file.write(wire.encode(news))
    os.rename(path, os.path.join(folder, f"{time.time_ns():020d}-{os.getpid()}.json"))


def _make_private(folder: str) -> None:
    for place in (os.path.dirname(os.path.dirname(folder)), os.path.dirname(folder), folder):
        os.makedirs(place, mode=0o700, exist_ok=True)


def _make_room(folder: str) -> None:
    """The oldest goes: what was said last matters more."""
    names = sorted(name for name in os.listdir(folder) if not name.startswith("."))
    for name in names[: max(0, len(names) - MOST + 1)]:
        try:
            os.unlink(os.path.join(folder, name))
        except OSError:  # it has just been heard
            pass


def _sweep(place: str) -> None:
    """What nobody has asked for in a day."""
    for session in os.listdir(place):
        folder = os.path.join(place, session)
        for name in os.listdir(folder):
            path = os.path.join(folder, name)
            try:
                if time.time() - os.stat(path).st_mtime > KEPT:
                    os.unlink(path)
            except OSError:  # somebody was faster
                pass


def told_later(event: Event, decision: Decision, setting: Setting) -> Decision:
    """The decision, with what hooks of this session have said since."""
    from fairlead.verdicts import join_lines, unique_lines

    if not event.session_id:
        return decision
    for news in _take(folder(setting, event.session_id)):
        where = f"hook {news.get('hook', '')}, in the background after {news.get('event', '')}"
        text, message = str(news.get("context", "")), str(news.get("user_message", ""))
        decision = decision.but(
            context=join_lines((decision.context, f"{where}: {text}" if text else "")),
            user_message=unique_lines((decision.user_message, message)),
            notes=(*decision.notes, *(f"{where}: {note}" for note in news.get("notes", ()))),
        )
    return decision


def _take(folder: str) -> Iterator[dict[str, Any]]:
    """Each is heard once, also where two events ask at the same time."""
    from fairlead import wire
    from fairlead.errors import InputError

    try:
        names = sorted(name for name in os.listdir(folder) if not name.startswith("."))
    except OSError:
        return
    for name in names:
        mine = os.path.join(folder, f".{name}-{os.getpid()}-{time.monotonic_ns()}")
        try:
            os.rename(os.path.join(folder, name), mine)
            with open(mine, "rb") as file:
                yield wire.decode_object(file.read())
            os.unlink(mine)
        except (OSError, InputError):  # another event has it, or the disk was full when it was written
            continue
