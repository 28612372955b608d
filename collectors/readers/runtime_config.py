"""Configuration of container runtimes: Docker's daemon.json, containerd, CRI-O, and the NVIDIA toolkit's own.

    "runtimes": {"nvidia": {"path": "nvidia-container-runtime", "runtimeArgs": []}}
    [plugins."io.containerd.grpc.v1.cri".containerd.runtimes.nvidia]
    no-cgroups = true

Follows dockerd(8), containerd's config.toml versions 1 to 3, crio.conf and nvidia-container-runtime/config.toml
of toolkit 1.3 to 1.18. Commented lines are no settings. Broken JSON, and files of other programs, give nothing.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

from collectors.readers._lines import MOST_COLUMNS, command_of
from collectors.readers._regex import regex
from kb.evidence import Observed, Reader, Reading, Section
from kb.facts.containers import RuntimeConfig

_TABLE = regex(r"\s{0,20}\[{1,2}(?P<name>[^\]]{1,200})\]{1,2}\s*$")
_VALUE = regex(
    r"\s{0,20}(?P<key>[A-Za-z_-]{2,60})\s{0,10}=\s{0,10}[\"']?(?P<value>[^\"'#]{1,200}?)[\"']?\s{0,10}(?:#.{0,200})?$"
)
_NVIDIA_TABLE = regex(r"(?:containerd|crio\.runtime)\.runtimes\.\"?nvidia\"?$")
_MOST_CHARACTERS = 400_000
_TRUTH = {"true": True, "false": False}


def read(section: Section) -> Iterator[Reading]:
    """One RuntimeConfig for each file that the section shows."""
    found = [*_docker(section), *_toml(section)]
    yield from found
    if found:
        yield section.looked(RuntimeConfig, complete="|" not in command_of(section), reason="not-collected")


def _docker(section: Section) -> Iterator[Observed]:
    """daemon.json, where the section is nothing else."""
    first = next((index for index, line in enumerate(section.lines) if line.strip()), None)
    if first is None or not section.lines[first].lstrip().startswith("{"):
        return
    text = section.text
    if len(text) > _MOST_CHARACTERS:
        return
    try:
        config = json.loads(text)
    except (ValueError, RecursionError):
        return
    if not isinstance(config, dict) or not _is_daemon(section, config):
        return
    runtimes, options, features = (config.get(key) for key in ("runtimes", "exec-opts", "features"))
    drivers = [str(option).partition("=")[2] for option in options or () if "cgroupdriver=" in str(option)]
    default = config.get("default-runtime")
    fact = RuntimeConfig(
        file="docker",
        nvidia_runtime=isinstance(runtimes, dict) and "nvidia" in runtimes,
        default_runtime=default if isinstance(default, str) else None,
        cgroup_driver=drivers[-1] if drivers else None,
        cdi=features.get("cdi") is True if isinstance(features, dict) else None,
    )
    yield section.observe(fact, first, len(section.lines) - 1)


def _is_daemon(section: Section, config: dict[str, Any]) -> bool:
    """Whether it is Docker's: by its name, or by a key that nothing else has."""
    if "daemon.json" in section.path or "daemon.json" in (section.command or ""):
        return True
    runtimes = config.get("runtimes")
    if isinstance(runtimes, dict) and any(isinstance(one, dict) and "path" in one for one in runtimes.values()):
        return True
    return isinstance(config.get("exec-opts"), list) or "default-runtime" in config


def _toml(section: Section) -> Iterator[Observed]:
    """containerd, CRI-O and the NVIDIA toolkit: tables and keys, whatever else stands around them."""
    keys: dict[tuple[str, str], str] = {}
    tables: dict[str, int] = {}
    table = ""
    last = 0
    for index, whole in enumerate(section.lines):
        line = whole[:MOST_COLUMNS]
        heading = _TABLE.match(line) if "[" in line else None
        if heading:
            table = heading["name"]
            tables.setdefault(table, index)
        elif "=" in line and (match := _VALUE.match(line)):
            keys.setdefault((table, match["key"]), match["value"])
        else:
            continue
        last = index
    yield from _nvidia(section, keys, tables, last)
    yield from _cri(section, keys, tables, last)


def _nvidia(
    section: Section, keys: dict[tuple[str, str], str], tables: dict[str, int], last: int
) -> Iterator[Observed]:
    """nvidia-container-runtime/config.toml. An option that its table does not set is off by default."""
    cli, runtime = "nvidia-container-cli", "nvidia-container-runtime"
    if cli not in tables:
        return
    follows = any(line > tables[cli] for line in tables.values())
    no_cgroups = keys.get((cli, "no-cgroups"))
    fact = RuntimeConfig(
        file="nvidia",
        no_cgroups=_TRUTH.get(no_cgroups or "", False if follows and no_cgroups is None else None),
        mode=keys.get((runtime, "mode")),
        driver_root=keys.get((cli, "root")),
    )
    yield section.observe(fact, tables[cli], last)


def _cri(
    section: Section, keys: dict[tuple[str, str], str], tables: dict[str, int], last: int
) -> Iterator[Observed]:
    is_crio = any(name.startswith("crio") for name in tables)
    is_containerd = any("containerd" in name and name.startswith("plugins") for name in tables)
    if not (is_crio or is_containerd):
        return
    by_key = {key: value for (_, key), value in keys.items()}
    systemd = by_key.get("SystemdCgroup")
    driver = by_key.get("cgroup_manager") or ("systemd" if systemd == "true" else "cgroupfs" if systemd else None)
    fact = RuntimeConfig(
        file="cri-o" if is_crio else "containerd",
        nvidia_runtime=any(_NVIDIA_TABLE.search(name) for name in tables),
        default_runtime=by_key.get("default_runtime_name") or by_key.get("default_runtime"),
        cgroup_driver=driver,
        cdi=_TRUTH.get(by_key.get("enable_cdi", "")),
    )
    yield section.observe(fact, min(tables.values()), last)


READER = Reader(
    "runtime-config",
    read,
    markers=(
        '"runtimes"',
        '"default-runtime"',
        "native.cgroupdriver",
        "containerd.runtimes",
        "[nvidia-container-cli]",
        "[crio.runtime",
    ),
    commands=("cat /etc/docker/daemon.json", "cat /etc/containerd/config.toml"),
)
