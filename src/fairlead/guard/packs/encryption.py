"""Files made unreadable: what encrypts in place, or one file after the other."""

from __future__ import annotations

import re

from fairlead.guard._lazy import lazy
from fairlead.guard.options import options
from fairlead.guard.packs import act, reads
from fairlead.guard.shell.nodes import ANY, STAR, UNKNOWN

TYPE_CHECKING = False
if TYPE_CHECKING:
    from fairlead.guard.shell.run import Call

_RULE = "filesystem.encrypt"
_COPY = "encrypt a copy of the one file, and keep the original until it could be decrypted again"
_MARKED = lazy(f"[{UNKNOWN}{STAR}{ANY}]")
_WALKS = lazy(r"os\.walk|\.rglob\(|glob\.i?glob|\.glob\(|os\.listdir|os\.scandir|readdirSync|Dir\.glob|Dir\[|find\(")
_ENCRYPTS = lazy(
    r"Fernet\(|\.encrypt\(|AES\.new|ChaCha20|AESGCM|createCipheriv|OpenSSL::Cipher|EncryptFile|SecretBox|openssl_encrypt"
)
_WRITES = lazy(r"write|'[wr]\+?b\+?'|\"[wr]\+?b\+?\"|os\.(?:rename|replace|remove)|unlink")


@reads("ccrypt", "ccencrypt", "bcrypt", "encfs", "mcrypt", "nccrypt")
def _in_place(call: Call) -> None:
    opts = options(call.args, short="KkEfPS")
    if opts.has("d", "decrypt", "c", "cat", "x", "keychange", "help", "version", "V", "h", "L") or not call.args:
        return
    act(call, "destroy", _RULE, "replaces files by encrypted ones that only the key can bring back", _COPY)


def _many(args: list[str]) -> bool:
    """Say whether the names of the files come from a loop, a pattern or ``find``."""
    return any(_MARKED.search(arg) and not arg.startswith("-") for arg in args)


@reads("openssl", "gpg", "gpg2", "age", "rage", "minisign", "scrypt")
def _one_after_the_other(call: Call) -> None:
    if _encrypts(call) and _many(call.args) and not call.stdin.origin:
        act(call, "destroy", _RULE, "encrypts many files, one after the other", _COPY)


def _encrypts(call: Call) -> bool:
    opts = options(call.args, words=call.name == "openssl", short="rRoipu", long=("recipient", "output", "passphrase"))
    if call.name == "openssl":
        return call.args[:1] == ["enc"] and not opts.has("d")
    if call.name == "scrypt":
        return call.args[:1] == ["enc"]
    if call.name in ("age", "rage"):
        return not opts.has("d", "decrypt")
    return opts.has("c", "symmetric", "e", "encrypt")


@reads("python", "python3", "node", "ruby", "perl", "php", "powershell", "pwsh")
def _in_code(call: Call) -> None:
    """A program on the command line that walks directories and encrypts what it finds."""
    text = "\n".join([*call.args, call.stdin.text or ""])
    if len(text) > 40 and _ENCRYPTS.search(text) and _WALKS.search(text) and _WRITES.search(text):
        act(call, "destroy", _RULE, "encrypts every file that it finds", _COPY, decision="deny")


@reads("cipher", "efsutil")
def _windows(call: Call) -> None:
    if any(re.match(r"/e\b", arg, re.IGNORECASE) for arg in call.args):
        act(call, "destroy", _RULE, "encrypts files in place", _COPY)
