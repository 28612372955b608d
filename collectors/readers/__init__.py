"""Text to facts. One module a kind of evidence; pure functions that import `kb` only and do no input or output.

A module defines `READER`. It is found by walking this package, so that adding one needs no registry edit.
"""

from __future__ import annotations

import pkgutil
from functools import cache
from importlib import import_module

from kb.evidence import Reader


@cache
def readers() -> tuple[Reader, ...]:
    """All readers, in the order of their module names."""
    modules = (import_module(f"{__name__}.{module.name}") for module in pkgutil.iter_modules(__path__))
    return tuple(module.READER for module in modules if hasattr(module, "READER"))
