"""The words of a command, each with its place: as a shell parts them, as far as that matters for names of files."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

_PATH = frozenset("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_.-+@%,/=:")
VARIABLES = (
    "CLAUDE_PROJECT_DIR", "FAIRLEAD_PROJECT_DIR", "CODEX_PROJECT_DIR", "GEMINI_PROJECT_DIR", "QWEN_PROJECT_DIR",
    "CURSOR_PROJECT_DIR", "COPILOT_PROJECT_DIR", "CODEMIE_PROJECT_DIR", "AMCP_PROJECT_DIR", "PROJECT_DIR", "PWD",
)  # fmt: skip
"""What stands for the project's folder in a command."""
_SUBSTITUTED = ("git rev-parse --show-toplevel", "pwd")
"""Commands that print it."""
BLANK = " \t\n"
_ENDS_WORD = f"{BLANK};|&()<>"


def words(text: str) -> Iterator[tuple[int, str]]:
    """As a shell parts them, with their marks; what stands in quotation marks is parted as well."""
    at = 0
    while at < len(text):
        end = at
        while end < len(text) and text[end] not in _ENDS_WORD:
            end = variable_end(text, end) if variable_end(text, end) > end else end + 1
        if end > at:
            yield at, text[at:end]
        at = end + 1


def unquoted(word: str) -> str:
    return word.replace('"', "").replace("'", "").replace("\\", "")


def joined(text: str) -> Iterator[tuple[int, int, str]]:
    """Words with marks in their middle alone, `hooks/\\x.sh` and `hooks/""x.sh`: no part of one is a word."""
    for at, word in words(text):
        plain = unquoted(word)
        if plain != word and word[0] not in "\"'" and word.count('"') % 2 == word.count("'") % 2 == 0:
            yield at, at + len(word), without_variable(plain)


def glued(text: str) -> Iterator[tuple[int, int, str]]:
    """Words with marks in their middle: `hooks"/x.sh"`."""
    for at, word in words(text):
        plain = unquoted(word)
        if plain != word and word[-1] not in "{," and len(plain) > 1:
            yield at, at + len(word), without_variable(plain)


def quoted(text: str) -> Iterator[tuple[int, int, str]]:
    """What stands in quotation marks, with the rest of a path after it."""
    for mark in "\"'":
        at = text.find(mark)
        while at >= 0:
            end = text.find(mark, at + 1)
            if end < 0:
                break
            tail = end + 1
            while tail < len(text) and text[tail] in _PATH:
                tail += 1
            inner = (at + 1, end) if tail == end + 1 else (at, tail)  # the marks may be those of a program's text
            yield *inner, without_variable(text[at + 1 : end] + text[end + 1 : tail])
            at = text.find(mark, end + 1)


def bare(text: str) -> Iterator[tuple[int, int, str]]:
    at = 0
    while at < len(text):
        end = variable_end(text, at)
        if end == at and text[at] not in _PATH:
            at += 1
            continue
        while end < len(text) and text[end] in _PATH:
            end += 1
        yield from _parts(at, text[at:end])
        at = max(end, at + 1)


def _parts(at: int, word: str) -> Iterator[tuple[int, int, str]]:
    """The word, and what follows `=` or `:` in it: `--config=rules.py`."""
    yield at, at + len(word), without_variable(word)
    for mark in "=:":
        cut = word.find(mark)
        if 0 <= cut < len(word) - 1:
            yield at + cut + 1, at + len(word), without_variable(word[cut + 1 :])


def variable_end(text: str, at: int) -> int:
    """Where a variable ends that stands for a folder, as far as one can see: a path follows it."""
    if text[at] == "`" or text.startswith("$(", at):
        return _substitution_end(text, at)
    if text[at] != "$":
        return at
    end = text.find("}", at) + 1 if text.startswith("${", at) else at + 1
    while text[at + 1 : at + 2] != "{" and end < len(text) and (text[end].isalnum() or text[end] == "_"):
        end += 1
    name = text[at + 1 : end].strip("{}")
    is_folder = name in VARIABLES or text[end : end + 1] == "/"
    return end if name.isidentifier() and is_folder else at


def _substitution_end(text: str, at: int) -> int:
    """Where `$(git rev-parse --show-toplevel)` ends."""
    begin, mark = (at + 1, "`") if text[at] == "`" else (at + 2, ")")
    end = text.find(mark, begin)
    command = text[begin:end].partition(" 2>")[0].strip() if end > 0 else ""
    return end + 1 if command in _SUBSTITUTED else at


def without_variable(word: str) -> str:
    """`$CLAUDE_PROJECT_DIR/hooks/x.sh` without its beginning."""
    end = variable_end(word, 0) if word[:1] in ("$", "`") else 0
    return word[end:].lstrip("/") if end else word
