"""What the name and version of a package tell: the part of the stack that it brings, its release, its branch.

Names follow Ubuntu, Debian, NVIDIA's repositories for apt and dnf, RPM Fusion, SUSE and Arch. A package of a
driver branch whose content is of another one is transitional: it holds nothing, and has no role.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from collectors.readers._regex import regex
from kb.facts.packages import PackageRole

DRIVER_ROLES: tuple[PackageRole, ...] = (
    "driver-userspace",
    "driver-kernel",
    "driver-firmware",
    "driver-meta",
    "fabric-manager",
    "imex",
    "cuda-compat",
)
"""Those whose change can part user space from the kernel module."""

_BRANCH = r"(?:-(?P<branch>\d{3}))?(?:-server|-open|-tkg|-beta|-lts)*"
_SUSE = r"-?G0\d[\w-]{0,40}"
_ROLES: tuple[tuple[PackageRole, str], ...] = (
    ("fabric-manager", r"(?:cuda-drivers-|nvidia-)?(?:fabricmanager|fabric-manager)(?:-dev|-devel)?" + _BRANCH),
    ("imex", r"nvidia-imex" + _BRANCH),
    ("cuda-compat", r"cuda-compat(?:-\d{1,2}-\d{1,2})?"),
    ("nccl", r"(?:lib)?nccl2?(?:-dev|-devel|-static)?"),
    ("container-toolkit", r"(?:lib)?nvidia-container[\w-]{0,30}|nvidia-docker2?|nvidia-ctk"),
    ("cuda-toolkit", r"(?:nvidia-)?cuda-(?:toolkit|runtime|cudart|nvcc)(?:-dev|-devel)?(?:-\d{1,2}-\d{1,2})?"),
    ("cuda-toolkit", r"cuda(?:-\d{1,2}-\d{1,2})?|libcudart\d{0,2}(?:\.\d)?"),
    ("driver-firmware", r"nvidia-firmware-(?P<branch>\d{3})(?:-server)?-\d{3}[\d.]{1,12}"),
    (
        "driver-firmware",
        r"firmware-nvidia-(?:tesla-)?gsp|nvidia-(?:gsp-)?firmware|kernel-firmware-nvidia[\w-]{0,20}",
    ),
    ("driver-kernel", r"linux-(?:modules|objects|signatures)-nvidia-(?P<branch>\d{3})[\w.-]{0,60}"),
    ("driver-kernel", r"nvidia-(?:dkms|open-dkms|kernel-(?:source|common|open)|open-kernel-source)" + _BRANCH),
    (
        "driver-kernel",
        r"nvidia-(?:open-)?kernel-(?:dkms|support)|(?:ak|k)mod-nvidia[\w.-]{0,60}|nvidia-kmod-common",
    ),
    ("driver-kernel", r"nvidia-lts|nvidia-(?:open-)?(?:driver|gfx)" + _SUSE),
    ("driver-kernel", r"dkms-nvidia(?:-open)?|nvidia-kmod(?:-open)?(?:-dkms)?"),
    ("driver-userspace", r"nvidia-(?P<branch>[34]\d{2})(?:-updates|-server)?"),  # Ubuntu up to 16.04: all in one
    ("driver-userspace", r"libcuda1-(?P<branch>[34]\d{2})(?:-updates|-server)?"),
    ("driver-meta", r"nvidia-(?:driver|driver-full|headless|headless-no-dkms|open)" + _BRANCH),
    ("driver-meta", r"cuda-drivers" + _BRANCH),
    (
        "driver-userspace",
        r"libnvidia-(?:compute|decode|encode|extra|fbc1|gl|ifr1|cfg1|common|gpucomp|nscq)" + _BRANCH,
    ),
    ("driver-userspace", r"(?:nvidia-(?:utils|compute-utils|compute|gl)|xserver-xorg-video-nvidia)" + _BRANCH),
    ("driver-userspace", r"libcuda1|libcudadebugger1|libnvcuvid1|nvidia-smi|nvidia-alternative"),
    ("driver-userspace", r"libnvidia-(?:ml1?|ptxjitcompiler1?|nvvm\d{0,2}|encode1|cfg)"),
    ("driver-userspace", r"nvidia-driver-(?:libs|bin|NVML|NvFBCOpenGL|cuda|cuda-libs)"),
    ("driver-userspace", r"xorg-x11-drv-nvidia[\w-]{0,30}"),
    ("driver-userspace", r"(?:lib32-)?(?:nvidia-utils|opencl-nvidia)(?:-tkg|-beta)?"),
    ("driver-userspace", r"(?:nvidia-(?:compute|compute-utils|gl|video|common)|x11-video-nvidia)" + _SUSE),
)
_OTHER = regex(
    r"(?:dkms-)?nvidia-[\w.-]{1,60}|libnvidia-[\w.-]{1,60}|datacenter-gpu-manager[\w.-]{0,30}|python3?-(?:py)?torch(?:-(?:opt-)?cuda)?|nvlsm|gdrcopy|libgdrapi|nvidia"
)
_PATTERNS = tuple((role, regex(pattern)) for role, pattern in _ROLES)
_NOT_OURS = regex(
    r"nvidia-(?:cuda-(?:dev|doc|gdb|toolkit-doc)|texture-tools|opencl-dev|profiler|visual-profiler|cudnn|cg-).*"
    r"|libnvidia-(?:ml-dev|container-dev|egl-.*)|nvidia-cuda-toolkit-(?:doc|gcc)"
)
_DRIVER_RELEASE = regex(r"(?:\d{1,2}:)?(?P<release>\d{2,3}\.\d{1,3}(?:\.\d{1,3})?)(?![\d.])")
_OTHER_RELEASE = regex(r"(?:\d{1,2}:)?(?P<release>\d{1,5}(?:\.\d{1,5}){1,3})")


@dataclass(frozen=True)
class Meaning:
    """What a package is to the GPU stack."""

    role: PackageRole | None
    upstream: str | None
    branch: int | None


def meaning_of(name: str, version: str, *, arch_linux: bool = False) -> Meaning | None:
    """What the package is; None where it has nothing to do with GPUs.

    On Arch, `nvidia` and `nvidia-open` hold the kernel module; elsewhere `nvidia-open` is a metapackage.
    """
    found = _role_of(name)
    if found is None:
        return None
    role, named = found
    if arch_linux and re.fullmatch(r"nvidia(?:-open)?(?:-lts|-beta|-tkg)?", name):
        role = "driver-kernel"
    is_driver = role in DRIVER_ROLES
    match = (_DRIVER_RELEASE if is_driver else _OTHER_RELEASE).match(version[:80])
    upstream = match["release"] if match else None
    major = int(upstream.split(".")[0]) if upstream and is_driver else None
    if named is not None and major is not None and named != major:
        role = None
    return Meaning(role, upstream, major if major is not None else named)


def _role_of(name: str) -> tuple[PackageRole | None, int | None] | None:
    """Its role, None for a GPU package without one, and the branch that the name gives."""
    if _NOT_OURS.fullmatch(name):
        return None
    for role, pattern in _PATTERNS:
        match = pattern.fullmatch(name)
        if match:
            branch = match.groupdict().get("branch")
            return role, int(branch) if branch else None
    return (None, None) if _OTHER.fullmatch(name) else None
