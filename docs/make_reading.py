"""Writes docs/reading.md from the readers themselves: what is read, from which releases, and how to get it.

Usage: python docs/make_reading.py. A test keeps the page current.
"""

from __future__ import annotations

import re
from importlib import import_module
from pathlib import Path

from collectors.readers import module_of, readers
from kb.evidence import Reader

PAGE = Path(__file__).parent / "reading.md"
HEAD = """# What is read

Content decides which reader takes a text: names of files are hints at most, mixed texts are welcome, and what
nobody understood is told by `diagnose facts`. Text may carry the prefixes of journals, launchers, containers and
Kubernetes. Archives (.tar, .tar.gz, .tar.xz, .tar.bz2, .tar.zst, .zip), single compressed files, directories, any
of these in each other up to four deep, several inputs at once and standard input (`-`) are all read; nothing is
executed or written out, and what unpacks to far more than logs do is left and told.

| what | follows | for instance from |
|---|---|---|
"""
FOLLOWS = re.compile(r"^(?:It f|F)ollows (?P<what>.+?)\.(?=\s|$)", re.MULTILINE | re.DOTALL)


def page() -> str:
    """The page as it must stand."""
    return HEAD + "".join(sorted(map(row, readers())))


def row(reader: Reader) -> str:
    """One line of the table."""
    text = (import_module(f"collectors.readers.{module_of(reader)}").__doc__ or "").strip()
    what = " ".join(text.split("\n\n", 1)[0].split()).rstrip(".")
    match = FOLLOWS.search(text)
    follows = " ".join(match["what"].split()) if match else "its releases in use"
    source = ", ".join(f"`{command}`" for command in reader.commands[:3]) or "the log or file itself"
    return "| " + " | ".join(cell.replace("|", "\\|") for cell in (what, follows, source)) + " |\n"


if __name__ == "__main__":
    PAGE.write_text(page(), encoding="utf-8")
