"""NCCL's own checks, which compare the data of every peer access (NCCL_RUN_DIAGNOSTICS, NCCL_RUN_RAS_DIAGNOSTICS).

    a17:311:311 [0] diagnostics.cc:140 NCCL DIAG [OK] p2p: verified P2P access in both directions between every GPU pair (12 peer accesses)
    a17:311:311 [0] diagnostics.cc:98 NCCL DIAG [INFO] p2p: write mismatch srcRank=0 srcCudaDev=0 srcNvmlDev=0 dstRank=1 dstCudaDev=1 dstNvmlDev=1 path=PHB handle=CUMEM expected=0x00000000deadbeef got=0x0000000000000000 verify=0x0; check the affected pair
    a17:311:311 [0] diagnostics.cc:77 NCCL DIAG NVLink: inactive link(s) on rank(s) 3 across 8 ranks in comm 0x9c

Follows the strings of NCCL 2.31.2 and 2.32.3, of which no sources are public: a line is known by `NCCL DIAG`
behind a source place. A cut mismatch line gives nothing unless it still names the pair.
"""  # noqa: E501 - lines of the log as they are

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Literal, NamedTuple, TypeAlias

from collectors.readers._regex import regex
from collectors.readers._tally import Tallies
from collectors.readers.launcher_prefixes import clipped
from kb.evidence import Observed, Reader, Reading, Section
from kb.facts.nccl_run import DiagnosticVerdict, NcclDiagnostic, NcclPairFailure
from kb.facts.p2p import PeerCopy

MOST_TEXT = 400

Check: TypeAlias = Literal[
    "p2p", "net-bandwidth", "cuda-driver-version", "ecc", "gpu-inventory", "nvlink", "nccl-environment",
    "iommu-mode", "iommu-groups", "ats-state", "xid", "paths", "rdma-topo",
]  # fmt: skip
Step: TypeAlias = Literal["import", "launch", "setup", "buffer", "topology"]

_LINE = regex(
    r"[\w./-]{1,250}:\d{1,6}(?: \(\w{1,80}\))? NCCL DIAG (?:\[(?:INFO|OK|WARN|ERROR|FAIL)\] )?(?P<text>\S.*)"
)
_PAIR = (
    r"srcRank=\d{1,7} srcCudaDev=\d{1,4} srcNvmlDev=(?P<src>\d{1,4}) "
    r"dstRank=\d{1,7} dstCudaDev=\d{1,4} dstNvmlDev=(?P<dst>\d{1,4})\b"
)
_MISMATCH = regex(rf"p2p: (?:read|write) mismatch {_PAIR}.{{0,200}}? got=(?P<got>0x[0-9a-f]{{1,16}})")
_CUT = regex(r"p2p: (?:read|write) mismatch ")
"""Of a pair that is not named any more."""
_PAIR_FAILED = regex(
    r"p2p: (?P<what>peer-memory import|launch/check|local CUDA setup|destination buffer|topology check) "
    rf"(?:failed|unavailable) {_PAIR}.{{0,200}}? reason=(?P<reason>[^;]{{1,100}})"
)
_STEPS: dict[str, Step] = {
    "peer-memory import": "import",
    "launch/check": "launch",
    "local CUDA setup": "setup",
    "destination buffer": "buffer",
    "topology check": "topology",
}
_ONLY = regex(r"p2p: only (\d{1,9})/(\d{1,9}) GPU-to-GPU peer accesses passed verification")
_ALL = regex(r"p2p: verified P2P access in both directions between every GPU pair \((\d{1,9}) peer accesses\)")
_EDGES = regex(r"p2p: (\d{1,9})(?:/(\d{1,9}))? directed GPU P2P edges verified")
_CHECKS: tuple[tuple[str, Check], ...] = (
    ("p2p: ", "p2p"),
    ("net bw: ", "net-bandwidth"),
    ("CUDA driver version: ", "cuda-driver-version"),
    ("ECC: ", "ecc"),
    ("GPU inventory: ", "gpu-inventory"),
    ("NVLink: ", "nvlink"),
    ("NCCL environment: ", "nccl-environment"),
    ("IOMMU mode: ", "iommu-mode"),
    ("IOMMU groups: ", "iommu-groups"),
    ("ATS state: ", "ats-state"),
    ("Xid", "xid"),
    ("SXid", "xid"),
    ("Paths: ", "paths"),
    ("rdma_topo check: ", "rdma-topo"),
)
_VERDICTS: tuple[tuple[DiagnosticVerdict, str], ...] = (
    ("passed", r"no (?:un)?corrected|no events requiring|check: passed|groups match"),
    ("passed", r"\bconsistent across|consistent speed"),
    ("unavailable", r"unavailable|unable to|could not|cannot|not usable|incomplete|inaccessible|require root"),
    ("unavailable", r"no kernel-log|truncated|skipped|returned \d|setup failed|timed out|tool missing|aborting"),
    ("mismatch", r"mismatch|differ\b|inconsistent|mixed results"),
    ("failed", r"errors on rank|at or above threshold|inactive link|off median|detected .{0,80}on host|failed"),
)
_VERDICT_FORMS = tuple((verdict, regex(form, re.IGNORECASE)) for verdict, form in _VERDICTS)


class _Result(NamedTuple):
    """One result, as far as two of them are the same."""

    check: Check
    verdict: DiagnosticVerdict
    form: str
    verified: int | None = None
    total: int | None = None


def read(section: Section) -> Iterator[Reading]:
    """PeerCopy of each pair that failed, pairs that could not be tried, and one fact for each other result."""
    results: Tallies[_Result] = Tallies()
    texts: dict[_Result, str] = {}
    pairs: dict[tuple[int, int, str], Observed] = {}
    seen = False
    for index, whole in section.matching("NCCL DIAG "):
        match = _LINE.search(clipped(whole)[:4000])
        if match is None:
            continue
        seen, text = True, match["text"]
        if (pair := _pair(section, index, text)) is not None:
            pairs.setdefault(*pair)
        elif (result := _result(text)) is not None and results.add(result, index) is not None:
            texts.setdefault(result, text[:MOST_TEXT])
    yield from pairs.values()
    for result, tally in results:
        fact = NcclDiagnostic(
            check=result.check,
            verdict=result.verdict,
            text=texts[result],
            peers_verified=result.verified,
            peers_total=result.total,
            count=tally.count,
        )
        yield section.observe(fact, tally.index)
    if seen:
        yield section.looked(
            NcclDiagnostic, complete=any("diagnostics completed" in line for line in section.lines)
        )


def _pair(section: Section, index: int, text: str) -> tuple[tuple[int, int, str], Observed] | None:
    mismatch = _MISMATCH.match(text)
    if mismatch is not None:
        src, dst = int(mismatch["src"]), int(mismatch["dst"])
        copy = PeerCopy(src=src, dst=dst, data="wrong", reads=mismatch["got"])
        return (src, dst, "wrong"), section.observe(copy, index)
    failed = _PAIR_FAILED.match(text)
    if failed is not None:
        src, dst, step = int(failed["src"]), int(failed["dst"]), _STEPS[failed["what"]]
        fact = NcclPairFailure(src=src, dst=dst, step=step, reason=failed["reason"].strip())
        return (src, dst, step), section.observe(fact, index)
    return None


def _result(text: str) -> _Result | None:
    only, all_pairs, edges = _ONLY.match(text), _ALL.match(text), _EDGES.match(text)
    if only is not None:
        return _Result("p2p", "failed", "", int(only[1]), int(only[2]))
    if all_pairs is not None:
        return _Result("p2p", "passed", "", int(all_pairs[1]), int(all_pairs[1]))
    if edges is not None:
        verified, total = int(edges[1]), int(edges[2] or edges[1])
        return _Result("p2p", "passed" if verified == total else "failed", "", verified, total)
    check = next((check for start, check in _CHECKS if text.startswith(start)), None)
    if check is None or _CUT.match(text):
        return None
    said = text[:MOST_TEXT]
    default: DiagnosticVerdict = "reported"
    verdict = next((verdict for verdict, form in _VERDICT_FORMS if form.search(said)), default)
    return _Result(check, verdict, re.sub(r"0x[0-9a-f]+|\d+", "#", said[:120]))


READER = Reader("nccl-diagnostics", read, markers=("NCCL DIAG ",))
