"""Who may do what: every endpoint with every kind of caller, and keys that are guessed, replayed or overheard."""

from __future__ import annotations

import itertools
import json
import random
import stat
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from fairlead.errors import UsageError
from fairlead.server import security, serving
from fairlead.server.app import build
from fairlead.server.sqlite_store import SqliteStore
from tests.server.service import Reply, Service


class Endpoint(NamedTuple):
    method: str
    path: str


ASK = "/api/internal/interaction-request"
EVENTS = "/api/hooks/{agent}"
OPEN = ("/api/health", "/api/openapi.json")
"""For everybody who may speak to the server at all."""
OF_THE_OWNER = ("/api/people", "/api/people/{id}")
"""For the key in the files of who runs the server: no page is enough."""
OF_A_BROWSER = (Endpoint("POST", "/api/push"), Endpoint("POST", "/api/push/end"), Endpoint("POST", "/api/push/trial"))
"""Of the browser that somebody is logged in with: no key is one."""


@pytest.fixture(scope="module")
def service(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Service]:
    found = Service(tmp_path_factory.mktemp("service"))
    yield found
    found.close()


# --- every cell ------------------------------------------------------------------------------------


def _endpoints(tmp_path: Path) -> list[Endpoint]:
    store = SqliteStore(str(tmp_path / "x" / "db"))
    routes = build(store, hosts=[], token="t" * 64)._app.routes
    store.close()
    return [
        Endpoint(method, route.path)
        for route in routes
        for method in sorted((route.methods or {"POST"}) - {"HEAD"})
        if route.path.startswith("/api/")
    ]


class Cell(NamedTuple):
    endpoint: Endpoint
    host: str
    origin: str
    site: str
    credential: str


HOSTS = ("own", "localhost", "evil.test", "evil.test:{port}", "127.0.0.1", "127.0.0.1:1", "")
ORIGINS = ("own", "other port", "https", "null", "")
SITES = ("same-origin", "same-site", "cross-site", "none", "")
CREDENTIALS = ("token", "cookie", "run key", "hook key", "ended cookie", "guess", "nothing")


class Caller:
    """Sends cells, and knows what each of them must be answered."""

    def __init__(self, service: Service) -> None:
        self.service = service
        self.run, self.run_key = service.new_run()
        self.port = service.host.rpartition(":")[2]
        self.ended = service.new_session()
        headers = {**service.as_page(), "Cookie": self.ended}
        assert service.send("POST", "/api/logout", headers).status == 200
        self.session = service.new_session()
        self.decided = service.waiting(self.run, self.run_key, "decided", "Bash", {"command": "ls"})
        answer = {"decision": "block", "digest": self.decided["digest"]}
        assert service.call("POST", f"/api/interactions/{self.decided['id']}/answer", answer).status == 200

    def send(self, cell: Cell) -> Reply:
        path = cell.endpoint.path.replace("{id}", "0" * 32)
        reply = self.service.send(
            cell.endpoint.method, path, self._headers(cell), self._body(path), whole=path != "/api/stream"
        )
        if path == "/api/logout" and reply.status == 200 and cell.credential == "cookie":
            self.session = self.service.new_session()
        return reply

    def _headers(self, cell: Cell) -> dict[str, str]:
        headers = {"Content-Type": "application/json"}
        host = {"own": self.service.host, "localhost": f"localhost:{self.port}"}.get(
            cell.host, cell.host.format(port=self.port)
        )
        given = {"Host": host, "Origin": self._origin(cell, host), "Sec-Fetch-Site": cell.site, **self._who(cell)}
        return headers | {name: value for name, value in given.items() if value}

    def _origin(self, cell: Cell, host: str) -> str:
        return {"own": f"http://{host}", "other port": "http://127.0.0.1:1", "https": f"https://{host}"}.get(
            cell.origin, cell.origin
        )

    def _who(self, cell: Cell) -> dict[str, str]:
        keys = {"token": self.service.token, "run key": self.run_key, "guess": "0" * 64}
        keys["hook key"] = (self.service.folder / "hook-token").read_text()
        if cell.credential in keys:
            return {"Authorization": f"Bearer {keys[cell.credential]}"}
        cookies = {"cookie": self.session, "ended cookie": self.ended}
        return {"Cookie": cookies[cell.credential]} if cell.credential in cookies else {}

    def _body(self, path: str) -> bytes:
        if path == ASK:  # one that is decided: it does not wait
            asked = {"run_id": self.run, "type": "approval", "tool": "Bash", "request_id": "decided"}
            return json.dumps({**asked, "payload": {"command": "ls"}}).encode()
        return json.dumps({"key": self.run_key, "answers": [], "decision": "allow", "digest": "0"}).encode()


def refusal(cell: Cell) -> int:
    """The status with which this cell must be refused; 0 if it has to pass."""
    if cell.host not in ("own", "localhost"):
        return 421
    if cell.endpoint.path in OPEN:
        return 0
    if cell.endpoint.path == ASK:
        return 0 if cell.credential == "run key" else 401
    if cell.endpoint.path == EVENTS:
        return 403 if cell.origin or cell.site else 0 if cell.credential == "hook key" else 401
    own_page = cell.origin == "own" and cell.site == "same-origin"
    if cell.endpoint.path == "/api/login":
        return 401 if own_page else 403  # with a run's key for a one-time key
    if cell.credential == "run key":
        return 403
    if cell.credential == "cookie":
        reads = cell.endpoint.method == "GET" and cell.site in ("same-origin", "none", "")
        return 0 if (own_page or reads) and cell.endpoint.path not in OF_THE_OWNER else 403
    if cell.credential == "token":
        return 403 if cell.endpoint in OF_A_BROWSER else 0
    return 401


PASSED = (200, 201, 400, 404, 409)
"""What an endpoint says itself, when nobody has turned the caller away."""


def _cells(endpoints: list[Endpoint]) -> list[Cell]:
    every = [Cell(*values) for values in itertools.product(endpoints, HOSTS[:1], ORIGINS, SITES, CREDENTIALS)]
    hosts = itertools.product(endpoints, HOSTS[1:], ("own", ""), ("same-origin", ""), CREDENTIALS)
    return every + [Cell(*values) for values in hosts]


def test_only_the_allowed_cells_of_host_origin_site_method_and_credential_pass(
    service: Service, tmp_path: Path
) -> None:
    """CVE-2025-49596, CVE-2025-66414, CVE-2025-66416, CVE-2026-11624, CVE-2025-24010, CVE-2025-52882."""
    caller = Caller(service)
    cells = _cells(_endpoints(tmp_path))
    wrong = []
    for cell in cells:
        status, expected = caller.send(cell).status, refusal(cell)
        if status != expected if expected else status not in PASSED:
            wrong.append((cell, status, expected))
    assert wrong == []
    assert len(cells) >= 4000
    assert sum(refusal(cell) == 0 for cell in cells) >= 400, "the oracle must not refuse everything"


@pytest.mark.parametrize("method", ["HEAD", "PUT", "PATCH", "DELETE", "OPTIONS", "TRACE", "POST", "GET"])
def test_no_other_method_does_anything_at_any_endpoint(service: Service, tmp_path: Path, method: str) -> None:
    endpoints = _endpoints(tmp_path)
    for path in {endpoint.path for endpoint in endpoints}:
        if Endpoint(method, path) in endpoints or (method == "HEAD" and Endpoint("GET", path) in endpoints):
            continue
        for credential in ({}, {"Authorization": f"Bearer {service.token}"}):
            reply = service.send(method, path.replace("{id}", "0"), {"Host": service.host, **credential})
            assert reply.status == 405, (method, path)


def test_every_answer_carries_the_protecting_headers_and_none_opens_the_door_to_other_origins(service: Service) -> None:
    """CVE-2026-22812, CVE-2026-22813, GHSA-vg6x-rcgg-rjx6."""
    for path in ("/", "/api/me", "/api/health", "/nothing", "/api/interactions"):
        for headers in ({"Host": service.host}, {"Host": "evil.test"}):
            reply = service.send("GET", path, {**headers, "Origin": "http://evil.test"})
            names = {name.lower(): value for name, value in reply.headers.items()}
            assert {name: names.get(name) for name in security.HEADERS} == security.HEADERS
            assert not [name for name in names if name.startswith("access-control-")]


# --- an agent's key --------------------------------------------------------------------------------


@pytest.mark.parametrize("ended", [False, True], ids=["of a run", "of a run that has ended"])
def test_an_agents_key_can_never_decide_list_make_rules_or_log_in(service: Service, ended: bool) -> None:
    run, key = service.new_run()
    item = service.waiting(run, key, "q", "Bash", {"command": "ls"})
    if ended:
        service.call("POST", f"/api/runs/{run}/end")
    answer = {"decision": "allow", "digest": item["digest"]}
    rule = {"scope": "user", "command": "ls"}
    for method, path, fields in (
        ("POST", f"/api/interactions/{item['id']}/answer", answer),
        ("POST", "/api/answers", {"answers": [{"id": item["id"], **answer}]}),
        ("POST", f"/api/interactions/{item['id']}/rule", rule),
        ("DELETE", "/api/rules/0", None),
        ("GET", "/api/interactions", None),
        ("GET", f"/api/interactions/{item['id']}", None),
        ("GET", "/api/rules", None),
        ("GET", "/api/runs", None),
        ("POST", "/api/runs", {}),
        ("POST", f"/api/runs/{run}/end", None),
        ("POST", "/api/login-link", None),
        ("POST", "/api/login-link", {"name": "anna"}),
        ("GET", "/api/people", None),
        ("DELETE", "/api/people/anna", None),
        ("GET", "/api/me", None),
        ("GET", "/api/stream", None),
    ):
        assert service.call(method, path, fields, key=key).status == 403, path
        as_cookie = {**service.as_page(), "Cookie": f"{security.COOKIE}={key}", "Content-Type": "application/json"}
        assert service.send(method, path, as_cookie, json.dumps(fields or {}).encode()).status == 401, path
    after = service.call("GET", f"/api/interactions/{item['id']}").json
    assert after["allow"] is None


def test_an_agents_key_asks_for_its_own_run_only(service: Service) -> None:
    _, key = service.new_run()
    other, _ = service.new_run()
    body = {"run_id": other, "type": "approval", "tool": "Bash", "request_id": "q", "payload": {}}
    assert service.call("POST", ASK, body, key=key).status == 404


def test_a_persons_keys_cannot_ask_in_an_agents_place(service: Service) -> None:
    run, _ = service.new_run()
    body = {"run_id": run, "type": "approval", "tool": "Bash", "request_id": "q", "payload": {}}
    assert service.call("POST", ASK, body).status == 401


# --- what was shown is what is decided ---------------------------------------------------------------


def _mutated(digest: str, dice: random.Random) -> str:
    position = dice.randrange(len(digest))
    changes: list[Callable[[], str]] = [
        lambda: digest[:position] + dice.choice("0123456789abcdef") + digest[position + 1 :],
        lambda: digest[:position] + digest[position + 1 :],
        lambda: digest[:position] + dice.choice("\0 \n0aé") + digest[position:],
        lambda: digest[:position],
        digest.upper,
        lambda: f"{dice.getrandbits(256):064x}",
        lambda: "",
    ]
    return dice.choice(changes)()


def _digests(service: Service, rounds: int) -> None:
    run, key = service.new_run()
    item = service.waiting(run, key, "q", "Bash", {"command": "rm -rf build"})
    dice = random.Random(rounds)
    for _ in range(rounds):
        digest = _mutated(item["digest"], dice)
        if digest != item["digest"]:
            answer = {"decision": dice.choice(["allow", "block"]), "digest": digest}
            assert service.call("POST", f"/api/interactions/{item['id']}/answer", answer).status in (400, 422), digest
    assert service.call("GET", f"/api/interactions/{item['id']}").json["state"] == "pending"
    right = {"decision": "allow", "digest": item["digest"]}
    assert service.call("POST", f"/api/interactions/{item['id']}/answer", right).status == 200


def test_no_answer_with_another_digest_than_the_shown_one_is_taken(service: Service) -> None:
    _digests(service, 500)


@pytest.mark.soak
def test_no_answer_with_another_digest_than_the_shown_one_is_taken_in_ten_thousand_tries(service: Service) -> None:
    _digests(service, 10_000)


def test_an_answer_without_a_digest_or_for_another_question_is_not_taken(service: Service) -> None:
    """hermes#1888."""
    run, key = service.new_run()
    first = service.waiting(run, key, "1", "Bash", {"command": "ls"})
    second = service.waiting(run, key, "2", "Bash", {"command": "rm -rf ~"})
    path = f"/api/interactions/{second['id']}/answer"
    assert service.call("POST", path, {"decision": "allow"}).status == 422
    assert service.call("POST", path, {"decision": "allow", "digest": first["digest"]}).status == 422
    for said in (None, "yes", "y", True, "ALLOW", "approve"):
        assert service.call("POST", path, {"decision": said, "digest": second["digest"]}).status == 400
    assert service.call("GET", f"/api/interactions/{second['id']}").json["state"] == "pending"


def test_a_replayed_answer_changes_nothing_and_a_turned_one_is_refused(service: Service) -> None:
    run, key = service.new_run()
    item = service.waiting(run, key, "q", "Bash", {"command": "ls"})
    path, refused = f"/api/interactions/{item['id']}/answer", {"decision": "block", "digest": item["digest"]}
    first = service.call("POST", path, refused)
    again = service.call("POST", path, refused)
    turned = service.call("POST", path, {**refused, "decision": "allow"})
    assert (first.status, again.status, turned.status) == (200, 200, 409)
    assert again.json["decided_at"] == first.json["decided_at"]
    assert turned.json["interaction"]["allow"] is False


# --- keys and where they lie ---------------------------------------------------------------------------


def _login(service: Service, key: object) -> Reply:
    headers = {**service.as_page(), "Content-Type": "application/json"}
    return service.send("POST", "/api/login", headers, json.dumps({"key": key}).encode())


def test_a_one_time_key_opens_one_session(service: Service) -> None:
    key = service.call("POST", "/api/login-link").json["key"]
    assert [_login(service, key).status for _ in range(3)] == [200, 401, 401]


def test_guessed_keys_open_nothing(service: Service) -> None:
    service.call("POST", "/api/login-link")
    dice = random.Random(7)
    for _ in range(300):
        assert _login(service, f"{dice.getrandbits(256):064x}").status == 401
    others: list[object] = [None, 0, [], {}, "", "\ud800", "\0", "x" * 100_000, service.token]
    for strange in others:
        assert _login(service, strange).status in (400, 401)


@pytest.mark.soak
def test_ten_thousand_guessed_tokens_open_nothing(service: Service) -> None:
    dice = random.Random(8)
    for _ in range(10_000):
        assert service.call("GET", "/api/me", key=f"{dice.getrandbits(256):064x}").status == 401


def test_the_link_carries_its_key_in_the_fragment_which_reaches_no_log(service: Service) -> None:
    address, _, fragment = service.link.partition("#")
    assert address == f"{service.address}/"
    assert fragment.startswith("k=")
    assert len(fragment) == 2 + 64


def test_a_session_cookie_is_kept_from_scripts_and_from_other_sites(service: Service) -> None:
    key = service.call("POST", "/api/login-link").json["key"]
    cookie = _login(service, key).headers["set-cookie"].lower()
    assert "httponly" in cookie
    assert "samesite=strict" in cookie
    assert "path=/" in cookie
    assert "domain" not in cookie


def test_after_the_logout_the_cookie_is_worth_nothing(service: Service) -> None:
    headers = {**service.as_page(), "Cookie": service.new_session()}
    assert service.send("GET", "/api/me", headers).status == 200
    assert service.send("POST", "/api/logout", headers).status == 200
    assert service.send("GET", "/api/me", headers).status == 401


def test_every_file_of_the_server_is_for_its_owner_alone_and_no_key_is_written_down(tmp_path: Path) -> None:
    """CVE-2026-46406."""
    folder = tmp_path / "state" / "fairlead"
    folder.mkdir(parents=True, mode=0o755)
    service = Service(tmp_path)
    try:
        run, key = service.new_run()
        session = service.new_session().partition("=")[2]
        service.waiting(run, key, "q", "Bash", {"command": "ls"})
        one_time = service.link.partition("#k=")[2]
        service.send("GET", "/api/me", {"Host": service.host, "Authorization": "Bearer " + "f" * 64})
        modes = {path.name: stat.S_IMODE(path.stat().st_mode) for path in folder.iterdir()}
        assert stat.S_IMODE(folder.stat().st_mode) == 0o700
        assert set(modes.values()) == {0o600}, modes
    finally:
        service.close()
    kept = {path.name: path.read_bytes() for path in (*folder.iterdir(), service.log)}
    for name, secret in {"run": key, "session": session, "link": one_time, "user": service.token}.items():
        holding = [file for file, content in kept.items() if secret.encode() in content and file != "token"]
        assert holding == [], name


def test_a_token_file_that_is_a_link_or_holds_no_key_is_not_used(tmp_path: Path) -> None:
    (tmp_path / "token").write_text("short")
    with pytest.raises(UsageError, match="holds no key"):
        serving.user_token(str(tmp_path))


@pytest.mark.parametrize("host", ["0.0.0.0", "::", "192.0.2.1", "example.org", "127.1", "0", "localhost.evil.test"])
@pytest.mark.parametrize(
    "half", [(), ("--certificate", "x.pem"), ("--key", "x.pem")], ids=["bare", "no key", "no certificate"]
)
def test_an_address_that_others_reach_needs_tls(host: str, half: tuple[str, ...], tmp_path: Path) -> None:
    if half and host != "0.0.0.0":
        pytest.skip("once is enough")
    ran = subprocess.run(
        [sys.executable, "-m", "fairlead", "serve", "--port", "0", "--host", host, *half],
        env={"HOME": str(tmp_path), "PATH": ""},
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert ran.returncode != 0
    assert "there is no TLS" in ran.stderr
    assert "Traceback" not in ran.stderr


# --- what an agent asks must not take the inbox away ----------------------------------------------------

POISON: dict[str, tuple[str, dict[str, Any]]] = {
    "a NUL in a path": ("Write", {"file_path": "/a\0b", "content": "x"}),
    "half a character in a path": ("Write", {"file_path": "/a\ud800b", "content": "x"}),
    "a path of a million folders": ("Write", {"file_path": "/" + "a/" * 1_000_000, "content": "x"}),
    "half a character in a question": ("AskUserQuestion", {"questions": [{"question": "\ud800", "options": [1]}]}),
    "questions that are none": ("AskUserQuestion", {"questions": [1, None, [], {}]}),
    "edits that are none": ("MultiEdit", {"file_path": "/a", "edits": [1, None]}),
    "strings that are none": ("Edit", {"file_path": "/a", "old_string": 1, "new_string": []}),
    "a diff of hours": ("Edit", {"file_path": "/a", "old_string": "\n" * 50_000, "new_string": "\n\nx" * 30_000}),
    "a patch of a NUL": ("apply_patch", {"command": "*** Begin Patch\n*** Delete File: \0\n*** End Patch"}),
    "deep": ("Bash", {"command": "ls", "more": json.loads("[" * 150 + "]" * 150)}),
    "a megabyte of marks": ("Bash", {"command": "\u202e\x1b[2J" * 200_000}),
}  # fmt: skip


@pytest.mark.parametrize("name", POISON)
def test_a_hostile_question_is_stored_and_listed_or_refused_and_the_inbox_stays(service: Service, name: str) -> None:
    run, key = service.new_run()
    tool, payload = POISON[name]
    connection = service.ask(run, key, name, tool, payload)
    status = connection.getresponse().status
    connection.close()
    assert status < 500
    listed = service.call("GET", f"/api/interactions?run={run}")
    assert listed.status == 200
    assert len(listed.json["interactions"]) == (1 if status == 200 else 0)
    service.call("POST", f"/api/runs/{run}/end")
    assert service.call("GET", f"/api/interactions?state=done&run={run}").status == 200
