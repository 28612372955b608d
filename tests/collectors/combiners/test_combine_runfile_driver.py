"""Which driver the runs of NVIDIA's installer left."""

from __future__ import annotations

from typing import Any

import pytest
from combining import combined, complete, looked

from kb.facts.diagnostics import RunfileDriver, RunfileInstall

JULY, LATER, YEAR_AFTER = "Fri Jul 24 16:30:30 2020", "Fri Jul 24 17:20:29 2020", "Mon Jan  4 09:00:00 2021"


def install(version: str | None = "570.172.08", time: str | None = JULY, **fields: Any) -> RunfileInstall:
    return RunfileInstall(action="install", version=version, time=time, **({"outcome": "succeeded"} | fields))


def removal(time: str | None = LATER, **fields: Any) -> RunfileInstall:
    return RunfileInstall(action="uninstall", time=time, **({"outcome": "succeeded"} | fields))


@pytest.mark.parametrize(
    ("runs", "versions"),
    [
        ([], []),
        ([install()], ["570.172.08"]),
        ([install(outcome="failed")], []),
        ([install(outcome="unfinished")], []),
        ([install(version=None)], []),
        ([install(), removal()], []),
        ([removal(), install()], []),
        ([install(time=LATER), removal(time=JULY)], ["570.172.08"]),
        ([install(time=YEAR_AFTER), removal()], ["570.172.08"]),
        ([install(), removal(outcome="failed")], ["570.172.08"]),
        ([install(time=None), removal(time=None)], []),
        ([install("550.54.14"), install("570.172.08", LATER)], ["570.172.08"]),
        ([install("570.172.08", LATER), install("550.54.14")], ["570.172.08"]),
    ],
)
def test_the_last_run_counts(runs: list[RunfileInstall], versions: list[str]) -> None:
    assert [driver.version for driver in combined(RunfileDriver, *runs)] == versions


def test_looked_for_as_far_as_the_logs_were() -> None:
    assert looked(RunfileDriver) == []
    assert looked(RunfileDriver, complete(RunfileInstall)) == [True]
