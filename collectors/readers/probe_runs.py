"""How the probes of this program ended, and in which step they stopped: the last lines of their journals.

    {"diagnose_probe": "p2p", "event": "begin", "step": "ipc-read", "src": 0, "dst": 3, "size_bytes": 4096, "limit_s": 30.0}
    {"diagnose_probe": "p2p", "event": "outcome", "outcome": "hung", "why": "process 4711, state D in nv_wait", "steps": [{"step": "ipc-read", "src": 0, "dst": 3, "size_bytes": 4096}]}

Follows `diagnose collect --probe` (collectors/probes). A journal without an outcome is that of a machine that stopped
or of a collector that was killed: the step that is open then was under way.
"""  # noqa: E501 - lines of the journal as they are

from __future__ import annotations

from collections.abc import Iterator
from typing import cast, get_args

from collectors.readers._probe_journal import MARK, Record, Run, marker, runs, text_at, whole_at
from kb.evidence import Observed, Reader, Reading, Section
from kb.facts.probes import ProbeOutcome, ProbeRun

PROBES = ("p2p", "staged", "allreduce", "allreduce-p2p-off", "nccl-init", "cuinit", "shm", "network")


def read(section: Section) -> Iterator[Reading]:
    """One fact for each run."""
    found = [_observed(section, run) for run in runs(section, *PROBES)]
    yield from (one for one in found if one is not None)
    if any(found):
        yield section.looked(ProbeRun)


def _observed(section: Section, run: Run) -> Observed | None:
    outcome = run.outcome()
    if outcome not in get_args(ProbeOutcome):
        return None
    last, said = (run.of("outcome") or run.records[-1:])[-1]
    step = _stopped_in(run, said) if outcome not in {"completed", "cannot", "refused"} else {}
    fact = ProbeRun(
        probe=run.probe,
        outcome=cast("ProbeOutcome", outcome),
        step=text_at(step, "step"),
        src=whole_at(step, "src"),
        dst=whole_at(step, "dst"),
        rank=whole_at(step, "rank"),
        size_bytes=whole_at(step, "size_bytes"),
        why=text_at(said, "why"),
    )
    return section.observe(fact, last)


def _stopped_in(run: Run, said: Record) -> Record:
    """The step that was under way: as whoever watched names it, else the last that is open."""
    named = said.get("steps")
    if isinstance(named, list) and named and isinstance(named[0], dict):
        return named[0]
    return next((record for _, record in reversed(run.open_steps())), {})


READER = Reader("probe-runs", read, markers=tuple(map(marker, PROBES)), lines=(MARK,))
