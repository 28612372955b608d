"""What was looked for only in part, or could not be read, and what follows from that."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypedDict

from diagnose.render.words import listed, plain_kind
from engine.result import Diagnosis
from kb.evidence import Looked, Reason

KERNEL_LOG = frozenset(
    {
        *("logged_xid", "xid_event", "sxid_event", "nvlink_fault", "driver_trouble", "module_load_problem"),
        *("iommu_fault", "gpu_dma_fault", "pcie_error", "pcie_link_event", "gpu_link_error", "bar_problem"),
        *("oom_kill", "hung_task", "cpu_lockup", "process_crash", "machine_check", "api_mismatch"),
    }
)
"""Kinds of facts that are read from the kernel's log."""


MOST_KINDS = 4


class Gap(TypedDict):
    """An entry of the report's `unknown`."""

    what: str
    reason: Reason
    consequence: str


def unknown_parts(diagnosis: Diagnosis) -> list[Gap]:
    """What was looked for only in part, each kind and reason once, and what could not be read."""
    parts = [
        Gap(
            what=f"{plain_kind(kind)} in {', '.join(where)}",
            reason=reason,
            consequence=_consequence(kind, reason, diagnosis),
        )
        for (kind, reason), where in _partly(diagnosis.looked).items()
    ]
    return parts + _unread(diagnosis)


def gaps_in_short(diagnosis: Diagnosis) -> list[Gap]:
    """The same for a reader in a hurry: kinds of one place together, without what was read whole elsewhere.

    Nor what was looked for in part because only a part was ever asked for: that kept nobody from looking, and
    where it could change the answer the ledger says so.
    """
    together: dict[tuple[str, Reason, str], list[str]] = {}
    complete = {one.kind for one in diagnosis.looked if one.complete}
    for (kind, reason), where in _partly(diagnosis.looked).items():
        if kind not in complete and reason != "not-collected":
            key = ", ".join(where), reason, _consequence(kind, reason, diagnosis)
            together.setdefault(key, []).append(plain_kind(kind))
    return [
        Gap(what=f"{listed(kinds, MOST_KINDS, 'kinds')} in {where}", reason=reason, consequence=consequence)
        for (where, reason, consequence), kinds in together.items()
    ] + _unread(diagnosis)


def _partly(looked: Sequence[Looked]) -> dict[tuple[str, Reason], list[str]]:
    partly: dict[tuple[str, Reason], list[str]] = {}
    for one in looked:
        if not one.complete:
            where = partly.setdefault((one.kind, one.reason or "truncated"), [])
            where += [one.where] if one.where not in where else []
    return partly


def _consequence(kind: str, reason: str, diagnosis: Diagnosis) -> str:
    """What follows from it that facts of this kind were looked for in part only, in one sentence."""
    if any(one.kind == kind and one.complete for one in diagnosis.looked):
        return "looked for completely elsewhere; what only this source had is lost"
    if reason == "truncated" and kind in KERNEL_LOG:
        return "the kernel log is cut or does not go back to the boot: an earlier fault can't be ruled out"
    if any(one.fact.kind == kind for one in diagnosis.observed):
        return "there may be more than was read"
    if reason == "no-permission":
        return "nobody was allowed to look: collect again as root"
    if reason == "timed-out":
        return "no answer came in time, which may be the fault's own doing"
    return "that none was found proves nothing"


def _unread(diagnosis: Diagnosis) -> list[Gap]:
    return [Gap(what=one.what, reason=one.reason, consequence=one.consequence) for one in diagnosis.unread]
