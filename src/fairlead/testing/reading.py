"""`fairlead.tests.toml`: cases as people write them. A bad case is an error with its place; the others still count."""

from __future__ import annotations

import os

from fairlead import documents
from fairlead._record import Record
from fairlead.dialects import AGENT_HALVES, Source
from fairlead.dialects._common import Reader, did_you_mean
from fairlead.errors import ConfigError, FairleadError, Problem
from fairlead.events import ToolEvent, event_class
from fairlead.testing.cases import DECISIONS, Case, Expected, Where, event_name, titled

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping
    from typing import Any

    from fairlead.dialects._common import Path
    from fairlead.verdicts import Verdict

FILE = "fairlead.tests.toml"
SCHEMA = os.path.join(os.path.dirname(os.path.dirname(__file__)), "fairlead-tests.schema.json")
_TOP = ("case", "scratch", "$schema")
_SCRATCH = ("copy", "leave_out")
_ABOUT = ("tool", "input", "command", "prompt", "payload")
_EXPECTED = ("decision", "reason", "rewrite", "context", "hooks", "fails")
_KEYS = ("name", "event", *_ABOUT, "agent", "with", "approval", "says", *_EXPECTED)
_SAYS = ("decision", "reason", "context", "rewrite")
_SOMEWHERE = Where(project="/project", home="/home")


class Suite(Record):
    """What one file has to say."""

    file: str
    cases: tuple[Case, ...] = ()
    problems: tuple[Problem, ...] = ()
    copy: tuple[str, ...] = ()
    """Beside what git knows, these go into the scratch copy."""
    leave_out: tuple[str, ...] = ()


def read(path: str) -> Suite:
    """Never raises for what stands in the file."""
    try:
        text = documents.read_text(path)
        if text is None:
            return Suite(file=path, problems=(Problem(file=path, message="there is no such file"),))
        return _read(path, text)
    except documents.BadDocument as error:
        problem = Problem(file=path, line=error.line, column=error.column, message=str(error), hint=error.hint)
    except ConfigError as error:
        problem = Problem(file=path, message=str(error), hint=error.hint)
    return Suite(file=path, problems=(problem,))


def _read(path: str, text: str) -> Suite:
    data = documents.parse_toml(text, {})
    reader = _Reader(Source(path=path, layer="tests", owner="project"), text)
    reader.check_keys(data, _TOP, ())
    scratch = data.get("scratch", {})
    if not reader.expect(scratch, dict, ("scratch",), "[scratch] must be a table"):
        scratch = {}
    reader.check_keys(scratch, _SCRATCH, ("scratch",))
    lists = {key: reader.texts(scratch, key, ("scratch",)) for key in _SCRATCH}
    cases = [_case(reader, entry, place) for entry, place in _entries(reader, data.get("case", []))]
    good = _distinct(case for case in cases if case is not None)
    return Suite(file=path, cases=tuple(good), problems=tuple(reader.problems), **lists)


def _entries(reader: _Reader, value: Any) -> list[tuple[Any, Path]]:
    if isinstance(value, dict):
        reader.problem(("case",), "[case] is one table", "write [[case]]")
        return []
    return reader.entries(value, ("case",), "[[case]]")


def _distinct(cases: Iterable[Case]) -> list[Case]:
    """Reports tell cases apart by their names."""
    seen: dict[str, int] = {}
    found = []
    for case in cases:
        count = seen[case.name] = seen.get(case.name, 0) + 1
        found.append(case if count == 1 else case.but(name=f"{case.name} ({count})"))
    return found


class _Reader(Reader):
    """With what cases need."""

    def check_keys(self, table: Mapping[str, Any], known: Iterable[str], path: Path) -> None:
        for key in table:
            if key not in known:
                self.problem((*path, key), f"unknown key {key!r}", did_you_mean(key, known))

    def string(self, table: Mapping[str, Any], key: str, path: Path) -> str:
        value = table.get(key, "")
        return value if self.expect(value, str, (*path, key), f"{key} must be a string") else ""

    def table(self, table: Mapping[str, Any], key: str, path: Path) -> dict[str, Any]:
        value = table.get(key, {})
        return value if self.expect(value, dict, (*path, key), f"{key} must be a table") else {}

    def texts(self, table: Mapping[str, Any], key: str, path: Path) -> tuple[str, ...]:
        """One text, or a list of them."""
        value = table.get(key, [])
        value = [value] if isinstance(value, str) else value
        what = f"{key} must be a string or a list of strings"
        if not self.expect(value, list, (*path, key), what):
            return ()
        return tuple(text for text in value if self.expect(text, str, (*path, key), what))


def _case(reader: _Reader, entry: dict[str, Any], path: Path) -> Case | None:
    """None for one that would not prove what it says."""
    from fairlead.locate import position_in

    before = len(reader.problems)
    reader.check_keys(entry, _KEYS, path)
    event = _event(reader, entry, path)
    tool, given, payload = _about(reader, entry, path, event)
    case = Case(
        file=reader.source.path,
        line=position_in(reader.text, path, toml=True)[0],
        event=event,
        tool=tool,
        given=given,
        payload=payload,
        agent=_one_of(reader, entry, "agent", path, AGENT_HALVES, ""),
        active=reader.texts(entry, "with", path),
        approval=_one_of(reader, entry, "approval", path, ("allow", "refuse"), "refuse"),
        says=_says(reader, reader.table(entry, "says", path), (*path, "says")),
        expected=_expected(reader, entry, path),
    )
    case = case.but(name=reader.string(entry, "name", path) or titled(case))
    if len(reader.problems) == before:
        _try(reader, case, path)
    return case if len(reader.problems) == before else None


def _try(reader: _Reader, case: Case, path: Path) -> None:
    key = "payload" if case.payload is not None else "input"
    try:
        case.build(_SOMEWHERE)
    except FairleadError as error:
        reader.problem((*path, key), str(error), error.hint)


def _one_of(reader: _Reader, entry: Mapping[str, Any], key: str, path: Path, known: Iterable[str], default: str) -> str:
    value = reader.string(entry, key, path)
    if not value or value in known:
        return value or default
    reader.problem((*path, key), f"unknown {key} {value!r}", did_you_mean(value, known))
    return default


def _event(reader: _Reader, entry: Mapping[str, Any], path: Path) -> str:
    name = reader.string(entry, "event", path) or ("UserPromptSubmit" if "prompt" in entry else "")
    if "payload" in entry or not name:
        return name  # an agent's own name for it
    try:
        return event_name(name)
    except FairleadError as error:
        reader.problem((*path, "event"), str(error), error.hint)
        return ""


def _about(
    reader: _Reader, entry: Mapping[str, Any], path: Path, event: str
) -> tuple[str, dict[str, Any], dict[str, Any] | None]:
    """Tool, input, payload."""
    if "payload" in entry:
        _alone(reader, entry, "payload", path)
        return "", {}, reader.table(entry, "payload", path)
    given = dict(reader.table(entry, "input", path))
    for key in ("command", "prompt"):
        if key in entry:
            if key in given:
                reader.problem((*path, key), f"{key} stands here and in input", "say it once")
            given[key] = reader.string(entry, key, path)
    tool = reader.string(entry, "tool", path) or ("Bash" if "command" in entry else "")
    is_call = issubclass(event_class(event or "PreToolUse"), ToolEvent)
    if is_call and not tool and entry.keys() <= set(_KEYS):  # else a slip has been named already
        reader.problem(path, "tool is missing", 'name it, such as tool = "Bash"; or say command, prompt or payload')
    if tool and not is_call:
        key = "tool" if "tool" in entry else "command"
        reader.problem((*path, key), f"{event} is not about a tool", "input gives the fields of such an event")
    return tool, given, None


def _alone(reader: _Reader, entry: Mapping[str, Any], key: str, path: Path) -> None:
    for other in _ABOUT:
        if other in entry and other != key:
            reader.problem((*path, other), f"{other} and {key} cannot both be here", f"{key} is the whole event")


def _says(reader: _Reader, table: Mapping[str, Any], path: Path) -> dict[str, Verdict]:
    return {name: _verdict(reader, said, (*path, name)) for name, said in table.items()}


def _verdict(reader: _Reader, said: Any, path: Path) -> Verdict:
    from fairlead.verdicts import NONE, RANK, Verdict

    if isinstance(said, str):
        said = {"decision": said}
    if not reader.expect(said, dict, path, "what a hook says must be a word or a table"):
        return NONE
    reader.check_keys(said, _SAYS, path)
    rewrite = reader.table(said, "rewrite", path) if "rewrite" in said else None
    return Verdict(
        decision=_one_of(reader, said, "decision", path, RANK, "none"),
        reason=reader.string(said, "reason", path),
        context=reader.string(said, "context", path),
        updated_input=rewrite,
    )


def _expected(reader: _Reader, entry: Mapping[str, Any], path: Path) -> Expected:
    if not any(key in entry for key in _EXPECTED) and entry.keys() <= set(_KEYS):
        reader.problem(path, "this case expects nothing", 'say what should come of it, such as decision = "deny"')
    rewrite = entry.get("rewrite")
    if rewrite is not None and not isinstance(rewrite, bool):
        rewrite = reader.table(entry, "rewrite", path)
    fails: Any = entry.get("fails", ())
    return Expected(
        decision=_decisions(reader, entry, path),
        reason=_patterns(reader, entry, "reason", path),
        context=_patterns(reader, entry, "context", path),
        rewrite=rewrite,
        hooks=reader.texts(entry, "hooks", path),
        fails=fails if isinstance(fails, bool) else reader.texts(entry, "fails", path),
    )


def _decisions(reader: _Reader, entry: Mapping[str, Any], path: Path) -> tuple[str, ...]:
    found: list[str] = []
    if entry.get("decision") == []:
        reader.problem((*path, "decision"), "decision is empty", f"one of: {', '.join(DECISIONS)}")
    for word in reader.texts(entry, "decision", path):
        if word not in DECISIONS:
            reader.problem((*path, "decision"), f"unknown decision {word!r}", did_you_mean(word, DECISIONS))
        found += DECISIONS.get(word, ())
    return tuple(dict.fromkeys(found))


def _patterns(reader: _Reader, entry: Mapping[str, Any], key: str, path: Path) -> tuple[str, ...]:
    from fairlead.testing.expecting import pattern_problem

    texts = reader.texts(entry, key, path)
    for text in texts:
        wrong = pattern_problem(text)
        if wrong:
            reader.problem((*path, key), f"{key} is no regular expression: {wrong}")
        elif not text:
            reader.problem((*path, key), f"{key} is empty", "every text contains that")
    return texts
