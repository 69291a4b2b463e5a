"""Start an agent under supervision: fairlead run [OPTION…] -- AGENT ARGS…

The agent gets a run of its own with a key that ends with it, and hooks that ask a person about the tools in
M_APPROVAL_TOOLS. A server is started if none runs. Its terminal, signals and exit code are the agent's own.
"""

from __future__ import annotations

import os
import sys

from fairlead.cli import _show

TYPE_CHECKING = False
if TYPE_CHECKING:
    import argparse


def main(words: list[str]) -> int:
    return _show.ending(_main, "run", words)


def _main(words: list[str]) -> int:
    own, agent_words = _split(words)
    options = _parser().parse_args(own)
    if not agent_words:
        from fairlead.errors import UsageError

        raise UsageError("there is no agent to start", hint="fairlead run -- AGENT ARGS…")
    from fairlead.running import agent_of, run

    project = options.project or _show.here()
    agent = options.agent or agent_of(agent_words[0])
    return run(agent_words, agent, dict(os.environ), project, lambda line: _tell(line, options))


def _split(words: list[str]) -> tuple[list[str], list[str]]:
    """Our options and the agent's command line; what follows -- is never ours."""
    if "--" in words:
        place = words.index("--")
        return words[:place], words[place + 1 :]
    rest = iter(range(len(words)))
    for place in rest:
        if not words[place].startswith("-"):
            return words[:place], words[place:]
        if words[place] in ("--agent", "--project"):
            next(rest, None)
    return words, []


def _parser() -> _show.Parser:
    parser = _show.parser("run", __doc__ or "")
    _show.add_agent(parser, "which agent it is, where its program's name does not say")
    parser.add_argument("--project", metavar="DIR", help="what the inbox calls the project; default: here")
    parser.add_argument("--quiet", action="store_true", help="say nothing beside the agent")
    return parser


def _tell(line: str, options: argparse.Namespace) -> None:
    """On stderr: stdout is the agent's."""
    if options.quiet:
        return
    if options.json:
        from fairlead import wire

        print(wire.encode_text({"note": line}), file=sys.stderr, flush=True)
    else:
        print(f"fairlead run: {_show.visible(line)}", file=sys.stderr, flush=True)
