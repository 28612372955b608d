"""Where the logs and boots of a section begin, who wrote a line, and when."""

from __future__ import annotations

import pytest

from collectors.readers._event_sums import Sums
from collectors.readers._kernel_events import KernelLog
from collectors.readers._log_stamps import Stamp, by_kernel, record_of, stamp_of
from kb.evidence import Section

EVENT = "EVENT"


def boots(*lines: str, command: str | None = None, path: str = "log.txt") -> list[str]:
    """This or earlier, for each line that holds an event."""
    log = KernelLog(Section(path, lines, command=command))
    found = [(line, line.text.find(EVENT)) for line in log.lines(EVENT)]
    return [log.which(line.boot, line.stamp(start)) for line, start in found]


STAMPS = {
    "[   22.636732] ": Stamp(22.636732),
    "<4>[  100.000001][  T123] ": Stamp(100.000001),
    "6,3964,206764307,-;": Stamp(206.764307),
    "[Fri Oct 14 14:56:49 2022] ": Stamp(None, "Fri Oct 14 14:56:49 2022"),
    "kern  :warn  : 2025-01-21T04:41:44,283302+00:00 ": Stamp(None, "2025-01-21T04:41:44,283302+00:00"),
    "Sep 13 09:44:22 rig kernel: ": Stamp(None, "Sep 13 09:44:22", "rig"),
    "Sep  8 09:44:22 rig kernel: [   22.636732] ": Stamp(22.636732, "Sep  8 09:44:22", "rig"),
    "août 25 19:38:03 host-b kernel: ": Stamp(None, "août 25 19:38:03", "host-b"),
    "7月 18 18:44:11 rig kernel: ": Stamp(None, "7月 18 18:44:11", "rig"),
    "192.0.2.19: kern: warning: [2026-04-22T21:30:06.114091771Z]: ": Stamp(None, "2026-04-22T21:30:06.114091771Z"),
    "[  +0.000316] ": Stamp(),
    "": Stamp(),
}


@pytest.mark.parametrize("lead", STAMPS)
def test_the_stamp_before_a_message(lead):
    """Seconds since boot, wall-clock time, host, as far as they are there."""
    assert stamp_of(lead) == STAMPS[lead]
    assert by_kernel(lead)


@pytest.mark.parametrize(
    "lead",
    [
        "I saw ",
        "this is from my kernel: ",
        "`[   22.636732] `",
        "Sep 13 09:44:22 rig monitor[812]: ",
        "Sep 13 09:44:22 rig sudo[1]: user : COMMAND=/usr/bin/grep ",
    ],
)
def test_what_the_kernel_did_not_write(lead):
    """Sentences, quotations, and programs that log what they read."""
    assert not by_kernel(lead)


BOOTS = {
    "one boot": (["[ 1.000000] EVENT", "[ 2.000000] EVENT"], ["this", "this"]),
    "the seconds fall back": (["[ 900.000000] EVENT", "[   5.000000] EVENT"], ["earlier", "this"]),
    "two CPUs out of order": (["[ 900.000000] EVENT", "[ 899.500000] EVENT"], ["this", "this"]),
    "a border of the journal": (
        [
            "Sep 05 15:17:22 a kernel: EVENT",
            "-- Boot 0123456789abcdef0123456789abcdef --",
            "Sep 05 15:37:22 a kernel: EVENT",
        ],
        ["earlier", "this"],
    ),
    "the first line of a boot": (
        ["Sep 05 15:17:22 a kernel: EVENT", "Sep 05 15:37:22 a kernel: Linux version 6.8.0 (x)", "x"],
        ["earlier"],
    ),
    "a sentence on the first line of a boot": (
        ["Sep 05 15:17:22 a kernel: EVENT", "It shows Linux version 6.8.0 (x) now"],
        ["this"],
    ),
    "two pastes, the later first": (
        ["```", "[ 900.000000] EVENT", "```", "and at boot:", "```", "[   5.000000] EVENT", "```"],
        ["this", "this"],
    ),
    "the journals of a bug report": (
        [
            "  journalctl -b -0:",
            "Sep 05 15:17:22 a kernel: EVENT",
            "  journalctl -b -1:",
            "Sep 05 15:10:22 a kernel: EVENT",
        ],
        ["this", "earlier"],
    ),
    "a log that began before the journal of this boot": (
        [
            *(
                "  /var/log/kern.log:",
                "Sep 04 15:17:22 a kernel: EVENT",
                "2025-09-05T15:18:00+08:00 a kernel: EVENT",
            ),
            *("  journalctl -b -0:", "Sep 05 15:17:22 a kernel: EVENT"),
        ],
        ["earlier", "this", "this"],
    ),
    "hosts apart": (
        ["Sep 05 15:17:22 a kernel: [ 900.000000] EVENT", "Sep 05 15:17:23 b kernel: [  5.000000] EVENT"],
        ["this", "this"],
    ),
}


@pytest.mark.parametrize("case", BOOTS)
def test_the_boot_of_an_event(case):
    """The last boot of its log, or one before."""
    lines, expected = BOOTS[case]

    assert boots(*lines)[: len(expected)] == expected


def test_an_old_border_without_an_event_after_it():
    """The reboot is known all the same."""
    assert boots("Sep 05 15:17:22 a kernel: EVENT", "-- Reboot --", "x") == ["earlier"]


@pytest.mark.parametrize("command", ["journalctl -k -b -1", "sudo journalctl -b-2", "journalctl --boot=-1 -k"])
def test_a_command_that_asks_for_an_earlier_boot(command):
    """All that it prints is history."""
    assert boots("Sep 05 15:17:22 a kernel: EVENT", command=command) == ["earlier"]


def test_newest_first():
    """The first boot in the output is the last."""
    lines = [
        "Sep 05 15:37:22 a kernel: EVENT",
        "-- Boot 0123456789abcdef0123456789abcdef --",
        "Sep 05 15:17:22 a kernel: EVENT",
    ]

    assert boots(*lines, command="journalctl -r") == ["this", "earlier"]


def test_crash_dumps_are_of_the_boot_that_crashed():
    """By their heading or their folder."""
    assert boots("Panic#1 Part2", "<3>[ 222.608284] EVENT") == ["earlier"]
    assert boots("<3>[ 222.608284] EVENT", path="sys/fs/pstore/dmesg-erst-1") == ["earlier"]


def test_what_is_later_than_a_whole_ring_buffer_was_before_it():
    """A ring buffer holds the end of its boot; an excerpt does not."""
    ring = [f"[{second:5d}.000000] usb {second}" for second in range(1, 500)]
    log = ["  /var/log/kern.log:", "Sep 05 15:17:22 a kernel: [ 90000.000000] EVENT"]

    assert boots(*log, "dmesg:", *ring) == ["earlier"]
    assert boots(*log, "dmesg:", *ring[:50]) == ["this"]


def test_a_message_in_one_record_of_several_lines():
    """Both belong to the record, with its stamp."""
    line = '{"MESSAGE": "EVENT one\\nEVENT two", "__MONOTONIC_TIMESTAMP": "2000000", "_HOSTNAME": "rig"}'
    log = KernelLog(Section("a", [line]))
    found = list(log.lines(EVENT))

    assert [one.text for one in found] == ["EVENT one", "EVENT two"]
    assert {one.stamp(0) for one in found} == {Stamp(2.0, None, "rig")}


@pytest.mark.parametrize(
    "line",
    ['{"MESSAGE": ' + "[" * 20_000, '{"MESSAGE": 5}', '{"MESSAGE": [1, "x", 999]}', '{"MESSAGE"', "MESSAGE="],
)
def test_broken_records_are_no_records(line):
    """They never raise."""
    record = record_of(Section("a", [line]), 0)

    assert record is None or isinstance(record.text, str)


def test_bytes_are_text():
    """journald writes them where a message is no plain text."""
    record = record_of(Section("a", ['{"MESSAGE": [69, 86], "__REALTIME_TIMESTAMP": "1757756651000000"}']), 0)

    assert record is not None
    assert (record.text, record.stamp.at) == ("EV", "2025-09-13T09:44:11+00:00")


def test_sums_over_logs_and_boots():
    """Several logs of one boot tell the same count once; earlier boots of one log add up."""
    lines = (
        *("Sep 01 10:00:00 a kernel: [ 900.000000] EVENT", "Sep 02 10:00:00 a kernel: [ 800.000000] EVENT"),
        *("Sep 03 10:00:00 a kernel: [   5.000000] EVENT", "Sep 03 10:00:01 a kernel: [   6.000000] EVENT"),
        *("dmesg:", "[   5.000000] EVENT", "[   6.000000] EVENT", "[   7.000000] EVENT"),
    )
    log = KernelLog(Section("a", lines))
    sums: Sums[str] = Sums(log)
    for line in log.lines(EVENT):
        sums.add("event", line, line.text.find(EVENT))

    told = {sum_.boot: (sum_.count, sum_.first.at_s, sum_.last.at, sum_.index) for _, sum_ in sums}
    assert told == {"earlier": (2, 900.0, "Sep 02 10:00:00", 0), "this": (3, 5.0, "Sep 03 10:00:01", 2)}
