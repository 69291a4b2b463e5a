"""A project's hooks run after somebody has looked at them, as long as they are the same bytes."""

from __future__ import annotations

import json
import os
import random
import subprocess
import sys
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from fairlead import Hooks
from fairlead.trust import LOCK, file_of
from fairlead.trust import folder as trust_folder
from fairlead.trust.bound import Bound
from tests.conftest import Home, Ran
from tests.trust.conftest import BASH, claude_settings, judged, places, ran, review, seen, trust


def test_without_trust_a_hook_of_the_project_does_not_run_and_is_named(guarded: Home) -> None:
    decision = judged(guarded)
    assert (decision.decision, ran(guarded)) == ("none", [])
    assert any("check" in note and "fairlead trust" in note for note in decision.notes)


def test_a_trusted_hook_runs(accepted: Home) -> None:
    decision = judged(accepted)
    assert (decision.decision, decision.reason, ran(accepted)) == ("deny", "refused", ["check"])


def test_what_runs_is_a_copy_that_the_project_cannot_reach(accepted: Home) -> None:
    accepted.write("hooks/check.sh", '#!/bin/bash\necho "$0" >&2; exit 1\n', executable=True)
    trust(accepted)
    assert str(trust_folder(accepted.environ)) in judged(accepted).reason


def test_a_changed_program_does_not_run_and_what_it_guards_is_refused(accepted: Home) -> None:
    accepted.script("hooks/check.sh", 'echo changed >> "$HOME/ran"')
    decision = judged(accepted)
    assert (decision.decision, ran(accepted)) == ("deny", [])
    assert "hooks/check.sh" in decision.reason
    assert "fairlead trust" in decision.reason


def test_a_changed_program_of_another_system_refuses_too_whatever_that_system_does_about_failures(place: Home) -> None:
    place.write(".claude/settings.json", claude_settings('"$CLAUDE_PROJECT_DIR"/.claude/hooks/x.sh'))
    place.script(".claude/hooks/x.sh", 'echo x >> "$HOME/ran"')
    trust(place)
    assert (judged(place).decision, ran(place)) == ("none", ["x"])
    place.script(".claude/hooks/x.sh", 'echo evil >> "$HOME/ran"')
    assert (judged(place).decision, ran(place)) == ("deny", ["x"])


def test_a_changed_definition_does_not_run_and_what_it_guards_is_refused(accepted: Home) -> None:
    file = accepted.project / "fairlead.toml"
    file.write_text(file.read_text().replace("sh hooks/check.sh", "sh hooks/check.sh --fast"))
    decision = judged(accepted)
    assert (decision.decision, ran(accepted)) == ("deny", [])
    assert "changed since you trusted it" in decision.reason


def test_a_change_of_an_event_that_cannot_be_refused_is_said_and_nothing_runs(place: Home) -> None:
    place.write("fairlead.toml", '[[hook]]\nname = "after"\non = "PostToolUse"\nrun = "sh after.sh"\n')
    place.script("after.sh", 'echo after >> "$HOME/ran"')
    trust(place)
    event = {**BASH, "hook_event_name": "PostToolUse", "tool_response": {}}
    judged(place, event)
    place.script("after.sh", 'echo evil >> "$HOME/ran"')
    decision = judged(place, event)
    assert ran(place) == ["after"]
    assert any("after.sh is not what you have trusted" in note for note in decision.notes)


def test_what_was_trusted_before_is_trusted_again(accepted: Home) -> None:
    """Whoever goes back to another branch is not asked twice."""
    first = (accepted.project / "hooks/check.sh").read_text()
    accepted.script("hooks/check.sh", 'echo second >> "$HOME/ran"; exit 1')
    trust(accepted)
    judged(accepted)
    accepted.write("hooks/check.sh", first, executable=True)
    judged(accepted)
    assert ran(accepted) == ["second", "check"]


def test_a_hook_that_has_gone_is_named_and_refused_where_it_was_required(guarded: Home) -> None:
    text = (guarded.project / "fairlead.toml").read_text()
    (guarded.project / "fairlead.toml").write_text(text + "required = true\n")
    trust(guarded)
    (guarded.project / "fairlead.toml").write_text("")
    decision = judged(guarded)
    assert decision.decision == "deny"
    assert "check" in decision.reason


def test_a_hook_that_has_gone_is_named(accepted: Home, fairlead: Callable[..., Ran]) -> None:
    (accepted.project / "fairlead.toml").unlink()
    said = fairlead("hook", "--agent", "claude-code", stdin=BASH)
    assert "check" in said.err
    assert "not there any more" in said.err


def test_a_required_hook_that_nobody_has_trusted_refuses(guarded: Home) -> None:
    """T5: it never vanishes."""
    text = (guarded.project / "fairlead.toml").read_text()
    (guarded.project / "fairlead.toml").write_text(text + "required = true\n")
    decision = judged(guarded)
    assert (decision.decision, ran(guarded)) == ("deny", [])
    assert "fairlead trust" in decision.reason


def test_a_file_that_cannot_be_read_any_more_refuses_what_its_trusted_hooks_guarded(accepted: Home) -> None:
    (accepted.project / "fairlead.toml").write_text("[[hook\n")
    assert judged(accepted).decision == "deny"


def test_who_works_without_the_projects_hooks_is_not_stopped_by_them(
    accepted: Home, fairlead: Callable[..., Ran]
) -> None:
    assert fairlead("trust", "--refuse").code == 0
    assert (judged(accepted).decision, ran(accepted)) == ("none", [])


# --- which bytes -------------------------------------------------------------------------------------


def test_a_single_changed_byte_anywhere_is_noticed(accepted: Home) -> None:
    """T2: the program, and what it pulls in."""
    accepted.write("hooks/lib.sh", "say() { echo lib; }\n" * 20)
    accepted.script("hooks/check.sh", '. "$(dirname "$0")/lib.sh"\nsay >&2\necho check >> "$HOME/ran"\nexit 1')
    trust(accepted)
    assert judged(accepted).reason == "lib"
    files = [accepted.project / "hooks/check.sh", accepted.project / "hooks/lib.sh"]
    originals = [file.read_bytes() for file in files]
    handler = next(iter(Hooks.load(accepted.project, environ=accepted.environ))).handler
    assert isinstance(handler, Bound)
    dice = random.Random(7)
    for number in range(1000):
        index = dice.randrange(2)
        at = dice.randrange(len(originals[index]))
        changed = bytearray(originals[index])
        changed[at] ^= 1 << dice.randrange(8)
        files[index].write_bytes(changed)
        assert handler.difference(), (index, at)
        if number % 100 == 0:
            assert judged(accepted).decision == "deny"
        files[index].write_bytes(originals[index])
    assert handler.difference() == ""
    assert ran(accepted) == ["check"]


FIELDS = {
    "name": ('name = "check"', 'name = "chock"'),
    "event": ('on = "PreToolUse"', 'on = ["PreToolUse", "Stop"]'),
    "tool": ('tool = "Bash"', 'tool = "Bash|Read"'),
    "command": ("sh hooks/check.sh", "sh hooks/check.sh "),
    "timeout": ("timeout = 5", "timeout = 6"),
    "priority": ("priority = 1", "priority = 2"),
    "environment": ('A = "1"', 'A = "2"'),
    "variable": ('A = "1"', 'B = "1"'),
    "condition": ('if = "Bash(ls *)"', 'if = "Bash(ls *:*)"'),
    "enabled": ("enabled = true", "enabled = false"),
    "parallel": ("parallel = false", "parallel = true"),
    "cwd": ('cwd = "hooks"', 'cwd = "."'),
    "files": ('files = ["data.txt"]', 'files = ["data.txt", "more.txt"]'),
}


@pytest.mark.parametrize("field", FIELDS)
def test_every_part_of_a_definition_counts(place: Home, field: str) -> None:
    text = (
        '[[hook]]\nname = "check"\non = "PreToolUse"\ntool = "Bash"\nrun = "sh hooks/check.sh"\ntimeout = 5\n'
        'priority = 1\nenv = {A = "1"}\nif = "Bash(ls *)"\nenabled = true\nparallel = false\ncwd = "hooks"\n'
        'files = ["data.txt"]\n'
    )
    place.script("hooks/check.sh", "exit 1")
    place.write("data.txt", "")
    place.write("more.txt", "")
    file = place.write("fairlead.toml", text)
    trust(place)
    old, new = FIELDS[field]
    assert old in text
    file.write_text(text.replace(old, new))
    assert review(place).waiting


def test_what_was_trusted_stays_so_when_a_later_version_knows_more_fields(accepted: Home) -> None:
    from fairlead.handlers.command import Command
    from fairlead.trust.definitions import definition, digest_of

    class Later(Command):
        extra: str = ""

    (hook,) = Hooks.load(accepted.project, environ=accepted.environ, trust_project=True)
    assert isinstance(hook.handler, Command)
    Later.__name__ = "Command"
    later = hook.but(handler=Later(**hook.handler.__dict__))
    project = str(accepted.project)
    assert digest_of(definition(later, project)) == digest_of(definition(hook, project))
    other = hook.but(handler=Later(**hook.handler.__dict__, extra="x"))
    assert digest_of(definition(other, project)) != digest_of(definition(hook, project))


def test_a_declared_file_counts(place: Home) -> None:
    place.write("fairlead.toml", '[[hook]]\non = "PreToolUse"\nrun = "cat"\nfiles = ["rules/*.txt"]\n')
    place.write("rules/a.txt", "a")
    trust(place)
    assert not review(place).waiting
    place.write("rules/a.txt", "b")
    assert review(place).waiting[0].state == "changed"
    place.write("rules/a.txt", "a")
    place.write("rules/b.txt", "b")
    assert review(place).waiting[0].state == "changed"


def test_a_copy_that_somebody_has_changed_is_made_anew(accepted: Home) -> None:
    (copy,) = Path(trust_folder(accepted.environ)).glob("copies/*/hooks/check.sh")
    copy.chmod(0o700)
    copy.write_text('echo evil >> "$HOME/ran"')
    assert (judged(accepted).reason, ran(accepted)) == ("refused", ["check"])


def test_a_file_that_somebody_has_put_beside_a_copy_is_not_there_when_it_runs(place: Home) -> None:
    place.write("fairlead.toml", '[[hook]]\nname = "check"\non = "PreToolUse"\npython = "check.py"\n')
    place.write("check.py", "import sys\ntry:\n    import planted\nexcept ImportError:\n    sys.exit('clean')\n")
    trust(place)
    (copy,) = Path(trust_folder(place.environ)).glob("copies/*/check.py")
    (copy.parent / "planted.py").write_text("print('evil')")
    assert judged(place).reason == "clean"


NAMES = {
    "shell": ("sh hooks/x.sh", ["hooks/x.sh"]),
    "program": ("hooks/x.sh --flag", ["hooks/x.sh"]),
    "here": ("./hooks/x.sh", ["hooks/x.sh"]),
    "variable": ("$CLAUDE_PROJECT_DIR/hooks/x.sh", ["hooks/x.sh"]),
    "braces": ("${CLAUDE_PROJECT_DIR}/hooks/x.sh", ["hooks/x.sh"]),
    "quoted variable": ('"$CLAUDE_PROJECT_DIR"/hooks/x.sh', ["hooks/x.sh"]),
    "quoted whole": ('"$CLAUDE_PROJECT_DIR/hooks/x.sh" a', ["hooks/x.sh"]),
    "single quotes": ("'hooks/x.sh'", ["hooks/x.sh"]),
    "assignment": ("A=1 B=2 hooks/x.sh", ["hooks/x.sh"]),
    "changed folder": ("cd hooks && ./x.sh", ["hooks/x.sh"]),
    "second command": ("true; sh hooks/x.sh", ["hooks/x.sh"]),
    "piped": ("cat | hooks/x.sh", ["hooks/x.sh"]),
    "substituted": ("echo $(hooks/x.sh)", ["hooks/x.sh"]),
    "inner shell": ("bash -c 'true; hooks/x.sh'", ["hooks/x.sh"]),
    "sourced": (". hooks/x.sh", ["hooks/x.sh"]),
    "data for a shell": ("cat data.txt | sh", ["data.txt"]),
    "python": ("python3 -u tools/y.py --all", ["tools/y.py"]),
    "versioned python": ("python3.11 tools/y.py", ["tools/y.py"]),
    "env": ("/usr/bin/env python3 tools/y.py", ["tools/y.py"]),
    "option": ("node --require ./tools/z.js main.js", ["main.js", "tools/z.js"]),
    "option with equals": ("eslint --config=tools/z.js", ["tools/z.js"]),
    "without an extension": ("sh runme", ["runme"]),
    "executable without an extension": ("./runme", ["runme"]),
    "two": ("hooks/x.sh && tools/y.py", ["hooks/x.sh", "tools/y.py"]),
    "data is not a program": ("cat data.txt", []),
    "elsewhere": ("/usr/bin/true", []),
    "outside": ("sh ../other.sh", []),
    "installed": ("node_modules/.bin/eslint .", []),
    "nothing": ("echo hello", []),
    "a plugin's variable": ("${CLAUDE_PLUGIN_ROOT}/hooks/x.sh", ["hooks/x.sh"]),
    "an unknown variable": ("$HERE/hooks/x.sh", ["hooks/x.sh"]),
    "quoted with a variable inside": ('bash "${CLAUDE_PLUGIN_ROOT}/hooks/x.sh"', ["hooks/x.sh"]),
}


@pytest.mark.parametrize("case", NAMES)
def test_the_programs_that_a_command_names(place: Home, case: str) -> None:
    from fairlead.trust import naming

    for path in (
        "hooks/x.sh",
        "tools/y.py",
        "tools/z.js",
        "main.js",
        "runme",
        "node_modules/.bin/eslint",
        "../other.sh",
    ):
        place.script(path, "true")
    place.write("data.txt", "")
    command, expected = NAMES[case]
    assert sorted(one.path for one in naming.in_text(command, str(place.project))) == expected


@pytest.mark.parametrize("case", [name for name, (_, found) in NAMES.items() if "hooks/x.sh" in found])
def test_each_form_runs_the_copy_and_not_what_lies_there_by_then(place: Home, case: str) -> None:
    command = NAMES[case][0]
    place.write(".claude/settings.json", claude_settings(command))
    place.script("hooks/x.sh", 'echo "$0" >&2\nexit 2')
    place.script("tools/y.py", "true")
    trust(place)
    reason = judged(place).reason
    assert "copies" in reason or case in ("substituted", "sourced"), reason
    assert str(place.project / "hooks") not in reason


def test_a_hook_with_more_programs_than_anybody_looks_at_cannot_be_trusted(place: Home) -> None:
    place.write("fairlead.toml", '[[hook]]\nname = "many"\non = "PreToolUse"\nrun = "python3 hooks/many.py"\n')
    place.write("hooks/many.py", "".join(f"import m{number}\n" for number in range(600)))
    for number in range(600):
        place.write(f"hooks/m{number}.py", "")
    only = seen(place, "many")
    assert only.versions == ()
    assert "more than 500 files" in only.problem


def test_a_module_runs_from_its_copy(place: Home) -> None:
    place.write("fairlead.toml", '[[hook]]\nname = "m"\non = "PreToolUse"\nrun = "python3 -m tools.check"\n')
    place.write("tools/__init__.py", "")
    place.write("tools/check.py", "import sys\nsys.exit(__file__)\n")
    trust(place)
    assert "copies" in judged(place).reason
    place.write("tools/check.py", "import sys\nsys.exit('evil')\n")
    assert "tools/check.py is not what you have trusted" in judged(place).reason


def test_a_plugin_in_the_project_runs_its_own_programs_from_copies(place: Home) -> None:
    place.write(".claude/plugins/x/hooks/hooks.json", claude_settings('"${CLAUDE_PLUGIN_ROOT}"/scripts/x.sh'))
    place.write(".claude/plugins/x/.claude-plugin/plugin.json", '{"name": "x"}')
    place.write(".claude/settings.json", '{"enabledPlugins": {"x": true}}')
    place.script(".claude/plugins/x/scripts/x.sh", 'echo "$0" >&2; exit 2')
    (only,) = [one for one in review(place).hooks if one.now and one.now.files]
    assert list(only.now.files) == [".claude/plugins/x/scripts/x.sh"]  # type: ignore[union-attr]


def test_a_program_that_is_not_there_is_named(place: Home) -> None:
    place.write("fairlead.toml", '[[hook]]\nname = "m"\non = "PreToolUse"\nrun = "$HERE/later.sh && ./soon.py"\n')
    assert set(seen(place, "m").unseen) == {"$HERE/later.sh", "./soon.py"}


def test_a_program_that_came_later_does_not_run(place: Home) -> None:
    place.write("fairlead.toml", '[[hook]]\nname = "m"\non = "PreToolUse"\nrun = "./soon.sh || true"\n')
    trust(place)
    place.script("soon.sh", 'echo soon >> "$HOME/ran"')
    assert (judged(place).decision, ran(place)) == ("deny", [])


PULLED_IN = {
    "python": ("check.py", "import helper\nprint(helper.X)", {"helper.py": "X = 1"}),
    "python from": ("check.py", "from lib import a", {"lib/__init__.py": "", "lib/a.py": ""}),
    "python deep": ("check.py", "import one", {"one.py": "import two", "two.py": ""}),
    "shell dot": ("check.sh", '. "$(dirname "$0")/lib.sh"', {"lib.sh": ""}),
    "shell source": ("check.sh", 'source "${BASH_SOURCE%/*}/lib.sh"', {"lib.sh": ""}),
    "shell variable": ("check.sh", 'DIR=$(cd "$(dirname "$0")"; pwd)\n"$DIR/tool.py"', {"tool.py": ""}),
    "javascript": ("check.js", "const a = require('./a'); import b from './b.mjs'", {"a.js": "", "b.mjs": ""}),
}


@pytest.mark.parametrize("case", PULLED_IN)
def test_what_a_program_pulls_in_of_its_own_project_counts(place: Home, case: str) -> None:
    name, text, others = PULLED_IN[case]
    for other, content in others.items():
        place.write(f"hooks/{other}", content)
    place.write(f"hooks/{name}", text)
    place.write("fairlead.toml", f'[[hook]]\non = "PreToolUse"\nrun = ["sh", "hooks/{name}"]\n')
    (only,) = review(place).hooks
    assert only.now is not None
    assert set(only.now.files) == {f"hooks/{one}" for one in (name, *others)}


def test_a_function_runs_in_a_process_of_its_own_from_copies(place: Home) -> None:
    place.write("fairlead.toml", '[[hook]]\nname = "f"\non = "PreToolUse"\npython = "rules:check"\n')
    place.write(
        "rules.py",
        "import os\nfrom fairlead import deny\ndef check(event):\n    return deny(f'{os.getpid()} {__file__}')\n",
    )
    trust(place)
    pid, file = judged(place).reason.split()
    assert int(pid) != os.getpid()
    assert "copies" in file


def test_a_swap_between_look_and_run_never_runs_other_bytes(accepted: Home) -> None:
    """T3, in short; `make soak` has ten thousand races."""
    _race(accepted, rounds=40)


@pytest.mark.soak
@pytest.mark.timeout(3600)
def test_ten_thousand_swaps_between_look_and_run_never_run_other_bytes(accepted: Home) -> None:
    _race(accepted, rounds=10_000)


def _race(place: Home, rounds: int) -> None:
    file = place.project / "hooks/check.sh"
    good, evil = file.read_text(), '#!/bin/sh\necho evil >> "$HOME/ran"\n'
    stop = threading.Event()

    def swap() -> None:
        while not stop.is_set():
            for text in (evil, good):
                draft = file.with_suffix(".draft")
                draft.write_text(text)
                draft.chmod(0o755)
                draft.replace(file)

    thread = threading.Thread(target=swap)
    thread.start()
    try:
        for _ in range(rounds):
            assert judged(place).decision == "deny"
    finally:
        stop.set()
        thread.join()
    assert "evil" not in ran(place)


# --- the store ---------------------------------------------------------------------------------------


def _store(place: Home) -> Path:
    return Path(file_of(trust_folder(place.environ), str(place.project)))


def _as_link(path: Path) -> None:
    other = path.with_suffix(".elsewhere")
    path.rename(other)
    path.symlink_to(other)


def _as_folder(path: Path) -> None:
    path.unlink()
    path.mkdir()


def _as_pipe(path: Path) -> None:
    path.unlink()
    os.mkfifo(path)


def _with_another_project(path: Path) -> None:
    path.write_text(json.dumps({**json.loads(path.read_text()), "project": "/elsewhere"}))


def _with_another_file(path: Path) -> None:
    path.write_text(path.read_text().replace('[true,"', '[true,"0', 1))


DAMAGE: dict[str, Callable[[Path], Any]] = {
    "empty": lambda path: path.write_text(""),
    "cut": lambda path: path.write_bytes(path.read_bytes()[:-20]),
    "not JSON": lambda path: path.write_text("{,}"),
    "a list": lambda path: path.write_text("[]"),
    "no hooks": lambda path: path.write_text('{"version": 1}'),
    "another version": lambda path: path.write_text(path.read_text().replace('"version":1', '"version":9')),
    "another project": _with_another_project,
    "another digest": _with_another_file,
    "written by all": lambda path: path.chmod(0o666),
    "folder written by all": lambda path: path.parent.chmod(0o777),
    "a link": _as_link,
    "a folder": _as_folder,
    "a pipe": _as_pipe,
    "a NUL": lambda path: path.write_bytes(b"\0" * 100),
}


@pytest.mark.parametrize("damage", DAMAGE)
def test_a_store_that_cannot_be_believed_is_not_and_that_is_said(accepted: Home, damage: str) -> None:
    """T4."""
    DAMAGE[damage](_store(accepted))
    decision = judged(accepted)
    assert (decision.decision, ran(accepted)) == ("deny", [])
    assert str(_store(accepted)) in decision.reason or str(_store(accepted).parent) in decision.reason


@pytest.mark.skipif(os.getuid() != 0, reason="only root can give a file away")
def test_a_store_of_another_user_is_not_believed(accepted: Home) -> None:
    os.chown(_store(accepted), 65534, 65534)
    assert "another user" in judged(accepted).reason


def test_a_damaged_store_is_mended_by_forgetting_it(accepted: Home, fairlead: Callable[..., Ran]) -> None:
    _store(accepted).write_text("{")
    assert fairlead("trust", "--forget").code == 0
    trust(accepted)
    assert judged(accepted).reason == "refused"


def test_everything_that_is_written_is_for_its_owner_alone(accepted: Home) -> None:
    judged(accepted)
    folder = Path(trust_folder(accepted.environ))
    loose = [path for path in (folder, *folder.rglob("*")) if path.lstat().st_mode & 0o077]
    assert loose == []


def test_two_who_trust_at_once_lose_nothing(place: Home) -> None:
    names = [f"h{number}" for number in range(6)]
    entries = [f'[[hook]]\nname = "{name}"\non = "PreToolUse"\nrun = "echo {name}"\n' for name in names]
    place.write("fairlead.toml", "".join(entries))
    digests = [one.now.digest for one in review(place).hooks if one.now is not None]
    words = [sys.executable, "-m", "fairlead", "trust", "--accept"]
    running = [
        subprocess.Popen([*words, f"sha256:{digest}"], cwd=place.project, env=place.environ) for digest in digests
    ]
    assert [process.wait(60) for process in running] == [0] * 6
    assert not review(place).waiting


def test_a_full_or_read_only_place_is_said_and_nothing_is_trusted(guarded: Home, fairlead: Callable[..., Ran]) -> None:
    state = guarded.home / ".local/state"
    state.parent.mkdir(parents=True)
    state.write_text("not a folder")
    said = fairlead("trust", "--accept", f"sha256:{review(guarded).digest}")
    assert said.code != 0
    assert "Traceback" not in said.err
    assert said.err.startswith("fairlead trust: ")


# --- pins and locks ----------------------------------------------------------------------------------


def test_a_digest_on_the_command_line_vouches_for_exactly_that(guarded: Home, fairlead: Callable[..., Ran]) -> None:
    digest = seen(guarded, "check").now.digest  # type: ignore[union-attr]
    words = ("hook", "--agent", "claude-code", "--trust", f"sha256:{digest}")
    assert b'"deny"' in fairlead(*words, stdin=BASH).out
    guarded.script("hooks/check.sh", 'echo evil >> "$HOME/ran"')
    assert b'"deny"' not in fairlead(*words, stdin=BASH).out
    assert ran(guarded) == ["check"]


def test_a_digest_of_all_hooks_vouches_for_all(guarded: Home) -> None:
    digest = review(guarded).digest
    assert judged(guarded, trust=[f"sha256:{digest}"]).reason == "refused"
    guarded.write("fairlead.local.toml", '[[hook]]\non = "Stop"\nrun = "true"\n')
    assert judged(guarded, trust=[f"sha256:{digest}"]).decision == "none"


def test_a_lock_is_believed_where_the_users_own_file_says_so(guarded: Home, fairlead: Callable[..., Ran]) -> None:
    digest = fairlead("trust", "--lock", "--json").json["digest"]
    assert judged(guarded).decision == "none"
    guarded.write("~/.config/fairlead/fairlead.toml", f'[trust]\npins = ["{digest}"]\n')
    assert judged(guarded).reason == "refused"
    lock = guarded.project / LOCK
    lock.write_text(lock.read_text().replace("check", "chock"))
    assert judged(guarded).decision == "none"


def test_a_lock_is_the_same_on_every_machine(guarded: Home, tmp_path: Path, fairlead: Callable[..., Ran]) -> None:
    first = fairlead("trust", "--lock", "--json").json["digest"]
    (tmp_path / "elsewhere").mkdir()
    other = Home(tmp_path / "elsewhere")
    for name in ("fairlead.toml", "hooks/check.sh"):
        other.write(name, (guarded.project / name).read_text(), executable=name.endswith(".sh"))
    (other.home / ".config/fairlead").mkdir(parents=True)
    (other.home / ".config/fairlead/fairlead.toml").write_text(f'[trust]\npins = ["{first}"]\n')
    (other.project / LOCK).write_text((guarded.project / LOCK).read_text())
    assert judged(other).reason == "refused"


def test_a_project_cannot_vouch_for_itself(guarded: Home, fairlead: Callable[..., Ran]) -> None:
    digest = fairlead("trust", "--lock", "--json").json["digest"]
    text = (guarded.project / "fairlead.toml").read_text()
    (guarded.project / "fairlead.toml").write_text(
        f'[trust]\npins = ["{digest}", "sha256:{review(guarded).digest}"]\n{text}'
    )
    guarded.write(".env", f"FAIRLEAD_TRUST={digest}\n")
    assert (judged(guarded).decision, ran(guarded)) == ("none", [])


@pytest.mark.parametrize("text", ["", "sha256:", "sha256:xyz", "md5:aaaa", "a" * 63, "sha512:" + "a" * 64])
def test_what_is_no_digest_is_refused(fairlead: Callable[..., Ran], guarded: Home, text: str) -> None:
    said = fairlead("trust", "--accept", text)
    assert said.code == 64
    assert "digest" in said.err
    assert ran(guarded) == []


def test_a_digest_that_nothing_has_changes_nothing(fairlead: Callable[..., Ran], guarded: Home) -> None:
    said = fairlead("trust", "--accept", "sha256:" + "0" * 64)
    assert said.code == 64
    assert not _store(guarded).exists()


def test_places_are_watched_that_decide_about_trust(accepted: Home) -> None:
    from fairlead import trust as room

    assert str(_store(accepted)) in room.watched(places(accepted))
