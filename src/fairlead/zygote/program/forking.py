"""A process that has imported what scripts usually import, and forks one child for each script.

It is a program of its own that knows nothing of the rest: it is loaded by `importlib_bootstrap.py`, with the
interpreter and the environment that scripts would be started with. It has one thread, writes nothing, and keeps
its stdin, stdout and stderr as the interpreter has made them, so that each child finds them unused.

Where a script could see the difference, the child becomes the usual interpreter by exec(2) before it runs any of it.
"""

from __future__ import annotations

import atexit
import builtins
import gc
import marshal
import os
import select
import sys

TYPE_CHECKING = False
if TYPE_CHECKING:
    from types import CodeType, TracebackType
    from typing import Any, NoReturn

    _Work = tuple[CodeType, dict[str, Any]]
    """Compiled, and the names of its module."""

IMPORTED = """
    __future__ argparse ast base64 collections contextlib copy dataclasses datetime enum errno fnmatch functools glob
    importlib inspect io itertools json logging math operator os pathlib platform pprint queue random re select shlex
    shutil signal socket stat string struct subprocess sys tempfile textwrap threading time tokenize tomllib traceback
    types typing urllib.parse warnings weakref
""".split()
"""What hooks import. Nothing that looks at its environment when it is imported, such as what needs OpenSSL."""

TELLING = (
    rb"_stack|stack_info|\bstack\(|_getframe|currentframe|f_back|sys\.modules|recursionlimit|is_finalizing|/proc/"
    rb"|\bgc\b|tracemalloc|settrace|setprofile|getppid|path_importer_cache|_ncallbacks"
)
"""Words of scripts that look at how they were started."""

_USUAL = """
import json
import os
import re
import sys

event = json.loads('{"tool_name": "Bash", "tool_input": {"command": "ls", "timeout": 1.5}, "more": [true, null]}')
command = event.get("tool_input", {}).get("command", "")
if any(word in command for word in ("--force", "rm")) or not isinstance(command, str):
    raise SystemExit(f"{command!r}")
json.dumps({"decision": "block", "reason": " ".join(sorted(command.split()))})
"""
"""What most scripts do, as far as it leaves no trace."""

STARTED, EXITED = b"S", b"E"
_NO_MARK = b"FAIRLEAD=0"
_UNCOUNTED = 1 if sys.version_info >= (3, 12) else 2
"""Calls below a script that it would not have without us: a module and, where it counts, its `exec`."""
_ROOM = 4096
"""Bytes of our own environment that each child overwrites with its mark."""
_REQUEST = 1 << 14
"""Bytes that a question may have: the path of a script."""
_LINE = 3
"""Of a spare, to its zygote."""
_LONGEST = 1 << 16
_MOST_COMPILED = 64
"""Scripts of fewer bytes than the former that are kept ready."""


class Unfit(Exception):  # noqa: N818  # says what it is
    """No child of this process would be like an interpreter of its own."""


class Zygote:
    """`next_script` returns in each child, with the script to run; `__exit__` ends it like the interpreter."""

    def __init__(self, known: frozenset[str], fresh: dict[str, Any]) -> None:
        self._fresh = fresh
        self._code: int | None = None
        self._children: dict[int, _Script] = {}
        self._closing = False
        self._spare: _Spare | None = None
        self._wants_spares = True
        self._idle: dict[int, int] = {}
        """Spares that nobody has asked anything, each by what says that it has ended."""
        self._compiled: dict[str, tuple[bytes, CodeType]] = {}
        """Scripts that have run before, and whose text may still be the same."""
        try:
            self._prepare(known)
        except Exception as error:  # noqa: BLE001  # told to who has started us, who does without
            os.write(0, marshal.dumps({"unfit": f"{type(error).__name__}: {error}"}))
            os._exit(1)

    def _prepare(self, known: frozenset[str]) -> None:
        if not sys.flags.safe_path:
            del sys.path[0]  # our own folder
        _refuse_surprises()
        self._quick = _is_first_at_exit(self._end_quickly)
        names = _names_read_at_start()
        watched = _watched(known)
        _import_all()
        import re
        import socket

        self._telling = re.compile(TELLING)
        self._ours = frozenset(name.partition(".")[0] for name in sys.modules.keys() - known)
        self._path = list(sys.path)
        self._label = _Label()
        self._coerced = self._label.coerced()
        holes = _filled_holes()
        os.environ.clear()  # before its text is gone, or it could not be found
        self._label.check()
        self._usual = compile(_USUAL, "<usual>", "exec", dont_inherit=True)
        self._control = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET, fileno=os.dup(0))
        nothing = os.open(os.devnull, os.O_RDWR)
        for number in (0, 1, 2):
            os.dup2(nothing, number)
        os.close(nothing)
        self._poll = select.poll()
        self._poll.register(self._control, select.POLLIN)
        self._kept = _kept_for_ever(holes)
        self._control.send(marshal.dumps({"names": names, "watched": watched}))

    # --- the parent ----------------------------------------------------------------------------------

    def next_script(self) -> _Work:
        """In a child, what to run and where; never in the zygote itself."""
        while True:
            if not self._children:
                script = self._make_spare()
                if script is not None:
                    return script
            for fd, _events in self._poll.poll():
                if fd == self._control.fileno():
                    script = self._on_request()
                    if script is not None:
                        return script
                elif fd in self._children:
                    self._on_word(self._children[fd])
                elif fd in self._idle:
                    self._collect(fd)
                else:
                    self._on_exit(fd)
            if self._closing and not self._children:
                os._exit(0)

    def _on_request(self) -> _Work | None:
        import socket

        data, fds, _flags, _address = socket.recv_fds(self._control, _REQUEST, 16, socket.MSG_CMSG_CLOEXEC)
        if not data:
            self._closing = True
            self._poll.unregister(self._control)
            return None
        if len(fds) != 6:  # no room for them: who asked sees that nobody answers
            _close(fds)
            return None
        spare, self._spare = self._spare, None
        if spare is None or not spare.takes(data, fds):
            return self._fork(fds, os.fsdecode(data))
        del self._idle[spare.pidfd]
        self._watch(spare.pid, spare.pidfd, fds, os.fsdecode(data))
        return None

    def _fork(self, fds: list[int], script: str) -> _Work | None:
        try:
            pid = os.fork()
        except OSError:
            _close(fds)
            return None
        if pid == 0:
            return self._become(fds)
        self._watch(pid, self._watched_end(pid), fds, script)
        return None

    def _watched_end(self, pid: int) -> int:
        pidfd = os.pidfd_open(pid)
        self._poll.register(pidfd, select.POLLIN)
        return pidfd

    def _watch(self, pid: int, pidfd: int, fds: list[int], script: str) -> None:
        channel = fds[3]
        _close([fd for fd in fds if fd != channel])
        self._children[channel] = _Script(pid, pidfd, channel, script)
        self._poll.register(channel, select.POLLIN)

    def _make_spare(self) -> _Work | None:
        """A child before anybody has asked for it: its fork, a third of what a script costs, is over by then. In it,
        this returns with the script that it was asked for. Not while others run, who may need the processor."""
        import socket

        if self._spare is not None or self._closing or not self._wants_spares:
            return None
        ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        try:
            pid = os.fork()
        except OSError:  # the machine is short of something: not one process more than is asked for
            self._wants_spares = False
            ours.close()
            theirs.close()
            return None
        if pid == 0:
            ours.detach()
            return self._be_spare(theirs.detach())
        theirs.close()
        self._spare = _Spare(pid, self._watched_end(pid), ours)
        self._idle[self._spare.pidfd] = pid
        return None

    def _dismiss_spare(self) -> None:
        if self._spare is not None:
            self._spare.dismiss()
            self._spare = None

    def _collect(self, pidfd: int) -> None:
        os.waitpid(self._idle.pop(pidfd), 0)
        self._poll.unregister(pidfd)
        os.close(pidfd)
        if self._spare is not None and self._spare.pidfd == pidfd:  # somebody does not want it; so be it
            self._dismiss_spare()
            self._wants_spares = False

    def _on_exit(self, pidfd: int) -> None:
        child = next((child for child in self._children.values() if child.pidfd == pidfd), None)
        if child is None or not child.has_exited():  # the number was another's a moment ago
            return
        try:
            os.write(child.channel, EXITED + marshal.dumps((child.code, child.is_alone())))
        except OSError:  # nobody listens any more
            pass
        self._remember(child)
        self._poll.unregister(pidfd)
        if not child.is_orphan:
            self._poll.unregister(child.channel)
        del self._children[child.channel]
        _close([child.channel, pidfd])

    def _remember(self, child: _Script) -> None:
        """Compile a script that a child could compile and run, for the next one. Nothing of it runs here."""
        if child.code is None or child.code < 0:
            return
        try:
            source = _text_of(child.script)
            known, _code = self._compiled.get(child.script, (None, None))
            if source and source != known:
                code = self._compile(child.script, source)
                if len(self._compiled) >= _MOST_COMPILED:
                    self._compiled.clear()
                self._compiled[child.script] = source, code
                self._dismiss_spare()  # which does not know it
        except Exception:  # noqa: BLE001, S110  # it has been changed; each child says itself what is wrong with it
            pass

    def _on_word(self, child: _Script) -> None:
        """There is only one: nobody watches it any more."""
        if not child.is_orphan and child.is_hung_up():
            child.is_orphan = True
            self._poll.unregister(child.channel)
            child.kill()

    # --- a child -------------------------------------------------------------------------------------

    def _be_spare(self, line: int) -> _Work:
        """It holds nothing of the zygote's: whoever waits for the end of that must not wait for ours."""
        import socket

        self._control.detach()
        os.dup2(line, _LINE, inheritable=False)
        os.closerange(_LINE + 1, os.sysconf("SC_OPEN_MAX"))
        self._rehearse()
        with socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET, fileno=_LINE) as control:
            _script, fds, _flags, _address = socket.recv_fds(control, _REQUEST, 16, socket.MSG_CMSG_CLOEXEC)
        if len(fds) != 6:  # nobody will ask any more
            os._exit(0)
        return self._become(fds)

    def _rehearse(self) -> None:
        """Do what is done with every script, and then undo it: each page of memory that is written to for the first
        time since the fork costs microseconds, and there are hundreds of them. Here nobody waits for it."""
        try:
            job = marshal.loads(marshal.dumps({"argv": [__file__], "env": [(b"%d" % n, b"x" * n) for n in range(60)]}))  # noqa: S302
            self._label.write(_NO_MARK)
            self._is_beside_ours(*job["argv"])
            for name, value in job["env"]:
                os.environb[name] = value
            os.environ.clear()
            before = sys.modules["__main__"]
            exec(self._usual, self._main(*job["argv"]))  # noqa: S102  # our own
            sys.modules["__main__"] = before
            _has_something_to_finalise()
        except Exception:  # noqa: BLE001  # it was not meant
            os._exit(0)

    def _become(self, fds: list[int]) -> _Work:
        """A process like a new interpreter. Until it has its token, nobody counts on it."""
        try:
            job = self._take_over(fds)
        except BaseException:  # noqa: BLE001  # nothing of the script has run, and who asked will start it
            os._exit(1)
        try:
            return self._script(job)
        except BaseException:  # noqa: BLE001  # such as a syntax error, which it says better
            return _become_interpreter(job)

    def _take_over(self, fds: list[int]) -> Any:
        import socket

        stdin, stdout, stderr, channel, token, payload = fds
        os.setsid()
        job = marshal.loads(os.pread(payload, os.fstat(payload).st_size, 0))  # noqa: S302  # from our own parent
        os.chdir(job["cwd"])
        self._label.write(job["mark"])
        for number, fd in enumerate((stdin, stdout, stderr)):
            os.dup2(fd, number)
        whole = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET, fileno=channel)
        pid = os.getpid()
        socket.send_fds(whole, [STARTED + marshal.dumps(pid)], [os.pidfd_open(pid)])
        if os.read(token, 1) != b"g":
            os._exit(0)
        whole.detach()
        self._control.detach()
        os.closerange(3, os.sysconf("SC_OPEN_MAX"))
        if job["umask"] >= 0:
            os.umask(job["umask"])
        return job

    def _script(self, job: Any) -> _Work:
        import logging
        import time

        script = job["argv"][0]
        code = self._code_of(script)
        for name, value in job["env"]:
            os.environb[name] = value
        if self._coerced:
            os.environ["LC_CTYPE"] = self._coerced
        time.tzset()
        in_ns = isinstance(vars(logging)["_startTime"], int)
        vars(logging)["_startTime"] = time.time_ns() if in_ns else time.time()
        sys.argv = list(job["argv"])
        sys.orig_argv = [sys.executable, *job["argv"]]
        sys.path[:] = self._path if sys.flags.safe_path else [_folder(script), *self._path]
        sys.setrecursionlimit(sys.getrecursionlimit() + _UNCOUNTED)
        self._code = 0
        return code, self._main(script)

    def _main(self, script: str) -> dict[str, Any]:
        import importlib.machinery
        import types

        module = sys.modules["__main__"] = types.ModuleType("__main__")
        names = module.__dict__
        names.clear()
        names.update(self._fresh, __doc__=None, __file__=script)
        names["__loader__"] = importlib.machinery.SourceFileLoader("__main__", script)
        if "__annotations__" in names:
            names["__annotations__"] = {}
        return names

    def _code_of(self, script: str) -> CodeType:
        with open(script, "rb", buffering=0) as file:
            source = file.read()
        known, code = self._compiled.get(script, (None, None))
        if code is None or source != known:
            code = self._compile(script, source)
        if self._is_beside_ours(script):
            raise Unfit("a module beside it has the name of one that is imported already")
        return code

    def _is_beside_ours(self, script: str) -> bool:
        return not self._ours.isdisjoint(name.partition(".")[0] for name in os.listdir(_folder(script)))

    def _compile(self, script: str, source: bytes) -> CodeType:
        source.decode()
        if b"\0" in source or source.startswith(b"\xef\xbb\xbf") or _names_an_encoding(source):
            raise Unfit("not plain UTF-8")
        if self._telling.search(source):
            raise Unfit("it looks at how it was started")
        import warnings

        with warnings.catch_warnings():
            warnings.simplefilter("error")  # of the compiler: said by the interpreter, at its time
            return compile(source, script, "exec", dont_inherit=True)

    # --- the end of a child --------------------------------------------------------------------------

    def __enter__(self) -> None:
        pass

    def __exit__(self, _kind: object, error: BaseException | None, below: TracebackType | None) -> None:
        if error is None:
            return
        if isinstance(error, SystemExit):
            code = error.code
            self._code = 0 if code is None else code if type(code) is int and 0 <= code <= 255 else None
            return
        self._code = None
        error.__traceback__ = below.tb_next if below is not None else None
        _report(error)
        if isinstance(error, KeyboardInterrupt):  # said already; the interpreter still has to die of SIGINT
            hook = sys.excepthook
            sys.excepthook = lambda *_: setattr(sys, "excepthook", hook)
            return
        self._code = 1
        raise SystemExit(1) from None

    def _end_quickly(self) -> None:
        """Do what the interpreter does after the last function at exit, but not to what is the zygote's."""
        import _thread

        if self._code is None or _thread._count():  # noqa: SLF001  # the only way to ask
            return
        try:
            for stream in (sys.stdout, sys.stderr):
                if stream is not None and not stream.closed:
                    stream.flush()
        except BaseException:  # noqa: BLE001  # the interpreter finds the same, and says it
            return
        if _has_something_to_finalise():
            _take_apart(self._kept)
        os._exit(self._code)


class _Spare:
    """A child that waits for a script."""

    __slots__ = ("_line", "pid", "pidfd")

    def __init__(self, pid: int, pidfd: int, line: Any) -> None:
        self.pid = pid
        self.pidfd = pidfd
        self._line = line

    def takes(self, script: bytes, fds: list[int]) -> bool:
        """False if it has ended."""
        import socket

        try:
            socket.send_fds(self._line, [script], fds)
        except OSError:
            return False
        finally:
            self.dismiss()
        return True

    def dismiss(self) -> None:
        self._line.close()


class _Script:
    __slots__ = ("channel", "code", "is_orphan", "pid", "pidfd", "script")

    def __init__(self, pid: int, pidfd: int, channel: int, script: str) -> None:
        self.script = script
        self.pid = pid
        self.pidfd = pidfd
        self.channel = channel
        self.code: int | None = None
        self.is_orphan = False

    def has_exited(self) -> bool:
        pid, status = os.waitpid(self.pid, os.WNOHANG)
        if pid:
            self.code = os.waitstatus_to_exitcode(status)
        return bool(pid)

    def is_alone(self) -> bool:
        """Whether nobody is left in its group. As long as somebody is, no other group can have its number."""
        try:
            os.killpg(self.pid, 0)
        except ProcessLookupError:
            return True
        except OSError:
            pass
        return False

    def is_hung_up(self) -> bool:
        poll = select.poll()
        poll.register(self.channel, select.POLLIN)
        return bool(poll.poll(0))

    def kill(self) -> None:
        for kill in (os.killpg, os.kill):  # the first time it may have no group yet
            try:
                kill(self.pid, 9)
            except OSError:
                pass


class _Label:
    """Our environment as others see it in /proc. There, a child that has not called exec(2) carries its mark, too."""

    def __init__(self) -> None:
        with open("/proc/self/environ", "rb") as file:
            self._block = file.read()
        with open("/proc/self/stat", "rb") as file:
            fields = file.read().rpartition(b")")[2].split()
        self._place, end = int(fields[47]), int(fields[48])
        if end - self._place != len(self._block) or len(self._block) <= _ROOM:
            raise Unfit("there is no room for a mark")

    def check(self) -> None:
        self.write(_NO_MARK)
        with open("/proc/self/environ", "rb") as file:
            if not file.read().startswith(_NO_MARK + b"\0"):
                raise Unfit("a mark cannot be seen")

    def coerced(self) -> str:
        """What the interpreter has set in the C locale, beside what it was given."""
        given = any(entry.startswith(b"LC_CTYPE=") for entry in self._block.split(b"\0"))
        return "" if given else os.environ.get("LC_CTYPE", "")

    def write(self, mark: bytes) -> None:
        """Over all of it: the rest is nobody's any more."""
        with open("/proc/self/mem", "r+b", buffering=0) as memory:
            memory.seek(self._place)
            memory.write(mark.ljust(len(self._block), b"\0"))


def _refuse_surprises() -> None:
    if len(os.listdir("/proc/self/task")) > 1:
        raise Unfit("something in its site configuration starts threads")
    if sys.gettrace() is not None or sys.getprofile() is not None:
        raise Unfit("something in its site configuration traces what runs")
    if sys.stdin is None or sys.stdout is None or sys.stderr is None:
        raise Unfit("it has no standard streams")


def _is_first_at_exit(function: Any) -> bool:
    """Functions at exit are called in the reverse order: ours has to be the last."""
    count: Any = getattr(atexit, "_ncallbacks", lambda: 1)
    if count():
        return False
    atexit.register(function)
    return True


_PROBE = """
import os, sys, marshal
names = set()
class Watched(type(os.environ)):
    def __getitem__(self, name):
        names.add(name)
        return super().__getitem__(name)
    def __iter__(self):
        names.add("*")
        return super().__iter__()
os.environ.__class__ = Watched
import site
output = os.dup(1)
os.dup2(2, 1)
site.main()
os.write(output, marshal.dumps(sorted(name for name in names if isinstance(name, str))))
os._exit(0)
"""


def _names_read_at_start() -> list[str]:
    """The variables that .pth files and sitecustomize have asked for."""
    import subprocess

    found = subprocess.run([sys.executable, "-S", "-c", _PROBE], stdin=-3, capture_output=True, timeout=60, check=True)
    names: list[str] = marshal.loads(found.stdout)  # noqa: S302  # from our own child
    if "*" in names:
        raise Unfit("something in its site configuration reads the whole environment")
    return names


def _watched(known: frozenset[str]) -> list[tuple[str, Any]]:
    """Files and folders that decide what a new interpreter finds, as they are now."""
    library = os.path.dirname(os.__file__) + os.sep
    beside = os.path.dirname(sys.executable)
    paths = [sys.executable, os.__file__, f"{beside}/pyvenv.cfg", f"{os.path.dirname(beside)}/pyvenv.cfg", *sys.path]
    for folder in sys.path:
        if os.path.isdir(folder):
            paths += [os.path.join(folder, name) for name in os.listdir(folder) if name.endswith(".pth")]
    files = [getattr(module, "__file__", None) for name, module in sys.modules.items() if name in known]
    paths += [file for file in files if file and (not file.startswith(library) or "site-packages" in file)]
    import site

    user = site.getusersitepackages()
    return [(path, seen(path)) for path in dict.fromkeys([*paths, user])]


def seen(path: str) -> tuple[int, int, int] | None:
    try:
        found = os.stat(path)
    except OSError:
        return None
    return found.st_mtime_ns, found.st_size, found.st_ino


def _import_all() -> None:
    import importlib

    for name in IMPORTED:
        importlib.import_module(name)


def _filled_holes() -> list[Any]:
    """So that a child's new objects lie side by side: each page that it writes to is copied, at 2 µs or more."""
    for number in range(400):
        os.environb[b"%d" % number] = b"x" * (number * 5 % 200)
    return [bytes(size) for size in range(0, 480, 16) for _ in range(400)]


def _kept_for_ever(holes: list[Any]) -> frozenset[str]:
    """What is frozen is not collected, and so not copied, when a child ends."""
    sys.path_importer_cache.clear()  # a new interpreter has not looked at any folder
    kept: list[Any] = [holes, *sys.modules.values()]
    kept.append(kept)
    del kept
    names = frozenset(sys.modules)
    gc.collect()
    gc.freeze()
    return names


def _text_of(script: str) -> bytes:
    """Empty for what is too long, or is no file, which could keep us waiting."""
    import stat

    file = os.open(script, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
    try:
        about = os.fstat(file)
        return os.read(file, _LONGEST) if stat.S_ISREG(about.st_mode) and about.st_size < _LONGEST else b""
    finally:
        os.close(file)


def _close(fds: list[int]) -> None:
    for fd in fds:
        os.close(fd)


def _folder(script: str) -> str:
    return os.path.dirname(os.path.realpath(script))


def _names_an_encoding(source: bytes) -> bool:
    """In a comment of the first two lines; UTF-8 is what it would be anyway."""
    comments = [line for line in source.lower().split(b"\n", 2)[:2] if line.lstrip().startswith(b"#")]
    return any(b"coding" in line and b"utf-8" not in line for line in comments)


def _become_interpreter(job: Any) -> NoReturn:
    import signal

    for number in (signal.SIGPIPE, signal.SIGXFSZ):  # which the interpreter ignores for itself
        signal.signal(number, signal.SIG_DFL)
    try:
        os.execve(sys.executable, [sys.executable, *job["argv"]], dict(job["env"]))  # noqa: S606  # no shell is meant
    except OSError as error:
        os.write(2, f"cannot start {sys.executable!r}: {error.strerror}\n".encode())
    os._exit(126)


def _report(error: BaseException) -> None:
    """As the interpreter does with what nobody has caught."""
    sys.last_type, sys.last_value, sys.last_traceback = type(error), error, error.__traceback__
    if sys.version_info >= (3, 12):
        sys.last_exc = error
    hook = getattr(sys, "excepthook", None)
    if hook is None:
        _write_error("sys.excepthook is missing\n")
        sys.__excepthook__(type(error), error, error.__traceback__)
        return
    try:
        hook(type(error), error, error.__traceback__)
    except SystemExit:
        raise
    except BaseException as other:  # noqa: BLE001  # as the interpreter
        other.__traceback__ = other.__traceback__.tb_next if other.__traceback__ is not None else None
        other.__context__ = None
        _write_error("Error in sys.excepthook:\n")
        sys.__excepthook__(type(other), other, other.__traceback__)
        _write_error("\nOriginal exception was:\n")
        sys.__excepthook__(type(error), error, error.__traceback__)


def _write_error(text: str) -> None:
    try:
        sys.stderr.write(text)
    except Exception:  # noqa: BLE001, S110  # closed, or none
        pass


_FORGOTTEN = (
    "path argv ps1 ps2 last_type last_value last_traceback last_exc path_hooks path_importer_cache meta_path"
    " __interactivehook__"
).split()


_SILENT = {dict, list, tuple, set, frozenset, property, staticmethod, classmethod}
"""Types whose values go without anybody noticing; `_silent_types` has more."""


def _silent_types() -> set[type]:
    import _thread
    import re
    import types

    of_code = (types.FunctionType, types.CellType, types.MethodType, types.BuiltinFunctionType, types.FrameType)
    of_classes = (types.GetSetDescriptorType, types.MemberDescriptorType, types.MethodDescriptorType)
    others = (types.WrapperDescriptorType, types.ModuleType, types.MappingProxyType, _thread.RLock, _thread.LockType)
    return {*_SILENT, *of_code, *of_classes, *others, re.Pattern, re.Match}


def _has_something_to_finalise() -> bool:
    """Among what is not the zygote's. What has no finaliser and holds no file goes without anybody seeing it."""
    if sys.warnoptions:  # some types only warn
        return True
    silent = _silent_types()
    for found in gc.get_objects():
        kind = type(found)
        if kind is type:
            if "__del__" in vars(found):
                return True
        elif kind not in silent and kind.__module__ not in _IMPORTING and kind.__module__ != __name__:
            return True
    return False


_IMPORTING = frozenset(["_frozen_importlib", "_frozen_importlib_external", "importlib._bootstrap"])
_ADDED = frozenset("open quit exit copyright credits license help _".split())
"""To the built-in names, when the interpreter starts; taken away before the rest."""
_BUILT_IN = frozenset(vars(builtins))


def _take_apart(kept: frozenset[str]) -> None:
    """What the script and its modules hold is finalised, in the interpreter's order."""
    import weakref

    if gc.isenabled():
        gc.collect()
    _forget_state()
    modules: dict[str, Any] = sys.modules
    own = [name for name in modules if name not in kept or name == "__main__"]
    alive = [weakref.ref(modules[name]) for name in own if type(modules[name]) is type(sys)]
    for name in own:
        modules[name] = None
    modules.clear()
    for name in [name for name in vars(builtins) if name in _ADDED or name not in _BUILT_IN]:
        delattr(builtins, name)
    gc.collect()
    for reference in reversed(alive):
        module = reference()
        if module is not None:
            _clear(module.__dict__)
    _flush_what_is_left()


def _forget_state() -> None:
    for name in _FORGOTTEN:
        if hasattr(sys, name):
            setattr(sys, name, None)
    for name in ("stdin", "stdout", "stderr"):
        setattr(sys, name, getattr(sys, f"__{name}__"))


def _flush_what_is_left() -> None:
    for stream in (sys.stdout, sys.stderr):
        try:
            stream.flush()
        except Exception:  # noqa: BLE001, S110  # the interpreter is as silent by then
            pass


def _clear(names: dict[str, Any]) -> None:
    for name in list(names):
        if name.startswith("_") and name[1:2] != "_":
            names[name] = None
    for name in list(names):
        if not (name.startswith("_") and name[1:2] != "_") and name != "__builtins__":
            names[name] = None
