"""What holds for all tests."""

from __future__ import annotations

from hypothesis import settings

# How long one example takes depends on what else the machine does.
settings.register_profile("ours", deadline=None)
settings.load_profile("ours")
