"""Facts on the NVIDIA driver: kernel module, user-space libraries, and what its tools say."""

from typing import ClassVar, Literal, TypeAlias

from pydantic import computed_field

from kb.facts.base import Bdf, Fact, Version, branch_of

LibraryOrigin: TypeAlias = Literal["driver", "cuda-compat", "stub", "other"]


class KernelModule(Fact):
    """An NVIDIA kernel module that is loaded. Several sources may report it, each a fact of its own."""

    kind: ClassVar[str] = "kernel_module"

    name: str = "nvidia"
    """Module name: nvidia, nvidia_uvm, nvidia_modeset, nvidia_peermem, nouveau …"""
    loaded: bool = True
    """False where a source says that it is not loaded."""
    version: Version | None = None
    """Release, `590.48.01`; None for a module that has none."""
    flavour: Literal["open", "proprietary"] | None = None
    """Open or proprietary kernel module; None where the source does not tell."""
    sum: str | None = None
    """The sum of its sources (srcversion): two builds with the same sum are of the same sources."""
    reported_by: Literal["procfs", "sysfs", "kernel-log", "nvidia-smi", "lsmod", "other"] = "other"
    """Who says so."""

    @computed_field  # type: ignore[prop-decorator]
    @property
    def branch(self) -> int | None:
        """The driver branch, 590 of 590.48.01."""
        return branch_of(self.version or "")


class ModuleFile(Fact):
    """A kernel module on disk, as modinfo, dkms or a listing shows it; what the next load would bring."""

    kind: ClassVar[str] = "module_file"

    name: str = "nvidia"
    version: Version | None = None
    flavour: Literal["open", "proprietary"] | None = None
    path: str | None = None
    kernel: str | None = None
    """Kernel release it is built for."""
    sum: str | None = None
    """The sum of its sources (srcversion), to be compared with that of the loaded module."""


class KernelHeaders(Fact):
    """Whether what a module is built against is there, for one kernel of which modules are installed."""

    kind: ClassVar[str] = "kernel_headers"

    kernel: str
    """Release, 6.8.0-60-generic."""
    present: bool
    """Its link `build` leads to something."""


class LibraryFile(Fact):
    """A driver library as a file on disk whose name carries the version: libcuda.so.590.48.01."""

    kind: ClassVar[str] = "library_file"

    stem: str
    """Name up to `.so`: libcuda, libnvidia-ml, libnvidia-ptxjitcompiler, libnccl."""
    path: str
    """Absolute path."""
    version: Version


class LibraryLink(Fact):
    """A symbolic link between libraries, from ls -l or readlink."""

    kind: ClassVar[str] = "library_link"

    path: str
    """Absolute path of the link."""
    target: str
    """Absolute path it leads to (one step for ls -l, the end for readlink -f)."""


class LinkerEntry(Fact):
    """One line of the dynamic linker's cache (ldconfig -p)."""

    kind: ClassVar[str] = "linker_entry"

    soname: str
    path: str
    abi: str | None = None
    """As printed: x86-64, AArch64; None for 32-bit x86 (`libc6` alone)."""
    order: int = 0
    """Position among the entries of this soname; the first of the right ABI wins."""


class ResolvedLibrary(Fact):
    """What a process that asks for this soname gets; combined from linker cache, links and files."""

    kind: ClassVar[str] = "resolved_library"

    soname: str
    """libcuda.so.1, libnvidia-ml.so.1, libnccl.so.2."""
    path: str
    """The file at the end of the links."""
    version: Version | None = None
    """From the file name; None where the links were not collected."""
    origin: LibraryOrigin = "driver"
    """Whose library it is, judged by the folder it lies in. `cuda-compat` is also one of a release that the
    package brought, and a libcuda newer than the module that was shown to work."""


class MappedLibrary(Fact):
    """A CUDA or driver library in the memory of a process, or one that its loader chooses; equal ones together."""

    kind: ClassVar[str] = "mapped_library"

    stem: str
    """Name up to `.so`: libcuda, libnvidia-ml, libcudart, libnccl-net."""
    path: str
    version: Version | None = None
    """From the file name."""
    deleted: bool = False
    """The file was replaced since: what the process runs is no longer what is on disk."""
    how: Literal["mapped", "resolved"] = "mapped"
    """`mapped`: in a process's memory; `resolved`: what ldd or dlopen gives."""
    count: int = 1


class NvidiaSmi(Fact):
    """The header of nvidia-smi's table, or `nvidia-smi --version`."""

    kind: ClassVar[str] = "nvidia_smi"

    tool_version: Version | None = None
    """First number: version of the tool and NVML."""
    driver_version: Version | None = None
    """Second: version of the loaded kernel module (`Driver Version`, from R610 `KMD Version`)."""
    cuda_version: Version | None = None
    """Third: highest CUDA of the libcuda that was found (`CUDA Version`, from R610 `CUDA UMD Version`)."""
    cuda_missing: bool = False
    """`N/A` or `ERR!` stands in place of the third: no libcuda was found, or it does not fit."""
    wsl: bool = False
    """On WSL the first two differ by design."""


class RefusedClient(Fact):
    """NVML of another release than any that works here refused to start: in a container or a second installation.

    Combined, from an error that names its release and tools that answer.
    """

    kind: ClassVar[str] = "refused_client"

    library_version: Version
    """The release of the NVML that was refused; its third part may be missing."""
    module_version: Version
    """The release that answers elsewhere."""
    older: bool


class NvmlError(Fact):
    """A tool says that NVML or the driver does not answer."""

    kind: ClassVar[str] = "nvml_error"

    problem: Literal[
        "version-mismatch",
        "driver-not-loaded",
        "no-devices",
        "unknown-error",
        "no-permission",
        "library-not-found",
        "gpu-lost",
        "reset-required",
        "function-not-found",
    ]
    """`function-not-found`: the tool calls what its libnvidia-ml does not have, which is then the older."""
    tool: str | None = None
    bdf: Bdf | None = None
    """The GPU that it is about, where the message names one."""
    vague: bool | None = None
    """`gpu-lost`, where the tool gives no more than `Unknown Error`: lost, or not to be brought up."""
    library_version: Version | None = None
    """As printed beside a mismatch; only two parts, so never compare it as a full version."""


class ApiMismatch(Fact):
    """The kernel module refused a client of another release (`NVRM: API mismatch`)."""

    kind: ClassVar[str] = "api_mismatch"

    client_version: Version
    module_version: Version
    client: str | None = None
    """Name of the client program where the line gives it."""
    count: int = 1
