"""Programs that only read: which ones, and with which options they no longer do."""

from __future__ import annotations

import re

from fairlead.guard._lazy import lazy
from fairlead.guard.shell.nodes import UNKNOWN

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

READING = frozenset(
    "ls cat head tail wc nl tac cut comm diff cmp stat du df tree pwd echo printf basename dirname realpath "
    "readlink which type true false test [ : grep egrep fgrep rg sort tr jq column paste join fold fmt rev seq "
    "whoami id uname arch nproc md5sum sha1sum sha256sum sha512sum shasum md5 cksum strings od hexdump find fd expand "
    "unexpand look uptime free lscpu groups tty locale getconf numfmt factor sleep cal ag".split()
)
# Long options may be shortened, so what is compared is the beginning of the forbidden name.
_LONG: dict[str, tuple[str, ...]] = {
    "sort": ("output", "compress-program", "temporary-directory", "files0-from"),
    "fd": ("exec", "exec-batch", "base-directory", "search-path", "ignore-file"),
    "rg": ("pre-glob", "hostname-bin", "search-zip"),
    "tree": ("output", "fromfile", "fromtabfile"),
    "jq": ("from-file", "rawfile", "slurpfile", "library-path", "run-tests"),
    "du": ("files0-from", "exclude-from"),
    "wc": ("files0-from",),
    "ag": ("pager", "path-to-ignore"),
    "hostname": ("file", "boot"),
}  # fmt: skip
_FORBIDDEN: dict[str, re.Pattern[str]] = {
    "sort": lazy(r"-[a-zA-Z]*o|-[a-zA-Z]*T"),
    "find": lazy(r"-(?:execdir|ok|okdir|delete|fprint|fprint0|fls|fprintf|files0-from)"),
    "fd": lazy(r"-[a-zA-Z]*[xX]"),
    "rg": lazy(r"--pre(?:=|\Z)|-[a-zA-Z]*z"),
    "tree": lazy(r"-[a-zA-Z]*[oR]"),
    "jq": lazy(r"-[a-zA-Z]*[fLn]|.*(?:\benv\b|\$ENV|\$__prog|input_filename|\binputs?\b|\binclude\b|\bimport\b"
               r"|get_search_list|input_line)", re.DOTALL),
    "du": lazy(r"-[a-zA-Z]*X"),
    "printf": lazy(r"-v"),
    "test": lazy(r"-v\Z"),
    "[": lazy(r"-v\Z"),
    "hexdump": lazy(r"-[a-zA-Z]*f"),
    "seq": lazy(r"\d{8,}"),
    "tail": lazy(r"-[a-zA-Z]*[fF]|--(?:f|r|p)"),
}  # fmt: skip


def forbidden_option(name: str, args: list[str]) -> bool:
    """Say whether an option makes this program write, run something or read elsewhere."""
    pattern = _FORBIDDEN.get(name)
    long = _LONG.get(name, ())
    return any(
        (pattern is not None and pattern.match(arg) is not None) or (arg.startswith("--") and _shortened(arg, long))
        for arg in args
    )


def _shortened(arg: str, names: tuple[str, ...]) -> bool:
    given = arg[2:].partition("=")[0]
    return bool(given) and any(name.startswith(given) for name in names)


def _versions(*forms: str) -> list[list[str]]:
    return [[form] for form in forms]


# Not here: programs that a file of the project can replace (yarn, pnpm, cargo, rustc, gradlew, npx).
VERSIONS: dict[str, list[list[str]]] = {
    **dict.fromkeys(
        "git gcc g++ clang clang++ cc make gmake cmake ninja docker jq rg fd curl wget psql sqlite3 tmux ffmpeg gh "
        "kubectl helm aws gcloud az terraform pandoc openssl protoc bash zsh ruff uv pip pip3 npm pipx "
        "docker-compose podman bat fzf tree shellcheck hadolint rsync ssh".split(),
        _versions("--version"),
    ),
    **dict.fromkeys(["python", "python3", "python2"], _versions("--version", "-V")),
    "node": _versions("--version", "-v"),
    "npm": _versions("--version", "-v"),
    "ruby": _versions("--version", "-v"),
    "perl": _versions("--version", "-v"),
    "php": _versions("--version", "-v"),
    "java": _versions("--version", "-version"),
    "javac": _versions("--version", "-version"),
    "go": _versions("version"),
    "deno": _versions("--version", "-V"),
    "bun": _versions("--version", "-v"),
    "docker": [["--version"], ["-v"], ["version"], ["compose", "version"], ["info"]],
    "make": _versions("--version", "-v"),
    "terraform": _versions("--version", "-version", "version"),
    "kubectl": [["version", "--client"]],
    "helm": _versions("version"),
    "openssl": _versions("version"),
    "ssh": _versions("-V"),
}

_NAMES = lazy(r"[\w@./:-]+\Z")
_NOTHING = lazy(r"\Z.")


class Shape:
    """Everything that a call may look like: the verb, options without value, with value, and operands."""

    __slots__ = ("flags", "operand", "operands", "valued", "verb")

    def __init__(
        self,
        flags: str,
        valued: str = "",
        *,
        verb: str = "",
        operands: int = 0,
        operand: re.Pattern[str] = _NAMES,
    ) -> None:
        self.verb = verb.split()
        self.flags = lazy(f"(?:{flags})\\Z" if flags else r"\Z.")
        self.valued = frozenset(valued.split())
        self.operands = operands
        self.operand = operand

    def fits(self, args: list[str]) -> bool:
        """Say whether the arguments are this and nothing else."""
        if args[: len(self.verb)] != self.verb:
            return False
        count = 0
        rest = iter(args[len(self.verb) :])
        for arg in rest:
            if arg in self.valued:
                next(rest, "")
            elif not self.flags.match(arg):
                if arg.startswith("-") or not self.operand.match(arg):
                    return False
                count += 1
        return count <= self.operands


_MANY = 1000
_FILES = lazy(rf"(?!/|~|.*(?:\A|/)\.\.(?:/|\Z))[^{UNKNOWN}]*\Z", re.DOTALL)
_LISTING = r"-[aqlsn]+|--all|--no-trunc|--quiet|--size|--last=\d+|--filter=\S+|--format=.*|--digests"
_SHAPES: dict[str, tuple[Shape, ...]] = {
    "date": (
        Shape(
            r"\+.*|-[uR]+|-u|-I\w*|--(?:utc|universal|iso-8601(?:=\w+)?|rfc-\d+(?:=\w+)?|date=.*|rfc-email)", "-d -r"
        ),
    ),
    "uniq": (
        Shape(r"-[cdDiuz]+|--(?:count|repeated|unique|ignore-case)|-[fsw]\d+", "-f -s -w", operands=1, operand=_FILES),
    ),
    "file": (
        Shape(r"-[bikhLNnr]+|--(?:brief|mime|mime-type|mime-encoding|dereference)", operands=_MANY, operand=_FILES),
    ),
    "xxd": (Shape(r"-(?:[pbiueEa]|ps|plain|[lscg]\d+)", "-l -s -c -g -len -cols -seek", operands=1, operand=_FILES),),
    "hostname": (Shape(r"-[fisdIA]|--(?:fqdn|short|ip-address|all-ip-addresses)"),),
    # "e" without a dash shows the environment of every process.
    "ps": (
        Shape(
            r"[auxfwjl]+|-[eAafFljuxwLTH]+|--(?:forest|no-headers|sort=\S+|pid=[\d,]+)",
            "-p -u -U -C --sort --pid --ppid",
        ),
    ),
    "lsof": (Shape(r"-[nPtlw]+|-i|-i(?:tcp|udp)?:?[\w.,@:-]*|-sTCP:LISTEN|:\d+", "-p -i -s", operands=0),),
    "ss": (Shape(r"-[tulnpaxsime46H]+|--(?:tcp|udp|listening|numeric|processes|all)"),),
    "netstat": (Shape(r"-[tulnpaxrsivWe46]+"),),
    "printenv": tuple(Shape("", verb=name) for name in "PATH HOME SHELL USER LANG TERM PWD NODE_ENV GOPATH".split()),
    "command": (Shape("", verb="-v", operands=_MANY), Shape("", verb="-V", operands=_MANY)),
    "npm": tuple(
        Shape(
            r"-g|-a|-l|-p|--(?:depth=\d+|all|json|long|prod|dev|global|omit=\w+|include=\w+|parseable)",
            "--depth",
            verb=verb,
            operands=_MANY,
        )
        for verb in ("ls", "list", "ll", "la")
    ),
    "pip": (
        Shape(
            r"--(?:format=\w+|format|user|local|not-required|editable|exclude-editable|disable-pip-version-check)|-[vqel]",
            "--format",
            verb="list",
        ),
        Shape(r"--(?:all|local|user)", verb="freeze"),
        Shape(r"-f|--files|-v", verb="show", operands=_MANY),
    ),
    "gem": (Shape(r"--local|-l", verb="list", operands=1),),
    "go": (
        Shape("", verb="env", operands=_MANY, operand=lazy(r"[A-Z][A-Z0-9]*\Z")),
        Shape(r"-(?:json|f=.*|test|deps)", "-f", verb="list", operands=_MANY, operand=_FILES),
    ),
    "docker": (
        Shape(_LISTING, "--format --filter -f -n", verb="ps"),
        Shape(_LISTING, "--format --filter -f -n", verb="container ls"),
        Shape(_LISTING, "--format --filter -f", verb="images", operands=1),
        Shape(_LISTING, "--format --filter -f", verb="image ls", operands=1),
        Shape(_LISTING, "--format --filter -f", verb="volume ls"),
        Shape(_LISTING, "--format --filter -f", verb="network ls"),
        Shape(
            r"--tail=\d+|-t|--timestamps|--since=\S+|--until=\S+", "--tail -n --since --until", verb="logs", operands=1
        ),
        Shape(_LISTING, "--format --filter", verb="compose ps", operands=_MANY),
        Shape(r"-v|--format=.*", "--format", verb="system df"),
    ),
    "systemctl": (
        Shape(r"--no-pager|-l|--full|-n\d+|--lines=\d+", "-n", verb="status", operands=_MANY),
        Shape("", verb="is-active", operands=_MANY),
        Shape("", verb="is-enabled", operands=_MANY),
    ),
    "tokei": (Shape("", operands=_MANY, operand=_FILES),),
    "scc": (Shape("", operands=_MANY, operand=_FILES),),
    "zipinfo": (Shape(r"-[12smlv]+", operands=_MANY, operand=_FILES),),
    "unzip": tuple(Shape("", verb=verb, operands=_MANY, operand=_FILES) for verb in ("-l", "-lv", "-v", "-Z1")),
    "gofmt": (Shape(r"-[dls]", operands=_MANY, operand=_FILES),),
}
_LISTING_TAR = lazy(r"-?t[zjJv]*f\Z|-?[zjJv]*tf\Z|-?tvf\Z|-?t[zjJ]vf\Z")
_XARGS = lazy(r"-(?:0|r|n\d*|P\d*|L\d*|d.*|0r|r0)\Z|--(?:null|no-run-if-empty|max-args=\d+|max-procs=\d+)\Z")
# Whatever names these are given, they only show what is there.
_INNER = frozenset(
    "cat head tail wc grep egrep fgrep rg ls file stat du basename dirname nl md5sum sha256sum echo".split()
)


def _tar(args: list[str]) -> bool:
    """List an archive; a name with a colon would be one on another machine."""
    return (
        len(args) == 2
        and ":" not in args[1]
        and _LISTING_TAR.match(args[0]) is not None
        and _FILES.match(args[1]) is not None
    )


def _xargs(args: list[str]) -> bool:
    """``xargs`` itself; the program that it starts is a call of its own."""
    words = iter(args)
    for arg in words:
        if arg in ("-n", "-P", "-L", "-d"):
            next(words, "")
        elif not _XARGS.match(arg):
            return arg in _INNER
    return False


_SPECIAL: dict[str, Callable[[list[str]], bool]] = {"tar": _tar, "xargs": _xargs}


def shape_reads(name: str, args: list[str]) -> bool:
    """Say whether a call has one of the shapes in which its program only reads."""
    if name in _SPECIAL:
        return _SPECIAL[name](args)
    name = "pip" if name == "pip3" else name
    return any(shape.fits(args) for shape in _SHAPES.get(name, ()))


def started_by_find(args: list[str]) -> bool:
    """Say whether everything that ``find -exec`` starts only shows what is there."""
    started = ["".join(args[number + 1 : number + 2]) for number, arg in enumerate(args) if arg == "-exec"]
    return not started or (narrowed(args) and all(name in _INNER for name in started))


def narrowed(args: list[str]) -> bool:
    """Say whether ``find`` is told which names; without one it finds the credentials, too."""
    return any(arg in ("-name", "-iname", "-path", "-wholename", "-regex") for arg in args)
