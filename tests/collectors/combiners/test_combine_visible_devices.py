"""Variables that choose GPUs, against the GPUs that are there."""

import pytest
from combining import combined

from kb.facts.gpu import Gpu
from kb.facts.gpu_bus import GpuCount
from kb.facts.settings import Setting, VisibleDevices

TWO = GpuCount(seen_by="driver", count=2, reported_by="nvidia-smi")
LISTED = Gpu(index=0, uuid="GPU-6e0d1c7b-40f9-a2c5-9b13-7d8e5f2a1c60")


@pytest.mark.parametrize(
    ("name", "value", "problem", "devices"),
    [
        ("CUDA_VISIBLE_DEVICES", "0,1", "none", 2),
        ("CUDA_VISIBLE_DEVICES", "4,5", "beyond", 0),
        ("CUDA_VISIBLE_DEVICES", "0,7", "beyond", 1),
        ("CUDA_VISIBLE_DEVICES", "1,1", "repeats", 2),
        ("CUDA_VISIBLE_DEVICES", "", "none-named", None),
        ("CUDA_VISIBLE_DEVICES", "-1", "hides-all", None),
        ("CUDA_VISIBLE_DEVICES", "GPU-6e0d1c7b", "none", 1),
        ("CUDA_VISIBLE_DEVICES", "GPU-0badcafe", "unknown-uuid", 0),
        ("CUDA_VISIBLE_DEVICES", "MIG-1d3c", "none", 1),
        ("NVIDIA_VISIBLE_DEVICES", "all", "none", None),
        ("NVIDIA_VISIBLE_DEVICES", "void", "none", None),
        ("NVIDIA_VISIBLE_DEVICES", "none", "hides-all", None),
    ],
)
def test_a_value_is_held_against_what_is_there(name: str, value: str, problem: str, devices: int | None) -> None:
    setting = Setting(name=name, value=value, origin="launch")
    (found,) = combined(VisibleDevices, setting, TWO, LISTED)
    assert (found.problem, found.devices, found.present) == (problem, devices, 2)


def test_without_a_list_of_gpus_no_number_is_too_high() -> None:
    setting = Setting(name="CUDA_VISIBLE_DEVICES", value="4,5", origin="launch")
    (found,) = combined(VisibleDevices, setting)
    assert (found.problem, found.devices) == ("none", None)
