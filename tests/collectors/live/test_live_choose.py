"""--only, --skip and --dry-run: which sources are taken, and what they would read and run."""

from __future__ import annotations

import pytest

from collectors.live import SOURCES, Source
from collectors.live.choose import UnknownSourceError, chosen, plan
from collectors.live.source import Command, File, Files, Listing

ROWS = (
    Source("proc-version", File("/proc/version")),
    Source("nccl-conf", Files(("/etc/nccl.conf", "$NO_SUCH_VARIABLE"))),
    Source("groups", Listing(lambda _tree: iter(()), "ls /groups")),
    Source("dmesg", Command(("dmesg",)), 10.0),
    Source("journal", Command(("journalctl", "-k")), 2.5, unless=("dmesg",)),
)


@pytest.mark.parametrize(
    ("only", "skip", "expected"),
    [
        ((), (), ["proc-version", "nccl-conf", "groups", "dmesg", "journal"]),
        (("journal,dmesg",), (), ["dmesg", "journal"]),
        (("journal", " dmesg "), (), ["dmesg", "journal"]),
        (("*-*",), (), ["proc-version", "nccl-conf"]),
        ((), ("nccl-*,dmesg",), ["proc-version", "groups", "journal"]),
        (("*-*", "groups"), ("proc-version",), ["nccl-conf", "groups"]),
        (("dmesg",), ("*",), []),
    ],
)
def test_sources_are_chosen_by_name(only: tuple[str, ...], skip: tuple[str, ...], expected: list[str]) -> None:
    """Names divided by commas or given apart, with wildcards; the order stays that of the table."""
    assert expected == [source.name for source in chosen(ROWS, only, skip)]


@pytest.mark.parametrize(
    ("name", "says"),
    [
        ("dmseg", "no source is called dmseg; the nearest is dmesg; --dry-run lists them all"),
        ("xyz-*", "no source is called xyz-*; none is near it; --dry-run lists them all"),
    ],
)
def test_a_name_that_is_none_is_refused_with_the_nearest(name: str, says: str) -> None:
    """A source that was not meant to run must not, so a slip is never passed over."""
    for given in (("dmesg", name), ()), ((), (f"dmesg,{name}",)):
        with pytest.raises(UnknownSourceError) as refused:
            chosen(ROWS, *given)

        assert str(refused.value) == says


def test_the_plan_has_a_line_for_each_source() -> None:
    """What is read, what is run and for how long at most, and what is left out where another came whole."""
    assert list(plan(ROWS)) == [
        "proc-version  reads  /proc/version",
        "nccl-conf     reads  /etc/nccl.conf",
        "groups        reads  what this shows: ls /groups",
        "dmesg         runs   dmesg  (at most 10 s)",
        "journal       runs   journalctl -k  (at most 2.5 s)  unless whole: dmesg",
    ]


def test_the_plan_of_the_whole_table_touches_nothing() -> None:
    """One line a source, none of them empty."""
    assert [line.split()[0] for line in plan(SOURCES)] == [source.name for source in SOURCES]
