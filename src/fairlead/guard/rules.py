"""Rules that users write: an effect, where it happens, and what to answer."""

from __future__ import annotations

import os
import re

from fairlead.guard.effects import KINDS
from fairlead.guard.paths import join

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping

    from fairlead.guard.effects import Effect

DECISIONS = ("allow", "ask", "deny")
_KEYS = frozenset({"effect", "path", "host", "rule", "command", "decision", "reason", "suggest", "name"})


class RuleError(ValueError):
    """A rule that cannot be understood; the message names the key and what is accepted."""


class Rule:
    """One rule. Empty conditions hold for everything; all given conditions must hold.

    ``decision`` "allow" is an exception: effects that it covers are not held against the command.
    """

    __slots__ = (
        "_hosts",
        "_paths",
        "command",
        "decision",
        "effect",
        "host",
        "name",
        "path",
        "reason",
        "rule",
        "suggest",
    )

    def __init__(
        self,
        *,
        decision: str,
        effect: tuple[str, ...] = (),
        path: tuple[str, ...] = (),
        host: tuple[str, ...] = (),
        rule: tuple[str, ...] = (),
        command: tuple[str, ...] = (),
        reason: str = "",
        suggest: str = "",
        name: str = "",
    ) -> None:
        self.decision = decision
        self.effect = effect
        self.path = path
        self.host = host
        self.rule = rule
        self.command = command
        self.reason = reason
        self.suggest = suggest
        self.name = name
        self._paths: list[re.Pattern[str]] | None = None
        self._hosts = [_host_pattern(glob) for glob in host]

    def __repr__(self) -> str:
        return f"Rule({self.name or self.decision!r}, effect={self.effect}, path={self.path}, host={self.host})"

    def bind(self, project: str, home: str) -> None:
        """Fix what relative globs and ``~`` mean."""
        self._paths = [path_pattern(glob, project, home) for glob in self.path]

    def covers(self, effect: Effect, path: str, built_in: str) -> bool:
        """Say whether the rule is about this effect, whose path leads to ``path``."""
        if self.effect and _WRITING.get(effect.kind, effect.kind) not in self.effect:
            return False
        if self.rule and not any(built_in == rule or built_in.startswith(rule + ".") for rule in self.rule):
            return False
        if self.path and not any(pattern.match(path) for pattern in self._paths or []):
            return False
        if self.host and not any(pattern.match(effect.host) for pattern in self._hosts):
            return False
        return not self.command or effect.words in self.command


_WRITING = {"create": "write"}
"""An empty file or a directory is written, too; only the packs take it more lightly."""


def path_pattern(glob: str, project: str, home: str) -> re.Pattern[str]:
    """Return the pattern of a path glob: ``*`` within a name, ``**`` across names."""
    if glob.startswith("~"):
        glob = home + glob[1:]
    anchored = glob if glob.startswith("/") else join(project or "/", glob)
    real = _real_head(anchored)
    sources = {_glob_source(anchored), _glob_source(real)}
    return re.compile("(?:" + "|".join(sorted(sources)) + r")(?:/.*)?\Z", re.DOTALL)


def _real_head(glob: str) -> str:
    head, star, tail = glob.partition("*")
    directory, slash, rest = head.rpartition("/")
    return (os.path.realpath(directory) if directory else "") + slash + rest + star + tail


def _glob_source(glob: str) -> str:
    pieces = re.split(r"(\*\*/|\*\*|\*|\?)", glob.rstrip("/"))
    meaning = {"**/": r"(?:.*/)?", "**": ".*", "*": "[^/]*", "?": "[^/]"}
    return "".join(meaning.get(piece) or re.escape(piece) for piece in pieces)


def _host_pattern(glob: str) -> re.Pattern[str]:
    source = "".join({"*": ".*"}.get(piece) or re.escape(piece) for piece in re.split(r"(\*)", glob))
    return re.compile(source + r"\Z", re.IGNORECASE)


def rule_from_mapping(mapping: Mapping[str, object], where: str = "rule") -> Rule:
    """Return the rule that a table of a configuration file describes.

    :raises RuleError: if a key is unknown or a value cannot be understood
    """
    for key in mapping:
        if key not in _KEYS:
            raise RuleError(f"{where}: unknown key {key!r}; known are {', '.join(sorted(_KEYS))}")
    decision = mapping.get("decision")
    if decision not in DECISIONS:
        raise RuleError(f"{where}.decision: {decision!r} is none of {', '.join(DECISIONS)}")
    lists = {key: _strings(mapping, key, where) for key in ("effect", "path", "host", "rule", "command")}
    for kind in lists["effect"]:
        if kind not in KINDS:
            raise RuleError(f"{where}.effect: {kind!r} is none of {', '.join(KINDS)}")
    if not any(lists.values()):
        raise RuleError(f"{where}: says of what: one of effect, path, host, rule, command is needed")
    texts = {key: _text(mapping, key, where) for key in ("reason", "suggest", "name")}
    return Rule(decision=str(decision), **lists, **texts)  # type: ignore[arg-type]


def _strings(mapping: Mapping[str, object], key: str, where: str) -> tuple[str, ...]:
    value = mapping.get(key, ())
    if isinstance(value, str):
        value = (value,)
    if not isinstance(value, (list, tuple)) or not all(isinstance(item, str) and item for item in value):
        raise RuleError(f"{where}.{key}: a text or a list of texts is expected, not {value!r}")
    return tuple(value)


def _text(mapping: Mapping[str, object], key: str, where: str) -> str:
    value = mapping.get(key, "")
    if not isinstance(value, str):
        raise RuleError(f"{where}.{key}: a text is expected, not {value!r}")
    return value
