"""What changed between bodies of evidence of one machine: facts, causes, symptoms, and what that tells.

When a cause goes and its symptom stays, it was real, and it was not what caused the symptom.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal, TypeAlias

from diagnose.explain import explain
from diagnose.render.report import Report, stands
from engine.result import Diagnosis, Finding
from kb.evidence import Observed
from kb.facts import EffectiveSetting, fields_of

Fate: TypeAlias = Literal["went", "came", "stayed"]

IDENTITY: Mapping[str, tuple[tuple[str, ...], tuple[str, ...]]] = {
    "kernel_module": (("name",), ("version", "flavour")),
    "resolved_library": (("soname",), ("version", "path")),
    "nvidia_smi": ((), ("tool_version", "driver_version", "cuda_version")),
    "package": (("name", "architecture"), ("version", "state")),
    "module_file": (("name",), ("version", "flavour")),
    "kernel_parameter": (("name",), ("value",)),
    "iommu_default": ((), ("domain",)),
    "memory_encryption": (("technology", "role"), ("state",)),
    "effective_setting": (("name",), ("value", "origin")),
    "launch_argument": (("framework", "name"), ("value",)),
    "nccl_version": ((), ("version",)),
    "gpu": (("index",), ("bdf", "name", "uuid")),
    "gpu_interconnect": ((), ("nvlink", "farthest", "gpus")),
    "gpu_dma_fault": (("bdf",), ()),
    "peer_copy": (("src", "dst", "route"), ("data",)),
    "peer_access": (("src", "dst"), ("offered",)),
    "gpu_memory_pattern": ((), ("pattern",)),
    "start_progress": (("framework",), ("stage", "state")),
    "nccl_communicator": (("nranks",), ("state",)),
    "container": ((), ("runtime",)),
}
"""For each kind of fact that describes a state: the fields that say of what, and those whose change counts."""


@dataclass(frozen=True, slots=True)
class Change:
    """One fact that differs: what it is about, its value before and after (None: not there)."""

    subject: str
    before: str | None
    after: str | None
    evidence: tuple[Observed, ...]


@dataclass(frozen=True, slots=True)
class CauseChange:
    """What became of one cause, and what that tells."""

    cause: str
    title: str
    fate: Fate
    why: str


@dataclass(frozen=True, slots=True)
class Step:
    """One body of evidence against the next."""

    before: str
    after: str
    facts: tuple[Change, ...]
    looked_at_first: tuple[str, ...]
    """Kinds of facts that are there now and that nobody looked for before."""
    not_looked_at_again: tuple[str, ...]
    """Kinds of facts that were there before and that nobody looked for after."""
    causes: tuple[CauseChange, ...]
    symptoms: Mapping[str, Fate]
    story: tuple[str, ...]
    """What the step tells, in sentences."""


@dataclass(frozen=True, slots=True)
class Comparison:
    """Several bodies of evidence in order: the answer of each, and the steps between them."""

    names: tuple[str, ...]
    reports: tuple[Report, ...]
    steps: tuple[Step, ...]


def compare(paths: Sequence[str], rule_directories: Sequence[Path] = ()) -> Comparison:
    """The comparison of these inputs in the order given. Raises InputError and RuleErrors."""
    reports = [explain([path], rule_directories) for path in paths]
    names = _names(paths)
    steps = tuple(
        _step(names[index], names[index + 1], reports[index].diagnosis, reports[index + 1].diagnosis)
        for index in range(len(reports) - 1)
    )
    return Comparison(tuple(names), tuple(reports), steps)


def _names(paths: Sequence[str]) -> list[str]:
    """The shortest ends of the paths that tell them apart."""
    parts = [Path(path).parts for path in paths]
    for length in range(1, max(map(len, parts)) + 1):
        ends = ["/".join(part[-length:]) for part in parts]
        if len(set(ends)) == len(ends):
            return ends
    return list(paths)


def _step(before_name: str, after_name: str, before: Diagnosis, after: Diagnosis) -> Step:
    old, new = _values(before), _values(after)
    looked_before, looked_after = _looked(before), _looked(after)
    changes = tuple(
        Change(_subject(key), _value(old, key), _value(new, key), _evidence(old, new, key))
        for key in sorted({*old, *new})
        if _value(old, key) != _value(new, key) and key[0] in looked_before & looked_after
    )
    symptoms = _fates({s.rule.symptom for s in before.symptoms}, {s.rule.symptom for s in after.symptoms})
    causes = _cause_changes(before, after)
    return Step(
        before_name,
        after_name,
        changes,
        tuple(sorted({kind for kind, _ in new} - looked_before)),
        tuple(sorted({kind for kind, _ in old} - looked_after)),
        causes,
        symptoms,
        _story(causes, symptoms, before, after),
    )


def _looked(diagnosis: Diagnosis) -> set[str]:
    return {one.kind for one in diagnosis.looked} | {one.fact.kind for one in diagnosis.observed}


_Key = tuple[str, tuple[str, ...]]
_Values = Mapping[_Key, tuple[str, Observed]]


def _values(diagnosis: Diagnosis) -> dict[_Key, tuple[str, Observed]]:
    values: dict[_Key, tuple[str, Observed]] = {}
    for observed in diagnosis.observed:
        if observed.fact.kind in IDENTITY:
            identity, counted = IDENTITY[observed.fact.kind]
            fields = fields_of(observed.fact)
            key = observed.fact.kind, tuple(str(fields.get(name, "")) for name in identity)
            value = ", ".join(f"{name} {fields[name]}" for name in counted if name in fields) or "there"
            if key not in values or len(value) > len(values[key][0]):
                values[key] = value, observed
    return values


def _value(values: _Values, key: _Key) -> str | None:
    return values[key][0] if key in values else None


def _evidence(old: _Values, new: _Values, key: _Key) -> tuple[Observed, ...]:
    return tuple(values[key][1] for values in (old, new) if key in values)


def _subject(key: _Key) -> str:
    return " ".join([key[0].replace("_", " "), *filter(None, key[1])])


def _fates(before: set[str], after: set[str]) -> dict[str, Fate]:
    return {
        one: "stayed" if one in before and one in after else "went" if one in before else "came"
        for one in sorted(before | after)
    }


def _cause_changes(before: Diagnosis, after: Diagnosis) -> tuple[CauseChange, ...]:
    old = {one.cause.cause: one for one in before.findings if stands(one)}
    new = {one.cause.cause: one for one in after.findings if stands(one)}
    return tuple(
        CauseChange(cause, (new.get(cause) or old[cause]).cause.title, fate, _why(cause, fate, old, new, after))
        for cause, fate in _fates(set(old), set(new)).items()
        if cause != "state.insufficient-evidence"
    )


def _why(cause: str, fate: Fate, old: Mapping[str, Finding], new: Mapping[str, Finding], after: Diagnosis) -> str:
    if fate != "went":
        finding = new[cause]
        lines = [line.says for line in finding.hypothesis.ledger if line.side == "for" and line.truth == "true"]
        return lines[0] if lines else finding.cause.title
    later = next((one for one in (*after.findings, *after.weaker) if one.cause.cause == cause), None)
    if later is None:
        return after.not_applicable.get(cause, "nothing speaks for it any more")
    if later.yields_to is not None:
        return f"{later.yields_to} explains what it explained"
    against = [line.says for line in later.hypothesis.ledger if line.side == "against" and line.truth == "true"]
    open_clauses = [line for line in later.hypothesis.ledger if line.truth == "unknown" and line.could_add]
    was_true = {
        line.clause for line in old[cause].hypothesis.ledger if line.truth == "true" and line.side == "for"
    }
    now_false = [line for line in later.hypothesis.ledger if line.truth == "false" and line.clause in was_true]
    if now_false:
        return f"looked at again, and no longer so: {', '.join(line.clause for line in now_false)}"
    if against:
        return against[0]
    if open_clauses:
        return "not shown to be gone: " + "; ".join(dict.fromkeys(line.unknown for line in open_clauses))
    return f"now only {later.verdict}"


def _story(
    causes: Sequence[CauseChange], symptoms: Mapping[str, Fate], before: Diagnosis, after: Diagnosis
) -> tuple[str, ...]:
    sentences: list[str] = []
    for change in causes:
        if change.fate == "went":
            sentences += _after_it_went(change, symptoms, before, after)
    seen = {one.rule.symptom: one for one in before.symptoms}
    for symptom, fate in symptoms.items():
        if fate == "went":
            unseen = {one.fact.kind for one in seen[symptom].evidence} - _looked(after)
            how = "Not looked at again" if unseen else "No longer so"
            sentences.append(f"{how}: {seen[symptom].rule.title}.")
    answer = next((one for one in after.findings if stands(one)), None)
    if answer is not None:
        sentences.append(f"Now first: {answer.cause.cause}: {answer.cause.title}.")
    return tuple(sentences)


def _after_it_went(
    change: CauseChange, symptoms: Mapping[str, Fate], before: Diagnosis, after: Diagnosis
) -> list[str]:
    """What it tells that a cause is no longer likely: worked around, or repaired and not what caused the rest."""
    finding = next(one for one in before.findings if one.cause.cause == change.cause)
    around = _worked_around(finding, before, after)
    if around:
        return [f"{change.cause} is worked around, not repaired: {around} is set now."]
    if change.why.startswith("not shown") or any(
        one.yields_to and one.cause.cause == change.cause for one in after.weaker
    ):
        return []
    titles = {one.rule.symptom: one.rule.title for one in before.symptoms}
    outlived = [titles[symptom] for symptom in finding.explains if symptoms.get(symptom) == "stayed"]
    if not outlived:
        return []
    return [f"{change.cause} was real and is repaired, and it was not what caused this: {'; '.join(outlived)}."]


_EXPORT = re.compile(r"export (\w+)=(\S+)")


def _worked_around(finding: Finding, before: Diagnosis, after: Diagnosis) -> str | None:
    """The setting of one of its workarounds that is set now and was not before."""

    def settings(diagnosis: Diagnosis) -> set[tuple[str, str]]:
        facts = (one.fact for one in diagnosis.observed)
        return {(fact.name, fact.value) for fact in facts if isinstance(fact, EffectiveSetting)}

    new = settings(after) - settings(before)
    for remedy in finding.cause.remedies:
        for match in filter(None, map(_EXPORT.match, remedy.run)):
            if not remedy.lasting and (match[1], match[2]) in new:
                return f"{match[1]}={match[2]}"
    return None
