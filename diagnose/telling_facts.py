"""Which facts of some evidence tell most, as a healthy machine has none of them, and the tests that fit them."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Mapping

from engine.coverage import DERIVED
from kb.asked import HOLDS, LINE
from kb.evidence import Observed
from kb.facts import Fact, fields_of
from kb.facts.launch import RunEnd
from kb.fieldtypes import field_types

WELL = frozenset({"finished", "stopped"})
"""How a run ends where nothing is wrong."""
TEXTS = ("text", "message")
NAMES = ("error", HOLDS)
"""Fields that hold a name of what it is, not which one it is."""
SHORTEST, LONGEST = 8, 80
"""Characters of what is tested of a text."""

_TROUBLE = re.compile(
    r"_(?:errors?|problem|trouble|failure|fault|conflict|crash|kill|lockup|missing|refused|unresolved|exit|oom|defect)$"
)
"""How kinds of facts are named that tell of trouble."""
_CHANGES = re.compile(r"\S*[\d/=@'\"`{}()\[\]<>\\|*?+^$]\S*|\s[—:-]\s|(?<=[a-z])\.\s")
"""Words that another time may be others (numbers, addresses, paths, quotations), and ends of sentences."""
_NAME = re.compile(r"[A-Za-z_][A-Za-z_.]{2,60}")


def troubles(observed: Iterable[Observed]) -> Iterator[Fact]:
    """The facts that tell of trouble by what they are, in order, without those of an earlier boot."""
    for one in observed:
        fact = one.fact
        if fact.kind in DERIVED or getattr(fact, "boot", None) == "earlier":
            continue
        ended_badly = isinstance(fact, RunEnd) and fact.end not in WELL
        if fact.kind == LINE or ended_badly or _TROUBLE.search(fact.kind):
            yield fact


def weight_of(fact: Fact) -> tuple[bool, bool, int]:
    """How much a fact tells, more is more: a line that was asked for, what is no consequence, words and names."""
    own = bool(choices_of(fact)) and getattr(fact, "consequence", False) is not True
    return fact.kind == LINE, own, 2 * bool(names_of(fact)) + bool(text_test(fact))


def choices_of(fact: Fact) -> Mapping[str, object]:
    """The fields of a fact that tell its kind and not which one it is: choices, and true or false."""
    types = field_types(fact.kind)
    return {
        name: value
        for name, value in fields_of(fact).items()
        if not types[name].derived and (types[name].choices or isinstance(value, bool)) and value != "other"
    }


def names_of(fact: Fact) -> Mapping[str, object]:
    """The fields by which a fact names what it is: the type of an error, the text that a line holds."""
    return {
        name: value
        for name, value in fields_of(fact).items()
        if name in NAMES and isinstance(value, str) and (name == HOLDS or _NAME.fullmatch(value))
    }


def text_test(fact: Fact) -> Mapping[str, str]:
    """A test on the part of its text that stays the same from one time to the next; empty where there is none."""
    fields = fields_of(fact)
    for name in TEXTS:
        found = stable_part(str(fields.get(name, "")), str(fields.get(HOLDS, "")))
        if found:
            return {name: found}
    return {}


def stable_part(text: str, but: str = "") -> str:
    """An expression for the first words that stay the same and say something; empty where there are none.

    That is the first stretch of three words, else the longest of all; `but` is asked for already.
    """
    pieces = [" ".join(piece.split()).strip(".,;: ") for piece in _CHANGES.split(text)]
    pieces = [piece for piece in pieces if len(piece) >= SHORTEST and piece not in but]
    found = next((one for one in pieces if one.count(" ") > 1), max(pieces, key=len, default=""))
    if len(found) > LONGEST:
        found = found[:LONGEST].rsplit(" ", 1)[0]
    return found.replace(".", r"\.")


def tests_of(fact: Fact, *, text: bool) -> str:
    """The tests of a pattern for it, as rules write them; with `text` on its words, too."""
    tests = {name: written(value) for name, value in {**names_of(fact), **choices_of(fact)}.items()}
    if text:
        tests |= {name: f"{{matches: {json.dumps(value)}}}" for name, value in text_test(fact).items()}
    return ", ".join(f"{name}: {value}" for name, value in tests.items())


def written(value: object) -> str:
    """A value as YAML has it; a text with spaces or signs in quotes."""
    if isinstance(value, bool):
        return str(value).lower()
    return (
        str(value)
        if _NAME.fullmatch(str(value)) or re.fullmatch(r"[\w-]+", str(value))
        else json.dumps(str(value))
    )
