"""Values of GPU properties as nvidia-smi prints them: numbers with units, yes and no, and what they mean together.

No reader.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Literal, TypeAlias, TypeVar

from collectors.readers._lines import VERSION
from collectors.readers._regex import regex
from kb.facts.gpu_state import LinkState, RecoveryAction

T = TypeVar("T", bound=str)
TemperatureState: TypeAlias = Literal["below-limit", "at-limit", "at-slowdown", "at-shutdown"]

_RECOVERY: tuple[tuple[str, RecoveryAction], ...] = (
    ("none", "none"),
    ("drain and reset", "drain-and-reset"),
    ("drain p2p", "drain-p2p"),
    ("imex", "recover-imex"),
    ("reboot", "reboot"),
    ("bus reset", "bus-reset"),
    ("reset", "reset"),
)
"""Words of `GPU Recovery Action`, in lower case; the first that occurs counts."""
_SRAM = (
    *("sram.parity", "sram.secded", "register_file", "l1_cache", "l2_cache"),
    *("texture_memory", "texture_shared", "cbu"),
)

_NUMBER = regex(r"(-?\d{1,12})(?:\.(\d{1,6}))?(?:x| ?[A-Za-z/%()]{1,12})?$")
_VERSION = regex(rf"{VERSION}$")
_STATE = regex(r"P(\d{1,2})$")
_ERRORS = ("error", "is lost", "requires reset", "err!", "insufficient permission", "timeout", "not found")
_NONE = frozenset({"", "n/a", "not supported", "not available", "requested functionality has been deprecated"})
_YES = frozenset({"enabled", "yes", "active", "on", "true", "1"})
_NO = frozenset({"disabled", "no", "not active", "off", "false", "0"})
_DEVICE_ID = regex(r"0x([0-9a-f]{4})10de")
_BUSY_PERCENT = 50
_IDLE_STATE = 5


class Values:
    """The properties of one GPU by name."""

    def __init__(self, properties: Mapping[str, tuple[str, int]]) -> None:
        self._properties = properties

    def raw(self, name: str) -> str | None:
        """The value as printed, without the brackets of the CSV; None where it is not there or an error."""
        value = self._properties.get(name)
        if value is None:
            return None
        text = value[0].strip()
        text = text[1:-1] if text.startswith("[") and text.endswith("]") else text
        return None if _is_error(text) else text

    def text(self, name: str) -> str | None:
        """The value, None also where there is none."""
        text = self.raw(name)
        return None if text is None or text.lower() in _NONE else text

    def number(self, name: str) -> int | None:
        """The number before the unit, rounded to a whole."""
        match = _NUMBER.match(self.text(name) or "")
        return None if match is None else round(float(f"{match[1]}.{match[2] or 0}"))

    def first_number(self, *names: str) -> int | None:
        """The number of the first of these that has one."""
        return next((number for name in names if (number := self.number(name)) is not None), None)

    def total(self, names: Iterable[str]) -> int | None:
        """The sum of those that have a number."""
        numbers = [number for name in names if (number := self.number(name)) is not None]
        return sum(numbers) if numbers else None

    def device_id(self) -> str | None:
        """NVIDIA's device id of `0x233010DE`, which holds the vendor in its lower half."""
        match = _DEVICE_ID.fullmatch((self.text("pci.device_id") or "").lower())
        return match[1] if match else None

    def flag(self, name: str) -> bool | None:
        """Whether it is enabled, active, yes."""
        text = (self.text(name) or "").lower()
        return True if text in _YES else False if text in _NO else None

    def one_of(self, name: str, allowed: Iterable[T]) -> T | None:
        """The value in lower case where it is one of these. `None` is a word here."""
        text = (self.raw(name) or "").lower()
        return next((one for one in allowed if one == text), None)

    def version(self, name: str) -> str | None:
        """The value where it is a version."""
        text = self.text(name)
        return text if text and _VERSION.match(text) else None

    def performance_state(self) -> int | None:
        """0 of P0."""
        match = _STATE.match(self.text("pstate") or "")
        return int(match[1]) if match else None

    def are_readable(self, starts: tuple[str, ...]) -> bool:
        """Whether none of these properties has an error in place of its value."""
        return not any(_is_error(text) for name, (text, _) in self._properties.items() if name.startswith(starts))


def _is_error(text: str) -> bool:
    plain = text.lower()
    return any(word in plain for word in _ERRORS)


def ecc_counts(values: Values, kind: str, scope: str) -> tuple[int | None, int | None, int | None]:
    """Errors in SRAM, in DRAM and in all. Older drivers count by memory, newer ones SRAM by how it checks."""
    start = f"ecc.errors.{kind}.{scope}."
    sram, dram = values.number(f"{start}sram"), values.number(f"{start}dram")
    if sram is None:
        sram = values.total(start + part for part in _SRAM)
    parts = [one for one in (sram, dram) if one is not None]
    total = values.number(f"{start}total")
    return sram, dram, total if total is not None else sum(parts) if parts else None


def recovery_action(text: str) -> RecoveryAction:
    """What `GPU Recovery Action` asks for."""
    return next((action for words, action in _RECOVERY if words in text.lower()), "other")


def repair_pending(values: Values) -> bool | None:
    """Whether a repair of a memory channel or a TPC waits for a reset."""
    flags = [values.flag(name) for name in ("channel_repair_pending", "tpc_repair_pending")]
    return None if flags == [None, None] else any(flags)


def temperature_state(values: Values) -> TemperatureState | None:
    """How near to its limits the GPU is, given as temperatures or as degrees left."""
    now = values.number("temperature.gpu")
    margin = values.number("temperature.gpu.tlimit")
    steps: tuple[tuple[str, TemperatureState], ...] = (
        ("shutdown", "at-shutdown"),
        ("slowdown", "at-slowdown"),
        ("limit", "at-limit"),
    )
    known = False
    for name, state in steps:
        limit, least = values.number(f"temperature.{name}"), values.number(f"temperature.{name}.margin")
        if limit is not None and now is not None:
            known = True
            if now >= limit:
                return state
        if least is not None and margin is not None:
            known = True
            if margin <= least:
                return state
    return "below-limit" if known else None


def link_state(values: Values) -> LinkState | None:
    """Whether the PCIe link is all it can be; a lower generation is told apart by whether the GPU works."""
    lanes, most_lanes = values.number("pcie.link.width.current"), values.number("pcie.link.width.max")
    now = values.first_number("pcie.link.gen.current", "pcie.link.gen.gpucurrent")
    most = values.number("pcie.link.gen.max")
    if lanes is not None and most_lanes is not None and lanes < most_lanes:
        return "narrower"
    if now is None or most is None:
        return None if lanes is None or most_lanes is None else "full"
    if now >= most:
        return "full"
    state, load = values.performance_state(), values.number("utilization.gpu")
    if (load is not None and load >= _BUSY_PERCENT) and (state is None or state < _IDLE_STATE):
        return "slower-under-load"
    idle = values.flag("clocks_event_reasons.gpu_idle")
    if idle or load == 0 or (state is not None and state >= _IDLE_STATE):
        return "slower-idle"
    return "slower"


def fabric_problems(values: Values) -> str | None:
    """What in the health of the fabric is not well, in words."""
    bad = []
    if (values.text("fabric.health.bandwidth") or "").lower() == "degraded":
        bad.append("bandwidth degraded")
    flags = ("route_recovery_in_progress", "route_unhealthy", "access_timeout_recovery")
    bad += [name.replace("_", " ") for name in flags if values.flag(f"fabric.health.{name}")]
    wrong = values.text("fabric.health.incorrect_configuration")
    if wrong is not None and wrong.lower() not in {"none", "false", "no"}:
        bad.append(f"configuration: {wrong.lower()}")
    return ", ".join(bad) or None
