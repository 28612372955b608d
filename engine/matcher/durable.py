"""durable-rules 2.0.28 as a matcher: the only module that imports it, and only behind `fence`.

Its C core is driven directly. The Python layer above it starts threads that nothing stops, swallows what
actions raise, and after an action of ten seconds concludes nothing more without saying so; on a machine that
swaps, any action may take as long.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Sequence
from importlib import metadata
from typing import Any

import durable_rules_engine as core

from engine.matcher.conditions import ReadyRule, ready
from engine.matcher.fence import Fence, Ruleset
from engine.matcher.form import EngineError, Firing, Head, Pattern, Ref, Rule, Test
from engine.matcher.memory import WorkingMemory

VERSION = metadata.version("durable-rules")

# What a fact comes to: it was stored, or no pattern asks for it. Anything else is taken for a fault.
_STORED, _NOT_ASKED_FOR = 0, 1
_BOOT_KIND = 0


class _Session:
    """One ruleset with its facts, inside the engine. Close it: the engine frees nothing by itself."""

    def __init__(self, ruleset: Ruleset) -> None:
        self.kinds = frozenset(ruleset.kinds)
        self._rules = ruleset.rules
        definitions = {name: {"all": patterns} for name, patterns in ruleset.definitions.items()}
        definitions["boot"] = {"all": [{"c0": {"$and": [{"kind": _BOOT_KIND}]}}]}
        self._handle = core.create_ruleset("rules", json.dumps(definitions))
        # To delete a state in which nothing ever fired frees memory that was never set; so one rule fires.
        if [name for name, _ in self._fired(json.dumps({"kind": _BOOT_KIND, "id": "boot"}))] != ["boot"]:
            core.delete_ruleset(self._handle)
            raise EngineError("its first rule does not fire")

    def tell(self, fact: str) -> Iterator[tuple[ReadyRule, tuple[int, ...]]]:
        """Asserts a fact and gives what fires on it: the rules, with the numbers of the facts bound."""
        for name, bound in self._fired(fact):
            rule = self._rules[name]
            yield rule, tuple([bound[f"c{place}"]["number"] for place in range(len(rule.patterns))])

    def close(self) -> None:
        """Frees the facts and the rules."""
        core.delete_state(self._handle, None)
        core.delete_ruleset(self._handle)

    def _fired(self, fact: str) -> Iterator[tuple[str, dict[str, Any]]]:
        outcome, state = core.assert_fact(self._handle, fact)
        if outcome == _NOT_ASKED_FOR:
            return
        if outcome != _STORED:
            raise EngineError(f"it refuses a fact, code {outcome}")
        started = core.start_action_for_state(self._handle, state)
        message = started and started[1]
        while message:
            yield from json.loads(message).items()
            message = core.complete_and_start_action(self._handle, state)


def run(strata: Sequence[Sequence[Rule]], memory: WorkingMemory) -> None:
    """Fires all rules on the facts of the memory, and leaves the firings there.

    Raises EngineError where rules or facts do not fit the engine; the memory then holds part of the outcome.
    """
    groups = [[ready(rule) for rule in group] for group in strata]
    fence = Fence([rule for group in groups for rule in group], memory.facts)
    try:
        for group in groups:
            _run_group(group, fence, memory)
    except (core.error, MemoryError) as error:
        raise EngineError(str(error) or "out of memory") from error


def works() -> bool:
    """Whether the engine concludes what it must from a few facts; a build may import and yet be broken."""
    pair = (Pattern("low", "n"), Pattern("high", "n", (Test("gt", "x", Ref("low", "x")),)))
    blocked = (Pattern("taken", "t", (Test("eq", "x", Ref("high", "x")),)),)
    rule = Rule("pair", pair, blocked, Head("found", (("x", Ref("high", "x")),)))
    memory = WorkingMemory(
        [{"kind": "n", "x": 1}, {"kind": "n", "x": 2.5}, {"kind": "n", "x": 7}, {"kind": "t", "x": 7}]
    )
    run([[rule]], memory)
    return memory.inference("").firings == (Firing("pair", (("low", 0), ("high", 1)), 4),)


def _run_group(group: Iterable[ReadyRule], fence: Fence, memory: WorkingMemory) -> None:
    sessions: list[_Session] = []
    try:
        for ruleset in fence.rulesets(group):
            sessions.append(_Session(ruleset))  # noqa: PERF401  those opened are closed even if one cannot be
        # What blocks is told before what it would block: the engine does not rightly take back a firing.
        for shadow in (True, False):
            number = 0
            while number < len(memory.facts):  # it grows by what is concluded
                _tell(sessions, fence, memory, number, shadow=shadow)
                number += 1
    finally:
        for session in sessions:
            session.close()


def _tell(sessions: list[_Session], fence: Fence, memory: WorkingMemory, number: int, *, shadow: bool) -> None:
    fact = memory.facts[number]
    kind = fence.kind(fact, shadow=shadow)
    asking = [session for session in sessions if kind in session.kinds]
    if asking:
        text = json.dumps(fence.fact(number, fact, shadow=shadow))
        for session in asking:
            for rule, binding in session.tell(text):
                memory.conclude(rule.rule, binding)
