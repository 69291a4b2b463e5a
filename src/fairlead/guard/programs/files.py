"""Programs that create, change, move and remove files."""

from __future__ import annotations

import re

from fairlead.guard.effects import EMPTY, OPAQUE, Stream
from fairlead.guard.options import Options, options
from fairlead.guard.paths import join
from fairlead.guard.programs import program
from fairlead.guard.shell.nodes import STAR, UNKNOWN

TYPE_CHECKING = False
if TYPE_CHECKING:
    from fairlead.guard.shell.run import Call


def touch(call: Call, kind: str, operand: str, *, many: bool = False, note: str = "") -> None:
    """Report an effect on one path, named as the program was given it."""
    if operand[:2] in ("~", "~/"):
        operand = call.shell.home + operand[1:]
    elif operand[:1] == "%":
        operand = re.sub(r"\A%(?:USERPROFILE|HOMEPATH|HOME)%", call.shell.home, operand, flags=re.IGNORECASE)
    path = join(call.shell.cwd, operand)
    call.shell.effect(kind, call.words, path=path, many=many or STAR in operand, note=note)


@program("trash", "trash-put", "rmtrash", "gio", "del-cli", "kioclient", "kioclient5")
def trash(call: Call) -> Stream:
    words = options(call.args).operands
    if call.name in ("gio", "kioclient", "kioclient5"):
        words = words[1:] if words[:1] in (["trash"], ["remove"], ["move"]) else []
    for operand in words:
        touch(call, "delete", operand.replace("**", STAR), many=True)
    return EMPTY


@program("rm", "srm", "grm", "rimraf", "del", "erase")
def remove(call: Call) -> Stream:
    opts = options(call.args)
    if opts.has("help", "version"):
        return EMPTY
    recursive = opts.has("r", "R", "recursive") or call.name == "rimraf" or opts.unknown
    for operand in opts.operands:
        touch(call, "delete", operand, many=recursive, note="find" if call.fed else "")
    return EMPTY


@program("rd", "rmdir", "grmdir")
def remove_directory(call: Call) -> Stream:
    recursive = any(arg.lower() == "/s" for arg in call.args)
    for operand in options([arg for arg in call.args if arg.lower() not in ("/s", "/q")]).operands:
        touch(call, "delete" if recursive else "remove-empty", operand, many=recursive)
    return EMPTY


@program("unlink")
def unlink(call: Call) -> Stream:
    for operand in call.args:
        touch(call, "delete", operand)
    return EMPTY


@program("shred", "wipe", "scrub", "blkdiscard", "wipefs", "badblocks")
def shred(call: Call) -> Stream:
    opts = options(call.args, short="ns", long=("iterations", "size", "random-source"))
    if call.name == "wipefs" and not opts.has("a", "all", "o", "offset"):
        return OPAQUE
    if call.name == "badblocks" and not opts.has("w", "n"):
        return OPAQUE
    for operand in opts.operands:
        touch(call, "delete", operand, many=True, note="find" if call.fed else "shred")
    return EMPTY


@program("truncate")
def truncate(call: Call) -> Stream:
    opts = options(call.args, short="srR", long=("size", "reference"))
    for operand in opts.operands:
        touch(call, "write", operand, note="empty" if opts.value("s", "size") == "0" else "")
    return EMPTY


@program("mv", "gmv", "move", "ren", "rename")
def move(call: Call) -> Stream:
    opts = options(call.args, short="tS", long=("target-directory", "suffix"))
    target, sources = _target(opts)
    for source in sources:
        touch(call, "move", source, note=join(call.shell.cwd, target))
    if target:
        touch(call, "write", target, note="move")
    return EMPTY


def _target(opts: Options) -> tuple[str, list[str]]:
    directory = opts.value("t", "target-directory")
    if directory:
        return directory, opts.operands
    return (opts.operands[-1] if len(opts.operands) > 1 else ""), opts.operands[:-1]


@program("cp", "gcp", "copy", "install", "ln", "link", "ditto", "xcopy", "robocopy")
def copy(call: Call) -> Stream:
    opts = options(call.args, short="tSmog", long=("target-directory", "suffix", "mode", "owner", "group"))
    target, sources = _target(opts)
    if call.name == "install" and opts.has("d", "directory"):
        return EMPTY
    for source in sources:
        touch(
            call,
            "read" if call.name not in ("ln", "link") else "link",
            source,
            note=f"copy {join(call.shell.cwd, target)}",
        )
    if target:
        empties = sources == ["/dev/null"] and call.name not in ("ln", "link")
        touch(call, "write", target, note="link" if call.name in ("ln", "link") else "empty" if empties else "copy")
    if call.name == "install" and re.match(r"[4267]\d{3}\Z|.*[+=][rwxX]*s", opts.value("m", "mode")):
        touch(call, "permission", target, note=f"install {opts.value('m', 'mode')}")
    _remember_copy(call, sources, target)
    return EMPTY


def _remember_copy(call: Call, sources: list[str], target: str) -> None:
    files = call.shell.record.files
    for source in sources:
        stream = files.get(join(call.shell.cwd, source))
        if stream is not None:
            files[join(call.shell.cwd, target)] = stream


@program("tee", "sponge")
def tee(call: Call) -> Stream:
    opts = options(call.args)
    for operand in opts.operands:
        if operand.startswith("/dev/fd/"):
            continue
        touch(call, "write", operand, note="append" if opts.has("a", "append") else "")
        call.shell.record.files[join(call.shell.cwd, operand)] = call.stdin
    return call.stdin


@program("mkdir", "touch", "mkfifo")
def create(call: Call) -> Stream:
    opts = options(call.args, short="mdtr", long=("mode", "date", "reference"))
    for operand in opts.operands:
        touch(call, "create", operand)
    return EMPTY


@program("dd", "ddrescue", "dcfldd", "pv")
def convert(call: Call) -> Stream:
    pairs = dict(arg.partition("=")[::2] for arg in call.args if "=" in arg)
    if pairs.get("if"):
        touch(call, "read", pairs["if"])
    if pairs.get("of"):
        touch(call, "write", pairs["of"], note="raw")
        return EMPTY
    if call.name == "ddrescue" and not pairs:
        for operand in options(call.args, short="bnrs").operands[1:2]:
            touch(call, "write", operand, note="raw")
    return call.stdin.through(call.stdin.text if not pairs else None)


@program("chmod", "chown", "chgrp", "setfacl", "chattr", "chflags", "icacls", "takeown", "attrib")
def permissions(call: Call) -> Stream:
    minus = [arg for arg in call.args if _symbolic_minus(call, arg)]
    opts = options([arg for arg in call.args if arg not in minus], short="ms", long=("reference", "from"))
    recursive = opts.has("R", "recursive")
    if minus:
        mode, paths = minus[0], opts.operands
    elif opts.value("reference"):
        mode, paths = "", opts.operands
    else:
        mode, paths = (opts.operands or [""])[0], opts.operands[1:]
    if call.name in ("setfacl", "icacls", "takeown"):
        mode, paths = "acl", opts.operands
    for path in paths:
        touch(call, "permission", path, many=recursive, note=f"{call.name} {mode}")
    return EMPTY


def _symbolic_minus(call: Call, arg: str) -> bool:
    """``chmod -w file``: a mode that looks like an option."""
    return call.name in ("chmod", "chattr") and bool(re.match(r"-[rwxXstia]+\Z", arg))


@program("rsync", "rclone", "unison")
def synchronise(call: Call) -> Stream:
    if call.name == "rclone":
        return _rclone(call)
    opts = options(
        call.args,
        short="efTBMf",
        long=("rsh", "exclude", "include", "filter", "exclude-from", "include-from", "files-from",
              "temp-dir", "backup-dir", "suffix", "bwlimit", "timeout", "rsync-path", "chmod", "port",
              "log-file", "partial-dir", "password-file", "link-dest", "compare-dest", "max-size"),
    )  # fmt: skip
    for value in opts.values("e", "rsh", "rsync-path"):
        call.shell.child().run_text(value)
    if len(opts.operands) < 2 or opts.has("n", "dry-run"):
        return OPAQUE
    *sources, target = opts.operands
    _synchronised(call, opts, sources, target)
    return OPAQUE


def _synchronised(call: Call, opts: Options, sources: list[str], target: str) -> None:
    removes = any(flag.startswith("del") for flag, _ in opts.flags)
    for source in sources:
        if not _remote(source):
            touch(call, "read", source, note="copy")
            if opts.has("remove-source-files"):
                touch(call, "delete", source, many=True)
    if _remote(target):
        host = target.partition(":")[0]
        call.shell.effect("upload", call.words, host=host, note="rsync --delete" if removes else "rsync")
    else:
        touch(call, "delete" if removes else "write", target, many=True, note="rsync")


def _rclone(call: Call) -> Stream:
    words = [arg for arg in call.args if not arg.startswith("-")]
    verb = words[0] if words else ""
    if verb in ("copy", "copyto") and len(words) > 2 and not _remote(words[2]):
        touch(call, "write", words[2], many=True, note="copy")
        return OPAQUE
    if verb in ("delete", "purge", "sync", "rmdirs", "deletefile", "cleanup", "bisync", "move"):
        call.shell.effect("delete", call.words, path=UNKNOWN, many=True, note="rclone")
    elif verb in ("copy", "copyto", "rcat"):
        call.shell.effect("upload", call.words, host="rclone", note="rclone")
    return OPAQUE


def _remote(operand: str) -> bool:
    head = operand.partition("/")[0]
    return "://" in operand or (":" in head and not re.match(r"[A-Za-z]:\\", operand))


@program("sed", "gsed")
def sed(call: Call) -> Stream:
    opts = options(call.args, short="efl", long=("expression", "file", "line-length"))
    in_place = opts.has("in-place") or any(flag == "i" for flag, _ in opts.flags)
    scripts = opts.values("e", "expression")
    operands = opts.operands
    if not scripts and not opts.values("f", "file"):
        scripts, operands = operands[:1], operands[1:]
    for script in scripts:
        _sed_script(call, script)
    empties = in_place and any(_EMPTYING.match(script) for script in scripts)
    for operand in operands:
        note = "empty" if empties else "edit" if in_place else ""
        touch(call, "write" if in_place else "read", operand, note=note)
    return call.stdin.through() if not operands else OPAQUE


# Scripts after which nothing of a file is left.
_EMPTYING = re.compile(r"\s*(?:(?:1,\$|/\.?\*?/)?d|s(.)\.\*\1\1[gp]*)\s*\Z")


def _sed_script(call: Call, script: str) -> None:
    if re.search(r"(?:\A|[;\n{}]|\d|\$|/)\s*e\s+\S|s(.)(?:(?!\1).)*\1(?:(?!\1).)*\1[gpiIm0-9]*e|\A\d*e\Z", script):
        call.shell.effect(
            "run", call.words, rule="filesystem.sed-execute", decision="ask",
            reason=f"the sed script `{script[:80]}` runs text of its input as shell commands",
        )  # fmt: skip
    for match in re.finditer(r"(?:/[gp0-9]*|\A|[;\n{}]\s*)w\s+(\S+)", script):
        touch(call, "write", match[1])


@program("patch")
def patch(call: Call) -> Stream:
    opts = options(call.args, short="dipoBDFgrVYz", long=("directory", "input", "strip", "output"))
    for operand in opts.operands[:1]:
        touch(call, "write", operand, note="edit")
    return EMPTY


@program("split", "csplit")
def split(call: Call) -> Stream:
    for value in options(call.args, long=("filter",), short="abCln").values("filter"):
        call.shell.child().run_text(value)
    return EMPTY


@program("mktemp")
def temporary(call: Call) -> Stream:
    opts = options(call.args, short="p", long=("tmpdir", "suffix"))
    template = (opts.operands or ["tmp.X"])[0]
    base = opts.value("p", "tmpdir") or "/tmp"  # noqa: S108
    path = template if template.startswith("/") else f"{base}/{template}"
    return Stream(re.sub(r"X+", "X", path) + "\n")
