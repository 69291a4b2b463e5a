"""Services of this machine: starting, stopping, and for good."""

from __future__ import annotations

import re

from fairlead.guard._lazy import lazy
from fairlead.guard.packs import act, reads, verbs

TYPE_CHECKING = False
if TYPE_CHECKING:
    from fairlead.guard.shell.run import Call


@reads(
    "systemctl",
    "service",
    "launchctl",
    "rc-service",
    "rc-update",
    "sv",
    "initctl",
    "update-rc.d",
    "chkconfig",
    "sc",
    "sc.exe",
    "net",
    "supervisorctl",
    "pm2",
    "brew",
)
def _services(call: Call) -> None:
    words = verbs(call, ("-H", "-M", "-t", "--type", "-u", "-p"))
    text = " ".join(words)
    if call.name == "brew":
        if re.match(r"services (?:stop|kill)", text) or (text.startswith("services ") and "--all" in call.args):
            act(call, "system", "system.service", "starts or stops a service of this machine")
        return
    if call.name in ("supervisorctl", "pm2"):
        if re.match(r"(?:shutdown|kill|delete all|stop all)", text):
            act(call, "system", "system.service", "stops every managed process")
        return
    if call.name == "net":
        if re.match(r"(?:user|localgroup|stop|start|share|accounts)\b", text.lower()):
            act(call, "system", "system.user", "changes users, groups or services")
        return
    verb = next((w for w in words if re.match(_SERVICE_VERBS, w)), "")
    if (
        call.name == "systemctl"
        and "--user" in call.args
        and verb in ("start", "stop", "restart", "reload", "daemon-reload")
    ):
        return
    if verb in ("start", "restart", "reload", "force-reload") and _everyday(call, words):
        return
    if verb:
        hard = re.match(
            r"(?:poweroff|halt|reboot|mask|disable|rescue|emergency|isolate|kexec|suspend|hibernate|delete|bootout)",
            verb,
        )
        act(
            call,
            "system",
            "system.service",
            f"changes a service of this machine ({verb})",
            decision="deny" if hard and verb in ("poweroff", "halt", "reboot", "rescue", "emergency") else "ask",
        )


# Without these the machine is not reached, not watched, or loses what runs on it.
_NEEDED_SERVICE = lazy(
    r"(?:sshd?|network\S*|firewalld?|ufw|iptables|nftables|auditd|rsyslog\S*|syslog\S*|systemd\S*|dbus\S*|docker|containerd"
    r"|kubelet|k3s|crond?|polkit\S*|gdm\d?|lightdm|sddm|display-manager|getty\S*|falco\S*|osqueryd|crowdstrike\S*|fail2ban"
    r"|apparmor|selinux\S*|libvirtd|lvm\S*|multipathd?|wpa_supplicant|tailscaled|open?vpn\S*|wg-quick\S*|\S*\.(?:target"
    r"|mount|slice|scope|timer|socket))(?:\.service)?\Z"
)
_SERVICE_NAME = lazy(r"[\w.@-]+\Z")


def _everyday(call: Call, words: list[str]) -> bool:
    """``restart nginx`` on the developer's own machine; it comes back by itself."""
    names = [word for word in words if not re.match(_SERVICE_VERBS, word)]
    known = bool(names) and all(_SERVICE_NAME.match(name) and not _NEEDED_SERVICE.match(name) for name in names)
    return call.name in ("systemctl", "service", "rc-service") and not call.shell.place and known


_SERVICE_VERBS = (
    r"(?:start|stop|restart|reload|enable|disable|mask|unmask|kill|isolate|edit|set-default|daemon-reload"
    r"|daemon-reexec|poweroff|halt|reboot|rescue|emergency|suspend|"
    r"hibernate|revert|link|preset|load|unload|bootstrap|bootout|kickstart|remove|submit|setenv|delete|create|config"
    r"|force-reload|set-property|import-environment|set-environment|add|del|defaults|on|off)\Z"
)
