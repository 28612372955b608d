"""Which flavour of the kernel module drives the GPUs, from the kernel logs of two boots."""

from __future__ import annotations

import pytest
from combining import at, combined

from kb.evidence import Observed
from kb.facts.driver import KernelModule
from kb.facts.module_load import FlavourTrial, ModuleLoadProblem


def log(path: str, flavour: str, *, version: str = "515.48.07", fails: bool = False) -> list[Observed]:
    """What the kernel log of one boot tells."""
    module = KernelModule(name="nvidia", version=version, flavour=flavour, reported_by="kernel-log")
    other = (
        ModuleLoadProblem(problem="rm-init-failed", module="nvidia", reported_by="kernel")
        if fails
        else KernelModule(name="nvidia_uvm", reported_by="kernel-log")
    )
    return [at(module, path), at(other, path, 2)]


def test_one_flavour_starts_the_gpu_and_the_other_does_not() -> None:
    """Whichever of the two it is."""
    (trial,) = combined(FlavourTrial, *log("a", "open", fails=True), *log("b", "proprietary"))
    (reverse,) = combined(FlavourTrial, *log("a", "proprietary", fails=True), *log("b", "open"))

    assert (trial.version, trial.fails, trial.works) == ("515.48.07", "open", "proprietary")
    assert (reverse.fails, reverse.works) == ("proprietary", "open")


NONE = {
    "both fail": [*log("a", "open", fails=True), *log("b", "proprietary", fails=True)],
    "another release": [*log("a", "open", fails=True), *log("b", "proprietary", version="580.95.05")],
    "one log of both": [*log("a", "open", fails=True), *log("a", "proprietary")],
    "nothing fails": [*log("a", "open"), *log("b", "proprietary")],
}


@pytest.mark.parametrize("facts", NONE.values(), ids=NONE)
def test_no_trial(facts: list[Observed]) -> None:
    """These tell the flavours not apart."""
    assert combined(FlavourTrial, *facts) == []
