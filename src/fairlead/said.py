"""What a hook has said, as it may go back to a model: bounded, with nothing hidden in it, and no frame of its own.

Agents put what hooks say into frames such as `<system-reminder>…</system-reminder>`, and many models take special
tokens for real wherever they stand. So `clean` breaks each of these by one character, `‹`, however it is spelled, and
leaves all other text as it is.
"""

# ruff: noqa: RUF001, RUF002  # look-alikes are what this file is about

from __future__ import annotations

from fairlead import wire
from fairlead.verdicts import TEXTS

TYPE_CHECKING = False
if TYPE_CHECKING:
    import re
    from collections.abc import Callable

    from fairlead.verdicts import Decision, Verdict

LIMIT = 10_000
"""Characters of one text."""
BROKEN = "‹"
"""Stands for the character that would have begun a frame."""
_LOOKED_AT = 3 * LIMIT
"""Characters at each end of a long text: of what is between them nobody is told anything."""
_SPARE = 16
"""Characters that breaking what a cut has put together may add."""


def for_model(text: str, elsewhere: str = "") -> str:
    """Clean, and at most `LIMIT` long; `elsewhere` says where the rest of it is."""
    if len(text) > 2 * _LOOKED_AT:
        return _ends(clean(text[:_LOOKED_AT]), clean(text[-_LOOKED_AT:]), len(text) - 2 * _LOOKED_AT, elsewhere)
    cleaned = clean(text)
    return cleaned if len(cleaned) <= LIMIT else _ends(cleaned, cleaned, -len(cleaned), elsewhere)


def _ends(first: str, last: str, between: int, elsewhere: str) -> str:
    """The beginning of one text and the end of another, and what is missing, with what is `between` them."""
    room = LIMIT - _SPARE - len(_gap(len(first) + len(last) + abs(between), elsewhere))
    head, tail = first[: room * 2 // 3], last[-(room // 3) :]
    missing = len(first) + len(last) + between - len(head) - len(tail)
    return clean(f"{head}{_gap(missing, elsewhere)}{tail}")


def _gap(missing: int, elsewhere: str) -> str:
    return f"\n… {missing:,} characters are left out here{elsewhere} …\n"


def sayable(decision: Decision, told: Callable[[str], str]) -> Decision:
    """Every text in it `told`; what this leaves out is kept in `whole`."""
    after = {name: told(getattr(decision, name)) for name in TEXTS}
    long = {name: text for name in TEXTS if len(text := getattr(decision, name)) > LIMIT >= len(after[name])}
    return decision.but(
        **after,
        notes=tuple(for_model(note) for note in decision.notes),
        groups={name: _heard(verdict, told) for name, verdict in decision.groups.items()},
        whole={**decision.whole, **long},
    )


def _heard(verdict: Verdict, told: Callable[[str], str]) -> Verdict:
    changed = {name: told(getattr(verdict, name)) for name in TEXTS if getattr(verdict, name)}
    return verdict.but(**changed) if changed else verdict


def clean(text: str) -> str:
    """Doing it twice changes nothing more."""
    return text if _is_plain(text) else _without_frames(_without_hidden(text))


def as_json(value: object) -> str:
    """JSON that says the same and holds no frame: for what a model has to repeat exactly."""
    written = wire.encode_text(value).replace("<", "\\u003c")
    if "[" in written or "]" in written:
        signs = list(written)
        for at in _frames(written.lower().replace("_", "-")):
            signs[at] = f"\\u{ord(signs[at]):04x}"
        written = "".join(signs)
    return written


def _is_plain(text: str) -> bool:
    """Most texts are; no regular expression is needed to see it."""
    if not text.isascii() or "<" in text or "[" in text or "]" in text:
        return False
    small = text.lower()
    return small.replace("\n", "").replace("\t", "").isprintable() and not any(role in small for role in _ROLES)


_ROLES = ("human", "assistant")


# --- hidden characters -------------------------------------------------------------------------------


def _without_hidden(text: str) -> str:
    text = text.replace("\r\n", "\n")
    if "\x1b" in text or "\x9b" in text or "\x9d" in text:
        import re

        text = re.sub(_SEQUENCES, "", text)
    text = wire.mended(text).translate(_SHOWN)
    return text if text.isascii() or not any(one in text for one in _JOINERS) else _joined(text)


_SEQUENCES = (
    r"(?:\x1b\]|\x9d)[^\x07\x1b\x9c\n]*(?:\x07|\x1b\\|\x9c)"
    r"|\x1b[PX^_][^\x1b\n]*\x1b\\"
    r"|(?:\x1b\[|\x9b)[0-?]*[ -/]*[@-~]"
    r"|\x1b[ -/]?[0-Z\\^-~]"
)
"""Of terminals, as a whole. One without an end is no sequence: its text stays, without what made it one."""

_JOINERS = "\u200c\u200d\ufe0e\ufe0f"


def _joined(text: str) -> str:
    import re

    return re.sub(f"[{_JOINERS}]+", _joining, text)


def _joining(found: re.Match[str]) -> str:
    """They make one sign of several, in emoji and in some scripts; anywhere else they only hide something."""
    run, text = found[0], found.string
    if not _is_far(text[found.start() - 1 : found.start()]):
        return ""
    look = run[0] if run[0] in "\ufe0e\ufe0f" else ""
    joiner = next((one for one in run if one in "\u200c\u200d"), "")
    return look + (joiner if _is_far(text[found.end() : found.end() + 1]) else "")


def _is_far(letter: str) -> bool:
    return letter > "\u00bf"


class _Shown(dict[int, int | str | None]):
    """For `str.translate`; learns what it is asked."""

    def __missing__(self, code: int) -> int | str | None:
        self[code] = found = None if _is_hidden(code) else code
        return found


_SHOWN = _Shown({9: 9, 10: 10, 13: 10, 0x85: 10, 0x2028: 10, 0x2029: 10, 0x200C: 0x200C, 0x200D: 0x200D})
_BLANK = frozenset({0x034F, 0x115F, 0x1160, 0x17B4, 0x17B5, 0x3164, 0xFFA0})
"""Letters and marks, to Unicode, that show nothing."""
_SIGNS = frozenset({*range(0x0600, 0x0606), 0x06DD, 0x070F, 0x0890, 0x0891, 0x08E2, 0x110BD, 0x110CD})
"""Formats, to Unicode, that are seen."""


def _is_hidden(code: int) -> bool:
    """Controls; formats such as bidi, zero width and tags; variation selectors that carry bytes."""
    import unicodedata

    if 0xFE00 <= code <= 0xFE0D or 0xE0000 <= code <= 0xE0FFF or 0x180B <= code <= 0x180F or code in _BLANK:
        return True
    return unicodedata.category(chr(code)) in ("Cc", "Cf") and code not in _SIGNS


# --- frames ------------------------------------------------------------------------------------------

_NAMES = frozenset(
    """
    systemreminder systemreminders systemprompt systemmessage systemmessages systeminstruction systeminstructions
    systemnotification systemwarning systemnote systemoverride
    hookcontext hookprompt hookresult hookoutput hookresponse hookfeedback hookmessage hookinput hookerror
    hookadditionalcontext
    tooluse toolresult toolresults toolcall toolcalls toolresponse toolresponses tooloutput tooloutputs toolerror
    toolcode tooluseerror functioncall functioncalls functionresult functionresults functionresponse functionoutput
    userquery usermessage userinstructions userrules userinfo usershellcommand usermemory
    assistantmessage assistantresponse assistantturn humanmessage humanturn developermessage developerinstructions
    startofturn endofturn beginoftext endoftext beginofsentence endofsentence startheaderid endheaderid eotid
    tasknotification commandname commandmessage commandargs commandstdout commandstderr commandcontents commandcaveat
    localcommandstdout localcommandstderr localcommandcaveat bashinput bashstdout bashstderr environmentcontext
    environmentdetails teammatemessage persistedoutput newdiagnostics ideselection ideopenedfile idediagnostics
    turnaborted subagentnotification collaborationmode sessioncontext sessionstartcontext additionalcontext
    additionaldata openandrecentlyviewedfiles attachedfiles antthinking
    """.split()
)
"""Of tags, without their hyphens: agents' own, those of tool calls, and those of chat templates."""
_MOST_WORDS = 6
_SPACES = frozenset({"qwen", "antml", "anthropic"})
_MOMENTS = frozenset("user prompt pre post before after session stop tool subagent notification".split())
"""`<user-prompt-submit-hook>`, and whatever else a hook is called after."""
_SHORT = frozenset("s system human assistant bos eos unk think thinking reasoning reminder tools instructions".split())
"""Words that other texts have too: frames only where they stand alone between `<` and `>`."""
_FOLLOWED = {"invoke": "name", "parameter": "name", "function": "=", "permissions": "instructions"}
_BRACKETS = frozenset(
    "inst sys systemprompt toolcalls toolresults toolcontent availabletools modelsettings callid think gmask"
    " smask".split()
)
_WORDS = frozenset({"sys", "think", "callid"})
"""Of these: words that other texts have in brackets too, where they are not written as the token is."""
_NOT_CAPITALS = frozenset({"gMASK", "sMASK"})
_BEGINNINGS = ("", "/", "\\/")
_HALVES = frozenset("turn channel tool tool-call tool-response think image audio video".split())
"""Gemma's tokens, barred on one side: `<|turn>` and `<turn|>`."""
_LETTERS = frozenset("abcdefghijklmnopqrstuvwxyz0123456789")


def _frames(look: str) -> list[int]:
    """Where one begins. By hand, since the regular expression for it would cost more than all the rest of an answer."""
    tags = [at for at in _all("<", look) if _is_tag(look, at)]
    brackets = [at for sign in "[]" for at in _all(sign, look) if _is_bracket(look, at)]
    return sorted((*tags, *brackets, *_turns(look)))


def _all(sign: str, look: str) -> list[int]:
    return [at for at, one in enumerate(look) if one == sign] if sign in look else []


def _is_tag(look: str, at: int) -> bool:
    if look.startswith(("<sys>>", "</sys>>", "<<sys>>", "<</sys>>"), at):
        return True
    if look.startswith("<|", at):
        return _is_token(look[at + 2 : at + 66]) or look[at + 2 : at + 20].partition(">")[0] in _HALVES
    begin = end = _behind_slashes(look, at + 1)
    while end < len(look) and (look[end] in _LETTERS or look[end] in "-:"):
        end += 1
    name = look[begin:end]
    if name in _HALVES and look.startswith("|>", end):
        return True
    return bool(name) and (_is_name(name) or _is_alone(look, at, begin, end) or _is_followed(look, name, end))


def _is_token(rest: str) -> bool:
    """`<|im_start|>`"""
    inside, closed, _ = rest.partition("|>")
    inside = inside.removeprefix(" ").removesuffix(" ")
    return bool(closed and inside) and (inside == '"' or all(one in _LETTERS or one in ".-\u2581" for one in inside))


def _behind_blanks(look: str, at: int) -> int:
    while look[at : at + 1].isspace():
        at += 1
    return at


def _behind_slashes(look: str, at: int) -> int:
    """Also `<\\/`, as JSON and JavaScript write it."""
    while look[at : at + 1].isspace() or (at < len(look) and look[at] in "/\\"):
        at += 1
    return at


def _is_name(name: str) -> bool:
    space, colon, rest = name.partition(":")
    if colon and space in _SPACES:
        return True
    words = (rest if colon else name).split("-")
    if words[0] in _MOMENTS and not {"hook", "hooks"}.isdisjoint(words[1:]):
        return True
    return any("".join(words[: number + 1]) in _NAMES for number in range(min(len(words), _MOST_WORDS)))


def _is_alone(look: str, at: int, begin: int, end: int) -> bool:
    if look[begin:end] not in _SHORT:
        return False
    if look.startswith(">", _behind_slashes(look, end)):
        return True
    inside, closed, _ = look[end : end + 202].partition(">")
    return bool(closed) and look[at + 1 : begin] in _BEGINNINGS and inside[:1].isspace() and "\n" not in inside


def _is_followed(look: str, name: str, end: int) -> bool:
    return name in _FOLLOWED and look.startswith(_FOLLOWED[name], _behind_blanks(look, end))


def _is_bracket(look: str, at: int) -> bool:
    """`[INST]`, `[/INST]`, and the odd ones `]~b]` and `[e~[`."""
    if look[at] == "]" or look.startswith("[e~[", at):
        return look[at] == "[" or (look[at + 1 : at + 2] == "~" and look[at + 3 : at + 4] == "]")
    inside, closed, _ = look[at + 1 : at + 41].partition("]")
    return bool(closed) and inside.strip(_AROUND).replace("-", "") in _BRACKETS


_AROUND = " \t\n/\\"


def _turns(look: str) -> list[int]:
    """Lines that begin as if somebody else spoke: where the name of that is."""
    if not any(role in look for role in _ROLES):
        return []
    found, begin = [], 0
    for line in look.split("\n"):
        said = line.lstrip(" \t")
        if said.startswith(_ROLES) and said.removeprefix("human").removeprefix("assistant").lstrip(" \t")[:1] == ":":
            found.append(begin + len(line) - len(said))
        begin += len(line) + 1
    return found


def _without_frames(text: str) -> str:
    look, place = _skeleton(text)
    parts: list[str] = []
    done = 0
    for found in _frames(look):
        at = place(found)
        if not _is_ordinary(text, at):
            parts += text[done:at], BROKEN
            done = at if look[found] in _LETTERS else at + 1
    return "".join((*parts, text[done:])) if parts else text


def _is_ordinary(text: str, at: int) -> bool:
    """What looks like a frame once capitals are small letters, and is code or prose."""
    if text[at] == "<":
        return _is_type(text, at)
    if text[at] == "[":
        return _is_index(text, at)
    return "a" <= text[at] <= "z"  # `human:`, as in YAML: nobody begins to speak like that


def _is_type(text: str, at: int) -> bool:
    """`List<System>` and the like: a type between brackets, right behind a name."""
    first, second = text[at + 1 : at + 2], text[at + 2 : at + 3]
    return text[at - 1 : at].isalnum() and first.isupper() and not second.isupper()


def _is_index(text: str, at: int) -> bool:
    """`array[inst]`, and the section `[sys]` of a file; never what is written as the token is."""
    word = text[at + 1 : at + 41].partition("]")[0]
    name = word.lower().replace("_", "").replace("-", "")
    if name not in _BRACKETS or word.isupper() or word in _NOT_CAPITALS:
        return False
    before = text[at - 1 : at] if at else ""
    return name in _WORDS or before.isalnum() or before in _BEFORE_INDEX


_BEFORE_INDEX = frozenset("_)]")


def _skeleton(text: str) -> tuple[str, Callable[[int], int]]:
    """What it looks like, in small letters of ASCII, and where in the text each of them stands."""
    if text.isascii():
        return text.lower().replace("_", "-"), int
    look: list[str] = []
    places: list[int] = []
    for at, letter in enumerate(text):
        plain = _look(letter)
        look.append(plain)
        places += [at] * len(plain)
    places.append(len(text))
    return "".join(look), places.__getitem__


def _look(letter: str) -> str:
    if letter.isascii():
        return "-" if letter == "_" else letter.lower()
    found = _LOOKS.get(letter)
    if found is None:
        import unicodedata

        apart = unicodedata.normalize("NFKD", letter)
        kept = "".join(one for one in apart if unicodedata.category(one) not in ("Mn", "Cf"))
        found = "".join(_ALIKE.get(one, one) for one in kept.lower().replace("_", "-"))
        _LOOKS[letter] = found
    return found


_LOOKS: dict[str, str] = {}
_ALIKE = dict(
    zip(
        "аеорсухіѕјһԁӏкмтнвпαεορτυνικχβηγꜱᴛᴇᴍʀɴᴅɪᴜᴘᴋʜᴏᴀᴄɢɑɡıƨ‐‑‒–—―−﹘˗⁃·․ـ＜﹤〈⟨❮❬≺ᐸ˂⧼⁄∕⧸╱∣│ǀ❘‖꞉：︓∶ː",
        "aeopcyxisjhdlkmthbnaeoptuvikxbnystemrndiupkhoacgagis-------------<<<<<<<<<<////|||||:::::",
        strict=True,
    )
)
