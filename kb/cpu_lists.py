"""Sets of processors as tools print them: ranges, numbers with blanks between, and masks."""

from __future__ import annotations

from collections.abc import Iterable

_MOST = 1 << 16
"""More processors than any machine has; a longer range is no list of them."""


def cpus_in(text: str) -> frozenset[int]:
    """The numbers that `0-15,64` or `0 1 2` names; none for what is no such list."""
    found: set[int] = set()
    for part in text.replace(",", " ").split():
        first, _, last = part.partition("-")
        if not first.isdecimal() or not (last.isdecimal() or not last) or len(part) > 20:
            continue
        low, high = int(first), int(last or first)
        if high < _MOST:
            found.update(range(low, high + 1))
    return frozenset(found)


def cpus_in_mask(mask: str) -> frozenset[int]:
    """The numbers that a mask such as `ff,ffffffff` names."""
    digits = mask.replace(",", "").replace("-", "")
    bits = int(digits or "0", 16)
    return frozenset(at for at in range(min(bits.bit_length(), _MOST)) if bits >> at & 1)


def ranges(cpus: Iterable[int]) -> str:
    """The same as `0-15,64`."""
    parts: list[list[int]] = []
    for cpu in sorted(set(cpus)):
        if parts and cpu == parts[-1][1] + 1:
            parts[-1][1] = cpu
        else:
            parts.append([cpu, cpu])
    return ",".join(str(low) if low == high else f"{low}-{high}" for low, high in parts)
