"""Outcomes of tests of connections: ping, nc, telnet, curl.

    4 packets transmitted, 0 received, 100% packet loss, time 3069ms
    nc: connect to 10.0.0.5 port 29500 (tcp) failed: Connection refused
    curl: (28) Failed to connect to 10.0.0.5 port 8000 after 130432 ms: Couldn't connect to server

Follows iputils, OpenBSD's nc, Ncat, inetutils and curl. A test that was cut before its end gives nothing.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Literal, TypeAlias

from collectors.readers._lines import MOST_COLUMNS
from collectors.readers._regex import regex
from kb.evidence import Observed, Reader, Reading, Section
from kb.facts.network import ConnectionTest

_Result: TypeAlias = Literal["ok", "refused", "timeout", "unreachable", "no-name", "partial"]
_Tool: TypeAlias = Literal["ping", "nc", "telnet", "curl", "other"]

_PING = regex(
    r"PING (?P<target>[\w.:-]{1,253}) ?\([\w.:%-]{2,60}\).{0,60}? "
    r"(?P<size>\d{1,6})(?:\(\d{1,6}\))? (?:data )?bytes"
)
_SUMMARY = regex(
    r"(?P<sent>\d{1,9}) packets transmitted, (?P<received>\d{1,9})(?: packets)? received,"
    r"(?: \+\d{1,9} (?:errors|duplicates),){0,2} (?P<loss>\d{1,3})(?:\.\d{1,9})?% packet loss"
)
_TIMES = regex(r"(?:rtt|round-trip) min/avg/max(?:/mdev|/stddev)? = [\d.]{1,12}/(?P<mean>[\d.]{1,12})/")
_UNREACHABLE = regex(
    r"ping: (?:connect|sendmsg): (?:Network is unreachable|No route to host)|connect: Network is unreachable"
)
_ANSWERS = "open|Connection .{7,9}|No route"
_TARGET = r"(?P<target>[\w.:-]{1,253})"
_PORT = r"(?P<port>\d{1,5})"
_IN_BRACKETS = r"(?: [(\[][\w.:]{2,60}[)\]])?"
_FORMS: tuple[tuple[_Tool, str], ...] = (
    (
        "nc",
        rf"(?:nc|netcat): connect to {_TARGET}{_IN_BRACKETS} port {_PORT} \(\w{{3,5}}\) (?P<says>[ft].*)",
    ),
    ("nc", rf"Connection to {_TARGET}{_IN_BRACKETS} {_PORT} port \[\S{{1,40}}\] (?P<says>succeeded)!"),
    ("nc", rf"Ncat: Connected to {_TARGET}:{_PORT}\.(?P<says>)"),
    (
        "nc",
        rf"(?:\(UNKNOWN\) \[)?{_TARGET}\]?{_IN_BRACKETS} {_PORT} \([\w?-]{{1,30}}\) ?(?:: )?(?P<says>{_ANSWERS})",
    ),
    (
        "telnet",
        rf"telnet: (?:Unable to connect to remote host|connect to address {_TARGET}): (?P<says>.{{5,60}})",
    ),
    ("curl", rf"curl: \(\d{{1,2}}\) (?:Failed to )?connect to {_TARGET} port {_PORT}(?P<says>.{{1,160}})"),
)
_BY_FORM = tuple((tool, regex(form)) for tool, form in _FORMS)
_RESULTS: tuple[tuple[str, _Result], ...] = (
    ("succeeded", "ok"),
    ("open", "ok"),
    ("refused", "refused"),
    ("timed out", "timeout"),
    ("timeout", "timeout"),
    ("no route", "unreachable"),
    ("unreachable", "unreachable"),
    ("not known", "no-name"),
    ("couldn't connect", "timeout"),
)
_MOST_TESTS = 100


def read(section: Section) -> Iterator[Reading]:
    """ConnectionTest for each test that came to an end."""
    found = [*_pings(section), *_others(section)][:_MOST_TESTS]
    yield from found
    if found:
        yield section.looked(ConnectionTest, complete=False, reason="not-collected")


def _pings(section: Section) -> Iterator[Observed]:
    target: str | None = None
    size: int | None = None
    for index, whole in enumerate(section.lines):
        line = whole[:MOST_COLUMNS].strip()
        begun = _PING.match(line) if line.startswith("PING ") else None
        if begun:
            target, size = begun["target"], int(begun["size"])
        elif "packets transmitted" in line and (summary := _SUMMARY.match(line)) and target:
            following = section.lines[index + 1][:200] if index + 1 < len(section.lines) else ""
            times = _TIMES.match(following.strip())
            loss = int(summary["loss"])
            fact = ConnectionTest(
                tool="ping",
                target=target,
                result="ok" if loss == 0 else "timeout" if loss >= 100 else "partial",
                loss_percent=loss,
                rtt_ms=float(times["mean"]) if times and times["mean"].count(".") <= 1 else None,
                size=size,
            )
            yield section.observe(fact, index, index + 1 if times else index)
            target = None
        elif _UNREACHABLE.match(line):
            yield section.observe(
                ConnectionTest(tool="ping", target=target or "(not named)", result="unreachable"), index
            )


def _others(section: Section) -> Iterator[Observed]:
    for index, line in section.matching(*_MARKERS):
        text = line[:MOST_COLUMNS].strip()
        for tool, form in _BY_FORM:
            match = form.match(text)
            if match is None:
                continue
            found = match.groupdict()
            says = (found["says"] or "succeeded").lower()
            result = next((result for words, result in _RESULTS if words in says), None)
            port = found.get("port")
            if result:
                target = found.get("target") or "(not named)"
                fact = ConnectionTest(tool=tool, target=target, port=int(port) if port else None, result=result)
                yield section.observe(fact, index)
            break


_MARKERS = (
    "nc: connect to",
    "netcat: connect",
    "Connection to ",
    "Ncat: ",
    "telnet: ",
    "curl: (",
    ") open",
    "?) : ",
)

READER = Reader(
    "connection-tests",
    read,
    markers=("packets transmitted", "ping: ", "Network is unreachable", *_MARKERS),
)
