"""The whole collection: every source in turn, each with its own deadline and outcome, and always a bundle.

No step can stop the run: whatever happens to it becomes its outcome. The run stops starting steps at its own
deadline, or when it is asked to end (Ctrl-C, SIGTERM, a terminal that went away); it then writes what it has.
"""

from __future__ import annotations

import signal
import threading
import time
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from collectors.live.bundle import MAX_BYTES, Bundle, Entry, Outcome
from collectors.live.source import Command, File, Files, Listing, Pythons, PythonStacks, Source
from collectors.live.sources import SOURCES
from collectors.live.steps import Site, one_line
from collectors.live.system import host_name
from collectors.live.tree import Tree

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence
    from types import FrameType

_SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
_PAUSE_S = 0.05
_FINISH_S = 4.0
"""Kept for ending a step that hangs, and for writing the bundle."""
_KEPT_S = 20.0
"""Kept for the sources that are taken last, which tell most, where those before them hang."""
_SHARE, _LEAST_S = 4, 1.0
"""Of the time that is left, what a tool gets after another one has hung, and what it gets at least."""
_FILE_S = 1.0
"""What a row of files gets of the time that is kept."""


@dataclass(frozen=True)
class Step:
    """Progress: step `number` of `total` begins (`outcome` is None) or has ended after `seconds`."""

    number: int
    total: int
    name: str
    outcome: Outcome | None = None
    seconds: float = 0.0


def collect(
    out: Path,
    *,
    version: str,
    progress: Callable[[Step], None] | None = None,
    deadline_s: float = 60.0,
    root: Path = Path("/"),
    sources: Sequence[Source] = SOURCES,
    commands: bool | None = None,
    max_bytes: int = MAX_BYTES,
    finishing: Callable[[Path], object] | None = None,
    then: Callable[[Bundle, Callable[[], bool]], None] | None = None,
) -> Path:
    """The folder of the bundle taken from this machine: `out`, or one beside it if `out` was taken meanwhile.

    `version` is the program's, for the manifest. Files are read below `root`; commands speak of the running
    system, so that they are left out where `root` is not `/`, unless `commands` says otherwise. `progress`
    hears of the beginning and the end of each step; what it raises is ignored. Steps are forked, so that it
    should not start threads. After `deadline_s` seconds no step starts, and one under way is ended. When the
    run is asked to end, the rest is marked so and the call returns as usual. All files together have at most
    `max_bytes`: what would be too large is cut, then left out, and its entry says so. `finishing` may change the
    folder before it gets its name. `then` is called when all sources are taken, with the bundle and with what
    tells whether the run is asked to end; its time is its own.

    Raises FileExistsError where `out` exists already, OSError where the bundle cannot be written; what could
    be written is then in the folder `out` with `.partial-…` at its name.
    """
    began = time.monotonic()
    tree = Tree(str(root.resolve()))
    bundle = Bundle(
        out,
        version=version,
        host=host_name(tree),
        deadline_s=deadline_s,
        root=tree.root,
        max_bytes=max_bytes,
    )
    allowed = tree.root == "/" if commands is None else commands
    until = began + deadline_s - min(_FINISH_S, deadline_s / 15)
    kept_s = _kept_s(deadline_s) if any(source.last for source in sources) else 0.0
    course = _Course(bundle, tree, until, allowed, kept_s)
    with _asked_by_signals(course):
        for number, source in enumerate(sources, 1):
            course.tell(progress, Step(number, len(sources), source.name))
            began = time.monotonic()
            outcome = course.take(source)
            course.tell(progress, Step(number, len(sources), source.name, outcome, time.monotonic() - began))
        if then is not None:
            then(bundle, lambda: course.asked_to_end)
        return bundle.finish(finishing)


def _kept_s(deadline_s: float) -> float:
    """What is kept for the last: a third of a short run, and of a longer one what it is longer than usual too."""
    return min(_KEPT_S, deadline_s / 3) + max(0.0, deadline_s - 3 * _KEPT_S) / 2


@dataclass
class _Course:
    """How far a collection has come, and what that means for the sources that are left."""

    bundle: Bundle
    tree: Tree
    until: float
    """The whole run's deadline on the monotonic clock."""
    commands: bool
    kept_s: float = 0.0
    """What other sources leave to those that are marked as last."""
    asked_to_end: bool = False
    whole: set[str] = field(default_factory=set)
    """Sources that came whole."""
    began: dict[str, float] = field(default_factory=dict)
    """When each source that succeeded began."""
    hung: dict[str, str] = field(default_factory=dict)
    """Programs that did not end in time, and in which step."""
    site: Site = field(init=False)

    def __post_init__(self) -> None:
        self.site = Site(self.bundle, self.tree, lambda: self.asked_to_end)

    def take(self, source: Source) -> Outcome:
        """The outcome of one source: of its entries, which are in the manifest then, the first not ok."""
        before = len(self.bundle.entries)
        try:
            self._take(source)
        except KeyboardInterrupt:
            self.asked_to_end = True
            self._mark(source, before, "interrupted", "interrupted")
        except Exception as error:  # noqa: BLE001 - the step loop: one step never costs the others
            self._mark(source, before, "failed", one_line(f"{type(error).__name__}: {error}"))
        with suppress(OSError):  # of no consequence unless it fails at the end too
            self.bundle.save()
        entries = self.bundle.entries[before:]
        return next((entry.outcome for entry in entries if entry.outcome != "ok"), "ok")

    def tell(self, progress: Callable[[Step], None] | None, step: Step) -> None:
        """Passes progress on. A terminal that went away must not cost the bundle."""
        try:
            if progress is not None:
                progress(step)
        except KeyboardInterrupt:
            self.asked_to_end = True
        except Exception:  # noqa: BLE001, S110 - part of the step loop
            pass

    def _take(self, source: Source) -> None:
        """Takes the source, or enters why not."""
        reason = self._needless(source)
        if reason is None:
            self._wait(source)
        left_s = self._left_s(source)
        if self.asked_to_end:
            self._mark(source, len(self.bundle.entries), "interrupted", "not started")
        elif reason is not None or left_s <= 0:
            spent = "not started: the time of the whole run was spent"
            is_kept = self.kept_s and not source.last
            reason = reason or (f"{spent}, but for what is kept for the last" if is_kept else spent)
            self._mark(source, len(self.bundle.entries), "skipped", reason)
        else:
            self._start(source, min(source.deadline_s, left_s))

    def _left_s(self, source: Source) -> float:
        """How long the source may take at most; not positive where there is no time for it.

        Where a tool has hung others may too, and none of them gets more than a share of what is left. Files take
        next to no time: where tools have spent theirs, some of what is kept is for them.
        """
        left_s = self.until - time.monotonic()
        if source.last:
            return left_s
        if isinstance(source.how, (File, Files, Listing)):
            return max(left_s - self.kept_s, min(left_s - self.kept_s / 2, _FILE_S))
        left_s -= self.kept_s
        return min(left_s, max(left_s / _SHARE, _LEAST_S)) if self.hung else left_s

    def _start(self, source: Source, limit_s: float) -> None:
        """Takes the source, and remembers what others need to know of it."""
        began, before = time.monotonic(), len(self.bundle.entries)
        if self.site.take(source, limit_s):
            self.whole.add(source.name)
        outcome = next((entry.outcome for entry in self.bundle.entries[before:]), "ok")
        if outcome == "ok":
            self.began[source.name] = began
        elif outcome == "timed-out" and isinstance(source.how, Command):
            self.hung[source.how.argv[0]] = source.name

    def _needless(self, source: Source) -> str | None:
        """Why the source need not or cannot be taken."""
        whole = next((name for name in source.unless if name in self.whole), None)
        if whole is not None:
            return f"not needed: {whole} came whole"
        if not source.alien and self.tree.root != "/":
            return f"not started: our own process does not speak of the tree at {self.tree.root}"
        if isinstance(source.how, (PythonStacks, Pythons)) and not self.commands:
            return f"not started: a command does not speak of the tree at {self.tree.root}"
        if not isinstance(source.how, Command):
            return None
        program = source.how.argv[0]
        if not self.commands:
            return f"not started: a command does not speak of the tree at {self.tree.root}"
        return f"not started: {program} did not end in step {self.hung[program]}" if program in self.hung else None

    def _wait(self, source: Source) -> None:
        """Waits until the source may start, or the run must end."""
        name, gap_s = source.after or ("", 0.0)
        start = min(self.began.get(name, 0.0) + gap_s, self.until)
        left_s = start - time.monotonic()
        while not self.asked_to_end and left_s > 0:
            time.sleep(min(left_s, _PAUSE_S))
            left_s = start - time.monotonic()

    def _mark(self, source: Source, before: int, outcome: Outcome, error: str) -> None:
        """Enters an outcome for the step's open entry, or for the source where it has none yet."""
        if len(self.bundle.entries) == before:
            how = source.how
            command = list(how.argv) if isinstance(how, Command) else None
            self.bundle.entries.append(Entry(source.name, file=getattr(how, "path", None), command=command))
        entry = self.bundle.entries[-1]
        entry.outcome, entry.error = outcome, error


@contextmanager
def _asked_by_signals(course: _Course) -> Iterator[None]:
    """Within it, signals that would end the program ask the run to end instead: no step is torn.

    A signal that is ignored (nohup) stays so. Outside the main thread signals are left alone.
    """

    def ask(_number: int, _frame: FrameType | None) -> None:
        course.asked_to_end = True

    if threading.current_thread() is not threading.main_thread():
        yield
        return
    old = {number: signal.getsignal(number) for number in _SIGNALS}
    for number, handler in old.items():
        if handler is not signal.SIG_IGN:
            signal.signal(number, ask)
    # Where a supervisor had it ignored, children would vanish without an exit code.
    old[signal.SIGCHLD] = signal.signal(signal.SIGCHLD, signal.SIG_DFL)
    try:
        yield
    finally:
        for number, handler in old.items():
            if handler is not None:  # not set from Python: it cannot be set back from here
                signal.signal(number, handler)
