"""Lines of known defects, against the releases that are there."""

from combining import combined

from kb.facts.environment import PythonPackage
from kb.facts.problems import DefectLine, FrameworkDefect, FrameworkVersion
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
        assert entry.lines
