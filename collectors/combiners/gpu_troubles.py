"""What is wrong with each GPU: lost, bad memory, dead firmware, NVLink, a reset that is due.

All that speaks of one GPU comes together, whether it names it by address or by nvidia-smi's number. What names
none belongs to the one GPU that has the same trouble, or stays without a name.
"""

from __future__ import annotations

from collections.abc import Iterator

from collectors.combiners import Facts, looked_at, xids
from collectors.combiners._gpu_cases import NO_GPU, Cases, order
from kb.catalogues import XidRow, xid_row
from kb.evidence import Observed, Reading
from kb.facts.diagnostics import DiagClass, DiagResult
from kb.facts.driver import NvmlError
from kb.facts.environment import CudaError
from kb.facts.fabric import NvlinkErrors, NvlinkLinks
from kb.facts.gpu import Gpu
from kb.facts.gpu_state import GpuEccCounts, GpuMemoryRepair, GpuRecovery
from kb.facts.gpu_trouble import FaultyGpuMemory, GpuResetDue, GspTrouble, LostGpu, NvlinkTrouble
from kb.facts.kubernetes import DeviceHealth
from kb.facts.module_load import DriverTrouble, ModuleLoadProblem, Trouble
from kb.facts.nccl_failures import NcclCudaFailure
from kb.facts.xid import LoggedXid, NvlinkFault, SxidEvent, XidEvent

_MANY_ROWS = 8
"""Rows that a board has remapped for uncorrectable errors from which on it is no single bad row."""
_MANY_ERRORS = 3
_MANY_LINK_ERRORS = 100


def combine(facts: Facts) -> Iterator[Reading]:
    """LostGpu, FaultyGpuMemory, GspTrouble, NvlinkTrouble and GpuResetDue for each GPU that has it."""
    facts = facts.and_also(xids.combine(facts))
    lost = _lost(facts)
    memory, gsp, nvlink = _memory(facts), _gsp(facts), _nvlink(facts)
    for cases in (lost, memory, gsp, nvlink):
        yield from cases.readings()
    yield from _resets(facts, (lost, memory, gsp, nvlink)).readings()
    yield from looked_at(facts, LostGpu, LoggedXid, NvmlError, DriverTrouble, Gpu)
    yield from looked_at(facts, FaultyGpuMemory, LoggedXid, GpuEccCounts, GpuMemoryRepair)
    yield from looked_at(facts, GspTrouble, LoggedXid, DriverTrouble)
    yield from looked_at(facts, NvlinkTrouble, LoggedXid, NvlinkLinks, NvlinkErrors, SxidEvent)
    yield from looked_at(facts, GpuResetDue, GpuRecovery, LoggedXid, DriverTrouble)


def _xids(facts: Facts, *groups: str) -> list[tuple[XidEvent, Observed]]:
    """The Xids of this boot that belong to these groups."""
    return [(xid, seen) for xid, seen in facts.of(XidEvent) if xid.boot == "this" and xid.group in groups]


def _troubles(facts: Facts, *problems: Trouble) -> list[tuple[DriverTrouble, Observed]]:
    return [(one, seen) for one, seen in facts.of(DriverTrouble) if one.boot == "this" and one.problem in problems]


def _failed(facts: Facts, *classes: DiagClass) -> list[tuple[DiagResult, Observed]]:
    return [(one, seen) for one, seen in facts.of(DiagResult) if one.class_ in classes and one.status == "fail"]


def _cuda(facts: Facts, *classes: str) -> list[Observed]:
    """What programs, and NCCL in them, report of this kind."""
    by_programs = [seen for error, seen in facts.of(CudaError) if error.class_ in classes]
    return by_programs + [seen for failure, seen in facts.of(NcclCudaFailure) if failure.class_ in classes]


def _unhealthy(facts: Facts, *groups: str) -> list[tuple[DeviceHealth, XidRow, Observed]]:
    """GPUs that the Kubernetes device plugin has taken out for an Xid of these groups."""
    found = [(one, xid_row(one.xid), seen) for one, seen in facts.of(DeviceHealth) if one.xid and not one.healthy]
    return [(one, row, seen) for one, row, seen in found if row is not None and row.group in groups]


def _lost(facts: Facts) -> Cases:
    cases = Cases(facts, LostGpu)
    for xid, seen in _xids(facts, "off-bus"):
        cases.add(xid.bdf, None, seen, by_driver=True)
    for health, _, seen in _unhealthy(facts, "off-bus"):
        cases.add(cases.of_uuid(health.device), None, seen, by_driver=True)
    for trouble, seen in _troubles(facts, "fell-off-bus"):
        cases.add(trouble.bdf, None, seen, by_driver=True)
    for load, seen in facts.of(ModuleLoadProblem):
        if load.problem == "fell-off-bus" and load.boot == "this":
            cases.add(load.bdf, None, seen, by_driver=True)
    for gpu, seen in facts.of(Gpu):
        if gpu.off_bus:
            cases.add(gpu.bdf, gpu.index, seen, by_bus=True)
    for error, seen in facts.of(NvmlError):
        if error.problem == "gpu-lost":
            cases.add(error.bdf, None, seen, by_tools="no-handle" if error.vague else "lost")
    for result, seen in _failed(facts, "off-bus"):
        cases.add(None, result.gpu, seen, by_tools="diagnostic")
    return cases


def _memory(facts: Facts) -> Cases:
    cases = Cases(facts, FaultyGpuMemory)
    for xid, seen in _xids(facts, "memory"):
        many = xid.code in {48, 171, 172} and xid.count >= _MANY_ERRORS
        cases.add(
            xid.bdf, None, seen, uncorrected=True, by_driver=True, xids=xid.code,
            uncontained=xid.code == 95, repeated=many, in_sram=xid.code == 172,
        )  # fmt: skip
    for health, row, seen in _unhealthy(facts, "memory"):
        cases.add(cases.of_uuid(health.device), None, seen, uncorrected=True, by_driver=True, xids=row.code)
    for xid, seen in _xids(facts, "remap", "remap-failed"):
        waits = xid.group == "remap"
        cases.add(xid.bdf, None, seen, xids=xid.code, repair="pending" if waits else "failed")
    for repair, seen in facts.of(GpuMemoryRepair):
        _add_repair(cases, repair, seen)
    for counts, seen in facts.of(GpuEccCounts):
        if counts.scope == "volatile" and counts.uncorrected:
            cases.add(counts.bdf, counts.index, seen, uncorrected=True, in_sram=bool(counts.sram_uncorrected))
    for seen in _cuda(facts, "ecc-uncorrectable", "uncorrectable-ecc"):
        cases.add(None, None, seen, uncorrected=True)
    repairs = {"remap-pending": "pending", "remap-failed": "failed"}
    for result, seen in _failed(facts, "memory", "remap-pending", "remap-failed"):
        repair_state = repairs.get(str(result.class_))
        cases.add(None, result.gpu, seen, uncorrected=repair_state is None, repair=repair_state)
    for xid, seen in facts.of(XidEvent):
        key = cases.key(xid.bdf, None)
        if xid.boot == "earlier" and xid.code in {48, 94, 95, 171, 172} and key in cases.said:
            cases.add(xid.bdf, None, seen, repeated=True)
    return cases


def _add_repair(cases: Cases, repair: GpuMemoryRepair, seen: Observed) -> None:
    state = (
        "failed" if repair.failed or repair.unrepairable
        else "pending" if repair.pending
        else "exhausted" if repair.exhausted_banks
        else None
    )  # fmt: skip
    many = (repair.uncorrected or 0) >= _MANY_ROWS
    if state is not None:
        cases.add(repair.bdf, repair.index, seen, repair=state, rows=repair.uncorrected, repeated=many)
    elif many and cases.key(repair.bdf, repair.index) in cases.said:
        cases.add(repair.bdf, repair.index, seen, rows=repair.uncorrected, repeated=True)


def _gsp(facts: Facts) -> Cases:
    cases = Cases(facts, GspTrouble)
    gone = [xid for xid, _ in _xids(facts, "off-bus")]
    halted = [xid for xid, _ in _xids(facts, "hardware") if xid.code in {61, 62}]
    for xid, seen in _xids(facts, "gsp"):
        before = any(one.bdf == xid.bdf and order(one, xid) is not False for one in gone)
        cases.add(
            xid.bdf, None, seen, xid=xid.code, timeout=xid.code == 119, caller=xid.process, lost_before=before,
            halted_before=any(one.bdf == xid.bdf and order(xid, one) is False for one in halted),
        )  # fmt: skip
    for health, row, seen in _unhealthy(facts, "gsp"):
        cases.add(cases.of_uuid(health.device), None, seen, xid=row.code)
    alike: tuple[Trouble, ...] = ("gsp-timeout", "gsp-heartbeat", "gsp-unresponsive")
    for trouble, seen in _troubles(facts, *alike):
        cases.add(trouble.bdf, None, seen, timeout=True)
    if cases.said:
        for trouble, seen in _troubles(facts, "marked-for-reset"):
            cases.add(trouble.bdf, None, seen, marked_for_reset=True)
    if gone and NO_GPU in cases.said:  # the lines that name no GPU are of the one that is gone
        cases.said[NO_GPU]["lost_before"] = True
    return cases


def _nvlink(facts: Facts) -> Cases:
    cases = Cases(facts, NvlinkTrouble)
    decoded = {(fault.bdf, fault.code) for fault, _ in facts.of(NvlinkFault)}
    for fault, seen in facts.of(NvlinkFault):
        if fault.boot == "this" and fault.severity == "fatal":
            cases.add(
                fault.bdf, None, seen, fatal=fault.action != "ignore", xids=fault.code, links=fault.link,
                inspect=fault.inspect if fault.inspect != "nothing" else None,
            )  # fmt: skip
    for xid, seen in _xids(facts, "nvlink"):
        if (xid.bdf, xid.code) not in decoded or cases.key(xid.bdf, None) in cases.said:
            cases.add(xid.bdf, None, seen, fatal=(xid.bdf, xid.code) not in decoded, xids=xid.code)
    for health, row, seen in _unhealthy(facts, "nvlink"):
        if row.code not in range(144, 151):  # of those the number alone does not tell whether they are harmless
            cases.add(cases.of_uuid(health.device), None, seen, fatal=True, xids=row.code)
    for xid, seen in facts.of(XidEvent):
        if xid.boot == "this" and xid.code == 45 and xid.caused_by in {74, *range(144, 151), 155}:
            cases.add(xid.bdf, None, seen, fatal=True, xids=xid.caused_by)
    for sxid, seen in facts.of(SxidEvent):
        if sxid.boot == "this" and sxid.fatal:
            cases.add(sxid.bdf, None, seen, what="NVSwitch", fatal=True, xids=sxid.code, links=sxid.link)
    for seen in _cuda(facts, "nvlink-uncorrectable"):
        cases.add(None, None, seen, fatal=True)
    listed = facts.of(NvlinkLinks)
    full = any(one.state == "all-active" for one, _ in listed)
    on_boards = {gpu.index for gpu, _ in facts.of(Gpu) if gpu.board == "module"}
    for links, seen in listed:
        # All links of a card may lack a bridge; those of a module lead to switches that its neighbours reach.
        alone = links.state == "all-inactive" and full and links.index in on_boards
        if links.state == "some-inactive" or alone:
            cases.add(
                cases.of_uuid(links.uuid), links.index, seen, down=True, others_full=full,
                links=links.inactive or ("all" if alone else None),
                one_bridge=links.links in _OF_ONE_BRIDGE and links.active > 0,
            )  # fmt: skip
    for errors, seen in facts.of(NvlinkErrors):
        grave = (errors.crc or 0) + (errors.recoveries or 0) + (errors.packets or 0)
        if grave >= _MANY_LINK_ERRORS or (grave and cases.key(None, errors.index) in cases.said):
            cases.add(
                cases.of_uuid(errors.uuid), errors.index, seen, counted=grave, links=errors.links_with_errors
            )
    for result, seen in _failed(facts, "nvlink", "nvswitch"):
        cases.add(None, result.gpu, seen, down=True)
    gone = [xid.bdf for xid, _ in _xids(facts, "off-bus")]
    for key, said in cases.said.items():
        if any(cases.key(bdf, None) != key for bdf in gone):
            said["peer_lost"] = True
    return cases


_OF_ONE_BRIDGE = frozenset({2, 4})
"""Links of boards that one bridge joins: Turing and GA102. Others have several bridges, and one may be missing."""
_DUE: dict[Trouble, str] = {"reset-required": "reset", "needs-reset": "reset", "marked-for-reset": "reset"}
_OWN_CAUSES = ("memory", "remap", "remap-failed", "gsp", "nvlink", "off-bus", "pcie", "hardware")


def _resets(facts: Facts, others: tuple[Cases, ...]) -> Cases:
    cases = Cases(facts, GpuResetDue)
    for recovery, seen in facts.of(GpuRecovery):
        action = recovery.action if recovery.action not in {None, "none"} else None
        if recovery.drain_recommended:
            action = action or "drain-and-reset"
        if recovery.reset_required:
            action = action or "reset"
        if action:
            cases.add(recovery.bdf, recovery.index, seen, action=action, by_tools=True)
    for xid, seen in facts.of(XidEvent):
        if xid.boot == "this" and xid.code == 154 and xid.detail not in {None, "none"}:
            cases.add(xid.bdf, None, seen, action=xid.detail, by_driver=True)
    for trouble, seen in _troubles(facts, *_DUE):
        cases.add(trouble.bdf, None, seen, action=_DUE[trouble.problem], by_driver=True)
    for error, seen in facts.of(NvmlError):
        if error.problem == "reset-required":
            cases.add(error.bdf, None, seen, action="reset", by_tools=True)
    for result, seen in _failed(facts, "reset"):
        cases.add(None, result.gpu, seen, action="reset", by_tools=True)
    causes = {cases.key(xid.bdf, None) for xid, _ in _xids(facts, *_OWN_CAUSES)}
    causes |= {key for other in others for key in other.affected()}
    for key, said in cases.joined().items():
        if key in causes or (key == NO_GPU and causes):
            said["cause_known"] = True
    return cases
