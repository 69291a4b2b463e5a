#!/bin/sh
# Written for Claude Code: the event on stdin; exit 2 refuses, with stderr as the reason.
if grep -q '"file_path":[^,]*\.env"'; then
  echo "secrets are not for agents: .env stays as it is" >&2
  exit 2
fi
