"""Several people: who they are, who may decide, who is asked next, and how somebody is shut out."""

from __future__ import annotations

import http.client
import json
import queue
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fairlead import people
from fairlead.dialects import Places
from fairlead.errors import UsageError
from fairlead.server import approvers, security, serving, sql_store, views
from fairlead.server.records import Refused, Run
from fairlead.server.sql_store import SqlStore
from tests.server.conftest import Clock, Stores, answer, asked
from tests.server.replica import Replica
from tests.server.service import Reply, Service

PATIENCE = 60.0
"""Seconds after which something hangs."""


@pytest.fixture(scope="module")
def service(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Service]:
    found = Service(tmp_path_factory.mktemp("service"))
    yield found
    found.close()


class Person:
    """In a browser of their own."""

    def __init__(self, service: Service, name: str) -> None:
        self._service = service
        self.cookie = service.new_session(name)

    def call(self, method: str, path: str, fields: object = None) -> Reply:
        headers = {**self._service.as_page(), "Cookie": self.cookie, "Content-Type": "application/json"}
        return self._service.send(method, path, headers, b"" if fields is None else json.dumps(fields).encode())

    def says(self, item: dict[str, Any], decision: str = "allow") -> Reply:
        fields = {"decision": decision, "digest": item["digest"]}
        return self.call("POST", f"/api/interactions/{item['id']}/answer", fields)

    @contextmanager
    def stream(self) -> Iterator[http.client.HTTPResponse]:
        """Open; what comes is read from it, until it ends."""
        connection = http.client.HTTPConnection(self._service.host, timeout=PATIENCE)
        try:
            connection.request("GET", "/api/stream", headers={"Cookie": self.cookie})
            with connection.getresponse() as found:
                assert found.status == 200
                assert found.readline() == b"retry: 1000\n"
                yield found
        finally:
            connection.close()


def question(service: Service, command: str = "make", **more: Any) -> dict[str, Any]:
    run, key = service.new_run()
    return service.waiting(run, key, "q", "Bash", {"command": command}, **more)


# --- names -------------------------------------------------------------------------------------------


def test_a_link_for_somebody_opens_the_inbox_in_their_name_and_their_answers_carry_it(service: Service) -> None:
    anna = Person(service, "anna")
    assert anna.call("GET", "/api/me").json["name"] == "anna"
    assert anna.says(question(service)).json["decided_by"] == "anna"


def test_only_who_runs_the_server_makes_links_for_others(service: Service) -> None:
    anna = Person(service, "anna")
    assert anna.call("POST", "/api/login-link", {"name": "ben"}).status == 403
    assert anna.call("POST", "/api/login-link", {"name": security.owner()}).status == 403
    own = anna.call("POST", "/api/login-link", {})
    assert (own.status, own.json["name"]) == (200, "anna")
    page = Person(service, security.owner())
    assert page.call("POST", "/api/login-link", {"name": "ben"}).status == 403, (
        "a page that was left open is not enough"
    )


@pytest.mark.parametrize("written", ["Anna", "ANNA", "anna", "\uff41nna", "\uff21nna"])
def test_one_person_has_one_name_however_it_is_written(service: Service, written: str) -> None:
    assert Person(service, written).call("GET", "/api/me").json["name"] == "anna"


@pytest.mark.parametrize(
    "name",
    [
        "a b",
        " anna",
        "anna\n",
        "\u0430nna",
        "an\u200bna",
        "an\u202ena",
        "x" * 65,
        "a/b",
        "rule 1 of anna",
        "an\0na",
        "<b>",
    ],
)
def test_what_could_be_taken_for_another_name_is_none(service: Service, name: str) -> None:
    assert service.call("POST", "/api/login-link", {"name": name}).status == 400
    assert people.name_of(name) == ""


@given(st.text(max_size=70))
def test_a_name_means_itself(text: str) -> None:
    found = people.name_of(text)
    assert people.name_of(found) == found
    assert not any(map(str.isspace, found))


def test_two_browsers_of_one_person_are_one(service: Service) -> None:
    item = question(service, people=2)
    first, second, other = Person(service, "anna"), Person(service, "Anna"), Person(service, "ben")
    assert first.says(item).json["agreed"] == ["anna"]
    after = second.says(item).json
    assert (after["agreed"], after["state"]) == (["anna"], "pending")
    assert other.says(item).json["state"] == "decided"


# --- shut out ----------------------------------------------------------------------------------------


def read_to_the_end(stream: http.client.HTTPResponse) -> bytes:
    """Fails with a timeout of the socket where it does not end."""
    return stream.read()


def logged_out(service: Service, person: Person) -> None:
    assert person.call("POST", "/api/logout").status == 200


def shut_out(service: Service, _person: Person) -> None:
    assert service.call("DELETE", "/api/people/anna").status == 200


def expired(service: Service, person: Person) -> None:
    import sqlite3

    hashed = security.hashed(person.cookie.partition("=")[2])
    with sqlite3.connect(service.folder / "approvals.db", timeout=PATIENCE) as store:
        store.execute("UPDATE logins SET expires_at = 0 WHERE token_hash = ?", (hashed,))
    store.close()


@pytest.mark.parametrize("end", [logged_out, shut_out, expired])
def test_a_login_that_has_ended_reads_and_decides_nothing_and_its_stream_ends(
    service: Service, end: Callable[[Service, Person], None]
) -> None:
    anna, ben, item = Person(service, "anna"), Person(service, "ben"), question(service)
    with anna.stream() as stream, ben.stream() as others:
        end(service, anna)
        assert b"event:" not in read_to_the_end(stream)
        assert anna.call("GET", "/api/interactions").status == 401
        assert anna.says(item).status == 401
        question(service, "make later")
        line = next(line for line in iter(others.readline, b"") if line.startswith(b"data:"))
        assert b"make later" in line, "nobody else is shut out"


def test_who_is_shut_out_gets_nothing_that_happens_in_the_same_moment(service: Service) -> None:
    anna = Person(service, "anna")
    with anna.stream() as stream:
        assert service.call("DELETE", "/api/people/anna").status == 200
        question(service, "secret command")
        assert b"secret command" not in read_to_the_end(stream)


def test_a_link_that_was_not_used_yet_ends_with_the_logins(service: Service) -> None:
    key = service.call("POST", "/api/login-link", {"name": "dora"}).json["key"]
    assert service.call("DELETE", "/api/people/Dora").json == {"name": "dora", "ended": 1}
    headers = {**service.as_page(), "Content-Type": "application/json"}
    assert service.send("POST", "/api/login", headers, json.dumps({"key": key}).encode()).status == 401
    assert service.call("DELETE", "/api/people/dora").status == 404


def test_the_list_of_people_names_no_key(service: Service) -> None:
    anna = Person(service, "anna")
    listed = service.call("GET", "/api/people")
    secret = anna.cookie.partition("=")[2]
    assert "anna" in [login["name"] for login in listed.json["logins"]]
    assert secret.encode() not in listed.body
    assert security.hashed(secret).encode() not in listed.body
    assert anna.call("GET", "/api/people").status == 403
    assert anna.call("DELETE", "/api/people/ben").status == 403


# --- who may decide ----------------------------------------------------------------------------------


def test_only_who_is_named_decides_and_everybody_sees_it(service: Service) -> None:
    anna, carl, item = Person(service, "anna"), Person(service, "carl"), question(service, approvers=["Anna", "ben"])
    seen = carl.call("GET", f"/api/interactions/{item['id']}").json
    assert (seen["deciders"], seen["yours"]) == (["anna", "ben"], False)
    for decision in ("allow", "block"):
        refused = carl.says(item, decision)
        assert (refused.status, refused.json["error"]["code"]) == (403, "not_yours")
    assert carl.call("POST", f"/api/interactions/{item['id']}/rule", {"scope": "user", "command": "make"}).status == 403
    together = carl.call(
        "POST", "/api/answers", {"answers": [{"id": item["id"], "digest": item["digest"], "decision": "allow"}]}
    )
    assert together.json["answers"][0]["error"]["code"] == "not_yours"
    owner = service.call(
        "POST", f"/api/interactions/{item['id']}/answer", {"decision": "allow", "digest": item["digest"]}
    )
    assert owner.status == 403, "who runs the server is not named either"
    assert anna.says(item).json["decided_by"] == "anna"


@pytest.mark.parametrize(
    "more",
    [
        {"approvers": "anna"}, {"approvers": [1]}, {"approvers": [""]}, {"approvers": ["a b"]},
        {"approvers": ["x"] * 51},
        {"escalate_after": -1}, {"escalate_after": "5m"}, {"escalate_after": True}, {"escalate_to": {}},
        {"escalate_after": 1e9},
    ],
    ids=str,
)  # fmt: skip
def test_a_circle_that_cannot_be_understood_is_refused(service: Service, more: dict[str, Any]) -> None:
    run, key = service.new_run()
    connection = service.ask(run, key, "q", "Bash", {"command": "make"}, **more)
    assert connection.getresponse().status == 400
    connection.close()


def test_a_rule_of_somebody_who_may_not_decide_does_not_apply(store: SqlStore, run: Run) -> None:
    from fairlead.server.rules import Rule

    for name in ("ann", "bob"):
        store.add_rule(
            Rule(
                id=name,
                scope="user",
                within="",
                tool="Bash",
                command="ls",
                folder="/p",
                created_by=name,
                created_at=0.0,
            )
        )
    assert store.ask(asked("1", approvers=["carl"]))[0].state == "pending"
    allowed, _ = store.ask(asked("2", approvers=["bob", "carl"]))
    assert (allowed.state, allowed.decided_by) == ("decided", "rule bob of bob")


def test_a_late_answer_of_somebody_who_may_not_decide_now_is_not_used(store: SqlStore, run: Run, clock: Clock) -> None:
    first, _ = store.ask(asked("1", expires_in=10))
    clock.passes(11)
    store.answer(first.id, answer(first, by="ann"))
    assert store.ask(asked("2", approvers=["bob"]))[0].state == "pending"
    assert store.ask(asked("3", approvers=["ann"]))[0].allow is True


def test_a_late_answer_is_not_used_for_the_same_call_in_another_folder(store: SqlStore, run: Run, clock: Clock) -> None:
    first, _ = store.ask(asked("1", expires_in=10, cwd="/p/web"))
    clock.passes(11)
    store.answer(first.id, answer(first))
    assert store.ask(asked("2", cwd="/p"))[0].state == "pending"
    assert store.ask(asked("3"))[0].state == "pending"
    assert store.ask(asked("4", cwd="/p/web"))[0].allow is True


def test_a_late_refusal_counts_whoever_gave_it(store: SqlStore, run: Run, clock: Clock) -> None:
    first, _ = store.ask(asked("1", expires_in=10))
    clock.passes(11)
    store.answer(first.id, answer(first, by="ann", allow=False))
    assert store.ask(asked("2", approvers=["bob"]))[0].allow is False


CIRCLES: dict[str, tuple[dict[str, Any], tuple[str, ...], tuple[tuple[str, ...], tuple[str, ...]]]] = {
    "nobody named": ({}, ("anna", "ben"), (("anna", "ben"), ())),
    "some of them": ({"approvers": ["ben", "carl"]}, ("anna", "ben"), (("ben",), ())),
    "others only": ({"approvers": ["carl"]}, ("anna", "ben"), (("anna", "ben"), ())),
    "no limit": ({"approvers": ["carl"]}, (), (("carl",), ())),
    "another one after a time": (
        {"approvers": ["anna"], "escalate_after": 1, "escalate_to": ["ben", "carl"]},
        ("anna", "ben"),
        (("anna",), ("ben",)),
    ),
}  # fmt: skip


@pytest.mark.parametrize("case", CIRCLES)
def test_the_asker_can_narrow_the_circle_of_the_server_and_not_widen_it(case: str) -> None:
    more, limit, expected = CIRCLES[case]
    found = asked(**more).limited_to(limit)
    assert (found.approvers, found.escalate_to) == expected


def places(tmp_path: Path, **files: str) -> Places:
    for name, text in files.items():
        folder = tmp_path / name / ("fairlead" if name == "managed" else ".config/fairlead" if name == "home" else "")
        folder.mkdir(parents=True)
        (folder / "fairlead.toml").write_text(text)
    return Places(
        home=str(tmp_path / "home"), project=str(tmp_path / "project"), environ={}, managed=str(tmp_path / "managed")
    )


@pytest.mark.parametrize(
    ("files", "expected"),
    [
        ({}, ()),
        ({"home": 'approvers = ["Anna"]'}, ("anna",)),
        ({"managed": 'approvers = ["anna", "ben"]'}, ("anna", "ben")),
        ({"managed": 'approvers = ["anna", "ben"]', "home": 'approvers = ["ben", "eve"]'}, ("ben",)),
        ({"managed": 'approvers = ["anna"]', "home": 'approvers = ["eve"]'}, ("anna",)),
        ({"project": 'approvers = ["eve"]'}, ()),
        ({"home": 'approvers = ["anna"]', "project": 'approvers = ["eve"]'}, ("anna",)),
    ],
    ids=str,
)
def test_who_may_decide_is_said_by_the_user_and_the_machine_and_never_by_a_project(
    tmp_path: Path, files: dict[str, str], expected: tuple[str, ...]
) -> None:
    assert approvers.configured(places(tmp_path, **files)) == expected


@pytest.mark.parametrize("text", ["approvers = [", 'approvers = "anna"', "approvers = []", 'approvers = ["a b"]'])
def test_a_file_that_may_name_them_and_cannot_be_understood_lets_no_server_start(tmp_path: Path, text: str) -> None:
    with pytest.raises(UsageError):
        approvers.configured(places(tmp_path, home=text))


def test_the_servers_own_circle_holds_for_every_question(tmp_path: Path) -> None:
    folder = tmp_path / ".config" / "fairlead"
    folder.mkdir(parents=True)
    (folder / "fairlead.toml").write_text('approvers = ["anna"]\n')
    service = Service(tmp_path)
    try:
        item = question(service, approvers=["eve"])
        assert Person(service, "eve").says(item).status == 403
        assert Person(service, "anna").says(item).status == 200
    finally:
        service.close()


# --- another one after a time ------------------------------------------------------------------------


def test_the_others_are_added_when_the_first_have_let_their_time_pass(store: SqlStore, run: Run, clock: Clock) -> None:
    item, _ = store.ask(asked("1", approvers=["ann"], escalate_after=60, escalate_to=["bob"]))
    clock.passes(59)
    assert store.escalate() == []
    with pytest.raises(Refused, match="ann may decide"):
        store.answer(item.id, answer(item, by="bob"))
    clock.passes(2)
    (after,) = store.escalate()
    assert (after.id, after.escalated, after.deciders) == (item.id, True, ("ann", "bob"))
    assert store.escalate() == [], "once"
    assert store.interaction(item.id) == after
    assert store.answer(item.id, answer(item, by="bob")).decided_by == "bob"


def test_what_is_decided_is_not_escalated(store: SqlStore, run: Run, clock: Clock) -> None:
    item, _ = store.ask(asked("1", escalate_after=60, escalate_to=["bob"]))
    store.answer(item.id, answer(item))
    clock.passes(61)
    assert store.escalate() == []


def test_first_those_of_whom_it_is_expected_are_told_and_then_all(store: SqlStore, run: Run, clock: Clock) -> None:
    some, _ = store.ask(asked("1", approvers=["ann"], escalate_after=1, escalate_to=["bob"]))
    all_, _ = store.ask(asked("2", escalate_after=1, escalate_to=["bob"]))
    names = ("ann", "bob", "carl")
    assert [name for name in names if some.concerns(name)] == ["ann"]
    assert [name for name in names if all_.concerns(name)] == ["ann", "carl"]
    assert all_.may_be_decided_by("bob"), "where nobody is named, everybody may"
    clock.passes(2)
    some, all_ = sorted(store.escalate(), key=lambda one: one.request_id)
    assert [name for name in names if some.concerns(name)] == ["ann", "bob"]
    assert [name for name in names if all_.concerns(name)] == list(names)


def test_everybody_who_watches_is_told_that_it_was_escalated(service: Service) -> None:
    with Person(service, "anna").stream() as stream:
        item = question(service, "make release", approvers=["anna"], escalate_after=0.1, escalate_to=["ben"])
        told = (json.loads(line[6:]) for line in iter(stream.readline, b"") if line.startswith(b"data: "))
        assert any(row["id"] == item["id"] and row["escalated"] for row in told)
    assert Person(service, "ben").says(item).json["decided_by"] == "ben"


def test_an_escalated_late_answer_is_used_by_the_retry(store: SqlStore, run: Run, clock: Clock) -> None:
    circle: dict[str, Any] = {"approvers": ["ann"], "escalate_after": 5, "escalate_to": ["bob"]}
    item, _ = store.ask(asked("1", expires_in=10, **circle))
    clock.passes(6)
    store.escalate()
    clock.passes(6)
    store.answer(item.id, answer(item, by="bob"))
    assert store.ask(asked("2", **circle))[0].allow is True


# --- one-time keys, in the store ---------------------------------------------------------------------


def test_a_one_time_key_opens_one_login_within_its_time(store: SqlStore, clock: Clock) -> None:
    for name in ("early", "late"):
        store.add_login_key(name, "ann", 60)
    clock.passes(59.9)
    assert [store.use_login_key("early", f"token {number}", 60) for number in range(2)] == ["ann", ""]
    clock.passes(0.2)
    assert store.use_login_key("late", "token 2", 60) == ""
    assert store.use_login_key("unknown", "token 3", 60) == ""
    assert [store.login(f"token {number}") for number in range(4)] == ["ann", "", "", ""]


def test_of_many_who_use_one_key_at_once_one_gets_in(postgres_stores: Stores) -> None:
    opened = [postgres_stores.open() for _ in range(4)]
    for number in range(10):
        opened[0].add_login_key(f"key {number}", "ann", 60)
        barrier, found = threading.Barrier(len(opened)), list[str]()

        def use(
            store: SqlStore, number: int = number, barrier: threading.Barrier = barrier, found: list[str] = found
        ) -> None:
            barrier.wait(PATIENCE)
            found.append(store.use_login_key(f"key {number}", f"token {number} {id(store)}", 60))

        threads = [threading.Thread(target=use, args=(store,)) for store in opened]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join(PATIENCE)
        assert sorted(found) == ["", "", "", "ann"]


def test_a_link_of_one_replica_opens_the_inbox_at_another(start: Callable[..., Replica], postgres: Any) -> None:
    url = postgres.new_database()
    one, other = start(store=url), start(store=url)
    key = one.call("POST", "/api/login-link", {"name": "anna"}).json["key"]
    headers = {
        "Origin": f"http://127.0.0.1:{other.port}",
        "Sec-Fetch-Site": "same-origin",
        "Content-Type": "application/json",
    }
    got = [other.send("POST", "/api/login", headers, json.dumps({"key": key}).encode()).status for _ in range(2)]
    assert got == [200, 401]
    assert one.call("DELETE", "/api/people/anna").json["ended"] == 1


# --- lists -------------------------------------------------------------------------------------------

LARGE = 1_000_000


def test_a_list_of_large_questions_is_small_and_each_is_whole_by_its_id(service: Service) -> None:
    run, key = service.new_run()
    for number in range(5):
        connection = service.ask(run, key, str(number), "Write", {"file_path": f"/p/{number}", "content": "x" * LARGE})
        connection.sock.recv(1)
        connection.close()
    listed = service.call("GET", f"/api/interactions?run={run}")
    rows = listed.json["interactions"]
    assert len(listed.body) < 5 * 4096
    assert [(row["line"], row["whole"], "payload" in row) for row in rows] == [
        (f"/p/{n}", False, False) for n in range(5)
    ]
    assert all(row["size"] > LARGE for row in rows)
    whole = service.call("GET", f"/api/interactions/{rows[3]['id']}").json
    assert (whole["digest"], whole["size"], whole["whole"]) == (rows[3]["digest"], rows[3]["size"], True)
    assert whole["payload"]["content"] == "x" * LARGE


HUGE = "\u202e" * 20_000
PAYLOADS: dict[str, tuple[str, dict[str, Any]]] = {
    "a command": ("Bash", {"command": HUGE}),
    "a path": ("Write", {"file_path": HUGE, "content": HUGE}),
    "a question": ("AskUserQuestion", {"questions": [{"question": HUGE, "options": [HUGE]}]}),
    "a question that is none": ("AskUserQuestion", {"questions": [[HUGE]]}),
    "many fields": ("other", {f"{HUGE}{number}": HUGE for number in range(20)}),
    "a number": ("other", {"n": 10**4000}),
    "a tool": (HUGE, {}),
    "lines": ("Bash", {"command": "\n" * 20_000 + "x"}),
}  # fmt: skip


@pytest.mark.parametrize("case", PAYLOADS)
def test_a_row_is_bounded_whatever_was_asked(service: Service, case: str) -> None:
    run, key = service.new_run(agent=HUGE, project=HUGE, title=HUGE)
    tool, payload = PAYLOADS[case]
    connection = service.ask(run, key, "q", tool, payload)
    connection.sock.recv(1)
    connection.close()
    listed = service.call("GET", f"/api/interactions?run={run}")
    (row,) = listed.json["interactions"]
    assert len(listed.body) < 16_384
    refused = {"decision": "block", "digest": row["digest"], "message": HUGE}
    assert service.call("POST", f"/api/interactions/{row['id']}/answer", refused).status == 200
    done = service.call("GET", f"/api/interactions?run={run}&state=done")
    assert len(done.body) < 20_480
    error = service.call("POST", f"/api/interactions/{row['id']}/answer", {**refused, "decision": "allow"})
    assert error.status == 409
    assert len(error.body) < 20_480


def test_the_stream_tells_beginnings_too(service: Service) -> None:
    with Person(service, "anna").stream() as stream:
        question(service, "echo " + "x" * LARGE)
        line = next(line for line in iter(stream.readline, b"") if line.startswith(b"data:"))
    assert len(line) < 8192
    assert json.loads(line.removeprefix(b"data: "))["line"].endswith("…")


@given(st.text(max_size=50), st.dictionaries(st.text(max_size=10), st.text(max_size=600), max_size=12))
def test_a_line_is_one_line(tool: str, payload: dict[str, Any]) -> None:
    assert "\n" not in views.line(tool, payload)
    assert len(views.line(tool, payload)) < 4096


# --- why and where -----------------------------------------------------------------------------------


def test_why_somebody_should_look_and_where_the_agent_is_are_shown(service: Service) -> None:
    item = question(service, text="Let someone\u202e look", cwd="/p/web")
    assert (item["why"], item["cwd"]) == ("Let someone⟨U+202E⟩ look", "/p/web")
    odds: tuple[Any, ...] = ([], 1, {"a": 1})
    for odd in odds:
        item = question(service, text=odd, cwd=odd)
        assert (item["why"], item["cwd"]) == ("", "/p")


def test_a_link_is_followed_for_an_agent_that_sees_our_files_and_for_no_other(service: Service, tmp_path: Path) -> None:
    from fairlead.machines import this_machine

    (tmp_path / "link").symlink_to("/etc/passwd")
    payload = {"file_path": str(tmp_path / "link"), "content": "x"}
    notes = []
    for host in (this_machine(), "elsewhere.0", ""):
        run, key = service.new_run(host=host)
        notes.append(service.waiting(run, key, "q", "Write", payload)["parts"][0].get("note"))
    assert notes == ["really /etc/passwd", None, None]
    run, key = service.new_run(host="elsewhere.0")
    dotted = service.waiting(run, key, "q", "Write", {"file_path": "/p/../etc/x", "content": "x"})
    assert "another machine" in dotted["parts"][0]["note"]


# --- hosts and cookies -------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("host", "port", "certificate", "expected"),
    [
        ("127.0.0.1", 8737, "", {"127.0.0.1:8737", "localhost:8737", "[::1]:8737"}),
        ("127.8.8.8", 8737, "", {"127.8.8.8:8737", "127.0.0.1:8737", "localhost:8737", "[::1]:8737"}),
        ("::1", 8737, "", {"127.0.0.1:8737", "localhost:8737", "[::1]:8737"}),
        ("0:0:0:0:0:0:0:1", 8737, "", {"127.0.0.1:8737", "localhost:8737", "[::1]:8737"}),
        ("Box.Example", 8737, "c", {"box.example:8737"}),
        ("box.example", 443, "c", {"box.example:443", "box.example"}),
        ("2001:DB8::1", 443, "c", {"[2001:db8::1]:443", "[2001:db8::1]"}),
        ("127.0.0.1", 80, "", {f"{name}{end}" for name in ("127.0.0.1", "localhost", "[::1]") for end in ("", ":80")}),
        ("127.0.0.1", 443, "", {"127.0.0.1:443", "localhost:443", "[::1]:443"}),
    ],
)  # fmt: skip
def test_the_hosts_that_are_answered_are_those_that_a_browser_writes(
    host: str, port: int, certificate: str, expected: set[str]
) -> None:
    assert set(serving.hosts(serving.Options(host=host, certificate=certificate), port)) == expected


@pytest.mark.parametrize("host", ["127.0.0.2", "::1", "[::1]"])
def test_a_server_is_reached_at_the_address_that_it_names(tmp_path: Path, host: str) -> None:
    try:
        service = Service(tmp_path, "--host", host)
    except ValueError:
        pytest.skip(f"this machine cannot listen on {host}")
    try:
        assert service.call("GET", "/api/me").status == 200
        assert service.send("GET", "/api/me", {"Host": "evil.test"}).status == 421
        assert service.new_session().startswith("fairlead=")
    finally:
        service.close()


def test_with_tls_the_cookie_is_one_that_no_other_host_or_port_can_set(service: Service) -> None:
    """As a proxy on this machine says it."""
    key = service.call("POST", "/api/login-link").json["key"]
    page = {"Host": service.host, "Origin": f"https://{service.host}", "Sec-Fetch-Site": "same-origin",
            "X-Forwarded-Proto": "https", "Content-Type": "application/json"}  # fmt: skip
    got = service.send("POST", "/api/login", page, json.dumps({"key": key}).encode())
    name, _, rest = got.headers["set-cookie"].partition("=")
    fields = {part.strip().lower() for part in rest.split(";")[1:]}
    assert name == "__Host-fairlead"
    assert {"secure", "path=/", "httponly", "samesite=strict"} <= fields
    assert not any(field.startswith("domain") for field in fields)
    cookie = f"{name}={rest.partition(';')[0]}"
    assert service.send("GET", "/api/me", {**page, "Cookie": cookie}).status == 200
    plain = f"fairlead={rest.partition(';')[0]}"
    assert service.send("GET", "/api/me", {**page, "Cookie": plain}).status == 401, "a cookie that others could set"


# --- runs that were killed ---------------------------------------------------------------------------


def test_a_run_whose_process_is_over_ends_by_itself_and_its_key_with_it(service: Service) -> None:
    import subprocess

    from fairlead import machines

    process = subprocess.Popen(["sleep", "600"])
    run, key = service.new_run(host=machines.this_machine(), process=machines.process(process.pid))
    elsewhere, _ = service.new_run(host="elsewhere.0", process=f"{process.pid} 1")
    connection = service.ask(run, key, "q", "Bash", {"command": "make"})
    waiting = connection.getresponse()
    process.kill()
    process.wait()
    assert json.loads(waiting.read()) == {"decision": "block", "message": "the run has ended"}
    connection.close()
    ended = {one["id"]: one["ended_at"] for one in service.call("GET", "/api/runs").json["runs"]}
    assert ended[run] is not None
    assert ended[elsewhere] is None, "another machine's processes cannot be seen from here"
    again = service.ask(run, key, "q2", "Bash", {"command": "make"})
    assert again.getresponse().status == 409
    again.close()


# --- telling again -----------------------------------------------------------------------------------


class Chat(BaseHTTPRequestHandler):
    """Takes whatever it is told."""

    def do_POST(self) -> None:
        self.rfile.read(int(self.headers["Content-Length"]))
        self.send_response(200)
        self.end_headers()
        self.server.told.put(1)  # type: ignore[attr-defined]

    def log_message(self, *_words: object) -> None:
        pass


@pytest.fixture
def chat() -> Iterator[tuple[str, queue.Queue[int]]]:
    server = ThreadingHTTPServer(("127.0.0.1", 0), Chat)
    told: queue.Queue[int] = queue.Queue()
    server.told = told  # type: ignore[attr-defined]
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    yield f"json://127.0.0.1:{server.server_port}/", told
    server.shutdown()
    thread.join()
    server.server_close()


def test_a_chat_is_told_again_when_a_question_is_escalated(tmp_path: Path, chat: tuple[str, queue.Queue[int]]) -> None:
    pytest.importorskip("apprise")
    url, told = chat
    service = Service(tmp_path, "--notify", url)
    try:
        run, key = service.new_run()
        connection = service.ask(run, key, "q", "Bash", {"command": "make"}, escalate_after=0.1, escalate_to=["ben"])
        assert [told.get(timeout=PATIENCE) for _ in range(2)] == [1, 1]
        connection.close()
    finally:
        service.close()


# --- a store of before -------------------------------------------------------------------------------


def test_a_store_of_before_is_carried_along(stores: Stores, monkeypatch: pytest.MonkeyPatch) -> None:
    """What waited can be answered; a rule that never said where it holds is asked about again."""
    with monkeypatch.context() as before:
        before.setattr(sql_store, "MIGRATIONS", sql_store.MIGRATIONS[:1])
        old = stores.open()
        body = json.dumps({"payload": {"command": "make"}, "cwd": "/p"}).encode()
        old._change("INSERT INTO runs VALUES (?, ?, ?, ?, ?, ?, NULL)", "run", "claude", "/p", "", "key", 1.0)
        names = "id, run_id, request_id, kind, tool, body, digest, likeness, words, created_at, expires_at, people"
        asked_before = ("i", "run", "q", "approval", "Bash", body, "d", "l", "bash\nmake", 1.0, 9e12, 1)
        old._change(f"INSERT INTO interactions ({names}) VALUES ({', '.join('?' * 12)})", *asked_before)
        for name, scope, within in (("p", "project", "/p"), ("u", "user", "")):
            rule = (name, scope, within, "Bash", "make", "", "ann", 1.0)
            old._change("INSERT INTO rules VALUES (?, ?, ?, ?, ?, ?, ?, ?, NULL)", *rule)
        old._change("INSERT INTO logins VALUES (?, ?, ?)", "token", "ann", 9e12)
        stores.close(old)
    store = stores.open()
    (row,) = store.interactions(pending=True)
    assert (row.size, row.line, row.approvers, row.escalated) == (len(body), "", (), False)
    assert [(rule.id, rule.folder) for rule in store.rules()] == [("p", "/p"), ("u", "")]
    assert (store.login("token"), [login.name for login in store.logins()]) == ("ann", ["ann"])
    known = store.interaction("i")
    assert known is not None
    assert known.body == body
    assert store.answer("i", answer(known)).allow is True
