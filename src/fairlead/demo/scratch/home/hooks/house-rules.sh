#!/bin/sh
# Written for CodeMie: JSON on stdout, here with a text for the model.
printf '%s\n' '{"decision": "allow", "additionalContext": "House rules: work on a branch; run `make test` before you stop."}'
