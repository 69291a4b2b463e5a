"""Reading PowerShell: cmdlets and their aliases become the programs that the guard knows."""

from __future__ import annotations

import base64
import binascii
import re

from fairlead.guard._lazy import lazy
from fairlead.guard.effects import OPAQUE, Stream
from fairlead.guard.packs import act
from fairlead.guard.paths import join
from fairlead.guard.programs import program
from fairlead.guard.shell.nodes import STAR, UNKNOWN

TYPE_CHECKING = False
if TYPE_CHECKING:
    from fairlead.guard.shell.run import Call, Shell

_TOKEN = lazy(r"'((?:[^']|'')*)'|\"((?:[^\"`]|`.|\"\")*)\"|([;|&\n{}()]+)|(#[^\n]*)|([^\s;|&'\"{}()]+)", re.DOTALL)
_NAMES = {
    "remove-item": "rm",
    "ri": "rm",
    "rm": "rm",
    "del": "rm",
    "erase": "rm",
    "rmdir": "rm",
    "rd": "rm",
    "move-item": "mv",
    "mi": "mv",
    "mv": "mv",
    "copy-item": "cp",
    "cpi": "cp",
    "cp": "cp",
    "copy": "cp",
    "get-content": "cat",
    "gc": "cat",
    "cat": "cat",
    "type": "cat",
    "set-content": "tee",
    "sc": "tee",
    "out-file": "tee",
    "add-content": "tee -a",
    "clear-content": "truncate -s 0",
    "set-location": "cd",
    "cd": "cd",
    "sl": "cd",
    "push-location": "cd",
    "invoke-webrequest": "wget -O -",
    "iwr": "wget -O -",
    "invoke-restmethod": "wget -O -",
    "irm": "wget -O -",
    "curl": "curl",
    "wget": "wget -O -",
    "stop-process": "kill",
    "kill": "kill",
    "stop-computer": "shutdown",
    "restart-computer": "reboot",
    "new-item": "touch",
    "ni": "touch",
    "write-output": "echo",
    "write-host": "echo",
    "echo": "echo",
    "get-childitem": "ls",
    "gci": "ls",
    "ls": "ls",
    "dir": "ls",
    "select-string": "grep",
    "sls": "grep",
    "stop-service": "systemctl stop",
    "start-service": "systemctl start",
    "set-service": "systemctl edit",
    "new-localuser": "useradd",
    "remove-localuser": "userdel",
    "add-localgroupmember": "usermod",
    "format-volume": "mkfs x",
    "clear-disk": "mkfs x",
    "initialize-disk": "mkfs x",
    "remove-partition": "mkfs x",
    "clear-recyclebin": "trash-empty",
    "register-scheduledtask": "crontab x",
    "get-process": "pgrep",
    "gps": "pgrep",
    "tee-object": "tee",
    "rename-item": "mv",
    "rni": "mv",
    "restart-service": "systemctl restart",
    "remove-service": "systemctl disable",
    "new-service": "systemctl enable",
    "disable-netadapter": "ip link set down",
    "remove-computer": "reboot",
    "compress-archive": "cp",
    "start-bitstransfer": "wget -O -",
    "unregister-scheduledtask": "crontab x",
    "set-localuser": "usermod x",
    "set-netfirewallrule": "ufw allow x",
    "new-netfirewallrule": "ufw allow x",
    "disable-netfirewallrule": "ufw disable",
    "set-acl": "icacls x",
    "out-null": "true",
}
_FETCHES = lazy(
    r"Download(?:String|File|Data)|Net\.WebClient|\biwr\b|\birm\b|Invoke-(?:WebRequest|RestMethod)|Start-BitsTransfer|HttpClient|\bcurl\b|\bwget\b",
    re.IGNORECASE,
)
_RUNS = lazy(
    r"\biex\b|Invoke-Expression|Start-Process|\bsaps\b|Invoke-Command|\[scriptblock\]::Create|-EncodedCommand|Add-Type|Reflection\.Assembly",
    re.IGNORECASE,
)
_CMDLET = lazy(
    r"(?:\A|[|;]\s*)(?:(?:Get|Set|Remove|Invoke|New|Stop|Start|Restart|Add|Clear|Format|Disable|Enable|Register|Unregister|Import|Export"
    r"|Copy|Move|Out|Write|Uninstall|Install|Rename|Send|Expand|Compress|Suspend|Reset|Initialize|Dismount|Mount|Unblock|Select|Grant)"
    r"-[A-Z][A-Za-z]+|iex\b|iwr\b|irm\b|\$env:|\$\w+\s*=\s*(?:New-Object|\[|Get-))"
)
_SWITCHES = {"-recurse": "-r", "-r": "-r", "-force": "-f"}
_VALUE_OPTIONS = frozenset(
    {
        "-path",
        "-literalpath",
        "-destination",
        "-value",
        "-name",
        "-uri",
        "-outfile",
        "-filter",
        "-include",
        "-exclude",
        "-id",
        "-pattern",
    }
)


def is_cmdlet(name: str) -> bool:
    """Say whether a program's name is a cmdlet that is known here."""
    return name in _NAMES or name in _ACTS


def looks_like(text: str) -> bool:
    """Say whether a command that was given to a shell is written for PowerShell."""
    return _CMDLET.search(text) is not None


def run(shell: Shell, text: str) -> Stream:
    """Read PowerShell text statement by statement."""
    shell.record.steps.append("reads PowerShell")
    if _FETCHES.search(text) and _RUNS.search(text):
        shell.effect("run", text[:200], host=UNKNOWN, note="network")
    stdin = Stream("")
    for statement in _statements(text):
        piped, words = statement
        stdin = _statement(shell, words, stdin if piped else Stream(""))
    return stdin


def _statements(text: str) -> list[tuple[bool, list[str]]]:
    found: list[tuple[bool, list[str]]] = []
    words: list[str] = []
    piped = False
    for match in _TOKEN.finditer(text):
        single, double, separator, comment, bare = match.groups()
        if separator is not None:
            if words:
                found.append((piped, words))
            words, piped = [], "|" in separator and "||" not in separator
        elif comment is None:
            words.append(_word(single, double, bare))
    if words:
        found.append((piped, words))
    return found


def _word(single: str | None, double: str | None, bare: str | None) -> str:
    if single is not None:
        return single.replace("''", "'")
    value = double if double is not None else bare or ""
    value = re.sub(r"\$(?:env:)?(?:HOME|USERPROFILE)\b", "~", value, flags=re.IGNORECASE)
    value = re.sub(r"\$env:(?:TEMP|TMP)\b", "/tmp", value, flags=re.IGNORECASE)  # noqa: S108  where it leads to
    value = re.sub(r"\$(?:_|PSItem)\b", "it", value)
    value = re.sub(r"\$PROFILE\b(?:\.\w+)?", "~/.config/powershell/profile.ps1", value, flags=re.IGNORECASE)
    value = re.sub(r"\$[\w:]+|\$\{[^}]*\}", UNKNOWN, value)
    return re.sub(r"`(.)", r"\1", value) if double is not None else value.replace("*", STAR)


def _statement(shell: Shell, words: list[str], stdin: Stream) -> Stream:
    while words and words[0].lower() in (
        "if",
        "else",
        "foreach",
        "for",
        "while",
        "try",
        "catch",
        "finally",
        "return",
        ".",
        "&",
        "=",
    ):
        words = words[1:]
    if len(words) > 2 and words[1] == "=":
        words = words[2:]
    if not words:
        return OPAQUE
    name = words[0].lower()
    if name in ("iex", "invoke-expression"):
        return _expression(shell, words[1:], stdin)
    if name in ("get-childitem", "gci", "ls", "dir", "get-item") and any(
        word.lower().startswith("env:") for word in words[1:]
    ):
        shell.effect("secret", " ".join(words), note="environment")
        return Stream(None, origin="environment")
    if stdin.origin == "environment" and name in ("invoke-restmethod", "irm", "invoke-webrequest", "iwr"):
        shell.effect("upload", " ".join(words), host=UNKNOWN, note="environment")
    argv = [*_NAMES.get(name, words[0]).split(), *_arguments(words[1:], known=name in _NAMES)]
    if name in _TAKES_INPUT and stdin.text and not [word for word in argv[1:] if not word.startswith("-")]:
        argv += stdin.text.split()
    _sends(shell, words)
    from fairlead.guard.shell.run import Call

    call = Call(argv, shell, stdin=stdin)
    _cmdlet(call, name)
    if name not in _NAMES and "-" in name:
        return stdin.through()
    return shell.call(call)


# Without a name they act on what the pipe brings.
_TAKES_INPUT = frozenset({"remove-item", "ri", "rm", "del", "move-item", "clear-content", "stop-process", "kill"})


def _sends(shell: Shell, words: list[str]) -> None:
    """``-InFile`` and ``-Body`` of a web request."""
    for index, word in enumerate(words[:-1]):
        if word.lower() in ("-infile", "-body") and words[0].lower() in (
            "invoke-webrequest",
            "iwr",
            "invoke-restmethod",
            "irm",
        ):
            path = join(shell.cwd, re.sub(r"\A~(?=/|\Z)", shell.home, words[index + 1].replace("\\", "/")))
            shell.effect("upload", " ".join(words), path=path, host=UNKNOWN, note="file")


def _arguments(words: list[str], *, known: bool) -> list[str]:
    if not known:
        return words
    found: list[str] = []
    for word in words:
        lower = word.lower()
        if lower in _SWITCHES:
            found.append(_SWITCHES[lower])
        elif lower in _VALUE_OPTIONS or (word.startswith("-") and word[1:2].isalpha()):
            continue
        else:
            found += [part.replace("\\", "/") for part in word.split(",") if part]
    return found


def _expression(shell: Shell, words: list[str], stdin: Stream) -> Stream:
    from fairlead.guard.programs.builtins import unknown_program
    from fairlead.guard.shell.run import Call

    call = Call(["iex", *words], shell, stdin=stdin)
    text = " ".join(words) or stdin.text or ""
    if stdin.hosts or re.search(r"DownloadString|Net\.WebClient|iwr|irm|Invoke-WebRequest", text, re.IGNORECASE):
        shell.effect("run", call.words, host=(stdin.hosts or (UNKNOWN,))[0], note="network")
    elif not text or UNKNOWN in text:
        unknown_program(call, stdin)
    else:
        run(shell, text)
    return OPAQUE


_ACTS = frozenset(
    "add-mppreference clear-eventlog convertfrom-securestring disable-computerrestore "
    "disable-windowsoptionalfeature get-credential invoke-expression new-itemproperty remove-adcomputer "
    "remove-aduser remove-appxpackage remove-azresourcegroup remove-azvm remove-eventlog "
    "remove-itemproperty remove-mailbox remove-vm set-executionpolicy set-itemproperty set-mppreference "
    "set-netfirewallprofile".split()
)


def _cmdlet(call: Call, name: str) -> None:
    text = " ".join(call.args).lower()
    if name == "set-executionpolicy":
        act(call, "system", "system.execution-policy", "lets unsigned scripts run on this machine")
    elif name in ("set-mppreference", "add-mppreference") or name == "set-netfirewallprofile":
        act(call, "system", "system.firewall", "weakens the protection of this machine", decision="deny")
    elif name in ("set-itemproperty", "new-itemproperty", "remove-itemproperty") and re.search(r"hk(?:lm|cu)", text):
        act(call, "system", "system.preferences", "changes the registry")
    elif name in (
        "disable-computerrestore",
        "clear-eventlog",
        "remove-eventlog",
        "disable-windowsoptionalfeature",
        "remove-appxpackage",
    ):
        act(call, "destroy", "system.destroy-recovery", "destroys logs or recovery data", decision="deny")
    elif name in (
        "remove-vm",
        "remove-azresourcegroup",
        "remove-azvm",
        "remove-aduser",
        "remove-adcomputer",
        "remove-mailbox",
    ):
        act(call, "destroy", "cloud.destroy", "destroys something that others use", decision="deny")
    elif name in ("get-credential", "convertfrom-securestring"):
        act(call, "secret", "secrets.show", "shows stored credentials")


_SETTINGS = frozenset(
    {"-executionpolicy", "-ep", "-ex", "-exec", "-windowstyle", "-w", "-version", "-inputformat", "-outputformat"}
)


def _without_settings(args: list[str]) -> list[str]:
    """Leave out options of PowerShell itself whose value could be taken for a script."""
    kept: list[str] = []
    skip = False
    for arg in args:
        if skip:
            skip = False
        elif arg.lower() in _SETTINGS:
            skip = True
        else:
            kept.append(arg)
    return kept


@program("powershell", "pwsh")
def powershell(call: Call) -> Stream:
    args = _without_settings(call.args)
    for index, arg in enumerate(args):
        lower = arg.lower()
        rest = " ".join(args[index + 1 :])
        if re.match(r"-(?:c|co\w*)\Z", lower):
            return run(call.shell.child(), rest)
        if re.match(r"-(?:e|ec|en\w*)\Z", lower):
            return _encoded(call, rest)
        if lower in ("-file", "-f") or not arg.startswith("-"):
            return (
                OPAQUE
                if not arg.startswith("-") and " " not in arg
                else run(call.shell.child(), " ".join(args[index:]))
                if " " in arg
                else OPAQUE
            )
    if call.stdin.text:
        run(call.shell.child(), call.stdin.text)
    elif call.stdin.hosts:
        call.shell.effect("run", call.words, host=call.stdin.hosts[0], note="network")
    return OPAQUE


def _encoded(call: Call, text: str) -> Stream:
    try:
        decoded = base64.b64decode(text).decode("utf-16-le")
    except (binascii.Error, ValueError):
        decoded = ""
    if not decoded:
        act(call, "unknown", "guard.unknown-program", "runs encoded text that cannot be read")
        return OPAQUE
    act(call, "unknown", "guard.encoded-program", f"hides what it runs: `{decoded[:80]}`", "write the command out")
    return run(call.shell.child(), decoded)
