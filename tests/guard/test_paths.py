"""One place has many names: every alias of a protected path is that path."""

from __future__ import annotations

import itertools
import unicodedata
from pathlib import Path

import pytest

from fairlead.guard import Guard
from fairlead.guard.paths import Places, everything_in, join

HOME = "/home/u"
PROJECT = "/home/u/project"
GUARD = Guard(packs="all", project=PROJECT, home=HOME)

PREFIXES = (
    "",
    "/proc/self/root",
    "/proc/1/root",
    "//",
    "/./",
    "/tmp/..",
    "/tmp/../",
    "/usr/bin/../..",
    "/proc/self/root/proc/self/root",
)
TAILS = ("", "/", "/.", "//", "/./", "/x/..")
TARGETS = ("/etc", "/usr/bin", "/home", "/home/u", "/var/lib", "/boot", "/bin")
VERBS = ("rm -rf {}", "rm -r -f -- {}", "mv {} /tmp/x", "chmod -R 777 {}", "find {} -delete")


def aliases() -> list[str]:
    return [f"{prefix}{target}{tail}" for prefix, target, tail in itertools.product(PREFIXES, TARGETS, TAILS)]


def test_there_are_enough_aliases() -> None:
    assert len(aliases()) * len(VERBS) >= 500


@pytest.mark.parametrize("verb", VERBS)
def test_an_alias_is_denied_like_the_path(verb: str) -> None:
    passed = [alias for alias in aliases() if GUARD.command(verb.format(alias)).decision != "deny"]
    assert passed == []


@pytest.mark.parametrize(
    "path",
    [
        ".claude/settings.json", ".CLAUDE/Settings.JSON", "./.claude//settings.json", "src/../.claude/settings.json",
        "$PWD/.claude/settings.json", ".cl{a,a}ude/settings.json", "\".claude\"/settings.json",
        ".claude/settings.local.json",
        unicodedata.normalize("NFD", ".claude/settings.json"), ".\uff43laude/settings.json",
        ".claude\u200b/settings.json",
        "fairlead.toml", "FAIRLEAD.toml", "./x/../fairlead.toml", "~/.config/fairlead/fairlead.toml",
        ".git/hooks/pre-commit",
        ".GIT/Hooks/pre-commit", ".cursor/MCP.json", "~/.codex/config.toml", "/home/u/.gemini/settings.json",
    ],
)  # fmt: skip
@pytest.mark.parametrize(
    "verb",
    ["echo x > {}", "echo x >> {}", "tee {} < x", "cp x {}", "mv x {}", "sed -i s/a/b/ {}", "rm -f {}",
    "dd if=x of={}", "truncate -s 1 {}",
     "cat > {} <<E\nx\nE", "curl -o {} http://localhost/x", "install x {}", "rsync x {}"],
)  # fmt: skip
def test_settings_are_guarded_against_every_way_to_write(verb: str, path: str) -> None:
    """CVE-2026-26268, claude-code#29709."""
    assert GUARD.command(verb.format(path)).stops


@pytest.mark.parametrize("tool", ["Write", "Edit", "MultiEdit"])
def test_a_path_rule_holds_for_edits_too(tool: str) -> None:
    finding = GUARD.tool(tool, {"file_path": f"{PROJECT}/.claude/settings.json", "content": "{}"})
    assert finding.rule == "self.settings"


def test_links_are_followed(tmp_path: Path) -> None:
    """CVE-2026-39861, CVE-2026-25724, CVE-2026-50549."""
    project, secret = tmp_path / "project", tmp_path / "keys"
    project.mkdir()
    secret.mkdir()
    (secret / "id_rsa").write_text("x")
    (project / "link").symlink_to(secret / "id_rsa")
    (project / "etc").symlink_to("/etc")
    guard = Guard(packs="all", project=str(project), home=str(tmp_path))
    assert guard.command("cat link").rule == "secrets.read"
    assert guard.command("rm -rf etc/").decision != "allow"
    assert guard.command("rm -rf etc/ssh").decision == "deny"
    assert guard.command("echo x > etc/passwd").decision == "deny"
    assert guard.tool("Read", {"file_path": str(project / "link")}).rule == "secrets.read"


def test_a_project_that_is_a_link_is_still_the_project(tmp_path: Path) -> None:
    real, link = tmp_path / "real", tmp_path / "link"
    real.mkdir()
    link.symlink_to(real)
    guard = Guard(packs="all", project=str(link), home="/home/u")
    assert guard.command("rm -rf dist", cwd=str(link)).decision == "none"
    assert guard.command(f"rm -rf {real}/dist", cwd=str(link)).decision == "none"


@pytest.mark.parametrize(
    ("base", "path"), [("/srv/app", "/srv/app-evil"), ("/srv/app", "/srv/ap"), ("/srv/app", "/srv/app/../x")]
)
def test_a_prefix_is_not_inside(base: str, path: str) -> None:
    assert not Places(base, "/home/u").inside(join("/", path))


def test_what_a_glob_names() -> None:
    assert everything_in("/a/\1") == "/a"
    assert everything_in("/a/\1/\1") == "/a"
    assert everything_in("/a/.\1") == "/a"
    assert everything_in("/a/x\1") is None


@pytest.mark.parametrize("home", ["/tmp/u", "/var/tmp/u", "/private/tmp/u"])
def test_a_home_below_tmp_is_a_home_all_the_same(home: str) -> None:
    guard = Guard(packs="all", project=f"{home}/project", home=home)
    assert guard.command("rm -rf ~").rule == "filesystem.delete-home"
    assert guard.command("echo x > ~/.profile").rule == "filesystem.write-startup"
    assert guard.command("rm -rf /tmp/other").decision == "none"


def test_where_the_home_is_tmp_itself_what_lies_in_it_is_scratch() -> None:
    guard = Guard(packs="all", project="/work/project", home="/tmp")
    assert guard.command("rm -rf /tmp/x").decision == "none"
    assert guard.command("rm -rf ~").rule == "filesystem.delete-home"
