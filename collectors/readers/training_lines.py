"""The lines by which training frameworks and launchers tell how far a start came. No reader.

PyTorch elastic, DeepSpeed, Megatron-LM, Accelerate, transformers, Lightning, Ray Train. Each line is a form
of its own from its beginning on, after the launcher's prefix and the logger's stamp, so that prose gives nothing.
"""

from __future__ import annotations

from typing import NamedTuple

from collectors.readers._regex import regex
from kb.facts.framework import Framework, Milestone

_BAR = r" {1,4}\d{1,3}%\|"
_COUNTED = r"(?:[Ee]poch|ep|[Ii]ter(?:ation)?|[Ss]tep|[Bb]atch)\b[ :=\[]{1,4}\d"
_LOSS = rf"(?:\[[\d :.,-]{{8,30}}\] |[\d :.,-]{{8,30}} I \[\S{{1,60}}\] )?{_COUNTED}.{{0,160}}\b[Ll]oss\b"

_LINES: tuple[tuple[Framework, Milestone, str], ...] = (
    ("torch", "launched", r"Starting elastic_operator with launch configs:"),
    ("torch", "launched", r"Setting OMP_NUM_THREADS environment variable for each process to be \d"),
    ("torch", "launched", r"Starting job: \S"),
    ("torch", "distributed-begin", r"\[\w{1,40}\] Rendezvous'ing worker group"),
    ("torch", "distributed-end", r"\[\w{1,40}\] Rendezvous complete for workers"),
    ("torch", "compile-begin", r"Using [/~.]\S{0,300} as PyTorch extensions root\.\.\."),
    ("torch", "compile-begin", r"Building extension module \w{1,80}\.\.\."),
    ("torch", "compile-end", r"Loading extension module \w{1,80}\.\.\."),
    ("torch", "compile-end", r"No modifications detected for re-loaded extension module \w{1,80}, skipping"),
    ("torch", "compile-end", r"Time to load \w{1,80} op: \d"),
    ("deepspeed", "launched", r"WORLD INFO DICT: \{"),
    ("deepspeed", "distributed-begin", r"Initializing TorchBackend in DeepSpeed with backend \w"),
    ("deepspeed", "distributed-begin", r"cdb=None\s*$"),
    ("deepspeed", "distributed-end", r"(?:\[Rank \d{1,6}\] )?DeepSpeed info: version="),
    ("deepspeed", "distributed-end", r"finished initializing model - num_params = \d"),
    ("deepspeed", "training", r"\[Rank \d{1,6}\] step=[1-9]\d{0,9}, skipped=\d"),
    ("deepspeed", "training", r"steps: \d{1,9} loss: "),
    ("megatron", "launched", r"using world size: \d{1,7}[ ,]"),
    ("megatron", "distributed-begin", r"> initializing torch distributed \.\.\."),
    ("megatron", "distributed-end", r"> initializ(?:ed|ing) (?:tensor |pipeline )?model parallel with size \d"),
    ("megatron", "compile-begin", r"> compiling (?:dataset index builder|and loading fused kernels) \.\.\."),
    ("megatron", "compile-end", r">>> done with (?:dataset index builder|compiling and loading fused kernels)\."),
    ("megatron", "distributed-end", r"time to initialize megatron \(seconds\): \d"),
    ("megatron", "weights-begin", r" ?loading (?:release |distributed )?checkpoint from \S"),
    ("megatron", "weights-end", r" {0,2}successfully loaded checkpoint from \S"),
    ("megatron", "training", r" ?(?:\[[\d :.-]{10,30}\] )?iteration {1,12}\d{1,9}/ {0,12}\d{1,9} \| "),
    ("accelerate", "distributed-end", r"Distributed environment: [\w.]{1,40} {1,4}Backend: \w"),
    ("accelerate", "distributed-end", r"Distributed environment: (?:DistributedType\.)?(?:MULTI_GPU|FSDP|DEEP)"),
    ("transformers", "weights-end", r"Loading checkpoint shards: {1,4}100%\|"),
    ("transformers", "weights-begin", rf"Loading checkpoint shards:{_BAR}"),
    ("transformers", "training", r"\{'(?:loss|train_loss)': "),
    ("lightning", "launched", r"GPU available: (?:True|False)"),
    ("lightning", "distributed-begin", r"[Ii]nitializing (?:distributed|ddp): GLOBAL_RANK: (?P<lightning>\d+),"),
    ("lightning", "distributed-end", r"All distributed processes registered\. Starting with \d{1,6} processes"),
    ("lightning", "training", r"Epoch \d{1,6}: {1,4}(?!0%)\d{1,3}%\|"),
    ("ray", "launched", r"Started a local Ray instance\."),
    ("ray", "launched", r"Connecting to existing Ray cluster at address: "),
    ("ray", "distributed-begin", r"Setting up process group for: \S{3,80} \[rank=(?P<ray>\d{1,6}), world"),
    ("ray", "training", r"step:\d{1,9} - (?:\w{1,40}[/-])?\w{1,40}/\w{1,60}:"),
    ("other", "training", r"Train(?:ing)?(?: epochs?| steps?)?\b.{0,30}: {1,4}(?!0%)\d{1,3}%\|"),
    ("other", "training", _LOSS),
    ("other", "training", r" {0,8}\d{1,9}/\d{1,9} \[[=>.]{5,60}\] - .{0,60}\bloss: "),
)  # fmt: skip
_FORM = regex("|".join(f"(?P<m{number}>{text})" for number, (_, _, text) in enumerate(_LINES)))

_ENDS = regex(
    r"Root Cause \(first observed failure\)|.{0,400}exits with return code = -?\d|\{'train_runtime': "
    r"|`Trainer\.fit` stopped: |(?:torch\.distributed\.elastic\.\S{1,60})?ChildFailedError|slurmstepd: error: "
    r"|Sending process \d{1,10} closing signal |srun: (?:error|Force Terminated)|\[exiting program "
)

MARKERS = (
    *("Starting elastic_operator with", "Setting OMP_NUM_THREADS environment", "Rendezvous'ing worker group"),
    *("Rendezvous complete for workers", "as PyTorch extensions root...", " extension module ", "Time to load "),
    *("WORLD INFO DICT: ", "Initializing TorchBackend in", "cdb=None", "DeepSpeed info: version="),
    *("finished initializing model - num", "using world size: ", "> initializing torch distributed"),
    *("model parallel with size ", "> compiling ", ">>> done with ", "time to initialize megatron"),
    *("checkpoint from ", "Distributed environment: ", "Loading checkpoint shards: ", "GPU available: "),
    *(
        "GLOBAL_RANK: ",
        "All distributed processes regist",
        "Started a local Ray instance",
        "Setting up process group",
    ),
    *("Starting job: ", " - actor/", " - global_seqlen/", " - train/loss:"),
    *("Connecting to existing Ray clust", "'train_runtime'", "`Trainer.fit` stopped"),
)
"""What names a start; rare in any log."""
BUSY = (
    "iteration",
    "'loss': ",
    ", skipped=",
    "steps: ",
    "Epoch ",
    "epoch",
    "Train",
    "step",
    "ep ",
    "Batch ",
    " - loss: ",
)
"""What may name a step of a training; looked for only where a start was named."""
ENDS = ("Root Cause (first", "exits with return", "ChildFailed", "slurmstepd: error", "closing signal", "srun: ")
FIRST_STEPS = tuple(
    f"iteration{' ' * pad}{10**power}/" for power in range(6) for pad in sorted({1, max(8 - power, 1)})
)
"""Steps whose numbers are powers of ten: enough to know that a huge log's training ran."""


class Step(NamedTuple):
    """One point of a start, as a line tells it; rank where the line itself names it."""

    framework: Framework
    milestone: Milestone
    rank: str | None


def step(text: str) -> Step | None:
    """The point of a start that a line without its prefixes tells; None for any other line."""
    match = _FORM.match(text)
    if match is None:
        return None
    number = next(number for number in range(len(_LINES)) if match[f"m{number}"] is not None)
    framework, milestone, _ = _LINES[number]
    rank = match["lightning"] or match["ray"]
    return Step(framework, milestone, f"rank {int(rank)}" if rank else None)


def ends_run(text: str) -> bool:
    """Whether a line says that the run before it is over."""
    return _ENDS.match(text) is not None
