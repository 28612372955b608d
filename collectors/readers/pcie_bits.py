"""The bits of PCI Express error registers by the names that Linux prints. No reader: shared by those on PCIe."""

from __future__ import annotations

_CORRECTABLE = {
    0: "RxErr",
    6: "BadTLP",
    7: "BadDLLP",
    8: "Rollover",
    12: "Timeout",
    13: "NonFatalErr",
    14: "CorrIntErr",
    15: "HeaderOF",
}
_UNCORRECTABLE = {
    4: "DLP",
    5: "SDES",
    12: "TLP",
    13: "FCP",
    14: "CmpltTO",
    15: "CmpltAbrt",
    16: "UnxCmplt",
    17: "RxOF",
    18: "MalfTLP",
    19: "ECRC",
    20: "UnsupReq",
    21: "ACSViol",
    22: "UncorrIntErr",
    23: "BlockedTLP",
    24: "AtomicOpBlocked",
    25: "TLPBlockedErr",
    26: "PoisonTLPBlocked",
    27: "DMWrReqBlocked",
    28: "IDECheck",
    29: "MisIDETLP",
    30: "PCRC_CHECK",
    31: "TLPXlatBlocked",
}
"""drivers/pci/pcie/aer.c of Linux 6.12; older kernels print words (`Surprise Down Error` is SDES)."""


def names_of_bits(status: int, *, corrected: bool) -> frozenset[str]:
    """The names of the bits that are set in a status register."""
    names = _CORRECTABLE if corrected else _UNCORRECTABLE
    return frozenset(names.get(bit, f"bit {bit}") for bit in range(32) if status >> bit & 1)


def normal(bdf: str) -> str:
    """A PCI address with its domain, in lower case."""
    return bdf.lower() if bdf.count(":") == 2 else f"0000:{bdf.lower()}"
