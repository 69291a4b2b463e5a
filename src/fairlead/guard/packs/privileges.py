"""Programs with other rights than the user's, or in disguise."""

from __future__ import annotations

import re

from fairlead.guard._lazy import lazy
from fairlead.guard.options import options
from fairlead.guard.packs import act, reads
from fairlead.guard.packs.secret_files import is_secret
from fairlead.guard.paths import join
from fairlead.guard.shell.nodes import shown

TYPE_CHECKING = False
if TYPE_CHECKING:
    from fairlead.guard.shell.run import Call

# What these do with root rights is judged by what they do, or is only looking.
_FAMILIAR = frozenset(
    "apt apt-get apt-cache aptitude dnf yum zypper pacman apk dpkg rpm snap flatpak port brew ls cat tail "
    "head grep egrep "
    "zgrep wc stat file du df find locate updatedb lsof ss netstat ps pgrep top htop iotop iftop nethogs "
    "free uptime vmstat "
    "iostat lsblk blkid lspci lsusb lscpu lshw lsmod dmidecode dmesg journalctl systemctl service loginctl hostnamectl "
    "timedatectl docker docker-compose podman nerdctl kubectl nginx apachectl apache2ctl httpd haproxy "
    "postconf sshd ufw "
    "iptables ip6tables nft firewall-cmd ip ifconfig route ethtool ping traceroute mtr dig id whoami true "
    "echo printf test "
    "[ which type mkdir touch cp mv rm rmdir ln chmod chown chgrp tee sed truncate kill pkill killall "
    "renice mount umount "
    "smartctl sensors fdisk parted lvs vgs pvs swapon sysctl getent last lastlog who w crontab certbot "
    "sha256sum md5sum "
    "tree xattr pmset softwareupdate purge dscacheutil mdutil launchctl killall spctl modprobe readlink "
    "realpath pwd date "
    "sync fstrim ldconfig update-ca-certificates useradd usermod userdel passwd chpasswd visudo reboot "
    "shutdown halt poweroff "
    "dd mkfs shred wipefs nano vi vim emacs less more rsync tar unzip gzip curl wget cd export "
    "supervisorctl nvidia-smi tcpdump usbreset dpkg-query apt-mark".split()
)
# These open a shell or write anywhere from inside; with root rights that is the whole machine.
_OPENS_ANYTHING = frozenset("less more man vi vim view nano emacs ed ex nvim pico journalctl git".split())
_SHORT_OUTPUT = lazy(r"--no-pager|-n\b|-n\d|--lines|-k\b|-f\b|--since|-u\b|--follow|-b\b|-e\b|--vacuum|-p\b|-x")
_QUIET_FLAGS = frozenset({"v", "k", "K", "l", "V", "validate", "list", "help", "version", "reset-timestamp"})
_VALUES = ("user", "group", "host", "prompt", "chdir", "chroot", "role", "type", "close-from", "other-user")


@reads("sudo", "doas", "pkexec", "run0", "gsudo", "sudoedit")
def _privileged(call: Call) -> None:
    """What a person would read closely before giving it root rights."""
    opts = options(call.args, short="ACDghpRrTtUu", posix=True, long=_VALUES)
    words = [word for word in opts.operands if not re.match(r"[A-Za-z_]\w*=", word)]
    user = opts.value("u", "user")
    if call.name == "sudoedit" or (not words and not any(opts.has(flag) for flag in _QUIET_FLAGS) and call.args):
        act(call, "system", "system.privileged", "edits files or opens a shell with root rights")
    if not words or (user and user not in ("root", "#0", "0")):
        return
    name = words[0].rpartition("/")[2]
    _protected(call, words[1:])
    if name in _OPENS_ANYTHING and not (name == "journalctl" and _SHORT_OUTPUT.search(" ".join(words))):
        act(
            call,
            "system",
            "system.privileged",
            f"opens {shown(name)} with root rights, from which anything can be started",
        )
    elif name == "dmesg" and {"-H", "--human"} & set(words):
        act(call, "system", "system.privileged", "opens a pager with root rights, from which anything can be started")
    elif name not in _FAMILIAR and not {"--help", "--version", "-V", "--help-all"} & set(words[1:]):
        act(call, "system", "system.privileged", f"runs {shown(words[0])} with root rights", "run it without sudo")


_PLAIN_LOOKS = frozenset({"ls", "stat", "chmod", "chown", "test", "rm", "mkdir", "touch", "ln", "mv"})


def _protected(call: Call, args: list[str]) -> None:
    """With root rights any option that takes a file can show one that nobody may read."""
    if call.args and any(arg.rpartition("/")[2] in _PLAIN_LOOKS for arg in call.args[:2]):
        return
    for arg in args:
        path = re.sub(r"\A(?:-{1,2}[\w-]*=?|[\w-]+=|@|file://)*(?=/)", "", arg)
        if path.startswith("/") and is_secret(join("/", path)):
            call.shell.effect("read", call.words, path=join("/", path))


@reads(
    "systemctl",
    "timedatectl",
    "hostnamectl",
    "loginctl",
    "localectl",
    "ip",
    "snap",
    "certbot",
    "arp",
    "date",
    "ss",
    "apt-get",
    "apt",
)
def _files_and_pagers(call: Call) -> None:
    """Options of familiar programs that start others or show a file line by line."""
    text = " ".join(call.args)
    if re.search(
        r"netns exec \S+ \S*sh\b|--(?:pre|post|deploy|renew)-hook|--dangerous\b|Pre-Invoke|Post-Invoke|-batch\b", text
    ):
        act(call, "run", "system.shell-escape", "makes the program start another one", "run the commands directly")


_HIDDEN = lazy(r"(?:/tmp|/var/tmp|/dev/shm|/run/user/\d+)/(?:[^/]+/)*\.[^/.][^/]*\Z|/dev/shm/\S+\Z")


def hidden_program(call: Call) -> None:
    """A program that lies where nobody looks."""
    if _HIDDEN.match(call.program):
        act(call, "run", "system.hidden-program", "starts a program from a hidden place", "run it from the project")


@reads("exec")
def _disguised(call: Call) -> None:
    name = options(call.args, short="a", posix=True).value("a")
    if name:
        act(call, "run", "system.hidden-program", f"starts a program under another name ({shown(name)})")


@reads("busybox", "toybox")
def _applets(call: Call) -> None:
    if call.args[:1] and call.args[0] in ("telnetd", "ftpd", "inetd", "tftpd", "tcpsvd", "udpsvd"):
        act(call, "connect", "network.reverse-shell", "opens this machine to others", decision="deny")


@reads(
    *(
        "chroot service nsenter unshare capsh setcap setpriv debugfs mount mokutil aa-teardown utmpdump "
        "logrotate do-release-upgrade timeshift update-passwd newuidmap grubby snapper borg restic duplicity "
        "kopia rdiff-backup"
    ).split()
)
def _deep(call: Call) -> None:
    for pattern, reason in _DEEP.get(call.name, ()):
        if re.search(pattern, " ".join(call.args)):
            act(call, "system", "system.deep-change", reason)
            return


_BACKUP_LOSS = (
    (r"\b(?:delete|forget|prune|remove-older-than|remove-all\S*|maintenance)\b|--delete", "removes backups"),
)
_DEEP: dict[str, tuple[tuple[str, str], ...]] = {
    "service": ((r"\.\./|/bin/", "starts another program as a service"),),
    "chroot": ((r"(?:\A|\s)/(?:host|mnt|proc/1/root)?/?(?:\s|\Z)", "leaves the container for the machine"),),
    "nsenter": ((r".", "enters another process' view of the machine"),),
    "capsh": ((r"--(?:gid|uid)=0|-- ", "changes the rights of the process"),),
    "setcap": ((r".", "gives a program rights of root"),),
    "debugfs": ((r".", "reads or writes a disk past its file system"),),
    "mount": (
        (
            r"\s/(?:home|etc|usr|var|root|boot|lib|bin|opt)?/?\Z|--bind|-o\s*\S*(?:remount|bind)",
            "mounts over a part of the system",
        ),
    ),
    "mokutil": ((r"--(?:disable|import|delete|reset|revoke)", "changes which code the machine trusts"),),
    "aa-teardown": ((r"", "switches the protection of programs off"),),
    "utmpdump": ((r"-r\b|-o\b|--reverse|--output", "rewrites the record of logins"),),
    "logrotate": ((r"-l\b|--log|-f\b|--force", "rewrites log files"),),
    "do-release-upgrade": ((r"", "replaces the operating system"),),
    "timeshift": ((r"--delete|--restore", "removes or restores snapshots of the machine"),),
    "snapper": ((r"\b(?:delete|undochange|rollback)\b", "removes or restores snapshots of the machine"),),
    "borg": ((r"\b(?:delete|prune)\b", "removes backups"),),
    "restic": _BACKUP_LOSS,
    "kopia": _BACKUP_LOSS,
    "duplicity": _BACKUP_LOSS,
    "rdiff-backup": _BACKUP_LOSS,
}


@reads("nmcli", "resolvectl", "systemd-resolve", "rfkill", "ifdown", "airport", "wpa_cli")
def _offline(call: Call) -> None:
    text = " ".join(call.args)
    if (
        re.search(r"\b(?:networking off|radio \S+ off|dns \S+ \S+|domain \S+ \S+|block|terminate|--set-dns\S*)\b", text)
        or call.name == "ifdown"
    ):
        act(call, "system", "system.network", "changes the network of this machine")
