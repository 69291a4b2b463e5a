"""Programs that start another program, and how to get to it."""

from __future__ import annotations

import re

from fairlead.guard._lazy import lazy
from fairlead.guard.effects import OPAQUE, Stream
from fairlead.guard.options import Options, options
from fairlead.guard.programs import PROGRAMS, program
from fairlead.guard.programs.builtins import shell_escape
from fairlead.guard.shell.nodes import UNKNOWN
from fairlead.guard.shell.run import Call, Shell

_ASSIGNMENT = lazy(r"[A-Za-z_][A-Za-z0-9_]*=")


class Wrapper:
    """How one wrapper's own words are told from the program that it starts.

    ``skip`` operands come before the program; ``verbs`` are the subcommands after which it comes
    (none: directly).
    """

    __slots__ = ("long", "short", "skip", "verbs")

    def __init__(self, short: str = "", long: str = "", *, skip: int = 0, verbs: str = "") -> None:
        self.short = short
        self.long = tuple(long.split())
        self.skip = skip
        self.verbs = frozenset(verbs.split())


WRAPPERS = {
    "nice": Wrapper("n", "adjustment"),
    "ionice": Wrapper("cnpPu", "class classdata"),
    "nohup": Wrapper(),
    "setsid": Wrapper(),
    "setarch": Wrapper(skip=1),
    "logsave": Wrapper(skip=1),
    "distcc": Wrapper(),
    "ld.so": Wrapper(),
    "ld-linux-x86-64.so.2": Wrapper(),
    "tsp": Wrapper(),
    "aa-exec": Wrapper("p", "profile"),
    "choom": Wrapper("n", "adjust"),
    "cgexec": Wrapper("g"),
    "run-one": Wrapper(),
    "pidstat": Wrapper("e"),
    "stdbuf": Wrapper("ioe", "input output error"),
    "timeout": Wrapper("ks", "kill-after signal", skip=1),
    "gtimeout": Wrapper("ks", "kill-after signal", skip=1),
    "time": Wrapper("fo", "format output"),
    "gtime": Wrapper("fo", "format output"),
    "chrt": Wrapper("TPD", skip=1),
    "taskset": Wrapper(skip=1),
    "numactl": Wrapper("mNCi"),
    "strace": Wrapper("eopsuEPaOSXIb", "trace output"),
    "ltrace": Wrapper("eopsunaxl"),
    "dtruss": Wrapper(),
    "valgrind": Wrapper(),
    "catchsegv": Wrapper(),
    "rlwrap": Wrapper("abcfHpS"),
    "unbuffer": Wrapper(),
    "faketime": Wrapper("f", skip=1),
    "firejail": Wrapper(),
    "bwrap": Wrapper(),
    "proxychains": Wrapper("f"),
    "proxychains4": Wrapper("f"),
    "torsocks": Wrapper(),
    "torify": Wrapper(),
    "caffeinate": Wrapper("tw"),
    "systemd-run": Wrapper("pHMEuS", "property unit slice description uid gid setenv working-directory"),
    "systemd-inhibit": Wrapper("", "what who why mode"),
    "dbus-run-session": Wrapper(),
    "xvfb-run": Wrapper("nesfpw", "server-num server-args"),
    "fakeroot": Wrapper("lsbi"),
    "unshare": Wrapper("SGRw", "root wd"),
    "nsenter": Wrapper("tSG", "target"),
    "setpriv": Wrapper(),
    "capsh": Wrapper(),
    "prlimit": Wrapper("p"),
    "cpulimit": Wrapper("lpe"),
    "daemonize": Wrapper("acelopuE"),
    "start-stop-daemon": Wrapper("pnuck", "pidfile name user chdir"),
    "command": Wrapper(),
    "builtin": Wrapper(),
    "exec": Wrapper("a"),
    "noglob": Wrapper(),
    "nocorrect": Wrapper(),
    "then": Wrapper(),
    "do": Wrapper(),
    "dotenv": Wrapper("fe", "file", verbs="run"),
    "dotenvx": Wrapper("fe", "env-file", verbs="run"),
    "op": Wrapper("", "env-file account", verbs="run"),
    "doppler": Wrapper("pc", "project config", verbs="run"),
    "infisical": Wrapper("", "env path", verbs="run"),
    "chamber": Wrapper(skip=1, verbs="exec"),
    "aws-vault": Wrapper("d", "duration", skip=1, verbs="exec"),
    "direnv": Wrapper(skip=1, verbs="exec"),
    "poetry": Wrapper("C", "directory project", verbs="run"),
    "pipenv": Wrapper(verbs="run"),
    "uv": Wrapper("p", "python with with-requirements extra group project directory env-file", verbs="run"),
    "uvx": Wrapper("p", "python with from"),
    "pdm": Wrapper("p", verbs="run"),
    "hatch": Wrapper("e", verbs="run"),
    "rye": Wrapper(verbs="run"),
    "conda": Wrapper("np", "name prefix cwd", verbs="run"),
    "mamba": Wrapper("np", "name prefix cwd", verbs="run"),
    "micromamba": Wrapper("np", "name prefix cwd", verbs="run"),
    "npx": Wrapper("pc", "package call"),
    "bunx": Wrapper("p", "package"),
    "pnpx": Wrapper(),
    "bundle": Wrapper(verbs="exec"),
    "mise": Wrapper("C", "cd", verbs="exec x"),
    "rtx": Wrapper(verbs="exec x"),
    "asdf": Wrapper(verbs="exec"),
    "volta": Wrapper("", "node npm yarn", verbs="run"),
    "nvm": Wrapper(skip=1, verbs="exec run"),
    "fnm": Wrapper("", "using", verbs="exec"),
    "rbenv": Wrapper(verbs="exec"),
    "pyenv": Wrapper(verbs="exec"),
    "rustup": Wrapper(skip=1, verbs="run"),
    "heroku": Wrapper("as", "app size", verbs="run"),
    "vercel": Wrapper(),
    "turbo": Wrapper(),
    "arch": Wrapper(),
    "gdb": Wrapper("x"),
    "entr": Wrapper(),
    "sem": Wrapper("j", "jobs id"),
    "chronic": Wrapper(),
    "ts": Wrapper(),
    "softlimit": Wrapper("admfst"),
    "envdir": Wrapper(skip=1),
    "runcon": Wrapper("turl", skip=1),
    "sg": Wrapper(skip=1),
    "with-contenv": Wrapper(),
    "s6-setuidgid": Wrapper(skip=1),
    "gosu": Wrapper(skip=1),
    "su-exec": Wrapper(skip=1),
    "tini": Wrapper(),
    "dumb-init": Wrapper(),
    "cross-env": Wrapper(),
    "cross-env-shell": Wrapper(),
    "env-cmd": Wrapper("fe", "file environments"),
    "perf": Wrapper("eopFcg", "event output", verbs="stat record trace"),
    "hyperfine": Wrapper("wrmMpcnSL", "warmup runs prepare cleanup setup"),
    "watchexec": Wrapper("wefidsNo", "watch exts filter ignore"),
    "nodemon": Wrapper("wexi", "watch ext exec ignore"),
    "multitime": Wrapper("nfiIorsq"),
}


def run_words(call: Call, words: list[str], shell: Shell | None = None) -> Stream:
    """Start the inner program; leading assignments become its environment."""
    env = dict(call.env)
    while words and _ASSIGNMENT.match(words[0]):
        name, _, value = words[0].partition("=")
        env[name] = value
        words = words[1:]
    if not words:
        return OPAQUE
    if call.name not in _SHELL_STARTERS and _BARE_SHELL.match(" ".join(words)) and not call.stdin.text:
        shell_escape(call)
    inner = call.again(words, env=env)
    if shell is not None:
        inner.shell = shell
    return inner.shell.call(inner)


def wrapped(call: Call) -> Stream | None:
    spec = WRAPPERS[call.name]
    args = call.args
    if spec.verbs:
        after = _after_verb(args, spec)
        if after is None:
            return None
        args = after
    opts = options(args, spec.short, spec.long, posix=True)
    if call.name == "command" and opts.has("v", "V"):
        return Stream(f"/usr/bin/{opts.operands[0]}\n" if opts.operands else "")
    for value in opts.values("c", "call", "exec", "prepare", "cleanup") if call.name in _TEXT_OPTIONS else []:
        call.shell.child().run_text(value)
    words = opts.operands[spec.skip :]
    if len(words) == 1 and " " in words[0] and call.name in _TEXT_WORDS:
        return call.shell.child().run_text(words[0], call.stdin)
    return run_words(call, words)


# Opening a shell is what people use these for.
_SHELL_STARTERS = frozenset(
    {"exec", "command", "builtin", "poetry", "pipenv", "uv", "direnv", "conda", "mise", "heroku", "arch"}
)
_BARE_SHELL = lazy(r"(?:\S*/)?(?:ba|da|z|k|a|c|tc)?sh(?: -[ipl]+)*\Z")
_TEXT_OPTIONS = frozenset({"npx", "hyperfine", "nodemon"})
_TEXT_WORDS = frozenset({"heroku", "hatch", "hyperfine", "watchexec", "pdm", "nodemon", "chamber"})


def _after_verb(args: list[str], spec: Wrapper) -> list[str] | None:
    opts = options(args, spec.short, spec.long, posix=True)
    if not opts.operands or opts.operands[0] not in spec.verbs:
        return None
    return opts.operands[1:]


for _name in WRAPPERS:
    PROGRAMS[_name] = wrapped


@program("sudo", "doas", "run0", "gsudo", "pkexec")
def privileged(call: Call) -> Stream:
    opts = options(call.args, short="ACDghpRrTtUu", posix=True,
                   long=("user", "group", "host", "prompt", "chdir", "chroot", "role", "type", "close-from",
                         "other-user", "command-timeout", "askpass", "preserve-env"))  # fmt: skip
    words = opts.operands
    call.privileged = True
    call.shell.record.steps.append(f"{call.name} starts {' '.join(words)[:200]!r} with other rights")
    if opts.has("e", "edit") and call.name == "sudo":
        words = ["tee", *words]
    if not words:
        shell = opts.has("s", "i", "shell", "login")
        if shell:
            _root_shell(call)
        return OPAQUE
    if any(arg == UNKNOWN for arg in words[:1]):
        _root_shell(call)
    return run_words(call, words)


def _root_shell(call: Call) -> None:
    call.shell.effect(
        "run", call.words, rule="system.root-shell", decision="ask",
        reason=f"`{call.words}` opens a shell or an unknown program with root rights",
    )  # fmt: skip


@program("env", "genv")
def env(call: Call) -> Stream:
    args = _split_string(call.args)
    opts = options(args, short="uCP", long=("unset", "chdir", "argv0", "path"), posix=True)
    shell = call.shell
    if opts.value("C", "chdir"):
        shell = shell.child()
        shell.change_directory(opts.value("C", "chdir"))
    words = [word for word in opts.operands if word != "-"] if opts.operands[:1] == ["-"] else opts.operands
    if not [word for word in words if not _ASSIGNMENT.match(word)]:
        return _dump(opts, words)
    return run_words(call, words, shell)


def _dump(opts: Options, words: list[str]) -> Stream:
    if opts.has("i", "ignore-environment", "help", "version") or words:
        return OPAQUE
    return Stream(None, origin="environment")


def _split_string(args: list[str]) -> list[str]:
    """Undo ``env -S 'several words'``."""
    from shlex import split

    for index, arg in enumerate(args):
        match = re.match(r"-[iv0]*S(.*)|--split-string=(.*)|--split-string\Z", arg, re.DOTALL)
        if match:
            text = match[1] or match[2]
            rest = args[index + 1 :]
            if not text:
                text, rest = (rest[0] if rest else ""), rest[1:]
            try:
                return [*args[:index], *split(text), *rest]
            except ValueError:
                return [*args[:index], UNKNOWN, *rest]
        if not arg.startswith("-"):
            break
    return args


@program("printenv")
def print_environment(call: Call) -> Stream:
    return OPAQUE if [arg for arg in call.args if not arg.startswith("-")] else Stream(None, origin="environment")


@program("busybox", "toybox")
def busybox(call: Call) -> Stream:
    return run_words(call, call.args)


@program("chroot")
def chroot(call: Call) -> Stream:
    opts = options(call.args, long=("userspec", "groups"), posix=True)
    return run_words(call, opts.operands[1:])


@program("su", "runuser")
def su(call: Call) -> Stream:
    opts = options(call.args, short="cugsGw", long=("command", "user", "group", "shell"))
    text = opts.value("c", "command")
    if text:
        if call.name == "su" and (not opts.operands or "root" in opts.operands):
            _root_shell(call)
        call.shell.child().run_text(text, call.stdin)
        return OPAQUE
    if opts.value("u", "user") and opts.operands:
        return run_words(call, opts.operands)
    _root_shell(call)
    return OPAQUE


@program("watch", "script", "flock", "tmux", "screen", "at", "batch")
def texts(call: Call) -> Stream:
    """Programs that hand a text to a shell."""
    return _TEXT_READERS[call.name](call)


def _watch(call: Call) -> Stream:
    opts = options(call.args, short="nq", long=("interval",), posix=True)
    if opts.has("x", "exec"):
        return run_words(call, opts.operands)
    call.shell.child().run_text(" ".join(opts.operands))
    return OPAQUE


def _script(call: Call) -> Stream:
    opts = options(call.args, short="cEIOBTmto", long=("command",))
    if opts.value("c", "command"):
        call.shell.child().run_text(opts.value("c", "command"))
    elif len(opts.operands) > 1:
        return run_words(call, opts.operands[1:])
    return OPAQUE


def _flock(call: Call) -> Stream:
    opts = options(call.args, short="wEc", long=("timeout", "conflict-exit-code", "command"), posix=True)
    rest = opts.operands[1:]
    text = opts.value("c", "command")
    if rest[:1] in (["-c"], ["--command"]):
        text = "".join(rest[1:2])
    if text:
        call.shell.child().run_text(text)
        return OPAQUE
    return run_words(call, rest)


def _multiplexer(call: Call) -> Stream:
    keys = {"Enter", "C-m", "KPEnter", "enter"}
    for arg in call.args:
        if " " in arg:
            call.shell.child().run_text(arg)
    words = options(call.args, short="cdsntxFSLfhT", posix=True).operands
    if words and not keys & set(call.args) and call.name == "screen":
        return run_words(call, words)
    return OPAQUE


def _later(call: Call) -> Stream:
    if call.stdin.text:
        call.shell.child().run_text(call.stdin.text)
    return OPAQUE


_TEXT_READERS = {
    "watch": _watch,
    "script": _script,
    "flock": _flock,
    "tmux": _multiplexer,
    "screen": _multiplexer,
    "at": _later,
    "batch": _later,
}


@program("pnpm", "yarn", "npm", "bun", "deno", "corepack")
def package_runner(call: Call) -> Stream | None:
    """``npm exec -- PROGRAM`` and its like; scripts of the project run as they are."""
    opts = options(
        call.args,
        short="Cw",
        long=("dir", "cwd", "prefix", "filter", "workspace", "call", "package"),
        posix=True,
    )
    verb = opts.operands[0] if opts.operands else ""
    if verb not in ("exec", "dlx", "x"):
        return None
    inner = options(opts.operands[1:], short="pc", long=("package", "call"), posix=True)
    for value in inner.values("c", "call"):
        call.shell.child().run_text(value)
    return run_words(call, inner.operands)


@program("cmd")
def windows_cmd(call: Call) -> Stream:
    for index, arg in enumerate(call.args):
        if arg.lower() in ("/c", "/k"):
            call.shell.child().run_text(" ".join(call.args[index + 1 :]).replace("\\", "/"))
    return OPAQUE
