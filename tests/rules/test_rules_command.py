"""`diagnose rules`: list, show, lint, test, schema, with rules that hold and rules that must fail."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from typer.testing import CliRunner, Result

from diagnose import rules_kit
from diagnose.rules_command import app
from diagnose.rules_page import PLAIN, what_to_do
from kb.rule import Remedy

HERE = Path(__file__).parent
GOOD = HERE / "good"
FAILING = HERE / "failing"


@pytest.fixture(autouse=True)
def _good_rules_are_shipped(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(rules_kit, "shipped_rules", lambda: GOOD)


def run(*arguments: object) -> Result:
    """The outcome of `diagnose rules` with these arguments."""
    return CliRunner().invoke(app, [str(argument) for argument in arguments])


def test_list_shows_id_status_and_title() -> None:
    """One cause a line, in order of ids."""
    result = run("list")

    assert result.exit_code == 0
    lines = result.stdout.splitlines()
    assert [line.split()[0] for line in lines] == [
        "driver.userspace-kernel-mismatch", "p2p.iommu-corruption", "state.healthy"
    ]  # fmt: skip
    assert lines[0].split()[1] == "stable"
    assert lines[2].endswith("Nothing in the evidence points to a fault")


def test_list_as_json_takes_more_rules() -> None:
    """Those of a directory are added."""
    result = run("list", "--format", "json", "--rules", FAILING)

    listed = json.loads(result.stdout)
    assert listed["schema"] == "diagnose.rules/1"
    assert next(cause["id"] for cause in listed["causes"]) == "driver.persistence-missing"
    assert listed["causes"][0]["file"] == str(FAILING / "causes/driver/persistence-missing.yaml")


def test_show_is_the_whole_cause() -> None:
    """Mechanism, clauses with weights in words, remedies, examples, references."""
    result = run("show", "driver.userspace-kernel-mismatch")

    assert result.exit_code == 0
    shown = " ".join(result.stdout.split())
    assert shown.startswith("# The user-space NVIDIA libraries are not of the driver release")
    for text in (
        "`driver.userspace-kernel-mismatch` · a fault · stable · common among machines that come to us (-10)",
        "The libraries speak only to the kernel module of exactly their own release.",
        "module: `kernel_module` with name nvidia, loaded true, version known",
        "soname libcuda.so.1 or libnvidia-ml.so.1, version not $module.version",
        "true: proves it; false: rules it out",
        "true: strong evidence for it (+20); false: says nothing",
        "true: moderate evidence against it (-10); false: says nothing",
        "unless there is - error: `nvml_error`",
        "not looked: run the probe `driver-versions`",
        "apt-get install libnvidia-compute-{module.branch}",
        "Only where - package: `package` with manager dpkg, role driver-userspace",
        "Lasting · reboots the machine · low risk · needs root",
        "Undo: none needed",
        "- no module is loaded → not-applicable",
        "- https://docs.nvidia.com/deploy/driver-persistence/index.html",
    ):
        assert text in shown


def test_commands_of_several_lines_stay_together() -> None:
    """Each line of them is indented below the remedy, so that the whole can be copied."""
    remedy = Remedy(do="Ask both", run=("for one in a b; do", "  ask $one\n\n  wait\ndone\n"), undo=(), verify="x")
    cause = rules_kit.with_shipped(None).causes["state.healthy"].model_copy(update={"remedies": (remedy,)})

    assert "\n".join(what_to_do(cause, PLAIN)).splitlines()[1:8] == [
        "1. Ask both",
        "",
        "       for one in a b; do",
        "         ask $one",
        "",
        "         wait",
        "       done",
    ]


@pytest.fixture
def deprecated(tmp_path: Path) -> Path:
    """Rules of a user with a cause that another has replaced."""
    rules = tmp_path / "mine"
    file = rules / "causes" / "acme" / "old.yaml"
    file.parent.mkdir(parents=True)
    text = (GOOD / "causes/p2p/iommu-corruption.yaml").read_text()
    gone = "status: deprecated\nreplaced_by: p2p.iommu-corruption"
    file.write_text(text.replace("p2p.iommu-corruption", "acme.old").replace("status: experimental", gone))
    return rules


def test_a_deprecated_cause_says_what_replaced_it(deprecated: Path) -> None:
    """In the list, in its JSON and on its page; and so do the others not."""
    listed = run("list", "--rules", deprecated)
    rows = json.loads(run("list", "--rules", deprecated, "--format", "json").stdout)["causes"]
    shown = run("show", "acme.old", "--rules", deprecated)

    old, *others = listed.stdout.splitlines()
    assert old.startswith("acme.old ")
    assert old.split()[1] == "deprecated"
    assert old.endswith(" (replaced by p2p.iommu-corruption)")
    assert not any("replaced" in line for line in others)
    assert [row["replaced_by"] for row in rows] == [["p2p.iommu-corruption"], [], [], []]
    assert "a fault · deprecated, replaced by `p2p.iommu-corruption` ·" in " ".join(shown.stdout.split())


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("p2p.iommu-coruption", "no cause is named `p2p.iommu-coruption`; did you mean `p2p.iommu-corruption`?"),
        ("gpu.fell-off-bus", "there is no rule for gpu.fell-off-bus yet; it means: The GPU stopped answering"),
    ],
)
def test_show_of_nothing_is_wrong_usage(name: str, message: str) -> None:
    """One line on standard error, and 2."""
    result = run("show", name)

    assert (result.exit_code, result.stdout) == (2, "")
    assert message in result.stderr
    assert result.stderr.count("\n") == 1


@pytest.mark.parametrize("command", ["lint", "test"])
def test_sound_rules_pass(command: str) -> None:
    """Standard output stays empty: there is nothing to say."""
    for paths in ((), (GOOD,), (GOOD / "causes/p2p",), (GOOD / "causes/p2p/iommu-corruption.yaml",)):
        result = run(command, *paths)
        assert (result.exit_code, result.stdout) == (0, "")


def test_lint_counts_what_was_asked_for() -> None:
    """The rules beside it are read, but not counted."""
    assert run("lint").stderr == "8 rules, no fault\n"
    assert run("lint", GOOD / "causes/p2p").stderr == "1 rule, no fault\n"


@pytest.mark.parametrize("command", ["lint", "test"])
def test_faults_are_printed_with_their_place(command: str, tmp_path: Path) -> None:
    """And the outcome is 1; examples are not run on rules that are wrong."""
    draft = tmp_path / "p2p" / "iommu-corruption.yaml"
    draft.parent.mkdir()
    text = (GOOD / "causes/p2p/iommu-corruption.yaml").read_text()
    draft.write_text(text.replace("prior: uncommon", "prior: seldom").replace("weight: weak", "weight: feeble"))

    result = run(command, draft)

    assert result.exit_code == 1
    assert [line.split(" ")[0] for line in result.stdout.splitlines()] == [f"{draft}:4:8:", f"{draft}:20:13:"]
    assert result.stderr == "2 faults in 1 file\n"


def test_a_path_that_is_not_there_is_wrong_usage() -> None:
    """One line on standard error, and 2."""
    result = run("lint", "nowhere")

    assert (result.exit_code, result.stdout) == (2, "")
    assert result.stderr == "nowhere: no such rule file or directory\n"


def test_failing_examples_are_told_from_those_that_hold() -> None:
    """Each failure has its name, what was expected, what came, and the ledger."""
    result = run("test", FAILING)

    assert result.exit_code == 1
    assert result.stderr == "5 examples of 1 cause, 4 failed\n"
    assert result.stdout.splitlines() == [
        "FAILED driver.persistence-missing: too little to be likely",
        "  expected likely, got unlikely",
        "  ledger:",
        "   -30  prior: rare",
        "   +10  tool-refuses (for) is true: nvtop says that NVML fails",
        "   -20  sum, about machine",
        "FAILED driver.persistence-missing: nothing was looked for",
        "  expected not-applicable, got not-assessed",
        "  ledger:",
        "  not looked: kernel_module was not looked for",
        "FAILED driver.persistence-missing: the right verdict with the wrong words",
        "  expected the ledger to say `nvidia-smi says`",
        "  ledger:",
        "   -30  prior: rare",
        "   +10  tool-refuses (for) is true: nvtop says that NVML fails",
        "   -20  sum, about machine",
        "FAILED driver.persistence-missing: the right verdict without the probe",
        "  expected it to ask for look-at-the-tool, it asks for nothing",
        "  ledger:",
        "   -30  prior: rare",
        "   +10  tool-refuses (for) is true: nvtop says that NVML fails",
        "   -20  sum, about machine",
    ]


def test_schema_is_json() -> None:
    """The result is on standard output, and it alone."""
    result = run("schema")

    assert result.exit_code == 0
    assert json.loads(result.stdout)["title"].startswith("A rule of diagnose")
