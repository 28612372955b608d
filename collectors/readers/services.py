"""Services of systemd: systemctl status, is-active, is-enabled, list-units, and what systemd logs of them.

         Active: failed (Result: exit-code) since Mon 2025-02-24 09:28:28 UTC; 12min ago
    Unit nvidia-fabricmanager.service could not be found.
    systemd[1]: nvidia-fabricmanager.service: Failed with result 'exit-code'.

Follows systemd 219 to 257. Listings and logs tell only services that GPU jobs rest on; of a log its last word on a
service counts. A status without its line `Active:` gives nothing.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from collectors.readers import _kernel_log
from collectors.readers._lines import MOST_COLUMNS, command_of
from collectors.readers._regex import regex
from kb.evidence import Reader, Reading, Section
from kb.facts.services import Service

_STATES = frozenset(("active", "inactive", "failed", "activating", "deactivating", "reloading", "unknown"))
_KNOWN = regex(
    r"nvidia-|nv[a-z]*lsm|nv_|dcgm|datacenter-gpu|docker$|containerd$|crio$|kubelet$|k3s|rke2|slurm|munge$"
    r"|openibd$|opensmd?$|rdma|gdrcopy|gpu-manager$|nvsm|lxc$|podman$|ray$"
)
_BULLET = r"\s{0,4}(?:[\u25cf\u25cb\u00d7\u21bb\u25cc*] )?"
_NAME = r"(?P<name>[\w@.:\\-]{1,100})"
_HEAD = regex(rf"{_BULLET}{_NAME}\.(?:service|socket|timer)(?: - .{{0,200}})?\s*$")
_LOADED = regex(
    r"\s{3,12}Loaded: (?P<load>[\w-]{3,12})(?: \((?:[^;)]{1,300}; )?(?:(?P<enabled>[\w-]{3,20})(?=[;)]))?)?"
)
_ACTIVE = regex(
    r"\s{3,12}Active: (?P<active>[a-z]{5,12})(?: \((?P<sub>[\w-]{2,20})\))?"
    r"(?: \(Result: (?P<result>[\w-]{2,30})\))?(?: since (?P<since>[^;]{5,60}))?(?:;.{0,60})?\s*$"
)
_EXITED = regex(
    r"\s{1,12}(?:Main PID|Process): \d{1,10} .{0,400}?\(code=(?P<code>\w{2,10}), status=(?P<status>\d{1,4})"
)
_NOT_FOUND = regex(r"Unit (?P<name>[\w@.:-]{1,100})\.service could not be found\.")
_ASKED = regex(
    r"systemctl (?:--\S{1,30} )*(?P<verb>is-active|is-enabled|is-failed)(?P<names>(?: [\w@.:-]{1,100}){1,20})\s*$"
)
_LISTED = regex(
    rf"{_BULLET}{_NAME}\.service\s{{1,100}}(?P<load>loaded|not-found|masked|error|bad-setting)\s{{1,12}}"
    r"(?P<active>active|inactive|failed|activating|deactivating|reloading)\s{1,12}(?P<sub>[\w-]{2,20})(?:\s|$)"
)
_FILE_LISTED = regex(
    rf"\s{{0,4}}{_NAME}\.service\s{{1,100}}"
    r"(?P<enabled>enabled|disabled|static|masked|generated|indirect|alias)(?:\s|$)"
)
_LOGGED = regex(
    r"systemd\[\d{1,8}\]: (?P<name>[\w@.:-]{1,100})\.service: (?:Failed with result '(?P<result>[\w-]{2,30})'"
    r"|(?:Main|Control) process exited, code=(?P<code>\w{2,10}), status=(?P<status>\d{1,4})"
    r"|(?P<gone>Deactivated successfully|Succeeded)\.)"
)
_STARTED = regex(
    r"systemd\[\d{1,8}\]: (?P<what>Started|Stopped) (?P<name>[^.]{2,100}?)(?:\.service)?(?: - .{0,200})?\.?\s*$"
)
_BOOT = regex(r"-- (?:Boot [0-9a-f]{32}|Reboot) --")
_TITLES = {
    "nvidia fabric manager service": "nvidia-fabricmanager",
    "nvidia persistence daemon": "nvidia-persistenced",
    "nvidia imex service": "nvidia-imex",
    "nvidia dcgm service": "nvidia-dcgm",
    "docker application container engine": "docker",
    "slurm node daemon": "slurmd",
}
_MOST_SERVICES = 200
_FEWEST_OF_ALL = 10
"""Services that every system has; a listing of fewer was asked for some only."""


@dataclass
class _Service:
    """One service as far as it was read."""

    fields: dict[str, Any]
    first: int
    last: int
    is_status: bool = False


def read(section: Section) -> Iterator[Reading]:
    """Service for each; its status counts before what a listing says of it, and that before a log."""
    services: dict[str, _Service] = {}
    _log(section, services)
    _asked(section, services)
    _lists(section, services)
    _status(section, services)
    for name, service in list(services.items())[:_MOST_SERVICES]:
        if service.fields:
            yield section.observe(
                Service.model_validate({"name": name, **service.fields}), service.first, service.last
            )
    if services:
        shows_all = sum(_LISTED.match(line[:400]) is not None for line in section.lines) >= _FEWEST_OF_ALL
        whole = shows_all and "|" not in command_of(section) and " --" not in command_of(section)
        yield section.looked(Service, complete=whole, reason="not-collected")


def _put(services: dict[str, _Service], name: str, index: int, fields: dict[str, Any]) -> None:
    service = services.setdefault(name, _Service({}, index, index))
    service.fields |= {key: value for key, value in fields.items() if value is not None}
    service.first, service.last = min(service.first, index), max(service.last, index)


def _status(section: Section, services: dict[str, _Service]) -> None:
    name: str | None = None
    for index, whole in enumerate(section.lines):
        line = whole[:MOST_COLUMNS]
        head, gone = _HEAD.match(line), _NOT_FOUND.match(line)
        if gone:
            services[gone["name"]] = _Service({"active": "inactive", "installed": False}, index, index)
        elif head:
            name = head["name"]
            following = section.lines[index + 1][:40] if index + 1 < len(section.lines) else ""
            if not following.lstrip().startswith("Loaded:"):
                name = None
            else:
                services[name] = _Service({}, index, index, is_status=True)
        elif name and (loaded := _LOADED.match(line)):
            masked = loaded["load"] == "masked"
            enabled = "masked" if masked else loaded["enabled"]
            _put(services, name, index, {"installed": loaded["load"] != "not-found", "enabled": enabled})
        elif name and (active := _ACTIVE.match(line)):
            state = active["active"] if active["active"] in _STATES else "unknown"
            fields = {"active": state, "sub": active["sub"], "result": active["result"]}
            _put(services, name, index, fields | {"since": active["since"]})
        elif name and (exited := _EXITED.match(line)) and exited["code"] in {"exited", "dumped", "killed"}:
            _put(services, name, index, {"exit_code": int(exited["status"])})
    for cut in [one for one, service in services.items() if service.is_status and "active" not in service.fields]:
        del services[cut]


def _asked(section: Section, services: dict[str, _Service]) -> None:
    """`systemctl is-active a b`: one word a line, in the order of the names."""
    asked = _ASKED.match(command_of(section))
    if asked is None:
        return
    names = [name.removesuffix(".service") for name in asked["names"].split()]
    words = [(index, line.strip()) for index, line in enumerate(section.lines) if line.strip()]
    if len(words) < len(names):
        return
    for name, (index, word) in zip(names, words, strict=False):
        if asked["verb"] == "is-enabled":
            _put(services, name, index, {"enabled": word[:20] if " " not in word else None})
        elif word in _STATES:
            _put(services, name, index, {"active": word})


def _lists(section: Section, services: dict[str, _Service]) -> None:
    for index, line in section.matching(".service "):
        match = _LISTED.match(line[:400]) or _FILE_LISTED.match(line[:400])
        if match is None or not _KNOWN.match(match["name"]):
            continue
        found = match.groupdict()
        installed = None if found.get("load") is None else found["load"] != "not-found"
        fields = {"active": found.get("active"), "sub": found.get("sub"), "enabled": found.get("enabled")}
        _put(services, match["name"], index, fields | {"installed": installed})


def _log(section: Section, services: dict[str, _Service]) -> None:
    """Services whose last word in systemd's log is a failure or a start; a stop is what every shutdown does."""
    for index, whole in section.matching("systemd[", "Linux version ", "-- Boot ", "-- Reboot --"):
        line = whole[:MOST_COLUMNS]
        if _BOOT.match(line) or _kernel_log.starts_boot(line):
            services.clear()
            continue
        match, started = _LOGGED.search(line), _STARTED.search(line)
        if match and _KNOWN.match(match["name"]):
            fields: dict[str, Any] = {"exit_code": int(match["status"]) if match["status"] else None}
            if match["result"]:
                fields = {"active": "failed", "result": match["result"]}
            _put(services, match["name"], index, fields)
            if match["gone"]:
                del services[match["name"]]
        elif started:
            name = _TITLES.get(started["name"].lower(), started["name"])
            services.pop(name, None)
            if _KNOWN.match(name) and started["what"] == "Started":
                services[name] = _Service({"active": "active"}, index, index)
    for name in [name for name, service in services.items() if "active" not in service.fields]:
        del services[name]


READER = Reader(
    "services",
    read,
    markers=(
        *("   Active: ", "could not be found.", ".service  ", "service: Failed with result"),
        *("service: Main process exited", "service: Control process exited"),
    ),
    commands=("systemctl ", "/usr/bin/systemctl"),
    lines=(
        *("   Active: ", "   Loaded: ", "could not be found.", "service: Failed with result"),
        *("service: Main process exited", "service: Control process exited", "Started NVIDIA", "Started nvidia-"),
        *("-- Boot ", "-- Reboot --", *_kernel_log.BOOT_MARKERS),
    ),
)
