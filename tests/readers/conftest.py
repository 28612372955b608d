"""The one switch of the golden tests: `pytest tests/readers --rewrite-golden` writes what readers say now."""

from __future__ import annotations

import pytest


def pytest_addoption(parser: pytest.Parser) -> None:
    """Adds --rewrite-golden; the written files are to be reviewed like any other change."""
    parser.addoption(
        "--rewrite-golden",
        action="store_true",
        default=False,
        help="write the .json beside each .txt of tests/readers anew",
    )
