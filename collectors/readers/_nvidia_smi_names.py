"""Names of GPU properties in `nvidia-smi -q` and `nvidia-smi -q -x`, by the names that `--query-gpu` gives them.

A path is the names from the outermost group inwards, in lower case, joined by a slash. Where `--query-gpu` has
no such property, the name is ours (`bar1.total`). Follows releases 304 to 610. No reader.
"""

from __future__ import annotations

from collections.abc import Mapping

_LINK = "pci/gpu link info/"
_POWER = ("power readings/", "gpu power readings/", "gpu power readings/gpu ceiling power limit/")
_REASONS = ("clocks event reasons/", "clocks throttle reasons/")
_REPAIRS = ("channel repair pending", "tpc repair pending", "unrepairable memory")
_SCOPES = ("volatile", "aggregate")
_OLD_MEMORIES = {
    "device memory": "dram",
    "register file": "register_file",
    "l1 cache": "l1_cache",
    "l2 cache": "l2_cache",
    "texture memory": "texture_memory",
    "texture shared": "texture_shared",
    "cbu": "cbu",
    "total": "total",
}
_FABRIC = {
    "state": "state",
    "status": "status",
    "cliqueid": "cliqueId",
    "clusteruuid": "clusterUuid",
    "health/summary": "health.summary",
    "health/bandwidth": "health.bandwidth",
    "health/route recovery in progress": "health.route_recovery_in_progress",
    "health/route unhealthy": "health.route_unhealthy",
    "health/access timeout recovery": "health.access_timeout_recovery",
    "health/incorrect configuration": "health.incorrect_configuration",
}
_SIMPLE = {
    "product name": "name",
    "product architecture": "architecture",
    "pci/device id": "pci.device_id",
    "persistence mode": "persistence_mode",
    "addressing mode": "addressing_mode",
    "mig mode/current": "mig.mode.current",
    "mig mode/pending": "mig.mode.pending",
    "gpu uuid": "uuid",
    "vbios version": "vbios_version",
    "gpu virtualization mode/virtualization mode": "virtualization_mode",
    "vgpu software licensed product/license status": "license_status",
    "grid licensed product/license status": "license_status",
    "gpu reset status/reset required": "reset_status.reset_required",
    "gpu reset status/drain and reset recommended": "reset_status.drain_and_reset_recommended",
    "gpu recovery action": "gpu_recovery_action",
    "gsp firmware version": "gsp_version",
    f"{_LINK}pcie generation/max": "pcie.link.gen.max",
    f"{_LINK}pcie generation/current": "pcie.link.gen.current",
    f"{_LINK}pcie generation/device max": "pcie.link.gen.gpumax",
    f"{_LINK}pcie generation/host max": "pcie.link.gen.hostmax",
    f"{_LINK}link width/max": "pcie.link.width.max",
    f"{_LINK}link width/current": "pcie.link.width.current",
    "pci/replays since reset": "pcie.replays",
    "replays since reset": "pcie.replays",  # picked out with grep
    "performance state": "pstate",
    "fb memory usage/total": "memory.total",
    "fb memory usage/used": "memory.used",
    "bar1 memory usage/total": "bar1.total",
    "compute mode": "compute_mode",
    "utilization/gpu": "utilization.gpu",
    "ecc mode/current": "ecc.mode.current",
    "ecc mode/pending": "ecc.mode.pending",
    "ecc errors/aggregate/sram threshold exceeded": "ecc.errors.uncorrected.aggregate.sram.thresholdExceeded",
    "retired pages/single bit ecc": "retired_pages.single_bit_ecc.count",
    "retired pages/double bit ecc": "retired_pages.double_bit.count",
    "retired pages/pending": "retired_pages.pending",
    "retired pages/pending page blacklist": "retired_pages.pending",
    "remapped rows": "remapped_rows.correctable",
    "remapped rows/correctable error": "remapped_rows.correctable",
    "remapped rows/uncorrectable error": "remapped_rows.uncorrectable",
    "remapped rows/pending": "remapped_rows.pending",
    "remapped rows/remapping failure occurred": "remapped_rows.failure",
    "remapped rows/bank remap availability histogram/none": "remapped_rows.histogram.none",
    "temperature/gpu current temp": "temperature.gpu",
    "temperature/gpu t.limit temp": "temperature.gpu.tlimit",
    "temperature/gpu current t.limit temp": "temperature.gpu.tlimit",
    "temperature/gpu shutdown temp": "temperature.shutdown",
    "temperature/gpu slowdown temp": "temperature.slowdown",
    "temperature/gpu max operating temp": "temperature.limit",
    "temperature/gpu shutdown t.limit temp": "temperature.shutdown.margin",
    "temperature/gpu slowdown t.limit temp": "temperature.slowdown.margin",
    "temperature/gpu max operating t.limit temp": "temperature.limit.margin",
    "temperature/memory current temp": "temperature.memory",
}


def _text_paths() -> dict[str, str]:
    paths = dict(_SIMPLE)
    for group in _REASONS:
        paths[f"{group}idle"] = "clocks_event_reasons.gpu_idle"
        for name in ("sw power cap", "hw slowdown", "sw thermal slowdown"):
            paths[group + name] = f"clocks_event_reasons.{name.replace(' ', '_')}"
        for name in ("hw thermal slowdown", "hw power brake slowdown"):
            for path in (f"{group}hw slowdown/{name}", group + name):
                paths[path] = f"clocks_event_reasons.{name.replace(' ', '_')}"
    for group in _POWER:
        paths[f"{group}power draw"] = "power.draw"
        paths[f"{group}average power draw"] = "power.draw.average"
        paths[f"{group}instantaneous power draw"] = "power.draw.instant"
        for name in ("power limit", "enforced power limit", "current power limit"):
            paths[group + name] = "power.limit" if name == "power limit" else "enforced.power.limit"
        paths[f"{group}default power limit"] = "power.default_limit"
        paths[f"{group}max power limit"] = "power.max_limit"
    paths |= {f"fabric/{name}": f"fabric.{key}" for name, key in _FABRIC.items()}
    paths |= {f"ecc errors/{name}": name.replace(" ", "_") for name in _REPAIRS}
    for scope in _SCOPES:
        for bits, kind in (("single bit", "corrected"), ("double bit", "uncorrected")):
            for name, key in _OLD_MEMORIES.items():
                paths[f"ecc errors/{scope}/{bits}/{name}"] = f"ecc.errors.{kind}.{scope}.{key}"
        for memory in ("sram", "dram"):
            path = f"ecc errors/{scope}/{memory}"
            paths[f"{path} correctable"] = f"ecc.errors.corrected.{scope}.{memory}"
            paths[f"{path} uncorrectable"] = f"ecc.errors.uncorrected.{scope}.{memory}"
        path = f"ecc errors/{scope}/sram uncorrectable"
        paths[f"{path} parity"] = f"ecc.errors.uncorrected.{scope}.sram.parity"
        paths[f"{path} sec-ded"] = f"ecc.errors.uncorrected.{scope}.sram.secded"
    return paths


TEXT_PATHS: Mapping[str, str] = _text_paths()
"""Of `nvidia-smi -q`, below the line of the GPU."""

_XML_GROUPS = {
    "mig mode": "mig_mode",
    "gpu virtualization mode": "gpu_virtualization_mode",
    "gpu reset status": "gpu_reset_status",
    "gpu link info": "pci_gpu_link_info",
    "pcie generation": "pcie_gen",
    "link width": "link_widths",
    "bank remap availability histogram": "row_remapper_histogram",
    "gpu ceiling power limit": "gpu_ceiling_power_limit",
}
_XML_NAMES = {
    "mig mode/current": "mig_mode/current_mig",
    "mig mode/pending": "mig_mode/pending_mig",
    "gpu uuid": "uuid",
    "pcie generation/max": "pcie_gen/max_link_gen",
    "pcie generation/current": "pcie_gen/current_link_gen",
    "pcie generation/device max": "pcie_gen/max_device_link_gen",
    "pcie generation/host max": "pcie_gen/max_host_link_gen",
    "link width/max": "link_widths/max_link_width",
    "link width/current": "link_widths/current_link_width",
    "replays since reset": "replay_counter",
    "utilization/gpu": "utilization/gpu_util",
    "ecc mode/current": "ecc_mode/current_ecc",
    "ecc mode/pending": "ecc_mode/pending_ecc",
    "retired pages/single bit ecc": "retired_pages/multiple_single_bit_retirement/retired_count",
    "retired pages/double bit ecc": "retired_pages/double_bit_retirement/retired_count",
    "retired pages/pending": "retired_pages/pending_retirement",
    "retired pages/pending page blacklist": "retired_pages/pending_blacklist",
    "remapped rows/correctable error": "remapped_rows/remapped_row_corr",
    "remapped rows/uncorrectable error": "remapped_rows/remapped_row_unc",
    "remapped rows/pending": "remapped_rows/remapped_row_pending",
    "remapped rows/remapping failure occurred": "remapped_rows/remapped_row_failure",
    "remapped rows/bank remap availability histogram/none": (
        "remapped_rows/row_remapper_histogram/row_remapper_histogram_none"
    ),
    "temperature/gpu current temp": "temperature/gpu_temp",
    "temperature/gpu t.limit temp": "temperature/gpu_temp_tlimit",
    "temperature/gpu shutdown temp": "temperature/gpu_temp_max_threshold",
    "temperature/gpu slowdown temp": "temperature/gpu_temp_slow_threshold",
    "temperature/gpu max operating temp": "temperature/gpu_temp_max_gpu_threshold",
    "temperature/gpu shutdown t.limit temp": "temperature/gpu_temp_max_tlimit_threshold",
    "temperature/gpu slowdown t.limit temp": "temperature/gpu_temp_slow_tlimit_threshold",
    "temperature/gpu max operating t.limit temp": "temperature/gpu_temp_max_gpu_tlimit_threshold",
    "temperature/memory current temp": "temperature/memory_temp",
    "fabric/cliqueid": "fabric/cliqueId",
    "fabric/clusteruuid": "fabric/clusterUuid",
    "pci/device id": "pci/pci_device_id",
}


def _xml_path(path: str) -> str:
    """The path of the same property in the XML."""
    for text, xml in sorted(_XML_NAMES.items(), key=lambda item: -len(item[0])):
        if path == text or path.endswith(f"/{text}"):
            path = path[: -len(text)] + xml
            break
    for text, xml in _XML_GROUPS.items():
        path = path.replace(text, xml)
    path = path.replace("instantaneous power", "instant power").replace("sec-ded", "secded")
    groups = path.replace(" ", "_").split("/")
    if groups[0] in {"clocks_event_reasons", "clocks_throttle_reasons"}:
        single = groups[0][:-1]
        name = "gpu_idle" if groups[-1] == "idle" else groups[-1]
        return f"{groups[0]}/{single}_{name}"
    return "/".join(groups).replace("texture_shared", "texture_shm")


XML_PATHS: Mapping[str, str] = {_xml_path(path): key for path, key in TEXT_PATHS.items()}
"""Of `nvidia-smi -q -x`, below the element of the GPU."""

ALIASES: Mapping[str, str] = {
    "gpu_name": "name",
    "gpu_bus_id": "pci.bus_id",
    "gpu_uuid": "uuid",
    "gpu_serial": "serial",
    "gpu_index": "index",
    "retired_pages.sbe": "retired_pages.single_bit_ecc.count",
    "retired_pages.dbe": "retired_pages.double_bit.count",
    "ecc.errors.corrected.volatile.device_memory": "ecc.errors.corrected.volatile.dram",
    "ecc.errors.corrected.aggregate.device_memory": "ecc.errors.corrected.aggregate.dram",
    "ecc.errors.uncorrected.volatile.device_memory": "ecc.errors.uncorrected.volatile.dram",
    "ecc.errors.uncorrected.aggregate.device_memory": "ecc.errors.uncorrected.aggregate.dram",
}
"""Other names of `--query-gpu` for the same. `clocks_throttle_reasons` is `clocks_event_reasons`, too."""


def canonical(column: str) -> str:
    """The one name of a property of `--query-gpu`."""
    column = column.replace("clocks_throttle_reasons.", "clocks_event_reasons.")
    return ALIASES.get(column, column)
