"""Catalogues: numbers that NVIDIA gave to errors, as tables with the source and date of each row.

`xid.csv`: Xids 1 to 176. A number that was given a new meaning has a row for each stretch of driver branches
(`since`, `until`). Sources: `header`, src/common/sdk/nvidia/inc/nverror.h of NVIDIA/open-gpu-kernel-modules 515 to
595; `catalog`, the Xid catalogue in NVIDIA's documentation, which also gives the first remedy. Titles, layers,
roles and groups are ours. `xid_nvlink5.csv`: the decode of Xid 144 to 150 from the same catalogue. `sxid.csv`:
NVSwitch errors from src/common/nvswitch/interface/ctrl_dev_nvswitch.h, and which of them the Fabric Manager guide
names.
`gpu_products.csv`: ranges of PCI device ids of NVIDIA GPUs, the chips in them, and what drivers they take: `since`
and `until` are the first and the last driver branch, empty where there is no bound that matters. Compared with
pci.ids of 2026-08-22 and with the lists of supported GPUs in open-gpu-kernel-modules 515 to 595: each id there
falls into a row that says the same.
`cuda_toolkits.csv`: for each CUDA toolkit the driver of its release on Linux (`driver`), the oldest one that still
serves it by minor-version compatibility (`floor`; what needs a newer driver, PTX for instance, fails), and the
driver branches that its cuda-compat package is made for (`forward`). Sources: `table`, release notes of the
toolkits; `installer`, the driver in the name of its Linux installer; `manifest`, NVIDIA's redist manifest of the
driver, which names the CUDA of its cuda-compat; `packager`, a distribution that ships the two together; floors
from NVIDIA's guide on CUDA compatibility; `forward` from NVIDIA_REQUIRE_CUDA in NVIDIA's CUDA images.
`cuda_floors.csv`: the oldest driver for toolkits before 11, of which each needs its own driver; from
the table of NVIDIA's release notes, of two releases of one number the older.
`gpu_models.csv`: product names of GPUs (kb/gpu_models.py): architecture, compute capability, market, board.
`gpu_capabilities.csv`, `torch_builds.csv`: what CUDA, NCCL and PyTorch have machine code for (kb/gpu_code.py).
`driver_companions.csv`, `container_toolkits.csv`: kb/releases.py.
"""

import csv
from functools import cache
from importlib.resources import files
from typing import Any, Literal, NamedTuple, TypeAlias, cast

XidLayer: TypeAlias = Literal[
    "application", "driver", "engine", "video", "display", "memory", "firmware", "nvlink", "pcie", "c2c", "power",
    "security", "virtualization", "other",
]  # fmt: skip
XidRole: TypeAlias = Literal["root", "consequence", "information"]
XidAction: TypeAlias = Literal[
    "ignore", "restart-app", "reset-gpu", "reboot-node", "restart-vm", "check-fabric", "check-mechanics",
    "update-software", "contact-support", "ecc-flow", "follow-other", "follow-text", "decode",
]  # fmt: skip
XidGroup: TypeAlias = Literal[
    "program", "memory", "remap", "remap-failed", "gsp", "nvlink", "off-bus", "pcie", "power", "hardware",
    "engine", "confidential", "virtual", "other",
]  # fmt: skip
NvlinkAction: TypeAlias = Literal["ignore", "reset-gpu", "see-xid-154"]
NvlinkInspect: TypeAlias = Literal["link", "peer", "software", "support", "nothing"]

OpenModule: TypeAlias = Literal["required", "supported", "unsupported"]

_SUBUNIT_SHIFT, _SUBUNIT_MASK = 20, 0x3F
"""Where the first word of an NVLink 5 error holds the number of the sub-unit."""


class XidRow(NamedTuple):
    """One meaning of one Xid."""

    code: int
    name: str
    """The driver's symbol without its prefix."""
    layer: XidLayer
    role: XidRole
    """`root`: it can explain others; `consequence`: it follows others; `information`: it is no error by itself."""
    action: XidAction | None
    """NVIDIA's first remedy; None where the catalogue gives none."""
    group: XidGroup | None
    """What kind of trouble it is, so that a rule needs no list of numbers; None for a mere consequence."""
    title: str
    since: int = 0
    until: int = 1_000_000


class NvlinkRow(NamedTuple):
    """One row of the NVLink 5 decode."""

    action: NvlinkAction
    inspect: NvlinkInspect


class SxidRow(NamedTuple):
    """One NVSwitch error."""

    code: int
    name: str
    documented: str | None


class ProductRow(NamedTuple):
    """A range of PCI device ids, and what holds for the GPUs in it."""

    first: int
    last: int
    chips: tuple[str, ...]
    """How the names of its chips begin in pci.ids; empty where another row of the architecture tells."""
    architecture: str
    gsp: bool
    """They have a GPU System Processor."""
    open_module: OpenModule
    since: int | None
    """The first driver branch that knows them."""
    until: int | None
    """The last driver branch that drives them."""


class ToolkitRow(NamedTuple):
    """A CUDA toolkit and the drivers on which its programs run."""

    cuda: str
    driver: str
    """Of its own release: from it on, all of its features work."""
    floor: str
    """From it on, programs start, by minor-version compatibility."""
    forward: tuple[int, ...] = ()
    """Driver branches that its cuda-compat package is made for; empty where that is not known."""


def rows(name: str) -> list[dict[str, str]]:
    """The rows of a catalogue that is a table, `xid.csv`, by the names of its columns."""
    with files(__name__).joinpath(name).open(encoding="utf-8") as table:
        return list(csv.DictReader(table))


def entries(name: str) -> dict[str, Any]:
    """The entries of a catalogue in YAML, `harmless.yaml`, by id. Raises RuleErrors where it can't be read."""
    from kb.errors import RuleErrors  # YAML is slow to import, and most catalogues are tables
    from kb.strict_yaml import read_yaml

    file = files(__name__) / name
    document, errors = read_yaml(file.read_text(encoding="utf-8"), str(file))
    if document is None or errors:
        raise RuleErrors(errors)
    found: dict[str, Any] = next(iter(document.value.values()))
    return found


@cache
def _xids() -> dict[int, list[XidRow]]:
    meanings: dict[int, list[XidRow]] = {}
    for row in rows("xid.csv"):
        parts: dict[str, Any] = {
            "code": int(row["code"]),
            "action": row["action"] or None,
            "group": row["group"] or None,
            **{key: row[key] for key in ("name", "layer", "role", "title")},
            **{key: int(row[key]) for key in ("since", "until") if row[key]},
        }
        meanings.setdefault(parts["code"], []).append(XidRow(**parts))
    return meanings


def xid_row(code: int, branch: int | None = None) -> XidRow | None:
    """The meaning of an Xid in a driver branch, 580; without one the newest. None for a number not known."""
    rows = _xids().get(code, [])
    if branch is not None:
        rows = [row for row in rows if row.since <= branch <= row.until] or rows
    return rows[-1] if rows else None


@cache
def _nvlink() -> dict[tuple[int, str, int, int], NvlinkRow]:
    return {
        (int(row["code"]), row["unit"], int(row["status"], 16), int(row["subunit"])): NvlinkRow(
            cast("NvlinkAction", row["action"]), cast("NvlinkInspect", row["inspect"])
        )
        for row in rows("xid_nvlink5.csv")
    }


def nvlink_row(code: int, unit: str, info: int, status: int) -> NvlinkRow | None:
    """The catalogue's row on an NVLink 5 error by the first two words in its brackets."""
    return _nvlink().get((code, unit, status, info >> _SUBUNIT_SHIFT & _SUBUNIT_MASK))


@cache
def _sxids() -> dict[int, SxidRow]:
    return {
        int(row["code"]): SxidRow(int(row["code"]), row["name"], row["documented"] or None)
        for row in rows("sxid.csv")
    }


def sxid_row(code: int) -> SxidRow | None:
    """What is known of an SXid; None for a number not known."""
    return _sxids().get(code)


@cache
def _products() -> tuple[ProductRow, ...]:
    return tuple(
        ProductRow(
            int(row["first"], 16),
            int(row["last"], 16),
            tuple(row["chip"].split(";")) if row["chip"] else (),
            row["architecture"],
            row["gsp"] == "yes",
            cast("OpenModule", row["open_module"]),
            int(row["since"]) if row["since"] else None,
            int(row["until"]) if row["until"] else None,
        )
        for row in rows("gpu_products.csv")
    )


def product_by_id(device_id: str) -> ProductRow | None:
    """What holds for the GPU of a PCI device id, `2330`; None for one that is in no known range."""
    number = int(device_id, 16)
    return next((row for row in _products() if row.first <= number <= row.last), None)


def product_by_chip(chip: str) -> ProductRow | None:
    """What holds for a chip as pci.ids names it, `GP104GL`; None for one that is not known."""
    return next((row for row in _products() if any(chip.startswith(begin) for begin in row.chips)), None)


@cache
def _toolkits() -> dict[str, ToolkitRow]:
    return {
        row["cuda"]: ToolkitRow(
            row["cuda"], row["driver"], row["floor"], tuple(int(one) for one in row["forward"].split("; ") if one)
        )
        for row in rows("cuda_toolkits.csv")
    }


def toolkit_row(cuda: str) -> ToolkitRow | None:
    """What a CUDA toolkit asks of the driver, by its version to the minor number; None for one not known."""
    return _toolkits().get(".".join(cuda.split(".")[:2]))


@cache
def _early_floors() -> dict[str, str]:
    return {row["cuda"]: row["floor"] for row in rows("cuda_floors.csv")}


def toolkit_floor(cuda: str) -> str | None:
    """The oldest driver on which programs of a CUDA start, by its major release where the minor one is unknown."""
    row = toolkit_row(cuda)
    if row is None and (floor := _early_floors().get(".".join(cuda.split(".")[:2]))) is not None:
        return floor
    major = cuda.split(".", maxsplit=1)[0]
    newest = [one for one in _toolkits().values() if one.cuda.split(".")[0] == major][-1:]
    return row.floor if row else newest[0].floor if newest else None


def toolkit_of_branch(branch: int) -> ToolkitRow | None:
    """The CUDA toolkit that came with a driver branch, 570; None where none did."""
    return next((row for row in _toolkits().values() if row.driver.split(".")[0] == str(branch)), None)
