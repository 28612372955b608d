"""Xids, however many logs hold them, and the boot that they belong to."""

from __future__ import annotations

from combining import at, combined, complete, looked, observed

from kb.facts.driver import KernelModule
from kb.facts.kernel import KernelLogSpan
from kb.facts.machine import Boot
from kb.facts.xid import LoggedXid, XidEvent


def xid(**more) -> LoggedXid:
    return LoggedXid(**{"code": 79, "bdf": "0000:41:00.0", **more})


def test_one_event_in_a_ring_buffer_and_a_journal_counts_once():
    """With the stamps of both, and the host that one of them names."""
    ring, journal = xid(first_s=22.6), xid(time="Sep 13 09:44:22", host="rig")
    events = observed(XidEvent, at(ring, "dmesg.txt"), at(journal, "journal.txt"))

    assert [one.fact for one in events] == [
        XidEvent(code=79, bdf="0000:41:00.0", time="Sep 13 09:44:22", first_s=22.6, last_s=22.6, host="rig")
    ]
    assert len(events[0].basis) == 2


def test_logs_that_follow_each_other_add_up():
    """A rotated file ends before the next begins."""
    old = xid(count=2, time="Sep 11 09:00:00", last_time="Sep 11 10:00:00", host="rig")
    new = xid(count=3, time="Sep 12 09:00:00", last_time="Sep 12 10:00:00", host="rig")

    assert [(event.count, event.time) for event in combined(XidEvent, new, old)] == [(5, "Sep 11 09:00:00")]


def test_logs_that_overlap_do_not_add_up():
    """The longer one counts."""
    one = xid(count=7, first_s=100.0, last_s=200.0)
    other = xid(count=3, first_s=150.0, last_s=220.0)

    assert [(event.count, event.first_s, event.last_s) for event in combined(XidEvent, one, other)] == [
        (7, 100.0, 220.0)
    ]


def test_boots_instances_and_hosts_are_kept_apart():
    """None of them is the other's event."""
    events = combined(
        XidEvent,
        xid(host="a", time="Sep 12 09:00:00"),
        xid(host="b", time="Sep 12 09:00:00"),
        xid(host="a", boot="earlier", time="Sep 11 09:00:00"),
        xid(host="a", gpu_instance=5),
    )

    assert {(event.host, event.boot, event.gpu_instance) for event in events} == {
        ("a", "this", None),
        ("b", "this", None),
        ("a", "earlier", None),
        ("a", "this", 5),
    }


def test_an_event_before_the_boot_that_another_log_shows_is_history():
    """The rotated file alone could not tell."""
    rotated = xid(time="Sep 11 09:00:00", host="rig")
    boot = KernelLogSpan(begin_time="Sep 12 08:00:00", host="rig")

    assert [event.boot for event in combined(XidEvent, rotated, boot)] == ["earlier"]
    assert [event.boot for event in combined(XidEvent, xid(time="Sep 12 09:00:00", host="rig"), boot)] == ["this"]


def test_clocks_of_two_forms_may_be_hours_apart():
    """One of them may show UTC."""
    boot = KernelLogSpan(begin_time="Sep 12 08:00:00", host="rig")

    assert [event.boot for event in combined(XidEvent, xid(time="2025-09-12T01:00:00Z"), boot)] == ["this"]
    assert [event.boot for event in combined(XidEvent, xid(time="2025-09-10T01:00:00Z"), boot)] == ["earlier"]


def test_an_event_later_than_a_whole_ring_buffer_is_history():
    """The buffer would hold it."""
    assert [
        event.boot for event in combined(XidEvent, xid(first_s=90_000.0), KernelLogSpan(ring_end_s=300.0))
    ] == ["earlier"]


def test_another_host_tells_nothing():
    """Its boot is its own."""
    boot = KernelLogSpan(begin_time="Sep 12 08:00:00", host="other")

    assert [event.boot for event in combined(XidEvent, xid(time="Sep 11 09:00:00", host="rig"), boot)] == ["this"]


def test_several_machines_that_their_logs_do_not_name():
    """Folders stand for them, and no log tells the boots of another's."""
    uname = [Boot(kernel="6.8", host="a1"), Boot(kernel="6.8", host="a2.example.org")]
    one, two = at(xid(first_s=10.0), "a1/dmesg.txt"), at(xid(first_s=10.0), "a2/dmesg.txt")
    late = at(xid(code=62, first_s=90_000.0), "a2/kern.log")
    events = combined(XidEvent, *uname, one, two, late, KernelLogSpan(ring_end_s=300.0))

    assert [(event.code, event.count, event.boot) for event in events] == [
        (79, 1, "this"),
        (79, 1, "this"),
        (62, 1, "this"),
    ]


def test_the_branch_settles_what_a_number_means():
    """Where one release is known."""
    module = KernelModule(version="535.183.01", reported_by="procfs")

    assert [event.name for event in combined(XidEvent, xid(code=139), module)] == ["FAST_PATH_ERROR"]
    assert [event.name for event in combined(XidEvent, xid(code=139))] == ["OFA1_ERROR"]


def test_what_was_looked_for_is_passed_on():
    """A whole log without an Xid proves that there was none."""
    assert looked(XidEvent, complete(LoggedXid)) == [True]
