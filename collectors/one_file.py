"""`make collector`: the live collector as one file that runs on any Python from 3.6 on, `diagnose-collect.pyz`.

The sources are those of the program, with what Python 3.6 does not know taken out of them: annotations and the
imports that only they need, and `dataclasses`, in whose place comes a small module of ours. What cannot be taken
out by rule must not be in these sources; a test looks for it.
"""

from __future__ import annotations

import ast
import sys
import zipfile
from collections.abc import Iterable
from pathlib import Path

NAME = "diagnose-collect.pyz"
PACKAGES = ("collectors/live", "collectors/redact")
MODULES = (
    "collectors/__init__.py",
    "collectors/taking.py",
    "collectors/beside.py",
    "collectors/pack.py",
    "collectors/standalone.py",
)
SMALL = "collectors/small_dataclasses.py"
_OLDEST = (1980, 1, 1, 0, 0, 0)
_DATA = ("dataclass", "NamedTuple")


def build(root: Path, out: Path, version: str) -> Path:
    """The file, made of the sources below `root`. The same sources give the same bytes."""
    main = f"import sys\nfrom collectors.standalone import main\nsys.exit(main({version!r}))\n"
    members = {"__main__.py": main, **sources(root)}
    with out.open("wb") as file:
        file.write(b"#!/usr/bin/env python3\n")
        with zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED, compresslevel=9) as archive:
            for name, text in sorted(members.items()):
                archive.writestr(zipfile.ZipInfo(name, _OLDEST), text, zipfile.ZIP_DEFLATED, 9)
    out.chmod(0o755)
    return out


def sources(root: Path) -> dict[str, str]:
    """The modules by their path in the file, each as Python 3.6 understands it."""
    paths = [root / name for name in (*MODULES, SMALL)]
    for package in PACKAGES:
        paths += sorted((root / package).glob("*.py"))
    return {path.relative_to(root).as_posix(): plain(path.read_text(encoding="utf-8")) for path in paths}


def plain(text: str) -> str:
    """A module without annotations, documentation and imports that only those need."""
    tree = _Plain().visit(ast.parse(text))
    used = {node.id for node in ast.walk(tree) if isinstance(node, ast.Name)}
    used |= {
        name.value for name in ast.walk(tree) if isinstance(name, ast.Constant) and isinstance(name.value, str)
    }
    tree.body = [kept for node in tree.body if (kept := _needed(node, used)) is not None]
    return ast.unparse(ast.fix_missing_locations(tree)) + "\n"


def _needed(node: ast.stmt, used: set[str]) -> ast.stmt | None:
    """The statement without imports that nothing uses any more."""
    if isinstance(node, ast.ImportFrom):
        node.names = [alias for alias in node.names if alias.name in used]
        return node if node.names else None
    return node


class _Plain(ast.NodeTransformer):
    """Takes out what Python 3.6 does not know, or what nobody needs at run time."""

    def __init__(self) -> None:
        self.in_data_class = False

    def visit_FunctionDef(self, node: ast.FunctionDef) -> ast.AST:
        node.returns = None
        every = [*node.args.posonlyargs, *node.args.args, *node.args.kwonlyargs, node.args.vararg, node.args.kwarg]
        for argument in filter(None, every):
            argument.annotation = None
        outer, self.in_data_class = self.in_data_class, False
        self.generic_visit(node)
        self.in_data_class = outer
        node.body = _without_texts(node.body)
        return node

    def visit_ClassDef(self, node: ast.ClassDef) -> ast.AST:
        outer = self.in_data_class
        self.in_data_class = any(_name(one) in _DATA for one in (*node.decorator_list, *node.bases))
        self.generic_visit(node)
        self.in_data_class = outer
        node.body = _without_texts(node.body)
        return node

    def visit_Module(self, node: ast.Module) -> ast.AST:
        self.generic_visit(node)
        node.body = _without_texts(node.body)
        return node

    def visit_AnnAssign(self, node: ast.AnnAssign) -> ast.AST | None:
        """A field keeps that it is one; elsewhere an annotation is nothing, and an alias of types not needed."""
        if self.in_data_class:
            node.annotation = ast.Constant("object")
            return node
        if node.value is None or _name(node.annotation) == "TypeAlias":
            return None
        return ast.Assign([node.target], node.value)

    def visit_ImportFrom(self, node: ast.ImportFrom) -> ast.AST | None:
        if node.module == "__future__":
            return None
        if node.module == "dataclasses":
            node.module = SMALL.removesuffix(".py").replace("/", ".")
        return node

    def visit_If(self, node: ast.If) -> ast.AST | None:
        if isinstance(node.test, ast.Name) and node.test.id == "TYPE_CHECKING":
            return None
        return self.generic_visit(node)


def _name(node: ast.AST) -> str:
    """The name that a decorator, a base or an annotation is known by."""
    inner = node.func if isinstance(node, ast.Call) else node
    return inner.id if isinstance(inner, ast.Name) else ""


def _without_texts(body: Iterable[ast.stmt]) -> list[ast.stmt]:
    """The statements without those that are only a text."""
    kept = [
        one
        for one in body
        if not (
            isinstance(one, ast.Expr) and isinstance(one.value, ast.Constant) and isinstance(one.value.value, str)
        )
    ]
    return kept or [ast.Pass()]


def _version(root: Path) -> str:
    """The version of the program, without importing it."""
    for node in ast.parse((root / "diagnose/__init__.py").read_text()).body:
        if isinstance(node, ast.Assign) and _name(node.targets[0]) == "__version__":
            return str(ast.literal_eval(node.value))
    raise ValueError("expected __version__ in diagnose/__init__.py, found none")


if __name__ == "__main__":
    here = Path(__file__).parent.parent
    made = build(here, Path(sys.argv[1] if len(sys.argv) > 1 else NAME), _version(here))
    print(made)  # noqa: T201
