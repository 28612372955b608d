"""What names resolve to: /etc/hosts, getent, nslookup, dig, host, and names that programs could not resolve.

    127.0.1.1   node-a
    ** server can't find node-b: NXDOMAIN
    socket.gaierror: [Errno -2] Name or service not known

Follows hosts(5), getent(1), BIND's tools, CPython, PyTorch's c10d. The names of loopback itself (localhost, ip6-*)
tell nothing; a sentence that mentions a name gives nothing.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Literal, TypeAlias

from collectors.readers._addresses import IPV4, is_loopback
from collectors.readers._lines import MOST_COLUMNS, command_of
from collectors.readers._regex import regex
from collectors.readers.launcher_prefixes import without_launcher, without_stamp
from kb.evidence import Observed, Reader, Reading, Section
from kb.facts.network import NameResolution

_Source: TypeAlias = Literal["hosts", "getent", "dns", "ping", "program"]

_HOST_NAME = r"[A-Za-z0-9](?:[\w.-]{0,250}[A-Za-z0-9])?"
_HOSTS = regex(
    rf"(?P<address>{IPV4}|[0-9a-f]{{0,4}}:[0-9a-f:.]{{1,40}})\s{{1,60}}"
    rf"(?P<names>{_HOST_NAME}(?:\s{{1,60}}{_HOST_NAME}){{0,12}})\s*(?:#.{{0,200}})?$"
)
_ADDRESS_ONLY = regex(rf"(?P<address>{IPV4})(?:\s{{1,20}}(?:STREAM|RAW|DGRAM).{{0,100}})?\s*$")
_OF_LOOPBACK = frozenset(("localhost", "localhost.localdomain", "localhost4", "localhost6", "loopback"))
_SPECIAL = regex(
    r"localhost\d?\.localdomain\d?$|ip6-|broadcasthost$|host\.docker\.internal$|gateway\.docker|kubernetes\.docker"
)
_OWN = regex(r"getent (?:ahosts(?:v4)?|hosts) [\"']?\$\(hostname\)")
_GETENT = regex(rf"getent (?:ahosts(?:v4)?|hosts) (?P<name>{_HOST_NAME})\s*$")
_NOT_KNOWN = "Name or service not known|Temporary failure in name resolution|No address associated with hostname"
_NAMED = rf"(?P<name>{_HOST_NAME})"
_PROGRAMS: tuple[tuple[str, _Source, str], ...] = (
    ("not-found", "dns", rf"\*\* server can't find {_NAMED}: (?:NXDOMAIN|SERVFAIL)"),
    ("not-found", "dns", rf"Host {_NAMED} not found: "),
    ("server-failed", "dns", r";; connection timed out; no servers could be reached"),
    ("not-found", "ping", rf"ping: unknown host {_NAMED}"),
    ("not-found", "ping", rf"ping: {_NAMED}: (?:{_NOT_KNOWN})"),
    ("not-found", "program", rf"curl: \(6\) Could not resolve host: {_NAMED}"),
    ("not-found", "program", rf"ssh: Could not resolve hostname {_NAMED}: "),
    ("not-found", "program", rf"(?:\[c10d\] )?The IPv4 network addresses of \({_NAMED}, \d{{1,5}}\) cannot be"),
    ("not-found", "program", r"(?:E {1,8})?(?:socket\.)?gaierror: \[Errno -[23]\] "),
    ("not-found", "program", rf".{{0,80}}getaddrinfo\({_NAMED}[^)]{{0,40}}\).{{0,20}}(?:{_NOT_KNOWN}|failed)"),
)
_ANSWER = regex(rf"(?:Address(?: 1)?:\s{{1,8}}|{_HOST_NAME} has address )(?P<address>{IPV4})\s*$")
_ASKED_DNS = regex(rf"(?:nslookup|dig(?: \+short)?|host) (?P<name>{_HOST_NAME})\s*$")
_MOST_NAMES = 100


def read(section: Section) -> Iterator[Reading]:
    """NameResolution for each name and source, loopback ones first to be kept."""
    seen: set[tuple[str, str | None, str]] = set()
    found = [*_answers(section), *_table(section), *_failures(section)]
    for observed in sorted(found, key=lambda one: not getattr(one.fact, "loopback", False))[:_MOST_NAMES]:
        fact = observed.fact
        if isinstance(fact, NameResolution) and (fact.name, fact.address, fact.source) not in seen:
            seen.add((fact.name, fact.address, fact.source))
            yield observed
    if found or command_of(section) == "cat /etc/hosts":
        yield section.looked(NameResolution, complete=False, reason="not-collected")


def _fact(name: str, address: str, source: _Source, *, own: bool | None = None) -> NameResolution:
    return NameResolution(name=name[:200], address=address, loopback=is_loopback(address), own=own, source=source)


def _table(section: Section) -> Iterator[Observed]:
    """Lines of /etc/hosts, where the section is one or says so."""
    command = command_of(section)
    is_table = (
        "/etc/hosts" in command
        or section.path.endswith("hosts")
        or any(line.startswith(("127.0.0.1", "::1")) and "localhost" in line for line in section.lines)
    )
    if not is_table:
        return
    for index, line in enumerate(section.lines):
        match = _HOSTS.match(line[:MOST_COLUMNS].strip())
        names = match["names"].split() if match else []
        name = next((name for name in names if name not in _OF_LOOPBACK and not _SPECIAL.match(name)), None)
        if match and name:
            yield section.observe(_fact(name, match["address"], "hosts"), index)


def _answers(section: Section) -> Iterator[Observed]:
    """What getent and the tools of DNS answered to the command of the section."""
    command = command_of(section)
    asked, dns = _GETENT.search(command), _ASKED_DNS.match(command)
    if _OWN.search(command):
        yield from _of_own_name(section, command)
    elif asked:
        for index, line in enumerate(section.lines[:20]):
            match = _HOSTS.match(line[:300].strip()) or _ADDRESS_ONLY.match(line[:300].strip())
            if match:
                yield section.observe(_fact(asked["name"], match["address"], "getent"), index)
                return
    elif dns:
        after_name = False
        for index, line in enumerate(section.lines[:40]):
            after_name = after_name or line.startswith(("Name:", dns["name"])) or "+short" in command
            match = _ANSWER.match(line[:300].strip()) or (
                _ADDRESS_ONLY.match(line.strip()[:60]) if after_name else None
            )
            if match and after_name:
                yield section.observe(_fact(dns["name"], match["address"], "dns"), index)
                return


def _of_own_name(section: Section, command: str) -> Iterator[Observed]:
    """`hostname; getent hosts $(hostname)`: the first line may be the name itself."""
    name: str | None = None
    for index, line in enumerate(section.lines[:10]):
        text = line[:300].strip()
        match = _HOSTS.match(text) or _ADDRESS_ONLY.match(text)
        if match:
            found = match.groupdict().get("names") or ""
            yield section.observe(
                _fact(name or found.split(" ")[0] or "(own)", match["address"], "getent", own=True), index
            )
            return
        if name is None and "hostname;" in command and text and " " not in text:
            name = text


def _failures(section: Section) -> Iterator[Observed]:
    for index, line in section.matching(*_FAILURE_MARKERS):
        text = without_stamp(without_launcher(line[:MOST_COLUMNS]).text).text.strip()
        for problem, source, form in _FORMS:
            match = form.match(text)
            if match:
                name = match.groupdict().get("name") or "(not named)"
                fact = NameResolution.model_validate({"name": name[:200], "problem": problem, "source": source})
                yield section.observe(fact, index)
                break


_FORMS = tuple((problem, source, regex(form)) for problem, source, form in _PROGRAMS)
_FAILURE_MARKERS = (
    *("server can't find", "not found: ", "no servers could be reached", "ping: ", "ould not resolve host"),
    *("cannot be retrieved", "gaierror: ", "getaddrinfo("),
)

READER = Reader(
    "name-resolution",
    read,
    markers=(*_FAILURE_MARKERS, "localhost", "127.0.1.1"),
    commands=("getent ", "hostname; getent ", "cat /etc/hosts", "nslookup ", "dig ", "host ", "kubectl exec"),
    lines=_FAILURE_MARKERS,
)
