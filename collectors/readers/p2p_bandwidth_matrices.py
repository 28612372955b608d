"""The speeds of p2pBandwidthLatencyTest: each pair of GPUs with peer access on and off.

    Unidirectional P2P=Enabled Bandwidth (P2P Writes) Matrix (GB/s)
       0 708.94  11.35
       1  11.36 773.90

Follows cuda-samples 9.0 to 13.1 (Samples/5_Domain_Specific/p2pBandwidthLatencyTest). One-way matrices and GPU
latencies alone are read. The program compares no data: a fast pair may still lose all of it. A matrix that is cut
gives the pairs that stand there.
"""

from __future__ import annotations

from collections.abc import Iterator

from collectors.readers._regex import regex
from collectors.readers.number_matrix import matrix_rows
from kb.evidence import Observed, Reader, Reading, Section
from kb.facts.peer_paths import PeerBandwidth

MOST_PAIRS = 4096
MUCH_SLOWER = 0.6
"""Of the speed through the host."""

_TITLES = tuple(
    (name, regex(form))
    for name, form in (
        ("disabled_gbps", r"\s{0,8}Unidirectional P2P=Disabled Bandwidth Matrix \(GB/s\)"),
        (
            "enabled_gbps",
            r"\s{0,8}Unidirectional P2P=Enabled Bandwidth (?:\(P2P (?:Writes|Reads)\) )?Matrix \(GB/s\)",
        ),
        ("latency_disabled_us", r"\s{0,8}P2P=Disabled Latency Matrix \(us\)"),
        ("latency_enabled_us", r"\s{0,8}P2P=Enabled Latency (?:\(P2P (?:Writes|Reads)\) )?Matrix \(us\)"),
    )
)
_MARKERS = ("P2P=Disabled Bandwidth", "P2P=Enabled Bandwidth", "P2P=Disabled Latency", "P2P=Enabled Latency")


def read(section: Section) -> Iterator[Reading]:
    """One fact for each ordered pair, from the line of its slowest kind of number: enabled, else disabled."""
    pairs: dict[tuple[int, int], dict[str, float]] = {}
    places: dict[tuple[int, int, str], int] = {}
    whole = True
    for title, line in section.matching(*_MARKERS):
        name = next((name for name, form in _TITLES if form.match(line[:200])), None)
        if name is None:
            continue
        rows = 0
        for index, src, cells in matrix_rows(section.lines, title + 1):
            rows += 1
            for dst, cell in cells:
                if src != dst and cell[0].isdecimal() and len(pairs) < MOST_PAIRS:
                    pairs.setdefault((src, dst), {})[name] = float(cell)
                    places[src, dst, name] = index
        whole = whole and rows > 1
    for (src, dst), numbers in pairs.items():
        yield _observed(section, src, dst, numbers, places)
    if pairs:
        whole = whole and all({"disabled_gbps", "enabled_gbps"} <= numbers.keys() for numbers in pairs.values())
        yield section.looked(PeerBandwidth, complete=whole)


def _observed(
    section: Section, src: int, dst: int, numbers: dict[str, float], places: dict[tuple[int, int, str], int]
) -> Observed:
    on, off = numbers.get("enabled_gbps"), numbers.get("disabled_gbps")
    ratio = round(on / off, 2) if on is not None and off else None
    fact = PeerBandwidth(
        src=src,
        dst=dst,
        enabled_gbps=on,
        disabled_gbps=off,
        ratio=ratio,
        slower=None if ratio is None else ratio < MUCH_SLOWER,
        latency_enabled_us=numbers.get("latency_enabled_us"),
        latency_disabled_us=numbers.get("latency_disabled_us"),
    )
    first = next(name for name, _ in (_TITLES[1], _TITLES[0], *_TITLES[2:]) if name in numbers)
    return section.observe(fact, places[src, dst, first])


READER = Reader("p2p-bandwidth-matrices", read, markers=_MARKERS)
