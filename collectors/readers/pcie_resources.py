"""PCI memory windows that got no address, and links on the way that limit a device, as the kernel logs at boot.

    pci 0000:41:00.0: BAR 1 [mem size 0x800000000 64bit pref]: can't assign; no space
    pci 0000:41:00.0: BAR 1: no space for [mem size 0x800000000 64bit pref]
    pci 0000:41:00.0: 15.752 Gb/s available PCIe bandwidth, limited by 2.5 GT/s PCIe x16 link at 0000:40:01.1 (…)

Follows drivers/pci/{setup-res.c,setup-bus.c,pci.c} of Linux 4.17-6.14. The kernel tries several times: what it
assigned in the end is no problem. Windows of bridges, I/O ports and expansion ROMs give nothing.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Literal, NamedTuple, TypeAlias

from collectors.readers import _kernel_log
from collectors.readers._kernel_events import LOG_MARKERS, BootId, KernelLog, LogLine
from collectors.readers._lines import BDF
from collectors.readers._regex import regex
from collectors.readers.pcie_bits import normal
from kb.evidence import Reader, Reading, Section
from kb.facts.pcie import BarProblem, PcieBandwidth

Problem: TypeAlias = Literal["no-space", "conflict", "not-claimed"]

_DEVICE = rf"(?:pci|[\w-]{{1,40}}) (?P<bdf>{BDF}): "
_SPACE = r"\[mem (?:size 0x(?P<size>[0-9a-f]{1,16})|0x[0-9a-f]{1,16}-0x[0-9a-f]{1,16})[^\]]{0,40}\]"
_BAR = regex(
    rf"{_DEVICE}(?P<claim>can't claim )?BAR (?P<bar>[0-5])(?: {_SPACE}: (?P<what>[^;:(]{{1,40}}(?:; no space)?)"
    rf"|: (?P<old>no space for|failed to assign|assigned|can't assign) {_SPACE.replace('size>', 'old_size>')})"
)
_BANDWIDTH = regex(
    rf"{_DEVICE}[\d.]{{1,8}} Gb/s available PCIe bandwidth, limited by "
    rf"(?P<speed>[\d.]{{1,4}}) GT/s PCIe x(?P<width>\d{{1,2}}) link at (?P<at>{BDF}) "
    r"\(capable of [\d.]{1,8} Gb/s with (?P<most>[\d.]{1,4}) GT/s PCIe x(?P<lanes>\d{1,2}) link\)"
)
_GPU = regex(rf"pci (?P<bdf>{BDF}): \[10de:[0-9a-f]{{4}}\] type 00 class (?:0x03(?:00|02)00)")
_MIB = 1 << 20
_MOST = 1024


class _Place(NamedTuple):
    bdf: str
    bar: int


class _State(NamedTuple):
    """What the log last said of one window."""

    problem: Problem | None
    size_mib: int | None
    line: LogLine
    start: int


def read(section: Section) -> Iterator[Reading]:
    """BarProblem for each window without an address in the end, PcieBandwidth for each limited device."""
    log = KernelLog(section)
    bars: dict[tuple[_Place, BootId], _State] = {}
    limited: dict[tuple[str, BootId], tuple[LogLine, re.Match[str]]] = {}
    gpus: set[str] = set()
    for line in log.lines(": BAR ", "claim BAR ", "available PCIe bandwidth, limited", ": [10de:"):
        gpu = _GPU.search(line.text)
        if gpu and line.by_kernel(gpu.start()):
            gpus.add(normal(gpu["bdf"]))
        bar = _BAR.search(line.text)
        if bar and line.by_kernel(bar.start()) and len(bars) < _MOST:
            place = _Place(normal(bar["bdf"]), int(bar["bar"]))
            bars[place, line.boot] = _state(line, bar, bars.get((place, line.boot)))
        limit = _BANDWIDTH.search(line.text)
        if limit and line.by_kernel(limit.start()) and len(limited) < _MOST:
            limited[normal(limit["bdf"]), line.boot] = (line, limit)
    seen: set[BarProblem | PcieBandwidth] = set()
    for fact, index in (*_problems(log, bars, gpus), *_limits(log, limited)):
        if fact not in seen:
            seen.add(fact)
            yield section.observe(fact, index)
    whole = _kernel_log.is_whole(section)
    if whole or seen or _kernel_log.is_asked_for(section):
        yield _kernel_log.looked(section, BarProblem, whole=whole)
        yield _kernel_log.looked(section, PcieBandwidth, whole=whole)


def _state(line: LogLine, match: re.Match[str], before: _State | None) -> _State:
    text = (match["what"] or match["old"]).strip()
    problem: Problem | None = "no-space"
    if match["claim"]:
        problem = "conflict" if "conflict" in text else "not-claimed"
    elif text in {"assigned", "releasing"}:
        problem = None
    size = match["size"] or match["old_size"]
    size_mib = int(size, 16) // _MIB if size else before.size_mib if before else None
    return _State(problem, size_mib, line, match.start())


def _problems(
    log: KernelLog, bars: dict[tuple[_Place, BootId], _State], gpus: set[str]
) -> Iterator[tuple[BarProblem | PcieBandwidth, int]]:
    for (place, boot), state in bars.items():
        if state.problem is not None:
            which = log.which(boot, state.line.stamp(state.start))
            fact = BarProblem(
                bdf=place.bdf,
                bar=place.bar,
                problem=state.problem,
                size_mib=state.size_mib,
                gpu=True if place.bdf in gpus else None,
                boot=which,
            )
            yield fact, state.line.index


def _limits(
    log: KernelLog, limited: dict[tuple[str, BootId], tuple[LogLine, re.Match[str]]]
) -> Iterator[tuple[BarProblem | PcieBandwidth, int]]:
    for (bdf, boot), (line, match) in limited.items():
        fact = PcieBandwidth(
            bdf=bdf,
            width=int(match["width"]),
            speed_gts=_number(match["speed"]),
            limited_at=normal(match["at"]),
            capable_width=int(match["lanes"]),
            capable_speed_gts=_number(match["most"]),
            boot=log.which(boot, line.stamp(match.start())),
        )
        yield fact, line.index


def _number(text: str) -> float:
    whole, _, part = text.partition(".")
    return float(f"{whole or 0}.{part if part.isdigit() else 0}")


READER = Reader(
    "pcie-resources",
    read,
    markers=(": BAR ", "claim BAR ", "available PCIe bandwidth, limited", *LOG_MARKERS),
    commands=_kernel_log.COMMANDS,
)
