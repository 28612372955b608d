"""`diagnose collect --probe`: which probes, in which Python; what they do is said on standard error."""

from __future__ import annotations

import os
import shutil
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from collectors.live.bundle import Bundle
from collectors.probes import Conduct, Probe, chosen, conduct
from kb.errors import InputError


@dataclass(frozen=True)
class Probing:
    """Which probes are asked for, in the Python of the job, and whether others may hold the GPUs meanwhile."""

    probes: tuple[Probe, ...] = ()
    python: str = sys.executable
    anyway: bool = False

    def __call__(self, bundle: Bundle, stop: Callable[[], bool]) -> None:
        """Runs them into the bundle; what each does is said on standard error before."""
        conduct(bundle, self.probes, Conduct(self.python, self.anyway, _say), stop)


def probing(names: Sequence[str], python: str | None, *, anyway: bool) -> Probing:
    """The probes of these names, each of which may be several with commas between; this Python is the default.

    Raises InputError where one is not known, or the Python is not there.
    """
    try:
        probes = chosen([one.strip() for name in names for one in name.split(",")])
    except ValueError as error:
        raise InputError(str(error)) from error
    found = shutil.which(python or sys.executable)
    if found is None:
        raise InputError(f"expected a Python at {python}, found none that can be run; check --python")
    return Probing(probes, os.path.abspath(found), anyway)  # noqa: PTH100 - a link tells which environment it is


def _say(text: str) -> None:
    print(f"diagnose: {text}", file=sys.stderr)  # noqa: T201
