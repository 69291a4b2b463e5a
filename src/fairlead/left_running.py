"""The process of its own that a hook in the background runs in; see `background`."""

from __future__ import annotations

import pickle

from fairlead import background, driving, engine
from fairlead.api import Hooks
from fairlead.journal.keeping import keep
from fairlead.verdicts import join_lines

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from fairlead.events import Event
    from fairlead.hooks import Hook, Setting
    from fairlead.verdicts import Decision


def main() -> None:
    """In the process of its own."""
    with open(0, "rb", closefd=False) as job:
        hook, event, setting = pickle.load(job)  # noqa: S301  # written by `launch`, into a file without a name
    decision = driving.drive_blocking(engine.judge(engine.plan([hook], event), event, setting))
    _journal(event, decision, setting)
    news = _news(hook, event, decision)
    if event.session_id and any(news[key] for key in ("context", "user_message", "notes")):
        background.leave(news, background.folder(setting, event.session_id))


def _journal(event: Event, decision: Decision, setting: Setting) -> None:
    """An entry of its own: whoever asks why nothing came of it finds it there."""
    said = Hooks.load(setting.project, environ=setting.environ, home=setting.home, dialects=("fairlead",)).journal
    ms = max((report.ms for report in decision.reports), default=0.0)
    keep(said, setting, setting.agent, event, decision, None, ms, more={"background": True})


def _news(hook: Hook, event: Event, decision: Decision) -> dict[str, Any]:
    return {
        "hook": hook.name,
        "event": event.name,
        "context": _words(decision)[: background.LONGEST],
        "user_message": decision.user_message[: background.LONGEST],
        "notes": [note[: background.LONGEST] for note in decision.notes],
    }


def _words(decision: Decision) -> str:
    """What it has to say; a refusal comes too late to hold anything up, and its reason is told all the same."""
    refuses = decision.decision not in ("none", "allow") and not any(report.error for report in decision.reports)
    return join_lines((decision.for_model, decision.reason if refuses else "", decision.stop_reason))
