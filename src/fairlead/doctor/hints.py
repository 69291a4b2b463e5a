"""What to do about a hook that did not run for an event, or ran and decided nothing."""

from __future__ import annotations

import re

from fairlead.doctor import facts

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from fairlead.events import Event
    from fairlead.hooks import Hook, Report, Setting

_HAS_IF = ("claude-code", "fairlead")
"""Whose hooks can have a rule beside their matcher."""
_READS_JSON_FIRST = ("claude-code",)
"""Agents that take output for plain text unless it begins with a brace."""
_SHOWN = 400


def of(report: Report, setting: Setting) -> str:
    """Empty where there is nothing to do."""
    if report.why:
        return of_skipped(report.hook, report.event, report.why, setting)
    found = of_another(report.hook, setting)
    return found or (_of_failed(report, setting) if report.error else _of_silent(report))


def of_another(hook: Hook, setting: Setting) -> str:
    """It runs here, and never where its user wants it to: that counts more than how it fails here."""
    from fairlead.explaining import taken_for_another

    mistaken = taken_for_another(hook, setting)
    return "; ".join(mistaken) if mistaken else ""


# --- it did not run ----------------------------------------------------------------------------------


def of_skipped(hook: Hook, event: Event, why: str, setting: Setting) -> str:
    from fairlead.engine import names_for

    if why == "is switched off":
        return _switch(hook, setting)
    if why.startswith("its matcher "):
        return of_matcher(hook.origin.dialect, hook.matcher.text, names_for(hook.origin.dialect, event))
    if why.startswith("its rule "):
        return f'the rule in "if" is about other calls than {_call(event)}: change it, or take it out'
    return of_why(why)


def of_why(why: str) -> str:
    """For a hook of which only the words are left."""
    from fairlead.engine import UNTRUSTED

    if why == UNTRUSTED:
        return "look at it, and say whether it may run: `fairlead trust`"
    if why.startswith("has `once`"):
        return "take out `once`, or begin a new session"
    return ""


def _call(event: Event) -> str:
    tool, given = getattr(event, "tool_name", ""), getattr(event, "tool_input", {})
    text = given.get("command") or given.get("file_path") if isinstance(given, dict) else ""
    return f"{tool}({_shown(str(text))})" if text else tool or event.name


def _switch(hook: Hook, setting: Setting) -> str:
    """Who has switched it off, where that can be found out."""
    from fairlead.dialects import Places
    from fairlead.doctor import run, scene
    from fairlead.installing.specs import SPECS

    dialect = hook.origin.dialect
    if dialect not in SPECS:
        return "take out `enabled = false`"
    places = Places(home=setting.home, project=setting.project, environ=setting.environ)
    found = [one for one in run("switches", scene.look(places, (dialect,))) if one.level == "error"]
    if not found:
        return "`fairlead doctor` says where"
    return "; ".join(f"{one.file}:{one.line}: {one.message}; {one.fix}" for one in found)


# --- its matcher -------------------------------------------------------------------------------------


def of_matcher(dialect: str, text: str, names: Sequence[str]) -> str:
    """How a matcher is to be written that was meant for a tool with one of these names."""
    rule = re.fullmatch(r"(\w+)\(.*\)", text)
    if rule and rule[1] in names:
        rest = f'put {text!r} into "if"' if dialect in _HAS_IF else "look at the rest in the hook itself"
        return f"a matcher is compared with the tool's name alone: write {rule[1]!r}, and {rest}"
    words = re.split(r"\s*[|,]\s*", text.strip())
    return next((hint for word in words for name in names for hint in _nearly(dialect, word, name)), "")


def _nearly(dialect: str, word: str, name: str) -> Iterator[str]:
    from fairlead.tools import ALIASES

    if word.lower() == name.lower():
        yield f"upper and lower case count: write {name!r}"
    elif word.startswith("mcp_") and name.startswith(f"{word}_"):
        between = "__" if name.startswith(f"{word}__") else "_"
        yield f"this is a server and no tool: write '{word}{between}.*'"
    elif word in ALIASES.get(name, ()):
        yield f"{facts.title(dialect)} calls this tool {name!r}"
    elif len(word) > 1 and re.fullmatch(r"\w+", word) and word in name:
        yield f"a plain word is compared with the whole name: write {name!r}"


# --- it ran ------------------------------------------------------------------------------------------


def _of_failed(report: Report, setting: Setting) -> str:
    from fairlead.explaining import cannot_answer, unset_variable

    unset = unset_variable(report.hook, setting) if "127" in report.error else ""
    if unset:
        return f"the variable ${unset} is not set here: set it in the hook's own environment, or write the path"
    for _, message, hint in cannot_answer(report.hook, setting):
        if message not in report.error:
            return f"{message}; {hint}" if hint else message
    return of_error(report.hook.origin.dialect, report.event.name, report.error)


def of_error(dialect: str, event: str, error: str) -> str:
    """For a failure of which only the words are left."""
    if error.startswith("timed out"):
        return f"make it faster, or raise its timeout, which {_unit(dialect)}"
    if re.match(r"exit (?!126|127)\d+", error) and dialect in _EXIT_TWO and _can_refuse(event):
        return f"{facts.title(dialect)} takes exit code 2 for a refusal; after this one the call goes on"
    if error.startswith(("its output starts like JSON", "its output begins like a verdict")):
        return "print one whole JSON object and nothing else; run the hook by hand to see what it prints"
    return ""


def _unit(dialect: str) -> str:
    from fairlead.installing.specs import SPECS

    if dialect == "fairlead":
        return 'is written as "500ms", "5s" or "2m"'
    title = facts.title(dialect)
    if dialect == "qwen":
        return f"{title} takes for milliseconds from 1000 on"
    unit = "milliseconds" if dialect in SPECS and SPECS[dialect].unit == 1000 else "seconds"
    return f"{title} counts in {unit}"


def _can_refuse(event: str) -> bool:
    from fairlead.explaining import sample

    return sample(event).blockable


_EXIT_TWO = ("claude-code", "codex", "gemini", "qwen", "cursor", "droid")
"""Who refuses for exit code 2, and goes on after any other."""


def _of_silent(report: Report) -> str:
    from fairlead.verdicts import NONE

    if not report.event.blockable or report.verdict is None:
        return ""
    if report.hook.handler.kind == "background":
        return 'nobody waits for this hook, so it cannot refuse anything: take out "async" if it is a guard'
    stdout = getattr(report.outcome, "stdout", b"").strip()
    if not stdout:
        return ""
    if report.verdict == NONE and _was_to_decide(stdout):
        return f"its output decides nothing: {_shown(_text(stdout))}; to refuse, {_REFUSE}"
    if report.verdict != NONE and not stdout.startswith(b"{") and report.hook.origin.dialect in _READS_JSON_FIRST:
        title = facts.title(report.hook.origin.dialect)
        return f"{title} itself takes this for plain text: print nothing before the JSON (not {_shown(_text(stdout))})"
    return ""


def _was_to_decide(stdout: bytes) -> bool:
    """Text that was meant for somebody, or JSON about a decision; other JSON is how a hook says nothing."""
    return not stdout.startswith(b"{") or any(word in stdout.lower() for word in (b"decision", b"deny", b"block"))


_REFUSE = "exit with 2 and write the reason to stderr"


def _text(raw: bytes) -> str:
    return raw.decode("utf-8", "replace").splitlines()[0]


def _shown(text: str) -> str:
    return text if len(text) <= _SHOWN else f"{text[: _SHOWN - 1]}…"
