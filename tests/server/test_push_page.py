"""Notifications in a real Chromium: turned on in the page, shown by the service worker, answered from there.

No push service reaches a Chromium in a test, so its `subscribe` gives the address of ours; what the server sends
there is decrypted, and handed to the service worker by the browser itself, as a push message.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.server.browser import CHROMIUM, PHONE, Agent, Inbox, chromium
from tests.server.push_service import LONG, Browser, PushService
from tests.server.service import Service

playwright = pytest.importorskip("playwright.sync_api", reason="the page is tested with Playwright")
pytestmark = [
    pytest.mark.skipif(not CHROMIUM, reason="chromium is not installed (scripts/packages chromium)"),
    pytest.mark.soak,  # a Chromium without a screen forgets about one notification in twenty that it was told to show
]

SUBSCRIBES = """
  const given = %s;
  const made = (key) => ({
    endpoint: given.endpoint, options: { applicationServerKey: key.buffer }, toJSON: () => given,
    unsubscribe: async () => { localStorage.removeItem("subscribed"); return true; },
  });
  PushManager.prototype.subscribe = async function ({ applicationServerKey, userVisibleOnly }) {
    if (!userVisibleOnly) throw new Error("every message is to be seen");
    localStorage.setItem("subscribed", applicationServerKey.join());
    return made(applicationServerKey);
  };
  PushManager.prototype.getSubscription = async function () {
    const key = localStorage.getItem("subscribed");
    return key ? made(Uint8Array.from(key.split(",").map(Number))) : null;
  };
"""
NOTES = """async () => (await self.registration.getNotifications()).map((note) => (
  { title: note.title, body: note.body, tag: note.tag, actions: note.actions.map(({ action }) => action) }))"""
SHOWN = """async ([what, wanted, longest]) => {
  for (const begun = Date.now(); ; await new Promise((done) => setTimeout(done, 20))) {
    const found = (await self.registration.getNotifications()).map((note) => note[what]).sort();
    if (found.join() === wanted.join() || Date.now() - begun > longest) return found;
  }
}"""
IN_FRONT = """() => {  // which a page without a screen is only now and then
  Object.defineProperty(WindowClient.prototype, "focused", { get: () => true });
  Object.defineProperty(WindowClient.prototype, "visibilityState", { get: () => "visible" });
  const wait = self.setTimeout;
  self.setTimeout = (work, time) => wait(work, 20 * time); // a slow machine has longer moments
}"""
CLICK = """async ([tag, action]) => {
  const [notification] = await self.registration.getNotifications({ tag });
  const work = [];
  const real = ExtendableEvent.prototype.waitUntil;
  ExtendableEvent.prototype.waitUntil = (one) => work.push(one);
  self.dispatchEvent(new NotificationEvent("notificationclick", { notification, action }));
  ExtendableEvent.prototype.waitUntil = real;
  await Promise.all(work);
}"""


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    with chromium() as found:
        yield found


@pytest.fixture
def pushes() -> Iterator[PushService]:
    found = PushService()
    yield found
    found.close()


@pytest.fixture
def service(tmp_path: Path, request: pytest.FixtureRequest) -> Iterator[Service]:
    found = Service(tmp_path, "--push-local", *getattr(request, "param", ("--push-details",)))
    yield found
    found.close()


@pytest.fixture
def agent(service: Service) -> Iterator[Agent]:
    found = Agent(service, agent="claude-code", project="/work/shop")
    yield found
    found.close()


class Phone:
    """A browser with the inbox turned on and closed: only its service worker is left."""

    def __init__(self, inbox: Inbox, keys: Browser) -> None:
        self.inbox = inbox
        self.keys = keys
        self._registrations: list[dict[str, Any]] = []
        self._told = 0

    def turns_on(self) -> None:
        page = self.inbox.page
        page.click("#notify")
        page.click("#push-on")
        page.wait_for_selector("#push-off")
        page.click("#notes button:has-text('Close')")

    def leaves(self) -> Phone:
        page = self.inbox.page
        self._developer = self.inbox.context.new_cdp_session(page)
        self._developer.on(
            "ServiceWorker.workerRegistrationUpdated", lambda found: self._registrations.extend(found["registrations"])
        )
        self._developer.send("ServiceWorker.enable")
        while not self._registrations:
            page.wait_for_timeout(20)
        page.goto("about:blank")
        return self

    @property
    def worker(self) -> Any:
        return self.inbox.context.service_workers[0]

    def hears(self) -> dict[str, Any]:
        """The next message of the server reaches the service worker."""
        self._told += 1
        message = self.keys.gets(self._told)[-1]
        self.push(json.dumps(message))
        return message

    def push(self, text: str) -> None:
        where = {"origin": self.inbox.service.address, "registrationId": self._registrations[-1]["registrationId"]}
        self._developer.send("ServiceWorker.deliverPushMessage", {**where, "data": text})

    def shows(self, *wanted: str, what: str = "title") -> list[dict[str, Any]]:
        """Waits until there are notifications with these titles (or tags), and no others."""
        assert self.worker.evaluate(SHOWN, [what, sorted(wanted), LONG * 1000]) == sorted(wanted)
        found: list[dict[str, Any]] = self.worker.evaluate(NOTES)
        return found

    def presses(self, tag: str, action: str = "") -> None:
        self.worker.evaluate(CLICK, [tag, action])


Open = Callable[..., Phone]


@pytest.fixture
def new_phone(browser: Any, service: Service, pushes: PushService) -> Iterator[Open]:
    opened: list[Phone] = []

    def new(name: str = "", **options: Any) -> Phone:
        keys = Browser(pushes, f"phone{len(opened)}")
        inbox = Inbox(browser, service, name=name, **{"permissions": ["notifications"], **options})
        inbox.context.set_default_timeout(LONG * 1000)
        inbox.context.add_init_script(SUBSCRIBES % json.dumps(keys.subscription))
        opened.append(Phone(inbox, keys))
        inbox.open()
        return opened[-1]

    yield new
    problems = [problem for phone in opened for problem in phone.inbox.problems]
    for phone in opened:
        phone.inbox.close()
    assert problems == []


@pytest.fixture
def phone(new_phone: Open) -> Phone:
    found = new_phone()
    found.turns_on()
    return found.leaves()


NEEDED = "Bash: an answer is needed"


# --- answers from a notification ---------------------------------------------------------------------


def test_allow_on_the_notification_reaches_the_agent(phone: Phone, agent: Agent) -> None:
    asked = agent.runs("git push origin main")
    told = phone.hears()
    (note,) = phone.shows(NEEDED)
    assert note["body"] == "git push origin main\nclaude-code in shop"
    assert note["actions"] == ["allow", "refuse"]
    phone.presses(told["id"], "allow")
    assert asked.told() == {"decision": "allow"}
    phone.shows("Bash: allowed")


def test_refuse_on_the_notification_reaches_the_agent(phone: Phone, agent: Agent) -> None:
    asked = agent.runs("git push origin main")
    phone.presses(shown_after(phone)["id"], "refuse")
    assert asked.told()["decision"] == "block"
    phone.shows("Bash: refused")


def shown_after(phone: Phone) -> dict[str, Any]:
    told = phone.hears()
    phone.shows(NEEDED)
    return told


@pytest.mark.parametrize("service", [()], ids=["no details"], indirect=True)
def test_what_the_notification_does_not_show_cannot_be_allowed_from_it(phone: Phone, agent: Agent) -> None:
    asked = agent.runs("git push origin main")
    told = phone.hears()
    (note,) = phone.shows(NEEDED)
    assert note["body"] == "claude-code in shop"
    assert note["actions"] == ["refuse", "open"]
    phone.worker.evaluate("Clients.prototype.openWindow = async (place) => { self.opened = place; }")
    phone.presses(told["id"], "allow")  # which it does not offer
    assert phone.worker.evaluate("self.opened") == f"/#/waiting/{told['id']}"
    (item,) = phone.inbox.service.whole()
    assert item["state"] == "pending"
    phone.inbox.service.call("POST", f"/api/interactions/{told['id']}/answer", answer(told, "block"))
    assert asked.told()["decision"] == "block"


def answer(told: dict[str, Any], decision: str) -> dict[str, str]:
    return {"decision": decision, "digest": told["digest"]}


@pytest.mark.parametrize("payload", [{"command": "x" * 81}, {"command": "ls\u200b"}, {"command": "ls", "timeout": 9}])
def test_a_command_that_would_not_be_seen_whole_has_no_allow(
    phone: Phone, agent: Agent, payload: dict[str, Any]
) -> None:
    agent.asks("Bash", payload)
    phone.hears()
    (note,) = phone.shows(NEEDED)
    assert note["actions"] == ["refuse", "open"]


def test_who_comes_second_is_told_who_has_answered(phone: Phone, agent: Agent, service: Service) -> None:
    asked = agent.runs("ls")
    told = shown_after(phone)
    first = service.call("POST", f"/api/interactions/{told['id']}/answer", answer(told, "block"))
    assert asked.told()["decision"] == "block"
    phone.presses(told["id"], "allow")
    (note,) = phone.shows("Bash: answered already")
    assert note["body"] == f"ls\n{first.json['decided_by']} has refused it.\nclaude-code in shop"
    assert note["actions"] == ["open"]


def test_a_digest_that_is_not_the_question_s_decides_nothing(phone: Phone, agent: Agent, service: Service) -> None:
    agent.runs("ls")
    told = phone.keys.gets(1)[0]
    phone.push(json.dumps({**told, "digest": "0" * 64}))
    phone.shows(NEEDED)
    phone.presses(told["id"], "allow")
    phone.shows("Bash: not answered")
    (item,) = service.whole()
    assert item["state"] == "pending"


def test_who_is_logged_out_decides_nothing_and_is_told_so(phone: Phone, agent: Agent, service: Service) -> None:
    agent.runs("ls")
    told = shown_after(phone)
    phone.inbox.context.clear_cookies()
    phone.presses(told["id"], "allow")
    (note,) = phone.shows("Bash: not answered")
    assert "not logged in any more" in note["body"]
    assert note["actions"] == ["open"]
    (item,) = service.whole()
    assert item["state"] == "pending"


def test_when_the_server_is_gone_the_person_is_told_and_can_press_again(
    phone: Phone, agent: Agent, service: Service, tmp_path: Path
) -> None:
    agent.runs("ls")
    told = shown_after(phone)
    agent.close()
    service.close()
    phone.presses(told["id"], "allow")
    (note,) = phone.shows("Bash: not answered")
    assert note["body"].startswith("ls\nThe server did not answer")
    assert note["actions"] == ["allow", "refuse"]
    port = service.address.rpartition(":")[2]
    back = Service(tmp_path, "--port", port, "--push-local", "--push-details")
    try:
        phone.presses(told["id"], "allow")
        phone.shows("Bash: allowed")
        assert back.call("GET", f"/api/interactions/{told['id']}").json["allow"] is True
    finally:
        back.close()


def test_where_two_have_to_agree_the_first_is_told_that_another_is_needed(phone: Phone, agent: Agent) -> None:
    agent.runs("ls", people=2)
    phone.presses(shown_after(phone)["id"], "allow")
    (note,) = phone.shows("Bash: you agreed")
    assert "Others still have to" in note["body"]


# --- coming and going --------------------------------------------------------------------------------


def test_what_is_answered_elsewhere_disappears(phone: Phone, agent: Agent, service: Service) -> None:
    agent.runs("ls")
    told = shown_after(phone)
    service.call("POST", f"/api/interactions/{told['id']}/answer", answer(told, "allow"))
    assert phone.hears()["kind"] == "over"
    phone.shows()


def test_a_message_that_never_came_is_made_up_for_by_the_next_one(phone: Phone, agent: Agent, service: Service) -> None:
    agent.runs("first")
    old = shown_after(phone)
    service.call("POST", f"/api/interactions/{old['id']}/answer", answer(old, "allow"))
    phone.keys.gets(2)
    phone._told = 2  # "over" is lost on the way
    agent.runs("second")
    phone.shows(phone.hears()["id"], what="tag")


def test_opening_the_page_takes_away_what_does_not_wait(phone: Phone, agent: Agent, service: Service) -> None:
    agent.runs("first")
    old = shown_after(phone)
    service.call("POST", f"/api/interactions/{old['id']}/answer", answer(old, "allow"))
    phone.inbox.page.goto(service.address)
    phone.shows()


def test_a_message_that_cannot_be_read_still_says_that_something_waits(phone: Phone) -> None:
    phone.push("no JSON")
    (note,) = phone.shows("Fairlead")
    assert note["actions"] == []


def test_the_page_in_front_shows_a_question_itself(phone: Phone, agent: Agent, service: Service) -> None:
    phone.inbox.page.goto(service.address)
    phone.inbox.page.wait_for_selector("#link[data-state=connected]")
    phone.worker.evaluate(IN_FRONT)
    agent.runs("ls")
    phone.inbox.page.wait_for_selector("#list li")
    phone.hears()
    phone.push(json.dumps({"kind": "trial", "where": "the next one"}))  # after the question was through
    phone.shows("Fairlead")


def test_a_tap_opens_the_question_itself(phone: Phone, agent: Agent, service: Service) -> None:
    agent.runs("first")
    agent.runs("second")
    phone.hears()
    told = phone.hears()
    phone.shows(NEEDED, NEEDED)
    page = phone.inbox.page
    page.goto(service.address)
    page.wait_for_selector("#link[data-state=connected]")
    phone.presses(told["id"])
    page.wait_for_selector("#list li:nth-child(2) .open[aria-current]")


def test_a_link_leads_to_its_question(new_phone: Open, agent: Agent, service: Service) -> None:
    agent.runs("first")
    agent.runs("second")
    second = service.whole()[1]
    page = new_phone().inbox.page
    page.goto(f"{service.address}/#/waiting/{second['id']}")
    page.wait_for_selector("#list li:nth-child(2) .open[aria-current]")
    service.call("POST", f"/api/interactions/{second['id']}/answer", answer(second, "allow"))
    page.goto("about:blank")
    page.goto(f"{service.address}/#/waiting/{second['id']}")
    page.wait_for_selector("#said:has-text('has allowed it')")


# --- the settings ------------------------------------------------------------------------------------


def test_notifications_are_turned_on_tried_and_turned_off(new_phone: Open, pushes: PushService) -> None:
    phone = new_phone()
    phone.turns_on()
    page = phone.inbox.page
    page.click("#notify")
    page.wait_for_selector("text=1 browser of yours is told")
    page.click("#push-trial")
    page.wait_for_selector("text=It should be on your screen")
    assert phone.keys.gets(1)[0]["kind"] == "trial"
    page.click("#push-off")
    page.wait_for_selector("#push-on")
    assert page.locator("text=of yours").count() == 0


def test_who_logs_in_again_is_told_again(phone: Phone, agent: Agent, service: Service) -> None:
    phone.inbox.context.clear_cookies()
    with phone.inbox.page.expect_response(
        lambda answered: answered.url.endswith("/api/push") and answered.request.method == "POST"
    ):
        phone.inbox.open()
    agent.runs("ls")
    assert phone.keys.gets(1)[0]["tool"] == "Bash"


def test_the_server_s_own_headers_let_nothing_but_the_service_worker_in(new_phone: Open, service: Service) -> None:
    inbox = new_phone().inbox
    page = inbox.page
    worker = service.send("GET", "/sw.js", {"Host": service.host})
    assert worker.headers["content-security-policy"].startswith("default-src 'none'; connect-src 'self'")
    assert (
        page.evaluate("navigator.serviceWorker.register('/sw.js').then(() => '', (error) => error.name)") == "TypeError"
    )
    made = (
        "(() => { try { trustedTypes.createPolicy('other', {}); return ''; } catch (error) { return error.name; } })()"
    )
    assert page.evaluate(made) == "TypeError"
    assert [problem for problem in inbox.problems if "'other'" not in problem] == []
    inbox.problems.clear()


@pytest.mark.parametrize(
    ("size", "scheme", "name"), [({"width": 1280, "height": 800}, "light", "wide"), (PHONE, "dark", "phone")]
)
def test_the_sheet_fits_the_screen(
    new_phone: Open, tmp_path: Path, size: dict[str, int], scheme: str, name: str
) -> None:
    page = new_phone(viewport=size, color_scheme=scheme).inbox.page
    page.click("#notify")
    page.wait_for_selector("#push-on")
    page.screenshot(path=str(tmp_path / f"{name}.png"))
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")
    box = page.locator("#notes").bounding_box()
    assert box is not None
    assert box["x"] >= 0
    assert box["x"] + box["width"] <= size["width"]
    page.keyboard.press("Escape")
    assert page.locator("#notes").is_hidden()


def test_the_sheet_works_with_the_keyboard_alone(new_phone: Open) -> None:
    page = new_phone().inbox.page
    page.focus("#notify")
    page.keyboard.press("Enter")
    page.wait_for_selector("#push-on")
    page.focus("#push-on")
    page.keyboard.press("Enter")
    page.wait_for_selector("#push-off")
    assert re.search("Turn off", page.inner_text("#notes"))
