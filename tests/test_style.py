"""The house style that a linter does not know: sizes and docstrings."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).parent.parent
OURS = ("kb", "engine", "collectors", "diagnose", "docs")
MOST_LINES_OF_A_MODULE = 300
MOST_LINES_OF_A_FUNCTION = 60
NINTH_DECILE = 30
MOST_LINES_OF_A_RULE = 260
"""Examples and remedies by distribution included."""

Function = ast.FunctionDef | ast.AsyncFunctionDef


def modules() -> list[Path]:
    return sorted(path for room in OURS for path in (ROOT / room).rglob("*.py"))


def functions(path: Path) -> Iterator[Function]:
    yield from (node for node in ast.walk(ast.parse(path.read_text())) if isinstance(node, Function))


def length(node: Function) -> int:
    return (node.end_lineno or node.lineno) - node.lineno + 1


def test_modules_stay_small():
    """A module is one thing."""
    large = {
        str(path.relative_to(ROOT)): n for path in modules() if (n := len(path.read_text().splitlines())) > 300
    }

    assert large == {}


def test_functions_stay_small():
    """Nine of ten functions are seen at one glance, and none fills two screens."""
    lengths = sorted(length(node) for path in modules() for node in functions(path))
    long = [
        f"{path.relative_to(ROOT)}:{node.lineno} {node.name}: {length(node)}"
        for path in modules()
        for node in functions(path)
        if length(node) > MOST_LINES_OF_A_FUNCTION
    ]

    assert long == []
    assert lengths[len(lengths) * 9 // 10] <= NINTH_DECILE


def test_rule_files_stay_small():
    """A rule is read in one sitting."""
    large = {
        path.name: n
        for path in (ROOT / "rules" / "causes").rglob("*.yaml")
        if (n := len(path.read_text().splitlines())) > MOST_LINES_OF_A_RULE
    }

    assert large == {}


def test_public_names_say_what_they_are():
    """Every module, public class and public function has a docstring."""
    missing = []
    for path in modules():
        tree = ast.parse(path.read_text())
        if tree.body and not ast.get_docstring(tree):
            missing.append(str(path.relative_to(ROOT)))
        for node in tree.body:
            public = isinstance(node, Function | ast.ClassDef) and not node.name.startswith("_")
            if public and not ast.get_docstring(node):
                missing.append(f"{path.relative_to(ROOT)}:{node.lineno} {node.name}")

    assert missing == []
