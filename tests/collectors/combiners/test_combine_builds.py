"""Which build locks nobody holds."""

from __future__ import annotations

import pytest
from combining import combined

from kb.facts.framework import StartMilestone
from kb.facts.progress import BuildLock, BuildProcesses, StaleLock

LOCK = BuildLock(path="/c/cpu_adam/lock", module="cpu_adam", modified="2023-09-04 21:40:12.000000000 +0000")
UNDATED = BuildLock(path="/c/cpu_adam/lock", module="cpu_adam")
RUN = StartMilestone(framework="deepspeed", milestone="launched", time="2023-09-06 03:12:17,611")
LATER = StartMilestone(framework="deepspeed", milestone="launched", time="2023-09-04 21:40:00,000")
CLOCK = StartMilestone(framework="sglang", milestone="launched", time="12:00:00")

STALE = {
    "older than the run": ([LOCK, RUN], [(106325, None)]),
    "made by the run": ([LOCK, LATER], []),
    "no compiler runs": ([LOCK, LATER, BuildProcesses(count=0)], [(-12, 0)]),
    "a compiler runs": ([LOCK, RUN, BuildProcesses(count=2)], []),
    "without any date": ([UNDATED, RUN], []),
    "without any date, and no compiler runs": ([UNDATED, BuildProcesses(count=0)], [(None, 0)]),
    "a run without a date": ([LOCK, CLOCK], []),
    "listed twice": ([UNDATED, LOCK, RUN, BuildProcesses(count=0)], [(106325, 0)]),
    "no lock": ([RUN, BuildProcesses(count=0)], []),
}


@pytest.mark.parametrize(("facts", "found"), STALE.values(), ids=STALE)
def test_a_lock_is_stale(facts, found):
    """Where it is older than the run that waits, or no compiler runs; not where one does."""
    assert [(one.older_by_s, one.compilers_running) for one in combined(StaleLock, *facts)] == found
