"""What agents and people say to a real server over HTTP, on both stores."""

from __future__ import annotations

import asyncio
import json
import re
import shutil
import socket
import subprocess
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
import uvicorn

import fairlead.server
from fairlead.server import security
from fairlead.server.app import build
from fairlead.server.protocol import LARGEST
from fairlead.server.sqlite_store import SqliteStore
from fairlead.wire import DEPTH
from tests.conftest import SHARED, needs_shared
from tests.server.conftest import KINDS
from tests.server.replica import ASK, Replica, Reply

Run = tuple[str, str]


@pytest.fixture(scope="module", params=KINDS)
def replica(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Replica]:
    url = request.getfixturevalue("postgres").new_database() if request.param == "postgres" else ""
    started = Replica(tmp_path_factory.mktemp("replica"), store=url)
    yield started
    started.kill()


@pytest.fixture
def run(replica: Replica) -> Run:
    return replica.new_run()


def item_of(replica: Replica, run: Run) -> dict[str, Any]:
    """The only question of a run."""
    (item,) = [found for found in replica.pending() if found["run"]["id"] == run[0]]
    return dict(item)


def code_of(reply: Reply) -> str:
    return str(reply.json["error"]["code"])


# --- the document's answers --------------------------------------------------------------------------

ANSWERS: dict[str, tuple[str, dict[str, Any], dict[str, Any]]] = {
    "approved": ("allow", {}, {"decision": "allow"}),
    "rejected": ("block", {"message": "reason here"}, {"decision": "block", "message": "User rejected: reason here"}),
    "rejected without a word": ("block", {}, {"decision": "block", "message": "User rejected"}),
    "answered": ("allow", {"response": "user's text"}, {"decision": "allow", "response": "user's text"}),
    "answered with nothing": ("allow", {"response": ""}, {"decision": "allow", "response": ""}),
    "answered by choice": ("allow", {"response": {"Which?": "b"}}, {"decision": "allow", "response": {"Which?": "b"}}),
    "changed": (
        "allow",
        {"updated_input": {"command": "ls -l"}},
        {"decision": "allow", "updated_input": {"command": "ls -l"}},
    ),
}


@pytest.mark.parametrize(("decision", "fields", "told"), ANSWERS.values(), ids=ANSWERS.keys())
def test_the_agent_is_told_what_the_person_said(
    replica: Replica, run: Run, decision: str, fields: dict[str, Any], told: dict[str, Any]
) -> None:
    waiting = replica.asking(run, "1")
    assert replica.answer(item_of(replica, run), decision, **fields).status == 200
    assert waiting.status == 200
    assert waiting.answer() == told
    again = replica.ask(run, "1")
    assert (again.status, again.json) == (409, told)


def test_a_slash_at_the_end_is_no_other_place(replica: Replica, run: Run) -> None:
    """An agent that is sent elsewhere and does not go there has not asked."""
    fields = {"run_id": run[0], "type": "approval", "tool": "Bash", "request_id": "1", "payload": {}, "expires_in": 0.1}
    told = replica.call("POST", f"{ASK}/", fields, key=run[1])
    assert (told.status, told.json["decision"]) == (200, "block")
    for path in ("/api/health/", "/api/interactions/", "/api/health//"):
        assert replica.call("GET", path).status == 200
    assert replica.call("POST", "/api/interactions/none/answer/", {"decision": "allow", "digest": "x"}).status == 404


def test_an_input_request_is_answered_like_an_approval(replica: Replica, run: Run) -> None:
    waiting = replica.asking(run, "1", type="input", tool="AskUserQuestion", payload={"questions": []})
    item = item_of(replica, run)
    assert item["kind"] == "input"
    replica.answer(item, "allow", response="blue")
    assert waiting.answer() == {"decision": "allow", "response": "blue"}


@needs_shared("seeds")
@pytest.mark.parametrize("decision", ["allow", "block"])
def test_the_documents_own_script_works_unchanged(replica: Replica, run: Run, tmp_path: Path, decision: str) -> None:
    if shutil.which("curl") is None or shutil.which("jq") is None:
        pytest.skip("the script needs curl and jq")
    (document,) = (SHARED / "seeds").glob("000*.txt")
    script = re.search(r"```bash\n(#!.*?)```", document.read_text(), re.DOTALL)
    assert script is not None
    (tmp_path / "hook").write_text(script[1])
    environ = {
        **replica.environ,
        "M_RUN_ID": run[0],
        "M_SERVER_URL": f"http://127.0.0.1:{replica.port}",
        "M_API_KEY": run[1],
    }
    with subprocess.Popen(
        ["bash", str(tmp_path / "hook")], env=environ, stdin=subprocess.PIPE, stdout=subprocess.PIPE
    ) as hook:
        assert hook.stdin is not None
        hook.stdin.write(b'{"tool": "Bash", "input": {"command": "ls"}}')
        hook.stdin.close()
        item = _until(lambda: [one for one in replica.pending() if one["run"]["id"] == run[0]])[0]
        replica.answer(item, decision, message="m")
        assert hook.stdout is not None
        told = json.loads(hook.stdout.read())
        assert hook.wait(30) == 0
    assert told["decision"] == decision


def _until(look: Callable[[], Any]) -> Any:
    """What it finds, when it does; the test's timeout ends a wait for nothing."""
    pause = threading.Event()
    while not (found := look()):
        pause.wait(0.02)
    return found


# --- idempotent --------------------------------------------------------------------------------------


def test_a_repeated_request_joins_the_wait(replica: Replica, run: Run) -> None:
    waiting = [replica.asking(run, "1") for _ in range(5)]
    replica.answer(item_of(replica, run))
    assert [one.answer() for one in waiting] == [{"decision": "allow"}] * 5
    assert [one.status for one in waiting] == [200] * 5


def test_an_agent_that_went_away_finds_its_question_again(replica: Replica, run: Run) -> None:
    replica.asking(run, "1").leave()
    item = item_of(replica, run)
    waiting = replica.asking(run, "1")
    assert item_of(replica, run)["id"] == item["id"]
    replica.answer(item)
    assert waiting.answer() == {"decision": "allow"}


def test_the_same_id_with_another_body_is_refused(replica: Replica, run: Run) -> None:
    waiting = replica.asking(run, "1")
    other = replica.ask(run, "1", "rm -rf /")
    assert (other.status, code_of(other)) == (422, "another_body")
    assert "make a new one" in other.json["error"]["message"]
    replica.answer(item_of(replica, run))
    waiting.answer()
    assert replica.ask(run, "1", "rm -rf /").status == 422


def _ask_with_header(replica: Replica, run: Run, header: str, body_id: str | None) -> Reply:
    fields = {"run_id": run[0], "type": "approval", "tool": "Bash", "payload": {}}
    body = json.dumps(fields if body_id is None else {**fields, "request_id": body_id}).encode()
    headers = {"Authorization": f"Bearer {run[1]}", "Content-Type": "application/json", "X-M-Request-ID": header}
    return replica.send("POST", ASK, headers, body)


def test_the_header_names_the_request_before_the_body_does(replica: Replica, run: Run) -> None:
    with ThreadPoolExecutor(2) as pool:
        asking = [pool.submit(_ask_with_header, replica, run, "h", "b"), pool.submit(replica.ask, run, "b", "other")]
        items = _until(lambda: _all_of(replica, run, 2))
        for item in items:
            replica.answer(item)
        assert [one.result().status for one in asking] == [200, 200]
    assert _ask_with_header(replica, run, "h", "b").status == 409
    assert _ask_with_header(replica, run, "h", None).status == 422
    assert _ask_with_header(replica, run, "b", "b").status == 422


def _all_of(replica: Replica, run: Run, count: int) -> list[dict[str, Any]]:
    items = [one for one in replica.pending() if one["run"]["id"] == run[0]]
    return items if len(items) == count else []


# --- too late, and the end ---------------------------------------------------------------------------


def test_a_late_answer_is_kept_for_the_next_try(replica: Replica, run: Run) -> None:
    told = replica.ask(run, "1", expires_in=0.01)
    assert (told.status, told.json) == (200, {"decision": "block", "message": "nobody answered in time"})
    (item,) = replica.call("GET", f"/api/interactions?state=done&run={run[0]}").json["interactions"]
    assert (item["state"], item["late"]) == ("expired", False)
    late = replica.answer(item, "allow", message="fine")
    assert (late.status, late.json["late"]) == (200, True)
    same = replica.ask(run, "1", expires_in=0.01)
    assert (same.status, same.json["decision"]) == (409, "block")
    again = replica.ask(run, "2", expires_in=0.01)
    assert (again.status, again.json) == (200, {"decision": "allow", "message": "fine"})
    third = replica.ask(run, "3", expires_in=0.01)
    assert third.json["decision"] == "block"


def test_who_waits_when_the_run_ends_is_refused(replica: Replica, run: Run) -> None:
    waiting = replica.asking(run, "1")
    assert replica.call("POST", f"/api/runs/{run[0]}/end", {}).status == 200
    assert waiting.answer() == {"decision": "block", "message": "the run has ended"}
    for request_id in ("1", "2"):
        after = replica.ask(run, request_id)
        assert (after.status, code_of(after)) == (409, "invalid_state")


# --- people ------------------------------------------------------------------------------------------


def test_an_agent_can_ask_and_never_decide(replica: Replica, run: Run) -> None:
    waiting = replica.asking(run, "1")
    item = item_of(replica, run)
    fields = {"decision": "allow", "digest": item["digest"]}
    mine = replica.call("POST", f"/api/interactions/{item['id']}/answer", fields, key=run[1])
    assert (mine.status, code_of(mine)) == (403, "agents_cannot")
    several = replica.call("POST", "/api/answers", {"answers": [{"id": item["id"], **fields}]}, key=run[1])
    assert several.status == 403
    assert item_of(replica, run)["state"] == "pending"
    replica.answer(item, "block")
    waiting.answer()


def test_the_second_answer_sees_the_first(replica: Replica, run: Run) -> None:
    waiting = replica.asking(run, "1")
    item = item_of(replica, run)
    first = replica.answer(item, "block", message="no")
    second = replica.answer(item, "allow")
    assert (first.status, second.status, code_of(second)) == (200, 409, "already_decided")
    assert (second.json["interaction"]["allow"], second.json["interaction"]["message"]) == (False, "no")
    assert replica.answer(item, "block", message="no").status == 200
    assert waiting.answer()["decision"] == "block"


def test_one_person_is_not_two(replica: Replica, run: Run) -> None:
    waiting = replica.asking(run, "1", people=2)
    item = item_of(replica, run)
    for _ in range(3):
        agreed = replica.answer(item)
        assert (agreed.status, agreed.json["state"], len(agreed.json["agreed"])) == (200, "pending", 1)
    assert replica.answer(item, "allow", updated_input={"command": "rm"}).status == 422
    replica.answer(item, "block")
    assert waiting.answer()["decision"] == "block"


def test_several_are_answered_together_each_by_itself(replica: Replica, run: Run) -> None:
    waiting = [replica.asking(run, str(number), f"ls {number}") for number in range(3)]
    items = _all_of(replica, run, 3)
    answers = [{"id": item["id"], "digest": item["digest"], "decision": "allow"} for item in items]
    answers[1]["digest"] = answers[0]["digest"]
    told = replica.call("POST", "/api/answers", {"answers": [*answers, {"id": "\0", "decision": "allow"}]})
    assert told.status == 200
    found = [one.get("state") or one["error"]["code"] for one in told.json["answers"]]
    assert found == ["decided", "not_what_was_shown", "decided", "not_found"]
    replica.answer(items[1], "block")
    assert [one.answer()["decision"] for one in waiting] == ["allow", "block", "allow"]


def test_always_allow_this_allows_the_next_one_until_it_is_taken_back(replica: Replica, run: Run) -> None:
    waiting = replica.asking(run, "1", "make check")
    item = item_of(replica, run)
    wanted = {"scope": "session", "command": "make check"}
    made = replica.call("POST", f"/api/interactions/{item['id']}/rule", wanted)
    assert made.status == 201, made.body
    replica.answer(item)
    waiting.answer()
    next_one = replica.ask(run, "2", "make check")
    assert (next_one.status, next_one.json) == (200, {"decision": "allow"})
    rule = made.json["rule"]["id"]
    assert replica.call("DELETE", f"/api/rules/{rule}").status == 200
    assert replica.call("DELETE", f"/api/rules/{rule}").status == 404
    assert replica.ask(run, "3", "make check", expires_in=0.01).json["decision"] == "block"


def test_changes_are_seen_live(replica: Replica, run: Run) -> None:
    with _stream(replica) as events:
        mine = (one for one in events if one["run"]["id"] == run[0])  # others may have changed something lately
        waiting = replica.asking(run, "1")
        item = item_of(replica, run)
        replica.answer(item)
        waiting.answer()
        seen = [next(mine) for _ in range(2)]
    assert [(one["id"], one["state"]) for one in seen] == [(item["id"], "pending"), (item["id"], "decided")]


@contextmanager
def _stream(replica: Replica) -> Iterator[Iterator[dict[str, Any]]]:
    """The items that a page is told, from now on."""
    with socket.create_connection(("127.0.0.1", replica.port), timeout=60) as connection:
        connection.sendall(
            f"GET /api/stream HTTP/1.1\r\nHost: 127.0.0.1:{replica.port}\r\n"
            f"Authorization: Bearer {replica.token}\r\n\r\n".encode()
        )
        with connection.makefile("rb") as lines:
            while b": here" not in lines.readline():
                pass
            yield (json.loads(line[6:]) for line in lines if line.startswith(b"data: "))


def test_a_page_hears_of_what_another_replica_does(
    postgres: Any, start: Callable[..., Replica], tmp_path: Path
) -> None:
    url = postgres.new_database()
    one, two = start(store=url), start(store=url)
    run = one.new_run()
    with _stream(two) as events:
        waiting = one.asking(run, "1")
        assert next(events)["state"] == "pending"
        two.answer(item_of(two, run))
        assert waiting.answer() == {"decision": "allow"}
        assert next(events)["state"] == "decided"
        other = two.asking(run, "2", "ls -l")
        one.answer(item_of(one, run), "block")
        assert other.answer()["decision"] == "block"
        assert [(next(events)["state"]) for _ in range(2)] == ["pending", "decided"]


# --- errors ------------------------------------------------------------------------------------------


def _valid(run: Run) -> dict[str, Any]:
    return {"run_id": run[0], "type": "approval", "tool": "Bash", "request_id": "x", "payload": {"command": "ls"}}


WRONG: dict[str, dict[str, Any]] = {
    **{f"no {name}": {name: None} for name in ("run_id", "type", "tool", "request_id")},
    **{f"empty {name}": {name: ""} for name in ("run_id", "type", "tool", "request_id")},
    **{f"{name} a number": {name: 5} for name in ("run_id", "type", "tool", "request_id")},
    **{f"{name} a list": {name: ["a"]} for name in ("run_id", "type", "tool", "request_id")},
    **{f"{name} with NUL": {name: "a\0"} for name in ("run_id", "tool", "request_id")},
    **{f"{name} with half a character": {name: "a\ud800"} for name in ("run_id", "tool", "request_id")},
    "unknown type": {"type": "question"},
    "a long id": {"request_id": "x" * 256},
    "payload a list": {"payload": []},
    "payload null": {"payload": None},
    "payload a text": {"payload": "ls"},
    **{f"expires_in {value!r}": {"expires_in": value} for value in (0, -1, True, "9", None, 1e12, [1])},
    **{f"people {value!r}": {"people": value} for value in (0, -1, True, "2", None, 11, 1.5)},
}


@pytest.mark.parametrize("fields", WRONG.values(), ids=WRONG.keys())
def test_a_wrong_request_is_explained(replica: Replica, run: Run, fields: dict[str, Any]) -> None:
    got = replica.call("POST", ASK, {**_valid(run), **fields}, key=run[1])
    assert (got.status, code_of(got)) == (400, "invalid_input")
    (name,) = fields
    assert name in got.json["error"]["message"]


@pytest.mark.parametrize("header", ["", "Bearer", "Bearer ", "Bearer x", "Basic eDp4", "bearer ä"])
def test_without_the_runs_key_nothing_is_asked(replica: Replica, run: Run, header: str) -> None:
    headers = {"Content-Type": "application/json", **({"Authorization": header} if header else {})}
    got = replica.send("POST", ASK, headers, json.dumps(_valid(run)).encode())
    assert (got.status, code_of(got)) == (401, "unauthorized")
    assert "Authorization: Bearer" in got.json["error"]["message"]


def test_a_persons_key_is_no_runs_key(replica: Replica, run: Run) -> None:
    assert replica.call("POST", ASK, _valid(run)).status == 401


def test_a_key_is_for_its_own_run(replica: Replica, run: Run) -> None:
    other = replica.new_run()
    for name in (other[0], "unknown"):
        got = replica.call("POST", ASK, {**_valid(run), "run_id": name}, key=run[1])
        assert (got.status, code_of(got)) == (404, "not_found")


def _raw(replica: Replica, text: str, body: bytes = b"") -> bytes:
    """What comes back until the connection closes, or the first part of it."""
    with socket.create_connection(("127.0.0.1", replica.port), timeout=30) as connection:
        connection.sendall(text.replace("\n", "\r\n").encode() + body)
        got = b""
        while part := connection.recv(65536):
            got += part
            if got.endswith(b"}\n"):
                break
        return got


def test_what_is_announced_as_too_large_is_not_read(replica: Replica, run: Run) -> None:
    head = f"POST {ASK} HTTP/1.1\nHost: 127.0.0.1:{replica.port}\nAuthorization: Bearer {run[1]}\n"
    got = _raw(replica, f"{head}Content-Length: {LARGEST + 1}\n\n")
    assert got.startswith(b"HTTP/1.1 413")
    assert b'"too_large"' in got


def test_what_turns_out_to_be_too_large_is_refused(replica: Replica, run: Run) -> None:
    head = f"POST {ASK} HTTP/1.1\r\nHost: 127.0.0.1:{replica.port}\r\nAuthorization: Bearer {run[1]}\r\n"
    chunk = b"100000\r\n" + b" " * 0x100000 + b"\r\n"
    with socket.create_connection(("127.0.0.1", replica.port), timeout=30) as connection:
        connection.sendall(f"{head}Transfer-Encoding: chunked\r\n\r\n".encode())
        for _ in range(17):
            try:
                connection.sendall(chunk)
            except OSError:  # it has answered and hung up
                break
        got = connection.recv(65536)
    assert got.startswith(b"HTTP/1.1 413")


def test_a_large_request_is_kept_whole(replica: Replica, run: Run) -> None:
    command = "x" * (LARGEST - 1000)
    waiting = replica.asking(run, "1", command)
    item = item_of(replica, run)
    whole = replica.call("GET", f"/api/interactions/{item['id']}").json
    assert whole["payload"]["command"] == command
    replica.answer(item)
    assert waiting.answer() == {"decision": "allow"}


# --- bad input ---------------------------------------------------------------------------------------

PLAIN = b'{"run_id":"RUN","type":"approval","tool":"Bash","request_id":"x","payload":{"command":"ls","x":HERE}}'
BAD: dict[str, bytes] = {
    "empty": b"",
    "blank": b" \n\t ",
    "a mark and nothing": b"\xef\xbb\xbf",
    "not JSON": b"hello",
    "NUL bytes": b"\0" * 64,
    "array": b"[" + PLAIN + b"]",
    "string": b'"{}"',
    "number": b"42",
    "null": b"null",
    "invalid UTF-8": PLAIN.replace(b"HERE", b'"\xff\xfe\xfa"'),
    "overlong UTF-8": PLAIN.replace(b"HERE", b'"\xc0\xaf"'),
    "UTF-8 surrogate": PLAIN.replace(b"HERE", b'"\xed\xa0\x80"'),
    "half of UTF-16": PLAIN.replace(b"HERE", b"1").decode().encode("utf-16")[:-1],
    "raw control character": PLAIN.replace(b"HERE", b'"a\0b"'),
    "single quotes": PLAIN.replace(b"HERE", b"1").replace(b'"', b"'"),
    "trailing comma": b'{"a": 1,}',
    "trailing garbage": PLAIN.replace(b"HERE", b"1") + b" x",
    "two documents": PLAIN.replace(b"HERE", b"1") * 2,
    "gzip": b"\x1f\x8b\x08\x00",
    "cut": PLAIN[:40],
    "NaN": PLAIN.replace(b"HERE", b"NaN"),
    "Infinity": PLAIN.replace(b"HERE", b"-Infinity"),
    "1e999": PLAIN.replace(b"HERE", b"1e999"),
    "5,000 digits": PLAIN.replace(b"HERE", b"9" * 5000),
    "deep lists": PLAIN.replace(b"HERE", b"[" * 100_000 + b"]" * 100_000),
    "deep objects": PLAIN.replace(b"HERE", b'{"a":' * 100_000 + b"1" + b"}" * 100_000),
    "a little too deep": PLAIN.replace(b"HERE", b"[" * DEPTH + b"]" * DEPTH),
    "key twice": b'{"a": 1, "a": 2}',
    "key twice, inside": PLAIN.replace(b"HERE", b'{"a": 1, "a": 2}'),
}


def _that_read_a_body() -> list[str]:
    found = json.loads((Path(fairlead.server.__file__).parent / "openapi.json").read_text())["paths"]
    paths = [path for path, methods in found.items() if "requestBody" in methods.get("post", {})]
    return [path.replace("{id}", "x") for path in paths if path != ASK]


READ_A_BODY = _that_read_a_body()
MAY_BE_EMPTY = ("/api/login-link",)


def test_every_endpoint_that_reads_a_body_is_known() -> None:
    assert set(READ_A_BODY) >= {"/api/login", "/api/runs", "/api/answers", "/api/interactions/x/answer"}


@pytest.mark.parametrize("body", BAD.values(), ids=BAD.keys())
def test_what_no_agent_should_send_is_refused_by_every_endpoint(replica: Replica, run: Run, body: bytes) -> None:
    body = body.replace(b"RUN", run[0].encode())
    kind = {"Content-Type": "application/json"}
    got = replica.send("POST", ASK, {**kind, "Authorization": f"Bearer {run[1]}"}, body)
    assert got.status == 400, got
    assert got.json["error"]["message"]
    for path in READ_A_BODY:
        got = replica.send("POST", path, {**kind, "Authorization": f"Bearer {replica.token}"}, body)
        if path in MAY_BE_EMPTY and not body:
            assert got.status == 200, (path, got)
            continue
        assert 400 <= got.status < 500, (path, got)
        assert got.json["error"]["message"]
    assert replica.call("GET", "/api/me").json["trouble"] == ""


UNUSUAL: dict[str, bytes] = {
    "a mark": b"\xef\xbb\xbf" + PLAIN.replace(b"HERE", b"1"),
    "UTF-16": PLAIN.replace(b"HERE", b"1").decode().encode("utf-16"),
    "NUL inside": PLAIN.replace(b"HERE", b'"\\u0000"'),
    "half a character inside": PLAIN.replace(b"HERE", b'"\\ud800"'),
    "keys that are strange": PLAIN.replace(b"HERE", b'{"\\u0000": 1, "": 2, "\\udc00": 3}'),
    "a long number": PLAIN.replace(b"HERE", b"9" * 4000),
    "as deep as allowed": PLAIN.replace(b"HERE", b"[" * (DEPTH - 3) + b"]" * (DEPTH - 3)),
    "no payload": b'{"run_id":"RUN","type":"approval","tool":"Bash","request_id":"x"}',
    "more fields": PLAIN.replace(b"HERE", b"1")[:-1] + b',"cwd":"/p","more":[1]}',
}


@pytest.mark.parametrize("body", UNUSUAL.values(), ids=UNUSUAL.keys())
def test_what_is_unusual_and_valid_is_shown_and_answered(replica: Replica, run: Run, body: bytes) -> None:
    marks = "utf-16" if body[:2] in (b"\xff\xfe", b"\xfe\xff") else "utf-8"
    body = body.decode(marks).replace("RUN", run[0]).encode(marks)
    headers = {"Content-Type": "application/json", "Authorization": f"Bearer {run[1]}"}
    with ThreadPoolExecutor(1) as pool:
        asking = pool.submit(replica.send, "POST", ASK, headers, body)
        item = _until(lambda: _all_of(replica, run, 1))[0]
        assert replica.answer(item).status == 200
        assert asking.result().json == {"decision": "allow"}


STRANGE_PATHS = [
    *(f"/api/interactions/{name}" for name in ("%00", "%ED%A0%80", "..", "%2e%2e%2f", "x" * 5000, "%ff")),
    *(f"/api/interactions?text={text}" for text in ("%00", "%ff", "%ED%A0%80", "%25", "x" * 5000)),
    *(f"/api/interactions?run={text}&state=done" for text in ("%00", "%ff")),
]


@pytest.mark.parametrize("path", STRANGE_PATHS, ids=lambda path: path[:40])
def test_no_address_breaks_the_server(replica: Replica, path: str) -> None:
    got = replica.call("GET", path)
    assert got.status < 500, got.body
    assert replica.call("POST", f"{path.partition('?')[0]}/answer", {"decision": "allow"}).status < 500


ANSWERS_THAT_ARE_NONE: dict[str, dict[str, Any]] = {
    "nothing": {},
    "no decision": {"decision": None},
    "another word": {"decision": "yes"},
    "a list": {"decision": ["allow"]},
    "a message that is none": {"decision": "block", "message": 5},
    "a message with NUL": {"decision": "block", "message": "\0"},
    "a message with half a character": {"decision": "block", "message": "\ud800"},
    "changed to a text": {"decision": "allow", "updated_input": "rm"},
    "refused with changes": {"decision": "block", "updated_input": {}},
    "without what was shown": {"decision": "allow", "digest": None},
    "about something else": {"decision": "allow", "digest": "0" * 64},
}


def test_an_answer_that_is_none_changes_nothing(replica: Replica, run: Run) -> None:
    waiting = replica.asking(run, "1")
    item = item_of(replica, run)
    for name, fields in ANSWERS_THAT_ARE_NONE.items():
        given = {"digest": item["digest"], **fields}
        got = replica.call("POST", f"/api/interactions/{item['id']}/answer", given)
        assert got.status in (400, 422), name
    assert item_of(replica, run) == item
    replica.answer(item)
    waiting.answer()


# --- keepalive ---------------------------------------------------------------------------------------


@contextmanager
def _impatient(path: Path, keepalive: float) -> Iterator[tuple[int, str]]:
    """A server in this process, with another interval; its port and the user's key."""
    token = security.new_secret()
    with socket.socket() as listening:
        listening.bind(("127.0.0.1", 0))
        port = listening.getsockname()[1]
        app = build(
            SqliteStore(str(path)),
            hosts=[f"127.0.0.1:{port}"],
            token=token,
            keepalive=keepalive,
        )
        config = uvicorn.Config(app, log_level="critical", ws="none", timeout_graceful_shutdown=1)
        server = uvicorn.Server(config)
        listening.listen()
        thread = threading.Thread(target=lambda: asyncio.run(server.serve(sockets=[listening])))
        thread.start()
        try:
            yield port, token
        finally:
            server.should_exit = True
            thread.join(30)


def test_a_wait_is_never_silent(tmp_path: Path) -> None:
    """Headers and a blank at once, then blanks, then the answer: JSON all in all."""
    with _impatient(tmp_path / "a.db", 0.02) as (port, token):
        replica = Replica.__new__(Replica)
        replica.port, replica.token = port, token
        run = replica.new_run()
        with socket.create_connection(("127.0.0.1", port), timeout=30) as connection:
            body = json.dumps(_valid(run)).encode()
            head = f"POST {ASK} HTTP/1.1\r\nHost: 127.0.0.1:{port}\r\nAuthorization: Bearer {run[1]}\r\n"
            connection.sendall(f"{head}Content-Length: {len(body)}\r\n\r\n".encode() + body)
            with connection.makefile("rb") as lines:
                status = lines.readline()
                headers = dict(line.rstrip().lower().split(b": ", 1) for line in iter(lines.readline, b"\r\n"))
                chunks = _chunks(lines)
                assert [next(chunks) for _ in range(10)] == [b" "] * 10
                replica.answer(item_of(replica, run))
                rest = b"".join(chunks)
    assert status == b"HTTP/1.1 200 OK\r\n"
    assert headers[b"content-type"] == b"application/json"
    assert headers[b"x-accel-buffering"] == b"no"
    assert b"no-transform" in headers[b"cache-control"]
    assert b"content-encoding" not in headers
    assert json.loads(b" " + rest) == {"decision": "allow"}


def _chunks(lines: Any) -> Iterator[bytes]:
    while size := int(lines.readline(), 16):
        yield lines.read(size)
        lines.readline()


def test_a_short_interval_is_the_reason_for_the_blanks(tmp_path: Path) -> None:
    """The control: with a long one there is the first blank and nothing more."""
    with _impatient(tmp_path / "a.db", 3600) as (port, token):
        replica = Replica.__new__(Replica)
        replica.port, replica.token = port, token
        run = replica.new_run()
        waiting = replica.asking(run, "1")
        replica.answer(item_of(replica, run))
        assert waiting.rest() == b'{"decision":"allow"}\n'
