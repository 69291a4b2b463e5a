"""Git's working tree: what throws uncommitted work away."""

from __future__ import annotations

import os
import re

from fairlead.guard._lazy import lazy
from fairlead.guard.options import Options, options
from fairlead.guard.packs import act
from fairlead.guard.paths import join
from fairlead.guard.shell.nodes import STAR, UNKNOWN, shown

TYPE_CHECKING = False
if TYPE_CHECKING:
    from fairlead.guard.shell.run import Call

STASH = "`git stash` keeps the changes and can be undone"
# A package manager writes these again.
_WRITTEN_AGAIN = lazy(
    r"(?:.*/)?(?:package-lock\.json|npm-shrinkwrap\.json|pnpm-lock\.yaml|bun\.lockb?|go\.sum|Package\.resolved"
    r"|packages\.lock\.json|[\w-]+\.lock|deno\.lock|node_modules|dist|build)/?\Z"
)


def _written_again(paths: list[str]) -> bool:
    return bool(paths) and all(_WRITTEN_AGAIN.match(path) for path in paths)


def checkout(call: Call, args: list[str]) -> None:
    opts = options(
        args, short="bBU", long=("orphan", "conflict", "pathspec-from-file", "unified", "inter-hunk-context")
    )
    if opts.has("f", "force"):
        act(call, "discard", "git.checkout-force", "throws away uncommitted changes", STASH, decision="deny")
        return
    new_branch = opts.has("b", "B", "orphan", "track", "t", "detach")
    paths = args[args.index("--") + 1 :] if "--" in args else []
    operands = opts.operands
    looks_like_path = len(operands) == 1 and not new_branch and _is_file(call, operands[0])
    if opts.has("p", "patch"):
        return
    if (paths or opts.has("pathspec-from-file") or looks_like_path or (len(operands) > 1 and not new_branch)) and not (
        _chooses_a_side(opts) or _written_again(paths or operands)
    ):
        what = ", ".join(shown(p) for p in (paths or operands[-2:])) or "files"
        act(call, "discard", "git.checkout-paths", f"overwrites uncommitted changes in {what[:80]}", STASH)


def _chooses_a_side(opts: Options) -> bool:
    """``--ours file`` resolves a conflict in files that are named."""
    named = opts.operands and not any(op in (".", "./", ":/") or STAR in op for op in opts.operands)
    return opts.has("ours", "theirs") and bool(named)


def _is_file(call: Call, name: str) -> bool:
    if name in (".", "./", "..", STAR, ":/") or name.startswith(("./", "../", ":/", ":(", "/")) or STAR in name:
        return True
    if UNKNOWN in name:
        return False
    if re.search(
        r"\.(?:py|js|ts|tsx|jsx|go|rs|c|h|cpp|java|rb|php|md|txt|json|ya?ml|toml|html|css|sh|cfg|ini|lock|xml|sql|vue"
        r"|kt|swift|scss|svg)\Z",
        name,
    ):
        return True
    try:
        return os.path.isfile(join(call.shell.cwd, name))
    except (OSError, ValueError):
        return False


def switch(call: Call, args: list[str]) -> None:
    opts = options(args, short="cC", long=("create", "force-create", "orphan"))
    if opts.has("f", "force", "discard-changes"):
        act(call, "discard", "git.checkout-force", "throws away uncommitted changes", STASH, decision="deny")


def restore(call: Call, args: list[str]) -> None:
    opts = options(args, short="sU", long=("source", "pathspec-from-file", "unified", "inter-hunk-context", "conflict"))
    if opts.has("help", "h") or opts.has("p", "patch"):
        return
    staged = opts.has("S", "staged") and not opts.has("no-staged")
    worktree = (opts.has("W", "worktree") or not staged) and not opts.has("no-worktree")
    if opts.has("pathspec-from-file") and not opts.operands and worktree:
        act(call, "discard", "git.restore", "overwrites uncommitted changes", STASH)
    elif worktree and opts.operands and not _written_again(opts.operands):
        act(call, "discard", "git.restore", f"overwrites uncommitted changes in {shown(' '.join(opts.operands))[:80]}",
            f"{STASH}; `git restore --staged` only unstages")  # fmt: skip


def clean(call: Call, args: list[str]) -> None:
    opts = options(args, short="e", long=("exclude",))
    if opts.has("n", "dry-run", "help", "i", "interactive"):
        return
    if opts.has("f", "force") or opts.unknown or any("clean.requireforce=false" in a.lower() for a in call.args):
        act(call, "discard", "git.clean", "deletes files that git does not know and cannot bring back",
            "`git clean -n` shows what would go; `git stash -u` keeps it", decision="deny")  # fmt: skip
