"""Kilo: grown from OpenCode, and the same plugin serves both."""

from __future__ import annotations

from fairlead.dialects import opencode

NAME = "kilo"
TOOLS = opencode.TOOLS
EVENTS = opencode.EVENTS
CAN = opencode.CAN
DEADLINES = opencode.DEADLINES
CAPS_STOPS = False
INPUT_VARIABLE = ""

read_event = opencode.read_event
write_reply = opencode.write_reply
write_result = opencode.write_result
write_failure = opencode.write_failure
