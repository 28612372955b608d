"""Patterns: tests on facts, as rules write them, and the parsing of their YAML form.

A pattern in YAML is `binding: {fact_kind: {field: test}}`. A test is a literal (equal), a list (any of),
`{not|lt|le|gt|ge|matches|known: x}`, or `$binding.field` of an earlier binding. There is nothing else: no
expressions, no code.
"""

from __future__ import annotations

from typing import Annotated, Any, Literal, TypeAlias, get_args

from pydantic import BaseModel, BeforeValidator, ConfigDict

Scalar: TypeAlias = str | int | bool
Operator: TypeAlias = Literal["is", "not", "lt", "le", "gt", "ge", "matches", "known"]
Fault: TypeAlias = tuple[tuple[str | int, ...], str]
"""The keys that lead to a fault, and what is wrong there."""

OPERATORS: frozenset[str] = frozenset(get_args(Operator)) - {"is"}

_FORM = "`binding: {fact_kind: {field: test}}`"


class Model(BaseModel):
    """The base of all parts of a rule: frozen and strict, and no unknown keys."""

    model_config = ConfigDict(frozen=True, extra="forbid", strict=True, populate_by_name=True)


class Ref(Model):
    """`$binding.field`: the value of a field of an earlier binding."""

    binding: str
    field: str

    def __str__(self) -> str:
        return f"${self.binding}.{self.field}"


class FieldTest(Model):
    """One test on one field. `is` and `not` with several values mean any of them, none of them."""

    field: str
    op: Operator
    values: tuple[Scalar | Ref, ...]


class Pattern(Model):
    """One fact that must be there, and the name by which the rule speaks of it."""

    binding: str
    fact: str
    tests: tuple[FieldTest, ...] = ()


class PatternError(ValueError):
    """Everything that is wrong in one stretch of a rule, with the keys that lead to each fault."""

    def __init__(self, faults: list[Fault]) -> None:
        super().__init__("; ".join(message for _, message in faults))
        self.faults = faults


def parse_patterns(raw: Any) -> tuple[Pattern, ...]:
    """The patterns of one YAML mapping `binding: {fact_kind: {field: test}}`. Raises PatternError."""
    faults: list[Fault] = []
    patterns = _patterns(raw, faults)
    if faults:
        raise PatternError(faults)
    return patterns


def parse_alternatives(raw: Any) -> tuple[tuple[Pattern, ...], ...]:
    """The alternatives of a `when`: one mapping of patterns, or a list of them. Raises PatternError."""
    faults: list[Fault] = []
    alternatives = []
    for index, choice in enumerate(raw if isinstance(raw, list) and raw else [raw]):
        found: list[Fault] = []
        alternatives.append(_patterns(choice, found))
        faults += [((index, *path), message) for path, message in found]
    if faults:
        raise PatternError(faults)
    return tuple(alternatives)


def _patterns(raw: Any, faults: list[Fault]) -> tuple[Pattern, ...]:
    if not isinstance(raw, dict) or not raw:
        faults.append(((), f"expected {_FORM}"))
        return ()
    return tuple(
        Pattern(binding=binding, fact=kind, tests=tuple(_tests(binding, kind, fields, faults)))
        for binding, body in raw.items()
        for kind, fields in _one_kind(binding, body, faults)
    )


def _one_kind(binding: str, body: Any, faults: list[Fault]) -> list[tuple[str, Any]]:
    if isinstance(body, dict) and len(body) == 1:
        return list(body.items())
    found = f", found {len(body) or 'no'} kinds" if isinstance(body, dict) else ""
    faults.append(((binding,), f"expected one fact kind under binding `{binding}`: {_FORM}{found}"))
    return []


def _tests(binding: str, kind: str, fields: Any, faults: list[Fault]) -> list[FieldTest]:
    if fields is None:
        return []
    if not isinstance(fields, dict):
        faults.append(((binding, kind), f"expected `{{field: test}}` after `{kind}`"))
        return []
    found: list[Fault] = []
    tests = [test for name, value in fields.items() for test in _field_tests(name, value, found)]
    faults += [((binding, kind, *path), message) for path, message in found]
    return tests


def _field_tests(name: str, value: Any, faults: list[Fault]) -> list[FieldTest]:
    if not isinstance(value, dict):
        return _test(name, "is", value, (name,), faults)
    if not value:
        faults.append(((name,), f"expected a test for field `{name}`, found `{{}}`"))
    tests = []
    for op, argument in value.items():
        if op in OPERATORS:
            tests += _test(name, op, argument, (name, op), faults)
        else:
            faults.append(((name, op), f"unknown test `{op}`: expected one of {', '.join(sorted(OPERATORS))}"))
    return tests


def _test(name: str, op: Any, argument: Any, path: tuple[str, ...], faults: list[Fault]) -> list[FieldTest]:
    values = []
    for index, item in enumerate(argument if isinstance(argument, list) and argument else [argument]):
        try:
            values.append(_value(name, item))
        except ValueError as error:
            faults.append(((*path, index), str(error)))
    return [FieldTest(field=name, op=op, values=tuple(values))]


def _value(name: str, item: Any) -> Scalar | Ref:
    if not isinstance(item, (str, int, bool)):
        raise ValueError(  # noqa: TRY004 - the fault of a rule, not of a caller
            f"expected a text, a whole number, true or false, or a list of them for field `{name}`"
        )
    if not isinstance(item, str) or not item.startswith("$"):
        return item
    binding, dot, field = item[1:].partition(".")
    if not (binding and dot and field):
        raise ValueError(f"expected `$binding.field`, found `{item}`")
    return Ref(binding=binding, field=field)


def _as_patterns(raw: Any) -> Any:
    return raw if isinstance(raw, tuple) else parse_patterns(raw)


def _as_alternatives(raw: Any) -> Any:
    return raw if isinstance(raw, tuple) else parse_alternatives(raw)


Patterns: TypeAlias = Annotated[tuple[Pattern, ...], BeforeValidator(_as_patterns)]
"""Patterns that must all match (in `unless`: none may), in YAML or parsed."""

Alternatives: TypeAlias = Annotated[tuple[tuple[Pattern, ...], ...], BeforeValidator(_as_alternatives)]
"""Several sets of patterns, one of which must match, in YAML or parsed."""
