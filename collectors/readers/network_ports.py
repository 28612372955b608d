"""TCP ports on which processes listen, and the default route: ss, netstat, lsof, ip route, route -n.

    LISTEN 0      4096         0.0.0.0:29500      0.0.0.0:*    users:(("python3",pid=2914,fd=9))
    tcp        0      0 127.0.0.1:8000      0.0.0.0:*      LISTEN      2914/python3
    default via 10.0.64.1 dev eth0 proto dhcp src 10.0.70.9 metric 100

Follows iproute2, net-tools and lsof. Connections that are not listening, and lines that don't fit, give nothing.
"""

from __future__ import annotations

from collections.abc import Iterator

from collectors.readers._addresses import IPV4, is_loopback
from collectors.readers._lines import MOST_COLUMNS, command_of
from collectors.readers._regex import regex
from kb.evidence import Reader, Reading, Section
from kb.facts.network import DefaultRoute, ListeningPort

_LOCAL = r"(?P<address>\*|\[[0-9a-fA-F:.%\w]{2,60}\]|[0-9a-fA-F:.]{2,45}?(?:%\w{1,16})?):(?P<port>\d{1,5})"
_SS = regex(
    rf"(?:tcp\s{{1,8}})?LISTEN\s{{1,8}}\d{{1,9}}\s{{1,12}}\d{{1,9}}\s{{1,40}}{_LOCAL}\s{{1,40}}\S{{1,60}}"
    r"(?:\s{1,40}users:\(\(\"(?P<process>[^\"]{1,64})\",pid=(?P<pid>\d{1,10}))?"
)
_NETSTAT = regex(
    rf"tcp6?\s{{1,8}}\d{{1,9}}\s{{1,12}}\d{{1,9}}\s{{1,20}}{_LOCAL}\s{{1,40}}\S{{1,60}}\s{{1,20}}LISTEN"
    r"(?:\s{1,20}(?:\d{1,10}\s{1,12}\d{1,12}\s{1,12})?(?P<pid>\d{1,10})/(?P<process>\S{1,64}))?"
)
_LSOF = regex(
    r"(?P<process>[\w./+-]{1,32})\s{1,12}(?P<pid>\d{1,10})\s{1,8}\S{1,32}\s{1,8}\d{1,6}\w?\s{1,8}IPv[46]\s"
    rf".{{1,60}}TCP {_LOCAL} \(LISTEN\)"
)
_ROUTE = regex(
    rf"default via (?P<gateway>{IPV4}|[0-9a-f:]{{2,40}}) dev (?P<interface>[\w.-]{{1,30}})"
    r"(?:.{0,120}? metric (?P<metric>\d{1,9}))?"
)
_DIRECT = regex(r"default dev (?P<interface>[\w.-]{1,30})(?:.{0,120}? metric (?P<metric>\d{1,9}))?")
_OLD_ROUTE = regex(
    rf"(?:0\.0\.0\.0|default)\s{{1,20}}(?P<gateway>{IPV4})\s{{1,20}}0\.0\.0\.0\s{{1,20}}UG?\w?\s{{1,12}}"
    r"(?P<metric>\d{1,9})\s.{1,40}?\s(?P<interface>[\w.-]{1,30})\s*$"
)
_MOST_PORTS = 300
_HEADING = regex(r"(?:Netid\s{1,8})?State\s{1,8}Recv-Q|Proto Recv-Q|Active Internet connections")


def read(section: Section) -> Iterator[Reading]:
    """ListeningPort for each port and address, and the default routes."""
    ports: dict[tuple[int, str], None] = {}
    routes: set[DefaultRoute] = set()
    for index, whole in enumerate(section.lines):
        line = whole[:MOST_COLUMNS].strip()
        if "LISTEN" in line:
            fact = _port(line)
            if fact and (fact.port, fact.address) not in ports and len(ports) < _MOST_PORTS:
                ports[fact.port, fact.address] = None
                yield section.observe(fact, index)
        elif line.startswith(("default", "0.0.0.0")):  # noqa: S104 - the destination of a route
            route = _route(line)
            if route and route not in routes and len(routes) < 50:
                routes.add(route)
                yield section.observe(route, index)
    command = command_of(section)
    if ports or any(_HEADING.match(line[:200].lstrip()) for line in section.lines[:5]):
        whole_list = "|" not in command and " :" not in command and len(ports) < _MOST_PORTS
        yield section.looked(ListeningPort, complete=whole_list, reason="not-collected")
    shows_routes = command in {"ip route", "ip r", "ip route show"} and any(
        " dev " in line for line in section.lines
    )
    if routes or shows_routes:
        yield section.looked(DefaultRoute)


def _port(line: str) -> ListeningPort | None:
    match = _SS.match(line) or _NETSTAT.match(line) or _LSOF.match(line)
    if match is None or int(match["port"]) > 65_535:
        return None
    return ListeningPort(
        port=int(match["port"]),
        address=match["address"],
        loopback=is_loopback(match["address"].partition("%")[0]),
        process=match["process"],
        pid=int(match["pid"]) if match["pid"] else None,
    )


def _route(line: str) -> DefaultRoute | None:
    match = _ROUTE.match(line) or _OLD_ROUTE.match(line) or _DIRECT.match(line)
    if match is None:
        return None
    found = match.groupdict()
    return DefaultRoute(
        interface=match["interface"],
        gateway=found.get("gateway"),
        metric=int(found["metric"]) if found.get("metric") else None,
    )


READER = Reader(
    "network-ports",
    read,
    markers=("LISTEN", "default via ", "default dev ", "Kernel IP routing table"),
    commands=("ss ", "netstat", "lsof -i", "ip route", "ip r", "route -n"),
)
