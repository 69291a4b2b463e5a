"""Secrets are found and shown as their beginning and length; ordinary text is left alone."""

from __future__ import annotations

import json
import subprocess
import sys
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fairlead.masking import Masker, library, mark, stand_in
from fairlead.server import metrics, notices, views
from fairlead.server.notify import message
from fairlead.server.records import Interaction, Run
from tests.cli.test_cold_path import imported
from tests.conftest import Home
from tests.masking.canaries import CANARIES, ORDINARY, SECRETS, TEXTS


@pytest.fixture(params=["our own detectors", "with detect-secrets"])
def detectors(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    if request.param == "our own detectors":
        monkeypatch.setattr(library, "_LOADED", [()])
    elif not library.is_installed():
        pytest.skip("the extra `secrets` is not installed")


def is_told(secret: str, text: str) -> bool:
    """Also a good part of it."""
    return secret in text or secret[4:16] in text


def test_there_are_enough_of_them() -> None:
    assert len(CANARIES) >= 50
    assert len(set(SECRETS.values())) >= 50


@pytest.mark.usefixtures("detectors")
def test_every_kind_of_secret_is_found() -> None:
    assert [name for name, text in TEXTS.items() if is_told(SECRETS[name], Masker().text(text))] == []


@pytest.mark.usefixtures("detectors")
def test_ordinary_text_stays_as_it_is() -> None:
    assert [text for text in ORDINARY if Masker().text(text) != text] == []


@pytest.mark.parametrize("name", CANARIES)
def test_it_is_found_in_json_in_lists_and_behind_escapes(name: str) -> None:
    text = json.dumps({"x": f"a\n{TEXTS[name]}\nb"})
    for event in ({"tool_input": {"command": TEXTS[name]}}, {"more": [text]}, text[:-4]):
        shown = json.dumps(Masker().value(event), ensure_ascii=False)
        assert not is_told(SECRETS[name], shown)


@pytest.mark.parametrize("name", CANARIES)
def test_what_is_masked_is_not_masked_again(name: str) -> None:
    masked = Masker().text(TEXTS[name])
    assert Masker().text(masked) == masked


def test_the_mark_says_how_it_begins_and_how_long_it_is() -> None:
    token = SECRETS["a GitHub token alone"]
    assert Masker().text(f"echo {token} | sh") == "echo gho…(40) | sh"
    assert mark("hunter2") == "…(7)"


def test_the_same_secret_has_the_same_mark_and_another_one_another() -> None:
    masker = Masker()
    one, other = f"ghp_{'a1' * 18}", f"ghp_{'b2' * 18}"
    assert [masker.text(f"x {token}") for token in (one, other, one)] == ["x ghp…(40)", "x ghp…(40)#2", "x ghp…(40)"]


def test_a_secret_that_has_a_name_in_one_place_is_known_in_the_others() -> None:
    value = {"reason": "who uses Zx81Spectrum48k?", "env": {"DB_PASSWORD": "Zx81Spectrum48k"}}
    assert Masker().value(value) == {"reason": "who uses Zx8…(15)?", "env": {"DB_PASSWORD": "Zx8…(15)"}}


def test_what_the_environment_calls_a_secret_is_one_everywhere() -> None:
    others = {
        "EDITOR": "Vi81Improved48k",
        "TOKEN_FILE": "/run/T0ken99x",
        "PWD": "/home/me/9lives",
        "OLDPWD": "/a/b2c3d4e5f6",
    }
    masker = Masker({"MY_API_KEY": "Zx81Spectrum48k", **others})
    assert masker.text(" ".join(others.values())) == " ".join(others.values())
    assert masker.text("Zx81Spectrum48k Vi81Improved48k /run/T0ken99x") == "Zx8…(15) Vi81Improved48k /run/T0ken99x"


def test_half_characters_do_not_keep_a_secret_from_being_found() -> None:
    assert "hunter2hunter" not in Masker().text("\ud800 password=hunter2hunter \ud83d")


@settings(max_examples=150)
@given(st.sampled_from(sorted(CANARIES)), st.text(max_size=20), st.text(max_size=20))
def test_whatever_stands_in_the_lines_around_it_a_secret_is_found(name: str, before: str, after: str) -> None:
    assert not is_told(SECRETS[name], Masker().text(f"{before}\n{TEXTS[name]}\n{after}"))


@settings(max_examples=200)
@given(st.lists(st.text(alphabet="abcdefgh ./-", max_size=12), max_size=8).map(" ".join))
def test_words_are_no_secrets(text: str) -> None:
    assert Masker().text(text) == text


LONG = {
    "one word": "a" * 300_000,
    "names": "password=" * 30_000,
    "half keys": "-----BEGIN RSA PRIVATE KEY-----" * 9_000,
    "addresses": "https://a:" * 30_000,
    "quotes": '\\"' * 150_000,
    "numbers and letters": "A1" * 150_000,
}


@pytest.mark.parametrize("text", LONG.values(), ids=LONG.keys())
def test_no_text_keeps_it_busy(text: str) -> None:
    Masker().text(text)  # a quadratic pattern would need minutes: the limit of the test is the limit


@pytest.mark.parametrize("name", ["a GitHub token alone", "an AWS key id", "a Stripe key", "an OpenAI key", "JSON"])
def test_a_stand_in_has_the_form_of_the_secret_and_nothing_of_it(name: str) -> None:
    secret = SECRETS[name]
    made = stand_in(secret)
    assert len(made) == len(secret)
    assert made[:4] == secret[:4]
    assert not is_told(secret, made)
    masker = Masker(instead=stand_in)
    assert masker.text(TEXTS[name]) == TEXTS[name].replace(secret, made)
    assert masker.found == (mark(secret),)


# --- where it is used --------------------------------------------------------------------------------


def question(command: str) -> Interaction:
    body = json.dumps({"payload": {"command": command}}).encode()
    return Interaction(id="a" * 32, run_id="run", request_id="1", kind="approval", tool="Bash", body=body, digest="d",
                       created_at=0.0, expires_at=9e9)  # fmt: skip


RUN = Run(id="run", agent="codex", project="/work/shop", created_at=0.0)


@pytest.mark.parametrize("name", CANARIES)
def test_a_notification_shows_no_secret_and_offers_no_allow_then(name: str) -> None:
    notice = notices.notice(question(TEXTS[name]), RUN, details=True)
    sent = notices.opening(notice).text.decode() + " ".join(message([notice], "https://x.example"))
    assert not is_told(SECRETS[name], json.loads(notices.opening(notice).text)["detail"])
    assert SECRETS[name] not in sent
    assert not notice.whole


def test_a_notification_without_a_secret_is_as_it_was() -> None:
    notice = notices.notice(question("git push origin main"), RUN, details=True)
    assert (notice.detail, notice.whole) == ("git push origin main", True)


@pytest.mark.parametrize("name", ["a GitHub token", "JSON", "an option"])
def test_who_decides_sees_what_will_run(name: str) -> None:
    (part,) = views.item(question(TEXTS[name]), RUN)["parts"]
    assert part["text"] == TEXTS[name]


def test_labels_of_metrics_show_no_secret() -> None:
    page = metrics.Page(is_open=False)
    labels: list[tuple[str, Any, float]] = [("", (("hook", text),), 1.0) for text in TEXTS.values()]
    page.add("fairlead_x", "gauge", "x", labels)
    shown = bytes(page).decode()
    assert [name for name, secret in SECRETS.items() if is_told(secret, shown)] == []


_SHOW = """
import sys
from fairlead.cli import _show
def main(words):
    options = _show.parser({0!r}, "x").parse_args(words)
    _show.Page().line("curl -u a:opensesame42 x")
    _show.print_json({{"password": "opensesame42"}})
    print(_show.shortened("x " * 991 + "password=opensesame42", 2000))
    return 0
sys.exit(_show.ending(main, {0!r}, sys.argv[1:]))
"""


def shown_by(command: str, *words: str) -> int:
    done = subprocess.run([sys.executable, "-c", _SHOW.format(command), *words], capture_output=True, check=True)
    return done.stdout.count(b"opensesa")


@pytest.mark.parametrize("command", ["inbox", "trust"])
def test_commands_in_which_a_person_decides_hide_nothing(command: str) -> None:
    assert shown_by(command) >= 2


def test_commands_that_look_on_hide_it_unless_told_otherwise() -> None:
    assert shown_by("log") == 0
    assert shown_by("log", "--show-secrets") >= 2


def test_the_cold_path_knows_nothing_of_it(place: Home) -> None:
    place.write("~/.config/fairlead/fairlead.toml", '[[hook]]\non = "PreToolUse"\nrun = "echo no >&2; exit 2"\n')
    found = imported(place)
    assert "fairlead.said" in found
    assert {name for name in found if name.startswith(("fairlead.masking", "detect_secrets", "re2"))} == set()
