"""Files that may be packed → files that are not: archives within folders and within each other, to a depth.

A member of an archive has its path and then its own name: `ticket.zip/host.tar.gz/var/log/kern.log`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from operator import itemgetter
from typing import Final, NamedTuple

from collectors.archives import FULL, decompressed, is_archive, is_compressed, is_packed, is_tar, members
from collectors.content import Content
from collectors.room import MOST_LEVELS, Room
from kb.evidence import Reason, Unread

Load = Callable[[], Content]

NOT_EVIDENCE: Final = (
    *(".pt", ".pth", ".bin", ".ckpt", ".npz", ".nemo", ".distcp", ".keras"),
    *(".whl", ".egg", ".jar", ".apk", ".docx", ".xlsx", ".pptx", ".odt", ".ods"),
)
"""Ends of the names of archives that are one thing to the program that wrote them: models, packages, documents."""

FOREIGN: Final = {
    b"7z\xbc\xaf\x27\x1c": "7z",
    b"Rar!\x1a\x07": "rar",
    b"\x04\x22\x4d\x18": "lz4",
    b"\x1f\x9d": "compress",
}
"""How packed files begin that nothing here unpacks, and what they are called."""

TOO_DEEP: Final = f"it was not unpacked: it is packed more than {MOST_LEVELS} times"


class Piece(NamedTuple):
    """One file that is not packed any more."""

    origin: str
    """Its path before the last compression was taken from it, as a manifest has it."""
    path: str
    content: Content


def laid_open(loads: Mapping[str, Load], room: Room, level: int = 0) -> Iterator[Piece]:
    """The files in order of path; instead of an archive all that is in it. What can't be read is told."""
    taken = set(loads)
    for path, load in sorted(loads.items(), key=itemgetter(0)):
        try:
            yield from _opened(path, load(), room, level, taken)
        except OSError as error:
            room.limits.unread.append(not_read(path, error))


def room_in(archive: Content, room: Room) -> Room:
    """The room of the members of an archive that lies in that room: a tar packs nothing."""
    return room if is_tar(archive) else room.inside(archive.size)


def not_read(path: str, error: OSError) -> Unread:
    """Why a file could not be read."""
    reason: Reason = "no-permission" if isinstance(error, PermissionError) else "unreadable"
    return Unread(path, reason, f"it was not read: {(error.strerror or type(error).__name__).lower()}")


def _opened(path: str, content: Content, room: Room, level: int, taken: set[str]) -> Iterator[Piece]:
    """The file itself, or what is in it. An archive that is compressed is packed once."""
    name, packed = path, level
    while is_compressed(content) and packed < MOST_LEVELS and room.left > 0:
        room, packed = room.inside(content.size), packed + 1
        content, name = decompressed(name, content, room)
    if foreign := next((kind for magic, kind in FOREIGN.items() if content.head(len(magic)) == magic), None):
        why = f"{foreign} is not unpacked here: unpack it, and give what is in it"
        room.limits.refuse(path, "unreadable", why)
    elif not is_packed(content) or (is_archive(content) and path.lower().endswith(NOT_EVIDENCE)):
        shown = path if name in taken else name
        taken.add(shown)
        yield Piece(path, shown, content)
    elif room.left <= 0 and not is_tar(content):
        room.limits.refuse(path, "truncated", FULL)
    elif is_compressed(content) or level >= MOST_LEVELS:
        room.limits.refuse(path, "not-collected", TOO_DEEP)
    else:
        yield from _members(path, content, room_in(content, room), max(packed, level + 1))


def _members(path: str, content: Content, room: Room, level: int) -> Iterator[Piece]:
    found = members(content, room, path)
    taken = {f"{path}/{name}" for name in found}
    for name, part in sorted(found.items(), key=itemgetter(0)):
        yield from _opened(f"{path}/{name}", part, room, level, taken)
