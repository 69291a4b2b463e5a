"""Another reader of frames, by regular expressions: what it finds in a cleaned text is a mistake of the first one."""

from __future__ import annotations

import re

_SYSTEM = "system -?(?: reminder|prompt|message|instructions?|notification|warning|note|override ) s?"
_HOOKS = (
    "hooks? - (?: context|prompt|result|output|response|feedback|message|input|error|additional-context )"
    "| (?: user|prompt|pre|post|before|after|session|stop|tool|subagent|notification ) [a-z-]* -hooks?"
)
_TALK = (
    "tool -? (?: use|results?|calls?|responses?|outputs?|errors?|code|use-error )"
    "| function -? (?: calls?|results?|response|output )"
    "| user -? (?: query|message|instructions|rules|info|shell-command|memory )"
    "| (?: assistant|human|developer|model ) - (?: message|response|turn|instructions )"
    "| (?: start|end|begin ) -of- (?: turn|text|sentence|image|audio|msg ) | (?: start|end ) -header-id | e[ou]t-id"
)
_AGENTS = (
    "task-notification | (?: local- )? command- (?: name|message|args|stdout|stderr|contents|caveat )"
    "| bash- (?: input|stdout|stderr ) | environment- (?: context|details ) | teammate-message | persisted-output"
    "| new-diagnostics | ide- (?: selection|opened-file|diagnostics ) | turn-aborted | subagent-notification"
    "| permissions\\s+instructions | collaboration-mode | session- (?: start- )? context"
    "| additional- (?: context|data )"
    "| open-and-recently-viewed-files | attached-files | antthinking | (?: invoke|parameter ) \\s+ name\\s*="
)
_SHORT = "s|system|human|assistant|bos|eos|unk|think|thinking|reasoning|reminder|tools|instructions|invoke"
"""Words that other texts have too: frames only where they stand alone between `<` and `>`."""
_BRACKETS = (
    r"\[(?=\s?/?\s?(?:inst|sys|system[-_]prompt|tool[-_](?:calls|results|content)|available[-_]tools|model[-_]settings"
    r"|call[-_]id|think|[gs]mask)\s?\])|\](?=~[a-z]\])|\[(?=e~\[)"
)


_HALF = "(?:turn|channel|tool(?:-call|-response)?|think|image|audio|video)"
_HALVES = rf"\|{_HALF}>|{_HALF}\|>|\|\"\|>"


def pattern() -> str:
    named = f"(?:[a-z0-9]{{1,20}}:)?(?:{_SYSTEM}|{_HOOKS}|{_TALK}|{_AGENTS})".replace(" ", "")
    begin = r"\s*+(?:/\s*+)?"
    return (
        rf"<(?={begin}(?:(?:{named})(?![a-z0-9])|(?:qwen|antml|anthropic)\s*+:|function\s*+=|(?:{_SHORT})\s*+/?\s*+>)"
        rf"|/?(?:{_SHORT})\s[^>\n]{{0,200}}>|<?/?sys>>|\|\s?[a-z0-9.\u2581-]{{1,60}}\s?\|>|{_HALVES})"
        rf"|{_BRACKETS}|(?m:^)[ \t]*(?=(?:human|assistant)[ \t]*:)"
    )


FRAMES = re.compile(pattern())


def frames(look: str) -> list[str]:
    """In small letters of ASCII, with hyphens for underscores."""
    return [look[found.start() : found.start() + 30] for found in FRAMES.finditer(look)]
