"""The start of a training job, rank by rank: PyTorch elastic, DeepSpeed, Megatron-LM, Accelerate, Lightning, Ray.

    [2026-01-31 12:00:09,943] [INFO] [comm.py:668:init_distributed] Initializing TorchBackend in DeepSpeed with backend nccl
    > initialized tensor model parallel with size 4
    Initializing distributed: GLOBAL_RANK: 1, MEMBER: 2/4

Follows torch.distributed.elastic 1.9 to 2.14, DeepSpeed 0.4 to 0.18, Megatron-LM 2.0 to core 0.14, Accelerate,
transformers 4, Lightning 1.0 to 2.5, Ray Train 2. A step of the training proves all that came before it. Of a
log with several runs the last one counts: a launch after the end of another, or after its training. Lines that
are torn or cut give nothing, and neither does prose.
"""  # noqa: E501 - a line of the log as it is

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

from collectors.readers._regex import regex
from collectors.readers.launcher_prefixes import after_progress, clipped, without_launcher, without_stamp
from collectors.readers.start_milestones import Milestones, Passed
from collectors.readers.training_lines import BUSY, ENDS, FIRST_STEPS, MARKERS, ends_run, step
from kb.evidence import Reader, Reading, Section
from kb.facts.framework import Framework, LaunchArgument, Milestone, StartMilestone

MOST_POINTS = 20_000

_WORLD = r"using world size: (?:\d{1,7}),? .{0,200}?"
_ARGUMENT_FORMS: tuple[tuple[Framework, str, str], ...] = (
    ("megatron", "world_size", r"using world size: (\d{1,7})\b"),
    ("megatron", "data_parallel_size", rf"{_WORLD}data-parallel[ -]size: (\d{{1,6}})"),
    ("megatron", "tensor_model_parallel_size", rf"{_WORLD}tensor-model-parallel size: (\d{{1,6}})"),
    (
        "megatron",
        "tensor_model_parallel_size",
        r"using world size: \d{1,7} and model-parallel size: (\d{1,6})",
    ),
    ("megatron", "pipeline_model_parallel_size", rf"{_WORLD}pipeline-model-parallel size: (\d{{1,6}})"),
    ("deepspeed", "nnodes", r"nnodes=(\d{1,6}), num_local_procs=\d"),
    ("deepspeed", "nproc_per_node", r"nnodes=\d{1,6}, num_local_procs=(\d{1,6}), node_rank=\d"),
    ("deepspeed", "node_rank", r"nnodes=\d{1,6}, num_local_procs=\d{1,6}, node_rank=(\d{1,6})"),
    ("deepspeed", "world_size", r"dist_world_size=(\d{1,7})\s*$"),
    ("deepspeed", "cuda_visible_devices", r"Setting CUDA_VISIBLE_DEVICES=([\d,]{1,200})\s*$"),
    ("deepspeed", "master_addr", r"cmd = .{1,900} --master_addr=(\S{1,100}) --master_port="),
    ("deepspeed", "master_port", r"cmd = .{1,900} --master_addr=\S{1,100} --master_port=(\d{1,6})"),
    ("lightning", "world_size", r"All distributed processes registered\. Starting with (\d{1,6}) processes"),
    ("ray", "world_size", r"Setting up process group for: \S{3,80} \[rank=\d{1,6}, world_size=(\d{1,6})\]"),
    ("accelerate", "world_size", r"Num processes: (\d{1,6})\s*$"),
)
_ARGUMENTS = tuple((framework, name, regex(text)) for framework, name, text in _ARGUMENT_FORMS)
_PRINTED = regex(r" {2}(?P<name>[a-z_]{3,60}) \.{2,80} (?P<value>\S{1,200})\s*$")
"""How Megatron-LM lists its arguments."""
_PRINTED_NAMES = frozenset(
    (
        *("world_size", "tensor_model_parallel_size", "pipeline_model_parallel_size", "context_parallel_size"),
        *("expert_model_parallel_size", "num_attention_heads", "num_query_groups", "distributed_backend"),
        *("distributed_timeout_minutes", "micro_batch_size", "global_batch_size", "data_parallel_size"),
        *("zero_stage",),
    )
)
_ARGUMENT_MARKERS = (
    *("num_local_procs=", "dist_world_size=", "Setting CUDA_VISIBLE_DEVICES=", "deepspeed.launcher.launch"),
    *("Num processes: ", "_size ....", "num_attention_heads ....", "distributed_backend ....", "zero_stage ...."),
    *("distributed_timeout_minutes ..",),
)


@dataclass(slots=True)
class _Run:
    """One start of a job: the points passed, in order, and the arguments it was given."""

    passed: dict[Framework, list[Passed]] = field(default_factory=dict)
    arguments: dict[tuple[Framework, str], tuple[str, int]] = field(default_factory=dict)
    training: Passed | None = None
    ended: bool = False

    def add(self, framework: Framework, passed: Passed) -> None:
        """Adds one point; later lines of a bar are no new beginning."""
        known = self.passed.setdefault(framework, [])
        bar = framework == "transformers" and passed.milestone == "weights-begin" and known
        if not bar and len(known) < MOST_POINTS:
            known.append(passed)
        if passed.milestone == "training":
            self.training = self.training or passed

    def first(self, *milestones: Milestone, after: int = -1) -> Passed | None:
        """The first point of these, whichever framework told it."""
        found = (one for several in self.passed.values() for one in several)
        points = [one for one in found if one.milestone in milestones and one.index > after]
        return min(points, key=lambda one: one.index, default=None)


def read(section: Section) -> Iterator[Reading]:
    """Milestones and launch arguments of the last run in the section."""
    run = _Run()
    for index, line in section.matching(*MARKERS, *BUSY, *ENDS, *_ARGUMENT_MARKERS):
        if run.training and not any(marker in line for marker in (*MARKERS, *ENDS)):
            continue  # of all the steps of a training the first says enough
        launched = without_launcher(after_progress(line))
        logged = without_stamp(launched.text)
        text = logged.text[:2000]
        passed = step(text) or step(without_launcher(clipped(line)).text[:2000])
        if passed is not None:
            if passed.milestone == "launched" and (run.ended or run.training):
                run = _Run()
            rank = passed.rank or launched.rank or logged.rank
            run.add(passed.framework, Passed(rank, passed.milestone, index, logged.time))
        run.ended = run.ended or ends_run(text)
        for framework, name, value in _arguments(text):
            run.arguments.setdefault((framework, name), (value, index))
    yield from _facts(section, run)


def _arguments(text: str) -> Iterator[tuple[Framework, str, str]]:
    for framework, name, form in _ARGUMENTS:
        match = form.match(text)
        if match is not None:
            yield framework, name, match[1]
    printed = _PRINTED.match(text)
    if printed is not None and printed["name"] in _PRINTED_NAMES and printed["value"] != "None":
        yield "megatron", printed["name"], printed["value"]


def _facts(section: Section, run: _Run) -> Iterator[Reading]:
    started = {framework: points for framework, points in run.passed.items() if framework != "other"}
    if not started and not run.arguments:
        return
    for (framework, name), (value, index) in run.arguments.items():
        fact = LaunchArgument(framework=framework, name=name, value=value, origin="log")
        yield section.observe(fact, index)
    for framework, points in started.items():
        milestones = Milestones(framework)
        for point in (*points, *_proved(run, points), *_training(run.training)):
            milestones.add(point)
        yield from milestones.observed(section)
    for fact_type in (LaunchArgument, StartMilestone):
        yield section.looked(fact_type, complete=run.first("launched") is not None)


def _training(first: Passed | None) -> tuple[Passed, ...]:
    """Whoever printed the first step, all that was started has come so far."""
    return () if first is None else (Passed(None, "training", first.index, first.time),)


def _proved(run: _Run, points: list[Passed]) -> Iterator[Passed]:
    """The end of a rendezvous that its framework does not print: whatever comes after it proves it."""
    begun = [point for point in points if point.milestone == "distributed-begin"]
    if begun and not any(point.milestone == "distributed-end" for point in points):
        later = run.first("weights-begin", "weights-end", "compile-begin", "training", after=begun[-1].index)
        if later is not None and len({point.rank for point in begun}) == 1:
            yield Passed(begun[0].rank, "distributed-end", later.index, later.time)


READER = Reader(
    "training-log",
    read,
    markers=(*MARKERS, *_ARGUMENT_MARKERS, *FIRST_STEPS, "{'loss': "),
    lines=(*MARKERS, *_ARGUMENT_MARKERS, *ENDS, *FIRST_STEPS),
)
