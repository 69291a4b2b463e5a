"""What the notification settings of the page call."""

from __future__ import annotations

from typing import TYPE_CHECKING

from starlette.routing import Route

from fairlead.server import push
from fairlead.server.inbox import _fields, _guarded, _json
from fairlead.server.records import Refused

if TYPE_CHECKING:
    from starlette.requests import Request
    from starlette.responses import Response

    from fairlead.server.inbox import Inbox, Person
    from fairlead.server.push import Subscription
    from fairlead.server.telling import Teller


class PushApi:
    """A browser belongs to the person who is logged in with it, for as long as they are."""

    def __init__(self, inbox: Inbox, teller: Teller) -> None:
        self._inbox = inbox
        self._teller = teller

    def routes(self) -> list[Route]:
        found = [
            ("GET", "/api/push", self.about),
            ("POST", "/api/push", self.subscribe),
            ("POST", "/api/push/end", self.end),
            ("POST", "/api/push/trial", self.trial),
        ]
        return [Route(path, _guarded(endpoint), methods=[method]) for method, path, endpoint in found]

    async def about(self, request: Request) -> Response:
        person, teller = await self._inbox.person(request), self._teller
        return _json(
            {
                "available": bool(teller.public_key),
                "why_not": teller.why_not,
                "public_key": teller.public_key,
                "details": teller.details,
                "browsers": len(teller.of(person.name)),
                "chats": teller.chats,
                "trouble": teller.trouble,
            }
        )

    async def subscribe(self, request: Request) -> Response:
        person = await self._with_browser(request)
        fields = await _fields(request)
        await self._teller.add(
            push.read_subscription(fields, person=person.name, login=person.login, local=self._teller.local)
        )
        return _json({"browsers": len(self._teller.of(person.name))}, status=201)

    async def end(self, request: Request) -> Response:
        person = await self._with_browser(request)
        await self._teller.remove((await self._own(request, person)).endpoint)
        return _json({"browsers": len(self._teller.of(person.name))})

    async def trial(self, request: Request) -> Response:
        """A message to this browser, now: does it arrive?"""
        person = await self._with_browser(request)
        one = await self._own(request, person)
        try:
            await self._teller.try_out(one)
        except push.Undelivered as problem:
            if problem.gone:
                await self._teller.remove(one.endpoint)
            raise Refused(409, "undelivered", f"it was not sent: {problem}") from None
        return _json({})

    async def _with_browser(self, request: Request) -> Person:
        person = await self._inbox.person(request)
        if not person.login:
            raise Refused(403, "not_yours", "only a browser that is logged in can be told")
        if not self._teller.public_key:
            raise Refused(409, "unavailable", self._teller.why_not)
        return person

    async def _own(self, request: Request, person: Person) -> Subscription:
        endpoint = (await _fields(request)).get("endpoint")
        for one in self._teller.of(person.name):
            if one.endpoint == endpoint:
                return one
        raise Refused(404, "not_found", "this browser is not told of questions")
