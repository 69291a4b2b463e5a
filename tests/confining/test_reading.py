"""What fairlead.toml says about a hook's process, and what its schema says about that."""

from __future__ import annotations

import tomllib

import pytest
from jsonschema import Draft202012Validator

from fairlead.confining import Bounds, Limits, Sandbox
from fairlead.dialects import Places, Source, native
from fairlead.errors import Problem
from fairlead.hooks import Hook
from fairlead.schema import schema

VALIDATOR = Draft202012Validator(schema())
RUN = '[[hook]]\non = "PreToolUse"\nrun = "x"\n'


def read(text: str) -> tuple[tuple[Hook, ...], list[Problem]]:
    source = Source(path="/home/user/.config/fairlead/fairlead.toml", layer="user", owner="user")
    reading = native.read(source, text, Places(home="/home/user", project="/project", environ={}))
    return reading.hooks, [problem for problem in reading.problems if problem.level == "error"]


RIGHT: dict[str, tuple[str, Bounds | None]] = {
    "nothing": ("", None),
    "a table": ('env = { A = "b" }', None),
    "names": ('env = ["PATH", "LC_*"]', Bounds(names=("PATH", "LC_*"))),
    "no names": ("env = []", Bounds(names=())),
    "names and values": ('env = ["PATH"]\nset = { A = "b" }', Bounds(names=("PATH",), sets={"A": "b"})),
    "every limit": (
        'limits = { cpu = "10s", memory = "512MB", processes = 64, file_size = "1 GiB", open_files = 256 }',
        Bounds(limits=Limits(cpu=10, memory=512_000_000, processes=64, file_size=1 << 30, open_files=256)),
    ),
    "part of a second": ('limits = { cpu = "100ms" }', Bounds(limits=Limits(cpu=1))),
    "bytes": ("limits = { memory = 1000000 }", Bounds(limits=Limits(memory=1_000_000))),
    "a sandbox": ("sandbox = true", Bounds(sandbox=Sandbox())),
    "no sandbox": ("sandbox = false", Bounds()),
    "a sandbox with doors": (
        'sandbox = { network = true, write = ["build", "$TMPDIR"], by = "landlock" }',
        Bounds(sandbox=Sandbox(network=True, write=("build", "$TMPDIR"), by="landlock")),
    ),
}

WRONG: dict[str, tuple[str, str, Bounds | None]] = {
    "a number among the names": ('env = ["PATH", 1]', "not the name of a variable", Bounds(names=("PATH",))),
    "an assignment": ('env = ["A=b"]', "not the name of a variable", Bounds(names=())),
    "an empty name": ('env = [""]', "not the name of a variable", Bounds(names=())),
    "values without names": ('set = { A = "b" }', "goes with a list", Bounds()),
    "a value that is a number": ('env = ["A"]\nset = { A = 1 }', "A must be a string", Bounds(names=("A",))),
    "limits that are a number": ("limits = 5", "must be a table", Bounds(limits=Limits())),
    "an unknown limit": ("limits = { cpus = 5 }", "did you mean 'cpu'", Bounds(limits=Limits())),
    "a size without a unit": ('limits = { memory = "512" }', '"512MB"', Bounds(limits=Limits())),
    "a size of nothing": ('limits = { memory = "0MB" }', '"512MB"', Bounds(limits=Limits())),
    "a size in another unit": ('limits = { file_size = "5 floppies" }', '"100MB"', Bounds(limits=Limits())),
    "half a process": ("limits = { processes = 1.5 }", "whole number", Bounds(limits=Limits())),
    "no files": ("limits = { open_files = 0 }", "whole number", Bounds(limits=Limits())),
    "no time": ('limits = { cpu = "soon" }', "a time", Bounds(limits=Limits())),
    "one wrong limit of two": ("limits = { cpu = 5, processes = -1 }", "whole", Bounds(limits=Limits(cpu=5))),
    "a sandbox in words": ('sandbox = "yes"', "true, false or a table", Bounds(sandbox=Sandbox())),
    "a network in words": ('sandbox = { network = "yes" }', "true or false", Bounds(sandbox=Sandbox())),
    "one folder without a list": ('sandbox = { write = "build" }', "list of folders", Bounds(sandbox=Sandbox())),
    "a folder that is a number": (
        'sandbox = { write = ["a", 1] }', "must be a string", Bounds(sandbox=Sandbox(write=("a",)))
    ),
    "an unknown door": ("sandbox = { netwrok = true }", "did you mean 'network'", Bounds(sandbox=Sandbox())),
    "an unknown way": ('sandbox = { by = "docker" }', "bubblewrap, landlock", Bounds(sandbox=Sandbox())),
}  # fmt: skip


@pytest.mark.parametrize(("lines", "bounds"), RIGHT.values(), ids=RIGHT)
def test_what_is_right_is_read_and_accepted_by_the_schema(lines: str, bounds: Bounds | None) -> None:
    (hook,), problems = read(f"{RUN}{lines}\n")
    assert problems == []
    assert hook.options.get("bounds") == bounds
    VALIDATOR.validate(tomllib.loads(f"{RUN}{lines}\n"))


@pytest.mark.parametrize(("lines", "said", "bounds"), WRONG.values(), ids=WRONG)
def test_what_is_wrong_is_reported_and_never_makes_the_process_freer(
    lines: str, said: str, bounds: Bounds | None
) -> None:
    (hook,), problems = read(f"{RUN}{lines}\n")
    assert any(said in f"{problem.message} {problem.hint}" and problem.line >= 4 for problem in problems), problems
    assert hook.options.get("bounds") == bounds
    assert not VALIDATOR.is_valid(tomllib.loads(f"{RUN}{lines}\n"))


@pytest.mark.parametrize("key", ["sandbox = true", "limits = { cpu = 1 }", 'env = ["PATH"]'])
@pytest.mark.parametrize(("other", "is_process"), [('prompt = "x?"', False), ('python = "a.py"', True)])
def test_only_what_has_a_process_can_have_bounds(key: str, other: str, is_process: bool) -> None:
    text = f'[[hook]]\non = "PreToolUse"\n{other}\n{key}\n'
    _hooks, problems = read(text)
    assert bool(problems) is not is_process
    assert VALIDATOR.is_valid(tomllib.loads(text)) is is_process


def test_a_python_hook_can_have_a_table_of_variables_too() -> None:
    (hook,), problems = read('[[hook]]\non = "PreToolUse"\npython = "a:b"\nenv = { A = "b" }\n')
    assert problems == []
    assert hook.options["bounds"] == Bounds(sets={"A": "b"})
    assert hook.handler.apart  # type: ignore[attr-defined]
