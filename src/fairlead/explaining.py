"""What is configured, what is wrong with it, and what becomes of an event: plain data, nothing printed."""

from __future__ import annotations

import os

from fairlead import dialects, engine, layers, tools
from fairlead.answering import told
from fairlead.dialects import HOOK_HALVES, Places
from fairlead.errors import Problem
from fairlead.events import OtherEvent, ToolEvent, event_class
from fairlead.hooks import HookFailed
from fairlead.verdicts import NONE

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping
    from typing import Any

    from fairlead.api import Hooks
    from fairlead.dialects import Reply
    from fairlead.events import Event
    from fairlead.hooks import Hook, Report, Setting
    from fairlead.verdicts import Decision, Verdict

    Path = tuple[str | int, ...]

ASKED_BY = "claude-code"
"""Who is taken to ask where nobody says it: the event names and the JSON are Claude Code's anyway."""


def files(setting: Setting, *, managed: str = "/etc", active: Iterable[str] = ()) -> list[str]:
    """The configuration files that exist, of every dialect and layer."""
    places = Places(
        home=setting.home, project=setting.project, environ=setting.environ, managed=managed, active=tuple(active)
    )
    paths = [source.path for name in HOOK_HALVES for source in layers.sources(name, places)]
    return [path for path in dict.fromkeys(paths) if os.path.exists(path)]


# --- list --------------------------------------------------------------------------------------------


def described(hook: Hook) -> dict[str, Any]:
    return {
        "name": hook.name,
        "events": list(hook.events),
        "matcher": hook.matcher.text,
        "handler": {"type": hook.handler.kind, "text": hook.handler.describe()},
        "timeout": hook.timeout,
        "priority": hook.priority,
        "on_error": hook.on_error or dialects.hook_half(hook.origin.dialect).on_failure(sample(hook.events[0])),
        "origin": origin(hook),
        "trusted": hook.trusted,
        "enabled": hook.enabled,
        "state": state(hook),
    }


def origin(hook: Hook) -> dict[str, Any]:
    where = hook.origin
    return {"file": where.file, "line": where.line, "layer": where.layer, "dialect": where.dialect}


def state(hook: Hook) -> str:
    """Whether it runs when its event comes, in a few words."""
    if not hook.enabled:
        return "switched off"
    if not hook.trusted:
        return "not trusted"
    if hook.handler.kind == "untrusted" or _differs(hook):
        return "changed"
    if hook.condition is not None and hook.origin.layer in ("skill", "subagent"):
        return hook.condition(sample(hook.events[0])) or "in force"
    return "in force"


def _differs(hook: Hook) -> bool:
    """Whether its programs are not what was trusted."""
    from fairlead.trust.bound import Bound

    handler = getattr(hook.handler, "handler", hook.handler)
    return isinstance(handler, Bound) and bool(handler.difference())


def sample(name: str) -> Event:
    """An event of this name with nothing in it."""
    kind = event_class(name)
    if kind is OtherEvent:
        return OtherEvent(event_name=name)
    return kind(tool_name="") if issubclass(kind, ToolEvent) else kind()


# --- check -------------------------------------------------------------------------------------------


def check(hooks: Hooks) -> list[Problem]:
    """What the readers have found, and what only shows when one looks at each hook."""
    found = [*hooks.problems]
    for hook in hooks:
        if hook.origin.file:
            found += _problems_of(hook, hooks.setting)
    return sorted(dict.fromkeys(found), key=lambda problem: (problem.file, problem.line, problem.column))


def taken_for_another(hook: Hook, setting: Setting) -> tuple[str, str] | None:
    """Groups as Claude Code has them, below an event in the wrong case: read as claude-agent's, they are hooks; Claude
    Code itself never calls them."""
    path = hook.origin.path
    if hook.origin.dialect != "claude-agent" or len(path) != 5 or not str(path[1])[:1].islower():
        return None
    if setting.agent == "claude-agent" or _is_named_in_files("claude-agent", setting):
        return None
    written, right = str(path[1]), hook.events[0]
    hint = f"write {right!r}; for claude-agent, say so with [files] in fairlead.toml"
    return f"Claude Code has no event {written!r}: this is read as if it were claude-agent's", hint


def _is_named_in_files(dialect: str, setting: Setting) -> bool:
    """Whether somebody has said in a fairlead.toml that a file is this dialect's."""
    from fairlead import documents
    from fairlead.errors import ConfigError

    places = Places(home=setting.home, project=setting.project, environ=setting.environ)
    for source in dialects.hook_half("fairlead").sources(places):
        try:
            if f'"{dialect}"' in (documents.read_text(source.path) or ""):
                return True
        except ConfigError:
            continue
    return False


def _problems_of(hook: Hook, setting: Setting) -> Iterator[Problem]:
    mistaken = taken_for_another(hook, setting)
    if mistaken:
        yield _problem(hook, hook.origin.path[:2], *mistaken)
    cannot_compile = hook.matcher.check()
    if cannot_compile:
        hint = "write it in RE2's syntax; until then the hook runs for everything"
        yield _problem(hook, hook.matcher_path, cannot_compile, hint, level="error")
    else:
        for message, hint in _never_matches(hook):
            yield _problem(hook, hook.matcher_path, message, hint)
    for path, message, hint in cannot_answer(hook, setting):
        yield _problem(hook, (*hook.origin.path, *path), message, hint)


def _problem(hook: Hook, path: Path, message: str, hint: str, level: str = "warning") -> Problem:
    from fairlead.locate import position

    line, column = position(hook.origin.file, path)
    return Problem(file=hook.origin.file, line=line, column=column, level=level, message=message, hint=hint)


CLAUDE_CODE_TOOLS = (
    "Agent", "AskUserQuestion", "Bash", "BashOutput", "Edit", "ExitPlanMode", "Glob", "Grep", "KillShell", "LS",
    "MultiEdit", "NotebookEdit", "NotebookRead", "Read", "Skill", "SlashCommand", "Task", "TodoWrite", "WebFetch",
    "WebSearch", "Write",
)  # fmt: skip


def _never_matches(hook: Hook) -> Iterator[tuple[str, str]]:
    """Matchers that are fine as patterns, and that no tool's name will ever satisfy."""
    import re

    text = hook.matcher.text
    if not any(issubclass(event_class(name), ToolEvent) for name in hook.events):
        return
    tool = text.partition("(")[0]
    if text.endswith(")") and tool in CLAUDE_CODE_TOOLS and not hook.matcher(tool):
        hint = f'write "{tool}", and look at the rest in the hook itself'
        yield f"the matcher {text!r} never matches: it is compared with the name {tool!r} alone", hint
        return
    names = re.split(r"\s*[|,]\s*", text.strip())
    if all(re.fullmatch(r"\w+", name) for name in names) and not any(map(hook.matcher, names)):
        yield f"the matcher {text!r} matches none of {', '.join(names)}", f'write "{"|".join(names)}"'
    elif hook.origin.dialect == "claude-code":
        yield from _wrong_case(hook.matcher.names or frozenset())


def _wrong_case(names: Iterable[str]) -> Iterator[tuple[str, str]]:
    tools = {tool.lower(): tool for tool in CLAUDE_CODE_TOOLS}
    for name in sorted(names):
        right = tools.get(name.lower(), name)
        if right != name:
            yield f"Claude Code has no tool {name!r}", f"did you mean {right!r}?"


def cannot_answer(hook: Hook, setting: Setting) -> Iterator[tuple[Path, str, str]]:
    """Path below the hook's entry, message, hint."""
    from fairlead.handlers.command import Command, Script
    from fairlead.handlers.function import Named
    from fairlead.handlers.missing import Missing

    handler: Any = _innermost(hook.handler)
    if isinstance(handler, Missing):
        if hook.origin.dialect != "fairlead":  # whose reader has said so already
            yield (), f"{handler.wanted} hooks are not supported yet", _until_then(hook, None)
    elif isinstance(handler, Script):
        try:
            handler.find()
        except HookFailed as failed:
            yield ("script",), str(failed), _until_then(hook, None)
    elif isinstance(handler, Named):
        yield from _missing_module(hook, handler.target, handler.roots)
    elif isinstance(handler, Command):
        yield from _missing_program(hook, handler, setting)
    elif handler.kind in ("prompt", "agent", "mcp_tool"):
        yield from _missing_answerer(hook, handler, setting)


def _innermost(handler: Any) -> Any:
    """Without what stands around it: in the background, or as far as it is trusted."""
    while (inner := getattr(handler, "inner", None) or getattr(handler, "handler", None)) is not None:
        handler = inner
    return handler


def _missing_answerer(hook: Hook, handler: Any, setting: Setting) -> Iterator[tuple[Path, str, str]]:
    """A language model that nobody has set up, a server that nobody has named. Asks neither."""
    from importlib.util import find_spec

    package, extra = ("mcp", "mcp") if handler.kind == "mcp_tool" else ("httpx2", "models")
    if find_spec(package) is None:
        yield (), f"{handler.kind} hooks need an extra", f'pip install "fairlead[{extra}]"'
        return
    try:
        if handler.kind == "mcp_tool":
            from fairlead import mcp_servers

            mcp_servers.find(handler.server, hook, setting)
        else:
            from fairlead.models import profiles

            profiles.find(handler.model, hook.origin.dialect, setting)
    except HookFailed as failed:
        yield (), str(failed), _until_then(hook, None)


def _missing_module(hook: Hook, target: str, roots: tuple[str, ...]) -> Iterator[tuple[Path, str, str]]:
    package = target.replace(":", ".").partition(".")[0]
    if not any(_is_importable(package, root) for root in roots or ("",)):
        hint = f"install it beside Fairlead, or set PYTHONPATH; {_until_then(hook, None)}"
        yield ("python" if hook.origin.dialect == "fairlead" else "function",), f"no Python module {package!r}", hint


def _is_importable(package: str, root: str) -> bool:
    """Looks for a file; imports nothing."""
    from importlib.machinery import PathFinder
    from importlib.util import find_spec

    try:
        return (find_spec(package) or PathFinder.find_spec(package, [root] if root else [])) is not None
    except (ImportError, ValueError):  # no name at all, or a broken module of that name
        return False


def _missing_program(hook: Hook, handler: Any, setting: Setting) -> Iterator[tuple[Path, str, str]]:
    key = ("run",) if hook.origin.dialect == "fairlead" else ("command",)
    folder, in_shell = handler.cwd or setting.project, handler.args is None
    environ = {**setting.environ, **handler.env, **_variables(hook, setting)}
    program, script = _program_and_script(handler, environ)
    found = _find(program, folder, environ.get("PATH", os.defpath))
    if program and found is None and not (in_shell and _is_shells_own(program)):
        where = folder if "/" in program else "the directories of PATH"
        yield key, f"there is no program {program!r}", _looked(program, where, hook, 127 if in_shell else None)
    elif found and not os.access(found, os.X_OK):
        hint = f"chmod +x {found}; {_until_then(hook, 126 if in_shell else None)}"
        yield key, f"{program!r} is not executable", hint
    elif found and (problem := _unstartable(found, environ, in_shell=in_shell)):
        yield key, problem[0], f"{problem[1]}; {_until_then(hook, 127 if in_shell else None)}"
    elif found and _is_script_of(found, script) and not os.path.exists(os.path.join(folder, script)):
        exits = 2 if "python" in os.path.basename(found) else 127  # CPython's own exit code for a missing file
        yield key, f"there is no script {script!r}", _looked(script, folder, hook, exits)


def _unstartable(program: str, environ: Mapping[str, str], *, in_shell: bool) -> tuple[str, str] | None:
    """Its first line names no interpreter, or one that is not there."""
    from fairlead.doctor.programs import cannot_start

    return cannot_start(program, environ.get("PATH", os.defpath), in_shell=in_shell)


def unset_variable(hook: Hook, setting: Setting) -> str:
    """The variable without which nobody knows what is to be started; one with a default of its own is fine."""
    import re

    from fairlead.handlers.command import Command

    handler = _innermost(hook.handler)
    if not isinstance(handler, Command) or handler.args is not None:
        return ""
    environ = {**setting.environ, **handler.env, **_variables(hook, setting)}
    first = next(iter(_first_words(handler.command)), "")
    names = re.findall(r"\$(?:(\w+)|\{(\w+)\})", first)
    return next((one or other for one, other in names if (one or other) not in environ), "")


def _program_and_script(handler: Any, environ: Mapping[str, str]) -> tuple[str, str]:
    """The first two words of what runs; empty where there are none, or where only a shell could tell."""
    if handler.args is not None:
        words = [handler.command, *handler.args]
    else:
        words = [_expanded(word, environ) for word in _first_words(handler.command)]
    program, script, *_ = [*words, "", ""]
    return program, script


def _looked(file: str, folder: str, hook: Hook, exit_code: int | None) -> str:
    where = "" if os.path.isabs(file) else f"it is looked for in {folder}"
    return "; ".join(filter(None, (where, _until_then(hook, exit_code))))


def _until_then(hook: Hook, exit_code: int | None) -> str:
    """What the hook's failure means, as its own dialect has it."""
    event = sample(hook.events[0])
    if not event.blockable:
        return "until then it does nothing"
    refuses = _refuses(hook, event, exit_code)
    return f"until then it refuses every {event.name} it sees" if refuses else "until then it lets everything through"


def _refuses(hook: Hook, event: Event, exit_code: int | None) -> bool:
    from fairlead.work import Result

    half = dialects.hook_half(hook.origin.dialect)
    if exit_code is not None:
        try:
            return half.read_verdict(hook, event, Result(exit_code=exit_code)).denies
        except HookFailed:
            pass
    return (hook.on_error or half.on_failure(event)) == "deny"


def _variables(hook: Hook, setting: Setting) -> Mapping[str, str]:
    return dialects.hook_half(hook.origin.dialect).hook_input(hook, sample(hook.events[0]), setting).env


def _first_words(command: str) -> list[str]:
    """The program that a shell would start first, and its first argument; empty where that is not plain."""
    import re
    import shlex

    lexer = shlex.shlex(command, posix=True, punctuation_chars=True)
    lexer.whitespace_split = True
    words: list[str] = []
    try:
        for word in lexer:
            if set(word) <= set("();<>|&"):
                break
            if words or not re.match(r"[A-Za-z_]\w*=", word):
                words.append(word)
            if len(words) == 2:
                break
    except ValueError:  # a quotation without an end: the shell's to judge
        return []
    return words


def _expanded(word: str, values: Mapping[str, str]) -> str:
    """With variables and `~` filled in; empty where only a shell could tell."""
    import re

    if word.startswith("~/"):
        word = "$HOME" + word[1:]
    word = re.sub(r"\$(?:(\w+)|\{(\w+)\})", lambda found: values.get(found[1] or found[2], "$"), word)
    return "" if re.search(r"[$`*?\[\]{}~\n]", word) else word


def _find(program: str, folder: str, path: str) -> str | None:
    if "/" in program:
        place = os.path.normpath(os.path.join(folder, program))
        return place if os.path.isfile(place) else None
    import shutil

    return shutil.which(program, path=path) if program else None


def _is_shells_own(word: str) -> bool:
    from fairlead.handlers.command import SHELL_WORDS

    return "/" not in word and (word in SHELL_WORDS or not word.replace("-", "").replace("_", "").isalnum())


def _is_script_of(program: str, word: str) -> bool:
    """`python3 hooks/x.py`: the file that matters is the second one."""
    name = os.path.basename(program).rstrip("0123456789.")
    takes_a_file = name in ("sh", "bash", "dash", "zsh", "python", "node", "ruby", "perl")
    return takes_a_file and bool(word) and not word.startswith("-")


# --- explain -----------------------------------------------------------------------------------------


def explain(
    hooks: Hooks,
    event: Event,
    *,
    agent: str = ASKED_BY,
    dry_run: bool = False,
    deadline: float | None = None,
    ask_people: bool = False,
) -> dict[str, Any]:
    """What the hooks do with this event, and what the agent is told. Really runs them, unless `dry_run`.

    Nobody is disturbed: where a person would be asked, that is said, unless `ask_people`.
    """
    hooks.setting = hooks.setting.but(asks_people=ask_people)
    if dry_run:
        nothing = {"decision": None, "reason": "", "reply": None, "as_hook": None, "merged": None}
        problems = [str(problem) for problem in hooks.problems]
        found = _numbered(_planned(hooks, event))
        return {**_about(hooks, event, agent), **nothing, "notes": problems, "hooks": found}
    decision = hooks.fire_sync(event, deadline=deadline)
    told_of_it = account(hooks, event, decision, agent)
    return {**told_of_it, **_would_ask(decision)} if _leaves_it_to_somebody(decision) else told_of_it


def _leaves_it_to_somebody(decision: Decision) -> bool:
    reports = [report for report in decision.reports if report.hook.handler.kind == "approval"]
    return any(report.verdict is not None and report.verdict.decision == "ask" for report in reports)


def _would_ask(decision: Decision) -> dict[str, Any]:
    """What the agent is told then is what the person says: nobody can know it before."""
    note = "nobody was asked; what the agent is told is what a person would say"
    nothing = {"reply": None, "as_hook": None}
    return {"decision": "ask", "reason": decision.reason, "notes": [*decision.notes, note], **nothing}


def account(hooks: Hooks, event: Event, decision: Decision, agent: str) -> dict[str, Any]:
    """The same for a decision that has been taken."""
    return {
        **_about(hooks, event, agent),
        **heard(hooks, event, decision, agent),
        "merged": said(decision),
        "hooks": _numbered([*_all_reported(hooks, decision), *_left_out(hooks, event)], event),
    }


def _about(hooks: Hooks, event: Event, agent: str) -> dict[str, Any]:
    return {"event": event.name, "agent": agent, "project": hooks.setting.project, "payload": event.payload()}


def heard(hooks: Hooks, event: Event, decision: Decision, agent: str) -> dict[str, Any]:
    """What this agent is told, as its engine (`reply`) and as one of its hooks."""
    half = dialects.agent_half(agent)
    event, answer = told(half, hooks, tools.spoken_by(half.TOOLS, event), decision)
    return {
        "decision": answer.decision,
        "reason": answer.reason,
        "reply": half.write_result(event, answer),
        "as_hook": _as_hook(half.write_reply(event, answer)),
        "notes": list(answer.notes),
    }


def said(verdict: Verdict | Decision) -> dict[str, Any]:
    """Everything in a verdict that is not empty."""
    fields = {name: getattr(verdict, name) for name in type(NONE)._fields}
    kept = {name: value for name, value in fields.items() if value or (name == "updated_output" and value is not None)}
    return {"decision": verdict.decision, **kept}


def _as_hook(reply: Reply) -> dict[str, Any]:
    stdout = reply.stdout.decode("utf-8", "backslashreplace")
    return {"stdout": stdout, "stderr": reply.stderr, "exit_code": reply.exit_code}


def _entry(hook: Hook, *, matched: bool, why: str) -> dict[str, Any]:
    return {**described(hook), "matched": matched, "why": why, "verdict": None, "reason": "", "said": None,
            "ms": None, "error": "", "hint": "", "input": None, "facts": {}}  # fmt: skip


def _all_reported(hooks: Hooks, decision: Decision) -> Iterator[dict[str, Any]]:
    from fairlead.doctor import hints

    for report in decision.reports:
        yield {**_reported(report), "hint": hints.of(report, hooks.setting)}


def _reported(report: Report) -> dict[str, Any]:
    entry = _entry(report.hook, matched=report.matched, why=report.why)
    if report.verdict is None:
        return entry
    return entry | {
        "verdict": report.verdict.decision,
        "reason": report.verdict.reason,
        "said": said(report.verdict),
        "ms": round(report.ms, 1),
        "error": report.error,
        "input": getattr(report.event, "tool_input", None),
        "facts": dict(report.facts),
    }


def _left_out(hooks: Hooks, event: Event) -> Iterator[dict[str, Any]]:
    """Hooks that would look at the event, were there not another one in their place."""
    yield from _repeated(hooks, event)
    for hook in hooks.replaced:
        if event.name in hook.events and hook.matches(event, engine.names_for(hook.origin.dialect, event)):
            entry = _entry(hook, matched=True, why="is replaced by a hook in a nearer file")
            yield {**entry, "hint": _nearer(hook, hooks)}


def _nearer(hook: Hook, hooks: Hooks) -> str:
    """Where the hooks of the same system and event stand that count instead."""
    places = [
        str(other.origin)
        for other in hooks
        if other.origin.dialect == hook.origin.dialect
        and set(other.events) & set(hook.events)
        and other.origin.file != hook.origin.file
    ]
    return f"the nearer one: {', '.join(places)}" if places else ""


def _repeated(hooks: Hooks, event: Event) -> Iterator[dict[str, Any]]:
    """Hooks that match and are left out because an identical one runs."""
    for group in hooks.plan(event).groups:
        running = {id(hook): hook for batch in group.batches for hook in batch}
        for hook in group.hooks:
            if id(hook) not in running:
                twin = next((other for other in running.values() if other.identity() == hook.identity()), hook)
                yield _entry(hook, matched=True, why=f"is the same as {twin.name} ({twin.origin}), which runs once")


def _planned(hooks: Hooks, event: Event) -> Iterator[dict[str, Any]]:
    from fairlead.doctor import hints

    plan = hooks.plan(event)
    for group in plan.groups:
        for batch in group.batches:
            for hook in batch:
                why = engine.has_run(hook, event) or engine.no_part(hook, event)
                yield {**_entry(hook, matched=True, why=why), "hint": hints.of_another(hook, hooks.setting)}
    yield from _left_out(hooks, event)
    for hook, why, matched in plan.skipped:
        hint = hints.of_skipped(hook, event, why, hooks.setting)
        yield {**_entry(hook, matched=matched, why=why), "hint": hint}


def _numbered(entries: Iterable[dict[str, Any]], event: Event | None = None) -> list[dict[str, Any]]:
    """Those that run (or would) get their place in the row; an input that nobody changed is not repeated."""
    found, place = [], 0
    first = getattr(event, "tool_input", None)
    for entry in entries:
        runs = not entry["why"]
        place += runs
        changed = entry["input"] if entry["input"] != first else None
        found.append({**entry, "order": place if runs else None, "input": changed})
    return found
