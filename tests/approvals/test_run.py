"""`fairlead run`: a supervised agent, and nothing left of it afterwards. The agents here are small programs."""

from __future__ import annotations

import contextlib
import json
import os
import pty
import signal
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from fairlead import approvals, machines, running
from fairlead.errors import UsageError
from fairlead.folders import state_folder
from tests.approvals.conftest import FAIRLEAD, PATIENCE, Json, People, Server, Start, eventually
from tests.conftest import Home, Ran

Fairlead = Callable[..., Ran]
CALL = json.dumps({"hook_event_name": "PreToolUse", "session_id": "s", "tool_name": "Bash",
                   "tool_input": {"command": "make"}, "tool_use_id": "t"})  # fmt: skip
CLAUDE = f"""
settings="$2"
hook=$(jq -r '.hooks.PreToolUse[-1].hooks[0].command' "$settings")
echo '{CALL}' | /bin/sh -c "$hook"
"""


@pytest.fixture
def here(place: Home) -> Iterator[Home]:
    """With a folder for agents, and one for temporary files that is looked at afterwards."""
    temporary = place.root / "tmp"
    temporary.mkdir()
    place.environ |= {"PATH": f"{place.home}/agents:{place.environ['PATH']}", "TMPDIR": str(temporary)}
    yield place
    assert list(temporary.glob("fairlead-run-*")) == []
    state = Path(state_folder(place.environ))
    assert not (state / "supervised.json").exists()


def agent(here: Home, body: str, name: str = "claude") -> str:
    here.script(f"~/agents/{name}", body)
    return name


def people(here: Home) -> People:
    return People(here.environ)


def no_server(here: Home) -> bool:
    return approvals.announced(here.environ) == ""


def test_a_person_decides_and_the_agent_hears_it(here: Home, start: Start) -> None:
    run = start("run", "--", agent(here, CLAUDE))
    asking = people(here)
    item = asking.question("make")
    assert (item["run"]["agent"], item["run"]["project"]) == ("claude-code", str(here.project))
    asking.answer(item, "block", message="no")
    ran = run.end()
    assert ran.json["hookSpecificOutput"]["permissionDecision"] == "deny"
    assert no_server(here), "the server that the run has started ends with it"


def test_the_documents_hook_is_there_too(here: Home, start: Start) -> None:
    body = """echo '{"tool":"Edit","input":{"x":1}}' | "$CLAUDE_HOOKS_DIR/PreToolUse.sh" """
    run = start("run", "--", agent(here, body, "an-agent-of-m"))
    asking = people(here)
    asking.answer(asking.question(), "allow")
    assert run.end().json == {"decision": "allow"}


def test_it_has_the_documents_variables_and_its_key_ends_with_it(
    here: Home, server: Server, fairlead: Fairlead
) -> None:
    ran = fairlead("run", "--", agent(here, 'echo "$M_RUN_ID $M_SERVER_URL $M_API_KEY"'))
    run_id, address, key = ran.out.decode().split()
    assert address == server.address
    asked = {"run_id": run_id, "type": "approval", "tool": "Bash", "request_id": "1", "payload": {}}
    status, _ = approvals.call(address, "POST", approvals.ASK, key, asked)
    assert status in (401, 409)
    assert server.call("GET", "/api/runs")["runs"][0]["ended_at"] is not None
    assert "The inbox" not in ran.err, "somebody else's server stays"
    assert not no_server(here)


def test_what_it_asked_and_nobody_answered_ends_with_it(here: Home, server: Server, start: Start) -> None:
    body = f"""hook=$(jq -r '.hooks.PreToolUse[0].hooks[0].command' "$2"); echo '{CALL}' | $hook >/dev/null &
    sleep 600 & child=$!; trap 'kill $child; exit 3' TERM; wait $child"""
    run = start("run", "--", agent(here, body))
    server.question("make")
    run._process.send_signal(signal.SIGTERM)
    assert run.end().code == 3
    assert server.waiting() == []


@pytest.mark.parametrize(
    ("body", "code"), [("exit 0", 0), ("exit 7", 7), ("kill -TERM $$", 143), ("kill -KILL $$", 137)]
)
def test_the_exit_code_is_the_agents(body: str, code: int, here: Home, fairlead: Fairlead) -> None:
    assert fairlead("run", "--", agent(here, body)).code == code
    assert no_server(here)


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT, signal.SIGHUP, signal.SIGUSR1], ids=lambda n: n.name)
def test_signals_reach_the_agent(number: signal.Signals, here: Home, start: Start) -> None:
    name = number.name.removeprefix("SIG")
    body = f"trap 'echo heard; exit 5' {name}; touch ready; while :; do sleep 0.05; done"
    run = start("run", "--", agent(here, body))
    eventually((here.project / "ready").exists, "the agent")
    run._process.send_signal(number)
    ran = run.end()
    assert (ran.code, ran.out) == (5, b"heard\n")
    assert no_server(here)


def test_the_terminal_is_the_agents_and_ctrl_c_reaches_it_once(here: Home) -> None:
    agent(here, "trap 'echo heard-it' INT; [ -t 0 ] && [ -t 1 ] && touch terminal; touch ready; read -r line; "
                "while [ \"$line\" != end ]; do read -r line; done; exit 4")  # fmt: skip
    process, terminal = pty.fork()
    if process == 0:
        os.chdir(here.project)
        os.execve(FAIRLEAD[0], [*FAIRLEAD, "run", "--quiet", "--", "claude"], here.environ)
    try:
        eventually((here.project / "ready").exists, "the agent")
        os.write(terminal, b"\x03")
        seen = _until(terminal, b"heard-it")
        os.write(terminal, b"end\n")
        seen += _rest(terminal)
        _, status = os.waitpid(process, 0)
    finally:
        os.close(terminal)
    assert os.waitstatus_to_exitcode(status) == 4
    assert (here.project / "terminal").exists()
    assert seen.count(b"heard-it") == 1


def _until(terminal: int, text: bytes) -> bytes:
    seen = b""
    while text not in seen:
        seen += os.read(terminal, 1024)
    return seen


def _rest(terminal: int) -> bytes:
    seen = b""
    try:
        while part := os.read(terminal, 1024):
            seen += part
    except OSError:  # the other side has gone
        pass
    return seen


def test_the_last_of_two_runs_ends_the_server(here: Home, start: Start) -> None:
    agent(here, 'touch "ready-$3"; while [ ! -e "end-$3" ]; do sleep 0.05; done; exit 0')
    one = start("run", "--", "claude", "1")
    eventually((here.project / "ready-1").exists, "the first agent")
    two = start("run", "--", "claude", "2")
    eventually((here.project / "ready-2").exists, "the second agent")
    (here.project / "end-1").touch()
    assert one.end().code == 0
    assert people(here).waiting() == [], "the second still has its server"
    (here.project / "end-2").touch()
    assert two.end().code == 0
    assert no_server(here)


LINUX = pytest.mark.skipif(not os.path.isdir("/proc/self"), reason="only Linux ends a child with its parent")


@LINUX
def test_a_run_that_is_killed_takes_its_agent_along_and_its_key_is_worth_nothing(
    here: Home, server: Server, start: Start, fairlead: Fairlead
) -> None:
    body = 'echo "$M_RUN_ID $M_API_KEY $$ $CLAUDE_HOOKS_DIR" > about.part; mv about.part about; sleep 600 & wait'
    run = start("run", "--", agent(here, f"trap 'kill %1; exit 3' TERM; {body}"))
    eventually((here.project / "about").exists, "the agent")
    run_id, key, pid, folder = (here.project / "about").read_text().split()
    process = machines.process(int(pid))
    run.kill()
    try:
        eventually(lambda: machines.is_over(process), "the end of the agent")
    finally:
        with contextlib.suppress(ProcessLookupError):
            os.kill(int(pid), signal.SIGTERM)
    eventually(lambda: server.call("GET", "/api/runs")["runs"][0]["ended_at"], "the end of the run")
    asked = {"run_id": run_id, "type": "approval", "tool": "Bash", "request_id": "1", "payload": {}}
    assert approvals.call(server.address, "POST", approvals.ASK, key, asked)[0] == 409
    assert os.path.isdir(folder), "who was killed could not take it away"
    fairlead("run", "--", agent(here, "exit 0"))
    assert not os.path.exists(folder), "the next one does"


def test_the_hooks_of_an_agent_that_may_still_be_there_are_not_swept_away(tmp_path: Path) -> None:
    """Without its hooks it would do what it likes."""
    ended = subprocess.Popen(["true"])
    ended.wait()
    over, here_ = machines.process(ended.pid), machines.this_machine()
    living = machines.this_process()
    owners: dict[str, object] = {
        "both are over": {"run": over, "agent": over, "host": here_},
        "the agent is there": {"run": over, "agent": living, "host": here_},
        "the run is there": {"run": living, "agent": over, "host": here_},
        "another machine's": {"run": over, "agent": over, "host": "elsewhere.0"},
        "no agent yet": {"run": over, "host": here_},
        "nonsense": {"run": 1, "agent": [], "host": here_},
        "no object": [],
    }
    for name, owner in owners.items():
        folder = tmp_path / f"fairlead-run-{name}"
        folder.mkdir()
        (folder / "owner.json").write_text(json.dumps(owner))
    (tmp_path / "fairlead-run-empty").mkdir()
    (tmp_path / "another").mkdir()
    (tmp_path / "fairlead-run-link").symlink_to(tmp_path / "fairlead-run-both are over")
    running.sweep(str(tmp_path))
    kept = {path.name.removeprefix("fairlead-run-") for path in tmp_path.iterdir()}
    assert kept == {*owners, "empty", "another", "link"} - {"both are over"}


def test_the_number_of_a_process_that_is_used_again_is_another_process() -> None:
    mine = machines.this_process()
    assert not machines.is_over(mine)
    assert machines.is_over(f"{os.getpid()} 1")
    for nonsense in ("", "x", "0", "1 5", "-1", f"{1 << 40} 1"):
        assert not machines.is_over(nonsense)


def test_an_agent_that_does_not_exist_is_said_so_before_anything_is_started(here: Home, fairlead: Fairlead) -> None:
    ran = fairlead("run", "--", "no-such-agent")
    assert ran.code == 64
    assert "no-such-agent" in ran.err
    assert not Path(state_folder(here.environ)).exists()


def test_nothing_to_start_is_a_slip(fairlead: Fairlead) -> None:
    assert fairlead("run").code == 64
    assert fairlead("run", "--").code == 64


def test_an_agent_that_calls_no_hook_is_not_supervised_and_its_user_is_told(here: Home, fairlead: Fairlead) -> None:
    assert "nobody was asked" in fairlead("run", "--", agent(here, "exit 0")).err


def test_an_unknown_agent_runs_with_the_variables_and_a_word_about_its_hooks(here: Home, fairlead: Fairlead) -> None:
    ran = fairlead("run", agent(here, 'echo "$M_RUN_ID $FAIRLEAD_APPROVALS $*"', "homemade"), "--flag", "x")
    assert ran.out.split()[1:] == [b"1", b"--flag", b"x"]
    assert "fairlead init" in ran.err


def test_hooks_from_init_ask_about_the_same_tools_in_a_run(here: Home, start: Start) -> None:
    words = " ".join(FAIRLEAD)
    event = json.dumps({"tool_name": "Bash", "tool_input": {"command": "make"}, "hook_event_name": "PreToolUse"})
    run = start("run", "--", agent(here, f"echo '{event}' | {words} hook --agent droid; exit 0", "droid"))
    asking = people(here)
    asking.answer(asking.question("make"), "block", message="never")
    assert "never" in run.end().err


# --- what each agent is given --------------------------------------------------------------------------


def prepared(name: str, words: list[str], here: Home) -> running.Supervised:
    folder = here.root / "private"
    folder.mkdir(mode=0o700)
    given = {
        "M_RUN_ID": "r",
        "M_SERVER_URL": "http://127.0.0.1:1",
        "M_API_KEY": "secret key",
        "FAIRLEAD_APPROVALS": "1",
    }
    return running.prepare(words, name, {**here.environ, **given}, str(folder), given)


def test_claude_codes_own_settings_are_carried_along(here: Home) -> None:
    mine: Json = {"model": "m", "disableAllHooks": True, "hooks": {"PreToolUse": [{"hooks": ["mine"]}]}}
    found = prepared("claude-code", ["claude", "-p", "x", "--settings", json.dumps(mine)], here)
    assert found.words[:2] == ("claude", "--settings")
    assert found.words[3:] == ("-p", "x")
    settings = json.loads(Path(found.words[2]).read_text())
    assert settings["model"] == "m"
    assert "disableAllHooks" not in settings
    assert settings["hooks"]["PreToolUse"][0] == {"hooks": ["mine"]}
    assert "fairlead-hook" in settings["hooks"]["PreToolUse"][1]["hooks"][0]["command"]
    assert any("disableAllHooks" in note for note in found.notes)


def test_settings_that_cannot_be_read_start_nothing(here: Home) -> None:
    with pytest.raises(UsageError, match="cannot be read"):
        prepared("claude-code", ["claude", "--settings", "/no/such/file"], here)


def test_codex_is_given_hooks_and_trust_on_its_command_line(here: Home) -> None:
    import tomllib

    found = prepared("codex", ["codex", "exec", "x"], here)
    overrides = [found.words[at + 1] for at, word in enumerate(found.words) if word == "-c"]
    read = [tomllib.loads(f"v = {override.partition('=')[2]}")["v"] for override in overrides]
    assert found.words[-2:] == ("exec", "x")
    assert len(read[-1]) == len(read) - 1, "each hook is trusted"
    assert all(value["trusted_hash"].startswith("sha256:") for value in read[-1].values())


def test_gemini_has_its_users_home_with_other_settings(here: Home) -> None:
    here.write("~/.gemini/settings.json", {"theme": "dark"})
    here.write("~/.gemini/oauth.json", "{}")
    found = prepared("gemini", ["gemini"], here)
    home = Path(found.environ["GEMINI_CLI_HOME"]) / ".gemini"
    settings = json.loads((home / "settings.json").read_text())
    assert settings["theme"] == "dark"
    assert "BeforeTool" in settings["hooks"]
    assert (home / "oauth.json").resolve() == (here.home / ".gemini/oauth.json").resolve()
    assert json.loads((here.home / ".gemini/settings.json").read_text()) == {"theme": "dark"}


def test_the_machines_settings_of_qwen_are_carried_along(here: Home) -> None:
    here.environ["QWEN_CODE_SYSTEM_SETTINGS_PATH"] = str(here.write("~/machine.json", {"theme": "dark"}))
    found = prepared("qwen", ["qwen"], here)
    settings = json.loads(Path(found.environ["QWEN_CODE_SYSTEM_SETTINGS_PATH"]).read_text())
    assert settings["theme"] == "dark"
    assert "PreToolUse" in settings["hooks"]


def test_nobody_else_can_read_the_key(here: Home) -> None:
    prepared("claude-code", ["claude"], here)
    modes = {file.name: file.stat().st_mode & 0o077 for file in (here.root / "private").iterdir()}
    assert set(modes.values()) == {0}
    words = subprocess.run(["ps", "-eo", "args"], capture_output=True, text=True, timeout=PATIENCE, check=True).stdout
    assert "secret key" not in words


def test_a_hook_whose_fairlead_has_gone_refuses(here: Home) -> None:
    prepared("claude-code", ["claude"], here)
    script = here.root / "private/fairlead-hook"
    script.write_text(script.read_text().replace("__main__.py", "gone.py"))
    done = subprocess.run([script], capture_output=True, timeout=PATIENCE, check=False)
    assert done.returncode == 2
