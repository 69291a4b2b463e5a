"""Processes and resources: ending what others need, using up what everybody needs."""

from __future__ import annotations

import re

from fairlead.guard._lazy import lazy
from fairlead.guard.effects import OPAQUE, Stream
from fairlead.guard.options import options
from fairlead.guard.packs import act, reads, verbs
from fairlead.guard.programs import program
from fairlead.guard.shell.nodes import ANY, STAR, UNKNOWN

TYPE_CHECKING = False
if TYPE_CHECKING:
    from fairlead.guard.shell.run import Call

PROCESSES = "processes"
_NEEDED = lazy(
    r"(?:|\.|\.\*|\*|\x01|systemd\S*|init|launchd|sshd|Xorg|gnome-shell|WindowServer|Finder|loginwindow|dbus-daemon"
    r"|explorer(?:\.exe)?|lsass(?:\.exe)?|csrss(?:\.exe)?|dockerd|containerd|kubelet|auditd|falco\S*|osqueryd|crowdstrike"
    r"|clamd|wazuh\S*|rsyslogd|fail2ban\S*|ossec\S*|MsMpEng\S*|NetworkManager|bash|zsh|login)\Z",
    re.IGNORECASE,
)


@reads("kill", "pkill", "killall", "xkill", "skill", "taskkill", "fuser", "killall5", "loginctl", "scancel", "tskill")
def _processes(call: Call) -> None:
    if {"--help", "--version", "-l", "-L"} & set(call.args[:1]):
        return
    if _KILLERS.get(call.name, _by_name)(call):
        act(call, "system", "system.kill-all", "ends processes that the machine or other people need", decision="deny")


def _kill(call: Call) -> bool:
    text = " ".join(call.args)
    targets = [arg for arg in call.args if not re.match(r"-(?:[A-Z0-9]+|s|n|-\w+)\Z", arg)] or call.args[-1:]
    if re.search(r"(?:\A|\s)-1\Z", text) and not re.match(r"-1\Z", text):
        return True
    if targets == ["1"] or text == "-1":
        return True
    source = call.shell.record.substituted
    every = PROCESSES in (call.stdin.origin, source.origin if source is not None else "")
    if every and any(UNKNOWN in arg for arg in call.args):
        return True
    return any(PROCESSES in arg or STAR in arg or ANY in arg or arg.startswith("/proc/") for arg in targets)


def _by_name(call: Call) -> bool:
    words = verbs(call, ("-u", "-U", "-t", "-g", "-s", "--signal"))
    opts = options(call.args, short="uUtgGsP", long=("signal", "euid", "uid", "user"))
    if opts.has("u", "U", "G", "v", "inverse", "user", "euid") and not words:
        return True
    return any(_NEEDED.match(part) for word in words for part in re.split(r"[|]", word.strip("^$()")))


def _fuser(call: Call) -> bool:
    opts = options(call.args, short="n")
    mounted = opts.has("m", "M", "mount", "c") or any(re.match(r"/[^/]*/?\Z", operand) for operand in opts.operands)
    return opts.has("k", "kill") and mounted


def _login(call: Call) -> bool:
    return any(re.match(r"(?:terminate|kill)-(?:user|session|seat)", arg) for arg in call.args)


def _everywhere(_call: Call) -> bool:
    return True


def _of_user(call: Call) -> bool:
    return any(re.match(r"-(?:u|A)|--(?:user|me|account)", arg) for arg in call.args)


def _windows(call: Call) -> bool:
    text = " ".join(call.args).lower()
    return "username" in text or "*" in text or STAR in text or any(_NEEDED.match(arg) for arg in call.args)


_KILLERS = {
    "kill": _kill,
    "fuser": _fuser,
    "loginctl": _login,
    "killall5": _everywhere,
    "skill": _of_user,
    "scancel": _of_user,
    "taskkill": _windows,
}


@program("ps", "pgrep", "pidof")
def list_processes(call: Call) -> Stream:
    """Numbers of processes; all of them, unless the call says which."""
    if call.name == "ps":
        narrow = any(re.match(r"-?[pC](?:\d|\Z)|--p?pid\b", arg) for arg in call.args)
    else:
        narrow = bool(verbs(call, ("-u", "-U", "-t", "-g", "-G", "-P", "--euid")))
        narrow = narrow and call.args[-1] not in (".", "")
    return OPAQUE if narrow else Stream(f"{UNKNOWN}{PROCESSES}\n", origin=PROCESSES)


_SIZE = lazy(r"[+]?(\d+)\s*([KMGTPE]?)(?:i?B)?\Z", re.IGNORECASE)
_FACTORS = {"": 0, "K": 1, "M": 2, "G": 3, "T": 4, "P": 5, "E": 6}
_ENORMOUS = 200 * 1024**3


def _enormous(size: str) -> bool:
    match = _SIZE.match(size)
    return match is not None and int(match[1][:12]) * 1024 ** _FACTORS[match[2].upper()] >= _ENORMOUS


@reads("fallocate", "truncate", "mkfile", "dd", "head")
def _sizes(call: Call) -> None:
    opts = options(call.args, short="lsobnc", long=("length", "size", "offset", "bytes", "lines"))
    sizes = opts.values("l", "s", "length", "size") + (opts.operands[:1] if call.name == "mkfile" else [])
    if call.name == "dd":
        pairs = dict(arg.partition("=")[::2] for arg in call.args if "=" in arg)
        endless = pairs.get("if") in ENDLESS and "count" not in pairs and bool(pairs.get("of"))
        if endless and pairs["of"] not in ("/dev/null", "/dev/stdout"):
            _fills(call)
    elif call.name != "head" and any(_enormous(size) for size in sizes):
        _fills(call)


ENDLESS = frozenset({"/dev/zero", "/dev/urandom", "/dev/random", "/dev/full", "endless"})


def _fills(call: Call) -> None:
    act(call, "system", "system.exhaust", "fills the disk", "say how much: `count=`, `head -c`")


@program("yes")
def yes(_call: Call) -> Stream:
    return Stream(None, origin="endless")


@reads("tail", "tac", "sort", "grep", "egrep", "shuf", "base64", "md5sum", "sha256sum", "wc")
def _endless_input(call: Call) -> None:
    if any(arg in ENDLESS for arg in call.args) and not any(arg.startswith(("-m", "-c", "-n")) for arg in call.args):
        act(call, "system", "system.exhaust", "reads a file without end until the memory is full")


@reads("stress", "stress-ng", "memtester", "sysbench")
def _load(call: Call) -> None:
    if call.args and call.args[0] not in ("--version", "--help", "-h"):
        act(call, "system", "system.load", "puts the machine under full load")


@reads("hdfs", "hadoop", "yarn", "mapred", "spark-submit", "gsutil", "hbase", "oozie")
def _clusters(call: Call) -> None:
    text = " ".join(call.args)
    if call.name in ("hdfs", "hadoop") and re.search(r"-(?:rmr?|expunge|format)\b|-delete\b|\bdistcp\b.*-delete", text):
        act(call, "destroy", "cloud.destroy", "deletes files of the cluster")
    elif call.name in ("yarn", "mapred") and re.search(r"-kill", text):
        act(call, "destroy", "cloud.destroy", "ends jobs of the cluster")


@reads("nix-collect-garbage", "guix", "nix-store", "nix")
def _generations(call: Call) -> None:
    text = " ".join(call.args)
    if re.search(r"(?:\A|\s)-\w*d\b|--delete-older-than|--delete-generations|wipe-history", text):
        act(call, "system", "system.packages", "removes older generations, the way back to a working system")
