"""The way from an agent to Fairlead: the relay, the socket and the server that its settings name."""

from __future__ import annotations

import os
import stat

from fairlead import relay
from fairlead.doctor import facts
from fairlead.doctor.finding import OURSELVES, Finding
from fairlead.folders import hook_socket, hook_token

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

    from fairlead.dialects import Places
    from fairlead.doctor.scene import Entry, Scene
    from fairlead.installing.records import Kept

_AGAIN = "run `fairlead init` again"


def check(scene: Scene) -> Iterator[Finding]:
    parts = {agent: _relay_of(agent, scene.places) for agent in scene.agents}
    for agent, kept in parts.items():
        for one in kept:
            yield from _part(agent, one)
    if any(parts.values()):
        yield from _socket(hook_socket(scene.places.environ, scene.places.home))
    said = set()
    for entry in scene.entries:
        if entry.kind == "http" and entry.is_ours and entry.file.path not in said:
            said.add(entry.file.path)
            yield from _server(entry, scene.places)


# --- the relay ---------------------------------------------------------------------------------------


def _relay_of(agent: str, places: Places) -> list[Kept]:
    from fairlead.errors import ConfigError
    from fairlead.installing import records

    found: dict[str, Kept] = {}
    for scope in ("user", "project"):
        where = records.path_of(records.folder(places.home, places.environ), agent, scope, places.project)
        try:
            installed = records.load(where)
        except ConfigError:
            continue
        found.update({kept.path: kept for kept in (installed.of_kind("relay") if installed else ())})
    return list(found.values())


def _part(agent: str, kept: Kept) -> Iterator[Finding]:
    title, name = facts.title(agent), os.path.basename(kept.path)
    message, level = "", "error"
    if not os.path.isfile(kept.path):
        message = f"the relay, which {title} starts for each event, is not there any more: nothing is guarded"
    elif name == relay.PROGRAM and not os.access(kept.path, os.X_OK):
        message = f"the relay, which {title} starts for each event, is not executable: nothing is guarded"
    elif not relay.may_run_in(os.path.dirname(kept.path)) and name == relay.PROGRAM:
        message = f"{title} cannot start the relay: the file system forbids it (noexec), and nothing is guarded"
    elif _is_stale(kept.path, name):
        message, level = "the relay is of another version of Fairlead than this one", "note"
    if message:
        yield Finding(level=level, agent=agent, check="way_in", message=message, fix=_AGAIN, file=kept.path)


def _is_stale(path: str, name: str) -> bool:
    kind = "compiled" if name == relay.PROGRAM else "python"
    try:
        with open(path, "rb") as file:
            content = file.read()
        return any(name == part and content != made for part, made, _ in relay.parts(kind))
    except OSError:  # this Fairlead has none that was compiled
        return False


# --- the socket --------------------------------------------------------------------------------------


def _socket(path: str) -> Iterator[Finding]:
    what = _wrong_with(path)
    if what:
        message = f"{what}: the relay leaves it alone, and each event starts Fairlead anew"
        fix = f"see who has put it there; then `chmod 700 {os.path.dirname(path)}` and restart `fairlead serve`"
        yield Finding(level="warning", agent=OURSELVES, check="way_in", message=message, fix=fix, file=path)


def _wrong_with(path: str) -> str:
    try:
        found, folder = os.lstat(path), os.stat(os.path.dirname(path))
    except OSError:
        return ""
    if not stat.S_ISSOCK(found.st_mode):
        return "this is no socket"
    if found.st_uid != os.getuid():
        return "this socket belongs to somebody else"
    if folder.st_uid != os.getuid():
        return "the folder of this socket belongs to somebody else"
    return "others can write in the folder of this socket" if folder.st_mode & 0o022 else ""


# --- the server --------------------------------------------------------------------------------------


def _server(entry: Entry, places: Places) -> Iterator[Finding]:
    from urllib.parse import urlsplit

    from fairlead.installing import ways

    title, parts = facts.title(entry.agent), urlsplit(entry.handler["url"])
    address = f"{parts.scheme}://{parts.netloc}"
    if not ways.answers(address):
        then = "what it asks is refused" if entry.handler.get("onFailure") == "block" else "its calls pass unguarded"
        what = f"{title} asks Fairlead at {address}, where no server runs: {then}"
        fix = f"start `fairlead serve --port {parts.port}`, or `fairlead init --agent {entry.agent} --via relay`"
        yield entry.found("way_in", "error", what, fix, "url")
    elif not _is_key(entry, places):
        what = f"the key that {title} sends is not the one of this user's server: it is turned away"
        yield entry.found("way_in", "error", what, _AGAIN, "headers")
    if _is_readable_by_others(entry.file.path):
        what = "this file holds a key, and others can read it"
        yield entry.found("way_in", "warning", what, f"chmod 600 {entry.file.path}", "headers")


def _is_key(entry: Entry, places: Places) -> bool:
    headers = entry.handler.get("headers")
    sent = headers.get("Authorization") if isinstance(headers, dict) else None
    try:
        with open(hook_token(places.environ, places.home), encoding="ascii") as file:
            return bool(sent == f"Bearer {file.read().strip()}")
    except (OSError, ValueError):
        return False


def _is_readable_by_others(path: str) -> bool:
    try:
        return bool(os.stat(path).st_mode & 0o077)
    except OSError:
        return False
