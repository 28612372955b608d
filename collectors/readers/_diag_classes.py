"""What an error of DCGM is about: by its number, by its text, else by the name of the test. No reader.

Numbers follow dcgm_errors.h of DCGM 2.4 to 4.6, which are never given anew; texts follow the same file.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass

from collectors.readers._regex import regex
from kb.evidence import Observed, Section
from kb.facts.diagnostics import DiagClass, DiagResult

_CODES: tuple[tuple[DiagClass, tuple[int, ...]], ...] = (
    ("memory", (4, 5, 7, 8, 52, 57, 58, 62, 79, 81, 84, 102, 103, 105, 106, 118, 131, 132)),
    ("remap-pending", (6, 83, 85)),
    ("remap-failed", (80,)),
    ("nvlink", (13, 14, 70, 71, 99, 119, 121)),
    ("nvswitch", (15, 16, 17, 88, 100, 109)),
    ("fabric", (108, 112, 123)),
    ("imex", (122,)),
    ("pcie", (3, 45, 46, 98, 104, 107)),
    ("thermal", (10, 40, 41, 42)),
    ("power", (11, 12, 63, 72)),
    ("xid", (101,)),
    ("off-bus", (120,)),
    ("reset", (125, 126, 127, 128)),
    ("p2p", (86, 87, 113, 114, 115, 116)),
    ("cuda", (51, 54, 59, 66)),
    ("driver", (19, 20, 22, 23, 24)),
    ("persistence", (29,)),
    ("permissions", (18, 89, 90, 96, 124)),
    ("environment", (28,)),
    ("performance", (30, 31, 43, 50, 110)),
    ("inforom", (9,)),
)
_BY_CODE: Mapping[int, DiagClass] = {code: name for name, codes in _CODES for code in codes}
# In lower case; the first that occurs counts. Advice stands in the same text: `Reset GPU` is no finding.
_TEXTS: tuple[tuple[str, DiagClass], ...] = (
    ("system not yet initialized", "fabric"),
    ("cuda_error_system_not_ready", "fabric"),
    ("fabric manager", "fabric"),
    ("fabricmanager", "fabric"),
    ("fabric state", "fabric"),
    ("imex", "imex"),
    ("fallen off the bus", "off-bus"),
    ("recovery action:", "reset"),
    ("requires a reset to recover", "reset"),
    ("remapping failed", "remap-failed"),
    ("remappings are pending", "remap-pending"),
    ("pending retired page", "remap-pending"),
    ("pending page retirements", "remap-pending"),
    ("nvswitch", "nvswitch"),
    ("nvlink", "nvlink"),
    ("peer-to-peer", "p2p"),
    ("ecc error", "memory"),
    ("uncorrectable memory", "memory"),
    ("uncontained error", "memory"),
    ("contained error", "memory"),
    ("faulty memory", "memory"),
    ("memory mismatch", "memory"),
    ("retired pages", "memory"),
    ("row remap limit", "memory"),
    ("double-bit", "memory"),
    ("pcie", "pcie"),
    ("pci link", "pcie"),
    ("thermal", "thermal"),
    ("temperature", "thermal"),
    ("power", "power"),
    ("xid", "xid"),
    ("persistence mode", "persistence"),
    ("permission", "permissions"),
    ("could not be accessed", "permissions"),
    ("environment variable", "environment"),
    ("inforom", "inforom"),
    ("denylist", "driver"),
    ("nvml", "driver"),
    ("cannot open library", "driver"),
    ("bandwidth", "performance"),
    ("latency", "performance"),
    ("stress level", "performance"),
    ("cuda", "cuda"),
)
_TESTS: tuple[tuple[str, DiagClass], ...] = (
    ("persistence", "persistence"),
    ("page retirement", "memory"),
    ("memory", "memory"),
    ("denylist", "driver"),
    ("blacklist", "driver"),
    ("nvml", "driver"),
    ("cuda", "driver"),
    ("permissions", "permissions"),
    ("environment", "environment"),
    ("inforom", "inforom"),
    ("nvlink", "nvlink"),
    ("pcie", "pcie"),
    ("thermal", "thermal"),
    ("power", "power"),
    ("driver", "driver"),
)
_DIGITS = regex(r"\d{1,12}")
_MOST_TEXT = 400
FEW = 4
"""So many GPUs with the same finding are told one by one, more of them together."""


def class_of(test: str, text: str | None, code: int | None) -> DiagClass:
    """What a finding is about."""
    known = _BY_CODE.get(code) if code else None
    if known is not None:
        return known
    plain = (text or "").lower()
    if plain:
        return next((name for words, name in _TEXTS if words in plain), "other")
    return next((name for words, name in _TESTS if words in test.lower()), "other")


@dataclass(frozen=True)
class Finding:
    """One result, with the lines that tell it."""

    result: DiagResult
    first: int
    last: int


def finding(
    result: DiagResult, first: int, last: int, text: str | None = None, code: int | None = None
) -> Finding:
    """The result with what its text and number say."""
    if result.status in {"fail", "warn"}:
        changes = {"class_": class_of(result.test, text, code), "error_code": code or None}
        result = result.model_copy(update=changes)
    if text:
        result = result.model_copy(update={"text": " ".join(text.split())[:_MOST_TEXT]})
    return Finding(result, first, last)


def told_together(section: Section, findings: Iterable[Finding]) -> Iterator[Observed]:
    """The findings, those of many GPUs that say the same as one."""
    groups: dict[tuple[object, ...], list[Finding]] = {}
    for one in findings:
        text = _DIGITS.sub("#", one.result.text or "")
        result = one.result
        key = (result.test, result.status, result.class_, result.error_code, text, result.gpu is None)
        groups.setdefault(key, []).append(one)
    for same in groups.values():
        if len(same) > FEW and same[0].result.gpu is not None:
            together = same[0].result.model_copy(update={"gpu": None, "count": len(same)})
            yield section.observe(together, same[0].first, same[0].last)
        else:
            yield from (section.observe(one.result, one.first, one.last) for one in same)
