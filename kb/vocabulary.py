"""The vocabulary of root causes: every id that a rule may give its cause, with one line that says what it is.

An id is stable for ever. A new failure mode adds a line to causes.yaml first, then its rule.
"""

from __future__ import annotations

from functools import cache
from importlib import resources
from types import MappingProxyType
from typing import TYPE_CHECKING

from kb.errors import RuleErrors
from kb.strict_yaml import read_yaml

if TYPE_CHECKING:
    from collections.abc import Mapping


@cache
def vocabulary() -> Mapping[str, str]:
    """What each cause is, by its id, in the order of the file."""
    file = resources.files("kb") / "causes.yaml"
    document, errors = read_yaml(file.read_text(encoding="utf-8"), str(file))
    if document is None or errors:
        raise RuleErrors(errors)
    return MappingProxyType(document.value["causes"])
