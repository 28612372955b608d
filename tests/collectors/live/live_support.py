"""Short-cuts for the tests of live collection."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any


class Tools:
    """A folder at the front of PATH that tests put shell scripts into."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def add(self, name: str, script: str, mode: int = 0o755) -> None:
        """Puts a script there."""
        path = self.folder / name
        path.write_text(f"#!/bin/sh\n{script}\n")
        path.chmod(mode)


def manifest(bundle: Path) -> dict[str, Any]:
    """The manifest of a bundle."""
    parsed: dict[str, Any] = json.loads((bundle / "manifest.json").read_bytes())
    return parsed


def entries(bundle: Path) -> dict[str, dict[str, Any]]:
    """The entries of the manifest by name; of several with one name the last."""
    return {entry["name"]: entry for entry in manifest(bundle)["artifacts"]}


def plant(root: Path, files: dict[str, str]) -> Path:
    """Writes files below a root; a text that begins with `-> ` becomes a symbolic link."""
    for name, text in files.items():
        path = root / name.lstrip("/")
        path.parent.mkdir(parents=True, exist_ok=True)
        if text.startswith("-> "):
            path.symlink_to(text.removeprefix("-> "))
        else:
            path.write_text(text)
    return root
