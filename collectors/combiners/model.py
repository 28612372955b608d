"""Whether a model's weights fit into the memory of the GPUs that the launch gives it."""

from __future__ import annotations

from collections.abc import Iterator
from math import prod

from collectors.combiners import Facts, derived, looked_at
from collectors.combiners.start import PARALLEL, is_size
from kb.evidence import Reading
from kb.facts.framework import LaunchArgument, ModelFiles, ModelFit
from kb.facts.gpu import Gpu

MOST_GPUS = 4096


def combine(facts: Facts) -> Iterator[Reading]:
    """ModelFit where the size of the model, the parallel sizes and the memory of a GPU are known."""
    models = facts.of(ModelFiles)
    memory = [(gpu.memory_total_mib, observed) for gpu, observed in facts.of(Gpu) if gpu.memory_total_mib]
    given = [(a, o) for a, o in facts.of(LaunchArgument) if a.name in PARALLEL and is_size(a.value)]
    launch = {PARALLEL[argument.name]: (argument, observed) for argument, observed in given}
    if not (models and memory and launch):
        return
    gpus = min(prod(int(argument.value) for argument, _ in launch.values()), MOST_GPUS)
    smallest, smallest_observed = min(memory, key=lambda one: one[0])
    model, model_observed = models[-1]
    memory_gib = round(smallest * gpus / 1024, 1)
    fact = ModelFit(weights_gib=model.size_gib, gpus=gpus, memory_gib=memory_gib, fits=model.size_gib < memory_gib)
    yield derived(fact, [model_observed, smallest_observed, *(o for _, o in launch.values())])
    yield from looked_at(facts, ModelFit, ModelFiles)
