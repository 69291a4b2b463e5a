"""Which git commands only read."""

from __future__ import annotations

import re

from fairlead.guard._lazy import lazy

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

_VERBS = frozenset(
    "status log diff show blame branch rev-parse describe ls-files ls-tree cat-file shortlog tag remote reflog stash "
    "merge-base rev-list name-rev for-each-ref show-ref grep config cherry count-objects whatchanged range-diff "
    "version worktree check-ignore submodule show-branch diff-tree diff-index diff-files check-attr".split()
)
_LISTS = r"(?:--list|--contains|--no-contains|--merged|--no-merged|--points-at)"
# With one of these the other words are commits and patterns, and nothing is created.
_LISTING = {"branch": lazy(rf"{_LISTS}(?:=\S+)?\Z"), "tag": lazy(rf"(?:-l|-n\d*|{_LISTS})(?:=\S+)?\Z")}
_ONLY = {
    "branch": lazy(r"(?:-a|-r|-v+|-av+|-rv+|--all|--remotes|--list|--show-current|--contains|--no-contains|--merged"
                   r"|--no-merged|--sort=\S+|--format=.*|--points-at|--no-color|--color=\w+|--column|-i|--verbose)\Z"),
    "tag": lazy(r"(?:-l|--list|-n\d*|--sort=\S+|--contains|--no-contains|--points-at|--merged|--no-merged"
                r"|--format=.*|-i|--column)\Z"),
    "remote": lazy(r"(?:-v|--verbose)\Z"),
    "reflog": lazy(r"(?:show|-n\d*|-\d+|--all|HEAD|--oneline|--date=\w+|\d+)\Z"),
    "stash": lazy(r"(?:list|show|-p|--patch|--stat|--name-only|--name-status|stash@\{\d+\}|\d+)\Z"),
    "config": lazy(r"(?:--get|--list|-l|--get-all|--global|--local|--system|--show-origin|--show-scope|--name-only"
                   r"|--get-regexp|get|list|\^[\w.]+|[a-z]+\.[\w.-]+)\Z", re.IGNORECASE),
    "worktree": lazy(r"(?:list|--porcelain|-v)\Z"),
    "submodule": lazy(r"(?:status|--recursive|--cached)\Z"),
}  # fmt: skip
_FIRST = {"stash": ("list", "show"), "worktree": ("list",), "submodule": ("status",)}
_FORBIDDEN = (
    "output", "ext-diff", "textconv", "exec", "upload-pack", "open-files-in-pager", "receive-pack", "filters",
    "no-index", "config-env", "git-dir", "work-tree", "exec-path", "contents", "parseopt", "show-signature",
)  # fmt: skip
_COMMON = frozenset({"--no-ext-diff", "--no-textconv", "--output-indicator-new", "--git-dir", "--git-common-dir"})
_GREP_PAGER = lazy(r"-[A-Za-z]*O")
_CLIMBS = lazy(r"(?:\A|/)\.\.(?:/|\Z)")


def git_reads(args: list[str], inside: Callable[[str], bool]) -> bool:
    """Say whether a git command only reads; ``inside`` tells which paths belong to the project."""
    rest = _without_global(args, inside)
    if not rest or rest == ["--version"]:
        return bool(rest)
    verb, rest = rest[0], rest[1:]
    if verb not in _VERBS or any(_forbidden(verb, arg) for arg in rest):
        return False
    return _verb_reads(verb, rest) and all(_stays(arg, inside) for arg in rest)


def _without_global(args: list[str], inside: Callable[[str], bool]) -> list[str]:
    """Return the arguments from the verb on; nothing if an option before it can do more than read."""
    index = 0
    while index < len(args) and args[index].startswith("-") and args[index] != "--version":
        if args[index] == "-C" and index + 1 < len(args) and inside(args[index + 1]):
            index += 2
        elif args[index] in ("--no-pager", "-P", "--no-optional-locks", "--literal-pathspecs"):
            index += 1
        else:
            return []
    return args[index:]


def _forbidden(verb: str, arg: str) -> bool:
    if verb == "grep" and _GREP_PAGER.match(arg):
        return True
    given = arg[2:].partition("=")[0] if arg.startswith("--") else ""
    # Git accepts the beginning of an option for the whole.
    # After the verb, --git-dir only asks where it is.
    return bool(given) and arg not in _COMMON and any(name.startswith(given) for name in _FORBIDDEN)


def _verb_reads(verb: str, rest: list[str]) -> bool:
    if verb in _FIRST and rest[:1] not in [[word] for word in _FIRST[verb]]:
        return False
    if verb == "remote" and rest[:1] == ["get-url"]:
        return len(rest) == 2
    if verb == "config" and (not rest or len([word for word in rest if not word.startswith("-") and "." in word]) > 1):
        return False
    allowed = _ONLY.get(verb)
    if allowed is None:
        return True
    listing = verb in _LISTING and any(_LISTING[verb].match(word) for word in rest)
    return all(allowed.match(word) or (listing and not word.startswith("-")) for word in rest)


def _stays(arg: str, inside: Callable[[str], bool]) -> bool:
    """``git diff`` compares any two files as soon as one of them lies outside."""
    arg = arg.removeprefix("-O")
    if arg.startswith("-") or not (arg.startswith(("/", "~")) or _CLIMBS.search(arg)):
        return True
    return inside(arg)
