"""One question, `infer`: what follows from these facts by these rules, and through which firings?

Two engines answer it alike: durable-rules behind a fence, where it can be had, and our own plain one. Nothing
outside this package knows which of them ran, but for the name in `Inference.engine`.
"""

from __future__ import annotations

from collections.abc import Container, Iterable
from dataclasses import dataclass
from functools import cache
from types import ModuleType
from typing import Literal, TypeAlias, get_args

from engine.matcher import plain
from engine.matcher.check import check_rules
from engine.matcher.form import EngineError, Fact, Inference, Rule
from engine.matcher.memory import WorkingMemory
from engine.matcher.strata import stratify

__all__ = ["Engine", "Program", "infer", "program"]

Engine: TypeAlias = Literal["auto", "durable", "plain"]

# The fence was measured against this release.
_DURABLE_VERSION = "2.0.28"


@dataclass(frozen=True, slots=True)
class Program:
    """Rules that are checked and in the order in which they may run: good for many bodies of facts."""

    strata: tuple[tuple[Rule, ...], ...]
    kinds: frozenset[str]
    """The kinds of facts that the rules speak of."""

    def only(self, names: Container[str]) -> Program:
        """The rules of these names, in the same order."""
        strata = tuple(tuple(rule for rule in group if rule.name in names) for group in self.strata)
        return Program(strata, self.kinds)


def program(rules: Iterable[Rule]) -> Program:
    """The rules, ready to be run. Raises RuleSetError for rules that cannot be."""
    rules = tuple(rules)
    check_rules(rules)
    kinds = {pattern.kind for rule in rules for pattern in (*rule.patterns, *rule.absent)}
    return Program(tuple(map(tuple, stratify(rules))), frozenset(kinds))


def infer(rules: Iterable[Rule] | Program, facts: Iterable[Fact], engine: Engine = "auto") -> Inference:
    """Everything that the rules conclude from the facts, and each firing that concludes it.

    "auto" takes durable-rules, and the plain engine where durable-rules does not import or meets one of its
    limits; `Inference.engine` then says why. Raises RuleSetError for rules that cannot be run, FactError for
    a fact that is not one, and EngineError where "durable" was asked for and cannot do it.
    """
    if engine not in get_args(Engine):
        raise ValueError(f"no engine is called {engine!r}; there are {', '.join(get_args(Engine))}")
    ready = rules if isinstance(rules, Program) else program(rules)
    facts = tuple(facts)
    able = _able([rule for group in ready.strata for rule in group], facts)
    strata = [[rule for rule in group if rule.name in able] for group in ready.strata]
    name = "plain"
    if engine != "plain":
        memory = WorkingMemory(facts)
        try:
            _durable().run(strata, memory)
        except EngineError as error:
            if engine == "durable":
                raise
            name = f"plain (durable-rules: {error})"
        else:
            return memory.inference(f"durable-rules {_DURABLE_VERSION}")
    memory = WorkingMemory(facts)
    plain.run(strata, memory)
    return memory.inference(name)


def _able(rules: Iterable[Rule], facts: Iterable[Fact]) -> set[str]:
    """The names of the rules that may fire: each kind that they want is a fact's, or what another one concludes.

    Most rules speak of evidence that a case does not have; neither engine needs to be told of them.
    """
    kinds = {fact.get("kind") for fact in facts}
    waiting, able = list(rules), set[str]()
    while True:
        ready = [rule for rule in waiting if all(pattern.kind in kinds for pattern in rule.patterns)]
        if not ready:
            return able
        able.update(rule.name for rule in ready)
        waiting = [rule for rule in waiting if rule.name not in able]
        kinds.update(rule.head.kind for rule in ready if rule.head is not None)


def _durable() -> ModuleType:
    module = _import_durable()
    if isinstance(module, str):
        raise EngineError(module)
    return module


@cache
def _import_durable() -> ModuleType | str:
    """The module, or why there is none, found out once: an import that fails is slow each time."""
    try:
        from engine.matcher import durable  # it costs time, and is not everywhere
    except ImportError as error:
        return "not installed" if isinstance(error, ModuleNotFoundError) else "it does not import"
    if durable.VERSION != _DURABLE_VERSION:
        return f"its version is {durable.VERSION}, not {_DURABLE_VERSION}"
    return durable if durable.works() else "it fails its self-test"
