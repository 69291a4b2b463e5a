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
_TOKENS = "INST SYS SYSTEM_PROMPT TOOL_CALLS TOOL_RESULTS TOOL_CONTENT AVAILABLE_TOOLS MODEL_SETTINGS CALL_ID THINK"
_BEGIN, _END = r"\[(?=[\s/\\]*(?:", r")[\s/\\]*\])"
_BRACKETS = (
    rf"{_BEGIN}{_TOKENS.replace(' ', '|')}|[gs]MASK{_END}"
    rf"|(?<![^\W_])(?<![_)\]])(?i:{_BEGIN}inst|(?:system|tool|available|model)[-_]?(?:prompt|calls|results|content|tools"
    rf"|settings)|[gs]mask{_END})"
    r"|\](?=~[a-z]\])|\[(?=e~\[)"
)
"""Tokens as they are; in other letters where they are no index."""


_HALF = "(?:turn|channel|tool(?:-call|-response)?|think|image|audio|video)"
_HALVES = rf"\|{_HALF}>|{_HALF}\|>|\|\"\|>"


def pattern() -> str:
    named = f"(?:[a-z0-9]{{1,20}}:)?(?:{_SYSTEM}|{_HOOKS}|{_TALK}|{_AGENTS})".replace(" ", "")
    begin = r"[\s/\\]*+"
    return (
        rf"<(?={begin}(?:(?:{named})(?![a-z0-9])|(?:qwen|antml|anthropic)\s*+:|function\s*+=|(?:{_SHORT})\s*+/?\s*+>)"
        rf"|(?:\\?/)?(?:{_SHORT})\s[^>\n]{{0,200}}>|<?/?sys>>|\|\s?[a-z0-9.\u2581-]{{1,60}}\s?\|>|{_HALVES})"
    )


TAGS = re.compile(pattern())
OTHERS = re.compile(rf"{_BRACKETS}|(?m:^)[ \t]*(?=(?:H(?i:uman)|A(?i:ssistant))[ \t]*:)")
_TYPES = re.compile(r"(?<=[^\W_])<(?=[A-Z](?![A-Z]))")


def frames(text: str) -> list[str]:
    """Tags in any letters, but for types such as `List<System>`; tokens and turns as they are written."""
    small = _TYPES.sub("", text).lower().replace("_", "-")
    tags = [small[found.start() : found.start() + 30] for found in TAGS.finditer(small)]
    return tags + [text[found.start() : found.start() + 30] for found in OTHERS.finditer(text)]
