"""The command that an agent calls: how we write it, and how we know it again."""

from __future__ import annotations

import os
import shlex
import sys

from fairlead._record import Record
from fairlead.errors import plain

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from typing import Any

HTTP = "/api/hooks/"
"""Where the server takes events; behind it stands the agent's name."""
_OURS_TO_SAY = {"--agent": 1, "--event": 1, "--timeout": 1, "--guard": 0, "--trust-project": 0}
"""Options that the installer decides, and how many values each has; any other is the user's."""


class Call(Record):
    """`fairlead hook` as somebody's settings call it."""

    agent: str
    event: str = ""
    guard: bool = False
    trust_project: bool = False
    others: tuple[str, ...] = ()
    """Options that were added by hand, such as --project."""


def program() -> list[str]:
    """Fairlead, absolute, and so that neither PYTHONPATH nor the project can put something in its place.

    The file instead of `-m fairlead`: 6 ms faster, and where it has gone Python exits with 2, which agents
    take for a refusal; with `-m` it would be 1, which most take for "go on".
    """
    package = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
    isolated = "-P" if _is_in_user_site(package) else "-I"  # -I would leave the user's site out
    return [sys.executable, isolated, os.path.join(package, "__main__.py")]


def _is_in_user_site(path: str) -> bool:
    import site

    return path.startswith(site.getusersitepackages() + os.sep)


def is_fleeting(environ: Mapping[str, str], home: str) -> bool:
    """Whether this Fairlead lives in a cache or a temporary directory, as with `uvx` and `pipx run`."""
    import tempfile

    cache = environ.get("XDG_CACHE_HOME") or os.path.join(home, ".cache")
    places = [os.path.realpath(place) + os.sep for place in (cache, tempfile.gettempdir())]
    return any(os.path.abspath(program()[part]).startswith(place) for part in (0, 2) for place in places)


def words(call: Call, timeout: float, before: Sequence[str] = ()) -> list[str]:
    """The whole command line; `before` are the words of the relay, for which the rest is what it may become."""
    chosen = ["hook", "--agent", call.agent]
    chosen += ["--event", call.event] if call.event else []
    chosen += ["--timeout", plain(timeout)]
    chosen += ["--guard"] if call.guard else []
    chosen += ["--trust-project"] if call.trust_project else []
    return [*before, *program(), *chosen, *call.others]


def line(parts: Sequence[str]) -> str:
    """As a POSIX shell reads it."""
    return shlex.join(parts)


def known(entry: object) -> Call | None:
    """The call of Fairlead in an entry of some settings; None where there is none."""
    if isinstance(entry, str):
        return _call(_split(entry))
    if not isinstance(entry, dict):
        return None
    action = entry.get("action")
    if isinstance(action, dict):
        return known(action)
    if entry.get("type") == "http":
        return _call_over_http(entry.get("url"))
    return _call(_entry_words(entry))


# --- an address in the place of a command ------------------------------------------------------------


def _call_over_http(url: object) -> Call | None:
    from urllib.parse import parse_qsl, urlsplit

    from fairlead.layers import calls_our_server

    if not isinstance(url, str) or not calls_our_server(url):
        return None
    parts = urlsplit(url)
    asked = dict(parse_qsl(parts.query))
    others = ("--project", asked["project"]) if "project" in asked else ()
    return Call(agent=parts.path.removeprefix(HTTP), guard="guard" in asked, others=others)


def as_query(others: Sequence[str]) -> dict[str, str]:
    """Options that were added by hand, as far as an address has room for them."""
    found = {}
    for number, word in enumerate(others):
        name, equals, value = word.partition("=")
        if name == "--project":
            found["project"] = value if equals else "".join(others[number + 1 : number + 2])
    return found


# --- a command ---------------------------------------------------------------------------------------


def _entry_words(entry: Mapping[str, Any]) -> list[str]:
    arguments = entry.get("args")
    named = (entry.get(key) for key in ("command", "exec", "bash", "linux", "osx"))
    command = next((value for value in named if isinstance(value, str)), "")
    if isinstance(arguments, list):
        return [command, *map(str, arguments)]
    return _split(command)


def _split(command: str) -> list[str]:
    if "fairlead" not in command:  # splitting is slow, and files may hold long texts
        return []
    try:
        return shlex.split(command)
    except ValueError:  # a quote without its partner
        return []


def _call(parts: list[str]) -> Call | None:
    for number, word in enumerate(parts[:-1]):
        if _is_fairlead(word) and parts[number + 1] == "hook":
            return _options(parts[number + 2 :])
    return None


def _is_fairlead(word: str) -> bool:
    return os.path.basename(word) == "fairlead" or word.endswith(os.path.join("fairlead", "__main__.py"))


def _options(rest: list[str]) -> Call | None:
    found: dict[str, str] = {}
    others: list[str] = []
    queue = iter(rest)
    for word in queue:
        name, equals, value = word.partition("=")
        if name not in _OURS_TO_SAY:
            others.append(word)
        elif _OURS_TO_SAY[name]:
            found[name] = value if equals else next(queue, "")
        else:
            found[name] = "yes"
    if "--agent" not in found:
        return None
    return Call(
        agent=found["--agent"],
        event=found.get("--event", ""),
        guard="--guard" in found,
        trust_project="--trust-project" in found,
        others=tuple(others),
    )
