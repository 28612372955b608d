"""What frameworks complain of in fixed words, by its meaning and rank.

    ValueError: Total number of attention heads (28) must be divisible by tensor parallel size (8).
    [2026-01-31 12:00:00 TP3] Scheduler hit an exception: ValueError: The memory capacity is unbalanced. Some GPUs may …
    RuntimeError: DataLoader worker (pid 811) is killed by signal: Bus error. It is possible that dataloader's workers …

Follows PyTorch 1.8 to 2.14, vLLM 0.4 to 0.33, SGLang 0.3.6 to 0.5.23, TensorRT-LLM, DeepSpeed, Megatron-LM, Accelerate,
Triton, Ray, HAMi-core. The words count where they begin a message: after the launcher's prefix, the logger's stamp and
the exception's name. Of a log with several runs the last one counts. Prose gives nothing; cut lines what they hold.
"""  # noqa: E501 - lines of the log as they are

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from collectors.readers._regex import regex
from collectors.readers.framework_error_lines import Complaint, complaint
from collectors.readers.launcher_prefixes import after_progress, without_launcher, without_stamp
from collectors.readers.run_start import RUN_MARKERS, START_MARKERS, of_last_run, shows_start
from kb.evidence import Reader, Reading, Section
from kb.facts.problems import FrameworkError

MOST_ERRORS = 2000
MOST_TEXT = 400

_LEAD = regex(
    r"(?:\S{1,200}:\d{1,6}: \w{1,40}Warning: {1,4}|(?:Scheduler|TpModelWorkerClient) hit an exception: "
    r"|Exception in worker \w{1,40} while processing method [\w.]{1,60}: "
    r"|(?:ERROR|WARNING|CRITICAL|INFO)[: ]{1,6}|Value error, )?(?:(?P<error>[A-Za-z_][\w.]{1,120}"
    r"(?:Error|Exception|Exit|Timeout|OutOfResources)(?:\(\w{1,60}\))?): ){0,3}"
)
_SOURCE = "    "
"""How the source lines of a traceback begin: they quote what was not said."""
_BROKEN_OFF = "An attempt has been made to start a new process before the"
"""CPython breaks this message and indents it like a source line."""
_SEVERE = ("ERROR", "CRITICAL", ":[E", " E ", "] [error]", "] [critical]")
_SOFT = frozenset(("custom-all-reduce-off", "p2p-refused-for-gpu-model"))
"""A choice that the framework made, unless it raised."""
_FATAL = frozenset(("launch-option", "model-load-failed", "host-memory-kill", "spawn-without-main"))
"""The end, however they are printed."""
_MARKERS = (
    *("memory capacity is unbal", "for the cache blocks", "Not enough memory", "max seq len"),
    *(
        "Free memory on device",
        "running low on memory",
        "due to memory pressure",
        "not enough GPU memory",
        "dispatched on the CPU or",
        "re-initialize CUDA",
    ),
    *("has been made to start a", "invalid device ordinal", "Invalid device id", "device < num_gpus"),
    *("Invalid CUDA device index", "Invalid GPU device ", "invalid value for main_gpu"),
    *("No CUDA GPUs are", "no CUDA-capable device", "to infer device type", "No accelerator ("),
    *(
        "larger than the num",
        "s exceeds the total num",
        ") exceeds available",
        "has no GPU available",
        "No slot '",
        "divisible by",
    ),
    *("aligned with the quant", "batch related param", "Runtime world size", "[TensorRT-LLM][ERROR]"),
    *("error: unrecognized arg", "error: argument -", "error: ambiguous opt", "error: the following arg"),
    *("Error: No such opt", "for the current GPU", "uantization method", "Bfloat16 is only", "type fp8e4nv"),
    *("Model architectures [", "has model type `", "custom code which", "requires you to execute"),
    *("DataLoader worker", "bus error encountered", "to file </torch_", "DataLoader timed out"),
    *("Too many open files", "items of ancdata", "start new thread", "pthread_create failed"),
    *("[Errno 28] No space", "'_OpNamespace'", "vllm._C", "[sgl_kernel]", "ImportError: /", "OSError: /"),
    *("compiled with different CUDA", "load custom C++ ops", "torchvision::nms", "The detected CUDA version ("),
    *("compiled with CUDA", "have NCCL built in", "load NCCL library", "ProcessGroupNCCL is only"),
    *("kernel image is", "named symbol not", "CUDA capability sm_", "ptxas", "Triton Error"),
    *("PassManager::run", "working triton inst", "out of resource: ", "to find C compiler", "CUDA_HOME env"),
    *("nvcc: not found", "not find nvcc and", "Ninja is required", "FlashAttention only"),
    *("FlashAttention forward", "FlashInfer requires", "Selected backend ", "FlashAttention v3 Back"),
    *("[HAMI-core ", "[4pdvGPU ", "[softmig ", "libvgpu.so", "symbol lookup", "MPS client", "MPS server is not"),
    *("/cuda-control/src/", "[NVSHARE][", "is not implemented in the cur", "VirtaiTech ", "cannot be preloaded"),
    *("device connections have", "watchdog_timeout=", "memory broadcast block", "Health check failed."),
    *("EngineCore encountered", "Background loop has", "MQLLMEngine term", "RPC call to ", "scheduler died"),
    *("failed to load '", "ustom allreduce", "4000 series", "peculative decoding", "speculative_"),
    *(
        "mismatch between collect",
        "DDP expects same model",
        "]: params[",
        "op.preamble.length",
        "env:// rendezvous",
    ),
    *("resource request cannot be", "can fulfill resource req"),
    *("creating a placement group", "before the `notebook_launcher`", "multi-GPU training from your note"),
    *("at least 2 processes to", "You requested gpu: [", "does not allocate any GPU"),
    *("be a multiple of", "not reachable via ssh", "Permission denied (", "Host key verification failed"),
    *("num_draft_tokens", "`srun` command is", "--ntasks-per-node=", "scontrol: ", "srun: com"),
)


@dataclass(slots=True)
class _Known:
    """One complaint of one rank and its repetitions."""

    what: Complaint
    text: str
    rank: str | None
    fatal: bool
    time: str | None
    first: int
    count: int = 0


def read(section: Section) -> Iterator[Reading]:
    """FrameworkError for each class, pair of numbers and rank, in the last run of the section."""
    found: dict[tuple[Complaint, str | None, bool], _Known] = {}
    complaints = [
        one for index, line in section.matching(*_MARKERS) if (one := _complaint(line, index)) is not None
    ]
    current = of_last_run(section, {one.first for one in complaints})
    for known in complaints:
        key = (known.what, known.rank, known.fatal)
        if known.first in current and (key in found or len(found) < MOST_ERRORS):
            found.setdefault(key, known).count += 1
    for one in found.values():
        fact = FrameworkError(
            class_=one.what.class_,
            text=one.text[:MOST_TEXT],
            rank=one.rank,
            fatal=one.fatal,
            wanted=one.what.wanted,
            available=one.what.available,
            count=one.count,
            time=one.time,
        )
        yield section.observe(fact, one.first)
    whole = shows_start(section)
    if found or whole:
        yield section.looked(FrameworkError, complete=whole)


def _complaint(line: str, index: int) -> _Known | None:
    bare = after_progress(line)
    launched = without_launcher(bare)
    logged = without_stamp(launched.text)
    if logged.text.startswith(_SOURCE) and not logged.text.strip().startswith(_BROKEN_OFF):
        return None
    text = logged.text[:4000].strip()
    lead = _LEAD.match(text)
    error = lead["error"] if lead else None
    said = text[lead.end() :] if lead else text
    what = complaint(error, said) or complaint(None, text)
    if what is None:
        return None
    stamped = bare[: max(len(bare) - len(said), 0)][-400:]
    severe = (
        error is not None
        or text.startswith("Value error, ")
        or any(word in stamped for word in _SEVERE)
        or "ERROR" in said[:32]
    )
    fatal = what.class_ in _FATAL or (severe and (what.class_ not in _SOFT or error is not None))
    return _Known(what, text, logged.rank or launched.rank, fatal, logged.time, index)


READER = Reader("framework-errors", read, markers=(*_MARKERS, *START_MARKERS), lines=(*_MARKERS, *RUN_MARKERS))
