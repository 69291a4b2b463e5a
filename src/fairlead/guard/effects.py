"""What a command does, in words that rules can be written over."""

from __future__ import annotations

KINDS = {
    "read": "reads a file",
    "write": "creates or overwrites a file",
    "delete": "deletes a file or a directory",
    "move": "moves a file away",
    "permission": "changes who may use a file",
    "connect": "opens a connection",
    "download": "fetches from a host",
    "upload": "sends data to a host",
    "serve": "hands out files of a directory",
    "run": "runs a program",
    "discard": "throws away uncommitted work",
    "history": "rewrites or removes git history",
    "secret": "shows, stores or sends a secret",
    "publish": "publishes a package or a release",
    "destroy": "removes or changes infrastructure",
    "spend": "creates something that costs money",
    "drop": "removes data from a database",
    "system": "changes this machine: services, users, schedules, network",
    "settings": "changes what guards or drives an agent",
    "unknown": "does something that cannot be read from the command",
}


class Effect:
    """One thing that a command does.

    Effects on paths and hosts are judged by the packs. An effect with a ``rule`` was recognised
    as one particular act and brings the decision along.
    """

    __slots__ = (
        "decision", "host", "kind", "many", "note", "path", "place",
        "reason", "rule", "suggestion", "words",
    )  # fmt: skip

    def __init__(
        self,
        kind: str,
        words: str,
        *,
        path: str = "",
        host: str = "",
        many: bool = False,
        note: str = "",
        rule: str = "",
        decision: str = "ask",
        reason: str = "",
        suggestion: str = "",
        place: str = "",
    ) -> None:
        self.kind = kind
        self.words = words
        self.path = path
        self.host = host
        self.many = many
        self.note = note
        self.rule = rule
        self.decision = decision
        self.reason = reason
        self.suggestion = suggestion
        self.place = place


class Stream:
    """What flows through a pipe: its text where it is known, and where it came from."""

    __slots__ = ("hosts", "origin", "secrets", "text")

    def __init__(
        self,
        text: str | None = None,
        *,
        hosts: tuple[str, ...] = (),
        secrets: tuple[str, ...] = (),
        origin: str = "",
    ) -> None:
        self.text = text
        self.hosts = hosts
        self.secrets = secrets
        self.origin = origin

    def through(self, text: str | None = None) -> Stream:
        """Return what a filter makes of this stream: other text, the same sources."""
        return Stream(text, hosts=self.hosts, secrets=self.secrets, origin=self.origin)

    def joined(self, other: Stream) -> Stream:
        text = None
        if self.text is not None and other.text is not None:
            text = self.text + other.text
        return Stream(
            text,
            hosts=self.hosts + other.hosts,
            secrets=self.secrets + other.secrets,
            origin=other.origin or self.origin,
        )


def together(streams: list[Stream]) -> Stream:
    """Return what several programs in a row write."""
    if not streams:
        return EMPTY
    if len(streams) == 1 and streams[0] is not EMPTY:
        return streams[0]
    texts: list[str] = []
    hosts: list[str] = []
    secrets: list[str] = []
    origin = ""
    for stream in streams:
        if stream.text is not None:
            texts.append(stream.text)
        hosts += stream.hosts
        secrets += stream.secrets
        origin = stream.origin or origin
    text = "".join(texts) if len(texts) == len(streams) else None
    return Stream(text, hosts=tuple(hosts), secrets=tuple(secrets), origin=origin)


EMPTY = Stream("")
OPAQUE = Stream(None)
