"""Runs of nccl-tests (all_reduce_perf and kin): whether they ended, whether the data were compared, and were right.

    # nThread 1 nGpus 2 minBytes 8 maxBytes 134217728 step: 2(factor) warmup iters: 5 iters: 20 agg iters: 1 validation: 1 graph: 0
           8             2     float     sum      -1    12.37    0.00    0.00      0    12.21    0.00    0.00      0
    # Out of bounds values : 0 OK

Follows NVIDIA/nccl-tests 1.x (ranks that `uses device`, `bytes` and `N`) to 2.19 (src/common.cu, util.cu), rccl-tests and the JSON of `-J`. Columns are told
by the heading: with or without `root`, with `#wrong` (a count) or the older `error` (a distance, no count), with
columns for each iteration or a time behind. `N/A` is not checked. A run that is cut is `unfinished`; a `^C` below it, or
`timeout` before it, says that it did not end by itself.
"""  # noqa: E501 - lines of the output as they are

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from collectors.readers._json_text import at, json_of, line_with
from collectors.readers._regex import regex
from collectors.readers._trial_changes import only_change, without_direct_copies
from collectors.readers.launcher_prefixes import without_launcher
from collectors.readers.nccl_failure_forms import release_of
from collectors.readers.nccl_tests_json import PROGRAM, Outcome, result_of
from kb.evidence import Reader, Reading, Section
from kb.facts.gpu import Gpu
from kb.facts.nccl_tools import NcclTestLibrary, NcclTestResult

MOST_RUNS = 300
MOST_COLUMNS = 1000
MOST_GPUS = 64

_PARAMETERS = regex(r"# nThread \d{1,6} nGpus \d{1,4} minBytes (?:.{1,200}? validation: (?P<validation>\d)|\d)")
_LIMITED = regex(
    r"(?:sudo |[A-Z][A-Z0-9_]{1,60}=\S{0,200} ){0,12}timeout (?:-\S{1,20} |--\S{1,40} ){0,4}\d{1,6}[smh]? "
)
_STARTING = regex(r"# Collective test starting: (?:\S{0,200}/)?(?P<program>\w{1,40})")
_RANK = regex(
    r"# {1,4}Rank {1,6}(?P<rank>\d{1,7}) (?:Group {1,6}\d{1,6} )?"
    r"(?:Pid {1,10}\d{1,10} on {1,40}(?P<host>\S{1,100})|uses) device {1,4}\d{1,4}"
    r"(?: \[(?:(?P<bus>[0-9a-f]{4,8}:[0-9a-f]{2}:[0-9a-f]{2})|0x[0-9a-f]{2})\] (?P<gpu>\S.{2,80}?)\s*$)?"
)
_HEADING = regex(r"# {3,20}(?:size {2,20}count|bytes {2,20}N) {2,20}type {1,20}(?P<rest>.{10,400})")
_ROW = regex(r" {1,24}(?P<size>\d{1,15}) {1,24}\d{1,15} {1,24}(?P<type>[a-z]\w{1,12}) {1,24}(?P<rest>\S.{5,400})")
_BEGUN = regex(r" {1,24}(?P<size>\d{1,15}) {2,24}\d{1,15} {2,24}[a-z]\w{1,12} {2,24}")
_NUMBER = regex(r"\d{1,20}(?:\.\d{1,10})?(?:e[+-]\d{1,3})?|N/A|nan|inf")
_STAMP = regex(r" {1,20}\d{4}-\d\d-\d\d \d\d:\d\d:\d\d\s*$")
_BOUNDS = regex(r"# Out of bounds values {1,6}: (?P<count>\d{1,12}) (?P<word>OK|FAILED)")
_BANDWIDTH = regex(r"# Avg bus bandwidth {1,8}: (?P<gbps>\d{1,9}(?:\.\d{1,10})?(?:e[+-]\d{1,3})?)")
_FAILURE = regex(
    r"(?:[\w.-]{1,100}: )?Test (?:CUDA|NCCL) failure (?P<file>[\w./-]{1,80}):\d{1,6} "
    r"'?(?P<words>[^'\n]{1,200}?)(?: / ?\s*)?'"
    r"|(?:[\w.-]{1,100}: )?(?P<timeout>Test timeout \(\d{1,8}s\))"
)
_VERSION = regex(
    r"# nccl-tests version \S{1,20} nccl-headers=(?P<headers>\d{4,6}) nccl-library=(?P<library>\d{4,6})"
)
_SOURCES = {"common", "util", "verifiable", "timer"}
_FAILED = ("Test CUDA failure", "Test NCCL failure")
_MARKERS = ("# nThread ", "# Out of bounds values", *_FAILED, "# nccl-tests version")
_OLD = ("uses device ", " bytes             N ")
_LINES = (
    *_MARKERS,
    *_OLD,
    *("#  Rank", "#   Rank", "Collective test starting", "# Avg bus", "     size ", "Test timeout"),
)


@dataclass(slots=True)
class _Run:
    """One run of a test program, as far as the output goes."""

    index: int
    end: int
    operation: str | None = None
    validated: bool = False
    ranks: set[int] = field(default_factory=set)
    hosts: set[str] = field(default_factory=set)
    gpus: dict[tuple[str, str | None], int] = field(default_factory=dict)
    """Name and address, and the line that first gives them."""
    busbw_at: int = 2
    wrong_at: tuple[int, ...] = (3, 7)
    counts: bool = True
    """The column is a count, not a distance."""
    columns: int = 8
    rows: int = 0
    last_size: int | None = None
    last_busbw: float | None = None
    begun: int | None = None
    wrong: int | None = None
    bounds: int | None = None
    bandwidth: float | None = None
    failure: str | None = None


def read(section: Section) -> Iterator[Reading]:
    """One fact for each run, the GPUs that it names, and the NCCL that it was built with and runs with."""
    if section.lines and section.lines[0].startswith("{"):
        yield from _json(section)
        return
    runs = list(_runs(section))
    command = (section.command or "")[:MOST_COLUMNS]
    limited, direct_off = _LIMITED.match(command) is not None, without_direct_copies(command)
    for run, following in zip(runs[:MOST_RUNS], [*runs[1:], None], strict=False):
        fact = _fact(run)
        below = section.lines[run.end + 1 : following.index if following else None]
        is_ended = limited or any(line.startswith("^C") for line in below)
        if fact.outcome == "unfinished" and is_ended:
            fact = fact.model_copy(update={"timed_out": True})
        if direct_off:
            fact = fact.model_copy(update={"direct_copies_off": True})
        if (change := only_change(command)) is not None:
            fact = fact.model_copy(update={"changed": change})
        yield section.observe(fact, run.index, run.end)
    yield from _gpus(section, runs)
    for index, line in section.matching("# nccl-tests version"):
        match = _VERSION.match(without_launcher(line[:MOST_COLUMNS]).text)
        if match is not None:
            headers, library = release_of(match["headers"]), release_of(match["library"])
            yield section.observe(
                NcclTestLibrary(headers=headers, library=library, same=headers == library), index
            )
            break
    if runs:
        yield section.looked(NcclTestResult, complete=len(runs) <= MOST_RUNS)


def _gpus(section: Section, runs: Sequence[_Run]) -> Iterator[Reading]:
    """Each GPU that a run on one machine names, each model that one on several does."""
    seen: set[Gpu] = set()
    for run in runs:
        for (name, bus), index in run.gpus.items():
            gpu = Gpu(name=name, bdf=f"{bus}.0" if bus and len(run.hosts) == 1 else None, reported_by="nccl-tests")
            if gpu not in seen:
                seen.add(gpu)
                yield section.observe(gpu, index)


def _runs(section: Section) -> Iterator[_Run]:
    run: _Run | None = None
    named = PROGRAM.search(section.command[:MOST_COLUMNS]) if section.command else None
    operation = named["operation"] if named else None
    for index, line in enumerate(section.lines):
        row = _ROW.match(line) if run is None and named else None  # `| tail -3` leaves no heading
        if run is None and row is None and "# " not in line and "failure" not in line:
            continue
        text = without_launcher(line[:MOST_COLUMNS]).text
        is_row = text[:1] == " " and (run is not None or row is not None)
        if text[:1] != "#" and "failure" not in text and "timeout" not in text and not is_row:
            continue
        if (starting := _STARTING.match(text)) is not None:
            program = PROGRAM.search(starting["program"])
            operation = program["operation"] if program else operation
        parameters = _PARAMETERS.match(text)
        if (
            parameters is not None
            or row is not None
            or (_begins(text) and (run is None or run.bandwidth is not None))
        ):
            if run is not None:
                yield run
            named_here = operation or _operation_above(section, index)
            run = _Run(index, index, named_here, parameters is not None and parameters["validation"] != "0")
        if run is not None and _take(run, text, index):
            run.end = index
    if run is not None:
        yield run


def _operation_above(section: Section, index: int) -> str | None:
    """Of a command that a shell shows as it runs it (`set -x`), right above its first line."""
    for line in reversed(section.lines[max(index - 2, 0) : index]):
        if line.startswith("+") and (program := PROGRAM.search(line[:4000])) is not None:
            return program["operation"]
    return None


def _begins(text: str) -> bool:
    """Whether a line belongs to a run whose first line is not there."""
    return any(form.match(text) is not None for form in (_HEADING, _RANK, _BOUNDS, _BANDWIDTH, _FAILURE))


def _take(run: _Run, text: str, index: int) -> bool:
    """Adds one line to the run; False where the line says nothing of it."""
    if text.startswith(" "):
        row, begun = _ROW.match(text), _BEGUN.match(text)
        run.begun = int(begun["size"]) if begun else run.begun
        return row is not None and _row(run, row)
    if (rank := _RANK.match(text)) is not None:
        run.ranks.add(int(rank["rank"]))
        run.hosts.update([rank["host"]] if rank["host"] else [])
        if rank["gpu"] is not None and len(run.gpus) < MOST_GPUS:
            run.gpus.setdefault((rank["gpu"], rank["bus"]), index)
    elif (heading := _HEADING.match(text)) is not None:
        _heading(run, heading["rest"])
    elif (bounds := _BOUNDS.match(text)) is not None:
        run.bounds = max(int(bounds["count"]), 1 if bounds["word"] == "FAILED" else 0)
    elif (bandwidth := _BANDWIDTH.match(text)) is not None:
        run.bandwidth = float(bandwidth["gbps"])
    elif (failure := _FAILURE.match(text)) is not None:
        run.failure = run.failure or failure["words"] or failure["timeout"]
        source = (failure["file"] or "").rpartition("/")[2].partition(".")[0]
        if run.operation is None and source and source not in _SOURCES:
            run.operation = source
    else:
        return False
    return True


def _heading(run: _Run, rest: str) -> None:
    words = rest.split()
    if "time" not in words:
        return
    columns = [word for word in words[words.index("time") :] if word != "timestamp"]
    run.columns = len(columns)
    run.busbw_at = columns.index("busbw") if "busbw" in columns else len(columns)
    run.wrong_at = tuple(at for at, word in enumerate(columns) if word in {"#wrong", "error", "res"})
    run.counts = "#wrong" in columns


def _row(run: _Run, row: re.Match[str]) -> bool:
    """Adds a row that has its results; some builds measure out of place alone and print half of the columns."""
    words = _STAMP.sub("", row["rest"]).split()
    for columns in (run.columns, run.columns // 2):
        cells = words[-columns:]
        if len(cells) == columns and all(_NUMBER.fullmatch(cell) for cell in cells):
            break
    else:
        return False
    run.rows += 1
    run.last_size, run.begun = int(row["size"]), None
    busbw = cells[run.busbw_at] if run.busbw_at < len(cells) else ""
    run.last_busbw = float(busbw) if busbw[:1].isdecimal() else None
    for cell in (cells[column] for column in run.wrong_at if column < len(cells)):
        if cell[0].isdecimal():
            run.wrong = (run.wrong or 0) + (int(float(cell)) if run.counts else 0)
    return True


def _fact(run: _Run) -> NcclTestResult:
    wrong = run.wrong
    if wrong is not None or run.bounds or (run.validated and run.rows == 0 and run.bounds is not None):
        wrong = max(wrong or 0, run.bounds or 0)
    ended = run.bounds is not None or run.bandwidth is not None
    outcome: Outcome = "passed" if ended else "unfinished"
    if run.failure:
        outcome = "failed"
    elif wrong or run.bounds:
        outcome = "wrong-data"
    return NcclTestResult(
        outcome=outcome,
        operation=run.operation,
        ranks=len(run.ranks) or None,
        hosts=len(run.hosts) or None,
        checked=wrong is not None,
        wrong=wrong,
        rows=run.rows,
        last_size_bytes=run.last_size,
        last_busbw_gbps=run.last_busbw,
        begun_size_bytes=run.begun if outcome == "unfinished" else None,
        avg_busbw_gbps=run.bandwidth,
        failure=run.failure,
    )


def _json(section: Section) -> Iterator[Reading]:
    value = json_of(section)
    results, config = at(value, "results"), at(value, "config")
    if not isinstance(results, list) or not isinstance(config, dict) or "average_bus_bandwidth" not in value:
        return
    yield section.observe(result_of(value, results, config), line_with(section, '"results"'))
    yield section.looked(NcclTestResult)


READER = Reader(
    "nccl-tests",
    read,
    markers=(*_MARKERS, "uses device ", "# Avg bus bandwidth", '"average_bus_bandwidth"'),
    lines=_LINES,
    context=(0, 60),
)
