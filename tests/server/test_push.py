"""Web Push: what leaves the server, for whom, and what a notification may decide."""

from __future__ import annotations

import asyncio
import json
import sqlite3
import ssl
import stat
import subprocess
import sys
import time
from collections.abc import Awaitable, Callable, Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import http_ece
import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat, PublicFormat
from hypothesis import given
from hypothesis import strategies as st

from fairlead.server import notices, push
from fairlead.server.push import Book, Message, Sender, Subscription, Undelivered, decoded, encoded
from fairlead.server.records import Interaction, Refused, Run
from fairlead.server.telling import Job, Lane, waiting_time
from tests.server.browser import Agent
from tests.server.push_service import Browser, PushService, signed_by
from tests.server.service import Reply, Service


@pytest.fixture
def pushes() -> Iterator[PushService]:
    found = PushService()
    yield found
    found.close()


Start = Callable[..., Service]


@pytest.fixture
def start(tmp_path: Path) -> Iterator[Start]:
    """Starts a server in the same home, again and again if a test likes."""
    running: list[Service] = []

    def begin(*options: str) -> Service:
        for one in running:
            one.close()
        running[:] = [Service(tmp_path, "--push-local", *options)]
        return running[0]

    yield begin
    for one in running:
        one.close()


@pytest.fixture
def service(start: Start) -> Service:
    return start()


@pytest.fixture
def agent(service: Service) -> Iterator[Agent]:
    found = Agent(service, agent="claude-code", project="/work/shop")
    yield found
    found.close()


class Page:
    """The page of one person, as far as the server can see."""

    def __init__(self, service: Service, name: str = "") -> None:
        self._service = service
        self.cookie = service.new_session(name)

    def call(self, method: str, path: str, fields: object = None) -> Reply:
        headers = {**self._service.as_page(), "Cookie": self.cookie, "Content-Type": "application/json"}
        return self._service.send(method, path, headers, b"" if fields is None else json.dumps(fields).encode())

    def turns_on(self, browser: Browser) -> None:
        assert self.call("POST", "/api/push", browser.subscription).status == 201

    def browsers(self) -> int:
        found: int = self.call("GET", "/api/push").json["browsers"]
        return found


# --- one message -----------------------------------------------------------------------------------


def test_the_example_of_the_standard_comes_out_as_it_is_printed_there() -> None:
    secret = decoded("yfWPiYE-n46HLnH0KqZOF1fJJU3MYrct3AELtAQ-oRw")
    key = ec.derive_private_key(int.from_bytes(secret, "big"), ec.SECP256R1())
    found = push.encrypt(
        b"When I grow up, I want to be a watermelon",
        decoded("BCVxsr7N_eNgVRqvHtD0zTZsEc6-VV-JvLexhqUzORcxaOzi6-AYWXvTBHm4bjyPjs7Vd8pZGH6SRpkNtoIAiw4"),
        decoded("BTBZMqHH6r4Tts7J_aSIgg"),
        key=key,
        salt=decoded("DGv6ra1nlYgDCS1FRnbzlw"),
    )
    assert encoded(found) == (
        "DGv6ra1nlYgDCS1FRnbzlwAAEABBBP4z9KsN6nGRTbVYI_c7VJSPQTBtkgcy27mlmlMoZIIgDll6e3vCYLocInmYWAmS6Tlz"
        "AC8wEqKK6PBru3jl7A_yl95bQpu6cVPTpK4Mqgkf1CXztLVBSt2Ks3oZwbuwXPXLWyouBWLVWGNWQexSgSxsj_Qulcy4a-fN"
    )


@given(st.binary(max_size=push.LARGEST), st.binary(min_size=16, max_size=16))
def test_another_implementation_reads_whatever_is_encrypted(text: bytes, auth: bytes) -> None:
    key = ec.generate_private_key(ec.SECP256R1())
    point = key.public_key().public_bytes(Encoding.X962, PublicFormat.UncompressedPoint)
    sealed = push.encrypt(text, point, auth)
    assert len(sealed) <= 4096
    assert http_ece.decrypt(sealed, private_key=key, auth_secret=auth, version="aes128gcm") == text


def test_no_two_messages_are_encrypted_alike() -> None:
    key = ec.generate_private_key(ec.SECP256R1())
    point = key.public_key().public_bytes(Encoding.X962, PublicFormat.UncompressedPoint)
    assert len({push.encrypt(b"x", point, bytes(16))[:86] for _ in range(20)}) == 20


def test_a_message_is_signed_for_this_service_and_says_how_long_it_lives(
    pushes: PushService, service: Service, agent: Agent
) -> None:
    page, browser = Page(service), Browser(pushes, "one")
    page.turns_on(browser)
    agent.runs("ls")
    (request,) = pushes.wait(1)
    key, claims = signed_by(request)
    assert key == page.call("GET", "/api/push").json["public_key"]
    assert claims["aud"] == pushes.address
    assert time.time() < claims["exp"] <= time.time() + 24 * 3600
    assert claims["sub"].startswith("mailto:")
    assert 0 < int(request.headers["ttl"]) <= 3600
    assert request.headers["urgency"] == "high"
    assert request.headers["topic"] == browser.reads(request)["id"]


# --- where it may go ---------------------------------------------------------------------------------

KEYS = {
    "p256dh": "BCVxsr7N_eNgVRqvHtD0zTZsEc6-VV-JvLexhqUzORcxaOzi6-AYWXvTBHm4bjyPjs7Vd8pZGH6SRpkNtoIAiw4",
    "auth": "BTBZMqHH6r4Tts7J_aSIgg",
}
GOOD = "https://fcm.googleapis.com/fcm/send/abc:DEF-123"
WRONG: dict[str, Any] = {
    "nothing": {},
    "no keys": {"endpoint": GOOD},
    "keys that are no object": {"endpoint": GOOD, "keys": "x"},
    "an endpoint that is no text": {"endpoint": 1, "keys": KEYS},
    "no point": {"endpoint": GOOD, "keys": {**KEYS, "p256dh": encoded(b"\x04" + bytes(64))}},
    "a point of another form": {"endpoint": GOOD, "keys": {**KEYS, "p256dh": encoded(b"\x02" + bytes(32))}},
    "a short secret": {"endpoint": GOOD, "keys": {**KEYS, "auth": encoded(bytes(15))}},
    "no base64": {"endpoint": GOOD, "keys": {**KEYS, "auth": "öäü!"}},
    "a number for a key": {"endpoint": GOOD, "keys": {**KEYS, "auth": 7}},
}
FORBIDDEN = [
    "http://fcm.googleapis.com/x",
    "ftp://fcm.googleapis.com/x",
    "file:///etc/passwd",
    "fcm.googleapis.com/x",
    "https://",
    "https:///x",
    "https://127.0.0.1/x",
    "https://127.1.2.3:8737/api/interactions",
    "https://[::1]/x",
    "https://[::ffff:127.0.0.1]/x",
    "https://10.0.0.8/x",
    "https://172.16.0.1/x",
    "https://192.168.1.1/x",
    "https://169.254.169.254/latest/meta-data",
    "https://100.64.0.1/x",
    "https://0.0.0.0/x",
    "https://224.0.0.1/x",
    "https://[fe80::1]/x",
    "https://[fc00::1]/x",
    "https://name:word@fcm.googleapis.com/x",
    "https://fcm.googleapis.com/x#y",
    "https://fcm.googleapis.com:99999/x",
    "https://fcm.googleapis.com\\@127.0.0.1/x",
    "https://fcm.googleapis.com/x\r\nHost: other",
    "https://fcm.googleapis.com/a b",
    "https://fcm.googleapis.com/ö",
    "https://[::1/x",
    "https://fcm.googleapis.com/" + "x" * 2048,
]


def read(fields: Any) -> Subscription:
    return push.read_subscription(fields, person="ann", login="hash", local=False)


def test_what_a_browser_gives_is_kept_as_it_is() -> None:
    found = read({"endpoint": GOOD, "expirationTime": None, "keys": KEYS})
    assert (found.endpoint, found.person, found.login) == (GOOD, "ann", "hash")
    assert (encoded(found.p256dh), encoded(found.auth)) == (KEYS["p256dh"], KEYS["auth"])


@pytest.mark.parametrize("fields", WRONG.values(), ids=WRONG)
def test_what_is_no_subscription_is_refused(fields: Any) -> None:
    with pytest.raises(Refused) as refused:
        read(fields)
    assert refused.value.status == 400


@pytest.mark.parametrize("endpoint", FORBIDDEN, ids=lambda text: text[:50])
def test_only_push_services_of_the_world_are_written_to(endpoint: str) -> None:
    with pytest.raises(Refused) as refused:
        read({"endpoint": endpoint, "keys": KEYS})
    assert refused.value.status == 400


def at(endpoint: str) -> Subscription:
    given_keys = {name: decoded(value) for name, value in KEYS.items()}
    return Subscription(endpoint=endpoint, person="ann", login="hash", created_at=0.0, **given_keys)


def sender(*, local: bool = False) -> Sender:
    return Sender(ec.generate_private_key(ec.SECP256R1()), "mailto:x@example.com", local=local)


async def test_a_name_that_means_this_machine_is_not_connected_to(pushes: PushService) -> None:
    port = pushes.address.rpartition(":")[2]
    with pytest.raises(Undelivered) as problem:
        await sender().send(at(f"https://localhost:{port}/x"), Message(text=b"x", lives=1))
    assert "private network" in str(problem.value)
    assert not problem.value.again
    assert pushes.taken == []


async def test_what_was_accepted_under_other_settings_is_looked_at_again(pushes: PushService) -> None:
    with pytest.raises(Undelivered) as problem:
        await sender().send(at(f"{pushes.address}/x"), Message(text=b"x", lives=1))
    assert problem.value.gone
    assert pushes.taken == []


async def problem_of(sending: Awaitable[None]) -> Undelivered | None:
    try:
        await sending
    except Undelivered as problem:
        return problem
    return None


STATUSES = {
    201: (True, False, False),
    200: (True, False, False),
    301: (False, False, False),
    400: (False, False, False),
    403: (False, False, False),
    404: (False, False, True),
    410: (False, False, True),
    413: (False, False, False),
    429: (False, True, False),
    500: (False, True, False),
    503: (False, True, False),
}


@pytest.mark.parametrize(("status", "meant"), STATUSES.items(), ids=str)
async def test_each_answer_of_a_service_means_what_the_standard_says(
    pushes: PushService, status: int, meant: tuple[bool, bool, bool]
) -> None:
    pushes.answers["/x"] = [(status, {"Retry-After": "7", "Location": f"{pushes.address}/elsewhere"})]
    problem = await problem_of(sender(local=True).send(at(f"{pushes.address}/x"), Message(text=b"x", lives=1)))
    found = (problem is None, bool(problem and problem.again), bool(problem and problem.gone))
    assert problem is None or problem.after == 7
    assert "/x" not in str(problem)  # the path of an endpoint is a secret
    assert found == meant
    assert [one.path for one in pushes.taken] == ["/x"]  # no answer leads us elsewhere


async def test_a_service_that_is_not_there_or_speaks_nonsense_may_be_tried_again() -> None:
    async def nonsense(_reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.write(b"nonsense\r\n\r\n")
        writer.close()

    server = await asyncio.start_server(nonsense, "127.0.0.1", 0)
    port = server.sockets[0].getsockname()[1]
    message = Message(text=b"x", lives=1)
    with pytest.raises(Undelivered) as problem:
        await sender(local=True).send(at(f"http://127.0.0.1:{port}/x"), message)
    assert problem.value.again
    server.close()
    with pytest.raises(Undelivered) as problem:
        await sender(local=True).send(at(f"http://127.0.0.1:{port}/x"), message)
    assert problem.value.again


def certificate(folder: Path) -> tuple[str, str]:
    """For localhost, signed by nobody but itself."""
    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, "localhost")])
    now = datetime.now(UTC)
    made = (
        x509.CertificateBuilder()
        .subject_name(name)
        .issuer_name(name)
        .public_key(key.public_key())
        .serial_number(1)
        .not_valid_before(now - timedelta(days=1))
        .not_valid_after(now + timedelta(days=1))
        .add_extension(x509.SubjectAlternativeName([x509.DNSName("localhost")]), critical=False)
        .sign(key, hashes.SHA256())
    )
    (folder / "certificate.pem").write_bytes(made.public_bytes(Encoding.PEM))
    (folder / "key.pem").write_bytes(key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption()))
    return str(folder / "certificate.pem"), str(folder / "key.pem")


async def test_a_service_must_prove_its_name(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    async def accept(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readuntil(b"\r\n\r\n")
        writer.write(b"HTTP/1.1 201 Created\r\n\r\n")
        await writer.drain()
        writer.close()

    file, key = certificate(tmp_path)
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(file, key)
    server = await asyncio.start_server(accept, "localhost", 0, ssl=context)
    port = server.sockets[0].getsockname()[1]
    there, message = at(f"https://localhost:{port}/x"), Message(text=b"x", lives=1)
    problem = await problem_of(sender(local=True).send(there, message))
    assert problem is not None
    assert "SSLCertVerificationError" in str(problem)
    monkeypatch.setenv("SSL_CERT_FILE", file)
    assert await problem_of(sender(local=True).send(there, message)) is None
    problem = await problem_of(sender(local=True).send(at(f"https://127.0.0.1:{port}/x"), message))
    assert problem is not None  # the certificate is for another name
    server.close()


# --- what is kept ------------------------------------------------------------------------------------


def test_the_file_is_for_its_owner_alone(tmp_path: Path) -> None:
    Book(str(tmp_path)).key()
    assert {stat.S_IMODE(path.stat().st_mode) for path in tmp_path.iterdir()} == {0o600}


def test_processes_that_begin_together_get_the_same_key(tmp_path: Path) -> None:
    code = (
        "import sys; from fairlead.server.push import Book, Sender;"
        "print(Sender(Book(sys.argv[1]).key(), 'x').public_key)"
    )
    begun = [
        subprocess.Popen([sys.executable, "-c", code, str(tmp_path)], stdout=subprocess.PIPE, text=True)
        for _ in range(4)
    ]
    said = {process.communicate()[0] for process in begun}
    assert len(said) == 1
    assert Sender(Book(str(tmp_path)).key(), "x").public_key == said.pop().strip()


def test_a_link_in_place_of_the_file_is_not_followed(tmp_path: Path) -> None:
    (tmp_path / "push.db").symlink_to(tmp_path / "elsewhere")
    with pytest.raises(OSError, match=r"symbolic link|Too many levels"):
        Book(str(tmp_path))
    assert not (tmp_path / "elsewhere").exists()


def test_a_person_keeps_the_twenty_browsers_that_came_last(tmp_path: Path) -> None:
    book = Book(str(tmp_path))
    book.add(at("https://b.example/other").but(person="bob"))
    for number in range(push.MOST_OF_ONE_PERSON + 5):
        book.add(at(f"https://a.example/{number}").but(created_at=float(number)))
    kept = [one.endpoint.rpartition("/")[2] for one in book.all() if one.person == "ann"]
    assert kept == [str(number) for number in range(5, 25)]
    assert [one.endpoint for one in book.all() if one.person == "bob"] == ["https://b.example/other"]


def test_a_browser_belongs_to_who_logged_in_last(tmp_path: Path) -> None:
    book = Book(str(tmp_path))
    book.add(at("https://a.example/1"))
    book.add(at("https://a.example/1").but(person="bob"))
    assert [one.person for one in book.all()] == ["bob"]
    book.remove("https://a.example/1")
    assert book.all() == []


# --- what a notification says ------------------------------------------------------------------------

RUN = Run(id="run", agent="claude-code", project="/work/shop", created_at=0.0)


def question(payload: Any, *, tool: str = "Bash", kind: str = "approval", **more: Any) -> Interaction:
    body = json.dumps({"payload": payload, **more}).encode()
    return Interaction(
        id="a" * 32, run_id="run", request_id="1", kind=kind, tool=tool, body=body, digest="d", created_at=0.0,
        expires_at=time.time() + 60,
    )  # fmt: skip


WHOLE: dict[str, Interaction] = {
    "a command": question({"command": "git push origin main"}),
    "what the agent says about it": question({"command": "ls", "description": "look"}),
    "as long as it may be": question({"command": "x" * notices.WHOLE}),
    "in the project": question({"command": "ls"}, cwd="/work/shop/"),
    "with signs": question({"command": "a | b > c; $(d) `e` && rm -rf /"}),
    "of another shell": question({"command": "ls"}, tool="PowerShell"),
}
NOT_WHOLE: dict[str, Interaction] = {
    "too long": question({"command": "x" * (notices.WHOLE + 1)}),
    "two lines": question({"command": "ls\nrm -rf /"}),
    "a return": question({"command": "ls\rrm -rf /"}),
    "a tab": question({"command": "ls\trm"}),
    "a run of blanks": question({"command": "ls  rm -rf /"}),
    "a blank before": question({"command": " ls"}),
    "a blank behind": question({"command": "ls "}),
    "nothing": question({"command": ""}),
    "an invisible character": question({"command": "ls\u200b"}),
    "another direction": question({"command": "ls \u202egnp.exe"}),
    "a letter of another alphabet": question({"command": "ls /usr/l\u043ecal"}),
    "no break": question({"command": "ls\u00a0-l"}),
    "a further field": question({"command": "ls", "timeout": 5}),
    "out of the sandbox": question({"command": "ls", "dangerouslyDisableSandbox": True}),
    "another folder": question({"command": "rm -rf build"}, cwd="/home/ann"),
    "another tool": question({"command": "ls"}, tool="mcp__x__run"),
    "an edit": question({"file_path": "/x", "old_string": "a", "new_string": "b"}, tool="Edit"),
    "a question to a person": question({"command": "ls"}, kind="input"),
    "no text": question({"command": ["ls"]}),
    "no object": question("ls"),
}


@pytest.mark.parametrize("asked", WHOLE.values(), ids=WHOLE)
def test_allow_is_offered_where_all_of_what_runs_is_shown(asked: Interaction) -> None:
    found = notices.notice(asked, RUN, details=True)
    assert found.whole
    assert found.detail == json.loads(asked.body)["payload"]["command"]


@pytest.mark.parametrize("asked", NOT_WHOLE.values(), ids=NOT_WHOLE)
def test_allow_is_not_offered_where_something_would_not_be_seen(asked: Interaction) -> None:
    assert not notices.notice(asked, RUN, details=True).whole


@pytest.mark.parametrize("asked", WHOLE.values(), ids=WHOLE)
def test_without_details_nothing_of_the_content_is_told_and_allow_is_not_offered(asked: Interaction) -> None:
    found = notices.notice(asked, RUN, details=False)
    assert (found.detail, found.whole) == ("", False)
    told = json.loads(notices.opening(found).text)
    assert told.keys() == {"kind", "id", "digest", "tool", "where", "detail", "whole", "expires_at"}
    assert (told["tool"], told["where"], told["detail"]) == (asked.tool, "claude-code in shop", "")


@given(
    st.text(st.characters(exclude_categories=[]), max_size=200),
    st.dictionaries(st.text(max_size=12), st.none() | st.text(max_size=9), max_size=2),
)
def test_whatever_is_asked_allow_is_only_about_exactly_what_is_shown(command: str, more: dict[str, Any]) -> None:
    asked = question({**more, "command": command})
    found = notices.notice(asked, RUN, details=True)
    told = json.loads(notices.opening(found).text)
    assert len(notices.opening(found).text) <= push.LARGEST
    if told["whole"]:
        assert told["detail"] == command
        assert command.isascii()
        assert command.isprintable()
        assert len(command) <= notices.WHOLE
        assert more.keys() <= {"command", "description"}


@given(st.text(st.characters(exclude_categories=[])), st.text(st.characters(exclude_categories=[])))
def test_names_of_any_length_and_letters_fit_into_a_message(tool: str, agent: str) -> None:
    run = RUN.but(agent=agent * 50, project="/" + agent * 50)
    asked = question({"command": agent * 50}).but(tool=tool * 50 or "x")
    assert len(notices.opening(notices.notice(asked, run, details=True)).text) <= push.LARGEST


def test_the_length_of_a_message_tells_little() -> None:
    sizes = {
        len(notices.opening(notices.notice(question({"command": "x" * length}), RUN, details=True)).text)
        for length in range(notices.WHOLE)
    }
    assert len(sizes) == 1


# --- lanes -------------------------------------------------------------------------------------------


class Place:
    """Where a lane delivers; each delivery waits until a test lets it go."""

    def __init__(self) -> None:
        self.got: list[list[str]] = []
        self.begun = asyncio.Queue[list[str]]()
        self.outcome = asyncio.Queue[float | None]()

    async def deliver(self, jobs: Any, _tries: int) -> float | None:
        names = [f"{job.key}{'' if job.notice else ' over'}" for job in jobs]
        self.begun.put_nowait(names)
        result = await self.outcome.get()
        if result is None:
            self.got.append(names)
        return result


def job(key: str) -> Job:
    notice = notices.notice(question({}), RUN, details=False)
    return Job(key=key, until=time.monotonic() + 600, notice=notice)


def over(key: str) -> Job:
    return Job(key=key, until=time.monotonic() + 600)


async def settle(lane: Lane) -> None:
    task = lane._task
    if task is not None:
        await task


async def test_a_lane_delivers_in_order_and_tries_again() -> None:
    place = Place()
    lane = Lane(place.deliver)
    for outcome in (0.0, 0.0, None, None):
        place.outcome.put_nowait(outcome)
    lane.put(job("a"))
    lane.put(job("b"))
    await settle(lane)
    assert place.got == [["a"], ["b"]]
    assert place.begun.qsize() == 4


async def test_what_is_over_before_it_was_sent_is_never_sent() -> None:
    place = Place()
    lane = Lane(place.deliver)
    lane.put(job("a"))
    lane.put(job("b"))
    assert await place.begun.get() == ["a"]
    lane.over(over("b"), "b")
    place.outcome.put_nowait(None)
    await settle(lane)
    assert place.got == [["a"]]


async def test_what_is_over_while_it_is_sent_is_taken_back_after_it() -> None:
    place = Place()
    lane = Lane(place.deliver)
    lane.put(job("a"))
    await place.begun.get()
    lane.over(over("a"), "a")
    for _ in range(2):
        place.outcome.put_nowait(None)
    await settle(lane)
    assert place.got == [["a"], ["a over"]]


async def test_what_was_sent_is_taken_back_once() -> None:
    place = Place()
    lane = Lane(place.deliver)
    for _ in range(3):
        place.outcome.put_nowait(None)
    lane.put(job("a"))
    await settle(lane)
    lane.over(over("a"), "a")
    await settle(lane)
    lane.over(over("a"), "a")
    await settle(lane)
    assert place.got == [["a"], ["a over"]]


async def test_a_lane_that_does_not_move_does_not_grow() -> None:
    place = Place()
    lane = Lane(place.deliver)
    for number in range(1000):
        lane.put(job(str(number)))
    await place.begun.get()
    assert len(lane._wanted) == 100
    assert lane.dropped == 900
    lane.stop()


async def test_what_has_expired_is_not_delivered() -> None:
    place = Place()
    lane = Lane(place.deliver)
    lane.put(job("a").but(until=time.monotonic() - 1))
    await settle(lane)
    assert place.got == []


def test_waiting_grows_has_an_end_and_heeds_what_is_asked() -> None:
    assert 0.5 <= waiting_time(0) <= 1
    assert 30 <= waiting_time(50) <= 60
    assert waiting_time(0, 20.0) == 20
    assert waiting_time(0, 1e9) <= 60


# --- a server and a push service ---------------------------------------------------------------------


def test_a_question_is_told_and_its_end_too(pushes: PushService, service: Service, agent: Agent) -> None:
    page, browser = Page(service), Browser(pushes, "phone")
    page.turns_on(browser)
    asked = agent.runs("echo the-secret-command")
    (told,) = browser.gets(1)
    assert (told["kind"], told["tool"], told["where"]) == ("question", "Bash", "claude-code in shop")
    assert "the-secret-command" not in json.dumps(told)
    answer = {"decision": "block", "digest": told["digest"]}
    assert page.call("POST", f"/api/interactions/{told['id']}/answer", answer).status == 200
    assert asked.told()["decision"] == "block"
    assert browser.gets(2)[1] == {"kind": "over", "id": told["id"]}


def test_with_details_the_command_is_told(pushes: PushService, start: Start) -> None:
    service = start("--push-details")
    browser = Browser(pushes, "phone")
    Page(service).turns_on(browser)
    agent = Agent(service)
    agent.runs("git push")
    (told,) = browser.gets(1)
    assert (told["detail"], told["whole"]) == ("git push", True)
    agent.close()


def test_who_may_not_decide_is_not_told(pushes: PushService, service: Service, agent: Agent) -> None:
    ann, bob = Browser(pushes, "ann"), Browser(pushes, "bob")
    Page(service, "ann").turns_on(ann)
    Page(service, "bob").turns_on(bob)
    agent.runs("first", approvers=["ann"])
    agent.runs("second")
    ids = [told["id"] for told in ann.gets(2)]
    assert [told["id"] for told in bob.gets(1)] == ids[1:]


def test_who_is_asked_later_is_told_then(pushes: PushService, service: Service, agent: Agent) -> None:
    ann, bob = Browser(pushes, "ann"), Browser(pushes, "bob")
    Page(service, "ann").turns_on(ann)
    Page(service, "bob").turns_on(bob)
    agent.runs("ls", approvers=["ann"], escalate_after=1, escalate_to=["bob"])
    first = ann.gets(1)[0]
    assert [told["id"] for told in bob.gets(1)] == [first["id"]]
    (item,) = service.whole()
    assert item["escalated"]


def test_after_a_restart_the_key_and_the_browsers_are_the_same_and_what_waits_is_told_again(
    pushes: PushService, start: Start
) -> None:
    service = start("--push-details")
    browser = Browser(pushes, "phone")
    Page(service).turns_on(browser)
    agent = Agent(service)
    agent.runs("ls")
    browser.gets(1)
    agent.close()
    start("--push-details")
    first, second = browser.gets(2)
    assert first == second
    assert (first["detail"], first["whole"]) == ("ls", True)
    assert len({signed_by(request)[0] for request in pushes.taken}) == 1


@pytest.mark.parametrize("status", [404, 410])
def test_a_browser_that_wants_no_more_is_forgotten(
    pushes: PushService, service: Service, agent: Agent, status: int
) -> None:
    page, gone, other = Page(service), Browser(pushes, "gone"), Browser(pushes, "other")
    page.turns_on(gone)
    page.turns_on(other)
    pushes.answers[gone.path] = [(status, {})]
    agent.runs("first")
    pushes.wait(1, gone.path)
    other.gets(1)
    wait_until(lambda: page.browsers() == 1)
    agent.runs("second")
    other.gets(2)
    assert len(pushes.at(gone.path)) == 1
    assert page.call("GET", "/api/push").json["trouble"] == ""


def test_a_service_in_trouble_is_tried_again_and_the_trouble_is_said_and_over(
    pushes: PushService, service: Service, agent: Agent
) -> None:
    page, browser = Page(service), Browser(pushes, "phone")
    page.turns_on(browser)
    held = pushes.hold(browser.path)
    pushes.answers[browser.path] = [(503, {})]
    agent.runs("ls")
    pushes.wait(1)
    held.set()
    wait_until(lambda: len(pushes.at(browser.path)) == 2)
    wait_until(lambda: page.call("GET", "/api/me").json["untold"] == "")
    assert "127.0.0.1 answered 503" in service.log.read_text()
    assert browser.path not in service.log.read_text()
    status = json.loads((service.folder / "notifications.json").read_text())
    assert status["troubles"] == []


def test_a_push_service_that_never_answers_keeps_nobody_waiting(
    pushes: PushService, service: Service, agent: Agent
) -> None:
    page, slow, quick = Page(service), Browser(pushes, "slow"), Browser(pushes, "quick")
    page.turns_on(slow)
    page.turns_on(quick)
    held = pushes.hold(slow.path)
    for number in range(5):
        asked = agent.runs(f"command {number}")
        told = quick.gets(2 * number + 1)[-1]
        answer = {"decision": "allow", "digest": told["digest"]}
        assert page.call("POST", f"/api/interactions/{told['id']}/answer", answer).status == 200
        assert asked.told() == {"decision": "allow"}
        quick.gets(2 * number + 2)
    held.set()


def test_who_is_logged_out_is_told_no_more(pushes: PushService, service: Service, agent: Agent) -> None:
    left, stays = Browser(pushes, "left"), Browser(pushes, "stays")
    page = Page(service)
    page.turns_on(left)
    Page(service).turns_on(stays)
    assert page.call("POST", "/api/logout").status == 200
    agent.runs("ls")
    stays.gets(1)
    wait_until(lambda: Page(service).browsers() == 1)
    assert pushes.at(left.path) == []


def test_apple_s_browsers_are_sent_nothing_that_shows_nothing() -> None:
    from fairlead.server.telling import _may_be_silent

    assert not _may_be_silent("https://web.push.apple.com/abc")
    assert _may_be_silent("https://fcm.googleapis.com/fcm/send/abc")
    assert _may_be_silent("https://push.apple.com.example.net/abc")


def test_a_trial_message_arrives_or_its_problem_does(pushes: PushService, service: Service) -> None:
    page, browser = Page(service), Browser(pushes, "phone")
    named = {"endpoint": browser.endpoint}
    assert page.call("POST", "/api/push/trial", named).status == 404
    page.turns_on(browser)
    assert page.call("POST", "/api/push/trial", named).status == 200
    assert browser.gets(1)[0]["kind"] == "trial"
    pushes.answers[browser.path] = [(500, {})]
    refused = page.call("POST", "/api/push/trial", named)
    assert (refused.status, refused.json["error"]["code"]) == (409, "undelivered")
    assert page.call("POST", "/api/push/end", named).json == {"browsers": 0}
    assert page.call("POST", "/api/push/end", named).status == 404


def test_nobody_turns_off_or_tries_the_browser_of_another(pushes: PushService, service: Service) -> None:
    browser = Browser(pushes, "ann")
    Page(service, "ann").turns_on(browser)
    other = Page(service, "bob")
    for path in ("/api/push/end", "/api/push/trial"):
        assert other.call("POST", path, {"endpoint": browser.endpoint}).status == 404
    assert pushes.taken == []


def test_only_a_browser_that_is_logged_in_can_be_told(pushes: PushService, service: Service, agent: Agent) -> None:
    subscription = Browser(pushes, "x").subscription
    assert service.call("POST", "/api/push", subscription).status == 403
    assert service.call("POST", "/api/push", subscription, key=agent._key).status == 403
    headers = {"Host": service.host, "Content-Type": "application/json"}
    assert service.send("POST", "/api/push", headers, json.dumps(subscription).encode()).status == 401
    foreign = {
        **headers,
        "Cookie": service.new_session(),
        "Origin": "http://evil.example",
        "Sec-Fetch-Site": "same-site",
    }
    assert service.send("POST", "/api/push", foreign, json.dumps(subscription).encode()).status == 403


def test_without_the_flag_of_the_tests_this_machine_is_no_push_service(tmp_path: Path, pushes: PushService) -> None:
    service = Service(tmp_path)
    try:
        assert Page(service).call("POST", "/api/push", Browser(pushes, "x").subscription).status == 400
    finally:
        service.close()


def test_a_broken_file_of_the_browsers_stops_no_approval_and_is_said(tmp_path: Path) -> None:
    folder = tmp_path / "state" / "fairlead"
    folder.mkdir(parents=True)
    (folder / "push.db").write_bytes(b"this is no database, and never was one" * 50)
    service = Service(tmp_path)
    try:
        agent = Agent(service)
        asked = agent.runs("ls")
        (item,) = service.whole()
        answer = {"decision": "allow", "digest": item["digest"]}
        assert service.call("POST", f"/api/interactions/{item['id']}/answer", answer).status == 200
        assert asked.told() == {"decision": "allow"}
        agent.close()
        about = service.call("GET", "/api/push").json
        assert not about["available"]
        assert "cannot be used" in about["why_not"]
        assert "cannot be used" in service.call("GET", "/api/me").json["untold"]
        assert Page(service).call("POST", "/api/push", {"endpoint": GOOD, "keys": KEYS}).status == 409
    finally:
        service.close()


def test_without_the_extra_the_page_says_what_to_install(tmp_path: Path) -> None:
    shadow = tmp_path / "shadow" / "cryptography"
    shadow.mkdir(parents=True)
    (shadow / "__init__.py").write_text("raise ImportError('not here')\n")
    home = tmp_path / "home"
    home.mkdir()
    service = Service(home, environ={"PYTHONPATH": str(shadow.parent)})
    try:
        about = service.call("GET", "/api/push").json
        assert not about["available"]
        assert "fairlead[push]" in about["why_not"]
    finally:
        service.close()


def test_the_files_of_a_running_server_are_for_its_owner_alone(pushes: PushService, service: Service) -> None:
    Page(service).turns_on(Browser(pushes, "phone"))
    modes = {path.name: stat.S_IMODE(path.stat().st_mode) for path in service.folder.iterdir()}
    assert {mode for name, mode in modes.items() if name.startswith("push")} == {0o600}
    with sqlite3.connect(service.folder / "push.db") as book:
        ((secret,),) = book.execute("SELECT secret FROM own").fetchall()
    book.close()
    assert len(secret) == 32
    assert encoded(secret) not in service.log.read_text()


def wait_until(true: Callable[[], bool]) -> None:
    """The test's own limit ends it where this never comes."""
    while not true():
        time.sleep(0.02)
