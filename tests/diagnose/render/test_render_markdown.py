"""The Markdown report can be pasted into an issue as it is."""

from __future__ import annotations

import re

import pytest
import samples

from diagnose.render.markdown import render_markdown


@pytest.mark.parametrize("name", samples.SITUATIONS)
def test_markdown(name, snapshot):
    """The whole report, line by line."""
    snapshot(f"{name}.md", render_markdown(samples.SITUATIONS[name](), everything=True))


def outside_of_code(text):
    """The text without fenced blocks and code spans."""
    kept, fence = [], None
    for line in text.split("\n"):
        opening = re.match(r"\s*(`{3,})[^`]*$", line)
        if fence is None and opening:
            fence = opening[1]
        elif fence is not None and line.strip() == fence:
            fence = None
        elif fence is None:
            kept.append(line)
    assert fence is None
    return re.sub(r"(`+)(?!`).*?(?<!`)\1(?!`)", "", re.sub(r"\\`", "", "\n".join(kept)))


def test_hostile_evidence_stays_inside_its_fences():
    """Outside of code there is no tag, mention, reference, link or emphasis of its making."""
    text = outside_of_code(render_markdown(samples.hostile(), everything=True))

    assert re.search(r"(?<!\\)<|@\w|#\d|://", text) is None
    assert "\x1b" not in text
    assert "# no" not in [line[:4] for line in text.split("\n")]


def test_a_table_row_has_three_cells_whatever_is_in_them():
    """A pipe in the evidence does not begin a cell."""
    rows = [line for line in render_markdown(samples.hostile()).split("\n") if line.startswith("| +")]

    assert len(rows) == 2
    assert [len(re.findall(r"(?<!\\)(?:\\\\)*\|", row)) for row in rows] == [4, 4]
