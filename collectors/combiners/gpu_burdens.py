"""What burdens a GPU from outside: programs that give it bad work, heat and power limits, a poor PCIe link."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from typing import Any, Literal

from collectors.combiners import Facts, derived, gpu_links, looked_at, xids
from collectors.combiners._gpu_cases import Cases
from kb.evidence import Observed, Reading
from kb.facts.diagnostics import DiagResult
from kb.facts.environment import CudaError
from kb.facts.gpu import Gpu
from kb.facts.gpu_bus import PcieErrorCounts
from kb.facts.gpu_state import GpuPcieLink, GpuPower, GpuTemperature, GpuThrottle
from kb.facts.gpu_trouble import DegradedLink, HeldDownGpu, ProgramFault
from kb.facts.pcie import GpuLinkError, PcieBandwidth, PcieError
from kb.facts.xid import GpuIdentity, LoggedXid, XidEvent

_ILL = ("memory", "remap-failed", "gsp", "nvlink", "off-bus", "hardware")
_ACCESS = frozenset({"illegal-address", "misaligned-address", "illegal-instruction"})
_ENGINES: dict[str, Literal["kernel", "copy", "other"]] = {
    "address": "kernel",
    "instruction": "kernel",
    "graphics-engine": "kernel",
    "copy-engine": "copy",
    "other-engine": "other",
}
_MANY_LINK_ERRORS = 10
"""Corrected errors: the kernel limits their rate, and a few in a day are harmless."""
_MANY_COUNTED = 1000
"""Since boot or reset, by counters, which nothing limits."""
_IDLE_PERCENT = 5
_FAR_BELOW = 0.7
"""Of the default power limit; a little below is common practice for quiet and efficiency."""
_CAPPED_ELSEWHERE = 0.7
"""Of the limit in force, at most drawn under full load: nearer to it, the cap is the limit's own."""
_BUSY_PERCENT = 90


def combine(facts: Facts) -> Iterator[Reading]:
    """ProgramFault for each program, HeldDownGpu and DegradedLink for each GPU that is."""
    facts = facts.and_also([*xids.combine(facts), *gpu_links.combine(facts)])
    yield from _programs(facts)
    yield from _held_down(facts).readings()
    yield from _links(facts).readings()
    yield from looked_at(facts, ProgramFault, LoggedXid, CudaError)
    yield from looked_at(facts, HeldDownGpu, GpuThrottle, GpuTemperature)
    yield from looked_at(facts, DegradedLink, GpuPcieLink, PcieError)


def _programs(facts: Facts) -> Iterator[Reading]:
    errors = [(error, seen) for error, seen in facts.of(CudaError) if error.class_ in _ACCESS | {"assert"}]
    by_program: dict[str | None, list[tuple[XidEvent, Observed]]] = defaultdict(list)
    on_gpu: dict[str, set[str]] = defaultdict(set)
    ill = set()
    for xid, seen in facts.of(XidEvent):
        if xid.group == "program":
            on_gpu[xid.bdf].update((xid.processes or xid.process or "").split(", "))
            if xid.boot == "this":
                by_program[xid.process].append((xid, seen))
        elif xid.boot == "this" and xid.group in _ILL:
            ill.add(xid.bdf)
    cuda = _of_cuda([error for error, _ in errors])
    for process, events in by_program.items():
        gpus = sorted({xid.bdf for xid, _ in events})
        codes = sorted({xid.code for xid, _ in events})
        engines = [_ENGINES[xid.detail] for xid, _ in events if xid.detail in _ENGINES]
        fact = ProgramFault(
            name=f"program {process}" if process else "a program",
            bdf=gpus[0] if len(gpus) == 1 else None,
            process=process,
            xids=", ".join(map(str, codes)),
            gpus=len(gpus),
            programs=max(len(on_gpu[bdf] - {""}) or 1 for bdf in gpus) if len(gpus) == 1 else 1,
            engine="kernel" if "kernel" in engines else engines[0] if engines else None,
            cuda=cuda,
            gpu_ill=bool(ill & set(gpus)),
        )
        yield derived(fact, [seen for _, seen in events] + [seen for _, seen in errors])
    if errors and not by_program:
        fact = ProgramFault(name="a program", cuda=cuda, gpu_ill=bool(ill))
        yield derived(fact, [seen for _, seen in errors])


def _of_cuda(errors: list[CudaError]) -> Literal["access", "assert"] | None:
    if any(error.class_ == "assert" for error in errors):
        return "assert"
    return "access" if errors else None


def _held_down(facts: Facts) -> Cases:
    cases = Cases(facts, HeldDownGpu)
    powers = {cases.key(power.bdf, power.index): (power, seen) for power, seen in facts.of(GpuPower)}
    for throttle, seen in facts.of(GpuThrottle):
        power, drawn = powers.get(cases.key(throttle.bdf, throttle.index), (None, None))
        lowered = power is not None and power.limit == "lowered"
        reason = (
            "heat" if throttle.hw_thermal or throttle.sw_thermal
            else "power-brake" if throttle.hw_power_brake
            else "slowdown" if throttle.hw_slowdown
            else "capped-below-limit" if power is not None and _is_capped_elsewhere(throttle, power)
            else "lowered-limit" if throttle.sw_power_cap and lowered
            else None
        )  # fmt: skip
        if reason is None:
            continue
        load = throttle.utilisation_percent
        idle = throttle.idle if load is None else load < _IDLE_PERCENT
        cases.add(throttle.bdf, throttle.index, seen, reason=reason, idle=bool(idle))
        if power is not None and drawn is not None and lowered and reason == "lowered-limit":
            far = (power.limit_w or 0) <= _FAR_BELOW * (power.default_limit_w or 0)
            cases.add(
                power.bdf, power.index, drawn, at_limit=bool(power.at_limit), limit_w=power.limit_w,
                default_limit_w=power.default_limit_w, far_below=far,
            )  # fmt: skip
        if power is not None and drawn is not None and reason == "capped-below-limit":
            cases.add(power.bdf, power.index, drawn, draw_w=power.draw_w, limit_w=power.limit_w)
    throttled = {cases.key(one.bdf, one.index) for one, _ in facts.of(GpuThrottle)}
    for power, seen in facts.of(GpuPower):
        if power.limit == "lowered" and power.at_limit and cases.key(power.bdf, power.index) not in throttled:
            far = (power.limit_w or 0) <= _FAR_BELOW * (power.default_limit_w or 0)
            cases.add(
                power.bdf, power.index, seen, reason="lowered-limit", idle=False, at_limit=True,
                limit_w=power.limit_w, default_limit_w=power.default_limit_w, far_below=far,
            )  # fmt: skip
    for xid, seen in facts.of(XidEvent):
        if xid.boot == "this" and xid.group == "power":
            cases.add(xid.bdf, None, seen, reason="power-cable" if xid.code == 54 else "heat")
    for result, seen in facts.of(DiagResult):
        if result.class_ in {"thermal", "power"} and result.status == "fail":
            reason = "heat" if result.class_ == "thermal" else "power-brake"
            cases.add(None, result.gpu, seen, reason=reason)
    for warmth, seen in facts.of(GpuTemperature):
        hot = warmth.state in {"at-limit", "at-slowdown", "at-shutdown"}
        if warmth.state in {"at-slowdown", "at-shutdown"} or (
            hot and cases.key(warmth.bdf, warmth.index) in cases.said
        ):
            cases.add(
                warmth.bdf, warmth.index, seen, reason="heat", at_limit=True, temperature_c=warmth.temperature_c
            )
    return cases


def _is_capped_elsewhere(throttle: GpuThrottle, power: GpuPower) -> bool:
    """Whether a power cap is active although a busy GPU draws far less than its limit allows."""
    busy = (throttle.utilisation_percent or 0) >= _BUSY_PERCENT
    capped = bool(throttle.sw_power_cap) and power.draw_w is not None and power.limit_w is not None
    return busy and capped and (power.draw_w or 0) <= _CAPPED_ELSEWHERE * (power.limit_w or 0)


def _links(facts: Facts) -> Cases:
    cases = Cases(facts, DegradedLink)
    gpus = {gpu.bdf for gpu, _ in facts.of(Gpu)} | {one.bdf for one, _ in facts.of(GpuIdentity)}
    links = facts.of(GpuPcieLink)
    one_gpu = len(gpus) == 1 and {link.index for link, _ in links} <= {None, 0}
    only = next(iter(gpus)) if one_gpu else None
    for link, seen in links:
        if link.state in {"narrower", "slower-under-load"}:
            cases.add(link.bdf or only, link.index, seen, **_of_link(link))
    for error, seen in facts.of(GpuLinkError):
        if error.boot == "this":
            many = error.severity == "corrected" and error.count >= _MANY_LINK_ERRORS
            cases.add(
                error.gpu, None, seen, errors=error.count, bits=error.bits, many_errors=many,
                uncorrected=error.severity in {"nonfatal", "fatal"},
            )  # fmt: skip
    _counted(facts, cases)
    for narrow, seen in facts.of(PcieBandwidth):
        if narrow.narrow and narrow.boot == "this" and narrow.bdf in gpus:
            quarter = narrow.width * 4 <= (narrow.capable_width or 0)
            cases.add(
                narrow.bdf, None, seen, narrow=True, very_narrow=quarter, lanes=narrow.width,
                lanes_max=narrow.capable_width,
            )  # fmt: skip
    for xid, seen in facts.of(XidEvent):
        if xid.boot == "this" and xid.group == "pcie":
            cases.add(xid.bdf, None, seen, by_xid=xid.code)
    for result, seen in facts.of(DiagResult):
        if result.class_ == "pcie" and result.status == "fail":
            cases.add(None, result.gpu, seen, many_errors=True)
    for xid, _ in facts.of(XidEvent):
        key = cases.key(xid.bdf, None)
        if xid.group == "off-bus" and xid.boot == "this" and key in cases.said:
            cases.said[key]["lost"] = True
    return cases


def _counted(facts: Facts, cases: Cases) -> None:
    """Corrected errors by the bus's counters; packets that the GPU repeated, where the kernel logs errors too."""
    for counts, seen in facts.of(PcieErrorCounts):
        if counts.device == "gpu" and (counts.correctable or 0) >= _MANY_COUNTED:
            cases.add(counts.bdf, None, seen, errors=counts.correctable, many_errors=True)
    logged = {error.gpu for error, _ in facts.of(GpuLinkError) if error.boot == "this"}
    for link, seen in facts.of(GpuPcieLink):
        key = cases.key(link.bdf, link.index)
        if (link.replays or 0) >= _MANY_COUNTED and key in {cases.key(bdf, None) for bdf in logged}:
            cases.add(link.bdf, link.index, seen, errors=link.replays, many_errors=True)


def _of_link(link: GpuPcieLink) -> dict[str, Any]:
    """What of a link is less than it could be. By sysfs both ends are known, else only what the GPU has."""
    if link.state == "slower-under-load":
        return {"slow_under_load": True, "generation": link.generation, "generation_max": link.generation_max}
    lanes, most = link.lanes or 0, link.lanes_max or 0
    quarter = bool(lanes and lanes * 4 <= most)
    return {
        "narrow": True,
        "very_narrow": quarter or link.reported_by == "sysfs",
        "lanes": link.lanes,
        "lanes_max": link.lanes_max,
    }
