"""Start a hook's process inside its bounds."""

from __future__ import annotations

import os

from fairlead.confining import bubblewrap, filtering, landlock, limiting
from fairlead.confining.places import READ, WRITE
from fairlead.confining.scratch import make
from fairlead.confining.ways import LANDLOCK
from fairlead.spawning import spawn

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from fairlead.confining import Walls
    from fairlead.work import Run

_ENOENT = 2
_FIRST_FREE = 3
"""Behind stdin, stdout and stderr, also where ours are closed."""


def start(run: Run, env: Mapping[str, str], stdio: Sequence[int]) -> int:
    """The process id. Raises OSError or ValueError when it cannot be started as it should be, and starts nothing."""
    walls = run.sandbox
    if walls is None and run.limits is None:
        pid = _without_privileges(lambda: _spawn(run, env, stdio)) if run.no_new_privs else _spawn(run, env, stdio)
    elif walls is not None and walls.by != LANDLOCK:
        pid = _in_bubblewrap(run, walls, env, stdio)
    else:
        pid = _behind_landlock(run, walls, env, stdio)
    _without_core(pid)
    return pid


def _spawn(run: Run, env: Mapping[str, str], stdio: Sequence[int]) -> int:
    try:
        return spawn(run.argv, run.program or run.argv[0], run.cwd, env, stdio)
    except OSError:
        if not run.otherwise:
            raise
        return spawn(run.otherwise, run.otherwise[0], run.cwd, env, stdio)


def _behind(before: list[str], run: Run, env: Mapping[str, str]) -> list[str]:
    """The hook's words behind those of programs that start it, which would not tell us that there is no such file."""
    program = run.program or run.argv[0]
    folders = [""] if "/" in program else env.get("PATH", os.defpath).split(os.pathsep)
    candidates = (os.path.join(run.cwd, folder, program) for folder in folders)
    if not any(os.path.isfile(path) and os.access(path, os.X_OK) for path in candidates):
        raise FileNotFoundError(_ENOENT, os.strerror(_ENOENT), program)
    return [*before, program, *run.argv[1:]]


def _in_bubblewrap(run: Run, walls: Walls, env: Mapping[str, str], stdio: Sequence[int]) -> int:
    limits = [] if run.limits is None else limiting.words(run.limits, own_count=True)
    descriptor = _filter_file(walls) if filtering.is_known() else None
    try:
        words = _behind([*bubblewrap.words(run, walls, descriptor), *limits], run, env)
        return spawn(words, walls.by, run.cwd, env, stdio, keep=() if descriptor is None else (descriptor,))
    finally:
        if descriptor is not None:
            os.close(descriptor)


def _filter_file(walls: Walls) -> int:
    """With the filter in it, for bwrap to read."""
    import fcntl

    low, writing = os.pipe()
    try:
        reading = fcntl.fcntl(low, fcntl.F_DUPFD_CLOEXEC, _FIRST_FREE)
        os.write(writing, filtering.program(network=walls.network, metadata=True))  # far less than a pipe holds
    finally:
        os.close(writing)
        os.close(low)
    return reading


def _behind_landlock(run: Run, walls: Walls | None, env: Mapping[str, str], stdio: Sequence[int]) -> int:
    def begin() -> int:
        if run.limits is None:
            return _spawn(run, env, stdio)
        words = _behind(limiting.words(run.limits, own_count=False), run, env)
        return spawn(words, words[0], run.cwd, env, stdio)

    if walls is None:
        return _without_privileges(begin) if run.no_new_privs else begin()
    places = {**walls.places, **_shown(run)}
    make(run.scratch)

    def restrict() -> None:
        from fairlead.confining import kernel

        landlock.restrict(places, network=walls.network)
        kernel.drop_capabilities()
        kernel.filter_calls(filtering.program(network=walls.network, metadata=False))

    return _without_privileges(begin, restrict)


def _shown(run: Run) -> dict[str, str]:
    moved = [place for source, place in run.binds if source != place]
    if moved:
        raise ValueError(f"Landlock cannot show another file in the place of {moved[0]}; bubblewrap can")
    shown = {os.path.realpath(place): READ for _, place in run.binds}
    return {**shown, **({os.path.realpath(run.input_file): WRITE} if run.input_file else {})}


def _without_privileges(begin: Callable[[], int], restrict: Callable[[], None] | None = None) -> int:
    """Starts something from a thread that can get no new privileges, and perhaps less still: what a thread gives up
    is given up by its children, and by nobody else. It costs no further program, and no copy of our memory."""
    import sys

    if not sys.platform.startswith("linux"):
        return begin()

    def give_up_and_begin() -> int:
        from fairlead.confining import kernel

        kernel.give_up_new_privileges()
        if restrict is not None:
            restrict()
        return begin()

    return _in_a_thread(give_up_and_begin)


def _in_a_thread(function: Callable[[], int]) -> int:
    import _thread
    from contextvars import copy_context

    results: list[int] = []
    errors: list[BaseException] = []
    done = _thread.allocate_lock()
    done.acquire()
    context = copy_context()

    def work() -> None:
        try:
            results.append(context.run(function))
        except BaseException as error:  # noqa: BLE001  # raised again, in the thread that asked
            errors.append(error)
        finally:
            done.release()

    _thread.start_new_thread(work, ())
    try:
        done.acquire()
    except BaseException:  # a signal: what has begun is over in a moment, and must not be lost
        done.acquire()
        for pid in results:
            _end(pid)
        raise
    if errors:
        raise errors[0]
    return results[0]


def _end(pid: int) -> None:
    try:
        os.killpg(pid, 9)
        os.waitpid(pid, 0)
    except OSError:
        pass


def _without_core(pid: int) -> None:
    """No picture of its memory on the disk. Nothing depends on the moment: what it forks before gets its own limit."""
    import resource

    if hasattr(resource, "prlimit"):
        try:
            resource.prlimit(pid, resource.RLIMIT_CORE, (0, 0))
        except OSError:  # it has ended
            pass
