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
    """All readers, in the order of their module names. Imports them all: see `collectors.index`."""
    return tuple(_by_module())


def module_of(reader: Reader) -> str:
    """The name of the module that defines a reader."""
    return _by_module()[reader]


@cache
def _by_module() -> dict[Reader, str]:
    names = (module.name for module in pkgutil.iter_modules(__path__))
    modules = ((name, import_module(f"{__name__}.{name}")) for name in names)
    return {module.READER: name for name, module in modules if hasattr(module, "READER")}
