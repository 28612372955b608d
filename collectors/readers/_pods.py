"""What the status of a pod means, and which part of the GPU operator a pod is by its name. No reader."""

from __future__ import annotations

from collectors.readers._regex import regex
from kb.facts.kubernetes import PodProblem, PodRole

_PROBLEMS: tuple[tuple[str, PodProblem], ...] = (
    ("OOMKilled", "oom-killed"),
    ("CrashLoopBackOff", "crash-loop"),
    ("ImagePull", "image"),
    ("InvalidImageName", "image"),
    ("ErrImage", "image"),
    ("CreateContainer", "create-error"),
    ("RunContainerError", "create-error"),
    ("StartError", "create-error"),
    ("ContainerCannotRun", "create-error"),
    ("Evicted", "evicted"),
    ("UnexpectedAdmissionError", "admission"),
    ("TopologyAffinityError", "admission"),
    ("OutOf", "admission"),
    ("NodeAffinity", "admission"),
    ("Unschedulable", "unschedulable"),
    ("Terminating", "terminating"),
    ("Error", "error"),
    ("Failed", "error"),
    ("ContainerStatusUnknown", "error"),
    ("ExitCode:", "error"),
    ("Signal:", "error"),
    ("Pending", "pending"),
    ("ContainerCreating", "pending"),
    ("PodInitializing", "pending"),
    ("Init:", "pending"),
)
# The more special names stand first: a device plugin's validator is a validator.
_ROLES: tuple[tuple[str, PodRole], ...] = (
    (r"driver-manager", "driver-manager"),
    (r"validator|validation", "validator"),
    (r"nvidia-driver-daemonset|nvidia-gpu-driver|^driver-daemonset", "driver"),
    (r"container-toolkit", "toolkit"),
    (r"device-plugin(?!.*rdma)", "device-plugin"),
    (r"gpu-feature-discovery|node-feature-discovery|\bnfd-", "feature-discovery"),
    (r"mig-manager", "mig-manager"),
    (r"dcgm", "dcgm"),
    (r"network-operator|mofed|rdma-shared|sriov", "network-operator"),
    (r"gpu-operator", "operator"),
)
_BY_NAME = tuple((regex(form), role) for form, role in _ROLES)
_QUANTITY = regex(r"(?P<number>\d{1,15})(?P<unit>Ki|Mi|Gi|Ti|k|M|G|T|)$")
_UNITS = {
    "": 1 / 1024**2,
    "Ki": 1 / 1024,
    "Mi": 1.0,
    "Gi": 1024.0,
    "Ti": 1024.0**2,
    "k": 1e3 / 1024**2,
    "M": 1e6 / 1024**2,
    "G": 1e9 / 1024**2,
    "T": 1e12 / 1024**2,
}


def problem_of(status: str) -> PodProblem:
    """What is wrong with a pod of this status; `none` for one that runs or is done."""
    return next((problem for part, problem in _PROBLEMS if part in status), "none")


def role_of(name: str) -> PodRole:
    """Which part of the GPU or network operator a pod of this name is, or the job's own."""
    return next((role for form, role in _BY_NAME if form.search(name)), "workload")


def mib_of(quantity: str) -> int | None:
    """A Kubernetes quantity of bytes, `8Gi`, in MiB."""
    match = _QUANTITY.match(quantity.strip())
    return int(int(match["number"]) * _UNITS[match["unit"]]) if match else None
