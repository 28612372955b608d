"""What readers of lines share: how much of a line is looked at, and what may stand before a log message.

Logs arrive with the prefixes of dmesg, journalctl, syslog, docker and kubectl, so that readers search for
the stable middle of a line. What stands before it tells a log line from a sentence that quotes one.
"""

from __future__ import annotations

import re

from collectors.readers._regex import regex
from kb.evidence import Section

MOST_COLUMNS = 2000
"""Of a line, which may be a million columns long; no form that readers know is longer."""

BDF = r"(?:[0-9a-fA-F]{4,8}:)?[0-9a-fA-F]{2}:[0-9a-fA-F]{2}\.[0-7]"
"""A PCI address as a part of a regular expression."""

VERSION = r"\d{1,5}(?:\.\d{1,5}){1,3}"
"""A version of two to four parts as a part of a regular expression."""

_LEAD_COLUMNS = 120
# The ends of `[   12.345678] `, `host kernel: `, `<4>`, kmsg's `4,12,345,-;`, `12:00:00.123Z `, `kern  :err   : `;
# and the address of the machine, which talosctl and pdsh put before every line: `10.5.0.7: `.
_LEAD = regex(
    r"(?:[\]>;]:?|\bkernel:|\bkern\s{0,4}:\s{0,4}\w{1,10}\s{0,4}:|\d:\d\d\S{0,30}"
    r"|^(?:\d{1,3}(?:\.\d{1,3}){3}|[0-9a-f]{1,4}(?::[0-9a-f]{0,4}){2,7}):)\s{0,40}$"
)
_BARE_NO_FILE = regex(
    r"no such file or directory|datei oder verzeichnis nicht gefunden|aucun fichier ou dossier|"
    r"no existe el (?:archivo|fichero)|file o directory non esistente|нет такого файла|没有那个文件|"
    r"そのようなファイル|bestand of map bestaat niet|arquivo ou diret[óo]rio|nie ma takiego pliku|does not exist",
    re.IGNORECASE,
)


_ROUND_IT = regex(
    r"(?:sudo\s{1,4}(?:-\w\s{1,4}){0,3}|timeout\s{1,4}\S{1,12}\s{1,4}"
    r"|(?:kubectl|oc)\s(?:\S{1,200}\s{1,4}){0,6}exec\s(?:\S{1,200}\s{1,4}){1,8}?--\s{1,4}"
    r"|(?:docker|podman|nerdctl)\s{1,4}exec\s{1,4}(?:-\w{1,4}\s{1,4}){0,3}[\w.-]{1,200}\s{1,4}){1,3}"
)
"""What a command is run with or in: rights, a limit of time, a container."""


def plain_command(command: str) -> str:
    """A command without sudo, timeout, and `docker exec NAME` or `kubectl exec POD --` before it."""
    command = command[:MOST_COLUMNS].strip()
    return _ROUND_IT.sub("", command, count=1) if _ROUND_IT.match(command) else command


def command_of(section: Section) -> str:
    """The command that printed the section, as `plain_command` has it, without the folder of the program."""
    command = plain_command(section.command or "")
    program, space, arguments = command.partition(" ")
    return program.rpartition("/")[2] + space + arguments


def is_lead(text: str) -> bool:
    """Whether the text before a message is empty or what a log writes there, and no prose or quotation mark."""
    text = text[-_LEAD_COLUMNS:]
    return not text.strip() or _LEAD.search(text) is not None


def is_quoted(text: str) -> bool:
    """Whether the text before a message ends in a backtick: prose that quotes it."""
    return text.rstrip().endswith("`")


def says_no_file(text: str) -> bool:
    """Whether a tool's error says that the file is not there, in one of the languages that are common."""
    return _BARE_NO_FILE.search(text) is not None
