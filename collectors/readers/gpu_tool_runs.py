"""Where the GPU tool was run, and what came of it, from transcripts that show both command and output.

    $ docker exec trainer nvidia-smi -L
    Failed to initialize NVML: Unknown Error
    $ docker run --rm --gpus all -u 1000 ubuntu nvidia-smi -L

Follows nvidia-smi on the host and in docker, podman, nerdctl, nvidia-docker, kubectl, LXC and Singularity. One
place that works beside one that does not is what tells a container from its host. A command without output, or
with one that shows neither GPUs nor an error, gives nothing.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Literal, TypeAlias

from collectors.readers._lines import MOST_COLUMNS
from collectors.readers._regex import regex
from collectors.readers.nvml_error import said_by
from kb.evidence import Observed, Reader, Reading, Section
from kb.facts.containers import GpuToolRun, ToolOutcome, ToolPlace

_User: TypeAlias = Literal["default", "root", "other"]
_SUDO = regex(r"(?:time )?(?:(?P<sudo>sudo)(?: -\S{1,20}){0,3} )?(?:time )?")
_TOOL = regex(r"(?:\S{0,80}/)?nvidia-smi\b(?! (?:-pm|-mig|-r\b|-pl|-lgc|-q |-e |-c |mig |conf-compute))")
_ENGINE = regex(
    r"(?P<engine>docker|podman|nerdctl|nvidia-docker)(?: compose| container)? "
    r"(?P<verb>run|exec|start)(?P<rest> .{1,2000})"
)
_KUBECTL = regex(r"(?:kubectl|oc)(?: \S{1,120}){0,6} exec (?P<rest>.{1,1000}?) -- ")
_LXC = regex(
    r"(?:pct exec \d{1,9}|(?:lxc|incus) exec \S{1,100}|lxc-attach (?:-n |--name[= ])?\S{1,100}"
    r"|crictl exec (?:-\S{1,20} ){0,3}\S{1,100}) "
    r"(?:-- )?"
)
_HPC = regex(r"(?:singularity|apptainer)(?: -\S{1,20}){0,3} (?:exec|run) (?P<rest>.{1,1000})")
_USER = regex(r" (?:-u|--user)[ =]\"?(?P<user>[\w.-]{1,40})")
_NAMESPACE = regex(r" --userns[ =]keep-id\b| --group-add[ =]keep-groups\b")
_LISTED = regex(r"GPU \d{1,2}: .{3,80} \(UUID: ")
_TABLE = regex(r"\|?\s{0,4}NVIDIA-SMI \d{3}[\d.]{0,12}\s")
_ASKS = regex(r".{0,600}nvidia-smi .{0,200}--query-gpu[= ]")
_ANSWERED = regex(
    r"(?:[^,]{1,60}, ?){0,8}"
    r"(?:(?:NVIDIA|Tesla|Quadro|GeForce|TITAN|GRID) \S.{0,200}|\d{3}\.\d{2,3}(?:\.\d{2})?\s*$)"
)
"""A row of what was asked for: the name of a GPU, or the release of the driver."""
_NO_LIBRARY = regex(r".{0,200}(?:nvidia-smi\"?: (?:executable file )?(?:command )?not found|libnvidia-ml\.so)")
_START = regex(r".{0,200}(?:Error response from daemon|OCI runtime|nvidia-container-cli(?:\.real)?: |^Error: )")
_PLAIN = regex(
    r"(?:sudo )?(?:nvidia-smi(?: -L)?\s*$|(?:docker|podman|nerdctl|nvidia-docker) (?:run|exec|start) -?\S"
    r"|(?:kubectl|oc) (?:-\S{1,40} \S{1,60} ){0,3}exec \S|(?:singularity|apptainer) (?:exec|run) -?\S)"
)
"""A command line as it is pasted without a prompt."""
_MOST_LINES = 40


def read(section: Section) -> Iterator[Reading]:
    """GpuToolRun for each command that ran nvidia-smi or started a container: that of the section, those in it."""
    found = list(_runs(section))
    yield from found
    if found:
        yield section.looked(GpuToolRun, complete=False, reason="not-collected")


def _runs(section: Section) -> Iterator[Observed]:
    seen: set[GpuToolRun] = set()
    for at, whole in (
        (-1, section.command or ""),
        *section.matching("nvidia-smi", "docker start ", "podman start "),
    ):
        command = " ".join(whole[:MOST_COLUMNS].split())
        run = _run(command, is_prompted=at < 0)
        outcome = _outcome(section, at + 1) if run is not None else None
        if run is None or outcome is None:
            continue
        fact = run.model_copy(update={"outcome": outcome[0]})
        if fact not in seen:
            seen.add(fact)
            yield section.observe(fact, at if at >= 0 else outcome[1], outcome[1])


def _run(command: str, *, is_prompted: bool) -> GpuToolRun | None:
    """What a line asks for, its outcome yet unknown. Without a prompt only a plain call counts, no sentence."""
    lead = _SUDO.match(command)
    rest = command[lead.end() :] if lead else command
    if not is_prompted and not _PLAIN.match(rest):
        return None
    place = _place(rest)
    if place is None:
        return None
    where, user, keeps = place
    sudo = lead is not None and lead["sudo"] is not None
    return GpuToolRun(where=where, user=user, keeps_groups=keeps, sudo=sudo, outcome="works")


def _place(command: str) -> tuple[ToolPlace, _User, bool] | None:
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
    lxc = _LXC.match(command)
    if lxc is not None:
        return ("old-container", "default", False) if _TOOL.match(command[lxc.end() :]) else None
    hpc = _HPC.match(command)
    return ("new-container", "default", False) if hpc is not None and _TOOL.search(hpc["rest"]) else None


def _user(rest: str) -> _User:
    match = _USER.search(rest)
    if match is None:
        return "default"
    return "root" if match["user"] in {"0", "root"} else "other"


def _outcome(section: Section, start: int) -> tuple[ToolOutcome, int] | None:
    """What the first lines of the output say, up to the next command, and which of them."""
    command = section.lines[start - 1] if start else section.command or ""
    asks = _ASKS.match(command[:MOST_COLUMNS]) is not None
    for index in range(start, min(start + _MOST_LINES, len(section.lines))):
        line = section.lines[index][:MOST_COLUMNS]
        if _PLAIN.match(line):
            return None
        problem = said_by(line)
        if problem is not None:
            return problem, index
        if _LISTED.match(line) or _TABLE.match(line) or (asks and _ANSWERED.match(line)):
            return "works", index
        if _START.match(line):
            return "not-started", index
        if _NO_LIBRARY.match(line):
            return "library-not-found", index
    return None


READER = Reader(
    "gpu-tool-runs",
    read,
    markers=("nvidia-smi", "docker start ", "podman start "),
    commands=tuple(
        f"{sudo}{program}"
        for sudo in ("", "sudo ", "time ")
        for program in (
            *("nvidia-smi", "docker ", "podman ", "nerdctl ", "nvidia-docker ", "kubectl ", "oc ", "singularity "),
            *("apptainer ", "pct exec ", "lxc exec ", "incus exec ", "lxc-attach ", "crictl exec "),
        )
    ),
)
