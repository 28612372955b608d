"""Which value of a variable wins when several places set it."""

from __future__ import annotations

from itertools import permutations

import pytest
from combining import at, combined, complete, looked, observed

from kb.facts.nccl import NcclSetting
from kb.facts.settings import EffectiveSetting, Setting


def put(origin: str, value: str, mode: str = "set", name: str = "NCCL_X") -> Setting:
    return Setting(name=name, value=value, origin=origin, mode=mode)


def said(value: str, name: str = "NCCL_X") -> NcclSetting:
    return NcclSetting(name=name, value=value)


def winner(*facts) -> tuple[str, str, str | None, bool]:
    """Value, origin, what it outranks, and whether it is confirmed."""
    (one,) = combined(EffectiveSetting, *facts)
    return one.value, one.origin, one.outranks, one.confirmed


PRECEDENCE = {
    "one place": ([put("launch", "1")], ("1", "launch", None, False)),
    "a default alone holds": ([put("nccl.conf", "1", "default")], ("1", "nccl.conf", None, False)),
    "setdefault loses to the launch": (
        [put("sitecustomize", "0", "default"), put("launch", "1")],
        ("1", "launch", "sitecustomize", False),
    ),
    "setdefault loses to the image": (
        [put("sitecustomize", "0", "default"), put("image", "1")],
        ("1", "image", "sitecustomize", False),
    ),
    "what sitecustomize sets holds": (
        [put("sitecustomize", "0"), put("launch", "1")],
        ("0", "sitecustomize", "launch", False),
    ),
    "sitecustomize runs after the process has begun": (
        [put("process", "1"), put("sitecustomize", "0")],
        ("0", "sitecustomize", "process", False),
    ),
    "the process outranks the launch": (
        [put("launch", "0"), put("process", "1")],
        ("1", "process", "launch", False),
    ),
    "the launch outranks the profile": (
        [put("shell-profile", "0"), put("launch", "1")],
        ("1", "launch", "shell-profile", False),
    ),
    "the configuration file loses to all that is set": (
        [put("nccl.conf", "0", "default"), put("image", "1")],
        ("1", "image", "nccl.conf", False),
    ),
    "a default of the launch loses to the image": (
        [put("launch", "0", "default"), put("image", "1")],
        ("1", "image", "launch", False),
    ),
    "equal values outrank nothing": ([put("image", "1"), put("launch", "1")], ("1", "launch", None, False)),
    "all that lost are named": (
        [put("image", "0"), put("nccl.conf", "2", "default"), put("launch", "1")],
        ("1", "launch", "image, nccl.conf", False),
    ),
    "the library says what holds": (
        [put("sitecustomize", "0"), put("launch", "1"), said("1")],
        ("1", "launch", "sitecustomize", True),
    ),
    "the library confirms": ([put("launch", "1"), said("1")], ("1", "launch", None, True)),
    "the library reports a value that no place is known to set": (
        [put("launch", "1"), put("image", "2"), said("3")],
        ("3", "unknown", "launch, image", True),
    ),
    "only the library reports it": ([said("3")], ("3", "unknown", None, True)),
}


@pytest.mark.parametrize(("facts", "expected"), PRECEDENCE.values(), ids=PRECEDENCE)
def test_precedence(facts, expected):
    """What is set wins over defaults, what is nearer to the process over the rest, and a report over all."""
    assert winner(*facts) == expected


@pytest.mark.parametrize("facts", [facts for facts, _ in PRECEDENCE.values()], ids=PRECEDENCE)
def test_the_order_of_reading_does_not_decide(facts):
    """The same value wins, from the same place."""
    winners = {winner(*order)[:2] for order in permutations(facts)}

    assert len(winners) == 1


def test_each_variable_stands_for_itself():
    """One fact for each name."""
    facts = [put("launch", "1"), put("image", "2", name="NCCL_Y"), said("3", "NCCL_Z")]

    found = combined(EffectiveSetting, *facts)

    assert {one.name: one.value for one in found} == {"NCCL_X": "1", "NCCL_Y": "2", "NCCL_Z": "3"}


def test_a_setting_cites_the_winner_first_then_those_that_lost_then_the_report():
    """So that the first line shown is the one that counts."""
    facts = [at(put("image", "0"), line=1), at(put("launch", "1"), line=2), at(said("1"), line=3)]

    one = observed(EffectiveSetting, *facts)[0]

    assert [part.source.line for part in one.basis] == [2, 1, 3]


def test_a_value_from_nowhere_cites_the_report():
    """And the places whose value it is not."""
    one = observed(EffectiveSetting, at(put("image", "0"), line=1), at(said("1"), line=3))[0]

    assert [part.source.line for part in one.basis] == [3, 1]


def test_settings_were_looked_for_where_places_or_reports_were():
    """Either is a look."""
    assert looked(EffectiveSetting, complete(Setting)) == [True]
    assert looked(EffectiveSetting, complete(NcclSetting)) == [True]
