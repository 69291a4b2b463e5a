"""An MCP server that answers when another one is running beside it."""

from __future__ import annotations

import json
import sys
import time
from pathlib import Path

folder, name = Path(sys.argv[1]), sys.argv[2]
(folder / f"{name}.here").touch()
for line in sys.stdin:
    message = json.loads(line)
    if message.get("method") == "initialize":
        info = {"name": name, "version": "1"}
        version = message["params"]["protocolVersion"]
        result = {"protocolVersion": version, "capabilities": {}, "serverInfo": info}
    elif message.get("method") == "tools/call":
        while len(list(folder.glob("*.here"))) < 2:
            time.sleep(0.01)
        said = {"decision": "block", "reason": f"{name} has met the other"}
        result = {"content": [{"type": "text", "text": json.dumps(said)}]}
    else:
        continue
    print(json.dumps({"jsonrpc": "2.0", "id": message["id"], "result": result}), flush=True)
