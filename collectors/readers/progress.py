"""What shows that a job is alive: bars, and lines of compilers, builders and trainings, by activity and rank.

    Tokenizing Prompts (num_proc=64):  92%|█████████▏| 328986/359152 [29:58<12:05, 41.59 examples/s]
    (Worker_TP0 pid=301) Loading safetensors checkpoint shards:   36% Completed | 11/30 [07:44<13:21, 42.18s/it]
    Using /root/.cache/torch_extensions/py310_cu118 as PyTorch extensions root...

Follows tqdm 4, vLLM 0.4 on, SGLang 0.3.6 on, torch.utils.cpp_extension 1.8 on, Megatron-LM, FlashInfer 0.1 on,
DeepGEMM, datasets 2 on. Of a log with several runs the last one counts. A bar without words is a training's where
steps of one were printed, a capture's after its beginning was, else of `other`. Torn bars give nothing.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from collectors.readers._regex import regex
from collectors.readers._samples import time_s
from collectors.readers.launcher_prefixes import after_progress, without_launcher, without_stamp
from collectors.readers.progress_bars import Bar, about, bars, of_bytes, title
from collectors.readers.progress_lines import BUSY, MARKERS, Told, told
from collectors.readers.run_start import RUN_MARKERS, last_run
from collectors.readers.training_lines import FIRST_STEPS
from kb.evidence import Observed, Reader, Reading, Section
from kb.facts.progress import Activity, Progress

MOST_WORKS = 500

_BAR_MARKERS = ("%|", "% Completed |")
_STEPS = ("***** Running training *****", "{'loss': ")
_DIGITS = regex(r"\d+")


@dataclass(slots=True)
class _Work:
    """One activity of one rank: its first and last sight."""

    activity: Activity
    what: str
    rank: str | None
    first: int
    last: int
    first_percent: int | None = None
    last_percent: int | None = None
    done: str | None = None
    rate: str | None = None
    elapsed_s: int | None = None
    remaining_s: int | None = None
    moved: bool = False
    over: bool = False
    began_s: float | None = None


class _Works:
    """All activities of a section, by what they are about and by rank."""

    def __init__(self) -> None:
        self.all: dict[tuple[str, str, str | None], _Work] = {}
        self.untitled: Activity = "other"

    def work(self, activity: Activity, what: str, rank: str | None, index: int) -> _Work | None:
        key = (activity, _DIGITS.sub("#", what) if activity == "train" else what, rank)
        if key not in self.all and len(self.all) < MOST_WORKS:
            self.all[key] = _Work(activity, what, rank, index, index)
        work = self.all.get(key)
        if work is not None:
            work.last = index
        return work

    def add_bar(self, bar: Bar, rank: str | None, words: str, index: int) -> None:
        """One more state of a bar."""
        name = title(words)
        activity = about(name) if name else "load" if of_bytes(bar) else self.untitled
        work = self.work(activity, name or "(no words)", rank, index)
        if work is None:
            return
        if work.first_percent is None:
            work.first_percent = bar.percent
        work.last_percent, work.done = bar.percent, f"{bar.done}/{bar.total}"
        work.rate = bar.rate or work.rate
        work.elapsed_s, work.remaining_s = bar.elapsed_s, bar.remaining_s
        work.moved, work.over = work.moved or bar.moved, bar.percent == 100

    def add_line(self, line: Told, rank: str | None, at_s: float | None, index: int) -> None:
        """One more line that tells of some work."""
        if line.activity == "capture":
            self.untitled = "capture" if line.point == "begin" else "other"
        work = self.work(line.activity, line.what, rank, index)
        if work is None:
            return
        if line.point == "begin" and work.over:  # once more, as a checkpoint is saved again and again
            work.began_s, work.elapsed_s, work.moved = at_s, None, False
        elif work.began_s is None:
            work.began_s = at_s
        elif at_s is not None and at_s >= work.began_s:
            work.elapsed_s = round(at_s - work.began_s)
        work.moved, work.over = work.moved or line.point == "go-on", line.point == "end"
        if line.point == "end" and line.activity in {"capture", "extension-build"}:
            self._close(line.activity, rank, index)
        if line.steps is not None:
            done, total = line.steps
            percent = min(100 * done // total, 100)
            work.first_percent = percent if work.first_percent is None else work.first_percent
            work.last_percent, work.done, work.over = percent, f"{done}/{total}", done >= total

    def _close(self, activity: Activity, rank: str | None, index: int) -> None:
        """What was begun under another name ends with it: bars, which name no rank, and a build's folder."""
        for work in self.all.values():
            if work.activity == activity and work.rank in {rank, None} and not work.over:
                work.last, work.over = index, True


def read(section: Section) -> Iterator[Reading]:
    """Progress for each activity and rank of the last run in the section."""
    works = _Works()
    start = last_run(section)
    for index, line in section.matching(*_BAR_MARKERS, *MARKERS, *BUSY, *_STEPS):
        if index < start:
            continue
        if any(step in line for step in _STEPS):
            works.untitled = "train"
        rank = without_launcher(line[:400]).rank
        first = None
        for bar in bars(line) if "%" in line else ():
            words = without_stamp(without_launcher(bar.words).text).text
            first = title(words) if first is None else first
            works.add_bar(bar, rank if title(words) == first else None, words, index)
        launched = without_launcher(after_progress(line))
        logged = without_stamp(launched.text)
        line_told = told(logged.text[:1000])
        if line_told is not None:
            works.add_line(line_told, launched.rank or logged.rank, time_s(logged.time or ""), index)
    yield from (_observed(section, work) for work in works.all.values())
    if works.all:
        yield section.looked(Progress, complete=False, reason="not-collected")


def _observed(section: Section, work: _Work) -> Observed:
    fact = Progress(
        activity=work.activity,
        what=work.what,
        rank=work.rank,
        first_percent=work.first_percent,
        last_percent=work.last_percent,
        done=work.done,
        rate=work.rate,
        elapsed_s=work.elapsed_s,
        remaining_s=work.remaining_s,
        state="finished" if work.over else "advancing" if work.moved else "begun",
    )
    return section.observe(fact, work.last)


READER = Reader(
    "progress",
    read,
    markers=(*_BAR_MARKERS, *MARKERS, *FIRST_STEPS),
    lines=(*_BAR_MARKERS, *MARKERS, *_STEPS, *FIRST_STEPS, *RUN_MARKERS),
)
