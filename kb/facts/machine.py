"""Facts on the machine around the GPUs: boot, kernel command line, container, VM, memory encryption."""

from typing import ClassVar, Literal

from kb.facts.base import Fact
from kb.facts.xid import WhichBoot


class Boot(Fact):
    """The running kernel."""

    kind: ClassVar[str] = "boot"

    kernel: str | None = None
    """Release, 6.14.11-4-pve."""
    architecture: str | None = None
    host: str | None = None


class Uptime(Fact):
    """How long ago the machine was started, as uptime says."""

    kind: ClassVar[str] = "uptime"

    minutes: int


class BootId(Fact):
    """The number that the kernel gave to this start of it: the same in the machine and in all its containers."""

    kind: ClassVar[str] = "boot_id"

    value: str
    """A UUID in lower case."""


class KernelParameter(Fact):
    """One parameter of the kernel command line."""

    kind: ClassVar[str] = "kernel_parameter"

    name: str
    value: str | None = None
    """None for a bare word."""


class KernelSetting(Fact):
    """A setting of the running kernel that bears on GPU jobs (sysctl, transparent huge pages)."""

    kind: ClassVar[str] = "kernel_setting"

    name: str
    """As sysctl names it, kernel.yama.ptrace_scope; or `transparent_hugepage`, `hugepages.2048kB`."""
    value: str
    """As it stands; of several choices the one that holds."""


class Container(Fact):
    """This evidence was taken inside a container."""

    kind: ClassVar[str] = "container"

    runtime: Literal["docker", "podman", "containerd", "kubernetes", "lxc", "systemd-nspawn", "other"]


class VirtualMachine(Fact):
    """This evidence was taken inside a virtual machine."""

    kind: ClassVar[str] = "virtual_machine"

    hypervisor: str
    """kvm, vmware, microsoft, xen …"""


class MemoryEncryption(Fact):
    """Memory encryption of the platform. As host it forces DMA translation; as guest it says another thing."""

    kind: ClassVar[str] = "memory_encryption"

    technology: Literal["sme", "sev", "sev-es", "sev-snp", "tdx"]
    role: Literal["host", "guest"]
    state: Literal["active", "available", "requested", "off"]
    """`available`: the platform could; `requested`: only the command line asks for it."""


class SystemdReload(Fact):
    """systemd read its units anew (daemon-reload); all of one log together."""

    kind: ClassVar[str] = "systemd_reload"

    count: int = 1
    time: str | None = None
    """Of the last, as printed."""


class SystemSuspend(Fact):
    """The machine slept, suspended or hibernated, and woke up again; all times of one kind together."""

    kind: ClassVar[str] = "system_suspend"

    state: Literal["suspend", "hibernate"]
    reported_by: Literal["kernel", "systemd"]
    count: int = 1
    boot: WhichBoot = "this"
    time: str | None = None
    """When it woke up last, as printed."""
    last_s: float | None = None
