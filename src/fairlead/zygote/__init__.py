"""Python scripts without the start of an interpreter: a zygote forks for each.

Only a server has zygotes: `start` when it begins, `stop` when it ends. Everywhere else, and wherever a script
could see the difference, scripts are started as any other program.
"""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping

    from fairlead.zygote.keeping import Zygotes

_current: Zygotes | None = None


def start(environ: Mapping[str, str] | None = None) -> Zygotes:
    """From now on scripts are forked. One zygote is made ready for `environ`, others when they are needed."""
    import os

    from fairlead import process
    from fairlead.zygote.keeping import Zygotes

    global _current  # noqa: PLW0603  # a process has them or not
    stop()
    _current = Zygotes()
    _current.prepare(os.environ if environ is None else environ)
    process.fork_script = _current.fork
    return _current


def current() -> Zygotes | None:
    return _current


def stop() -> None:
    """End them, and what runs below them."""
    from fairlead import process

    global _current  # noqa: PLW0603  # the same
    process.fork_script = None
    if _current is not None:
        _current.close()
        _current = None
