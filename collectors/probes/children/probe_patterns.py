"""Data that neither zeros nor what was there before can pass for: each element tells its place and its copy."""

from __future__ import annotations

from typing import Any

import torch

CHUNK = 1 << 22
MOST_OFFSETS = 8


def pattern(first: int, count: int, salt: int, device: Any) -> Any:
    """Elements [first, first + count) of the pattern of a salt, as int32: no two of 2**31 are alike."""
    at = torch.arange(first, first + count, dtype=torch.int64, device=device)
    mixed = (at * 2654435761 + salt) & 0xFFFFFFFF
    mixed = mixed ^ (mixed >> 15)
    return (mixed - (1 << 31)).to(torch.int32)


def fill(tensor: Any, salt: int) -> None:
    """Puts the pattern there."""
    for first in range(0, tensor.numel(), CHUNK):
        part = tensor[first : first + CHUNK]
        part.copy_(pattern(first, part.numel(), salt, tensor.device))


def blank(tensor: Any, salt: int) -> None:
    """Puts the opposite of the pattern there: an element that is not written again is wrong."""
    for first in range(0, tensor.numel(), CHUNK):
        part = tensor[first : first + CHUNK]
        part.copy_(~pattern(first, part.numel(), salt, tensor.device))


def check(tensor: Any, salt: int) -> dict[str, Any]:
    """How many elements are wrong, the first of them, and what they hold."""
    wrong = zeros = untouched = 0
    offsets: list[int] = []
    held = 0
    for first in range(0, tensor.numel(), CHUNK):
        part = tensor[first : first + CHUNK]
        expected = pattern(first, part.numel(), salt, tensor.device)
        differ = part != expected
        count = int(differ.sum().item())
        if count == 0:
            continue
        if not offsets:
            at = differ.nonzero().flatten()[:MOST_OFFSETS]
            offsets = [first + int(offset) for offset in at.tolist()]
            held = int(part[offsets[0] - first].item())
        wrong += count
        zeros += int((differ & (part == 0)).sum().item())
        untouched += int((differ & (part == ~expected)).sum().item())
    found: dict[str, Any] = {"elements": tensor.numel(), "wrong": wrong}
    if wrong:
        found["first_wrong"] = offsets
        found["holds"] = (
            "zeros"
            if zeros == wrong
            else "what was there before"
            if untouched == wrong
            else hex(held & 0xFFFFFFFF)
        )
    return found


def worse(one: dict[str, Any], other: dict[str, Any]) -> dict[str, Any]:
    """Of two findings the one with more wrong elements."""
    return other if other.get("wrong", 0) > one.get("wrong", -1) else one
