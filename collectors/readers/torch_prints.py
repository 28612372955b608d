"""What a shell or an interpreter printed when it asked PyTorch about itself.

    $ python -c "import torch; print(torch.__version__, torch.cuda.is_available())"
    2.3.0+cu118 True
    PyTorch version: 2.6.0+cu124
    >>> torch.cuda.is_available()                 In [3]: torch.cuda.device_count()
                                                  Out[3]: 0

Follows PyTorch 1.0 to 2.14. Values are told by the order and the type of what was asked for; warnings between them
are passed over, and an error ends them. Output of scripts that are not shown gives nothing.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from collectors.readers._lines import MOST_COLUMNS, command_of
from collectors.readers._regex import regex
from collectors.readers._wheel_names import cuda_of
from kb.evidence import Observed, Reader, Reading, Section
from kb.facts.environment import TorchBuild

_VERSION = r"\d{1,2}\.\d{1,3}(?:\.\d{1,3})?(?:[ab.]\w{0,20})?(?:\+[\w.]{1,40})?"
_ASKED: tuple[tuple[str, str, str], ...] = (
    ("version", r"torch\.__version__|torch\.version\.__version__", _VERSION),
    ("cuda", r"torch\.version\.cuda", r"\d{1,2}\.\d{1,2}(?:\.\d{1,4})?|None"),
    ("hip", r"torch\.version\.hip", r"\d{1,2}\.\d{1,2}[\w.-]{0,40}|None"),
    ("cuda_available", r"torch\.cuda\.is_available\(\)", r"True|False"),
    ("gpus", r"torch\.cuda\.device_count\(\)", r"\d{1,3}"),
    ("archs", r"torch\.cuda\.get_arch_list\(\)", r"\[[\w', ]{0,400}\]"),
    ("nccl", r"torch\.cuda\.nccl\.version\(\)", r"\(\d{1,2}, \d{1,3}, \d{1,3}\)|\d{4,5}"),
)
_EXPRESSION = regex("|".join(f"(?P<{name}>{asked})" for name, asked, _ in _ASKED))
_VALUES = {name: regex(rf"(?:^|(?<=[\s:=,('\"]))(?:{value})(?=$|[\s,;)'\"])") for name, _, value in _ASKED}
_PYTHON = regex(r"(?:.{0,400}\s|\S{0,200}/)?python[\d.]{0,5} (?:-\w{1,4} ){0,3}-c\b")
_NOISE = regex(r"\s|.{0,300}(?:Warning: |warnings\.warn)|\[[WEI]\d")
_PROMPTS = (">>> ", "In [")
_PROMPT = regex(r"(?:>>>|In \[\d{1,4}\]:) (?:print\((?P<printed>.{1,300})\)|(?P<what>.{1,300}?))\s*$")
_ON_GPU = regex(r"\btensor\(.{1,300}, device='cuda:\d{1,2}'\)")
"""A value that was computed on a GPU."""
_COMPUTES = regex(r".{0,2000}(?:device ?= ?f?[\\\"']{1,2}cuda|\.cuda\(|\.to\(f?[\\\"']{1,2}cuda)")
"""A command that makes or moves tensors on a GPU."""
_RESULT = regex(r"[\[(]?[-\d][\d\s.,eE+\-()\[\]]{0,300}$|tensor\(|.{0,200}\btensor\([\d.\[]")
_NAMED = regex(
    r"(?:Python [\d.]{3,10} ?\| ?)?(?:Py)?[Tt]orch(?: version)?[:=]? {0,2}"
    r"(?P<version>\d{1,2}\.\d{1,3}\.\d{1,3}\+cu\d{2,3})(?:\s*$| ?[|,(]| {1,2}(?:with )?(?:cuda|CUDA)[ :=]{1,2}\d)"
)
"""A line of its own by which a script says what it runs on."""
_AVAILABLE = regex(r"(?:CUDA|cuda|Cuda|GPU|gpu)(?:[ _]is)?[ _]available ?[:=]? ?(?P<value>True|False)\s*$")
_COUNT = regex(
    r"(?:CUDA |cuda |GPU |gpu )?(?:[Dd]evices?|GPUs?|gpus?)(?:[ _]count)? ?[:=] ?(?P<value>\d{1,3})\s*$"
)
_CAPABILITY = regex(r"(?:cuda:|[Dd]evice |GPU )?\d{1,2}: .{3,80}\b(?:capability|sm|compute)\W{1,3}\d{1,2}, \d\)")
"""A GPU's compute capability as PyTorch gives it, who must have started CUDA for it."""
_MOST_SAID = 8
_PASTED = ('-c "import torch', "-c 'import torch")
_MOST_LINES = 40
_MOST_BELOW = 6


def read(section: Section) -> Iterator[Reading]:
    """TorchBuild of each command and of each interpreter session."""
    found = [*_of_command(section), *_of_pasted_command(section), *_of_session(section), *_named(section)]
    yield from found
    for observed in found:
        knows = isinstance(observed.fact, TorchBuild) and observed.fact.cpu_only is not None
        yield section.looked(TorchBuild, complete=knows, reason="not-collected")


def _of_command(section: Section) -> Iterator[Observed]:
    command = command_of(section)
    if not _PYTHON.match(command):
        return
    asked = [match.lastgroup or "" for match in _EXPRESSION.finditer(command)]
    values, first, last = _matched(section.lines, asked)
    if "cuda_available" not in asked and _COMPUTES.match(command) and _came_out(section.lines):
        values.setdefault("cuda_available", "True")
    if values:
        yield section.observe(_build(values), first, last)
    elif "torch." in command:
        for index, line in enumerate(section.lines[:_MOST_LINES]):
            if _ON_GPU.search(line[:MOST_COLUMNS]):
                yield section.observe(TorchBuild(cuda_available=True, reported_by="python"), index)
                return
            if line.startswith("Traceback "):
                return


def _came_out(lines: Sequence[str]) -> bool:
    """Whether what was printed ends with numbers, and nothing failed."""
    printed = [line[:400].strip() for line in lines[:_MOST_LINES] if line.strip() and not _NOISE.match(line[:400])]
    failed = any("Error" in line or line.startswith("Traceback ") for line in lines[:_MOST_LINES])
    return bool(printed) and not failed and _RESULT.match(printed[-1]) is not None


def _of_pasted_command(section: Section) -> Iterator[Observed]:
    """A command without a prompt, and its values right below."""
    if section.command is not None:
        return
    for index, line in section.matching(*_PASTED):
        if _PYTHON.match(line[:MOST_COLUMNS]) is None or line.startswith(" "):
            continue
        asked = [match.lastgroup or "" for match in _EXPRESSION.finditer(line[:MOST_COLUMNS])]
        values, first, last = _matched(section.lines[index + 1 : index + 1 + _MOST_BELOW], asked)
        if values:
            yield section.observe(_build(values), index + 1 + first, index + 1 + last)


def _matched(lines: Sequence[str], asked: Sequence[str]) -> tuple[dict[str, str], int, int]:
    """The values of what was asked for, in order, and the lines on which they stand."""
    values: dict[str, str] = {}
    first = last = 0
    rest = list(asked)
    for index, line in enumerate(lines[:_MOST_LINES]):
        if line.startswith("Traceback ") or not rest:
            break
        if _NOISE.match(line[:MOST_COLUMNS]):
            continue
        at = 0
        while rest and (match := _VALUES[rest[0]].search(line[:MOST_COLUMNS], at)):
            first = first if values else index
            values.setdefault(rest.pop(0), match[0])
            at, last = match.end(), index
    return values, first, last


def _of_session(section: Section) -> Iterator[Observed]:
    """An interpreter, IPython too: a prompt with one expression, its value below.

    CUDA works where a tensor on a GPU shows it.
    """
    values: dict[str, str] = {}
    first = last = 0
    for index, line in section.matching(*_PROMPTS):
        prompt = _PROMPT.match(line[:400])
        what = (prompt["printed"] or prompt["what"]).strip() if prompt else ""
        asked = _EXPRESSION.match(what)
        if asked is None or what[asked.end() :].lstrip()[:1] not in {"", ","}:
            continue
        name = asked.lastgroup or ""
        for after in range(index + 1, min(index + 6, len(section.lines))):
            text = section.lines[after][:MOST_COLUMNS]
            if text.startswith((*_PROMPTS, "Traceback ")):
                break
            if not _NOISE.match(text) and (value := _VALUES[name].search(text.strip("'\" "))):
                first = first if values else index
                values.setdefault(name, value[0])
                last = after
                break
    if values and "cuda_available" not in values:
        shown = (index for index, line in section.matching("device='cuda:") if _ON_GPU.search(line[:MOST_COLUMNS]))
        if (on_gpu := next(shown, None)) is not None:
            values["cuda_available"], first, last = "True", min(first, on_gpu), max(last, on_gpu)
    if values:
        yield section.observe(_build(values), first, last)


def _named(section: Section) -> Iterator[Observed]:
    """The version that a script prints on a line of its own."""
    for index, line in section.matching("orch"):
        match = _NAMED.match(line[:200])
        if match:
            values, last = _said_below(section, index)
            yield section.observe(_build({"version": match["version"], **values}), index, last)
            return


def _said_below(section: Section, index: int) -> tuple[dict[str, str], int]:
    """What the script says of CUDA and of its GPUs right below, and the last line of that."""
    values: dict[str, str] = {}
    last = index
    for below in range(index + 1, min(index + 1 + _MOST_SAID, len(section.lines))):
        line = section.lines[below][:200]
        available, count, capability = _AVAILABLE.match(line), _COUNT.match(line), _CAPABILITY.match(line)
        if available:
            values.setdefault("cuda_available", available["value"])
        elif count:
            values.setdefault("gpus", count["value"])
        elif capability:
            values.setdefault("cuda_available", "True")
        last = below if available or count or capability else last
    return values, last


def _build(values: dict[str, str]) -> TorchBuild:
    fields: dict[str, Any] = {"reported_by": "python"}
    version = values.get("version")
    cuda, hip = values.get("cuda"), values.get("hip")
    local = (version or "").partition("+")[2]
    fields["version"] = version
    fields["cuda"] = cuda if cuda and cuda != "None" else cuda_of("torch", local)
    is_rocm = local.startswith("rocm") or (hip is not None and hip != "None")
    fields["rocm"] = is_rocm if local or hip else None
    fields["cpu_only"] = True if local == "cpu" or (cuda == "None" and not is_rocm) else None
    if fields["cpu_only"] is None and (fields["cuda"] or is_rocm):
        fields["cpu_only"] = False
    fields["cuda_available"] = {"True": True, "False": False}.get(values.get("cuda_available", ""))
    fields["gpus"] = int(values["gpus"]) if "gpus" in values else None
    archs = values.get("archs")
    fields["archs"] = (
        " ".join(archs.strip("[]").replace("'", "").replace(",", "").split()) or None if archs else None
    )
    fields["nccl"] = _nccl(values["nccl"]) if "nccl" in values else None
    return TorchBuild.model_validate(fields)


def _nccl(text: str) -> str:
    """`(2, 21, 5)` or the old number 2708 as a version."""
    if text.startswith("("):
        return ".".join(text.strip("()").replace(" ", "").split(","))
    number = int(text)
    return (
        f"{number // 1000}.{number // 100 % 10}.{number % 100}"
        if number < 10_000
        else f"{number // 10_000}.{number // 100 % 100}.{number % 100}"
    )


READER = Reader(
    "torch-prints",
    read,
    markers=(
        *(">>> torch.", ">>> print(torch.", "orch 2.", "orch 1.", "orch version: ", "orch: 2.", "orch: 1."),
        *("]: torch.", "]: print(torch."),
        *_PASTED,
    ),
    commands=("python", "srun ", "docker ", "kubectl exec", "/opt/conda/bin/python", "podman "),
)
