"""Writes the sources of the site into a folder, `python docs/make_site.py build/docs`; `make docs` builds it then.

Each line of the golden pairs and each row of the catalogues is judged alone, which takes a minute.
"""

from __future__ import annotations

import shutil
import sys
from pathlib import Path

from diagnose.codes_coverage import code_rows
from generator.links import broken_links
from generator.messages import leads
from generator.samples import golden_samples
from generator.site import ROOT, site_pages
from kb.load import load_rules, shipped_rules


def main(folder: Path) -> int:
    """Writes all pages and the configuration; 1 where a link leads nowhere, each of which is printed."""
    base = load_rules(shipped_rules())
    samples = golden_samples(ROOT / "tests" / "readers")
    pages = site_pages(base, samples, code_rows(base), leads(base, samples))
    shutil.rmtree(folder, ignore_errors=True)
    for path, text in pages.items():
        file = folder / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text, encoding="utf-8")
    shutil.copy(ROOT / "docs" / "conf.py", folder)
    (folder / "_static").mkdir()
    shutil.copy(ROOT / "docs" / "site.css", folder / "_static")
    broken = broken_links(pages)
    sys.stderr.writelines(f"no such page or heading: {one}\n" for one in broken)
    return 1 if broken else 0


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1])))
