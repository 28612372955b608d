"""How GPU memory moves over time: what tells a start that is blocked from one that is only slow."""

from __future__ import annotations

import pytest
from combining import at, combined, complete, looked, observed

from kb.facts.gpu import GpuMemoryPattern, GpuMemorySample, GpuMemoryTrend


def series(*used: int, index: int = 0, path: str = "a.txt", **more) -> list:
    """Samples of one GPU in one file, in order."""
    return [
        at(GpuMemorySample(index=index, used_mib=mib, order=order, **more), path, order + 1)
        for order, mib in enumerate(used)
    ]


def over_files(*used: int, name: str = "smi_{}.txt", start: int = 1) -> list:
    """One sample in each of several files."""
    return [
        at(GpuMemorySample(index=0, used_mib=mib, order=0), name.format(number))
        for number, mib in enumerate(used, start)
    ]


def trends(*facts) -> list[tuple[int, str, int, int, int]]:
    found = combined(GpuMemoryTrend, *facts)
    return [(one.index, one.change, one.first_mib, one.last_mib, one.samples) for one in found]


CHANGES = {
    "the same": ([1000, 1000], "flat"),
    "within 64 MiB": ([1000, 1064, 1010], "flat"),
    "65 MiB more": ([1000, 1065], "growing"),
    "65 MiB less": ([1065, 1000], "shrinking"),
    "up and down, ends higher": ([1000, 9000, 2000], "growing"),
    "up and down, ends lower": ([2000, 9000, 1000], "shrinking"),
    "up and back": ([1000, 9000, 1000], "shrinking"),
    "loading": ([600, 8000, 16000, 24000], "growing"),
}


@pytest.mark.parametrize(("used", "change"), CHANGES.values(), ids=CHANGES)
def test_memory_is_flat_or_moves(used, change):
    """Flat within 64 MiB over all samples; otherwise the last against the first."""
    assert trends(*series(*used)) == [(0, change, used[0], used[-1], len(used))]


def test_one_sample_shows_no_trend():
    """And that trends were looked for is not said either."""
    samples = [*series(1000), complete(GpuMemorySample)]

    assert (trends(*samples), looked(GpuMemoryTrend, *samples)) == ([], [])


def test_two_samples_show_that_it_was_looked():
    """For the trend and for the pattern over all GPUs."""
    samples = [*series(1000, 1000), complete(GpuMemorySample)]

    assert (looked(GpuMemoryTrend, *samples), looked(GpuMemoryPattern, *samples)) == ([True], [True])


def test_each_gpu_has_its_own_trend():
    """In order of their numbers."""
    samples = [*series(1, 2, index=1), *series(5, 900, index=0)]

    assert [(index, change) for index, change, *_ in trends(*samples)] == [(0, "growing"), (1, "flat")]


def test_numbered_files_are_one_series():
    """In the order of their numbers, also beyond nine."""
    used = [100 * number for number in range(12)]

    assert trends(*over_files(*used)) == [(0, "growing", 0, 1100, 12)]
    assert trends(*reversed(over_files(*used))) == [(0, "growing", 0, 1100, 12)]


def test_numbered_files_with_zeros_in_front_are_in_order():
    """`09` before `10`."""
    assert trends(*over_files(1, 900, name="d/smi-{:02}.txt", start=9)) == [(0, "growing", 1, 900, 2)]


APART = {
    "different names": ["before.txt", "after.txt"],
    "folders of two hosts": ["node1/smi.txt", "node2/smi.txt"],
    "numbered files of two hosts": ["node1/smi_1.txt", "node2/smi_2.txt"],
}


@pytest.mark.parametrize("paths", APART.values(), ids=APART)
def test_samples_of_different_things_are_no_series(paths):
    """Two machines that use different amounts of memory do not grow."""
    samples = [one for path, used in zip(paths, (1000, 40_000), strict=True) for one in series(used, path=path)]

    assert trends(*samples) == []


def test_two_files_with_several_samples_each_are_two_series():
    """Where their names differ by more than a number."""
    samples = [*series(0, 900, path="a.txt"), *series(900, 0, path="b.txt")]

    assert [change for _, change, *_ in trends(*samples)] == ["growing", "shrinking"]


PATTERNS = {
    "all flat": ([[1, 2], [3, 3]], "all-flat"),
    "all growing": ([[1, 999], [3, 999]], "all-growing"),
    "one grows": ([[1, 999], [3, 3]], "some-growing"),
    "one shrinks": ([[999, 1], [3, 999]], "shrinking"),
    "one of one grows": ([[1, 999]], "all-growing"),
}


@pytest.mark.parametrize(("used", "pattern"), PATTERNS.values(), ids=PATTERNS)
def test_all_gpus_together_make_a_pattern(used, pattern):
    """Blocked, loading, or something else."""
    samples = [one for index, values in enumerate(used) for one in series(*values, index=index)]

    assert [one.pattern for one in combined(GpuMemoryPattern, *samples)] == [pattern]


def test_a_pattern_tells_how_much_is_used_in_the_end():
    """The largest of the last samples, the share of its total, the fewest samples, the longest span."""
    samples = [
        *series(10, 20, 30, index=0, total_mib=100),
        *series(10, 60, index=1, total_mib=80),
    ]

    assert combined(GpuMemoryPattern, *samples) == [
        GpuMemoryPattern(
            pattern="all-flat", gpus=2, samples=2, largest_used_mib=60, span_s=None, used_share_percent=75
        )
    ]


def test_without_totals_the_share_is_not_known():
    """It is not guessed from the name of the GPU."""
    assert [one.used_share_percent for one in combined(GpuMemoryPattern, *series(1, 2))] == [None]


SPANS = {
    "seconds": ([10.0, 40.5], 30.5),
    "past midnight": ([86_390.0, 20.0], 30.0),
    "since the epoch": ([1.7e9, 1.7e9 + 60], 60.0),
    "an end that is not known": ([10.0, None], None),
    "a start that is not known": ([None, 10.0], None),
}


@pytest.mark.parametrize(("times", "span"), SPANS.values(), ids=SPANS)
def test_the_span_of_a_series(times, span):
    """Between first and last; None where one carries no time."""
    samples = [
        at(GpuMemorySample(index=0, used_mib=1, order=order, at_s=time), line=order + 1)
        for order, time in enumerate(times)
    ]

    assert [one.span_s for one in combined(GpuMemoryTrend, *samples)] == [span]
    assert [one.span_s for one in combined(GpuMemoryPattern, *samples)] == [span]


def test_a_trend_cites_its_first_and_last_sample():
    """The lines between do not matter."""
    assert [part.source.line for part in observed(GpuMemoryTrend, *series(1, 2, 3))[0].basis] == [1, 3]
