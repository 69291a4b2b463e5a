"""Fairlead as a library: command hooks of one dialect, loaded from the home directory in HOME."""

from __future__ import annotations

import asyncio
import os
import sys

from _turns import serve

from fairlead import Hooks, PreToolUse

agent, count = sys.argv[1], int(sys.argv[2])
project = os.path.join(os.environ["HOME"], "project")  # a home that is the project is refused
hooks = Hooks.load(project, agent=agent, dialects=[agent, "fairlead"], trust_project=True)
event = PreToolUse(session_id="s", cwd="/", tool_name="Bash", tool_input={"command": "ls"})
ran = [report for report in asyncio.run(hooks.fire(event)).met if report.ms > 0]
assert len(ran) == count, f"{len(ran)} of {count} hooks ran"
serve(lambda: hooks.fire(event))
