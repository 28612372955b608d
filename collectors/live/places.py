"""Where things stand on the systems we know: folders, names and patterns for the table of sources."""

from __future__ import annotations

import glob
import os
import sys


def _search_path() -> list[str]:
    """The absolute folders of LD_LIBRARY_PATH, which the linker searches before its cache."""
    folders = os.environ.get("LD_LIBRARY_PATH", "").split(":")
    return [glob.escape(folder) for folder in folders if folder.startswith("/")]


def _python_hooks() -> tuple[str, ...]:
    """Where a Python start-up hook may stand: beside the packages of the system, of the user and of us."""
    folders = [
        *(glob.escape(folder) for folder in sys.path if folder.startswith("/")),
        "/usr/lib/python3*",
        "/usr/lib/python3*/site-packages",
        "/usr/lib/python3/dist-packages",
        "/usr/local/lib/python3*/site-packages",
        "/usr/local/lib/python3*/dist-packages",
        "~/.local/lib/python3*/site-packages",
    ]
    return tuple(f"{folder}/{name}" for folder in folders for name in ("sitecustomize.py", "usercustomize.py"))


PYTHON_HOOKS = _python_hooks()

LIBRARY_FOLDERS = (
    *_search_path(),
    "/usr/lib/x86_64-linux-gnu",
    "/usr/lib/aarch64-linux-gnu",
    "/usr/lib/i386-linux-gnu",
    "/usr/lib64",
    "/usr/lib",
    "/usr/lib32",
    # Their own folders only where /lib is not a link to /usr/lib.
    "/lib/x86_64-linux-gnu",
    "/lib/aarch64-linux-gnu",
    "/lib64",
    "/usr/local/lib",
    "/usr/local/lib64",
    "/usr/lib/*-linux-gnu/nvidia",
    "/usr/lib/*-linux-gnu/nvidia/current",
    "/usr/lib64/nvidia",
    "/usr/lib/wsl/lib",
    "/usr/local/cuda-*/compat",
    "/usr/local/cuda-*/lib64",
    "/usr/local/cuda/compat",
    "/usr/local/cuda/lib64",
    "/usr/local/nvidia/lib",
    "/usr/local/nvidia/lib64",
    "/run/opengl-driver/lib",
    "/run/nvidia/driver/usr/lib/*-linux-gnu",
    "/run/nvidia/driver/usr/lib64",
    "/usr/local/lib/python3*/dist-packages/nvidia/nccl/lib",
    "/usr/local/lib/python3*/site-packages/nvidia/nccl/lib",
    "/opt/conda/lib/python3*/site-packages/nvidia/nccl/lib",
    "/opt/conda/lib",
)

LIBRARIES = (
    "libcuda.so*",
    "libnvidia-ml.so*",
    "libnccl*.so*",
    "libcudart.so*",
    "libcudadebugger.so*",
    "libnvidia-ptxjitcompiler.so*",
    "libnvidia-nvvm*.so*",
)

SONAMES = ("libcuda.so.1", "libnvidia-ml.so.1", "libnccl.so.2", "libcuda.so", "libnvidia-ml.so", "libnccl.so")

MODULE_FILES = tuple(
    f"/lib/modules/*/{folder}/nvidia*.ko*"
    for folder in (
        "updates/dkms",
        "updates",
        "extra",
        "extra/nvidia*",
        "extramodules",
        "weak-updates/nvidia*",
        "kernel/drivers/video",
        "kernel/nvidia-*",
    )
)

DEVICE_FILES = (
    "/dev/nvidia*",
    "/dev/nvidia-caps/*",
    "/dev/nvidia-caps-imex-channels/*",
    "/dev/dxg",
    "/dev/infiniband/*",
)

CONTAINER_MARKS = (
    "/.dockerenv",
    "/run/.containerenv",
    "/run/systemd/container",
    "/.singularity.d",
    "/dev/dxg",
)

CGROUP_LIMITS = (
    *(f"/sys/fs/cgroup/memory.{name}" for name in ("max", "current", "peak", "events")),
    "/sys/fs/cgroup/pids.max",
    # Of version 1.
    *(f"/sys/fs/cgroup/memory/memory.{name}" for name in ("limit_in_bytes", "usage_in_bytes", "failcnt")),
)

INFINIBAND = tuple(
    f"/sys/class/infiniband/*/ports/*/{name}"
    for name in ("state", "phys_state", "rate", "link_layer", "lid", "sm_lid")
)

KERNEL_SETTINGS = (
    "/proc/sys/kernel/yama/ptrace_scope",
    "/proc/sys/kernel/perf_event_paranoid",
    "/proc/sys/kernel/dmesg_restrict",
    "/proc/sys/kernel/hung_task_timeout_secs",
    "/proc/sys/kernel/pid_max",
    "/proc/sys/kernel/shmmax",
    "/proc/sys/vm/overcommit_memory",
    "/proc/sys/vm/max_map_count",
    "/proc/sys/vm/nr_hugepages",
    "/proc/sys/vm/zone_reclaim_mode",
    "/proc/sys/net/ipv4/conf/all/rp_filter",
    "/proc/sys/net/ipv4/conf/all/arp_ignore",
    "/proc/sys/net/ipv4/ip_local_port_range",
    "/proc/sys/net/ipv4/tcp_keepalive_time",
    "/proc/sys/user/max_user_namespaces",
    "/sys/kernel/mm/transparent_hugepage/enabled",
    "/sys/kernel/mm/hugepages/hugepages-*/nr_hugepages",
)

NVIDIA_PROC = (
    *(f"/proc/driver/nvidia/{name}" for name in ("registry", "suspend", "warnings/*", "patches/*")),
    "/proc/driver/nvidia/gpus/*/[!i]*",
    "/proc/driver/nvidia-nvlink/*",
    "/proc/driver/nvidia-nvlink/devices/*",
    "/proc/driver/nvidia-nvswitch/*",
    "/proc/driver/nvidia-nvswitch/devices/*",
    "/proc/driver/nvidia-nvswitch/devices/*/*",
    "/proc/driver/nvidia-uvm/*",
)

# Not mig-minors, which names hundreds of instances that could be.
CAPABILITIES = (
    "/proc/driver/nvidia/capabilities/*",
    "/proc/driver/nvidia/capabilities/gpu*/mig/gi*/access",
    "/proc/driver/nvidia/capabilities/gpu*/mig/gi*/ci*/access",
)

FABRIC_SETTINGS = (
    "/usr/share/nvidia/nvswitch/fabricmanager.cfg",
    "/etc/nvidia-fabricmanager/*.cfg",
    "/etc/fabricmanager.cfg",
    "/etc/nvidia-imex/*.cfg",
    "/etc/default/nvidia-*",
)

SERVICE_UNITS = tuple(
    f"{folder}/nvidia-{name}.service{more}"
    for folder in ("/usr/lib/systemd/system", "/etc/systemd/system")
    for name in ("persistenced", "fabricmanager", "imex")
    for more in ("", ".d/*.conf")
)

REBOOT_REQUIRED = ("/run/reboot-required", "/run/reboot-required.pkgs")

CONTAINER_UNITS = "docker-*.scope cri-containerd-*.scope crio-*.scope libpod-*.scope"

KERNEL_HEADERS = ("/lib/modules/*", "/lib/modules/*/build", "/usr/src/linux-headers-*", "/usr/src/kernels/*")

DEVICE_RULES = ("/sys/fs/cgroup/devices/devices.list", "/etc/pve/lxc/*.conf", "/var/lib/lxc/*/config")

LIMITS = ("/etc/security/limits.conf", "/etc/security/limits.d/*.conf")

CDI = tuple(f"{folder}/cdi/*.{kind}" for folder in ("/etc", "/run") for kind in ("yaml", "json"))

CONTAINER_RUNTIMES = (
    "/etc/docker/daemon.json",
    "/etc/containerd/config.toml",
    "/etc/containerd/conf.d/*.toml",
    "/var/lib/rancher/k3s/agent/etc/containerd/config.toml",
    "/etc/crio/crio.conf",
    "/etc/crio/crio.conf.d/*",
    "/etc/containers/containers.conf",
    "/etc/nvidia-container-runtime/config.toml",
    "/usr/local/nvidia/toolkit/.config/nvidia-container-runtime/config.toml",
)

MEMORY_ENCRYPTION = ("/sys/module/kvm_amd/parameters/sev*", "/sys/module/kvm_intel/parameters/tdx")

MODULE_PARAMETERS = ("/sys/module/nvidia_uvm/parameters/*", "/sys/module/nvidia_drm/parameters/*")

KERNEL_LOGS: tuple[tuple[str, str, tuple[str, ...]], ...] = (
    ("kernel-log-file", "/var/log/kern.log", ()),
    ("system-log-file", "/var/log/messages", ("kernel-log-file",)),
)
"""Each with those that make it needless."""
