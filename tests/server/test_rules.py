"""A rule allows what its words say, and nothing beside it."""

from __future__ import annotations

import shlex
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fairlead import machines
from fairlead.server.records import Refused, Run
from fairlead.server.rules import Call, Rule, applies, call_of, read_rule


def called(tool: str, payload: Mapping[str, Any], run: str = "r", project: str = "/p", **more: Any) -> Call:
    """By an agent that sees our files, in its project's folder."""
    return Call(**{"tool": tool, "payload": payload, "run_id": run, "project": project, "folder": "/p",
                   "is_here": True, **more})  # fmt: skip


def made(tool: str, payload: Mapping[str, Any], call: Call | None = None, **fields: str) -> Rule:
    read = read_rule({"scope": "user", **fields}, call or called(tool, payload))
    return Rule(id="1", created_by="ann", created_at=0.0, **read)


def allows(rule: Rule, payload: Mapping[str, Any], tool: str = "", **more: Any) -> bool:
    return applies(rule, called(tool or rule.tool, payload, **more))


def command_rule(command: str) -> Rule:
    return made("Bash", {"command": command.removesuffix(" *")}, command=command)


HOSTILE = [
    "git log; rm -rf ~", "git log && rm -rf ~", "git log || rm x", "git log | sh", "git log & rm x", "git log\nrm x",
    "git log\rrm x", "git log > /etc/passwd", "git log >> ~/.bashrc", "git log < x", "git log $(rm x)",
    "git log `rm x`",
    "git log ${x@P}", "git log $'\\n'rm", "git log <(rm x)", "git log {a,b}", "git log *", "git log ?", "git log [a]",
    "git log ~root", "git log !x", "git log #x", "git log a=b", "git log \\\nrm", "git log 'a'", 'git log "a"',
    "git log (a)", "X=1 git log", "git  lo g", "gitlog", "git logx", "git lo\u0261", "git\u00a0log", "git\u2003log",
    "git\tlog", "git log\x00", "git log\x1b[2J", "git log \u202e", "git log\x85rm x", "git log\u2028rm x",
    "./git log", "/tmp/git log", "sudo git log", "env git log", "git -C /x log", "GIT log", "log git", "", " ", "git",
    "git log\x0brm", "git log\x0crm", "git log ^a^b".replace("^a", "$a"), "git log %(x)",
]  # fmt: skip


@pytest.mark.parametrize("command", HOSTILE)
def test_a_rule_of_first_words_does_not_allow(command: str) -> None:
    assert not allows(command_rule("git log *"), {"command": command})


@pytest.mark.parametrize("command", ["git log", "git log -p", "git log --stat HEAD~1".replace("~", "-"), " git  log x"])
def test_a_rule_of_first_words_allows_plain_commands_that_begin_so(command: str) -> None:
    assert allows(command_rule("git log *"), {"command": command})


@given(st.text(max_size=40))
def test_what_a_rule_of_first_words_allows_is_one_simple_command_for_the_shell(tail: str) -> None:
    command = "git log" + tail
    if allows(command_rule("git log *"), {"command": command}):
        words = list(shlex.shlex(command, posix=True, punctuation_chars=True))
        assert command.isascii()
        assert shlex.split(command) == command.split()
        assert words[:2] == ["git", "log"]
        assert not {";", "&", "|", "<", ">", "(", ")"} & set("".join(words))


@pytest.mark.parametrize(
    "command", ["npm test ", " npm test", "npm test;", "npm  test", "npm test\n", "npm", "npm test --x"]
)
def test_a_rule_of_a_whole_command_allows_this_command_only(command: str) -> None:
    rule = command_rule("npm test")
    assert allows(rule, {"command": "npm test"})
    assert not allows(rule, {"command": command})


@pytest.mark.parametrize(
    "more",
    [
        {"dangerouslyDisableSandbox": True}, {"cwd": "/"}, {"workdir": "/etc"}, {"directory": "x"}, {"env": {"A": "b"}},
        {"with_escalated_permissions": True}, {"stdin": "x"}, {"shell": "/tmp/sh"}, {"file_path": "/x"}, {"": 1},
    ],
    ids=lambda more: next(iter(more)) or "no name",
)  # fmt: skip
@pytest.mark.parametrize("rule", ["make", "make *"])
def test_a_call_with_fields_that_the_rule_has_no_words_for_is_asked_about(rule: str, more: dict[str, Any]) -> None:
    found = command_rule(rule)
    assert allows(found, {"command": "make", "description": "Builds", "timeout": 5, "run_in_background": True})
    assert not allows(found, {"command": "make", **more})


@pytest.mark.parametrize("value", [None, 1, True, ["git log"], {"command": "git log"}])
def test_a_command_that_is_no_text_is_asked_about(value: object) -> None:
    assert not allows(command_rule("git log *"), {"command": value})


@pytest.mark.parametrize(
    "command",
    [
        "sudo *", "env *", "env -i *", "sudo -u root *", "nice -n 5 *", "xargs *", "timeout 5 *", "/usr/bin/env *",
        "bash *", "bash -c *", "sh -x *", "python *", "python3 *", "python3.11 -c *", "python -m *", "python -m -x *",
        "node -e *", "perl -e *", "eval *", "exec *", "command *", "find . *", "busybox sh *", "ssh *", "time *", " *",
        "  *", "\t *", "SUDO *", "awk *", ". *", "source *",
    ],
)  # fmt: skip
def test_first_words_that_run_any_program_make_no_rule(command: str) -> None:
    """GHSA-796m-2973-wc5q, CVE-2026-29607."""
    with pytest.raises(Refused):
        made("Bash", {"command": command.removesuffix(" *") + " x"}, command=command)


@pytest.mark.parametrize("command", ["python -m pytest *", "bash build.sh *", "node app.js *", "npm run *", "git *"])
def test_first_words_that_name_what_runs_make_a_rule(command: str) -> None:
    assert made("Bash", {"command": command.removesuffix(" *")}, command=command).command == command


def test_a_command_that_ends_with_a_star_itself_does_not_become_a_rule_for_any_words() -> None:
    """An agent asks for `cat *`; "always allow this" must not allow `cat /etc/shadow`."""
    with pytest.raises(Refused, match="allow more"):
        made("Bash", {"command": "cat *"}, command="cat *")


@pytest.mark.parametrize(
    "fields",
    [
        {}, {"scope": "user"}, {"scope": "all", "command": "ls"}, {"scope": "user", "command": "ls", "path": "/x"},
        {"scope": ["user"], "command": "ls"}, {"scope": "user", "command": 1}, {"scope": "user", "command": ["ls"]},
        {"scope": "user", "command": "\ud800"}, {"scope": "user", "command": "rm -rf ~"},
        {"scope": "user", "path": "x"},
        {"scope": "user", "command": "l *"}, {"scope": "user", "path": "/tmp/x"}, {"scope": None, "command": "ls"},
    ],
)  # fmt: skip
def test_what_is_no_rule_for_the_question_at_hand_is_refused(fields: dict[str, Any]) -> None:
    with pytest.raises(Refused) as refused:
        read_rule(fields, called("Bash", {"command": "ls"}))
    assert refused.value.status == 400


def test_a_rule_stays_in_its_run_its_project_and_its_tool() -> None:
    asked = {"command": "ls"}
    of_run, of_project, of_user = (made("Bash", asked, scope=s, command="ls") for s in ("session", "project", "user"))
    assert [allows(of_run, asked, run=run) for run in ("r", "other", "")] == [True, False, False]
    assert [allows(of_project, asked, project=p) for p in ("/p", "/p/", "/p2", "")] == [True, False, False, False]
    assert allows(of_user, asked, run="other", project="/x")
    assert not allows(of_user, asked, tool="bash")
    with pytest.raises(Refused):
        read_rule({"scope": "project", "command": "ls"}, called("Bash", asked, project=""))


# --- paths ----------------------------------------------------------------------------------------------


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    tree = tmp_path.resolve()
    for name in ("src/deep", "src-evil", "other", "home/.ssh"):
        (tree / name).mkdir(parents=True)
    (tree / "src" / "link").symlink_to(tree / "other")
    (tree / "src" / "file").symlink_to(tree / "other" / "x")
    (tree / "src" / "loop").symlink_to("loop")
    (tree / "into").symlink_to(tree / "src")
    return tree


def write(path: object) -> dict[str, Any]:
    return {"file_path": path if not isinstance(path, Path) else str(path), "content": "x"}


def folder_rule(tree: Path) -> Rule:
    return made("Write", write(tree / "src" / "a"), path=f"{tree}/src/**")


@pytest.mark.parametrize(
    "path",
    [
        "{t}/src", "{t}/src/", "{t}/src/..", "{t}/src/../other/x", "{t}/src/deep/../../other", "{t}/src-evil/x",
        "{t}/src/link/x", "{t}/src/link", "{t}/src/file", "{t}/srcx", "{t}/SRC/x", "src/x", "./src/x", "~/src/x", "",
        "{t}/src/\0", "{t}/src/\ud800", "{t}/other/x", "/proc/self/root{t}/other/x", "{t}/src/link/../other/x",
        "{t}/into/../other/x", "{t}/src/./link/x", "//{t}/other/x", "file://{t}/src/x", "{t}/src\u2215x",
    ],
)  # fmt: skip
def test_a_folders_rule_does_not_reach_outside(tree: Path, path: str) -> None:
    assert not allows(folder_rule(tree), write(path.format(t=tree)))


@pytest.mark.parametrize(
    "path", ["{t}/src/x", "{t}/src/deep/x", "{t}/into/x", "{t}/src/./x", "{t}/other/../src/x", "/{t}/src/x"]
)
def test_a_folders_rule_reaches_what_really_is_inside(tree: Path, path: str) -> None:
    assert allows(folder_rule(tree), write(path.format(t=tree)))


def test_a_link_that_is_turned_after_the_rule_was_made_carries_it_nowhere(tree: Path) -> None:
    """CVE-2026-39861, CVE-2026-25724, CVE-2026-50549."""
    by_link = made("Write", write(tree / "into" / "a"), path=f"{tree}/into/**")
    by_name = folder_rule(tree)
    file = made("Write", write(tree / "into" / "a"), path=f"{tree}/into/a")
    (tree / "into").unlink()
    (tree / "into").symlink_to(tree / "home" / ".ssh")
    (tree / "src").rename(tree / "gone")
    (tree / "src").symlink_to(tree / "home" / ".ssh")
    (tree / "home" / ".ssh" / "a").touch()
    for rule in (by_link, by_name, file):
        for folder in ("into", "src", "home/.ssh"):
            assert not allows(rule, write(tree / folder / "a"))


@pytest.mark.parametrize("path", ["/**", "//**", "///**", "/./**", "/proc/self/root/**", "/home/**", "~/**",
                                  "{home}/**",
                                  "{home}/../**", "{home}/x/../**", "{link}/**", "x/**", "**"])  # fmt: skip
def test_a_folder_that_holds_the_home_makes_no_rule(tree: Path, path: str, monkeypatch: pytest.MonkeyPatch) -> None:
    home = tree / "home"
    (tree / "link").symlink_to(home)
    monkeypatch.setenv("HOME", str(home))
    wanted = path.format(home=home, link=tree / "link")
    with pytest.raises(Refused):
        made("Write", write(home / "x"), path=wanted)


@pytest.mark.parametrize(
    ("tool", "payload"),
    [
        ("NotebookEdit", {"file_path": "{t}/src/a", "notebook_path": "/etc/x", "new_source": "x"}),
        ("NotebookEdit", {"file_path": "{t}/src/a", "new_source": "x"}),
        ("Write", {"file_path": "{t}/src/a", "content": "x", "notebook_path": "/etc/x"}),
        ("Write", {"file_path": "{t}/src/a", "content": "x", "path": "/etc/x"}),
        ("Write", {"notebook_path": "{t}/src/a", "content": "x"}),
        ("MultiEdit", {"file_path": "{t}/src/a", "edits": [{"old_string": "a", "new_string": "b", "file_path": "/x"}]}),
        ("MultiEdit", {"file_path": "{t}/src/a", "edits": "x"}),
        ("Bash", {"command": "rm x", "file_path": "{t}/src/a"}),
        ("Read", {"file_path": "{t}/src/a"}),
    ],
)
def test_a_path_in_another_field_than_the_tools_own_is_asked_about(
    tree: Path, tool: str, payload: dict[str, Any]
) -> None:
    placed = {key: value.format(t=tree) if isinstance(value, str) else value for key, value in payload.items()}
    rule = folder_rule(tree).but(tool=tool)
    assert not allows(rule, placed)
    with pytest.raises(Refused):
        made(tool, placed, path=f"{tree}/src/**")


def test_each_writing_tool_is_allowed_by_a_rule_about_its_own_field(tree: Path) -> None:
    place = str(tree / "src" / "a")
    calls: dict[str, dict[str, Any]] = {
        "Write": {"file_path": place, "content": "x"},
        "Edit": {"file_path": place, "old_string": "a", "new_string": "b", "replace_all": True},
        "MultiEdit": {"file_path": place, "edits": [{"old_string": "a", "new_string": "b"}]},
        "NotebookEdit": {"notebook_path": place, "new_source": "x", "cell_id": "1", "edit_mode": "insert"},
    }
    for tool, payload in calls.items():
        assert allows(made(tool, payload, path=place), payload)


# --- where ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("scope", ["session", "project", "user"])
@pytest.mark.parametrize("command", ["make", "make *", "./deploy.sh", "rm -rf build"])
def test_a_command_is_allowed_in_the_folder_where_it_was_asked_about_and_in_no_other(scope: str, command: str) -> None:
    asked = {"command": command.removesuffix(" *")}
    rule = made("Bash", asked, called("Bash", asked, folder="/p/web"), scope=scope, command=command)
    assert rule.folder == "/p/web"
    places = ("/p/web", "/p", "/p/web/sub", "/p/webs", "/", "", "p/web", "/P/web")
    assert [folder for folder in places if allows(rule, asked, folder=folder)] == ["/p/web"]


RUN = Run(id="r", agent="claude-code", project="/p", title="", created_at=0.0)


@pytest.mark.parametrize(
    ("cwd", "folder"), [("", "/p"), ("/p/web", "/p/web"), ("/p/web/", "/p/web"), ("/p/web/../x", "/p/x")]
)
def test_the_folder_is_what_the_question_says_or_else_the_project(cwd: str, folder: str) -> None:
    assert call_of("Bash", {}, cwd, RUN).folder == folder
    assert call_of("Bash", {}, "", RUN.but(project="")).folder == ""


def test_an_agent_is_here_where_its_run_names_this_machine_and_its_files() -> None:
    here = machines.this_machine()
    places = {"here": here, "a container": here.partition(".")[0] + ".0", "elsewhere": "0.0", "unknown": ""}
    found = {name: call_of("Bash", {}, "", RUN.but(host=host)) for name, host in places.items()}
    assert [name for name, call in found.items() if call.is_here] == ["here"]
    assert found["here"].host == found["a container"].host != found["elsewhere"].host


@pytest.mark.parametrize("scope", ["project", "user"])
def test_a_rule_of_one_machine_allows_nothing_on_another(scope: str, tree: Path) -> None:
    for payload, tool, fields in (
        ({"command": "make"}, "Bash", {"command": "make"}),
        (write(tree / "src" / "a"), "Write", {"path": f"{tree}/src/**"}),
    ):
        rule = made(tool, payload, called(tool, payload, host="mine"), scope=scope, **fields)
        assert allows(rule, payload, host="mine")
        assert not allows(rule, payload, host="other")
        assert not allows(rule, payload, host="other", is_here=False)
        assert not allows(rule, payload, host="")


def test_on_another_machine_a_path_is_what_it_says(tree: Path) -> None:
    """Its links are not ours: where ours lead must neither allow nor refuse anything."""
    asked = write(tree / "src" / "link" / "a")
    rule = made("Write", asked, called("Write", asked, is_here=False), path=f"{tree}/src/**")
    assert rule.path == f"{tree}/src/**"
    inside = ("{t}/src/a", "{t}/src/link/x", "{t}/src/file")
    outside = ("{t}/into/a", "{t}/other/a", "{t}/src", "{t}/src-evil/a", "{t}/src/../src/a", "{t}/src/deep/../a",
               "{t}/src/./a", "{t}//src/a", "/{t}/src/a", "{t}/src/a/", "{t}/src/..", "src/a", "", "{t}/src/\0",
               "{t}/src/\ud800")  # fmt: skip
    found = [path for path in (*inside, *outside) if allows(rule, write(path.format(t=tree)), is_here=False)]
    assert tuple(found) == inside


@pytest.mark.parametrize("path", ["/a/../b/**", "/a/./b", "a/b", "/", "//a", "/a//b", "/a/", "/**", "/srv/**",
                                  "/home/me/**", "/Users/me/**", "/a/b/../**", "/x\0"])  # fmt: skip
def test_on_another_machine_a_path_that_is_not_plain_makes_no_rule(path: str) -> None:
    asked = write(path.replace("/**", "/x"))
    with pytest.raises(Refused):
        made("Write", asked, called("Write", asked, is_here=False), path=path)


@pytest.mark.parametrize("path", ["/srv/app/**", "/home/me/shop/**", "/srv/app/x"])
def test_on_another_machine_a_plain_path_makes_one(path: str) -> None:
    asked = write(path.replace("/**", "/x"))
    assert made("Write", asked, called("Write", asked, is_here=False), path=path).path == path
