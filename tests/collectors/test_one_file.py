"""The collector that is one file: any Python from 3.6 on runs it, with nothing installed."""

from __future__ import annotations

import ast
import dataclasses
import json
import os
import subprocess
import sys
import tarfile
import zipfile
from pathlib import Path

import pytest

from collectors import small_dataclasses
from collectors.one_file import build, plain, sources
from collectors.taking import Wanted, planned
from diagnose import __version__
from diagnose.explain import read_case

ROOT = Path(__file__).parent.parent.parent
OLDEST = (3, 6)
MOST_BYTES = 200_000
PYTHONS = [sys.executable, *os.environ.get("OTHER_PYTHONS", "").split()]
"""Interpreters that run it: ours, and what is named: `OTHER_PYTHONS=/opt/python3.6/bin/python3 make test`."""
# Methods that came later; unlike functions and arguments no tool knows them.
LATER = {
    "removeprefix",
    "removesuffix",
    "is_relative_to",
    "hardlink_to",
    "with_stem",
    "bit_count",
    "isascii",
}


@pytest.fixture(scope="module")
def collector(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return build(ROOT, tmp_path_factory.mktemp("built") / "diagnose-collect.pyz", __version__)


@pytest.fixture(params=PYTHONS)
def run(request: pytest.FixtureRequest, collector: Path, tmp_path: Path):
    """Runs it with nothing but the standard library."""

    def run(*arguments: str) -> tuple[int, str, str]:
        command = [request.param, "-I", "-S", str(collector), *arguments]
        done = subprocess.run(command, capture_output=True, text=True, check=False, cwd=tmp_path)
        return done.returncode, done.stdout, done.stderr

    return run


def test_it_is_small_and_the_same_each_time(collector: Path, tmp_path: Path) -> None:
    """It is copied to many machines; the same sources give the same bytes."""
    again = build(ROOT, tmp_path / "again.pyz", __version__)

    assert collector.stat().st_size < MOST_BYTES
    assert collector.read_bytes() == again.read_bytes()
    assert collector.stat().st_mode & 0o777 == 0o755


def test_the_oldest_python_understands_every_module(tmp_path: Path) -> None:
    """By its grammar, and by what its library has. What is not so must be written otherwise in the sources."""
    for name, text in sources(ROOT).items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(text)
        tree = ast.parse(text, feature_version=OLDEST)
        assert {node.attr for node in ast.walk(tree) if isinstance(node, ast.Attribute)} & LATER == set(), name
        assert not any(isinstance(node, ast.NamedExpr) for node in ast.walk(tree)), name

    vermin = Path(sys.executable).with_name("vermin")
    command = [vermin, "--target=3.6-", "--violations", "--no-tips", "--no-parse-comments", tmp_path]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout


def test_it_imports_nothing_but_itself_and_the_standard_library() -> None:
    """Two packages may be used where they are there: for .zst, and for NVML."""
    optional = {"zstandard", "pynvml", "torch"}
    for name, text in sources(ROOT).items():
        for node in ast.walk(ast.parse(text)):
            modules = [alias.name for alias in node.names] if isinstance(node, ast.Import) else []
            modules += [node.module or ""] if isinstance(node, ast.ImportFrom) else []
            tops = {module.split(".")[0] for module in modules}
            assert tops <= {"collectors", *optional, *sys.stdlib_module_names}, name


def test_its_bundle_is_read_like_any_other(run, tmp_path: Path) -> None:
    """An archive that every machine can make, with the same sources as those of the program."""
    status, printed, said = run("-o", "here.tar.gz", "--skip", "python,py-spy,docker-*,nvidia-smi*")

    assert (status, printed, said) == (0, "here.tar.gz\n", "")
    case = read_case([str(tmp_path / "here.tar.gz")])
    assert (case.opened.inputs[0].kind, case.opened.inputs[0].host) == ("bundle", os.uname().nodename)
    assert any(one.fact.kind == "boot" for one in case.observed)
    assert (tmp_path / "here.tar.gz").stat().st_mode & 0o777 == 0o600


def test_its_name_and_its_content_are_redacted(run, tmp_path: Path) -> None:
    """With the same word the same token; without a name the archive is .tar.gz, for .zst needs a package."""
    status, printed, said = run("--redact-key", "a word", "--only", "uname,proc-version")

    name = printed.strip()
    assert (status, name[-7:]) == (0, ".tar.gz")
    assert said.startswith("diagnose: replaced: host ")
    with tarfile.open(tmp_path / name) as archive:
        manifest = json.load(archive.extractfile(f"{name[:-7]}/manifest.json"))
    assert name.startswith(f"diagnose-{manifest['host']}-")
    assert manifest["redacted"]["replaced"]["host"] >= 1


def test_its_table_is_that_of_the_program(run) -> None:
    """A line for each source, and nothing is read."""
    status, printed, _ = run("--dry-run", "--pid", "1")

    names = [line.split()[0] for line in planned(Wanted(pids=(1,)))]
    assert (status, [line.split()[0] for line in printed.splitlines()]) == (0, names)


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (
            ("--only", "dmseg"),
            "no source is called dmseg; the nearest is dmesg; --dry-run lists them all\n",
        ),
        (("--sample", "an hour"), "expected a time of at most ten minutes such as 20s after --sample"),
        (("--root", "/no/such/root"), "expected the root of a system, found no folder at /no/such/root"),
        (("-o", "/proc/no/bundle.tar.gz"), "could not write the bundle /proc/no/bundle.tar.gz"),
        (("--deadline", "0"), "expected at least 1 after --deadline"),
    ],
)
def test_what_a_user_can_mend_ends_in_one_line(run, arguments: tuple[str, ...], says: str) -> None:
    """And in exit status 2, never in a traceback."""
    status, printed, said = run(*arguments)

    assert (status, printed, said.count("\n")) == (2, "", 1)
    assert says in said


def test_annotations_go_and_fields_stay() -> None:
    """What only a type checker reads is taken out; a data class still has its fields, in order."""
    text = '''
        """What it is."""
        from __future__ import annotations
        from dataclasses import dataclass, field
        from typing import TYPE_CHECKING, Literal, TypeAlias
        if TYPE_CHECKING:
            from nowhere import Nothing
        Kind: TypeAlias = Literal["a"] | None
        count: int = 3
        later: int
        @dataclass(frozen=True)
        class Point:
            """A point."""
            x: int | None
            y: list[Kind] = field(default_factory=list)
            def moved(self, by: int, *, twice: bool = False) -> Point:
                """Elsewhere."""
                step: int = by
                return Point(self.x + step, self.y)
    '''
    expected = """
        from collectors.small_dataclasses import dataclass, field
        count = 3
        @dataclass(frozen=True)
        class Point:
            x: 'object'
            y: 'object' = field(default_factory=list)
            def moved(self, by, *, twice=False):
                step = by
                return Point(self.x + step, self.y)
    """

    assert ast.dump(ast.parse(plain(dedented(text)))) == ast.dump(ast.parse(dedented(expected)))


def dedented(text: str) -> str:
    return "\n".join(line[8:] for line in text.splitlines())


@pytest.mark.parametrize("library", [dataclasses, small_dataclasses], ids=["standard", "ours"])
def test_data_classes_are_as_in_the_standard_library(library) -> None:
    """Arguments, defaults, sameness, a hash and refusal where frozen, and what is done after."""

    @library.dataclass(frozen=True)
    class Point:
        x: int
        y: int = 2

    @library.dataclass
    class Path:
        name: str
        points: list = library.field(default_factory=list)
        length: int = library.field(init=False)

        def __post_init__(self) -> None:
            self.length = len(self.points)

    path = Path("p", points=[Point(1), Point(3, y=4)])
    assert (path.length, Path("q").points is Path("q").points) == (2, False)
    assert library.asdict(path) == {"name": "p", "points": [{"x": 1, "y": 2}, {"x": 3, "y": 4}], "length": 2}
    assert repr(Point(1)).endswith("Point(x=1, y=2)")
    assert Point(1) == Point(1, 2) != Point(2)
    assert len({Point(1), Point(1)}) == 1
    assert library.replace(Point(1), y=7) == Point(1, 7)
    assert library.replace(path, name="r").length == 2
    with pytest.raises(AttributeError):
        Point(1).x = 2
    for arguments, named in (((), {}), ((1, 2, 3), {}), ((1,), {"z": 1}), ((1,), {"x": 1})):
        with pytest.raises(TypeError):
            Point(*arguments, **named)


def test_it_is_a_zip_file_that_python_runs(collector: Path) -> None:
    """With the first line that makes it a program."""
    assert collector.read_bytes().startswith(b"#!/usr/bin/env python3\n")
    with zipfile.ZipFile(collector) as archive:
        assert archive.testzip() is None
        assert "__main__.py" in archive.namelist()
