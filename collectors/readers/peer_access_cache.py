"""vLLM's test of peer access between GPUs, and the file in which its result outlives the machine's state.

    INFO 01-31 12:00:00 [custom_all_reduce_utils.py:246] generating GPU P2P access cache in /root/.cache/vllm/gpu_p2p_access_cache_for_0,1.json
    INFO 01-31 12:00:09 [custom_all_reduce_utils.py:246] reading GPU P2P access cache from /root/.cache/vllm/gpu_p2p_access_cache_for_0,1.json
    {"0->0": true, "0->1": false, "1->0": false, "1->1": true}

Follows vLLM 0.4 to 0.33 and SGLang 0.3 to 0.5 (custom_all_reduce_utils.py). The test copies data between
processes; that a log ends with `generating` means that it hangs there. JSON that is cut gives nothing.
"""  # noqa: E501 - lines of the log as they are

from __future__ import annotations

from collections.abc import Iterator
from typing import Literal

from collectors.readers._json_text import json_of
from collectors.readers._regex import regex
from collectors.readers.launcher_prefixes import after_progress, without_launcher, without_stamp
from collectors.readers.run_start import START_MARKERS, shows_start
from kb.evidence import Reader, Reading, Section
from kb.facts.peer_paths import PeerAccessCache

_LINE = regex(r"(?P<action>generating|reading) GPU P2P access cache (?:in|from) (?P<path>\S{1,400})")
_NAME = regex(r"gpu_p2p_access_cache_for_(?P<gpus>\d{1,4}(?:,\d{1,4}){0,31})\.json")
_PAIR = regex(r"(\d{1,4})->(\d{1,4})$")
_MARKERS = ("GPU P2P access cache", '"0->0"', '"1->1"')


def read(section: Section) -> Iterator[Reading]:
    """One fact for the test, one for its use, and one for the file itself."""
    found: dict[PeerAccessCache, int] = {}
    for index, whole in section.matching("GPU P2P access cache"):
        match = _LINE.match(without_stamp(without_launcher(after_progress(whole)[:1000]).text).text)
        if match is not None:
            action: Literal["generating", "reading"] = "reading" if match["action"] == "reading" else "generating"
            found.setdefault(_fact(action, match["path"]), index)
    for fact, index in found.items():
        yield section.observe(fact, index)
    content = _content(section)
    if content is not None:
        yield section.observe(content, 0, len(section.lines) - 1)
    if found or content or shows_start(section):
        yield section.looked(PeerAccessCache, complete=content is not None or shows_start(section))


def _fact(action: Literal["generating", "reading"], path: str) -> PeerAccessCache:
    name = _NAME.search(path)
    return PeerAccessCache(action=action, gpus=name["gpus"] if name else None, path=path)


def _content(section: Section) -> PeerAccessCache | None:
    """The file, where it is the whole section."""
    first = section.lines[0].lstrip() if section.lines else ""
    value = json_of(section) if first.startswith("{") else None
    if not isinstance(value, dict) or not value or len(value) > 4096:
        return None
    pairs = [(match, granted) for key, granted in value.items() if (match := _PAIR.match(key)) is not None]
    if len(pairs) != len(value) or not all(isinstance(granted, bool) for _, granted in pairs):
        return None
    between = [granted for match, granted in pairs if match[1] != match[2]]
    gpus = sorted({int(match[1]) for match, _ in pairs})
    name = _NAME.search(section.path)
    return PeerAccessCache(
        action="content",
        gpus=name["gpus"] if name else ",".join(map(str, gpus)),
        pairs=len(between),
        pairs_denied=between.count(False),
        path=section.path,
    )


READER = Reader("peer-access-cache", read, markers=(*_MARKERS, *START_MARKERS))
