"""Pods: the table of `kubectl get pods`, and `kubectl describe pod`.

    nvidia-cuda-validator-7xq2c   0/1     Init:CrashLoopBackOff   12 (3m ago)   41m
        Last State:     Terminated
          Reason:       OOMKilled

Follows kubectl 1.18 to 1.34 and oc. Of healthy pods only those of the GPU operator are told. A table without its
heading, and a description that is cut before its containers, give nothing.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

from collectors.readers._lines import command_of
from collectors.readers._pods import mib_of, problem_of, role_of
from collectors.readers._regex import regex
from kb.evidence import Observed, Reader, Reading, Section
from kb.facts.containers import ContainerConfig
from kb.facts.kubernetes import Pod, PodProblem

_HEADING = regex(
    r"\s{0,8}(?P<namespace>NAMESPACE\s{1,80})?NAME\s{1,200}READY\s{1,8}STATUS\s{1,60}RESTARTS\s{1,40}AGE\b"
)
_ROW = regex(
    r"(?P<first>[a-z0-9][\w.-]{0,252})\s{1,120}(?:(?P<second>[a-z0-9][\w.-]{0,252})\s{1,200})?(?P<ready>\d{1,4}/\d{1,4})"
    r"\s{1,16}(?P<status>[A-Z][\w:/.-]{1,80})\s{1,60}(?P<restarts>\d{1,7})(?:\s{1,4}\([^)]{1,40}\))?\s{1,40}\S{1,20}(?:\s|$)"
)
_MOST_PODS = 200
_NAME = regex(r"Name:\s{1,40}(?P<name>[a-z0-9][\w.-]{0,252})\s*$")
_TOP = regex(r"(?P<key>Namespace|Status|Reason):\s{1,40}(?P<value>\S{1,120})")
_BLOCK = regex(
    r"(?P<key>Init Containers|Containers|Volumes|Events|Conditions|QoS Class|Node-Selectors|Tolerations):"
)
_CONTAINER = regex(r"  (?P<name>[a-z0-9][\w.-]{0,120}):\s*$")
_VALUE = regex(
    r"\s{4,12}(?P<key>State|Last State|Reason|Exit Code|Restart Count|nvidia\.com/[\w.-]{1,60}|memory|Medium"
    r"|SizeLimit|Type):\s{1,30}(?P<value>\S{1,120})"
)
_MOUNT = regex(r"\s{6,10}(?P<path>/\S{0,200}) from (?P<volume>\S{1,120}) \((?:ro|rw)")
_SHM = "/dev/shm"  # noqa: S108 - a mount point in evidence
_DEFAULT_SHM_MIB = 64
_RANK: tuple[PodProblem, ...] = (
    *("oom-killed", "evicted", "admission", "image", "create-error", "error", "crash-loop", "unschedulable"),
    *("pending", "terminating", "none"),
)
"""Of several reasons in one pod the first of these is told: what follows from what stands behind it."""


@dataclass
class _Described:
    """One pod of `kubectl describe` as far as it was read."""

    name: str
    first: int
    last: int
    namespace: str | None = None
    status: str = "Unknown"
    reasons: list[str] = field(default_factory=list)
    """Of the pod and of its containers' states, in order."""
    exit_code: int | None = None
    restarts: int | None = None
    gpus: int | None = None
    memory: str | None = None
    mounts: dict[str, str] = field(default_factory=dict)
    volumes: dict[str, dict[str, str]] = field(default_factory=dict)
    has_containers: bool = False


def read(section: Section) -> Iterator[Reading]:
    """Pod for those that are not well or belong to the operator; ContainerConfig for each that is described."""
    rows = list(_table(section))
    yield from (observed for observed in rows if _matters(observed))
    described = list(_descriptions(section))
    for pod in described:
        yield section.observe(_pod(pod), pod.first, pod.last)
        if pod.mounts or pod.gpus:
            yield section.observe(_container(pod), pod.first, pod.last)
    if rows or described:
        whole = bool(rows) and "|" not in command_of(section) and len(rows) < _MOST_PODS
        yield section.looked(Pod, complete=whole, reason="not-collected")
    if described:
        yield section.looked(ContainerConfig, complete=False, reason="not-collected")


def _matters(observed: Observed) -> bool:
    pod = observed.fact
    return isinstance(pod, Pod) and (pod.problem != "none" or pod.role != "workload")


def _table(section: Section) -> Iterator[Observed]:
    namespaced: bool | None = None
    count = 0
    for index, line in enumerate(section.lines):
        heading = _HEADING.match(line[:600]) if "READY" in line[:600] else None
        if heading:
            namespaced = heading["namespace"] is not None
            continue
        match = _ROW.match(line[:1000].strip()) if namespaced is not None else None
        if match is None or (match["second"] is not None) != namespaced or count >= _MOST_PODS:
            continue
        count += 1
        status = match["status"]
        name = match["second"] or match["first"]
        fact = Pod(
            name=name,
            namespace=match["first"] if namespaced else None,
            role=role_of(name),
            status=status,
            problem=problem_of(status),
            restarts=int(match["restarts"]),
        )
        yield section.observe(fact, index)


def _descriptions(section: Section) -> Iterator[_Described]:
    pod: _Described | None = None
    block = part = ""
    for index, whole in enumerate(section.lines):
        line = whole[:600]
        name = _NAME.match(line)
        if name:
            if pod and pod.has_containers:
                yield pod
            following = section.lines[index + 1][:200] if index + 1 < len(section.lines) else ""
            pod = _Described(name["name"], index, index) if following.startswith("Namespace:") else None
            block = part = ""
        elif pod is None or not line.strip():
            continue
        elif not line[0].isspace():
            heading, top = _BLOCK.match(line), _TOP.match(line)
            block = heading["key"] if heading else ""
            pod.has_containers = pod.has_containers or block == "Containers"
            if top:
                _take_top(pod, top["key"], top["value"])
                pod.last = index
        elif block in {"Containers", "Init Containers", "Volumes"}:
            part = _inside(pod, block, part, line, index)
    if pod and pod.has_containers:
        yield pod


def _take_top(pod: _Described, key: str, value: str) -> None:
    if key == "Namespace":
        pod.namespace = value
    elif key == "Status":
        pod.status = value
    else:
        pod.reasons.append(value)


def _inside(pod: _Described, block: str, part: str, line: str, index: int) -> str:
    """Takes a line of a container or volume; gives the name of the one that the next lines belong to."""
    named = _CONTAINER.match(line)
    if named:
        return named["name"]
    mount = _MOUNT.match(line)
    if mount and block == "Containers":
        pod.mounts.setdefault(mount["path"], mount["volume"])
    match = _VALUE.match(line)
    if match is None:
        return part
    key, value = match["key"], match["value"]
    if block == "Volumes":
        pod.volumes.setdefault(part, {}).setdefault(key, value)
    elif key == "Reason":
        pod.reasons.append(value)
        pod.last = index
    elif key == "Exit Code" and value.lstrip("-").isdecimal():
        pod.exit_code = int(value) or pod.exit_code
        pod.last = index
    elif key == "Restart Count" and value.isdecimal():
        pod.restarts = max(pod.restarts or 0, int(value))
    elif key == "nvidia.com/gpu" and value.isdecimal():
        pod.gpus = max(pod.gpus or 0, int(value))
    elif key == "memory" and pod.memory is None:
        pod.memory = value
    return part


def _pod(pod: _Described) -> Pod:
    """The pod; an out-of-memory kill counts before the restarts that follow from it."""
    problems = [problem for reason in pod.reasons if (problem := problem_of(reason)) != "none"]
    problem = min(problems, key=_RANK.index) if problems else problem_of(pod.status)
    named = [reason for reason in pod.reasons if problem_of(reason) == problem]
    return Pod(
        name=pod.name,
        namespace=pod.namespace,
        role=role_of(pod.name),
        status=named[0] if named else pod.status,
        problem=problem,
        restarts=pod.restarts,
        exit_code=pod.exit_code,
        gpus=pod.gpus,
        memory_limit=pod.memory,
    )


def _container(pod: _Described) -> ContainerConfig:
    """What the description says of the pod's /dev/shm and GPUs."""
    volume = pod.volumes.get(pod.mounts.get(_SHM, ""), {})
    size = mib_of(volume.get("SizeLimit", ""))
    host = volume.get("Type", "").startswith("HostPath")
    mounted = _SHM in pod.mounts
    return ContainerConfig(
        source="pod",
        name=pod.name,
        gpus="some" if pod.gpus else "none",
        shm_mib=size if mounted else _DEFAULT_SHM_MIB if pod.mounts else None,
        shm=("host" if host else "sized" if size else "volume") if mounted else "default" if pod.mounts else None,
        rdma=any(path.startswith("/dev/infiniband") for path in pod.mounts) or None,
    )


READER = Reader(
    "kube-pods",
    read,
    markers=("READY   STATUS", "READY STATUS", "RESTARTS", "Restart Count:", "Containers:"),
    commands=("kubectl get pod", "kubectl describe pod", "oc get pod", "oc describe pod"),
)
