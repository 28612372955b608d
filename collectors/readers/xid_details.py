"""What the body of an Xid says beyond its number: which address or engine, what a repair waits for, which NVLink.

    Graphics SM Warp Exception on (GPC 7, TPC 7, SM 0): Out Of Range Address
    Row Remapper: New row (0x000000009e41c2f4) marked for remapping, reset gpu to activate.
    NETIR_LINK_EVT  Fatal   XC0 i0 Link 01 (0x021425c6 0x00000000 0x00000000 …)

Follows src/nvidia/src/kernel/gpu (rc, gsp, arch, nvlink) of NVIDIA/open-gpu-kernel-modules 515-595 and NVIDIA's
Xid documentation. A body that does not fit has no detail. No reader: used by the reader of Xids.
"""

from __future__ import annotations

from typing import Literal, NamedTuple

from collectors.readers._regex import regex
from kb.catalogues import nvlink_row
from kb.facts.xid import NvlinkFault, XidDetail

_ADDRESS = regex(r"Out Of Range Address|Misaligned Address|Invalid Address|MMU Fault|Local Memory|Stack Error")
_INSTRUCTION = regex(r"Illegal Instruction|Invalid Instruction|Invalid PC|Illegal SPH|Invalid Register|Breakpoint")
_ENGINE = regex(r"\bENGINE (?P<engine>[A-Z]{2,12})")
_RESET = regex(r"RST: (?P<reset>Yes|No), D-RST: (?P<drain>Yes|No)")
_RECOVERY = regex(r"recovery action changed from 0x[0-9a-f]{1,8} \([^)]{0,60}\) to 0x(?P<to>[0-9a-f]{1,8}) \(")
_CAUSED_BY = regex(r"caused by previous Xid (\d{1,3})\b")
_NVLINK5 = regex(
    r"(?P<unit>[A-Z][A-Z0-9_]{2,30})\s{1,4}(?P<severity>Link Fatal|Fatal|Nonfatal|Non-fatal)\s{1,6}"
    r"XC\d{1,3} i\d{1,3} Link (?P<link>-?\d{1,3}) "
    r"\(0x(?P<info>[0-9a-f]{1,8})[ ,]{1,2}0x(?P<status>[0-9a-f]{1,8})\b"
)
_LINK = regex(r"\blink (?P<link>\d{1,3})\s?\(")

_RECOVERIES: dict[int, XidDetail] = {
    0: "none",
    1: "reset",
    2: "reboot",
    3: "drain-p2p",
    4: "drain-and-reset",
    5: "recover-imex",
    6: "reset",
    7: "reboot",
}
"""Recovery actions by number: NV2080_CTRL_GPU_RECOVERY_ACTION_*, and from 6 on as NVML numbers them."""
_NVLINK5_CODES = range(144, 151)
_WEIGHT: dict[XidDetail | None, int] = {"reset": 3, "drain-and-reset": 2, "fatal": 2, "no-reset": 1, "nonfatal": 1}


class NvlinkKey(NamedTuple):
    """The fields of an NvlinkFault that tell two of them apart."""

    bdf: str
    code: int
    link: int | None
    unit: str | None
    severity: Literal["fatal", "nonfatal"]
    info: int
    status: int

    def fact(
        self, count: int, boot: Literal["this", "earlier"], time: str | None, first_s: float | None
    ) -> NvlinkFault:
        """The fact, with the catalogue's decode."""
        row = nvlink_row(self.code, self.unit, self.info, self.status) if self.unit else None
        return NvlinkFault(
            bdf=self.bdf,
            code=self.code,
            link=self.link,
            unit=self.unit,
            severity=self.severity,
            action=row.action if row else None,
            inspect=row.inspect if row else None,
            count=count,
            boot=boot,
            time=time,
            first_s=first_s,
        )


def nvlink_of(bdf: str, code: int, body: str) -> NvlinkKey | None:
    """The NVLink error that the body of an Xid 74 or 144 to 150 describes."""
    if code == 74:
        link = _LINK.search(body)
        return NvlinkKey(bdf, code, int(link["link"]) if link else None, None, "fatal", 0, 0)
    match = _NVLINK5.match(body) if code in _NVLINK5_CODES else None
    if match is None:
        return None
    link_number = int(match["link"])
    return NvlinkKey(
        bdf,
        code,
        link_number if link_number >= 0 else None,
        match["unit"],
        "fatal" if match["severity"].endswith("Fatal") else "nonfatal",
        int(match["info"], 16),
        int(match["status"], 16),
    )


def caused_by(body: str) -> int | None:
    """The Xid that a line names as its cause."""
    match = _CAUSED_BY.search(body)
    return int(match[1]) if match else None


def detail_of(code: int, body: str) -> XidDetail | None:
    """What is to be told of such an Xid beyond its number."""
    if code == 13:
        return "address" if _ADDRESS.search(body) else "instruction" if _INSTRUCTION.search(body) else None
    if code == 31:
        engine = _ENGINE.search(body)
        if engine is None:
            return None
        is_copy = engine["engine"].startswith(("CE", "COPY"))
        return (
            "copy-engine"
            if is_copy
            else "graphics-engine"
            if engine["engine"].startswith("GR")
            else "other-engine"
        )
    if code in {63, 64}:
        return _of_repair(code, body)
    if code in {94, 95}:
        reset = _RESET.search(body)
        if reset is None:
            return None
        return "reset" if reset["reset"] == "Yes" else "drain-and-reset" if reset["drain"] == "Yes" else "no-reset"
    if code == 154:
        recovery = _RECOVERY.search(body)
        return _RECOVERIES.get(int(recovery["to"], 16)) if recovery else None
    match = _NVLINK5.match(body) if code in _NVLINK5_CODES else None
    return None if match is None else "fatal" if match["severity"].endswith("Fatal") else "nonfatal"


def _of_repair(code: int, body: str) -> XidDetail | None:
    if code == 64:
        return "not-recorded"
    if "reset gpu to activate" in body:
        return "reset-to-remap"
    return "reload-to-retire" if "reload the driver to activate" in body else None


def stronger(known: XidDetail | None, new: XidDetail | None, code: int) -> XidDetail | None:
    """Which of two details of one GPU and number to keep: the last recovery action, else the graver or first."""
    if code == 154:
        return new or known
    return new if known is None or _WEIGHT.get(new, 0) > _WEIGHT.get(known, 0) else known
