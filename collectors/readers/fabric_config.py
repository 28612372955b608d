"""What the services of NVLink are told to do: fabric manager's configuration, and the nodes of an IMEX domain.

    FABRIC_MODE=0
    FM_STAY_RESIDENT_ON_FAILURES=0

Follows fabricmanager.cfg of fabric manager 450 to 610, and nodes_config.cfg of nvidia-imex 560 to 610, which holds
an address or a name on each line and is known by the command or path that shows it. Commented lines give nothing.
"""

from __future__ import annotations

import ipaddress
from collections.abc import Iterator
from typing import Literal

from collectors.readers._lines import command_of
from collectors.readers._regex import regex
from kb.evidence import Reader, Reading, Section
from kb.facts.fabric import FabricManagerConfig, ImexNodes

_SETTING = regex(r"\s{0,8}(?P<key>FABRIC_MODE|FM_STAY_RESIDENT_ON_FAILURES)\s{0,4}=\s{0,4}(?P<value>[0-9])\s*$")
_MODES: dict[str, Literal["all-gpus", "shared", "vgpu"]] = {"0": "all-gpus", "1": "shared", "2": "vgpu"}
_NODES_FILE = "nodes_config.cfg"
_NODE = regex(r"\s{0,8}(?P<node>[0-9A-Za-z][\w.:%-]{0,252})\s*$")
_MOST_NODES = 1024
_MOST_SHOWN = 64


def read(section: Section) -> Iterator[Reading]:
    """One FabricManagerConfig where its settings stand, and one ImexNodes of a list of nodes."""
    values: dict[str, tuple[str, int]] = {}
    for index, line in section.matching("FABRIC_MODE", "FM_STAY_RESIDENT_ON_FAILURES"):
        match = _SETTING.match(line[:200])
        if match:
            values[match["key"]] = (match["value"], index)
    if values:
        mode, _ = values.get("FABRIC_MODE", ("", 0))
        stays, _ = values.get("FM_STAY_RESIDENT_ON_FAILURES", ("", 0))
        fact = FabricManagerConfig(mode=_MODES.get(mode), stays_on_failure=stays == "1" if stays else None)
        yield section.observe(fact, min(index for _, index in values.values()))
        yield section.looked(FabricManagerConfig)
    yield from _nodes(section)


def _nodes(section: Section) -> Iterator[Reading]:
    """The list of an IMEX domain; a tool's error is no list."""
    place = command_of(section) or section.path
    if not place.endswith(_NODES_FILE) or not place.startswith(("cat ", section.path)):
        return
    names: list[tuple[str, int]] = []
    for index, line in enumerate(section.lines[: 4 * _MOST_NODES]):
        plain = line.partition("#")[0]
        match = _NODE.match(plain)
        if match:
            names.append((match["node"].lower(), index))
        elif plain.strip():
            return
    addresses = [name for name, _ in names if _is_address(name)]
    twice = next((name for at, (name, _) in enumerate(names) if name in [one for one, _ in names[:at]]), None)
    fact = ImexNodes(
        nodes=len(names),
        twice=twice,
        addresses=" ".join(addresses)
        if addresses and len(addresses) == len(names) and len(names) <= _MOST_SHOWN
        else None,
    )
    yield section.observe(fact, names[0][1] if names else 0, names[-1][1] if names else None)
    yield section.looked(ImexNodes)


def _is_address(name: str) -> bool:
    try:
        ipaddress.ip_address(name.partition("%")[0])
    except ValueError:
        return False
    return True


READER = Reader(
    "fabric-config",
    read,
    markers=("FABRIC_MODE=", "FM_STAY_RESIDENT_ON_FAILURES="),
    commands=(f"cat /etc/nvidia-imex/{_NODES_FILE}", "cat /usr/share/nvidia/nvswitch/fabricmanager.cfg"),
)
