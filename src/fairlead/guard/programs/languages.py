"""Interpreters: program text on the command line, on standard input or in a file."""

from __future__ import annotations

import re

from fairlead.guard._lazy import lazy
from fairlead.guard.code import scan
from fairlead.guard.effects import EMPTY, OPAQUE, Stream
from fairlead.guard.options import options
from fairlead.guard.paths import join
from fairlead.guard.programs import PROGRAMS, program
from fairlead.guard.programs.builtins import open_session, shell_escape, unknown_program
from fairlead.guard.programs.files import touch
from fairlead.guard.programs.wrappers import package_runner, wrapped
from fairlead.guard.shell.nodes import UNKNOWN

TYPE_CHECKING = False
if TYPE_CHECKING:
    from fairlead.guard.shell.run import Call


class Language:
    """How one interpreter takes its program."""

    __slots__ = ("code", "name", "values")

    def __init__(self, name: str, code: str, values: str = "") -> None:
        self.name = name
        self.code = re.compile(code)
        self.values = frozenset(values.split())


_PYTHON = Language("python", r"-[bBdEhiIOPqsSuvVx]*c(.*)", "-W -X -m --check-hash-based-pycs")
_NODE = Language(
    "javascript",
    r"(?:-e|--eval|-p|--print|-pe|-ep)(?:=(.*))?\Z",
    "-r --require --import --loader -C --experimental-loader",
)
_PERL = Language("perl", r"-[a-zA-Z0-9]*[eE](.*)", "-M -I")
_RUBY = Language("ruby", r"-[a-zA-Z]*e(.*)", "-r -I")
_PHP = Language("php", r"-r(.*)", "-d -c")
LANGUAGES = {
    "python": _PYTHON,
    "python2": _PYTHON,
    "python3": _PYTHON,
    "pypy": _PYTHON,
    "pypy3": _PYTHON,
    "ipython": _PYTHON,
    "node": _NODE,
    "nodejs": _NODE,
    "bun": _NODE,
    "tsx": _NODE,
    "ts-node": _NODE,
    "deno": _NODE,
    "perl": _PERL,
    "ruby": _RUBY,
    "jruby": _RUBY,
    "php": _PHP,
    "lua": Language("lua", r"-e(.*)", "-l"),
    "luajit": Language("lua", r"-e(.*)", "-l"),
    "rscript": Language("r", r"-e(.*)"),
    "r": Language("r", r"-e(.*)"),
    "groovy": Language("groovy", r"-e(.*)"),
    "scala": Language("scala", r"-e(.*)"),
    "julia": Language("julia", r"-[eE](.*)"),
    "elixir": Language("elixir", r"-e(.*)"),
    "osascript": Language("applescript", r"-e(.*)"),
    "tclsh": Language("tcl", r"\A\Z"),
    "jshell": Language("java", r"\A\Z"),
    "erl": Language("erlang", r"-eval(.*)", "-s"),
    "ocaml": Language("ocaml", r"-e(.*)"),
    "guile": Language("lisp", r"-c(.*)"),
    "racket": Language("lisp", r"-e(.*)"),
    "sbcl": Language("lisp", r"--eval(.*)"),
    "clisp": Language("lisp", r"-x(.*)"),
    "ecl": Language("lisp", r"-eval(.*)|--eval(.*)"),
    "swift": Language("swift", r"-e(.*)"),
    "nim": Language("nim", r"\A\Z"),
    "crystal": Language("ruby", r"\A\Z"),
    "runghc": Language("haskell", r"-e(.*)"),
    "ghci": Language("haskell", r"-e(.*)"),
    "kotlin": Language("kotlin", r"-e(.*)"),
    "jrunscript": Language("javascript", r"-e(.*)"),
    "jjs": Language("javascript", r"\A\Z"),
    "octave": Language("octave", r"--eval(?:=(.*))?\Z"),
    "iex": Language("elixir", r"-e(.*)"),
    "clojure": Language("lisp", r"-e(.*)"),
    "bb": Language("lisp", r"-e(.*)"),
    "ghc": Language("haskell", r"-e(.*)"),
    "py": _PYTHON,
    "raku": Language("perl", r"-e(.*)"),
}
_LONG_OPTIONS = frozenset({"javascript", "lisp", "octave"})
_VERSIONED = lazy(r"(python|pypy|ruby|perl|php|node|lua)[\d.]+\Z")


def interpreter(call: Call) -> Stream | None:
    """Read the program of this call, wherever it stands."""
    language = LANGUAGES[_language_name(call.name)]
    if call.args[:1] == ["eval"] and call.name == "deno":
        call.args = ["-e", *call.args[1:]]
    if call.name in ("bun", "deno") and not any(language.code.match(a) for a in call.args[:2]):
        return package_runner(call)
    texts, script, module = _arguments(call, language)
    checks = call.name in ("php", "ruby", "perl", "node") and {"-l", "-c", "--check", "-wc"} & set(call.args[:1])
    if call.fed and not checks and _program_from_input(call, texts, script or module):
        unknown_program(call, None)
    for text in texts:
        _program(call, text, language)
    if language.name in ("perl", "ruby"):
        _in_place(call)
    if texts or module:
        return OPAQUE
    return _script(call, script, language)


def _program_from_input(call: Call, texts: list[str], target: str) -> bool:
    """Say whether what runs is made from names or lines that are only known later."""
    if any(UNKNOWN in text for text in (*texts, target)):
        return True
    return any(UNKNOWN in arg and arg.startswith("-") for arg in call.args) or any(
        UNKNOWN in arg and call.args[index] in ("-r", "--loader", "--import", "-m", "-M")
        for index, arg in enumerate(call.args[1:])
    )


def _language_name(name: str) -> str:
    match = _VERSIONED.match(name)
    return match[1] if match else name


def _arguments(call: Call, language: Language) -> tuple[list[str], str, str]:
    """Return program texts, the script, and the module of ``-m``."""
    args, index = call.args, 0
    texts: list[str] = []
    while index < len(args):
        arg = args[index]
        index += 1
        match = (
            language.code.match(arg)
            if arg.startswith("-") and not (arg.startswith("--") and language.name not in _LONG_OPTIONS)
            else None
        )
        if match:
            text = (match[1] if match.lastindex else "") or "".join(args[index : index + 1])
            index += 0 if match.lastindex and match[1] else 1
            texts.append(text or UNKNOWN)
            if language.name == "python":
                break
        elif arg == "-m" and language.name == "python":
            return texts, "", "".join(args[index : index + 1]) or UNKNOWN
        elif arg in language.values:
            index += 1
        elif arg == "-" or not arg.startswith("-"):
            return texts, arg if not texts else "", ""
    return texts, "", ""


def _program(call: Call, text: str, language: Language) -> None:
    if text.strip(UNKNOWN + " ") == "" and UNKNOWN in text:
        unknown_program(call, call.shell.record.substituted)
        return
    if re.match(r"\s*rm\s+-[rf]", text):
        call.shell.child().run_text(text)
    if language.name == "applescript":
        _applescript(call, text)
    scan(call, text, language.name)


def _applescript(call: Call, text: str) -> None:
    for match in re.finditer(r"do shell script \"((?:[^\"\\]|\\.)*)\"", text):
        call.shell.child().run_text(match[1].replace('\\"', '"'))


def _in_place(call: Call) -> None:
    flags = [arg for arg in call.args if re.match(r"-[a-zA-Z0-9]*i", arg)]
    if not flags:
        return
    position = next((i for i, arg in enumerate(call.args) if re.match(r"-[a-zA-Z0-9]*e", arg)), len(call.args))
    for operand in call.args[position + 2 :]:
        if not operand.startswith("-"):
            touch(call, "write", operand, note="edit")


def _script(call: Call, script: str, language: Language) -> Stream:
    path = join(call.shell.cwd, script) if script else ""
    known = call.shell.record.files.get(path) if path else None
    if known is None and (not script or script in ("-", "/dev/stdin", "/dev/fd/0", "/proc/self/fd/0")):
        known = call.stdin
    if known is None:
        touch(call, "run", script, note="script")
    elif known.text:
        if language.name == "applescript":
            _applescript(call, known.text)
        scan(call, known.text, language.name)
    elif known.hosts:
        call.shell.effect("run", call.words, host=known.hosts[0], note="network")
    elif known.origin == "environment" or (
        known is call.stdin and known.text is None and not known.origin and script != ""
    ):
        unknown_program(call, known)
    elif (
        not script
        and known is EMPTY
        and call.name in _TYPED_INTO
        and not call.shell.place
        and set(call.args) <= _STILL_WAITS
    ):
        open_session(call)
    return OPAQUE


_TYPED_INTO = frozenset("python python2 python3 ipython pypy3 node irb lua ghci julia jshell".split())
_STILL_WAITS = frozenset("-i -q -u -B -s -E -I --interactive --no-banner --experimental-repl-await".split())


for _name in LANGUAGES:
    PROGRAMS[_name] = interpreter


@program("make", "gmake", "just", "task", "ninja", "rake")
def build(call: Call) -> Stream:
    """Build tools run what the project says; ``--eval`` says it on the command line."""
    texts = options(call.args, long=("eval",), short="CfIjlo").values("eval")
    for name in options(call.args, long=("file", "makefile"), short="CfIjlo").values("f", "file", "makefile"):
        known = call.stdin if name in ("-", "/dev/stdin") else call.shell.record.files.get(join(call.shell.cwd, name))
        texts.append(known.text or "" if known is not None else "")
    for text in texts:
        for inner in re.findall(r"\$\(shell ([^)]*)\)|^\t[-@+]*(.+)", text, re.MULTILINE):
            call.shell.child().run_text("".join(inner))
    return OPAQUE


@program("man", "apropos")
def manual(call: Call) -> Stream:
    for value in options(call.args, short="PHLMsC", long=("pager", "html")).values("P", "pager", "H", "html"):
        call.shell.child().run_text(value)
    return OPAQUE


@program("expect", "gdb")
def scripted(call: Call) -> Stream | None:
    for index, arg in enumerate(call.args):
        value = "".join(call.args[index + 1 : index + 2]) if arg in ("-c", "-ex", "-eval-command") else ""
        for match in re.finditer(r"(?:\b(?:spawn|shell|make)\s+|!\s*)([^;]+)", value):
            call.shell.child().run_text(match[1])
    return wrapped(call) if call.name == "gdb" else OPAQUE


@program("vim", "vi", "nvim", "ex", "emacs", "ed", "nano", "pico", "micro", "helix", "hx", "kak", "joe", "gedit")
def editor(call: Call) -> Stream:
    for operand in options(call.args, short="cSsuTtpo", long=("cmd", "eval")).operands:
        if not operand.startswith("+"):
            touch(call, "write", operand, note="edit")
            if any(re.match(r"-\w*[es]\w*\Z|-c\Z", arg) for arg in call.args[:3]):
                touch(call, "read", operand)
    for index, arg in enumerate(call.args):
        value = (
            "".join(call.args[index + 1 : index + 2])
            if arg in ("-c", "--cmd", "--eval")
            else arg[1:]
            if arg.startswith("+")
            else ""
        )
        if value and call.name == "emacs":
            scan(call, value, "lisp")
        for match in re.finditer(r"(?:\A|[|:])\s*!(.+)|system\(['\"]([^'\"]+)|shell-command \"([^\"]+)", value):
            call.shell.child().run_text(match[1] or match[2] or match[3])
        if re.search(r"/(?:ba|z|da)?sh\b", value):
            shell_escape(call)
    return OPAQUE
