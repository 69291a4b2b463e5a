"""amcp-agent or ankaloop, by its module's name, with the hooks of the home directory in HOME."""

from __future__ import annotations

import importlib
import os
import sys
from pathlib import Path

from _turns import serve

module = importlib.import_module(f"{sys.argv[1]}.hooks")
project = Path(os.environ["HOME"])
serve(
    lambda: module.run_pre_tool_use_hooks(
        session_id="s", tool_name="Bash", tool_input={"command": "ls"}, project_dir=project
    )
)
