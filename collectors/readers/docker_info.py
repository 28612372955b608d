"""A container engine as `docker info` and `podman info` describe it.

     Runtimes: io.containerd.runc.v2 nvidia runc
     Default Runtime: runc
     Docker Root Dir: /var/snap/docker/common/var-lib-docker

Follows docker/cli 18 to 29 (text, and JSON with `--format`) and podman 3 to 5 (YAML). Without the line of the root
folder the text is taken for something else. A daemon that does not answer gives nothing.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import Any

from collectors.readers._lines import VERSION, command_of
from collectors.readers._regex import regex
from kb.evidence import Looked, Observed, Reader, Reading, Section
from kb.facts.containers import ContainerEngine

_PAIR = regex(r"\s{0,6}(?P<key>[A-Z][A-Za-z ]{2,40}): ?(?P<value>.{0,400}?)\s*$")
_OPTION = regex(r"\s{1,6}(?:name=)?(?P<option>rootless|cgroupns|userns|seccomp|apparmor|selinux)\s*$")
_CDI_DEVICE = regex(r"\s{1,8}cdi: nvidia\.com/gpu")
_PODMAN = regex(
    r"\s{2,4}(?P<key>cgroupManager|cgroupVersion|rootless|graphRoot|Version|name): (?P<value>\S{1,200})\s*$"
)
_KEYS = frozenset(
    ("Server Version", "Runtimes", "Default Runtime", "Cgroup Driver", "Cgroup Version", "Docker Root Dir")
)
_FIRST_VERSION = regex(VERSION)
_MOST_JSON = 2_000_000


def read(section: Section) -> Iterator[Reading]:
    """ContainerEngine of Docker, and that of Podman."""
    found = [*_docker(section), *_from_json(section), *_podman(section)]
    yield from found
    if found:
        yield _looked(section)


def _looked(section: Section) -> Looked:
    return section.looked(ContainerEngine, complete="|" not in command_of(section), reason="not-collected")


def _docker(section: Section) -> Iterator[Observed]:
    values: dict[str, str] = {}
    lines: list[int] = []
    rootless = False
    cdi = False
    for index, line in enumerate(section.lines):
        match = _PAIR.match(line[:500])
        if match and match["key"] in _KEYS:
            values.setdefault(match["key"], match["value"])
            lines.append(index)
        rootless = rootless or (
            (option := _OPTION.match(line[:100])) is not None and option["option"] == "rootless"
        )
        cdi = cdi or _CDI_DEVICE.match(line[:200]) is not None
    asked = command_of(section).startswith("docker info") and bool(values)  # some lines of it, picked out by grep
    if not asked and "Docker Root Dir" not in values and not {"Runtimes", "Default Runtime"} <= values.keys():
        return
    runtimes = values.get("Runtimes")
    fact = _engine(
        version=values.get("Server Version"),
        runtimes=runtimes.split() if runtimes is not None else None,
        default=values.get("Default Runtime"),
        driver=values.get("Cgroup Driver"),
        cgroup=values.get("Cgroup Version"),
        root=values.get("Docker Root Dir"),
        rootless=rootless,
        cdi=cdi or None,
    )
    yield section.observe(fact, lines[0], lines[-1])


def _engine(
    *,
    version: str | None,
    runtimes: list[str] | None,
    default: str | None,
    driver: str | None,
    cgroup: str | None,
    root: str | None,
    rootless: bool,
    cdi: bool | None,
) -> ContainerEngine:
    number = _FIRST_VERSION.search(version or "")
    return ContainerEngine(
        engine="docker",
        version=number[0] if number else None,
        nvidia_runtime=any(name.startswith("nvidia") for name in runtimes) if runtimes is not None else None,
        default_runtime=default or None,
        cgroup_driver=driver or None,
        cgroup_version=int(cgroup) if cgroup in {"1", "2"} else None,
        root_dir=root or None,
        snap=(root or "").startswith("/var/snap/"),
        rootless=rootless or "/.local/share/docker" in (root or ""),
        cdi=cdi,
    )


def _from_json(section: Section) -> Iterator[Observed]:
    """`docker info --format '{{json .}}'`: one line."""
    for index, line in section.matching('"DockerRootDir"'):
        if not line.lstrip().startswith("{") or len(line) > _MOST_JSON:
            continue
        try:
            info = json.loads(line)
        except (ValueError, RecursionError):
            continue
        if isinstance(info, dict):
            yield section.observe(_of_json(info), index)


def _of_json(info: Mapping[str, Any]) -> ContainerEngine:
    runtimes, options = info.get("Runtimes"), info.get("SecurityOptions")

    def text(key: str) -> str | None:
        value = info.get(key)
        return value[:300] if isinstance(value, str) else None

    return _engine(
        version=text("ServerVersion"),
        runtimes=list(map(str, runtimes)) if isinstance(runtimes, dict) else None,
        default=text("DefaultRuntime"),
        driver=text("CgroupDriver"),
        cgroup=text("CgroupVersion"),
        root=text("DockerRootDir"),
        rootless=isinstance(options, list) and any("rootless" in str(option) for option in options),
        cdi=True if "nvidia.com/gpu" in str(info.get("DiscoveredDevices")) else None,
    )


def _podman(section: Section) -> Iterator[Observed]:
    values: dict[str, str] = {}
    lines: list[int] = []
    for index, line in enumerate(section.lines):
        match = _PODMAN.match(line[:300])
        if match:
            values.setdefault(match["key"], match["value"])
            lines.append(index)
    if "graphRoot" not in values or "cgroupManager" not in values:
        return
    number = _FIRST_VERSION.search(values.get("Version", ""))
    fact = ContainerEngine(
        engine="podman",
        version=number[0] if number else None,
        default_runtime=values.get("name"),
        cgroup_driver=values["cgroupManager"],
        cgroup_version=int(values["cgroupVersion"][1:]) if values.get("cgroupVersion") in {"v1", "v2"} else None,
        root_dir=values["graphRoot"],
        rootless=values.get("rootless") == "true",
    )
    yield section.observe(fact, lines[0], lines[-1])


READER = Reader(
    "docker-info",
    read,
    markers=("Docker Root Dir:", "Default Runtime:", '"DockerRootDir"', "graphRoot: "),
    commands=("docker info", "podman info"),
)
