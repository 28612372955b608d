r"""Which buses lie behind which PCI bridge, as `lspci -t`, `-tv` and `-tvnn` draw them.

    -[0000:00]-+-00.0  Advanced Micro Devices, Inc. [AMD] Starship/Matisse Root Complex
               +-03.1-[26]--+-00.0  NVIDIA Corporation TU116 [GeForce GTX 1660 Ti]
               \-08.1-[2a-2c]----00.0-[2b-2c]----04.0-[2c]----00.0  NVIDIA Corporation GP104 [GeForce GTX 1080]

Follows pciutils 2.2 to 3.13. What a line hangs from is told by the column of its branch. Lines that grep picked
out hang from the first root bus where their branch stands in its column; others without their root give nothing.
"""

from __future__ import annotations

from collections.abc import Iterator

from collectors.readers._lines import MOST_COLUMNS
from collectors.readers._regex import regex
from kb.evidence import Reader, Reading, Section
from kb.facts.pcie import PcieBridge

_ROOT = regex(r"[ |]?[-+\\]*-\[(?P<domain>[0-9a-f]{4,8}):(?P<bus>[0-9a-f]{2})(?:-[0-9a-f]{2})?\]-{0,4}")
_BRANCH = regex(r"[ |]{4,240}[+\\]-")
_NODE = regex(
    r"(?P<device>[0-9a-f]{2}\.[0-7])(?:-\[(?:[0-9a-f]{4,8}:)?(?P<first>[0-9a-f]{2})(?:-(?P<last>[0-9a-f]{2}))?\]-{0,4})?"
)
_FIRST_COLUMN = len("-[0000:00]-")
"""Where the branches of the first root bus begin."""
_MOST = 4096


def read(section: Section) -> Iterator[Reading]:
    """PcieBridge for each bridge with buses behind it."""
    buses: dict[int, tuple[str, int]] = {_FIRST_COLUMN: ("0000", 0)}
    found: dict[str, tuple[PcieBridge, int]] = {}
    for index, whole in enumerate(section.lines):
        line = whole[:MOST_COLUMNS]
        root, branch = _ROOT.match(line), _BRANCH.match(line)
        if root:
            at, here = root.end(), (root["domain"], int(root["bus"], 16))
        elif branch and branch.end() - 2 in buses:
            at, here = branch.end() - 2, buses[branch.end() - 2]
        else:
            continue
        for bridge in _bridges(line, at, here, buses):
            if len(found) < _MOST:
                found.setdefault(bridge.bdf, (bridge, index))
    for bridge, index in found.values():
        yield section.observe(bridge, index)


def _bridges(line: str, at: int, here: tuple[str, int], buses: dict[int, tuple[str, int]]) -> Iterator[PcieBridge]:
    """The bridges on one line, from left to right; each is on the bus behind the one before it."""
    while True:
        if line.startswith(("+-", "\\-"), at):
            buses[at] = here
            at += 2
        node = _NODE.match(line, at)
        if node is None or node["first"] is None:
            return
        domain, bus = here
        first = int(node["first"], 16)
        yield PcieBridge(
            bdf=f"{domain}:{bus:02x}:{node['device']}",
            secondary=first,
            subordinate=int(node["last"] or node["first"], 16),
        )
        at, here = node.end(), (domain, first)


READER = Reader("lspci-tree", read, markers=("-[0", "-[1", "-+-"), commands=("lspci -t",))
