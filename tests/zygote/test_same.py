"""A script cannot tell, and nobody can tell from a script, whether it came from a zygote."""

from __future__ import annotations

import contextvars
import os
import re
import sys
from pathlib import Path
from typing import Any

import pytest

from fairlead import process, surroundings
from fairlead.zygote.program import forking
from tests.zygote.conftest import ENVIRON, Warm, a_run

PLAIN: dict[str, str] = {
    "prints": "print('said')",
    "echoes stdin": "import sys; sys.stdout.write(sys.stdin.read())",
    "reads stdin as bytes": "import sys; print(sys.stdin.buffer.read())",
    "reads stdin line by line": "import sys\nfor line in sys.stdin: print(repr(line))",
    "input()": "print(input('? '), input())",
    "does not read": "print('no')",
    "a JSON verdict": "import json, sys; print(json.dumps({'decision': 'block', 'got': json.load(sys.stdin)}))",
    "writes bytes": "import sys; sys.stdout.buffer.write(bytes(range(256)))",
    "text and bytes": "import sys; print('a'); sys.stdout.buffer.write(b'b'); print('c')",
    "both streams": "import sys; print('o'); print('e', file=sys.stderr); print('o2'); sys.stderr.write('half')",
    "not ASCII": "print('ü€😀')",
    "lone surrogates": "print('\\udc80')",
    "lone surrogates on stderr": "import sys; print('\\ud800', file=sys.stderr)",
    "the streams themselves": "import sys\nfor s in (sys.stdin, sys.stdout, sys.stderr): print(s, s.encoding, s.errors,"
    " s.line_buffering, s.write_through, s.isatty(), s.fileno(), s.newlines, s.buffer, s.buffer.raw, s.seekable())",
    "exit 0": "import sys; sys.exit(0)",
    "exit 2": "import sys; print('no', file=sys.stderr); sys.exit(2)",
    "exit 255": "raise SystemExit(255)",
    "exit 256": "raise SystemExit(256)",
    "exit -1": "raise SystemExit(-1)",
    "exit with text": "import sys; print('out'); sys.exit('text')",
    "exit with None": "raise SystemExit",
    "exit with True": "raise SystemExit(True)",
    "exit with a list": "raise SystemExit([1, 'ü'])",
    "exit() of site": "exit(3)",
    "os._exit": "import os; print('lost'); os._exit(5)",
    "os._exit after a flush": "import os; print('kept', flush=True); os._exit(6)",
    "killed": "import os; print('lost'); os.kill(os.getpid(), 9)",
    "terminated": "import os; os.kill(os.getpid(), 15)",
    "aborted": "import resource, os; resource.setrlimit(resource.RLIMIT_CORE, (0, 0)); os.abort()",
    "an exception": "def f(x):\n    return 1 / x\n\nprint('before')\nf(0)",
    "an exception in an import": "import no_such_module_at_all",
    "an exception with notes": "e = ValueError('x')\ne.add_note('look here')\nraise e",
    "a chain of exceptions": "try:\n    {}['a']\nexcept KeyError as e:\n    raise RuntimeError('later') from e",
    "a context of exceptions": "try:\n    1/0\nexcept ZeroDivisionError:\n    undefined_name",
    "a group of exceptions": "raise ExceptionGroup('two', [ValueError(1), TypeError(2)])",
    "a suggestion": "value = 1\nprint(valeu)",
    "an exception that cannot be shown": "class E(Exception):\n    def __str__(self): raise ValueError\nraise E",
    "endless recursion": "def f(): f()\nf()",
    "recursion as deep as it goes": "def f(n):\n  try: return f(n + 1)\n  except RecursionError: return n\nprint(f(0))",
    "an assertion": "assert 1 == 2, 'no'",
    "KeyboardInterrupt": "raise KeyboardInterrupt",
    "SIGINT": "import os, signal; os.kill(os.getpid(), signal.SIGINT)",
    "a broken pipe": "import os\nr, w = os.pipe(); os.close(r); os.write(w, b'x')",
    "signals": "import signal\nfor n in sorted(signal.valid_signals()): print(n, signal.getsignal(n))\n"
    "print(signal.pthread_sigmask(0, []))",
    "an excepthook": "import sys\nsys.excepthook = lambda t, v, b: print('mine', t, v, b.tb_lineno, b.tb_next)\n1/0",
    "an excepthook that fails": "import sys\ndef hook(*a): raise KeyError('h')\nsys.excepthook = hook\n1/0",
    "an excepthook that exits": "import sys\nsys.excepthook = lambda *a: sys.exit(7)\n1/0",
    "no excepthook": "import sys\ndel sys.excepthook\n1/0",
    "the last exception": "import atexit, sys\n"
    "atexit.register(lambda: print(sys.last_type, sys.last_value, sys.last_traceback.tb_lineno))\n1/0",
    "atexit": "import atexit; atexit.register(print, 'second'); atexit.register(print, 'first'); print('main')",
    "atexit after an exception": "import atexit; atexit.register(print, 'end'); 1/0",
    "atexit that fails": "import atexit\ndef f(): raise ValueError('at exit')\natexit.register(f); print('main')",
    "atexit that exits": "import atexit, os; atexit.register(lambda: os._exit(9))",
    "atexit instead of all others": "import atexit; atexit._clear(); atexit.register(print, 'mine'); print('main')",
    "a thread": "import threading\nt = threading.Thread(target=lambda: print('in thread')); t.start(); t.join()",
    "a thread that is not joined": "import threading, time\n"
    "threading.Thread(target=lambda: (time.sleep(0.1), print('late'))).start(); print('main')",
    "a daemon thread": "import threading\ne = threading.Event()\n"
    "threading.Thread(target=e.wait, daemon=True).start(); print('main')",
    "a thread that fails": "import threading\nt = threading.Thread(target=lambda: 1/0, name='t'); t.start(); t.join()",
    "a pool": "from concurrent.futures import ThreadPoolExecutor as P\nprint(list(P(2).map(abs, [-1, -2])))",
    "asyncio": "import asyncio\nasync def f(): await asyncio.sleep(0); print('awaited')\nasyncio.run(f())",
    "a subprocess": "import subprocess; print(subprocess.run(['echo', 'sub'], capture_output=True, text=True))",
    "a shell on the same streams": "import os, sys; print('a', flush=True); print(os.system('cat; echo b; exit 3'))",
    "a fork": "import os\npid = os.fork()\nprint('child' if pid == 0 else os.waitpid(pid, 0)[1])",
    "a fork that exits": "import os, sys\nif os.fork() == 0: sys.exit(4)\nprint(os.wait()[1])",
    "an exec": "import os; os.execvp('sh', ['sh', '-c', 'echo $0 $X; exit 8'])",
    "multiprocessing": "import multiprocessing as m\ndef f(x): return x * 2\n"
    "if __name__ == '__main__':\n    with m.get_context('spawn').Pool(1) as p: print(p.map(f, [1, 2]))",
    "the environment": "import os; e = dict(os.environ); e.pop('FAIRLEAD_HOOK_RUN'); print(e)",
    "the environment of children": "import subprocess\n"
    "for l in subprocess.run(['env'], capture_output=True, text=True, errors='replace').stdout.splitlines():\n"
    "    print(l if 'FAIRLEAD_HOOK_RUN' not in l else '')",
    "the directory": "import os; print(os.getcwd())",
    "descriptors": "import os; print(sorted(os.listdir('/dev/fd'), key=int)[:-1])",
    "descriptors that children get": "import subprocess; subprocess.run(['ls', '/dev/fd'])",
    "inheritable": "import os; print([os.get_inheritable(n) for n in range(3)])",
    "the session": "import os; print(os.getsid(0) == os.getpgrp() == os.getpid())",
    "the mask": "import os; print(oct(os.umask(0)))",
    "limits": "import resource; print([resource.getrlimit(n) for n in range(10)])",
    "arguments": "import sys; print(sys.argv, sys.orig_argv, sys.executable)",
    "flags": "import sys; print(sys.flags, sys.warnoptions, sys._xoptions, sys.dont_write_bytecode)",
    "places": "import sys; print(sys.path, sys.prefix, sys.base_prefix, sys.meta_path, sys.path_hooks)",
    "interpreter": "import sys; print(sys.version, sys.implementation, sys.getfilesystemencoding(),"
    " sys.getdefaultencoding(), sys.getswitchinterval(), sys.platlibdir)",
    "locale": "import locale as l; print(l.setlocale(l.LC_ALL), l.getpreferredencoding(), l.getlocale())",
    "names of the module": "print([(k, v) for k, v in globals().items() if k not in ('__loader__', 'k', 'v')])\n"
    "print(type(__loader__), vars(__loader__))",
    "documentation": "'''About it.'''\nprint(__doc__, __name__, __file__, __spec__)",
    "annotations": "x: int = 1\nprint(__annotations__)",
    "pickling its own class": "import pickle\nclass C: pass\nprint(type(pickle.loads(pickle.dumps(C()))))",
    "the main module": "import __main__; a = 1; print(__main__.a, __main__.__dict__ is globals())",
    "a future": "from __future__ import annotations\ndef f(x: Undefined): pass\nprint(f.__annotations__)",
    "no future": "def f(x: int): pass\nprint(f.__annotations__)",
    "a warning": "import warnings; warnings.warn('careful')",
    "a warning beyond the script": "import warnings; warnings.warn('careful', stacklevel=2)",
    "a warning far beyond the script": "import warnings; warnings.warn('careful', stacklevel=9)",
    "a deprecation": "import warnings; warnings.warn('old', DeprecationWarning)",
    "a file that is not closed": "f = open('left.txt', 'w'); f.write('kept')",
    "a finaliser": "class C:\n    def __del__(self): print('gone', open)\nc = C()\nprint('end')",
    "finalisers in order": "class C:\n    def __init__(self, n): self.n = n\n"
    "    def __del__(self): print('gone', self.n)\n"
    "a, _b, c = C(1), C(2), C(3)\ndef f(): return a\nprint('end')",
    "finalisers in a cycle": "class C:\n    def __del__(self): print('gone')\n"
    "x, y = C(), C(); x.y, y.x = y, x; z = C(); z.z = z; del z",
    "a finaliser that fails": "class C:\n    def __del__(self): raise ValueError('late')\nc = C()",
    "a finaliser that ends it": "import os\nclass C:\n    def __del__(self, e=os._exit): print('x'); e(11)\nc = C()",
    "a finaliser that sees only built-in names": "import builtins; builtins.mine = 1\nclass C:\n"
    "    def __del__(self):\n"
    "        print(sorted(__builtins__.__dict__ if hasattr(__builtins__, '__dict__') else __builtins__))\nc = C()",
    "a finaliser of a module beside it": "import finalised\nfinalised.again = finalised",
    "a finaliser that imports": "class C:\n    def __del__(self):\n        try: import csv; print('imported')\n"
    "        except ImportError as e: print(e)\nc = C()",
    "a generator that is not done": "def g():\n    try: yield 1\n    finally: print('closed')\nx = g(); next(x)",
    "a temporary directory": "import os, tempfile\nt = tempfile.TemporaryDirectory(); print(os.path.isdir(t.name))",
    "weakref.finalize": "import weakref\nclass C: pass\nc = C(); weakref.finalize(c, print, 'finalised')",
    "a replaced stdout": "import io, sys\nclass S(io.StringIO):\n"
    "    def __del__(self): print('replaced gone', file=sys.__stderr__)\n"
    "sys.stdout = S(); print('lost')",
    "stdout closed": "import sys; sys.stdout.close()",
    "stdout closed below": "import os; print('x'); os.close(1)",
    "stdout is None": "import sys; sys.stdout = None; print('x')",
    "stderr closed": "import sys; sys.stderr.close(); 1/0",
    "stdin closed": "import sys; sys.stdin.close()",
    "logging": "import logging; logging.warning('w'); logging.basicConfig(level=10); logging.info('i')",
    "time of logging": "import logging; logging.basicConfig(format='%(message)s')\n"
    "logging.warning(logging.makeLogRecord({}).relativeCreated < 60_000)",
    "the time zone": "import time; print(time.tzname, time.timezone, time.strftime('%Z', time.localtime(0)))",
    "randomness": "import random; print(len({random.random() for _ in range(9)}))",
    "a module beside it": "import helper; print(helper.value, helper.__file__)",
    "a module beside it that fails": "import broken",
    "a package beside it": "from package import inner; print(inner.__name__)",
    "an extension module": "import sqlite3; print(sqlite3.connect(':memory:').execute('select 1').fetchall())",
    "TLS": "import ssl, hashlib; print(ssl.OPENSSL_VERSION, hashlib.sha256(b'').hexdigest())",
    "no code": "",
    "UTF-8, said": "#!/usr/bin/python3\n# -*- coding: utf-8 -*-\nprint('ü')",
    "a comment": "#!/usr/bin/env python3\n# nothing",
    "no newline at the end": "print(1)\nprint(2)",
    "Windows lines": "print(1)\r\nprint('''a\r\nb''')\r\n",
    "a form feed": "\fprint(1)",
    "optimised": "print(__debug__)",
    "breakpoint with an end of input": "breakpoint()",
    "help of a function": "import textwrap; print(textwrap.dedent.__doc__[:20])",
    "argparse": "import argparse; p = argparse.ArgumentParser(); p.add_argument('x'); p.parse_args()",
    "large output": "print('x' * 300_000)",
}  # fmt: skip

COLD: dict[str, str | bytes] = {
    "a syntax error": "def f(:\n  pass",
    "an unclosed bracket": "x = (1,\n",
    "a bad indentation": "if 1:\npass",
    "a tab error": "if 1:\n        a\n\tb",
    "a syntax warning": "print(1 is 1)",
    "a bad escape": "print('\\d')",
    "NUL": b"print(1)\0print(2)",
    "Latin-1, said": "# -*- coding: latin-1 -*-\nprint('\xe9')".encode("latin-1"),
    "Latin-1, not said": "print('\xe9')".encode("latin-1"),
    "an encoding that does not exist": b"# coding: nonsense\nprint(1)",
    "UTF-8 with a mark": b"\xef\xbb\xbfprint('\xc3\xbc')",
    "the stack": "import traceback\ndef f(): traceback.print_stack()\nf()",
    "frames": "import sys\ntry: sys._getframe(1)\nexcept ValueError as e: print(e)",
    "the stack in a log": "import logging\nlogging.warning('x', stack_info=True)",
    "inspect": "import inspect; print([f.lineno for f in inspect.stack()])",
    "the limit of recursion": "import sys; print(sys.getrecursionlimit())",
    "modules": "import sys; print('argparse' in sys.modules)",
    "its command line": "print(open('/proc/self/cmdline').read())",
    "finalisation": "import sys\nclass C:\n    def __del__(self): print(sys.is_finalizing())\nc = C()",
}


def _both(warm: Warm, folder: Path, source: str | bytes, **fields: Any) -> tuple[Any, Any]:
    script = folder / "hook.py"
    script.write_bytes(source if isinstance(source, bytes) else source.encode())
    fields = _given(**fields)
    cold = process.run_blocking(a_run(script, cold=True, **fields))
    return cold.but(fed=True), warm.run(script, **fields).but(fed=True)  # a script may end before all of it is written


def _given(**fields: Any) -> dict[str, Any]:
    fields.setdefault("stdin", b'{"a": "\xc3\xbc"}\nsecond\n')
    fields["env"] = {**ENVIRON, "X": "x y", "EMPTY": "", "ODD": "\udcff", **fields.get("env", {})}
    return fields


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "helper.py").write_text("value = 'from beside it'\n")
    (tmp_path / "broken.py").write_text("def f():\n    return undefined\n\nf()\n")
    (tmp_path / "finalised.py").write_text("class C:\n    def __del__(self): print('gone', again)\nc = C()\n")
    (tmp_path / "package").mkdir()
    (tmp_path / "package" / "__init__.py").touch()
    (tmp_path / "package" / "inner.py").touch()
    return tmp_path


def _without_addresses(result: Any) -> Any:
    shown = rb"(0x|object refcount : )[0-9a-f]+"  # the second where an exception could not even be shown
    texts = {name: re.sub(shown, rb"\1", getattr(result, name)) for name in ("stdout", "stderr", "tail")}
    return result.but(**texts, fed=True)  # who does not read its stdin may end before it was written


@pytest.mark.parametrize("name", PLAIN)
def test_the_result_is_the_same_to_the_byte(warm: Warm, folder: Path, name: str) -> None:
    assert not re.search(forking.TELLING, PLAIN[name].encode()), "this would be started cold"
    cold, forked = _both(warm, folder, PLAIN[name])
    assert _without_addresses(forked) == _without_addresses(cold)
    again = warm.run(folder / "hook.py", **_given())  # the zygote has compiled it by now
    assert _without_addresses(again) == _without_addresses(cold)
    left = folder / "left.txt"
    assert not left.exists() or left.read_text() == "kept"


def test_a_script_runs_as_it_stands_there_now(warm: Warm, folder: Path) -> None:
    """Also where nothing but its text tells that it is another one."""
    script = folder / "hook.py"
    for said in ("one", "two", "two", "one"):
        script.write_text(f"print('{said}')")
        os.utime(script, ns=(1, 1))
        assert warm.run(script).stdout == f"{said}\n".encode()


@pytest.mark.parametrize("name", COLD)
def test_what_could_see_the_difference_becomes_the_usual_interpreter(warm: Warm, folder: Path, name: str) -> None:
    cold, forked = _both(warm, folder, COLD[name])
    assert _without_addresses(forked) == _without_addresses(cold)


SURROUNDINGS: dict[str, dict[str, str]] = {
    "C": {"LANG": "C"},
    "POSIX": {"LC_ALL": "POSIX"},
    "C without coercion": {"LC_CTYPE": "C", "PYTHONCOERCECLOCALE": "0"},
    "a locale that does not exist": {"LANG": "xx_YY.UTF-8"},
    "Latin-1": {"PYTHONIOENCODING": "latin-1:replace"},
    "no UTF-8 mode": {"LANG": "C", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0"},
    "unbuffered": {"PYTHONUNBUFFERED": "1"},
    "warnings are errors": {"PYTHONWARNINGS": "error"},
    "optimised": {"PYTHONOPTIMIZE": "1"},
    "no folder of the script": {"PYTHONSAFEPATH": "1"},
    "a seed": {"PYTHONHASHSEED": "7"},
    "a time zone": {"TZ": "America/New_York"},
}
_LOOK = """
import locale, os, sys, time
print('ü€'.encode(sys.stdout.encoding, 'replace'), time.tzname, hash('a') if os.environ.get('PYTHONHASHSEED') else '')
for s in (sys.stdin, sys.stdout, sys.stderr): print(s.encoding, s.errors, s.write_through)
print(sys.flags, sys.warnoptions, sys.path, locale.getlocale(), sys.getfilesystemencoding(), __debug__)
print(ascii({k: v for k, v in os.environ.items() if k != 'FAIRLEAD_HOOK_RUN'}), ascii(sys.argv))
import warnings
warnings.warn('careful')
print('ü')
"""


def test_the_scripts_above_are_really_forked(warm: Warm, folder: Path) -> None:
    """What was imported before them is there."""
    tail = "\nprint('tomllib' in vars(__import__('sys'))['modules'])\n"
    for source in (_LOOK, PLAIN["echoes stdin"], PLAIN["UTF-8, said"], PLAIN["a module beside it"]):
        cold, forked = _both(warm, folder, source + tail)
        assert (cold.stdout.splitlines()[-1], forked.stdout.splitlines()[-1]) == (b"False", b"True")


@pytest.mark.parametrize("name", SURROUNDINGS)
def test_the_surroundings_are_the_same(warm: Warm, folder: Path, name: str) -> None:
    cold, forked = _both(warm, folder, _LOOK, env=SURROUNDINGS[name])
    assert _without_addresses(forked) == _without_addresses(cold)


def test_the_umask_of_the_client_counts(warm: Warm, folder: Path) -> None:
    def for_a_client() -> tuple[Any, Any]:
        surroundings.enter(surroundings.Surroundings(environ={}, umask=0o027))
        return _both(warm, folder, PLAIN["the mask"])

    cold, forked = contextvars.copy_context().run(for_a_client)
    assert forked.stdout == cold.stdout == b"0o27\n"


def test_a_module_beside_the_script_comes_before_the_library(warm: Warm, folder: Path) -> None:
    (folder / "json.py").write_text("print('mine')\n")
    cold, forked = _both(warm, folder, "import json; print(json.__file__)")
    assert forked == cold
    assert forked.stdout.startswith(b"mine\n")


def test_a_link_is_followed_to_the_folder_of_the_script(warm: Warm, folder: Path, tmp_path: Path) -> None:
    (folder / "real").mkdir()
    (folder / "real" / "hook.py").write_text("import sys, other; print(other.value, __file__, sys.path[0])\n")
    (folder / "real" / "other.py").write_text("value = 1\n")
    link = folder / "link.py"
    link.symlink_to(folder / "real" / "hook.py")
    cold = process.run_blocking(a_run(link, cold=True))
    assert warm.run(link) == cold
    assert cold.exit_code == 0


def test_arguments_are_passed_on(warm: Warm, folder: Path) -> None:
    script = folder / "hook.py"
    script.write_text("import sys; print(ascii(sys.argv), ascii(sys.orig_argv))")
    argv = (sys.executable, str(script), "--flag", "ü", "", "\udcff")
    assert warm.run(script, argv=argv) == process.run_blocking(a_run(script, cold=True, argv=argv))


def test_two_children_do_not_share_their_randomness(warm: Warm, folder: Path) -> None:
    script = folder / "hook.py"
    script.write_text("import random, tempfile; print(random.random(), next(tempfile._get_candidate_names()))")
    assert len({warm.run(script).stdout for _ in range(4)}) == 4


def test_what_one_script_changes_the_next_does_not_see(warm: Warm, folder: Path) -> None:
    script = folder / "hook.py"
    script.write_text(
        "import json, os\nprint(hasattr(json, 'x'), os.environ.get('LEFT'))\njson.x = os.environ['LEFT'] = '1'"
    )
    assert [warm.run(script).stdout for _ in range(3)] == [b"False None\n"] * 3
