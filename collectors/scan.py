"""Files → readings. Splits each file into sections and offers them to the readers whose markers occur in it.

Content decides which reader takes a section; a command line that is known to have printed it helps.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial

from collectors.beside import beside, cores
from collectors.boots import settled
from collectors.bug_report import is_bug_report, split
from collectors.content import Content
from collectors.index import known_readers
from collectors.json_logs import unwrapped
from collectors.offers import WORTH_A_SEARCH, offers, prepare
from collectors.open import File
from collectors.texts import UTF16, text_lines
from kb.evidence import Looked, Observed, Reader, Reading, Section, Unread

PROMPT = re.compile(
    r"""
    (?:\([\w.-]{1,40}\)\s)?                                   # a Python environment
    (?: \$\s
      | ~[\w./+-]{0,200}[$#]\s                                  # ~/dir$
      | ➜\s{1,2}\S{1,100}\s(?:git:\(\S{1,80}\)\s)?(?:✗\s)?       # oh-my-zsh
      | [\w.-]{1,64}@[\w.-]{1,64}(?![\w.-])[:\s]?[^\s$#]{0,200}\s?[$#]\s   # user@host:dir$
      | \[[\w.-]{1,64}@[\w.-]{1,64}\s[^\]]{0,200}\][$#]\s       # [user@host dir]#
      | (?:Singularity|Apptainer)(?:\s[^\s>]{1,100}:[^\s>]{0,200})?>\s
      | (?:ba|da)?sh-\d\.\d{1,2}[$#]\s                          # a shell without a prompt of its own
      | [a-z][a-z0-9.-]{1,40}[$\#]\s(?=(?:sudo\s)?(?:nvidia-smi|dmesg|cat|ls|lspci|lsmod|grep|ip|ibstat
                 |ibv_devinfo|ulimit|df|env|systemctl|journalctl|modprobe|docker|ping|nc|getent|python3?|pip|free
                 |uname)(?:\s|$))                                     # node-1$
      | \#\s(?=(?:nvidia-smi|dmesg|cat|ls|lspci|ldconfig|journalctl|dpkg|rpm|modinfo|readlink|docker|env|lsmod
                 |modprobe|dkms|uname|systemctl|ibstat|ibv_devinfo|kubectl|crictl|podman|dcgmi|fuser|nvcc)(?:\s|$))
    )
    (?P<command>\S.*)
    """,
    re.VERBOSE,
)
_FIRST = frozenset("$#[(SAbds~➜")
"""With what a prompt without the name of a user begins."""
COMMENT = re.compile(r"\s+#\s.*$")
"""What somebody noted behind a command."""
FENCE = re.compile(r"\s{0,3}(?:```|~~~)")
PICKLE = b"\x80"
"""How pickles of protocol 2 and later begin; no text does."""
WORTH_A_CHILD = 4 << 20
"""Bytes that take longer to read than a child takes to start."""
BINARY_SHARE = 0.05
SAMPLE_BYTES = 8192
MOST_OF_A_REPORT = 64 << 20
CONTROL = bytes({*range(1, 9), *range(14, 27), *range(28, 32)})
"""Bytes that no text holds, but for NUL, which separates the texts of some files of /proc."""


@dataclass(frozen=True, slots=True)
class FileReading:
    """What became of one file: who read it, and what nobody understood."""

    path: str
    bytes: int
    readers: tuple[str, ...]
    facts: int
    unread_bytes: int
    """The size of the sections that no reader takes."""
    why_unread: str
    lines: int = 0
    """How many lines it has; 0 where nobody counted them."""
    quoted: int = 0
    """How many of them some fact stands on: of a section that a reader takes it may have understood few."""


def read_file(file: File, *, among: int = 0, more: Sequence[Reader] = ()) -> tuple[FileReading, list[Reading]]:
    """The readings of one file and the account of it. Never raises for bad content.

    `among`: how many bytes are read in all, of which those of the file are some. `more`: readers beside those
    that are known.
    """
    size = file.content.size
    if not file.content.is_held and not _is_divided(file.content):
        return _read_large(file, more)
    content = file.content.data
    empty = not content.strip()
    if empty and file.command is None:
        return FileReading(file.path, size, (), 0, 0, "empty"), []
    if content.startswith(PICKLE):
        return _read_binary(file)
    if is_binary(content):
        why = "binary: no reader takes it"
        return FileReading(file.path, size, (), 0, size, why), [Unread(file.path, "unreadable", why)]
    readings: list[Reading] = []
    taken: dict[str, None] = {}
    unread = lines = 0
    for section in sections(replace(file, content=Content(content))):
        found = dict(read_section(section, at_once=max(size, among) > WORTH_A_SEARCH, more=more))
        for name, of_reader in found.items():
            taken[name] = None
            readings += [_weakened(one) for one in of_reader] if file.truncated else of_reader
        lines += len(section.lines)
        if not found:
            unread += sum(len(line) + 1 for line in section.lines)
    unread = min(unread, size)
    facts = sum(isinstance(reading, Observed) for reading in readings)
    why = "no reader knows this text" if unread else "empty" if empty and not taken else ""
    return FileReading(file.path, size, tuple(taken), facts, unread, why, lines, _quoted(readings)), readings


def _quoted(readings: Iterable[Reading]) -> int:
    """How many lines some fact stands on."""
    spans = {(one.source.line, one.source.end_line) for one in readings if isinstance(one, Observed)}
    return len({line for first, last in spans for line in range(first, last + 1)})


def _read_binary(file: File) -> tuple[FileReading, list[Reading]]:
    """A pickle: a dump of PyTorch's flight recorder, or refused."""
    from collectors.readers.flight_recorder import BINARY_READER

    content = file.content.data
    readings = list(BINARY_READER.read(file.path, content, hashlib.sha256(content).hexdigest()))
    facts = sum(isinstance(reading, Observed) for reading in readings)
    why = "" if facts else next((one.consequence for one in readings if isinstance(one, Unread)), "no dump")
    unread = 0 if facts else len(content)
    return FileReading(file.path, len(content), (BINARY_READER.name,), facts, unread, why), readings


def _read_large(file: File, more: Sequence[Reader]) -> tuple[FileReading, list[Reading]]:
    """A file of many bytes: readers get the lines that they want, and nothing else of it is ever held."""
    from collectors.large import marked_sections

    size = file.content.size
    if is_binary(file.content.head(SAMPLE_BYTES)):
        why = "binary: no reader takes it"
        return FileReading(file.path, size, (), 0, size, why), [Unread(file.path, "unreadable", why)]
    readings: list[Reading] = []
    taken: list[str] = []
    for reader, section in marked_sections(file.path, file.content, (*known_readers(), *more)):
        found = _read_safely(reader, section)
        if found:
            taken.append(reader.name)
            readings += [_weakened(one) for one in found] if file.truncated else found
    facts = sum(isinstance(reading, Observed) for reading in readings)
    unread = 0 if taken else size
    why = "" if taken else "no reader knows this text"
    return FileReading(file.path, size, tuple(taken), facts, unread, why), readings


def _is_divided(content: Content) -> bool:
    """Whether it is a report of many short sections, which are worth more than single lines of it."""
    return content.size <= MOST_OF_A_REPORT and is_bug_report(text_lines(content.head(SAMPLE_BYTES)))


def _weakened(reading: Reading) -> Reading:
    """A file that was cut, or a command that failed, can't have shown everything."""
    if isinstance(reading, Looked) and reading.complete:
        return replace(reading, complete=False, reason="truncated")
    return reading


def read_section(
    section: Section, *, at_once: bool = False, more: Sequence[Reader] = ()
) -> Iterator[tuple[str, list[Reading]]]:
    """Each reader that takes the section, with what it read there; `at_once` is for sections of much text."""
    offered, readers = offers(section, at_once=at_once)
    for reader in (*readers, *(one for one in more if offered.has(*one.markers))):
        found = _read_safely(reader, offered)
        if found:
            yield reader.name, found


def _read_safely(reader: Reader, section: Section) -> list[Reading]:
    """What the reader says. A defect of one reader must not take the words of all others with it."""
    try:
        return list(reader.read(section))
    except Exception as error:  # noqa: BLE001
        why = f"the reader {reader.name} failed on it ({type(error).__name__}: {error}); please report it"
        return [Unread(section.path, "unreadable", " ".join(why.split()))]


def is_binary(content: bytes) -> bool:
    """Whether the content is no text: many control bytes in its first part. NUL-separated text is text."""
    sample = content[:SAMPLE_BYTES]
    if sample.startswith(UTF16):
        sample = sample.decode("utf-16", errors="replace").encode()
    control = len(sample) - len(sample.translate(None, CONTROL))
    return control > BINARY_SHARE * len(sample) or sample.count(0) > len(sample) // 4


def sections(file: File) -> Iterator[Section]:
    """The stretches of a file, in order: what precedes the first command, then the output of each command."""
    content = file.content.data
    lines = text_lines(content)
    sha256 = hashlib.sha256(content).hexdigest()
    logged = unwrapped(lines) if lines and lines[0].startswith('{"') else None
    if logged is not None:
        yield Section(file.path, logged[0], 1, file.command, sha256, logged[1])
        return
    parts = list(split(lines)) if file.command is None else []
    if parts:
        for part in parts:
            yield Section(file.path, lines[part.first : part.end], part.first + 1, part.command, sha256)
        return
    start, command = 0, file.command
    for end, next_start, next_command in _borders(lines) if file.command is None else ():
        if end > start or command:
            yield Section(file.path, lines[start:end], start + 1, command, sha256)
        start, command = next_start, next_command
    if start < len(lines) or command:
        yield Section(file.path, lines[start:], start + 1, command, sha256)


def _borders(lines: Iterable[str]) -> Iterator[tuple[int, int, str | None]]:
    """Where a section ends, where the next begins, and the command that printed the next."""
    fenced = in_command = False
    for index, line in enumerate(lines):
        match = PROMPT.match(line[:1000]) if line[:1] in _FIRST or "@" in line[:200] else None
        if match:
            in_command = True
            yield index, index + 1, COMMENT.sub("", match["command"]).strip()
        elif FENCE.match(line):
            if fenced and in_command:  # what follows a closed code block is prose again
                in_command = False
                yield index, index + 1, None
            fenced = not fenced


def read_all(files: Sequence[File], more: Sequence[Reader] = ()) -> tuple[list[FileReading], list[Reading]]:
    """The accounts and the readings of all files, in their order; on two cores where there is much to read.

    `more`: readers beside those that are known.
    """
    here, there = _shares(files)
    if there:
        prepare()  # once, before the child is forked
    rest = beside(partial(_read_each, files, there, more)) if there else dict
    done = {**_read_each(files, here, more), **rest()}
    accounts = [done[place][0] for place in range(len(files))]
    return accounts, settled([reading for place in range(len(files)) for reading in done[place][1]])


def _read_each(
    files: Sequence[File], places: Sequence[int], more: Sequence[Reader]
) -> dict[int, tuple[FileReading, list[Reading]]]:
    held = sum(files[place].content.size for place in places if files[place].content.is_held)
    return {place: read_file(files[place], among=held, more=more) for place in places}


def _shares(files: Sequence[File]) -> tuple[list[int], list[int]]:
    """Which files are read here, and which in a child. Large ones are read here: each uses all cores by itself."""
    held = [place for place, file in enumerate(files) if file.content.is_held]
    if cores() < 2 or sum(files[place].content.size for place in held) < WORTH_A_CHILD:
        return list(range(len(files))), []
    shares: tuple[list[int], list[int]] = ([], [])
    sizes = [0, 0]
    for place in sorted(held, key=lambda place: -files[place].content.size):
        lighter = sizes.index(min(sizes))
        shares[lighter].append(place)
        sizes[lighter] += files[place].content.size
    large = [place for place, file in enumerate(files) if not file.content.is_held]
    return [*shares[0], *large], shares[1]
