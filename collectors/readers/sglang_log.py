"""SGLang's server log: launch arguments, the points of the start that each rank passed, and its NCCL.

    [2026-01-31 12:00:00] server_args=ServerArgs(model_path='/models/m', tp_size=4, mem_fraction_static=0.9)
    [2026-01-31 12:00:09 TP3] Init torch distributed begin.
    [2026-01-31 12:00:10 TP0] sglang is using nccl==2.27.5

Follows SGLang 0.3.6 to 0.5.23 (python/sglang/srt: server_args.py, model_executor/, managers/). Of a log with
several runs only the last one's milestones count. A line is known by stamp and text together, so that prose
gives nothing; a cut ServerArgs gives the arguments that are complete.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field

from collectors.readers._regex import regex
from collectors.readers.launcher_prefixes import clipped, without_launcher
from collectors.readers.printed_arguments import printed_arguments
from collectors.readers.start_milestones import Milestones, Passed
from kb.evidence import Reader, Reading, Section
from kb.facts.framework import LaunchArgument, Milestone, StartMilestone
from kb.facts.nccl import NcclVersion

ARGUMENTS = frozenset(
    (
        *("model_path", "load_format", "dtype", "quantization", "kv_cache_dtype", "host", "port"),
        *("tp_size", "pp_size", "dp_size", "ep_size", "nnodes", "node_rank", "dist_init_addr", "nccl_port"),
        *("mem_fraction_static", "max_running_requests", "context_length", "cpu_offload_gb"),
        *("disable_custom_all_reduce", "enable_p2p_check", "disable_cuda_graph", "cuda_graph_max_bs"),
        *("enable_dp_attention", "enable_nccl_nvls", "enable_symm_mem", "dist_timeout", "watchdog_timeout"),
        *("base_gpu_id", "speculative_algorithm", "chunked_prefill_size"),
    )
)
"""The arguments that bear on communication, memory and start; ServerArgs has hundreds."""

_TEXTS: tuple[tuple[Milestone, str], ...] = (
    ("launched", r"server_args=ServerArgs\("),
    ("distributed-begin", r"Init (?:torch distributed|parallel) begin\."),
    ("nccl-named", r"(?:sglang|vLLM) is using nccl==\d"),
    ("distributed-end", r"Init (?:torch distributed|parallel) ends\."),
    ("weights-begin", r"Load weight begin\."),
    ("weights-end", r"Load weight end\."),
    ("compile-begin", r"Entering DeepGEMM JIT Pre-Compile session"),
    ("capture-begin", r"Capture (?:[a-z]+ ){0,3}(?:cuda|CUDA) graph begin\."),
    ("capture-end", r"Capture (?:[a-z]+ ){0,3}(?:cuda|CUDA) graph end\."),
    ("ready", r"The server is fired up and ready to roll!"),
    ("serving", r"(?:Prefill|Decode) batch[,. ]"),
)
_LINE = regex(
    r"\[(?P<time>(?:\d{4}-\d\d-\d\d )?\d\d:\d\d:\d\d)(?P<tags>(?: [A-Z]{2,4}\d{1,6}){0,6})\] (?:"
    + "|".join(f"(?P<m{number}>{text})" for number, (_, text) in enumerate(_TEXTS))
    + ")"
)
_NCCL = regex(r"is using nccl==(\d{1,3}(?:\.\d{1,3}){1,3})")
_MARKERS = (
    *("server_args=ServerArgs(", "Init torch distributed ", "Init parallel ", "sglang is using nccl=="),
    *("Load weight begin", "Load weight end", "Entering DeepGEMM JIT", "graph begin.", "graph end."),
    *("The server is fired up", "Decode batch"),
)


@dataclass(slots=True)
class _Run:
    """One start of the server, on one or several nodes."""

    milestones: Milestones = field(default_factory=lambda: Milestones("sglang"))
    arguments: dict[str, tuple[str, int]] = field(default_factory=dict)
    nodes: set[str] = field(default_factory=set)
    nccl: dict[str, list[int]] = field(default_factory=dict)


def read(section: Section) -> Iterator[Reading]:
    """Arguments and milestones of the last run in the section; NCCL's versions as that run names them."""
    run = _Run()
    for index, line in section.matching(*_MARKERS, "vLLM is using nccl==", "Prefill batch"):
        match = _LINE.search(clipped(line))
        if match is None:
            continue
        milestone = _milestone(match)
        if milestone == "launched":
            found = printed_arguments(clipped(line)[match.start() :].split("ServerArgs", 1)[1])
            if run.arguments and found.get("node_rank", "0") in run.nodes:
                run = _Run()
            run.nodes.add(found.get("node_rank", "0"))
            _add_arguments(run, found, index)
        rank = match["tags"].strip() or without_launcher(line[:400]).rank
        run.milestones.add(Passed(rank, milestone, index, match["time"]))
        if milestone == "nccl-named" and (version := _NCCL.search(line, match.start())):
            run.nccl.setdefault(version[1], []).append(index)
    if run.milestones:
        yield from _facts(section, run)


def _milestone(match: re.Match[str]) -> Milestone:
    number = next(number for number in range(len(_TEXTS)) if match[f"m{number}"])
    return _TEXTS[number][0]


def _add_arguments(run: _Run, found: dict[str, str], index: int) -> None:
    for name, value in found.items():
        if name in ARGUMENTS and value not in {"None", ""}:
            run.arguments.setdefault(name, (value, index))


def _facts(section: Section, run: _Run) -> Iterator[Reading]:
    for name, (value, index) in run.arguments.items():
        yield section.observe(LaunchArgument(framework="sglang", name=name, value=value), index)
    yield from run.milestones.observed(section)
    for version, indexes in run.nccl.items():
        fact = NcclVersion(version=version, processes=len(indexes), said_by="framework")
        yield section.observe(fact, indexes[0])
    for fact_type in (LaunchArgument, StartMilestone):
        yield section.looked(fact_type, complete=bool(run.arguments))


READER = Reader("sglang-log", read, markers=_MARKERS)
