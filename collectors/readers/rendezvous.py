"""Processes that could not meet: torch's store and rendezvous, Gloo's mesh, barriers that name who is missing.

    torch.distributed.DistNetworkError: The client socket has timed out after 60000ms while trying to connect to (10.0.0.5, 29500).
    torch.distributed.DistStoreError: Timed out after 1801 seconds waiting for clients. 1/2 clients joined.
    RuntimeError: Gloo connectFullMesh failed with [../gloo/transport/tcp/pair.cc:152] timed out connecting: SO_ERROR: Connection refused, remote=[127.0.0.1]:40117

Follows PyTorch 1.8 to 2.14 (c10d/TCPStore.cpp, socket.cpp, ProcessGroupGloo.cpp, distributed/elastic) and Gloo's
TCP transport. A message counts where it is a record or ends an exception; in a sentence it does not. That an IPv6
address family is not supported is no fault and gives nothing. Where a terminal has broken Gloo's message after a comma,
the next line is read with it.
"""  # noqa: E501 - lines of the log as they are

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from collectors.readers._regex import regex
from collectors.readers._tally import Tallies
from collectors.readers.launcher_prefixes import after_progress, without_launcher, without_stamp
from collectors.readers.rendezvous_forms import MARKERS, meeting_of
from collectors.readers.run_start import START_MARKERS, shows_start
from kb.evidence import Observed, Reader, Reading, Section
from kb.facts import Fact
from kb.facts.collectives import GlooMesh, NameUnresolved, RendezvousFailure

MOST_MESHES = 64
EXIT_BARRIER_LINES = 60
"""Within which the traceback of an exit barrier ends in the store's own time-out."""

_LEAD = regex(
    r"(?:\s{0,8}what\(\): {1,4}|(?:[A-Za-z_][\w.]{0,100})?(?:Error|Exception): |\[c10d\] |ERROR:[\w.]{1,100}:"
    r"|Exception: [\w ]{1,60} failed: |Warning: |(?:\[[^\]\s]{0,80}(?: [^\]]{0,80})?\] ?: ?)|\[Rank \d{1,7}\] )*"
)
_TYPES: tuple[type[Fact], ...] = (RendezvousFailure, NameUnresolved, GlooMesh)


def read(section: Section) -> Iterator[Reading]:
    """One fact for each different failure, with how often it was told; Gloo's meshes by rank where incomplete."""
    found: Tallies[tuple[type[Fact], tuple[tuple[str, Any], ...]]] = Tallies()
    meshes: dict[GlooMesh, int] = {}
    exit_barrier = -EXIT_BARRIER_LINES
    for index, whole in section.matching(*MARKERS):
        line = _with_torn_end(section, index, after_progress(whole)[:4000])
        text = without_stamp(without_launcher(line).text).text
        lead = _LEAD.match(text)
        meeting = meeting_of(text[lead.end() :] if lead is not None else text)
        if meeting is None:
            continue
        fact_type, fields = meeting
        if fact_type is GlooMesh:
            fact = GlooMesh.model_validate(fields)
            if fact.expected and (len(meshes) < MOST_MESHES or not fact.complete):
                meshes.setdefault(fact, index)
            continue
        if fields.get("stage") == "exit-barrier":
            exit_barrier = section.number(index)
        elif fields.get("stage") == "store-key" and section.number(index) - exit_barrier < EXIT_BARRIER_LINES:
            continue
        found.add((fact_type, tuple(sorted(fields.items()))), index)
    yield from _facts(section, found, meshes)
    whole_run = shows_start(section)
    told = {fact_type for (fact_type, _), _ in found} | ({GlooMesh} if meshes else set())
    for fact_type in _TYPES:
        if whole_run or fact_type in told:
            yield section.looked(fact_type, complete=whole_run)


def _with_torn_end(section: Section, index: int, line: str) -> str:
    """The line with the next one, where that holds the address at which a message of Gloo's ends."""
    following = index + 1
    if "connectFullMesh failed" not in line or not line.endswith(",") or following >= len(section.lines):
        return line
    rest = section.lines[following][:200].strip()
    return f"{line} {rest}" if rest.startswith("remote=") else line


def _facts(
    section: Section,
    found: Tallies[tuple[type[Fact], tuple[tuple[str, Any], ...]]],
    meshes: dict[GlooMesh, int],
) -> Iterator[Observed]:
    unresolved = {dict(fields).get("name") for (fact_type, fields), _ in found if fact_type is NameUnresolved}
    for (fact_type, told), tally in found:
        fields = dict(told) | {"count": tally.count}
        if fields.get("stage") == "connect" and fields["reason"] == "other" and fields.get("host") in unresolved:
            fields["reason"] = "name-unresolved"
        fact = fact_type.model_validate(fields)
        yield section.observe(fact, tally.index)
    for mesh, index in meshes.items():
        yield section.observe(mesh, index)


READER = Reader("rendezvous", read, markers=(*MARKERS, *START_MARKERS))
