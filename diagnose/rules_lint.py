"""Faults of rules in the forms that editors and CI services read, and the mending of mechanical ones."""

from __future__ import annotations

import json
import re
from collections import defaultdict
from collections.abc import Iterable, Sequence
from pathlib import Path

from diagnose import __version__
from diagnose.rules_kit import faults_under, rules_at
from kb.errors import RuleError

MOST_ROUNDS = 8
"""A mended key may uncover faults below it; each round mends what the one before has uncovered."""

_MEANT = re.compile(r"`(?P<wrong>[^`]+)`; did you mean `(?P<right>[^`]+)`\?$")
_SARIF = "https://json.schemastore.org/sarif-2.1.0.json"


def in_form(form: str, faults: Sequence[RuleError]) -> str:
    """The faults as text, json, sarif or github, ending in a line break where there is anything to say."""
    lines = {"text": _text, "json": _json, "sarif": _sarif, "github": _github}[form](faults)
    return "".join(f"{line}\n" for line in lines)


def _text(faults: Sequence[RuleError]) -> Iterable[str]:
    return map(str, faults)


def _json(faults: Sequence[RuleError]) -> Iterable[str]:
    rows = [
        {
            "check": one.check,
            "path": one.place.path,
            "line": one.place.line,
            "column": one.place.column,
            "message": one.message,
        }
        for one in faults
    ]
    return [json.dumps({"schema": "diagnose.lint/1", "faults": rows}, indent=1, ensure_ascii=False)]


def _sarif(faults: Sequence[RuleError]) -> Iterable[str]:
    results = [
        {
            "ruleId": one.check,
            "level": "error",
            "message": {"text": one.message},
            "locations": [
                {
                    "physicalLocation": {
                        "artifactLocation": {"uri": Path(one.place.path).as_posix()},
                        "region": {"startLine": one.place.line, "startColumn": one.place.column},
                    }
                }
            ],
        }
        for one in faults
    ]
    rules = [{"id": check} for check in sorted({one.check for one in faults})]
    driver = {"name": "diagnose rules lint", "version": __version__, "rules": rules}
    run = {"tool": {"driver": driver}, "results": results, "columnKind": "unicodeCodePoints"}
    return [json.dumps({"$schema": _SARIF, "version": "2.1.0", "runs": [run]}, indent=1, ensure_ascii=False)]


def _github(faults: Sequence[RuleError]) -> Iterable[str]:
    for one in faults:
        path = _escaped(one.place.path).replace(":", "%3A").replace(",", "%2C")
        where = f"file={path},line={one.place.line},col={one.place.column}"
        yield f"::error {where},title={one.check}::{_escaped(one.message)}"


def _escaped(text: str) -> str:
    return text.replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A")


def mend(paths: Sequence[Path] | None) -> list[str]:
    """Writes the right name where a message knows exactly one for a wrong one; gives what was changed, in words.

    Raises InputError for a path that is not there.
    """
    changes: list[str] = []
    for _ in range(MOST_ROUNDS):
        by_file: dict[str, list[RuleError]] = defaultdict(list)
        for fault in faults_under(rules_at(paths), paths):
            by_file[fault.place.path].append(fault)
        done = [change for path, faults in by_file.items() for change in _mend_file(Path(path), faults)]
        if not done:
            break
        changes += done
    return changes


def _mend_file(file: Path, faults: Iterable[RuleError]) -> list[str]:
    # Bytes that are no UTF-8 are a fault that stands alone: such a file is never mended.
    text = file.read_text(encoding="utf-8", errors="surrogateescape")
    lines = text.split("\n")
    changes = []
    for fault in sorted(faults, key=lambda one: (one.place.line, one.place.column), reverse=True):
        match = _MEANT.search(fault.message)
        if match is None or fault.place.line > len(lines):
            continue
        line, start = lines[fault.place.line - 1], fault.place.column - 1
        start += line[start : start + 1] in {'"', "'"}
        end = start + len(match["wrong"])
        if line[start:end] == match["wrong"] and not re.match(r"[\w-]", line[end:]):
            lines[fault.place.line - 1] = line[:start] + match["right"] + line[end:]
            changes.append(f"{fault.place}: `{match['right']}` instead of `{match['wrong']}`")
    if changes:
        file.write_text("\n".join(lines), encoding="utf-8", errors="surrogateescape", newline="")
    return changes[::-1]
