"""The examples inside a rule → evidence, as if it had been read from a machine."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from kb.evidence import Looked, Observed, Source
from kb.facts import Fact, fact_types
from kb.fieldtypes import field_types

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from kb.rule import Example

LOOKED = "looked"
PARTLY = "partly"
_EXCERPT = 160


def example_readings(example: Example) -> list[Observed | Looked]:
    """The facts of an example, and what counts as looked for in it.

    A kind with a fact counts as looked for completely, as does each kind under `looked`; one under `partly`
    counts as looked for in part only. The checks of `kb.check` say what is wrong with an example; here an
    unknown kind raises KeyError, and a fact that is none raises ValueError.
    """
    where = f"example: {example.name}"
    readings: list[Observed | Looked] = []
    complete: dict[str, bool] = {}
    for number, (kind, body) in enumerate(_entries(example.facts), start=1):
        if kind in {LOOKED, PARTLY}:
            complete.update(dict.fromkeys(listed(body), kind == LOOKED))
        else:
            readings.append(Observed(fact_of(kind, body), Source(where, number, number, _excerpt(kind, body))))
            complete.setdefault(kind, True)
    readings += [Looked(kind, whole, where, None if whole else "truncated") for kind, whole in complete.items()]
    return readings


def listed(body: Any) -> list[str]:
    """The kinds under `looked` or `partly`: a list, or one alone."""
    return body if isinstance(body, list) else [body]


def fact_of(kind: str, fields: Mapping[str, Any] | None) -> Fact:
    """The fact that an example states. Raises KeyError for an unknown kind, ValueError for wrong fields."""
    return fact_types()[kind].model_validate(_with_decimals(kind, fields))


def _entries(facts: Iterable[Mapping[str, Any]]) -> Iterator[tuple[str, Any]]:
    for entry in facts:
        yield from entry.items()


def _with_decimals(kind: str, fields: Any) -> Any:
    """The fields with `1.5` as a number where a number is wanted: rule files know no decimals."""
    if fields is None:
        return {}
    if not isinstance(fields, dict):
        return fields
    types = field_types(kind)
    return {
        name: _decimal(value) if name in types and types[name].base == "a number" else value
        for name, value in fields.items()
    }


def _decimal(value: Any) -> Any:
    try:
        return float(value) if isinstance(value, str) else value
    except ValueError:
        return value


def _excerpt(kind: str, fields: Mapping[str, Any] | None) -> str:
    text = f"{kind}: {{{', '.join(f'{name}: {_written(value)}' for name, value in (fields or {}).items())}}}"
    return text if len(text) <= _EXCERPT else text[: _EXCERPT - 1] + "…"


def _written(value: Any) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)
