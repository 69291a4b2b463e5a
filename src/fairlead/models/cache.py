"""Answers to questions that were asked before in the same session.

One file for each answer, in a folder for each session, for their owner alone. Several processes may read and write at
once: a file appears whole or not at all, and what cannot be read is as good as not there.
"""

from __future__ import annotations

import os
import stat
import time

from fairlead import wire
from fairlead.errors import InputError
from fairlead.folders import state_folder
from fairlead.models.records import Reply, Usage

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from fairlead.hooks import Setting
    from fairlead.models.records import Profile, Question

MOST = 256
"""Answers that are kept for one session."""
_AT_ONCE = 32
"""How many of the oldest make room, so that it is not needed each time."""
LIFETIME = 24 * 3600.0
"""Seconds."""
_LARGEST = 1 << 20
_ABOUT_THE_MODEL = ("provider", "model", "base_url", "max_tokens")


def get(profile: Profile, question: Question, session_id: str, setting: Setting) -> Reply | None:
    """What was said to exactly this question in this session; None if nobody knows."""
    if not session_id:
        return None
    try:
        return _reply(wire.decode_object(_content(_file(profile, question, session_id, setting))))
    except (OSError, InputError, KeyError, TypeError, ValueError):
        return None


def put(profile: Profile, question: Question, session_id: str, setting: Setting, reply: Reply) -> None:
    """Keep a whole answer. What cannot be kept is asked again."""
    if not session_id or not reply.finished or reply.calls:
        return
    path = _file(profile, question, session_id, setting)
    try:
        _make_room(os.path.dirname(path))
        _write(path, wire.encode(_entry(reply)))
    except OSError:  # such as a full or read-only disk
        pass


def _file(profile: Profile, question: Question, session_id: str, setting: Setting) -> str:
    folder = os.path.join(state_folder(setting.environ, setting.home), "answers", _digest(session_id))
    asked = [getattr(profile, name) for name in _ABOUT_THE_MODEL]
    tools = [tool.as_dict() for tool in question.tools]
    said = [_plain(message) for message in question.messages]
    return os.path.join(folder, _digest([asked, question.system, said, question.schema, tools]) + ".json")


def _plain(message: dict[str, Any]) -> dict[str, Any]:
    return {**message, "calls": [call.as_dict() for call in message.get("calls", ())]}


def _digest(value: object) -> str:
    import hashlib

    return hashlib.sha256(wire.encode(value)).hexdigest()[:40]


def _content(path: str) -> bytes:
    with os.fdopen(os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_NOFOLLOW), "rb") as file:
        about = os.fstat(file.fileno())
        age = time.time() - about.st_mtime
        is_ours = stat.S_ISREG(about.st_mode) and about.st_uid == os.getuid() and not about.st_mode & 0o077
        if not is_ours or not -60.0 <= age <= LIFETIME or about.st_size > _LARGEST:
            raise InputError("not an answer that counts")
        return file.read(_LARGEST)


def _entry(reply: Reply) -> dict[str, Any]:
    return {"text": reply.text, "model": reply.model, "usage": [reply.usage.input_tokens, reply.usage.output_tokens]}


def _reply(entry: dict[str, Any]) -> Reply:
    """Raises for anything that `_entry` does not write: half a file must not become half an answer."""
    text, model, (asked, said) = entry["text"], entry["model"], entry["usage"]
    if not isinstance(text, str) or not isinstance(model, str) or type(asked) is not int or type(said) is not int:
        raise TypeError("not an answer")
    return Reply(text=text, model=model, usage=Usage(input_tokens=asked, output_tokens=said))


def _write(path: str, content: bytes) -> None:
    draft = f"{path}.{os.getpid()}.{os.urandom(4).hex()}"
    try:
        with os.fdopen(os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW, 0o600), "wb") as file:
            file.write(content)
        os.replace(draft, path)
    except OSError:
        _discard(draft)
        raise


def _make_room(folder: str) -> None:
    if not os.path.isdir(folder):
        _make_private(folder)
        _forget_old_sessions(os.path.dirname(folder))
    if len(os.listdir(folder)) >= MOST:
        for _, path in sorted(_ages(folder))[:_AT_ONCE]:
            _discard(path)


def _make_private(folder: str) -> None:
    answers = os.path.dirname(folder)
    for place in (os.path.dirname(answers), answers, folder):
        os.makedirs(place, mode=0o700, exist_ok=True)  # the mode is for the last part of a path only


def _ages(folder: str) -> list[tuple[float, str]]:
    """When each was written, and its path; without those that another process has just removed."""
    found = []
    with os.scandir(folder) as entries:
        for entry in entries:
            try:
                found.append((entry.stat(follow_symlinks=False).st_mtime, entry.path))
            except OSError:
                continue
    return found


def _forget_old_sessions(folder: str) -> None:
    oldest = time.time() - LIFETIME
    for written, path in _ages(folder):
        if written < oldest:  # a folder is as old as its youngest entry
            _remove(path)


def _remove(folder: str) -> None:
    try:
        for _, path in _ages(folder):
            _discard(path)
        os.rmdir(folder)
    except OSError:
        pass


def _discard(path: str) -> None:
    try:
        os.unlink(path)
    except OSError:
        pass
