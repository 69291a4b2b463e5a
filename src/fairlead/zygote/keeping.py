"""Which zygote fits a script, when to start another, and when to let one go."""

from __future__ import annotations

import os
import sys
import threading
import time

from fairlead import surroundings
from fairlead.process import MARK
from fairlead.zygote.asking import Zygote

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from fairlead.work import Run
    from fairlead.zygote.asking import Forked

MOST = 4
"""Zygotes at once: one for each set of variables that interpreters look at when they start."""
PATIENCE = 1.0
"""Seconds that a zygote may take to answer."""
PAUSE = 1.0
"""Seconds between the starts of two; doubled with each in a row that was not fit for use."""
_MOST_FAILURES = 8
_LARGE = 100_000
"""Bytes of environment beyond which the kernel may refuse to start a program: let it say so."""
_LONG = 4000
"""Bytes of a mark that fit into the room that zygotes have for it."""

_LOOKED_AT = ("HOME", "LC_ALL", "LC_CTYPE", "LANG", "LOCPATH", "NLSPATH")
_PREFIXES = ("PYTHON", "LD_", "MALLOC_", "GLIBC_", "GCONV_", "COVERAGE_", "__PYVENV")
_UNDERSTOOD = frozenset(
    """
    PYTHONPATH PYTHONHASHSEED PYTHONIOENCODING PYTHONUTF8 PYTHONUNBUFFERED PYTHONDONTWRITEBYTECODE PYTHONNOUSERSITE
    PYTHONWARNINGS PYTHONOPTIMIZE PYTHONPYCACHEPREFIX PYTHONCOERCECLOCALE PYTHONSAFEPATH PYTHONUSERBASE PYTHONSTARTUP
    """.split()
)
_PLAIN = frozenset(["argv", "cwd", "env", "facts", "script", "stdin", "timeout", "input_file", "left_out"])
"""Fields of a run that change nothing in how its process is made."""


class Zygotes:
    """All of a server's. `fork` is the way in; None means: start it as any other program."""

    def __init__(self) -> None:
        self.patience = PATIENCE
        self.pause = PAUSE
        self.why_not = ""
        """Why the last one could not be used."""
        self._lock = threading.Lock()
        self._all: list[Zygote] = []
        self._retired: list[Zygote] = []
        self._failed = 0
        self._next_start = 0.0

    def prepare(self, environ: Mapping[str, str]) -> None:
        with self._lock:
            if self._fitting(environ) is None:
                self._start(environ)

    def fork(self, run: Run, env: Mapping[str, str], stdio: Sequence[int]) -> Forked | None:
        if not _is_plain(run) or not _is_understood(env):
            return None
        payload = _payload(run, env)
        if payload is None:
            return None
        with self._lock:
            zygote = self._fitting(env)
            if zygote is None:
                self._start(env)
                return None
            if not zygote.is_ready:
                return None
            patience = min(self.patience, (run.timeout or 60.0) / 3)
            return zygote.fork(os.fsencode(run.script), payload, stdio, patience, self._give_up)

    def is_ready(self, environ: Mapping[str, str]) -> bool:
        with self._lock:
            zygote = self._fitting(environ)
            return zygote is not None and zygote.is_ready

    def pids(self) -> list[int]:
        return [zygote.pid for zygote in self._all]

    def close(self) -> None:
        with self._lock:
            for zygote in (*self._all, *self._retired):
                zygote.end()
            self._all, self._retired = [], []

    def _fitting(self, env: Mapping[str, str]) -> Zygote | None:
        """One for this environment, the most recently used at the end; also one that is not ready yet."""
        looked_at = _looked_at(env)
        self._clean_up(looked_at)
        for zygote in self._all:
            if zygote.looked_at == looked_at and zygote.fits(env):
                self._all.remove(zygote)
                self._all.append(zygote)
                return zygote
        return None

    def _clean_up(self, looked_at: dict[str, str]) -> None:
        for zygote in [zygote for zygote in self._all if zygote.looked_at == looked_at]:
            zygote.listen()
            if not zygote.is_fresh():
                self._note(zygote)
                self._retire(zygote)
        for zygote in list(self._retired):
            if not zygote.busy:
                zygote.end()
                self._retired.remove(zygote)

    def _note(self, zygote: Zygote) -> None:
        self._failed = 0 if zygote.was_ready else min(self._failed + 1, _MOST_FAILURES)
        self.why_not = zygote.why_not

    def _start(self, env: Mapping[str, str]) -> None:
        now = time.monotonic()
        if now < self._next_start or not _is_understood(env):
            return
        self._next_start = now + self.pause * 2**self._failed
        while len(self._all) >= MOST:
            self._retire(self._all[0])
        own = {name: value for name, value in env.items() if name != MARK}  # it must not end with the first hook
        try:
            self._all.append(Zygote(own, _looked_at(env)))
        except OSError as error:
            self.why_not = f"cannot start {sys.executable!r}: {os.strerror(error.errno or 0)}"

    def _give_up(self, zygote: Zygote) -> None:
        """It has not answered in time. What it has forked before goes on."""
        with self._lock:
            if zygote in self._all:
                self._retire(zygote)

    def _retire(self, zygote: Zygote) -> None:
        self._all.remove(zygote)
        zygote.close()
        self._retired.append(zygote)


def _is_plain(run: Run) -> bool:
    """Whether there is nothing to do for it but to start an interpreter with a script."""
    words = run.argv[:2] == (sys.executable, run.script) and os.path.isabs(run.script)
    return words and not any(value for name, value in run.as_dict().items() if name not in _PLAIN)


def _looked_at(env: Mapping[str, str]) -> dict[str, str]:
    return {name: value for name, value in env.items() if name in _LOOKED_AT or name.startswith(_PREFIXES)}


def _is_understood(env: Mapping[str, str]) -> bool:
    if any(name.startswith("PYTHON") and name not in _UNDERSTOOD for name in env):
        return False
    path = env.get("PYTHONPATH", "")
    return all(os.path.isabs(folder) for folder in path.split(os.pathsep)) if path else True


def _payload(run: Run, env: Mapping[str, str]) -> bytes | None:
    """None for what cannot be started at all: another tells why."""
    import marshal

    try:
        variables = [(os.fsencode(name), os.fsencode(value)) for name, value in env.items()]
        words = [os.fsencode(word) for word in run.argv[1:]]
        cwd = os.fsencode(run.cwd)
    except (TypeError, ValueError):
        return None
    mark = os.fsencode(f"{MARK}={env[MARK]}")
    flat = b"".join((cwd, *words, *(text for variable in variables for text in variable)))
    if b"\0" in flat or len(flat) > _LARGE or len(mark) > _LONG:
        return None
    if any(b"=" in name or not name for name, _value in variables):
        return None
    job = {
        "argv": list(run.argv[1:]),
        "cwd": run.cwd,
        "umask": surroundings.umask(),
        "mark": mark,
        "env": variables,
    }
    return marshal.dumps(job)
