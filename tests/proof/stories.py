"""Machines with measurements made up from figures that such GPUs give: what the judgement's tests start from."""

from __future__ import annotations

from typing import Any, NamedTuple

from msgspec.structs import replace

from doctor.findings import Finding
from doctor.snapshot import (
    BatchPoint,
    CpuScore,
    CudaDevice,
    DriverProof,
    Load,
    Measured,
    Missing,
    Rate,
    Snapshot,
    TorchProof,
    TrainingStep,
    Watch,
)

from ..healthy import gpu as healthy_gpu
from ..healthy import healthy
from ..judging import report, run


class Board(NamedTuple):
    """A GPU and what it reaches: TFLOP/s (int8: TOP/s), GB/s."""

    name: str
    pci: str
    cc: str
    mib: int
    watt: float
    gen: int
    products: dict[str, float]
    memory: float
    h2d: float


BOARDS = {
    "a10": Board("NVIDIA A10", "2236", "8.6", 23028, 150, 4, {"fp32": 15.1, "tf32": 41.0, "fp16": 68.0, "bf16": 69.0}, 497, 25.1),
    "a5000": Board("NVIDIA RTX A5000", "2231", "8.6", 24564, 230, 4, {"fp32": 20.8, "tf32": 46.0, "fp16": 90.0, "bf16": 91.0}, 672, 25.0),
    "3060ti": Board("NVIDIA GeForce RTX 3060 Ti", "2486", "8.6", 8192, 200, 4, {"fp32": 13.7, "tf32": 18.0, "fp16": 36.1, "bf16": 36.2}, 401, 25.2),
    "3090": Board("NVIDIA GeForce RTX 3090", "2204", "8.6", 24576, 350, 4, {"fp32": 24.5, "tf32": 37.0, "fp16": 75.0, "bf16": 76.0}, 851, 25.4),
    "pro6000": Board("NVIDIA RTX PRO 6000 Blackwell Workstation Edition", "2bb1", "12.0", 97887, 600, 5,
                     {"fp32": 75.0, "tf32": 183.0, "fp16": 352.0, "bf16": 391.0, "fp8": 690.0}, 1510, 55.0),
    "h100": Board("NVIDIA H100 80GB HBM3", "2330", "9.0", 81559, 700, 5,
                  {"fp32": 51.5, "tf32": 398.0, "fp16": 742.0, "bf16": 755.0, "fp8": 1320.0, "int8": 1290.0}, 2870, 55.2),
    "h200": Board("NVIDIA H200", "2335", "9.0", 143771, 700, 5,
                  {"fp32": 51.2, "tf32": 395.0, "fp16": 738.0, "bf16": 750.0, "fp8": 1335.0, "int8": 1280.0}, 4180, 55.3),
    "4090": Board("NVIDIA GeForce RTX 4090", "2684", "8.9", 24564, 450, 4,
                  {"fp32": 54.0, "tf32": 84.0, "fp16": 168.0, "bf16": 170.0, "fp8": 310.0}, 925, 25.3),
}  # fmt: skip
UNKNOWN = Board("NVIDIA Graphics Device", "3fff", "12.0", 49152, 300, 5, {"fp32": 60.0, "bf16": 300.0}, 1300, 50.0)


def machine(board: Board | str, **host: Any) -> Snapshot:
    """A healthy Linux machine with that one GPU and torch."""
    b = BOARDS[board] if isinstance(board, str) else board
    s = healthy()
    card = replace(
        healthy_gpu(),
        key=KEY,
        uuid=KEY,
        name=b.name,
        pci_device_id=b.pci,
        pci_subsystem_id=Missing("absent"),
        compute_capability=b.cc,
        memory_total_mib=b.mib,
        power_limit_w=b.watt,
        power_default_w=b.watt,
        pcie_gen_max=b.gen,
        clock_sm_max_mhz=1980,
        clock_memory_max_mhz=2619,
        utilization_percent=0,
    )
    assert isinstance(s.driver.pci_devices, tuple)
    device = CudaDevice(
        ordinal=0, name=b.name, uuid=KEY, compute_capability=b.cc, pci_address=card.pci_address, memory_total_mib=b.mib
    )
    return s.replace(
        {
            "gpus": (card,),
            "driver.cuda_devices": (device,),
            "driver.pci_devices": (replace(s.driver.pci_devices[0], device=b.pci),),
            "torch_run.device_names": (b.name,),
            "torch_run.device_capabilities": (b.cc,),
            **{f"host.{name}": value for name, value in host.items()},
        }
    )


KEY = "GPU-0a0b0c0d-0000-4000-8000-000000000001"


def torch_proof(board: Board, **more: Any) -> TorchProof:
    """A device that works."""
    facts: dict[str, Any] = dict(
        device="cuda:0",
        key=KEY,
        name=board.name,
        tensor_device="cuda:0",
        right=True,
        matmul_error=3e-7,
        conv_error=4e-7,
        tolerance=1e-3,
        peak_mib=98.0,
        process_seen=True,
        process_mib=612.0,
        utilization_percent=97.0,
        first_launch_ms=41.0,
        code="native",
        jit_cache_bytes=0,
        work_ms=0.4,
        cpu_ms=190.0,
    )
    return TorchProof(**{**facts, **more})


def driver_proof(board: Board, **more: Any) -> DriverProof:
    """L0 on a device that works."""
    facts: dict[str, Any] = dict(
        device=0,
        key=KEY,
        name=board.name,
        capability=board.cc,
        right=True,
        elements=65536,
        context_ms=160.0,
        module_ms=3.0,
        kernel_ms=0.02,
    )
    return DriverProof(**{**facts, **more})


def rates(board: Board, speed: float = 1.0, memory: float = 1.0, h2d: float = 1.0) -> tuple[Rate, ...]:
    """What the board reaches; `speed`, `memory`, `h2d`: shares of that."""
    unit = {"int8": "TOP/s"}
    return (
        *(
            Rate(
                kind="matmul", device="cuda:0", what=what, value=value * speed, unit=unit.get(what, "TFLOP/s"), runs=30
            )
            for what, value in board.products.items()
        ),
        Rate(kind="memory", device="cuda:0", what="copy", value=board.memory * memory, unit="GB/s", runs=30),
        Rate(kind="memory", device="cuda:0", what="triad", value=board.memory * memory * 1.02, unit="GB/s", runs=30),
        Rate(kind="copy", device="cuda:0", what="h2d-pinned", value=board.h2d * h2d, unit="GB/s", runs=30),
        Rate(kind="copy", device="cuda:0", what="h2d-pageable", value=6.0, unit="GB/s", runs=30),
        Rate(kind="copy", device="cuda:0", what="d2h-pinned", value=board.h2d * h2d, unit="GB/s", runs=30),
        Rate(kind="launch", device="cuda:0", what="eager", value=4.6, unit="us", runs=50),
        *(
            Rate(
                kind="loader", device="cuda:0", what=str(n), value=900.0 * (max(n, 1)) ** 0.95, unit="samples/s", runs=9
            )
            for n in (0, 1, 2, 4, 8)
        ),
        *(
            Rate(kind="copies", device="cuda:0", what=str(n), value=v, unit="samples/s", runs=3)
            for n, v in ((1, 240e3), (2, 460e3), (3, 650e3), (4, 660e3))
        ),
    )


def load(phase: str, board: Board, **more: Any) -> Load:
    """NVML of a phase in which nothing is wrong."""
    facts: dict[str, Any] = dict(
        key=KEY,
        phase=phase,
        seconds=4.0,
        samples=40,
        utilization_percent=96.0,
        power_w=board.watt * 0.9,
        power_limit_w=board.watt,
        temperature_max_c=61,
        clock_sm_mhz=1800.0,
        clock_sm_max_mhz=1980,
        clock_memory_mhz=2619.0,
        reasons_samples=40,
        pcie_gen=board.gen,
        pcie_width=16,
        others=0,
    )
    return Load(**{**facts, **more})


def loads(board: Board, **more: Any) -> tuple[Load, ...]:
    """All phases alike."""
    return tuple(load(phase, board, **more) for phase in ("proof", "matmul", "memory", "copy", "sweep", "training"))


def point(batch: int, step_ms: float, device_ms: float, issue_ms: float, **more: Any) -> BatchPoint:
    """One batch of the sweep; 220 kernels a step, work that grows with the batch."""
    facts: dict[str, Any] = dict(
        device="cuda:0",
        batch=batch,
        step_ms=step_ms,
        device_ms=device_ms,
        issue_ms=issue_ms,
        launches=220,
        copy_ms=0.00003 * batch,
        load_ms=0.00008 * batch,
        flops=4_700_000 * batch,
        bytes=120_000 * batch,
        graph_ms=max(device_ms * 1.05, 0.3),
    )
    return BatchPoint(**{**facts, **more})


WELL_FED = tuple(
    point(b, d * 1.05, d, 0.9) for b, d in ((64, 1.1), (256, 2.4), (1024, 8.0), (4096, 31.0), (16384, 126.0))
)
"""A GPU that has work at every batch."""
FAST_CORE = CpuScore(
    single_core=86.0, under_load=71.0, cores=16.0, cores_seen=16, model="AMD EPYC", throttled_percent=0.0
)
STEP = TrainingStep(
    device="cuda:0",
    parameters=19_000_000,
    batch=64,
    sequence=256,
    precision="bf16",
    samples_per_s=900.0,
    weights_mib=72.0,
    gradients_mib=72.0,
    optimizer_mib=144.0,
    activations_mib=900.0,
    bytes_per_parameter=18.1,
    expected_bytes_per_parameter=18.0,
)


def proven(board: Board | str, s: Snapshot | None = None, **measured: Any) -> Snapshot:
    """A machine that was fully proven, with nothing wrong; `measured`: what is different."""
    b = BOARDS[board] if isinstance(board, str) else board
    facts: dict[str, Any] = dict(
        level="full",
        device="cuda",
        torch_devices=("cuda:0",),
        import_seconds=2.4,
        driver=(driver_proof(b),),
        torch=(torch_proof(b),),
        rates=rates(b),
        loads=loads(b),
        training=(STEP,),
        cpu=FAST_CORE,
        batches=WELL_FED,
    )
    return (s or machine(b)).replace({"measured": Measured(**{**facts, **measured})})


def watched(board: Board | str, s: Snapshot | None = None, **watch: Any) -> Snapshot:
    """A machine on which a training was watched; by itself one that keeps its GPU busy."""
    b = BOARDS[board] if isinstance(board, str) else board
    facts: dict[str, Any] = dict(
        program="python",
        seconds=60.0,
        exit_code=0,
        processes_max=1,
        threads_max=20,
        cpu_cores=1.0,
        busiest_thread=0.97,
        busiest_thread_saturated_percent=95.0,
        main_cores=1.0,
        workers=0,
        workers_cores=0.0,
        blocked_percent=0.0,
        cores=8.0,
        uses_gpu=True,
        gpu_keys=(KEY,),
        gpu_first_seen_s=3.0,
        gpu_memory_max_mib=1400.0,
        gpu_busy_percent=96.0,
        gpu_busy_by="process",
        gpu_idle_percent=1.0,
        others_on_gpu=0,
        libraries=("libcudart.so.12", "libtorch_cuda.so", "libcublas.so.12"),
    )
    run_ = Watch(**{**facts, **watch})
    return (s or machine(b)).replace({"measured": Measured(level="watch", watch=run_, loads=(load("watch", b),))})


def changed(s: Snapshot, **measured: Any) -> Snapshot:
    """The same, some measurements changed."""
    return s.replace({f"measured.{name}": value for name, value in measured.items()})


def assert_every_fix_is_looked_at_again(s: Snapshot, finding: Finding) -> None:
    """After any of its fixes the finding is gone, and the check says that it has to be measured again.

    A consequence is offered its own fixes as soon as its cause is gone: they are those of its check.
    """
    fixes = next(f.fixes for f in run(finding.id, s)[2] if f.subject == finding.subject)
    assert fixes, f"{finding.id} offers no fix"
    before = {f.id for f in report(s).findings if f.status == "fail"}
    for fix in fixes:
        after = s
        for step in fix.steps:
            after = after.replace(step.changes)
        assert after != s, f"{finding.id}: {fix.id} changes no fact"
        status, reason, said = run(finding.id, after)
        assert {f.id for f in report(after).findings if f.status == "fail"} <= before, f"{fix.id} brings new failures"
        assert (status, said) == ("unknown", []) and "recheck" in reason, (finding.id, fix.id, status, reason, said)
