"""Which machine each reading speaks of, so that what two machines say is never taken together.

A file belongs to the machine that it names, or that its folder, its archive or its own name tells. Only what
several machines say is divided: mostly there is one machine, and everything belongs together.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from functools import cache

from kb.evidence import Looked, Observed, Reading
from kb.facts import family_of

UNKNOWN = ""
"""The machine of what does not tell its machine, where there are several."""

OF_THE_JOB = frozenset(
    {
        *("collectives", "framework", "kubernetes", "launch", "nccl", "nccl_failures", "nccl_run", "nccl_tools"),
        *("problems", "progress", "stacks"),
    }
)
"""Families of facts about a job or a cluster as a whole: they belong to each of its machines."""

OF_ANY = frozenset({"environment", "settings"})
"""Families of facts that go with the job, unless their file is one machine's."""

NO_NAMES = frozenset({"localhost", "none", "unknown", "host", "machine", "linux"})


def by_host(readings: Sequence[Reading]) -> dict[str, list[Reading]]:
    """The readings of each machine, under its name; those of the job belong to every one.

    One entry under UNKNOWN holds everything where no two machines are told apart. Else what can't be assigned has
    that entry for itself, beside the job's readings.
    """
    hosts = _hosts(readings)
    parts: dict[str, list[Reading]] = {}
    shared: list[Reading] = []
    for reading in readings:
        host = _host_of(reading, hosts) if len(set(hosts.values())) > 1 else None
        if host is None:
            shared.append(reading)
        else:
            parts.setdefault(host, []).append(reading)
    told_apart = [host for host in parts if host != UNKNOWN]
    if len(told_apart) < 2:
        return {UNKNOWN: list(readings)}
    return {host: [*parts[host], *shared] for host in sorted(parts)}


def _host_of(reading: Reading, hosts: Mapping[str, str]) -> str | None:
    """The machine of one reading; None for what belongs to all."""
    if isinstance(reading, Observed):
        kind, path = reading.fact.kind, reading.source.path
    elif isinstance(reading, Looked):
        kind, path = reading.kind, reading.where
    else:
        return None
    family = family_of(kind)
    if family in OF_THE_JOB:
        return None
    own = plain_name(getattr(reading.fact, "host", None)) if isinstance(reading, Observed) else None
    host = own if own in hosts.values() else hosts.get(path, UNKNOWN)
    return None if host == UNKNOWN and family in OF_ANY else host


def _hosts(readings: Iterable[Reading]) -> dict[str, str]:
    """The machine of each file that has one. A container's name is replaced by that of the machine it runs on."""
    paths: dict[str, None] = {}
    named: dict[str, set[str]] = defaultdict(set)
    in_container: set[str] = set()
    boots: dict[str, str] = {}
    for reading in readings:
        if isinstance(reading, Observed):
            path = reading.source.path
            name = plain_name(getattr(reading.fact, "host", None))
            if name is not None and family_of(reading.fact.kind) not in OF_THE_JOB:
                named[path].add(name)
            if reading.fact.kind == "container":
                in_container.add(path)
            if reading.fact.kind == "boot_id":
                boots[path] = str(getattr(reading.fact, "value", ""))
        elif isinstance(reading, Looked):
            path = reading.where
        else:
            continue
        paths[path] = None
    folders = _by_folder(named)
    hosts = {path: host for path in paths if (host := _of_path(path, folders))}
    return _without_containers(hosts, in_container, boots)


def _by_folder(named: Mapping[str, set[str]]) -> dict[str, set[str]]:
    """The names that occur in each file and anywhere below each folder."""
    folders: dict[str, set[str]] = defaultdict(set)
    for path, names in named.items():
        for place in _places(path):
            folders[place] |= names
    return folders


def _places(path: str) -> list[str]:
    """The file, its folder, and so on up to the root, which is empty."""
    parts = path.split("/")
    return ["/".join(parts[:length]) for length in range(len(parts), -1, -1)]


def _of_path(path: str, folders: Mapping[str, set[str]]) -> str | None:
    for place in _places(path):
        found = folders.get(place, set())
        if len(found) == 1:
            return next(iter(found))
        if found:
            in_path = [name for name in found if _word(name).search(path)]
            return in_path[0] if len(in_path) == 1 else None
    return None


@cache
def _word(name: str) -> re.Pattern[str]:
    return re.compile(rf"(?<![0-9A-Za-z]){re.escape(name)}(?![0-9A-Za-z])")


def _without_containers(
    hosts: Mapping[str, str], in_container: set[str], boots: Mapping[str, str]
) -> dict[str, str]:
    """Container names replaced by the machine's: the one of the same start of the kernel, or the only one."""
    containers = {hosts[path] for path in in_container if path in hosts}
    machines = set(hosts.values()) - containers
    only = next(iter(machines)) if len(machines) == 1 else None
    of_boot: dict[str, set[str]] = defaultdict(set)
    for path, boot in boots.items():
        if path in hosts:
            of_boot[boot].add(hosts[path])
    machine_of = dict.fromkeys(containers, only)
    for names in of_boot.values():
        here = names & machines
        machine_of.update({name: next(iter(here)) for name in names & containers if len(here) == 1})
    return {path: machine_of.get(host) or host for path, host in hosts.items()}


def plain_name(host: str | None) -> str | None:
    """A host name without its domain, in lower case; None for what names nothing."""
    name = (host or "").partition(".")[0].strip().lower()
    return name if name and name not in NO_NAMES else None
