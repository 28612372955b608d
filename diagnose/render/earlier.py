"""Trouble of an earlier boot: told, so that nobody takes it for today's, and accusing nobody."""

from __future__ import annotations

import string
from collections.abc import Mapping
from dataclasses import dataclass

from engine.result import Diagnosis
from kb.evidence import Observed
from kb.facts import fields_of
from kb.facts.kernel import KernelLogSpan

TOLD: Mapping[str, str] = {
    "xid_event": "Xid {code} of GPU {bdf}",
    "sxid_event": "SXid {code} of NVSwitch {bdf}",
    "driver_trouble": "the driver complained: {problem}",
    "gpu_link_error": "PCIe errors ({severity}) at GPU {gpu}",
    "module_load_problem": "the module did not load: {problem}",
    "bar_problem": "no window for GPU {bdf}: {problem}",
    "oom_kill": "{process} was killed for want of memory",
    "process_crash": "{process} crashed ({crash})",
    "hung_task": "{process} hung in the kernel",
    "cpu_lockup": "a processor locked up ({lockup})",
    "machine_check": "the hardware reported an error ({part})",
}
"""What is told of an event, by its kind. Kinds that are only read, and combined later, are left out."""


@dataclass(frozen=True, slots=True)
class Earlier:
    """One event of an earlier boot."""

    text: str
    time: str | None
    """As printed."""
    count: int
    boot_began: str | None
    """When the boot since began, where a log tells."""
    evidence: tuple[Observed, ...]


def earlier_events(diagnosis: Diagnosis) -> list[Earlier]:
    """The events of earlier boots that have not come back in this one, in the order of the facts."""
    events = [
        (one, _text(one)) for one in diagnosis.observed if one.fact.kind in TOLD and hasattr(one.fact, "boot")
    ]
    now = {text for one, text in events if getattr(one.fact, "boot", "this") == "this"}
    began = next(
        (
            one.fact.begin_time
            for one in diagnosis.observed
            if isinstance(one.fact, KernelLogSpan) and one.fact.begin_time
        ),
        None,
    )
    return [
        Earlier(text, getattr(one.fact, "time", None), getattr(one.fact, "count", 1), began, (one,))
        for one, text in events
        if getattr(one.fact, "boot", "this") == "earlier" and text not in now
    ]


def _text(one: Observed) -> str:
    known = fields_of(one.fact)
    parts = []
    for literal, name, _, _ in string.Formatter().parse(TOLD[one.fact.kind]):
        parts += [literal, "" if name is None else str(known.get(name, "…"))]
    return "".join(parts)


def in_words(event: Earlier) -> str:
    """The event in one sentence."""
    times = f" ({event.count} times)" if event.count > 1 else ""
    when = f", first {event.time}" if event.time else ""
    since = f"the boot of {event.boot_began}" if event.boot_began else "the last boot"
    return f"{event.text}{times}{when}; not since {since}"
