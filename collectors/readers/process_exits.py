"""Ends of a job's processes as its launcher saw them: torchrun, SGLang, vLLM, DeepSpeed, Slurm, MPI, shell, pods.

    failed (exitcode: -9) local_rank: 1 (pid: 3214) of binary: /opt/conda/bin/python
    [2026-01-31 12:00:00] Rank 0 scheduler is dead. Please check if there are relevant logs.
    [2026-01-31 12:00:00] Exit code: -9

Follows torch.distributed.elastic (1.9 to 2.14), sglang.srt.entrypoints, vllm.v1.executor, deepspeed.launcher,
Slurm's srun, Open MPI, bash and kubectl describe. A summary whose beginning is cut gives the entries that are
whole. Codes of 128 and more of a shell or pod are given as printed.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from collectors.readers._regex import regex
from collectors.readers.launcher_prefixes import after_progress, without_launcher, without_stamp
from collectors.readers.run_start import START_MARKERS, shows_start
from kb.evidence import Observed, Reader, Reading, Section
from kb.facts.framework import ProcessExit

MOST_EXITS = 5000

_CODE = r"(?P<code>-?\d{1,5})"
_SRUN = r"srun: error: \S{1,64}: tasks? (?P<task>\d{1,6})\S{0,40}: "
_LINES: tuple[tuple[str, re.Pattern[str]], ...] = tuple(
    (launcher, regex(pattern))
    for launcher, pattern in (
        ("torchrun", rf".{{0,120}}failed \(exitcode: {_CODE}\) local_rank: (?P<local>\d{{1,6}}) \(pid: "),
        ("sglang", rf".{{0,60}}Subprocess \S{{1,40}} \(pid=\d{{1,10}}\) crashed with exit code {_CODE}"),
        ("sglang", rf"Child process unexpectedly failed with (?:an exit code|exitcode=?) ?{_CODE}"),
        (
            "vllm",
            rf"Worker proc VllmWorker-(?P<rank>\d{{1,6}}) died unexpectedly(?:.{{1,60}}code:? {_CODE})?",
        ),
        ("deepspeed", rf".{{0,400}}exits with return code = {_CODE}"),
        ("srun", rf"{_SRUN}Exited with exit code {_CODE}"),
        ("srun", rf"{_SRUN}(?P<signal>Killed|Out Of Memory|Segmentation fault)"),
        (
            "mpirun",
            r".{0,60}process rank (?P<rank>\d{1,6}) with PID .{1,90} exited on signal (?P<sig>\d{1,2})",
        ),
        (
            "shell",
            r"\S{1,200}: line \d{1,6}: +\d{1,10} (?P<signal>Killed|Segmentation fault|Aborted|Bus error) ",
        ),
    )
)
_SIGNALS = {"Killed": -9, "Out Of Memory": -9, "Segmentation fault": -11, "Aborted": -6, "Bus error": -7}
_DEAD = regex(r"Rank (?P<rank>\d{1,6}) scheduler is dead\.")
_DEAD_CODE = regex(rf"Exit code: {_CODE}\s*$")
_ENTRY_RANK = regex(r"\s{0,8}rank {1,8}: (\d{1,7}) \(local_rank: \d{1,6}\)")
_ENTRY_CODE = regex(rf"\s{{0,8}}exitcode {{1,8}}: {_CODE} \(pid: ")
_ENTRY_TIME = regex(r"\s{0,8}time {1,8}: (\S{1,40})")
_POD_REASON = regex(r"\s{2,16}Reason: {1,16}OOMKilled\s*$")
_POD_CODE = regex(rf"\s{{2,16}}Exit Code: {{1,16}}{_CODE}\s*$")
_DEEPSPEED_RANK = regex(r"--local_rank=(\d{1,6})")
_ENTRY_LINES = 6
_MARKERS = (
    *("(exitcode: ", "crashed with exit code", "unexpectedly failed with", "died unexpectedly"),
    *("scheduler is dead", "exits with return code", "srun: error: ", "exited on signal", "exitcode  :"),
    *(" Killed  ", " Segmentation fault  ", " Aborted  ", "OOMKilled"),
)


def read(section: Section) -> Iterator[Reading]:
    """One fact for each end, the same end reported twice once; where no end is told, that it was looked for."""
    seen: dict[ProcessExit, None] = {}
    for observed in _exits(section):
        fact = observed.fact
        if isinstance(fact, ProcessExit) and fact not in seen and len(seen) < MOST_EXITS:
            seen[fact] = None
            yield observed
    whole = shows_start(section)
    if seen or whole:
        yield section.looked(ProcessExit, complete=whole)


def _exits(section: Section) -> Iterator[Observed]:
    for index, line in section.matching(*_MARKERS):
        launched = without_launcher(after_progress(line))
        text = without_stamp(launched.text).text
        if (dead := _DEAD.match(text)) is not None:
            yield _scheduler(section, index, int(dead["rank"]))
        elif (code := _ENTRY_CODE.match(launched.text)) is not None:
            yield from _summary_entry(section, index, int(code["code"]))
        elif _POD_REASON.match(line):
            yield from _pod(section, index)
        else:
            yield from _one_line(section, index, text)


def _one_line(section: Section, index: int, text: str) -> Iterator[Observed]:
    for launcher, pattern in _LINES:
        match = pattern.match(text)
        if match is None:
            continue
        found = match.groupdict()
        rank = _rank(found, text)
        yield section.observe(ProcessExit(rank=rank, exit_code=_code(found), reported_by=launcher), index)
        return


def _rank(found: dict[str, str | None], text: str) -> str | None:
    for name, words in (("rank", "rank"), ("local", "local rank"), ("task", "task")):
        if found.get(name):
            return f"{words} {int(found[name] or 0)}"
    local = _DEEPSPEED_RANK.search(text[:2000])
    return f"local rank {int(local[1])}" if local else None


def _code(found: dict[str, str | None]) -> int | None:
    if found.get("code"):
        return int(found["code"] or 0)
    if found.get("sig"):
        return -int(found["sig"] or 0)
    return _SIGNALS[found["signal"] or ""] if found.get("signal") else None


def _scheduler(section: Section, index: int, rank: int) -> Observed:
    """SGLang says on the next lines how the scheduler ended."""
    for after in range(index + 1, min(index + 6, len(section.lines))):
        code = _DEAD_CODE.search(section.lines[after][:200])
        if code is not None:
            fact = ProcessExit(rank=f"rank {rank}", exit_code=int(code["code"]), reported_by="sglang")
            return section.observe(fact, index, after)
    return section.observe(ProcessExit(rank=f"rank {rank}", reported_by="sglang"), index)


def _summary_entry(section: Section, index: int, code: int) -> Iterator[Observed]:
    """torchrun's summary: an entry of aligned lines; the last of them is the first failure that it saw."""
    rank = time = None
    first = index
    for before in range(index - 1, max(index - _ENTRY_LINES, -1), -1):
        text = without_launcher(section.lines[before][:400]).text
        if (found := _ENTRY_RANK.match(text)) is not None:
            rank, first = f"rank {int(found[1])}", before
        elif (stamp := _ENTRY_TIME.match(text)) is not None:
            time, first = stamp[1], before
        elif "Root Cause (first observed failure)" in text:
            fact = ProcessExit(rank=rank, exit_code=code, reported_by="torchrun", first_observed=True, time=time)
            yield section.observe(fact, before, index)
            return
    yield section.observe(ProcessExit(rank=rank, exit_code=code, reported_by="torchrun", time=time), first, index)


def _pod(section: Section, index: int) -> Iterator[Observed]:
    """kubectl describe: the state of a container that was killed for memory, and its exit code below."""
    for after in range(index + 1, min(index + 3, len(section.lines))):
        code = _POD_CODE.match(section.lines[after][:200])
        if code is not None:
            yield section.observe(ProcessExit(exit_code=int(code["code"]), reported_by="kubernetes"), index, after)
            return


READER = Reader("process-exits", read, markers=(*_MARKERS, *START_MARKERS))
