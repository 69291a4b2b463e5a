"""The description of the service is true: of its routes, of its answers, and of what it does with nonsense."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import jsonschema
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from fairlead.server.app import build
from fairlead.server.sqlite_store import SqliteStore
from tests.server.service import Reply, Service

DESCRIBED: dict[str, Any] = json.loads(
    (Path(__file__).resolve().parents[2] / "src" / "fairlead" / "server" / "openapi.json").read_text()
)
OPERATIONS = [(method, path) for path, methods in DESCRIBED["paths"].items() for method in methods]


@pytest.fixture(scope="module")
def service(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Service]:
    found = Service(tmp_path_factory.mktemp("service"))
    yield found
    found.close()


def test_every_route_is_described_and_every_description_has_a_route(tmp_path: Path) -> None:
    store = SqliteStore(str(tmp_path / "x" / "db"))
    app = build(store, hosts=[], token="t" * 64)
    store.close()
    routes = {
        (method.lower(), route.path)
        for route in app._app.routes
        for method in (route.methods or {"POST"}) - {"HEAD"}
        if route.path.startswith("/api/")
    }
    assert routes == set(OPERATIONS)


def test_the_server_gives_its_description_to_everybody(service: Service) -> None:
    assert service.send("GET", "/api/openapi.json", {"Host": service.host}).json == DESCRIBED


def check(method: str, path: str, reply: Reply) -> None:
    """The status is described, and the body is what the description says."""
    responses = DESCRIBED["paths"][path][method]["responses"]
    assert reply.status < 500, reply.body
    assert str(reply.status) in responses, (method, path, reply.status, reply.body)
    schema = responses[str(reply.status)]["content"].get("application/json", {}).get("schema")
    if schema:
        jsonschema.validate(reply.json, {**schema, "components": DESCRIBED["components"]})


@pytest.mark.parametrize(("method", "path"), OPERATIONS, ids=lambda value: value)
def test_without_a_key_everything_but_the_open_is_refused_as_described(
    service: Service, method: str, path: str
) -> None:
    """CVE-2026-22812, CVE-2025-49596."""
    headers = {"Host": service.host, "Content-Type": "application/json"}
    reply = service.send(method.upper(), path.replace("{id}", "x"), headers, b"{}")
    check(method, path, reply)
    opened = path in ("/api/health", "/api/openapi.json")
    assert reply.status == 200 if opened else reply.status in (401, 403)


JSON = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats(allow_nan=False)
    | st.text(st.characters(exclude_categories=[])),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=8), inner, max_size=4),
    max_leaves=8,
)


def nearly(schema: dict[str, Any]) -> st.SearchStrategy[Any]:
    """Values of a schema, and others in their place."""
    if "$ref" in schema:
        return nearly(DESCRIBED["components"]["schemas"][schema["$ref"].rpartition("/")[2]])
    if "allOf" in schema:
        return st.tuples(*map(nearly, schema["allOf"])).map(
            lambda parts: {k: v for part in parts if isinstance(part, dict) for k, v in part.items()}
        )
    if "enum" in schema:
        return st.sampled_from(schema["enum"]) | JSON
    if "properties" in schema:
        return (
            st.fixed_dictionaries({}, optional={name: nearly(part) for name, part in schema["properties"].items()})
            | JSON
        )
    if schema.get("type") == "array":
        return st.lists(nearly(schema["items"]), max_size=3) | JSON
    return JSON


def bodies(operation: dict[str, Any]) -> st.SearchStrategy[bytes]:
    schema = operation.get("requestBody", {}).get("content", {}).get("application/json", {}).get("schema", {})
    written = nearly(schema).map(lambda value: json.dumps(value).encode())
    return written | st.binary(max_size=40)


def fuzz(service: Service, method: str, path: str, data: st.DataObject, run: tuple[str, str]) -> None:
    operation = DESCRIBED["paths"][path][method]
    run_id, run_key = run
    asks = path.endswith("interaction-request")
    body = data.draw(bodies(operation))
    key = run_key if asks else service.token
    headers = {"Host": service.host, "Authorization": f"Bearer {key}", "Content-Type": "application/json"}
    names = st.text(
        st.characters(min_codepoint=33, max_codepoint=126, exclude_characters="/?#%"), min_size=1, max_size=9
    )
    place = path.replace("{id}", data.draw(names | st.just(run_id) | st.sampled_from(["%00", "%ff", "%2e%2e"])))
    query = data.draw(
        st.sampled_from(["", "?state=done", "?text=%00", "?text=%ff&state=x", "?run=%ED%A0%80", "?text=%25"])
    )
    waits = asks and body.startswith(b"{") and b'"run_id"' in body and run_id.encode() in body
    check(
        method,
        path,
        service.send(method.upper(), place + query, headers, body, whole=path != "/api/stream" and not waits),
    )


CLOSED = [
    (method, path) for method, path in OPERATIONS if path not in ("/api/health", "/api/openapi.json", "/api/stream")
]


@pytest.mark.parametrize(("method", "path"), CLOSED, ids=lambda value: value)
def test_nonsense_is_answered_as_described_and_never_with_an_error_of_the_server(
    service: Service, method: str, path: str
) -> None:
    run = service.new_run()

    @settings(max_examples=15, suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large])
    @given(st.data())
    def nonsense(data: st.DataObject) -> None:
        fuzz(service, method, path, data, run)

    nonsense()


@pytest.mark.soak
@pytest.mark.parametrize(("method", "path"), CLOSED, ids=lambda value: value)
def test_ten_thousand_requests_of_nonsense(service: Service, method: str, path: str) -> None:
    run = service.new_run()

    @settings(max_examples=10_000 // len(CLOSED), suppress_health_check=list(HealthCheck))
    @given(st.data())
    def nonsense(data: st.DataObject) -> None:
        fuzz(service, method, path, data, run)

    nonsense()


def test_the_values_of_a_real_question_are_as_described(service: Service) -> None:
    run, key = service.new_run()
    item = service.waiting(run, key, "q", "Bash", {"command": "git status"})
    place = f"/api/interactions/{item['id']}"
    for method, path, fields in (
        ("GET", "/api/me", None),
        ("GET", "/api/interactions", None),
        ("GET", place, None),
        ("POST", f"{place}/rule", {"scope": "session", "command": "git status"}),
        ("GET", "/api/rules", None),
        ("POST", f"{place}/answer", {"decision": "allow", "digest": item["digest"]}),
        ("POST", f"{place}/answer", {"decision": "block", "digest": item["digest"]}),
        ("POST", "/api/answers", {"answers": [{"id": item["id"], "decision": "allow", "digest": "x"}]}),
        ("GET", "/api/runs", None),
        ("POST", f"/api/runs/{run}/end", None),
    ):
        described = re.sub(r"/[0-9a-f]{32}", "/{id}", path)
        check(method.lower(), described, service.call(method, path, fields))
