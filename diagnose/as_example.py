"""Facts in the form that the examples of rules take: YAML to be pasted under `facts:`."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator
from typing import Any

from kb.evidence import Looked, Observed
from kb.facts import Fact, fields_of
from kb.facts.conclusion import Outcome, Symptom
from kb.fieldtypes import field_types

PLAIN = re.compile(r"[A-Za-z_/][\w./+-]{0,120}")
"""A text that YAML reads as it stands."""
NO_TEXT = frozenset({"true", "false", "null"})


def example_lines(observed: Iterable[Observed], looked: Iterable[Looked]) -> Iterator[str]:
    """One line for each different fact, and one for the kinds that were looked for and not found.

    Reading them as an example (`kb.examples`) gives equal facts; where they were read is lost.
    """
    found: dict[str, None] = {}
    kinds: set[str] = set()
    for one in observed:
        if not isinstance(one.fact, (Symptom, Outcome)):
            kinds.add(one.fact.kind)
            found[fact_line(one.fact)] = None
    yield from sorted(found)
    absent = sorted({one.kind for one in looked if one.complete} - kinds)
    if absent:
        yield f"- looked: [{', '.join(absent)}]"


def fact_line(fact: Fact) -> str:
    """A fact as an entry under `facts:`, with what has to be stated of it."""
    told = stated_fields(fact).items()
    return f"- {fact.kind}: {{{', '.join(f'{name}: {_written(value)}' for name, value in told)}}}"


def stated_fields(fact: Fact) -> dict[str, Any]:
    """The fields that an example has to state: those that neither follow from others nor are as by default."""
    types = field_types(fact.kind)
    defaults = {info.alias or name: info.default for name, info in type(fact).model_fields.items()}
    return {
        name: value
        for name, value in fields_of(fact).items()
        if not types[name].derived and (types[name].required or value != defaults.get(name))
    }


def _written(value: Any) -> str:
    if isinstance(value, str):
        return value if PLAIN.fullmatch(value) and value.lower() not in NO_TEXT else json.dumps(value)
    if isinstance(value, float) and not value.is_integer():
        return json.dumps(str(value))  # rule files know no decimals; a text stands for one
    return json.dumps(int(value) if isinstance(value, float) else value)
