"""Git: history, uncommitted work, forced pushes, settings that run programs."""

from __future__ import annotations

import re

from fairlead.guard.effects import Stream
from fairlead.guard.options import Options, options
from fairlead.guard.packs import act, reads
from fairlead.guard.packs.git_remotes import program_options, push, remote, skipped, skips_hooks
from fairlead.guard.packs.git_settings import (
    HARMLESS_VALUES,
    config,
    config_pair,
    environment,
    environment_aliases,
    global_options,
)
from fairlead.guard.packs.git_worktree import STASH, checkout, clean, restore, switch
from fairlead.guard.paths import Places, folded
from fairlead.guard.programs import program
from fairlead.guard.shell.nodes import STAR, UNKNOWN, shown

TYPE_CHECKING = False
if TYPE_CHECKING:
    from fairlead.guard.effects import Effect
    from fairlead.guard.shell.run import Call

    Hit = tuple[str, str, str, str]


@reads("git", "git-branchless", "hub")
def _git(call: Call) -> None:
    environment(call)
    aliases = {name[4:]: body for name, body in call.shell.aliases.items() if name.startswith("git ")}
    aliases.update(environment_aliases(call))
    args = global_options(call, aliases)
    if not args:
        return
    verb, rest = args[0], args[1:]
    if call.name == "hub" and verb == "delete":
        act(call, "destroy", "git.delete-remote", "deletes a repository on the forge", decision="deny")
    if verb in aliases:
        verb, rest = _alias(call, aliases[verb], rest)
    if verb == UNKNOWN:
        act(call, "unknown", "git.unknown-command", "runs a git command that cannot be read")
        return
    reader = _VERBS.get(verb.lower())
    if reader is not None:
        reader(call, rest)


def _alias(call: Call, body: str, rest: list[str]) -> tuple[str, list[str]]:
    if body.startswith("!"):
        call.shell.child().run_text(" ".join([body[1:], *rest]))
        return "", rest
    words = body.split()
    return (words[0] if words else ""), [*words[1:], *rest]


def _reset(call: Call, args: list[str]) -> None:
    opts = options(args)
    if opts.has("hard", "merge") and not opts.has("help", "h"):
        act(
            call,
            "discard",
            "git.reset-hard",
            "throws away uncommitted changes",
            f"{STASH}; `git reset --soft` keeps them",
            decision="deny",
        )
    elif any(word == UNKNOWN for word in args) and "--" not in args:
        act(call, "unknown", "git.unknown-command", "resets with an option that cannot be read")


def _stash(call: Call, args: list[str]) -> None:
    if args[:1] in (["drop"], ["clear"]):
        decision = "deny" if args[0] == "clear" else "ask"
        act(
            call,
            "discard",
            "git.stash-drop",
            "throws away stashed changes",
            "`git stash list` and `git stash show -p` first",
            decision=decision,
        )


def _branch(call: Call, args: list[str]) -> None:
    opts = options(
        args, short="u", long=("set-upstream-to", "contains", "merged", "no-merged", "sort", "format", "points-at")
    )
    forced_delete = opts.has("D") or (opts.has("d", "delete") and opts.has("f", "force"))
    if forced_delete:
        act(
            call,
            "history",
            "git.branch-delete",
            "deletes a branch even if its commits are nowhere else",
            "`git branch -d` refuses to lose commits",
        )
    elif opts.has("f", "force") or (opts.has("M", "C") and len(opts.operands) > 1):
        act(call, "history", "git.branch-reset", "moves a branch over another and forgets where that one was")


def _tag(call: Call, args: list[str]) -> None:
    opts = options(
        args,
        short="amFunl",
        long=("message", "file", "local-user", "sort", "contains", "format", "points-at", "merged"),
    )
    if opts.has("d", "delete"):
        act(call, "history", "git.tag-delete", "deletes a tag")
    elif opts.has("f", "force"):
        act(call, "history", "git.tag-delete", "moves an existing tag")


def _transport(call: Call, args: list[str]) -> None:
    opts = options(args, short="ubcoj", long=("upload-pack", "receive-pack", "exec", "branch", "config", "template"))
    program_options(call, Options() if not opts.has("upload-pack", "receive-pack", "exec",
    "u") or "fetch" in call.args or "pull" in call.args
                     else opts)  # fmt: skip
    for value in opts.values("upload-pack") if "fetch" in call.args or "pull" in call.args else []:
        act(call, "run", "git.runs-program", f"makes git start `{shown(value)}`")
    for value in opts.values("c", "config"):
        config_pair(call, value, {})
    if any(operand.startswith("ext::") for operand in opts.operands):
        act(call, "run", "git.runs-program", "uses a transport that runs a shell command")


def _replay(call: Call, args: list[str]) -> None:
    opts = options(args, short="xsm", long=("exec", "onto", "strategy"))
    for value in opts.values("x", "exec"):
        call.shell.child().run_text(value)
    skips_hooks(call, opts)
    if opts.has("root"):
        act(call, "history", "git.rewrite-history", "rewrites every commit", "work on a fresh clone")


def _commit(call: Call, args: list[str]) -> None:
    opts = options(
        args, short="mCcFtSu", long=("message", "author", "date", "file", "template", "fixup", "squash", "trailer")
    )
    if opts.has("dry-run"):
        return
    if opts.has("n"):
        skipped(call)
    else:
        skips_hooks(call, opts)


def _rm(call: Call, args: list[str]) -> None:
    opts = options(args, long=("pathspec-from-file",))
    if (opts.has("cached") and not opts.has("no-cached")) or opts.has("n", "dry-run"):
        return
    if (opts.has("f", "force") and not opts.has("no-force")) or opts.unknown:
        act(
            call,
            "discard",
            "git.rm-force",
            "deletes files together with their uncommitted changes",
            "`git rm` without -f refuses to lose changes",
        )
    elif opts.has("r") and any(op in (".", "./", STAR, ":/") for op in opts.operands):
        act(call, "discard", "git.rm-force", "deletes every tracked file of the project")


def _reflog(call: Call, args: list[str]) -> None:
    if args[:1] in (["expire"], ["delete"]) or any(UNKNOWN in arg for arg in args[:1]):
        act(
            call,
            "history",
            "git.reflog-expire",
            "removes the record that could bring lost commits back",
            decision="deny",
        )


def _gc(call: Call, args: list[str]) -> None:
    opts = options(args)
    value = opts.value("prune")
    if call_verb(call, "prune") and not opts.has("n", "dry-run"):
        act(call, "history", "git.prune", "removes objects that could bring lost commits back")
    elif (value and value not in ("2.weeks.ago", "never")) or (opts.has("aggressive") and value):
        act(
            call,
            "history",
            "git.prune",
            "removes objects that could bring lost commits back",
            "`git gc` without --prune keeps them for two weeks",
        )


def call_verb(call: Call, verb: str) -> bool:
    return verb in call.args[:4]


def _worktree(call: Call, args: list[str]) -> None:
    opts = options(args)
    if opts.operands[:1] == ["remove"] and opts.has("f", "force"):
        act(call, "discard", "git.worktree-remove", "removes a worktree together with its uncommitted changes",
            "`git worktree remove` without --force refuses to lose changes")  # fmt: skip


def _filter(call: Call, args: list[str]) -> None:
    if args[:1] in (["--analyze"], ["--help"], ["--version"]):
        return
    for value in options(
        args,
        long=(
            "tree-filter",
            "index-filter",
            "msg-filter",
            "env-filter",
            "commit-filter",
            "parent-filter",
            "tag-name-filter",
        ),
    ).flags:
        if value[0].endswith("-filter") and value[1]:
            call.shell.child().run_text(value[1])
    act(call, "history", "git.rewrite-history", "rewrites every commit", "work on a fresh clone", decision="deny")


def _update_ref(call: Call, args: list[str]) -> None:
    opts = options(args, short="m")
    if opts.has("d", "delete", "stdin"):
        act(call, "history", "git.ref-delete", "deletes a reference to commits")
    elif any(operand.startswith("refs/heads/") for operand in opts.operands[:1]):
        act(call, "history", "git.branch-reset", "moves a branch to another commit without looking at either")


def _foreach(call: Call, args: list[str]) -> None:
    words = [arg for arg in args if not arg.startswith("-")]
    if words[:1] == ["foreach"]:
        call.shell.child().run_text(" ".join(words[1:]))
    elif words[:1] == ["deinit"] and options(args).has("f", "force"):
        act(call, "discard", "git.submodule-deinit", "removes a submodule with its uncommitted changes")


def _bisect(call: Call, args: list[str]) -> None:
    if args[:1] == ["run"]:
        call.shell.child().call(call.again(args[1:] or [":"]))


def _index(call: Call, args: list[str]) -> None:
    opts = options(args)
    if (call_verb(call, "checkout-index") and opts.has("f", "force")) or (
        call_verb(call, "read-tree") and opts.has("reset") and opts.has("u")
    ):
        act(call, "discard", "git.checkout-force", "overwrites uncommitted changes", STASH)


def _grep(call: Call, args: list[str]) -> None:
    for arg in args:
        match = re.match(r"(?:-O|--open-files-in-pager=)(.+)", arg)
        if match and not HARMLESS_VALUES.match(match[1]):
            act(call, "run", "git.runs-program", f"makes git start `{match[1]}`")


def _lfs(call: Call, args: list[str]) -> None:
    if args[:1] == ["migrate"] and args[1:2] != ["info"]:
        act(call, "history", "git.rewrite-history", "rewrites every commit", decision="deny")


def _apply(call: Call, args: list[str]) -> None:
    if "--unsafe-paths" in args:
        act(call, "write", "git.unsafe-apply", "may write outside the repository")


_NAME_LISTS = frozenset({"ls-files", "diff", "grep", "ls-tree", "diff-tree", "status", "show"})


@program("git")
def _git_output(call: Call) -> Stream | None:
    """Names that git prints are names inside the repository."""
    words = [arg for arg in call.args if not arg.startswith("-")]
    if words[:1] == ["rev-parse"] and "--show-toplevel" in call.args:
        return Stream(f"{call.shell.cwd}\n")
    listing = words[:1] == ["ls-files"] or {"--name-only", "-l", "--files-with-matches"} & set(call.args)
    if words and words[0] in _NAME_LISTS and listing:
        return Stream(f"./{UNKNOWN}\n")
    return Stream(f"x{UNKNOWN}\n") if words[:1] in (["rev-parse"], ["describe"], ["symbolic-ref"]) else Stream(None)


_VERBS = {
    "reset": _reset, "checkout": checkout, "co": checkout, "switch": switch, "restore": restore, "clean": clean,
    "stash": _stash,
    "branch": _branch, "tag": _tag, "push": push, "rebase": _replay, "merge": _replay, "cherry-pick": _replay,
    "am": _replay, "commit": _commit,
    "revert": _replay, "config": config, "rm": _rm, "reflog": _reflog, "gc": _gc, "prune": _gc, "worktree": _worktree,
    "filter-branch": _filter, "filter-repo": _filter, "update-ref": _update_ref, "submodule": _foreach,
    "bisect": _bisect,
    "clone": _transport, "fetch": _transport, "pull": _transport, "ls-remote": _transport, "archive": _transport,
    "checkout-index": _index, "read-tree": _index, "remote": remote, "grep": _grep, "lfs": _lfs, "apply": _apply,
}  # fmt: skip


@reads("bfg", "git-filter-repo", "git-filter-branch", "java")
def _rewriters(call: Call) -> None:
    if call.name != "java" or re.search(r"\bbfg\S*\.jar\b", " ".join(call.args)):
        _filter(call, call.args)


_OTHERS = {
    "svn": r"revert\b|(?:delete|rm)\b.*(?:https?:|svn:|file:)|cleanup .*--remove",
    "hg": r"(?:strip|purge|rollback|histedit)\b|(?:update|up|co|checkout)\b.*(?:\s-C|--clean)|revert\b.*(?:--all"
    r"|-a\b)|push\b.*(?:-f\b|--force)",
    "jj": r"(?:abandon|restore|undo|op restore|operation restore)\b|git push .*--deleted",
    "fossil": r"(?:revert|undo|scrub|purge)\b",
    "bzr": r"(?:revert|uncommit|clean-tree)\b",
    "p4": r"(?:obliterate|revert|clean|delete)\b",
    "sl": r"(?:hide|revert|purge|clean|uncommit)\b",
    "gt": r"(?:delete|restack .*--force)\b",
    "dvc": r"(?:gc|destroy|remove)\b",
}


@reads(*_OTHERS)
def _other_systems(call: Call) -> None:
    if re.match(_OTHERS[call.name], " ".join(call.args)) and not {"-n", "--dry-run"} & set(call.args):
        act(call, "discard", "git.other-system", "throws away changes or history")


def judge(effect: Effect, _places: Places) -> Hit | None:
    """Deleting or rewriting the repository itself, by whatever program."""
    if effect.kind not in ("delete", "move", "write") or not effect.path or effect.rule or effect.place == "container":
        return None
    parts = folded(effect.path).split("/")
    if ".git" not in parts:
        return None
    below = parts[parts.index(".git") + 1 :]
    if effect.kind in ("delete", "move") and not (below and below[-1].endswith(".lock")):
        reason = f"`{effect.words}` removes {shown(effect.path)}: history and unpushed work are gone"
        return "git.delete-repository", "deny", reason, "commit and push first, or work in a fresh clone"
    if effect.kind == "write" and below and below[0] in ("config", "head", "refs", "objects", "packed-refs", "index"):
        return (
            "git.write-internals",
            "ask",
            f"`{effect.words}` changes git's own file {shown(effect.path)}",
            "use git commands",
        )
    return None
