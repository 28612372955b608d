"""Xids, however many logs hold them: each event once, of this boot or of an earlier one."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from typing import NamedTuple

from collectors.combiners import Facts, derived, looked_at
from kb.clock import APART_S, is_clearly_later, later_by_s
from kb.evidence import Observed, Reading
from kb.facts.driver import KernelModule
from kb.facts.kernel import KernelLogSpan
from kb.facts.machine import Boot
from kb.facts.xid import LoggedXid, WhichBoot, XidEvent

_Logged = list[tuple[LoggedXid, Observed]]


class _Place(NamedTuple):
    """What two entries must have in common to tell of the same events."""

    code: int
    bdf: str
    instance: int | None
    boot: WhichBoot
    host: str | None
    folder: str
    """Stands for the host, where there are several and an entry names none."""


def combine(facts: Facts) -> Iterator[Reading]:
    """XidEvent for each number, GPU, MIG instance, host and boot."""
    logged = facts.of(LoggedXid)
    found = facts.of(KernelLogSpan)
    spans = [span for span, _ in found]
    buffers = {one.source.path: span.ring_end_s for span, one in found if span.ring_end_s and span.log is None}
    branches = {module.branch for module, _ in facts.of(KernelModule) if module.name == "nvidia" and module.branch}
    branch = branches.pop() if len(branches) == 1 else None
    named = (
        [xid.host for xid, _ in logged] + [span.host for span in spans] + [boot.host for boot, _ in facts.of(Boot)]
    )
    hosts = {host.split(".", 1)[0] for host in named if host}
    events: dict[_Place, _Logged] = defaultdict(list)
    for xid, observed in logged:
        several = len(hosts) > 1
        host = xid.host if several or xid.host else next((xid.host for xid, _ in logged if xid.host), None)
        folder = observed.source.path.partition("/")[0] if several and host is None else ""
        in_buffer = (xid.first_s or 0.0) <= buffers.get(observed.source.path, -1.0)
        others = [] if in_buffer else spans  # a buffer holds one boot; two that end apart are of two machines
        boot = _boot(xid, others, several=several)
        place = _Place(xid.code, xid.bdf, xid.gpu_instance, boot, host, folder)
        events[place].append((xid, observed))
    for place, parts in events.items():
        yield _event(place, parts, branch)
    yield from looked_at(facts, XidEvent, LoggedXid)


def _boot(xid: LoggedXid, spans: list[KernelLogSpan], *, several: bool) -> WhichBoot:
    """The boot of an event as its own file has it, unless other logs show that the machine was booted since."""
    for span in spans:
        other = span.host != xid.host if several else bool(span.host and xid.host and span.host != xid.host)
        if xid.boot == "earlier" or other or (several and span.host is None):
            continue
        if xid.first_s is not None and span.ring_end_s is not None and xid.first_s > span.ring_end_s + APART_S:
            return "earlier"
        if is_clearly_later(span.begin_time, xid.last_time or xid.time):
            return "earlier"
    return xid.boot


def _event(place: _Place, parts: _Logged, branch: int | None) -> Observed:
    parts = sorted(parts, key=lambda part: -part[0].count)
    apart: list[_Logged] = []
    for part in parts:
        same = next((group for group in apart if not _disjoint(group[0][0], part[0])), None)
        if same is None:
            apart.append([part])
        else:
            same.append(part)
    xids = [xid for xid, _ in parts]
    fact = XidEvent(
        code=place.code,
        bdf=place.bdf,
        count=sum(group[0][0].count for group in apart),
        boot=place.boot,
        time=_earliest([xid.time for xid in xids]),
        first_s=min((xid.first_s for xid in xids if xid.first_s is not None), default=None),
        last_s=max((xid.last_s or xid.first_s or 0.0 for xid in xids if xid.first_s is not None), default=None),
        process=next((xid.process for xid in xids if xid.process), None),
        processes=next((xid.processes for xid in xids if xid.processes), None),
        pid=next((xid.pid for xid in xids if xid.pid), None),
        detail=next((xid.detail for xid in xids if xid.detail), None),
        caused_by=next((xid.caused_by for xid in xids if xid.caused_by), None),
        gpu_instance=place.instance,
        host=place.host,
        branch=branch,
    )
    return derived(fact, (observed for _, observed in parts))


def _disjoint(one: LoggedXid, other: LoggedXid) -> bool:
    """Whether the two logs can't tell of the same events: one is over before the other begins."""
    if one.first_s is not None and other.first_s is not None:
        first, second = sorted((one, other), key=lambda xid: xid.first_s or 0.0)
        return (second.first_s or 0.0) > (first.last_s or first.first_s or 0.0) + APART_S
    for first, second in ((one, other), (other, one)):
        if is_clearly_later(second.time, first.last_time or first.time):
            return True
    return False


def _earliest(times: list[str | None]) -> str | None:
    """The first of the stamps, where their clocks can be set beside each other; else the first that there is."""
    best: str | None = None
    for time in times:
        after = later_by_s(best, time)
        if best is None or (after is not None and after < 0):
            best = time or best
    return best
