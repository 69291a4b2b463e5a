"""Cline: VS Code's payload and the SDK's; `cancel` is its only refusal, and ends the task."""

from __future__ import annotations

import json
from collections.abc import Callable

import pytest

from fairlead import verdicts
from fairlead.dialects import Reply
from fairlead.verdicts import NONE, Verdict
from tests.conftest import Home, Ran
from tests.dialects.speaking import GUARD, REWRITE, USER, Json, answer, call, judged, parts, printed, read, said

COMMON = {"session_id": "k1", "cwd": "/project", "timestamp": "1"}


def payload(name: str, **more: object) -> Json:
    sent = {"clineVersion": "3", "hookName": name, "timestamp": "1", "taskId": "k1", "workspaceRoots": ["/project"]}
    return {**sent, "userId": "u", "model": {"provider": "p", "slug": "m-1"}, **more}


def vscode(own: str, /, **parameters: str) -> Json:
    return payload("PreToolUse", preToolUse={"toolName": own, "parameters": parameters})


def sdk(own: str, tool_input: object) -> Json:
    """As the SDK sends it: the whole call, and beside it VS Code's form with JSON in text."""
    pairs = tool_input.items() if isinstance(tool_input, dict) else ()
    as_text = {key: value if isinstance(value, str) else json.dumps(value) for key, value in pairs}
    return payload(
        "tool_call",
        tool_call={"id": "c1", "name": own, "input": tool_input},
        preToolUse={"toolName": own, "parameters": as_text},
    )


BASH = {"tool_name": "Bash", "tool_input": {"command": "make"}}
AFTER = {"toolName": "execute_command", "parameters": {"command": "make"}, "executionTimeMs": 7}
DONE = {"stdout": "done\n", "stderr": "", "interrupted": False}


@pytest.mark.parametrize(
    ("sent", "name", "more"),
    [
        pytest.param(vscode("execute_command", command="make"), "PreToolUse", BASH, id="VS Code, before a tool"),
        pytest.param(
            sdk("run_commands", {"commands": ["make"]}), "PreToolUse", {**BASH, "tool_use_id": "c1"}, id="SDK, before"
        ),
        pytest.param(
            payload("PostToolUse", postToolUse={**AFTER, "result": "done\n", "success": True}),
            "PostToolUse",
            {**BASH, "tool_response": DONE, "duration_ms": 7},
            id="VS Code, after a tool",
        ),
        pytest.param(
            payload("PostToolUse", postToolUse={**AFTER, "result": "exit 2", "success": False}),
            "PostToolUseFailure",
            {**BASH, "error": "exit 2", "duration_ms": 7},
            id="VS Code, after a tool that failed",
        ),
        pytest.param(
            payload(
                "tool_result",
                tool_result={
                    "id": "c1",
                    "name": "run_commands",
                    "input": {"commands": ["make"]},
                    "output": "done\n",
                    "durationMs": 7,
                },
            ),
            "PostToolUse",
            {**BASH, "tool_use_id": "c1", "tool_response": DONE, "duration_ms": 7},
            id="SDK, after a tool",
        ),
        pytest.param(
            payload(
                "tool_result",
                tool_result={
                    "id": "c1",
                    "name": "execute_command",
                    "input": {"command": "make"},
                    "output": None,
                    "error": "exit 2",
                    "durationMs": 7,
                },
            ),
            "PostToolUseFailure",
            {**BASH, "tool_use_id": "c1", "error": "exit 2", "duration_ms": 7},
            id="SDK, after a tool that failed",
        ),
        pytest.param(
            payload("TaskStart", taskStart={"taskMetadata": {}}),
            "SessionStart",
            {"source": "startup", "model": "m-1"},
            id="start",
        ),
        pytest.param(
            payload("agent_resume", taskResume={}), "SessionStart", {"source": "resume", "model": "m-1"}, id="resume"
        ),
        pytest.param(
            payload("UserPromptSubmit", userPromptSubmit={"prompt": "go", "attachments": []}),
            "UserPromptSubmit",
            {"prompt": "go"},
            id="prompt",
        ),
        pytest.param(payload("TaskComplete", taskComplete={}), "Stop", {}, id="VS Code, the end"),
        pytest.param(
            payload("agent_end", turn={"outputText": "done"}),
            "Stop",
            {"last_assistant_message": "done"},
            id="SDK, the end",
        ),
        pytest.param(payload("TaskCancel", taskCancel={}), "Interrupt", {}, id="interrupted"),
        pytest.param(
            payload("agent_error", error={"name": "E", "message": "lost"}),
            "StopFailure",
            {"error": "lost", "error_details": {"name": "E", "message": "lost"}},
            id="error",
        ),
        pytest.param(payload("session_shutdown", reason="exit"), "SessionEnd", {"reason": "exit"}, id="shutdown"),
        pytest.param(payload("PreCompact", preCompact={}), "PreCompact", {}, id="compact"),
        pytest.param(
            payload("Notification", notification={"message": "m"}), "Notification", {"message": "m"}, id="notification"
        ),
    ],
)
def test_an_event_is_read(sent: Json, name: str, more: Json) -> None:
    assert said(read("cline", sent)) == {"hook_event_name": name, **COMMON, **more}


DIFF = "------- SEARCH\nold\ntext\n=======\nnew\n+++++++ REPLACE\n"


@pytest.mark.parametrize(
    ("sent", "name", "tool_input"),
    [
        pytest.param(
            vscode("write_to_file", path="a.json", content='{"a": 1}'),
            "Write",
            {"file_path": "/project/a.json", "content": '{"a": 1}'},
            id="a file whose content is JSON",
        ),
        pytest.param(
            vscode("replace_in_file", path="/a", diff=DIFF),
            "Edit",
            {"file_path": "/a", "diff": DIFF, "old_string": "old\ntext", "new_string": "new"},
            id="replace",
        ),
        pytest.param(vscode("read_file", path="/a"), "Read", {"file_path": "/a"}, id="read"),
        pytest.param(
            vscode("use_mcp_tool", server_name="github", tool_name="delete_repo", arguments='{"name": "x"}'),
            "mcp__github__delete_repo",
            {"name": "x"},
            id="MCP with arguments in text",
        ),
        pytest.param(
            vscode("use_mcp_tool", server_name="github", tool_name="list", arguments="{not JSON"),
            "mcp__github__list",
            {"arguments": "{not JSON"},
            id="MCP with arguments that are no JSON",
        ),
        pytest.param(
            sdk("github__delete_repo", {"name": "x"}), "mcp__github__delete_repo", {"name": "x"}, id="MCP, SDK"
        ),
        pytest.param(
            sdk("editor", {"path": "/a", "new_text": "x"}),
            "Write",
            {"file_path": "/a", "content": "x"},
            id="a new file",
        ),
        pytest.param(
            sdk("editor", {"path": "/a", "old_text": "x", "new_text": "y"}),
            "Edit",
            {"file_path": "/a", "old_string": "x", "new_string": "y"},
            id="edit",
        ),
        pytest.param(
            sdk("apply_patch", "*** Begin Patch"), "apply_patch", {"command": "*** Begin Patch"}, id="a bare patch"
        ),
        pytest.param(sdk("run_commands", "ls"), "Bash", {"command": "ls"}, id="a bare command"),
        pytest.param(sdk("run_commands", {"cmd": "ls"}), "Bash", {"command": "ls"}, id="a command by its short name"),
        pytest.param(
            sdk("run_commands", {"commands": [{"command": "rm", "args": ["-r", "a b"]}]}),
            "Bash",
            {"command": "rm -r 'a b'"},
            id="a program and its arguments",
        ),
        pytest.param(
            payload("PreToolUse", preToolUse={"toolName": "run_commands", "parameters": {"commands": '["ls"]'}}),
            "Bash",
            {"command": "ls"},
            id="commands in text",
        ),
    ],
)
def test_a_call_is_one_of_ours(sent: Json, name: str, tool_input: Json) -> None:
    assert call("cline", sent) == (name, tool_input)


@pytest.mark.parametrize(
    ("sent", "expected"),
    [
        pytest.param(
            sdk("run_commands", {"commands": ["cd /tmp", "rm -rf *"]}),
            [{"command": "cd /tmp"}, {"command": "rm -rf *"}],
            id="commands",
        ),
        pytest.param(
            sdk("read_files", {"files": [{"path": "/a", "start_line": 1}, "/b"]}),
            [{"file_path": "/a", "start_line": 1}, {"file_path": "/b"}],
            id="files",
        ),
        pytest.param(sdk("read_files", ["/a", "/b"]), [{"file_path": "/a"}, {"file_path": "/b"}], id="a bare list"),
        pytest.param(
            sdk("fetch_web_content", {"requests": [{"url": "https://a"}, {"url": "https://b"}]}),
            [{"url": "https://a"}, {"url": "https://b"}],
            id="pages",
        ),
    ],
)
def test_each_part_of_a_call_is_seen(sent: Json, expected: list[Json]) -> None:
    assert parts("cline", sent) == expected


SHELL = vscode("execute_command", command="make")
WHOLE = sdk("run_commands", {"commands": ["make"]})
DONE_WELL = payload("PostToolUse", postToolUse={**AFTER, "result": "x", "success": True})
PROMPT = payload("UserPromptSubmit", userPromptSubmit={"prompt": "go"})
GO_ON = {"cancel": False}


def cancelled(message: str) -> Reply:
    return printed({"cancel": True, "errorMessage": message})


WANTED = 'a hook wants another input, and cline in VS Code cannot change it; call the tool again with: {"command":"ls"}'


@pytest.mark.parametrize(
    ("sent", "verdict", "reply"),
    [
        pytest.param(SHELL, NONE, printed(GO_ON), id="nothing"),
        pytest.param(SHELL, verdicts.deny("no"), cancelled("no"), id="deny"),
        pytest.param(SHELL, verdicts.deny(" "), cancelled("Blocked by hook"), id="deny without a reason"),
        pytest.param(
            SHELL,
            verdicts.ask("sure?"),
            cancelled("a person has to agree to this, and cline cannot ask one here\nsure?"),
            id="ask",
        ),
        pytest.param(SHELL, verdicts.allow("fine"), printed(GO_ON), id="allow"),
        pytest.param(SHELL, verdicts.rewrite({"command": "ls"}), cancelled(WANTED), id="another input in VS Code"),
        pytest.param(
            WHOLE,
            verdicts.rewrite({"command": "ls"}),
            printed({**GO_ON, "overrideInput": {"command": "ls"}}),
            id="another input in the SDK",
        ),
        pytest.param(
            sdk("use_mcp_tool", {"server_name": "s", "tool_name": "t", "arguments": {"a": 1}}),
            verdicts.rewrite({"a": 2}),
            printed({**GO_ON, "overrideInput": {"server_name": "s", "tool_name": "t", "arguments": {"a": 2}}}),
            id="another input for an MCP tool",
        ),
        pytest.param(SHELL, verdicts.context("c"), printed({**GO_ON, "contextModification": "c"}), id="context"),
        pytest.param(SHELL, verdicts.deny("no").with_context("c"), cancelled("no\nc"), id="deny with context"),
        pytest.param(SHELL, verdicts.stop("enough"), cancelled("enough"), id="the end of the turn"),
        pytest.param(
            DONE_WELL,
            verdicts.block("wrong"),
            printed({**GO_ON, "contextModification": "wrong"}),
            id="after a tool: told, and the task goes on",
        ),
        pytest.param(DONE_WELL, verdicts.stop("enough"), cancelled("enough"), id="after a tool: the end"),
        pytest.param(PROMPT, verdicts.deny("no"), cancelled("no"), id="prompt"),
        pytest.param(payload("TaskComplete"), verdicts.keep_going("x"), printed(GO_ON), id="what cannot be refused"),
    ],
)
def test_a_decision_is_answered(sent: Json, verdict: Verdict, reply: Reply) -> None:
    assert answer("cline", sent, verdict) == reply


def test_one_of_several_commands_cannot_be_changed() -> None:
    found = judged("cline", sdk("run_commands", {"commands": ["a", "b"]}), verdicts.rewrite({"command": "c"}))
    assert json.loads(found.stdout)["cancel"] is True


def test_the_program_guards_it(place: Home, fairlead: Callable[..., Ran]) -> None:
    place.write(USER, GUARD)
    for sent in (
        vscode("execute_command", command="rm -rf /"),
        sdk("run_commands", {"commands": ["ls", {"command": "rm", "args": ["-rf", "/"]}]}),
        vscode("write_to_file", path=f"{place.home}/.bashrc", content="x"),
        sdk("editor", {"path": f"{place.home}/.bashrc", "new_text": "x"}),
        sdk("read_files", {"files": [{"path": "README.md"}, {"path": f"{place.home}/.ssh/id_ed25519"}]}),
    ):
        ran = fairlead("hook", "--agent", "cline", stdin=sent)
        assert (ran.code, ran.json["cancel"]) == (0, True), sent

    ran = fairlead("hook", "--agent", "cline", stdin=sdk("run_commands", {"commands": ["cd /", "ls"]}))
    assert (ran.code, ran.json) == (0, GO_ON)


def test_the_program_gives_it_another_input(place: Home, fairlead: Callable[..., Ran]) -> None:
    place.write(USER, REWRITE)
    ran = fairlead("hook", "--agent", "cline", stdin=WHOLE)
    assert (ran.code, ran.json) == (0, {**GO_ON, "overrideInput": {"command": "ls -l"}})


def test_what_cannot_be_read_is_refused_in_its_words(fairlead: Callable[..., Ran]) -> None:
    ran = fairlead("hook", "--agent", "cline", stdin=b"{")
    assert (ran.code, ran.json["cancel"]) == (0, True)
