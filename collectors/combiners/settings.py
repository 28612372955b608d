"""Which value of an environment variable wins, when several places set it."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence

from collectors.combiners import Facts, derived, looked_at
from kb.evidence import Observed, Reading
from kb.facts.nccl import NcclSetting
from kb.facts.settings import EffectiveSetting, Setting

RANK = ("nccl.conf", "image", "shell-profile", "service", "unknown", "launch", "process")
"""Who outranks whom among plain settings, weakest first. sitecustomize runs last: what it sets, holds."""

_Set = tuple[Setting, Observed]


def combine(facts: Facts) -> Iterator[Reading]:
    """EffectiveSetting for each variable that some place sets or NCCL reports."""
    by_name: dict[str, list[_Set]] = defaultdict(list)
    for setting, observed in facts.of(Setting):
        by_name[setting.name].append((setting, observed))
    reported = {said.name: (said, observed) for said, observed in facts.of(NcclSetting)}
    for name, several in by_name.items():
        yield _effective(name, several, reported.get(name))
    for name, (said, observed) in reported.items():
        if name not in by_name:
            fact = EffectiveSetting(name=name, value=said.value, origin="unknown", confirmed=True)
            yield derived(fact, [observed])
    yield from looked_at(facts, EffectiveSetting, Setting, NcclSetting)


def _effective(name: str, several: Sequence[_Set], reported: tuple[NcclSetting, Observed] | None) -> Observed:
    winner, observed = max(several, key=lambda one: _strength(one[0]))
    if reported is not None:  # NCCL says what holds; whoever set that value is its origin
        unseen = Setting(name=name, value=reported[0].value, origin="unknown")
        agreeing = [one for one in several if one[0].value == reported[0].value] or [(unseen, reported[1])]
        winner, observed = max(agreeing, key=lambda one: _strength(one[0]))
    losers = [one for one in several if one[0].value != winner.value]
    fact = EffectiveSetting(
        name=name,
        value=winner.value,
        origin=winner.origin,
        outranks=", ".join(dict.fromkeys(setting.origin for setting, _ in losers)) or None,
        confirmed=reported is not None,
    )
    basis = [observed, *(o for _, o in losers)]
    return derived(fact, [*basis, reported[1]] if reported else basis)


def _strength(setting: Setting) -> tuple[int, int]:
    """What is set outranks a default; among the set ones, what runs later or is nearer to the process."""
    if setting.origin == "sitecustomize":
        return (2, 0) if setting.mode == "set" else (0, 1)
    return (1 if setting.mode == "set" else 0, RANK.index(setting.origin))
