"""Which way an agent takes to Fairlead: straight to the server, through the relay, or by starting `fairlead hook`."""

from __future__ import annotations

import os

from fairlead import relay
from fairlead._record import Record
from fairlead.errors import plain
from fairlead.folders import hook_socket, hook_token, state_folder
from fairlead.installing import commands, files, jsonc

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from typing import Any

    from fairlead.installing.commands import Call
    from fairlead.installing.entries import Wishes
    from fairlead.installing.plans import Machine
    from fairlead.installing.specs import Install

PORT = 8737
"""Where `fairlead serve` listens if nobody says otherwise."""
VIAS = ("auto", "http", "relay", "process")
_PASSES = (
    "--via http: while `fairlead serve` does not run, NOTHING IS GUARDED: the agent goes on as if there were no hooks. "
    "--enforce makes Claude Code refuse instead, from 2.1.295"
)
_REFUSES = "--via http: while `fairlead serve` does not run, every tool call and every prompt is refused"
_ELSEWHERE = (
    "--via http: hooks run with the environment of the server, and the project is the folder in which the agent is at "
    "that moment; --via relay has neither limit"
)


class Way(Record):
    """How the events of one agent get to us."""

    before: tuple[str, ...] = ()
    """The words of the relay, which stand before the command; empty where it is started directly."""
    files: tuple[tuple[str, bytes, int], ...] = ()
    """What the relay consists of: path, content, mode."""
    http: tuple[str, ...] = ()
    """Events that go straight to the server."""
    address: str = ""
    key: str = ""
    notes: tuple[str, ...] = ()

    @property
    def name(self) -> str:
        return "http" if self.http else "relay" if self.before else "process"


DIRECT = Way()
"""`fairlead hook` itself, which is always there."""


def chosen(spec: Install, scope: str, wishes: Wishes, machine: Machine, shown: str) -> Way:
    """The one that is asked for; for `auto` the fastest that cannot weaken anything.

    Never http: what an agent's environment says, such as the project that it was started for, does not get to a server.
    """
    way = _by_command(wishes.via, machine)
    if wishes.via != "http":
        return way
    obstacle = _no_http(spec, scope)
    if obstacle:
        return way.but(notes=(*way.notes, f"--via http: {obstacle}; it gets {_TITLES[way.name]} instead"))
    direction = _REFUSES if wishes.enforce and spec.http_fails_closed else _PASSES
    address, key = _address(machine), _key(hook_token(machine.environ, machine.home))
    notes = (*way.notes, direction, _ELSEWHERE, *_always_the_same(address), *_obstacles_in(shown))
    return way.but(http=spec.http, address=address, key=key, notes=notes)


_TITLES = {"relay": "the relay", "process": "`fairlead hook`"}


# --- a command ---------------------------------------------------------------------------------------


def _by_command(via: str, machine: Machine) -> Way:
    if via == "process":
        return DIRECT
    socket = hook_socket(machine.environ, machine.home)
    fits = len(os.fsencode(socket)) <= relay.LONGEST_SOCKET
    where = relay.folder(machine.environ, machine.home)
    if relay.is_compiled(where) and (fits or via == "relay"):
        kind = "compiled"
    elif via == "relay" or (fits and _uses_the_server(machine)):
        kind = "python"
    else:
        return DIRECT
    made = tuple((os.path.join(where, name), content, mode) for name, content, mode in relay.parts(kind))
    too_long = f"{socket} is too long for a socket: the relay always starts Fairlead anew"
    return Way(before=tuple(relay.words(kind, where, socket)), files=made, notes=() if fits else (too_long,))


def _uses_the_server(machine: Machine) -> bool:
    """Without a server the relay in Python is one interpreter more, and no gain."""
    return os.path.lexists(hook_socket(machine.environ, machine.home))


# --- http --------------------------------------------------------------------------------------------


def _no_http(spec: Install, scope: str) -> str:
    if not spec.http:
        return f"{spec.title} cannot send its hooks to a server with a key"
    if scope == "project":
        return "a project's file is no place for a key"
    return ""


def _address(machine: Machine) -> str:
    return announced(machine.environ, machine.home) or f"http://127.0.0.1:{PORT}"


def _always_the_same(address: str) -> Iterator[str]:
    port = address.rpartition(":")[2]
    if port != str(PORT):
        yield f"--via http: the server must always be started with --port {port}, or it is not found"


def announced(environ: Mapping[str, str], home: str) -> str:
    """Where the server of this user listens on this machine; empty where none says so."""
    from fairlead import wire
    from fairlead.approvals import is_loopback
    from fairlead.errors import FairleadError

    try:
        with open(os.path.join(state_folder(environ, home), "server.json"), "rb") as file:
            address = wire.decode_object(file.read()).get("address")
    except (OSError, FairleadError):
        return ""
    is_plain = isinstance(address, str) and address.startswith("http://") and is_loopback(address)
    return str(address) if is_plain else ""


def answers(address: str) -> bool:
    """Whether somebody listens there."""
    import socket
    from urllib.parse import urlsplit

    try:
        parts = urlsplit(address)
        with socket.create_connection((parts.hostname or "", parts.port or 80), timeout=2):
            return True
    except (OSError, ValueError):
        return False


def _obstacles_in(shown: str) -> Iterator[str]:
    text = files.text_of(files.look(shown).content or b"")
    settings = {} if jsonc.is_blank(text) else jsonc.parse(text).value
    if isinstance(settings, dict) and isinstance(settings.get("allowedHttpHookUrls"), list):
        yield "allowedHttpHookUrls in this file must name http://127.0.0.1:*, or it does not ask the server"


_made: dict[str, str] = {}
"""Keys that several plans of one `init` share before they are written."""


def _key(path: str) -> str:
    import secrets

    content = files.look(path).content
    found = (content or b"").decode("ascii", "replace").strip()
    return found or _made.setdefault(path, secrets.token_urlsafe(32))


def handler(way: Way, agent: str, call: Call, seconds: float) -> dict[str, Any]:
    """The part of an entry that names the server."""
    from urllib.parse import urlencode

    asked = {"timeout": plain(seconds), **({"guard": "1"} if call.guard else {}), **commands.as_query(call.others)}
    url = f"{way.address}{commands.HTTP}{agent}?{urlencode(asked)}"
    return {"type": "http", "url": url, "headers": {"Authorization": f"Bearer {way.key}"}}


def shared_files(way: Way, machine: Machine) -> Iterator[tuple[str, str, bytes, int]]:
    """Kind, path, content and mode of what all agents have in common."""
    for path, content, mode in way.files:
        yield "relay", path, content, mode
    if way.key:
        yield "key", hook_token(machine.environ, machine.home), f"{way.key}\n".encode(), 0o600
