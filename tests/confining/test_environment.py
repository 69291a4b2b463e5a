"""What a hook's process inherits."""

from __future__ import annotations

import json
import sys
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fairlead import PreToolUse
from fairlead.confining import HELD_BACK, environment
from fairlead.dialects import HOOK_HALVES
from fairlead.explaining import explain
from fairlead.handlers.command import Command
from fairlead.hooks import Hook, Origin, Setting
from fairlead.journal.recording import details
from fairlead.process import run_blocking
from tests.confining.conftest import Confined, output

SHOW = [sys.executable, "-I", "-S", "-c", "import json, os, sys; print(json.dumps([dict(os.environ), sys.argv]))"]
BY_THE_SYSTEM = {"LC_CTYPE"}
"""What Python itself sets when it starts."""
PROMISED = {
    "FAIRLEAD_EVENT", "FAIRLEAD_PROJECT_DIR", "FAIRLEAD_SESSION_ID", "FAIRLEAD_TOOL_NAME", "FAIRLEAD_HOOK_NAME",
    "FAIRLEAD_HOOK_RUN", "PWD",
}  # fmt: skip


def seen(place: Confined, *, confined: bool = False, **keys: object) -> dict[str, str]:
    report = place.run(SHOW, confined=confined, **keys)
    environ: dict[str, str] = json.loads(output(report))[0]
    return environ


# --- on request --------------------------------------------------------------------------------------


def test_a_table_is_added_to_everything_that_is_inherited(place: Confined) -> None:
    place.environ["EXTRA"] = "x"
    found = seen(place, env={"OWN": "y"})
    assert (found["EXTRA"], found["OWN"], found["HOME"]) == ("x", "y", str(place.home))


@pytest.mark.parametrize(
    ("names", "kept"),
    [
        (["PATH"], {"PATH"}),
        ([], set()),
        (["PATH", "MY_*"], {"PATH", "MY_ONE", "MY_TWO"}),
        (["MY_?NE"], {"MY_ONE"}),
        (["*"], {"PATH", "HOME", "LANG", "MY_ONE", "MY_TWO", "MY[X]"}),
        (["MY[X]"], {"MY[X]"}),
        (["MY[X]*"], {"MY[X]"}),
        (["NOT_THERE"], set()),
    ],
    ids=["one", "none", "a start", "one letter", "all", "brackets", "brackets and more", "what is not there"],
)
def test_a_list_is_all_that_is_inherited(place: Confined, names: list[str], kept: set[str]) -> None:
    place.environ = {name: value for name, value in place.environ.items() if not name.startswith("COVERAGE_")}
    place.environ |= {"MY_ONE": "1", "MY_TWO": "2", "MY[X]": "3"}
    assert seen(place, env=names).keys() - BY_THE_SYSTEM == PROMISED | kept


def test_variables_can_be_set_beside_the_list(place: Confined) -> None:
    found = seen(place, env=["PATH"], set={"OWN": "y"})
    assert found["OWN"] == "y"
    assert "HOME" not in found


def test_a_script_gets_what_it_lists_too(place: Confined) -> None:
    script = place.write("~/show.py", "import os, sys\nsys.exit('HOME' in os.environ or os.environ['OWN'] != 'y')")
    place.write("~/.config/fairlead/fairlead.toml", f"""
        [[hook]]
        on = "PreToolUse"
        python = "{script}"
        env = ["PATH"]
        set = {{OWN = "y"}}
    """)  # fmt: skip
    assert output(place.fire()) == ""


def test_a_function_gets_a_process_of_its_own_for_what_it_lists(place: Confined) -> None:
    place.write("~/.config/fairlead/told.py", "import os\ndef look(event):\n    return ' '.join(sorted(os.environ))\n")
    place.write("~/.config/fairlead/fairlead.toml", """
        [[hook]]
        on = "PreToolUse"
        python = "told:look"
        env = ["PATH"]
    """)  # fmt: skip
    verdict = place.fire().verdict
    assert verdict is not None
    assert set(verdict.context.split()) - BY_THE_SYSTEM == PROMISED | {"PATH"}


def test_hooks_that_differ_in_what_they_inherit_are_not_the_same(place: Confined) -> None:
    one = '[[hook]]\non = "PreToolUse"\nrun = "true"\n'
    place.write("~/.config/fairlead/fairlead.toml", f'{one}{one}env = ["PATH"]\n{one}sandbox = true\n')
    hooks = place.load()
    (group,) = hooks.plan(PreToolUse(tool_name="Bash", tool_input={})).groups
    assert sum(map(len, group.batches)) == 3


# --- hooks of a project ------------------------------------------------------------------------------

TOKEN = "canary-0123456789abcdef"
CANARIES = {
    **{
        name: f"{TOKEN}-{name}"
        for name in """
        AWS_ACCESS_KEY_ID AWS_SECRET_ACCESS_KEY AWS_SESSION_TOKEN AZURE_CLIENT_SECRET GOOGLE_APPLICATION_CREDENTIALS
        ANTHROPIC_API_KEY ANTHROPIC_AUTH_TOKEN OPENAI_API_KEY GEMINI_API_KEY MISTRAL_API_KEY HF_TOKEN
        GITHUB_TOKEN GH_TOKEN GITLAB_TOKEN CI_JOB_TOKEN NPM_TOKEN NODE_AUTH_TOKEN TWINE_PASSWORD CARGO_REGISTRY_TOKEN
        DOCKER_PASSWORD SLACK_BOT_TOKEN STRIPE_SECRET_KEY SENTRY_AUTH_TOKEN VAULT_TOKEN KUBECONFIG PGPASSWORD
        MYSQL_PWD REDIS_PASSWORD SSH_AUTH_SOCK SSH_ASKPASS SUDO_ASKPASS GPG_PASSPHRASE SECRET PASSWORD TOKEN
        FAIRLEAD_SERVER FAIRLEAD_APPROVALS FAIRLEAD_OTEL_SETTINGS OTEL_EXPORTER_OTLP_HEADERS
        LC_GITHUB_TOKEN XDG_API_KEY CLAUDE_CODE_OAUTH_TOKEN my_lower_case_token
        """.split()
    },
    "DATABASE_URL": f"postgresql://user:{TOKEN}@db.example/main",
    "HTTPS_PROXY": f"http://user:{TOKEN}@proxy.example:3128",
    "PIP_INDEX_URL": f"https://{TOKEN}@pypi.example/simple",
    "SENTRY_DSN": f"https://{TOKEN}@sentry.example/1",
    "CURL_HEADER": f"Authorization: Bearer {TOKEN}",
    "CODEX_HOME": f"https://user:{TOKEN}@example.com/home",
    "JAVA_HOME": f"-----BEGIN PRIVATE KEY-----\n{TOKEN}\n-----END PRIVATE KEY-----",
    "XDG_CONFIG_DIRS": f"https://{TOKEN}@files.example/xdg",
}
"""Under many names, and in values of names that are otherwise passed on."""
NEEDED = {"USER": "me", "LC_ALL": "C", "TZ": "UTC", "VIRTUAL_ENV": "/venv", "CLAUDE_PROJECT_DIR": "/p", "CI": "true"}


def test_there_are_fifty_canaries() -> None:
    assert len(CANARIES) >= 50


@pytest.mark.parametrize("name", HOOK_HALVES)
def test_no_secret_of_the_parent_reaches_a_hook_of_a_project(place: Confined, name: str) -> None:
    found, words = shown(place, name, confined=True)
    assert [variable for variable, value in found.items() if TOKEN in value] == []
    assert TOKEN not in words
    assert found.keys() >= {"PATH", "HOME", *NEEDED}


@pytest.mark.parametrize("name", HOOK_HALVES)
def test_whoever_vouches_for_a_project_hands_everything_on(place: Confined, name: str) -> None:
    found, _words = shown(place, name, confined=False)
    assert found.items() >= CANARIES.items()


def shown(place: Confined, dialect: str, *, confined: bool) -> tuple[dict[str, str], str]:
    hook = Hook(
        name="h",
        events=("PreToolUse",),
        handler=Command(command=SHOW[0], args=tuple(SHOW[1:])),
        origin=Origin(dialect=dialect, layer="project"),
        options={"confined": confined},
    )
    environ = {**place.environ, **NEEDED, **CANARIES}
    setting = Setting(project=str(place.project), home=str(place.home), environ=environ)
    event = PreToolUse(session_id="s", cwd=str(place.project), tool_name="Bash", tool_input={"command": "ls"})
    result = run_blocking(hook.handler.start(hook, event, setting))  # type: ignore[arg-type]
    assert (result.exit_code, result.signal, result.error, result.stderr) == (0, 0, "", b""), result
    found, words = json.loads(result.stdout)
    return found, json.dumps(words)


def test_a_secret_in_the_call_itself_is_on_stdin_alone(place: Confined, way: str) -> None:
    """Also not in what others see of the programs around it: `ps` shows words to everybody."""
    place.environ |= CANARIES
    words = "import os, sys; print(open(f'/proc/{os.getppid()}/cmdline').read(), dict(os.environ), sys.argv)"
    place.hook([sys.executable, "-I", "-S", "-c", words], sandbox={"by": way}, limits={"cpu": "20s"})
    report = place.fire(
        confined=True, tool_input={"command": f"curl -H 'X-Key: {TOKEN}' https://a:{TOKEN}@example.com"}
    )
    assert TOKEN not in output(report)
    assert TOKEN.encode() in report.work.stdin  # type: ignore[union-attr]


def test_the_user_may_hand_variables_on_and_is_told_which_were_held_back(place: Confined) -> None:
    place.environ |= {"GITHUB_TOKEN": TOKEN, "GITLAB_TOKEN": TOKEN, "DEPLOY_KEY": TOKEN}
    place.hook(SHOW)
    report = place.fire(confined=True, pass_env=("GITHUB_TOKEN", "DEPLOY_*"))
    found = json.loads(output(report))[0]
    assert [name for name, value in found.items() if value == TOKEN] == ["GITHUB_TOKEN", "DEPLOY_KEY"]
    held_back = str(report.facts[HELD_BACK]).split(", ")
    assert "GITLAB_TOKEN" in held_back
    assert TOKEN not in str(report.facts)


def test_a_list_of_its_own_counts_for_a_hook_of_a_project_too(place: Confined) -> None:
    place.environ |= {"GITHUB_TOKEN": TOKEN, "USER": "me"}
    found = seen(place, confined=True, env=["GITHUB_TOKEN"])
    assert found["GITHUB_TOKEN"] == TOKEN
    assert "USER" not in found


def test_what_was_held_back_is_told_in_few_words(place: Confined) -> None:
    place.environ |= {f"SECRET_{number:04}": "x" for number in range(1000)}
    place.environ["A" * 5000] = "x"
    place.hook("true")
    told = str(place.fire(confined=True).facts[HELD_BACK])
    assert len(told) < 2000
    assert told.endswith("more")


def test_explain_and_the_journal_name_what_was_held_back(place: Confined) -> None:
    place.environ["GITLAB_TOKEN"] = TOKEN
    place.hook("true")
    event = PreToolUse(session_id="s", cwd=str(place.project), tool_name="Bash", tool_input={"command": "ls"})
    told = explain(place.load(confined=True), event)
    kept = details(event, place.load(confined=True).fire_sync(event), None, str(place.project), b"")
    for found in (told, kept):
        assert "GITLAB_TOKEN" in found["hooks"][0]["facts"][HELD_BACK]
        assert TOKEN not in json.dumps(found)


NAMES = st.text(st.characters(min_codepoint=33, max_codepoint=126, exclude_characters="="), min_size=1, max_size=12)


@given(st.dictionaries(NAMES | st.sampled_from(sorted(environment.HARMLESS)), st.text(max_size=20)))
def test_only_known_names_pass_whatever_there_is(environ: dict[str, str]) -> None:
    kept = environment.harmless(environ, ("KNOWN",), ())
    assert kept.keys() <= environ.keys()
    assert all(value == environ[name] or name in environment.LISTS for name, value in kept.items())
    assert kept.keys() <= environment.HARMLESS | {"KNOWN"}


@given(st.dictionaries(NAMES, st.text(max_size=5)), st.lists(NAMES))
def test_a_list_of_names_never_adds_anything(environ: dict[str, str], names: list[str]) -> None:
    kept = environment.chosen(environ, names)
    assert kept.keys() <= environ.keys()
    assert all(value == environ[name] or name in environment.LISTS for name, value in kept.items())
    assert kept.keys() >= environ.keys() & set(names)


def test_a_hook_that_asks_for_nothing_is_started_as_ever(place: Confined) -> None:
    place.hook("true")
    work: Any = place.fire().work
    assert (work.bounded, work.facts) == (False, {})


def test_places_that_depend_on_where_a_hook_runs_are_not_handed_on() -> None:
    from fairlead.confining.environment import harmless

    environ = {"PATH": ".:/usr/bin:bin::/bin", "PYTHONPATH": "evil", "NODE_PATH": "/x:./y"}
    assert harmless(environ, (), ()) == {"PATH": "/usr/bin:/bin", "NODE_PATH": "/x"}
