"""What rules may speak of, to be looked up while one is written: symptoms, kinds of facts, probes, readers."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from importlib import import_module
from typing import Any, Literal, TypeAlias

from kb.errors import InputError
from kb.facts import fact_types, family_of
from kb.fieldtypes import FieldType, field_types
from kb.rule import RuleBase
from kb.schema import field_docs
from kb.wording import nearest

Sort: TypeAlias = Literal["symptoms", "facts", "probes", "readers"]
Row: TypeAlias = dict[str, Any]


def entries(sort: Sort, base: RuleBase) -> list[Row]:
    """All of one sort, each with its `id`, what it is in one line, and what a rule needs to know of it."""
    found: dict[Sort, Callable[[RuleBase], list[Row]]] = {
        "symptoms": _symptoms,
        "facts": _facts,
        "probes": _probes,
        "readers": _readers,
    }
    return found[sort](base)


def entry(sort: Sort, name: str, base: RuleBase) -> Row:
    """The one of this name; a kind of fact comes with its `fields`. Raises InputError with the nearest name."""
    known = {row["id"]: row for row in entries(sort, base)}
    if name not in known:
        hint = nearest(name, known) or f"; leave it out to see all {len(known)}"
        raise InputError(f"none of the {sort} is named `{name}`{hint}")
    return {**known[name], "fields": _fields(name)} if sort == "facts" else known[name]


def _symptoms(base: RuleBase) -> list[Row]:
    explained: dict[str, list[str]] = {}
    for cause in base.causes.values():
        for symptom in cause.explains:
            explained.setdefault(symptom, []).append(cause.cause)
    return [
        {"id": one.symptom, "what": one.title, "explained by": sorted(explained.get(one.symptom, []))}
        for _, one in sorted(base.symptoms.items())
    ]


def _facts(_: RuleBase) -> list[Row]:
    return [
        {"id": kind, "what": _summary(found), "family": family_of(kind)} for kind, found in fact_types().items()
    ]


def _probes(base: RuleBase) -> list[Row]:
    return [
        {"id": one.id, "what": one.title, "brings": list(one.covers), "runs": list(one.run), "gives": one.gives}
        for _, one in sorted(base.probes.items())
    ]


def _readers(_: RuleBase) -> list[Row]:
    from collectors.readers import module_of, readers

    rows = [
        {
            "id": one.name,
            "what": _summary(import_module(f"collectors.readers.{module_of(one)}")),
            "offered where it sees": list(one.markers),
            "commands": list(one.commands),
        }
        for one in readers()
    ]
    return sorted(rows, key=lambda row: str(row["id"]))


def _summary(thing: object) -> str:
    return " ".join((inspect.getdoc(thing) or "").split("\n\n", 1)[0].split())


def _fields(kind: str) -> list[Row]:
    docs = field_docs(fact_types()[kind])
    defaults = {info.alias or name: info.default for name, info in fact_types()[kind].model_fields.items()}
    return [
        {
            "field": name,
            "type": _type(of),
            "known": _known(of, defaults.get(name)),
            "what": " ".join(docs.get(name, "").split()),
        }
        for name, of in field_types(kind).items()
    ]


def _type(of: FieldType) -> str:
    if of.choices:
        return f"one of {', '.join(of.choices)}"
    return "a version" if of.is_version else "a PCI address" if of.is_bdf else of.base


def _known(of: FieldType, default: object) -> str:
    if of.derived or of.required:
        return "always" if of.required else "follows from other fields"
    return "may be unknown" if default is None else f"{str(default).lower()} where nothing else is said"


def as_lines(rows: list[Row]) -> list[str]:
    """The rows as aligned columns: id and what it is."""
    width = max((len(row["id"]) for row in rows), default=0)
    return [f"{row['id']:{width}}  {row['what']}" for row in rows]


def as_page(row: Row) -> list[str]:
    """One entry in full, a line or more for all that is known of it."""
    lines = [row["id"], f"  {row['what']}"]
    for key, value in row.items():
        if key == "fields":
            lines += [f"  {one['field']}: {one['type']} ({one['known']}){_after(one['what'])}" for one in value]
        elif key not in {"id", "what"} and value:
            lines.append(f"  {key}: {value if isinstance(value, str) else ', '.join(value)}")
    return lines


def _after(text: str) -> str:
    return f": {text}" if text else ""
