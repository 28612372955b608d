"""The programs that launch jobs, and their options that bear on communication, memory and start. No reader.

vLLM, SGLang, TensorRT-LLM, Open MPI, Slurm, Ray: each option by the name that the program itself gives it.
"""

from __future__ import annotations

from collections.abc import Iterator

from collectors.readers._command_lines import LEAD, options
from collectors.readers._regex import regex
from collectors.readers.sglang_log import ARGUMENTS as OF_SGLANG
from collectors.readers.vllm_log import ARGUMENTS as OF_VLLM
from kb.facts.framework import Framework

_WITHIN = r"(?:(?:srun|docker exec|kubectl exec) .{0,600}?[\s\"'])?"
_PYTHON = r"python[\d.]{0,5}(?: -[uO]){0,2} -m "
_PROGRAMS: tuple[tuple[Framework, str], ...] = (
    ("vllm", rf"{LEAD}{_WITHIN}(?:vllm serve|{_PYTHON}vllm\.entrypoints\.[\w.]{{3,60}})(?P<rest>\s.*)"),
    ("vllm", rf"{LEAD}(?:docker|podman|nerdctl) run .{{0,3000}}?\s\S{{0,80}}vllm-openai\S{{0,80}}(?P<image>\s.*)"),
    ("sglang", rf"{LEAD}{_WITHIN}(?:sglang serve|{_PYTHON}sglang\.launch_server)(?P<rest>\s.*)"),
    ("sglang", rf"{LEAD}(?:docker|podman|nerdctl) run .{{0,3000}}?sglang\.launch_server(?P<image>\s.*)"),
    ("tensorrt-llm", rf"{LEAD}trtllm-(?:serve|build|bench|llmapi-launch)(?P<rest>\s.*)"),
    ("mpi", rf"{LEAD}(?:mpirun|mpiexec)(?P<rest>\s.*)"),
    ("slurm", rf"{LEAD}(?:srun|salloc|sbatch)(?P<rest>\s.*)"),
    ("ray", rf"{LEAD}ray start(?P<rest>\s.*)"),
)
_POSITIONAL = regex(rf"{LEAD}{_WITHIN}vllm serve (?P<model>[\w./:~][^\s'\"]{{0,300}})")
"""The model that `vllm serve` takes without an option."""
_FORMS = tuple((framework, regex(text)) for framework, text in _PROGRAMS)


def _same(*names: str) -> dict[str, str]:
    return {name: name for name in names}


_NAMES: dict[Framework, dict[str, str]] = {
    "vllm": _same(
        *OF_VLLM, "nnodes", "node_rank", "master_addr", "master_port", "headless", "data_parallel_address"
    )
    | _same("speculative_model", "num_speculative_tokens")
    | {"tp": "tensor_parallel_size", "pp": "pipeline_parallel_size", "dp": "data_parallel_size", "n": "nnodes"},
    "sglang": _same(*OF_SGLANG, "speculative_num_steps")
    | {"tp": "tp_size", "tensor_parallel_size": "tp_size", "dp": "dp_size", "data_parallel_size": "dp_size"}
    | {"pp": "pp_size", "ep": "ep_size", "nccl_init_addr": "dist_init_addr", "model": "model_path"}
    | {"speculative_algo": "speculative_algorithm"},
    "tensorrt-llm": _same("tp_size", "pp_size", "ep_size", "world_size", "gpus_per_node", "use_custom_all_reduce")
    | _same("backend", "max_batch_size", "kv_cache_free_gpu_memory_fraction"),
    "mpi": {"n": "num_processes", "np": "num_processes", "npernode": "nproc_per_node", "N": "nproc_per_node"}
    | {"hostfile": "hostfile", "machinefile": "hostfile", "H": "hosts", "host": "hosts"},
    "slurm": {"N": "nnodes", "nodes": "nnodes", "n": "num_processes", "ntasks": "num_processes", "G": "gpus"}
    | _same("ntasks_per_node", "gpus_per_node", "gpus_per_task", "gpu_bind", "gpus", "gres", "cpus_per_task")
    | _same("exclusive"),
    "ray": _same("head", "address", "num_gpus", "port"),
}
_PROGRAM = regex(
    r"\s(?:\S{0,200}/)?(?:python[\d.]{0,5}|bash|sh|torchrun|accelerate|singularity|apptainer|\S{1,200}\.(?:sh|py))\s"
)
"""What a launcher starts: the options after it are not the launcher's."""


def programs(text: str) -> Iterator[tuple[Framework, str]]:
    """The programs that a command line starts, each with its part of the line."""
    for framework, form in _FORMS:
        match = form.match(text)
        told = match.groupdict() if match else {}
        rest = told.get("rest") or told.get("image")
        if rest:
            model = _POSITIONAL.match(text) if framework == "vllm" else None
            yield framework, f" --model {model['model']}{rest}" if model else rest


def arguments(framework: Framework, rest: str) -> dict[str, str]:
    """The options by the names of the program. Of a launcher the first count: later ones are its program's."""
    names = _NAMES[framework]
    if framework in {"mpi", "slurm"} and (program := _PROGRAM.search(rest)) is not None:
        rest = rest[: program.start()]
    given = [(names[name], value[:300]) for name, value in options(f" {rest.split(' #', 1)[0]} ") if name in names]
    if framework in {"mpi", "slurm"}:
        given.reverse()
    return dict(given)
