"""Matchers that match nothing, and regular expressions that the agent (or Fairlead) cannot run."""

from __future__ import annotations

import re

from fairlead.doctor import facts
from fairlead.events import ToolEvent, event_class

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

    from fairlead.doctor.finding import Finding
    from fairlead.doctor.scene import Entry, Scene

_NO_REGEX = ("", "*")
_NOT_IN_JAVASCRIPT = {
    r"\(\?P[<=>]": "(?P<name>…) is Python's; JavaScript writes (?<name>…)",
    r"\(\?[aiLmsux]+\)": "flags such as (?i) inside the pattern are not JavaScript's; write [Bb]ash instead",
    r"\(\?>": "(?>…) is not JavaScript's",
    r"\(\?#": "comments in a pattern are not JavaScript's",
    r"[*+?}]\+": "possessive quantifiers are not JavaScript's",
}
_NEVER_IN_JAVASCRIPT = {r"\\A": "\\A means the letter A in JavaScript; write ^",
                        r"\\[Zz]": "\\Z means the letter Z in JavaScript; write $"}  # fmt: skip
_AROUND = re.compile(r"\(\?<?[=!]")
_INVALID = {
    "claude-code": "such a hook never runs",
    "gemini": "it then compares the text with the tool's name as it stands: the hook never runs",
    "copilot": "such a hook is skipped",
}


def check(scene: Scene) -> Iterator[Finding]:
    seen = set()
    for entry in scene.entries:
        place = (entry.file.path, entry.matcher_path)
        if isinstance(entry.matcher, str) and entry.matcher not in _NO_REGEX and place not in seen:
            seen.add(place)
            yield from _wrong(entry, entry.matcher)


def _wrong(entry: Entry, text: str) -> Iterator[Finding]:
    yield from _server_alone(entry, text)
    yield from _other_names(entry, text)
    if is_regex(entry.agent, text):
        yield from _regex(entry, text)


def is_regex(agent: str, text: str) -> bool:
    plain = {"claude-code": r"[\w\- ,|]*", "codex": r"[\w|]*"}.get(agent, r"\w*")
    return not re.fullmatch(plain, text, re.ASCII)


# --- names -------------------------------------------------------------------------------------------


def _server_alone(entry: Entry, text: str) -> Iterator[Finding]:
    if not issubclass(event_class(facts.canonical(entry.agent, entry.event)), ToolEvent):
        return
    for name in re.split(r"[|,]", text):
        if re.fullmatch(r"mcp__[\w-]+", name.strip()) and "__" not in name.strip()[5:]:
            yield from _server(entry, text, name.strip())


def _server(entry: Entry, text: str, name: str) -> Iterator[Finding]:
    if entry.agent == "gemini":
        right = f"mcp_{name[5:]}_.*"
        what = f"{name!r} matches nothing: Gemini CLI's names for MCP tools begin with 'mcp_{name[5:]}_'"
    elif not facts.of(entry.agent).exact or is_regex(entry.agent, text):
        return
    else:
        right = f"{name}__.*"
        what = f"{name!r} matches nothing: it is compared with whole names, and tools are called '{name}__…'"
    yield entry.file.found("patterns", "error", entry.matcher_path, what, f"write {right!r}")


def _other_names(entry: Entry, text: str) -> Iterator[Finding]:
    """A matcher that is nearly a tool's name, and the name of none."""
    known = _tools(entry.agent)
    words = re.split(r"\s*[|,]\s*", text.strip())
    is_plain = all(re.fullmatch(r"\w+", word) for word in words) or re.fullmatch(r"\w+\(.*\)", text)
    is_about_tools = issubclass(event_class(facts.canonical(entry.agent, entry.event)), ToolEvent)
    if not is_about_tools or not is_plain or any(_finds(entry.agent, words, own) for own, _ in known):
        return
    hint = next((hint for own, name in known if (hint := _meant(entry.agent, text, words, own, name))), "")
    if hint:
        what = f"the matcher {text!r} matches no tool of {facts.title(entry.agent)}"
        yield entry.file.found("patterns", "error", entry.matcher_path, what, hint)


def _tools(agent: str) -> list[tuple[str, str]]:
    """The agent's names for its tools, with ours, where all of them are known."""
    from fairlead.dialects import hook_half
    from fairlead.explaining import CLAUDE_CODE_TOOLS

    if agent == "claude-code":
        return [(name, name) for name in CLAUDE_CODE_TOOLS]
    vocabulary = hook_half(agent).TOOLS if agent == "gemini" else None
    return [(tool.own, tool.name) for tool in vocabulary.tools] if vocabulary is not None else []


def _meant(agent: str, text: str, words: list[str], own: str, name: str) -> str:
    from fairlead.doctor import hints
    from fairlead.tools import ALIASES

    if own != name and any(word in (name, *ALIASES.get(name, ())) for word in words):
        return f"{facts.title(agent)} calls this tool {own!r}"
    return hints.of_matcher(agent, text, (own,))


def _finds(agent: str, words: list[str], own: str) -> bool:
    return own in words or (not facts.of(agent).exact and any(word in own for word in words))


# --- regular expressions -----------------------------------------------------------------------------


def _regex(entry: Entry, text: str) -> Iterator[Finding]:
    engine = facts.of(entry.agent).regex
    problem = _PROBLEMS[engine](text) if engine else ""
    title = facts.title(entry.agent)
    if problem:
        then = _INVALID.get(entry.agent, "the hook does not run")
        what = f"{title} cannot use the matcher {text!r}: {problem}; {then}"
        yield entry.file.found("patterns", "error", entry.matcher_path, what, _rewrite(text))
        return
    for mark, why in _NEVER_IN_JAVASCRIPT.items() if engine == "javascript" else ():
        if re.search(rf"(?<!\\)(?:\\\\)*{mark}", text):
            what = f"the matcher {text!r} hardly matches: {why}"
            yield entry.file.found("patterns", "error", entry.matcher_path, what, why.rpartition("; ")[2])
    if _linear(text):
        what = (
            f"Fairlead cannot use the matcher {text!r}: {_linear(text)}; under Fairlead this hook runs for everything"
        )
        yield entry.file.found("patterns", "note", entry.matcher_path, what, _rewrite(text))


def _rewrite(text: str) -> str:
    if _AROUND.search(text):
        return "name what it shall match, as in 'Bash|Edit', and leave the exceptions to the hook"
    return "write a list of names, or a pattern that every engine knows"


def _javascript(text: str) -> str:
    for mark, why in _NOT_IN_JAVASCRIPT.items():
        if re.search(rf"(?<!\\){mark}", text):
            return why
    return _python(re.sub(r"\(\?<(?![=!])", "(?P<", text).replace("\\k<", "(?P="), look_behind=True)


def _python(text: str, *, look_behind: bool = False) -> str:
    import warnings

    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # `[[` may mean something else one day
            re.compile(text)
    except (re.error, RecursionError, OverflowError) as error:
        if look_behind and ("look-behind" in str(error) or "(?P=" in text):
            return ""  # JavaScript's may have any width, and its references other brackets
        return str(error)
    return ""


def _linear(text: str) -> str:
    if _AROUND.search(text):
        return "it has no look-around"
    if re.search(r"(?<!\\)(?:\\\\)*\\[1-9k]", text):
        return "it has no references to groups"
    from fairlead.matchers import Matcher

    problem = Matcher(text, search=True).check()
    return problem.partition(" is not a regular expression: ")[2] or problem


_PROBLEMS = {"javascript": _javascript, "python": _python, "linear": _linear}
