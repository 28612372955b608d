"""How jobs are launched by configuration files: Accelerate's YAML, DeepSpeed's JSON, commands in manifests.

    num_machines: 2
    "offload_optimizer": {"device": "cpu", "pin_memory": true}
    args: ["--model", "/m", "--tensor-parallel-size", "4"]

Follows Accelerate 0.12 on, DeepSpeed's configuration (a file, or as its log prints it), Kubernetes and Compose. A
file is known by keys that only it has; of a part of one what is there counts. Values that are variables or `auto`
give nothing.
"""

from __future__ import annotations

from collections.abc import Iterator

from collectors.readers._programs import arguments, programs
from collectors.readers._regex import regex
from collectors.readers._yaml_keys import entries
from kb.evidence import Observed, Reader, Reading, Section
from kb.facts.framework import Framework, LaunchArgument

MOST_COLUMNS = 20_000

_OF_ACCELERATE = {
    "distributed_type": "distributed_type",
    "num_processes": "num_processes",
    "num_machines": "nnodes",
    "machine_rank": "node_rank",
    "main_process_ip": "master_addr",
    "main_process_port": "master_port",
    "rdzv_backend": "rdzv_backend",
    "mixed_precision": "mixed_precision",
    "gpu_ids": "gpu_ids",
    "same_network": "same_network",
}
_ACCELERATE_KEYS = ("compute_environment", "distributed_type", "machine_rank", "num_machines")
_STAGE = regex(r"\s{0,40}(?:\"zero_optimization\": {0,4}\{ {0,4})?\"stage\": {0,4}(?P<stage>[0-3])\b")
_OFFLOAD = regex(r"\s{0,40}\"(?P<what>offload_(?:optimizer|param))\": {0,4}\{(?P<rest>.{0,400})")
_DEVICE = regex(r"\s{0,40}\"device\": {0,4}\"(?P<device>cpu|nvme|none)\"")
_INSIDE = regex(r"\"device\": {0,4}\"(?P<device>cpu|nvme|none)\"")
_NUMBER = regex(
    r"\s{0,40}\"(?P<name>train_batch_size|train_micro_batch_size_per_gpu|gradient_accumulation_steps)\":"
    r" {0,4}(?P<value>\d{1,9})\b"
)
_OFFLOAD_LINES = 6
_DEEPSPEED = tuple(
    f'"{key}"' for key in ("zero_optimization", "train_micro_batch_size_per_gpu", "train_batch_size")
)


def read(section: Section) -> Iterator[Reading]:
    """One LaunchArgument for each setting of each kind of file."""
    found: dict[tuple[Framework, str], Observed] = {}
    for framework, name, value, first, last in (
        *_accelerate(section),
        *_deepspeed(section),
        *_manifest(section),
    ):
        if value and "$" not in value and value not in {"auto", "null", "None"}:
            fact = LaunchArgument(framework=framework, name=name, value=value[:300], origin="config")
            found.setdefault((framework, name), section.observe(fact, first, last))
    yield from found.values()
    if found:
        yield section.looked(LaunchArgument, complete=False, reason="not-collected")


_Setting = tuple[Framework, str, str, int, int]


def _accelerate(section: Section) -> Iterator[_Setting]:
    if sum(any(line.startswith(f"{key}:") for line in section.lines) for key in _ACCELERATE_KEYS) < 2:
        return
    for entry in entries(section.lines):
        if len(entry.path) == 1 and entry.path[0] in _OF_ACCELERATE:
            yield "accelerate", _OF_ACCELERATE[entry.path[0]], entry.value, entry.at, entry.at
        elif entry.ends("deepspeed_config", "zero_stage"):
            yield "deepspeed", "zero_stage", entry.value, entry.at, entry.at
        elif entry.path[0] == "deepspeed_config" and entry.path[-1].startswith("offload_"):
            device = entry.path[-1].removesuffix("_device") + "_device"
            yield "deepspeed", device, entry.value, entry.at, entry.at


def _deepspeed(section: Section) -> Iterator[_Setting]:
    if not any(mark in line for line in section.lines for mark in _DEEPSPEED):
        return
    for index, whole in section.matching('"stage"', '"offload_', "_batch_size", '"gradient_accumulation_steps"'):
        line = whole[:MOST_COLUMNS]
        if (stage := _STAGE.match(line)) is not None:
            yield "deepspeed", "zero_stage", stage["stage"], index, index
        elif (offload := _OFFLOAD.match(line)) is not None:
            yield from _offload(section, index, offload["what"], offload["rest"])
        elif (number := _NUMBER.match(line)) is not None:
            yield "deepspeed", number["name"], number["value"], index, index


def _offload(section: Section, index: int, what: str, rest: str) -> Iterator[_Setting]:
    """The device of an offload: in the same line, or in one of the next of its object."""
    inside = _INSIDE.search(rest)
    if inside is not None:
        yield "deepspeed", f"{what}_device", inside["device"], index, index
        return
    for after in range(index + 1, min(index + _OFFLOAD_LINES, len(section.lines))):
        device = _DEVICE.match(section.lines[after][:400])
        if device is not None:
            yield "deepspeed", f"{what}_device", device["device"], index, after
            return
        if "}" in section.lines[after][:400]:
            return


def _manifest(section: Section) -> Iterator[_Setting]:
    """The commands of containers in manifests, put together from command and args."""
    if not any(line.startswith(("apiVersion: ", "services:")) for line in section.lines):
        return
    images: dict[str, str] = {}
    words: dict[str, list[tuple[str, int]]] = {}
    for entry in entries(section.lines):
        service = entry.path[1] if entry.path[0] == "services" and entry.path[1:] else ""
        container = entry.under("containers") or service
        keys = [key for key in entry.path if not key.startswith("[")]
        if keys and keys[-1] == "image":
            images[container] = entry.value
        elif keys and keys[-1] in {"command", "args"} and container:
            words.setdefault(container, []).append((entry.value, entry.at))
    for container, several in words.items():
        text = " ".join(word for word, _ in several)
        if text.startswith("-") and "vllm" in images.get(container, ""):
            text = f"vllm serve {text}"
        for framework, rest in programs(text):
            for name, value in arguments(framework, rest).items():
                yield framework, name, value, several[0][1], several[-1][1]


READER = Reader(
    "job-configs",
    read,
    markers=("compute_environment:", "machine_rank:", "num_machines:", *_DEEPSPEED, "apiVersion: ", "services:"),
)
