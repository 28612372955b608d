"""Whether a log shows the beginning of a run, so that what it does not say was not said. No reader."""

from __future__ import annotations

from kb.evidence import Section

START_MARKERS = (
    "server_args=ServerArgs(",
    "Init torch distributed begin",
    "vLLM API server version",
    "Initializing a V0 LLM engine",
    "Initializing a V1 LLM engine",
    "Initializing an LLM engine",
    "Starting elastic_operator with launch configs",
    "Setting OMP_NUM_THREADS environment variable for each process",
    "Initializing TorchBackend in DeepSpeed",
    "> initializing torch distributed",
)
"""Lines that launchers and frameworks print first."""

LAUNCHERS = (
    *("torchrun", "python", "accelerate ", "deepspeed ", "mpirun ", "mpiexec ", "srun ", "vllm ", "sglang "),
    *("trtllm-serve", "ray job submit", "bash ", "sh ", "./", "NCCL_", "CUDA_VISIBLE_DEVICES="),
)
"""How command lines begin whose whole output is a run."""


def shows_start(section: Section) -> bool:
    """True where the section is the output of a launch, or holds a line that only the start of one prints."""
    if section.command is not None and section.command.removeprefix("sudo ").startswith(LAUNCHERS):
        return True
    return any(marker in line for line in section.lines for marker in START_MARKERS)
