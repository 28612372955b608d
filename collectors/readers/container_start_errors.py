"""Why a container engine, its NVIDIA hook or the kubelet did not start a container.

    docker: Error response from daemon: could not select device driver "" with capabilities: [[gpu]].
    nvidia-container-cli: requirement error: unsatisfied condition: cuda>=12.8, please update your driver …
    failed to create pod sandbox: … no runtime for "nvidia" is configured

Follows the texts of Docker, containerd, Podman, libnvidia-container and nvidia-container-toolkit 1.0 to 1.18.
`Auto-detected mode as 'legacy'` is no error. What stands in backticks, or fits no form, gives nothing.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal, TypeAlias

from collectors.readers._lines import MOST_COLUMNS, is_lead, is_quoted
from collectors.readers._regex import regex
from kb.evidence import Reader, Reading, Section
from kb.facts.containers import ContainerStartError, StartProblem

_Speaker: TypeAlias = Literal["engine", "nvidia-container-cli", "cdi", "kubelet"]
_MOST_LINE = 4000
_CLI = r"nvidia-container-cli(?:\.real)?: "
_CLI_INIT = _CLI + r"(?:\w{1,20} error: )?"
_END = r"(?:\\|\"|$)"
_HOOK = r"[\w/.-]{0,60}nvidia-(?:container|ctk)[\w.-]{0,40}"
_LIBRARY = r"/[\w./+-]{1,160}/lib(?:cuda|nvidia|nvcuvid|EGL_nvidia|GLX_nvidia)[\w.-]{0,60}\.so[\w.]{0,30}"
_OF_ENGINE: tuple[tuple[StartProblem, str], ...] = (
    ("no-gpu-driver", r"could not select device driver \\?\"(?P<detail>\w{0,20})\\?\" with capabilities: "),
    ("unknown-runtime", r"unknown (?:or invalid )?runtime (?:specified|name:?)\W{1,4}(?P<detail>[\w.-]{1,40})"),
    ("hook-missing", rf"exec: \\*\"?(?P<detail>{_HOOK})\\*\"?: (?:executable file not found|stat )"),
    ("hook-missing", rf"fork/exec (?P<detail>{_HOOK}): no such file"),
    (
        "device-missing",
        (
            r"(?:l?stat|error stat'ing (?:file|device)) [`'\"]?"
            r"(?P<detail>(?:/run/nvidia/driver)?/dev/nvidia[\w/-]{0,60})[`'\"]?: no such file"
        ),
    ),
    ("device-missing", r"TASK ERROR: Device (?P<detail>/dev/nvidia[\w/-]{0,60}) does not exist"),
    (
        "device-missing",
        r"no such file or directory - Failed to mount \"(?P<detail>/dev/nvidia[\w/-]{0,60})\" on \"",
    ),
    ("driver-volume", r"no such volume: \\?\"?(?P<detail>nvidia_driver_\d{3}[.\d]{2,12}\d)"),
    (
        "device-missing",
        (
            r"error gathering device information while adding custom device "
            r"\\?\"(?P<detail>/dev/[\w/-]{1,80})\\?\": no such file"
        ),
    ),
)
_OF_KUBELET: tuple[tuple[StartProblem, str], ...] = (
    ("unknown-runtime", r"no runtime for \\?\"(?P<detail>[\w.-]{1,40})\\?\" is configured"),
)
_OF_CLI: tuple[tuple[StartProblem, str], ...] = (
    ("nvml-mismatch", _CLI_INIT + r"nvml error: driver/library version mismatch"),
    ("nvml-driver-not-loaded", _CLI_INIT + r"nvml error: driver not loaded"),
    ("nvml-other", _CLI_INIT + r"(?:nvml|cuda|driver(?: rpc)?) error: (?P<detail>[\w /]{3,60})"),
    ("library-not-found", _CLI_INIT + r"load library failed: (?P<detail>[\w.-]{3,60})"),
    ("cuda-requirement", _CLI + r"requirement error: unsatisfied condition: (?P<detail>[^,\\\"]{0,80})"),
    (
        "file-exists",
        _CLI
        + r"mount error: file creation failed: (?:\S{0,200}/(?:merged|rootfs))?(?P<detail>/\S{1,300}): file ex",
    ),
    ("ldcache", _CLI + rf"ldcache error: (?P<detail>.{{3,100}}?){_END}"),
    (
        "unknown-device",
        _CLI + r"device error: (?:unknown device id: )?"
        r"(?P<detail>[\w:./-]{1,80}?)(?:: unknown device|[\\\"]|$)",
    ),
    (
        "cgroup",
        _CLI + r"(?:mount|container|permission|cgroup) error: "
        rf"(?P<detail>.{{0,200}}?(?:cgroup|device rules|devices\.allow|bpf_prog).{{0,120}}?){_END}",
    ),
    ("permission", _CLI + rf"(?P<detail>(?:permission|privilege|user) error: .{{3,100}}?){_END}"),
    ("mount", _CLI + rf"(?P<detail>mount error: .{{3,400}}?){_END}"),
    ("other", _CLI + rf"(?P<detail>\w{{3,20}} error: .{{3,300}}?){_END}"),
)
_OF_CDI: tuple[tuple[StartProblem, str], ...] = (
    ("cdi-unresolvable", r"unresolvable CDI devices? (?P<detail>[\w./=,-]{3,120})"),
    ("cdi-stale", r"failed to stat CDI host device \\?\"?(?P<detail>/[\w./-]{3,200})"),
    (
        "cdi-stale",
        (
            r"(?:failed to fulfil mount request: open|cannot stat `?|error stat'ing file `?"
            r"|error mounting \\?\"|failed to stat) ?"
            rf"(?P<detail>{_LIBRARY})[^:]{{0,300}}: .{{0,600}}?no such file"
        ),
    ),
)
_SPEAKERS: tuple[tuple[_Speaker, tuple[tuple[StartProblem, str], ...]], ...] = (
    ("engine", _OF_ENGINE),
    ("kubelet", _OF_KUBELET),
    ("nvidia-container-cli", _OF_CLI),
    ("cdi", _OF_CDI),
)
_FORMS = tuple(
    (problem, speaker, regex(form, re.IGNORECASE)) for speaker, forms in _SPEAKERS for problem, form in forms
)
_FRAME = regex(
    r"Error response from daemon|OCI runtime|rpc error|stderr: |error running|level=(?:error|fatal)"
    r"|Error: |ERROR: |failed to (?:create|get|start|inject)|FailedCreatePodSandBox|RunContainerError"
    r"|Warning +Failed|msg=|crun: |TASK ERROR|lxc[- ]|conf\.c"
)
_MARKERS = (
    "could not select device driver",
    *("nknown runtime specified", "nknown or invalid runtime name", '" is configured'),
    *("nvidia-container-cli: ", "nvidia-container-cli.real: ", "nvidia-container-runtime", "nvidia-ctk"),
    *(
        "stat /dev/nvidia",
        "stat /run/nvidia",
        "stat'ing device ",
        "Device /dev/nvidia",
        'Failed to mount "/dev/nv',
    ),
    *("unresolvable CDI device", "failed to stat CDI host device", "failed to fulfil mount request"),
    *(
        "no such volume: nvidia_driver_",
        "error gathering device information",
        "cannot stat `/usr",
        "error mounting ",
        "error stat'ing file ",
    ),
)


@dataclass
class _Error:
    """One error and how often it was said."""

    detail: str | None
    text: str
    index: int
    count: int = 0


def read(section: Section) -> Iterator[Reading]:
    """ContainerStartError for each problem and speaker."""
    errors: dict[tuple[StartProblem, _Speaker], _Error] = {}
    for index, line in section.matching(*_MARKERS):
        text = line[:_MOST_LINE]
        found = _error(text)
        if found is not None:
            problem, speaker, match = found
            said = text[match.start() :].split("\\n", 1)[0].strip()[:300]
            detail = (match.groupdict().get("detail") or "").strip(" .") or None
            errors.setdefault((problem, speaker), _Error(detail, said, index)).count += 1
    for (problem, speaker), error in errors.items():
        fact = ContainerStartError(
            problem=problem, said_by=speaker, detail=error.detail, text=error.text, count=error.count
        )
        yield section.observe(fact, error.index)
    if errors:
        yield section.looked(ContainerStartError)


def _error(text: str) -> tuple[StartProblem, _Speaker, re.Match[str]] | None:
    """The first form that fits, if what stands before it is no prose."""
    for problem, speaker, form in _FORMS:
        match = form.search(text)
        if match is None:
            continue
        lead = text[: match.start()]
        if is_quoted(lead) or not (is_lead(lead) or _FRAME.search(lead[-MOST_COLUMNS:])):
            return None
        return problem, speaker, match
    return None


READER = Reader("container-start-errors", read, markers=_MARKERS)
