"""NVIDIA GPUs and NVSwitches on the PCI bus, links, and the ACS flags of the bridges above them, from lspci.

    41:00.0 3D controller [0302]: NVIDIA Corporation GH100 [H100 PCIe] [10de:2331] (rev a1)
        Region 1: Memory at <unassigned> (64-bit, prefetchable)
    Kernel driver in use: nvidia
    07:00.0 Bridge [0680]: NVIDIA Corporation GH100 [H100 NVSwitch] [10de:22a3] (rev a1)
                ACSCtl:	SrcValid+ TransBlk- ReqRedir+ CmpltRedir+ UpstreamFwd+ EgressCtrl- DirectTrans-

Follows lspci of pciutils 3.1-3.13, `-n`, `-nn` and `-vvv`. A link that a later listing shows at full speed was
idle before. Flags that grep picked out have no address. The collector prints bridges in the same form.
Capabilities that an ordinary user may not read prove nothing. Other lines give nothing.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

from collectors.readers._lines import BDF, MOST_COLUMNS, command_of
from collectors.readers._pci_device import FIRST_SWITCH_ID
from collectors.readers._regex import regex
from kb.evidence import Observed, Reader, Reading, Section
from kb.facts.fabric import NvswitchOnBus
from kb.facts.gpu import Gpu
from kb.facts.gpu_bus import GpuCount
from kb.facts.gpu_state import GpuBar, GpuPcieLink, LinkState
from kb.facts.iommu import AcsControl

_DEVICE = regex(
    rf"(?P<bdf>{BDF}) (?P<class>[A-Z0-9][\w /()+-]{{2,60}}?)(?: \[(?P<code>[0-9a-f]{{4}})\])?"
    r": (?P<what>\S.{0,200})$"
)
_DEVICE_BY_NUMBER = regex(
    rf"(?P<bdf>{BDF}) (?P<code>03[0-9a-f]{{2}}|0680): (?P<what>10de:[0-9a-f]{{4}}.{{0,40}})$"
)
_GPU_CLASSES = frozenset({"3D controller", "VGA compatible controller", "Display controller"})
_NAME = regex(
    r"NVIDIA Corporation (?P<name>.{1,120}?)(?: \[10de:[0-9a-f]{4}\])?(?: \(rev [0-9a-f]{2}\))?"
    r"(?: \(prog-if .{1,60}\))?\s*$"
)
_DEVICE_ID = regex(r"(?:\[10de:|Device |10de:)(?P<id>[0-9a-f]{4})\b")
_CHIP = regex(r"NVIDIA Corporation (?P<chip>(?:G[A-Z]|TU|AD)\d{2,3}[A-Z]{0,4})\b")
_NAME_IN_BRACKETS = regex(r"\S{1,20} \[([^\[\]]{2,80})\]$")
_OFF = regex(r"\(rev ff\)")
_OFF_HEADER = regex(r"\s{1,8}!!! Unknown header type 7f")
_DRIVER = regex(r"\s{1,8}Kernel driver in use: (\S{1,40})\s*$")
_LINK = regex(
    r"\s{1,24}Lnk(?P<which>Cap|Sta):\s{1,4}(?:Port #\d{1,3}, )?Speed (?P<speed>\d{1,3}(?:\.\d)?)GT/s"
    r"(?: \(\w{2,12}\))?, "
    r"Width x(?P<lanes>\d{1,2})\b"
)
_GENERATIONS = {2.5: 1, 5.0: 2, 8.0: 3, 16.0: 4, 32.0: 5, 64.0: 6}
_REGION_1 = regex(
    r"\s{1,8}Region 1: Memory at (?P<at><(?:unassigned|ignored)>|[0-9a-f]{4,16})(?P<kind> \([^)]{3,40}\))"
    r"(?: \[(?:virtual|disabled|enhanced)\])?(?: \[size=(?P<size>\d{1,4})(?P<unit>[KMGT])\])?"
)
_MIB = {"K": 0, "M": 1, "G": 1024, "T": 1024 * 1024}
_ACS = regex(r"\s{1,24}ACSCtl:\s{1,8}(?P<flags>[A-Z]\w{2,20}[+-](?: [A-Z]\w{2,20}[+-]){1,12})\s*$")
_DENIED = "<access denied>"
_COUNT = regex(r"ACSCtl.{0,40}\| ?grep -c")
_SPACE = "cat /sys/bus/pci/devices/*/config"
"""Bridges alone, as the collector shows what it reads of their configuration space."""
_CUT = regex(r"\| ?(?:head|tail|sed|awk)\b|-d ?(?!10de)[0-9a-f]{4}:")
_GREP = regex(r"\| ?(?:sudo )?[ef]?grep\b")
_OF_GPUS = regex(
    r"(?i:nvidia|10de|vga|3d|display|controller|accelerat)|03[0x]|\bgrep (?:-\w{1,6} )?(?:''|\"\"|\.)(?:\s|$)"
)


@dataclass
class _Device:
    """One device of the listing, as far as it has been read."""

    line: int
    gpu: Gpu | None
    switch: NvswitchOnBus | None = None
    is_bridge: bool = False
    able: re.Match[str] | None = None
    """The line on what its link can."""
    link: tuple[GpuPcieLink, int] | None = None
    later: tuple[GpuPcieLink, int] | None = None
    """Its link in a later listing, where it has all its speed."""
    window: tuple[GpuBar, int] | None = None
    acs: tuple[AcsControl, int] | None = None


def read(section: Section) -> Iterator[Reading]:
    """Gpu, GpuPcieLink and GpuBar for each NVIDIA display or 3D function, GpuCount, NvswitchOnBus, AcsControl."""
    devices: dict[str, _Device] = {}
    bare: dict[AcsControl, int] = {}
    current: _Device | None = None
    denied = verbose = False
    for index, whole in enumerate(section.lines):
        line = whole[:MOST_COLUMNS]
        if not line[:1].isspace():
            match = _DEVICE_BY_NUMBER.match(line) or _DEVICE.match(line)
            if match:
                current = devices.setdefault(_full(match["bdf"]), _device(match, index))
            elif line:
                current = None
            continue
        verbose = verbose or "Capabilities: [" in line
        denied = denied or _DENIED in line
        _detail(line, index, current, bare)
    yield from _observed(section, devices, bare)
    yield from _looked(section, devices, bare, readable=(verbose or bool(bare)) and not denied, denied=denied)


def _full(bdf: str) -> str:
    """The address with its domain: some reports hold listings with and without it."""
    return bdf.lower() if bdf.count(":") == 2 else f"0000:{bdf.lower()}"


def _device(match: re.Match[str], index: int) -> _Device:
    what = match["what"]
    named = match.groupdict()
    is_gpu = "NVIDIA Corporation" in what if "class" in named else named["code"] != "0680"
    switch = _switch(match)
    if switch is not None:
        return _Device(index, None, switch)
    if not is_gpu or named.get("class", "3D controller") not in _GPU_CLASSES:
        return _Device(index, None, is_bridge="bridge" in named.get("class", "").lower())
    name, device_id, chip = _NAME.match(what), _DEVICE_ID.search(what), _CHIP.match(what)
    gpu = Gpu(
        device_id=device_id["id"] if device_id else None,
        chip=chip["chip"] if chip else None,
        bdf=match["bdf"],
        name=_marketing(name["name"]) if name and name["name"] != "Device" else None,
        off_bus=_OFF.search(what) is not None,
        reported_by="lspci",
    )
    return _Device(index, gpu)


def _switch(match: re.Match[str]) -> NvswitchOnBus | None:
    """The NVSwitch of a line, which has the class of any other bridge and is known by its number or its name."""
    number = _DEVICE_ID.search(match["what"])
    named = match.groupdict()
    is_ours = "NVIDIA Corporation" in match["what"] or "class" not in named
    if not is_ours or (named["code"] != "0680" and named.get("class") != "Bridge"):
        return None
    if "NVSwitch" not in match["what"] and (number is None or int(number["id"], 16) < FIRST_SWITCH_ID):
        return None
    return NvswitchOnBus(bdf=match["bdf"], device_id=number["id"] if number else None, reported_by="lspci")


def _marketing(name: str) -> str:
    """`H100 PCIe` of `GH100 [H100 PCIe]`."""
    match = _NAME_IN_BRACKETS.match(name)
    return match[1] if match else name


def _detail(line: str, index: int, device: _Device | None, bare: dict[AcsControl, int]) -> None:
    """Adds what an indented line says on the device above it."""
    acs = _ACS.match(line)
    if acs:
        flags = acs["flags"].split()
        control = AcsControl(request_redirect="ReqRedir+" in flags, completion_redirect="CmpltRedir+" in flags)
        if device is None:
            bare.setdefault(control, index)
        elif device.is_bridge and device.acs is None:
            device.acs = (control, index)
        return
    driver = _DRIVER.match(line)
    if driver and device and device.switch:
        device.switch = device.switch.model_copy(update={"driver": driver[1]})
    if device is None or device.gpu is None:
        return
    if driver:
        device.gpu = device.gpu.model_copy(update={"driver": driver[1]})
        return
    region = _REGION_1.match(line)
    if region:
        size = int(region["size"]) * _MIB[region["unit"]] if region["size"] else 0
        at = region["at"].startswith("<") is False
        bar = GpuBar(bdf=device.gpu.bdf, assigned=at, size_mib=size or None, reported_by="lspci")
        device.window = device.window or (bar, index)
        return
    link = _LINK.match(line)
    if link and link["which"] == "Cap":
        device.able = device.able or link
    elif link and device.link is None:
        device.link = (_link(device, device.gpu, link), index)
    elif link and device.link and device.link[0].state == "slower" and device.later is None:
        now = _link(device, device.gpu, link)
        device.later = (now, index) if now.state == "full" else None
    elif _OFF_HEADER.match(line):
        device.gpu = device.gpu.model_copy(update={"off_bus": True})


def _link(device: _Device, gpu: Gpu, now: re.Match[str]) -> GpuPcieLink:
    """The link against what the GPU can; whether the GPU was idle, which lowers its speed, is not told."""
    generation, lanes = _GENERATIONS.get(float(now["speed"])), int(now["lanes"])
    most = _GENERATIONS.get(float(device.able["speed"])) if device.able else None
    most_lanes = int(device.able["lanes"]) if device.able else None
    state: LinkState | None = None
    if generation and lanes and most and most_lanes:
        state = "narrower" if lanes < most_lanes else "slower" if generation < most else "full"
    return GpuPcieLink(
        bdf=gpu.bdf,
        state=state,
        generation=generation,
        generation_max=most,
        lanes=lanes,
        lanes_max=most_lanes,
        reported_by="lspci",
    )


def _observed(section: Section, devices: dict[str, _Device], bare: dict[AcsControl, int]) -> Iterator[Observed]:
    for bdf, device in devices.items():
        found = device.gpu or device.switch
        if found:
            yield section.observe(found, device.line)
        if device.link and device.later:
            idle, line = device.link
            yield section.observe(idle.model_copy(update={"state": "slower-idle"}), line)
            yield section.observe(*device.later)
        elif device.link:
            yield section.observe(*device.link)
        if device.window:
            yield section.observe(*device.window)
        if device.acs:
            control, index = device.acs
            yield section.observe(
                AcsControl(
                    bdf=bdf,
                    request_redirect=control.request_redirect,
                    completion_redirect=control.completion_redirect,
                ),
                index,
            )
    for control, index in bare.items():
        yield section.observe(control, index)


def _count(section: Section, devices: dict[str, _Device]) -> Iterator[Reading]:
    """How many GPUs a listing of all devices shows."""
    gpus = [(device.gpu, device.line) for device in devices.values() if device.gpu]
    drivers = [gpu.driver for gpu, _ in gpus if gpu.driver]
    if gpus:
        fact = GpuCount(
            seen_by="pci",
            count=len(gpus),
            reported_by="lspci",
            with_other_driver=sum(driver != "nvidia" for driver in drivers) if drivers else None,
            off_bus=sum(gpu.off_bus for gpu, _ in gpus),
        )
        yield section.observe(fact, gpus[0][1])
    yield section.looked(GpuCount)


def _shows_all(command: str) -> bool:
    """Whether a command lists all GPUs; of what grep picked out, only where it asked for them."""
    filtered = _GREP.search(command) is not None and _OF_GPUS.search(command) is None
    return "-s " not in command and _CUT.search(command) is None and not filtered


def _looked(
    section: Section,
    devices: dict[str, _Device],
    bare: dict[AcsControl, int],
    *,
    readable: bool,
    denied: bool,
) -> Iterator[Reading]:
    """Without the right to read capabilities, and without `-vvv`, no ACS flags are shown at all."""
    command = command_of(section)
    if _COUNT.search(command):
        none_set = [line.strip() for line in section.lines if line.strip()] == ["0"]
        as_root = (section.command or "").startswith("sudo ")
        yield section.looked(AcsControl, complete=none_set and as_root, reason="no-permission")
        return
    if devices and not command.startswith(_SPACE):
        of_gpus = sum(device.gpu is not None for device in devices.values())
        # Bridges alone are what somebody picked for their flags: a machine has more than that.
        only_bridges = all(device.is_bridge for device in devices.values())
        whole = _shows_all(command) if command else len(devices) > of_gpus and not only_bridges
        yield section.looked(Gpu, complete=whole, reason="not-collected")
        yield section.looked(NvswitchOnBus, complete=whole and "-d" not in command, reason="not-collected")
        if whole:
            yield from _count(section, devices)
    if readable and (bare or any(device.is_bridge for device in devices.values())):
        yield section.looked(AcsControl, complete="-s " not in command or "xargs" in command)
    elif denied:
        yield section.looked(AcsControl, complete=False, reason="no-permission")


READER = Reader(
    "lspci",
    read,
    markers=("NVIDIA Corporation", "ACSCtl:", " 0302: 10de:", " 0300: 10de:", " 0680: 10de:"),
    commands=("lspci", _SPACE),
)
