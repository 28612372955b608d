"""`diagnose collect`: a bundle of this machine, with progress on a terminal."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from collectors.live import Step
from collectors.live.bundle import Bundle
from collectors.taking import RequestError, Wanted, say, take_bundle
from diagnose import __version__
from kb.errors import InputError


def collect_bundle(
    out: Path | None,
    deadline_s: float,
    wanted: Wanted,
    then: Callable[[Bundle, Callable[[], bool]], None] | None = None,
) -> Path:
    """The path of the bundle that was written. Raises InputError where it can't be; see `take_bundle`."""
    try:
        with _progress() as tell:
            return take_bundle(out, deadline_s, wanted, version=__version__, progress=tell, warn=say, then=then)
    except RequestError as error:
        raise InputError(str(error)) from error


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
