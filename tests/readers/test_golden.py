"""Golden pairs: `<reader>--<case>.txt` is a section of evidence, `.json` beside it what its reader says.

A first line `$ command` is no part of the text: it is the command that printed the rest, as in a transcript.
`.json` holds `facts` (kind, fields, line, end_line where a fact spans lines), `looked` and, rarely, `unread`.
New pairs: write the .txt, run `pytest tests/readers --rewrite-golden`, review the .json.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from collectors.readers import readers
from kb.evidence import Looked, Observed, Reader, Section
from kb.facts import fields_of

HERE = Path(__file__).parent
TEXTS = sorted(HERE.glob("*--*.txt"))
READERS = {reader.name: reader for reader in readers()}


def section_of(text: Path) -> Section:
    """The section that a golden text stands for."""
    lines = text.read_text(encoding="utf-8").replace("\r\n", "\n").removesuffix("\n").split("\n")
    if lines[0].startswith("$ "):
        return Section(text.name, lines[1:], first_line=2, command=lines[0][2:])
    return Section(text.name, [] if lines == [""] else lines)


def is_offered(reader: Reader, section: Section) -> bool:
    """Whether the scan would give this section to this reader."""
    if section.command is not None and section.command.removeprefix("sudo ").startswith(reader.commands):
        return True
    return any(marker in line for line in section.lines for marker in reader.markers)


def readings_of(reader: Reader, section: Section) -> dict[str, Any]:
    """What the reader says on the section, as plain values in its order."""
    said: dict[str, Any] = {"facts": [], "looked": []}
    for reading in reader.read(section) if is_offered(reader, section) else ():
        if isinstance(reading, Observed):
            source = reading.source
            entry = {"kind": reading.fact.kind, "fields": fields_of(reading.fact), "line": source.line}
            said["facts"].append(entry | ({"end_line": source.end_line} if source.end_line != source.line else {}))
        elif isinstance(reading, Looked):
            entry = {"kind": reading.kind, "complete": reading.complete}
            said["looked"].append(entry | ({"reason": reading.reason} if reading.reason else {}))
        else:
            said.setdefault("unread", []).append({"what": reading.what, "reason": reading.reason})
    return said


def as_json(said: dict[str, Any]) -> str:
    """One entry a line, so that a change of one fact is a change of one line."""
    parts = []
    for key, entries in said.items():
        rows = ",\n".join(f"  {json.dumps(entry, ensure_ascii=False)}" for entry in entries)
        parts.append(f' "{key}": [\n{rows}\n ]' if rows else f' "{key}": []')
    return "{\n" + ",\n".join(parts) + "\n}\n"


@pytest.mark.parametrize("text", TEXTS, ids=[text.stem for text in TEXTS])
def test_reader_says_what_the_golden_file_holds(text: Path, request: pytest.FixtureRequest) -> None:
    """The reader named by the file name gives exactly these facts, from these lines."""
    name = text.stem.split("--", 1)[0]
    assert name in READERS, f"no reader of the name {name!r}"
    said = readings_of(READERS[name], section_of(text))
    golden = text.with_suffix(".json")
    if request.config.getoption("rewrite_golden", default=False):
        golden.write_text(as_json(said), encoding="utf-8")
    assert golden.exists(), f"{golden.name} is missing: run with --rewrite-golden and review it"
    assert json.loads(golden.read_text(encoding="utf-8")) == said


def test_every_golden_file_has_its_text() -> None:
    """No .json is left behind by a renamed .txt."""
    orphans = [path.name for path in HERE.glob("*--*.json") if not path.with_suffix(".txt").exists()]
    assert orphans == []
