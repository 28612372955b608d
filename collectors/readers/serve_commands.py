"""How servers, MPI, Slurm and Ray are launched, as command lines and batch scripts give it.

    vllm serve /models/m --tensor-parallel-size 4 --gpu-memory-utilization 0.9
    python3 -m sglang.launch_server --model-path /models/m --tp 16 --nnodes 2 --node-rank 1 --dist-init-addr 10.0.0.5:20000
    #SBATCH --ntasks-per-node=1

Follows vLLM 0.4 to 0.33, SGLang 0.3.6 to 0.5.23, TensorRT-LLM 0.8 to 1.2, Open MPI, Slurm, Ray. Of several commands of
one program in a section the last counts. A value that is a shell variable is not known and gives nothing; prose gives
nothing, since a command must begin its line.
"""  # noqa: E501 - a line as it is

from __future__ import annotations

from collections.abc import Iterator

from collectors.readers._command_lines import CommandLine, command_lines, observed
from collectors.readers._programs import arguments, programs
from collectors.readers._regex import regex
from kb.evidence import Observed, Reader, Reading, Section
from kb.facts.framework import Framework, LaunchArgument

_SBATCH = regex(r"#SBATCH(?P<rest>\s{1,8}-.*)")
_WORDS = (
    *(
        "vllm serve",
        "vllm.entrypoints",
        "vllm-openai",
        "sglang serve",
        "sglang.launch_server",
        "trtllm-",
        "mpirun ",
    ),
    *("mpiexec ", "srun ", "salloc ", "sbatch ", "ray start ", "#SBATCH "),
)


def read(section: Section) -> Iterator[Reading]:
    """One LaunchArgument for each option of the last command of each program."""
    found: dict[Framework, dict[str, Observed]] = {}
    for command in command_lines(section, *_WORDS):
        directive = _SBATCH.match(command.text)
        if directive is not None:
            settings = found.setdefault("slurm", {})
            settings |= _observed(section, command._replace(origin="script"), "slurm", directive["rest"])
            continue
        for framework, rest in programs(command.text):
            given = _observed(section, command, framework, rest)
            if given:
                found[framework] = found.get(framework, {}) | given if framework == "slurm" else given
    for several in found.values():
        yield from several.values()
    if found:
        yield section.looked(LaunchArgument, complete=False, reason="not-collected")


def _observed(section: Section, command: CommandLine, framework: Framework, rest: str) -> dict[str, Observed]:
    return {
        name: observed(
            section,
            LaunchArgument(framework=framework, name=name, value=value, origin=command.origin),
            command,
        )
        for name, value in arguments(framework, rest).items()
    }


READER = Reader(
    "serve-commands",
    read,
    markers=_WORDS,
    commands=(
        *("vllm serve", "python3 -m ", "python -m ", "sglang serve", "trtllm-", "mpirun ", "mpiexec ", "srun "),
        *("docker run ", "ray start"),
    ),
)
