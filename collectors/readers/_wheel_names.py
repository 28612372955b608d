"""Python packages that have to do with GPUs, and which CUDA their names and builds tell. No reader."""

from __future__ import annotations

from typing import Literal, TypeAlias

from collectors.readers._regex import regex
from kb.facts.environment import PythonPackage

Manager: TypeAlias = Literal["pip", "conda", "report"]
_Role: TypeAlias = Literal["torch", "nccl", "cuda-runtime", "cuda-library", "framework", "kernels", "other"]

_ROLES: tuple[tuple[_Role, str], ...] = (
    ("torch", r"torch$"),
    ("nccl", r"nvidia-nccl|nccl$"),
    ("cuda-runtime", r"nvidia-cuda-runtime|cuda-cudart$|cudatoolkit$|cuda-runtime$|pytorch-cuda$|cpuonly$"),
    ("cuda-library", r"nvidia-(?!ml-py)|cuda-|cudnn$|libcu|jax-cuda|tensorrt(?!-llm)"),
    (
        "framework",
        (
            r"vllm$|sglang$|deepspeed$|megatron-core$|tensorrt-llm$|lmdeploy$|transformers$|accelerate$|ray$|jax$|jaxlib$"
            r"|tensorflow|pytorch-lightning$|lightning$|nemo-toolkit$|verl$|trl$|peft$|horovod$|torchtitan$|llamafactory$"
        ),
    ),
    (
        "kernels",
        (
            r"triton|pytorch-triton|flash-attn|flashinfer|flashmla|xformers$|sgl-kernel|transformer-engine|apex$|cupy"
            r"|bitsandbytes$|deep-ep$|deep-gemm|deepgemm|grouped-gemm|mamba-ssm|causal-conv1d|vllm-flash-attn|torchao$|aiter$"
        ),
    ),
    (
        "other",
        (
            r"torchvision$|torchaudio$|torchtext$|torchdata$|torch-|pytorch-mutex$|safetensors$|huggingface-hub$|numba$|mpi4py$"
            r"|pynvml$|onnxruntime|mooncake|nixl|ucx|pynccl|nvidia-ml-py$"
        ),
    ),
)
_BY_NAME = tuple((role, regex(names)) for role, names in _ROLES)
_CUDA_OF_NAME = regex(r"-(?:cu|cuda)(?P<digits>\d{2,3})x?(?:-|$)")
_CUDA_OF_BUILD = regex(
    r"(?:^|[+_.])cu(?P<digits>\d{2,3})(?!\d)|cuda_?(?P<version>\d{1,2}\.\d{1,2}(?:\.\d{1,4})?)|cuda(?P<joined>\d{3})"
)
_PLAIN_VERSION = regex(r"[0-9]{1,2}(?:\.[0-9]{1,4}){0,2}")
_OF_CUDA_ITSELF = frozenset(("pytorch-cuda", "cudatoolkit", "cuda-version"))
_RENAMED = {"pytorch": "torch", "nvidia-ml-py3": "nvidia-ml-py"}


def package_of(name: str, version: str, manager: Manager, build: str | None = None) -> PythonPackage | None:
    """The package, if it has to do with GPUs; its local version (`+cu128`) becomes its build."""
    plain = _RENAMED.get(name.lower().replace("_", "-"), name.lower().replace("_", "-"))
    role = next((role for role, names in _BY_NAME if names.match(plain)), None)
    if role is None or not version[:1].isdigit():
        return None
    number, _, local = version.partition("+")
    build = local or build
    itself = _PLAIN_VERSION.match(number) if plain in _OF_CUDA_ITSELF else None
    cuda = itself[0] if itself else cuda_of(plain, build or "")
    return PythonPackage(
        name=plain[:80],
        version=number[:60],
        build=build[:80] if build else None,
        cuda=cuda,
        cuda_major=int(cuda.split(".", 1)[0]) if cuda else None,
        manager=manager,
        role=role,
    )


def cuda_of(name: str, build: str) -> str | None:
    """The CUDA that a build, or else a name tells: `12.8` of cu128, `12` of -cu12."""
    match = _CUDA_OF_BUILD.search(build)
    if match:
        return match["version"] or _dotted(match["digits"] or match["joined"])
    named = _CUDA_OF_NAME.search(name)
    return _dotted(named["digits"]) if named else None


def _dotted(digits: str) -> str:
    """`118` → 11.8, `92` → 9.2, `12` → 12."""
    if len(digits) == 3:
        return f"{digits[:2]}.{digits[2]}"
    return digits if digits[0] == "1" else f"{digits[0]}.{digits[1]}"
