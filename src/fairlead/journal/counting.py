"""Count what is in the journal: how often, how decided, how long.

However many entries there are, memory stays the same: each group is a row of numbers, times go into a bounded sketch,
and the number of groups is limited.
"""

from __future__ import annotations

import json
import math
import os
import time

from fairlead.journal.reading import Log
from fairlead.journal.recording import word_of
from fairlead.journal.searching import Search
from fairlead.journal.writing import DETAILS, LINES

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from typing import Any

    from fairlead.hooks import Hook
    from fairlead.journal.reading import Entry, Wanted

GROUPS = ("day", "hour", "agent", "tool", "hook", "decision", "project")
OTHERS = "(others)"
MOST_ROWS = 500
"""Rows of one table; what comes later is counted as others."""
_MOST_TIMES = 10_000
_MOST_SESSIONS = 50_000
_MOST_RAN = 5_000
_LONGEST = 200
_QUARTER = 900
"""Seconds: every time zone is a multiple of this away from UTC, so a day begins with one."""


class Sketch:
    """Times, of which any percentile is known to 1 %. Below 10 µs all are the same."""

    __slots__ = ("_buckets", "count", "least", "most")

    BASE = 1.01 / 0.99
    _LOG = math.log(BASE)
    _LOWEST = 0.01

    def __init__(self) -> None:
        self._buckets: dict[int, int] = {}
        self.count = 0
        self.least = math.inf
        self.most = 0.0

    @classmethod
    def bucket(cls, ms: float) -> int:
        """Of a time; an hour and a half is in bucket 1007, a week in 1241."""
        return 0 if ms <= cls._LOWEST else math.ceil(math.log(min(ms, 1e9) / cls._LOWEST) / cls._LOG)

    def add(self, ms: float, bucket: int) -> None:
        buckets = self._buckets
        buckets[bucket] = buckets.get(bucket, 0) + 1
        self.count += 1
        if ms < self.least:  # noqa: PLR1730  # a call would take as long as all the rest of this
            self.least = ms
        if ms > self.most:  # noqa: PLR1730  # the same
            self.most = ms

    def at(self, percent: float) -> float:
        """The time that this share was not slower than; 0 where there is none."""
        rank, passed = math.ceil(self.count * percent / 100), 0
        for bucket in sorted(self._buckets):
            passed += self._buckets[bucket]
            if passed >= rank:
                middle = self._LOWEST * 2 * self.BASE**bucket / (self.BASE + 1)
                return round(min(max(middle, self.least), self.most), 2)
        return 0.0

    def as_dict(self) -> dict[str, float]:
        return {"p50": self.at(50), "p95": self.at(95), "p99": self.at(99), "max": round(self.most, 2)}


class Row:
    """A group of events, or of the runs of a hook."""

    __slots__ = ("asked", "count", "failed", "late", "refused", "times")

    def __init__(self) -> None:
        self.count = self.refused = self.asked = self.failed = self.late = 0
        self.times = Sketch()

    def add(self, word: str, failed: int, ms: float, bucket: int) -> None:
        self.count += 1
        self.times.add(ms, bucket)
        if word != "none":
            self.refused += word == "deny"
            self.asked += word == "ask"
            self.late += word == "late"
        if failed > 0:
            self.failed += 1

    def as_dict(self, name: str) -> dict[str, Any]:
        numbers = {"count": self.count, "refused": self.refused, "asked": self.asked, "failed": self.failed}
        return {"name": name, **numbers, "late": self.late, **self.times.as_dict()}


class Seen:
    """What happened in one project, to tell which of its hooks never had anything to do."""

    def __init__(self) -> None:
        self.agents: dict[str, int] = {}
        self.events: dict[str, int] = {}
        self.ran: set[tuple[str, str]] = set()
        """Events and names of hooks."""
        self.last = 0.0

    def add(self, entry: Entry) -> None:
        self.agents[entry["agent"]] = self.agents.get(entry["agent"], 0) + 1
        self.events[entry["event"]] = self.events.get(entry["event"], 0) + 1
        self.last = max(self.last, entry["t"])
        if len(self.ran) < _MOST_RAN:
            self.ran.update((entry["event"], name) for name in entry["hooks"])


class Counts:
    """Everything at once, in one pass over the short lines."""

    def __init__(self, log: Log, *, groups: Iterable[str] = GROUPS, project: str = "", projects: bool = True) -> None:
        """Only of one `project`, if it is named. `projects`: whether it matters which hooks ran where."""
        self._log = log
        self._groups = tuple(groups)
        self._project = os.path.realpath(project) if project else ""
        self._sessions: dict[tuple[str, str], str] = {}
        self._wholes = _Wholes(log)
        self._wants_projects = projects or bool(project) or "project" in self._groups
        self._days: dict[int, tuple[str, str]] = {}
        self.tables: dict[str, dict[str, Row]] = {group: {} for group in self._groups}
        self.projects: dict[str, Seen] = {}
        self.all = Row()
        self.calls = 0
        self.decisions = dict.fromkeys(("none", "allow", "ask", "defer", "deny"), 0)
        self.first = self.last = 0.0
        self.unreadable = 0

    @property
    def details_read(self) -> int:
        """Entries of which more than the short line was looked at."""
        return self._wholes.count

    def count(self, wanted: Wanted) -> None:
        for entry in entries(self._log, wanted):
            try:
                self._add(entry)
            except (KeyError, TypeError, ValueError, AttributeError, OverflowError):  # not written by us
                self.unreadable += 1
        self._wholes.close()

    def _add(self, entry: Entry) -> None:
        project = self._project_of(entry) if self._wants_projects else ""
        if self._project and os.path.realpath(project) != self._project:
            return
        word, failed, ms = str(entry["decision"]), int(entry["failed"]), _time(entry["ms"])
        bucket = Sketch.bucket(ms)
        self.all.add(word, failed, ms, bucket)
        self.calls += entry["event"] == "PreToolUse"
        self.decisions[word] = self.decisions.get(word, 0) + 1
        self.first, self.last = self.first or entry["t"], entry["t"]
        for group in self._groups:
            if group == "hook":
                self._add_hooks(entry)
            elif name := self._name(group, entry, project):
                _row(self.tables[group], name).add(word, failed, ms, bucket)
        if project:
            self._seen(project).add(entry)

    def _name(self, group: str, entry: Entry, project: str) -> str:
        if group in ("day", "hour"):
            return self._when(entry["t"])[group == "hour"]
        return project if group == "project" else str(entry[group])

    def _when(self, seconds: float) -> tuple[str, str]:
        """The day and the hour, where we are."""
        quarter = int(seconds // _QUARTER)
        if quarter not in self._days:
            if len(self._days) > _MOST_TIMES:
                self._days.clear()
            at = time.localtime(quarter * _QUARTER)
            self._days[quarter] = (time.strftime("%Y-%m-%d", at), time.strftime("%Y-%m-%dT%H", at))
        return self._days[quarter]

    def _add_hooks(self, entry: Entry) -> None:
        for name, ms, word in self._wholes.hooks(entry):
            _row(self.tables["hook"], name).add(word, word in ("failed", "late"), ms, Sketch.bucket(ms))

    def _seen(self, project: str) -> Seen:
        if project not in self.projects and len(self.projects) >= MOST_ROWS:
            project = OTHERS
        return self.projects.setdefault(project, Seen())

    def _project_of(self, entry: Entry) -> str:
        """The line does not say; a session stays in its project."""
        key = (entry["agent"], entry["session"])
        if not key[1]:
            return self._wholes.project(entry)
        if key not in self._sessions:
            if len(self._sessions) >= _MOST_SESSIONS:
                self._sessions.clear()
            self._sessions[key] = self._wholes.project(entry)
        return self._sessions[key]

    def as_dict(self) -> dict[str, Any]:
        return {
            "events": self.all.count,
            "calls": self.calls,
            "decisions": self.decisions,
            "refused": self.all.refused,
            "failed": self.all.failed,
            "times": self.all.times.as_dict(),
            "first": self.first,
            "last": self.last,
            "details_read": self.details_read,
            "unreadable": self.unreadable,
            "by": {group: _listed(group, table) for group, table in self.tables.items()},
        }


def _row(table: dict[str, Row], name: str) -> Row:
    row = table.get(name)
    if row is None:
        row = table.setdefault(name if len(table) < MOST_ROWS else OTHERS, Row())
    return row


def _listed(group: str, table: dict[str, Row]) -> list[dict[str, Any]]:
    """Days in their order, hooks the slowest first; the rest by how often."""
    rows = [row.as_dict(name) for name, row in sorted(table.items())]
    if group in ("day", "hour"):
        return rows
    return sorted(rows, key=lambda row: -float(row["p95" if group == "hook" else "count"]))


def entries(log: Log, wanted: Wanted) -> Iterator[Entry]:
    """The same as `Log.all`; three times as fast where every line has to be read anyway."""
    if wanted.text:
        yield from log.all(wanted)
        return
    search = Search(wanted)
    for segment in log.segments():
        if not log.may_have(segment, wanted):
            continue
        for line in _lines(log.path(segment, LINES)):
            if search.may_be(line):
                entry = _parsed(line)
                if entry and wanted.takes(entry):
                    entry["segment"] = segment
                    yield entry


def _lines(path: str) -> Iterator[bytes]:
    try:
        with open(path, "rb") as file:
            yield from file
    except FileNotFoundError:  # it has just been turned over
        pass


def _parsed(line: bytes) -> Entry:
    try:
        found = json.loads(line.decode("utf-8", "replace"))
    except (ValueError, RecursionError):  # cut short by the end of its writer
        return {}
    return found if isinstance(found, dict) and _is_entry(found) else {}


def _is_entry(found: dict[str, Any]) -> bool:
    when = found.get("t")
    return (
        "event" in found and "failed" in found and "hooks" in found
        and isinstance(when, (int, float)) and 0 <= when < 1e11
    )  # fmt: skip


def _time(ms: Any) -> float:
    return min(max(float(ms), 0.0), 1e9)


class _Wholes:
    """What the short lines do not have, read as little as possible."""

    _BEGINNING = 4096

    def __init__(self, log: Log) -> None:
        self._log = log
        self._segment = 0
        self._file = -1
        self.count = 0

    def close(self) -> None:
        if self._file >= 0:
            os.close(self._file)
        self._segment, self._file = 0, -1

    def hooks(self, entry: Entry) -> list[tuple[str, float, str]]:
        """Each with its time and what it said."""
        names = entry["hooks"]
        if names and "times" not in entry:  # written before the lines had them
            return self._from_the_whole(entry)
        times = map(_time, entry.get("times", ()))
        return list(zip(names, times, entry.get("said") or ("none",) * len(names), strict=False))

    def _from_the_whole(self, entry: Entry) -> list[tuple[str, float, str]]:
        self.count += 1
        ran = [hook for hook in self._log.whole(entry).get("details", {}).get("hooks", ()) if "verdict" in hook]
        return [(hook["name"], _time(hook["ms"]), word_of(hook["verdict"], hook.get("error", ""))) for hook in ran]

    def project(self, entry: Entry) -> str:
        """The whole begins with it."""
        self.count += 1
        if "at" not in entry:
            return ""
        start, length = entry["at"]
        raw = os.pread(self._opened(entry["segment"]), min(self._BEGINNING, length), start)
        number, found, rest = raw.partition(b',"project":')
        if found and number[1:].startswith(b'"n":') and b"," not in number:
            try:
                return str(json.JSONDecoder().raw_decode(rest.decode("ascii", "replace"))[0])
            except ValueError:  # longer than what we have looked at
                pass
        return str(self._log.whole(entry).get("details", {}).get("project", ""))

    def _opened(self, segment: int) -> int:
        if segment != self._segment:
            self.close()
            path = self._log.path(segment, DETAILS)
            try:
                self._file = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
            except FileNotFoundError:  # it has just been turned over
                self._file = os.open(os.devnull, os.O_RDONLY | os.O_CLOEXEC)
            self._segment = segment
        return self._file


# --- hooks that never had anything to do ---------------------------------------------------------------


class Unused:
    """Hooks that are in force now, and in which of the projects that were seen."""

    def __init__(self) -> None:
        self._found: dict[tuple[object, ...], tuple[Hook, dict[str, Seen]]] = {}

    def add(self, project: str, seen: Seen, hooks: Iterable[Hook]) -> None:
        for hook in hooks:
            key = (hook.name, hook.origin.file, hook.origin.path)
            self._found.setdefault(key, (hook, {}))[1][project] = seen

    def __iter__(self) -> Iterator[dict[str, Any]]:
        for hook, places in self._found.values():
            if not any(_has_run(hook, seen) for seen in places.values()):
                yield {
                    "name": hook.name,
                    "events": list(hook.events),
                    "matcher": str(hook.matcher.text),
                    "runs": hook.handler.describe()[:_LONGEST],
                    "layer": hook.origin.layer,
                    "file": hook.origin.file,
                    "line": hook.origin.line,
                    "projects": sorted(places),
                    "why": _why(hook, list(places.values())),
                }


def _has_run(hook: Hook, seen: Seen) -> bool:
    if "*" in hook.events:
        return any(name == hook.name for _, name in seen.ran)
    return any((event, hook.name) in seen.ran for event in hook.events)


def _why(hook: Hook, places: list[Seen]) -> str:
    if not hook.enabled:
        return "it is switched off"
    if not hook.trusted:
        return "its project is not trusted"
    happened = sum(seen.events.get(event, 0) for seen in places for event in hook.events)
    happened += sum(sum(seen.events.values()) for seen in places) if "*" in hook.events else 0
    if not happened:
        return f"no {' or '.join(hook.events)} has happened".replace("no *", "nothing")
    if _changed(hook.origin.file) > max(seen.last for seen in places):
        return "its file has changed since the last event"
    return f"none of {happened:,} {'event' if happened == 1 else 'events'} was one for it"


def _changed(path: str) -> float:
    try:
        return os.stat(path).st_mtime if path else 0.0
    except OSError:
        return 0.0
