"""Lines by which a process says without a traceback that it, or its peer, has failed. No reader.

c10d's watchdog and heartbeat monitor, C++ `terminate called`, `Fatal Python error`, custom all-reduce
kernels, nccl-tests and CUDA samples, the supervisors of SGLang and vLLM, Slurm.
"""

from __future__ import annotations

from typing import NamedTuple

from collectors.readers._regex import regex
from collectors.readers.error_classes import ErrorClass

_RANK = r"\[[^\]]{0,80}Rank \d{1,7}\] "

_SIGNAL = (
    r"(?:\[[\w.-]{1,64}:\d{1,10}\] )?\*{0,3} ?Signal: "
    r"(?:Bus error \(7\)|Segmentation fault \(11\)|Illegal instruction \(4\)|Floating point exception \(8\))"
)
"""Open MPI's handler, and UCX's; that a process aborted itself follows what it said before."""

_LINES: tuple[tuple[str, ErrorClass | None, bool | None, str], ...] = (
    (
        "NCCL watchdog timeout",
        "timeout",
        True,
        rf"(?:{_RANK})?Watchdog caught collective operation timeout: ",
    ),
    (
        "NCCL watchdog timeout",
        "timeout",
        True,
        rf"(?:\s{{0,8}}what\(\): )?\s{{0,4}}{_RANK}.{{0,160}}Watchdog caught",
    ),
    ("NCCL watchdog exception", None, None, rf"{_RANK}.{{0,60}}terminated with exception: (?P<text>.{{3,}})"),
    ("NCCL heartbeat timeout", "timeout", True, rf"(?:{_RANK})?Heartbeat monitor timed out"),
    ("NCCL heartbeat timeout", "timeout", True, rf"(?:{_RANK})?ProcessGroupNCCL's watchdog got stuck"),
    ("C++ exception", None, None, r"\s{0,8}what\(\): {1,4}(?P<text>.{3,})"),
    ("Python crash", "other", None, r"Fatal Python error: (?P<text>.{3,})"),
    ("signal", "other", False, r"(?:\[[\w.-]{1,64}:[\d: ]{1,40}\] )?Caught signal \d{1,2} \("),
    ("signal", "other", False, _SIGNAL),
    (
        "signal",
        "other",
        False,
        r"\s{0,4}traceback {0,3}: Signal (?:4|7|8|11) \(SIG[A-Z]{3,5}\) received by PID \d",
    ),
    (
        "signal",
        "other",
        False,
        (
            r"(?:Thread \d{1,7}(?:\.\d{1,7})? (?:\"[^\"]{0,40}\" )?|Program )(?:received|terminated with) signal "
            r"(?:SIGBUS, Bus error|SIGSEGV, Segmentation fault|SIGILL, Illegal instruction|SIGFPE, Arithmetic exc)"
        ),
    ),
    ("custom all-reduce kernel", "cuda", False, r"Failed: Cuda error \S{1,200}:\d{1,6} '"),
    ("CUDA failure", "cuda", False, r"Cuda failure \S{1,200}:\d{1,6}:? '"),
    ("CUDA initialization", "cuda", False, r".{0,200}UserWarning: (?P<text>CUDA initialization: .{3,})"),
    ("CUDA initialization", "cuda", False, r"cudaGetDeviceCount returned \d{1,4}"),
    ("CUDA allocation", "cuda", False, r"Failed to allocate device vector A \(error code "),
    ("C++ exception", None, None, r"C\+\+ exception with description \"(?P<text>.{3,})\" thrown"),
    (
        "CUDA failure",
        "cuda",
        False,
        r".{0,200}(?:DriverError\(|\[|failed call to cuInit: )CUDA_ERROR_[A-Z_]{3,60}",
    ),
    ("NCCL test failure", "nccl", None, r"(?:[\w.-]{1,64}: )?Test NCCL failure \S{1,80}:\d{1,6} '"),
    ("CUDA test failure", "cuda", False, r"(?:[\w.-]{1,64}: )?Test CUDA failure \S{1,80}:\d{1,6} '"),
    (
        "SGLang watchdog timeout",
        "timeout",
        True,
        r"(?:\w{1,20} )?[Ww]atchdog timeout \(self\.watchdog_timeout=",
    ),
    ("SGLang child failed", "remote", True, r"Received sigquit from a child process\."),
    (
        "vLLM worker silent",
        "timeout",
        True,
        r"No available shared memory broadcast block found in \d{1,6} sec",
    ),
    ("vLLM engine failed", "remote", True, r"Engine ?[Cc]ore (?:failed to start|encountered a fatal error)"),
    ("vLLM engine failed", "remote", True, r"Engine ?[Cc]ore proc .{1,40} died"),
    ("vLLM worker died", "remote", True, r"Worker proc \S{1,64} died unexpectedly"),
    ("GPU memory held", "gpu-memory", False, r"Free memory on device .{0,40}on startup is less than desired"),
    ("out-of-memory kill", "host-memory", False, r"slurmstepd: error: Detected \d{1,6} oom[-_]kill event"),
    ("MPI slots", "config", False, r"There are not enough slots available in the system"),
    ("client socket timeout", "timeout", True, r"The client socket has timed out after "),
    ("SGLang health check", "timeout", True, r"Health check failed\. Server couldn't get a response "),
    ("TensorRT-LLM error", None, None, r"\[TensorRT-LLM\]\[ERROR\] (?P<text>.{3,})"),
    ("TensorRT-LLM error", None, None, r"Failed to initialize executor on rank \d{1,6}: (?P<text>.{3,})"),
    ("TensorRT-LLM error", None, None, r"Error executing \w{1,60} with args \(.{1,200}\): (?P<text>.{3,})"),
    ("Triton model load", None, None, r"\"?failed to load '[\w.-]{1,80}' version \d{1,4}: (?P<text>.{3,})"),
    ("MPI abort", "remote", True, r"MPI_ABORT was invoked on rank \d{1,7} in communicator "),
    ("Ray memory kill", "host-memory", False, r".{0,200} killed due to memory pressure \(OOM\)"),
)
_FATAL = tuple((error, class_, consequence, regex(text)) for error, class_, consequence, text in _LINES)

MARKERS = (
    *("Watchdog", "watchdog", "terminated with exception", "Heartbeat monitor", "what():", "Fatal Python error"),
    *(
        ") received by PID",
        "Caught signal",
        "received signal SIG",
        "terminated with signal SIG",
        "Signal: ",
        "Cuda error",
        "Cuda failure",
        "CUDA initialization",
    ),
    *("cudaGetDeviceCount returned", "device vector A", "Test NCCL f", "Test CUDA f", "sigquit from"),
    *("broadcast block found", "ngine core ", "ngine Core ", "nginecore ", "ngineCore ", "died unexpectedly"),
    *("exception with description", "CUDA_ERROR_", "Free memory on device", "oom-kill event", "oom_kill event"),
    *("client socket has timed out", "not enough slots", "Health check failed", "LLM][ERROR"),
    *("initialize executor on", "Error executing ", "failed to load '", "MPI_ABORT was", "memory pressure (OOM"),
)
"""What a line must hold to be one of these."""


class Fatal(NamedTuple):
    """A fatal line: short name, class and flag where the name settles them, and what it says."""

    error: str
    class_: ErrorClass | None
    consequence: bool | None
    text: str


def may_be_fatal(text: str) -> bool:
    """Whether a line holds a marker; cheaper than `fatal_line`."""
    return any(marker in text for marker in MARKERS)


def fatal_line(text: str) -> Fatal | None:
    """What a line without its stamps says is fatal; None for any other line."""
    for error, class_, consequence, pattern in _FATAL:
        match = pattern.match(text)
        if match is not None:
            said = match["text"] if "text" in pattern.groupindex else text
            return Fatal(error, class_, consequence, said)
    return None
