"""Small tests of GPUs that say themselves whether they passed: CUDA's samples, gpu-burn, gpud's scan.

    Result = PASS                                             deviceQuery, bandwidthTest, matrixMul
    Test PASSED                                               vectorAdd
      Relative difference: 2.048279E-07                       simpleMultiGPU
    Tested 2 GPUs:
            GPU 0: OK
    ✔ NVML persistence mode is enabled (nvidia-persistenced running false)

Follows the CUDA samples 9 to 12.8, gpu-burn 0.7 to 1.1 and gpud 0.1 to 0.4. A sentence that quotes a verdict gives
nothing, nor does a tick of another program: a scan must speak of NVML or of Xids.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Literal, TypeAlias

from collectors.readers._regex import regex
from collectors.readers.launcher_prefixes import without_launcher
from kb.evidence import Reader, Reading, Section
from kb.facts.diagnostics import GpuSelfTest

_Test: TypeAlias = Literal["cuda-sample", "gpu-burn", "gpud-scan"]

_SAMPLE = regex(
    r"(?:Result = (?P<result>PASS|FAIL)|Test (?P<test>PASSED|FAILED|passed|failed)!?)\s*$"
    r"|Result verification failed at element (?P<element>\d{1,12})"
)
_VERDICTS = (
    *("Result = ", "Test PASSED", "Test FAILED", "Test passed", "Test failed"),
    "Result verification failed at element",
)
_BEGINS = (
    *("[Vector addition of ", "CUDA kernel launch with ", "CUDA Device Query (", "deviceQuery, CUDA Driver = "),
    *("[CUDA Bandwidth Test] - Starting", "bandwidthTest-H2D-", "[Matrix Multiply Using CUDA]"),
)
"""Lines of the samples' own: other programs' tests end in the same words."""
_OF_VECTOR_ADD = _BEGINS[:2]
"""It says `Test PASSED`, and all others `Result = PASS`."""
_COMMAND = regex(
    r".{0,300}?\b(?:vectorAdd|cuda-sample|deviceQuery|bandwidthTest|matrixMul|simple[A-Z]\w{1,30}"
    r"|p2pBandwidthLatencyTest)\b"
)
_DIFFERENCE = regex(r"  Relative difference: (?P<difference>\d\.\d{1,8}[eE][+-]\d{2})\s*$")
_TOLERATED = 1e-5
"""What simpleMultiGPU itself lets pass."""
_BURNT = regex(r"Tested \d{1,3} GPUs:\s*$")
_OF_GPU = regex(r"\s{1,8}GPU \d{1,3}: (?P<state>OK|FAULTY)\s*$")
_TICK = regex(r"(?:\x1b\[\d{1,2}m)?(?P<mark>[✔✘])(?:\x1b\[0m)? (?P<text>\S.{3,300})")
_OF_GPUD = ("NVML ", "no xid found", "xid ", "successfully checked ecc", "row remapping")
_MOST_GPUS = 64


def read(section: Section) -> Iterator[Reading]:
    """GpuSelfTest for each sort of test, with how many of its parts passed and failed."""
    found: dict[_Test, list[tuple[int, bool]]] = {}
    if verdicts := list(_of_samples(section)):
        found["cuda-sample"] = verdicts
    for index, line in section.matching("  Relative difference: "):
        match = _DIFFERENCE.match(line[:200])
        if match is not None and section.has("Computing with "):
            found.setdefault("cuda-sample", []).append((index, float(match["difference"]) < _TOLERATED))
    for index, line in section.matching("Tested "):
        if _BURNT.match(line[:100]):
            found.setdefault("gpu-burn", []).extend(_burnt(section, index))
    if ticks := _ticks(section):
        found["gpud-scan"] = ticks
    for test, parts in found.items():
        passed = sum(good for _, good in parts)
        failed = len(parts) - passed
        outcome: Literal["passed", "failed"] = "failed" if failed or not passed else "passed"
        at = next((index for index, good in parts if not good), parts[0][0] if parts else 0)
        if parts:
            fact = GpuSelfTest(test=test, outcome=outcome, passed=passed, failed=failed)
            yield section.observe(fact, at)
    if any(found.values()):
        yield section.looked(GpuSelfTest, complete=False, reason="not-collected")


def _of_samples(section: Section) -> Iterator[tuple[int, bool]]:
    """The verdicts of samples: below a line of the same one, or what a command printed that names one."""
    is_named = _COMMAND.match((section.command or "")[:2000]) is not None
    began: str | None = None
    for index, whole in section.matching(*_VERDICTS, *_BEGINS):
        line = without_launcher(whole[:300]).text
        began = next((begin for begin in _BEGINS if line.startswith(begin)), began)
        match = _SAMPLE.match(line)
        if match is None or (began is None and not is_named):
            continue
        word = match["result"] or (match["test"] or "FAILED").upper()
        if began is None or (match["result"] is None) == (began in _OF_VECTOR_ADD):
            yield index, word.startswith("PASS")


def _burnt(section: Section, index: int) -> list[tuple[int, bool]]:
    """The verdicts of gpu-burn below its heading."""
    verdicts = []
    for below in range(index + 1, min(index + 1 + _MOST_GPUS, len(section.lines))):
        match = _OF_GPU.match(section.lines[below][:100])
        if match is None:
            break
        verdicts.append((below, match["state"] == "OK"))
    return verdicts


def _ticks(section: Section) -> list[tuple[int, bool]]:
    """The ticks and crosses of a scan by gpud."""
    marks = [(index, _TICK.match(line[:400])) for index, line in section.matching("✔ ", "✘ ", "✔\x1b", "✘\x1b")]
    if not any(match and match["text"].startswith(_OF_GPUD) for _, match in marks):
        return []
    return [(index, match["mark"] == "✔") for index, match in marks if match]


READER = Reader(
    "gpu-self-tests",
    read,
    markers=(
        *_VERDICTS,
        *("  Relative difference: ", "✔", "✘"),
        *(" GPUs:",),
    ),
)
