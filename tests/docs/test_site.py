"""The site: a page for every cause and fact kind, with what their sources say, and no link that leads nowhere."""

from __future__ import annotations

import re
from functools import cache
from pathlib import Path

import pytest

from diagnose.codes_coverage import Code
from generator.cause_pages import FAMILIES
from generator.code_pages import CLASSES, names_of, words_of
from generator.links import broken_links
from generator.messages import Lead, causes_of, leads, of_each_meaning
from generator.samples import Sample, golden_samples, most_telling
from generator.site import reference_pages, site_pages, written_pages
from kb.facts import fact_types, family_of
from kb.fieldtypes import field_types
from kb.load import load_rules, shipped_rules
from kb.nccl_warnings import class_rows
from kb.rule import Cause, RuleBase

ROOT = Path(__file__).parents[2]
CODES = (
    Code("xid", "79", "GPU_HAS_FALLEN_OFF_THE_BUS", ("gpu.fell-off-bus",), ""),
    Code("nccl", "peer-closed", "socketProgress: Connection closed by remote peer %s", ("nccl.rank-crashed",), ""),
    Code("cuda", "cuda 802", "cudaErrorSystemNotReady", ("platform.fabric-manager-down",), ""),
)
"""A few: what each code of the catalogues leads to is tried by `rules coverage`, which takes a while."""
LAST_OF_A_LOG = "j:7:40 [0] NCCL INFO comm 0x55a1 rank 0 nRanks 4 nNodes 4 localRanks 1 localRank 0 MNNVL 0"
"""It makes `nccl.init-blocked` possible, a fallback: that nothing follows is no message."""
BUS = "[ 8123.1] NVRM: Xid (PCI:0000:41:00): 79, pid='<unknown>', GPU has fallen off the bus."


@cache
def base() -> RuleBase:
    return load_rules(shipped_rules())


@cache
def samples() -> list[Sample]:
    return golden_samples(ROOT / "tests" / "readers")


def lead(text: str, *causes: str, command: str | None = None) -> Lead:
    """A line that leads to these causes."""
    return Lead(Sample("xid", "by-hand", "logged_xid", {"code": 79}, text, command), causes)


@cache
def pages() -> dict[str, str]:
    """All pages, with a few codes and lines that lead to causes."""
    found = [
        lead(BUS, "gpu.fell-off-bus"),
        lead("a | b\n c", "p2p.acs-redirect", "gpu.fell-off-bus", command="lspci"),
    ]
    return site_pages(base(), samples(), CODES, found)


def words(path: str) -> str:
    """A page in one line."""
    return " ".join(pages()[path].split())


def test_no_link_leads_nowhere():
    """From any page to any other, with anchors; `make docs` checks the same once more."""
    assert broken_links(pages()) == []


def test_no_page_of_the_reference_takes_the_place_of_a_written_one():
    reference = reference_pages(base(), samples(), CODES, [])

    assert reference.keys() & written_pages().keys() == set()
    assert reference.keys() | written_pages().keys() == pages().keys()


def test_every_page_is_in_the_contents():
    """Reached from the first page by what the navigation shows."""
    reached, waiting = {"index.md"}, ["index.md"]
    while waiting:
        page = waiting.pop()
        for entry in re.findall(r"^[^<\n]+ <([^>\n]+)>$", "".join(contents_of(pages()[page])), re.MULTILINE):
            path = str(Path(page).parent / f"{entry}.md")
            if path not in reached:
                reached.add(path)
                waiting.append(path)

    assert reached == set(pages())


def contents_of(text: str) -> list[str]:
    return re.findall(r"^```\{toctree\}\n(.*?)^```$", text, re.MULTILINE | re.DOTALL)


def test_every_page_has_one_title():
    """It is what the navigation, the search and search engines show."""
    prose = {
        path: re.sub(r"^ *(`{3,}).*?^ *\1`*$", "", text, flags=re.MULTILINE | re.DOTALL)
        for path, text in pages().items()
    }

    assert [path for path, text in prose.items() if len(re.findall(r"^# .", text, re.MULTILINE)) != 1] == []


@pytest.mark.parametrize("cause", base().causes.values(), ids=lambda one: one.cause)
def test_every_cause_has_a_page_with_its_remedies_and_clauses(cause: Cause):
    """And each command of a remedy stands on it as it is to be run."""
    path = f"causes/{cause.cause.replace('.', '/')}.md"
    text = pages()[path]
    commands = [line for remedy in cause.remedies for one in remedy.run for line in one.rstrip("\n").split("\n")]

    assert f"`{cause.cause}` · " in text
    assert [line for line in commands if line and f"\n       {line}\n" not in text] == []
    assert [one.name for one in cause.clauses if f"\n### {one.name}\n" not in text] == []
    assert [one for one in cause.references if one.startswith("http") and f"- <{one}>\n" not in text] == []
    assert f"[{cause.cause.split('.')[1]}](" not in text
    assert f"({Path(path).name})" in pages()[f"causes/{cause.cause.split('.')[0]}/index.md"]


def test_the_page_of_a_cause_shows_what_leads_there_and_what_to_do():
    """One page in full: its lines and codes, the symptoms with their links, remedies, the facts that tell it."""
    text = words("causes/gpu/fell-off-bus.md")

    assert "```{index} !gpu.fell-off-bus, !Xid 79 ``` # A GPU stopped answering on the PCIe bus" in text
    assert "Explains [`gpu-error-logged`](../../symptoms.md#gpu-error-logged)," in text
    assert f"## Lines that lead here Each of these alone makes the cause at least possible. - `{BUS}`" in text
    assert r"- `a | b`<br>`c` (printed by `lspci`)" in text
    assert "[Xids](../../messages/xid.md): - Xid 79 (`GPU_HAS_FALLEN_OFF_THE_BUS`)" in text
    assert "## What to do 1. " in text
    assert "is told by facts of the kinds" in text
    assert "[`lost_gpu`](../../facts/gpu_trouble.md#lost_gpu)" in text


@pytest.mark.parametrize("kind", fact_types())
def test_every_fact_kind_is_explained(kind: str):
    """Each field with its type, who makes it, and a line that it is read from; what is combined may have none."""
    text = pages()[f"facts/{family_of(kind)}.md"]
    section = text.split(f"\n## `{kind}`\n", 1)[1].split("\n## `", 1)[0]

    assert [name for name in field_types(kind) if f"| `{name}` | " not in section] == []
    assert re.search(r"^- (read|combined) by `|^- added by reasoning", section, re.MULTILINE)
    assert "\nFor instance" in section or not any(one.kind == kind for one in samples())
    assert f"[`{kind}`]({family_of(kind)}.md#{kind})" in pages()["facts/index.md"]


def test_a_fact_kind_in_full():
    """Types, units, choices, sources, the sample and the rules that ask for it."""
    section = words("facts/iommu.md").split("## `iommu_group`", 1)[1].split(" ## `")[0]
    fault = words("facts/iommu.md").split("## `gpu_dma_fault`", 1)[1].split(" ## `")[0]

    assert "| `bdf` | a PCI address | |" in section
    assert "| `domain` | `identity`, `DMA`, `DMA-FQ`, `other`; always known | |" in section
    assert "For instance `group: " in section
    assert "- read by `iommu-groups`: " in section
    assert "- brought by the test [`iommu-groups`](../next-tests.md#iommu-groups)" in section
    assert "[`p2p.iommu-corruption`](../causes/p2p/iommu-corruption.md)" in section
    assert "| `first_s` | a number: seconds | |" in fault
    assert "| `route` | `peer`, `staged`; by default `peer` |" in words("facts/p2p.md")
    assert "```yaml - gpu_dma_fault: {bdf: " in fault
    assert "- combined by `peers`: " in fault


def test_a_symptom_lists_its_causes_the_frequent_first():
    """Fallbacks come last, each with the word for it."""
    section = pages()["symptoms.md"].split("\n## `ranks-wait`", 1)[1].split("\n## `")[0]
    rows = re.findall(r"<br>`([a-z0-9.-]+)` \| (common|uncommon|rare) \| (.*) \|$", section, re.MULTILINE)
    ranked = [(bool(note), ["common", "uncommon", "rare"].index(prior), name) for name, prior, note in rows]

    assert len(rows) > 20
    assert ranked == sorted(ranked)
    assert ("nccl.rank-crashed", "common", "only where nothing better explains it") in rows
    assert "error: [`process_error`](facts/framework.md#process_error) with consequence true" in section


def test_codes_lead_to_causes():
    """Those that were tried; the others are explained by their class, group or row."""
    assert "| Xid 79<br>`GPU_HAS_FALLEN_OFF_THE_BUS` |" in pages()["messages/xid.md"]
    assert "[`gpu.fell-off-bus`](../causes/gpu/fell-off-bus.md) |" in pages()["messages/xid.md"]
    assert "Leads to [`nccl.rank-crashed`](../causes/nccl/rank-crashed.md). |" in pages()["messages/nccl.md"]
    assert "| CUDA 802<br>`cudaErrorSystemNotReady` |" in pages()["messages/cuda.md"]
    assert "[`platform.fabric-manager-down`](../causes/platform/" in pages()["messages/cuda.md"]


def test_every_class_of_warnings_has_a_title():
    assert set(CLASSES) == set(class_rows())


def test_every_family_of_causes_has_a_title():
    assert {name.split(".")[0] for name in base().causes} == set(FAMILIES)


@pytest.mark.parametrize(
    ("number", "said", "names"),
    [
        (0, "Xid 79 (`GPU_HAS_FALLEN_OFF_THE_BUS`)", ["Xid 79"]),
        (1, "`socketProgress: Connection closed by remote peer %s`", []),
        (2, "cuda 802: `cudaErrorSystemNotReady`", ["cudaErrorSystemNotReady"]),
    ],
)
def test_a_code_is_named_as_people_search_for_it(number: int, said: str, names: list[str]):
    assert words_of(CODES[number]) == said
    assert names_of(CODES[number]) == names


@pytest.mark.parametrize(
    ("text", "causes"),
    [
        (BUS, ("gpu.fell-off-bus",)),
        ("OSError: [Errno 98] Address already in use", ("net.port-conflict",)),
        ("a17:1:1 [0] init.cc:9 NCCL INFO Init COMPLETE", ()),
        (
            "$ nvidia-smi\nFailed to initialize NVML: Driver/library version mismatch",
            ("driver.userspace-kernel-mismatch",),
        ),
        ("nothing that anybody reads", ()),
        (LAST_OF_A_LOG, ()),
    ],
)
def test_a_line_is_tried_alone(text: str, causes: tuple[str, ...]):
    """What stands on the pages is what a diagnosis of that line comes to."""
    assert causes_of(base(), text) == causes


def test_of_lines_that_mean_the_same_the_shortest_is_shown():
    """Without what spoils a text, and what is too long to be a message."""
    short, long = "NVRM: Xid (PCI:0000:41:00): 79, gone", "[1.0] NVRM: Xid (PCI:0000:41:00): 79, GPU has gone"
    shown = [lead(one).sample for one in (long, short, "x\n" * 9)]
    torn = Sample("xid", "torn-lines", "logged_xid", {"code": 79}, "Xid 79", None)
    other = Sample("xid", "another-number", "logged_xid", {"code": 31}, long, None)

    assert [(one.text, one.fields["code"]) for one in of_each_meaning([*shown, torn, other])] == [
        (short, 79),
        (long, 31),
    ]


def test_only_lines_that_lead_somewhere_are_listed():
    nothing = Sample("xid", "by-hand", "logged_xid", {"code": 80}, "nothing at all", None)
    found = leads(base(), [lead(BUS).sample, nothing])

    assert [(one.sample.text, one.causes) for one in found] == [(BUS, ("gpu.fell-off-bus",))]
    assert f"- `{BUS}`" in pages()["messages/logs.md"]
    assert "## Copies between GPUs" in pages()["messages/logs.md"]


def test_a_command_is_named_where_a_line_needs_it():
    """A transcript begins with one, which need not have printed every line of it."""
    text = "Failed to initialize NVML: Driver/library version mismatch"
    plain = Sample("nvml-error", "by-hand", "nvml_error", {}, text, "nvidia-smi")
    bare = Sample("driver-teardown", "by-hand", "driver_teardown", {}, "real\t0m31.204s", "time nvidia-smi -L")

    assert [(one.sample.text, one.sample.command, one.causes[0]) for one in leads(base(), [plain, bare])] == [
        (plain.text, None, "driver.userspace-kernel-mismatch"),
        (bare.text, "time nvidia-smi -L", "driver.persistence-missing"),
    ]


def test_a_sample_shows_the_values_that_were_read():
    """Before one that merely has more of them, and before one that is spoilt."""
    told = Sample("a", "one", "gpu", {"index": 3, "name": "H100"}, "GPU 3: NVIDIA H100", None)
    silent = Sample("a", "two", "gpu", {"index": 3, "name": "H100", "uuid": "GPU-1"}, "<gpu>", None)
    torn = Sample("a", "torn", "gpu", told.fields | silent.fields, "GPU 3: H100 GPU-1", None)

    assert most_telling([silent, torn, told]) is told
    assert most_telling([]) is None


def test_the_first_page_leads_to_all_kinds_of_pages():
    """What stands for the reference in the written page is put in its place."""
    text = pages()["index.md"]

    assert "<!-- reference -->" not in text
    for page in ("messages/index.md", "symptoms.md", "causes/index.md", "next-tests.md", "facts/index.md"):
        assert re.search(rf"^- \[.*\]\({re.escape(page)}\): ", text, re.MULTILINE)


def test_every_test_says_what_to_run_and_what_it_brings():
    text = words("next-tests.md")

    assert [one.id for one in base().probes.values() if f"## `{one.id}` **" not in text] == []
    assert "Brings [`iommu_group`](facts/iommu.md#iommu_group)." in text
    assert "Asked for by" in text


def test_what_is_harmless_and_what_is_a_known_defect_can_be_looked_up():
    assert "| `No plugin found (libnccl-net`<br>" in pages()["messages/harmless.md"]
    assert "<https://github.com/NVIDIA/nccl/issues/1251> |" in pages()["messages/defects.md"]
    assert "deepspeed before 0.14.1 |" in pages()["messages/defects.md"]
