"""What changed between bodies of evidence of one machine: facts, causes, symptoms, and what that tells.

When a cause goes and its symptom stays, it was real, and it was not what caused the symptom.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal, TypeAlias

from collectors.open import short_names
from diagnose.explain import explain
from diagnose.render.report import Report, stands
from engine.result import Diagnosis, Finding
from engine.weigh import NOT_LOOKED
from kb.evidence import Observed
from kb.facts import fields_of
from kb.facts.settings import EffectiveSetting

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
    names = short_names(paths)
    steps = tuple(
        _step(names[index], names[index + 1], reports[index].diagnosis, reports[index + 1].diagnosis)
        for index in range(len(reports) - 1)
    )
    return Comparison(tuple(names), tuple(reports), steps)


def _step(before_name: str, after_name: str, before: Diagnosis, after: Diagnosis) -> Step:
    old, new = _values(before), _values(after)
    looked_before, looked_after = _looked(before), _looked(after)
    changes = tuple(
        change
        for key in sorted({*old, *new})
        if (key in old or key[0] in looked_before) and (key in new or key[0] in looked_after)
        for change in _changes(key, old.get(key), new.get(key))
    )
    symptoms = _fates({s.rule.symptom for s in before.symptoms}, {s.rule.symptom for s in after.symptoms})
    causes = _cause_changes(before, after)
    return Step(
        before_name,
        after_name,
        changes,
        tuple(sorted({kind for kind, _ in new} - {kind for kind, _ in old} - looked_before)),
        tuple(sorted({kind for kind, _ in old} - {kind for kind, _ in new} - looked_after)),
        causes,
        symptoms,
        _story(causes, symptoms, before, after),
    )


def _looked(diagnosis: Diagnosis) -> set[str]:
    """Kinds of which everything was looked at: what is not there now is gone."""
    return {one.kind for one in diagnosis.looked if one.complete}


_Key = tuple[str, tuple[str, ...]]
_Value = tuple[dict[str, str], Observed]


def _values(diagnosis: Diagnosis) -> dict[_Key, _Value]:
    """What is known of each thing, from all facts about it together, and the first of these."""
    values: dict[_Key, _Value] = {}
    for observed in diagnosis.observed:
        if observed.fact.kind in IDENTITY:
            identity, counted = IDENTITY[observed.fact.kind]
            fields = fields_of(observed.fact)
            key = observed.fact.kind, tuple(str(fields.get(name, "")) for name in identity)
            known, _ = values.setdefault(key, ({}, observed))
            for name in counted:
                if name in fields:
                    known.setdefault(name, str(fields[name]))
    return values


def _changes(key: _Key, old: _Value | None, new: _Value | None) -> Iterator[Change]:
    """The change of one thing: that it is there or not, or the fields that are known on both sides and differ."""
    evidence = tuple(value[1] for value in (old, new) if value is not None)
    if old is None or new is None:
        before, after = ("there" if value and not value[0] else _text(value) for value in (old, new))
        yield Change(_subject(key), before, after, evidence)
        return
    differ = [name for name in old[0] if name in new[0] and old[0][name] != new[0][name]]
    if differ:
        yield Change(_subject(key), _text(old, differ), _text(new, differ), evidence)


def _text(value: _Value | None, names: Sequence[str] | None = None) -> str | None:
    if value is None:
        return None
    return ", ".join(f"{name} {value[0][name]}" for name in (value[0] if names is None else names))


def _subject(key: _Key) -> str:
    return " ".join([key[0].replace("_", " "), *filter(None, key[1])])


def _fates(before: set[str], after: set[str]) -> dict[str, Fate]:
    return {
        one: "stayed" if one in before and one in after else "went" if one in before else "came"
        for one in sorted(before | after)
    }


def _cause_changes(before: Diagnosis, after: Diagnosis) -> tuple[CauseChange, ...]:
    old, new = _standing(before), _standing(after)
    return tuple(
        CauseChange(cause, (new.get(cause) or old[cause]).cause.title, fate, _why(cause, fate, old, new, after))
        for cause, fate in _fates(set(old), set(new)).items()
        if cause != "state.insufficient-evidence"
    )


def _standing(diagnosis: Diagnosis) -> dict[str, Finding]:
    """The strongest standing finding of each cause."""
    return {one.cause.cause: one for one in reversed(diagnosis.findings) if stands(one)}


def _later(cause: str, after: Diagnosis) -> Finding | None:
    return next((one for one in (*after.findings, *after.weaker) if one.cause.cause == cause), None)


def _no_longer_so(before: Finding, later: Finding) -> list[str]:
    """The clauses that spoke for it, and that were looked at again and are false now."""
    was_true = {line.clause for line in before.hypothesis.ledger if line.truth == "true" and line.side == "for"}
    return [line.clause for line in later.hypothesis.ledger if line.truth == "false" and line.clause in was_true]


def _why(cause: str, fate: Fate, old: Mapping[str, Finding], new: Mapping[str, Finding], after: Diagnosis) -> str:
    if fate != "went":
        finding = new[cause]
        lines = [line.says for line in finding.hypothesis.ledger if line.side == "for" and line.truth == "true"]
        return lines[0] if lines else finding.cause.title
    later = _later(cause, after)
    if later is None:
        return after.not_applicable.get(cause, "nothing speaks for it any more")
    if later.yields_to is not None:
        return f"{later.yields_to} explains what it explained"
    now_false = _no_longer_so(old[cause], later)
    if now_false:
        return f"looked at again, and no longer so: {', '.join(now_false)}"
    against = [line.says for line in later.hypothesis.ledger if line.side == "against" and line.truth == "true"]
    if against:
        return against[0]
    unknown = [line.unknown for line in later.hypothesis.ledger if line.truth == "unknown" and line.could_add]
    if unknown:
        return "not shown to be gone: " + "; ".join(dict.fromkeys(unknown))
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
    answer, former = (next((f for f in one.findings if stands(f)), None) for one in (after, before))
    if answer is not None and (former is None or former.cause.cause != answer.cause.cause):
        sentences.append(f"Now first: {answer.cause.cause}: {answer.cause.title}.")
    return tuple(sentences)


def _after_it_went(
    change: CauseChange, symptoms: Mapping[str, Fate], before: Diagnosis, after: Diagnosis
) -> list[str]:
    """What it tells that a cause is no longer likely: worked around, or repaired and not what caused the rest."""
    finding = _standing(before)[change.cause]
    around = _worked_around(finding, before, after)
    if around:
        return [f"{change.cause} is worked around, not repaired: {around} is set now."]
    if not _is_gone(finding, after):
        return []
    titles = {one.rule.symptom: one.rule.title for one in before.symptoms}
    outlived = [titles[symptom] for symptom in finding.explains if symptoms.get(symptom) == "stayed"]
    if not outlived:
        return []
    return [f"{change.cause} was real and is repaired, and it was not what caused this: {'; '.join(outlived)}."]


def _is_gone(finding: Finding, after: Diagnosis) -> bool:
    """Whether it is shown that the cause is gone, and not only that less speaks for it."""
    later = _later(finding.cause.cause, after)
    if later is None:
        return not after.not_applicable.get(finding.cause.cause, NOT_LOOKED).startswith(NOT_LOOKED)
    return later.yields_to is None and bool(_no_longer_so(finding, later))


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
