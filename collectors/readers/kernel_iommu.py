"""DMA that the IOMMU refused, and the default domain that the kernel chose at boot, from the kernel log.

    nvidia 0000:07:00.0: AMD-Vi: Event logged [IO_PAGE_FAULT domain=0x0003 address=0x80000040 flags=0x0020]
    DMAR: [DMA Write NO_PASID] Request device [41:00.0] fault addr 0xd0000000 [fault reason 0x05] PTE Write …
    iommu: Default domain type: Translated

Follows drivers/iommu/{iommu.c,amd/iommu.c,intel/dmar.c,arm/arm-smmu-v3} of Linux 4.4-6.14. Faults of interrupt
remapping are no DMA. Faults are counted for each device, a line that a report holds twice once; what does not fit
gives nothing.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Literal, TypeAlias

from collectors.readers import _kernel_log
from collectors.readers._kernel_parameters import parameters_of
from collectors.readers._lines import BDF, MOST_COLUMNS, is_lead
from collectors.readers._regex import regex
from kb.evidence import Observed, Reader, Reading, Section
from kb.facts.iommu import IommuDefault, IommuFault
from kb.facts.machine import KernelParameter

Vendor: TypeAlias = Literal["amd", "intel", "arm"]
Access: TypeAlias = Literal["read", "write"]

_AMD = regex(
    rf"(?:(?P<driver>[\w-]{{1,40}}) (?P<bound>{BDF}): )?AMD-Vi: (?:\[Hardware Error\]: )?Event logged "
    rf"\[(?:IO_PAGE_FAULT|RMP_PAGE_FAULT) (?:device=(?P<device>{BDF}),? )?(?P<rest>[^\]]{{0,200}})\]"
)
_AMD_FLAGS = regex(r"\bflags=0x([0-9a-f]{1,8})")
_AMD_WRITE = 0x20
_INTEL = regex(
    rf"(?:DMAR: ?|dmar: )\[DMA (?P<access>Read|Write)[^\]]{{0,40}}\] Request device \[(?P<device>{BDF})\]"
    r"(?P<rest>.{0,200})"
)
_ARM = regex(rf"arm-smmu-v3 \S{{1,60}}: event: F_\w{{1,20}} client: (?P<device>{BDF}) sid:(?P<rest>.{{0,120}})")
_DEFAULT = regex(
    r"iommu: Default domain type: (?P<domain>Translated|Passthrough)\s{0,4}"
    r"(?P<explicit>\(set via kernel command line\))?\s*$"
)
_OLD_PASSTHROUGH = regex(r"AMD-Vi: Initialized for Passthrough Mode\s*$")
_COMMAND_LINE = regex(r"Command line: (?P<text>\S.*)$")
_MOST_COMMAND_LINE = 8192
_MOST_REMEMBERED = 20_000
_MOST_DEVICES = 512


@dataclass
class _Faults:
    """The faults of one device so far."""

    line: int
    vendor: Vendor
    driver: str | None
    count: int = 0
    first_s: float | None = None
    last_s: float | None = None
    accesses: set[Access | None] = field(default_factory=set)


def read(section: Section) -> Iterator[Reading]:
    """IommuFault for each device, the last IommuDefault, and the parameters of the last boot."""
    faults = list(_faults(section))
    yield from faults
    default = _default(section)
    if default:
        yield default
    parameters = list(_parameters(section))
    yield from parameters
    whole = _kernel_log.is_whole(section)
    if whole or faults or default or _kernel_log.is_asked_for(section):
        yield _kernel_log.looked(section, IommuFault, whole=whole)
        yield _kernel_log.looked(section, IommuDefault, whole=whole)
    if parameters:
        yield section.looked(KernelParameter)


def _faults(section: Section) -> Iterator[Observed]:
    devices: dict[str, _Faults] = {}
    remembered: set[tuple[float, str]] = set()
    for index, line in section.matching("_PAGE_FAULT", "[DMA ", "event: F_"):
        found = _fault(line[:MOST_COLUMNS])
        if found is None:
            continue
        device, faults, stamp, rest = found
        if stamp is not None:
            if (stamp, device + rest) in remembered:
                continue
            if len(remembered) < _MOST_REMEMBERED:
                remembered.add((stamp, device + rest))
        if len(devices) < _MOST_DEVICES or device in devices:
            faults.line = index
            _count(devices.setdefault(device, faults), faults, stamp)
    for device, faults in devices.items():
        yield section.observe(_fact(device, faults), faults.line)


def _fault(line: str) -> tuple[str, _Faults, float | None, str] | None:
    """Device, what this line alone says, its stamp, and the text that tells two faults apart."""
    match = _AMD.search(line) or _INTEL.search(line) or _ARM.search(line)
    if match is None or not is_lead(line[: match.start()]):
        return None
    named = match.groupdict()
    device = named["device"] or named.get("bound")
    if device is None:
        return None
    if match.re.pattern == _AMD.pattern:
        flags = _AMD_FLAGS.search(match["rest"])
        write = flags is not None and int(flags[1], 16) & _AMD_WRITE
        faults = _Faults(0, "amd", named["driver"])
        faults.accesses.add(("write" if write else "read") if flags else None)
    elif match.re.pattern == _INTEL.pattern:
        faults = _Faults(0, "intel", None)
        faults.accesses.add("write" if match["access"] == "Write" else "read")
    else:
        faults = _Faults(0, "arm", None, accesses={None})
    device = device.lower() if device.count(":") == 2 else f"0000:{device.lower()}"
    return device, faults, _kernel_log.stamp_s(line[: match.start()]), match["rest"]


def _count(sum_: _Faults, one: _Faults, stamp: float | None) -> None:
    sum_.count += 1
    sum_.driver = sum_.driver or one.driver
    sum_.accesses |= one.accesses
    if stamp is not None:
        sum_.first_s = stamp if sum_.first_s is None else min(sum_.first_s, stamp)
        sum_.last_s = stamp if sum_.last_s is None else max(sum_.last_s, stamp)


def _fact(device: str, faults: _Faults) -> IommuFault:
    """The sum as a fact; the access only where all its lines agree."""
    return IommuFault(
        bdf=device,
        driver=faults.driver,
        vendor=faults.vendor,
        access=next(iter(faults.accesses)) if len(faults.accesses) == 1 else None,
        count=faults.count,
        first_s=faults.first_s,
        last_s=faults.last_s,
    )


def _default(section: Section) -> Observed | None:
    """The announcement of the last boot in the section."""
    last: Observed | None = None
    for index, whole in section.matching("Default domain type: ", "Initialized for Passthrough"):
        line = whole[:MOST_COLUMNS]
        match = _DEFAULT.search(line) or _OLD_PASSTHROUGH.search(line)
        if match is None or not is_lead(line[: match.start()]):
            continue
        translated = match.groupdict().get("domain") == "Translated"
        explicit = match.re.pattern == _OLD_PASSTHROUGH.pattern or match["explicit"] is not None
        fact = IommuDefault(domain="translated" if translated else "passthrough", explicit=explicit)
        last = section.observe(fact, index)
    return last


def _parameters(section: Section) -> Iterator[Observed]:
    """The kernel's parameters as it logs them first thing, of the last boot in the section."""
    last: tuple[int, str] | None = None
    for index, line in section.matching("Command line: "):
        match = _COMMAND_LINE.search(line[:_MOST_COMMAND_LINE])
        if match and line[: match.start()].strip() and is_lead(line[: match.start()]):
            last = (index, match["text"])
    for parameter in parameters_of(last[1]) if last else ():
        yield section.observe(parameter, last[0] if last else 0)


READER = Reader(
    "kernel-iommu",
    read,
    markers=("AMD-Vi", "DMAR", "dmar: ", "iommu: ", "arm-smmu-v3", "Command line: ", *_kernel_log.BOOT_MARKERS),
    commands=_kernel_log.COMMANDS,
)
