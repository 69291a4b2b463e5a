"""The process of its own that a hook in the background runs in; see `background`."""

from __future__ import annotations

import pickle

from fairlead import background, driving, engine

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from fairlead.events import Event
    from fairlead.hooks import Hook
    from fairlead.verdicts import Decision


def main() -> None:
    """In the process of its own."""
    with open(0, "rb", closefd=False) as job:
        hook, event, setting = pickle.load(job)  # noqa: S301  # written by `launch`, into a file without a name
    decision = driving.drive_blocking(engine.judge(engine.plan([hook], event), event, setting))
    if event.session_id:
        background.leave(_news(hook, event, decision), background.folder(setting, event.session_id))


def _news(hook: Hook, event: Event, decision: Decision) -> dict[str, Any]:
    return {
        "hook": hook.name,
        "event": event.name,
        "context": decision.for_model[: background.LONGEST],
        "user_message": decision.user_message[: background.LONGEST],
        "notes": [note[: background.LONGEST] for note in decision.notes],
    }
