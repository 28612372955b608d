"""What launchers and loggers put before a line is taken off, and tells the rank."""

from __future__ import annotations

import pytest

from collectors.readers.launcher_prefixes import (
    MOST_COLUMNS,
    after_progress,
    clipped,
    without_launcher,
    without_stamp,
)


@pytest.mark.parametrize(
    ("line", "rank", "text"),
    [
        ("[rank3]:     y = f(x)", "rank 3", "    y = f(x)"),
        ("[rank0]:[E131 12:00:00.1 a.cpp:1] x", "rank 0", "[E131 12:00:00.1 a.cpp:1] x"),
        ("[default2]:x", "rank 2", "x"),
        ("17: x", "task 17", "x"),
        ("[1,5]<stderr>:x", "rank 5", "x"),
        ("[prterun-a17-4711@1,5]<stdout>: x", "rank 5", "x"),
        ("sglang-1  | x", None, "x"),
        ("[pod/vllm-0/server] x", None, "x"),
        ("2026-01-31T12:00:00.123456Z  INFO text_generation_launcher: x", None, "x"),
        ("2026-01-31T12:00:00.1Z ERROR warmup{max=4096}: shard-manager: text_generation_launcher: x", None, "x"),
        ("2026-01-31T12:00:00.123456789Z stderr F x", None, "x"),
        ("Mar 09 13:05:10 a17 python3[4711]: x", None, "x"),
        ("(RayWorkerWrapper pid=182, ip=10.0.0.7) x", "pid 182 on 10.0.0.7", "x"),
        ("(pid=295, ip=10.0.0.7) x", "pid 295 on 10.0.0.7", "x"),
        ("(VllmWorker rank=1 pid=228) x", "rank 1", "x"),
        ("(VllmWorker TP1 pid=228) x", "TP1", "x"),
        ("(Worker_DP0_TP1 pid=9102) x", "DP0 TP1", "x"),
        ("(EngineCore_DP1 pid=9102) x", "DP1", "x"),
        ("(APIServer pid=1) x", None, "x"),
        ("[1;36m(EngineCore_DP0 pid=114700)[0;0m x", "DP0", "x"),
        ("(RayWorkerWrapper pid=270291, ip=10.0.0.7) [rank3]:[E2] x", "rank 3", "[E2] x"),
        ("[rank8] Warning: x", "rank 8", "Warning: x"),
        ("[24 similar log lines] [W1008 x] y", None, "[W1008 x] y"),
        ("\x1b[33m[7 similar log lines]\x1b[0m x", None, "x"),
        ("24 similar log lines were left out", None, "24 similar log lines were left out"),
        ("no prefix at all", None, "no prefix at all"),
        ("", None, ""),
    ],
)
def test_launcher_is_taken_off(line, rank, text):
    """Rank and rest, with the indentation that tracebacks need."""
    launched = without_launcher(line)

    assert (launched.rank, launched.text) == (rank, text)


@pytest.mark.parametrize(
    ("line", "text"),
    [
        ("- `RuntimeError: CUDA error: x`", "RuntimeError: CUDA error: x"),
        ("`NCCL version 2.27.3`", "NCCL version 2.27.3"),
        ("* OSError: [Errno 28] x", "OSError: [Errno 28] x"),
        ("> ValueError: x", "ValueError: x"),
        ("torch.ones(1).cuda()  # -> RuntimeError: x", "RuntimeError: x"),
        ("- a plain item", "- a plain item"),
        ("> building train datasets ...", "> building train datasets ..."),
        ("`RuntimeError: x` is what I see", "`RuntimeError: x` is what I see"),
    ],
)
def test_what_people_put_before_a_line_is_taken_off(line, text):
    """An item, a quotation, a span of code and a comment hold a message; sentences stay as they are."""
    assert without_launcher(line).text == text


def test_rank_of_torchruns_tee_is_found():
    """With --tee the role and the local rank stand in brackets."""
    assert [without_launcher(f"[{mark}]:x").rank for mark in ("default3", "trainer3", "3")] == ["rank 3"] * 3


@pytest.mark.parametrize(
    ("text", "time", "rank", "message"),
    [
        ("[2026-01-31 12:00:00 DP0 TP3] x", "2026-01-31 12:00:00", "DP0 TP3", "x"),
        ("[12:00:00] x", "12:00:00", None, "x"),
        ("INFO 01-31 12:00:00 [core.py:70]   x", "01-31 12:00:00", None, "  x"),
        ("ERROR 03-02 03:24:44 worker_base.py:581] x", "03-02 03:24:44", None, "x"),
        ("[E131 12:00:00.123 ProcessGroupNCCL.cpp:616] x", "131 12:00:00.123", None, "x"),
        ("[E ProcessGroupNCCL.cpp:563] x", None, None, "x"),
        ("[2023-08-30 10:11:36,727] [ERROR] [launch.py:321:f] x", "2023-08-30 10:11:36,727", None, "x"),
        ("[2025-05-16 14:04:58,231] [INFO] [a.b:271] [PID:882] [RANK:0] x", "2025-05-16 14:04:58,231", None, "x"),
        ("[INFO|trainer.py:2134] 2026-01-31 12:00:00,123 >> x", "2026-01-31 12:00:00,123", None, "x"),
        ("09/04/2024 02:49:57 - INFO - __main__ - x", "09/04/2024 02:49:57", None, "x"),
        ("[12/05/2024-10:11:12] [TRT-LLM] [I] x", "12/05/2024-10:11:12", None, "x"),
        ("plain", None, None, "plain"),
    ],
)
def test_stamp_is_taken_off(text, time, rank, message):
    """Time as printed, SGLang's tag, and the message with its indentation."""
    logged = without_stamp(text)

    assert (logged.time, logged.rank, logged.text) == (time, rank, message)


def test_message_behind_a_progress_bar_is_found():
    """A bar does not end its line; the next message is glued to it."""
    assert after_progress(" 92%|█| 3/9 [29:58<12:05, 41.59 examples/s][rank1]: x") == "[rank1]: x"
    assert after_progress(" 92%|█| 3/9 [29:58<12:05,  4.2s/it]\r [rank1]: x") == " [rank1]: x"
    assert after_progress(" 92%|█| 3/9 [29:58<12:05, 41.59it/s]") == " 92%|█| 3/9 [29:58<12:05, 41.59it/s]"


def test_long_lines_keep_both_ends():
    """Of a line of a million columns the beginning and the end are looked at."""
    line = clipped("a" * 1_000_000 + "the end")

    assert len(line) <= MOST_COLUMNS + 1
    assert line.startswith("aaa")
    assert line.endswith("the end")
