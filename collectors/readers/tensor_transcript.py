"""A Python session in which a tensor is moved from one GPU to another and printed on both.

    >>> x
    tensor([1], device='cuda:0')
    >>> x.to(1)
    tensor([0], device='cuda:1')

Follows PyTorch's printing of tensors (0.4 to 2.14). Only statements that move the very tensor that was printed
before count: `.to(1)`, `.to('cuda:1')`, `.cuda(1)`; by way of `.cpu()` or `.to('cpu')` it is a staged copy. A
session that is cut, or that prints no values on both sides, gives nothing.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from collectors.readers._regex import regex
from kb.evidence import Observed, Reader, Reading, Section
from kb.facts.p2p import PeerCopy

_STATEMENT = regex(r"\s{0,8}(?:>>>|In \[\d{1,5}\]:) (?P<code>\S.{0,200}?)\s*$")
_VALUES = r"(?P<values>[\[\d\].,eE+ -]{1,400}?)"
_TENSOR = regex(
    rf"(?:Out\[\d{{1,5}}\]: )?tensor\({_VALUES}(?:, device='cuda:(?P<gpu>\d{{1,3}})')?"
    r"(?:, dtype=[\w.]{1,30})?\)\s*$"
)
_MADE = regex(
    rf"(?P<name>[A-Za-z_]\w{{0,40}}) = torch\.tensor\({_VALUES}, device=[\"']?(?:cuda:)?(?P<gpu>\d{{1,3}})[\"']?\)"
)
_ON = r"(?:\.to\((?:['\"]cuda:)?(?P<to>\d{1,3})['\"]?\)|\.cuda\((?P<cuda>\d{1,3})\))"
_MOVED = regex(rf"(?:print\()?(?P<name>[A-Za-z_]\w{{0,40}})(?P<staged>\.cpu\(\)|\.to\(['\"]cpu['\"]\))?{_ON}\)?$")
_NAME = regex(r"(?:print\()?(?P<name>[A-Za-z_]\w{0,40})\)?$")
_Known = dict[str, tuple[int, list[float]]]


def read(section: Section) -> Iterator[Reading]:
    """One PeerCopy for each pair and route; of a pair that was tried again the first that went wrong."""
    tensors: _Known = {}
    found: dict[tuple[int, int, str], Observed] = {}
    code = ""
    for index, line in enumerate(section.lines):
        if (statement := _STATEMENT.match(line[:300])) is not None:
            code = statement["code"]
            _remember(tensors, code)
        elif code and (printed := _TENSOR.match(line[:600])) is not None:
            fact = _take(tensors, code, printed)
            if fact is not None:
                key = (fact.src, fact.dst, fact.route)
                if key not in found or fact.data == "wrong":
                    found.setdefault(key, section.observe(fact, index))
            code = ""
    yield from found.values()
    if found:
        yield section.looked(PeerCopy)


def _remember(tensors: _Known, code: str) -> None:
    """What a variable holds, by the statement that made it; any other assignment makes it unknown."""
    made = _MADE.fullmatch(code)
    if made is not None:
        values = _numbers(made["values"])
        if values is not None:
            tensors[made["name"]] = (int(made["gpu"]), values)
            return
    assigned = re.match(r"([A-Za-z_]\w{0,40})\s{0,4}=(?!=)", code)
    if assigned is not None:
        tensors.pop(assigned[1], None)


def _take(tensors: _Known, code: str, printed: re.Match[str]) -> PeerCopy | None:
    values = _numbers(printed["values"])
    gpu = int(printed["gpu"]) if printed["gpu"] else None
    if (named := _NAME.fullmatch(code)) is not None and gpu is not None and values is not None:
        tensors[named["name"]] = (gpu, values)
        return None
    moved = _MOVED.fullmatch(code)
    if moved is None or gpu is None or values is None or moved["name"] not in tensors:
        return None
    src, sent = tensors[moved["name"]]
    if gpu != int(moved["to"] or moved["cuda"]) or gpu == src or len(sent) != len(values):
        return None
    wrong = sum(abs(a - b) > 1e-3 * max(abs(a), 1.0) for a, b in zip(sent, values, strict=True))
    return PeerCopy(
        src=src,
        dst=gpu,
        data="wrong" if wrong else "right",
        route="staged" if moved["staged"] else "peer",
        elements=len(values),
        wrong=wrong,
        reads=printed["values"].strip("[] ")[:60] if wrong else None,
    )


def _numbers(text: str) -> list[float] | None:
    try:
        return [float(word) for word in re.split(r"[\s,\[\]]+", text) if word]
    except ValueError:
        return None


READER = Reader("tensor-transcript", read, markers=("device='cuda:",))
