"""How long many machines and many ranks take: seconds of reading and of reasoning, each for itself.

Four cases are made and judged: the evidence of many machines in one call; one log in which every rank has eight
lines that a rule looks at; one in which every rank fails in the same way; and machines with the logs of their
ranks. Usage: python benchmarks/many_hosts_ranks.py [MACHINES [RANKS]] [--profile]. The aim is at most 5 s of
reasoning for 1,024 ranks. Beside the time on the clock stands that of the processor, which other programs disturb
less.
"""

from __future__ import annotations

import cProfile
import pstats
import resource
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

from make_log import BUS, GPUS_PER_HOST, prefix

from diagnose.differences import differences
from diagnose.explain import Case, read_case, rule_base
from engine.result import Diagnosis
from engine.session import assess_parts

MACHINES, RANKS = 64, 1024
RUNS = 2
SHOWN = 25
DRIVER, OLD_DRIVER = "570.172.08", "570.133.20"


def name_of(machine: int) -> str:
    return f"gpu-{machine:03d}"


def uuid(machine: int, gpu: int) -> str:
    return f"GPU-6e0d1c7b-40f9-a2c5-{machine:04x}-7d8e5f2a{gpu:04x}"


def address(gpu: int) -> str:
    return f"{BUS[gpu][:-3]}:00.0"


def kernel_log(machine: int, sick: bool) -> Iterator[str]:
    """The journal of the kernel: the driver comes up; on a sick machine a GPU falls off the bus."""
    head = f"Feb 03 08:12:{machine % 60:02d} {name_of(machine)} kernel: "
    yield f"{head}Linux version 6.8.0-60-generic (buildd@lcy02) (x86_64-linux-gnu-gcc-13) #63-Ubuntu SMP\n"
    yield f"{head}Command line: BOOT_IMAGE=/vmlinuz-6.8.0-60-generic root=/dev/md0 ro iommu=pt\n"
    yield f"{head}iommu: Default domain type: Passthrough (set via kernel command line)\n"
    yield f"{head}NVRM: loading NVIDIA UNIX Open Kernel Module for x86_64  {DRIVER}  Release Build\n"
    for gpu in range(GPUS_PER_HOST):
        yield f"{head}pci 0000:{address(gpu)}: Adding to iommu group {40 + gpu}\n"
    if sick:
        later = head.replace("08:12", "12:39")
        yield f"{later}NVRM: Xid (PCI:0000:{BUS[3][:-3]}:00): 79, pid='<unknown>', name=<unknown>, GPU has fallen off the bus.\n"
        yield f"{later}NVRM: Xid (PCI:0000:{BUS[3][:-3]}:00): 154, GPU recovery action changed from 0x0 (None) to 0x2 (Node Reboot Required)\n"


def smi_query(machine: int) -> Iterator[str]:
    """What `nvidia-smi -q` says of every GPU, cut to the sections that rules look at."""
    yield f"$ nvidia-smi -q\n\n==============NVSMI LOG==============\n\nTimestamp : Tue Feb  3 12:55:01 2026\nDriver Version : {DRIVER}\nCUDA Version : 12.8\n\nAttached GPUs : 8\n"
    for gpu in range(GPUS_PER_HOST):
        yield (
            f"GPU 00000000:{address(gpu).upper()}\n    Product Name                          : NVIDIA H100 80GB HBM3\n"
            "    Product Architecture                  : Hopper\n    Persistence Mode                      : Enabled\n"
            "    MIG Mode\n        Current                           : Disabled\n        Pending                           : Disabled\n"
            f"    GPU UUID                              : {uuid(machine, gpu)}\n"
            "    GPU Reset Status\n        Reset Required                    : No\n        Drain and Reset Recommended       : No\n"
            "    PCI\n        GPU Link Info\n            PCIe Generation\n                Max                       : 5\n"
            "                Current                   : 5\n                Host Max                  : 5\n"
            "            Link Width\n                Max                       : 16x\n                Current                   : 16x\n"
            "    Performance State                     : P0\n    Clocks Event Reasons\n        Idle                              : Not Active\n"
            "        SW Power Cap                      : Not Active\n        HW Slowdown                       : Not Active\n"
            "            HW Thermal Slowdown           : Not Active\n            HW Power Brake Slowdown       : Not Active\n"
            "    FB Memory Usage\n        Total                             : 81559 MiB\n        Reserved                          : 551 MiB\n"
            f"        Used                              : {70000 + 100 * gpu} MiB\n        Free                              : {11008 - 100 * gpu} MiB\n"
            "    ECC Errors\n        Volatile\n            SRAM Correctable              : 0\n            SRAM Uncorrectable Parity     : 0\n"
            "            DRAM Correctable              : 0\n            DRAM Uncorrectable            : 0\n"
            "    Remapped Rows\n        Correctable Error                 : 0\n        Uncorrectable Error               : 0\n"
            "        Pending                           : No\n        Remapping Failure Occurred        : No\n"
            f"    Temperature\n        GPU Current Temp                  : {40 + gpu} C\n        GPU Slowdown Temp                 : 87 C\n"
            "    GPU Power Readings\n        Average Power Draw                : 310.20 W\n        Current Power Limit               : 700.00 W\n"
            "        Default Power Limit               : 700.00 W\n    Fabric\n        State                             : Completed\n"
            "        Status                            : Success\n"
        )


def topology() -> Iterator[str]:
    """`nvidia-smi topo -m` of eight GPUs behind NVSwitches."""
    names = [f"GPU{gpu}" for gpu in range(GPUS_PER_HOST)]
    yield "$ nvidia-smi topo -m\n\t" + "\t".join(names) + "\tCPU Affinity\tNUMA Affinity\n"
    for row in range(GPUS_PER_HOST):
        cells = [" X " if row == column else "NV18" for column in range(GPUS_PER_HOST)]
        yield f"GPU{row}\t" + "\t".join(cells) + f"\t0-55\t{row // 4}\n"


def packages(machine: int) -> Iterator[str]:
    """Packages, libraries and module of the driver; every sixteenth machine has an older user space."""
    release = OLD_DRIVER if machine % 16 == 5 else DRIVER
    yield "$ dpkg -l\n"
    for package in (
        "libnvidia-compute-570:amd64",
        "nvidia-utils-570",
        "nvidia-dkms-570-open",
        "nvidia-fabricmanager-570",
    ):
        yield f"ii  {package}  {release}-0ubuntu1  amd64  NVIDIA driver\n"
    yield f"$ cat /proc/driver/nvidia/version\nNVRM version: NVIDIA UNIX Open Kernel Module for x86_64  {DRIVER}  Release Build\n"
    yield "$ ls -l /usr/lib/x86_64-linux-gnu/libcuda.so.1\n"
    yield f"lrwxrwxrwx 1 root root 20 Feb  1 08:00 /usr/lib/x86_64-linux-gnu/libcuda.so.1 -> libcuda.so.{release}\n"
    yield "$ ldconfig -p\n\tlibcuda.so.1 (libc6,x86-64) => /usr/lib/x86_64-linux-gnu/libcuda.so.1\n"
    yield "$ lsmod\nModule                  Size  Used by\nnvidia_uvm           4956160  24\nnvidia              54071296  401 nvidia_uvm\nmlx5_ib               503808  0\n"


def network(machine: int) -> Iterator[str]:
    """Interfaces, routes and InfiniBand ports."""
    yield "$ ip -br addr\nlo               UNKNOWN        127.0.0.1/8\n"
    yield f"eth0             UP             10.0.{machine}.17/16\ndocker0          DOWN           172.17.0.1/16\n$ ip route\ndefault via 10.0.0.1 dev eth0\n$ ibstat\n"
    for port in range(GPUS_PER_HOST):
        yield (
            f"CA 'mlx5_{port}'\n\tCA type: MT4129\n\tNumber of ports: 1\n\tFirmware version: 28.39.2048\n\tPort 1:\n"
            f"\t\tState: Active\n\t\tPhysical state: LinkUp\n\t\tRate: 400\n\t\tBase lid: {machine * 8 + port}\n\t\tLink layer: InfiniBand\n"
        )


def rank_lines(rank: int, ranks: int, dead: int) -> Iterator[str]:
    """Eight lines of one rank that rules look at: it comes up, works, and loses the rank that is dead."""
    head, peer = prefix(rank), (rank + 1) % ranks
    warn, host = head.replace("NCCL INFO ", ""), rank // GPUS_PER_HOST
    where = f"rank {rank} nranks {ranks} cudaDev {rank % 8} nvmlDev {rank % 8} busId {BUS[rank % 8]} commId 0x6f2a91c0d4e8b317"
    yield f"{head}Bootstrap : Using eth0:10.0.{host}.17<0>\n"
    yield f"{head}ncclCommInitRankConfig comm 0x7f{rank:08x} {where} - Init START\n"
    yield f"{head}Channel 00/0 : {rank}[{rank % 8}] -> {peer}[{peer % 8}] [send] via NET/IB/{rank % 8}/GDRDMA\n"
    yield f"{head}ncclCommInitRankConfig comm 0x7f{rank:08x} {where} - Init COMPLETE\n"
    yield f"{warn}transport/net_ib.cc:1295 NCCL WARN NET/IB : Got completion from peer 10.0.{host}.17<{40000 + rank}> with status=12 opcode=0 len={rank} vendor err 129 (Send) localGid fe80::{rank:x} remoteGidsfe80::{peer:x}\n"
    if rank == dead:
        yield f"[rank{rank}]: torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.50 GiB. GPU {rank % 8} has a total capacity of 79.11 GiB of which 812.06 MiB is free.\n"
        return
    yield f"{warn}misc/socket.cc:484 NCCL WARN socketPollConnect: Connect to 10.0.{dead // 8}.17<{50000 + rank}> failed : Software caused connection abort\n"
    yield (
        f"[rank{rank}]:[E203 12:50:08.{408270 + rank} ProcessGroupNCCL.cpp:632] [Rank {rank}] Watchdog caught collective "
        f"operation timeout: WorkNCCL(SeqNum={81725 - rank % 3}, OpType=ALLREDUCE, NumelIn=25165824, NumelOut=25165824, "
        f"Timeout(ms)=600000) ran for {600041 + rank} milliseconds before timing out.\n"
    )
    yield f"[rank{rank}]: torch.distributed.DistBackendError: NCCL error in: ../torch/csrc/distributed/c10d/ProcessGroupNCCL.cpp:1333, remote process exited or there was a network error, NCCL version 2.26.2 (rank {rank})\n"


def failing_alike(ranks: int) -> Iterator[str]:
    """All ranks run out of memory at once, and end."""
    for rank in range(ranks):
        yield f"[rank{rank}]: Traceback (most recent call last):\n"
        yield f'[rank{rank}]:   File "/opt/train/train.py", line 412, in step\n'
        yield f"[rank{rank}]:     loss.backward()\n"
        yield (
            f"[rank{rank}]: torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.50 GiB. GPU {rank % 8} has a "
            f"total capacity of 79.11 GiB of which {800 + rank % 50}.06 MiB is free. Including non-PyTorch memory, this "
            "process has 78.30 GiB memory in use.\n"
        )


def write_machine(folder: Path, machine: int, sick: bool) -> None:
    """The files of one machine in a folder of its name."""
    folder.mkdir(parents=True)
    parts = {
        "kernel.log": kernel_log(machine, sick),
        "nvidia-smi-q.txt": smi_query(machine),
        "topology.txt": topology(),
        "driver.txt": packages(machine),
        "network.txt": network(machine),
    }
    for file, lines in parts.items():
        (folder / file).write_text("".join(lines), encoding="ascii")


def write_job(path: Path, members: range, ranks: int) -> None:
    """The log of these ranks of a job of so many."""
    path.write_text(
        "".join(line for rank in members for line in rank_lines(rank, ranks, ranks // 3)), encoding="ascii"
    )


def write_cases(folder: Path, machines: int, ranks: int) -> dict[str, Path]:
    """The cases below the folder, by their titles."""
    several, job, alike, both = (folder / name for name in ("machines", "job", "alike", "both"))
    for machine in range(machines):
        write_machine(several / name_of(machine), machine, sick=machine == machines // 3)
    job.mkdir()
    write_job(job / "job.log", range(ranks), ranks)
    alike.mkdir()
    (alike / "job.log").write_text("".join(failing_alike(ranks)), encoding="ascii")
    for machine in range(ranks // GPUS_PER_HOST):
        write_machine(both / name_of(machine), machine, sick=machine == ranks // 24)
        members = range(machine * GPUS_PER_HOST, (machine + 1) * GPUS_PER_HOST)
        write_job(both / name_of(machine) / "job.log", members, ranks)
    return {
        f"{machines} machines": several,
        f"{ranks} ranks": job,
        f"{ranks} ranks that fail alike": alike,
        f"{ranks // GPUS_PER_HOST} machines and {ranks} ranks": both,
    }


def reason(case: Case) -> Diagnosis:
    """All that follows reading."""
    diagnosis = assess_parts(rule_base(), case.parts)
    differences(case.parts, set())
    return diagnosis


def measure(title: str, path: Path, profiled: bool) -> None:
    """Reads and judges one case some times, and prints the best of them."""
    rule_base()
    reading = reasoning = processor = float("inf")
    for _ in range(RUNS):
        started = time.perf_counter()
        case = read_case([str(path)])
        read, used = time.perf_counter(), time.process_time()
        diagnosis = reason(case)
        reading, reasoning = min(reading, read - started), min(reasoning, time.perf_counter() - read)
        processor = min(processor, time.process_time() - used)
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    first = [f"{one.cause.cause} {one.confidence:.2f} ({one.hypothesis.about})" for one in diagnosis.findings[:3]]
    print(
        f"{title}: reading {reading:.2f} s, reasoning {reasoning:.2f} s (processor {processor:.2f} s), "
        f"{len(diagnosis.observed)} facts, "
        f"{diagnosis.rules_fired} firings, peak {peak:.0f} MiB; {'; '.join(first)}"
    )
    if profiled:
        profile = cProfile.Profile()
        profile.runcall(reason, case)
        pstats.Stats(profile).sort_stats("cumulative").print_stats(SHOWN)


def main() -> None:
    """Makes the cases and measures one after the other."""
    numbers = [int(word) for word in sys.argv[1:] if word.isdigit()]
    machines, ranks = (*numbers, MACHINES, RANKS)[:2] if len(numbers) != 1 else (numbers[0], RANKS)
    with tempfile.TemporaryDirectory() as name:
        for title, path in write_cases(Path(name), machines, ranks).items():
            measure(title, path, "--profile" in sys.argv)


if __name__ == "__main__":
    main()
