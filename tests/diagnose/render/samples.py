"""Five situations built by hand: confirmed fault, likely fault, nothing decided, healthy machine, hostile text.

The ledgers are written out, not computed: the renderers show what they are given.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from diagnose.render.report import Input, Report, Stats
from engine.result import (
    Contradiction,
    Diagnosis,
    Finding,
    Hypothesis,
    LedgerLine,
    NextTest,
    RemedyOffer,
    Rival,
    SymptomSeen,
)
from kb.evidence import Looked, Observed, Source, Unread
from kb.facts import Fact
from kb.facts.conclusion import Outcome, Symptom
from kb.facts.driver import KernelModule, NvmlError, ResolvedLibrary
from kb.facts.iommu import IommuFault
from kb.facts.p2p import PeerCopy
from kb.rule import DECIBANS, PRIORS, Cause, Probe, SymptomRule

SHA = "9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08"


def read(fact: Fact, path: str, line: int, text: str, *, end: int | None = None) -> Observed:
    """A fact read from lines of a file."""
    return Observed(fact, Source(path, line, end or line, text, SHA))


def combined(fact: Fact, *basis: Observed) -> Observed:
    """A fact combined from others."""
    return Observed(fact, basis[0].source, basis)


def clause(name: str, when: dict[str, Any], weight: str, says: str, **more: Any) -> dict[str, Any]:
    """A clause of a cause, as YAML would give it."""
    return {name: {"when": when, "weight": weight, "says": says, **more}}


MODULE = read(
    KernelModule(version="590.48.01", flavour="open", reported_by="procfs"),
    "proc_driver_nvidia_version.txt",
    1,
    "NVRM version: NVIDIA UNIX Open Kernel Module for x86_64  590.48.01  Release Build"
    "  (dvs-builder@U22-I3-AE18-23-3)  Mon Dec  8 13:05:00 UTC 2025",
)
CUDA_LINKED = read(
    ResolvedLibrary(soname="libcuda.so.1", path="/lib/x86_64-linux-gnu/libcuda.so.1"),
    "ldconfig.txt",
    3,
    "\tlibcuda.so.1 (libc6,x86-64) => /lib/x86_64-linux-gnu/libcuda.so.1",
)
CUDA_FILE = read(
    ResolvedLibrary(
        soname="libcuda.so.1", path="/usr/lib/x86_64-linux-gnu/libcuda.so.565.57.01", version="565.57.01"
    ),
    "libs.txt",
    9,
    "/usr/lib/x86_64-linux-gnu/libcuda.so.565.57.01",
)
LIBRARY = combined(CUDA_FILE.fact, CUDA_LINKED, CUDA_FILE)
MISMATCH = read(
    NvmlError(problem="version-mismatch", tool="nvidia-smi"),
    "server.log",
    41,
    "Failed to initialize NVML: Driver/library version mismatch",
)
CUDA_FAILS = combined(Symptom(id="cuda-init-fails", about="machine"), MISMATCH)

USERSPACE = Cause.model_validate({
    "cause": "driver.userspace-kernel-mismatch",
    "title": "The user-space NVIDIA libraries are not of the driver release that the kernel has loaded",
    "status": "stable",
    "prior": "common",
    "explains": ["cuda-init-fails", "start-blocked"],
    "leads_to": ["nccl.init-blocked"],
    "because": "The libraries speak only to the kernel module of exactly their own release.",
    "requires": {"module": {"kernel_module": {"name": "nvidia", "loaded": True}}},
    "for": {
        **clause(
            "resolved-library-differs",
            {"library": {"resolved_library": {"soname": ["libcuda.so.1"], "version": {"not": "$module.version"}}}},
            "conclusive",
            "{library.path} is {library.version}, the loaded module is {module.version}",
            otherwise="conclusive",
            ask="driver-versions",
        ),
        **clause(
            "nvml-says-so",
            {"error": {"nvml_error": {"problem": "version-mismatch"}}},
            "strong",
            "{error.tool} itself reports the mismatch",
            ask="nvidia-smi",
        ),
    },
    "against": clause(
        "cuda-works",
        {"copy": {"peer_copy": {"data": "right"}}},
        "strong",
        "a copy between GPUs worked",
        ask="peer-copy",
    ),
    "remedies": [
        {
            "do": "Install the user-space packages of release {module.version} and remove the others.",
            "run": ["apt-get install libnvidia-compute-590 nvidia-utils-590", "apt-get purge '*-565'", "ldconfig"],
            "disrupts": "process",
            "undo": ["apt-get install libnvidia-compute-565 nvidia-utils-565"],
            "verify": "resolved-library-differs",
            "check": ["nvidia-smi"],
            "expect": "nvidia-smi prints its table, and its two versions are equal",
        },
        {
            "do": "Boot the kernel module that matches the installed libraries.",
            "run": ["apt-get install nvidia-dkms-565", "systemctl reboot"],
            "disrupts": "reboot",
            "risk": "medium",
            "undo": ["apt-get install nvidia-dkms-590, then reboot"],
            "verify": "resolved-library-differs",
            "caution": "Every job on this machine ends.",
        },
    ],
    "references": ["https://docs.nvidia.com/deploy/cuda-compatibility/"],
})  # fmt: skip


def offer(cause: Cause, number: int) -> RemedyOffer:
    """A remedy as the advice would make it, with the version filled in."""
    remedy = cause.remedies[number]
    do, expect = (text.replace("{module.version}", "590.48.01") for text in (remedy.do, remedy.expect))
    return RemedyOffer(remedy, do, remedy.run, remedy.undo, remedy.check, expect, remedy.costs, remedy.caution)


def judged(
    cause: Cause, name: str, truth: str, says: str = "", evidence: tuple[Observed, ...] = (), **more: Any
) -> LedgerLine:
    """A clause of a cause, judged: its decibans follow from its weights."""
    one = next(clause for clause in cause.clauses if clause.name == name)
    side = "for" if one in cause.for_ else "against"
    weight = {"true": one.weight, "false": one.otherwise, "unknown": None}[truth]
    sign = (1 if side == "for" else -1) * (1 if truth == "true" else -1)
    size = {"conclusive": 40, None: 0}.get(weight, DECIBANS.get(str(weight), 0))
    could = sum({"conclusive": 40, None: 0}.get(w, DECIBANS.get(str(w), 0)) for w in (one.weight, one.otherwise))
    return LedgerLine(
        clause=name,
        side=side,
        truth=truth,
        decibans=sign * size,
        conclusive=weight == "conclusive",
        says=says or one.says,
        evidence=evidence,
        ask=one.ask if truth == "unknown" else None,
        could_add=could if truth == "unknown" else 0,
        **more,
    )


def hypothesis(
    cause: Cause, verdict: str, bindings: dict[str, Observed], *ledger: LedgerLine, about: str = "machine"
) -> Hypothesis:
    """A cause proposed, with its ledger added up."""
    prior = PRIORS[cause.prior]
    return Hypothesis(
        cause, about, bindings, ledger, prior, prior + sum(line.decibans for line in ledger), verdict
    )


DRIVER_VERSIONS = Probe(
    id="driver-versions",
    title="List the driver libraries that the linker resolves",
    run=("ldconfig -p | grep -E 'libcuda|libnvidia-ml'", "readlink -f /usr/lib/*/libcuda.so.1"),
    covers=("resolved_library",),
    gives="A version other than that of the loaded module confirms the mismatch.",
    seconds=1,
)
PEER_COPY = Probe(
    id="peer-copy",
    title="Copy between each pair of GPUs and compare the data",
    run=("diagnose probe peer-copy --all-pairs",),
    covers=("peer_copy",),
    gives="Wrong data on a peer copy and right data on a staged one point to the path, not to the memory.",
    disrupts="process",
    seconds=45,
)
KERNEL_LOG = Probe(
    id="kernel-log",
    title="Read the kernel log since boot",
    run=("dmesg --color=never > dmesg.txt",),
    covers=("iommu_fault",),
    gives="Page faults that name a GPU mean that its DMA was refused.",
    seconds=1,
    root=True,
)
IOMMU_GROUPS = Probe(
    id="iommu-groups",
    title="Read the domain type of each GPU's IOMMU group",
    run=("grep -H . /sys/kernel/iommu_groups/*/type",),
    covers=("iommu_group",),
    gives="DMA or DMA-FQ means that addresses are translated; identity rules it out.",
    seconds=1,
)
PY_STACKS = Probe(
    id="python-stacks",
    title="Take the Python stacks of all ranks",
    run=("py-spy dump --pid $(pgrep -f sglang | head -1)",),
    covers=("nccl_init",),
    gives="All ranks in ncclCommInitRank: the set-up blocks; one rank elsewhere: look at that rank.",
    seconds=10,
    root=True,
)
PROBES = {probe.id: probe for probe in (DRIVER_VERSIONS, PEER_COPY, KERNEL_LOG, IOMMU_GROUPS, PY_STACKS)}


def symptom(name: str, title: str, *evidence: Observed, explained_by: tuple[str, ...] = ()) -> SymptomSeen:
    """A symptom seen on the machine."""
    rule = SymptomRule.model_validate({
        "symptom": name, "title": title, "when": {"any": {"nvml_error": None}}, "says": title,
    })  # fmt: skip
    return SymptomSeen(rule, "machine", title, evidence, explained_by)


BLOCKED = Cause.model_validate({
    "cause": "nccl.init-blocked",
    "title": "Communicator set-up started on all known ranks and did not finish",
    "status": "stable",
    "prior": "common",
    "fallback": True,
    "explains": ["start-blocked"],
    "because": "Every rank waits in ncclCommInitRank.",
    "requires": {"blocked": {"symptom": {"id": "start-blocked"}}},
    "for": {
        **clause(
            "init-not-complete",
            {"init": {"nccl_init": {"state": "started"}}},
            "strong",
            "rank {init.rank} wrote Init START and never Init COMPLETE",
            ask="python-stacks",
        ),
        **clause(
            "all-ranks-began",
            {"begin": {"start_milestone": {"milestone": "torch-distributed-init"}}},
            "moderate",
            "all known ranks began to set up torch.distributed",
        ),
        **clause(
            "memory-is-flat",
            {"trend": {"gpu_memory_pattern": {"pattern": "all-flat"}}},
            "moderate",
            "GPU memory did not move over {trend.samples} samples",
            ask="gpu-memory",
        ),
    },
    "references": ["https://docs.nvidia.com/deeplearning/nccl/"],
})  # fmt: skip
BEGIN = read(
    NvmlError(problem="unknown-error", tool="sglang"),
    "server.log",
    7,
    "[2026-03-09 12:20:21 TP0] Init torch distributed begin.",
)
FLAT = read(NvmlError(problem="unknown-error"), "gpu_memory_samples.txt", 2, "0, 1125 MiB, 97887 MiB")
START_BLOCKED = combined(Symptom(id="start-blocked", about="machine"), BEGIN)


@dataclass
class _Case:
    findings: tuple[Finding, ...] = ()
    symptoms: tuple[SymptomSeen, ...] = ()
    weaker: tuple[Finding, ...] = ()
    next_tests: tuple[NextTest, ...] = ()
    contradictions: tuple[Contradiction, ...] = ()
    observed: tuple[Observed, ...] = ()
    looked: tuple[Looked, ...] = ()
    unread: tuple[Unread, ...] = ()
    not_applicable: dict[str, str] = field(default_factory=dict)

    def report(self) -> Report:
        diagnosis = Diagnosis(
            self.symptoms, self.findings, self.weaker, self.next_tests, self.contradictions,
            self.observed, self.looked, self.unread, "plain", 37, self.not_applicable,
        )  # fmt: skip
        inputs = (Input("evidence", "directory", 9, 5108, "a17"),)
        return Report(diagnosis, inputs, "0.1.0", Stats(0.2345, 5108, 64, 37, 61.25, "plain"), PROBES)


def confirmed() -> Report:
    """A confirmed fault with two remedies, a consequence, a contradiction and a gap."""
    mismatch = hypothesis(
        USERSPACE,
        "confirmed",
        {"module": MODULE},
        judged(
            USERSPACE,
            "resolved-library-differs",
            "true",
            "/usr/lib/x86_64-linux-gnu/libcuda.so.565.57.01 is 565.57.01, the loaded module is 590.48.01",
            (LIBRARY, MODULE),
        ),
        judged(USERSPACE, "nvml-says-so", "true", "nvidia-smi itself reports the mismatch", (MISMATCH,)),
        judged(USERSPACE, "cuda-works", "unknown", unknown="peer_copy was not looked for"),
    )
    blocked = hypothesis(
        BLOCKED,
        "likely",
        {"blocked": START_BLOCKED},
        judged(
            BLOCKED, "all-ranks-began", "true", "all 4 known ranks began to set up torch.distributed", (BEGIN,)
        ),
        judged(BLOCKED, "init-not-complete", "unknown", unknown="nccl_init was not looked for"),
        judged(BLOCKED, "memory-is-flat", "true", "GPU memory did not move over 4 samples", (FLAT,)),
    )
    root = USERSPACE.cause
    return _Case(
        symptoms=(
            symptom("cuda-init-fails", "CUDA does not initialise", MISMATCH, explained_by=(root,)),
            symptom("start-blocked", "The start blocks", BEGIN, explained_by=(root, BLOCKED.cause)),
        ),
        findings=(
            Finding(mismatch, 0.9684, ("cuda-init-fails", "start-blocked"), ("host a17", "container"),
                    rivals=(Rival(BLOCKED.cause, BLOCKED.title, "likely", 60),),
                    remedies=(offer(USERSPACE, 0), offer(USERSPACE, 1))),
            Finding(blocked, 0.71, ("start-blocked",), ("machine",), consequence_of=root),
        ),
        contradictions=(
            Contradiction(
                "version of the loaded kernel module: 590.48.01 says procfs, but 565.57.01 says modinfo",
                (MODULE, CUDA_FILE),
            ),
        ),
        observed=(MODULE, LIBRARY, MISMATCH, FLAT, CUDA_FAILS, START_BLOCKED),
        looked=(
            Looked("kernel_module", True, "proc_driver_nvidia_version.txt"),
            Looked("resolved_library", True, "ldconfig.txt"),
            Looked("nvml_error", True, "server.log"),
            Looked("iommu_fault", False, "dmesg.txt", "truncated"),
            Looked("iommu_fault", False, "dmesg.txt", "truncated"),
            Looked("iommu_fault", False, "kern.log", "truncated"),
        ),
        unread=(
            Unread(
                "nvidia-bug-report.log.gz",
                "unreadable",
                "its forty sections are missing: the gzip data end early",
            ),
        ),
    ).report()  # fmt: skip


IOMMU = Cause.model_validate({
    "cause": "p2p.iommu-corruption",
    "title": "GPU peer-to-peer copies arrive corrupted because the IOMMU translates device addresses",
    "status": "experimental",
    "prior": "uncommon",
    "about": "machine",
    "explains": ["p2p-data-wrong", "start-blocked"],
    "because": "PCIe peer-to-peer writes use bus addresses. Under a translating IOMMU domain they pass "
    "through the "
    "root complex and may be dropped or zero-filled while the driver still reports peer access.",
    "requires": {"bad": {"peer_copy": {"route": "peer", "data": "wrong"}}},
    "for": {
        **clause(
            "fault-names-a-gpu",
            {"fault": {"iommu_fault": {"driver": "nvidia"}}},
            "strong",
            "the kernel logged {fault.count} IOMMU page faults for GPU {fault.bdf}",
            otherwise="weak",
            ask="kernel-log",
        ),
        **clause(
            "gpu-domain-translates",
            {"domain": {"iommu_group": {"domain": ["DMA", "DMA-FQ"]}}},
            "strong",
            "GPU {domain.bdf} is in an IOMMU domain of type {domain.domain}",
            otherwise="conclusive",
            ask="iommu-groups",
        ),
        **clause(
            "all-elements-wrong",
            {"bad": {"peer_copy": {"reads": "0.0"}}},
            "moderate",
            "the destination of the copy from GPU {bad.src} to GPU {bad.dst} reads {bad.reads} throughout",
        ),
        **clause(
            "staged-copy-is-right",
            {"staged": {"peer_copy": {"route": "staged", "data": "right"}}},
            "moderate",
            "the same pair of GPUs is correct when staged through host memory",
            otherwise="strong",
            ask="peer-copy",
        ),
    },
    "against": clause(
        "gpu-memory-errors",
        {"oom": {"gpu_oom": None}},
        "moderate",
        "a GPU logged memory errors",
        otherwise="weak",
        ask="kernel-log",
    ),
    "remedies": [
        {
            "do": "Keep NCCL off peer-to-peer until the platform is repaired.",
            "run": ["export NCCL_P2P_DISABLE=1"],
            "disrupts": "process",
            "risk": "none",
            "root": False,
            "lasting": False,
            "undo": ["unset NCCL_P2P_DISABLE"],
            "costs": "bandwidth between the GPUs of this host",
            "verify": "all-elements-wrong",
        },
        {
            "do": "Boot with the IOMMU in pass-through mode.",
            "run": [
                (
                    "echo 'GRUB_CMDLINE_LINUX=\"$GRUB_CMDLINE_LINUX iommu=pt\"' "
                "| tee /etc/default/grub.d/99-iommu.cfg"
                ),
                "update-grub && systemctl reboot",
            ],
            "disrupts": "reboot",
            "risk": "medium",
            "undo": ["Remove the file, run update-grub, reboot."],
            "caution": "With SEV-SNP the kernel keeps translation on whatever the command line says.",
            "check": ["grep -H . /sys/kernel/iommu_groups/*/type", "diagnose probe peer-copy --all-pairs"],
            "expect": "every GPU's group says identity, and no copy is wrong",
            "verify": "gpu-domain-translates",
        },
    ],
    "references": ["https://docs.nvidia.com/deeplearning/nccl/user-guide/docs/troubleshooting.html"],
})  # fmt: skip
FAULT_LINE = (
    "nvidia 0000:01:00.0: AMD-Vi: Event logged [IO_PAGE_FAULT domain=0x001d address=0x3a0c4000000 flags=0x0020]"
)
FAULTS = combined(
    IommuFault(bdf="0000:01:00.0", driver="nvidia", vendor="amd", count=2, first_s=84211.402113),
    *(
        read(
            IommuFault(bdf="0000:01:00.0", driver="nvidia", vendor="amd"),
            "var/log/dmesg.txt",
            10 + number,
            f"[84211.4021{13 + number * 16}] {FAULT_LINE}",
        )
        for number in range(2)
    ),
)
BAD_COPY = read(
    PeerCopy(src=0, dst=1, data="wrong", elements=67108864, wrong=67108864, reads="0.0"),
    "p2p.txt",
    7,
    "peer copy 0 -> 1: 67108864 elements, 67108864 wrong (dst reads 0.0)",
)


def likely_hypothesis() -> Hypothesis:
    """The IOMMU hypothesis, with two clauses unknown and one against it."""
    return hypothesis(
        IOMMU,
        "likely",
        {"bad": BAD_COPY},
        judged(IOMMU, "fault-names-a-gpu", "true",
               "the kernel logged 2 IOMMU page faults for GPU 0000:01:00.0", (FAULTS,)),
        judged(IOMMU, "gpu-domain-translates", "unknown", unknown="iommu_group was not looked for"),
        judged(IOMMU, "all-elements-wrong", "true",
               "the destination of the copy from GPU 0 to GPU 1 reads 0.0 throughout", (BAD_COPY,)),
        judged(IOMMU, "staged-copy-is-right", "unknown", unknown="peer_copy was looked for only in part"),
        judged(IOMMU, "gpu-memory-errors", "false"),
    )  # fmt: skip


ACS = Cause.model_validate({
    "cause": "p2p.acs-redirect",
    "title": "PCIe access control sends peer-to-peer traffic through the root complex",
    "status": "stable",
    "prior": "uncommon",
    "explains": ["p2p-data-wrong"],
    "because": "Request redirect is set on a bridge between the GPUs.",
    "requires": {"bad": {"peer_copy": {"route": "peer", "data": "wrong"}}},
    "for": {
        **clause(
            "bridge-redirects",
            {"bridge": {"acs_control": {"request_redirect": True}}},
            "strong",
            "bridge {bridge.bdf} redirects peer requests",
            ask="lspci",
        ),
        **clause(
            "copies-are-slow",
            {"slow": {"peer_access": {"offered": True}}},
            "strong",
            "peer access is offered",
            otherwise="weak",
        ),
    },
    "against": clause(
        "gpu-domain-identity", {"domain": {"iommu_group": {"domain": "DMA"}}}, "weak", "addresses are translated",
        otherwise="moderate", ask="iommu-groups",
    ),
    "references": ["https://docs.nvidia.com/"],
})  # fmt: skip


def acs_finding() -> Finding:
    """A weaker cause of the same symptom."""
    weak = hypothesis(
        ACS,
        "possible",
        {"bad": BAD_COPY},
        judged(ACS, "bridge-redirects", "unknown", unknown="acs_control was not looked for"),
        judged(ACS, "copies-are-slow", "true", "peer access is offered", (BAD_COPY,)),
        judged(ACS, "gpu-domain-identity", "unknown", unknown="iommu_group was not looked for"),
    )
    return Finding(
        weak, 0.24, ("p2p-data-wrong",), ("machine",), rivals=(Rival(IOMMU.cause, IOMMU.title, "likely", -15),)
    )


def likely() -> Report:
    """A likely fault with two rivals and unknown clauses."""
    hyp = likely_hypothesis()
    rivals = (
        Rival(BLOCKED.cause, BLOCKED.title, "possible", 15),
        Rival(ACS.cause, ACS.title, "possible", 15),
    )
    return _Case(
        symptoms=(
            symptom("p2p-data-wrong", "Copies between GPUs return wrong data", BAD_COPY,
                    explained_by=(IOMMU.cause,)),
            symptom("start-blocked", "The start blocks", BEGIN, explained_by=(IOMMU.cause,)),
            symptom("clock-jumps", "The clock of this host jumps", FLAT),
        ),
        findings=(
            Finding(hyp, 0.853, ("p2p-data-wrong", "start-blocked"), ("GPU 0000:01:00.0", "host a17"),
                    rivals=rivals, remedies=(offer(IOMMU, 0), offer(IOMMU, 1))),
            acs_finding(),
        ),
        next_tests=(
            NextTest(IOMMU_GROUPS, IOMMU_GROUPS.run, (IOMMU.cause, ACS.cause), 60),
            NextTest(KERNEL_LOG, KERNEL_LOG.run, (BLOCKED.cause,), 20),
            NextTest(PEER_COPY, PEER_COPY.run, (IOMMU.cause,), 30),
            NextTest(PY_STACKS, PY_STACKS.run, (BLOCKED.cause,), 10),
        ),
        observed=(FAULTS, BAD_COPY),
        looked=(
            Looked("iommu_fault", True, "var/log/dmesg.txt"),
            Looked("gpu_oom", True, "server.log"),
            Looked("gpu_oom", True, "var/log/dmesg.txt"),
            Looked("peer_copy", False, "p2p.txt", "timed-out"),
        ),
    ).report()  # fmt: skip


INSUFFICIENT = Cause.model_validate({
    "cause": "state.insufficient-evidence",
    "title": "The evidence cannot tell; the next test to run is named",
    "status": "stable",
    "prior": "common",
    "because": "Symptoms are seen and no fault is likely.",
    "requires": {"outcome": {"outcome": {"faults_likely": 0}}},
    "for": clause("unexplained", {"outcome": {"outcome": {"unexplained": {"gt": 0}}}}, "conclusive",
                  "{outcome.unexplained} symptoms are not explained"),
    "references": ["https://example.org/"],
})  # fmt: skip


def outcome(**fields: int) -> Observed:
    """The outcome so far, as the engine gives it."""
    return Observed(
        Outcome(**fields), Source("the weighing of all faults", 0, 0, "0 likely and 1 possible faults")
    )


def undecided() -> Report:
    """Symptoms, one possible fault, and tests that would tell."""
    seen = outcome(faults_likely=0, faults_possible=1, symptoms=1, unexplained=1)
    state = hypothesis(
        INSUFFICIENT,
        "confirmed",
        {"outcome": seen},
        judged(INSUFFICIENT, "unexplained", "true", "1 symptoms are not explained", (seen,)),
    )
    blocked = hypothesis(
        BLOCKED,
        "possible",
        {"blocked": START_BLOCKED},
        judged(
            BLOCKED, "all-ranks-began", "true", "all 4 known ranks began to set up torch.distributed", (BEGIN,)
        ),
        judged(BLOCKED, "init-not-complete", "unknown", unknown="nccl_init was not looked for"),
        judged(BLOCKED, "memory-is-flat", "unknown", unknown="gpu_memory_pattern was not looked for"),
    )
    return _Case(
        symptoms=(symptom("start-blocked", "The start blocks", BEGIN),),
        findings=(Finding(state, 0.97), Finding(blocked, 0.24, ("start-blocked",), ("machine",))),
        weaker=(acs_finding(),),
        next_tests=(
            NextTest(KERNEL_LOG, KERNEL_LOG.run, (IOMMU.cause, BLOCKED.cause), 60),
            NextTest(PY_STACKS, PY_STACKS.run, (BLOCKED.cause,), 20),
            NextTest(PEER_COPY, PEER_COPY.run, (IOMMU.cause, ACS.cause, BLOCKED.cause), 40),
            NextTest(IOMMU_GROUPS, IOMMU_GROUPS.run, (IOMMU.cause,), 20),
        ),
        looked=(Looked("start_milestone", True, "server.log"),),
        not_applicable={
            "driver.userspace-kernel-mismatch": "not looked: kernel_module was not looked for",
            "p2p.iommu-corruption": "no peer_copy with route peer and data wrong",
        },
    ).report()  # fmt: skip


HEALTHY = Cause.model_validate({
    "cause": "state.healthy",
    "title": "Nothing in the evidence points to a fault",
    "status": "stable",
    "prior": "common",
    "because": "All that was looked at is as it should be.",
    "requires": {"outcome": {"outcome": {"faults_likely": 0, "symptoms": 0}}},
    "for": {
        **clause("driver-loaded", {"module": {"kernel_module": {"loaded": True}}}, "strong",
                 "the NVIDIA module {module.version} is loaded", ask="driver-versions"),
        **clause("copies-right", {"copy": {"peer_copy": {"data": "right"}}}, "strong",
                 "copies between the GPUs arrive right", ask="peer-copy"),
    },
    "against": clause("iommu-faults", {"fault": {"iommu_fault": None}}, "strong", "the kernel logged IOMMU faults",
                      otherwise="moderate", ask="kernel-log"),
    "references": ["https://example.org/"],
})  # fmt: skip


def healthy() -> Report:
    """A machine on which nothing points to a fault."""
    seen = outcome(faults_likely=0, faults_possible=0, symptoms=0, unexplained=0)
    state = hypothesis(
        HEALTHY,
        "likely",
        {"outcome": seen},
        judged(HEALTHY, "driver-loaded", "true", "the NVIDIA module 590.48.01 is loaded", (MODULE,)),
        judged(HEALTHY, "copies-right", "unknown", unknown="peer_copy was not looked for"),
        judged(HEALTHY, "iommu-faults", "false"),
    )
    return _Case(
        findings=(Finding(state, 0.94, (), ("machine",)),),
        looked=(
            Looked("kernel_module", True, "proc_driver_nvidia_version.txt"),
            Looked("iommu_fault", True, "dmesg.txt"),
        ),
        observed=(MODULE,),
    ).report()


HOSTILE = (
    "\x1b[2J\x1b]0;owned\x07[bold red]fine[/] ```\n# no ``` \u202edesrever | <img src=x> @admin #1 \udcff \x9b31m"
)


def hostile() -> Report:
    """The likely fault with evidence that would like to be obeyed."""
    bad = read(
        PeerCopy(src=0, dst=1, data="wrong", reads=HOSTILE),
        f"logs/{HOSTILE}.txt",
        3,
        f"peer copy {HOSTILE} " + "x" * 200 + " 0.0 end",
    )
    hyp = hypothesis(
        IOMMU,
        "likely",
        {"bad": bad},
        judged(IOMMU, "fault-names-a-gpu", "true", f"the kernel logged {HOSTILE}", (FAULTS,)),
        judged(IOMMU, "all-elements-wrong", "true", f"reads {HOSTILE} throughout", (bad,)),
        judged(IOMMU, "gpu-memory-errors", "unknown", unknown="gpu_oom was not looked for"),
    )
    remedy = IOMMU.remedies[0]
    evil = RemedyOffer(
        remedy, f"Do {HOSTILE}", (f"export X={HOSTILE}",), (f"unset {HOSTILE}",), (), costs=remedy.costs
    )
    return _Case(
        symptoms=(symptom("p2p-data-wrong", f"Copies {HOSTILE}", bad, explained_by=(IOMMU.cause,)),),
        findings=(Finding(hyp, 0.7, ("p2p-data-wrong",), (HOSTILE,), remedies=(evil,)),),
        contradictions=(Contradiction(HOSTILE, (bad,)),),
        looked=(Looked("gpu_oom", False, HOSTILE, "truncated"),),
        unread=(Unread(HOSTILE, "unreadable", HOSTILE),),
        observed=(bad,),
    ).report()


SITUATIONS = {
    "confirmed": confirmed,
    "likely": likely,
    "undecided": undecided,
    "healthy": healthy,
    "hostile": hostile,
}
