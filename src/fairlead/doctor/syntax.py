"""Files that the agent rejects whole: it reads none of the hooks in them."""

from __future__ import annotations

from fairlead import documents
from fairlead.doctor import facts
from fairlead.doctor.finding import Finding

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

    from fairlead.doctor.scene import File, Scene


def check(scene: Scene) -> Iterator[Finding]:
    for file in scene.files:
        if file.problem is not None:
            yield _unreadable(file, *file.problem)
        elif file.path.endswith(".json"):
            yield from _repeated(file)
        if isinstance(file.data, dict):
            yield from _foreign_keys(file)
    for entry in scene.entries:
        known = facts.of(entry.agent).keys
        for key in entry.handler if known else ():
            if key not in known:
                what = f"{facts.title(entry.agent)} takes no key {key!r} here, and rejects its whole configuration"
                yield entry.found("syntax", "error", what, f"remove it; there may be: {', '.join(known)}", key)


def _unreadable(file: File, message: str, hint: str, line: int, column: int) -> Finding:
    title = facts.title(file.agent)
    if file.data is not None:
        what = f"{title} reads plain JSON; comments and commas before a closing bracket cost it the whole file"
        fix = f"remove them ({message.removeprefix('not JSON: ')} is where it stops)"
    else:
        what = f"{message}: {title} reads nothing in this file"
        fix = hint if hint and "nothing in this file" not in hint else "mend it; until then none of its hooks run"
    return Finding(
        level="error", agent=file.agent, check="syntax", message=what, fix=fix, file=file.path, line=line, column=column
    )


def _repeated(file: File) -> Iterator[Finding]:
    for key, line, column in documents.repeated_keys(file.text):
        yield Finding(
            level="error" if _is_about_hooks(file, key) else "warning",
            agent=file.agent,
            check="syntax",
            message=f"the key {key!r} is there twice: {facts.title(file.agent)} sees only this last one",
            fix="put both into one",
            file=file.path,
            line=line,
            column=column,
        )


def _is_about_hooks(file: File, key: str) -> bool:
    return key == "hooks" or key in facts.events(file.agent)


def _foreign_keys(file: File) -> Iterator[Finding]:
    known = facts.of(file.agent).root_keys
    if not known or not file.path.endswith("hooks.json"):
        return
    for key in file.data:
        if key not in known and key not in facts.events(file.agent):  # those are for `shapes`
            what = f"{facts.title(file.agent)} takes no key {key!r} here, and drops the whole file for it"
            yield file.found("syntax", "error", (key,), what, f"remove it; there may be: {', '.join(known)}")
