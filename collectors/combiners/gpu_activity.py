"""What each GPU did over several samples: nothing, waiting in a kernel, or work."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator

from collectors.combiners import Facts, derived, looked_at
from kb.evidence import Observed, Reading
from kb.facts.gpu import GpuActivity, GpuMemorySample

_IDLE_PERCENT = 5
_BUSY_PERCENT = 95
_UNTOUCHED_PERCENT = 2
_LEAST_SAMPLES = 3
"""One sample of a moment tells nothing of a job that computes and communicates in turn."""

_Samples = list[tuple[GpuMemorySample, Observed]]


def combine(facts: Facts) -> Iterator[Reading]:
    """GpuActivity for each GPU of each artifact with three samples or more that tell how busy it was."""
    series: dict[tuple[str, int], _Samples] = defaultdict(list)
    for sample, observed in facts.of(GpuMemorySample):
        if sample.utilisation_percent is not None:
            series[observed.source.path, sample.index].append((sample, observed))
    long_enough = [samples for _, samples in sorted(series.items()) if len(samples) >= _LEAST_SAMPLES]
    for samples in long_enough:
        yield _activity(sorted(samples, key=lambda one: one[0].order))
    if long_enough:
        yield from looked_at(facts, GpuActivity, GpuMemorySample)


def _activity(samples: _Samples) -> Observed:
    loads = [one.utilisation_percent for one, _ in samples if one.utilisation_percent is not None]
    memory = [one.memory_utilisation_percent for one, _ in samples if one.memory_utilisation_percent is not None]
    power = [one.power_w for one, _ in samples if one.power_w is not None]
    first, last = samples[0], samples[-1]
    is_waiting = min(loads) >= _BUSY_PERCENT and len(memory) == len(samples) and max(memory) <= _UNTOUCHED_PERCENT
    timed = first[0].at_s is not None and last[0].at_s is not None
    fact = GpuActivity(
        index=first[0].index,
        activity="idle" if max(loads) <= _IDLE_PERCENT else "waiting" if is_waiting else "working",
        samples=len(samples),
        utilisation_least_percent=min(loads),
        utilisation_most_percent=max(loads),
        memory_utilisation_most_percent=max(memory, default=None),
        power_most_w=max(power, default=None),
        span_s=(last[0].at_s or 0.0) - (first[0].at_s or 0.0) if timed else None,
    )
    return derived(fact, [first[1], last[1]])
