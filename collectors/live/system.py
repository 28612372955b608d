"""Listings of the system: NUMA nodes, packages and stuck tasks, in the words of the tools that show the same."""

from __future__ import annotations

import os
import re
import socket
from typing import TYPE_CHECKING

from collectors.live.tree import complain

if TYPE_CHECKING:
    from collections.abc import Iterator

    from collectors.live.tree import Tree

_NODES = "/sys/devices/system/node"
_STATUS_BYTES = 64 << 20
_STATES = {"installed": "i", "config-files": "c", "half-installed": "H", "unpacked": "U", "half-configured": "F"}
_WANTED = {"install": "i", "deinstall": "r", "purge": "p", "hold": "h"}
TASKS_HEAD = "    PID     TID STAT WCHAN                            COMMAND"
_MOST_STACKS = 100
_NAME = re.compile(r"[A-Za-z0-9][\w.-]{0,252}$")


def numa_nodes(tree: Tree) -> Iterator[str]:
    """`numactl --hardware`, and whether the kernel moves pages by itself; without NUMA, FileNotFoundError."""
    nodes = [path.rpartition("node")[2] for path in tree.glob(f"{_NODES}/node[0-9]*")]
    yield f"available: {len(nodes)} nodes ({','.join(nodes)})"
    for node in nodes:
        processors = " ".join(map(str, _numbers(tree.read(f"{_NODES}/node{node}/cpulist"))))
        yield f"node {node} cpus: {processors}".rstrip()
        sizes = {}
        for line in tree.read(f"{_NODES}/node{node}/meminfo").splitlines():
            words = line.split()
            if len(words) > 3:
                sizes[words[2].rstrip(":")] = int(words[3]) // 1024
        for name, key in (("size", "MemTotal"), ("free", "MemFree")):
            if key in sizes:
                yield f"node {node} {name}: {sizes[key]} MB"
    balancing = "/proc/sys/kernel/numa_balancing"
    try:
        yield f"{balancing}:{tree.read(balancing)}"
    except OSError as error:
        complain(balancing, error)


def system_name(tree: Tree) -> Iterator[str]:
    """`uname -a` of the system whose files these are; its name is the one it starts with."""
    release, version = (tree.read(f"/proc/sys/kernel/{name}") for name in ("osrelease", "version"))
    yield f"Linux {host_name(tree)} {release} {version} {os.uname().machine} GNU/Linux"


def host_name(tree: Tree) -> str:
    """The name of the system whose files these are: of another root what its /etc/hostname says."""
    if tree.root == "/":
        return socket.gethostname()
    try:
        name = tree.read("/etc/hostname", 256).strip()
    except OSError:
        name = ""
    return name if _NAME.match(name) else "unknown"


def dpkg_packages(tree: Tree) -> Iterator[str]:
    """`dpkg -l` from dpkg's own list; without dpkg, FileNotFoundError."""
    for paragraph in tree.read("/var/lib/dpkg/status", _STATUS_BYTES).split("\n\n"):
        fields = dict(
            line.split(": ", 1) for line in paragraph.splitlines() if not line.startswith(" ") and ": " in line
        )
        status = fields.get("Status", "").split()
        if "Package" not in fields or len(status) != 3 or status[2] == "not-installed":
            continue
        letters = _WANTED.get(status[0], "u") + _STATES.get(status[2], "?")
        same = f":{fields.get('Architecture', '')}" if fields.get("Multi-Arch") == "same" else ""
        about = (fields.get("Version", "(none)"), fields.get("Architecture", ""), fields.get("Description", ""))
        yield f"{letters}  {fields['Package']}{same}  {'  '.join(about)}".rstrip()


def stuck_tasks(tree: Tree) -> Iterator[str]:
    """The tasks that sleep in the kernel and can't be killed, as ps shows them, and where each does if allowed."""
    yield TASKS_HEAD
    stuck = []
    for folder in tree.glob("/proc/[0-9]*/task/[0-9]*"):
        row = task_row(tree, folder)
        if row is not None and row.split()[2] == "D":
            stuck.append(folder)
            yield row
    for folder in stuck[:_MOST_STACKS]:
        yield from task_stack(tree, folder)


def task_row(tree: Tree, folder: str) -> str | None:
    """One task as a row of `ps -Lo pid,tid,stat,wchan:32,comm`; None where it is gone.

    Only what needs no lock of the task is read: its memory's lock may be what a stuck one holds.
    """
    try:
        head, _, tail = tree.read(f"{folder}/stat").rpartition(")")
        state = tail.split()[0]
    except (OSError, IndexError):  # it has ended since it was listed
        return None
    parts = folder.split("/")
    return f"{parts[2]:>7} {parts[-1]:>7} {state:<4} {_wait(tree, folder):<32} {head.partition('(')[2]}"


def task_stack(tree: Tree, folder: str) -> Iterator[str]:
    """`cat …/stack` as in a transcript; nothing where it may not be read or the task runs."""
    try:
        stack = tree.read(f"{folder}/stack")
    except OSError as error:
        complain(f"{folder}/stack", error)
        return
    if stack:
        yield f"$ cat {folder}/stack"
        yield from stack.splitlines()


def _wait(tree: Tree, folder: str) -> str:
    """The kernel function in which a task sleeps, `-` where none is told."""
    try:
        where = tree.read(f"{folder}/wchan")
    except OSError:
        return "-"
    return "-" if where in {"", "0"} else where[:32]


def _numbers(ranges: str) -> Iterator[int]:
    """The numbers of a list such as `0-3,8`."""
    for part in ranges.split(","):
        first, _, last = part.partition("-")
        if first.strip().isdigit():
            yield from range(int(first), int(last or first) + 1)
