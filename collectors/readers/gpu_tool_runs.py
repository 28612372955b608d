"""Where the GPU tool was run, and what came of it, from transcripts that show both command and output.

    $ docker exec trainer nvidia-smi -L
    Failed to initialize NVML: Unknown Error
    $ docker run --rm --gpus all -u 1000 ubuntu nvidia-smi -L

Follows nvidia-smi on the host and in docker, podman, nerdctl, nvidia-docker, kubectl exec and Singularity. One place
that works beside one that does not is what tells a container from its host. A command without output, or with one
that shows neither GPUs nor an error, gives nothing.
"""

from __future__ import annotations

from collections.abc import Iterator

from collectors.readers._lines import MOST_COLUMNS
from collectors.readers._regex import regex
from collectors.readers.nvml_error import said_by
from kb.evidence import Observed, Reader, Reading, Section, Source
from kb.facts.containers import GpuToolRun, ToolOutcome, ToolPlace

_SUDO = regex(r"(?:time )?(?:(?P<sudo>sudo)(?: -\S{1,20}){0,3} )?(?:time )?")
_TOOL = regex(r"(?:\S{0,80}/)?nvidia-smi\b(?! (?:-pm|-mig|-r\b|-pl|-lgc|-q |-e |-c |mig |conf-compute))")
_ENGINE = regex(
    r"(?P<engine>docker|podman|nerdctl|nvidia-docker)(?: compose| container)? "
    r"(?P<verb>run|exec|start)(?P<rest> .{1,2000})"
)
_KUBECTL = regex(r"(?:kubectl|oc)(?: \S{1,120}){0,6} exec (?P<rest>.{1,1000}?) -- ")
_HPC = regex(r"(?:singularity|apptainer)(?: -\S{1,20}){0,3} (?:exec|run) (?P<rest>.{1,1000})")
_USER = regex(r" (?:-u|--user)[ =]\"?(?P<user>[\w.-]{1,40})")
_NAMESPACE = regex(r" --userns[ =]keep-id\b| --group-add[ =]keep-groups\b")
_LISTED = regex(r"GPU \d{1,2}: .{3,80} \(UUID: ")
_TABLE = regex(r"\|?\s{0,4}NVIDIA-SMI \d{3}[\d.]{0,12}\s")
_NO_LIBRARY = regex(r".{0,200}(?:nvidia-smi\"?: (?:executable file )?(?:command )?not found|libnvidia-ml\.so)")
_START = regex(r".{0,200}(?:Error response from daemon|OCI runtime|nvidia-container-cli(?:\.real)?: |^Error: )")
_MOST_LINES = 40


def read(section: Section) -> Iterator[Reading]:
    """GpuToolRun for the command of the section, if it ran nvidia-smi or started a container with it."""
    command = " ".join((section.command or "")[:MOST_COLUMNS].split())
    lead = _SUDO.match(command)
    place = _place(command[lead.end() :] if lead else command)
    if place is None:
        return
    outcome = _outcome(section)
    if outcome is None:
        return
    said, index = outcome
    where, user, widened = place
    fact = GpuToolRun(
        where=where, user=user, keeps_groups=widened, sudo=bool(lead and lead["sudo"]), outcome=said
    )
    yield Observed(fact, _source(section, command, index))
    yield section.looked(GpuToolRun, complete=False, reason="not-collected")


def _source(section: Section, command: str, index: int) -> Source:
    """The command with the line that tells what came of it."""
    first = max(section.first_line - 1, 1)
    text = f"{command[:200]}\n{section.lines[index][:200]}"
    return Source(section.path, first, section.number(index), text, section.sha256)


def _place(command: str) -> tuple[ToolPlace, str, bool] | None:
    """Where a command runs nvidia-smi: the place, the user that was asked for, whether groups are kept."""
    if _TOOL.match(command):
        return "host", "default", False
    engine = _ENGINE.match(command)
    if engine is not None:
        rest = engine["rest"]
        if engine["verb"] != "start" and not _TOOL.search(rest):
            return None
        where: ToolPlace = "new-container" if engine["verb"] == "run" else "old-container"
        return where, _user(rest), _NAMESPACE.search(rest) is not None
    kubectl = _KUBECTL.match(command)
    if kubectl is not None:
        return ("old-container", "default", False) if _TOOL.match(command[kubectl.end() :]) else None
    hpc = _HPC.match(command)
    return ("new-container", "default", False) if hpc is not None and _TOOL.search(hpc["rest"]) else None


def _user(rest: str) -> str:
    match = _USER.search(rest)
    if match is None:
        return "default"
    return "root" if match["user"] in {"0", "root"} else "other"


def _outcome(section: Section) -> tuple[ToolOutcome, int] | None:
    """What the first lines of the output say, and which of them."""
    for index, whole in enumerate(section.lines[:_MOST_LINES]):
        line = whole[:MOST_COLUMNS]
        problem = said_by(line)
        if problem is not None:
            return problem, index
        if _LISTED.match(line) or _TABLE.match(line):
            return "works", index
        if _START.match(line):
            return "not-started", index
        if _NO_LIBRARY.match(line):
            return "library-not-found", index
    return None


READER = Reader(
    "gpu-tool-runs",
    read,
    markers=(),
    commands=tuple(
        f"{sudo}{program}"
        for sudo in ("", "sudo ", "time ")
        for program in (
            *("nvidia-smi", "docker ", "podman ", "nerdctl ", "nvidia-docker ", "kubectl ", "oc ", "singularity "),
            "apptainer ",
        )
    ),
)
