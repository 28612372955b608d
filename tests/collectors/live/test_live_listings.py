"""Listings: the exact lines that are written, from trees on disk."""

from __future__ import annotations

import errno
import os
import subprocess
from typing import TYPE_CHECKING

import pytest
from live_support import plant

from collectors.live.listings import (
    boot_time,
    environment,
    init_environment,
    iommu_groups,
    may_show,
    of_values,
    pci_devices,
)
from collectors.live.ls import list_files, list_libraries, list_targets
from collectors.live.tree import Tree

if TYPE_CHECKING:
    from pathlib import Path

PCI = "/sys/bus/pci/devices"
GPU = "/sys/devices/pci0000:40/0000:40:01.1/0000:41:00.0"
BRIDGE = "/sys/devices/pci0000:40/0000:40:01.1"


def test_iommu_groups_come_in_numeric_order_with_their_devices(tmp_path: Path) -> None:
    """One line for the type and one for each device; group 9 before group 17."""
    plant(
        tmp_path,
        {
            "/sys/kernel/iommu_groups/17/type": "DMA-FQ\n",
            "/sys/kernel/iommu_groups/17/devices/0000:41:00.0": "",
            "/sys/kernel/iommu_groups/9/type": "identity\n",
            "/sys/kernel/iommu_groups/9/devices/0000:40:01.1": "",
            "/sys/class/iommu/ivhd0/x": "",
        },
    )

    assert list(iommu_groups(Tree(str(tmp_path)))) == [
        "/sys/kernel/iommu_groups/9/type:identity",
        "/sys/kernel/iommu_groups/9/devices/0000:40:01.1",
        "/sys/kernel/iommu_groups/17/type:DMA-FQ",
        "/sys/kernel/iommu_groups/17/devices/0000:41:00.0",
        "/sys/class/iommu/ivhd0",
    ]


def test_no_group_and_no_sysfs_differ(tmp_path: Path) -> None:
    """An empty folder means that the IOMMU is off; without the folder nothing is known."""
    with pytest.raises(FileNotFoundError):
        list(iommu_groups(Tree(str(tmp_path))))
    (tmp_path / "sys/kernel/iommu_groups").mkdir(parents=True)

    assert list(iommu_groups(Tree(str(tmp_path)))) == []


def test_pci_lists_nvidia_functions_and_the_bridges_above_them(tmp_path: Path) -> None:
    """Other devices stay out; what is read from the device itself comes after all that the kernel keeps."""
    plant(
        tmp_path,
        {
            f"{PCI}/0000:40:01.1": "-> ../../../devices/pci0000:40/0000:40:01.1",
            f"{PCI}/0000:41:00.0": "-> ../../../devices/pci0000:40/0000:40:01.1/0000:41:00.0",
            f"{PCI}/0000:00:1f.0": "-> ../../../devices/pci0000:00/0000:00:1f.0",
            "/sys/devices/pci0000:00/0000:00:1f.0/vendor": "0x8086\n",
            f"{BRIDGE}/vendor": "0x1022\n",
            f"{BRIDGE}/max_link_width": "16\n",
            f"{GPU}/vendor": "0x10de\n",
            f"{GPU}/class": "0x030200\n",
            f"{GPU}/numa_node": "-1\n",
            f"{GPU}/driver": "-> ../../../../bus/pci/drivers/vfio-pci",
            f"{GPU}/resource": "0x1 0x2 0x3\n0x0 0x0 0x0\n",
            f"{GPU}/current_link_speed": "2.5 GT/s PCIe\n",
        },
    )

    assert [
        f"{PCI}/0000:40:01.1 -> ../../../devices/pci0000:40/0000:40:01.1",
        f"{PCI}/0000:40:01.1/vendor:0x1022",
        f"{PCI}/0000:41:00.0 -> ../../../devices/pci0000:40/0000:40:01.1/0000:41:00.0",
        f"{PCI}/0000:41:00.0/driver -> ../../../../bus/pci/drivers/vfio-pci",
        f"{PCI}/0000:41:00.0/vendor:0x10de",
        f"{PCI}/0000:41:00.0/class:0x030200",
        f"{PCI}/0000:41:00.0/numa_node:-1",
        f"{PCI}/0000:41:00.0/resource:0x1 0x2 0x3",
        f"{PCI}/0000:41:00.0/resource:0x0 0x0 0x0",
        f"{PCI}/0000:40:01.1/max_link_width:16",
        f"{PCI}/0000:41:00.0/current_link_speed:2.5 GT/s PCIe",
    ] == list(pci_devices(Tree(str(tmp_path))))


def test_values_name_each_file_and_are_absent_without_one(tmp_path: Path) -> None:
    """`path:value` as grep prints it."""
    lines = of_values("/sys/module/kvm_amd/parameters/sev*")
    with pytest.raises(FileNotFoundError):
        list(lines(Tree(str(tmp_path))))
    plant(
        tmp_path,
        {"/sys/module/kvm_amd/parameters/sev_snp": "Y\n", "/sys/module/kvm_amd/parameters/nested": "1\n"},
    )

    assert list(lines(Tree(str(tmp_path)))) == ["/sys/module/kvm_amd/parameters/sev_snp:Y"]


def test_values_that_may_not_be_read_are_not_absent(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Where nothing could be read because of permissions, that is what is raised."""
    plant(tmp_path, {"/a": "1"})

    def refuse(*_: object) -> str:
        raise PermissionError(errno.EACCES, "Permission denied")

    monkeypatch.setattr(Tree, "read", refuse)

    with pytest.raises(PermissionError):
        list(of_values("/a")(Tree(str(tmp_path))))


def test_the_boot_time_is_the_only_line_of_stat(tmp_path: Path) -> None:
    """Nothing else of /proc/stat is taken."""
    plant(tmp_path, {"/proc/stat": "cpu  1 2 3\nbtime 1767225600\nprocesses 9\n"})

    assert list(boot_time(Tree(str(tmp_path)))) == ["btime 1767225600"]


@pytest.mark.parametrize(
    ("name", "value", "expected"),
    [
        ("NCCL_DEBUG", "INFO", True),
        ("CUDA_VISIBLE_DEVICES", "", True),
        ("SLURM_NTASKS", "8", True),
        ("LD_PRELOAD", "libx.so", True),
        ("container", "podman", True),
        ("HOME", "/root", False),
        ("SLURM_JOB_USER", "ada", False),
        ("HF_TOKEN", "hf_x", False),
        ("VLLM_API_KEY", "x", False),
        ("NVIDIA_API_Key", "x", False),
        ("NCCL_my_secret", "x", False),
        ("CUDA_PASSWORD", "x", False),
        ("TORCH_CREDENTIALS", "x", False),
        ("NCCL_CONFIG", "https://ada:pw@example.org/x", False),
    ],
)
def test_only_listed_variables_without_secrets_are_shown(name: str, value: str, expected: bool) -> None:
    """A name must be on the list, must not sound like a secret, and its value must not carry a password."""
    assert expected is may_show(name, value)


def test_a_value_cannot_forge_another_variable() -> None:
    """Line ends in a value are written as escapes."""
    lines = environment({"NCCL_DEBUG": "INFO\nNCCL_P2P_DISABLE=1", "PATH": "/bin"})

    assert list(lines(Tree())) == ["NCCL_DEBUG=INFO\\nNCCL_P2P_DISABLE=1"]


def test_of_process_1_only_the_container_is_told(tmp_path: Path) -> None:
    """Everything else in its environment stays out."""
    plant(tmp_path, {"/proc/1/environ": "PATH=/bin\0container=lxc\0DB_PASSWORD=x\0"})

    assert list(init_environment(Tree(str(tmp_path)))) == ["container=lxc"]


def test_files_are_listed_exactly_as_ls_does(tmp_path: Path) -> None:
    """Same columns, times and arrows as GNU ls in the C locale: files, links, folders, devices, old files."""
    plant(tmp_path, {"b": "x" * 1000, "a": "-> b", "c/inner": "", "d": "-> /dev/null"})
    os.utime(tmp_path / "b", (0, 86400))
    paths = [str(tmp_path / name) for name in "abcd"] + ["/dev/null"]

    expected = subprocess.run(
        ["ls", "-ld", *paths],
        env={"LC_ALL": "C", "PATH": os.environ["PATH"]},
        capture_output=True,
        text=True,
        check=True,
    ).stdout.splitlines()

    assert sorted(expected) == sorted(list_files(*paths)(Tree()))


def test_libraries_show_every_step_of_their_links_and_each_folder_once(tmp_path: Path) -> None:
    """A link through /etc/alternatives is followed inside the tree; a folder's second name is not listed."""
    plant(
        tmp_path,
        {
            "/usr/lib/x/libcuda.so.1": "-> /etc/alternatives/libcuda",
            "/etc/alternatives/libcuda": "-> /usr/lib/nvidia/libcuda.so.565.57.01",
            "/usr/lib/nvidia/libcuda.so.565.57.01": "",
            "/usr/lib/other": "-> x",
        },
    )
    tree = Tree(str(tmp_path))
    folders = ("/usr/lib/x", "/usr/lib/other", "/usr/lib/none")

    assert [line.split(maxsplit=8)[8] for line in list_libraries(folders, ("libcuda.so*",))(tree)] == [
        "/usr/lib/x/libcuda.so.1 -> /etc/alternatives/libcuda",
        "/etc/alternatives/libcuda -> /usr/lib/nvidia/libcuda.so.565.57.01",
        "/usr/lib/nvidia/libcuda.so.565.57.01",
    ]
    assert list(list_targets(folders, ("libcuda.so.1",))(tree)) == [
        "$ readlink -f /usr/lib/x/libcuda.so.1",
        "/usr/lib/nvidia/libcuda.so.565.57.01",
    ]


def test_links_that_go_round_are_an_error(tmp_path: Path) -> None:
    """A loop of links ends in ELOOP, as for the kernel."""
    plant(tmp_path, {"a": "-> b", "b": "-> a"})

    with pytest.raises(OSError, match="Too many levels") as caught:
        Tree(str(tmp_path)).read("/a")

    assert caught.value.errno == errno.ELOOP


def test_links_do_not_leave_the_tree(tmp_path: Path) -> None:
    """Neither an absolute target nor too many `..` reach a file outside of the root."""
    root = plant(
        tmp_path,
        {"outside": "no", "tree/inside": "yes", "tree/up": "-> ../../outside", "tree/at": "-> /inside"},
    )
    tree = Tree(str(root / "tree"))

    assert tree.read("/at") == "yes"
    with pytest.raises(FileNotFoundError):
        tree.read("/up")
