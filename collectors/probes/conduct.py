"""One probe after the other: what it may disturb is said, who holds the GPUs is asked, its end becomes an outcome.

A probe that hangs is killed with all that it started; what does not die is left behind and named, and no later
probe touches the GPUs then. Else copies go on in a new process, without the GPUs of the pair that hung.
"""

from __future__ import annotations

import json
import os
import secrets
import signal
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import closing, suppress
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import Any, NoReturn

from collectors.live.bundle import Bundle, Entry, Outcome
from collectors.live.run import Ran, execute, run
from collectors.live.steps import command_environ, one_line
from collectors.probes.holders import holders
from collectors.probes.journal import WHERE, Journal, Watch, in_words
from collectors.probes.rest import environ_of, rest_of
from collectors.probes.table import MIB, Probe

CHILDREN = Path(__file__).parent / "children"

# These would put the memory of a GPU where its peer sees it without being asked, or log into files.
_NOT_FOR_PROBES = ("PYTORCH_CUDA_ALLOC_CONF", "PYTORCH_ALLOC_CONF")
_OUTPUT_BYTES = 8 * MIB
_JOURNAL_BYTES = 16 * MIB
_OUTCOMES: dict[str, Outcome] = {
    "completed": "ok",
    "cannot": "skipped",
    "refused": "skipped",
    "hung": "timed-out",
    "out-of-time": "timed-out",
    "interrupted": "interrupted",
}

_GOES_ON = ("hung", "crashed", "failed")
_WORDS = {"cannot": "could not run", "out-of-time": "ran out of time"}


@dataclass(frozen=True)
class Conduct:
    """How probes are run. `python` is the job's; `anyway`: though others hold the GPUs.

    `more` is put over the options of every probe: tests give smaller sizes and a stand-in for GPUs there.
    """

    python: str
    anyway: bool = False
    says: Callable[[str], None] = lambda _: None
    """Hears in one line each what is about to happen, and what came of it."""
    proc: str = "/proc"
    more: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class _End:
    """How a probe ended: one word, in words, and the steps that were under way."""

    word: str
    why: str = ""
    signal: str | None = None
    steps: tuple[dict[str, Any], ...] = ()
    left_behind: str | None = None


def conduct(bundle: Bundle, probes: Sequence[Probe], how: Conduct, stop: Callable[[], bool]) -> None:
    """Runs the probes into the bundle, an entry each. What goes wrong with one is the outcome of that one."""
    stuck: str | None = None
    for probe in probes:
        entry = Entry(f"probe-{probe.name}", command=_argv(probe, how, {}), outcome="interrupted")
        bundle.entries.append(entry)
        began = time.monotonic()
        try:
            end = _end_of(bundle, probe, entry, how, stop, stuck)
            entry.outcome = _OUTCOMES.get(end.word, "failed")
            entry.error = None if end.word == "completed" else one_line(_in_one(end))
            stuck = f"probe {probe.name} left {end.left_behind}" if end.left_behind else stuck
        except OSError as error:  # the disk is full, most likely
            entry.outcome, entry.error = "failed", one_line(f"its journal could not be written: {error}")
        entry.seconds = round(time.monotonic() - began, 3)
        how.says(f"probe {probe.name}: {entry.error or 'completed'}")
        with suppress(OSError):  # of no consequence unless it fails at the end too
            bundle.save()


def _end_of(
    bundle: Bundle, probe: Probe, entry: Entry, how: Conduct, stop: Callable[[], bool], stuck: str | None
) -> _End:
    """Runs one probe, or says why not; either is in its journal, which then goes into the bundle."""
    with closing(Journal(bundle.folder / "probes", probe.name)) as journal:
        why = "the collection was ended" if stop() else _refusal(probe, how, stuck, stop)
        if why is None:
            how.says(f"probe {probe.name}: {probe.disturbs}")
            end = _as_far_as_it_goes(bundle, probe, journal, how, stop)
        else:
            end = _End("interrupted" if stop() else "refused", why)
            _note_end(journal, end)
        with bundle.artifact(f"probes/{probe.name}.jsonl", _JOURNAL_BYTES) as artifact:
            artifact.write(journal.path.read_bytes())
            artifact.end()
            artifact.describe(entry)
        journal.path.unlink()
    return end


def _as_far_as_it_goes(
    bundle: Bundle, probe: Probe, journal: Journal, how: Conduct, stop: Callable[[], bool]
) -> _End:
    """Runs a probe, and again without the GPUs of a pair that stopped it; the first end, and what came after."""
    until = time.monotonic() + probe.deadline_s
    asked = {"start_s": probe.start_s, "step_s": probe.step_s, **probe.options, **how.more}
    ends: list[_End] = []
    while True:
        end = _take(bundle, probe, journal, how, stop, asked, len(ends) + 1)
        _note_end(journal, end)
        ends.append(end)
        rest = rest_of(asked, journal.records(), end.steps) if end.word in _GOES_ON else None
        left_s = until - time.monotonic()
        if rest is None or end.left_behind or stop() or left_s < asked["start_s"] + asked["step_s"]:
            return replace(ends[0], why=_why(ends), left_behind=end.left_behind)
        environ = {**probe.environ, **environ_of(rest, journal.records(), _environ(probe))}
        without = " and ".join(map(str, rest["without"]))
        how.says(f"probe {probe.name}: {_in_one(end)}; goes on without GPUs {without}")
        asked = {**asked, **rest}
        probe = replace(probe, environ=environ, deadline_s=left_s)


def _why(ends: Sequence[_End]) -> str:
    """Why the first ended so, and how those did that went on."""
    later = [_in_one(replace(end, why="")) for end in ends[1:]]
    return "; ".join([*filter(None, [ends[0].why]), *(f"without those GPUs: {one}" for one in later)])


def _note_end(journal: Journal, end: _End) -> None:
    said = {"why": end.why or None, "signal": end.signal, "steps": list(end.steps) or None}
    journal.note("outcome", outcome=end.word, **said, left_behind=end.left_behind)


def _refusal(probe: Probe, how: Conduct, stuck: str | None, stop: Callable[[], bool]) -> str | None:
    """Why a probe must not start; None where it may."""
    if not probe.uses_gpus:
        return None
    if stuck is not None:
        return f"not started: {stuck}, which may still hold a GPU"
    if how.anyway:
        return None
    held = holders(how.proc, stop)
    if held.processes:
        others = f" (and {len(held.processes) - 1} more)" if len(held.processes) > 1 else ""
        return f"not started: {held.processes[0]}{others}; end it first, or give --probe-anyway"
    if held.failed:
        return (
            f"not started: who holds the GPUs can't be seen ({held.failed}); --probe-anyway starts it all the same"
        )
    if held.unseen:
        how.says(f"{held.unseen} processes of other users can't be seen, and may use the GPUs; root sees them all")
    return None


def _take(
    bundle: Bundle,
    probe: Probe,
    journal: Journal,
    how: Conduct,
    stop: Callable[[], bool],
    options: Mapping[str, Any],
    number: int,
) -> _End:
    """Runs the child, keeps what it prints, and says how it ended."""
    told = {"nonce": secrets.token_hex(4), **options}
    asked = {"probe": probe.name, "journal": journal.descriptor, **told}
    journal.note("asked", python=how.python, deadline_s=probe.deadline_s, environ=dict(probe.environ), **told)
    work = partial(_become, journal.descriptor, _argv(probe, how, asked), _environ(probe))
    watch = Watch(journal, asked["start_s"])
    waits: list[str] = []

    def enough() -> bool:
        if stop():
            return True
        if not waits and watch.stands_still():
            waits.extend(_waits(journal))
        return watch.stalled

    name = f"{probe.name}-{number}" if number > 1 else probe.name
    with bundle.artifact(f"probes/{name}.output.txt", _OUTPUT_BYTES) as output:
        ran = run(work, output.write, deadline_s=probe.deadline_s, stop=enough)
        output.end()
        if output.bytes:
            entry = Entry(f"probe-{name}.output", outcome="ok")
            output.describe(entry)
            bundle.entries.append(entry)
    if ran.stderr:
        entry = Entry(f"probe-{name}.stderr", outcome="ok")
        with bundle.artifact(f"probes/{name}.stderr.txt", MIB) as artifact:
            artifact.write(ran.stderr)
            artifact.end()
            artifact.describe(entry)
        bundle.entries.append(entry)
    return _end(ran, journal, hung=watch.stalled and not stop(), waits=waits)


def _become(descriptor: int, argv: list[str], environ: Mapping[str, str]) -> NoReturn:
    os.set_inheritable(descriptor, True)
    execute(tuple(argv), environ)


def _argv(probe: Probe, how: Conduct, asked: Mapping[str, Any]) -> list[str]:
    """-B: the job's Python writes nothing beside our scripts."""
    return [how.python, "-B", str(CHILDREN / probe.script), *([json.dumps(asked)] if asked else [])]


def _environ(probe: Probe) -> dict[str, str]:
    """The environment of this process, GPUs in the order of nvidia-smi, and what the probe needs."""
    environ = {"CUDA_DEVICE_ORDER": "PCI_BUS_ID", **command_environ(os.environ)}
    changes = {**dict.fromkeys(_NOT_FOR_PROBES), **probe.environ}
    return {
        **{key: one for key, one in environ.items() if key not in changes},
        **{k: v for k, v in changes.items() if v},
    }


def _end(ran: Ran, journal: Journal, *, hung: bool, waits: list[str]) -> _End:
    """How it ended, from the end of the process and from the journal."""
    records = journal.records()
    steps = tuple(journal.open_steps())
    if ran.interrupted or ran.timed_out:
        word = "out-of-time" if ran.timed_out else "hung" if hung else "interrupted"
        return _End(word, "; ".join(waits), steps=steps, left_behind=ran.left_behind)
    if ran.error is not None:
        return _End("cannot", one_line(ran.error))
    cannot = next((str(record["why"]) for record in records if record.get("event") == "cannot"), None)
    if cannot is not None:
        return _End("cannot", cannot)
    if ran.exit_code == 0 and records[-1].get("event") == "done":
        return _End("completed")
    fails = [record for record in records if record.get("event") == "fail"]
    failed = next((record for record in fails if record.get("signal")), fails[0] if fails else None)
    code = ran.exit_code or 0
    number = -code if code < 0 else (failed or {}).get("signal")
    name = signal.Signals(number).name if number else None
    if failed is not None:
        own = {key: failed[key] for key in ("step", *WHERE) if key in failed}
        # Of a rank that died its own open step tells more than that it died.
        steps = (*sorted(steps, key=lambda step: step.get("rank") != own.get("rank")), own)
    last = next((f": {line}" for line in reversed(ran.stderr.decode(errors="replace").splitlines()) if line), "")
    why = str((failed or {}).get("error", "")) or (
        f"ended with {name}" if name else f"ended with status {code}{last}"
    )
    return _End("crashed" if number else "failed", one_line(why), name, steps)


def _waits(journal: Journal) -> list[str]:
    """In which state and kernel function the processes of a probe that stands still are."""
    found = []
    for pid in [record["pid"] for record in journal.records() if "pid" in record]:
        try:
            state = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
            wait = Path(f"/proc/{pid}/wchan").read_text().strip()
        except OSError:
            continue
        found.append(f"process {pid}, state {state}" + (f" in {wait}" if wait not in {"", "0"} else ""))
    return found


def _in_one(end: _End) -> str:
    """The end in one line for a person."""
    where = f" in step {in_words(end.steps[0])}" if end.steps else ""
    more = f" (and {len(end.steps) - 1} more)" if len(end.steps) > 1 else ""
    left = f"; left behind: {end.left_behind}, not even SIGKILL ends it" if end.left_behind else ""
    return f"{_WORDS.get(end.word, end.word)}{where}{more}" + (f": {end.why}" if end.why else "") + left
