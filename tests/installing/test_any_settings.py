"""Any settings in any style, for any agent with JSON settings: in, changed by somebody, out."""

from __future__ import annotations

from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from fairlead.documents import BadDocument
from fairlead.installing import adopting, entries, jsonc, jsonsettings, records, restoring
from fairlead.installing.edits import apply
from fairlead.installing.plans import finder
from fairlead.installing.records import Kept
from fairlead.installing.specs import SPECS
from tests.installing.conftest import plain_json
from tests.installing.test_jsonc import rendered

AGENTS = ["claude-code", "codex", "cursor", "kiro", "antigravity", "devin", "amcp", "claude-agent"]
hook = st.fixed_dictionaries(
    {"command": st.sampled_from(["./a.sh", "./b.sh"])}, optional={"timeout": st.integers(1, 9)}
)
group = st.fixed_dictionaries(
    {"hooks": st.lists(hook, max_size=2)}, optional={"matcher": st.sampled_from(["", "Bash"])}
)
values = st.one_of(st.none(), st.lists(group, max_size=2), st.lists(hook, max_size=2))
theirs = st.dictionaries(st.sampled_from(["PreToolUse", "Stop", "preToolUse", "Other"]), values, max_size=3)


@st.composite
def settings(draw: st.DrawFn) -> tuple[str, str]:
    """An agent, and the text of its settings."""
    agent = draw(st.sampled_from(AGENTS))
    content: dict[str, Any] = draw(st.dictionaries(st.sampled_from(["model", "x", "ä"]), st.integers(0, 3), max_size=3))
    if draw(st.booleans()):
        hooks: dict[str, Any] = draw(theirs)
        if agent == "amcp":
            hooks = {name: {"handlers": value} for name, value in hooks.items()}
        content = {**content, "hooks": hooks if agent != "kiro" else [{"trigger": "Stop", "action": {"command": "x"}}]}
    text, _ = draw(rendered(st.just(content)))
    return agent, text


def installed(agent: str, text: str) -> tuple[str, Kept]:
    spec = SPECS[agent]
    wants = entries.wanted(spec, "project", entries.Wishes())
    changed, edits = jsonsettings.installed(text, wants, spec, finder(spec))
    kept = Kept(
        path="x",
        kind="settings",
        original=text.encode(),
        written=records.digest(changed.encode()),
        edits=tuple(edits),
    )
    return changed, kept


def taken_out(agent: str, kept: Kept, text: str) -> str:
    content = restoring.without_us(SPECS[agent], kept, text.encode(), adopting.LookedAfter())
    assert content is not None
    return content.decode()


@given(settings())
def test_nothing_of_theirs_changes_and_a_second_time_nothing_at_all(made: tuple[str, str]) -> None:
    agent, text = made
    try:
        changed, kept = installed(agent, text)
    except BadDocument:
        return  # the agent would not understand it either
    assert plain_json(changed) == jsonc.parse(changed).value
    spec = SPECS[agent]
    wants = entries.wanted(spec, "project", entries.Wishes())
    assert len(jsonsettings.ours(jsonsettings.document(changed), finder(spec))) == len(wants)
    assert installed(agent, changed)[0] == changed
    assert taken_out(agent, kept, changed) == text


@given(settings(), st.data())
def test_what_somebody_adds_anywhere_is_what_is_left(made: tuple[str, str], data: st.DataObject) -> None:
    agent, text = made
    try:
        changed, kept = installed(agent, text)
    except BadDocument:
        return
    spec, is_mine = SPECS[agent], finder(SPECS[agent])
    root = jsonsettings.document(changed)
    mine = [path for path, _ in jsonsettings.ours(root, is_mine)]
    places = [
        (path, node)
        for path, node in jsonc.walk(root)
        if node.kind == "object" and not any(path[: len(one)] == one for one in mine)
    ]
    _, node = data.draw(st.sampled_from(places))
    edits = jsonc.insertion(changed, node, [("zzz", 7)], depth=0, style=jsonc.style_of(changed, root))
    edited = apply(changed, edits)
    expected = jsonsettings.without(jsonsettings.document(edited).value, is_mine, spec.root)
    left = taken_out(agent, kept, edited)
    assert jsonsettings.ours(jsonsettings.document(left), is_mine) == []
    assert jsonsettings.without(plain_json(left), is_mine, spec.root) == expected
