"""The approval service: agents ask, people answer in the inbox page or with `fairlead inbox`.
It also answers the hooks of your agents from memory, which is faster than a process for each.

Listens on 127.0.0.1 only, unless it is given a certificate. Prints a link that opens the inbox once.
"""

from __future__ import annotations

import os
import sys

from fairlead.cli import _show

TYPE_CHECKING = False
if TYPE_CHECKING:
    import argparse

    from fairlead.server.serving import Ready


def main(words: list[str]) -> int:
    return _show.ending(_main, "serve", words)


def _main(words: list[str]) -> int:
    options = _parser().parse_args(words)
    _need_extra()
    from fairlead import running
    from fairlead.dialects import Places
    from fairlead.process import MARK
    from fairlead.server.approvers import configured
    from fairlead.server.serving import Options, serve
    from fairlead.surroundings import forget_coerced_locale

    forget_coerced_locale()
    running.sweep(running.place_of_runs(os.environ))
    os.environ.pop(MARK, None)  # a hook may have started us; what we start for others is not below it
    serve(
        Options(
            host=options.host.removeprefix("[").removesuffix("]"),
            port=options.port,
            names=tuple(options.name),
            certificate=options.certificate,
            key=options.key,
            store=options.store,
            push_details=options.push_details,
            push_local=options.push_local,
            notify=tuple(options.notify),
            notify_after=options.notify_after,
            metrics_key=_metrics_key(options.metrics_token),
            approvers=configured(Places(home=os.path.expanduser("~"), project="/", environ=os.environ)),
        ),
        os.environ,
        lambda ready: _ready(ready, options),
    )
    return 0


def _time(text: str) -> float:
    import argparse

    from fairlead.dialects._native_notify import waiting_seconds

    seconds = 0.0 if text == "0" else waiting_seconds(text)
    if seconds is None:
        raise argparse.ArgumentTypeError(f"{text!r} is not a time of up to a day, such as 30s")
    return seconds


def _parser() -> _show.Parser:
    import argparse

    from fairlead.server import PORT

    parser = _show.parser("serve", __doc__ or "")
    parser.add_argument("--host", default="127.0.0.1", help="where to listen; another than loopback needs TLS")
    parser.add_argument("--port", type=int, default=PORT, help=f"default {PORT}; 0 takes any free one")
    parser.add_argument(
        "--name", action="append", default=[], help="a host name under which a proxy of yours reaches us"
    )
    parser.add_argument("--certificate", default="", metavar="FILE", help="TLS certificate chain (PEM)")
    parser.add_argument("--key", default="", metavar="FILE", help="its private key (PEM)")
    parser.add_argument(
        "--store", default="", metavar="URL", help="postgresql://… for several machines; default: a file"
    )
    parser.add_argument(
        "--push-details", action="store_true", help="notifications show the command, also on a locked screen"
    )
    parser.add_argument("--push-local", action="store_true", help=argparse.SUPPRESS)  # for tests
    parser.add_argument(
        "--notify", action="append", default=[], metavar="URL", help="tell this chat of questions, through Apprise"
    )
    parser.add_argument(
        "--notify-after", type=_time, default=None, metavar="TIME", help="… if nobody has answered by then: 30s, 2m"
    )
    parser.add_argument("--metrics-token", default="", metavar="FILE", help="holds a key that opens /metrics alone")
    return parser


def _metrics_key(path: str) -> str:
    """From a file: what stands in a command everybody on the machine can read."""
    from fairlead.errors import UsageError

    if not path:
        return ""
    try:
        with open(path, encoding="ascii") as file:
            key = file.read(4096).strip()
    except (OSError, ValueError) as error:
        raise UsageError(f"{path} cannot be read as a key: {error}") from None
    if len(key) < 16 or not key.isprintable() or " " in key:
        raise UsageError(f"{path} holds no key of at least 16 characters", hint="openssl rand -hex 32 > FILE")
    return key


def _need_extra() -> None:
    try:
        import starlette  # noqa: F401
        import uvicorn  # noqa: F401
    except ImportError:
        from fairlead.errors import UsageError

        raise UsageError("the server needs the extra `server`", hint="pip install 'fairlead[server]'") from None


def _ready(ready: Ready, options: argparse.Namespace) -> None:
    if options.json:
        _show.print_json({"address": ready.address, "link": ready.link, "socket": ready.socket})
    else:
        _show_ready(ready)
    sys.stdout.flush()  # somebody may read it from a pipe, and we do not end


def _show_ready(ready: Ready) -> None:
    page = _show.Page()
    page.line([("The inbox is open: ", "title"), (ready.link, "")])
    page.line(("The link works once, within a minute; `fairlead inbox --link` makes another.", "dim"))
    if ready.socket:
        page.line(f"Hooks are answered from memory, on {ready.socket}")
    else:
        page.line((f"Hooks start a process each: {ready.no_socket}", "warning"))
