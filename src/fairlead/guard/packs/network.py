"""Programs from the network, uploads, tunnels, reverse shells, scanners."""

from __future__ import annotations

import re

from fairlead.guard._lazy import lazy
from fairlead.guard.options import options
from fairlead.guard.packs import act, reads
from fairlead.guard.paths import Places
from fairlead.guard.programs.network import PIPE, host_of, is_local
from fairlead.guard.shell.nodes import UNKNOWN, shown

TYPE_CHECKING = False
if TYPE_CHECKING:
    from fairlead.guard.effects import Effect
    from fairlead.guard.shell.run import Call

    Hit = tuple[str, str, str, str]

_DOWNLOAD_FIRST = "download it to a file, read it, then run it"
_METADATA = lazy(
    r"(?:169\.254\.169\.254|169\.254\.170\.2|metadata(?:\.google\.internal)?|100\.100\.100\.200|\[?fd00:ec2::254\]?"
    r"|0xa9fea9fe|2852039166)\Z"
)
_SECRET_NAME = lazy(
    r"\$\{?(\w*(?:SECRET|TOKEN|PASSWORD|PASSWD|API_?KEY|PRIVATE|CREDENTIAL|ACCESS_?KEY)\w*)", re.IGNORECASE
)
_PASTE = lazy(
    r"(?:.*\.)?(?:pastebin\.com|transfer\.sh|file\.io|0x0\.st|termbin\.com|ix\.io|requestbin\.\w+|webhook\.site"
    r"|pipedream\.net|ngrok\.io|ngrok-free\.app|burpcollaborator\.net|oast\.\w+|interact\.sh|hastebin\.com|gofile\.io"
    r"|anonfiles\.com|catbox\.moe|bashupload\.com|discord\.com|discordapp\.com|api\.telegram\.org)\Z"
)


def judge(effect: Effect, places: Places) -> Hit | None:
    """Return the verdict on a connection, an upload or a program that comes from a host."""
    if effect.rule:
        return None
    if effect.kind == "run" and effect.note == "network":
        return _hit(
            "network.pipe-to-shell",
            "deny",
            effect,
            f"runs a program straight from {shown(effect.host)}",
            _DOWNLOAD_FIRST,
        )
    if effect.kind in ("write", "read") and re.match(r"/dev/(?:tcp|udp)/", effect.path):
        return _hit("network.raw-socket", "deny", effect, "opens a raw connection from the shell")
    if effect.kind == "connect":
        return _connect(effect)
    if effect.kind == "upload":
        return _upload(effect)
    if effect.kind == "serve":
        return _serve(effect, places)
    if effect.kind == "download" and _METADATA.match(effect.host):
        return _hit(
            "network.metadata", "deny", effect, "asks the cloud's metadata service, which hands out credentials"
        )
    return None


def _serve(effect: Effect, places: Places) -> Hit | None:
    zone = places.zone(places.resolve("/", effect.path))
    if zone not in ("root", "home", "homes", "system") and not re.search(r"/\.\w+/?\Z", effect.path):
        return None
    return _hit(
        "network.serve",
        "ask",
        effect,
        f"hands {shown(effect.path)} to everybody who can reach this machine",
        "serve one directory of the project, on 127.0.0.1",
    )


def _connect(effect: Effect) -> Hit | None:
    note = effect.note
    if note == "reverse-shell":
        return _hit("network.reverse-shell", "deny", effect, "connects a shell to another machine")
    if note == "probe" or (is_local(effect.host) and note == "raw"):
        return None
    texts = {
        "listen": "opens a port of this machine",
        "reverse-tunnel": "lets another machine connect back to this one",
        "browser": "takes control of a running browser",
        "proxy": "sends the traffic of this machine through another one",
    }
    return _hit(
        f"network.{note if note in texts else 'raw-socket'}",
        "ask",
        effect,
        texts.get(note, "opens a raw connection to another machine"),
    )


def _upload(effect: Effect) -> Hit | None:
    if is_local(effect.host) and effect.note != "environment":
        return None
    if effect.note in ("rsync", "scp", "rsync --delete", "rclone"):
        text = f"copies files to {shown(effect.host)}" + (
            " and deletes what is not here" if "delete" in effect.note else ""
        )
        return _hit("network.upload", "ask", effect, text)
    if effect.note == "mail":
        return _hit("network.upload", "ask", effect, "sends mail")
    what = shown(effect.path) if effect.path.startswith("/") else "local data"
    return _hit("network.upload", "ask", effect, f"sends {what} to {shown(effect.host) or 'another machine'}")


def _hit(rule: str, decision: str, effect: Effect, text: str, suggestion: str = "") -> Hit:
    return rule, decision, f"`{effect.words}` {text}", suggestion


@reads(
    "ngrok",
    "localtunnel",
    "lt",
    "cloudflared",
    "bore",
    "pagekite",
    "frpc",
    "serveo",
    "tailscale",
    "zrok",
    "localxpose",
    "expose",
    "devtunnel",
    "loophole",
    "gost",
)
def _tunnel(call: Call) -> None:
    quiet = {"version", "--version", "status", "help", "--help", "config", "login", "update", "ip", "ping", "netcheck"}
    if call.name == "tailscale" and not {"funnel", "serve", "up"} & set(call.args):
        return
    if not call.args or call.args[0] not in quiet:
        act(call, "connect", "network.tunnel", "opens this machine to the internet")


@reads("bash", "sh", "zsh", "dash", "ksh", "ash", "fish")
def _interactive(call: Call) -> None:
    """A shell that takes its commands from a connection, or from a pipe that another program feeds."""
    if call.stdin.origin.startswith(("/dev/tcp/", "/dev/udp/", PIPE)):
        act(call, "connect", "network.reverse-shell", "connects a shell to another machine", decision="deny")


@reads("curl", "wget")
def _curl(call: Call) -> None:
    opts = options(call.args, short="AbcCdDeEFHhKmoPQrTtuUwxXyYzO", long=("header", "data", "request", "url", "user"))
    for url in opts.operands:
        if re.match(r"(?:gopher|dict|ldap|tftp)://", url):
            act(call, "connect", "network.raw-socket", "uses a protocol that can carry anything")
        if _PASTE.match(host_of(url)) and opts.has(
            "d", "data", "F", "T", "data-binary", "upload-file", "form", "post-file", "post-data", "json"
        ):
            act(call, "upload", "network.upload", f"sends data to {host_of(url)}")
    method = opts.value("X", "request").upper()
    if method == "DELETE" and opts.operands and not is_local(host_of(opts.operands[0])):
        act(call, "destroy", "network.delete-request", "asks another machine to delete something")
    if opts.has("O", "remote-name", "o") and any(re.search(r"cron|\.bashrc", op) for op in opts.operands):
        act(call, "write", "network.upload", "fetches a start-up file")


def secret_variables(text: str) -> list[str]:
    """Return the names of variables in a text that look like credentials."""
    return _SECRET_NAME.findall(text)


@reads("iex", "invoke-expression")
def _invoke(call: Call) -> None:
    if call.stdin.hosts or UNKNOWN in "".join(call.args):
        act(
            call,
            "run",
            "network.pipe-to-shell",
            "runs a program straight from the network",
            _DOWNLOAD_FIRST,
            decision="deny",
        )


_KNOWN_REGISTRIES = lazy(
    r"pypi\.org|pythonhosted|npmjs\.(?:org|com)|yarnpkg|rubygems\.org|pytorch\.org|npmmirror|jsdelivr|github\.com"
    r"|githubusercontent|gitlab\.com|bitbucket\.org|nvidia|googleapis|storage\.google|huggingface\.co|pkg\.dev"
    r"|azure\.com|amazonaws"
)


@reads(*"pip pip3 npm yarn pnpm uv gem easy_install npx bun bunx go conda mamba bundle composer cargo".split())
def _registries(call: Call) -> None:
    """Packages from a place that nobody else uses."""
    text = " ".join(call.args)
    found = re.findall(r"(?:--(?:extra-)?index-url|--registry|--source|--trusted-host)[= ](\S+)", text)
    if call.name.startswith("pip") or call.name == "easy_install":
        found += re.findall(r"(?:\A|\s)-i[= ]?(\S+)", text)
    found += re.findall(r"config set (?:--\S+ )?(?:\S*registry|\S*index-url|\S*npmRegistryServer)[= ](\S+)", text)
    if re.search(r"\b(?:install|i|add|dlx|exec)\b", text) or call.name in ("npx", "bunx"):
        found += [arg for arg in call.args if re.match(r"(?:git\+)?https?://", arg)]
    found += re.findall(
        r"(?:env -w .*GOPROXY=|sources (?:-a|--add) |config (?:--add channels|mirror\S*|repositories?\S*) )(\S+)", text
    )
    if re.search(r"strict-ssl[= ]false|GO(?:NOSUMDB|NOSUMCHECK|INSECURE|FLAGS=-insecure)=?\S|verify_ssl false", text):
        act(call, "settings", "network.no-verification", "makes downloads trust any server")
    for place in found:
        if not is_local(host_of(place.removeprefix("git+"))) and not _KNOWN_REGISTRIES.search(place):
            act(call, "run", "network.foreign-registry", f"installs packages from {shown(place)}")
            return
