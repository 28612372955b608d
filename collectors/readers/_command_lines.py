"""Command lines as transcripts, traces and scripts show them, with their continuation lines. No reader.

A line is a command where it begins with the program itself, after a prompt, a trace's `+ `, variables and such
words as `nohup`; a sentence that names a program in its midst is none.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Literal, NamedTuple, TypeAlias

from collectors.readers._regex import regex
from kb.evidence import EXCERPT_CHARS, Observed, Section, Source
from kb.facts import Fact

MOST_CONTINUED = 80
MOST_COLUMNS = 8000

Origin: TypeAlias = Literal["command", "script"]

LEAD = (
    r"\s{0,20}(?:\$ |\+ |\d{1,5}\*?  (?:\d{4}-\d\d-\d\d \d\d:\d\d:\d\d )?)?"  # prompt, trace, or history
    r"(?:[A-Za-z_]\w{0,80}=(?:\"[^\"]{0,400}\"|'[^']{0,400}'|\S{0,400}) ){0,20}"
    r"(?:(?:sudo(?: -E)?|exec|time|nohup|env|numactl(?: --?\S{1,60}){0,6}|timeout \S{1,12}|uv run) ){0,4}"
    r"(?:(?:\S{0,200}/)?python[\d.]{0,5}(?: -[uOBsE]){0,3} (?=/\S))?"  # as the process itself has it
    r"(?:\S{0,200}/)?"
)
"""What may stand before the program: the beginning of a regular expression."""
_OPTION = regex(
    r"\s--?(?P<name>[A-Za-z][\w-]{0,60})(?:(?:=|\s{1,4})(?P<value>\"[^\"]{0,400}\"|'[^']{0,400}'|[^\s\-\"'=]\S{0,300}"
    r"|-\d[\d.]{0,12}(?=\s|$)))?(?=\s|$)"
)
_SCRIPT_NAMES = (".sh", ".bash", ".slurm", ".sbatch", ".job", ".pbs", ".yaml", ".yml", ".service", "dockerfile")


class CommandLine(NamedTuple):
    """One whole command, and the lines it stands on; `first` is None for the command that printed the section."""

    text: str
    first: int | None
    last: int | None
    origin: Origin


def command_lines(section: Section, *words: str) -> Iterator[CommandLine]:
    """The commands of a section in which one of these words occurs: its own first, then those in its lines."""
    script = _is_script(section)
    if section.command is not None and any(word in section.command for word in words):
        text, last = joined(section.command[:MOST_COLUMNS], section.lines, -1)
        yield CommandLine(text, None, None if last < 0 else last, "command")
    done = -1
    for index, _ in section.matching(*words):
        if index <= done:
            continue
        first = _first_of(section.lines, index, done)
        text, done = joined(section.lines[first][:MOST_COLUMNS], section.lines, first)
        traced = text.lstrip().startswith(("+ ", "$ "))
        yield CommandLine(text, first, done, "script" if script and not traced else "command")


def _is_script(section: Section) -> bool:
    name = section.path.lower()
    shebang = bool(section.lines) and section.lines[0].startswith("#!")
    return (
        shebang or name.endswith(_SCRIPT_NAMES) or any(line.startswith("#SBATCH ") for line in section.lines[:60])
    )


def _first_of(lines: Sequence[str], index: int, done: int) -> int:
    """The line with which the command begins that this line continues."""
    for _ in range(MOST_CONTINUED):
        if index - 1 <= done or index < 1 or not lines[index - 1].rstrip().endswith("\\"):
            break
        index -= 1
    return index


def joined(text: str, lines: Sequence[str], index: int) -> tuple[str, int]:
    """The text with the lines that continue it, and the index of the last of them."""
    for _ in range(MOST_CONTINUED):
        if not text.rstrip().endswith("\\") or index + 1 >= len(lines) or len(text) > MOST_COLUMNS:
            break
        index += 1
        text = f"{text.rstrip()[:-1]} {lines[index][:MOST_COLUMNS].strip().removeprefix('> ')}"
    return text[:MOST_COLUMNS], index


def options(text: str) -> Iterator[tuple[str, str]]:
    """Options of a command with underscores and without quotes; a flag is `true`. Variables are left out."""
    for match in _OPTION.finditer(text):
        value = (match["value"] or "true").strip("\"'")
        if value and "$" not in value and "{" not in value[:1]:
            yield match["name"].replace("-", "_"), value


def observed(section: Section, fact: Fact, command: CommandLine) -> Observed:
    """The fact, sourced to the lines of the command."""
    if command.first is not None:
        return section.observe(fact, command.first, command.last)
    line = max(section.first_line - 1, 1)
    text = (section.command or "")[:EXCERPT_CHARS]
    return Observed(fact, Source(section.path, line, line, text, section.sha256))
