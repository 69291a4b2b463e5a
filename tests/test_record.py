from __future__ import annotations

import copy
import pickle
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fairlead._record import Record


class Point(Record):
    x: float
    y: float = 0
    tags: Any = ()


class Named(Point):
    name: str = "point"


VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=3), inner, max_size=3),
    max_leaves=6,
)
POINTS = st.builds(Point, x=VALUES) | st.builds(Named, x=VALUES, y=VALUES, tags=VALUES, name=st.text(max_size=3))


@given(POINTS, st.sampled_from(["x", "y", "tags", "new"]))
def test_a_record_is_frozen(point: Point, name: str) -> None:
    before = point.as_dict()
    with pytest.raises(AttributeError, match="frozen"):
        setattr(point, name, 1)
    with pytest.raises(AttributeError, match="frozen"):
        delattr(point, name)
    assert point.as_dict() == before


@given(POINTS)
def test_a_copy_is_equal_and_has_the_same_hash(point: Point) -> None:
    for other in (point.but(), type(point)(**point.as_dict()), copy.copy(point), pickle.loads(pickle.dumps(point))):
        assert other == point
        assert hash(other) == hash(point)


@given(POINTS, POINTS)
def test_equal_records_have_equal_hashes_and_the_same_type(one: Point, other: Point) -> None:
    if one == other:
        assert hash(one) == hash(other)
        assert type(one) is type(other)
    assert (one == other) == (other == one)


@pytest.mark.parametrize(
    ("one", "other"),
    [
        (Point(x=1), Point(x=1.0)),
        (Point(x=1), Point(x=True)),
        (Point(x=0.0), Point(x=-0.0)),
        (Point(x=1, tags={"a": 1, "b": 2}), Point(x=1, tags={"b": 2, "a": 1})),
        (Point(x=1), Point(x=1, y=0)),
    ],
    ids=str,
)
def test_what_is_equal_has_one_place_in_a_set(one: Point, other: Point) -> None:
    assert {one, other} == {one}


@given(POINTS, VALUES)
def test_but_changes_one_field_and_leaves_the_old_record_alone(point: Point, value: Any) -> None:
    before = point.as_dict()
    changed = point.but(y=value)
    assert changed.as_dict() == {**before, "y": value}
    assert point.as_dict() == before
    assert type(changed) is type(point)


@pytest.mark.parametrize(
    ("fields", "says"),
    [
        ({}, "Point: missing x"),
        ({"x": 1, "z": 2}, "Point: unknown z"),
        ({"y": 1, "b": 2, "a": 2}, "Point: missing x; unknown a, b"),
    ],
    ids=str,
)
def test_wrong_fields_are_named(fields: dict[str, Any], says: str) -> None:
    with pytest.raises(TypeError) as error:
        Point(**fields)
    assert str(error.value) == says


def test_but_knows_the_fields_too() -> None:
    with pytest.raises(TypeError, match="unknown z"):
        Point(x=1).but(z=1)


def test_a_record_says_what_it_was_given_in_the_order_of_the_fields() -> None:
    assert repr(Named(name="a", x=1)) == "Named(x=1, name='a')"
    assert list(Named(name="a", x=1).as_dict()) == ["x", "name"]


def test_a_subclass_is_never_equal_to_its_parent() -> None:
    assert Named(x=1) != Point(x=1)
    assert Point(x=1) != {"x": 1}
