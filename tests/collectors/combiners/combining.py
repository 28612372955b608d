"""Facts by hand for the tests of the combiners, and what they come to together."""

from __future__ import annotations

from typing import TypeVar

from collectors.combine import combine
from kb.evidence import Looked, Observed, Reading, Source
from kb.facts import Fact

F = TypeVar("F", bound=Fact)


def at(fact: Fact, path: str = "a.txt", line: int = 1) -> Observed:
    """The fact, as if read there."""
    return Observed(fact, Source(path, line, line, f"{path}:{line}"))


def readings(*facts: Fact | Reading) -> list[Reading]:
    """The facts as if read from lines of one file; what has a place already keeps it."""
    return [at(one, line=line) if isinstance(one, Fact) else one for line, one in enumerate(facts, 1)]


def observed(kind: type[F], *facts: Fact | Reading) -> list[Observed]:
    """The new facts of this type that follow."""
    return [one for one in combine(readings(*facts)) if isinstance(one, Observed) and isinstance(one.fact, kind)]


def combined(kind: type[F], *facts: Fact | Reading) -> list[F]:
    """The new facts of this type that follow, without their sources."""
    return [one.fact for one in observed(kind, *facts)]


def looked(kind: type[Fact], *facts: Fact | Reading) -> list[bool]:
    """For each statement that this kind was looked for: whether completely."""
    return [one.complete for one in combine(readings(*facts)) if isinstance(one, Looked) and one.kind == kind.kind]


def complete(kind: type[Fact]) -> Looked:
    """That facts of this kind were looked for, completely."""
    return Looked(kind.kind, True, "a.txt")


def in_part(kind: type[Fact]) -> Looked:
    """That facts of this kind were looked for, in part only."""
    return Looked(kind.kind, False, "b.txt", "truncated")
