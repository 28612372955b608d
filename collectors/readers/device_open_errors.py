"""Device files of GPUs that a program could not open: shells, strace, Python, and the driver's own libraries.

    NVIDIA: could not open the device file /dev/nvidiactl (Operation not permitted).
    openat(AT_FDCWD, "/dev/nvidia-uvm", O_RDWR|O_CLOEXEC) = -1 EPERM (Operation not permitted)
    PermissionError: [Errno 1] Operation not permitted: '/dev/nvidia0'

Follows libnvidia's and nvidia-modprobe's texts, strace, coreutils, CPython. EPERM comes from a device cgroup or a
sandbox, EACCES from mode and owner. Sentences that name a device and an error give nothing.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from collectors.readers._device_files import ERRORS, node_class
from collectors.readers._lines import MOST_COLUMNS, is_lead
from collectors.readers._regex import regex
from collectors.readers.launcher_prefixes import after_progress, without_launcher
from kb.evidence import Reader, Reading, Section
from kb.facts.devices import DeviceOpenError, NodeClass, OpenError

_PATH = r"(?P<path>/dev/(?:nvidia|dxg|infiniband)[\w/-]{0,60})"
_SAYS = r"(?P<says>[A-Z][a-z]{1,12}(?:[ /][a-z]{1,12}){1,5})"
_QUOTE = r"[\u2018\u2019'\"]?"
_FORMS = (
    regex(rf"(?P<tool>NVIDIA): could not open the device file {_PATH} \({_SAYS}\)"),
    regex(
        r"(?:\[pid {1,4}\d{1,8}\] |\d{1,8} {1,2})?(?:[\d:.]{4,20} )?"
        rf"open(?:at)?\(.{{0,40}}?\"{_PATH}\".{{0,80}}\) = -1 \w{{3,12}} \({_SAYS}\)"
    ),
    regex(rf"(?P<tool>\w{{1,20}}Error): \[Errno \d{{1,3}}\] {_SAYS}: b?'{_PATH}'"),
    regex(
        r"(?:\S{0,40}: line \d{1,5}: )?(?P<tool>-?[\w.-]{1,40}): "
        r"(?:cannot open |can't open |failed to open |error opening )?"
        rf"{_QUOTE}{_PATH}{_QUOTE}(?: for reading)?: {_SAYS}\s*$"
    ),
    regex(
        r"(?P<tool>nvidia-(?:modprobe|smi|persistenced|container-cli)): "
        rf"(?:\w{{1,20}} ){{0,6}}{_PATH}[^:]{{0,40}}: {_SAYS}"
    ),
)
_AVC = regex(
    r"avc:  ?denied  ?\{ [\w ]{3,60} \} for .{0,200}?\bname=\"(?P<name>nvidia[\w-]{0,40})\""
    r".{0,300}?\btclass=chr_file"
    r"(?: permissive=(?P<permissive>[01]))?"
)
_NOT_OPENED = frozenset(("ls", "stat", "chmod", "chown", "rm", "mknod", "find", "lsof", "fuser"))
"""Programs that look at the file and don't open it."""


@dataclass
class _Failure:
    """One sort of failure and how often it was seen."""

    path: str
    tool: str | None
    index: int
    count: int = 0


def read(section: Section) -> Iterator[Reading]:
    """DeviceOpenError for each class of node and error."""
    failures: dict[tuple[NodeClass, OpenError], _Failure] = {}
    for index, line in section.matching("/dev/nvidia", "/dev/dxg", "/dev/infiniband", "tclass=chr_file"):
        text = without_launcher(after_progress(line[:MOST_COLUMNS])).text
        found = _failure(text)
        if found:
            node, error, path, tool = found
            failures.setdefault((node, error), _Failure(path, tool, index)).count += 1
    for (node, error), failure in failures.items():
        fact = DeviceOpenError(node=node, path=failure.path, error=error, tool=failure.tool, count=failure.count)
        yield section.observe(fact, failure.index)
    if failures:
        yield section.looked(DeviceOpenError)


def _failure(text: str) -> tuple[NodeClass, OpenError, str, str | None] | None:
    refused = _AVC.search(text)
    if refused:
        path = f"/dev/{refused['name']}"
        class_ = node_class(path)
        if refused["permissive"] == "1" or class_ is None:
            return None
        return class_, "permission-denied", path, "selinux"
    for form in _FORMS:
        match = form.search(text) if form is _FORMS[0] else form.match(text.lstrip())
        if match is None:
            continue
        tool = match.groupdict().get("tool")
        error = ERRORS.get(match["says"].lower())
        node = node_class(match["path"])
        if error is None or node is None or tool in _NOT_OPENED:
            return None
        if form is _FORMS[0] and not is_lead(text[: match.start()]):
            return None
        return node, error, match["path"], "strace" if tool is None else tool.lstrip("-")
    return None


READER = Reader(
    "device-open-errors",
    read,
    markers=(
        "could not open the device file /dev/nvidia",
        "tclass=chr_file",
        '"/dev/nvidia',
        "'/dev/nvidia",
        ": /dev/nvidia",
        "open /dev/nvidia",
        "opening /dev/nvidia",
        '"/dev/infiniband',
        '"/dev/dxg',
    ),
)
