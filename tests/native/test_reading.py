"""fairlead.toml: every key, every mistake with its place, and the JSON Schema that says the same."""

from __future__ import annotations

import tomllib
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from jsonschema import Draft202012Validator

from fairlead import Hook, Hooks, Problem
from fairlead.dialects import Places, Source, _native_handlers, _native_hook, native
from fairlead.events import EVENTS
from fairlead.schema import schema, schema_text
from tests.conftest import Home

VALIDATOR = Draft202012Validator(schema())


def read(text: str, folder: str = "/project") -> tuple[tuple[Hook, ...], tuple[Problem, ...]]:
    source = Source(path=f"{folder}/fairlead.toml", layer="project", owner="project")
    reading = native.read(source, text, Places(home="/home/user", project=folder, environ={}))
    return reading.hooks, reading.problems


def one(lines: str) -> Hook:
    hooks, problems = read(f'[[hook]]\non = "PreToolUse"\n{lines}\n')
    assert problems == ()
    (hook,) = hooks
    return hook


def schema_accepts(text: str) -> bool:
    return bool(VALIDATOR.is_valid(tomllib.loads(text)))


VALID = {
    "nothing": "",
    "only comments": "# hooks of this project\n",
    "a schema": '"$schema" = "https://example.invalid/fairlead.schema.json"\n',
    "a command line": '[[hook]]\non = "PreToolUse"\nrun = "./check.sh | tee log"\n',
    "a list of words": '[[hook]]\non = "PreToolUse"\nrun = ["./check.sh", "a b", ""]\n',
    "a program and arguments": '[[hook]]\non = "PreToolUse"\nrun = "./check.sh"\nargs = ["a b"]\n',
    "no arguments": '[[hook]]\non = "PreToolUse"\nrun = "./check.sh"\nargs = []\n',
    "a function": '[[hook]]\non = "PreToolUse"\npython = "tools.hooks:check"\n',
    "a script": '[[hook]]\non = "PreToolUse"\npython = "hooks/check.py"\n',
    "a script without an ending": '[[hook]]\non = "PreToolUse"\npython = "./hooks/check"\n',
    "several events": '[[hook]]\non = ["PreToolUse", "Stop"]\nrun = "x"\n',
    "every event": '[[hook]]\non = "*"\nrun = "x"\n',
    "every key": """
[[hook]]
name = "check"
on = "PreToolUse"
tool = "Bash|Edit"
if = "Bash(git *)"
run = "./check.sh"
args = ["x"]
cwd = "sub"
env = { LEVEL = "high" }
timeout = "5s"
priority = 10
on_error = "allow"
enabled = true
parallel = true
reads = "stdin"
""",
    "a matcher": '[[hook]]\non = "SessionStart"\nmatcher = "startup|resume"\nrun = "x"\n',
    "seconds": '[[hook]]\non = "Stop"\nrun = "x"\ntimeout = 3\n',
    "parts of seconds": '[[hook]]\non = "Stop"\nrun = "x"\ntimeout = 0.5\n',
    "files": '[files]\n".claude/settings.json" = "code-agent"\n',
    "an approval": '[[hook]]\non = "PreToolUse"\napproval = "Let someone look at it"\n',
    "a guard": '[[hook]]\non = "PreToolUse"\nguard = ["filesystem", "git"]\n',
    "an unknown event": '[[hook]]\non = "Quux"\nrun = "x"\n',
}

INVALID: dict[str, tuple[str, tuple[int, int], str]] = {
    "an unknown key at the top": ("[hooks]\n", (1, 1), "hook"),
    "an unknown key": ('[[hook]]\non = "Stop"\nrun = "x"\ntimeuot = 3\n', (4, 1), "timeout"),
    "one table for a list": ('[hook]\non = "Stop"\nrun = "x"\n', (1, 1), "[[hook]]"),
    "hook as a string": ('hook = "x"\n', (1, 1), "list"),
    "no event": ('[[hook]]\nrun = "x"\n', (1, 1), "`on` is missing"),
    "an empty list of events": ('[[hook]]\non = []\nrun = "x"\n', (2, 1), "empty"),
    "an event that is a number": ('[[hook]]\non = 3\nrun = "x"\n', (2, 1), "list of events"),
    "a number among the events": ('[[hook]]\non = ["Stop", 3]\nrun = "x"\n', (2, 1), "string"),
    "nothing to do": ('[[hook]]\non = "Stop"\n', (1, 1), "exactly one of"),
    "two things to do": ('[[hook]]\non = "Stop"\nrun = "x"\npython = "a:b"\n', (1, 1), "exactly one of"),
    "an empty command": ('[[hook]]\non = "Stop"\nrun = " "\n', (3, 1), "command line"),
    "no words": ('[[hook]]\non = "Stop"\nrun = []\n', (3, 1), "words"),
    "an empty first word": ('[[hook]]\non = "Stop"\nrun = ["", "x"]\n', (3, 1), "words"),
    "a word that is a number": ('[[hook]]\non = "Stop"\nrun = ["x", 1]\n', (3, 1), "words"),
    "a command that is a number": ('[[hook]]\non = "Stop"\nrun = 1\n', (3, 1), "command line"),
    "arguments beside a list": ('[[hook]]\non = "Stop"\nrun = ["x"]\nargs = ["y"]\n', (4, 1), "args"),
    "arguments that are a string": ('[[hook]]\non = "Stop"\nrun = "x"\nargs = "y"\n', (4, 1), "args"),
    "arguments for a function": ('[[hook]]\non = "Stop"\npython = "a:b"\nargs = ["y"]\n', (4, 1), "belongs to run"),
    "a directory for a function": ('[[hook]]\non = "Stop"\npython = "a:b"\ncwd = "y"\n', (4, 1), "belongs to run"),
    "an environment for a question": ('[[hook]]\non = "Stop"\nprompt = "x?"\nenv = {}\n', (4, 1), "belongs to run"),
    "a dotted function": ('[[hook]]\non = "Stop"\npython = "a.b"\n', (3, 1), "package.module:function"),
    "a function without a name": ('[[hook]]\non = "Stop"\npython = "a:"\n', (3, 1), "package.module:function"),
    "an empty function": ('[[hook]]\non = "Stop"\npython = ""\n', (1, 1), "python"),
    "a function that is a list": ('[[hook]]\non = "Stop"\npython = ["a:b"]\n', (3, 1), "string"),
    "an environment that is a string": ('[[hook]]\non = "Stop"\nrun = "x"\nenv = "A=1"\n', (4, 1), "table"),
    "a variable that is a number": ('[[hook]]\non = "Stop"\nrun = "x"\nenv = { A = 1 }\n', (4, 1), "A must be"),
    "a directory that is a number": ('[[hook]]\non = "Stop"\nrun = "x"\ncwd = 1\n', (4, 1), "cwd"),
    "a tool that is a list": ('[[hook]]\non = "Stop"\nrun = "x"\ntool = ["Bash"]\n', (4, 1), "string"),
    "a tool and a matcher": ('[[hook]]\non = "Stop"\nrun = "x"\ntool = "a"\nmatcher = "b"\n', (4, 1), "one of them"),
    "a name that is a number": ('[[hook]]\non = "Stop"\nrun = "x"\nname = 1\n', (4, 1), "name"),
    "a priority that is a string": ('[[hook]]\non = "Stop"\nrun = "x"\npriority = "1"\n', (4, 1), "whole number"),
    "a priority that is a part": ('[[hook]]\non = "Stop"\nrun = "x"\npriority = 1.5\n', (4, 1), "whole number"),
    "a priority that is true": ('[[hook]]\non = "Stop"\nrun = "x"\npriority = true\n', (4, 1), "whole number"),
    "a time without a unit": ('[[hook]]\non = "Stop"\nrun = "x"\ntimeout = "5"\n', (4, 1), "not a time"),
    "a time with another unit": ('[[hook]]\non = "Stop"\nrun = "x"\ntimeout = "5 days"\n', (4, 1), "not a time"),
    "no time": ('[[hook]]\non = "Stop"\nrun = "x"\ntimeout = 0\n', (4, 1), "not a time"),
    "no seconds": ('[[hook]]\non = "Stop"\nrun = "x"\ntimeout = "0s"\n', (4, 1), "not a time"),
    "a time before now": ('[[hook]]\non = "Stop"\nrun = "x"\ntimeout = -1\n', (4, 1), "not a time"),
    "an empty time": ('[[hook]]\non = "Stop"\nrun = "x"\ntimeout = ""\n', (4, 1), "not a time"),
    "a unit alone": ('[[hook]]\non = "Stop"\nrun = "x"\ntimeout = "s"\n', (4, 1), "not a time"),
    "a time that is true": ('[[hook]]\non = "Stop"\nrun = "x"\ntimeout = true\n', (4, 1), "not a time"),
    "another failure direction": ('[[hook]]\non = "Stop"\nrun = "x"\non_error = "block"\n', (4, 1), '"deny" is used'),
    "enabled as a string": ('[[hook]]\non = "Stop"\nrun = "x"\nenabled = "false"\n', (4, 1), "true or false"),
    "parallel as a number": ('[[hook]]\non = "Stop"\nrun = "x"\nparallel = 1\n', (4, 1), "true or false"),
    "reading elsewhere": ('[[hook]]\non = "Stop"\nrun = "x"\nreads = "args"\n', (4, 1), "stdin"),
    "an empty rule": ('[[hook]]\non = "Stop"\nrun = "x"\nif = ""\n', (4, 1), "permission rule"),
    "files that are a list": ('files = ["a"]\n', (1, 1), "table"),
    "an unknown dialect": ('[files]\n"a.json" = "cloud-code"\n', (2, 1), "claude-code"),
    "a dialect that is a number": ('[files]\n"a.json" = 1\n', (2, 1), "claude-code"),
}


@pytest.mark.parametrize("text", VALID.values(), ids=VALID.keys())
def test_what_is_right_is_read_without_errors_and_accepted_by_the_schema(text: str) -> None:
    hooks, problems = read(text)
    assert [problem for problem in problems if problem.level == "error"] == []
    assert len(hooks) == text.count("[[hook]]")
    VALIDATOR.validate(tomllib.loads(text))


@pytest.mark.parametrize(("text", "place", "said"), INVALID.values(), ids=INVALID.keys())
def test_what_is_wrong_is_reported_with_its_place_and_refused_by_the_schema(
    text: str, place: tuple[int, int], said: str
) -> None:
    problem = next(problem for problem in read(text)[1] if problem.level == "error")
    assert (problem.line, problem.column) == place
    assert said in f"{problem.message} {problem.hint}"
    assert problem.file.endswith("fairlead.toml")
    assert not schema_accepts(text)


@pytest.mark.parametrize(("text", "place", "said"), INVALID.values(), ids=INVALID.keys())
def test_one_mistake_never_disables_the_rest(text: str, place: tuple[int, int], said: str) -> None:
    if text.startswith(("hook =", "[hook]", "files =")):
        text = text.replace("hook = ", "hooky = ").replace("[hook]", "[hooky]")
    after = '\n[[hook]]\nname = "last"\non = "PreToolUse"\nrun = "x"\n'
    assert read(text + after)[0][-1].name == "last"


def test_a_hook_with_a_mistake_that_does_not_matter_runs_all_the_same() -> None:
    text = """
[[hook]]
on = "PreToolUse"
run = "x"
name = 3
tool = 3
timeout = "soon"
priority = "high"
on_error = "maybe"
enabled = "no"
parallel = "no"
if = "("
env = { A = 1, B = "2" }
wat = 1
"""
    (hook,), problems = read(text)
    assert len(problems) == 10
    assert (hook.timeout, hook.priority, hook.on_error, hook.enabled, hook.condition) == (60, 0, "deny", True, None)
    assert hook.matcher("anything")
    assert hook.handler.env == {"B": "2"}  # type: ignore[attr-defined]


@pytest.mark.parametrize("name", ["PreTooluse", "pre_tool_use", "PRETOOLUSE", "preToolUse"])
def test_an_event_in_another_spelling_is_taken_as_it_was_meant(name: str) -> None:
    (hook,), (problem,) = read(f'[[hook]]\non = "{name}"\nrun = "x"\n')
    assert hook.events == ("PreToolUse",)
    assert (problem.level, problem.line) == ("warning", 2)
    assert "PreToolUse" in problem.hint


def test_an_unknown_event_is_carried_with_a_warning() -> None:
    (hook,), (problem,) = (
        read('[[hook]]\non = ["PreToolUs", "Quux"]\nrun = "x"\n')[0],
        read('[[hook]]\non = "PreToolUs"\nrun = "x"\n')[1],
    )
    assert hook.events == ("PreToolUs", "Quux")
    assert (problem.level, problem.hint) == ("warning", "did you mean 'PreToolUse'?")


TIMES = {
    '"500ms"': 0.5, '"5s"': 5, '"2m"': 120, '"1h"': 3600, "3": 3, "0.25": 0.25, '"1.5s"': 1.5, '"2 m"': 120,
    '"10m"': 600,
}  # fmt: skip


@pytest.mark.parametrize(("text", "seconds"), TIMES.items(), ids=TIMES.keys())
def test_times_have_units(text: str, seconds: float) -> None:
    assert one(f'run = "x"\ntimeout = {text}').timeout == seconds


@pytest.mark.parametrize("text", ["inf", "nan", '"infs"', '"nan s"', '"1e3s"', '"1_0s"', '"+5s"', '" 5s"', '"\u0665s"'])
def test_what_is_no_time_is_reported_and_a_minute_is_used(text: str) -> None:
    (hook,), (problem,) = read(f'[[hook]]\non = "Stop"\nrun = "x"\ntimeout = {text}\n')
    assert hook.timeout == 60
    assert "not a time" in problem.message


@pytest.mark.parametrize("text", ['"1000h"', "1e12", "99999999999999999999"])
def test_a_time_beyond_a_week_is_a_week(text: str) -> None:
    (hook,), (problem,) = read(f'[[hook]]\non = "Stop"\nrun = "x"\ntimeout = {text}\n')
    assert hook.timeout == 7 * 24 * 3600
    assert problem.level == "warning"


def test_a_hook_without_further_words_has_the_documented_defaults() -> None:
    hook = one('run = "x"')
    assert (hook.timeout, hook.priority, hook.on_error, hook.enabled) == (60, 0, "", True)
    assert hook.name == "fairlead.toml#1"
    assert hook.matcher("anything")


def test_the_place_of_a_hook_is_known() -> None:
    (_, second), _ = read('[[hook]]\non = "Stop"\nrun = "x"\n\n[[hook]]\non = "Stop"\nrun = "y"\n')
    assert second.origin.path == ("hook", 1)
    assert (second.origin.layer, second.origin.dialect) == ("project", "fairlead")


def test_higher_priority_comes_first_over_all_layers_and_the_organisation_has_the_last_word(place: Home) -> None:
    entry = '[[hook]]\nname = "{}"\non = "PreToolUse"\nrun = "x {}"\npriority = {}\n'
    managed = place.root / "etc" / "fairlead" / "fairlead.toml"
    managed.parent.mkdir(parents=True)
    managed.write_text(entry.format("managed", 1, 0))
    place.write("~/.config/fairlead/fairlead.toml", entry.format("user", 2, 5) + entry.format("user-late", 3, -1))
    place.write("fairlead.toml", entry.format("project", 4, 0))
    place.write("fairlead.local.toml", entry.format("local", 5, 9))
    hooks = Hooks.load(place.project, environ=place.environ, managed=str(place.root / "etc"), trust_project=True)
    assert [hook.name for hook in hooks] == ["local", "user", "project", "user-late", "managed"]
    assert [hook.origin.layer for hook in hooks] == ["local", "user", "project", "user", "managed"]


def test_the_users_configuration_directory_can_be_elsewhere(place: Home) -> None:
    place.write("~/elsewhere/fairlead/fairlead.toml", '[[hook]]\nname = "mine"\non = "Stop"\nrun = "x"\n')
    environ = {**place.environ, "XDG_CONFIG_HOME": str(place.home / "elsewhere")}
    assert [h.name for h in Hooks.load(place.project, environ=environ, managed="/nowhere")] == ["mine"]


def test_files_says_who_reads_a_shared_file(place: Home) -> None:
    settings_file = {"hooks": {"PreToolUse": [{"matcher": "Bash", "hooks": [{"type": "command", "command": "x"}]}]}}
    place.write(".claude/settings.json", settings_file)

    def dialects() -> list[str]:
        loaded = Hooks.load(place.project, environ=place.environ, managed="/nowhere", trust_project=True)
        return [hook.origin.dialect for hook in loaded]

    assert dialects() == ["claude-code"]
    place.write("fairlead.toml", '[files]\n".claude/settings.json" = "code-agent"\n')
    assert dialects() == ["code-agent"]


def test_a_file_that_is_not_toml_is_one_problem_with_its_place(place: Home) -> None:
    place.write("fairlead.toml", '[[hook]]\non = "PreToolUse\nrun = "x"\n')
    (problem,) = Hooks.load(place.project, environ=place.environ, managed="/nowhere").problems
    assert (problem.level, problem.line) == ("error", 2)
    assert "TOML" in problem.message


def test_the_schema_knows_every_key_and_the_reader_too() -> None:
    hook = schema()["properties"]["hook"]["items"]
    assert set(hook["properties"]) == _native_hook.KEYS
    assert set(schema()["properties"]) == native._TOP
    assert [one["required"] for one in hook["oneOf"]] == [[name] for name in _native_handlers.HANDLERS]
    from fairlead.dialects import HOOK_HALVES

    assert schema()["properties"]["files"]["additionalProperties"]["enum"] == list(HOOK_HALVES)


def test_the_schema_is_a_schema_and_lies_in_the_package() -> None:
    import fairlead

    Draft202012Validator.check_schema(schema())
    assert (Path(fairlead.__file__).parent / "fairlead.schema.json").read_text() == schema_text()


# --- whatever is written, schema and reader agree ---------------------------------------------------------

_words = st.sampled_from(["x", "./a.sh", "a b", "", " ", "a:b", "a.b:c", "a.py", "Stop", "stdin", "allow", "5s", "0s"])
_values: st.SearchStrategy[Any] = st.one_of(
    _words,
    st.integers(-3, 3),
    st.floats(-2, 2, allow_nan=False),
    st.booleans(),
    st.lists(st.one_of(_words, st.integers(0, 1)), max_size=2),
    st.dictionaries(st.sampled_from(["A", "B"]), st.one_of(_words, st.integers(0, 1)), max_size=2),
)
_RIGHT: dict[str, st.SearchStrategy[Any]] = {
    "on": st.one_of(st.sampled_from(sorted(EVENTS)), st.lists(st.sampled_from(sorted(EVENTS)), min_size=1, max_size=2)),
    "run": st.sampled_from(["x", ["x", "y"]]),
    "timeout": st.sampled_from(["5s", "1.5m", 3, 0.5]),
    "on_error": st.sampled_from(["allow", "deny"]),
    "enabled": st.booleans(),
    "env": st.just({"A": "b"}),
    "tool": st.sampled_from(["Bash", "a|b", "mcp__.*"]),
}
_KEYS = sorted(_native_hook.KEYS - {"if", "guard", "approval", "prompt", "agent", "http", "mcp_tool"})
_entries = st.builds(
    lambda right, wrong: {**right, **wrong},
    st.fixed_dictionaries(
        {"on": _RIGHT["on"], "run": _RIGHT["run"]}, optional={k: _RIGHT[k] for k in _RIGHT if k not in ("on", "run")}
    ),
    st.dictionaries(st.sampled_from([*_KEYS, "wat"]), _values, max_size=2),
)


def toml(value: Any) -> str:
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, (int, float)):
        return repr(value)
    if isinstance(value, str):
        return f"'{value}'"
    if isinstance(value, list):
        return f"[{', '.join(map(toml, value))}]"
    return "{" + ", ".join(f"{key} = {toml(item)}" for key, item in value.items()) + "}"


@settings(max_examples=300, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(st.lists(_entries, max_size=2))
def test_schema_and_reader_agree_about_whatever_is_written(entries: list[dict[str, Any]]) -> None:
    text = "".join("[[hook]]\n" + "".join(f"{k} = {toml(v)}\n" for k, v in entry.items()) for entry in entries)
    hooks, problems = read(text)
    errors = [problem for problem in problems if problem.level == "error"]
    assert schema_accepts(text) == (not errors), errors
    assert all(problem.line >= 1 and problem.message for problem in problems)
    assert len(hooks) <= len(entries)


def test_what_is_wrong_with_a_model_is_said_before_a_hook_asks(tmp_path: Path) -> None:
    file = tmp_path / ".config/fairlead/fairlead.toml"
    file.parent.mkdir(parents=True)
    file.write_text('[models.a]\nprovider = "opnai"\n[models.b]\nprovider = "openai"\napi_key = "sk-1"\ntokens = 3\n')
    file.chmod(0o644)
    environ = {"HOME": str(tmp_path)}
    found = Hooks.load(tmp_path / "project", environ=environ, managed="/nowhere").problems
    said = [(problem.line, problem.message) for problem in found]
    assert said[0] == (6, "unknown key 'tokens'")
    assert {(2, "unknown provider 'opnai'"), (5, "others can read this key")} <= set(said)
    assert not list(tmp_path.rglob("toml-*.json"))
    assert all("sk-1" not in str(problem) for problem in found)
