"""Evidence that says the same in another way leads to the same answer, or to none: never to another culprit."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Sequence
from dataclasses import replace
from datetime import datetime, timedelta
from functools import cache
from pathlib import Path

import pytest
import yaml

from collectors.combine import combine
from collectors.content import Content
from collectors.hosts import by_host
from collectors.open import File
from collectors.scan import read_all
from diagnose.explain import read_case, rule_base
from engine.result import Diagnosis
from engine.session import assess_parts
from kb.evidence import Observed

HERE = Path(__file__).parent
SHARED = HERE.parent.parent / "shared" / "cases"
EVERY = 1 if "FUZZ_EXAMPLES" in os.environ else 4
"""Every which of the cases is tried: all of them take minutes, which `make fuzz` has."""
CASES = [
    *(path for path in sorted((HERE / "stories").iterdir()) if path.is_dir()),
    *[path / "evidence" for path in sorted(SHARED.glob("*")) if (path / "case.yaml").is_file()][::EVERY],
]
ACCUSES = 0.5
CANT_TELL = "state.insufficient-evidence"
COPIES = 300
MOST_COPIED_BYTES = 20_000
HOURS = 7

Files = Sequence[File]


def name_of(case: Path) -> str:
    return case.parent.name if case.name == "evidence" else case.name


@cache
def opened(case: Path) -> tuple[File, ...]:
    return tuple(read_case([str(case)]).opened.files)


def diagnosed(files: Files) -> Diagnosis:
    _, readings = read_all(files)
    parts = {host: [*part, *combine(part)] for host, part in by_host(readings).items()}
    return assess_parts(rule_base(), parts)


def answers(files: Files) -> tuple[str, set[str]]:
    """The first cause, and all faults that are accused."""
    diagnosis = diagnosed(files)
    accused = {
        one.cause.cause for one in diagnosis.findings if one.cause.kind == "fault" and one.confidence >= ACCUSES
    }
    return (diagnosis.findings[0].cause.cause if diagnosis.findings else CANT_TELL), accused


@cache
def original(case: Path) -> tuple[str, set[str]]:
    return answers(opened(case))


def allowed(case: Path) -> set[str]:
    """Faults that may be accused with less or otherwise told evidence."""
    spec = case.parent / "case.yaml"
    known = yaml.safe_load(spec.read_text()) if spec.is_file() else {}
    return {*original(case)[1], *(known.get("causes") or ()), *(known.get("acceptable") or ())}


def rewritten(file: File, change: Callable[[str], str]) -> File:
    text = file.content.data.decode("utf-8", errors="surrogateescape")
    return replace(file, content=Content(change(text).encode("utf-8", errors="surrogateescape")))


def repeated(files: Files) -> list[File]:
    """Every line of log files 300 times; a command's output is not said twice, so transcripts stay as they are."""

    def repeat(text: str) -> str:
        copies = COPIES if len(text) < MOST_COPIED_BYTES else 3
        return "".join(line * copies for line in text.splitlines(keepends=True))

    return [rewritten(file, repeat) if is_log(file) else file for file in files]


def is_log(file: File) -> bool:
    return file.path.endswith(".log") and b"\n$ " not in file.content.data


STAMPS = (
    (re.compile(r"\b20\d\d-\d\d-\d\d[ T]\d\d:\d\d:\d\d\b"), None),
    (
        re.compile(r"\b(?:Jan|Feb|Mar|Apr|May|Jun|Jul|Aug|Sep|Oct|Nov|Dec) [ \d]\d \d\d:\d\d:\d\d\b"),
        "%b %d %H:%M:%S",
    ),
)


def shifted(files: Files) -> list[File]:
    """All clocks some hours on."""

    def later(match: re.Match[str], form: str | None) -> str:
        text = match[0]
        form = form or ("%Y-%m-%dT%H:%M:%S" if "T" in text else "%Y-%m-%d %H:%M:%S")
        try:
            moment = datetime.strptime(text, form)  # noqa: DTZ007 - a log's own clock
        except ValueError:
            return text
        return (moment + timedelta(hours=HOURS)).strftime(form)

    def shift(text: str) -> str:
        for stamp, form in STAMPS:
            text = stamp.sub(lambda match, form=form: later(match, form), text)
        return text

    return [rewritten(file, shift) for file in files]


def renamed(files: Files) -> list[File]:
    """All files and all machines under other names; what a manifest knows of a file stays with it."""
    _, readings = read_all(files)
    named = {getattr(one.fact, "host", None) for one in readings if isinstance(one, Observed)}
    hosts = sorted((one for one in named if one and len(one) > 3), key=len, reverse=True)

    def rename(text: str) -> str:
        for number, host in enumerate(hosts):
            text = re.sub(rf"(?<![\w.-]){re.escape(host)}(?![\w-])", f"qqhost{number}", text)
        return text

    return [replace(rewritten(file, rename), path=f"part-{n}") for n, file in enumerate(files)]


def backwards(files: Files) -> list[File]:
    """The files in another order."""
    return list(reversed(files))


ARGUABLE = {
    ("d016-gpu-moved-to-legacy-branch", "dmesg.txt"): "driver.module-not-loaded",
    ("n034-two-mig-slices-one-process", "devices.txt"): "framework.invalid-launch-config",
}
"""What is left without this file says what a sound machine with that fault would say: nobody could tell more."""

MUTATIONS = [repeated, shifted, renamed, backwards]


@pytest.mark.parametrize("mutation", MUTATIONS, ids=lambda mutation: mutation.__name__)
@pytest.mark.parametrize(
    "case", CASES, ids=lambda case: case.parent.name if case.name == "evidence" else case.name
)
def test_the_first_answer_stays_or_falls_to_cant_tell(case: Path, mutation: Callable[[Files], list[File]]):
    first, accused = answers(mutation(opened(case)))

    assert first in {original(case)[0], CANT_TELL}
    assert accused <= allowed(case)


@pytest.mark.parametrize(
    "case", CASES, ids=lambda case: case.parent.name if case.name == "evidence" else case.name
)
def test_without_any_one_file_nobody_else_is_accused(case: Path):
    files = opened(case)
    for victim in files if len(files) > 1 else ():
        _, accused = answers([file for file in files if file is not victim])

        assert accused <= {*allowed(case), ARGUABLE.get((name_of(case), victim.path))}, victim.path
