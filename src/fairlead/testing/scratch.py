"""A scratch copy of a project, in a home of its own: what hooks do there harms nobody.

What git knows or would add is copied, with git's own state beside it; what a hook has changed is put back before the
next case. It protects from accidents, not from malice: hooks are programs, and run as their user.
"""

from __future__ import annotations

import os
import stat

from fairlead.errors import UsageError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping
    from contextlib import AbstractContextManager
    from typing import Self

    from fairlead.api import Hooks
    from fairlead.testing.cases import Where

    State = tuple[int, ...]

MOST_FILES = 100_000
MOST_BYTES = 2 << 30
_SKIPPED = frozenset(
    ".git .hg .svn node_modules .venv venv __pycache__ .tox .nox .mypy_cache .ruff_cache .pytest_cache".split()
)
"""Where there is no git to say what belongs to a project."""
_DROPPED = frozenset(
    "CLAUDE_CONFIG_DIR CODEX_HOME GEMINI_CLI_HOME QWEN_HOME COPILOT_HOME XDG_CONFIG_HOME XDG_STATE_HOME XDG_CACHE_HOME "
    "XDG_DATA_HOME XDG_RUNTIME_DIR OLDPWD GIT_ALTERNATE_OBJECT_DIRECTORIES GIT_CONFIG GIT_CONFIG_PARAMETERS "
    "GIT_CONFIG_COUNT GIT_OBJECT_DIRECTORY GIT_DIR GIT_WORK_TREE GIT_IMPLICIT_WORK_TREE GIT_GRAFT_FILE GIT_INDEX_FILE "
    "GIT_NO_REPLACE_OBJECTS GIT_REPLACE_REF_BASE GIT_PREFIX GIT_SHALLOW_FILE GIT_COMMON_DIR".split()
)
"""What would lead a hook, or git, out of the copy."""
_KEPT_BY_USER = frozenset(name for name in _DROPPED if not name.startswith(("GIT_", "XDG_STATE", "XDG_CACHE", "OLD")))
_TOOLS = {
    "PYTHONUSERBASE": ".local", "PYENV_ROOT": ".pyenv", "RBENV_ROOT": ".rbenv", "NVM_DIR": ".nvm", "GOPATH": "go",
    "RUSTUP_HOME": ".rustup", "CARGO_HOME": ".cargo", "ASDF_DATA_DIR": ".asdf", "VOLTA_HOME": ".volta",
}  # fmt: skip
"""Programs that are installed below a home find themselves by these."""


class Scratch:
    """A copy of `project` below `folder`, which is made for it. Leave it with `remove`, or as a context manager.

    `user`: with the user's own hooks and the machine's too; then hooks have the real home.
    `online`: git may reach its remotes.
    """

    def __init__(
        self,
        project: str | os.PathLike[str],
        folder: str | os.PathLike[str] = "",
        *,
        user: bool = False,
        online: bool = False,
        copy: Iterable[str] = (),
        leave_out: Iterable[str] = (),
    ) -> None:
        self.source = os.path.realpath(project)
        self.folder = _made(folder)
        self.user = user
        self.online = online
        self._copy = tuple(copy)
        self._leave_out = tuple(leave_out)
        self._origins: dict[str, str | bytes] = {}
        self._as_made: dict[str, State] = {}
        self._in_project: dict[str, State] = {}
        self._root = os.path.join(self.folder, "home")
        try:
            self._build()
        except BaseException:
            self.remove()
            raise

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_error: object) -> None:
        self.remove()

    def remove(self) -> None:
        _remove(self.folder)

    @property
    def home(self) -> str:
        return os.path.expanduser("~") if self.user else self._root

    @property
    def where(self) -> Where:
        from fairlead.testing.cases import Where

        return Where(project=self.project, home=self.home)

    def environ(self, base: Mapping[str, str] | None = None) -> dict[str, str]:
        """What hooks find in their environment."""
        from fairlead.process import MARK

        base = os.environ if base is None else base
        dropped = _DROPPED - _KEPT_BY_USER if self.user else _DROPPED
        kept = {
            name: value
            for name, value in base.items()
            if name not in dropped and (name == MARK or not name.startswith("FAIRLEAD_"))
        }
        own = {"TMPDIR": self._temporary, "TMP": self._temporary, "TEMP": self._temporary, "PWD": self.project}
        own |= {"XDG_STATE_HOME": f"{self.folder}/state", "XDG_CACHE_HOME": f"{self.folder}/cache"}
        own["FAIRLEAD_JOURNAL"] = "off"
        if not self.user:
            own |= {"HOME": self._root, **_installed(base)}
        if not self.online:
            own |= {"GIT_ALLOW_PROTOCOL": "none", "GIT_TERMINAL_PROMPT": "0"}
        return {**kept, **own}

    def hooks(self, *, agent: str = "", active: Iterable[str] = ()) -> Hooks:
        """The project's hooks, as they would run here. Whoever asks for them vouches for them."""
        from fairlead.api import Hooks

        return Hooks.load(
            self.project,
            home=self.home,
            environ=self.environ(),
            managed="/etc" if self.user else os.path.join(self.folder, "etc"),
            agent=agent,
            active=active,
            trust_project=True,
        )

    def inside(self, *, alone: bool = False) -> AbstractContextManager[None]:
        """For hooks that are functions in this process: where they look and write is the copy too.

        `alone`: nobody else here imports what lies in the project itself.
        """
        from contextlib import contextmanager

        return contextmanager(self._inside)(alone)

    def _inside(self, alone: bool) -> Iterator[None]:
        import sys

        before, folder, silent, paths = dict(os.environ), _here(), sys.dont_write_bytecode, list(sys.path)
        try:
            _set_environ(self.environ())
            os.chdir(self.project)
            sys.dont_write_bytecode = True
            if alone:
                sys.path[:] = [place for place in paths if not place or os.path.realpath(place) != self.source]
            yield
        finally:
            sys.dont_write_bytecode = silent
            sys.path[:] = paths
            os.chdir(folder)
            _set_environ(before)
            self._forget_modules()

    def _forget_modules(self) -> None:
        """The next case finds them as if they had never been imported."""
        import sys

        below = self.folder + os.sep
        for name, module in list(sys.modules.items()):
            if str(getattr(module, "__file__", None) or "").startswith(below):
                del sys.modules[name]

    def restore(self) -> None:
        """As it was when it was made, whatever hooks have done since."""
        _remove(self._temporary)
        os.mkdir(self._temporary, 0o700)
        for name in ("state", "cache"):
            _remove(os.path.join(self.folder, name))
        now = dict(_look(self._root))
        if now == self._as_made:
            return
        for path in sorted(now.keys() - self._as_made.keys()):
            _remove(os.path.join(self._root, path))
        for path, state in sorted(self._as_made.items()):
            if now.get(path) != state:
                self._put_back(path)
        self._as_made = dict(_look(self._root))

    # --- making it -----------------------------------------------------------------------------------

    def _build(self) -> None:
        repository = _Repository.around(self.source)
        top = repository.top if repository else self.source
        tree = os.path.join(self._root, os.path.basename(top) or "project")
        self.project = os.path.normpath(os.path.join(tree, os.path.relpath(self.source, top)))
        self._temporary = os.path.join(self.folder, "tmp")
        os.makedirs(self.project, mode=0o700)
        os.mkdir(self._temporary, 0o700)
        inside = os.path.relpath(self.project, self._root)
        size = 0
        for path in self._paths(repository):
            source = os.path.join(self.source, path)
            size += os.lstat(source).st_size
            self._origins[os.path.join(inside, path)] = source
            if len(self._origins) > MOST_FILES or size > MOST_BYTES:
                raise _too_much(self.source)
        if repository:
            self._origins |= {
                os.path.join(os.path.relpath(tree, self._root), ".git", path): source
                for path, source in repository.state()
            }
        for path in self._origins:
            self._put(path)
        self._as_made = dict(_look(self._root))
        self._has_git = repository is not None
        self._in_project = self._states()

    def changed_outside(self) -> list[str]:
        """What has changed in the project itself since the copy was made. No hook is kept from writing to a place that
        it names by its whole path, so somebody should know."""
        now = self._states()
        names = sorted(now.keys() | self._in_project.keys())
        return [name for name in names if now.get(name) != self._in_project.get(name)]

    def _states(self) -> dict[str, State]:
        found: dict[str, State] = {}
        for path in self._listed(has_git=self._has_git):
            try:
                about = os.lstat(os.path.join(self.source, path))
            except OSError:  # git knows it, and it has gone
                continue
            found[path] = (about.st_mode, about.st_size, about.st_ino, about.st_ctime_ns)
        return found

    def _listed(self, *, has_git: bool) -> Iterator[str]:
        return _known_to_git(self.source) if has_git else _walked(self.source, _SKIPPED)

    def _paths(self, repository: _Repository | None) -> Iterator[str]:
        """What is copied, relative to the project."""
        seen: set[str] = set()
        found = [*self._listed(has_git=repository is not None), *self._more()]
        for path in found:
            if path not in seen and not _is_named(path, self._leave_out) and _is_there(os.path.join(self.source, path)):
                seen.add(path)
                yield path

    def _more(self) -> Iterator[str]:
        """What is wanted beside what git knows: with `user`, also the settings that are not shared with others."""
        import glob

        for pattern in self._copy:
            for name in glob.glob(pattern, root_dir=self.source, recursive=True, include_hidden=True):
                yield from _below(self.source, os.path.normpath(name))
        if self.user:
            from fairlead.api import Hooks
            from fairlead.explaining import files

            for file in files(Hooks.load(self.source).setting):
                if file.startswith(self.source + os.sep):
                    yield os.path.relpath(file, self.source)

    def _put(self, path: str) -> None:
        import shutil

        target, source = os.path.join(self._root, path), self._origins[path]
        os.makedirs(os.path.dirname(target), exist_ok=True)
        if isinstance(source, bytes):
            with open(target, "wb") as file:
                file.write(source)
        elif os.path.islink(source):
            os.symlink(self._link(os.readlink(source)), target)
        else:
            shutil.copy2(source, target)
            os.chmod(target, os.stat(target).st_mode | stat.S_IWUSR | stat.S_IRUSR)

    def _link(self, goal: str) -> str:
        """A link into the project leads into the copy; any other stays what it is."""
        inside = goal == self.source or goal.startswith(self.source + os.sep)
        return self.project + goal[len(self.source) :] if inside else goal

    def _put_back(self, path: str) -> None:
        target = os.path.join(self._root, path)
        if path in self._origins:
            _remove(target)
            self._put(path)
        elif not os.path.isdir(target) or os.path.islink(target):
            _remove(target)
            os.makedirs(target, exist_ok=True)
        else:
            os.chmod(target, stat.S_IMODE(self._as_made[path][0]))


def _made(folder: str | os.PathLike[str]) -> str:
    import tempfile

    if folder:
        os.makedirs(folder, mode=0o700, exist_ok=True)
        return os.path.realpath(folder)
    return os.path.realpath(tempfile.mkdtemp(prefix="fairlead-test-"))


def _too_much(project: str) -> UsageError:
    hint = 'name what hooks do not need in fairlead.tests.toml: [scratch] leave_out = ["data"]'
    limits = f"{MOST_FILES:,} files or {MOST_BYTES >> 30} GiB"
    return UsageError(f"{project} has more than {limits}: too much for a scratch copy", hint=hint)


def _installed(environ: Mapping[str, str]) -> dict[str, str]:
    home = environ.get("HOME", "")
    places = {name: os.path.join(home, place) for name, place in _TOOLS.items() if home and name not in environ}
    return {name: place for name, place in places.items() if os.path.isdir(place)}


def _set_environ(values: Mapping[str, str]) -> None:
    for name in [name for name in os.environ if name not in values]:
        del os.environ[name]
    os.environ.update(values)


def _here() -> str:
    try:
        return os.getcwd()
    except FileNotFoundError:
        return "/"


# --- what there is to copy ---------------------------------------------------------------------------


class _Repository:
    """Git's own state of a project: enough for `git status`, `git log` and `git commit` in the copy."""

    def __init__(self, top: str, own: str, common: str) -> None:
        self.top = top
        self._own = own
        """Of this working tree: where a project has several, the others have theirs."""
        self._common = common

    @classmethod
    def around(cls, project: str) -> _Repository | None:
        found = _git(project, "rev-parse", "--path-format=absolute", "--show-toplevel", "--git-dir", "--git-common-dir")
        lines = [os.path.realpath(line) for line in found.splitlines()] if found else []
        is_ours = len(lines) == 3 and (project == lines[0] or project.startswith(lines[0] + os.sep))
        return cls(*lines) if is_ours else None

    def state(self) -> Iterator[tuple[str, str | bytes]]:
        """Path below `.git`, and the file or the bytes for it. Objects are read where they are, never copied."""
        for name in os.listdir(self._own):
            if name in ("HEAD", "index", "config.worktree") or name.startswith("sharedindex."):
                yield name, os.path.join(self._own, name)
        for name in ("packed-refs", "shallow", "refs", "reftable", "info"):
            for path in _below(self._common, name):
                yield path, os.path.join(self._common, path)
        yield "config", self._config()
        yield "objects/info/alternates", os.fsencode(os.path.join(self._common, "objects")) + b"\n"
        yield "refs/.keep", b""

    def _config(self) -> bytes:
        """Without what leads back into the real working tree."""
        with open(os.path.join(self._common, "config"), "rb") as file:
            text = file.read()
        return text.rstrip(b"\n") + b"\n[core]\n\tbare = false\n\tfsmonitor = false\n\tworktree = ..\n"


def _git(folder: str, *words: str) -> str:
    """What git prints; empty where it has nothing to say."""
    import subprocess

    environ = {name: value for name, value in os.environ.items() if name not in _DROPPED}
    try:
        done = subprocess.run(  # whichever git the user has
            ["git", *words],  # noqa: S607
            cwd=folder,
            env=environ,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            check=False,
        )
    except OSError:  # there is none
        return ""
    return os.fsdecode(done.stdout) if done.returncode == 0 else ""


def _known_to_git(folder: str) -> Iterator[str]:
    """Files that are tracked, or would be; those of repositories inside of it too."""
    listed = _git(folder, "ls-files", "-z", "--cached", "--others", "--exclude-standard", "--deduplicate")
    for path in filter(None, listed.split("\0")):
        inner = os.path.join(folder, path)
        if os.path.isdir(inner) and not os.path.islink(inner):
            yield from (os.path.join(path.rstrip("/"), name) for name in _known_to_git(inner) if path.rstrip("/"))
        else:
            yield path


def _walked(folder: str, skipped: frozenset[str]) -> Iterator[str]:
    for place, folders, names in os.walk(folder):
        inside = os.path.relpath(place, folder)
        links = [name for name in folders if os.path.islink(os.path.join(place, name))]
        folders[:] = sorted(name for name in folders if name not in skipped and name not in links)
        for name in (*links, *names):
            if name not in skipped:
                yield os.path.normpath(os.path.join(inside, name))


def _below(folder: str, name: str) -> Iterator[str]:
    """A file, or all files in a folder, relative to where it lies."""
    place = os.path.join(folder, name)
    if os.path.isdir(place) and not os.path.islink(place):
        for path in _walked(place, frozenset()):
            yield os.path.join(name, path)
    elif os.path.lexists(place):
        yield name


def _is_named(path: str, patterns: Iterable[str]) -> bool:
    """By a pattern for it, or for a folder that it is in."""
    from fnmatch import fnmatchcase

    parts = path.split(os.sep)
    places = [os.sep.join(parts[:count]) for count in range(1, len(parts) + 1)]
    return any(fnmatchcase(place, pattern.rstrip("/")) for pattern in patterns for place in places)


def _is_there(path: str) -> bool:
    """Something that can be copied: no pipe, no socket, nothing that only others may read."""
    try:
        mode = os.lstat(path).st_mode
    except OSError:
        return False
    return stat.S_ISLNK(mode) or (stat.S_ISREG(mode) and os.access(path, os.R_OK))


# --- what has become of it ---------------------------------------------------------------------------


def _look(root: str, inside: str = "") -> Iterator[tuple[str, State]]:
    """The state of everything below; the time of a change cannot be set back by whoever made it."""
    with os.scandir(os.path.join(root, inside)) as found:
        entries = sorted(found, key=lambda entry: entry.name)
    for entry in entries:
        path = os.path.join(inside, entry.name)
        about = entry.stat(follow_symlinks=False)
        if entry.is_dir(follow_symlinks=False):
            yield path, (about.st_mode,)
            if os.access(entry.path, os.R_OK | os.X_OK):
                yield from _look(root, path)
        else:
            yield path, (about.st_mode, about.st_size, about.st_ino, about.st_ctime_ns)


def _remove(path: str) -> None:
    import shutil

    if not os.path.isdir(path) or os.path.islink(path):
        try:
            os.unlink(path)
        except OSError:  # it has gone already, or nobody can
            pass
        return
    for place, folders, _ in os.walk(path):  # what cannot be written cannot be emptied
        for name in ("", *folders):
            inner = os.path.join(place, name)
            if not os.path.islink(inner):
                os.chmod(inner, 0o700)
    shutil.rmtree(path, ignore_errors=True)
