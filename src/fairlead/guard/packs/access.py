"""Ways into this machine, and programs that come from elsewhere: the network pack's tools."""

from __future__ import annotations

import re

from fairlead.guard._lazy import lazy
from fairlead.guard.options import options
from fairlead.guard.packs import act, reads
from fairlead.guard.paths import join
from fairlead.guard.programs.network import host_of, is_local
from fairlead.guard.shell.nodes import UNKNOWN, shown

TYPE_CHECKING = False
if TYPE_CHECKING:
    from fairlead.guard.shell.run import Call

_QUIET = frozenset({"--version", "--help", "-h", "-V", "version", "help", "status", "list", "ls"})


@reads(
    *(
        "ttyd gotty tmate sshx upterm wetty shellinaboxd teleconsole warpgate x11vnc vncserver tigervncserver "
        "x0vncserver vino-server anydesk teamviewer rustdesk chrome-remote-desktop websocat telnetd "
        "in.telnetd dropbear xrdp meshagent pupy sliver merlin villain rlogind rshd code-server "
        "openvscode-server inetd"
    ).split()
)
def _terminals(call: Call) -> None:
    """Programs that hand a terminal or a desktop of this machine to others."""
    if set(call.args[:1]) & _QUIET:
        return
    if call.name == "websocat" and not re.search(r"\b(?:sh-c|cmd|exec|system):|-E\b", " ".join(call.args)):
        return
    if call.name in ("code-server", "openvscode-server") and not re.search(
        r"0\.0\.0\.0|--auth[= ]none", " ".join(call.args)
    ):
        return
    act(call, "connect", "network.remote-access", "lets others use this machine from outside")


@reads("code", "code-insiders", "cursor")
def _editor_tunnel(call: Call) -> None:
    if call.args[:1] in (["tunnel"], ["serve-web"]) and "--help" not in call.args:
        act(call, "connect", "network.remote-access", "lets others use this machine from outside")


@reads("xterm", "urxvt", "rxvt")
def _display(call: Call) -> None:
    if re.search(r"-display\s+\d+\.\d+\.\d+\.\d+:", " ".join(call.args)):
        act(call, "connect", "network.reverse-shell", "opens a terminal on another machine", decision="deny")


def _served(call: Call, directory: str) -> None:
    call.shell.effect(
        "serve", call.words, path=join(call.shell.cwd, re.sub(r"\A~(?=/|\Z)", call.shell.home, directory))
    )


@reads("python", "python2", "python3")
def _python_server(call: Call) -> None:
    if call.args[:1] != ["-m"] or call.args[1:2] not in (
        ["http.server"],
        ["SimpleHTTPServer"],
        ["pyftpdlib"],
        ["uploadserver"],
    ):
        return
    opts = options(call.args[2:], short="bdp", long=("bind", "directory", "protocol"))
    local = is_local(opts.value("b", "bind")) and opts.value("b", "bind") != "0.0.0.0"  # noqa: S104  what is asked
    if not local:
        _served(call, opts.value("d", "directory") or ".")


_SERVERS = {
    "serve": "lnpc",
    "http-server": "pad",
    "live-server": "",
    "miniserve": "pi",
    "darkhttpd": "",
    "webfsd": "pr",
    "httpd": "hp",
    "simple-http-server": "p",
    "sfz": "p",
    "dufs": "pb",
    "caddy": "",
    "static-server": "p",
    "ran": "pr",
    "local-web-server": "dp",
    "ws": "dp",
    "smbserver.py": "",
    "impacket-smbserver": "",
    "twistd": "",
    "ftpd": "",
    "lighttpd": "f",
    "filebrowser": "rp",
    "goshs": "dp",
    "updog": "dp",
    "droopy": "d",
}


@reads(*_SERVERS)
def _servers(call: Call) -> None:
    opts = options(
        call.args, short=_SERVERS[call.name], long=("port", "root", "directory", "listen", "address", "path", "host")
    )
    if call.name == "caddy" and call.args[:1] != ["file-server"]:
        return
    named = opts.values("h", "d", "r", "root", "directory", "path") if call.name != "serve" else []
    operands = [word for word in opts.operands if re.match(r"[./~]", word)]
    for directory in named or operands or ["."]:
        _served(call, directory)


@reads("php", "ruby")
def _language_servers(call: Call) -> None:
    if call.name == "php" and "-S" in call.args:
        opts = options(call.args, short="St")
        if not re.match(r"localhost|127\.", opts.value("S")):
            _served(call, opts.value("t") or ".")
    elif call.name == "ruby" and any(arg.startswith("-run") for arg in call.args) and "httpd" in " ".join(call.args):
        index = next((i for i, arg in enumerate(call.args) if arg.endswith("httpd")), len(call.args))
        _served(call, next((arg for arg in call.args[index + 1 :] if not arg.startswith("-")), "."))


@reads("kubectl", "oc", "ssh")
def _forwarded(call: Call) -> None:
    text = " ".join(call.args)
    if call.name == "ssh":
        if re.search(r"-L\s*(?:0\.0\.0\.0|\*|\x01):|-g\b.*-L", text):
            act(call, "connect", "network.listen", "opens a port of this machine")
    elif "port-forward" in call.args and re.search(r"--address[= ]\S*0\.0\.0\.0", text):
        act(call, "connect", "network.listen", "opens a service of the cluster to the network")


_FROM_ELSEWHERE = lazy(r"(?:https?://|git\+|github:|gitlab:|bitbucket:|gist:|git://|ssh://git@)")


@reads("npx", "bunx", "pnpx", "pipx", "uvx", "deno", "bun", "pnpm", "yarn", "npm", "uv")
def _remote_packages(call: Call) -> None:
    """A program that is fetched from an address and started in the same breath."""
    words = [arg for arg in call.args if not arg.startswith("-")]
    runs = call.name in ("npx", "bunx", "pnpx", "uvx") or words[:1] in (
        ["run"],
        ["exec"],
        ["dlx"],
        ["x"],
        ["tool"],
        ["eval"],
    )
    if not runs or (call.name in ("npm", "yarn", "pnpm") and words[:1] == ["run"]):
        return
    for arg in call.args:
        place = arg.partition("=")[2] if arg.startswith("--") else arg
        if _FROM_ELSEWHERE.match(place) and not re.match(
            r"https?://(?:deno\.land|jsr\.io|esm\.sh|localhost|127\.)", place
        ):
            act(
                call,
                "run",
                "network.remote-program",
                f"fetches {shown(place)} and runs it",
                "install it first, and read it",
            )
            return


@reads("go", "cargo", "pip", "pip3", "gem", "nix", "nix-shell", "cpanm", "opam")
def _remote_sources(call: Call) -> None:
    words = [arg for arg in call.args if not arg.startswith("-")]
    text = " ".join(call.args)
    if call.name == "go" and words[:1] == ["run"] and re.search(r"\brun\s+(?:-\S+\s+)*[\w.-]+\.[a-z]+/\S+@", text):
        if not re.search(
            r"\s(?:golang\.org/x|github\.com/(?:golang|google|golangci|swaggo|sqlc-dev|golang-migrate)|google\.golang\.org|honnef\.co|mvdan\.cc|sigs\.k8s\.io|k8s\.io|gotest\.tools|go\.uber\.org)/",
            text,
        ):
            act(call, "run", "network.remote-program", f"fetches {shown(words[1])} and runs it")
    elif (
        call.name in ("nix", "nix-shell")
        and words[:1] == ["run"]
        and re.search(r"(?:github|gitlab|git\+https?|https?):", text)
        and "nixpkgs" not in text
    ):
        act(call, "run", "network.remote-program", "fetches a program and runs it")
    for arg in call.args:
        if call.name in ("pip", "pip3") and re.match(r"git\+", arg):
            call.shell.record.files[f"installed from {host_of(arg[4:])}"] = call.stdin


@reads("python", "python3")
def _installed_before(call: Call) -> None:
    installed = [name for name in call.shell.record.files if name.startswith("installed from ")]
    if installed and call.args[:1] == ["-m"] and call.args[1:2] != ["pytest"]:
        act(call, "run", "network.remote-program", f"runs what this command has just {installed[0]}", "read it first")


_BORROWED = {
    "certutil": r"-urlcache|-decode|-encode|-verifyctl",
    "mshta": r".",
    "regsvr32": r"/i:|https?:",
    "bitsadmin": r"/transfer|/addfile|/setnotify",
    "rundll32": r"javascript:|https?:|comsvcs|\\\\",
    "wmic": r"process call create|/format:|shadowcopy delete|/node:",
    "msiexec": r"https?:",
    "installutil": r".",
    "regasm": r".",
    "cscript": r"https?:|\\temp",
    "wscript": r"https?:|\\temp",
    "forfiles": r"/c\b",
    "odbcconf": r".",
    "hh": r"https?:",
    "msbuild": r"\\temp|https?:",
    "desktopimgdownldr": r".",
    "esentutl": r"/y|/vss",
    "diskshadow": r".",
    "ntdsutil": r".",
    "procdump": r".",
    "psexec": r".",
    "winrs": r".",
    "rpcclient": r".",
    "wevtutil": r"\bcl\b|clear-log",
}


@reads(*_BORROWED)
def _borrowed(call: Call) -> None:
    """Programs of Windows that fetch, start or hide others."""
    if re.search(_BORROWED[call.name], " ".join(call.args), re.IGNORECASE):
        act(call, "run", "network.borrowed-program", "makes a program of the system fetch, start or hide another one")


@reads("ssh-import-id", "ssh-import-id-gh", "ssh-import-id-lp")
def _foreign_keys(call: Call) -> None:
    if call.args and call.args[0] not in _QUIET:
        act(call, "system", "secrets.keys", "lets other people's keys into this account", decision="deny")


@reads(
    "pssh",
    "parallel-ssh",
    "pdsh",
    "clush",
    "dsh",
    "mssh",
    "salt",
    "salt-call",
    "ansible",
    "fab",
    "bolt",
    "mco",
    "knife",
)
def _many_hosts(call: Call) -> None:
    """The same command on many machines."""
    if set(call.args) & {"--version", "--help", "--list-hosts", "--check", "-C", "test.ping", "ping", "setup"}:
        return
    opts = options(call.args, short="hHlpotiwgambkef", long=("args", "module-name", "inventory", "user"), posix=False)
    skipped = {"salt": 2, "salt-call": 1, "ansible": 1, "fab": 9, "bolt": 2, "mco": 9, "knife": 3}.get(call.name, 0)
    texts = opts.values("a", "args") or [" ".join(opts.operands[skipped:])]
    from fairlead.guard.programs.elsewhere import away

    for text in texts:
        away(call, "remote").run_text(text)
    if (
        call.name in ("pssh", "parallel-ssh", "pdsh", "clush", "dsh", "mssh", "salt") and any(texts)
    ) or UNKNOWN in "".join(texts):
        act(call, "run", "network.many-hosts", "runs a command on many machines at once")
