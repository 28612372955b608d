"""Links of fast network adapters that went down, and cables that adapters complain of, from the kernel log.

    mlx5_core 0000:5e:00.0 enp94s0np0: Link down
    mlx5_core 0000:5e:00.0: Port module event[error]: module 0, Cable error, Bus stuck (I2C or data shorted)
    bnxt_en 0000:81:00.0 eth2: NIC Link is Down

Follows drivers/net/ethernet/{mellanox,broadcom,intel} of Linux 5.4 to 6.14. Links go down and up while a machine
boots; of a device only what its last line says counts. Other lines give nothing.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Literal, TypeAlias

from collectors.readers import _kernel_log
from collectors.readers._kernel_events import LOG_MARKERS, BootId, KernelLog, LogLine
from collectors.readers._lines import BDF
from collectors.readers._regex import regex
from kb.evidence import Reader, Reading, Section
from kb.facts.network import NetworkLinkTrouble

_Said: TypeAlias = Literal["up", "down", "cable-error", "cable-unplugged"]
_WORDS = ("Link down", "Link up", "Link is Down", "Link is Up", "Link is up", "Port module event")
_LINK = regex(
    rf"(?P<driver>mlx5_core|bnxt_en|ice|i40e|irdma) (?P<bdf>{BDF})(?: (?P<name>[\w.-]{{1,40}}))?: "
    r"(?P<text>(?:NIC )?Link (?:is )?(?P<word>[Dd]own|[Uu]p)\b.{0,100})"
)
_MODULE = regex(
    rf"(?P<driver>mlx5_core) (?P<bdf>{BDF})(?: (?P<name>[\w.-]{{1,40}}))?: "
    r"(?P<text>Port module event(?:\[error\])?: module \d{1,3}, Cable (?P<word>error|unplugged|plugged).{0,100})"
)
_MEANING: dict[str, _Said] = {
    "down": "down",
    "up": "up",
    "plugged": "up",
    "error": "cable-error",
    "unplugged": "cable-unplugged",
}
_MOST_DEVICES = 200


class _Device:
    """One link: its last line, the first of its present trouble, and how often it went down."""

    def __init__(self) -> None:
        self.said: _Said = "up"
        self.line: tuple[LogLine, int, str, str] | None = None
        self.count = 0


def read(section: Section) -> Iterator[Reading]:
    """NetworkLinkTrouble for each link whose last line is no good one."""
    log = KernelLog(section)
    devices: dict[tuple[str, BootId], _Device] = {}
    for line in log.lines(*_WORDS):
        match = _LINK.search(line.text) or _MODULE.search(line.text)
        if match is None or not line.by_kernel(match.start()):
            continue
        key = (match["name"] or match["bdf"].lower(), line.boot)
        if key not in devices and len(devices) >= _MOST_DEVICES:
            continue
        device = devices.setdefault(key, _Device())
        said = _MEANING[match["word"].lower()]
        if said != "up":
            device.count += line.times(match.start())
            if device.said == "up" or said != "down":
                device.line = (line, match.start(), match["driver"], match["text"])
                device.said = said
        else:
            device.said = "up"
    found = False
    for (name, boot), device in devices.items():
        if device.said == "up" or device.line is None:
            continue
        found = True
        line, start, driver, text = device.line
        stamp = line.stamp(start)
        fact = NetworkLinkTrouble(
            device=name,
            driver=driver,
            trouble=device.said,
            text=text.strip(),
            count=device.count,
            boot=log.which(boot, stamp),
            time=stamp.at,
            first_s=stamp.at_s,
        )
        yield section.observe(fact, line.index)
    whole = _kernel_log.is_whole(section)
    if whole or found or _kernel_log.is_asked_for(section):
        yield _kernel_log.looked(section, NetworkLinkTrouble, whole=whole)


READER = Reader("network-links", read, markers=(*_WORDS, *LOG_MARKERS), commands=_kernel_log.COMMANDS)
