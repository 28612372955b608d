"""Files → sections → readings: where a section begins and ends, and that every line keeps its number."""

from __future__ import annotations

import re

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from collectors.content import Content
from collectors.open import File
from collectors.scan import is_binary, read_all, read_file, sections, text_lines
from kb.evidence import Looked, Observed, Unread
from kb.facts.driver import KernelModule, NvidiaSmi

VERSION = "NVRM version: NVIDIA UNIX Open Kernel Module for x86_64  590.48.01  Release Build  (builder@host)"
GCC = "GCC version:  gcc version 13.3.0 (Ubuntu 13.3.0-6ubuntu2~24.04)"
TEXT = f"{VERSION}\n{GCC}\n"


def split(text: str | bytes, **more) -> list[tuple[int, str | None, list[str]]]:
    """First line, command and lines of each section."""
    content = text if isinstance(text, bytes) else text.encode()
    return [
        (one.first_line, one.command, list(one.lines)) for one in sections(File("a.txt", Content(content), **more))
    ]


def modules(content: bytes, **more) -> list[tuple[str, int]]:
    """The versions of the kernel module that are read, and the lines where."""
    _, readings = read_file(File("a.txt", Content(content), **more))
    facts = [one for one in readings if isinstance(one, Observed) and isinstance(one.fact, KernelModule)]
    return [(one.fact.version, one.source.line) for one in facts]


LINES = {
    "plain": (b"a\nb\n", ["a", "b"]),
    "without an end": (b"a\nb", ["a", "b"]),
    "empty lines are lines": (b"\na\n\n\nb\n\n", ["", "a", "", "", "b", ""]),
    "CRLF": (b"a\r\nb\r\n", ["a", "b"]),
    "mixed": (b"a\r\nb\nc\r\n", ["a", "b", "c"]),
    "doubled CR": (b"a\r\r\nb\n", ["a", "b"]),
    "a carriage return inside is no end": (b" 50%\r100%\nb\n", [" 50%\r100%", "b"]),
    "a form feed is no end": (b"a\x0cb\x0bc\nd\n", ["a\x0cb\x0bc", "d"]),
    "a Unicode line separator is no end": ("a\u2028b\u0085c\nd".encode(), ["a\u2028b\u0085c", "d"]),
    "a byte order mark": (b"\xef\xbb\xbfa\nb\n", ["a", "b"]),
    "UTF-16, little end first": (b"\xff\xfe" + "a\nß\r\n".encode("utf-16-le"), ["a", "ß"]),
    "UTF-16, big end first": (b"\xfe\xff" + "a\nß\r\n".encode("utf-16-be"), ["a", "ß"]),
    "UTF-16, cut": (("a\nb".encode("utf-16"))[:-1], ["a", "\ufffd"]),
    "no UTF-8": (b"a\xff\nb\n", ["a\ufffd", "b"]),
    "NUL-separated": (b"A=1\0B=2\0", ["A=1", "B=2"]),
    "NUL-separated, with an empty one": (b"a\0\0b\0", ["a", "", "b"]),
    "NULs that a crash left": (b"a\nb" + b"\0" * 512 + b"c\nd\n", ["a", "bc", "d"]),
    "colours": (b"\x1b[1;31merror\x1b[0m\n", ["error"]),
    "colours of other terminals": (b"\x1b[38;2;1;2;3mred\x1b[m\x1b[?25l\x1b[>0c\n", ["red"]),
    "the title of the window": (b"\x1b]0;root@host: ~\x07root@host:~# ls\n", ["root@host:~# ls"]),
    "a title that ends with ST": (b"\x1b]2;title\x1b\\text\n", ["text"]),
    "a title that does not end": (b"\x1b]0;title\ntext\n", ["0;title", "text"]),
    "the character set": (b"\x1b(B\x1b[mtext\x1b=\x1b7\n", ["text"]),
    "nothing": (b"", []),
    "one line end": (b"\n", [""]),
}


@pytest.mark.parametrize(("content", "lines"), LINES.values(), ids=LINES)
def test_the_lines_of_a_file(content, lines):
    """Any line end and encoding, without terminal escapes; only what ends a line counts as one."""
    assert text_lines(content) == lines


PLAIN = st.text(st.characters(codec="utf-8", exclude_characters="\n\r\0\x1b\ufeff\ufffe"), max_size=12)


@settings(derandomize=True, deadline=None, database=None)
@given(
    st.lists(st.tuples(PLAIN, st.sampled_from(["\n", "\r\n"]), st.sampled_from(["", "\x1b[0m", "\x1b]0;t\x07"]))),
    st.sampled_from(["utf-8", "utf-8-sig", "utf-16"]),
)
def test_lines_survive_any_dress(parts, encoding):
    """Line ends, colours, titles and encodings change neither the text nor the number of a line."""
    content = "".join(escape + line + escape + end for line, end, escape in parts).encode(encoding)

    assert text_lines(content) == [line for line, _, _ in parts]


TRANSCRIPT_LINES = st.sampled_from(
    [
        "$ ls -l",
        "root@host:~# nvidia-smi",
        "[root@host dir]# dmesg",
        "(venv) user@host:/tmp$ env",
        "# dmesg -T",
        "```",
        "~~~",
        "```console",
        "text",
        "",
        "$5 is not much",
        "mail bob@example.com",
    ]
)


@settings(derandomize=True, deadline=None, database=None, max_examples=200)
@given(st.lists(TRANSCRIPT_LINES, max_size=12), st.sampled_from([None, "known command"]))
def test_sections_cut_a_file_without_moving_a_line(lines, command):
    """Each line is in one section at most, under its own number; only prompts and closing fences are in none."""
    file = File("a.txt", Content("\n".join([*lines, "end"]).encode()), command)
    numbers: list[int] = []
    for section in sections(file):
        assert list(section.lines) == [*lines, "end"][section.first_line - 1 :][: len(section.lines)]
        numbers += range(section.first_line, section.first_line + len(section.lines))

    left_out = {line for number, line in enumerate(lines, 1) if number not in numbers}
    assert numbers == sorted(set(numbers))
    assert left_out <= {line for line in lines if re.match(r"[$#] [a-z]|.*@host.*[$#] |```|~~~", line)}
    assert command is None or not left_out


PROMPTS = {
    "$ nvidia-smi": "nvidia-smi",
    "$ FOO=1 python x.py": "FOO=1 python x.py",
    "root@host:~# dmesg -T": "dmesg -T",
    "root@host:/var/log# dmesg": "dmesg",
    "user@my-host.example.org:~/dir$ ls": "ls",
    "user@host ~ $ ls": "ls",
    "user@host$ ls": "ls",
    "[root@host log]# dmesg": "dmesg",
    "[user@host ~]$ ls -l": "ls -l",
    "(base) user@host:~$ env": "env",
    "(venv) $ env": "env",
    "(py35) ~/work/mnist$ A=2 python main.py": "A=2 python main.py",
    "~$ nvidia-smi": "nvidia-smi",
    "➜  mnist git:(main) ✗ python main.py": "python main.py",
    "➜  ~ nvidia-smi -L": "nvidia-smi -L",
    "~5 GB of it": None,
    "# nvidia-smi topo -m": "nvidia-smi topo -m",
    "# dmesg": "dmesg",
    "# dmesgs": None,
    "# A heading": None,
    "## cat and mouse": None,
    "$": None,
    "$5.00 for a coffee": None,
    "the $ sign": None,
    "bob@example.com wrote:": None,
    "[12.5] NVRM: loading": None,
    "[rank0@host] $ x": None,
    "From: bob@example.com # x": None,
    f"{'a' * 65}@host:~$ ls": None,
}


@pytest.mark.parametrize(("line", "command"), PROMPTS.items(), ids=PROMPTS)
def test_what_is_a_prompt(line, command):
    """A shell prompt with a command begins a section; prose and log lines do not."""
    expected = [(2, command, ["out"])] if command else [(1, None, [line, "out"])]

    assert split(f"{line}\nout\n") == expected


def test_a_transcript_is_cut_at_its_prompts():
    """What precedes the first command, then the output of each; an empty output is one too."""
    text = "hello\n$ first\nout\nmore\nroot@host:~# second\n# dmesg -T\nlast\n"

    assert split(text) == [
        (1, None, ["hello"]),
        (3, "first", ["out", "more"]),
        (6, "second", []),
        (7, "dmesg -T", ["last"]),
    ]


def test_a_command_without_output_at_the_end_is_a_section():
    """It tells that nothing was printed."""
    assert split("$ first") == [(2, "first", [])]


def test_the_end_of_a_code_block_ends_a_section():
    """Prose after it is not what the command printed."""
    text = "I ran:\n```\n$ first\nout\n```\nand then it hung\n```\nlog line\n```\n"

    assert split(text) == [
        (1, None, ["I ran:", "```"]),
        (4, "first", ["out"]),
        (6, None, ["and then it hung", "```", "log line", "```"]),
    ]


def test_a_code_block_in_an_output_does_not_end_it():
    """Outside a code block a fence opens one; it ends nothing."""
    assert split("$ first\nout\n```\nmore\n")[0][2] == ["out", "```", "more"]


def test_the_output_of_a_known_command_is_one_section():
    """What looks like a prompt there is part of the output."""
    assert split("$ first\n```\nout\n", command="cat notes.txt") == [
        (1, "cat notes.txt", ["$ first", "```", "out"])
    ]


def test_sections_carry_path_and_sum_of_the_whole_file():
    """A source leads to the file that was read."""
    section = next(sections(File("dir/a.txt", Content(b"hello"))))

    assert section.path == "dir/a.txt"
    assert section.sha256 == "2cf24dba5fb0a30e26e83b2ac5b9e29e1b161e5c1fa7425e73043362938b9824"


DRESSES = {
    "plain": TEXT.encode(),
    "CRLF": TEXT.replace("\n", "\r\n").encode(),
    "coloured": f"\x1b[32m{TEXT}\x1b[0m".encode(),
    "UTF-16": TEXT.encode("utf-16"),
    "UTF-8 with a mark": TEXT.encode("utf-8-sig"),
    "after a million columns": b"x" * 1_000_000 + b"\n" + TEXT.encode(),
    "after NULs of a crash": b"boot\n" + b"old" * 3000 + b"\0" * 4096 + b"\n" + TEXT.encode(),
    "after junk": b"\xff\xfa\xf0 \xc3\x28\n\n" + TEXT.encode(),
    "after a prompt": b"log\n$ cat /proc/driver/nvidia/version\n" + TEXT.encode(),
    "after a prompt with a title": b"\x1b]0;root@h: ~\x07root@h:~# cat /proc/driver/nvidia/version\n"
    + TEXT.encode(),
    "in a code block": b"It hangs:\n\n```console\n" + TEXT.encode() + b"```\n",
}


@pytest.mark.parametrize("content", DRESSES.values(), ids=DRESSES)
def test_a_source_names_the_line_where_it_stands(content):
    """Whatever surrounds it: the number is that of the line in the file, as an editor counts."""
    if content.startswith(b"\xff\xfe"):
        lines = content.decode("utf-16").split("\n")
    else:
        lines = content.decode(errors="replace").split("\n")
    number = next(index for index, line in enumerate(lines, 1) if "NVRM version" in line)

    assert modules(content) == [("590.48.01", number)]


BINARY = {
    "text": (b"plain text\n", False),
    "UTF-8": ("größer ✓ 日本\n".encode() * 50, False),
    "UTF-16": ("plain text\n".encode("utf-16") * 1, False),
    "UTF-16, not Latin": ("日本語のログ\n".encode("utf-16"), False),
    "colours": (b"\x1b[31mred\x1b[0m\n" * 50, False),
    "tabs, form feeds and backspaces of a manual page": (b"\tN\x0cA text of a page\n" * 50, False),
    "NUL-separated": (b"HOME=/root\0PATH=/bin\0" * 50, False),
    "an executable": (b"\x7fELF\x02\x01\x01\0\0\0\0\0\0\0\0\0\x03\0\x3e\0\x01\0\0\0" * 50, True),
    "a picture": (bytes(range(256)) * 20, True),
    "UTF-16 that is none": (b"\xff\xfe" + bytes(range(1, 9)) + b"\0\0\0\0" * 500, True),
    "nothing but NULs": (b"\0" * 4096, True),
}


@pytest.mark.parametrize(("content", "binary"), BINARY.values(), ids=BINARY)
def test_what_is_no_text(content, binary):
    """Many control bytes; a text in another encoding is a text."""
    assert is_binary(content) is binary


def test_a_binary_file_is_told_and_not_read():
    """It is in the account and among what was not read."""
    account, readings = read_file(File("core", Content(bytes(range(256)) * 20)))

    assert (account.readers, account.unread_bytes) == ((), 256 * 20)
    assert readings == [Unread("core", "unreadable", "binary: no reader takes it")]


def test_an_empty_file_says_nothing():
    """It was not the output of anything that is known."""
    account, readings = read_file(File("a.txt", Content(b" \n\n")))

    assert (account.why_unread, account.unread_bytes, readings) == ("empty", 0, [])


def test_an_empty_output_of_a_command_is_read():
    """Nothing at all in the kernel log is an answer too."""
    of_file = read_file(File("commands/dmesg.txt", Content(b""), "dmesg"))[1]
    of_transcript = read_file(File("a.txt", Content(b"$ dmesg\n$ true\n")))[1]

    assert {one.kind for one in of_file} == {one.kind for one in of_transcript}
    assert "iommu_fault" in {one.kind for one in of_file if isinstance(one, Looked)}


@pytest.mark.parametrize("prefix", ["", "sudo "])
def test_a_command_decides_which_reader_takes_its_output(prefix):
    """Also where no word of the output tells."""
    account, readings = read_file(File("a.txt", Content(b"none\n"), f"{prefix}systemd-detect-virt"))

    assert account.readers == ("machine",)
    assert {one.kind for one in readings if isinstance(one, Looked)} == {"container", "virtual_machine"}


def test_a_cut_file_proves_no_absence():
    """What was looked for in it was looked for in part only."""
    whole, cut = (read_file(File("a.txt", Content(TEXT.encode()), truncated=one))[1] for one in (False, True))

    assert {one.complete for one in whole if isinstance(one, Looked)} == {True}
    assert {(one.complete, one.reason) for one in cut if isinstance(one, Looked)} == {(False, "truncated")}


def test_what_no_reader_takes_is_told_with_its_size():
    """Of a file that is read in part, the rest."""
    text = "words that nobody knows\n$ cat /proc/driver/nvidia/version\n" + TEXT

    account, _ = read_file(File("a.txt", Content(text.encode())))

    assert (account.bytes, account.unread_bytes) == (len(text), len("words that nobody knows\n"))
    assert account.why_unread == "no reader knows this text"


def test_an_account_names_readers_and_facts():
    """Who took the file, and how many facts it gave."""
    accounts, readings = read_all([File("a.txt", Content(TEXT.encode())), File("b.txt", Content(b""))])

    assert [(one.path, one.facts > 0, one.why_unread) for one in accounts] == [
        ("a.txt", True, ""),
        ("b.txt", False, "empty"),
    ]
    assert sum(isinstance(one, Observed) for one in readings) == accounts[0].facts


def test_two_outputs_of_one_command_keep_their_places():
    """The same table twice in one transcript: each fact cites its own."""
    header = "| NVIDIA-SMI 590.48.01    Driver Version: 590.48.01    CUDA Version: 13.1 |"
    text = f"$ nvidia-smi\n{header}\n$ date\nnow\n$ nvidia-smi\n{header}\n"

    _, readings = read_file(File("a.txt", Content(text.encode())))

    facts = [one for one in readings if isinstance(one, Observed) and isinstance(one.fact, NvidiaSmi)]
    assert [one.source.line for one in facts] == [2, 6]


@settings(derandomize=True, deadline=None, database=None)
@given(st.binary(max_size=300), st.sampled_from([None, "nvidia-smi", "dmesg", "env", "lspci -vvv"]))
def test_bad_content_never_stops_a_run(content, command):
    """Bytes of any kind: read, or told."""
    account, _ = read_file(File("a.txt", Content(content), command))

    assert account.bytes == len(content)
