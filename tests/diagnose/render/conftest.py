"""Snapshots: what a renderer prints, beside the tests, to be read and reviewed like any other file.

They are rewritten only where the environment asks for it: `REWRITE_SNAPSHOTS=1 pytest tests/diagnose/render`.
"""

from __future__ import annotations

import io
import os
from collections.abc import Callable
from pathlib import Path

import pytest
from rich.console import Console

SNAPSHOTS = Path(__file__).parent / "snapshots"


@pytest.fixture
def snapshot() -> Callable[[str, str], None]:
    """Asserts that a text equals the file of that name."""

    def check(name: str, text: str) -> None:
        path = SNAPSHOTS / name
        if os.environ.get("REWRITE_SNAPSHOTS") == "1":
            path.parent.mkdir(exist_ok=True)
            path.write_text(text, encoding="utf-8")

        assert path.read_text(encoding="utf-8") == text

    return check


@pytest.fixture
def printed() -> Callable[..., str]:
    """What a renderer prints on a console that is no terminal, 80 columns wide unless told otherwise."""

    def run(render: Callable[[Console], None], width: int = 80) -> str:
        stream = io.StringIO()
        render(Console(file=stream, width=width, force_terminal=False))
        return stream.getvalue()

    return run
