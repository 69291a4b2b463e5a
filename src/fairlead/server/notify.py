"""Messages to chats and phones through Apprise: that a question waits, who asks it, and a link that needs a login.

The address of a target is its password. It is never shown, logged or sent anywhere: only its kind and its number.
"""

from __future__ import annotations

import io
import logging
import re
import threading
from contextlib import contextmanager
from typing import TYPE_CHECKING

from fairlead import documents
from fairlead._record import Record
from fairlead.dialects import _native_notify, native
from fairlead.errors import ConfigError, UsageError
from fairlead.locks import locked

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from fairlead.dialects import Places
    from fairlead.server.notices import Notice

_MOST_LINES = 5


class Wanted(Record):
    """What the user's and the machine's `fairlead.toml` say."""

    urls: tuple[str, ...] = ()
    after: float = 0.0
    problems: tuple[str, ...] = ()


def is_installed() -> bool:
    from importlib.util import find_spec

    return find_spec("apprise") is not None


class Target:
    """One chat."""

    def __init__(self, url: str, number: int) -> None:
        """Raises UsageError for what Apprise does not know, without a word of it."""
        import apprise

        self.name = f"{masked(url)} (target {number})"
        asset = apprise.AppriseAsset()
        # Else it waits in a thread that keeps the server from ending; ours does not.
        asset._service_timeout = 0  # noqa: SLF001
        self._apprise = apprise.Apprise(asset=asset)
        with _overheard():
            if not self._apprise.add(url):
                raise UsageError(
                    f"{self.name} is no address that Apprise can use",
                    hint="how to write it: https://github.com/caronc/apprise/wiki",
                )

    def send(self, notices: Sequence[Notice], address: str) -> str:
        """What is wrong, or nothing; takes as long as the other side does."""
        title, body = message(notices, address)
        with _overheard() as log:
            sent = self._apprise.notify(title=title, body=body, body_format="text")
        return "" if sent else _reason(log.getvalue())


def masked(url: str) -> str:
    """Its kind: everything after that may be a secret, also the place of the host."""
    kind, sep, _ = url.partition("://")
    return f"{kind.lower()}://…" if sep and kind.isalnum() and len(kind) <= 32 else "a target"


def message(notices: Sequence[Notice], address: str) -> tuple[str, str]:
    """A title and a text: tools, agents and projects, and where to look."""
    if len(notices) == 1:
        one = notices[0]
        return f"{one.tool}: an answer is needed", "\n".join(filter(None, (one.where, f"{address}/#/waiting/{one.id}")))
    lines = [" · ".join(filter(None, (one.tool, one.where))) for one in notices[:_MOST_LINES]]
    more = [f"and {len(notices) - _MOST_LINES} more"] if len(notices) > _MOST_LINES else []
    return f"{len(notices)} questions need an answer", "\n".join([*lines, *more, f"{address}/#/waiting"])


@contextmanager
def _overheard() -> Iterator[io.StringIO]:
    """Apprise logs what it sends and where: into our hands, not into anybody's log."""
    said, own = io.StringIO(), threading.get_ident()
    logger, handler = logging.getLogger("apprise"), logging.StreamHandler(said)
    handler.addFilter(lambda record: record.thread == own)
    logger.propagate = False
    logger.addHandler(handler)
    try:
        yield said
    finally:
        logger.addHandler(_NOBODY)  # once, however often it is said: the last resort of logging is the terminal
        logger.removeHandler(handler)


_NOBODY = logging.NullHandler()


def _reason(log: str) -> str:
    """Of what Apprise says only the number of the error: the rest names hosts, topics and tokens."""
    found = re.findall(r"error=(\d{3})\b", log)
    return f"it answered {found[-1]}" if found else "it cannot be reached, or did not take the message"


def targets(urls: Iterable[str], *, first: int = 1) -> tuple[Target, ...]:
    """Raises UsageError."""
    urls = list(urls)
    if urls and not is_installed():
        raise UsageError("messages to chats need the extra `notify`", hint="pip install 'fairlead[notify]'")
    return tuple(Target(url, number) for number, url in enumerate(urls, first))


def usable(urls: Iterable[str], *, first: int) -> tuple[tuple[Target, ...], tuple[str, ...]]:
    """The same for what stands in a file: the server starts all the same, and says what is wrong."""
    found: list[Target] = []
    problems: list[str] = []
    for number, url in enumerate(urls, first):
        try:
            found += targets([url], first=number)
        except UsageError as error:
            problems.append(f"{error}; {error.hint}" if error.hint else str(error))
    return tuple(found), tuple(dict.fromkeys(problems))


# --- what is configured ------------------------------------------------------------------------------


def configured(places: Places) -> Wanted:
    """Of the machine and of the user. A project has no say in where it is told what you are asked."""
    heard = ("managed",) if "notify" in locked(places.managed, places.environ) else ("managed", "user")
    found = [_read(source.path, places.environ) for source in native.sources(places) if source.owner in heard]
    afters = [one.after for one in found if one.after]
    return Wanted(
        urls=tuple(dict.fromkeys(url for one in found for url in one.urls)),
        after=afters[-1] if afters else 0.0,
        problems=tuple(problem for one in found for problem in one.problems),
    )


def _read(path: str, environ: Mapping[str, str]) -> Wanted:
    try:
        text = documents.read_text(path)
        data = documents.parse_toml(text, environ) if text is not None else {}
    except ConfigError as error:
        return Wanted(problems=(f"{path} cannot be read, and says nothing about chats: {error}",))
    urls, after, problems = _native_notify.read_fields(data)
    return Wanted(urls=urls, after=after, problems=tuple(f"{path}: {problem}" for _, problem in problems))
