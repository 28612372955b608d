"""Regular expressions that are compiled when they are first used.

A run meets a few of the many kinds of evidence; compiling the expressions of all readers would cost more than
everything else at its start. No reader.
"""

from __future__ import annotations

import re
from typing import Any, cast


class _Lazy:
    """Stands for a compiled expression; becomes one, attribute by attribute, when it is asked for something."""

    def __init__(self, source: str, flags: int) -> None:
        self._source, self._flags = source, flags

    def __getattr__(self, name: str) -> Any:
        compiled = re.compile(self._source, self._flags)
        for method in ("match", "search", "fullmatch", "finditer", "findall", "sub", "split", "pattern", "flags"):
            setattr(self, method, getattr(compiled, method))
        return getattr(compiled, name)


def regex(source: str, flags: int = 0) -> re.Pattern[str]:
    """The expression, to be used like `re.compile(source, flags)`; a fault in it shows on first use."""
    return cast("re.Pattern[str]", _Lazy(source, flags))
