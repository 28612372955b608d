"""The table of probes, in the order in which they run: from the harmless to what a sick machine may choke on.

What goes through the host comes before the same between peers, so that the contrast is known when that hangs.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

KIB = 1024
MIB = 1024 * KIB

_COPY_SIZES = (4 * KIB, MIB + 4, 64 * MIB)
_SUM_SIZES = (8 * KIB, 8 * MIB + 8, 64 * MIB)
_NCCL_LOG = {"NCCL_DEBUG": "INFO", "NCCL_DEBUG_SUBSYS": "INIT,BOOTSTRAP,ENV,NET,GRAPH", "NCCL_DEBUG_FILE": None}
_P2P_AS_NCCL_LIKES = {"NCCL_P2P_DISABLE": None, "NCCL_P2P_LEVEL": None}


@dataclass(frozen=True)
class Probe:
    """One row: a script of `children`, what it is told, and for how long it may run."""

    name: str
    """Of its journal; a probe that is asked for by one name may be several rows."""
    asked_as: str
    script: str
    disturbs: str
    """What it does to the machine, and what that may cost: said before it starts."""
    options: Mapping[str, Any] = field(default_factory=dict)
    environ: Mapping[str, str | None] = field(default_factory=dict)
    """Variables that are set for it, or taken away (None)."""
    deadline_s: float = 60.0
    start_s: float = 90.0
    """For importing torch, and for the first touch of the GPUs."""
    step_s: float = 30.0
    """For any other step."""
    uses_gpus: bool = True


def _copies(name: str, ways: Sequence[str], deadline_s: float, disturbs: str) -> Probe:
    options = {"ways": ways, "sizes_bytes": _COPY_SIZES}
    return Probe(name, name, "probe_copies.py", disturbs, options, deadline_s=deadline_s)


def _collective(
    name: str,
    asked_as: str,
    disturbs: str,
    environ: Mapping[str, str | None],
    *,
    sizes: Sequence[int],
    direct: bool,
) -> Probe:
    options = {"sizes_bytes": sizes, "direct": direct, "init_s": 90.0}
    return Probe(name, asked_as, "probe_collective.py", disturbs, options, environ, deadline_s=240.0)


PROBES: tuple[Probe, ...] = (
    Probe(
        "shm",
        "shm",
        "probe_shm.py",
        "writes up to 16 MiB to /dev/shm and takes them away again",
        {"folder": "/dev/shm", "write_mib": 16},  # noqa: S108 - the very place that is tested
        deadline_s=30.0,
        uses_gpus=False,
    ),
    Probe(
        "network",
        "network",
        "probe_network.py",
        "opens free TCP ports on this machine's own addresses for a moment, and one connection to "
        "MASTER_ADDR:MASTER_PORT where both are set",
        deadline_s=330.0,
        uses_gpus=False,
    ),
    Probe(
        "cuinit",
        "cuinit",
        "probe_cuinit.py",
        "starts CUDA in a process of its own; where the driver hangs, that process may stay for ever",
        deadline_s=120.0,
    ),
    _copies("staged", ("host",), 180.0, "takes some 300 MiB of each GPU, and copies through host memory"),
    _collective(
        "nccl-init",
        "nccl-init",
        "starts an NCCL communicator over all GPUs, some hundred MiB of each; where that hangs, it is killed",
        _NCCL_LOG,
        sizes=(),
        direct=True,
    ),
    _collective(
        "allreduce-p2p-off",
        "allreduce",
        "adds up 64 MiB over all GPUs by NCCL, peer-to-peer off, which takes some hundred MiB of each",
        {"NCCL_DEBUG": "WARN", "NCCL_DEBUG_FILE": None, "NCCL_P2P_DISABLE": "1"},
        sizes=_SUM_SIZES,
        direct=False,
    ),
    _copies(
        "p2p",
        ("host", "no-access", "copy", "kernel", "ipc-read", "ipc-write"),
        600.0,
        "takes some 300 MiB of each GPU, and copies between peers; where peer access is broken a GPU may hang "
        "until it is reset, and the machine may log faults or, rarely, stop",
    ),
    _collective(
        "allreduce",
        "allreduce",
        "the same with peer-to-peer as NCCL chooses; where peer access is broken a GPU may hang until it is reset",
        {**_NCCL_LOG, **_P2P_AS_NCCL_LIKES},
        sizes=_SUM_SIZES,
        direct=True,
    ),
)

NAMES: tuple[str, ...] = tuple(dict.fromkeys(probe.asked_as for probe in PROBES))
"""What can be asked for, in the order in which it runs."""


def chosen(names: Sequence[str]) -> tuple[Probe, ...]:
    """The rows that are asked for, in the order of the table. Raises ValueError for a name that is none."""
    unknown = next((name for name in names if name not in NAMES), None)
    if unknown is not None:
        raise ValueError(
            f"expected probes among {', '.join(NAMES)}; found {unknown or 'nothing between two commas'}"
        )
    return tuple(probe for probe in PROBES if probe.asked_as in names)
