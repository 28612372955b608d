"""Logs whose lines are JSON records give the program's own lines, under their numbers in the file."""

from __future__ import annotations

import pytest

from collectors.json_logs import unwrapped

DOCKER = '{"log":"a17:311:340 [0] NCCL INFO Init COMPLETE\\n","stream":"stderr","time":"2026-01-31T12:00:00.1Z"}'


@pytest.mark.parametrize(
    ("record", "said"),
    [
        (DOCKER, ["a17:311:340 [0] NCCL INFO Init COMPLETE"]),
        (
            '{"severity":"ERROR","textPayload":"KeyError: \'a\'","timestamp":"2026-01-31T12:00:00Z"}',
            ["KeyError: 'a'"],
        ),
        (
            '{"workerId":"v1","level":"error","message":"one\\n  two","dt":"2026-01-31T12:00:00Z"}',
            ["one", "  two"],
        ),
        ('{"__REALTIME_TIMESTAMP":"1","MESSAGE":"NVRM: loading","_HOSTNAME":"a17"}', ["NVRM: loading"]),
    ],
)
def test_a_record_gives_its_text(record: str, said: list[str]) -> None:
    """One line, or as many as the text has, all with the number of the record."""
    assert unwrapped([record]) == (said, [1] * len(said))


def test_plain_lines_between_records_stay() -> None:
    """What a library prints past the logger keeps its place and its number."""
    assert unwrapped([DOCKER, "NCCL version 2.21.5+cuda12.4"]) == (
        ["a17:311:340 [0] NCCL INFO Init COMPLETE", "NCCL version 2.21.5+cuda12.4"],
        [1, 2],
    )


@pytest.mark.parametrize(
    "lines",
    [
        ["NCCL version 2.21.5+cuda12.4", "no record"],
        ['{"event":"step","step":3,"message":"no time, no level"}'],
        ['{"message":"cut at the end of the'],
        [DOCKER, '{"rank":0,"busbw":12.5}'],
        [DOCKER, "a", "b", "c"],
        [],
    ],
)
def test_other_files_are_left_as_they_are(lines: list[str]) -> None:
    """Plain logs, JSON that is no log, and a file that only quotes a record."""
    assert unwrapped(lines) is None
