"""`diagnose redact`: a copy of any evidence that can be shown to others."""

from __future__ import annotations

import gzip
import tarfile
from pathlib import Path

import pytest

from diagnose.explain import read_case
from diagnose.redacting import redact_evidence
from kb.errors import InputError

KEY = b"a key of tests"
LINE = "Mar  9 12:02:11 zeus21 kernel: NVRM: Xid (PCI:0000:41:00): 79, pid=1, GPU has fallen off the bus.\n"
SECRET = "hf_" + "S3cr3tValue0f1Thing2" * 2


@pytest.fixture
def evidence(tmp_path: Path) -> Path:
    folder = tmp_path / "zeus21"
    (folder / "logs").mkdir(parents=True)
    (folder / "logs" / "kern.log.1.gz").write_bytes(gzip.compress(LINE.encode()))
    (folder / "job.log").write_text(f"HF_TOKEN={SECRET}\n/home/lovelace/x on zeus21\n")
    return folder


def held(folder: Path) -> str:
    files = sorted(path for path in folder.rglob("*") if path.is_file())
    return "".join(f"{path.relative_to(folder)}\n{path.read_text()}" for path in files)


def test_a_folder_becomes_a_folder_without_names_and_secrets(evidence: Path, tmp_path: Path) -> None:
    """What was packed is unpacked, for it could not be looked through; the evidence itself stays as it is."""
    before = (evidence / "job.log").read_text()

    place, redaction = redact_evidence([str(evidence)], tmp_path / "copy", KEY)

    text = held(place)
    assert place == tmp_path / "copy"
    assert [name for name in ("zeus", "lovelace", SECRET) if name in text] == []
    assert "fallen off the bus" in text
    assert "HF_TOKEN=REDACTED-" in text
    assert redaction.counts == {"host": 2, "user": 1}
    assert before == (evidence / "job.log").read_text()
    assert [path.name for path in tmp_path.iterdir() if path.name.startswith(".")] == []


def test_by_its_suffix_the_copy_is_an_archive(evidence: Path, tmp_path: Path) -> None:
    """Which is read like the evidence itself."""
    place, _ = redact_evidence([str(evidence)], tmp_path / "copy.tar.gz", KEY)

    with tarfile.open(place) as archive:
        assert {member.name for member in archive} == {"copy/job.log", "copy/logs/kern.log.1"}
    assert {one.fact.kind for one in read_case([str(place)]).observed} == {
        one.fact.kind for one in read_case([str(evidence)]).observed
    }


def test_one_file_becomes_one_file(tmp_path: Path) -> None:
    """As one posts a log."""
    (tmp_path / "kern.log").write_text(LINE)

    place, _ = redact_evidence([str(tmp_path / "kern.log")], tmp_path / "for-all.log", KEY)

    assert place.read_text().startswith("Mar  9 12:02:11 host")
    assert place.stat().st_mode & 0o777 == 0o600


def test_several_inputs_stay_apart_and_have_the_same_tokens(evidence: Path, tmp_path: Path) -> None:
    """A name that one input tells is replaced in the other too."""
    (tmp_path / "note.txt").write_text("it was zeus21, I think\n")

    place, _ = redact_evidence([str(evidence), str(tmp_path / "note.txt")], tmp_path / "copy", KEY)

    assert "zeus" not in held(place)
    assert sorted(path.name for path in place.rglob("*.txt")) == ["note.txt"]
    assert len(list(place.rglob("job.log"))) == 1


def test_what_is_there_is_not_written_over(evidence: Path, tmp_path: Path) -> None:
    """One line: what, where, and what to do."""
    (tmp_path / "copy").mkdir()

    with pytest.raises(InputError, match=r"found something at .*copy; name another with -o"):
        redact_evidence([str(evidence)], tmp_path / "copy", KEY)


def test_a_place_that_cannot_be_written_is_an_error(evidence: Path, tmp_path: Path) -> None:
    """And nothing is left behind."""
    (tmp_path / "file").write_text("x")

    with pytest.raises(InputError, match=r"could not write the copy .*; name another place with -o"):
        redact_evidence([str(evidence)], tmp_path / "file" / "copy", KEY)
