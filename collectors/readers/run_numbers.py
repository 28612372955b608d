"""Runs of a training whose loss is no number, and runs of the same program whose loss is one, by their commands.

    $ python train.py --gpus 4
    118/118 [==============================] - 20s 60ms/step - loss: nan - accuracy: 0.0981
    $ NCCL_P2P_DISABLE=1 python train.py --gpus 4
    {'loss': 2.3174, 'grad_norm': 1.9, 'learning_rate': 1e-05, 'epoch': 0.1}

Follows the progress lines of Keras, transformers, PyTorch Lightning and Megatron-LM. A run counts where its
command stands above its output; of its lines one without a number is enough. Other texts give nothing.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from collectors.readers._regex import regex
from collectors.readers._trial_changes import without_direct_copies
from kb.evidence import Reader, Reading, Section
from kb.facts.trials import RunNumbers

_COMMAND = regex(
    r"(?P<env>(?:env |sudo |time |[A-Z][A-Z0-9_]{1,60}=\S{0,200} ){0,12})(?:\S{0,200}/)?"
    r"(?:python[\d.]{0,5}|torchrun|deepspeed|accelerate|mpirun|srun|horovodrun)\s(?P<rest>.{1,1500})"
)
_PROGRAM = regex(r"(?:^|\s)(?:\S{0,300}/)?(?P<program>[\w.-]{1,80}\.py)\b|\s?-m (?P<module>[\w.]{1,80})")
_GPUS = regex(r"--(?:n?gpus|num[_-]gpus|nproc[_-]per[_-]node|num[_-]processes|devices)[= ](?P<gpus>\d{1,3})\b")
_LOSS = regex(
    r"\b(?:\w{1,20}[_ -])?loss(?:es)?['\"]?\s{0,4}[:=|]?\s{0,4}['\"]?"
    r"(?P<value>nan|[+-]?\d{1,12}\.\d{1,12}(?:e[+-]?\d{1,3})?)\b",
    re.IGNORECASE,
)


def read(section: Section) -> Iterator[Reading]:
    """RunNumbers of the command of the section, where its output shows a loss."""
    command = _COMMAND.match((section.command or "")[:2000])
    program = _PROGRAM.search(command["rest"]) if command is not None else None
    if command is None or program is None:
        return
    values: dict[bool, int] = {}
    for index, line in section.matching("loss", "Loss"):
        for match in _LOSS.finditer(line[-2000:]):
            values.setdefault(match["value"].lower() == "nan", index)
    if not values:
        return
    gpus = _GPUS.search(command["rest"])
    fact = RunNumbers(
        program=program["program"] or program["module"],
        numbers="nan" if True in values else "finite",
        direct_copies_off=without_direct_copies(command["env"]) or None,
        gpus=int(gpus["gpus"]) if gpus is not None else None,
    )
    yield section.observe(fact, values.get(True, values.get(False, 0)))


READER = Reader(
    "run-numbers",
    read,
    markers=("loss: nan", "loss: NaN", "'loss': ", "loss=nan"),
    commands=("python", "torchrun", "deepspeed", "accelerate launch", "mpirun", "srun ", "NCCL_"),
)
