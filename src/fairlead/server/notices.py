"""What a person is told of a question outside of the inbox: enough to know whether to look, on a screen others may see.

Allow stands on a notification only where the notification itself shows the whole of what would run. Everything else
is decided where all of it can be read.
"""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Any

from fairlead import wire
from fairlead._record import Record
from fairlead.masking import Masker
from fairlead.server.push import LARGEST, Message, padded
from fairlead.server.visible import shown

if TYPE_CHECKING:
    from fairlead.server.records import Interaction, Run

WHOLE = 80
"""Characters of a command that every system shows on a notification without cutting."""
_COMMANDS = frozenset({"Bash", "PowerShell", "run_shell_command"})
_SAYS_NOTHING = frozenset({"description"})
"""Fields beside the command that change nothing of what it does."""
_LONGEST_NAME = 60
_LONGEST_DETAIL = 400
_CLOSING = 600
"""Seconds for which the end of a question is worth telling."""


class Notice(Record):
    """One question, as it may be told anywhere."""

    id: str
    digest: str
    tool: str
    where: str
    """The agent and the project."""
    expires_at: float
    detail: str = ""
    """What would run; empty where nobody asked for it."""
    whole: bool = False
    """Whether `detail` is all of it, and looks like nothing else."""


def notice(interaction: Interaction, run: Run | None, *, details: bool) -> Notice:
    asked = wire.decode_object(interaction.body) if details and interaction.body else {}
    command = _command(interaction, asked.get("payload"))
    masked = Masker().text(command)
    return Notice(
        id=interaction.id,
        digest=interaction.digest,
        tool=_short(interaction.tool, _LONGEST_NAME) or "A question",
        where=_where(run),
        expires_at=interaction.expires_at,
        detail=_short(masked, _LONGEST_DETAIL),
        whole=masked == command and _is_all(command, asked, run),
    )


def _is_all(command: str, asked: dict[str, Any], run: Run | None) -> bool:
    return bool(command) and _is_whole(command, asked["payload"]) and _is_in_project(asked.get("cwd"), run)


def _where(run: Run | None) -> str:
    if run is None:
        return ""
    folder = run.project.rstrip("/").rpartition("/")[2]
    return " in ".join(_short(Masker().text(name), _LONGEST_NAME) for name in (run.agent or "an agent", folder) if name)


def _short(text: str, most: int) -> str:
    seen = wire.mended(shown(text)).replace("\n", " ⏎ ")
    return seen if len(seen) <= most else f"{seen[:most]}…"


def _command(interaction: Interaction, payload: Any) -> str:
    if interaction.kind != "approval" or interaction.tool not in _COMMANDS or not isinstance(payload, dict):
        return ""
    command = payload.get("command")
    return command if isinstance(command, str) else ""


def _is_whole(command: str, payload: dict[str, Any]) -> bool:
    """One short line of plain letters, and nothing beside it that changes what it does."""
    plain = command.isascii() and command.isprintable() and " ".join(command.split()) == command
    return plain and len(command) <= WHOLE and payload.keys() <= {"command", *_SAYS_NOTHING}


def _is_in_project(cwd: object, run: Run | None) -> bool:
    """The notification names the project, and no other folder."""
    return not cwd or (run is not None and isinstance(cwd, str) and cwd.rstrip("/") == run.project.rstrip("/"))


# --- for a browser -----------------------------------------------------------------------------------


def opening(one: Notice) -> Message:
    """Shown until it is answered or too old."""
    fields = {
        "kind": "question",
        "id": one.id,
        "digest": one.digest,
        "tool": one.tool,
        "where": one.where,
        "detail": one.detail,
        "whole": one.whole,
        "expires_at": one.expires_at,
    }
    lives = max(1, int(one.expires_at - time.time()))
    return Message(text=_text(fields), lives=lives, topic=_topic(one.id))


def closing(interaction_id: str) -> Message:
    """It was answered elsewhere, or is too old."""
    fields = {"kind": "over", "id": interaction_id}
    return Message(text=_text(fields), lives=_CLOSING, urgency="normal", topic=_topic(interaction_id))


def trial() -> Message:
    fields = {"kind": "trial", "where": "Notifications reach this browser."}
    return Message(text=_text(fields), lives=60)


def _text(fields: dict[str, Any]) -> bytes:
    text = padded(wire.encode(fields))
    if len(text) > LARGEST:  # six bytes for each letter of another alphabet, four of them
        text = padded(wire.encode({**fields, "detail": "", "whole": False}))
    return text


def _topic(interaction_id: str) -> str:
    """At most 32 letters that every service takes."""
    return interaction_id if len(interaction_id) <= 32 and interaction_id.isalnum() and interaction_id.isascii() else ""
