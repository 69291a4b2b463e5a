"""The packs: groups of rules that are switched on by name."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from fairlead.guard.shell.run import Call

    CallReader = Callable[[Call], None]

READERS: dict[str, list[CallReader]] = {}


class Pack:
    """A name to switch on, and what it stands for."""

    __slots__ = ("name", "summary")

    def __init__(self, name: str, summary: str) -> None:
        self.name = name
        self.summary = summary

    def __repr__(self) -> str:
        return f"Pack({self.name!r}, {self.summary!r})"


PACKS: dict[str, Pack] = {
    name: Pack(name, summary)
    for name, summary in (
        (
            "filesystem",
            "deleting, overwriting and opening up what lies outside the project, home, root, devices",
        ),
        ("git", "history, uncommitted work, forced pushes, and settings that make git run programs"),
        ("secrets", "reading key and credential files, showing them, sending them out, committing them"),
        ("network", "programs piped from the network, uploads, tunnels, reverse shells, scanners"),
        ("databases", "dropping, emptying and mass-changing databases"),
        ("containers", "containers, images, volumes and Kubernetes objects: removal and privileged access"),
        ("cloud", "cloud consoles and infrastructure as code: what destroys, changes or costs"),
        ("publishing", "packages, images, releases and deployments that others will receive"),
        ("system", "services, users, schedules, firewall, processes, global installs"),
        ("self", "the settings, hooks and trust files of Fairlead and of every agent"),
    )
}


def reads(*names: str) -> Callable[[CallReader], CallReader]:
    """Register a reader that recognises particular acts of these programs."""

    def register(reader: CallReader) -> CallReader:
        for name in names:
            READERS.setdefault(name, []).append(reader)
        return reader

    return register


def act(
    call: Call,
    kind: str,
    rule: str,
    reason: str,
    suggestion: str = "",
    *,
    decision: str = "ask",
    path: str = "",
    host: str = "",
) -> None:
    """Report one recognised act; the reason is completed with the words of the command."""
    call.shell.effect(
        kind, call.words, rule=rule, decision=decision, reason=f"`{call.words}` {reason}",
        suggestion=suggestion, path=path, host=host,
    )  # fmt: skip


_LONG = 1500


def searchable(args: Iterable[str]) -> str:
    """Return arguments as one text for patterns such as "this word, later that one".

    Of a long text only the first and the last place of every word are kept: what stands before what
    stays the same, and a thousand equal beginnings do not cost a thousand searches.
    """
    text = " ".join(args)
    if len(text) <= _LONG:
        return text
    words = text.split()
    first = list(dict.fromkeys(words))
    last = list(dict.fromkeys(reversed(words)))[::-1]
    return " ".join([*first, *last])


def verbs(call: Call, values: Iterable[str] = ()) -> list[str]:
    """Return the words of a call that are no options; ``values`` are options that take a word."""
    found: list[str] = []
    skip = False
    for arg in call.args:
        if skip:
            skip = False
        elif arg.startswith("-"):
            skip = arg in values
        else:
            found.append(arg)
    return found
