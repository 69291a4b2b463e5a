#!/bin/sh
# Written for claude-agent: the event on stdin; continue_execution says whether it goes on.
if grep -q 'DROP TABLE'; then
  printf '%s\n' '{"continue_execution": false, "stop_reason": "the production database is not a playground"}'
fi
