"""vLLM's server log: launch arguments, the points of the start that each rank passed, and its NCCL.

    INFO 01-31 12:00:00 [api_server.py:1287] vLLM API server version 0.9.1
    INFO 01-31 12:00:09 [core.py:70] Initializing a V1 LLM engine (v0.9.1) with config: model='/m', tensor_parallel_size=2,
    (VllmWorker rank=1 pid=228) INFO 01-31 12:00:16 [pynccl.py:70] vLLM is using nccl==2.26.2

Follows vLLM 0.4 to 0.33 (vllm/: entrypoints/, v1/engine/core.py, v1/worker/, distributed/, compilation/). From
0.12 on only rank 0 names NCCL. Of a log with several runs only the last one's milestones count. A line is
known by stamp and text together, so that prose gives nothing; a cut configuration gives what is complete.
"""  # noqa: E501 - a line of the log as it is

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field

from collectors.readers._regex import regex
from collectors.readers.launcher_prefixes import Launched, after_progress, clipped, without_launcher
from collectors.readers.printed_arguments import printed_arguments
from collectors.readers.start_milestones import Milestones, Passed
from kb.evidence import Observed, Reader, Reading, Section
from kb.facts.framework import LaunchArgument, Milestone, StartMilestone
from kb.facts.nccl import NcclVersion

ARGUMENTS = frozenset(
    (
        *("model", "model_tag", "load_format", "dtype", "quantization", "kv_cache_dtype", "host", "port"),
        *("tensor_parallel_size", "pipeline_parallel_size", "data_parallel_size", "enable_expert_parallel"),
        *("max_seq_len", "max_model_len", "gpu_memory_utilization", "swap_space", "cpu_offload_gb"),
        *("disable_custom_all_reduce", "enforce_eager", "distributed_executor_backend", "max_num_seqs"),
        *("worker_use_ray", "speculative_config"),
    )
)
"""The arguments that bear on communication, memory and start."""

_STAMP = r"(?:DEBUG|INFO|WARNING) (?P<time>\d\d-\d\d \d\d:\d\d:\d\d(?:\.\d{1,6})?) \[?[\w./-]{1,128}:\d{1,6}\] "
_TEXTS: tuple[tuple[Milestone, str], ...] = (
    ("launched", r"vLLM (?:OpenAI )?API server version \d|.{0,40}█ .{0,20}version \d"),
    ("launched", r"Initializing an? (?:V\d )?LLM engine "),
    ("distributed-begin", r"world_size=\d{1,6} rank=\d{1,6} local_rank="),
    ("nccl-named", r"vLLM is using nccl==\d"),
    ("distributed-end", r"rank \d{1,6} in world size \d{1,6} is assigned as "),
    ("weights-begin", r"Starting to load model "),
    ("weights-end", r"(?:Model loading|Loading model weights) took \d"),
    (
        "compile-begin",
        r"Using cache directory: .{1,400} for vLLM's torch\.compile|Dynamo bytecode transform time",
    ),
    ("compile-end", r"torch\.compile (?:takes|took) "),
    ("capture-begin", r"Capturing (?:cudagraphs|the model) for|Profiling CUDA graph memory: "),
    ("capture-end", r"Graph capturing finished in "),
    ("serving", r"Avg prompt throughput|Engine \d{1,4}: Avg prompt throughput"),
)
_LINE = regex(f"{_STAMP}(?:" + "|".join(f"(?P<m{number}>{text})" for number, (_, text) in enumerate(_TEXTS)) + ")")
_ARGUMENTS_LINE = regex(f"{_STAMP}(?:non-default args: |args: Namespace)(?P<printed>[{{(].*)", re.DOTALL)
_ENGINE_CONFIG = regex(r"with config: (?:VllmConfig\()?(?P<printed>\w{1,40}=.*)", re.DOTALL)
_READY = regex(r"INFO: {5}Application startup complete\.")
_CAPTURE_BAR = regex(r"Capturing CUDA graphs?(?: shapes| \([^)]{1,60}\))?: {1,4}\d{1,3}%")
_NCCL = regex(r"is using nccl==(\d{1,3}(?:\.\d{1,3}){1,3})")
_RANK = regex(r"(?:world_size=\d{1,6} rank=| rank )(\d{1,6})(?: local_rank=| in world size )")

_MARKERS = (
    *(
        "vLLM API server version",
        "LLM engine (v",
        "LLM engine with config: ",
        "vLLM is using nccl==",
        "non-default args: {",
    ),
    *("in world size", "distributed_init_method=", "Starting to load model ", "Model loading took "),
    *("Loading model weights took ", "Graph capturing finished in ", "Avg prompt throughput"),
)
_OTHERS = (
    *("Application startup complete.", "args: Namespace(", "torch.compile", "Dynamo bytecode"),
    *("Capturing ", "Profiling CUDA graph memory", "█ ", "LLM engine"),
)


@dataclass(slots=True)
class _Run:
    """One start of the server."""

    passed: list[tuple[Launched, Milestone, int, str | None]] = field(default_factory=list)
    arguments: dict[str, tuple[str, int]] = field(default_factory=dict)
    engines: set[str] = field(default_factory=set)
    nccl: dict[str, list[int]] = field(default_factory=dict)
    ranks: dict[str, str] = field(default_factory=dict)
    """Ranks that processes told of themselves, where the launcher's prefix holds only a process id."""


def read(section: Section) -> Iterator[Reading]:
    """Arguments and milestones of the last run in the section; NCCL's versions as that run names them."""
    run, seen = _Run(), False
    for index, line in section.matching(*_MARKERS, *_OTHERS):
        if seen and _CAPTURE_BAR.search(clipped(line)):
            launched = without_launcher(line[:400])
            run.passed.append((launched._replace(text="bar"), "capture-begin", index, None))
        launched = without_launcher(after_progress(line))
        match = _LINE.match(launched.text) or _LINE.search(launched.text[:2000])
        if match is not None:
            run, seen = _next_run(run, match, launched), True
            _take(run, launched, index, match)
        elif (printed := _ARGUMENTS_LINE.match(launched.text)) is not None:
            _add_arguments(run, printed_arguments(printed["printed"]), index)
        elif _READY.match(launched.text) and seen:
            run.passed.append((Launched(None, "", ""), "ready", index, None))
    if seen:
        yield from _facts(section, run)


def _number(match: re.Match[str]) -> int:
    return next(number for number in range(len(_TEXTS)) if match[f"m{number}"])


def _next_run(run: _Run, match: re.Match[str], launched: Launched) -> _Run:
    """A new run where this line begins one: an API server, or an engine that had begun before."""
    number = _number(match)
    engine = launched.process.split(" ")[0]
    if number == 0 and run.passed:
        return _Run()
    if number == 1:
        if engine in run.engines:
            run = _Run()
        run.engines.add(engine)
    return run


def _take(run: _Run, launched: Launched, index: int, match: re.Match[str]) -> None:
    milestone = _TEXTS[_number(match)][0]
    if milestone == "launched":
        launched = Launched(None, launched.text, "")
        if config := _ENGINE_CONFIG.search(launched.text, match.start()):
            _add_arguments(run, printed_arguments(f"({config['printed']}, )"), index)
    elif told := _RANK.search(launched.text[:1000], match.start()):
        run.ranks.setdefault(launched.process, f"rank {int(told[1])}")
    if milestone == "nccl-named" and (version := _NCCL.search(launched.text, match.start())):
        run.nccl.setdefault(version[1], []).append(index)
    run.passed.append((launched._replace(text=""), milestone, index, match["time"]))


def _add_arguments(run: _Run, found: dict[str, str], index: int) -> None:
    for name, value in found.items():
        if name in ARGUMENTS and value not in {"None", ""}:
            run.arguments.setdefault(name, (value, index))


def _rank(run: _Run, launched: Launched) -> str | None:
    """The rank as tagged; where the tag is only a process id, the rank that this process told of itself."""
    if launched.rank is None or launched.rank.startswith("pid "):
        return run.ranks.get(launched.process, launched.rank) if launched.process else launched.rank
    return launched.rank


def _facts(section: Section, run: _Run) -> Iterator[Observed | Reading]:
    for name, (value, index) in run.arguments.items():
        yield section.observe(LaunchArgument(framework="vllm", name=name, value=clipped(value)), index)
    milestones = Milestones("vllm")
    begun: set[str | None] = set()
    tagged = any(launched.rank is not None for launched, *_ in run.passed)
    for launched, milestone, index, time in run.passed:
        rank = _rank(run, launched)
        if launched.text == "bar" and tagged and rank is None:  # one rank draws it for all, untagged
            continue
        if milestone == "distributed-begin":
            begun.add(rank)
        elif milestone == "nccl-named" and rank not in begun:  # the line of the beginning is a debug line
            begun.add(rank)
            milestones.add(Passed(rank, "distributed-begin", index, time))
        milestones.add(Passed(rank, milestone, index, time))
    yield from milestones.observed(section)
    for version, indexes in run.nccl.items():
        fact = NcclVersion(version=version, processes=len(indexes), said_by="framework")
        yield section.observe(fact, indexes[0])
    for fact_type in (LaunchArgument, StartMilestone):
        yield section.looked(fact_type, complete=any(milestone == "launched" for _, milestone, *_ in run.passed))


READER = Reader("vllm-log", read, markers=_MARKERS)
