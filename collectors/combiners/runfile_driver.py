"""Which driver NVIDIA's own installer left on the machine, from the logs of its runs."""

from __future__ import annotations

from collections.abc import Iterator

from collectors.combiners import Facts, derived, looked_at
from kb.clock import later_by_s
from kb.evidence import Observed, Reading
from kb.facts.diagnostics import RunfileDriver, RunfileInstall


def combine(facts: Facts) -> Iterator[Reading]:
    """One RunfileDriver, unless the last run that succeeded took the driver away.

    The installer keeps one log of the last installation and one of the last removal.
    """
    last: tuple[RunfileInstall, Observed] | None = None
    for run, observed in facts.of(RunfileInstall):
        if run.outcome == "succeeded" and (last is None or _is_later(run, last[0])):
            last = (run, observed)
    if last is not None:
        run, observed = last
        if run.action == "install" and run.version is not None:
            fact = RunfileDriver(version=run.version, userspace_only=run.userspace_only, time=run.time)
            yield derived(fact, [observed])
    yield from looked_at(facts, RunfileDriver, RunfileInstall)


def _is_later(run: RunfileInstall, other: RunfileInstall) -> bool:
    """Whether the run came after the other; a removal does where the times can't be told apart."""
    years = [one.time.rpartition(" ")[2] if one.time else "" for one in (run, other)]
    if all(year.isdigit() for year in years) and years[0] != years[1]:
        return int(years[0]) > int(years[1])
    after = later_by_s(other.time, run.time)
    return after > 0 if after else run.action == "uninstall"
