"""The fact types: the shared vocabulary of readers and of rule authors. One module a family.

A fact is a frozen pydantic model with a `kind`; unknown is None, never "" or -1; units are in the names. Import a
type from its family (`from kb.facts.driver import KernelModule`), so that a run loads only those it meets.
"""

import json
import pkgutil
from functools import cache
from importlib import import_module
from pathlib import Path

from kb.facts.base import FACTS, Bdf, Fact, Version, fields_of, version_key

__all__ = [
    "Bdf",
    "Fact",
    "Version",
    "fact_type",
    "fact_types",
    "families",
    "family_of",
    "fields_of",
    "version_key",
]

INDEX = Path(__file__).parent / "index.json"
"""The family of each kind, written by `make index`; what it does not hold is found by loading all families."""


def fact_type(kind: str) -> type[Fact] | None:
    """The fact type of a kind; None where there is no such kind."""
    if kind not in FACTS:
        family = _index().get(kind)
        if family is not None:
            import_module(f"{__name__}.{family}")
    return FACTS[kind] if kind in FACTS else fact_types().get(kind)


@cache
def fact_types() -> dict[str, type[Fact]]:
    """All fact types by kind. Loads all families."""
    for family in families():
        import_module(f"{__name__}.{family}")
    return dict(sorted((kind, found) for kind, found in FACTS.items() if found.__module__.startswith(__name__)))


def family_of(kind: str) -> str:
    """The family of a kind: the module that defines it; empty where there is no such kind."""
    found = fact_type(kind)
    return found.__module__.rsplit(".", 1)[-1] if found is not None else ""


def families() -> list[str]:
    """The names of the families: the modules of this package that define fact types."""
    return [module.name for module in pkgutil.iter_modules(__path__) if module.name != "base"]


@cache
def _index() -> dict[str, str]:
    try:
        found: dict[str, str] = json.loads(INDEX.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return {}
    return found


def index_text() -> str:
    """What the index must hold."""
    return (
        json.dumps({kind: found.__module__.rsplit(".", 1)[-1] for kind, found in fact_types().items()}, indent=1)
        + "\n"
    )
