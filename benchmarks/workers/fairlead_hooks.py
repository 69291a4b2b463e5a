"""Fairlead as a library: command hooks of one dialect, loaded from the home directory in HOME."""

from __future__ import annotations

import os
import sys

from _turns import serve

from fairlead import Hooks, PreToolUse

agent = sys.argv[1]
hooks = Hooks.load(os.environ["HOME"], agent=agent, dialects=[agent, "fairlead"], trust_project=True)
event = PreToolUse(session_id="s", cwd="/", tool_name="Bash", tool_input={"command": "ls"})
serve(lambda: hooks.fire(event))
