#!/bin/sh
# Written for Code Agent: the command in $COMMAND; any exit but 0 blocks.
case "$COMMAND" in
  *"push --force"*)
    echo "a force push rewrites what others have pulled" >&2
    exit 1 ;;
esac
