"""Which nodes are compared with each other, and what such a group is called."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from functools import lru_cache
from typing import NamedTuple

from ..snapshot import Gpu, Snapshot, known
from .kinds import MIXED, Cohort
from .thresholds import thresholds


class Alike(NamedTuple):
    """GPUs of one cohort whose speed is compared: of one model, power limit and PCIe link."""

    power_limit_w: float | None
    """To a whole watt; None if it is not known."""
    link: str
    """`gen5 x16`; empty if it is not known."""
    model: str = ""
    """In a node with GPUs of several models each is compared with its own."""


def alike(power_limit_w: float | None, link: str, model: str = "") -> Alike:
    """The group within its cohort in which a GPU's speed is compared."""
    return Alike(None if power_limit_w is None else float(round(power_limit_w)), link, model)


def cohort_of(s: Snapshot) -> Cohort | None:
    """The cohort of a machine; None if its GPUs could not be listed."""
    gpus = known(s.gpus)
    if gpus is None:
        return None
    return cohort(((known(gpu.name), known(gpu.memory_total_mib)) for gpu in gpus), known(s.host.architecture))


def cohort(gpus: Iterable[tuple[str | None, float | None]], arch: str | None) -> Cohort:
    """The cohort of a node, from NVML's name and the memory in MiB of each GPU; None if one is not known."""
    listed = [(short(name or ""), size_gib(mib or 0)) for name, mib in gpus]
    memory = max((size for _, size in listed), default=0)
    models = {name for name, _ in listed if name}
    several = len(models) > 1 or len({size for _, size in listed if size}) > 1
    return Cohort(MIXED if several else next(iter(models), ""), len(listed), memory, arch or "")


def link_of(gpu: Gpu) -> str:
    """What GPU and slot can do together: `gen5 x16`; empty if that is not known."""
    gen, width = known(gpu.pcie_gen_max), known(gpu.pcie_width_max)
    return f"gen{gen} x{width}" if gen and width else ""


def short(name: str) -> str:
    """NVML's name without the vendor: `H100 80GB HBM3`."""
    return name.strip().removeprefix("NVIDIA ").strip()


@lru_cache(maxsize=1024)
def size_gib(mib: float) -> int:
    """The size in which this memory is sold, in GiB; 0 for 0.

    Drivers report a little less, and not all of them the same: rounding would put nodes of one kind into two cohorts.
    """
    if mib <= 0:
        return 0
    sizes = thresholds().memory_sizes_gib.value
    nearest = min(sizes, key=lambda size: abs(_log_ratio(mib / 1024, size)))
    return nearest if mib / 1024 < 1.25 * sizes[-1] else round(mib / 1024)


def _log_ratio(a: float, b: float) -> float:
    return a / b - b / a


def name_of(cohort: Cohort, among: Collection[Cohort] = ()) -> str:
    """`8x H200`, `8x H100 80GB`; with memory and CPU architecture where another cohort of `among` differs by nothing
    else. `no GPU`, `GPUs of several models`."""
    if not cohort.count:
        words = "no GPU"
    elif cohort.model == MIXED:
        words = f"{cohort.count} GPUs of several models"
    else:
        words = f"{cohort.count}x {_display(cohort.model)}"
    same = [one for one in among if one[:2] == cohort[:2]]
    if len({one.memory_gib for one in same} | {cohort.memory_gib}) > 1 and f"{cohort.memory_gib}GB" not in words:
        words += f" {cohort.memory_gib}GB"
    return words + (f" {cohort.arch}" if cohort.arch and len({one.arch for one in same} | {cohort.arch}) > 1 else "")


def _display(model: str) -> str:
    """Without the type of its memory: `H100 80GB`. An unnamed model is a GPU."""
    return " ".join(word for word in model.split() if not word.startswith(("HBM", "GDDR"))) or "GPU"
