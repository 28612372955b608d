"""simpleP2P and deviceQuery of the CUDA samples: peer access that is offered, and one pair's data checked.

    > Peer access from NVIDIA A100 (GPU0) -> NVIDIA A100 (GPU1) : Yes
    Enabling peer access between GPU0 and GPU1...
    Verification error @ element 1: val = 0.000000, ref = 4.000000

Follows cuda-samples 5.0 to 13.1 (Samples/0_Introduction/simpleP2P, 1_Utilities/deviceQuery). The data go forth
and back, so that `Test passed` holds for both directions. Waived is no failure. A run that is cut before its
verdict gives only what was offered.
"""

from __future__ import annotations

from collections.abc import Iterator

from collectors.readers._regex import regex
from kb.evidence import Observed, Reader, Reading, Section
from kb.facts.p2p import PeerAccess, PeerCopy

_OFFERED = regex(
    r"\s{0,8}> Peer access from (.{1,120}?) ?\(GPU(\d{1,4})\) -> .{1,120}\(GPU(\d{1,4})\) : (Yes|No)\s*$"
)
_PAIR = regex(r"\s{0,8}Enabling peer access between GPU(\d{1,4}) and GPU(\d{1,4})\.\.\.")
_ERROR = regex(r"\s{0,8}Verification error @ element \d{1,12}: val = (\S{1,40}), ref = \S{1,40}")
_PASSED = regex(r"\s{0,8}Test passed\s*$")
_MARKERS = (
    "Peer access from ",
    "Enabling peer access between GPU",
    "Verification error @ element",
    "Test passed",
)


def read(section: Section) -> Iterator[Reading]:
    """PeerAccess of each pair that is listed, and PeerCopy of the pair that was tried."""
    access: dict[tuple[int, int], Observed] = {}
    copies: dict[tuple[int, int], Observed] = {}
    pair: tuple[int, int] | None = None
    for index, line in section.matching(*_MARKERS):
        text = line[:400]
        if (offered := _OFFERED.match(text)) is not None:
            model, src, dst, answer = offered.groups()
            fact = PeerAccess(
                src=int(src), dst=int(dst), offered=answer == "Yes", reported_by="p2p-tool", model=model
            )
            access.setdefault((fact.src, fact.dst), section.observe(fact, index))
        elif (tried := _PAIR.match(text)) is not None:
            pair = (int(tried[1]), int(tried[2]))
        elif pair is not None:
            copies |= _verdict(section, index, text, pair, known=set(copies))
    yield from access.values()
    yield from copies.values()
    if access:
        yield section.looked(PeerAccess)
    if copies:
        yield section.looked(PeerCopy)


def _verdict(
    section: Section, index: int, text: str, pair: tuple[int, int], *, known: set[tuple[int, int]]
) -> dict[tuple[int, int], Observed]:
    if (error := _ERROR.match(text)) is not None and pair not in known:
        fact = PeerCopy(src=pair[0], dst=pair[1], data="wrong", reads=error[1])
        return {pair: section.observe(fact, index)}
    if _PASSED.match(text) and pair not in known:
        both = (pair, pair[::-1])
        return {(a, b): section.observe(PeerCopy(src=a, dst=b, data="right"), index) for a, b in both}
    return {}


READER = Reader("simple-p2p", read, markers=_MARKERS[:3])
