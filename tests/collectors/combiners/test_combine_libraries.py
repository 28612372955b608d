"""Which library a process gets: as the dynamic linker finds it, over caches, links and files."""

from __future__ import annotations

from itertools import pairwise

import pytest
from combining import at, combined, complete, in_part, looked, observed

from kb.facts.compatibility import CudaCompatMode
from kb.facts.diagnostics import GpuSelfTest
from kb.facts.driver import KernelModule, LibraryFile, LibraryLink, LinkerEntry, ResolvedLibrary
from kb.facts.gpu import Gpu
from kb.facts.packages import Package

X = "/usr/lib/x86_64-linux-gnu"
CUDA = "libcuda.so.1"


def entry(path: str, soname: str = CUDA, **more) -> LinkerEntry:
    return LinkerEntry(**{"soname": soname, "path": path, "abi": "x86-64", **more})


def link(path: str, target: str) -> LibraryLink:
    return LibraryLink(path=path, target=target)


def compat(version: str, state: str = "installed") -> Package:
    return Package(name="cuda-compat-12-8", version=version, state=state, role="cuda-compat", upstream=version)


def found(*facts, soname: str = CUDA) -> list[tuple[str, str | None, str]]:
    """Path, version and origin of what is resolved for a soname."""
    libraries = [one for one in combined(ResolvedLibrary, *facts) if one.soname == soname]
    return [(one.path, one.version, one.origin) for one in libraries]


def test_the_cache_and_a_link_lead_to_a_file():
    """The version stands in the name of the file at the end."""
    file = f"{X}/libcuda.so.590.48.01"

    assert found(entry(f"{X}/{CUDA}"), link(f"{X}/{CUDA}", file)) == [(file, "590.48.01", "driver")]


def test_links_are_followed_to_the_end():
    """Link after link, across folders."""
    steps = [f"{X}/{CUDA}", "/opt/a/libcuda.so", "/opt/b/libcuda.so", "/opt/c/libcuda.so.1.2.3"]

    facts = [entry(steps[0]), *(link(*pair) for pair in pairwise(steps))]
    assert found(*facts) == [("/opt/c/libcuda.so.1.2.3", "1.2.3", "other")]


def test_lib_is_a_link_to_usr_lib():
    """A cache that says /lib and a listing that says /usr/lib mean one file."""
    file = f"{X}/libcuda.so.590.48.01"

    assert found(entry(f"/lib/x86_64-linux-gnu/{CUDA}"), link(f"{X}/{CUDA}", file)) == [
        (file, "590.48.01", "driver")
    ]
    assert found(entry(f"/lib64/{CUDA}"), link(f"/usr/lib64/{CUDA}", "/lib64/libcuda.so.5.6")) == [
        ("/lib64/libcuda.so.5.6", "5.6", "driver")
    ]


def test_without_the_link_the_version_is_not_known():
    """The path is; what lies behind it is not guessed."""
    assert found(entry(f"{X}/{CUDA}")) == [(f"{X}/{CUDA}", None, "driver")]


@pytest.mark.parametrize("length", [1, 2, 3])
def test_a_circle_of_links_ends(length):
    """No version comes of it."""
    ring = [f"{X}/{CUDA}", *(f"{X}/l{number}" for number in range(length - 1)), f"{X}/{CUDA}"]

    facts = [link(*pair) for pair in pairwise(ring)]
    assert [version for _, version, _ in found(entry(ring[0]), *facts)] == [None]


def test_the_first_native_entry_of_the_cache_wins():
    """By its position there, not by the order in which it was read."""
    facts = [entry(f"{X}/{CUDA}.2", order=2), entry(f"{X}/{CUDA}.1", order=1), entry(f"{X}/{CUDA}.0", order=3)]

    assert [path for path, _, _ in found(*facts)] == [f"{X}/{CUDA}.1"]


@pytest.mark.parametrize("abi", [None, "x32"])
def test_libraries_of_another_abi_do_not_count(abi):
    """The 32-bit one may stand first."""
    other = entry(f"/usr/lib/i386-linux-gnu/{CUDA}", abi=abi, order=0)

    assert [path for path, _, _ in found(other, entry(f"{X}/{CUDA}", order=1))] == [f"{X}/{CUDA}"]
    assert found(other) == []


def test_libraries_of_arm_count():
    """AArch64 is native too."""
    path = f"/usr/lib/aarch64-linux-gnu/{CUDA}"

    assert [one for one, _, _ in found(entry(path, abi="AArch64"))] == [path]


def test_without_a_cache_the_default_folders_are_searched():
    """The first folder that has the link."""
    links = [
        link(f"/usr/lib64/{CUDA}", "/usr/lib64/libcuda.so.2.0"),
        link(f"{X}/{CUDA}", f"{X}/libcuda.so.1.0"),
        link(f"/opt/{CUDA}", "/opt/libcuda.so.3.0"),
    ]

    assert found(*links) == [(f"{X}/libcuda.so.1.0", "1.0", "driver")]
    assert found(links[2]) == []


def test_with_a_cache_a_soname_that_is_not_in_it_is_not_found():
    """The linker would not find it either."""
    ml = "libnvidia-ml.so.1"

    assert found(entry(f"{X}/{CUDA}"), link(f"{X}/{ml}", f"{X}/libnvidia-ml.so.5.6"), soname=ml) == []


ORIGINS = {
    f"{X}/libcuda.so.5.6": "driver",
    "/usr/lib64/libcuda.so.5.6": "driver",
    "/lib64/libcuda.so.5.6": "driver",
    "/usr/lib/nvidia/libcuda.so.5.6": "driver",
    "/usr/local/cuda-12.8/compat/libcuda.so.5.6": "cuda-compat",
    "/usr/local/cuda/lib64/stubs/libcuda.so.5.6": "stub",
    "/opt/conda/lib/libcuda.so.5.6": "other",
    "/usr/lib/wsl/lib/libcuda.so.5.6": "other",
}


@pytest.mark.parametrize(("path", "origin"), ORIGINS.items())
def test_the_folder_tells_whose_library_it_is(path, origin):
    """The driver's own, a compatibility package, a stub for linking, or another."""
    assert found(entry(path)) == [(path, "5.6", origin)]


def test_a_package_tells_that_a_library_in_the_drivers_folder_is_a_compatibility_library():
    """A container runtime mounts it beside the driver's own."""
    facts = [entry(f"{X}/{CUDA}"), link(f"{X}/{CUDA}", f"{X}/libcuda.so.570.86.15")]

    assert [origin for _, _, origin in found(*facts, compat("570.86.15"))] == ["cuda-compat"]
    assert [origin for _, _, origin in found(*facts, compat("550.54.14"))] == ["driver"]


def test_a_removed_compatibility_package_tells_nothing():
    """Only its settings are left."""
    facts = [entry(f"{X}/libcuda.so.570.86.15"), compat("570.86.15", state="config-files")]

    assert [origin for _, _, origin in found(*facts)] == ["driver"]


def test_a_library_rests_on_cache_links_and_file():
    """Each step can be cited."""
    file = LibraryFile(stem="libcuda", path="/lib/x86_64-linux-gnu/libcuda.so.5.6", version="5.6")
    steps = [entry(f"{X}/{CUDA}"), link(f"{X}/{CUDA}", f"{X}/libcuda.so.5.6"), file]

    one = observed(ResolvedLibrary, *(at(fact, line=line) for line, fact in enumerate(steps, 1)))[0]

    assert [part.source.line for part in one.basis] == [1, 2, 3]


def test_libraries_were_looked_for_where_cache_or_links_were():
    """One complete look at either is one at what processes get."""
    assert looked(ResolvedLibrary, complete(LinkerEntry), in_part(LibraryLink)) == [True]
    assert looked(ResolvedLibrary, in_part(LibraryLink)) == [False]
    assert looked(ResolvedLibrary, complete(LibraryFile)) == []


def in_the_image(version: str) -> LibraryFile:
    """A libcuda of the package in the folder that images have for it."""
    return LibraryFile(stem="libcuda", path=f"/usr/local/cuda/compat/libcuda.so.{version}", version=version)


def newer_than_the_module(*more) -> list[tuple[str, str | None, str]]:
    """What is resolved where libcuda is of a newer release than the module."""
    own = [entry(f"{X}/{CUDA}"), link(f"{X}/{CUDA}", f"{X}/libcuda.so.570.86.15")]
    return found(*own, KernelModule(version="535.183.01", reported_by="procfs"), *more)


@pytest.mark.parametrize(
    ("more", "origin"),
    [
        ([], "driver"),
        ([GpuSelfTest(test="cuda-sample", outcome="passed")], "cuda-compat"),
        ([GpuSelfTest(test="cuda-sample", outcome="failed")], "driver"),
        ([GpuSelfTest(test="cuda-sample", outcome="passed"), Gpu(name="NVIDIA GeForce RTX 3090")], "driver"),
        ([in_the_image("570.86.15")], "cuda-compat"),
        ([in_the_image("560.35.03")], "driver"),
        ([CudaCompatMode(mode="forward", library="570.86.15")], "cuda-compat"),
    ],
)
def test_a_newer_libcuda_is_the_package_s_where_it_works_or_lies_in_its_folder(more, origin: str):
    """With the driver's own libcuda of another release, no call of CUDA succeeds."""
    assert [one[2] for one in newer_than_the_module(*more)] == [origin]


def test_a_libcuda_of_the_module_s_release_is_the_driver_s():
    """Though an image may bring the package of the same release."""
    image = LibraryFile(stem="libcuda", path="/usr/local/cuda/compat/libcuda.so.535.183.01", version="535.183.01")
    own = [entry(f"{X}/{CUDA}"), link(f"{X}/{CUDA}", f"{X}/libcuda.so.535.183.01")]
    module = KernelModule(version="535.183.01", reported_by="procfs")

    assert [one[2] for one in found(*own, module, image)] == ["driver"]
