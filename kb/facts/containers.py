"""Facts on container engines, on how a container was started, and on why it was not."""

from typing import ClassVar, Literal, TypeAlias

from pydantic import computed_field

from kb.facts.base import Fact, Version
from kb.releases import toolkit_has, toolkit_lacks

StartProblem: TypeAlias = Literal[
    "no-gpu-driver",
    "unknown-runtime",
    "hook-missing",
    "nvml-mismatch",
    "nvml-driver-not-loaded",
    "nvml-other",
    "library-not-found",
    "cuda-requirement",
    "file-exists",
    "ldcache",
    "cgroup",
    "permission",
    "mount",
    "device-missing",
    "unknown-device",
    "cdi-unresolvable",
    "cdi-stale",
    "driver-volume",
    "other",
]
ToolPlace: TypeAlias = Literal["host", "new-container", "old-container"]
ToolOutcome: TypeAlias = Literal[
    "works", "not-started", "version-mismatch", "driver-not-loaded", "no-devices", "unknown-error",
    "no-permission", "library-not-found", "gpu-lost", "reset-required", "function-not-found",
]  # fmt: skip
RuntimeFile: TypeAlias = Literal["docker", "containerd", "nvidia", "cri-o", "podman"]


class ContainerEngine(Fact):
    """A container engine as `docker info` or `podman info` describes it."""

    kind: ClassVar[str] = "container_engine"

    engine: Literal["docker", "podman"] = "docker"
    version: Version | None = None
    nvidia_runtime: bool | None = None
    """A runtime of the name nvidia is registered."""
    default_runtime: str | None = None
    cgroup_driver: str | None = None
    cgroup_version: int | None = None
    root_dir: str | None = None
    snap: bool = False
    """Installed as a snap, which cannot see the host's NVIDIA hook."""
    rootless: bool = False
    cdi: bool | None = None
    """Its CDI devices include NVIDIA's."""


class RuntimeConfig(Fact):
    """A configuration file of a container runtime or of the NVIDIA toolkit."""

    kind: ClassVar[str] = "runtime_config"

    file: RuntimeFile
    nvidia_runtime: bool | None = None
    """It registers the runtime nvidia."""
    default_runtime: str | None = None
    cgroup_driver: str | None = None
    """systemd or cgroupfs, where the file sets it."""
    no_cgroups: bool | None = None
    """NVIDIA's `no-cgroups`: the toolkit leaves the device cgroup alone."""
    mode: str | None = None
    """NVIDIA's `mode`: auto, legacy, cdi, csv."""
    driver_root: str | None = None
    """NVIDIA's `root`: where the driver is installed, `/run/nvidia/driver` under the GPU operator."""
    cdi: bool | None = None
    """CDI is switched on."""


class ContainerConfig(Fact):
    """How a container runs, from docker inspect or a pod description. What a command asks: ContainerOption."""

    kind: ClassVar[str] = "container_config"

    source: Literal["inspect", "pod"]
    name: str | None = None
    runtime: str | None = None
    """As set: runc, nvidia; None where the source does not say."""
    gpus: Literal["all", "some", "none"] | None = None
    """GPUs asked for through --gpus, a CDI device, NVIDIA_VISIBLE_DEVICES with the nvidia runtime, or a limit."""
    shm_mib: int | None = None
    """Size of its /dev/shm. None where a volume or the host's is mounted there, or where it is not told."""
    shm: Literal["default", "sized", "volume", "host"] | None = None
    """`default`: nothing was asked for, so 64 MiB; `host`: IPC namespace or /dev/shm of the host."""
    ipc: str | None = None
    """As set: private, shareable, host, container:…"""
    network: str | None = None
    """As set: bridge, host, none, container:…"""
    privileged: bool | None = None
    rdma: bool | None = None
    """/dev/infiniband is given to it."""
    memlock_unlimited: bool | None = None


class ContainerStartError(Fact):
    """A container engine or its NVIDIA hook says why a container did not start; equal lines together."""

    kind: ClassVar[str] = "container_start_error"

    problem: StartProblem
    said_by: Literal["engine", "nvidia-container-cli", "cdi", "kubelet"] = "engine"
    detail: str | None = None
    """What the message names: library, file, device, condition, runtime."""
    text: str
    count: int = 1


class GpuNotGiven(Fact):
    """Inside a container somebody looked for the driver and was given none, in fixed words; repeats together."""

    kind: ClassVar[str] = "gpu_not_given"

    said_by: Literal["image", "device-plugin", "singularity"]
    """`image`: the start script of an NVIDIA image; `device-plugin`: that of Kubernetes, a container too;
    `singularity`: Singularity or Apptainer, which found on the host nothing to bind for --nv."""
    text: str
    count: int = 1


class CdiSpec(Fact):
    """A CDI specification for NVIDIA devices, or what a tool says of all of them."""

    kind: ClassVar[str] = "cdi_spec"

    devices: int
    version: Version | None = None
    """Driver release in the names of the libraries that it mounts; the highest where they differ."""
    versions: int = 1
    """How many releases its library names carry."""
    all_device: bool | None = None
    """It defines nvidia.com/gpu=all."""


class ContainerToolkit(Fact):
    """The NVIDIA container toolkit, as its own tools print its release."""

    kind: ClassVar[str] = "container_toolkit"

    version: Version
    tool: str

    @computed_field  # type: ignore[prop-decorator]
    @property
    def has(self) -> str | None:
        """Defects and defaults of this release that matter, by their ids in the catalogue: `compat-left-out`."""
        return toolkit_has(self.version, "defect", "default") or None

    @computed_field  # type: ignore[prop-decorator]
    @property
    def lacks(self) -> str | None:
        """Features that it does not have yet, by their ids: `cgroup-v2`."""
        return toolkit_lacks(self.version) or None

    @computed_field  # type: ignore[prop-decorator]
    @property
    def vulnerable_to(self) -> str | None:
        """`CVE-2025-23359 CVE-2025-23266`"""
        return toolkit_has(self.version, "vulnerability") or None


class ProgramPath(Fact):
    """Where a program is found, from which or command -v."""

    kind: ClassVar[str] = "program_path"

    name: str
    path: str | None = None
    """None where it was not found."""
    snap: bool = False


class InjectedDriver(Fact):
    """What of the host's driver is mounted into a container, from its list of mounts."""

    kind: ClassVar[str] = "injected_driver"

    libraries: int
    """Driver libraries mounted one by one."""
    cuda: bool | None = None
    """libcuda is among them (capability compute); None where the list was searched for something else."""
    nvml: bool | None = None
    """libnvidia-ml is among them (capability utility)."""
    ptx: bool | None = None
    """libnvidia-ptxjitcompiler is among them (capability compute)."""
    version: Version | None = None
    deleted: bool = False
    """The host removed the files since: mounts of `//deleted`."""
    gpus: int | None = None
    """Nodes /dev/nvidia0 … among the mounts; None where nodes are not mounted one by one."""
    uvm: bool | None = None
    """/dev/nvidia-uvm is among the mounts, where other nodes are."""


class GpuToolRun(Fact):
    """nvidia-smi was run at some place, or a container was started, and what came of it; from transcripts."""

    kind: ClassVar[str] = "gpu_tool_run"

    where: ToolPlace
    """`host`: at the prompt itself; `new-container`: docker run; `old-container`: docker exec or start."""
    user: Literal["default", "root", "other"] = "default"
    """The user that the command asks for in the container."""
    keeps_groups: bool = False
    """The container keeps the user or the groups of its caller (--userns=keep-id, --group-add keep-groups)."""
    sudo: bool = False
    outcome: ToolOutcome
    """`works`: GPUs are listed; `not-started`: the engine did not start the container; else NVML's words."""
