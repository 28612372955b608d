"""What was read from where."""

from __future__ import annotations

from dataclasses import dataclass

import pytest
import samples
from report_contract import Named, breaches

from diagnose.render.facts import facts_json, facts_text, size


@dataclass(frozen=True)
class Reading:
    path: str
    bytes: int
    readers: tuple[str, ...]
    facts: int
    unread_bytes: int
    why_unread: str
    lines: int = 0
    quoted: int = 0


FILES = (
    Reading("evidence/server.log", 120_000, ("server-log", "nccl-log"), 12, 3000, "no reader knows this text"),
    Reading("evidence/ldconfig.txt", 280, ("ldconfig",), 4, 0, "", 12, 4),
    Reading("evidence/core.bin", 2**21, (), 0, 2**21, "binary: no reader takes it"),
)


@pytest.mark.parametrize("name", samples.SITUATIONS)
def test_the_facts_keep_the_contract(name):
    """Every key is there with its type, in every situation."""
    diagnosis = samples.SITUATIONS[name]().diagnosis
    facts = facts_json(FILES, diagnosis.observed, diagnosis.looked)

    assert breaches(facts, Named("facts"), "facts") == []


def test_a_fact_has_all_its_fields_and_its_source():
    """What is not known is null, so that a program can count on the name."""
    (fact,) = facts_json((), [samples.BAD_COPY], ())["facts"]

    assert fact["kind"] == "peer_copy"
    assert fact["fields"]["reads"] == "0.0"
    assert facts_json((), [samples.FLAT], ())["facts"][0]["fields"]["tool"] is None
    assert fact["source"] == {"path": "p2p.txt", "line": 7, "end_line": 7, "sha256": samples.SHA}
    assert fact["text"] == samples.BAD_COPY.source.text
    assert fact["combined_from"] == []


def test_a_combined_fact_names_the_lines_it_rests_on():
    """All of them, beside its own source."""
    (fact,) = facts_json((), [samples.LIBRARY], ())["facts"]

    assert [one["path"] for one in fact["combined_from"]] == ["ldconfig.txt", "libs.txt"]


@pytest.mark.parametrize("name", ["confirmed", "hostile"])
def test_facts_as_text(name, printed, snapshot):
    """The whole list, line by line."""
    diagnosis = samples.SITUATIONS[name]().diagnosis
    text = printed(lambda console: facts_text(FILES, diagnosis.observed, diagnosis.looked, console))

    snapshot(f"{name}.facts.txt", text)


@pytest.mark.parametrize(
    ("number", "expected"), [(0, "0 B"), (1023, "1,023 B"), (1024, "1.0 KiB"), (2**21, "2.0 MiB")]
)
def test_size(number, expected):
    """Bytes in words."""
    assert size(number) == expected
