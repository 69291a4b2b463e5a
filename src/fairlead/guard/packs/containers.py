"""Containers and Kubernetes."""

from __future__ import annotations

import re

from fairlead.guard._lazy import lazy
from fairlead.guard.options import options
from fairlead.guard.packs import act, reads, verbs
from fairlead.guard.programs.network import host_of
from fairlead.guard.shell.nodes import UNKNOWN, shown

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

    from fairlead.guard.shell.run import Call

    Verb = Callable[[Call, list[str]], None]

_VALUES = ("-H", "--host", "-c", "--context", "--config", "-l", "--log-level", "-f", "--file", "-p", "--project-name",
"--profile", "--env-file",
           "-n", "--namespace", "--kubeconfig", "--cluster", "--user", "--server", "--token", "--as")  # fmt: skip
_SENSITIVE_MOUNT = lazy(
    r"(?:\A|source=|src=)(?:/|/etc|/root|/home|/var|/usr|/boot|/dev|/proc|/sys|/var/run/docker\.sock"
    r"|/run/docker\.sock|~/?|\S*/\.(?:ssh|aws|gnupg|kube|docker|config))(?:/?(?::|,|\Z))"
)


@reads("docker", "podman", "nerdctl", "finch")
def _docker(call: Call) -> None:
    words = verbs(call, [value for value in _VALUES if value != "-f" or "compose" in call.args])
    text = " ".join(words[:3])
    opts = options(call.args)
    if "--help" in call.args and words[:1] not in (["run"], ["exec"]):
        return
    if re.match(
        r"system prune|volume prune|image prune|container prune|builder prune|network prune|buildx prune", text
    ):
        wide = opts.has("volumes", "a", "all") or "volume" in text or "system" in text
        if wide:
            act(
                call,
                "delete",
                "containers.prune",
                "deletes every unused container, image or volume",
                "remove them one by one by name",
            )
    elif re.match(r"(?:volume|context|secret|config|stack|service|node|swarm) (?:rm|remove|leave)", text):
        act(call, "delete", "containers.volume-remove", "deletes a volume or a swarm object and its data")
    elif re.match(r"(?:rm|rmi|image rm|container rm|kill|container kill)\b", text):
        _bulk(call, words)
    elif words[:1] in (["run"], ["create"]) or words[:2] == ["container", "run"]:
        _run(call)
    elif words[:2] == ["compose", "down"] or (words[:1] == ["compose"] and "down" in words):
        _down(call)
    elif words[:2] == ["compose", "rm"] and opts.has("v"):
        act(call, "delete", "containers.compose-volumes", "deletes anonymous volumes with their data")
    elif words[:1] == ["exec"] and opts.has("privileged"):
        act(call, "run", "containers.privileged", "runs a program with full rights over the machine")


def _bulk(call: Call, words: list[str]) -> None:
    source = call.shell.record.substituted
    listed = "containers" in (call.stdin.origin, source.origin if source is not None else "")
    if (listed and any(UNKNOWN in word for word in words)) or options(call.args).has("a", "all"):
        act(
            call,
            "delete",
            "containers.remove-all",
            "removes or stops containers or images that the command does not name",
            "name them",
        )


def _down(call: Call) -> None:
    opts = options(call.args)
    if opts.has("v", "volumes") or (opts.value("rmi") == "all") or "--rmi" in call.args:
        act(
            call,
            "delete",
            "containers.compose-volumes",
            "deletes the volumes of the application with their data",
            "`docker compose down` keeps the volumes",
        )


def _run(call: Call) -> None:
    for index, arg in enumerate(call.args):
        name, equals, value = arg.partition("=")
        following = value if equals else "".join(call.args[index + 1 : index + 2])
        if name == "--privileged" and value != "false":
            act(call, "run", "containers.privileged", "starts a container with full rights over the machine")
        elif name in ("-v", "--volume", "--mount") and _sensitive(call, following):
            act(call, "run", "containers.host-mount", f"gives a container {shown(following)[:60]} of this machine")
        elif name in ("--pid", "--ipc", "--userns", "--uts") and following == "host":
            act(call, "run", "containers.privileged", "lets a container see every process of the machine")
        elif name == "--cap-add" and re.match(
            r"(?:ALL|SYS_ADMIN|SYS_PTRACE|SYS_MODULE|DAC_READ_SEARCH)\Z", following.upper().removeprefix("CAP_")
        ):
            act(call, "run", "containers.privileged", "starts a container with rights over the machine")
        elif name == "--security-opt" and "unconfined" in following:
            act(call, "run", "containers.privileged", "starts a container without its usual protection")
        elif name == "--device" and re.match(r"/dev/(?:sd|nvme|mem|kmsg)", following):
            act(call, "run", "containers.privileged", "gives a container a device of this machine")
        elif re.search(r"(?:\A|/)(?:xmrig|cpuminer|minerd|ethminer|nbminer)\b", arg):
            act(call, "run", "network.attack-tool", "starts a crypto-miner")


def _sensitive(call: Call, mount: str) -> bool:
    """Say whether a mount hands over the machine, the home directory or credentials."""
    home = re.search(rf"(?:\A|source=|src=){re.escape(call.shell.home)}/?(?::|,|\Z)", mount)
    return home is not None or _SENSITIVE_MOUNT.search(mount) is not None


@reads("ctr", "crictl", "nerdctl", "runc", "crun", "lxc", "lxd", "incus", "systemd-nspawn", "machinectl", "firecracker")
def _low_level(call: Call) -> None:
    text = " ".join(call.args)
    if re.search(
        r"--privileged|security\.privileged=true|src=/,|source=/[, ]|-D /(?:\s|\Z)|--bind=/(?::|\s|\Z)|path=/mnt/root",
        text,
    ):
        act(call, "run", "containers.privileged", "starts a container with full rights over the machine")


_HOST_POD = lazy(
    r"hostPID:\s*true|hostNetwork:\s*true|privileged:\s*true|hostPath:\s*\{?\s*path:\s*['\"]?/(?:['\"]|\s|\}|etc|root|var/run)"
)


@reads("kubectl", "oc", "k")
def _pods(call: Call) -> None:
    """Objects that are given on standard input, and shells on nodes."""
    if call.stdin.text and {"apply", "create", "replace"} & set(call.args[:3]) and _HOST_POD.search(call.stdin.text):
        act(call, "run", "containers.privileged", "starts a pod with full rights over a node", decision="deny")
    elif call.args[:1] == ["debug"] and any(arg.startswith("node/") for arg in call.args):
        act(call, "run", "containers.privileged", "opens a shell on a node of the cluster")


@reads("docker", "podman")
def _other_machine(call: Call) -> None:
    words = verbs(call, _VALUES)
    host = options(call.args, short="Hc", long=("host", "context"), posix=True)
    away = host.value("H", "host") or host.value("context", "c")
    if (
        re.search(r"tcp://|ssh://|prod", away)
        and words[:1]
        and words[0] in ("rm", "stop", "kill", "rmi", "system", "volume", "compose", "stack")
    ):
        act(call, "destroy", "containers.remove-all", "stops or removes containers of another machine")


@reads("docker-compose", "podman-compose")
def _compose(call: Call) -> None:
    if "down" in call.args:
        _down(call)
    elif "rm" in call.args and options(call.args).has("v"):
        act(call, "delete", "containers.compose-volumes", "deletes anonymous volumes with their data")


_WHOLE = frozenset(
    "namespace namespaces ns node nodes no pv persistentvolume persistentvolumes pvc persistentvolumeclaim "
    "persistentvolumeclaims crd crds "
    "customresourcedefinition customresourcedefinitions all clusterrole clusterrolebinding storageclass".split()
)


@reads("kubectl", "oc", "k", "kubecolor")
def _kubectl(call: Call) -> None:
    words = verbs(call, (*_VALUES, "-o", "--output", "-l", "--selector", "--replicas", "--timeout", "--grace-period"))
    verb = words[0] if words else ""
    opts = options(call.args, short="nolfc", long=("namespace", "replicas", "dry-run", "filename"))
    if (opts.has("dry-run") and opts.value("dry-run") != "none") or "--help" in call.args or "-h" in call.args[-1:]:
        return
    reader = _KUBE.get(verb)
    if reader is not None:
        reader(call, words)
    _production(call, verb)


_PRODUCTION = lazy(r"(?:\S*[-_./])?prod(?:uction)?(?:[-_./]\S*)?\Z", re.IGNORECASE)
_CHANGING = frozenset(
    "apply create set rollout scale label annotate expose autoscale run replace upgrade install".split()
)


def _production(call: Call, verb: str) -> None:
    """A cluster or namespace whose name says that others depend on it."""
    opts = options(call.args, short="n", long=("namespace", "context", "kube-context", "cluster"))
    named = opts.values("n", "namespace", "context", "kube-context", "cluster")
    read = verb == "rollout" and {"status", "history"} & set(call.args)
    if verb in _CHANGING and not read and any(_PRODUCTION.match(name) for name in named):
        act(
            call, "destroy", "containers.kubernetes-change", "changes what runs in production", "try it elsewhere first"
        )


@reads("helm")
def _helm(call: Call) -> None:
    words = verbs(call, (*_VALUES, "-f", "--values", "--set", "--version", "--kube-context"))
    if not words or "--dry-run" in call.args or words[0] not in ("upgrade", "install"):
        return
    if words[1:2] and _PRODUCTION.match(words[1]):
        act(
            call, "destroy", "containers.kubernetes-change", "changes what runs in production", "try it elsewhere first"
        )
    else:
        _production(call, words[0])


def _kube_delete(call: Call, words: list[str]) -> None:
    kinds = {word.partition("/")[0].lower() for word in words[1:] if word}
    whole = bool(kinds & _WHOLE) or "--all" in call.args or "-A" in call.args or "--all-namespaces" in call.args
    act(call, "destroy", "containers.kubernetes-delete", "deletes objects of the "
                                                         "cluster" + (" and everything in them" if whole else ""),
        "`kubectl get` first, and `--dry-run=client`", decision="deny" if whole else "ask")  # fmt: skip


def _kube_simple(text: str) -> Verb:
    def report(call: Call, _words: list[str]) -> None:
        act(call, "destroy", "containers.kubernetes-change", text)

    return report


def _kube_scale(call: Call, _words: list[str]) -> None:
    if re.search(r"--replicas[= ]0\b", " ".join(call.args)):
        act(call, "destroy", "containers.kubernetes-change", "stops every copy of a workload")


# Where everybody gets the manifests of operators and drivers from.
_MANIFESTS = lazy(
    r"(?:raw\.githubusercontent\.com|github\.com|\S+\.github\.io|(?:\S+\.)?(?:k8s|kubernetes|istio)\.io)\Z"
)


def _foreign_manifest(call: Call) -> bool:
    files = options(call.args, short="fnk", long=("filename", "kustomize", "namespace")).values("f", "filename", "k")
    return any(re.match(r"https?:", file) and not _MANIFESTS.match(host_of(file)) for file in files)


def _kube_replace(call: Call, _words: list[str]) -> None:
    if _foreign_manifest(call):
        act(call, "run", "containers.kubernetes-change", "runs in the cluster what a web page says",
            "download it, read it, then apply it")  # fmt: skip
    if "--force" in call.args or "--prune" in call.args:
        act(call, "destroy", "containers.kubernetes-change", "deletes and recreates objects of the cluster")


def _kube_certificate(call: Call, words: list[str]) -> None:
    if words[1:2] in (["approve"], ["undo"], ["restart"]) and words[0] == "certificate":
        act(call, "destroy", "containers.kubernetes-change", "signs a certificate for the cluster")


def _kube_create(call: Call, words: list[str]) -> None:
    if words[1:2] and words[1] in ("clusterrolebinding", "clusterrole", "token"):
        act(call, "destroy", "containers.kubernetes-change", "gives out rights over the cluster")


def _kube_run(call: Call, _words: list[str]) -> None:
    if "privileged" in " ".join(call.args) or "hostPID" in " ".join(call.args):
        act(call, "run", "containers.privileged", "starts a pod with full rights over a node")


def _kube_config(call: Call, words: list[str]) -> None:
    if words[1:2] and words[1].startswith(("delete-", "unset")):
        act(call, "destroy", "containers.kubernetes-change", "removes a cluster from the configuration")


def _kube_auth(call: Call, words: list[str]) -> None:
    if words[1:2] == ["reconcile"]:
        act(call, "destroy", "containers.kubernetes-change", "gives out rights over the cluster")


def _kube_rollout(call: Call, words: list[str]) -> None:
    if words[1:2] == ["undo"]:
        act(call, "destroy", "containers.kubernetes-change", "puts an older version into service")


def _kube_proxy(call: Call, _words: list[str]) -> None:
    if re.search(r"--address[= ](?!127|localhost)", " ".join(call.args)):
        act(call, "connect", "containers.kubernetes-change", "opens the cluster to the network")


_KUBE: dict[str, Verb] = {
    "delete": _kube_delete,
    "drain": _kube_simple("moves every workload off a node"),
    "cordon": _kube_simple("takes a node out of service"),
    "auth": _kube_auth,
    "rollout": _kube_rollout,
    "proxy": _kube_proxy,
    "taint": _kube_simple("keeps workloads off a node"),
    "scale": _kube_scale,
    "replace": _kube_replace,
    "apply": _kube_replace,
    "certificate": _kube_certificate,
    "create": _kube_create,
    "run": _kube_run,
    "config": _kube_config,
    "patch": _kube_simple("changes a running object of the cluster"),
    "edit": _kube_simple("changes a running object of the cluster"),
}  # fmt: skip


_TOOLS = {
    "helm": r"(?:uninstall|delete|del|un|rollback)\b",
    "helmfile": r"(?:.* )?(?:destroy|delete)\b",
    "kustomize": r"\Z.",
    "kubeadm": r"reset\b",
    "k3s-uninstall.sh": r"",
    "k3d": r"cluster (?:delete|rm)\b",
    "kind": r"delete cluster",
    "minikube": r"delete\b",
    "eksctl": r"(?:delete|drain)\b",
    "kops": r"(?:delete|rolling-update)\b",
    "argocd": r"(?:app delete|proj delete|cluster rm|repo rm)\b",
    "flux": r"(?:uninstall|delete|suspend)\b",
    "istioctl": r"(?:uninstall|x uninstall)\b",
    "velero": r"(?:backup delete|restore create|uninstall)\b",
    "ctr": r"(?:images? (?:rm|remove)|containers? (?:rm|delete))\b",
    "crictl": r"(?:rm|rmi|rmp|stopp)\b",
    "lxc": r"(?:delete|stop)\b",
    "vagrant": r"destroy\b",
    "multipass": r"(?:delete|purge)\b",
    "virsh": r"(?:destroy|undefine|vol-delete|pool-destroy)\b",
    "vboxmanage": r"(?:unregistervm .*--delete|closemedium .*--delete|controlvm .*poweroff)",
    "colima": r"delete\b",
    "limactl": r"(?:delete|rm)\b",
    "lima": r"(?:delete|rm)\b",
    "prlctl": r"(?:delete|unregister)\b",
    "vmrun": r"delete",
    "govc": r"(?:vm\.destroy|datastore\.rm)",
    "incus": r"(?:delete|stop)\b",
    "skaffold": r"delete\b",
    "tilt": r"down\b",
    "nomad": r"(?:job stop|stop|node drain|namespace delete|system gc)\b",
    "rancher": r".*\bdelete\b",
    "oras": r"manifest delete\b",
    "skopeo": r"delete\b",
    "crane": r"delete\b",
    "buildah": r"(?:rm|rmi)\s+(?:-a|--all)",
    "podman": r"(?:system reset|machine rm|pod rm)\b",
    "docker": r"(?:swarm (?:leave|init)|machine rm|buildx rm|plugin (?:rm|install)|trust revoke|context rm)\b",
}  # fmt: skip


@reads(*_TOOLS)
def _cluster_tools(call: Call) -> None:
    text = " ".join(verbs(call, ("-n", "--namespace", "--kube-context", "--profile", "-p")))
    if (
        re.match(_TOOLS[call.name], text)
        or (call.name == "vboxmanage" and re.match(_TOOLS[call.name], " ".join(call.args)))
    ) and "--dry-run" not in call.args:
        act(call, "destroy", "containers.remove", "removes a release, a cluster or a virtual machine")
    elif call.name == "helm" and text.startswith("upgrade") and "--force" in call.args:
        act(call, "destroy", "containers.remove", "deletes and recreates the objects of a release")
