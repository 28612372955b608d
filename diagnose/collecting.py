"""`diagnose collect`: a bundle of this machine, with progress on a terminal."""

from __future__ import annotations

import socket
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import datetime, timezone
from pathlib import Path

from collectors.live import Step, collect, default_name
from collectors.live.bundle import Bundle
from collectors.pack import bundle_folder, is_archive, pack
from diagnose import __version__
from kb.errors import InputError


def collect_bundle(
    out: Path | None, deadline_s: float, then: Callable[[Bundle, Callable[[], bool]], None] | None = None
) -> Path:
    """The path of the bundle that was written. Raises InputError where it can't be written there.

    `then` is called with the bundle when all else is in it, and with what tells whether the run is asked to end.
    """
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
