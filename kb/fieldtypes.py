"""What rules may compare the fields of facts with, read off the fact types."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cache
from types import NoneType
from typing import TYPE_CHECKING, Any, Literal, TypeAlias, get_args, get_origin, get_type_hints

from pydantic import AfterValidator

from kb.facts import fact_types
from kb.facts.base import VersionMark, normal_bdf

if TYPE_CHECKING:
    from collections.abc import Iterator

Base: TypeAlias = Literal["a text", "a whole number", "a number", "true or false"]

_BASES: dict[Any, Base] = {str: "a text", int: "a whole number", float: "a number", bool: "true or false"}
NUMBERS: tuple[Base, ...] = ("a whole number", "a number")


@dataclass(frozen=True, slots=True)
class FieldType:
    """The type of one field, as far as rules are concerned."""

    base: Base
    choices: tuple[str, ...] = ()
    """The only values there are; empty where any will do."""
    is_version: bool = False
    is_bdf: bool = False
    required: bool = False
    derived: bool = False
    """Worked out from other fields: rules may test it, an example may not state it."""

    @property
    def ordered(self) -> bool:
        """Whether lt, le, gt and ge mean anything."""
        return self.is_version or self.base in NUMBERS

    def comparable(self, other: FieldType) -> bool:
        """Whether values of both types can be equal, or be ordered."""
        return self.base == other.base or (self.base in NUMBERS and other.base in NUMBERS)


@cache
def field_types(kind: str) -> dict[str, FieldType]:
    """The fields of a fact kind by the names that rules use; empty for an unknown kind."""
    fact_type = fact_types().get(kind)
    if fact_type is None:
        return {}
    stated = {
        info.alias or name: _field_type(info.annotation, info.metadata, required=info.is_required())
        for name, info in fact_type.model_fields.items()
    }
    derived = {
        info.alias or name: replace(
            _field_type(_returned(info.wrapped_property), [], required=False), derived=True
        )
        for name, info in fact_type.model_computed_fields.items()
    }
    return stated | derived


def _returned(prop: Any) -> Any:
    """What a computed field gives, by its annotation: pydantic resolves it only when the type is first built."""
    return get_type_hints(prop.fget, include_extras=True).get("return")


def _field_type(annotation: Any, metadata: list[Any], *, required: bool) -> FieldType:
    parts = list(_parts(annotation))
    marks = [*metadata, *(mark for part in parts for mark in getattr(part, "__metadata__", ()))]
    choices = tuple(value for part in parts if get_origin(part) is Literal for value in get_args(part))
    bases = [_BASES[part] for part in parts if part in _BASES]
    return FieldType(
        base=bases[0] if bases else "a text",
        choices=choices,
        is_version=any(isinstance(mark, VersionMark) for mark in marks),
        is_bdf=any(isinstance(mark, AfterValidator) and mark.func is normal_bdf for mark in marks),
        required=required,
    )


def _parts(annotation: Any) -> Iterator[Any]:
    """The annotation without `| None`, and what stands inside Annotated."""
    if get_origin(annotation) is Literal or isinstance(annotation, type):
        if annotation is not NoneType:
            yield annotation
        return
    if hasattr(annotation, "__metadata__"):
        yield annotation
        yield from _parts(annotation.__origin__)
        return
    for part in get_args(annotation):
        yield from _parts(part)
