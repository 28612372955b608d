"""A machine whose NUMA nodes nobody listed, though what processes may use of its processors is told."""

from __future__ import annotations

from collections.abc import Iterator

from collectors.combiners import Facts, derived
from kb.evidence import Reading
from kb.facts.gpu_bus import GpuLocalCpus
from kb.facts.storage import CpuAffinity, LoaderWorkers, NumaBindingRefused, NumaLayout


def combine(facts: Facts) -> Iterator[Reading]:
    """NumaLayout without a number of nodes, where none was read and some binding was."""
    if facts.of(NumaLayout):
        return
    told = [o for one, o in facts.of(CpuAffinity) if one.process is not None]
    told += [o for _, o in facts.of(LoaderWorkers)] + [o for _, o in facts.of(NumaBindingRefused)]
    told += [o for one, o in facts.of(GpuLocalCpus) if not one.list]
    if told:
        yield derived(NumaLayout(), told[:2])
