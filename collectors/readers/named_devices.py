"""GPUs by the whole name that a program prints when it begins, where nvidia-smi's table cuts it or is not there.

    Using cuda:0 (NVIDIA GeForce RTX 3090)
    Ultralytics YOLOv8.2.0 Python-3.11.8 torch-2.2.2+cu121 CUDA:0 (NVIDIA GeForce RTX 3090, 24260MiB)
      Device 0: NVIDIA GeForce RTX 4090, compute capability 8.9, VMM: yes
    Device 0: "NVIDIA A40-48Q"
    … -> device: 0, name: Tesla V100-SXM2-16GB, pci bus id: 0000:15:00.0, compute capability: 7.0

Follows scripts of PyTorch, Ultralytics 5 to 8, llama.cpp's ggml_cuda_init, deviceQuery and bandwidthTest of CUDA's
samples, and TensorFlow 1 and 2. Numbers are the program's own and are not taken over. Prose gives nothing.
"""

from __future__ import annotations

from collections.abc import Iterator

from collectors.readers._lines import BDF
from collectors.readers._regex import regex
from collectors.readers.launcher_prefixes import after_progress, without_launcher, without_stamp
from kb.evidence import Reader, Reading, Section
from kb.facts.gpu import Gpu
from kb.gpu_models import gpu_model

_NAME = r"(?P<name>(?:(?:NVIDIA|GeForce|Tesla|Quadro|TITAN|GRID) )[\w .+/-]{1,60}?)"
_DEVICE = r"(?:cuda(?::\d{1,2})?|GPU|gpu|device|CUDA device)(?: #?\d{1,2})?"
_USES = "(?:Using|Running on|Selected)"
_LOGGED = r"(?:.{0,120}[\])] ?(?:INFO)?:? ?)?"
_FORMS = tuple(
    regex(form)
    for form in (
        rf"{_LOGGED}{_USES} (?:device:? )?{_DEVICE} ?\({_NAME}\)\s*$",
        rf"{_LOGGED}{_USES} {_DEVICE}: ?(?:cuda(?::\d{{1,2}})?[ ,:(-]{{1,4}})?{_NAME}\)?\s*$",
        rf".{{0,200}}\bCUDA:\d{{1,2}} \({_NAME}, \d{{4,6}}(?:\.\d{{1,3}})? ?Mi?B\)",
        rf"(?:\S{{1,40}}: )?\s{{0,4}}Device \d{{1,2}}: {_NAME}, compute capability \d{{1,2}}\.\d",
        rf"\s{{0,2}}Device \d{{1,2}}: \"{_NAME}\"\s*$",
        rf"\s{{0,2}}Device \d{{1,2}}: {_NAME}\s*$",
        rf".{{0,300}}\bdevice: \d{{1,2}}, name: {_NAME}, pci bus id: (?P<bdf>{BDF}), compute capability: \d",
    )
)
_MARKERS = (
    *("Using cuda", "Using device", "Using GPU", "Using gpu", "Using CUDA device"),
    *("Running on cuda", "Running on GPU", "Running on device", "Selected device", "Selected GPU"),
    *("CUDA:0 (", "CUDA:1 (", "CUDA:2 (", "CUDA:3 (", " compute capability ", "Device 0: ", "Device 1: "),
    ", pci bus id: ",
)
_MOST = 64


def read(section: Section) -> Iterator[Reading]:
    """Gpu for each model that is known by its name, once."""
    seen: set[str] = set()
    for index, whole in section.matching(*_MARKERS):
        text = without_stamp(without_launcher(after_progress(whole[:1000])).text).text
        match = next((found for form in _FORMS if (found := form.match(text)) is not None), None)
        if match is None or match["name"] in seen or gpu_model(match["name"]) is None or len(seen) >= _MOST:
            continue
        seen.add(match["name"])
        yield section.observe(
            Gpu(name=match["name"], bdf=match.groupdict().get("bdf"), reported_by="other"), index
        )
    if seen:
        yield section.looked(Gpu, complete=False, reason="not-collected")


READER = Reader("named-devices", read, markers=_MARKERS)
