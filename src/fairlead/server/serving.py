"""The server as a process: its files, its socket, its life."""

from __future__ import annotations

import contextlib
import fcntl
import getpass
import ipaddress
import os
import resource
import socket
from typing import TYPE_CHECKING

from fairlead._record import Record
from fairlead.errors import UsageError
from fairlead.folders import state_folder
from fairlead.server import PORT, security

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    from fairlead.server.store import Store

_BACKLOG = 4096
_CONNECTIONS = 65_536


class Options(Record):
    host: str = "127.0.0.1"
    port: int = PORT
    """0 is any free one."""
    names: tuple[str, ...] = ()
    """Further hosts, as browsers write them, under which we are reached through a proxy."""
    certificate: str = ""
    key: str = ""
    store: str = ""
    """Empty for the SQLite file of the user."""


def own_folder(environ: Mapping[str, str]) -> str:
    """The user's own, for nobody else."""
    folder = state_folder(environ)
    os.makedirs(folder, mode=0o700, exist_ok=True)
    if os.stat(folder).st_mode & 0o077:  # somebody else has made it
        os.chmod(folder, 0o700)
    return folder


def user_token(folder: str) -> str:
    """The key of this user's own programs; made when it is first asked for."""
    path = os.path.join(folder, "token")
    with contextlib.suppress(FileExistsError):
        descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW, 0o600)
        with os.fdopen(descriptor, "w") as file:
            file.write(security.new_secret())
    with open(path, encoding="ascii") as file:
        token = file.read().strip()
    if len(token) < 32:
        raise UsageError(f"{path} holds no key", hint="delete it; a new one is made")
    return token


@contextlib.contextmanager
def the_only_one(folder: str) -> Iterator[None]:
    """One server for one store: two writers of one SQLite file would not see each other's waiters."""
    descriptor = os.open(os.path.join(folder, "server.lock"), os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW, 0o600)
    with os.fdopen(descriptor, "w", encoding="ascii") as file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            raise UsageError("a server for this store is running already", hint=f"see {folder}/server.json") from None
        yield


def listen(options: Options) -> socket.socket:
    """Loopback, or TLS: what people decide must not cross a network in the clear."""
    if not _is_loopback(options.host) and not (options.certificate and options.key):
        raise UsageError(
            f"{options.host} can be reached from other machines, and there is no TLS",
            hint="give --certificate and --key, or listen on 127.0.0.1 behind a proxy of yours and name it with --name",
        )
    family = socket.AF_INET6 if ":" in options.host else socket.AF_INET
    # Named, since asyncio sends without delay (40 ms for each answer) only where it sees this protocol.
    found = socket.socket(family, socket.SOCK_STREAM, socket.IPPROTO_TCP)
    found.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        found.bind((options.host, options.port))
    except OSError as error:
        found.close()
        raise UsageError(
            f"cannot listen on {options.host}:{options.port}: {error.strerror}", hint="--port 0 takes any"
        ) from None
    found.listen(_BACKLOG)
    return found


def _is_loopback(host: str) -> bool:
    if host == "localhost":
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


def hosts(options: Options, port: int) -> list[str]:
    """The `Host` headers that we answer to."""
    named = [options.host] if not _is_loopback(options.host) else ["127.0.0.1", "localhost", "[::1]"]
    return [*(f"{name}:{port}" for name in named), *(name.lower() for name in options.names)]


def serve(options: Options, environ: Mapping[str, str], ready: Callable[[str, str], None]) -> None:
    """Until it is ended. `ready` is told the address, and a link that opens the inbox."""
    import uvicorn

    from fairlead.server.app import build

    folder = own_folder(environ)
    _allow_many_connections()
    with the_only_one(folder), listen(options) as listening:
        port = listening.getsockname()[1]
        keys = security.OneTimeKeys()
        store = open_store(options.store, folder)
        app = build(store, hosts=hosts(options, port), token=user_token(folder), keys=keys)
        address = f"{'https' if options.certificate else 'http'}://{options.host}:{port}"
        config = uvicorn.Config(
            app,
            log_level="critical",  # a request that was cut off by our end is no news
            access_log=False,
            server_header=False,
            timeout_graceful_shutdown=1,
            timeout_keep_alive=30,
            ws="none",
            ssl_certfile=options.certificate or None,
            ssl_keyfile=options.key or None,
        )
        with _announced(folder, address):
            ready(address, f"{address}/#k={keys.new(getpass.getuser())}")
            uvicorn.Server(config).run(sockets=[listening])


def _allow_many_connections() -> None:
    """Each waiting agent is one: the usual limit of 1,024 is a default, not a bound."""
    now, most = resource.getrlimit(resource.RLIMIT_NOFILE)
    wanted = _CONNECTIONS if most == resource.RLIM_INFINITY else min(most, _CONNECTIONS)
    if now != resource.RLIM_INFINITY and now < wanted:
        resource.setrlimit(resource.RLIMIT_NOFILE, (wanted, most))


def open_store(url: str, folder: str) -> Store:
    if url.startswith(("postgresql://", "postgres://")):
        from fairlead.server.postgres_store import PostgresStore

        return PostgresStore(url)
    from fairlead.server.sqlite_store import SqliteStore

    return SqliteStore(url or os.path.join(folder, "approvals.db"))


@contextlib.contextmanager
def _announced(folder: str, address: str) -> Iterator[None]:
    """Where other programs of this user find us."""
    from fairlead import wire

    path = os.path.join(folder, "server.json")
    temporary = f"{path}.{os.getpid()}"
    descriptor = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_NOFOLLOW, 0o600)
    with os.fdopen(descriptor, "wb") as file:
        file.write(wire.encode({"address": address, "pid": os.getpid()}))
    os.replace(temporary, path)
    try:
        yield
    finally:
        with contextlib.suppress(OSError):
            os.unlink(path)
