"""The schema for editors describes rule files as they are written."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from kb.facts import fact_types
from kb.load import load_rules
from kb.rule import Cause, Clause
from kb.schema import rule_schema
from kb.vocabulary import vocabulary

FACTS = fact_types()

SCHEMA = rule_schema(load_rules(Path(__file__).parent.parent / "rules" / "good"))
DEFS = SCHEMA["$defs"]


def refs(node: Any) -> set[str]:
    """Everything that is referred to."""
    if isinstance(node, list):
        return {ref for item in node for ref in refs(item)}
    if not isinstance(node, dict):
        return set()
    own = {node["$ref"]} if isinstance(node.get("$ref"), str) else set()
    return own | {ref for item in node.values() for ref in refs(item)}


def test_it_is_json_and_refers_to_what_is_there() -> None:
    """No reference leads nowhere."""
    json.dumps(SCHEMA)
    assert {ref.removeprefix("#/$defs/") for ref in refs(SCHEMA)} <= set(DEFS)


def test_keys_are_those_of_the_yaml() -> None:
    """`for`, not `for_`; a clause is named by its key."""
    assert set(DEFS["cause"]["properties"]) == {info.alias or name for name, info in Cause.model_fields.items()}
    assert set(DEFS["clause"]["properties"]) == set(Clause.model_fields) - {"name"}
    assert DEFS["cause"]["properties"]["for"]["additionalProperties"] == {"$ref": "#/$defs/clause"}
    assert DEFS["cause"]["required"] == ["cause", "title", "status", "prior", "because", "requires"]


def test_ids_and_kinds_can_be_completed() -> None:
    """Causes from the vocabulary, symptoms and probes from the rules, kinds from the fact types."""
    assert DEFS["cause_id"]["anyOf"][0]["enum"] == list(vocabulary())
    assert DEFS["symptom_id"]["anyOf"][0]["enum"] == ["copy-wrong", "nvml-fails"]
    assert "iommu-groups" in DEFS["probe_id"]["anyOf"][0]["enum"]
    assert set(DEFS["patterns"]["additionalProperties"]["properties"]) == set(FACTS)
    assert {"looked", "partly", *FACTS} == set(DEFS["facts"]["properties"])


@pytest.mark.parametrize("kind", FACTS)
def test_every_field_of_every_kind_is_described(kind: str) -> None:
    """By the names that rules use."""
    fields = {info.alias or name for name, info in FACTS[kind].model_fields.items()}

    assert set(DEFS[f"fields.{kind}"]["properties"]) == fields
    assert set(DEFS[f"tests.{kind}"]["properties"]) >= fields


def test_the_text_under_a_field_is_shown() -> None:
    """Editors show what a field means while one writes."""
    described = DEFS["fields.kernel_module"]["properties"]["flavour"]["description"]

    assert described.startswith("Open or proprietary kernel module")


@pytest.mark.parametrize(
    ("kind", "field", "says"),
    [
        ("kernel_module", "reported_by", "Who says so."),
        ("kernel_module", "branch", "The driver branch, 590 of 590.48.01."),
        ("lost_gpu", "name", "`GPU 0000:41:00.0`, `GPU number 3`, or `a GPU`"),
    ],
    ids=["a field of its own", "a field that follows from others", "a field of the type that it builds on"],
)
def test_a_field_is_explained_by_what_stands_under_it(kind: str, field: str, says: str) -> None:
    """Editors show it while one writes a rule."""
    assert DEFS[f"tests.{kind}"]["properties"][field]["description"].startswith(says)
