"""An MCP server without the SDK, so that it starts fast and can misbehave: its one argument says how."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

HOW = sys.argv[1]
NOTES = Path(sys.argv[2]) if len(sys.argv) > 2 else None
TEXTS: dict[str, Any] = {
    "deny": [
        json.dumps({"hookSpecificOutput": {"hookEventName": "PreToolUse", "permissionDecision": "deny",
                                           "permissionDecisionReason": "the server says no"}})
    ],
    "allow": [json.dumps({"hookSpecificOutput": {"hookEventName": "PreToolUse", "permissionDecision": "allow"}})],
    "plain": ["just some words"],
    "nothing": [],
    "two": ['{"decision": "block",', '"reason": "in two parts"}'],
    "deny-then-more": ['{"decision": "block", "reason": "the first of two"}', "{}"],
    "huge": ['{"decision": "block", "reason": "' + "x" * (1 << 20) + '"}'],
}  # fmt: skip


DISCOVERED = {
    "supportedVersions": ["2026-07-28"],
    "capabilities": {"tools": {}},
    "resultType": "complete",
    "ttlMs": 0,
    "cacheScope": "public",
}


def write(message: dict[str, Any]) -> None:
    sys.stdout.write(json.dumps({"jsonrpc": "2.0", **message}) + "\n")
    sys.stdout.flush()


def note(text: str) -> None:
    if NOTES is not None:
        with NOTES.open("a") as file:
            file.write(text + "\n")


def answer(arguments: dict[str, Any]) -> dict[str, Any]:
    if HOW == "echo":
        return {
            "content": [{"type": "text", "text": json.dumps({"decision": "block", "reason": json.dumps(arguments)})}]
        }
    if HOW == "environment":
        return {
            "content": [
                {"type": "text", "text": json.dumps({"decision": "block", "reason": json.dumps(dict(os.environ))})}
            ]
        }
    if HOW == "error":
        return {"content": [{"type": "text", "text": "the scanner is out of order"}], "isError": True}
    if HOW == "structured":
        return {"content": [], "structuredContent": {"decision": "block", "reason": "by structure"}}
    if HOW == "picture":
        deny = TEXTS["deny"][0]
        return {"content": [{"type": "image", "data": "AAAA", "mimeType": "image/png"}, {"type": "text", "text": deny}]}
    kind = {"resultType": "complete"} if HOW == "modern" else {}
    return {"content": [{"type": "text", "text": text} for text in TEXTS.get(HOW, TEXTS["deny"])], **kind}


def stubborn() -> None:
    """Ignores everybody who wants it to end, and so do its children: one in its group, one in a session of its own."""
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
    script = (
        "import signal, time; signal.signal(signal.SIGTERM, signal.SIG_IGN); print(1, flush=True); time.sleep(3600)"
    )
    for apart in (False, True):
        child = subprocess.Popen([sys.executable, "-c", script], start_new_session=apart, stdout=subprocess.PIPE)
        assert child.stdout is not None
        child.stdout.readline()
        note(str(child.pid))
    note(str(os.getpid()))


def serve() -> None:
    for line in sys.stdin:
        message = json.loads(line)
        note(message.get("method", "?"))
        if HOW == "modern" and message.get("method") == "server/discover":
            write({"id": message["id"], "result": DISCOVERED})
        elif HOW != "modern" and message.get("method") == "initialize":
            version = message["params"]["protocolVersion"]
            info = {"name": "plain", "version": "1"}
            write({"id": message["id"], "result": {"protocolVersion": version, "capabilities": {}, "serverInfo": info}})
        elif message.get("method") == "tools/call":
            call(message)
        elif "id" in message:
            write({"id": message["id"], "error": {"code": -32601, "message": "no such method"}})


def misbehave() -> None:
    if HOW in ("slow", "stubborn"):
        signal.pause()
    if HOW == "crash":
        sys.stderr.write("it hurts, says the server with its token s3cret-token\n")
        sys.stderr.flush()
        os._exit(3)
    if HOW == "orphan":
        subprocess.Popen([sys.executable, "-c", "import signal; signal.pause()"], start_new_session=True)
        os._exit(4)
    if HOW == "killed":
        os.kill(os.getpid(), signal.SIGKILL)
    if HOW == "garbage":
        print("Starting up… done", flush=True)
        os._exit(0)
    if HOW == "chatty":
        print("some library prints this\n[1, 2]\nnull", flush=True)
    while HOW == "endless":
        sys.stdout.write("x" * 65536)


def call(message: dict[str, Any]) -> None:
    misbehave()
    if HOW == "refuses":
        write({"id": message["id"], "error": {"code": -32602, "message": "Unknown tool: look"}})
    elif HOW == "no-result":
        write({"id": message["id"], "result": {"content": "not a list"}})
    else:
        write({"id": message["id"], "result": answer(message["params"].get("arguments") or {})})
    if HOW == "stays":
        stubborn()
        signal.pause()


if HOW == "dies-at-once":
    sys.exit("no database")
if HOW == "silent":
    signal.pause()
if HOW == "stubborn":
    stubborn()
serve()
