"""Every hook in force: its event, matcher and handler, its time limit, and where it comes from.

Nothing is run. Hooks of the project's own files that nobody has trusted are shown as "not trusted"; those that are
not what was trusted, as "changed".
"""

from __future__ import annotations

from fairlead.cli import _show

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any

    from fairlead.api import Hooks


def main(words: list[str]) -> int:
    return _show.ending(_main, "list", words)


def _main(words: list[str]) -> int:
    parser = _show.parser("list", __doc__ or "")
    _show.add_project(parser)
    _show.add_agent(parser, "the agent that reads files which several systems share")
    options = parser.parse_args(words)
    from fairlead import explaining

    hooks = _show.load(options)
    found = [explaining.described(hook) for hook in hooks]
    if options.json:
        _show.print_json(found)
    elif found:
        _print(found, hooks)
    else:
        page = _show.Page()
        page.line("No hooks are configured for this project.")
        page.line("`fairlead demo` shows what they can do.")
    return 0


def _print(found: Sequence[dict[str, Any]], hooks: Hooks) -> None:
    page = _show.Page()
    width = min(max(len(_matcher(entry)) for entry in found), 20)
    for event in _events(found):
        page.line([("every event" if event == "*" else event, "title")])
        rows = [(_matcher(entry), _hook(entry)) for entry in found if event in entry["events"]]
        page.rows(rows, widths=(width,), indent=2)
        page.line()
    page.line(_summary(found))
    if any(entry["state"] in ("not trusted", "changed") for entry in found):
        page.prose("Hooks of a project run after you have looked at them: `fairlead trust`.")
    if hooks.problems:
        page.line(f"{_show.counted(len(hooks.problems), 'problem')} in the files: `fairlead check` says where.")


def _events(found: Sequence[dict[str, Any]]) -> list[str]:
    """In the order of a session's life, as events.py has it; those that nobody knows come last."""
    from fairlead.events import EVENTS

    known = ["*", *EVENTS]
    names = {event for entry in found for event in entry["events"]}
    return sorted(names, key=lambda name: (known.index(name) if name in known else len(known), name))


def _matcher(entry: dict[str, Any]) -> str:
    return _show.visible(entry["matcher"]) or "*"


def _hook(entry: dict[str, Any]) -> list[_show.Span]:
    where = entry["origin"]
    state: list[_show.Span] = [] if entry["state"] == "in force" else [(entry["state"], "warning"), (" · ", "dim")]
    return [
        (f"{_show.title(entry)}\n", ""),
        (f"{where['dialect']} · {where['layer']} · ", "dim"),
        *state,
        (f"{_show.seconds(entry['timeout'])} · {_show.near(where['file'])}:{where['line']}", "dim"),
    ]


_NOT_IN_FORCE = ("not trusted", "changed", "switched off")


def _summary(found: Sequence[dict[str, Any]]) -> str:
    states = [entry["state"] for entry in found]
    parts = [f"{_show.counted(states.count('in force'), 'hook')} in force"]
    parts += [f"{states.count(state)} {state}" for state in _NOT_IN_FORCE if state in states]
    if waiting := sum(state.startswith("only for") for state in states):
        parts.append(f"{waiting} of skills and subagents (--with NAME)")
    return ", ".join(parts) + "."
