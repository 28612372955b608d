"""The records of NCCL's log, whichever of its line forms they have and whatever stands before them.

All forms end their head in `[cudaDev] ` or, for WARN, `[cudaDev] file.cc:line ` or, from 2.30.7,
`[cudaDev] file.cc:line (function) `, followed by `NCCL LEVEL text`; before it stands `host:pid:tid `. From
2.26 a time in any format may come first, so the head is read backwards from the level word. Users cut
`host:pid:tid` off, or all before the level, and quote a record in backticks; NCCL up to 2.2 has no `NCCL`. Prose
that merely names NCCL gives no record. No reader.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from collectors.readers._regex import regex
from collectors.readers.launcher_prefixes import clipped, without_launcher
from kb.evidence import Section

_LEVEL = regex(r"\bNCCL (INFO|WARN) ")
_OTHER_FORMS = (
    regex(
        r"(?:^|\s)(?P<writer>[\w.-]{1,255}:\d{1,10}:\d{1,10}) \[\d{1,3}\] (?:(?P<place>[\w./-]{1,100}:\d{1,6}) )?"
        r"(?P<level>INFO|WARN) "
    ),
    regex(r"(?P<level>INFO|WARN): Function: \w{1,80} Line: \d{1,6}: (?=NET/OFI)"),
    regex(r"(?:^|`)(?P<level>INFO|WARN) (?=NET/[A-Z]\w{1,12} ?:? )"),
)
"""NCCL up to 2.2, the programs that test aws-ofi-nccl without NCCL, and what people leave of a line."""
_NAMED = ("NCCL INFO ", "NCCL WARN ")
_PLAIN = regex(r"(?P<writer>[\w.-]{1,255}:\d{1,10}:\d{1,10}) \[-?\d{1,4}\] NCCL INFO (?P<text>.{0,4000})$")
"""Most lines by far: one record, and no launcher's prefix before it."""
_HEAD_COLUMNS = 400
_DEVICE = regex(r"\[-?\d{1,4}\]")
_PLACE = regex(r"[\w./-]{1,250}:\d{1,6}")
_FUNCTION = regex(r"[A-Za-z_]\w{3,60}")
"""In place of the source file: plugins that log through NCCL."""
_PROCESS = regex(r"([\w.-]{1,255}):(\d{1,10}):(\d{1,10})$")
_BARE = regex(r"[A-Z]|comm 0x|transport/|graph/|\S{1,60}\.cc")
"""How the text begins of a record of which nothing is left before its level."""


@dataclass(slots=True)
class NcclLine:
    """One record: where it stands, its level and text, and who wrote it as far as the head tells."""

    index: int
    level: str
    text: str
    process: str
    """`host:pid`, or `[cudaDev]` where the user cut the rest off."""
    host: str | None
    pid: int | None
    thread: str
    """`host:pid:tid`."""
    place: str | None
    """Source file and line of a WARN."""
    rank: int | None
    """As the launcher's prefix tells; NCCL's own head does not."""


def nccl_lines(section: Section, *markers: str) -> Iterator[NcclLine]:
    """The records of the section in order, also where several are glued into one line.

    With markers, only those of the lines that hold one of them, and these in the other forms too.
    """
    if markers:
        return _records(section.matching(*markers), other_forms=True)
    return _records(section.matching(*_NAMED), other_forms=False)


def named_lines(section: Section, *markers: str) -> Iterator[NcclLine]:
    """The records in the form with `NCCL`, of the lines that hold one of the markers."""
    return _records((one for one in section.matching(*markers) if _is_named(one[1])), other_forms=False)


def _is_named(line: str) -> bool:
    return _NAMED[0] in line or _NAMED[1] in line


def _records(lines: Iterable[tuple[int, str]], *, other_forms: bool) -> Iterator[NcclLine]:
    hosts: dict[int, str] = {}
    for index, whole in lines:
        plain = _PLAIN.match(whole)
        if plain is not None and not _is_named(plain["text"]):
            yield _record(index, "INFO", plain["text"].strip(), (plain["writer"], None), hosts, None)
            continue
        line = clipped(whole)
        matches = list(_LEVEL.finditer(line))
        if not matches and other_forms and (record := _of_other_form(index, line, hosts)) is not None:
            yield record
            continue
        launcher_rank = _launcher_rank(line)
        start = 0
        for match, following in zip(matches, [*matches[1:], None], strict=False):
            end = len(line) if following is None else following.start()
            text = line[match.end() : end].strip()
            head = _head(line[start : match.start()]) or (
                _cut_head(line[: match.start()], text) if not start else None
            )
            if head is not None:
                text = text.partition("`")[0].rstrip() if line[: match.start()].endswith("`") else text
                yield _record(index, match[1], text, head, hosts, launcher_rank)
            start = match.end()


def _of_other_form(index: int, line: str, hosts: dict[int, str]) -> NcclLine | None:
    for form in _OTHER_FORMS:
        match = form.search(line[:_HEAD_COLUMNS])
        if match is not None:
            parts = match.groupdict()
            head = (parts.get("writer"), parts.get("place"))
            rank = _launcher_rank(line)
            text = line[match.end() :].strip()
            text = text.partition("`")[0] if match[0].startswith("`") else text
            return _record(index, match["level"], text, head, hosts, rank)
    return None


def _launcher_rank(line: str) -> int | None:
    rank = without_launcher(line[:_HEAD_COLUMNS]).rank
    return int(rank.removeprefix("rank ")) if rank is not None and rank.startswith("rank ") else None


def _head(text: str) -> tuple[str | None, str | None] | None:
    """`host:pid:tid` and the source place before a level word; None where this is no head of NCCL's."""
    words = text[-_HEAD_COLUMNS:].split()
    if len(words) > 1 and _DEVICE.fullmatch(words[-2]) and _FUNCTION.fullmatch(words[-1]):
        words.pop()
    place = None
    if words and words[-1].startswith("(") and words[-1].endswith(")"):
        words.pop()
    if words and not _DEVICE.fullmatch(words[-1]) and _PLACE.fullmatch(words[-1]):
        place = words.pop()
    if not words or not _DEVICE.fullmatch(words[-1]):
        return None
    device = words.pop()
    match = _PROCESS.search(words[-1][-300:]) if words else None
    return (match[0] if match else device), place


def _cut_head(before: str, text: str) -> tuple[str | None, str | None] | None:
    """The place, where people left no more than that before a level word; None where this is prose."""
    rest = without_launcher(before[-_HEAD_COLUMNS:]).text.strip() if not before.endswith("`") else ""
    if _PLACE.fullmatch(rest):
        return None, rest
    return (None, None) if not rest and _BARE.match(text) else None


def _record(
    index: int,
    level: str,
    text: str,
    head: tuple[str | None, str | None],
    hosts: dict[int, str],
    launcher_rank: int | None,
) -> NcclLine:
    writer, place = head
    match = _PROCESS.fullmatch(writer or "")
    if match is None:
        process = writer or ""
        return NcclLine(index, level, text, process, None, None, process, place, launcher_rank)
    host, pid, tid = match[1], int(match[2]), match[3]
    known = hosts.setdefault(pid, host)
    if host != known and host.endswith(known):  # another program's text is glued to the front
        host = known
    process = f"{host}:{pid}"
    return NcclLine(index, level, text, process, host, pid, f"{process}:{tid}", place, launcher_rank)
