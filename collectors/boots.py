"""Events of one file that another file shows to be of an earlier boot: `kern.log.1` beside `kern.log` or dmesg.

A reader tells the boots of its own file apart. What only a second file shows is added here, for every kind of
fact that has a `boot`.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import NamedTuple

from collectors.readers._log_stamps import Stamp, stamp_of_line
from collectors.readers._regex import regex
from kb.clock import APART_S, is_clearly_later
from kb.evidence import Observed, Reading
from kb.facts.kernel import KernelLogSpan
from kb.facts.machine import Boot

_ROTATED = regex(r"(?:\.\d{1,3}|-\d{8}(?:-\d{1,10})?|\.old|\.prev)(?:\.(?:gz|xz|zst|bz2))?$")
_BUFFER = regex(r"\s{0,4}\[[A-Z][a-z]{2} [A-Z][a-z]{2} [ \d]\d ")
"""How lines of `dmesg -T` begin: a buffer that holds one boot only."""


class _Event(NamedTuple):
    """When something happened, as far as it is known."""

    first_s: float | None
    last_time: str | None
    host: str | None


def settled(readings: Sequence[Reading]) -> list[Reading]:
    """The readings in their order, with `boot: earlier` where a log of another file says so."""
    seen = [one for one in readings if isinstance(one, Observed)]
    spans = [(one.fact, one.source.path) for one in seen if isinstance(one.fact, KernelLogSpan)]
    if len({one.source.path for one in seen}) < 2 or not spans:
        return list(readings)
    hosts = _hosts(seen)
    several = len(set().union(*hosts.values())) > 1
    whole = {path for span, path in spans if span.log is None}
    ends = {path: span.ring_end_s for span, path in spans if span.log is None and span.ring_end_s}
    result: list[Reading] = []
    for one in readings:
        if isinstance(one, Observed) and getattr(one.fact, "boot", None) == "this":
            path = one.source.path
            event = _event(one, hosts[path], whole=path in whole or _ROTATED.search(path) is not None)
            in_buffer = (event.first_s or 0.0) <= ends.get(path, -1.0) or _BUFFER.match(one.source.text)
            others = [] if in_buffer else [(span, hosts[other]) for span, other in spans if other != path]
            if any(_is_before(event, span, of, several=several) for span, of in others):
                result.append(replace(one, fact=one.fact.model_copy(update={"boot": "earlier"})))
                continue
        result.append(one)
    return result


def _hosts(seen: Iterable[Observed]) -> dict[str, set[str]]:
    """The hosts that each file names, without their domains."""
    hosts: dict[str, set[str]] = defaultdict(set)
    for one in seen:
        if hasattr(one.fact, "boot") or isinstance(one.fact, KernelLogSpan | Boot):
            host = getattr(one.fact, "host", None) or _stamp(one).host
            if host:
                hosts[one.source.path].add(host.split(".", 1)[0])
    return hosts


def _stamp(one: Observed) -> Stamp:
    return stamp_of_line(one.source.text.partition("\n")[0])


def _event(one: Observed, hosts: set[str], *, whole: bool) -> _Event:
    """When the last of the events that a fact counts happened.

    Of several events only the first is known; where the file is a whole log, all are of one boot.
    """
    fact, stamp = one.fact, _stamp(one)
    first_s = getattr(fact, "first_s", None)
    last_time = getattr(fact, "last_time", None)
    if last_time is None and (whole or getattr(fact, "count", 1) == 1):
        last_time = getattr(fact, "time", None) or stamp.at
    host = getattr(fact, "host", None) or stamp.host
    named = {host.split(".", 1)[0]} if host else hosts
    return _Event(
        stamp.at_s if first_s is None else first_s, last_time, next(iter(named)) if len(named) == 1 else None
    )


def _is_before(event: _Event, span: KernelLogSpan, hosts: set[str], *, several: bool) -> bool:
    """Whether the event was over before the boot of that log began, or is later than all of that boot."""
    if (several or (event.host and hosts)) and hosts != {event.host}:
        return False
    later = is_clearly_later(span.begin_time, event.last_time)
    if later is not None:
        return later
    return event.first_s is not None and span.ring_end_s is not None and event.first_s > span.ring_end_s + APART_S
