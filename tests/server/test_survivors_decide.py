"""Who may ask, look and decide: each answer of the server to each kind of caller, without a network in between."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Mapping
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from fairlead.server import security
from fairlead.server.app import build
from fairlead.server.protocol import PATH, read_request, told
from fairlead.server.records import Answer, Asked, Interaction, Refused, Run
from fairlead.server.rules import Rule
from fairlead.server.sqlite_store import SqliteStore
from tests.server.conftest import asked

HOST = "127.0.0.1:4242"
TOKEN = "t" * 64
PAGE = {"origin": f"http://{HOST}", "sec-fetch-site": "same-origin"}


class Reply(NamedTuple):
    status: int
    headers: Mapping[str, str]
    body: bytes

    @property
    def json(self) -> Any:
        return json.loads(self.body)

    @property
    def code(self) -> str:
        return str(self.json["error"]["code"] if isinstance(self.json["error"], dict) else self.json["error"])


class Server:
    """The application, its store, a run with the key `agent`, and a login with the key `ada`."""

    def __init__(self, app: Any, store: SqliteStore) -> None:
        self._app = app
        self.store = store
        self.add_run("run", "agent")
        store.add_login(security.hashed("ada"), "ada", 1000)

    def add_run(self, name: str, key: str) -> None:
        store = self.store
        store.add_run(Run(id=name, agent="claude-code", project="/p", created_at=1.0), security.hashed(key))

    def question(self, request: str = "1", **fields: Any) -> Interaction:
        return self.store.ask(asked(request, **fields))[0]

    async def call(self, method: str, path: str, fields: object = None, *, host: str = HOST, **headers: str) -> Reply:
        """`key=` and `cookie=` say who it is; other headers as they are, with a hyphen for each underscore."""
        if key := headers.pop("key", ""):
            headers["authorization"] = f"Bearer {key}"
        if session := headers.pop("session", ""):
            headers["cookie"] = f"other=1; {security.COOKIE}={session}"
        given = {"host": host, "content-type": "application/json", **headers}
        return await self._send(method, path, given, b"" if fields is None else json.dumps(fields).encode())

    async def _send(self, method: str, path: str, headers: Mapping[str, str], body: bytes) -> Reply:
        said: list[Any] = []
        incoming = [{"type": "http.request", "body": body, "more_body": False}]

        async def receive() -> Any:
            return incoming.pop() if incoming else await asyncio.Event().wait()

        async def send(message: Any) -> None:
            said.append(message)

        scope = {
            "type": "http", "method": method, "path": path, "raw_path": path.encode(), "query_string": b"",
            "headers": [(key.replace("_", "-").encode(), value.encode()) for key, value in headers.items()],
            "scheme": "http", "root_path": "", "http_version": "1.1", "client": ("127.0.0.1", 1),
            "server": ("127.0.0.1", 4242),
        }  # fmt: skip
        await self._app(scope, receive, send)
        found = {key.decode(): value.decode() for key, value in said[0]["headers"]}
        return Reply(said[0]["status"], found, b"".join(one.get("body", b"") for one in said[1:]))


@pytest.fixture
async def server(tmp_path: Path) -> AsyncIterator[Server]:
    url = str(tmp_path / "db")
    app = build(SqliteStore(url), hosts=[HOST], token=TOKEN, environ={"HOME": str(tmp_path)})
    store = SqliteStore(url)
    inner = app._app
    async with inner.lifespan_context(inner):
        yield Server(app, store)
    store.close()


# --- who is it ---------------------------------------------------------------------------------------

LOOKS: dict[str, tuple[dict[str, str], int, str]] = {
    "nobody": ({}, 401, "unauthorized"),
    "a key that nobody has": ({"key": "x"}, 401, "unauthorized"),
    "the user's own key": ({"key": TOKEN}, 200, ""),
    "the user's own key, spelt otherwise": ({"authorization": f"bearer  {TOKEN} "}, 200, ""),
    "the user's own key, in another way": ({"authorization": f"Basic {TOKEN}"}, 401, "unauthorized"),
    "a person's key": ({"key": "ada"}, 200, ""),
    "an agent's key": ({"key": "agent"}, 403, "agents_cannot"),
    "a page": ({"session": "ada", "sec-fetch-site": "same-origin"}, 200, ""),
    "an address that somebody typed": ({"session": "ada", "sec-fetch-site": "none"}, 200, ""),
    "an old browser": ({"session": "ada"}, 200, ""),
    "another page of this machine": ({"session": "ada", "sec-fetch-site": "same-site"}, 403, "wrong_origin"),
    "a page from elsewhere": ({"session": "ada", "sec-fetch-site": "cross-site"}, 403, "wrong_origin"),
    "a session that is over": ({"session": "x"}, 401, "unauthorized"),
    "a cookie of another name": ({"cookie": "other=ada"}, 401, "unauthorized"),
    "an agent's key as a cookie": ({"session": "agent"}, 401, "unauthorized"),
    "another host": ({"key": TOKEN, "host": "evil.example"}, 421, "wrong_host"),
}


@pytest.mark.parametrize("case", LOOKS)
async def test_who_may_look(server: Server, case: str) -> None:
    headers, status, code = LOOKS[case]
    host = headers.get("host", HOST)
    found = await server.call("GET", "/api/me", host=host, **{k: v for k, v in headers.items() if k != "host"})
    assert found.status == status
    assert status == 200 or found.code == code


async def test_a_person_is_called_by_their_name(server: Server) -> None:
    assert (await server.call("GET", "/api/me", key="ada")).json["name"] == "ada"
    assert (await server.call("GET", "/api/me", key=TOKEN)).json["name"] == security.owner()
    assert (await server.call("GET", "/api/me", key=TOKEN, host=HOST.upper())).status == 200


CHANGES: dict[str, tuple[dict[str, str], int]] = {
    "a page": ({"session": "ada", **PAGE}, 200),
    "a page without its origin": ({"session": "ada", "sec-fetch-site": "same-origin"}, 403),
    "a page of another port": ({"session": "ada", **PAGE, "origin": "http://127.0.0.1:1"}, 403),
    "a page with TLS": ({"session": "ada", **PAGE, "origin": f"https://{HOST}"}, 403),
    "another page of this machine": ({"session": "ada", **PAGE, "sec-fetch-site": "same-site"}, 403),
    "an address that somebody typed": ({"session": "ada", **PAGE, "sec-fetch-site": "none"}, 403),
    "a program": ({"key": "ada"}, 200),
    "an agent": ({"key": "agent"}, 403),
    "nobody": (PAGE, 401),
}


@pytest.mark.parametrize("case", CHANGES)
async def test_who_may_decide(server: Server, case: str) -> None:
    headers, status = CHANGES[case]
    question = server.question()
    fields = {"decision": "allow", "digest": question.digest}
    found = await server.call("POST", f"/api/interactions/{question.id}/answer", fields, **headers)
    now = server.store.interaction(question.id)
    assert (found.status, now is not None and now.allow) == (status, True if status == 200 else None)


async def test_a_link_opens_one_session(server: Server) -> None:
    made = (await server.call("POST", "/api/login-link", key="ada")).json
    assert made["name"] == "ada"
    wrong = await server.call("POST", "/api/login", {"key": made["key"]}, **{**PAGE, "origin": "http://evil.example"})
    assert (wrong.status, wrong.code) == (403, "wrong_origin")
    opened = await server.call("POST", "/api/login", {"key": made["key"]}, **PAGE)
    cookie, *parts = opened.headers["set-cookie"].split("; ")
    assert (opened.status, opened.json) == (200, {"name": "ada"})
    assert {"httponly", "samesite=strict", "max-age=2592000"} <= {part.lower() for part in parts}
    name, _, secret = cookie.partition("=")
    assert (name, len(secret)) == (security.COOKIE, 64)
    assert (await server.call("GET", "/api/me", session=secret, **PAGE)).json["name"] == "ada"
    again = await server.call("POST", "/api/login", {"key": made["key"]}, **PAGE)
    assert (again.status, again.code, "set-cookie" in again.headers) == (401, "unauthorized", False)


async def test_a_key_opens_nothing_when_it_is_too_old(server: Server) -> None:
    server.store.add_login_key(security.hashed("old"), "ada", -1.0)
    assert server.store.use_login_key(security.hashed("old"), security.hashed("s"), 100) == ""
    server.store.add_login_key(security.hashed("new"), "ada", 100.0)
    assert server.store.use_login_key(security.hashed("new"), security.hashed("s"), 100) == "ada"
    assert server.store.login(security.hashed("s")) == "ada"
    assert server.store.use_login_key(security.hashed("new"), security.hashed("t"), 100) == ""
    assert server.store.use_login_key(security.hashed("none"), security.hashed("t"), 100) == ""
    assert server.store.login(security.hashed("t")) == ""


LINKS: dict[str, tuple[str, dict[str, str] | None, int]] = {
    "for oneself": ("ada", None, 200),
    "for oneself by name": ("ada", {"name": "ada"}, 200),
    "for somebody else": ("ada", {"name": "bob"}, 403),
    "for somebody else, by who runs the server": (TOKEN, {"name": "bob"}, 200),
    "for no name": (TOKEN, {"name": "a\nb"}, 400),
    "by an agent": ("agent", None, 403),
}


@pytest.mark.parametrize("case", LINKS)
async def test_who_makes_links_for_whom(server: Server, case: str) -> None:
    key, fields, status = LINKS[case]
    found = await server.call("POST", "/api/login-link", fields, key=key)
    assert found.status == status
    if fields and status == 200:
        assert found.json["name"] == fields["name"]


@pytest.mark.parametrize(("key", "status"), [(TOKEN, 200), ("ada", 403), ("agent", 403), ("x", 401)])
async def test_only_who_runs_the_server_sees_who_is_logged_in(server: Server, key: str, status: int) -> None:
    found = await server.call("GET", "/api/people", key=key)
    assert found.status == status
    assert status != 403 or found.code in ("not_yours", "agents_cannot")


async def test_who_is_logged_out_is_out_everywhere(server: Server) -> None:
    assert (await server.call("DELETE", "/api/people/ada", key="ada")).status == 403
    assert (await server.call("DELETE", "/api/people/bob", key=TOKEN)).status == 404
    assert (await server.call("DELETE", "/api/people/ada", key=TOKEN)).json == {"name": "ada", "ended": 1}
    assert (await server.call("GET", "/api/me", key="ada")).status == 401


async def test_a_run_that_is_ended_asks_nothing_more(server: Server) -> None:
    question = server.question()
    assert (await server.call("GET", f"/api/interactions/{question.id}", key="ada")).json["state"] == "pending"
    assert (await server.call("GET", "/api/interactions/x", key="ada")).status == 404
    assert (await server.call("POST", "/api/runs/x/end", key="ada")).status == 404
    assert (await server.call("POST", "/api/runs/run/end", key="agent")).status == 403
    assert (await server.call("POST", "/api/runs/run/end", key="ada")).status == 200
    now = server.store.interaction(question.id)
    assert now is not None
    assert (now.state, now.allow) == ("expired", None)


async def test_a_page_of_somebody_else_cannot_send_what_browsers_send_without_asking(server: Server) -> None:
    question = server.question()
    path, fields = f"/api/interactions/{question.id}/answer", {"decision": "allow", "digest": question.digest}
    found = await server.call("POST", path, fields, key="ada", **{"content-type": "text/plain"})
    assert (found.status, found.code) == (415, "not_json")
    fields["message"] = "half \ud800"
    assert (await server.call("POST", path, fields, key="ada")).status == 400
    assert server.store.interaction(question.id) == question


# --- deciding ----------------------------------------------------------------------------------------

WRONG: dict[str, tuple[dict[str, Any], int, str]] = {
    "no decision": ({}, 400, "invalid_input"),
    "another word": ({"decision": "deny"}, 400, "invalid_input"),
    "a change that is no object": ({"decision": "allow", "updated_input": "ls"}, 400, "invalid_input"),
    "a change of what is refused": ({"decision": "block", "updated_input": {}}, 400, "invalid_input"),
    "a message that is no text": ({"decision": "allow", "message": 1}, 400, "invalid_input"),
    "something else than what was shown": ({"decision": "allow", "digest": "0"}, 422, "not_what_was_shown"),
    "no digest": ({"decision": "allow", "digest": ""}, 422, "not_what_was_shown"),
}


@pytest.mark.parametrize("case", WRONG)
async def test_an_answer_that_is_none_changes_nothing(server: Server, case: str) -> None:
    fields, status, code = WRONG[case]
    question = server.question()
    answer = {"digest": question.digest, **fields}
    found = await server.call("POST", f"/api/interactions/{question.id}/answer", answer, key="ada")
    assert (found.status, found.code) == (status, code)
    assert server.store.interaction(question.id) == question


GIVEN: dict[str, tuple[dict[str, Any], dict[str, Any]]] = {
    "allow": ({"decision": "allow"}, {"allow": True, "updated_input": None}),
    "allow with a change": ({"decision": "allow", "updated_input": {"command": "ls -l"}},
                            {"allow": True, "updated_input": {"command": "ls -l"}}),
    "allow with a change to nothing": ({"decision": "allow", "updated_input": {}},
                                       {"allow": True, "updated_input": {}}),
    "block with a reason": ({"decision": "block", "message": "no"}, {"allow": False, "message": "no"}),
    "an answer to a question": ({"decision": "allow", "response": {"a": 1}}, {"allow": True, "response": {"a": 1}}),
}  # fmt: skip


@pytest.mark.parametrize("case", GIVEN)
async def test_an_answer_is_kept_as_it_was_given(server: Server, case: str) -> None:
    fields, expected = GIVEN[case]
    question = server.question()
    path = f"/api/interactions/{question.id}/answer"
    found = await server.call("POST", path, {"digest": question.digest, **fields}, key="ada")
    now = server.store.interaction(question.id)
    assert now is not None
    assert (found.status, found.json["state"], now.decided_by) == (200, "decided", "ada")
    assert {name: getattr(now, name) for name in expected} == expected
    turned = {"digest": question.digest, "decision": "block" if expected["allow"] else "allow"}
    second = await server.call("POST", path, turned, key=TOKEN)
    assert (second.status, second.code, second.json["interaction"]["id"]) == (409, "already_decided", question.id)
    assert server.store.interaction(question.id) == now
    assert (await server.call("POST", path, {"digest": question.digest, **fields}, key="ada")).status == 200


async def test_a_question_that_nobody_has_asked_cannot_be_answered(server: Server) -> None:
    found = await server.call("POST", "/api/interactions/x/answer", {"decision": "allow", "digest": ""}, key="ada")
    assert (found.status, found.code) == (404, "not_found")


async def test_who_is_not_asked_decides_nothing_and_makes_no_rule(server: Server) -> None:
    question = server.question(approvers=["bob", "eve"])
    for path, fields in (
        (f"/api/interactions/{question.id}/answer", {"decision": "allow", "digest": question.digest}),
        (f"/api/interactions/{question.id}/rule", {"scope": "session", "command": "ls"}),
    ):
        found = await server.call("POST", path, fields, key="ada")
        assert (found.status, found.code) == (403, "not_yours")
        assert "bob or eve may decide this" in found.body.decode()
    assert (server.store.interaction(question.id), server.store.rules()) == (question, [])


@pytest.mark.parametrize("answers", [None, {}, "x", [1], [{}, 1]], ids=str)
async def test_several_answers_are_a_list_of_objects(server: Server, answers: object) -> None:
    found = await server.call("POST", "/api/answers", {"answers": answers}, key="ada")
    assert (found.status, found.code) == (400, "invalid_input")


async def test_of_several_answers_each_stands_by_itself(server: Server) -> None:
    first, second = server.question("1"), server.question("2", command="rm x")
    given = [
        {"id": first.id, "decision": "allow", "digest": first.digest},
        {"id": second.id, "decision": "allow", "digest": first.digest},
        {"id": "x", "decision": "allow", "digest": ""},
    ]
    found = await server.call("POST", "/api/answers", {"answers": given}, key="ada")
    assert found.status == 200
    assert found.json["answers"][0]["state"] == "decided"
    assert ["error" in one for one in found.json["answers"]] == [False, True, True]
    assert [one.allow for one in server.store.named([first.id, second.id])].count(None) == 1


async def test_a_rule_is_made_of_a_question_by_who_may_decide_it(server: Server) -> None:
    question = server.question()
    fields = {"scope": "session", "command": "ls"}
    assert (await server.call("POST", "/api/interactions/x/rule", fields, key="ada")).status == 404
    made = await server.call("POST", f"/api/interactions/{question.id}/rule", fields, key="ada")
    (rule,) = server.store.rules()
    assert (made.status, made.json["rule"]["id"], rule.created_by, rule.within) == (201, rule.id, "ada", "run")
    decided = server.question("2")
    assert (decided.allow, decided.decided_by) == (True, f"rule {rule.id[:8]} of ada")
    assert (await server.call("DELETE", f"/api/rules/{rule.id}", key="ada")).status == 200
    assert (await server.call("DELETE", f"/api/rules/{rule.id}", key="ada")).status == 404
    assert server.question("3").allow is None


# --- asking ------------------------------------------------------------------------------------------

BODY = {"run_id": "run", "type": "approval", "tool": "Bash", "request_id": "1", "payload": {"command": "ls"}}
ASKS: dict[str, tuple[str, object, int, str]] = {
    "without a key": ("", BODY, 401, "unauthorized"),
    "with nobody's key": ("x", BODY, 401, "unauthorized"),
    "with a person's key": ("ada", BODY, 401, "unauthorized"),
    "with the user's own key": (TOKEN, BODY, 401, "unauthorized"),
    "for another run": ("agent", {**BODY, "run_id": "other"}, 404, "not_found"),
    "for a run that nobody knows": ("agent", {**BODY, "run_id": "x"}, 404, "not_found"),
    "for a run that has ended": ("over", {**BODY, "run_id": "over"}, 409, "invalid_state"),
    "another kind of question": ("agent", {**BODY, "type": "order"}, 400, "invalid_input"),
    "a payload that is none": ("agent", {**BODY, "payload": []}, 400, "invalid_input"),
    "what is no object": ("agent", [], 400, "invalid_input"),
}


BAD: dict[str, object] = {
    "run_id": "", "tool": 1, "type": None, "request_id": "x" * 256, "expires_in": 0, "people": 0, "approvers": "ada",
    "escalate_to": [1], "escalate_after": -1,
}  # fmt: skip
GOOD: dict[str, object] = {
    "request_id": "x" * 255, "expires_in": 604_800, "people": 10, "approvers": ["ada"], "escalate_after": 0,
}  # fmt: skip
WORSE: dict[str, object] = {
    "run_id": "a\0b", "expires_in": 604_801, "people": 11, "escalate_after": 604_801, "request_id": "\ud800",
}  # fmt: skip


@pytest.mark.parametrize("fields", [{name: value} for one in (BAD, WORSE) for name, value in one.items()], ids=ascii)
def test_a_question_that_cannot_be_understood_is_refused(fields: dict[str, object]) -> None:
    with pytest.raises(Refused) as error:
        read_request(json.dumps({**BODY, **fields}).encode(), {})
    assert (error.value.status, error.value.code) == (400, "invalid_input")
    assert next(iter(fields)) in str(error.value)


@pytest.mark.parametrize("fields", [{name: value} for name, value in GOOD.items()], ids=ascii)
def test_a_question_may_be_as_long_and_wait_as_long_as_it_may(fields: dict[str, object]) -> None:
    (name, value), found = next(iter(fields.items())), read_request(json.dumps({**BODY, **fields}).encode(), {})
    assert getattr(found, name) == (tuple(value) if isinstance(value, list) else value)


@pytest.mark.parametrize("name", ["expires_in", "people", "escalate_after"])
def test_yes_is_no_number(name: str) -> None:
    with pytest.raises(Refused, match=name):
        read_request(json.dumps({**BODY, name: True}).encode(), {})


@pytest.mark.parametrize("case", ASKS)
async def test_who_may_not_ask(server: Server, case: str) -> None:
    key, body, status, code = ASKS[case]
    server.add_run("other", "other")
    server.add_run("over", "over")
    server.store.end_run("over")
    found = await server.call("POST", PATH, body, key=key)
    assert (found.status, found.code) == (status, code)
    assert server.store.interactions(pending=True) == []


async def test_who_asks_is_told_what_was_decided_before(server: Server) -> None:
    question = server.question("1")
    server.store.answer(question.id, Answer(allow=True, by="ada", digest=question.digest, message="fine"))
    body = json.loads(question.body)
    found = await server.call("POST", PATH, body, key="agent")
    assert (found.status, found.json) == (409, {"decision": "allow", "message": "fine"})
    other = await server.call("POST", PATH, {**body, "payload": {"command": "rm"}}, key="agent")
    assert (other.status, other.code) == (422, "another_body")


async def test_the_id_in_the_header_is_the_one_that_counts(server: Server) -> None:
    question = server.question("1")
    server.store.answer(question.id, Answer(allow=False, by="ada", digest=question.digest))
    body = json.loads(question.body)
    found = await server.call("POST", PATH, body, key="agent", **{"x-m-request-id": "1"})
    assert found.json == {"decision": "block", "message": "User rejected"}


TOLD: dict[str, tuple[dict[str, Any], dict[str, Any]]] = {
    "allowed": ({"state": "decided", "allow": True}, {"decision": "allow"}),
    "allowed with everything": (
        {"state": "decided", "allow": True, "message": "m", "response": 0, "updated_input": {}},
        {"decision": "allow", "message": "m", "response": 0, "updated_input": {}},
    ),
    "refused": ({"state": "decided", "allow": False}, {"decision": "block", "message": "User rejected"}),
    "refused with a reason": ({"state": "decided", "allow": False, "message": "no"},
                              {"decision": "block", "message": "User rejected: no"}),
    "refused with a change": ({"state": "decided", "allow": False, "updated_input": {}},
                              {"decision": "block", "message": "User rejected"}),
    "expired": ({"state": "expired"}, {"decision": "block", "message": "nobody answered in time"}),
    "expired with a reason": ({"state": "expired", "message": "the run has ended"},
                              {"decision": "block", "message": "the run has ended"}),
    "allowed too late": ({"state": "expired", "allow": True},
                         {"decision": "block",
                          "message": "the answer came too late for this call; make the same call again"}),
    "waiting": ({"state": "pending"}, {"decision": "block", "message": "nobody answered in time"}),
}  # fmt: skip


def an_interaction(**fields: Any) -> Interaction:
    given = {"id": "i", "run_id": "run", "request_id": "1", "kind": "approval", "tool": "Bash", "body": b"", **fields}
    return Interaction(**{"digest": "d", "created_at": 0.0, "expires_at": 1.0, **given})


@pytest.mark.parametrize("case", TOLD)
def test_what_the_agent_is_told(case: str) -> None:
    fields, expected = TOLD[case]
    assert told(an_interaction(**fields)) == expected


def test_who_may_decide_and_who_is_told() -> None:
    open_to_all = an_interaction()
    first = an_interaction(approvers=("ada",), escalate_to=("bob",))
    later = first.but(escalated=True)
    assert [one.deciders for one in (open_to_all, first, later)] == [(), ("ada",), ("ada", "bob")]
    assert an_interaction(escalate_to=("bob",), escalated=True).deciders == ()
    assert [one.may_be_decided_by("bob") for one in (open_to_all, first, later)] == [True, False, True]
    assert [one.concerns("ada") for one in (open_to_all, first, later)] == [True, True, True]
    assert [one.concerns("bob") for one in (open_to_all, first, later)] == [True, False, True]
    assert [an_interaction(escalate_to=("bob",), escalated=now).concerns("bob") for now in (False, True)] == [
        False,
        True,
    ]


@pytest.mark.parametrize(
    ("state", "allow", "late"),
    [("expired", True, True), ("expired", False, True), ("expired", None, False), ("decided", True, False)],
)
def test_what_was_answered_too_late(state: str, allow: bool | None, late: bool) -> None:
    assert an_interaction(state=state, allow=allow).late is late


def test_the_circle_of_the_server_is_the_outer_one() -> None:
    def limited(names: tuple[str, ...], **fields: Any) -> tuple[tuple[str, ...], tuple[str, ...], float | None]:
        found: Asked = asked("1", **fields).limited_to(names)
        return found.approvers, found.escalate_to, found.escalate_after

    more = {"approvers": ["ada", "eve"], "escalate_to": ["bob", "eve"], "escalate_after": 5}
    assert limited((), **more) == (("ada", "eve"), ("bob", "eve"), 5.0)
    assert limited(("ada", "bob"), **more) == (("ada",), ("bob",), 5.0)
    assert limited(("ada", "x"), **more) == (("ada",), (), None)
    assert limited(("x",), **more) == (("x",), (), None)


# --- the store ---------------------------------------------------------------------------------------


@pytest.fixture
def store(tmp_path: Path) -> Any:
    found = SqliteStore(str(tmp_path / "db"), clock=lambda: NOW[0])
    found.add_run(Run(id="run", agent="a", project="/p", created_at=1.0), "key")
    yield found
    found.close()


NOW = [1000.0]


@pytest.fixture(autouse=True)
def _at_a_thousand() -> None:
    NOW[0] = 1000.0


def allow(question: Interaction, by: str = "ada", **fields: Any) -> Answer:
    return Answer(allow=True, by=by, digest=question.digest, **fields)


def refused(store: SqliteStore, question: Interaction, answer: Answer) -> tuple[int, str]:
    with pytest.raises(Refused) as error:
        store.answer(question.id, answer)
    return error.value.status, error.value.code


def test_an_answer_in_the_moment_of_expiry_is_too_late(store: SqliteStore) -> None:
    question = store.ask(asked("1", expires_in=60))[0]
    NOW[0] += 59.9
    assert store.ask(asked("2", "other", expires_in=60))[0].state == "pending"
    NOW[0] = question.expires_at
    late = store.answer(question.id, allow(question))
    assert (late.state, late.allow, late.late) == ("expired", True, True)


def test_a_late_answer_lives_an_hour(store: SqliteStore) -> None:
    for after, taken in ((3599.0, True), (3600.0, False)):
        question = store.ask(asked(f"{after}", f"c {after}", expires_in=1))[0]
        NOW[0] += 2
        store.answer(question.id, allow(question, message="late"))
        NOW[0] += after
        again = store.ask(asked(f"{after} again", f"c {after}"))[0]
        assert (again.allow, again.message) == ((True, "late") if taken else (None, ""))


def test_what_was_said_too_late_counts_for_who_may_decide_now(store: SqliteStore) -> None:
    for approvers, taken in ((["ada"], True), (["bob"], False), ([], True)):
        command = f"c {approvers}"
        question = store.ask(asked(f"1 {approvers}", command, expires_in=1))[0]
        NOW[0] += 2
        store.answer(question.id, allow(question))
        again = store.ask(asked(f"2 {approvers}", command, approvers=approvers))[0]
        assert (again.allow is True) is taken


def test_a_late_refusal_counts_whoever_may_decide_now(store: SqliteStore) -> None:
    question = store.ask(asked("1", expires_in=1))[0]
    NOW[0] += 2
    store.answer(question.id, Answer(allow=False, by="ada", digest=question.digest))
    assert store.ask(asked("2", approvers=["bob"]))[0].allow is False


def test_where_several_have_to_agree_each_counts_once(store: SqliteStore) -> None:
    question = store.ask(asked("1", people=2))[0]
    assert refused(store, question, allow(question, updated_input={})) == (422, "not_alone")
    assert store.answer(question.id, allow(question)).agreed == ("ada",)
    assert store.answer(question.id, allow(question)).allow is None
    done = store.answer(question.id, allow(question, "bob"))
    assert (done.allow, done.agreed) == (True, ("ada", "bob"))
    assert store.answer(question.id, allow(question)).decided_by == "bob"
    assert refused(store, question, allow(question, "eve")) == (409, "already_decided")
    assert refused(store, question, Answer(allow=False, by="ada", digest=question.digest)) == (409, "already_decided")


@pytest.mark.parametrize(
    "fields", [{"message": "x"}, {"response": 1}, {"updated_input": {}}, {"allow": False}, {"by": "bob"}], ids=str
)
def test_only_the_same_answer_of_the_same_person_is_the_same(store: SqliteStore, fields: dict[str, Any]) -> None:
    question = store.ask(asked("1"))[0]
    first = store.answer(question.id, allow(question))
    assert store.answer(question.id, allow(question)) == first
    assert refused(store, question, allow(question).but(**fields)) == (409, "already_decided")


def a_rule(**fields: Any) -> Rule:
    given = {"id": "r" * 32, "scope": "user", "within": "", "tool": "Bash", "command": "ls", "path": "", "folder": "/p"}
    return Rule(**{**given, "host": "", "created_by": "ada", "created_at": 1.0, **fields})


RULED: dict[str, tuple[dict[str, Any], bool]] = {
    "a call": ({}, True),
    "for one who may decide": ({"approvers": ["ada"]}, True),
    "for one who may not": ({"approvers": ["bob"]}, False),
    "for two": ({"people": 2}, False),
    "a question": ({"type": "input"}, False),
    "another command": ({"command": "rm x"}, False),
}


@pytest.mark.parametrize("case", RULED)
def test_a_rule_decides_what_its_maker_could_decide_alone(store: SqliteStore, case: str) -> None:
    fields, decided = RULED[case]
    store.add_rule(a_rule())
    found = store.ask(asked("1", **{"command": "ls", **fields}))[0]
    assert (found.allow, found.decided_by) == ((True, "rule rrrrrrrr of ada") if decided else (None, ""))


def test_a_key_for_a_login_ends_in_its_moment(store: SqliteStore) -> None:
    for age, name in ((9.9, "ada"), (10.0, "")):
        NOW[0] = 1000.0
        store.add_login_key(f"k {age}", "ada", 10)
        NOW[0] = 1000.0 + age
        assert store.use_login_key(f"k {age}", f"s {age}", 100) == name


def test_a_login_ends_in_its_moment(store: SqliteStore) -> None:
    store.add_login("h", "ada", 10)
    NOW[0] += 9.9
    assert store.login("h") == "ada"
    NOW[0] = 1010.0
    assert (store.login("h"), store.login("x")) == ("", "")


# --- names and secrets -------------------------------------------------------------------------------


def test_secrets_have_256_bits_and_cookies_a_name_that_no_other_host_can_set() -> None:
    assert [len(security.new_secret()), security.new_secret() == security.new_secret()] == [64, False]
    assert [security.cookie_name(scheme) for scheme in ("http", "https")] == ["fairlead", "__Host-fairlead"]


def test_what_is_no_name_is_said() -> None:
    assert security.person_name("ada") == "ada"
    with pytest.raises(Refused) as error:
        security.person_name("\n" * 100)
    assert (error.value.status, error.value.code) == (400, "invalid_input")
    with pytest.raises(Refused, match=f"'{'a' * 80}' is no name"):
        security.person_name("a" * 1000)
