"""Progress bars as tqdm and its kin draw them, several in one line where nothing ends it; and what they are about.

`Loading checkpoint shards:  93%|█████▎| 14/15 [04:12<00:17, 17.71s/it]`,
`Loading safetensors checkpoint shards:  36% Completed | 11/30 [07:44<13:21, 42.18s/it]`. No reader.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from collectors.readers._regex import regex
from collectors.readers.launcher_prefixes import clipped
from kb.facts.progress import Activity

MOST_WORDS = 160

_BAR = regex(
    r"(?P<percent>\d{1,3})%(?:\|[^|\[\]]{0,200}\|| Completed \|) {0,4}"
    r"(?P<done>[\d.,]{1,12}[kKMGTPi]{0,2}B?)/(?P<total>[\d.,]{1,12}[kKMGTPi]{0,2}B?) "
    r"\[(?P<elapsed>[\d:]{4,12})<(?P<remaining>[\d:]{4,12}|\?)(?:, {0,4}(?P<rate>[^\],\[]{1,40}))?"
)
_ABOUT: tuple[tuple[Activity, str], ...] = (
    ("capture", r"Captur(?:e|ing)|cuda graph|CUDA graph"),
    ("compile", r"DeepGEMM|AutoTuner|Autotun|Compil|Pre-?compil|Inductor|\bJIT\b"),
    ("download", r"Download|Fetching \d+ files|Upload|\.(?:safetensors|bin|gguf|json|model|parquet|arrow|pth?)\b"),
    ("load", r"(?:Loading|Prefetching) (?:\w+ )?(?:checkpoint|weights|shards|pipeline)|Load(?:ing)? model"),
    ("load", r"[Ll]oading .{0,40}(?:layers|shards|safetensors)|Parse safetensors"),
    (
        "preprocess",
        r"Map\b|Tokeniz|[Tt]okenizer on|Filter\b|Generating \w+ split|Saving the dataset|Resolving data",
    ),
    (
        "preprocess",
        r"Pack|Flatten|Sort\b|Drop|Add(?:ing)? |Truncat|Convert|Applying|Group|Cast|Prepar|[Pp]reprocess",
    ),
    ("preprocess", r"Formatting|Encoding|Creating json|Extracting|Loading dataset"),
    ("save", r"Consolidat|Saving|Exporting|Merging|Writing"),
    ("train", r"Epoch|[Tt]rain|Steps?\b|Iteration|Validat|Sanity|Evaluat|[Ll]oss"),
)
_FORMS = tuple((activity, regex(text)) for activity, text in _ABOUT)
_TAG = regex(r"^\[([A-Z]\w{2,40})\](: [A-Z])")
_AFTER_WORDS = regex(r"\s{0,4}[(\[{].*|[:\s]+$")
_UNITS = {"k": 1, "K": 1, "M": 2, "G": 3, "T": 4, "P": 5}


class Bar(NamedTuple):
    """One state of one bar."""

    words: str
    percent: int
    done: str
    total: str
    elapsed_s: int
    remaining_s: int | None
    rate: str | None

    @property
    def moved(self) -> bool:
        """Whether anything is done at all."""
        return self.done.strip("0.,BkKMGTPi") != ""


def bars(line: str) -> Iterator[Bar]:
    """All bars in a line, with the words before each; for the first, all that stands before it."""
    line = clipped(line)
    start = 0
    for match in _BAR.finditer(line):
        before = line[start : match.start()]
        if start:  # the rest of the bar before: its postfix
            before = before.partition("]")[2]
        if int(match["percent"]) <= 100:
            yield Bar(
                words=before.rpartition("\r")[2][-MOST_WORDS:],
                percent=int(match["percent"]),
                done=match["done"],
                total=match["total"],
                elapsed_s=_seconds(match["elapsed"]),
                remaining_s=None if "?" in match["remaining"] else _seconds(match["remaining"]),
                rate=None if match["rate"] is None or "?" in match["rate"] else match["rate"].strip(),
            )
        start = match.end()


def _seconds(clock: str) -> int:
    seconds = 0
    for part in clock.split(":")[-4:]:
        seconds = seconds * 60 + int(part or 0)
    return seconds


def about(words: str) -> Activity:
    """What a bar of these words is about."""
    return next((activity for activity, form in _FORMS if form.search(words)), "other")


def of_bytes(bar: Bar) -> bool:
    """Whether what it counts are bytes, which are read or copied."""
    return bar.rate is not None and bar.rate.endswith("B/s")


def title(words: str) -> str:
    """A bar's own words without what changes from one state to the next: brackets and the final colon.

    A name in brackets before them is theirs: `[Autotuner]: Tuning gemm1` is `Autotuner: Tuning gemm1`.
    """
    words = _TAG.sub(r"\1\2", words.strip())
    return _AFTER_WORDS.sub("", words.strip())[:MOST_WORDS].rstrip(": ")
