"""Prove what hooks decide: in Python's tests with `assert_denied` and its kin, in files with `fairlead test`.

    from fairlead.testing import assert_allowed, assert_denied

    def test_nobody_forces_a_push(hooks):
        assert_denied(hooks, "Bash", command="git push --force", reason="force")
        assert_allowed(hooks, "Bash", command="git push")

`hooks` is a fixture that comes with Fairlead: the hooks of the project, in a scratch copy of it.
"""

from __future__ import annotations

from fairlead.testing.asserting import assert_allowed, assert_asked, assert_decided, assert_denied, assert_rewritten
from fairlead.testing.scratch import Scratch

__all__ = ["Scratch", "assert_allowed", "assert_asked", "assert_decided", "assert_denied", "assert_rewritten"]
