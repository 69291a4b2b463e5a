"""Programs that talk to other machines."""

from __future__ import annotations

import re

from fairlead.guard._lazy import lazy
from fairlead.guard.effects import EMPTY, OPAQUE, Stream
from fairlead.guard.options import Options, options
from fairlead.guard.paths import join
from fairlead.guard.programs import program
from fairlead.guard.programs.files import touch
from fairlead.guard.programs.text import _secret as secret_sources
from fairlead.guard.shell.nodes import UNKNOWN

TYPE_CHECKING = False
if TYPE_CHECKING:
    from fairlead.guard.shell.run import Call

_HOST = lazy(r"(?:[a-z][a-z0-9+.-]*://|//)?(?:[^@/?#]*@)?(\[[^\]]+\]|[^/:?#]+)", re.IGNORECASE)
_LOCAL = lazy(
    r"(?:localhost|127(?:\.\d+){3}|0\.0\.0\.0|\[?::1\]?|host\.docker\.internal|[\w-]+\.(?:local|localhost|test"
    r"|internal)"
    r"|192\.168(?:\.\d+){2}|10(?:\.\d+){3}|172\.(?:1[6-9]|2\d|3[01])(?:\.\d+){2})\Z", re.IGNORECASE
)  # fmt: skip
_CURL_SHORT = "AbcCdDeEFHhKmoPQrTtuUwxXyYz"
_CURL_LONG = (
    "data",
    "data-raw",
    "data-binary",
    "data-urlencode",
    "data-ascii",
    "form",
    "form-string",
    "header",
    "user",
    "request",
    "output",
    "upload-file",
    "url",
    "user-agent",
    "referer",
    "cookie",
    "cookie-jar",
    "max-time",
    "connect-timeout",
    "retry",
    "retry-delay",
    "proxy",
    "cert",
    "key",
    "cacert",
    "config",
    "write-out",
    "range",
    "resolve",
    "interface",
    "limit-rate",
    "json",
    "output-dir",
    "dump-header",
    "netrc-file",
    "oauth2-bearer",
    "proto",
    "proto-redir",
    "ciphers",
    "max-redirs",
    "retry-max-time",
    "speed-limit",
    "speed-time",
    "unix-socket",
    "aws-sigv4",
)
# ``@file``, ``name=@file``, ``name=<file``, and ``name@file`` of --data-urlencode, but no mail address.
_FILE_DATA = lazy(
    r"(?:[\w.\[\]-]+=)?[@<](.+)|[\w-]+@((?![\w.-]+\.(?:com|org|net|io|dev|test)\Z)[\w./~-]+)\Z", re.DOTALL
)
_DATA = (
    "d",
    "data",
    "data-raw",
    "data-binary",
    "data-urlencode",
    "data-ascii",
    "F",
    "form",
    "T",
    "upload-file",
    "json",
)


def host_of(url: str) -> str:
    """Return the host of a URL or of ``host/path``."""
    match = _HOST.match(url)
    return match[1].lower() if match else url


def is_local(host: str) -> bool:
    """Say whether host is this machine or a private network."""
    return _LOCAL.match(host) is not None


@program("curl", "curlie", "xh", "xhs", "http", "https", "httpie")
def curl(call: Call) -> Stream:
    if call.name not in ("curl", "curlie"):
        return _httpie(call)
    opts = options(call.args, short=_CURL_SHORT, long=_CURL_LONG)
    urls = opts.operands + opts.values("url")
    host = host_of(urls[0]) if urls else UNKNOWN
    for value in opts.values(*_DATA):
        _sent(call, value, host, form=True)
    _headers(call, opts, host, urls)
    _outputs(call, opts, host)
    for value in opts.values("K", "config", "netrc-file"):
        touch(call, "read", value)
    call.shell.effect("download", call.words, host=host, note=_method(opts))
    written = any(value != "-" for value in opts.values("o", "output")) or opts.has(
        "O", "remote-name", "remote-name-all"
    )
    return EMPTY if written else _body(call, urls)


def _method(opts: Options) -> str:
    return opts.value("X", "request").upper()


def _body(call: Call, urls: list[str]) -> Stream:
    if any(url.startswith("file://") for url in urls):
        for url in urls:
            touch(call, "read", url)
    return Stream(None, hosts=tuple(host_of(url) for url in urls) or (UNKNOWN,))


def _sent(call: Call, value: str, host: str, *, form: bool) -> None:
    """Report what one data option sends: a file, standard input, or substituted text."""
    file = _FILE_DATA.match(value) if form else None
    if file:
        path = (file[1] or file[2]).partition(";")[0]
        if path == "-":
            _stdin_sent(call, host)
        else:
            _file_sent(call, path, host)
    elif UNKNOWN in value:
        source = call.shell.record.substituted
        if source is not None and (source.secrets or source.origin):
            note = source.secrets[0] if source.secrets else source.origin
            call.shell.effect("upload", call.words, host=host, path=note, note="substitution")


def _stdin_sent(call: Call, host: str) -> None:
    if call.stdin.secrets or call.stdin.origin or call.stdin.text is None:
        path = (call.stdin.secrets or (call.stdin.origin,))[0]
        call.shell.effect("upload", call.words, host=host, path=path, note="stdin")


def _file_sent(call: Call, path: str, host: str) -> None:
    full = join(call.shell.cwd, path)
    call.shell.effect("upload", call.words, host=host, path=full, note="file")


def _headers(call: Call, opts: Options, host: str, urls: list[str]) -> None:
    """Headers may carry credentials, but only those that are made for it."""
    for value in opts.values("H", "header", "A", "user-agent", "b", "cookie", "e", "referer", "u", "user"):
        source = call.shell.record.substituted
        if UNKNOWN in value and source is not None and source.secrets:
            call.shell.effect("upload", call.words, host=host, path=source.secrets[0], note="header")
    for url in urls:
        source = call.shell.record.substituted
        if UNKNOWN in url and source is not None and (source.secrets or source.origin):
            call.shell.effect("upload", call.words, host=host, path=(source.secrets or (source.origin,))[0], note="url")


def _outputs(call: Call, opts: Options, host: str) -> None:
    upload = opts.values("T", "upload-file")
    for value in upload:
        if not value.startswith("@"):
            _file_sent(call, value, host)
    for value in opts.values("o", "output", "c", "cookie-jar", "D", "dump-header"):
        if value != "-":
            touch(call, "write", value)
            path = join(call.shell.cwd, value)
            call.shell.record.files[path] = Stream(None, hosts=(host,))
    if opts.has("O", "remote-name"):
        for url in opts.operands:
            name = url.rstrip("/").rpartition("/")[2].partition("?")[0]
            call.shell.record.files[join(call.shell.cwd, name)] = Stream(None, hosts=(host,))


def _httpie(call: Call) -> Stream:
    opts = options(call.args, short="aosAp", long=("auth", "output", "session", "auth-type", "timeout"))
    words = [word for word in opts.operands if not re.match(r"(?:GET|HEAD|POST|PUT|PATCH|DELETE|OPTIONS)\Z", word)]
    host = host_of(words[0]) if words else UNKNOWN
    for word in words[1:]:
        match = re.match(r"[^=@]+:?=?@(.+)", word)
        if match:
            _file_sent(call, match[1], host)
    if call.stdin.secrets or call.stdin.origin:
        _stdin_sent(call, host)
    return Stream(None, hosts=(host,))


@program(
    "wget",
    "wget2",
    "aria2c",
    "axel",
    "lynx",
    "w3m",
    "links",
    "lwp-download",
    "fetch",
    "ftp",
    "get-content-url",
)
def wget(call: Call) -> Stream:
    opts = options(call.args, short="OoaePtTwQUiBADRIXl",
                   long=("output-document", "post-file", "post-data", "body-file", "body-data", "header",
                   "directory-prefix",
                         "method", "user", "password", "execute", "user-agent", "input-file", "dir",
                         "out"))  # fmt: skip
    host = host_of(opts.operands[0]) if opts.operands else UNKNOWN
    for value in opts.values("post-file", "body-file"):
        _file_sent(call, value, host)
    for value in opts.values("post-data", "body-data"):
        _sent(call, value, host, form=False)
    for url in opts.operands:
        _sent(call, url, host, form=False)
    call.shell.effect("download", call.words, host=host, note=_method(opts))
    target = (
        opts.value("O", "output-document", "o", "out") if call.name == "aria2c" else opts.value("O", "output-document")
    )
    body = Stream(None, hosts=(host,))
    if target == "-" or call.name in ("lynx", "w3m", "fetch") or target == "/dev/stdout":
        return body
    if target:
        touch(call, "write", target)
        call.shell.record.files[join(call.shell.cwd, target)] = body
    else:
        _saved(call, opts, body)
    return EMPTY


def _saved(call: Call, opts: Options, body: Stream) -> None:
    directory = opts.value("P", "directory-prefix") or "."
    for url in opts.operands:
        name = url.rstrip("/").rpartition("/")[2].partition("?")[0]
        call.shell.record.files[join(call.shell.cwd, f"{directory}/{name}")] = body


# What is written to a named pipe comes out of it somewhere else.
PIPE = "pipe:"


@program("mkfifo", "mknod")
def named_pipe(call: Call) -> Stream:
    words = options(call.args, short="mZ").operands
    if call.name == "mknod" and words[-1:] != ["p"]:
        return EMPTY
    for name in words if call.name == "mkfifo" else words[:1]:
        call.shell.record.files[join(call.shell.cwd, name)] = Stream(None, origin=PIPE)
    return EMPTY


@program("openssl")
def openssl(call: Call) -> Stream | None:
    if call.args[:1] != ["s_client"]:
        return None
    host = host_of(options(call.args, words=True, long=("connect", "host", "servername", "port")).value("connect"))
    if call.stdin.origin not in ("", "/dev/null"):
        _stdin_sent(call, host)
        call.shell.effect("connect", call.words, host=host, note="raw")
    return Stream(None, hosts=(host or UNKNOWN,))


@program("nc", "ncat", "netcat", "socat", "telnet", "nc.traditional", "pwncat", "busybox-nc")
def netcat(call: Call) -> Stream:
    if call.name == "socat":
        return _socat(call)
    opts = options(call.args, short="ceghiopqswxXmIOPTV", long=("exec", "sh-exec", "port", "source"))
    host = opts.operands[0] if opts.operands else UNKNOWN
    runs = opts.values("c", "e", "exec", "sh-exec")
    if any(runs):
        call.shell.effect("connect", call.words, host=host, note="reverse-shell")
    elif opts.has("z"):
        call.shell.effect("connect", call.words, host=host, note="probe")
    elif opts.has("l", "listen"):
        call.shell.effect("connect", call.words, host=host, note="listen")
    elif call.stdin.text is None or call.stdin.secrets or call.stdin.origin:
        _stdin_sent(call, host)
        call.shell.effect("connect", call.words, host=host, note="raw")
    elif opts.operands:
        call.shell.effect("connect", call.words, host=host, note="raw")
    return Stream(None, hosts=(host,))


def _socat(call: Call) -> Stream:
    text = " ".join(call.args).lower()
    if re.search(r"\b(?:exec|system|shell):", text):
        call.shell.effect("connect", call.words, host=UNKNOWN, note="reverse-shell")
    else:
        call.shell.effect("connect", call.words, host=UNKNOWN, note="raw")
    return Stream(None, hosts=(UNKNOWN,))


@program("scp", "sftp", "pscp", "croc", "magic-wormhole", "wormhole", "ffsend", "transfer")
def secure_copy(call: Call) -> Stream:
    opts = options(call.args, short="cFiJloPSXDb")
    for value in opts.values("S"):
        call.shell.child().run_text(value)
    if call.name in ("croc", "wormhole", "magic-wormhole", "ffsend", "transfer"):
        if any(arg in ("send", "upload") for arg in call.args) or call.name in ("ffsend", "transfer"):
            call.shell.effect(
                "upload", call.words, host=call.name, path=join(call.shell.cwd, call.args[-1]), note="file"
            )
        return OPAQUE
    if len(opts.operands) < 2:
        return OPAQUE
    *sources, target = opts.operands
    if ":" in target.partition("/")[0]:
        for source in sources:
            if ":" not in source.partition("/")[0]:
                call.shell.effect("upload", call.words, host=host_of(target.partition(":")[0]),
                                  path=join(call.shell.cwd, source), note="scp")  # fmt: skip
    else:
        touch(call, "write", target, note="copy")
    return OPAQUE


@program("dig", "nslookup", "host", "drill", "ping", "ping6", "traceroute")
def name_lookup(call: Call) -> Stream:
    source = call.shell.record.substituted
    if any(UNKNOWN in arg for arg in call.args) and source is not None and (source.secrets or source.origin):
        note = source.secrets[0] if source.secrets else source.origin
        call.shell.effect("upload", call.words, host=call.args[-1], path=note, note="dns")
    return OPAQUE


@program("sendmail", "mail", "mailx", "mutt", "swaks", "msmtp", "ssmtp")
def mail(call: Call) -> Stream:
    if call.args:
        path = (call.stdin.secrets or (call.stdin.origin,))[0]
        call.shell.effect("upload", call.words, host=call.args[-1], path=path, note="mail")
    return OPAQUE


__all__ = ["PIPE", "host_of", "is_local", "secret_sources"]
