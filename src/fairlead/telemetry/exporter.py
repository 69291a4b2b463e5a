"""The process that sends: one for each destination, started when there is something to send, gone when there is not.

Each message is sent until the collector has it. What has been sent is noted after every step, so that whoever comes
after a crash goes on from there: spans and log records may then arrive twice, with the same ids; numbers stay right.
"""

from __future__ import annotations

import fcntl
import os
import shutil
import sys
import time
import uuid

from fairlead import wire
from fairlead.errors import InputError
from fairlead.masking import Masker
from fairlead.telemetry import sending, spool
from fairlead.telemetry.totals import LOST, Totals

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any

KINDS = ("traces", "metrics", "logs")
_PLACES = ("trace", "span", "parent", "state")
STATE = "state.json"
BATCH = 256
"""Events in one message."""
QUIET_ROUNDS = 12
"""Looks at an empty spool after which the process ends."""
LONGEST_STAY = 60.0
"""Seconds that it waits for a collector; after that somebody else will be started."""
LONGEST_PAUSE = 600.0
LONGEST_WISH = 3600.0
FORGOTTEN = 14 * 24 * 3600.0
"""Seconds after which a destination that nobody writes to any more is cleared away."""
NEEDS = "the extra `otel` is not installed: pip install 'fairlead[otel]'"


def main() -> None:
    """With the lock on descriptor 0."""
    place = spool.Spool(sys.argv[2])
    os.pwrite(0, b"%d\n" % os.getpid(), 0)  # for people who ask whose lock it is
    try:
        said = wire.decode_object(os.environ.get(spool.SETTINGS, "{}"))
        _sweep(place.folder)
        Exporter(place, said, os.environ).run(0)
    except FileNotFoundError:  # somebody has taken the folder away
        pass
    except ImportError:
        _note(place, NEEDS)
    except Exception as error:  # noqa: BLE001  # not to be started again for each event, only to fail again
        _note(place, f"internal error: {type(error).__name__}: {error}")


def _note(place: spool.Spool, problem: str) -> None:
    state = State(place)
    state.values["problem"] = problem
    state.save()
    place.pause(LONGEST_PAUSE)


class State:
    """What must survive the process."""

    def __init__(self, place: spool.Spool) -> None:
        self._path = place.path(STATE)
        now = time.time_ns()
        fresh = {"instance": str(uuid.uuid4()), "since": now, "told": now, "offset": 0, "done": [], "failures": 0}
        empty = {"series": {}, "untold": {}, "sent": 0, "lost": 0, "problem": ""}
        self.values: dict[str, Any] = {**fresh, **empty, **self._read()}

    def _read(self) -> dict[str, Any]:
        try:
            with open(self._path, "rb") as file:
                return wire.decode_object(file.read())
        except (FileNotFoundError, InputError):
            return {}

    def save(self) -> None:
        fresh = f"{self._path}.new"
        with open(os.open(fresh, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_CLOEXEC, 0o600), "wb") as file:
            file.write(wire.encode(self.values))
        os.rename(fresh, self._path)


class Exporter:
    def __init__(self, place: spool.Spool, said: Mapping[str, Any], environ: Mapping[str, str]) -> None:
        from fairlead.telemetry import otlp

        self._otlp = otlp
        self._masker = Masker(environ)
        self._place = place
        self._state = State(place)
        self._to = {kind: sending.Destination(kind, said, environ) for kind in KINDS}
        self._delay = sending.delay(environ)
        self._resource = sending.resource(environ, self._state.values["instance"])
        self._delta = environ.get("OTEL_EXPORTER_OTLP_METRICS_TEMPORALITY_PREFERENCE", "").lower() == "delta"

    def run(self, lock: int) -> None:
        while True:
            self._work()
            fcntl.flock(lock, fcntl.LOCK_UN)
            # Whoever has written before this line saw the lock, and has started nobody.
            if self._place.is_empty() or self._place.pause_left() > 0:
                return
            try:
                fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                return

    def _work(self) -> None:
        quiet = 0
        while quiet < QUIET_ROUNDS:
            pause = self._place.pause_left()
            if pause > LONGEST_STAY:
                return
            time.sleep(pause or self._delay)
            os.stat(self._place.folder)
            if self._place.is_empty():
                quiet += 1
            else:
                quiet = 0
                self._send_all()

    def _send_all(self) -> None:
        """Until nothing is left, or the collector does not take any more."""
        if not os.path.exists(self._place.path(spool.SENDING)):
            self._remember(offset=0, done=[])
            self._place.take()
        dropped = self._place.take_dropped()
        if dropped:
            self._count_lost("full", dropped)
        values = self._state.values
        while True:
            lines, after = self._place.lines(values["offset"], BATCH)
            if not lines:
                self._place.discard()
                return
            records = [record for line in lines if (record := self._record(line)) is not None]
            if not self._send(records, after):
                return
            if len(records) < len(lines):
                self._count_lost("unreadable", len(lines) - len(records))

    def _send(self, records: list[dict[str, Any]], after: int) -> bool:
        """Whether the collector has them now, or never will."""
        values = self._state.values
        untold = dict(values["untold"])
        totals, fresh = Totals(values["series"]), Totals()
        for counted in (totals, fresh):
            counted.add(records)
            for why, number in untold.items():
                counted.count(LOST, number, **{"fairlead.dropped.because": why})
        problem = ""
        for kind in KINDS:
            if kind in values["done"] or self._to[kind].is_off:
                continue
            outcome = self._send_one(kind, records, fresh if self._delta else totals)
            if not outcome.done:
                self._wait(outcome)
                return False
            if outcome.refused:
                self._count_lost("refused", len(records))
            problem = problem or outcome.problem
            self._remember(done=[*values["done"], kind])
        self._place.go_on()
        left = {why: number - untold.get(why, 0) for why, number in values["untold"].items()}
        self._remember(
            offset=after,
            done=[],
            failures=0,
            problem=problem,
            series=totals.series,
            told=time.time_ns(),
            untold={why: number for why, number in left.items() if number},
            sent=values["sent"] + len(records),
        )
        return True

    def _record(self, line: bytes) -> dict[str, Any] | None:
        """None for what was cut short when a disk was full, or written by a version that we do not understand."""
        try:
            record = self._masked(wire.decode_object(line))
            self._otlp.traces([record], {})
            self._otlp.logs([record], {})
            Totals().add([record])
        except Exception:  # noqa: BLE001  # whatever is wrong with it, the others must not suffer
            return None
        return record

    def _masked(self, record: dict[str, Any]) -> dict[str, Any]:
        """What it says; where it stands in the trace is nobody's secret."""
        about = {name: record[name] for name in _PLACES if name in record}
        masked: dict[str, Any] = self._masker.value({name: record[name] for name in record if name not in about})
        return {**masked, **about}

    def _send_one(self, kind: str, records: list[dict[str, Any]], totals: Totals) -> sending.Outcome:
        otlp = self._otlp
        if kind == "metrics":
            since = self._state.values["told" if self._delta else "since"]
            body = otlp.metrics(totals, since, time.time_ns(), self._resource, delta=self._delta)
        else:
            body = getattr(otlp, kind)(records, self._resource)
        return sending.send(body, self._to[kind], otlp.RESPONSES[kind]) if body else sending.Outcome(done=True)

    def _wait(self, outcome: sending.Outcome) -> None:
        """Twice as long each time; never shorter than the collector wishes, within reason."""
        failures = self._state.values["failures"]
        ours = min(self._delay * 2 ** min(failures, 20), LONGEST_PAUSE)
        self._place.pause(max(ours, min(outcome.wait, LONGEST_WISH)))
        self._remember(failures=failures + 1, problem=outcome.problem)

    def _count_lost(self, why: str, number: int) -> None:
        untold = self._state.values["untold"]
        self._remember(untold={**untold, why: untold.get(why, 0) + number}, lost=self._state.values["lost"] + number)

    def _remember(self, **values: Any) -> None:
        self._state.values.update(values)
        self._state.save()


def _sweep(folder: str) -> None:
    """Destinations that nobody has written to for long."""
    parent = os.path.dirname(folder)
    for name in os.listdir(parent):
        other = os.path.join(parent, name)
        if other != folder and time.time() - os.stat(other).st_mtime > FORGOTTEN:
            shutil.rmtree(other, ignore_errors=True)
