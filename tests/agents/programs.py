"""The real agents: where they are, how they are started without a person, and what their tools are called."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tests.agents.model import Call
from tests.conftest import Home

ROOT = Path(__file__).resolve().parents[2]
INSTALLED = ROOT / ".agents"
NODE = INSTALLED / "node" / "node_modules" / "node" / "bin"
FAKE_KEY = "not-a-key"
PROMPT = "do what the script says"


@dataclass(frozen=True)
class Program:
    """One agent. Subclasses say what differs."""

    name = ""
    binary = ""
    label = ""
    """How the tests call it, where one agent is run in several ways."""

    rewrites = True
    """Whether it lets a hook change a tool's input."""

    @property
    def executable(self) -> Path:
        return INSTALLED / self.name / "node_modules" / ".bin" / self.binary

    @property
    def why_not(self) -> str:
        """Why it cannot be run here; empty if it can."""
        if (INSTALLED / self.name / ".installed").exists() and self.executable.exists():
            return ""
        return f"{self.name} is not in .agents/: scripts/agents {self.name} installs it"

    def argv(self, url: str) -> list[str]:
        raise NotImplementedError

    def variables(self, url: str) -> dict[str, str]:
        return {}

    def environ(self, place: Home, url: str) -> dict[str, str]:
        """Nothing of ours gets in but what a shell needs, and Python's coverage."""
        path = f"{NODE}:{Path(sys.executable).parent}:/usr/local/bin:/usr/bin:/bin"
        kept = {name: value for name, value in place.environ.items() if name.startswith("COVERAGE_")}
        temporary = place.root / "tmp"
        temporary.mkdir(exist_ok=True)
        return {
            **kept,
            "HOME": str(place.home),
            "PATH": path,
            "LANG": "C.UTF-8",
            "TERM": "dumb",
            "TMPDIR": str(temporary),
            "USER": os.environ.get("USER", "user"),
            "SHELL": "/bin/bash",
            "NO_COLOR": "1",
            **self.variables(url),
        }

    settings = ""
    """The user's file that holds its hooks."""

    def own_settings(self) -> dict[str, Any]:
        """What its user has set before Fairlead comes."""
        return {}

    def event(self, canonical: str) -> str:
        """Its own name for an event."""
        return canonical

    def prepare(self, place: Home, hooks: Mapping[str, str] | None = None) -> None:
        """Write its user's settings, with shell commands as hooks of the given events."""
        groups = {
            self.event(event): [{"hooks": [{"type": "command", "command": command}]}]
            for event, command in (hooks or {}).items()
        }
        content = {**self.own_settings(), **({"hooks": groups} if groups else {})}
        if content:
            place.write(self.settings, content)

    def refusal(self, reason: str) -> str:
        """A shell script that refuses a tool call as one of its hooks."""
        return f"echo {reason} >&2; exit 2"

    def greeting(self, text: str) -> str:
        """A shell script that gives the model a text when a session starts."""
        said = {"hookEventName": "SessionStart", "additionalContext": text}
        return f"echo '{json.dumps({'hookSpecificOutput': said})}'"

    def shell(self, command: str) -> Call:
        raise NotImplementedError

    def write(self, path: Path, content: str) -> Call:
        raise NotImplementedError

    def shell_in(self, folder: Path, command: str) -> list[Call]:
        """The command, with another working directory."""
        raise NotImplementedError

    def other_shells(self, command: str) -> list[Call]:
        """Every tool beside the usual one that runs a command."""
        return []

    def delegate(self) -> Call | None:
        """A subagent: the next steps of the script are its own."""
        return None


class ClaudeCode(Program):
    name = "claude-code"
    settings = "~/.claude/settings.json"
    binary = "claude"

    def argv(self, url: str) -> list[str]:
        words = ["-p", PROMPT, "--output-format", "json", "--model", "claude-sonnet-4-5"]
        return [str(self.executable), *words, "--allowedTools", "Bash,Write,Edit,Read,Monitor"]

    def variables(self, url: str) -> dict[str, str]:
        return {
            "ANTHROPIC_BASE_URL": url,
            "ANTHROPIC_API_KEY": FAKE_KEY,
            "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1",
            "DISABLE_AUTOUPDATER": "1",
            "DISABLE_TELEMETRY": "1",
            "DISABLE_ERROR_REPORTING": "1",
        }

    def shell(self, command: str) -> Call:
        return Call("Bash", {"command": command, "description": "as scripted"})

    def write(self, path: Path, content: str) -> Call:
        return Call("Write", {"file_path": str(path), "content": content})

    def shell_in(self, folder: Path, command: str) -> list[Call]:
        return [self.shell(f"cd {folder}"), self.shell(command)]

    def other_shells(self, command: str) -> list[Call]:
        return [Call("Monitor", {"command": command, "description": "as scripted", "timeout_ms": 5000})]

    def delegate(self) -> Call | None:
        task = {"description": "as scripted", "prompt": PROMPT, "subagent_type": "general-purpose"}
        return Call("Agent", {**task, "run_in_background": False})


@dataclass(frozen=True)
class Codex(Program):
    bypass_trust: bool = True
    model = "gpt-5.5"
    name = "codex"
    settings = "~/.codex/hooks.json"
    binary = "codex"

    def argv(self, url: str) -> list[str]:
        provider = f'{{name="scripted",base_url="{url}/v1",wire_api="responses",env_key="MODEL_KEY"}}'
        quiet = ["features.plugins=false", "analytics.enabled=false", "check_for_update_on_startup=false"]
        settings = [
            f'model="{self.model}"',
            'model_provider="scripted"',
            f"model_providers.scripted={provider}",
            *quiet,
        ]
        words = ["exec", "--json", "--skip-git-repo-check", "--dangerously-bypass-approvals-and-sandbox"]
        trust = ["--dangerously-bypass-hook-trust"] if self.bypass_trust else []
        return [str(self.executable), *words, *trust, *(w for s in (*settings, *quiet) for w in ("-c", s)), PROMPT]

    def variables(self, url: str) -> dict[str, str]:
        return {"MODEL_KEY": FAKE_KEY}

    def shell(self, command: str) -> Call:
        return Call("exec_command", {"cmd": command})

    def write(self, path: Path, content: str) -> Call:
        lines = "".join(f"+{line}\n" for line in content.splitlines())
        return Call("apply_patch", {}, text=f"*** Begin Patch\n*** Add File: {path}\n{lines}*** End Patch")

    def shell_in(self, folder: Path, command: str) -> list[Call]:
        return [Call("exec_command", {"cmd": command, "workdir": str(folder)})]


class CodexInCode(Codex):
    """With models that have one tool: a program in JavaScript that calls the others."""

    model = "gpt-6-sol"
    label = "codex in code mode"

    def shell(self, command: str) -> Call:
        return self._program("exec_command", {"cmd": command})

    def write(self, path: Path, content: str) -> Call:
        return self._program("apply_patch", super().write(path, content).text)

    def shell_in(self, folder: Path, command: str) -> list[Call]:
        return [self._program("exec_command", {"cmd": command, "workdir": str(folder)})]

    @staticmethod
    def _program(tool: str, argument: object) -> Call:
        return Call("exec", {}, text=f"text(await tools.{tool}({json.dumps(argument)}));")


class Gemini(Program):
    name = "gemini"
    settings = "~/.gemini/settings.json"
    binary = "gemini"

    def argv(self, url: str) -> list[str]:
        words = ["-p", PROMPT, "--yolo", "--output-format", "json", "--skip-trust", "-m", "gemini-2.5-pro"]
        return [str(self.executable), *words]

    def variables(self, url: str) -> dict[str, str]:
        return {
            "GEMINI_API_KEY": FAKE_KEY,
            "GOOGLE_GEMINI_BASE_URL": url,
            "GEMINI_TELEMETRY_ENABLED": "false",
            "GEMINI_CLI_NO_RELAUNCH": "true",
            "GEMINI_CLI_TRUST_WORKSPACE": "true",
        }

    def own_settings(self) -> dict[str, Any]:
        return {"security": {"auth": {"selectedType": "gemini-api-key"}}}

    def event(self, canonical: str) -> str:
        return {
            "PreToolUse": "BeforeTool",
            "PostToolUse": "AfterTool",
            "UserPromptSubmit": "BeforeAgent",
            "Stop": "AfterAgent",
        }.get(canonical, canonical)

    def shell(self, command: str) -> Call:
        return Call("run_shell_command", {"command": command, "description": "as scripted"})

    def write(self, path: Path, content: str) -> Call:
        return Call("write_file", {"file_path": str(path), "content": content})

    def shell_in(self, folder: Path, command: str) -> list[Call]:
        return [Call("run_shell_command", {"command": command, "dir_path": str(folder)})]

    def delegate(self) -> Call | None:
        return Call("invoke_agent", {"agent_name": "generalist", "prompt": PROMPT})


class Qwen(Program):
    name = "qwen"
    rewrites = False
    settings = "~/.qwen/settings.json"
    binary = "qwen"

    def argv(self, url: str) -> list[str]:
        return [str(self.executable), "-p", PROMPT, "--yolo", "--output-format", "json", "--auth-type", "openai"]

    def variables(self, url: str) -> dict[str, str]:
        return {
            "OPENAI_API_KEY": FAKE_KEY,
            "OPENAI_BASE_URL": f"{url}/v1",
            "OPENAI_MODEL": "qwen3-coder-plus",
            "QWEN_TELEMETRY_ENABLED": "false",
        }

    def shell(self, command: str) -> Call:
        return Call("run_shell_command", {"command": command, "description": "as scripted", "is_background": False})

    def write(self, path: Path, content: str) -> Call:
        return Call("write_file", {"file_path": str(path), "content": content})

    def shell_in(self, folder: Path, command: str) -> list[Call]:
        return [Call("run_shell_command", {"command": command, "directory": str(folder), "is_background": False})]

    def other_shells(self, command: str) -> list[Call]:
        monitor = {"command": command, "description": "as scripted"}
        return [Call("tool_call", {"name": "monitor", "arguments": monitor})]

    def delegate(self) -> Call | None:
        return Call("agent", {"description": "as scripted", "prompt": PROMPT, "subagent_type": "general-purpose"})


class Copilot(Program):
    name = "copilot"
    settings = "~/.copilot/hooks/own.json"
    binary = "copilot"

    def own_settings(self) -> dict[str, Any]:
        return {"version": 1}

    def argv(self, url: str) -> list[str]:
        return [str(self.executable), "-p", PROMPT, "--allow-all-tools", "--allow-all-paths", "--no-color"]

    def variables(self, url: str) -> dict[str, str]:
        return {
            "COPILOT_OFFLINE": "true",
            "COPILOT_AUTO_UPDATE": "false",
            "COPILOT_PROVIDER_BASE_URL": f"{url}/v1",
            "COPILOT_PROVIDER_API_KEY": FAKE_KEY,
            "COPILOT_MODEL": "gpt-4.1",
        }

    def refusal(self, reason: str) -> str:
        """It keeps what a hook says on stderr to itself."""
        said = {"hookEventName": "PreToolUse", "permissionDecision": "deny", "permissionDecisionReason": reason}
        return f"echo '{json.dumps({'hookSpecificOutput': said})}'"

    def greeting(self, text: str) -> str:
        return f"echo '{json.dumps({'additionalContext': text})}'"

    def shell(self, command: str) -> Call:
        return Call("bash", {"command": command, "description": "as scripted"})

    def write(self, path: Path, content: str) -> Call:
        return Call("create", {"path": str(path), "file_text": content})

    def shell_in(self, folder: Path, command: str) -> list[Call]:
        one_shell = {"description": "as scripted", "shellId": "one"}
        return [Call("bash", {"command": said, **one_shell}) for said in (f"cd {folder}", command)]

    def delegate(self) -> Call | None:
        task = {"agent_type": "general-purpose", "name": "helper", "description": "as scripted", "prompt": PROMPT}
        return Call("task", {**task, "mode": "sync"})


PROGRAMS: tuple[Program, ...] = (ClaudeCode(), Codex(), CodexInCode(), Gemini(), Qwen(), Copilot())
