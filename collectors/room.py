"""How much may be unpacked of one input: files, bytes and refusals, shared by all that is packed in each other.

What unpacks to far more than any log does is a trap; nested in each other, such things would fill any disk.
"""

from __future__ import annotations

from collections import Counter
from typing import Final

from collectors.content import Spool
from kb.evidence import Reason, Unread

MOST_FILES: Final = 20_000
MOST_BYTES_OF_A_FILE: Final = 4 << 30
MOST_BYTES: Final = 16 << 30
"""Of all that one input unpacks to."""
MOST_LEVELS: Final = 4
"""How many times a file may be packed: a log.gz in a tar.gz in a zip is packed three times."""

MOST_TIMES: Final = 200
"""How many times its size a packed thing may unpack to, with all that is packed in it: logs reach 100."""
UNSUSPICIOUS: Final = 256 << 20
"""More than that nevertheless, where it is small; all such things of one input together."""

TOLD_EACH: Final = 20
"""So many refusals for one reason are told one by one; the others are counted."""


class Limits:
    """What all rooms of one input share: where the bytes go, how many files are left, what was refused."""

    def __init__(self, unread: list[Unread]) -> None:
        self.unread = unread
        self.files = MOST_FILES
        self.spare = UNSUSPICIOUS
        self.spool = Spool()
        self._refused: Counter[tuple[Reason, str]] = Counter()

    def refuse(self, what: str, reason: Reason, why: str) -> None:
        """Tells that this was not read."""
        self._refused[reason, why] += 1
        if self._refused[reason, why] <= TOLD_EACH:
            self.unread.append(Unread(what, reason, why))

    def tell_the_rest(self) -> None:
        """Tells how many more were refused for each reason than were told one by one."""
        for (reason, why), count in self._refused.items():
            if count > TOLD_EACH:
                self.unread.append(Unread(f"{count - TOLD_EACH} more", reason, why))
        self._refused.clear()


class Room:
    """The bytes to which one packed thing may still unpack; no more than are left in what it lies in."""

    def __init__(self, limits: Limits, most: int | None = None, outer: Room | None = None, fair: int = 0) -> None:
        self.limits = limits
        self._left = MOST_BYTES if most is None else most
        self._outer = outer
        self._fair = fair
        """So many bytes are still to be expected; what goes beyond them is taken from what all may share."""

    @property
    def left(self) -> int:
        """How many bytes may still be unpacked."""
        return self._left if self._outer is None else min(self._left, self._outer.left)

    @property
    def is_of_input(self) -> bool:
        """Whether it is that of the whole input."""
        return self._outer is None

    def inside(self, size: int) -> Room:
        """The room of a thing of that packed size which lies here."""
        fair = MOST_TIMES * size
        spare = self.limits.spare if self.is_of_input else UNSUSPICIOUS
        return Room(self.limits, max(fair, spare), self, fair)

    def take(self, count: int) -> None:
        """Uses up so many bytes."""
        self._left -= count
        if self._outer is None:
            return
        if self._outer.is_of_input:
            self.limits.spare -= max(0, count - self._fair)
        self._fair = max(0, self._fair - count)
        self._outer.take(count)
