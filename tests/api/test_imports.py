"""Imports point one way, and cost little."""

from __future__ import annotations

import ast
import functools
import json
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

import fairlead
from tests.conftest import Home

PACKAGE = Path(fairlead.__file__).parent
HEAVY = frozenset(
    ["typing", "dataclasses", "asyncio", "inspect", "subprocess", "tomllib", "yaml", "re2", "argparse", "logging",
     "pathlib", "tempfile", "typing_extensions", "rich"]
)  # fmt: skip

LEVELS: list[tuple[str, ...]] = [
    ("cli", "__main__", "demo", "server", "warm", "integrations"),
    (
        "__init__",
        "compat",
        "answering",
        "explaining",
        "installing",
        "doctor",
        "running",
        "replaying",
        "left_running",
        "testing",
    ),
    ("api",),
    ("engine", "driving", "layers", "trust", "policy"),
    ("handlers", "dialects", "apart"),
    (
        "guard",
        "models",
        "mcp_calls",
        "mcp_process",
        "mcp_servers",
        "outgoing",
        "targets",
        "background",
        "journal",
        "telemetry",
        "once",
    ),
    (
        "process",
        "zygote",
        "confining",
        "spawning",
        "calls",
        "hooks",
        "documents",
        "degrade",
        "said",
        "masking",
        "stops",
        "locate",
        "conditions",
        "watching",
        "leftovers",
        "exits",
        "schema",
        "tools",
        "recognising",
        "patches",
        "approvals",
        "machines",
        "people",
        "locks",
        "redirected",
    ),
    ("work", "events", "verdicts", "matchers", "wire"),
    ("errors", "_record", "_version", "folders", "relay", "surroundings"),
]
"""From the top to the bottom: each level may import its own and what is below it."""

_LEVEL = {name: number for number, names in enumerate(LEVELS) for name in names}


def room(module: str) -> str:
    """The first part of a module's name below `fairlead`."""
    return [*module.split("."), "__init__"][1]


def modules() -> Iterator[tuple[str, Path]]:
    for path in sorted(PACKAGE.rglob("*.py")):
        parts = ("fairlead", *path.relative_to(PACKAGE).with_suffix("").parts)
        yield ".".join(part for part in parts if part != "__init__"), path


MODULES = dict(modules())


@functools.cache
def imports(path: Path) -> tuple[str, ...]:
    """Every module of ours that a file imports when it runs, also inside functions."""
    return tuple(_imports(ast.parse(path.read_text())))


def _imports(tree: ast.Module) -> Iterator[str]:
    skipped = {id(inner) for node in ast.walk(tree) if _is_for_types(node) for inner in ast.walk(node)}
    for node in ast.walk(tree):
        if id(node) in skipped:
            continue
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names if alias.name.split(".")[0] == "fairlead")
        elif isinstance(node, ast.ImportFrom) and node.module == "fairlead":
            for alias in node.names:
                is_module = (PACKAGE / f"{alias.name}.py").exists() or (PACKAGE / alias.name).is_dir()
                yield f"fairlead.{alias.name}" if is_module else "fairlead"
        elif isinstance(node, ast.ImportFrom) and (node.module or "").startswith("fairlead."):
            yield str(node.module)


def _is_for_types(node: ast.AST) -> bool:
    return isinstance(node, ast.If) and isinstance(node.test, ast.Name) and node.test.id == "TYPE_CHECKING"


@pytest.mark.parametrize("module", MODULES)
def test_imports_point_one_way(module: str) -> None:
    here = room(module)
    assert here in _LEVEL, f"{module} has no level yet: say in LEVELS where it belongs"
    upward = [name for name in imports(MODULES[module]) if _LEVEL[room(name)] < _LEVEL[here]]
    assert upward == []


@pytest.mark.parametrize("module", [module for module in MODULES if room(module) == "dialects"])
def test_a_dialect_knows_neither_engine_nor_layers(module: str) -> None:
    assert {room(name) for name in imports(MODULES[module])}.isdisjoint({"engine", "api", "layers", "cli", "answering"})


_FREE = ("compat", "demo", "server", "warm", "integrations")
_SCREEN = ("fairlead.cli._inbox_screen", "fairlead.cli._inbox_client", "fairlead.cli._inbox_text")
"""A program of its own, on Textual."""


@pytest.mark.parametrize("module", [m for m in MODULES if room(m) not in _FREE and m not in _SCREEN])
def test_nothing_costly_is_imported_before_it_is_needed(module: str) -> None:
    tree = ast.parse(MODULES[module].read_text())
    plain = [alias.name for node in tree.body if isinstance(node, ast.Import) for alias in node.names]
    named = [node.module or "" for node in tree.body if isinstance(node, ast.ImportFrom)]
    at_once = {name.split(".")[0] for name in plain + named}
    allowed = {"rich", "argparse", "pathlib"} if room(module) == "cli" else set()
    if module in ("fairlead.process", "fairlead.watching"):
        allowed = {"subprocess", "asyncio"}  # imported with the first process
    assert at_once & HEAVY <= allowed


def imported_by(code: str, *, stdin: bytes = b"", place: Home) -> tuple[set[str], bytes]:
    """The modules that a fresh interpreter imports for some code, without `site`; and what it printed."""
    code = f"import sys; sys.path.insert(0, {str(PACKAGE.parent)!r})\n{code}"
    done = subprocess.run(
        [sys.executable, "-I", "-S", "-X", "importtime", "-c", code],
        input=stdin,
        capture_output=True,
        cwd=place.project,
        env=place.environ,
        timeout=90,
        check=False,
    )
    lines = [line for line in done.stderr.decode().splitlines() if line.startswith("import time:")]
    others = [line for line in done.stderr.decode().splitlines() if not line.startswith("import time:")]
    assert done.returncode == 0, others
    return {line.rpartition("|")[2].strip() for line in lines}, done.stdout


def test_importing_fairlead_imports_nothing_heavy(place: Home) -> None:
    names, _ = imported_by("import fairlead", place=place)
    assert "fairlead.api" in names
    assert sorted(names & HEAVY) == []


_CALL = {"tool_name": "Bash", "tool_input": {"command": "ls"}}
_CLAUDE = {"hook_event_name": "PreToolUse", "session_id": "s", **_CALL}
AGENTS = {
    "claude-code": _CLAUDE,
    "code-agent": {"type": "PreToolUse", "sessionId": "s", "payload": {"toolName": "Bash", "input": {"command": "ls"}}},
    "codemie": _CLAUDE,
    "amcp": _CLAUDE,
    "claude-agent": {"event": "pre_tool_use", "session_id": "s", **_CALL},
}


@pytest.mark.parametrize(("agent", "event"), AGENTS.items(), ids=AGENTS.keys())
def test_a_cold_hook_that_has_nothing_to_do_imports_nothing_heavy(
    agent: str, event: dict[str, object], place: Home
) -> None:
    place.write(
        "~/.config/fairlead/fairlead.toml",
        """
[[hook]]
on = "PreToolUse"
tool = "Edit|Write"
run = "./format.sh"
timeout = "5s"

[[hook]]
on = "PostToolUse"
tool = "Bash"
run = ["./log.sh", "x"]

[[hook]]
on = ["Stop", "SubagentStop"]
run = "pytest -q"
timeout = "2m"
on_error = "deny"
""",
    )
    code = f"from fairlead.cli import main; sys.exit(main(['hook', '--agent', {agent!r}]))"
    stdin = json.dumps(event).encode()
    imported_by(code, stdin=stdin, place=place)  # the first reads the configuration, and remembers it
    names, _ = imported_by(code, stdin=stdin, place=place)
    assert "fairlead.dialects.native" in names
    assert sorted(names & HEAVY) == []


def test_settings_of_other_agents_cost_no_more_than_their_own_modules(place: Home) -> None:
    group = {"matcher": "Edit|Write", "hooks": [{"type": "command", "command": "./format.sh"}]}
    nested, proxy = {"hooks": {"PostToolUse": [group]}}, {"proxy": "https://proxy.example.com"}
    place.write("~/.codex/hooks.json", nested)
    place.write("~/.claude/settings.json", {**nested, **proxy})
    place.write("~/.qwen/settings.json", {**nested, **proxy})
    place.write("~/.gemini/settings.json", {"hooks": {"AfterTool": [{**group, "matcher": "replace"}]}, **proxy})
    place.write("~/.cursor/hooks.json", {"version": 1, "hooks": {"afterFileEdit": [{"command": "./format.sh"}]}})
    code = "from fairlead.cli import main; sys.exit(main(['hook', '--agent', 'kimi']))"
    names, _ = imported_by(code, stdin=json.dumps(_CLAUDE).encode(), place=place)
    assert {"fairlead.dialects.cursor", "fairlead.dialects.gemini", "fairlead.dialects.claude_code"} <= names
    assert sorted(names & (HEAVY | {"json", "re", "enum"})) == []
