r"""The command line of the running kernel, /proc/cmdline.

    BOOT_IMAGE=/boot/vmlinuz-6.14.11-4-pve root=ZFS=rpool/ROOT/pve-1 ro boot=zfs amd_iommu=on
    initrd=\EFI\proxmox\6.8.12-4-pve\initrd.img root=ZFS=rpool/ROOT/pve-1 boot=zfs iommu=pt
    console=tty0 root=/dev/nvme0n1p2 ro dyndbg="file drivers/usb/* +p"

Follows Documentation/admin-guide/kernel-parameters.rst and next_arg() of lib/cmdline.c. Where the command is
known, only one that reads /proc/cmdline counts: what a boot loader's file asks for is not what runs. Other lines
give nothing.
"""

from __future__ import annotations

from collections.abc import Iterator

from collectors.readers._kernel_parameters import parameters_of
from collectors.readers._regex import regex
from kb.evidence import Reader, Reading, Section
from kb.facts.machine import KernelParameter

_MOST_COLUMNS = 8192
_BY_FORM = regex(r"\s{0,4}(?:/proc/cmdline:)?(?:BOOT_IMAGE=\S|initrd=\S)")
_FIRST = regex(r"\s{0,4}[a-z][\w.]{1,40}=\S")
_ERROR = regex(r"[\w./-]{2,40}: ")


def read(section: Section) -> Iterator[Reading]:
    """KernelParameter for every parameter of the first line that is a kernel command line."""
    is_known = section.command is not None and "/proc/cmdline" in section.command
    if section.command is not None and not is_known:
        return
    for index, line in enumerate(section.lines):
        text = line[:_MOST_COLUMNS]
        if (is_known and text.strip() and not _ERROR.match(text)) or _has_form(text):
            for parameter in parameters_of(text.strip().removeprefix("/proc/cmdline:")):
                yield section.observe(parameter, index)
            yield section.looked(KernelParameter)
            return


def _has_form(text: str) -> bool:
    if "root=" not in text and "BOOT_IMAGE=" not in text and "initrd=" not in text:
        return False
    words = text.split()
    has_root = _FIRST.match(text) and any(word.startswith("root=") for word in words) and {"ro", "rw"} & set(words)
    return _BY_FORM.match(text) is not None or bool(has_root)


READER = Reader(
    "kernel-command-line",
    read,
    markers=("BOOT_IMAGE=", "root=", "initrd="),
    commands=("cat /proc/cmdline", "grep . /proc/cmdline", "tr ", "xargs"),
)
