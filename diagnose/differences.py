"""In what the machines of one case differ, and which difference splits the sick ones from the well."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass

from kb.evidence import Looked, Observed, Reading
from kb.facts import fields_of

ALIKE: Mapping[str, tuple[tuple[str, ...], tuple[str, ...]]] = {
    "boot": ((), ("kernel", "architecture")),
    "kernel_module": (("name",), ("version", "flavour")),
    "module_file": (("name",), ("version",)),
    "nvidia_smi": ((), ("driver_version", "cuda_version")),
    "resolved_library": (("soname",), ("version",)),
    "package": (("name",), ("version",)),
    "kernel_parameter": (("name",), ("value",)),
    "iommu_default": ((), ("domain",)),
    "memory_encryption": (("technology", "role"), ("state",)),
    "effective_setting": (("name",), ("value",)),
    "gpu_count": (("seen_by",), ("count",)),
    "torch_build": ((), ("version", "cuda")),
    "python_package": (("name",), ("version",)),
    "cuda_toolkit": ((), ("version",)),
    "container_engine": (("engine",), ("version",)),
    "container_toolkit": (("tool",), ("version",)),
    "fabric_manager_run": ((), ("version", "state")),
    "service": (("name",), ("active",)),
    "network_interface": (("name",), ("state", "mtu")),
    "rdma_port": (("device", "port"), ("state", "link_layer", "rate_gbps")),
    "resource_limit": (("name", "process"), ("soft", "hard", "unlimited")),
    "numa_layout": ((), ("nodes",)),
}
"""Kinds of facts that should be alike on the machines of one job: what they are of, and the fields that count."""

OWN = frozenset({"root", "BOOT_IMAGE", "initrd", "resume", "HOSTNAME"})
"""Parameters and settings that each machine has for itself."""

ABSENT = "none"


@dataclass(frozen=True, slots=True)
class Difference:
    """One thing that is not the same on all machines: the machines of each value, those of the rarest first."""

    subject: str
    machines: Mapping[str, tuple[str, ...]]
    """Names of machines by the value that they have; ABSENT where the thing was looked for and is not there."""
    splits: bool
    """The machines with a fault of their own have other values than those without."""
    evidence: tuple[Observed, ...]
    """One fact for each value that is there."""


def differences(parts: Mapping[str, Iterable[Reading]], sick: Collection[str]) -> tuple[Difference, ...]:
    """In what the named parts differ; those that split the sick from the well first. None for a single machine."""
    readings = {name: list(part) for name, part in parts.items() if name}
    if len(readings) < 2:
        return ()
    values = {name: _values(part) for name, part in readings.items()}
    looked = {name: _looked(part) for name, part in readings.items()}
    keys = dict.fromkeys(key for of_part in values.values() for key in of_part)
    found = [one for key in keys if (one := _difference(key, values, looked, sick))]
    return tuple(sorted(found, key=lambda one: (not one.splits, one.subject)))


_Key = tuple[str, tuple[str, ...]]


def _values(readings: Iterable[Reading]) -> dict[_Key, tuple[str, Observed]]:
    """For each thing its value in words, and the first fact that tells it."""
    values: dict[_Key, tuple[str, Observed]] = {}
    for reading in readings:
        if isinstance(reading, Observed) and reading.fact.kind in ALIKE:
            identity, counted = ALIKE[reading.fact.kind]
            fields = fields_of(reading.fact)
            of = tuple(str(fields[name]) for name in identity if name in fields)
            value = ", ".join(str(fields[name]) for name in counted if name in fields)
            if value and not set(of) & OWN:
                values.setdefault((reading.fact.kind, of), (value, reading))
    return values


def _looked(readings: Iterable[Reading]) -> set[str]:
    return {one.kind for one in readings if isinstance(one, Looked) and one.complete}


def _difference(
    key: _Key,
    values: Mapping[str, Mapping[_Key, tuple[str, Observed]]],
    looked: Mapping[str, set[str]],
    sick: Collection[str],
) -> Difference | None:
    machines: dict[str, list[str]] = {}
    evidence: dict[str, Observed] = {}
    for name, of_part in values.items():
        if key in of_part:
            value, observed = of_part[key]
            evidence.setdefault(value, observed)
        elif key[0] in looked[name]:
            value = ABSENT
        else:
            continue
        machines.setdefault(value, []).append(name)
    known = sum(map(len, machines.values()))
    if len(machines) < 2 or (known > 2 and len(machines) == known):  # what each has for itself tells nothing
        return None
    rarest_first = sorted(machines.items(), key=lambda item: (len(item[1]), item[0]))
    return Difference(
        subject=" ".join([key[0].replace("_", " "), *key[1]]),
        machines={value: tuple(names) for value, names in rarest_first},
        splits=_splits(machines.values(), sick),
        evidence=tuple(evidence[value] for value, _ in rarest_first if value in evidence),
    )


def _splits(groups: Iterable[Iterable[str]], sick: Collection[str]) -> bool:
    """Whether each value is either one of sick machines or one of well ones, and both are there."""
    kinds = [{name in sick for name in names} for names in groups]
    return all(len(kind) == 1 for kind in kinds) and {True, False} == set().union(*kinds)


def with_faults(abouts: Iterable[str], names: Iterable[str]) -> Iterator[str]:
    """The machines that something of what is told is about."""
    told = list(abouts)
    return (name for name in names if any(about == name or about.endswith(f" on {name}") for about in told))
