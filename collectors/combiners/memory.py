"""How GPU memory moves over time: what tells a start that is blocked from one that is only slow."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterator, Sequence

from collectors.combiners import Facts, derived, looked_at
from kb.evidence import Observed, Reading
from kb.facts.gpu import GpuMemoryPattern, GpuMemorySample, GpuMemoryTrend, MemoryPattern

FLAT_MIB = 64
"""Allocators and monitoring move a few MiB; loading moves gigabytes."""

DAY_S = 86_400

_Series = list[tuple[GpuMemorySample, Observed]]


def combine(facts: Facts) -> Iterator[Reading]:
    """GpuMemoryTrend for each GPU with two samples or more of one series, and the pattern over all GPUs.

    Files of one folder whose names differ by a number only (`smi_1.txt`, `smi_2.txt`) are one series.
    """
    series: dict[str, dict[int, _Series]] = defaultdict(lambda: defaultdict(list))
    for sample, observed in facts.of(GpuMemorySample):
        folder, slash, name = observed.source.path.rpartition("/")
        series[folder + slash + re.sub(r"\d+", "#", name)][sample.index].append((sample, observed))
    for gpus in series.values():
        trends = [_trend(samples) for _, samples in sorted(gpus.items()) if len(samples) > 1]
        if trends:
            yield from trends
            yield _pattern(trends, [samples[-1][0] for _, samples in sorted(gpus.items())])
            yield from looked_at(facts, GpuMemoryTrend, GpuMemorySample)
            yield from looked_at(facts, GpuMemoryPattern, GpuMemorySample)


def _trend(samples: _Series) -> Observed:
    ordered = sorted(samples, key=lambda one: (_natural(one[1].source.path), one[0].order))
    used = [sample.used_mib for sample, _ in ordered]
    first, last = ordered[0][0], ordered[-1][0]
    fact = GpuMemoryTrend(
        index=first.index,
        samples=len(used),
        first_mib=used[0],
        last_mib=used[-1],
        change="flat" if max(used) - min(used) <= FLAT_MIB else "growing" if used[-1] > used[0] else "shrinking",
        span_s=_span_s(first.at_s, last.at_s),
    )
    return derived(fact, [ordered[0][1], ordered[-1][1]])


def _natural(path: str) -> list[tuple[str, int]]:
    """A key that orders numbers in names as numbers: `smi_2` before `smi_10`."""
    return [(text, int(number or 0)) for text, number in re.findall(r"(\D*)(\d*)", path)]


def _span_s(first: float | None, last: float | None) -> float | None:
    """The time between; a clock that runs from midnight may have passed it."""
    if first is None or last is None:
        return None
    return last - first + (DAY_S if last < first < DAY_S else 0)


def _pattern(trends: Sequence[Observed], last: Sequence[GpuMemorySample]) -> Observed:
    facts = [trend.fact for trend in trends if isinstance(trend.fact, GpuMemoryTrend)]
    changes = {fact.change for fact in facts}
    pattern: MemoryPattern
    if changes == {"flat"}:
        pattern = "all-flat"
    elif "shrinking" in changes:
        pattern = "shrinking"
    else:
        pattern = "all-growing" if changes == {"growing"} else "some-growing"
    shares = [100 * sample.used_mib // sample.total_mib for sample in last if sample.total_mib]
    fact = GpuMemoryPattern(
        pattern=pattern,
        gpus=len(facts),
        samples=min(fact.samples for fact in facts),
        largest_used_mib=max(fact.last_mib for fact in facts),
        span_s=max((fact.span_s for fact in facts if fact.span_s is not None), default=None),
        used_share_percent=max(shares, default=None),
    )
    return derived(fact, trends)
