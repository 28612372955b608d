"""Whether a model's weights fit into the memory of the GPUs that the launch gives it."""

from __future__ import annotations

from collections.abc import Iterator

from collectors.combiners import Facts, derived, looked_at
from kb.evidence import Reading
from kb.facts import Gpu, LaunchArgument, ModelFiles, ModelFit

SIZES = ("tp_size", "tensor_parallel_size", "pp_size", "pipeline_parallel_size")
MOST_GPUS = 4096


def combine(facts: Facts) -> Iterator[Reading]:
    """ModelFit where the size of the model, the parallel sizes and the memory of a GPU are known."""
    models = facts.of(ModelFiles)
    memory = [(gpu.memory_total_mib, observed) for gpu, observed in facts.of(Gpu) if gpu.memory_total_mib]
    launch = [(a, o) for a, o in facts.of(LaunchArgument) if a.name in SIZES and a.value.isdecimal()]
    if not (models and memory and launch):
        return
    gpus = 1
    for argument, _ in launch:
        gpus = min(gpus * max(int(argument.value), 1), MOST_GPUS)
    smallest, smallest_observed = min(memory, key=lambda one: one[0])
    model, model_observed = models[-1]
    memory_gib = round(smallest * gpus / 1024, 1)
    fact = ModelFit(weights_gib=model.size_gib, gpus=gpus, memory_gib=memory_gib, fits=model.size_gib < memory_gib)
    yield derived(fact, [model_observed, smallest_observed, *(o for _, o in launch)])
    yield from looked_at(facts, ModelFit, ModelFiles)
