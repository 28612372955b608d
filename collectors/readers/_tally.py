"""What many lines say alike, counted once: where it was said first, how often, and by how many processes.

Bounded, so that a log of gigabytes in which every line differs does not grow the memory. No reader.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterator
from dataclasses import dataclass, field
from typing import Generic, TypeVar

MOST_KEYS = 500
MOST_PROCESSES = 20_000

K = TypeVar("K", bound=Hashable)


@dataclass(slots=True)
class Tally:
    """Lines that say one thing."""

    index: int
    """Of the first of them."""
    count: int = 0
    writers: set[str] = field(default_factory=set)

    @property
    def processes(self) -> int:
        """How many processes said it; one where the lines do not tell them apart."""
        return max(len(self.writers), 1)


class Tallies(Generic[K]):
    """Tallies by what was said, in the order in which it was said first."""

    def __init__(self, most: int = MOST_KEYS) -> None:
        self._most = most
        self._by_key: dict[K, Tally] = {}

    def add(self, key: K, index: int, writer: str = "") -> Tally | None:
        """Counts one line; None where the key is new and there are too many."""
        tally = self._by_key.get(key)
        if tally is None:
            if len(self._by_key) >= self._most:
                return None
            tally = self._by_key[key] = Tally(index)
        tally.count += 1
        if writer and len(tally.writers) < MOST_PROCESSES:
            tally.writers.add(writer)
        return tally

    def __iter__(self) -> Iterator[tuple[K, Tally]]:
        return iter(self._by_key.items())

    def __len__(self) -> int:
        return len(self._by_key)
