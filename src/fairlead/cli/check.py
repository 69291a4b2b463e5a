"""Validate every configuration file of this project: all systems, all layers.

Each problem comes with file:line:column and, where it can be guessed, what was meant. Nothing that is configured is
run; where a hook wants a sandbox, an empty one is built once after each boot.
The exit code is 1 if there is an error, and 0 otherwise; warnings do not count.
"""

from __future__ import annotations

import os

from fairlead.cli import _show

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

    from fairlead.api import Hooks
    from fairlead.errors import Problem


def main(words: list[str]) -> int:
    return _show.ending(_main, "check", words)


def _main(words: list[str]) -> int:
    parser = _show.parser("check", __doc__ or "")
    _show.add_project(parser)
    _show.add_agent(parser, "the agent that reads files which several systems share")
    options = parser.parse_args(words)
    from fairlead import explaining

    # Who may run is not the question here: an override of the project counts as if it were trusted.
    options.trust_project = True
    hooks = _show.load(options)
    files = explaining.files(hooks.setting, active=options.active)
    problems = [*explaining.check(hooks), *_without_bounds(hooks), *_in_cases(hooks.setting.project, files)]
    if options.json:
        _show.print_json([_as_json(problem) for problem in problems])
    else:
        _print(problems, files, hooks)
    return int(any(problem.level == "error" for problem in problems))


def _without_bounds(hooks: Hooks) -> list[Problem]:
    """What a hook asks for, and this machine does not have."""
    from fairlead.confining import advice
    from fairlead.errors import Problem
    from fairlead.locate import position

    found = []
    for hook in hooks:
        for key, what, hint in advice.on(hook, hooks.setting.environ, hooks.setting.home):
            line, column = position(hook.origin.file, (*hook.origin.path, key))
            found.append(
                Problem(file=hook.origin.file, message=what, hint=hint, level="warning", line=line, column=column)
            )
    return found


def _in_cases(project: str, files: list[str]) -> Sequence[Problem]:
    """Of the cases for the hooks, where there are any; their file is one more that was looked at."""
    from fairlead.testing.reading import FILE, read

    path = os.path.join(project, FILE)
    if not os.path.lexists(path):
        return ()
    files.append(path)
    return read(path).problems


def _as_json(problem: Problem) -> dict[str, object]:
    return {name: getattr(problem, name) for name in ("file", "line", "column", "level", "message", "hint")}


def _print(problems: Sequence[Problem], files: Sequence[str], hooks: Hooks) -> None:
    page = _show.Page()
    for problem in problems:
        place = ":".join(str(part) for part in (_show.near(problem.file), problem.line, problem.column) if part)
        page.line([(f"{place}: ", ""), (problem.level, problem.level), (f": {problem.message}", "")])
        if problem.hint:
            page.line((problem.hint, "dim"), indent=4)
    seen = f"{_show.counted(len(files), 'file')}, {_show.counted(len(hooks), 'hook')}"
    if problems:
        levels = [problem.level for problem in problems]
        kinds = [_show.counted(levels.count(kind), kind) for kind in ("error", "warning") if kind in levels]
        page.line()
        page.line(f"{' and '.join(kinds)} in {seen}.")
    elif files:
        page.line([("All is well", "allow"), (f": {seen}.", "")])
    else:
        page.line("There is nothing to check: no hooks are configured for this project.")
        page.line("`fairlead demo` shows what they can do.")
