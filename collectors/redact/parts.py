"""Parts of files, of whole lines each, that several processes learn from and rewrite at once."""

from __future__ import annotations

import codecs
import os
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TypeVar

from collectors.beside import beside, cores
from collectors.redact.names import Names
from collectors.redact.text import Redactor

UTF16 = (codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)
_BLOCK_BYTES = 1024 * 1024
_PART_BYTES = 4 * 1024 * 1024
_WORTH_A_CHILD = 2 * 1024 * 1024
"""Bytes that take longer to look through than a child takes to start."""
_MOST_CORES = 8

_T = TypeVar("_T")


@dataclass(frozen=True)
class Part:
    """A part of a file: from one byte to another."""

    path: Path
    begin: int
    end: int

    @property
    def written(self) -> Path:
        """Where it is put when it is rewritten."""
        return self.path.with_name(f"{self.path.name}.redacting-{self.begin}")


def parts_of(paths: Sequence[Path]) -> list[Part]:
    """The parts of the files, those of each in their order. A file in UTF-16 is one part."""
    return [part for path in paths for part in _parts(path)]


def learn(parts: Sequence[Part]) -> Names:
    """The names that stand in these parts."""
    names = Names()
    for part in parts:
        for block in _blocks(part):
            names.learn(block, part.path.as_posix())
    return names


def rewrite(redactor: Redactor, parts: Sequence[Part]) -> dict[str, int]:
    """Writes each of these parts without names beside its file; how many were replaced. Raises OSError."""
    own = Redactor(redactor.key, redactor.names)
    for part in parts:
        descriptor = os.open(part.written, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
        with os.fdopen(descriptor, "wb") as file:
            for block in _blocks(part):
                file.write(own.redact(block).encode("utf-8", "surrogateescape"))
    return own.counts


def on_all_cores(work: Callable[[Sequence[Part]], _T], parts: Sequence[Part]) -> list[_T]:
    """What the work makes of all parts, shared among as many processes as there are cores."""
    size = sum(part.end - part.begin for part in parts)
    number = min(cores(), _MOST_CORES) if size >= _WORTH_A_CHILD else 1
    shares: list[list[Part]] = [[] for _ in range(number)]
    sizes = [0] * number
    for part in sorted(parts, key=lambda part: part.begin - part.end):
        lightest = sizes.index(min(sizes))
        shares[lightest].append(part)
        sizes[lightest] += part.end - part.begin
    waiting = [beside(partial(work, share)) for share in shares[1:]]
    return [work(shares[0]), *(result() for result in waiting)]


def _parts(path: Path) -> Iterator[Part]:
    size = path.stat().st_size
    with path.open("rb") as file:
        if file.read(2) in UTF16:
            yield Part(path, 0, size)
            return
        begin = 0
        while begin < size - _PART_BYTES:
            file.seek(begin + _PART_BYTES)
            file.readline(_BLOCK_BYTES)
            yield Part(path, begin, file.tell())
            begin = file.tell()
    if begin < size or not size:
        yield Part(path, begin, size)


def _blocks(part: Part) -> Iterator[str]:
    """The text in pieces of whole lines."""
    with part.path.open("rb") as file:
        if file.read(2) in UTF16:
            file.seek(0)
            yield file.read().decode("utf-16", "replace")
            return
        file.seek(part.begin)
        while file.tell() < part.end:
            block = file.read(min(_BLOCK_BYTES, part.end - file.tell()))
            if file.tell() < part.end:
                block += file.readline(min(_BLOCK_BYTES, part.end - file.tell()))
            if not block:  # it has become shorter
                return
            yield block.decode("utf-8", "surrogateescape")
