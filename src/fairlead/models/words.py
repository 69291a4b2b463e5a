"""A judge's answer in one word, ALLOW, BLOCK or CONTINUE, with whatever chat there is around it."""

from __future__ import annotations

import re

from fairlead.models.answers import FENCES, MEANINGS, Answer, is_taken_back, refuses, stands_in

_GAP = r"\W{1,9}"
_LABEL = rf"(?:decision|verdict|answer|response|recommendation|result){_GAP}(?:is{_GAP})?"
_ENDS = r"""(?=["'`*_)\]\u201d\u2019]{0,9}\s{0,9}(?:\n|\Z|[.,:;!(\u2013\u2014-]))"""
_SPOKEN = re.compile(
    rf"(?:(?:\A|\n|[.!]\s)\W{{0,9}}(?:final{_GAP})?(?:{_LABEL})?|\b(?:my|the|final)\s+(?:final\s+)?{_LABEL})"
    rf"\b(allow|block|continue)\b{_ENDS}",
    re.IGNORECASE,
)
"""At the beginning of a line or a sentence, or announced; and no other word of the sentence before the next mark."""
_LOUD = re.compile(r"\b(ALLOW|BLOCK|CONTINUE)\b")
"""In the middle of a sentence: enough for a no, and to doubt a yes."""
_CONDITION = re.compile(
    r"\b(?:unless|otherwise|provided that|as long as|on condition)\b"
    r"|\A\W*(?:it |this )?(?:only )?(?:if|when|once|after)\b",
    re.IGNORECASE,
)
_QUOTES = "\"'`\u201c\u201d\u2018\u2019\u00ab\u00bb"


def in_words(text: str, data: str) -> Answer | None:
    """None where it is not plain what was said."""
    said = _spoken(text)
    kinds = {match[1].lower() for match in said}
    if len(kinds) != 1 or any(_is_taken_back(text, match) for match in said):
        return None
    before, after = text[: said[0].start()], text[said[0].end(1) :]
    answer = Answer(word=MEANINGS[kinds.pop()], reason=_explanation(after) or _explanation(before))
    return answer if answer.word == "no" or _is_plain(said[0][1], before, after, data) else None


def _spoken(text: str) -> list[re.Match[str]]:
    plain = [match for match in _SPOKEN.finditer(text) if not _is_quoted(text, match)]
    loud = [match for match in _LOUD.finditer(text) if not _is_quoted(text, match)]
    if not plain:
        return loud if any(match[1] == "BLOCK" for match in loud) else []
    return [*plain, *(match for match in loud if match[1] == "BLOCK")]


def _is_quoted(text: str, match: re.Match[str]) -> bool:
    """Whether it is somebody else's word; alone on its line it is an answer in quotation marks."""
    begin = match.start(1)
    line = text[text.rfind("\n", 0, begin) + 1 :].partition("\n")[0]
    return text[begin - 1 : begin] in tuple(_QUOTES) and any(map(str.isalnum, line.replace(match[1], "", 1)))


def _is_taken_back(text: str, match: re.Match[str]) -> bool:
    """`do not ALLOW`, `ALLOW?`"""
    asked = text[match.end(1) :].lstrip(f"{_QUOTES}* ").startswith("?")
    return asked or is_taken_back(text[: match.start(1)])


def _is_plain(word: str, before: str, after: str, data: str) -> bool:
    """A yes that nothing speaks against, and that is not the last thing that the judge has read out."""
    quoted = bool(_explanation(before)) and stands_in(word, data)
    return not (quoted or refuses(before + after) or _CONDITION.search(after))


def _explanation(text: str) -> str:
    return FENCES.sub("", text).strip(" \t\n:.,;!\u2013\u2014-*_#>()" + _QUOTES)
