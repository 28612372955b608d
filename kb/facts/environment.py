"""Facts on the Python environment of a job, and on CUDA and its libraries as programs meet them."""

from typing import ClassVar, Literal, TypeAlias

from pydantic import Field, computed_field

from kb.catalogues import toolkit_floor
from kb.facts.base import Fact, Version

CudaErrorClass: TypeAlias = Literal[
    "invalid-value",
    "out-of-memory",
    "initialization",
    "stub-library",
    "unknown",
    "no-device",
    "invalid-device",
    "driver-too-old",
    "driver-missing",
    "busy",
    "no-kernel-image",
    "invalid-kernel-image",
    "invalid-device-function",
    "symbol-not-found",
    "invalid-ptx",
    "jit-compiler-not-found",
    "unsupported-ptx",
    "os-call-failed",
    "illegal-address",
    "misaligned-address",
    "illegal-instruction",
    "launch-failed",
    "launch-resources",
    "launch-timeout",
    "assert",
    "ecc-uncorrectable",
    "nvlink-uncorrectable",
    "hardware",
    "not-permitted",
    "not-supported",
    "not-ready",
    "driver-mismatch",
    "compat-not-supported",
    "mps",
    "peer-unsupported",
    "peer-access",
    "too-many-peers",
    "not-supported-by-driver",
    "external-device",
    "fork",
    "cpu-build",
    "other",
]


class PythonPackage(Fact):
    """A Python package that has to do with GPUs, as pip, conda or a report lists it."""

    kind: ClassVar[str] = "python_package"

    name: str
    """In lower case with hyphens; conda's pytorch is torch."""
    version: str
    """Without its local part."""
    build: str | None = None
    """Local part or conda's build: cu128, cpu, rocm6.2, py3.10_cuda12.1_cudnn8_0."""
    cuda: Version | None = None
    """CUDA that its build or name tells: 12.8 of cu128, 12 of nvidia-nccl-cu12."""
    cuda_major: int | None = None
    """12 of both."""
    manager: Literal["pip", "conda", "report"] = "pip"
    role: Literal["torch", "nccl", "cuda-runtime", "cuda-library", "framework", "kernels", "other"] = "other"


class TorchBuild(Fact):
    """A PyTorch and what it was built for, as it says itself. Unknown where it was not asked."""

    kind: ClassVar[str] = "torch_build"

    version: str | None = None
    """With its local part, `2.7.0+cu128`."""
    cuda: Version | None = None
    """CUDA it was built with."""
    cpu_only: bool | None = None
    """Built without CUDA and without ROCm."""
    rocm: bool | None = None
    cuda_available: bool | None = None
    """torch.cuda.is_available()."""
    gpus: int | None = None
    """torch.cuda.device_count()."""
    archs: str | None = None
    """torch.cuda.get_arch_list(), `sm_80 sm_90 compute_90`."""
    nccl: Version | None = None
    """torch.cuda.nccl.version()."""
    reported_by: Literal["torch", "vllm", "sglang", "python"] = "python"

    @computed_field  # type: ignore[prop-decorator]
    @property
    def driver_floor(self) -> Version | None:
        """The oldest driver on which programs of its CUDA start."""
        return toolkit_floor(self.cuda) if self.cuda else None


class GpuArchUnsupported(Fact):
    """PyTorch's warning that it has no code for a GPU's architecture."""

    kind: ClassVar[str] = "gpu_arch_unsupported"

    gpu: str | None = None
    """Model, as printed."""
    arch: str
    """sm_120."""
    supported: str | None = None
    """What the build has, `sm_80 sm_90`, or `(5.0) - (9.0)`."""
    same_family: bool = False
    """The build has code for an older member of the family (sm_120 for sm_121), which runs there."""


class CudaToolkit(Fact):
    """A CUDA toolkit (nvcc) that is installed. Says nothing on what a wheel uses."""

    kind: ClassVar[str] = "cuda_toolkit"

    version: Version

    @computed_field  # type: ignore[prop-decorator]
    @property
    def driver_floor(self) -> Version | None:
        """The oldest driver on which programs of this CUDA start."""
        return toolkit_floor(self.version)


class CudaError(Fact):
    """A CUDA call failed; the same error of one rank together."""

    kind: ClassVar[str] = "cuda_error"

    class_: CudaErrorClass = Field(alias="class")
    code: int | None = None
    """Number of the runtime or driver API, where printed or known from the text."""
    where: Literal["init", "runtime"]
    """`init`: while CUDA was started or devices were counted; `runtime`: later."""
    reported_by: Literal["torch", "nccl-tests", "framework", "cuda-sample", "other"] = "other"
    """What NCCL itself warns of is in NcclCudaFailure."""
    rank: str | None = None
    child: Literal["forked", "spawned", "child"] | None = None
    """It was raised in a process of Python's multiprocessing, as the heading of its traceback says.

    `child` where the heading does not tell how it was begun, which is by fork unless the program asks for more.
    """
    driver_cuda: Version | None = None
    """Highest CUDA of the driver, where the message gives it: 12.8 of `found version 12080`."""
    text: str
    count: int = 1


class LibraryLoadError(Fact):
    """A shared library of CUDA, NCCL, PyTorch or the network could not be loaded; the same one together.

    NCCL's own search for plug-ins is in NcclPlugin.
    """

    kind: ClassVar[str] = "library_load_error"

    library: str
    """The library that is missing, or that asks in vain for a symbol, without its folder."""
    problem: Literal[
        "not-found", "undefined-symbol", "version-not-found", "not-permitted", "wrong-format", "other"
    ]
    symbol: str | None = None
    needed_by: str | None = None
    """Program, module or library that asked for the library, without its folder."""
    family: Literal["driver", "cuda", "nccl", "torch", "extension", "network", "other"] = "other"
    """Whose the missing thing is, judged by library and symbol: ncclCommRegister is NCCL's."""
    optional: bool = False
    """A warning: the program goes on without it."""
    path: str | None = None
    """Of the library, as printed."""
    count: int = 1
