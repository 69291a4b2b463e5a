"""One call in many words: what hooks of other systems see of it, and what becomes of their rewrites."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from fairlead import tools, verdicts
from fairlead.api import Hooks
from fairlead.errors import InputError
from fairlead.events import Event, PreToolUse, ToolEvent
from fairlead.hooks import Hook, Origin, Setting
from fairlead.matchers import whole_name
from fairlead.tools import Vocabulary, tool
from fairlead.verdicts import Verdict
from tests.conftest import Home, Ran

SHELLS = Vocabulary(
    tool("view", "Read", path="file_path"),
    tool("editor", "Write", {"do": "create"}, path="file_path", text="content"),
    tool("editor", "Edit", path="file_path", old="old_string", new="new_string"),
    tool("sh", "Bash", line="command"),
    mcp="@{server}/{tool}",
)
PATCHES = Vocabulary(tool("Bash", "Bash"), tool("apply_patch", "apply_patch", patch="command"))

TWO_FILES = """*** Begin Patch
*** Add File: a.txt
+one
*** Update File: b.txt
@@
-two
+three
*** End Patch"""


def event(vocabulary: Vocabulary | None, name: str, tool_input: dict[str, Any]) -> ToolEvent:
    payload = {"tool_name": name, "tool_input": tool_input, "cwd": "/p"}
    read = Event.from_payload(tools.read_call(vocabulary, payload) if vocabulary else payload, "PreToolUse")
    assert isinstance(read, ToolEvent)
    return read


class TestReading:
    @pytest.mark.parametrize(
        ("said", "meant"),
        [
            (("view", {"path": "x"}), ("Read", {"file_path": "/p/x"})),
            (("view", {"path": "/x", "limit": 3}), ("Read", {"file_path": "/x", "limit": 3})),
            (("editor", {"do": "create", "path": "/x", "text": "t"}), ("Write", {"file_path": "/x", "content": "t"})),
            (
                ("editor", {"do": "change", "path": "/x", "old": "a", "new": "b"}),
                ("Edit", {"do": "change", "file_path": "/x", "old_string": "a", "new_string": "b"}),
            ),
            (("sh", {"line": "ls"}), ("Bash", {"command": "ls"})),
            (("else", {"path": "x"}), ("else", {"path": "x"})),
        ],
    )
    def test_from_their_words_into_ours(self, said: tuple[str, Any], meant: tuple[str, Any]) -> None:
        read = event(SHELLS, *said)
        assert (read.tool_name, read.tool_input) == meant

    def test_a_key_that_only_looks_like_ours_deceives_nobody(self) -> None:
        read = event(SHELLS, "view", {"file_path": "/p/harmless", "path": "/etc/shadow"})
        assert read.tool_input == {"file_path": "/etc/shadow"}
        read = event(SHELLS, "sh", {"line": "rm -rf /", "command": "ls"})
        assert read.tool_input == {"command": "rm -rf /"}

    @pytest.mark.parametrize("wrong", [{"tool_input": "ls"}, {"tool_input": [1]}, {"tool_name": 3}])
    def test_what_is_no_call_is_left_to_the_reader_of_events(self, wrong: dict[str, Any]) -> None:
        payload = {"tool_name": "sh", "tool_input": {}, **wrong}
        assert tools.read_call(SHELLS, payload) == payload

    def test_an_agent_cannot_send_our_own_field(self) -> None:
        read = Event.from_payload({"tool_name": "Bash", "spoken": {"tool_name": "x"}}, "PreToolUse")
        assert isinstance(read, ToolEvent)
        assert read.spoken is None
        assert "spoken" not in read.payload()

    def test_its_own_words_are_no_part_of_the_payload(self) -> None:
        assert event(SHELLS, "sh", {"line": "ls"}).payload() == {
            "hook_event_name": "PreToolUse",
            "cwd": "/p",
            "tool_name": "Bash",
            "tool_input": {"command": "ls"},
        }


def hooks_of(dialect: str, matcher: str, answer: Callable[[Any], Verdict | None]) -> tuple[Hooks, list[ToolEvent]]:
    """Hooks in code, as if a file of that dialect named them."""
    from fairlead.handlers.function import Function

    seen: list[ToolEvent] = []

    def function(given: ToolEvent) -> Verdict | None:
        seen.append(given)
        return answer(given)

    origin = Origin(dialect=dialect, layer="user")
    hook = Hook(
        name="h",
        events=("PreToolUse",),
        handler=Function.of(function),
        origin=origin,
        matcher=whole_name(matcher),
    )
    return Hooks([hook], setting=Setting(project="/p", home="/h", environ={})), seen


class TestPatches:
    """A patch of Codex's is several calls to whoever knows only Edit and Write."""

    def patch(self, text: str = TWO_FILES) -> ToolEvent:
        return event(PATCHES, "apply_patch", {"patch": text})

    @pytest.mark.parametrize("matcher", ["Edit", "Write", "Edit|Write", "apply_patch", "*"])
    def test_each_file_is_shown_to_a_hook(self, matcher: str) -> None:
        hooks, seen = hooks_of("claude-code", matcher, lambda _event: None)
        hooks.fire_sync(self.patch())
        assert [(call.tool_name, call.file_path) for call in seen] == [("Write", "/p/a.txt"), ("Edit", "/p/b.txt")]

    def test_one_refusal_refuses_the_whole(self) -> None:
        hooks, _ = hooks_of(
            "claude-code", "Edit|Write", lambda e: verdicts.deny("b") if "b.txt" in e.file_path else None
        )
        decision = hooks.fire_sync(self.patch())
        assert (decision.decision, decision.reason) == ("deny", "b")

    def test_a_new_file_can_be_rewritten_inside_the_patch(self) -> None:
        def answer(call: ToolEvent) -> Verdict | None:
            return verdicts.rewrite({**call.tool_input, "content": "uno\n"}) if call.tool_name == "Write" else None

        hooks, _ = hooks_of("claude-code", "*", answer)
        _, decision = tools.for_agent(self.patch(), hooks.fire_sync(self.patch()))
        assert decision.decision == "none"
        assert decision.updated_input == {"patch": TWO_FILES.replace("+one", "+uno")}

    def test_two_rewrites_of_two_files_are_both_in_it(self) -> None:
        def answer(call: ToolEvent) -> Verdict:
            key = "content" if call.tool_name == "Write" else "new_string"
            return verdicts.rewrite({**call.tool_input, key: f"new {call.file_path}"})

        hooks, _ = hooks_of("claude-code", "*", answer)
        _, decision = tools.for_agent(self.patch(), hooks.fire_sync(self.patch()))
        assert decision.updated_input is not None
        assert "+new /p/a.txt" in decision.updated_input["patch"]
        assert "+new /p/b.txt" in decision.updated_input["patch"]

    def test_what_a_patch_cannot_say_is_refused_with_the_wish(self) -> None:
        moved = "*** Update File: a\n*** Move to: b\n@@\n-x\n+y\n"
        hooks, _ = hooks_of("claude-code", "*", lambda call: verdicts.rewrite({**call.tool_input, "new_string": "z"}))
        decision = hooks.fire_sync(self.patch(moved))
        assert decision.denies
        assert '"new_string":"z"' in decision.reason

    def test_what_is_no_patch_is_shown_as_it_is(self) -> None:
        hooks, seen = hooks_of("claude-code", "Edit|Write", lambda _event: None)
        hooks.fire_sync(self.patch("nonsense"))
        assert [call.tool_input for call in seen] == [{"command": "nonsense"}]

    def test_a_hook_written_for_codex_sees_a_patch_where_claude_code_writes(self) -> None:
        def answer(call: ToolEvent) -> Verdict:
            assert call.tool_name == "apply_patch"
            return verdicts.rewrite({"command": call.tool_input["command"].replace("+one", "+uno")})

        for matcher in ("apply_patch", "Write", "Edit"):
            hooks, seen = hooks_of("codex", matcher, answer)
            call = PreToolUse(tool_name="Write", tool_input={"file_path": "/p/a", "content": "one\n", "mode": 1})
            decision = hooks.fire_sync(call)
            assert decision.updated_input == {"file_path": "/p/a", "content": "uno\n", "mode": 1}
            assert seen[0].tool_input == {"command": "*** Begin Patch\n*** Add File: /p/a\n+one\n*** End Patch"}

    def test_a_patch_that_became_more_than_the_call_is_refused(self) -> None:
        hooks, _ = hooks_of("codex", "*", lambda _call: verdicts.rewrite({"command": TWO_FILES}))
        call = PreToolUse(tool_name="Write", tool_input={"file_path": "/p/a", "content": "one\n"})
        assert hooks.fire_sync(call).denies


class TestNames:
    @pytest.mark.parametrize(
        ("dialect", "matcher", "name", "matches"),
        [
            ("claude-code", "Bash", "Bash", True),
            ("claude-code", "sh", "Bash", True),
            ("claude-code", "run_shell_command", "Bash", False),
            ("gemini", "run_shell_command", "Bash", True),
            ("fairlead", "run_shell_command", "Bash", True),
            ("fairlead", "Execute|launch-process", "Bash", True),
            ("fairlead", "read_file", "Bash", False),
            ("gemini", "write_file", "Write", True),
            ("gemini", "mcp_git_push", "mcp__git__push", True),
            ("claude-code", "mcp__git__push", "mcp__git__push", True),
        ],
    )
    def test_a_matcher_knows_a_tool_by_its_own_systems_name(
        self, dialect: str, matcher: str, name: str, matches: bool
    ) -> None:
        hooks, seen = hooks_of(dialect, matcher, lambda _event: None)
        call = PreToolUse(tool_name=name, tool_input={"command": "ls", "file_path": "/a", "content": ""})
        spoken = event(SHELLS, "sh", {"line": "ls"}) if name == "Bash" else call
        hooks.fire_sync(spoken)
        assert bool(seen) == matches


def test_a_hook_written_for_claude_code_guards_codex(place: Home, fairlead: Callable[..., Ran]) -> None:
    place.script("~/guard.sh", "jq -e '.tool_input.file_path | endswith(\".env\")' >/dev/null && exit 2; exit 0")
    entry = {"type": "command", "command": str(place.home / "guard.sh")}
    place.write("~/.claude/settings.json", {"hooks": {"PreToolUse": [{"matcher": "Edit|Write", "hooks": [entry]}]}})
    for path, decision in (("src/.env", "deny"), ("src/a.py", "")):
        patch = f"*** Begin Patch\n*** Update File: README\n@@\n-a\n+b\n*** Add File: {path}\n+x\n*** End Patch"
        payload = {
            "hook_event_name": "PreToolUse",
            "session_id": "s",
            "cwd": str(place.project),
            "tool_name": "apply_patch",
            "tool_input": {"command": patch},
        }
        ran = fairlead("hook", "--agent", "codex", stdin=payload)
        said = ran.json["hookSpecificOutput"]["permissionDecision"] if ran.out else ""
        assert (ran.code, said) == (0, decision), ran.err


def test_two_keys_for_one_thing_are_refused() -> None:
    words = Vocabulary(tool("write", "Write", path="file_path", file_path="file_path", text="content"))
    with pytest.raises(InputError, match="two things, as path and as file_path"):
        event(words, "write", {"path": "secret", "file_path": "harmless", "text": ""})
    assert event(words, "write", {"path": "/a", "file_path": "/a", "text": ""}).file_path == "/a"


@pytest.mark.parametrize(
    "name", ["beforetool", "before_tool", "BEFORE-TOOL", "beforeTool ", "PreToolUse", "pre-tool-use"]
)
def test_an_event_is_known_by_its_letters(name: str) -> None:
    from fairlead.dialects import gemini

    payload = f'{{"hook_event_name": "{name}", "tool_name": "run_shell_command", "tool_input": {{"command": "ls"}}}}'
    assert gemini.read_event(payload.encode(), "", {}).name == "PreToolUse"
