"""A real Chromium in front of a real server, with agents that wait."""

from __future__ import annotations

import http.client
import json
import re
import shutil
import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from fairlead.server import security
from tests.server.service import Service

if TYPE_CHECKING:
    from playwright.sync_api import Browser, BrowserContext, Page

CHROMIUM = next(
    (found for name in ("chromium", "chromium-browser", "google-chrome") if (found := shutil.which(name))), ""
)
WIDE = {"width": 1280, "height": 800}
PHONE = {"width": 390, "height": 780}


@contextmanager
def chromium() -> Iterator[Browser]:
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox", "--disable-dev-shm-usage"])
        yield browser
        browser.close()


class Agent:
    """One run of an agent, and what it asks."""

    def __init__(self, service: Service, **about: str) -> None:
        self._service = service
        self.run, self._key = service.new_run(**about)
        self._open: list[http.client.HTTPConnection] = []

    def asks(self, tool: str, payload: dict[str, Any], **more: Any) -> Waiting:
        """Returns when the question is stored."""
        connection = self._service.ask(self.run, self._key, uuid.uuid4().hex, tool, payload, **more)
        self._open.append(connection)
        return Waiting(connection)

    def runs(self, command: str, **more: Any) -> Waiting:
        return self.asks("Bash", {"command": command}, **more)

    def close(self) -> None:
        for connection in self._open:
            connection.close()


class Waiting:
    """An agent's request, open until somebody answers."""

    def __init__(self, connection: http.client.HTTPConnection) -> None:
        self._answer = connection.getresponse()  # the head comes at once

    def told(self) -> Any:
        """What the agent hears; waits for it."""
        return json.loads(self._answer.read())


class Inbox:
    """One person's page, and everything in it that went wrong."""

    def __init__(self, browser: Browser, service: Service, *, name: str = "", **options: Any) -> None:
        self.service = service
        self.context: BrowserContext = browser.new_context(**{"viewport": WIDE, **options})
        self.context.set_default_timeout(8_000)
        self.page: Page = self.context.new_page()
        self.problems: list[str] = []
        self.page.on("pageerror", lambda error: self.problems.append(str(error)))
        self.page.on(
            "console", lambda said: self.problems.append(said.text) if "Content Security" in said.text else None
        )
        self.page.on("dialog", lambda dialog: self.problems.append(f"a dialog: {dialog.message}"))
        self._name = name

    def open(self, at: str = "") -> Inbox:
        if self._name:
            self.log_in()
            self.page.goto(self.service.address + "/" + at)
        else:
            self.page.goto(link(self.service))
        self.page.wait_for_selector("#link[data-state=connected]")
        return self

    def log_in(self) -> None:
        """In the name of the person whose page it is."""
        value = self.service.new_session(self._name).partition("=")[2]
        self.context.add_cookies([{"name": security.COOKIE, "value": value, "url": self.service.address}])

    def select(self, text: str) -> None:
        self.page.locator("#list .open", has_text=text).first.click()

    def press(self, label: str) -> None:
        """A button of the bar, once it is awake."""
        self.page.locator("#actions button", has_text=re.compile(f"^{label}")).click()

    def ready(self) -> None:
        self.page.wait_for_selector("#actions [data-do=allow]:enabled")

    def says(self, text: str) -> None:
        self.page.wait_for_selector(f"#said:has-text({json.dumps(text)})")

    def shows(self, text: str) -> None:
        self.page.wait_for_selector(f"#detail:has-text({json.dumps(text)})")

    def close(self) -> None:
        self.context.close()


def link(service: Service) -> str:
    return f"{service.address}/#k={service.call('POST', '/api/login-link').json['key']}"


def again(service: Service, home: Path) -> Service:
    """The same server after a restart: the same port and store."""
    port = service.address.rpartition(":")[2]
    service.close()
    return Service(home, "--port", port)
