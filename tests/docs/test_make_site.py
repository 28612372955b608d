"""What `make docs` hands to Sphinx."""

from __future__ import annotations

from pathlib import Path

import pytest

import make_site


@pytest.fixture
def pages(monkeypatch: pytest.MonkeyPatch) -> dict[str, str]:
    """The pages of a small site; what takes long to try is left out."""
    pages = {"index.md": "# Title\n\n[a](x/a.md)\n", "x/a.md": "# A\n"}
    monkeypatch.setattr(make_site, "code_rows", lambda _: [])
    monkeypatch.setattr(make_site, "leads", lambda *_: [])
    monkeypatch.setattr(make_site, "site_pages", lambda *_: pages)
    return pages


@pytest.mark.usefixtures("pages")
def test_pages_and_settings_are_written_and_old_pages_go(tmp_path: Path):
    (tmp_path / "gone.md").write_text("# Of a cause that has been renamed\n")

    assert make_site.main(tmp_path) == 0
    assert {str(file.relative_to(tmp_path)) for file in tmp_path.rglob("*") if file.is_file()} == {
        "index.md", "x/a.md", "conf.py", "_static/site.css"
    }  # fmt: skip
    assert (tmp_path / "x" / "a.md").read_text() == "# A\n"


def test_a_broken_link_fails_the_build(pages: dict[str, str], tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    pages["x/a.md"] = "# A\n\n[b](b.md)\n"

    assert make_site.main(tmp_path) == 1
    assert capsys.readouterr().err == "no such page or heading: x/a.md: b.md\n"
