"""Programs that pack and unpack."""

from __future__ import annotations

import re

from fairlead.guard.effects import OPAQUE, Stream
from fairlead.guard.options import options
from fairlead.guard.paths import join
from fairlead.guard.programs import program
from fairlead.guard.programs.files import touch

TYPE_CHECKING = False
if TYPE_CHECKING:
    from fairlead.guard.shell.run import Call


@program("tar", "gtar", "bsdtar")
def tar(call: Call) -> Stream:
    args = call.args
    if args and not args[0].startswith("-") and re.match(r"[A-Za-z]+\Z", args[0]):
        args = ["-" + args[0], *args[1:]]
    opts = options(
        args, short="fCTXIbFgHKLNV",
        long=("file", "directory", "files-from", "exclude-from", "to-command", "checkpoint-action",
        "use-compress-program",
              "info-script", "new-volume-script", "rsh-command", "exclude", "strip-components", "transform"),
    )  # fmt: skip
    _started(
        call,
        opts.values("to-command", "use-compress-program", "I", "info-script", "F", "new-volume-script", "rsh-command"),
    )
    _started(call, [v.removeprefix("exec=") for v in opts.values("checkpoint-action") if v.startswith("exec=")])
    if opts.has("x", "extract", "get"):
        touch(call, "unpack", opts.value("C", "directory") or ".", many=True)
    elif opts.has("c", "create", "r", "u"):
        if opts.value("f", "file") not in ("", "-"):
            touch(call, "write", opts.value("f", "file"))
        for operand in opts.operands:
            touch(call, "read", operand, note="pack")
        if opts.has("remove-files"):
            for operand in opts.operands:
                touch(call, "delete", operand, many=True)
    return _packed(call, opts.operands)


def _packed(call: Call, operands: list[str]) -> Stream:
    from fairlead.guard.programs.text import _secret

    secrets = tuple(s for operand in operands for s in _secret(call.shell.cwd + "/" + operand))
    return Stream(None, secrets=secrets, origin="archive")


def _started(call: Call, commands: list[str]) -> None:
    for command in commands:
        if re.match(r"(?:gzip|bzip2|xz|zstd|pigz|pbzip2|pixz|lz4|lzma|zstdmt|lbzip2|brotli)\b", command):
            continue
        call.shell.effect(
            "run", call.words, rule="filesystem.option-runs-program", decision="ask",
            reason=f"an option of `{call.name}` starts the program `{command}`",
        )  # fmt: skip
        call.shell.child().run_text(command)


@program("unzip", "unrar", "zip")
def pack(call: Call) -> Stream:
    opts = options(call.args, short="dxDT", long=("directory", "unzip-command"), words=False)
    if call.name == "zip":
        _started(call, opts.values("unzip-command"))
        for index, arg in enumerate(call.args):
            if arg.startswith("-TT"):
                _started(call, call.args[index + 1 : index + 2])
        if opts.has("m", "move"):
            for operand in opts.operands[1:]:
                touch(call, "delete", operand, many=True)
        for operand in opts.operands[1:]:
            touch(call, "read", operand, note="pack")
        return _packed(call, opts.operands[1:])
    if call.name == "unzip" and opts.value("d"):
        touch(call, "unpack", opts.value("d"), many=True)
    return OPAQUE


@program("apply_patch", "applypatch")
def apply_patch(call: Call) -> Stream:
    """Some agents take a patch from the shell, as an argument or as a here-document."""
    from fairlead.guard.patches import changes
    from fairlead.guard.programs.builtins import unknown_program

    text = "\n".join([*call.args, call.stdin.text or ""])
    found = changes(text)
    for change in found:
        touch(call, change.kind, change.path)
        if change.text:
            call.shell.record.files[join(call.shell.cwd, change.path)] = Stream(change.text)
    if not found and (call.stdin.text is None or text.strip()):
        unknown_program(call, None)
    return OPAQUE
