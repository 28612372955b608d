"""Verbs calls that failed in programs other than NCCL: registering memory, making queues, opening devices.

    [1652790321.1] [n7:61220:0]  ib_iface.c:1003 UCX  ERROR ibv_create_cq(cqe=4096) failed: Cannot allocate memory
    E0511 07:42:36.355509 10240 rdma_context.cpp:198] Failed to register memory 0x2e1cbac200: Bad address [14]
    The OpenFabrics (openib) BTL failed to initialize while trying to allocate some locked memory.
    Failed to create a completion queue (CQ):
    Error:    Cannot allocate memory

Follows UCX 1.4 to 1.19, Mooncake, NVSHMEM, libfabric's verbs provider, perftest, Open MPI 1.6 to 4.1. NCCL's own
warnings are read by nccl_failures. A sentence that names a call gives nothing: the reason must follow it.
"""

from __future__ import annotations

from collections.abc import Iterator

from collectors.readers._regex import regex
from collectors.readers._tally import Tallies
from collectors.readers.errno_words import errno_class
from collectors.readers.launcher_prefixes import without_launcher, without_stamp
from kb.evidence import Reader, Reading, Section
from kb.facts.nccl_failures import ErrnoClass, IbCallFailure

_UCX = regex(
    r".{0,200}?\bUCX +(?:ERROR|WARN|DIAG) +(?P<call>(?:ibv|mlx5dv)_\w{2,40})(?:\([^)]{0,300}\))? failed: "
    r"(?P<why>.{3,120})"
)
_CALL = regex(
    r".{0,200}?\b(?P<call>ibv_(?:exp_)?\w{3,40}|fi_mr_reg\w{0,4})(?:\([^)]{0,200}\))? failed"
    r"(?:[:,]| with(?: error)?:?| \() ?(?:ret(?: is)?[:=] ?-?\d{1,4},? ?|errno[:= ]{1,2}\d{1,4},? ?)?"
    r"(?P<why>[A-Z].{3,120})"
)
_REGISTER = regex(
    r".{0,200}?\b[Ff]ailed to register (?:memory|buffer|MR)(?: region)?(?: 0x[0-9a-fA-F]{1,16})?: "
    r"(?P<why>[A-Z][\w ]{3,60})"
)
_OPEN_MPI = regex(
    r"\s{0,4}The OpenFabrics \(openib\) BTL failed to initialize while trying to(?: allocate some locked)?\s*$"
)
_HELP = regex(r"\s{0,4}Failed to create a (?P<what>completion queue|queue pair|shared receive queue)\b")
"""Open MPI's help of its verbs components; the reason stands below, after the name of the host."""
_HELP_ERROR = regex(r"\s{0,8}Error: {1,8}(?P<why>[A-Z].{3,80})")
_HELP_LINES = 9
_SAYS = regex(
    r".{0,200}?\berror creating (?:(?:high|low) priority )?(?P<what>cq|qp|srq)\b.{0,60}? errno says "
    r"(?P<why>[A-Z].{3,80})"
)
_MADE = {
    "completion queue": "ibv_create_cq",
    "queue pair": "ibv_create_qp",
    "shared receive queue": "ibv_create_srq",
    "cq": "ibv_create_cq",
    "qp": "ibv_create_qp",
    "srq": "ibv_create_srq",
}
_PERFTEST = regex(r"\s{0,4}Couldn't (?:allocate|register) MR\b")
_MARKERS = (
    *("UCX  ERROR", "UCX  WARN", "UCX ERROR", "ibv_", "fi_mr_reg", "ailed to register memory"),
    *(
        "ailed to register buffer",
        "ailed to register MR",
        "The OpenFabrics (openib) BTL failed",
        "Couldn't allocate MR",
    ),
    *("Couldn't register MR", "Failed to create a ", "error creating "),
)
_NAMES = {"ibv_exp_reg_mr": "ibv_reg_mr", "ibv_exp_create_qp": "ibv_create_qp"}


def read(section: Section) -> Iterator[Reading]:
    """IbCallFailure for each call and reason."""
    found: Tallies[tuple[str, ErrnoClass]] = Tallies()
    for index, whole in section.matching(*_MARKERS):
        if "NCCL " in whole:
            continue
        line = without_stamp(without_launcher(whole[:1000]).text).text
        said = _said(line) or _helped(section, index, line)
        if (
            said is not None
            and "openib) BTL" in line
            and "locked" not in " ".join(section.lines[index : index + 2])
        ):
            continue
        if said is not None:
            found.add(said, index, "")
    for (call, reason), tally in found:
        yield section.observe(IbCallFailure(call=call, reason=reason, count=tally.count), tally.index)


def _said(line: str) -> tuple[str, ErrnoClass] | None:
    """The call, and why it failed."""
    if _OPEN_MPI.match(line):
        return "ibv_reg_mr", "no-memory"
    if _PERFTEST.match(line):
        return "ibv_reg_mr", "other"
    if (call := _UCX.match(line) or _CALL.match(line)) is not None:
        reason = errno_class(call["why"])
        name = "ibv_reg_mr" if call["call"].startswith("fi_mr_reg") else call["call"]
        return (_NAMES.get(name, name), reason) if reason != "other" else None
    if (made := _SAYS.match(line)) is not None:
        reason = errno_class(made["why"])
        return (_MADE[made["what"]], reason) if reason != "other" else None
    if (register := _REGISTER.match(line)) is not None:
        reason = errno_class(register["why"])
        return ("ibv_reg_mr", reason) if reason != "other" else None
    return None


def _helped(section: Section, index: int, line: str) -> tuple[str, ErrnoClass] | None:
    """A help of Open MPI, whose reason stands on a line of its own."""
    if (help_ := _HELP.match(line)) is None:
        return None
    for below in section.lines[index + 1 : index + _HELP_LINES]:
        if (error := _HELP_ERROR.match(without_launcher(below[:200]).text)) is not None:
            reason = errno_class(error["why"])
            return (_MADE[help_["what"]], reason) if reason != "other" else None
    return None


READER = Reader("verbs-errors", read, markers=_MARKERS, context=(0, _HELP_LINES))
