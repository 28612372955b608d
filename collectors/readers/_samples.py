"""Memory samples of GPUs over time: thinned evenly, so that a query that ran for days stays small."""

from __future__ import annotations

import calendar
import time
from collections.abc import Collection

from collectors.readers._regex import regex

MOST_SAMPLES = 64
"""Of one GPU in one section."""

_DATE = regex(
    r"(?:[A-Z][a-z]{2} )?(?P<text>[A-Z][a-z]{2} [ \d]\d \d\d:\d\d:\d\d )(?:[A-Z]{2,5} )?(?P<year>\d{4})\b"
)
_ISO = regex(r"(?P<day>\d{4}[-/]\d\d[-/]\d\d)[T ](?P<clock>\d\d:\d\d:\d\d)(?P<part>[.,]\d{1,9})?")
_CLOCK = regex(r"(?<![\d:])(\d\d):([0-5]\d):([0-5]\d)(?:[.,](\d{1,6}))?(?![\d:])")


def kept(orders: Collection[int]) -> frozenset[int]:
    """At most 64 of the orders, spread evenly, always with the first and the last."""
    every = sorted(orders)
    if len(every) <= MOST_SAMPLES:
        return frozenset(every)
    last = len(every) - 1
    return frozenset(every[round(step * last / (MOST_SAMPLES - 1))] for step in range(MOST_SAMPLES))


def time_s(text: str) -> float | None:
    """Seconds since the epoch of the date in a text, or since midnight where it has a time of day alone."""
    text = text[:200]
    try:
        match = _DATE.search(text)
        if match:
            parsed = time.strptime(match["text"] + match["year"], "%b %d %H:%M:%S %Y")
            return float(calendar.timegm(parsed))
        match = _ISO.search(text)
        if match:
            whole = f"{match['day'].replace('/', '-')} {match['clock']}"
            parsed = time.strptime(whole, "%Y-%m-%d %H:%M:%S")
            return calendar.timegm(parsed) + float((match["part"] or ".0").replace(",", "."))
    except ValueError:
        return None
    clock = _CLOCK.search(text)
    if clock is None:
        return None
    hours, minutes, seconds, part = clock.groups()
    return int(hours) * 3600 + int(minutes) * 60 + int(seconds) + float(f"0.{part or 0}")
