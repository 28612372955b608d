"""Settings of the running kernel that bear on GPU jobs: sysctl, /proc/sys, transparent and other huge pages.

    /proc/sys/kernel/yama/ptrace_scope:1
    kernel.numa_balancing = 1
    /sys/kernel/mm/transparent_hugepage/enabled:always [madvise] never

Follows sysctl(8), grep and Documentation/admin-guide/{sysctl,mm} of Linux 5.4 to 6.17. What concerns no GPU job,
and lines of configuration files, give nothing.
"""

from __future__ import annotations

from collections.abc import Iterator

from collectors.readers._lines import command_of
from collectors.readers._regex import regex
from kb.evidence import Reader, Reading, Section
from kb.facts.machine import KernelSetting

_NAMES = frozenset(
    (
        *("kernel.yama.ptrace_scope", "kernel.perf_event_paranoid", "kernel.dmesg_restrict", "kernel.pid_max"),
        *("kernel.hung_task_timeout_secs", "kernel.shmmax", "kernel.numa_balancing", "vm.overcommit_memory"),
        *("vm.max_map_count", "vm.nr_hugepages", "vm.zone_reclaim_mode", "net.ipv4.conf.all.rp_filter"),
        *("net.ipv4.conf.all.arp_ignore", "net.ipv4.ip_local_port_range", "net.ipv4.tcp_keepalive_time"),
        "user.max_user_namespaces",
    )
)
_PROC = regex(r"\s{0,8}/proc/sys/(?P<name>[a-z][\w/-]{2,80}):\s?(?P<value>\S.{0,80}?)\s*$")
_SYSCTL = regex(r"(?P<name>[a-z]{2,6}\.[\w.-]{2,80}) = (?P<value>\S.{0,80}?)\s*$")
_TRANSPARENT = regex(r"\s{0,8}/sys/kernel/mm/transparent_hugepage/enabled:.{0,40}\[(?P<value>[a-z]{3,10})\]")
_PAGES = regex(
    r"\s{0,8}/sys/kernel/mm/hugepages/hugepages-(?P<size>\d{2,9}kB)/nr_hugepages:(?P<value>\d{1,9})\s*$"
)
_CONFIGURES = regex(r".{0,200}sysctl\.(?:conf|d)\b")


def read(section: Section) -> Iterator[Reading]:
    """KernelSetting for each of interest, once."""
    if _CONFIGURES.match(f"{section.path[-200:]} ") or _CONFIGURES.match(command_of(section)[:400]):
        return  # what the next boot would set
    seen: set[str] = set()
    for index, whole in section.matching("/proc/sys/", " = ", "hugepage"):
        found = _setting(whole[:300])
        if found and found.name not in seen:
            seen.add(found.name)
            yield section.observe(found, index)
    if seen:
        yield section.looked(KernelSetting, complete=False, reason="not-collected")


def _setting(line: str) -> KernelSetting | None:
    named = _PROC.match(line) or _SYSCTL.match(line)
    if named:
        name = named["name"].replace("/", ".")
        return KernelSetting(name=name, value=" ".join(named["value"].split())) if name in _NAMES else None
    transparent = _TRANSPARENT.match(line)
    if transparent:
        return KernelSetting(name="transparent_hugepage", value=transparent["value"])
    pages = _PAGES.match(line)
    return KernelSetting(name=f"hugepages.{pages['size']}", value=pages["value"]) if pages else None


READER = Reader(
    "kernel-settings",
    read,
    markers=("/proc/sys/", *sorted(name + " = " for name in _NAMES), "/sys/kernel/mm/"),
)
