"""What direct copies between the GPUs are worth: the same test of NCCL with them and without them."""

from __future__ import annotations

from collections.abc import Iterator

from collectors.combiners import Facts, derived
from kb.evidence import Reading
from kb.facts.nccl import NcclSetting
from kb.facts.nccl_tools import NcclTestResult
from kb.facts.p2p import DirectCopiesGain
from kb.facts.settings import Setting

_CLEAR = 1.3
"""Runs of one test differ by a few percent; from here on it is no chance."""


def combine(facts: Facts) -> Iterator[Reading]:
    """DirectCopiesGain of two tests that passed, alike in operation, ranks and largest size; at most one."""
    jobs = {seen.source.path for setting, seen in facts.of(NcclSetting) if _is_off(setting)}
    jobs |= {seen.source.path for setting, seen in facts.of(Setting) if _is_off(setting)}
    passed = [(test, seen) for test, seen in facts.of(NcclTestResult) if test.outcome == "passed"]
    off = [one for one in passed if one[0].direct_copies_off]
    on = [one for one in passed if not one[0].direct_copies_off]
    for fast in on:
        for slow in off:
            gain = _gain(fast[0], slow[0], job_is_without=bool(jobs - {slow[1].source.path}))
            if gain is not None:
                yield derived(gain, [fast[1], slow[1]])
                return


def _is_off(setting: NcclSetting | Setting) -> bool:
    return setting.name == "NCCL_P2P_DISABLE" and setting.value == "1"


def _gain(on: NcclTestResult, off: NcclTestResult, *, job_is_without: bool) -> DirectCopiesGain | None:
    pairs = ((on.operation, off.operation), (on.ranks, off.ranks))
    unlike = any(None not in pair and pair[0] != pair[1] for pair in pairs)
    if unlike or on.last_size_bytes != off.last_size_bytes or not on.last_busbw_gbps or not off.last_busbw_gbps:
        return None
    ratio = on.last_busbw_gbps / off.last_busbw_gbps
    return DirectCopiesGain(
        with_gbps=on.last_busbw_gbps,
        without_gbps=off.last_busbw_gbps,
        effect="faster" if ratio >= _CLEAR else "slower" if ratio <= 1 / _CLEAR else "same",
        job_is_without=job_is_without,
    )
