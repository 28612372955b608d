"""p2pBandwidthLatencyTest of the CUDA samples: peer access that is offered, peer writes that never arrive.

    Device=0 CAN Access Peer Device=1
    P2P=Enabled Latency (P2P Writes) Matrix (us)
       GPU     0      1

Follows cuda-samples 9.0 to 13.1 (Samples/5_Domain_Specific/p2pBandwidthLatencyTest). It never compares data, so
that it cannot say that a copy is right; only a latency of 10 ms and more between two GPUs in the peer-enabled
table shows that the flag it waits for does not arrive. A cut table gives the rows that are there. A run that
somebody ended (`^C`) where it measures two GPUs with peer access stood there, for it takes no second.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator

from collectors.readers._regex import regex
from collectors.readers.number_matrix import matrix_rows
from kb.evidence import Observed, Reader, Reading, Section
from kb.facts.p2p import PeerAccess, PeerCopy

LOST_US = 10_000
"""No transfer takes so long: the receiver spins until it gives up."""

_LINE = regex(r"\s{0,8}Device=(\d{1,4}) (CAN|CANNOT) Access Peer Device=(\d{1,4})\s*$")
_DEVICE = regex(r"\s{0,8}Device: (\d{1,4}), (\S.{1,80}?), pciBusID: ")
_CONNECTIVITY = regex(r"\s{0,8}P2P Connectivity Matrix\s*$")
_LATENCY = regex(
    r"\s{0,8}P2P=Enabled Latency \(P2P (?:Writes|Reads)\) Matrix \(us\)|\s{0,8}P2P=Enabled Latency Matrix"
)
_DISABLED = regex(r"\s{0,8}Unidirectional P2P=Disabled Bandwidth Matrix")
_ENABLED = regex(r"\s{0,8}(?:Uni|Bi)directional P2P=Enabled Bandwidth ")
_TWO_GPUS = {(0, 1), (1, 0)}
_MARKERS = ("Access Peer Device=", "P2P Connectivity Matrix", "P2P=Enabled Latency", ", pciBusID: ")


def read(section: Section) -> Iterator[Reading]:
    """PeerAccess of each ordered pair, by line or by matrix; PeerCopy `hung` of pairs whose writes are lost."""
    access: dict[tuple[int, int], Observed] = {}
    by_matrix: dict[tuple[int, int], Observed] = {}
    lost: dict[tuple[int, int], Observed] = {}
    models: dict[int, str] = {}
    for index, line in section.matching(*_MARKERS):
        text = line[:200]
        if (device := _DEVICE.match(text)) is not None:
            models[int(device[1])] = device[2]
        elif (match := _LINE.match(text)) is not None:
            src = int(match[1])
            fact = _access(src, int(match[3]), offered=match[2] == "CAN", model=models.get(src))
            access.setdefault((fact.src, fact.dst), section.observe(fact, index))
        elif _CONNECTIVITY.match(text):
            by_matrix |= _connectivity(section, index)
        elif _LATENCY.match(text):
            lost |= _lost_writes(section, index)
    yield from (access or by_matrix).values()
    yield from (lost or _ended_by_hand(section, access or by_matrix)).values()
    if access or by_matrix:
        yield section.looked(PeerAccess, complete=_is_square(access or by_matrix))


def _ended_by_hand(section: Section, access: dict[tuple[int, int], Observed]) -> dict[tuple[int, int], Observed]:
    """The pair of a machine with two GPUs, where the run was ended in its first measurement with peer access."""
    offered = all(isinstance(one.fact, PeerAccess) and one.fact.offered for one in access.values())
    if set(access) != _TWO_GPUS or not offered:
        return {}
    for title, line in section.matching("P2P=Disabled Bandwidth", "P2P=Enabled Bandwidth"):
        disabled, enabled = _DISABLED.match(line[:200]), _ENABLED.match(line[:200])
        rows = list(matrix_rows(section.lines, title + 1))
        below = rows[-1][0] + 1 if rows else title + 1
        rest = [one.strip() for one in section.lines[below : below + 4] if one.strip()]
        is_stood = (enabled is not None and not rows) or (disabled is not None and len(rows) == len(_TWO_GPUS))
        if is_stood and rest and rest[0].startswith("^C"):
            return {(0, 1): section.observe(PeerCopy(src=0, dst=1, data="hung"), title)}
    return {}


def _is_square(pairs: Collection[tuple[int, int]]) -> bool:
    """Whether each GPU that occurs is paired with each other one."""
    gpus = {gpu for pair in pairs for gpu in pair}
    return len(pairs) == len(gpus) * (len(gpus) - 1)


def _access(src: int, dst: int, *, offered: bool, model: str | None = None) -> PeerAccess:
    return PeerAccess(src=src, dst=dst, offered=offered, reported_by="p2p-tool", model=model)


def _connectivity(section: Section, title: int) -> dict[tuple[int, int], Observed]:
    return {
        (src, dst): section.observe(_access(src, dst, offered=cell == "1"), index)
        for index, src, cells in matrix_rows(section.lines, title + 1)
        for dst, cell in cells
        if src != dst and cell in {"0", "1"}
    }


def _lost_writes(section: Section, title: int) -> dict[tuple[int, int], Observed]:
    """The pairs of the GPU table below the title; the CPU table after it measures something else."""
    return {
        (src, dst): section.observe(PeerCopy(src=src, dst=dst, data="hung"), index)
        for index, src, cells in matrix_rows(section.lines, title + 1)
        for dst, cell in cells
        if src != dst and cell[0].isdecimal() and float(cell) >= LOST_US
    }


READER = Reader(
    "p2p-bandwidth-test",
    read,
    markers=_MARKERS[:3],
)
