"""Bytes of a file → its lines as text: any line end, without terminal escapes, whatever the bytes."""

from __future__ import annotations

import re

ESCAPES = re.compile(
    r"""\x1b(?: \[ [0-?]{0,64} [ -/]{0,4} [@-~]          # colours and cursor
             | [\]P^_] [^\x07\x1b\n]{0,4096} (?: \x07 | \x1b\\ )  # the title of the window
             | [ -/] [0-~]                              # the character set
             | [0-~] )""",
    re.VERBOSE,
)
PADDING = re.compile("\0{8,}")
"""What a crash leaves in a log: never the end of eight empty lines."""
UTF16 = (b"\xff\xfe", b"\xfe\xff")


def text_lines(content: bytes) -> list[str]:
    """The lines of a whole file; NUL is read as a line end, as in files of /proc."""
    if content.startswith(UTF16):
        text = content.decode("utf-16", errors="replace")
    else:
        text = content.decode("utf-8-sig", errors="replace")
    if "\0" in text:
        text = PADDING.sub("", text).replace("\0", "\n")
    if "\x1b" in text:
        text = ESCAPES.sub("", text)
    lines = text.split("\n")
    if "\r" in text:
        lines = [line.rstrip("\r") for line in lines]
    return lines if lines[-1] else lines[:-1]


def text_line(content: bytes | bytearray) -> str:
    """One line of a file that is read line by line."""
    text = content.decode("utf-8", errors="replace")
    if "\0" in text:
        text = PADDING.sub("", text)
    if "\x1b" in text:
        text = ESCAPES.sub("", text)
    return text.rstrip("\r")
