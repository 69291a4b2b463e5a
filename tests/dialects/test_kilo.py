"""Kilo has OpenCode's half; what that half says is tested there, for both."""

from __future__ import annotations

from fairlead.dialects import kilo, opencode


def test_kilo_speaks_as_opencode_does() -> None:
    assert kilo.NAME == "kilo"
    assert kilo.TOOLS is opencode.TOOLS
    assert kilo.CAN is opencode.CAN
