"""JSON from strangers, and back.

Bytes come from agents, hooks and files that we do not control. What is not plainly JSON is an
`InputError` with the place, never a crash: deep nesting, huge integers, NaN, a key given twice (two
readers may take different ones), text that is not Unicode.

The `json` package is a thin layer of Python over the C module `_json`, and imports `re`, `enum` and
`collections`: half of what the cold path would cost. So `_json` is used directly where it exists, and
the package where it does not, and to explain what is wrong.
"""

from __future__ import annotations

from fairlead.errors import InputError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable
    from typing import Any, NoReturn

LIMIT = 64 << 20
"""Bytes in one event; more is an error."""

DEPTH = 200
"""Objects and lists inside each other. Below what `jq` reads in a hook (256), and far below what Python can
write again: an event that can be read, but not given to a hook, would be one that no hook has seen."""

_TOO_DEEP = f"not usable JSON: nested too deeply; the limit is {DEPTH}"
_INFINITE = float("inf")
_BLANKS = " \t\n\r"


def decode(raw: bytes | str) -> Any:
    """The JSON value in `raw`: UTF-8, UTF-16 or UTF-32, with or without a byte-order mark."""
    if len(raw) > LIMIT:
        raise InputError(f"{len(raw):,} bytes of JSON; the limit is {LIMIT:,}")
    text = _text(raw)
    try:
        value = _decode(text)
    except RecursionError:
        raise InputError(_TOO_DEEP) from None
    except ValueError as error:
        raise InputError(_what_is_wrong(error)) from None
    if text.count("{") + text.count("[") > DEPTH and is_too_deep(value):
        raise InputError(_TOO_DEEP)
    return value


def decode_kept(raw: bytes) -> dict[str, Any]:
    """`decode_object` for who does not change what it gets: `decoded` has it at hand, until others are read so."""
    value = decode_object(raw)
    _LAST[:] = raw, value
    return value


_LAST: list[Any] = [b"", None]


def decoded(raw: bytes) -> Any:
    """`decode` for bytes that somebody may have decoded already, and kept."""
    return _LAST[1] if _LAST[0] is raw else decode(raw)


def decode_object(raw: bytes | str, what: str = "the event") -> dict[str, Any]:
    if not raw.strip():
        raise InputError(f"{what} is empty; expected a JSON object")
    value = decode(raw)
    if not isinstance(value, dict):
        raise InputError(f"{what} must be a JSON object, not {_kind(value)}")
    return value


def encode(value: object) -> bytes:
    """Compact JSON in ASCII, so that lone surrogates survive."""
    return encode_text(value).encode()


def mended(text: str) -> str:
    """With U+FFFD for halves of characters, which not every reader of JSON takes."""
    return text if text.isascii() else text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")


def encode_text(value: object) -> str:
    """NaN and infinities become null, as JavaScript writes them: a hook must be able to read the rest."""
    encode_value = _ENCODER[0] if _ENCODER else _encoder()
    try:
        return "".join(encode_value(value, 0))
    except ValueError:
        return "".join(encode_value(_finite(value), 0))


class _Rules:
    """What the scanner in C asks of its decoder."""

    strict = True
    object_hook = None
    array_hook = None
    parse_int = int

    @staticmethod
    def object_pairs_hook(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        value = dict(pairs)
        if len(value) != len(pairs):
            raise ValueError(f"the key {_first_repeated([key for key, _ in pairs])[:80]!r} is there twice")
        return value

    @staticmethod
    def parse_float(digits: str) -> float:
        value = float(digits)
        if value in (_INFINITE, -_INFINITE):
            raise ValueError(f"the number {digits[:80]} is too large")
        return value

    @staticmethod
    def parse_constant(name: str) -> NoReturn:
        raise ValueError(f"{name} is not a JSON number")


def _decode(text: str) -> Any:
    start = 0 if text.startswith("{") else len(text) - len(text.lstrip(_BLANKS))
    try:
        value, end = _scan(_SCANNER[0] if _SCANNER else _scanner(), text, start)
    except StopIteration as stop:
        _fail("Expecting value", text, stop.value)
    rest = text[end:].lstrip(_BLANKS) if end < len(text) else ""
    if rest:
        _fail("Extra data", text, len(text) - len(rest))
    return value


def _scan(scan: Callable[[str, int], tuple[Any, int]], text: str, start: int) -> tuple[Any, int]:
    try:
        return scan(text, start)
    except SystemError:  # Python 3.11 looks for the error's class in a package that nobody has imported yet
        import json.decoder  # noqa: F401

        return scan(text, start)


_SCANNER: list[Callable[[str, int], tuple[Any, int]]] = []
"""Made when it is first needed, and kept: it holds nothing between two texts."""


def _scanner() -> Callable[[str, int], tuple[Any, int]]:
    scanner: Callable[[str, int], tuple[Any, int]]
    try:
        from _json import make_scanner
    except ImportError:
        from json import JSONDecoder

        decoder = JSONDecoder(
            object_pairs_hook=_Rules.object_pairs_hook,
            parse_float=_Rules.parse_float,
            parse_constant=_Rules.parse_constant,
        )
        scanner = decoder.raw_decode
    else:
        scanner = make_scanner(_Rules)  # type: ignore[arg-type]  # it only looks at the attributes
    _SCANNER.append(scanner)
    return scanner


_ENCODER: list[Callable[[object, int], tuple[str, ...]]] = []
"""Made when it is first needed: making one costs as much as writing a small event."""


def _encoder() -> Callable[[object, int], tuple[str, ...]]:
    try:
        from _json import encode_basestring_ascii, make_encoder
    except ImportError:
        import json

        return lambda value, _level: (json.dumps(value, separators=(",", ":"), allow_nan=False),)
    encoder: Callable[[object, int], tuple[str, ...]]
    encoder = make_encoder(None, _not_json, encode_basestring_ascii, None, ":", ",", False, False, False)
    _ENCODER.append(encoder)
    return encoder


def is_too_deep(value: object) -> bool:
    """For every reader of strangers' JSON: how deep Python itself can read differs from version to version."""
    level = [value] if isinstance(value, (dict, list)) else []
    for _ in range(DEPTH):
        level = [inner for outer in level for inner in _inside(outer) if isinstance(inner, (dict, list))]
        if not level:
            return False
    return True


def _inside(value: Any) -> Iterable[Any]:
    return value.values() if isinstance(value, dict) else value


def shallow(text: str) -> str:
    """With null for whatever is nested too deeply, so that the rest can be read."""
    kept, start = [], 0
    for begin, end in too_deep_parts(text):
        kept += [text[start:begin], "null"]
        start = end
    return "".join((*kept, text[start:]))


def too_deep_parts(text: str) -> list[tuple[int, int]]:
    """Where what is nested too deeply begins and ends; none, if the last of them does not end."""
    if text.count("{") + text.count("[") <= DEPTH:
        return []
    import re

    found, depth, begin = [], 0, 0
    for sign in re.finditer(r'"(?:[^"\\]|\\.)*+"?|[][{}]', text, re.DOTALL):
        if sign[0] in "[{":
            depth += 1
            begin = sign.start() if depth == DEPTH + 1 else begin
        elif sign[0] in "]}":
            if depth == DEPTH + 1:
                found.append((begin, sign.end()))
            depth -= 1
    return [] if depth > DEPTH else found


def _finite(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _finite(inner) for key, inner in value.items()}
    if isinstance(value, (list, tuple)):
        return [_finite(inner) for inner in value]
    return None if isinstance(value, float) and not -_INFINITE < value < _INFINITE else value


def _not_json(value: object) -> NoReturn:
    raise TypeError(f"{type(value).__name__} cannot be written as JSON")


def _fail(message: str, text: str, place: int) -> NoReturn:
    from json import JSONDecodeError

    raise JSONDecodeError(message, text, place)


def _what_is_wrong(error: ValueError) -> str:
    from json import JSONDecodeError

    if isinstance(error, JSONDecodeError):
        return f"not JSON: {error.msg}, line {error.lineno} column {error.colno}"
    return f"not usable JSON: {str(error).partition(';')[0]}"  # an integer too long, or our own rules


def _text(raw: bytes | str) -> str:
    if isinstance(raw, str):
        return raw.removeprefix("\ufeff")
    try:
        start = raw[:4]
        if start.isascii() and b"\0" not in start:
            return raw.decode()
        return raw.decode(_encoding(raw)).removeprefix("\ufeff")
    except UnicodeDecodeError as error:
        raise InputError(f"not Unicode text: byte {error.start} cannot be read as {error.encoding}") from None


def _encoding(raw: bytes) -> str:
    """UTF-8, unless a mark or zero bytes near the start say otherwise."""
    if raw.startswith((b"\xff\xfe", b"\xfe\xff")) or b"\0" in raw[:4]:
        from json import detect_encoding

        return detect_encoding(raw)
    return "utf-8"


def _first_repeated(keys: list[str]) -> str:
    seen = set()
    for key in keys:
        if key in seen:
            return key
        seen.add(key)
    return ""


def _kind(value: object) -> str:
    names = {list: "a list", str: "a string", bool: "true or false", type(None): "null"}
    return names.get(type(value), "a number")
