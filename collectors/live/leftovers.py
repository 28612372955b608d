"""What not even SIGKILL ended: the tasks of one process group, with where they sleep in the kernel.

Called inside a child of its own, because looking at a stuck process can hang as well (see `run`). Only `stat`,
`wchan` and `stack` are read: `cmdline` and `environ` need a lock that a stuck process may hold.
"""

from __future__ import annotations

import os

from collectors.live.system import TASKS_HEAD, task_row, task_stack
from collectors.live.tree import Tree

_COMMAND = "ps -Lo pid,tid,stat,wchan:32,comm"


def print_group(group: int, *, leader_ended: bool) -> None:
    """Writes a transcript of the tasks that are left of a group; nothing where none is.

    Where the leader has ended it is a zombie until it is waited for, and counts no more.
    """
    tree = Tree()
    folders = [
        folder
        for pid in _members(tree, group)
        if not (leader_ended and pid == group)
        for folder in tree.glob(f"/proc/{pid}/task/[0-9]*")
    ]
    shown = [(folder, task_row(tree, folder)) for folder in folders]
    rows = [(folder, row) for folder, row in shown if row is not None and row.split()[2] not in "ZX"]
    if not rows:
        return
    lines = [f"$ {_COMMAND}", TASKS_HEAD, *(row for _, row in rows)]
    _print(lines)
    for folder, _ in rows:
        _print(list(task_stack(tree, folder)))


def words_of(transcript: bytes) -> str | None:
    """The processes of such a transcript in words: `process 7, state D in rm_wait`; None where there is none."""
    found = []
    for line in transcript.decode("utf-8", "replace").splitlines()[2:]:
        if line.startswith("$ "):
            break
        pid, tid, state, wait = line.split(None, 4)[:4]
        who = f"process {pid}" if pid == tid else f"thread {tid} of process {pid}"
        found.append(f"{who}, state {state}" + (f" in {wait}" if wait != "-" else ""))
    return "; ".join(found[:3]) + (f"; and {len(found) - 3} more" if len(found) > 3 else "") or None


def _members(tree: Tree, group: int) -> list[int]:
    """The processes of a group, its leader first."""
    found = []
    for name in os.listdir("/proc"):  # noqa: PTH208 - names, not paths
        if not name.isdigit():
            continue
        try:
            fields = tree.read(f"/proc/{name}/stat").rpartition(")")[2].split()
        except OSError:  # it has ended since it was listed
            continue
        if len(fields) > 2 and fields[2] == str(group):
            found.append(int(name))
    return sorted(found, key=lambda pid: pid != group)


def _print(lines: list[str]) -> None:
    os.write(1, os.fsencode("".join(f"{line}\n" for line in lines)))
