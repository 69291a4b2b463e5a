"""The answer of the server is that of `fairlead hook`, to the byte."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from collections.abc import Callable, Mapping
from typing import Any

import pytest

from fairlead import dialects
from fairlead.answering import as_hook, printed
from fairlead.cli._options import parse, request
from fairlead.dialects import AGENT_HALVES
from tests.conftest import Home
from tests.dialects import samples
from tests.warm.serving import Said, Server, ask

SCRIPT = r"""#!/bin/sh
IFS= read -r input
case "$input" in
*"say block"*) echo "not on my watch" >&2; exit 1;;
*"say allow"*) echo '{"hookSpecificOutput": {"hookEventName": "PreToolUse", "permissionDecision": "allow"}}';;
*"say rewrite"*) echo '{"hookSpecificOutput": {"hookEventName": "PreToolUse", "updatedInput": {"command": "pwd"}}}';;
*"say context"*) echo '{"hookSpecificOutput": {"hookEventName": "PreToolUse", "additionalContext": "by the way"}}';;
*"say failure"*) kill -9 $$;;
*"say message"*) echo '{"systemMessage": "for the user"}';;
*"say surroundings"*) echo "$(pwd) $(umask) $HOME $WHOSE $TMPDIR ${FAIRLEAD_JOURNAL-unset} $PWD" >&2; exit 1;;
*"say half"*) echo '{"decision": "bl';;
*"Stop"*) echo "go on" >&2; exit 1;;
esac
"""
COMMANDS = (
    "ls", "rm -rf /", "git push --force", "say block", "say allow", "say rewrite", "say context", "say failure",
    "say message", "say surroundings", "say half",
)  # fmt: skip
OTHERS: Mapping[str, dict[str, Any]] = {
    "PostToolUse": {"tool_name": "Bash", "tool_input": {"command": "say block"}, "tool_response": {"stdout": "x"}},
    "UserPromptSubmit": {"prompt": "say block"},
    "Stop": {"stop_hook_active": False},
    "SessionStart": {"source": "startup"},
}
UNREADABLE = (b"", b"\xff\xfe", b"{}")


@pytest.fixture
def asking(place: Home) -> Home:
    """Somebody with hooks in our files and in those of others, and a variable of their own."""
    script = place.script("~/hook.sh", SCRIPT)
    place.write(
        "~/.config/fairlead/fairlead.toml",
        f"""
        [[hook]]
        on = ["PreToolUse", "Stop", "UserPromptSubmit", "PostToolUse", "SessionStart"]
        run = "{script}"
        [[hook]]
        on = "PreToolUse"
        guard = ["filesystem", "git"]
        [[hook]]
        on = "PreToolUse"
        tool = "(("
        guard = ["secrets"]
        """,
    )
    handler = {"type": "command", "command": "true"}
    for file, matcher in (("~/.claude/settings.json", "Read"), (".claude/settings.json", "Bash")):
        place.write(file, {"hooks": {"PreToolUse": [{"matcher": matcher, "hooks": [handler]}]}})
    place.environ |= {
        "WHOSE": "mine",
        "TMPDIR": str(place.root),
        "M_APPROVAL_TOOLS": "Nothing",
        "CLAUDE_PROJECT_DIR": str(place.project),
    }
    return place


def cold(words: list[str], environ: Mapping[str, str], cwd: str, stdin: bytes) -> Said:
    """What `fairlead hook` says, without the process."""
    options = parse(words)
    half = dialects.agent_half(options.agent)
    raw = b"" if half.INPUT_VARIABLE and half.INPUT_VARIABLE in environ else stdin
    answer = as_hook(request(options, raw, environ, cwd=cwd, started=time.monotonic()))
    return Said(answer.reply.exit_code, answer.reply.stdout, printed(answer).encode("utf-8", "replace"))


def process(words: list[str], environ: Mapping[str, str], cwd: str, stdin: bytes) -> Said:
    done = subprocess.run(
        [sys.executable, "-m", "fairlead", "hook", *words],
        input=stdin,
        capture_output=True,
        env=environ,
        cwd=cwd,
        timeout=90,
        check=False,
    )
    return Said(done.returncode, done.stdout, done.stderr)


def events(agent: str, cwd: str) -> list[tuple[str, list[str], bytes]]:
    """Name, options and payload."""
    named = samples.EVENT.get(agent, "")
    words = ["--agent", agent, *(["--event", named] if named else [])]
    found = []
    for command in COMMANDS:
        payload = samples.SHELL[agent](command)
        payload = {**payload, "cwd": cwd} if "cwd" in payload else payload
        found.append((command, words, json.dumps(payload).encode()))
    for event, fields in OTHERS.items():
        raw = {"hook_event_name": event, "session_id": f"{agent}-{event}", "cwd": cwd, **fields}
        found.append((event, ["--agent", agent, "--event", event], json.dumps(raw).encode()))
    found += [(repr(raw), words, raw) for raw in UNREADABLE]
    return [*found, ("with the guard", [*words, "--guard"], found[1][2])]


@pytest.mark.parametrize("agent", AGENT_HALVES)
def test_every_agent_gets_the_same_answer(server: Server, asking: Home, agent: str) -> None:
    cwd = str(asking.project)
    os.umask(umask := os.umask(0))
    expected, found = {}, {}
    for name, words, raw in events(agent, cwd):
        expected[name] = cold(words, asking.environ, cwd, raw)
        found[name] = ask(server.socket, words, asking.environ, cwd, raw)
    assert found == expected
    assert f" {umask:04o} {asking.home} mine {asking.root} unset " in str(expected["say surroundings"])
    assert len(set(expected.values())) > 2


REAL: Mapping[str, tuple[str, str]] = {
    "a refusal": ("claude-code", "say block"),
    "nothing to say": ("codex", "ls"),
    "another input": ("gemini", "say rewrite"),
    "a guard": ("cursor", "rm -rf /"),
    "a failure": ("copilot", "say failure"),
    "the surroundings": ("grok", "say surroundings"),
}


@pytest.mark.parametrize(("agent", "command"), REAL.values(), ids=REAL)
def test_the_real_program_says_the_same(server: Server, asking: Home, agent: str, command: str) -> None:
    cwd = str(asking.project)
    for name, words, raw in events(agent, cwd):
        if name == command:
            found = process(words, asking.environ, cwd, raw)
            assert ask(server.socket, words, asking.environ, cwd, raw) == found
            return
    raise AssertionError(command)


BY_VARIABLE: Mapping[str, tuple[str, str, dict[str, str]]] = {
    "M in Claude Code": ("m", "Bash", {"CLAUDE_PROJECT_DIR": "/p"}),
    "M alone": ("m", "Bash", {}),
    "a folder in the home": ("kimi", "Shell", {}),
}


@pytest.mark.parametrize(("agent", "tool", "environ"), BY_VARIABLE.values(), ids=BY_VARIABLE)
def test_what_a_variable_of_the_agent_decides_no_variable_of_the_server_does(
    server: Server, place: Home, agent: str, tool: str, environ: dict[str, str]
) -> None:
    """The server has each of these variables too."""
    script = place.script("~/echo.sh", '#!/bin/sh\nread -r i; [ "$WHO" != kimi ] || { echo "$i"; exit 1; }\n')
    place.write("~/.config/fairlead/fairlead.toml", f'[[hook]]\non = "PreToolUse"\nrun = "{script}"\n')
    environ = {**place.environ, "M_APPROVAL_TOOLS": "Nothing", "WHO": agent, **environ}
    payload = {"hook_event_name": "PreToolUse", "session_id": "s", "tool_name": tool, "permission_mode": "default"}
    raw = json.dumps({**payload, "tool_input": {"command": "ls", "cwd": "~/below"}}).encode()
    said = process(["--agent", agent], environ, str(place.project), raw)
    assert ask(server.socket, ["--agent", agent], environ, str(place.project), raw) == said
    assert agent != "kimi" or f"{place.home}/below" in str(said)


def _entry(place: Home) -> tuple[dict[str, Any], dict[str, Any]]:
    """The last of the journal, without times and what follows from its place."""
    folder = place.home / ".local/state/fairlead/journal"
    lines = max(folder.glob("*.jsonl")).read_bytes().splitlines()
    details = max(folder.glob("*.details")).read_bytes().splitlines()
    summary, rest = json.loads(lines[-1]), json.loads(details[-1])
    for key in ("n", "t", "at", "sum", "chain", "ms", "times"):
        summary.pop(key, None)
    rest.pop("n", None)
    for hook in rest["hooks"]:
        hook.pop("ms", None)
    return summary, rest


@pytest.mark.parametrize("command", ["ls", "say block", "rm -rf /"])
def test_the_journal_of_who_asks_says_the_same(server: Server, asking: Home, command: str) -> None:
    cwd = str(asking.project)
    raw = json.dumps(samples.SHELL["claude-code"](command)).encode()
    cold(["--agent", "claude-code"], asking.environ, cwd, raw)
    expected = _entry(asking)
    ask(server.socket, ["--agent", "claude-code"], asking.environ, cwd, raw)
    assert _entry(asking) == expected


ALIKE: Mapping[str, Callable[[Home], tuple[list[str], dict[str, str], str]]] = {
    "a project by its relative name": lambda place: (["--project", "."], {}, str(place.project)),
    "no variable but PATH": lambda place: ([], {"HOME": ""}, str(place.project)),
    "a hook that calls a hook": lambda place: ([], {"FAIRLEAD_HOOK_RUN": "a/b"}, str(place.project)),
    "a circle of hooks": lambda place: ([], {"FAIRLEAD_HOOK_RUN": "/a/b/c/d/e"}, str(place.project)),
    "a project that is trusted": lambda place: (["--trust-project"], {}, str(place.project)),
    "a home with strange letters": lambda place: ([], {"HOME": str(place.root / "h\udcff m é")}, str(place.project)),
    "a working directory that is not the project": lambda place: ([], {"CLAUDE_PROJECT_DIR": ""}, str(place.home)),
}


@pytest.mark.parametrize("case", ALIKE.values(), ids=ALIKE)
def test_in_strange_surroundings_too(
    server: Server, asking: Home, case: Callable[[Home], tuple[list[str], dict[str, str], str]]
) -> None:
    words, environ, cwd = case(asking)
    asking.write("fairlead.toml", '[[hook]]\non = "PreToolUse"\nrun = "echo the project; exit 1"\n')
    environ = {**asking.environ, **environ}
    raw = json.dumps({**samples.SHELL["claude-code"]("ls"), "cwd": cwd}).encode()
    words = ["--agent", "claude-code", *words]
    assert ask(server.socket, words, environ, cwd, raw) == cold(words, environ, cwd, raw)


def test_an_agent_that_reads_the_settings_of_another_is_recognised(server: Server, asking: Home) -> None:
    raw = json.dumps(samples.SHELL["grok"]("say block")).encode()
    words = ["--agent", "claude-code"]
    expected = cold(words, asking.environ, str(asking.project), raw)
    assert ask(server.socket, words, asking.environ, str(asking.project), raw) == expected


def test_what_two_ask_at_the_same_time_is_answered_to_each(server: Server, asking: Home) -> None:
    """With variables of its own each, and the same hooks."""
    from concurrent.futures import ThreadPoolExecutor

    raw = json.dumps(samples.SHELL["claude-code"]("say surroundings")).encode()

    def one(number: int) -> bool:
        environ = {**asking.environ, "WHOSE": f"number {number}."}
        said = ask(server.socket, ["--agent", "claude-code"], environ, str(asking.project), raw)
        return f"number {number}." in said.out.decode()

    with ThreadPoolExecutor(16) as pool:
        assert all(pool.map(one, range(48)))


def test_what_is_too_large_for_a_variable_lies_where_the_agent_has_its_files(server: Server, place: Home) -> None:
    """Beside stdin, for hooks of Code Agent; not where the server has its own."""
    folder = place.root / "tmp"
    folder.mkdir()
    script = place.script("~/where.sh", '#!/bin/sh\ncat > /dev/null; echo "$FAIRLEAD_INPUT_FILE" >&2; exit 1\n')
    handler = {"type": "command", "command": str(script)}
    place.write("~/.config/fairlead/adopted/code-agent.json", {"hooks": {"PreToolUse": [{"hooks": [handler]}]}})
    raw = json.dumps(samples.SHELL["codex"]("echo " + "x" * 200_000)).encode()
    environ = {**place.environ, "TMPDIR": str(folder)}
    for said in (
        ask(server.socket, ["--agent", "codex"], environ, str(place.project), raw),
        process(["--agent", "codex"], environ, str(place.project), raw),
    ):
        assert f"{folder}/fairlead-input-" in str(said)
