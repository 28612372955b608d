"""Which known defects of NCCL the release in use has, where the rest of the evidence fits them, too."""

from __future__ import annotations

from collections.abc import Iterator

from collectors.combiners import Facts, derived
from kb.evidence import Observed, Reading
from kb.facts.collectives import CollectiveTimeout
from kb.facts.environment import CudaError, PythonPackage, TorchBuild
from kb.facts.gpu import Gpu
from kb.facts.machine import Boot
from kb.facts.nccl import NcclSetting, NcclVersion
from kb.facts.nccl_failures import NcclCudaFailure, NcclReportedError
from kb.facts.nccl_tools import NcclDefect, NcclDefectLine, NcclTestResult
from kb.facts.settings import Setting
from kb.facts.stacks import ProcessStack
from kb.nccl_defects import Defect, defects

_CUDA_ERRORS = {"illegal-access": ("illegal-address",), "no-kernel-image": ("no-kernel-image",)}
"""What CudaError calls the classes of NcclCudaFailure."""

_Fit = tuple[str, Observed]
"""What of the evidence fits, and where it was seen."""
_Release = tuple[str, str | None]
"""Its version, the CUDA it was built with, and where it was seen."""


def combine(facts: Facts) -> Iterator[Reading]:
    """NcclDefect for each entry of the catalogue that fits the release and all else that it asks for."""
    versions = _versions(facts)
    for defect in defects():
        having = next((release for release in versions if defect.has(*release)), None)
        fits = None if having is None else _fits(defect, facts)
        if having is None or fits is None:
            continue
        fact = NcclDefect(
            id=defect.id,
            title=defect.title,
            version=having[0],
            fixed=defect.fixed,
            fit=defect.fit,
            hang=defect.hang,
            workaround=defect.workaround,
            seen="; ".join(text for text, _ in fits)[:400],
            source=defect.source,
        )
        yield derived(fact, [*(one for _, one in fits), versions[having]])


def _versions(facts: Facts) -> dict[_Release, Observed]:
    """The releases in use by the best witness, each where it was first seen.

    NCCL itself is the best, then the program, then what is installed.
    """
    said = facts.of(NcclVersion)
    witnesses: tuple[list[tuple[_Release, Observed]], ...] = (
        [((one.version, one.cuda), observed) for one, observed in said if one.said_by == "nccl"],
        [((one.version, None), observed) for one, observed in facts.of(NcclReportedError) if one.version],
        [((one.version, one.cuda), observed) for one, observed in said if one.said_by == "framework"],
        [((one.nccl, None), observed) for one, observed in facts.of(TorchBuild) if one.nccl],
        [((one.version, None), observed) for one, observed in facts.of(PythonPackage) if one.role == "nccl"],
    )
    first: dict[_Release, Observed] = {}
    for release, observed in next((one for one in witnesses if one), []):
        first.setdefault(release, observed)
    return first


def _fits(defect: Defect, facts: Facts) -> list[_Fit] | None:
    """What fits the entry; None where one thing that it asks for is not seen."""
    asked = (
        (bool(defect.lines), _line),
        (bool(defect.frames), _frame),
        (defect.cuda is not None, _cuda),
        (bool(defect.architectures), _gpu),
        (defect.machine is not None, _machine),
        (defect.setting is not None, _setting),
        (defect.operation is not None, _operation),
    )
    seen = [seek(defect, facts) for wanted, seek in asked if wanted]
    found = [one for one in seen if one is not None]
    return found if found and len(found) == len(seen) else None


def _line(defect: Defect, facts: Facts) -> _Fit | None:
    return next(((one.text, o) for one, o in facts.of(NcclDefectLine) if one.id == defect.id), None)


def _frame(defect: Defect, facts: Facts) -> _Fit | None:
    for stack, observed in facts.of(ProcessStack):
        frame = next((name for name in defect.frames if name in stack.frames), None)
        if frame is not None:
            return f"a process stands in {frame}", observed
    return None


def _cuda(defect: Defect, facts: Facts) -> _Fit | None:
    for failure, observed in facts.of(NcclCudaFailure):
        if failure.class_ == defect.cuda:
            return failure.text, observed
    for error, observed in facts.of(CudaError):
        if error.class_ in _CUDA_ERRORS.get(defect.cuda or "", ()):
            return error.text, observed
    return None


def _gpu(defect: Defect, facts: Facts) -> _Fit | None:
    for gpu, observed in facts.of(Gpu):
        if gpu.name and gpu.architecture in defect.architectures and gpu.tier in defect.tiers:
            return gpu.name, observed
    return None


def _machine(defect: Defect, facts: Facts) -> _Fit | None:
    for boot, observed in facts.of(Boot):
        if boot.architecture == defect.machine:
            return f"on {boot.architecture}", observed
    for gpu, observed in facts.of(Gpu):
        if gpu.board == "superchip" and defect.machine == "aarch64":
            return f"on aarch64, of which {gpu.name} is", observed
    return None


def _setting(defect: Defect, facts: Facts) -> _Fit | None:
    name, value = defect.setting or ("", None)
    by_nccl = [(one.name, one.value, observed) for one, observed in facts.of(NcclSetting)]
    by_place = [(one.name, one.value, observed) for one, observed in facts.of(Setting)]
    for known, said, observed in (*by_nccl, *by_place):
        if known == name and value in {None, said}:
            return f"{name}={said}", observed
    return None


def _operation(defect: Defect, facts: Facts) -> _Fit | None:
    """A test or a collective of that kind that did not end."""
    for test, observed in facts.of(NcclTestResult):
        if test.outcome == "unfinished" and _same(test.operation, defect.operation):
            return f"{test.operation} did not end", observed
    for late, observed in facts.of(CollectiveTimeout):
        if _same(late.operation, defect.operation):
            return f"{late.operation} did not end in time", observed
    return None


def _same(one: str | None, other: str | None) -> bool:
    """Whether two names are of one operation: ALLTOALL_BASE of PyTorch is alltoall of nccl-tests."""
    return (one or "").lower().replace("_", "").startswith((other or "-").replace("_", ""))
