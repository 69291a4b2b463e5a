"""Patches as single calls, and back."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fairlead import patches

MIXED = """*** Begin Patch
*** Add File: src/new.py
+import os
+
+print(os.name)
*** Update File: /abs/old.py
@@ def f():
 keep
-gone
+come
 keep too
*** Update File: a.txt
*** Move to: b/c.txt
@@
-x
+y
*** Delete File: dead.txt
*** End Patch"""


def test_each_file_is_a_call() -> None:
    assert patches.calls(MIXED, "/p") == [
        ("Write", {"file_path": "/p/src/new.py", "content": "import os\n\nprint(os.name)\n"}),
        (
            "Edit",
            {
                "file_path": "/abs/old.py",
                "old_string": "keep\ngone\nkeep too",
                "new_string": "keep\ncome\nkeep too",
            },
        ),
        ("Edit", {"file_path": "/p/a.txt", "old_string": "x", "new_string": "y"}),
        ("Write", {"file_path": "/p/b/c.txt", "content": "y\n"}),
        ("Edit", {"file_path": "/p/dead.txt", "old_string": "", "new_string": "", "deleted": True}),
    ]


@pytest.mark.parametrize(
    "text",
    [
        "  *** Delete File: x",
        "*** Begin Patch\r\n*** Delete File: x\r\n*** End Patch\r\n",
        "apply_patch <<'EOF'\n*** Begin Patch\n*** Delete File: x\n*** End Patch\nEOF",
        "*** Delete File:   x  ",
    ],
    ids=["blanks before", "CRLF", "in a here-document", "blanks around"],
)
def test_a_file_is_found_however_the_patch_is_laid_out(text: str) -> None:
    assert [call[1]["file_path"] for call in patches.calls(text)] == ["x"]


def test_text_of_a_file_that_looks_like_a_heading_is_text() -> None:
    text = "*** Begin Patch\n*** Add File: a\n+*** Delete File: b\n*** End Patch"
    assert patches.calls(text) == [("Write", {"file_path": "a", "content": "*** Delete File: b\n"})]


def test_one_call_of_several_can_be_changed() -> None:
    changed = patches.with_call(MIXED, 0, {"file_path": "/p/src/new.py", "content": "pass\n"}, "/p")
    before, after = patches.calls(MIXED, "/p"), patches.calls(changed, "/p")
    assert after == [("Write", {"file_path": "/p/src/new.py", "content": "pass\n"}), *before[1:]]
    changed = patches.with_call(MIXED, 1, {"file_path": "/abs/old.py", "old_string": "gone", "new_string": "z"}, "/p")
    assert patches.calls(changed, "/p")[1] == (
        "Edit",
        {"file_path": "/abs/old.py", "old_string": "gone", "new_string": "z"},
    )


@pytest.mark.parametrize("place", [2, 3, 4, 5])
def test_a_move_a_deletion_and_what_is_not_there_cannot_be_changed(place: int) -> None:
    assert patches.with_call(MIXED, place, {"file_path": "x", "content": "y"}, "/p") == ""


def test_several_hunks_cannot_be_changed_as_one() -> None:
    text = "*** Update File: a\n@@\n-x\n+y\n@@\n-p\n+q\n"
    assert patches.calls(text)[0][1] == {"file_path": "a", "old_string": "x\np", "new_string": "y\nq"}
    assert patches.with_call(text, 0, {"file_path": "a", "old_string": "x", "new_string": "z"}, "") == ""


LINES = st.lists(st.text(st.characters(codec="utf-8", exclude_characters="\n\r")), max_size=5)


@given(LINES, LINES)
def test_what_a_call_says_survives_as_a_patch(old: list[str], new: list[str]) -> None:
    before, after = "\n".join(old), "\n".join(new)
    text = patches.of_call("Edit", {"file_path": "/a b", "old_string": before, "new_string": after})
    ((name, said),) = patches.calls(text)
    assert (name, said["file_path"]) == ("Edit", "/a b")
    assert said["old_string"].rstrip("\n") == before.rstrip("\n")
    assert said["new_string"].rstrip("\n") == after.rstrip("\n")


@given(st.text())
def test_anything_can_be_read(text: str) -> None:
    for name, tool_input in patches.calls(text, "/p"):
        assert name in ("Edit", "Write")
        assert tool_input["file_path"].startswith("/")


@pytest.mark.parametrize("tool_input", [{}, {"file_path": 3, "content": "x"}, {"file_path": "a\nb", "content": "x"}])
def test_a_call_that_does_not_say_enough_is_no_patch(tool_input: dict[str, object]) -> None:
    assert patches.of_call("Write", tool_input) == ""


def test_an_unchanged_line_that_looks_like_a_heading_is_a_line() -> None:
    text = "*** Update File: a\n@@\n *** Delete File: zzz\n-x\n+rm -rf /\n"
    assert patches.calls(text) == [
        (
            "Edit",
            {"file_path": "a", "old_string": "*** Delete File: zzz\nx", "new_string": "*** Delete File: zzz\nrm -rf /"},
        )
    ]
