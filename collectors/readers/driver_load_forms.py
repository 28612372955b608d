"""The messages of modules that do not load or do not take a GPU, and what each means.

    NVRM: GPU 0000:01:00.0 is already bound to vfio-pci.
    NVRM: GPU 0000:01:00.0: RmInitAdapter failed! (0x24:0x72:1568)
    modprobe: ERROR: could not insert 'nvidia': Key was rejected by service

Follows kernel-open/nvidia/{nv.c,nv-pci.c} and src/nvidia/arch/nvalloc/unix/src/{osinit.c,osapi.c} of
NVIDIA/open-gpu-kernel-modules 515-595 with the texts of drivers from 304 on, kernel/module of Linux 4.4-6.14,
kmod, DKMS 2.2-3.2 and nvidia-installer. No reader: used by the one of loads.
"""

from __future__ import annotations

import re
from typing import Literal, NamedTuple, TypeAlias

from collectors.readers._lines import BDF
from collectors.readers._regex import regex
from kb.facts.module_load import LoadProblem

Reporter: TypeAlias = Literal["kernel", "modprobe", "dkms", "installer"]

_GPU = rf"(?:GPU (?P<bdf>{BDF}): )?"
_MODULE = r"(?P<module>nvidia(?:[_-]\w{1,20})?)"


class Form(NamedTuple):
    """A message: its named groups are fields of a ModuleLoadProblem."""

    pattern: re.Pattern[str]
    problem: LoadProblem
    by: Reporter


def _form(pattern: str, problem: LoadProblem, by: Reporter = "kernel") -> Form:
    return Form(regex(pattern), problem, by)


BY_KERNEL = (
    _form(rf"NVRM: GPU (?P<bdf>{BDF}) is already bound to (?P<driver>[\w-]{{1,40}})\.", "other-driver-bound"),
    _form(r"NVRM: The NVIDIA probe routine was not called for (?P<gpus>\d{1,4}) device", "probe-not-called"),
    _form(r"NVRM: The NVIDIA probe routine failed for (?P<gpus>\d{1,4}) device", "probe-failed"),
    _form(r"NVRM: None of the NVIDIA (?:graphics adapters|devices) were initialized", "probe-failed"),
    _form(r"NVRM: No NVIDIA (?:GPU|PCI devices|graphics adapter|devices) (?:found|probed)[.!]", "no-gpu-found"),
    _form(rf"NVRM: ignoring the legacy GPU (?P<bdf>{BDF})", "legacy-gpu"),
    _form(
        rf"NVRM: {_GPU}RmInitAdapter failed! \((?P<code>0x[0-9a-f]{{1,4}}:0x[0-9a-f]{{1,8}}:\d{{1,6}})\)",
        "rm-init-failed",
    ),
    _form(r"NVRM: Open nvidia\.ko is only ready for use on Data Center GPUs", "needs-proprietary-module"),
    _form(r"NVRM:? (?:\w{1,60}: )?missing NVDEC0 engine", "needs-proprietary-module"),
    _form(r"NVRM: This is a (?P<code>64-bit BAR) mapped above ", "bar-invalid"),
    _form(rf"NVRM: {_GPU}GPU does not have the necessary power cables connected", "power-cables"),
    _form(
        rf"nvidia (?P<bdf>{BDF}): Direct firmware load for nvidia/\S{{1,60}}gsp\S{{0,30}} failed with error "
        r"(?P<code>-\d{1,4})",
        "no-gsp-firmware",
    ),
    _form(r"NVRM: (?:GPU\d{1,3} )?(?:\w{1,60}: )?No firmware image found", "no-gsp-firmware"),
    _form(
        rf"NVRM:? {_GPU}(?:GPU\d{{1,3}} )?(?:\w{{1,60}}: )?Cannot initialize GSP firmware RM", "gsp-init-failed"
    ),
    _form(r"NVRM: No address space to allocate resized BAR1", "bar-resize-failed"),
    _form(r"NVRM: FATAL: Failed to re-allocate BAR1", "bar-resize-failed"),
    _form(r"NVRM: Fatal Error while attempting to resize PCIe BARs", "bar-resize-failed"),
    _form(
        r"NVRM: request_mem_region failed for (?P<code>\w{1,10} @ 0x[0-9a-f]{1,16})\. This can",
        "request-mem-region",
    ),
    _form(r"NVRM: Can't find an IRQ for your NVIDIA card", "no-interrupt"),
    _form(rf"NVRM: {_GPU}No interrupts of any type are available\. Cannot use this GPU", "no-interrupt"),
    _form(
        r"nvidia-uvm: [^()]{1,160}(?:\[pid:\d{1,10}\] )?request_free_mem_region\(\) err (?P<code>-\d{1,4})",
        "uvm-hmm-init",
    ),
    _form(rf"{_MODULE}: Unknown symbol (?P<code>\w{{1,80}}) \(err", "unknown-symbol"),
    _form(rf"{_MODULE}: disagrees about version of symbol (?P<code>\w{{1,80}})", "version-magic"),
    _form(rf"{_MODULE}: version magic '(?P<code>[^']{{1,100}})' should be '", "version-magic"),
    _form(
        rf"{_MODULE}: (?:Invalid relocation target|Unknown rela relocation)",
        "invalid-format",
    ),
    _form(r"Loading of unsigned module is rejected", "signature-rejected"),
    _form(r"Loading of module with (?:unavailable key|unsupported crypto) is rejected", "signature-rejected"),
    _form(
        r"Lockdown: (?:modprobe|insmod|systemd-modules|kmod): unsigned module loading is restricted", "lockdown"
    ),
)

BY_PROGRAM = (
    _form(
        r"WARNING: The NVIDIA .{3,80} GPU installed in this system is supported through the NVIDIA "
        r"(?P<code>\d{2,3}\.xx) [Ll]egacy",
        "legacy-gpu",
        "installer",
    ),
    _form(
        r"(?:modprobe|insmod): (?:ERROR: )?could not insert (?:module )?'?(?:\S{1,200}/)?"
        r"(?P<module>nvidia[\w-]{0,20})(?:\.ko\S{0,4})?'?: (?P<code>[A-Z][\w ,()-]{3,60})\s*$",
        "insert-failed",
        "modprobe",
    ),
    _form(
        r"Failed to insert module '(?P<module>nvidia[\w-]{0,20})': (?P<code>[A-Z][\w ,()-]{3,60})\s*$",
        "insert-failed",
        "modprobe",
    ),
    _form(
        r"(?:modprobe|insmod|libkmod): (?:ERROR|FATAL): (?:\S{1,60}: )?could not find module by name[ =]"
        r"'(?P<module>nvidia[\w-]{0,20})'",
        "module-not-found",
        "modprobe",
    ),
    _form(
        r"modprobe: (?:can't load )?module (?P<module>nvidia[\w-]{0,20})(?: \(.{0,200}\))?:? "
        r"(?:not found in modules\.dep|No such file or directory)",  # BusyBox
        "module-not-found",
        "modprobe",
    ),
    _form(
        r"modinfo: ERROR: Module (?P<module>nvidia[\w-]{0,20}) not found\.?\s*$", "module-not-found", "modprobe"
    ),
    _form(
        r"modprobe: FATAL: (?:Module )?(?P<module>nvidia[\w-]{0,20}) not found in directory "
        r"/lib/modules/(?P<kernel>\S{1,80})",
        "module-not-found",
        "modprobe",
    ),
    _form(
        r"modprobe: FATAL: Module (?P<module>nvidia[\w-]{0,20}) not found\.?\s*$", "module-not-found", "modprobe"
    ),
    _form(r"-> Kernel module load error: (?P<code>[A-Z][\w ,()-]{3,60})\s*$", "insert-failed", "installer"),
    _form(
        r"ERROR: The kernel module failed to load,? because it was not signed by a key that is trusted",
        "signature-rejected",
        "installer",
    ),
    _form(
        r"ERROR: The kernel module failed to load\. +Secure boot is enabled on this system",
        "insert-not-permitted",
        "installer",
    ),
    _form(r"nvidia/[\d.]{3,20}: added\s*$", "not-built", "dkms"),
    _form(r"Failed to find module '(?P<module>nvidia[\w-]{0,20})'\s*$", "module-not-found", "modprobe"),
    _form(
        r"rmmod: ERROR: Module (?P<module>nvidia\w{0,20}) is in use(?: by: (?P<code>[\w ,]{1,80}))?\s*$",
        "module-in-use",
        "modprobe",
    ),
    _form(r"Could not unload NVIDIA driver kernel modules, driver is in use\s*$", "module-in-use", "installer"),
    _form(
        r"nvidia driver module is already loaded with refcount (?P<code>\d{1,6})\s*$", "module-in-use", "installer"
    ),
    _form(
        r"dkms autoinstall on (?P<kernel>[^\s/]{1,80})/\w{1,20} failed for (?:[\w()-]{1,60} ){0,10}?"
        r"(?P<module>nvidia)[\w-]{0,20}\((?P<code>\d{1,3})\)",
        "build-failed",
        "dkms",
    ),
    _form(
        r"Error! Your kernel headers for kernel (?P<kernel>\S{1,80}) cannot be found", "headers-missing", "dkms"
    ),
    _form(
        r"Module build for kernel (?P<kernel>\S{1,80}) was skipped since the(?: kernel (?:headers|source)|\s*$)",
        "headers-missing",
        "dkms",
    ),
)

BY_INSTALLER = (
    _form(r"ERROR: Unable to build the (?:NVIDIA )?kernel module", "build-failed", "installer"),
    _form(r"ERROR: Failed to (?:compile|build) .{0,40}kernel module", "build-failed", "installer"),
    _form(
        r'ERROR: An error occurred while performing the step: "Building kernel modules"',
        "build-failed",
        "installer",
    ),
    _form(
        r"ERROR: Unable to find the kernel source tree for the currently running kernel",
        "headers-missing",
        "installer",
    ),
    _form(r"ERROR: The Nouveau kernel driver is currently in use by your system", "nouveau-bound", "installer"),
)

_REASONS: tuple[tuple[str, LoadProblem], ...] = (
    ("Key was rejected by service", "signature-rejected"),
    ("Required key not available", "signature-rejected"),
    ("Operation not permitted", "insert-not-permitted"),
    ("No such device", "insert-no-device"),
    ("Exec format error", "invalid-format"),
    ("Invalid module format", "invalid-format"),
    ("Unknown symbol", "unknown-symbol"),
)


_NOUVEAU = (
    regex(
        rf"nouveau (?P<bdf>{BDF}): (?:NVIDIA \w{{3,8}} \([0-9a-f]{{6,8}}\)|(?:DRM|drm): (?:VRAM|GART): \d"
        r"|vgaarb: deactivate vga console|\[drm\] Initialized)"
    ),
    regex(rf"nouveau\s{{1,4}}\[ {{0,4}}DEVICE\]\[(?P<bdf>{BDF})\] "),  # up to Linux 4.2
    regex(rf"\[drm\] Initialized nouveau [\d.]{{3,8}} (?:\d{{8}} )?for (?P<bdf>{BDF}) on minor"),
)


def nouveau_took(text: str) -> str | None:
    """The address of the GPU that nouveau says it has taken."""
    match = next((found for form in _NOUVEAU if (found := form.match(text)) is not None), None)
    return match["bdf"].lower() if match is not None else None


def of_reason(module: str | None, reason: str) -> LoadProblem:
    """What it means that a module could not be inserted for this reason."""
    if module == "nvidia_peermem" and reason.startswith("Invalid argument"):
        return "peermem-no-client"
    return next((problem for text, problem in _REASONS if reason.startswith(text)), "insert-failed")
