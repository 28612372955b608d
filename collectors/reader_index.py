"""The readers without their code: importing all of them costs more than reading a small bundle.

`index.json` beside the readers holds what each wants (markers, commands), written by
`python -m collectors.reader_index`. It serves only as long as every module has the size that it had then; where
one differs, the modules are imported as they are. A test keeps it current.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from functools import cache
from importlib import import_module
from pathlib import Path
from typing import Any, cast

from kb.evidence import Reader, Reading, Section

FOLDER = Path(__file__).parent / "readers"
INDEX = FOLDER / "index.json"


@cache
def known_readers() -> tuple[Reader, ...]:
    """All readers, in the order of their module names; the code of each is imported when it is first used."""
    try:
        index = json.loads(INDEX.read_text(encoding="utf-8"))
        current = index["sizes"] == sizes()
    except (OSError, ValueError, KeyError, TypeError):
        current = False
    if not current:
        from collectors.readers import readers

        return readers()
    return tuple(_reader(entry) for entry in index["readers"])


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
        reader = cast("Reader", import_module(f"collectors.readers.{module}").READER)
        return reader.read(section)

    return read


def sizes() -> dict[str, int]:
    """The size of each module of the readers, in bytes."""
    return {path.name: path.stat().st_size for path in sorted(FOLDER.glob("*.py"))}


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
    return json.dumps({"sizes": sizes(), "readers": entries}, indent=1, ensure_ascii=True) + "\n"


if __name__ == "__main__":
    INDEX.write_text(index_text(), encoding="utf-8")
