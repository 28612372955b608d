"""A report of nvidia-bug-report.sh is cut where the script says what it prints next."""

from __future__ import annotations

import pytest

from collectors.bug_report import BANNER, Part, is_bug_report, split

HEAD = f"""{BANNER}

Start of NVIDIA bug report log file.  Please include this file, along
with a detailed description of your problem, when reporting a graphics
driver bug via the NVIDIA Linux forum (see forums.developer.nvidia.com)

Date: Mo 26. Jan 02:16:31 MST 2026
uname: Linux node1 6.14.0-37-generic

"""


def parts(*blocks: str, head: str = HEAD) -> list[tuple[str | None, list[str]]]:
    """The command and the lines of each stretch after the first."""
    lines = (head + "".join(f"{BANNER}\n{block}\n" for block in blocks)).splitlines()
    return [(part.command, lines[part.first : part.end]) for part in split(lines)][1:]


def test_the_first_stretch_is_the_heading() -> None:
    lines = HEAD.splitlines()
    assert list(split(lines)) == [Part(2, 8, None)]
    assert lines[7].startswith("uname: ")


@pytest.mark.parametrize(
    ("block", "command", "lines"),
    [
        (
            "\n*** /proc/cmdline\n*** ls: -r--r--r-- 1 root root 0 /proc/cmdline\nro quiet\n",
            "cat /proc/cmdline",
            ["ro quiet"],
        ),
        (
            "*** /sys/devices/system/node/online\n*** ls: -r--r--r-- x\n0\n",
            "cat /sys/devices/system/node/online",
            ["0"],
        ),
        ("\n*** /proc/driver/nvidia/./params\n*** ls: -r-- x\nA: 1\n", "cat /proc/driver/nvidia/params", ["A: 1"]),
        (
            "\n*** /.bottlerocket/rootfs/proc/version\n*** ls: x\nLinux version 6.1\n",
            "cat /proc/version",
            ["Linux version 6.1"],
        ),
        (
            "\n*** /proc/driver/nvidia/version does not exist\n",
            "cat /proc/driver/nvidia/version",
            ["*** /proc/driver/nvidia/version does not exist"],
        ),
        (
            "\n*** /var/log/nvidia-installer.log is not readable\n",
            "cat /var/log/nvidia-installer.log",
            ["*** /var/log/nvidia-installer.log is not readable"],
        ),
        ("\n/usr/bin/lspci -nn\n\n00:00.0 Host bridge\n", "lspci -nn", ["", "00:00.0 Host bridge"]),
        ("\n/run/current-system/sw/bin/lspci -t\n\n-[0000:00]-\n", "lspci -t", ["", "-[0000:00]-"]),
        (
            "\njournalctl -b -1 _COMM=Xorg\n\n-- No entries --\n",
            "journalctl -b -1 _COMM=Xorg",
            ["", "-- No entries --"],
        ),
        ("\nxset -q:\n\nxset: not found\n", "xset -q", ["", "xset: not found"]),
        (
            "\n/sys/module/nvidia_drm/parameters/modeset:Y\n/sys/module/nvidia_uvm/parameters/x:0\n",
            "grep -H . /sys/module/nvidia_drm/parameters/*",
            ["/sys/module/nvidia_drm/parameters/modeset:Y", "/sys/module/nvidia_uvm/parameters/x:0"],
        ),
        ("\n使用内建 specs。\nCOLLECT_GCC=gcc\n", None, ["使用内建 specs。", "COLLECT_GCC=gcc"]),
        (
            "\nSkipping dmidecode output (dmidecode not found)\n",
            None,
            ["Skipping dmidecode output (dmidecode not found)"],
        ),
        (
            "\nNVIDIA Driver Type Detection:\n\nStandard RM driver detected.\n",
            None,
            ["NVIDIA Driver Type Detection:", "", "Standard RM driver detected."],
        ),
    ],
)
def test_headings_name_the_command(block: str, command: str | None, lines: list[str]) -> None:
    assert parts(block) == [(command, lines)]


def test_one_stretch_may_show_several_commands() -> None:
    block = (
        "\n/usr/bin/nvidia-smi --query\n\n==============NVSMI LOG==============\n\nDriver Version : 580.95.05\n\n"
        "/usr/bin/nvidia-smi --query --unit\n\nS-class Units : 0\n\n"
        "/usr/bin/nvidia-smi nvlink --status\n\nGPU 0: NVIDIA H100\n"
    )
    found = parts(block)
    assert [command for command, _ in found] == [
        "nvidia-smi --query",
        "nvidia-smi --query --unit",
        "nvidia-smi nvlink --status",
    ]
    assert "Driver Version : 580.95.05" in found[0][1]
    assert found[2][1] == ["", "GPU 0: NVIDIA H100"]


def test_the_kernels_logs_are_one_stretch() -> None:
    logs = "\nScanning kernel log files for NVIDIA kernel messages:\n\n"
    logs += "  /var/log/kern.log:\nA\n  journalctl -b -1:\nB\n"
    found = parts(logs, "\ndmesg:\n\n[    0.000000] Linux version 6.1\n", "\n/usr/bin/lsusb\n\n")
    assert [command for command, _ in found] == ["dmesg", "lsusb"]
    assert [line.strip() for line in found[0][1] if line.strip()][:4] == [
        "/var/log/kern.log:",
        "A",
        "journalctl -b -1:",
        "B",
    ]
    assert found[0][1][-1].endswith("Linux version 6.1")
    assert parts(logs, "\n/usr/bin/lsusb\n\n")[0][0] is None


def test_empty_and_cut_stretches() -> None:
    assert parts("\n", "\n\n", "\n/usr/bin/systemctl status nvidia-imex.service\n") == [
        ("systemctl status nvidia-imex.service", [])
    ]
    assert parts("\n*** /proc/cmdline") == [("cat /proc/cmdline", [])]


def test_lines_before_the_report_are_kept() -> None:
    lines = ["Here is my log:", "", *HEAD.splitlines()]
    assert list(split(lines)) == [Part(0, 2, None), Part(4, 10, None)]


@pytest.mark.parametrize(
    "lines",
    [[], [BANNER], ["Start of NVIDIA bug report log file."], ["I ran nvidia-bug-report.sh", BANNER, "nothing"]],
)
def test_other_text_gives_nothing(lines: list[str]) -> None:
    assert not is_bug_report(lines)
    assert list(split(lines)) == []


def test_every_line_belongs_to_one_stretch_at_most() -> None:
    commands = ["x", "", "/sbin/modinfo nvidia", ""] * 50
    lines = [*HEAD.splitlines(), BANNER, "", "/usr/bin/ibstat", "", *commands]
    before = 0
    for part in split(lines):
        assert before <= part.first <= part.end <= len(lines)
        before = part.end
