"""The options of `hook` and `fire`, read without argparse: it would cost the hot path 10 ms."""

from __future__ import annotations

from fairlead.dialects import AGENT_HALVES

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any

    from fairlead.answering import Request

HELP = """
  --agent NAME      who is calling
  --event NAME      for payloads that do not name their event
  --project DIR     default: the event's cwd, or the working directory
  --trust DIGEST    run the project's hook with this digest (sha256:…), or all of them; may be repeated
  --trust-project   run whatever hooks the project has: you vouch for them
  --guard           judge every tool call with all packs of the guard, without any configuration
  --with NAME       a skill or subagent whose hooks are on
  --timeout SECONDS how long the agent waits for this hook; default: what the agent is known for
"""


class UsageMistake(Exception):  # noqa: N818  # a sentence for the user
    pass


class Options:
    def __init__(self) -> None:
        self.agent = ""
        self.event = ""
        self.project = ""
        self.trust: list[str] = []
        self.trust_project = False
        self.guard = False
        self.active: list[str] = []
        self.timeout = 0.0
        self.help = False


def parse(words: list[str], *, needs_agent: bool = True) -> Options:
    options = Options()
    rest = iter(words)
    for word in rest:
        name, equals, value = word.partition("=")
        if name in ("--help", "-h"):
            options.help = True
        elif name == "--trust-project":
            options.trust_project = True
        elif name == "--guard":
            options.guard = True
        elif name == "--json":
            pass  # the answer is JSON already
        elif name in ("--agent", "--event", "--project", "--with", "--timeout", "--trust"):
            _set(options, name, value if equals else next(rest, None))
        else:
            raise UsageMistake(f"unknown option {word!r}")
    if not options.help and (options.agent or needs_agent) and options.agent not in AGENT_HALVES:
        raise UsageMistake(_which_agent(options.agent))
    return options


def request(options: Options, raw: bytes, environ: Mapping[str, str] | None = None, **more: Any) -> Request:
    """For whoever has this environment; ours, if none is given."""
    import os

    from fairlead.answering import Request

    return Request(
        agent=options.agent,
        raw=raw,
        event_name=options.event,
        project=options.project,
        trust=tuple(options.trust),
        trust_project=options.trust_project,
        guard=options.guard,
        active=tuple(options.active),
        patience=options.timeout,
        environ=os.environ if environ is None else environ,
        **more,
    )


def _which_agent(name: str) -> str:
    if not name:
        return f"--agent is missing; one of: {', '.join(AGENT_HALVES)}"
    from fairlead.dialects._common import did_you_mean

    return f"unknown agent {name!r}; {did_you_mean(name, AGENT_HALVES)}"


def _set(options: Options, name: str, value: str | None) -> None:
    if not value:
        raise UsageMistake(f"{name} needs a value")
    if name == "--with":
        options.active.append(value)
    elif name == "--trust":
        options.trust.append(value)
    elif name == "--timeout":
        options.timeout = _seconds(value)
    else:
        setattr(options, name[2:], value)


def _seconds(value: str) -> float:
    try:
        seconds = float(value)
    except ValueError:
        seconds = 0.0
    if not 0 < seconds < 1e6:
        raise UsageMistake(f"--timeout must be a number of seconds above 0, not {value!r}")
    return seconds
