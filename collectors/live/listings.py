"""Listings: many small facts of one tree as one text, in the form a shell user would paste them.

`path:value` as `grep -H` prints it, `path -> target` as in `ls -l`, `NAME=value` for the environment. Each is
a function from a tree to lines and runs inside a step's child (see `run`). What cannot be read is said on
its standard error; only where nothing at all could be read does it raise.
"""

from __future__ import annotations

import errno
import os
import re
from functools import partial
from typing import TYPE_CHECKING

from collectors.live.tree import Tree, complain

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

_PREFIXES = (
    "NCCL_",
    "CUDA_",
    "NVIDIA_",
    "TORCH_",
    "PYTORCH_",
    "VLLM_",
    "SGLANG_",
    "UCX_",
    "FI_",
    "GLOO_",
    "OMPI_MCA_",
)
_NAMES = frozenset(
    (
        *("MASTER_ADDR", "MASTER_PORT", "WORLD_SIZE", "RANK", "LOCAL_RANK", "LOCAL_WORLD_SIZE"),
        *("NODE_RANK", "GROUP_RANK", "LD_LIBRARY_PATH", "LD_PRELOAD", "container"),
        # The shape of a job; other names of SLURM tell of users and accounts.
        *("SLURM_JOB_ID", "SLURM_JOB_NODELIST", "SLURM_JOB_NUM_NODES", "SLURM_NNODES", "SLURM_NODELIST"),
        *("SLURM_NTASKS", "SLURM_NTASKS_PER_NODE", "SLURM_TASKS_PER_NODE", "SLURM_CPUS_PER_TASK"),
        *("SLURM_PROCID", "SLURM_LOCALID", "SLURM_NODEID", "SLURM_MEM_PER_NODE", "SLURM_DISTRIBUTION"),
        *("SLURM_GPUS", "SLURM_GPUS_ON_NODE", "SLURM_GPUS_PER_NODE", "SLURM_GPUS_PER_TASK"),
        *("SLURM_GPU_BIND", "SLURM_JOB_GPUS", "SLURM_STEP_GPUS"),
    )
)
_SECRET = re.compile(r"TOKEN|KEY|SECRET|PASSW|PASSPHRASE|CREDENTIAL|AUTH|COOKIE", re.IGNORECASE)
_URL_PASSWORD = re.compile(r"://[^/\s@]+@")

_GPU_VENDOR = "0x10de"
# What the kernel keeps in memory comes first: the rest is read from the device, where a dead one can hang.
_PCI_KEPT = (
    *(
        "vendor",
        "device",
        "class",
        "revision",
        "subsystem_vendor",
        "subsystem_device",
        "numa_node",
        "resource",
    ),
    *("enable", "power_state", "reset_method", "aer_dev_correctable", "aer_dev_nonfatal", "aer_dev_fatal"),
)
_PCI_ASKED = ("current_link_speed", "current_link_width", "max_link_speed", "max_link_width")
_PCI_LINKS = ("driver", "iommu_group")
_BRIDGE_CLASS = "0604"
_PCI = "/sys/bus/pci/devices"
_BDF = re.compile(r"[0-9a-f]{4,}:[0-9a-f]{2}:[0-9a-f]{2}\.[0-7]")


def values(tree: Tree, patterns: tuple[str, ...]) -> Iterator[str]:
    """`path:value` of every file that matches, for each of its lines. If none does, FileNotFoundError."""
    said = False
    refused: OSError | None = None
    for pattern in patterns:
        try:
            paths = tree.glob(pattern)
        except OSError as error:
            refused = refused or error
            continue
        for path in paths:
            try:
                lines = tree.read(path).split("\n")
            except OSError as error:
                complain(path, error)
                refused = refused or error
                continue
            said = True
            yield from (f"{path}:{line}" for line in lines)
    if not said:
        raise refused or FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT), patterns[0])


def iommu_groups(tree: Tree) -> Iterator[str]:
    """`…/iommu_groups/17/type:DMA-FQ` and `…/17/devices/0000:41:00.0` for every group, then the IOMMU units.

    No lines mean that the kernel has no group; without the folder itself, FileNotFoundError.
    """
    top = "/sys/kernel/iommu_groups"
    for group in tree.glob(f"{top}/*"):
        yield from _value(tree, f"{group}/type")
        yield from tree.glob(f"{group}/devices/*")
    try:
        yield from tree.glob("/sys/class/iommu/*")
    except OSError as error:
        complain("/sys/class/iommu", error)


def pci_devices(tree: Tree) -> Iterator[str]:
    """Attributes of every NVIDIA function and of the bridges above it, and where the links of each point.

    No lines mean that no such function is there; without PCI, FileNotFoundError.
    """
    chosen = _chosen(tree)
    for device in chosen:
        yield from _link(tree, device)
        for name in _PCI_LINKS:
            yield from _link(tree, f"{device}/{name}")
        for name in _PCI_KEPT:
            yield from _value(tree, f"{device}/{name}")
    for device in chosen:
        for name in _PCI_ASKED:
            yield from _value(tree, f"{device}/{name}")


def bridges_above_gpus(tree: Tree) -> list[str]:
    """The addresses of the bridges above NVIDIA functions; without PCI, FileNotFoundError."""
    return [
        device.rpartition("/")[2]
        for device in _chosen(tree)
        if next(_value(tree, f"{device}/class"), "").partition(":0x")[2].startswith(_BRIDGE_CLASS)
    ]


def _chosen(tree: Tree) -> list[str]:
    """The folders of NVIDIA functions, each after the bridges above it."""
    chosen: dict[str, None] = {}
    for device in tree.glob(f"{_PCI}/*"):
        if next(_value(tree, f"{device}/vendor"), "").endswith(f":{_GPU_VENDOR}"):
            above = _BDF.findall(tree.resolve(device))
            chosen.update(dict.fromkeys([f"{_PCI}/{bdf}" for bdf in above] + [device]))
    return list(chosen)


def boot_time(tree: Tree) -> Iterator[str]:
    """The `btime` line of /proc/stat: seconds since 1970 at which the machine started."""
    for line in tree.read("/proc/stat", 1 << 22).splitlines():
        if line.startswith("btime "):
            yield line


def environment(environ: Mapping[str, str]) -> Callable[[Tree], Iterator[str]]:
    """The listing of the variables that may be shown, of our own process."""

    def lines(_tree: Tree) -> Iterator[str]:
        for name, value in sorted(environ.items()):
            if may_show(name, value):
                yield f"{name}={_one_line(value)}"

    return lines


def init_environment(tree: Tree) -> Iterator[str]:
    """`container=` of process 1, which a container runtime sets, and nothing else of it."""
    for variable in tree.read("/proc/1/environ").split("\0"):
        if variable.startswith("container="):
            yield _one_line(variable)


def may_show(name: str, value: str) -> bool:
    """Whether a variable is on the allowlist and holds no secret: by its name, or as `://user:password@`."""
    if _SECRET.search(name) or _URL_PASSWORD.search(value):
        return False
    return name in _NAMES or name.startswith(_PREFIXES)


def of_values(*patterns: str) -> Callable[[Tree], Iterator[str]]:
    """The listing `values` of these patterns."""
    return partial(values, patterns=patterns)


def _value(tree: Tree, path: str) -> Iterator[str]:
    """`path:line` for each line of one file. One that is not there gives nothing; other errors are said."""
    try:
        content = tree.read(path)
    except FileNotFoundError:
        return
    except OSError as error:
        complain(path, error)
        return
    for line in content.split("\n"):
        yield f"{path}:{line}"


def _link(tree: Tree, path: str) -> Iterator[str]:
    """`path -> target` as `ls -l` shows a link."""
    try:
        yield f"{path} -> {tree.link(path)}"
    except OSError as error:
        if error.errno not in {errno.ENOENT, errno.EINVAL}:  # not there, or no link
            complain(path, error)


def _one_line(text: str) -> str:
    """The text without line ends, which would forge another variable."""
    return text.replace("\r", "\\r").replace("\n", "\\n")
