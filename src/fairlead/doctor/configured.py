"""What the readers of the dialects say: everything that no check of our own has seen."""

from __future__ import annotations

from fairlead.dialects import HOOK_HALVES
from fairlead.doctor.finding import OURSELVES, Finding

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

    from fairlead.doctor.scene import Scene
    from fairlead.errors import Problem

_ALONE = ("code-agent", "codemie", "amcp", "claude-agent", "fairlead")
"""Whose files nobody else looks at here: their hooks are looked at one by one, as `fairlead check` does."""


def check(scene: Scene) -> Iterator[Finding]:
    for dialect in HOOK_HALVES:
        if dialect == "fairlead" or dialect in scene.agents:
            yield from _problems(dialect, scene)


def _problems(dialect: str, scene: Scene) -> Iterator[Finding]:
    from fairlead.api import Hooks
    from fairlead.explaining import check as looked_at

    where = scene.places
    hooks = Hooks.load(
        where.project, home=where.home, environ=where.environ, managed=where.managed, trust_project=True,
        dialects=(dialect,), agent="" if dialect == "fairlead" else dialect,
    )  # fmt: skip
    problems = looked_at(hooks) if dialect in _ALONE else hooks.problems
    for problem in problems:
        is_native = problem.file.endswith("fairlead.toml")
        is_seen_elsewhere = dialect not in _ALONE and problem.message.startswith("timeout ")
        if is_native == (dialect == "fairlead") and not is_seen_elsewhere:  # ours is read along with each
            yield _finding(dialect, problem)


def _what_to_do(problem: Problem) -> str:
    if problem.message.startswith("not TOML"):
        return "mend it there (text stands in quotes); until then Fairlead refuses what the file may have guarded"
    return "mend it there"


def _finding(dialect: str, problem: Problem) -> Finding:
    return Finding(
        level=problem.level,
        agent=OURSELVES if dialect == "fairlead" else dialect,
        check="configured",
        message=problem.message,
        fix=problem.hint or _what_to_do(problem),
        file=problem.file,
        line=problem.line,
        column=problem.column,
    )
