"""Configuration files as plain values: JSON, TOML, and the YAML front matter of Markdown files.

Reading has no side effects beyond a cache of parsed TOML in the user's own cache directory: `tomllib`
costs more at import than the rest of the cold path. A cached value stands beside the very text that
it was parsed from, and counts only for that text.
"""

from __future__ import annotations

import os
import stat

from fairlead import wire
from fairlead.errors import ConfigError, InputError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any


_CACHE_LIMIT = 300
LARGEST_TOML = 1 << 20
LARGEST_FRONT_MATTER = 1 << 16
"""Characters; its reader needs a second for twice as many."""
_DEEPEST = 100
_MOST_VALUES = 100_000
_MOST_MERGED = 10_000


def read_text(path: str) -> str | None:
    """The text of a file; None where there is none. Raises ConfigError for what cannot be read."""
    try:
        # Without waiting: a named pipe in its place would hold every tool call up.
        with os.fdopen(os.open(path, os.O_RDONLY | os.O_NONBLOCK), "rb") as file:
            if not stat.S_ISREG(os.fstat(file.fileno()).st_mode):
                raise ConfigError("is not a regular file")
            raw = file.read()
    except (FileNotFoundError, NotADirectoryError):
        return None
    except OSError as error:
        raise ConfigError(f"cannot be read: {error.strerror}") from None
    try:
        return raw.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise ConfigError(f"is not UTF-8 text (byte {error.start})", hint="save it as UTF-8") from None


class BadDocument(ConfigError):  # noqa: N818  # the family's name says that it is an error
    """A file that cannot be parsed, with the place."""

    def __init__(self, message: str, line: int, column: int, hint: str = "") -> None:
        super().__init__(message, hint=hint)
        self.line = line
        self.column = column


def parse_json(text: str) -> Any:
    """Keys that stand there twice cost nothing, and what is nested too deeply only itself: see `repeated_keys` and
    `too_deep`."""
    try:
        return wire.decode(text)
    except InputError as error:
        import json

        try:
            return json.loads(wire.shallow(text), object_pairs_hook=_all_of, parse_constant=float)
        except json.JSONDecodeError as place:
            raise BadDocument(f"not JSON: {place.msg}", place.lineno, place.colno, _json_hint(text)) from None
        except (ValueError, RecursionError):
            raise BadDocument(str(error), 1, 1) from None


def _all_of(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """Of two lists or objects under one key, both; of anything else the last, as every reader takes it."""
    found: dict[str, Any] = {}
    for key, value in pairs:
        found[key] = _both(found[key], value) if key in found else value
    return found


def _both(before: Any, value: Any) -> Any:
    """In place: nobody else holds what has just been parsed, and a copy for each key would take its time."""
    if isinstance(before, list) and isinstance(value, list):
        before += value
        return before
    if isinstance(before, dict) and isinstance(value, dict):
        for key, inner in value.items():
            before[key] = _both(before[key], inner) if key in before else inner
        return before
    return value


def repeated_keys(text: str) -> list[tuple[str, int, int]]:
    """Each key that stands in one object twice, with the line and column of its second place."""
    try:
        wire.decode(text)
    except InputError:
        return _second_places(text)
    return []


def too_deep(text: str) -> list[tuple[int, int]]:
    """The line and column of each value that is left out, because it is nested too deeply."""
    places = [begin for begin, _ in wire.too_deep_parts(text)]
    return [(text.count("\n", 0, place) + 1, place - text.rfind("\n", 0, place)) for place in places]


def _second_places(text: str) -> list[tuple[str, int, int]]:
    from fairlead.locate import json_keys

    seen: set[tuple[str | int, ...]] = set()
    found = []
    for path, line, column in json_keys(text):
        if path in seen:
            found.append((str(path[-1]), line, column))
        seen.add(path)
    return found


def _json_hint(text: str) -> str:
    if any(line.lstrip().startswith("//") for line in text.splitlines()):
        return "JSON has no comments"
    return "nothing in this file is in force until it is mended"


def parse_toml(text: str, environ: Mapping[str, str]) -> dict[str, Any]:
    cached = _cached(text, environ)
    if cached is not None:
        return cached
    import tomllib

    _refuse_toml_that_takes_too_long(text)
    try:
        data = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        line, column = _toml_place(str(error), text)
        raise BadDocument(f"not TOML: {str(error).partition(' (at ')[0]}", line, column) from None
    except RecursionError:
        raise BadDocument("not usable TOML: nested too deeply", 1, 1) from None
    except ValueError as error:  # such as a number with thousands of digits
        raise BadDocument(f"not usable TOML: {str(error).partition(';')[0]}", 1, 1) from None
    if _is_deep(data):
        raise BadDocument("not usable TOML: nested too deeply", 1, 1)
    _remember(text, data, environ)
    return data


def _refuse_toml_that_takes_too_long(text: str) -> None:
    """A file that is read before each call must not hold it up: Python's reader is slow with names of many parts."""
    import re

    if len(text) > LARGEST_TOML:
        raise BadDocument(f"not usable TOML: more than {LARGEST_TOML:,} characters", 1, 1)
    part = r"""(?:[\w-]++|"[^"\n]*+"|'[^'\n]*+')[ \t]*+\.[ \t]*+"""
    many = re.search(rf"""(?<![\w"'-])(?:{part}){{{_DEEPEST}}}""", text)
    if many:
        line = text.count("\n", 0, many.start()) + 1
        raise BadDocument(f"not usable TOML: a name of more than {_DEEPEST} parts", line, 1)


def _is_deep(data: Any) -> bool:
    level = [data]
    for _ in range(_DEEPEST):
        level = [inner for value in level for inner in _inside(value) if isinstance(inner, (dict, list))]
        if not level:
            return False
    return True


def _inside(value: Any) -> Any:
    return value.values() if isinstance(value, dict) else value


def _toml_place(message: str, text: str) -> tuple[int, int]:
    numbers = [int(word.strip(",)")) for word in message.split() if word.strip(",)").isdecimal()]
    if "at line" in message and len(numbers) >= 2:
        return numbers[-2], numbers[-1]
    return text.count("\n") + 1, 1


def parse_front_matter(text: str) -> dict[str, Any]:
    """The mapping between the first two `---` lines; empty where there is none."""
    if not text.startswith("---"):
        return {}
    own = text[3:].partition("\n---")[0]
    if len(own) > LARGEST_FRONT_MATTER:
        raise BadDocument(f"front matter is not usable: more than {LARGEST_FRONT_MATTER:,} characters", 1, 1)
    data = parse_yaml(own, "front matter is ")
    return data if isinstance(data, dict) else {}


def parse_yaml(text: str, what: str = "") -> Any:
    import yaml

    try:
        data = yaml.load(text, _bounded_loader())  # noqa: S506  # a SafeLoader
        if _size(data, {}) > _MOST_VALUES:
            raise BadDocument(f"{what}not usable YAML: its aliases stand for too much", 1, 1)
    except yaml.YAMLError as error:
        mark = getattr(error, "problem_mark", None)
        line, column = (mark.line + 1, mark.column + 1) if mark else (1, 1)
        raise BadDocument(f"{what}not YAML: {getattr(error, 'problem', error)}", line, column) from None
    except RecursionError:
        raise BadDocument(f"{what}not usable YAML: nested too deeply", 1, 1) from None
    except (ValueError, TypeError, AttributeError, KeyError, IndexError) as error:  # such as a day that no month has
        raise BadDocument(f"{what}not usable YAML: {error}", 1, 1) from None
    return data


def _bounded_loader() -> Any:
    """`<<` copies what it merges: a few lines could stand for more than there is memory."""
    import yaml

    class Bounded(yaml.SafeLoader):
        def flatten_mapping(self, node: yaml.MappingNode) -> None:
            before = len(node.value)
            super().flatten_mapping(node)
            if before < len(node.value) > _MOST_MERGED:
                raise yaml.constructor.ConstructorError(None, None, "its merged keys are too many", node.start_mark)

    return Bounded


def _size(value: Any, sizes: dict[int, int]) -> int:
    """How many values it is; what stands in it several times counts each time, as for whoever walks it."""
    if not isinstance(value, (dict, list, set, tuple)):
        return 1
    if id(value) not in sizes:
        sizes[id(value)] = _MOST_VALUES + 1  # until it is known: one that holds itself has no end
        sizes[id(value)] = 1 + sum(_size(inner, sizes) for inner in _inside(value))
    return sizes[id(value)]


def cache_dir(environ: Mapping[str, str]) -> str:
    base = environ.get("XDG_CACHE_HOME", "")
    if not os.path.isabs(base):
        base = os.path.join(environ.get("HOME", ""), ".cache")
    return os.path.join(base, "fairlead") if os.path.isabs(base) else ""


def _cache_file(text: str, environ: Mapping[str, str]) -> str:
    import zlib

    folder = cache_dir(environ)
    return os.path.join(folder, f"toml-{zlib.crc32(text.encode('utf-8', 'surrogatepass')):08x}.json") if folder else ""


def _cached(text: str, environ: Mapping[str, str]) -> dict[str, Any] | None:
    path = _cache_file(text, environ)
    if not path:
        return None
    try:
        with os.fdopen(os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_NOFOLLOW), "rb") as file:
            about = os.fstat(file.fileno())
            if about.st_uid != os.getuid() or about.st_mode & 0o022:
                return None
            entry = wire.decode(file.read())
        return entry["data"] if entry["text"] == text else None
    except (OSError, InputError, KeyError, TypeError):
        return None


_SECRET_TABLES = frozenset({"models", "mcp_servers", "notify"})
"""Where a file may hold keys: a copy would outlive them."""


def _remember(text: str, data: dict[str, Any], environ: Mapping[str, str]) -> None:
    path = _cache_file(text, environ)
    if not path or not _SECRET_TABLES.isdisjoint(data):
        return
    draft = f"{path}.{os.getpid()}"
    try:
        entry = wire.encode({"text": text, "data": data})
        if wire.decode(entry)["data"] != data:  # an infinity or a date is not the same in JSON
            return
        _make_room(os.path.dirname(path))
        descriptor = os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW, 0o600)
        with os.fdopen(descriptor, "wb") as file:
            file.write(entry)
        os.replace(draft, path)
    except (
        OSError,
        InputError,
        TypeError,
        ValueError,
        RecursionError,
    ):  # such as a full or read-only disk: parse again next time
        _discard(draft)


def _make_room(folder: str) -> None:
    """Each edit leaves an entry behind; beyond some hundred, all are dropped."""
    os.makedirs(folder, mode=0o700, exist_ok=True)
    names = os.listdir(folder)
    if len(names) > _CACHE_LIMIT:
        for name in names:
            _discard(os.path.join(folder, name))


def _discard(path: str) -> None:
    try:
        os.unlink(path)
    except OSError:
        pass
