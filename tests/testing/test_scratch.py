"""The scratch copy: hooks may do in it what they like, and nobody outside notices."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from fairlead.errors import UsageError
from fairlead.testing import Scratch, scratch
from tests.conftest import Home, Ran

Fairlead = Callable[..., Ran]
CASES = "fairlead.tests.toml"


def git(folder: Path, *words: str) -> str:
    who = ("-c", "user.name=n", "-c", "user.email=n@example.org", "-c", "init.defaultBranch=main")
    return subprocess.run(("git", *who, *words), cwd=folder, check=True, capture_output=True, text=True).stdout


@pytest.fixture
def repository(place: Home) -> Home:
    place.write("tracked.txt", "one\n")
    place.write("sub/inner.txt", "two\n")
    place.write(".gitignore", "ignored/\n*.local.toml\n")
    place.write("ignored/big.bin", "x")
    git(place.project, "init", "-q")
    git(place.project, "add", "-A")
    git(place.project, "commit", "-qm", "first")
    place.write("untracked.txt", "three\n")
    return place


def tree(folder: str | Path) -> dict[str, object]:
    """Everything below a folder, with what is in it; git's own state aside."""
    found: dict[str, object] = {}
    for path in sorted(Path(folder).rglob("*")):
        name = path.relative_to(folder).as_posix()
        if name != ".git" and not name.startswith(".git/"):
            found[name] = (
                os.readlink(path) if path.is_symlink() else path.is_dir() or (path.stat().st_mode, path.read_bytes())
            )
    return found


# --- what is copied ----------------------------------------------------------------------------------


def test_what_git_knows_or_would_add_is_copied_and_what_it_ignores_is_not(repository: Home) -> None:
    with Scratch(repository.project) as copy:
        assert set(tree(copy.project)) == {".gitignore", "tracked.txt", "sub", "sub/inner.txt", "untracked.txt"}


def test_more_is_copied_and_less_where_somebody_says_so(repository: Home) -> None:
    with Scratch(repository.project, copy=["ignored"], leave_out=["sub", "*.txt"]) as copy:
        assert set(tree(copy.project)) == {".gitignore", "ignored", "ignored/big.bin"}


def test_a_case_file_says_so_too(repository: Home, fairlead: Fairlead) -> None:
    repository.write("fairlead.toml", '[[hook]]\non = "PreToolUse"\nrun = "ls -A ignored sub >&2; exit 1"\n')
    case = '[[case]]\ncommand = "ls"\ndecision = "deny"\n'
    repository.write(
        CASES, f'{case}reason = ["big.bin", "cannot access \'sub\'"]\n[scratch]\ncopy = "ignored"\nleave_out = "sub"\n'
    )
    ran = fairlead("test")
    assert ran.code == 0, ran.out
    repository.write(CASES, f'{case}reason = ["inner.txt", "cannot access \'ignored\'"]\n')
    ran = fairlead("test")
    assert ran.code == 0, ran.out


def test_without_git_everything_is_copied_but_what_can_be_made_again(place: Home) -> None:
    for name in ("a.txt", "deep/er/b.txt", "node_modules/x/y.js", ".venv/bin/z", "deep/__pycache__/c.pyc"):
        place.write(name, "x")
    with Scratch(place.project) as copy:
        assert {name for name, what in tree(copy.project).items() if what is not True} == {"a.txt", "deep/er/b.txt"}


def test_modes_stay_and_files_that_nobody_can_copy_are_left_out(place: Home) -> None:
    place.script("hook.sh", "true")
    place.write("read-only", "x").chmod(0o444)
    os.mkfifo(place.project / "pipe")
    with Scratch(place.project) as copy:
        found = Path(copy.project)
        assert sorted(path.name for path in found.iterdir()) == ["hook.sh", "read-only"]
        assert os.access(found / "hook.sh", os.X_OK)
        (found / "read-only").write_text("changed")
    assert (place.project / "read-only").read_text() == "x"


def test_links_stay_links_and_those_into_the_project_lead_into_the_copy(place: Home) -> None:
    outside = place.root / "outside"
    outside.mkdir()
    (outside / "secret").write_text("s")
    place.write("a.txt", "x")
    for name, goal in (
        ("near", "a.txt"),
        ("whole", str(place.project / "a.txt")),
        ("folder", str(outside)),
        ("up", "../home"),
    ):
        (place.project / name).symlink_to(goal)
    with Scratch(place.project) as copy:
        goals = {name: os.readlink(f"{copy.project}/{name}") for name in ("near", "whole", "folder", "up")}
        assert goals == {"near": "a.txt", "whole": f"{copy.project}/a.txt", "folder": str(outside), "up": "../home"}
    assert (outside / "secret").read_text() == "s"


def test_repositories_inside_of_it_are_copied_as_they_know_themselves(repository: Home) -> None:
    inner = repository.project / "vendor"
    inner.mkdir()
    git(inner, "init", "-q")
    repository.write("vendor/.gitignore", "skip\n")
    repository.write("vendor/skip", "x")
    repository.write("vendor/keep", "x")
    with Scratch(repository.project) as copy:
        assert {name for name in tree(copy.project) if "vendor/" in name} == {"vendor/.gitignore", "vendor/keep"}


def test_too_much_is_refused_with_a_way_out(repository: Home, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(scratch, "MOST_FILES", 2)
    with pytest.raises(UsageError, match="too much for a scratch copy") as caught:
        Scratch(repository.project, repository.root / "scratch")
    assert "leave_out" in caught.value.hint
    assert not (repository.root / "scratch").exists()


# --- git ---------------------------------------------------------------------------------------------


def in_copy(copy: Scratch, command: str) -> str:
    done = subprocess.run(
        ("/bin/sh", "-c", command), cwd=copy.project, env=copy.environ(), capture_output=True, text=True, check=False
    )
    return (done.stdout + done.stderr).strip()


COMMIT = "git add -A && git -c user.name=n -c user.email=n@example.org commit -qm second"


@pytest.mark.parametrize("kind", ["the whole", "a folder of it", "another working tree of it", "one with a name"])
def test_git_works_in_the_copy_and_nothing_of_it_reaches_the_real_one(kind: str, repository: Home) -> None:
    project = repository.project
    if kind == "a folder of it":
        project = project / "sub"
    elif kind == "another working tree of it":
        project = repository.root / "second"
        git(repository.project, "worktree", "add", "-q", "-b", "second", str(project))
    elif kind == "one with a name":
        git(project, "config", "core.worktree", str(project))
    before = git(repository.project, "log", "--all", "--oneline"), git(project, "status", "--short")
    with Scratch(project) as copy:
        assert in_copy(copy, "git log --format=%s") == "first"
        assert in_copy(copy, "git rev-parse --show-toplevel").startswith(copy.folder)
        in_copy(copy, f"echo new > new; {COMMIT}; git branch another")
        assert in_copy(copy, "git log --format=%s") == "second\nfirst"
        copy.restore()
        assert in_copy(copy, "git log --format=%s; git branch --list another; ls new 2>/dev/null") == "first"
    assert (git(repository.project, "log", "--all", "--oneline"), git(project, "status", "--short")) == before


def test_git_reaches_no_remote_from_the_copy(repository: Home) -> None:
    remote = repository.root / "remote.git"
    git(repository.root, "init", "-q", "--bare", str(remote))
    git(repository.project, "remote", "add", "origin", str(remote))
    with Scratch(repository.project) as copy:
        assert "not allowed" in in_copy(copy, "git push origin HEAD")
    with Scratch(repository.project, online=True) as copy:
        in_copy(copy, "git push -q origin HEAD")
    assert git(remote, "log", "--all", "--format=%s") == "first\n"


def test_a_run_inside_of_a_git_hook_does_not_lead_git_out_of_the_copy(repository: Home, fairlead: Fairlead) -> None:
    repository.write(
        "fairlead.toml", f'[[hook]]\non = "PreToolUse"\nrun = "{COMMIT}; git log --format=%s >&2; exit 1"\n'
    )
    repository.write(CASES, '[[case]]\ncommand = "ls"\nreason = "/^second\\nfirst$/"\n')
    real = repository.project
    inside = {"GIT_DIR": f"{real}/.git", "GIT_INDEX_FILE": f"{real}/.git/index", "GIT_WORK_TREE": str(real)}
    ran = fairlead("test", env=inside)
    assert ran.code == 0, ran.out
    assert git(repository.project, "log", "--format=%s") == "first\n"
    assert "A " not in git(repository.project, "status", "--short")


# --- what hooks do there -----------------------------------------------------------------------------

VANDAL = """\
cat > seen; ls -A > before-me; ls -A ~ >> before-me; ls -A "$TMPDIR" >> before-me
grep -q spoil seen || { cat before-me a.txt >&2; rm seen before-me; exit 1; }
echo changed > a.txt; rm b.txt; chmod 777 c.txt; mkdir -p dir/ro; echo x > dir/ro/f; chmod 555 dir/ro
rm d.txt; mkdir d.txt; rm -r e; ln -s a.txt e; echo x > ~/in-home; echo x > "$TMPDIR/in-tmp"
"""


def test_each_case_finds_the_project_as_it_is_and_the_real_one_stays_so(place: Home, fairlead: Fairlead) -> None:
    for name in ("a.txt", "b.txt", "c.txt", "d.txt", "e/f.txt"):
        place.write(name, "original\n")
    place.script("vandal.sh", VANDAL)
    place.write("fairlead.toml", '[[hook]]\nname = "vandal"\non = "PreToolUse"\nrun = "./vandal.sh"\n')
    names = "a.txt b.txt before-me c.txt d.txt e fairlead.tests.toml fairlead.toml seen vandal.sh".replace(" ", "\\n")
    look = f'[[case]]\nname = "look"\ncommand = "look"\ndecision = "deny"\nreason = "{names}\\nproject\\noriginal"\n'
    place.write(CASES, f'{look}[[case]]\ncommand = "spoil"\ndecision = "none"\nhooks = ["vandal"]\n{look}{look}')
    before, home = tree(place.project), tree(place.home)
    ran = fairlead("test")
    assert ran.code == 0, ran.out.decode()
    assert tree(place.project) == before
    assert tree(place.home) == home


def test_functions_in_this_process_are_kept_in_the_copy_too_and_begin_anew(place: Home, fairlead: Fairlead) -> None:
    place.write(
        "own.py",
        "import os\nfrom pathlib import Path\nfrom fairlead import deny\ncount = 0\n"
        "def look(event):\n    global count\n    count += 1\n    Path('here').write_text('x')\n"
        "    (Path(__file__).parent / 'beside').write_text('x')\n    Path.home().joinpath('home').write_text('x')\n"
        "    os.environ['LEFT'] = 'x'\n    return deny(f'{count} time')\n",
    )
    place.write("fairlead.toml", '[[hook]]\non = "PreToolUse"\npython = "own:look"\n')
    place.write(CASES, '[[case]]\ncommand = "ls"\nreason = "1 time"\n' * 3)
    before, home = tree(place.project), tree(place.home)
    ran = fairlead("test")
    assert ran.code == 0, ran.out.decode()
    assert tree(place.project) == before
    assert tree(place.home) == home


def test_a_hook_in_the_background_is_waited_for_and_decides_nothing(place: Home, fairlead: Fairlead) -> None:
    slow = '[[hook]]\nname = "slow"\non = "PreToolUse"\nasync = true\nrun = "exit 1"\n'
    place.write(
        "fairlead.toml", f'{slow}[[hook]]\nname = "broken"\non = "Stop"\nasync = true\nrun = "no-such-program"\n'
    )
    text = '[[case]]\ncommand = "ls"\ndecision = "none"\nhooks = ["slow"]\n'
    place.write(CASES, f'{text}[[case]]\nevent = "Stop"\ndecision = "none"\nfails = "broken"\n')
    ran = fairlead("test", "--json")
    assert ran.json["passed"] == 2, ran.out


def test_only_the_projects_hooks_count_unless_the_users_are_wanted(place: Home, fairlead: Fairlead) -> None:
    once = '[[hook]]\non = "PreToolUse"\nrun = "true"\nonce = true\n'
    place.write(
        "~/.config/fairlead/fairlead.toml", f'{once}[[hook]]\non = "PreToolUse"\nrun = "ls ~/mine >&2; exit 1"\n'
    )
    place.write("~/mine", "")
    place.write("fairlead.local.toml", '[[hook]]\non = "Stop"\nname = "local"\nrun = "exit 1"\n')
    place.write(".gitignore", "*.local.toml\n")
    git(place.project, "init", "-q")
    case = '[[case]]\ncommand = "ls"\ndecision = "{}"\n[[case]]\nevent = "Stop"\ndecision = "{}"\n'
    place.write(CASES, case.format("none", "none"))
    assert fairlead("test").code == 0
    place.write(CASES, case.format("deny", "deny").replace('"deny"\n', '"deny"\nreason = "mine"\n', 1))
    ran = fairlead("test", "--user")
    assert ran.code == 0, ran.out
    assert "state" not in {path.name for path in place.home.rglob("*")}


def test_nothing_is_written_to_the_journal(place: Home, fairlead: Fairlead) -> None:
    place.write("~/.config/fairlead/fairlead.toml", 'guard = "all"\n')
    place.write(CASES, '[[case]]\ncommand = "rm -rf /"\ndecision = "deny"\n')
    assert fairlead("test", "--user").code == 0
    assert fairlead("log", "--json").out == b""


def test_nobody_is_asked_even_where_somebody_could_be(place: Home, fairlead: Fairlead) -> None:
    place.write("fairlead.toml", '[[hook]]\nname = "boss"\non = "PreToolUse"\napproval = "look"\n')
    place.write(CASES, '[[case]]\ncommand = "ls"\ndecision = "deny"\nhooks = ["boss"]\n')
    ran = fairlead("test", "--online", env={"FAIRLEAD_APPROVALS": "1", "FAIRLEAD_URL": "http://127.0.0.1:9"})
    assert ran.code == 0, ran.out


# --- its end -----------------------------------------------------------------------------------------


def test_nothing_is_left_behind_also_after_a_signal(place: Home) -> None:
    temporary = place.root / "tmp"
    temporary.mkdir()
    started = place.root / "started"
    place.write(
        "fairlead.toml", f'[[hook]]\non = "PreToolUse"\nrun = "touch {started}; exec sleep 600"\ntimeout = "20m"\n'
    )
    place.write(CASES, '[[case]]\ncommand = "ls"\ndecision = "none"\n')
    child = subprocess.Popen(
        (sys.executable, "-m", "fairlead", "test"),
        cwd=place.project, env={**place.environ, "TMPDIR": str(temporary)},
        stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
    )  # fmt: skip
    try:
        while not started.exists() and child.poll() is None:
            time.sleep(0.05)
        child.send_signal(signal.SIGTERM)
        assert child.wait(timeout=90) == 128 + signal.SIGTERM
    finally:
        child.kill()
    assert list(temporary.iterdir()) == []


def test_nothing_is_left_behind_by_what_cannot_be_written(place: Home) -> None:
    with Scratch(place.project) as copy:
        closed = Path(copy.project) / "closed" / "deeper"
        closed.mkdir(parents=True)
        (closed / "file").write_text("x")
        closed.chmod(0o500)
        closed.parent.chmod(0o100)
        copy.restore()
        assert list(Path(copy.project).iterdir()) == []
        closed.mkdir(parents=True)
        closed.chmod(0)
    assert not Path(copy.folder).exists()


# --- what it cannot catch ----------------------------------------------------------------------------


@pytest.mark.parametrize("has_git", [True, False])
def test_who_writes_to_the_project_by_its_whole_path_is_named(place: Home, fairlead: Fairlead, has_git: bool) -> None:
    place.write("old.txt", "one\n")
    place.script("hook.sh", f"cat > /dev/null; touch {place.project}/new.txt; echo two >> {place.project}/old.txt")
    place.write("fairlead.toml", '[[hook]]\non = "PreToolUse"\nrun = "./hook.sh"\n')
    place.write(CASES, '[[case]]\ncommand = "ls"\ndecision = "allowed"\n')
    if has_git:
        git(place.project, "init", "-q")
    ran = fairlead("test")
    assert ran.code == 0
    assert b"While the hooks ran, the project itself has changed: new.txt, old.txt. If it was not you, " in ran.out
    assert fairlead("test", "--json").json["changed_outside"] == ["new.txt", "old.txt"]


def test_who_stays_in_the_copy_is_not(repository: Home, fairlead: Fairlead) -> None:
    repository.script("hook.sh", "cat > /dev/null; touch new.txt ~/new.txt; echo two >> tracked.txt; git add -A")
    repository.write("fairlead.toml", '[[hook]]\non = "PreToolUse"\nrun = "./hook.sh"\n')
    repository.write(CASES, '[[case]]\ncommand = "ls"\ndecision = "allowed"\n')
    assert fairlead("test", "--json", "--junit", "report.xml").json["changed_outside"] == []
