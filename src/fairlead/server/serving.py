"""The server as a process: its files, its socket, its life."""

from __future__ import annotations

import contextlib
import fcntl
import ipaddress
import os
import resource
import socket
import threading
from typing import TYPE_CHECKING

from fairlead._record import Record
from fairlead.approvals import keep_private
from fairlead.errors import UsageError
from fairlead.folders import hook_socket, hook_token, state_folder
from fairlead.server import PORT, security

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping
    from typing import IO, Self

    from fairlead.server.store import Store
    from fairlead.warm.listening import Listener
    from fairlead.warm.loaded import Loaded

_BACKLOG = 4096
_CONNECTIONS = 65_536
_FILE = "approvals.db"


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
    push_details: bool = False
    """Whether a notification on a locked screen may show the command."""
    push_local: bool = False
    """Whether push services may be on this machine: for tests."""
    notify: tuple[str, ...] = ()
    """Further chats that are told of questions, beside those of the user's `fairlead.toml`."""
    notify_after: float | None = None
    """Seconds that they are kept waiting; None for what the user's `fairlead.toml` says."""
    approvers: tuple[str, ...] = ()
    """Who may decide anything at all; empty for everybody who may log in."""
    metrics_key: str = ""
    """Opens `/metrics`, and nothing else."""


def own_folder(environ: Mapping[str, str]) -> str:
    """The user's own, for nobody else."""
    folder = state_folder(environ)
    os.makedirs(folder, mode=0o700, exist_ok=True)
    if os.stat(folder).st_mode & 0o077:  # somebody else has made it
        os.chmod(folder, 0o700)
    return folder


def user_token(folder: str) -> str:
    """The key of this user's own programs."""
    return _secret(os.path.join(folder, "token"))


def _secret(path: str) -> str:
    """Made when it is first asked for."""
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
def the_only_one(store: str, folder: str) -> Iterator[None]:
    """One server for one SQLite file: two would not see each other's waiters. PostgreSQL has room for many."""
    if is_shared(store):
        yield
        return
    path = os.path.realpath(store or os.path.join(folder, _FILE))
    try:
        os.makedirs(os.path.dirname(path), mode=0o700, exist_ok=True)
        lock = _lock_file(f"{path}.lock")
    except OSError as error:
        why = f"{path} cannot be used as a store: {error.strerror}"
        raise UsageError(why, hint="name another file with --store") from None
    with lock:
        _take(lock, folder)
        yield


def _lock_file(path: str) -> IO[bytes]:
    return open(path, "wb", opener=lambda name, _: os.open(name, os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW, 0o600))


def _take(lock: IO[bytes], folder: str) -> None:
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        known = os.path.join(folder, "server.json")
        where = f"see {known}" if os.path.exists(known) else f"it holds {lock.name}"
        raise UsageError("a server for this store is running already", hint=where) from None


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
    except (OSError, OverflowError) as error:
        found.close()
        why = getattr(error, "strerror", None) or "a port is a number from 0 to 65535"
        raise UsageError(f"cannot listen on {options.host}:{options.port}: {why}", hint="--port 0 takes any") from None
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
    named = [in_address(options.host), *(("127.0.0.1", "localhost", "[::1]") if _is_loopback(options.host) else ())]
    usual = port == (443 if options.certificate else 80)  # which browsers leave out
    with_ports = [f"{name}{end}" for name in dict.fromkeys(named) for end in (f":{port}", *([""] if usual else []))]
    return [*with_ports, *(name.lower() for name in options.names)]


def in_address(host: str) -> str:
    """As browsers write it."""
    try:
        found = ipaddress.ip_address(host)
    except ValueError:
        return host.lower()
    return f"[{found}]" if found.version == 6 else str(found)


class Ready(Record):
    """A server that can be asked from now on."""

    address: str
    link: str
    """Opens the inbox, once."""
    socket: str = ""
    """Where it hears the events of hooks."""
    no_socket: str = ""
    """Why there is none."""


def serve(options: Options, environ: Mapping[str, str], ready: Callable[[Ready], None]) -> None:
    """Until it is ended. `ready` is told how it is reached."""
    import uvicorn

    from fairlead.server.app import build
    from fairlead.server.doors import AT_A_TIME, Door, House
    from fairlead.server.telling import settings

    check_store(options.store)
    folder = own_folder(environ)
    _allow_many_connections()
    with (
        Announcement(folder) as announcement,
        the_only_one(options.store, folder),
        listen(options) as listening,
        contextlib.ExitStack() as stack,
    ):
        if not is_shared(options.store):
            announcement.claim()
        listener, loaded, why_not = stack.enter_context(_events(environ))  # not before: the socket may be another's
        port = listening.getsockname()[1]
        store = open_store(options.store, folder)
        key = security.new_secret()
        store.add_login_key(security.hashed(key), security.owner(), security.KEY_LIVES)
        address = f"{'https' if options.certificate else 'http'}://{in_address(options.host)}:{port}"
        app = build(
            store,
            hosts=hosts(options, port),
            token=user_token(folder),
            approvers=options.approvers,
            telling=settings(options, environ, folder, address),
            environ=environ,
            metrics_key=options.metrics_key,
            hook_key=_secret(hook_token(environ)),
            loaded=loaded,
            listener=listener,
        )
        config = uvicorn.Config(
            app,
            http=Door,
            log_level="critical",  # a request that was cut off by our end is no news
            access_log=False,
            server_header=False,
            timeout_graceful_shutdown=1,
            timeout_keep_alive=30,
            ws="none",
            backlog=AT_A_TIME,
            ssl_certfile=options.certificate or None,
            ssl_keyfile=options.key or None,
        )
        with announcement.of(address):
            where = listener.path if listener is not None else ""
            ready(Ready(address=address, link=f"{address}/#k={key}", socket=where, no_socket=why_not))
            House(config).run(sockets=[listening])


@contextlib.contextmanager
def _events(environ: Mapping[str, str]) -> Iterator[tuple[Listener | None, Loaded, str]]:
    """Where hooks are answered. Without a socket they answer for themselves, and the inbox is as good as ever."""
    from fairlead import zygote
    from fairlead.warm.listening import Listener
    from fairlead.warm.loaded import Loaded
    from fairlead.warm.noted import noted

    loaded = Loaded()
    listener, why_not = None, ""
    try:
        listener = Listener(hook_socket(environ), loaded)
    except UsageError as error:
        why_not = str(error)
    try:
        with noted(os.path.dirname(hook_socket(environ))):
            zygote.start(environ)
            try:
                yield listener, loaded, why_not
            finally:
                zygote.stop()
    finally:
        if listener is not None:
            listener.close()


def _allow_many_connections() -> None:
    """Each waiting agent is one: the usual limit of 1,024 is a default, not a bound."""
    now, most = resource.getrlimit(resource.RLIMIT_NOFILE)
    wanted = _CONNECTIONS if most == resource.RLIM_INFINITY else min(most, _CONNECTIONS)
    if now != resource.RLIM_INFINITY and now < wanted:
        resource.setrlimit(resource.RLIMIT_NOFILE, (wanted, most))


def is_shared(store: str) -> bool:
    """Whether servers on other machines may use it too."""
    return store.startswith(("postgresql://", "postgres://"))


def check_store(url: str) -> None:
    """Before anything is made: an address that we cannot read would become the name of a file."""
    scheme, found, _ = url.partition("://")
    if found and not is_shared(url):
        hint = "--store postgresql://user@host/database, or the path of a file"
        raise UsageError(f"a store of the kind {scheme}:// is not known", hint=hint)


def open_store(url: str, folder: str) -> Store:
    if is_shared(url):
        from fairlead.server.postgres_store import PostgresStore

        return PostgresStore(url)
    from fairlead.server.sqlite_store import SqliteStore

    return SqliteStore(url or os.path.join(folder, _FILE))


class Announcement:
    """`server.json`, where other programs of this user find the server; of several, the one that holds the lock."""

    def __init__(self, folder: str) -> None:
        self._folder = folder
        self._path = os.path.join(folder, "server.json")
        self._lock = _lock_file(os.path.join(folder, "server.lock"))
        self._changing = threading.Lock()
        self._waiting: threading.Thread | None = None
        self._ended = False
        self._made = False

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_error: object) -> None:
        if self._waiting is None:  # which would wait on for a file that is another one by then
            self._lock.close()

    def claim(self) -> None:
        """For one that bears no other beside it."""
        _take(self._lock, self._folder)

    @contextlib.contextmanager
    def of(self, address: str) -> Iterator[None]:
        """Now, or when the one that is announced has ended, however it ends."""
        try:
            fcntl.flock(self._lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            self._waiting = threading.Thread(target=self._take_over, args=(address,), name="announcing", daemon=True)
            self._waiting.start()
        else:
            self._write(address)
        try:
            yield
        finally:
            self._withdraw()

    def _take_over(self, address: str) -> None:
        with contextlib.suppress(OSError):
            fcntl.flock(self._lock, fcntl.LOCK_EX)
            self._write(address)

    def _write(self, address: str) -> None:
        from fairlead import wire

        with self._changing:
            if not self._ended:
                keep_private(self._path, wire.encode({"address": address, "pid": os.getpid()}))
                self._made = True

    def _withdraw(self) -> None:
        with self._changing:
            self._ended = True
            if self._made:
                with contextlib.suppress(OSError):
                    os.unlink(self._path)
