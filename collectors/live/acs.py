"""Access Control Services of the bridges above NVIDIA functions, from configuration space, as lspci shows them.

Without lspci, and for an ordinary user with the same answer: <access denied>, since the kernel gives only the
first 64 bytes to all.
"""

from __future__ import annotations

import struct
from typing import TYPE_CHECKING

from collectors.live.listings import bridges_above_gpus
from collectors.live.tree import complain

if TYPE_CHECKING:
    from collections.abc import Iterator

    from collectors.live.tree import Tree

_ACS = 0x000D
_FIRST = 0x100
_SPACE_BYTES = 4096
_FLAGS = ("SrcValid", "TransBlk", "ReqRedir", "CmpltRedir", "UpstreamFwd", "EgressCtrl", "DirectTrans")
_MOST_CAPABILITIES = 64
_PCI = "/sys/bus/pci/devices"


def pci_acs(tree: Tree) -> Iterator[str]:
    """Each bridge with its extended capabilities, and the bits of ACS; without PCI, FileNotFoundError."""
    for bdf in bridges_above_gpus(tree):
        path = f"{_PCI}/{bdf}/config"
        try:
            space = tree.read_bytes(path, _SPACE_BYTES)
        except OSError as error:
            complain(path, error)
            continue
        vendor, device = struct.unpack_from("<HH", space.ljust(4, b"\xff"))
        yield f"{bdf} PCI bridge [0604]: Device [{vendor:04x}:{device:04x}]"
        if len(space) <= _FIRST:
            yield "\tCapabilities: <access denied>"
        for offset, number, version in _extended(space):
            name = "Access Control Services" if number == _ACS else f"Extended Capability ID {number:#x}"
            yield f"\tCapabilities: [{offset:x} v{version}] {name}"
            if number == _ACS and offset + 8 <= len(space):
                able, on = struct.unpack_from("<HH", space, offset + 4)
                yield f"\t\tACSCap:\t{_signs(able)}"
                yield f"\t\tACSCtl:\t{_signs(on)}"


def _extended(space: bytes) -> Iterator[tuple[int, int, int]]:
    """Offset, number and version of each extended capability. What points backwards or is all ones ends it."""
    offset, seen = _FIRST, 0
    while _FIRST <= offset <= len(space) - 4 and seen < _MOST_CAPABILITIES:
        (header,) = struct.unpack_from("<I", space, offset)
        if header in {0, 0xFFFFFFFF}:
            return
        yield offset, header & 0xFFFF, header >> 16 & 0xF
        seen += 1
        offset = header >> 20 & 0xFFC


def _signs(bits: int) -> str:
    """`SrcValid+ TransBlk- …`."""
    return " ".join(f"{name}{'+' if bits >> at & 1 else '-'}" for at, name in enumerate(_FLAGS))
