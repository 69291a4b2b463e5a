"""W2: other pages in a real browser, while somebody is logged in to the inbox and a question waits.

The attacker knows everything but the keys: the address, the question's number, and the digest that an answer needs. The
same pages are let loose on a server that trusts in `SameSite` and in being on the loopback: there they succeed.
"""

from __future__ import annotations

import http.server
import json
import threading
import time
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import pytest

from tests.server.browser import CHROMIUM, Agent, Inbox
from tests.server.service import Service

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Page

pytest.importorskip("playwright.sync_api", reason="the page is tested with Playwright")
pytestmark = pytest.mark.skipif(not CHROMIUM, reason="chromium is not installed (scripts/packages chromium)")
EVIL = "evil.test"
"""A name of the attacker's that leads to this machine: DNS rebinding."""
PAGES = ("127.0.0.1", "localhost", EVIL)
"""Where the attacker's page is: another port of the same machine is the same site to a browser."""

TRIES = """
async ([address, id, digest]) => {
  const read = [];
  const body = JSON.stringify({decision: "allow", digest});
  const answer = `${address}/api/interactions/${id}/answer`;
  const soon = () => AbortSignal.timeout(20000);
  const attempt = async (name, make) => {
    try { const found = await make(); if (found) read.push(`${name}: ${String(found).slice(0, 80)}`); } catch {}
  };
  const until = (thing, ...names) => new Promise((done) => {
    for (const name of names) thing.addEventListener(name, (event) => done(event), {once: true});
    setTimeout(() => done({type: "error"}), 20000);
  });
  const text = async (reply) => reply.type === "opaque" ? "" : await reply.text();
  for (const mode of ["cors", "no-cors"]) {
    for (const credentials of ["include", "omit"]) {
      const how = {mode, credentials};
      for (const path of ["/api/interactions", "/api/me", "/api/health", "/"])
        await attempt(`${mode} ${credentials} ${path}`, async () =>
          text(await fetch(address + path, {...how, signal: soon()})));
      for (const type of ["text/plain", "application/json", "application/x-www-form-urlencoded"])
        await attempt(`${mode} ${credentials} ${type}`, async () =>
          text(await fetch(answer, {...how, method: "POST", body, headers: {"Content-Type": type}, signal: soon()})));
    }
  }
  await attempt("form", async () => {
    const frame = document.createElement("iframe");
    frame.name = "hidden";
    document.body.appendChild(frame);
    const form = document.body.appendChild(document.createElement("form"));
    Object.assign(form, {action: answer, method: "POST", enctype: "text/plain", target: "hidden"});
    const field = form.appendChild(document.createElement("input"));
    [field.name, field.value] = [`${body.slice(0, -1)}, "x": "`, '"}'];
    const loaded = until(frame, "load");
    form.submit();
    await loaded;
    return frame.contentDocument && frame.contentDocument.body.innerText;
  });
  await attempt("frame", async () => {
    const frame = document.createElement("iframe");
    frame.src = address + "/";
    const loaded = until(frame, "load");
    document.body.appendChild(frame);
    await loaded;
    return frame.contentDocument && frame.contentDocument.body.innerText;
  });
  for (const kind of ["img", "script"])
    await attempt(kind, async () => {
      const found = document.createElement(kind);
      found.src = `${address}/api/interactions`;
      const over = until(found, "load", "error");
      document.body.appendChild(found);
      return (await over).type === "load" ? "loaded" : "";
    });
  await attempt("stream", async () => {
    const stream = new EventSource(`${address}/api/stream`, {withCredentials: true});
    const over = (await until(stream, "open", "message", "error")).type;
    stream.close();
    return over === "error" ? "" : over;
  });
  await attempt("web socket", async () => {
    const socket = new WebSocket(address.replace("http", "ws") + "/api/stream");
    const over = (await until(socket, "open", "error", "close")).type;
    return over === "open" ? over : "";
  });
  return read;
}
"""


class Anybody(http.server.BaseHTTPRequestHandler):
    """A server as many local tools have one: it asks for its cookie, and for nothing else."""

    decided: list[str]
    session = "a-session"

    def do_GET(self) -> None:
        self._say(b"<p>a page of this machine</p>")

    def do_POST(self) -> None:
        body = self.rfile.read(int(self.headers["Content-Length"]))
        if self.session in self.headers.get("Cookie", "") and json.loads(body)["decision"] == "allow":
            self.decided.append(self.headers["Content-Type"])
        self._say(b"{}")

    def _say(self, body: bytes) -> None:
        self.send_response(200)
        self.send_header("Content-Type", "text/html")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_values: object) -> None:
        """Nobody reads it."""


@pytest.fixture(scope="module")
def anybody() -> Iterator[tuple[str, list[str]]]:
    """The port of such a server, which the attacker's pages come from too, and what was decided there."""
    decided: list[str] = []
    handler = type("Handler", (Anybody,), {"decided": decided})
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        thread = threading.Thread(target=server.serve_forever, daemon=True)
        thread.start()
        yield str(server.server_port), decided
        server.shutdown()
        thread.join()


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    from playwright.sync_api import sync_playwright

    words = ["--no-sandbox", "--disable-dev-shm-usage", f"--host-resolver-rules=MAP {EVIL} 127.0.0.1"]
    with sync_playwright() as playwright:
        found = playwright.chromium.launch(executable_path=CHROMIUM, args=words)
        yield found
        found.close()


@pytest.fixture(scope="module")
def service(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Service]:
    found = Service(tmp_path_factory.mktemp("service"))
    yield found
    found.close()


@pytest.fixture(scope="module")
def inbox(browser: Browser, service: Service) -> Iterator[Inbox]:
    """Somebody who is logged in, and has the attacker's page open in the same browser."""
    found = Inbox(browser, service)
    found.context.set_default_timeout(60_000)
    yield found.open()
    found.close()


@pytest.fixture
def question(service: Service) -> Iterator[dict[str, Any]]:
    agent = Agent(service, agent="claude-code", project="/work/shop")
    agent.runs("git push --force")
    ends = time.monotonic() + 60
    while not (found := waiting(service)) and time.monotonic() < ends:
        time.sleep(0.02)
    yield found[0]
    answer = {"decision": "block", "digest": found[0]["digest"]}
    assert service.call("POST", f"/api/interactions/{found[0]['id']}/answer", answer).status == 200
    agent.close()


def waiting(service: Service) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = service.call("GET", "/api/interactions").json["interactions"]
    return [one for one in found if one["state"] == "pending"]


def lured(inbox: Inbox, address: str) -> Page:
    page = inbox.context.new_page()
    page.goto(address)
    return page


@pytest.mark.parametrize("host", PAGES)
def test_a_page_of_somebody_else_reads_nothing_and_decides_nothing(
    inbox: Inbox, service: Service, anybody: tuple[str, list[str]], question: dict[str, Any], host: str
) -> None:
    """CVE-2025-49596, CVE-2026-22812, CVE-2025-24010, CVE-2025-52882: fetch, form, image, stream, socket, frame."""
    page = lured(inbox, f"http://{host}:{anybody[0]}/")
    assert page.evaluate(TRIES, [service.address, question["id"], question["digest"]]) == []
    assert [frame.url for frame in page.frames if frame.url.startswith(service.address)] == [], (
        "it was put into a frame"
    )
    page.close()
    assert [one["id"] for one in waiting(service)] == [question["id"]]
    assert waiting(service)[0] == question


@pytest.mark.parametrize("path", ["/", "/api/health", "/api/openapi.json", "/api/interactions"])
def test_a_name_that_leads_here_opens_nothing(inbox: Inbox, service: Service, path: str) -> None:
    """CVE-2025-66414, CVE-2025-66416, CVE-2026-11624: to the browser this page is of the attacker's own origin."""
    page = inbox.context.new_page()
    answer = page.goto(f"http://{EVIL}:{service.host.rpartition(':')[2]}{path}")
    assert answer is not None
    assert answer.status == 421
    assert "pending" not in page.content()
    page.close()


CODE = """
async (patience) => {
  window.ran = [];
  const tried = [
    () => { const found = document.createElement("script"); found.textContent = "ran.push('script')"; return found; },
    () => {
      const found = document.createElement("div");
      found.innerHTML = `<img src="data:," onerror="ran.push('handler')">`;
      return found;
    },
    () => { const found = document.createElement("a"); found.href = "javascript:ran.push('link')"; return found; },
  ];
  for (const make of tried) {
    try { const found = make(); document.body.append(found); found.click(); } catch {}
  }
  const ends = performance.now() + patience;
  while (ran.length < tried.length && performance.now() < ends) await new Promise((done) => setTimeout(done, 20));
  return ran.sort();
}
"""


def test_code_that_somebody_got_into_the_page_does_not_run(inbox: Inbox, anybody: tuple[str, list[str]]) -> None:
    """CVE-2026-22813: what a model had said was put into the page as HTML. Elsewhere the same code runs."""
    assert inbox.page.evaluate(CODE, 300) == []
    page = lured(inbox, f"http://127.0.0.1:{anybody[0]}/")
    assert page.evaluate(CODE, 60_000) == ["handler", "link", "script"]
    page.close()


def test_the_same_pages_succeed_where_only_the_cookie_is_looked_at(
    inbox: Inbox, anybody: tuple[str, list[str]]
) -> None:
    """The control: `SameSite=Strict` keeps no other port out, and without a look at the host any name will do."""
    port, decided = anybody
    cookie = {"name": "other", "value": Anybody.session, "url": f"http://127.0.0.1:{port}", "sameSite": "Strict"}
    inbox.context.add_cookies([cookie])  # type: ignore[list-item]  # a plain dictionary is one
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), type("Handler", (Anybody,), {"decided": []})) as other:
        thread = threading.Thread(target=other.serve_forever, daemon=True)
        thread.start()
        page = lured(inbox, f"http://127.0.0.1:{other.server_port}/")
        page.evaluate(TRIES, [f"http://127.0.0.1:{port}", "1", "2"])
        assert [frame.url for frame in page.frames if frame.url == f"http://127.0.0.1:{port}/"]
        page.close()
        other.shutdown()
        thread.join()
    assert "text/plain" in decided
    rebound = inbox.context.new_page()
    rebound.goto(f"http://{EVIL}:{port}/")
    assert "a page of this machine" in rebound.content()
    rebound.close()
