"""The start of TensorRT-LLM and of Triton server, as far as their logs tell it.

    [TensorRT-LLM][INFO] MPI size: 2, MPI local size: 2, rank: 1
    [TensorRT-LLM][INFO] Detecting local TP group for rank 1
    I0505 03:10:21.051493 4734 model_lifecycle.cc:827] successfully loaded 'tensorrt_llm'

Follows TensorRT-LLM 0.5 to 1.2 (cpp/tensorrt_llm, trtllm-serve) and Triton server 2.30 on. Most lines name no
rank. Of a log with several runs the last one's points count. Prose and cut lines give nothing.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field

from collectors.readers._regex import regex
from collectors.readers.launcher_prefixes import Logged, after_progress, without_launcher, without_stamp
from collectors.readers.start_milestones import Milestones, Passed
from kb.evidence import Observed, Reader, Reading, Section
from kb.facts.framework import Framework, LaunchArgument, Milestone, StartMilestone

_CPP = r"\[TensorRT-LLM\]\[INFO\] "
_NAMED = r"(?P<name>[\w.-]{1,80})"
_LINES: tuple[tuple[Framework, Milestone, str], ...] = (
    ("tensorrt-llm", "launched", r"\[TensorRT-LLM\] TensorRT-LLM version: \d"),
    ("tensorrt-llm", "launched", r"Starting TensorRT-LLM init\."),
    ("tensorrt-llm", "weights-begin", rf"{_CPP}Engine version \S{{1,40}} found in the config file"),
    ("tensorrt-llm", "weights-begin", r"Loading (?:safetensors )?weights[\w ]{0,40}: {1,4}\d{1,2}%\|"),
    ("tensorrt-llm", "weights-end", rf"{_CPP}Loaded engine size: \d"),
    ("tensorrt-llm", "weights-end", r"Loading (?:safetensors )?weights[\w ]{0,40}: {1,4}100%\|"),
    ("tensorrt-llm", "distributed-begin", rf"{_CPP}Detecting local TP group for rank (?P<begun>\d{{1,6}})"),
    ("tensorrt-llm", "distributed-end", rf"{_CPP}TP group is \S{{3,12}} for rank (?P<ended>\d{{1,6}})"),
    ("tensorrt-llm", "ready", r"INFO: {5}Application startup complete\."),
    ("triton", "launched", r"\"?Pinned memory pool is created at '0x"),
    ("triton", "weights-begin", rf"\"?loading: {_NAMED}:\d{{1,4}}\"?\s*$"),
    ("triton", "weights-end", r"\"?successfully loaded '[\w.-]{1,80}'"),
    ("triton", "ready", r"\"?Started HTTPService at \S"),
)
_FORM = regex("|".join(f"(?P<m{number}>{text})" for number, (_, _, text) in enumerate(_LINES)))
_WORLD = regex(rf"{_CPP}MPI size: (\d{{1,6}})(?:, MPI local size: \d{{1,6}})?, rank: \d")
_MARKERS = (
    *("TensorRT-LLM version: ", "Starting TensorRT-LLM init", "found in the config file", "Loaded engine size: "),
    *(
        "Detecting local TP group",
        "TP group is ",
        "[TensorRT-LLM][INFO] MPI size: ",
        "Pinned memory pool is created",
    ),
    *("successfully loaded '", "Started HTTPService at "),
)
_OTHERS = ("loading: ", "Loading weights", "Loading safetensors weights", "Application startup complete.")


@dataclass(slots=True)
class _Run:
    """One start of a server."""

    milestones: dict[Framework, Milestones] = field(default_factory=dict)
    world: tuple[str, int] | None = None
    done: bool = False


def read(section: Section) -> Iterator[Reading]:
    """Milestones of the last run in the section, and the number of its ranks."""
    run = _Run()
    for index, line in section.matching(*_MARKERS, *_OTHERS):
        launched = without_launcher(after_progress(line))
        logged = without_stamp(launched.text)
        match = _FORM.match(logged.text[:1000])
        if match is not None:
            framework, milestone, _ = _LINES[_number(match)]
            if milestone == "launched" and run.done:
                run = _Run()
            if _is_known(run, framework, logged):
                rank = _rank(match) or launched.rank
                points = run.milestones.setdefault(framework, Milestones(framework))
                points.add(Passed(rank, milestone, index, logged.time))
                run.done = run.done or milestone == "ready"
        elif (world := _WORLD.match(logged.text[:1000])) is not None:
            run.world = run.world or (world[1], index)
    yield from _facts(section, run)


def _number(match: re.Match[str]) -> int:
    return next(number for number in range(len(_LINES)) if match[f"m{number}"] is not None)


def _rank(match: re.Match[str]) -> str | None:
    rank = match["begun"] or match["ended"]
    return f"rank {int(rank)}" if rank else None


def _is_known(run: _Run, framework: Framework, logged: Logged) -> bool:
    """Uvicorn and bars speak for any server: they count once a line of this one was seen."""
    if framework == "triton":
        return logged.time is not None
    general = logged.text.startswith(("INFO: ", "Loading "))
    return not general or framework in run.milestones or run.world is not None


def _facts(section: Section, run: _Run) -> Iterator[Observed | Reading]:
    if run.world is not None:
        value, index = run.world
        fact = LaunchArgument(framework="tensorrt-llm", name="world_size", value=value, origin="log")
        yield section.observe(fact, index)
    for milestones in run.milestones.values():
        yield from milestones.observed(section)
    if run.world is not None or run.milestones:
        yield section.looked(LaunchArgument, complete=False, reason="not-collected")
        yield section.looked(StartMilestone, complete=bool(run.milestones))


READER = Reader("trtllm-log", read, markers=_MARKERS)
