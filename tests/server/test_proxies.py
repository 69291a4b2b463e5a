"""A long wait passes proxies that give up on silence, with their own settings as they come."""

from __future__ import annotations

import http.client
import json
import shutil
import socket
import subprocess
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from tests.server.service import Service

WAIT = 600.0
"""Seconds: ten times what they wait for by default, and as long as agents wait for a hook."""
AGENTS = 25


def _free_port() -> int:
    with socket.socket() as found:
        found.bind(("127.0.0.1", 0))
        return int(found.getsockname()[1])


def _nginx(folder: Path, port: int, target: str) -> list[str]:
    config = folder / "nginx.conf"
    config.write_text(
        f"daemon off; pid {folder}/nginx.pid; error_log {folder}/error.log; events {{}}\n"
        f"http {{ access_log off; client_body_temp_path {folder}/b; proxy_temp_path {folder}/p; "
        f"fastcgi_temp_path {folder}/f; uwsgi_temp_path {folder}/u; scgi_temp_path {folder}/s;\n"
        f"server {{ listen 127.0.0.1:{port}; location / {{ proxy_pass http://{target}; }} }} }}\n"
    )
    return ["nginx", "-c", str(config)]


def _haproxy(folder: Path, port: int, target: str) -> list[str]:
    config = folder / "haproxy.cfg"
    config.write_text(
        "defaults\n  mode http\n  timeout connect 5s\n  timeout client 50s\n  timeout server 50s\n"
        f"listen all\n  bind 127.0.0.1:{port}\n  http-request set-header Host {target}\n  server one {target}\n"
    )
    return ["haproxy", "-db", "-f", str(config)]


def _listens(port: int) -> bool:
    with socket.socket() as tried:
        return tried.connect_ex(("127.0.0.1", port)) == 0


@contextmanager
def _proxy(argv: list[str], port: int) -> Iterator[None]:
    process = subprocess.Popen(argv, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    try:
        deadline = time.monotonic() + 20
        while not _listens(port) and time.monotonic() < deadline:
            assert process.poll() is None, "the proxy did not start"
        yield
    finally:
        process.terminate()
        process.wait(20)


@pytest.mark.soak
@pytest.mark.timeout(1200)
@pytest.mark.filterwarnings("ignore::ResourceWarning")
@pytest.mark.parametrize("name", ["nginx", "haproxy"])
def test_answers_after_ten_minutes_pass_a_proxy_with_its_defaults(name: str, tmp_path: Path) -> None:
    if shutil.which(name) is None:
        pytest.skip(f"{name} is not installed")
    service, port = Service(tmp_path), _free_port()
    try:
        argv = (_nginx if name == "nginx" else _haproxy)(tmp_path, port, service.host)
        with _proxy(argv, port):
            run, key = service.new_run()
            agents = [_asking(port, run, key, number) for number in range(AGENTS)]
            person = threading.Timer(WAIT, _allow, (service, run))
            person.start()
            for agent in agents:
                answer = agent.getresponse()
                assert (answer.status, json.loads(answer.read())) == (200, {"decision": "allow"})
                agent.close()
            person.join()
    finally:
        service.close()


def _asking(port: int, run: str, key: str, number: int) -> http.client.HTTPConnection:
    agent = http.client.HTTPConnection("127.0.0.1", port, timeout=WAIT + 120)
    asked = {"run_id": run, "type": "approval", "tool": "Bash", "payload": {"command": "ls"}}
    headers = {"Authorization": f"Bearer {key}", "Content-Type": "application/json", "X-M-Request-ID": str(number)}
    agent.request("POST", "/api/internal/interaction-request", json.dumps(asked), headers)
    return agent


def _allow(service: Service, run: str) -> None:
    for item in service.call("GET", f"/api/interactions?run={run}").json["interactions"]:
        service.call("POST", f"/api/interactions/{item['id']}/answer", {"decision": "allow", "digest": item["digest"]})
