"""One device of the PCI bus from its attributes in sysfs, and the facts that they make. No reader."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal

from collectors.readers._regex import regex
from kb.facts.fabric import NvswitchOnBus
from kb.facts.gpu_bus import GpuOnBus, PcieErrorCounts
from kb.facts.gpu_state import GpuBar, GpuPcieLink, LinkState

_NVIDIA = "0x10de"
_GPU_CLASSES = ("0x0300", "0x0302", "0x0380")
_BRIDGE_CLASS = "0x0604"
_SWITCH_CLASS = "0x0680"
FIRST_SWITCH_ID = 0x1000
"""Functions of old nForce chipsets are of the class of NVSwitches too; their device ids are below this."""
_ID = regex(r"0x[0-9a-f]{4}$")
_NUMBER = regex(r"-?\d{1,9}$")
_SPEED = regex(r"(\d{1,3}(?:\.\d)?) GT/s")
_GENERATIONS = {2.5: 1, 5.0: 2, 8.0: 3, 16.0: 4, 32.0: 5, 64.0: 6}
_TOTAL = regex(r"TOTAL_ERR_(?:COR|NONFATAL|FATAL) (\d{1,18})$")
_RANGE = regex(r"0x([0-9a-f]{1,16}) 0x([0-9a-f]{1,16}) 0x([0-9a-f]{1,16})$")
_UNSET = 0x20000000
"""IORESOURCE_UNSET: the kernel knows the size and found no address."""
_ALL_ONES = frozenset({63, 255})
"""What a link width reads as where the device does not answer."""
_MIB = 1 << 20


class Attributes(dict[str, list[str]]):
    """The lines of each attribute of one device."""

    def add(self, name: str, value: str) -> None:
        """Takes in a line."""
        lines = self.setdefault(name, [])
        if len(lines) < 64:
            lines.append(value)

    def text(self, name: str) -> str | None:
        """The first line of an attribute."""
        lines = self.get(name)
        return lines[0].strip() if lines else None

    def number(self, name: str) -> int | None:
        """The attribute as a number."""
        text = self.text(name)
        return int(text) if text is not None and _NUMBER.match(text) else None

    def generation(self, name: str) -> int | None:
        """A link speed as a generation of PCIe."""
        match = _SPEED.match(self.text(name) or "")
        return _GENERATIONS.get(float(match[1])) if match else None

    def width(self, name: str) -> int | None:
        """A number of lanes."""
        lanes = self.number(name)
        return lanes if lanes and lanes not in _ALL_ONES else None


@dataclass
class Device:
    """One device of the listing."""

    bdf: str
    first: int
    attributes: Attributes = field(default_factory=Attributes)
    lines: dict[str, int] = field(default_factory=dict)
    """Where each attribute stands first."""
    driver: str | None = None
    parent: str | None = None
    """The bridge directly above it."""

    @property
    def is_gpu(self) -> bool:
        """An NVIDIA display or 3D function."""
        kind = self.attributes.text("class") or ""
        return self.attributes.text("vendor") == _NVIDIA and kind.startswith(_GPU_CLASSES)

    @property
    def is_switch(self) -> bool:
        """An NVSwitch."""
        kind, number = self.attributes.text("class") or "", self.attributes.text("device") or ""
        is_ours = self.attributes.text("vendor") == _NVIDIA and kind.startswith(_SWITCH_CLASS)
        return is_ours and _ID.match(number) is not None and int(number, 16) >= FIRST_SWITCH_ID


def is_off_bus(device: Device) -> bool:
    """Whether its configuration space reads as all ones."""
    return device.attributes.number("current_link_width") in _ALL_ONES


def on_bus(device: Device, *, links_shown: bool) -> GpuOnBus:
    """Where the GPU sits and who drives it; that none does is known where the listing shows links."""
    attributes = device.attributes
    node, enabled = attributes.number("numa_node"), attributes.number("enable")
    state, resets = attributes.text("power_state"), attributes.text("reset_method")
    return GpuOnBus(
        bdf=device.bdf,
        device_id=(attributes.text("device") or "").removeprefix("0x") or None,
        driver=device.driver or ("none" if links_shown else None),
        numa_node=node if node is not None and node >= 0 else None,
        enabled=enabled > 0 if enabled is not None else None,
        power_state=state if state not in {None, "unknown"} else None,
        parent=device.parent,
        reset_methods=resets or "none" if resets is not None else None,
    )


def switch(device: Device, *, links_shown: bool) -> NvswitchOnBus:
    """The NVSwitch and who drives it; that none does is known where the listing shows links."""
    number = (device.attributes.text("device") or "").removeprefix("0x")
    driver = device.driver or ("none" if links_shown else None)
    return NvswitchOnBus(bdf=device.bdf, device_id=number, driver=driver, reported_by="sysfs")


def link(device: Device, parent: Device | None) -> GpuPcieLink | None:
    """The link of the GPU against what it and the bridge above it can; None where it is not shown."""
    own = device.attributes
    generation, lanes = own.generation("current_link_speed"), own.width("current_link_width")
    if generation is None or lanes is None:
        return None
    generations = [own.generation("max_link_speed"), parent and parent.attributes.generation("max_link_speed")]
    widths = [own.width("max_link_width"), parent and parent.attributes.width("max_link_width")]
    generation_max = min((one for one in generations if one), default=None)
    lanes_max = min((one for one in widths if one), default=None)
    limited: Literal["device", "host"] | None = None
    if generations[0] and generations[1] and generations[0] != generations[1]:
        limited = "device" if generations[0] < generations[1] else "host"
    state: LinkState | None = None
    if generation_max is not None and lanes_max is not None:
        slower: LinkState = "slower" if generation < generation_max else "full"
        state = "narrower" if lanes < lanes_max else slower
    return GpuPcieLink(
        bdf=device.bdf,
        state=state,
        generation=generation,
        generation_max=generation_max,
        limited_by=limited,
        lanes=lanes,
        lanes_max=lanes_max,
        reported_by="sysfs",
    )


def bar(device: Device) -> GpuBar | None:
    """BAR1, which is the second or third window: a 64-bit one before it takes two places."""
    ranges = [_RANGE.match(line.strip()) for line in device.attributes.get("resource", ())[:3]]
    if len(ranges) < 3 or not all(ranges):
        return None
    windows = [tuple(int(number, 16) for number in found.groups()) for found in ranges if found]
    window = next((one for one in windows[1:] if any(one)), None)
    if window is None:
        return GpuBar(bdf=device.bdf, assigned=False, reported_by="sysfs") if any(windows[0]) else None
    start, end, flags = window
    assigned = not flags & _UNSET and start > 0
    size = (end - start + 1) // _MIB
    return GpuBar(bdf=device.bdf, assigned=assigned, size_mib=size if size > 0 else None, reported_by="sysfs")


def errors(device: Device) -> PcieErrorCounts | None:
    """What AER has counted for the device; None where it counted nothing."""
    totals: dict[str, int | None] = {}
    for name in ("correctable", "nonfatal", "fatal"):
        matches = (_TOTAL.match(line.strip()) for line in device.attributes.get(f"aer_dev_{name}", ()))
        totals[name] = next((int(match[1]) for match in matches if match), None)
    if not any(totals.values()):
        return None
    is_bridge = (device.attributes.text("class") or "").startswith(_BRIDGE_CLASS)
    kind: Literal["gpu", "bridge", "other"] = "gpu" if device.is_gpu else "bridge" if is_bridge else "other"
    return PcieErrorCounts(bdf=device.bdf, device=kind, **totals)
