"""What several machines say is told apart; what one machine says in several places stays together."""

from __future__ import annotations

from collectors.hosts import UNKNOWN, by_host
from kb.evidence import Looked, Observed, Reading, Source
from kb.facts import Fact
from kb.facts.driver import KernelModule
from kb.facts.framework import ProcessError
from kb.facts.machine import Boot, BootId, Container
from kb.facts.settings import EffectiveSetting
from kb.facts.xid import LoggedXid

MODULE = KernelModule(version="550.54.14", reported_by="procfs")
ERROR = ProcessError(rank="3", error="RuntimeError", text="x")
SETTING = EffectiveSetting(name="NCCL_P2P_DISABLE", value="1", origin="process")


def at(path: str, fact: Fact) -> Observed:
    return Observed(fact, Source(path, 1, 1, "text"))


def named(path: str, host: str) -> Observed:
    return at(path, Boot(kernel="6.8.0", host=host))


def divided(*readings: Reading) -> dict[str, set[str]]:
    """For each machine the files of its readings."""
    return {
        host: {one.source.path if isinstance(one, Observed) else getattr(one, "where", "") for one in part}
        for host, part in by_host(readings).items()
    }


def test_one_machine_is_not_divided():
    assert divided(named("a/uname", "gpu-1"), at("b/version", MODULE)) == {UNKNOWN: {"a/uname", "b/version"}}


def test_folders_of_two_machines_are_told_apart():
    parts = divided(
        named("a/uname", "gpu-1"), at("a/version", MODULE), named("b/uname", "gpu-2"), at("b/version", MODULE)
    )

    assert parts == {"gpu-1": {"a/uname", "a/version"}, "gpu-2": {"b/uname", "b/version"}}


def test_a_domain_and_capitals_make_no_other_machine():
    assert list(divided(named("a/uname", "GPU-1"), named("b/uname", "gpu-1.example.org"))) == [UNKNOWN]


def test_names_that_name_nothing_do_not_count():
    assert list(divided(named("a/uname", "gpu-1"), named("b/uname", "localhost"))) == [UNKNOWN]


def test_in_one_folder_the_name_of_a_file_tells_its_machine():
    parts = divided(named("gpu-1.dmesg", "gpu-1"), named("gpu-2.dmesg", "gpu-2"), at("gpu-2-version.txt", MODULE))

    assert parts["gpu-2"] == {"gpu-2.dmesg", "gpu-2-version.txt"}


def test_a_name_that_is_part_of_a_longer_one_tells_nothing():
    parts = divided(named("x.dmesg", "gpu-1"), named("y.dmesg", "gpu-2"), at("gpu-11-version.txt", MODULE))

    assert parts == {"gpu-1": {"x.dmesg"}, "gpu-2": {"y.dmesg"}, UNKNOWN: {"gpu-11-version.txt"}}


def test_a_job_belongs_to_all_its_machines():
    parts = divided(named("a/uname", "gpu-1"), named("b/uname", "gpu-2"), at("job.log", ERROR))

    assert parts == {"gpu-1": {"a/uname", "job.log"}, "gpu-2": {"b/uname", "job.log"}}


def test_settings_go_with_the_job_unless_their_file_is_one_machines():
    parts = divided(
        named("a/uname", "gpu-1"), named("b/uname", "gpu-2"), at("run.sh", SETTING), at("a/env", SETTING)
    )

    assert parts == {"gpu-1": {"a/uname", "a/env", "run.sh"}, "gpu-2": {"b/uname", "run.sh"}}


def test_a_fact_that_names_its_machine_belongs_to_it_wherever_it_is_read():
    xid = at("central.log", LoggedXid(code=79, bdf="0000:41:00.0", host="gpu-2"))
    parts = divided(named("a/uname", "gpu-1"), named("b/uname", "gpu-2"), xid)

    assert parts["gpu-2"] == {"b/uname", "central.log"}


def test_a_container_belongs_to_the_only_machine():
    inside = named("container/uname", "3f2b9d1c77aa")
    parts = divided(
        named("host/uname", "gpu-1"), inside, at("container/cgroup", Container(runtime="docker")), at("c", MODULE)
    )

    assert list(parts) == [UNKNOWN]


def test_containers_of_two_machines_stay_apart():
    parts = divided(
        *(named(f"{name}/uname", name) for name in ("gpu-1", "gpu-2", "pod-a")),
        at("pod-a/cgroup", Container(runtime="kubernetes")),
    )

    assert set(parts) == {"gpu-1", "gpu-2", "pod-a"}


def test_where_something_was_looked_for_belongs_to_its_machine_too():
    looked = Looked("xid_event", True, "b/dmesg")
    parts = divided(named("a/uname", "gpu-1"), named("b/uname", "gpu-2"), looked)

    assert parts == {"gpu-1": {"a/uname"}, "gpu-2": {"b/uname", "b/dmesg"}}


def test_of_several_machines_a_container_belongs_to_the_one_with_its_start_of_the_kernel():
    """A bundle of each host and one of a container on the second: the kernel of both was started once."""
    first, second = (
        BootId(value="7d1c9a52-3f0e-4b7c-9a51-0c5d0f6e2b11"),
        BootId(value="0" * 8 + "-0000" * 4 + "0" * 7),
    )
    parts = divided(
        *(named("a/uname", "gpu-1"), at("a/boot_id", first), at("a/version", MODULE)),
        *(named("b/uname", "gpu-2"), at("b/boot_id", second), at("b/version", MODULE)),
        *(named("c/uname", "3f2a1b0c"), at("c/boot_id", second), at("c/marks", Container(runtime="docker"))),
    )

    assert parts["gpu-2"] == {"b/uname", "b/boot_id", "b/version", "c/uname", "c/boot_id", "c/marks"}
    assert set(parts) == {"gpu-1", "gpu-2"}
