"""The options of `hook` and `fire`, read without argparse: it would cost the hot path 10 ms."""

from __future__ import annotations

from fairlead.dialects import AGENT_HALVES

TYPE_CHECKING = False


class UsageMistake(Exception):  # noqa: N818  # a sentence for the user
    pass


class Options:
    def __init__(self) -> None:
        self.agent = ""
        self.event = ""
        self.project = ""
        self.trust_project = False
        self.guard = False
        self.active: list[str] = []
        self.help = False


def parse(words: list[str]) -> Options:
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
        elif name in ("--agent", "--event", "--project", "--with"):
            _set(options, name, value if equals else next(rest, None))
        else:
            raise UsageMistake(f"unknown option {word!r}")
    if not options.help and options.agent not in AGENT_HALVES:
        raise UsageMistake(_which_agent(options.agent))
    return options


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
    else:
        setattr(options, name[2:], value)
