"""Assignments of GPU-job variables in one line: shell, environment listing, container, systemd, Python.

`NAME=value`, `export NAME=value`, `NAME=value torchrun …`, `docker run -e NAME=value`, `ENV NAME=value`,
`Environment="NAME=value"`, `os.environ["NAME"] = "value"`, `"NAME=value",` of docker inspect, `- NAME=value` and
`NAME: value` of compose files. A value that is itself taken from another variable is not known and gives
nothing, save for the default of `${NAME:-value}`. Names of secrets are left out. No reader.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Literal, NamedTuple, TypeAlias

from collectors.readers._regex import regex

Form: TypeAlias = Literal["plain", "shell", "container", "image", "service", "python", "compose"]

MOST_VALUE = 2000

NAME = (
    r"(?:(?:NCCL|CUDA|NVIDIA|TORCH|PYTORCH|VLLM|SGLANG|SGL|UCX|FI|GLOO)_[A-Z0-9_]{1,80}|OMPI_MCA_\w{1,80}"
    r"|SLURM_(?:N?TASKS|NPROCS|N?NODES|JOB_N|NODEI|GPUS|JOB_GPUS|STEP_|PROCI|LOCALI|CPUS_PER_TASK|NODEL)[A-Z_]{0,40}"
    r"|HF_(?:HUB_OFFLINE|HOME|ENDPOINT|DATASETS_OFFLINE|HUB_DOWNLOAD_TIMEOUT)|TRANSFORMERS_OFFLINE|TRITON_[A-Z_]{4,40}"
    r"|OMP_NUM_THREADS|MAX_JOBS|NODE_RANK|GROUP_RANK|LOCAL_WORLD_SIZE|RAY_ADDRESS|VLLM_HOST_IP"
    r"|MASTER_ADDR|MASTER_PORT|WORLD_SIZE|RANK|LOCAL_RANK|LD_LIBRARY_PATH|LD_PRELOAD)"
)
IN_NAMES = (
    *("NCCL_", "CUDA_", "NVIDIA_", "TORCH_", "VLLM_", "SGLANG_", "SGL_", "UCX_", "FI_", "GLOO_", "OMPI_MCA_"),
    *("SLURM_", "HF_", "TRANSFORMERS_OFFLINE", "TRITON_", "OMP_NUM_THREADS", "MAX_JOBS", "RANK", "WORLD_SIZE"),
    *("RAY_ADDRESS", "MASTER_ADDR", "MASTER_PORT", "LD_LIBRARY_PATH", "LD_PRELOAD"),
)
"""Every name holds one of them: what lines are searched for."""
_QUOTED = r"\"[^\"]{0,2000}\"|'[^']{0,2000}'"
_WORD = rf"(?:{_QUOTED}|[^\s\"';&|<>()`]{{0,2000}})"
_ANY = rf"[A-Za-z_]\w{{0,80}}={_WORD}"
_LABELS = frozenset(
    ("NCCL_VERSION", "CUDA_VERSION", "NVIDIA_PRODUCT_NAME", "VLLM_USAGE_SOURCE", "VLLM_NO_USAGE_STATS")
)
"""What images say of themselves: no program goes by it."""
_SECRET = regex(r"TOKEN|KEY|SECRET|PASSW|CREDENTIAL|AUTH")
_LAUNCHER = (
    r"(?:torchrun|python[\d.]{0,5}|accelerate|deepspeed|mpirun|mpiexec|srun|vllm|sglang|trtllm-[\w-]{1,20}|ray"
    r"|nohup|bash|sh|numactl|uv|uvx|conda|poetry|exec|timeout|docker|podman|apptainer|singularity|jupyter"
    r"|llama-server|\.{0,2}/\S{1,300}|[\w.-]{1,80}\.(?:sh|py))"
)
_ASSIGNMENT = regex(rf"(?:^|(?<=[\s;&\"']))(?P<name>{NAME})=(?P<value>{_WORD})")
_PLAIN = regex(rf"(?:declare -x )?(?P<name>{NAME})=(?P<value>{_QUOTED}|[^\s\"';`|]{{1,2000}})\s*$")
_LISTED = regex(rf"(?P<name>{NAME})=(?P<value>\S[^\"';`]{{0,2000}})$")
_EXPORT = regex(r"\s{0,40}(?:\+ )?export (?=\S{0,80}=)(?P<rest>.{1,4000})")
_TRACE = regex(rf"\+ (?P<rest>{_ANY})$")
_BEFORE_COMMAND = regex(
    rf"\s{{0,40}}(?:\+ )?(?:env )?(?P<rest>(?:{_ANY} {{1,4}}){{1,40}})(?:\\\s*$|{_LAUNCHER}(?:\s|$))"
)
_OPTION = regex(rf"(?:^|\s)(?:-e|--env|-x|-g?env)[ =]{{1,4}}[\"']?(?P<name>{NAME})[= ](?P<value>{_WORD})")
_OPTION_LINE = regex(rf"\s{{0,40}}(?:-e|--env|-x|-g?env)[ =][\"']?{NAME}=\S{{1,2000}}\s{{0,4}}\\?\s*$")
_STARTS_CONTAINER = regex(r"\s{0,40}(?:\+ )?(?:sudo )?(?:docker|podman|nerdctl|mpirun|mpiexec|kubectl)\S{0,20} ")
_SRUN_EXPORT = regex(r"srun\b.{0,400}--export[ =](?P<rest>\S{1,2000})")
_IMAGE = regex(
    rf"\s{{0,8}}ENV (?:(?P<name>{NAME}) (?P<value>[^=\s]\S{{0,400}})\s*$|(?P<rest>\S{{1,80}}=.{{1,4000}}))"
)
_SERVICE = regex(r"\s{0,8}Environment=(?P<rest>.{1,4000})")
_PYTHON = regex(
    rf"os\.(?:environ\[[\"'](?P<set>{NAME})[\"']\] {{0,4}}= {{0,4}}"
    rf"|environ\.(?P<default>setdefault)\([\"'](?P<name>{NAME})[\"'], {{0,4}}"
    rf"|putenv\([\"'](?P<put>{NAME})[\"'], {{0,4}})(?:str\()?(?P<value>{_QUOTED}|\d{{1,12}})"
)
_INSPECTED = regex(rf"\s{{0,40}}\"(?P<name>{NAME})=(?P<value>[^\"]{{1,2000}})\",?\s*$")
_COMPOSE = regex(
    rf"\s{{1,40}}(?:- {{0,4}}[\"']?(?P<item>{NAME})=|(?P<name>{NAME}): {{1,4}})(?P<value>{_WORD})[\"']?\s*$"
)
_DEFAULT = regex(r"\$\{\w{1,80}:?-([^${}]{0,400})\}$")


class Assignment(NamedTuple):
    """One variable that a line sets, how the line looks, and whether it gives way to what is set before."""

    name: str
    value: str
    form: Form
    default: bool = False


def assignments(line: str, *, listed: bool, in_environment_block: bool) -> Iterator[Assignment]:
    """The assignments in a line. `listed`: a neighbour is a `NAME=value` line too, so blanks are of the value."""
    if (plain := _PLAIN.match(line)) is not None:
        yield from _one(plain["name"], plain["value"], "plain")
        return
    for pattern in (_EXPORT, _TRACE, _BEFORE_COMMAND, _SERVICE):
        if (match := pattern.match(line)) is not None:
            yield from _several(match["rest"], "service" if pattern is _SERVICE else "shell")
            yield from _options(line)
            return
    yield from _others(line, listed=listed, in_environment_block=in_environment_block)


def _others(line: str, *, listed: bool, in_environment_block: bool) -> Iterator[Assignment]:
    if (image := _IMAGE.match(line)) is not None:
        one = image["name"] is not None
        yield from _one(image["name"], image["value"], "image") if one else _several(image["rest"], "image")
    elif (inspected := _INSPECTED.match(line)) is not None:
        yield from _one(inspected["name"], inspected["value"], "container")
    elif in_environment_block and (item := _COMPOSE.match(line)) is not None:
        yield from _one(item["item"] or item["name"], item["value"], "compose")
    elif _STARTS_CONTAINER.match(line) or _OPTION_LINE.match(line):
        yield from _options(line)
    elif listed and (entry := _LISTED.match(line)) is not None:
        yield from _one(entry["name"], entry["value"].rstrip(), "plain")
    elif not line.lstrip().startswith("#"):
        yield from _in_python(line)


def command_assignments(command: str) -> Iterator[Assignment]:
    """The variables that a command line gives to what it starts."""
    if (match := _EXPORT.match(command) or _BEFORE_COMMAND.match(command)) is not None:
        yield from _several(match["rest"], "shell")
    if (exported := _SRUN_EXPORT.search(command)) is not None:
        yield from _several(exported["rest"].replace(",", " "), "shell")
    yield from _options(command)


def _options(line: str) -> Iterator[Assignment]:
    for match in _OPTION.finditer(line[:20_000]):
        yield from _one(match["name"], match["value"], "container")


def _several(text: str, form: Form) -> Iterator[Assignment]:
    for match in _ASSIGNMENT.finditer(text.split(" #", 1)[0]):
        yield from _one(match["name"], match["value"], form)


def _in_python(line: str) -> Iterator[Assignment]:
    for match in _PYTHON.finditer(line[:4000]):
        name = match["set"] or match["name"] or match["put"]
        for one in _one(name, match["value"], "python"):
            yield one._replace(default=match["default"] is not None)


def _one(name: str, value: str, form: Form) -> Iterator[Assignment]:
    if value[:1] in {'"', "'"} and value[-1:] == value[:1]:
        value = value[1:-1]
    default = _DEFAULT.match(value)
    if default is not None:
        value = default[1]
    if value == "$0" and name == "CUDA_VISIBLE_DEVICES":
        yield Assignment(name, value, form)  # the name of the shell or the script, whichever it is: a slip for 0
    elif value and "$" not in value and name not in _LABELS and not _SECRET.search(name):
        yield Assignment(name, value[:MOST_VALUE], form, default is not None)
