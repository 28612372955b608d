"""The fact types: the shared vocabulary of readers and of rule authors. One module a family.

A fact is a frozen pydantic model with a `kind`; unknown is None, never "" or -1; units are in the names.
"""

from kb.facts.base import FACTS, Bdf, Fact, Version, fields_of, version_key
from kb.facts.conclusion import Disagreement, Outcome, Symptom
from kb.facts.driver import (
    ApiMismatch,
    KernelModule,
    LibraryFile,
    LibraryLink,
    LinkerEntry,
    ModuleFile,
    NvidiaSmi,
    NvmlError,
    ResolvedLibrary,
)
from kb.facts.framework import (
    GpuOom,
    LaunchArgument,
    ModelFiles,
    ModelFit,
    PortConflict,
    ProcessError,
    ProcessExit,
    RankCollective,
    StartMilestone,
    StartProgress,
)
from kb.facts.gpu import Gpu, GpuMemoryPattern, GpuMemorySample, GpuMemoryTrend, GpuProcess
from kb.facts.iommu import AcsControl, GpuDmaFault, IommuDefault, IommuFault, IommuGroup
from kb.facts.machine import Boot, Container, KernelParameter, MemoryEncryption, VirtualMachine
from kb.facts.nccl import (
    NcclBootstrap,
    NcclCommunicator,
    NcclInit,
    NcclSetting,
    NcclTransport,
    NcclVersion,
    NcclWarning,
)
from kb.facts.p2p import GpuInterconnect, PeerAccess, PeerCopy, TopologyLink
from kb.facts.packages import Package, PackageEvent
from kb.facts.settings import EffectiveSetting, Setting

__all__ = [
    "FACTS",
    "AcsControl",
    "ApiMismatch",
    "Bdf",
    "Boot",
    "Container",
    "Disagreement",
    "EffectiveSetting",
    "Fact",
    "Gpu",
    "GpuDmaFault",
    "GpuInterconnect",
    "GpuMemoryPattern",
    "GpuMemorySample",
    "GpuMemoryTrend",
    "GpuOom",
    "GpuProcess",
    "IommuDefault",
    "IommuFault",
    "IommuGroup",
    "KernelModule",
    "KernelParameter",
    "LaunchArgument",
    "LibraryFile",
    "LibraryLink",
    "LinkerEntry",
    "MemoryEncryption",
    "ModelFiles",
    "ModelFit",
    "ModuleFile",
    "NcclBootstrap",
    "NcclCommunicator",
    "NcclInit",
    "NcclSetting",
    "NcclTransport",
    "NcclVersion",
    "NcclWarning",
    "NvidiaSmi",
    "NvmlError",
    "Outcome",
    "Package",
    "PackageEvent",
    "PeerAccess",
    "PeerCopy",
    "PortConflict",
    "ProcessError",
    "ProcessExit",
    "RankCollective",
    "ResolvedLibrary",
    "Setting",
    "StartMilestone",
    "StartProgress",
    "Symptom",
    "TopologyLink",
    "Version",
    "VirtualMachine",
    "fields_of",
    "version_key",
]
