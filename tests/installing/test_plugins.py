"""The plugins for agents that know no hooks but programs in their own language, run by Node."""

from __future__ import annotations

import json
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest

from fairlead.dialects import agent_half
from fairlead.installing.specs import SPECS, events
from tests.conftest import Home
from tests.installing.conftest import Agents

NODE = shutil.which("node")
needs_node = pytest.mark.skipif(NODE is None, reason="Node.js is not installed")

OPENCODE = """
import {{ Fairlead }} from "{plugin}"
const hooks = await Fairlead({{ directory: process.cwd() }})
const output = {{ args: {{ command: "ls" }}, output: "old", parts: [{{ type: "text", text: "hello" }}], context: [] }}
let thrown = null
try {{
  await hooks["{event}"]({{ tool: "bash", sessionID: "s1", callID: "c1", args: {{ command: "ls" }} }}, output)
}} catch (error) {{ thrown = error.message }}
console.log(JSON.stringify({{ thrown, ...output }}))
"""
AMP = """
import fairlead from "{plugin}"
const handlers = {{}}
fairlead({{ on: (name, handler) => (handlers[name] = handler) }})
const call = {{ tool: "Bash", toolUseID: "c1", input: {{ cmd: "ls" }}, thread: {{ id: "t1" }} }}
const said = await handlers["{event}"](call)
console.log(JSON.stringify({{ said: said ?? null, names: Object.keys(handlers) }}))
"""


def run(agents: Agents, agent: str, event: str, body: str, *, on: str = "") -> dict[str, Any]:
    """Call one event of the installed plugin, with a program of ours in the place of `fairlead`."""
    agents.install(agent)
    program = agents.place.script("~/fake", body)
    plugin = agents.place.root / "plugin.mjs"
    text = agents.file(agent).read_text()
    start = text.index("const COMMAND = ") + len("const COMMAND = ")
    plugin.write_text(text[:start] + json.dumps([str(program)]) + text[text.index("\n", start) :])
    main = agents.place.root / "main.mjs"
    main.write_text((AMP if agent == "amp" else OPENCODE).format(plugin=plugin, event=on or event))
    done = subprocess.run(
        [str(NODE), str(main)],
        cwd=agents.place.project,
        env=agents.place.environ,
        capture_output=True,
        timeout=60,
        check=False,
    )
    assert done.returncode == 0, done.stderr.decode()
    answer: dict[str, Any] = json.loads(done.stdout)
    return answer


BEFORE = {
    "a refusal": ("""echo '{"decision": "deny", "reason": "not here"}'""", "not here"),
    "a refusal without a reason": ("""echo '{"decision": "deny"}'""", "refused by Fairlead"),
    "nothing to say": ("""echo '{"decision": "none"}'""", None),
    "a permission": ("""echo '{"decision": "allow"}'""", None),
    "silence": ("true", "Fairlead gave no answer (exit code 0)"),
    "a failure": ("""echo '{"decision": "allow"}'; echo broken >&2; exit 1""", "broken"),
    "another language": ("echo yes", "Fairlead gave no answer (exit code 0)"),
    "an unknown decision": ("""echo '{"decision": "maybe"}'""", "Fairlead gave no answer (exit code 0)"),
    "a crash": ("kill -9 $$", "Fairlead gave no answer (exit code null)"),
    "stdin is not read": ('exec <&-; echo \'{"decision": "deny", "reason": "deaf"}\'', "deaf"),
}


@needs_node
@pytest.mark.parametrize(("body", "thrown"), BEFORE.values(), ids=BEFORE)
@pytest.mark.parametrize("agent", ["opencode", "kilo"])
def test_before_a_tool_no_valid_answer_means_no(agent: str, body: str, thrown: str | None, agents: Agents) -> None:
    assert run(agents, agent, "tool.execute.before", body)["thrown"] == thrown


@needs_node
@pytest.mark.parametrize(("body", "thrown"), BEFORE.values(), ids=BEFORE)
def test_amp_rejects_the_call_in_the_same_cases(body: str, thrown: str | None, agents: Agents) -> None:
    said = run(agents, "amp", "tool.call", body)["said"]
    expected = {"action": "allow"} if thrown is None else {"action": "reject-and-continue", "message": thrown}
    assert said == expected


@needs_node
def test_a_rewritten_input_takes_the_place_of_the_old_one(agents: Agents) -> None:
    body = """echo '{"decision": "allow", "input": {"command": "ls -l", "n": 1}}'"""
    assert run(agents, "opencode", "tool.execute.before", body)["args"] == {"command": "ls -l", "n": 1}
    assert run(agents, "amp", "tool.call", body)["said"] == {"action": "modify", "input": {"command": "ls -l", "n": 1}}


AFTER = {
    "another output": ("""echo '{"decision": "none", "output": "new"}'""", "new"),
    "a context": ("""echo '{"decision": "none", "context": "mind the gap"}'""", "old\n\nmind the gap"),
    "a refusal": ("""echo '{"decision": "deny", "reason": "look again"}'""", "look again"),
    "a failure": ("exit 1", "old"),
}


@needs_node
@pytest.mark.parametrize(("body", "output"), AFTER.values(), ids=AFTER)
def test_after_a_tool_the_answer_reaches_the_model(body: str, output: str, agents: Agents) -> None:
    ran = run(agents, "opencode", "tool.execute.after", body)
    assert (ran["thrown"], ran["output"]) == (None, output)


@needs_node
def test_a_prompt_gets_context_or_is_refused(agents: Agents) -> None:
    ran = run(agents, "opencode", "chat.message", """echo '{"decision": "none", "context": "be kind"}'""")
    assert ran["parts"] == [{"type": "text", "text": "hello\n\nbe kind"}]
    ran = run(agents, "opencode", "chat.message", """echo '{"decision": "deny", "reason": "no"}'""")
    assert ran["thrown"] == "no"


@needs_node
@pytest.mark.parametrize(("agent", "event"), [("opencode", "tool.execute.before"), ("amp", "tool.call")])
def test_fairlead_is_told_what_is_about_to_happen(agent: str, event: str, agents: Agents, place: Home) -> None:
    run(
        agents,
        agent,
        event,
        f"""cat > {place.root}/seen; echo "$@" > {place.root}/words; echo '{{"decision": "none"}}'""",
    )
    seen = json.loads((place.root / "seen").read_text())
    assert seen["tool_use_id"] == "c1"
    assert seen["cwd"] == str(place.project)
    assert seen["session_id"] in ("s1", "t1")
    assert seen["tool_input"]
    assert (place.root / "words").read_text().split() == ["--event", event]


@needs_node
def test_the_real_program_answers_the_plugin(agents: Agents, place: Home) -> None:
    """The whole way: plugin, `fairlead hook`, a hook that refuses, and back."""
    place.write(
        "~/.config/fairlead/fairlead.toml", '[[hook]]\non = "PreToolUse"\ntool = "Bash"\nrun = "echo no ls; exit 1"\n'
    )
    agents.install("opencode")
    plugin = place.root / "plugin.mjs"
    plugin.write_text(agents.file("opencode").read_text())
    main = place.root / "main.mjs"
    main.write_text(OPENCODE.format(plugin=plugin, event="tool.execute.before"))
    done = subprocess.run(
        [str(NODE), str(main)], cwd=place.project, env=place.environ, capture_output=True, timeout=60, check=False
    )
    assert json.loads(done.stdout)["thrown"] == "no ls"


@pytest.mark.parametrize("agent", SPECS)
def test_every_event_that_is_installed_is_one_that_the_dialect_knows(agent: str) -> None:
    known = getattr(agent_half(agent), "EVENTS", None)
    if known is None:
        pytest.skip("this dialect lists no events")
    assert [event for event in events(SPECS[agent], every=True) if event not in known] == []


def test_a_template_names_no_machine() -> None:
    import fairlead.installing

    folder = Path(fairlead.installing.__file__).parent / "plugins"
    for template in folder.iterdir():
        text = template.read_text()
        assert "__COMMAND__" in text
        assert "/home/" not in text
