"""MIG mode in the way: what nvidia-smi, MIG tools and frameworks say.

    Warning: MIG mode is in pending enable state for GPU 00000000:07:00.0:In use by another client
    No MIG devices found.
    ValueError: invalid literal for int() with base 10: 'MIG-5d2c1a40-77a1-5c8b-a1e9-03bb0e3d1c01'

Follows nvidia-smi 450-610, nvidia-mig-parted, and what Python says of a MIG device's name. Sentences give nothing.
"""

from __future__ import annotations

from collections.abc import Iterator

from collectors.readers._lines import BDF, is_lead, is_quoted
from collectors.readers._regex import regex
from kb.evidence import Reader, Reading, Section
from kb.facts.gpu_state import MigTrouble

_PENDING = regex(
    rf"(?:Warning: )?MIG mode is in pending (?:enable|disable) state for GPU (?P<bdf>{BDF})\s?:"
    r"(?P<why>[\w ]{0,60})"
)
_IN_USE = regex(
    rf"Unable to (?:enable|disable) MIG [Mm]ode for GPU (?P<bdf>{BDF}): (?:In use by another client|Insufficient)"
)
_NONE = regex(
    r"(?:No (?:GPU|compute) instances found: Not Found"
    r"|No MIG devices found|No MIG-enabled devices found|Failed to initialize CUDA: no MIG device)\.?\s*$"
)
_APPLY = regex(r"(?:FATA\[\d{1,6}\] |time=.{1,60} level=fatal msg=\"?)?Error applying MIG configuration\b.{0,200}")
_NOT_RESET = regex(rf"\s{{0,8}}GPU (?P<bdf>{BDF}): In use by another client\s*$")
_NUMBER = regex(r"invalid literal for int\(\) with base 10: '(?:MIG-[\w/-]{4,100})")
_MARKERS = (
    "in pending enable state",
    "in pending disable state",
    "MIG mode for GPU",
    "MIG Mode for GPU",
    "No MIG",
    "instances found: Not Found",
    "'MIG-",
    "Error applying MIG",
)


def read(section: Section) -> Iterator[Reading]:
    """MigTrouble for each problem and GPU once."""
    seen: set[tuple[str, str | None]] = set()
    busy = next((line.strip() for line in section.lines if _NOT_RESET.match(line[:200])), None)
    for index, whole in section.matching(*_MARKERS):
        fact = _of_apply(whole[:600], busy) or _fact(whole[:600])
        if fact and (fact.problem, fact.bdf) not in seen and len(seen) < 64:
            seen.add((fact.problem, fact.bdf))
            yield section.observe(fact, index)
    if seen:
        yield section.looked(MigTrouble, complete=False, reason="not-collected")


def _of_apply(line: str, busy: str | None) -> MigTrouble | None:
    """A configuration that nvidia-mig-parted could not apply, for GPUs that are in use if it listed such."""
    match = _APPLY.match(line.strip())
    if match is None:
        return None
    return MigTrouble(problem="in-use" if busy else "mode-pending", text=match[0][:200])


def _fact(line: str) -> MigTrouble | None:
    pending, in_use = _PENDING.search(line), _IN_USE.search(line)
    match = pending or in_use
    if match and is_lead(line[: match.start()]):
        busy = in_use is not None or "In use" in match["why"]
        return MigTrouble(problem="in-use" if busy else "mode-pending", bdf=match["bdf"], text=match[0][:200])
    none = _NONE.search(line)
    if none and is_lead(line[: none.start()]):
        return MigTrouble(problem="no-instances", text=none[0])
    number = _NUMBER.search(line)
    if number and not is_quoted(line[: number.start()]):
        return MigTrouble(problem="uuid-not-understood", text=number[0][:200])
    return None


READER = Reader("mig-trouble", read, markers=_MARKERS)
