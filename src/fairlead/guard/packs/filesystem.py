"""Files outside the project, the home directory, the root, devices."""

from __future__ import annotations

import os
import re

from fairlead.guard._lazy import lazy
from fairlead.guard.paths import Places, everything_in, first_unknown_parent, folded, known
from fairlead.guard.regenerable import REGENERABLE, is_regenerable
from fairlead.guard.shell.nodes import UNKNOWN, shown

TYPE_CHECKING = False
if TYPE_CHECKING:
    from fairlead.guard.effects import Effect

    Hit = tuple[str, str, str, str]

_CRITICAL = frozenset({"root", "home", "homes", "system", "device"})
_INSPECT = "look first (`ls`, `du -sh`), then name exactly what should go"
_SAFER = {
    "project": "name the directories that can be rebuilt, or use `git clean -n` to see what would go",
    "root": "name the one directory that should go, inside the project",
    "home": "name the one directory that should go",
}
STARTUP = lazy(
    r"(?:\.bashrc|\.bash_profile|\.bash_login|\.bash_logout|\.bash_aliases|\.profile|\.zshrc|\.zshenv|\.zprofile"
    r"|\.zlogin|\.zlogout|\.kshrc|\.cshrc|\.tcshrc"
    r"|\.inputrc|\.xinitrc|\.xprofile|\.xsession|\.pam_environment|\.gitconfig|\.gitignore_global|\.npmrc"
    r"|\.yarnrc(?:\.yml)?|\.pypirc|\.netrc|\.curlrc|\.wgetrc"
    r"|\.vimrc|\.ssh/.+|\.gnupg/.+|\.aws/.+|\.kube/.+|\.docker/.+|\.config/(?:fish|autostart|systemd|git"
    r"|environment\.d|pip)/.+"
    r"|\.config/[^/]*rc|library/launchagents/.+|\.local/share/applications/.+|\.tmux\.conf|\.cargo/config(?:\.toml)?"
    r"|\.m2/settings\.xml"
    r"|\.gradle/(?:init\.gradle|init\.d/.+|gradle\.properties)|\.pip/pip\.conf|\.gemrc|\.irbrc|\.pythonrc(?:\.py)?"
    r"|\.mysql_history|\.bash_history|\.zsh_history"
    r"|(?:.*/)?site-packages/(?:[^/]*\.pth|(?:site|user)customize\.py)|\.config/powershell/.+|documents/(?:windows)?powershell/.+"
    r"|\.local/bin/(?:ls|git|cat|sudo|ssh|python3?|node|npm|bash|sh|curl|docker|kubectl|make|cd|ps|grep|vim?|code)"
    r"|\.bash_completion|\.bash_completion\.d/.+|\.oh-my-zsh/(?:custom/)?.+|\.emacs(?:\.d/.+)?|\.config/(?:nvim|emacs)/.+|\.ipython/.+"
    r"|\.jupyter/.+|\.psqlrc|\.sqliterc|\.lldbinit|\.gdbinit|\.screenrc|\.exrc|\.nanorc|\.config/(?:direnv|mise|plasma-workspace)/.+"
    r"|library/(?:launchdaemons|startupitems|preferences)/.+|\.hammerspoon/.+|\.xsessionrc|\.Xresources)\Z"
)


def judge(effect: Effect, places: Places) -> Hit | None:
    """Return rule, decision, reason and suggestion for an effect on a path, or None."""
    judge_kind = _JUDGES.get(effect.kind)
    if judge_kind is None or not effect.path or effect.rule:
        return None
    if effect.place in ("container", "pod"):
        return _in_container(effect, places)
    return judge_kind(effect, places)


def _in_container(effect: Effect, places: Places) -> Hit | None:
    if effect.kind != "delete" or not effect.many:
        return None
    target = everything_in(effect.path) or effect.path
    zone = places.zone(target)
    lasting = (
        effect.place == "pod"
        and zone in (*_CRITICAL, "elsewhere")
        and is_regenerable(target.rpartition("/")[2]) is False
    )
    if lasting or (zone in _CRITICAL and target.count("/") <= 1):
        return (
            "filesystem.delete-in-container",
            "ask",
            f"`{effect.words}` empties {shown(target)} inside a container",
            "",
        )
    return None


def _delete(effect: Effect, places: Places) -> Hit | None:
    path = _resolved(effect.path, places)
    whole = everything_in(path)
    target = whole or path
    zone = places.zone(target)
    if effect.note == "shred" and zone == "device":
        return _hit("filesystem.erase-device", "deny", effect, f"erases the device {shown(target)}")
    if zone in _CRITICAL:
        return _critical(effect, target, zone, whole=whole is not None)
    if zone == "project":
        return _project(effect, whole=whole is not None)
    if zone == "unknown":
        return _unknown(effect, target)
    if zone in ("personal", "elsewhere"):
        return _outside(effect, target, zone)
    if zone == "tmp" and (effect.many or whole):
        return _hit(
            "filesystem.delete-tmp",
            "ask",
            effect,
            f"empties {shown(target)}, which other programs use",
            _INSPECT,
        )
    if zone in ("inside", "scratch") and UNKNOWN in target:
        return _partly_unknown(effect, target, places)
    return _valuable(effect, target, places) if zone == "inside" else None


# Directories at the top of a project that people write by hand.
_SOURCES = frozenset(
    "src source sources app apps tests spec include internal cmd server client backend frontend migrations "
    "crates services "
    "packages api components modules scripts .github config db".split()
)
_STATE = lazy(r"[\w.-]*\.tfstate(?:\.backup)?\Z")


def _valuable(effect: Effect, target: str, places: Places) -> Hit | None:
    """What was written by hand, or stands for something that exists elsewhere."""
    directory, _, name = target.rpartition("/")
    if _STATE.match(folded(name)):
        return _hit("filesystem.delete-state", "ask", effect, "deletes the record of what exists in the cloud",
                    "`terraform state rm` forgets one resource")  # fmt: skip
    if effect.many and places.is_project(directory) and folded(name) in _SOURCES and effect.note != "rsync":
        return _hit("filesystem.delete-sources", "ask", effect, f"deletes {shown(name)}, which is no build output",
                    "`git rm -r` keeps it in the history")  # fmt: skip
    return None


def _resolved(path: str, places: Places) -> str:
    """Resolve links in the directory of a path; deleting a link leaves what it leads to."""
    directory, _, name = path.rpartition("/")
    if not directory or name in ("", ".", "..") or path.startswith(UNKNOWN):
        return path
    return places.resolve(directory, "").rstrip("/") + "/" + name


def _critical(effect: Effect, target: str, zone: str, *, whole: bool) -> Hit | None:
    if zone == "system" and UNKNOWN in target and not effect.many:
        return _hit(
            "filesystem.delete-system",
            "ask",
            effect,
            f"deletes files of the system in {shown(target)}",
            _INSPECT,
        )
    what = {
        "root": "everything on this machine",
        "home": f"the whole home directory {shown(target)}",
        "homes": "the home directories of all users",
        "system": f"{shown(target)}, which belongs to the system",
        "device": f"the device {shown(target)}",
    }[zone]
    rule = "filesystem.delete-" + {"homes": "home"}.get(zone, zone)
    verb = "empties" if whole and zone != "root" else "deletes"
    if whole and not effect.many:
        what = f"the files in {shown(target)}"
    return _hit(rule, "deny", effect, f"{verb} {what}", _SAFER.get(zone, _INSPECT))


def _project(effect: Effect, *, whole: bool) -> Hit | None:
    if effect.note == "rsync":
        return _hit("filesystem.mirror-delete", "ask", effect, "deletes every file of the project that its source "
                                                               "does not have",
                    "run it with `--dry-run` first")  # fmt: skip
    decision = "deny" if effect.many and not (whole and effect.note == "code") else "ask"
    return _hit("filesystem.delete-project", decision, effect, "deletes every file of the project", _SAFER["project"])


def _unknown(effect: Effect, target: str) -> Hit | None:
    tail = folded(target.lstrip(UNKNOWN).strip("/"))
    if tail and UNKNOWN not in tail and (not effect.many or tail.rpartition("/")[2] in REGENERABLE):
        return None
    if effect.note == "code" and not effect.many:
        return None
    return _hit("filesystem.delete-unknown", "ask", effect, f"deletes {shown(target)}, and what that is cannot be "
                                                            "read from the command",
                "write the path out")  # fmt: skip


def _outside(effect: Effect, target: str, zone: str) -> Hit | None:
    where = "your home directory" if zone == "personal" else "no part of this project"
    if not effect.many and zone == "elsewhere" and effect.place == "remote":
        return None
    rule = "filesystem.delete-outside"
    return _hit(
        rule,
        "ask",
        effect,
        f"deletes {shown(target)}, which is {'in ' if zone == 'personal' else ''}{where}",
        _INSPECT,
    )


def _partly_unknown(effect: Effect, target: str, places: Places) -> Hit | None:
    """A name that is not known, in a directory that is: fine unless it may be everything."""
    if not effect.many and effect.note not in ("find", "shred"):
        return None
    last = folded(target.rpartition("/")[2])
    parent = first_unknown_parent(target)
    if effect.note in ("find", "shred") or UNKNOWN not in last:
        if is_regenerable(last) or not places.inside(target) or REGENERABLE & set(folded(target).split("/")):
            return None
        if effect.note in ("find", "shred"):
            return _hit("filesystem.find-delete", "ask", effect, f"deletes every {shown(last)} below {shown(parent)}",
                        "run it with `-print` instead of `-delete` first")  # fmt: skip
    return None


def _move(effect: Effect, places: Places) -> Hit | None:
    path = _resolved(effect.path, places)
    target = everything_in(path) or path
    zone = places.zone(target)
    if zone in _CRITICAL or zone == "project":
        return _hit(
            "filesystem.move-critical",
            "deny",
            effect,
            f"moves {shown(target)} away",
            _SAFER.get(zone, _INSPECT),
        )
    if effect.note == "/dev/null" or effect.note.startswith("/dev/"):
        return _hit("filesystem.move-into-device", "deny", effect, "moves files onto a device, where they are lost")
    below = places.below_home(target) if zone == "personal" else None
    if below is not None and below.startswith("."):
        return _hit(
            "filesystem.move-personal",
            "ask",
            effect,
            f"moves {shown(target)} out of its place in your home directory",
        )
    return None


def _write(effect: Effect, places: Places) -> Hit | None:
    path = places.resolve("/", effect.path) if not effect.path.startswith(UNKNOWN) else effect.path
    zone = places.zone(path)
    if zone == "device":
        return _hit("filesystem.write-device", "deny", effect, f"writes straight onto the device {shown(path)}",
                    "write to a file in the project instead")  # fmt: skip
    if zone in ("system", "root"):
        return _system_write(effect, path)
    if zone == "home" and effect.note == "move":
        return None
    if zone == "personal":
        return _personal_write(effect, places, path)
    if zone == "elsewhere" and effect.place != "remote" and effect.note != "link":
        return _hit(
            "filesystem.write-outside",
            "ask",
            effect,
            f"writes {shown(path)}, outside the project",
            "write inside the project or to /tmp",
        )
    if zone in ("inside", "project") and effect.note == "empty" and not path.endswith(".gitkeep"):
        return (
            _hit("filesystem.empty-file", "ask", effect, f"empties {shown(path)}")
            if not is_regenerable(folded(path).rpartition("/")[2])
            else None
        )
    return None


def _system_write(effect: Effect, path: str) -> Hit | None:
    if re.match(r"/(?:proc/(?:self|thread-self)/fd|proc/self/oom|sys/fs/cgroup/$)", path):
        return None
    return _hit("filesystem.write-system", "deny", effect, f"changes {shown(path)}, which belongs to the system")


def _personal_write(effect: Effect, places: Places, path: str) -> Hit | None:
    below = places.below_home(path) or ""
    if STARTUP.match(below) or (effect.note in ("move", "copy") and STARTUP.match(below + "/x")):
        decision = "ask" if effect.note == "append" else "deny"
        return _hit(
            "filesystem.write-startup",
            decision,
            effect,
            f"changes ~/{shown(below)}, which other programs run or trust",
        )
    if effect.note != "append" and known(path) and os.path.isfile(path):
        return _hit("filesystem.overwrite-personal", "ask", effect, f"overwrites {shown(path)} in your home directory")
    return None


def _unpack(effect: Effect, places: Places) -> Hit | None:
    zone = places.zone(places.resolve("/", effect.path))
    if zone in ("root", "system", "home"):
        return _hit(
            "filesystem.unpack-over",
            "ask",
            effect,
            f"unpacks an archive over {shown(effect.path)}",
            "unpack into an empty directory",
        )
    return None


def _permission(effect: Effect, places: Places) -> Hit | None:
    path = places.resolve("/", effect.path) if not effect.path.startswith(UNKNOWN) else effect.path
    whole = everything_in(path)
    zone = places.zone(whole or path)
    program, _, mode = effect.note.partition(" ")
    if zone in _CRITICAL or (zone == "unknown" and effect.many):
        decision = "deny" if zone in _CRITICAL and (effect.many or zone != "device") else "ask"
        return _hit("filesystem.permission-critical", decision, effect, f"changes rights or owner of {shown(path)}")
    if _opens_secret(path, mode):
        return _hit("filesystem.permission-secret", "ask", effect, f"lets others read {shown(path)}", "`chmod 600`")
    if re.search(r"\A[0-7]?[4267][0-7]{3}\Z|[+=][rwxX]*s", mode) and not re.match(r"[01]?[0-7]{3}\Z", mode):
        return _hit("filesystem.setuid", "ask", effect, f"lets everyone run {shown(path)} with its owner's rights")
    if (re.match(r"0?[0-7]{0,2}[2367]\Z", mode) and len(mode) >= 3) or re.match(
        r"(?:a|o|ugo|go|uo)[+=][rx]*w|\+w?rwx", mode
    ):
        return _hit("filesystem.world-writable", "ask", effect, f"lets every user of this machine change {shown(path)}",
                    "give the rights to the owner only: `chmod u+rwX`")  # fmt: skip
    if re.match(r"0?000\Z|(?:a|ugo)?-rwx", mode) and zone not in ("inside", "scratch", "cache"):
        return _hit("filesystem.permission-outside", "ask", effect, f"takes all rights to {shown(path)} away")
    if program in ("chown", "chgrp") and re.match(r"(?:root|0)(?::|\Z)", mode):
        return _hit("filesystem.chown-root", "ask", effect, f"gives {shown(path)} to root")
    if effect.many and (zone == "elsewhere" or (zone == "personal" and not known(path))):
        return _hit(
            "filesystem.permission-outside",
            "ask",
            effect,
            f"changes rights of {shown(path)}, outside the project",
        )
    return None


def _opens_secret(path: str, mode: str) -> bool:
    from fairlead.guard.packs.secret_files import is_secret

    return re.match(r"0?[0-7](?:[4-7][0-7]|[0-7][4-7])\Z|[goa]*\+r", mode) is not None and is_secret(path)


def _hit(rule: str, decision: str, effect: Effect, text: str, suggestion: str = "") -> Hit:
    return rule, decision, f"`{effect.words}` {text}", suggestion


_JUDGES = {
    "delete": _delete,
    "move": _move,
    "write": _write,
    "permission": _permission,
    "unpack": _unpack,
}
