"""Facts on GPUs from their properties, whichever form of nvidia-smi named them. No reader.

A property is a value as printed and the line that it stands in, under the name of `--query-gpu`. `N/A` says that
the GPU has no such thing; an error text in place of a value (`Unknown Error`, `GPU is lost`, `GPU requires reset`)
says nothing on the property.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence

from collectors.readers import _gpu_facts as make
from collectors.readers._gpu_facts import Build, Report
from collectors.readers._gpu_values import Values
from kb.evidence import Looked, Observed, Section
from kb.facts import Fact
from kb.facts.driver import NvmlError
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

_ECC = "ecc.errors.corrected.{0}.", "ecc.errors.uncorrected.{0}."
_KINDS: Sequence[tuple[type[Fact], tuple[tuple[str, ...], ...], Build]] = (
    (
        GpuModes,
        (
            ("persistence_mode", "addressing_mode", "mig.mode."),
            ("virtualization_mode",),
            ("compute_mode",),
            ("ecc.mode.",),
        ),
        make.modes,
    ),
    (GpuEccCounts, (tuple(start.format("volatile") for start in _ECC),), make.ecc("volatile")),
    (GpuEccCounts, (tuple(start.format("aggregate") for start in _ECC),), make.ecc("aggregate")),
    (GpuMemoryRepair, (("remapped_rows.", "unrepairable_memory"),), make.rows),
    (GpuMemoryRepair, (("retired_pages.",),), make.pages),
    (GpuRecovery, (("gpu_recovery_action", "reset_status."), ("channel_repair", "tpc_repair")), make.recovery),
    (GpuThrottle, (("clocks_event_reasons.",),), make.throttle),
    (GpuTemperature, (("temperature.",),), make.temperature),
    (GpuPower, (("power.", "enforced.power.limit"),), make.power),
    (GpuPcieLink, (("pcie.",),), make.link),
    (GpuBar, (("bar1.total",),), make.bar),
    (GpuFabric, (("fabric.",),), make.fabric),
    (GpuFirmware, (("architecture", "vbios_version"), ("gsp_version",)), make.firmware),
)
"""Each kind of fact and how it is made; how the properties that it cites begin, by where they stand together.

Properties that stand far apart give a fact for each place, so that each cites its own lines.
"""
_RESET = "requires reset"
_LOST = "gpu is lost"


def facts_of(section: Section, reports: Iterable[Report]) -> Iterator[Observed]:
    """The facts of each GPU, each citing the lines of its own properties."""
    for report in reports:
        for _, places, build in _KINDS:
            yield from _of_kind(section, report, places, build)
        yield from _of_errors(section, report)


def _of_kind(
    section: Section, report: Report, places: tuple[tuple[str, ...], ...], build: Build
) -> Iterator[Observed]:
    every = tuple(start for place in places for start in place)
    if len(places) == 1 or len(set(_lines(report.values, every))) == 1:
        places = (every,)
    for place in places:
        lines = _lines(report.values, place)
        values = report.values
        if len(places) > 1:
            values = {name: value for name, value in values.items() if name.startswith(place)}
        fact = build(report, Values(values)) if lines else None
        if fact is not None:
            yield section.observe(fact, min(lines), max(lines))


def _of_errors(section: Section, report: Report) -> Iterator[Observed]:
    """What errors in place of values say of the GPU."""
    texts = [(text.lower(), line) for text, line in report.values.values()]
    reset = [line for text, line in texts if _RESET in text]
    if reset:
        yield section.observe(GpuRecovery(**report.named(), reset_required=True), min(reset))
    lost = [line for text, line in texts if _LOST in text]
    if lost:
        yield section.observe(NvmlError(problem="gpu-lost", tool="nvidia-smi", bdf=report.bdf), min(lost))


def looked_of(section: Section, reports: Sequence[Report], *, whole: bool) -> Iterator[Looked]:
    """What was looked for: completely where every GPU is there and none has an error in place of a value."""
    asked: dict[type[Fact], tuple[str, ...]] = {}
    for kind, places, _ in _KINDS:
        asked[kind] = (*asked.get(kind, ()), *(start for place in places for start in place))
    for kind, starts in asked.items():
        there = [bool(_lines(report.values, starts)) for report in reports]
        if any(there):
            readable = all(Values(report.values).are_readable(starts) for report in reports)
            complete = whole and readable and all(there)
            yield section.looked(kind, complete=complete, reason="not-collected" if readable else "unreadable")


def _lines(values: Mapping[str, tuple[str, int]], starts: tuple[str, ...]) -> list[int]:
    return [line for name, (_, line) in values.items() if name.startswith(starts)]
