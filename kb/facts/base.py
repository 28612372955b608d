"""The base of all facts, the table of kinds, and the few value types that facts share."""

import re
from functools import lru_cache
from typing import Annotated, Any, ClassVar, TypeAlias

from pydantic import AfterValidator, BaseModel, ConfigDict

FACTS: "dict[str, type[Fact]]" = {}
"""Every fact type by its kind."""


class Fact(BaseModel):
    """A typed observation. Frozen, so that it can be shared, hashed and cited."""

    # Built when first used: a run meets few of the many kinds, and building all costs 70 ms at every start.
    model_config = ConfigDict(frozen=True, extra="forbid", strict=True, populate_by_name=True, defer_build=True)

    kind: ClassVar[str] = ""

    @classmethod
    def __pydantic_init_subclass__(cls, **kwargs: Any) -> None:
        super().__pydantic_init_subclass__(**kwargs)
        if cls.kind:  # one without is the base of others
            FACTS[cls.kind] = cls


def fields_of(fact: Fact) -> dict[str, Any]:
    """The fields of a fact by the names that rules use, without the unknown ones."""
    return fact.model_dump(by_alias=True, exclude_none=True)


class VersionMark:
    """Marks a field whose text is a version: rules may order it, part by part."""


Version: TypeAlias = Annotated[str, VersionMark()]
"""A version as printed, `565.57.01`. Rules compare it part by part as numbers: 570.26 < 570.124."""

_PARTS = re.compile(r"\d+")
_KEY_PARTS = 4
_KEY_BASE = 100_000


@lru_cache(maxsize=4096)
def version_key(text: str) -> int | None:
    """One integer that orders versions by their first four numbers; None where there is no number.

    Missing parts count as zero, so `580.142` = `580.142.0`. A part of 100,000 or more is cut to 99,999.
    """
    parts = [min(int(part), _KEY_BASE - 1) for part in _PARTS.findall(text.split("+", 1)[0])[:_KEY_PARTS]]
    if not parts:
        return None
    key = 0
    for part in parts + [0] * (_KEY_PARTS - len(parts)):
        key = key * _KEY_BASE + part
    return key if key < 2**62 else None


def branch_of(version: str) -> int | None:
    """The driver branch of a release, 590 of 590.48.01; None where the text does not begin with a number."""
    head = version.split(".", 1)[0]
    return int(head) if head.isdecimal() else None


_BDF = re.compile(r"(?:([0-9a-f]{1,8}):)?([0-9a-f]{1,2}):([0-9a-f]{2})(?:\.([0-7]))?$")


def normal_bdf(text: str) -> str:
    """A PCI address as `dddd:bb:dd.f` in lower case, from any of the forms that tools print.

    Known: `0000:41:00.0`, `00000000:41:00.0`, `PCI:0000:41:00`, `41:00.0`, and NCCL's busId `41000`.
    Raises ValueError for anything else.
    """
    plain = text.strip().lower().removeprefix("pci:")
    if re.fullmatch(r"[0-9a-f]{1,12}", plain):  # NCCL prints domain, bus, device and function as one hex number
        number = int(plain, 16)
        return f"{number >> 20:04x}:{number >> 12 & 0xFF:02x}:{number >> 4 & 0xFF:02x}.{number & 0xF:x}"
    match = _BDF.match(plain)
    if match is None:
        raise ValueError(f"expected a PCI address such as 0000:41:00.0, found {text!r}")
    domain, bus, device, function = match.groups()
    return f"{int(domain or '0', 16):04x}:{int(bus, 16):02x}:{device}.{function or '0'}"


Bdf: TypeAlias = Annotated[str, AfterValidator(normal_bdf)]
"""A PCI address, always `dddd:bb:dd.f` in lower case."""
