"""A request comes in pieces, or is none."""

from __future__ import annotations

import struct

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fairlead.warm import framing
from fairlead.warm.framing import Asked, Garbage, Reader

TEXT = st.text(st.characters(exclude_characters="\0", exclude_categories=["Cs"]), max_size=30)
NAMES = TEXT.filter(lambda name: "=" not in name)
REQUESTS = st.tuples(
    st.lists(TEXT, max_size=6), st.dictionaries(NAMES, TEXT, max_size=6), TEXT, st.binary(max_size=300)
)


@given(REQUESTS, st.lists(st.integers(1, 400), max_size=8))
def test_however_it_is_cut_it_arrives_whole(
    request: tuple[list[str], dict[str, str], str, bytes], cuts: list[int]
) -> None:
    words, environ, cwd, stdin = request
    data = framing.request(words, environ, cwd, stdin)
    reader = Reader()
    places = sorted({cut for cut in cuts if cut < len(data)})
    parts = [data[start:end] for start, end in zip([0, *places], [*places, len(data)], strict=True)]
    *before, last = [reader.feed(part) for part in parts]
    assert before == [None] * len(before)
    assert last == Asked(words=tuple(words), environ=environ, cwd=cwd, stdin=stdin)


@given(REQUESTS, st.data())
def test_a_part_of_it_is_never_taken_for_all(
    request: tuple[list[str], dict[str, str], str, bytes], data: st.DataObject
) -> None:
    whole = framing.request(*request)
    assert Reader().feed(whole[: data.draw(st.integers(0, len(whole) - 1))]) is None


@given(REQUESTS, st.data())
def test_whatever_else_comes_is_garbage_or_a_request_and_never_a_crash(
    request: tuple[list[str], dict[str, str], str, bytes], data: st.DataObject
) -> None:
    raw = bytearray(framing.request(*request))
    for _ in range(data.draw(st.integers(1, 4))):
        raw[data.draw(st.integers(0, len(raw) - 1))] = data.draw(st.integers(0, 255))
    try:
        assert isinstance(Reader(1 << 20).feed(bytes(raw)), Asked | None)
    except Garbage:
        pass


def head(words: int = 0, variables: int = 0, tail: bytes = b"") -> bytes:
    return framing.REQUEST + struct.pack("<I", words) + (struct.pack("<I", variables) if not words else b"") + tail


@pytest.mark.parametrize(
    "raw",
    [
        b"GET / HTTP/1.1\r\n",
        b"FLH2",
        b"\0" * 4,
        head(65),
        head(1, tail=struct.pack("<I", 4097)),
        head(0, 70_000),
        head(0, 1, struct.pack("<I", (2 << 20) + 1)),
        head(0, 0, struct.pack("<I", 1 << 20)),
        head(0, 0, struct.pack("<IQ", 0, (64 << 20) + 1)),
        framing.request([], {}, "/", b"x") + b"y",
    ],
    ids=[
        "another protocol", "another version", "zeroes", "too many words", "a word that is too long",
        "too many variables", "an environment that is too large", "a path that is too long", "an event too large",
        "more than one",
    ],
)  # fmt: skip
def test_beyond_the_limits_it_is_refused_before_it_has_come(raw: bytes) -> None:
    with pytest.raises(Garbage):
        Reader().feed(raw)


def test_of_two_variables_of_one_name_the_first_counts_as_it_does_in_a_program() -> None:
    pairs = [b"A=1", b"A=2", b"nothing", b"B=x=y"]
    block = struct.pack("<I", len(pairs)) + b"".join(struct.pack("<I", len(pair)) + pair for pair in pairs)
    assert framing.variables(block) == {"A": "1", "B": "x=y"}


def test_an_environment_that_is_known_is_not_taken_apart_again() -> None:
    raw = framing.request([], {"A": "1"}, "/", b"")
    one, two = Reader().feed(raw), Reader().feed(raw)
    assert one is not None
    assert two is not None
    assert one.environ is two.environ


def test_bytes_that_are_no_text_survive() -> None:
    found = Reader().feed(framing.request(["\udcff"], {"A": "\udcfe"}, "/\udcfd", b"\xfc"))
    assert found == Asked(words=("\udcff",), environ={"A": "\udcfe"}, cwd="/\udcfd", stdin=b"\xfc")
