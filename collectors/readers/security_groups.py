"""Security groups of AWS: whether they let a group's own members through, as EFA must have it in both directions.

    $ aws ec2 describe-security-groups --group-ids sg-1
    {"SecurityGroups": [{"GroupId": "sg-1", "IpPermissions": [{"IpProtocol": "-1", "UserIdGroupPairs": […]}], …}]}

Follows AWS CLI 1 and 2, `--output json`; of `--query` the form
`SecurityGroups[0].[IpPermissions,IpPermissionsEgress]` with one group in the command. Tables, YAML: nothing.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from collectors.readers._json_text import at, json_of, line_with
from collectors.readers._regex import regex
from kb.evidence import Reader, Reading, Section
from kb.facts.network import SecurityGroup

_BOTH = regex(r".{0,400}\[\s?IpPermissions,\s?IpPermissionsEgress\s?\]")
_ONE = regex(r".{0,400}--group-ids?[ =](?P<id>sg-\w{3,40})(?! ?sg-)")
_MOST = 50


def read(section: Section) -> Iterator[Reading]:
    """SecurityGroup for each one listed with both directions."""
    value = json_of(section)
    groups = at(value, "SecurityGroups")
    for name, ingress, egress in _listed(groups) if isinstance(groups, list) else _queried(section, value):
        if not isinstance(ingress, list) or not isinstance(egress, list):
            continue
        fact = SecurityGroup(id=name, from_itself=_names(ingress, name), to_itself=_names(egress, name))
        yield section.observe(fact, line_with(section, name, "IpProtocol"))


def _listed(groups: list[Any]) -> Iterator[tuple[str, Any, Any]]:
    for group in groups[:_MOST]:
        name = at(group, "GroupId")
        if isinstance(name, str):
            yield name, at(group, "IpPermissions"), at(group, "IpPermissionsEgress")


def _queried(section: Section, value: Any) -> Iterator[tuple[str, Any, Any]]:
    command = (section.command or "")[:800]
    one = _ONE.match(command)
    if one is not None and _BOTH.match(command) and isinstance(value, list):
        pair = value[0] if len(value) == 1 and isinstance(value[0], list) else value
        if len(pair) == 2:
            yield one["id"], pair[0], pair[1]


def _names(rules: list[Any], name: str) -> bool:
    """Whether a rule for all protocols names the group itself."""
    for rule in rules:
        pairs = at(rule, "UserIdGroupPairs") or []
        if at(rule, "IpProtocol") == "-1" and any(at(pair, "GroupId") == name for pair in pairs):
            return True
    return False


READER = Reader(
    "security-groups",
    read,
    markers=('"SecurityGroups": [',),
    commands=("aws ec2 describe-security-groups",),
)
