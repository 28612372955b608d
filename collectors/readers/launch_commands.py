"""How a PyTorch job is launched: torchrun's options, and the configuration that its agent prints.

    + torchrun --nnodes=2 --node-rank=1 --nproc-per-node=gpu --rdzv-endpoint=localhost:15213 -m train
    Starting elastic_operator with launch configs:
      rdzv_endpoint    : localhost:15213

Follows torch.distributed.run 1.9 to 2.14, torch.distributed.launch, deepspeed and accelerate launch. Commands are
taken from a transcript's prompt, from a shell's trace (`+ `) or where a line begins with the launcher; a value
that is a shell variable is not known. Cut commands give what they hold.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Literal

from collectors.readers._command_lines import joined
from collectors.readers._regex import regex
from collectors.readers.launcher_prefixes import clipped, without_launcher, without_stamp
from kb.evidence import EXCERPT_CHARS, Observed, Reader, Reading, Section, Source
from kb.facts.framework import LaunchArgument

_NAMES = {
    "nnodes": "nnodes",
    "num_nodes": "nnodes",
    "num_machines": "nnodes",
    "node_rank": "node_rank",
    "machine_rank": "node_rank",
    "nproc_per_node": "nproc_per_node",
    "num_gpus": "nproc_per_node",
    "num_processes": "num_processes",
    "rdzv_endpoint": "rdzv_endpoint",
    "rdzv_backend": "rdzv_backend",
    "rdzv_id": "rdzv_id",
    "run_id": "rdzv_id",
    "master_addr": "master_addr",
    "main_process_ip": "master_addr",
    "master_port": "master_port",
    "main_process_port": "master_port",
    "hostfile": "hostfile",
    "standalone": "standalone",
    "min_nodes": "nnodes",
}
"""Options of the launchers by the names that torchrun gives them."""

_COMMAND = regex(
    r"\s{0,20}(?:\+ )?(?:[A-Z_a-z]\w{0,80}=\S{0,400} ){0,20}(?:srun .{0,400}?|sudo |exec |time )?"
    r"(?:(?:\S{0,200}/)?python[\d.]{0,5}(?: -[uOBsE]){0,3} (?=/\S))?"
    r"(?P<rest>(?:\S{0,200}/)?(?:torchrun|deepspeed|accelerate launch"
    r"|python[\d.]{0,5} -m torch\.distributed\.(?:run|launch))\s.{1,4000})"
)
_OPTION = regex(r"\s--(?P<name>[a-z][a-z_-]{1,40})(?:[= ](?P<value>[^\s-]\S{0,200}))?")
_CONFIG = regex(r" {2,4}(?P<name>[a-z_]{3,40}) {1,20}: (?P<value>\S{1,200})\s*$")
_CONFIG_NAMES = ("min_nodes", "nproc_per_node", "rdzv_endpoint", "rdzv_backend", "run_id")


_UNSETTLED = tuple(
    LaunchArgument(framework="torch", name="nproc_per_node", value=value, origin="command")
    for value in ("gpu", "auto", "cpu")
)


def read(section: Section) -> Iterator[Reading]:
    """One LaunchArgument for each option of the last launch in the section."""
    told: dict[str, Observed] = {}
    resolved: dict[str, Observed] = {}
    if section.command is not None and (match := _COMMAND.match(section.command)) is not None:
        line = max(section.first_line - 1, 1)
        source = Source(section.path, line, line, section.command[:EXCERPT_CHARS], section.sha256)
        told = {
            name: Observed(_argument(name, value, "command"), source) for name, value in _options(match["rest"])
        }
    for index, whole in section.matching(
        "torchrun ", "deepspeed ", "accelerate launch", "torch.distributed.", " : "
    ):
        text, end = joined(clipped(whole), section.lines, index)
        if (match := _COMMAND.match(text)) is not None:
            options = dict(_options(match["rest"]))
            told = {
                name: section.observe(_argument(name, value, "command"), index, end)
                for name, value in options.items()
            }
        else:
            settled = dict(_configuration(text))
            resolved |= {
                name: section.observe(_argument(name, value, "log"), index) for name, value in settled.items()
            }
    unsettled = {name for name, one in told.items() if one.fact in _UNSETTLED}  # `gpu`: as many as there are
    found = resolved | {name: one for name, one in told.items() if name not in unsettled or name not in resolved}
    yield from found.values()
    if found:
        yield section.looked(LaunchArgument, complete=False, reason="not-collected")


def _argument(name: str, value: str, origin: Literal["command", "log"]) -> LaunchArgument:
    return LaunchArgument(framework="torch", name=name, value=value, origin=origin)


def _options(command: str) -> Iterator[tuple[str, str]]:
    for match in _OPTION.finditer(command):
        name = _NAMES.get(match["name"].replace("-", "_"))
        value = (match["value"] or "true").strip("\"'")
        if name is not None and value and "$" not in value:
            yield name, value


def _configuration(line: str) -> Iterator[tuple[str, str]]:
    """A line of the launch configuration that torchrun's agent logs."""
    match = _CONFIG.match(without_stamp(without_launcher(line).text).text)
    if match is not None and match["name"] in _CONFIG_NAMES:
        yield _NAMES[match["name"]], match["value"]


READER = Reader(
    "launch-commands",
    read,
    markers=("torchrun --", "torchrun -", "accelerate launch", "torch.distributed.run", "torch.distributed.launch",
             "deepspeed --", "rdzv_endpoint    : "),
    commands=("torchrun", "deepspeed", "accelerate launch", "python -m torch.distributed", "srun ",
              "NCCL_", "CUDA_"),
)  # fmt: skip
