"""Listings that stand in for lspci, numactl, dpkg, ps, ip, ss and show_gids, from trees on disk."""

from __future__ import annotations

import struct
from typing import TYPE_CHECKING

import pytest
from live_support import plant

from collectors.live.acs import pci_acs
from collectors.live.net import gids, interfaces, listening_ports, routes
from collectors.live.system import dpkg_packages, numa_nodes, stuck_tasks
from collectors.live.tree import Tree

if TYPE_CHECKING:
    from pathlib import Path

PCI = "/sys/bus/pci/devices"
BRIDGE = "/sys/devices/pci0000:40/0000:40:01.1"


def plant_bridge(root: Path, config: bytes) -> None:
    """A bridge with this configuration space, and a GPU below it."""
    plant(
        root,
        {
            f"{PCI}/0000:40:01.1": "-> ../../../devices/pci0000:40/0000:40:01.1",
            f"{PCI}/0000:41:00.0": "-> ../../../devices/pci0000:40/0000:40:01.1/0000:41:00.0",
            f"{BRIDGE}/vendor": "0x1022\n",
            f"{BRIDGE}/class": "0x060400\n",
            f"{BRIDGE}/0000:41:00.0/vendor": "0x10de\n",
            f"{BRIDGE}/0000:41:00.0/class": "0x030200\n",
        },
    )
    (root / BRIDGE.lstrip("/") / "config").write_bytes(config)


def space(*capabilities: tuple[int, bytes]) -> bytes:
    """A configuration space of 4096 bytes with these at their offsets."""
    content = bytearray(4096)
    struct.pack_into("<HH", content, 0, 0x1022, 0x1483)
    for offset, words in capabilities:
        content[offset : offset + len(words)] = words
    return bytes(content)


def test_acs_bits_are_those_that_lspci_shows(tmp_path: Path) -> None:
    """The chain of capabilities is walked; control bits 0, 2, 3 and 4 are on, as `setpci ECAP_ACS+6.w=1d` sets."""
    aer = struct.pack("<I", 0x2A0 << 20 | 1 << 16 | 0x0001)
    acs = struct.pack("<IHH", 1 << 16 | 0x000D, 0x5F, 0x1D)
    plant_bridge(tmp_path, space((0x100, aer), (0x2A0, acs)))

    assert list(pci_acs(Tree(str(tmp_path)))) == [
        "0000:40:01.1 PCI bridge [0604]: Device [1022:1483]",
        "\tCapabilities: [100 v1] Extended Capability ID 0x1",
        "\tCapabilities: [2a0 v1] Access Control Services",
        "\t\tACSCap:\tSrcValid+ TransBlk+ ReqRedir+ CmpltRedir+ UpstreamFwd+ EgressCtrl- DirectTrans+",
        "\t\tACSCtl:\tSrcValid+ TransBlk- ReqRedir+ CmpltRedir+ UpstreamFwd+ EgressCtrl- DirectTrans-",
    ]


@pytest.mark.parametrize(
    ("config", "expected"),
    [
        (space()[:64], ["\tCapabilities: <access denied>"]),
        (b"\xff" * 4096, []),
        (space((0x100, struct.pack("<I", 0x100 << 20 | 1 << 16 | 0x0001))), ["…"] * 64),
        (
            space((0x100, struct.pack("<I", 0xFFC << 20 | 1 << 16 | 1)), (0xFFC, struct.pack("<I", 1 << 16 | 13))),
            2,
        ),
    ],
    ids=["an ordinary user", "off the bus", "a chain that goes round", "cut at the end"],
)
def test_a_configuration_space_that_cannot_be_walked_does_no_harm(
    tmp_path: Path, config: bytes, expected: list[str] | int
) -> None:
    """64 bytes, all ones, a loop and a capability at the very end give what they hold."""
    plant_bridge(tmp_path, config)

    lines = list(pci_acs(Tree(str(tmp_path))))[1:]

    assert len(lines) == (expected if isinstance(expected, int) else len(expected))
    assert not isinstance(expected, list) or "…" in expected or lines == expected


def test_numa_nodes_come_as_numactl_prints_them(tmp_path: Path) -> None:
    """Processors as numbers, sizes in MB, a node without processors, and the kernel's balancing."""
    folder = "/sys/devices/system/node"
    plant(
        tmp_path,
        {
            f"{folder}/node0/cpulist": "0-2,8\n",
            f"{folder}/node0/meminfo": "Node 0 MemTotal:       2097152 kB\nNode 0 MemFree:        1048576 kB\n",
            f"{folder}/node1/cpulist": "\n",
            f"{folder}/node1/meminfo": "Node 1 MemTotal:       0 kB\n",
            "/proc/sys/kernel/numa_balancing": "1\n",
        },
    )

    assert list(numa_nodes(Tree(str(tmp_path)))) == [
        "available: 2 nodes (0,1)",
        "node 0 cpus: 0 1 2 8",
        "node 0 size: 2048 MB",
        "node 0 free: 1024 MB",
        "node 1 cpus:",
        "node 1 size: 0 MB",
        "/proc/sys/kernel/numa_balancing:1",
    ]


def test_packages_come_from_the_list_of_dpkg_itself(tmp_path: Path) -> None:
    """Letters as dpkg prints them; what is not installed at all is left out; texts of several lines stay out."""
    plant(
        tmp_path,
        {
            "/var/lib/dpkg/status": (
                "Package: libnvidia-compute-565\nStatus: install ok installed\nArchitecture: amd64\n"
                "Multi-Arch: same\nVersion: 565.57.01-0ubuntu1\nDescription: NVIDIA libcompute package\n"
                " more: text\n"
                "\n"
                "Package: nvidia-utils-535\nStatus: deinstall ok config-files\nArchitecture: amd64\n"
                "Version: 535.1\n\n"
                "Package: gone\nStatus: purge ok not-installed\n\n"
                "Package: nvidia-dkms-565\nStatus: hold ok half-configured\nVersion: 2\nArchitecture: amd64\n"
            )
        },
    )

    assert list(dpkg_packages(Tree(str(tmp_path)))) == [
        "ii  libnvidia-compute-565:amd64  565.57.01-0ubuntu1  amd64  NVIDIA libcompute package",
        "rc  nvidia-utils-535  535.1  amd64",
        "hF  nvidia-dkms-565  2  amd64",
    ]


def test_stuck_tasks_are_listed_with_where_they_sleep(tmp_path: Path) -> None:
    """Only the state D counts; a name may hold anything; what vanished while it was read is passed over."""
    plant(
        tmp_path,
        {
            "/proc/7/task/7/stat": "7 (a) D (b) S 1 7",
            "/proc/7/task/9/stat": "9 (nvidia-smi) D 1 7",
            "/proc/7/task/9/wchan": "rwsem_down_write_slowpath",
            "/proc/7/task/9/stack": "[<0>] rwsem_down_write_slowpath+0x2/0x3\n[<0>] nv_open+0x1/0x2 [nvidia]\n",
            "/proc/8/task/8/maps": "",
        },
    )

    assert list(stuck_tasks(Tree(str(tmp_path)))) == [
        "    PID     TID STAT WCHAN                            COMMAND",
        "      7       9 D    rwsem_down_write_slowpath        nvidia-smi",
        "$ cat /proc/7/task/9/stack",
        "[<0>] rwsem_down_write_slowpath+0x2/0x3",
        "[<0>] nv_open+0x1/0x2 [nvidia]",
    ]


def test_interfaces_and_routes_come_in_the_words_of_ip(tmp_path: Path) -> None:
    """Flags, state and IPv6 address of an interface; routes with gateway and prefix; a link group is none."""
    folder = "/sys/class/net/ib0"
    plant(
        tmp_path,
        {
            **{f"{folder}/{name}": text for name, text in (("flags", "0x1003\n"), ("ifindex", "4\n"))},
            **{f"{folder}/{name}": text for name, text in (("mtu", "2044\n"), ("type", "32\n"))},
            f"{folder}/operstate": "up\n",
            f"{folder}/carrier": "1\n",
            "/sys/class/net/bonding_masters": "",
            "/proc/1/net/if_inet6": "fe800000000000000000000000000001 04 40 20 80      ib0\n",
            "/proc/1/net/route": (
                "Iface\tDestination\tGateway \tFlags\tRefCnt\tUse\tMetric\tMask\t\tMTU\tWindow\tIRTT\n"
                "ib0\t00000000\t0140000A\t0003\t0\t0\t100\t00000000\t0\t0\t0\n"
                "ib0\t0040000A\t00000000\t0001\t0\t0\t0\t00F0FFFF\t0\t0\t0\n"
            ),
        },
    )

    assert list(interfaces(Tree(str(tmp_path)))) == [
        "4: ib0: <BROADCAST,MULTICAST,UP,LOWER_UP> mtu 2044 state UP group default",
        "    link/infiniband",
        "    inet6 fe80::1/64",
    ]
    assert list(routes(Tree(str(tmp_path)))) == [
        "default via 10.0.64.1 dev ib0 metric 100",
        "10.0.64.0/20 dev ib0 metric 0",
    ]


def test_listening_ports_come_in_the_words_of_ss(tmp_path: Path) -> None:
    """Only what listens; IPv6 in brackets; a line that was cut is passed over."""
    row = "00000000:00000000 00:00000000 00000000  1000        0 4242 1"
    loopback6 = "00000000000000000000000001000000"
    plant(
        tmp_path,
        {
            "/proc/1/net/tcp": (
                f"head\n   0: 00000000:733C 00000000:0000 0A {row}\n   1: 0100007F:0050 0100007F:0051 01 {row}\n"
            ),
            "/proc/1/net/tcp6": f"head\n   0: {loopback6}:1F90 {'0' * 32}:0000 0A {row}\n   1: 0000",
        },
    )

    assert list(listening_ports(Tree(str(tmp_path))))[1:] == [
        "LISTEN 0 0 0.0.0.0:29500 0.0.0.0:*",
        "LISTEN 0 0 [::1]:8080 0.0.0.0:*",
    ]


def test_identifiers_that_are_set_come_in_the_words_of_show_gids(tmp_path: Path) -> None:
    """The address inside a RoCE identifier is shown; empty ones, and those without a type, are left out."""
    port = "/sys/class/infiniband/mlx5_0/ports/1"
    plant(
        tmp_path,
        {
            f"{port}/gids/0": "fe80:0000:0000:0000:0000:00ff:fe00:0001\n",
            f"{port}/gid_attrs/types/0": "IB/RoCE v1\n",
            f"{port}/gid_attrs/ndevs/0": "eth0\n",
            f"{port}/gids/3": "0000:0000:0000:0000:0000:ffff:0a00:4609\n",
            f"{port}/gid_attrs/types/3": "RoCE v2\n",
            f"{port}/gid_attrs/ndevs/3": "eth0\n",
            f"{port}/gids/4": "0000:0000:0000:0000:0000:0000:0000:0000\n",
        },
    )

    assert list(gids(Tree(str(tmp_path))))[1:] == [
        "mlx5_0\t1\t0\tfe80:0000:0000:0000:0000:00ff:fe00:0001\t\tv1\teth0",
        "mlx5_0\t1\t3\t0000:0000:0000:0000:0000:ffff:0a00:4609\t10.0.70.9\tv2\teth0",
    ]
