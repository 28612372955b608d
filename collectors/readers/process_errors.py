"""The errors of a job's processes: the last exception of each rank, and fatal lines without a traceback.

    [rank1]: torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.00 GiB. GPU 1 has a total capacity …
    [2026-01-31 12:00:00 TP6] Scheduler hit an exception: Traceback (most recent call last):
    [rank3]:[E131 12:10:00.1 ProcessGroupNCCL.cpp:616] [Rank 3] Watchdog caught collective operation timeout: WorkNCCL(

Follows CPython's traceback module, PyTorch 1.8 to 2.14 (c10d), SGLang, vLLM, Ray. What only says that another
process failed first is marked a consequence. Cut tracebacks give what still names an exception; prose gives
nothing, since an exception line must begin its line.
"""  # noqa: E501 - lines of the log as they are

from __future__ import annotations

from collections.abc import Iterator, Set
from dataclasses import dataclass

from collectors.readers._regex import regex
from collectors.readers.error_classes import Judged, judged
from collectors.readers.fatal_lines import MARKERS as FATAL
from collectors.readers.fatal_lines import Fatal, fatal_line, may_be_fatal
from collectors.readers.launcher_prefixes import after_progress, without_launcher, without_stamp
from collectors.readers.run_start import RUN_MARKERS, START_MARKERS, of_last_run, shows_start
from collectors.readers.tracebacks import Raised, Stream
from kb.evidence import Observed, Reader, Reading, Section
from kb.facts.framework import ProcessError

MOST_TEXT = 400
MOST_STREAMS = 20_000
FIRST_UNTAGGED, LAST_UNTAGGED = 2, 3
"""Different errors that are kept where the log does not tell ranks apart: the first and the last."""
SUMMARY_LINES = 5
"""Of torchrun's summary, between rank and traceback."""

_NOT_ERRORS = frozenset(("ChildFailedError", "SystemExit", "StopIteration", "LustreError"))
"""No exceptions of the job: the launcher's summary, wanted ends, and what a kernel module calls so."""
_RANK = regex(r"\[(?:[^\]]{0,80} )?Rank (\d{1,7})\]")
_RANK_SUMMED_UP = regex(r"\s{0,4}rank {1,8}: (\d{1,7}) \(local_rank: \d")
_EXIT_MARK = "failed (exitcode: "
_EXITED = regex(r"failed \(exitcode: -?\d{1,5}\) local_rank: (\d{1,6}) \(pid: ")
_NUMBERS = regex(r"0x[0-9a-fA-F]+|\d+")
_ENDS = ("Error", "Exception", "Interrupt", "Timeout", "Exit", "Failure")
_HINTS = ("Traceback (most", *(f"{end}{mark}" for end in _ENDS for mark in ":("))
_HINT = regex(rf"Traceback \(most|(?:{'|'.join(_ENDS)})(?:\(\w+\))?:")


@dataclass(slots=True)
class _Error:
    """One error of one rank and all its repetitions."""

    rank: str | None
    error: str
    text: str
    judged: Judged
    time: str | None
    index: int
    end: int
    last: int
    count: int = 1


def read(section: Section) -> Iterator[Reading]:
    """For each rank its last error at first hand, and once each what it says of others' failures."""
    errors: dict[tuple[str | None, str, str], _Error] = {}
    for error in _errors(section):
        key = (error.rank, error.error, _NUMBERS.sub("#", error.text[:120]))
        known = errors.get(key)
        if known is None:
            errors[key] = error
        else:
            known.last = max(known.last, error.last)
            known.count += 1
    _of_the_one_that_ended(section, list(errors.values()))
    current = of_last_run(section, {error.last for error in errors.values()})
    yield from _kept(section, [error for error in errors.values() if error.last in current])
    whole = shows_start(section)
    if errors or whole:
        yield section.looked(ProcessError, complete=whole)


def _errors(section: Section) -> Iterator[_Error]:
    streams: dict[str, Stream] = {}
    waiting: set[str] = set()
    for index, line in _telling(section, waiting):
        launched = without_launcher(after_progress(line))
        logged = without_stamp(launched.text)
        rank = logged.rank or launched.rank
        fatal = fatal_line(logged.text) if may_be_fatal(logged.text) else None
        if fatal is not None:
            following = section.lines[index + 1][:200] if index + 1 < len(section.lines) else ""
            yield _from_line(fatal, index, rank or _summed_up(section, index, fatal), logged.time, following)
            continue
        if launched.process not in streams and len(streams) >= MOST_STREAMS:
            continue
        stream = streams.setdefault(launched.process, Stream())
        for raised in stream.take(logged.text, index, rank, logged.time):
            yield from _from_exception(raised)
        (waiting.add if stream.waiting else waiting.discard)(launched.process)
    for stream in streams.values():
        for raised in stream.end():
            yield from _from_exception(raised)


def _of_the_one_that_ended(section: Section, errors: list[_Error]) -> None:
    """Gives the one error of a log without ranks, told at first hand, to the one process that torchrun saw end."""
    own = [error for error in errors if not error.judged.consequence]
    if len(own) != 1 or own[0].rank is not None or own[0].count > 1:
        return
    ended = {match[1] for _, line in section.matching(_EXIT_MARK) if (match := _EXITED.search(line[:400]))}
    if len(ended) == 1:
        own[0].rank = f"local rank {ended.pop()}"


def _telling(section: Section, waiting: Set[str]) -> Iterator[tuple[int, str]]:
    """Index and text of the lines that may tell of an error; of all lines, while a process is waited for."""
    begin = 0
    for index, line in section.matching(*_HINTS, *FATAL):
        while waiting and begin < index:
            yield begin, section.lines[begin]
            begin += 1
        if waiting or _HINT.search(line) or may_be_fatal(line):
            yield index, line
        begin = index + 1
    while waiting and begin < len(section.lines):
        yield begin, section.lines[begin]
        begin += 1


_PROCESS_OF_A_SIGNAL = regex(r"\[(?P<host>[A-Za-z][\w.-]{0,63}):(?P<pid>\d{1,10})(?::[\d: ]{1,30})?\] ")
"""Before what Open MPI and UCX say of a signal."""


def _summed_up(section: Section, index: int, fatal: Fatal) -> str | None:
    """The rank in torchrun's summary, some lines above the signal, or else the process that caught it."""
    if fatal.error == "signal":
        for line in section.lines[max(index - SUMMARY_LINES, 0) : index]:
            match = _RANK_SUMMED_UP.match(line[:200])
            if match is not None:
                return f"rank {int(match[1])}"
        process = _PROCESS_OF_A_SIGNAL.match(section.lines[index][:200])
        return f"process {process['pid']} on {process['host']}" if process else None
    return None


def _from_exception(raised: Raised) -> Iterator[_Error]:
    if raised.error not in _NOT_ERRORS:
        text = raised.text or raised.error
        place = (raised.index, raised.end, raised.end)
        yield _Error(raised.rank, raised.error, text, raised.judged, raised.time, *place)


def _from_line(fatal: Fatal, index: int, rank: str | None, time: str | None, following: str) -> _Error:
    if following.startswith("-> ") and fatal.text.startswith("cudaGetDeviceCount returned "):
        fatal = fatal._replace(text=f"{fatal.text} {following}")
    verdict = judged(fatal.error, fatal.text)
    if fatal.class_ is not None:
        verdict = verdict._replace(class_=fatal.class_)
    if fatal.consequence is not None:
        verdict = verdict._replace(consequence=fatal.consequence)
    if fatal.error == "Python crash" and "Aborted" in fatal.text:  # abort() follows what was said before
        verdict = verdict._replace(consequence=True)
    named = _RANK.search(fatal.text[:400])
    rank = f"rank {int(named[1])}" if named else rank
    return _Error(rank, fatal.error, fatal.text.strip(), verdict, time, index, index, index)


def _kept(section: Section, errors: list[_Error]) -> Iterator[Observed]:
    """Of each rank the last error at first hand, of untagged ones the last few; consequences by their name."""
    own: dict[str | None, list[_Error]] = {}
    others: dict[tuple[str | None, str], _Error] = {}
    for error in sorted(errors, key=lambda one: one.last):
        if not error.judged.consequence:
            own.setdefault(error.rank, []).append(error)
        elif (error.rank, error.error) in others:
            first = min(others[error.rank, error.error], error, key=lambda one: one.index)
            first.count = others[error.rank, error.error].count + error.count
            others[error.rank, error.error] = first
        else:
            others[error.rank, error.error] = error
    kept: dict[int, _Error] = {}
    for rank, them in own.items():
        chosen = them[-1:]
        if rank is None:
            chosen = [*sorted(them, key=lambda one: one.index)[:FIRST_UNTAGGED], *them[-LAST_UNTAGGED:]]
        kept |= {id(error): error for error in chosen}
    for error in sorted((*kept.values(), *others.values()), key=lambda one: one.index):
        fact = ProcessError(
            rank=error.rank,
            error=error.error,
            text=error.text[:MOST_TEXT],
            class_=error.judged.class_,
            consequence=error.judged.consequence,
            time=error.time,
            count=error.count,
        )
        yield section.observe(fact, error.index, error.end)


READER = Reader(
    "process-errors",
    read,
    markers=(
        *(
            "Traceback (most recent call last)",
            "Error: ",
            "Exception: ",
            "Watchdog caught",
            "atchdog timeout",
        ),
        *("terminated with exception", "Heartbeat monitor timed out", "watchdog got stuck", "  what():  "),
        *(
            "Fatal Python error:",
            "Caught signal ",
            "Signal: Bus error",
            "Signal: Segmentation fault",
            "received signal SIG",
            "terminated with signal SIG",
            ") received by PID",
            "Failed: Cuda error ",
            "Cuda failure ",
            "died unexpectedly",
        ),
        *("CUDA initialization:", "cudaGetDeviceCount returned", "Failed to allocate device vector A"),
        *("C++ exception with description", "CUDA_ERROR_"),
        *("Test NCCL failure", "Test CUDA failure", "shared memory broadcast block found", "oom-kill event"),
        *(
            "EngineCore failed to start",
            "Free memory on device",
            "client socket has timed out",
            "not enough slots",
        ),
        *("Health check failed.", "[TensorRT-LLM][ERROR]", "failed to load '", "MPI_ABORT was invoked"),
        *("due to memory pressure (OOM)",),
        *START_MARKERS,
    ),
    lines=(*_HINTS, *FATAL, _EXIT_MARK, *RUN_MARKERS),
)
