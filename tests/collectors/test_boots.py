"""Events of older logs are of earlier boots, whatever they tell; what can't be told stays as its file has it."""

from __future__ import annotations

import pytest

from collectors.boots import settled
from collectors.combine import combine
from collectors.content import Content
from collectors.open import File
from collectors.scan import read_all
from kb.evidence import Observed

OOM = "Out of memory: Killed process 345646 (python) total-vm:100kB, anon-rss:50kB, file-rss:0kB, shmem-rss:0kB"
RM = "NVRM: GPU 0000:41:00.0: RmInitAdapter failed! (0x62:0x65:1941)"
AER = "pcieport 0000:40:01.0: AER: Uncorrected (Fatal) error received: 0000:41:00.0"
XID = "NVRM: Xid (PCI:0000:41:00): 79, pid=1, GPU has fallen off the bus."
SEGFAULT = "python[77]: segfault at 17 ip 00007f sp 00007f error 4 in libnccl.so.2[7f00+1000]"
KINDS = {
    "oom_kill": OOM,
    "module_load_problem": RM,
    "pcie_error": AER,
    "logged_xid": XID,
    "process_crash": SEGFAULT,
}


def line(day: int, message: str, host: str = "node7", second: float = 4000.5) -> str:
    """A line of syslog."""
    return f"Sep {day:2} 10:00:00 {host} kernel: [{second:12.6f}] {message}"


def boot(day: int, host: str = "node7") -> str:
    """The first line of a boot."""
    return line(day, "Linux version 6.8.0-60-generic (buildd@lcy02) #63-Ubuntu SMP", host, 0.0)


def ring(end: float, *lines: str) -> str:
    """A whole ring buffer."""
    filler = [f"[{end * number / 500:12.6f}] usb 1-1: new device number {number}" for number in range(501)]
    return "\n".join(sorted([*filler, *lines]))


def boots(kind: str, files: dict[str, str]) -> dict[str, str]:
    """By file, the boot of its fact of that kind."""
    _, readings = read_all([File(path, Content(text.encode())) for path, text in files.items()])
    found = [one for one in readings if isinstance(one, Observed) and one.fact.kind == kind]
    return {one.source.path: one.fact.boot for one in found}


@pytest.mark.parametrize(("kind", "message"), KINDS.items(), ids=KINDS)
def test_an_event_before_the_boot_that_another_log_shows_is_of_an_earlier_one(kind, message):
    """The rotated log beside the present one, and the same in the log after it."""
    files = {
        "var/log/kern.log": "\n".join([boot(9), line(9, "usb 1-1: new device number 1"), line(10, message)]),
        "var/log/kern.log.1": "\n".join([boot(1), line(2, message)]),
    }

    assert boots(kind, files) == {"var/log/kern.log": "this", "var/log/kern.log.1": "earlier"}


def test_a_rotated_log_of_the_same_boot_is_of_this_one():
    """No log shows that the machine was booted after it."""
    files = {"kern.log": line(10, "usb 1-1: new device"), "kern.log.1": "\n".join([boot(1), line(2, OOM)])}

    assert boots("oom_kill", files) == {"kern.log.1": "this"}


@pytest.mark.parametrize("name", ["kern.log.1", "messages-20250907", "messages.old", "kern.log.2"])
def test_all_events_of_a_rotated_log_are_before_the_next(name):
    """However many there are, and where it shows no boot of its own."""
    files = {"kern.log": boot(9), name: "\n".join([line(2, OOM), line(3, OOM), line(4, OOM)])}

    assert boots("oom_kill", files) == {name: "earlier"}


def test_events_picked_from_all_logs_stay_as_they_are_where_only_the_first_is_known():
    """The last of them may be of today."""
    files = {
        "kern.log": boot(9),
        "picked.txt": "\n".join([line(2, OOM), line(12, OOM.replace("345646", "7"), second=9000.5)]),
    }

    assert boots("oom_kill", files) == {"picked.txt": "this"}


def test_what_is_later_than_the_whole_ring_buffer_is_of_an_earlier_boot():
    """By the seconds since boot, where the buffer has no other time."""
    files = {"dmesg.txt": ring(900.0), "kern.txt": line(2, OOM, second=5000.0)}

    assert boots("oom_kill", files) == {"kern.txt": "earlier"}


def test_ring_buffers_of_two_machines_are_both_of_this_boot():
    """Neither names its host; one of them has run for longer."""
    files = {"a/dmesg.txt": ring(900.0), "b/dmesg.txt": ring(90_000.0, f"[{5000.0:12.6f}] {XID}")}

    assert boots("logged_xid", files) == {"b/dmesg.txt": "this"}
    _, readings = read_all([File(path, Content(text.encode())) for path, text in files.items()])
    events = [
        one.fact.boot for one in combine(readings) if isinstance(one, Observed) and one.fact.kind == "xid_event"
    ]
    assert events == ["this"]


def test_dmesg_with_clock_times_is_of_this_boot():
    """It is a buffer too; the log of another machine says nothing of it."""
    files = {"dmesg-T.txt": f"[Tue Sep  2 10:00:00 2025] {OOM}", "other.log": boot(9)}

    assert boots("oom_kill", files) == {"dmesg-T.txt": "this"}


def test_the_boot_of_another_host_says_nothing():
    """Two machines in one folder."""
    files = {"a.log": boot(9, "node8"), "b.log.1": "\n".join([boot(1), line(2, OOM)])}

    assert boots("oom_kill", files) == {"b.log.1": "this"}


def test_the_boot_of_the_same_host_does_beside_a_third():
    """Each host has its own."""
    files = {
        "a.log": boot(9, "node8"),
        "b.log": boot(9),
        "b.log.1": line(2, OOM),
        "c.log.1": line(2, OOM, "node9"),
    }

    assert boots("oom_kill", files) == {"b.log.1": "earlier", "c.log.1": "this"}


def test_without_a_second_file_nothing_changes():
    """A reader tells the boots of its own file apart."""
    _, readings = read_all([File("kern.log", Content("\n".join([line(2, OOM), boot(9), line(10, XID)]).encode()))])

    assert settled(readings) == readings


@pytest.mark.parametrize(
    "path",
    [
        "sos/sos_commands/logs/journalctl_--no-pager_--catalog_--boot_-1",
        "sos/sos_commands/logs/journalctl_--no-pager_--boot_-2",
        "sos/var/log/dmesg.0",
        "sos/sys/fs/pstore/dmesg-efi-1",
    ],
)
def test_a_file_whose_name_tells_of_an_earlier_boot_is_of_one(path):
    """As sosreport names the output of a command, and Debian the buffers of former boots."""
    assert boots("logged_xid", {path: line(2, XID)}) == {path: "earlier"}
    assert boots("logged_xid", {"sos_commands/logs/journalctl_--no-pager_--boot": line(2, XID)}) == {
        "sos_commands/logs/journalctl_--no-pager_--boot": "this"
    }
