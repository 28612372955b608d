"""Plugins of NCCL in which a process crashed, by its stack or by the kernel's word."""

from __future__ import annotations

import re
from collections.abc import Iterator

from collectors.combiners import Facts, derived
from kb.evidence import Observed, Reading
from kb.facts.kernel import ProcessCrash
from kb.facts.nccl_run import NcclPlugin, PluginPart
from kb.facts.stacks import CrashTrace

_LIBRARY = re.compile(
    r"(?:\S{0,200}/)?lib(?:nccl|rccl)-(?P<part>net|tuner|profiler)\b|(?P<ofi>libnccl-ofi|libaws-ofi)"
)
_ADAPTER = re.compile(
    r"^(?P<plugin>[A-Za-z_]\w{1,80}) < (?:\(anonymous namespace\)::)?ncclNet_v\d{1,3}(?:_as_v\d{1,3})?_\w{2,20}\b"
)
"""NCCL's own wrapper around a function of an older plugin: what it called is the plugin."""


def combine(facts: Facts) -> Iterator[Reading]:
    """NcclPlugin for each part whose library was at work when a process met its signal."""
    told: set[PluginPart] = set()
    for part, name, text, seen in _crashes(facts):
        if part not in told:
            told.add(part)
            yield derived(NcclPlugin(part=part, state="failed", problem="crashed", name=name, text=text), [seen])


def _crashes(facts: Facts) -> Iterator[tuple[PluginPart, str | None, str, Observed]]:
    for trace, seen in facts.of(CrashTrace):
        part = _part(trace.library)
        if part is not None or _ADAPTER.match(trace.frames):
            yield part or "net", trace.library, f"{trace.signal} in {trace.frames or trace.library}"[:300], seen
    for crash, seen in facts.of(ProcessCrash):
        part = _part(crash.library)
        if part is not None and crash.boot == "this":
            yield part, crash.library, f"{crash.crash} of {crash.process} in {crash.library}", seen


def _part(library: str | None) -> PluginPart | None:
    match = _LIBRARY.match(library or "")
    if match is None:
        return None
    parts: dict[str, PluginPart] = {"net": "net", "tuner": "tuner", "profiler": "profiler"}
    return parts.get(match["part"] or "net")
