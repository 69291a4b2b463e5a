# Written for AMCP: the event on stdin; "ask" puts the question to a person.
import json
import sys

event = json.load(sys.stdin)
if event["tool_input"].get("command", "").startswith("git push"):
    answer = {"permissionDecision": "ask", "permissionDecisionReason": "someone should look before this is public"}
    json.dump({"hookSpecificOutput": {"hookEventName": "PreToolUse", **answer}}, sys.stdout)
