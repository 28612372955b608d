"""The modes of each GPU that nvidia-smi's table shows: persistence and MIG; and which GPU asks for a reset.

    | GPU  Name                 Persistence-M | Bus-Id          Disp.A | Volatile Uncorr. ECC |
    |   0  NVIDIA A100-SXM4-80GB          On  |   00000000:07:00.0 Off |                   On |
    |                                         |                        |             Enabled* |

Follows the tables of drivers 384 to 610. A star stands for a change of the MIG mode that waits for a reset.
A row that says `GPU requires reset` in place of a value tells so. Tables without Persistence-M in their heading,
and rows that do not fit, give nothing; the last of several counts.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from collectors.readers._lines import BDF
from collectors.readers._regex import regex
from kb.evidence import Reader, Reading, Section
from kb.facts.gpu_state import GpuModes, GpuRecovery

_HEADING = "Persistence-M"
_NAME = regex(r"\s{1,4}(?P<index>\d{1,3})\s{1,4}\S.{0,60}?\s(?P<persistence>On|Off)\s{0,4}$")
_BUS = regex(rf"\s{{1,6}}(?P<bdf>{BDF})\s")
_MIG = regex(r"\s{1,30}(?P<mig>Enabled|Disabled)(?P<pending>\*?)\s{0,4}$")
_RESET = "requires reset"
_CELLS = 3
_ROWS_AFTER = 3
_MOST_GPUS = 256


class _Row(NamedTuple):
    number: int
    bdf: str
    persistence: bool
    first: int
    last: int
    mig: bool | None = None
    pending: bool | None = None
    reset: bool = False


def read(section: Section) -> Iterator[Reading]:
    """GpuModes for each GPU of the last table that shows modes, GpuRecovery for each that asks for a reset."""
    rows: dict[int, _Row] = {}
    inside, current = False, -1
    for number, whole in section.matching("|"):
        line = whole[:400]
        if _HEADING in line:
            inside, current = True, -1
        cells = line[line.find("|") :].split("|")[1:-1]
        if not inside or len(cells) != _CELLS:
            continue
        name, bus, mig = _NAME.match(cells[0]), _BUS.match(cells[1]), _MIG.match(cells[2])
        if name and bus:
            current = int(name["index"])
            if current in rows or len(rows) < _MOST_GPUS:
                rows[current] = _Row(current, bus["bdf"], name["persistence"] == "On", number, number)
        elif mig and current in rows and number - rows[current].first <= _ROWS_AFTER and not cells[0].strip():
            now = mig["mig"] == "Enabled"
            rows[current] = rows[current]._replace(mig=now, pending=now != bool(mig["pending"]), last=number)
        if _RESET in line and current in rows and number - rows[current].first <= _ROWS_AFTER:
            rows[current] = rows[current]._replace(reset=True, last=number)
    for row in rows.values():
        if row.reset:
            yield section.observe(
                GpuRecovery(index=row.number, bdf=row.bdf, reset_required=True), row.first, row.last
            )
        fact = GpuModes(
            index=row.number, bdf=row.bdf, persistence=row.persistence, mig=row.mig, mig_pending=row.pending
        )
        yield section.observe(fact, row.first, row.last)
    if rows:
        yield section.looked(GpuModes, complete=False, reason="not-collected")


READER = Reader("smi-table-modes", read, markers=(_HEADING,), commands=("nvidia-smi",), context=(0, 200))
