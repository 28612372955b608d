"""The catalogue of defects of NCCL releases."""

from __future__ import annotations

from typing import get_args

import pytest

from kb.facts.base import version_key
from kb.facts.nccl_failures import CudaClass
from kb.nccl_defects import defects


@pytest.mark.parametrize("defect", defects(), ids=[one.id for one in defects()])
def test_an_entry_can_be_checked_and_seen(defect):
    """It names its source, a range that is not empty, and something that must be seen."""
    assert defect.source.startswith("https://")
    assert version_key(defect.since) < version_key(defect.before) <= version_key(defect.fixed)
    assert defect.lines or defect.frames or defect.cuda or defect.machine or defect.setting
    assert defect.cuda is None or defect.cuda in get_args(CudaClass)


def test_the_range_holds_its_begin_and_not_its_end():
    """A release in between has the defect, in whatever form it is printed."""
    leak = next(one for one in defects() if one.id == "work-fifo-leak")

    assert leak.has("2.19.1")
    assert leak.has("2.21.5")
    assert not leak.has("2.22.3")
    assert not leak.has("no version")
