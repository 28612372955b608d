"""What the loaded NVIDIA kernel module tells in procfs: its GPUs, their firmware, and its parameters.

    Model: 		 NVIDIA H100 80GB HBM3
    Bus Location: 	 0000:41:00.0
    EnableGpuFirmware: 18

Follows /proc/driver/nvidia/gpus/*/information, params and registry of drivers 384 to 610 (`Blacklisted` became
`GPU Excluded` with 470). A GPU that nobody has opened shows question marks, which give nothing; of the parameters
those are told that change how GPUs reach each other, their firmware or their memory. Other lines give nothing.
"""

from __future__ import annotations

from collections.abc import Iterator

from collectors.readers._lines import BDF, VERSION, command_of
from collectors.readers._regex import regex
from kb.evidence import Reader, Reading, Section
from kb.facts.diagnostics import DriverParameter
from kb.facts.gpu import Gpu
from kb.facts.gpu_bus import GpuCount
from kb.facts.gpu_state import GpuFirmware

_FIELD = regex(
    r"(?P<name>Model|GPU UUID|Video BIOS|Bus Location|Device Minor|Blacklisted|GPU Excluded|GPU Firmware):"
    r"[ \t]{1,8}(?P<value>\S.{0,100}?)\s*$"
)
_BDF_ONLY = regex(rf"{BDF}$")
_VBIOS = regex(r"[0-9A-Fa-f]{2}(?:\.[0-9A-Fa-f]{2}){3,4}$")
_UUID = regex(r"GPU-[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}$")
_VERSION_ONLY = regex(rf"{VERSION}$")
_PARAMETER = regex(r'(?P<name>[A-Z]\w{2,60}): "?(?P<value>[^"]{0,400}?)"?\s*$')
_KEPT = frozenset(
    {
        *("NvLinkDisable", "EnableGpuFirmware", "RegistryDwords", "RegistryDwordsPerDevice", "ExcludedGpus"),
        *("GpuBlacklist", "AssignGpus", "EnableStreamMemOPs", "DmaRemapPeerMmio", "GrdmaPciTopoCheckOverride"),
        *("ImexChannelCount", "CreateImexChannel0", "OpenRmEnableUnsupportedGpus", "DynamicPowerManagement"),
        *("PreserveVideoMemoryAllocations", "EnableResizableBar", "EnablePCIeGen3", "RmProfilingAdminOnly"),
        *("CoherentGPUMemoryMode", "EnablePCIERelaxedOrderingMode", "RmNvlinkBandwidthLinkCount", "Binary"),
        *("EnableUserNUMAManagement", "EnableMSI"),
    }
)
_FIRST, _LAST = "ResmanDebugLevel", frozenset({"ExcludedGpus", "AssignGpus", "GpuBlacklist", "TemporaryFilePath"})
_ALL = "/proc/driver/nvidia/gpus/*/information"
_PARAMS = "/proc/driver/nvidia/params"
_REGISTRY = "/proc/driver/nvidia/registry"
_MOST_GPUS = 256


def read(section: Section) -> Iterator[Reading]:
    """Gpu and GpuFirmware for each block of `information`, GpuCount of all, DriverParameter for each parameter."""
    blocks = list(_blocks(section))
    for block in blocks:
        yield from _gpu(section, block)
    whole = _ALL in (section.command or "")
    if blocks and whole:
        count = GpuCount(seen_by="module", count=len(blocks), reported_by="procfs")
        yield section.observe(count, blocks[0]["Model"][1])
        yield section.looked(GpuCount)
    if blocks:
        yield section.looked(GpuFirmware, complete=whole, reason="not-collected")
    yield from _parameters(section)


def _blocks(section: Section) -> Iterator[dict[str, tuple[str, int]]]:
    """The fields of each GPU, with their lines; those without an address and a UUID are of something else."""
    block: dict[str, tuple[str, int]] = {}
    found = 0
    for index, line in section.matching(
        "Model:", *_MARKERS, "Video BIOS:", "Device Minor:", "GPU Firmware:", *_OUT
    ):
        match = _FIELD.match(line[:200])
        if match is None:
            continue
        if match["name"] == "Model":
            if _is_gpu(block) and found < _MOST_GPUS:
                found += 1
                yield block
            block = {}
        block[match["name"]] = (match["value"], index)
    if _is_gpu(block) and found < _MOST_GPUS:
        yield block


def _is_gpu(block: dict[str, tuple[str, int]]) -> bool:
    where = block.get("Bus Location")
    return "Model" in block and "GPU UUID" in block and where is not None and _BDF_ONLY.match(where[0]) is not None


def _gpu(section: Section, block: dict[str, tuple[str, int]]) -> Iterator[Reading]:
    def value(name: str) -> str:
        return block.get(name, ("", 0))[0]

    first, last = block["Model"][1], max(line for _, line in block.values())
    model, uuid, vbios, firmware = (value(name) for name in ("Model", "GPU UUID", "Video BIOS", "GPU Firmware"))
    bdf = value("Bus Location")
    gpu = Gpu(
        bdf=bdf,
        uuid=uuid if _UUID.match(uuid) else None,
        name=model if model != "Unknown" else None,
        reported_by="procfs",
    )
    yield section.observe(gpu, first, last)
    version = firmware if _VERSION_ONLY.match(firmware) else None
    excluded = value("GPU Excluded") or value("Blacklisted")
    fact = GpuFirmware(
        bdf=bdf,
        vbios=vbios if _VBIOS.match(vbios) else None,
        gsp="running" if version else "not-running" if firmware == "N/A" else None,
        gsp_version=version,
        excluded=excluded == "Yes" if excluded in {"Yes", "No"} else None,
        reported_by="procfs",
    )
    if fact.vbios or fact.gsp or fact.excluded is not None:
        yield section.observe(fact, first, last)


def _parameters(section: Section) -> Iterator[Reading]:
    """Parameters, where the command, the path or the first of them says that these are the driver's."""
    place = f"{section.path} {command_of(section)}"
    named = _PARAMS in place or place.rstrip().endswith(_REGISTRY) or _REGISTRY in place
    if not named and not any(line.startswith(f"{_FIRST}: ") for line in section.lines):
        return
    names: set[str] = set()
    for index, line in enumerate(section.lines):
        match = _PARAMETER.match(line[:500])
        if match is None or match["name"] in names:
            continue
        names.add(match["name"])
        if match["name"] in _KEPT and match["value"]:
            yield section.observe(DriverParameter(name=match["name"], value=match["value"]), index)
    if names - {"Binary"}:
        yield section.looked(DriverParameter, complete=_FIRST in names and not _LAST.isdisjoint(names))


_MARKERS = ("Bus Location:", "GPU UUID:")
_OUT = ("Blacklisted:", "GPU Excluded:")
READER = Reader(
    "nvidia-proc",
    read,
    markers=("Bus Location:", f"{_FIRST}: ", "RegistryDwords: ", "EnableGpuFirmware: ", "NvLinkDisable: "),
    commands=(f"cat {_PARAMS}", f"cat {_REGISTRY}", "cat /proc/driver/nvidia/gpus/"),
    lines=(*_MARKERS, *_OUT, "Video BIOS:"),
)
