"""What a hook in a sandbox finds where: everything can be read but what is secret, and nothing can be changed."""

from __future__ import annotations

import os
import sys

from fairlead.folders import state_folder
from fairlead.hooks import HookFailed

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from fairlead.confining import Sandbox
    from fairlead.hooks import Setting

TEMPORARY = "/tmp"  # noqa: S108  # in a sandbox it is the hook's own
READ, WRITE, HIDDEN, PRIVATE = "read", "write", "hidden", "private"
"""PRIVATE is an empty folder of the hook's own, gone when it ends."""

SECRETS = """
    .ssh .aws .azure .gnupg .kube .docker .oci .fly .age .password-store .vault-token .netrc .authinfo .authinfo.gpg
    .pgpass .my.cnf .npmrc .yarnrc.yml .pypirc .git-credentials .s3cfg .boto .databrickscfg .terraformrc
    .terraform.d/credentials.tfrc.json .cargo/credentials .cargo/credentials.toml .gem/credentials .m2/settings.xml
    .gradle/gradle.properties .huggingface .cache/huggingface/token .cache/huggingface/stored_tokens
    .config/gcloud .config/gh .config/hub .config/glab-cli .config/op .config/doctl .config/rclone .config/sops
    .config/git/credentials .config/github-copilot .config/heroku .config/stripe .config/configstore
    .config/google-chrome .config/chromium .config/BraveSoftware .config/microsoft-edge .mozilla .thunderbird
    .local/share/keyrings .local/share/kwalletd .local/share/containers/storage .colima .lima
    .claude/.credentials.json .claude.json .codex/auth.json .gemini/oauth_creds.json .qwen/oauth_creds.json
    .copilot/config.json .local/share/opencode/auth.json
    .bash_history .zsh_history .python_history .node_repl_history .psql_history .mysql_history .sqlite_history
    .local/share/fish/fish_history .lesshst .viminfo
""".split()
"""Below a home. Whoever finds one missing here may say so: it is the list that grows."""

_FIRST_NAMES = frozenset(name.partition("/")[0] for name in SECRETS)
_SYSTEM_SECRETS = ("/etc/shadow", "/etc/gshadow", "/etc/sudoers", "/etc/sudoers.d", "/run", "/root/.ssh")
_OF_RUN = (
    "/run/systemd/resolve", "/run/resolvconf", "/run/NetworkManager/resolv.conf", "/run/current-system",
    "/run/opengl-driver", "/run/wrappers", "/run/booted-system",
)  # fmt: skip
"""What programs need of /run, where sockets of services and secrets of containers are too."""


def places(wish: Sandbox, setting: Setting, seen: Iterable[str], *, is_confined: bool) -> dict[str, str]:
    """Each path with what it is; below it the same holds, unless a deeper one says otherwise."""
    found = {"/": READ, os.path.realpath(TEMPORARY): PRIVATE, "/var/tmp": HIDDEN}  # noqa: S108
    found |= dict.fromkeys(filter(_is_readable, _SYSTEM_SECRETS), HIDDEN)
    found |= dict.fromkeys(_OF_RUN, READ)
    homes = _homes(setting)
    found |= {name: READ for path in (setting.project, *homes) for name in _names(path)}
    found |= {path: HIDDEN for home in homes for path in _secrets(home)}
    found[os.path.realpath(state_folder(setting.environ, setting.home))] = HIDDEN
    found |= {_writable(path, setting, is_confined=is_confined): WRITE for path in wish.write}
    shown = (*seen, sys.prefix, sys.base_prefix)  # also the interpreter of Python scripts, wherever it lies
    found |= {name: READ for path in shown for name in _names(path) if kind_of(name, found) == PRIVATE}
    return {path: kind for path, kind in found.items() if path == "/" or os.path.exists(path)}


def _names(path: str) -> tuple[str, str]:
    """As it is called, and where it really is."""
    return os.path.abspath(path), os.path.realpath(path)


def _is_readable(path: str) -> bool:
    return os.access(path, os.R_OK)


def _homes(setting: Setting) -> set[str]:
    """Also the one that the system knows, should a variable say otherwise."""
    import pwd

    try:
        registered = pwd.getpwuid(os.getuid()).pw_dir
    except KeyError:
        registered = setting.home
    return {path for path in (setting.home, registered) if os.path.isdir(path) and os.path.realpath(path) != "/"}


def _secrets(home: str) -> Iterator[str]:
    try:
        there = frozenset(os.listdir(home))
    except OSError:  # what cannot be listed may be there all the same
        there = _FIRST_NAMES
    for name in _secrets_in(there):
        path = os.path.join(home, name)
        if os.path.lexists(path):
            yield os.path.realpath(path)


def _secrets_in(there: frozenset[str]) -> list[str]:
    """Those that can be there, with one look for all of them."""
    return [name for name in SECRETS if name.partition("/")[0] in there]


def _writable(path: str, setting: Setting, *, is_confined: bool) -> str:
    """Where it really is; a folder of the project that is not there yet is made."""
    wanted = os.path.join(setting.project, _filled_in(path, setting))
    place = os.path.realpath(wanted)
    inside = _is_below(place, os.path.realpath(setting.project))
    if is_confined and not inside:
        raise HookFailed(f"its sandbox cannot be built: write = {path!r} leads out of the project, to {place}")
    if inside and not os.path.exists(place):
        os.makedirs(place, exist_ok=True)
    if not os.path.exists(place):
        raise HookFailed(f"its sandbox cannot be built: there is no {wanted}, which it wants to write to")
    return place


def _filled_in(path: str, setting: Setting) -> str:
    if path == "~" or path.startswith("~/"):
        return setting.home + path[1:]
    if not path.startswith("$"):
        return path
    name, slash, rest = path[1:].partition("/")
    value = setting.environ.get(name, TEMPORARY if name == "TMPDIR" else "")
    if not os.path.isabs(value):
        raise HookFailed(f"its sandbox cannot be built: write = {path!r}, and {name} is no path")
    return value + slash + rest


def _is_below(path: str, folder: str) -> bool:
    return path == folder or path.startswith(folder.rstrip("/") + "/")


def in_order(places: Mapping[str, str]) -> list[tuple[str, str]]:
    """Each after what it lies in."""
    return sorted(places.items(), key=lambda item: (item[0].rstrip("/").count("/"), item[0]))


def kind_of(path: str, places: Mapping[str, str]) -> str:
    """What holds for a path: the word of the nearest place around it."""
    while path not in places:
        path = os.path.dirname(path)
    return places[path]
