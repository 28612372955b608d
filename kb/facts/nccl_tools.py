"""Facts from the tools around NCCL: nccl-tests, the RAS client, the Inspector, topology and graph files."""

from typing import ClassVar, Literal

from kb.facts.base import Bdf, Fact, Version
from kb.facts.trials import Change


class NcclTestResult(Fact):
    """One run of a program of nccl-tests, or of this program's own probe of all-reduce."""

    kind: ClassVar[str] = "nccl_test_result"

    outcome: Literal["passed", "wrong-data", "failed", "unfinished"]
    """`passed`: it came to its end, and where it checked the data they were right. `unfinished`: the output ends
    before the result (cut, killed or hanging)."""
    timed_out: bool | None = None
    """It was started with a time limit (`timeout 60 …`), printed its heading, and was ended by the limit; or by
    hand (`^C`)."""
    direct_copies_off: bool | None = None
    """True where its own command line keeps NCCL off direct copies (NCCL_P2P_DISABLE=1): a trial, which says
    nothing of how the job is started."""
    changed: Change | None = None
    """The one thing that its own command line changes for a trial, `nvls-off`; what it says is of that alone."""
    operation: str | None = None
    """all_reduce, alltoall; None where no line names it."""
    ranks: int | None = None
    hosts: int | None = None
    checked: bool = False
    """The data were compared (`#wrong` is a number); a run with `N/A` proves no data right."""
    wrong: int | None = None
    """Wrong elements, or the out-of-bounds count; None where not checked."""
    rows: int = 0
    """Sizes that were measured."""
    last_size_bytes: int | None = None
    last_busbw_gbps: float | None = None
    """Of the largest size, out of place: small ones, which the average holds too, say nothing of the hardware."""
    begun_size_bytes: int | None = None
    """Of an unfinished run: the size whose row was begun and has no result."""
    avg_busbw_gbps: float | None = None
    """As printed: thousand million bytes a second."""
    failure: str | None = None
    """The first `Test … failure` line's own words."""


class RasCommunicator(Fact):
    """A communicator as NCCL's RAS client reports it."""

    kind: ClassVar[str] = "ras_communicator"

    comm_id: str | None = None
    """The hash; None for a group without an error of its own."""
    ranks: int | None = None
    """That belong to it."""
    communicators: int = 1
    """Alike ones together, where nothing is wrong with them."""
    ranks_missing: int = 0
    missing: str | None = None
    """Ranks that gave no data, `1, 3`."""
    status: str | None = None
    """RUNNING, INIT, FINALIZE, ABORT."""
    problem: Literal["incomplete", "mismatch", "error"] | None = None
    """`incomplete`: ranks gave no data. `mismatch`: ranks differ in state or count of operations, which is normal
    while they run: only a second query with the same counts shows that they stand."""
    operation: str | None = None
    """Whose counts differ."""
    behind: str | None = None
    """Ranks that have launched fewest operations, where fewer than half of all."""
    launched_least: int | None = None
    launched_most: int | None = None
    error: str | None = None
    """NCCL's name of the error that most ranks report."""


class RasProcess(Fact):
    """A process that NCCL's RAS network cannot reach."""

    kind: ClassVar[str] = "ras_process"

    state: Literal["missing", "dead"]
    """`missing`: it did not answer this query. `dead`: given up after 60 s."""
    host: str
    pid: int
    gpus: str | None = None
    """CUDA devices it manages, `5` or `0,1`."""
    rank: int | None = None


class CollectiveProgress(Fact):
    """How far one rank came in one communicator, as the Inspector wrote it."""

    kind: ClassVar[str] = "collective_progress"

    comm_id: str
    rank: int
    nranks: int
    nodes: int | None = None
    last_sequence: int
    """Of the last collective that ended."""
    operation: str
    """The last one's: AllReduce."""
    records: int
    busbw_gbps: float | None = None
    """Largest bus bandwidth of all."""


class NcclTopologyGpu(Fact):
    """A GPU in an NCCL topology file."""

    kind: ClassVar[str] = "nccl_topology_gpu"

    index: int
    """NVML's."""
    bdf: Bdf | None = None
    rank: int | None = None
    compute_capability: str | None = None
    """9.0"""
    gdr: bool | None = None
    numa_node: int | None = None
    link_speed_gts: float | None = None
    """Of its PCIe link, giga-transfers a second; at rest it may be lower than under load."""
    link_width: int | None = None
    nvlinks: int = 0


class NcclTopologyNic(Fact):
    """A network device in an NCCL topology file."""

    kind: ClassVar[str] = "nccl_topology_nic"

    name: str
    bdf: Bdf | None = None
    speed_mbps: int | None = None
    gdr: bool | None = None
    numa_node: int | None = None
    link_speed_gts: float | None = None
    link_width: int | None = None


class NcclTopology(Fact):
    """An NCCL topology file (NCCL_TOPO_FILE or NCCL_TOPO_DUMP_FILE) as a whole."""

    kind: ClassVar[str] = "nccl_topology"

    gpus: int
    nics: int
    cpus: int
    nvlinks_least: int
    """Of one GPU."""
    nvlinks_most: int
    one_sided_links: int = 0
    """Pairs of GPUs whose NVLink counts differ by direction: the file does not describe one machine truly."""
    narrowest_gpu_link: int | None = None
    """PCIe lanes of the GPU with fewest."""
    written_by: Literal["nccl", "hand", "unknown"] = "unknown"
    """NCCL's own dumps carry ranks or host hashes."""


class NcclGraph(Fact):
    """One graph of an NCCL graph file: the channels that the search found."""

    kind: ClassVar[str] = "nccl_graph"

    pattern: Literal["ring", "tree", "collnet", "nvls", "other"]
    channels: int
    speed_intra_gbps: float | None = None
    """Thousand million bytes a second inside the node."""
    speed_inter_gbps: float | None = None
    type_intra: str | None = None
    """Longest path inside the node: NVL, PIX, PXB, PHB, SYS."""
    type_inter: str | None = None


class NcclTestLibrary(Fact):
    """The NCCL that an nccl-tests program was built with and the one it loaded."""

    kind: ClassVar[str] = "nccl_test_library"

    headers: Version
    library: Version
    same: bool


class NcclLibrary(Fact):
    """A libnccl that a process has loaded or that its linker would load; equal ones together."""

    kind: ClassVar[str] = "nccl_library"

    path: str
    origin: Literal["wheel", "torch", "conda", "system", "cuda", "other"]
    """Judged by its folder. `wheel`: of nvidia-nccl-cu12 and kin; `system`: a folder of the linker's defaults."""
    version: Version | None = None
    """From the file name."""
    how: Literal["mapped", "resolved", "chosen"]
    """`mapped`: in a process's memory; `resolved`: by ldd; `chosen`: a program says that it takes it."""
    variable: str | None = None
    """The setting that made a program choose it."""
    beside: Version | None = None
    """Another release that the same process has in its memory as well."""
    count: int = 1


class NcclDefect(Fact):
    """A known defect of the NCCL in use, by the catalogue: its release has it, and what was seen fits."""

    kind: ClassVar[str] = "nccl_defect"

    id: str
    title: str
    version: Version
    """The release in use."""
    fixed: Version | None = None
    """The first release without it; None where no release is known to be."""
    fit: Literal["exact", "circumstantial"]
    """`exact`: what is seen belongs to this defect alone; `circumstantial`: to many other faults as well."""
    hang: bool = False
    """It shows as a job that does not get on."""
    workaround: str | None = None
    seen: str
    """What of the evidence fits."""
    source: str


class NcclDefectLine(Fact):
    """A line that belongs to a known defect of some releases, whichever is in use; all of one entry together."""

    kind: ClassVar[str] = "nccl_defect_line"

    id: str
    text: str
    count: int = 1


class NcclCode(Fact):
    """The GPU architectures that a build of NCCL carries code for, from its make line or cuobjdump."""

    kind: ClassVar[str] = "nccl_code"

    archs: str
    """`sm_70 sm_80`"""
    newest: int
    """80 of these."""
    ptx: bool = False
    """Also intermediate code, which the driver can translate for newer GPUs."""
    reported_by: Literal["make", "cuobjdump"]
