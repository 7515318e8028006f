"""What renderers ask of the measurements: which device, which figures, in which order, and the parts of a whole."""

from __future__ import annotations

from ..judge.report import Report
from ..snapshot import Missing, known
from ..snapshot.measured import BatchPoint, Load, Measured, Rate, TrainingStep

PRECISIONS = ("fp32", "tf32", "fp16", "bf16", "fp8", "int8", "fp4")
GROUPS = ("contraction", "normalisation", "element-wise")
STEP_PARTS = ("device", "copy", "making the batch", "host")
"""Parts of a training step in the order of `step_parts`; `host`: the device has nothing to do, the host hands over."""
MEMORY_PARTS = ("context", "weights", "gradients", "optimizer", "activations")


def devices(m: Measured) -> list[str]:
    """torch's names of all devices that were there or measured, GPUs in order, the CPU last."""
    found = {p.device for p in known(m.torch) or ()} | {t.device for t in known(m.training) or ()}
    found |= {b.device for b in known(m.batches) or ()} | {r.device for r in known(m.rates) or () if r.kind != "loader"}
    found |= set(known(m.torch_devices) or ())
    return sorted((name for name in found if ">" not in name), key=_device_order)


def _device_order(name: str) -> tuple[bool, int, str]:
    ordinal = name.partition(":")[2]
    return not name.startswith("cuda"), int(ordinal) if ordinal.isdecimal() else 0, name


def key_of(m: Measured, device: str) -> str:
    """The key of that device's GPU, or an empty string."""
    return next((p.key for p in known(m.torch) or () if p.device == device and p.key), "")


def name_of(report: Report, device: str) -> str:
    """The GPU's name by torch, by NVML, or an empty string; of the CPU its model."""
    m = report.snapshot.measured
    if device == "cpu":
        return (m.cpu.model if m.cpu else "") or known(report.snapshot.host.cpu_model) or ""
    proven = next((p.name for p in known(m.torch) or () if p.device == device and p.name), "")
    key = key_of(m, device)
    return proven or next((known(g.name) or "" for g in known(report.snapshot.gpus) or () if key and g.key == key), "")


def rates(m: Measured, kind: str, device: str = "") -> list[Rate]:
    """All figures of a kind, of one device where it is named; impossible figures are omitted."""
    return [r for r in known(m.rates) or () if r.kind == kind and device in ("", r.device) and _possible(r.value)]


def _possible(value: float) -> bool:
    return 0 < value < 1e18


def shown(rate: Rate) -> tuple[float, str]:
    """Value and unit as they are written: a CPU's TFLOP/s below 1 in GFLOP/s."""
    if rate.value < 1 and rate.unit.startswith("T") and not rate.device.startswith("cuda"):
        return rate.value * 1e3, "G" + rate.unit[1:]
    return rate.value, rate.unit


def rate(m: Measured, kind: str, device: str, what: str) -> Rate | None:
    """One figure."""
    return next((r for r in rates(m, kind, device) if r.what == what), None)


def matmuls(m: Measured, device: str) -> list[Rate]:
    """Matrix products from fp32 to fp4."""
    known_ones = {name: index for index, name in enumerate(PRECISIONS)}
    return sorted(rates(m, "matmul", device), key=lambda r: known_ones.get(r.what, len(PRECISIONS)))


def bandwidth(m: Measured, device: str) -> float | None:
    """The best measured memory bandwidth in GB/s."""
    return max((r.value for r in rates(m, "memory", device)), default=None)


def operations(m: Measured, device: str) -> list[Rate]:
    """Operations whose intensity (FLOP a byte) is known, by group."""
    found = [r for r in rates(m, "operation", device) if intensity(r) > 0]
    return sorted(found, key=lambda r: (GROUPS.index(r.group) if r.group in GROUPS else len(GROUPS), -intensity(r)))


def intensity(rate: Rate) -> float:
    """FLOP a byte; 0 if it is not known."""
    given = rate.detail.get("intensity", 0)
    flops, moved = rate.detail.get("flops", 0), rate.detail.get("bytes", 0)
    found = given if given > 0 else flops / moved if flops > 0 and moved > 0 else 0
    return found if _possible(found) else 0


def counts(m: Measured, kind: str, device: str = "") -> list[tuple[int, Rate]]:
    """Figures whose `what` is a number (workers, copies), by it."""
    found = {int(r.what): r for r in rates(m, kind, device) if r.what.isdecimal() and len(r.what) < 6}
    return sorted(found.items())


def sweep(m: Measured, device: str) -> list[BatchPoint]:
    """The batch sweep of a device, smallest batch first."""
    own = (b for b in known(m.batches) or () if b.device == device and _possible(b.step_ms) and _possible(b.batch))
    return sorted({b.batch: b for b in own}.values(), key=lambda b: b.batch)


def step_parts(point: BatchPoint) -> tuple[float, ...]:
    """Milliseconds of a step by STEP_PARTS, as long together as the step; empty if the device's time is not known.

    The host's part is what is left after the device, the copy and the making of the batch. Where these were longer
    than the step (they ran at the same time), they are shortened in proportion.
    """
    if isinstance(point.device_ms, Missing):
        return ()
    parts = [point.device_ms, known(point.copy_ms) or 0.0, known(point.load_ms) or 0.0]
    parts = [max(0.0, part) for part in parts]
    if sum(parts) > point.step_ms:
        parts = [part * point.step_ms / sum(parts) for part in parts]
    return (*parts, max(0.0, point.step_ms - sum(parts)))


def memory_parts(step: TrainingStep) -> list[tuple[str, float]]:
    """MiB of a training step by MEMORY_PARTS; parts that are not known are omitted."""
    values = (step.context_mib, step.weights_mib, step.gradients_mib, step.optimizer_mib, step.activations_mib)
    return [
        (name, value)
        for name, value in zip(MEMORY_PARTS, values, strict=True)
        if not isinstance(value, Missing) and value > 0
    ]


def load_of(m: Measured, device: str, *phases: str) -> Load | None:
    """What NVML showed of that device in the first of these phases that it has samples of."""
    key = key_of(m, device)
    found = {load.phase: load for load in known(m.loads) or () if key and load.key == key}
    return next((found[phase] for phase in phases if phase in found), None)


def link(m: Measured, device: str) -> str:
    """`PCIe 5.0 x16`, or what is known of the link while data was copied."""
    load = load_of(m, device, "copy")
    gen, width = (known(load.pcie_gen), known(load.pcie_width)) if load else (None, None)
    words = [f"PCIe {gen}.0" if gen else "PCIe" if width else "", f"x{width}" if width else ""]
    return " ".join(word for word in words if word)
