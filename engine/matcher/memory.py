"""The working memory of one run: distinct facts under numbers, and the firings found so far.

Both engines work on it, so that what counts as the same fact, what a head concludes and in which order the
outcome is told are decided in one place.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, TypeAlias

from engine.matcher.form import Fact, FactError, Firing, Inference, Ref, Rule, Scalar

# A value that is known, in a shape that Python's own == and hash compare as the rules mean it: 1 equals 1.0,
# and a bool, which Python takes for a number, is packed so that it equals nothing but itself.
Known: TypeAlias = str | int | float | tuple[bool]
KnownFact: TypeAlias = dict[str, Known]
Identity: TypeAlias = tuple[tuple[str, type, Known], ...]

_TRUE, _FALSE = (True,), (False,)


def known(value: Scalar) -> Known | None:
    """The value in comparable shape; None for what is unknown, which includes a float that is not a number.

    Raises FactError for anything but exactly str, int, float, bool or None: a subclass may bring its own
    equality.
    """
    kind = type(value)
    if kind is str or kind is int or value is None:
        return value
    if kind is float:
        return value if value == value else None  # noqa: PLR0124  the test for NaN
    if kind is bool:
        return _TRUE if value else _FALSE
    raise FactError(f"{value!r} is of type {kind.__name__}, not a scalar")


def told(value: Known) -> Scalar:
    """The value as it was before `known`."""
    return value[0] if isinstance(value, tuple) else value


class WorkingMemory:
    """Distinct facts, numbered from 0 in order of arrival, and the firings among them."""

    __slots__ = ("_firings", "_given", "_inputs", "_numbers", "_positions", "facts")

    def __init__(self, given: Sequence[Fact]) -> None:
        """Takes the input facts. Raises FactError where one has no kind or is not made of scalars."""
        self.facts: list[KnownFact] = []
        self._given = tuple(given)
        self._positions: list[int] = []
        self._numbers: dict[Identity, int] = {}
        self._firings: dict[tuple[str, tuple[int, ...]], tuple[Rule, int | None]] = {}
        for position, fact in enumerate(self._given):
            if type(fact.get("kind")) is not str:
                raise FactError(f"fact {position} has no kind: {dict(fact)!r}")
            if self._add(known_fact(fact, position))[1]:
                self._positions.append(position)
        self._inputs = len(self.facts)

    def conclude(self, rule: Rule, binding: tuple[int, ...]) -> int | None:
        """Records a firing and returns the number of its conclusion where that is a new fact, else None.

        `binding` holds a fact number for each pattern of the rule. A firing recorded before changes nothing.
        """
        firing = (rule.name, binding)
        if firing in self._firings:
            return None
        if rule.head is None:
            self._firings[firing] = (rule, None)
            return None
        number, is_new = self._add(self._conclusion(rule, binding))
        self._firings[firing] = (rule, number)
        return number if is_new else None

    def inference(self, engine: str) -> Inference:
        """The outcome so far, in the order that depends on content only."""
        content = {number: content_of(self.facts[number]) for number in self._mentioned()}
        derived = sorted(range(self._inputs, len(self.facts)), key=content.__getitem__)
        position = dict(enumerate(self._positions))
        position.update((number, len(self._given) + rank) for rank, number in enumerate(derived))
        rank = {number: place for place, number in enumerate(sorted(content, key=content.__getitem__))}
        ordered = sorted(self._firings, key=lambda found: (found[0], [rank[number] for number in found[1]]))
        firings = []
        for name, binding in ordered:
            rule, concluded = self._firings[name, binding]
            aliases = [pattern.alias for pattern in rule.patterns]
            bindings = tuple(zip(aliases, (position[number] for number in binding), strict=True))
            firings.append(Firing(name, bindings, None if concluded is None else position[concluded]))
        concluded_facts = [
            {field: told(value) for field, value in self.facts[number].items()} for number in derived
        ]
        return Inference((*self._given, *concluded_facts), tuple(firings), engine)

    def _mentioned(self) -> set[int]:
        mentioned = set(range(self._inputs, len(self.facts)))
        for _, binding in self._firings:
            mentioned.update(binding)
        return mentioned

    def _conclusion(self, rule: Rule, binding: tuple[int, ...]) -> KnownFact:
        if rule.head is None:
            return {}
        aliases = (pattern.alias for pattern in rule.patterns)
        bound = dict(zip(aliases, (self.facts[number] for number in binding), strict=True))
        fact: KnownFact = {"kind": rule.head.kind}
        for field, source in rule.head.fields:
            value = bound[source.alias].get(source.field) if isinstance(source, Ref) else known(source)
            if value is not None:
                fact[field] = value
        return fact

    def _add(self, fact: KnownFact) -> tuple[int, bool]:
        # Types count here though 1 equals 1.0 in a test: what was observed differently stays two facts.
        identity = tuple([(field, type(value), value) for field, value in sorted(fact.items())])
        number = self._numbers.setdefault(identity, len(self.facts))
        if number < len(self.facts):
            return number, False
        self.facts.append(fact)
        return number, True


def known_fact(fact: Fact, position: int = 0) -> KnownFact:
    """The fact without what is unknown, its values in comparable shape. Raises FactError for what is no scalar."""
    kept = {}
    for field, value in fact.items():
        try:
            comparable = known(value)
        except FactError as error:
            raise FactError(f"fact {position}, field {field!r}: {error}") from None
        if comparable is not None:
            kept[field] = comparable
    return kept


def content_of(fact: KnownFact) -> tuple[Any, ...]:
    """What facts are ordered by: where two agree up to a value, the name of its type comes before it."""
    parts: list[Any] = [fact["kind"]]
    for field in sorted(fact):
        value = fact[field]
        parts += (field, type(value).__name__, value)
    return tuple(parts)
