"""Every block of the document of CodeMie, as it is printed."""

from __future__ import annotations

import itertools
import json
import re
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from fairlead import Hooks
from tests.conftest import Home
from tests.seeds.conftest import Document, document

Json = dict[str, Any]
Fire = Callable[..., Any]
Stub = Callable[[str, str], Path]

CONFIG = "~/.codemie/codemie-cli.config.json"
CONFIGURATION, SCRIPT, PROMPT_HOOK, TESTING = 0, 2, 3, 28
INPUTS = {"PreToolUse": 4, "PostToolUse": 6, "UserPromptSubmit": 7, "SessionStart": 9, "Stop": 11}
OUTPUTS = {"PreToolUse": 5, "UserPromptSubmit": 8, "SessionStart": 10, "Stop": 12}
MATCHERS = (13, 14, 15)
EXAMPLES = {
    "check-safe-command.sh": (16, 17),
    "log-tool-usage.sh": (18, 19),
    "detect-os.sh": (20, 21),
    "add-env-context.sh": (23, 24),
    "check-tests.sh": (25, 26),
}
DETECTED, PROMPT_EXAMPLE = 22, 27
SCHEMA = {1}


@pytest.fixture
def doc() -> Document:
    return document("002")


def test_no_block_is_left_out(doc: Document) -> None:
    used = {CONFIGURATION, SCRIPT, PROMPT_HOOK, TESTING, DETECTED, PROMPT_EXAMPLE, *MATCHERS, *SCHEMA}
    used |= {*INPUTS.values(), *OUTPUTS.values(), *itertools.chain(*EXAMPLES.values())}
    assert used == set(range(len(doc)))


def in_profile(hooks: Any) -> Json:
    return {"version": 2, "activeProfile": "default", "profiles": {"default": {"hooks": hooks}}}


def sent(doc: Document, name: str, **more: Any) -> Json:
    return {**json.loads(doc[INPUTS[name]]), **more}


@pytest.fixture
def example(doc: Document, place: Home) -> Callable[[str], Path]:
    """Put an example in place; only the folder of its script is another one."""

    def install(script: str) -> Path:
        configuration, body = EXAMPLES[script]
        folder = place.home / "usr/local/bin"
        place.write(CONFIG, in_profile(json.loads(doc[configuration].replace("/usr/local/bin", str(folder)))))
        return place.script(f"~/usr/local/bin/{script}", doc[body])

    return install


# --- configuration and script ------------------------------------------------------------------------


@pytest.fixture
def configured(doc: Document, place: Home) -> None:
    place.write(CONFIG, doc[CONFIGURATION].replace("/path/to", str(place.home / "hooks")))
    place.script("~/hooks/pre-tool-hook.sh", doc[SCRIPT])
    place.script("~/hooks/post-tool-hook.sh", 'echo "$CODEMIE_HOOK_INPUT" > "$HOME/after"')


@pytest.mark.usefixtures("configured")
@pytest.mark.parametrize(
    ("more", "answer"),
    [
        ({}, {"decision": "allow"}),
        (
            {"tool_input": {"command": "rm -rf build"}},
            {"decision": "block", "reason": "Dangerous command blocked: rm -rf"},
        ),
        ({"tool_name": "Write", "tool_input": {"content": "rm -rf"}}, {"decision": "allow"}),
        ({"tool_name": "Read", "tool_input": {"command": "rm -rf"}}, {"decision": "allow"}),
    ],
    ids=["as printed", "dangerous", "another tool", "not matched"],
)
def test_the_command_hook(more: Json, answer: Json, doc: Document, fire: Fire) -> None:
    assert fire("codemie", sent(doc, "PreToolUse", **more)) == answer


@pytest.mark.usefixtures("configured")
def test_the_second_call_is_checked_like_the_first(doc: Document, fire: Fire) -> None:
    event = sent(doc, "PreToolUse", tool_input={"command": "rm -rf /"})
    assert [fire("codemie", event)["decision"] for _ in range(2)] == ["block", "block"]


@pytest.mark.usefixtures("configured")
def test_the_hook_after_a_tool_gets_the_printed_input(doc: Document, place: Home, fire: Fire) -> None:
    assert fire("codemie", sent(doc, "PostToolUse")) == {"decision": "allow"}
    assert json.loads((place.home / "after").read_text()) == sent(doc, "PostToolUse")


@pytest.mark.parametrize("name", INPUTS)
def test_a_hook_gets_the_printed_input(name: str, doc: Document, place: Home, fire: Fire) -> None:
    recorder = {"type": "command", "command": 'echo "$CODEMIE_HOOK_INPUT" > "$HOME/input"'}
    place.write(CONFIG, in_profile({name: [{"hooks": [recorder]}]}))

    assert fire("codemie", sent(doc, name)) == {"decision": "allow"}

    assert json.loads((place.home / "input").read_text()) == sent(doc, name)


def alternatives(block: str) -> Iterator[Json]:
    """`"allow" | "deny"` in a printed output: one output for each word."""
    choice = re.search(r'"\w+"(?: \| "\w+")+', block)
    assert choice
    for word in choice.group().split(" | "):
        yield json.loads(block.replace(choice.group(), word))


@pytest.mark.parametrize("name", OUTPUTS)
def test_the_printed_outputs_are_understood(name: str, doc: Document, place: Home, fire: Fire) -> None:
    for output in alternatives(doc[OUTPUTS[name]]):
        command = place.script("~/hook.sh", f"echo '{json.dumps(output)}'")
        place.write(CONFIG, in_profile({name: [{"hooks": [{"type": "command", "command": str(command)}]}]}))

        assert fire("codemie", sent(doc, name)) == output


def test_the_test_of_a_hook_by_hand(doc: Document, place: Home) -> None:
    place.script("your-hook-script.sh", doc[SCRIPT])

    ran = subprocess.run(
        ["/bin/bash", "-c", doc[TESTING]],
        cwd=place.project,
        env=place.environ,
        capture_output=True,
        check=True,
        text=True,
    )

    assert ran.stdout == '{"decision": "allow"}\n0\n'


# --- matchers ----------------------------------------------------------------------------------------


@pytest.mark.parametrize("tool", ["Bash", "Write", "Read", "Edit", "Rash", "BashOutput", "MultiEdit"])
def test_the_printed_matchers(tool: str, doc: Document, place: Home, fire: Fire) -> None:
    lines = [line for number in MATCHERS for line in doc[number].splitlines()]
    patterns = [json.loads(line.partition("//")[0])["matcher"] for line in lines]
    groups = [{"matcher": p, "hooks": [{"type": "command", "command": f"echo '{p}'"}]} for p in patterns]
    place.write(CONFIG, in_profile({"PreToolUse": groups}))

    answer = fire("codemie", sent(doc, "PreToolUse", tool_name=tool))

    wanted = {
        "*": True,
        "Bash": tool == "Bash",
        "Bash|Write": tool in ("Bash", "Write"),
        "[BR]ash": tool in ("Bash", "Rash"),
        "(Read|Write|Edit)": tool in ("Read", "Write", "Edit"),
    }
    assert list(wanted) == patterns
    assert answer["additionalContext"].splitlines() == [p for p, matches in wanted.items() if matches]


# --- the examples ------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("command", "reason"),
    [
        ("ls", ""),
        ("rm -rf /", "Dangerous command blocked: rm -rf /"),
        ("dd if=/dev/zero of=x", "Dangerous command blocked: dd if="),
        ("mkfs.ext4 /dev/sdb", "Dangerous command blocked: mkfs"),
        ("echo > /dev/sda", "Dangerous command blocked: > /dev/sda"),
    ],
)
def test_example_1_blocks_dangerous_commands(
    command: str, reason: str, doc: Document, example: Callable[[str], Path], fire: Fire
) -> None:
    example("check-safe-command.sh")

    answer = fire("codemie", sent(doc, "PreToolUse", tool_input={"command": command}))

    assert answer == ({"decision": "block", "reason": reason} if reason else {"decision": "allow"})


def test_example_2_logs_all_tools(doc: Document, example: Callable[[str], Path], place: Home, fire: Fire) -> None:
    example("log-tool-usage.sh")

    assert fire("codemie", sent(doc, "PostToolUse")) == {"decision": "allow"}

    assert json.loads((place.home / ".codemie/tool-usage.log").read_text()) == sent(doc, "PostToolUse")


def test_example_3_detects_the_system(doc: Document, example: Callable[[str], Path], stub: Stub, fire: Fire) -> None:
    stub("uname", "case $1 in -s) echo Darwin;; -m) echo arm64;; esac")
    stub("node", "echo v20.11.0")
    example("detect-os.sh")

    answer = fire("codemie", sent(doc, "SessionStart"))

    assert answer == {"decision": "allow", "additionalContext": "\n".join(doc[DETECTED].splitlines()[1:])}


@pytest.mark.parametrize(
    ("folder", "name"), [("production/app", "PRODUCTION"), ("elsewhere/app", "DEVELOPMENT")], ids=["production", "not"]
)
def test_example_4_adds_the_environment(
    folder: str, name: str, doc: Document, example: Callable[[str], Path], place: Home, fire: Fire
) -> None:
    example("add-env-context.sh")
    cwd = place.project / folder
    cwd.mkdir(parents=True)

    answer = fire("codemie", sent(doc, "UserPromptSubmit", cwd=str(cwd)))

    context = f"You are working in a {name} environment. Be extra careful with changes."
    assert answer == {"decision": "allow", "additionalContext": context}


@pytest.mark.parametrize(
    ("code", "answer"),
    [
        (0, {"decision": "allow"}),
        (1, {"decision": "block", "reason": "Tests are failing. Please fix the tests before completing."}),
    ],
    ids=["passing", "failing"],
)
def test_example_5_verifies_the_tests(
    code: int, answer: Json, doc: Document, example: Callable[[str], Path], stub: Stub, fire: Fire
) -> None:
    stub("npm", f'[ "$*" = test ] && exit {code}')
    example("check-tests.sh")

    assert fire("codemie", sent(doc, "Stop")) == answer


def test_the_prompt_hooks_are_read(doc: Document, place: Home) -> None:
    hooks = json.loads(doc[PROMPT_EXAMPLE])
    hooks["PreToolUse"].append({"matcher": "Bash", "hooks": [json.loads(doc[PROMPT_HOOK])]})
    place.write(CONFIG, in_profile(hooks))

    loaded = Hooks.load(place.project, environ=place.environ, agent="codemie", dialects=["codemie"])

    assert loaded.problems == ()
    assert [(hook.matcher.text, hook.timeout) for hook in loaded] == [("Write|Edit", 30.0), ("Bash", 30.0)]
