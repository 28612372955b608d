"""What is left of a rule with faults, so that everything else in it can be checked in the same go.

A misspelt key gets the name that was meant, a value that can't be gets one that can, and what can't be read at all
is left out. Such a rule is checked and never run.
"""

from __future__ import annotations

import re
from copy import deepcopy
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeVar

from pydantic import BaseModel, ValidationError

from kb.pattern import PatternError
from kb.wording import keys_at, nearest

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from pydantic_core import ErrorDetails

MOST_ROUNDS = 6
"""What is mended may uncover faults below it."""
STAND_IN = "…"
_VALUES = {"string_type": STAND_IN, "int_type": 1, "bool_type": False}
_MEANT = re.compile(r"did you mean `([^`]+)`\?$")

Keys = tuple[str | int, ...]
ModelT = TypeVar("ModelT", bound=BaseModel)


@dataclass(frozen=True, slots=True)
class Mended:
    """What of a rule can't be trusted, because it is not what the author wrote."""

    parts: frozenset[str]
    """The keys of the rule under which something was changed."""
    lost: bool
    """Something was left out: names that are asked for elsewhere may have been bound there."""
    renamed: Mapping[Keys, str]
    """Misspelt keys, by the keys that lead to them under their right names."""

    def as_written(self, keys: Keys) -> Keys:
        """The keys as they stand in the file."""
        return tuple(self.renamed.get(keys[: place + 1], key) for place, key in enumerate(keys))


def salvaged(model: type[ModelT], raw: Any) -> tuple[ModelT, Mended] | None:
    """The rule that is left, and what of it was changed; None where not enough of it can be read."""
    value, parts, lost = deepcopy(raw), set[str](), False
    renamed: dict[Keys, str] = {}
    for _ in range(MOST_ROUNDS):
        try:
            return model.model_validate(value), Mended(frozenset(parts), lost, renamed)
        except ValidationError as error:
            # Misspelt keys first, since what they meant is said to be missing; lists from their end.
            faults = error.errors(include_url=False)[::-1]
            for fault in sorted(faults, key=lambda one: one["type"] != "extra_forbidden"):
                keys = as_written(fault["loc"], value)
                parts.add(str(keys[0]) if keys else "")
                lost |= _mend(value, keys, fault, model, renamed)
    return None


def as_written(location: Sequence[str | int], value: Any) -> Keys:
    """The keys of the file for those of the models, where clauses are a list but their names are keys."""
    match location:
        case ("for" | "against" as side, int(index), *rest) if isinstance(value, dict):
            names = list(value[side])
            return (side, names[index], *rest)
        case _:
            return tuple(location)


def _mend(value: Any, keys: Keys, fault: ErrorDetails, model: type[BaseModel], renamed: dict[Keys, str]) -> bool:
    """Changes what is at fault; whether something was left out."""
    cause = fault.get("ctx", {}).get("error")
    if isinstance(cause, PatternError):
        for path, _ in reversed(cause.faults):
            _remove(value, (*keys, *path))
        return True
    holder, last = _parent(value, keys)
    if fault["type"] == "extra_forbidden":
        meant = _MEANT.search(nearest(str(keys[-1]), keys_at(model, fault["loc"][:-1])))
        content = holder.pop(last, None)
        if meant is not None:
            holder.setdefault(meant[1], content)
            renamed[(*keys[:-1], meant[1])] = str(last)
        return meant is None
    if fault["type"] == "literal_error":
        holder[last] = re.findall(r"'([^']*)'", str(fault["ctx"]["expected"]))[0]
    elif fault["type"] == "missing":
        holder.setdefault(last, STAND_IN)
    elif fault["type"] in _VALUES:
        holder[last] = _VALUES[fault["type"]]
    else:
        _remove(value, keys)
        return True
    return False


def _parent(value: Any, keys: Keys) -> tuple[Any, Any]:
    """What holds the value at these keys, and its key there. What stands for a list of one has no places."""
    holder: Any = {"": value}
    last: Any = ""
    for key in keys:
        inner = holder[last]
        if _has_place(inner, key, is_last=key == keys[-1]):
            holder, last = inner, key
        elif not isinstance(key, int):
            break
    return holder, last


def _has_place(value: Any, key: str | int, *, is_last: bool) -> bool:
    """Whether there is something at the key, or, as the last one, could be."""
    if isinstance(value, dict):
        return key in value or (is_last and isinstance(key, str))
    return isinstance(value, list) and isinstance(key, int) and key < len(value)


def _remove(value: Any, keys: Keys) -> None:
    holder, last = _parent(value, keys)
    if isinstance(holder, list):
        del holder[last]
    elif last:
        holder.pop(last, None)
