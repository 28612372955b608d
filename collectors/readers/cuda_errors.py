"""Errors of CUDA calls as programs print them: PyTorch, frameworks, nccl-tests, CUDA samples, bindings.

    RuntimeError: CUDA error: no kernel image is available for execution on the device
    UserWarning: CUDA initialization: Unexpected error from cudaGetDeviceCount(). … Error 802: system not yet initialized
    cudaGetDeviceCount returned 802
    Accelerator Fatal Error: call to cuMemAlloc returned error 2 (CUDA_ERROR_OUT_OF_MEMORY): Out of memory
    AssertionError:
    The NVIDIA driver on your system is too old (found version 10000).

Follows PyTorch 1.0 to 2.14, the checks of CUDA's samples, CuPy, Numba, TensorFlow, Triton, vLLM, SGLang, and the OpenACC and
OpenMP of NVIDIA HPC (and PGI), GCC 7 to 15 and LLVM 16 to 22. What NCCL warns of is told by NcclCudaFailure. A sentence
that mentions an error gives nothing: the form must begin its line.
"""  # noqa: E501 - lines of the log as they are

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal

from collectors.readers._cuda_codes import by_name, by_number, by_text
from collectors.readers._cuda_forms import MARKERS, Found, found_in
from collectors.readers._regex import regex
from collectors.readers.launcher_prefixes import after_progress, without_launcher, without_stamp
from collectors.readers.run_start import RUN_MARKERS, START_MARKERS, of_last_run, shows_start
from kb.evidence import Reader, Reading, Section
from kb.facts.environment import CudaError, CudaErrorClass

_IN_START = regex(r"_cuda_init\(|in _lazy_init|cuInit|cudaGetDeviceCount|torch\._C\._cuda_getDeviceCount")
_AT_START: frozenset[CudaErrorClass] = frozenset(
    (
        *("initialization", "stub-library", "driver-too-old", "driver-missing", "not-ready", "driver-mismatch"),
        *("compat-not-supported", "no-device", "cpu-build", "fork", "mps"),
    )
)
"""Errors that only the start of CUDA gives."""
_NUMBERS: dict[CudaErrorClass, int] = {"driver-too-old": 35, "unknown": 999, "no-device": 100, "initialization": 3}
_DRIVER_CUDA = regex(r"found version (?P<number>\d{4,6})\)")
_RAISED_ABOVE = regex(r"(?P<error>[A-Za-z_]\w{0,60}Error:)\s{0,4}$")
_FRAMES = 8
_TRACEBACK = 24
"""Lines of a traceback above an error, up to the heading that names the process of multiprocessing."""
_CHILD = regex(r"Process (?P<how>|Fork|ForkServer|Spawn)(?:Process|PoolWorker)-\d[\d:-]{0,12}:\s*$")
_HOW: dict[str, Literal["forked", "spawned", "child"]] = {"": "child", "Fork": "forked"}
_MOST_LINE = 3000
_MOST_SORTS = 300
_NCCL = ("NCCL WARN", "NCCL INFO")


@dataclass
class _Sum:
    """One error of one rank and its repetitions."""

    found: Found
    code: int | None
    index: int
    end: int
    count: int = 0


def read(section: Section) -> Iterator[Reading]:
    """CudaError of the last run for each rank, meaning, and time of it (start of CUDA or later)."""
    found = dict(_errors(section))
    recent = of_last_run(section, found)
    sums: dict[tuple[str | None, CudaErrorClass, str], _Sum] = {}
    for index, (rank, error) in found.items():
        if index not in recent:
            continue
        class_, code = _meaning(error)
        is_start = error.at_start or class_ in _AT_START or _is_raised_at_start(section, index)
        where = "init" if is_start else "runtime"
        key = (rank, class_, where)
        if key in sums or len(sums) < _MOST_SORTS:
            end = index + 1 if error.uses_following else index
            sums.setdefault(key, _Sum(error, code, index, end)).count += 1
    for (rank, class_, where), one in sums.items():
        fact = CudaError.model_validate(
            {
                "class": class_,
                "code": one.code,
                "where": where,
                "reported_by": one.found.reported_by,
                "rank": rank,
                "child": _child(section, one.index) if class_ == "initialization" else None,
                "driver_cuda": _driver_cuda(one.found.text),
                "text": one.found.text[:300],
                "count": one.count,
            }
        )
        yield section.observe(fact, one.index, one.end)
    whole = shows_start(section)
    if sums or whole:
        yield section.looked(CudaError, complete=whole)


def _errors(section: Section) -> Iterator[tuple[int, tuple[str | None, Found]]]:
    """Each line that is an error: where it stands, of which rank, and what it says."""
    for index, whole in section.matching(*MARKERS):
        if any(word in whole for word in _NCCL):
            continue
        launched = without_launcher(after_progress(whole))
        logged = without_stamp(launched.text)
        following = section.lines[index + 1][:300] if index + 1 < len(section.lines) else ""
        error = found_in(_raised_above(section, index) + logged.text[:_MOST_LINE], following)
        if error is not None:
            yield index, (logged.rank or launched.rank, error)


def _raised_above(section: Section, index: int) -> str:
    """`AssertionError: ` where the line above holds no more: PyTorch 1.0 to 1.4 began its message on the next."""
    above = without_launcher(section.lines[index - 1][:400]).text if index else ""
    match = _RAISED_ABOVE.match(above)
    return f"{match['error']} " if match else ""


def _is_raised_at_start(section: Section, index: int) -> bool:
    """Whether the frames of the traceback right above belong to the start of CUDA."""
    for before in range(index - 1, max(index - _FRAMES, -1), -1):
        frame = without_launcher(section.lines[before][:400]).text
        if not frame.startswith("  "):
            return False
        if _IN_START.search(frame):
            return True
    return False


def _child(section: Section, index: int) -> Literal["forked", "spawned", "child"] | None:
    """How the process of multiprocessing was begun whose traceback ends here; None for any other."""
    for before in range(index - 1, max(index - _TRACEBACK, -1), -1):
        line = without_launcher(section.lines[before][:400]).text
        heading = _CHILD.match(line)
        if heading is not None:
            return _HOW.get(heading["how"], "spawned")
        if not line.startswith(("  ", "Traceback (most recent call last)")):
            return None
    return None


def _meaning(found: Found) -> tuple[CudaErrorClass, int | None]:
    """What the error means, by its number, its name, or its text."""
    if found.class_ is not None:
        return found.class_, _NUMBERS.get(found.class_)
    code = by_name(found.name) if found.name else None
    code = code or (by_number(found.number) if found.number is not None else None) or by_text(found.said)
    if code is None:
        return "other", found.number
    return code.class_, found.number if found.number is not None else code.number


def _driver_cuda(text: str) -> str | None:
    """`found version 12080` is CUDA 12.8."""
    match = _DRIVER_CUDA.search(text)
    return f"{int(match['number']) // 1000}.{int(match['number']) % 1000 // 10}" if match else None


READER = Reader(
    "cuda-errors",
    read,
    markers=(*MARKERS, *START_MARKERS),
    lines=(*MARKERS, *RUN_MARKERS),
    context=(_TRACEBACK, 1),
)
