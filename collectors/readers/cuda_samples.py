"""Programs of NVIDIA's CUDA samples by which people try whether CUDA works, and how they ended.

    [Vector addition of 50000 elements]
    CUDA kernel launch with 196 blocks of 256 threads
    Test PASSED

Follows vectorAdd, deviceQuery and bandwidthTest of cuda-samples 5.0 to 13.1, also as NVIDIA's container images
cuda-sample and vectorAdd bring them. A verdict without a line of the program's own before it gives nothing: other
tests end in the same words. A run that is cut before its verdict gives nothing either.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Literal, TypeAlias

from collectors.readers._regex import regex
from collectors.readers.launcher_prefixes import without_launcher
from kb.evidence import Reader, Reading, Section
from kb.facts.environment import CudaSampleResult

_Sample: TypeAlias = Literal["vectorAdd", "deviceQuery", "bandwidthTest"]
_Outcome: TypeAlias = Literal["passed", "failed"]

_BEGINS: tuple[tuple[str, _Sample], ...] = (
    ("[Vector addition of ", "vectorAdd"),
    ("CUDA kernel launch with ", "vectorAdd"),
    ("CUDA Device Query (", "deviceQuery"),
    ("deviceQuery, CUDA Driver = ", "deviceQuery"),
    ("[CUDA Bandwidth Test] - Starting", "bandwidthTest"),
    ("bandwidthTest-H2D-", "bandwidthTest"),
)
_VERDICT = regex(
    r"(?P<passed>Test PASSED|Result = PASS)\s*$|(?P<failed>Result = FAIL|Result verification failed at element \d)"
)
_OF_VECTOR_ADD = ("Test PASSED", "Result verification")
_MARKERS = ("Test PASSED", "Result = PASS", "Result = FAIL", "Result verification failed at element")


def read(section: Section) -> Iterator[Reading]:
    """CudaSampleResult for each program, of its last run."""
    ended: dict[_Sample, tuple[_Outcome, int]] = {}
    last: _Sample | None = None
    for index, whole in section.matching(*_MARKERS, *(words for words, _ in _BEGINS)):
        line = without_launcher(whole[:300]).text.strip()
        sample = next((name for words, name in _BEGINS if line.startswith(words)), None)
        if sample is not None:
            last = sample
            continue
        verdict = _VERDICT.match(line)
        if verdict is None or last is None or (last == "vectorAdd") != line.startswith(_OF_VECTOR_ADD):
            continue
        ended[last] = ("passed" if verdict["passed"] else "failed", index)
        last = None
    for name, (outcome, end) in ended.items():
        yield section.observe(CudaSampleResult(sample=name, outcome=outcome), end)
    if ended:
        yield section.looked(CudaSampleResult, complete=False, reason="not-collected")


READER = Reader("cuda-samples", read, markers=_MARKERS)
