"""Fake tools for the tests of live collection."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

import pytest
from live_support import Tools

if TYPE_CHECKING:
    from pathlib import Path


@pytest.fixture
def tools(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Tools:
    folder = tmp_path / "tools"
    folder.mkdir()
    monkeypatch.setenv("PATH", f"{folder}:{os.environ['PATH']}")
    return Tools(folder)
