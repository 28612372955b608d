"""Environment variables of a GPU job, each with the place that sets it: process, launch, profile, image, service.

    NCCL_P2P_LEVEL=SYS
    docker run --rm --gpus all -e NCCL_DEBUG=INFO -e NVIDIA_VISIBLE_DEVICES=all vllm/vllm-openai
    os.environ.setdefault("NCCL_PROTO", "LL")

Follows bash, env(1), /proc/PID/environ, Docker, Kubernetes, systemd.exec, Python's sitecustomize, nccl.conf.
Whose text it is, the path or the command tells, or else its look: a listing with PATH and HOME is a process's
environment. Lines that only mention a variable give nothing.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from collectors.readers._regex import regex
from collectors.readers.launcher_prefixes import clipped
from collectors.readers.variable_assignments import IN_NAMES, NAME, Assignment, assignments, command_assignments
from kb.evidence import EXCERPT_CHARS, Observed, Reader, Reading, Section, Source
from kb.facts.settings import Origin, Setting

_NAMES = regex(rf"\b{NAME}\b")
_LIST_LINE = regex(r"(?:declare -x )?[A-Za-z_]\w{0,80}=")
_SHELL_NAMES = ("PATH", "HOME", "PWD", "TERM", "SHELL", "USER", "LANG", "HOSTNAME", "SHLVL", "LOGNAME")
_IN_SHELLS = tuple(f"{name}=" for name in _SHELL_NAMES)
_OF_A_SHELL = regex(rf"(?:declare -x )?({'|'.join(_SHELL_NAMES)})=")
_LISTING_COMMAND = regex(
    r"(?:/usr/bin/)?(?:env|printenv|export -p)(?: *\||$)|.{0,200}/proc/(?P<pid>\d{1,10}|self)/environ"
)
_IN_REPORTS = ("Collecting environment information", "PyTorch version", "vLLM Version")
_REPORT = regex(r"Collecting environment information|PyTorch version {0,40}:|vLLM Version {0,40}:")
_ECHO = regex(rf"echo \"?\$\{{?(?P<name>{NAME})\}}?\"?\s*$")
_EMPTY = regex(r"(?P<name>(?:CUDA|NVIDIA)_VISIBLE_DEVICES)=\s*$")
"""The one sort of variable to which an empty value means something: no device at all."""
_BLOCK = regex(r"(?P<indent>\s{0,40})(?:environment|env):\s*$")
_BLOCKS = ("environment:", "env:")
_NAMED = regex(rf"\s{{0,40}}- {{0,4}}name: {{1,4}}[\"']?(?P<name>{NAME})[\"']?\s*$")
_VALUE = regex(r"\s{1,40}value: {1,4}[\"']?(?P<value>[^\"'$]{1,400}?)[\"']?\s*$")
_FOUND_IN = regex(r"(?P<path>[~.]?/[\w./@+-]{1,250}):(?:\d{1,6}:)?(?=\S)")
_PLACES: tuple[tuple[str, Origin], ...] = (
    ("nccl.conf", "nccl.conf"),
    ("nccl_conf", "nccl.conf"),
    ("nccl-conf", "nccl.conf"),
    ("sitecustomize", "sitecustomize"),
    ("usercustomize", "sitecustomize"),
    ("bashrc", "shell-profile"),
    ("zshrc", "shell-profile"),
    ("profile", "shell-profile"),
    ("/etc/environment", "shell-profile"),
    (".service", "service"),
    ("systemctl ", "service"),
    ("dockerfile", "image"),
    ("image inspect", "image"),
)
_BY_FORM: dict[str, Origin] = {
    "shell": "launch",
    "container": "launch",
    "compose": "launch",
    "image": "image",
    "service": "service",
    "python": "unknown",
}


_PRELOAD_FILE = "ld.so.preload"
_LIBRARY = regex(r"\s{0,8}/\S{1,300}\.so[\w.]{0,20}\s*$")
_Found = tuple[Origin, Assignment, Source]


def read(section: Section) -> Iterator[Reading]:
    """One Setting for each variable and place; what is set again later in one place replaces what was before."""
    found: dict[tuple[str, Origin, bool], tuple[str, Source]] = {}
    for origin, assignment, source in (*_in_command(section), *_in_lines(section), *_preloaded(section)):
        default = assignment.default or origin == "nccl.conf"
        key = (assignment.name, origin, default)
        if not (default and key in found):  # the first default holds, but the last value that is set
            found[key] = (assignment.value, source)
    for (name, origin, default), (value, source) in found.items():
        fact = Setting(name=name, value=value, origin=origin, mode="default" if default else "set")
        yield Observed(fact, source)
    listing = section.command is not None and _LISTING_COMMAND.match(section.command) is not None
    if found or listing:
        yield section.looked(Setting, complete=_is_whole(section, listing=listing))


def _is_whole(section: Section, *, listing: bool) -> bool:
    """Whether the section shows all variables of its place, so that one that is not in it is not set there."""
    if listing:
        return "|" not in (section.command or "")
    if section.numbers is not None:
        return False
    if _place(section.path) == "sitecustomize":
        return True
    listed = None
    for line in section.lines:
        if line.strip() and not line.lstrip().startswith("#"):
            listed = _LIST_LINE.match(line)
            if listed is None:
                return False
    return listed is not None


def _in_command(section: Section) -> Iterator[_Found]:
    """What the command line of the section sets for its command, and what `echo $NAME` prints."""
    if section.command is None:
        return
    line = max(section.first_line - 1, 1)
    source = Source(section.path, line, line, section.command[:EXCERPT_CHARS], section.sha256)
    for assignment in command_assignments(section.command[:20_000]):
        yield "launch", assignment, source
    asked = _ECHO.match(section.command)
    if asked is not None and section.lines and section.lines[0].strip():
        yield "launch", Assignment(asked["name"], section.lines[0].strip()[:400], "plain"), section.source(0)
    if _LISTING_COMMAND.match(section.command):
        for index, whole in section.matching("VISIBLE_DEVICES="):
            if (empty := _EMPTY.match(whole[:100])) is not None:
                yield "launch", Assignment(empty["name"], "", "plain"), section.source(index)


def _in_lines(section: Section) -> Iterator[_Found]:
    listing = _listing_origin(section)
    place = _place(f"{section.path} {section.command or ''}")
    for index, line, in_block in _naming(section):
        if (named := _NAMED.match(line)) is not None:
            yield from _pair(section, index, named["name"])
            continue
        bare = _quoted_whole(line)
        where = _FOUND_IN.match(bare)
        text = bare[where.end() :] if where else bare
        here = (_place(where["path"]) if where else None) or place
        listed = _has_listed_neighbour(section.lines, index)
        for assignment in assignments(text, listed=listed, in_environment_block=in_block):
            origin = here or (listing if assignment.form == "plain" else _BY_FORM[assignment.form])
            yield origin, assignment, section.source(index)


def _naming(section: Section) -> Iterator[tuple[int, str, bool]]:
    """Index and text of the lines that name a variable, and whether each is in an `environment:` block."""
    block: int | None = None
    begin = 0
    for index, whole in section.matching(*IN_NAMES, *_BLOCKS):
        while block is not None and begin < index:
            block = _block(clipped(section.lines[begin]), block)
            begin += 1
        line = clipped(whole)
        block = _block(line, block)
        if _NAMES.search(line) is not None:
            yield index, line, block is not None
        begin = index + 1


def _preloaded(section: Section) -> Iterator[_Found]:
    """The libraries that /etc/ld.so.preload lists, which act on all programs as LD_PRELOAD on one."""
    if _PRELOAD_FILE not in f"{section.path} {section.command or ''}":
        return
    for index, line in section.matching(".so"):
        if _LIBRARY.match(line[:400]):
            yield "image", Assignment("LD_PRELOAD", line.strip(), "plain"), section.source(index)


def _quoted_whole(line: str) -> str:
    """A command that somebody set in backticks, as a line of its own, without them."""
    text = line.strip()
    return text[1:-1] if len(text) > 2 and text[0] == text[-1] == "`" and text.count("`") == 2 else line


def _pair(section: Section, index: int, name: str) -> Iterator[_Found]:
    """A Kubernetes variable: name and value on two lines."""
    value = _VALUE.match(section.lines[index + 1][:500]) if index + 1 < len(section.lines) else None
    if value is not None:
        yield "launch", Assignment(name, value["value"], "compose"), section.source(index, index + 1)


def _block(line: str, block: int | None) -> int | None:
    """The indentation of the `environment:` key that the line is under, if it is under one."""
    opens = _BLOCK.match(line)
    if opens is not None:
        return len(opens["indent"])
    if block is not None and line.strip():
        indent = len(line) - len(line.lstrip())
        return block if indent > block or (indent == block and line.lstrip().startswith("- ")) else None
    return block


def _has_listed_neighbour(lines: Sequence[str], index: int) -> bool:
    return any(
        0 <= near < len(lines) and _LIST_LINE.match(lines[near][:100]) is not None
        for near in (index - 1, index + 1)
    )


def _listing_origin(section: Section) -> Origin:
    """Whose environment plain `NAME=value` lines are."""
    listing = _LISTING_COMMAND.match(section.command) if section.command is not None else None
    if listing is not None and listing["pid"] is not None:
        return "launch" if listing["pid"] == "1" else "process"  # the first process shows what its container got
    if any(_REPORT.match(line) is not None for _, line in section.matching(*_IN_REPORTS)):
        return "unknown"  # a report on the machine, run in some shell
    of_a_shell = (_OF_A_SHELL.match(line) for _, line in section.matching(*_IN_SHELLS))
    names = {match[1] for match in of_a_shell if match is not None}
    if len(names) > 1 or "environ" in section.path.rsplit("/", 1)[-1]:
        return "process"
    return "launch"


def _place(text: str) -> Origin | None:
    text = text.lower()
    return next((origin for part, origin in _PLACES if part in text), None)


_MARKERS = (
    *("NCCL_", "CUDA_", "NVIDIA_", "TORCH_", "VLLM_", "SGLANG_", "SGL_", "UCX_", "GLOO_", "OMPI_MCA_", "FI_"),
    *(
        "LD_LIBRARY_PATH",
        "LD_PRELOAD",
        "libvgpu.so",
        "liborion.so",
        "ld.so.preload",
        "MASTER_ADDR",
        "MASTER_PORT",
        "WORLD_SIZE",
        "RANK=",
    ),
    *("SLURM_N", "SLURM_TASKS", "SLURM_GPUS", "SLURM_STEP_", "SLURM_JOB_", "HF_HUB_OFFLINE", "HF_HOME="),
    *("OFFLINE=", "TRITON_", "OMP_NUM_THREADS=", "MAX_JOBS="),
)

READER = Reader(
    "settings",
    read,
    markers=_MARKERS,
    commands=(
        *(
            "env",
            "printenv",
            "export ",
            "echo $",
            'echo "$',
            "NCCL_",
            "CUDA_",
            "cat /etc/ld.so.preload",
            "docker run ",
            "podman run ",
        ),
    ),
    lines=(*_MARKERS, *_BLOCKS, *_IN_REPORTS, *_IN_SHELLS),
)
