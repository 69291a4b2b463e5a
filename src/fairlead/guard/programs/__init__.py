"""What programs do: one table from names to readers, filled by the modules of this package.

A reader gets a ``Call``, reports effects through ``call.shell`` and returns what the program
writes to its output. A program without a reader is taken at its word: it has no effect of its own
that the guard knows of, and its output is unknown.
"""

from __future__ import annotations

from fairlead.guard._lazy import lazy
from fairlead.guard.effects import Stream

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

    from fairlead.guard.shell.run import Call

    Reader = Callable[[Call], Stream | None]

PROGRAMS: dict[str, Reader] = {}

# Programs whose output is made for ``eval`` or ``source <(…)`` in everybody's start-up files.
_FOR_EVAL = lazy(
    r"(?:ssh-agent|keychain|(?:\S*/)?brew shellenv|direnv (?:hook|export)|(?:rb|py|nod|go|j)env (?:init"
    r"|virtualenv-init)"
    r"|(?:starship|zoxide|atuin) init|fnm env|mise (?:activate|env)|thefuck|opam env|luarocks path"
    r"|(?:\S*/)?conda shell\S*"
    r"|dircolors|lesspipe|minikube docker-env|docker-machine env|register-python-argcomplete|pdm venv activate"
    r"|poetry env activate|devbox shellenv|nix print-dev-env|\S+ completions? (?:-s )?(?:bash|zsh|fish|sh)"
    r"|\S+ completions?|perl -I\S+ -Mlocal::lib|npm completion|fzf --(?:bash|zsh)|resize)(?:\s|\Z)"
)


def program(*names: str) -> Callable[[Reader], Reader]:
    """Register a reader under these names."""

    def register(reader: Reader) -> Reader:
        for name in names:
            PROGRAMS[name] = reader
        return reader

    return register


def meet(call: Call) -> Stream:
    """Let the reader of this program say what the call does."""
    reader = PROGRAMS.get(call.name) or PROGRAMS.get(call.name.rstrip("0123456789."))
    out = reader(call) if reader else None
    if out is not None:
        return out
    if call.shell.nesting > 1 and _FOR_EVAL.match(call.words):
        return Stream(None, origin="safe:")
    return call.stdin.through()
