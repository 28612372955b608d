"""Where each number and warning of the catalogues leads: evidence of it alone, and the causes that take it.

Tried, not read off the rules: each row of a catalogue becomes the fact that its line would give, combined and
judged as in a diagnosis. A cause takes it where a clause for the cause holds by this very fact and the cause is at
least possible.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

from collectors.combine import combine
from collectors.content import Content
from collectors.open import File
from collectors.scan import read_file
from engine.session import assess
from kb.catalogues import rows
from kb.cuda_errors import ErrorRow, error_rows
from kb.evidence import Observed, Source
from kb.facts.driver import KernelModule, NvmlError
from kb.facts.environment import CudaError
from kb.facts.xid import LoggedXid, SxidEvent
from kb.nccl_warnings import warning_rows

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from kb.evidence import Reading
    from kb.facts.base import Fact
    from kb.rule import Cause, RuleBase

TAKEN = frozenset({"confirmed", "likely", "possible", "contradictory"})
_VALUE = re.compile(r"%[-0-9.*]*(?:l|z|h)*([a-zA-Z])|<name>")
_PRINTED = {"s": "x1", "p": "0x7f"}


@dataclass(frozen=True, slots=True)
class Code:
    """One row of a catalogue, the causes that take it, and what else explains it."""

    catalogue: str
    id: str
    name: str
    causes: tuple[str, ...]
    otherwise: str
    """What explains it where no cause does; empty with `causes` empty means that nothing does."""

    @property
    def accounted_for(self) -> bool:
        """Whether a cause or a reason takes it."""
        return bool(self.causes or self.otherwise)


def code_rows(base: RuleBase) -> list[Code]:
    """All rows of all catalogues, in the order of the files."""
    return [*_xids(base), *_sxids(base), *_warnings(base), *_errors(base)]


def _reasons() -> dict[tuple[str, str], str]:
    return {(row["catalogue"], row["id"]): row["why"] for row in rows("no_cause.csv")}


def _xids(base: RuleBase) -> Iterator[Code]:
    """Xids that explain others. Those of one group come together, each on a GPU of its own."""
    roots = [row for row in rows("xid.csv") if row["role"] == "root"]
    reasons = _reasons()
    batches: dict[tuple[str, str], list[dict[str, str]]] = {}
    for row in roots:
        batches.setdefault((row["group"], row["until"] or row["since"]), []).append(row)
    taken: dict[str, tuple[str, ...]] = {}
    for (_, branch), batch in batches.items():
        facts = [
            _read(LoggedXid(code=int(row["code"]), bdf=_bdf(place)), place) for place, row in enumerate(batch)
        ]
        driver = _read(KernelModule(name="nvidia", version=f"{branch}.10.01"), -1)
        found = taking(base, [*facts, *([driver] if branch else [])])
        taken |= {xid_id(row): found.get(fact, ()) for row, fact in zip(batch, facts, strict=True)}
    for row in roots:
        name = xid_id(row)
        yield Code("xid", name, row["name"], taken[name], reasons.get(("xid", row["code"]), ""))


def xid_id(row: dict[str, str]) -> str:
    """How a row of `xid.csv` is named: its number, and the branches of the driver that it holds for."""
    since, until = row["since"], row["until"]
    return " ".join([row["code"], *([f"from {since}"] if since else []), *([f"to {until}"] if until else [])])


def _sxids(base: RuleBase) -> Iterator[Code]:
    """Errors of NVSwitches: what the line calls fatal is taken alike; the others only inform."""
    fatal = _of_switch(base)
    for row in rows("sxid.csv"):
        harmless = row["documented"] in {"non-fatal", "notable"}
        why = f"{row['documented']}: it only informs, unless its line says Fatal" if harmless else ""
        yield Code("sxid", row["code"], row["name"], fatal, why)


def _of_switch(base: RuleBase) -> tuple[str, ...]:
    """The causes that take a fatal SXid; no rule asks for its number."""
    fact = _read(SxidEvent(code=20034, bdf="0000:05:00.0", fatal=True), 0)
    return taking(base, [fact]).get(fact, ())


def _warnings(base: RuleBase) -> Iterator[Code]:
    examples = {row["id"]: row for row in rows("nccl_warnings.csv")}
    for row in warning_rows():
        example = examples[row.id]
        place = example["files"].split(" ")[0] or "init.cc"
        line = f"a17:311:340 [0] {place}:58 NCCL WARN {_printed(example['example'])}"
        _, readings = read_file(File("nccl.log", Content(f"{line}\n".encode())))
        found = taking(base, readings)
        causes = tuple(sorted({cause for one in found.values() for cause in one}))
        yield Code("nccl", row.id, example["example"], causes, f"by class {row.class_}: {row.means}")


def _printed(form: str) -> str:
    return _VALUE.sub(lambda value: _PRINTED.get(value[1] or "s", "7"), form)


def _errors(base: RuleBase) -> Iterator[Code]:
    for row in error_rows():
        facts = [_read(fact, place) for place, fact in enumerate(_error_facts(row))]
        causes = {cause for fact in facts for cause in taking(base, [fact]).get(fact, ())}
        name = f"{row.api} {row.code or row.class_}"
        yield Code("cuda", name, row.name or row.class_, tuple(sorted(causes)), f"by its row: {row.means}")


def _error_facts(row: ErrorRow) -> list[Fact]:
    if row.api == "nvml":
        return [NvmlError.model_validate({"problem": row.class_})]
    said = {"class": row.class_, "code": row.code, "text": row.name or row.class_}
    return [CudaError.model_validate({**said, "where": where}) for where in ("init", "runtime")]


def _read(fact: Fact, place: int) -> Observed:
    return Observed(fact, Source("evidence", place + 1, place + 1, fact.kind))


def _bdf(place: int) -> str:
    return f"0000:{place + 1:02x}:00.0"


def taking(base: RuleBase, readings: Sequence[Reading]) -> dict[Observed, tuple[str, ...]]:
    """For each observation that a clause for some fault rests on: these faults, the strongest first."""
    everything = [*readings, *combine(readings)]
    kinds = {one.fact.kind for one in everything if isinstance(one, Observed)}
    causes = {name: cause for name, cause in base.causes.items() if cause.kind == "fault" and _asks(cause, kinds)}
    diagnosis = assess(base.model_copy(update={"causes": causes}), everything, all_causes=False)
    taken: dict[Observed, dict[str, None]] = {}
    for finding in (*diagnosis.findings, *diagnosis.weaker):
        if finding.verdict in TAKEN:
            lines = (line for line in finding.hypothesis.ledger if line.side == "for" and line.truth == "true")
            for root in _roots(fact for line in lines for fact in line.evidence):
                taken.setdefault(root, {})[finding.cause.cause] = None
    return {root: tuple(names) for root, names in taken.items()}


def _asks(cause: Cause, kinds: set[str]) -> bool:
    """Whether a clause for it could rest on facts of these kinds; what can't need not be judged."""
    tested = [*cause.requires, *(pattern for clause in cause.for_ for when in clause.when for pattern in when)]
    return any(pattern.fact in kinds for pattern in tested)


def _roots(facts: Iterable[Observed]) -> Iterable[Observed]:
    return dict.fromkeys(root for fact in facts for root in fact.roots())
