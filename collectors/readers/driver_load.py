"""Why NVIDIA kernel modules do not load, or do not take a GPU: kernel log, modprobe, DKMS, nvidia-installer.

    NVRM: The NVIDIA GPU 0000:01:00.0 (PCI ID: 10de:2b85)
    NVRM: installed in this system requires use of the NVIDIA open kernel modules.
    modprobe: ERROR: could not insert 'nvidia': Key was rejected by service

Follows the sources that driver_load_forms.py names. Messages of several lines are put together; one without its
end gives nothing. What a later load of the module in the same boot has overtaken is history and not told.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from collectors.readers import _kernel_log
from collectors.readers._event_sums import Sum, Sums
from collectors.readers._kernel_events import LOG_MARKERS, BootId, KernelLog, LogLine
from collectors.readers._lines import BDF, MOST_COLUMNS, command_of, is_lead, is_quoted
from collectors.readers._regex import regex
from collectors.readers.driver_load_forms import BY_INSTALLER, BY_KERNEL, BY_PROGRAM, nouveau_took, of_reason
from kb.evidence import Observed, Reader, Reading, Section
from kb.facts.driver import KernelModule
from kb.facts.module_load import ModuleLoadProblem

_GPU_LINE = regex(
    rf"NVRM: The NVIDIA v?GPU (?P<bdf>{BDF})(?: \(PCI ID: (?P<id>[0-9a-f]{{4}}:[0-9a-f]{{4}})\))?\s*$"
)
_PCI_ID = regex(r"NVRM: \(PCI ID: (?P<id>[0-9a-f]{4}:[0-9a-f]{4})\) installed in this system has\s*$")
_FOLLOWING = (
    (regex(r"NVRM: installed in this system requires use of the NVIDIA open kernel modules"), "needs-open-module"),
    (
        regex(r"NVRM: installed in this (?:vGPU host )?system is not supported by open\s*$"),
        "needs-proprietary-module",
    ),
    (regex(r"NVRM: installed in this vGPU host system is not supported by\s*$"), "needs-proprietary-module"),
    (regex(r"NVRM: fallen off the bus and is not responding to commands"), "fell-off-bus"),
)
_RELEASE = regex(r"NVRM: NVIDIA (?P<branch>\d{2,4})\.[\d.]{1,12} driver release\.")
_LEGACY = regex(r"NVRM:\s{1,2}supported through the NVIDIA (?P<branch>\d{2,4})\.[\dx.]{1,10} Legacy drivers")
_BAD_BAR = regex(r"NVRM: BAR(?P<code>\d is \d{1,8}M) @ 0x[0-9a-f]{1,16} \(PCI:(?P<bdf>" + BDF + r")\)")
_LOADED = regex(r"NVRM: loading NVIDIA UNIX ")
_BUILD = regex(r"Error! Bad return status for module build on kernel: (?P<kernel>\S{1,80})")
_BUILD_LOG = regex(r"/var/lib/dkms/(?P<module>[\w-]{2,40})/")
_BUILD_OF_NVIDIA = regex(
    r"\bNV_(?:EXCLUDE_BUILD_MODULES|EXCLUDE_KERNEL_MODULES|VERBOSE)=|/var/lib/dkms/nvidia[\w-]{0,20}/"
    r"|\bdkms (?:install|build) .{0,80}\bnvidia\b|Building module:? nvidia"
)
_PROGRAM = regex(r"(?:^|\s)[\w./@-]{1,60}\[\d{1,10}\]: ")
_INSTALLER = "nvidia-installer log file"
_WELCOME = "Welcome to the NVIDIA Software Installer"
_MOST_LINES_APART = 12
_OVERTAKEN_LINES = 40
"""Messages on one GPU and the line that says that the module was loaded come out together."""
_STARTS = ("NVRM: ", "[drm] Initialized nouveau", "nouveau 0", "nouveau  [  DEVICE]", "nouveau [  DEVICE]")
_MARKERS = (
    *("NVRM: The NVIDIA", "NVRM: (PCI ID", "NVRM: installed in", "NVRM: fallen off", "NVRM: NVIDIA ", "NVRM: BAR"),
    *("NVRM: Open nvidia.ko is only ready", "NVRM: This is a 64-bit BAR", ": missing NVDEC0", ": added"),
    *("Legacy drivers", "NVRM: None of the", "NVRM: No ", "NVRM: ignoring the legacy", "RmInitAdapter failed!"),
    *(
        "legacy Linux graphics",
        "already bound to",
        "necessary power cables",
        "Direct firmware load for nvidia",
        "No firmware image found",
    ),
    *("Cannot initialize GSP firmware RM", "NVRM: FATAL", "NVRM: Fatal Error", "NVRM: request_mem_region failed"),
    *("Can't find an IRQ", "No interrupts of any type", "request_free_mem_region() err", ": Unknown symbol "),
    *(
        ": disagrees about version of symbol",
        ": version magic '",
        ": Unknown rela",
        "module is rejected",
        "key is rejected",
        "crypto is rejected",
        ": Invalid reloc",
    ),
    *("unsigned module loading is restricted", "could not insert", "Failed to insert module 'nvidia"),
    *("modprobe: FATAL: Module nvidia", "modprobe: FATAL: nvidia", "could not find module by name"),
    *("modprobe: module nvidia", "modprobe: can't load module nvidia", "modinfo: ERROR: Module nvidia"),
    *("Failed to find module 'nvidia", "ERROR: Module nvidia", "driver is in use"),
    *("already loaded with refcount", "dkms autoinstall on", "Error! Your kernel headers"),
    "Module build for kernel",
    *(
        "Bad return status for module build",
        "Kernel module load error:",
        "Unable to build the",
        "Failed to compile",
        "Failed to build",
        "Building kernel modules",
    ),
    *(
        "Unable to find the kernel source tree",
        "The Nouveau kernel driver is",
        "NVRM: loading NVIDIA",
        "nouveau 0",
        "nouveau  [  DEVICE]",
        "nouveau [  DEVICE]",
        "Initialized nouveau",
        "The kernel module failed to load",
    ),
)


class _Key(NamedTuple):
    problem: str
    module: str | None
    bdf: str | None = None
    driver: str | None = None
    device_id: str | None = None
    code: str | None = None
    branch: int | None = None
    gpus: int | None = None
    kernel: str | None = None
    by: str = "kernel"


@dataclass
class _Log:
    """What has been read: sums, the GPU that a message began with, loads by boot, and where nouveau took a GPU."""

    sums: Sums[_Key]
    gpu: tuple[int, str, str | None] | None = None
    build: tuple[int, str] | None = None
    loads: dict[BootId, int] = field(default_factory=dict)
    nouveau: dict[str, LogLine] = field(default_factory=dict)


def read(section: Section) -> Iterator[Reading]:
    """ModuleLoadProblem for each complaint that still holds, and the nouveau module where it took a GPU."""
    kernel_log = KernelLog(section)
    log = _Log(Sums(kernel_log))
    by_installer = section.has(_WELCOME) or any(line.startswith(_INSTALLER) for line in section.lines[:3])
    for line in kernel_log.lines(*_MARKERS):
        if not _of_kernel(log, line):
            _of_program(log, section, line, by_installer=by_installer)
    yield from _nouveau(section, log)
    found = [section.observe(_fact(key, sum_), sum_.index) for key, sum_ in log.sums if _holds(log, key, sum_)]
    yield from found
    whole = _kernel_log.is_whole(section)
    if whole or found or _kernel_log.is_asked_for(section):
        yield _kernel_log.looked(section, ModuleLoadProblem, whole=whole)


def _of_kernel(log: _Log, line: LogLine) -> bool:
    """Takes in a line of the kernel; whether it is one."""
    start = next((at for at in (line.text.find(word) for word in _STARTS) if at >= 0), None)
    if start is not None and line.by_kernel(start) and _of_several_lines(log, line, line.text[start:], start):
        return True
    for form in BY_KERNEL:
        match = form.pattern.search(line.text)
        if match and line.by_kernel(match.start()):
            _add(log, line, match, form.problem, "kernel")
            return True
    return False


def _of_several_lines(log: _Log, line: LogLine, text: str, start: int) -> bool:
    if gpu := _GPU_LINE.match(text):
        log.gpu = (line.index, gpu["bdf"].lower(), gpu["id"])
        return True
    if _LOADED.match(text):
        log.loads[line.boot] = line.index
        return True
    address = nouveau_took(text)
    if address is not None and len(log.nouveau) < 64:
        log.nouveau.setdefault(address, line)
        return True
    legacy, bar = _LEGACY.match(text), _BAD_BAR.match(text)
    if legacy:
        log.sums.add(_Key("legacy-gpu", "nvidia", branch=int(legacy["branch"])), line, start)
    elif bar:
        log.sums.add(_Key("bar-invalid", "nvidia", bar["bdf"].lower(), code=bar["code"]), line, start)
    elif log.gpu and line.index - log.gpu[0] <= _MOST_LINES_APART:
        return _of_gpu(log, line, text, start, log.gpu)
    return legacy is not None or bar is not None


def _of_gpu(log: _Log, line: LogLine, text: str, start: int, gpu: tuple[int, str, str | None]) -> bool:
    """A line that goes on about the GPU that an earlier one named."""
    _, bdf, device_id = gpu
    pci_id = _PCI_ID.match(text)
    if pci_id:
        log.gpu = (line.index, bdf, pci_id["id"])
        return True
    release = _RELEASE.match(text)
    if release:
        branch = int(release["branch"])
        log.sums.add(_Key("not-supported-by-release", "nvidia", bdf, None, device_id, branch=branch), line, start)
        return True
    problem = next((problem for pattern, problem in _FOLLOWING if pattern.match(text)), None)
    if problem:
        log.sums.add(_Key(problem, "nvidia", bdf, None, device_id), line, start)
    return problem is not None


def _of_program(log: _Log, section: Section, line: LogLine, *, by_installer: bool) -> None:
    for form in BY_PROGRAM:
        match = form.pattern.search(line.text)
        if match and _is_said(line.text[: match.start()]):
            _add(log, line, match, form.problem, form.by, module="nvidia" if form.by == "installer" else None)
            return
    build = _BUILD.search(line.text)
    if build and _is_said(line.text[: build.start()]):
        if _is_build_of_nvidia(section, line.index):
            _add(log, line, build, "build-failed", "dkms", module="nvidia")
        return
    for form in BY_INSTALLER if by_installer else ():
        if match := form.pattern.match(line.text):
            _add(log, line, match, form.problem, "installer", module="nvidia")
            return


def _is_build_of_nvidia(section: Section, index: int) -> bool:
    """Whether the log that a failed build names below is of an NVIDIA module; else whether the lines above are."""
    for one in section.lines[index : index + 3]:
        if (log := _BUILD_LOG.search(one[:MOST_COLUMNS])) is not None:
            return log["module"].startswith("nvidia")
    for above in range(index - 1, max(index - _MOST_LINES_APART, -1) - 1, -1):
        one = section.lines[above][:MOST_COLUMNS] if above >= 0 else command_of(section)
        if one.startswith("Error!"):
            return False
        if _BUILD_OF_NVIDIA.search(one):
            return True
    return False


def _is_said(lead: str) -> bool:
    """Whether a program printed what follows, or logged it: nothing before it, or a log's stamp and tag."""
    tagged = _PROGRAM.search(lead[:200]) is not None and any(char.isdigit() for char in lead[:40])
    return (is_lead(lead) or tagged) and not is_quoted(lead)


def _add(
    log: _Log, line: LogLine, match: re.Match[str], problem: str, by: str, *, module: str | None = None
) -> None:
    said: dict[str, Any] = {key: value for key, value in match.groupdict().items() if value is not None}
    named = str(said.get("module", module or "")).replace("-", "_") or None
    if problem == "insert-failed":
        problem = of_reason(named, said.get("code", ""))
    if named == "nvidia_peermem" and problem == "unknown-symbol" and "ib_" in said.get("code", ""):
        problem = "peermem-no-client"
    if said.get("driver") == "nouveau":
        problem = "nouveau-bound"
    unnamed = problem in {"signature-rejected", "lockdown", "headers-missing"}
    log.sums.add(
        _Key(
            problem,
            named or ("nvidia_uvm" if problem == "uvm-hmm-init" else None if unnamed else "nvidia"),
            said["bdf"].lower() if "bdf" in said else None,
            said.get("driver"),
            None,
            said.get("code"),
            None,
            int(said["gpus"]) if "gpus" in said else None,
            said.get("kernel"),
            by,
        ),
        line,
        match.start(),
    )


def _nouveau(section: Section, log: _Log) -> Iterator[Observed]:
    """Nouveau's own word that it took a GPU, unless the NVIDIA module was loaded later in that boot."""
    for bdf, line in log.nouveau.items():
        if log.loads.get(line.boot, -1) < line.index:
            log.sums.add(_Key("nouveau-bound", "nvidia", bdf, "nouveau"), line, line.text.find("nouveau "))
            yield section.observe(KernelModule(name="nouveau", reported_by="kernel-log"), line.index)


def _holds(log: _Log, key: _Key, sum_: Sum) -> bool:
    """Whether no later load of the module has overtaken what was said."""
    loaded = log.loads.get(sum_.last_boot, -1)
    return key.by != "kernel" or loaded - sum_.last_index < _OVERTAKEN_LINES


def _fact(key: _Key, sum_: Sum) -> ModuleLoadProblem:
    fields = key._asdict()
    fields["reported_by"] = fields.pop("by")
    return ModuleLoadProblem(**fields, count=sum_.count, boot=sum_.boot, first_s=sum_.first.at_s)


READER = Reader(
    "driver-load",
    read,
    markers=(*_MARKERS, *LOG_MARKERS),
    commands=(*_kernel_log.COMMANDS, "modprobe", "cat /var/log/nvidia-installer.log"),
    context=(0, 3),
)
