"""The settings, hooks and trust files of Fairlead and of every agent."""

from __future__ import annotations

import re

from fairlead.guard._lazy import lazy
from fairlead.guard.packs import act, reads
from fairlead.guard.packs.self_files import HOOK_TOOLS, settings_part
from fairlead.guard.paths import Places, folded, join
from fairlead.guard.shell.nodes import STAR, UNKNOWN, shown

TYPE_CHECKING = False
if TYPE_CHECKING:
    from fairlead.guard.effects import Effect
    from fairlead.guard.shell.run import Call

    Hit = tuple[str, str, str, str]

_STOPS = frozenset({"stop", "disable", "mask", "kill", "unload", "bootout", "remove"})
_BY_HAND = "run it by hand, outside the agent"


def is_settings(plain: str) -> bool:
    """Say whether a folded path guards or drives an agent."""
    return bool(settings_part(plain))


def judge(effect: Effect, places: Places) -> Hit | None:
    """Return the verdict on changing what guards or drives an agent."""
    if (
        effect.kind not in ("write", "delete", "move", "permission", "link", "unpack")
        or not effect.path
        or effect.rule
        or effect.place
    ):
        return None
    for path in dict.fromkeys((effect.path, places.resolve("/", effect.path))):
        plain = folded(path).replace(STAR, "x").replace(UNKNOWN, "x")
        part = settings_part(plain)
        if part:
            return _changed(effect, path, plain, part)
    return None


def _changed(effect: Effect, path: str, plain: str, part: str) -> Hit | None:
    if effect.kind == "link" or (effect.kind == "permission" and not re.search(r"/(?:hooks|fairlead)", plain)):
        return None
    if HOOK_TOOLS.search(plain):
        return (
            None
            if effect.kind in {"write", "permission"}
            else ("self.hook-tools", "ask", f"`{effect.words}` removes {shown(path)}, which guards commits", "")
        )
    rule = "self.git-hooks" if ".git/hooks" in plain else "self.settings"
    verb = {
        "write": "changes",
        "delete": "deletes",
        "move": "moves",
        "permission": "changes the rights of",
        "unpack": "unpacks over",
    }[effect.kind]
    decision = "deny" if "fairlead" in part else "ask"
    return (
        rule,
        decision,
        f"`{effect.words}` {verb} {shown(path)}, which guards or drives an agent",
        "change it by hand, outside the agent",
    )


_CHANGES = frozenset({"uninstall", "trust", "init"})
_ANSWERS = frozenset({"inbox", "approve", "deny", "answer"})


@reads("fairlead")
def _fairlead(call: Call) -> None:
    words = [arg for arg in call.args if not arg.startswith("-")]
    verb = words[0] if words else ""
    if "--help" in call.args or "-h" in call.args:
        return
    if verb in _CHANGES or (verb == "serve" and "--stop" in call.args) or (verb == "doctor" and "--fix" in call.args):
        act(call, "settings", "self.fairlead", "changes whether and how Fairlead guards this project", _BY_HAND,
            decision="deny")  # fmt: skip
    elif verb in _ANSWERS:
        act(call, "settings", "self.fairlead", "answers questions that were put to a person", _BY_HAND, decision="deny")


@reads("python", "python3")
def _module(call: Call) -> None:
    if call.args[:2] == ["-m", "fairlead"]:
        _fairlead(call.again(["fairlead", *call.args[2:]]))


_REMOVES = lazy(r"(?:uninstall|remove|rm|un|delete|purge)\Z")


@reads("pip", "pip3", "pipx", "uv", "poetry", "pdm", "conda", "mamba", "brew", "apt", "apt-get", "npm", "rye", "hatch")
def _removed(call: Call) -> None:
    words = [arg for arg in call.args if not arg.startswith("-")]
    if "fairlead" in words and any(_REMOVES.match(word) for word in words):
        act(call, "settings", "self.fairlead", "removes Fairlead", _BY_HAND, decision="deny")


@reads("git")
def _by_git(call: Call) -> None:
    """Files that git itself deletes or moves away."""
    words = [arg for arg in call.args if not arg.startswith("-")]
    if words[:1] not in (["rm"], ["mv"]) or "--cached" in call.args:
        return
    for word in words[1:]:
        if settings_part(folded(join(call.shell.cwd, word))):
            call.shell.effect("delete", call.words, path=join(call.shell.cwd, word))


@reads(
    "claude",
    "codex",
    "gemini",
    "qwen",
    "copilot",
    "cursor-agent",
    "droid",
    "goose",
    "amp",
    "opencode",
    "crush",
    "aider",
    "kimi",
    "cline",
    "kilo",
    "agent",
)
def _agents(call: Call) -> None:
    text = " ".join(call.args)
    if re.search(
        r"--dangerously|--yolo|-y\b|bypassPermissions|--full-auto|--skip-permissions|--allow-all|--no-sandbox"
        r"|danger-full-access|--trust-all|--yes-always|disableAllHooks|hooks\W{1,4}false|--no-hooks"
        r"|--disable[= ]\S*hooks|--setting-sources|approval_policy\W*never|sandbox_mode\W*danger|--auto-approve"
        r"|--force",
        text,
    ):
        act(call, "settings", "self.unguarded-agent", "starts an agent that asks nobody")
    elif re.match(
        r"(?:config set|mcp (?:add|remove)|plugin(?:s)? (?:install|add|remove)|hooks|extensions? (?:install|uninstall"
        r"|disable)|update-settings)",
        text,
    ):
        act(call, "settings", "self.settings", "changes the settings of an agent")


@reads("pre-commit", "husky", "lefthook")
def _hook_tools(call: Call) -> None:
    if call.args[:1] == ["uninstall"]:
        act(call, "settings", "self.hook-tools", "removes the hooks that guard commits")


@reads("pkill", "killall", "kill")
def _kill(call: Call) -> None:
    if call.name == "pkill" and any(re.search(r"\b(?:guard|hooks?|tool-use)\b", arg) for arg in call.args):
        act(call, "settings", "self.fairlead", "stops what watches over the agent")
    calls = call.shell.record.calls
    filters = ("grep", "awk") if any(other.name == "ps" for other in calls) else ()
    searched = [arg for other in calls if other.name in ("pgrep", "pidof", *filters) for arg in other.args]
    if any(map(_names_fairlead, (*call.args, *searched))):
        act(call, "settings", "self.fairlead", "stops Fairlead", decision="deny")


@reads("systemctl", "service", "launchctl")
def _services(call: Call) -> None:
    if _STOPS.intersection(call.args) and any(map(_names_fairlead, call.args)):
        act(call, "settings", "self.fairlead", "stops Fairlead", decision="deny")


def _names_fairlead(word: str) -> bool:
    """Also as `[f]airlead`, so that a search does not find itself, or with the rest of a command line."""
    return re.search(r"(?:\A|[\s/^])fairlead(?:\.service)?(?:\Z|[\s/$])", re.sub(r"\[(.)\]", r"\1", word)) is not None
