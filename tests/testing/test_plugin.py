"""The fixture and the assertions, in a pytest of their own."""

from __future__ import annotations

import re
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from fairlead import Hooks, PreToolUse, Stop, UsageError, ask, block, context, deny, rewrite
from fairlead.testing import assert_allowed, assert_asked, assert_decided, assert_denied, assert_rewritten
from tests.conftest import Home

Pytest = Callable[..., subprocess.CompletedProcess[str]]


@pytest.fixture
def pytest_run(place: Home) -> Pytest:
    def run(*words: str) -> subprocess.CompletedProcess[str]:
        quiet = ("-p", "no:cacheprovider", "-W", "error", "--basetemp", str(place.root / "inner"))
        environ = {**place.environ, "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"}
        return subprocess.run(
            (sys.executable, "-B", "-m", "pytest", "-q", "-p", "fairlead_pytest", *quiet, *words),
            cwd=place.project, env=environ, capture_output=True, text=True, timeout=100, check=False,
        )  # fmt: skip

    return run


def test_the_fixture_has_the_projects_hooks_in_a_scratch_copy(place: Home, pytest_run: Pytest) -> None:
    place.write("pytest.ini", "[pytest]\n")
    place.write("~/.config/fairlead/fairlead.toml", '[[hook]]\non = "*"\nname = "mine"\nrun = "exit 1"\n')
    place.write("fairlead.toml", '[[hook]]\nname = "no-sudo"\non = "PreToolUse"\nrun = "touch made; ! grep -q sudo"\n')
    place.write(
        "test_hooks.py",
        "import os\nfrom pathlib import Path\n"
        "from fairlead.testing import assert_allowed, assert_denied\n\n"
        "def test_it(hooks, tmp_path):\n"
        "    assert_denied(hooks, 'Bash', command='sudo ls', ran='no-sudo')\n"
        "    assert_allowed(hooks, 'Bash', command='ls')\n"
        "    assert Path('made').exists()\n"
        "    assert Path.cwd().is_relative_to(tmp_path)\n"
        "    assert Path.home().is_relative_to(tmp_path)\n\n"
        "def test_each_test_has_its_own(hooks):\n"
        "    assert not Path('made').exists()\n\n"
        "def test_it_ends_with_the_test():\n"
        "    assert Path.cwd() == Path(__file__).parent\n"
        f"    assert os.environ['HOME'] == {str(place.home)!r}\n",
    )
    done = pytest_run()
    assert done.returncode == 0, done.stdout
    assert sorted(path.name for path in place.project.iterdir()) == ["fairlead.toml", "pytest.ini", "test_hooks.py"]


def test_a_failure_is_the_explanation(place: Home, pytest_run: Pytest) -> None:
    place.write("pytest.ini", "[pytest]\n")
    place.write("fairlead.toml", '[[hook]]\nname = "no-sudo"\non = "PreToolUse"\nrun = "echo never; exit 1"\n')
    place.write(
        "test_hooks.py",
        "from fairlead.testing import assert_allowed\n\ndef test_it(hooks):\n"
        "    assert_allowed(hooks, 'Bash', command='ls -l')\n",
    )
    done = pytest_run()
    assert done.returncode == 1
    shown = "\n".join(line.removeprefix("E").strip() for line in done.stdout.splitlines())
    assert "AssertionError: Bash: ls -l, asked by claude-code\n" in shown
    assert "decision: expected none or allow; came deny\n" in shown
    assert "no-sudo (fairlead.toml:1) said deny: never" in shown
    assert "asserting.py" not in done.stdout


def test_another_project_is_named_by_a_fixture(place: Home, pytest_run: Pytest) -> None:
    place.write("pytest.ini", "[pytest]\n")
    place.write("shop/fairlead.toml", '[[hook]]\non = "PreToolUse"\nrun = "exit 1"\n')
    place.write("conftest.py", "import pytest\n\n@pytest.fixture\ndef fairlead_project():\n    return 'shop'\n")
    place.write(
        "test_hooks.py",
        "from fairlead.testing import assert_denied\n\ndef test_it(hooks):\n"
        "    assert_denied(hooks, 'Bash', command='ls')\n",
    )
    done = pytest_run()
    assert done.returncode == 0, done.stdout


def test_who_does_not_ask_for_hooks_does_not_load_fairlead(place: Home, pytest_run: Pytest) -> None:
    place.write("pytest.ini", "[pytest]\n")
    place.write(
        "test_other.py",
        "import sys\n\ndef test_it():\n    assert 'fairlead_pytest' in sys.modules\n"
        "    assert 'fairlead' not in sys.modules\n",
    )
    done = pytest_run()
    assert done.returncode == 0, done.stdout


def test_the_example_on_the_page_works(place: Home, pytest_run: Pytest) -> None:
    page = (Path(__file__).resolve().parents[2] / "docs" / "testing.md").read_text()
    files = re.findall(r"^<!-- file: (\S+) -->\n```\w+\n(.*?)^```$", page, re.MULTILINE | re.DOTALL)
    assert [name for name, _ in files] == ["fairlead.toml", "rules.py", "test_hooks.py"]
    for name, text in files:
        place.write(name, text)
    place.write("pytest.ini", "[pytest]\n")
    done = pytest_run()
    assert done.returncode == 0, done.stdout
    assert "3 passed" in done.stdout


# --- the assertions ----------------------------------------------------------------------------------


@pytest.fixture
def own() -> Hooks:
    made = Hooks()

    @made.on("PreToolUse", tool="Bash", name="judge")
    def judge(event: PreToolUse) -> object:
        answers = {"sudo": deny("no sudo"), "push": ask("really?"), "npm install": rewrite({"command": "npm ci"})}
        if event.command == "crash":
            raise ValueError("oh")
        return answers.get(event.command)

    @made.on("Stop", name="go-on")
    def go_on(_event: Stop) -> object:
        return block("not yet")

    @made.on("UserPromptSubmit", name="rules")
    def rules(_event: object) -> object:
        return context("be nice")

    return made


def test_what_is_as_it_should_be_is_returned(own: Hooks) -> None:
    assert assert_denied(own, "Bash", command="sudo", reason="no").reason == "no sudo"
    assert assert_allowed(own, "Bash", command="ls").decision == "none"
    assert assert_asked(own, "Bash", command="push", reason="/really.$/").decision == "ask"
    assert assert_rewritten(own, "Bash", command="npm install", to={"command": "npm ci"}).updated_input == {
        "command": "npm ci"
    }
    assert_denied(own, Stop(session_id="s"), reason="not yet", ran="go-on")
    assert_denied(own, event="Stop")
    assert_allowed(own, prompt="hi", context="nice")
    assert_denied(own, "Bash", command="push", agent="codex")
    assert_denied(own, "Bash", input={"command": "sudo"})
    assert_allowed(own, "Bash", command="sudo", says={"judge": context("fine")})
    assert_decided(own, "Bash", command="crash", decision=["deny"], fails="judge")


WRONG = {
    "denied": (lambda own: assert_denied(own, "Bash", command="ls"), "decision: expected deny; came none"),
    "allowed": (lambda own: assert_allowed(own, "Bash", command="push"), "expected none or allow; came ask"),
    "asked": (lambda own: assert_asked(own, "Bash", command="sudo"), "expected ask; came deny"),
    "asked of an agent that cannot": (
        lambda own: assert_asked(own, "Bash", command="push", agent="codex"), "the hooks said ask; codex cannot"),
    "reason": (lambda own: assert_denied(own, "Bash", command="sudo", reason="x"), "reason: expected x; came no sudo"),
    "rewritten": (
        lambda own: assert_rewritten(own, "Bash", command="npm install", to={"command": "x"}),
        'rewrite: expected {"command": "x"}; came {"command": "npm ci"}'),
    "ran": (lambda own: assert_allowed(own, "Write", ran="judge"), "judge runs; came its matcher 'Bash' does not"),
    "failed": (lambda own: assert_denied(own, "Bash", command="crash"), "it failed: ValueError: oh"),
    "who said what": (lambda own: assert_allowed(own, "Bash", command="sudo"), "judge (code) said deny: no sudo"),
    "nobody": (lambda own: assert_denied(own, event="SessionEnd"), "no hook looked at it"),
}  # fmt: skip


@pytest.mark.parametrize(("attempt", "said"), WRONG.values(), ids=list(WRONG))
def test_what_is_not_is_explained(attempt: Callable[[Hooks], object], said: str, own: Hooks) -> None:
    with pytest.raises(AssertionError) as caught:
        attempt(own)
    assert said in str(caught.value)


@pytest.mark.parametrize(
    ("attempt", "hint"),
    [
        (lambda own: assert_denied(own, command="ls"), "name it"),
        (lambda own: assert_denied(own, "Bash", event="PreTolUse"), "PreToolUse"),
        (lambda own: assert_decided(own, "Bash", decision="denied"), "deny"),
        (lambda own: assert_denied(own, "Bash", approval="yes"), "known: allow, refuse"),
        (lambda own: assert_denied(own, "Bash", agent="codexx"), "codex"),
    ],
)
def test_a_slip_is_no_failure_of_a_hook(attempt: Callable[[Hooks], object], hint: str, own: Hooks) -> None:
    with pytest.raises(UsageError) as caught:
        attempt(own)
    assert hint in caught.value.hint


async def test_it_works_inside_of_a_running_loop(own: Hooks) -> None:
    assert_denied(own, "Bash", command="sudo")
