"""This machine: services, users, schedules, firewall, processes, global installs."""

from __future__ import annotations

import re

from fairlead.guard._lazy import lazy
from fairlead.guard.options import options
from fairlead.guard.packs import act, reads
from fairlead.guard.shell.nodes import UNKNOWN, shown

TYPE_CHECKING = False
if TYPE_CHECKING:
    from fairlead.guard.shell.run import Call


@reads("shutdown", "reboot", "halt", "poweroff", "init", "telinit", "logoff")
def _power(call: Call) -> None:
    if call.name in ("init", "telinit") and call.args[:1] not in (["0"], ["1"], ["6"], ["S"]):
        return
    if call.args[:1] in (["--help"], ["--version"]):
        return
    act(call, "system", "system.power", "shuts down or restarts the machine", decision="deny")


@reads("useradd", "userdel", "usermod", "adduser", "deluser", "groupadd", "groupdel", "groupmod", "addgroup",
       "delgroup", "passwd", "chpasswd", "chage", "gpasswd", "visudo",
       "vipw", "chsh", "chfn", "dscl", "sysadminctl", "dseditgroup", "newgrp", "pwconv", "pwunconv", "faillock",
       "pam-auth-update", "realm", "authselect")  # fmt: skip
def _users(call: Call) -> None:
    if call.args[:1] in (["--help"], ["--version"], ["-S"], ["-l"]) or (
        call.name == "dscl" and re.search(r"-?(?:read|list|search)\b", " ".join(call.args))
    ):
        return
    if call.name in ("chfn", "newgrp"):
        return
    act(
        call,
        "system",
        "system.user",
        "changes users, groups or passwords",
        decision="deny" if call.name in ("userdel", "visudo", "chpasswd") else "ask",
    )


@reads("crontab", "at", "batch", "atrm", "anacron", "systemd-run", "schtasks")
def _schedule(call: Call) -> None:
    if call.name == "crontab" and options(call.args, short="u").has("l"):
        return
    if call.name == "at" and options(call.args, short="fqtc").has("l", "V"):
        return
    if call.name == "schtasks" and re.search(r"/query", " ".join(call.args), re.IGNORECASE):
        return
    if call.name == "systemd-run" and not re.search(r"--on-|--timer|--unit", " ".join(call.args)):
        return
    removes = call.name == "crontab" and options(call.args, short="u").has("r")
    act(
        call,
        "system",
        "system.schedule",
        "removes every scheduled job" if removes else "changes what this machine runs later on its own",
        decision="deny" if removes else "ask",
    )


@reads("iptables", "ip6tables", "nft", "ufw", "firewall-cmd", "pfctl", "ipset", "ebtables", "netsh",
       "iptables-restore", "shorewall", "csf", "fail2ban-client", "socketfilterfw",
       "spctl", "csrutil", "setenforce", "aa-disable", "aa-teardown", "apparmor_parser", "semanage", "auditctl",
       "nvram", "tccutil")  # fmt: skip
def _firewall(call: Call) -> None:
    text = " ".join(call.args)
    if re.search(
        r"(?:\A|\s)(?:-L|-S|--list(?:-\w+)?|list|status|show|--state|--get-\S+|-s \w+|info|query|-l|-sr|-sn|--status"
        r"|-p)(?:\s|\Z)",
        text,
    ) and not re.search(r"-F|flush|-D|-X", text):
        return
    if call.args[:1] in (["--version"], ["--help"], ["-h"]) or (not call.args and call.name != "iptables-restore"):
        return
    act(
        call,
        "system",
        "system.firewall",
        "changes the firewall or the protection of this machine",
        decision="deny" if re.search(r"-F|flush|disable|--panic|-d\b|setenforce|0\Z|off", text) else "ask",
    )


@reads(
    "ifconfig",
    "ip",
    "route",
    "nmcli",
    "networksetup",
    "resolvectl",
    "hostnamectl",
    "timedatectl",
    "localectl",
    "scutil",
    "brctl",
    "tc",
    "ethtool",
    "wg",
    "wg-quick",
    "iwconfig",
    "arp",
    "dhclient",
)
def _networking(call: Call) -> None:
    text = " ".join(call.args)
    if re.search(
        r"\b(?:add|del|delete|flush|down|set|up|change|replace|-set\w*|set-\S+|modify|disconnect|delete|release|-r"
        r"|append|netem|disable)\b",
        text,
    ) and not re.search(r"\bshow\b", text):
        act(call, "system", "system.network", "changes the network or the identity of this machine")
    elif call.name == "networksetup" and "-set" in text:
        act(call, "system", "system.network", "changes the network of this machine")


@reads("modprobe", "rmmod", "insmod", "depmod", "sysctl", "kexec", "grub-install", "update-grub", "grub-mkconfig",
       "efibootmgr", "dkms", "bless", "bcdedit", "dpkg-reconfigure", "update-initramfs", "kextload",
       "kextunload", "mkinitcpio", "dracut", "ldconfig", "update-alternatives", "alternatives", "swapoff",
       "echo-sysrq", "fwupdmgr", "flashrom")  # fmt: skip
def _kernel(call: Call) -> None:
    if call.name == "sysctl" and not (
        options(call.args).has("w", "p", "write", "load") or any("=" in a for a in call.args)
    ):
        return
    if (call.name == "ldconfig" and "-p" in call.args) or call.args[:1] in (
        ["--list"],
        ["--display"],
        ["--version"],
        ["-v"],
        ["status"],
        ["get-updates"],
        ["get-devices"],
    ):
        return
    if call.name == "efibootmgr" and not call.args:
        return
    act(call, "system", "system.kernel", "changes the kernel, the boot or the base of this machine")


@reads(
    "defaults",
    "dconf",
    "gsettings",
    "reg",
    "regedit",
    "plutil",
    "launchctl",
    "pmset",
    "systemsetup",
    "tmutil",
    "diskutil",
    "osascript",
    "xattr",
    "sqlite3-tcc",
    "vssadmin",
    "wbadmin",
    "wevtutil",
    "cipher",
    "fsutil",
    "bootrec",
)
def _preferences(call: Call) -> None:
    text = " ".join([*call.args, (call.stdin.text or "")[:5000]]).lower()
    if call.name in ("vssadmin", "wbadmin", "wevtutil", "cipher", "bootrec") and re.search(
        r"delete|cl |/w|clear-log|/fix", text
    ):
        act(call, "destroy", "system.destroy-recovery", "destroys backups, logs or recovery data", decision="deny")
    elif call.name == "tmutil" and re.search(r"delete|disable", text):
        act(call, "destroy", "system.destroy-recovery", "destroys backups")
    elif call.name == "osascript" and re.search(
        r"shut down|restart|log out|sleep\b|make (?:new )?login item|delete every|empty (?:the )?trash"
        r"|do script|keystroke|hidden answer",
        text,
    ):
        act(call, "system", "system.preferences", "makes other programs of this machine act")
    elif call.name in ("defaults", "dconf", "gsettings", "reg", "pmset", "systemsetup", "regedit") and re.search(
        r"\b(?:write|delete|reset|set|add|import|load|-set\w*)\b", text
    ):
        act(call, "system", "system.preferences", "changes preferences of this machine")


@reads("journalctl", "logrotate", "dmesg", "wtmp", "utmpdump", "auditctl")
def _logs(call: Call) -> None:
    text = " ".join(call.args)
    patterns = {"journalctl": r"--vacuum", "dmesg": r"(?:\A|\s)-[Cc](?:\s|\Z)|--clear", "auditctl": r"-D|-e 0"}
    if call.name in patterns and re.search(patterns[call.name], text):
        act(call, "system", "system.history-wiped", "removes records of what happened on this machine")


@reads("touch")
def _false_date(call: Call) -> None:
    reference = options(call.args, short="rdt", long=("reference", "date")).value("r", "reference")
    if re.match(r"/(?:usr/|s?bin/|etc/|lib)", reference):
        act(call, "system", "system.history-wiped", "gives a file the date of a program of the system")


@reads(
    "gdb", "strace", "ltrace", "dtrace", "lldb", "ptrace", "gcore", "procdump", "frida", "dtruss", "bpftrace", "perf"
)
def _debuggers(call: Call) -> None:
    opts = options(call.args, short="peoF", posix=False)
    if call.name == "gdb" and not call.privileged and _only_looks(call):
        return
    if (opts.has("p", "pid", "attach-pid") and call.name != "perf") or call.name in ("gcore", "procdump", "frida"):
        act(call, "system", "system.attach", "looks into or changes another running process")


def _only_looks(call: Call) -> bool:
    """``gdb -batch -ex bt``: every command of it prints a state."""
    commands = [call.args[index + 1] for index, arg in enumerate(call.args[:-1]) if arg in ("-ex", "-eval-command")]
    return bool(commands) and all(
        re.match(r"(?:bt|backtrace|info|thread|where|quit|detach|py-bt|set pagination)\b", text) for text in commands
    )


_TRUSTING = {"NODE_TLS_REJECT_UNAUTHORIZED": "0", "GIT_SSL_NO_VERIFY": "1", "PYTHONHTTPSVERIFY": "0"}
_LOADERS = (
    "LD_PRELOAD",
    "LD_LIBRARY_PATH_OVERRIDE",
    "DYLD_INSERT_LIBRARIES",
    "LD_AUDIT",
    "PERL5OPT",
    "RUBYOPT",
    "PYTHONSTARTUP",
    "PROMPT_COMMAND",
)


def _misplaced_trust(call: Call) -> None:
    """Places and servers that programs are told to trust."""
    first = call.env.get("PATH", "").partition(":")[0]
    if re.match(r"/(?:tmp|var/tmp|dev/shm)(?:/|\Z)(?!.*/bin\Z)", first):
        act(call, "run", "system.preload", f"lets programs from {shown(first)} stand in for those of the system (PATH)")
    for name, value in _TRUSTING.items():
        if call.env.get(name) == value:
            act(call, "settings", "network.no-verification", f"makes programs trust any server ({name})")


def environment(call: Call) -> None:
    """A program started with someone else's code in it."""
    for name in _LOADERS:
        value = call.env.get(name)
        if value and not re.search(
            r"(?:jemalloc|tcmalloc|mimalloc|asan|libfaketime|eatmydata|vcredist|nosystemd)", value
        ):
            act(call, "run", "system.preload", f"loads {shown(value)} into the program it starts ({name})")
    for name in ("PS1", "PS4", "PROMPT_COMMAND", "GIT_PAGER", "LESSEDIT"):
        if "$(" in call.env.get(name, "") or "`" in call.env.get(name, ""):
            call.shell.child().run_text(f'echo "{call.env[name]}"')
    for name in ("PAGER", "MANPAGER", "EDITOR", "VISUAL", "BROWSER", "LESSOPEN", "SUDO_ASKPASS", "SSH_ASKPASS"):
        if call.env.get(name, "") and " " in call.env[name]:
            call.shell.child().run_text(call.env[name])
    _misplaced_trust(call)
    node = call.env.get("NODE_OPTIONS", "")
    if re.search(r"--(?:require|import|loader|experimental-loader)[= ](?:/tmp|https?:|data:|\S*evil)", node) or (
        UNKNOWN in node and "--require" in node
    ):
        act(call, "run", "system.preload", "loads other code into node (NODE_OPTIONS)")


@reads("export", "declare", "typeset")
def _exports(call: Call) -> None:
    call.env.update(arg.partition("=")[::2] for arg in call.args if "=" in arg)
    environment(call)


@reads("nvidia-smi", "rfkill", "hwclock", "chvt", "setterm")
def _hardware(call: Call) -> None:
    if call.name == "nvidia-smi" and re.search(r"--gpu-reset|-r\b|-pl|-pm", " ".join(call.args)):
        act(call, "system", "system.kernel", "changes the state of the graphics hardware")
    if call.name == "hwclock" and {"--set", "-w", "--systohc", "-s", "--hctosys"} & set(call.args):
        act(call, "system", "system.clock", "sets the clock")


@reads(
    "screencapture",
    "scrot",
    "import",
    "gnome-screenshot",
    "xdotool",
    "ffmpeg",
    "arecord",
    "fswebcam",
    "imagesnap",
    "cliclick",
    "xinput",
    "logkeys",
)
def _sensors(call: Call) -> None:
    if call.name == "ffmpeg" and not re.search(
        r"-f (?:avfoundation|x11grab|v4l2|alsa|pulse|gdigrab|dshow)", " ".join(call.args)
    ):
        return
    if call.name == "import" and "-window" not in call.args:
        return
    act(call, "system", "system.spy", "records the screen, the camera, the microphone or the keyboard")


_ESCAPE_CAPABLE = (
    "apt apt-get aspell busctl gdb c89 c99 gcc g++ cc clang dmsetup facter ftp gem ghci hping3 iftop irb jjs "
    "jrunscript jshell "
    "knife mtr nroff openvpn perlbug pry puppet run-mailcap run-parts rvim rview slsh tdbtool tex latex pdflatex "
    "xelatex xetex "
    "lualatex pdftex tmate wish wget yum dnf zathura zypper check_by_ssh cobc cpan gimp gtester ipython byebug "
    "ansible-console "
    "nawk tclsh wireshark tshark pip easy_install npm yarn bundle composer crash dvips eqn ex genie ginsh gnuplot hg "
    "ispell "
    "joe ksshell last-mail lftp lualatex msgfilter mail mailx mysql nano neofetch octave pdb pkg pic posh rpm "
    "rpmquery rpmverify "
    "rsync scp sftp snap split sqlite3 ssh-keygen ssh-keyscan sshpass svn tasksh tcpdump unshare w3m xdotool zsoelim "
    "systemctl zip"
).split()
_SHELL_INSIDE = lazy(
    r"(?:\A|[\s:=,!;({\"'`|@\[])(?:exec |!)?(?:/\S*/)(?:ba|da|z|k|tc|c|a)?sh(?=[\s,;)}\"'`\]]|\Z)|!\s*(?:ba)?sh\b"
    r"|write18"
)


@reads(*_ESCAPE_CAPABLE)
def _escapes(call: Call) -> None:
    """An option, script or expression that makes a program open a shell."""
    if any(_SHELL_INSIDE.search(arg) for arg in call.args) or "--shell-escape" in call.args:
        act(call, "run", "system.shell-escape", "makes the program start a shell", "run the commands directly")


def bare_escape(call: Call) -> None:
    """The same for programs that nobody here knows: a shell as one of their words."""
    if any(" " not in arg and _SHELL_INSIDE.search(arg) for arg in call.args):
        act(call, "run", "system.shell-escape", "makes the program start a shell", "run the commands directly")
