"""Whether a model's weights fit into the GPUs that its launch gives it."""

from __future__ import annotations

import pytest
from combining import at, combined, complete, looked, observed

from kb.facts.framework import LaunchArgument, ModelFiles, ModelFit
from kb.facts.gpu import Gpu


def size(name: str, value: str) -> LaunchArgument:
    return LaunchArgument(framework="vllm", name=name, value=value)


def fit(weights_gib: float, memory_mib: list[int], *sizes: tuple[str, str]) -> list[ModelFit]:
    gpus = [Gpu(index=index, memory_total_mib=mib) for index, mib in enumerate(memory_mib)]
    return combined(ModelFit, ModelFiles(size_gib=weights_gib), *gpus, *(size(*one) for one in sizes))


FITS = {
    "on one GPU": (70.0, [81920], [("tp_size", "1")], 1, 80.0, True),
    "on one GPU it does not": (90.0, [81920], [("tp_size", "1")], 1, 80.0, False),
    "exactly as large": (80.0, [81920], [("tp_size", "1")], 1, 80.0, False),
    "over four": (300.0, [81920] * 4, [("tp_size", "4")], 4, 320.0, True),
    "over stages too": (
        300.0,
        [40960] * 8,
        [("tensor_parallel_size", "4"), ("pipeline_parallel_size", "2")],
        8,
        320.0,
        True,
    ),
    "the smallest GPU counts": (70.0, [81920, 24576], [("tp_size", "2")], 2, 48.0, False),
    "a size that is shown twice": (150.0, [81920] * 2, [("tp_size", "2"), ("tp_size", "2")], 2, 160.0, True),
    "a size under two names": (
        150.0,
        [81920] * 2,
        [("tp_size", "2"), ("tensor_parallel_size", "2")],
        2,
        160.0,
        True,
    ),
}


@pytest.mark.parametrize(("weights", "memory", "sizes", "gpus", "total", "fits"), FITS.values(), ids=FITS)
def test_weights_against_memory(weights, memory, sizes, gpus, total, fits):
    """The memory of the smallest GPU, times the GPUs that share the weights."""
    assert fit(weights, memory, *sizes) == [ModelFit(weights_gib=weights, gpus=gpus, memory_gib=total, fits=fits)]


@pytest.mark.parametrize(
    "facts",
    [
        [Gpu(memory_total_mib=1), size("tp_size", "1")],
        [ModelFiles(size_gib=1.0), size("tp_size", "1")],
        [ModelFiles(size_gib=1.0), Gpu(memory_total_mib=1)],
        [ModelFiles(size_gib=1.0), Gpu(memory_total_mib=1), size("dp_size", "2")],
        [ModelFiles(size_gib=1.0), Gpu(memory_total_mib=1), size("tp_size", "auto")],
        [ModelFiles(size_gib=1.0), Gpu(memory_total_mib=1), size("tp_size", "9" * 5000)],
        [ModelFiles(size_gib=1.0), Gpu(index=0), size("tp_size", "1")],
    ],
    ids=["no model", "no GPU", "no launch", "no size of it", "a size that is none", "an absurd size", "no memory"],
)
def test_what_is_not_known_is_not_guessed(facts):
    """Neither a fit nor that one was looked for."""
    assert combined(ModelFit, *facts) == []
    assert looked(ModelFit, *facts, complete(ModelFiles)) == []


def test_a_fit_cites_model_gpu_and_launch():
    """In that order."""
    facts = [
        at(size("tp_size", "1"), line=1),
        at(Gpu(memory_total_mib=1024), line=2),
        at(ModelFiles(size_gib=1.0), line=3),
    ]

    assert [part.source.line for part in observed(ModelFit, *facts)[0].basis] == [3, 2, 1]
    assert looked(ModelFit, *facts, complete(ModelFiles)) == [True]
