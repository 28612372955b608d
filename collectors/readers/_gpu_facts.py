"""One fact on one GPU from its properties. No reader.

Each function gives the fact, or None where the properties tell nothing of the kind.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, Literal, TypeAlias, cast

from collectors.readers._gpu_values import (
    Values,
    ecc_counts,
    fabric_problems,
    link_state,
    recovery_action,
    repair_pending,
    temperature_state,
)
from kb.facts import Fact
from kb.facts.gpu_state import (
    GpuBar,
    GpuEccCounts,
    GpuFabric,
    GpuFirmware,
    GpuMemoryRepair,
    GpuModes,
    GpuPcieLink,
    GpuPower,
    GpuRecovery,
    GpuTemperature,
    GpuThrottle,
)

Build: TypeAlias = Callable[["Report", Values], Fact | None]

MEASURED_AT = 0.95
"""A draw of so much of the limit is at the limit: readings are averages."""


@dataclass
class Report:
    """One GPU and its properties, as one query printed them."""

    index: int | None = None
    bdf: str | None = None
    values: dict[str, tuple[str, int]] = field(default_factory=dict)

    def named(self) -> dict[str, Any]:
        """The fields by which a fact names its GPU."""
        return {"index": self.index, "bdf": self.bdf}


def modes(report: Report, values: Values) -> Fact | None:
    """The modes that it is in."""
    mode = (values.text("compute_mode") or "").lower().replace("_", " ")
    compute = {"default": "default", "exclusive process": "exclusive-process", "prohibited": "prohibited"}
    compute |= {"exclusive thread": "exclusive-thread"}
    virtual = {"none": "none", "pass-through": "pass-through", "vgpu": "vgpu"}
    virtual |= {"host vgpu": "host-vgpu", "host vsga": "host-vsga"}
    licence = (values.text("license_status") or "").lower()
    fact = GpuModes(
        **report.named(),
        persistence=values.flag("persistence_mode"),
        compute_mode=cast("Literal['default']", compute.get(mode)),
        mig=values.flag("mig.mode.current"),
        mig_pending=values.flag("mig.mode.pending"),
        ecc=values.flag("ecc.mode.current"),
        ecc_pending=values.flag("ecc.mode.pending"),
        addressing=values.one_of("addressing_mode", ("none", "hmm", "ats")),
        virtualisation=cast("Literal['none']", virtual.get((values.text("virtualization_mode") or "").lower())),
        licensed=None if licence in {"", "n/a"} else not licence.startswith(("unlicensed", "expired")),
    )
    return fact if _tells(fact) else None


def ecc(scope: Literal["volatile", "aggregate"]) -> Build:
    """The counters of one scope."""

    def build(report: Report, values: Values) -> Fact | None:
        sram, dram, corrected = ecc_counts(values, "corrected", scope)
        bad_sram, bad_dram, uncorrected = ecc_counts(values, "uncorrected", scope)
        if corrected is None and uncorrected is None:
            return None
        exceeded = values.flag("ecc.errors.uncorrected.aggregate.sram.thresholdExceeded")
        return GpuEccCounts(
            **report.named(),
            scope=scope,
            corrected=corrected,
            uncorrected=uncorrected,
            sram_corrected=sram,
            sram_uncorrected=bad_sram,
            dram_corrected=dram,
            dram_uncorrected=bad_dram,
            sram_threshold_exceeded=exceeded if scope == "aggregate" else None,
        )

    return build


def rows(report: Report, values: Values) -> Fact | None:
    """Rows that were remapped."""
    fact = GpuMemoryRepair(
        **report.named(),
        mechanism="row-remapping",
        corrected=values.number("remapped_rows.correctable"),
        uncorrected=values.number("remapped_rows.uncorrectable"),
        pending=values.flag("remapped_rows.pending"),
        failed=values.flag("remapped_rows.failure"),
        exhausted_banks=values.number("remapped_rows.histogram.none"),
        unrepairable=values.flag("unrepairable_memory"),
    )
    return fact if _tells(fact, "mechanism") else None


def pages(report: Report, values: Values) -> Fact | None:
    """Pages that were retired."""
    fact = GpuMemoryRepair(
        **report.named(),
        mechanism="page-retirement",
        corrected=values.number("retired_pages.single_bit_ecc.count"),
        uncorrected=values.number("retired_pages.double_bit.count"),
        pending=values.flag("retired_pages.pending"),
    )
    return fact if _tells(fact, "mechanism") else None


def recovery(report: Report, values: Values) -> Fact | None:
    """What the driver says that it needs to come back."""
    text = values.text("gpu_recovery_action")
    fact = GpuRecovery(
        **report.named(),
        action=recovery_action(text) if text else None,
        reset_required=values.flag("reset_status.reset_required"),
        drain_recommended=values.flag("reset_status.drain_and_reset_recommended"),
        repair_pending=repair_pending(values),
    )
    return fact if _tells(fact) else None


def throttle(report: Report, values: Values) -> Fact | None:
    """What holds its clocks down."""
    names = ("sw_power_cap", "sw_thermal_slowdown", "hw_slowdown", "hw_thermal_slowdown")
    active = {name: values.flag(f"clocks_event_reasons.{name}") for name in (*names, "hw_power_brake_slowdown")}
    if all(value is None for value in active.values()):
        return None
    return GpuThrottle(
        **report.named(),
        idle=values.flag("clocks_event_reasons.gpu_idle"),
        sw_power_cap=active["sw_power_cap"],
        sw_thermal=active["sw_thermal_slowdown"],
        hw_slowdown=active["hw_slowdown"],
        hw_thermal=active["hw_thermal_slowdown"],
        hw_power_brake=active["hw_power_brake_slowdown"],
        performance_state=values.performance_state(),
        utilisation_percent=values.number("utilization.gpu"),
    )


def temperature(report: Report, values: Values) -> Fact | None:
    """How warm it is."""
    temperature = values.number("temperature.gpu")
    if temperature is None:
        return None
    return GpuTemperature(
        **report.named(),
        state=temperature_state(values),
        temperature_c=temperature,
        memory_c=values.number("temperature.memory"),
        limit_c=values.number("temperature.limit"),
        slowdown_c=values.number("temperature.slowdown"),
        shutdown_c=values.number("temperature.shutdown"),
        margin_c=values.number("temperature.gpu.tlimit"),
    )


def power(report: Report, values: Values) -> Fact | None:
    """What it draws and may draw."""
    limit = values.first_number("enforced.power.limit", "power.limit")
    usual = values.number("power.default_limit")
    draw = values.first_number("power.draw", "power.draw.average", "power.draw.instant")
    if limit is None and draw is None:
        return None
    against: Literal["default", "lowered", "raised"] | None = None
    if limit is not None and usual is not None:
        against = "default" if limit == usual else "lowered" if limit < usual else "raised"
    return GpuPower(
        **report.named(),
        limit=against,
        at_limit=draw >= MEASURED_AT * limit if draw is not None and limit else None,
        draw_w=draw,
        limit_w=limit,
        default_limit_w=usual,
        highest_limit_w=values.number("power.max_limit"),
    )


def link(report: Report, values: Values) -> Fact | None:
    """Its PCIe link."""
    generation = values.first_number("pcie.link.gen.current", "pcie.link.gen.gpucurrent")
    lanes = values.number("pcie.link.width.current")
    replays = values.number("pcie.replays")
    if generation is None and lanes is None and replays is None:
        return None
    device, host = values.number("pcie.link.gen.gpumax"), values.number("pcie.link.gen.hostmax")
    limited: Literal["device", "host"] | None = None
    if device is not None and host is not None and device != host:
        limited = "device" if device < host else "host"
    return GpuPcieLink(
        **report.named(),
        state=link_state(values),
        generation=generation,
        generation_max=values.number("pcie.link.gen.max"),
        limited_by=limited,
        lanes=lanes,
        lanes_max=values.number("pcie.link.width.max"),
        replays=replays,
    )


def bar(report: Report, values: Values) -> Fact | None:
    """Its window for the CPU and for other devices."""
    size, memory = values.number("bar1.total"), values.number("memory.total")
    if size is None:
        return None
    covers = size >= memory if memory is not None else None
    return GpuBar(**report.named(), size_mib=size, covers_memory=covers)


def fabric(report: Report, values: Values) -> Fact | None:
    """Where it stands with the NVLink fabric."""
    text = values.raw("fabric.state")
    states = {"n/a": "not-supported", "not started": "not-started", "in progress": "in-progress"}
    state = (states | {"completed": "completed", "not supported": "not-supported"}).get((text or "").lower())
    if state is None:
        return None
    status = values.text("fabric.status") if state != "not-supported" else None
    summary = (values.text("fabric.health.summary") or "").lower().replace(" ", "-")
    return GpuFabric(
        **report.named(),
        state=cast("Literal['completed']", state),
        status=None if status is None else "success" if status.lower() == "success" else "failure",
        status_text=status,
        clique=values.number("fabric.cliqueId"),
        cluster=values.text("fabric.clusterUuid"),
        health=None
        if not summary
        else cast("Literal['healthy']", summary)
        if summary in {"healthy", "unhealthy", "limited-capacity"}
        else "other",
        problems=fabric_problems(values),
    )


def firmware(report: Report, values: Values) -> Fact | None:
    """Its architecture and firmware."""
    gsp = values.raw("gsp_version")
    version = values.version("gsp_version")
    fact = GpuFirmware(
        **report.named(),
        architecture=values.text("architecture"),
        vbios=values.text("vbios_version"),
        gsp="running" if version else "not-running" if gsp == "N/A" else None,
        gsp_version=version,
    )
    return fact if _tells(fact) else None


def _tells(fact: Fact, *besides: str) -> bool:
    """Whether a fact says more than which GPU it is about."""
    told = fact.model_dump(exclude_none=True, exclude={"index", "bdf", "reported_by", *besides})
    return bool(told)
