"""What people say that they tried, beside the outputs that they paste.

    Setting NCCL_P2P_DISABLE=1 fixes the hang.
    A reboot was tried, no change.

A sentence counts where one change and what came of it stand in it. Advice, questions, conditions and lines of logs
give nothing: they say what might be tried.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from collectors.readers._regex import regex
from collectors.readers.launcher_prefixes import without_launcher, without_stamp
from kb.evidence import Reader, Reading, Section
from kb.facts.trials import Change, Trial

_CHANGES: tuple[tuple[Change, re.Pattern[str]], ...] = (
    ("direct-copies-off", regex(r"[`'\"]{0,2}\bNCCL_P2P_DISABLE ?= ?[\"']?1\b[`'\"]{0,2}")),
    (
        "custom-all-reduce-off",
        regex(r"[`'\"]{0,2}(?:--disable-custom-all-reduce|\bdisable_custom_all_reduce ?= ?[Tt]rue)\b[`'\"]{0,2}"),
    ),
    (
        "access-control-off",
        regex(
            r"(?i)[`'\"]{0,2}(?:\bsetpci\b.{0,80}?(?:ECAP_ACS|f2a\.w)[^\s=]{0,8}=0{1,4}\b|\bpci=noacs\b"
            r"|\b(?:disabl(?:ed|ing)|(?:turn|switch)(?:ed|ing) off)(?: the)?(?: PCIe?)? ACS\b)[`'\"]{0,2}"
        ),
    ),
    (
        "iommu-off",
        regex(
            r"(?i)[`'\"]{0,2}(?:\b(?:intel_iommu|amd_iommu|iommu) ?= ?off\b|\biommu ?= ?pt\b"
            r"|\biommu\.passthrough=1\b"
            r"|\b(?:disabl(?:ed|ing)|(?:turn|switch)(?:ed|ing) off)(?: the)? (?:IOMMU|VT-d|AMD-Vi)\b)[`'\"]{0,2}"
        ),
    ),
    ("gid-index-set", regex(r"[`'\"]{0,2}(?:-x )?\bNCCL_IB_GID_INDEX ?= ?[\"']?\d{1,3}\b[`'\"]{0,2}")),
    ("nvls-off", regex(r"[`'\"]{0,2}\bNCCL_NVLS_ENABLE ?= ?[\"']?0\b[`'\"]{0,2}")),
    (
        "device-plugin-restart",
        regex(
            r"(?i)\brestart(?:s|ed|ing)?(?: of)?(?: the)?(?: \w{2,12}[- ]){0,3}?[ -]?device[- ]plugin"
            r"(?:[- ]pods?)?\b"
        ),
    ),
    (
        "module-reload",
        regex(r"(?i)\b(?:rmmod|modprobe -r|(?:re|un)load(?:s|ed|ing)?)\b[^.!?;]{0,40}?\bnvidia(?:[-_]\w{2,8})?"),
    ),
    ("reboot", regex(r"(?i)\breboot(?:s|ed|ing)?\b")),
)
_HELPS = regex(
    r"(?i)[^:]{0,50}?\b(?:cure[sd]?|fix(?:es|ed)|solve[sd]|resolve[sd]|help(?:s|ed)|work(?:s|ed)|avoid(?:s|ed)"
    r"|bypass(?:es|ed)|goes away|went away|is healthy|are healthy"
    r"|is (?:alone )?enough|suffice[sd]?|did the trick"
    r"|ma(?:kes|de) (?:it|everything|things|the \w{2,20}) (?:work|run|start|pass|go|finish|complete))\b"
)
_RUNS = (
    r"\b(?:works?|worked|runs?|ran|starts?|started|passe[sd]|succeed(?:s|ed)|complete[sd]|finishe[sd]|fine|ok"
    r"|reache[sd]|trains|trained|comes up|came up|goes through|went through)\b"
)
_RUNS_AFTER = regex(rf"(?i),?[^:]{{0,60}}?{_RUNS}")
_RUNS_AT_ONCE = regex(rf"(?i): (?:it )?{_RUNS}")
_RUNS_BEFORE = regex(
    r"(?i)\b(?:works|worked|runs|passe[sd]|succeed(?:s|ed)|complete[sd]|finishe[sd]|fine)\b[^.]{0,40}?"
    r"\b(?:with|using|when|after|once|if)\b[^.]{0,25}$"
)
_UNDER = regex(r"(?i)\b(?:with|using|when|after|once|under)\b[^.]{0,25}$")
_CURE_WAS = regex(
    r"(?i)(?:\b(?:fix|solution|cure|remedy|workaround) (?:for (?:me|us|this) )?(?:was|turned out to be)(?: to)?"
    r"|\b(?:fixed|solved|resolved|cured|worked around)(?: it| this| the \w{2,20})?(?: by| with| via| after)"
    r"|\bin the end(?:,)?)[^.:]{0,30}$"
)
_FAILS = regex(
    r"(?i).{0,50}?(?:(?:\bnot|n't|\bnever) (?:help|fix|work|change|solve|resolve|cure|make)|\bno (?:change|effect"
    r"|difference|luck|help|improvement)\b|\bnothing changed\b|\bin vain\b|\bwithout success\b)"
)
_STILL = r"\b(?:still|persists?|remains?|same (?:error|problem|issue|result|thing)|no change)\b"
_STILL_AFTER = regex(rf"(?i)[^:]{{0,30}}?{_STILL}")
_STILL_BEFORE = regex(rf"(?i){_STILL}[^.]{{0,40}}?\bafter\b[^.]{{0,25}}$")
_DENIES = regex(
    r"(?i)n't\b|\b(?:not|never|no longer|nor|neither|still|in vain|without success|no (?:effect|change|luck))\b"
)
_ADVISES = regex(
    r"(?i)\b(?:try|may|might|should|could|can|would|will|must|please|consider|recommend\w*|suggest\w*|your?|whether|if"
    r"|needs?|required?|until|unless|before)\b|\?"
)
_NOT_DONE = regex(r"(?i)(?:n't|\bnot|\bnever|\bno|\bwithout|\bfailed)(?: \w{1,12}){0,2} (?:a )?$")
_SENTENCE = regex(r"(?:[^.!?;]|[.!?;](?!\s|$)){1,400}[.!?;]?")
_ASIDE = regex(r" ?\([^()]{0,200}\)")
_RELOADS = regex(
    r"(?:sudo )?(?:rmmod|modprobe -r) nvidia[-_ ]\w{2,20}.{0,40}?(?:&&|;) ?(?:sudo )?"
    r"modprobe nvidia.{1,80}?(?:&&|;)"
)
_CUDA_WORKS = regex(
    r"\s{0,4}(?:cuInit(?:\(0\))? (?:->|=|:|returned) 0\b|True$|Result = PASS|tensor\(\[.{0,80}device='cuda)"
)
_MARKERS = (
    "NCCL_P2P_DISABLE",
    "disable-custom-all-reduce",
    "disable_custom_all_reduce",
    *("=off", "=pt", "ACS", "acs", "IOMMU", "iommu", "VT-d", "NCCL_IB_GID_INDEX", "NCCL_NVLS_ENABLE"),
    "setpci",
    "rmmod",
    "load",
    "eboot",
    "evice",
)
_WORDS = (
    *(("nccl_p2p_disable",), ("disable-custom-all-reduce",), ("disable_custom_all_reduce",), ("reboot",)),
    *(("iommu",), ("vt-d",), (" acs",), ("setpci",), ("pci=noacs",), ("nccl_ib_gid",), ("nccl_nvls",)),
    *(("restart", "plugin"), ("nvidia", "load"), ("nvidia", "rmmod"), ("nvidia", "modprobe -r")),
)
"""What a line that names a change holds, in small letters: markers are in many lines of logs that name none."""
_MOST_COLUMNS = 2000


def read(section: Section) -> Iterator[Reading]:
    """One fact for each change and what came of it, where it is first said."""
    if section.command is not None:
        yield from _reloaded(section)
        return
    told: set[Trial] = set()
    for index, line in section.matching(*_MARKERS):
        text = line[:_MOST_COLUMNS]
        if not _names_a_change(text.lower()) or without_stamp(without_launcher(text).text).text != text:
            continue
        for sentence in _SENTENCE.finditer(text):
            trial = _trial(sentence[0])
            if trial is not None and trial not in told:
                told.add(trial)
                yield section.observe(trial, index)


def _reloaded(section: Section) -> Iterator[Reading]:
    """A command that takes the modules out, loads them again and starts CUDA, which works."""
    if _RELOADS.match(section.command or "") is None:
        return
    for index, line in enumerate(section.lines[:20]):
        if _CUDA_WORKS.match(line[:200]):
            yield section.observe(Trial(change="module-reload", helped=True), index)
            return


def _names_a_change(text: str) -> bool:
    return any(all(word in text for word in words) for words in _WORDS)


def _trial(sentence: str) -> Trial | None:
    if _ADVISES.search(sentence):
        return None
    sentence = _ASIDE.sub("", sentence)
    for change, words in _CHANGES:
        found = words.search(sentence)
        if found is not None:
            before, after = sentence[: found.start()], sentence[found.end() :]
            helped = None if _NOT_DONE.search(before) else _helped(before, after)
            return None if helped is None else Trial(change=change, helped=helped)
    return None


def _helped(before: str, after: str) -> bool | None:
    """Whether the sentence around a change says that it helped; None where it does not tell."""
    if _FAILS.match(after) or _STILL_AFTER.match(after) or _STILL_BEFORE.search(before):
        return False
    if _DENIES.search(before + after):
        return None
    runs = _UNDER.search(before) and _RUNS_AFTER.match(after)
    if (
        runs
        or _CURE_WAS.search(before)
        or _HELPS.match(after)
        or _RUNS_AT_ONCE.match(after)
        or _RUNS_BEFORE.search(before)
    ):
        return True
    return None


READER = Reader("trials", read, markers=_MARKERS, commands=("rmmod", "modprobe -r"))
