"""The network that NCCL chose, its devices, its plugins, and GPUDirect RDMA.

    a17:311:340 [0] NCCL INFO NET/IB : Using [0]mlx5_0:1/IB [1]mlx5_1:1/RoCE [RO]; OOB eth0:10.0.0.5<0>
    a17:311:340 [0] NCCL INFO Assigned NET plugin IB to comm
    a17:311:340 [0] NCCL INFO NET/IB : GPU Direct RDMA Disabled for HCA 0 'mlx5_0'

Follows NCCL 2.8 to 2.32 (src/plugin/, net.cc, transport/net_*.cc, graph/paths.cc) and aws-ofi-nccl 1.7 to 1.17.
Up to 2.26 the choice is `Using network IB`. A log that begins in the middle gives what it still holds; without
the choice the devices are given as not chosen.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Literal, NamedTuple

from collectors.readers._nccl_last_errors import last_errors
from collectors.readers._regex import regex
from collectors.readers._tally import Tallies, Tally
from collectors.readers.nccl_lines import NcclLine, nccl_lines
from collectors.readers.nccl_plugins import MARKERS as PLUGIN_MARKERS
from collectors.readers.nccl_plugins import Plugins
from kb.evidence import Observed, Reader, Reading, Section
from kb.facts.nccl_run import NcclGdr, NcclNetwork, NcclPlugin

MOST_PROCESSES = 20_000
MOST_NAMES = 8

_CHOICE = regex(r"(?:Using network|Assigned NET plugin) (?P<name>[\w .:/+-]{1,60}?)(?: to comm)?\s*$")
_IB = regex(r"NET/IB ?: Using(?P<devices>.{0,1500}?)(?:; OOB (?P<interface>[^\s:]{1,40}):|$)")
_IB_DEVICE = regex(r"\[\d{1,4}\](?:\{[^}]{0,20}\} ?)?(?P<name>[\w.+-]{1,60}:\d{1,4})/(?P<layer>\w{1,16})")
_SOCKET = regex(r"NET/Socket ?: Using(?P<devices>.{0,1500})")
_SOCKET_DEVICE = regex(r"\[\d{1,4}\](?P<name>[^\s:\[\]]{1,40}):")
_OFI = regex(r"NET/OFI Selected [Pp]rovider is (?P<name>[\w-]{1,40}).{0,80}?\(found (?P<found>\d{1,4}) nics\)")
_DISTANCE = regex(r"\(distance (\d{1,4}) (?P<sign>[<>]=?) (\d{1,4})\)")
_GDR = regex(
    r"(?:NET/(?P<network>[\w .-]{1,40}?) ?: )?GPU Direct RDMA (?P<word>Enabled|Disabled) for "
    r"(?:HCA \d{1,6} '(?P<device>[^']{1,100})'|(?P<pair>GPU .{1,60}))"
)
_MARKERS = (
    *("Using network ", "Assigned NET plugin ", "NET/IB : Using", "NET/Socket : Using", "NET/OFI Selected"),
    *("NET/IB : No device found", "Failed to open libibverbs", "GPU Direct RDMA ", *PLUGIN_MARKERS),
)
_NONE_FOUND = ("NET/IB : No device found", "Failed to open libibverbs")

Layer = Literal["IB", "RoCE", "mixed"]


@dataclass(slots=True)
class _Process:
    """What one process said of its networks."""

    index: int
    choice: str | None = None
    rdma: tuple[str, ...] | None = None
    layers: set[str] = field(default_factory=set)
    sockets: tuple[str, ...] = ()
    provider: int | None = None
    """Devices that a libfabric provider has."""
    interface: str | None = None


class _Choice(NamedTuple):
    """All that makes two processes' networks the same."""

    network: str
    names: tuple[str, ...] | None
    layer: Layer | None
    interface: str | None
    rdma_found: bool | None
    found: int | None
    chosen: bool


class _Log:
    def __init__(self) -> None:
        self.processes: dict[str, _Process] = {}
        self.plugins = Plugins()
        self.gdr: Tallies[tuple[bool, str | None, str | None]] = Tallies()
        self.gdr_devices: dict[tuple[bool, str | None, str | None], str | None] = {}

    def take(self, line: NcclLine) -> None:
        """Adds one record."""
        if (gdr := _GDR.search(line.text[:400])) is not None:
            reason = "distance" if gdr["pair"] and _too_far(gdr["pair"]) else None
            disabled = gdr["word"] == "Disabled"
            key = (not disabled, gdr["network"], (reason or "not-supported") if disabled else None)
            self.gdr.add(key, line.index, line.process)
            self.gdr_devices.setdefault(key, gdr["device"] or gdr["pair"])
            return
        self.plugins.take(line)
        if line.level == "INFO" and len(self.processes) < MOST_PROCESSES:
            self._network(line)

    def _network(self, line: NcclLine) -> None:
        text = line.text[:2000]
        choice, ib, socket, ofi = (form.match(text) for form in (_CHOICE, _IB, _SOCKET, _OFI))
        none_found = text.startswith(_NONE_FOUND)
        if not (choice or ib or socket or ofi or none_found):
            return
        process = self.processes.setdefault(line.process, _Process(line.index))
        if choice:
            process.choice = choice["name"]
            process.index = line.index
        elif ib:
            found = _IB_DEVICE.findall(ib["devices"])
            process.rdma = tuple(name for name, _ in found)
            process.layers = {layer for _, layer in found}
            process.interface = ib["interface"] or process.interface
        elif socket:
            process.sockets = tuple(_SOCKET_DEVICE.findall(socket["devices"]))
        elif ofi:
            process.provider = int(ofi["found"])
        else:
            process.rdma = process.rdma or ()


def read(section: Section) -> Iterator[Reading]:
    """One fact for each different choice of network, plugin event and state of GPUDirect RDMA."""
    log = _Log()
    seen = False
    for record in nccl_lines(section, *_MARKERS):
        seen = True
        log.take(record)
    for record in last_errors(section):
        if record.text.startswith("NET/OFI"):
            seen = True
            log.plugins.take(record)
    if not seen:
        return
    yield from _networks(section, log)
    yield from log.plugins.facts(section)
    yield from _gdr(section, log)
    named = any(process.choice for writer, process in log.processes.items() if writer)
    for fact_type, complete in ((NcclNetwork, named), (NcclPlugin, named), (NcclGdr, False)):
        yield section.looked(fact_type, complete=complete)


def _networks(section: Section, log: _Log) -> Iterator[Observed]:
    choices: Tallies[_Choice] = Tallies()
    for name, process in log.processes.items():
        if (choice := _choice(process)) is not None:
            choices.add(choice, process.index, name)
    for choice, tally in choices:
        yield section.observe(_fact(choice, tally), tally.index)


def _choice(process: _Process) -> _Choice | None:
    network = process.choice
    chosen = network is not None
    if network is None:
        if process.provider is not None:
            network = "AWS Libfabric"
        elif process.rdma:
            network = "IB"
        elif process.sockets:
            network = "Socket"
        else:
            return None
    found = None if process.rdma is None else bool(process.rdma)
    on_ib, on_socket = _transport(network) == "ib", _transport(network) == "socket"
    names = process.rdma if on_ib else process.sockets if on_socket and process.sockets else None
    layer: Layer | None = None
    if on_ib and process.layers <= {"IB", "RoCE"} and process.layers:
        layer = "mixed" if len(process.layers) > 1 else "IB" if "IB" in process.layers else "RoCE"
    interface = process.interface if on_ib else process.sockets[0] if names else None
    return _Choice(
        network, names, layer, interface, found, None if on_ib or on_socket else process.provider, chosen
    )


def _transport(network: str) -> Literal["ib", "socket", "ofi", "other"]:
    lower = network.lower()
    if "libfabric" in lower or "ofi" in lower:
        return "ofi"
    return "ib" if lower.startswith("ib") else "socket" if lower == "socket" else "other"


def _fact(choice: _Choice, tally: Tally) -> NcclNetwork:
    return NcclNetwork(
        network=choice.network,
        transport=_transport(choice.network),
        devices=choice.found if choice.names is None else len(choice.names),
        device_names=", ".join(choice.names[:MOST_NAMES]) or None if choice.names else None,
        link_layer=choice.layer,
        interface=choice.interface,
        rdma_found=choice.rdma_found,
        chosen=choice.chosen,
        processes=tally.processes,
    )


def _too_far(pair: str) -> bool:
    """Whether the distance that is given is over the limit; where it is under it, something else is missing."""
    match = _DISTANCE.search(pair)
    return "distance" in pair and (match is None or match["sign"] != "<" or int(match[1]) >= int(match[3]))


def _gdr(section: Section, log: _Log) -> Iterator[Observed]:
    for key, tally in log.gdr:
        enabled, network, reason = key
        fact = NcclGdr(
            enabled=enabled,
            network=network,
            reason="distance" if reason == "distance" else "not-supported" if reason else None,
            device=log.gdr_devices[key],
            count=tally.count,
        )
        yield section.observe(fact, tally.index)


READER = Reader("nccl-network", read, markers=(*_MARKERS, "Last error:"), context=(0, 1))
