"""Where the names of hosts and users, serials and the like stand in evidence: expressions for single lines.

Each has one of the groups `host`, `user`, `domain`, `serial`, `id` or `hosts` (a list such as `gpu[01-04],login`),
several of which may stand in one line.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from typing import NamedTuple

_MONTHS = "jan |feb |mar |apr |may |jun |jul |aug |sep |oct |nov |dec "
HOST = r"[A-Za-z0-9](?:[A-Za-z0-9_.-]{0,251}[A-Za-z0-9])?"
USER = r"[A-Za-z_][A-Za-z0-9_.-]{0,30}[A-Za-z0-9_$]"
_PROCESS = r"[\w./@()-]{1,64}(?:\[\d{1,10}\])?:"
_CLOCK = r"\d\d:\d\d:\d\d(?:[.,]\d{1,9})?"


class Form(NamedTuple):
    """One way in which names stand in a line: texts one of which it holds, in lower case, and an expression."""

    hints: tuple[str, ...]
    pattern: re.Pattern[str]


def _form(hints: str, pattern: str, flags: int = 0) -> Form:
    """A form, its hints divided by bars."""
    return Form(tuple(hints.split("|")), re.compile(pattern, flags))


def _labelled(hints: str, labels: str) -> Form:
    """A host after one of these labels and a colon or an equals sign, quoted or not."""
    pattern = rf"""(?:{labels})\\?["']?\s{{0,12}}[:=]\s{{0,4}}\\?["']?(?:\w{{1,9}}://)?(?P<host>{HOST})"""
    return _form(hints, pattern, re.IGNORECASE)


def places(text: str, forms: Iterable[Form]) -> Iterator[tuple[int, re.Match[str]]]:
    """Where names stand in the text: where the line begins, and the match in it. Other lines are passed over."""
    lower = text.lower()
    if len(lower) != len(text):  # a letter that is longer in lower case
        lower = text
    for form in forms:
        seen = set()
        for hint in form.hints:
            at = lower.find(hint)
            while at >= 0:
                begin, end = lower.rfind("\n", 0, at) + 1, lower.find("\n", at)
                end = len(lower) if end < 0 else end
                if begin not in seen:
                    seen.add(begin)
                    for match in form.pattern.finditer(text[begin:end]):
                        yield begin, match
                at = lower.find(hint, end)


SURE = (
    # A log of the system: `Mar  9 12:02:11 a17 kernel: …`, `2026-03-09T12:02:11.5+00:00 a17 kernel: …`.
    _form(_MONTHS, rf"(?:^|[\s\"|>])[A-Z][a-z]{{2}} [ \d]\d (?:\d{{4}} )?{_CLOCK} (?P<host>{HOST}) {_PROCESS}"),
    _form(
        " kernel: |]: ",
        rf"(?:^|[\s\"|>])\d{{4}}-\d\d-\d\d[T ]{_CLOCK}(?:Z|[+-]\d\d:?\d\d)? (?P<host>{HOST})"
        r" (?:kernel:|[\w./@()-]{1,64}\[\d{1,10}\]:)",
    ),
    # NCCL, UCX, Open MPI.
    _form("nccl|.cc:|] ucx|] init", rf"(?:^|[\s\"|>\]])(?P<host>{HOST}):\d{{1,10}}:\d{{1,10}}(?::\d+)? \["),
    _form("linux ", rf"(?:^|[\s\"|>])Linux (?!version )(?P<host>{HOST}) \d{{1,2}}\.\d{{1,3}}\."),
    _labelled(
        "hostname|host_name|host name|nodename|node_name|node name|master_|master-|rdzv|dist_init|dist-init"
        "|head_node|head-node|init_method",
        r"\bhost_?names?|\bhost ?name|\bnode_?name|\bnode name|master_addr\w*|master[_-]?(?:ip|host)?"
        r"|rdzv[_-]endpoint|dist[_-]init[_-]addr|head[_-]node\w*|HOSTNAME|SLURMD_NODENAME|nodename|init_method"
        r"|kubernetes\.io/hostname",
    ),
    _form(
        "--rdzv|--master|--dist|--nccl|--head|--node",
        r"--(?:rdzv[_-]endpoint|master[_-]addr|dist[_-]init[_-]addr|nccl[_-]init[_-]addr|head[_-]node"
        r"|node[_-]name)"
        rf"(?:=|\s+)[\"']?(?:\w{{1,9}}://)?(?P<host>{HOST})",
    ),
    _form(
        "nodelist=|node=|nodes=|nodename=|batchhost=",
        r"(?:[Nn]ode[Ll]ist|NODELIST|Nodes?|NodeName|BatchHost)=(?P<hosts>[\w.,\[\]-]+)",
    ),
    _form("slots", rf"^\s*(?P<host>{HOST})\s+(?:max[_-])?slots\s*="),
    _form(" hca-|mlx", rf"[\"'](?P<host>{HOST}) (?:HCA-\d|mlx\d_\d)"),
    _form("node:", rf"^\s*Node:\s+(?P<host>{HOST})/"),
    # Users, and users at hosts: `ada@a17:~$ `.
    _form("@", rf"(?:^|[\s\[(])(?P<user>{USER})@(?P<host>{HOST})(?=:[~/]|[ \]][^\n]{{0,80}}[#$%] )"),
    _form(
        "/home/|\\home\\|/users/|\\users\\",
        rf"(?:/home/|/Users/|[A-Z]:\\\\?Users\\\\?)(?P<user>{USER}|[A-Za-z])(?=[/\\\s:;,\"')\]]|$)",
    ),
    _form("id=", rf"\b(?:uid|gid|euid|auid)=\d{{1,10}}\((?P<user>{USER})\)"),
    _form(
        "userid=|user=|username|logname|user:",
        rf"(?:\b(?:UserId|USER|User|LOGNAME|USERNAME|user|username)[=:]\s?[\"']?)(?P<user>{USER})"
        r"(?=[\s\"',;()]|$)",
    ),
    _form("requested-by", rf"Requested-By: (?P<user>{USER}) \("),
    _form("for user", rf"\bfor user (?P<user>{USER})\b"),
    _form("sudo", rf"\bsudo(?:\[\d+\])?:\s+(?P<user>{USER}) :"),
    _form("rw-|r-x|r--|rwx|-wx|--x|---", rf"^(?:total )?[-dlcbps][-rwxsStT]{{9}}[.+@]?\s+\d+ (?P<user>{USER})\s"),
    # Things.
    _form(
        "serial",
        r"""[Ss]erial(?:[ _-]?(?:[Nn]umber|[Nn]o|NUMBER))?["']?\s{0,32}[:=>]\s{0,4}["']?"""
        r"(?P<serial>[A-Za-z0-9][\w./-]{3,63})(?!\S*:)",
    ),
    _form("asset", r"Asset Tag:\s{1,4}(?P<serial>\S{4,64})"),
    _form(
        "guid",
        r"""[Gg][Uu][Ii][Dd]["']?\s{0,12}[:=]?\s{0,12}["']?(?:0x)?"""
        r"(?P<id>[0-9a-f]{16}|[0-9a-f]{4}(?::[0-9a-f]{4}){3})\b",
    ),
    _form(
        "machine|boot",
        r"(?:[Mm]achine[ _-]?(?:ID|id)|MACHINE_ID|BOOT_ID|[Bb]oot[ _-]?(?:ID|id)|-- Boot)"
        r"[\"']?\s?[:=]?\s{0,4}[\"']?(?P<id>[0-9a-f]{32})\b",
    ),
)
"""A name that stands so is one, whatever else it may mean."""

UNSURE = (
    _form(" -h |--host", r"\s(?:-H|--host)(?:=|\s+)(?P<hosts>[A-Za-z][\w.,:\[\]-]*)"),
    _form("[", rf"(?:^|\s)\[(?P<host>{HOST}):\d{{2,10}}(?::\d{{1,5}}){{0,2}}\]"),
    _form(
        'host:|host=|host"|host :|host  ',
        rf"(?:^|[\s\"'{{,(])[Hh]ost[\"']?\s{{0,8}}[:=]\s{{0,2}}[\"']?(?P<host>{HOST})",
    ),
    _form(
        "connect to|resolve",
        rf"(?:connect to|resolve) (?:host(?:name)? )?\[?(?P<host>[A-Za-z]{HOST})\]?(?: port|[:,\]]|\s*$)",
    ),
    _form("addresses of|connect|timed", rf"\((?P<host>[A-Za-z]{HOST}), \d{{2,5}}\)"),
    _form("task", rf"\b(?:error|warning|info): (?P<host>{HOST}): tasks?\b"),
    _form(" cancelled", rf" ON (?P<host>{HOST}) CANCELLED"),
    _form("ssh ", rf"\bssh\s+(?:-\w\s+\S+\s+|-\w+\s+)*(?:{USER}@)?(?P<host>[A-Za-z]{HOST})(?:\s|$)"),
    _form("@", rf"(?:^|[\s\[(\"'=:/])(?P<user>{USER})@(?P<host>{HOST})"),
)
"""A name that stands so may be something else: it counts only where it looks like a name."""

PATHS = re.compile(
    rf"(?:^|/)(?:sosreport|diagnose|nvidia-bug-report|dmesg|journal|nvidia-smi|host|node)[-_.](?P<host>{HOST}?)"
    r"(?=-\d{4}|-\d{8}|\.partial|\.(?:txt|log|tar|t[gxz]z|zip|json|gz)\b|/|$)"
)
"""A host within the path of a file."""
