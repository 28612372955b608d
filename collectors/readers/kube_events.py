"""Warnings of Kubernetes: the events of `kubectl describe` and `kubectl get events`.

      Warning  FailedScheduling  2m (x5 over 9m)  default-scheduler  0/3 nodes are available: 3 Insufficient nvidia.com/gpu.
    14m   Warning   FailedCreatePodSandBox   pod/gpu-test   … no runtime for "nvidia" is configured

Follows kubectl 1.18 to 1.34 and oc. Rows are told by their form under a heading of events; normal events, and
warnings without a heading, give nothing. Those of one reason and meaning are counted together.
"""  # noqa: E501 - lines as they are

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

from collectors.readers._lines import MOST_COLUMNS, command_of
from collectors.readers._regex import regex
from kb.evidence import Reader, Reading, Section
from kb.facts.kubernetes import EventClass, PodEvent

_HEADING = regex(
    r"\s{0,8}Events:\s*$|\s{0,8}Type\s{1,12}Reason\s{1,60}Age\s|(?:NAMESPACE\s{1,80})?LAST SEEN\s{1,20}TYPE\s"
)
_DESCRIBED = regex(
    r"\s{1,8}Warning\s{1,12}(?P<reason>[A-Z]\w{2,60})\s{1,60}\S{1,20}(?: \(x(?P<count>\d{1,6}) over \S{1,20}\))?"
    r"\s{1,60}[\w.-]{2,80}(?:, \S{1,200})?\s{1,200}(?P<message>\S.*)$"
)
_LISTED = regex(
    r"(?:[a-z0-9][\w.-]{0,80}\s{1,80})?\S{1,20}(?: \(x(?P<count>\d{1,6}) over \S{1,20}\))?"
    r"\s{1,20}Warning\s{1,12}(?P<reason>[A-Z]\w{2,60})\s{1,60}(?P<object>[a-z]{2,40}/\S{1,253})\s{1,200}(?P<message>\S.*)$"
)
_BY_MESSAGE: tuple[tuple[EventClass, str], ...] = (
    ("insufficient-gpu", r"Insufficient (?:nvidia\.com/|amd\.com/gpu)"),
    ("runtime-missing", r"no runtime for|unknown runtime|RuntimeClass .{0,80}not found"),
    (
        "device-allocation",
        r"Allocate failed|UnexpectedAdmissionError|no healthy devices|device plugin|OutOfnvidia",
    ),
    ("insufficient-other", r"Insufficient [a-z]"),
    ("taint", r"untolerated taint|had taint"),
    ("affinity", r"node affinity|node selector|volume node affinity"),
    ("image", r"[Pp]ull(?:ing)? image|ErrImage|ImagePull"),
    ("crash", r"restarting failed container"),
    ("quota", r"exceeded quota"),
)
_BY_REASON: dict[str, EventClass] = {
    "FailedMount": "mount",
    "FailedAttachVolume": "mount",
    "Unhealthy": "probe",
    "Evicted": "evicted",
    "UnexpectedAdmissionError": "device-allocation",
    "ErrImagePull": "image",
    "ImagePullBackOff": "image",
}
_CLASSES = tuple((class_, regex(form)) for class_, form in _BY_MESSAGE)
_MOST_SORTS = 60


@dataclass
class _Event:
    """One sort of warning."""

    object: str | None
    message: str
    index: int
    count: int = 0


def read(section: Section) -> Iterator[Reading]:
    """PodEvent for each reason and class of warning."""
    events: dict[tuple[str, EventClass], _Event] = {}
    inside = False
    for index, whole in enumerate(section.lines):
        line = whole[:MOST_COLUMNS]
        if not inside:
            inside = ("Events:" in line or "Reason" in line or "LAST SEEN" in line) and _HEADING.match(
                line
            ) is not None
            continue
        if "Warning" not in line:
            continue
        match = _DESCRIBED.match(line) or _LISTED.match(line.lstrip())
        if match:
            _add(events, match, index)
    for (reason, class_), event in events.items():
        fact = PodEvent(
            reason=reason, class_=class_, object=event.object, message=event.message[:300], count=event.count
        )
        yield section.observe(fact, event.index)
    if events or inside:
        shows_all = " get events" in command_of(section) and "|" not in command_of(section)
        yield section.looked(PodEvent, complete=shows_all, reason="not-collected")


def _add(events: dict[tuple[str, EventClass], _Event], match: re.Match[str], index: int) -> None:
    found = match.groupdict()
    reason, message = match["reason"], match["message"].strip()
    class_ = next((name for name, form in _CLASSES if form.search(message)), _BY_REASON.get(reason, "other"))
    key = (reason, class_)
    if key in events or len(events) < _MOST_SORTS:
        event = events.setdefault(key, _Event(found.get("object"), message, index))
        event.count += int(found.get("count") or 1)


READER = Reader(
    "kube-events",
    read,
    markers=("Events:", "LAST SEEN"),
    commands=("kubectl get events", "kubectl describe", "oc get events"),
)
