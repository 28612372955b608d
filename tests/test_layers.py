"""Imports run one way, and the engine speaks of no domain: the architecture as a test."""

from __future__ import annotations

import ast
import re
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
OURS = ("kb", "engine", "collectors", "diagnose")

MAY_IMPORT = {
    "kb": ("kb",),
    "engine": ("engine", "kb"),
    "collectors/readers": ("collectors.readers", "kb"),
    "collectors/combiners": ("collectors.combiners", "kb"),
    "collectors/live": ("collectors.live",),
    "collectors/probes": ("collectors.probes", "collectors.live"),
}


def modules(room: str) -> list[Path]:
    return sorted((ROOT / room).rglob("*.py"))


def imported(path: Path) -> Iterator[str]:
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module:
            yield node.module


@pytest.mark.parametrize("room", MAY_IMPORT)
def test_a_room_imports_only_what_lies_below_it(room):
    """Everyone may import kb; nothing runs against the stream."""
    wrong = [
        f"{path.relative_to(ROOT)} imports {name}"
        for path in modules(room)
        for name in imported(path)
        if name.split(".")[0] in OURS
        and not any(name == allowed or name.startswith(f"{allowed}.") for allowed in MAY_IMPORT[room])
    ]

    assert wrong == []


def test_nobody_imports_the_command_line():
    """The composition root stands alone."""
    wrong = [
        f"{path.relative_to(ROOT)}: {name}"
        for room in ("kb", "engine", "collectors")
        for path in modules(room)
        for name in imported(path)
        if name.split(".")[0] == "diagnose"
    ]

    assert wrong == []


def test_readers_and_combiners_do_no_input_or_output():
    """They are pure: text in, facts out."""
    forbidden = {"os", "subprocess", "pathlib", "socket", "shutil", "tempfile", "io", "sys"}
    wrong = [
        f"{path.relative_to(ROOT)}: {name}"
        for room in ("collectors/readers", "collectors/combiners")
        for path in modules(room)
        for name in imported(path)
        if name.split(".")[0] in forbidden
    ]
    calls = [
        f"{path.relative_to(ROOT)}:{node.lineno}"
        for room in ("collectors/readers", "collectors/combiners")
        for path in modules(room)
        for node in ast.walk(ast.parse(path.read_text()))
        if isinstance(node, ast.Call)
        and isinstance(node.func, ast.Name)
        and node.func.id in {"open", "eval", "exec"}
    ]

    assert wrong == []
    assert calls == []


def test_live_collection_needs_the_standard_library_alone():
    """It must run on a machine where nothing can be installed; two children do without what is not there."""
    wrong = {
        f"{path.relative_to(ROOT)}: {name.split('.')[0]}"
        for path in (*modules("collectors/live"), *(ROOT / "collectors/probes").glob("*.py"))
        for name in imported(path)
        if not name.startswith(("collectors.live", "collectors.probes"))
        and name.split(".")[0] not in sys.stdlib_module_names
    }

    assert wrong == {"collectors/live/sampling.py: pynvml", "collectors/live/target_python.py: torch"}


def test_what_a_probe_runs_in_the_jobs_python_needs_torch_at_most():
    """Its scripts know nothing of this program; each other they know by names that nothing else has."""
    folder = ROOT / "collectors/probes/children"
    scripts = {path.stem for path in folder.glob("*.py")}
    wrong = [
        f"{path.relative_to(ROOT)}: {name}"
        for path in modules("collectors/probes/children")
        for name in imported(path)
        if name.split(".")[0] not in sys.stdlib_module_names | scripts | {"torch"}
    ]

    assert wrong == []
    assert all(name.startswith("probe_") for name in scripts)
    for path in modules("collectors/probes/children"):
        ast.parse(path.read_text(), feature_version=(3, 8))  # of the oldest torch in use


def test_only_the_fence_imports_durable_rules():
    """One module for the awkward dependency."""
    users = [
        str(path.relative_to(ROOT))
        for room in OURS
        for path in modules(room)
        if any(name.split(".")[0] in {"durable", "durable_rules_engine"} for name in imported(path))
    ]

    assert users == ["engine/matcher/durable.py"]


def test_the_engine_knows_no_domain_word():
    """It weighs evidence of anything; what it is about stands in kb and rules."""
    words = re.compile(r"nvidia|cuda|nccl|\bgpu|\bpci\b|xid|torch|sglang|vllm|iommu", re.IGNORECASE)
    found = [
        f"{path.relative_to(ROOT)}:{number}: {line.strip()}"
        for path in modules("engine")
        for number, line in enumerate(path.read_text().splitlines(), 1)
        if words.search(line)
    ]

    assert found == []
