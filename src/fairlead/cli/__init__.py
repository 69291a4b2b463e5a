"""The command line. One file for each command; each is imported when it is called."""

from __future__ import annotations

import sys

COMMANDS = {
    "fire": "be an agent's hook engine: an event on stdin, one JSON answer on stdout",
    "hook": "be one hook of an agent: what its settings call",
    "check": "validate every configuration file of this project",
    "list": "every hook in force, and where it comes from",
    "trust": "look at the hooks of this project, and say whether they may run",
    "explain": "what would happen to an event, hook by hook, and why",
    "log": "what happened: every event, which hooks looked at it, and what the agent was told",
    "test": "try the hooks of this project: cases, and whether each comes out as it should",
    "replay": "judge recorded events again under the hooks of today, and show what differs",
    "stats": "how often, how decided, how slow: by agent, tool, hook and day; hooks that never matched",
    "guard": "what a shell command does, and what the guard says to it",
    "init": "put Fairlead into the agents on this machine",
    "uninstall": "take it out again, without a trace",
    "doctor": "what keeps hooks from running on this machine, and what to do about it",
    "serve": "the approval service and its inbox: agents ask, people answer",
    "run": "start an agent under supervision: a person is asked before it acts",
    "inbox": "what waits for an answer; allow or refuse it",
    "demo": "see it work in a scratch project, with no agent installed",
}

_USAGE = """usage: fairlead COMMAND [OPTION…]

One hook engine for every coding agent.

commands:
{commands}

`fairlead COMMAND --help` says more.
"""


def main(argv: list[str] | None = None) -> int:
    words = sys.argv[1:] if argv is None else argv
    name = words[0] if words else "--help"
    if name in COMMANDS:
        command = __import__(f"fairlead.cli.{name}", fromlist=["main"])
        return int(command.main(words[1:]))
    if name in ("--version", "-V"):
        from fairlead._version import __version__

        print(f"fairlead {__version__}")
        return 0
    listed = "\n".join(f"  {name:<10}{text}" for name, text in COMMANDS.items())
    usage = _USAGE.format(commands=listed)
    if name in ("--help", "-h", "help"):
        print(usage, end="")
        return 0
    from fairlead.dialects._common import did_you_mean

    print(f"fairlead: there is no command {name!r}; {did_you_mean(name, COMMANDS)}\n\n{usage}", end="", file=sys.stderr)
    return 2 if "--agent" in words else 64  # in an agent's settings, a slip must not switch its guard off
