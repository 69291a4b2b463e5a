"""Functions that files name, in a process of their own: what a project or a changed module does stays there."""

from __future__ import annotations

import os

from fairlead.hooks import HookFailed
from fairlead.verdicts import Verdict
from fairlead.wire import decode_object

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from fairlead.events import Event
    from fairlead.handlers.function import Named
    from fairlead.hooks import Hook, Setting
    from fairlead.work import Result, Run

_RUNNER = os.path.join(os.path.dirname(os.path.abspath(__file__)), "runner", "run.py")
"""In a folder of its own: Python looks for modules beside a script first."""


def run(named: Named, hook: Hook, event: Event, setting: Setting) -> Run:
    import pickle
    import sys

    from fairlead.handlers.command import Command

    library = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
    work = Command(command=sys.executable, args=(_RUNNER, library)).start(hook, event, setting)
    job = (named.but(apart=False), hook.origin.dialect == "fairlead", event, _given(hook, event, setting))
    return work.but(stdin=pickle.dumps((job, setting.project)))


def _given(hook: Hook, event: Event, setting: Setting) -> Any:
    """What functions of other systems get instead of the event."""
    from fairlead.handlers.function import own_input

    return None if hook.origin.dialect == "fairlead" else own_input(hook, event, setting)


def value(result: Result) -> Any:
    """What the function has returned. Raises HookFailed."""
    from fairlead.errors import InputError

    if result.error or result.timed_out or result.cancelled or result.signal or result.exit_code:
        raise HookFailed(_how_it_ended(result))
    try:
        answer = decode_object(result.stdout)
    except InputError:
        raise HookFailed("its process has not said what it returned") from None
    if "failed" in answer:
        raise HookFailed(str(answer["failed"]))
    return Verdict(**answer["verdict"]) if "verdict" in answer else answer.get("value")


def _how_it_ended(result: Result) -> str:
    if result.error:
        return result.error
    if result.timed_out:
        return "timed out"
    if result.signal:
        return f"killed by signal {result.signal}"
    said = result.stderr.decode("utf-8", "replace").strip().rpartition("\n")[2]
    return "cancelled" if result.cancelled else f"its process exited with {result.exit_code}: {said}"
