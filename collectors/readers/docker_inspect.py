"""How a container runs, from `docker inspect` and `podman inspect`, and the GPU variables of its environment.

    "Runtime": "runc",
    "DeviceRequests": [{"Driver": "", "Count": -1, "Capabilities": [["gpu"]]}],
    "ShmSize": 67108864,

Follows the Engine API 1.40 to 1.51 and podman 4 and 5. Of the environment only variables of NVIDIA, CUDA, NCCL and
frameworks are told. JSON that is cut or no container's gives nothing.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Literal

from collectors.readers._json_text import at, line_with, objects_of
from collectors.readers._lines import command_of
from collectors.readers._regex import regex
from collectors.readers.variable_assignments import NAME
from kb.evidence import Observed, Reader, Reading, Section
from kb.facts.containers import ContainerConfig
from kb.facts.settings import Setting

_DEFAULT_SHM_BYTES = 64 * 1024 * 1024
_MOST_CONTAINERS = 100
_SECRET = regex(r"TOKEN|KEY|SECRET|PASSW|CREDENTIAL|AUTH")
_VARIABLE = regex(NAME)


def read(section: Section) -> Iterator[Reading]:
    """ContainerConfig for each container, with Setting for each variable that it was given."""
    found = 0
    for config in objects_of(section):
        host = config.get("HostConfig")
        if not isinstance(host, dict) or found >= _MOST_CONTAINERS:
            continue
        found += 1
        name = config.get("Name")
        name = name.lstrip("/")[:120] if isinstance(name, str) else None
        line = line_with(section, f'"/{name}"', f'"{name}"', '"HostConfig"')
        yield section.observe(_config(config, host, name), line)
        yield from _settings(section, config)
    if found:
        whole = "|" not in command_of(section)
        yield section.looked(ContainerConfig, complete=whole, reason="not-collected")


def _config(config: dict[str, Any], host: dict[str, Any], name: str | None) -> ContainerConfig:
    size = host.get("ShmSize")
    ipc = _text(host.get("IpcMode"))
    shm = _shm(config, ipc, size)
    runtime = _text(host.get("Runtime")) or _text(host.get("OCIRuntime")) or _text(config.get("OCIRuntime"))
    limits = host.get("Ulimits")
    memlock = [one for one in limits or () if isinstance(one, dict) and "memlock" in str(one.get("Name")).lower()]
    return ContainerConfig(
        source="inspect",
        name=name,
        runtime=runtime,
        gpus=_gpus(config, host, runtime),
        shm_mib=size // (1024 * 1024)
        if isinstance(size, int) and size > 0 and shm in {"default", "sized"}
        else None,
        shm=shm,
        ipc=ipc,
        network=_text(host.get("NetworkMode")),
        privileged=host.get("Privileged") if isinstance(host.get("Privileged"), bool) else None,
        rdma=any("/dev/infiniband" in path for path in _device_paths(host)),
        memlock_unlimited=any(one.get("Soft") == -1 for one in memlock),
    )


def _shm(
    config: dict[str, Any], ipc: str | None, size: Any
) -> Literal["default", "sized", "volume", "host"] | None:
    mounts = config.get("Mounts")
    targets = [one.get("Destination") for one in mounts or () if isinstance(one, dict)]
    if ipc == "host":
        return "host"
    if "/dev/shm" in targets:  # noqa: S108 - a mount point in evidence
        return "volume"
    if not isinstance(size, int):
        return None
    return "default" if size == _DEFAULT_SHM_BYTES else "sized"


def _gpus(config: dict[str, Any], host: dict[str, Any], runtime: str | None) -> Literal["all", "some", "none"]:
    """What was asked for: --gpus, a CDI device, or the variable that the nvidia runtime obeys."""
    for request in host.get("DeviceRequests") or ():
        if isinstance(request, dict) and "gpu" in str([request.get("Capabilities"), request.get("DeviceIDs")]):
            return "all" if request.get("Count") == -1 or "all" in str(request.get("DeviceIDs")) else "some"
    if any(path.startswith(("/dev/nvidia", "nvidia.com/gpu")) for path in _device_paths(host)):
        return "some"
    visible = dict(_environment(config)).get("NVIDIA_VISIBLE_DEVICES")
    if runtime and runtime.startswith("nvidia") and visible not in {None, "", "void", "none"}:
        return "all" if visible == "all" else "some"
    return "none"


def _device_paths(host: dict[str, Any]) -> list[str]:
    devices = host.get("Devices")
    return [str(at(one, "PathOnHost")) for one in devices or () if isinstance(one, dict)]


def _environment(config: dict[str, Any]) -> Iterator[tuple[str, str]]:
    variables = at(config, "Config", "Env")
    for variable in variables if isinstance(variables, list) else ():
        if isinstance(variable, str):
            name, _, value = variable.partition("=")
            yield name, value


def _settings(section: Section, config: dict[str, Any]) -> Iterator[Observed]:
    for name, value in _environment(config):
        if _VARIABLE.fullmatch(name) and value and not _SECRET.search(name):
            line = line_with(section, f'"{name}=')
            yield section.observe(Setting(name=name, value=value[:400], origin="launch"), line)


def _text(value: Any) -> str | None:
    return value[:120] or None if isinstance(value, str) else None


READER = Reader("docker-inspect", read, markers=('"HostConfig"',), commands=("docker inspect", "podman inspect"))
