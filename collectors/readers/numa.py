"""NUMA nodes and the processors that a process may use: numactl, lscpu, taskset, /proc/PID/status.

    node 1 cpus: 16 17 18 19
    node 1 size: 0 MB
    pid 4711's current affinity list: 0-15
    UserWarning: This DataLoader will create 8 worker processes in total. Our suggested max number of worker in current …

Follows numactl 2.0, lscpu and taskset of util-linux, proc(5), PyTorch 1.7 to 2.14 and Python's os and psutil. A node without processors is a device's (Grace
Hopper has many) and no fault. Lines that don't fit give nothing.
"""  # noqa: E501 - lines of the log as they are

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from collectors.readers._lines import command_of
from collectors.readers._regex import regex
from kb.cpu_lists import cpus_in, cpus_in_mask, ranges
from kb.evidence import Observed, Reader, Reading, Section
from kb.facts.storage import CpuAffinity, LoaderWorkers, NumaBindingRefused, NumaLayout, NumaNode

_NUMACTL = regex(r"node (?P<node>\d{1,4}) (?P<what>cpus|size|free):(?P<value>(?: \d{1,9}){0,1024})(?: MB)?\s*$")
_LSCPU = regex(r"NUMA node(?P<node>\d{1,4}) CPU\(s\):\s{1,40}(?P<cpus>[\d,-]{1,4000})\s*$")
_BALANCING = regex(r"(?:\S{0,100}numa_balancing(?: = |:))(?P<value>[01])\s*$")
_TASKSET = regex(
    r"pid (?P<pid>\d{1,10})(?:'s)? (?:current|new) affinity (?P<form>list|mask): "
    r"(?P<value>[\da-fA-F,-]{1,2000})\s*$"
)
_STATUS = regex(
    r"(?:(?:\d{1,4}:?|[\w.-]{1,60}:) )?(?P<what>Cpus|Mems)_allowed_list:\s{1,8}(?P<value>[\d,-]{1,2000})\s*$"
)
_SHOW = regex(r"(?P<what>physcpubind|membind): (?P<value>[\d ]{1,4000}?)\s*$")
_REFUSED = regex(
    r"(?:.{0,160}: )?(?P<text>(?:set_mempolicy|mbind|numa_sched_setaffinity_v2_int\(\)|setting membind|"
    r"Unable to set NUMA memory policy|sched_setaffinity(?:\(\))?|failed to set (?:pid|tid) \d{1,10}'s affinity)"
    r"(?: failed)?: (?P<why>Operation not permitted|Invalid argument)"
    r"|libnuma: Warning: (?:node|cpu) argument (?P<out>\d{1,4}) is out of range"
    r"|libnuma: Warning: node (?P<node>\d{1,4}) not allowed)\s*$"
)
_REFUSED_IN_PYTHON = regex(r"\s{2,12}(?:\w{1,40}\.)?(?P<call>sched_setaffinity|cpu_affinity)\(")
_INVALID = regex(r"(?:\w{1,40}\.)?(?:OSError|ValueError): (?:\[Errno 22\] Invalid argument|invalid CPU)")
_WORKERS = regex(
    r".{0,400}?This DataLoader will create (?P<wanted>\d{1,5}) worker processes in total\. "
    r"Our suggested max number of worker in current system is (?P<processors>\d{1,5})[ ,]"
)
_PID = regex(r"/proc/(?P<pid>\d{1,10})/(?:task/\d{1,10}/)?status")
_MOST_LINE = 5000
_MOST_REFUSALS = 4
_MOST_PROCESSES = 256


@dataclass
class _Node:
    """What is known of one node."""

    first: int
    last: int
    cpus: frozenset[int] | None = None
    size: int | None = None
    free: int | None = None


def read(section: Section) -> Iterator[Reading]:
    """NumaNode for each node, NumaLayout of all, CpuAffinity for each process, and what came of bindings."""
    nodes = _nodes(section)
    yield from _facts(section, nodes)
    yield from _refused(section)
    yield from _refused_in_python(section)
    affinities = [*_of_taskset(section), *_of_status(section)]
    yield from affinities
    yield from _loaders(section)
    if nodes:
        whole = any(line.startswith(("available: ", "NUMA node(s):")) for line in section.lines)
        yield section.looked(NumaNode, complete=whole)
        yield section.looked(NumaLayout, complete=whole)
    if affinities:
        yield section.looked(CpuAffinity)


def _nodes(section: Section) -> dict[int, _Node]:
    nodes: dict[int, _Node] = {}
    for index, line in section.matching("node"):
        text = line[:_MOST_LINE].strip()
        match = _NUMACTL.match(text)
        if match:
            node = nodes.setdefault(int(match["node"]), _Node(index, index))
            node.last = index
            words = match["value"].split()
            if match["what"] == "cpus":
                node.cpus = cpus_in(match["value"])
            elif words:
                setattr(node, match["what"], int(words[0]))
        elif named := _LSCPU.match(text):
            node = nodes.setdefault(int(named["node"]), _Node(index, index))
            node.cpus = cpus_in(named["cpus"]) if node.cpus is None else node.cpus
    return nodes


def _facts(section: Section, nodes: dict[int, _Node]) -> Iterator[Observed]:
    lacking = [number for number, node in nodes.items() if node.cpus and node.size == 0]
    for number, node in nodes.items():
        if node.cpus or node.size:
            fact = NumaNode(
                node=number,
                cpus=None if node.cpus is None else len(node.cpus),
                list=ranges(node.cpus) if node.cpus else None,
                memory_mib=node.size,
                free_mib=node.free,
                problem="no-memory" if number in lacking else "none",
            )
            yield section.observe(fact, node.first, node.last)
    if nodes:
        balancing = next(
            (
                match["value"] == "1"
                for _, line in section.matching("numa_balancing")
                if (match := _BALANCING.match(line[:300]))
            ),
            None,
        )
        used = [node for node in nodes.values() if node.cpus or node.size]
        sized = any(node.size is not None for node in nodes.values())
        layout = NumaLayout(nodes=len(used), without_memory=len(lacking) if sized else None, balancing=balancing)
        yield section.observe(layout, min(node.first for node in nodes.values()))


def _refused(section: Section) -> Iterator[Observed]:
    """The first refusals of a binding, one of each wording; what follows them is of the same."""
    seen: set[str] = set()
    for index, line in section.matching(
        "set_mempolicy",
        "mbind",
        "numa_sched_",
        "membind: ",
        "libnuma: ",
        "NUMA memory",
        "sched_setaff",
        "s affinity: ",
    ):
        match = _REFUSED.match(line[:300])
        if match is not None and len(seen) < _MOST_REFUSALS and match["text"].split()[0] not in seen:
            seen.add(match["text"].split()[0])
            node = match["node"] or match["out"]
            why = match["why"] or ""
            fact = NumaBindingRefused(
                text=match["text"], node=int(node) if node else None, permitted=why != "Operation not permitted"
            )
            yield section.observe(fact, index)


def _refused_in_python(section: Section) -> Iterator[Observed]:
    """The first call in a traceback by which a program binds itself, and which the kernel takes for invalid."""
    for index, line in section.matching("sched_setaffinity(", "cpu_affinity("):
        call = _REFUSED_IN_PYTHON.match(line[:300])
        for end in range(index + 1, min(index + 4, len(section.lines))) if call is not None else ():
            if _INVALID.match(section.lines[end][:200]) is not None:
                text = f"{line.strip()[:200]}: {section.lines[end].strip()[:100]}"
                yield section.observe(NumaBindingRefused(text=text), index, end)
                return


def _loaders(section: Section) -> Iterator[Observed]:
    """PyTorch's warning of too many workers, the first."""
    for index, line in section.matching("This DataLoader will create"):
        match = _WORKERS.match(line[:1000])
        if match is not None:
            fact = LoaderWorkers(wanted=int(match["wanted"]), processors=int(match["processors"]))
            yield section.observe(fact, index)
            return


def _of_taskset(section: Section) -> Iterator[Observed]:
    seen: set[str] = set()
    for index, line in section.matching("affinity"):
        match = _TASKSET.match(line[:_MOST_LINE].strip())
        if match is None or match["pid"] in seen or len(seen) > 256:
            continue
        seen.add(match["pid"])
        value = match["value"]
        cpus = cpus_in(value) if match["form"] == "list" else cpus_in_mask(value)
        yield section.observe(CpuAffinity(cpus=len(cpus), list=ranges(cpus), process=match["pid"]), index)


def _of_status(section: Section) -> Iterator[Observed]:
    """/proc/PID/status, and `numactl --show` of a shell; of a loop over processes each, by its place: `#2`."""
    processors: list[tuple[str, int]] = []
    memory: str | None = None
    for index, line in section.matching("_allowed_list", "physcpubind", "membind"):
        text = line[:_MOST_LINE].strip()
        match = _STATUS.match(text) or _SHOW.match(text)
        if match and match["what"] in {"Cpus", "physcpubind"}:
            processors.append((match["value"], index))
        elif match and memory is None:
            memory = match["value"][:80]
    pid = _PID.search(f"{command_of(section)} {section.path}")
    several = len(processors) > 1 and pid is None
    for number, (listed, index) in enumerate(processors[: _MOST_PROCESSES if several else 1], 1):
        cpus = cpus_in(listed)
        process = f"#{number}" if several else pid["pid"] if pid else None
        fact = CpuAffinity(cpus=len(cpus), list=ranges(cpus), process=process, memory_nodes=memory)
        yield section.observe(fact, index)


READER = Reader(
    "numa",
    read,
    markers=(
        " cpus:",
        "set_mempolicy: ",
        "setting membind: ",
        "libnuma: Warning: ",
        "sched_setaffinity",
        ".cpu_affinity(",
        "This DataLoader will create",
        "'s affinity: ",
        "NUMA memory policy: ",
        "NUMA node0 CPU(s)",
        "affinity list: ",
        "affinity mask: ",
        "Cpus_allowed_list:",
        "physcpubind: ",
    ),
    commands=("numactl", "taskset -p", "taskset -cp", "taskset -pc"),
)
