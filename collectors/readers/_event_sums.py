"""Sums over lines of kernel logs: what was said how often, first and last, in this boot or before.

What several logs of one file tell alike counts once. No reader: shared by the readers of kernel logs.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterator
from dataclasses import dataclass, field
from typing import Any, Generic, TypeVar

from collectors.readers._kernel_events import BootId, KernelLog, LogLine
from collectors.readers._log_stamps import NO_STAMP, Stamp
from kb.facts.xid import WhichBoot

_MOST_KEYS = 2000

K = TypeVar("K", bound=Hashable)


@dataclass(slots=True)
class Sum:
    """All lines that say one thing, in one log and boot; or the same from several logs as one."""

    index: int
    last_index: int
    last_boot: BootId
    count: int = 0
    first: Stamp = NO_STAMP
    last: Stamp = NO_STAMP
    said: dict[str, Any] = field(default_factory=dict)
    """What else the lines say; the reader's own."""
    boot: WhichBoot = "this"

    def join(self, other: Sum, *, adds: bool) -> None:
        """Takes in what another log, or a later boot of the same log (`adds`), says of the same thing."""
        if adds:
            self.count += other.count
            self.last, self.last_index, self.last_boot = other.last, other.last_index, other.last_boot
            self.said |= other.said
            return
        self.count = max(self.count, other.count)
        if other.last_index > self.last_index:
            self.last_index, self.last_boot = other.last_index, other.last_boot
        self.first, self.last = _filled(self.first, other.first), _filled(self.last, other.last)
        self.said = other.said | self.said


def _filled(one: Stamp, other: Stamp) -> Stamp:
    """The stamp, with what it lacks from another log of the same event."""
    return Stamp(other.at_s if one.at_s is None else one.at_s, one.at or other.at, one.host or other.host)


class Sums(Generic[K]):
    """Sums by what was said."""

    def __init__(self, log: KernelLog) -> None:
        self.log = log
        self._sums: dict[tuple[K, BootId], Sum] = {}

    def add(self, key: K, line: LogLine, start: int) -> Sum:
        """Counts a line whose message begins at `start`."""
        stamp = line.stamp(start)
        found = self._sums.get((key, line.boot))
        if found is None:
            found = Sum(line.index, line.index, line.boot, first=stamp)
            if len(self._sums) < _MOST_KEYS:
                self._sums[key, line.boot] = found
        found.count += line.times(start)
        found.last = stamp
        found.last_index = line.index
        return found

    def __iter__(self) -> Iterator[tuple[K, Sum]]:
        """Each key with its sum, this boot and the earlier ones apart; several logs of one count, once."""
        per_log: dict[tuple[K, WhichBoot, int, str | None], Sum] = {}
        for (key, boot), sum_ in self._sums.items():
            sum_.boot = self.log.which(boot, sum_.first)
            _join(per_log, (key, sum_.boot, boot.log, boot.host), sum_, adds=True)
        hosts: dict[tuple[K, WhichBoot], set[str]] = {}
        for key, which, _, host in per_log:
            hosts.setdefault((key, which), set()).update({host} if host else ())
        joined: dict[tuple[K, WhichBoot, str | None], Sum] = {}
        for (
            key,
            which,
            _,
            host,
        ), sum_ in per_log.items():  # a ring buffer names no host: it is that of the others
            named = hosts[key, which]
            _join(joined, (key, which, host if len(named) > 1 else None), sum_, adds=False)
        yield from ((key, sum_) for (key, *_), sum_ in joined.items())


P = TypeVar("P", bound=Hashable)


def _join(sums: dict[P, Sum], place: P, sum_: Sum, *, adds: bool) -> None:
    if place in sums:
        sums[place].join(sum_, adds=adds)
    else:
        sums[place] = sum_
