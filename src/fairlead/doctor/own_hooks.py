"""The hooks of fairlead.toml: whether anybody asks for them, and what keeps one from deciding."""

from __future__ import annotations

from fairlead.doctor.finding import OURSELVES, Finding

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from fairlead.doctor.scene import Scene
    from fairlead.hooks import Hook


def check(scene: Scene) -> Iterator[Finding]:
    hooks = _hooks(scene)
    if not hooks:
        return
    yield from _asked_by_nobody(hooks, scene)
    for hook in hooks:
        yield from _decides_nothing(hook)
        yield from _without_bounds(hook, scene)
    yield from _no_server([hook for hook in hooks if hook.handler.kind == "approval"], scene)


def _hooks(scene: Scene) -> Sequence[Hook]:
    from fairlead.api import Hooks

    where = scene.places
    loaded = Hooks.load(
        where.project, home=where.home, environ=where.environ, managed=where.managed, trust_project=True,
        dialects=("fairlead",),
    )  # fmt: skip
    return [hook for hook in loaded if hook.origin.file]


def _found(hook: Hook, level: str, message: str, fix: str, key: str = "") -> Finding:
    from fairlead.locate import position

    path = (*hook.origin.path, key) if key else hook.origin.path
    line, column = position(hook.origin.file, path)
    return Finding(
        level=level, agent=OURSELVES, check="own_hooks", message=message, fix=fix, file=hook.origin.file, line=line,
        column=column,
    )  # fmt: skip


def _asked_by_nobody(hooks: Sequence[Hook], scene: Scene) -> Iterator[Finding]:
    from fairlead.doctor.scene import look

    # With --agent the scene has only that one, and another may call us.
    if not _is_called(scene) and not _is_called(look(scene.places)):
        what = "no agent here calls Fairlead, so the hooks in this file never run"
        fix = "`fairlead init` writes the call into the settings of your agents"
        file = hooks[0].origin.file  # without a line: what is wrong with the first hook has to be heard, too
        yield Finding(level="warning", agent=OURSELVES, check="own_hooks", message=what, fix=fix, file=file)


def _is_called(scene: Scene) -> bool:
    from fairlead.doctor.own_entry import is_installed

    return any(is_installed(agent, scene) for agent in scene.agents)


def _decides_nothing(hook: Hook) -> Iterator[Finding]:
    from fairlead.explaining import sample

    if not hook.enabled:
        off, fix = hook.options.get("off"), "remove `enabled = false`"
        said = f"the hook {hook.name} {off or 'is switched off'}"
        yield _found(hook, "note", said, "ask whoever keeps that file" if off else fix, "enabled")
    elif hook.handler.kind == "background" and sample(hook.events[0]).blockable:
        what = "an async hook decides nothing: the call has gone on when it answers"
        yield _found(hook, "warning", what, "remove `async` if this hook is a guard", "async")


def _without_bounds(hook: Hook, scene: Scene) -> Iterator[Finding]:
    """What it asks for, and this machine does not have."""
    from fairlead.confining import advice

    for key, what, fix in advice.on(hook, scene.places.environ, scene.places.home):
        yield _found(hook, "error" if key == "sandbox" else "warning", what, fix, key)


def _no_server(approvals: Sequence[Hook], scene: Scene) -> Iterator[Finding]:
    from fairlead.approvals import START, address_of

    environ = {"HOME": scene.places.home, **scene.places.environ}
    if approvals and not address_of(environ):
        what = "this hook asks a person, and no approval server is running: every call that it is about is refused"
        yield _found(approvals[0], "warning", what, START, "approval")
