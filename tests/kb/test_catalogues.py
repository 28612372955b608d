"""The catalogues of error numbers, and the clock of stamps without a year."""

from __future__ import annotations

import csv
from importlib.resources import files
from itertools import pairwise
from typing import get_args

import pytest

from kb.catalogues import (
    NvlinkAction,
    NvlinkInspect,
    XidAction,
    XidGroup,
    XidLayer,
    XidRole,
    nvlink_row,
    sxid_row,
    toolkit_floor,
    toolkit_of_branch,
    toolkit_row,
    xid_row,
)
from kb.clock import clock_s, later_by_s
from kb.facts.xid import SxidEvent, XidEvent


def rows(name: str) -> list[dict[str, str]]:
    with files("kb.catalogues").joinpath(name).open(encoding="utf-8") as table:
        return list(csv.DictReader(table))


@pytest.mark.parametrize("name", ["xid.csv", "xid_nvlink5.csv", "sxid.csv"])
def test_every_row_has_its_source_and_date(name):
    """Else nobody could check it."""
    assert {row["source"] for row in rows(name)} <= {"catalog", "header", "guide"}
    assert all(len(row["date"]) == 10 for row in rows(name))


def test_words_of_the_tables_are_those_of_the_types():
    """A typing error in a table would make a rule silent."""
    xids, links = rows("xid.csv"), rows("xid_nvlink5.csv")

    assert {row["layer"] for row in xids} <= set(get_args(XidLayer))
    assert {row["role"] for row in xids} <= set(get_args(XidRole))
    assert {row["action"] for row in xids} <= {*get_args(XidAction), ""}
    assert {row["group"] for row in xids} <= {*get_args(XidGroup), ""}
    assert {row["action"] for row in links} <= set(get_args(NvlinkAction))
    assert {row["inspect"] for row in links} <= set(get_args(NvlinkInspect))


def test_every_xid_that_explains_others_belongs_to_a_group():
    """So that some rule speaks of it; a mere consequence belongs to none."""
    assert [row["code"] for row in rows("xid.csv") if row["role"] == "root" and not row["group"]] == []
    assert [row["code"] for row in rows("xid.csv") if row["role"] == "consequence" and row["group"]] == []


def test_all_xids_up_to_176_are_known():
    """And nothing above."""
    assert all(xid_row(code) for code in range(1, 177))
    assert xid_row(177) is None
    assert xid_row(0) is None


MEANINGS = [
    (79, None, "GPU_HAS_FALLEN_OFF_THE_BUS", "root", "reboot-node"),
    (43, None, "RESETCHANNEL_VERIF_ERROR", "consequence", "ignore"),
    (63, None, "INFOROM_PAGE_RETIREMENT_EVENT", "information", "ignore"),
    (139, 535, "FAST_PATH_ERROR", "consequence", None),
    (139, 570, "OFA1_ERROR", "root", "restart-app"),
    (144, 550, "KEY_ROTATION_ERROR", "root", None),
    (144, None, "NVLINK_SAW_ERROR", "root", "decode"),
    (30, 535, "BAD_ADDR_ACCESS", "root", "contact-support"),
]


@pytest.mark.parametrize(("code", "branch", "name", "role", "action"), MEANINGS)
def test_the_meaning_of_a_number(code, branch, name, role, action):
    """In its branch, where the number was given a new one."""
    event = XidEvent(code=code, bdf="41:00.0", branch=branch)

    assert (event.name, event.role, event.action) == (name, role, action)


def test_a_number_that_nobody_gave_has_no_meaning():
    """But it is told."""
    event = XidEvent(code=999, bdf="41:00.0")

    assert (event.name, event.role, event.layer, event.action) == (None, None, None, None)


def test_some_details_make_an_event_information():
    """The way back to no action, and a link error that is not fatal."""
    assert XidEvent(code=154, bdf="41:00.0", detail="none").role == "information"
    assert XidEvent(code=154, bdf="41:00.0", detail="reset").role == "consequence"
    assert XidEvent(code=149, bdf="41:00.0", detail="nonfatal").role == "information"


def test_the_decode_of_nvlink_5():
    """By unit, status and the sub-unit in the first word."""
    down = nvlink_row(149, "NETIR_LINK_EVT", 0x025001C6, 0)
    by_user = nvlink_row(149, "NETIR_LINK_EVT", 0x026001C6, 0)

    assert down is not None
    assert by_user is not None
    assert (down.action, down.inspect) == ("reset-gpu", "peer")
    assert (by_user.action, by_user.inspect) == ("ignore", "software")
    assert nvlink_row(149, "NOBODY", 0, 0) is None


def test_switch_errors():
    """By symbol, and by what the guide says where it names them."""
    event = SxidEvent(code=12020, bdf="05:00.0", fatal=True)

    assert event.documented == "always-fatal"
    assert sxid_row(1) is None
    assert SxidEvent(code=1, bdf="05:00.0", fatal=False).name is None


@pytest.mark.parametrize(
    ("stamp", "expected"),
    [
        ("Jan  1 00:00:01", 1.0),
        ("2025-01-01T00:00:01.500000+08:00", 1.5),
        ("Thu Jan  1 00:00:01 2026", 1.0),
        ("1月  1 00:00:01", 1.0),
        ("janv. 01 00:00:01", 1.0),
        ("Mar  1 00:00:00", 60 * 86_400.0),
        ("xyz 01 00:00:01", None),
        ("99月  1 00:00:01", None),
        ("yesterday", None),
    ],
)
def test_stamps_as_numbers(stamp, expected):
    """Of a leap year, on their own clock."""
    assert clock_s(stamp) == expected


def test_the_time_between_two_stamps():
    """Across a new year too."""
    assert later_by_s("Dec 31 23:59:00", "Jan  1 00:01:00") == 120.0
    assert later_by_s("Jan  1 00:01:00", "2026-12-31T23:59:00Z") == -120.0
    assert later_by_s(None, "Jan  1 00:01:00") is None
    assert later_by_s("Jan  1 00:01:00", "soon") is None


def test_toolkits_and_their_drivers():
    """Floors are those of the major release, and no newer than the toolkit's own driver but for the first."""
    found = rows("cuda_toolkits.csv")

    assert {row["source"] for row in found} == {"table", "installer", "manifest", "packager"}
    assert all(len(row["date"]) == 10 for row in found)
    assert toolkit_row("12.8.1") == ("12.8", "570.26", "525.60.13", (470, 535, 550, 560, 565))
    assert toolkit_row("10.2") is None
    assert {row["cuda"].split(".")[0]: row["floor"] for row in found[1:]} == {
        "11": "450.80.02",
        "12": "525.60.13",
        "13": "580.65.06",
    }


def test_a_compatibility_package_is_made_for_older_branches_than_its_own():
    """A driver of the package's own branch, or a newer one, needs no such package."""
    forward = {
        row["cuda"]: [int(one) for one in row["forward"].split("; ") if one] for row in rows("cuda_toolkits.csv")
    }

    for cuda, branches in forward.items():
        own = toolkit_row(cuda)
        assert own is not None
        assert branches == sorted(set(branches))
        assert all(branch < int(own.driver.split(".")[0]) for branch in branches)
    assert [cuda for cuda, branches in forward.items() if not branches] == ["13.3", "13.4", "13.5"]


def test_the_floor_of_a_release_that_is_not_listed_is_that_of_its_major_one():
    assert toolkit_floor("13.9") == "580.65.06"
    assert toolkit_floor("11.0") == "450.36.06"
    assert toolkit_floor("10.2") == "440.33"
    assert toolkit_floor("9.0.176") == "384.81"
    assert toolkit_floor("10.7") is None


def test_a_branch_came_with_one_toolkit():
    """Else a compatibility libcuda could not be told by its release."""
    branches = [row["driver"].split(".")[0] for row in rows("cuda_toolkits.csv")]

    assert len(set(branches)) == len(branches)
    assert [toolkit_of_branch(branch) is None for branch in (570, 565)] == [False, True]


def test_rows_of_products_do_not_overlap():
    """Else the first of them would hide the other."""
    ends = [(int(row["first"], 16), int(row["last"], 16)) for row in rows("gpu_products.csv")]

    assert all(first <= last for first, last in ends)
    assert all(last < first for (_, last), (first, _) in pairwise(ends))
