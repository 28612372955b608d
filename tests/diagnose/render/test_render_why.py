"""Why a cause came out, and why another did not."""

from __future__ import annotations

from dataclasses import replace

import pytest
import samples

from diagnose.render.why import render_why, render_why_not


@pytest.mark.parametrize("name", ["confirmed", "likely", "hostile"])
@pytest.mark.parametrize("full", [False, True])
def test_why(name, full, printed, snapshot):
    """The proof tree, collapsed and in full."""
    diagnosis = samples.SITUATIONS[name]().diagnosis
    finding = diagnosis.findings[0]
    text = printed(lambda console: render_why(finding, console, full=full, diagnosis=diagnosis))

    snapshot(f"{name}.why{'-full' if full else ''}.txt", text)


def test_why_needs_no_diagnosis(printed):
    """Without it, symptoms go by their ids."""
    finding = samples.undecided().diagnosis.findings[1]

    assert "start-blocked (machine)" in printed(lambda console: render_why(finding, console))


def why_not(printed, cause, diagnosis):
    return printed(lambda console: render_why_not(cause, diagnosis, console))


def test_why_not_of_a_possible_cause(printed):
    """What was not looked at, and what would make it likely, with the command."""
    text = why_not(printed, samples.BLOCKED, samples.undecided().diagnosis)

    assert text == (
        "nccl.init-blocked  Communicator set-up started on all known ranks and did not\n"
        "  finish\n"
        "\n"
        "POSSIBLE  machine: 0; it would be likely from +10.\n"
        "WAS NOT LOOKED AT\n"
        "       ?  rank … wrote Init START and never Init COMPLETE              +20 if so\n"
        "          (nccl init was not looked for)\n"
        "       ?  GPU memory did not move over … samples                       +10 if so\n"
        "          (gpu memory pattern was not looked for)\n"
        "WHAT WOULD MAKE IT LIKELY  This, if it turns out so:\n"
        "     +20  rank … wrote Init START and never Init COMPLETE     test python-stacks\n"
        "            py-spy dump --pid $(pgrep -f sglang | head -1)\n"
        "          It would then stand at +20, likely from +10.\n"
    )


def test_why_not_of_a_cause_that_does_not_apply(printed):
    """Which requirement did not match, and where it was looked for."""
    diagnosis = samples.undecided().diagnosis
    looked = replace(diagnosis.looked[0], kind="peer_copy", where="p2p.txt")
    text = why_not(printed, samples.IOMMU, replace(diagnosis, looked=(looked,)))

    assert text.endswith(
        "DOES NOT APPLY  no peer copy with route peer and data wrong\n"
        "  It needs: peer copy.\n"
        "  Looked for in p2p.txt.\n"
    )


def test_why_not_of_a_cause_that_could_not_be_assessed(printed):
    """What was never looked for, and the tests that would bring it."""
    diagnosis = samples.undecided().diagnosis
    probe = samples.DRIVER_VERSIONS.model_copy(update={"covers": ("kernel_module",)})
    test = replace(diagnosis.next_tests[0], probe=probe, commands=probe.run)
    text = why_not(printed, samples.USERSPACE, replace(diagnosis, next_tests=(test,)))

    assert text.endswith(
        "NOT ASSESSED  kernel module was not looked for\n"
        "  It needs: kernel module.\n"
        "  List the driver libraries that the linker resolves:\n"
        "    ldconfig -p | grep -E 'libcuda|libnvidia-ml'\n"
        "    readlink -f /usr/lib/*/libcuda.so.1\n"
    )


def test_why_not_of_a_cause_that_came_out(printed):
    """It says so."""
    text = why_not(printed, samples.IOMMU, samples.likely().diagnosis)

    assert text.endswith("It did come out: diagnose why p2p.iommu-corruption\n")


def test_why_not_of_a_cause_that_was_ruled_out(printed):
    """What refutes it, and that nothing else counts while that holds."""
    refuted = samples.judged(samples.USERSPACE, "resolved-library-differs", "false")
    hypothesis = samples.hypothesis(samples.USERSPACE, "ruled-out", {"module": samples.MODULE}, refuted)
    diagnosis = samples.undecided().diagnosis
    finding = replace(diagnosis.weaker[0], hypothesis=hypothesis)
    text = why_not(printed, samples.USERSPACE, replace(diagnosis, weaker=(finding,)))

    assert text.endswith(
        'RULED OUT  machine: Settled: one line marked "refutes" is enough to rule it out.\n'
        "SPEAKS AGAINST IT\n"
        " refutes  not so: resolved library differs              resolved-library-differs\n"
        "WHAT WOULD MAKE IT LIKELY  Nothing, as long as what refutes it holds.\n"
    )


def test_why_not_of_a_fallback_names_the_better_answer(printed):
    """It is set aside, not wrong."""
    diagnosis = samples.confirmed().diagnosis
    aside = replace(diagnosis.findings[1], consequence_of=None, yields_to=samples.USERSPACE.cause)
    diagnosis = replace(diagnosis, findings=diagnosis.findings[:1], weaker=(aside,))
    text = why_not(printed, samples.BLOCKED, diagnosis)

    assert "It is set aside: driver.userspace-kernel-mismatch explains the same" in text
