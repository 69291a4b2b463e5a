"""Auto-allow: commands of which every part provably only reads the project."""

from __future__ import annotations

import re

from fairlead.guard._lazy import lazy
from fairlead.guard.paths import Places, known
from fairlead.guard.shell.nodes import UNKNOWN

TYPE_CHECKING = False
if TYPE_CHECKING:
    from fairlead.guard.shell.run import Call, Record

_PLAIN = frozenset(
    "ls cat head tail wc nl tac cut uniq comm diff cmp file stat du df tree pwd echo printf basename dirname realpath "
    "readlink which "
    "type true false test [ : grep egrep fgrep rg sort tr jq column paste join fold fmt rev seq date whoami id uname "
    "hostname arch nproc "
    "md5sum sha1sum sha256sum cksum strings od xxd hexdump find fd git cd tokei cloc scc less more bat expand "
    "unexpand look "
    "ps uptime free lscpu groups tty locale getconf numfmt factor sleep cal tput ag".split()
)
_FORBIDDEN: dict[str, re.Pattern[str]] = {
    "sort": lazy(r"-[a-zA-Z]*o|--output|--compress-program|-T|--temporary-directory|--files0-from"),
    "find": lazy(r"-(?:exec|execdir|ok|okdir|delete|fprint|fprint0|fls|fprintf|files0-from)"),
    "fd": lazy(r"-[a-zA-Z]*[xX]|--exec"),
    "rg": lazy(r"--(?:pre|hostname-bin|search-zip|pre-glob)|-[a-zA-Z]*z"),
    "grep": lazy(r"\Z."),
    "tree": lazy(r"-o|--output"),
    "date": lazy(r"-s|--set|-f|--file"),
    "hostname": lazy(r"[^-]|-F|-b"),
    "file": lazy(r"-C|--compile|-m|--magic-file|-f"),
    "xxd": lazy(r"-r|--revert"),
    "uniq": lazy(r"\Z."),
    "less": lazy(r"-o|-O|--log-file|-k|\+|--lesskey"),
    "more": lazy(r"\+"),
    "bat": lazy(r"--pager|--config|cache"),
    "ps": lazy(r"[^-]*e\b.*e|-[a-z]*E|\bewww|axe|auxe"),
    "jq": lazy(r"-[a-zA-Z]*[fL]|--from-file|\benv\b|\$ENV|input_filename|--rawfile|--slurpfile|-n"),
    "du": lazy(r"--files0-from|-X|--exclude-from"),
    "wc": lazy(r"--files0-from"),
    "ag": lazy(r"--pager"),
    "tput": lazy(r"reset|init|clear"),
    "printf": lazy(r"-v"),
    "seq": lazy(r"\d{8,}"),
}  # fmt: skip
_GIT = frozenset(
    "status log diff show blame branch rev-parse describe ls-files ls-tree cat-file shortlog tag remote reflog stash "
    "merge-base rev-list name-rev for-each-ref show-ref grep config cherry count-objects whatchanged range-diff var "
    "version".split()
)
_GIT_ONLY = {
    "branch": lazy(r"(?:-a|-r|-v+|-vv|--all|--remotes|--list|--show-current|--contains|--merged|--no-merged"
                   r"|--sort=\S+|--format=[^%]*|--format=\S+)\Z"),
    "tag": lazy(r"(?:-l|--list|-n\d*|--sort=\S+|--contains|--points-at|--merged)\Z"),
    "remote": lazy(r"(?:-v|--verbose|show|get-url)\Z"),
    "reflog": lazy(r"(?:show|-n\d*|-\d+|--all|HEAD)\Z"),
    "stash": lazy(r"(?:list|show|-p|--stat|stash@\{\d+\})\Z"),
    "config": lazy(r"(?:--get|--list|-l|--get-all|--global|--local|--show-origin|get|list"
                   r"|[a-z]+\.[\w.-]+)\Z", re.IGNORECASE),
}  # fmt: skip
_GIT_FORBIDDEN = lazy(
    r"--(?:output|ext-diff|textconv|exec|upload-pack|open-files-in-pager|receive-pack|filters|no-index)|-O|-c\Z"
    r"|--config-env|--git-dir|--work-tree|--exec-path|-C\Z|--paginate|-p\Z"
)
_GIT_P = frozenset({"log", "show", "diff", "stash", "cat-file", "blame", "whatchanged"})
_VARIABLES = lazy(r"(?:LC_\w+|LANG|TZ|NO_COLOR|TERM|COLUMNS|CI|FORCE_COLOR|NODE_ENV)\Z")
_EFFECTS = frozenset({"read"})


def read_only(record: Record, places: Places) -> bool:
    """Say whether everything that was met only reads, and only inside the project."""
    if record.broken or record.substitutions or not record.calls:
        return False
    return all(_call(call, places) for call in record.calls) and all(
        effect.kind in _EFFECTS and not effect.rule and _inside(effect.path, places) for effect in record.effects
    )


def _inside(path: str, places: Places) -> bool:
    if UNKNOWN in path or re.match(r"/dev/(?:null|stdin)\Z", path):
        return UNKNOWN not in path
    return places.inside(places.resolve("/", path))


def _call(call: Call, places: Places) -> bool:
    if call.name not in _PLAIN or call.name != call.program or call.privileged or call.shell.place:
        return False
    if any(not _VARIABLES.match(name) for name in call.env) or not _assignments_quiet(call):
        return False
    if any(UNKNOWN in arg for arg in call.args):
        return False
    if call.name == "git":
        return _git(call)
    if call.name == "cd":
        return places.inside(places.resolve("/", call.shell.cwd))
    forbidden = _FORBIDDEN.get(call.name)
    if forbidden is not None and any(forbidden.match(arg) for arg in call.args):
        return False
    return all(_operand(call, arg, places) for arg in call.args)


def _assignments_quiet(call: Call) -> bool:
    """No variable of this command may change what later programs do."""
    return all(_VARIABLES.match(name) or name.islower() for name in call.shell.variables)


def _operand(call: Call, arg: str, places: Places) -> bool:
    """Whatever looks like a path must lie inside the project, also as the value of an option."""
    if call.name in ("echo", "printf"):
        return True
    value = arg.partition("=")[2] if arg.startswith("-") else arg
    for piece in (value, arg[2:] if arg.startswith("-") and not arg.startswith("--") else ""):
        if ("/" in piece or piece in ("..", "~")) and not _path_inside(call, piece, places):
            return False
    return not (call.name == "uniq" and len([a for a in call.args if not a.startswith("-")]) > 1)


def _path_inside(call: Call, piece: str, places: Places) -> bool:
    if call.name in (
        "grep",
        "egrep",
        "fgrep",
        "rg",
        "ag",
        "jq",
        "tr",
        "cut",
        "date",
        "find",
        "fd",
        "test",
        "[",
    ) and not piece.startswith(("/", "~", "..")):
        return known(piece) or True
    return places.inside(places.resolve(call.shell.cwd, piece))


def _git(call: Call) -> bool:
    args = call.args
    if not args or args[0] not in _GIT:
        return args in (["--version"], ["version"])
    verb, rest = args[0], args[1:]
    if any(_GIT_FORBIDDEN.match(arg) and not (arg == "-p" and verb in _GIT_P) for arg in rest):
        return False
    allowed = _GIT_ONLY.get(verb)
    if verb == "config" and (
        len([a for a in rest if not a.startswith("-") and a not in ("get", "list")]) > 1 or not rest
    ):
        return False
    if verb == "stash" and rest[:1] not in (["list"], ["show"]):
        return False
    return allowed is None or all(allowed.match(arg) for arg in rest)
