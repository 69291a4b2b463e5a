"""What would happen to an event, hook by hook, and why.

The event comes on stdin, in the dialect of --agent (default: Claude Code's JSON), or is made up:

  fairlead explain --command 'git push --force'
  fairlead explain --tool Write --input '{"file_path": ".env"}'
  fairlead explain --event UserPromptSubmit --prompt 'deploy it'
  fairlead explain --agent codemie < event.json
  fairlead explain --entry 1204 --as codex

This really runs the hooks that apply, as the agent's event would. With --dry-run it only says which. Where a hook
asks a person it says so and asks nobody, unless --ask.
"""

from __future__ import annotations

import os
import sys

from fairlead.cli import _show

TYPE_CHECKING = False
if TYPE_CHECKING:
    import argparse
    from typing import Any

    from fairlead.api import Hooks
    from fairlead.events import Event


def main(words: list[str]) -> int:
    return _show.ending(_main, "explain", words)


def _main(words: list[str]) -> int:
    options = _parser().parse_args(words)
    from fairlead import dialects, explaining
    from fairlead.answering import add_asking, deadline_for

    recorded = _recorded(options)
    agent = options.agent or explaining.ASKED_BY
    if options.like:
        options.agent = agent
    event = recorded or _event(options, agent)
    hooks = _load(options, event)
    if options.like:
        add_asking(hooks, agent, os.environ)
    out, sys.stdout = sys.stdout, sys.stderr  # what a hook in this process prints is not ours
    try:
        deadline = deadline_for(dialects.agent_half(agent), event) if options.like == "hook" else None
        found = explaining.explain(
            hooks, event, agent=agent, dry_run=options.dry_run, deadline=deadline, ask_people=options.ask
        )
    finally:
        sys.stdout = out
    found = _show.concealed(found)
    if options.json:
        _show.print_json(found)
    else:
        _print(found, options)
    return 0


def _parser() -> _show.Parser:
    parser = _show.parser("explain", __doc__ or "")
    _show.add_project(parser)
    _show.add_agent(parser, "who asks, and gets the reply", "--as")
    parser.add_argument("--event", metavar="NAME", default="", help="default: PreToolUse, or what the payload says")
    parser.add_argument("--tool", metavar="NAME", help="make up a call of this tool")
    parser.add_argument("--input", metavar="JSON", help="the tool's input")
    parser.add_argument("--command", metavar="LINE", help="make up a shell command: --tool Bash with this command")
    parser.add_argument("--prompt", metavar="TEXT", help="make up a prompt of the user's")
    parser.add_argument("--entry", metavar="NUMBER", type=int, help="an event of the journal: `fairlead log` has them")
    parser.add_argument(
        "--ask", action="store_true", help="really ask a person where a hook does; else it is only said"
    )
    parser.add_argument("--dry-run", action="store_true", help="run nothing; only say which hooks would")
    parser.add_argument("--like", choices=("fire", "hook"),
                        help="only the hooks that this command would run for --agent; default: all")  # fmt: skip
    return parser


# --- the event ---------------------------------------------------------------------------------------


def _recorded(options: argparse.Namespace) -> Event | None:
    """An event of the journal; who asked and where are as they were, unless somebody says otherwise."""
    if options.entry is None:
        return None
    from fairlead import replaying
    from fairlead.errors import UsageError
    from fairlead.journal import settings
    from fairlead.journal.reading import Log

    entry = Log(settings.folder(os.environ)).entry(options.entry) or {}
    if not entry.get("details", {}).get("payload"):
        why = "was kept without its payload" if entry else "is not in the journal"
        raise UsageError(f"event {options.entry} {why}", hint="`fairlead log` shows which there are")
    project = entry["details"].get("project", "")
    options.agent = options.agent or entry["agent"]
    options.project = options.project or (project if os.path.isdir(project) else None)
    return replaying.event_of(entry)


def _event(options: argparse.Namespace, agent: str) -> Event:
    if any(value is not None for value in (options.tool, options.input, options.command, options.prompt)):
        return _made_up(options)
    raw = b"" if sys.stdin is None or sys.stdin.isatty() else sys.stdin.buffer.read()
    if not raw.strip() and options.event:
        return _made_up(options)
    from fairlead import dialects
    from fairlead.errors import UsageError

    if not raw.strip():
        raise UsageError("there is no event", hint="put one on stdin, or make one up: --command 'ls -la'")
    return dialects.agent_half(agent).read_event(raw, options.event, os.environ)


def _made_up(options: argparse.Namespace) -> Event:
    from fairlead import wire
    from fairlead.errors import UsageError
    from fairlead.events import Event, ToolEvent, event_class

    name = options.event or ("UserPromptSubmit" if options.prompt is not None else "PreToolUse")
    given = wire.decode_object(options.input, "--input") if options.input is not None else {}
    fields: dict[str, Any] = {"session_id": "explain", "cwd": options.project or _show.here()}
    if issubclass(event_class(name), ToolEvent):
        command = {} if options.command is None else {"command": options.command}
        fields |= {"tool_name": options.tool or "Bash", "tool_input": {**given, **command}}
    elif options.tool is not None or options.command is not None:
        raise UsageError(f"{name} is not about a tool", hint="--input gives the fields of such an event")
    else:
        fields |= given
    if options.prompt is not None:
        fields["prompt"] = options.prompt
    return Event.from_payload(fields, name)


def _load(options: argparse.Namespace, event: Event) -> Hooks:
    from fairlead.dialects import HOOK_HALVES

    options.project = options.project or event.cwd or None
    more: dict[str, Any] = {}
    if options.like == "hook":
        more["own"] = False
    if options.like == "fire":
        more["dialects"] = [name for name in (options.agent, "fairlead") if name in HOOK_HALVES]
    hooks = _show.load(options, **more)
    hooks.stops = None  # an explanation does not count as another round
    return hooks


# --- the page ----------------------------------------------------------------------------------------

_WIDTH = 9


def _print(found: dict[str, Any], options: argparse.Namespace) -> None:
    page = _show.Page()
    _print_event(page, found)
    ran = [entry for entry in found["hooks"] if entry["order"] is not None]
    page.line()
    if not ran:
        page.line([("No hook runs for this.", "title")])
    elif options.dry_run:
        page.line([("These hooks would run, in this order:", "title")])
    if ran and options.dry_run:
        page.rows([(f"{entry['order']}.", [*_hook(entry), *_hint(entry)]) for entry in ran], widths=(3,))
    elif ran:
        page.rows([_row(entry) for entry in ran], widths=(3, 5, 7))
    _print_skipped(page, [entry for entry in found["hooks"] if entry["order"] is None], found["event"])
    if not options.dry_run:
        _print_decision(page, found, options)
    if found["notes"]:
        page.line()
    for note in found["notes"]:
        page.pair(("note", "warning"), note, width=_WIDTH)


def _print_event(page: _show.Page, found: dict[str, Any]) -> None:
    payload = found["payload"]
    tool = f" · {payload['tool_name']}" if "tool_name" in payload else ""
    page.line([(f"{found['event']}{tool}", "title"), (f"  asked by {found['agent']}", "dim")])
    for key in ("tool_input", "prompt"):
        if payload.get(key):
            page.pair((key.removeprefix("tool_"), "dim"), _input(payload[key]), width=_WIDTH)
    page.pair(("project", "dim"), found["project"], width=_WIDTH)


def _input(value: Any) -> str:
    if isinstance(value, dict) and set(value) == {"command"} and isinstance(value["command"], str):
        return _show.shortened(value["command"])
    return _show.shortened(value if isinstance(value, str) else _compact(value))


def _compact(value: object) -> str:
    import json

    return json.dumps(value, ensure_ascii=False, default=str)


def _row(entry: dict[str, Any]) -> tuple[_show.Cell, ...]:
    word = entry["verdict"]
    verdict = ("-", "dim") if word == "none" else (word, word)
    return f"{entry['order']}.", verdict, (_show.milliseconds(entry["ms"]), "dim"), [*_hook(entry), *_said(entry)]


def _hook(entry: dict[str, Any]) -> list[_show.Span]:
    return [(_show.title(entry), "title"), (f"\n{_where(entry)}", "dim")]


_SAYINGS = {
    "reason": "reason", "context": "for the model", "feedback": "for the model", "system_message": "for the model",
    "user_message": "for the user", "updated_input": "new input", "updated_output": "new output",
    "stop_reason": "ends the turn",
}  # fmt: skip


def _said(entry: dict[str, Any]) -> list[_show.Span]:
    lines = [("sees", entry["input"])] if entry["input"] is not None else []
    lines += [("failed", entry["error"])] if entry["error"] else []
    lines += [(name, str(value)) for name, value in entry["facts"].items()]
    for key, label in _SAYINGS.items():
        value = (entry["said"] or {}).get(key)
        if value and not (entry["error"] and key == "reason"):
            lines.append((label, value))
    spans = [(f"\n{label}: {_input(value)}", "error" if label == "failed" else "") for label, value in lines]
    return [*spans, *_hint(entry)]


def _hint(entry: dict[str, Any]) -> list[_show.Span]:
    return [("\n→ ", "dim"), (entry["hint"], "")] if entry["hint"] else []


def _where(entry: dict[str, Any]) -> str:
    where = entry["origin"]
    return f"{where['dialect']} · {where['layer']} · {_show.near(where['file'])}:{where['line']}"


def _print_skipped(page: _show.Page, skipped: list[dict[str, Any]], event: str) -> None:
    """Those that would have applied first; those for other events are only counted."""
    near = [entry for entry in skipped if event in entry["events"] or "*" in entry["events"]]
    others = len(skipped) - len(near)
    if near:
        page.line()
        page.line([("Not run", "title")])
    for entry in sorted(near, key=lambda entry: not entry["matched"]):
        why = (f"\n{entry['why']}", "warning" if entry["matched"] else "")
        page.pair(" -", [(_show.title(entry), ""), why, *_hint(entry), (f"\n{_where(entry)}", "dim")], width=3)
    if others:
        page.line()
        page.line((f"{_show.counted(others, 'hook')} for other events.", "dim"))


def _print_decision(page: _show.Page, found: dict[str, Any], options: argparse.Namespace) -> None:
    page.line()
    merged, word = found["merged"], found["decision"]
    page.pair(("decision", "title"), [(word, word), *_degraded(merged, found)], width=_WIDTH)
    if found["reason"]:
        page.pair(("reason", "dim"), _show.shortened(found["reason"]), width=_WIDTH)
    if found["reply"] is None and found["as_hook"] is None:
        return
    if options.like == "hook":
        for key, value in found["as_hook"].items():
            if value != "":
                page.pair((key.replace("_", " "), "dim"), _show.shortened(str(value).rstrip("\n")), width=_WIDTH)
    else:
        page.pair(("reply", "dim"), _show.shortened(_compact(found["reply"])), width=_WIDTH)


def _degraded(merged: dict[str, Any], found: dict[str, Any]) -> list[_show.Span]:
    if found["decision"] == "deny" and found["event"] in ("Stop", "SubagentStop"):
        return [("  it may not stop yet: the agent goes on", "dim")]
    if merged["decision"] in (found["decision"], "none") or found["decision"] == "none":
        return []
    return [(f"  the hooks said {merged['decision']}; {found['agent']} cannot do that here", "dim")]
