"""What a repository puts into the environment, by the settings that an agent reads on its way: none of it is ours.

Claude Code starts its hooks with the variables of `env` in the project's settings, Gemini CLI and Qwen Code with those
of `.env`. One of them could lead our folders, our questions and our keys elsewhere.
"""

from __future__ import annotations

import os

from fairlead import documents
from fairlead._record import Record
from fairlead.errors import ConfigError, Problem
from fairlead.folders import SETTING_FILES, lies_in

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

_LEADS = (
    "_BASE_URL", "_API_BASE", "_API_URL", "_ENDPOINT", "_PROXY", "_CERT_FILE", "_CERT_DIR", "_CA_CERTS", "_CA_BUNDLE",
    "HOME", "_CONFIG_DIR",
)  # fmt: skip
_OURS = ("FAIRLEAD_", "OTEL_", "XDG_")
_KEYS = ("API_KEY", "AUTH_TOKEN")
_NEEDED = {"PATH": os.defpath}
"""Nothing can be started without it."""


class Withheld(Record):
    names: Mapping[str, str]
    """Variables that do not count, with the file that each is from."""
    problems: tuple[Problem, ...] = ()

    def without(self, environ: Mapping[str, str]) -> Mapping[str, str]:
        if not self.names:
            return environ
        rest = {name: value for name, value in environ.items() if name not in self.names}
        return {**{name: value for name, value in _NEEDED.items() if name in self.names}, **rest}


def withheld(environ: Mapping[str, str], project: str) -> Withheld:
    """What the project has set. A variable that had the same value before is not told apart from that."""
    cache = environ.get("XDG_CACHE_HOME", "")
    names = {"XDG_CACHE_HOME": project} if lies_in(cache, project) else {}
    problems = [_problem(project, (), "XDG_CACHE_HOME")] if names else []
    for file, path, name, value in _written(project):
        if environ.get(name) != value or name in names:
            continue
        names[name] = file
        if _leads(name):
            names |= {key: file for key in _keys_for(name) if key in environ}
            problems.append(_problem(file, path, name))
    return Withheld(names=names, problems=tuple(problems))


def _written(project: str) -> Iterator[tuple[str, tuple[str, ...], str, str]]:
    """`env` counts for everything that Claude Code starts. Of `.env` we leave out what leads somewhere else: the rest
    is what people have it for."""
    for name in SETTING_FILES:
        file = f"{project}/{name}"
        if name.endswith(".json"):
            yield from ((file, ("env", key), key, value) for key, value in _env_of(file).items())
        else:
            yield from ((file, (), key, value) for key, value in _lines_of(file) if _leads(key))


def _env_of(file: str) -> dict[str, str]:
    try:
        data = documents.parse_json(documents.read_text(file) or "{}")
    except ConfigError:  # reported by whoever reads its hooks
        return {}
    env = data.get("env") if isinstance(data, dict) else None
    return {key: str(value) for key, value in env.items()} if isinstance(env, dict) else {}


def _lines_of(file: str) -> Iterator[tuple[str, str]]:
    try:
        text = documents.read_text(file) or ""
    except ConfigError:
        return
    for line in text.splitlines():
        name, equals, value = line.strip().removeprefix("export ").partition("=")
        if equals:
            yield name.strip(), value.strip().strip("\"'")


def _leads(name: str) -> bool:
    return name.upper().endswith(_LEADS) or name.startswith(_OURS)


def _keys_for(name: str) -> list[str]:
    """Without its own address a key would go to the provider's, which is perhaps not what its owner wanted."""
    families = name.split("_")[:2]  # such as GOOGLE_GEMINI_BASE_URL
    return [f"{family}_{key}" for family in families for key in _KEYS]


def _problem(file: str, path: tuple[str, ...], name: str) -> Problem:
    line, column = 0, 0
    if path:
        from fairlead.locate import position

        line, column = position(file, path)
    said = f"{name} is set by the project, and does not count for Fairlead and its hooks"
    hint = "say it in your own fairlead.toml (~/.config/fairlead/fairlead.toml)"
    return Problem(file=file, line=line, column=column, level="warning", message=said, hint=hint)
