"""Which sources are taken, and what that means for the machine: `--only`, `--skip` and `--dry-run`."""

from __future__ import annotations

import difflib
import os
from fnmatch import fnmatchcase
from typing import TYPE_CHECKING

from collectors.live.source import Command, File, Files, Listing, Processes, PythonStacks, Source
from collectors.live.steps import filled

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence


class UnknownSourceError(ValueError):
    """A name that is none of the sources'. The message names the nearest."""


def chosen(sources: Sequence[Source], only: Sequence[str] = (), skip: Sequence[str] = ()) -> tuple[Source, ...]:
    """The sources that `only` names, or all, without those that `skip` names; in the order of the table.

    Each text holds names divided by commas; `*` and `?` stand for any letters. Raises UnknownSourceError where a
    name fits no source.
    """
    wanted, unwanted = (_names(sources, texts) for texts in (only, skip))
    kept = wanted if only else {source.name for source in sources}
    return tuple(source for source in sources if source.name in kept - unwanted)


def plan(sources: Sequence[Source]) -> Iterator[str]:
    """What would be read and run, a line for each source in the order in which they would be taken."""
    width = max((len(source.name) for source in sources), default=0)
    for source in sources:
        verb, what = _does(source)
        yield f"{source.name:<{width}}  {verb}  {what}{_condition(source)}"


def _names(sources: Sequence[Source], texts: Sequence[str]) -> set[str]:
    """The names of the sources that are meant."""
    meant: set[str] = set()
    for pattern in (part.strip() for text in texts for part in text.split(",")):
        found = {source.name for source in sources if fnmatchcase(source.name, pattern)}
        if pattern and not found:
            raise UnknownSourceError(_unknown(pattern, [source.name for source in sources]))
        meant |= found
    return meant


def _unknown(name: str, known: Sequence[str]) -> str:
    near = difflib.get_close_matches(name, known, 1, 0.4)
    hint = f"the nearest is {near[0]}" if near else "none is near it"
    return f"no source is called {name}; {hint}; --dry-run lists them all"


def _does(source: Source) -> tuple[str, str]:
    """What the source does, as a verb and its object."""
    how = source.how
    if isinstance(how, Command):
        return "runs ", f"{' '.join(how.argv)}  (at most {source.deadline_s:g} s)"
    if isinstance(how, File):
        return "reads", how.path
    if isinstance(how, Files):
        return "reads", " ".join(filled(how.patterns, os.environ)) or "nothing here"
    if isinstance(how, Listing):
        return "reads", f"what this shows: {how.like}"
    if isinstance(how, Processes):
        return "reads", f"/proc of {_which(how.pids)}"
    if isinstance(how, PythonStacks):
        return "runs ", f"py-spy dump on {_which(how.pids)}, where py-spy is there"
    named = " ".join(how.paths) or f"the Python of {_which(how.pids)}, or else python3"
    return "runs ", f"a script that lists what is installed: {named}"


def _which(pids: Sequence[int]) -> str:
    return f"process {', '.join(map(str, pids))}" if pids else "each process that holds a GPU"


def _condition(source: Source) -> str:
    return f"  unless whole: {', '.join(source.unless)}" if source.unless else ""
