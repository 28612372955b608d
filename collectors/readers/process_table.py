"""Tasks that sleep in the kernel and take no signal, from ps with the columns STAT and WCHAN.

        PID     TID STAT WCHAN                            COMMAND
       4711    4802 D    uvm_va_space_mm_shutdown         python3
      20831 D+   rwsem_down_write_slowpath nvidia-smi

Follows ps of procps 3.2 to 4 with `-o pid,tid,stat,wchan:N,comm` in any order. Tasks in other states, whose waits
are everyday ones, and tables without both columns give nothing.
"""

from __future__ import annotations

from collections.abc import Iterator

from collectors.readers._lines import MOST_COLUMNS
from collectors.readers._regex import regex
from collectors.readers._stack_places import place_of
from kb.evidence import Reader, Reading, Section
from kb.facts.stacks import ProcessStack

_HEADING = regex(r"\s{0,12}(?=.{0,200}\bSTAT\b)(?=.{0,200}\bWCHAN\b)[A-Z%+ ]{10,200}$")
_STATE = regex(r"D[+<Nls]{0,4}$")
_FUNCTION = regex(r"[A-Za-z_][\w.]{2,80}$")
_KERNEL_THREAD = regex(r"\[?(?:kworker|jbd2|txg_|ksoftirqd|rcu_|migration|kswapd|khugepaged|md\d)")
_MOST = 60


def read(section: Section) -> Iterator[Reading]:
    """ProcessStack of one frame for each sort of wait of each program in the state D."""
    columns: list[str] = []
    sorts: dict[tuple[str, str], tuple[int, int | None, str, int]] = {}
    for index, whole in enumerate(section.lines):
        line = whole[:MOST_COLUMNS]
        if _HEADING.match(line):
            columns = line.split()
            continue
        row = _row(line, columns)
        if row is None:
            continue
        wait, name, pid, state = row
        if (wait, name) in sorts:
            first, its_pid, its_state, count = sorts[wait, name]
            sorts[wait, name] = (first, its_pid, its_state, count + 1)
        elif len(sorts) < _MOST:
            sorts[wait, name] = (index, pid, state, 1)
    for (wait, name), (index, pid, state, count) in sorts.items():
        where = place_of([f"{wait} ()"], state)
        fact = ProcessStack(
            where=where, tool="kernel", pid=pid, thread=name or None, state=state, frames=wait, count=count
        )
        yield section.observe(fact, index)
    if columns:
        yield section.looked(ProcessStack, complete=False, reason="not-collected")


def _row(line: str, columns: list[str]) -> tuple[str, str, int | None, str] | None:
    """Wait, program, process and state of a row that tells of a task that can't be killed."""
    if not columns:
        return None
    cells = line.split(None, len(columns) - 1)
    if len(cells) != len(columns):
        return None
    by_name = dict(zip(columns, cells, strict=True))
    state, wait, name = by_name["STAT"], by_name["WCHAN"], by_name.get("COMMAND", by_name.get("CMD", "")).strip()
    if not _STATE.match(state) or not _FUNCTION.match(wait) or _KERNEL_THREAD.match(name):
        return None
    pid = by_name.get("PID", "")
    return wait, name[:100], int(pid) if pid.isdecimal() else None, "D"


READER = Reader("process-table", read, markers=("WCHAN",))
