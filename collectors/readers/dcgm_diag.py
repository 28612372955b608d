"""Results of `dcgmi diag` as its table.

    | GPU Memory                | Fail - All                                     |
    |                           | GPU0: Fail                                     |
    | Warning                   | GPU 0 Error using CUDA API cuInit Check DCGM   |

Follows dcgmi of DCGM 2.0 to 4.6. Texts that the table wraps are joined. What it only informs of is no finding.
Rows that are torn give nothing.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Literal, cast

from collectors.readers._diag_classes import Finding, finding, told_together
from collectors.readers._regex import regex
from kb.evidence import Reader, Reading, Section
from kb.facts.diagnostics import DiagResult

_ROW = regex(r"\s{0,8}\| (?P<name>.{25}) \| (?P<value>.{1,80}) \|\s*$")
_STATUS = regex(
    r"(?P<status>Pass|Fail|Warn|Skip|Not Run)(?: - (?:All|GPUs?:? ?(?P<gpus>\d{1,3}(?:, ?\d{1,3}){0,63})))?\s*$"
)
_ENTITY = regex(r"(?P<kind>[A-Z][A-Za-z]{1,15})(?P<id>\d{1,3}): (?P<status>Pass|Fail|Warn|Skip|Not Run)\s*$")
_NOTE = regex(r"(?P<what>Warning|Error|Info)(?:: (?P<kind>[A-Z][A-Za-z]{1,15}?) ?(?P<id>\d{1,3}))?\s*$")
_GPU = regex(r"\bGPU:? ?(\d{1,3})\b")
_HEADING = "| Diagnostic                | Result"
_END = regex(r"\s{0,8}\+-{20,40}\+-{30,80}\+\s*$")
_WIDTH = 45
_MOST_LINES = 40
_MOST_TESTS = 256

Status = Literal["pass", "fail", "warn", "skip", "not-run"]


@dataclass
class _Note:
    """A text under a test, and the GPU that it is about."""

    gpu: int | None
    first: int
    last: int
    parts: list[str]
    is_fault: bool


@dataclass
class _Test:
    """One test: how it ended, for which GPUs otherwise, and what is noted under it."""

    name: str
    line: int
    results: list[tuple[Status, tuple[int, ...], int]]
    notes: list[_Note] = field(default_factory=list)


def read(section: Section) -> Iterator[Reading]:
    """DiagResult for each test, and for each warning of a test that did not pass."""
    tests, closed = _tests(section)
    if not tests:
        return
    yield from told_together(section, [one for test in tests for one in _findings(test)])
    yield section.looked(DiagResult, complete=closed)


def _tests(section: Section) -> tuple[list[_Test], bool]:
    """The tests of the last table, and whether it came to its end."""
    tests: list[_Test] = []
    inside = closed = False
    for index, whole in enumerate(section.lines):
        line = whole[:200]
        if _HEADING in line:
            tests, inside, closed = [], True, False
            continue
        row = _ROW.match(line) if inside else None
        if row is None:
            closed = closed or (inside and bool(tests) and _END.match(line) is not None)
        elif len(tests) < _MOST_TESTS:
            _enter(tests, row["name"].strip(), row["value"], index)
    return tests, closed


def _enter(tests: list[_Test], name: str, value: str, index: int) -> None:
    status = _STATUS.match(value)
    if name and status:
        tests.append(_Test(name, index, [_result(status, index)]))
        return
    if not tests:
        return
    test, note = tests[-1], _NOTE.match(name)
    if note:
        number = int(note["id"]) if note["id"] and note["kind"] == "GPU" else None
        test.notes.append(_Note(number, index, index, [value[:_WIDTH]], note["what"] != "Info"))
    elif not name:
        entity = _ENTITY.match(value)
        if entity:
            if entity["kind"] == "GPU":
                test.results.append((_status(entity["status"]), (int(entity["id"]),), index))
        elif status:
            test.results.append(_result(status, index))
        elif test.notes and len(test.notes[-1].parts) < _MOST_LINES:
            test.notes[-1].parts.append(value[:_WIDTH])
            test.notes[-1].last = index


def _result(match: re.Match[str], index: int) -> tuple[Status, tuple[int, ...], int]:
    gpus = tuple(int(one) for one in re.findall(r"\d+", match["gpus"] or ""))
    return _status(match["status"]), gpus, index


def _status(text: str) -> Status:
    return cast("Status", text.lower().replace(" ", "-"))


def _findings(test: _Test) -> Iterator[Finding]:
    """What a test that did not pass notes; else how it ended, by GPU where it tells."""
    told = [status for status, _, _ in test.results]
    overall: Status = "fail" if "fail" in told else "warn" if "warn" in told else told[0]
    notes = [note for note in test.notes if note.is_fault]
    if notes and overall not in {"pass", "not-run"}:
        for note in notes:
            text = "".join(note.parts).strip()
            named = _GPU.search(text)
            gpu = note.gpu if note.gpu is not None else int(named[1]) if named else None
            yield finding(DiagResult(test=test.name, status=overall, gpu=gpu), note.first, note.last, text)
        return
    by_gpu = [(status, gpu, line) for status, gpus, line in test.results for gpu in gpus]
    bad = [one for one in by_gpu if one[0] in {"fail", "warn"}]
    if bad:
        for status, gpu, line in bad:
            yield finding(DiagResult(test=test.name, status=status, gpu=gpu), line, line)
    else:
        yield finding(DiagResult(test=test.name, status=overall), test.line, test.line)


READER = Reader(
    "dcgm-diag",
    read,
    markers=(_HEADING,),
    commands=("dcgmi diag",),
    lines=(_HEADING,),
    context=(0, 2000),
)
