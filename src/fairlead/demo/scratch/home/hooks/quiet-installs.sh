#!/bin/sh
# Written for CodeMie: the event in CODEMIE_HOOK_INPUT; updatedInput changes the call.
case "$CODEMIE_HOOK_INPUT" in
  *'"npm install"'*) printf '%s\n' '{"decision": "allow", "updatedInput": {"command": "npm ci --ignore-scripts"}}' ;;
esac
