"""What somebody is asked about: each hook of a project, exactly, and how it differs from what was trusted before."""

from __future__ import annotations

import os
import time

from fairlead import layers
from fairlead._record import Record
from fairlead.errors import ConfigError
from fairlead.journal.writing import sha256
from fairlead.trust import copies, pins, programs, store
from fairlead.trust import folder as trust_folder
from fairlead.trust.definitions import definition, digest_of
from fairlead.trust.records import Trusted, of_hook, plugin_of, read_program

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from fairlead.dialects import Places
    from fairlead.errors import Problem
    from fairlead.hooks import Hook
    from fairlead.trust.store import Known

_READERS = ("", "code-agent", "claude-agent")
"""Who reads a shared file in a way of their own: whoever trusts an entry trusts it for all of them."""
_OPEN_ENDED = frozenset(
    """
    make npm yarn pnpm bun npx cargo go gradle mvn ant rake bundle composer pytest tox nox pre-commit lefthook just task
    poetry pipenv uv hatch invoke ninja bazel docker docker-compose terraform ansible-playbook
    """.split()
)
"""Programs that run whatever a project's own files tell them: no digest of a hook covers that."""


class Seen(Record):
    """One entry of a file."""

    hook: Hook
    versions: tuple[Trusted, ...]
    """As each of its readers takes it; empty where its programs cannot be read."""
    state: str
    """trusted, new or changed"""
    before: Trusted | None = None
    problem: str = ""
    unseen: tuple[str, ...] = ()
    open_ended: tuple[str, ...] = ()

    @property
    def now(self) -> Trusted | None:
        return self.versions[0] if self.versions else None


class Review(Record):
    project: str
    folder: str
    hooks: tuple[Seen, ...]
    gone: tuple[Trusted, ...] = ()
    refused: bool = False
    lost: str = ""
    """Why nobody can say what was trusted before."""
    problems: tuple[Problem, ...] = ()

    @property
    def waiting(self) -> tuple[Seen, ...]:
        return tuple(seen for seen in self.hooks if seen.state != "trusted")

    @property
    def digest(self) -> str:
        return pins.of_all(seen.now for seen in self.hooks if seen.now is not None)


def review(places: Places) -> Review:
    """Nothing is run, imported or written."""
    folder = trust_folder(places.environ, places.home)
    known, lost = _known(folder, places.project)
    entries, problems = _entries(places)
    defined = {digest_of(definition(hook, places.project)) for hooks in entries for hook in hooks}
    gone = {(one.file, one.name): one for one in known.hooks if one.defined not in defined}
    seen = tuple(_seen(hooks, places.project, known, gone) for hooks in entries if hooks[0].handler.kind != "guard")
    there = {(os.path.relpath(one.hook.origin.file, places.project), one.hook.name) for one in seen}
    return Review(
        project=places.project,
        folder=folder,
        hooks=seen,
        gone=tuple(one for key, one in gone.items() if key not in there),
        refused=known.refused,
        lost=lost,
        problems=tuple(problems),
    )


def _known(folder: str, project: str) -> tuple[Known, str]:
    try:
        return store.read(folder, project), ""
    except ConfigError as error:
        return store.Known(), f"{error}; {error.hint}"


def _entries(places: Places) -> tuple[list[list[Hook]], list[Problem]]:
    """Each entry of a file, as its readers take it; the usual one first."""
    found: dict[tuple[object, ...], list[Hook]] = {}
    problems: dict[Problem, None] = {}
    for agent in _READERS:
        hooks, said = layers.of_project(places, agent)
        for hook in hooks:
            found.setdefault((hook.origin.file, hook.origin.path, hook.events), []).append(hook)
        problems |= dict.fromkeys(said if not agent else ())
    return list(found.values()), list(problems)


def _seen(hooks: Sequence[Hook], project: str, known: Known, gone: Mapping[tuple[str, str], Trusted]) -> Seen:
    hook = hooks[0]
    problem, versions = "", []
    try:
        versions = list({one.digest: one for one in (of_hook(each, project) for each in hooks)}.values())
    except ConfigError as error:
        problem = str(error)
    trusted = {one.digest for one in known.hooks}
    before = _before(hook, project, known, gone)
    is_trusted = bool(versions) and all(one.digest in trusted for one in versions)
    return Seen(
        hook=hook,
        versions=tuple(versions),
        state="trusted" if is_trusted else "changed" if before is not None else "new",
        before=before,
        problem=problem,
        unseen=tuple(programs.unseen(hook.handler, project, plugin_of(hook))),
        open_ended=_open_ended(hook, project),
    )


def _before(hook: Hook, project: str, known: Known, gone: Mapping[tuple[str, str], Trusted]) -> Trusted | None:
    """The last version of it: the same definition with other programs, or one of the same name in the same file."""
    defined = digest_of(definition(hook, project))
    same = [one for one in known.hooks if one.defined == defined]
    return same[-1] if same else gone.get((os.path.relpath(hook.origin.file, project), hook.name))


def _open_ended(hook: Hook, project: str) -> tuple[str, ...]:
    if hook.handler.kind not in ("command", "background"):
        return ()
    words = [os.path.basename(word) for word in hook.handler.describe().split()]
    known = [word for word in words if word in _OPEN_ENDED]
    return tuple(dict.fromkeys((*known, *programs.uncovered(hook.handler, project, plugin_of(hook)))))


def difference(seen: Seen, review: Review) -> list[str]:
    """Lines of a diff: the definition first, then each program; against what was trusted before, or nothing."""
    import difflib
    import json

    before = seen.before
    lines: list[str] = []
    if before is not None and seen.now is not None and before.definition != seen.now.definition:
        old, new = (json.dumps(one.definition, indent=1, sort_keys=True).splitlines() for one in (before, seen.now))
        lines += difflib.unified_diff(old, new, "trusted", "now", n=1, lineterm="")
    for path in sorted({*(before.files if before else ()), *(seen.now.files if seen.now else ())}):
        old_text, new_text = _trusted_text(path, before, review.folder), _present_text(path, seen.now, review.project)
        lines += difflib.unified_diff(old_text, new_text, f"trusted/{path}", f"now/{path}", n=2, lineterm="")
    return [line for line in lines if line]


def _trusted_text(path: str, before: Trusted | None, folder: str) -> list[str]:
    if before is None or path not in before.files:
        return []
    try:
        with open(os.path.join(copies.place_of(before, folder), path), "rb") as file:
            return _lines(file.read())
    except OSError:
        return ["(its trusted bytes are not kept any more)"]


def _present_text(path: str, now: Trusted | None, project: str) -> list[str]:
    if now is None or path not in now.files:
        return []
    try:
        data = read_program(project, path)[0]
    except ConfigError as error:
        return [f"({error})"]
    same = sha256(data) == now.files[path][1]
    return _lines(data) if same else ["(it has changed while it was looked at: run this again)"]


def _lines(data: bytes) -> list[str]:
    if b"\0" in data:
        return [f"(a binary of {len(data):,} bytes)"]
    lines = data.decode("utf-8", "backslashreplace").split("\n")  # no other sign ends a line for who runs it
    return lines if lines[-1] else lines[:-1]


def accept(review: Review, chosen: Iterable[Seen], how: str) -> None:
    """Trust these; and what is gone is forgotten. Raises ConfigError."""
    now = time.time()
    new = [one.but(when=now, how=how) for seen in chosen for one in seen.versions]
    for one in new:
        copies.keep(one, review.project, review.folder)
    digests = {one.digest for one in new}
    missed = {(one.file, one.name) for one in review.gone}

    def change(known: Known) -> Known:
        old = [one for one in known.hooks if one.digest not in digests and (one.file, one.name) not in missed]
        return known.but(hooks=(*old, *new), refused=False)

    store.update(review.folder, review.project, change)


def refuse(review: Review) -> None:
    store.update(review.folder, review.project, lambda known: known.but(refused=True))


def forget(review: Review) -> int:
    """Take all trust in this project back. How many hooks that were."""
    count = 0

    def change(known: Known) -> Known:
        nonlocal count
        count = len(known.hooks)
        return store.Known()

    store.update(review.folder, review.project, change)
    return count
