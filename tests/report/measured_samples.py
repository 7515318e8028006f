"""Measurements to draw: a full run on an H200, a CPU alone, a watched run; figures as such machines give them."""

from __future__ import annotations

from msgspec.structs import replace

from doctor.judge.report import Report
from doctor.snapshot import ABSENT, Missing, Snapshot
from doctor.snapshot.measured import (
    BatchPoint,
    CollectiveProof,
    CpuScore,
    DriverProof,
    Load,
    Measured,
    PairProof,
    Rate,
    StepEnd,
    TorchProof,
    TrainingStep,
    Watch,
)

from ..healthy import healthy
from ..judging import report

KEY = "GPU-00000000-0000-4000-8000-233500000000"
"""The key of the healthy machine's GPU with an H200's PCI id."""
CONTRACTIONS = [("linear", 1365.0, 731.0), ("attention-scores", 63.0, 214.0), ("attention", 512.0, 455.0)]
NORMALISATIONS = [("softmax", 1.25, 4.8), ("layer-norm", 1.75, 6.6)]
ELEMENT_WISE = [("gelu", 1.25, 5.1), ("residual-add", 0.167, 0.68)]


def rate(kind: str, what: str, value: float, unit: str, device: str = "cuda:0", **more: object) -> Rate:
    """One figure; most have a small spread."""
    return Rate(
        kind=kind, device=device, what=what, value=value, unit=unit, **{"spread_percent": 1.2, "runs": 20, **more}
    )  # type: ignore[arg-type]


def operation(group: str, what: str, intensity: float, value: float, device: str = "cuda:0") -> Rate:
    """One point of the roofline."""
    flops = 2e12
    detail = {"flops": flops, "bytes": flops / intensity, "ms": flops / value / 1e9, "gb_s": value / intensity * 1e3,
              "intensity": intensity}  # fmt: skip
    return rate("operation", what, value, "TFLOP/s", device, group=group, detail=detail)


def gpu_rates(device: str = "cuda:0") -> tuple[Rate, ...]:
    """What a full run gives on an H200."""
    cube = {"m": 8192, "n": 8192, "k": 8192}
    products = [("fp32", 51.3, "cuda-cores"), ("tf32", 388.0, "tensor-cores"), ("fp16", 734.0, "tensor-cores"),
                ("bf16", 742.0, "tensor-cores"), ("fp8", 1312.0, "tensor-cores"), ("int8", 1287.0, "tensor-cores")]  # fmt: skip
    return (
        *(
            rate("matmul", what, value, "TOP/s" if what == "int8" else "TFLOP/s", device, units=units, detail=cube)
            for what, value, units in products
        ),
        rate("memory", "copy", 4213.0, "GB/s", device, detail={"mib": 4096}),
        rate("memory", "triad", 4305.0, "GB/s", device, detail={"mib": 4096}),
        rate("copy", "h2d-pinned", 55.3, "GB/s", device, detail={"mib": 256}),
        rate("copy", "h2d-pageable", 11.2, "GB/s", device, detail={"mib": 256}),
        rate("copy", "d2h-pinned", 54.1, "GB/s", device, detail={"mib": 256}),
        rate("copy", "d2h-pageable", 8.6, "GB/s", device, detail={"mib": 256}),
        rate("launch", "eager", 4.41, "us", device),
        rate("launch", "graph", 1.13, "us", device),
        *(operation("contraction", *point, device) for point in CONTRACTIONS),
        *(operation("normalisation", *point, device) for point in NORMALISATIONS),
        *(operation("element-wise", *point, device) for point in ELEMENT_WISE),
        rate("pass", "forward", 9.84, "ms", device),
        rate("pass", "backward", 20.6, "ms", device),
        *(
            rate("loader", str(workers), value, "samples/s", "cpu")
            for workers, value in ((0, 3120.0), (1, 2980.0), (2, 5830.0), (4, 11200.0), (8, 19800.0))
        ),
        *(
            rate("copies", str(copies), value, "samples/s", device)
            for copies, value in ((1, 27700.0), (2, 49900.0), (3, 61000.0), (4, 62100.0))
        ),
    )


def sweep(device: str = "cuda:0") -> tuple[BatchPoint, ...]:
    """A small model: launch-bound up to batch 1024, then the GPU has work all the time."""
    rows = [(64, 2.31, 2.20, 0.24), (256, 2.33, 2.21, 0.41), (1024, 2.38, 2.22, 1.05), (4096, 4.62, 2.25, 4.31),
            (16384, 18.4, 2.31, 17.3)]  # fmt: skip
    return tuple(
        BatchPoint(
            device=device,
            batch=batch,
            step_ms=step,
            spread_percent=1.5,
            issue_ms=issue,
            device_ms=busy,
            copy_ms=0.02 + batch * 2.4e-5,
            load_ms=0.03 + batch * 1.1e-5,
            launches=212,
            flops=batch * 3.2e8,
            bytes=batch * 1.1e6,
            utilization_percent=round(100 * busy / step),
            graph_ms=busy * 1.04 + 0.1,
        )
        for batch, step, issue, busy in rows
    )


def loads(key: str = KEY) -> tuple[Load, ...]:
    """NVML while it worked: a healthy card."""
    common = dict(key=key, power_limit_w=700.0, clock_sm_max_mhz=1980, pcie_gen=5, pcie_width=16, others=0)
    rows = [("matmul", 99.0, 688.0, 66, 1755.0, 61.0), ("memory", 98.0, 441.0, 58, 1965.0, 0.0), ("copy", 12.0, 121.0, 47, 1980.0, 0.0),
            ("sweep", 61.0, 262.0, 55, 1980.0, 0.0)]  # fmt: skip
    return tuple(
        Load(
            phase=phase,
            seconds=4.0,
            samples=40,
            utilization_percent=busy,
            utilization_max_percent=min(100.0, busy + 1),
            power_w=watt,
            temperature_max_c=celsius,
            clock_sm_mhz=clock,
            reasons_percent={"power-cap": capped} if capped else {},
            memory_used_max_mib=21034.0,
            **common,
        )  # type: ignore[arg-type]
        for phase, busy, watt, celsius, clock, capped in rows
    )


def torch_proof(device: str = "cuda:0", key: str = KEY, **more: object) -> TorchProof:
    """A proof that leaves nothing open."""
    values = dict(
        device=device,
        key=key,
        name="NVIDIA H200",
        tensor_device=device,
        right=True,
        matmul_error=2.1e-4,
        conv_error=1.6e-4,
        tolerance=2e-3,
        peak_mib=1214.0,
        process_seen=True,
        process_mib=1688.0,
        utilization_percent=97.0,
        first_launch_ms=41.0,
        code="native",
        jit_cache_bytes=0,
        work_ms=1.9,
        cpu_ms=783.0,
    )
    return TorchProof(**{**values, **more})  # type: ignore[arg-type]


def driver_proof(device: int = 0, key: str = KEY, **more: object) -> DriverProof:
    """Our PTX kernel ran and every element is right."""
    values = dict(
        device=device,
        key=key,
        name="NVIDIA H200",
        capability="9.0",
        right=True,
        elements=1 << 20,
        context_ms=182.0,
        context_mib=478.0,
        module_ms=6.4,
        kernel_ms=0.04,
    )
    return DriverProof(**{**values, **more})  # type: ignore[arg-type]


def training(device: str = "cuda:0", **more: object) -> TrainingStep:
    """A transformer encoder of 85 million parameters."""
    values = dict(
        device=device,
        parameters=85_000_000,
        batch=64,
        sequence=256,
        precision="bf16",
        samples_per_s=2104.0,
        step_ms=30.4,
        context_mib=478.0,
        weights_mib=324.0,
        gradients_mib=324.0,
        optimizer_mib=649.0,
        activations_mib=3312.0,
        peak_mib=4771.0,
        reserved_mib=5120.0,
        bytes_per_parameter=17.8,
        expected_bytes_per_parameter=18.0,
    )
    return TrainingStep(**{**values, **more})  # type: ignore[arg-type]


def full_measured() -> Measured:
    """Everything that a full run on one H200 can say."""
    return Measured(
        level="full",
        device="cuda",
        torch_devices=("cuda:0",),
        import_seconds=2.31,
        driver=(driver_proof(),),
        torch=(torch_proof(),),
        rates=gpu_rates(),
        loads=loads(),
        training=(training(),),
        cpu=CpuScore(
            single_core=41.2,
            under_load=33.8,
            cores=24.0,
            cores_seen=192,
            model="AMD EPYC 9654",
            mhz=3550.0,
            mhz_max=3700.0,
            throttled_percent=0.0,
            torch_threads=24,
        ),
        batches=sweep(),
        pairs=(),
        ended=(
            StepEnd(
                agent="torch_speed",
                step="fp4",
                device="cuda:0",
                fault="skipped",
                detail="this torch has no fp4 product",
            ),
        ),
    )


def two_gpus() -> Measured:
    """Two GPUs: data passed between them, and one step that hung."""
    second = "GPU-00000001-0000-4000-8000-233500000000"
    return replace(
        full_measured(),
        torch_devices=("cuda:0", "cuda:1"),
        driver=(driver_proof(), driver_proof(1, second)),
        torch=(torch_proof(), torch_proof("cuda:1", second, cpu_ms=Missing("timeout"), process_seen=Missing("denied"))),
        rates=(*gpu_rates(), *gpu_rates("cuda:1"), rate("pair", "cuda:0>cuda:1", 371.0, "GB/s")),
        loads=(*loads(), *loads(second)),
        batches=(*sweep(), *sweep("cuda:1")),
        training=(training(), training("cuda:1")),
        pairs=(
            PairProof(source="cuda:0", target="cuda:1", right=True, peer_access=True, gb_s=371.0),
            PairProof(source="cuda:1", target="cuda:0", right=False, peer_access=True, error="wrong data"),
        ),
        collective=CollectiveProof(backend="nccl", ranks=2, fault="hang", error="no answer within 20 s"),
        ended=(
            StepEnd(agent="collective_proof", step="all-reduce", fault="hang", detail="killed after 20 s"),
            StepEnd(
                agent="training_speed",
                step="batch 16384",
                device="cuda:1",
                fault="failed",
                detail="CUDA out of memory; the step was made with batch 8192 instead",
            ),
        ),
    )


def cpu_measured() -> Measured:
    """`prove --device cpu` on two slow cores: nothing of a GPU is known."""
    rates = (
        rate("matmul", "fp32", 0.112, "TFLOP/s", "cpu", units="cpu", detail={"m": 1024, "n": 1024, "k": 1024}),
        rate("matmul", "bf16", 0.021, "TFLOP/s", "cpu", units="cpu", detail={"m": 1024, "n": 1024, "k": 1024}),
        rate("memory", "copy", 11.8, "GB/s", "cpu", detail={"mib": 64}),
        rate("launch", "eager", 1.9, "us", "cpu"),
        operation("contraction", "mlp-up", 170.0, 0.098, "cpu"),
        operation("normalisation", "layer-norm", 2.1, 0.011, "cpu"),
        rate("pass", "forward", 61.0, "ms", "cpu"),
        rate("pass", "backward", 128.0, "ms", "cpu"),
    )
    return Measured(
        level="quick",
        device="cpu",
        torch_devices=(),
        import_seconds=1.9,
        torch=(
            TorchProof(
                device="cpu",
                tensor_device="cpu",
                right=True,
                matmul_error=3.2e-7,
                conv_error=2.8e-7,
                tolerance=2e-5,
                peak_mib=ABSENT,
                work_ms=31.0,
                cpu_ms=31.0,
            ),
        ),
        rates=rates,
        cpu=CpuScore(single_core=18.4, cores=2.0, cores_seen=2, torch_threads=2),
        driver=Missing("absent", "no libcuda.so.1"),
        training=(),
    )


def no_gpu_path() -> Measured:
    """`prove` where torch has no GPU."""
    return Measured(
        level="quick",
        device="cuda",
        torch_devices=(),
        import_seconds=1.9,
        torch=(),
        driver=Missing("absent", "no libcuda.so.1"),
    )


def watched(**more: object) -> Measured:
    """An A10 that waits: one Python thread is full, the GPU has nothing to do."""
    values = dict(
        program="python",
        seconds=118.2,
        exit_code=0,
        processes_max=3,
        threads_max=41,
        cpu_cores=1.31,
        busiest_thread=0.98,
        busiest_thread_name="MainThread",
        busiest_thread_saturated_percent=93.0,
        main_cores=1.05,
        workers=2,
        workers_cores=0.22,
        blocked_percent=0.0,
        cores=4.0,
        uses_gpu=True,
        gpu_keys=(KEY,),
        gpu_first_seen_s=6.4,
        gpu_memory_max_mib=1532.0,
        gpu_busy_percent=15.0,
        gpu_busy_by="process",
        gpu_idle_percent=81.0,
        others_on_gpu=0,
        h2d_mb_s=61.0,
        sampler_cpu_s=0.41,
        libraries=("libcudart.so.12", "libcublas.so.12"),
    )
    load = Load(
        key=KEY,
        phase="watch",
        seconds=112.0,
        samples=560,
        utilization_percent=15.0,
        utilization_max_percent=34.0,
        power_w=58.0,
        power_limit_w=150.0,
        temperature_max_c=49,
        clock_sm_mhz=1695.0,
        clock_sm_max_mhz=1695,
        pcie_gen=4,
        pcie_width=16,
        memory_used_max_mib=1532.0,
        others=0,
    )
    return Measured(level="watch", loads=(load,), watch=Watch(**{**values, **more}))  # type: ignore[arg-type]


def machine(measured: Measured) -> Snapshot:
    """A healthy machine with an H200 and these measurements."""
    base = healthy()
    assert not isinstance(base.gpus, Missing)
    gpu = replace(
        base.gpus[0],
        key=KEY,
        uuid=KEY,
        name="NVIDIA H200",
        pci_device_id="2335",
        memory_total_mib=143771,
        pcie_gen_max=5,
    )
    return base.replace({"gpus": (gpu,), "measured": measured})


def told(measured: Measured) -> Report:
    """The report of that machine."""
    return report(machine(measured))
