"""Whether a model's weights fit into the memory of the GPUs that the launch gives it."""

from __future__ import annotations

import re
from collections.abc import Iterator
from math import prod

from collectors.combiners import Facts, derived, looked_at
from collectors.combiners.start import PARALLEL, is_size
from kb.evidence import Observed, Reading
from kb.facts.framework import GpuOom, LaunchArgument, ModelFiles, ModelFit
from kb.facts.gpu import Gpu

MOST_GPUS = 4096
MODEL = ("model", "model_path", "model_tag")
"""Launch arguments that name the model."""
GIB_PER_BILLION = 2e9 / 2**30
"""Of 16-bit weights."""

_PARAMETERS = re.compile(r"(?<![A-Za-z0-9.])(\d{1,4}(?:\.\d{1,2})?)[Bb](?![A-Za-z0-9])")
_SMALLER = re.compile(
    r"(?i)awq|gptq|fp8|fp4|int[48]|w[48]a|[48]-?bits?|bnb|bitsandbytes|gguf|q[2-8]_|quant|mxfp|gpt-oss"
)
_CUTTING = ("quantization", "load_format", "cpu_offload_gb", "dtype")


def combine(facts: Facts) -> Iterator[Reading]:
    """ModelFit where the size of the model, the parallel sizes and the memory of a GPU are known."""
    models = [(model.size_gib, observed) for model, observed in facts.of(ModelFiles)]
    named = [] if models else list(_by_name(facts))
    memory = [(gpu.memory_total_mib, observed) for gpu, observed in facts.of(Gpu) if gpu.memory_total_mib]
    memory = memory or [(oom.total_mib, observed) for oom, observed in facts.of(GpuOom) if oom.total_mib]
    given = [(a, o) for a, o in facts.of(LaunchArgument) if a.name in PARALLEL and is_size(a.value)]
    launch = {PARALLEL[argument.name]: (argument, observed) for argument, observed in given}
    if not ((models or named) and memory and launch):
        return
    gpus = min(prod(int(argument.value) for argument, _ in launch.values()), MOST_GPUS)
    smallest, smallest_observed = min(memory, key=lambda one: one[0])
    size_gib, model_observed = (models or named)[-1]
    memory_gib = round(smallest * gpus / 1024, 1)
    fact = ModelFit(weights_gib=size_gib, gpus=gpus, memory_gib=memory_gib, fits=size_gib < memory_gib)
    if models or not fact.fits:  # a name tells too little to say that a model fits
        yield derived(fact, [model_observed, smallest_observed, *(o for _, o in launch.values())])
    yield from looked_at(facts, ModelFit, ModelFiles)


def _by_name(facts: Facts) -> Iterator[tuple[float, Observed]]:
    """The size of 16-bit weights by the parameters in the model's name; none where they may be smaller."""
    arguments = facts.of(LaunchArgument)
    if any(a.name in _CUTTING and _makes_smaller(a) for a, _ in arguments):
        return
    for argument, observed in arguments:
        name = argument.value.rstrip("/").rpartition("/")[2]
        billions = _PARAMETERS.search(name)
        if argument.name in MODEL and billions is not None and not _SMALLER.search(argument.value):
            yield round(float(billions[1]) * GIB_PER_BILLION, 1), observed


def _makes_smaller(argument: LaunchArgument) -> bool:
    """Whether weights may be smaller than 16 bits, or partly elsewhere."""
    plain = {
        "None",
        "auto",
        "LoadFormat.AUTO",
        "safetensors",
        "0",
        "0.0",
        "pt",
        "runai_streamer",
        "fastsafetensors",
    }
    half = ("bfloat16", "float16", "half")
    return argument.value not in plain and not argument.value.rpartition(".")[2].startswith(half)
