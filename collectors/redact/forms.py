"""Where the names of hosts and users, serials and the like stand in evidence: expressions for single lines.

Each has one of the groups `host`, `user`, `domain`, `serial`, `id` or `hosts` (a list such as `gpu[01-04],login`),
several of which may stand in one line.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from typing import NamedTuple

from collectors.redact.lines import Span, kinds_of_lines, with_signs, with_texts

_MONTHS = "jan |feb |mar |apr |may |jun |jul |aug |sep |oct |nov |dec "
HOST = r"[A-Za-z0-9](?:[A-Za-z0-9_.-]{0,251}[A-Za-z0-9])?"
USER = r"[A-Za-z_][A-Za-z0-9_.-]{0,30}[A-Za-z0-9_$]"
_PROCESS = r"[\w./@()-]{1,64}(?:\[\d{1,10}\])?:"
_CLOCK = r"\d\d:\d\d:\d\d(?:[.,]\d{1,9})?"


class Form(NamedTuple):
    """One way in which names stand in a line: signs one of which it holds, and an expression for its place."""

    signs: tuple[str | re.Pattern[str], ...]
    """Texts in lower case, without digits; or an expression, where such texts are too common."""
    pattern: re.Pattern[str]


def _form(hints: str, pattern: str, flags: int = 0, *, sign: str | None = None) -> Form:
    """A form, its hints divided by bars. `^` and `$` are the ends of a line."""
    signs = tuple(hints.split("|")) if sign is None else (re.compile(sign),)
    return Form(signs, re.compile(pattern, flags | re.MULTILINE))


def _labelled(hints: str, labels: str) -> Form:
    """A host after one of these labels and a colon or an equals sign, quoted or not."""
    pattern = rf"""(?:{labels})\\?["']?\s{{0,12}}[:=]\s{{0,4}}\\?["']?(?:\w{{1,9}}://)?(?P<host>{HOST})"""
    return _form(hints, pattern, re.IGNORECASE)


def places(text: str, forms: Iterable[Form]) -> Iterator[re.Match[str]]:
    """Where names stand in the text. Lines without a sign are passed over."""
    lower = text.lower()
    if len(lower) != len(text):  # a letter that is longer in lower case
        lower = text
    kinds = kinds_of_lines(lower)
    for form in forms:
        for begin, end in _signed(text, lower, kinds, form.signs):
            yield from form.pattern.finditer(text, begin, end)


def _signed(text: str, lower: str, kinds: str, signs: Iterable[str | re.Pattern[str]]) -> Iterable[Span]:
    """The lines with one of the signs, each once."""
    texts = [sign for sign in signs if isinstance(sign, str)]
    if texts:
        return with_texts(lower, [sign for sign in texts if sign in kinds])
    return with_signs(text, [sign for sign in signs if not isinstance(sign, str)])


SURE = (
    # A log of the system: `Mar  9 12:02:11 a17 kernel: …`, `2026-03-09T12:02:11.5+00:00 a17 kernel: …`.
    _form(_MONTHS, rf"(?:^|[\s\"|>])[A-Z][a-z]{{2}} [ \d]\d (?:\d{{4}} )?{_CLOCK} (?P<host>{HOST}) {_PROCESS}"),
    _form(
        "",
        rf"(?:^|[\s\"|>])\d{{4}}-\d\d-\d\d[T ]{_CLOCK}(?:Z|[+-]\d\d:?\d\d)? (?P<host>{HOST})"
        r" (?:kernel:|[\w./@()-]{1,64}\[\d{1,10}\]:)",
        sign=r"-\d\d[T ]\d\d:\d\d:\d\d\S{0,17} \S{1,253} (?:kernel:|[^\s\[]{1,64}\[)",
    ),
    # NCCL, UCX, Open MPI.
    _form(
        "",
        rf"(?:^|[\s\"|>\]])(?P<host>{HOST}):\d{{1,10}}:\d{{1,10}}(?::\d+)? \[",
        sign=r":\d{1,10}:\d{1,10}(?::\d+)? \[",
    ),
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
    _form("", rf"\b(?:uid|gid|euid|auid)=\d{{1,10}}\((?P<user>{USER})\)", sign=r"id=\d{1,10}\("),
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
    _form(
        "",
        rf"(?:^|\s)\[(?P<host>{HOST}):\d{{2,10}}(?::\d{{1,5}}){{0,2}}\]",
        sign=r"\[[A-Za-z0-9][\w.-]{0,252}:\d\d",
    ),
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
