"""The inbox page, in a real browser, with agents that really wait."""

from __future__ import annotations

import re
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from fairlead.server.visible import shown
from tests.server.browser import CHROMIUM, PHONE, Agent, Inbox, again, chromium, link
from tests.server.service import Service

playwright = pytest.importorskip("playwright.sync_api", reason="the page is tested with Playwright")
needs_chromium = pytest.mark.skipif(not CHROMIUM, reason="chromium is not installed (scripts/packages chromium)")
PAGES = Path(__file__).resolve().parents[2] / "src" / "fairlead" / "server" / "pages"

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
        return opened[-1]

    yield new
    problems = [problem for inbox in opened for problem in inbox.problems]
    for inbox in opened:
        inbox.close()
    assert problems == []


@pytest.fixture
def inbox(new_inbox: Open) -> Inbox:
    return new_inbox().open()


pytestmark = needs_chromium


# --- the way in ------------------------------------------------------------------------------------


def test_the_link_opens_the_inbox_and_leaves_no_key_behind(inbox: Inbox) -> None:
    assert "k=" not in inbox.page.url
    assert inbox.page.evaluate("document.cookie") == ""  # for the browser, not for scripts
    inbox.shows("Nothing waits")


def test_without_a_login_the_page_says_how_to_get_in_and_takes_a_pasted_link(new_inbox: Open, service: Service) -> None:
    inbox = new_inbox()
    inbox.page.goto(service.address)
    inbox.page.wait_for_selector("text=fairlead inbox --link")
    inbox.page.fill("#login-link", "http://somewhere/")
    inbox.page.click(".login button")
    inbox.page.wait_for_selector("text=This is not a link of the inbox")
    inbox.page.fill("#login-link", link(service))
    inbox.page.click(".login button")
    inbox.page.wait_for_selector("#link[data-state=connected]")


def test_a_link_that_was_used_says_so(new_inbox: Open, service: Service) -> None:
    address = link(service)
    first, second = new_inbox(), new_inbox()
    first.page.goto(address)
    first.page.wait_for_selector("#link[data-state=connected]")
    second.page.goto(address)
    second.page.wait_for_selector("#login-problem:has-text('used already')")


# --- answers ---------------------------------------------------------------------------------------


def test_an_approval_reaches_the_agent(inbox: Inbox, agent: Agent) -> None:
    asked = agent.runs("git push origin main")
    inbox.shows("git push origin main")
    assert inbox.page.title() == "(1) Fairlead inbox"
    inbox.press("Allow")
    assert asked.told() == {"decision": "allow"}
    inbox.shows("Nothing waits")
    assert inbox.page.title() == "Fairlead inbox"


def test_a_changed_command_is_shown_as_a_diff_and_reaches_the_agent(inbox: Inbox, agent: Agent) -> None:
    asked = agent.asks("Bash", {"command": "git push --force", "timeout": 5})
    inbox.shows("git push --force")
    inbox.press("Change")
    inbox.page.fill("#edit", "git push --force-with-lease")
    assert inbox.page.locator(".preview .removed").inner_text().strip().endswith("git push --force")
    assert inbox.page.locator(".preview .added .word").inner_text() == "-with-lease"
    inbox.press("Allow with this change")
    changed = {"command": "git push --force-with-lease", "timeout": 5}
    assert asked.told() == {"decision": "allow", "updated_input": changed}
    inbox.page.click("#views >> text=History")
    inbox.select("git push --force")
    inbox.shows("before it was allowed")


def test_a_tool_without_a_known_field_is_changed_as_json(inbox: Inbox, agent: Agent) -> None:
    asked = agent.asks("mcp__mail__send", {"to": "all", "n": 1})
    inbox.shows("mcp__mail__send")
    inbox.press("Change")
    inbox.page.fill("#edit", "{")
    inbox.press("Allow with this change")
    inbox.page.wait_for_selector("#actions .hint:has-text('not JSON yet')")
    inbox.page.fill("#edit", '{"to": "me"}')
    inbox.press("Allow with this change")
    assert asked.told() == {"decision": "allow", "updated_input": {"to": "me"}}


def test_numbers_that_a_browser_would_change_cannot_be_edited(inbox: Inbox, agent: Agent) -> None:
    agent.asks("Bash", {"command": "ls", "id": 2**60 + 1})
    inbox.shows("ls")
    inbox.press("Change")
    inbox.page.wait_for_selector("#actions >> text=cannot carry exactly")


def test_a_refusal_carries_its_reason(inbox: Inbox, agent: Agent) -> None:
    asked = agent.runs("rm -rf build")
    inbox.shows("rm -rf build")
    inbox.press("Refuse")
    inbox.page.fill("#reason", "use make clean")
    inbox.page.click("form.answer button.refuse")
    assert asked.told() == {"decision": "block", "message": "User rejected: use make clean"}


DATABASE = {"question": "Which database?", "header": "DB", "options": [{"label": "PostgreSQL"}, {"label": "SQLite"}]}
CHECKS = {"question": "Which checks?", "multiSelect": True, "options": [{"label": "ruff"}, {"label": "mypy"}]}


def test_one_question_is_answered_with_a_text(inbox: Inbox, agent: Agent) -> None:
    asked = agent.asks("AskUserQuestion", {"questions": [DATABASE]}, type="input")
    inbox.shows("Which database?")
    inbox.press("Send answer")
    inbox.page.wait_for_selector("#actions .hint:has-text('Choose an answer')")
    inbox.page.click("label:has-text('SQLite')")
    inbox.press("Send answer")
    assert asked.told() == {"decision": "allow", "response": "SQLite"}


def test_several_questions_are_answered_one_by_one_with_words_of_ones_own(inbox: Inbox, agent: Agent) -> None:
    asked = agent.asks("AskUserQuestion", {"questions": [DATABASE, CHECKS]}, type="input")
    inbox.shows("Which checks?")
    inbox.page.fill("fieldset:has-text('Which database') .own", "DuckDB")
    inbox.page.click("label:has-text('ruff')")
    inbox.page.click("label:has-text('mypy')")
    inbox.press("Send answer")
    assert asked.told()["response"] == {"Which database?": "DuckDB", "Which checks?": "ruff, mypy"}


def test_input_without_options_takes_a_text(inbox: Inbox, agent: Agent) -> None:
    asked = agent.asks("AskUser", {"prompt": "Name?"}, type="input")
    inbox.shows("Name?")
    inbox.page.fill("#response", "Ana\nB")
    inbox.page.wait_for_selector("[data-do=sendAnswers]:enabled")
    inbox.page.keyboard.press("Control+Enter")
    assert asked.told() == {"decision": "allow", "response": "Ana\nB"}


def test_several_alike_are_answered_together_and_others_are_left_alone(inbox: Inbox, agent: Agent) -> None:
    together = [agent.runs(f"make step-{number}") for number in range(3)]
    agent.asks("Write", {"file_path": "/work/shop/a", "content": "x"})
    inbox.page.wait_for_selector("#list li >> nth=3")
    inbox.select("make step-0")
    inbox.page.keyboard.press("Shift+X")
    inbox.shows("3 of 3: Bash")
    assert inbox.page.locator("#list li:has-text('Write') input").is_disabled()
    inbox.press("Allow 3")
    assert [asked.told() for asked in together] == [{"decision": "allow"}] * 3
    playwright.expect(inbox.page.locator("#list li")).to_have_count(1)


def test_always_allow_makes_a_rule_that_can_be_read_and_taken_back(inbox: Inbox, agent: Agent) -> None:
    asked = agent.runs("git status --short")
    inbox.shows("git status --short")
    inbox.press("Always allow")
    inbox.page.click(".offers >> text=whatever begins with git status")
    inbox.page.wait_for_selector(".sentence:has-text('begins with the words git status')")
    inbox.page.click("#scope-project")
    inbox.press("Make the rule")
    assert asked.told() == {"decision": "allow"}
    assert agent.runs("git status -b").told() == {"decision": "allow"}
    inbox.page.click("#views >> text=Rules")
    inbox.page.wait_for_selector(
        ".rule:has-text('In every run of /work/shop, Bash may run whatever begins with the words git status "
        "in the folder /work/shop without asking')"
    )
    inbox.page.click("text=Take back")
    inbox.page.wait_for_selector("text=every question comes to you")
    agent.runs("git status -v")
    inbox.page.click("#views >> text=Waiting")
    inbox.shows("git status -v")


def test_a_rule_that_does_not_cover_the_question_says_so(inbox: Inbox, agent: Agent) -> None:
    agent.runs("git log | cat")
    inbox.shows("git log | cat")
    inbox.press("Always allow")
    inbox.page.fill("#rule-text", "git log *")
    inbox.page.wait_for_selector(".sentence:has-text('not covered')")


def test_two_people_have_to_agree_where_the_question_says_so(new_inbox: Open, agent: Agent) -> None:
    ana, ben = new_inbox(name="ana").open(), new_inbox(name="ben").open()
    asked = agent.runs("terraform apply", people=2)
    ana.shows("0 of 2 agreed")
    ana.press("Allow")
    ana.shows("1 of 2 agreed: ana")
    ana.shows("You have agreed")
    ben.shows("1 of 2 agreed: ana")
    assert ben.page.locator("#actions [data-do=edit]").count() == 0
    ben.press("Allow")
    assert asked.told() == {"decision": "allow"}


def test_a_late_answer_is_explained_and_kept_for_the_next_try(inbox: Inbox, agent: Agent) -> None:
    asked = agent.runs("make deploy", expires_in=1)
    assert asked.told()["decision"] == "block"
    inbox.page.click("#views >> text=History")
    inbox.select("make deploy")
    inbox.shows("the agent was told no")
    inbox.press("Allow the next try")
    inbox.shows("next identical try within an hour takes it")
    assert agent.runs("make deploy").told() == {"decision": "allow"}


# --- several people, trouble -----------------------------------------------------------------------


def test_who_was_second_sees_who_won_without_doing_anything(new_inbox: Open, agent: Agent) -> None:
    ana, ben = new_inbox(name="ana").open(), new_inbox(name="ben").open()
    asked = agent.runs("make release")
    ana.shows("make release")
    ben.shows("make release")
    ana.press("Allow")
    ben.shows("Allowed by ana")
    assert ben.page.locator("#list li").count() == 1  # it stays in its place until ben moves on
    ben.press("Next")
    ben.shows("Nothing waits")
    assert asked.told() == {"decision": "allow"}


PRESS_AT = "at => { setTimeout(() => document.querySelector('[data-do=allow]')?.click(), at - Date.now()) }"


def test_of_two_who_press_in_the_same_moment_one_wins_and_the_other_sees_who(new_inbox: Open, agent: Agent) -> None:
    people = {name: new_inbox(name=name).open() for name in ("ana", "ben")}
    asked = agent.runs("make release")
    for inbox in people.values():
        inbox.shows("make release")
        inbox.ready()
    moment = (time.time() + 0.5) * 1000
    for inbox in people.values():
        inbox.page.evaluate(PRESS_AT, moment)
    assert asked.told() == {"decision": "allow"}
    (item,) = people["ana"].service.call("GET", "/api/interactions?state=done").json["interactions"]
    people.pop(item["decided_by"]).says("Allowed: Bash make release")
    (second,) = people.values()
    second.shows(f"Allowed by {item['decided_by']}")


def test_an_answer_that_lost_the_race_shows_the_decision_that_stands(new_inbox: Open, agent: Agent) -> None:
    ben = new_inbox(name="ben")
    ben.page.route("**/api/stream", lambda route: route.abort())  # ben's page does not hear of ana's answer
    ben.log_in()
    agent.runs("make release")
    ben.page.goto(ben.service.address)
    ben.page.wait_for_selector("#link[data-state=reconnecting]")
    ben.page.unroute("**/api/stream")
    ben.shows("make release")
    item = ben.service.call("GET", "/api/interactions").json["interactions"][0]
    ben.ready()
    ben.page.route("**/answer", lambda route: _after_somebody_else(ben.service, item, route))
    ben.press("Allow")
    ben.shows("Refused by")
    ben.shows("faster")


def _after_somebody_else(service: Service, item: dict[str, Any], route: Any) -> None:
    answer = {"decision": "block", "digest": item["digest"], "message": "faster"}
    assert service.call("POST", f"/api/interactions/{item['id']}/answer", answer).status == 200
    route.continue_()


def test_the_page_comes_back_by_itself_after_a_restart_of_the_server(
    browser: Any, tmp_path: Path, request: pytest.FixtureRequest
) -> None:
    first = Service(tmp_path)
    inbox = Inbox(browser, first).open()
    request.addfinalizer(inbox.close)
    agent = Agent(first, agent="codex", project="/p")
    agent.runs("before the restart")
    inbox.shows("before the restart")
    agent.close()
    second = again(first, tmp_path)
    request.addfinalizer(second.close)
    later = Agent(second, agent="codex", project="/p")
    request.addfinalizer(later.close)
    asked = later.runs("after the restart")
    inbox.page.wait_for_selector("#list li:has-text('after the restart')")
    inbox.page.wait_for_selector("#link[data-state=connected]")
    inbox.select("after the restart")
    inbox.press("Allow")
    assert asked.told() == {"decision": "allow"}


def test_an_answer_that_cannot_be_sent_says_that_nothing_was_decided(inbox: Inbox, agent: Agent) -> None:
    asked = agent.runs("make")
    inbox.shows("make")
    inbox.ready()
    inbox.context.set_offline(True)
    inbox.press("Allow")
    inbox.page.wait_for_selector("#actions .hint:has-text('Nothing was decided')")
    inbox.context.set_offline(False)
    inbox.press("Allow")
    assert asked.told() == {"decision": "allow"}


def test_trouble_of_the_server_is_shown(new_inbox: Open) -> None:
    inbox = new_inbox()
    inbox.page.route("**/api/me", lambda route: route.fulfill(json={"name": "x", "trouble": "OSError: disk is full"}))
    inbox.open()
    inbox.page.wait_for_selector("#trouble:has-text('disk is full')")


# --- care ------------------------------------------------------------------------------------------


def test_buttons_sleep_until_the_text_stands_still(inbox: Inbox, agent: Agent) -> None:
    agent.runs("first")
    agent.runs("second")
    inbox.page.wait_for_selector("#list li >> nth=1")
    inbox.ready()
    asleep = inbox.page.evaluate(
        "() => { document.querySelectorAll('#list .open')[1].click();"
        " return [...document.querySelectorAll('#actions [data-do]')].every((one) => one.disabled); }"
    )
    assert asleep is True
    inbox.ready()


def test_new_questions_do_not_move_what_is_on_the_screen(inbox: Inbox, agent: Agent) -> None:
    agent.runs("first")
    inbox.shows("first")
    inbox.ready()
    before = inbox.page.locator("[data-do=allow]").bounding_box(), inbox.page.locator("#list li").first.bounding_box()
    agent.runs("second")
    inbox.page.wait_for_selector("#list li >> nth=1")
    assert (
        inbox.page.locator("[data-do=allow]").bounding_box(),
        inbox.page.locator("#list li").first.bounding_box(),
    ) == before
    inbox.shows("first")


def test_a_diff_of_thousands_of_lines_is_all_there_and_drawn_piece_by_piece(inbox: Inbox, agent: Agent) -> None:
    old = "\n".join(f"old {number}" for number in range(3000))
    agent.asks("Edit", {"file_path": "/work/shop/a", "old_string": old, "new_string": old.replace("old", "new")})
    inbox.page.wait_for_selector(".diff .line")
    assert inbox.page.locator(".diff .line").count() == 6000
    assert "new 2999" in (inbox.page.locator(".diff .line").last.text_content() or "")
    drawn = "all => all.map(one => getComputedStyle(one).contentVisibility)"
    assert set(inbox.page.locator(".diff > *").evaluate_all(drawn)) == {"auto"}


def test_what_is_longer_than_the_screen_is_allowed_only_after_its_end_was_seen(inbox: Inbox, agent: Agent) -> None:
    asked = agent.asks("Write", {"file_path": "/work/shop/a", "content": "line\n" * 400 + "the end"})
    inbox.shows("the end")
    inbox.page.wait_for_selector("#actions [data-do=refuse]:enabled")
    assert inbox.page.locator("[data-do=allow]").is_disabled()
    inbox.page.keyboard.press("a")
    inbox.page.click("text=More below")
    inbox.press("Allow")
    assert asked.told() == {"decision": "allow"}


@pytest.mark.parametrize("keys", [["g", "a"], ["g", "d"]], ids=" ".join)
def test_a_mistyped_place_is_no_answer(inbox: Inbox, agent: Agent, keys: list[str]) -> None:
    agent.runs("make")
    inbox.shows("make")
    inbox.ready()
    for key in keys:
        inbox.page.keyboard.press(key)
    assert inbox.page.locator("form.answer").count() == 0
    assert len(inbox.service.call("GET", "/api/interactions").json["interactions"]) == 1


def test_a_key_that_is_held_down_answers_one_question_only(inbox: Inbox, agent: Agent) -> None:
    for number in range(3):
        agent.runs(f"make {number}")
    inbox.page.wait_for_selector("#list li >> nth=2")
    inbox.ready()
    inbox.page.keyboard.down("a")
    inbox.says("Allowed: Bash make 0")
    inbox.ready()
    for _ in range(5):
        inbox.page.keyboard.down("a")  # what the system sends while it is held
    assert len(inbox.service.call("GET", "/api/interactions").json["interactions"]) == 2
    inbox.page.keyboard.up("a")


def test_everything_works_with_the_keyboard_alone(inbox: Inbox, agent: Agent) -> None:
    allowed, refused, changed = agent.runs("one"), agent.runs("two"), agent.runs("three")
    question = agent.asks("AskUserQuestion", {"questions": [DATABASE]}, type="input")
    inbox.page.wait_for_selector("#list li >> nth=3")
    keyboard = inbox.page.keyboard
    keyboard.press("?")
    inbox.page.wait_for_selector("dialog[open]")
    keyboard.press("Escape")
    inbox.ready()
    keyboard.press("a")
    assert allowed.told() == {"decision": "allow"}
    inbox.shows("two")
    inbox.ready()
    keyboard.press("d")
    keyboard.type("no")
    inbox.page.wait_for_selector("form.answer button.refuse:enabled")
    keyboard.press("Control+Enter")
    assert refused.told()["message"] == "User rejected: no"
    inbox.shows("three")
    inbox.ready()
    keyboard.press("j")
    keyboard.press("k")
    inbox.ready()
    keyboard.press("e")
    keyboard.press("End")
    keyboard.type(" four")
    inbox.page.wait_for_selector("form.answer button.allow:enabled")
    keyboard.press("Control+Enter")
    assert changed.told()["updated_input"] == {"command": "three four"}
    inbox.shows("Which database?")
    keyboard.press("2")
    inbox.page.wait_for_selector("[data-do=sendAnswers]:enabled")
    keyboard.press("Control+Enter")
    assert question.told()["response"] == "SQLite"
    keyboard.press("g")
    keyboard.press("h")
    inbox.page.wait_for_selector("#search:not([hidden])")
    keyboard.press("/")
    inbox.page.wait_for_selector("#search-text:focus")


# --- looking back ----------------------------------------------------------------------------------


def test_the_history_is_searched_and_a_run_has_its_timeline(inbox: Inbox, agent: Agent) -> None:
    for command in ("apple pie", "banana split", "cherry tart"):
        asked = agent.runs(command)
        inbox.shows(command)
        inbox.press("Allow")
        asked.told()
    agent.runs("waits still")
    inbox.page.click("#views >> text=History")
    inbox.page.wait_for_selector("#list li >> nth=2")
    inbox.page.fill("#search-text", "BANANA")
    playwright.expect(inbox.page.locator("#list li")).to_have_count(1)
    inbox.select("banana split")
    inbox.page.click(".where a")
    inbox.page.wait_for_selector("#side-head:has-text('Move the shop')")
    inbox.page.wait_for_selector("#list li >> nth=3")
    found = inbox.page.locator("#list .summary").all_inner_texts()
    assert found == ["waits still", "cherry tart", "banana split", "apple pie"]


RECORD_NOTES = """
    window.notes = [];
    window.Notification = class extends EventTarget {
      static permission = "default";
      static async requestPermission() { return (this.permission = "granted"); }
      constructor(title, options) { super(); window.notes.push([title, options.body]);
        document.documentElement.dataset.notes = window.notes.length; }
      close() {}
    };
    Document.prototype.hasFocus = () => false;
"""


def test_a_notification_comes_on_request_and_names_no_content(new_inbox: Open, agent: Agent) -> None:
    inbox = new_inbox()
    inbox.context.add_init_script(RECORD_NOTES)
    inbox.open()
    agent.runs("first secret")
    inbox.shows("first secret")
    assert inbox.page.evaluate("window.notes") == []
    inbox.page.click("#notify")
    inbox.page.click("#page-on")
    inbox.says("You will be notified")
    agent.runs("second secret")
    inbox.page.wait_for_selector("html[data-notes='1']")
    assert inbox.page.evaluate("window.notes") == [["Bash: an answer is needed", "claude-code in shop"]]


def test_the_browser_itself_grants_notifications(new_inbox: Open) -> None:
    inbox = new_inbox(permissions=["notifications"]).open()
    inbox.page.click("#notify")
    inbox.page.click("#page-on")
    inbox.says("You will be notified")
    inbox.page.click("#page-off")
    inbox.page.wait_for_selector("#page-on")


# --- looks -----------------------------------------------------------------------------------------

EDIT = {"file_path": "/work/shop/a.py", "old_string": "a = 1\nb = 2", "new_string": "a = 1\nb = 3"}


HELD = """
const real = window.fetch;
let hold, go;
window.isHeld = new Promise((done) => { hold = done; });
const gone = new Promise((done) => { go = done; });
window.fetch = async (path, ...rest) => {
  const answer = await real(path, ...rest);
  if (path === "/api/interactions?state=pending") { hold(); await gone; }
  return answer;
};
window.letGo = async () => {
  go();
  await (await real("/api/me")).json();
};
"""


def test_a_list_that_comes_late_hides_nothing_that_came_meanwhile(new_inbox: Open, agent: Agent) -> None:
    inbox = new_inbox()
    inbox.page.add_init_script(HELD)
    inbox.open()
    inbox.page.evaluate("isHeld")
    agent.runs("git push origin main")
    agent.runs("git push origin next")
    inbox.page.wait_for_selector("#list li >> nth=1")
    inbox.page.evaluate("letGo()")
    assert inbox.page.locator("#list li").count() == 2


def test_a_phone_shows_one_column_with_buttons_for_thumbs(new_inbox: Open, agent: Agent) -> None:
    inbox = new_inbox(viewport=PHONE, is_mobile=True, has_touch=True).open()
    asked = agent.asks("Edit", EDIT)
    agent.runs("x" * 500)
    inbox.page.wait_for_selector("#list li >> nth=1")
    assert inbox.page.locator("#detail").is_hidden()
    inbox.page.locator("#list .open").first.tap()
    inbox.ready()
    assert inbox.page.locator("#side").is_hidden()
    for label in ("Allow", "Refuse", "Change"):
        box = inbox.page.locator("#actions button", has_text=label).first.bounding_box()
        assert box is not None
        assert box["height"] >= 44
        assert box["y"] + box["height"] <= PHONE["height"]
    assert _fits(inbox)
    inbox.page.locator("[data-do=allow]").tap()
    assert asked.told() == {"decision": "allow"}
    inbox.page.locator("#list .open").first.tap()
    inbox.ready()
    assert _fits(inbox)
    inbox.page.locator(".back").tap()
    inbox.page.wait_for_selector("#side:visible")


def _fits(inbox: Inbox) -> bool:
    return bool(inbox.page.evaluate("document.documentElement.scrollWidth <= innerWidth"))


CONTRAST = """
() => {
  const canvas = document.createElement("canvas").getContext("2d", { willReadFrequently: true });
  const rgba = (colour) => { canvas.clearRect(0, 0, 1, 1); canvas.fillStyle = colour; canvas.fillRect(0, 0, 1, 1);
    return [...canvas.getImageData(0, 0, 1, 1).data]; };
  const light = ([r, g, b]) => { const f = (v) => (v /= 255) <= 0.03928 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4;
    return 0.2126 * f(r) + 0.7152 * f(g) + 0.0722 * f(b); };
  const behind = (element) => { for (let at = element; at; at = at.parentElement) {
    const found = rgba(getComputedStyle(at).backgroundColor); if (found[3] === 255) return found; }
    return [255, 255, 255]; };
  const found = [];
  const words = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  while (words.nextNode()) {
    const element = words.currentNode.parentElement;
    if (!words.currentNode.data.trim()) continue;
    if (!element.checkVisibility({ visibilityProperty: true, opacityProperty: true })) continue;
    if (element.closest(":disabled, .hidden, .skip, kbd, noscript")) continue;
    const [a, b] = [light(rgba(getComputedStyle(element).color)), light(behind(element))];
    const ratio = (Math.max(a, b) + 0.05) / (Math.min(a, b) + 0.05);
    if (ratio < 4.5) found.push([words.currentNode.data.trim().slice(0, 40), element.className, ratio]);
  }
  return found;
}
"""


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_every_text_has_enough_contrast(new_inbox: Open, agent: Agent, scheme: str) -> None:
    inbox = new_inbox(color_scheme=scheme).open()
    agent.asks("Edit", EDIT)
    agent.runs("echo \u202e cu\u0440l", expires_in=50)
    inbox.page.wait_for_selector("#list li >> nth=1")
    inbox.ready()
    assert inbox.page.evaluate(CONTRAST) == []
    inbox.select("echo")
    inbox.ready()
    assert inbox.page.evaluate(CONTRAST) == []
    inbox.press("Refuse")
    inbox.page.wait_for_selector("form.answer button.refuse:enabled")
    inbox.page.keyboard.press("Control+Enter")
    inbox.page.click("#views >> text=History")
    inbox.select("echo")
    inbox.shows("Refused by")
    assert inbox.page.evaluate(CONTRAST) == []
    back = inbox.page.evaluate("getComputedStyle(document.body).backgroundColor")
    assert (max(int(part) for part in re.findall(r"\d+", back)[:3]) < 80) is (scheme == "dark")


NAMELESS = """
() => [...document.querySelectorAll("button, input, textarea, a, dialog")]
  .filter((one) => one.checkVisibility())
  .filter((one) => !one.textContent.trim() && !one.getAttribute("aria-label"))
  .filter((one) => ![...(one.labels ?? [])].some((label) => label.textContent.trim()))
  .map((one) => one.outerHTML)
"""


def test_everything_that_can_be_used_has_a_name(inbox: Inbox, agent: Agent) -> None:
    agent.runs("git status")
    agent.asks("AskUserQuestion", {"questions": [DATABASE, CHECKS]}, type="input")
    inbox.page.wait_for_selector("#list li >> nth=1")
    inbox.ready()
    for opens in ("Refuse", "Change", "Always allow"):
        inbox.press(opens)
        assert inbox.page.evaluate(NAMELESS) == []
        inbox.page.keyboard.press("Escape")
    inbox.select("Which database?")
    assert inbox.page.evaluate(NAMELESS) == []


# --- nothing that an agent says is more than text --------------------------------------------------

_RUNS = "window.hit=1"
XSS = [
    f"<script>{_RUNS}</script>",
    f"<ScRiPt>{_RUNS}</sCrIpT>",
    f"</pre><script>{_RUNS}</script>",
    f"</textarea><script>{_RUNS}</script>",
    f"</title><script>{_RUNS}</script>",
    f"</style><script>{_RUNS}</script>",
    f"--><script>{_RUNS}</script>",
    f"]]><script>{_RUNS}</script>",
    f"<script\x0c>{_RUNS}</script>",
    f"<script/x>{_RUNS}</script>",
    "<script src=data:text/javascript,window.hit=1></script>",
    "<script src=//localhost/x.js></script>",
    "<script type=module>window.hit=1</script>",
    "<script>import('data:text/javascript,window.hit=1')</script>",
    *(
        f"<{tag} {event}={_RUNS}>"
        for tag, event in (
            ("img src=x", "onerror"), ("img src=/icon.svg", "onload"), ("svg", "onload"), ("body", "onload"),
            ("body", "onpageshow"), ("video src=x", "onerror"), ("audio src=x", "onerror"),
            ("details open", "ontoggle"),
            ("input autofocus", "onfocus"), ("textarea autofocus", "onfocus"), ("select autofocus", "onfocus"),
            ("marquee", "onstart"), ("iframe", "onload"), ("object data=x", "onerror"), ("embed src=x", "onload"),
            ("link rel=stylesheet href=x", "onerror"), ("style", "onload"), ("div", "onmouseover"),
            ("p style=animation:x", "onanimationstart"), ("a href=# tabindex=1 autofocus", "onfocus"),
            ("button autofocus", "onfocus"), ("source", "onerror"), ("track", "onerror"), ("frameset", "onload"),
            ("isindex type=image src=1", "onerror"), ("x contenteditable", "onblur"), ("dialog open", "oncancel"),
            ("img/src=x", "onerror"), ("svg/onload=window.hit=1//", "x"), ("img src=x\n", "onerror"),
        )
    ),
    "<svg><script>window.hit=1</script></svg>",
    "<svg><animate onbegin=window.hit=1 attributeName=x dur=1s>",
    "<svg><foreignObject><img src=x onerror=window.hit=1></foreignObject></svg>",
    "<math><mtext><table><mglyph><style><img src=x onerror=window.hit=1>",
    "<iframe srcdoc='<script>parent.hit=1</script>'></iframe>",
    "<iframe src=javascript:parent.hit=1></iframe>",
    "<a href=javascript:window.hit=1>click</a>",
    "<form action=javascript:window.hit=1><button autofocus>x</button></form>",
    "<meta http-equiv=refresh content='0;url=javascript:window.hit=1'>",
    "<base href=//localhost/>",
    "<template><script>window.hit=1</script></template>",
    "<noscript><p title='</noscript><img src=x onerror=window.hit=1>'>",
    "<object data='data:text/html,<script>parent.hit=1</script>'></object>",
    "<style>@import '//localhost/x.css'; * { background: url(//localhost/y) }</style>",
    "javascript:window.hit=1",
    "\"><img src=x onerror=window.hit=1>",
    "'><img src=x onerror=window.hit=1>",
    "' onfocus=window.hit=1 autofocus x='",
    "\" onfocus=window.hit=1 autofocus x=\"",
    "`${window.hit=1}`",
    "${window.hit=1}",
    "{{constructor.constructor('window.hit=1')()}}",
    "&lt;script&gt;window.hit=1&lt;/script&gt;",
    "&#60;script&#62;window.hit=1&#60;/script&#62;",
    "\\u003cscript\\u003ewindow.hit=1\\u003c/script\\u003e",
    "[x](javascript:window.hit=1) ![x](x onerror=window.hit=1)",
    "__proto__",
    "constructor",
    "\U0001f600<img src=x onerror=window.hit=1>\u200b",
]  # fmt: skip


def test_no_script_of_an_agent_runs_anywhere_on_the_page(new_inbox: Open, service: Service) -> None:
    assert len(XSS) >= 60
    inbox = new_inbox().open()
    agents = []
    for bad in XSS:
        agents.append(Agent(service, agent=bad, project=bad, title=bad))
        agents[-1].asks(bad, {"command": bad, bad: bad})
        agents[-1].runs(bad)
    inbox.page.wait_for_selector(f"#list li >> nth={2 * len(XSS) - 1}")
    summaries = inbox.page.locator("#list .summary").all_text_contents()
    assert summaries[1::2] == [shown(bad.split("\n")[0]) + ("…" if "\n" in bad else "") for bad in XSS]
    for number in range(2 * len(XSS)):
        inbox.page.evaluate("at => document.querySelectorAll('#list .open')[at].click()", number)
        if number % 2:
            assert inbox.page.text_content(".part.command pre").rstrip("\n") == shown(XSS[number // 2])  # type: ignore[union-attr]
    foreign = (
        "#main :is(script, iframe, svg, object, embed, style, meta, base, link, video, audio, math, img, form[action])"
    )
    assert inbox.page.locator(foreign).count() == 0
    assert inbox.page.evaluate("window.hit") is None
    for one in agents:
        one.close()


INSERT = """
async (all) => {
  let hits = 0;
  for (const one of all) {
    window.hit = 0;
    document.body.innerHTML = one;
    await new Promise((done) => setTimeout(done, 20));
    hits += window.hit;
  }
  return hits;
}
"""


def test_the_same_scripts_run_where_text_becomes_html(browser: Any) -> None:
    page = browser.new_page()
    page.goto("about:blank")
    assert page.evaluate(INSERT, XSS) >= 10
    page.close()


def test_no_script_runs_in_questions_reasons_rules_edits_and_history(inbox: Inbox, agent: Agent) -> None:
    bad = XSS[14]
    options = [{"label": bad, "description": bad}]
    asked = agent.asks(
        "AskUserQuestion", {"questions": [{"question": bad, "header": bad, "options": options}]}, type="input"
    )
    inbox.page.click(".option")
    inbox.press("Send answer")
    assert asked.told()["response"] == bad
    asked = agent.runs(bad)
    inbox.page.wait_for_selector("#actions [data-do=edit]:enabled")
    inbox.press("Change")
    inbox.page.fill("#edit", bad * 2)
    inbox.page.wait_for_selector(".preview .added")
    inbox.page.keyboard.press("Escape")
    inbox.press("Always allow")
    inbox.press("Make the rule")
    asked.told()
    asked = agent.asks("Edit", {"file_path": bad, "old_string": bad, "new_string": bad * 2})
    inbox.press("Refuse")
    inbox.page.fill("#reason", bad)
    inbox.page.click("form.answer button.refuse")
    asked.told()
    for place in ("History", "Rules"):
        inbox.page.click(f"#views >> text={place}")
        inbox.page.wait_for_selector(".rule" if place == "Rules" else "#list li >> nth=2")
    assert inbox.page.evaluate("window.hit") is None


HIDDEN = "\u202e\u2066\u200b\x1b\u200d\U000e0041\u3164\x85\xad\xa0\ufe0f\u0301"


def test_what_cannot_be_seen_is_written_out(inbox: Inbox, agent: Agent) -> None:
    agent.runs("echo a".join(HIDDEN))
    inbox.shows("echo a")
    names = [f"⟨U+{ord(hidden):04X}⟩" for hidden in HIDDEN]
    assert inbox.page.locator(".part.command .unseen").all_inner_texts() == names
    assert not set(HIDDEN) & set(inbox.page.text_content("#main") or "")
    inbox.press("Change")
    inbox.page.fill("#edit", "echo b".join(HIDDEN))
    assert inbox.page.locator(".preview .added .unseen").all_inner_texts() == names


def test_words_that_mix_alphabets_are_pointed_out(inbox: Inbox, agent: Agent) -> None:
    agent.runs("cu\u0440l https://example.com\n\u043f\u0440\u0438\u0432\u0435\u0442")
    inbox.page.wait_for_selector(".warning:has-text('looks like another word: cu\u0440l')")
    assert inbox.page.locator(".warning").count() == 1


SINKS = re.compile(
    r"innerHTML|outerHTML|insertAdjacentHTML|document\.write|\beval\b|new Function|\son\w+\s*=\s*[\"']|javascript:|"
    r"https?://(?!www\.w3\.org/2000/svg)|<style|style=|createContextualFragment|DOMParser|setHTML"
)


@pytest.mark.parametrize("file", sorted(PAGES.iterdir()), ids=lambda file: file.name)
def test_the_sources_know_no_way_to_make_code_of_text(file: Path) -> None:
    assert SINKS.findall(file.read_bytes().decode("utf-8", "replace")) == []


@pytest.mark.parametrize(
    "bad", ["a.innerHTML = b", "eval(x)", "<p onclick='x'>", '<p style="x">', "import 'https://x/y.js'"]
)
def test_a_way_to_make_code_of_text_would_be_found(bad: str) -> None:
    assert SINKS.search(bad)
