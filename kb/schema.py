"""A JSON Schema of rule files for editors: it completes keys, fact kinds, fields, values and ids.

It describes the YAML as authors write it, which is shorter than the models that it is read into. It is
wider than the checks: an editor can't know which binding is bound, and it reads `550.54` as a number where we
read a text.
"""

from __future__ import annotations

import ast
import inspect
import textwrap
from types import NoneType
from typing import TYPE_CHECKING, Any, Literal, TypeAlias, get_args, get_origin

from pydantic import BaseModel

from kb.examples import LOOKED, PARTLY
from kb.facts import fact_types
from kb.fieldtypes import Base, FieldType, field_types
from kb.rule import Cause, Changes, Clause, Example, Filling, Override, Pattern, Probe, Remedy, SymptomRule
from kb.vocabulary import vocabulary

if TYPE_CHECKING:
    from collections.abc import Iterator

    from pydantic.fields import ComputedFieldInfo, FieldInfo

    from kb.rule import RuleBase

Schema: TypeAlias = dict[str, Any]

_REFERENCE: Schema = {"type": "string", "pattern": r"^\$[a-z][a-z0-9_]*\.[a-z][a-z0-9_]*$"}
_LITERALS: dict[Base, Schema] = {
    "a text": {"type": ["string", "number"]},
    "a whole number": {"type": "integer"},
    "a number": {"type": "number"},
    "true or false": {"type": "boolean"},
}
_PARTS: dict[type[BaseModel], str] = {
    Clause: "clause",
    Remedy: "remedy",
    Example: "example",
    Changes: "changes",
    Filling: "filling",
}
_IDS = {
    "cause": "cause_id",
    "leads_to": "cause_id",
    "replaced_by": "cause_id",
    "explains": "symptom_id",
    "ask": "probe_id",
    "asks": "probe_id",
}


def rule_schema(base: RuleBase) -> Schema:
    """The schema of a rule file, with the ids of this rule base to choose from."""
    return {
        "$schema": "http://json-schema.org/draft-07/schema#",
        "title": "A rule of diagnose: a cause, a symptom, or a list of probes",
        "anyOf": [_ref("cause"), _ref("override"), _ref("symptom"), {"type": "array", "items": _ref("probe")}],
        "$defs": {
            "cause": _model(Cause),
            "override": _model(Override),
            "symptom": _model(SymptomRule),
            "probe": _model(Probe),
            **{name: _model(model) for model, name in _PARTS.items()},
            "cause_id": _suggested({**vocabulary(), **base.causes}),
            "symptom_id": _suggested(base.symptoms),
            "probe_id": _suggested(base.probes),
            "kind": {"enum": list(fact_types())},
            "reference": _REFERENCE,
            "patterns": _patterns(),
            **_tests(),
            "facts": _facts(),
            **{f"tests.{kind}": _fields(kind, of_tests=True) for kind in fact_types()},
            **{f"fields.{kind}": _fields(kind, of_tests=False) for kind in fact_types()},
        },
    }


def _ref(name: str) -> Schema:
    return {"$ref": f"#/$defs/{name}"}


def _suggested(ids: dict[str, Any]) -> Schema:
    """Any text, with the known ids to choose from: a new one may be about to be written."""
    return {"anyOf": [{"enum": list(ids)}, {"type": "string"}]} if ids else {"type": "string"}


def _list_or_one(item: Schema) -> Schema:
    return {"anyOf": [item, {"type": "array", "items": item}]}


def _model(model: type[BaseModel]) -> Schema:
    """An object with the keys of the model; the name of a clause is its key and no field of it."""
    docs = field_docs(model)
    skipped = {"name"} if model is Clause else set()
    keys = {name: info for name, info in model.model_fields.items() if name not in skipped}
    return {
        "type": "object",
        "description": inspect.getdoc(model) or "",
        "additionalProperties": False,
        "required": [info.alias or name for name, info in keys.items() if info.is_required()],
        "properties": {
            info.alias or name: {
                "description": docs.get(info.alias or name, ""),
                **_key(name, info.annotation),
            }
            for name, info in keys.items()
        },
    }


def _key(name: str, annotation: Any) -> Schema:
    if name == "facts":
        return {"type": "array", "items": _ref("facts")}
    if name in _IDS or name == "covers":
        item = {"allOf": [_ref(_IDS.get(name, "kind"))]}
        return _list_or_one(item) if get_origin(annotation) is tuple else item
    return _type(annotation)


def _type(annotation: Any) -> Schema:
    if annotation in {bool, int}:
        return {"type": "boolean" if annotation is bool else "integer"}
    if get_origin(annotation) is Literal:
        return {"enum": list(get_args(annotation))}
    if get_origin(annotation) is tuple:
        return _tuple(get_args(annotation)[0])
    if annotation in _PARTS:
        return {"allOf": [_ref(_PARTS[annotation])]}
    if get_origin(annotation) is dict:
        return {"type": "object", "additionalProperties": _type(get_args(annotation)[1])}
    inner = [part for part in get_args(annotation) if part is not NoneType]
    return _type(inner[0]) if inner else {"type": "string"}


def _tuple(item: Any) -> Schema:
    if item is Pattern:
        return {"allOf": [_ref("patterns")]}
    if get_origin(item) is tuple:
        return _list_or_one(_ref("patterns"))
    if item is Clause:
        return {"type": "object", "additionalProperties": _ref("clause")}
    return {"type": "array", "items": _ref(_PARTS[item])} if item in _PARTS else _list_or_one(_type(item))


def _patterns() -> Schema:
    kinds = {kind: {"description": _summary(kind), "allOf": [_ref(f"tests.{kind}")]} for kind in fact_types()}
    return {
        "type": "object",
        "minProperties": 1,
        "propertyNames": {"pattern": "^[a-z][a-z0-9_]*$"},
        "additionalProperties": {
            "type": "object",
            "minProperties": 1,
            "maxProperties": 1,
            "additionalProperties": False,
            "properties": kinds,
        },
    }


def _facts() -> Schema:
    kinds = {kind: {"description": _summary(kind), "allOf": [_ref(f"fields.{kind}")]} for kind in fact_types()}
    listed = {name: _list_or_one(_ref("kind")) for name in (LOOKED, PARTLY)}
    return {
        "type": "object",
        "minProperties": 1,
        "maxProperties": 1,
        "additionalProperties": False,
        "properties": kinds | listed,
    }


def _summary(kind: str) -> str:
    return inspect.getdoc(fact_types()[kind]) or ""


def _fields(kind: str, *, of_tests: bool) -> Schema:
    docs = field_docs(fact_types()[kind])
    types = {name: of for name, of in field_types(kind).items() if of_tests or not of.derived}
    return {
        "type": ["object", "null"],
        "additionalProperties": False,
        "required": [] if of_tests else [name for name, of in types.items() if of.required],
        "properties": {
            name: {"description": docs.get(name, ""), "allOf": [_test(of) if of_tests else _literal(of)]}
            for name, of in types.items()
        },
    }


def _literal(of: FieldType) -> Schema:
    return {"enum": list(of.choices)} if of.choices else _LITERALS[of.base]


def _test(of: FieldType) -> Schema:
    if of.choices:
        return _test_of(_literal(of), matches=True)
    return _ref("test.a version" if of.is_version else f"test.{of.base}")


def _tests() -> dict[str, Schema]:
    """The tests of all fields that may hold any value of their type."""
    return {
        "test.a text": _test_of(_LITERALS["a text"], matches=True),
        "test.a version": _test_of(_LITERALS["a text"], matches=True, ordered=True),
        "test.a whole number": _test_of(_LITERALS["a whole number"], ordered=True),
        "test.a number": _test_of(_LITERALS["a whole number"], ordered=True),
        "test.true or false": _test_of(_LITERALS["true or false"]),
    }


def _test_of(literal: Schema, *, matches: bool = False, ordered: bool = False) -> Schema:
    value = {"anyOf": [literal, _ref("reference")]}
    operators: Schema = {"not": _list_or_one(value), "known": {"type": "boolean"}}
    if ordered:
        operators |= dict.fromkeys(("lt", "le", "gt", "ge"), value)
    if matches:
        operators["matches"] = _list_or_one({"type": "string", "format": "regex"})
    tests = {
        "type": "object",
        "minProperties": 1,
        "additionalProperties": False,
        "properties": operators,
    }
    return {"anyOf": [*value["anyOf"], {"type": "array", "items": value, "minItems": 1}, tests]}


def field_docs(model: type[BaseModel]) -> dict[str, str]:
    """What the source of a model, or of one that it builds on, says of each field, by the name that rules use."""
    docs: dict[str, str] = {}
    for base in reversed(model.__mro__):
        if issubclass(base, BaseModel) and base is not BaseModel:
            docs |= _docs_in(base)
    for name, computed in model.model_computed_fields.items():
        docs[name] = inspect.getdoc(computed.wrapped_property) or ""
    return {info.alias or name: docs[name] for name, info in _fields_of(model) if name in docs}


def _fields_of(model: type[BaseModel]) -> Iterator[tuple[str, FieldInfo | ComputedFieldInfo]]:
    yield from model.model_fields.items()
    yield from model.model_computed_fields.items()


def _docs_in(model: type) -> dict[str, str]:
    body = ast.parse(textwrap.dedent(inspect.getsource(model))).body[0]
    if not isinstance(body, ast.ClassDef):
        return {}
    docs = {}
    for field, below in zip(body.body, body.body[1:], strict=False):
        if isinstance(field, ast.AnnAssign) and isinstance(field.target, ast.Name) and isinstance(below, ast.Expr):
            text = below.value.value if isinstance(below.value, ast.Constant) else None
            if isinstance(text, str):
                docs[field.target.id] = inspect.cleandoc(text)
    return docs
