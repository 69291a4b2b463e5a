"""Where Fairlead keeps what it must remember for a user."""

from __future__ import annotations

import os

from fairlead.errors import ConfigError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping


def state_folder(environ: Mapping[str, str], home: str = "") -> str:
    """Its path; whoever writes there makes it, for its owner alone."""
    base = environ.get("XDG_STATE_HOME", "")
    if not os.path.isabs(base):
        base = f"{(home or home_of(environ)).rstrip('/')}/.local/state"
    return f"{base.rstrip('/')}/fairlead"


def make_private(folder: str) -> None:
    """Make a folder, and those around it that are missing, for their owner alone."""
    if not os.path.isdir(folder):
        make_private(os.path.dirname(folder))
        try:
            os.mkdir(folder, 0o700)
        except FileExistsError:  # another process was faster; or it is no folder, which its user will say
            pass


def home_of(environ: Mapping[str, str]) -> str:
    """Of whoever has this environment: never that of ours, where it is another."""
    return environ.get("HOME") or _registered_home()


def _registered_home() -> str:
    import pwd

    try:
        return pwd.getpwuid(os.getuid()).pw_dir
    except KeyError:  # a user without an entry, as in containers
        return "/"


def hook_socket(environ: Mapping[str, str], home: str = "") -> str:
    """Where `fairlead serve` hears the events of this user's agents."""
    return os.path.join(state_folder(environ, home), "hook.sock")


def hook_token(environ: Mapping[str, str], home: str = "") -> str:
    """The file with the key that may send events over HTTP, and nothing else."""
    return os.path.join(state_folder(environ, home), "hook-token")


def temporary(environ: Mapping[str, str]) -> str:
    """Where whoever has this environment puts files that nobody keeps."""
    named = [environ.get(name, "") for name in ("TMPDIR", "TEMP", "TMP")]
    usual = ("/tmp", "/var/tmp")  # noqa: S108  # what lies there has a name that nobody can guess
    usable = (place for place in (*named, *usual) if place.startswith("/") and os.access(place, os.W_OK))
    return next((place for place in usable if os.path.isdir(place)), "/")


# --- whose they are ----------------------------------------------------------------------------------

_OWN = ("HOME", "XDG_CONFIG_HOME", "XDG_STATE_HOME")
_OF_AGENTS = ("CLAUDE_CONFIG_DIR", "CODEX_HOME", "GEMINI_CLI_HOME", "QWEN_HOME", "COPILOT_HOME")


def check(environ: Mapping[str, str], project: str, home: str = "") -> None:
    """Raises ConfigError where our own folders are a repository's, or where others can write into them."""
    for name in _OWN:
        if lies_in(environ.get(name, ""), project):
            where = f"{name} is {environ[name]}, which lies in the project {project}"
            raise ConfigError(f"{where}: a repository must not bring its own settings for Fairlead", hint=_UNSET)
    base = environ.get("XDG_CONFIG_HOME", "")
    base = base if os.path.isabs(base) else os.path.join(home or home_of(environ), ".config")
    config = os.path.join(base, "fairlead")
    _check_owner(config, (os.getuid(), 0))
    _check_owner(os.path.join(config, "fairlead.toml"), (os.getuid(), 0))
    _check_owner(state_folder(environ, home), (os.getuid(),))


_UNSET = "unset it, or let it lead out of the project"


def moved_into(environ: Mapping[str, str], project: str) -> list[tuple[str, str]]:
    """Variables that lead another agent's folder of the user into the project, and where."""
    return [(name, environ[name]) for name in _OF_AGENTS if lies_in(environ.get(name, ""), project)]


def may_be_redirected(environ: Mapping[str, str], project: str) -> bool:
    """Whether the project may have set some of these variables: a guess that costs a few looks."""
    return bool(environ.get("XDG_CACHE_HOME")) or any(os.path.exists(f"{project}/{file}") for file in SETTING_FILES)


SETTING_FILES = (".claude/settings.json", ".claude/settings.local.json", ".env", ".gemini/.env", ".qwen/.env")


def lies_in(folder: str, project: str) -> bool:
    """Whether a folder that a variable names is the project's; not where the user's real home lies in it, too."""
    if not os.path.isabs(folder):
        return False
    root = _repository(os.path.realpath(project))
    return _is_in(os.path.realpath(folder), root) and not _is_in(os.path.realpath(_registered_home()), root)


def _is_in(path: str, root: str) -> bool:
    return path == root or path.startswith(root.rstrip(os.sep) + os.sep)


def _repository(project: str) -> str:
    """The whole of it, where the project is a folder in one."""
    folder = project
    while not os.path.exists(os.path.join(folder, ".git")):
        if folder == os.path.dirname(folder):
            return project
        folder = os.path.dirname(folder)
    return folder


def _check_owner(path: str, owners: tuple[int, ...]) -> None:
    try:
        found = os.stat(path)
    except OSError:  # not there: whoever makes it is its owner
        return
    if found.st_uid not in owners:
        raise ConfigError(f"{path} belongs to another user ({found.st_uid})", hint="make it yours, or move it away")
    own_group = found.st_gid == found.st_uid  # as many systems have it: a group of one
    if found.st_mode & (0o002 if own_group else 0o022):
        raise ConfigError(f"others can write to {path}", hint=f"chmod go-w {path}")
