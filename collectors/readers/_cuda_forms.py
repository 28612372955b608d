"""The forms of line in which programs print an error of CUDA. No reader."""

from __future__ import annotations

from typing import Literal, NamedTuple, TypeAlias

from collectors.readers._regex import regex
from kb.facts.environment import CudaErrorClass

Speaker: TypeAlias = Literal["torch", "nccl-tests", "framework", "cuda-sample", "other"]


class Found(NamedTuple):
    """What one line says: the whole text, and what names the error in it."""

    text: str
    said: str
    reported_by: Speaker
    number: int | None = None
    name: str | None = None
    class_: CudaErrorClass | None = None
    at_start: bool = False
    uses_following: bool = False


_RAISED = r"(?:E {1,8})?(?:[A-Za-z_][\w.]{0,80}(?:Error|Exception)(?:\(\w{1,40}\))?: |\s{0,8}what\(\): {1,4})"
_LED = rf"(?:{_RAISED}|.{{0,300}}UserWarning: )"
_LED_INIT = _LED + "(?:CUDA initialization: )?"
_SAID = "(?P<said>.{3,200})"
_QUOTED = r"'(?P<said>[^']{3,160})'"
_PLACE = r"\S{1,300}:\d{1,6}"
_NUMBER = r"(?P<number>\d{1,3})"
_BEFORE_NAME = r"(?:Error: |DriverError\(|results in |\[|cuInit: |error: |failed: |returned )"
# Each form: whether it belongs to the start of CUDA, what it means where the form tells, the line.
_Form: TypeAlias = tuple[bool, CudaErrorClass | None, str]
_OF_TORCH: tuple[_Form, ...] = (
    (True, "driver-too-old", _LED_INIT + "The NVIDIA driver on your system is too old"),
    (True, "driver-missing", _LED_INIT + "Found no NVIDIA driver on your system"),
    (True, "unknown", f"(?:{_LED_INIT})?CUDA unknown error - this may be due to"),
    (
        True,
        None,
        rf"{_LED}.{{0,300}}?[Ee]rror from cudaGetDeviceCount\(\).{{0,200}}?Error {_NUMBER}: (?P<said>[^(]{{3,}})",
    ),
    (True, None, f"{_LED}CUDA initialization: {_SAID}"),
    (True, "no-device", _RAISED + "No CUDA GPUs are available"),
    (True, "cpu-build", r"(?:.{0,200}: )?Torch not compiled with CUDA enabled\W{0,3}$"),
    (True, "fork", _RAISED + "Cannot re-initialize CUDA in forked subprocess"),
    (True, "initialization", _RAISED + "CUDA driver initialization failed, you might not have a CUDA gpu"),
    (False, None, f"{_RAISED}CUDA (?:driver )?error: {_SAID}"),
    (False, None, rf".{{0,300}}terminated with exception: (?:\[[^\]]{{1,60}}\] )?CUDA error: {_SAID}"),
    (False, None, rf"{_RAISED}cuda runtime error \({_NUMBER}\) : (?P<said>.{{3,160}}?)(?: at /|$)"),
    (False, None, rf"THCudaCheck FAIL file=\S{{1,300}} line=\d{{1,6}} error={_NUMBER} : {_SAID}"),
)
_OF_FRAMEWORKS: tuple[_Form, ...] = (
    (False, None, rf"(?:.{{0,200}}\s)?Triton Error \[CUDA\]: {_SAID}"),
    (False, None, f"(?:{_RAISED})?Failed: (?:Cuda|CUDA) error {_PLACE} {_QUOTED}"),
    # TensorRT 5 to 10, by its own logger and by the one of whoever calls it.
    (True, None, rf".{{0,200}}?CUDA initialization failure with error:? {_NUMBER}\b"),
    (
        False,
        None,
        r".{0,300}?Error Code \d{1,2}: (?:Cuda|CUDA) (?:Runtime|Driver) \((?P<said>[^)]{3,160})\)",
    ),
)
_OF_SAMPLES: tuple[_Form, ...] = (
    (False, None, f"Cuda failure {_PLACE}:? {_QUOTED}"),
    (False, None, rf"CUDA error at {_PLACE} code={_NUMBER}\((?P<name>\w{{3,60}})\)"),
    (False, None, r"Failed to allocate device vector \w \(error code (?P<said>[^)]{3,120})\)!?"),
    (True, None, rf"cudaGetDevice(?:Count|Properties) returned {_NUMBER}\s*$"),
)
_CALL = r"cu[A-Z]\w{2,60}"
_OF_OFFLOADING: tuple[_Form, ...] = (  # OpenACC and OpenMP: NVIDIA HPC and PGI, GCC, LLVM
    (
        False,
        None,
        (
            rf"(?:Accelerator Fatal Error: )?call to {_CALL} returned error {_NUMBER}\b"
            r"(?: \((?P<name>CUDA_ERROR_[A-Z_]{3,60})\))?(?:: (?P<said>.{3,200}))?\s*$"
        ),
    ),
    (False, None, rf"libgomp: {_CALL} error: {_SAID}"),
    (False, None, rf"\"PluginInterface\" error: .{{0,300}}?[Ee]rror in {_CALL}: {_SAID}"),
)
_KNOWN_TEXT = (
    r"(?P<said>operation not (?:supported|permitted)"
    r"|invalid (?:argument|device ordinal|resource handle|device context)"
    r"|out of memory|unknown error|system not yet initialized|no CUDA-capable device is detected"
    r"|initialization error|an illegal memory access was encountered|peer access [\w ]{3,60})"
)
_OF_OTHERS: tuple[_Form, ...] = (
    (False, None, rf"(?:[\w.]{{1,80}}Error: )?(?P<name>cudaError[A-Z]\w{{2,60}}): {_SAID}"),
    (False, None, rf"{_RAISED}.{{0,300}}?[=:('] ?(?P<name>CUDA_ERROR_[A-Z_]{{3,60}}|cudaError[A-Z]\w{{2,60}})"),
    (
        False,
        None,
        rf"{_RAISED}CUDA (?:runtime|driver) API error (?P<name>(?:CUDA_ERROR_|cudaError)\w{{2,60}}) \({_NUMBER}\)",
    ),
    (False, None, rf".{{0,200}}?{_BEFORE_NAME}(?P<name>CUDA_ERROR_[A-Z_]{{3,60}})"),
    (False, None, rf"(?:C\+\+ exception with description \")?{_PLACE}: Cu failure: (?P<said>[\w ]{{3,80}})"),
    # TensorFlow has no name for what its stand-in for a missing libcuda gives (303), nor for a -1.
    (True, "driver-missing", r".{0,200}[Ff]ailed call to cuInit: UNKNOWN ERROR \(303\)"),
    (True, "other", r".{0,200}[Ff]ailed call to cuInit: UNKNOWN ERROR \(-1\)"),
    (True, None, r".{0,200}[Ff]ailed call to cuInit: (?:\w{3,20}: CUDA error: )?(?P<said>[\w .:]{3,120})"),
    (False, None, rf"(?:.{{0,120}}:\s{{1,4}})?CUDA (?:failure|error) {_NUMBER}: (?P<said>[\w ]{{3,120}})"),
    (False, None, rf"CUDA error {_NUMBER} at \S{{1,120}}:\d{{1,6}}: (?P<said>[\w ]{{3,120}})"),  # ggml to 2024
    (
        False,
        None,
        r"CUDA Error: (?:Prev: )?(?P<said>CUDA driver version is insufficient[\w ]{3,60})\s*$",
    ),  # darknet
    (False, None, rf"CUDA Error: (?:Prev: )?{_KNOWN_TEXT}\s*$"),
    (False, None, rf"{_RAISED}CUDART error: {_SAID}"),
    (True, None, r".{0,200}?ggml_cuda_init: failed to initialize CUDA: (?P<said>[\w ]{3,120})"),
    (True, None, r"Couldn't init CUDA: Error \(\S{1,100}\): (?P<said>[\w ]{3,120})"),
    (
        False,
        None,
        rf"{_RAISED}\({_NUMBER}, ['\"]Call to \w{{3,60}}\(.{{0,200}}\(Cu failure: (?P<said>[\w ]{{3,80}})",
    ),
)
_AV = r"(?:\[[^\]]{1,80}\] ){1,4}"
"""Who speaks, in libavutil: `[AVHWDeviceContext @ 0x55d0c8]`, before it those of the stream and decoder."""
_OF_PROGRAMS: tuple[_Form, ...] = (
    (True, None, rf"{_AV}\S{{0,60}}cuInit\(0\) failed -> (?P<name>CUDA_ERROR_[A-Z_]{{3,60}})"),
    (
        False,
        None,
        rf"{_AV}\S{{0,60}}cu[A-Z]\w{{2,60}}\(.{{0,300}}\) failed -> (?P<name>CUDA_ERROR_[A-Z_]{{3,60}})",
    ),
    (False, None, r"panic: (?P<name>CUDA_ERROR_[A-Z_]{3,60})\b"),
    (
        False,
        None,
        rf"(?:ERROR: )?CUDA error: (?P<said>[\w ,'-]{{3,120}}) \(code {_NUMBER}, ERROR_[A-Z_]{{3,60}}\)",
    ),
    (True, None, r".{0,2500}?nvidia-container-cli: initialization error: cuda error: (?P<said>[\w -]{3,80})"),
    (True, None, r".{0,120}could not start driver service: cuda error: (?P<said>[\w -]{3,80})"),
)
_INFERENCE = r"\[[\w-]{2,20}\](?:\[ERROR\])? ?(?:Assertion failed: )?"
"""FasterTransformer, TensorRT-LLM and TurboMind: `[TM][ERROR] `."""
_OF_CHECKS: tuple[_Form, ...] = (
    (
        False,
        None,
        rf"(?:{_RAISED})?{_INFERENCE}CUDA runtime error(?: in .{{1,200}}?)?: {_KNOWN_TEXT}",
    ),
    (
        False,
        None,
        rf"(?:{_RAISED}|.{{0,120}}: )?(?:cuda|cu)[A-Z]\w{{3,60}}(?:\(\))? failed(?: with error)?: {_KNOWN_TEXT}",
    ),
    (False, None, rf"(?:cuda|cu)[A-Z]\w{{3,60}}(?:\(\))?: {_KNOWN_TEXT}(?: \({_NUMBER}\))?\s*$"),
    (False, None, rf"GPU ?assert: {_KNOWN_TEXT}"),
    (
        False,
        None,
        rf".{{0,160}}?\[?(?:critical|error|fatal|FATAL|ERROR)\b.{{0,160}}?: {_KNOWN_TEXT} \({_NUMBER}\)\s*$",
    ),
    (False, None, rf"(?:{_RAISED}|.{{0,40}}: )?Error \({_PLACE}\): {_KNOWN_TEXT}"),  # gpu-burn
    (False, None, rf"(?:Fatal )?CUDA error at {_PLACE} ?: .{{0,200}}: (?P<name>cudaError[A-Z]\w{{2,60}})\s*$"),
    (
        True,
        None,
        r".{0,80}?\bcuInit\S{0,4}(?: (?:returned|failed|error|code|with|=|->)){1,4}:? (?P<number>[1-9]\d*)\b",
    ),
    (
        True,
        None,
        rf".{{0,300}}?library (?:init failure|failed to get device context):? {_NUMBER}\b",
    ),
)
_OF_NCCL_TESTS: tuple[_Form, ...] = (
    (False, None, rf"(?:[\w.-]{{1,100}}: )?Test CUDA failure \S{{1,80}}:\d{{1,6}} {_QUOTED}"),
)
_SPEAKERS: tuple[tuple[Speaker, tuple[_Form, ...]], ...] = (
    ("torch", _OF_TORCH),
    ("framework", _OF_FRAMEWORKS),
    ("cuda-sample", _OF_SAMPLES),
    ("nccl-tests", _OF_NCCL_TESTS),
    ("other", _OF_OFFLOADING),
    ("other", _OF_OTHERS),
    ("other", _OF_PROGRAMS),
    ("other", _OF_CHECKS),
)
_BY_FORM = tuple(
    (speaker, start, class_, regex(form)) for speaker, forms in _SPEAKERS for start, class_, form in forms
)
_RESULT = regex(r"-> (?P<said>.{3,120})$")

MARKERS = (
    *(
        "CUDA error",
        "CUDA Error: ",
        "CUDA driver error",
        "CUDA initialization",
        "cuda runtime error",
        "cudaGetDeviceCount",
    ),
    *(
        "NVIDIA driver on your system",
        "CUDA unknown error",
        "No CUDA GPUs are available",
        "not compiled with CUDA",
    ),
    *("CUDA in forked subprocess", "CUDA driver initialization failed", "THCudaCheck FAIL", "Triton Error [CUDA]"),
    *(
        "Failed: Cuda error",
        "Failed: CUDA error",
        "Cuda failure ",
        "Test CUDA failure",
        "allocate device vector",
        "cudaError",
    ),
    *("CUDA_ERROR_", "Cu failure: ", "call to cuInit", "CUDA failure ", "cudaGetDeviceProperties returned"),
    *("): system not yet init", "): operation not ", "): unknown error", "): invalid ", "): initialization err"),
    *("cuInit(0)", "cuInit returned", "cuInit failed", "cuInit error", "): no CUDA-capable", "): out of memory"),
    *(": operation not supported", ": operation not permitted", ": no CUDA-capable device is detected"),
    *(" failed: operation not", " failed: invalid ", " failed: system not", "GPUassert: ", "GPU assert: "),
    *("CUDA runtime error", "initialization error: cuda error: ", "start driver service: cuda error: "),
    *("library init failure", "library failed to get device context"),
    *("CUDA initialization failure with error", ": Cuda Runtime (", ": CUDA Runtime (", ": Cuda Driver ("),
    *("operation not supported (801)", "operation not permitted (800)", "system not yet initialized (802)"),
    *("CUDART error: ", "ggml_cuda_init: failed", "Couldn't init CUDA"),
    *("call to cu", "libgomp: cu", '"PluginInterface" error'),
)


def found_in(text: str, following: str) -> Found | None:
    """The error of a line without its prefixes; `following` is the line after it."""
    for speaker, start, class_, form in _BY_FORM:
        match = form.match(text)
        if match is None:
            continue
        named = match.groupdict()
        said = (named.get("said") or "").strip()
        result = _RESULT.match(following.strip()) if text.startswith("cudaGetDevice") else None
        whole = text.strip().rpartition("UserWarning: ")[2]
        whole = f"{whole} {following.strip()}" if result else whole
        return Found(
            text=whole,
            said=result["said"] if result else said,
            reported_by=speaker,
            number=int(named["number"]) if named.get("number") else None,
            name=named.get("name"),
            class_=class_,
            at_start=start or "THCGeneral" in text or "call to cuInit" in text,
            uses_following=result is not None,
        )
    return None
