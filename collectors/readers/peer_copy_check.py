"""A check that copies between two GPUs and compares the data, element by element.

    peer copy 0 -> 1: 67108864 elements, 67108864 wrong (dst reads 0.0)
    peer copy 1 -> 0: 67108864 elements, 0 wrong
    about to copy peer 1 -> 0

Follows the check that this program itself proposes: `peer` is a direct copy, `staged` one through host memory.
The data are right where the number of wrong elements is 0 and only there. A copy that was about to be made and has
no result hung: the check had a time limit. A line of any other form, or a cut one, gives nothing.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Literal

from collectors.readers._regex import regex
from kb.evidence import Reader, Reading, Section
from kb.facts.p2p import PeerCopy

_LINE = regex(
    r"\s{0,20}(?P<route>peer|staged) copy (?P<src>\d{1,4}) -> (?P<dst>\d{1,4}): "
    r"(?:(?P<elements>\d{1,15}) elements, (?P<wrong>\d{1,15}) wrong(?: \(dst reads (?P<reads>[^)\n]{1,60})\))?"
    r"|(?P<hung>hung|timed out)(?: after \d{1,6}(?:\.\d{1,3})? s)?)\s*$"
)
_PLAN = regex(r"\s{0,20}about to copy (?P<route>peer|staged) (?P<src>\d{1,4}) -> (?P<dst>\d{1,4})\s*$")


def read(section: Section) -> Iterator[Reading]:
    """One fact for each pair and route; of a pair that was tried again the last result."""
    found: dict[tuple[int, int, str], tuple[PeerCopy, int]] = {}
    planned: tuple[re.Match[str], int] | None = None
    for index, line in section.matching(" copy "):
        plan = _PLAN.match(line[:300])
        if plan is not None:
            planned = plan, index
        match = _LINE.match(line[:300])
        if match is not None:
            fact = _fact(match)
            found[fact.src, fact.dst, fact.route] = (fact, index)
            planned = None
    if planned is not None:
        hung = _hung(planned[0])
        found[hung.src, hung.dst, hung.route] = (hung, planned[1])
    for fact, index in found.values():
        yield section.observe(fact, index)
    if found:
        # Copies through the host alone say nothing on direct ones.
        yield section.looked(PeerCopy, complete=any(route == "peer" for _, _, route in found))


def _hung(plan: re.Match[str]) -> PeerCopy:
    route: Literal["peer", "staged"] = "staged" if plan["route"] == "staged" else "peer"
    return PeerCopy(src=int(plan["src"]), dst=int(plan["dst"]), data="hung", route=route)


def _fact(match: re.Match[str]) -> PeerCopy:
    src, dst = int(match["src"]), int(match["dst"])
    route: Literal["peer", "staged"] = "staged" if match["route"] == "staged" else "peer"
    if match["hung"]:
        return PeerCopy(src=src, dst=dst, data="hung", route=route)
    wrong = int(match["wrong"])
    return PeerCopy(
        src=src,
        dst=dst,
        data="right" if wrong == 0 else "wrong",
        route=route,
        elements=int(match["elements"]),
        wrong=wrong,
        reads=match["reads"],
    )


READER = Reader("peer-copy-check", read, markers=("peer copy ", "staged copy ", "about to copy "))
