"""Handlers that run only what was trusted."""

from __future__ import annotations

from fairlead._record import Record
from fairlead.errors import ConfigError
from fairlead.events import GUARDED
from fairlead.hooks import HookFailed
from fairlead.verdicts import deny
from fairlead.work import Call, Run

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, ClassVar

    from fairlead.events import Event
    from fairlead.hooks import Handler, Hook, Setting
    from fairlead.trust.records import Trusted
    from fairlead.verdicts import Verdict


class Bound(Record):
    """Runs copies of the trusted bytes; whatever else lies in the project by now."""

    inner: Handler
    trusted: tuple[Trusted, ...]
    """Versions of this hook; the newest last."""
    project: str
    folder: str
    root: str = ""
    """The folder of the plugin that it belongs to."""

    def around(self) -> Handler:
        """Itself, where programs run; another handler's definition says everything."""
        from fairlead.handlers.background import Background

        if isinstance(self.inner, Background):
            return self.inner.but(handler=self.but(inner=self.inner.handler).around())
        return self if self.inner.kind in ("command", "python") else self.inner  # type: ignore[return-value]

    @property
    def kind(self) -> str:
        return self.inner.kind

    def start(self, hook: Hook, event: Event, setting: Setting) -> Run | Call:
        from fairlead.trust.programs import from_copies

        try:
            copies = self._copies(event.cwd)
            work = from_copies(self.inner, self.project, copies, self.root).start(hook, event, setting)
        except ConfigError as error:
            return _refusal(f"{error}; look at it with `fairlead trust`", event)
        if isinstance(work, Run):
            env = {**work.env, "PYTHONDONTWRITEBYTECODE": "1"}  # nothing may lie beside the copies
            return work.but(env=env, binds=((copies, copies),))
        return work

    def difference(self) -> str:
        """How the project's programs differ from every version that was trusted; empty where they do not."""
        from fairlead.trust import copies

        differences = []
        for version in reversed(self.trusted):
            try:
                self._covers(version)
            except ConfigError as error:
                differences.append(str(error))
                continue
            changed = copies.changed(version, self.project)
            if not changed:
                return ""
            differences.append(changed[0])
        return differences[0] if differences else "nothing of it is trusted"

    def _copies(self, cwd: str = "") -> str:
        """Raises ConfigError where no version that was trusted is what lies in the project now."""
        from fairlead.trust import copies

        failure: ConfigError | None = None
        for version in reversed(self.trusted):
            try:
                self._covers(version, cwd)
                return copies.of(version, self.project, self.folder)
            except ConfigError as error:
                failure = failure or error
        raise failure or ConfigError("nothing of it is trusted")

    def _covers(self, version: Trusted, cwd: str = "") -> None:
        """A program that was not there when it was trusted is not trusted, nor is one of the folder where it runs."""
        from fairlead.trust.programs import named, started_in

        found = [*named(self.inner, self.project, self.root), *started_in(cwd, self.inner, self.project)]
        new = [path for path in found if path not in version.files]
        if new:
            raise ConfigError(f"{new[0]} was not there when you trusted it")

    def conclude(self, hook: Hook, event: Event, work: Any, outcome: Any) -> Verdict:
        if isinstance(outcome, Untrusted):
            return deny(f"the project's hook {hook.name} was not run, since {outcome}")
        return self.inner.conclude(hook, event, work, outcome)

    def describe(self) -> str:
        return self.inner.describe()

    def identity(self) -> tuple[object, ...]:
        return self.inner.identity()


class Untrusted(str):
    """Why something was not run."""

    __slots__ = ()


def _refusal(why: str, event: Event) -> Call:
    """What people rely on does not pass unseen, whatever its own system does about failures."""
    if event.name not in GUARDED:
        raise HookFailed(why)
    return Call(Untrusted, (why,))


class Changed(Record):
    """In the place of a hook that people rely on, and that is not what they have trusted."""

    inner: Handler | None
    why: str

    kind: ClassVar[str] = "untrusted"

    def start(self, _hook: Hook, _event: Event, _setting: Setting) -> Run | Call:
        raise HookFailed(self.why)

    def conclude(self, hook: Hook, _event: Event, _work: Any, _outcome: Any) -> Verdict:
        return deny(f"{hook.name}: {self.why}")

    def describe(self) -> str:
        return self.inner.describe() if self.inner is not None else "what was trusted"

    def identity(self) -> tuple[object, ...]:
        return (self.kind, *(self.inner.identity() if self.inner is not None else (self.why,)))
