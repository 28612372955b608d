"""Lines of known defects, against the releases that are there."""

from combining import combined

from kb.facts.environment import PythonPackage, TorchBuild
from kb.facts.problems import DefectLine, FrameworkDefect, FrameworkVersion
from kb.facts.settings import Setting
from kb.framework_defects import catalogue

LINE = DefectLine(id="deepspeed-elastic-agent-log", text="ImportError: cannot import name 'log'")


def test_a_release_before_the_mending_one_has_it() -> None:
    package = PythonPackage(name="deepspeed", version="0.14.0")
    (found,) = combined(FrameworkDefect, LINE, package)
    assert (found.version, found.fixed) == ("0.14.0", "0.14.1")


def test_a_newer_release_is_not_accused() -> None:
    version = FrameworkVersion(package="deepspeed", version="0.15.4")
    assert not combined(FrameworkDefect, LINE, version)


def test_without_a_release_the_line_speaks_alone() -> None:
    (found,) = combined(FrameworkDefect, LINE)
    assert found.version is None


def test_every_entry_has_a_source_and_says_what_to_do() -> None:
    for entry in catalogue():
        assert entry.source.startswith("https://")
        assert entry.what
        assert entry.workaround
        assert entry.lines or entry.id == "torch-counts-no-gpu-by-uuid"


def test_a_count_of_none_where_cuda_works() -> None:
    """By a UUID only, and only of a release that has it."""
    by_uuid = Setting(name="CUDA_VISIBLE_DEVICES", value="MIG-5d2c1a40-77a1", origin="launch")
    by_number = Setting(name="CUDA_VISIBLE_DEVICES", value="0", origin="launch")
    old = TorchBuild(version="1.13.0+cu117", gpus=0, cuda_available=True, reported_by="python")
    new = TorchBuild(version="2.1.0+cu121", gpus=0, cuda_available=True, reported_by="python")
    without = TorchBuild(version="1.13.0+cu117", gpus=0, cuda_available=False, reported_by="python")

    assert [one.version for one in combined(FrameworkDefect, by_uuid, old)] == ["1.13.0+cu117"]
    assert not combined(FrameworkDefect, by_number, old)
    assert not combined(FrameworkDefect, by_uuid, new)
    assert not combined(FrameworkDefect, by_uuid, without)
