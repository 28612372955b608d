"""The engines that a test can be run on here, for `pytest.mark.parametrize`."""

from __future__ import annotations

import pytest

from engine.matcher import infer
from engine.matcher.form import EngineError

try:
    infer((), (), "durable")
    WHY_NO_DURABLE = ""
except EngineError as error:
    WHY_NO_DURABLE = f"durable-rules: {error}"

needs_durable = pytest.mark.skipif(bool(WHY_NO_DURABLE), reason=WHY_NO_DURABLE or "it is there")
ENGINES = ["plain", pytest.param("durable", marks=needs_durable)]
