"""PyTorch's Flight Recorder dumps, one file a rank: pickles, and the same as JSON.

    {"version": "2.9", "pg_config": {"0": {"name": "0", "desc": "default_pg", "ranks": "[0, 1]"}},
    "entries": [{"record_id": 86708, "pg_id": 14, "process_group": ["91", "TP"], "collective_seq_id": 3434,
    "profiling_name": "nccl:_all_gather_base", "state": "scheduled", "input_sizes": [[16]], "is_p2p": false}]}

Follows PyTorch 2.3 to 2.14 (TORCH_NCCL_DEBUG_INFO_TEMP_FILE, TORCH_FR_DUMP_TEMP_FILE; torchfrtrace). A dump holds
no rank: it is the number at the end of the file's name. A pickle is read by a machine that can build plain values
alone; one that asks for anything else is refused by what it names. A cut file gives nothing but that it is cut.
"""

from __future__ import annotations

import json
from collections.abc import Iterator

from collectors.readers._plain_pickle import PickleRefusedError, plain_value
from collectors.readers._regex import regex
from collectors.readers.flight_dump import facts_of, is_dump, rank_of
from kb.evidence import BinaryReader, Looked, Observed, Reader, Reading, Section, Source, Unread
from kb.facts.collectives import FlightDump, FlightRecord

NAME = "flight-recorder"
MAGIC = (b"\x80\x02", b"\x80\x03", b"\x80\x04", b"\x80\x05")
"""How pickles begin; not all of them are dumps."""
MOST_CHARACTERS = 64 << 20

_RECORD_ID = regex(r'"record_id": ?(\d{1,15})')


def read_bytes(path: str, content: bytes, sha256: str = "") -> Iterator[Reading]:
    """The facts of a pickled dump. A source's line is the number of the entry, since a pickle has no lines.

    Nothing for bytes that do not begin like a pickle; Unread for a pickle that is no dump, or is refused.
    """
    if not content.startswith(MAGIC):
        return
    try:
        dump = plain_value(content)
    except PickleRefusedError as error:
        yield Unread(
            path, "truncated" if str(error) == "it is cut" else "unreadable", f"a pickle, not read: {error}"
        )
        return
    if not is_dump(dump):
        yield Unread(path, "unreadable", "a pickle of something else than a Flight Recorder dump")
        return
    for placed in facts_of(dump, rank_of(path)):
        yield Observed(placed.fact, Source(path, placed.entry, placed.entry, placed.text, sha256))
    for fact_type in (FlightRecord, FlightDump):
        yield Looked(fact_type.kind, complete=True, where=path)


def read(section: Section) -> Iterator[Reading]:
    """The facts of a dump in JSON, from the line of the entry, or the first line where all stands in one."""
    first = next((index for index, line in enumerate(section.lines) if line.lstrip()[:1] == "{"), None)
    if first is None:
        return
    text = "\n".join(section.lines[first:])
    try:
        dump = json.JSONDecoder().raw_decode(text.lstrip())[0] if len(text) <= MOST_CHARACTERS else None
    except (ValueError, RecursionError):
        yield Unread(section.path, "unreadable", "a Flight Recorder dump in JSON that is cut or faulty")
        return
    if dump is None or not is_dump(dump):
        return
    lines: dict[int, int] = {}
    for index, line in enumerate(section.lines):
        for match in _RECORD_ID.finditer(line) if len(line) < 1000 else ():
            lines.setdefault(int(match[1]), index)
    for placed in facts_of(dump, rank_of(section.path)):
        index = lines.get(placed.record_id, first) if placed.record_id is not None else first
        yield section.observe(placed.fact, index)
    for fact_type in (FlightRecord, FlightDump):
        yield section.looked(fact_type)


READER = Reader(NAME, read, markers=('"collective_seq_id"',), context=(100_000, 100_000))
BINARY_READER = BinaryReader(NAME, MAGIC, read_bytes)
