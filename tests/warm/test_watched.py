"""What the server keeps of files and variables is as they are: it has looked at everything that decides."""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, NoReturn

import pytest

import fairlead
from fairlead.answering import Request
from fairlead.events import Event
from fairlead.warm import watched
from fairlead.warm.loaded import CHECKED_EVERY, LATELY, MOST, READ_EVERY, Declined, Loaded
from fairlead.warm.watched import Looked
from tests.conftest import Home

GUARD = '[[hook]]\non = "PreToolUse"\ntool = "Bash"\nguard = ["filesystem"]\n'
COMMAND = {"hooks": {"PreToolUse": [{"hooks": [{"type": "command", "command": "true"}]}]}}
EVENT = Event.from_payload(
    {"hook_event_name": "PreToolUse", "session_id": "s", "tool_name": "Bash", "tool_input": {"command": "ls"}}, ""
)


LOOK = CHECKED_EVERY * 1.5


class Clock:
    def __init__(self) -> None:
        self.now = 1000.0

    def __call__(self) -> float:
        return self.now

    def passes(self, seconds: float) -> None:
        self.now += seconds


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def loaded(clock: Clock) -> Loaded:
    return Loaded(clock)


def asked(place: Home, agent: str = "codex", **more: Any) -> Request:
    fields = {"environ": place.environ, "managed": str(place.root / "etc"), **more}
    return Request(agent=agent, raw=b"", project=str(place.project), **fields)


def names(loaded: Loaded, request: Request) -> list[str]:
    return [hook.name for hook in loaded.find(request, EVENT)]


def everywhere(place: Home) -> None:
    """Something for every dialect, in every place that it knows."""
    settings: dict[str, Any] = COMMAND
    for file in (
        "~/.claude/settings.json",
        "~/.claude/plugins/p/hooks/hooks.json",
        ".claude/settings.json",
        ".claude/settings.local.json",
        "~/.codex/hooks.json",
        ".codex/hooks.json",
        "~/.gemini/settings.json",
        ".gemini/settings.json",
        "~/.qwen/settings.json",
        ".qwen/settings.json",
        "~/.cursor/hooks.json",
        ".cursor/hooks.json",
        "~/.copilot/hooks/a.json",
        ".github/hooks/a.json",
        "~/.codemie/codemie-cli.config.json",
        "~/.config/fairlead/adopted/codex.json",
        ".fairlead/adopted/claude-code.json",
    ):
        place.write(file, settings)
    place.write("~/.claude/skills/s/SKILL.md", "---\nname: s\nhooks:\n  PreToolUse: []\n---\n")
    place.write(".claude/agents/a.md", "---\nname: a\n---\n")
    place.write("~/.codex/config.toml", "")
    place.write("~/.config/amcp/config.toml", "")
    place.write("~/.config/fairlead/fairlead.toml", GUARD)
    place.write("fairlead.toml", '[[hook]]\non = "Stop"\nrun = "./check.sh"\n')
    place.script("check.sh", "exit 0")
    (place.root / "etc" / "claude-code").mkdir(parents=True)


# --- it knows where to look ----------------------------------------------------------------------------


@pytest.fixture
def touched(monkeypatch: pytest.MonkeyPatch) -> Callable[[], set[str]]:
    """Every path that anybody has asked the operating system about since, by whatever means."""
    seen: set[str] = set()

    def noting(real: Callable[..., Any]) -> Callable[..., Any]:
        def call(path: Any, *rest: Any, **more: Any) -> Any:
            if isinstance(path, (str, bytes, os.PathLike)):
                seen.add(os.path.join(os.getcwd(), os.fsdecode(path)))
            return real(path, *rest, **more)

        return call

    for name in ("stat", "lstat", "access", "open", "listdir", "scandir", "readlink"):
        monkeypatch.setattr(os, name, noting(getattr(os, name)))
    return lambda: set(seen)


@pytest.mark.parametrize("full", [True, False], ids=["files everywhere", "nothing there"])
@pytest.mark.parametrize("agent", ["claude-code", "codex", "grok", "code-agent"])
def test_whatever_loading_asks_the_machine_about_is_looked_at_again(
    place: Home, loaded: Loaded, touched: Callable[[], set[str]], agent: str, full: bool
) -> None:
    if full:
        everywhere(place)
    names(loaded, asked(place, agent))
    roots = (str(place.root), str(place.root.resolve()))
    found = {path for path in touched() if path.startswith(roots) and not _says_nothing(path, place)}
    assert len(found) > 30
    assert found - loaded.watched == set()


def _says_nothing(path: str, place: Home) -> bool:
    """The way to where things are, our own cache, and the programs of hooks, which are compared when they run."""
    above = any(os.path.join(str(root), "").startswith(path.rstrip("/") + "/") for root in (place.home, place.project))
    return above or "/.cache/" in path or Path(path).name in (".cache", "check.sh")


# --- it sees what changes --------------------------------------------------------------------------------


def _in_place(place: Home) -> None:
    """The same size, and the time of the change set back."""
    file = place.home / ".config/fairlead/fairlead.toml"
    before = file.stat()
    file.write_text(GUARD.replace("PreToolUse", "PostToolUs"))
    os.utime(file, ns=(before.st_atime_ns, before.st_mtime_ns))


CHANGES: dict[str, Callable[[Home], object]] = {
    "a file is edited": lambda place: place.write("~/.config/fairlead/fairlead.toml", GUARD * 2),
    "a file is edited in secret": _in_place,
    "a file goes": lambda place: (place.home / ".config/fairlead/fairlead.toml").unlink(),
    "a file comes": lambda place: place.write("~/.claude/settings.json", COMMAND),
    "another agent's folder comes with it": lambda place: place.write("~/.cursor/hooks.json", {"version": 1}),
    "a file of the project": lambda place: place.write("fairlead.toml", GUARD),
    "adopted hooks": lambda place: place.write("~/.config/fairlead/adopted/claude-code.json", COMMAND),
    "a plugin": lambda place: place.write("~/.claude/plugins/new/hooks/hooks.json", COMMAND),
    "a skill": lambda place: place.write("~/.claude/skills/new/SKILL.md", "---\nname: new\n---\n"),
    "the project's variables": lambda place: place.write(".env", "HTTPS_PROXY=http://elsewhere\n"),
    "a policy": lambda place: place.write("../etc/fairlead/fairlead.toml", GUARD),
}


@pytest.mark.parametrize("change", CHANGES.values(), ids=CHANGES)
def test_a_change_is_seen_with_the_next_look(
    place: Home, loaded: Loaded, clock: Clock, change: Callable[[Home], object]
) -> None:
    place.write("~/.config/fairlead/fairlead.toml", GUARD)
    place.write("~/.claude/plugins/old/hooks/hooks.json", COMMAND)
    (place.home / ".claude/skills").mkdir()
    request = asked(place)
    names(loaded, request)
    change(place)
    clock.passes(LOOK)
    before = loaded.loads
    found = names(loaded, request)
    assert loaded.loads == before + 1
    assert found == names(Loaded(), request)


def test_between_two_looks_nothing_is_asked(place: Home, loaded: Loaded, clock: Clock) -> None:
    names(loaded, asked(place))
    place.write("~/.config/fairlead/fairlead.toml", GUARD)
    clock.passes(CHECKED_EVERY / 2)
    assert names(loaded, asked(place)) == []
    clock.passes(LOOK)
    assert len(names(loaded, asked(place))) == 1


@pytest.fixture
def later() -> Callable[[], int]:
    """A clock to which every file is an hour old."""
    return lambda: time.time_ns() + 3600 * 1_000_000_000


def test_what_does_not_change_is_not_read_again(place: Home, clock: Clock, later: Callable[[], int]) -> None:
    everywhere(place)
    loaded = Loaded(clock, later)
    for _ in range(int(READ_EVERY / LOOK)):
        names(loaded, asked(place))
        clock.passes(LOOK)
    assert loaded.loads == 1


def test_what_was_written_while_it_was_read_is_read_once_more(place: Home, clock: Clock) -> None:
    """Two changes within a tick of the clock of files look like one."""
    written = place.write("~/.config/fairlead/fairlead.toml", GUARD).stat().st_ctime_ns
    now = [written + 1_000_000]
    loaded = Loaded(clock, lambda: now[0])
    loads = []
    for _ in range(4):
        names(loaded, asked(place))
        loads.append(loaded.loads)
        clock.passes(LOOK)
        now[0] += 40_000_000
    assert loads == [1, 1, 2, 2]


def test_in_any_case_files_are_read_again_after_a_while(place: Home, clock: Clock, later: Callable[[], int]) -> None:
    loaded = Loaded(clock, later)
    names(loaded, asked(place))
    clock.passes(READ_EVERY + 1)
    names(loaded, asked(place))
    assert loaded.loads == 2


# --- while nobody waits ----------------------------------------------------------------------------------


def test_what_has_to_be_read_again_is_read_before_somebody_waits_for_it(
    place: Home, clock: Clock, later: Callable[[], int]
) -> None:
    place.write("~/.config/fairlead/fairlead.toml", GUARD)
    loaded = Loaded(clock, later)
    names(loaded, asked(place))
    loads = []
    for _ in range(int(5 * READ_EVERY)):
        clock.passes(1.0)
        loaded.refresh()
        before = loaded.loads
        assert len(names(loaded, asked(place))) == 1
        assert loaded.loads == before
        loads.append(before)
    assert 5 <= loads[-1] <= 8  # and not each time


def test_a_change_is_read_before_somebody_waits_for_it(place: Home, clock: Clock, later: Callable[[], int]) -> None:
    place.write("~/.config/fairlead/fairlead.toml", GUARD)
    loaded = Loaded(clock, later)
    names(loaded, asked(place))
    place.write("~/.config/fairlead/fairlead.toml", GUARD * 3)
    clock.passes(1.0)
    loaded.refresh()
    assert loaded.loads == 2
    assert len(names(loaded, asked(place))) == 3
    assert loaded.loads == 2


def test_what_nobody_has_asked_about_for_long_is_left_alone(
    place: Home, clock: Clock, later: Callable[[], int]
) -> None:
    loaded = Loaded(clock, later)
    names(loaded, asked(place))
    clock.passes(LATELY + 1)
    loaded.refresh()
    assert loaded.loads == 1


def test_what_is_read_ahead_is_for_who_has_asked(place: Home, clock: Clock, later: Callable[[], int]) -> None:
    """Each with its own variables, and none with the event that it was asked with."""
    place.write("~/.config/fairlead/fairlead.toml", GUARD)
    place.write("~/other/fairlead/fairlead.toml", GUARD * 3)
    other = asked(place, environ={**place.environ, "XDG_CONFIG_HOME": str(place.home / "other")}).but(raw=b"x" * 1000)
    loaded = Loaded(clock, later)
    assert [len(names(loaded, one)) for one in (asked(place), other)] == [1, 3]
    clock.passes(READ_EVERY - 1)
    loaded.refresh()
    assert loaded.loads == 4
    assert [len(names(loaded, one)) for one in (asked(place), other)] == [1, 3]
    assert loaded.loads == 4
    assert {kept.request.raw for row in loaded._kept.values() for kept in row} == {b""}


def test_what_cannot_be_read_ahead_is_said_to_the_next_event(
    place: Home, clock: Clock, later: Callable[[], int], monkeypatch: pytest.MonkeyPatch
) -> None:
    loaded = Loaded(clock, later)
    names(loaded, asked(place))
    clock.passes(READ_EVERY + 1)

    def broken(_request: Request) -> NoReturn:
        raise OSError("no memory")

    monkeypatch.setattr(loaded, "_load", broken)
    loaded.refresh()
    with pytest.raises(OSError, match="no memory"):
        names(loaded, asked(place))


# --- whose they are --------------------------------------------------------------------------------------


def test_a_variable_counts_if_somebody_looked_at_it(place: Home, loaded: Loaded) -> None:
    place.write("~/.config/fairlead/fairlead.toml", GUARD)
    place.write("~/other/fairlead/fairlead.toml", GUARD * 3)
    one = asked(place)
    other = asked(place, environ={**place.environ, "XDG_CONFIG_HOME": str(place.home / "other")})
    unrelated = asked(place, environ={**place.environ, "SOMETHING": "else"})
    assert [len(names(loaded, request)) for request in (one, other, one, unrelated, other)] == [1, 3, 1, 1, 3]
    assert loaded.loads == 2


def test_who_looks_at_everything_has_looked_at_each(place: Home) -> None:
    looked = Looked({"A": "1", "B": "2"})
    assert looked.get("A") == "1"
    assert looked.says_the_same_as({"A": "1", "B": "3"})
    assert dict(looked) == {"A": "1", "B": "2"}
    assert not looked.says_the_same_as({"A": "1", "B": "3"})
    assert looked.says_the_same_as({"A": "1", "B": "2"})


def test_a_variable_that_is_not_there_was_looked_at_too() -> None:
    looked = Looked({})
    assert looked.get("A", "") == ""
    assert "B" not in looked
    assert not looked.says_the_same_as({"A": "1"})
    assert not looked.says_the_same_as({"B": "1"})
    assert looked.says_the_same_as({"C": "1"})


def test_each_sees_its_own_environment_with_the_same_hooks(place: Home, loaded: Loaded) -> None:
    place.write("~/.config/fairlead/fairlead.toml", GUARD)
    requests = [asked(place, environ={**place.environ, "SECRET": secret}) for secret in ("one", "two")]
    found = [loaded.find(request, EVENT).setting.environ["SECRET"] for request in requests]
    assert found == ["one", "two"]
    assert loaded.loads == 1


def test_of_many_projects_the_last_are_kept(place: Home, loaded: Loaded) -> None:
    for number in range(MOST + 20):
        loaded.find(asked(place).but(project=str(place.project / str(number))), EVENT)
    assert len(loaded) == MOST
    before = loaded.loads
    loaded.find(asked(place).but(project=str(place.project / str(MOST + 19))), EVENT)
    assert loaded.loads == before
    loaded.find(asked(place).but(project=str(place.project / "0")), EVENT)
    assert loaded.loads == before + 1


# --- a broken edit -------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "broken",
    [b"[[hook]\n", b'on = "', b"\xff\xfe", b'[[hook]]\non = "PreToolUse"\nguard = [\n'],
    ids=["a bracket", "a quote", "not UTF-8", "half written"],
)
@pytest.mark.parametrize("file", ["~/.config/fairlead/fairlead.toml", "../etc/fairlead/fairlead.toml"])
def test_a_broken_edit_keeps_the_last_good_state_and_says_so(
    place: Home, loaded: Loaded, clock: Clock, broken: bytes, file: str
) -> None:
    path = place.write(file, GUARD).resolve()
    good = names(loaded, asked(place))
    path.write_bytes(broken)
    for _ in range(3):
        clock.passes(READ_EVERY + 1)
        hooks = loaded.find(asked(place), EVENT)
        assert [hook.name for hook in hooks] == good
        assert "stays in force" in " ".join(map(str, hooks.problems))
        assert path.name in str(hooks.problems[0])
    path.write_text(GUARD * 2)
    clock.passes(LOOK)
    mended = loaded.find(asked(place), EVENT)
    assert len(list(mended)) == 2
    assert mended.problems == ()


def test_where_a_file_is_broken_is_said_to_the_column(place: Home, loaded: Loaded, clock: Clock) -> None:
    path = place.write("~/.config/fairlead/fairlead.toml", GUARD)
    names(loaded, asked(place))
    path.write_text(f"{GUARD}\n[[hook]\n")
    clock.passes(LOOK)
    (problem,) = loaded.find(asked(place), EVENT).problems
    assert str(problem).startswith(f"{path}:6:")


def test_a_file_that_was_never_good_refuses(place: Home, loaded: Loaded) -> None:
    place.write("~/.config/fairlead/fairlead.toml", "[[hook]")
    (hook,) = loaded.find(asked(place), EVENT)
    assert hook.handler.kind == "unreadable"


def test_a_file_that_is_taken_away_is_gone(place: Home, loaded: Loaded, clock: Clock) -> None:
    path = place.write("~/.config/fairlead/fairlead.toml", GUARD)
    names(loaded, asked(place))
    path.unlink()
    clock.passes(LOOK)
    assert names(loaded, asked(place)) == []
    path.write_text("[[hook]")
    clock.passes(LOOK)
    (hook,) = loaded.find(asked(place), EVENT)
    assert hook.handler.kind == "unreadable"


# --- what only a process of its own can do ---------------------------------------------------------------


def _relative(name: str) -> Callable[[Home], Request]:
    return lambda place: asked(place, environ={**place.environ, name: "somewhere"})


def _function(place: Home) -> Request:
    place.write("~/.config/fairlead/fairlead.toml", '[[hook]]\non = "PreToolUse"\npython = "a.b:c"\n')
    return asked(place)


DECLINED: dict[str, Callable[[Home], Request]] = {
    **{name: _relative(name) for name in ("HOME", "TMPDIR", "CODEX_HOME", "GEMINI_CLI_HOME", "SSL_CERT_FILE")},
    "a function": _function,
    "a debug log of M": lambda place: asked(place, "m", environ={**place.environ, "M_HOOK_DEBUG": "1"}),
}


@pytest.mark.parametrize("request_of", DECLINED.values(), ids=DECLINED)
def test_what_would_not_be_the_same_is_declined(
    place: Home, loaded: Loaded, request_of: Callable[[Home], Request]
) -> None:
    with pytest.raises(Declined):
        loaded.find(request_of(place), EVENT)


def test_a_function_for_another_event_is_no_cause_to_decline(place: Home, loaded: Loaded) -> None:
    place.write("~/.config/fairlead/fairlead.toml", '[[hook]]\non = "Stop"\npython = "a.b:c"\n')
    assert len(names(loaded, asked(place))) == 1


def test_an_event_from_a_relative_folder_is_declined(place: Home, loaded: Loaded) -> None:
    with pytest.raises(Declined):
        loaded.find(asked(place), EVENT.but(cwd="src"))


def test_after_an_upgrade_the_new_program_answers(place: Home, clock: Clock, monkeypatch: pytest.MonkeyPatch) -> None:
    installed = place.write("site/fairlead/__init__.py", "")
    monkeypatch.setattr(fairlead, "__file__", str(installed))
    loaded = Loaded(clock)
    names(loaded, asked(place))
    installed.write_text("# another version\n")
    clock.passes(LOOK)
    for _ in range(2):
        with pytest.raises(Declined, match="installed anew"):
            names(loaded, asked(place))


@pytest.mark.parametrize("path", ["a\0b", "/a\ud800"])
def test_what_cannot_be_a_path_is_not_there(path: str) -> None:
    assert watched.signature(path) is None
    assert watched._are_as_before({path: None}, watched.signature)


def test_what_was_not_there_and_is_there_now_is_a_change(tmp_path: Path) -> None:
    there, gone = str(tmp_path), str(tmp_path / "gone")
    assert watched._are_as_before({gone: None, there: watched.owner(there)}, watched.owner)
    assert not watched._are_as_before({there: None}, watched.owner)
    assert not watched._are_as_before({gone: watched.owner(there)}, watched.owner)
