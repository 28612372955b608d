"""Where the facts of each kind come from, and who asks for them."""

from __future__ import annotations

import ast
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from typing import Any

from collectors import combiners
from collectors.readers import module_of, readers
from diagnose.as_example import fact_line
from generator.samples import Sample
from kb.check.walk import parts_of
from kb.examples import fact_of
from kb.facts import fact_types, fields_of
from kb.rule import Cause, Patterns, RuleBase

_MAKERS = frozenset({"model_validate", "model_construct"})
_ANNOUNCES = "looked_at"


@dataclass(frozen=True, slots=True)
class Combiner:
    """A module that makes facts of others."""

    name: str
    about: str
    makes: frozenset[str]
    takes: tuple[str, ...]
    """Kinds that it looks at, in the order of their names."""


@dataclass(frozen=True, slots=True)
class Sources:
    """All that is known of where facts come from, by their kinds."""

    samples: Mapping[str, Sequence[Sample]]
    combiners: Mapping[str, Sequence[Combiner]]
    examples: Mapping[str, str]
    """A fact of each kind as the examples of rules write it."""
    asked_by: Mapping[str, Sequence[str]]
    """Ids of the causes whose rules speak of it."""
    probes: Mapping[str, Sequence[str]]
    """Ids of the probes whose output brings it."""


def sources_of(base: RuleBase, samples: Sequence[Sample]) -> Sources:
    """What these rules and samples, and the combiners, say of all kinds."""
    by_kind, asked, probes, combined = (defaultdict(list) for _ in range(4))
    for sample in samples:
        by_kind[sample.kind].append(sample)
    for _, cause in sorted(base.causes.items()):
        for kind in sorted(kinds_of(cause)):
            asked[kind].append(cause.cause)
    for probe in base.probes.values():
        for kind in probe.covers:
            probes[kind].append(probe.id)
    for combiner in all_combiners():
        for kind in combiner.makes:
            combined[kind].append(combiner)
    return Sources(by_kind, combined, _examples(base), asked, probes)


def kinds_of(cause: Cause) -> set[str]:
    """The kinds of facts that the rule of a cause speaks of."""
    groups: list[Patterns] = [cause.requires]
    for _, part in parts_of(cause):
        groups += [*part.when, part.unless]
    return {pattern.fact for patterns in groups for pattern in patterns}


def _examples(base: RuleBase) -> dict[str, str]:
    """For each kind the fact that tells most among those in examples."""
    found: dict[str, tuple[int, str]] = {}
    for _, cause in sorted(base.causes.items()):
        for kind, body in (pair for one in cause.examples for entry in one.facts for pair in entry.items()):
            if kind in fact_types():
                fact = fact_of(kind, body)
                told = len(fields_of(fact))
                if told > found.get(kind, (0, ""))[0]:
                    found[kind] = (told, fact_line(fact))
    return {kind: line for kind, (_, line) in found.items()}


def about_readers() -> dict[str, str]:
    """What each reader reads, by its name: the first sentence of its module."""
    return {one.name: _about(f"collectors.readers.{module_of(one)}") for one in readers()}


def all_combiners() -> Iterator[Combiner]:
    """All combiners, with the kinds that their sources name."""
    kinds = {found.__name__: kind for kind, found in fact_types().items()}
    for file in sorted(Path(combiners.__path__[0]).glob("[!_]*.py")):
        tree = ast.parse(file.read_text(encoding="utf-8"))
        named = {kinds[node.id] for node in ast.walk(tree) if isinstance(node, ast.Name) and node.id in kinds}
        calls = (node for node in ast.walk(tree) if isinstance(node, ast.Call))
        made = {kinds[name] for call in calls for name in _made(call) if name in kinds}
        about = _about(f"collectors.combiners.{file.stem}")
        yield Combiner(file.stem, about, frozenset(made), tuple(sorted(named - made)))


def _made(call: ast.Call) -> Iterator[str]:
    """The names of fact types that a call makes facts of, or announces as looked for."""
    maker: Any = call.func
    if isinstance(maker, ast.Attribute) and maker.attr in _MAKERS:
        maker = maker.value
    if isinstance(maker, ast.Name):
        yield maker.id
        if maker.id == _ANNOUNCES:
            yield from (one.id for one in call.args[1:2] if isinstance(one, ast.Name))


def _about(module: str) -> str:
    return " ".join((import_module(module).__doc__ or "").strip().split("\n\n", 1)[0].split())
