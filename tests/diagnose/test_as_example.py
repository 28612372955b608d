"""Facts written as the examples of rules take them are read as the same facts."""

from __future__ import annotations

from pathlib import Path

import pytest

from diagnose.as_example import example_lines
from diagnose.explain import read_case
from kb.evidence import Looked, Observed, Source
from kb.examples import example_readings
from kb.facts import Fact
from kb.facts.framework import GpuOom, ModelFiles
from kb.facts.machine import KernelParameter
from kb.rule import Example
from kb.strict_yaml import read_yaml

STORIES = sorted(path for path in (Path(__file__).parent.parent / "stories").iterdir() if path.is_dir())


def read_back(lines: list[str]) -> list[Observed | Looked]:
    document, errors = read_yaml("\n".join(lines), "example")
    assert document is not None
    assert errors == []
    return example_readings(Example(name="x", facts=document.value, expect="likely"))


def facts_of(readings) -> set[Fact]:
    return {one.fact for one in readings if isinstance(one, Observed)}


@pytest.mark.parametrize("story", STORIES, ids=lambda story: story.name)
def test_what_is_written_is_read_as_the_same(story: Path):
    case = read_case([str(story)])

    assert facts_of(read_back(list(example_lines(case.observed, case.looked)))) == facts_of(case.observed)


@pytest.mark.parametrize(
    "fact",
    [
        KernelParameter(name="iommu", value="off"),
        KernelParameter(name="x", value="0000:41:00.0"),
        KernelParameter(name="x", value='a "b" \\ {c}: #d'),
        KernelParameter(name="x", value="true"),
        GpuOom(rank="0", requested_mib=3, reported_by="torch"),
        ModelFiles(path="/m", size_gib=1.5, shards=2),
    ],
)
def test_values_that_yaml_would_read_otherwise_are_quoted(fact: Fact):
    line = list(example_lines([Observed(fact, Source("f", 1, 1, ""))], []))

    assert facts_of(read_back(line)) == {fact}


def test_what_was_looked_for_and_not_found_is_one_line():
    looked = [
        Looked("gpu_oom", True, "f"),
        Looked("boot", True, "f"),
        Looked("xid_event", False, "f", "truncated"),
    ]

    assert list(example_lines([], looked)) == ["- looked: [boot, gpu_oom]"]
