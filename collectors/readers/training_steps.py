"""Steps of a training that a script of its own prints, and that it got to its end.

    step   200 | loss 3.1120 | tokens/s 401223
    Epoch: [1][ 40/5005]  Time 0.211  Loss 4.8123e+00
    100 images/sec: 427.7 +/- 0.3 (jitter = 1.9) 7.644
    total images/sec: 854.92
    1875/1875 [==============================] - 4s 2ms/step - loss: 0.2912 - accuracy: 0.9153

Keras draws such a bar below the line `Epoch 3/10` of its epoch, of `=` (2) or `━` (3), or none (verbose=2).
Follows the examples of PyTorch, torchvision, Horovod, nanoGPT and tf_cnn_benchmarks, and what scripts print alike:
a counter and a measure. Only counters that rise on two lines or more count, of the last run; a word like `done`
counts where steps came before it and nothing that looks like an error came after them. Prose gives nothing.
"""

from __future__ import annotations

from collections.abc import Iterator

from collectors.readers._regex import regex
from collectors.readers.launcher_prefixes import after_progress, without_launcher, without_stamp
from collectors.readers.run_start import RUN_MARKERS, last_run
from kb.evidence import Reader, Reading, Section
from kb.facts.launch import RunEnd
from kb.facts.progress import Progress

_COUNTER = r"\[?(?:[Tt]rain(?:ing)?:? )?(?:[Ee]poch|EPOCH|[Ss]tep|[Ii]ter(?:ation)?|[Bb]atch)\b[ #:=\[]{0,6}"
_UNIT = (
    r"(?:(?:it|iter|img|image|sample|token|tok|example|sequence)s?(?:/s\b|/sec\b|_per_sec)"
    r"|(?:ms|sec|s)/(?:it|step|iter)\b)"
)
_MEASURE = rf"(?:\b[Ll]oss\b[\"':= |]{{1,6}}-?\d|\d ?{_UNIT}|\b{_UNIT}[\"':= |]{{1,6}}\d)"
_STEP = regex(
    rf"{_COUNTER}(?P<first>\d{{1,9}})(?:[ /\]\[:,]{{0,8}}(?P<second>\d{{1,9}}))?"
    r"(?:[ /\]\[:,]{0,4}\d{1,9})?"
    rf"\b.{{0,160}}{_MEASURE}"
)
_INNER = regex(rf"{_COUNTER}(?P<outer>\d{{1,9}})[ ,:|]{{1,4}}{_COUNTER}(?P<inner>\d{{1,9}})\b.{{0,160}}{_MEASURE}")
_BENCHMARK = regex(r"(?P<first>\d{1,9})\s{1,4}images/sec: [\d.]{1,12}\b")
_EPOCH = regex(r"Epoch (?P<epoch>\d{1,7})/\d{1,7}\s*$")
_BAR = regex(
    r"(?P<done>\d{1,9})/\d{1,9} (?:\[[=>.]{5,60}\] - |[━─\s]{5,80}|- )"
    r".{0,160}?\d(?:us|ms|s|m|h)?(?:/(?:step|sample|epoch))? - .{0,160}\bloss: \d"
)
_MARKERS = ("loss", "Loss", "/sec", "/s", "_per_sec", "/it", "/step", "/iter")
_ENDS = (
    *("total images/sec: ", "Total img/sec on ", "raining complete", "raining finished", "inished training"),
    *(
        "raining done",
        "raining is done",
        "one training",
        "done in ",
        "Done in ",
        "one.",
        "inished in ",
        *("one, ", "one: ", "inished, ", "inished: "),
    ),
)
_END = regex(
    r"(?:total images/sec: \d|Total img/sec on \d|[\w ]{0,20}\b[Tt]raining (?:is |has )?(?:complete|finished|done)"
    r"|(?:[Ff]inished|[Dd]one) training\b"
    r"|(?:[Dd]one|[Ff]inished) in \d[\d:.]{0,12} ?(?:s|sec|seconds|min|h)?\b|(?:[Aa]ll )?[Dd]one[.!]?\s*$"
    r"|(?:[Dd]one|[Ff]inished)[,:] \d[\d,]{0,14} "
    r"(?:image|img|sample|example|step|iteration|iter|token|batch|epoch)\w{0,2}\b)"
)
_BAD = ("Error", "ERROR", "Traceback", "rror:", "FATAL", "Killed", "Aborted", "imeout")
_LEAST = 2


def read(section: Section) -> Iterator[Reading]:
    """Progress of one training, and RunEnd where it got to its end."""
    steps = _last_steps(section)
    if len(steps) < _LEAST or steps[0][1] < last_run(section):
        return
    counter, last = steps[0]
    end = _end(section, last)
    done = ".".join(str(part) for part in counter if part >= 0)
    fact = Progress(activity="train", what="step", done=done, state="advancing" if end is None else "finished")
    yield section.observe(fact, last)
    if end is not None:
        yield section.observe(RunEnd(end="finished", said_by="training"), end)


def _last_steps(section: Section) -> list[tuple[tuple[int, int], int]]:
    """The last counter with its line, and the one before it where it is lower: a long run tells no more."""
    steps: list[tuple[tuple[int, int], int]] = []
    epochs = _epochs(section)
    for index, line in reversed(list(section.matching(*_MARKERS))):
        while epochs and epochs[-1][0] > index:
            epochs.pop()
        text = _bare(line)
        counter = _counter(text) or _of_keras(text, epochs[-1][1] if epochs else None)
        if counter is None:
            continue
        if steps and counter != steps[0][0]:
            return [*steps, (counter, index)] if counter < steps[0][0] else steps
        steps = [(counter, index)]
    return steps


def _epochs(section: Section) -> list[tuple[int, int]]:
    """The lines by which Keras begins an epoch, and its number."""
    found = ((index, _EPOCH.match(_bare(line))) for index, line in section.matching("Epoch "))
    return [(index, int(match["epoch"])) for index, match in found if match is not None]


def _bare(line: str) -> str:
    return without_stamp(without_launcher(after_progress(line[:4000])).text).text[:600].lstrip()


def _counter(text: str) -> tuple[int, int] | None:
    inner = _INNER.match(text)
    if inner:
        return int(inner["outer"]), int(inner["inner"])
    step = _STEP.match(text)
    if step:
        return int(step["first"]), int(step["second"] or -1)
    benchmark = _BENCHMARK.match(text)
    return (int(benchmark["first"]), -1) if benchmark else None


def _of_keras(text: str, epoch: int | None) -> tuple[int, int] | None:
    """How far a bar below the line of its epoch has come."""
    bar = _BAR.match(text) if epoch is not None else None
    return (epoch, int(bar["done"])) if bar is not None and epoch is not None else None


def _end(section: Section, after: int) -> int | None:
    """The line that says that the work is done, where it is the last word."""
    if any(index > after for index, _ in section.matching(*_BAD)):
        return None
    ends = [index for index, line in section.matching(*_ENDS) if index > after and _END.match(_bare(line))]
    return ends[-1] if ends else None


READER = Reader(
    "training-steps",
    read,
    markers=(*("loss", "Loss"), "images/sec", "img/sec", "img/s", "it/s", "tokens/s", "samples/s"),
    lines=("Epoch ", *_MARKERS, *_ENDS, *_BAD, *RUN_MARKERS),
)
