"""Xids, SXids, NCCL warnings and errors of CUDA that no standing cause takes: what each means by its catalogue.

A warning that nobody wrote a rule for still helps. This accuses nobody: it says what the code is about, what it
most often comes from, and the general test that tells more.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from diagnose.render.report import INSUFFICIENT, stands
from engine.result import Diagnosis
from kb.catalogues import XidAction, XidGroup, xid_row
from kb.cuda_errors import error_row
from kb.evidence import Observed
from kb.facts.driver import NvmlError
from kb.facts.environment import CudaError
from kb.facts.nccl import NcclWarning
from kb.facts.xid import SxidEvent, XidEvent
from kb.harmless import catalogue
from kb.nccl_warnings import class_rows

ADVICE: Mapping[XidAction, str] = {
    "ignore": "nothing by itself",
    "restart-app": "start the program again",
    "reset-gpu": "reset the GPU",
    "reboot-node": "reboot the machine",
    "restart-vm": "restart the virtual machine",
    "check-fabric": "check NVLinks and fabric manager",
    "check-mechanics": "check seating, power cables and cooling",
    "update-software": "update driver and firmware, of host and guest alike",
    "contact-support": "contact support if it comes back",
    "ecc-flow": "follow the steps for memory errors",
    "follow-other": "look at the error that came before it",
    "follow-text": "do what the line itself says",
    "decode": "decode unit and status in the line",
}
OF_GROUP: Mapping[XidGroup, tuple[str, ...]] = {
    "program": ("gpu.application-memory-fault",),
    "memory": ("gpu.uncorrectable-ecc",),
    "remap": ("gpu.row-remap-pending",),
    "remap-failed": ("gpu.row-remap-failure",),
    "gsp": ("gpu.gsp-failure",),
    "nvlink": ("gpu.nvlink-error",),
    "off-bus": ("gpu.fell-off-bus",),
    "pcie": ("gpu.pcie-link-degraded",),
    "power": ("gpu.thermal-or-power-limit",),
    "hardware": ("gpu.hardware-fault",),
    "engine": ("gpu.hardware-fault", "gpu.application-memory-fault"),
    "confidential": ("platform.confidential-computing",),
}
KERNEL_LOG = "gpu-kernel-log"


@dataclass(frozen=True, slots=True)
class Explained:
    """One code, or several of one kind, by the row of its catalogue."""

    kind: str
    """xid, sxid, nccl, cuda or nvml."""
    code: str
    """As people name it: `Xid 78`, `CUDA error 802 (cudaErrorSystemNotReady)`."""
    means: str
    causes: tuple[str, ...] = ()
    """What it most often comes from; a hint, no verdict."""
    test: str = ""
    """The probe that tells more."""
    count: int = 1
    evidence: tuple[Observed, ...] = ()


def explained_codes(diagnosis: Diagnosis) -> list[Explained]:
    """The codes in the evidence that no standing cause rests on, alike ones together, in the order of facts."""
    used = _used(diagnosis)
    found: dict[tuple[str, str], Explained] = {}
    for one in diagnosis.observed:
        row = _explained(one)
        if row is None or used & set(one.roots()) or _is_harmless(one):
            continue
        known = found.get((row.code, row.means))
        found[row.code, row.means] = Explained(
            row.kind,
            row.code,
            row.means,
            row.causes,
            row.test,
            getattr(one.fact, "count", 1) + (known.count if known else 0),
            (*(known.evidence if known else ()), one),
        )
    return list(found.values())


def in_words(one: Explained) -> str:
    """The code in a sentence or two."""
    times = f" ({one.count} times)" if one.count > 1 else ""
    often = f" Most often {' or '.join(one.causes)}." if one.causes else ""
    return f"{one.code}{times}: {one.means}{often}"


def _used(diagnosis: Diagnosis) -> set[Observed]:
    """What standing causes rest on, down to what was read."""
    lines = (
        line
        for finding in diagnosis.findings
        if stands(finding) and finding.cause.cause != INSUFFICIENT
        for line in finding.hypothesis.ledger
        if line.truth == "true"
    )
    return {root for line in lines for fact in line.evidence for root in fact.roots()}


def _is_harmless(one: Observed) -> bool:
    return any(entry.describes(one.source.text) for entry in catalogue())


def _explained(one: Observed) -> Explained | None:
    fact = one.fact
    if isinstance(fact, XidEvent) and fact.boot == "this":
        return _xid(fact)
    if isinstance(fact, SxidEvent) and fact.boot == "this":
        severity = "fatal" if fact.fatal else "not fatal"
        means = f"{fact.name or 'an error'} of an NVSwitch, {severity} by its line."
        return Explained("sxid", f"SXid {fact.code}", means, ("gpu.nvlink-error",), "nvlink-state")
    if isinstance(fact, NcclWarning):
        row = class_rows()[fact.class_]
        means = fact.means or "its words are NCCL's own, and no row of the catalogue fits them."
        return Explained("nccl", f"NCCL warning of class {fact.class_}", means, row.causes, row.test)
    return _error(fact) if isinstance(fact, CudaError | NvmlError) else None


def _xid(fact: XidEvent) -> Explained:
    row = xid_row(fact.code, fact.branch)
    if row is None:
        means = "the catalogue does not know this number; a newer driver gave it."
        return Explained("xid", f"Xid {fact.code}", means, (), KERNEL_LOG)
    advice = f" NVIDIA's first remedy: {ADVICE[row.action]}." if row.action else ""
    follows = " It only follows from another error." if row.role == "consequence" else ""
    causes = OF_GROUP.get(row.group, ()) if row.group and fact.group else ()
    return Explained("xid", f"Xid {fact.code} ({row.name})", f"{row.title}.{follows}{advice}", causes, KERNEL_LOG)


def _error(fact: CudaError | NvmlError) -> Explained | None:
    api, class_ = ("cuda", fact.class_) if isinstance(fact, CudaError) else ("nvml", fact.problem)
    row = error_row(api, class_)  # type: ignore[arg-type]
    if row is None:
        return None
    number = fact.code if isinstance(fact, CudaError) and fact.code else row.code
    name = f" ({row.name})" if row.name and number == row.code else ""
    code = f"{api.upper()} error {number}{name}" if number else f"{api.upper()}: {class_}"
    return Explained(api, code, row.means, row.causes, row.test)


def shown_tests(rows: list[Explained]) -> Iterator[str]:
    """The tests that these codes ask for, each once."""
    yield from dict.fromkeys(one.test for one in rows if one.test)
