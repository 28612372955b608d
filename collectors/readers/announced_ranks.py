"""The ranks that the processes of a job announce: Lightning, Accelerate, Ray Train, TensorRT-LLM.

    initializing ddp: GLOBAL_RANK: 1, MEMBER: 2/8
    (TorchTrainer pid=71127) - (ip=10.0.0.7, pid=75299) world_rank=1, local_rank=1, node_rank=0
    [TensorRT-LLM][INFO] MPI size: 4, MPI local size: 4, rank: 2

Follows Lightning 1.0 to 2.5, Accelerate 0.12 on, Ray Train 2, TensorRT-LLM 0.8 to 1.2. Of a log with several
runs the last counts. A rank is repeated where it announces itself again before all have done so (Lightning:
the others may print the same process twice); afterwards, it is another run's. Torn lines give nothing.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field

from collectors.readers._regex import regex
from collectors.readers.launcher_prefixes import after_progress, without_launcher, without_stamp
from collectors.readers.run_start import shows_start
from collectors.readers.training_lines import ENDS, ends_run
from kb.evidence import Observed, Reader, Reading, Section
from kb.facts.framework import Framework
from kb.facts.launch import AnnouncedRanks

MOST_RANKS = 100_000
MOST_NAMED = 16

_N = r"\d{1,6}"
_GLOBAL = rf"[Ii]nitializing (?:distributed|ddp): GLOBAL_RANK: (?P<rank>{_N}), MEMBER: {_N}/(?P<world>{_N})"
_LOCAL = rf"LOCAL_RANK: (?P<local>{_N}) - CUDA_VISIBLE_DEVICES: \[(?P<visible>[^\]]{{0,400}})\]"
_WORKER = rf"- \([^()]{{0,100}}ip=(?P<host>[\w.:]{{1,64}}), pid={_N}\d{{0,4}}\) world_rank=(?P<rank>{_N}), "
_TRTLLM = r"\[TensorRT-LLM\]\[INFO\] "
_MPI = rf"{_TRTLLM}MPI size: (?P<world>{_N})(?:, MPI local size: (?P<size>{_N}))?, rank: (?P<rank>{_N})"
_FORMS: tuple[tuple[Framework, re.Pattern[str]], ...] = (
    ("lightning", regex(_GLOBAL)),
    ("lightning", regex(_LOCAL)),
    ("accelerate", regex(rf"Num processes: (?P<world>{_N})\s*$")),
    ("accelerate", regex(rf"Process index: (?P<rank>{_N})\s*$")),
    ("accelerate", regex(rf"Local process index: (?P<local>{_N})\s*$")),
    ("accelerate", regex(r"Device: (?P<device>(?:cuda|xpu|npu):\d{1,4})\s*$")),
    ("ray", regex(rf"Setting up process group for: \S{{3,80}} \[rank={_N}, world_size=(?P<world>{_N})\]")),
    ("ray", regex(rf"{_WORKER}local_rank=(?P<local>{_N}), node_rank={_N}")),
    ("tensorrt-llm", regex(rf"{_MPI}\s*$")),
    ("tensorrt-llm", regex(rf"{_TRTLLM}Rank {_N} is using GPU (?P<device>\d{{1,4}})\s*$")),
)
"""Each process tells its rank in one line, or in the lines of a block that belong together."""
_MARKERS = (
    *("GLOBAL_RANK: ", "LOCAL_RANK: ", "Num processes: ", "rocess index: ", "Device: cuda:", " world_rank="),
    *("[TensorRT-LLM][INFO] MPI size: ", " is using GPU "),
    *("Setting up process group for: ",),
)


@dataclass(slots=True)
class _Job:
    """What the processes of one job of one framework have announced."""

    framework: Framework
    ranks: Counter[int] = field(default_factory=Counter)
    worlds: set[int] = field(default_factory=set)
    locals: Counter[int] = field(default_factory=Counter)
    visible: set[int] = field(default_factory=set)
    devices: set[str] = field(default_factory=set)
    hosts: set[str] = field(default_factory=set)
    size: int | None = None
    """Ranks of one host, where a line says so."""
    first: int = 0
    last: int = 0
    last_of: dict[int, int] = field(default_factory=dict)
    """Where each rank announced itself last."""
    twice: tuple[int, int] | None = None
    """Of the announcements of one rank the two that stand closest."""

    @property
    def is_over(self) -> bool:
        """Whether every rank has announced itself, so that another announcement is another run's."""
        return len(self.ranks) >= min(self.worlds, default=0)


def read(section: Section) -> Iterator[Reading]:
    """AnnouncedRanks for each framework whose processes announced a rank in the last run of the section."""
    jobs: dict[Framework, _Job] = {}
    ended = False
    for index, line in section.matching(*_MARKERS, *ENDS):
        text = without_stamp(without_launcher(after_progress(line)).text).text[:1000]
        ended = ended or ends_run(text)
        for framework, form in _FORMS:
            match = form.match(text)
            if match is None:
                continue
            if ended:
                jobs, ended = {}, False
            _take(jobs, framework, match, index)
    yield from (_observed(section, job) for job in jobs.values() if job.ranks)
    if any(job.ranks for job in jobs.values()):
        yield section.looked(AnnouncedRanks, complete=shows_start(section))


def _take(jobs: dict[Framework, _Job], framework: Framework, match: re.Match[str], index: int) -> None:
    told = {name: value for name, value in match.groupdict().items() if value is not None}
    job = jobs.get(framework)
    if job is None or ("rank" in told and job.is_over and int(told["rank"]) in job.ranks):
        job = jobs[framework] = _Job(framework, worlds=job.worlds if job else set(), first=index)
    job.last = index
    if "world" in told:
        job.worlds.add(int(told["world"]))
    if "rank" in told and len(job.ranks) < MOST_RANKS:
        rank = int(told["rank"])
        job.ranks[rank] += 1
        before = job.last_of.get(rank)
        if before is not None and (job.twice is None or index - before < job.twice[1] - job.twice[0]):
            job.twice = (before, index)
        job.last_of[rank] = index
    if "local" in told:
        job.locals[int(told["local"])] += 1
    if "size" in told:
        job.size = max(job.size or 0, int(told["size"]))
    if "visible" in told:
        job.visible.add(sum(1 for device in told["visible"].split(",") if device.strip()))
    if "device" in told:
        job.devices.add(told["device"])
    if "host" in told:
        job.hosts.add(told["host"])


def _observed(section: Section, job: _Job) -> Observed:
    world = min(job.worlds, default=None)
    missing = sorted(set(range(min(world or 0, MOST_RANKS))) - set(job.ranks))
    repeated = sorted(rank for rank, times in job.ranks.items() if times > 1)
    fact = AnnouncedRanks(
        framework=job.framework,
        world_size=world,
        ranks=len(job.ranks),
        announcements=job.ranks.total(),
        repeated=_named(repeated) if job.framework == "lightning" else None,
        missing=_named(missing),
        local_ranks=job.size or max(job.locals, default=-1) + 1 or None,
        visible_devices=min(job.visible, default=None),
        devices=len(job.devices) or None,
        nodes=_nodes(job),
    )
    return section.observe(fact, *(job.twice if fact.repeated and job.twice else (job.first, job.last)))


def _nodes(job: _Job) -> int | None:
    """Hosts that are named; else how often the first local rank announced itself, where each does so once."""
    if job.hosts:
        return len(job.hosts)
    return job.locals[0] or None if job.framework != "lightning" else None


def _named(ranks: list[int]) -> str | None:
    text = ", ".join(map(str, ranks[:MOST_NAMED]))
    return (text if len(ranks) <= MOST_NAMED else f"{text} and {len(ranks) - MOST_NAMED} more") or None


READER = Reader("announced-ranks", read, markers=_MARKERS, lines=(*_MARKERS, *ENDS))
