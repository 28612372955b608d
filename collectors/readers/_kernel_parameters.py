"""A kernel command line → its parameters, as the kernel splits it."""

from __future__ import annotations

from collections.abc import Iterator

from collectors.readers._regex import regex
from kb.facts.machine import KernelParameter

_WORD = regex(r'(?:[^\s"]|"[^"]{0,2000}(?:"|$)){1,4000}')
_NAME = regex(r"[\w.:/\\-][\w.:/\\+@,-]{0,200}$")


def parameters_of(text: str) -> Iterator[KernelParameter]:
    """Each parameter once, in order. What follows ` -- ` is for init. Quotes hold spaces together and go."""
    seen: set[KernelParameter] = set()
    for match in _WORD.finditer(text):
        word = match[0]
        if word == "--":
            return
        name, equals, value = word.strip('"').partition("=") if word.startswith('"') else word.partition("=")
        parameter = KernelParameter(name=name, value=value.strip('"') if equals else None)
        if _NAME.match(name) and parameter not in seen:
            seen.add(parameter)
            yield parameter
