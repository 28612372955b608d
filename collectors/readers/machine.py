"""Whether this is a container or a virtual machine: cgroup, environment, marks, mounts and what tools say.

    12:devices:/docker/4f5a1c0b9d8e7f6a5b4c3d2e1f0a9b8c7d6e5f4a3b2c1d0e9f8a7b6c5d4e3f2a
    container=lxc
    [    0.000000] Hypervisor detected: KVM

Follows cgroups(7), systemd's CONTAINER_INTERFACE, mountinfo of proc(5) and systemd-detect-virt(1). A cgroup `0::/`
alone proves nothing, and neither do other lines.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Literal

from collectors.readers._lines import MOST_COLUMNS, command_of, is_lead
from collectors.readers._regex import regex
from kb.evidence import Reader, Reading, Section
from kb.facts.machine import Container, VirtualMachine

Runtime = Literal["docker", "podman", "containerd", "kubernetes", "lxc", "systemd-nspawn", "other"]

_CGROUP = regex(r"\d{1,3}:[\w,=]{0,80}:(/\S{0,400})$")
_CGROUP_OF_OTHER = regex(r"/proc/(?!1/|self/)\S{1,20}/cgroup")
_CGROUP_PATHS: tuple[tuple[re.Pattern[str], Runtime], ...] = (
    (regex(r"/kubepods\b|/kubepods[.-]"), "kubernetes"),
    (regex(r"/libpod[-_]"), "podman"),
    (regex(r"/docker[-/][0-9a-f]{12,64}\b"), "docker"),
    (regex(r"/(?:cri-containerd|nerdctl|containerd)[-/:]"), "containerd"),
    (regex(r"^/(?:lxc/|lxc\.payload)"), "lxc"),
)
_VARIABLE = regex(r"container=([a-z-]{2,20})$")
_IN_KUBERNETES = regex(r"KUBERNETES_SERVICE_HOST=\S{1,60}$")
_VALUES: dict[str, Runtime] = {
    "lxc": "lxc",
    "lxc-libvirt": "lxc",
    "docker": "docker",
    "podman": "podman",
    "systemd-nspawn": "systemd-nspawn",
    "oci": "other",
    "garden": "other",
    "rkt": "other",
    "openvz": "other",
    "wsl": "other",
}
_MARK = regex(r"(?:-[rwxsStT-]{9}\S?\s.{5,80}\s)?(?P<path>/\.dockerenv|/run/\.containerenv|\.dockerenv)\s*$")
_ROOT_OVERLAY = regex(
    r"(?:\d{1,9} \d{1,9} \d{1,5}:\d{1,9} / / .{1,300}? - overlay \S{1,40}|overlay / overlay"
    r"|overlay on / type overlay) (?P<options>.{1,1500})"
)
_LAYERS: tuple[tuple[str, Runtime], ...] = (
    ("/docker/overlay2/", "docker"),
    ("io.containerd.snapshotter", "containerd"),
    ("/containers/storage/overlay", "podman"),
)
_HYPERVISOR = regex(
    r"Hypervisor detected: (?P<name>[A-Z][\w -]{1,30})\s*$|Hypervisor vendor:\s{1,40}(?P<vendor>\w{2,20})\s*$"
)
_HYPERVISORS = {"kvm": "kvm", "vmware": "vmware", "microsoft": "microsoft", "xen": "xen", "oracle": "oracle"}
_VIRTUAL = frozenset(
    {
        "kvm",
        "qemu",
        "vmware",
        "microsoft",
        "xen",
        "oracle",
        "amazon",
        "google",
        "bhyve",
        "parallels",
        "acrn",
        "powervm",
        "zvm",
        "apple",
    }
)
_DETECTS = regex(r"systemd-detect-virt(?P<options>(?: -{1,2}[a-z]{1,12}){0,3})\s{0,4}(?:$|[;|&2])")
_SYSTEMD_MARK = "cat /run/systemd/container"


def read(section: Section) -> Iterator[Reading]:
    """Container and VirtualMachine, each answer once, from the first line that gives it."""
    detected = _DETECTS.match(command_of(section))
    if detected:
        yield from _detected(section, detected["options"])
        return
    seen: set[Container | VirtualMachine] = set()
    for index, line in enumerate(section.lines):
        fact = _fact(section, line[:MOST_COLUMNS])
        if fact and fact not in seen:
            seen.add(fact)
            yield section.observe(fact, index)


def _detected(section: Section, options: str) -> Iterator[Reading]:
    """What systemd-detect-virt says; a container hides the machine below it."""
    said = next(((index, line.strip()) for index, line in enumerate(section.lines) if line.strip()), None)
    if said is None or " " in said[1]:
        return
    index, word = said
    runtime = _VALUES.get(word)
    if runtime:
        yield section.observe(Container(runtime=runtime), index)
    elif word in _VIRTUAL:
        yield section.observe(VirtualMachine(hypervisor=word), index)
    elif word != "none":
        return
    if "v" not in options.replace("--vm", "v"):
        yield section.looked(Container)
    if runtime is None and "c" not in options:
        yield section.looked(VirtualMachine)


def _fact(section: Section, line: str) -> Container | VirtualMachine | None:
    text = line.strip()
    if text[:1].isdigit() and ":/" in text:
        runtime = _of_cgroup(section, text)
        if runtime:
            return Container(runtime=runtime)
    if "overlay" in text and (match := _ROOT_OVERLAY.match(text)):
        runtime = next((name for layer, name in _LAYERS if layer in match["options"]), None)
        return Container(runtime=runtime) if runtime else None
    if "Hypervisor " in text:
        return _of_hypervisor(line)
    return _of_mark(section, text)


def _of_cgroup(section: Section, text: str) -> Runtime | None:
    match = _CGROUP.match(text)
    if match is None or _CGROUP_OF_OTHER.search(command_of(section)):
        return None
    return next((runtime for path, runtime in _CGROUP_PATHS if path.search(match[1])), None)


def _of_hypervisor(line: str) -> VirtualMachine | None:
    match = _HYPERVISOR.search(line)
    if match is None or not is_lead(line[: match.start()]):
        return None
    name = (match["name"] or match["vendor"]).casefold()
    return VirtualMachine(hypervisor=next((word for part, word in _HYPERVISORS.items() if part in name), name))


def _of_mark(section: Section, text: str) -> Container | None:
    """A variable, a mark in the file system, or the runtime's own file."""
    variable = _VARIABLE.match(text)
    if variable and variable[1] in _VALUES:
        return Container(runtime=_VALUES[variable[1]])
    if _IN_KUBERNETES.match(text):
        return Container(runtime="kubernetes")
    if command_of(section) == _SYSTEMD_MARK and text in _VALUES:
        return Container(runtime=_VALUES[text])
    if text.startswith('engine="podman'):
        return Container(runtime="podman")
    mark = _MARK.match(text) if text.endswith(("dockerenv", "containerenv")) else None
    if mark and (mark["path"].startswith("/") or text.startswith("-")):
        return Container(runtime="podman" if "containerenv" in mark["path"] else "docker")
    return None


READER = Reader(
    "machine",
    read,
    markers=(
        ":/docker",
        ":/kubepods",
        "docker-",
        "/kubepods",
        "libpod",
        "containerd",
        ":/lxc",
        "container=",
        "KUBERNETES_SERVICE_HOST=",
        "dockerenv",
        "containerenv",
        'engine="podman',
        "overlay",
        "Hypervisor detected: ",
        "Hypervisor vendor: ",
    ),
    commands=("systemd-detect-virt", _SYSTEMD_MARK),
)
