"""Whether the variables that choose GPUs name such as are there."""

from __future__ import annotations

import re
from collections.abc import Iterator

from collectors.combiners import Facts, derived, looked_at
from kb.evidence import Observed, Reading
from kb.facts.gpu import Gpu
from kb.facts.gpu_bus import GpuCount
from kb.facts.settings import DeviceChoice, Setting, VisibleDevices

NAMES = ("CUDA_VISIBLE_DEVICES", "NVIDIA_VISIBLE_DEVICES")
NONE = frozenset(("-1", "none", "void", "nodevfiles", "null", "no"))
MOST_VALUES = 64

_NUMBER = re.compile(r"\d{1,4}$")
_READABLE = re.compile(r"(?:\d|GPU-|MIG-|all$)")
_SCHEDULERS = re.compile(r"no-gpu-has-", re.IGNORECASE)
"""What stands for no device by itself, and is judged where the container does not start."""
_UUID = re.compile(r"GPU-[0-9a-f]{4}[0-9a-f-]{0,40}$")


def combine(facts: Facts) -> Iterator[Reading]:
    """VisibleDevices for each variable and value that some place sets."""
    counts = [(count, observed) for count, observed in facts.of(GpuCount) if count.seen_by == "driver"]
    most = max(counts, key=lambda one: one[0].count, default=None)
    present = most[0].count if most and most[0].count else None
    listed = [(gpu.uuid, observed) for gpu, observed in facts.of(Gpu) if gpu.uuid]
    seen: set[tuple[str, str]] = set()
    for setting, observed in facts.of(Setting):
        key = (setting.name, setting.value)
        if setting.name not in NAMES or key in seen or len(seen) >= MOST_VALUES:
            continue
        seen.add(key)
        yield _judged(setting, observed, present, most[1] if most else None, [uuid for uuid, _ in listed])
    yield from looked_at(facts, VisibleDevices, Setting)


def _judged(
    setting: Setting, observed: Observed, present: int | None, counted: Observed | None, uuids: list[str]
) -> Observed:
    value = setting.value.strip().strip("'\"")
    names = [name.strip() for name in value.split(",")]
    devices: int | None = None
    if value and value.lower() not in NONE and value.lower() != "all" and present is not None:
        devices = next((at for at, name in enumerate(names) if not _is_there(name, present, uuids)), len(names))
    fact = VisibleDevices.model_validate(
        {
            "name": setting.name,
            "value": value[:200],
            "devices": devices,
            "present": present,
            "problem": _problem(setting.name, value, names, devices, uuids),
        }
    )
    return derived(fact, [observed, counted] if counted is not None else [observed])


def _is_there(name: str, present: int, uuids: list[str]) -> bool:
    if _NUMBER.match(name):
        return int(name) < present
    return not _UUID.match(name) or not uuids or any(uuid.startswith(name) for uuid in uuids)


def _problem(name: str, value: str, names: list[str], devices: int | None, uuids: list[str]) -> DeviceChoice:
    if not value:
        return "none-named" if name == "CUDA_VISIBLE_DEVICES" else "hides-all"
    if value.lower() == "void" and name == "NVIDIA_VISIBLE_DEVICES":
        return "none"  # as the runtime itself leaves it where it gives devices by CDI
    if value.lower() in NONE or names[0] == "-1":
        return "hides-all"
    if name == "CUDA_VISIBLE_DEVICES" and not _READABLE.match(names[0]):
        return "none" if _SCHEDULERS.match(value) else "not-a-device"
    if len(set(names)) < len(names) and name == "CUDA_VISIBLE_DEVICES":
        return "repeats"
    if devices is not None and devices < len(names):
        return "unknown-uuid" if _UUID.match(names[devices]) and uuids else "beyond"
    return "none"
