"""Secure Boot and kernel lockdown: mokutil, bootctl, the kernel log, and /sys/kernel/security/lockdown.

    SecureBoot enabled
    [    0.000000] secureboot: Secure boot enabled
    none [integrity] confidentiality

Follows mokutil 0.3-0.7, bootctl of systemd 240-257, and drivers/firmware/efi and security/lockdown of Linux
5.4-6.17 with the texts of distributions' older patches. Logs of earlier boots give nothing, nor do sentences.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Literal

from collectors.readers._kernel_events import LOG_MARKERS, KernelLog
from collectors.readers._lines import is_lead
from collectors.readers._regex import regex
from kb.evidence import Reader, Reading, Section
from kb.facts.module_load import SecureBoot

_MOKUTIL = regex(r"SecureBoot (?P<state>enabled|disabled)\s*$")
_BOOTCTL = regex(r"\s{2,16}Secure Boot: (?P<state>enabled|disabled)\b")
_KERNEL = regex(r"(?:secureboot|integrity|efi): Secure boot (?P<state>enabled|disabled)\s*$")
_LOCKED = regex(
    r"Kernel is locked down from (?P<why>EFI Secure Boot|command line|securityfs|Kernel configuration)\b"
)
_INSTALLER = regex(
    r"(?:ERROR|WARNING): .{0,200}?(?P<state>Secure [Bb]oot is enabled on this system|UEFI Secure Boot enabled)"
)
_SYSFS = regex(r"(?P<none>\[none\]|none) (?P<integrity>\[integrity\]|integrity) \[?confidentiality\]?\s*$")
_MARKERS = (
    "SecureBoot ",
    "Secure Boot: ",
    "Secure boot ",
    "Kernel is locked down from",
    "ecure boot is enabled",
    "integrity",
)


def read(section: Section) -> Iterator[Reading]:
    """SecureBoot from each source once."""
    seen: set[SecureBoot] = set()
    log = KernelLog(section)
    lines = list(log.lines(*_MARKERS))
    for line in lines:
        fact = _fact(line.text[:300])
        earlier = (
            fact is not None and fact.reported_by == "kernel" and log.which(line.boot, line.stamp(0)) != "this"
        )
        if fact and not earlier and fact not in seen:
            seen.add(fact)
            yield section.observe(fact, line.index)
    if seen:
        yield section.looked(SecureBoot)


_LEVELS: tuple[Literal["none", "integrity", "confidentiality"], ...] = ("none", "integrity", "confidentiality")


def _fact(line: str) -> SecureBoot | None:
    match = _MOKUTIL.match(line.strip())
    if match:
        return SecureBoot(enabled=match["state"] == "enabled", reported_by="mokutil")
    match = _BOOTCTL.match(line)
    if match:
        return SecureBoot(enabled=match["state"] == "enabled", reported_by="bootctl")
    if _INSTALLER.match(line.strip()):
        return SecureBoot(enabled=True, reported_by="installer")
    match = _SYSFS.match(line.strip())
    if match:
        chosen = [match["none"].startswith("["), match["integrity"].startswith("["), True].index(True)
        return SecureBoot(lockdown=_LEVELS[chosen], reported_by="sysfs")
    match = _KERNEL.search(line)
    if match and is_lead(line[: match.start()]):
        return SecureBoot(enabled=match["state"] == "enabled", reported_by="kernel")
    match = _LOCKED.search(line)
    if match and is_lead(line[: match.start()]):
        by_firmware = True if match["why"] == "EFI Secure Boot" else None
        return SecureBoot(enabled=by_firmware, lockdown="integrity", reported_by="kernel")
    return None


READER = Reader(
    "secure-boot",
    read,
    markers=(*_MARKERS[:5], "[integrity]", "[none] integrity", "integrity [confidentiality]", *LOG_MARKERS),
    commands=("mokutil", "cat /sys/kernel/security/lockdown", "bootctl"),
)
