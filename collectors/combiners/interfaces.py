"""Variables that name network interfaces or RDMA devices, held against those that the machine has."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Literal, TypeAlias

from collectors.combiners import Facts, derived, looked_at
from kb.evidence import Observed, Reading
from kb.facts.nccl import NcclSetting
from kb.facts.network import InterfaceSetting, NetworkInterface, RdmaPort
from kb.facts.settings import Setting

_Problem: TypeAlias = Literal["not-found", "loopback", "virtual", "down", "without-address", "none"]

OF_INTERFACES = ("NCCL_SOCKET_IFNAME", "NCCL_OOB_NET_IFNAME", "GLOO_SOCKET_IFNAME", "TP_SOCKET_IFNAME")
OF_DEVICES = ("NCCL_IB_HCA",)
_BY_PREFIX = ("NCCL_SOCKET_IFNAME", "NCCL_OOB_NET_IFNAME", "NCCL_IB_HCA")
"""NCCL takes names as beginnings unless `=` stands before them; Gloo takes whole names."""


@dataclass(frozen=True, slots=True)
class _Named:
    """An interface or device that can be chosen."""

    name: str
    observed: Observed
    fault: _Problem


def combine(facts: Facts) -> Iterator[Reading]:
    """InterfaceSetting for each variable and value; `not-found` only where all interfaces were listed."""
    interfaces = [_Named(one.name, observed, _fault(one)) for one, observed in facts.of(NetworkInterface)]
    ports = [
        _Named(one.device, observed, "none" if one.state in {"active", "unknown"} else "down")
        for one, observed in facts.of(RdmaPort)
    ]
    done: set[tuple[str, str]] = set()
    for name, value, observed in _settings(facts):
        if (name, value) in done:
            continue
        done.add((name, value))
        looked = facts.looked(NetworkInterface if name in OF_INTERFACES else RdmaPort)
        if looked is not None:
            there = interfaces if name in OF_INTERFACES else ports
            yield from _judged(name, value, observed, there, complete=looked.complete)
    if done:
        yield from looked_at(facts, InterfaceSetting, NetworkInterface, RdmaPort)


def _settings(facts: Facts) -> Iterator[tuple[str, str, Observed]]:
    names = OF_INTERFACES + OF_DEVICES
    yield from (
        (one.name, one.value.strip(), observed) for one, observed in facts.of(NcclSetting) if one.name in names
    )
    yield from (
        (one.name, one.value.strip(), observed) for one, observed in facts.of(Setting) if one.name in names
    )


def _fault(interface: NetworkInterface) -> _Problem:
    """Why this interface leads to no other machine."""
    if interface.role == "loopback":
        return "loopback"
    if interface.virtual:
        return "virtual"
    if interface.state in {"down", "no-carrier"}:
        return "down"
    return "without-address" if interface.address is None and interface.address6 is None else "none"


def _judged(
    name: str, value: str, observed: Observed, there: Sequence[_Named], *, complete: bool
) -> Iterator[Observed]:
    """What the value chooses. Nothing is said where that can't be known."""
    takes = chosen_by(name, value)
    chosen = [one for one in there if takes(one.name)]
    useful = [one for one in chosen if one.fault not in {"loopback", "virtual"}] or chosen
    if not value or (not chosen and not complete):
        return
    sound = any(one.fault == "none" for one in useful)
    problem: _Problem = "not-found" if not chosen else "none" if sound else useful[0].fault
    fact = InterfaceSetting(
        name=name,
        value=value[:200],
        matches=len(chosen),
        problem=problem,
        chosen=", ".join(one.name for one in chosen)[:200] or None,
    )
    yield derived(fact, [observed, *(one.observed for one in (chosen or there)[:8])])


def chosen_by(name: str, value: str) -> Callable[[str], bool]:
    """A test whether an interface is chosen by such a value: `eth,ib`, `=eth0`, `^docker,lo`, `mlx5_0:1`."""
    excludes = value.startswith("^")
    exact = value.lstrip("^").startswith("=") or name not in _BY_PREFIX
    words = [word.split(":", 1)[0].strip() for word in value.lstrip("^=").split(",")]

    def takes(one: str) -> bool:
        found = any((one == word) if exact else one.startswith(word) for word in words if word)
        return found != excludes

    return takes
