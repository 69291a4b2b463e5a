"""Git's hooks and remotes: what guards a repository, and where it is sent."""

from __future__ import annotations

import re

from fairlead.guard._lazy import lazy
from fairlead.guard.effects import Stream
from fairlead.guard.options import Options, options
from fairlead.guard.packs import act
from fairlead.guard.shell.nodes import UNKNOWN, shown

TYPE_CHECKING = False
if TYPE_CHECKING:
    from fairlead.guard.shell.run import Call

_LEASE = "`git push --force-with-lease` refuses to overwrite what others pushed"


def push(call: Call, args: list[str]) -> None:
    opts = options(args, short="o", long=("push-option", "repo", "receive-pack", "exec"))
    refs = opts.operands[1:]
    program_options(call, opts)
    if opts.has("n", "dry-run"):
        return
    skips_hooks(call, opts)
    _elsewhere(call, opts)
    if call.fed and any(UNKNOWN in ref for ref in refs):
        act(call, "history", "git.push-unknown", "pushes or deletes references that are only known when it runs")
    if opts.has("mirror", "prune"):
        act(
            call,
            "history",
            "git.push-mirror",
            "makes the remote equal to this copy and deletes what is not here",
            decision="deny",
        )
    elif opts.has("force", "f") or any(ref.startswith("+") for ref in refs):
        if not _lease_only(opts, refs):
            act(call, "history", "git.push-force", "overwrites the history of the remote", _LEASE, decision="deny")
    elif opts.has("d", "delete") or any(ref.startswith(":") and len(ref) > 1 for ref in refs):
        act(call, "history", "git.push-delete", "deletes a branch or tag on the remote")
    elif opts.unknown:
        act(call, "unknown", "git.unknown-command", "pushes with options that cannot be read")


def _elsewhere(call: Call, opts: Options) -> None:
    """Pushing to an address, or to a remote that this same command has made or changed."""
    target = opts.value("repo") or (opts.operands[0] if opts.operands else "origin")
    changed = call.shell.record.files.get(f"git remote {target}")
    if re.match(r"(?:https?|ssh|git|file|ftp)://|[\w.-]+@[\w.-]+:", target) or changed is not None:
        act(call, "upload", "git.push-elsewhere", "pushes to a place that is no remote of this repository so far",
            "push to a remote that the repository already has")  # fmt: skip


def _lease_only(opts: Options, refs: list[str]) -> bool:
    given = [flag for flag, _ in opts.flags]
    return (
        "f" not in given
        and not any(r.startswith("+") for r in refs)
        and all(not flag.startswith("force") or flag.startswith("force-") for flag in given)
    )


def program_options(call: Call, opts: Options) -> None:
    for value in opts.values("upload-pack", "receive-pack", "exec", "u"):
        if value and not re.match(r"(?:\S*/)?git[- ](?:upload|receive)-pack\Z", value):
            act(call, "run", "git.runs-program", f"makes git start `{shown(value)}`")
            call.shell.child().run_text(value)


def skips_hooks(call: Call, opts: Options) -> None:
    if opts.has("no-verify") or any(_HOOKS_OFF.match(f"{name}={value}") for name, value in call.env.items()):
        skipped(call)


# Variables by which the usual hook managers leave hooks out.
_HOOKS_OFF = lazy(
    r"HUSKY=0|HUSKY_SKIP_HOOKS=1|HUSKY_SKIP_INSTALL=1|LEFTHOOK=(?:0|false)|SKIP=.+|PRE_COMMIT_ALLOW_NO_CONFIG=1|OVERCOMMIT_DISABLE=1"
    r"|SKIP_HOOKS=.+|GIT_HOOKS_DISABLED=.+|LINT_STAGED_SKIP=.+|SIMPLE_GIT_HOOKS=0|SKIP_SIMPLE_GIT_HOOKS=1|CAPTAINHOOK_SKIP=1|GRUMPHP_SKIP=.+"
)


def skipped(call: Call) -> None:
    act(
        call,
        "settings",
        "git.skip-hooks",
        "leaves out the checks that guard this repository",
        "fix what the hooks complain about",
    )


def remote(call: Call, args: list[str]) -> None:
    if args[:1] in (["set-url"], ["add"]):
        words = [arg for arg in args[1:] if not arg.startswith("-")]
        if words:
            call.shell.record.files[f"git remote {words[0]}"] = Stream(None)
    if args[:1] in (["remove"], ["rm"]) and len(args) > 1:
        act(call, "history", "git.remote-remove", "forgets a remote and its tracking branches")
