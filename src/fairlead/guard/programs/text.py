"""Programs whose output can be known, and programs that read files."""

from __future__ import annotations

import base64
import binascii
import re

from fairlead.guard._lazy import lazy
from fairlead.guard.effects import EMPTY, OPAQUE, Stream
from fairlead.guard.options import options
from fairlead.guard.paths import join
from fairlead.guard.programs import program
from fairlead.guard.programs.files import touch
from fairlead.guard.shell.nodes import STAR, UNKNOWN
from fairlead.guard.shell.words import ansi

TYPE_CHECKING = False
if TYPE_CHECKING:
    from fairlead.guard.shell.run import Call

_FORMAT = lazy(r"%(?:%|[-+ #0]*\d*(?:\.\d+)?([sbqdiouxXc]))")
_NAMED_VALUES: dict[str, str] = {
    "head": "nc", "tail": "ncs", "sort": "kotTS", "cut": "bcdf", "grep": "efmABCD", "rg": "efgtTjmABCrE",
    "awk": "vF", "jq": "", "od": "AjNtw", "xxd": "cglos", "uniq": "fsw", "nl": "bdfhilnsvw", "fold": "w",
    "egrep": "efmABC", "fgrep": "efmABC", "ag": "ABCmG", "ack": "ABC", "strings": "net", "hexdump": "ens",
    "column": "tsc", "comm": "", "diff": "U", "yq": "", "tac": "s", "bat": "lrH", "batcat": "lrH",
}  # fmt: skip
_PATTERN_FIRST = frozenset(
    {"grep", "egrep", "fgrep", "rg", "ag", "ack", "zgrep", "ripgrep", "jq", "yq", "ugrep", "git-grep"}
)
# What is picked out of these is no longer all of it.
_NARROWED = frozenset({"processes", "/dev/zero", "/dev/urandom", "/dev/random", "endless"})
_LISTING = frozenset({"l", "files-with-matches", "files", "c", "L", "files-without-match", "count"})


# A stream that holds the values of variables of the environment.
VARIABLE = "variable:"


@program("echo", "gecho")
def echo(call: Call) -> Stream:
    args = call.args
    decode = newline = False
    while args and re.match(r"-[neE]+\Z", args[0]):
        decode = decode or "e" in args[0]
        newline = newline or "n" in args[0]
        args = args[1:]
    text = " ".join(args)
    text = ansi(text) if decode or "\\x" in text or "\\0" in text else text
    return _with_sources(call, text + ("" if newline else "\n"))


def _with_sources(call: Call, text: str) -> Stream:
    """Text that was substituted into arguments keeps its sources."""
    source = call.shell.record.substituted
    if UNKNOWN not in text:
        return Stream(text)
    if source is not None:
        return source.through(text)
    names = call.shell.record.names
    return Stream(text, origin=VARIABLE + " ".join(names) if names and call.shell.piped else "")


@program("printf", "gprintf")
def printf(call: Call) -> Stream:
    args = call.args[1:] if call.args[:1] == ["--"] else call.args
    if args[:1] == ["-v"] and len(args) > 2:
        call.shell.variables[args[1]] = _formatted(args[2], args[3:])
        return EMPTY
    return _with_sources(call, _formatted(args[0], args[1:])) if args else EMPTY


def _formatted(template: str, args: list[str]) -> str:
    values = iter(args)
    pieces = [_format_once(template, values)]
    places = len([match for match in _FORMAT.finditer(template) if match[1]])
    again = min((len(args) - 1) // places if places else 0, 200)
    pieces += [_format_once(template, values) for _ in range(again)]
    return "".join(pieces)


def _format_once(template: str, values: object) -> str:
    def one(match: re.Match[str]) -> str:
        if match[1] is None:
            return "%"
        value = str(next(values, ""))  # type: ignore[call-overload]
        return ansi(value) if match[1] == "b" else value

    return _FORMAT.sub(one, ansi(template))


@program("base64", "gbase64", "base32", "uudecode")
def base64_(call: Call) -> Stream:
    opts = options(call.args, short="wib", long=("wrap",))
    if opts.has("i") and opts.value("i"):
        opts.operands.append(opts.value("i"))
    source = _input(call, opts.operands)
    if not opts.has("d", "D", "decode"):
        return source.through(_encoded(source.text))
    return source.through(_decoded(source.text, base64.b32decode if "32" in call.name else base64.b64decode))


def _encoded(text: str | None) -> str | None:
    if text is None or UNKNOWN in text:
        return None
    return base64.b64encode(text.encode(errors="replace")).decode() + "\n"


def _decoded(text: str | None, decode: object) -> str | None:
    if text is None or UNKNOWN in text:
        return None
    squeezed = re.sub(r"\s", "", text)
    try:
        raw: bytes = decode(squeezed + "=" * (-len(squeezed) % 4))  # type: ignore[operator]
    except (binascii.Error, ValueError):
        return None
    return raw.decode(errors="replace").replace("\0", "\ufffd")


@program("xxd", "hexdump", "od")
def hexadecimal(call: Call) -> Stream:
    opts = options(call.args, short=_NAMED_VALUES[call.name])
    source = _input(call, opts.operands[:1])
    if call.name != "xxd" or not opts.has("r"):
        return source.through()
    text = source.text
    if text is None or UNKNOWN in text:
        return source.through()
    digits = "".join(re.findall(r"[0-9A-Fa-f]{2}", text))
    return source.through(bytes.fromhex(digits).decode(errors="replace").replace("\0", "\ufffd"))


@program("rev")
def reverse(call: Call) -> Stream:
    source = _input(call, call.args)
    lines = source.text.split("\n") if source.text is not None else None
    return source.through("\n".join(line[::-1] for line in lines) if lines else None)


@program("tr", "gtr")
def translate(call: Call) -> Stream:
    opts = options(call.args)
    text = call.stdin.text
    if text is None or UNKNOWN in text or not opts.operands:
        return call.stdin.through()
    sets = [_character_set(operand) for operand in opts.operands]
    if opts.has("d", "delete"):
        return call.stdin.through("".join(char for char in text if char not in sets[0]))
    if len(sets) < 2 or not sets[1] or opts.has("c", "C", "s", "complement"):
        return call.stdin.through()
    second = sets[1] + sets[1][-1] * max(0, len(sets[0]) - len(sets[1]))
    return call.stdin.through(text.translate(dict(zip(map(ord, sets[0]), second, strict=False))))


def _character_set(text: str) -> str:
    text = ansi(text.replace(STAR, "*")).replace("[:upper:]", "A-Z").replace("[:lower:]", "a-z")
    text = text.replace("[:space:]", " \t\n").replace("[:digit:]", "0-9")
    return re.sub(
        r"(.)-(.)",
        lambda m: "".join(map(chr, range(ord(m[1]), min(ord(m[2]), 0x10FFFF) + 1))),
        text,
        flags=re.DOTALL,
    )


@program("cat", "gcat", "head", "tail", "tac", "less", "more", "most", "bat", "batcat", "nl", "zcat", "bzcat",
         "xzcat", "view", "pr", "fold", "fmt", "strings", "sort", "uniq", "cut", "paste", "column", "comm", "join",
         "diff", "sdiff", "vimdiff", "cmp", "iconv", "expand", "unexpand", "look", "type", "gc", "get-content",
         "hd", "ccat", "glow", "mdcat", "most", "rg", "grep", "egrep", "fgrep", "zgrep", "ag", "ack", "ugrep",
         "jq", "yq", "xmllint", "gron", "fx", "dasel", "csvlook", "miller", "mlr", "sha256sum", "md5sum", "base58",
         "gzip", "bzip2", "xz", "zstd", "lz4", "tokei")  # fmt: skip
def show(call: Call) -> Stream:
    """Read files and pass them on."""
    _programs_in_options(call)
    opts = options(call.args, short=_NAMED_VALUES.get(call.name, ""), long=("regexp", "file", "glob", "type"))
    operands = _jq_operands(opts.operands, call.args) if call.name == "jq" else opts.operands
    if call.name in _PATTERN_FIRST and not opts.values("e", "regexp", "f", "file"):
        operands = operands[1:]
    if call.name == "sort" and opts.value("o"):
        touch(call, "write", opts.value("o"))
    if call.name in ("gzip", "bzip2", "xz", "zstd") and not opts.has("c", "stdout", "d", "k", "keep"):
        for operand in operands:
            touch(call, "replace", operand)
    if call.name in _PATTERN_FIRST and opts.has(*_LISTING):
        return Stream("".join(f"{operand}/{UNKNOWN}\n" for operand in operands or ["."]))
    if call.name in ("sha256sum", "md5sum", "comm", "type"):
        return OPAQUE
    narrows = call.name in _PATTERN_FIRST or call.name in ("head", "tail")
    if narrows and not operands and call.stdin.origin in _NARROWED:
        return OPAQUE
    found = _input(call, operands)
    return OPAQUE if call.name == "head" and found.origin in _NARROWED else found


def _jq_operands(operands: list[str], args: list[str]) -> list[str]:
    """``--arg name value`` are no files."""
    given = [index for index, arg in enumerate(args) if arg in ("--arg", "--argjson", "--rawfile", "--slurpfile")]
    values = {word for index in given for word in args[index + 1 : index + 3]}
    return [operand for operand in operands if operand not in values]


def _programs_in_options(call: Call) -> None:
    for name, value in options(call.args, long=("compress-program", "pre", "pager", "output")).flags:
        if name in ("compress-program", "pre", "pager") and value:
            call.shell.effect(
                "run", call.words, rule="filesystem.option-runs-program", decision="ask",
                reason=f"`{call.name} --{name} {value}` starts the program {value}",
            )  # fmt: skip
        if name == "output" and value and call.name == "sort":
            touch(call, "write", value)


def _input(call: Call, operands: list[str]) -> Stream:
    """Return the content of these files, or standard input if there are none."""
    if not operands:
        return call.stdin
    out = EMPTY
    for operand in operands:
        if operand in ("-", "/dev/stdin"):
            out = out.joined(call.stdin)
            continue
        path = join(call.shell.cwd, operand)
        touch(call, "read", operand)
        out = out.joined(call.shell.record.files.get(path) or Stream(None, secrets=_secret(path), origin=path))
    return out


def _secret(path: str) -> tuple[str, ...]:
    from fairlead.guard.packs.secret_files import is_secret

    return (path,) if is_secret(path) else ()


@program("pwd")
def working_directory(call: Call) -> Stream:
    return Stream(call.shell.cwd + "\n")


@program("dirname", "basename", "realpath", "readlink", "grealpath", "greadlink")
def path_part(call: Call) -> Stream:
    operands = options(call.args, short="s", long=("relative-to", "relative-base", "suffix")).operands
    if not operands or operands[0].startswith(UNKNOWN):
        return OPAQUE
    if call.name == "basename":
        name = operands[0].rstrip("/").rpartition("/")[2]
        return Stream(name.removesuffix(operands[1] if len(operands) > 1 else "") + "\n")
    path = join(call.shell.cwd, operands[0])
    return Stream((path.rpartition("/")[0] or "/" if call.name == "dirname" else path) + "\n")


@program("seq", "date", "id", "whoami", "hostname", "uname", "nproc", "wc", "uuidgen", "arch", "tput")
def harmless_text(call: Call) -> Stream:
    """Output that is unknown but is no path: a number, a date, a name."""
    if call.name == "date" and options(call.args).has("s", "set"):
        call.shell.effect(
            "system", call.words, rule="system.clock", decision="ask", reason=f"`{call.words}` sets the clock"
        )
    return Stream(f"x{UNKNOWN}\n")


@program("ls", "gls", "dir", "exa", "eza", "lsd")
def list_names(call: Call) -> Stream:
    operands = options(call.args, short="ITw").operands
    if not operands:
        return Stream(STAR + "\n")
    return Stream("".join(f"{name}\n" if STAR in name else f"{name}/{STAR}\n" for name in operands))


@program("which", "whereis", "whence")
def which(call: Call) -> Stream:
    return Stream(f"/usr/bin/{call.args[-1]}\n" if call.args else "")


@program("awk", "gawk", "mawk", "nawk")
def awk(call: Call) -> Stream:
    opts = options(
        call.args,
        short="vFfeEil",
        long=("assign", "field-separator", "file", "source", "include"),
        posix=True,
    )
    scripts = opts.values("e", "source")
    operands = opts.operands
    if not scripts and not opts.values("f", "file", "E"):
        scripts, operands = operands[:1], operands[1:]
    if call.fed and any(UNKNOWN in script for script in scripts):
        call.shell.effect(
            "unknown", call.words, rule="guard.unknown-program",
            reason=f"`{call.words}` runs an awk program that comes from its input",
        )  # fmt: skip
    for script in scripts:
        _awk_script(call, script)
    for operand in operands:
        if "=" not in operand:
            touch(call, "read", operand)
    if call.stdin.origin == "processes" and any(re.search(r"/[^/]+/|==|~", script) for script in scripts):
        return OPAQUE
    return call.stdin.through()


_AWK_COMMANDS = (
    lazy(r"system\(\s*\"((?:[^\"\\]|\\.)*)\""),
    lazy(r"\"((?:[^\"\\]|\\.)*)\"\s*\|&?\s*getline"),
    lazy(r"\|&?\s*\"((?:[^\"\\]|\\.)*)\""),
)


def _awk_script(call: Call, script: str) -> None:
    for pattern in _AWK_COMMANDS:
        for match in pattern.finditer(script):
            call.shell.child().run_text(ansi(match[1]))
    for match in re.finditer(r">>?\s*\"([^\"]+)\"", script):
        touch(call, "write", match[1])
    if "/inet/" in script:
        call.shell.effect("connect", call.words, host=UNKNOWN, note="reverse-shell" if "getline" in script else "raw")
    if re.search(r"system\(\s*[^\"\s)]", script):
        call.shell.effect(
            "unknown", call.words, rule="filesystem.awk-system", decision="ask",
            reason="the awk program runs shell commands that it builds from its input",
        )  # fmt: skip
