"""Facts on device files: which nodes are there, who may open them, and which ones a device cgroup lets through."""

from typing import ClassVar, Literal, TypeAlias

from kb.facts.base import Fact

NodeClass: TypeAlias = Literal[
    "gpu",
    "control",
    "uvm",
    "uvm-tools",
    "modeset",
    "caps",
    "imex-channel",
    "nvswitch",
    "nvlink",
    "wsl",
    "infiniband",
    "other",
]
AccessTo: TypeAlias = Literal["everyone", "group", "owner", "nobody"]
OpenError: TypeAlias = Literal[
    "not-permitted", "permission-denied", "absent", "no-device", "busy", "io-error", "other"
]


class DeviceNode(Fact):
    """Device files of one class that are alike in everything but their minor number, as ls or stat shows them."""

    kind: ClassVar[str] = "device_node"

    node: NodeClass
    path: str
    """Of the first one."""
    present: bool = True
    """False where the tool was asked for this path and said that there is none."""
    count: int = 1
    major: int | None = None
    mode: str | None = None
    """Octal, four digits: `0666`; None where only names were listed."""
    owner: str | None = None
    group: str | None = None
    access: AccessTo | None = None
    """Who may read and write it by its mode; an access list (`+`) is not looked at."""
    is_device: bool = True
    """False where a plain file or folder stands in its place."""


class DeviceNodes(Fact):
    """One listing of /dev/nvidia* (or of all of /dev) summed up. Unknown where the listing does not tell."""

    kind: ClassVar[str] = "device_nodes"

    gpus: int
    """Nodes /dev/nvidia0, /dev/nvidia1 …"""
    minors: str | None = None
    """Their minor numbers by name, `0, 1, 3`."""
    control: bool | None = None
    """/dev/nvidiactl is there."""
    uvm: bool | None = None
    """/dev/nvidia-uvm is there. False only where the listing would have shown it."""
    caps: bool | None = None
    """/dev/nvidia-caps, for MIG and fabric management."""
    imex_channels: int | None = None
    """Nodes in /dev/nvidia-caps-imex-channels."""
    nvswitches: int | None = None


class RdmaNodes(Fact):
    """The content of /dev/infiniband."""

    kind: ClassVar[str] = "rdma_nodes"

    verbs: int
    """Nodes uverbs0, uverbs1 …; 0 where the folder is not there."""
    rdma_cm: bool | None = None
    folder: bool = True
    """/dev/infiniband itself is there."""


class DeviceMajor(Fact):
    """The major number that the kernel gave to a driver, from /proc/devices."""

    kind: ClassVar[str] = "device_major"

    name: str
    """nvidia, nvidia-frontend, nvidia-uvm, nvidia-caps, nvidia-caps-imex-channels, infiniband_verbs …"""
    major: int


class CgroupDeviceRule(Fact):
    """One rule of a device cgroup or of an LXC configuration."""

    kind: ClassVar[str] = "cgroup_device_rule"

    allows: bool
    major: int | None = None
    """None for every major number."""
    minor: int | None = None
    """None for every minor number."""
    permissions: str | None = None
    """Letters of r, w, m."""
    interface: Literal["cgroup", "cgroup2", "passthrough"] | None = None
    """`lxc.cgroup.` counts only on a host with cgroup v1, `lxc.cgroup2.` only with v2; Proxmox `dev0:` on both."""
    path: str | None = None
    """The device file, where the rule names one."""


class DeviceOpenError(Fact):
    """A program could not open a device file; the same failure of one class together."""

    kind: ClassVar[str] = "device_open_error"

    node: NodeClass
    path: str
    """Of the first one."""
    error: OpenError
    """`not-permitted` is EPERM: a cgroup or a sandbox; `permission-denied` is EACCES: mode, owner or group."""
    tool: str | None = None
    count: int = 1


class DeviceAccess(Fact):
    """The kernel lets our process use the device files of one class: mode, owner and device cgroup allow it."""

    kind: ClassVar[str] = "device_access"

    node: NodeClass
    path: str
    """Of the first one."""
    count: int = 1


class DevicePolicy(Fact):
    """What systemd lets one unit open of NVIDIA's device files; it writes that list anew when it is reloaded."""

    kind: ClassVar[str] = "device_policy"

    unit: str
    policy: Literal["auto", "closed", "strict"]
    """`auto`: everything, unless devices are named."""
    restricted: bool
    """Other devices than those that are named are refused."""
    nvidia: int = 0
    """How many entries of its list name devices of NVIDIA's."""


class DeviceFilter(Fact):
    """A program that filters the devices of one cgroup (v2). What it lets through is not told."""

    kind: ClassVar[str] = "device_filter"

    cgroup: str
    programs: int
    """More than one: each of them must agree."""


class DeviceFilePolicy(Fact):
    """How the driver creates its device files, from /proc/driver/nvidia/params."""

    kind: ClassVar[str] = "device_file_policy"

    modify: bool | None = None
    """The driver's tools may create and change them."""
    mode: str | None = None
    """Octal, four digits, as the driver applies it. It prints the number in decimal: 438 is 0666, 666 is 1232."""
    uid: int | None = None
    gid: int | None = None
    access: AccessTo | None = None
    """Who may read and write files of this mode."""


class UserIdentity(Fact):
    """Who the user is, from `id`."""

    kind: ClassVar[str] = "user_identity"

    uid: int
    gid: int | None = None
    root: bool = False
    groups: str | None = None
    """Names, `user, video, render`."""
    in_video: bool | None = None
    in_render: bool | None = None


class UserNamespace(Fact):
    """The user namespace of the evidence, from /proc/self/uid_map or the container toolkit's log."""

    kind: ClassVar[str] = "user_namespace"

    mapped: bool
    """True where root inside is another user outside (unprivileged container)."""
    host_uid: int | None = None
    """User outside that root inside stands for."""
