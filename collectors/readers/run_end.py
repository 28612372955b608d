"""How the last run in a log ended, as the training, the server, its launcher or the scheduler says.

    {'train_runtime': 5210.4413, 'train_samples_per_second': 12.284, 'train_loss': 0.52114, 'epoch': 1.0}
    INFO:     Application shutdown complete.
    slurmstepd: error: *** JOB 4711 ON gpu07 CANCELLED AT 2026-01-31T12:00:00 DUE TO TIME LIMIT ***

Follows transformers 4, Lightning 1.6 on, Megatron-LM, uvicorn, SGLang, Triton server, torchrun, Slurm. The
last such line counts, and only where no other run begins after it. Exceptions are no ends: see process_errors.
"""

from __future__ import annotations

from collections.abc import Iterator

from collectors.readers._regex import regex
from collectors.readers.launcher_prefixes import after_progress, without_launcher, without_stamp
from collectors.readers.run_start import RUN_MARKERS, last_run
from kb.evidence import Reader, Reading, Section
from kb.facts.launch import EndOfRun, EndSaidBy, RunEnd

# A shell tells of a child that a signal ended, alone on a line or with its number and command.
_BY_SHELL = (
    r"(?:\S{1,80}: line \d{1,6}: +\d{1,10} )?"
    r"(?:Killed|(?:Segmentation fault|Aborted|Bus error)(?: +\(core dumped\))?)(?:\s*$| {2,}\S.{0,300}$)"
)
_LINES: tuple[tuple[EndOfRun, EndSaidBy, str], ...] = (
    ("finished", "training", r"\{'train_runtime': \d"),
    ("finished", "training", r"`Trainer\.fit` stopped: `max_\w{3,20}=.{1,40}` reached\."),
    ("finished", "training", r"\[after training is done\] datetime: |\[exiting program at iteration \d"),
    ("stopped", "server", r"INFO: {1,5}(?:Application shutdown complete\.|Finished server process \[\d)"),
    ("stopped", "server", r"Gracefully exiting\.\.\. Remaining number of requests 0\."),
    ("stopped", "server", r"\"?Waiting for in-flight requests to complete\."),
    ("interrupted", "launcher", r"Received [\w.]{2,20} death signal, shutting down workers"),
    ("interrupted", "launcher", r".{0,120}SignalException: Process \d{1,10} got signal: \d"),
    ("interrupted", "launcher", r"srun: interrupt \(one more within "),
    ("interrupted", "launcher", r"(?:mpirun|mpiexec|prterun|orterun): Forwarding signal (?:2|15) to job"),
    ("interrupted", "launcher", r"(?:mpirun|mpiexec|prterun|orterun): killing job\.\.\."),
    ("interrupted", "launcher", _BY_SHELL),
    (
        "stopped",
        "server",
        r"(?:\[core\.py:\d{1,6}\] )?EngineCore (?:hit an exception|encountered a fatal error)\b",
    ),
)
_FORM = regex("|".join(f"(?P<n{number}>{text})" for number, (*_, text) in enumerate(_LINES)))
_SLURM = regex(
    r"slurmstepd: error: \*\*\* (?:JOB|STEP) [\d._+]{1,24} ON \S{1,80} (?:CANCELLED|FAILED) AT (?P<time>\S{8,32})"
    r"(?: (?:DUE [Tt][Oo]|[Bb][Yy]) (?P<why>[\w ]{3,40}?))? ?\*\*\*"
)
_WHY: dict[str, EndOfRun] = {
    "TIME LIMIT": "time-limit",
    "PREEMPTION": "preempted",
    "JOB REQUEUE": "requeued",
    "NODE FAILURE": "node-failure",
}
_MARKERS = (
    *("'train_runtime'", "`Trainer.fit` stopped", "[after training is done]", "[exiting program at"),
    *(
        "Application shutdown complete",
        "Finished server process",
        "Gracefully exiting...",
        "slurmstepd: error: ***",
    ),
    *("Killed", "Segmentation fault", "Aborted", "Bus error", "EngineCore hit", "EngineCore encountered"),
    *("for in-flight requests", "death signal, shutting", "SignalException: ", "srun: interrupt ("),
    *(": Forwarding signal ", ": killing job..."),
)


def read(section: Section) -> Iterator[Reading]:
    """RunEnd of the last run, where one is told."""
    found = list(_ends(section))
    start = last_run(section) if found else 0
    for index, end, by, time in reversed(found):
        if index >= start:
            yield section.observe(RunEnd(end=end, said_by=by, time=time), index)
            break
    if found:
        yield section.looked(RunEnd, complete=False, reason="not-collected")


def _ends(section: Section) -> Iterator[tuple[int, EndOfRun, EndSaidBy, str | None]]:
    for index, line in section.matching(*_MARKERS):
        logged = without_stamp(without_launcher(after_progress(line)).text)
        match = _FORM.match(logged.text[:1000])
        slurm = _SLURM.match(logged.text[:1000])
        if match is not None:
            number = next(number for number in range(len(_LINES)) if match[f"n{number}"] is not None)
            end, by, _ = _LINES[number]
            yield index, end, by, logged.time
        elif slurm is not None:
            yield index, _WHY.get(slurm["why"] or "", "cancelled"), "scheduler", slurm["time"]


READER = Reader("run-end", read, markers=_MARKERS, lines=(*_MARKERS, *RUN_MARKERS))
