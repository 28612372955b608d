"""Fits the curve that turns a ledger into a confidence, and prints its reliability table.

`python benchmarks/calibrate.py` fits the rows of benchmarks/calibration.csv, which engine/cover.py and the table in
docs/how-it-reasons.md are held to by a test. `python benchmarks/calibrate.py CASES…` first adds the rows of folders of
cases (NAME/case.yaml and NAME/evidence), which must be new: what a rule was written or mended with says nothing about
how often it is right.
"""

from __future__ import annotations

import csv
import math
import sys
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import astuple, dataclass, fields
from pathlib import Path

ROWS = Path(__file__).with_name("calibration.csv")


@dataclass(frozen=True, slots=True)
class Row:
    """The best finding of one case: how it stood, and whether it was right."""

    verdict: str
    score: int
    right: bool
    """Whether it is a right or an acceptable answer; for `undecided`, whether nobody could tell."""


def read_rows(file: Path = ROWS) -> list[Row]:
    """The rows of the shipped data."""
    with file.open(encoding="utf-8", newline="") as lines:
        return [Row(one["verdict"], int(one["score"]), one["right"] == "1") for one in csv.DictReader(lines)]


def fit(rows: Sequence[Row]) -> tuple[int, int]:
    """Middle and width, in decibans, of the curve 1 / (1 + 10^((middle - score) / width)) that fits best.

    Of what is settled by a conclusive line the score is not what counts: such rows are left out. Least squares, so
    that one wrong answer among the very sure ones does not decide alone, with a row of each kind at both ends of the
    scale: a few rows must not make the curve a step.
    """
    weighed = [row for row in rows if row.verdict in {"likely", "possible"}]
    anchored = [*weighed, Row("likely", 40, right=True), Row("possible", -30, right=False)]

    def loss(middle: int, width: int) -> float:
        return sum((curve(row.score, middle, width) - row.right) ** 2 for row in anchored)

    return min(
        ((middle, width) for middle in range(-20, 21) for width in range(4, 41)), key=lambda one: loss(*one)
    )


def curve(score: float, middle: float, width: float) -> float:
    """The probability that stands for a score."""
    return 1 / (1 + math.pow(10, (middle - score) / width))


def share(rows: Iterable[Row], verdict: str) -> float:
    """How many in one of the rows with this verdict are right, with one right and one wrong row added."""
    right = [row.right for row in rows if row.verdict == verdict]
    return (sum(right) + 1) / (len(right) + 2)


def reliability(rows: Sequence[Row], said: dict[Row, float]) -> list[str]:
    """A table in Markdown: for each band of confidence how many there were, what was said, and what was right."""
    bands = [(0.0, 0.3), (0.3, 0.5), (0.5, 0.8), (0.8, 0.9), (0.9, 0.97), (0.97, 1.01)]
    lines = ["| said | answers | said on average | right |", "|---|---|---|---|"]
    for low, high in bands:
        found = [row for row in rows if low <= said[row] < high]
        if found:
            mean = sum(said[row] for row in found) / len(found)
            right = sum(row.right for row in found)
            lines.append(
                f"| {low:.2f} to {min(high, 1):.2f} | {len(found)} | {mean:.2f} | {right / len(found):.2f} |"
            )
    return lines


def rows_of(folders: Iterable[Path]) -> Iterator[Row]:
    """The best finding of every case, and, where nothing stands, that the evidence can't tell."""
    from diagnose.cases import answers_of
    from diagnose.explain import read_case, rule_base
    from diagnose.render.report import INSUFFICIENT
    from engine.session import assess_parts

    base = rule_base()
    for file in sorted(one for folder in folders for one in folder.glob("*/case.yaml")):
        answers = answers_of(file)
        right = {*answers.causes, *answers.acceptable, *answers.also}
        found = list(assess_parts(base, read_case([str(file.parent / "evidence")]).parts).findings)
        if found and found[0].cause.cause == INSUFFICIENT:
            yield Row("undecided", 0, INSUFFICIENT in right)
            found = found[1:]
        if found:
            yield Row(
                found[0].verdict, max(-99, min(found[0].hypothesis.score, 99)), found[0].cause.cause in right
            )


def main() -> None:
    """Adds rows where cases are given; prints the fit and the table."""
    from engine.cover import UNDECIDED, stated

    folders = [Path(one) for one in sys.argv[1:]]
    if folders:
        found = sorted([*read_rows(), *rows_of(folders)], key=astuple)
        with ROWS.open("w", encoding="utf-8", newline="") as out:
            write = csv.writer(out, lineterminator="\n")
            write.writerow(field.name for field in fields(Row))
            write.writerows((row.verdict, row.score, int(row.right)) for row in found)
    rows = read_rows()
    print("middle and width:", *fit(rows))
    print(f"confirmed: {share(rows, 'confirmed'):.2f}; undecided: {share(rows, 'undecided'):.2f}")
    said = {row: UNDECIDED if row.verdict == "undecided" else stated(row.verdict, row.score) for row in rows}
    print(*reliability(rows, said), sep="\n")


if __name__ == "__main__":
    main()
