"""Who the user is and how the driver makes its device files: id, uid_map, the driver's parameters.

    uid=1000(user) gid=1000(user) groups=1000(user),27(video),44(render)
             0     100000      65536
    DeviceFileMode: 438

Follows id(1), user_namespaces(7), /proc/driver/nvidia/params and the container toolkit's log. The driver prints
its numbers in decimal: 438 is 0666, and a 666 that was meant as octal is 1232. Other lines give nothing.
"""

from __future__ import annotations

from collections.abc import Iterator

from collectors.readers._device_files import access
from collectors.readers._lines import command_of, is_lead
from collectors.readers._regex import regex
from kb.evidence import Observed, Reader, Reading, Section
from kb.facts.devices import DeviceFilePolicy, UserIdentity, UserNamespace

_ID = regex(
    r"uid=(?P<uid>\d{1,10})(?:\([^)]{1,64}\))? gid=(?P<gid>\d{1,10})(?:\([^)]{1,64}\))?(?P<rest>.{0,4000})"
)
_GROUPS = regex(r" groups=(?P<groups>\S{1,4000})")
_GROUP = regex(r"\d{1,10}\((?P<name>[^)]{1,64})\)")
_UID_MAP = regex(r"\s{0,12}0\s{1,12}(?P<host>\d{1,10})\s{1,12}(?P<length>\d{1,10})\s*$")
_MAP_COMMAND = regex(r"cat /proc/(?:self|1|\d{1,10})/uid_map\s*$")
_IN_NAMESPACE = "skipping kernel modules load due to user namespace"
_PARAMETER = regex(
    r"(?:\S{0,80}:)?(?P<name>ModifyDeviceFiles|DeviceFile(?:UID|GID|Mode)): (?P<value>\d{1,10})\s*$"
)


def read(section: Section) -> Iterator[Reading]:
    """UserIdentity, UserNamespace and DeviceFilePolicy, the first of each."""
    for found in (_identity(section), _namespace(section), _policy(section)):
        for observed in found:
            yield observed
            yield section.looked(type(observed.fact))


def _identity(section: Section) -> Iterator[Observed]:
    for index, line in section.matching("uid="):
        match = _ID.match(line[:5000].strip())
        if match is None:
            continue
        groups = _GROUPS.search(match["rest"])
        names = [found["name"] for found in _GROUP.finditer(groups["groups"])] if groups else None
        fact = UserIdentity(
            uid=int(match["uid"]),
            gid=int(match["gid"]),
            root=int(match["uid"]) == 0,
            groups=", ".join(names)[:400] if names else None,
            in_video="video" in names if names is not None else None,
            in_render="render" in names if names is not None else None,
        )
        yield section.observe(fact, index)
        return


def _namespace(section: Section) -> Iterator[Observed]:
    """From the map of a process, or from what the container toolkit says of its own."""
    is_map = _MAP_COMMAND.match(command_of(section)) is not None or section.path.endswith("uid_map")
    for index, line in enumerate(section.lines):
        if is_map and (match := _UID_MAP.match(line[:100])):
            host = int(match["host"])
            yield section.observe(UserNamespace(mapped=host != 0, host_uid=host), index)
            return
        if _IN_NAMESPACE in line[:400] and is_lead(line[: line.index(_IN_NAMESPACE)]):
            yield section.observe(UserNamespace(mapped=True), index)
            return


def _policy(section: Section) -> Iterator[Observed]:
    values: dict[str, int] = {}
    lines: list[int] = []
    for index, line in section.matching("DeviceFile"):
        match = _PARAMETER.match(line[:200].strip())
        if match and match["name"] not in values:
            values[match["name"]] = int(match["value"])
            lines.append(index)
    if not values:
        return
    mode = f"{values['DeviceFileMode'] & 0o7777:04o}" if "DeviceFileMode" in values else None
    fact = DeviceFilePolicy(
        modify=bool(values["ModifyDeviceFiles"]) if "ModifyDeviceFiles" in values else None,
        mode=mode,
        uid=values.get("DeviceFileUID"),
        gid=values.get("DeviceFileGID"),
        access=access(mode) if mode else None,
    )
    yield section.observe(fact, lines[0], lines[-1])


READER = Reader(
    "identity",
    read,
    markers=("uid=", "DeviceFileMode: ", "ModifyDeviceFiles: ", _IN_NAMESPACE),
    commands=("id", "cat /proc/self/uid_map", "cat /proc/1/uid_map", "cat /proc/driver/nvidia/params"),
)
