"""A GPU's PCIe link is narrower or slower than it could be.

What is wrong: the link between CPU and GPU uses fewer lanes than both support, or a lower generation while the GPU is
busy.

Symptoms: copies between host and GPU, data loading and multi-GPU training without NVLink are slow; kernels are not.
`nvidia-smi -q` shows `Link Width: Current` below `Max`.

Why it happens: a board that is not fully seated, a riser or mining adapter, a slot with fewer lanes, a slot shared with
an M.2 disk, a firmware setting. An idle GPU lowers the generation to save power. That is not a fault, so the generation
is judged only under load. In a virtual machine the hypervisor decides which link is shown, so the finding is only a
note there.

How to fix it: reseat the board, or use a slot with the full number of lanes. If the machine is rented, switch to a
different host.

Source: NVML PCIe link functions (nvml.h); lanes of each board: the matrix.
"""

from __future__ import annotations

from ..findings import Check, Findings, Matrix, Policy
from ..fixes.gpu_state import seat_board
from ..snapshot import Gpu, Snapshot, known
from ._boards import every, is_laptop, is_superchip, is_vgpu, rows_of
from ._readings import Readings, listed, name_of

CHECK = Check(
    __name__,
    title="The PCIe link is slower than it could be",
    sound="No PCIe link was found to be narrower or slower than it could be",
    severity="warning",
    layer="hardware",
    tags=("gpu", "health", "speed"),
)

_AT_WORK_PERCENT = 10


def check(s: Snapshot, m: Matrix, p: Policy) -> Findings:
    """Warns for a narrow link, and under load for a low generation."""
    seen = Readings()
    gpus = listed(s)
    for gpu in gpus:
        if is_vgpu(gpu) or is_superchip(m, gpu) or is_laptop(m, gpu):
            continue
        width, most = seen.of("pcie_width", gpu.pcie_width), seen.of("pcie_width_max", gpu.pcie_width_max)
        if width and most:
            lanes = min(most, _lanes(m, gpu, most)) if width < most else most
            if width < lanes:
                facts = {"pcie_width": width, "pcie_width_max": lanes}
                shared = len(gpus) > 1 and width * 2 >= lanes and not every(rows_of(m, gpu), "form_factor", "SXM")
                make = CHECK.remark if _virtual(s, gpu) or shared else CHECK.warn
                yield make(
                    f"{name_of(gpu)} has {width} of {lanes} PCIe lanes",
                    "Copies between host and GPU reach only that fraction of the full speed."
                    + (" Boards that share a CPU's lanes look like this by design." if shared else ""),
                    facts=facts,
                    subject=gpu.key,
                    fixes=seat_board(s, gpu.key, lanes),
                )
                continue
        yield from _generation(s, gpu, seen)
    seen.end("its PCIe link")


def _generation(s: Snapshot, gpu: Gpu, seen: Readings) -> Findings:
    now, most = seen.of("pcie_gen", gpu.pcie_gen), seen.of("pcie_gen_max", gpu.pcie_gen_max)
    percent = known(gpu.utilization_percent) or 0
    if not now or not most or now >= most or percent < _AT_WORK_PERCENT:
        return
    make = CHECK.remark if _virtual(s, gpu) else CHECK.warn
    yield make(
        f"{name_of(gpu)} runs at PCIe generation {now}, but the slot and the board support {most}",
        f"It was {percent} % busy when checked, so this is not an idle GPU saving power.",
        facts={"pcie_gen": now, "pcie_gen_max": most, "utilization_percent": percent},
        subject=gpu.key,
        fixes=seat_board(s, gpu.key, known(gpu.pcie_width) or 16),
    )


def _lanes(m: Matrix, gpu: Gpu, default: int) -> int:
    """Lanes of the board according to the matrix: the fewest among the products that it may be."""
    ids = {row.id for row in rows_of(m, gpu)}
    lanes = [spec.pcie_lanes for spec in m.gpu_specs if spec.id in ids and spec.pcie_lanes]
    return int(min(lanes)) if lanes else default


def _virtual(s: Snapshot, gpu: Gpu) -> bool:
    """Whether this may be a virtual machine, where the hypervisor decides which link is shown."""
    return known(s.host.virtualization) != "none" or known(gpu.virtualization_mode) not in (None, 0)
