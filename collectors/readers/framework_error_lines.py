"""The fixed words in which frameworks complain, each with the class of its meaning. No reader.

PyTorch, vLLM, SGLang, TensorRT-LLM, Triton (language and server), DeepSpeed, Megatron-LM, Accelerate, Ray,
FlashAttention, FlashInfer, HAMi, Faiss, llama.cpp, Dorado. `wanted` and `available` are the two numbers that did
not fit.
"""

from __future__ import annotations

import re
from typing import NamedTuple

from collectors.readers._regex import regex
from kb.facts.problems import FrameworkErrorClass

_W = r"(?P<wanted>\d{1,15})"
_A = r"(?P<available>\d{1,15})"
_ANY = r".{0,200}"
_OF = (
    r".{0,40}?(?:(?:tp|ep|pp|dp|cp|sp|tensor|expert|pipeline|data|context|sequence|moe)[\w. -]{0,30}"
    r"(?:size|degree|parallel|ranks?)\b|\bworld[ _]size|number of (?:GPUs|ranks|devices)|num_gpus)"
)
"""A number of processes, as Megatron-LM, vLLM, SGLang and DeepSpeed call it."""
_HEADS = r".{0,200}\bnum_(?:\w{1,12}_)?heads"
_SPLIT = r"(?:mp_size|tp|tensor|world|model|parallel)"

_LINES: tuple[tuple[FrameworkErrorClass, str], ...] = (
    ("memory-unbalanced", r"The memory capacity is unbalanced\. "),
    ("no-memory-for-cache", r"No available memory for the cache blocks|Not enough memory\. Please try to incr"),
    ("no-memory-for-cache", r"Not enough memory to (?:initialize|allocate) the (?:KV|mem)"),
    ("kv-cache-too-small", rf"The model's max seq len \({_W}\) is larger than the maximum number {_ANY}\({_A}\)"),
    ("kv-cache-too-small", rf"To serve at least one request with the models?'s max seq len \({_W}\)"),
    ("gpu-memory-occupied", r"Free memory on device .{0,60}on startup is less than desired GPU memory util"),
    ("weights-do-not-fit", r"Failed to load model - not enough GPU mem|Some modules are dispatched on the CPU or"),
    ("host-memory-kill", rf"{_ANY}(?:running low on memory|killed due to memory pressure \(OOM\))"),
    ("cuda-after-fork", r"Cannot re-initialize CUDA in forked subprocess"),
    ("cuda-after-fork", r"CUDA has been initialized before the `notebook_launcher` could create a forked sub"),
    ("cuda-after-fork", r"To launch a multi-GPU training from your notebook, the `Accelerator` should only"),
    ("spawn-without-main", r"An attempt has been made to start a new process before the(?: current proc|\s*$)"),
    ("invalid-device-ordinal", r"CUDA (?:error|failure).{0,20}: invalid device ordinal|Invalid device id\b"),
    ("invalid-device-ordinal", r"(?:cuda runtime error|CUDA driver error).{0,20}: invalid device ordinal"),
    ("invalid-device-ordinal", rf"device >= 0 && device < num_gpus INTERNAL {_ANY}device={_W}, num_gpus={_A}"),
    ("invalid-device-ordinal", r"device >= 0 && device < num_gpus INTERNAL ASSERT"),
    ("invalid-device-ordinal", rf"Invalid CUDA device index ['\"]{_W}['\"] {_ANY} there are {_A} visible CUDA"),
    ("invalid-device-ordinal", rf"{_ANY}Invalid GPU device {_W}(?! selected)\b"),
    ("invalid-device-ordinal", rf"(?:\w{{3,60}}: )?invalid value for main_gpu: {_W} \(available devices: {_A}\)"),
    ("no-visible-gpu", r"No CUDA GPUs are available|.{0,40}no CUDA-capable device is detected"),
    ("no-visible-gpu", r"Failed to infer device type|No accelerator \(.{3,60}\) is available"),
    ("too-few-gpus", rf"(?:World|Tensor parallel) size \({_W}\) (?:is|cannot be) larger than {_ANY}GPUs \({_A}\)"),
    ("too-few-gpus", rf"Tensor parallel size \({_W}\) exceeds available \w{{2,8}}s \({_A}\)"),
    ("too-few-gpus", r"The number of required \w{2,8}s exceeds the total number of available \w{2,8}s in the pl"),
    ("too-few-gpus", r"The number of required \w{2,8}s exceeds the total number of available \w{2,8}s\.?\s*$"),
    ("placement-group-waits", rf"Waiting for creating a placement group of specs for {_W} seconds"),
    (
        "placement-group-waits",
        r"\(autoscaler[ +\w]{0,20}\) (?:Warning|Error): .{0,40}following resource request cannot be scheduled",
    ),
    ("placement-group-waits", r"No available node types can fulfill resource request"),
    ("too-few-gpus", r"You requested gpu: \[|Ray does not allocate any GPUs on the driver node"),
    ("too-few-gpus", r"Current node has no GPU available|No slot '\d{1,4}' specified on host"),
    ("heads-not-divisible", rf"Total number of attention heads \({_W}\) must be divisible by {_ANY}\({_A}\)"),
    ("heads-not-divisible", rf"{_HEADS} \(?{_W}\)? must be divisible by {_SPLIT}\w{{0,30}} \(?{_A}"),
    ("heads-not-divisible", rf"{_HEADS}\b.{{0,60}} divisible by .{{0,30}}{_SPLIT}"),
    ("heads-not-divisible", rf"{_ANY}attention heads.{{0,80}} divisible by"),
    ("world-size-not-divisible", rf"[Ww]orld[ _]size:? \(?{_W}\)? is not divisible by (?:\w{{1,40}} )?\(?{_A}"),
    ("world-size-not-divisible", r"[Ww]orld[ _]size.{0,60} divisible by|tp_size must be divisible by number of"),
    ("world-size-not-divisible", r"The number of (?:GPUs per node|tensor parallelism) is not divisible by the n"),
    ("size-not-divisible", rf"{_W} is not divisible by {_A}\s*$"),
    ("size-not-divisible", rf"{_ANY}(?:must|should|has to) be (?:evenly )?(?:divisible by|a multiple of){_OF}"),
    ("size-not-divisible", rf"{_ANY} is not divisible by {_OF}"),
    ("size-not-divisible", r"The input size is not aligned with the quantized weight shape"),
    ("size-not-divisible", rf"Weight \w{{3,60}} = {_W} is not divisible by {_ANY} = {_A}"),
    ("batch-sizes-disagree", r"Check batch related parameters\. train_batch_size is not equal to "),
    ("engine-world-size", rf"Engine world size \({_W}\) != Runtime world size \({_A}\)"),
    ("engine-world-size", r"\[TensorRT-LLM\]\[ERROR\] Assertion failed: .{0,99}(?:MPI siz|mpiSiz|world ?[sS]iz)"),
    ("collectives-differ", r"Detected mismatch between collectives on ranks\."),
    ("collectives-differ", rf"DDP expects same model across all ranks, but Rank {_ANY} params, while rank"),
    ("collectives-differ", r"\[\d{1,7}\]: params\[\d{1,7}\] in this process with (?:sizes|strides) \["),
    ("collectives-differ", r"\[?.{0,200}op\.preamble\.length <= op\.nbytes"),
    ("launcher-not-used", r"Error initializing torch\.distributed using env:// rendezvous: environment v"),
    ("launch-option", r"You need to use at least 2 processes to use `--multi_gpu`"),
    ("launch-option", r"(?:[\w./-]{1,120}: )?error: (?:unrecognized arguments: |argument -|ambiguous option: )"),
    ("launch-option", r"(?:[\w./-]{1,120}: )?error: the following arguments are required: |Error: No such op"),
    ("launcher-login", rf"Using hostfile at {_ANY} but host=\S{{1,100}} was not reachable via ssh"),
    ("launcher-login", r"(?!git@)(?:\S{1,100}: (?!git@)){0,2}Permission denied \((?:publickey|passw|gss)"),
    ("launcher-login", r"(?:\S{1,100}: )?Host key verification failed\.\s*$"),
    ("srun-not-used", r"(?:HINT: )?The `srun` command is available on your system but is not used"),
    ("slurm-tasks-differ", rf"You set `\w{{3,20}}={_W}` in .{{3,120}}--ntasks-per-node={_A}` does not"),
    ("launcher-tool-missing", r"\S{1,200}: (?:line \d{1,6}: )?(?:scontrol|srun|mpirun): (?:command )?not found"),
    ("unsupported-quantization", rf"{_ANY}for the current GPU\. Minimum capability: {_W}\. .{{0,40}}: {_A}"),
    ("unsupported-quantization", r"Quantization method specified in the model config \(|Unknown quantization me"),
    ("unsupported-quantization", r"\S{3,40} is not supported for quantization method "),
    ("gpu-too-old-for-dtype", r"Bfloat16 is only supported on GPUs with compute capability of at least"),
    ("gpu-too-old-for-dtype", rf"{_ANY}type fp8e4nv not supported in this architecture"),
    ("unsupported-model", r"Model architectures \[.{1,120}\] (?:are not supported for now|failed to be ins)"),
    ("unsupported-model", r"The checkpoint you are trying to load has model type `.{1,60}` but Transformers"),
    ("remote-code-refused", rf"{_ANY}(?:contains custom code which must be|requires you to execute the )"),
    ("dataloader-shm", r"DataLoader worker \(pid\S{0,4} [\d, ]{1,80}\) is killed by signal: Bus error"),
    ("dataloader-shm", r"Unexpected bus error encountered in worker\. This might be caused by insufficient"),
    ("dataloader-shm", r"unable to write to file </torch_"),
    ("dataloader-killed", r"DataLoader worker \(pid\S{0,4} [\d, ]{1,80}\) (?:is killed by|exited unexpectedly)"),
    ("dataloader-timeout", rf"DataLoader timed out after {_W}"),
    ("too-many-open-files", rf"{_ANY}Too many open files|received 0 items of ancdata"),
    ("process-limit", r"can't start new thread|OpenBLAS blas_thread_init: pthread_create failed"),
    ("shm-too-small", r"\[Errno 28\] No space left on device: '/(?:dev/shm/|psm_|torch_)"),
    ("custom-op-missing", r"'_OpNamespace' '_C\w{0,40}' object has no attribute|Failed to import from vllm\._C"),
    ("custom-op-missing", r"No module named 'vllm\._C|\[sgl_kernel\] CRITICAL: Could not load any common_ops"),
    ("undefined-symbol", r"(?:ImportError|OSError): /\S{1,300}\.so[\w.-]{0,80}: undefined symbol: \w"),
    ("packages-disagree", r"Detected that PyTorch and \w{5,20} were compiled with different CUDA"),
    ("packages-disagree", r"Couldn't load custom C\+\+ ops\. This can happen if your PyTorch and torchvision"),
    ("packages-disagree", r"operator torchvision::nms does not exist"),
    ("packages-disagree", r"The detected CUDA version \([\d.]{3,8}\) mismatches the version that was used to com"),
    ("torch-cpu-build", r"Torch not compiled with CUDA enabled"),
    ("nccl-unavailable", r"Distributed package doesn't have NCCL built in|Failed to load NCCL library from "),
    ("nccl-unavailable", r"ProcessGroupNCCL is only supported with GPUs, no GPUs found!"),
    ("no-kernel-image", r"CUDA (?:error|failure).{0,20}: (?:no kernel image is available|named symbol not found)"),
    ("no-kernel-image", rf"{_ANY} with CUDA capability sm_{_W} is not compatible with the current PyTorch"),
    ("kernel-image-invalid", r"(?:Triton Error \[CUDA\]|CUDA error): device kernel image is invalid"),
    ("ptxas-failure", r"ptxas (?:fatal|.{0,200}error) {1,4}: ?|Internal Triton PTX codegen|`ptxas` failed with"),
    ("triton-failure", r"Triton Error \[CUDA\]: |PassManager::run failed|Cannot find a working triton inst"),
    ("triton-failure", rf"out of resource: .{{3,40}}, Required: {_W}, Hardware limit: {_A}"),
    ("compiler-missing", r"Failed to find C compiler|CUDA_HOME environment variable is not|Could not find nvcc"),
    ("compiler-missing", r"Ninja is required to load C\+\+ extensions|.{0,80}nvcc: not found"),
    ("attention-unsupported", r"FlashAttention only supports |FlashAttention forward only supports head dim"),
    ("attention-unsupported", r"FlashInfer requires |Selected backend .{1,80} is not valid for this config"),
    ("attention-unsupported", r"FlashAttention v3 Backend requires SM"),
    ("cuda-interposer", r"\[(?:HAMI-core|4pdvGPU|vGPU|softmig) (?:ERROR|Warn|Msg|Info)\s?\("),
    ("cuda-interposer", r"ERROR: ld\.so: object '\S{0,200}lib(?:vgpu|vcuda|orion|nvshare|gemhook)\w{0,20}\.so"),
    ("cuda-interposer", rf"{_ANY}symbol lookup error: \S{{0,200}}lib(?:vgpu|vcuda|orion)\w{{0,20}}\.so"),
    ("cuda-interposer", r"/tmp/cuda-control/src/\w{1,30}\.c:\d{1,5} |\[NVSHARE\]\[\w{4,5}\]: "),  # noqa: S108 - as built
    ("cuda-interposer", r"(?:.{0,40}\[ERROR\] )?Sorry, \w{3,60}\(\) is not implemented in the current version"),
    ("cuda-interposer", r"VirtaiTech Resource"),
    ("mps-failure", rf"{_ANY}(?:MPS client failed to connect|MPS server is not ready|between the MPS server)"),
    ("mps-failure", rf"{_ANY}resources required to (?:create MPS client|support device connections) have been"),
    ("scheduler-watchdog", rf"(?:\w{{1,20}} )?[Ww]atchdog timeout \(self\.watchdog_timeout={_W}"),
    ("worker-silent", rf"No available shared memory broadcast block found in {_W} sec"),
    ("health-check-failed", rf"Health check failed\. Server couldn't get a response {_ANY}last {_W} sec"),
    ("engine-dead", r"EngineCore encountered an issue|Background loop has errored already|MQLLMEngine terminated"),
    ("engine-dead", r"RPC call to \w{1,60} timed out|Rank \d{1,6} scheduler died"),
    ("model-load-failed", r"\"?failed to load '[\w.-]{1,80}' version \d{1,4}: "),
    ("custom-all-reduce-off", rf"Custom allreduce is disabled due to an unsupported world size: {_W}"),
    ("custom-all-reduce-off", r"Custom allreduce is disabled because|Setup Custom allreduce failed with "),
    ("p2p-refused-for-gpu-model", r"Using RTX (?:3090 or )?4000 series (?:doesn't|which doesn't) support faster"),
)  # fmt: skip
_FORMS = tuple((class_, regex(text)) for class_, text in _LINES)
_SPECULATIVE = regex(r".{0,300}(?:[Ss]peculative|num_draft_tokens|draft model|[Ee]agle)")
_OF_VALUES = ("ValueError", "AssertionError", "NotImplementedError", "ValidationError")


class Complaint(NamedTuple):
    """The class of a line, and the two numbers that it names."""

    class_: FrameworkErrorClass
    wanted: int | None
    available: int | None


def complaint(error: str | None, text: str) -> Complaint | None:
    """What a message is about; `error` is the exception that it is the message of, where it is one."""
    for class_, form in _FORMS:
        match = form.match(text)
        if match is not None:
            return Complaint(class_, _number(match, "wanted"), _number(match, "available"))
    if error is not None and error.rpartition(".")[2] in _OF_VALUES and _SPECULATIVE.match(text):
        return Complaint("speculative-option", None, None)
    return None


def _number(match: re.Match[str], name: str) -> int | None:
    text = match.groupdict().get(name)
    return int(text) if text else None
