"""Trust, in the places where one condition more or less decides what runs."""

from __future__ import annotations

import json
import os
import stat
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from fairlead import Event, Hooks
from fairlead.errors import ConfigError, UsageError
from fairlead.handlers.command import Command, Script
from fairlead.handlers.function import Named
from fairlead.matchers import whole_name
from fairlead.trust import copies, definitions, file_of, pins, programs, records, reviewing, store
from fairlead.trust import folder as trust_folder
from fairlead.trust.bound import Bound
from fairlead.trust.records import Trusted
from fairlead.work import Call
from tests.conftest import Home
from tests.trust.conftest import BASH, claude_settings, judged, ran, review, seen, trust

AFTER = {**BASH, "hook_event_name": "PostToolUse", "tool_response": {}}


def native(run: object, more: str = "", name: str = "n", on: str = '"PreToolUse"') -> str:
    return f'[[hook]]\nname = "{name}"\non = {on}\nrun = {json.dumps(run)}\n{more}\n'


def bound(place: Home) -> Bound:
    (hook,) = Hooks.load(place.project, environ=place.environ, managed=str(place.root / "etc"))
    assert isinstance(hook.handler, Bound)
    return hook.handler


def copied(place: Home) -> Path:
    return Path(trust_folder(place.environ)) / "copies"


# --- what runs ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("command", ["hooks/\\x.sh", 'hooks/""x.sh', "sh hooks/'x'.sh", "sh h''ooks/x.sh"])
def test_a_program_with_marks_in_its_name_runs_from_its_copy(place: Home, command: str) -> None:
    """It was only compared before: whoever was quick could change it in between."""
    place.write("fairlead.toml", native(command))
    place.script("hooks/x.sh", 'echo "$0" >&2; exit 2')
    trust(place)
    assert str(copied(place)) in judged(place).reason


@pytest.mark.parametrize(
    "command", ["bash -euo pipefail hooks/x", "timeout 50 bash hooks/x", "nice -n 5 bash -O extglob hooks/x"]
)
def test_options_with_values_hide_no_program(place: Home, command: str) -> None:
    place.write("fairlead.toml", native(command))
    place.write("hooks/x", 'echo "$0" >&2; exit 2')
    trust(place)
    assert str(copied(place)) in judged(place).reason
    place.write("hooks/x", 'echo evil >> "$HOME/ran"')
    assert (judged(place).decision, ran(place)) == ("deny", [])


@pytest.mark.parametrize("command", ["python3 .", "python3 ./", 'python3 "$FAIRLEAD_PROJECT_DIR"'])
def test_the_projects_own_folder_is_a_program_where_it_is_run_as_one(place: Home, command: str) -> None:
    place.write("fairlead.toml", native(command))
    place.write("__main__.py", "")
    place.write("setup.py", "")
    trust(place)
    assert judged(place).decision == "none"
    place.write("setup.py", "# edited by an agent")
    assert judged(place).decision == "none"
    place.write("__main__.py", "import os\nopen(os.environ['HOME'] + '/ran', 'a').write('evil')")
    assert (judged(place).decision, ran(place)) == ("deny", [])


def test_nothing_is_written_beside_the_copies(place: Home) -> None:
    """Compiled bytes that lie there would run in the place of what was looked at."""
    place.write("fairlead.toml", native("python3 hooks/a.py"))
    place.write("hooks/a.py", "import sys, b\nsys.exit('it ran')")
    place.write("hooks/b.py", "")
    trust(place)
    assert judged(place).reason == "it ran"
    assert sorted(file.name for file in copied(place).rglob("*") if file.is_file()) == ["a.py", "b.py"]


@pytest.mark.parametrize(("before", "after", "word"), [(0o755, 0o644, "no longer"), (0o644, 0o755, "now")])
def test_what_can_be_executed_is_a_part_of_what_was_trusted(place: Home, before: int, after: int, word: str) -> None:
    place.write("fairlead.toml", native("sh hooks/x.sh"))
    program = place.script("hooks/x.sh", "true")
    program.chmod(before)
    trust(place)
    assert judged(place).decision == "none"
    program.chmod(after)
    decision = judged(place)
    assert decision.decision == "deny"
    assert f"hooks/x.sh can {word} be executed" in decision.reason


def test_a_program_that_is_a_copy_can_be_executed_as_its_original_could(place: Home) -> None:
    place.write("fairlead.toml", native("hooks/x.sh; sh hooks/y.sh"))
    place.script("hooks/x.sh", "true")
    place.write("hooks/y.sh", "true")
    trust(place)
    modes = {file.name: stat.S_IMODE(file.stat().st_mode) for file in copied(place).rglob("*.sh")}
    assert modes == {"x.sh": 0o700, "y.sh": 0o600}


DAMAGED: dict[str, Callable[[Path], object]] = {
    "other bytes": lambda copy: copy.write_text("echo evil >&2; exit 2"),
    "written by others": lambda copy: copy.chmod(0o722),
    "not to be executed": lambda copy: copy.chmod(0o600),
    "gone": lambda copy: copy.unlink(),
    "a link": lambda copy: copy.symlink_to(copy.rename(copy.parent.parent / "z")),
    "something beside it": lambda copy: (copy.parent / "evil").write_text(""),
}


@pytest.mark.parametrize("damage", DAMAGED)
def test_a_copy_that_is_not_whole_is_made_anew(accepted: Home, damage: str) -> None:
    (copy,) = copied(accepted).rglob("check.sh")
    DAMAGED[damage](copy)
    assert judged(accepted).reason == "refused"
    found = [file.name for file in copied(accepted).rglob("*") if not file.is_dir() or file.is_symlink()]
    assert found == ["check.sh"]
    assert (stat.S_IMODE(copy.lstat().st_mode), copy.is_symlink()) == (0o700, False)
    assert "refused" in copy.read_text()


@pytest.mark.skipif(os.getuid() != 0, reason="only root can give a folder away")
def test_a_copy_of_another_user_is_made_anew(accepted: Home) -> None:
    (place,) = copied(accepted).iterdir()
    os.chown(place, 65534, 65534)
    assert judged(accepted).reason == "refused"
    assert place.stat().st_uid == os.getuid()


def test_a_copy_that_is_whole_is_not_made_again(accepted: Home) -> None:
    judged(accepted)
    (copy,) = copied(accepted).rglob("check.sh")
    first = copy.stat().st_ino
    judged(accepted)
    assert copy.stat().st_ino == first
    assert len(list(copied(accepted).iterdir())) == 1


def test_without_a_place_for_copies_nothing_runs_and_that_is_said(accepted: Home) -> None:
    (copy,) = copied(accepted).iterdir()
    copies.remove(str(copied(accepted)))
    copied(accepted).write_text("")
    decision = judged(accepted)
    assert (decision.decision, ran(accepted)) == ("deny", [])
    assert f"no copy of its programs can be made in {copy.parent}" in decision.reason


def test_of_two_who_make_a_copy_at_once_nothing_is_left_but_one(accepted: Home) -> None:
    (place,) = copied(accepted).iterdir()
    (version,) = bound(accepted).trusted
    data = {"hooks/check.sh": (accepted.project / "hooks/check.sh").read_bytes()}
    copies._make(str(place), version, data)
    assert list(copied(accepted).iterdir()) == [place]
    (place / "planted").write_text("")
    copies._make(str(place), version, data)
    assert list(copied(accepted).iterdir()) == [place]
    assert not (place / "planted").exists()


def test_what_is_no_regular_file_is_not_read_as_a_program(place: Home) -> None:
    os.mkfifo(place.project / "pipe.sh")
    with pytest.raises(ConfigError, match=r"pipe\.sh is not a regular file"):
        records.read_program(str(place.project), "pipe.sh")
    with pytest.raises(ConfigError, match=r"gone\.sh cannot be read"):
        records.read_program(str(place.project), "gone.sh")


def test_a_program_of_more_than_64_megabytes_is_not_read(place: Home) -> None:
    with (place.project / "x.sh").open("wb") as file:
        file.truncate((64 << 20) + 1)
    with pytest.raises(ConfigError, match=r"x\.sh is larger than 64 MB"):
        records.read_program(str(place.project), "x.sh")


def test_a_program_may_be_as_large_as_it_may_be(place: Home, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(records, "LARGEST", 1 << 20)
    place.write("x.sh", "x" * (1 << 20))
    assert len(records.read_program(str(place.project), "x.sh")[0]) == 1 << 20
    place.write("x.sh", "x" * ((1 << 20) + 1))
    with pytest.raises(ConfigError, match="larger than 1 MB"):
        records.read_program(str(place.project), "x.sh")


def test_a_hook_in_the_background_runs_the_copy(place: Home) -> None:
    place.write("fairlead.toml", native("sh hooks/x.sh", "async = true", on='"PostToolUse"'))
    place.script("hooks/x.sh", "true")
    trust(place)
    (hook,) = Hooks.load(place.project, environ=place.environ, managed=str(place.root / "etc"))
    inner: Any = hook.handler
    assert (hook.handler.kind, type(inner.handler)) == ("background", Bound)
    assert inner.handler.difference() == ""
    place.script("hooks/x.sh", "false")
    assert inner.handler.difference() == "hooks/x.sh is not what you have trusted"


def test_a_trusted_hook_is_still_what_it_is(accepted: Home) -> None:
    """A policy that forbids commands forbids those of trusted projects, too."""
    handler = bound(accepted)
    assert (handler.kind, handler.describe()) == ("command", "sh hooks/check.sh")
    assert handler.identity() == handler.inner.identity()


def test_what_runs_nothing_of_the_project_is_not_wrapped(place: Home) -> None:
    place.write("fairlead.toml", '[[hook]]\nname = "n"\non = "PreToolUse"\nhttp = "https://example.org/hook"\n')
    trust(place)
    (hook,) = Hooks.load(place.project, environ=place.environ, managed=str(place.root / "etc"))
    assert (hook.handler.kind, isinstance(hook.handler, Bound), hook.options["confined"]) == ("http", False, True)


# --- several versions --------------------------------------------------------------------------------


def test_each_version_that_was_trusted_is_tried(place: Home) -> None:
    """The newest does not know the program, an older one does."""
    place.write("fairlead.toml", native("./soon.sh || sh hooks/x.sh"))
    place.script("hooks/x.sh", "true")
    soon = place.script("soon.sh", "true")
    trust(place)
    soon.unlink()
    trust(place)
    place.script("soon.sh", "true")
    assert (bound(place).difference(), judged(place).decision) == ("", "none")
    place.script("soon.sh", "false")
    assert bound(place).difference() == "soon.sh was not there when you trusted it"
    assert "soon.sh was not there when you trusted it" in judged(place).reason
    soon.unlink()
    assert (bound(place).difference(), judged(place).decision) == ("", "none")


def test_the_newest_version_says_what_has_changed(accepted: Home) -> None:
    accepted.write("hooks/lib.sh", "")
    accepted.script("hooks/check.sh", '. "$(dirname "$0")/lib.sh"')
    trust(accepted)
    accepted.write("hooks/lib.sh", "true")
    handler = bound(accepted)
    assert len(handler.trusted) == 2
    assert handler.difference() == "hooks/lib.sh is not what you have trusted"
    assert handler.but(trusted=()).difference() == "nothing of it is trusted"
    assert "hooks/lib.sh is not what you have trusted" in judged(accepted).reason


def test_where_nothing_is_trusted_nothing_runs(accepted: Home) -> None:
    hooks = Hooks.load(accepted.project, environ=accepted.environ, managed=str(accepted.root / "etc"))
    (hook,) = hooks
    work = bound(accepted).but(trusted=()).start(hook, Event.from_payload(BASH), hooks.setting)
    assert isinstance(work, Call)
    assert work.arguments == ("nothing of it is trusted; look at it with `fairlead trust`",)


def test_a_program_that_is_gone_is_not_run_from_its_copy(accepted: Home) -> None:
    (accepted.project / "hooks/check.sh").unlink()
    decision = judged(accepted)
    assert (decision.decision, ran(accepted)) == ("deny", [])
    assert "hooks/check.sh cannot be read" in decision.reason


def test_everything_that_has_changed_is_named(place: Home) -> None:
    place.write("fairlead.toml", native("sh a.sh; sh b.sh; sh c.sh"))
    for name in ("a.sh", "b.sh", "c.sh"):
        place.write(name, "true")
    trust(place)
    (version,) = bound(place).trusted
    (place.project / "a.sh").unlink()
    place.write("b.sh", "false")
    assert copies.changed(version, str(place.project)) == [
        "a.sh cannot be read: No such file or directory",
        "b.sh is not what you have trusted",
    ]


def test_what_stands_in_the_place_of_a_changed_hook_says_what_it_was(accepted: Home) -> None:
    (accepted.project / "fairlead.toml").write_text(native("sh hooks/check.sh --fast", "required = true", "check"))
    (report,) = judged(accepted).reports
    handler = report.hook.handler
    assert (handler.kind, handler.describe()) == ("untrusted", "sh hooks/check.sh --fast")
    assert handler.identity()[:2] == ("untrusted", "command")
    trust(accepted)
    (accepted.project / "fairlead.toml").write_text("")
    (report,) = judged(accepted).reports
    handler = report.hook.handler
    assert (report.hook.name, handler.describe()) == ("check", "what was trusted")
    assert handler.identity() == ("untrusted", "it is required, and not there any more; `fairlead trust` accepts that")


def test_of_one_hook_the_newest_versions_are_kept(place: Home) -> None:
    def version(name: str, number: int) -> Trusted:
        return Trusted(name=name, file="f", definition={"number": number}, files={})

    many = [version("a", number) for number in range(20)]
    kept = store.kept([version("b", 1), *many, version("b", 2)])
    assert [(one.name, one.definition["number"]) for one in kept] == [
        ("b", 1), *(("a", number) for number in range(12, 20)), ("b", 2),
    ]  # fmt: skip


# --- what a hook is ----------------------------------------------------------------------------------


def test_a_hook_without_a_name_is_the_same_when_another_comes_before_it(place: Home) -> None:
    unnamed = '[[hook]]\non = "PreToolUse"\nrun = "true"\n'
    place.write("fairlead.toml", unnamed)
    trust(place)
    place.write("fairlead.toml", '[[hook]]\non = "Stop"\nrun = "false"\n' + unnamed)
    assert [one.state for one in review(place).hooks if "PreToolUse" in one.hook.events] == ["trusted"]
    place.write("fairlead.toml", unnamed + 'name = "other#2"\n')
    assert [one.state for one in review(place).hooks] == ["new"]


class _Marked:
    def __init__(self) -> None:
        self.word, self._hidden = "w", 1


class _Called(_Marked):
    def __call__(self) -> None: ...


PLAIN: dict[str, tuple[object, object]] = {
    "nothing": (None, None),
    "numbers": ([True, 1, 1.5], [True, 1, 1.5]),
    "the project": ("/p", "."),
    "in the project": ("/p/a", "./a"),
    "beside the project": ("/pa", "/pa"),
    "elsewhere": ("x /p/a", "x /p/a"),
    "a table": ({2: "/p", "a": ("/p/b",)}, {"2": ".", "a": ["./b"]}),
    "a set": (frozenset({"b", "a", "/p"}), [".", "a", "b"]),
    "an object": (_Marked(), {"is": "_Marked", "word": "w"}),
    "something that is called": (_Called(), "_Called"),
    "something without fields": (b"x", "bytes"),
    "a record": (Trusted(name="/p/n", file="f", definition={}, files={}),
                 {"is": "Trusted", "name": "./n", "file": "f", "definition": {}, "files": {}}),
    "a record with a field as it usually is": (Trusted(name="n", file="f", definition={}, files={}, how=""),
                                               {"is": "Trusted", "name": "n", "file": "f", "definition": {},
                                                "files": {}}),
}  # fmt: skip


@pytest.mark.parametrize("case", PLAIN)
def test_a_value_is_written_the_same_on_every_machine(case: str) -> None:
    value, expected = PLAIN[case]
    assert definitions._plain(value, "/p") == expected


def test_a_matcher_is_its_text_and_its_names() -> None:
    assert definitions._plain(whole_name("Edit|Write"), "/p") == {"matcher": "Edit|Write", "names": ["Edit", "Write"]}
    assert definitions._plain(whole_name("Ed.*"), "/p") == {"matcher": "Ed.*", "names": []}


# --- hooks that are not what they were ---------------------------------------------------------------


def test_of_a_changed_hook_what_cannot_be_refused_is_left_out_and_named(place: Home) -> None:
    events = '["PreToolUse", "PostToolUse"]'
    place.write("fairlead.toml", native('echo a >> "$HOME/ran"', on=events))
    trust(place)
    place.write("fairlead.toml", native('echo b >> "$HOME/ran"', on=events))
    assert judged(place).decision == "deny"
    after = judged(place, AFTER)
    assert (after.decision, ran(place)) == ("none", [])
    assert any("not trusted" in note and "n (" in note for note in after.notes)


def test_a_changed_hook_for_everything_refuses_what_can_be_refused(place: Home) -> None:
    place.write("fairlead.toml", native("true", on='"*"'))
    trust(place)
    place.write("fairlead.toml", native("false", on='"*"'))
    prompt = {"hook_event_name": "UserPromptSubmit", "session_id": "s", "prompt": "hi"}
    assert [judged(place, event).decision for event in (BASH, prompt)] == ["deny", "deny"]
    assert judged(place, {"hook_event_name": "Stop", "session_id": "s"}).decision == "none"


def test_a_hook_that_is_gone_is_named_and_the_others_still_run(place: Home) -> None:
    place.write("fairlead.toml", native('echo a >> "$HOME/ran"', name="a") + native("true", "required = true", "b"))
    trust(place)
    place.write("fairlead.toml", native('echo a >> "$HOME/ran"', name="a"))
    hooks = Hooks.load(place.project, environ=place.environ, managed=str(place.root / "etc"))
    (problem,) = hooks.problems
    assert problem.message == "the hook b, which you have trusted, is not there any more"
    decision = judged(place)
    assert decision.decision == "deny"
    assert "it is required, and not there any more" in decision.reason
    assert judged(place, AFTER).decision == "none"


def test_a_hook_that_was_not_required_may_go(accepted: Home) -> None:
    (accepted.project / "fairlead.toml").write_text("")
    hooks = Hooks.load(accepted.project, environ=accepted.environ, managed=str(accepted.root / "etc"))
    assert [problem.level for problem in hooks.problems] == ["warning"]
    assert judged(accepted).decision == "none"


def test_who_works_without_them_hears_nothing_of_hooks_that_are_gone_or_changed(accepted: Home) -> None:
    reviewing.refuse(review(accepted))
    (accepted.project / "fairlead.toml").write_text(native("true", "required = true"))
    hooks = Hooks.load(accepted.project, environ=accepted.environ, managed=str(accepted.root / "etc"))
    assert (list(hooks.problems), judged(accepted).decision) == ([], "none")


def test_a_file_of_which_nothing_was_trusted_may_be_broken(place: Home) -> None:
    place.write("fairlead.toml", native("true"))
    trust(place)
    place.write(".claude/settings.json", "{")
    assert judged(place).decision == "none"


def problems(place: Home, agent: str = "") -> list[str]:
    hooks = Hooks.load(place.project, environ=place.environ, managed=str(place.root / "etc"), agent=agent)
    return [problem.message for problem in hooks.problems]


def test_a_hook_of_a_file_that_nobody_reads_now_is_not_missed(place: Home) -> None:
    """The calling agent runs the hooks of its own files itself."""
    place.write(".claude/settings.json", claude_settings("true"))
    trust(place)
    assert [problems(place), problems(place, "claude-code")] == [[], []]
    (place.project / ".claude/settings.json").unlink()
    assert len(problems(place)) == 1


def test_a_hook_of_a_file_that_nobody_looks_for_any_more_is_missed(place: Home) -> None:
    """A plugin is found by its folder."""
    plugin = ".claude/plugins/x"
    place.write(f"{plugin}/hooks/hooks.json", claude_settings("true"))
    place.write(f"{plugin}/.claude-plugin/plugin.json", '{"name": "x"}')
    place.write(".claude/settings.json", '{"enabledPlugins": {"x": true}}')
    trust(place)
    assert problems(place) == []
    copies.remove(str(place.project / plugin))
    assert any("is not there any more" in problem for problem in problems(place))


def test_a_hook_that_has_changed_is_there(accepted: Home) -> None:
    (accepted.project / "fairlead.toml").write_text(native("true", name="check"))
    assert problems(accepted) == []
    (accepted.project / "fairlead.toml").unlink()
    assert problems(accepted) == ["the hook check, which you have trusted, is not there any more"]


def test_a_store_that_cannot_be_believed_is_a_problem(accepted: Home) -> None:
    Path(file_of(trust_folder(accepted.environ), str(accepted.project))).write_text("{")
    (problem,) = problems(accepted)
    assert "is damaged" in problem


def test_who_has_refused_the_projects_hooks_runs_none_that_was_trusted(accepted: Home) -> None:
    reviewing.refuse(review(accepted))
    assert (judged(accepted).decision, ran(accepted)) == ("none", [])


def test_a_guard_of_the_project_counts_without_trust(place: Home) -> None:
    place.write("fairlead.toml", 'guard = "all"\n')
    (hook,) = Hooks.load(place.project, environ=place.environ, managed=str(place.root / "etc"))
    assert (hook.trusted, hook.options["tightens"]) == (True, True)
    assert judged(place, {**BASH, "tool_input": {"command": "rm -rf /"}}).decision == "deny"


def test_a_changed_hook_that_refuses_nothing_stands_there_once(place: Home) -> None:
    place.write("fairlead.toml", native("true", on='"Stop"'))
    trust(place)
    place.write("fairlead.toml", native("false", on='"Stop"'))
    (hook,) = Hooks.load(place.project, environ=place.environ, managed=str(place.root / "etc"))
    assert (hook.trusted, hook.events) == (False, ("Stop",))


def test_a_hook_of_a_file_that_another_system_reads_now_is_not_missed(place: Home) -> None:
    place.write(".claude/settings.json", claude_settings("true"))
    trust(place)
    place.write(".claude/settings.json", "{}")
    assert [one.hook.name for one in review(place).hooks] == []
    assert review(place).gone


# --- what somebody is asked --------------------------------------------------------------------------


def test_what_was_said_is_kept_until_it_is_taken_back(accepted: Home) -> None:
    assert [one.state for one in review(accepted).hooks] == ["trusted"]
    assert not review(accepted).waiting
    reviewing.refuse(review(accepted))
    assert review(accepted).refused
    trust(accepted)
    assert not review(accepted).refused
    assert reviewing.forget(review(accepted)) == 1
    assert reviewing.forget(review(accepted)) == 0
    assert [one.state for one in review(accepted).hooks] == ["new"]


def test_what_is_gone_is_forgotten_when_somebody_agrees(accepted: Home) -> None:
    (accepted.project / "fairlead.toml").write_text("")
    found = review(accepted)
    assert [one.name for one in found.gone] == ["check"]
    reviewing.accept(found, (), "test")
    assert review(accepted).gone == ()
    assert store.read(found.folder, found.project).hooks == ()


def test_a_hook_that_has_changed_is_not_one_that_is_gone(accepted: Home) -> None:
    (accepted.project / "fairlead.toml").write_text(native("sh hooks/check.sh --all", name="check"))
    found = review(accepted)
    assert ([one.state for one in found.hooks], found.gone) == (["changed"], ())
    shown = reviewing.difference(found.hooks[0], found)
    assert any(line.startswith("+") and "--all" in line for line in shown)
    assert not any("hooks/check.sh" in line for line in shown if line.startswith(("+++", "---")))


def test_a_difference_shows_what_was_and_what_is(accepted: Home) -> None:
    accepted.script("hooks/check.sh", "other")
    found = review(accepted)
    shown = reviewing.difference(found.hooks[0], found)
    assert shown[:2] == ["--- trusted/hooks/check.sh", "+++ now/hooks/check.sh"]
    assert "+other" in shown
    assert "-exit 1" in shown
    for copy in copied(accepted).rglob("check.sh"):
        copy.unlink()
    assert "-(its trusted bytes are not kept any more)" in reviewing.difference(found.hooks[0], found)


def test_a_program_that_is_gone_or_new_is_shown_as_such(accepted: Home) -> None:
    accepted.script("hooks/more.sh", "more")
    (accepted.project / "fairlead.toml").write_text(native("sh hooks/more.sh", name="check"))
    found = review(accepted)
    shown = reviewing.difference(found.hooks[0], found)
    assert "+more" in shown
    assert "-exit 1" in shown
    assert not any("not kept any more" in line for line in shown)


def test_a_binary_is_not_shown_as_text(place: Home) -> None:
    place.write("fairlead.toml", native("sh x.sh"))
    (place.project / "x.sh").write_bytes(b"\x7fELF\0" + b"x" * 1995)
    found = review(place)
    assert "+(a binary of 2,000 bytes)" in reviewing.difference(found.hooks[0], found)


@pytest.mark.parametrize("text", ["one\ntwo", "one\ntwo\n", "one", "one\n", "one\n\n", ""])
def test_a_text_is_shown_whole_with_and_without_a_last_line_end(place: Home, text: str) -> None:
    place.write("fairlead.toml", native("sh x.sh"))
    place.write("x.sh", text)
    found = review(place)
    shown = [line for line in reviewing.difference(found.hooks[0], found) if line[0] == "+"][1:]
    assert shown == [f"+{line}" for line in text.removesuffix("\n").split("\n") if text]


def test_a_difference_shows_two_lines_around_and_one_of_a_definition(place: Home) -> None:
    lines = [f"echo {number}\n" for number in range(9)]
    place.write("fairlead.toml", native("sh x.sh"))
    place.write("x.sh", "".join(lines))
    trust(place)
    place.write("x.sh", "".join([*lines[:4], "echo other\n", *lines[5:]]))
    found = review(place)
    assert reviewing.difference(found.hooks[0], found) == [
        "--- trusted/x.sh", "+++ now/x.sh", "@@ -3,5 +3,5 @@", " echo 2", " echo 3", "-echo 4", "+echo other",
        " echo 5", " echo 6",
    ]  # fmt: skip
    place.write("fairlead.toml", native("sh x.sh 1"))
    place.write("x.sh", "".join(lines))
    found = review(place)
    shown = reviewing.difference(found.hooks[0], found)
    assert (shown[:2], len(shown)) == (["--- trusted", "+++ now"], 7)
    assert shown[4:6] == ['-  "command": "sh x.sh",', '+  "command": "sh x.sh 1",']


def test_a_program_that_goes_while_it_is_looked_at_is_said(accepted: Home) -> None:
    accepted.script("hooks/check.sh", "other")
    found = review(accepted)
    (accepted.project / "hooks/check.sh").unlink()
    shown = reviewing.difference(found.hooks[0], found)
    assert "+(hooks/check.sh cannot be read: No such file or directory)" in shown


def test_an_entry_is_shown_as_its_own_system_takes_it(place: Home) -> None:
    place.write(".claude/settings.json", claude_settings("true"))
    (only,) = review(place).hooks
    assert only.hook.origin.dialect == "claude-code"
    assert len(only.versions) > 1


def test_a_program_that_cannot_be_read_is_said_and_cannot_be_trusted(place: Home) -> None:
    place.write("fairlead.toml", native("true", 'files = ["gone.txt"]'))
    (only,) = review(place).hooks
    assert (only.versions, only.now, only.state) == ((), None, "new")
    assert "'gone.txt', which is not there" in only.problem
    assert [one.hook.name for one in review(place).waiting] == ["n"]


def test_programs_that_run_what_they_find_are_named(place: Home) -> None:
    place.write("fairlead.toml", native("make lint && npm test; sh $X") + native(["pytest"], name="o"))
    assert set(seen(place, "n").open_ended) == {"make", "npm", "$X"}
    assert seen(place, "o").open_ended == ("pytest",)


def test_they_are_named_of_a_hook_in_the_background_too(place: Home) -> None:
    place.write("fairlead.toml", native("make lint; sh $X; ./gone.sh", "async = true", on='"Stop"'))
    (only,) = review(place).hooks
    assert (set(only.open_ended), only.unseen) == ({"make", "$X"}, ("./gone.sh",))


def test_a_lost_store_is_said_when_somebody_is_asked(accepted: Home) -> None:
    Path(file_of(trust_folder(accepted.environ), str(accepted.project))).write_text("{")
    found = review(accepted)
    assert "is damaged" in found.lost
    assert "fairlead trust --forget" in found.lost
    assert [one.state for one in found.hooks] == ["new"]


# --- records, stores and pins ------------------------------------------------------------------------


def test_the_file_of_a_project_has_the_same_name_in_every_version() -> None:
    """Another name would forget what everybody has trusted."""
    assert file_of("/f", "/nowhere/p") == "/f/48ef981f7a9e1c56c75bb97b56b92d331ed2602a.json"


def a_record(**changes: Any) -> Trusted:
    fields: dict[str, Any] = {
        "name": "n", "file": "f", "definition": {"origin": {"dialect": "fairlead"}, "options": {"required": True}},
        "files": {"b": (True, "1"), "a": (False, "2")}, "when": 1.5, "how": "asked", **changes,
    }  # fmt: skip
    return Trusted(**fields)


def test_a_record_is_read_as_it_was_written() -> None:
    one = a_record()
    data = json.loads(json.dumps(records.to_data(one)))
    assert records.from_data(data) == one
    assert (one.dialect, one.required) == ("fairlead", True)
    assert (a_record(definition={}).dialect, a_record(definition={}).required) == ("", False)
    assert list(data["files"]) == ["a", "b"]


@pytest.mark.parametrize(
    "change",
    [{"definition": []}, {"definition": {}}, {"files": {"a": [True, "2"]}}, {"digest": ""}, {"files": []}],
    ids=str,
)
def test_a_record_that_somebody_has_changed_is_not_believed(change: dict[str, Any]) -> None:
    data = {**json.loads(json.dumps(records.to_data(a_record()))), **change}
    with pytest.raises((KeyError, TypeError, ValueError, AttributeError)):
        records.from_data(data)


def test_a_record_whose_definition_is_none_is_not_believed_whatever_its_digest() -> None:
    data = records.to_data(a_record(definition=[]).but(definition={}))
    other = {**data, "definition": [], "digest": a_record(definition=[]).digest}
    with pytest.raises(TypeError, match="a definition must be an object"):
        records.from_data(other)


def test_a_record_of_which_nobody_has_said_when_is_of_no_time() -> None:
    data = records.to_data(a_record(when=0.0, how=""))
    assert records.from_data({key: value for key, value in data.items() if key not in ("when", "how")}).when == 0.0


@pytest.mark.parametrize(
    ("mode", "runs"), [(0o646, False), (0o601, True), (0o610, True), (0o700, True), (0o600, False)]
)
def test_whoever_may_execute_it_makes_it_a_program(place: Home, mode: int, runs: bool) -> None:
    place.write("x", "").chmod(mode)
    assert records.read_program(str(place.project), "x") == (b"", runs)


def test_a_hook_of_no_plugin_has_no_folder_of_one(guarded: Home) -> None:
    assert records.plugin_of(seen(guarded, "check").hook) == ""


def test_a_record_says_by_its_digest_what_it_is_about_and_nothing_else() -> None:
    other_files: list[dict[str, tuple[bool, str]]] = [
        {}, {"b": (False, "1"), "a": (False, "2")}, {"b": (True, "2"), "a": (False, "2")},
    ]  # fmt: skip
    others = [a_record(definition={}), *(a_record(files=files) for files in other_files)]
    digests = {one.digest for one in (a_record(), *others)}
    assert len(digests) == 5
    assert a_record().digest == a_record(when=9.0, how="x", name="o").digest


def test_a_store_is_written_whole_and_for_its_owner(place: Home) -> None:
    folder, project = str(place.root / "trust"), str(place.project)
    assert store.read(folder, project) == store.Known()
    store.write(folder, project, store.Known(hooks=(a_record(),), refused=True))
    assert store.read(folder, project) == store.Known(hooks=(a_record(),), refused=True)
    assert [stat.S_IMODE(path.stat().st_mode) for path in (Path(folder), *Path(folder).iterdir())] == [0o700, 0o600]


def test_a_store_of_more_than_64_megabytes_is_none(place: Home) -> None:
    folder, project = str(place.root / "trust"), str(place.project)
    store.write(folder, project, store.Known())
    with Path(file_of(folder, project)).open("r+b") as file:
        file.truncate((64 << 20) + 1)
    with pytest.raises(ConfigError, match="is not such a file"):
        store.read(folder, project)


def test_a_store_that_cannot_be_written_leaves_no_draft(place: Home) -> None:
    folder, project = place.root / "trust", str(place.project)
    Path(file_of(str(folder), project)).mkdir(parents=True)
    folder.chmod(0o700)
    with pytest.raises(ConfigError, match="cannot be written"):
        store.write(str(folder), project, store.Known())
    assert [path.is_dir() for path in folder.iterdir()] == [True]


def test_a_place_for_the_store_that_is_no_folder_is_said(place: Home) -> None:
    file = place.write("trust", "")
    with pytest.raises(ConfigError, match=r"cannot be (used|read)|is not a folder"):
        store.read(str(file), str(place.project))
    with pytest.raises(ConfigError, match="cannot be used"):
        store.update(str(file), str(place.project), lambda known: known)


def test_what_two_change_at_once_is_changed_by_both(place: Home) -> None:
    folder, project = str(place.root / "trust"), str(place.project)
    store.update(folder, project, lambda known: known.but(hooks=(a_record(),)))
    found = store.update(folder, project, lambda known: known.but(refused=True))
    assert found == store.Known(hooks=(a_record(),), refused=True) == store.read(folder, project)


@pytest.mark.parametrize("text", [" sha256:" + "A" * 64 + "\n", "a" * 64])
def test_a_digest_may_be_written_in_several_ways(text: str) -> None:
    assert pins.pin(text) == "a" * 64


@pytest.mark.parametrize("text", ["", "sha256:", "a" * 63, "a" * 65, "g" * 64, "sha512:" + "a" * 64])
def test_what_is_no_digest_is_said_to_be_none(text: str) -> None:
    with pytest.raises(UsageError, match="is not a digest"):
        pins.pin(text)


def pinned(place: Home, *digests: str) -> list[str]:
    hooks = [one.hook for one in review(place).hooks]
    return sorted(one.name for one in pins.pinned(hooks, str(place.project), frozenset(digests)))


def test_a_pin_vouches_for_one_hook_for_all_or_for_the_lock(place: Home) -> None:
    place.write("fairlead.toml", native("true", name="a") + native("false", name="b"))
    found = review(place)
    first = found.hooks[0].now
    assert first is not None
    assert pinned(place, first.digest) == ["a"]
    assert pinned(place, found.digest) == ["a", "b"]
    assert pinned(place, "0" * 64) == []
    text = pins.lock_text(one.now for one in found.hooks if one.now is not None)
    place.write("fairlead.lock", text)
    assert pinned(place, pins.lock_digest(text)) == ["a", "b"]
    assert pinned(place, pins.lock_digest(text + " ")) == []
    place.write("fairlead.toml", native("true", 'files = ["gone"]', name="b") + native("true", name="a"))
    assert pinned(place, first.digest) == ["a"]
    assert pins.shown(first.digest) == f"sha256:{first.digest}"


def test_a_lock_that_a_pin_vouches_for_and_that_is_damaged_is_said(place: Home) -> None:
    place.write("fairlead.lock", '{"version": 1, "hooks": [{}]}')
    with pytest.raises(ConfigError, match=r"fairlead.lock is damaged"):
        pins.pinned([], str(place.project), frozenset({pins.lock_digest('{"version": 1, "hooks": [{}]}')}))


def test_a_lock_does_not_say_who_has_trusted_it_and_when(place: Home) -> None:
    one = a_record(name="ä", files={})
    text = pins.lock_text([one.but(file="b"), one.but(file="a")])
    assert text == pins.lock_text([one.but(file="a", when=9.0, how="x"), one.but(file="b")])
    lines = text.splitlines()
    assert lines[:3] == ["{", '  "hooks": [', "    {"]
    assert lines[-2:] == ['  "version": 1', "}"]
    assert [line.strip(" ,") for line in lines if '"name"' in line] == ['"name": "ä"'] * 2
    assert [line.strip(" ,") for line in lines if '"file"' in line] == ['"file": "a"', '"file": "b"']


# --- handlers ----------------------------------------------------------------------------------------


def test_a_file_that_is_declared_may_lie_in_a_folder_that_is_hidden(place: Home) -> None:
    place.write("fairlead.toml", native("true", 'files = [".rules/**/*.txt", "a.txt"]'))
    names = {".rules/a.txt", ".rules/.b.txt", ".rules/b/c.txt", "a.txt"}
    for name in names:
        place.write(name, "")
    now = seen(place, "n").now
    assert now is not None
    assert set(now.files) == names


def test_a_program_with_a_blank_in_its_name_does_not_run_from_where_it_lies(place: Home) -> None:
    place.write("fairlead.toml", native("sh 'a b.sh'"))
    place.write("a b.sh", 'echo evil >> "$HOME/ran"')
    trust(place)
    decision = judged(place)
    assert (decision.decision, ran(place)) == ("deny", [])
    assert "a blank or another odd character in its name" in decision.reason


def test_a_state_folder_with_a_blank_in_its_name_is_said(place: Home) -> None:
    place.environ["XDG_STATE_HOME"] = str(place.home / "a b")
    place.write("fairlead.toml", native("sh hooks/x.sh"))
    place.write("hooks/x.sh", 'echo evil >> "$HOME/ran"')
    trust(place)
    decision = judged(place)
    assert (decision.decision, ran(place)) == ("deny", [])
    assert "a b/fairlead" in decision.reason
    assert "holds a blank or another odd character" in decision.reason


def test_words_of_a_program_are_replaced_whole_or_within(place: Home) -> None:
    place.write("fairlead.toml", native(["sh", "-c", "sh hooks/x.sh; cat hooks/y.sh >&2; exit 2"]))
    place.write("hooks/x.sh", 'echo "$0" >&2')
    place.write("hooks/y.sh", "y")
    trust(place)
    reason = judged(place).reason
    assert str(copied(place)) in reason
    assert reason.endswith("y")


def test_a_word_that_is_only_handed_on_stays_as_it_is(place: Home) -> None:
    place.write("fairlead.toml", native(["sh", "hooks/x.sh", "hooks/y.sh"]))
    place.write("hooks/x.sh", 'echo "$0 $1" >&2; exit 2')
    place.write("hooks/y.sh", "")
    trust(place)
    program, handed = judged(place).reason.split()
    assert program.startswith(str(copied(place)))
    assert handed == "hooks/y.sh"


def test_a_folder_of_modules_is_that_of_the_copies(place: Home) -> None:
    place.write("fairlead.toml", native("python3 -m check", 'env = { PYTHONPATH = "lib" }'))
    place.write("lib/check.py", "import sys\nsys.exit(__file__)")
    trust(place)
    assert judged(place).reason.startswith(str(copied(place)))


def test_a_script_is_looked_for_where_it_is_run(place: Home) -> None:
    place.write("fairlead.toml", '[[hook]]\nname = "n"\non = "PreToolUse"\npython = "hooks/a.py"\n')
    place.write("hooks/a.py", "import sys\nsys.exit(__file__)")
    trust(place)
    assert judged(place).reason.startswith(str(copied(place)))
    (place.project / "hooks/a.py").unlink()
    assert "hooks/a.py" in judged(place).reason


def test_where_the_agent_works_counts_only_within_the_project(place: Home, tmp_path: Path) -> None:
    place.write("fairlead.toml", native("sh x.sh || true"))
    trust(place)
    place.script("sub/x.sh", "true")
    (tmp_path / "x.sh").write_text("true")
    assert judged(place, {**BASH, "cwd": str(tmp_path)}).decision == "none"
    assert judged(place, {**BASH, "cwd": str(place.project / "sub")}).decision == "deny"
    place.write("fairlead.toml", native(["sh", "x.sh"], 'cwd = "other"'))
    place.script("other/x.sh", "true")
    trust(place)
    assert judged(place, {**BASH, "cwd": str(place.project / "sub")}).decision == "none"


def test_a_program_that_is_found_by_a_pattern_where_the_agent_works_does_not_run(place: Home) -> None:
    place.write("fairlead.toml", native(["sh", "-c", "sh *.sh || true"]))
    trust(place)
    place.write("sub/x.sh", 'echo evil >> "$HOME/ran"')
    decision = judged(place, {**BASH, "cwd": str(place.project / "sub")})
    assert (decision.decision, ran(place)) == ("deny", [])
    assert "sub/x.sh was not there when you trusted it" in decision.reason


def test_the_folder_of_a_plugin_counts_for_what_it_names(place: Home) -> None:
    place.write("fairlead.toml", native("sh p.sh"))
    place.write("plugin/p.sh", "")
    handler = review(place).hooks[0].hook.handler
    assert programs.named(handler, str(place.project), "plugin") == ["plugin/p.sh"]
    assert programs.named(handler, str(place.project)) == []


ARGUMENTS: dict[str, tuple[tuple[str, ...], tuple[str, ...]]] = {
    "one word": (("sh", "hooks/x.sh", "a"), ("sh", "/c/hooks/x.sh", "a")),
    "the first": (("hooks/x.sh",), ("/c/hooks/x.sh",)),
    "in a script": (("sh", "-c", "sh hooks/x.sh; echo more"), ("sh", "-c", "sh /c/hooks/x.sh; echo more")),
    "two in a script": (
        ("sh", "-c", "sh hooks/x.sh; sh hooks/x.sh"),
        ("sh", "-c", "sh /c/hooks/x.sh; sh /c/hooks/x.sh"),
    ),
    "one in a script that is only named": (("sh", "-c", "cat hooks/x.sh"), ("sh", "-c", "cat hooks/x.sh")),
    "only named": (("cat", "hooks/x.sh"), ("cat", "hooks/x.sh")),
    "none": (("true",), ("true",)),
}


@pytest.mark.parametrize("case", ARGUMENTS)
def test_the_words_of_a_program_name_the_copies(place: Home, case: str) -> None:
    given, expected = ARGUMENTS[case]
    place.write("hooks/x.sh", "")
    found: Any = programs.from_copies(Command(command=given[0], args=given[1:]), str(place.project), "/c")
    assert (found.command, *found.args) == expected


def test_a_script_is_found_in_the_project_and_nowhere_else(place: Home, tmp_path: Path) -> None:
    place.write("hooks/a.py", "")
    (tmp_path / "b.py").write_text("")
    project = str(place.project)
    for script, roots, expected in (
        (f"{project}/hooks/a.py", (), ["hooks/a.py"]),
        ("a.py", (f"{project}/x", f"{project}/hooks"), ["hooks/a.py"]),
        (f"{tmp_path}/b.py", (), []),
        ("gone.py", (project,), []),
    ):
        handler: Any = Script(script=script, roots=roots)
        assert programs.named(handler, project) == expected
        moved: Any = programs.from_copies(handler, project, "/c")
        assert (moved.script, moved.roots) == (("/c/hooks/a.py", ()) if expected else (script, roots))


def test_a_function_is_imported_from_the_copies_of_the_projects_folders(place: Home) -> None:
    place.write("lib/rules.py", "")
    place.write("rules.py", "")
    project = str(place.project)
    handler: Any = Named(target="rules:check", roots=(project, f"{project}/lib", f"{project}2", "/elsewhere"))
    assert sorted(programs.named(handler, project)) == ["lib/rules.py", "rules.py"]
    moved: Any = programs.from_copies(handler, project, "/c")
    assert (moved.roots, moved.apart) == (("/c", "/c/lib", f"{project}2", "/elsewhere"), True)
    assert programs.named(handler.but(target="rules.check"), project) == programs.named(handler, project)
