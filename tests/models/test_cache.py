"""Answers that are kept for a session, and when they do not count."""

from __future__ import annotations

import os
import stat
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fairlead.hooks import Setting
from fairlead.models import cache
from fairlead.models.records import Profile, Question, Reply, Tool, ToolCall, Usage
from tests.conftest import Home
from tests.models.provider import KEY

PROFILE = Profile(name="models.x", provider="openai", model="m", base_url="https://h/v1", api_key=KEY)
QUESTION = Question(system="s", messages=({"role": "user", "content": "is it fine?"},), schema={"type": "object"})
REPLY = Reply(text='{"ok": true}', usage=Usage(input_tokens=3, output_tokens=4), model="m-1")


@pytest.fixture
def setting(place: Home) -> Setting:
    return Setting(project=str(place.project), home=str(place.home), environ=place.environ)


def folder(setting: Setting) -> Path:
    return Path(setting.home) / ".local" / "state" / "fairlead" / "answers"


def entries(setting: Setting) -> list[Path]:
    return sorted(folder(setting).glob("*/*"))


def keep(setting: Setting, question: Question = QUESTION, session: str = "s1", reply: Reply = REPLY) -> None:
    cache.put(PROFILE, question, session, setting, reply)


def kept(setting: Setting, question: Question = QUESTION, session: str = "s1", profile: Profile = PROFILE) -> Any:
    return cache.get(profile, question, session, setting)


def test_an_answer_is_kept(setting: Setting) -> None:
    assert kept(setting) is None
    keep(setting)
    assert kept(setting) == REPLY


@pytest.mark.parametrize(
    ("profile", "question", "session"),
    [
        (PROFILE.but(model="n"), QUESTION, "s1"),
        (PROFILE.but(base_url="https://other/v1"), QUESTION, "s1"),
        (PROFILE.but(provider="anthropic"), QUESTION, "s1"),
        (PROFILE.but(max_tokens=5), QUESTION, "s1"),
        (PROFILE, QUESTION.but(system="t"), "s1"),
        (PROFILE, QUESTION.but(messages=({"role": "user", "content": "is it fine? "},)), "s1"),
        (PROFILE, QUESTION.but(messages=(*QUESTION.messages, *QUESTION.messages)), "s1"),
        (PROFILE, QUESTION.but(schema=None), "s1"),
        (PROFILE, QUESTION.but(tools=(Tool(name="t", description="", parameters={}),)), "s1"),
        (PROFILE, QUESTION, "s2"),
        (PROFILE, QUESTION, ""),
    ],
    ids=["model", "address", "provider", "cap", "system", "text", "turns", "schema", "tools", "session", "no session"],
)
def test_another_question_has_another_answer(
    setting: Setting, profile: Profile, question: Question, session: str
) -> None:
    keep(setting)
    assert kept(setting, question, session, profile) is None


def test_another_key_asks_the_same(setting: Setting) -> None:
    keep(setting)
    assert kept(setting, profile=PROFILE.but(api_key="another", name="models.y", key_from="z")) == REPLY


@pytest.mark.parametrize(
    "reply",
    [REPLY.but(finished=False), REPLY.but(calls=(ToolCall(id="a", name="b", arguments={}),))],
    ids=["unfinished", "with calls"],
)
def test_what_is_no_whole_answer_is_not_kept(setting: Setting, reply: Reply) -> None:
    keep(setting, reply=reply)
    assert entries(setting) == []


def test_without_a_session_nothing_is_kept(setting: Setting) -> None:
    keep(setting, session="")
    assert not folder(setting).exists()


def test_the_owner_alone_can_read_it(setting: Setting) -> None:
    keep(setting)
    [entry] = entries(setting)
    assert stat.S_IMODE(entry.stat().st_mode) == 0o600
    for place in (entry.parent, folder(setting), folder(setting).parent):
        assert stat.S_IMODE(place.stat().st_mode) == 0o700


def test_neither_the_key_nor_the_question_is_in_it(setting: Setting) -> None:
    keep(setting)
    [entry] = entries(setting)
    for text in (KEY, "is it fine?"):
        assert text not in entry.read_text() + str(entry)


def _age(path: Path, seconds: float) -> None:
    moment = time.time() - seconds
    os.utime(path, (moment, moment))


def _link(path: Path) -> None:
    path.rename(path.with_suffix(".elsewhere"))
    path.symlink_to(path.with_suffix(".elsewhere"))


def _replace_by_folder(path: Path) -> None:
    path.unlink()
    path.mkdir()


def _replace_by_pipe(path: Path) -> None:
    path.unlink()
    os.mkfifo(path)


SPOILED: dict[str, Callable[[Path], object]] = {
    "empty": lambda path: path.write_text(""),
    "half": lambda path: path.write_text(path.read_text()[:-5]),
    "garbage": lambda path: path.write_bytes(b"\xff\x00{"),
    "a list": lambda path: path.write_text("[]"),
    "without a text": lambda path: path.write_text('{"model": "m", "usage": [1, 2]}'),
    "a text that is none": lambda path: path.write_text('{"text": 5, "model": "m", "usage": [1, 2]}'),
    "counts that are none": lambda path: path.write_text('{"text": "x", "model": "m", "usage": [true, 2]}'),
    "too few counts": lambda path: path.write_text('{"text": "x", "model": "m", "usage": [1]}'),
    "open to others": lambda path: path.chmod(0o644),
    "a day old": lambda path: _age(path, cache.LIFETIME + 60),
    "from the future": lambda path: _age(path, -7200),
    "huge": lambda path: path.write_bytes(path.read_bytes() + b" " * (2 << 20)),
    "a link": _link,
    "a folder": _replace_by_folder,
    "a pipe": _replace_by_pipe,
}


@pytest.mark.parametrize("spoil", SPOILED.values(), ids=SPOILED.keys())
def test_a_spoiled_answer_is_none(setting: Setting, spoil: Callable[[Path], object]) -> None:
    keep(setting)
    [entry] = entries(setting)
    spoil(entry)
    assert kept(setting) is None


def test_the_oldest_go_first(setting: Setting) -> None:
    questions = [QUESTION.but(system=str(number)) for number in range(cache.MOST + 3)]
    for question in questions[:3]:
        keep(setting, question)
    for entry in entries(setting):
        _age(entry, 5000)
    for question in questions[3:]:
        keep(setting, question)
    assert len(entries(setting)) <= cache.MOST
    assert [kept(setting, question) for question in questions[:3]] == [None] * 3
    assert kept(setting, questions[-1]) == REPLY


def test_old_sessions_are_forgotten(setting: Setting) -> None:
    keep(setting, session="old")
    [entry] = entries(setting)
    _age(entry, cache.LIFETIME + 60)
    _age(entry.parent, cache.LIFETIME + 60)
    keep(setting, session="new")
    assert len(list(folder(setting).iterdir())) == 1
    assert kept(setting, session="new") == REPLY


def test_what_cannot_be_kept_is_no_error(setting: Setting) -> None:
    folder(setting).parent.mkdir(parents=True)
    folder(setting).write_text("in the way")
    keep(setting)
    assert kept(setting) is None


def test_a_write_that_fails_half_way_leaves_what_was_there(setting: Setting, place: Home) -> None:
    code = """
import resource, sys
from fairlead.hooks import Setting
from fairlead.models import cache
from fairlead.models.records import Profile, Question, Reply
home = sys.argv[1]
setting = Setting(project=home, home=home, environ={"HOME": home})
profile = Profile(name="x", provider="openai", model="m", base_url="https://h/v1", api_key="")
question = Question(system="", messages=())
cache.put(profile, question, "s", setting, Reply(text="short"))
resource.setrlimit(resource.RLIMIT_FSIZE, (1000, 1000))
cache.put(profile, question, "s", setting, Reply(text="long" * 1000))
print(cache.get(profile, question, "s", setting).text)
"""
    words = [sys.executable, "-c", code, str(place.home)]
    done = subprocess.run(words, capture_output=True, text=True, timeout=90, check=True)
    assert done.stdout == "short\n"
    assert len(entries(setting)) == 1


def test_several_processes_keep_and_read_at_once(setting: Setting, place: Home) -> None:
    code = """
import sys
from fairlead.hooks import Setting
from fairlead.models import cache
from fairlead.models.records import Profile, Question, Reply
home, own = sys.argv[1:]
setting = Setting(project=home, home=home, environ={"HOME": home})
profile = Profile(name="x", provider="openai", model="m", base_url="https://h/v1", api_key="")
for number in range(150):
    question = Question(system=str(number % 7), messages=())
    cache.put(profile, question, "s", setting, Reply(text=str(number % 7) * 5000))
    found = cache.get(profile, question, "s", setting)
    assert found is None or found.text == str(number % 7) * 5000, "half an answer"
    cache.put(profile, Question(system=f"{own} {number}", messages=()), "s", setting, Reply(text="x"))
"""
    words = [sys.executable, "-c", code, str(place.home)]
    started = [subprocess.Popen([*words, str(number)], stderr=subprocess.PIPE, text=True) for number in range(4)]
    try:
        assert [process.communicate(timeout=100)[1] for process in started] == [""] * 4
    finally:
        for process in started:
            process.kill()
            process.wait()
    assert len(entries(setting)) <= cache.MOST + len(started)


@given(text=st.text(), system=st.text())
def test_any_answer_comes_back_as_it_was(tmp_path_factory: pytest.TempPathFactory, text: str, system: str) -> None:
    home = str(tmp_path_factory.getbasetemp())
    setting = Setting(project=home, home=home, environ={"HOME": home})
    question = QUESTION.but(system=system)
    reply = REPLY.but(text=text)
    cache.put(PROFILE, question, system + "x", setting, reply)
    assert cache.get(PROFILE, question, system + "x", setting) == reply
