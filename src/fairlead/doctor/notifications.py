"""What keeps people from being told that a question waits: agents then wait for answers until it is too late."""

from __future__ import annotations

import os

from fairlead import documents, wire
from fairlead.dialects import _native_notify, native
from fairlead.doctor.finding import OURSELVES, Finding
from fairlead.errors import ConfigError, InputError
from fairlead.folders import state_folder

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

    from fairlead.dialects import Source
    from fairlead.doctor.scene import Scene

_STATUS = "notifications.json"
"""Written by the server."""


def check(scene: Scene) -> Iterator[Finding]:
    places = scene.places
    for source in native.sources(places.but(project="")):
        if source.owner != "project":
            yield from _of_file(source, scene)
    yield from _of_server(os.path.join(state_folder(places.environ, places.home), _STATUS))


def _of_file(source: Source, scene: Scene) -> Iterator[Finding]:
    try:
        text = documents.read_text(source.path)
        data = documents.parse_toml(text, scene.places.environ) if text else {}
    except ConfigError:  # for `configured`
        return
    if not _native_notify.read_fields(data)[0]:
        return
    if not _has_apprise():
        what = "nobody is told of questions: the addresses in `notify` need the extra `notify`"
        yield _found("warning", what, "pip install 'fairlead[notify]', and start the server again", source.path)
    if source.owner == "user" and os.stat(source.path).st_mode & 0o044:
        what = "other users of this machine can read the addresses in `notify`, and each is a password"
        yield _found("warning", what, f"chmod 600 {source.path}", source.path)


def _has_apprise() -> bool:
    from importlib.util import find_spec

    return find_spec("apprise") is not None


def _of_server(path: str) -> Iterator[Finding]:
    try:
        with open(path, "rb") as file:
            said = wire.decode_object(file.read(), "the status").get("troubles")
    except (OSError, InputError):
        return
    for trouble in said if isinstance(said, list) else ():
        what = f"the server could not tell people of questions: {trouble}"
        yield _found("warning", what, "mend it, then start the server again", "")


def _found(level: str, message: str, fix: str, file: str) -> Finding:
    return Finding(level=level, agent=OURSELVES, check="notifications", message=message, fix=fix, file=file)
