"""Programs that start others on another machine or in a container."""

from __future__ import annotations

import re

from fairlead.guard._lazy import lazy
from fairlead.guard.effects import Stream
from fairlead.guard.options import Options, options
from fairlead.guard.programs import program
from fairlead.guard.programs.builtins import shell_escape
from fairlead.guard.programs.wrappers import run_words
from fairlead.guard.shell.nodes import UNKNOWN

TYPE_CHECKING = False
if TYPE_CHECKING:
    from fairlead.guard.shell.run import Call, Shell


_SSH_VALUES = "BbcDEeFIiJLlmOopQRSWw"


_SSH_COMMANDS = lazy(r"(?:ProxyCommand|LocalCommand|KnownHostsCommand)[= ](.+)", re.IGNORECASE | re.DOTALL)


@program("ssh", "autossh", "mosh", "sshpass")
def ssh(call: Call) -> Stream:
    if call.name == "sshpass":
        return run_words(call, options(call.args, short="pfdP", posix=True).operands)
    opts = options(call.args, short=_SSH_VALUES, long=("ssh", "port"), posix=True)
    host, *words = opts.operands or [UNKNOWN]
    if words and words[0].startswith("-"):
        # Options may also stand after the host.
        later = options(words, short=_SSH_VALUES, posix=True)
        opts.flags += later.flags
        words = later.operands
    _ssh_options(call, opts, host)
    _on_host(call, host, words)
    return Stream(None)


def _ssh_options(call: Call, opts: Options, host: str) -> None:
    for option in opts.values("o"):
        match = _SSH_COMMANDS.match(option)
        if match and match[1] != "none":
            call.shell.child().run_text(match[1])
            if re.match(r"(?:\S*/)?(?:ba|da|z|k)?sh\b|[;&|]", match[1]):
                shell_escape(call)
    for letter, note in (("R", "reverse-tunnel"), ("D", "proxy")):
        if opts.values(letter):
            call.shell.effect("connect", call.words, host=host, note=note)


def _on_host(call: Call, host: str, words: list[str]) -> None:
    if not words and not call.stdin.text:
        return
    call.shell.record.steps.append(f"on the host {host}:")
    if not words:
        away(call, "remote").run_text(call.stdin.text or "")
        return
    if call.stdin.text is None and (call.stdin.origin or call.stdin.secrets):
        path = (call.stdin.secrets or (call.stdin.origin,))[0]
        call.shell.effect("upload", call.words, host=host, path=path, note="ssh")
    away(call, "remote").run_text(" ".join(words), call.stdin)


def away(call: Call, place: str) -> Shell:
    """Return a shell on another machine: nothing there belongs to the project."""
    shell = call.shell.child()
    shell.place = place
    shell.cwd = UNKNOWN if place == "remote" else "/workdir"
    shell.home = "/home/user" if place == "remote" else "/root"
    shell.functions = {}
    return shell


@program("docker", "podman", "nerdctl", "docker-compose", "podman-compose", "kubectl", "oc", "k3s", "k", "lxc",
         "vagrant", "finch", "minikube", "crictl")  # fmt: skip
def container(call: Call) -> Stream | None:
    """``docker exec|run`` and ``kubectl exec``: the inner program runs in a container."""
    words = _container_words(call)
    if words:
        shell = away(call, "pod" if "exec" in call.args[:6] or call.name == "vagrant" else "container")
        call.shell.record.steps.append(f"in a container: {' '.join(words)[:200]!r}")
        inner = call.again(words)
        inner.shell = shell
        return shell.call(inner)
    if call.args[:2] == ["compose", "config"]:
        return Stream(None, origin="outputs")
    lists = {"ps", "images", "ls", "list"} & set(call.args[:3]) and any(
        re.match(r"-\w*q|--quiet", arg) for arg in call.args
    )
    return Stream(None, origin="containers") if lists and "--filter" not in call.args else None


def _container_words(call: Call) -> list[str]:
    args = call.args
    if call.name == "vagrant":
        text = options(args, short="c", long=("command",)).value("c", "command")
        return ["sh", "-c", text] if text else []
    if "--" in args and call.name in ("kubectl", "oc", "k", "lxc", "minikube"):
        return args[args.index("--") + 1 :]
    for verb in ("exec", "run"):
        if verb in args[:6]:
            rest = options(args[args.index(verb) + 1 :], short="ewuvpmclhna", posix=True, long=_CONTAINER_VALUES)
            if call.name in ("kubectl", "oc", "k") and verb == "run":
                return []
            return rest.operands[1:]
    return []


_CONTAINER_VALUES = (
    "env", "workdir", "user", "volume", "publish", "name", "network", "mount", "entrypoint", "env-file", "memory",
    "cpus", "label", "hostname", "add-host", "platform", "gpus", "device", "cap-add", "cap-drop", "security-opt",
    "shm-size", "ulimit", "restart", "link", "log-driver", "pid", "ipc", "userns", "tmpfs", "dns", "expose", "index",
    "net", "cidfile", "detach-keys", "group-add", "pull", "runtime", "stop-signal", "sysctl", "volumes-from",
)  # fmt: skip
