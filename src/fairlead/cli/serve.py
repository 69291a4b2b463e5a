"""The approval service: agents ask, people answer in the inbox page or with `fairlead inbox`.

Listens on 127.0.0.1 only, unless it is given a certificate. Prints a link that opens the inbox once.
"""

from __future__ import annotations

import os
import sys

from fairlead.cli import _show

TYPE_CHECKING = False
if TYPE_CHECKING:
    import argparse


def main(words: list[str]) -> int:
    return _show.ending(_main, "serve", words)


def _main(words: list[str]) -> int:
    options = _parser().parse_args(words)
    _need_extra()
    from fairlead.server.serving import Options, serve

    serve(
        Options(
            host=options.host,
            port=options.port,
            names=tuple(options.name),
            certificate=options.certificate,
            key=options.key,
            store=options.store,
        ),
        os.environ,
        lambda address, link: _ready(address, link, options),
    )
    return 0


def _parser() -> _show.Parser:
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
    return parser


def _need_extra() -> None:
    try:
        import starlette  # noqa: F401
        import uvicorn  # noqa: F401
    except ImportError:
        from fairlead.errors import UsageError

        raise UsageError("the server needs the extra `server`", hint="pip install 'fairlead[server]'") from None


def _ready(address: str, link: str, options: argparse.Namespace) -> None:
    if options.json:
        _show.print_json({"address": address, "link": link})
        sys.stdout.flush()  # somebody reads it from a pipe, and we do not end
        return
    page = _show.Page()
    page.line([("The inbox is open: ", "title"), (link, "")])
    page.line(("The link works once, within a minute; `fairlead inbox --link` makes another.", "dim"))
