"""Software of the whole machine or account: package managers, global installs, root rights."""

from __future__ import annotations

import re

from fairlead.guard._lazy import lazy
from fairlead.guard.options import options
from fairlead.guard.packs import act, reads, verbs

TYPE_CHECKING = False
if TYPE_CHECKING:
    from fairlead.guard.shell.run import Call


_LOCAL = "install it in the project (a virtual environment, a dev dependency)"


_INSTALLERS = {
    "apt": r"(?:install|remove|purge|upgrade|full-upgrade|dist-upgrade|autoremove|reinstall)\b",
    "apt-get": r"(?:install|remove|purge|upgrade|dist-upgrade|autoremove)\b",
    "aptitude": r"(?:install|remove|purge|upgrade)\b",
    "dnf": r"(?:install|remove|erase|upgrade|update|autoremove|group\w*|swap|downgrade)\b",
    "yum": r"(?:install|remove|erase|upgrade|update|autoremove|groupinstall)\b",
    "zypper": r"(?:in|install|rm|remove|up|update|dup|addrepo|ar)\b",
    "pacman": r".*",
    "apk": r"(?:add|del|upgrade|fix)\b",
    "brew": (
        r"(?:install|uninstall|remove|rm|upgrade|cask|tap|untap|reinstall|link|unlink|autoremove|cleanup --prune)\b"
    ),
    "port": r"(?:install|uninstall|upgrade|selfupdate)\b",
    "snap": r"(?:install|remove|refresh|set|connect)\b",
    "flatpak": r"(?:install|uninstall|remove|update|remote-add)\b",
    "emerge": r".*",
    "dpkg": r".*",
    "rpm": r".*",
    "nix-env": r".*",
    "guix": r"(?:install|remove|pull|system)\b",
    "choco": r"(?:install|uninstall|upgrade)\b",
    "scoop": r"(?:install|uninstall)\b",
    "winget": r"(?:install|uninstall|upgrade|remove)\b",
    "pkg": r"(?:install|delete|remove|upgrade|uninstall)\b",
    "pkg_add": r".*",
    "pkg_delete": r".*",
    "xbps-install": r".*",
    "xbps-remove": r".*",
    "eopkg": r"(?:it|install|rm|remove)\b",
    "mas": r"install\b",
    "softwareupdate": r".*",
    "installer": r".*",
    "add-apt-repository": r".*",
    "apt-key": r"(?:add|adv|del)\b",
    "yay": r".*",
    "paru": r".*",
    "opkg": r"(?:install|remove)\b",
    "swupd": r"(?:bundle-add|bundle-remove|update)\b",
    "tlmgr": r"(?:install|remove|update)\b",
    "raco": r"pkg install\b",
}


_QUERY = lazy(
    r"-(?:Q\w*|S[sil]+\w*|F\w*|l|L|s|S|p|qa?\w*|q|-list|-version|-help|-query|-info|-status|-search)\Z|--(?:list"
    r"|search|info|version|help|query\w*|status|print-architecture|get-selections|simulate|dry-run)"
)


@reads(*_INSTALLERS)
def _installers(call: Call) -> None:
    words = " ".join(verbs(call, ("-t", "-o", "-c")))
    if not re.match(_INSTALLERS[call.name], words) or (
        any(_QUERY.match(arg) for arg in call.args) and call.name not in ("apt", "apt-get", "brew")
    ):
        return
    if not call.args or call.shell.place == "container" or {"-s", "--simulate", "--dry-run", "--help"} & set(call.args):
        return
    if call.name == "dpkg" and not options(call.args).has(
        "i", "install", "r", "remove", "P", "purge", "configure", "unpack"
    ):
        return
    if call.name == "rpm" and not options(call.args).has("i", "install", "e", "erase", "U", "upgrade", "F", "import"):
        return
    if _by_name(call, words):
        return
    removes = re.match(r"(?:remove|purge|erase|del|uninstall|autoremove|rm)\b", words)
    act(
        call,
        "system",
        "system.packages",
        "removes software from this machine" if removes else "installs or changes software of the whole machine",
        _LOCAL,
    )


# Their packages are made by the distribution or looked at by its people; anybody can put one elsewhere.
_CURATED = frozenset("apt apt-get aptitude dnf yum zypper apk brew port pkg winget choco scoop snap".split())
_INSTALL = lazy(r"(?:install|add|in)\s")
_UNCHECKED = lazy(
    r"--(?:allow-\w+|force\S*|nogpgcheck|no-gpg-check\S*|no-check-\w+|dangerous|classic|devmode|repository\S*|repo\S*"
    r"|repofrompath\S*|source\S*|root\S*|ignore-checksums?|skip-?hash|HEAD|option\S*)\Z|-[oXs]"
)
_PLAIN_NAME = lazy(r"[\w+@:=~*.-]+\Z")
_NO_NAME = lazy(r".*(?:\.(?:deb|rpm|apk|pkg|msi|exe|rb|zip|tar\.\w+|tgz)\Z|://)|\.|-")


def _by_name(call: Call, words: str) -> bool:
    """``apt install jq``: named packages from the places that this machine trusts already."""
    asks = _INSTALL.match(words) or (call.name == "brew" and words.startswith("upgrade "))
    if call.name not in _CURATED or not asks or any(_UNCHECKED.match(arg) for arg in call.args):
        return False
    return all(_PLAIN_NAME.match(name) and not _NO_NAME.match(name) for name in words.split()[1:])


@reads(
    "npm",
    "yarn",
    "pnpm",
    "bun",
    "pip",
    "pip3",
    "pipx",
    "uv",
    "gem",
    "cargo",
    "go",
    "dotnet",
    "composer",
    "deno",
    "conda",
    "mamba",
    "rustup",
    "volta",
    "cpan",
    "cpanm",
    "luarocks",
    "stack",
    "cabal",
    "python",
    "python3",
    "nvm",
    "fnm",
    "asdf",
    "mise",
    "pyenv",
    "rbenv",
    "sdk",
    "n",
    "corepack",
    "easy_install",
    "opam",
    "raku",
    "zef",
    "krew",
    "helm",
)
def _global_install(call: Call) -> None:
    text = f"{call.name} {' '.join(call.args)} "
    if call.shell.place == "container":
        return
    if _GLOBAL.search(text) and "--install-directory ." not in text:
        act(call, "system", "system.global-install", "installs or removes a program for the whole user account", _LOCAL)


_GLOBAL = lazy(
    r"\A(?:(?:npm|pnpm|bun)\s(?=.*(?:\s-g\s|--global\b|--location=global))(?=.*\b(?:i|install|add|uninstall|remove|rm"
    r"|un|update|link)\b)|yarn\s+global\s+(?:add|remove|upgrade)|pipx\s+(?:install|uninstall|inject|upgrade)|"
    r"uv\s+tool\s+(?:install|uninstall|upgrade)|gem\s+(?:install|uninstall)\b(?!.*--user-install)|cargo\s+(?:install"
    r"|uninstall)\s(?!.*--(?:path|root|list))|go\s+install\s+\S+@|dotnet\s+tool\s+(?:install|uninstall"
    r"|update)\b.*(?:-g\s|--global)|"
    r"composer\s+global\s+(?:require|remove|update)|deno\s+install\s.*(?:-g\s|--global|https?:)|cpanm?\s+\S|(?:pip3?"
    r"|python3?\s+-m\s+pip)\s+(?:install|uninstall)\b.*(?:--break-system-packages|--user\s|--target[= ]/)"
    r"|easy_install\s|"
    r"(?:stack|cabal)\s+install\b|luarocks\s+install\b(?!.*--(?:local|tree))|corepack\s+enable"
    r"|(?:sudo\s+)?helm\s+plugin\s+install)"
)
