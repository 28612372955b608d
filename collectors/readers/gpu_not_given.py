"""What images and the device plugin say when they, inside a container, find no NVIDIA driver.

    WARNING: The NVIDIA Driver was not detected.  GPU functionality will not be available.
    E0305 09:01:14.122110 1 factory.go:88] If this is a GPU node, did you configure the NVIDIA Container Toolkit?
    INFO:    Could not find any nv files on this host!
    2021/08/10 03:12:01 If this is a GPU node, did you set the docker default runtime to `nvidia`?

Follows the entry points of NVIDIA's images (2017 to 2025) and k8s-device-plugin 0.6 to 0.18. The words must begin
the message; a sentence that quotes them gives nothing.
"""

from __future__ import annotations

from collections.abc import Iterator

from collectors.readers._lines import MOST_COLUMNS
from collectors.readers._regex import regex
from collectors.readers.launcher_prefixes import without_launcher, without_stamp
from kb.evidence import Reader, Reading, Section
from kb.facts.containers import GpuNotGiven

_IMAGE = regex(r"\s{0,4}(?:WARNING: )?The NVIDIA Driver was not detected\.")
_PLUGIN = regex(
    r"(?:.{0,80}(?:\] |\d{2}:\d{2}:\d{2} )|level=\w{1,10} msg=\"|\s{0,4})"
    r"(?:If this is a GPU node, did you (?:set the docker default runtime|configure the NVIDIA Container Toolkit)"
    r"|Incompatible (?:strategy|platform) detected\b)"
)
_HPC = regex(
    r"(?:INFO|WARNING|WARN): {1,6}(?:Could not find any nv (?:files|libraries|binaries)|no NVIDIA files found)"
)
_MARKERS = (
    "ould not find any nv ",
    "NVIDIA Driver was not detected",
    "If this is a GPU node, did you ",
    *("Incompatible strategy detected", "Incompatible platform detected"),
)


def read(section: Section) -> Iterator[Reading]:
    """GpuNotGiven for the image, the plugin and Singularity, from the first line of each."""
    image: list[tuple[int, str]] = []
    plugin: list[tuple[int, str]] = []
    hpc: list[tuple[int, str]] = []
    for index, whole in section.matching(*_MARKERS):
        line = without_launcher(whole[:MOST_COLUMNS]).text
        text = without_stamp(line).text
        if _IMAGE.match(line) or _IMAGE.match(text):
            image.append((index, text.strip()[:300]))
        elif _HPC.match(line.strip()):
            hpc.append((index, text.strip()[:300]))
        elif _PLUGIN.match(line):
            plugin.append((index, text.strip()[:300]))
    if image:
        yield section.observe(GpuNotGiven(said_by="image", text=image[0][1], count=len(image)), image[0][0])
    if plugin:
        fact = GpuNotGiven(said_by="device-plugin", text=plugin[-1][1], count=len(plugin))
        yield section.observe(fact, plugin[0][0], plugin[-1][0])
    if hpc:
        yield section.observe(GpuNotGiven(said_by="singularity", text=hpc[0][1], count=len(hpc)), hpc[0][0])
    if image or plugin or hpc:
        yield section.looked(GpuNotGiven)


READER = Reader("gpu-not-given", read, markers=_MARKERS)
