"""What a hook's process gets, and what it may do: its environment, its limits, its sandbox.

A hook that asks for nothing of this, and is not confined, never comes here.
"""

from __future__ import annotations

from fairlead._record import Record

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from fairlead.hooks import Hook, Setting
    from fairlead.work import Run

HELD_BACK = "held back"
"""The fact that names the variables which a hook did not get."""
_NAMES_SHOWN = 20
_NAME_LENGTH = 60


class Limits(Record):
    """For each process of a hook; None is no limit."""

    cpu: int | None = None
    """Seconds of work, not of waiting."""
    memory: int | None = None
    """Bytes of its own."""
    processes: int | None = None
    """At once, of the whole hook."""
    file_size: int | None = None
    """Bytes in one file that it writes."""
    open_files: int | None = None


class Sandbox(Record):
    """What a hook asks for; everything else is read-only or hidden."""

    network: bool = False
    write: tuple[str, ...] = ()
    """Seen from the project."""
    by: str = ""
    """`bubblewrap` or `landlock`; empty for the best that is there."""


class Bounds(Record):
    """What one hook says about its process."""

    names: tuple[str, ...] | None = None
    """The variables that it inherits; None is all of them."""
    sets: Mapping[str, str] = {}  # never changed: records are frozen
    limits: Limits | None = None
    sandbox: Sandbox | None = None


class Walls(Record):
    """A sandbox, ready to be built around a process."""

    by: str
    """The program bwrap, or `landlock`."""
    options: tuple[str, ...] = ()
    """For bwrap, as far as this machine's has them."""
    places: Mapping[str, str]
    """Paths, each with what the hook finds there: see `places`."""
    network: bool = False


class Room:
    """Where one run of a hook takes place."""

    __slots__ = ("bounds", "environ", "held_back", "hook", "is_confined", "setting")

    def __init__(self, hook: Hook, setting: Setting, known: Iterable[str] = ()) -> None:
        """`known`: further variables that hold no secrets."""
        from fairlead.confining import environment

        self.hook = hook
        self.setting = setting
        self.bounds: Bounds = hook.options.get("bounds") or Bounds()
        self.is_confined = bool(hook.options.get("confined"))
        if self.bounds.names is not None:
            kept = environment.chosen(setting.environ, self.bounds.names)
        elif self.is_confined:
            kept = environment.harmless(setting.environ, known, setting.pass_env)
        else:
            kept = dict(setting.environ)
        self.held_back = sorted(setting.environ.keys() - kept.keys() - self.bounds.sets.keys())
        self.environ: dict[str, str] = {**kept, **self.bounds.sets}

    def confine(self, run: Run) -> Run:
        """The same run, in this room. Raises HookFailed where the sandbox that it wants cannot be had."""
        wish = self.bounds.sandbox
        if wish is not None:
            from fairlead.confining.building import walled

            run = walled(run, wish, self.setting, is_confined=self.is_confined)
        facts = {**run.facts, **self._facts(run)}
        return run.but(limits=self.bounds.limits, no_new_privs=self.is_confined, facts=facts)

    def _facts(self, run: Run) -> dict[str, str]:
        missing = [name for name in self.held_back if name not in run.env] if self.is_confined else []
        return {HELD_BACK: _listed(missing)} if missing else {}


_TELLING = ("TOKEN", "KEY", "SECRET", "PASS", "CREDENTIAL", "AUTH")


def _listed(names: list[str]) -> str:
    """Those first that somebody may miss."""
    names = sorted(names, key=lambda name: (not any(word in name.upper() for word in _TELLING), name))
    shown = ", ".join(name[:_NAME_LENGTH] for name in names[:_NAMES_SHOWN])
    more = len(names) - _NAMES_SHOWN
    return f"{shown} and {more} more" if more > 0 else shown
