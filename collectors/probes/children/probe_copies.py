"""Copies between every ordered pair of GPUs, each checked element by element.

The ways go from the harmless to the one that is under suspicion, so that what a pair can do through the host is
known before a copy between peers may hang. After a pair that hung another process goes on: `without` its GPUs, and
of the way that hung with the pairs that come `after` it.
"""

from __future__ import annotations

import sys
from typing import Any

from probe_journal import Cannot, Journal, import_torch, salt_of

ROUNDS = 2
HOST_ELEMENTS = 1 << 20
"""So many of the first elements are looked at from the host as well."""
NEEDS_ACCESS = ("copy", "kernel", "ipc-read", "ipc-write")


def work(journal: Journal) -> None:
    """Looks which GPUs there are, notes the plan, and follows it."""
    asked = journal.asked
    torch = import_torch(journal)
    from probe_gpus import gpus_of

    with journal.step("devices", asked["start_s"]) as found:
        gpus = gpus_of(asked)
        devices = gpus.describe()
        found["devices"] = devices
    if len(devices) < 2:
        raise Cannot(f"torch of {sys.executable} sees {len(devices)} GPU(s); copies need two")
    numbers = [device["index"] for device in devices]
    pairs = [(src, dst) for src in numbers for dst in numbers if src != dst]
    offered = _offered(journal, gpus, pairs)
    done = {key: asked[key] for key in ("without", "after") if key in asked}
    journal.note("plan", ways=asked["ways"], pairs=pairs, sizes_bytes=asked["sizes_bytes"], rounds=ROUNDS, **done)
    try:
        for way in asked["ways"]:
            allowed = [pair for pair in pairs if offered[pair] or way not in NEEDS_ACCESS]
            if way == asked["ways"][0]:
                allowed = [pair for pair in allowed if pair > tuple(asked.get("after", ()))]
            if way.startswith("ipc-"):
                _between_processes(journal, way, allowed)
            else:
                _within_process(journal, gpus, way, allowed)
    except torch.cuda.OutOfMemoryError as error:
        raise Cannot(f"a GPU has no room for the copies: {str(error).splitlines()[0]}") from None


def _offered(journal: Journal, gpus: Any, pairs: list[tuple[int, int]]) -> dict[tuple[int, int], bool]:
    """Whether the driver offers peer access for each pair."""
    offered = {}
    with journal.step("peer-access", journal.asked["step_s"]):
        for src, dst in pairs:
            offered[src, dst] = gpus.offers_access(src, dst)
    for (src, dst), offer in offered.items():
        journal.note("access", src=src, dst=dst, offered=offer)
    return offered


def _within_process(journal: Journal, gpus: Any, way: str, pairs: list[tuple[int, int]]) -> None:
    for src, dst in pairs:
        for size_bytes in journal.asked["sizes_bytes"]:
            with journal.step(way, journal.asked["step_s"], src=src, dst=dst, size_bytes=size_bytes) as found:
                found.update(_one(journal, gpus, way, (src, dst), size_bytes))


def _one(journal: Journal, gpus: Any, way: str, pair: tuple[int, int], size_bytes: int) -> dict[str, Any]:
    """What came of the copies of one size: the worst of all rounds and of both views."""
    import torch
    from probe_patterns import blank, check, fill, worse

    source = torch.empty(size_bytes // 4, dtype=torch.int32, device=gpus.device(pair[0]))
    target = torch.empty(size_bytes // 4, dtype=torch.int32, device=gpus.device(pair[1]))
    found: dict[str, Any] = {}
    for turn in range(ROUNDS):
        salt = salt_of(journal, way, *pair, size_bytes, turn)
        fill(source, salt)
        blank(target, salt)
        gpus.settle(*pair)
        gpus.move(way, pair, source, target)
        gpus.settle(*pair)
        found = worse(found, check(target, salt))
        found = worse(found, {**check(target[:HOST_ELEMENTS].cpu(), salt), "seen_by": "host"})
        kept = check(source, salt)
        if kept["wrong"]:
            found["source_wrong"] = kept["wrong"]
    return found


def _between_processes(journal: Journal, way: str, pairs: list[tuple[int, int]]) -> None:
    """A process for each GPU; the memory of one is opened in the other."""
    from probe_ipc import Workers

    if not pairs:
        return
    limit_s = journal.asked["step_s"]
    with Workers(journal, sorted({gpu for pair in pairs for gpu in pair})) as workers:
        for src, dst in pairs:
            for size_bytes in journal.asked["sizes_bytes"]:
                with journal.step(way, limit_s, src=src, dst=dst, size_bytes=size_bytes) as found:
                    salt = salt_of(journal, way, src, dst, size_bytes)
                    found.update(workers.exchange(way, src, dst, size_bytes // 4, salt))


if __name__ == "__main__":
    Journal().run(work)
