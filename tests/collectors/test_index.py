"""The index of readers and combiners says what they say."""

from __future__ import annotations

from collectors import index
from collectors.index import INDEX, index_text, known_combiners, known_readers
from collectors.readers import readers
from kb import facts
from kb.evidence import Section


def test_the_index_is_current():
    """`make index` writes it anew."""
    assert INDEX.read_text(encoding="utf-8") == index_text()


def test_the_index_holds_every_reader():
    """Each with its markers, commands and context, in the same order."""
    told = [(one.name, one.markers, one.commands, one.lines, one.context) for one in known_readers()]

    assert told == [(one.name, one.markers, one.commands, one.lines, one.context) for one in readers()]


def test_a_reader_of_the_index_reads():
    """Its code is imported when it is used."""
    one = next(one for one in known_readers() if one.name == "driver-version")
    line = "NVRM version: NVIDIA UNIX x86_64 Kernel Module  550.90.07  Fri May 31 09:35:42 UTC 2024"

    assert [type(reading).__name__ for reading in one.read(Section("version", [line]))] == ["Observed", "Looked"]


def test_an_index_that_is_out_of_date_is_not_used(monkeypatch, tmp_path):
    """A reader that was just written is there all the same."""
    told = known_combiners()
    monkeypatch.setattr(index, "INDEX", tmp_path / "index.json")
    index.INDEX.write_text('{"sizes": {}, "readers": []}')
    for one in (index._index, known_readers, known_combiners):
        one.cache_clear()

    assert known_readers() == readers()
    assert known_combiners() == told
    for one in (index._index, known_readers, known_combiners):
        one.cache_clear()


def test_the_index_of_facts_is_current():
    """Each kind with the family that defines it."""
    assert facts.INDEX.read_text(encoding="utf-8") == facts.index_text()
