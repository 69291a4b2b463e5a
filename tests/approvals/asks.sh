#!/bin/bash
# A hook as anybody may write it after the protocol's document: two tries, and a refusal when both fail.
set -u
event=$(cat)
id="by-hand-$$-$RANDOM"
body=$(jq -n --arg run "$M_RUN_ID" --arg id "$id" --argjson event "$event" \
  '{run_id: $run, type: ($event.kind // "approval"), tool: $event.tool, request_id: $id, payload: $event.input}')
for _ in 1 2; do
  answer=$(curl -s --max-time 60 "$M_SERVER_URL/api/internal/interaction-request" -H 'Content-Type: application/json' \
    -H "Authorization: Bearer $M_API_KEY" -H 'X-M-Hook-Version: 1' -H "X-M-Request-ID: $id" -d "$body")
  if jq -e .decision <<<"$answer" >/dev/null 2>&1; then echo "$answer"; exit 0; fi
done
echo '{"decision":"block"}'
