"""Where Fairlead keeps what it must remember for a user."""

from __future__ import annotations

import os

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping


def state_folder(environ: Mapping[str, str], home: str = "") -> str:
    """Its path; whoever writes there makes it, for its owner alone."""
    base = environ.get("XDG_STATE_HOME", "")
    if not os.path.isabs(base):
        base = os.path.join(home or environ.get("HOME") or os.path.expanduser("~"), ".local", "state")
    return os.path.join(base, "fairlead")
