"""What the rules cover: each cause of the vocabulary, each code of the catalogues, each case of a corpus."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from diagnose.cases import CASE, answers_of
from diagnose.codes_coverage import Code, code_rows
from diagnose.rules_mechanisms import mechanisms
from kb.errors import InputError
from kb.vocabulary import vocabulary

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from kb.rule import Cause, RuleBase

COME_OUT = frozenset({"confirmed", "likely"})
FEWEST_LOOK_ALIKES = 2


@dataclass(frozen=True, slots=True)
class CauseRow:
    """One id of the vocabulary, its rule, and what that rule has."""

    id: str
    means: str
    file: str = ""
    """Empty where there is no rule."""
    status: str = ""
    clauses: int = 0
    """Clauses for it."""
    variants: int = 0
    """Alternatives of all clauses for it."""
    come_out: int = 0
    """Examples in which it is confirmed or likely."""
    look_alikes: int = 0
    """Examples in which it is not."""
    remedies: int = 0
    references: int = 0
    lacks: tuple[str, ...] = ()
    cases: tuple[str, ...] = ()
    """Names of the cases of the corpus in which it is a right answer."""


@dataclass(frozen=True, slots=True)
class Coverage:
    """All rows, and what nothing accounts for, in words."""

    causes: tuple[CauseRow, ...]
    codes: tuple[Code, ...]
    unaccounted: tuple[str, ...]
    corpus: bool


def coverage(base: RuleBase, corpus: Path | None = None) -> Coverage:
    """What these rules cover. Raises InputError where the corpus holds no case."""
    cases = {} if corpus is None else cases_of(corpus)
    by_cause: dict[str, list[str]] = {}
    for case, causes in cases.items():
        for cause in causes:
            by_cause.setdefault(cause, []).append(case)
    rows = tuple(_row(name, means, base, tuple(by_cause.get(name, ()))) for name, means in vocabulary().items())
    codes = tuple(code_rows(base))
    strangers = [
        f"cases: {', '.join(names)} want `{cause}`, which is not in the vocabulary"
        for cause, names in by_cause.items()
        if cause not in vocabulary()
    ]
    return Coverage(rows, codes, (*_unaccounted(rows, codes), *strangers), corpus is not None)


def _row(name: str, means: str, base: RuleBase, cases: tuple[str, ...]) -> CauseRow:
    cause = base.causes.get(name)
    if cause is None:
        return CauseRow(name, means, lacks=("a rule",), cases=cases)
    return CauseRow(
        id=name,
        means=means,
        file=base.files[name],
        status=cause.status,
        clauses=len(cause.for_),
        variants=sum(max(1, len(clause.when)) for clause in cause.for_),
        come_out=len(_examples(cause, come_out=True)),
        look_alikes=len(_examples(cause, come_out=False)),
        remedies=len(cause.remedies),
        references=len(cause.references),
        lacks=tuple(lacking(base, cause)),
        cases=cases,
    )


def _examples(cause: Cause, *, come_out: bool) -> list[str]:
    return [one.name for one in cause.examples if (one.expect in COME_OUT) == come_out]


def lacking(base: RuleBase, cause: Cause) -> Iterator[str]:
    """What a finished rule has and this one has not, in words."""
    if not cause.because.strip():
        yield "a mechanism (because)"
    if not _examples(cause, come_out=True):
        yield "an example that comes out"
    if (alike := len(_examples(cause, come_out=False))) < FEWEST_LOOK_ALIKES:
        yield f"{FEWEST_LOOK_ALIKES - alike} more examples that do not come out"
    if cause.kind == "fault" and not cause.remedies:
        yield "a remedy"
    if not cause.references:
        yield "a reference"
    for mechanism in mechanisms(base, cause):
        if not mechanism.seen:
            yield f"an example of {mechanism}"


def cases_of(corpus: Path) -> Mapping[str, Sequence[str]]:
    """The right answers of each case below a folder, by name: `causes` and what is wrong beside them, `also`.

    Raises InputError where there is no case, or one can't be read.
    """
    files = sorted(corpus.rglob(CASE))
    if not files:
        raise InputError(f"{corpus}: expected case folders (NAME/{CASE}), found none")
    answers = {str(file.parent.relative_to(corpus)): answers_of(file) for file in files}
    return {name: (*one.causes, *one.also) for name, one in answers.items()}


def _unaccounted(rows: Sequence[CauseRow], codes: Sequence[Code]) -> Iterator[str]:
    for row in rows:
        yield from (f"{row.id}: lacks {what}" for what in row.lacks)
    for code in codes:
        if not code.accounted_for:
            yield f"{code.catalogue} {code.id} ({code.name}): no cause takes it, and no reason is given"


def as_values(found: Coverage) -> dict[str, Any]:
    """The coverage as plain values, for JSON."""
    causes = [asdict(row) for row in found.causes]
    if not found.corpus:
        for row in causes:
            del row["cases"]
    return {
        "schema": "diagnose.coverage/1",
        "causes": causes,
        "codes": [{**asdict(code), "accounted_for": code.accounted_for} for code in found.codes],
        "unaccounted": list(found.unaccounted),
    }


def as_lines(found: Coverage) -> Iterator[str]:
    """The coverage as lines of text: causes, codes by what takes them, what nothing accounts for."""
    width = max(len(row.id) for row in found.causes)
    yield f"{'CAUSE':{width}}  STATUS        FOR VARIANTS  COME OUT  DO NOT  REMEDIES  REFERENCES"
    for row in found.causes:
        yield (
            f"{row.id:{width}}  {row.status or 'NO RULE':12} {row.clauses:4} {row.variants:8} {row.come_out:9}"
            f" {row.look_alikes:7} {row.remedies:9} {row.references:11}  {row.file}"
        )
        if row.cases:
            yield f"{'':{width}}  cases: {', '.join(row.cases)}"
    if found.corpus:
        idle = [row.id for row in found.causes if not row.cases]
        yield f"\n{len(idle)} of {len(found.causes)} causes have no case: {', '.join(idle) or 'none'}"
    for catalogue in dict.fromkeys(code.catalogue for code in found.codes):
        yield from _codes(catalogue, [code for code in found.codes if code.catalogue == catalogue])
    yield f"\nUNACCOUNTED FOR: {len(found.unaccounted) or 'nothing'}"
    yield from (f"  {one}" for one in found.unaccounted)


def _codes(catalogue: str, codes: Sequence[Code]) -> Iterator[str]:
    """The codes of one catalogue, those that the same causes take together; then those that none takes."""
    taken: dict[tuple[str, ...], list[str]] = {}
    for code in codes:
        taken.setdefault(code.causes, []).append(code.id)
    yield f"\n{catalogue.upper()}: {len(codes)} rows, {sum(bool(code.causes) for code in codes)} taken by a cause"
    for causes, ids in sorted(taken.items(), key=lambda one: (not one[0], one[0])):
        if causes and len(ids) == len(codes):
            yield f"  {', '.join(causes)}: all"
        elif causes:
            yield f"  {', '.join(causes)}: {', '.join(ids)}"
    for code in codes:
        if not code.causes:
            yield f"  {code.id}: {code.otherwise or 'NOTHING EXPLAINS IT'}"
