"""What the NVIDIA device plugin of Kubernetes says of the health of GPUs.

    XidCriticalError: Xid=79 on Device=GPU-31c8d0bb-8f52-4a11-9d80-52c6f9a7a001, the device will go unhealthy.
    'nvidia.com/gpu' device marked unhealthy: GPU-31c8d0bb-8f52-4a11-9d80-52c6f9a7a001
    Registered device plugin for 'nvidia.com/gpu' with Kubelet

Follows NVIDIA/k8s-device-plugin 1.0-beta (`on GPU=` before 1.12) and 0.7 to 0.18: a device that is marked stays so
until the plugin starts anew. Lines that don't fit give nothing.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from collectors.readers._lines import MOST_COLUMNS, is_lead
from collectors.readers._regex import regex
from collectors.readers.launcher_prefixes import without_launcher
from kb.evidence import Reader, Reading, Section
from kb.facts.kubernetes import DeviceHealth

_DEVICE = r"(?P<device>(?:GPU|MIG)-[\w-]{8,60})"
_XID = regex(rf"XidCriticalError: Xid=(?P<xid>\d{{1,4}}) on (?:Device|GPU)=(?:.{{0,60}}?){_DEVICE}")
_MARKED = regex(
    rf"(?:'(?:nvidia\.com/)?[\w.-]{{1,60}}' )?device marked (?P<state>un)?healthy: (?:.{{0,60}}?){_DEVICE}"
)
_MARKING = regex(rf"[Mm]arking (?:device )?{_DEVICE} as (?P<state>un)?healthy")
_STARTED = regex(
    r"Registered device plugin (?:for '|with Kubelet)|Starting GRPC server for '"
    r"|Starting FS watcher\.|Loading NVML\b"
)
_LINES = (
    *("XidCriticalError: ", "device marked ", "arking device GPU-", "arking GPU-"),
    *("Registered device plugin ", "Starting GRPC server for '", "Starting FS watcher", "Loading NVML"),
)
_MOST_DEVICES = 256


@dataclass
class _Health:
    """The last word on one device."""

    index: int
    healthy: bool
    xid: int | None = None
    restarted: bool = False
    count: int = 1


def read(section: Section) -> Iterator[Reading]:
    """DeviceHealth for each device that is named, and that it was looked for where the plugin registered."""
    devices: dict[str, _Health] = {}
    started = False
    for index, whole in section.matching(*_LINES):
        text = without_launcher(whole[:MOST_COLUMNS]).text
        if (match := _STARTED.search(text)) and is_lead(text[: match.start()]):
            started = True
            for health in devices.values():
                health.restarted = True
            continue
        match = _XID.search(text) or _MARKED.search(text) or _MARKING.search(text)
        if match is None or not is_lead(text[: match.start()]):
            continue
        found = match.groupdict()
        healthy = "state" in found and found["state"] is None
        device = match["device"]
        if device in devices or len(devices) < _MOST_DEVICES:
            before = devices.get(device)
            xid = int(found["xid"]) if found.get("xid") else before.xid if before else None
            again = before is not None and before.healthy == healthy
            devices[device] = _Health(index, healthy, xid, count=before.count + 1 if before and again else 1)
    for device, health in devices.items():
        fact = DeviceHealth(
            device=device, healthy=health.healthy, xid=health.xid, restarted=health.restarted, count=health.count
        )
        yield section.observe(fact, health.index)
    if devices or started:
        yield section.looked(DeviceHealth, complete=started, reason="truncated")


READER = Reader(
    "device-plugin",
    read,
    markers=(
        "XidCriticalError: ",
        "device marked unhealthy",
        "device marked healthy",
        "Registered device plugin ",
    ),
    lines=(
        "XidCriticalError: ",
        "device marked ",
        "arking device GPU-",
        "Registered device plugin ",
        "Starting GRPC server for '",
    ),
)
