"""What a collector is sent where the user wants content: without secrets."""

from __future__ import annotations

from tests.conftest import Home
from tests.masking.canaries import SECRETS, TEXTS
from tests.masking.test_masking import is_told
from tests.telemetry.conftest import Collector, Hook, collector, hook, toml, traced

__all__ = ["collector", "hook", "traced"]

_MOST = 3000
"""Characters: of a longer text only the beginning is sent."""


def test_a_collector_gets_no_secret(traced: Home, collector: Collector, hook: Hook) -> None:
    toml(traced, '[[hook]]\nname = "says"\non = "PreToolUse"\nrun = "cat >&2; exit 2"\n[telemetry]\ncontent = true\n')
    sent, names = list(TEXTS.values()), list(TEXTS)
    half = next(number for number in range(len(sent)) if len("\n".join(sent[:number])) > _MOST)
    for texts in (sent[:half], sent[half:]):
        hook(tool_input={"command": "\n".join(texts)})
    hook(tool_name="Bash", tool_input={"command": "ls"}, session_id=TEXTS["a GitHub token"])
    collector.wait_for(lambda: collector.counted() == 3)
    collector.wait_for(lambda: len(collector.spans()) >= 3)
    got = b"".join(post.raw for post in list(collector.posts)).decode("utf-8", "replace")
    assert "aws configure" in got
    assert [name for name in names if is_told(SECRETS[name], got)] == []
