"""Make the generated part of the corpus: written cases in other spellings.

Run ``python -m tests.guard.generate``. The result depends on nothing but the written cases.
"""

from __future__ import annotations

import json

from .cases import CORPUS, Case, written
from .transforms import MENTIONS, TRANSFORMS

_SPELLINGS_PER_CASE = 4
# These change the state that a case is about, or hide its output from the rule under test.
_UNSUITABLE = frozenset({"in a pipe", "env", "env with a variable", "exec", "continued line", "extra blanks", "tab"})


def cases() -> list[Case]:
    """Return every generated case, in a fixed order."""
    spellings = [name for name in TRANSFORMS if name not in _UNSUITABLE and name != "as it is"]
    found: list[Case] = []
    for number, case in enumerate(case for case in written() if _simple(case.command)):
        for step in range(_SPELLINGS_PER_CASE):
            name = spellings[(number * 7 + step * 11) % len(spellings)]
            if case.decision == "none":
                if _wraps(name) and name != "eval":
                    found.append(Case("none", "", TRANSFORMS[name](case.command)))
            elif _wraps(name) or case.command.split()[0].isalnum():
                found.append(Case(case.decision, case.rule, TRANSFORMS[name](case.command)))
        if case.decision != "none":
            mention = list(MENTIONS)[number % len(MENTIONS)]
            found.append(Case("none", "", MENTIONS[mention](case.command)))
    return found


def _simple(command: str) -> bool:
    """Say whether a command can be put into other commands as text."""
    return not set(command) & set("\n'\"`$\\;&|<>(){}!#*~=") and command.split(maxsplit=1)[0] not in (
        "set",
        "coproc",
        "exec",
        "time",
    )


def _wraps(name: str) -> bool:
    """Say whether a spelling leaves even harmless commands harmless: no sudo, no other name."""
    return name in {
        "sh -c", "bash -lc", "nested shells", "eval", "subshell", "group", "function", "after a command",
        "after a failure", "in an if", "in a loop", "time", "command", "here-document", "piped to a shell", "base64",
        "after a comment", "substitution",
    }  # fmt: skip


def text() -> str:
    lines = [json.dumps(case._asdict(), ensure_ascii=False) for case in cases()]
    return "\n".join(lines) + "\n"


if __name__ == "__main__":
    (CORPUS / "generated.jsonl").write_text(text())
