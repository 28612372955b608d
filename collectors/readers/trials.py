"""Commands that try one change, and what came of it: NVIDIA's modules loaded again, or a run of a job.

    $ sudo rmmod nvidia_uvm && sudo modprobe nvidia_uvm && python -c "import torch; torch.cuda.init()"
    $ vllm serve some/model --tensor-parallel-size 2 --disable-custom-all-reduce
    INFO:     Application startup complete.

    $ NCCL_NVLS_ENABLE=0 ./build/all_reduce_perf -b 8 -e 128M -g 4 | tail -2
    # Avg bus bandwidth    : 71.9034

A command is known by its prompt, or by the program that it begins with. The line that says that all is well must
stand below it and above the next command: of a server, a trainer, nccl-tests, or the shell's own status of 0. A
run that fails gives nothing: another fault may be behind that. What nccl-tests do without direct copies is told by
NcclTestResult. What people say that they tried is no evidence.
"""

from __future__ import annotations

from collections.abc import Iterator

from collectors.readers._regex import regex
from collectors.readers._trial_changes import only_change, without_direct_copies
from kb.evidence import Reader, Reading, Section
from kb.facts.trials import Change, Trial

_COMMAND = regex(
    r"\s{0,4}(?:[$#] )?(?:export \w+=\S{0,200} && |sudo |env |[A-Z][A-Z0-9_]{1,60}=\S{0,200} ){0,12}"
    r"(?:\S{0,200}/)?(?:vllm |sglang |trtllm-\w+ |torchrun |accelerate |deepspeed |mpirun |srun "
    r"|python[\d.]{0,5} )"
)
_WELL = regex(
    r".{0,120}?(?:Application startup complete|The server is fired up and ready to roll"
    r"|\{'train_runtime': \d|\{'loss': \d)"
)
_MEASURED = regex(
    r"# Avg bus bandwidth {1,8}: (?!0\s*$)\d|.{0,120}?\blistening on (?:https?://)?[\w.:\[\]]{1,60}:\d{2,5}\b"
)
_STATUS = regex(r"(?:rc|exit|status|ret|exit[ _]?(?:code|status))[=: ]{1,3}0\s*$")
_ASKS_STATUS = regex(r"[^|]{1,1500}; ?echo [^|]{0,40}\$\?")
"""A status that is printed at once, of the command itself and not of what its output went through."""
_RELOADS = regex(
    r"(?:sudo )?(?:rmmod|modprobe -r) nvidia[-_ ]\w{2,20}.{0,40}?(?:&&|;) ?(?:sudo )?"
    r"modprobe nvidia.{1,80}?(?:&&|;)"
)
_CUDA_WORKS = regex(
    r"\s{0,4}(?:cuInit(?:\(0\))? (?:->|=|:|returned) 0\b|True$|Result = PASS|tensor\(\[.{0,80}device='cuda)"
)


def read(section: Section) -> Iterator[Reading]:
    """One fact for each change with which all went well."""
    yield from _alone(section)
    changes = _named_in(section.command or "")
    command = 0
    told: set[Change] = set()
    for index, line in enumerate(section.lines):
        if _COMMAND.match(line[:2000]) is not None:
            changes, command = _named_in(line[:2000]), index
        elif changes and _WELL.match(line[:400]) is not None:
            for change in changes:
                if change not in told:
                    told.add(change)
                    yield section.observe(Trial(change=change), command, index)
            changes = ()
    yield from _reloaded(section)


def _named_in(command: str) -> tuple[Change, ...]:
    tried: dict[Change, bool] = {
        "custom-all-reduce-off": "--disable-custom-all-reduce" in command,
        "direct-copies-off": without_direct_copies(command),
    }
    return tuple(change for change, is_tried in tried.items() if is_tried)


def _alone(section: Section) -> Iterator[Reading]:
    """A command with one change and no other, with which all went well."""
    command = (section.command or "")[:2000]
    change = only_change(command)
    if change is None:
        return
    asks = _ASKS_STATUS.match(command) is not None
    for index, line in enumerate(section.lines):
        text = line[:400]
        if "failure " in text or "FAILED" in text or text.startswith("Traceback "):
            return
        if _MEASURED.match(text) or _WELL.match(text) or (asks and _STATUS.match(text)):
            yield section.observe(Trial(change=change), index)
            return


def _reloaded(section: Section) -> Iterator[Reading]:
    """A command that takes the modules out, loads them again and starts CUDA, which works."""
    if _RELOADS.match(section.command or "") is None:
        return
    for index, line in enumerate(section.lines[:20]):
        if _CUDA_WORKS.match(line[:200]):
            yield section.observe(Trial(change="module-reload"), index)
            return


READER = Reader(
    "trials",
    read,
    markers=(
        *("Application startup complete", "server is fired up", "'train_runtime'", "{'loss': "),
        "# Avg bus bandwidth",
        *("listening on ", "rc=0", "exit=0", "status=0", "ret=0", "code=0", "rc 0", "exit 0", "status 0"),
        *("code 0", "rc: 0", "exit: 0", "status: 0", "ret: 0", "code: 0"),
    ),
    commands=("rmmod", "modprobe -r"),
)
