"""The job to artifacts: each process that holds a GPU, its Python stacks, and the Python that it runs."""

from __future__ import annotations

import json
import os
import pkgutil
import time
from dataclasses import dataclass, field
from functools import partial
from typing import TYPE_CHECKING, TypeVar

from collectors.live.bundle import Entry, Outcome
from collectors.live.processes import interpreter, print_holders, process_lines, search_paths
from collectors.live.run import execute, run
from collectors.live.source import Processes, Pythons, PythonStacks
from collectors.live.steps import command_environ, judge
from collectors.live.tree import print_transcript

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from collectors.live.source import Source
    from collectors.live.steps import Site
    from collectors.live.tree import Tree

MOST_PROCESSES = 64
MOST_STACKS = 16
MOST_PYTHONS = 4

_FIND_S = 3.0
_EACH_S = 2.0
_ASK_S = 1.0
_STACK_S = 5.0
_PYTHON_S = 15.0
_NONE = "no process holds a device of NVIDIA's"
_SCRIPT = "target_python.py"

_One = TypeVar("_One")


@dataclass(frozen=True)
class _Python:
    """An interpreter, and the process whose libraries and file system it is to see."""

    path: str
    pid: int | None = None
    inside: bool = False
    """The process has another file system than we, in which the interpreter lies."""
    environ: dict[str, str] = field(default_factory=dict)


def take_job(site: Site, source: Source, limit_s: float) -> None:
    """Takes one source that speaks of the job's processes, an entry each."""
    how = source.how
    until = time.monotonic() + limit_s
    if isinstance(how, Processes):
        for pid in _within(site, source, _holders(site, source, how.pids), MOST_PROCESSES, until):
            work = partial(print_transcript, partial(process_lines, site.tree, pid))
            entry = Entry(source.name, note=f"process {pid}")
            site.step(source, entry, f"processes/{pid}.txt", work, _left(until, _EACH_S))
    elif isinstance(how, PythonStacks):
        pids = _holders(site, source, how.pids)
        pythons = _pythons(site, pids)
        if pids and not pythons:
            site.add(Entry(source.name, outcome="absent", error="none of the job's processes runs Python"))
        for python in _within(site, source, pythons, MOST_STACKS, until):
            if not _take_stacks(site, source, python, _left(until, _STACK_S)):
                return
    elif isinstance(how, Pythons):
        given = [_Python(path) for path in how.paths]
        found = given or _different(_pythons(site, _holders(site, None, how.pids))) or [_Python("python3")]
        for number, python in enumerate(_within(site, source, found, MOST_PYTHONS, until), 1):
            _take_python(site, source, number, python, _left(until, _PYTHON_S))


def _left(until: float, most_s: float) -> float:
    return min(most_s, until - time.monotonic())


def _within(site: Site, source: Source, found: Sequence[_One], most: int, until: float) -> Iterator[_One]:
    """Those for which there is time, and entries for those that are left out."""
    for number, one in enumerate(found[:most]):
        if site.stop() or time.monotonic() >= until:
            outcome: Outcome = "interrupted" if site.stop() else "skipped"
            error = f"{len(found) - number} more were not looked at"
            site.add(Entry(source.name, outcome=outcome, error=error))
            return
        yield one
    if len(found) > most:
        site.add(Entry(source.name, error=f"{len(found) - most} more were not looked at"))


def _holders(site: Site, source: Source | None, pids: Sequence[int]) -> list[int]:
    """The processes that were asked for, or else those that hold a GPU; looked for once.

    Where there is none, an entry for the source says so.
    """
    if pids:
        return list(pids)
    if site.holders is None:
        listed = bytearray()
        ran = run(partial(print_holders, site.tree), listed.extend, deadline_s=_FIND_S, stop=site.stop)
        outcome, _, error = judge(ran, is_command=False, wrote=bool(listed))
        site.holders = [int(number) for number in bytes(listed).split(b"\0") if number]
        if outcome != "ok" or ran.note:
            site.add(Entry("job", file="/proc", outcome=outcome, error=error, note=ran.note))
    if not site.holders and source is not None:
        site.add(Entry(source.name, outcome="absent", error=_NONE))
    return site.holders


def _take_stacks(site: Site, source: Source, python: _Python, limit_s: float) -> bool:
    """Takes the Python stacks of one process; false where there is no tool for it."""
    # It reads the process's memory and lets it run meanwhile.
    argv = ("py-spy", "dump", "--nonblocking", "--pid", str(python.pid))
    beside = os.path.dirname(python.path)  # noqa: PTH120 - a text
    environ = command_environ({**os.environ, "PATH": f"{os.environ.get('PATH', '')}:{beside}"})
    entry = Entry(source.name, command=list(argv))
    site.step(source, entry, f"commands/{source.name}-{python.pid}.txt", partial(execute, argv, environ), limit_s)
    return entry.outcome != "absent"


def _take_python(site: Site, source: Source, number: int, python: _Python, limit_s: float) -> None:
    """Runs our script in one interpreter, and in the file system of its process if that is another."""
    script = (pkgutil.get_data("collectors.live", _SCRIPT) or b"").decode()
    enter = ("nsenter", f"--target={python.pid}", "--mount", "--root", "--wd=/") if python.inside else ()
    argv = (*enter, python.path, "-B", "-c", script)
    environ = command_environ({**os.environ, **python.environ})
    entry = Entry(source.name, note=f"printed by {' '.join(argv[:-1])} ({_SCRIPT} of this program)")
    site.step(source, entry, f"pythons/{number}.txt", partial(execute, argv, environ), limit_s)


def _pythons(site: Site, pids: Sequence[int]) -> list[_Python]:
    """The interpreters of those of the processes that run Python."""
    found = []
    for pid in pids[:MOST_PROCESSES]:
        said = bytearray()
        run(partial(_print_python, site.tree, pid), said.extend, deadline_s=_ASK_S, stop=site.stop)
        if said:
            found.append(_Python(**json.loads(bytes(said))))
    return found


def _print_python(tree: Tree, pid: int) -> None:
    """Writes what there is to know of the Python of a process; nothing where it runs none."""
    path = interpreter(tree, pid)
    if path is None:
        return
    inside = tree.link(f"/proc/{pid}/ns/mnt") != tree.link("/proc/self/ns/mnt")
    said = {"path": path, "pid": pid, "inside": inside, "environ": search_paths(tree, pid)}
    os.write(1, json.dumps(said).encode())


def _different(pythons: Sequence[_Python]) -> list[_Python]:
    """One of each: ranks of one job run the same."""
    first: dict[tuple[object, ...], _Python] = {}
    for python in pythons:
        first.setdefault((python.path, python.inside, *sorted(python.environ.items())), python)
    return list(first.values())
