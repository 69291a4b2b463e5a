"""Who is told of a question outside of the inbox, and when: browsers by Web Push, chats through Apprise.

Nobody waits for it: an agent's request and a person's answer are through before anything is sent. Every browser and
every chat has a lane of its own, so that a slow or broken one keeps nobody else waiting.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import random
import sys
import threading
import time
from typing import TYPE_CHECKING

from fairlead import wire
from fairlead._record import Record
from fairlead.masking import Masker
from fairlead.server import notices, push
from fairlead.server.records import PENDING

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Mapping, Sequence

    from fairlead.server.desk import Desk
    from fairlead.server.notices import Notice
    from fairlead.server.notify import Target
    from fairlead.server.push import Book, Message, Sender, Subscription
    from fairlead.server.records import Interaction
    from fairlead.server.serving import Options

    Deliver = Callable[[Sequence["Job"], int], Awaitable[float | None]]

STATUS = "notifications.json"
"""In the state folder: what keeps people from being told, for `fairlead doctor`."""
_MOST = 100
"""Messages that wait in one lane; of more, the oldest are dropped, and it is said."""
_FIRST_WAIT, _LONGEST_WAIT = 1.0, 60.0
_CATCH_UP = 1000
"""Questions; where more wait, nothing is said about those that are not among them."""
_SLOW = 30.0
_NO_SILENCE = ("push.apple.com",)
"""Services that stop delivering to a page which gets a message and shows nothing."""


class Settings(Record):
    folder: str = ""
    """The state folder; without one there is no Web Push."""
    details: bool = False
    """Whether a notification shows the command."""
    local: bool = False
    """Whether push services may be on this machine: for tests."""
    targets: tuple[Target, ...] = ()
    after: float = 0.0
    """Seconds that people in the inbox have, before chats are told."""
    address: str = ""
    """Where people reach the inbox."""
    problems: tuple[str, ...] = ()
    """What is wrong with the settings."""


def settings(options: Options, environ: Mapping[str, str], folder: str, address: str) -> Settings:
    """From the command line and the user's own files. Raises UsageError for what stands on the command line."""
    from fairlead.dialects import Places
    from fairlead.server import notify

    home = environ.get("HOME") or os.path.expanduser("~")
    found = notify.configured(Places(home=home, project="", environ=environ))
    named = notify.targets(options.notify)
    others, problems = notify.usable(found.urls, first=len(named) + 1)
    return Settings(
        folder=folder,
        details=options.push_details,
        local=options.push_local,
        targets=(*named, *others),
        after=found.after if options.notify_after is None else options.notify_after,
        address=f"https://{options.names[0]}" if options.names else address,
        problems=(*found.problems, *problems),
    )


class Job(Record):
    key: str
    until: float
    """By the monotonic clock: later it is worth nothing."""
    notice: Notice | None = None
    message: Message | None = None


class Lane:
    """What is still to be delivered to one place, in order, at most one thing for each question."""

    def __init__(self, deliver: Deliver, *, at_once: int = 1) -> None:
        """`deliver` returns None when it is done, or the seconds until it should be tried again."""
        self._deliver = deliver
        self._at_once = at_once
        self._wanted: dict[str, Job] = {}
        self._current: frozenset[str] = frozenset()
        self._delivered: set[str] = set()
        self._task: asyncio.Task[None] | None = None
        self.dropped = 0

    def put(self, job: Job) -> None:
        self._wanted.pop(job.key, None)
        self._wanted[job.key] = job
        while len(self._wanted) > _MOST:
            del self._wanted[next(iter(self._wanted))]
            self.dropped += 1
        if self._task is None:
            self._task = asyncio.create_task(self._work())

    def over(self, closing: Job | None, key: str) -> None:
        """The question is answered: what was not sent is not, and what was is taken back."""
        was_sent = key in self._delivered or key in self._current
        self._wanted.pop(key, None)
        self._delivered.discard(key)
        if was_sent and closing is not None:
            self.put(closing)

    def stop(self) -> None:
        if self._task is not None:
            self._task.cancel()

    async def _work(self) -> None:
        tries = 0
        try:
            while jobs := self._due():
                self._current = frozenset(job.key for job in jobs)
                wait = await self._deliver(jobs, tries)
                self._current = frozenset()
                if wait is None:
                    tries = 0
                    self._done(jobs)
                else:
                    tries += 1
                    await asyncio.sleep(wait)
        finally:
            self._task = None

    def _due(self) -> list[Job]:
        now = time.monotonic()
        self._wanted = {key: job for key, job in self._wanted.items() if job.until > now}
        return list(self._wanted.values())[: self._at_once]

    def _done(self, jobs: Sequence[Job]) -> None:
        for job in jobs:
            if self._wanted.get(job.key) is job:
                del self._wanted[job.key]
                if job.notice is not None:
                    self._delivered.add(job.key)


def waiting_time(tries: int, asked: float = 0.0) -> float:
    """Full jitter; and not before the time that the other side has asked for."""
    longest = min(_LONGEST_WAIT, _FIRST_WAIT * 2**tries)
    return max(min(asked, _LONGEST_WAIT), random.uniform(longest / 2, longest))  # noqa: S311  # no secret


class Teller:
    """Follows the desk, in the event loop of the server."""

    def __init__(self, desk: Desk, settings: Settings) -> None:
        self._desk = desk
        self._settings = settings
        self._book: Book | None = None
        self._sender: Sender | None = None
        self._browsers_of = b""
        """The version of the book in which they are."""
        self._browsers: dict[str, Subscription] = {}
        self._lanes: dict[str, Lane] = {}
        """By endpoint."""
        self._chats: dict[Target, Lane] = {}
        self._open: dict[str, Notice] = {}
        """Questions that wait."""
        self._told: dict[str, set[str]] = {}
        """The endpoints that were told of each of them."""
        self._timers: dict[str, asyncio.TimerHandle] = {}
        self._escalated: set[str] = set()
        """Those that everybody was told of once more."""
        self._follower: asyncio.Task[None] | None = None
        self._troubles: dict[str, str] = {}
        self.why_not = ""
        """Why there is no Web Push here."""

    # --- life ------------------------------------------------------------------------------------

    async def start(self) -> None:
        self._write_status()
        for number, problem in enumerate(self._settings.problems):
            self._trouble(f"settings {number}", problem)
        await self._open_book()
        self._chats = {target: Lane(self._to_chat(target), at_once=_MOST) for target in self._settings.targets}
        self._follow()

    async def _open_book(self) -> None:
        if not self._settings.folder:
            self.why_not = "this server keeps nothing, so it cannot know your browsers"
        elif not push.is_installed():
            self.why_not = "the server needs the extra `push`: pip install 'fairlead[push]', and start it again"
        else:
            try:
                self._book = await asyncio.to_thread(push.Book, self._settings.folder)
                key = await asyncio.to_thread(self._book.key)
                browsers = await asyncio.to_thread(self._book.all)
            except Exception as error:  # noqa: BLE001  # approvals work without
                self._book, self.why_not = None, f"the file of the browsers cannot be used: {error}"
                self._trouble("push", self.why_not)
                return
            self._sender = push.Sender(key, self._contact(), local=self._settings.local)
            self._browsers = {one.endpoint: one for one in browsers}

    def _contact(self) -> str:
        """A push service wants to know whom to ask; some refuse a name that is only ours."""
        address = self._settings.address
        return address if address.startswith("https://") and "." in address else "mailto:fairlead@example.com"

    async def stop(self) -> None:
        for timer in self._timers.values():
            timer.cancel()
        for lane in (*self._lanes.values(), *self._chats.values()):
            lane.stop()
        if self._follower is not None:
            self._follower.cancel()
            await asyncio.wait({self._follower})

    # --- browsers --------------------------------------------------------------------------------

    @property
    def public_key(self) -> str:
        return self._sender.public_key if self._sender is not None else ""

    @property
    def details(self) -> bool:
        return self._settings.details

    @property
    def chats(self) -> int:
        return len(self._chats)

    @property
    def local(self) -> bool:
        return self._settings.local

    def of(self, person: str) -> list[Subscription]:
        return [one for one in self._browsers.values() if one.person == person]

    async def add(self, one: Subscription) -> None:
        assert self._book is not None  # noqa: S101  # asked before
        await asyncio.to_thread(self._book.add, one)
        self._browsers = {known.endpoint: known for known in await asyncio.to_thread(self._book.all)}
        self._follow()

    async def _look_for_browsers(self) -> None:
        """Where other servers of this user add some too. Ten thousand questions are no reason to read them as often."""
        if not self._desk.store.shared or self._book is None:
            return
        version = self._book.version()
        if version != self._browsers_of:
            self._browsers = {known.endpoint: known for known in await asyncio.to_thread(self._book.all)}
            self._browsers_of = version

    async def remove(self, endpoint: str) -> None:
        if self._book is not None:
            await asyncio.to_thread(self._book.remove, endpoint)
        self._browsers.pop(endpoint, None)
        lane = self._lanes.pop(endpoint, None)
        if lane is not None:
            lane.stop()

    async def try_out(self, one: Subscription) -> None:
        """Raises Undelivered."""
        assert self._sender is not None  # noqa: S101  # asked before
        await self._sender.send(one, notices.trial())

    # --- following -------------------------------------------------------------------------------

    def _follow(self) -> None:
        """Only while somebody is to be told: following costs the store a look in every second."""
        shared = self._desk.store.shared and self._book is not None
        if self._follower is None and (self._browsers or self._chats or shared):
            self._follower = asyncio.create_task(self._listen())

    async def _listen(self) -> None:
        while True:
            queue = self._desk.watch()
            try:
                await self._catch_up()
                while (changed := await queue.get()) is not None:
                    await self._heard(changed)
            except Exception as error:  # noqa: BLE001  # the store has trouble; everything is looked at again
                self._trouble("desk", f"people are not told of questions now ({type(error).__name__}: {error})")
                await asyncio.sleep(_FIRST_WAIT)
            finally:
                self._desk.unwatch(queue)

    async def _catch_up(self) -> None:
        """What waits since before we listened: rather told twice than never."""
        store = self._desk.store
        waiting = await self._desk.do(store.interactions, pending=True, limit=_CATCH_UP)
        ids = {one.id for one in waiting}
        for key in [key for key in self._open if key not in ids] if len(ids) < _CATCH_UP else ():
            self._over(key)
        for one in waiting:
            await self._heard(one)
        self._well("desk")

    async def _heard(self, interaction: Interaction) -> None:
        if interaction.state != PENDING:
            self._over(interaction.id)
            return
        if interaction.id not in self._open:
            await self._look_for_browsers()
            if not self._browsers and not self._chats:
                return
            await self._ask(interaction)
        elif interaction.escalated and interaction.id not in self._escalated:
            self._tell_again(interaction)
        for one in list(self._browsers.values()):
            if interaction.concerns(one.person):
                self._tell(one.endpoint, self._open[interaction.id])

    async def _ask(self, interaction: Interaction) -> None:
        store = self._desk.store
        whole = interaction
        if self._settings.details and not interaction.body:  # a list has none
            whole = await self._desk.do(store.interaction, interaction.id) or interaction
        run = await self._desk.do(store.run, interaction.run_id)
        notice = notices.notice(whole, run, details=self._settings.details)
        self._open[notice.id], self._told[notice.id] = notice, set()
        if interaction.escalated:
            self._escalated.add(notice.id)
        if self._chats:
            loop = asyncio.get_running_loop()
            self._timers[notice.id] = loop.call_later(self._settings.after, self._tell_chats, notice)

    def _tell_again(self, interaction: Interaction) -> None:
        """Those who were asked first have let their time pass: everybody whom it concerns now, and the chats."""
        self._escalated.add(interaction.id)
        self._told[interaction.id] = set()
        if interaction.id not in self._timers:
            self._tell_chats(self._open[interaction.id])

    def _tell(self, endpoint: str, notice: Notice) -> None:
        """Once: a change of the question is nothing new for who was told already."""
        if endpoint not in self._told[notice.id]:
            self._told[notice.id].add(endpoint)
            whom = f"a browser at {push.host_of(endpoint)}"
            self._put(self._lane(endpoint), _job(notice, notices.opening(notice)), whom)

    def _tell_chats(self, notice: Notice) -> None:
        self._timers.pop(notice.id, None)
        for target, lane in self._chats.items():
            self._put(lane, _job(notice), target.name)

    def _put(self, lane: Lane, job: Job, whom: str) -> None:
        lane.put(job)
        if lane.dropped:
            self._trouble(f"dropped {whom}", f"{whom} takes messages too slowly: some were never told")

    def _over(self, key: str) -> None:
        if self._open.pop(key, None) is None:
            return
        self._told.pop(key, None)
        self._escalated.discard(key)
        timer = self._timers.pop(key, None)
        if timer is not None:
            timer.cancel()
        closing = Job(key=key, until=time.monotonic() + 600, message=notices.closing(key))
        for endpoint, lane in self._lanes.items():
            lane.over(closing if _may_be_silent(endpoint) else None, key)
        for lane in self._chats.values():
            lane.over(None, key)

    def _lane(self, endpoint: str) -> Lane:
        if endpoint not in self._lanes:
            self._lanes[endpoint] = Lane(self._to_browser(endpoint))
        return self._lanes[endpoint]

    # --- delivering ------------------------------------------------------------------------------

    def _to_browser(self, endpoint: str) -> Deliver:
        async def deliver(jobs: Sequence[Job], tries: int) -> float | None:
            one, message = self._browsers.get(endpoint), jobs[0].message
            if one is None or message is None or self._sender is None:
                return None
            try:
                if await self._desk.login(one.login) != one.person:  # logged out, or somebody else by now
                    await self._forget(endpoint)
                    return None
                await self._sender.send(one, message)
            except push.Undelivered as problem:
                return await self._undelivered(one, problem, tries)
            except Exception as error:  # noqa: BLE001  # the store has trouble: later
                self._trouble("push", f"a browser of {one.person} was not told ({type(error).__name__}: {error})")
                return waiting_time(tries)
            self._well(f"push {endpoint}")
            return None

        return deliver

    async def _undelivered(self, one: Subscription, problem: push.Undelivered, tries: int) -> float | None:
        if problem.gone:
            await self._forget(one.endpoint)
            self._well(f"push {one.endpoint}")
            return None
        self._trouble(f"push {one.endpoint}", f"a browser of {one.person} was not told: {problem}")
        return waiting_time(tries, problem.after) if problem.again else None

    async def _forget(self, endpoint: str) -> None:
        """As `remove`, from within the lane: which ends by itself."""
        self._browsers.pop(endpoint, None)
        self._lanes.pop(endpoint, None)
        if self._book is not None:
            await asyncio.to_thread(self._book.remove, endpoint)

    def _to_chat(self, target: Target) -> Deliver:
        async def deliver(jobs: Sequence[Job], tries: int) -> float | None:
            found = [job.notice for job in jobs if job.notice is not None]
            sending = _in_thread(lambda: target.send(found, self._settings.address))
            if not (await asyncio.wait({sending}, timeout=_SLOW))[0]:
                self._trouble(target.name, f"{target.name} does not answer")
            problem = await sending
            if not problem:
                self._well(target.name)
                return None
            self._trouble(target.name, f"{target.name} was not told: {problem}")
            return waiting_time(tries)

        return deliver

    # --- trouble ---------------------------------------------------------------------------------

    @property
    def trouble(self) -> str:
        """What keeps people from being told; nothing in it is a secret."""
        return "; ".join(dict.fromkeys(self._troubles.values()))

    def _trouble(self, about: str, text: str) -> None:
        text = Masker(os.environ).text(text)
        if self._troubles.get(about) != text:
            self._troubles[about] = text
            with contextlib.suppress(OSError):
                sys.stderr.write(f"fairlead serve: {text}\n")
                sys.stderr.flush()
            self._write_status()

    def _well(self, about: str) -> None:
        if self._troubles.pop(about, None) is not None:
            self._write_status()

    def _write_status(self) -> None:
        if not self._settings.folder:
            return
        path = os.path.join(self._settings.folder, STATUS)
        value = {"at": time.time(), "troubles": list(dict.fromkeys(self._troubles.values()))}
        with contextlib.suppress(OSError):
            flags = os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_NOFOLLOW
            descriptor = os.open(f"{path}.{os.getpid()}", flags, 0o600)
            with os.fdopen(descriptor, "wb") as file:
                file.write(wire.encode(value))
            os.replace(f"{path}.{os.getpid()}", path)


def _job(notice: Notice, message: Message | None = None) -> Job:
    lives = max(1.0, notice.expires_at - time.time())
    return Job(key=notice.id, until=time.monotonic() + lives, notice=notice, message=message)


def _in_thread(work: Callable[[], str]) -> asyncio.Future[str]:
    """In a thread of its own, that does not keep the server from ending."""
    loop = asyncio.get_running_loop()
    future: asyncio.Future[str] = loop.create_future()

    def finish(result: str) -> None:
        if not future.done():
            future.set_result(result)

    def run() -> None:
        try:
            result = work()
        except Exception as error:  # noqa: BLE001  # whatever it is: its text may hold a secret
            result = type(error).__name__
        with contextlib.suppress(RuntimeError):  # the server has ended meanwhile
            loop.call_soon_threadsafe(finish, result)

    threading.Thread(target=run, name="telling", daemon=True).start()
    return future


def _may_be_silent(endpoint: str) -> bool:
    host = push.host_of(endpoint)
    return not any(host == name or host.endswith(f".{name}") for name in _NO_SILENCE)
