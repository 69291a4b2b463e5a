"""Scanners, sniffers and load: what is aimed at other machines."""

from __future__ import annotations

import re

from fairlead.guard._lazy import lazy
from fairlead.guard.options import options
from fairlead.guard.packs import act, reads
from fairlead.guard.programs.network import host_of, is_local
from fairlead.guard.shell.nodes import UNKNOWN

TYPE_CHECKING = False
if TYPE_CHECKING:
    from fairlead.guard.shell.run import Call

_TOOLS = (
    "nmap masscan zmap sqlmap nikto hydra medusa ncrack john hashcat aircrack-ng airodump-ng aireplay-ng wifite "
    "reaver gobuster dirb dirbuster "
    "ffuf wfuzz feroxbuster nuclei wpscan metasploit msfconsole msfvenom responder bettercap ettercap arpspoof dsniff "
    "tcpdump tshark wireshark "
    "dumpcap crackmapexec nxc enum4linux smbclient impacket-secretsdump evil-winrm bloodhound-python theharvester "
    "recon-ng amass subfinder "
    "rustscan hping3 slowloris xmrig minerd cgminer bfgminer ethminer nbminer t-rex phoenixminer cpuminer dnscat "
    "dnscat2 iodine chisel ligolo slowhttptest goldeneye hulk t50 mdk3 mdk4 thc-ssl-dos pyloris torshammer loic hoic"
).split()
_PORT_SCANNERS = frozenset({"nmap", "rustscan", "zmap", "masscan"})
# Options that bring other targets or addresses, or run and write something.
_AIMS = lazy(r"-(?:i|S|D|o|-script|-r|-proxies|-interactive)")
_RECORDERS = frozenset({"tcpdump", "tshark", "wireshark", "dumpcap"})


@reads(*_TOOLS)
def _attack(call: Call) -> None:
    if call.args in (["--version"], ["--help"], ["-h"], ["-V"]) or _at_home(call):
        return
    act(call, "connect", "network.attack-tool", "attacks, scans, records or mines")


def _at_home(call: Call) -> bool:
    """The ports of this machine, or a recording that was made before."""
    if call.name in _RECORDERS:
        opts = options(call.args, short="rcwizZGWCYTeEfFsBVyj", long=("read-file",))
        return opts.has("r", "read-file") and not opts.has("i", "interface", "z", "w", "D")
    if call.name not in _PORT_SCANNERS or any(
        re.match(r"-(?:i|S|D|o|-script|-r|-proxies|-interactive)", arg) for arg in call.args
    ):
        return False
    ports = [number + 1 for number, arg in enumerate(call.args) if arg in ("-p", "-g", "-e", "--max-retries", "-a")]
    targets = [arg for number, arg in enumerate(call.args) if number not in ports and not arg.startswith("-")]
    return bool(targets) and all(re.match(r"(?:localhost|127(?:\.\d+){3}|::1)\Z", target) for target in targets)


_LOADERS = "ab wrk wrk2 hey siege bombardier oha autocannon vegeta k6 httperf cassowary plow fortio locust drill h2load"
_MANY = 10_000
_FAST = 1000
_LONG = lazy(r"-?-?(?:d|t|duration|time|z)?=?(?:\d+[hH]|(?:[5-9]|\d\d+)m|(?:[3-9]\d\d|\d{4,})s?)\Z")


@reads(*_LOADERS.split())
def _load(call: Call) -> None:
    """Load tests are for one's own machines; a few requests hurt nobody."""
    hosts = [host_of(word) for word in [*call.args, *(call.stdin.text or "").split()] if "://" in word]
    if hosts and all(is_local(host) for host in hosts):
        return
    if (hosts or call.name == "vegeta") and _heavy(call.args):
        act(call, "connect", "network.flood", "sends so many requests that the other machine may fail",
            "test against localhost, or with a few hundred requests")  # fmt: skip


def _heavy(args: list[str]) -> bool:
    numbers = [
        int(found[1]) for arg in args if (found := re.match(r"(?:-\w|--[\w-]+=?|-rate=?)?=?(\d{1,12})(?:/s)?\Z", arg))
    ]
    return any(number >= _FAST for number in numbers) or any(
        _LONG.match(arg) for arg in args if not arg.startswith("http")
    )


@reads("ping", "ping6", "fping", "nping", "arping")
def _ping(call: Call) -> None:
    opts = options(call.args, short="cisWwtIlpQSTM", long=("count", "interval", "size", "rate", "period"))
    target = opts.operands[-1] if opts.operands else ""
    if is_local(target) and not target.endswith(".255"):
        return
    interval = opts.value("i", "interval")
    quick = re.match(r"0?\.0\d*\Z|0\Z", interval) is not None
    large = opts.value("s", "size").isdigit() and int(opts.value("s", "size")) > _MANY and not opts.has("c", "count")
    if opts.has("f", "flood", "rate") or quick or large:
        act(call, "connect", "network.flood", "floods another machine with packets", "`ping -c 3` asks three times")


_UPLOADERS: dict[str, str] = {
    "azcopy": r"(?:copy|cp|sync)\s+(?!https?:)\S+\s.*https?:",
    "b2": r"(?:upload[-_]file|sync\s+(?!b2:)|file upload)",
    "s3cmd": r"(?:.*\s)?(?:put|sync\s+(?!s3:))",
    "s5cmd": r"(?:.*\s)?(?:cp|sync|mv)\s+(?!s3:).*s3:",
    "mc": r"(?:cp|mirror|put|pipe|mv)\s",
    "ossutil": r"(?:cp|sync)\s+(?!oss:).*oss:",
    "gdrive": r"(?:files )?upload\b",
    "swift": r"upload\b",
    "megaput": r".",
    "dropbox_uploader.sh": r"upload\b",
}


@reads(*_UPLOADERS)
def _uploads(call: Call) -> None:
    if UNKNOWN not in call.name and re.match(_UPLOADERS[call.name], " ".join(call.args)):
        act(call, "upload", "network.upload", "sends files to another machine")
