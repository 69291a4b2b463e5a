"""One tool call, in the words of each agent: a shell command before it runs."""

from __future__ import annotations

from typing import Any

Json = dict[str, Any]


def _claude(tool: str, **more: Any) -> Any:
    def payload(command: str) -> Json:
        return {"hook_event_name": "PreToolUse", "session_id": "s1", "cwd": "/project", "tool_name": tool,
                "tool_input": {"command": command}, **more}  # fmt: skip

    return payload


SHELL: dict[str, Any] = {
    "claude-code": _claude("Bash", tool_use_id="t1", transcript_path="/t.jsonl", permission_mode="default"),
    "codex": _claude("Bash", turn_id="u1", model="gpt", permission_mode="default", transcript_path=None),
    "gemini": lambda command: {**_claude("run_shell_command", timestamp="2026-11-01T10:00:00Z")(command),
                               "hook_event_name": "BeforeTool"},
    "qwen": _claude("run_shell_command", timestamp="2026-11-01T10:00:00Z", tool_call_id="c1"),
    "cursor": lambda command: {
        "hook_event_name": "preToolUse", "conversation_id": "c1", "generation_id": "g1", "cursor_version": "2.0",
        "workspace_roots": ["/project"], "tool_name": "Shell", "tool_input": {"command": command}},
    "copilot": _claude("Bash", timestamp="2026-11-01T10:00:00Z"),
    "vscode": _claude("run_in_terminal", timestamp="2026-11-01T10:00:00Z", tool_use_id="t1"),
    "windsurf": lambda command: {
        "agent_action_name": "pre_run_command", "trajectory_id": "t1", "execution_id": "e1",
        "timestamp": "2026-11-01T10:00:00Z", "tool_info": {"command_line": command, "cwd": "/project"}},
    "devin": _claude("exec"),
    "cline": lambda command: {
        "clineVersion": "3.0", "hookName": "PreToolUse", "timestamp": "1", "taskId": "k1",
        "workspaceRoots": ["/project"],
        "preToolUse": {"toolName": "execute_command", "parameters": {"command": command}}},
    "droid": lambda command: {**_claude("Execute", permission_mode="auto-low")(command),
                              "tool_input": {"command": command, "summary": "x"}},
    "kiro": lambda command: {"hook_event_name": "preToolUse", "cwd": "/project", "session_id": "s1",
                             "tool_name": "execute_bash", "tool_input": {"command": command}},
    "augment": lambda command: {"hook_event_name": "PreToolUse", "conversation_id": "c1",
                                "workspace_roots": ["/project"], "tool_name": "launch-process",
                                "tool_input": {"command": command}},
    "goose": lambda command: {"event": "PreToolUse", "session_id": "s1", "matcher_context": "developer__shell",
                              "tool_name": "developer__shell", "tool_input": {"command": command},
                              "working_dir": "/project"},
    "crush": lambda command: {"event": "PreToolUse", "session_id": "s1", "cwd": "/project", "tool_name": "bash",
                              "tool_input": {"command": command}},
    "kimi": _claude("Bash", client_type="kimi_code", session_title="x", tool_call_id="c1"),
    "junie": lambda command: {"hook_event_name": "PreToolUse", "tool_name": "Bash",
                              "tool_input": {"command": command}},
    "grok": lambda command: {"hookEventName": "PreToolUse", "sessionId": "s1", "cwd": "/project",
                             "workspaceRoot": "/project", "toolName": "Bash", "toolInput": {"command": command}},
    "openhands": lambda command: {"event_type": "PreToolUse", "tool_name": "terminal",
                                  "tool_input": {"command": command}, "session_id": "s1", "working_dir": "/project",
                                  "metadata": {}},
    "hermes": lambda command: {"hook_event_name": "pre_tool_call", "tool_name": "terminal",
                               "tool_input": {"command": command}, "session_id": "s1", "cwd": "/project",
                               "profile": "default", "extra": {}},
    "vibe": lambda command: {"hook_event_name": "pre_tool", "cwd": "/project", "tool_name": "file_system.bash",
                             "tool_call_id": "c1", "tool_input": {"command": command}},
    "antigravity": lambda command: {
        "conversationId": "c1", "workspacePaths": ["/project"], "transcriptPath": "/t", "artifactDirectoryPath": "/a",
        "toolCall": {"name": "run_command", "args": {"CommandLine": command, "Cwd": "/project"}}, "stepIdx": 1},
    "opencode": _claude("bash"),
    "kilo": _claude("bash"),
    "amp": _claude("shell_command"),
    "m": lambda command: {"tool": "Bash", "input": {"command": command}},
    "code-agent": lambda command: {"type": "PreToolUse", "timestamp": 1, "sessionId": "s1",
                                   "payload": {"toolName": "Bash", "input": {"command": command}}},
    "codemie": _claude("Bash"),
    "amcp": _claude("bash"),
    "claude-agent": lambda command: {"event": "pre_tool_use", "session_id": "s1", "tool_name": "Bash",
                                     "tool_input": {"command": command}},
}  # fmt: skip

EVENT: dict[str, str] = {"antigravity": "PreToolUse"}
"""For agents whose payload does not name its event."""
COMMAND_KEY = {"antigravity": "CommandLine", "windsurf": "command_line"}
