"""What an error is about, where its type alone would mislead."""

from __future__ import annotations

import pytest

from collectors.readers.error_classes import judged


@pytest.mark.parametrize(
    ("error", "text", "class_", "consequence"),
    [
        (
            "BrokenPipeError",
            "[Errno 108] Cannot send after transport endpoint shutdown: '/lustre/ckpt/a.pt'",
            "file",
            False,
        ),
        ("OSError", "[Errno 116] Stale file handle", "file", False),
        ("OSError", "[Errno 5] Input/output error", "file", False),
        ("BrokenPipeError", "[Errno 32] Broken pipe", "remote", True),
        ("OSError", "[Errno 107] Transport endpoint is not connected", "other", False),
    ],
)
def test_storage_that_goes_away_is_no_other_ranks_failure(error, text, class_, consequence):
    """An evicted client of a file system breaks a pipe as well; the path, or the error's number, tells."""
    assert judged(error, text) == (class_, consequence)
