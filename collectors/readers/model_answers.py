"""Answers of a served model, where one piece of text over and over shows that it computes nonsense.

    $ curl -s localhost:8000/v1/completions -d '{"prompt": "Hello", "max_tokens": 24}' | jq -r .choices[0].text
    !!!!!!!!!!!!!!!!!!!!!!!!
    {"choices":[{"index":0,"message":{"role":"assistant","content":"A GPU is a processor …"}}]}
    Prompt: 'Hello, my name is', Generated text: '!!!!!!!!!!!!!!!!'

Follows the OpenAI-like servers of vLLM, SGLang, TensorRT-LLM and llama.cpp, TGI's `generated_text`, and vLLM's
offline examples. A row of dashes or the like is a rule between lines, not an answer; an answer that is cut short
or in no known place gives nothing.
"""

from __future__ import annotations

from collections.abc import Iterator

from collectors.readers._regex import regex
from collectors.readers.launcher_prefixes import without_launcher
from kb.evidence import Reader, Reading, Section
from kb.facts.model import ModelAnswer

MOST_ANSWERS = 200
LONGEST = 4000

_MARKERS = ("Generated text: ", '"generated_text"', '"content"', '"text"', '"output_text"', "!" * 12)

_IN_JSON = regex(
    r"\"(?:text|content|generated_text|response|output_text)\" ?: ?\"(?P<answer>(?:[^\"\\]|\\.){4,3000})\""
)
_PRINTED = regex(
    r"(?:.{0,300}?Generated text: |.{0,80}?[Oo]utput: |Assistant: |Response: |.{0,200}?\s-> )\s{0,20}"
    r"(?P<quote>['\"]?)(?P<answer>\S.{3,2000})"
)
_ASKED = regex(r".{0,300}?(?:/v1/(?:chat/)?completions|/generate(?:_stream)?\b)")
_REPEATED = regex(r"(?P<unit>\S.{0,11}?)(?:\s?(?P=unit)){11,}")
_RULER = frozenset("=-_.*#~+<>|/\\:^0123456789 ")
_LEAST_CHARACTERS = 16
_SHARE = 0.8
_WORDS = regex(r"[^\W\d_]{2,20}[ ,.!?][ ]?[^\W\d_]{1,20}")


def read(section: Section) -> Iterator[Reading]:
    """One fact for each answer of which can be said whether it makes sense; those alike in a row are one."""
    last, count = None, 0
    for index, answer, is_printed in sorted((*_asked(section), *_marked(section))):
        fact = _judged(answer, printed=is_printed)
        if fact is not None and fact != last and count < MOST_ANSWERS:
            last, count = fact, count + 1
            yield section.observe(fact, index)


def _asked(section: Section) -> Iterator[tuple[int, str, bool]]:
    """What a command that asked a model printed first, where it is bare text."""
    if _ASKED.match((section.command or "")[:LONGEST]) is not None:
        for index, line in enumerate(section.lines[:20]):
            if line.strip():
                bare = line.strip()[:LONGEST]
                if bare[0] not in "{[%":
                    yield index, bare, False
                return


def _marked(section: Section) -> Iterator[tuple[int, str, bool]]:
    for index, line in section.matching(*_MARKERS):
        text = without_launcher(line[:LONGEST]).text
        answers = [match["answer"] for match in _IN_JSON.finditer(text)] if '"' in text else []
        yield from ((index, answer, False) for answer in answers)
        printed = None if answers else _PRINTED.match(text)
        if printed is not None:
            yield index, printed["answer"], "Generated text: " not in text


def _judged(answer: str, *, printed: bool) -> ModelAnswer | None:
    repeated = _REPEATED.match(answer)
    if repeated is not None and not _RULER.issuperset(repeated["unit"]):
        length = repeated.end() - repeated.start()
        if length >= _LEAST_CHARACTERS and length >= _SHARE * len(answer.rstrip("'\" .…")):
            return ModelAnswer(garbled=True, unit=repeated["unit"])
    # what a script prints behind an arrow may be anything
    return ModelAnswer(garbled=False) if not printed and _WORDS.search(answer) else None


READER = Reader("model-answers", read, markers=_MARKERS, commands=("curl", "http", "wget"))
