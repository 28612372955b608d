"""Where a run begins in a log, and whether the log shows it: then what it does not say was not said. No reader."""

from __future__ import annotations

from collections.abc import Collection

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
    "using world size: ",
    "WORLD INFO DICT: ",
    "GPU available: ",
    "Distributed environment: ",
    "TensorRT-LLM version: ",
    "Pinned memory pool is created at",
    "Started a local Ray instance.",
    "Connecting to existing Ray cluster at address",
)
"""Lines that launchers and frameworks print first."""

END_MARKERS = (
    "Root Cause (first observed failure)",
    "exits with return code = ",
    "'train_runtime': ",
    "slurmstepd: error: ",
    "Received sigquit from a child process",
    "Engine core initialization failed",
    "Engine process failed to start",
    "EngineDeadError",
    "kill_process_tree",
    "Application shutdown complete",
    "Finished server process",
    "MPI_ABORT was invoked",
    "Error on model init: ",
)
"""Lines after which a run is over, for good or ill."""

READY_MARKERS = (
    "The server is fired up and ready to roll",
    "Application startup complete",
    "Started HTTPService at",
    "{'loss': ",
    "elapsed time per iteration",
)
"""Lines that tell that a start succeeded."""

RUN_MARKERS = (*START_MARKERS, *END_MARKERS, *READY_MARKERS)
"""Readers that tell runs apart name them among their `lines`, so that they can in large files too."""

LAUNCHERS = (
    *("torchrun", "python", "accelerate ", "deepspeed ", "mpirun ", "mpiexec ", "srun ", "vllm ", "sglang "),
    *("trtllm-", "tritonserver", "ray job submit", "bash ", "sh ", "./", "NCCL_", "CUDA_VISIBLE_DEVICES="),
)
"""How command lines begin whose whole output is a run."""


def shows_start(section: Section) -> bool:
    """True where the section is the output of a launch, or holds a line that only the start of one prints."""
    if section.command is not None and section.command.removeprefix("sudo ").startswith(LAUNCHERS):
        return True
    return section.has(*START_MARKERS)


def last_run(section: Section) -> int:
    """The index of the line with which the last run in a log begins."""
    return run_starts(section)[-1]


def run_starts(section: Section) -> list[int]:
    """The indexes of the lines with which runs begin: the first, and each start after the end of another run."""
    starts, over = [0], False
    for index, line in section.matching(*START_MARKERS, *END_MARKERS):
        if any(marker in line for marker in END_MARKERS):
            over = True
        elif over:
            starts.append(index)
            over = False
    return starts


def of_last_run(section: Section, indexes: Collection[int]) -> frozenset[int]:
    """Which of these lines count: those of the last run; all, where it has none of them and is not yet up."""
    start = last_run(section) if indexes else 0
    recent = frozenset(index for index in indexes if index >= start)
    if recent or any(index >= start for index, _ in section.matching(*READY_MARKERS)):
        return recent
    return frozenset(indexes)
