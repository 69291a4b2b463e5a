"""Settings and variables that make git run programs or follow aliases."""

from __future__ import annotations

import re

from fairlead.guard._lazy import lazy
from fairlead.guard.options import options
from fairlead.guard.packs import act
from fairlead.guard.shell.nodes import UNKNOWN, shown

TYPE_CHECKING = False
if TYPE_CHECKING:
    from fairlead.guard.shell.run import Call


_RUNNING_KEYS = lazy(
    r"(?:core\.(?:sshcommand|pager|editor|hookspath|fsmonitor|askpass|gitproxy|attributesfile|worktree)|alias\..+"
    r"|pager\..+"
    r"|diff\.external|diff\..+\.(?:command|textconv)|merge\..+\.driver|filter\..+\.(?:clean|smudge|process)"
    r"|credential\..*helper"
    r"|sequence\.editor|gpg\.program|gpg\..+\.program|web\.browser|browser\..+\.(?:cmd|path)|difftool\..+\.cmd"
    r"|mergetool\..+\.cmd"
    r"|uploadpack\.packobjectshook|remote\..+\.(?:receivepack|uploadpack|proxy|vcs)|ssh\.variant"
    r"|url\..+\.(?:insteadof|pushinsteadof)"
    r"|http\.(?:proxy|sslverify|.+\.extraheader)|include\.path|includeif\..+\.path|protocol\..+\.allow"
    r"|init\.templatedir|core\.gitdir"
    r"|receive\..+|safe\.directory|sendemail\..+|interactive\.difffilter|submodule\..+\.update"
    r"|trailer\..+\.(?:command|cmd)|man\..+\.cmd)\Z"
)


HARMLESS_VALUES = lazy(
    r"(?:cat|less(?: -\S+)*|more|delta(?: .*)?|bat(?: .*)?|vim?|nvim|nano|emacs|code(?: --wait)?|subl(?: .*)?|true"
    r"|false|"
    r"\d*|input|store|cache(?: .*)?|osxkeychain|manager(?:-core)?|libsecret|gh auth git-credential|!gh auth "
    r"git-credential|gpg2?|"
    r"ssh(?: -[iop] ?\S+)*|diff-so-fancy.*|main|master|git-lfs .*|:|auto|always|never)\Z"
)


_ENV_RUNNING = lazy(
    r"GIT_(?:SSH|SSH_COMMAND|SSH_VARIANT|EDITOR|SEQUENCE_EDITOR|PAGER|EXTERNAL_DIFF|ASKPASS|PROXY_COMMAND|EXEC_PATH"
    r"|TEMPLATE_DIR|CONFIG(?:_.*)?)\Z"
)


_QUIET_ENV = lazy(
    r"(?:cat|less.*|true|:|vim?|nano|ssh(?: -\S+(?: [^-\s]\S*)?)*|echo|/dev/null|/bin/true|/usr/bin/true|/bin/echo|)\Z"
)


def environment_aliases(call: Call) -> dict[str, str]:
    """Return aliases that the environment brings along, and report settings that run programs."""
    aliases: dict[str, str] = {}
    pairs = [
        (v, call.env.get(k.replace("KEY", "VALUE"), ""))
        for k, v in call.env.items()
        if k.upper().startswith("GIT_CONFIG_KEY_")
    ]
    pairs += re.findall(r"'([^'=]+)'?=?'?([^']*)'", call.env.get("GIT_CONFIG_PARAMETERS", ""))
    for key, value in pairs:
        if key.startswith("alias."):
            aliases[key[6:]] = value
        else:
            setting(call, key, value)
    return aliases


def environment(call: Call) -> None:
    variables = {k: v for k, v in call.shell.variables.items() if isinstance(v, str) and k.startswith("GIT_")}
    for name, value in {**variables, **call.env}.items():
        if not _ENV_RUNNING.match(name) or name.startswith(("GIT_CONFIG_KEY", "GIT_CONFIG_VALUE")):
            continue
        if name == "GIT_CONFIG_COUNT":
            _counted(call, value)
        if name in (
            "GIT_CONFIG_COUNT",
            "GIT_CONFIG_NOSYSTEM",
            "GIT_CONFIG_GLOBAL",
            "GIT_CONFIG_SYSTEM",
            "GIT_CONFIG_PARAMETERS",
            "GIT_SSH_VARIANT",
        ):
            continue
        if not _QUIET_ENV.match(value):
            act(call, "run", "git.environment-program", f"makes git run `{shown(value)}` ({name})")
            call.shell.child().run_text(value)


def _counted(call: Call, count: str) -> None:
    """Settings in the environment are read like ``-c``; a count that does not fit is not."""
    keys = (
        [call.env.get(f"GIT_CONFIG_KEY_{number}", "") for number in range(int(count))]
        if re.fullmatch(r"\d{1,2}", count)
        else [""]
    )
    if not all(keys):
        act(call, "unknown", "git.unknown-command", "gives git settings that cannot be read")


def global_options(call: Call, aliases: dict[str, str]) -> list[str]:
    """Skip what stands before the git command; ``-c`` may define aliases and programs."""
    args, index = call.args, 0
    while index < len(args):
        arg = args[index]
        if arg in ("-C", "--git-dir", "--work-tree", "--namespace", "--exec-path", "--super-prefix", "--attr-source"):
            index += 2
        elif arg in ("-c", "--config-env") or arg.startswith(("--config-env=",)):
            value = (
                arg.partition("=")[2] if "=" in arg and arg.startswith("--") else "".join(args[index + 1 : index + 2])
            )
            index += 1 if arg.startswith("--config-env=") else 2
            config_pair(call, value, aliases)
        elif arg.startswith("-") and arg != "--":
            if arg.startswith("--exec-path="):
                act(call, "run", "git.runs-program", "makes git take its commands from another directory")
            index += 1
        elif "=" in arg and index == 0 and UNKNOWN in arg:
            index += 1
        else:
            return args[index:]
    return []


def config_pair(call: Call, pair: str, aliases: dict[str, str]) -> None:
    key, _, value = pair.partition("=")
    if UNKNOWN in (key, pair):
        act(call, "unknown", "git.unknown-command", "gives git a setting that cannot be read")
    elif key.lower().startswith("alias."):
        aliases[key[6:]] = value
    else:
        setting(call, key, value)


# Where projects keep hooks of their own, under version control.
_OWN_HOOKS = lazy(r"(?:\./)?(?:\.husky(?:/_)?|\.?git-?hooks|hooks|scripts/(?:git-?)?hooks)/?\Z")


def call_is_local(call: Call) -> bool:
    """Say whether ``git config`` sets something for this repository only, and for longer than one command."""
    return "config" in call.args[:1] and not {"--global", "--system", "-c"} & set(call.args)


def setting(call: Call, key: str, value: str) -> None:
    if key.lower() == "http.sslverify" and value.lower() in ("false", "0", "no", "off"):
        act(call, "system", "git.no-verification", "makes git trust any server")
    if _RUNNING_KEYS.match(key.lower()) and not HARMLESS_VALUES.match(value):
        if key.lower().startswith("alias.") and not value.startswith("!"):
            return
        if key.lower() == "core.hookspath" and call_is_local(call) and _OWN_HOOKS.match(value):
            return
        rule = "git.hooks-path" if key.lower() == "core.hookspath" else "git.runs-program"
        act(call, "run", rule, f"makes git run or trust `{shown(value)}` ({key})", "set it by hand if you want it")


def config(call: Call, args: list[str]) -> None:
    opts = options(args, short="f", long=("file", "type", "blob", "default"))
    words = opts.operands
    if words[:1] == ["set"]:
        words = words[1:]
    if opts.has("e", "edit", "list", "l", "get", "get-all", "get-regexp", "show-origin") or words[:1] in (
        ["list"],
        ["get"],
        ["edit"],
    ):
        return
    if opts.has("unset", "unset-all", "remove-section") or words[:1] in (["unset"], ["remove-section"]):
        if any(word.lower() in ("core.hookspath", "core") for word in words):
            act(call, "settings", "git.hooks-path", "changes which hooks guard this repository")
        return
    if len(words) > 1:
        setting(call, words[0], words[1])
        if words[:2] == ["credential.helper", "store"] and opts.has("global", "system"):
            act(call, "secret", "git.plain-credentials", "keeps passwords in clear text for every repository",
                "use the store of the system: `osxkeychain`, `libsecret`, `manager`")  # fmt: skip
        if words[0].lower().startswith("alias."):
            call.shell.aliases[f"git {words[0][6:]}"] = words[1]
        if words[0].lower().startswith("alias.") and words[1].startswith("!"):
            call.shell.child().run_text(words[1][1:])
