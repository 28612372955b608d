"""The rules of this program, read once and for all: parsing their YAML at every start would take half of it.

`rules/index.json` holds each rule file as plain values under the digest of its text, a line a file, without
examples, which no diagnosis needs. `make index` writes it. Where a file has another text now, all are read anew.
"""

from __future__ import annotations

import hashlib
import json
from pathlib import Path
from typing import Any

from kb.load import load_rules, rule_files, shipped_rules
from kb.rule import Cause, Probe, RuleBase, SymptomRule
from kb.strict_yaml import read_yaml

INDEX = "index.json"


def diagnosing_rules() -> RuleBase:
    """The rules of this program without their examples. Raises RuleErrors with all their faults."""
    directory = shipped_rules()
    known = _known(directory)
    causes: dict[str, Cause] = {}
    symptoms: dict[str, SymptomRule] = {}
    probes: dict[str, Probe] = {}
    files: dict[str, str] = {}
    for file in rule_files(directory):
        entry = known.get(file.relative_to(directory).as_posix())
        if entry is None or entry["digest"] != _digest(file):
            return load_rules(directory)
        value = entry["value"]
        if isinstance(value, list):
            probes |= {one.id: one for one in map(Probe.model_validate, value)}
        elif "cause" in value:
            cause = Cause.model_validate(value)
            causes[cause.cause], files[cause.cause] = cause, str(file)
        else:
            symptom = SymptomRule.model_validate(value)
            symptoms[symptom.symptom], files[symptom.symptom] = symptom, str(file)
    return RuleBase.model_construct(causes=causes, symptoms=symptoms, probes=probes, files=files)


def _known(directory: Path) -> dict[str, Any]:
    try:
        known: dict[str, Any] = json.loads((directory / INDEX).read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return {}
    return known


def _digest(file: Path) -> str:
    return hashlib.blake2b(file.read_bytes(), digest_size=16).hexdigest()


def index_text() -> str:
    """What the index must hold."""
    directory = shipped_rules()
    lines = []
    for file in rule_files(directory):
        document, _ = read_yaml(file.read_text(encoding="utf-8"), str(file))
        value = document.value if document is not None else None
        if isinstance(value, dict):
            value = {key: part for key, part in value.items() if key != "examples"}
        name = json.dumps(file.relative_to(directory).as_posix())
        lines.append(f"{name}: {json.dumps({'digest': _digest(file), 'value': value})}")
    return "{\n" + ",\n".join(lines) + "\n}\n"


if __name__ == "__main__":
    (shipped_rules() / INDEX).write_text(index_text(), encoding="utf-8")
