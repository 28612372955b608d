"""PCI Express errors and lost links from the kernel log: AER, firmware-first (APEI), containment, hot-plug.

    nvidia 0000:41:00.0: PCIe Bus Error: severity=Correctable, type=Physical Layer, (Receiver ID)
    nvidia 0000:41:00.0:    [ 0] RxErr                  (First)
    pcieport 0000:40:01.1: pciehp: Slot(4): Link Down

Follows drivers/pci/pcie/{aer.c,dpc.c}, drivers/pci/hotplug/pciehp_ctrl.c and drivers/firmware/efi/cper.c of Linux
4.4-6.14. Bits are told by the names that newer kernels print, whichever words the log has. An error of which only
the root port's message is in the log counts by that message. Other lines give nothing.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Literal, NamedTuple, TypeAlias

from collectors.readers import _kernel_log
from collectors.readers._event_sums import Sum, Sums
from collectors.readers._kernel_events import LOG_MARKERS, KernelLog, LogLine
from collectors.readers._lines import BDF
from collectors.readers._regex import regex
from collectors.readers.pcie_bits import names_of_bits, normal
from kb.evidence import Observed, Reader, Reading, Section
from kb.facts.pcie import PcieBridge, PcieError, PcieLinkEvent

Severity: TypeAlias = Literal["corrected", "nonfatal", "fatal"]
Event: TypeAlias = Literal["link-down", "card-removed", "containment", "power-fault"]
Reporter: TypeAlias = Literal["aer", "apei", "dpc"]

_SEVERITY = r"(?P<severity>Correct(?:ed|able)|Uncorrect(?:ed|able) \((?:Non-)?Fatal\))"
_DEVICE = rf"(?P<driver>[\w-]{{1,40}}) (?P<bdf>{BDF}): (?:AER: )?"
_BUS_ERROR = regex(rf"{_DEVICE}PCIe Bus Error: severity={_SEVERITY}, type=")
_MESSAGE = regex(
    rf"{_DEVICE}(?:Multiple )?{_SEVERITY} error (?:received:|message received from) "
    rf"(?:id=(?P<id>[0-9a-f]{{4}})|(?P<source>{BDF}))"
)
_STATUS = regex(
    rf"{_DEVICE}\s{{1,4}}device \[(?P<vendor>[0-9a-f]{{4}}):[0-9a-f]{{4}}\] "
    r"error status/mask=(?P<status>[0-9a-f]{8})/(?P<mask>[0-9a-f]{8})"
)
_BELOW = regex(
    rf"nvidia (?P<bdf>{BDF}): (?:AER: )?"
    r"(?:can't recover \(no error_detected callback\)|device has no AER-aware driver)"
)
_APEI = regex(r"\{(?P<number>\d{1,9})\}\[Hardware Error\]:\s{1,6}(?P<text>\S.{0,160})")
_APEI_SEVERITY: dict[str, Severity] = {"corrected": "corrected", "recoverable": "nonfatal", "fatal": "fatal"}
_APEI_TYPE = regex(r"(?:event severity|Error \d{1,3}, type): (?P<severity>\w{4,12})$")
_APEI_DEVICE = regex(rf"device_id: (?P<bdf>{BDF})$")
_APEI_VENDOR = regex(r"vendor_id: 0x(?P<vendor>[0-9a-f]{4}), device_id:")
_APEI_STATUS = regex(
    r"aer_(?:un)?cor_status: 0x(?P<status>[0-9a-f]{8}), aer_(?:un)?cor_mask: 0x(?P<mask>[0-9a-f]{8})"
)
_BY_FIRMWARE = regex(
    rf"{_DEVICE}aer_(?P<kind>un|)(?:cor_)?status: 0x(?P<status>[0-9a-f]{{8}}), "
    r"aer_(?:(?:un)?cor_)?mask: 0x(?P<mask>[0-9a-f]{8})"
)
_CONTAINED = regex(rf"pcieport (?P<bdf>{BDF}): DPC: containment event, status:0x")
_SLOT = regex(
    rf"(?:pcieport|pciehp) (?P<bdf>{BDF}): ?(?:pciehp: |pcie\d{{1,4}}: )?"
    r"(?:[Ss]lot\((?P<slot>[^)]{1,20})\): (?P<what>Link Down|Card not present|Power fault)"
    r"|(?P<old>Card not present|Power fault) on [Ss]lot ?\(?(?P<old_slot>[^)\s]{1,20}))"
)
_BRIDGE = regex(
    rf"pci (?P<bdf>{BDF}): PCI bridge to \[bus (?P<first>[0-9a-f]{{2}})(?:-(?P<last>[0-9a-f]{{2}}))?\]"
)
_SLOT_EVENTS: dict[str, Event] = {
    "Link Down": "link-down",
    "Card not present": "card-removed",
    "Power fault": "power-fault",
}
_MARKERS = (
    *("PCIe Bus Error:", "AER: Corr", "AER: Uncorr", "AER: Multiple", "error status/mask=", "no error_detected"),
    *("aer_cor_status: ", "aer_status: ", "aer_uncor_status: "),
    *(
        "no AER-aware driver",
        "[Hardware Error]:",
        "DPC: containment",
        "Link Down",
        "Card not present",
        "Power fault",
    ),
)
_BRIDGES = "PCI bridge to [bus"
_BELOW_LINES = 30
_MOST_BRIDGES = 4096


class _Key(NamedTuple):
    bdf: str
    severity: Severity
    by: Reporter


@dataclass
class _Log:
    """What has been read."""

    errors: Sums[_Key]
    messages: Sums[_Key]
    links: Sums[tuple[str, Event, str | None]]
    last: dict[str, tuple[Sum, Severity]] = field(default_factory=dict)
    """The last error of each device, for the lines that follow it."""
    reported: tuple[int, Sum] | None = None
    """The last error of a port, and where it stood."""
    apei: dict[str, dict[str, str]] = field(default_factory=dict)
    bridges: dict[str, PcieBridge] = field(default_factory=dict)
    bridge_lines: dict[str, int] = field(default_factory=dict)


def read(section: Section) -> Iterator[Reading]:
    """PcieError for each device and severity, PcieLinkEvent for each port, and the buses behind those ports."""
    kernel_log = KernelLog(section)
    log = _Log(Sums(kernel_log), Sums(kernel_log), Sums(kernel_log))
    for line in kernel_log.lines(*_MARKERS, _BRIDGES):
        _note(log, line)
    found = [*_errors(section, log), *_link_events(section, log)]
    yield from found
    ports = {str(getattr(observed.fact, "bdf", "")) for observed in found}
    for bdf, bridge in log.bridges.items():
        if bdf in ports:
            yield section.observe(bridge, log.bridge_lines[bdf])
    whole = _kernel_log.is_whole(section)
    if whole or found or _kernel_log.is_asked_for(section):
        yield _kernel_log.looked(section, PcieError, whole=whole)
        yield _kernel_log.looked(section, PcieLinkEvent, whole=whole)


def _note(log: _Log, line: LogLine) -> None:
    for pattern, take in _TAKERS:
        match = pattern.search(line.text)
        if match and line.by_kernel(match.start()):
            take(log, line, match)
            return


def _severity(text: str) -> Severity:
    return "corrected" if text.startswith("Corr") else "nonfatal" if "Non" in text else "fatal"


def _bus_error(log: _Log, line: LogLine, match: re.Match[str]) -> None:
    bdf, severity = normal(match["bdf"]), _severity(match["severity"])
    sum_ = log.errors.add(_Key(bdf, severity, "aer"), line, match.start())
    sum_.said.setdefault("driver", match["driver"])
    log.last[bdf] = (sum_, severity)
    log.reported = (line.index, sum_)


def _message(log: _Log, line: LogLine, match: re.Match[str]) -> None:
    """The root port's own message; the sender may be the port itself."""
    bdf = normal(match["bdf"])
    if match["source"]:
        bdf = normal(match["source"])
    elif match["id"]:
        number = int(match["id"], 16)
        bdf = f"{bdf[:4]}:{number >> 8:02x}:{number >> 3 & 0x1F:02x}.{number & 7}"
    sum_ = log.messages.add(_Key(bdf, _severity(match["severity"]), "aer"), line, match.start())
    if bdf == normal(match["bdf"]):
        sum_.said.setdefault("driver", match["driver"])


def _status(log: _Log, _line: LogLine, match: re.Match[str]) -> None:
    sum_, severity = log.last.get(normal(match["bdf"]), (None, "fatal"))
    if sum_ is not None:
        sum_.said.setdefault("vendor", match["vendor"])
        bits = int(match["status"], 16) & ~int(match["mask"], 16)
        sum_.said["bits"] = sum_.said.get("bits", frozenset()) | names_of_bits(
            bits, corrected=severity == "corrected"
        )


def _by_firmware(log: _Log, _: LogLine, match: re.Match[str]) -> None:
    """The kernel's own words on a device that firmware reported: its bits."""
    sum_, severity = log.last.get(normal(match["bdf"]), (None, "corrected"))
    if sum_ is not None:
        sum_.said.setdefault("driver", match["driver"])
        bits = int(match["status"], 16) & ~int(match["mask"], 16)
        names = names_of_bits(bits, corrected=severity == "corrected")
        sum_.said["bits"] = sum_.said.get("bits", frozenset()) | names


def _below(log: _Log, line: LogLine, match: re.Match[str]) -> None:
    if log.reported and line.index - log.reported[0] <= _BELOW_LINES:
        log.reported[1].said.setdefault("below", normal(match["bdf"]))


def _apei(log: _Log, line: LogLine, match: re.Match[str]) -> None:
    """One line of a firmware's report; its device line completes a PCIe error."""
    text = match["text"].rstrip()
    if len(log.apei) > 64:
        log.apei.clear()
    known = log.apei.setdefault(match["number"], {})
    kind, device = _APEI_TYPE.match(text), _APEI_DEVICE.match(text)
    vendor, status = _APEI_VENDOR.match(text), _APEI_STATUS.match(text)
    if kind:
        known["severity"] = kind["severity"]
    elif text.startswith("section_type:"):
        known["section"] = text
    elif device and known.get("section", "").endswith("PCIe error"):
        severity = _APEI_SEVERITY.get(known.get("severity", ""), "corrected")
        bdf = normal(device["bdf"])
        sum_ = log.errors.add(_Key(bdf, severity, "apei"), line, match.start())
        log.last[bdf] = (sum_, severity)
        known["bdf"] = bdf
    elif (vendor or status) and known.get("bdf") in log.last:
        sum_, severity = log.last[known["bdf"]]
        if vendor:
            sum_.said.setdefault("vendor", vendor["vendor"])
        if status:
            bits = int(status["status"], 16) & ~int(status["mask"], 16)
            names = names_of_bits(bits, corrected=text.startswith("aer_cor"))
            sum_.said["bits"] = sum_.said.get("bits", frozenset()) | names


def _contained(log: _Log, line: LogLine, match: re.Match[str]) -> None:
    log.links.add((normal(match["bdf"]), "containment", None), line, match.start())


def _slot(log: _Log, line: LogLine, match: re.Match[str]) -> None:
    event = _SLOT_EVENTS[match["what"] or match["old"]]
    log.links.add((normal(match["bdf"]), event, match["slot"] or match["old_slot"]), line, match.start())


def _bridge(log: _Log, line: LogLine, match: re.Match[str]) -> None:
    bdf = normal(match["bdf"])
    if len(log.bridges) < _MOST_BRIDGES:
        first = int(match["first"], 16)
        last = int(match["last"], 16) if match["last"] else first
        log.bridges[bdf] = PcieBridge(bdf=bdf, secondary=first, subordinate=last)
        log.bridge_lines[bdf] = line.index


_TAKERS = (
    (_BUS_ERROR, _bus_error),
    (_STATUS, _status),
    (_MESSAGE, _message),
    (_BELOW, _below),
    (_APEI, _apei),
    (_BY_FIRMWARE, _by_firmware),
    (_CONTAINED, _contained),
    (_SLOT, _slot),
    (_BRIDGE, _bridge),
)


def _errors(section: Section, log: _Log) -> Iterator[Observed]:
    errors = list(log.errors)
    told = {(key.bdf, sum_.boot) for key, sum_ in errors}
    others = [(key, sum_) for key, sum_ in log.messages if (key.bdf, sum_.boot) not in told]
    for key, sum_ in (*errors, *others):
        fact = PcieError(
            bdf=key.bdf,
            severity=key.severity,
            bits=", ".join(sorted(sum_.said["bits"])) if sum_.said.get("bits") else None,
            driver=sum_.said.get("driver"),
            vendor_id=sum_.said.get("vendor"),
            below=sum_.said.get("below"),
            reported_by=key.by,
            count=sum_.count,
            boot=sum_.boot,
            time=sum_.first.at,
            first_s=sum_.first.at_s,
            last_s=sum_.last.at_s if sum_.count > 1 else None,
        )
        yield section.observe(fact, sum_.index)


def _link_events(section: Section, log: _Log) -> Iterator[Observed]:
    for (bdf, event, slot), sum_ in log.links:
        fact = PcieLinkEvent(
            bdf=bdf,
            event=event,
            slot=slot,
            count=sum_.count,
            boot=sum_.boot,
            time=sum_.first.at,
            first_s=sum_.first.at_s,
        )
        yield section.observe(fact, sum_.index)


READER = Reader(
    "pcie-errors",
    read,
    markers=(*_MARKERS, *LOG_MARKERS),
    commands=_kernel_log.COMMANDS,
    lines=(*_MARKERS, *LOG_MARKERS, _BRIDGES),
)
