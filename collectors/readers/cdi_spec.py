"""CDI specifications for NVIDIA devices (YAML or JSON), and what `nvidia-ctk cdi list` says of them.

    kind: nvidia.com/gpu
      - containerPath: /usr/lib/x86_64-linux-gnu/libcuda.so.580.95.05
    INFO[0000] Found 9 CDI devices

Follows `nvidia-ctk cdi generate` of toolkit 1.12 to 1.18. The releases are those in the names of the libraries to
be mounted; a specification of another vendor, or one without devices, gives nothing.
"""

from __future__ import annotations

from collections.abc import Iterator

from collectors.readers._lines import MOST_COLUMNS, command_of
from collectors.readers._regex import regex
from kb.evidence import Observed, Reader, Reading, Section
from kb.facts.base import version_key
from kb.facts.containers import CdiSpec

_KIND = regex(r"\s{0,20}\"?kind\"?\s{0,4}:\s{0,4}\"?nvidia\.com/gpu\"?,?\s*$")
_NAME = regex(
    r"\s{0,20}(?:- )?\"?name\"?\s{0,4}:\s{0,4}[\"']?"
    r"(?P<name>all|\d{1,3}(?::\d{1,3})?|(?:GPU|MIG)-[\w-]{1,60})[\"']?,?\s*$"
)
_MOUNT = regex(
    r"\s{0,40}(?:- )?\"?(?:hostPath|containerPath)\"?\s{0,4}:\s{0,4}\"?/\S{0,300}/"
    r"lib(?:cuda|nvidia-[\w-]{1,40})\.so\.(?P<version>\d{3}(?:\.\d{1,4}){1,2})\"?,?\s*$"
)
_LISTED = regex(r"(?:INFO\[\d{1,6}\] |time=.{0,80}msg=\"?)?Found (?P<count>\d{1,4}) CDI devices?\"?\s*$")
_ALL = "nvidia.com/gpu=all"


def read(section: Section) -> Iterator[Reading]:
    """CdiSpec of the specification that the section holds, or of the tool's list."""
    found = [*_specification(section), *_list(section)]
    yield from found
    if found:
        yield section.looked(CdiSpec, complete="|" not in command_of(section), reason="not-collected")


def _specification(section: Section) -> Iterator[Observed]:
    kind: int | None = None
    names: set[str] = set()
    versions: dict[str, int] = {}
    for index, whole in enumerate(section.lines):
        line = whole[:MOST_COLUMNS]
        if kind is None and "nvidia.com/gpu" in line and _KIND.match(line):
            kind = index
        elif "name" in line and (match := _NAME.match(line)):
            names.add(match["name"])
        elif ".so." in line and (match := _MOUNT.match(line)):
            versions.setdefault(match["version"], index)
    if kind is None or not (names or versions):
        return
    highest = max(versions, key=lambda version: version_key(version) or 0, default=None)
    fact = CdiSpec(devices=len(names), version=highest, versions=max(len(versions), 1), all_device="all" in names)
    yield section.observe(fact, versions[highest] if highest else kind)


def _list(section: Section) -> Iterator[Observed]:
    for index, line in section.matching("CDI device"):
        match = _LISTED.match(line[:300])
        if match:
            has_all = any(line.strip() == _ALL for line in section.lines)
            yield section.observe(CdiSpec(devices=int(match["count"]), all_device=has_all), index)
            return


READER = Reader(
    "cdi-spec",
    read,
    markers=("nvidia.com/gpu", "CDI device"),
    commands=("cat /etc/cdi/", "cat /var/run/cdi/", "nvidia-ctk cdi list"),
)
