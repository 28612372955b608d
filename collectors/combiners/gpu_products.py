"""What kind of GPU each one is, by the catalogue of PCI device ids."""

from __future__ import annotations

from collections.abc import Iterator

from collectors.combiners import Facts, derived
from kb.catalogues import ProductRow, product_by_chip, product_by_id
from kb.evidence import Looked, Observed, Reading
from kb.facts.gpu import Gpu
from kb.facts.gpu_bus import GpuOnBus, GpuProduct
from kb.facts.module_load import ModuleLoadProblem

_NVIDIA = "10de:"


def combine(facts: Facts) -> Iterator[Reading]:
    """One GpuProduct for each address whose device id, or else whose chip, a listing or the driver names."""
    known: dict[str, tuple[ProductRow, str | None, list[Observed]]] = {}
    for bdf, device_id, observed in _ids(facts):
        row = product_by_id(device_id)
        if row and bdf not in known:
            known[bdf] = row, device_id, [observed]
    for gpu, observed in facts.of(Gpu):
        row = product_by_chip(gpu.chip) if gpu.chip else None
        if row and gpu.bdf and gpu.bdf not in known:
            known[gpu.bdf] = row, None, [observed]
    for bdf, (row, given_id, basis) in known.items():
        fact = GpuProduct(
            bdf=bdf,
            device_id=given_id,
            architecture=row.architecture,
            gsp=row.gsp,
            open_module=row.open_module,
            first_branch=row.since,
            last_branch=row.until,
        )
        yield derived(fact, basis)
    looked = facts.looked(GpuOnBus, Gpu)
    if looked:
        told = all(gpu.bdf in known for gpu, _ in facts.of(Gpu) if gpu.bdf) and bool(known)
        yield Looked(
            GpuProduct.kind,
            looked.complete and told,
            looked.where,
            None if looked.complete and told else "not-collected",
        )


def _ids(facts: Facts) -> Iterator[tuple[str, str, Observed]]:
    """Each address with its device id, as often as something names it."""
    for on_bus, observed in facts.of(GpuOnBus):
        if on_bus.device_id:
            yield on_bus.bdf, on_bus.device_id, observed
    for gpu, observed in facts.of(Gpu):
        if gpu.bdf and gpu.device_id:
            yield gpu.bdf, gpu.device_id, observed
    for problem, observed in facts.of(ModuleLoadProblem):
        if problem.bdf and problem.device_id and problem.device_id.startswith(_NVIDIA):
            yield problem.bdf, problem.device_id.removeprefix(_NVIDIA), observed
