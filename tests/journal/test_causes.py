"""Why did my hook not run? For each of the commonest causes one command says it, with the place and what to do.

The page docs/why-did-my-hook-not-run.md has the same table, and is compared with this one.
"""

from __future__ import annotations

import json
import re
import shlex
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from fairlead.cli.doctor import _print
from fairlead.dialects import Places
from fairlead.doctor import examine
from tests.conftest import Home, Ran

PAGE = Path(__file__).resolve().parents[2] / "docs" / "why-did-my-hook-not-run.md"

DOCTOR, CHECK, LOG = "fairlead doctor", "fairlead check", "fairlead log NUMBER"
EXPLAIN = "fairlead explain --command 'git push --force'"
CLAUDE, MINE, GEMINI = "~/.claude/settings.json", "~/.config/fairlead/fairlead.toml", "~/.gemini/settings.json"
REFUSES = "#!/bin/sh\necho no >&2\nexit 2\n"
EVENT = {
    "hook_event_name": "PreToolUse",
    "session_id": "s",
    "tool_name": "Bash",
    "tool_input": {"command": "git push --force"},
}
JUDGE = "fairlead fire --agent claude-code --trust-project"
JUDGE_LARGE = "fairlead fire --agent code-agent --trust-project"
"""Whose hooks find the input in a variable."""


class Cause(NamedTuple):
    files: dict[str, Any]
    """`~/x` is in the home, anything else in the project; a name that ends in `*` is executable."""
    command: str
    says: tuple[str, str]
    """The cause, and what to do; `{home}` and `{project}` are filled in."""
    at: str = ""
    """file:line"""
    before: tuple[str, ...] = ()
    """Commands that were given before, with a tool call on stdin."""
    then: dict[str, Any] | None = None
    """Files that somebody has changed since."""


def command(line: str, **more: Any) -> dict[str, Any]:
    return {"type": "command", "command": line, **more}


TRUE = command("/bin/true")


def groups(event: str, *handlers: dict[str, Any], **group: Any) -> dict[str, Any]:
    return {"hooks": {event: [{**group, "hooks": list(handlers)}]}}


def claude(line: str = "/bin/true", **more: Any) -> dict[str, Any]:
    return groups("PreToolUse", command(line, **more))


def matched(matcher: str) -> dict[str, Any]:
    return groups("PreToolUse", TRUE, matcher=matcher)


def toml(*lines: str) -> str:
    return "\n".join(("[[hook]]", 'on = "PreToolUse"', *lines, ""))


GUARD = "~/guard.sh"

CAUSES: dict[str, Cause] = {
    # --- events
    "the event in the wrong case": Cause(
        {CLAUDE: groups("preToolUse", TRUE)}, DOCTOR,
        ("Claude Code has no event 'preToolUse' and never calls it", "write 'PreToolUse'"), f"{CLAUDE}:3",
    ),
    "the same, in a file that several agents read": Cause(
        {".claude/settings.json": groups("preToolUse", TRUE)}, CHECK,
        ("Claude Code has no event 'preToolUse'", "write 'PreToolUse'"), ".claude/settings.json:3",
    ),
    "the same, seen from a call": Cause(
        {".claude/settings.json": groups("preToolUse", command("exit 3"))}, f"{EXPLAIN} --trust-project",
        ("Claude Code has no event 'preToolUse': this is read as if it were claude-agent's", "write 'PreToolUse'"),
        ".claude/settings.json:6",
    ),
    "the event misspelt": Cause(
        {MINE: '[[hook]]\non = "PreToolUze"\nrun = "true"\n'}, CHECK,
        ("unknown event 'PreToolUze'", "did you mean 'PreToolUse'?"), f"{MINE}:2",
    ),
    "another agent's name for the event": Cause(
        {GEMINI: groups("PreToolUse", TRUE)}, DOCTOR,
        ("Gemini CLI has no event 'PreToolUse'", "write 'BeforeTool'"), f"{GEMINI}:3",
    ),
    # --- matchers
    "the tool in the wrong case": Cause(
        {CLAUDE: matched("bash")}, EXPLAIN,
        ("its matcher 'bash' does not match 'Bash'", "upper and lower case count: write 'Bash'"), f"{CLAUDE}:7",
    ),
    "a part of the tool's name": Cause(
        {CLAUDE: matched("Ba")}, EXPLAIN,
        ("its matcher 'Ba' does not match 'Bash'", "a plain word is compared with the whole name: write 'Bash'"),
        f"{CLAUDE}:7",
    ),
    "a permission rule as the matcher": Cause(
        {CLAUDE: matched("Bash(git *)")}, DOCTOR,
        ("the matcher 'Bash(git *)' matches no tool of Claude Code", "write 'Bash', and put 'Bash(git *)' into \"if\""),
        f"{CLAUDE}:5",
    ),
    "an MCP server without a tool": Cause(
        {CLAUDE: matched("mcp__memory")}, DOCTOR,
        ("'mcp__memory' matches nothing: it is compared with whole names", "write 'mcp__memory__.*'"), f"{CLAUDE}:5",
    ),
    "another agent's name for the tool": Cause(
        {CLAUDE: matched("run_shell_command")}, EXPLAIN,
        ("its matcher 'run_shell_command' does not match 'Bash'", "Claude Code calls this tool 'Bash'"), f"{CLAUDE}:7",
    ),
    "Claude Code's name for a tool of Gemini CLI": Cause(
        {GEMINI: groups("BeforeTool", TRUE, matcher="Bash")}, DOCTOR,
        ("the matcher 'Bash' matches no tool of Gemini CLI", "Gemini CLI calls this tool 'run_shell_command'"),
        f"{GEMINI}:5",
    ),
    "a rule in `if` that is about other calls": Cause(
        {MINE: toml('if = "Bash(npm *)"', 'run = "true"')}, EXPLAIN,
        ("its rule Bash(npm *) does not apply", "is about other calls than Bash(git push --force): change it"),
        f"{MINE}:1",
    ),
    # --- the program
    "the script is not executable": Cause(
        {CLAUDE: claude(GUARD), GUARD: REFUSES}, DOCTOR,
        ("{home}/guard.sh is not executable; every PreToolUse goes through unchecked", "chmod +x {home}/guard.sh"),
        f"{CLAUDE}:8",
    ),
    "the script is not there": Cause(
        {CLAUDE: claude(GUARD)}, DOCTOR,
        ("there is no file {home}/guard.sh", "put it there, or correct the path"), f"{CLAUDE}:8",
    ),
    "its interpreter is not there": Cause(
        {CLAUDE: claude(GUARD), f"{GUARD}*": "#!/usr/local/bin/nosh\n"}, DOCTOR,
        ("{home}/guard.sh wants /usr/local/bin/nosh, which is not there", "correct its first line, or install it"),
        f"{CLAUDE}:8",
    ),
    "Windows line ends": Cause(
        {MINE: toml('run = "~/guard.sh"'), f"{GUARD}*": REFUSES.replace("\n", "\r\n")}, CHECK,
        ("{home}/guard.sh has Windows line ends", "sed -i 's/\\r$//' {home}/guard.sh"), f"{MINE}:3",
    ),
    "a relative path, seen from another directory": Cause(
        {MINE: toml('run = "./guard.sh"'), "guard.sh*": REFUSES, "sub/file": ""}, f"{EXPLAIN} --project sub",
        ("there is no program './guard.sh'", "it is looked for in {project}/sub"), f"{MINE}:1",
    ),
    "a relative path in an agent that changes directories": Cause(
        {".claude/settings.json": claude("./guard.sh"), "guard.sh*": REFUSES}, DOCTOR,
        ("'./guard.sh' is found from {project} alone", 'write "$CLAUDE_PROJECT_DIR"/…'), ".claude/settings.json:8",
    ),
    "a variable that the agent does not set": Cause(
        {"~/.codex/hooks.json": claude('"$CLAUDE_PROJECT_DIR"/guard.sh')}, DOCTOR,
        ("Codex does not set $CLAUDE_PROJECT_DIR: the path is empty", "write the absolute path"),
        "~/.codex/hooks.json:8",
    ),
    "a variable that nobody sets": Cause(
        {MINE: toml('run = "$MY_HOOKS/guard.sh"')}, EXPLAIN,
        ("the variable $MY_HOOKS is not set here", "set it in the hook's own environment, or write the path"),
        f"{MINE}:1",
    ),
    # --- trust and switches
    "Fairlead does not trust the project": Cause(
        {"fairlead.toml": toml('run = "true"')}, EXPLAIN,
        ("comes from a project that is not trusted", "say whether it may run: `fairlead trust`"),
        "fairlead.toml:1",
    ),
    "Claude Code does not trust the folder": Cause(
        {".claude/settings.json": claude()}, DOCTOR,
        ("you have not trusted {project} in Claude Code", "start `claude` there once and accept the folder"),
    ),
    "Codex does not trust the hook": Cause(
        {"~/.codex/hooks.json": claude()}, DOCTOR,
        ("a hook is not trusted: Codex skips such hooks without a word", "type /hooks"), "~/.codex/hooks.json:6",
    ),
    "all hooks are off (`disableAllHooks`)": Cause(
        {CLAUDE: {"disableAllHooks": True, **claude()}}, EXPLAIN,
        ("is switched off", "{home}/.claude/settings.json:2: disableAllHooks is true"), f"{CLAUDE}:7",
    ),
    "this hook is off (`enabled = false`)": Cause(
        {MINE: toml("enabled = false", 'run = "true"')}, EXPLAIN,
        ("is switched off", "take out `enabled = false`"), f"{MINE}:1",
    ),
    # --- the file
    "a local file in the home, which no agent reads": Cause(
        {"~/.claude/settings.local.json": claude()}, DOCTOR,
        ("Claude Code reads no hooks from this file", "move them to {home}/.claude/settings.json"),
        "~/.claude/settings.local.json:2",
    ),
    "another agent's file name": Cause(
        {".cursor/settings.json": groups("preToolUse", TRUE)}, DOCTOR,
        ("Cursor reads no hooks from this file", "move them to {project}/.cursor/hooks.json"),
        ".cursor/settings.json:2",
    ),
    "fairlead.toml in the wrong place": Cause(
        {"~/fairlead.toml": toml('run = "true"')}, DOCTOR,
        ("Fairlead does not read this file here", "move it to {home}/.config/fairlead/fairlead.toml"),
        "~/fairlead.toml:1",
    ),
    "the file is not JSON": Cause(
        {CLAUDE: '{"hooks": {\n'}, DOCTOR,
        ("not JSON: Expecting property name", "mend it; until then none of its hooks run"), f"{CLAUDE}:2",
    ),
    "the file is not TOML": Cause(
        {MINE: "[[hook]]\non = PreToolUse\n"}, DOCTOR,
        ("not TOML: Invalid value", "mend it there (text stands in quotes)"), f"{MINE}:2",
    ),
    "a handler one level too high": Cause(
        {CLAUDE: {"hooks": {"PreToolUse": [TRUE]}}}, DOCTOR,
        ("a handler stands where a group is needed", 'write {"matcher": "…", "hooks": [{'), f"{CLAUDE}:4",
    ),
    "an event outside of `hooks`": Cause(
        {CLAUDE: {"PreToolUse": [{"hooks": [TRUE]}]}}, DOCTOR,
        ("'PreToolUse' must stand inside \"hooks\"", 'write {"hooks": {"EVENT"'), f"{CLAUDE}:2",
    ),
    "a nearer file has put another hook in its place": Cause(
        {
            "~/.config/amcp/hooks.toml": '[[hooks.PreToolUse.handlers]]\nmatcher = "Bash"\ncommand = "true"\n',
            ".amcp/hooks.toml": '[[hooks.PreToolUse.handlers]]\nmatcher = "Bash"\ncommand = "/bin/true"\n',
        }, f"{EXPLAIN} --trust-project",
        ("is replaced by a hook in a nearer file", "the nearer one: {project}/.amcp/hooks.toml:1"),
        "~/.config/amcp/hooks.toml:1",
    ),
    # --- time
    "too little time": Cause(
        {CLAUDE: claude("sleep 600", timeout=0.05)}, EXPLAIN,
        ("failed: timed out after 0.05 s", "raise its timeout, which Claude Code counts in seconds"), f"{CLAUDE}:6",
    ),
    "seconds where milliseconds are counted": Cause(
        {GEMINI: groups("BeforeTool", command("/bin/true", timeout=5))}, DOCTOR,
        ("Gemini CLI counts milliseconds: 5 is 0.005 s", "for 5 seconds write 5000"), f"{GEMINI}:9",
    ),
    "milliseconds where seconds are counted": Cause(
        {CLAUDE: claude(timeout=60_000)}, DOCTOR,
        ("Claude Code counts seconds: 60000 is 16.7 hours", "for 60000 milliseconds write 60"), f"{CLAUDE}:9",
    ),
    "Qwen Code, which guesses the unit": Cause(
        {"~/.qwen/settings.json": claude(timeout=3600)}, DOCTOR,
        ("Qwen Code takes 1000 and more for milliseconds: 3600 is 3.6 s", "for 3600 seconds write 3600000"),
        "~/.qwen/settings.json:9",
    ),
    # --- the answer
    "exit code 1, which refuses nothing": Cause(
        {CLAUDE: claude("echo no >&2; exit 1")}, EXPLAIN,
        ("failed: exit 1: no", "Claude Code takes exit code 2 for a refusal; after this one the call goes on"),
        f"{CLAUDE}:6",
    ),
    "the same, after it has happened": Cause(
        {CLAUDE: claude("echo no >&2; exit 1")}, LOG,
        ("exit 1: no", "Claude Code takes exit code 2 for a refusal; after this one the call goes on"), CLAUDE,
        before=(JUDGE,),
    ),
    "JSON that is broken": Cause(
        {CLAUDE: claude("echo '{\"decision\": deny'")}, EXPLAIN,
        ("its output starts like JSON and does not end like it", "print one whole JSON object and nothing else"),
        f"{CLAUDE}:6",
    ),
    "JSON with the wrong keys": Cause(
        {CLAUDE: claude("echo '{\"permissionDecision\": \"deny\"}'")}, EXPLAIN,
        ('its output decides nothing: {"permissionDecision": "deny"}', "to refuse, exit with 2"), f"{CLAUDE}:6",
    ),
    "words instead of a refusal": Cause(
        {MINE: toml("run = 'echo denied'")}, EXPLAIN,
        ("its output decides nothing: denied", "to refuse, exit with 2 and write the reason to stderr"), f"{MINE}:1",
    ),
    "a banner before the JSON": Cause(
        {CLAUDE: claude("echo Welcome; echo '{\"decision\": \"block\", \"reason\": \"no\"}'")}, EXPLAIN,
        ("Claude Code itself takes this for plain text", "print nothing before the JSON (not Welcome)"), f"{CLAUDE}:6",
    ),
    "a hook that nobody waits for (`async`)": Cause(
        {CLAUDE: groups("PreToolUse", {**TRUE, "async": True})}, DOCTOR,
        ("an async hook decides nothing: the call has gone on when it answers", 'remove "async"'), f"{CLAUDE}:9",
    ),
    "`once`, and it has run": Cause(
        {MINE: toml("once = true", 'run = "true"')}, LOG,
        ("has `once`, and has run in this session", "take out `once`, or begin a new session"), MINE,
        before=(JUDGE, JUDGE),
    ),
    "the input is larger than a variable holds": Cause(
        {".claude/settings.json": claude("true")}, LOG,
        ("could not see this call: its input is larger than", 'a hook that reads it there says "reads": "stdin"'),
        ".claude/settings.json", before=(JUDGE_LARGE,),
    ),
    # --- Fairlead
    "no agent asks Fairlead": Cause(
        {MINE: toml('run = "true"'), CLAUDE: {}}, DOCTOR,
        ("no agent here calls Fairlead, so the hooks in this file never run", "`fairlead init`"), MINE,
    ),
    "the agent's settings have been written anew": Cause(
        {CLAUDE: {}}, DOCTOR,
        ("Fairlead was installed here, and its entry has gone", "`fairlead init --agent claude-code` puts it back"),
        CLAUDE, before=("fairlead init --agent claude-code --yes",), then={CLAUDE: {}},
    ),
    "Fairlead has moved": Cause(
        {CLAUDE: claude("/opt/old/bin/python -I -m fairlead hook --agent claude-code")}, DOCTOR,
        ("/opt/old/bin/python, with which Fairlead is called here, is not there any more", "run `fairlead init` again"),
        f"{CLAUDE}:6",
    ),
    "nothing has been asked yet": Cause(
        {}, "fairlead log",
        ("no agent has asked Fairlead anything yet", "`fairlead doctor` says what keeps hooks from running"),
    ),
    "the approval server is not running": Cause(
        {MINE: toml('approval = "look at it"')}, DOCTOR,
        ("this hook asks a person, and no approval server is running", "start it with `fairlead serve`"), f"{MINE}:3",
    ),
    "a prompt without a language model": Cause(
        {MINE: toml('prompt = "Is it safe?"')}, DOCTOR,
        ("no language model is set up", "or set ANTHROPIC_API_KEY"), f"{MINE}:1",
    ),
    "an MCP server that is not configured": Cause(
        {MINE: toml('mcp_tool = "scanner/scan"')}, CHECK,
        ("the MCP server 'scanner' is not configured", "define it as [mcp_servers.scanner]"), f"{MINE}:1",
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", CAUSES)
def test_one_command_names_the_cause_its_place_and_what_to_do(
    name: str, place: Home, fairlead: Callable[..., Ran]
) -> None:
    cause = CAUSES[name]
    write(place, cause.files)
    for line in cause.before:
        give(line, place, fairlead)
    write(place, cause.then or {})
    page = shown(cause.command, fairlead)
    for words in (*cause.says, cause.at):
        assert filled(words, place) in page, page


def write(place: Home, files: dict[str, Any]) -> None:
    for path, content in files.items():
        file = place.write(path.rstrip("*"), "", executable=path.endswith("*"))
        text = content if isinstance(content, str) else json.dumps(content, indent=2)
        file.write_bytes(text.encode())


def give(line: str, place: Home, fairlead: Callable[..., Ran]) -> None:
    event: dict[str, Any] = {**EVENT, "cwd": str(place.project)}
    if line == JUDGE_LARGE:
        payload = {**event, "tool_input": {"command": "x" * 300_000}}
        event = {"type": "PreToolUse", "timestamp": 0, "sessionId": "s", "payload": payload}
    ran = fairlead(*shlex.split(line)[1:], stdin=event)
    assert ran.code == 0, ran.err


def shown(line: str, fairlead: Callable[..., Ran]) -> str:
    """What the command prints, with one space between words."""
    words = shlex.split(line)[1:]
    if "NUMBER" in words:
        words[words.index("NUMBER")] = str(fairlead("log", "--json", "-n", "1").json["n"])
    ran = fairlead(*words)
    assert not ran.err, ran.err
    return " ".join(ran.out.decode().split())


def filled(words: str, place: Home) -> str:
    return words.replace("{home}", str(place.home)).replace("{project}", str(place.project))


def test_an_organisation_that_lets_only_its_own_hooks_run_is_named(
    place: Home, capsys: pytest.CaptureFixture[str]
) -> None:
    place.write(CLAUDE, claude())
    file = place.root / "etc" / "claude-code" / "managed-settings.json"
    file.parent.mkdir(parents=True)
    file.write_text('{"allowManagedHooksOnly": true}')
    _print(
        examine(
            Places(
                home=str(place.home), project=str(place.project), environ=place.environ, managed=str(place.root / "etc")
            )
        )
    )
    page = " ".join(capsys.readouterr().out.split())
    assert "allowManagedHooksOnly is true: Claude Code runs only the machine's hooks" in page
    assert "ask whoever runs this machine" in page


# --- nothing is said where nothing is wrong ------------------------------------------------------------

FINE: dict[str, tuple[dict[str, Any], str]] = {
    "a list of tools, one of them another agent's": ({CLAUDE: matched("Bash|run_shell_command")}, DOCTOR),
    "a tool that nobody knows": ({CLAUDE: matched("Frobnicate")}, DOCTOR),
    "a pattern": ({CLAUDE: matched("^(Bash|Edit)$")}, DOCTOR),
    "a part of a name in an agent that searches": ({GEMINI: groups("BeforeTool", TRUE, matcher="write")}, DOCTOR),
    "a hook with nothing to say in JSON": ({CLAUDE: claude("echo '{\"suppressOutput\": true}'")}, EXPLAIN),
    "a hook with an empty object": ({CLAUDE: claude("echo '{}'")}, EXPLAIN),
    "a hook that is silent": ({CLAUDE: claude()}, EXPLAIN),
    "an MCP tool in full": ({CLAUDE: matched("mcp__memory__read")}, DOCTOR),
    "settings of Claude Code without hooks": ({"~/.claude.json": {"hooks": {}, "projects": {}}}, DOCTOR),
    "claude-agent's own file": (
        {
            ".claude/settings.json": groups("preToolUse", TRUE),
            MINE: '[files]\n".claude/settings.json" = "claude-agent"\n',
        },
        CHECK,
    ),
}
_ADVICE = re.compile(r"matches no tool|decides nothing|reads no hooks|write '|read as if it were")


@pytest.mark.parametrize("name", FINE)
def test_what_is_fine_gets_no_advice(name: str, place: Home, fairlead: Callable[..., Ran]) -> None:
    files, line = FINE[name]
    write(place, files)
    assert not _ADVICE.search(shown(line, fairlead))


def test_a_mis_cased_event_is_said_where_nothing_is_run(place: Home, fairlead: Callable[..., Ran]) -> None:
    write(place, {".claude/settings.json": groups("preToolUse", TRUE)})
    assert "Claude Code has no event 'preToolUse'" in shown(f"{EXPLAIN} --trust-project --dry-run", fairlead)


def test_that_nobody_asks_is_not_said_because_one_looks_at_another_agent(
    place: Home, fairlead: Callable[..., Ran]
) -> None:
    write(place, {MINE: toml('run = "true"'), CLAUDE: {}})
    give("fairlead init --agent claude-code --yes", place, fairlead)
    assert "no agent here calls Fairlead" not in shown("fairlead doctor --agent codex", fairlead)


def test_explain_names_every_hook_of_the_event_and_why(place: Home, fairlead: Callable[..., Ran]) -> None:
    write(
        place,
        {
            CLAUDE: {"hooks": {"PreToolUse": [{"matcher": "bash", "hooks": [TRUE]}, {"hooks": [TRUE]}]}},
            MINE: toml('name = "off"', "enabled = false", 'run = "true"'),
            "fairlead.toml": toml('name = "theirs"', 'run = "true"'),
        },
    )
    found = fairlead("explain", "--command", "ls", "--json").json["hooks"]
    assert {(hook["name"], hook["why"], bool(hook["hint"])) for hook in found} == {
        ("true", "its matcher 'bash' does not match 'Bash'", True),
        ("true", "", False),
        ("off", "is switched off", True),
        ("theirs", "comes from a project that is not trusted", True),
    }


# --- the page -------------------------------------------------------------------------------------------


def row(name: str, cause: Cause) -> str:
    said = " → ".join(words.replace("{home}", "~").replace("{project}", ".") for words in cause.says)
    plain = re.sub(r"([*_<])", r"\\\1", said)
    return f"| {name} | `{cause.command}` | {plain} |"


def test_the_page_has_every_cause_with_its_command_and_what_it_says() -> None:
    _, _, table = PAGE.read_text().partition("| cause | command | it says |\n|---|---|---|\n")
    assert table.partition("\n\n")[0].splitlines() == [row(name, cause) for name, cause in CAUSES.items()]
