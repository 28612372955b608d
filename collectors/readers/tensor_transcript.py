"""Tensors that are moved from one GPU to another and printed on both, in a Python session or by a script.

    >>> x                                       a = torch.tensor([1, 2]).to('cuda:0')
    tensor([1], device='cuda:0')                print(a)
    >>> x.to(1)                                 print(a.to('cuda:1'))
    tensor([0], device='cuda:1')                tensor([1, 2], device='cuda:0')
                                                tensor([0, 0], device='cuda:1')

Follows PyTorch's printing of tensors (0.4 to 2.14). Only what moves the very tensor that was printed or written
out before counts: `.to(1)`, `.to('cuda:1')`, `.cuda(1)`; by way of `.cpu()` it is a staged copy. `torch.equal` and
`torch.allclose` of both sides count too. Of a script the prints and what was printed must agree in number and
place; where its code is elsewhere, two prints of which the second lost all values are told as a pair, and a move
as a move. A session that is cut, or that prints no values on both sides, gives nothing.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import pairwise
from math import isnan
from typing import NamedTuple

from collectors.readers._regex import regex
from collectors.readers._tensor_moves import NAME, Names, Root, Tensor, numbers
from kb.evidence import Observed, Reader, Reading, Section
from kb.facts.p2p import PeerCopy, TensorMove, TensorPair

_PROMPT = regex(r"\s{0,8}(?:>>>|In \[\d{1,5}\]:) (?P<code>\S.{0,250}?)\s*$")
_CODE = regex(r"\s{0,8}(?P<code>(?:[A-Za-z_]\w{0,40}\s{0,4}=(?!=)|print\().{0,250}?)\s*$")
_OUTPUT = regex(
    r"(?:Out\[\d{1,5}\]: |[>#]{1,3} |[^'\"()=\[\]]{0,40}[: ])?tensor\((?P<values>[\[\d\].,eEnaif+\s-]{1,2000}?)"
    r"(?:,\s{0,12}device='cuda:(?P<gpu>\d{1,3})')?(?:,\s{0,12}dtype=[\w.]{1,30})?\)\s*(?:#.*)?$"
)
_VERDICT = regex(
    r"(?:Out\[\d{1,5}\]: |[>#]{1,3} |.{0,40}[: ])?(?:tensor\()?(?P<same>True|False)\b[^()]{0,40}\)?\s*$"
)
_PRINT = regex(r"print\((?:f?(?P<quote>['\"])[^'\"]{0,80}(?P=quote),\s{0,2})?(?P<what>.{1,200})\)$")
_COMPARED = regex(
    r"(?:torch\.(?:equal|allclose)\((?P<a>[^,]{1,80}),\s{0,2}(?P<b>[^,]{1,80})\)"
    r"|\(?(?P<c>[\w.()'\":]{1,80}?)\s{0,2}==\s{0,2}(?P<d>[\w.()'\":]{1,80}?)\)?\.all\(\)(?:\.item\(\))?)$"
)
_SAID_TO_MOVE = regex(
    r"(?i)(?:mov|copy|transfer)\w{0,5}\b.{0,60}?(?:cuda:|GPU ?)(?P<src>\d{1,2})\b.{0,12}?"
    r"(?:cuda:|GPU ?)(?P<dst>\d{1,2})\b"
)
_LONGEST_TENSOR = 40
"""Lines of one printed tensor."""
_FARTHEST = 12
"""Lines between two printed tensors that belong together."""
_NOTHING = 1e-30


class _Printed(NamedTuple):
    line: int
    end: int
    values: list[float]
    gpu: int | None


class _Asked(NamedTuple):
    """What a statement prints: a tensor, or whether two are the same."""

    tensor: Tensor | None
    pair: tuple[Tensor, Tensor] | None = None
    name: str | None = None


def read(section: Section) -> Iterator[Reading]:
    """One PeerCopy for each pair and route; of a pair that was tried again the first that went wrong."""
    found: dict[tuple[int, int, str], Observed] = {}
    names = Names()
    session = any(_PROMPT.match(line[:300]) for _, line in section.matching(">>> ", "In ["))
    copies = _of_session(section, names) if session else _of_script(section, names)
    for fact, line in copies:
        key = (fact.src, fact.dst, fact.route)
        if key not in found or (fact.data == "wrong" and found[key].fact != fact):
            found.setdefault(key, section.observe(fact, line))
    yield from found.values()
    if found:
        yield section.looked(PeerCopy)
    elif not session:
        yield from _moves(section, names)
        yield from _pairs(section)


def _of_session(section: Section, names: Names) -> Iterator[tuple[PeerCopy, int]]:
    asked: _Asked | None = None
    for index, line in enumerate(section.lines):
        if (statement := _PROMPT.match(line[:300])) is not None:
            code = _bare(statement["code"])
            names.take(code)
            asked = _asked(names, code)
        elif asked is not None:
            yield from _answered(names, asked, section, index)
            asked = None


def _of_script(section: Section, names: Names) -> Iterator[tuple[PeerCopy, int]]:
    """Code and output apart: what is printed must be what the code prints, one by one."""
    asked: list[_Asked] = []
    for line in section.lines:
        if (statement := _CODE.match(line[:300])) is not None:
            code = _bare(statement["code"])
            names.take(code)
            if code.startswith("print(") and (one := _asked(names, code)) is not None:
                asked.append(one)
    shown = [one for one in _printed(section) if one.gpu is not None]
    tensors = [one.tensor for one in asked if one.tensor is not None and one.tensor.gpu is not None]
    if len(tensors) == len(shown) and [one.gpu for one in tensors] == [one.gpu for one in shown]:
        for tensor, printed in zip(tensors, shown, strict=True):
            yield from _compared(tensor, printed)
    pairs = [one.pair for one in asked if one.pair is not None]
    verdicts = [
        (index, match) for index, line in enumerate(section.lines) if (match := _verdict(line)) is not None
    ]
    if len(pairs) == len(verdicts):
        for pair, (index, match) in zip(pairs, verdicts, strict=True):
            yield from _judged(pair, match, index)


def _asked(names: Names, code: str) -> _Asked | None:
    """What a statement shows, where it is a tensor that is known or a comparison of two."""
    printed = _PRINT.match(code)
    what = printed["what"].strip() if printed is not None else code
    compared = _COMPARED.match(what)
    if compared is not None:
        sides = [
            names.tensor((one or "").strip())
            for one in (compared["a"] or compared["c"], compared["b"] or compared["d"])
        ]
        if sides[0] is not None and sides[1] is not None and sides[0].root is sides[1].root:
            return _Asked(None, (sides[0], sides[1]))
        return None
    tensor, name = names.tensor(what), what if re.fullmatch(NAME, what) else None
    return _Asked(tensor, None, name) if tensor is not None or name is not None else None


def _answered(names: Names, asked: _Asked, section: Section, index: int) -> Iterator[tuple[PeerCopy, int]]:
    line = section.lines[index]
    if asked.pair is not None:
        match = _verdict(line)
        if match is not None:
            yield from _judged(asked.pair, match, index)
        return
    printed = _one_printed(section, index)
    if printed is None or printed.gpu is None:
        return
    if asked.tensor is not None and printed.gpu == asked.tensor.gpu:
        yield from _compared(asked.tensor, printed)
    if asked.name is not None:
        # From here on it is what was printed.
        names.tensors[asked.name] = Tensor(Root(printed.values), printed.gpu, last_gpu=printed.gpu)


def _compared(tensor: Tensor, printed: _Printed) -> Iterator[tuple[PeerCopy, int]]:
    """A print of what never moved tells the values; one of what moved is checked against them."""
    if tensor.route is None or tensor.came_from is None:
        tensor.root.values = printed.values
        return
    sent = tensor.root.values
    if tensor.hops != 1 or sent is None or len(sent) != len(printed.values) or printed.gpu is None:
        return
    wrong = sum(not abs(a - b) <= 1e-3 * max(abs(a), 1.0) for a, b in zip(sent, printed.values, strict=True))
    fact = PeerCopy(
        src=tensor.came_from,
        dst=printed.gpu,
        data="wrong" if wrong else "right",
        route=tensor.route,
        elements=len(sent),
        wrong=wrong,
        reads=_words(printed.values) if wrong else None,
    )
    yield fact, printed.line


def _judged(pair: tuple[Tensor, Tensor], match: re.Match[str], index: int) -> Iterator[tuple[PeerCopy, int]]:
    moved = [one for one in pair if one.hops == 1]
    if len(moved) != 1 or pair[0].hops + pair[1].hops != 1:
        return
    src, dst, route = moved[0].came_from, moved[0].last_gpu, moved[0].route
    if src is not None and dst is not None and route is not None:
        yield PeerCopy(src=src, dst=dst, data="right" if match["same"] == "True" else "wrong", route=route), index


def _moves(section: Section, names: Names) -> Iterator[Reading]:
    """Code or words that move something to another GPU, for a print that stands elsewhere."""
    for index, line in section.matching("cuda:", "GPU"):
        said = _SAID_TO_MOVE.search(line[:300])
        if said is not None and said["src"] != said["dst"] and "tensor(" not in line:
            yield section.observe(TensorMove(src=int(said["src"]), dst=int(said["dst"])), index)
            return
    moved = [one for one in names.tensors.values() if one.route == "peer" and one.gpu is not None]
    for one in moved[:1]:
        if one.gpu is not None:
            yield section.observe(
                TensorMove(src=one.came_from, dst=one.gpu), _line_of(section, f"cuda:{one.gpu}", f"({one.gpu})")
            )
    if not moved:
        for gpu in [one for one in names.unknown_moves if one > 0][:1]:
            yield section.observe(TensorMove(dst=gpu), _line_of(section, f"cuda:{gpu}", f"({gpu})"))


def _line_of(section: Section, *marks: str) -> int:
    return next((i for i, line in section.matching(*marks) if ".to(" in line or ".cuda(" in line), 0)


def _pairs(section: Section) -> Iterator[Reading]:
    """Two tensors of one shape on two GPUs, one after the other, of which the second holds nothing."""
    shown = list(_printed(section))
    for first, second in pairwise(shown):
        if first.gpu is None or second.gpu is None or first.gpu == second.gpu:
            continue
        near = second.line - first.end <= _FARTHEST and len(first.values) == len(second.values)
        if near and _is_lost(second.values) and any(abs(one) > _NOTHING for one in first.values):
            fact = TensorPair(
                src=first.gpu, dst=second.gpu, elements=len(second.values), reads=_words(second.values)
            )
            yield section.observe(fact, second.line)
            return


def _is_lost(values: list[float]) -> bool:
    return bool(values) and all(isnan(one) or abs(one) <= _NOTHING for one in values)


def _printed(section: Section) -> Iterator[_Printed]:
    index = 0
    while index < len(section.lines):
        line = section.lines[index]
        commented = line.find("# tensor(") if line.lstrip().startswith("print(") else -1
        one = _one_printed(section, index, line[commented + 2 :] if commented > 0 else line)
        yield from [one] if one else []
        index = one.end + 1 if one else index + 1


def _one_printed(section: Section, index: int, line: str | None = None) -> _Printed | None:
    """The tensor that begins on a line, with the lines that it goes on over."""
    text = (section.lines[index] if line is None else line)[:600]
    if "tensor(" not in text or _CODE.match(text) or _PROMPT.match(text):
        return None
    end = index
    while text.count("(") > text.count(")") and end - index < _LONGEST_TENSOR and end + 1 < len(section.lines):
        end += 1
        text += "\n" + section.lines[end][:300]
    match = _OUTPUT.match(text[:4000])
    values = numbers(match["values"]) if match is not None else None
    if match is None or not values:
        return None
    return _Printed(index, end, values, int(match["gpu"]) if match["gpu"] else None)


def _verdict(line: str) -> re.Match[str] | None:
    return None if _CODE.match(line[:300]) else _VERDICT.match(line[:200])


def _bare(code: str) -> str:
    """Code without the remark behind it."""
    return re.split(r"\s{1,40}#", code, maxsplit=1)[0].rstrip()


def _words(values: list[float]) -> str:
    return ", ".join(f"{one:.4g}" for one in values[:4])


READER = Reader(
    "tensor-transcript", read, markers=("device='cuda:", ".to('cuda:", '.to("cuda:', ".cuda(1)", ".to(1)")
)
