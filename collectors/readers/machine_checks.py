"""Errors of CPU and host memory that the hardware reported: EDAC, machine checks, firmware-first (APEI).

    EDAC MC0: 1 CE on mc#0csrow#2channel#0 (csrow:2 channel:0 page:0x1234 offset:0x0 grain:64 syndrome:0x0)
    mce: [Hardware Error]: CPU 3: Machine Check: 0 Bank 5: bea0000000000108
    {7415}[Hardware Error]:   section_type: memory error

Follows drivers/edac/{edac_mc.c,mce_amd.c}, arch/x86/kernel/cpu/mce/core.c, drivers/firmware/efi/cper.c and
mm/memory-failure.c of Linux 4.4-6.14. These are not the memory of a GPU. Errors of PCIe devices are told by the
reader of those. Other lines give nothing.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Literal, NamedTuple, TypeAlias

from collectors.readers import _kernel_log
from collectors.readers._event_sums import Sums
from collectors.readers._kernel_events import LOG_MARKERS, KernelLog, LogLine
from collectors.readers._regex import regex
from kb.evidence import Reader, Reading, Section
from kb.facts.kernel import MachineCheck

Part: TypeAlias = Literal["memory", "cpu", "pcie", "other"]
Reporter: TypeAlias = Literal["edac", "mce", "apei"]

_EDAC = regex(
    r"EDAC (?:\w{1,20} )?MC\d{1,3}: (?P<times>\d{1,9}) (?P<kind>CE|UE) (?:[\w :/-]{0,60}? )?on "
    r"(?P<where>[\w#,. -]{1,80}?) \("
)
_BANK = regex(
    r"mce: \[Hardware Error\]: CPU \d{1,5}: Machine Check(?: Exception)?: \d{1,3} "
    r"(?P<where>Bank \d{1,3}): (?P<status>[0-9a-f]{16})"
)
_AMD = regex(
    r"\[Hardware Error\]: CPU:\d{1,5} \([0-9a-f:]{3,12}\) "
    r"(?P<where>MC\d{1,3})_STATUS\[(?P<flags>[^\]]{1,120})\]: 0x"
)
_AMD_MEMORY = regex(r"\[Hardware Error\]: (?:Unified Memory Controller|Northbridge Error|Memory Error)")
_APEI = regex(r"\{(?P<number>\d{1,9})\}\[Hardware Error\]:\s{1,6}(?P<text>\S.{0,160})")
_APEI_TYPE = regex(r"(?:event severity|Error \d{1,3}, type): (?P<severity>\w{4,12})$")
_APEI_PART: dict[str, Part] = {
    "memory error": "memory",
    "general processor error": "cpu",
    "IA32/X64 processor error": "cpu",
    "ARM processor error": "cpu",
}
_FAILURE = regex(
    r"Memory failure: 0x[0-9a-f]{1,16}: "
    r"(?:Killing .{1,40}:\d{1,10} due to hardware memory corruption|recovery action for )"
)
_UNCORRECTED_BIT = 61
_AMD_MEMORY_LINES = 4


class _Key(NamedTuple):
    part: Part
    corrected: bool
    by: Reporter


@dataclass
class _Log:
    """What has been read."""

    sums: Sums[_Key]
    amd: tuple[LogLine, int, str, bool] | None = None
    """A bank of an AMD machine check whose kind later lines may tell: line, start, bank, corrected."""
    apei: dict[str, str] = field(default_factory=dict)
    """Severity by number of report."""


def read(section: Section) -> Iterator[Reading]:
    """MachineCheck for each part, corrected or not, and reporter."""
    kernel_log = KernelLog(section)
    log = _Log(Sums(kernel_log))
    for line in kernel_log.lines("EDAC ", "[Hardware Error]:", "Memory failure: 0x"):
        _note(log, line)
    _end_amd(log)
    found = False
    for key, sum_ in log.sums:
        found = True
        fact = MachineCheck(
            part=key.part,
            corrected=key.corrected,
            location=sum_.said.get("where"),
            reported_by=key.by,
            count=sum_.count,
            boot=sum_.boot,
            time=sum_.first.at,
            first_s=sum_.first.at_s,
        )
        yield section.observe(fact, sum_.index)
    whole = _kernel_log.is_whole(section)
    if whole or found or _kernel_log.is_asked_for(section):
        yield _kernel_log.looked(section, MachineCheck, whole=whole)


def _note(log: _Log, line: LogLine) -> None:
    if log.amd and _AMD_MEMORY.search(line.text) and line.index - log.amd[0].index <= _AMD_MEMORY_LINES:
        _end_amd(log, "memory")
        return
    for pattern, take in _TAKERS:
        match = pattern.search(line.text)
        if match and line.by_kernel(match.start()):
            take(log, line, match)
            return


def _edac(log: _Log, line: LogLine, match: re.Match[str]) -> None:
    sum_ = log.sums.add(_Key("memory", match["kind"] == "CE", "edac"), line, match.start())
    sum_.said.setdefault("where", match["where"])
    sum_.count += min(int(match["times"]), 1_000_000) - 1 if int(match["times"]) else 0


def _bank(log: _Log, line: LogLine, match: re.Match[str]) -> None:
    corrected = not int(match["status"], 16) >> _UNCORRECTED_BIT & 1
    log.sums.add(_Key("cpu", corrected, "mce"), line, match.start()).said.setdefault("where", match["where"])


def _amd(log: _Log, line: LogLine, match: re.Match[str]) -> None:
    _end_amd(log)
    flags = match["flags"].split("|")
    log.amd = (line, match.start(), match["where"], "UE" not in flags and "UC" not in flags and "PCC" not in flags)


def _end_amd(log: _Log, part: Part = "cpu") -> None:
    if log.amd:
        line, start, where, corrected = log.amd
        log.sums.add(_Key(part, corrected, "mce"), line, start).said.setdefault("where", where)
        log.amd = None


def _apei(log: _Log, line: LogLine, match: re.Match[str]) -> None:
    text = match["text"].rstrip()
    kind = _APEI_TYPE.match(text)
    if len(log.apei) > 64:
        log.apei.clear()
    if kind:
        log.apei[match["number"]] = kind["severity"]
    part = _APEI_PART.get(text.removeprefix("section_type: ")) if text.startswith("section_type: ") else None
    if part:
        corrected = log.apei.get(match["number"], "corrected") in {"corrected", "info"}
        log.sums.add(_Key(part, corrected, "apei"), line, match.start())


def _failure(log: _Log, line: LogLine, match: re.Match[str]) -> None:
    log.sums.add(_Key("memory", corrected=False, by="mce"), line, match.start())


_TAKERS = ((_EDAC, _edac), (_BANK, _bank), (_AMD, _amd), (_APEI, _apei), (_FAILURE, _failure))

READER = Reader(
    "machine-checks",
    read,
    markers=("EDAC ", "[Hardware Error]:", "Memory failure: 0x", *LOG_MARKERS),
    commands=_kernel_log.COMMANDS,
)
