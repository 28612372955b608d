"""How NCCL sees the machine: hosts, peer access, the driver's CUDA, and which of its features it can use.

    a17:311:340 [0] NCCL INFO comm 0x5f rank 0 nRanks 4 nNodes 1 localRanks 4 localRank 0 MNNVL 0
    a17:311:340 [0] NCCL INFO Check P2P Type isAllDirectP2p 0 directMode 0 isAllCudaP2p 1
    a17:311:340 [0] NCCL INFO NVLS multicast support is not available on dev 0

Follows NCCL 2.14 to 2.32 (init.cc, transport.cc, transport/nvls.cc, mnnvl.cc, misc/cudawrap.cc). GPUs in lines
on refused peer access are numbered as NVML does. A feature that is not available is said so and is no fault.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import NamedTuple

from collectors.readers._regex import regex
from collectors.readers._tally import Tallies
from collectors.readers.launcher_prefixes import without_launcher
from collectors.readers.nccl_lines import NcclLine, nccl_lines
from kb.evidence import Observed, Reader, Reading, Section
from kb.facts.nccl_run import (
    FeatureState,
    NcclCudaDriver,
    NcclFeature,
    NcclFeatureName,
    NcclNodes,
    NcclPeerSupport,
)
from kb.facts.p2p import PeerAccess

MOST_COMMUNICATORS = 10_000

_NODES = regex(
    r"(?:\[Rank \d{1,7}\] )?comm (?P<pointer>0x[0-9a-f]{1,16}) rank (?P<rank>\d{1,7}) nRanks (?P<nranks>\d{1,7}) "
    r"nNodes (?P<nodes>\d{1,6}) localRanks (?P<local>\d{1,6}) localRank \d{1,6}(?: MNNVL (?P<mnnvl>[01]))?"
)
_DRIVER = regex(r"cudaDriverVersion ([1-9]\d{4}|9\d{3})\s*$")
_PEERS = regex(
    r"Check P2P Type (?:isAllDirectP2p|intraNodeP2pSupport) (?P<direct>[01]) directMode [01]"
    r"(?: isAllCudaP2p (?P<cuda>[01]))?"
)
_REFUSED = regex(
    r"P2P (?:is disabled between (?:NVLINK )?connected GPUs (?P<one>\d{1,4}) and (?P<two>\d{1,4})"
    r"|not supported between GPU(?P<src>\d{1,4}) and GPU(?P<dst>\d{1,4}))"
)
_BIND = (
    r"Failed to bind NVLink SHARP \(NVLS\) Multicast memory of size \d{1,15}.{0,80}?"
    r": CUDA error (?P<code>\d{1,4}) '(?P<words>[^']{1,100})'"
)
_FABRIC = regex(r"MNNVL busId 0x[0-9a-f]{1,16} fabric UUID \S{1,60} cliqueId \S{1,20} state (?P<state>\d{1,3})")
_COMPLETED = 3
"""NVML_GPU_FABRIC_STATE_COMPLETED; 0 not supported, 1 not started, 2 in progress."""
_FORMS: tuple[tuple[NcclFeatureName, FeatureState, str], ...] = (
    ("nvls", "available", r"NVLS multicast support is available on dev"),
    ("nvls", "unavailable", r"NVLS multicast support is not available on dev"),
    ("nvls", "fallback", _BIND + r".{0,10}Proceeding without NVLS"),
    ("nvls", "failed", _BIND),
    ("mnnvl", "failed", r"MNNVL \(cliqueSize \d{1,6}\) is available but not (?:working|supported) on this system"),
    ("mnnvl", "unavailable", r"MNNVL is not supported on this system"),
    ("mnnvl", "degraded", r"MNNVL busId 0x[0-9a-f]{1,16} NVLink fabric health reports"),
    ("cumem-host", "fallback", r"cuMem host allocations do not appear to be working"),
    ("cumem-host", "unavailable", r"CUMEM Host is not supported prior to CUDA"),
    ("cumem", "unavailable", r"CUMEM not supported prior to CUDA"),
    ("dma-buf", "available", r"DMA-BUF is available on GPU device"),
    ("gdrcopy", "available", r"GDRCOPY enabled library"),
    ("symmetric-memory", "unavailable", r"Symmetric memory is not supported"),
)
_FEATURES = tuple((feature, state, regex(form)) for feature, state, form in _FORMS)
_MARKERS = (
    *(" nNodes ", "cudaDriverVersion ", "Check P2P Type", "P2P is disabled between", "P2P not supported between"),
    *("NVLS multicast support", "NVLS) Multicast memory", "MNNVL busId", "MNNVL (", "MNNVL is not supported"),
    *("cuMem host allocations", "CUMEM ", "DMA-BUF is available", "GDRCOPY enabled", "Symmetric memory is not"),
)


class _Feature(NamedTuple):
    feature: NcclFeatureName
    state: FeatureState
    reason: str | None


@dataclass(slots=True)
class _Communicator:
    """One communicator as its ranks describe it."""

    index: int
    ranks: set[int] = field(default_factory=set)
    hosts: set[str] = field(default_factory=set)
    local: int = 0
    mnnvl: bool | None = None


class _Log:
    def __init__(self) -> None:
        self.communicators: dict[tuple[int, int], _Communicator] = {}
        self.drivers: Tallies[str] = Tallies()
        self.peers: Tallies[tuple[bool, bool | None]] = Tallies()
        self.refused: Tallies[tuple[int, int]] = Tallies()
        self.features: Tallies[_Feature] = Tallies()

    def take(self, line: NcclLine) -> None:
        """Adds one record."""
        text = line.text[:600]
        if (nodes := _NODES.match(text)) is not None:
            self._nodes(line, nodes)
        elif (driver := _DRIVER.match(text)) is not None:
            number = int(driver[1])
            self.drivers.add(f"{number // 1000}.{number % 1000 // 10}", line.index, line.process)
        elif (peers := _PEERS.match(text)) is not None:
            cuda = None if peers["cuda"] is None else peers["cuda"] == "1"
            self.peers.add((peers["direct"] == "1", cuda), line.index, line.process)
        elif (refused := _REFUSED.match(text)) is not None:
            pair = (int(refused["one"] or refused["src"]), int(refused["two"] or refused["dst"]))
            if pair[0] != pair[1]:
                self.refused.add(pair, line.index, line.process)
        elif (feature := _feature(line, text)) is not None:
            self.features.add(feature, line.index, line.process)

    def _nodes(self, line: NcclLine, found: re.Match[str]) -> None:
        key = (int(found["nranks"]), int(found["nodes"]))
        if key not in self.communicators and len(self.communicators) >= MOST_COMMUNICATORS:
            return
        one = self.communicators.setdefault(key, _Communicator(line.index))
        one.ranks.add(int(found["rank"]))
        if line.host:
            one.hosts.add(line.host)
        one.local = max(one.local, int(found["local"]))
        if found["mnnvl"]:
            one.mnnvl = found["mnnvl"] == "1" or bool(one.mnnvl)


def _feature(line: NcclLine, text: str) -> _Feature | None:
    fabric = _FABRIC.match(text)
    if fabric is not None:
        number = int(fabric["state"])
        if number == _COMPLETED:
            return _Feature("mnnvl", "available", None)
        return _Feature("mnnvl", "unavailable", f"fabric-state {number}") if number else None
    for feature, state, form in _FEATURES:
        match = form.search(text)
        if match is not None:
            return _Feature(feature, state, _reason(line, feature, match))
    return None


def _reason(line: NcclLine, feature: NcclFeatureName, match: re.Match[str]) -> str | None:
    named = match.groupdict()
    if named.get("code"):
        return f"cuda {named['code']} {named['words']}"
    if "IMEX" in line.text:
        return "imex"
    return "container" if feature == "cumem-host" and "container runtime" in line.text else None


def _repeated(section: Section) -> Iterator[NcclLine]:
    """NCCL's last warning on NVLS as torch repeats it below its own error, without its head."""
    for index, whole in section.matching("NVLS) Multicast memory"):
        launched = without_launcher(whole[:600])
        text = launched.text.strip()
        if text.startswith("Failed to bind NVLink SHARP"):
            yield NcclLine(index, "WARN", text, launched.process, None, None, launched.process, None, None)


def read(section: Section) -> Iterator[Reading]:
    """The facts of all such lines, aggregated over processes; each refused pair of GPUs once."""
    log = _Log()
    seen = False
    for record in (*nccl_lines(section, *_MARKERS), *_repeated(section)):
        seen = True
        log.take(record)
    if not seen:
        return
    yield from _facts(section, log)
    for fact_type, found in ((NcclNodes, log.communicators), (NcclCudaDriver, log.drivers)):
        yield section.looked(fact_type, complete=bool(found))
    yield section.looked(NcclPeerSupport, complete=bool(log.peers))
    yield section.looked(NcclFeature, complete=False)


def _facts(section: Section, log: _Log) -> Iterator[Observed]:
    for (nranks, nodes), one in log.communicators.items():
        nodes_fact = NcclNodes(
            nranks=nranks,
            nodes=nodes,
            local_ranks=one.local,
            ranks_seen=len(one.ranks),
            hosts=len(one.hosts) or None,
            mnnvl=one.mnnvl,
        )
        yield section.observe(nodes_fact, one.index)
    for version, tally in log.drivers:
        yield section.observe(NcclCudaDriver(version=version, processes=tally.processes), tally.index)
    for (direct, cuda), tally in log.peers:
        support = NcclPeerSupport(all_direct=direct, all_cuda=cuda, processes=tally.processes)
        yield section.observe(support, tally.index)
    for (src, dst), tally in log.refused:
        yield section.observe(PeerAccess(src=src, dst=dst, offered=False, reported_by="nccl"), tally.index)
    for feature, tally in log.features:
        yield section.observe(NcclFeature(**feature._asdict(), processes=tally.processes), tally.index)


READER = Reader("nccl-features", read, markers=_MARKERS)
