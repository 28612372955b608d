"""The table of what is collected, in the order in which it is taken. A new source is one row.

Files of /proc and /sys come first, then logs and folders, then commands, from the harmless to those that ask
the devices, and nvidia-smi last: it can hang for ever where a GPU died, and must cost nothing then.
"""

from __future__ import annotations

import os
import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeAlias

from collectors.live import places
from collectors.live.listings import (
    boot_time,
    environment,
    init_environment,
    iommu_groups,
    of_values,
    pci_devices,
)
from collectors.live.ls import list_files, list_libraries, list_targets

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from collectors.live.tree import Keep, Tree

KIB = 1024
MIB = 1024 * KIB


@dataclass(frozen=True)
class File:
    """One file, copied. `keep` says which part of one that is larger than the cap."""

    path: str
    keep: Keep = "head"


@dataclass(frozen=True)
class Files:
    """Every file that matches a pattern, copied. A pattern whose `~` or `$NAME` is not set is left out."""

    patterns: tuple[str, ...]
    keep: Keep = "head"


@dataclass(frozen=True)
class Command:
    """A command whose standard output is kept."""

    argv: tuple[str, ...]


@dataclass(frozen=True)
class Listing:
    """A text that one of our functions makes of many files; `like` is a command line that shows the same."""

    lines: Callable[[Tree], Iterator[str]]
    like: str


How: TypeAlias = File | Files | Command | Listing


@dataclass(frozen=True)
class Source:
    """One row. `deadline_s` holds for all files of a row together, `cap_bytes` for each."""

    name: str
    how: How
    deadline_s: float = 3.0
    cap_bytes: int = MIB
    unless: tuple[str, ...] = ()
    """Not taken where one of these sources came whole."""
    whole_if: bytes = b""
    """It came whole only if it begins so: a ring buffer that has wrapped does not."""
    after: tuple[str, float] | None = None
    """Starts no sooner than so many seconds after that source did, if that one succeeded."""


def _file(path: str, keep: Keep = "head", cap_bytes: int = MIB) -> Source:
    """A row for one file, named by its path."""
    name = re.sub(r"[^a-z0-9]+", "-", path).strip("-")
    return Source(name, File(path, keep), cap_bytes=cap_bytes)


def _files(name: str, *patterns: str, keep: Keep = "head", cap_bytes: int = MIB) -> Source:
    """A row for whatever matches."""
    return Source(name, Files(patterns, keep), cap_bytes=cap_bytes)


def _command(name: str, line: str, deadline_s: float = 10.0) -> Source:
    """A row for a command line without quoting."""
    return Source(name, Command(tuple(line.split())), deadline_s, 8 * MIB)


def _list(name: str, like: str, lines: Callable[[Tree], Iterator[str]]) -> Source:
    """A row for a listing."""
    return Source(name, Listing(lines, like), 5.0, 8 * MIB)


def _values(name: str, patterns: tuple[str, ...]) -> Source:
    """A row for `path:value` of small files."""
    return _list(name, f"grep -H ^ {' '.join(patterns)}", of_values(*patterns))


def _memory_sample(number: int) -> Source:
    """One of the samples that tell a rising memory from a steady one; their times stand in the manifest."""
    line = "nvidia-smi --query-gpu=index,memory.used,memory.total --format=csv,noheader"
    after = (f"nvidia-smi-memory-{number - 1}", 2.0) if number > 1 else None
    return Source(f"nvidia-smi-memory-{number}", Command(tuple(line.split())), 15.0, after=after)


_PROC_AND_SYS = (
    _file("/proc/driver/nvidia/version"),
    _file("/sys/module/nvidia/version"),
    _file("/proc/cmdline"),
    _file("/proc/version"),
    _file("/proc/uptime"),
    _list("boot-time", "grep btime /proc/stat", boot_time),
    _file("/proc/modules"),
    _file("/proc/devices"),
    _file("/proc/meminfo"),
    # The first processors tell the model and its flags; some machines list five hundred.
    _file("/proc/cpuinfo", cap_bytes=16 * KIB),
    _file("/proc/sys/kernel/tainted"),
    _file("/sys/kernel/security/lockdown"),
    _list("environment", "env", environment(os.environ)),
    _list("init-environment", "tr '\\0' '\\n' < /proc/1/environ", init_environment),
    _file("/proc/1/cgroup"),
    _file("/proc/self/cgroup"),
    _file("/proc/self/mountinfo"),
    _file("/proc/self/limits"),
    _list("iommu-groups", "grep -H ^ /sys/kernel/iommu_groups/*/type", iommu_groups),
    _values("memory-encryption", places.MEMORY_ENCRYPTION),
    _values("cgroup-limits", places.CGROUP_LIMITS),
    _values("infiniband", places.INFINIBAND),
    # From here on the driver or a device may be asked.
    _file("/proc/driver/nvidia/params"),
    _values("nvidia-parameters", places.MODULE_PARAMETERS),
    _files("nvidia-gpus", "/proc/driver/nvidia/gpus/*/information"),
    _list("pci-nvidia", "grep -sH ^ /sys/bus/pci/devices/*/*", pci_devices),
)

_FILES = (
    _file("/etc/os-release"),
    _list(
        "container-marks",
        f"ls -ld {' '.join(places.CONTAINER_MARKS)}",
        list_files(*places.CONTAINER_MARKS),
    ),
    _file("/run/.containerenv"),
    _file("/run/systemd/container"),
    _list("device-files", f"ls -l {' '.join(places.DEVICE_FILES)}", list_files(*places.DEVICE_FILES)),
    _list("module-files", "ls -l /lib/modules/*/*/nvidia*.ko*", list_files(*places.MODULE_FILES)),
    _list(
        "library-files",
        f"ls -l {' '.join(places.LIBRARIES)}",
        list_libraries(places.LIBRARY_FOLDERS, places.LIBRARIES),
    ),
    _list(
        "library-targets",
        f"readlink -f {' '.join(places.SONAMES)}",
        list_targets(places.LIBRARY_FOLDERS, places.SONAMES),
    ),
    _files("ld-so-conf", "/etc/ld.so.conf", "/etc/ld.so.conf.d/*.conf", "/etc/ld.so.preload"),
    _files("modprobe-conf", "/etc/modprobe.d/*.conf"),
    _files("nccl-conf", "/etc/nccl.conf", "~/.nccl.conf", "$NCCL_CONF_FILE"),
    _files("python-hooks", *places.PYTHON_HOOKS, cap_bytes=64 * KIB),
    _files("apt-history", "/var/log/apt/history.log", keep="tail"),
    # The log starts anew each month; a compressed file is of no use without its head.
    _files("apt-history-before", "/var/log/apt/history.log.1.gz"),
    _files("dpkg-log", "/var/log/dpkg.log", "/var/log/dpkg.log.1", keep="tail"),
    _files("rpm-history", "/var/log/dnf.rpm.log", "/var/log/yum.log", "/var/log/zypp/history", keep="tail"),
    _file("/var/log/pacman.log", "tail"),
    _file("/var/log/nvidia-installer.log", "tail"),
    _file("/var/log/fabricmanager.log", "tail", 4 * MIB),
)

_COMMANDS = (
    Source("dmesg", Command(("dmesg",)), 10.0, 32 * MIB, whole_if=b"[    0.000000]"),
    _command("uname", "uname -a"),
    _command("uptime", "uptime"),
    _command("df-shm", "df -k /dev/shm"),
    _command("detect-virt", "systemd-detect-virt"),
    _command("ldconfig", "ldconfig -p"),
    _command("modinfo-nvidia", "modinfo nvidia"),
    _command("dkms-status", "dkms status"),
    _command("dpkg-list", "dpkg -l"),
    _command("rpm-list", "rpm -qa", 20.0),
    _command("ip-addr", "ip addr"),
    _command("fabricmanager-status", "systemctl status nvidia-fabricmanager --no-pager --full --lines=50"),
    _command("persistenced-status", "systemctl status nvidia-persistenced --no-pager --full --lines=20"),
    # The newest 200,000 lines: an Xid storm can fill gigabytes.
    Source(
        "kernel-journal",
        Command(("journalctl", "-k", "-b", "--no-pager", "--lines=200000", "--output=short-iso")),
        deadline_s=15.0,
        cap_bytes=32 * MIB,
        unless=("dmesg",),
    ),
    Source(
        "kernel-log-file",
        File("/var/log/kern.log", "tail"),
        deadline_s=5.0,
        cap_bytes=32 * MIB,
        unless=("dmesg", "kernel-journal"),
    ),
    _command("lspci", "lspci -nn"),
    _command("lspci-verbose", "lspci -vvv", 15.0),
)

_NVIDIA_SMI = (
    # Without the persistence daemon each call may bring up every GPU, which takes seconds for each.
    _command("nvidia-smi-list", "nvidia-smi -L", 20.0),
    _memory_sample(1),
    _command("nvidia-smi", "nvidia-smi", 15.0),
    _command("nvidia-smi-query", "nvidia-smi -q", 20.0),
    _memory_sample(2),
    _command("nvidia-smi-topology", "nvidia-smi topo -m", 15.0),
    _command("nvidia-smi-p2p-read", "nvidia-smi topo -p2p r", 15.0),
    _memory_sample(3),
)

SOURCES: tuple[Source, ...] = _PROC_AND_SYS + _FILES + _COMMANDS + _NVIDIA_SMI
"""Every source, in the order in which they are taken."""
