"""The fake provider, for every test here."""

from __future__ import annotations

from tests.models.provider import provider

__all__ = ["provider"]
