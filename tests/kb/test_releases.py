"""What releases of the container toolkit can and cannot do, and what must be of the driver's release."""

from __future__ import annotations

import pytest

from kb.catalogues import rows
from kb.facts.base import version_key
from kb.facts.containers import ContainerToolkit
from kb.facts.packages import Package
from kb.releases import toolkit_entries


@pytest.mark.parametrize(
    ("version", "has", "lacks"),
    [
        ("1.7.0", "", "cgroup-v2"),
        ("1.8.0", "nested-cgroup-root", "cdi-generate"),
        ("1.14.0", "config-ignored", "dev-char-of-550"),
        ("1.17.4", "compat-left-out", "cdi-refresh"),
        ("1.17.7", "flags-lost", "cdi-refresh"),
        ("1.18.0", "no-linker-cache", ""),
    ],
)
def test_a_release_has_what_it_has(version, has, lacks):
    toolkit = ContainerToolkit(version=version, tool="nvidia-ctk")

    assert has in (toolkit.has or "")
    assert lacks in (toolkit.lacks or "")


@pytest.mark.parametrize(("version", "gone"), [("1.17.5", "compat-left-out"), ("1.17.8", "flags-lost")])
def test_a_release_has_no_longer_what_was_mended(version, gone):
    assert gone not in (ContainerToolkit(version=version, tool="nvidia-ctk").has or "")


def test_vulnerabilities_end_with_the_release_that_mends_them():
    found = {
        version: ContainerToolkit(version=version, tool="nvidia-ctk").vulnerable_to
        for version in ("1.16.1", "1.17.4", "1.17.7", "1.17.8")
    }

    assert "CVE-2024-0132" in (found["1.16.1"] or "")
    assert found["1.17.4"] == found["1.17.7"] == "CVE-2025-23266"
    assert found["1.17.8"] is None


def test_entries_end_after_they_begin_and_have_names_of_their_own():
    entries = toolkit_entries()

    assert len({entry.id for entry in entries}) == len(entries)
    assert [
        entry.id
        for entry in entries
        if entry.before and (version_key(entry.before) or 0) <= (version_key(entry.since or "") or 0)
    ] == []
    assert all(row["source"] and len(row["date"]) == 10 for row in rows("container_toolkits.csv"))


@pytest.mark.parametrize(
    ("role", "follows"),
    [("fabric-manager", True), ("imex", True), ("nccl", False), ("driver-kernel", None), (None, None)],
)
def test_what_must_be_of_the_drivers_release(role, follows):
    assert Package(name="p", version="1", state="installed", role=role).follows_driver is follows
