"""Questions that two sources answer differently: shown as contradictions, and settled by nobody silently."""

from __future__ import annotations

from collections.abc import Iterator

from collectors.combiners import Facts, derived
from kb.catalogues import xid_row
from kb.evidence import Observed, Reading
from kb.facts.conclusion import Disagreement
from kb.facts.diagnostics import DiagResult
from kb.facts.nccl import NcclSetting
from kb.facts.settings import Setting
from kb.facts.xid import LoggedXid

HOLDS = frozenset({"process", "launch", "sitecustomize"})
"""Origins that are near enough to a process for their value to be expected in it."""


def combine(facts: Facts) -> Iterator[Reading]:
    """Disagreement: a setting against the value that NCCL reports, and a passed GPU diagnosis against an Xid."""
    yield from _settings(facts)
    yield from _health(facts)


def _settings(facts: Facts) -> Iterator[Observed]:
    reported = {said.name: (said, observed) for said, observed in facts.of(NcclSetting)}
    asked: dict[str, list[tuple[Setting, Observed]]] = {}
    for setting, observed in facts.of(Setting):
        if setting.origin in HOLDS and setting.mode == "set" and setting.name in reported:
            asked.setdefault(setting.name, []).append((setting, observed))
    for name, several in asked.items():
        said, of_nccl = reported[name]
        if all(setting.value != said.value for setting, _ in several):
            setting, observed = several[-1]
            fact = Disagreement(
                question=f"value of {name}",
                one=f"{setting.value} ({setting.origin})",
                other=f"{said.value} (NCCL's own report)",
            )
            yield derived(fact, [observed, of_nccl])


def _health(facts: Facts) -> Iterator[Observed]:
    results = [(result, observed) for result, observed in facts.of(DiagResult) if result.tool == "diag"]
    passed = [one for one in results if one[0].status == "pass"]
    if not passed or any(result.status in {"fail", "warn"} for result, _ in results):
        return
    for xid, observed in facts.of(LoggedXid):
        row = xid_row(xid.code)
        if xid.boot == "this" and row is not None and row.role == "root":
            fact = Disagreement(
                question="health of the GPUs",
                one="all tests passed (DCGM)",
                other=f"Xid {xid.code} of GPU {xid.bdf} (kernel log)",
            )
            yield derived(fact, [passed[0][1], observed])
            return
