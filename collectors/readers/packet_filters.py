"""What the packet filter of a machine dropped, and whether ufw or firewalld is at work.

    [812240.118402] [UFW BLOCK] IN=ens4 OUT= MAC=… SRC=10.0.0.2 DST=10.0.0.1 … PROTO=TCP SPT=36124 DPT=49857 …
    kernel: FINAL_REJECT: IN=bond0 OUT= MAC=… SRC=10.0.0.2 DST=10.0.0.1 LEN=60 … PROTO=TCP SPT=36124 DPT=29500 …
    Status: active

Follows the LOG target of netfilter (Linux 2.6 to 6.14) with the prefixes of ufw, firewalld (LogDenied), Calico and
Shorewall, or any that says that the packet is dropped; `ufw status` and `firewall-cmd --state`. Lines on packets
that were let through (UFW ALLOW, UFW AUDIT) give nothing, nor do prefixes that don't say what became of it.
"""

from __future__ import annotations

from collections.abc import Iterator

from collectors.readers._lines import command_of
from collectors.readers._regex import regex
from collectors.readers._tally import Tallies
from kb.evidence import Reader, Reading, Section
from kb.facts.firewall import PacketDropped
from kb.facts.services import Service

_LINE = regex(
    r".{0,200}?(?P<rule>\[?[A-Za-z][\w .:/-]{0,60}?[\]:_ -]{0,3}) ?"
    r"IN=(?P<interface>[\w.@-]{0,20}) OUT=\S{0,20} .{0,200}?"
    r"SRC=(?P<source>[0-9a-fA-F.:]{3,45}) DST=(?P<destination>[0-9a-fA-F.:]{3,45}) .{0,200}?"
    r"PROTO=(?P<protocol>\w{2,10})"
    r"(?: SPT=\d{1,5} DPT=(?P<port>\d{1,5}))?"
)
_DROPS = regex(r"(?i).{0,60}(?:block|drop|den(?:y|ied)|reject)")
_PASSES = regex(r"(?i).{0,60}(?:allow|accept|audit|limit)")
_UFW = regex(r"Status: (?P<state>active|inactive)\s*$")
_FIREWALLD = regex(r"(?P<not>not )?running\s*$")
_MOST = 500


def read(section: Section) -> Iterator[Reading]:
    """PacketDropped for each source, destination and port; Service of the filter that was asked for."""
    found: Tallies[tuple[str, str, int | None, str, str | None, str]] = Tallies()
    for index, whole in section.matching(" DST="):
        match = _LINE.match(whole[:1500])
        if match is None:
            continue
        rule = match["rule"].strip("[]: _-")
        if _DROPS.match(rule) is None or _PASSES.match(rule):
            continue
        port = int(match["port"]) if match["port"] else None
        told = (match["source"], match["destination"], port, match["protocol"], match["interface"] or None, rule)
        found.add(told, index, "")
    for (source, destination, port, protocol, interface, rule), tally in list(found)[:_MOST]:
        fact = PacketDropped(
            source=source,
            destination=destination,
            port=port,
            protocol=protocol,
            interface=interface,
            rule=rule.rpartition(": ")[2][-40:],
            count=tally.count,
        )
        yield section.observe(fact, tally.index)
    yield from _states(section)


def _states(section: Section) -> Iterator[Reading]:
    command = command_of(section)
    name, form = ("ufw", _UFW) if "ufw status" in command else ("firewalld", _FIREWALLD)
    if name == "firewalld" and "firewall-cmd --state" not in command:
        return
    for index, line in enumerate(section.lines[:5]):
        if (match := form.match(line)) is not None:
            said = match.groupdict()
            active = said.get("state") or ("inactive" if said.get("not") else "active")
            yield section.observe(Service(name=name, active="active" if active == "active" else "inactive"), index)
            return


READER = Reader("packet-filters", read, markers=(" DST=",), commands=("ufw status", "firewall-cmd --state"))
