"""The table of what is collected, in the order in which it is taken. A new source is one row.

Files of /proc and /sys come first, then logs and folders, then commands, from the harmless to those that ask
the devices, and nvidia-smi last: it can hang for ever where a GPU died, and must cost nothing then.
"""

from __future__ import annotations

import os
from dataclasses import replace

from collectors.live import places
from collectors.live.access import device_access
from collectors.live.acs import pci_acs
from collectors.live.listings import boot_time, environment, init_environment, iommu_groups, pci_devices
from collectors.live.ls import list_files, list_libraries, list_targets
from collectors.live.net import gids, interfaces, listening_ports, routes
from collectors.live.sampling import QUERY, by_nvidia_smi, by_nvml
from collectors.live.source import (
    KIB,
    MIB,
    Command,
    File,
    Files,
    Listing,
    Processes,
    Pythons,
    PythonStacks,
    Source,
    command_row,
    file_row,
    files_row,
    listing_row,
    ls_row,
    values_row,
)
from collectors.live.system import dpkg_packages, numa_nodes, stuck_tasks, system_name


def _memory_sample(number: int) -> Source:
    """One of the samples that tell a rising memory from a steady one; their times stand in the manifest."""
    line = "nvidia-smi --query-gpu=index,memory.used,memory.total --format=csv,noheader"
    after = (f"nvidia-smi-memory-{number - 1}", 2.0) if number > 1 else None
    return Source(f"nvidia-smi-memory-{number}", Command(tuple(line.split())), 15.0, after=after)


_PROC_AND_SYS = (
    file_row("/proc/driver/nvidia/version"),
    file_row("/sys/module/nvidia/version"),
    values_row("module-sums", ("/sys/module/nvidia*/version", "/sys/module/nvidia*/srcversion")),
    file_row("/proc/cmdline"),
    file_row("/proc/version"),
    file_row("/proc/uptime"),
    file_row("/proc/sys/kernel/random/boot_id"),
    listing_row("boot-time", "grep btime /proc/stat", boot_time),
    file_row("/proc/modules"),
    file_row("/proc/devices"),
    file_row("/proc/meminfo"),
    # The first processors tell the model and its flags; some machines list five hundred.
    file_row("/proc/cpuinfo", cap_bytes=16 * KIB),
    file_row("/proc/sys/kernel/tainted"),
    file_row("/sys/kernel/security/lockdown"),
    replace(listing_row("environment", "env", environment(os.environ)), alien=False),
    listing_row("init-environment", "tr '\\0' '\\n' < /proc/1/environ", init_environment),
    file_row("/proc/1/cgroup"),
    file_row("/proc/self/cgroup"),
    file_row("/proc/self/mountinfo"),
    file_row("/proc/self/limits"),
    file_row("/proc/self/status"),
    file_row("/proc/self/uid_map"),
    listing_row("iommu-groups", "grep -H ^ /sys/kernel/iommu_groups/*/type", iommu_groups),
    values_row("memory-encryption", places.MEMORY_ENCRYPTION),
    values_row("cgroup-limits", places.CGROUP_LIMITS),
    values_row("kernel-settings", places.KERNEL_SETTINGS),
    listing_row("numa", "numactl --hardware", numa_nodes),
    values_row("infiniband", places.INFINIBAND),
    listing_row("gids", "show_gids", gids),
    listing_row("stuck-tasks", "ps -eLo pid,tid,stat,wchan:32,comm | grep ' D '", stuck_tasks),
    # From here on the driver or a device may be asked.
    file_row("/proc/driver/nvidia/params"),
    values_row("nvidia-parameters", places.MODULE_PARAMETERS),
    files_row("nvidia-gpus", "/proc/driver/nvidia/gpus/*/information"),
    files_row("nvidia-proc", *places.NVIDIA_PROC, cap_bytes=64 * KIB),
    ls_row("nvswitches", "/proc/driver/nvidia-nvswitch/devices/*"),
    ls_row("nvidia-capabilities", *places.CAPABILITIES),
    listing_row("pci-nvidia", "grep -sH ^ /sys/bus/pci/devices/*/*", pci_devices),
    listing_row("pci-acs", "cat /sys/bus/pci/devices/*/config", pci_acs),
)

_FILES = (
    file_row("/etc/os-release"),
    ls_row("container-marks", *places.CONTAINER_MARKS),
    file_row("/run/.containerenv"),
    file_row("/run/systemd/container"),
    listing_row("device-files", f"ls -l {' '.join(places.DEVICE_FILES)}", list_files(*places.DEVICE_FILES)),
    # It tells what the kernel would say at opening, and opens nothing: that can start a GPU, or hang with it.
    replace(listing_row("device-access", "strace -e access test -w /dev/nvidia*", device_access), alien=False),
    files_row("reboot-required", *places.REBOOT_REQUIRED, cap_bytes=64 * KIB),
    ls_row("kernel-headers", *places.KERNEL_HEADERS),
    listing_row("module-files", "ls -l /lib/modules/*/*/nvidia*.ko*", list_files(*places.MODULE_FILES)),
    listing_row(
        "library-files",
        f"ls -l {' '.join(places.LIBRARIES)}",
        list_libraries(places.LIBRARY_FOLDERS, places.LIBRARIES),
    ),
    listing_row(
        "library-targets",
        f"readlink -f {' '.join(places.SONAMES)}",
        list_targets(places.LIBRARY_FOLDERS, places.SONAMES),
    ),
    files_row("ld-so-conf", "/etc/ld.so.conf", "/etc/ld.so.conf.d/*.conf", "/etc/ld.so.preload"),
    files_row("modprobe-conf", "/etc/modprobe.d/*.conf"),
    files_row("device-rules", *places.DEVICE_RULES, cap_bytes=64 * KIB),
    files_row("limits-conf", *places.LIMITS, cap_bytes=64 * KIB),
    files_row("fabric-settings", *places.FABRIC_SETTINGS, cap_bytes=64 * KIB),
    files_row("service-units", *places.SERVICE_UNITS, cap_bytes=64 * KIB),
    files_row("cdi-specs", *places.CDI),
    files_row("container-runtimes", *places.CONTAINER_RUNTIMES, cap_bytes=256 * KIB),
    file_row("/etc/hosts", cap_bytes=64 * KIB),
    files_row("nccl-conf", "/etc/nccl.conf", "~/.nccl.conf", "$NCCL_CONF_FILE"),
    files_row("python-hooks", *places.PYTHON_HOOKS, cap_bytes=64 * KIB),
    files_row("apt-history", "/var/log/apt/history.log", keep="tail"),
    # The log starts anew each month.
    files_row("apt-history-before", "/var/log/apt/history.log.1.gz", keep="tail"),
    files_row("dpkg-log", "/var/log/dpkg.log", "/var/log/dpkg.log.1", keep="tail"),
    files_row("rpm-history", "/var/log/dnf.rpm.log", "/var/log/yum.log", "/var/log/zypp/history", keep="tail"),
    file_row("/var/log/pacman.log", "tail"),
    file_row("/var/log/nvidia-installer.log", "tail"),
    file_row("/var/log/fabricmanager.log", "tail", 4 * MIB),
    file_row("/var/log/nvlsm.log", "tail", 4 * MIB),
    file_row("/var/log/nvidia-imex.log", "tail", 4 * MIB),
)

_COMMANDS = (
    Source("dmesg", Command(("dmesg",)), 10.0, 32 * MIB, whole_if=b"[    0.000000]"),
    command_row("uname", "uname -a", 3.0),
    replace(listing_row("system-name", "uname -a", system_name), unless=("uname",)),
    command_row("uptime", "uptime", 3.0),
    command_row("id", "id", 5.0),
    command_row("df-shm", "df -k /dev/shm", 3.0),
    command_row("df", "df -kl", 5.0),
    command_row("df-inodes", "df -il", 5.0),
    command_row("detect-virt", "systemd-detect-virt", 3.0),
    command_row("ldconfig", "ldconfig -p", 5.0),
    # By name it finds nothing where depmod has not run.
    command_row("modinfo-nvidia", "modinfo nvidia", 5.0),
    command_row("dkms-status", "dkms status"),
    command_row("secure-boot", "mokutil --sb-state", 5.0),
    replace(command_row("dpkg-list", "dpkg -l"), whole_if=b"Desired="),
    replace(listing_row("dpkg-status", "dpkg -l", dpkg_packages), unless=("dpkg-list",)),
    command_row("rpm-list", "rpm -qa", 15.0),
    replace(command_row("ip-addr", "ip addr", 5.0), whole_if=b"1: "),
    replace(listing_row("interfaces", "ip addr", interfaces), unless=("ip-addr",)),
    replace(
        command_row("ip-route", "ip route", 5.0),
        whole_if=(b"default ", *(b"%d" % digit for digit in range(1, 10))),
    ),
    replace(listing_row("routes", "ip route", routes), unless=("ip-route",)),
    replace(command_row("ss-listening", "ss -ltnp", 5.0), whole_if=b"State "),
    replace(listing_row("listening-ports", "ss -ltn", listening_ports), unless=("ss-listening",)),
    command_row("fabricmanager-status", "systemctl status nvidia-fabricmanager --no-pager --full --lines=50", 5.0),
    command_row("persistenced-status", "systemctl status nvidia-persistenced --no-pager --full --lines=20", 5.0),
    command_row("imex-status", "systemctl status nvidia-imex --no-pager --full --lines=20", 5.0),
    command_row(
        "device-policies",
        f"systemctl show --no-pager --property=Id,DevicePolicy,DeviceAllow {places.CONTAINER_UNITS}",
        5.0,
    ),
    # Of cgroup v2 it tells where filters are; what they let through nobody tells.
    command_row("device-filters", "bpftool cgroup tree", 5.0),
    # The newest 200,000 lines: an Xid storm can fill gigabytes.
    Source(
        "kernel-journal",
        Command(("journalctl", "-k", "-b", "--no-pager", "--lines=200000", "--output=short-iso")),
        deadline_s=15.0,
        cap_bytes=32 * MIB,
        unless=("dmesg",),
        # A stamp, or the heading of older releases; who may not see the journal is told that it has no entries.
        whole_if=(b"2", b"-- Logs begin", b"-- Journal begins"),
    ),
    Source(
        "kernel-journal-before",
        Command(("journalctl", "-k", "-b", "-1", "--no-pager", "--lines=20000", "--output=short-iso")),
        deadline_s=10.0,
        cap_bytes=8 * MIB,
    ),
    *(
        Source(name, File(path, "tail"), 5.0, 32 * MIB, unless=("dmesg", "kernel-journal", *before))
        for name, path, before in places.KERNEL_LOGS
    ),
    command_row("nvcc", "nvcc --version", 5.0),
    command_row("container-toolkit", "nvidia-ctk --version", 5.0),
    command_row("docker-info", "docker info", 8.0),
    command_row("imex-domain", "nvidia-imex-ctl -N"),
    command_row("lspci", "lspci -nn"),
    command_row("lspci-verbose", "lspci -vvv", 15.0),
)

_NVIDIA_SMI = (
    # Without the persistence daemon each call may bring up every GPU, which takes seconds for each.
    command_row("nvidia-smi-list", "nvidia-smi -L", 20.0),
    _memory_sample(1),
    command_row("nvidia-smi", "nvidia-smi", 15.0),
    command_row("nvidia-smi-query", "nvidia-smi -q", 20.0),
    _memory_sample(2),
    command_row("nvidia-smi-topology", "nvidia-smi topo -m", 15.0),
    command_row("nvidia-smi-p2p-read", "nvidia-smi topo -p2p r", 15.0),
    command_row("nvidia-smi-p2p-write", "nvidia-smi topo -p2p w", 15.0),
    command_row("nvidia-smi-nvlink", "nvidia-smi nvlink -s", 15.0),
    command_row("nvidia-smi-nvlink-errors", "nvidia-smi nvlink -e", 15.0),
    command_row("nvidia-smi-confidential", "nvidia-smi conf-compute -q", 15.0),
    _memory_sample(3),
)


def table(
    *,
    pids: tuple[int, ...] = (),
    pythons: tuple[str, ...] = (),
    logs: tuple[str, ...] = (),
    sample_s: float = 0.0,
) -> tuple[Source, ...]:
    """Every source, in the order in which they are taken.

    `pids` are the processes of the job, if not all that hold a GPU; `pythons` the interpreters, if not theirs;
    `logs` are paths or patterns of logs; for `sample_s` seconds the GPUs are watched.
    """
    given = (Source("log", Files(logs, "parts"), 20.0, 48 * MIB),) if logs else ()
    return (
        *_PROC_AND_SYS,
        Source("job", Processes(pids), 8.0),
        *given,
        *_FILES,
        *_COMMANDS[:1],
        replace(Source("py-spy", PythonStacks(pids), 12.0), alien=False),
        *_COMMANDS[1:],
        replace(Source("python", Pythons(pythons, pids), 20.0, 4 * MIB), alien=False),
        *(replace(source, last=True) for source in (*(_samples(sample_s) if sample_s else ()), *_NVIDIA_SMI)),
    )


def _samples(seconds: float) -> tuple[Source, ...]:
    """Rows that watch the GPUs for so long: through NVML, or else with nvidia-smi."""
    like, limit_s = f"{QUERY} -lms 1000", seconds + 6.0
    return (
        Source("gpu-samples", Listing(by_nvml(seconds), like), limit_s, alien=False),
        Source(
            "gpu-samples-nvidia-smi",
            Listing(by_nvidia_smi(seconds), like),
            limit_s,
            unless=("gpu-samples",),
            alien=False,
        ),
    )


SOURCES: tuple[Source, ...] = table()
"""What is collected where nothing is asked for."""
