"""NVIDIA GPUs and NVSwitches as sysfs shows them on the PCI bus: driver, NUMA node, link, window, counted errors.

    /sys/bus/pci/devices/0000:41:00.0 -> ../../../devices/pci0000:40/0000:40:01.1/0000:41:00.0
    /sys/bus/pci/devices/0000:41:00.0/driver -> ../../../../bus/pci/drivers/nvidia
    /sys/bus/pci/devices/0000:41:00.0/current_link_speed:16.0 GT/s PCIe
    /sys/bus/pci/devices/0000:07:00.0/class:0x068000

Follows Documentation/ABI/testing/sysfs-bus-pci of Linux 4.4 to 6.17, as grep and the collector's listing print it.
Only a device whose class and vendor are shown is known as a GPU or a switch. Other paths and values give nothing.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

from collectors.readers._lines import BDF, command_of
from collectors.readers._pci_device import Device, bar, errors, is_off_bus, link, on_bus, switch
from collectors.readers._regex import regex
from kb.evidence import Looked, Reader, Reading, Section
from kb.facts import Fact
from kb.facts.fabric import NvswitchOnBus
from kb.facts.gpu import Gpu
from kb.facts.gpu_bus import GpuCount, GpuOnBus, PcieErrorCounts
from kb.facts.gpu_state import GpuBar, GpuPcieLink

_FOLDER = "/sys/bus/pci/devices/"
_LINE = regex(
    rf"\s{{0,8}}/sys/bus/pci/devices/(?P<bdf>{BDF})"
    r"(?:/(?P<name>[a-z_]{3,24}))?(?::\s?(?P<value>.{0,200}?)| -> (?P<target>\S{1,300}))\s*$"
)
_ABOVE = regex(rf"/({BDF})(?=/{BDF}$)")
_WHOLE = regex(r"grep -\w{1,5} \S{1,3} /sys/bus/pci/devices/\*/\*\s*$")
_OURS = "nvidia"
_MOST_DEVICES = 4096


@dataclass
class _Seen:
    """The devices of the listing, and which attributes it shows at all."""

    devices: dict[str, Device] = field(default_factory=dict)
    names: set[str] = field(default_factory=set)


def read(section: Section) -> Iterator[Reading]:
    """Gpu, GpuOnBus, GpuPcieLink and GpuBar for each GPU, GpuCount; NvswitchOnBus; PcieErrorCounts of whatever."""
    seen = _seen(section)
    gpus = [device for device in seen.devices.values() if device.is_gpu]
    for device in seen.devices.values():
        for fact, name in _facts(device, seen):
            yield section.observe(fact, device.lines.get(name, device.first))
    if gpus and "class" in seen.names:
        with_other = sum(device.driver not in {None, _OURS} for device in gpus)
        fact = GpuCount(
            seen_by="pci",
            count=len(gpus),
            reported_by="sysfs",
            with_other_driver=with_other if "driver" in seen.names else None,
            off_bus=sum(is_off_bus(device) for device in gpus) if "current_link_width" in seen.names else None,
        )
        yield section.observe(fact, gpus[0].lines["class"])
    yield from _looked(section, seen, found=bool(gpus))


def _seen(section: Section) -> _Seen:
    seen = _Seen()
    for index, line in section.matching(_FOLDER):
        match = _LINE.match(line[:600])
        if match is None:
            continue
        bdf = match["bdf"].lower()
        if bdf not in seen.devices and len(seen.devices) >= _MOST_DEVICES:
            continue
        device = seen.devices.setdefault(bdf, Device(bdf, index))
        name, target = match["name"], match["target"]
        device.lines.setdefault(name or "", index)
        if target and name is None:
            above = _ABOVE.search(target)
            device.parent = above[1].lower() if above else None
        elif target and name == "driver":
            device.driver = target.rpartition("/")[2][:60]
        elif name and match["value"] is not None:
            device.attributes.add(name, match["value"])
        seen.names.add(name or "")
    return seen


def _facts(device: Device, seen: _Seen) -> Iterator[tuple[Fact, str]]:
    """The facts, each with the attribute on whose line it is seen best."""
    counted = errors(device)
    if counted is not None:
        yield (
            counted,
            f"aer_dev_{next(name for name in ('fatal', 'nonfatal', 'correctable') if getattr(counted, name))}",
        )
    links_shown = not seen.names.isdisjoint({"", "driver"})
    if device.is_switch:
        yield switch(device, links_shown=links_shown), "class"
    if not device.is_gpu:
        return
    off_bus = is_off_bus(device)
    found = Gpu(bdf=device.bdf, driver=device.driver, off_bus=off_bus, reported_by="sysfs")
    yield found, "current_link_width" if off_bus else "driver"
    yield on_bus(device, links_shown=links_shown), "driver"
    linked, window = link(device, seen.devices.get(device.parent or "")), bar(device)
    if linked is not None:
        yield linked, "current_link_width" if linked.state == "narrower" else "current_link_speed"
    if window is not None:
        yield window, "resource"


def _looked(section: Section, seen: _Seen, *, found: bool) -> Iterator[Looked]:
    """Complete only with the listing of all devices, which is empty on a machine without such a GPU."""
    command = command_of(section)
    whole = _WHOLE.match(command) is not None
    is_switch = any(device.is_switch for device in seen.devices.values())
    readable = whole and (seen.devices or not any(line.strip() for line in section.lines))
    if is_switch or (readable and (not seen.devices or "class" in seen.names)):
        yield section.looked(NvswitchOnBus, complete=whole, reason="not-collected")
    if not found and not readable:
        return
    for fact_type, name in (
        (Gpu, "driver"),
        (GpuOnBus, "class"),
        (GpuCount, "class"),
        (GpuPcieLink, "current_link_speed"),
        (GpuBar, "resource"),
        (PcieErrorCounts, "aer_dev_correctable"),
    ):
        if name in seen.names or not found:
            yield section.looked(fact_type, complete=whole, reason="not-collected")


READER = Reader(
    "pci-sysfs",
    read,
    markers=(_FOLDER,),
    commands=("grep -sH ^ /sys/bus/pci/devices", "grep -H . /sys/bus/pci/devices"),
)
