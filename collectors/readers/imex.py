r"""The IMEX domain that nvidia-imex-ctl shows, and what the IMEX daemon reports as wrong.

    Node #11  - 192.0.2.19         - UNAVAILABLE          - Version:                 - Hostname: node12
     Nodes From\To  0   1              then a row for each node:   1        N   C
    [Mar 03 2025 17:26:19] [ERROR] [tid 38] NvGpu Library version 570.124.06 is not matching with current GPU …

Follows nvidia-imex 560 to 610 (`-N`, `-N -H`, `-N -j`, `/var/log/nvidia-imex.log`, the journal of its unit). The
connectivity of fewer nodes than there are, and lines of other programs, give nothing.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal, TypeAlias

from collectors.readers._json_text import json_of, line_with
from collectors.readers._lines import MOST_COLUMNS, VERSION, is_lead
from collectors.readers._regex import regex
from kb.evidence import Reader, Reading, Section
from kb.facts.fabric import ImexDomain, ImexProblem

_Problem: TypeAlias = Literal["version-mismatch", "connection", "configuration", "other"]

_NODE = regex(
    r"\s{0,8}Node #(?P<number>\d{1,4})\s{1,8}- (?P<host>\S{1,255})\s{1,60}- (?P<state>[A-Z_]{3,40})"
    rf"(?:\s{{1,60}}- Version:\s{{0,60}}(?P<version>{VERSION})?)?"
)
_ROW = regex(r"\s{1,12}\d{1,4}((?:\s{1,12}(?:[A-Z]|!V!|!M!)){1,2000})\s*$")
_STATE = regex(r"\s{0,8}Domain State: (?P<state>[A-Z_]{2,40})\b")
_ERROR = regex(
    r"\[[A-Z][a-z]{2} [ \d]?\d \d{4} [\d:]{8}\] \[(?:ERROR|CRITICAL)\] \[tid \d{1,10}\] (?P<text>\S.{4,400})"
)
_TIME = regex(r"\[(?P<time>[A-Z][a-z]{2} [ \d]?\d \d{4} \d\d:\d\d:\d\d)\]")
_BEGUN = regex(rf"\[tid \d{{1,10}}\] IMEX version (?P<version>{VERSION}) is running with")
_PART = regex(r"\||\b(?:grep|tail|head|-n|--lines|--since|-g|-b -[1-9])\b")
_PROGRAM = regex(r"nvidia-imex(?:\[\d{1,10}\])?: (?:\[[^\]]{5,40}\] )?$")
_OF_IMEX = regex(r"\bIMEX\b|nvidia-imex", re.IGNORECASE)
# What an error of its log is about, in lower case; the first that occurs counts.
_WORDS: tuple[tuple[str, _Problem], ...] = (
    ("not matching", "version-mismatch"),
    ("version mismatch", "version-mismatch"),
    ("node map", "configuration"),
    ("config", "configuration"),
    ("bind ip", "configuration"),
    ("resolve", "configuration"),
    ("connect", "connection"),
    ("timed out", "connection"),
    ("timeout", "connection"),
    ("unreachable", "connection"),
    ("quorum", "connection"),
)
_STATES: dict[str, Literal["up", "degraded", "down", "other"]] = {
    "UP": "up",
    "DEGRADED": "degraded",
    "DOWN": "down",
}
_COMMAND = "nvidia-imex-ctl"
_MOST_PROBLEMS = 64
_MOST_TEXT = 300


@dataclass
class _Lines:
    """Errors of one kind."""

    fact: ImexProblem
    line: int


def read(section: Section) -> Iterator[Reading]:
    """One ImexDomain where a status is shown, and ImexProblem for each kind of error."""
    yield from _domain(section)
    yield from _json_domain(section)
    yield from _problems(section)


def _domain(section: Section) -> Iterator[Reading]:
    """The status as text."""
    nodes: list[re.Match[str]] = []
    cells: Counter[str] = Counter()
    state, first, last = None, -1, -1
    for index, line in enumerate(section.lines):
        node, row, shown = _NODE.match(line[:MOST_COLUMNS]), _ROW.match(line[:MOST_COLUMNS]), _STATE.match(line)
        if node:
            if any(node["number"] == known["number"] for known in nodes):  # `-n` shows all again and again
                nodes, state, first = [], None, -1
                cells.clear()
            nodes.append(node)
            first = index if first < 0 else first
        elif row and nodes:
            cells.update(row[1].split())
        elif shown and nodes:
            state = shown["state"]
        elif line.strip():
            continue
        last = index if line.strip() else last
    if nodes and state is None and last == len(section.lines) - 1 and not cells:
        nodes, last = nodes[:-1], last - 1  # the line may be cut in the middle of the word
    if nodes:
        shown_nodes = [(node["number"], node["state"], node["version"]) for node in nodes]
        broken = cells.total() - cells["C"]
        mismatch = "version" if cells["!V!"] else "node-map" if cells["!M!"] else None
        fact = _fact(state, shown_nodes, broken)
        yield section.observe(fact.model_copy(update={"mismatch": mismatch}), first, last)
        yield section.looked(ImexDomain, complete=state is not None)


def _json_domain(section: Section) -> Iterator[Reading]:
    """The status as JSON."""
    wanted = all(any(key in line for line in section.lines) for key in ('"nodes"', '"connections"'))
    value = json_of(section) if wanted else None
    nodes = value.get("nodes") if isinstance(value, dict) else None
    if not isinstance(value, dict) or not isinstance(nodes, dict):
        return
    shown: list[tuple[str, str, str | None]] = []
    links: list[object] = []
    for number, node in nodes.items():
        if isinstance(node, dict) and isinstance(node.get("connections"), dict):
            version = node.get("version")
            shown.append((number[:8], str(node.get("status"))[:40], version if isinstance(version, str) else None))
            pairs = (pair.get("status") for pair in node["connections"].values() if isinstance(pair, dict))
            links += pairs
    if shown:
        broken = sum(link != "CONNECTED" for link in links)
        fact = _fact(str(value.get("status"))[:40], shown, broken)
        yield section.observe(fact, line_with(section, '"nodes"'))
        yield section.looked(ImexDomain)


def _fact(state: str | None, nodes: list[tuple[str, str, str | None]], broken: int) -> ImexDomain:
    others = ", ".join(f"{number} {shown}" for number, shown, _ in nodes if shown != "READY")
    versions = {version for *_, version in nodes if version}
    return ImexDomain(
        state=_STATES.get(state, "other") if state else None,
        nodes=len(nodes),
        ready=sum(shown == "READY" for _, shown, _ in nodes),
        not_ready=others[:_MOST_TEXT] or None,
        versions=len(versions) or None,
        broken_pairs=broken,
    )


def _problems(section: Section) -> Iterator[Reading]:
    """Errors of the daemon's log."""
    version = None
    found: dict[tuple[str, str | None], _Lines] = {}
    is_of_it = _is_of_it(section)
    for index, whole in section.matching("[ERROR] [tid", "[CRITICAL] [tid", "IMEX version "):
        line = whole[:MOST_COLUMNS]
        begun, error = _BEGUN.search(line), _ERROR.search(line)
        if begun:
            version = begun["version"]
        elif error and is_of_it and "nv-fabricmanager" not in line and _is_own(line[: error.start()]):
            _note(found, error["text"].strip()[:_MOST_TEXT], line, index)
    for one in found.values():
        yield section.observe(one.fact.model_copy(update={"version": version}), one.line)
    if found or version:
        yield section.looked(ImexProblem, complete=_PART.search(section.command or "") is None)


def _note(found: dict[tuple[str, str | None], _Lines], text: str, line: str, index: int) -> None:
    other: _Problem = "other"
    problem = next((name for words, name in _WORDS if words in text.lower()), other)
    time = _TIME.search(line[:120])
    at = time["time"] if time else None
    key = (problem, text if problem == "other" else None)
    known = found.get(key)
    if known is not None:
        known.fact = known.fact.model_copy(update={"count": known.fact.count + 1, "last": at or known.fact.last})
    elif len(found) < _MOST_PROBLEMS:
        found[key] = _Lines(ImexProblem(problem=problem, text=text, first=at, last=at), index)


def _is_of_it(section: Section) -> bool:
    if _OF_IMEX.search(f"{section.path} {section.command or ''}"[:MOST_COLUMNS]):
        return True
    return any(_BEGUN.search(line[:MOST_COLUMNS]) or "nvidia-imex[" in line[:200] for line in section.lines)


def _is_own(lead: str) -> bool:
    """Whether a message with this before it is a line of the daemon's log or of the journal."""
    return is_lead(lead) or _PROGRAM.search(lead[-80:]) is not None


READER = Reader(
    "imex",
    read,
    markers=("Node #", '"connections"', "IMEX version ", "[ERROR] [tid", "[CRITICAL] [tid"),
    commands=(_COMMAND, "journalctl -u nvidia-imex"),
    lines=("IMEX version ", "nvidia-imex["),
)
