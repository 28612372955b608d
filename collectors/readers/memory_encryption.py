"""Memory encryption of this machine: as host (SME, SEV, SEV-SNP, TDX) or as an encrypted guest.

    [    1.180213] Memory Encryption Features active: AMD SEV SEV-ES SEV-SNP
    [   41.702218] kvm_amd: SEV-SNP enabled (ASIDs 1 - 99)
    /sys/module/kvm_amd/parameters/sev_snp:Y

Follows arch/x86/mm/mem_encrypt.c, arch/x86/kvm/svm/sev.c, drivers/crypto/ccp/sev-dev.c and drivers/iommu/amd of
Linux 5.4-6.12. Only what says that SNP runs counts as active: that SEV could be used says nothing. Other lines
give nothing.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal, TypeAlias

from collectors.readers import _kernel_log
from collectors.readers._lines import BDF, MOST_COLUMNS, is_lead
from collectors.readers._regex import regex
from kb.evidence import Observed, Reader, Reading, Section
from kb.facts.machine import MemoryEncryption

Technology: TypeAlias = Literal["sme", "sev", "sev-es", "sev-snp", "tdx"]
Role: TypeAlias = Literal["host", "guest"]
State: TypeAlias = Literal["active", "available", "off"]

_REFUSED = 4
"""SNP asked for and lost outranks whatever else is said of it."""
_RUNS = 3
_KVM_OFF = 2
_COULD = 1


@dataclass(frozen=True)
class _Form:
    """A kernel line, what it says, and how much that weighs against other lines on the same technology."""

    pattern: re.Pattern[str]
    technology: Technology
    state: State
    weight: int
    role: Role = "host"


def _form(pattern: str, technology: Technology, state: State, weight: int, role: Role = "host") -> _Form:
    return _Form(regex(pattern), technology, state, weight, role)


_CCP = rf"ccp {BDF}: "
_FORMS = (
    _form(r"Memory Encryption Features active: (?:AMD )?SME\s*$", "sme", "active", _RUNS),
    _form(r"Memory Encryption Features active: Intel TDX", "tdx", "active", _RUNS, "guest"),
    _form(r"Memory Encryption Features active: (?:AMD )?SEV SEV-ES SEV-SNP", "sev-snp", "active", _RUNS, "guest"),
    _form(r"Memory Encryption Features active: (?:AMD )?SEV SEV-ES\s*$", "sev-es", "active", _RUNS, "guest"),
    _form(r"Memory Encryption Features active: (?:AMD )?SEV\s*$", "sev", "active", _RUNS, "guest"),
    _form(r"AMD-Vi: (?:SEV-)?SNP: IOMMU .{0,90}SNP cannot be supported", "sev-snp", "off", _REFUSED),
    _form(r"AMD-Vi: SEV-SNP: IOMMU is either disabled or configured in passthrough", "sev-snp", "off", _REFUSED),
    _form(r"(?:AMD-Vi: )?SNP: IOMMU SNP feature not enabled", "sev-snp", "off", _REFUSED),
    _form(r"(?:AMD-Vi: )?SNP: RMP initialization failed", "sev-snp", "off", _REFUSED),
    _form(r"AMD-Vi: IOMMU SNP support enabled", "sev-snp", "active", _RUNS),
    _form(r"AMD-Vi: Force to disable Virtual APIC due to SNP", "sev-snp", "active", _RUNS),
    _form(r"AMD-Vi: SNP enabled", "sev-snp", "active", _RUNS),
    _form(_CCP + r"SEV-SNP API:", "sev-snp", "active", _RUNS),
    _form(r"SEV-SNP firmware initialized", "sev-snp", "active", _RUNS),
    _form(r"kvm_amd: SEV-SNP enabled \(ASIDs", "sev-snp", "active", _RUNS),
    _form(r"kvm_amd: SEV-SNP (?:disabled|unusable)", "sev-snp", "off", _KVM_OFF),
    _form(r"SEV-SNP: (?:RMP table physical range|Reserved memory for RMP table)", "sev-snp", "available", _COULD),
    _form(r"kvm_amd: SEV-ES enabled \(ASIDs", "sev-es", "available", _COULD),
    _form(r"(?:SVM: |kvm: |kvm_amd: )?SEV-ES supported: \d", "sev-es", "available", _COULD),
    _form(r"kvm_amd: SEV-ES (?:disabled|unusable)", "sev-es", "off", _KVM_OFF),
    _form(r"kvm_amd: SEV enabled \(ASIDs", "sev", "available", _COULD),
    _form(r"(?:SVM: |kvm: |kvm_amd: )?SEV supported(?:: \d|\s*$)", "sev", "available", _COULD),
    _form(r"kvm_amd: SEV (?:disabled|unusable)", "sev", "off", _KVM_OFF),
    _form(_CCP + r"(?:SEV API:|sev enabled|SEV firmware update successful)", "sev", "available", _COULD),
    _form(_CCP + r"SEV: memory encryption not enabled by BIOS", "sev", "off", _KVM_OFF),
    _form(r"virt/tdx: (?:BIOS enabled: |module initialized)", "tdx", "available", _COULD),
)
_BY_HOST = regex(r"Memory encryption detected - Disabling default IOMMU Passthrough")
_PARAMETER = regex(r"/sys/module/kvm_(?:amd|intel)/parameters/(sev|sev_es|sev_snp|tdx):([YN10])\s*$")
_PARAMETERS: dict[str, tuple[Technology, State, int]] = {
    "sevY": ("sev", "available", _COULD),
    "sevN": ("sev", "off", _KVM_OFF),
    "sev_esY": ("sev-es", "available", _COULD),
    "sev_esN": ("sev-es", "off", _KVM_OFF),
    "sev_snpY": ("sev-snp", "active", _RUNS),
    "sev_snpN": ("sev-snp", "off", _KVM_OFF),
    "tdxY": ("tdx", "available", _COULD),
    "tdxN": ("tdx", "off", _KVM_OFF),
}
_MARKERS = ("Memory Encryption", "Memory encryption", "SEV", "sev", "SNP", "virt/tdx", "/parameters/tdx")


def read(section: Section) -> Iterator[Reading]:
    """MemoryEncryption for each technology and role, from the line that weighs most; of equals the later."""
    best: dict[tuple[Technology, Role], tuple[int, Observed]] = {}
    by_host: Observed | None = None
    for index, whole_line in section.matching(*_MARKERS):
        line = whole_line[:MOST_COLUMNS]
        for technology, role, state, weight in _said(line):
            fact = MemoryEncryption(technology=technology, role=role, state=state)
            known = best.get((technology, role))
            if known is None or weight > known[0] or (weight == known[0] and fact != known[1].fact):
                best[technology, role] = (weight, section.observe(fact, index))
        match = _BY_HOST.search(line)
        if match and is_lead(line[: match.start()]):
            fact = MemoryEncryption(technology="sme", role="host", state="active")
            by_host = by_host or section.observe(fact, index)
    is_guest = any(role == "guest" for _, role in best)
    yield from (observed for _, observed in best.values())
    if by_host and not is_guest and ("sme", "host") not in best and not _is_active(best, "sev-snp"):
        yield by_host
    whole = _kernel_log.is_whole(section)
    if whole or best or by_host:
        yield _kernel_log.looked(section, MemoryEncryption, whole=whole)


def _is_active(best: dict[tuple[Technology, Role], tuple[int, Observed]], technology: Technology) -> bool:
    known = best.get((technology, "host"))
    return known is not None and known[0] == _RUNS


def _said(line: str) -> Iterator[tuple[Technology, Role, State, int]]:
    """What one line says."""
    for form in _FORMS:
        match = form.pattern.search(line)
        if match and is_lead(line[: match.start()]):
            yield form.technology, form.role, form.state, form.weight
            return
    match = _PARAMETER.match(line.strip())
    if match:
        key = match[1] + {"1": "Y", "0": "N"}.get(match[2], match[2])
        technology, state, weight = _PARAMETERS[key]
        yield technology, "host", state, weight


READER = Reader(
    "memory-encryption",
    read,
    markers=(
        "Memory Encryption",
        "Memory encryption",
        "SEV",
        "sev enabled",
        "SNP",
        "virt/tdx",
        "/sys/module/kvm_",
        *_kernel_log.BOOT_MARKERS,
    ),
)
