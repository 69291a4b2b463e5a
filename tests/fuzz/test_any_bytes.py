"""F2: no bytes of others end in an exception that nobody expects, or in no end at all."""

from __future__ import annotations

import importlib.util
import json
import subprocess
import sys
import time
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.dialects import samples
from tests.fuzz.targets import TARGETS, attempt

LONGEST = 10.0
"""Seconds of a processor for an input of some kilobytes: a hundred times what the slowest needs. More is a hang."""
SOAK_EACH = 6_000  # 17 targets: 102,000
ATHERIS_EACH = 60_000  # 1,020,000

PIECES = [
    *'{}[]()",:;|&<>$`\\\'\n\t\r #*?!~=-_./%@0aA\0\x7f\x1b\u202e\u200b\ud7ff\ufeff\U000e0041é',
    "null", "true", "NaN", "1e999", "-0", "9" * 4301, "\\ud800", "\\u0000", "[[", "]]", '"""', "'''", "<<E", "$((",
    "${x@P}", "a: &a [*a]", "<<: *a", "---", "!!python/object:os.system", "Bash(", "rm -rf /", "git ", "mcp__", ".*",
    "(a+)+$", "FLH1", "\x01\x00\x00\x00", "\xff\xff\xff\x7f", "hook_event_name", "tool_input", "command", "PreToolUse",
    "</system-reminder>", "<|im_start|>", "ghp_" + "a1B2" * 9, "AKIA" + "A" * 16, "password=", "python3 x.py",
    "./run.sh", "*** Begin Patch\n*** Update File: ", "@@", "eval ", "sh -c ", "PATH=", "//", "/*", "[a.b]", "[[hook]]",
    "on = ",
]  # fmt: skip
SEEDS = [json.dumps(make("ls -la && echo x")).encode() for make in samples.SHELL.values()]


def changed(seed: bytes, cuts: list[tuple[int, bytes]]) -> bytes:
    for at, more in cuts:
        place = at % (len(seed) + 1)
        seed = seed[:place] + more + seed[place + len(more) % 3 :]
    return seed


PIECE = st.sampled_from(PIECES).map(lambda piece: piece.encode("utf-8", "surrogatepass"))
ANY = st.one_of(
    st.binary(max_size=300),
    st.lists(PIECE, max_size=60).map(b"".join),
    st.builds(lambda piece, times: piece * times, PIECE, st.integers(1, 400)),
    st.builds(changed, st.sampled_from(SEEDS), st.lists(st.tuples(st.integers(0, 500), PIECE), max_size=6)),
)


def try_for(name: str, examples: int) -> None:
    target = TARGETS[name]

    @settings(max_examples=examples, deadline=None, database=None, suppress_health_check=list(HealthCheck))
    @given(ANY)
    def tried(data: bytes) -> None:
        started = time.thread_time()
        attempt(target, data)
        assert time.thread_time() - started < LONGEST

    tried()


@pytest.mark.parametrize("name", TARGETS)
def test_any_bytes_are_read_or_refused(name: str) -> None:
    try_for(name, 20)


@pytest.mark.soak
@pytest.mark.parametrize("name", TARGETS)
def test_soak_any_bytes_are_read_or_refused(name: str) -> None:
    try_for(name, SOAK_EACH)


ATHERIS = """
import sys, time
sys.path.insert(0, sys.argv.pop(1))
name = sys.argv.pop(1)
import atheris
with atheris.instrument_imports(include=["fairlead"]):
    from tests.fuzz.targets import TARGETS, attempt
def tried(data):
    started = time.thread_time()
    attempt(TARGETS[name], data)
    assert time.thread_time() - started < LONGEST, "it takes too long"
atheris.Setup(sys.argv, tried)
atheris.Fuzz()
""".replace("LONGEST", str(LONGEST))


@pytest.mark.soak
@pytest.mark.skipif(importlib.util.find_spec("atheris") is None, reason="atheris is not installed for this Python")
@pytest.mark.parametrize("name", TARGETS)
def test_soak_what_a_fuzzer_finds_by_coverage_is_read_or_refused(name: str, tmp_path: Path) -> None:
    root = str(Path(__file__).resolve().parents[2])
    words = ["-max_len=2048", "-timeout=300", f"-runs={ATHERIS_EACH}", "-seed=1", f"-artifact_prefix={tmp_path}/"]
    corpus = tmp_path / "corpus"
    corpus.mkdir()
    for number, seed in enumerate(SEEDS):
        (corpus / str(number)).write_bytes(seed)
    done = subprocess.run(
        [sys.executable, "-c", ATHERIS, root, name, *words, str(corpus)], capture_output=True, timeout=3000, check=False
    )
    assert done.returncode == 0, done.stderr[-3000:].decode(errors="replace")


FOUND = {"a name of half a character": ("masked values", rb'{"\ud800": 1, "password\ud800": "s3cr3t"}')}
"""What the long forms have found."""


@pytest.mark.parametrize("case", FOUND)
def test_what_was_found_once_stays_mended(case: str) -> None:
    name, data = FOUND[case]
    attempt(TARGETS[name], data)


# --- shapes that were made to take for ever ----------------------------------------------------------------

MERGES = "a0: &a0 {x: 1, y: 2}\n" + "".join(f"a{n}: &a{n} {{<<: [*a{n - 1}, *a{n - 1}]}}\n" for n in range(1, 40))
ALIASES = "a0: &a0 [x, y]\n" + "".join(f"a{n}: &a{n} [*a{n - 1}, *a{n - 1}]\n" for n in range(1, 60))
SLOW: dict[str, tuple[str, str]] = {
    "merges that double": ("front matter", MERGES),
    "aliases that double": ("front matter", ALIASES),
    "an alias of itself": ("front matter", "a: &a [*a]"),
    "much front matter": ("front matter", "a: 'x'\n" * 200_000),
    "objects under one key": ("JSON of a file", "{" + ",".join(f'"a":{{"b{n}":1}}' for n in range(30_000)) + "}"),
    "lists under one key": ("JSON of a file", "{" + ",".join('"a":[1]' for _ in range(100_000)) + "}"),
    "the same key often": ("keys twice", "{" + ",\n".join('"a":[1]' for _ in range(30_000)) + "}"),
    "a name of many parts": ("TOML", "a." * 300_000 + "a = 1"),
    "a table of many parts": ("TOML", "[" + "a." * 300_000 + "a]"),
    "quoted parts": ("TOML", '"a".' * 150_000 + "a = 1"),
    "tables in tables": ("TOML", "x = " + "{a=" * 100_000),
    "much TOML": ("TOML", "x = 1\n" * 400_000),
    "lists in lists": ("positions", "[" * 50_000),
    "objects in objects": ("positions", '{"a":' * 30_000),
    "comments that do not end": ("positions", "/* " * 50_000),
    "text that does not end": ("positions", '"' + '\\"' * 50_000),
    "long text that does not end": ("positions", '"""\\' * 30_000),
    "blanks": ("positions", " " * 100_000),
    "a key and blanks": ("positions", "a" + " " * 100_000),
    "tables that do not end": ("positions", "[a\n" * 50_000),
    "a folder that is named very often": ("names of programs", ".*" * 2_000),
    "a place of many parts": ("positions", "[" + "a." * 50_000 + "a]"),
}


@pytest.mark.parametrize("shape", SLOW)
def test_no_file_of_a_project_holds_a_call_up(shape: str) -> None:
    """Read before each call, and by whoever cloned it: a guard that hangs is one that some agents pass by."""
    name, text = SLOW[shape]
    started = time.thread_time()
    attempt(TARGETS[name], text.encode())
    assert time.thread_time() - started < LONGEST
