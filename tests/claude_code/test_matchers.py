"""Which hooks look at an event: Claude Code's own rules for matchers."""

from __future__ import annotations

import pytest

from fairlead.dialects._claude_settings import matcher_for
from tests.claude_code.conftest import Claude
from tests.claude_code.payloads import EVENTS, MATCHED

CASES = [
    ("PreToolUse", "", "Bash", True),
    ("PreToolUse", "*", "Bash", True),
    ("PreToolUse", "Bash", "Bash", True),
    ("PreToolUse", "Bash", "BashOutput", False),
    ("PreToolUse", "bash", "Bash", False),
    ("PreToolUse", "Edit|Write", "Write", True),
    ("PreToolUse", "Edit, Write", "Write", True),
    ("PreToolUse", "Edit,Write|Bash", "Bash", True),
    ("PreToolUse", "Edit | Write", "Edit", True),
    ("PreToolUse", "Edit|Write", "NotebookEdit", False),
    ("PreToolUse", "my-tool", "my-tool", True),
    ("PreToolUse", "my-tool", "my-tool-2", False),
    ("PreToolUse", "mcp__memory", "mcp__memory__create", False),
    ("PreToolUse", "mcp__memory__.*", "mcp__memory__create", True),
    ("PreToolUse", "mcp__memory__create", "mcp__memory__create", True),
    ("PreToolUse", "mcp__.*__write.*", "mcp__disk__write_file", True),
    ("PreToolUse", "Edit.*", "NotebookEdit", True),
    ("PreToolUse", "^Edit$", "NotebookEdit", False),
    ("PreToolUse", "^Notebook", "NotebookEdit", True),
    ("SubagentStart", "^kit:reviewer$", "kit:reviewer", True),
    ("SubagentStart", "code-reviewer", "code-reviewer", True),
    ("SessionStart", "startup|resume", "resume", True),
    ("SessionStart", "startup", "resume", False),
    ("FileChanged", "Makefile|package_json", "Makefile", True),
    ("FileChanged", ".envrc|.env", ".envrc", True),
    ("FileChanged", ".envrc|.env", "Makefile", False),
    ("FileChanged", "a,b", "a", False),
    ("FileChanged", "a,b", "a,b", True),
    ("StopFailure", "rate_limit|overloaded", "overloaded", True),
    ("StopFailure", "rate", "rate_limit", False),
    ("StopFailure", "rate limit", "rate_limit", False),
    ("StopFailure", "rate-.*|rate_.*", "rate_limit", True),
]


@pytest.mark.parametrize(("event", "pattern", "value", "expected"), CASES, ids=str)
def test_a_matcher_matches_as_documented(event: str, pattern: str, value: str, *, expected: bool) -> None:
    assert matcher_for(event, pattern)(value) is expected


@pytest.mark.parametrize("name", EVENTS)
def test_a_matcher_counts_where_the_event_has_something_to_match(name: str, claude: Claude) -> None:
    claude.configure(name, {"type": "command", "command": "/bin/true", "timeout": 30}, matcher="no_such_thing")
    assert claude.ran(claude.fire(name)) == ([] if name in MATCHED else ["true"])


@pytest.mark.parametrize("pattern", ["Bash(", "(?=Bash)", "[z-a]", "a{2,1}"])
def test_a_hook_whose_matcher_cannot_be_understood_runs(pattern: str, claude: Claude) -> None:
    claude.configure("PreToolUse", "/bin/true", matcher=pattern)
    hooks = claude.load()
    assert claude.ran(claude.fire("PreToolUse", hooks=hooks)) == ["true"]
    assert next(iter(hooks)).matcher.check()


def test_a_matcher_that_is_no_text_is_reported_and_matches_everything(claude: Claude) -> None:
    content = {"hooks": {"PreToolUse": [{"matcher": ["Bash"], "hooks": [{"type": "command", "command": "/bin/true"}]}]}}
    assert claude.problems(content) == ["error: matcher must be a string, not a list"]
    assert claude.ran(claude.fire("PreToolUse")) == ["true"]


def test_a_matcher_without_effect_is_pointed_out(claude: Claude) -> None:
    [problem] = claude.problems(claude.settings("Stop", "/bin/true", matcher="Bash"))
    assert "Stop has nothing to match" in problem


def test_a_matcher_that_names_only_a_server_is_pointed_out(claude: Claude) -> None:
    [problem] = claude.problems(claude.settings("PreToolUse", "/bin/true", matcher="mcp__memory"))
    assert "is a server and no tool" in problem
