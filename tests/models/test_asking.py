"""One deadline for everything, a few more tries while it lasts, and errors that say what to do."""

from __future__ import annotations

import datetime as dt
import json
import ssl
import subprocess
import sys
import threading
import time
from email.utils import format_datetime
from pathlib import Path
from typing import Any

import pytest

from fairlead.models import asking
from fairlead.models.records import ModelFailed, Profile, Question, Reply, Tool
from tests.models.provider import (
    KEY,
    WIRES,
    Provider,
    Step,
    calls,
    closes,
    closes_mid_body,
    cut,
    drips,
    fails,
    floods,
    garbage,
    half,
    never_answers,
    rate_limited,
    raw,
    redirects,
    refuses,
    says,
    stream,
    streams,
)

QUESTION = Question(
    system="be strict",
    messages=({"role": "user", "content": "judge this"},),
    schema={"type": "object", "properties": {"ok": {"type": "boolean"}}, "required": ["ok"]},
)
AMPLE = 90.0
"""Seconds, for what is not about time."""
SHORT = 1.0


def ask(profile: Profile, question: Question = QUESTION, seconds: float = AMPLE) -> Reply:
    return asking.ask(profile, question, time.monotonic() + seconds)


def failure(profile: Profile, seconds: float = AMPLE) -> str:
    with pytest.raises(ModelFailed) as caught:
        ask(profile, seconds=seconds)
    assert caught.value.__cause__ is None
    assert caught.value.__suppress_context__ or caught.value.__context__ is None
    return str(caught.value)


class TestAnswers:
    @pytest.mark.parametrize("wire", WIRES)
    def test_a_question_is_answered(self, provider: Provider, wire: str) -> None:
        reply = ask(provider.profile(wire))
        assert (reply.text, reply.finished, reply.attempts, reply.model) == ('{"ok": true}', True, 1, "test-model-2026")
        assert (reply.usage.input_tokens, reply.usage.output_tokens) == (11, 7)
        [asked] = provider.asked
        assert (asked.wire, asked.system, asked.user) == (wire, "be strict", ["judge this"])
        assert asked.schema is not None
        assert asked.headers["content-type"] == "application/json"
        assert asked.headers["user-agent"] == "fairlead"

    @pytest.mark.parametrize("wire", WIRES)
    @pytest.mark.parametrize(
        ("step", "text", "finished"),
        [
            (streams("ALLOW, because"), "ALLOW, because", True),
            (streams("ALLOW, because", ends=False), None, False),
            (refuses("never"), "never", False),
            (cut("ALLOW"), "ALLOW", False),
            (says("x" * 70_000), "x" * 65_536, False),
            (says(f"the key is {KEY}"), "the key is ***", True),
        ],
        ids=["streamed", "half a stream", "refused", "cut", "too long", "with the key"],
    )
    def test_what_came_of_it(self, provider: Provider, wire: str, step: Step, text: str | None, finished: bool) -> None:
        provider.script(step)
        reply = ask(provider.profile(wire))
        assert reply.finished is finished
        assert text is None or reply.text == text

    @pytest.mark.parametrize("wire", WIRES)
    def test_tools_are_called_and_their_results_arrive(self, provider: Provider, wire: str) -> None:
        tool = Tool(
            name="read", description="d", parameters={"type": "object", "properties": {"p": {"type": "string"}}}
        )
        provider.script(calls(("read", {"p": "a"}), ("read", {"p": "b"}), text="let me look"), says("done"))
        first = ask(provider.profile(wire), QUESTION.but(tools=(tool,), schema=None))
        said = {"role": "assistant", "content": first.text, "calls": list(first.calls)}
        results = [
            {"role": "tool", "id": call.id, "name": call.name, "content": f"of {call.arguments['p']}"}
            for call in first.calls
        ]
        talk = QUESTION.but(tools=(tool,), schema=None, messages=(*QUESTION.messages, said, *results))
        assert ask(provider.profile(wire), talk).text == "done"
        assert provider.asked[1].results == ["of a", "of b"]

    def test_a_list_of_chunks_is_read_as_one_answer(self, provider: Provider) -> None:
        first = {"content": {"parts": [{"text": "AL"}]}}
        last = {"content": {"parts": [{"text": "LOW"}]}, "finishReason": "STOP"}
        provider.script(raw(json.dumps([{"candidates": [first]}, {"candidates": [last]}]).encode()))
        assert ask(provider.profile("google")).text == "ALLOW"

    def test_a_stream_is_known_by_its_content_too(self, provider: Provider) -> None:
        provider.script(raw(b"".join(stream("openai", "fine")[1:])))
        assert ask(provider.profile()).text == "fine"


class TestSimplerTerms:
    @pytest.mark.parametrize("wire", WIRES)
    @pytest.mark.parametrize("status", [400, 422])
    def test_a_server_without_structured_answers_is_asked_once_more_without(
        self, provider: Provider, wire: str, status: int
    ) -> None:
        provider.script(fails(status, "json_schema is not supported here"), says("fine"))
        assert ask(provider.profile(wire)).attempts == 2
        assert [asked.schema is None for asked in provider.asked] == [False, True]

    def test_one_thing_after_the_other(self, provider: Provider) -> None:
        provider.script(
            fails(400, "temperature?"), fails(400, "max_tokens?"), fails(422, "response_format?"), says("fine")
        )
        assert ask(provider.profile()).attempts == 4
        assert provider.asked[-1].body.keys() == {"model", "messages", "max_completion_tokens"}

    def test_not_for_ever(self, provider: Provider) -> None:
        provider.script(fails(400, "max_tokens max_completion_tokens"))
        assert "HTTP 400" in failure(provider.profile())
        assert len(provider.asked) == 5

    def test_only_where_a_server_refuses_the_form(self, provider: Provider) -> None:
        provider.script(fails(403, "temperature"))
        failure(provider.profile())
        assert len(provider.asked) == 1


class TestTryingAgain:
    @pytest.mark.parametrize("status", [408, 409, 429, 500, 502, 503, 529])
    def test_what_may_pass_is_tried_again(self, provider: Provider, status: int) -> None:
        provider.script(fails(status), says("fine"))
        assert ask(provider.profile()).attempts == 2
        assert provider.asked[0].raw == provider.asked[1].raw

    @pytest.mark.parametrize(
        "step",
        [closes(), closes_mid_body("ALLOW"), garbage(), half("ALLOW"), raw(b""), raw(b'{"error":{"message":"busy"}}')],
        ids=["closed", "closed in the middle", "garbage", "half", "empty", "an error with 200"],
    )
    def test_an_answer_that_is_none_is_tried_again(self, provider: Provider, step: Step) -> None:
        provider.script(step, says("fine"))
        assert ask(provider.profile()).text == "fine"
        assert len(provider.asked) == 2

    @pytest.mark.parametrize("status", [400, 401, 402, 403, 404, 413, 418])
    def test_what_will_not_pass_is_not(self, provider: Provider, status: int) -> None:
        provider.script(fails(status, "for this reason"))
        said = failure(provider.profile())
        assert f"HTTP {status}: for this reason" in said
        assert len(provider.asked) == 1

    def test_four_times_at_most(self, provider: Provider) -> None:
        provider.script(fails(500, "broken", Retry_After="0"))
        said = failure(provider.profile())
        assert len(provider.asked) == 4
        assert "HTTP 500: broken, 4 times" in said

    def test_each_time_over_a_connection_of_its_own(self, provider: Provider) -> None:
        """One that the server is just closing would cost a try."""
        provider.script(*[fails(500, Retry_After="0")] * 3, says("fine"))
        assert ask(provider.profile()).attempts == 4
        assert len({asked.port for asked in provider.asked}) == 4

    @pytest.mark.parametrize(
        "after", ["0", "0.01", "-5", format_datetime(dt.datetime(2020, 1, 1, tzinfo=dt.UTC)), "soon", "nan"]
    )
    def test_a_wait_that_fits_is_kept(self, provider: Provider, after: str) -> None:
        provider.script(rate_limited(after), says("fine"))
        assert ask(provider.profile()).attempts == 2

    @pytest.mark.parametrize("after", ["3600", "1e8", format_datetime(dt.datetime(2999, 1, 1, tzinfo=dt.UTC))])
    def test_a_wait_beyond_the_deadline_ends_it_at_once(self, provider: Provider, after: str) -> None:
        provider.script(rate_limited(after), says("fine"))
        said = failure(provider.profile())
        assert "it asks to wait" in said
        assert "HTTP 429: slow down" in said
        assert len(provider.asked) == 1

    def test_nobody_there(self) -> None:
        with Provider(says("x")) as gone:
            profile = gone.profile()
        said = failure(profile)
        assert "cannot be reached (" in said
        assert said.endswith(", 4 times; is it running, and is `base_url` right?")


class TestTheDeadline:
    @pytest.mark.parametrize(
        "step",
        [never_answers(), drips(), drips(head=True)],
        ids=["never answers", "drips", "drips its headers"],
    )
    def test_nothing_goes_on_after_it(self, provider: Provider, step: Step) -> None:
        provider.script(step)
        said = failure(provider.profile(), SHORT)
        assert "did not answer within" in said
        assert "`timeout`" in said

    def test_one_that_is_over_already(self, provider: Provider) -> None:
        assert "did not answer within 0 s" in failure(provider.profile(), -1.0)
        assert provider.asked == []

    def test_it_holds_for_all_tries_together(self, provider: Provider) -> None:
        provider.script(fails(503, "busy"), never_answers())
        assert "did not answer within" in failure(provider.profile(), 5.0)

    def test_a_name_that_cannot_be_looked_up_does_not_hold_it_up(self, monkeypatch: pytest.MonkeyPatch) -> None:
        released = threading.Event()
        monkeypatch.setattr("socket.getaddrinfo", lambda *_arguments, **_named: released.wait(60) and [])
        try:
            profile = Profile(name="x", provider="openai", model="m", base_url="http://slow.invalid", api_key="")
            assert "did not answer within" in failure(profile, SHORT)
        finally:
            released.set()

    def test_nor_does_it_keep_the_process_alive(self) -> None:
        code = """
import os, socket, threading, time
socket.getaddrinfo = lambda *arguments, **named: threading.Event().wait()
from fairlead.models import asking
from fairlead.models.records import ModelFailed, Profile, Question
profile = Profile(name="x", provider="openai", model="m", base_url="http://slow.invalid", api_key="")
question = Question(system="", messages=({"role": "user", "content": "?"},))
try:
    asking.ask(profile, question, time.monotonic() + 1)
except ModelFailed as error:
    print(error)
"""
        done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=90, check=True)
        assert "did not answer within" in done.stdout


class TestBounds:
    def test_a_body_that_is_too_long_is_not_read_to_its_end(self, provider: Provider) -> None:
        provider.script(floods(64 << 20))
        assert "longer than 4,194,304 bytes" in failure(provider.profile())
        assert len(provider.asked) == 1

    def test_redirects_are_not_followed(self, provider: Provider) -> None:
        with Provider(says("I am somebody else")) as other:
            provider.script(redirects(f"{other.address}/v1/chat/completions"))
            said = failure(provider.profile())
            assert other.asked == []
        assert "leads elsewhere" in said
        assert "put the final address into `base_url`" in said

    def test_the_words_of_a_server_are_short_and_in_one_line(self, provider: Provider) -> None:
        provider.script(fails(400, "so\n\r\x1b[31m" + "long " * 5000))
        said = failure(provider.profile())
        assert len(said) < 700
        assert said.isprintable()

    def test_lone_surrogates_in_a_question_arrive(self, provider: Provider) -> None:
        ask(provider.profile(), QUESTION.but(messages=({"role": "user", "content": "\ud800 é"},)))
        assert provider.asked[0].user == ["\ud800 é"]


class TestErrors:
    @pytest.mark.parametrize("wire", WIRES)
    def test_a_key_that_is_refused(self, provider: Provider, wire: str) -> None:
        provider.script(fails(401, "invalid x-api-key"))
        said = failure(provider.profile(wire))
        assert "HTTP 401: invalid x-api-key" in said
        assert "refuses the key of models.fast: look at the variable KEY" in said

    def test_a_key_that_is_missing(self, provider: Provider) -> None:
        provider.script(fails(401))
        assert "wants a key, and models.fast has none" in failure(provider.profile(api_key=""))

    def test_a_model_that_nobody_knows(self, provider: Provider) -> None:
        provider.script(fails(404, "no such model"))
        assert "look at `model` and `base_url` of models.fast" in failure(provider.profile())

    @pytest.mark.parametrize("wire", WIRES)
    @pytest.mark.parametrize("status", [400, 401, 403, 429, 500])
    def test_the_key_is_never_shown(self, provider: Provider, wire: str, status: int) -> None:
        provider.script(fails(status, "look", echo_key=True, Retry_After="0"))
        said = failure(provider.profile(wire))
        assert "look: ***" in said
        pieces = [KEY[start : start + 8] for start in range(len(KEY) - 7)]
        assert [piece for piece in pieces if piece.lower() in said.lower()] == []

    @pytest.mark.parametrize(
        "body",
        [
            f"{KEY}",
            f'{{"error": "{KEY.upper()}"}}',
            f'[{{"error": {{"message": "a {KEY} b"}}}}]',
            f'{{"detail": "{KEY}"}}',
        ],
        ids=["bare", "upper case", "in a list", "another shape"],
    )
    def test_whatever_the_shape_of_the_error(self, provider: Provider, body: str) -> None:
        provider.script(raw(body.encode(), 400))
        said = failure(provider.profile())
        assert KEY.lower() not in said.lower()
        assert "***" in said

    @pytest.mark.parametrize("base_url", ["ftp://h/v1", "http://", "http://[::1", "nonsense", "http://h:99999999/"])
    def test_an_address_that_is_none(self, base_url: str) -> None:
        assert "`base_url`" in failure(Profile(name="x", provider="openai", model="m", base_url=base_url, api_key=KEY))

    def test_a_provider_that_is_none(self) -> None:
        assert "no provider is called 'nobody'" in failure(
            Profile(name="x", provider="nobody", model="m", base_url="http://h", api_key="")
        )

    def test_a_server_of_another_kind(self, provider: Provider) -> None:
        provider.script(raw(b'{"hello": "world"}'))
        assert "check that `provider` and `base_url` belong together" in failure(provider.profile())

    def test_without_the_library_the_error_says_what_to_install(self) -> None:
        code = """
import sys, time
sys.modules["httpx2"] = None
from fairlead.models import asking
from fairlead.models.records import ModelFailed, Profile, Question
profile = Profile(name="x", provider="openai", model="m", base_url="http://127.0.0.1:9", api_key="")
try:
    asking.ask(profile, Question(system="", messages=()), time.monotonic() + 5)
except ModelFailed as error:
    print(error)
"""
        done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=90, check=True)
        assert 'pip install "fairlead[models]"' in done.stdout


class TestTheWayThere:
    def test_a_proxy_sees_nothing_of_what_goes_to_this_machine(
        self, provider: Provider, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        with Provider(says("I listen")) as listener:
            for name in ("HTTP_PROXY", "http_proxy", "ALL_PROXY", "all_proxy"):
                monkeypatch.setenv(name, listener.address)
            assert ask(provider.profile()).text == '{"ok": true}'
            assert listener.asked == []

    def test_a_proxy_of_the_environment_is_used_for_the_rest(
        self, provider: Provider, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        _only_proxy(monkeypatch, provider.address)
        assert ask(provider.profile(base_url="http://models.invalid/v1", api_key="")).text == '{"ok": true}'
        assert provider.asked[0].path == "http://models.invalid/v1/chat/completions"

    def test_unless_no_proxy_says_otherwise(self, provider: Provider, monkeypatch: pytest.MonkeyPatch) -> None:
        _only_proxy(monkeypatch, provider.address)
        monkeypatch.setenv("no_proxy", "models.invalid")
        monkeypatch.setattr("socket.getaddrinfo", _unknown_host)
        assert "cannot be reached" in failure(provider.profile(base_url="http://models.invalid/v1", api_key=""))
        assert provider.asked == []

    def test_a_certificate_that_proves_nothing_is_not_accepted(self, tmp_path: Path) -> None:
        with Provider(says("I am not who I claim to be")) as impostor:
            impostor.speak_tls(_self_signed(tmp_path))
            said = failure(impostor.profile(base_url=f"{impostor.address.replace('http:', 'https:')}/v1"))
            assert "cannot prove who it is" in said
            assert impostor.asked == []


def _only_proxy(monkeypatch: pytest.MonkeyPatch, address: str) -> None:
    for name in ("HTTPS_PROXY", "https_proxy", "ALL_PROXY", "all_proxy", "NO_PROXY", "no_proxy", "HTTP_PROXY"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("http_proxy", address)


def _unknown_host(*_arguments: Any, **_named: Any) -> Any:
    raise OSError(-2, "Name or service not known")


def _self_signed(folder: Path) -> ssl.SSLContext:
    from cryptography import x509
    from cryptography.hazmat.primitives import hashes, serialization
    from cryptography.hazmat.primitives.asymmetric import ec
    from cryptography.x509.oid import NameOID

    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "127.0.0.1")])
    now = dt.datetime.now(dt.UTC)
    certificate = (
        x509.CertificateBuilder(name, name, key.public_key(), x509.random_serial_number())
        .not_valid_before(now - dt.timedelta(days=1))
        .not_valid_after(now + dt.timedelta(days=1))
        .sign(key, hashes.SHA256())
    )
    pem = serialization.Encoding.PEM
    private = key.private_bytes(pem, serialization.PrivateFormat.PKCS8, serialization.NoEncryption())
    (folder / "both.pem").write_bytes(private + certificate.public_bytes(pem))
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(folder / "both.pem")
    return context
