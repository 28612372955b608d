"""Pickles of plain values, read without the power to do anything: no name is looked up, nothing is called.

Only operations that build None, booleans, numbers, text, bytes, lists, tuples, dicts and sets are known; any
other, first of all one that names a class or a function, ends the reading and is named. Sizes, numbers of
operations and nesting are bounded. Operations of protocols 2 to 5 (Lib/pickletools.py of CPython) are known, text
ones refused. What comes out may refer to itself: whoever uses it must not walk it without bounds. No reader.
"""

from __future__ import annotations

import struct
from collections.abc import Callable
from typing import Any

MOST_BYTES = 64 << 20
MOST_OPERATIONS = 3_000_000
MOST_MEMO = 2_000_000
MOST_DEPTH = 100
MOST_LONG_BYTES = 32

_MARK = object()
_Key = str | int | float | bytes | bool | None
_NAMED = {
    0x81: "NEWOBJ",
    0x82: "EXT1",
    0x83: "EXT2",
    0x84: "EXT4",
    0x92: "NEWOBJ_EX",
    0x97: "NEXT_BUFFER",
    0x98: "READONLY_BUFFER",
    ord("R"): "REDUCE",
    ord("b"): "BUILD",
    ord("o"): "OBJ",
    ord("P"): "PERSID",
    ord("Q"): "BINPERSID",
}


class PickleRefusedError(ValueError):
    """The bytes are no pickle of plain values; the message says what in them is not."""


class _Machine:
    """The stack machine of pickle, without the operations that can do harm."""

    def __init__(self, content: bytes) -> None:
        self._content = content
        self._at = 0
        self._stack: list[Any] = []
        self._memo: dict[int, Any] = {}
        self._depths: dict[int, int] = {}
        self._marks = 0

    def run(self) -> Any:
        """The value; raises PickleRefusedError."""
        operations = _operations(self)
        for _ in range(MOST_OPERATIONS):
            code = self._take(1)[0]
            if code == 0x2E:  # STOP
                if len(self._stack) != 1 or self._stack[0] is _MARK:
                    raise PickleRefusedError("it ends with other than one value")
                return self._stack[0]
            operation = operations.get(code)
            if operation is None:
                raise PickleRefusedError(self._refusal(code))
            operation()
        raise PickleRefusedError(f"it has more than {MOST_OPERATIONS} operations")

    def _refusal(self, code: int) -> str:
        if code in {ord("c"), ord("i")}:
            name = self._content[self._at : self._at + 200].split(b"\n")[:2]
            return f"it names {b'.'.join(name).decode('utf-8', 'replace')!r}"
        if code == 0x93:
            names = [item for item in self._stack[-2:] if isinstance(item, str)]
            return f"it names {'.'.join(names)[:200]!r}"
        return f"it holds the operation {_NAMED.get(code, hex(code))}"

    def _take(self, count: int) -> bytes:
        end = self._at + count
        if count < 0 or end > len(self._content):
            raise PickleRefusedError("it is cut")
        part = self._content[self._at : end]
        self._at = end
        return part

    def number(self, form: str) -> Any:
        """The argument of this struct form."""
        return struct.unpack(form, self._take(struct.calcsize(form)))[0]

    def push(self, value: Any) -> None:
        """Puts a value on the stack."""
        self._stack.append(value)

    def pop(self) -> Any:
        """Takes the last value from the stack."""
        if not self._stack or self._stack[-1] is _MARK:
            raise PickleRefusedError("it takes a value where there is none")
        return self._stack.pop()

    def top(self, kind: type[Any]) -> Any:
        """The last value on the stack, which must be of this type."""
        if not self._stack or not isinstance(self._stack[-1], kind):
            raise PickleRefusedError(f"it fills what is no {kind.__name__}")
        return self._stack[-1]

    def mark(self) -> None:
        """Opens a group of values."""
        self._marks += 1
        if self._marks > MOST_DEPTH:
            raise PickleRefusedError("it is nested too deep")
        self._stack.append(_MARK)

    def since_mark(self) -> list[Any]:
        """The values since the last mark, which is taken away with them."""
        values: list[Any] = []
        while self._stack:
            value = self._stack.pop()
            if value is _MARK:
                self._marks -= 1
                return values[::-1]
            values.append(value)
        raise PickleRefusedError("it closes a group that was not opened")

    def long(self, length: int) -> None:
        """Puts an integer of so many bytes on the stack."""
        if length > MOST_LONG_BYTES:
            raise PickleRefusedError("it holds a number that is too long")
        self.push(int.from_bytes(self._take(length), "little", signed=True))

    def text(self, form: str) -> None:
        """Puts text on the stack, whose length comes first."""
        self.push(self._take(self.number(form)).decode("utf-8", "replace"))

    def binary(self, form: str) -> None:
        """Puts bytes on the stack, whose length comes first."""
        self.push(self._take(self.number(form)))

    def put(self, index: int) -> None:
        """Remembers the last value under a number."""
        if len(self._memo) >= MOST_MEMO:
            raise PickleRefusedError("it remembers too many values")
        if not self._stack:
            raise PickleRefusedError("it remembers a value where there is none")
        self._memo[index] = self._stack[-1]

    def memoize(self) -> None:
        """Remembers the last value under the next number."""
        self.put(len(self._memo))

    def get(self, index: int) -> None:
        """Puts a remembered value on the stack."""
        if index not in self._memo or self._memo[index] is _MARK:
            raise PickleRefusedError("it recalls a value that it never remembered")
        self.push(self._memo[index])

    def made(self, value: Any, parts: list[Any]) -> Any:
        """The container, whose nesting is held against the limit. One of plain values alone is not noted down."""
        deepest = max((self._depth(part) for part in parts), default=0)
        if deepest:
            depth = self._depths[id(value)] = max(self._depths.get(id(value), 0), deepest + 1)
            if depth > MOST_DEPTH:
                raise PickleRefusedError("it is nested too deep")
        return value

    def _depth(self, value: Any) -> int:
        return self._depths.get(id(value), 1) if isinstance(value, list | tuple | dict) else 0

    def tuple_of(self, count: int) -> None:
        """Makes a tuple of the last values."""
        parts = [self.pop() for _ in range(count)][::-1]
        self.push(self.made(tuple(parts), parts))

    def marked_tuple(self) -> None:
        """Makes a tuple of a group."""
        parts = self.since_mark()
        self.push(self.made(tuple(parts), parts))

    def extend(self, parts: list[Any]) -> None:
        """Adds values to the list that is last on the stack."""
        target = self.top(list)
        target.extend(parts)
        self.made(target, parts)

    def fill(self, parts: list[Any]) -> None:
        """Adds keys and values to the dict that is last on the stack."""
        target = self.top(dict)
        if len(parts) % 2:
            raise PickleRefusedError("it gives a key without a value")
        for key, value in zip(parts[::2], parts[1::2], strict=True):
            target[_plain(key)] = value
        self.made(target, parts)

    def add(self, parts: list[Any]) -> None:
        """Adds values to the set that is last on the stack."""
        self.top(set).update(_plain(part) for part in parts)


def _plain(key: Any) -> _Key:
    """A key of a dict or an item of a set: hashing a deep tuple would overflow the stack of C."""
    if key is None or isinstance(key, str | int | float | bytes):
        return key
    raise PickleRefusedError(f"it uses a {type(key).__name__} as a key")


def _operations(machine: _Machine) -> dict[int, Callable[[], object]]:
    """What each byte does."""
    m = machine
    letters: dict[str, Callable[[], object]] = {
        "(": m.mark,
        "0": m.pop,
        "1": m.since_mark,
        "N": lambda: m.push(None),
        "J": lambda: m.push(m.number("<i")),
        "K": lambda: m.push(m.number("<B")),
        "M": lambda: m.push(m.number("<H")),
        "G": lambda: m.push(m.number(">d")),
        "X": lambda: m.text("<I"),
        "T": lambda: m.text("<I"),
        "U": lambda: m.text("<B"),
        "B": lambda: m.binary("<I"),
        "C": lambda: m.binary("<B"),
        "]": lambda: m.push(m.made([], [])),
        "}": lambda: m.push(m.made({}, [])),
        ")": lambda: m.push(()),
        "t": m.marked_tuple,
        "a": lambda: m.extend([m.pop()]),
        "e": lambda: m.extend(m.since_mark()),
        "s": lambda: m.fill([m.pop(), m.pop()][::-1]),
        "u": lambda: m.fill(m.since_mark()),
        "q": lambda: m.put(m.number("<B")),
        "r": lambda: m.put(m.number("<I")),
        "h": lambda: m.get(m.number("<B")),
        "j": lambda: m.get(m.number("<I")),
    }
    numbers: dict[int, Callable[[], object]] = {
        0x80: lambda: m.number("<B"),  # PROTO
        0x85: lambda: m.tuple_of(1),
        0x86: lambda: m.tuple_of(2),
        0x87: lambda: m.tuple_of(3),
        0x88: lambda: m.push(True),
        0x89: lambda: m.push(False),
        0x8A: lambda: m.long(m.number("<B")),
        0x8B: lambda: m.long(m.number("<i")),
        0x8C: lambda: m.text("<B"),
        0x8D: lambda: m.text("<Q"),
        0x8E: lambda: m.binary("<Q"),
        0x8F: lambda: m.push(set()),
        0x90: lambda: m.add(m.since_mark()),
        0x94: m.memoize,
        0x95: lambda: m.number("<Q"),  # FRAME
        0x96: lambda: m.binary("<Q"),
    }
    return {ord(letter): operation for letter, operation in letters.items()} | numbers


def plain_value(content: bytes) -> Any:
    """The value that a pickle of plain values holds; raises PickleRefusedError for anything else."""
    if len(content) > MOST_BYTES:
        raise PickleRefusedError(f"it is larger than {MOST_BYTES >> 20} MiB")
    return _Machine(content).run()
