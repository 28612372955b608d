"""The processes of the job: who holds a GPU, and what the kernel tells of each without touching it.

All of it may hang with a process that is stuck: its command line, environment and map need a lock that it may
hold, so that they come last, and each process is looked at in a child of its own (see `run`).
"""

from __future__ import annotations

import errno
import os
import re
import shlex
from typing import TYPE_CHECKING

from collectors.live.listings import may_show
from collectors.live.net import sockets
from collectors.live.report import report
from collectors.live.system import TASKS_HEAD, task_row, task_stack

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from collectors.live.tree import Tree

LIBRARIES = re.compile(
    r"/(?:libcuda|libcudart|libnvidia-(?:ml|ptxjitcompiler|nvvm)|libnccl[\w-]*|libcudnn|libtorch_cuda|libvgpu\w*"
    r"|libmlx5[\w-]*|libfabric|libibverbs|libucp|libnvshmem\w*)[-\w.]*\.so[.\d]*(?: \(deleted\))?$"
)
"""Whose mapping tells which driver, NCCL and plugins a process really uses."""

_DEVICES = ("/dev/nvidia", "/dev/dxg")
_NAMESPACES = ("cgroup", "ipc", "mnt", "net", "pid", "user", "uts")
_HELD = re.compile(r"/dev/(?:nvidia|infiniband|shm|dxg)|^/memfd:")
_SOCKET = re.compile(r"socket:\[(\d+)\]")
_BIG = 16 << 20
_HIDDEN = "(hidden)"
_SECRET_WORDS = frozenset(
    (
        *("token", "key", "apikey", "secret", "password", "passwd", "passphrase", "credential", "credentials"),
        *("auth", "cookie", "pat"),
    )
)
_OPTION = re.compile(r"(--?[\w-]+)=(.*)", re.DOTALL)


def print_holders(tree: Tree) -> None:
    """Writes the numbers of the processes that hold a device of NVIDIA's, each ended by a zero byte.

    Reports how many others could not be looked into.
    """
    closed = 0
    for folder in tree.glob("/proc/[0-9]*"):
        try:
            held = any(path.startswith(_DEVICES) for _, path in _descriptors(tree, folder))
        except PermissionError:
            closed += 1
            continue
        except OSError:  # it has ended since it was listed
            continue
        if held:
            os.write(1, f"{folder.rpartition('/')[2]}\0".encode())
    if closed:
        report(note=f"{closed} processes of other users could not be looked into; root may")


def process_lines(tree: Tree, pid: int) -> Iterator[str]:
    """A transcript of what there is to know of one process. Raises OSError where there is none of that number."""
    folder = f"/proc/{pid}"
    tree.read(f"{folder}/stat")
    for part in (_tasks, _plain_files, _links, _connections, _command_line, _environment, _libraries):
        yield from _as_far_as_it_goes(part, tree, folder)


def interpreter(tree: Tree, pid: int) -> str | None:
    """The Python that a process runs, as it was called, which tells a virtual environment; None for no Python."""
    folder = f"/proc/{pid}"
    if not os.path.basename(tree.link(f"{folder}/exe")).startswith("python"):  # noqa: PTH119 - a text
        return None
    called = _arguments(tree, folder)[0]
    if "/" in called:
        return os.path.normpath(f"{tree.link(f'{folder}/cwd')}/{called}") if called[0] != "/" else called
    variables = dict(_variables(tree, folder))
    for place in (variables.get("VIRTUAL_ENV"), variables.get("CONDA_PREFIX")):
        if place:
            return f"{place}/bin/python"
    return tree.link(f"{folder}/exe")


def search_paths(tree: Tree, pid: int) -> dict[str, str]:
    """The variables by which a process finds its libraries and packages."""
    wanted = ("LD_LIBRARY_PATH", "PYTHONPATH", "PYTHONHOME", "VIRTUAL_ENV", "CONDA_PREFIX", "PATH")
    return {name: value for name, value in _variables(tree, f"/proc/{pid}") if name in wanted}


def _as_far_as_it_goes(part: Callable[[Tree, str], Iterator[str]], tree: Tree, folder: str) -> Iterator[str]:
    """The lines of a part, and why it ends early where it does, as a shell would say it."""
    try:
        yield from part(tree, folder)
    except OSError as error:
        yield f"cat: {folder}: {error.strerror}"


def _tasks(tree: Tree, folder: str) -> Iterator[str]:
    """Its threads with where they sleep, and the stacks of the first and of those that can't be killed."""
    yield f"$ ps -Lo pid,tid,stat,wchan:32,comm -p {folder.rpartition('/')[2]}"
    yield TASKS_HEAD
    telling: list[str] = []
    for task in tree.glob(f"{folder}/task/[0-9]*"):
        row = task_row(tree, task)
        if row is None:
            continue
        yield row
        if row.split()[2] == "D" or not telling:
            telling.append(task)
    for task in telling[:32]:
        try:
            yield from task_stack(tree, task)
        except OSError:
            continue


def _plain_files(tree: Tree, folder: str) -> Iterator[str]:
    for name in ("status", "limits", "cgroup"):
        yield f"$ cat {folder}/{name}"
        yield from tree.read(f"{folder}/{name}").splitlines()


def _links(tree: Tree, folder: str) -> Iterator[str]:
    """Its namespaces, its program, and the devices and shared memory that it holds."""
    yield f"$ readlink {folder}/ns/* {folder}/exe {folder}/root {folder}/fd/*"
    for name in (*(f"ns/{name}" for name in _NAMESPACES), "exe", "root"):
        try:
            yield f"{folder}/{name} -> {tree.link(f'{folder}/{name}')}"
        except FileNotFoundError:  # a kernel without that namespace
            continue
    for number, path in _descriptors(tree, folder):
        if _HELD.search(path):
            yield f"{folder}/fd/{number} -> {path}"


def _connections(tree: Tree, folder: str) -> Iterator[str]:
    """Its TCP sockets, by the tables of its own network."""
    numbers = {}
    for number, path in _descriptors(tree, folder):
        match = _SOCKET.match(path)
        if match:
            numbers[match[1]] = number
    pid = folder.rpartition("/")[2]
    name = tree.read(f"{folder}/comm")
    yield f"$ ss -tanp | grep pid={pid}"
    for inode, _, row in sockets(tree, f"{folder}/net"):
        if inode in numbers:
            yield f'{row} users:(("{name}",pid={pid},fd={numbers[inode]}))'


def _command_line(tree: Tree, folder: str) -> Iterator[str]:
    yield f"$ tr '\\0' ' ' < {folder}/cmdline"
    yield " ".join(shlex.quote(word) for word in without_secrets(_arguments(tree, folder))).replace("\n", "\\n")


def _sounds_secret(option: str) -> bool:
    """Whether the value of an option may be a secret: `--hf-token` is, `--max-tokens` is not."""
    return not _SECRET_WORDS.isdisjoint(re.split(r"[-_]+", option.lower()))


def without_secrets(words: list[str]) -> list[str]:
    """A command line without the values of options that sound like secrets."""
    plain: list[str] = []
    hide_next = False
    for word in words:
        option = _OPTION.match(word)
        if hide_next and not word.startswith("-"):
            word = _HIDDEN  # noqa: PLW2901
        elif option and _sounds_secret(option[1]):
            word = f"{option[1]}={_HIDDEN}"  # noqa: PLW2901
        hide_next = option is None and word.startswith("-") and _sounds_secret(word)
        plain.append(word)
    return plain


def _environment(tree: Tree, folder: str) -> Iterator[str]:
    yield f"$ tr '\\0' '\\n' < {folder}/environ"
    for name, value in sorted(_variables(tree, folder)):
        if may_show(name, value):
            yield f"{name}={value}".replace("\r", "\\r").replace("\n", "\\n")


def _libraries(tree: Tree, folder: str) -> Iterator[str]:
    """The first mapping of each library of interest."""
    yield f"$ grep -E 'cuda|nccl|nvidia|torch' {folder}/maps"
    seen = set()
    for line in tree.read(f"{folder}/maps", _BIG).splitlines():
        path = line[line.find("/") :]
        if path not in seen and LIBRARIES.search(path):
            seen.add(path)
            yield line


def _arguments(tree: Tree, folder: str) -> list[str]:
    text = tree.read(f"{folder}/cmdline", _BIG)
    return text[:-1].split("\0") if text.endswith("\0") else text.split("\0")


def _variables(tree: Tree, folder: str) -> Iterator[tuple[str, str]]:
    for variable in tree.read(f"{folder}/environ", _BIG).split("\0"):
        name, equals, value = variable.partition("=")
        if equals:
            yield name, value


def _descriptors(tree: Tree, folder: str) -> Iterator[tuple[str, str]]:
    """Number and target of each open file. Raises OSError where they may not be listed."""
    for name in sorted(os.listdir(tree.real(f"{folder}/fd")), key=int):  # noqa: PTH208 - names, not paths
        try:
            yield name, tree.link(f"{folder}/fd/{name}")
        except OSError as error:
            if error.errno not in {errno.ENOENT, errno.ESRCH}:  # closed since it was listed
                raise
