"""The inbox page with several people, with questions that come later than their beginnings, and with other scripts."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.server.browser import CHROMIUM, Agent, Inbox, chromium
from tests.server.service import Service

playwright = pytest.importorskip("playwright.sync_api", reason="the page is tested with Playwright")
pytestmark = pytest.mark.skipif(not CHROMIUM, reason="chromium is not installed (scripts/packages chromium)")

Open = Callable[..., Inbox]


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    with chromium() as found:
        yield found


@pytest.fixture
def service(tmp_path: Path) -> Iterator[Service]:
    found = Service(tmp_path)
    yield found
    found.close()


@pytest.fixture
def agent(service: Service) -> Iterator[Agent]:
    found = Agent(service, agent="claude-code", project="/work/shop", title="Move the shop")
    yield found
    found.close()


@pytest.fixture
def new_inbox(browser: Any, service: Service) -> Iterator[Open]:
    opened: list[Inbox] = []

    def new(**options: Any) -> Inbox:
        opened.append(Inbox(browser, service, **options))
        opened[-1].context.set_default_timeout(60_000)
        return opened[-1]

    yield new
    problems = [problem for inbox in opened for problem in inbox.problems]
    for inbox in opened:
        inbox.close()
    assert problems == []


# --- all of it, or no button --------------------------------------------------------------------------

HOLD = """
window.held = [];
const original = window.fetch;
window.fetch = async (path, options) => {
  if (/^\\/api\\/interactions\\/[0-9a-f]{32}$/u.test(path)) await new Promise((go) => window.held.push(go));
  return original(path, options);
};
"""


def test_there_is_nothing_to_press_until_all_of_it_has_come(new_inbox: Open, agent: Agent) -> None:
    inbox = new_inbox()
    inbox.page.add_init_script(HOLD)
    inbox.open()
    asked = agent.runs("make release")
    inbox.shows("Fetching all of it")
    inbox.page.wait_for_function("window.held.length === 1")
    assert inbox.page.locator("#actions button").count() == 0
    inbox.page.keyboard.press("a")
    inbox.page.keyboard.press("d")
    assert inbox.service.call("GET", "/api/interactions").json["interactions"][0]["state"] == "pending"
    inbox.page.evaluate("window.held.splice(0).forEach((go) => go())")
    inbox.ready()
    inbox.press("Allow")
    assert asked.told() == {"decision": "allow"}


def test_what_cannot_be_fetched_is_said_and_can_be_tried_again(new_inbox: Open, agent: Agent) -> None:
    inbox = new_inbox()
    asked = agent.runs("make release")
    inbox.page.route("**/api/interactions/*", lambda route: route.abort())
    inbox.open()
    inbox.shows("Not all of it is here, so it cannot be answered yet")
    assert inbox.page.locator("#actions button").count() == 0
    inbox.page.unroute("**/api/interactions/*")
    inbox.page.click("text=Try again")
    inbox.press("Allow")
    assert asked.told() == {"decision": "allow"}


def test_a_list_of_large_questions_is_opened_one_by_one(new_inbox: Open, agent: Agent) -> None:
    for number in range(3):
        agent.asks("Write", {"file_path": f"/work/shop/{number}", "content": f"number {number}\n" + "x\n" * 100_000})
    inbox = new_inbox()
    fetched: list[str] = []
    inbox.page.on(
        "request", lambda request: fetched.append(request.url) if "/api/interactions/" in request.url else None
    )
    inbox.open()
    inbox.shows("number 0")
    assert len(set(fetched)) == 1
    inbox.select("/work/shop/2")
    inbox.shows("number 2")
    assert len(set(fetched)) == 2


# --- people -------------------------------------------------------------------------------------------


def test_who_may_not_decide_sees_it_and_has_no_buttons(new_inbox: Open, agent: Agent) -> None:
    anna, ben = new_inbox(name="anna").open(), new_inbox(name="ben").open()
    asked = agent.runs(
        "terraform apply", approvers=["anna"], text="Production: let somebody look", cwd="/work/shop/infra"
    )
    for page in (anna, ben):
        page.shows("terraform apply")
        page.shows("Production: let somebody look")
        page.shows("for anna")
        page.shows("/work/shop/infra")
    ben.shows("anna may decide this; you are ben.")
    assert ben.page.locator("#actions [data-do]").count() == 0
    ben.page.keyboard.press("a")
    anna.press("Allow")
    assert asked.told() == {"decision": "allow"}
    ben.shows("Allowed by anna")


def test_an_escalated_question_is_marked_and_the_other_can_answer(new_inbox: Open, agent: Agent) -> None:
    ben = new_inbox(name="ben").open()
    asked = agent.runs("make release", approvers=["anna"], escalate_after=0.1, escalate_to=["ben"])
    ben.page.wait_for_selector("#list .chip.escalated:has-text('escalated')")
    ben.shows("escalated to ben")
    ben.press("Allow")
    assert asked.told() == {"decision": "allow"}


def test_who_is_shut_out_is_back_at_the_door(new_inbox: Open, agent: Agent, service: Service) -> None:
    anna = new_inbox(name="anna").open()
    agent.runs("make release")
    anna.shows("make release")
    service.call("DELETE", "/api/people/anna")
    anna.page.wait_for_selector("text=This browser is not logged in")
    assert anna.page.locator("text=make release").count() == 0


def _comes_in_again(inbox: Inbox, service: Service, name: str) -> None:
    key = service.call("POST", "/api/login-link", {"name": name}).json["key"]
    inbox.page.fill("#login-link", f"{service.address}/#k={key}")
    inbox.page.keyboard.press("Enter")
    inbox.page.wait_for_selector("#link[data-state=connected]")


def test_what_was_written_when_the_login_ended_is_there_again_for_who_wrote_it(
    new_inbox: Open, agent: Agent, service: Service
) -> None:
    asked = agent.runs("make release")
    anna = new_inbox(name="anna").open()
    anna.press("Refuse")
    anna.page.fill("#reason", "not on a Friday")
    service.call("DELETE", "/api/people/anna")
    anna.page.wait_for_selector("text=This browser is not logged in")
    _comes_in_again(anna, service, "anna")
    assert anna.page.input_value("#reason") == "not on a Friday"
    anna.press("Refuse")
    assert asked.told() == {"decision": "block", "message": "User rejected: not on a Friday"}


def test_what_was_written_is_not_shown_to_somebody_else(new_inbox: Open, agent: Agent, service: Service) -> None:
    agent.runs("make release")
    anna = new_inbox(name="anna").open()
    anna.press("Refuse")
    anna.page.fill("#reason", "not on a Friday")
    service.call("DELETE", "/api/people/anna")
    anna.page.wait_for_selector("text=This browser is not logged in")
    _comes_in_again(anna, service, "ben")
    anna.page.wait_for_selector("#actions [data-do=refuse]:enabled")
    assert anna.page.locator("#reason").count() == 0


# --- where a rule holds ---------------------------------------------------------------------------------


def test_a_rule_says_in_which_folder_it_holds_and_does_not_hold_in_another(new_inbox: Open, agent: Agent) -> None:
    inbox = new_inbox().open()
    asked = agent.runs("make clean", cwd="/work/shop/web")
    inbox.shows("make clean")
    inbox.press("Always allow")
    inbox.page.click("#scope-user")
    inbox.page.wait_for_selector(".sentence:has-text('run exactly make clean in the folder /work/shop/web without')")
    inbox.press("Make the rule")
    assert asked.told() == {"decision": "allow"}
    assert agent.runs("make clean", cwd="/work/shop/web").told() == {"decision": "allow"}
    agent.runs("make clean", cwd="/work/shop")
    inbox.shows("make clean")


# --- other scripts ----------------------------------------------------------------------------------------

HEBREW, ARABIC = "\u05d0\u05d1\u05d2", "\u0645\u0644\u0641"
ORDER = """
() => [...document.querySelectorAll(".part.command pre bdi")].map((one) => one.getBoundingClientRect().left)
"""


def test_words_from_right_to_left_stand_where_they_are_written(new_inbox: Open, agent: Agent) -> None:
    """`cp FROM TO` must not look like `cp TO FROM`."""
    inbox = new_inbox().open()
    agent.runs(f"cp {HEBREW} {ARABIC} \u202e x")
    inbox.page.wait_for_selector(".part.command pre bdi")
    assert inbox.page.locator(".part.command pre bdi").all_text_contents() == [HEBREW, ARABIC]
    first, second = inbox.page.evaluate(ORDER)
    assert first < second
    assert "⟨U+202E⟩" in (inbox.page.text_content(".part.command pre") or "")
    both = inbox.page.evaluate(
        """(text) => {
          const line = document.createElement("span");
          line.textContent = text;
          document.body.append(line);
          const at = (from) => { const range = document.createRange(); range.setStart(line.firstChild, from);
            range.setEnd(line.firstChild, from + 1); return range.getBoundingClientRect().left; };
          const found = [at(3), at(7)];
          line.remove();
          return found;
        }""",
        f"cp {HEBREW} {ARABIC}",
    )
    assert both[0] > both[1], "left alone, a browser turns them round: so the test can fail"
