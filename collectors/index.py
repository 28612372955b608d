"""Readers and combiners without their code: importing all of them costs more than reading a small bundle.

`index.json` holds what each wants (markers and commands, kinds of facts), written by `python -m collectors.index`.
It serves only as long as every module has the size that it had then; where one differs, the modules are imported
as they are. A test keeps it current.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from functools import cache
from importlib import import_module
from pathlib import Path
from typing import Any

from collectors.combiners import Facts
from kb.evidence import Reader, Reading, Section

FOLDER = Path(__file__).parent
INDEX = FOLDER / "index.json"
ROOMS = ("readers", "combiners")


@dataclass(frozen=True, slots=True)
class Combiner:
    """A combiner, and the kinds of facts without any of which it has nothing to do."""

    name: str
    kinds: frozenset[str]

    def combine(self, facts: Facts) -> Iterable[Reading]:
        """What it makes of the facts."""
        found: Iterable[Reading] = import_module(f"collectors.combiners.{self.name}").combine(facts)
        return found


@cache
def known_readers() -> tuple[Reader, ...]:
    """All readers, in the order of their module names; the code of each is imported when it is first used."""
    index = _index()
    if index is None:
        from collectors.readers import readers

        return readers()
    return tuple(_reader(entry) for entry in index["readers"])


@cache
def known_combiners() -> tuple[Combiner, ...]:
    """All combiners, in the order of their names."""
    index = _index()
    if index is None:
        return tuple(_combiners())
    return tuple(Combiner(name, frozenset(kinds)) for name, kinds in index["combiners"].items())


@cache
def _index() -> dict[str, Any] | None:
    try:
        index: dict[str, Any] = json.loads(INDEX.read_text(encoding="utf-8"))
        return index if index["sizes"] == sizes() else None
    except (OSError, ValueError, KeyError, TypeError):
        return None


def _reader(entry: dict[str, Any]) -> Reader:
    return Reader(
        name=entry["name"],
        read=_late(entry["module"]),
        markers=tuple(entry["markers"]),
        commands=tuple(entry["commands"]),
        lines=tuple(entry["lines"]),
        context=(entry["context"][0], entry["context"][1]),
    )


def _late(module: str) -> Callable[[Section], Iterator[Reading]]:
    def read(section: Section) -> Iterator[Reading]:
        reader: Reader = import_module(f"collectors.readers.{module}").READER
        return reader.read(section)

    return read


def _combiners() -> Iterator[Combiner]:
    from kb.facts import Fact

    for path in sorted((FOLDER / "combiners").glob("*.py")):
        if not path.stem.startswith("_"):
            names = vars(import_module(f"collectors.combiners.{path.stem}")).values()
            kinds = {one.kind for one in names if isinstance(one, type) and issubclass(one, Fact) and one.kind}
            yield Combiner(path.stem, frozenset(kinds))


def sizes() -> dict[str, int]:
    """The size of each module of readers and combiners, in bytes."""
    paths = (path for room in ROOMS for path in sorted((FOLDER / room).glob("*.py")))
    return {path.relative_to(FOLDER).as_posix(): path.stat().st_size for path in paths}


def index_text() -> str:
    """What `index.json` must hold, from the modules as they are."""
    from collectors.readers import module_of, readers

    entries = [
        {
            "module": module_of(reader),
            "name": reader.name,
            "markers": reader.markers,
            "commands": reader.commands,
            "lines": reader.lines,
            "context": reader.context,
        }
        for reader in readers()
    ]
    combiners = {one.name: sorted(one.kinds) for one in _combiners()}
    index = {"sizes": sizes(), "readers": entries, "combiners": combiners}
    return json.dumps(index, indent=1, ensure_ascii=True) + "\n"


if __name__ == "__main__":
    from kb import facts

    INDEX.write_text(index_text(), encoding="utf-8")
    facts.INDEX.write_text(facts.index_text(), encoding="utf-8")
