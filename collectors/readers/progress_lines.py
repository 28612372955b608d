"""Lines, other than bars, that tell that work of a known kind begins, goes on or is over. No reader.

Compilers and autotuners (DeepGEMM, torch.compile, FlashInfer, Triton, aiter, TensorRT), graph capture, PyTorch's
extension builder and ninja, waits for locks, data preparation, and the iterations of a training.
"""

from __future__ import annotations

from typing import Literal, NamedTuple, TypeAlias

from collectors.readers._regex import regex
from kb.facts.progress import Activity

Point: TypeAlias = Literal["begin", "go-on", "end"]

_COMPILER = r"(?:/\S{1,200}/)?(?:nvcc|c\+\+|g\+\+|gcc|clang\+\+|clang|cc|hipcc|ccache|sccache)\b"
_LINES: tuple[tuple[Activity, Point, str, str], ...] = (
    ("compile", "begin", "DeepGEMM", r"Entering DeepGEMM JIT (?:Pre-Compile|Single Kernel Warmup) session"),
    ("compile", "go-on", "DeepGEMM", r"Try DeepGEMM JIT Compiling for <"),
    ("compile", "begin", "torch.compile", r"Start compiling function |Using cache directory: .{1,400} torch\.co"),
    ("compile", "go-on", "torch.compile", r"Dynamo bytecode transform time: |Cache the graph (?:of|for) "),
    ("compile", "go-on", "torch.compile", r"Compiling a graph for .{1,80} takes \d"),
    ("compile", "end", "torch.compile", r"torch\.compile (?:takes|took) |Directly load the compiled graph"),
    ("compile", "begin", "", r".{0,80}flashinfer\.jit: Loading JIT ops: (?P<a>\w{1,120})"),
    ("compile", "end", "", r".{0,80}flashinfer\.jit: Finished loading JIT ops: (?P<b>\w{1,120})"),
    ("compile", "begin", "FlashInfer autotuning", r".{0,80}\[Autotuner\]:? Autotuning process starts"),
    ("compile", "end", "FlashInfer autotuning", r".{0,80}\[Autotuner\]:? Autotuning process ends"),
    ("compile", "end", "FlashInfer autotuning", r".{0,80}\[Autotuner\]:? Cache size after warm"),
    ("compile", "go-on", "Triton autotuning", r"Triton autotuning for function \w{1,120}, .{0,300}finished after"),
    ("compile", "go-on", "Inductor autotuning", r"AUTOTUNE \w{1,60}\("),
    ("compile", "begin", "", r"\[aiter\] start build \[(?P<c>\w{1,120})\]"),
    ("compile", "end", "", r"\[aiter\] finish build \[(?P<d>\w{1,120})\]"),
    ("compile", "begin", "dataset index builder", r"> compiling dataset index builder \.\.\."),
    ("compile", "end", "dataset index builder", r">>> done with dataset index builder\."),
    ("compile", "begin", "fused kernels", r"> compiling and loading fused kernels \.\.\."),
    ("compile", "end", "fused kernels", r">>> done with compiling and loading fused kernels\."),
    ("compile", "begin", "TensorRT engine", r"Build TensorRT engine \S"),
    ("compile", "end", "TensorRT engine", r"Total time of building (?:all engines|\w[\w ]{0,40}): \d"),
    ("compile", "begin", "XLA", r"\[Compiling module [\w.-]{1,120}\] Very slow compile\?"),
    ("compile", "end", "XLA", r".{0,120}slow_operation_alarm\.cc:\d{1,5}\] The operation took \d"),
    ("capture", "begin", "cuda graph", r"Capture (?:[a-z]+ ){0,3}(?:cuda|CUDA) graph begin\."),
    ("capture", "end", "cuda graph", r"Capture (?:[a-z]+ ){0,3}(?:cuda|CUDA) graph end\."),
    ("capture", "go-on", "CUDA graphs", r"Run .{0,40}CUDA graph warmup for batch size"),
    ("capture", "begin", "CUDA graphs", r"Capturing cudagraphs for decoding"),
    ("capture", "end", "CUDA graphs", r"Graph capturing finished in \d"),
    ("extension-build", "begin", "", r"Using (?P<e>[/~.]\S{0,300}) as PyTorch extensions root\.\.\."),
    ("extension-build", "begin", "", r"Building extension module (?P<f>\w{1,120})\.\.\."),
    ("extension-build", "go-on", "ninja", rf"\[\d{{1,5}}/\d{{1,5}}\] {_COMPILER}"),
    ("extension-build", "end", "", r"Loading extension module (?P<g>\w{1,120})\.\.\."),
    ("extension-build", "end", "", r"No modifications detected for re-loaded extension module (?P<h>\w{1,120}),"),
    ("extension-build", "end", "", r"Time to load (?P<i>\w{1,120}) op: \d"),
    ("lock-wait", "begin", "", r".{0,200}Waited on lock file [\"'](?P<j>[^\"']{1,300})[\"'] for \d"),
    ("lock-wait", "begin", "", r".{0,80}waiting for baton release at (?P<k>\S{1,300})"),
    ("lock-wait", "begin", "", r"Still waiting to acquire lock on (?P<l>\S{1,300}) \(elapsed: \d"),
    ("lock-wait", "begin", "", r"Another process must be compiling (?P<m>[^\s,]{1,300})"),
    ("save", "begin", "checkpoint", r" {0,2}saving checkpoint at iteration {1,12}\d{1,9} to \S"),
    ("save", "end", "checkpoint", r" {0,2}successfully saved checkpoint (?:from|at) iteration {1,12}\d"),
    ("save", "begin", "checkpoint", r"(?:\[Torch\] )?Saving (?:model )?checkpoint(?: to|:) |\[Torch\] Saving \S"),
    ("save", "end", "checkpoint", r"\[Torch\] Saved \S"),
    ("preprocess", "begin", "datasets", r"> building train, validation, and test datasets "),
    ("preprocess", "go-on", "datasets", r" > building dataset index \.\.\."),
    ("preprocess", "end", "datasets", r"> finished creating \w{1,20} datasets \.\.\."),
    ("preprocess", "begin", "raw datasets", r"Loading raw datasets\.\.\."),
    ("download", "end", "weights", r"Time spent downloading weights for \S{1,200}: \d"),
)  # fmt: skip
_FORM = regex("|".join(f"(?P<n{number}>{text})" for number, (*_, text) in enumerate(_LINES)))
_NAMES = "abcdefghijklm"
_ITERATION = regex(
    r" ?(?:\[[\d :.-]{10,30}\] )?[Ii]teration {1,12}(?P<done>\d{1,9}) {0,2}/ {0,12}(?P<total>\d{1,9})\b"
)

MARKERS = (
    *("DeepGEMM JIT ", "torch.compile", "Dynamo bytecode", "Compiling a graph for ", "flashinfer.jit: "),
    *("Autotuning process", "Triton autotuning", "AUTOTUNE ", "[aiter] ", "> compiling ", ">>> done with "),
    *("Build TensorRT engine", "Total time of building", "graph begin.", "graph end.", "Capturing cudagraphs"),
    *("CUDA graph warmup for", "Cache size after", "Very slow compile?", "] The operation took "),
    *("Graph capturing finished", "as PyTorch extensions root", "extension module ", "Time to load "),
    *(
        "Waited on lock file",
        "waiting for baton release",
        "Still waiting to acquire",
        "Another process must be comp",
    ),
    *(
        "> building train, validation",
        " > building dataset index",
        "> finished creating ",
        "Loading raw datasets...",
    ),
    *("saving checkpoint at it", "successfully saved checkpoint", "Saving checkpoint", "Saving model checkpoint"),
    *("[Torch] Saving ", "[Torch] Saved ", "Time spent downloading weights"),
    *("Start compiling function", "Cache the graph ", "compiled graph"),
)
BUSY = ("nvcc", "c++ ", "iteration ", "Iteration ")


class Told(NamedTuple):
    """One point of one activity; done and total where its steps are counted."""

    activity: Activity
    point: Point
    what: str
    steps: tuple[int, int] | None = None


def told(text: str) -> Told | None:
    """What a line without its prefixes tells of some work; None for any other line."""
    match = _FORM.match(text)
    if match is None:
        iteration = _ITERATION.match(text)
        if iteration is None or int(iteration["total"]) == 0:
            return None
        return Told("train", "go-on", "iteration", (int(iteration["done"]), int(iteration["total"])))
    number = next(number for number in range(len(_LINES)) if match[f"n{number}"] is not None)
    activity, point, what, _ = _LINES[number]
    return Told(activity, point, what or next(match[name] for name in _NAMES if match[name]))
