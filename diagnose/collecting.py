"""`diagnose collect`: a bundle of this machine, with progress on a terminal."""

from __future__ import annotations

import os
import shutil
import socket
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import datetime, timezone
from pathlib import Path

from collectors.live import Step, collect, default_name
from collectors.live.bundle import Bundle
from collectors.pack import bundle_folder, is_archive, pack
from collectors.probes import Conduct, Probe, chosen, conduct
from diagnose import __version__
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
    """The probes of these names, each of which may be several with commas between.

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


def collect_bundle(out: Path | None, deadline_s: float, then: Probing | None = None) -> Path:
    """The path of the bundle that was written. Raises InputError where it can't be written there."""
    target = out or Path(default_name(socket.gethostname(), datetime.now(timezone.utc)))
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
        with _progress() as tell:
            folder = collect(
                bundle_folder(target), version=__version__, progress=tell, deadline_s=deadline_s, then=then
            )
        return pack(folder, target, remove=True) if is_archive(target) else folder
    except OSError as error:
        why = (error.strerror or str(error)).lower()
        raise InputError(f"could not write the bundle {target}: {why}; name another place with -o") from error


@contextmanager
def _progress() -> Iterator[Callable[[Step], None] | None]:
    """What to tell of each step: a bar on a terminal, nothing elsewhere."""
    if not sys.stderr.isatty():
        yield None
        return
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn

    columns = (BarColumn(), MofNCompleteColumn(), TextColumn("{task.description}"))
    with Progress(*columns, console=Console(stderr=True), transient=True) as progress:
        task = progress.add_task("", total=None)
        yield lambda step: progress.update(
            task, total=step.total, completed=step.number - (step.outcome is None), description=step.name
        )
