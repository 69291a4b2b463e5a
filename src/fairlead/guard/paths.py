"""Where a path leads, and what lies there."""

from __future__ import annotations

import os
import re
import unicodedata

from fairlead.guard._lazy import lazy
from fairlead.guard.shell.nodes import ANY, STAR, UNKNOWN

_MARKED = lazy(f"[{UNKNOWN}{STAR}{ANY}]")
_WHOLE = lazy(f"[{STAR}{ANY}.]*{STAR}[{STAR}{ANY}.]*\\Z")
_PROC_ROOT = lazy(r"\A/proc/(?:self|thread-self|\d+|\0)/(?:task/[^/]+/)?root(?=/|\Z)")
_DRIVE = lazy(r"\A/?([A-Za-z]):(?:[\\/]|\Z)|\A([A-Z]):|\A/mnt/([a-z])(?=/|\Z)")
_IGNORED = lazy(r"[\u200b-\u200f\u2060\ufeff\u00ad]")

SYSTEM = frozenset(
    [
        "bin",
        "boot",
        "dev",
        "etc",
        "lib",
        "lib32",
        "lib64",
        "libx32",
        "opt",
        "proc",
        "root",
        "run",
        "sbin",
        "srv",
        "sys",
        "usr",
        "var",
        "system",
        "library",
        "applications",
        "private",
        "volumes",
        "windows",
    ]
)
_CACHES = (
    ".cache", ".npm", ".yarn/cache", ".pnpm-store", ".gradle/caches", ".gradle/daemon",
    ".m2/repository", ".cargo/registry", ".cargo/git", ".nuget/packages", ".composer/cache",
    ".bun/install/cache", ".local/share/pnpm/store", ".rustup/downloads", ".rustup/tmp",
    "library/caches", "library/developer/xcode/deriveddata", "library/logs", "go/pkg/mod",
    ".local/share/trash", ".trash", ".pytest_cache", ".mypy_cache", ".deno", ".terraform.d/plugin-cache",
)  # fmt: skip
_QUIET_DEVICES = frozenset(
    [
        "null",
        "stdout",
        "stderr",
        "stdin",
        "tty",
        "zero",
        "random",
        "urandom",
        "full",
        "fd",
        "pts",
        "shm",
        "ptmx",
    ]
)
_DEEPEST = 500


def join(directory: str, path: str) -> str:
    """Return path as seen from directory, without ``.``, ``..`` and doubled slashes."""
    joined = path if path[:1] == "/" else f"{directory}/{path}" if path else directory
    if _is_plain(joined) and path[:1] != UNKNOWN:
        return joined
    path = _native(path)
    if path.startswith(UNKNOWN):
        return UNKNOWN + _normal(path[1:]).rstrip("/") if path[1:2] == "/" else path
    if not path.startswith("/"):
        path = f"{directory}/{path}"
        if directory.startswith(UNKNOWN):
            return UNKNOWN + _normal(path[1:]).rstrip("/")
    return _normal(_PROC_ROOT.sub("", _normal(path)) or "/")


def _is_plain(path: str) -> bool:
    """Say whether nothing in an absolute path stands for something else; most paths are so."""
    return (
        "/." not in path
        and "//" not in path
        and ":" not in path
        and path[:1] == "/"
        and path[-1:] != "/"
        and not path.startswith(("/proc/", "/mnt/"))
    )


def _native(path: str) -> str:
    path = path.removeprefix("file://")
    drive = _DRIVE.match(path) if ":" in path or path.startswith("/mnt/") else None
    if drive is None:
        return path
    rest = path[drive.end() :].replace("\\", "/").lstrip("/")
    letter = (drive[1] or drive[2] or drive[3]).lower()
    return "/" + (rest if letter == "c" else f"mnt/{letter}/{rest}")


def _normal(path: str) -> str:
    if "/." not in path and "//" not in path and not path.endswith("/"):
        return path
    kept: list[str] = []
    for part in path.split("/"):
        if part == "..":
            if kept:
                kept.pop()
        elif part not in ("", "."):
            kept.append(part)
    return "/" + "/".join(kept)


def folded(path: str) -> str:
    """Return the form in which protected names are compared."""
    if path.isascii():
        return path.lower()
    return _IGNORED.sub("", unicodedata.normalize("NFKC", path)).casefold()


def known(path: str) -> bool:
    """Say whether every part of path is known."""
    return _MARKED.search(path) is None


class TooDeepError(Exception):
    """More names in one path than any disk has; the caller asks a person."""


class Places:
    """The zones of this machine, seen from one project."""

    def __init__(self, project: str, home: str) -> None:
        self.project = _normal(project) if project else ""
        self.home = _normal(home)
        self._seen: dict[str, str] = {}
        self._resolved: dict[tuple[str, str], str] = {}
        self._missing: set[str] = set()
        self._real_project = self._real(self.project) if self.project else ""
        self._bases = tuple(base for base in (self.project, self._real_project) if base and base != "/")
        self._below = tuple(f"{base}/" for base in self._bases)

    def resolve(self, cwd: str, path: str) -> str:
        """Return the absolute path that this one leads to, through links that exist."""
        found = self._resolved.get((cwd, path))
        if found is None:
            joined = join(cwd, path)
            if joined.count("/") > _DEEPEST:
                raise TooDeepError
            found = self._real(joined) if known(joined) else self._real_head(joined)
            self._resolved[cwd, path] = found
        return found

    def forget(self) -> None:
        """Start a new question: links may have changed since the last one."""
        self._seen.clear()
        self._resolved.clear()
        self._missing.clear()

    def _real(self, path: str) -> str:
        """Resolve links; directories that several paths share are looked at once."""
        if path in self._seen:
            return self._seen[path]
        parent, _, name = path.rpartition("/")
        full = f"{self._real(parent) if parent else ''}/{name}".replace("//", "/")
        if parent in self._missing:
            self._missing.add(path)
        else:
            full = self._target(path, full)
        self._seen[path] = full
        return full

    def _target(self, path: str, full: str) -> str:
        try:
            os.readlink(full)
            return os.path.realpath(full)
        except FileNotFoundError:
            self._missing.add(path)
        except (OSError, ValueError):
            pass
        return full

    def _real_head(self, path: str) -> str:
        """Resolve the part of path before the first unknown name."""
        head, slash, tail = _split_known(path)
        if not head:
            return path
        return (self._real(head) if head != "/" else "").rstrip("/") + slash + tail

    def inside(self, path: str) -> bool:
        """Say whether path is the project or below it, by whole names."""
        return path in self._bases or path.startswith(self._below)

    def is_project(self, path: str) -> bool:
        return bool(self.project) and path in (self.project, self._real_project)

    def below_home(self, path: str) -> str | None:
        """Return path relative to home in folded form, or None."""
        home, path = folded(self.home), folded(path)
        if path == home:
            return ""
        if path.startswith(home + "/"):
            return path[len(home) + 1 :]
        match = re.match(r"/(?:home|users)/[^/]+(?:/(.*))?\Z", path)
        if match:
            return match[1] or ""
        if path == "/root" or path.startswith("/root/"):
            return path[6:]
        return None

    def zone(self, path: str) -> str:
        """Return what kind of place path is.

        One of: root, home, homes, system, device, quiet (``/dev/null``), project, inside, tmp,
        scratch (below tmp), cache, personal (below home), unknown, elsewhere.
        """
        if self.is_project(path):
            return "project"
        if self.inside(path):
            return "inside"
        if path.startswith(UNKNOWN):
            return "unknown"
        return self._outside(path)

    def _outside(self, path: str) -> str:
        parts = folded(path).split("/")[1:]
        if parts == [""]:
            return "root"
        if parts[0] == "dev":
            return self._device(parts)
        below = self.below_home(path)
        if below is not None and not (below and _temporary(folded(self.home).split("/")[1:]) == "tmp"):
            return self._personal(below)  # also where the home is below /tmp
        temporary = _temporary(parts)
        if temporary:
            return temporary
        if parts[0] in ("home", "users"):
            return "homes"
        if parts[0] in SYSTEM or parts[0].startswith("program files"):
            return "system"
        return "elsewhere"

    @staticmethod
    def _device(parts: list[str]) -> str:
        if len(parts) > 1 and parts[1] in _QUIET_DEVICES:
            return "scratch" if parts[1] == "shm" and len(parts) > 2 else "quiet"
        return "device" if len(parts) > 1 else "system"

    @staticmethod
    def _personal(below: str) -> str:
        if not below:
            return "home"
        if any(below == cache or below.startswith(cache + "/") for cache in _CACHES):
            return "cache"
        return "personal"


def _temporary(parts: list[str]) -> str:
    """`tmp` for a directory of temporary files, `scratch` for what is in it."""
    if parts[0] in ("tmp", "temp"):
        return "scratch" if parts[1:] else "tmp"
    if parts[:2] in (["var", "tmp"], ["private", "tmp"], ["var", "folders"]):
        return "scratch" if parts[2:] else "tmp"
    return ""


def _split_known(path: str) -> tuple[str, str, str]:
    match = _MARKED.search(path)
    cut = path.rfind("/", 0, match.start()) if match else len(path)
    if cut < 0:
        return "", "", path
    return path[:cut] or "/", "/", path[cut + 1 :]


def everything_in(path: str) -> str | None:
    """Return the directory whose whole content a glob such as ``dir/*`` names, or None."""
    head, _, last = path.rpartition("/")
    if _WHOLE.match(last):
        return everything_in(head) or head or "/"
    return None


def first_unknown_parent(path: str) -> str:
    """Return the known directory in which the first unknown name of path lies."""
    return _split_known(path)[0]
