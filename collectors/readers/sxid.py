"""Errors of NVSwitches that the NVIDIA driver numbers, from the kernel log: SXid.

    nvidia-nvswitch0: SXid (PCI:0000:05:00.0): 20034, Fatal, Link 30 LTSSM Fault Up
    nvidia-nvswitch3: SXid (PCI:0000:c1:00.0): 12028, Non-fatal, Link 32 egress non-posted PRIV error (First)
    nvidia-nvswitch3: SXid (PCI:0000:c1:00.0): 12028, Severity 1 Engine instance 32 Sub-engine instance 00

Follows src/common/nvswitch/kernel/inc/{common,intr,error}_nvswitch.h of NVIDIA/open-gpu-kernel-modules 515-595.
The lines of detail after an error carry its number and are not counted. Other lines give nothing.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from collectors.readers import _kernel_log
from collectors.readers._event_sums import Sums
from collectors.readers._kernel_events import LOG_MARKERS, KernelLog
from collectors.readers._lines import BDF
from collectors.readers._regex import regex
from kb.evidence import Reader, Reading, Section
from kb.facts.xid import SxidEvent

_SXID = regex(
    rf"nvidia-nvswitch\d{{1,3}}:? SXid \(PCI:(?P<bdf>{BDF})\): (?P<code>\d{{5}}), (?P<severity>Fatal|Non-fatal), "
    r"(?:Link (?P<link>\d{1,3})\b)?"
)


class _Key(NamedTuple):
    code: int
    bdf: str
    link: int | None
    fatal: bool


def read(section: Section) -> Iterator[Reading]:
    """SxidEvent for each number, switch and link."""
    log = KernelLog(section)
    sums: Sums[_Key] = Sums(log)
    for line in log.lines("SXid (PCI:"):
        match = _SXID.search(line.text)
        if match and line.by_kernel(match.start()):
            link = int(match["link"]) if match["link"] else None
            key = _Key(int(match["code"]), match["bdf"].lower(), link, match["severity"] == "Fatal")
            sums.add(key, line, match.start())
    found = False
    for key, sum_ in sums:
        found = True
        fact = SxidEvent(
            code=key.code,
            bdf=key.bdf,
            link=key.link,
            fatal=key.fatal,
            count=sum_.count,
            boot=sum_.boot,
            time=sum_.first.at,
            first_s=sum_.first.at_s,
            host=sum_.first.host,
        )
        yield section.observe(fact, sum_.index)
    whole = _kernel_log.is_whole(section)
    if whole or found or _kernel_log.is_asked_for(section):
        yield _kernel_log.looked(section, SxidEvent, whole=whole)


READER = Reader("sxid", read, markers=("SXid (PCI:", *LOG_MARKERS), commands=_kernel_log.COMMANDS)
