"""Nodes of Kubernetes and their GPUs: `kubectl describe node`, `get nodes`, and nodes as YAML.

    Capacity:
      nvidia.com/gpu:     8
    Allocatable:
      nvidia.com/gpu:     7

Follows kubectl 1.18 to 1.34, oc, and the nodes.yaml of the GPU operator's must-gather. What a cut description does
not show is unknown; a description of something else gives nothing.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

from collectors.readers._lines import command_of
from collectors.readers._regex import regex
from kb.evidence import Reader, Reading, Section
from kb.facts.kubernetes import KubeNode

_NAME = regex(r"Name:\s{1,40}(?P<name>[a-z0-9][\w.-]{0,252})\s*$")
_ROLES = regex(r"Roles:\s")
_HEADING = regex(
    r"(?P<key>Capacity|Allocatable|Allocated resources|Conditions|Labels|Annotations|Events|Non-terminated Pods"
    r"|System Info|Taints|Unschedulable|Addresses):\s{0,40}(?P<value>\S{0,200})"
)
_PARTS = {"Capacity": "capacity", "Allocatable": "allocatable", "Allocated resources": "requested"}
_AMOUNT = regex(r"\s{1,8}nvidia\.com/gpu:\s{1,40}\"?(?P<count>\d{1,4})\"?\s*$")
_REQUESTED = regex(r"\s{1,8}nvidia\.com/gpu\s{1,40}(?P<count>\d{1,4})(?:\s|$)")
_CONDITION = regex(r"\s{1,8}(?P<type>[A-Z]\w{2,40})\s{1,40}(?P<status>True|False|Unknown)\s")
_LABEL = regex(
    r"\s{0,40}(?:Labels:\s{1,20})?nvidia\.com/(?P<key>gpu\.product|mig\.strategy|mig\.config\.state|mig\.config)"
    r"[=:] ?\"?(?P<value>[\w.-]{1,80})"
)
_TABLE = regex(r"\s{0,8}NAME\s{1,200}STATUS\s{1,60}ROLES\s{1,60}AGE\s{1,20}VERSION\b")
_ROW = regex(
    r"(?P<name>[a-z0-9][\w.-]{0,252})\s{1,200}(?P<status>(?:Not)?Ready(?:,SchedulingDisabled)?)"
    r"\s{1,60}\S{1,80}\s{1,60}\S{1,20}\s{1,20}v\d"
)
_YAML_NAME = regex(r"\s{2,6}name: (?P<name>[a-z0-9][\w.-]{0,252})\s*$")
_YAML_PART = regex(r"\s{2,6}(?P<key>allocatable|capacity|metadata|spec|nodeInfo|conditions|images|addresses):\s*$")
_MOST_NODES = 500
_UNNAMED = "without a name"
_OF_ONE = regex(
    r"(?:kubectl|oc) (?:\S{1,60} ){0,4}?describe nodes?[ /](?P<name>[a-z0-9][\w.-]{0,252}) .{0,200}\|\s{0,4}e?grep"
)
_FIELDS = regex(
    r"(?:kubectl|oc) (?:\S{1,60} ){0,4}?get nodes?[ /]?(?P<name>[a-z0-9][\w.-]{0,252})?.{0,400}?"
    r"(?:-o|--output)[ =]?['\"]?(?P<form>jsonpath|custom-columns)=(?P<fields>.{1,1000})"
)
_FIELD = regex(r"\.metadata\.name|\.status\.(?:capacity|allocatable)\W{1,3}nvidia\W{1,3}com/gpu")
_PRESSURES = ("MemoryPressure", "DiskPressure", "PIDPressure", "NetworkUnavailable")


@dataclass
class _Node:
    """One node as far as it was read."""

    name: str
    first: int
    last: int
    ready: bool | None = None
    unschedulable: bool | None = None
    gpus: dict[str, int] = field(default_factory=dict)
    """By capacity, allocatable, requested."""
    parts: set[str] = field(default_factory=set)
    pressures: list[str] = field(default_factory=list)
    labels: dict[str, str] = field(default_factory=dict)


def read(section: Section) -> Iterator[Reading]:
    """KubeNode for each node. One that registers no GPU has none, where the part that would show it is there."""
    nodes = [*_described(section), *_from_yaml(section)] or list(_asked(section))
    nodes = nodes or list(_searched(section)) or list(_cut(section))
    table = list(_table(section))
    for node in (nodes or table)[:_MOST_NODES]:
        yield section.observe(_fact(node), node.first, node.last)
    if nodes or table:
        whole = not nodes or all("allocatable" in node.parts for node in nodes)
        yield section.looked(KubeNode, complete=whole and "|" not in command_of(section), reason="truncated")


def _fact(node: _Node) -> KubeNode:
    def count(part: str) -> int | None:
        return node.gpus.get(part, 0 if part in node.parts else None)

    return KubeNode(
        name=node.name,
        ready=node.ready,
        unschedulable=node.unschedulable,
        gpu_capacity=count("capacity"),
        gpu_allocatable=count("allocatable"),
        gpu_requested=count("requested"),
        pressure=", ".join(node.pressures) or None,
        product=node.labels.get("gpu.product"),
        mig=node.labels.get("mig.config.state") or node.labels.get("mig.strategy"),
    )


def _described(section: Section) -> Iterator[_Node]:
    node: _Node | None = None
    part = ""
    asked = " describe node" in command_of(section)
    for index, whole in enumerate(section.lines):
        line = whole[:600]
        name = _NAME.match(line)
        if name:
            if node:
                yield node
            following = section.lines[index + 1][:100] if index + 1 < len(section.lines) else ""
            is_node = asked or _ROLES.match(following) is not None
            node = _Node(name["name"], index, index) if is_node else None
            part = ""
            continue
        if node is None:
            continue
        heading = _HEADING.match(line)
        if heading:
            part = heading["key"]
            node.parts.add(_PARTS.get(part, part))
            if part == "Unschedulable":
                node.unschedulable = heading["value"] == "true"
        _take(node, part, line, index)
    if node:
        yield node


def _searched(section: Section) -> Iterator[_Node]:
    """A description of one node of which a search left two amounts: it has the first, and offers the second."""
    asked = _OF_ONE.match(command_of(section))
    amounts = [
        (index, amount) for index, line in enumerate(section.lines) if (amount := _AMOUNT.match(line[:200]))
    ]
    if asked and len(amounts) == 2:
        (first, has), (last, offers) = amounts
        gpus = {"capacity": int(has["count"]), "allocatable": int(offers["count"])}
        yield _Node(asked["name"], first, last, gpus=gpus)


def _asked(section: Section) -> Iterator[_Node]:
    """Nodes of which a command asked for some fields: jsonpath or columns, in its own order."""
    asked = _FIELDS.match(command_of(section))
    fields = [match[0] for match in _FIELD.finditer(asked["fields"])] if asked else []
    if asked is None or not any("gpu" in one for one in fields):
        return
    for index, line in enumerate(section.lines[:_MOST_NODES]):
        words = line[:600].split()
        if len(words) != len(fields):
            continue
        said = dict(zip(fields, words, strict=True))
        name = said.pop(".metadata.name", None) or asked["name"]
        gpus = {
            "capacity" if "capacity" in one else "allocatable": 0 if word == "<none>" else int(word)
            for one, word in said.items()
            if word == "<none>" or word.isdecimal()
        }
        if name and len(gpus) == len(said):
            yield _Node(name, index, index, gpus=gpus)


def _cut(section: Section) -> Iterator[_Node]:
    """A description without its head: what one node has, and what it offers."""
    node = _Node(_UNNAMED, 0, 0)
    part = ""
    for index, whole in enumerate(section.lines):
        line = whole[:600]
        if _NAME.match(line):
            return
        heading = _HEADING.match(line)
        if heading:
            part = heading["key"]
            node.parts.add(_PARTS.get(part, part))
            node.first = index if part == "Capacity" else node.first
        _take(node, part, line, index)
    if {"capacity", "allocatable"} <= node.gpus.keys():
        yield node


def _take(node: _Node, part: str, line: str, index: int) -> None:
    """Takes one line of the part of the description that it stands in."""
    amount, label = _AMOUNT.match(line), _LABEL.match(line)
    if amount and part in {"Capacity", "Allocatable"}:
        node.gpus.setdefault(part.lower(), int(amount["count"]))
        node.last = index
    elif part == "Allocated resources" and (requested := _REQUESTED.match(line)):
        node.gpus.setdefault("requested", int(requested["count"]))
        node.last = index
    elif part == "Conditions" and (condition := _CONDITION.match(line)):
        if condition["type"] == "Ready":
            node.ready = condition["status"] == "True"
        elif condition["type"] in _PRESSURES and condition["status"] == "True":
            node.pressures.append(condition["type"])
    elif part == "Labels" and label:
        node.labels.setdefault(label["key"], label["value"])


def _table(section: Section) -> Iterator[_Node]:
    """`kubectl get nodes`."""
    inside = False
    for index, line in enumerate(section.lines):
        inside = inside or _TABLE.match(line[:600]) is not None
        match = _ROW.match(line[:800].strip()) if inside else None
        if match:
            disabled = "SchedulingDisabled" in match["status"]
            yield _Node(match["name"], index, index, match["status"].startswith("Ready"), disabled)


def _from_yaml(section: Section) -> Iterator[_Node]:
    """`kubectl get nodes -o yaml`: each `kind: Node` with its metadata and status."""
    node: _Node | None = None
    pending: int | None = None
    part = ""
    for index, whole in enumerate(section.lines):
        line = whole[:600]
        if line.strip() == "kind: Node":
            if node:
                yield node
            node, pending, part = None, index, ""
            continue
        if pending is None:
            continue
        heading, name = _YAML_PART.match(line), _YAML_NAME.match(line)
        if heading:
            part = heading["key"]
        if node is None and name and part == "metadata":
            node = _Node(name["name"], pending, index)
        elif node and heading and part in {"allocatable", "capacity"}:
            node.parts.add(part)
        elif node and part in {"allocatable", "capacity"} and (amount := _AMOUNT.match(line)):
            node.gpus.setdefault(part, int(amount["count"]))
            node.last = index
    if node:
        yield node


READER = Reader(
    "kube-nodes",
    read,
    markers=("Allocatable:", "allocatable:", "STATUS   ROLES", "STATUS ROLES"),
    commands=("kubectl get node", "kubectl describe node", "oc get node", "oc describe node"),
)
