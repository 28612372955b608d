"""Facts on installed packages and their history."""

from typing import ClassVar, Literal, TypeAlias

from pydantic import computed_field

from kb.facts.base import Fact, Version
from kb.releases import follows_driver

PackageRole: TypeAlias = Literal[
    "driver-userspace",
    "driver-kernel",
    "driver-firmware",
    "driver-meta",
    "fabric-manager",
    "imex",
    "cuda-compat",
    "cuda-toolkit",
    "container-toolkit",
    "nccl",
]


class Package(Fact):
    """One package that has to do with GPUs, from dpkg -l, rpm -qa and the like."""

    kind: ClassVar[str] = "package"

    name: str
    """Without the architecture suffix."""
    version: str
    """As the package manager prints it."""
    state: Literal["installed", "config-files", "half-installed", "unpacked", "half-configured", "triggers"]
    """`config-files` is dpkg's `rc`: removed, only settings remain."""
    manager: Literal["dpkg", "rpm", "pacman", "pip", "conda"] = "dpkg"
    role: PackageRole | None = None
    """What it brings, where the name tells."""
    upstream: Version | None = None
    """The release inside the version: 565.57.01 of 565.57.01-0ubuntu1."""
    branch: int | None = None
    """The driver branch that the name or version gives: 565."""
    architecture: str | None = None

    @computed_field  # type: ignore[prop-decorator]
    @property
    def follows_driver(self) -> bool | None:
        """It must be of exactly the driver's release; None where its role is not known or not in the catalogue."""
        return follows_driver(self.role) if self.role else None


class PackageEvent(Fact):
    """One line of a package manager's history."""

    kind: ClassVar[str] = "package_event"

    action: Literal["install", "upgrade", "remove"]
    name: str
    role: PackageRole | None = None
    from_version: str | None = None
    to_version: str | None = None
    to_upstream: Version | None = None
    """The driver's own release in it, without what the packager added."""
    time: str | None = None
    """As printed; local time of that machine."""


class RebootRequired(Fact):
    """The system's own note that it must be rebooted, and for which packages."""

    kind: ClassVar[str] = "reboot_required"

    driver: str | None = None
    """The package of the NVIDIA driver that asks for it; None where none does, or where none is named."""
    packages: int = 0
    """How many packages ask for it, as far as they are named."""


class PackageConflict(Fact):
    """A package of the driver that the package manager refused, for a file of it is another package's."""

    kind: ClassVar[str] = "package_conflict"

    name: str
    """The one that was refused."""
    branch: int | None = None
    path: str
    owner: str | None = None
    """Whose the file is; None where it is no package's, as after NVIDIA's own installer."""
    owner_branch: int | None = None
    branches_differ: bool = False
    """The two are of different branches of the driver."""
    manager: Literal["dpkg", "rpm", "pacman"]
