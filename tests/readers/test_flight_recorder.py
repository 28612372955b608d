"""Flight Recorder dumps as pickles: read as they are, and powerless whatever is in them."""

from __future__ import annotations

import io
import os
import pickle
import pickletools
import time
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from collectors.readers._plain_pickle import MOST_DEPTH, PickleRefusedError, plain_value
from collectors.readers.flight_dump import rank_of
from collectors.readers.flight_recorder import MAGIC, read_bytes
from kb.evidence import Looked, Observed, Unread
from kb.facts.collectives import FlightDump, FlightRecord


def entry(number: int, group: str, sequence: int, **more: Any) -> dict[str, Any]:
    return {
        "record_id": number,
        "pg_id": 0,
        "process_group": (group, "default_pg"),
        "collective_seq_id": sequence,
        "profiling_name": "nccl:all_reduce",
        "input_sizes": [[16]],
        "state": "scheduled",
        "is_p2p": False,
        **more,
    }


def dump(*entries: dict[str, Any]) -> dict[str, Any]:
    return {
        "version": "2.9",
        "nccl_version": "2.27.3",
        "pg_config": {"0": {"name": "0", "desc": "default_pg", "ranks": "[0, 1]"}},
        "pg_status": {"0": {"last_enqueued_collective": 9, "last_completed_collective": 6}},
        "entries": list(entries),
    }


def facts(content: bytes, path: str = "fr/_dump_1") -> list[Any]:
    return [reading.fact for reading in read_bytes(path, content, "ab12") if isinstance(reading, Observed)]


@pytest.mark.parametrize("protocol", [2, 3, 4, 5])
def test_a_dump_says_where_its_rank_stands(protocol: int) -> None:
    """The first collective that is not completed, from any protocol in which it may be written."""
    content = pickle.dumps(dump(entry(1, "0", 6, state="completed"), entry(2, "0", 7), entry(3, "0", 9)), protocol)

    record, whole = facts(content)

    assert record == FlightRecord(
        rank=1,
        group="0",
        group_description="default_pg",
        members="0, 1",
        sequence=7,
        operation="all_reduce",
        shape="[[16]]",
        state="scheduled",
        pending=2,
        last_sequence=9,
        last_completed=6,
    )
    assert whole == FlightDump(rank=1, version="2.9", nccl_version="2.27.3", entries=3, groups=1, pending=2)


def test_a_source_names_the_entry() -> None:
    """A pickle has no lines: the entry's number stands for one."""
    readings = list(read_bytes("_dump_0", pickle.dumps(dump(entry(1, "0", 6), entry(2, "1", 7)), 2), "ab12"))

    sources = [reading.source for reading in readings if isinstance(reading, Observed)]
    assert [(source.line, source.sha256) for source in sources] == [(1, "ab12"), (2, "ab12"), (1, "ab12")]
    assert sources[1].text == "group 1: all_reduce #7 [[16]] scheduled"
    assert [reading.kind for reading in readings if isinstance(reading, Looked)] == [
        "flight_record",
        "flight_dump",
    ]


@pytest.mark.parametrize(
    ("path", "rank"),
    [
        ("_dump_12", 12),
        ("job/nccl_trace_rank_3", 3),
        ("comm_lib_trace_rank_0", 0),
        ("fr_7.json", 7),
        ("dump.pickle", None),
        ("run_2026", None),
    ],
)
def test_the_rank_is_the_end_of_the_name(path: str, rank: int | None) -> None:
    """Only names of the kinds that torch and its users give count."""
    assert rank_of(path) == rank


class _Call:
    """Something that calls os.system when it is unpickled."""

    def __init__(self, path: str) -> None:
        self.path = path

    def __reduce__(self) -> tuple[Any, ...]:
        return os.system, (f"touch {self.path}",)


@pytest.mark.parametrize("protocol", [2, 3, 4, 5])
def test_nothing_in_a_pickle_is_executed(tmp_path: Any, protocol: int) -> None:
    """A name is refused by that name before anything could be called."""
    trace = tmp_path / "executed"
    content = pickle.dumps(dump(entry(1, "0", 1, frames=_Call(str(trace)))), protocol)

    (unread,) = read_bytes("_dump_0", content)

    assert isinstance(unread, Unread)
    assert "system" in unread.consequence
    assert not trace.exists()


HOSTILE = {
    "names a function": b"\x80\x02cos\nsystem\n.",
    "names a function from the stack": b"\x80\x04\x8c\x02os\x8c\x06system\x93.",
    "makes an object": b"\x80\x02(ios\nsystem\n.",
    "calls": b"\x80\x02]]R.",
    "fills an object": b"\x80\x02]}b.",
    "asks for a persistent id": b"\x80\x02]Q.",
    "asks for an extension": b"\x80\x02\x82\x01.",
    "asks for a buffer": b"\x80\x05\x97.",
    "is of protocol 0 inside": b"\x80\x02I42\n.",
    "claims a giant text": b"\x80\x04\x8d" + b"\xff" * 8,
    "claims a giant number": b"\x80\x02\x8b\xff\xff\xff\x7f",
    "remembers under a giant index": b"\x80\x02]r\xff\xff\xff\xff.",
    "recalls what it never remembered": b"\x80\x02h\x05.",
    "recalls a mark": b"\x80\x02(q\x00h\x00.",
    "ends without a value": b"\x80\x02.",
    "ends with a mark": b"\x80\x02(.",
    "takes from an empty stack": b"\x80\x02a.",
    "fills what is no list": b"\x80\x02}Na.",
    "fills what is no dict": b"\x80\x02]NNs.",
    "closes what is not open": b"\x80\x02t.",
    "has a key without a value": b"\x80\x02}(Nu.",
    "has a list as a key": b"\x80\x02}]Ns.",
    "is cut": b"\x80\x02}(X\x07\x00\x00\x00ver",
    "is cut in an argument": b"\x80\x02J\x00",
    "is empty": b"\x80\x02",
    "opens marks for ever": b"\x80\x02" + b"(" * 5000 + b".",
    "nests for ever": b"\x80\x02)" + b"\x85" * 5000 + b".",
}


@pytest.mark.parametrize("content", HOSTILE.values(), ids=HOSTILE.keys())
def test_a_hostile_pickle_is_told_and_nothing_else(content: bytes) -> None:
    """No exception, no fact, one statement on why it was not read; at once."""
    began = time.perf_counter()

    readings = list(read_bytes("_dump_0", content))

    assert time.perf_counter() - began < 0.5
    assert [type(reading) for reading in readings] == [Unread] or readings[0].consequence.endswith("dump")


def test_a_value_that_refers_to_itself_is_no_trap() -> None:
    """A list in itself, and one that doubles thirty times: neither is walked."""
    cycle: list[Any] = []
    cycle.append(cycle)
    doubled: list[Any] = ["x"]
    for _ in range(30):
        doubled = [doubled, doubled]
    content = pickle.dumps(dump(entry(1, "0", 1, input_sizes=cycle), entry(2, "0", 2, input_sizes=doubled)), 2)
    began = time.perf_counter()

    record, _whole = facts(content)

    assert record.shape is None
    assert time.perf_counter() - began < 0.5


def test_nesting_is_bounded_and_its_limit_is_named() -> None:
    """As deep as a dump may be, and no deeper."""
    deep: list[Any] = []
    for _ in range(MOST_DEPTH + 5):
        deep = [deep]
    with pytest.raises(PickleRefusedError, match="nested too deep"):
        plain_value(pickle.dumps(deep, 2))


def test_plain_values_come_out_as_they_went_in() -> None:
    """Everything that JSON has, and bytes, tuples and sets besides."""
    value = {
        "a": [1, -1, 255, 65_536, 2**40, -(2**70), 1.5, True, False, None],
        "b": ("x", b"y", "é", {1, 2}),
        "c": {"d": {}, 7: []},
        "e": (1,),
        "f": (1, 2, 3),
        "g": (),
    }
    for protocol in (2, 3, 4, 5):
        if protocol > 3:
            assert plain_value(pickle.dumps(value, protocol)) == value
    plain = {key: part for key, part in value.items() if key != "b"}
    assert plain_value(pickle.dumps(plain, 2)) == plain


def test_other_files_are_left_to_others() -> None:
    """What does not begin like a pickle gives nothing; a pickle of something else is told."""
    assert list(read_bytes("x", b"\x7fELF")) == []
    (unread,) = read_bytes("weights.pkl", pickle.dumps([1, 2, 3], 2))
    assert isinstance(unread, Unread)


@pytest.mark.parametrize(
    "broken",
    [
        {"version": "2.9", "entries": "x"},
        {"version": 2, "entries": [1, None, {"process_group": [1, 2]}, {"collective_seq_id": True}]},
        {"version": "2.9", "entries": [entry(1, "0", 1)], "pg_config": 7, "pg_status": []},
        {"version": "2.9", "entries": [entry(1, "0", 1)], "pg_config": {"0": {"ranks": "[" * 1000}}},
        {"version": "2.9", "entries": [entry(1, "0", 1, state=7, input_sizes=[["x"]], record_id=[])]},
    ],
)
def test_a_dump_with_strange_fields_gives_what_is_whole(broken: dict[str, Any]) -> None:
    """Nothing is taken for granted, and nothing raises."""
    readings = list(read_bytes("_dump_0", pickle.dumps(broken, 2)))

    assert readings
    assert all(isinstance(reading, Observed | Looked | Unread) for reading in readings)


def _mutated(content: bytes, at: int, byte: int, cut: int) -> bytes:
    where = 2 + at % (len(content) - 2)
    return (content[:where] + bytes([byte]) + content[where + 1 :])[: max(2, len(content) - cut % len(content))]


WHOLE = pickle.dumps(dump(entry(1, "0", 6), entry(2, "1", 7)), 2)


@settings(max_examples=600, deadline=None, derandomize=True)
@given(at=st.integers(0, 10_000), byte=st.integers(0, 255), cut=st.integers(0, 40))
def test_a_changed_byte_never_raises(at: int, byte: int, cut: int) -> None:
    """Each reading is a fact, a statement on what was looked for, or on what was not read."""
    for reading in read_bytes("_dump_0", _mutated(WHOLE, at, byte, cut)):
        assert isinstance(reading, Observed | Looked | Unread)


def test_every_known_operation_is_harmless() -> None:
    """The machine knows no operation of pickle's that names, calls or builds an object."""
    harmful = {
        "GLOBAL",
        "STACK_GLOBAL",
        "REDUCE",
        "BUILD",
        "INST",
        "OBJ",
        "NEWOBJ",
        "NEWOBJ_EX",
        "PERSID",
        "BINPERSID",
    }
    harmful |= {"EXT1", "EXT2", "EXT4"}
    for operation in pickletools.opcodes:
        if operation.name in harmful:
            content = b"\x80\x04" + b"]" * 3 + operation.code.encode("latin-1") + b"a\nb\n" + b"\0" * 8 + b"."
            with pytest.raises(PickleRefusedError, match=r"names|operation"):
                plain_value(content)
    assert all(content.startswith(b"\x80") for content in MAGIC)
    assert io.BytesIO(WHOLE).read(2) in MAGIC
