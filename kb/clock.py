"""Wall-clock stamps of logs as numbers that can be set beside each other, though many carry no year."""

import re

YEAR_S = 366 * 86_400
APART_S = 60.0
"""What is nearer than this may be one moment, stamped by two programs."""
ZONES_S = 15 * 3600.0
"""Two logs may show the clocks of two time zones."""
_MONTHS = (
    ("jan", "ene", "gen", "sty", "янв"),
    ("feb", "fév", "fev", "lut", "фев"),
    ("mar", "mär", "mrt", "мар"),
    ("apr", "avr", "abr", "kwi", "апр"),
    ("may", "mai", "mei", "mag", "maj", "мая"),
    ("jun", "juin", "giu", "cze", "июн"),
    ("jul", "juil", "lug", "lip", "июл"),
    ("aug", "aoû", "ago", "sie", "авг"),
    ("sep", "set", "wrz", "сен"),
    ("oct", "okt", "ott", "out", "paź", "окт"),
    ("nov", "lis", "ноя"),
    ("dec", "déc", "dez", "dic", "gru", "дек"),
)
"""How month names begin where logs are written in English, Spanish, Italian, Polish, Russian, French, German …"""
_BY_NAME = {name: number for number, names in enumerate(_MONTHS) for name in names}
_BEFORE = (0, 31, 60, 91, 121, 152, 182, 213, 244, 274, 305, 335)
_ISO = re.compile(r"\d{4}-(\d\d)-(\d\d)[T ](\d\d):(\d\d):(\d\d)(?:[.,](\d{1,6}))?")
_NAMED = re.compile(
    r"(?:(?P<name>[^\W\d]{3,10})\.?|(?P<number>\d{1,2})[月월]) {1,2}"
    r"(?P<day>\d{1,2}) (\d\d):(\d\d):(\d\d)(?:[.,](\d{1,6}))?"
)


def clock_s(stamp: str) -> float | None:
    """Seconds since the new year (of a leap year) that a stamp shows, on its own clock; None for another form.

    `2025-07-13T05:57:55+08:00`, `Sep 13 09:44:22`, `Fri Oct 14 14:56:49 2022`. Offsets from UTC are not applied:
    the logs of one machine mostly show its local time.
    """
    iso = _ISO.search(stamp)
    if iso:
        month, numbers = int(iso[1]) - 1, iso.groups()[1:]
    else:
        named = _NAMED.search(stamp)
        if named is None:
            return None
        name = (named["name"] or "").lower()
        month = int(named["number"]) - 1 if named["number"] else _BY_NAME.get(name[:4], _BY_NAME.get(name[:3], -1))
        numbers = named.groups()[2:]
    if not 0 <= month < len(_BEFORE):
        return None
    day, hour, minute, second, part = numbers
    days = _BEFORE[month] + int(day) - 1
    return ((days * 24 + int(hour)) * 60 + int(minute)) * 60 + int(second) + float(f"0.{part or 0}")


def later_by_s(one: str | None, other: str | None) -> float | None:
    """How much later the second stamp is than the first, across a new year too; None where it can't be told."""
    first, second = (clock_s(stamp) if stamp else None for stamp in (one, other))
    if first is None or second is None:
        return None
    return (second - first + YEAR_S / 2) % YEAR_S - YEAR_S / 2


def is_clearly_later(one: str | None, other: str | None) -> bool | None:
    """Whether the first stamp is later than the second by more than two clocks may differ; None: it can't be told.

    Stamps that are both written `2025-07-13 …`, or both in another way, mostly show one clock.
    """
    after = later_by_s(other, one)
    if after is None:
        return None
    alike = ("-" in (one or "")) == ("-" in (other or ""))
    return after > (APART_S if alike else ZONES_S)
