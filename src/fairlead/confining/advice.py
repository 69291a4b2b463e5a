"""What a hook asks for that this machine cannot give, said before it runs; and what to do about it."""

from __future__ import annotations

import os

from fairlead.confining.ways import BUBBLEWRAP, LANDLOCK, WAYS, look, system_program

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from fairlead.confining import Bounds, Sandbox
    from fairlead.hooks import Hook

_SWITCHES = {
    "kernel/unprivileged_userns_clone": ("0", "`sysctl kernel.unprivileged_userns_clone=1` allows user namespaces"),
    "user/max_user_namespaces": ("0", "`sysctl user.max_user_namespaces=15000` allows user namespaces"),
    "kernel/apparmor_restrict_unprivileged_userns": (
        "1",
        "`sysctl kernel.apparmor_restrict_unprivileged_userns=0`, or a profile of AppArmor for bwrap, allows them",
    ),
}
"""Below /proc/sys, each with the value that keeps bubblewrap from working."""
_LINUX = "Linux 6.2 or later, with Landlock switched on, needs no bubblewrap"
_CONTAINER = "in a container, it must be allowed to make user namespaces and to mount"


def on(hook: Hook, environ: Mapping[str, str], home: str) -> Iterator[tuple[str, str, str]]:
    """Which of its keys does not hold here, why, and what helps."""
    bounds: Bounds | None = hook.options.get("bounds")
    if bounds is None or not hook.enabled:
        return
    if bounds.sandbox is not None:
        yield from _on_sandbox(bounds.sandbox, hook, environ, home)
    if bounds.limits is not None and bounds.limits.processes is not None and _is_uncounted(bounds, environ, home):
        what = "root is never refused a process: this limit of `processes` does not hold"
        yield "limits", what, "run the agent as an ordinary user, or the hook in a sandbox of bubblewrap"


def _on_sandbox(wish: Sandbox, hook: Hook, environ: Mapping[str, str], home: str) -> Iterator[tuple[str, str, str]]:
    found, _, why_not = look(wish.by, environ, home)
    if not found:
        what = f"the sandbox of the hook {hook.name} cannot be built on this machine, so it is never run: {why_not}"
        yield "sandbox", what, "; ".join(_remedies(wish.by, environ, home))


def _remedies(by: str, environ: Mapping[str, str], home: str) -> Iterator[str]:
    if by and any(look(other, environ, home)[0] for other in WAYS if other != by):
        other = LANDLOCK if by == BUBBLEWRAP else BUBBLEWRAP
        yield f"leave `by` out: {other} works here"
    if by != LANDLOCK:
        yield from _for_bubblewrap()
    if by != BUBBLEWRAP:
        yield _LINUX


def _for_bubblewrap() -> Iterator[str]:
    if not system_program("bwrap"):
        yield "install the package bubblewrap"
        return
    switched = [what for path, (bad, what) in _SWITCHES.items() if _value(path) == bad]
    yield from switched or (_CONTAINER,)


def _value(path: str) -> str:
    try:
        with open(os.path.join("/proc/sys", path), encoding="ascii") as file:
            return file.read().strip()
    except OSError:
        return ""


def _is_uncounted(bounds: Bounds, environ: Mapping[str, str], home: str) -> bool:
    wish = bounds.sandbox
    return os.geteuid() == 0 and (wish is None or look(wish.by, environ, home)[0] == LANDLOCK)
