"""Statistics of the server: the same numbers as `fairlead stats`, for people who are logged in; metrics for who has a
key; and nobody who waits for an answer waits for either."""

from __future__ import annotations

import http.client
import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from prometheus_client.openmetrics.parser import text_string_to_metric_families as open_families
from prometheus_client.parser import text_string_to_metric_families as families

from fairlead.journal.writing import Journal
from fairlead.server import metrics
from fairlead.server.metrics import BOUNDS, MOST_EVENTS, MOST_HOOKS, OTHER, Page, Tail, add_tail
from fairlead.server.records import Run
from fairlead.server.sql_store import SqlStore
from fairlead.server.statistics import RANGES, ticks
from tests.server.browser import CHROMIUM, PHONE, Inbox, chromium
from tests.server.conftest import START, Clock, answer, asked
from tests.server.service import Reply, Service

LONG = 60.0
"""Seconds: that something has not happened by then is a failure, not a slow machine."""


@pytest.fixture
def service(tmp_path: Path) -> Iterator[Service]:
    found = Service(tmp_path)
    yield found
    found.close()


def journal(service: Service) -> Journal:
    return Journal(str(service.folder / "journal"))


def line(**fields: Any) -> dict[str, Any]:
    about = {"agent": "codex", "session": "s", "event": "PreToolUse", "tool": "Bash", "decision": "none"}
    return {**about, "hooks": ["h"], "times": [2.0], "failed": 0, "ms": 3.0, **fields}


def until(what: Callable[[], Any]) -> Any:
    """Its first answer that is something."""
    end = time.monotonic() + LONG
    while not (found := what()):
        assert time.monotonic() < end
        time.sleep(0.02)
    return found


# --- the numbers -------------------------------------------------------------------------------------


def report(service: Service, wanted: str = "24h") -> Any:
    return until(lambda: service.call("GET", f"/api/stats?range={wanted}").json.get("report"))


def test_a_person_gets_the_numbers_of_the_command(service: Service) -> None:
    for fields in (
        {},
        {"decision": "deny", "said": ["deny"]},
        {"agent": "claude-code"},
        {"t": time.time() - 3 * 86400},
    ):
        journal(service).append(line(**fields), {"project": "/gone"})
    words = [sys.executable, "-m", "fairlead", "stats", "--json", "--since", "24h"]
    done = subprocess.run(words, env=service.environ, capture_output=True, check=True)
    found = report(service)
    assert found == json.loads(done.stdout)
    assert (found["events"], found["refused"]) == (3, 1)
    assert report(service, "7d")["events"] == 4


def test_what_happens_later_comes_into_the_numbers(service: Service) -> None:
    assert report(service)["events"] == 0
    journal(service).append(line(), {"project": "/gone"})
    until(lambda: report(service)["events"] == 1)


def test_only_ranges_that_there_are(service: Service) -> None:
    reply = service.call("GET", "/api/stats?range=1000d")
    assert (reply.status, "24h" in reply.json["error"]["message"]) == (400, True)


@pytest.mark.parametrize("who", ["nobody", "an agent"])
def test_only_people_see_the_numbers(service: Service, who: str) -> None:
    key = service.new_run()[1] if who == "an agent" else ""
    headers = {"Host": service.host, **({"Authorization": f"Bearer {key}"} if key else {})}
    assert service.send("GET", "/api/stats", headers).status == (403 if key else 401)


def children(pid: int) -> list[int]:
    found = []
    for name in os.listdir("/proc"):
        try:
            stat = Path(f"/proc/{name}/stat").read_text() if name.isdecimal() else ""
        except OSError:  # it has just ended
            continue
        if stat and stat.rpartition(")")[2].split()[1] == str(pid):
            found.append(int(name))
    return found


@pytest.mark.skipif(not os.path.isdir("/proc/self"), reason="there is no /proc to look for processes in")
def test_counting_that_never_ends_keeps_nobody_from_answering(tmp_path: Path) -> None:
    service = Service(tmp_path)
    folder = service.folder / "journal"
    folder.mkdir(parents=True)
    os.mkfifo(folder / "000001.jsonl")  # who reads it waits for ever
    try:
        before = set(children(service.pid))
        with asking(service, "/api/stats") as numbers:
            (counting,) = until(lambda: set(children(service.pid)) - before)
            run, key = service.new_run()
            item = service.waiting(run, key, "1", "Bash", {"command": "ls"})
            allowed = {"decision": "allow", "digest": item["digest"]}
            assert service.call("POST", f"/api/interactions/{item['id']}/answer", allowed).status == 200
            assert counting in children(service.pid)
            waited = json.loads(numbers.getresponse().read())
        assert waited["reading"]
        assert "report" not in waited
    finally:
        service.close()
    until(lambda: not Path(f"/proc/{counting}").exists())


@contextmanager
def asking(service: Service, path: str) -> Iterator[http.client.HTTPConnection]:
    """On a connection of its own, whose answer nobody waits for yet."""
    connection = http.client.HTTPConnection(service.host, timeout=LONG)
    connection.request("GET", path, headers={"Authorization": f"Bearer {service.token}"})
    try:
        yield connection
    finally:
        connection.close()


@pytest.mark.parametrize("name", RANGES)
def test_every_time_of_a_range_has_its_place(name: str) -> None:
    now = time.time()
    found = ticks(name, now)
    style = "%Y-%m-%dT%H" if name == "24h" else "%Y-%m-%d"
    assert found[-1] == time.strftime(style, time.localtime(now))
    assert found == sorted(set(found))
    assert RANGES[name] * (24 if name == "24h" else 1) <= len(found) <= RANGES[name] * 24 + 2


# --- metrics: who ------------------------------------------------------------------------------------

METRICS_KEY = "m" * 32


@pytest.fixture
def measured(tmp_path: Path) -> Iterator[Service]:
    (tmp_path / "key").write_text(METRICS_KEY + "\n")
    found = Service(tmp_path, "--metrics-token", str(tmp_path / "key"))
    yield found
    found.close()


def scrape(service: Service, key: str = "", **headers: str) -> Reply:
    given = {"Host": service.host, **({"Authorization": f"Bearer {key}"} if key else {}), **headers}
    return service.send("GET", "/metrics", given)


FAR = {"X-Forwarded-For": "203.0.113.9"}
"""As a proxy on this machine says it."""
READERS: list[tuple[str, Mapping[str, str], int]] = [
    ("nobody", {}, 401),
    ("a guess", {}, 401),
    ("an agent", {}, 401),
    ("a page", {}, 401),
    ("the user", {}, 200),
    ("the user", FAR, 403),
    ("Prometheus", {}, 200),
    ("Prometheus", FAR, 200),
    ("nobody", FAR, 401),
]


@pytest.mark.parametrize(("who", "headers", "status"), READERS, ids=str)
def test_metrics_are_for_who_has_a_key(measured: Service, who: str, headers: Mapping[str, str], status: int) -> None:
    keys = {"a guess": "0" * 64, "the user": measured.token, "Prometheus": METRICS_KEY}
    key = measured.new_run()[1] if who == "an agent" else keys.get(who, "")
    more = {"Cookie": measured.new_session()} if who == "a page" else {}
    assert scrape(measured, key, **headers, **more).status == status


def test_the_key_for_metrics_opens_nothing_else(measured: Service) -> None:
    for path in ("/api/me", "/api/stats", "/api/interactions", "/api/runs"):
        assert measured.call("GET", path, key=METRICS_KEY).status == 401


def test_without_a_key_for_metrics_an_empty_one_opens_nothing(service: Service) -> None:
    assert scrape(service, Authorization="Bearer ").status == 401


@pytest.mark.parametrize("content", [None, "", "short", "with a blank in the middle", "é" * 20], ids=str)
def test_a_server_without_a_usable_key_does_not_start(tmp_path: Path, content: str | None) -> None:
    if content is not None:
        (tmp_path / "key").write_text(content)
    words = [sys.executable, "-m", "fairlead", "serve", "--port", "0", "--metrics-token", str(tmp_path / "key")]
    environ = {"HOME": str(tmp_path), "PATH": os.environ["PATH"]}
    done = subprocess.run(words, env=environ, capture_output=True, check=False, timeout=LONG)
    assert done.returncode == 64
    assert b"key" in done.stderr


# --- metrics: what -----------------------------------------------------------------------------------


def samples(text: str, *, is_open: bool = False) -> dict[tuple[str, tuple[str, ...]], float]:
    read = open_families if is_open else families
    return {
        (sample.name, tuple(sample.labels.values())): sample.value
        for family in read(text)
        for sample in family.samples
    }  # fmt: skip


def scraped(service: Service) -> dict[tuple[str, tuple[str, ...]], float]:
    reply = scrape(service, service.token)
    assert (reply.status, reply.headers["content-type"]) == (200, metrics.PLAIN)
    return samples(reply.body.decode())


@pytest.mark.parametrize("accept", ["", "application/openmetrics-text; version=1.0.0"])
def test_both_formats_are_what_a_parser_expects(service: Service, accept: str) -> None:
    journal(service).append(line(said=["late"], failed=1), {"project": "/gone"})
    reply = scrape(service, service.token, **({"Accept": accept} if accept else {}))
    assert reply.headers["content-type"].startswith("application/openmetrics" if accept else "text/plain")
    found = samples(reply.body.decode(), is_open=bool(accept))
    assert found["fairlead_events_total", ("codex", "PreToolUse", "none")] == 1
    assert found["fairlead_hook_failures_total", ("h", "timeout")] == 1


def test_what_real_hooks_do_is_measured(service: Service, tmp_path: Path) -> None:
    folder = tmp_path / ".config" / "fairlead"
    folder.mkdir(parents=True)
    broken = '[[hook]]\nname = "broken"\non = "PreToolUse"\nrun = "kill -9 $$"\non_error = "allow"\n'
    (folder / "fairlead.toml").write_text(f'guard = "all"\n{broken}')
    words = [sys.executable, "-m", "fairlead", "hook", "--agent", "claude-code"]
    for command in ("ls", "rm -rf /"):
        project = str(tmp_path / "project")
        event = {"hook_event_name": "PreToolUse", "session_id": "s", "cwd": project, "tool_name": "Bash"}
        body = json.dumps({**event, "tool_input": {"command": command}}).encode()
        subprocess.run(words, input=body, env=service.environ, capture_output=True, check=False, timeout=LONG)
    found = scraped(service)
    assert found["fairlead_events_total", ("claude-code", "PreToolUse", "deny")] == 1
    assert sum(value for (name, _), value in found.items() if name == "fairlead_events_total") == 2
    assert found["fairlead_hook_failures_total", ("broken", "error")] == 2
    assert found["fairlead_hook_duration_seconds_count", ("guard",)] == 2
    assert found["fairlead_hook_duration_seconds_bucket", ("guard", "+Inf")] == 2
    assert found["fairlead_hook_duration_seconds_sum", ("guard",)] > 0
    assert found["fairlead_journal_behind_bytes", ()] == 0


def test_what_waits_and_what_people_do_is_measured(service: Service) -> None:
    before = scraped(service)
    assert before["fairlead_waiting_interactions", ()] == 0
    assert before["fairlead_oldest_waiting_seconds", ()] == 0
    run, key = service.new_run()
    items = [service.waiting(run, key, name, "Bash", {"command": name}) for name in ("one", "two")]
    with asking(service, "/api/stream"):
        found = until(lambda: now if (now := scraped(service))["fairlead_streams_open", ()] else None)
    assert found["fairlead_waiting_interactions", ()] == 2
    assert found["fairlead_oldest_waiting_seconds", ()] > 0
    for item, decision in zip(items, ("allow", "block"), strict=True):
        fields = {"decision": decision, "digest": item["digest"]}
        for _ in range(2):  # the second is the first again, as after a lost reply
            assert service.call("POST", f"/api/interactions/{item['id']}/answer", fields).status == 200
    found = scraped(service)
    assert found["fairlead_waiting_interactions", ()] == 0
    assert found["fairlead_answers_total", ("allow",)] == 1
    assert found["fairlead_answers_total", ("refuse",)] == 1
    assert found["fairlead_store_trouble", ()] == 0
    until(lambda: scraped(service)["fairlead_streams_open", ()] == 0)


def test_every_store_knows_how_many_wait_and_since_when(store: SqlStore, run: Run, clock: Clock) -> None:
    assert store.waiting() == (0, None)
    first, _ = store.ask(asked("1", run_id=run.id))
    clock.passes(10)
    store.ask(asked("2", run_id=run.id))
    assert store.waiting() == (2, START)
    store.answer(first.id, answer(first))
    assert store.waiting() == (1, START + 10)


def text(tail: Tail) -> str:
    page = Page(is_open=False)
    add_tail(page, tail)
    return bytes(page).decode()


def test_there_are_never_too_many_labels(tmp_path: Path) -> None:
    tail, journal = Tail(str(tmp_path)), Journal(str(tmp_path))
    for at in range(MOST_EVENTS + 50):
        journal.append(line(event=f"e{at}", hooks=[f"h{at}"]), {})
    tail.look()
    found = samples(text(tail))
    events = {labels: value for (name, labels), value in found.items() if name == "fairlead_events_total"}
    hooks = {labels: value for (name, labels), value in found.items() if name == "fairlead_hook_duration_seconds_count"}
    assert (len(events), sum(events.values())) == (MOST_EVENTS + 1, MOST_EVENTS + 50)
    assert (len(hooks), sum(hooks.values())) == (MOST_HOOKS + 1, MOST_EVENTS + 50)
    assert hooks[(OTHER,)] == MOST_EVENTS + 50 - MOST_HOOKS


@pytest.mark.parametrize("name", ['"', "\\", "a\nb", "\\n", "é\u202e", '{x="y"} 5', "", "\ud800"], ids=ascii)
def test_any_name_can_be_a_label(tmp_path: Path, name: str) -> None:
    tail = Tail(str(tmp_path))
    Journal(str(tmp_path)).append(line(hooks=[name], agent=name), {})
    tail.look()
    found = samples(text(tail))
    expected = name.encode("utf-8", "replace").decode()
    assert found["fairlead_hook_duration_seconds_count", (expected,)] == 1
    assert found["fairlead_events_total", (expected, "PreToolUse", "none")] == 1


@pytest.mark.parametrize("ms", [0.0, 1.0, 1.01, 2.5, 59_999.0, 60_000.0, 60_001.0])
def test_a_time_is_in_every_bucket_that_is_not_below_it(tmp_path: Path, ms: float) -> None:
    tail = Tail(str(tmp_path))
    Journal(str(tmp_path)).append(line(times=[ms]), {})
    tail.look()
    found = samples(text(tail))
    for bound in BOUNDS:
        assert found["fairlead_hook_duration_seconds_bucket", ("h", str(bound))] == (ms / 1000 <= bound)


# --- the tail of the journal ---------------------------------------------------------------------------


@settings(max_examples=40)
@given(st.lists(st.integers(0, 6), max_size=12), st.integers(0, 4), st.sampled_from([800, 3000, 100_000]))
def test_every_entry_is_counted_once_however_the_journal_turns_over(groups: list[int], old: int, segment: int) -> None:
    with tempfile.TemporaryDirectory() as folder:
        journal = Journal(folder, segment=segment)
        for _ in range(old):
            journal.append(line(), {})
        tail = Tail(folder)
        for group in groups:
            for _ in range(group):
                journal.append(line(), {})
            tail.look()
        assert sum(tail.events.values()) == sum(groups)
        assert tail.behind() == 0


def test_a_line_that_is_being_written_is_counted_when_it_is_whole(tmp_path: Path) -> None:
    journal, tail = Journal(str(tmp_path)), Tail(str(tmp_path))
    journal.append(line(), {})
    path = tmp_path / "000001.jsonl"
    whole = path.read_bytes()
    path.write_bytes(whole[:-20])
    tail.look()
    assert (sum(tail.events.values()), tail.behind() > 0) == (0, True)
    path.write_bytes(whole)
    for _ in range(2):
        tail.look()
        assert sum(tail.events.values()) == 1


def test_a_journal_that_begins_anew_is_counted_from_its_beginning(tmp_path: Path) -> None:
    journal = Journal(str(tmp_path), segment=500)
    for _ in range(5):
        journal.append(line(), {})
    tail = Tail(str(tmp_path))
    for file in tmp_path.iterdir():
        file.unlink()
    tail.look()
    Journal(str(tmp_path)).append(line(), {})
    tail.look()
    assert sum(tail.events.values()) == 1


def test_nonsense_in_the_journal_is_passed_over(tmp_path: Path) -> None:
    journal, tail = Journal(str(tmp_path)), Tail(str(tmp_path))
    journal.append(line(), {})
    with (tmp_path / "000001.jsonl").open("ab") as file:
        file.write(
            b'nonsense\n[]\n{"event": 1}\n{"event":"x","agent":"a","decision":"d","hooks":7}\n' + b"x" * 3_000_000
        )
    tail.look()
    assert tail.events["codex", "PreToolUse", "none"] == 1


def test_a_scrape_reads_a_bounded_piece(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(metrics, "_AT_ONCE", 1000)
    monkeypatch.setattr(metrics, "_PIECE", 1000)
    journal, tail = Journal(str(tmp_path)), Tail(str(tmp_path))
    for _ in range(20):
        journal.append(line(), {})
    tail.look()
    assert 0 < sum(tail.events.values()) < 20
    assert tail.behind() > 0
    while tail.behind():
        tail.look()
    assert sum(tail.events.values()) == 20


# --- the page ----------------------------------------------------------------------------------------

needs_chromium = pytest.mark.skipif(not CHROMIUM, reason="chromium is not installed (scripts/packages chromium)")


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    pytest.importorskip("playwright.sync_api", reason="the page is tested with Playwright")
    with chromium() as found:
        yield found


def stats_page(browser: Any, service: Service, **options: Any) -> Inbox:
    inbox = Inbox(browser, service, name="ann", **options)
    inbox.context.set_default_timeout(LONG * 1000)
    inbox.log_in()
    inbox.page.goto(f"{service.address}/stats")
    return inbox


@needs_chromium
def test_the_page_shows_plots_and_the_same_numbers_as_tables(service: Service, browser: Any) -> None:
    strange = "<img src=x onerror=alert(1)>\u202e"
    journal(service).append(line(hooks=["guard", strange], times=[1.0, 4.0]), {"project": "/gone"})
    journal(service).append(line(decision="deny", hooks=["guard"], times=[2.0], said=["deny"]), {"project": "/gone"})
    journal(service).append(line(agent="gemini", t=time.time() - 3 * 86400), {"project": "/gone"})
    inbox = stats_page(browser, service)
    page = inbox.page
    page.wait_for_selector("figure.card")
    assert page.locator("svg[role=img]").count() == page.locator("figure table").count() == 4
    assert page.locator("svg[aria-label='Events by agent'] rect.refused").count() == 1
    hooks = page.locator("table", has_text="Hooks, the slowest first").locator("tbody tr")
    assert [row.split("\t")[:3] for row in hooks.all_inner_texts()] == [
        ["<img src=x onerror=alert(1)>⟨U+202E⟩", "1", "0"],
        ["guard", "2", "1"],
    ]
    assert page.locator("img[src=x]").count() == 0
    page.focus("#range-24h")
    page.keyboard.press("ArrowRight")
    page.wait_for_selector("th:text-is('gemini')")
    assert page.url.endswith("#7d")
    assert inbox.problems == []
    inbox.close()


@needs_chromium
@pytest.mark.parametrize("path", ["/", "/stats"])
def test_on_a_phone_nothing_stands_outside(service: Service, browser: Any, path: str) -> None:
    journal(service).append(line(tool="a_tool_with_a_long_name" * 4, hooks=["h" * 90]), {"project": "/gone"})
    inbox = stats_page(browser, service, viewport=PHONE)
    inbox.page.goto(service.address + path)
    inbox.page.wait_for_selector("figure.card" if path == "/stats" else "#link[data-state=connected]")
    assert inbox.page.evaluate("document.documentElement.scrollWidth") <= PHONE["width"]
    links = inbox.page.locator("#top nav a")
    boxes = [links.nth(at).bounding_box() for at in range(links.count())]
    assert len(boxes) == 4
    assert all(box and box["x"] >= 0 and box["x"] + box["width"] <= PHONE["width"] for box in boxes)
    assert inbox.problems == []
    inbox.close()


@needs_chromium
def test_the_inbox_leads_to_the_statistics_and_back(service: Service, browser: Any) -> None:
    inbox = Inbox(browser, service, name="ann")
    inbox.context.set_default_timeout(LONG * 1000)
    inbox.open()
    inbox.page.click("#views >> text=Stats")
    inbox.page.wait_for_selector("#state:has-text('No agent has asked')")
    inbox.page.click("#views >> text=Rules")
    inbox.page.wait_for_selector("text=What is allowed without asking")
    assert inbox.problems == []
    inbox.close()


@needs_chromium
def test_a_browser_that_is_not_logged_in_sees_no_numbers(service: Service, browser: Any) -> None:
    journal(service).append(line(agent="secret-agent"), {"project": "/gone"})
    inbox = Inbox(browser, service)
    inbox.context.set_default_timeout(LONG * 1000)
    inbox.page.goto(f"{service.address}/stats")
    inbox.page.wait_for_selector("text=This browser is not logged in")
    assert "secret-agent" not in inbox.page.content()
    inbox.close()
