"""How faults of rules are put into words: what was expected, what was found, and the nearest right name."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any, get_args

from pydantic import BaseModel

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from pydantic_core import ErrorDetails

_EXCERPT = 40
CLEARLY = 0.1
"""By how much one name must be nearer than the next, in parts of its letters, to be the one that was meant."""
_EXPECTED = {
    "string_type": "a text",
    "int_type": "a whole number",
    "bool_type": "true or false",
    "float_type": "a number",
    "tuple_type": "a list",
    "list_type": "a list",
    "dict_type": "a mapping `key: value`",
    "model_type": "a mapping `key: value`",
}


def nearest(name: str, known: Iterable[str]) -> str:
    """`; did you mean …?` for the known name that is spelt most alike, or the two; empty where none is near."""
    import difflib

    found = difflib.get_close_matches(name, list(known), n=2, cutoff=0.6)
    ratios = [difflib.SequenceMatcher(None, one, name).ratio() for one in found]
    if len(found) == 2 and ratios[0] - ratios[1] > CLEARLY:
        del found[1]
    return f"; did you mean {' or '.join(f'`{one}`' for one in found)}?" if found else ""


def one_of(values: Iterable[str]) -> str:
    """`expected one of a, b or c`."""
    *most, last = values
    return f"expected {'one of ' if most else ''}{', '.join(most)}{' or ' if most else ''}{last}"


def shown(value: Any) -> str:
    """A value as found in a rule, in a few words."""
    if value is None:
        return "nothing"
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, int):
        return f"the number {value}"
    if isinstance(value, str):
        return f"`{value if len(value) <= _EXCERPT else value[: _EXCERPT - 1] + '…'}`"
    return "a mapping" if isinstance(value, dict) else "a list"


def mismatch(expected: str, value: Any) -> str:
    """`expected …, found …`, with a hint where quotes would mend it."""
    message = f"expected {expected}, found {shown(value)}"
    if expected == "a text" and isinstance(value, int):
        text = str(value).lower() if isinstance(value, bool) else value
        return f'{message}; in quotes it is a text: "{text}"'
    if expected == "a text" and isinstance(value, dict):
        return f"{message}; a text that begins with `{{` needs quotes"
    return message


def in_words(fault: ErrorDetails, known: Iterable[str] = ()) -> str:
    """A fault found by pydantic, in our words; `known` are the keys that are accepted at its place."""
    key, value, kind = fault["loc"][-1] if fault["loc"] else "", fault["input"], fault["type"]
    if kind == "missing":
        return f"`{key}` is missing"
    if kind == "extra_forbidden":
        return f"unknown key `{key}`" + nearest(str(key), known)
    if kind == "literal_error":
        choices = re.findall(r"'([^']*)'", str(fault["ctx"]["expected"]))
        hint = nearest(value, choices) if isinstance(value, str) else ""
        return f"{one_of(choices)}, found {shown(value)}{hint}"
    if kind in _EXPECTED:
        return mismatch(_EXPECTED[kind], value)
    return str(fault["ctx"]["error"]) if kind == "value_error" else fault["msg"]


def keys_at(model: type[BaseModel], location: Sequence[str | int]) -> list[str]:
    """The keys that a model accepts at the place where these keys and indices lead."""
    for step in location:
        by_key = {info.alias or name: info.annotation for name, info in model.model_fields.items()}
        inner = next(_models_in(by_key.get(str(step))), None)
        if inner is not None:
            model = inner
    return [info.alias or name for name, info in model.model_fields.items()]


def _models_in(annotation: Any) -> Iterator[type[BaseModel]]:
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        yield annotation
    for part in get_args(annotation):
        yield from _models_in(part)
