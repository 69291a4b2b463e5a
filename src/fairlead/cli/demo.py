"""See it work, with no agent installed: a scratch project, hooks of every system, a few events.

Everything happens in a temporary directory that is removed at the end. Nothing of yours is read or changed.
"""

from __future__ import annotations

import os

from fairlead.cli import _show

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable
    from typing import Any

    Scenes = Iterable[dict[str, Any]]

_NEXT = (
    ("demo --keep", "the same, and the files stay for you to look at"),
    ("list", "the hooks of the project you are in"),
    ("explain --command 'git push'", "what they say to a command, and why"),
)


def main(words: list[str]) -> int:
    return _show.ending(_main, "demo", words)


def _main(words: list[str]) -> int:
    parser = _show.parser("demo", __doc__ or "")
    parser.add_argument("--keep", action="store_true", help="keep the directory, and say where it is")
    options = parser.parse_args(words)
    show = _print_json if options.json else _print
    return _in_scratch(show, keep=options.keep)


def _in_scratch(show: Callable[[Scenes, str], None], *, keep: bool) -> int:
    import shutil
    import tempfile

    from fairlead import demo

    folder = os.path.realpath(tempfile.mkdtemp(prefix="fairlead-demo-"))
    try:
        demo.build(folder)
        show(demo.play(folder), folder if keep else "")
    finally:
        if not keep:
            shutil.rmtree(folder, ignore_errors=True)
    return 0


def _print_json(scenes: Scenes, kept: str) -> None:
    _show.print_json({"scenes": list(scenes), "kept": kept or None})


def _print(scenes: Scenes, kept: str) -> None:
    page = _show.Page()
    page.prose(
        "Fairlead is one hook engine for every coding agent. Here is a project with hooks that were written for "
        "five different systems, and with some in fairlead.toml. Nine agents ask or listen; all of the hooks answer."
    )
    for number, scene in enumerate(scenes, 1):
        _print_scene(page, number, scene)
    page.line()
    page.line([("Any agent asks, any hook answers. Next:", "title")])
    for words, about in _NEXT:
        page.line()
        page.line(f"{_show.program()} {words}", indent=3)
        page.line((about, "dim"), indent=5)
    if kept:
        page.line()
        page.line(f"The scratch project and home are in {kept}")


def _print_scene(page: _show.Page, number: int, scene: dict[str, Any]) -> None:
    page.line()
    page.line([(f"{number}. {scene['title']}", "title")])
    page.prose(scene["point"], indent=3)
    page.line()
    hooks = [_HEADS, *(_hook_row(entry) for entry in scene["hooks"] if entry["order"])]
    page.rows(hooks, widths=(14, 5, 6), indent=3)
    page.rows([_heard_row(agent, heard) for agent, heard in scene["heard"].items()], widths=(14, 5), indent=3)


_HEADS = (("written for", "dim"), ("says", "dim"), ("took", "dim"), ("hook", "dim"))


def _hook_row(entry: dict[str, Any]) -> tuple[_show.Cell, ...]:
    word = entry["verdict"]
    text: list[_show.Span] = [(entry["handler"]["text"], "none" if _is_silent(entry) else "")]
    said = entry["error"] or _saying(entry["said"])
    if said:
        text.append((f"\n{said}", ""))
    return (
        (entry["origin"]["dialect"], "dim"),
        ("-", "dim") if word == "none" else (word, word),
        (_show.milliseconds(entry["ms"]), "dim"),
        text,
    )


def _is_silent(entry: dict[str, Any]) -> bool:
    return not entry["error"] and entry["verdict"] in ("none", "allow") and not _saying(entry["said"])


def _saying(said: dict[str, Any]) -> str:
    if "updated_input" in said:
        return f"instead: {said['updated_input']['command']}"
    return str(said.get("reason") or said.get("context") or "")


def _heard_row(agent: str, heard: dict[str, Any]) -> tuple[_show.Cell, ...]:
    word = heard["decision"]
    return [(f"→ {agent}", "title")], ("-", "dim") if word == "none" else (word, word), _reply(heard["as_hook"])


def _reply(reply: dict[str, Any]) -> str:
    """What comes back to the agent when Fairlead is one of its hooks."""
    text = _show.spaced(reply["stdout"].strip()) or "no output"
    return text if reply["exit_code"] == 0 else f"exit {reply['exit_code']}: {text}"
